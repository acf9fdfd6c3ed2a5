// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/filter/gaussian_odometer.hpp>
#include <tacit/dp/filter/odometer.hpp>

#include "support/catch.hpp"
#include "support/forked.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using tacit::adjacency;
using tacit::approx_dp;
using tacit::corrupt_state;
using tacit::event;
using tacit::gaussian;
using tacit::gaussian_dp;
using tacit::gaussian_odometer;
using tacit::poisson;

static_assert(!std::is_copy_constructible_v<gaussian_odometer>);
static_assert(!std::is_copy_assignable_v<gaussian_odometer>);
static_assert(std::is_move_constructible_v<gaussian_odometer>);

double below(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

/// N(μ, 1) and N(0, 1), of which only a cell is told.
struct told {
  double mu;
  std::vector<double> p;
  std::vector<double> q;
};

told cells_of(double mu, std::vector<double> const& ends) {
  told out{mu, {}, {}};
  double p = 0.0;
  double q = 0.0;
  for (double const end : ends) {
    out.p.push_back(below(end - mu) - p);
    out.q.push_back(below(end) - q);
    p = below(end - mu);
    q = below(end);
  }
  out.p.push_back(1.0 - p);
  out.q.push_back(1.0 - q);
  return out;
}

/// What the best adversary makes of an odometer: it sees every outcome, chooses the next release by it, and stops when it
/// likes. Σ (P − e^R·Q)⁺ over the outcomes of the run, R the reading where it stopped.
double best_stop(std::string const& state, std::vector<told> const& releases, int steps, double p,
                 double q) {
  double best = std::max(0.0, p - std::exp(gaussian_odometer::load(state).epsilon()) * q);
  if (steps == 0) return best;
  for (told const& r : releases) {
    gaussian_odometer odometer = gaussian_odometer::load(state);
    event const release = gaussian{1.0 / r.mu};
    double const expected = odometer.epsilon_after(release);
    odometer.add(release);
    REQUIRE(odometer.epsilon() == expected);
    std::string const next = odometer.save();
    double total = 0.0;
    for (std::size_t y = 0; y < r.p.size(); ++y) {
      total += best_stop(next, releases, steps - 1, p * r.p[y], q * r.q[y]);
    }
    best = std::max(best, total);
  }
  return best;
}

}  // namespace

TEST_CASE("no stopping rule beats a ladder", "[dp][filter]") {
  std::vector<double> const ends{-1.5, -0.5, 0.25, 1.0, 1.75, 2.5};
  // The squares fill rungs of 1, 2 and 4 exactly, or nearly.
  std::vector<told> const releases{cells_of(std::sqrt(1.0 - 1e-9), ends),
                                   cells_of(std::sqrt(2.0 - 1e-8), ends), cells_of(0.5, ends)};
  auto const rung = [](double square, double delta) {
    return approx_dp{epsilon(gaussian_dp{std::sqrt(square)}, delta).upper, delta};
  };
  double best_share = 0.0;
  for (std::vector<approx_dp> const& ladder :
       std::vector<std::vector<approx_dp>>{{rung(2.0, 0.05)},
                                           {rung(1.0, 0.02), rung(2.0, 0.02), rung(4.0, 0.02)},
                                           {rung(1.0, 0.001), rung(3.0, 0.02)}}) {
    gaussian_odometer const odometer(ladder);
    double const found = best_stop(odometer.save(), releases, 3, 1.0, 1.0);
    CAPTURE(ladder.size(), found);
    CHECK(found <= odometer.delta());
    best_share = std::max(best_share, found / odometer.delta());
  }
  UNSCOPED_INFO(best_share);
  CHECK(best_share > 0.7);  // the adversary is no fool

  // The whole of δ on every rung would be too little.
  double const delta = 0.05;
  gaussian_odometer const greedy({rung(1.0, delta), rung(4.0, delta)});
  double const found = best_stop(greedy.save(), releases, 3, 1.0, 1.0);
  CAPTURE(found);
  CHECK(found > 1.1 * delta);
  CHECK(found <= greedy.delta());
}

TEST_CASE("a ladder reads the first rung that was not passed", "[dp][filter]") {
  std::vector<approx_dp> const ladder{{0.5, 1e-7}, {1.0, 2e-7}, {3.0, 7e-7}};
  for (adjacency const neighbours :
       {adjacency::add_remove, adjacency::zero_out, adjacency::replace_one}) {
    double const change = neighbours == adjacency::replace_one ? 2.0 : 1.0;
    gaussian_odometer odometer(ladder, neighbours);
    CHECK(odometer.delta() == Approx(1e-6).epsilon(1e-14));
    CHECK(odometer.delta() >= 1e-6 * (1.0 - 1e-15));
    CHECK(odometer.epsilon() == 0.0);
    odometer.add(gaussian{1.0}, 0);
    CHECK(odometer.epsilon() == 0.0);
    event const step = gaussian{40.0};
    double square = 0.0;
    double last = 0.0;
    for (int k = 0; k < 3000; ++k) {
      odometer.add(step);
      square += change * change / 1600.0;
      double const read = odometer.epsilon();
      CHECK(read >= last);
      last = read;
      // By the profile itself: the reading holds at the δ of its rung, and the rung before does not.
      for (std::size_t r = 0; r < ladder.size(); ++r) {
        double const there = delta(gaussian_dp{std::sqrt(square)}, ladder[r].epsilon).lower;
        if (ladder[r].epsilon < read) CHECK(there > ladder[r].delta * (1.0 - 1e-9));
        if (ladder[r].epsilon == read) CHECK(there <= ladder[r].delta);
      }
    }
    CHECK(last == infinity);
    CHECK(odometer.spent().mu == Approx(std::sqrt(square)).epsilon(1e-12));
    CHECK(odometer.neighbours() == neighbours);
  }
  // At one charge, as one by one.
  gaussian_odometer at_once(ladder);
  CHECK(at_once.epsilon_after(gaussian{40.0}, 1U << 30U) == infinity);
  CHECK(at_once.epsilon() == 0.0);
  at_once.add(gaussian{1e-200}, 18446744073709551615U);
  at_once.add(gaussian{1e-200}, 18446744073709551615U);
  CHECK(at_once.epsilon() == infinity);
}

TEST_CASE("equal shares are those of a ladder", "[dp][filter]") {
  std::vector<double> const epsilons{0.5, 1.0, 2.0, 4.0, 8.0};
  gaussian_odometer const odometer(epsilons, 1e-6);
  CHECK(odometer.delta() <= 1e-6);
  CHECK(odometer.delta() == Approx(1e-6).epsilon(1e-11));
  for (approx_dp const& rung : odometer.ladder()) {
    CHECK(rung.delta == Approx(2e-7).epsilon(1e-11));
  }
  // At its rungs it reads less than the orders that serve the whole ladder well.
  tacit::renyi_odometer renyi({3.0, 6.0, 12.0, 24.0, 48.0});
  gaussian_odometer steps(epsilons, 1e-6);
  double const mu = gaussian_dp_for(approx_dp{4.0, 1.9e-7}).mu;
  renyi.add(gaussian{1.0 / mu});
  steps.add(gaussian{1.0 / mu});
  CHECK(steps.epsilon() == 4.0);
  CHECK(renyi.epsilon(1e-6) > 4.1);
}

TEST_CASE("a ladder refuses what it has no bound for", "[dp][filter]") {
  gaussian_odometer odometer({{1.0, 1e-6}});
  for (event const& release : {event(gaussian{not_a_number}), event(gaussian{0.0}),
                               event(gaussian{-1.0}), event(gaussian{infinity}), event(gaussian{}),
                               sampled(gaussian{1.0}, poisson{.rate = 1.5})}) {
    CHECK_THROWS_AS(odometer.add(release), std::domain_error);
    CHECK_THROWS_AS((void)odometer.epsilon_after(release), std::domain_error);
  }
  for (event const& release :
       {event(tacit::laplace{10.0}), event(approx_dp{0.1, 1e-9}),
        sampled(gaussian{10.0}, poisson{.rate = 0.5}), sampled(gaussian{10.0}, tacit::shuffled{}),
        event(tacit::discrete_gaussian{10.0})}) {
    CHECK_THROWS_AS(odometer.add(release), std::invalid_argument);
    CHECK_THROWS_AS((void)odometer.epsilon_after(release), std::invalid_argument);
  }
  CHECK(odometer.spent().mu == 0.0);

  using rungs = std::vector<approx_dp>;
  CHECK_THROWS_AS(gaussian_odometer(rungs{}), std::invalid_argument);
  CHECK_THROWS_AS(gaussian_odometer(rungs(1001, {1.0, 1e-9})), std::invalid_argument);
  for (double const bad : {not_a_number, infinity, -1.0, 0.0}) {
    CHECK_THROWS_AS(gaussian_odometer(rungs{{bad, 1e-6}}), std::domain_error);
    CHECK_THROWS_AS(gaussian_odometer(rungs{{1.0, bad}}), std::domain_error);
    CHECK_THROWS_AS(gaussian_odometer(std::vector<double>{1.0}, bad), std::domain_error);
  }
  CHECK_THROWS_AS(gaussian_odometer(rungs{{1.0, 1.0}}), std::domain_error);
  CHECK_THROWS_AS(gaussian_odometer(rungs{{}}), std::domain_error);
  CHECK_THROWS_AS(gaussian_odometer(rungs{{1.0, 0.6}, {2.0, 0.6}}), std::domain_error);
  CHECK_THROWS_AS(gaussian_odometer(rungs{{1.0, 1e-6}, {1.0, 1e-6}}), std::domain_error);
  // A larger ε that admits less.
  CHECK_THROWS_AS(gaussian_odometer(rungs{{1.0, 1e-3}, {1.1, 1e-9}}), std::domain_error);
  CHECK_THROWS_AS(gaussian_odometer(rungs{{1e308, 1e-6}, {1.1e308, 1e-6}}), std::domain_error);
  CHECK_THROWS_AS(gaussian_odometer(std::vector<double>{}, 1e-6), std::invalid_argument);
}

TEST_CASE("a ladder belongs to one object and one process", "[dp][filter]") {
  event const quiet = gaussian{1e3};
  gaussian_odometer first({{1.0, 1e-6}, {2.0, 1e-6}}, adjacency::replace_one);
  first.add(quiet, 5);
  gaussian_odometer second = std::move(first);
  // NOLINTBEGIN(bugprone-use-after-move): that is the question
  CHECK_THROWS_AS(first.add(quiet), std::logic_error);
  CHECK_THROWS_AS((void)first.epsilon(), std::logic_error);
  CHECK_THROWS_AS((void)first.epsilon_after(quiet), std::logic_error);
  CHECK_THROWS_AS((void)first.save(), std::logic_error);
  // NOLINTEND(bugprone-use-after-move)
  CHECK(support::refused_in_a_child([&] { second.add(quiet); }, [&] { (void)second.epsilon(); },
                                    [&] { (void)second.epsilon_after(quiet); },
                                    [&] { (void)second.save(); }) == 4);

  std::string const text = second.save();
  gaussian_odometer again = gaussian_odometer::load(text);
  CHECK(again.save() == text);
  CHECK(again.epsilon() == second.epsilon());
  CHECK(again.spent().mu == second.spent().mu);
  CHECK(again.neighbours() == adjacency::replace_one);
  again.add(gaussian{1e-200});
  CHECK(gaussian_odometer::load(again.save()).epsilon() == infinity);
  for (std::size_t cut = 0; cut < text.size(); cut += 7) {
    CHECK_THROWS_AS(gaussian_odometer::load(text.substr(0, cut)), corrupt_state);
  }
  for (std::size_t place = 0; place < text.size(); place += 3) {
    std::string damaged = text;
    damaged[place] = damaged[place] == '1' ? '2' : '1';
    CHECK_THROWS_AS(gaussian_odometer::load(damaged), corrupt_state);
  }
  // A text with a right checksum and wrong content.
  auto const with = [](std::string const& neighbours, std::vector<double> const& epsilons,
                       std::vector<double> const& deltas, double spent) {
    tacit::archive_writer out("tacit-gaussian-odometer", 1);
    out.field("adjacency", neighbours);
    out.list("epsilons", epsilons);
    out.list("deltas", deltas);
    out.field("spent", spent);
    return std::move(out).finish();
  };
  std::string const word = to_text(adjacency::add_remove).data();
  CHECK(gaussian_odometer::load(with(word, {1.0}, {1e-6}, 0.01)).epsilon() == 1.0);
  CHECK_THROWS_AS(gaussian_odometer::load(with("other", {1.0}, {1e-6}, 0.01)), corrupt_state);
  CHECK_THROWS_AS(gaussian_odometer::load(with(word, {1.0, 2.0}, {1e-6}, 0.01)), corrupt_state);
  CHECK_THROWS_AS(gaussian_odometer::load(with(word, {2.0, 1.0}, {1e-6, 1e-6}, 0.01)),
                  corrupt_state);
  CHECK_THROWS_AS(gaussian_odometer::load(with(word, {}, {}, 0.0)), corrupt_state);
  for (double const bad : {-0.01, not_a_number}) {
    CHECK_THROWS_AS(gaussian_odometer::load(with(word, {1.0}, {1e-6}, bad)), corrupt_state);
  }
}
