// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/enclosure.hpp>
#include <tacit/core/exact_sum.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/rounded.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace tacit::detail;  // NOLINT: all of it is under test
using support::exact;

namespace elementary = tacit::elementary;

// Holds any sum or product of two doubles exactly.
using wide = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<2200, boost::multiprecision::digit_base_2>>;

constexpr double least = std::numeric_limits<double>::denorm_min();
constexpr double normal = std::numeric_limits<double>::min();

/// Zeros, powers of two and what lies beside them, over the whole range.
std::vector<double> corners() {
  std::vector<double> out{0.0, 0.1, 1.0 / 3.0, 3.0, 1e10 / 7.0, largest_double, next_down(normal)};
  for (int const power :
       {-1074, -1073, -1023, -1022, -1021, -1000, -970, -961, -960, -959, -537, -512, -54,  -53,
        -52,   -1,    0,     1,     2,     52,    53,   54,   480,  511,  512,  970,  1022, 1023}) {
    double const x = std::ldexp(1.0, power);
    out.insert(out.end(), {x, next_up(x), next_down(x)});
  }
  std::size_t const half = out.size();
  for (std::size_t k = 0; k < half; ++k) out.push_back(-out[k]);
  return out;
}

double any_double(std::mt19937_64& random) {
  for (;;) {
    auto const x = std::bit_cast<double>(static_cast<std::uint64_t>(random()));
    if (std::isfinite(x)) return x;
  }
}

/// Where a result that should be rounded up lies relative to the truth; is_below\(x\) decides x < truth.
struct verdict {
  int wrong_side = 0;
  int not_tight = 0;
  int rounded = 0;

  template <class Below>
  void up(double result, bool is_exact, Below&& is_below) {
    if (result == infinity) {
      not_tight += !is_below(largest_double);
      return;
    }
    wrong_side += is_below(result);
    rounded += !is_exact;
    if (result != -largest_double || is_exact) not_tight += !is_below(next_down(result));
  }
};

template <class Use>
void over_pairs(Use&& use) {
  std::vector<double> const edges = corners();
  for (double const a : edges) {
    for (double const b : edges) use(a, b);
  }
  std::mt19937_64 random(7);
  std::normal_distribution<double> gauss;
  std::uniform_int_distribution<int> shift(-60, 60);
  for (int k = 0; k < 10'000; ++k) {
    double const a = any_double(random);
    use(a, any_double(random));
    double const near = std::ldexp(gauss(random), std::ilogb(a) + shift(random));
    if (std::isfinite(near)) use(a, near);
    double const inverse = std::ldexp(gauss(random), -std::ilogb(a) + shift(random));
    if (std::isfinite(inverse)) use(a, inverse);
    // The product lies among the subnormal numbers.
    double const small = std::ldexp(gauss(random), -1050 - std::ilogb(a) + shift(random));
    if (std::isfinite(small)) use(a, small);
  }
}

}  // namespace

TEST_CASE("a difference of nothing is +0, whichever way it is rounded", "[rounded]") {
  for (double const x : {0.0, 0.05, 1e300, 5e-324}) {
    CHECK_FALSE(std::signbit(tacit::detail::subtract_down(x, x)));
    CHECK_FALSE(std::signbit(tacit::detail::subtract_up(x, x)));
    CHECK_FALSE(std::signbit(tacit::detail::add_down(x, -x)));
  }
}

TEST_CASE("neighbouring doubles are those of nextafter", "[rounded]") {
  for (double const x : corners()) {
    CHECK(next_up(x) == std::nextafter(x, infinity));
    CHECK(next_down(x) == std::nextafter(x, -infinity));
    CHECK(next_up(x, 5) ==
          std::nextafter(std::nextafter(std::nextafter(next_up(next_up(x)), infinity), infinity),
                         infinity));
  }
  CHECK(next_up(-0.0) == least);
  CHECK(next_up(infinity) == infinity);
  CHECK(next_down(infinity) == largest_double);
  CHECK(next_up(-infinity) == -largest_double);
  CHECK(std::isnan(next_up(not_a_number)));
}

TEST_CASE("directed sums and differences are the neighbours of the exact ones", "[rounded][long]") {
  verdict sum;
  verdict difference;
  int asymmetric = 0;
  over_pairs([&](double a, double b) {
    wide const truth = wide(a) + wide(b);
    double const up = add_up(a, b);
    sum.up(up, wide(up) == truth, [&](double x) { return wide(x) < truth; });
    asymmetric += add_down(-a, -b) != -up || subtract_up(a, -b) != up;
    wide const other = wide(b) - wide(a);
    double const mirrored = -subtract_down(a, b);
    difference.up(mirrored, wide(mirrored) == other, [&](double x) { return wide(x) < other; });
  });
  CHECK(sum.wrong_side == 0);
  CHECK(sum.not_tight == 0);
  CHECK(sum.rounded > 10'000);
  CHECK(difference.wrong_side == 0);
  CHECK(difference.not_tight == 0);
  CHECK(asymmetric == 0);

  CHECK(add_up(largest_double, largest_double) == infinity);
  CHECK(add_down(largest_double, largest_double) == largest_double);
  CHECK(add_up(-largest_double, -largest_double) == -largest_double);
  CHECK(add_up(-infinity, 1.0) == -infinity);
  CHECK(add_down(infinity, 1.0) == infinity);
  CHECK(std::isnan(add_up(infinity, -infinity)));
}

TEST_CASE("directed products are the neighbours of the exact ones", "[rounded][long]") {
  verdict product;
  int asymmetric = 0;
  over_pairs([&](double a, double b) {
    wide const truth = wide(a) * wide(b);
    double const up = multiply_up(a, b);
    product.up(up, wide(up) == truth, [&](double x) { return wide(x) < truth; });
    asymmetric += multiply_down(-a, b) != -up || multiply_up(b, a) != up;
  });
  CHECK(product.wrong_side == 0);
  CHECK(product.not_tight == 0);
  CHECK(product.rounded > 10'000);
  CHECK(asymmetric == 0);

  CHECK(multiply_up(least, 0.25) == least);
  CHECK(multiply_down(least, 0.25) == 0.0);
  CHECK(multiply_up(least, -0.25) == 0.0);
  CHECK(multiply_down(1e200, 1e200) == largest_double);
  CHECK(multiply_up(1e200, 1e200) == infinity);
  CHECK(multiply_down(infinity, 2.0) == infinity);
}

TEST_CASE("directed quotients are the neighbours of the exact ones", "[rounded][long]") {
  verdict quotient;
  int asymmetric = 0;
  over_pairs([&](double a, double b) {
    if (b == 0.0) return;
    // x < a/b by x·b against a: a quotient of doubles need not be a finite binary number.
    auto const below = [&](double x) {
      wide const product = wide(x) * wide(b);
      return b > 0.0 ? product < wide(a) : product > wide(a);
    };
    double const up = divide_up(a, b);
    quotient.up(up, std::isfinite(up) && wide(up) * wide(b) == wide(a), below);
    asymmetric += divide_down(-a, b) != -up || divide_up(-a, -b) != up;
  });
  CHECK(quotient.wrong_side == 0);
  CHECK(quotient.not_tight == 0);
  CHECK(quotient.rounded > 10'000);
  CHECK(asymmetric == 0);

  CHECK(divide_up(least, 4.0) == least);
  CHECK(divide_down(least, 4.0) == 0.0);
  CHECK(divide_down(largest_double, 0.5) == largest_double);
  CHECK(divide_up(1.0, infinity) == 0.0);
}

TEST_CASE("directed roots are the neighbours of the exact ones", "[rounded][long]") {
  verdict up;
  verdict down;
  auto const use = [&](double x) {
    if (!(x >= 0.0)) return;
    double const above = sqrt_up(x);
    double const below = sqrt_down(x);
    bool const is_exact = wide(above) * wide(above) == wide(x);
    auto const root_above = [&](double r) { return r < 0.0 || wide(r) * wide(r) < wide(x); };
    up.up(above, is_exact, root_above);
    down.wrong_side += wide(below) * wide(below) > wide(x);
    down.not_tight += is_exact ? below != above : below != next_down(above);
  };
  for (double const x : corners()) {
    use(x);
    if (std::abs(x) < 1e150) {
      use(x * x);
      use(next_up(x * x));
      use(next_down(x * x));
    }
  }
  std::mt19937_64 random(8);
  for (int k = 0; k < 20'000; ++k) use(std::abs(any_double(random)));
  CHECK(up.wrong_side == 0);
  CHECK(up.not_tight == 0);
  CHECK(up.rounded > 10'000);
  CHECK(down.wrong_side == 0);
  CHECK(down.not_tight == 0);
  CHECK(sqrt_up(infinity) == infinity);
}

TEST_CASE("a product that is fused into a sum does not spoil its direction", "[rounded]") {
  // Compiled with -march=native -ffp-contract=fast an add_up that trusts its operands would see
  // x·y + z in one place and the rounded x·y in another.
  std::mt19937_64 random(9);
  std::normal_distribution<double> gauss;
  int wrong = 0;
  for (int k = 0; k < 20'000; ++k) {
    double const x = gauss(random);
    double const y = gauss(random);
    double const z = gauss(random);
    double const volatile product = x * y;
    wide const truth = wide(product) + wide(z);
    wrong += wide(add_up(x * y, z)) < truth || wide(add_down(x * y, z)) > truth;
    wrong += wide(next_down(add_up(x * y, z))) >= truth;
  }
  CHECK(wrong == 0);
}

TEST_CASE("counts above 2^53 as doubles on either side", "[rounded]") {
  for (std::uint64_t const n :
       {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 53) + 1,
        (std::uint64_t{1} << 53) + 3, (std::uint64_t{1} << 63) + 1, ~std::uint64_t{0},
        ~std::uint64_t{0} - 1023, ~std::uint64_t{0} - 1024}) {
    CHECK(wide(count_down(n)) <= wide(n));
    CHECK(wide(count_up(n)) >= wide(n));
    CHECK((count_up(n) == count_down(n) || count_up(n) == next_up(count_down(n))));
    CHECK((count_up(n) == count_down(n)) == (wide(count_up(n)) == wide(n)));
  }
}

TEST_CASE("an exact sum does not show how it was split", "[rounded]") {
  std::mt19937_64 random(10);
  std::uniform_real_distribution<double> exponent(-280.0, 280.0);
  std::uniform_int_distribution<std::uint64_t> counts(1, ~std::uint64_t{0} >> 4);
  for (int run = 0; run < 200; ++run) {
    exact_sum at_once;
    exact_sum in_groups;
    wide truth = 0;
    double const spread = run % 2 == 0 ? 1.0 : 0.02;
    for (int k = 0; k < 8; ++k) {
      double const x = std::pow(10.0, spread * exponent(random));
      std::uint64_t const count = counts(random);
      std::uint64_t const first = count / (2 + static_cast<std::uint64_t>(k));
      at_once.add(x, count);
      in_groups.add(x, first);
      in_groups.add(x, count - first - 1);
      in_groups.add(x);
      truth += wide(x) * wide(count);
    }
    enclosure const found = at_once.value();
    CHECK(wide(found.lower) <= truth);
    CHECK(wide(found.upper) >= truth);
    CHECK(found.upper <= next_up(found.lower));
    CHECK(in_groups.value().lower == found.lower);
    CHECK(in_groups.value().upper == found.upper);
  }
}

TEST_CASE("exact sums at the ends of the range", "[rounded]") {
  exact_sum nothing;
  CHECK(nothing.value().upper == 0.0);
  nothing.add(1.0, 0);
  nothing.add(0.0, 5);
  CHECK(nothing.value().upper == 0.0);

  exact_sum small;
  for (int k = 0; k < 10; ++k) small.add(least);
  CHECK(small.value().lower == 10.0 * least);
  CHECK(small.value().upper == 10.0 * least);
  small.add(next_up(0x1p-1000), 1'000'003);
  wide const truth = wide(10.0 * least) + wide(next_up(0x1p-1000)) * 1'000'003;
  CHECK(wide(small.value().lower) <= truth);
  CHECK(wide(small.value().upper) >= truth);

  exact_sum large;
  large.add(largest_double);
  CHECK(large.value().upper == largest_double);
  large.add(0x1p900);
  CHECK(large.value().lower == largest_double);
  large.add(largest_double);
  CHECK(large.value().upper == infinity);
  CHECK(large.value().lower >= 0x1p1023);

  exact_sum mixed;  // what a plain sum loses: 200,000 times 1e-16 beside 1
  mixed.add(1.0);
  for (int k = 0; k < 200'000; ++k) mixed.add(1e-16);
  CHECK(wide(mixed.value().lower) <= wide(1) + wide(1e-16) * 200'000);
  CHECK(wide(mixed.value().upper) >= wide(1) + wide(1e-16) * 200'000);
  CHECK(mixed.value().width() < 3e-16);
}

TEST_CASE("enclosures hold what a formula is worth", "[rounded][slow]") {
  std::mt19937_64 random(11);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> share(0.0, 1.0);
  int outside = 0;
  double widest = 0.0;
  auto const check = [&](enclosure found, exact const& truth) {
    outside += !(exact(found.lower) <= truth && truth <= exact(found.upper));
  };
  auto const between = [&](enclosure x) -> exact {
    return exact(x.lower) + (exact(x.upper) - exact(x.lower)) * share(random);
  };
  for (int k = 0; k < 5000; ++k) {
    double const scale = std::pow(10.0, 3.0 * gauss(random));
    double const a = scale * gauss(random);
    double const b = gauss(random);
    enclosure const x(std::min(a, b), std::max(a, b));
    double const c = gauss(random);
    enclosure const y(c, c + share(random));
    exact const s = between(x);
    exact const t = between(y);
    check(x + y, s + t);
    check(x - y, s - t);
    check(x * y, s * t);
    check(-x, -s);
    check(square(x), s * s);
    check(hull(x, y), t);
    check(max(x, y), s < t ? t : s);
    check(min(x, y), s < t ? s : t);
    if (!y.holds(0.0)) check(x / y, s / t);
    if (x.lower >= 0.0) check(sqrt(x), sqrt(s));
    enclosure const u(b, b + 1e-3 * share(random));
    exact const v = between(u);
    check(exp(u), exp(v));
    check(expm1(u), boost::multiprecision::expm1(v));
    check(tanh(u), tanh(v));
    check(exp_residual(u), boost::multiprecision::expm1(v) - v);
    check(erfc(u), erfc(v));
    if (u.lower > 0.0) check(log(u), log(v));
    if (u.lower > -1.0) check(log1p(u), boost::multiprecision::log1p(v));
    enclosure const point = exp(enclosure(b)) / (enclosure(1.0) + exp(enclosure(-b)));
    widest = std::max(widest, point.width() / point.upper);
  }
  CHECK(outside == 0);
  CHECK(widest < 1e-14);
}

TEST_CASE("enclosures of the elementary functions", "[rounded][slow]") {
  // 40,000 arguments of each function against 50 digits, at all scales and where they change sign.
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> exponent(-18.0, 2.8);
  int outside = 0;
  auto const check = [&](enclosure found, exact const& truth) {
    outside += !(exact(found.lower) <= truth && truth <= exact(found.upper));
  };
  for (int k = 0; k < 10'000; ++k) {
    double const size = std::pow(10.0, exponent(random));
    for (double const x : {size, -size, 1.0 + size, 1.0 - std::min(size, 0.99)}) {
      exact const t = x;
      check(within_steps(elementary::exp(x), elementary::exp_steps), exp(t));
      check(within_steps(elementary::expm1(x), elementary::expm1_steps),
            boost::multiprecision::expm1(t));
      if (x > 0.0) check(within_steps(elementary::log(x), elementary::log_steps), log(t));
      if (x > -1.0) {
        check(within_steps(elementary::log1p(x), elementary::log1p_steps),
              boost::multiprecision::log1p(t));
      }
      check(exp(enclosure(x)), exp(t));
      check(expm1(enclosure(x)), boost::multiprecision::expm1(t));
      check(tanh(enclosure(x)), tanh(t));
      enclosure const residual = exp_residual(enclosure(x));
      // Near 0 the referee is the series: 50 digits are not enough for a difference.
      check(residual, size < 1e-6 && std::abs(x) == size
                          ? exact(t * t * (1 + t / 3 * (1 + t / 4 * (1 + t / 5))) / 2)
                          : exact(boost::multiprecision::expm1(t) - t));
      if (x > 0.0) check(log(enclosure(x)), log(t));
      if (x > -1.0) check(log1p(enclosure(x)), boost::multiprecision::log1p(t));
      if (std::abs(x) < 27.0 && k % 10 == 0) check(erfc(enclosure(x)), erfc(t));
    }
  }
  CHECK(outside == 0);
  CHECK(exp_residual(enclosure(1e-8)).width() < 1e-14 * exp_residual(enclosure(1e-8)).upper);
  CHECK(exp_residual(enclosure(-0.5)).width() < 1e-14 * exp_residual(enclosure(-0.5)).upper);
}

TEST_CASE("enclosures at the ends of the range", "[rounded]") {
  auto const same = [](enclosure x, double lower, double upper) {
    CHECK(x.lower == lower);
    CHECK(x.upper == upper);
  };
  same(enclosure(not_a_number), -infinity, infinity);
  same(enclosure(1.0) / enclosure(-1.0, 1.0), -infinity, infinity);
  same(enclosure(0.0) * enclosure(0.0, infinity), 0.0, 0.0);
  same(enclosure(infinity) - enclosure(infinity), -infinity, infinity);
  same(sqrt(enclosure(-2.0, -1.0)), -infinity, infinity);
  same(sqrt(enclosure(-1.0, 4.0)), 0.0, 2.0);
  same(exp(enclosure(0.0)), 1.0, 1.0);
  same(expm1(enclosure(0.0)), 0.0, 0.0);
  same(log(enclosure(1.0)), 0.0, 0.0);
  same(log1p(enclosure(0.0)), 0.0, 0.0);
  same(tanh(enclosure(0.0)), 0.0, 0.0);
  CHECK(exp(enclosure(-infinity, -800.0)).lower == 0.0);
  CHECK(exp(enclosure(-800.0)).upper > 0.0);
  CHECK(exp(enclosure(800.0)).lower < infinity);
  CHECK(exp(enclosure(800.0)).upper == infinity);
  CHECK(expm1(enclosure(-infinity, 0.0)).lower == -1.0);
  CHECK(log(enclosure(-1.0, 1.0)).lower == -infinity);
  CHECK(log(enclosure(-2.0, -1.0)).upper == infinity);  // no value: everything
  CHECK(log1p(enclosure(-1.0, 0.0)).lower == -infinity);
  CHECK(tanh(enclosure(1e-300)).upper <= 1e-300);
  CHECK(tanh(enclosure(50.0)).upper == 1.0);
  CHECK(erfc(enclosure(-30.0)).upper == 2.0);
  CHECK(erfc(enclosure(40.0)).lower == 0.0);
  CHECK(erfc(enclosure(40.0)).upper > 0.0);
}
