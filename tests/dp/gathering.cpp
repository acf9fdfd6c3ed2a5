// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/gathering.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/similar_events.hpp>
#include <tacit/dp/work_budget.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// Lemma 15 of docs/certificates/sampling.md: which release of a kind stands above which, and what comes of it.

namespace gathering_tests {

using namespace tacit;

namespace {

std::vector<adjacency> const all_neighbours{adjacency::add_remove, adjacency::replace_one,
                                            adjacency::zero_out};

// P(L > ε) − e^ε·Q(L > ε) by the list of losses.
double profile(dominating_pair const& pair, double e) {
  auto const& finite = std::get<finite_pair>(pair);
  double sum = finite.infinite + finite.left_out;
  for (auto const& a : finite.atoms) sum += std::max(0.0, a.p - std::exp(e) * a.q);
  return sum;
}

mechanism_event noise(std::size_t kind, double deviation) {
  switch (kind) {
    case 0:
      return gaussian{deviation};
    case 1:
      return laplace{deviation};
    case 2:
      return discrete_laplace{deviation, 1};
    case 3:
      return integer_noise{integer_law::skellam, deviation * deviation, 1};
    default:
      return integer_noise{integer_law::binomial,
                           0.25 * std::round(4.0 * deviation * deviation) + 8.0, 1};
  }
}

event with_noise(std::size_t kind, double deviation, sampling const& how, std::uint64_t records) {
  event out(gaussian{1.0}, how);
  out.what = noise(kind, deviation);
  out.records_per_person = records;
  return out;
}

event in_batches(double variance, std::uint64_t batch = 3) {
  integer_noise const noise{integer_law::skellam, variance, 1};
  return sampled(noise, with_replacement{batch, 1'000});
}

// Sums of batches, with noise of variances from 400 to 440.
std::vector<composed> sums(std::size_t many) {
  std::vector<composed> out;
  for (std::size_t k = 0; k < many; ++k) {
    out.push_back(
        {in_batches(400.0 + 40.0 * static_cast<double>(k) / static_cast<double>(many)), 1});
  }
  return out;
}

template <class Accountant>
Accountant composed_of(std::vector<composed> const& run, adjacency neighbours) {
  Accountant out(neighbours);
  for (composed const& one : run) out.compose(one.release, one.count);
  return out;
}

bool same(bound<double> const& a, bound<double> const& b) {
  return a.lower == b.lower && a.upper == b.upper;
}

}  // namespace

TEST_CASE("a release of less noise and a larger batch stands above the others of its kind",
          "[gathering]") {
  std::mt19937_64 bits(15);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  std::size_t compared = 0;
  for (int round = 0; round < 120; ++round) {
    std::size_t const kind = static_cast<std::size_t>(round) % 5;
    double const deviation = std::exp(std::log(0.6) + 2.0 * unit(bits));
    std::uint64_t const records = 1 + bits() % 3;
    std::uint64_t const batch = 1 + bits() % 12;
    std::uint64_t const more = batch + bits() % 6;
    double const rate = 0.02 + 0.5 * unit(bits);
    std::vector<std::pair<sampling, sampling>> const schemes{
        {with_replacement{batch, 40}, with_replacement{more, 40}},
        {fixed_size{batch, 40}, fixed_size{more, 40}},
        {poisson{rate}, poisson{rate + 0.3 * unit(bits)}}};
    for (auto const& [small, large] : schemes) {
      event const lossy = with_noise(kind, deviation, large, records);
      event const noisy = with_noise(kind, deviation * (1.0 + unit(bits)), small, records);
      detail::rising_pair const high = detail::rising_numbers(lossy);
      detail::rising_pair const low = detail::rising_numbers(noisy);
      if (!high) continue;  // normal and Laplace noise in Poisson samples
      REQUIRE(high.shape == low.shape);
      for (std::size_t i = 0; i < high.numbers.size(); ++i) {
        REQUIRE(high.numbers[i] >= low.numbers[i]);
      }
      for (adjacency const neighbours : all_neighbours) {
        domination const above =
            dominate(detail::event_with(noisy, high.numbers, true), neighbours);
        domination const below = dominate(noisy, neighbours);
        if (!std::holds_alternative<finite_pair>(above.remove)) continue;
        for (double const e : {-1.0, -0.3, -0.02, 0.0, 0.01, 0.1, 0.4, 1.0, 2.5}) {
          // Points lie up to 1e-4 above a profile of normal noise.
          ++compared;
          CHECK(profile(below.remove, e) <= profile(above.remove, e) * (1.0 + 3e-4) + 1e-13);
          // Where the rule changes with the batch, one of them covers the other order by itself.
          if (above.symmetric != below.symmetric) continue;
          CHECK(profile(below.add, e) <= profile(above.add, e) * (1.0 + 3e-4) + 1e-13);
        }
      }
    }
  }
  CHECK(compared > 5000);
}

TEST_CASE("the noise that stands for others is on their side of them", "[gathering]") {
  std::mt19937_64 bits(16);
  std::uniform_real_distribution<double> unit(-200.0, 200.0);
  for (int round = 0; round < 20'000; ++round) {
    double const sigma = std::exp(unit(bits));
    event const one = sampled(gaussian{sigma}, with_replacement{3, 40});
    detail::rising_pair const at = detail::rising_numbers(one);
    REQUIRE(at);
    double const up =
        std::get<gaussian>(detail::event_with(one, at.numbers, true).what).noise_multiplier;
    double const down =
        std::get<gaussian>(detail::event_with(one, at.numbers, false).what).noise_multiplier;
    CHECK((up <= sigma && sigma <= down));
    CHECK(down <= up * (1.0 + 1e-14));
    auto const coins = static_cast<double>(1 + bits() % (std::uint64_t{1} << 49U));
    event const flips =
        sampled(integer_noise{integer_law::binomial, 0.25 * coins, 1}, with_replacement{3, 40});
    detail::rising_pair const of = detail::rising_numbers(flips);
    REQUIRE(of);
    CHECK(detail::event_with(flips, of.numbers, true) == flips);
    CHECK(detail::event_with(flips, of.numbers, false) == flips);
  }
}

TEST_CASE("a few releases of a kind are composed as they are", "[gathering]") {
  std::vector<composed> const run = sums(6);
  auto const gathered = composed_of<accountant<discretised>>(run, adjacency::replace_one);
  auto const plain =
      composed_of<accountant<basic_discretised<double>>>(run, adjacency::replace_one);
  CHECK(same(gathered.delta(0.02), plain.delta(0.02)));
}

TEST_CASE("more releases of a kind have ends around those of all of them", "[gathering][long]") {
  for (adjacency const neighbours : {adjacency::replace_one, adjacency::zero_out}) {
    std::vector<composed> run;
    for (std::size_t k = 0; k < 28; ++k) {
      run.push_back({in_batches(400.0 + static_cast<double>(k), 30 + k % 2), 1 + k});
    }
    auto const gathered = composed_of<accountant<discretised>>(run, neighbours);
    auto const plain = composed_of<accountant<basic_discretised<double>>>(run, neighbours);
    for (double const e : {0.05, 0.2}) {
      bound<double> const found = gathered.delta(e);
      bound<double> const exact = plain.delta(e);
      CAPTURE(found.lower, found.upper, exact.lower, exact.upper);
      CHECK(found.lower <= exact.upper);
      CHECK(exact.lower <= found.upper);
      CHECK(found.upper - found.lower < 0.3 * exact.upper);
      CHECK(found.lower < exact.lower);
      CHECK(found.upper > exact.upper);
    }
  }
}

TEST_CASE("many releases of a kind take no longer than a few, in any order", "[gathering]") {
  std::vector<composed> run = sums(300);
  auto const at_once = composed_of<privacy_loss_accountant>(run, adjacency::replace_one);
  bound<double> const found = at_once.epsilon(1e-6);
  // One with the most noise, or the least, 300 times.
  auto const alone = [](double variance) {
    return privacy_loss_accountant(adjacency::replace_one)
        .compose(in_batches(variance), 300)
        .epsilon(1e-6);
  };
  CAPTURE(found.lower, found.upper);
  CHECK(found.lower >= alone(440.0).lower);
  CHECK(found.upper <= alone(400.0).upper);
  CHECK(found.upper - found.lower < 0.02 * found.upper);
  std::shuffle(run.begin(), run.end(), std::mt19937_64(17));
  auto const shuffled_order = composed_of<privacy_loss_accountant>(run, adjacency::replace_one);
  CHECK(same(shuffled_order.epsilon(1e-6), found));
  // Twice the half, a copy, and what was saved.
  for (composed& one : run) one.count = 2;
  auto twice = composed_of<privacy_loss_accountant>(run, adjacency::replace_one);
  auto merged = at_once;
  merged.compose(at_once);
  CHECK(same(merged.delta(0.02), twice.delta(0.02)));
  CHECK(same(privacy_loss_accountant::load(merged.save()).delta(0.02), twice.delta(0.02)));
  CHECK(same(at_once.epsilon(1e-6), found));
}

TEST_CASE("every way of asking gathers alike", "[gathering]") {
  auto const run = composed_of<accountant<discretised>>(sums(60), adjacency::replace_one);
  bound<double> const found = run.delta(0.02);
  detail::work_budget work(1e12);
  CHECK(same(run.counted_delta(0.02, work), found));
  CHECK(same(run.counted_epsilon(1e-5, work), run.epsilon(1e-5)));
  CHECK(work.left() < 1e12);
  bound<double> const within = run.delta_within(0.02, work);
  bound<double> const kept = run.deltas()(0.02, work);
  for (bound<double> const& other : {within, kept}) {
    CHECK(other.lower <= found.upper);
    CHECK(found.lower <= other.upper);
  }
}

TEST_CASE("what is refused alone is refused in a crowd, and changes nothing", "[gathering]") {
  auto run = composed_of<privacy_loss_accountant>(sums(40), adjacency::replace_one);
  event const one = run.history()[0].release;
  auto const refused = [&](sampling const& how, mechanism_event const& what) {
    event bad = one;
    bad.how = how;
    bad.what = what;
    privacy_loss_accountant alone(adjacency::replace_one);
    CHECK_THROWS_AS(alone.compose(bad), std::domain_error);
    CHECK_THROWS_AS(run.compose(bad), std::domain_error);
  };
  std::string const before = run.save();
  auto const skellam = [](double variance) {
    return integer_noise{integer_law::skellam, variance, 1};
  };
  refused(with_replacement{2'000'000'000, 1'000}, one.what);  // drawn too often
  refused(one.how, skellam(1e14));                            // of too many values
  refused(one.how, skellam(-1.0));
  CHECK(run.save() == before);
  CHECK_THROWS_AS(run.compose(one, std::uint64_t{1} << 63U), std::domain_error);
  CHECK(run.save() == before);
  // A batch ten times as large as any before it is not.
  run.compose(in_batches(410.0, 30));
  CHECK(run.history().size() == 41);
}

}  // namespace gathering_tests
