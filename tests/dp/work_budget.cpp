// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/allocation/lattice.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/selection.hpp>
#include <tacit/dp/shuffled_batches.hpp>
#include <tacit/dp/work_budget.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__unix__)
#include <sys/resource.h>
#endif

using namespace tacit;
using detail::work_budget;
namespace rays = tacit::detail::rays;

TEST_CASE("a budget of work counts what is done and what is refused", "[work_budget]") {
  work_budget work(100.0);
  CHECK(work.take(60.0));
  CHECK_FALSE(work.take(60.0));
  CHECK(work.left() == 40.0);
  CHECK_FALSE(work.take(std::nan("")));
  int const answer = work.within(30.0, [](work_budget& part) {
    CHECK(part.left() == 30.0);
    CHECK_FALSE(part.spend(35.0));
    CHECK(part.ended());
    return 7;
  });
  CHECK(answer == 7);
  CHECK(work.left() == 5.0);
  work.within(1e9, [](work_budget& part) { CHECK(part.left() == 5.0); });
  CHECK_FALSE(work.spend(6.0));
  CHECK(work.ended());
  work.within(10.0, [](work_budget& part) { CHECK(part.ended()); });
}

// Before work was counted, σ = 1e-4 took 20 GB and more than a minute here.
TEST_CASE("little noise is refused by the lines before their tables are made", "[work_budget]") {
  for (double const sigma : {1e-300, 1e-9, 1e-6, 1e-4, 1e-3, 0.019}) {
    CAPTURE(sigma);
    rays::composition const what{{{0.01, 1.0 / sigma, 1000.0}}, 0.0};
    CHECK_FALSE(rays::affordable(what));
    work_budget work(detail::work_on_lines);
    CHECK_FALSE(rays::epsilon(what, orientation::remove, std::log(1e-5), 0.0, work));
    CHECK_FALSE(rays::log_delta(what, orientation::remove, 1.0, work));
    CHECK_FALSE(rays::add_is_below(what, 1.0, std::log(1e-5), work));
    CHECK(work.left() == detail::work_on_lines);
  }
  CHECK(rays::affordable({{{0.01, 1.0 / 0.021, 1000.0}}, 0.0}));
  for (double const sigma : {1e-6, 1e-4}) {
    for (auto const towards : {orientation::remove, orientation::add}) {
      detail::contour<double> const line({{mixture_pair{{{0.01, 1.0 / sigma}}, towards}, 1000.0}},
                                         0.0);
      work_budget work(detail::work_on_lines);
      CHECK_FALSE(line.epsilon(1e-5, detail::line_effort::all, work));
      CHECK_FALSE(line.chernoff_below(1.0, std::log(1e-5), work));
      CHECK(work.left() == detail::work_on_lines);
    }
  }
}

// A step that begins within the budget may go beyond it, by no more than itself.
TEST_CASE("an engine does no more than its budget allows", "[work_budget]") {
  for (double const sigma : {0.021, 0.05, 0.3, 1.0, 30.0, 1e3}) {
    for (double const rate : {1e-9, 0.001, 0.5}) {
      for (double const count : {2.0, 1e3, 1e9}) {
        CAPTURE(sigma, rate, count);
        double const all = 2e7;
        work_budget on_rays(all);
        (void)rays::epsilon({{{rate, 1.0 / sigma, count}}, 0.0}, orientation::remove,
                            std::log(1e-9), 0.0, on_rays);
        CHECK(on_rays.left() > -0.5 * all);
        work_budget on_line(all);
        detail::contour<double> const line(
            {{mixture_pair{{{rate, 1.0 / sigma}}, orientation::remove}, count}}, 0.0);
        (void)line.epsilon(1e-9, detail::line_effort::all, on_line);
        CHECK(on_line.left() > -0.5 * all);
        work_budget on_grid(all);
        basic_discretised<double> grid(adjacency::add_remove);
        grid.add(sampled(gaussian{sigma}, poisson{rate}), static_cast<std::uint64_t>(count));
        bound<double> const found = grid.epsilon(1e-9, on_grid);
        CHECK(found.lower <= found.upper);
        CHECK(on_grid.left() >= 0.0);
      }
    }
  }
}

TEST_CASE("questions far outside the box have an answer in little memory", "[work_budget]") {
  struct question {
    double sigma;
    double rate;
    std::uint64_t steps;
    double delta;
  };
  for (question const& q : std::vector<question>{{1e-4, 0.01, 1000, 1e-5},
                                                 {1e-3, 0.01, 100'000, 1e-5},
                                                 {1e-6, 0.5, 1'000'000'000, 1e-300},
                                                 {0.05, 0.01, 63'440'851, 1e-200},
                                                 {0.0205, 0.01, 100, 1e-5}}) {
    CAPTURE(q.sigma, q.rate, q.steps, q.delta);
    event const release = sampled(gaussian{q.sigma}, poisson{q.rate});
    bound<double> const exact =
        privacy_loss_accountant().compose(release, q.steps).epsilon(q.delta);
    bound<double> const grid = discretised_accountant().compose(release, q.steps).epsilon(q.delta);
    bound<double> const renyi = renyi_accountant().compose(release, q.steps).epsilon(q.delta);
    CHECK(exact.lower <= exact.upper);
    CHECK(exact.upper <= renyi.upper * (1.0 + 1e-12));
    CHECK(exact.lower <= grid.upper);
    CHECK(grid.lower <= exact.upper);
    CHECK(exact.upper < 1e300);
  }
#if defined(__unix__) && !defined(__SANITIZE_ADDRESS__)
  rusage used{};
  REQUIRE(getrusage(RUSAGE_SELF, &used) == 0);
#if defined(__APPLE__)
  CHECK(used.ru_maxrss < 600'000'000);
#else
  CHECK(used.ru_maxrss < 600'000);
#endif
#endif
}

// A cell that is a thousand deviations long has mass in the last forty of them at most.
TEST_CASE("lattices of likelihood ratios need no mass where there is none", "[work_budget]") {
  using ratio = detail::epochs::step_ratio<double>;
  for (double const sigma : {1.0, 1e3, 3e6}) {
    ratio const one(sigma);
    double const top = one.value(9.0);
    for (double const step : {top / 1024, top / 8192}) {
      CAPTURE(sigma, step);
      auto const law = one.above(step, top);
      double mass = 0.0, mean = 0.0;
      for (std::size_t k = 0; k < law.mass.size(); ++k) {
        mass += law.mass[k];
        mean += law.mass[k] * (law.origin + law.step * static_cast<double>(k));
      }
      CHECK(std::abs(mass - 1.0) <= 1e-12);
      CHECK(std::abs(mean - 1.0) <= 1e-12);
    }
  }
}

// A line beside rays that were within 1e-8 took as much as a hundred of their answers.
TEST_CASE("few steps cost little once rays have nearly answered", "[work_budget]") {
  privacy_loss_accountant run;
  run.compose(sampled(gaussian{1.609}, poisson{0.00433}), 2);
  for (double const epsilon : {0.025, 0.03, 0.045, 0.055}) {
    CAPTURE(epsilon);
    work_budget work(1e9);
    bound<double> const found = run.counted_delta(epsilon, work);
    CHECK(work.left() >= 0.92e9);
    CHECK(found.upper - found.lower <= 1e-7 * found.upper);
  }
}

// These took a fifth of a second and more beside what was counted.
TEST_CASE("losses of many parts and epochs of their own count as what they take", "[work_budget]") {
  privacy_loss_accountant person;
  person.compose(by_person(sampled(gaussian{1.0}, poisson{0.01}), 1000), 10);
  work_budget work(1.9e9);
  (void)person.delta_within(1.0, work);
  CHECK(work.left() <= 1.8e9);

  shuffled_run<privacy_loss_accountant> const epochs(gaussian{1.0}, 1000, 10);
  work_budget most(1.9e9);
  bound<double> const found = epochs.delta_within(1.0, most);
  CHECK(found.upper <= 0.33);
  CHECK(most.left() <= 1.6e9);
  // Each question of the best of several asks another epoch.
  int asked = 0;
  struct counted_run {
    shuffled_run<privacy_loss_accountant> const* of;
    int* asked;
    [[nodiscard]] bound<double> delta_within(double epsilon, work_budget& own) const {
      ++*asked;
      return of->delta_within(epsilon, own);
    }
    [[nodiscard]] bound<double> epsilon_within(double delta, work_budget& own) const {
      ++*asked;
      return of->epsilon_within(delta, own);
    }
    [[nodiscard]] bound<double> delta(double epsilon) const { return of->delta(epsilon); }
    [[nodiscard]] bound<double> epsilon(double delta) const { return of->epsilon(delta); }
  } const run{&epochs, &asked};
  best_of const best(run, truncated_negative_binomial{0.1, 1.0});
  CHECK(asked <= 4);
}

TEST_CASE("a search over orders of losses of many parts ends, and is counted", "[work_budget]") {
  renyi_accountant by_orders;
  by_orders.compose(sampled(gaussian{8.0}, with_replacement{152, 152}), 122);
  work_budget work(0.0);
  double const upper = by_orders.counted_epsilon(1e-5, work).upper;
  CHECK(upper == by_orders.epsilon(1e-5).upper);
  CHECK(upper <= 18.28);  // the last weights, some 1e-323, are rounded up
  CHECK(work.left() <= -1e6);
  CHECK(work.left() >= -2.2e9);  // of two directions
  work_budget other(0.0);
  CHECK(by_orders.counted_delta(20.0, other).upper <= 1.63e-6);
  CHECK(other.left() >= -2.2e9);
}
