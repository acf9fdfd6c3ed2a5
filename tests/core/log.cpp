// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/log.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace log_tests {

namespace {

using support::exact;
using oracle = boost::multiprecision::cpp_bin_float_100;

constexpr double smallest = std::numeric_limits<double>::denorm_min();

bool is_nan(double x) { return std::isnan(x); }

/// Σ_{k≥2} (−u)^k·c_k: the two residuals near 0, where their definitions cancel.
template <class Coefficient>
oracle series(oracle const& u, Coefficient&& c) {
  oracle sum = 0;
  oracle power = u * u;
  for (int k = 2; k < 12; ++k) {
    sum += power * c(k);
    power *= -u;
  }
  return sum;
}

/// u − log(1+u).
oracle log1p_residual_of(oracle const& u) {
  if (abs(u) < 1e-12) return series(u, [](int k) { return oracle(1) / k; });
  return oracle(u - log(oracle(1 + u)));
}

/// (1+d)·log(1+d) − d.
oracle entropy_residual_of(oracle const& d) {
  if (abs(d) < 1e-12) return series(d, [](int k) { return oracle(1) / (k * (k - 1)); });
  if (d == -1) return 1;
  return oracle((1 + d) * log(oracle(1 + d)) - d);
}

/// Both signs, every magnitude, both sides of the two switches, and the ends.
std::vector<double> arguments() {
  std::vector<double> u;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-150.0, 0.0);
  std::uniform_real_distribution<double> near(-1.0, 1.0);
  for (int k = 0; k < 1500; ++k) {
    double const size = std::pow(10.0, exponent(random));
    u.insert(u.end(), {size, -size * (1.0 - 1e-9), near(random)});
  }
  for (double const scale : {0.1, 1.0, 1e3, 1e12, 1e150, 1e300}) {
    for (int k = 0; k < 50; ++k) u.push_back(scale * (1.0 + near(random) / 2.0));
  }
  for (double const edge : {-2.0 / 7.0, 2.0 / 5.0, -0.5, 0.5, -0.25, 0.25}) {
    double below = edge;
    double above = edge;
    for (int k = 0; k < 20; ++k) {
      u.insert(u.end(), {below, above});
      below = std::nextafter(below, -infinity);
      above = std::nextafter(above, infinity);
    }
  }
  for (int k = 2; k <= 53; ++k) u.push_back(std::ldexp(1.0, -k) - 1.0);
  return u;
}

/// The error in units of the last place of the result; the smallest double is the floor of a unit.
template <class T>
double error_in_ulp(T const& got, oracle const& truth) {
  oracle const unit = std::max(oracle(abs(truth) * std::numeric_limits<T>::epsilon()),
                               oracle(std::numeric_limits<T>::denorm_min()));
  return static_cast<double>(abs(oracle(oracle(got) - truth)) / unit);
}

template <class T>
struct worst {
  double log1p_residual = 0.0;
  double entropy_residual = 0.0;

  worst() {
    for (double const u : arguments()) {
      log1p_residual =
          std::max(log1p_residual, error_in_ulp(tacit::log1p_residual(T(u)), log1p_residual_of(u)));
      entropy_residual = std::max(
          entropy_residual, error_in_ulp(tacit::entropy_residual(T(u)), entropy_residual_of(u)));
    }
  }
};

}  // namespace

TEST_CASE("log_add: minus infinity is the logarithm of nothing", "[log]") {
  using tacit::log_add;
  for (double const x : {-infinity, -1e308, -745.0, -0.0, 3.5, 1e308, infinity}) {
    CHECK(log_add(-infinity, x) == x);
    CHECK(log_add(x, -infinity) == x);
    CHECK(log_add(infinity, x) == infinity);
    CHECK(log_add(x, infinity) == infinity);
    CHECK(is_nan(log_add(not_a_number, x)));
    CHECK(is_nan(log_add(x, not_a_number)));
  }
  CHECK(is_nan(log_add(not_a_number, not_a_number)));
}

TEST_CASE("log_add is symmetric, exact to an ulp or two, and never below its larger term",
          "[log][long]") {
  using tacit::log_add;
  CHECK(log_add(1e308, 1e308) == 1e308);
  CHECK(log_add(-1e308, 1e308) == 1e308);
  CHECK(log_add(700.0, 710.0) > 710.0);  // e^710 overflows
  CHECK(log_add(-800.0, -800.0) == Approx(-800.0 + std::log(2.0)).epsilon(1e-15));

  std::mt19937_64 random(2);
  std::normal_distribution<double> normal(0.0, 20.0);
  double error = 0.0;
  bool ordered = true;
  bool symmetric = true;
  for (int k = 0; k < 2000; ++k) {
    double const a = normal(random);
    double const b = a + normal(random);
    double const sum = log_add(a, b);
    oracle const truth = log(oracle(exp(oracle(a)) + exp(oracle(b))));
    // The sum of a large term and a small correction: its error is relative to the terms.
    error = std::max(error, static_cast<double>(abs(oracle(oracle(sum) - truth)) /
                                                (std::max(std::abs(a), std::abs(b)) + 1.0)));
    ordered &= sum >= std::max(a, b);
    symmetric &= sum == log_add(b, a);
  }
  CHECK(error <= 2.0 * std::numeric_limits<double>::epsilon());
  CHECK(ordered);
  CHECK(symmetric);

  exact const third = exact(-1) / 3;
  exact const direct = log(exact(exp(third) + exp(exact(2))));
  CHECK(abs(exact(log_add(third, exact(2)) - direct)) < exact("1e-48"));
  exact const nothing = -std::numeric_limits<exact>::infinity();
  CHECK(log_add(nothing, third) == third);
  CHECK(log_add(nothing, nothing) == nothing);
}

TEST_CASE("log_sum over a range", "[log]") {
  using tacit::log_sum;
  CHECK(log_sum(std::vector<double>{}) == -infinity);
  CHECK(log_sum(std::vector<double>{-infinity, -infinity}) == -infinity);
  CHECK(log_sum(std::vector<double>{-infinity, -3.25}) == -3.25);
  CHECK(log_sum(std::vector<double>{0.0, infinity, -infinity}) == infinity);
  CHECK(log_sum(std::vector<double>{1e308, 1e308}) == 1e308);
  for (std::size_t place : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    for (double const other : {-infinity, 0.0, infinity}) {
      std::vector<double> terms(3, other);
      terms[place] = not_a_number;
      CHECK(is_nan(log_sum(terms)));
    }
  }
  // A thousand equal terms far outside the range of exp.
  CHECK(log_sum(std::vector<double>(1000, -5000.0)) ==
        Approx(-5000.0 + std::log(1000.0)).epsilon(1e-15));
  CHECK(log_sum(std::vector<double>(1000, 5000.0)) ==
        Approx(5000.0 + std::log(1000.0)).epsilon(1e-15));

  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0.0, 300.0);
  std::vector<double> terms(200);
  for (double& x : terms) x = normal(random);
  oracle truth = 0;
  for (double const x : terms) truth += exp(oracle(x));
  CHECK(log_sum(terms) == Approx(static_cast<double>(oracle(log(truth)))).epsilon(4e-16));
}

TEST_CASE("log1m_exp keeps its digits at both ends", "[log][long]") {
  using tacit::log1m_exp;
  CHECK(log1m_exp(0.0) == -infinity);
  CHECK(log1m_exp(-0.0) == -infinity);
  CHECK(log1m_exp(-infinity) == 0.0);
  CHECK(is_nan(log1m_exp(not_a_number)));
  CHECK(is_nan(log1m_exp(0.1)));  // a probability above 1
  CHECK(log1m_exp(-smallest) == Approx(std::log(smallest)).epsilon(1e-15));
  CHECK(log1m_exp(-800.0) == 0.0);
  CHECK(log1m_exp(-700.0) == Approx(-std::exp(-700.0)).epsilon(1e-15));
  CHECK(log1m_exp(-700.0) < 0.0);

  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> exponent(-300.0, 2.8);
  double error = 0.0;
  for (int k = 0; k < 3000; ++k) {
    double const x = k % 2 == 0 ? -std::pow(10.0, exponent(random))
                                : -0.6931471805599453 * (1.0 + (k - 1500) * 1e-7);
    oracle const e = exp(oracle(x));
    oracle const truth = x > -1e-12  ? oracle(log(oracle(-oracle(x) - oracle(x) * x / 2)))
                         : x < -60.0 ? oracle(-e - e * e / 2)
                                     : oracle(log(oracle(1 - e)));
    error = std::max(error, error_in_ulp(log1m_exp(x), truth));
  }
  CHECK(error <= 3.0);
}

TEST_CASE("log1p_exp does not overflow", "[log]") {
  using tacit::log1p_exp;
  CHECK(log1p_exp(-infinity) == 0.0);
  CHECK(log1p_exp(infinity) == infinity);
  CHECK(log1p_exp(1e308) == 1e308);
  CHECK(log1p_exp(-1000.0) == 0.0);
  CHECK(log1p_exp(-700.0) == Approx(std::exp(-700.0)).epsilon(1e-15));
  CHECK(log1p_exp(0.0) == Approx(std::log(2.0)).epsilon(1e-15));
  CHECK(is_nan(log1p_exp(not_a_number)));
}

TEST_CASE("the residual of e^w loses no digit on either side of its switch", "[log][long]") {
  auto const error = [](double w) {
    exact const truth =
        std::abs(w) < 1e-12 ? exact(w) * w / 2 * (1 + exact(w) / 3) : exact(exp(exact(w)) - 1 - w);
    return static_cast<double>(abs(exact(tacit::exp_residual(w)) / truth - 1));
  };
  for (double w = -30.0; w < 30.0; w += 0.013) {
    CHECK(error(w) < 1e-15);
    CHECK(error(w * 1e-9) < 1e-15);
    CHECK(error(w * 1e-120) < 1e-15);
    CHECK(static_cast<double>(abs(exact(tacit::exp_residual(static_cast<long double>(w))) /
                                      exact(exp(exact(w)) - 1 - w) -
                                  1)) < 2e-18);
  }
  CHECK(tacit::exp_residual(0.0) == 0.0);
  CHECK(tacit::exp_residual(800.0) == infinity);
  CHECK(is_nan(tacit::exp_residual(not_a_number)));
}

TEST_CASE("the residuals of log(1+u) lose no digit", "[log][long]") {
  SECTION("double") {
    worst<double> const error;
    CAPTURE(error.log1p_residual, error.entropy_residual);
    CHECK(error.log1p_residual <= 4.0);
    CHECK(error.entropy_residual <= 14.0);
  }
  SECTION("float") {
    // Magnitudes below 1e-22 square to nothing in float.
    double error = 0.0;
    for (double const u : arguments()) {
      auto const x = static_cast<float>(u);
      if (!(x > -1.0F) || !(x < 1e30F)) continue;
      error = std::max(error, error_in_ulp(tacit::log1p_residual(x), log1p_residual_of(x)));
      error = std::max(error, error_in_ulp(tacit::entropy_residual(x), entropy_residual_of(x)));
    }
    CHECK(error <= 14.0);
  }
  SECTION("long double") {
    worst<long double> const error;
    CAPTURE(error.log1p_residual, error.entropy_residual);
    CHECK(error.log1p_residual <= 4.0);
    CHECK(error.entropy_residual <= 14.0);
  }
  SECTION("50 digits") {
    std::vector<double> const all = arguments();
    oracle error = 0;
    for (std::size_t k = 0; k < all.size(); k += 7) {
      oracle const residual = log1p_residual_of(all[k]);
      oracle const entropy = entropy_residual_of(all[k]);
      if (residual == 0) continue;
      error = std::max(
          error, oracle(abs(oracle(oracle(tacit::log1p_residual(exact(all[k]))) / residual - 1))));
      error = std::max(
          error, oracle(abs(oracle(oracle(tacit::entropy_residual(exact(all[k]))) / entropy - 1))));
    }
    CHECK(error <= oracle("1e-48"));
  }
}

TEST_CASE("the residuals are never negative, and small arguments underflow to 0 or above",
          "[log]") {
  bool never_negative = true;
  for (double const u : arguments()) {
    never_negative &= tacit::log1p_residual(u) >= 0.0 && tacit::entropy_residual(u) >= 0.0;
  }
  for (double size = smallest; size < 1e-140; size *= 1e3) {
    for (double const u : {size, -size}) {
      double const half_square = static_cast<double>(oracle(oracle(u) * u / 2));
      never_negative &= tacit::log1p_residual(u) >= 0.0 && tacit::entropy_residual(u) >= 0.0;
      // Rounded once or twice in the range of subnormal numbers.
      CHECK(std::abs(tacit::log1p_residual(u) - half_square) <=
            3.0 * smallest + 1e-15 * half_square);
      CHECK(std::abs(tacit::entropy_residual(u) - half_square) <=
            3.0 * smallest + 1e-15 * half_square);
    }
  }
  CHECK(never_negative);
}

TEST_CASE("the ends of the residuals", "[log]") {
  using tacit::entropy_residual;
  using tacit::log1p_residual;
  CHECK(log1p_residual(0.0) == 0.0);
  CHECK(log1p_residual(-1.0) == infinity);
  CHECK(is_nan(log1p_residual(not_a_number)));
  CHECK(entropy_residual(0.0) == 0.0);
  CHECK(entropy_residual(-1.0) == 1.0);
  CHECK(is_nan(entropy_residual(not_a_number)));
  CHECK(is_nan(entropy_residual(-1.5)));
  CHECK(is_nan(entropy_residual(-0.9, not_a_number)));
}

TEST_CASE("a scaled residual loses no digit either", "[log]") {
  // s·φ(u/s) for u ≥ −s/2; below, u/s has lost digits of 1 + u/s.
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-12.0, 12.0);
  std::uniform_real_distribution<double> near(-0.5, 3.0);
  double error = 0.0;
  for (int k = 0; k < 3000; ++k) {
    double const scale = std::pow(10.0, exponent(random));
    double const ratio = k % 2 == 0 ? near(random) : std::pow(10.0, exponent(random));
    double const u = scale * ratio;
    oracle const truth = scale * log1p_residual_of(oracle(oracle(u) / scale));
    error = std::max(error, error_in_ulp(tacit::log1p_residual(u, scale), truth));
  }
  CHECK(error <= 16.0);
  CHECK(tacit::log1p_residual(0.0, 3.0) == 0.0);
  CHECK(is_nan(tacit::log1p_residual(not_a_number, 3.0)));
  CHECK(is_nan(tacit::log1p_residual(1.0, not_a_number)));
  CHECK(tacit::log1p_residual(0.3, 1.0) == tacit::log1p_residual(0.3));
}

TEST_CASE("a ratio known better than 1+d is used", "[log]") {
  // 1 + d = 1e-20 is no double beside d = −1; ψ = 1e-20·(log 1e-20 − 1) + 1 hides it, its distance
  // from 1 in long double does not.
  long double const d = -1.0L + 1e-19L;
  long double const residual = tacit::entropy_residual(d, 1e-25L);
  CHECK(residual == 1e-25L * std::log(1e-25L) - d);
  CHECK(tacit::entropy_residual(-1.0, 1e-5) == Approx(1.0 + 1e-5 * std::log(1e-5)).epsilon(1e-15));
  CHECK(tacit::entropy_residual(3.0, 4.0) == tacit::entropy_residual(3.0));
}

}  // namespace log_tests
