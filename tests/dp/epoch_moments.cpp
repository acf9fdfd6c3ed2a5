// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/contour/epoch_moments.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/privacy_loss.hpp>

#include <support/catch.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace tacit;
using detail::work_budget;
using detail::epochs::epoch_moments;

namespace {

constexpr double ample = 1e10;

/// E S^m, m ≤ 3, from the moments of one step.
double whole_moment(double sigma, double t, int m) {
  double const e = std::expm1(1.0 / (sigma * sigma));
  if (m < 2) return 1.0;
  if (m == 2) return 1.0 + e / t;
  double const third = std::exp(3.0 / (sigma * sigma));
  return (third + 3.0 * (t - 1.0) * (1.0 + e) + (t - 1.0) * (t - 2.0)) / (t * t);
}

/// E S^w of two steps: S = e^{aZ/√2 − a²/2}·cosh(aZ′/√2) with Z, Z′ independent.
std::complex<double> of_two(double sigma, std::complex<double> w) {
  double const a = 1.0 / sigma;
  std::complex<double> sum = 0.0;
  double const step = 0.02;
  for (int k = -2000; k <= 2000; ++k) {
    double const z = step * k;
    double const x = std::abs(a * z / std::sqrt(2.0));
    double const log_cosh = x + std::log1p(std::exp(-2.0 * x)) - std::log(2.0);
    sum += std::exp(w * log_cosh - 0.5 * z * z);
  }
  return sum * step / std::sqrt(2.0 * std::acos(-1.0)) *
         std::exp(0.25 * a * a * w * w - 0.5 * a * a * w);
}

allocation_pair pair_of(double sigma, std::uint64_t steps, orientation way) {
  return {sigma, steps, way};
}

event epoch_of(double sigma, std::uint64_t steps) {
  return sampled(gaussian{sigma}, random_allocation{steps, 1});
}

}  // namespace

TEST_CASE("moments of an epoch are those of the mean of its steps", "[allocation]") {
  for (double const sigma : {0.4, 0.7, 1.0, 3.0, 20.0}) {
    for (std::uint64_t const steps : {2U, 3U, 10U, 1000U, 1'000'000U}) {
      CAPTURE(sigma, steps);
      work_budget work(ample);
      auto const moments = epoch_moments<>::fine(pair_of(sigma, steps, orientation::remove), 1.0,
                                                 1.0, 1.0, 4.0, work);
      REQUIRE(moments);
      double const t = static_cast<double>(steps);
      for (int m = 1; m <= 3; ++m) {
        double const truth = std::log(whole_moment(sigma, t, m));
        double const above = moments->above(m - 1.0);
        CHECK(above >= truth - 1e-15);
        CHECK(above <= truth + 1e-10);
        CHECK(std::abs(moments->at_tilt(m - 1.0).value - truth) <= 2e-12 * (1.0 + truth));
      }
      CHECK(moments->above(2.5) == std::numeric_limits<double>::infinity());
    }
  }
}

TEST_CASE("two steps along a line, against a quadrature", "[allocation]") {
  std::mt19937_64 source(20261129);
  std::uniform_real_distribution<> unit(0.0, 1.0);
  std::size_t told = 0;
  for (int run = 0; run < 100; ++run) {
    bool const by_rays = run >= 60;  // most of the line
    double const sigma = by_rays ? 5.0 + 30.0 * unit(source)
                                 : std::exp(std::log(0.35) + unit(source) * std::log(50.0));
    double const tilt = 0.2 + 5.0 * unit(source);
    double const end = by_rays ? sigma * (5.0 + 4.0 * unit(source)) : 0.5 + 10.0 * unit(source);
    auto const way = run % 2 == 0 ? orientation::remove : orientation::add;
    CAPTURE(sigma, tilt, end, run);
    work_budget work(ample);
    auto const moments =
        epoch_moments<>::fine(pair_of(sigma, 2, way), tilt, 0.5 * tilt, 1.0, end, work);
    REQUIRE(moments);
    double const size = of_two(sigma, way == orientation::remove ? 1.0 + tilt : -tilt).real();
    constexpr std::size_t points = 20;
    double const spacing = detail::short_number(end / points, 22);
    bool const all = moments->along(
        tilt, spacing, points,
        [&](std::size_t n, double value, detail::complex<double> const& found, double error) {
          double const t = spacing * static_cast<double>(n);
          std::complex<double> const z(tilt, t);
          std::complex<double> const truth =
              of_two(sigma, way == orientation::remove ? 1.0 + z : -z) / std::exp(value);
          CHECK(std::abs(truth - std::complex<double>(found.re, found.im)) <= error + 1e-13);
          CHECK(std::abs(truth) <= moments->beyond(tilt, t, value) + 1e-13);
          CHECK(std::abs(value - std::log(size)) < 1e-11 * (1.0 + std::abs(value)));
          told += error < 1e-9 ? 1 : 0;
        });
    CHECK(all);
  }
  CHECK(told > 1700);
}

// E S^m ≥ t^{1−m}·E U^m, which rules where 1/(m!·t^m) is no number.
TEST_CASE("bounds of an epoch's moments are above what one large ratio makes", "[allocation]") {
  struct question {
    double sigma;
    double steps;
    double order;
    double m;
  };
  for (question const& one :
       {question{1.5, 1e5, 100, 52}, question{1.77, 1e4, 100, 61}, question{2.3, 1e3, 100, 79},
        question{2.8, 300, 150, 96}, question{0.8, 1e6, 100, 28}}) {
    detail::epochs::discrete_step<> const step(one.sigma, one.steps, {1.0, 2.0, 0.0, -20.0});
    detail::epochs::moment_cuts<> const cuts(step, one.steps, one.order);
    double const a = 1.0 / one.sigma;
    double const log_moment =
        0.5 * a * a * (one.m * one.m - one.m) - (one.m - 1.0) * std::log(one.steps);
    CAPTURE(one.sigma, one.steps, one.m);
    CHECK(cuts.log_moment(static_cast<std::size_t>(one.m)) >= log_moment);
  }
}

TEST_CASE("what an epoch's moments refuse", "[allocation]") {
  work_budget work(ample);
  auto const of = [&](double sigma, std::uint64_t steps, double tilt, double end) {
    return epoch_moments<>::fine(pair_of(sigma, steps, orientation::remove), tilt, 0.1, 0.1, end,
                                 work);
  };
  CHECK_FALSE(of(1.0, 1, 1.0, 1.0));       // one step: a plain Gaussian
  CHECK_FALSE(of(0.01, 10, 1.0, 1.0));     // ratios that are no numbers
  CHECK_FALSE(of(1.0, 1000, 1.0, 1e5));    // too far for rays
  CHECK_FALSE(of(1.0, 1000, 100.0, 1.0));  // a tilt beyond what normal masses show
  work_budget little(1e3);
  CHECK_FALSE(
      epoch_moments<>::fine(pair_of(1.0, 1000, orientation::remove), 1.0, 0.1, 0.1, 1.0, little));
}

TEST_CASE("many epochs: the line and the grid meet, and ε and δ are each other's inverse",
          "[allocation][long]") {
  std::mt19937_64 source(7);
  std::uniform_real_distribution<> unit(0.0, 1.0);
  std::size_t by_line = 0;
  for (int run = 0; run < 12; ++run) {
    double const sigma = std::exp(std::log(0.4) + unit(source) * std::log(20.0));
    auto const steps = static_cast<std::uint64_t>(std::exp(std::log(2.0) + unit(source) * 8.0));
    auto const count = static_cast<std::uint64_t>(std::exp(1.0 + unit(source) * 7.0));
    double const delta = std::pow(10.0, -2.0 - 9.0 * unit(source));
    CAPTURE(sigma, steps, count, delta);
    privacy_loss_accountant account(adjacency::add_remove);
    account.compose(epoch_of(sigma, steps), count);
    auto const found = account.method().epsilon_by(delta);
    if (found.by != privacy_loss_route::contour) continue;
    ++by_line;
    CHECK(found.value.upper - found.value.lower <= 1e-6 * std::max(1.0, found.value.upper));
    discretised_accountant grid(adjacency::add_remove);
    grid.compose(epoch_of(sigma, steps), count);
    bound<double> const other = grid.method().epsilon(delta);
    CHECK(other.lower <= found.value.upper);
    CHECK(other.upper >= found.value.lower);
    bound<double> const back = account.delta(found.value.upper);
    CHECK(back.lower <= delta);
    CHECK(account.delta(found.value.lower).upper >= delta * (1.0 - 1e-9));
    // One part after the other.
    privacy_loss_accountant parts(adjacency::add_remove);
    parts.compose(epoch_of(sigma, steps), count / 3);
    parts.compose(epoch_of(sigma, steps), count - count / 3);
    bound<double> const split = parts.epsilon(delta);
    CHECK(split.lower == found.value.lower);
    CHECK(split.upper == found.value.upper);
  }
  CHECK(by_line >= 5);
}

TEST_CASE("a thousand epochs of a thousand steps are narrow, beside other releases, too",
          "[allocation]") {
  privacy_loss_accountant account(adjacency::add_remove);
  account.compose(epoch_of(1.0, 1000), 1000);
  bound<double> const alone = account.epsilon(1e-6);
  CHECK(alone.upper - alone.lower <= 1e-8);
  // What a grid of atoms on either side says of it: tests/dp/allocation.cpp.
  CHECK(alone.lower >= 6.6750234343387405);
  CHECK(alone.upper <= 6.6752725408269455);
  account.compose(gaussian{5.0}, 10);
  account.compose(epoch_of(1.5, 500), 50);
  account.compose(sampled(gaussian{1.0}, poisson{0.001}), 1000);
  bound<double> const all = account.epsilon(1e-6);
  CHECK(all.upper - all.lower <= 1e-7);
  CHECK(all.lower > alone.upper);
}

TEST_CASE("a few epochs, and a thousand of a million steps, are narrow", "[allocation][long]") {
  struct question {
    double sigma;
    std::uint64_t steps;
    std::uint64_t count;
    bound<double> grid;  // what a grid of atoms on either side says
  };
  for (question const& one :
       {question{1.0, 1000, 3, {0.29078311870013757, 0.29079483254892807}},
        question{1.0, 1000, 5, {0.37690097991884985, 0.37691570685085118}},
        question{5.0, 1000, 100, {0.24584384966373271, 0.24584560862468072}},
        question{3.0, 1000, 10, {0.12641411553696213, 0.12641520708737630}},
        question{1.0, 1'000'000, 1000, {0.15359361851175279, 0.15530521456030877}},
        question{1.0, 1'000'000, 10'000, {0.53014198799798051, 0.53168495917869008}}}) {
    privacy_loss_accountant account(adjacency::add_remove);
    account.compose(epoch_of(one.sigma, one.steps), one.count);
    bound<double> const found = account.epsilon(1e-6);
    CAPTURE(one.sigma, one.steps, one.count, found.lower, found.upper);
    CHECK(found.upper - found.lower <= 1e-6);
    CHECK(found.lower >= one.grid.lower);
    CHECK(found.upper <= one.grid.upper);
  }
}

TEST_CASE("a few epochs whose moments take long have them all the same", "[allocation][long]") {
  struct question {
    double sigma;
    std::uint64_t steps;
    std::uint64_t count;
    double delta;
  };
  for (question const& one :
       {question{0.85, 1000, 2, 1e-10}, question{5.95145883182892, 129, 10, 2.85e-6},
        question{1.1582531358604615, 1617, 10, 1.66e-5}}) {
    privacy_loss_accountant account(adjacency::add_remove);
    account.compose(epoch_of(one.sigma, one.steps), one.count);
    bound<double> const found = account.epsilon(one.delta);
    CAPTURE(one.sigma, one.steps, one.count, found.lower, found.upper);
    CHECK(found.upper - found.lower <= 1e-7);
  }
}
