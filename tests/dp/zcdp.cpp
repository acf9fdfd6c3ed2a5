// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/zcdp.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <random>

using namespace tacit;
using support::exact;

namespace {

double uniform(std::mt19937_64& random) { return std::uniform_real_distribution<double>()(random); }

/// log δ by the formula as it is published, at an order α.
exact published_exponent(exact const& rho, exact const& epsilon, exact const& order) {
  return (order - 1) * (order * rho - epsilon) - log(order - 1) + order * log1p(exact(-1 / order));
}
/// The ε of it, solved for.
exact published_epsilon(exact const& rho, exact const& delta, exact const& order) {
  return order * rho +
         (order * log1p(exact(-1 / order)) - log(order - 1) - log(delta)) / (order - 1);
}

/// The least value over the orders, by golden sections in log(α − 1): both functions have one
/// minimum.
template <class F>
exact least(F f) {
  exact const ratio = (sqrt(exact(5)) - 1) / 2;
  exact low(-120);
  exact high(120);
  exact left = high - ratio * (high - low);
  exact right = low + ratio * (high - low);
  exact at_left = f(exact(1 + exp(left)));
  exact at_right = f(exact(1 + exp(right)));
  while (high - low > exact("1e-9")) {
    if (at_left < at_right) {
      high = right;
      right = left;
      at_right = at_left;
      left = high - ratio * (high - low);
      at_left = f(exact(1 + exp(left)));
    } else {
      low = left;
      left = right;
      at_left = at_right;
      right = low + ratio * (high - low);
      at_right = f(exact(1 + exp(right)));
    }
  }
  return at_left < at_right ? at_left : at_right;
}

/// (α−1)·D_α of binary randomised response, and of Laplace noise, by their densities.
exact response_moment(exact const& epsilon, exact const& order) {
  exact const p = 1 / (1 + exp(exact(-epsilon)));
  exact const q = 1 - p;
  return log(
      exact(pow(p, order) * pow(q, exact(1 - order)) + pow(q, order) * pow(p, exact(1 - order))));
}
exact laplace_moment(exact const& epsilon, exact const& order) {
  exact const twice = 2 * order - 1;
  return log(exact(
      (order * exp(exact((order - 1) * epsilon)) + (order - 1) * exp(exact(-order * epsilon))) /
      twice));
}

}  // namespace

TEST_CASE("rho bounds the divergence of every order, and is attained at order one", "[dp]") {
  exact const near_one = exact(1) + exact("1e-12");
  for (double const epsilon : {1e-6, 0.01, 0.3, 0.499, 0.501, 1.0, 3.0, 12.0, 60.0}) {
    CAPTURE(epsilon);
    exact const e(epsilon);
    exact const pure_rho(zcdp_of_pure(epsilon).rho);
    exact const laplace_rho(zcdp_of_laplace(epsilon).rho);
    for (double const excess : {1e-9, 1e-3, 0.1, 0.5, 1.0, 3.0, 20.0, 400.0}) {
      exact const order(1.0 + excess);
      exact const scale = order * (order - 1);
      CHECK(response_moment(e, order) <= pure_rho * scale);
      CHECK(laplace_moment(e, order) <= laplace_rho * scale);
      // Bounded range ε: the loss of any one pair spans ε, and a hard one is a tilted coin.
      exact const low = e * exact(0.4);
      exact const share =
          (1 - exp(exact(-low))) / (exp(exact(e - low)) - exp(exact(-low)));  // of Q, at e − low
      exact const moment = log(
          exact(share * exp(exact(order * (e - low))) + (1 - share) * exp(exact(-order * low))));
      CHECK(moment <= exact(zcdp_of_bounded_range(epsilon).rho) * scale);
    }
    exact const unit = near_one * (near_one - 1);
    CHECK(response_moment(e, near_one) / unit >= pure_rho * exact(1 - 1e-9));
    CHECK(laplace_moment(e, near_one) / unit >= laplace_rho * exact(1 - 1e-9));
    CHECK(laplace_rho <= pure_rho);
    CHECK(pure_rho <= exact(epsilon * epsilon / 2 * (1 + 1e-14)));
  }
  CHECK(zcdp_of_pure(0.0).rho == 0.0);
  CHECK(zcdp_of_laplace(0.0).rho == 0.0);
  CHECK(zcdp_of_bounded_range(0.0).rho == 0.0);
  CHECK(zcdp_of(gaussian_dp{0.0}).rho == 0.0);
  CHECK(zcdp_of_pure(1e-200).rho > 0.0);
  CHECK(zcdp_of_pure(infinity).rho == infinity);
  CHECK(zcdp_of_laplace(infinity).rho == infinity);
  CHECK_THROWS_AS(zcdp_of_pure(-1.0), std::domain_error);
  CHECK_THROWS_AS(zcdp_of_laplace(std::nan("")), std::domain_error);
  CHECK_THROWS_AS(zcdp_of_bounded_range(-1.0), std::domain_error);
  CHECK_THROWS_AS(zcdp_of(gaussian_dp{}), std::domain_error);
}

TEST_CASE("the conversion is the published minimum, found and rounded up", "[dp][slow]") {
  std::mt19937_64 random(21);
  int compared = 0;
  for (int i = 0; i < 60; ++i) {
    double const rho = std::pow(10.0, -10.0 + 16.0 * uniform(random));
    double const epsilon = rho + std::sqrt(rho) * (-1.0 + 40.0 * uniform(random));
    CAPTURE(rho, epsilon);
    if (epsilon > 0.0) {
      exact const truth = exp(least([&](exact const& order) {
        return published_exponent(exact(rho), exact(epsilon), order);
      }));
      double const upper = delta(zcdp{rho}, epsilon);
      double const variation = std::sqrt(std::min(rho / 2.0, -std::expm1(-rho)));
      if (truth > exact("1e-300") && truth < exact(0.99 * variation)) {
        CHECK(exact(upper) >= truth * exact(1 - 1e-16));
        CHECK(exact(upper) <= truth * exact(1 + 1e-11));
        ++compared;
      }
    }
    double const delta = std::pow(10.0, -300.0 * uniform(random));
    exact const truth = least(
        [&](exact const& order) { return published_epsilon(exact(rho), exact(delta), order); });
    double const upper = tacit::epsilon(zcdp{rho}, delta);
    if (upper > 0.0 && truth > exact(0)) {
      CHECK(exact(upper) >= truth * exact(1 - 1e-16));
      CHECK(exact(upper) <= truth * exact(1 + 1e-11));
      ++compared;
    }
  }
  CHECK(compared >= 80);
}

TEST_CASE("the conversion stays above the exact Gaussian", "[dp]") {
  std::mt19937_64 random(22);
  double loosest = 0.0;
  for (int i = 0; i < 3000; ++i) {
    double const mu = std::pow(10.0, -6.0 + 9.0 * uniform(random));
    double const epsilon = std::max(0.0, mu * (0.5 * mu - 3.0 + 40.0 * uniform(random)));
    zcdp const guarantee = zcdp_of(gaussian_dp{mu});
    CAPTURE(mu, epsilon);
    double const upper = delta(guarantee, epsilon);
    CHECK(upper >= delta(gaussian_dp{mu}, epsilon).upper * (epsilon == 0.0 ? 0.9999999 : 1.0));
    CHECK(upper <= 1.0);
    double const target = std::pow(10.0, -1.0 - 299.0 * uniform(random));
    double const converted = tacit::epsilon(guarantee, target);
    double const truth = tacit::epsilon(gaussian_dp{mu}, target).lower;
    CHECK(converted >= truth);
    if (target > 1e-20 && truth > mu) loosest = std::max(loosest, converted / truth);
  }
  CHECK(loosest < 1.5);
  CHECK(loosest > 1.01);
}

TEST_CASE("delta and epsilon are each other's inverse, on the safe side", "[dp]") {
  std::mt19937_64 random(23);
  for (int i = 0; i < 2000; ++i) {
    zcdp const guarantee{std::pow(10.0, -12.0 + 18.0 * uniform(random))};
    double const delta = std::pow(10.0, -290.0 * uniform(random) * uniform(random));
    if (!(delta < 1.0)) continue;
    double const epsilon = tacit::epsilon(guarantee, delta);
    CAPTURE(guarantee.rho, delta, epsilon);
    CHECK(epsilon >= 0.0);
    CHECK(tacit::delta(guarantee, epsilon) <= delta * (1.0 + 1e-10));
    if (epsilon > 1e-3 * std::sqrt(guarantee.rho)) {
      CHECK(tacit::delta(guarantee, epsilon * (1.0 - 1e-6)) > delta);
    }
    // More is worse, and a larger ε is safer.
    CHECK(tacit::epsilon(zcdp{guarantee.rho * 1.01}, delta) >= epsilon);
    CHECK(tacit::delta(zcdp{guarantee.rho * 1.01}, epsilon) >= tacit::delta(guarantee, epsilon));
    CHECK(tacit::delta(guarantee, epsilon * 1.01) <= tacit::delta(guarantee, epsilon));
    // The budget that a target leaves.
    approx_dp const target{std::max(epsilon, 1e-9), delta};
    double const rho = zcdp_for(target).rho;
    CHECK(tacit::delta(zcdp{rho}, target.epsilon) <= target.delta);
    CHECK(tacit::delta(zcdp{rho * (1.0 + 1e-9)}, target.epsilon) > target.delta);
  }
}

TEST_CASE("the floor at epsilon zero, and the ends", "[dp]") {
  // Pinsker: a total variation of √(ρ/2) at most, so that ε = 0 from there on.
  for (double const rho : {1e-300, 1e-12, 0.02, 0.5}) {
    CAPTURE(rho);
    double const variation = std::sqrt(rho / 2.0);
    CHECK(delta(zcdp{rho}, 0.0) >= variation);
    CHECK(delta(zcdp{rho}, 0.0) <= variation * (1.0 + 1e-14));
    CHECK(epsilon(zcdp{rho}, variation * (1.0 + 1e-14)) == 0.0);
    CHECK(epsilon(zcdp{rho}, variation * 0.9) > 0.0);
    CHECK(delta(zcdp{rho}, 0.0) >= gaussian_profile(std::sqrt(2.0 * rho), 0.0));
  }
  CHECK(delta(zcdp{5.0}, 0.0) <= std::sqrt(-std::expm1(-5.0)) * (1.0 + 1e-14));
  CHECK(delta(zcdp{0.0}, 0.0) == 0.0);
  CHECK(epsilon(zcdp{0.0}, 1e-300) == 0.0);
  CHECK(delta(zcdp{1.0}, 1e6) > 0.0);  // far below the numbers, and not 0
  CHECK(delta(zcdp{1.0}, 1e300) > 0.0);
  CHECK(delta(zcdp{5e-324}, 1.0) > 0.0);
  CHECK(delta(zcdp{1e-300}, 1e300) > 0.0);
  CHECK(delta(zcdp{infinity}, 1e300) == 1.0);
  CHECK(epsilon(zcdp{infinity}, 0.5) == infinity);
  CHECK(epsilon(zcdp{1e299}, 0.5) >= 1e298);
  CHECK(epsilon(zcdp{1e-308}, 5e-324) < 1e-150);
  CHECK(epsilon(zcdp{1.0}, 5e-324) > 50.0);
  CHECK(epsilon(zcdp{1.0}, 5e-324) < 60.0);
  CHECK(epsilon(zcdp{1.0}, 1.0 - 0x1p-53) == 0.0);
  CHECK(zcdp_for(approx_dp{1.0, 0.0}).rho == 0.0);
  CHECK(zcdp_for(approx_dp{1.0, 1.0}).rho == infinity);
  CHECK_THROWS_AS(delta(zcdp{}, 1.0), std::domain_error);
  CHECK_THROWS_AS(delta(zcdp{-1.0}, 1.0), std::domain_error);
  CHECK_THROWS_AS(delta(zcdp{1.0}, -1.0), std::domain_error);
  CHECK_THROWS_AS(delta(zcdp{1.0}, std::nan("")), std::domain_error);
  CHECK_THROWS_AS(epsilon(zcdp{1.0}, 0.0), std::domain_error);
  CHECK_THROWS_AS(epsilon(zcdp{1.0}, 1.0), std::domain_error);
  CHECK_THROWS_AS(epsilon(zcdp{}, 0.5), std::domain_error);
  CHECK_THROWS_AS(zcdp_for(approx_dp{}), std::domain_error);
}

TEST_CASE("rho of the events", "[dp]") {
  auto const rho = [](event const& release, adjacency neighbours) {
    return Approx(zcdp_of(release, neighbours).rho).epsilon(1e-13);
  };
  using enum adjacency;
  CHECK(0.125 == rho(gaussian{2.0}, add_remove));
  CHECK(0.5 == rho(gaussian{2.0}, replace_one));
  CHECK(1.125 == rho(by_person(gaussian{2.0}, 3), zero_out));
  CHECK(0.5 == rho(sampled(gaussian{2.0}, shuffled{}), replace_one));
  CHECK(0.125 == rho(sampled(gaussian{2.0}, poisson{1.0}), add_remove));
  CHECK(0.0 == rho(sampled(gaussian{2.0}, poisson{0.0}), add_remove));
  CHECK(0.5 == rho(matrix_gaussian{3.0, 3.0}, add_remove));
  CHECK(std::exp(-2.0) + 1.0 == rho(laplace{0.5}, add_remove));
  CHECK(std::exp(-4.0) + 3.0 == rho(laplace{0.5}, replace_one));
  CHECK(8.0 / 9.0 == rho(discrete_gaussian{1.5, 2}, add_remove));
  CHECK(32.0 / 9.0 == rho(discrete_gaussian{1.5, 2}, replace_one));
  CHECK(0.5 * std::tanh(0.25) == rho(discrete_laplace{4.0, 2}, add_remove));
  CHECK(std::tanh(0.5) == rho(pure{1.0}, zero_out));
  CHECK(3.0 * std::tanh(1.5) == rho(by_person(pure{1.0}, 3), add_remove));
  CHECK(std::tanh(0.5) == rho(approx_dp{1.0, 0.0}, add_remove));
  CHECK(std::tanh(0.5) == rho(randomised_response{1.0, 5}, replace_one));
  CHECK(0.125 == rho(exponential_mechanism{1.0}, add_remove));
  CHECK(20.0 * std::tanh(10.0) == rho(exponential_mechanism{20.0}, add_remove));
}

TEST_CASE("zCDP adds up, and answers with upper bounds alone", "[dp]") {
  zcdp_accountant spent(adjacency::add_remove);
  CHECK(spent.epsilon(1e-5).upper == 0.0);
  CHECK(spent.delta(0.0).upper == 0.0);
  spent.compose(gaussian{50.0}, 10000).compose(laplace{10.0}, 7).compose(pure{0.1});
  double const sum = 2.0 + 7.0 * (0.1 - 1.0 + std::exp(-0.1)) + 0.1 * std::tanh(0.05);
  CHECK(spent.method().guarantee().rho == Approx(sum).epsilon(1e-13));
  CHECK(spent.method().guarantee().rho >= sum * (1.0 - 1e-15));
  CHECK(spent.epsilon(1e-5).lower == 0.0);
  CHECK(spent.delta(1.0).lower == 0.0);
  CHECK(zcdp_accountant::load(spent.save()).epsilon(1e-9).upper == spent.epsilon(1e-9).upper);

  zcdp_accountant closed(adjacency::add_remove);
  closed.compose(gaussian{50.0}, 10000);
  double const epsilon = closed.epsilon(1e-10).upper;
  CHECK(epsilon > 14.27409);  // the exact one
  CHECK(epsilon < 15.0);
  CHECK(closed.would_exceed(gaussian{50.0}, 1, approx_dp{epsilon, 1e-10}));
  zcdp_accountant fewer(adjacency::add_remove);
  fewer.compose(gaussian{50.0}, 9000);
  CHECK(!fewer.would_exceed(gaussian{50.0}, 999, approx_dp{epsilon, 1e-10}));
  // Cost and answer do not know the count, to 1e12.
  zcdp_accountant many(adjacency::zero_out);
  many.compose(gaussian{1e6}, 1000000000000);
  CHECK(many.method().guarantee().rho == Approx(0.5).epsilon(1e-13));
  zcdp_accountant loud(adjacency::zero_out);
  loud.compose(gaussian{1e-200}).compose(gaussian{1.0});
  CHECK(loud.epsilon(0.1).upper == infinity);
  CHECK(loud.delta(10.0).upper == 1.0);
}

TEST_CASE("what has no rho is refused, and says why", "[dp]") {
  zcdp_accountant spent(adjacency::add_remove);
  for (event const& release :
       {event(approx_dp{1.0, 1e-6}), event(randomised_response{1.0}),
        event(gaussian{1.0}, poisson{0.5}), event(laplace{1.0}, poisson{0.5}),
        event(pure{1.0}, poisson{0.5}), event(discrete_gaussian{1.0}, poisson{0.5}),
        event(exponential_mechanism{1.0}, poisson{0.5}), event(gaussian{1.0}, fixed_size{1, 2}),
        event(gaussian{1.0}, shuffled{})}) {
    CHECK_THROWS_AS(spent.compose(release), std::invalid_argument);
  }
  zcdp_accountant other(adjacency::replace_one);
  CHECK_THROWS_AS(other.compose(sampled(gaussian{1.0}, fixed_size{1, 2})), std::invalid_argument);
  CHECK_THROWS_AS(other.compose(sampled(pure{1.0}, fixed_size{1, 2})), std::invalid_argument);
  CHECK_THROWS_WITH(
      spent.compose(approx_dp{1.0, 1e-6}),
      "zcdp: approx_dp with delta > 0 has no known zCDP bound; its divergences are infinite");
  CHECK_THROWS_WITH(
      spent.compose(sampled(laplace{1.0}, poisson{0.5})),
      "zcdp: a sampled laplace has no known zCDP bound; compose the unsampled event to "
      "charge it unsampled, or take another accountant");
  CHECK(spent.history().empty());
  CHECK(spent.epsilon(1e-5).upper == 0.0);
}
