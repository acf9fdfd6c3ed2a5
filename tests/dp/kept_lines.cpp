// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/capped_run.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/sampled_run.hpp>
#include <tacit/dp/trade_off_curve.hpp>
#include <tacit/dp/work_budget.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

using namespace tacit;

namespace {

using generator = std::mt19937_64;

double uniform(generator& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}
double spread(generator& random, double low, double high) {
  return std::exp(uniform(random, std::log(low), std::log(high)));
}

/// Gaussians, sampled or not, and Laplace noise: what lines and rays serve.
privacy_loss_accountant random_run(generator& random) {
  privacy_loss_accountant run(random() % 4 == 0 ? adjacency::zero_out : adjacency::add_remove);
  std::size_t const different = 1 + random() % 3;
  for (std::size_t k = 0; k < different; ++k) {
    double const sigma = spread(random, 0.4, 20.0);
    poisson const rate{.rate = spread(random, 1e-5, 1.0)};
    auto const steps = static_cast<std::uint64_t>(spread(random, 1.0, 1e5));
    switch (random() % 6) {
      case 0:
        run.compose(sampled(laplace{.noise_multiplier = sigma}, rate), 1 + steps / 10);
        break;
      case 1:
        run.compose(gaussian{.noise_multiplier = sigma * 4.0}, 1 + steps % 10);
        break;
      default:
        run.compose(sampled(gaussian{.noise_multiplier = sigma}, rate), steps);
    }
  }
  return run;
}

/// How many of the answers at some ε contradict a lone question's, or are wider than that where they are wide.
struct tally {
  int asked = 0;
  int apart = 0;
  int wide = 0;
};

tally compare(privacy_loss_accountant const& run, generator& random, int many) {
  tally out;
  detail::work_budget work(1e18);
  auto ask = run.deltas();
  double const most = run.epsilon(1e-12).upper;
  if (!(most > 0.0 && most < 300.0)) return out;
  for (int k = 0; k < many; ++k) {
    double const epsilon = k == 0 ? 0.0 : uniform(random, 0.0, most);
    bound<double> const together = ask(epsilon, work);
    bound<double> const alone = run.delta(epsilon);
    ++out.asked;
    out.apart += !(together.lower <= alone.upper && alone.lower <= together.upper);
    double const width = together.upper - together.lower;
    // What a grid has kept may be four times as wide as it would be at its own ε.
    bool const kept_on_grid = width > 2e-8 * together.upper && width <= 4e-4 * together.upper;
    if (width > 5e-10 * together.upper && !kept_on_grid) {
      bound<double> const within = run.delta_within(epsilon, work);
      out.wide += within.upper - within.lower < 0.5 * width;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("delta at many epsilons asked together meets what lone questions answer",
          "[dp][pld][long]") {
  generator random(20261128);
  for (int k = 0; k < 12; ++k) {
    CAPTURE(k);
    tally const found = compare(random_run(random), random, 10);
    CHECK(found.apart == 0);
    CHECK(found.wide == 0);
  }
}

TEST_CASE("delta at many epsilons asked together, hundreds of runs", "[dp][pld][.sweep]") {
  generator random(77104219);
  int asked = 0;
  for (int k = 0; k < 300; ++k) {
    CAPTURE(k);
    tally const found = compare(random_run(random), random, 30);
    asked += found.asked;
    CHECK(found.apart == 0);
    CHECK(found.wide == 0);
  }
  WARN(asked << " questions");
}

TEST_CASE("a curve of a thousand knots falls, is convex and contains", "[dp][pld]") {
  generator random(11);
  for (auto const& [sigma, rate, steps] :
       {std::tuple(1.0, 0.01, 1000), std::tuple(0.7, 1e-3, 10'000), std::tuple(10.0, 0.5, 1000)}) {
    privacy_loss_accountant run;
    run.compose(sampled(gaussian{.noise_multiplier = sigma}, poisson{.rate = rate}),
                static_cast<std::uint64_t>(steps));
    trade_off_curve const curve(run, run.neighbours(), {.knots = 1000, .tolerance = 1e-7});
    CHECK(curve.knots().size() >= 1000);
    for (profile_knot const& knot : curve.knots()) {
      if (knot.delta.upper < 1e-11) continue;
      CAPTURE(sigma, knot.epsilon);
      CHECK(knot.delta.upper - knot.delta.lower <= 1e-9 * knot.delta.upper);
    }
    // Lone questions, at knots and between them.
    for (int k = 0; k < 10; ++k) {
      std::size_t const which = random() % curve.knots().size();
      profile_knot const& knot = curve.knots()[which];
      bound<double> const there = run.delta(knot.epsilon);
      CHECK(knot.delta.lower <= there.upper);
      CHECK(there.lower <= knot.delta.upper);
      double const between = uniform(random, 0.0, knot.epsilon);
      bound<double> const alone = run.delta(between);
      bound<double> const known = curve.delta(between);
      CHECK(known.lower <= alone.upper);
      CHECK(alone.lower <= known.upper);
    }
    // Both ends fall, and the lower one is convex, as a highest line is.
    bound<double> last{1.0, 1.0};
    for (double alpha = 0.0; alpha <= 1.0; alpha += 1.0 / 512.0) {
      CAPTURE(sigma, alpha);
      bound<double> const here = curve.false_negative_rate(alpha);
      CHECK(here.lower <= here.upper);
      CHECK(here.upper <= 1.0 - alpha + 1e-15);
      CHECK(here.lower <= last.lower);
      CHECK(here.upper <= last.upper);
      if (alpha > 0.0 && alpha < 1.0) {
        double const before = curve.false_negative_rate(alpha - 1.0 / 512.0).lower;
        double const after = curve.false_negative_rate(alpha + 1.0 / 512.0).lower;
        CHECK(here.lower <= 0.5 * (before + after) + 1e-14);
      }
      last = here;
    }
    // The same questions in the same order have the same answers.
    trade_off_curve const again(run, run.neighbours(), {.knots = 1000, .tolerance = 1e-7});
    CHECK(again.save() == curve.save());
  }
}

TEST_CASE("groups of lines answer as all of them do", "[dp]") {
  generator random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<profile_knot> knots;
    double epsilon = 0.0;
    double delta = uniform(random, 0.2, 1.0);
    std::size_t const count = 1 + random() % 200;
    for (std::size_t k = 0; k < count; ++k) {
      knots.push_back({epsilon, {0.0, delta}});
      epsilon += spread(random, 1e-3, 0.3);
      delta *= uniform(random, 0.85, 0.9);
    }
    trade_off_curve const curve(adjacency::add_remove, knots);
    for (int k = 0; k < 30; ++k) {
      double const alpha = k == 0 ? 0.0 : spread(random, 1e-12, 1.0);
      double best = 0.0;
      for (profile_knot const& knot : curve.knots()) {
        double const y = std::exp(knot.epsilon);
        double const miss = 1.0 - knot.delta.upper;
        best = std::max({best, miss - y * alpha, (miss - alpha) / y});
      }
      CAPTURE(round, alpha);
      CHECK(std::abs(curve.false_negative_rate(alpha).lower - best) <= 1e-12);
    }
  }
}

TEST_CASE("delta at many epsilons of runs around a run", "[dp][pld]") {
  privacy_loss_accountant run;
  run.compose(sampled(gaussian{.noise_multiplier = 0.9}, poisson{.rate = 0.02}), 500);
  privacy_loss_accountant larger;
  larger.compose(sampled(gaussian{.noise_multiplier = 0.9}, poisson{.rate = 0.03}), 500);
  sampled_run<privacy_loss_accountant> const part(run, poisson{.rate = 0.5});
  capped_run<privacy_loss_accountant> capped(run, 1e-9);
  capped.also(larger, 1e-7);
  auto const meets = [](auto const& of) {
    detail::work_budget work(1e18);
    auto ask = of.deltas();
    for (double epsilon = 0.0; epsilon < 4.0; epsilon += 0.19) {
      CAPTURE(epsilon);
      bound<double> const together = ask(epsilon, work);
      bound<double> const alone = of.delta(epsilon);
      CHECK(together.lower <= alone.upper);
      CHECK(alone.lower <= together.upper);
      CHECK(std::abs(together.upper - alone.upper) <= 1e-9 * alone.upper);
      CHECK(std::abs(together.lower - alone.lower) <= 1e-9 * alone.upper);
    }
  };
  meets(part);
  meets(capped);
}
