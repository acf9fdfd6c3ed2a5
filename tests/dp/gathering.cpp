// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/gathering.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/similar_events.hpp>
#include <tacit/dp/work_budget.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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
double profile(finite_pair const& pair, double e) {
  double sum = pair.infinite + pair.left_out;
  for (auto const& a : pair.atoms) sum += std::max(0.0, a.p - std::exp(e) * a.q);
  return sum;
}

// The same of a mixture of Gaussians beside one: where its likelihood ratio is above e^ε, which is a half-line.
double profile(mixture_pair const& pair, double e) {
  auto const beyond = [](double x) { return 0.5 * std::erfc(x / std::sqrt(2.0)); };
  auto const delta_from = [&](double t) {
    double p = 0.0;
    double rest = 1.0;
    for (auto const& part : pair.parts) {
      p += part.weight * beyond(t - part.shift);
      rest -= part.weight;
    }
    p += std::max(0.0, rest) * beyond(t);
    double const q = beyond(t);
    // Where there is more of Q the half-line is the other one.
    return pair.orientation == orientation::remove ? p - std::exp(e) * q
                                                   : (1.0 - q) - std::exp(e) * (1.0 - p);
  };
  double best = 0.0;
  for (double t = -12.0; t < 60.0; t += 1e-3) best = std::max(best, delta_from(t));
  return best;
}

double profile(dominating_pair const& pair, double e) {
  if (auto const* finite = std::get_if<finite_pair>(&pair)) return profile(*finite, e);
  return profile(std::get<mixture_pair>(pair), e);
}

event with_noise(std::size_t kind, double noise, sampling const& how, std::uint64_t records) {
  event const out = kind == 0 ? event(gaussian{noise}, how) : event(laplace{noise}, how);
  return by_person(out, records);
}

event in_batches(double noise, std::uint64_t batch = 3) {
  return sampled(gaussian{noise}, with_replacement{batch, 1'000});
}

// Sums of batches, with noise from 2 to 2.2.
std::vector<composed> sums(std::size_t many) {
  std::vector<composed> out;
  for (std::size_t k = 0; k < many; ++k) {
    out.push_back({in_batches(2.0 + 0.2 * static_cast<double>(k) / static_cast<double>(many)), 1});
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
  for (int round = 0; round < 40; ++round) {
    std::size_t const kind = static_cast<std::size_t>(round) % 2;
    double const noise = std::exp(std::log(0.6) + 2.0 * unit(bits));
    std::uint64_t const records = 1 + bits() % 3;
    std::uint64_t const batch = 1 + bits() % 12;
    std::uint64_t const more = batch + bits() % 6;
    std::vector<std::pair<sampling, sampling>> const schemes{
        {with_replacement{batch, 40}, with_replacement{more, 40}},
        {fixed_size{batch, 40}, fixed_size{more, 40}}};
    for (auto const& [small, large] : schemes) {
      event const lossy = with_noise(kind, noise, large, records);
      event const noisy = with_noise(kind, noise * (1.0 + unit(bits)), small, records);
      detail::rising_pair const high = detail::rising_numbers(lossy);
      detail::rising_pair const low = detail::rising_numbers(noisy);
      REQUIRE(high);
      REQUIRE(high.shape == low.shape);
      for (std::size_t i = 0; i < high.numbers.size(); ++i) {
        REQUIRE(high.numbers[i] >= low.numbers[i]);
      }
      for (adjacency const neighbours : all_neighbours) {
        domination const above =
            dominate(detail::event_like(noisy, high.numbers, true), neighbours);
        domination const below = dominate(noisy, neighbours);
        bool const comparable = above.remove.index() == below.remove.index() &&
                                (std::holds_alternative<finite_pair>(above.remove) ||
                                 std::holds_alternative<mixture_pair>(above.remove));
        if (!comparable) continue;
        for (double const e : {-0.3, 0.0, 0.1, 0.4, 1.0, 2.5}) {
          ++compared;
          // Points lie up to 1e-4 above a profile.
          CHECK(profile(below.remove, e) <= profile(above.remove, e) * (1.0 + 3e-4) + 1e-7);
          CHECK(profile(below.add, e) <= profile(above.add, e) * (1.0 + 3e-4) + 1e-7);
        }
      }
    }
  }
  CHECK(compared > 500);
}

TEST_CASE("the noise that stands for others is less, and hardly less", "[gathering]") {
  std::mt19937_64 bits(16);
  std::uniform_real_distribution<double> unit(-110.0, 110.0);
  for (int round = 0; round < 20'000; ++round) {
    double const sigma = std::exp(unit(bits));
    event const one = sampled(laplace{sigma}, with_replacement{3, 40});
    detail::rising_pair const at = detail::rising_numbers(one);
    REQUIRE(at);
    event const above = detail::event_like(one, at.numbers, true);
    double const noise = std::get<laplace>(above.what).noise_multiplier;
    CHECK((noise <= sigma && noise >= sigma * (1.0 - 1e-14)));
    CHECK(above.how == one.how);
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
  std::vector<composed> run;
  for (std::size_t k = 0; k < 80; ++k) {
    run.push_back({in_batches(2.0 + 0.004 * static_cast<double>(k), 3 + k % 2), 1 + k % 5});
  }
  auto const gathered = composed_of<accountant<discretised>>(run, adjacency::replace_one);
  auto const plain =
      composed_of<accountant<basic_discretised<double>>>(run, adjacency::replace_one);
  for (double const e : {0.05, 0.2}) {
    bound<double> const found = gathered.delta(e);
    bound<double> const exact = plain.delta(e);
    CAPTURE(found.lower, found.upper, exact.lower, exact.upper);
    CHECK(found.lower <= exact.upper);
    CHECK(found.upper > exact.upper);
    CHECK(found.upper < 2.0 * exact.upper);
    CHECK(found.lower > 0.0);
  }
}

TEST_CASE("many releases of a kind take no longer than a few, in any order", "[gathering]") {
  std::vector<composed> run = sums(80);
  auto const at_once = composed_of<privacy_loss_accountant>(run, adjacency::replace_one);
  bound<double> const found = at_once.epsilon(1e-6);
  // One with the most noise, or the least, 80 times.
  auto const alone = [](double sigma) {
    return privacy_loss_accountant(adjacency::replace_one)
        .compose(in_batches(sigma), 80)
        .epsilon(1e-6);
  };
  CAPTURE(found.lower, found.upper);
  CHECK(found.upper >= alone(2.2).lower);
  CHECK(found.upper <= alone(2.0).upper);
  CHECK(found.lower > 0.0);
  std::shuffle(run.begin(), run.end(), std::mt19937_64(17));
  auto const shuffled_order = composed_of<privacy_loss_accountant>(run, adjacency::replace_one);
  CHECK(same(shuffled_order.epsilon(1e-6), found));
  // Twice the half, a copy, and what was saved.
  for (composed& one : run) one.count = 2;
  auto const twice = composed_of<privacy_loss_accountant>(run, adjacency::replace_one);
  auto merged = at_once;
  merged.compose(at_once);
  CHECK(same(merged.delta(0.2), twice.delta(0.2)));
  CHECK(same(privacy_loss_accountant::load(merged.save()).delta(0.2), twice.delta(0.2)));
  CHECK(same(at_once.epsilon(1e-6), found));
  // A kind that is not crowded is composed as it is.
  auto beside = at_once;
  beside.compose(by_person(in_batches(0.5, 40), 2)).compose(by_person(in_batches(9.0, 2), 2));
  auto few = composed_of<privacy_loss_accountant>(
      {{by_person(in_batches(0.5, 40), 2), 1}, {by_person(in_batches(9.0, 2), 2), 1}},
      adjacency::replace_one);
  CHECK(beside.epsilon(1e-6).lower >= few.epsilon(1e-6).lower * (1.0 - 1e-3));
  CHECK(beside.epsilon(1e-6).upper <= few.epsilon(1e-6).upper + found.upper + 0.1);
}

TEST_CASE("parts that weigh next to nothing beside δ do not keep a run from an answer",
          "[gathering][long]") {
  struct run {
    double noise;
    std::uint64_t batch;
    std::uint64_t records;
    std::uint64_t count;
    double delta;
    double
        truth;  // of the same mixtures on a grid of losses in numpy, its step halved until five digits agreed
    double width;
  };
  for (run const& r : {run{0.7, 256, 50'000, 10'000, 8.87e-9, 118.98, 1e-5},
                       run{0.549, 9, 60'000, 6'885, 3.9e-9, 38.31, 0.2},
                       run{1.31, 365, 1'000'000, 40'117, 8.87e-9, 2.930, 1e-5}}) {
    event const release =
        sampled(gaussian{.noise_multiplier = r.noise}, with_replacement{r.batch, r.records});
    privacy_loss_accountant accountant(adjacency::add_remove);
    accountant.compose(release, r.count);
    bound<double> const found = accountant.epsilon(r.delta);
    CAPTURE(r.noise, found.lower, found.upper);
    CHECK(found.lower <= r.truth * (1.0 + 2e-4));
    CHECK(found.upper >= r.truth * (1.0 - 2e-4));
    CHECK(found.upper - found.lower <= r.width);
    if (r.width > 0.1) continue;
    bound<double> const back = accountant.delta(found.upper);
    CHECK(back.lower <= r.delta * (1.0 + 1e-9));
    CHECK(back.upper >= r.delta * 0.8);
  }
}

TEST_CASE("without its light parts a mixture's ends are around its own", "[gathering]") {
  // Few releases, which are composed with all parts as well.
  event const release = sampled(gaussian{.noise_multiplier = 1.0}, with_replacement{50, 5'000});
  domination const all = dominate(release, adjacency::add_remove);
  for (double const most : {1e-4, 1e-6, 1e-9, 1e-15}) {
    auto const [above, below, is_lighter] = detail::without_light(all, most);
    REQUIRE(is_lighter);
    CHECK(above.left_out <= most);
    CHECK(above.left_out > 0.0);
    for (orientation const way : {orientation::remove, orientation::add}) {
      bool const remove = way == orientation::remove;
      auto const& whole = std::get<mixture_pair>(remove ? all.remove : all.add);
      auto const& up = std::get<mixture_pair>(remove ? above.remove : above.add);
      auto const& down = std::get<mixture_pair>(remove ? below.remove : below.add);
      CHECK(up.parts.size() < whole.parts.size());
      for (double const epsilon : {0.0, 1e-3, 0.01, 0.1, 1.0, 3.0}) {
        CAPTURE(most, remove, epsilon);
        double const truth = profile(whole, epsilon);
        CHECK(profile(down, epsilon) <= truth + 1e-14);
        CHECK(profile(up, epsilon) + above.left_out >= truth - 1e-14);
      }
    }
  }
  CHECK_FALSE(detail::without_light(all, 1e-320).is_lighter);
}

// An upper end is one for a δ that is less by what the pairs miss, whatever way it is found.
TEST_CASE("an upper end counts what is left out of the pairs", "[gathering][long]") {
  struct run {
    event release;
    adjacency neighbours;
    std::uint64_t count;
    double epsilon;
  };
  for (run const& r : {
           run{sampled(gaussian{1.0}, poisson{0.01}), adjacency::add_remove, 1, 1.0},
           run{sampled(gaussian{1.0}, poisson{0.01}), adjacency::add_remove, 300, 1.0},
           run{sampled(gaussian{0.4}, poisson{1e-4}), adjacency::add_remove, 40, 5.0},
           run{by_person(sampled(gaussian{1.0}, poisson{0.01}), 3), adjacency::add_remove, 20, 2.0},
           run{sampled(gaussian{1.0}, fixed_size{20, 1'000}), adjacency::replace_one, 1, 1.0},
           run{sampled(gaussian{1.0}, fixed_size{20, 1'000}), adjacency::replace_one, 40, 1.0},
           run{sampled(laplace{1.5}, poisson{0.01}), adjacency::add_remove, 100, 0.1},
           run{sampled(discrete_gaussian{2.0, 1}, poisson{0.02}), adjacency::add_remove, 500, 1.0},
           run{sampled(discrete_gaussian{2.0, 1}, poisson{0.02}), adjacency::add_remove, 5, 0.2},
       }) {
    domination const whole = dominate(r.release, r.neighbours);
    basic_privacy_loss<double> all(r.neighbours);
    all.add(r.release, r.count, whole);
    discretised all_on_grid(r.neighbours);
    all_on_grid.add(whole, r.count);
    double const delta = all.delta(r.epsilon).lower;
    // Rényi divergences are those of the release, which misses nothing.
    renyi_accountant orders(r.neighbours);
    orders.compose(r.release, r.count);
    double const by_orders = orders.epsilon(delta).upper;
    bound<double> const at_delta = all.epsilon(delta);
    CAPTURE(r.count, r.epsilon, delta, by_orders);
    REQUIRE(delta > 1e-12);
    for (double const part : {1e-9, 0.25, 0.75, 1.5}) {
      domination less = whole;
      less.left_out = part * delta / static_cast<double>(r.count);
      basic_privacy_loss<double> some(r.neighbours);
      some.add(r.release, r.count, less);
      discretised on_grid(r.neighbours);
      on_grid.add(less, r.count);
      CAPTURE(part);
      double const missing = part * delta * (1.0 - 1e-12);
      bound<double> const found = some.epsilon(delta);
      bound<double> const of_grid = on_grid.epsilon(delta);
      CHECK(found.lower <= at_delta.upper);
      CHECK(on_grid.delta(r.epsilon).upper >= all.delta(r.epsilon).lower + missing);
      if (part > 1.0) {
        CHECK(found.upper >= by_orders);
        CHECK(of_grid.upper == std::numeric_limits<double>::infinity());
        continue;
      }
      double const least = all.epsilon((1.0 - part) * delta * (1.0 + 1e-12)).lower;
      CHECK(found.upper >= std::min(least, by_orders));
      CHECK(found.upper <= 1.01 * all_on_grid.epsilon((1.0 - part) * delta * (1.0 - 1e-9)).upper);
      CHECK(of_grid.upper >= least);
      CHECK(found.lower >= at_delta.lower * (1.0 - 1e-6));
    }
  }
}

// Some of these took 2.5 s to 6 s: several questions, each with all of a question's work.
TEST_CASE("questions that are wide end within the work of two", "[gathering][long]") {
  struct run {
    adjacency neighbours;
    std::vector<composed> releases;
    double delta;
    bound<double> within;
  };
  std::vector<composed> batches;
  for (std::uint64_t b = 10; b < 310; ++b) {
    batches.push_back({sampled(gaussian{1.0}, with_replacement{b, 10'000}), 1});
  }
  event const many = sampled(gaussian{1.0}, with_replacement{256, 50'000});
  event const little = sampled(gaussian{0.05}, with_replacement{256, 50'000});
  for (run const& r : {run{adjacency::add_remove, {{many, 1'000}}, 1e-6, {13.59, 13.60}},
                       run{adjacency::add_remove, {{many, 100'000}}, 1e-100, {0.0, 2000.0}},
                       run{adjacency::add_remove, {{little, 3}}, 1e-6, {3363.0, 3364.0}},
                       run{adjacency::add_remove, batches, 1e-6, {12.0, 39.0}},
                       run{adjacency::zero_out,
                           {{sampled(laplace{1.68}, poisson{0.0795}), 2},
                            {sampled(gaussian{1.38}, fixed_size{17, 60'000}), 14'318}},
                           5.35e-5,
                           {0.361, 0.362}}}) {
    privacy_loss_accountant accountant(r.neighbours);
    for (composed const& c : r.releases) accountant.compose(c.release, c.count);
    detail::work_budget work(0.0);
    bound<double> const found = accountant.counted_epsilon(r.delta, work);
    CAPTURE(r.delta, found.lower, found.upper, work.left());
    CHECK(found.lower >= r.within.lower);
    CHECK(found.upper <= r.within.upper);
    CHECK(found.lower < found.upper);
    CHECK(work.left() >= -3e9);
  }
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
  auto run = composed_of<privacy_loss_accountant>(sums(60), adjacency::replace_one);
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
  refused(with_replacement{2'000'000'000, 1'000}, one.what);  // drawn too often
  refused(one.how, gaussian{1e-160});                         // losses that overflow
  refused(one.how, gaussian{-1.0});
  CHECK(run.save() == before);
  // Sums of counts stay numbers of 64 bits.
  for (event const& more : {one, event(gaussian{1e12}), in_batches(2.345)}) {
    CHECK_THROWS_AS(run.compose(more, std::uint64_t{1} << 62U), std::domain_error);
    CHECK_THROWS_AS(run.compose(more, ~std::uint64_t{0} - 100), std::domain_error);
  }
  CHECK(run.save() == before);
  CHECK(run.delta(0.2).upper < 1.0);
  // A batch ten times as large as any before it is not, nor is extreme noise.
  run.compose(in_batches(2.0, 30)).compose(in_batches(1e-40)).compose(in_batches(1e40));
  CHECK(run.history().size() == 63);
  CHECK(run.delta(0.2).upper > 0.01);
  // What was moved from may be asked, and is told from what it was.
  privacy_loss_accountant const taken = std::move(run);
  CHECK(taken.history().size() == 63);
}

TEST_CASE("counts beyond 2^53 of several laws have no grid, and no false end", "[gathering]") {
  for (std::uint64_t const count :
       {std::uint64_t{1} << 60U, ~std::uint64_t{0} - (std::uint64_t{1} << 40U)}) {
    accountant<discretised> run(adjacency::add_remove);
    run.compose(sampled(gaussian{20.0}, poisson{0.01}), count)
        .compose(sampled(laplace{20.0}, poisson{0.01}), 3);
    CHECK(run.delta(1.0).upper > 0.99);
  }
}

TEST_CASE("what stands below many batches of Gaussians is below them, and says most of them",
          "[gathering]") {
  // Draws and batches, of 10 to 305 records and of different noise.
  for (bool const draws : {true, false}) {
    privacy_loss_accountant gathered(adjacency::add_remove);
    basic_discretised<double> apart(adjacency::add_remove);
    for (std::uint64_t k = 0; k < 60; ++k) {
      gaussian const noise{20.0 + 0.01 * static_cast<double>(k % 7)};
      std::uint64_t const batch = 10 + 5 * k;
      event const release = draws ? sampled(noise, with_replacement{batch, 10'000})
                                  : by_person(sampled(noise, fixed_size{batch, 10'000}), 3);
      gathered.compose(release, 500);
      apart.add(release, 500);
    }
    bound<double> const found = gathered.epsilon(1e-6);
    detail::work_budget work(8e9);
    bound<double> const truth = apart.epsilon(1e-6, work, 1e-4);
    CAPTURE(draws, found.lower, found.upper, truth.lower, truth.upper);
    CHECK(found.lower <= truth.upper);
    CHECK(found.upper >= truth.lower);
    CHECK(found.lower >= 0.8 * truth.lower);
  }
}

}  // namespace gathering_tests
