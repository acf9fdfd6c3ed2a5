// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/contour/routes.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/two_releases.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace tacit;
using detail::contour;
using detail::sampled_normal;
using detail::two_releases;
using detail::within_steps;
using support::exact;

namespace {

sampled_normal release(double rate, double sigma) { return {rate, within_steps(1.0 / sigma, 1)}; }

two_releases<> twice(double rate, double sigma, orientation towards) {
  return {release(rate, sigma), release(rate, sigma), towards};
}

bool meet(bound<double> const& a, bound<double> const& b) {
  return a.lower <= b.upper && b.lower <= a.upper;
}

struct random_runs {
  std::mt19937_64 engine;
  double log_uniform(double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(engine));
  }
};

constexpr orientation both_ways[] = {orientation::remove, orientation::add};

}  // namespace

// The table's values come by inversion of moments: no formula is shared with the integral.
TEST_CASE("two releases by one integral agree with inversions to 40 digits", "[dp]") {
  support::table const rows("dp_sampled.csv");
  int compared = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    double const rate = rows.number(k, "rate");
    double const sigma = rows.number(k, "sigma");
    double const delta = rows.number(k, "delta");
    if (rows.number(k, "steps") != 2.0 || !(sigma > 3.4)) continue;
    auto const towards =
        rows.text(k, "direction") == "remove" ? orientation::remove : orientation::add;
    exact const truth = rows.value(k, "epsilon");
    double const near = rows.number(k, "epsilon");
    two_releases<> const run = twice(rate, sigma, towards);
    REQUIRE(run.serves());
    auto const found = run.epsilon(delta, 0.7 * near);
    REQUIRE(found);
    CHECK(exact(found->lower) <= truth);
    CHECK(truth <= exact(found->upper));
    CHECK(found->upper - found->lower <= 1e-13 * near);
    bound<double> const there = run.delta(near);
    CHECK(there.lower <= delta * (1.0 + 1e-12));
    CHECK(delta <= there.upper * (1.0 + 1e-12));
    ++compared;
  }
  CHECK(compared >= 6);
}

TEST_CASE("one integral and the vertical line meet, in both directions", "[dp][long]") {
  random_runs runs{std::mt19937_64(20261125)};
  int compared = 0;
  for (int k = 0; k < 400; ++k) {
    double const rate = runs.log_uniform(1e-5, 0.99);
    double const sigma = runs.log_uniform(3.4, 100.0);
    double const mu = std::sqrt(2.0) * rate / sigma;
    double const epsilon = mu * runs.log_uniform(0.1, 7.0);
    for (orientation const towards : both_ways) {
      INFO("rate " << rate << ", sigma " << sigma << ", epsilon " << epsilon);
      bound<double> const found = twice(rate, sigma, towards).delta(epsilon);
      CHECK(found.lower <= found.upper);
      contour<double> const line({{{{{rate, 1.0 / sigma}}, towards}, 2.0}}, 0.0);
      detail::work_budget work(2e7);
      auto const other = line.log_delta(epsilon, detail::line_effort::quick, work);
      if (!other) continue;
      CHECK(meet(found,
                 {std::exp(other->lower) * (1.0 - 1e-14), std::exp(other->upper) * (1.0 + 1e-14)}));
      ++compared;
    }
  }
  CHECK(compared >= 200);
}

TEST_CASE("two releases keep what holds of every profile", "[dp][long]") {
  random_runs runs{std::mt19937_64(7)};
  for (int k = 0; k < 150; ++k) {
    double const rate = k % 10 == 0 ? 1.0 : runs.log_uniform(1e-7, 0.999);
    double const sigma = runs.log_uniform(3.4, 1000.0);
    double const other = runs.log_uniform(3.4, 1000.0);
    INFO("rate " << rate << ", sigma " << sigma << " and " << other);
    sampled_normal const one = release(rate, sigma);
    sampled_normal const two = release(rate, other);
    sampled_normal const whole = release(1.0, other);
    two_releases<> const removed(one, two, orientation::remove);
    two_releases<> const added(one, two, orientation::add);
    // The total variation is the same both ways.
    CHECK(meet(removed.delta(0.0), added.delta(0.0)));
    double const size = rate * std::hypot(1.0 / sigma, 1.0 / other);
    double before = 1.0;
    for (double const at : {0.0, 0.3, 1.0, 3.0, 6.0}) {
      double const epsilon = at * size;
      bound<double> const found = removed.delta(epsilon);
      double const apart = std::min(sigma, other) > 5.0 ? 1e-11 : 1e-7;
      CHECK(found.upper <= found.lower * (1.0 + apart));
      // More is less private: with a whole release in the place of the other; at a smaller ε.
      CHECK(found.lower <= two_releases<>(one, whole, orientation::remove).delta(epsilon).upper);
      CHECK(found.lower <= before);
      before = found.upper;
      // ε and δ are inverse.
      if (epsilon == 0.0 || !(found.lower > 1e-290)) continue;
      auto const inverse = removed.epsilon(found.upper, 1.7 * epsilon);
      REQUIRE(inverse);
      CHECK(inverse->lower <= epsilon);
      CHECK(inverse->upper >= epsilon * (1.0 - 1e-9));
    }
  }
}

TEST_CASE("one whole release and one sampled one, against the accountant's line", "[dp]") {
  random_runs runs{std::mt19937_64(11)};
  for (int k = 0; k < 60; ++k) {
    double const rate = runs.log_uniform(1e-4, 0.9);
    double const sigma = runs.log_uniform(3.4, 50.0);
    double const whole = runs.log_uniform(3.4, 50.0);
    double const delta = runs.log_uniform(1e-12, 1e-3);
    privacy_loss_accountant account;
    account.compose(sampled(gaussian{sigma}, poisson{rate}), 1);
    account.compose(gaussian{whole}, 1);
    INFO("rate " << rate << ", sigma " << sigma << " and " << whole << ", delta " << delta);
    bound<double> const found = account.epsilon(delta);
    CHECK(found.upper - found.lower <= 1e-12);
    detail::work_budget work(1e8);
    contour<double> const line({{{{{rate, 1.0 / sigma}}, orientation::remove}, 1.0}},
                               1.0 / (whole * whole));
    auto const other = line.epsilon(delta, detail::line_effort::all, work);
    if (other) CHECK(meet(found, *other));
  }
}

// Each was more than 1e-9 wide, or took a tenth of a second: by a grid, since no line falls soon enough.
TEST_CASE("two steps of much noise are narrow", "[dp]") {
  struct {
    double rate, sigma, delta;
  } const runs[] = {{0.34931106682037488, 13.758670618587111, 2.94e-8},
                    {0.0010023729419801853, 26.542105797219914, 7.67e-15},
                    {0.0018539558676848411, 34.464465966846838, 2.35e-9},
                    {0.016495928630776799, 27.516883893420431, 1.79e-14},
                    {8.06e-4, 41.4, 1.1e-9},
                    {4.7119003836656942e-06, 13.024017682040174, 1.78e-11}};
  for (auto const& [rate, sigma, delta] : runs) {
    privacy_loss_accountant account;
    account.compose(sampled(gaussian{sigma}, poisson{rate}), 2);
    auto const found = account.method().epsilon_by(delta);
    CHECK(found.by == privacy_loss_route::two_releases);
    CHECK(found.value.lower > 0.0);
    CHECK(found.value.upper - found.value.lower <= 1e-12 * found.value.upper);
    bound<double> const there = account.delta(found.value.upper);
    CHECK(there.lower <= delta);
    CHECK(there.upper >= delta * (1.0 - 1e-6));
  }
}

TEST_CASE("no other composition is taken for two releases", "[dp]") {
  event const faint = sampled(gaussian{1000.0}, poisson{0.01});
  event const loud = sampled(gaussian{10.0}, poisson{0.3});
  privacy_loss two(adjacency::add_remove);
  two.add(loud, 2);
  // A count of 0 is no release, and neither is it one of the two.
  privacy_loss none(adjacency::add_remove);
  none.add(faint, 0);
  none.add(loud, 2);
  CHECK(meet(none.epsilon(1e-6), two.epsilon(1e-6)));
  CHECK(meet(none.delta(0.1), two.delta(0.1)));
  privacy_loss three(adjacency::add_remove);
  three.add(loud, 2);
  three.add(faint, 1);
  CHECK(three.epsilon_by(1e-6).by != privacy_loss_route::two_releases);
  CHECK(three.epsilon(1e-6).upper >= two.epsilon(1e-6).lower);
}

TEST_CASE("two releases say little rather than something wrong at extremes", "[dp]") {
  double const most = std::numeric_limits<double>::max();
  double const least = std::numeric_limits<double>::min();
  for (double const rate : {least, 1e-300, 1e-16, 0.5, std::nextafter(1.0, 0.0), 1.0}) {
    for (double const sigma : {1e-3, 1.0, 3.4, 1e8, 1e154, 1e300}) {
      for (double const epsilon : {0.0, least, 1e-20, 1.0, 700.0, 1e5, 1e300, most}) {
        for (orientation const towards : both_ways) {
          INFO("rate " << rate << ", sigma " << sigma << ", epsilon " << epsilon);
          bound<double> const found = twice(rate, sigma, towards).delta(epsilon);
          CHECK(found.lower >= 0.0);
          CHECK(found.lower <= found.upper);
          CHECK(found.upper <= 1.0);
          // One release of twice the shift, not sampled, is above two releases, and one of both is below.
          privacy_loss_accountant one;
          one.compose(
              sampled(gaussian{std::clamp(sigma, 1.0, 1e150)}, poisson{std::max(rate, 1e-290)}));
          if (towards == orientation::remove && sigma >= 1.0 && sigma <= 1e150 && epsilon < 700.0 &&
              rate >= 1e-290) {
            CHECK(found.upper >= one.delta(epsilon).lower * (1.0 - 1e-9));
          }
          if (!(sigma > 1e-2)) continue;
          double const mu = 2.0 / sigma;
          CHECK(found.lower <= delta(gaussian_dp{mu}, epsilon).upper);
        }
      }
    }
  }
}

// Known from an explicit event, in 50 digits.
TEST_CASE("two releases of little noise are not certified as less than they are", "[dp]") {
  two_releases<> const loud({0.5, 10.0}, {0.5, 10.0}, orientation::add);
  CHECK(loud.delta(1.3862943611198904).upper >= 1.66e-16);
  two_releases<> const far(release(0.7925, 14.314), release(0.1772, 3.532), orientation::remove);
  bound<double> const found = far.delta(3.1045);
  CHECK(found.upper >= 1.3e-63);
  CHECK(found.upper <= 1.5e-63);
}
