// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/gaussian.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <boost/math/special_functions/erf.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <random>
#include <utility>
#include <vector>

using namespace tacit;
using support::exact;
using support::relative;
using support::table;

namespace {

constexpr double tiny = std::numeric_limits<double>::min();

/// 1 − Φ, by another route than the library's: Boost's erfc in 50 digits.
exact plain_tail(exact const& x) { return boost::math::erfc(exact(x / sqrt(exact(2)))) / 2; }

/// Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) as it is written. Cancellation takes up to 25 of the 50 digits.
exact plain_profile(double mu, double epsilon) {
  exact const m(mu);
  exact const e(epsilon);
  return plain_tail(exact(e / m - m / 2)) - exp(e) * plain_tail(exact(e / m + m / 2));
}

exact exact_profile(double mu, double epsilon) {
  return gaussian_profile(exact(mu), exact(epsilon));
}

/// μ in [1e-12, 1e4] and ε in [0, 1e8] with δ from 1 − 1e-16 to 1e-300.
class gaussian_questions {
 public:
  explicit gaussian_questions(std::uint64_t seed) : random_(seed) {}
  double draw() { return std::uniform_real_distribution<double>()(random_); }
  gaussian_dp guarantee() { return {std::pow(10.0, -12.0 + 16.0 * draw())}; }
  double epsilon(double mu) {
    double const b = kind_++ % 3 == 0 ? -1.5 + 4.0 * draw() : -8.0 + 45.0 * draw();
    double const epsilon = mu * (b + 0.5 * mu);
    if (epsilon > 0.0) return std::min(epsilon, 1e8);
    return kind_ % 2 == 0 ? 0.0 : -epsilon * draw();
  }

 private:
  std::mt19937_64 random_;
  int kind_ = 0;
};

}  // namespace

TEST_CASE("the profile keeps 5e-14 of the tabulated truth, and its bounds hold it", "[dp]") {
  table const reference("dp_gaussian.csv");
  std::size_t checked = 0;
  for (std::size_t row = 0; row < reference.size(); ++row) {
    double const mu = reference.number(row, "mu");
    double const epsilon = reference.number(row, "epsilon");
    exact const truth = reference.value(row, "delta");
    CAPTURE(mu, epsilon, truth);
    bound<double> const certified = delta(gaussian_dp{mu}, epsilon);
    CHECK(exact(certified.lower) <= truth);
    CHECK(truth <= exact(certified.upper));
    if (truth < exact("1e-300")) continue;
    CHECK(relative(gaussian_profile(mu, epsilon), truth) <= 2e-14);
    ++checked;
  }
  CHECK(checked > 80);
  table const inverse("dp_gaussian_epsilon.csv");
  for (std::size_t row = 0; row < inverse.size(); ++row) {
    double const mu = inverse.number(row, "mu");
    double const delta = inverse.number(row, "delta");
    exact const truth = inverse.value(row, "epsilon");
    CAPTURE(mu, delta, truth);
    bound<double> const certified = epsilon(gaussian_dp{mu}, delta);
    CHECK(exact(certified.lower) <= truth);
    CHECK(truth <= exact(certified.upper));
    if (truth == exact(0)) {
      CHECK(certified.upper == 0.0);
    } else {
      CHECK(certified.upper - certified.lower <= 1e-12 * certified.upper);
    }
  }
}

TEST_CASE("the profile against the plain formula in 50 digits", "[dp][slow]") {
  gaussian_questions source(11);
  for (int i = 0; i < 60; ++i) {
    double const mu = source.guarantee().mu;
    double const epsilon = source.epsilon(mu);
    exact const truth = plain_profile(mu, epsilon);
    CAPTURE(mu, epsilon, truth);
    // The library's formula in 50 digits first: it then stands for the truth elsewhere.
    CHECK(relative(exact_profile(mu, epsilon), truth) <= 1e-22);
    if (truth < exact("1e-300")) continue;
    CHECK(relative(gaussian_profile(mu, epsilon), truth) <= 2e-14);
    CHECK(relative(gaussian_profile_complement(mu, epsilon), exact(1) - truth) <= 2e-14);
    CHECK(relative(exact(gaussian_profile(static_cast<long double>(mu),
                                          static_cast<long double>(epsilon))),
                   truth) <= 2e-17);
  }
}

TEST_CASE("lower <= truth <= upper, and close, on random configurations", "[dp][slow]") {
  gaussian_questions source(12);
  double widest = 0.0;
  bool contained = true;
  for (int i = 0; i < 1000; ++i) {
    gaussian_dp const guarantee = source.guarantee();
    double const epsilon = source.epsilon(guarantee.mu);
    auto const point = detail::gaussian_profile_value(exact(guarantee.mu), exact(epsilon));
    bound<double> const certified = delta(guarantee, epsilon);
    contained =
        contained && exact(certified.lower) <= point.delta && point.delta <= exact(certified.upper);
    if (point.delta < exact("1e-290") || point.complement < exact("1e-15")) continue;
    exact const smaller = point.delta < point.complement ? point.delta : point.complement;
    widest = std::max(widest, static_cast<double>((exact(certified.upper) - exact(certified.lower) -
                                                   exact(3e-16) * point.delta) /
                                                  smaller));
  }
  CHECK(contained);
  CHECK(widest <= 1.1e-13);
}

TEST_CASE("the inverse brackets the epsilon of 50 digits on random configurations", "[dp][slow]") {
  gaussian_questions source(13);
  int sharp = 0;
  for (int i = 0; i < 500; ++i) {
    gaussian_dp const guarantee = source.guarantee();
    double const from = source.epsilon(guarantee.mu);
    bound<double> const about = delta(guarantee, from);
    double const target = about.upper;
    if (!(target > 0.0 && target < 1.0)) continue;
    bound<double> const certified = epsilon(guarantee, target);
    CAPTURE(guarantee.mu, target, certified.lower, certified.upper);
    REQUIRE(certified.lower <= certified.upper);
    CHECK(exact_profile(guarantee.mu, certified.upper) <= exact(target));
    if (certified.lower > 0.0) {
      CHECK(exact_profile(guarantee.mu, certified.lower) >= exact(target));
    }
    // δ decides about ε up to its own error over the slope; 1e-12 relative where that is smaller.
    double const slope =
        normal_tail(from / guarantee.mu + guarantee.mu / 2.0) * std::exp(std::min(from, 700.0));
    bool const steep =
        from > 0.0 && from < 700.0 && target > 1e-290 && target < 0.5 && target / slope < from;
    if (steep) {
      CHECK(certified.upper - certified.lower <= 1e-12 * certified.upper);
      ++sharp;
    }
  }
  CHECK(sharp > 100);
}

TEST_CASE("closed forms that discretised accountants miss", "[dp]") {
  // Rate 1, σ = 50, 10⁴ steps: μ = 2.
  gaussian_accountant spent(adjacency::add_remove);
  spent.compose(sampled(gaussian{50.0}, poisson{1.0}), 10000);
  CHECK(spent.epsilon(1e-10).upper == Approx(14.27409).margin(5e-6));
  CHECK(spent.epsilon(1e-12).upper == Approx(15.6411).margin(5e-5));
  CHECK(spent.epsilon(1e-14).upper == Approx(16.8905).margin(5e-5));
  CHECK(epsilon(gaussian_dp{1.0}, 1e-12).upper == Approx(7.2385).margin(5e-5));
  // δ that no number holds: the pessimist still answers.
  bound<double> const subnormal = epsilon(gaussian_dp{1.0}, 1e-320);
  CHECK(subnormal.upper - subnormal.lower <= 1e-12 * subnormal.upper);
  CHECK(exact_profile(1.0, subnormal.upper) <= exact(1e-320));
  CHECK(exact_profile(1.0, subnormal.lower) >= exact(1e-320));
}

TEST_CASE("where delta underflows the upper end does not", "[dp]") {
  for (double const epsilon : {40.0, 1e3, 1e8, 1e300}) {
    bound<double> const certified = delta(gaussian_dp{1.0}, epsilon);
    CHECK(certified.lower == 0.0);
    CHECK(certified.upper == tiny);
  }
  for (double const mu : {1e-300, 1e-310, 5e-324}) {
    CAPTURE(mu);
    bound<double> const certified = delta(gaussian_dp{mu}, 1.0);
    CHECK(certified.lower == 0.0);
    CHECK(certified.upper >= tiny);
    CHECK(epsilon(gaussian_dp{mu}, 1e-5).upper == 0.0);
    CHECK(epsilon(gaussian_dp{mu}, 5e-324).upper <= 1e-297);
  }
  CHECK(log_gaussian_profile(1.0, 1e8) == Approx(-0.5 * std::pow(1e8 - 0.5, 2)).epsilon(1e-14));
  CHECK(log_gaussian_profile(1e-12, 1e8) == Approx(-5e39).epsilon(1e-12));
  CHECK(log_gaussian_profile(1e-200, 1e8) == -infinity);
}

TEST_CASE("the profile at the ends, and for negative epsilon", "[dp]") {
  CHECK(delta(gaussian_dp{0.0}, 0.0).upper == 0.0);
  CHECK(delta(gaussian_dp{0.0}, 1.0).upper == 0.0);
  CHECK(gaussian_profile(0.0, -1.0) == Approx(1.0 - std::exp(-1.0)));
  CHECK(delta(gaussian_dp{infinity}, 1e6).lower == 1.0);
  CHECK(epsilon(gaussian_dp{infinity}, 0.5).upper == infinity);
  CHECK(epsilon(gaussian_dp{1e200}, 0.5).upper == infinity);
  // μ²/2 is a number, and a step beyond it is none.
  for (double const mu : {1.34e154, 1.8e154, 1.89e154}) {
    CHECK(epsilon(gaussian_dp{mu}, 1e-5).upper == infinity);
  }
  CHECK(epsilon(gaussian_dp{0.0}, 0.5).upper == 0.0);
  CHECK(delta(gaussian_dp{200.0}, 0.0).upper == 1.0);
  CHECK(delta(gaussian_dp{200.0}, 0.0).lower < 1.0);  // the truth is 1 − 1e-2173
  CHECK(epsilon(gaussian_dp{1.0}, 0.3829249225480262 * (1 + 1e-12)).upper == 0.0);
  CHECK(epsilon(gaussian_dp{1.0}, 0.3829249225480262 * (1 - 1e-9)).lower > 0.0);
  // A δ that differs from δ(0) by less than the error of its evaluation gets no ε = 0 on credit.
  for (double const mu : {1e-9, 0.2, 1.0, 1.35, 4.0}) {
    for (int k = -8; k <= 8; ++k) {
      double const target = gaussian_profile(mu, 0.0) * (1.0 + 1e-14 * k);
      bound<double> const certified = epsilon(gaussian_dp{mu}, target);
      CAPTURE(mu, k);
      CHECK(exact_profile(mu, certified.upper) <= exact(target));
      if (certified.lower > 0.0) CHECK(exact_profile(mu, certified.lower) >= exact(target));
    }
  }
  for (double const mu : {1e-3, 0.7, 3.0}) {
    for (double const epsilon : {-1e-3, -0.5, -4.0, -30.0}) {
      CAPTURE(mu, epsilon);
      exact const truth = plain_profile(mu, epsilon);
      CHECK(relative(gaussian_profile(mu, epsilon), truth) <= 2e-14);
      bound<double> const certified = delta(gaussian_dp{mu}, epsilon);
      CHECK(exact(certified.lower) <= truth);
      CHECK(truth <= exact(certified.upper));
    }
  }
  CHECK_THROWS_AS(delta(gaussian_dp{}, 1.0), std::domain_error);
  CHECK_THROWS_AS(delta(gaussian_dp{-1.0}, 1.0), std::domain_error);
  CHECK_THROWS_AS(delta(gaussian_dp{1.0}, std::nan("")), std::domain_error);
  CHECK_THROWS_AS(delta(gaussian_dp{1.0}, infinity), std::domain_error);
  CHECK_THROWS_AS(epsilon(gaussian_dp{1.0}, 0.0), std::domain_error);
  CHECK_THROWS_AS(epsilon(gaussian_dp{1.0}, 1.0), std::domain_error);
  CHECK_THROWS_AS(epsilon(gaussian_dp{1.0}, std::nan("")), std::domain_error);
  CHECK_THROWS_AS(epsilon(gaussian_dp{}, 0.5), std::domain_error);
}

TEST_CASE("delta falls in epsilon and grows in mu", "[dp]") {
  for (double const mu : {1e-6, 0.03, 1.0, 20.0}) {
    double last = 2.0;
    for (double b = -6.0; b < 30.0; b += 0.25) {  // across every change of formula
      double const epsilon = mu * (b + 0.5 * mu);
      double const now = gaussian_profile(mu, epsilon);
      CAPTURE(mu, b);
      CHECK(now < last);
      CHECK(gaussian_profile(mu * 1.001, epsilon) > now * (1.0 - 1e-15));
      last = now;
    }
  }
}

TEST_CASE("the largest mu within a target is feasible and nearly the best", "[dp]") {
  gaussian_questions source(14);
  for (int i = 0; i < 300; ++i) {
    double const epsilon = i % 10 == 0 ? 0.0 : std::pow(10.0, -12.0 + 20.0 * source.draw());
    double const delta =
        i % 3 == 0 ? std::pow(10.0, -300.0 * source.draw()) : 1.0 - 0.999999 * source.draw();
    CAPTURE(epsilon, delta);
    double const mu = gaussian_dp_for(approx_dp{epsilon, delta}).mu;
    CHECK(exact_profile(mu, epsilon) <= exact(delta));
    CHECK(exact_profile(mu * (1.0 + 1e-12), epsilon) > exact(delta));
  }
  CHECK(gaussian_dp_for(approx_dp{1.0, 0.0}).mu == 0.0);
  CHECK(gaussian_dp_for(approx_dp{1.0, 1.0}).mu == infinity);
  CHECK(gaussian_dp_for(approx_dp{1e300, 0.1}).mu > 1e150);
  CHECK(gaussian_dp_for(approx_dp{1.0, 5e-324}).mu > 0.02);
  CHECK_THROWS_AS(gaussian_dp_for(approx_dp{-1.0, 0.1}), std::domain_error);
  CHECK_THROWS_AS(gaussian_dp_for(approx_dp{1.0, 1.1}), std::domain_error);
  CHECK_THROWS_AS(gaussian_dp_for(approx_dp{}), std::domain_error);
}

TEST_CASE("mu compose in squares, rounded up", "[dp]") {
  gaussian_questions source(15);
  for (double const scale : {4e-323, 1e-200, 1.0, 1e200}) {
    std::vector<gaussian_dp> parts;
    exact squares(0);
    for (int i = 0; i < 400; ++i) {
      parts.push_back({scale * source.draw()});
      squares += exact(parts.back().mu) * exact(parts.back().mu);
      exact const truth = sqrt(squares);
      double const mu = composition_of(parts).mu;
      CHECK(exact(mu) >= truth);
      CHECK(exact(mu) <= truth * exact(1 + 4e-15) + exact(1e-322));
    }
  }
  CHECK(composition_of({}).mu == 0.0);
  std::vector<gaussian_dp> const one{{0.3}};
  CHECK(composition_of(one).mu == 0.3);
  std::vector<gaussian_dp> const bad{{0.3}, {}};
  CHECK_THROWS_AS(composition_of(bad), std::domain_error);
}

TEST_CASE("the trade-off curve bounds every attack from below", "[dp]") {
  for (double const mu : {1e-6, 0.5, 1.0, 3.0, 20.0, 70.0}) {
    for (double const alpha : {1e-300, 1e-50, 1e-5, 0.05, 0.4, 0.5, 0.8, 0.99999}) {
      CAPTURE(mu, alpha);
      exact const truth = gaussian_trade_off(exact(mu), exact(alpha));
      double const rate = false_negative_rate(gaussian_dp{mu}, alpha);
      CHECK(exact(rate) <= truth);
      if (truth > exact("1e-290")) CHECK(exact(rate) >= truth * exact(1 - 2e-12));
      // The curve is its own inverse, and lies above the lines of the profile.
      if (truth > exact("1e-290") && truth < exact(0.999)) {
        CHECK(relative(gaussian_trade_off(exact(mu), truth), exact(alpha)) <= 1e-40);
      }
      for (double const epsilon : {0.0, 1.0, 10.0}) {
        exact const line =
            exact(1) - exact_profile(mu, epsilon) - exp(exact(epsilon)) * exact(alpha);
        CHECK(truth >= line - exact("1e-40"));
      }
    }
  }
  CHECK(false_negative_rate(gaussian_dp{0.0}, 0.25) == 0.75);
  CHECK(false_negative_rate(gaussian_dp{1.0}, 0.0) == 1.0);
  CHECK(false_negative_rate(gaussian_dp{1.0}, 1.0) == 0.0);
  CHECK(false_negative_rate(gaussian_dp{infinity}, 0.0) == 0.0);
  CHECK(false_negative_rate(gaussian_dp{infinity}, 0.5) == 0.0);
  CHECK_THROWS_AS(false_negative_rate(gaussian_dp{1.0}, 1.5), std::domain_error);
  CHECK_THROWS_AS(false_negative_rate(gaussian_dp{}, 0.5), std::domain_error);
}

TEST_CASE("the central limit theorem is an estimate, and says too little", "[dp]") {
  STATIC_REQUIRE(!std::convertible_to<clt_estimate, gaussian_dp>);
  STATIC_REQUIRE(!std::constructible_from<gaussian_dp, clt_estimate>);
  STATIC_REQUIRE(!accounting_method<clt_estimate>);
  clt_estimate const rldp(0.01, 1.0, 1000);
  CHECK(rldp.mu_estimate() == Approx(0.41452).margin(5e-6));
  CHECK(rldp.epsilon_estimate(1e-5) == Approx(1.6177).margin(5e-5));
  CHECK(clt_estimate(0.01, 1.0, 10000).epsilon_estimate(1e-5) == Approx(6.00708).margin(1e-5));
  CHECK(clt_estimate(0.001, 0.6, 100000).epsilon_estimate(1e-5) == Approx(5.56290).margin(1e-5));
  CHECK(clt_estimate(0.5, 10.0, 1000).epsilon_estimate(1e-5) == Approx(7.53391).margin(1e-5));
  CHECK(clt_estimate(0.01, 1.0, 10000).epsilon_estimate(1e-5) < 6.1877 * 0.975);
  clt_estimate parts;
  parts.compose(sampled(gaussian{1.0}, poisson{0.01}), 600).compose(0.01, 1.0, 400);
  CHECK(parts.mu_estimate() == Approx(rldp.mu_estimate()).epsilon(1e-14));
  CHECK(parts.delta_estimate(1.6177) == Approx(1e-5).epsilon(1e-3));
  CHECK(clt_estimate().epsilon_estimate(1e-5) == 0.0);
  CHECK(clt_estimate(1.0, 1e-3, 1).epsilon_estimate(1e-5) == infinity);
  CHECK_THROWS_AS(clt_estimate(1.5, 1.0, 1), std::domain_error);
  CHECK_THROWS_AS(clt_estimate(0.5, 0.0, 1), std::domain_error);
  CHECK_THROWS_AS(parts.compose(laplace{1.0}), std::invalid_argument);
  CHECK_THROWS_AS(parts.compose(by_person(gaussian{1.0}, 2)), std::invalid_argument);
  CHECK_THROWS_AS(parts.compose(sampled(gaussian{1.0}, fixed_size{1, 2})), std::invalid_argument);
}

TEST_CASE("the accountant's mu is that of the events", "[dp]") {
  auto const mu = [](adjacency neighbours, event const& release, std::uint64_t count) {
    gaussian_accountant spent(neighbours);
    spent.compose(release, count);
    bound<gaussian_dp> const guarantee = spent.method().guarantee();
    CHECK(guarantee.lower.mu <= guarantee.upper.mu);
    CHECK(guarantee.upper.mu <= guarantee.lower.mu * (1.0 + 1e-14) + 1e-150);
    return Approx(guarantee.upper.mu).epsilon(1e-14);
  };
  using enum adjacency;
  CHECK(0.5 == mu(add_remove, gaussian{2.0}, 1));
  CHECK(1.0 == mu(replace_one, gaussian{2.0}, 1));
  CHECK(0.5 == mu(zero_out, gaussian{2.0}, 1));
  CHECK(5.0 == mu(add_remove, gaussian{2.0}, 100));
  CHECK(5e5 == mu(add_remove, gaussian{2.0}, 1000000000000));
  CHECK(1.5 == mu(add_remove, by_person(gaussian{2.0}, 3), 1));
  CHECK(3.0 == mu(replace_one, by_person(gaussian{2.0}, 3), 1));
  CHECK(1.5 == mu(zero_out, matrix_gaussian{2.0, 3.0}, 1));
  CHECK(3.0 == mu(replace_one, matrix_gaussian{2.0, 3.0}, 1));
  CHECK(0.5 == mu(zero_out, sampled(gaussian{2.0}, shuffled{}), 1));
  CHECK(1.0 == mu(replace_one, sampled(gaussian{2.0}, shuffled{}), 1));
  CHECK(1.0 == mu(replace_one, sampled(gaussian{2.0}, fixed_size{7, 7}), 1));
  CHECK(0.5 == mu(add_remove, sampled(gaussian{2.0}, poisson{1.0}), 1));
  CHECK(0.0 == mu(add_remove, sampled(gaussian{2.0}, poisson{0.0}), 1000));
}

TEST_CASE("compositions of Gaussians contain the closed form", "[dp][slow]") {
  gaussian_questions source(16);
  for (int run = 0; run < 150; ++run) {
    gaussian_accountant spent(run % 2 == 0 ? adjacency::add_remove : adjacency::replace_one);
    exact const change(run % 2 == 0 ? 1 : 2);
    exact squares(0);
    std::size_t const parts = 1 + static_cast<std::size_t>(5.0 * source.draw());
    for (std::size_t k = 0; k < parts; ++k) {
      double const multiplier = std::pow(10.0, -1.0 + 5.0 * source.draw());
      auto const count = static_cast<std::uint64_t>(std::pow(10.0, 12.0 * source.draw()));
      spent.compose(gaussian{multiplier}, count);
      exact const mu = change / exact(multiplier);
      squares += exact(static_cast<double>(count)) * mu * mu;
    }
    exact const mu = sqrt(squares);
    double const at = static_cast<double>(mu);
    double const epsilon = std::max(0.0, at * (0.5 * at - 3.0 + 35.0 * source.draw()));
    bound<double> const certified = spent.delta(epsilon);
    exact const truth = gaussian_profile(mu, exact(epsilon));
    CAPTURE(at, epsilon, truth);
    CHECK(exact(certified.lower) <= truth);
    CHECK(truth <= exact(certified.upper));
    double const delta = std::pow(10.0, -290.0 * source.draw());
    bound<double> const inverse = spent.epsilon(delta);
    CHECK(gaussian_profile(mu, exact(inverse.upper)) <= exact(delta));
    if (inverse.lower > 0.0) CHECK(gaussian_profile(mu, exact(inverse.lower)) >= exact(delta));
    if (inverse.lower > 1.0) CHECK(inverse.upper - inverse.lower <= 1e-12 * inverse.upper);
  }
}

TEST_CASE("the accountant merges, copies, saves and looks ahead", "[dp]") {
  gaussian_accountant first(adjacency::add_remove);
  CHECK(first.epsilon(1e-5).upper == 0.0);
  CHECK(first.delta(0.0).upper == 0.0);
  first.compose(gaussian{3.0}, 5).compose(matrix_gaussian{2.0, 1.5});
  gaussian_accountant second(adjacency::add_remove);
  second.compose(gaussian{3.0}, 4);
  gaussian_accountant const before = second;
  second.compose(first);
  gaussian_accountant whole(adjacency::add_remove);
  whole.compose(gaussian{3.0}, 9).compose(matrix_gaussian{2.0, 1.5});
  CHECK(second.epsilon(1e-6).upper == Approx(whole.epsilon(1e-6).upper).epsilon(1e-14));
  CHECK(before.epsilon(1e-6).upper < second.epsilon(1e-6).lower);
  gaussian_accountant const back = gaussian_accountant::load(whole.save());
  CHECK(back.epsilon(1e-6).upper == whole.epsilon(1e-6).upper);
  double const epsilon = whole.epsilon(1e-6).upper;
  CHECK(!before.would_exceed(gaussian{3.0}, 5, approx_dp{epsilon, 1e-6}));
  CHECK(whole.would_exceed(gaussian{1e3}, 1, approx_dp{epsilon, 1e-6}));
  // Guessing a fair bit: ½ + δ(0)/2 = Φ(μ/2).
  gaussian_accountant one(adjacency::add_remove);
  one.compose(gaussian{1.0});
  CHECK(exact(one.attack_success()) >= exact(1) - plain_tail(exact(0.5)));
  CHECK(one.attack_success() == Approx(0.6914624612740131).epsilon(1e-12));
}

TEST_CASE("what is not Gaussian is refused, and says why", "[dp]") {
  gaussian_accountant spent(adjacency::add_remove);
  spent.compose(gaussian{1.0});
  double const before = spent.epsilon(1e-5).upper;
  for (event const& release :
       {event(laplace{1.0}), event(discrete_gaussian{1.0}), event(discrete_laplace{1.0}),
        event(pure{1.0}), event(approx_dp{1.0, 1e-6}), event(exponential_mechanism{1.0}),
        event(randomised_response{1.0}), event(gaussian{1.0}, poisson{0.5}),
        event(gaussian{1.0}, fixed_size{1, 2}), event(gaussian{1.0}, shuffled{}),
        event(matrix_gaussian{1.0, 1.0}, poisson{0.5})}) {
    CHECK_THROWS_AS(spent.compose(release), std::invalid_argument);
  }
  gaussian_accountant other(adjacency::replace_one);
  CHECK_THROWS_AS(other.compose(sampled(gaussian{1.0}, fixed_size{1, 2})), std::invalid_argument);
  CHECK_THROWS_AS(other.compose(randomised_response{1.0}), std::invalid_argument);
  CHECK_THROWS_AS(other.compose(spent), std::invalid_argument);
  CHECK_THROWS_WITH(spent.compose(laplace{1.0}),
                    "gaussian: laplace has no exact Gaussian-DP bound; take another accountant");
  CHECK_THROWS_WITH(
      spent.compose(sampled(gaussian{1.0}, poisson{0.5})),
      "gaussian: a sampled gaussian has no exact Gaussian-DP bound; compose the unsampled "
      "event to charge it unsampled, or take another accountant");
  CHECK_THROWS_AS(spent.compose(gaussian{0.0}), std::domain_error);
  CHECK_THROWS_AS(spent.compose(gaussian{}), std::domain_error);
  CHECK_THROWS_AS(spent.compose(gaussian{infinity}), std::domain_error);
  CHECK(spent.epsilon(1e-5).upper == before);
  CHECK(spent.history().size() == 1);
}

TEST_CASE("squares that leave the exponent range stay on the safe side", "[dp]") {
  gaussian_accountant faint(adjacency::add_remove);
  faint.compose(gaussian{1e200}, 7);
  CHECK(faint.delta(0.0).upper >= 7e-200);
  CHECK(faint.delta(0.0).upper <= 1e-150);
  CHECK(faint.epsilon(1e-5).upper == 0.0);
  CHECK(faint.delta(0.0).lower == 0.0);
  gaussian_accountant loud(adjacency::add_remove);
  loud.compose(gaussian{1e-200}, 2).compose(gaussian{1.0}).compose(gaussian{1e-160});
  CHECK(loud.delta(1.0).upper == 1.0);
  CHECK(loud.epsilon(0.5).upper == infinity);
  CHECK(loud.epsilon(0.5).lower >= 0.0);
}

TEST_CASE("ten thousand random configurations contain their closed form", "[.sweep]") {
  gaussian_questions source(17);
  for (int i = 0; i < 10000; ++i) {
    gaussian_dp const guarantee = source.guarantee();
    double const epsilon = source.epsilon(guarantee.mu);
    exact const truth = exact_profile(guarantee.mu, epsilon);
    bound<double> const certified = delta(guarantee, epsilon);
    CAPTURE(guarantee.mu, epsilon);
    REQUIRE(exact(certified.lower) <= truth);
    REQUIRE(truth <= exact(certified.upper));
    double const target = certified.upper;
    if (!(target > 0.0 && target < 1.0)) continue;
    bound<double> const inverse = tacit::epsilon(guarantee, target);
    REQUIRE(exact_profile(guarantee.mu, inverse.upper) <= exact(target));
    if (inverse.lower > 0.0) {
      REQUIRE(exact_profile(guarantee.mu, inverse.lower) >= exact(target));
    }
    double const mu = gaussian_dp_for(approx_dp{epsilon, target}).mu;
    REQUIRE(exact_profile(mu, epsilon) <= exact(target));
  }
}

TEST_CASE("epsilon and log delta where delta is the smallest of numbers", "[dp]") {
  // From Φ(μ/2−ε/μ) − e^ε Φ(−μ/2−ε/μ) by mpmath, 400 digits, solved for ε.
  struct row {
    double mu, delta;
    char const* epsilon;
  };
  for (row const& r : {row{0.01, 1e-300, "0.3682989900138094847197171"},
                       row{20.0, 1e-300, "940.3761240049179245657598"},
                       row{200.0, 1e-300, "27408.50183040023929371411"},
                       row{1e-3, 5e-324, "0.03819280373137391128715705"}}) {
    CAPTURE(r.mu, r.delta);
    exact const truth(r.epsilon);
    bound<double> const found = epsilon(gaussian_dp{r.mu}, r.delta);
    CHECK(exact(found.lower) <= truth);
    CHECK(exact(found.upper) >= truth);
    CHECK(found.upper - found.lower <= 1e-13 * found.upper);
  }
  CHECK(log_gaussian_profile(29.0, 1e4) == Approx(-54567.39309199055).epsilon(1e-14));
  CHECK(log_gaussian_profile(40.0, 2e3) == Approx(-454.88153832895355).epsilon(1e-14));
}

TEST_CASE("a mu so small that it has few digits", "[dp]") {
  double const log_root = 0.91893853320467274178;  // log √2π; δ(0) = μ/√2π
  for (double const mu : {5e-324, 1e-323, 1e-320, 1e-310, 1e-300, 1e-100, 1e-31, 1e-32}) {
    CAPTURE(mu);
    CHECK(log_gaussian_profile(mu, 0.0) == Approx(std::log(mu) - log_root).epsilon(1e-15));
  }
  // −b²/2 + log μ + log(1 − bR(b)) − log √2π at b = 3.
  CHECK(log_gaussian_profile(1e-310, 3e-310) == Approx(-721.6710648877572).epsilon(1e-13));
  CHECK(log_gaussian_profile(1e-300, 1e-287) == Approx(-5e25).epsilon(1e-15));
  CHECK(log_gaussian_profile(1e-300, 1e-270) == Approx(-5e59).epsilon(1e-15));
  double const tenth = 50 * 5e-324;
  CHECK(gaussian_dp_for({0.0, tenth}).mu <= 125 * 5e-324);  // 126 have δ(0) = 50.27
  for (int k = 1; k < 400; ++k) {
    for (int j = 1; j < k; j += 7) {
      exact const truth = exact(k) / sqrt(2 * boost::math::constants::pi<exact>());
      CAPTURE(k, j);
      bound<double> const found = epsilon(gaussian_dp{k * 5e-324}, j * 5e-324);
      REQUIRE((found.upper > 0.0 || truth <= j));
      REQUIRE((found.lower == 0.0 || truth > j));
    }
  }
}

TEST_CASE("a mu beyond 1e16, of which eps and mu/2 leave few digits", "[dp]") {
  // b is 33 and more: its error in the last place was 1e-13 of delta.
  for (auto const& [mu, epsilon] : {std::pair(0x1.53f8e7b6ac283p+60, 0x1.c37d27af8f9b3p+119),
                                    std::pair(0x1.82e85b97b7678p+66, 0x1.2460c38dd46aep+132)}) {
    CAPTURE(mu, epsilon);
    exact const truth = exact_profile(mu, epsilon);
    bound<double> const found = delta(gaussian_dp{mu}, epsilon);
    CHECK(exact(found.lower) <= truth);
    CHECK(exact(found.upper) >= truth);
    CHECK(relative(gaussian_profile(mu, epsilon), truth) < 1e-14);
  }
}
