// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/elementary.hpp>
#include <tacit/core/rounded.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

namespace elementary_tests {

namespace {

namespace elementary = tacit::elementary;
using tacit::detail::next_down;
using tacit::detail::next_up;
using exact = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<50>,
                                            boost::multiprecision::et_off>;

constexpr double least = std::numeric_limits<double>::denorm_min();
constexpr double normal = std::numeric_limits<double>::min();
constexpr double largest = std::numeric_limits<double>::max();

void add_neighbours(std::vector<double>& to, double x, int count = 2) {
  to.push_back(x);
  double above = x;
  double below = x;
  for (int k = 0; k < count; ++k) {
    to.push_back(above = next_up(above));
    to.push_back(below = next_down(below));
  }
}

/// Both signs; uniform, uniform in the exponent, and what rounds at the ends of the range.
std::vector<double> random_arguments(double most, std::size_t count) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-most, most);
  std::uniform_real_distribution<double> power(-60.0, std::log2(most));
  std::vector<double> out{0.0, least, normal, next_down(normal), 1e-310, most};
  for (std::size_t k = 0; k < count; ++k) {
    out.push_back(uniform(random));
    out.push_back(std::exp2(power(random)));
  }
  std::size_t const half = out.size();
  for (std::size_t k = 0; k < half; ++k) out.push_back(-out[k]);
  return out;
}

/// The largest error in units of 2^-53 of the true value, where that is normal; in units of 2^-1074 else.
template <class Function, class Reference>
double worst_error(char const* name, std::vector<double> const& arguments, Function&& f,
                   Reference&& reference) {
  exact worst = 0;
  double at = 0.0;
  for (double const x : arguments) {
    exact const truth = reference(exact(x));
    double const y = f(x);
    if (truth == 0) {
      REQUIRE(y == 0.0);
      continue;
    }
    if (abs(truth) > largest) {
      REQUIRE((std::isinf(y) || std::abs(y) == largest));
      continue;
    }
    exact const unit = abs(truth) < normal ? exact(least) : abs(truth) * exact(0x1p-53);
    exact const error = abs(exact(y) - truth) / unit;
    if (error > worst) {
      worst = error;
      at = x;
    }
  }
  std::printf("%s: %.3f units of 2^-53 at %a, of %zu arguments\n", name, static_cast<double>(worst),
              at, arguments.size());
  return static_cast<double>(worst);
}

exact exact_expm1(exact const& x) {
  if (abs(x) > exact(1e-6)) return exp(x) - 1;
  exact sum = 0;
  exact term = x;
  for (int k = 2; k < 12; ++k) {
    sum += term;
    term *= x / k;
  }
  return sum;
}

exact exact_log1p(exact const& x) {
  if (abs(x) > exact(1e-6)) return log(1 + x);
  exact sum = 0;
  exact power = x;
  for (int k = 1; k < 12; ++k) {
    sum += k % 2 == 1 ? exact(power / k) : exact(-power / k);
    power *= x;
  }
  return sum;
}

std::vector<double> exponents(std::size_t count, double most) {
  std::vector<double> out = random_arguments(most, count);
  for (int k = -1076; k <= 1024; k += (k > -60 && k < 60) ? 1 : 20) {
    double const seam = (k + 0.5) * 0.6931471805599453;
    if (std::abs(seam) < most) add_neighbours(out, seam);
  }
  return out;
}

std::vector<double> powers_of_two(std::size_t count) {
  std::mt19937_64 random(2);
  std::vector<double> out;
  for (std::size_t k = 0; k < count; ++k) {
    double const x = std::bit_cast<double>(random() >> 1);
    if (x > 0.0 && x <= largest) out.push_back(x);
  }
  std::uniform_real_distribution<double> near_one(0.5, 2.0);
  for (std::size_t k = 0; k < count; ++k) out.push_back(near_one(random));
  for (int k = -1074; k <= 1023; k += (k > -10 && k < 10) ? 1 : 30) {
    add_neighbours(out, std::ldexp(1.0, k));
    add_neighbours(out, std::ldexp(std::bit_cast<double>(0x3FE6A09E00000000), k));
  }
  std::erase_if(out, [](double x) { return !(x > 0.0); });
  return out;
}

}  // namespace

TEST_CASE("the measured errors of the elementary functions are below the proven ones", "[slow]") {
  std::size_t const count = 3000;
  auto const exponential = exponents(count, 745.0);
  CHECK(worst_error(
            "exp", exponential, [](double x) { return elementary::exp(x); },
            [](exact const& x) { return exact(exp(x)); }) < 1.51);
  CHECK(worst_error(
            "expm1", exponents(count, 709.0), [](double x) { return elementary::expm1(x); },
            exact_expm1) < 2.76);
  CHECK(worst_error(
            "tanh", exponents(count, 30.0), [](double x) { return elementary::tanh(x); },
            [](exact const& x) {
              exact const e = exact_expm1(exact(2 * x));
              return exact(e / (e + 2));
            }) < 4.9);
  CHECK(worst_error(
            "erfc", random_arguments(27.5, count), [](double x) { return elementary::erfc(x); },
            [](exact const& x) { return exact(boost::multiprecision::erfc(x)); }) < 17.2);
  CHECK(worst_error(
            "log", powers_of_two(2 * count), [](double x) { return elementary::log(x); },
            [](exact const& x) { return exact(log(x)); }) < 1.92);

  std::vector<double> sums = random_arguments(0.9999, count);
  for (double const x : powers_of_two(count)) sums.push_back(x);
  for (double const x : {-0.2928, 0.4142, -0.29289321881345254, 0.41421356237309515, 1.0}) {
    add_neighbours(sums, x, 10);
  }
  for (int k = 1; k < 60; ++k) {
    add_neighbours(sums, std::ldexp(1.0, -k) - 1.0);
    add_neighbours(sums, std::ldexp(1.0, k) - 1.0);
  }
  CHECK(worst_error(
            "log1p", sums, [](double x) { return elementary::log1p(x); }, exact_log1p) < 1.92);

  std::vector<double> angles = random_arguments(0x1p20, count);
  for (double const x : random_arguments(4.0, count)) angles.push_back(x);
  for (int k = -600; k < 600; ++k) {  // odd multiples of π/4 are seams, even ones zeros
    double const step = (k % 2 == 0 ? 1.0 : 851.0) * 0.7853981633974483;
    add_neighbours(angles, step * k, 1);
  }
  CHECK(worst_error(
            "sin", angles, [](double x) { return elementary::sin(x); },
            [](exact const& x) { return exact(sin(x)); }) < 1.8);
  CHECK(worst_error(
            "cos", angles, [](double x) { return elementary::cos(x); },
            [](exact const& x) { return exact(cos(x)); }) < 1.8);
}

TEST_CASE("angles, distances and hyperbolic functions are below their proven errors", "[slow]") {
  std::size_t const count = 2500;
  std::vector<double> slopes = random_arguments(1e6, count);
  for (double const seam : {0.41421, 1.0 / 0.41421, 1.0, 0.41421356237309515}) {
    add_neighbours(slopes, seam, 10);
    add_neighbours(slopes, -seam, 10);
  }
  for (double const x : {1.0, -1.0, 3e200, -7e-200}) {
    CHECK(worst_error(
              "atan2", slopes, [x](double y) { return elementary::atan2(y, x); },
              [x](exact const& y) { return exact(atan2(y, exact(x))); }) < 6.5);
  }
  for (double const x : {1.0, 1e-3, 1e300, 1e-290}) {
    CHECK(worst_error(
              "hypot", slopes, [x](double y) { return elementary::hypot(y * x, x); },
              [x](exact const& y) {
                exact const a = static_cast<double>(y) * x;
                return exact(sqrt(a * a + exact(x) * exact(x)));
              }) < 2.01);
  }
  CHECK(worst_error(
            "sinh", exponents(count, 709.0), [](double x) { return elementary::sinh(x); },
            [](exact const& x) {
              exact const e = exact_expm1(abs(x));
              exact const size = (e + e / (1 + e)) / 2;
              return x < 0 ? exact(-size) : size;
            }) < 5.0);
  CHECK(worst_error(
            "cosh", exponents(count, 709.0), [](double x) { return elementary::cosh(x); },
            [](exact const& x) { return exact(cosh(x)); }) < 4.0);

  // Absolute errors beyond 2^20, of a sine that may be near 0.
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> power(20.0, 40.0);
  exact worst = 0;
  for (std::size_t k = 0; k < 4 * count; ++k) {
    double const x = (k % 2 == 0 ? 1.0 : -1.0) * std::exp2(power(random));
    auto const found = elementary::sin_cos_far(x);
    worst = std::max({worst, exact(abs(exact(found.sin) - sin(exact(x)))),
                      exact(abs(exact(found.cos) - cos(exact(x))))});
  }
  CHECK(worst < 3 * exact(0x1p-53));
}

TEST_CASE("the functions of long double are below their proven errors", "[slow]") {
  std::mt19937_64 random(7);
  exact const unit = exact(std::numeric_limits<long double>::epsilon()) / 2;
  auto const uniform = [&](long double low, long double high) {
    return low + (high - low) * (static_cast<long double>(random() >> 1) * 0x1p-63L);
  };
  auto const worst = [&](long double low, long double high, auto&& f, auto&& reference) {
    exact most = 0;
    for (int k = 0; k < 8000; ++k) {
      long double const small = std::ldexp(uniform(0.5L, 1.0L), -static_cast<int>(random() % 60));
      long double const x = k % 4 == 0 ? small : k % 4 == 1 ? -small : uniform(low, high);
      if (!(x >= low && x <= high)) continue;
      exact const truth = reference(exact(x));
      most = std::max(most, exact(abs((exact(f(x)) - truth) / truth)));
    }
    return static_cast<double>(most / unit);
  };
  using wide = long double;
  auto const exact_exp = [](exact const& x) { return exact(exp(x)); };
  CHECK(worst(
            -700.0L, 700.0L, [](wide x) { return elementary::exp(x); }, exact_exp) < 3.0);
  CHECK(worst(
            -1.0L, 1.0L, [](wide x) { return elementary::exp(x); }, exact_exp) < 3.0);
  for (long double const most : {0.36L, 1.5L, 50.0L}) {
    CHECK(worst(
              -most, most, [](wide x) { return elementary::expm1(x); }, exact_expm1) < 8.0);
  }
  auto const exact_log = [](exact const& x) { return exact(log(x)); };
  CHECK(worst(
            0.5L, 2.0L, [](wide x) { return elementary::log(x); }, exact_log) < 3.0);
  CHECK(worst(
            1e-9L, 1e5L, [](wide x) { return elementary::log(x); }, exact_log) < 3.0);
  CHECK(worst(
            -0.999L, 2.0L, [](wide x) { return elementary::log1p(x); }, exact_log1p) < 3.0);
  CHECK(worst(
            -0.9L, 1e5L, [](wide x) { return elementary::log1p(x); }, exact_log1p) < 3.0);
  CHECK(worst(
            -7e3L, 7e3L, [](wide x) { return elementary::sin(x); },
            [](exact const& x) { return exact(sin(x)); }) < 4.1);
  CHECK(worst(
            -7e3L, 7e3L, [](wide x) { return elementary::cos(x); },
            [](exact const& x) { return exact(cos(x)); }) < 5.1);
  for (long double const x : {1.0L, -1.0L}) {
    CHECK(worst(
              -3.0L, 3.0L, [x](wide y) { return elementary::atan2(y, x); },
              [x](exact const& y) { return exact(atan2(y, exact(x))); }) < 7.0);
  }
  CHECK(worst(
            -40.0L, 40.0L, [](wide x) { return elementary::sinh(x); },
            [](exact const& x) {
              exact const e = exact_expm1(abs(x));
              exact const size = (e + e / (1 + e)) / 2;
              return x < 0 ? exact(-size) : size;
            }) < 10.0);
  CHECK(worst(
            -40.0L, 40.0L, [](wide x) { return elementary::cosh(x); },
            [](exact const& x) { return exact(cosh(x)); }) < 6.0);
}

TEST_CASE("exponentials of many numbers have the bits of one") {
  std::vector<double> x = random_arguments(800.0, 20'000);
  for (double const end :
       {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 709.78, -745.1}) {
    add_neighbours(x, end);
  }
  std::vector<double> y = x;
  elementary::exp_each(y.data(), y.size());
  std::size_t other = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    other +=
        std::bit_cast<std::uint64_t>(y[k]) != std::bit_cast<std::uint64_t>(elementary::exp(x[k]));
  }
  CHECK(other == 0);
}

TEST_CASE("an elementary function at the ends of its domain") {
  using std::signbit;
  CHECK(elementary::exp(0.0) == 1.0);
  CHECK(elementary::exp(-0.0) == 1.0);
  CHECK(elementary::exp(infinity) == infinity);
  CHECK(elementary::exp(-infinity) == 0.0);
  CHECK(elementary::exp(0x1.62e42fefa39efp9) < infinity);  // the largest that does not overflow
  CHECK(elementary::exp(0x1.62e42fefa39fp9) == infinity);
  CHECK(elementary::exp(-0x1.74910d52d3051p9) == least);  // the last that does not vanish
  CHECK(elementary::exp(-0x1.74910d52d3053p9) == 0.0);
  CHECK(elementary::expm1(infinity) == infinity);
  CHECK(elementary::expm1(-infinity) == -1.0);
  CHECK(elementary::expm1(-1e300) == -1.0);
  CHECK(elementary::expm1(0x1.62e42fefa39efp9) < infinity);
  CHECK(elementary::expm1(1e300) == infinity);
  CHECK(elementary::atan2(0.0, 0.0) == 0.0);
  CHECK(signbit(elementary::atan2(-0.0, 1.0)));
  CHECK(elementary::atan2(0.0, -1.0) == 0x1.921fb54442d18p+1);
  CHECK(elementary::atan2(-0.0, -1.0) == -0x1.921fb54442d18p+1);
  CHECK(std::isnan(elementary::atan2(std::numeric_limits<double>::quiet_NaN(), 1.0)));
  CHECK(elementary::hypot(0.0, 0.0) == 0.0);
  CHECK(elementary::hypot(infinity, 1.0) == infinity);
  CHECK(elementary::hypot(least, 0.0) == least);
  CHECK(std::isnan(elementary::sin_cos_far(0x1p41).sin));
  CHECK(elementary::sinh(-infinity) == -infinity);
  CHECK(elementary::cosh(-infinity) == infinity);
  CHECK(elementary::exp(20000.0L) == infinity);
  CHECK(elementary::exp(-20000.0L) == 0.0L);
  CHECK(elementary::log(0.0L) == -infinity);
  CHECK(std::isnan(elementary::sin_cos(1e10L).cos));
  CHECK(elementary::tanh(infinity) == 1.0);
  CHECK(elementary::tanh(-infinity) == -1.0);
  CHECK(elementary::erfc(0.0) == Approx(1.0).epsilon(1e-15));
  CHECK(elementary::erfc(infinity) == 0.0);
  CHECK(elementary::erfc(1e200) == 0.0);
  CHECK(elementary::erfc(-infinity) == 2.0);
  CHECK(elementary::log(1.0) == 0.0);
  CHECK_FALSE(signbit(elementary::log(1.0)));
  CHECK(elementary::log(0.0) == -infinity);
  CHECK(elementary::log(-0.0) == -infinity);
  CHECK(elementary::log(infinity) == infinity);
  CHECK(elementary::log1p(-1.0) == -infinity);
  CHECK(elementary::log1p(infinity) == infinity);
  CHECK(elementary::cos(0.0) == 1.0);
  for (double const zero : {0.0, -0.0}) {
    for (double const y : {elementary::expm1(zero), elementary::tanh(zero), elementary::log1p(zero),
                           elementary::sin(zero)}) {
      CHECK(y == 0.0);
      CHECK(signbit(y) == signbit(zero));
    }
  }
  for (double const x : {least, 3 * least, 1e-310, normal, 1e-200}) {
    for (double const t : {x, -x}) {
      CHECK(elementary::expm1(t) == t);
      CHECK(elementary::tanh(t) == t);
      CHECK(elementary::log1p(t) == t);
      CHECK(elementary::sin(t) == t);
      CHECK(elementary::exp(t) == 1.0);
    }
  }
  for (double const x : {-least, -1.0, -1e300, -infinity}) CHECK(std::isnan(elementary::log(x)));
  for (double const x : {next_down(-1.0), -2.0, -1e300, -infinity}) {
    CHECK(std::isnan(elementary::log1p(x)));
  }
  for (double const x : {next_up(0x1p20), -1e10, largest, infinity, -infinity}) {
    CHECK(std::isnan(elementary::sin(x)));
    CHECK(std::isnan(elementary::cos(x)));
  }
  for (double const x : {not_a_number, -not_a_number}) {
    for (double const y :
         {elementary::exp(x), elementary::expm1(x), elementary::tanh(x), elementary::erfc(x),
          elementary::log(x), elementary::log1p(x), elementary::sin(x), elementary::cos(x)}) {
      CHECK(std::isnan(y));
    }
  }
}

TEST_CASE("the elementary functions have the same bits on every platform") {
  // FNV-1a over the results at 20,000 bit patterns, most of them between 2^-38 and 2^42.
  std::uint64_t hash = 0xCBF29CE484222325;
  std::uint64_t state = 1;
  for (int k = 0; k < 20'000; ++k) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::uint64_t bits = state ^ (state >> 29);
    if (k % 8 != 0) bits = (bits & 0x800FFFFFFFFFFFFF) | (((bits >> 52) % 80 + 985) << 52);
    auto const x = std::bit_cast<double>(bits);
    for (double const y :
         {elementary::exp(x), elementary::expm1(x), elementary::tanh(x), elementary::erfc(x),
          elementary::log(x), elementary::log1p(x), elementary::sin(x), elementary::cos(x)}) {
      std::uint64_t const word =
          std::isnan(y) ? 0x7FF8000000000000 : std::bit_cast<std::uint64_t>(y);
      hash = (hash ^ word) * 0x100000001B3;
    }
  }
  CHECK(hash == 0xAA43D1F156740778);
}

TEST_CASE("the elementary functions rise across the seams of their pieces") {
  auto const rises = [](auto&& f, double seam) {
    double x = next_down(seam, 20);
    for (int k = 0; k < 40; ++k) {
      double const next = next_up(x);
      if (!(f(x) <= f(next))) return false;
      x = next;
    }
    return true;
  };
  int broken = 0;
  for (int k = -1070; k < 1023; ++k) {
    double const seam = (k + 0.5) * 0.6931471805599453;
    broken += !rises([](double x) { return elementary::exp(x); }, seam);
    if (seam > -36.0) broken += !rises([](double x) { return elementary::expm1(x); }, seam);
    double const power = std::ldexp(std::bit_cast<double>(0x3FE6A09E00000000), k);
    if (k < -1000) continue;
    broken += !rises([](double x) { return elementary::log(x); }, power);
  }
  for (double const x : {-0.2928, 0.4142}) {
    broken += !rises([](double t) { return elementary::log1p(t); }, x);
  }
  CHECK(broken == 0);
}

}  // namespace elementary_tests
