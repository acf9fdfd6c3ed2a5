// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/sum.hpp>
#include <tacit/dp/loss.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

using namespace tacit::detail;
using support::exact;
using support::relative;

namespace {

struct part {
  double weight;
  double shift;
};

exact plain_ratio(std::vector<part> const& parts, double rest, double x) {
  exact sum(rest);
  for (part const& p : parts) {
    exact const shift(p.shift);
    sum += exact(p.weight) * exp(exact(shift * (exact(x) - shift / 2)));
  }
  return sum;
}

}  // namespace

TEMPLATE_TEST_CASE("a sampled loss is good to a few ulp, and comes back", "[dp][loss]", float,
                   double, long double) {
  using T = TestType;
  T const unit = std::numeric_limits<T>::epsilon();
  for (double const l :
       {-1e5, -700.0, -60.0, -3.0,  -0.71, -0.7,  -0.01, -1e-12, 1e-30, 1e-9,   0.3, 1.0,
        30.0, 80.0,   95.0,  299.0, 301.0, 599.0, 601.0, 701.0,  720.0, 1430.0, 1e5}) {
    for (double const r : {1e-300, 1e-30, 1e-9, 0.01, 0.3, 0.5, 0.6, 0.999, 1.0}) {
      T const loss(static_cast<T>(l));
      T const rate(static_cast<T>(r));
      if (rate == T(0)) continue;
      CAPTURE(l, r);
      // log(1 + rate·(e^loss − 1)); beyond 50 digits' reach of 1 the logarithm of rate·e^loss.
      exact const grown = exact(rate) * expm1(exact(loss));
      exact const truth = rate == T(1) ? exact(loss) : exact(log1p(grown));
      T const found = sampled_loss(loss, rate);
      if (truth > exact(std::numeric_limits<T>::min()) || truth < -exact(unit)) {
        CHECK(relative(exact(found), truth) <= static_cast<double>(4 * unit));
      }
      T const back = unsampled_loss(found, rate);
      if (found > T(1) && truth > 1) {
        CHECK(relative(exact(back), exact(loss)) <= static_cast<double>(4 * unit) + 1e-300);
      }
    }
  }
  T const infinite = std::numeric_limits<T>::infinity();
  CHECK(sampled_loss(infinite, T(0.5)) == infinite);
  CHECK(sampled_loss(-infinite, T(0.5)) == std::log(T(0.5)));
  CHECK(sampled_loss(infinite, T(0)) == T(0));
  CHECK(unsampled_loss(infinite, T(0.5)) == infinite);
  CHECK(unsampled_loss(T(-1), T(0.5)) == -infinite);
  CHECK(unsampled_loss(T(30), std::numeric_limits<T>::min()) >
        -std::log(std::numeric_limits<T>::min()));
}

TEST_CASE("the likelihood ratio of a mixture follows 50 digits", "[dp][loss]") {
  struct mixture {
    std::vector<part> parts;
    double rest;
  };
  for (mixture const& m :
       {mixture{{{0.25, 1.0}}, 0.75}, mixture{{{1.0, 2.0}}, 0.0}, mixture{{{0x1p-900, 30.0}}, 1.0},
        mixture{{{0.5, 1.0}, {0.25, 2.0}, {0.25, 40.0}}, 0.0},
        mixture{{{0.5, 0.5}, {0.5 - 0x1p-40, 3.0}}, 0x1p-40}}) {
    for (double const x : {-300.0, -30.0, -2.0, 0.0, 0.3, 1.0, 4.0, 12.0, 30.0, 60.0, 400.0}) {
      CAPTURE(m.rest, m.parts.size(), x);
      auto const found = mixture_ratio(m.parts, m.rest, x);
      exact const truth = plain_ratio(m.parts, m.rest, x);
      // What the exponents' own rounding does, and a few ulp.
      double exponents = 0.0;
      for (part const& p : m.parts) exponents += p.shift * (std::abs(x) + p.shift);
      double const share = static_cast<double>((truth - exact(m.rest)) / truth);
      double const allowed = 4e-16 * (std::abs(found.log) + 4.0 * share * exponents) + 1e-300;
      CHECK(static_cast<double>(abs(exact(found.log) - log(truth))) <= allowed + 2e-32);
      if (found.mixed <= std::numeric_limits<double>::max() && found.excess > -0.5) {
        CHECK(relative(exact(1.0 + found.excess), truth) <= 4e-16 * (4.0 + 4.0 * exponents));
      }
    }
  }
}

TEST_CASE("the logarithm of a mixture's ratio errs by no more than is counted",
          "[dp][loss][long]") {
  std::mt19937_64 random(20261128);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  double worst = 0.0;
  for (int round = 0; round < 6000; ++round) {
    std::size_t const count = round % 3 == 0 ? 1 : 1 + random() % 24;
    double const decades = round % 2 == 0 ? 3.0 : 300.0;
    std::vector<part> parts;
    double weight = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
      double const rarity = unit(random);
      parts.push_back(
          {std::pow(10.0, -decades * rarity * rarity), std::pow(10.0, -4.0 + 6.0 * unit(random))});
      weight += parts.back().weight;
    }
    double const total = unit(random) < 0.2 ? 1.0 : unit(random);
    tacit::compensated_sum<double> left(1.0);
    exact all_left(1.0);
    double largest_shift = 0.0;
    for (part& p : parts) {
      p.weight *= total / weight * (1.0 - 1e-15);
      left += -p.weight;
      all_left -= exact(p.weight);
      largest_shift = std::max(largest_shift, p.shift);
    }
    double const rest = left.value();
    // Where likelihoods are near 1, of normal size, and far out.
    double const spread = unit(random) < 0.5 ? largest_shift : std::pow(10.0, 3.0 * unit(random));
    double const x = spread * (2.0 * unit(random) - 1.0);
    auto const found = mixture_ratio(parts, rest, x);
    exact truth = all_left;
    for (part const& p : parts) {
      exact const shift(p.shift);
      truth += exact(p.weight) * exp(exact(shift * (exact(x) - shift / 2)));
    }
    double const most = largest_shift * (std::abs(x) + largest_shift);
    double const units = log_units(found, rest, parts.size(), most, 2.0 * most);
    double const error = static_cast<double>(abs(exact(found.log) - log(truth)));
    CAPTURE(round, count, rest, x, found.log, units);
    CHECK(error <= units * 0x1p-53 + 1e-320);
    worst = std::max(worst, error / (units * 0x1p-53));
  }
  CHECK(worst > 0.01);  // and not by thousands
}

TEST_CASE("the logarithm of a mixture without rest, and its slope", "[dp][loss]") {
  std::vector<log_part> const parts{{std::log(0.25), 1.0}, {-800.0, 30.0}};
  for (double const x : {-40.0, 0.0, 2.0, 30.0, 60.0}) {
    auto const found = log_mixture(parts, x);
    double const step = 1e-5;
    double const rise = log_mixture(parts, x + step).value - log_mixture(parts, x - step).value;
    CHECK(found.slope == Approx(rise / (2.0 * step)).epsilon(1e-5));
    CHECK(found.value >= parts[0].log_weight + x - 0.5);
  }
}
