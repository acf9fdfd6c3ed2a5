// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/trade_off.hpp>

#include "support/catch.hpp"
#include "support/normal_run.hpp"

#include <cmath>

using namespace tacit;

TEST_CASE("the curve of a Gaussian is the closed form, from below", "[dp]") {
  for (double const mu : {0.01, 0.5, 1.0, 3.0, 8.0}) {
    auto const account = normal_run(mu);
    for (double const alpha : {1e-12, 1e-6, 1e-3, 0.05, 0.3, 0.5, 0.8, 0.99}) {
      double const truth = gaussian_trade_off(mu, alpha);
      double const found = false_negative_rate(account, alpha);
      CAPTURE(mu, alpha, truth, found);
      CHECK(found <= truth * (1.0 + 1e-12));
      CHECK(found >= truth * (1.0 - 1e-5) - 1e-12);
      CHECK(true_positive_rate(account, alpha) >= 1.0 - truth);
    }
  }
}

TEST_CASE("the curve far out, where the likelihood ratio of the best test is e^225", "[dp]") {
  // Φ(Φ⁻¹(1−α) − μ) by mpmath, 60 digits.
  struct row {
    double mu, alpha, truth;
  };
  for (row const& r :
       {row{20.0, 1e-100, 0.89857142923815647}, row{30.0, 1e-300, 0.99999999999908655},
        row{5.0, 1e-12, 0.97904858110816683}, row{20.0, 0.5, 2.7536241186062337e-89}}) {
    CAPTURE(r.mu, r.alpha);
    double const found = false_negative_rate(normal_run(r.mu), r.alpha);
    CHECK(found <= r.truth * (1.0 + 1e-14));
    CHECK(found >= r.truth * (1.0 - 1e-10));
    double const closed = false_negative_rate(gaussian_dp{r.mu}, r.alpha);
    CHECK(closed <= r.truth * (1.0 + 1e-15));
    CHECK(closed >= r.truth * (1.0 - 2e-12));
  }
  // By the closed form alone: the profile's own 1 − δ has no digits there.
  double const truth = 6.8915053854197572e-117;
  CHECK(false_negative_rate(gaussian_dp{60.0}, 1e-300) <= truth * (1.0 + 1e-15));
  CHECK(false_negative_rate(gaussian_dp{60.0}, 1e-300) >= truth * (1.0 - 1e-10));
  CHECK(false_negative_rate(normal_run(60.0), 1e-300) <= truth);
}

TEST_CASE("the curve is convex, falls, and is its own inverse", "[dp]") {
  privacy_loss_accountant account;
  account.compose(sampled(gaussian{.noise_multiplier = 1.0}, poisson{.rate = 0.01}), 2000);
  double last = 1.0;
  double before = 2.0;
  for (double alpha = 0.0; alpha <= 1.0; alpha += 0.125) {
    double const miss = false_negative_rate(account, alpha);
    CHECK(miss <= 1.0 - alpha);
    CHECK(miss <= last + 1e-12);
    CHECK(last - miss <= before - last + 1e-6);
    before = alpha == 0.0 ? 2.0 : last;
    last = miss;
  }
  for (double const alpha : {0.01, 0.1, 0.2}) {
    double const miss = false_negative_rate(account, alpha);
    CHECK(std::abs(false_negative_rate(account, miss) - alpha) < 1e-5);
  }
}

TEST_CASE("total variation and the Bayes risk belong to the same curve", "[dp]") {
  auto const account = normal_run(1.5);
  bound<double> const distance = total_variation(account);
  double const half = 1.0 - 2.0 * normal_tail(0.75);  // 2Φ(μ/2) − 1
  CHECK(distance.lower <= half * (1.0 + 1e-13));
  CHECK(distance.upper >= half * (1.0 - 1e-13));
  // Success at prior ½ is 1 − min over α of (α + f(α))/2.
  double least = 1.0;
  for (double alpha = 0.001; alpha < 1.0; alpha += 0.001) {
    least = std::min(least, 0.5 * (alpha + false_negative_rate(account, alpha)));
  }
  CHECK(account.attack_success(0.5) >= 1.0 - least - 1e-9);
  CHECK(account.attack_success(0.5) <= 1.0 - least + 1e-5);
}

TEST_CASE("nothing revealed, and rates out of range", "[dp]") {
  gaussian_accountant const nothing;
  CHECK(false_negative_rate(nothing, 0.3) <= 0.7);
  CHECK(false_negative_rate(nothing, 0.3) >= 0.7 - 1e-9);
  CHECK(false_negative_rate(nothing, 1.0) == 0.0);
  CHECK(false_negative_rate(normal_run(1.0), 0.0) <= 1.0);
  CHECK_THROWS_AS(false_negative_rate(nothing, -0.1), std::domain_error);
  CHECK_THROWS_AS(false_negative_rate(nothing, std::nan("")), std::domain_error);
}

namespace {

/// A Gaussian of μ = 1 of which each question costs so much work.
struct costly_profile {
  double cost;
  int* asked;
  [[nodiscard]] bound<double> delta(double epsilon) const {
    return tacit::delta(gaussian_dp{1.0}, epsilon);
  }
  [[nodiscard]] bound<double> delta_within(double epsilon, tacit::detail::work_budget& work) const {
    ++*asked;
    (void)work.spend(cost);
    return delta(epsilon);
  }
};

}  // namespace

TEST_CASE("a profile that costs much is asked as often as the work allows", "[dp]") {
  // Φ(Φ⁻¹(0.95) − 1) by mpmath.
  double const truth = 0.74048898;
  for (double const cost : {4e8, 1.4e9, 1e10}) {
    int asked = 0;
    double const found = false_negative_rate(costly_profile{cost, &asked}, 0.05);
    CAPTURE(cost, asked, found);
    CHECK(asked >= 1);
    CHECK(asked * cost <= 3e9 + cost);
    CHECK(found <= truth);
    CHECK(found >= (cost < 1e9 ? 0.73 : 0.56));
  }
  int asked = 0;
  CHECK(false_negative_rate(costly_profile{4e8, &asked}, 0.05, 1.0) <= truth);
  CHECK(asked <= 3);
  CHECK_THROWS_AS(false_negative_rate(costly_profile{1.0, &asked}, 0.05, 0.0), std::domain_error);
}
