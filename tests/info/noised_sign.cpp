// SPDX-License-Identifier: Apache-2.0
//
// What a noised sign tells about a bit behind it, against its definition in 50 digits: differences of
// entropies of Y by Gauss's rule, which share neither the formula nor the nodes.
#include <tacit/core/log.hpp>
#include <tacit/info/binary_channel.hpp>
#include <tacit/info/noised_sign.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <boost/math/quadrature/gauss.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

using support::exact;
using tacit::bit_and_sign;
using tacit::noised_sign;

/// −∫ f log f of the mixture with these masses.
exact entropy_of_mixture(exact const& plus, exact const& minus, exact const& sigma) {
  auto const integrand = [&](exact const& y) -> exact {
    exact const a = (y - 1) / sigma;
    exact const b = (y + 1) / sigma;
    exact const f = (plus * exp(exact(-a * a / 2)) + minus * exp(exact(-b * b / 2))) /
                    (sigma * sqrt(exact(8 * atan(exact(1)))));
    return f > 0 ? exact(-f * log(f)) : exact(0);
  };
  // Nearest branch points are 1.57 standard deviations away: pieces of one leave an error of 1e-48.
  exact const end = 1 + 14 * sigma;
  int const pieces = static_cast<int>(exact(2 * end / sigma).convert_to<double>()) + 1;
  exact sum = 0;
  for (int k = 0; k < pieces; ++k) {
    exact const low = -end + 2 * end * k / pieces;
    exact const high = -end + 2 * end * (k + 1) / pieces;
    sum += boost::math::quadrature::gauss<exact, 30>::integrate(integrand, low, high);
  }
  return sum;
}

exact information_of(bit_and_sign const& law, double sigma) {
  exact const total = exact(law.one_plus) + law.one_minus + law.zero_plus + law.zero_minus;
  exact const one = (exact(law.one_plus) + law.one_minus) / total;
  exact const plus = (exact(law.one_plus) + law.zero_plus) / total;
  exact const plus_in_one = law.one_plus / (total * one);
  exact const plus_in_zero = law.zero_plus / (total * (1 - one));
  return entropy_of_mixture(plus, 1 - plus, sigma) -
         one * entropy_of_mixture(plus_in_one, 1 - plus_in_one, sigma) -
         (1 - one) * entropy_of_mixture(plus_in_zero, 1 - plus_in_zero, sigma);
}

noised_sign seen(bit_and_sign const& law, double sigma) {
  return {law.one_plus + law.zero_plus, law.one_minus + law.zero_minus, sigma};
}

/// P(U = 1) = u, P(S = +) = plus, and cov(U, S)/2 = `lean` of the most that the two allow.
bit_and_sign joined(double u, double plus, double lean) {
  double const most = lean > 0.0 ? std::min(u * (1.0 - plus), (1.0 - u) * plus)
                                 : std::min(u * plus, (1.0 - u) * (1.0 - plus));
  double const c = lean * most;
  return {u * plus + c, std::max(u * (1.0 - plus) - c, 0.0), std::max((1.0 - u) * plus - c, 0.0),
          (1.0 - u) * (1.0 - plus) + c};
}

/// I(U; S) of the sign itself.
exact bare(bit_and_sign const& law) {
  exact const total = exact(law.one_plus) + law.one_minus + law.zero_plus + law.zero_minus;
  exact const one = (exact(law.one_plus) + law.one_minus) / total;
  exact const plus = (exact(law.one_plus) + law.zero_plus) / total;
  exact sum = 0;
  for (auto const& [both, u, s] : {std::array<exact, 3>{law.one_plus / total, one, plus},
                                   {law.one_minus / total, one, 1 - plus},
                                   {law.zero_plus / total, 1 - one, plus},
                                   {law.zero_minus / total, 1 - one, 1 - plus}}) {
    if (both > 0) sum += both * log(exact(both / (u * s)));
  }
  return sum;
}

}  // namespace

TEST_CASE("what a noised sign tells about a bit behind it is the integral, from above",
          "[noised_sign][slow]") {
  int below = 0;
  double most_above = 0.0;
  double most_relative = 0.0;
  std::vector<bit_and_sign> const laws{
      joined(0.5, 0.5, 1.0),   joined(0.5, 0.5, 0.3),     joined(0.5, 0.5, -1e-4),
      joined(0.01, 0.4, 1.0),  joined(0.3, 1e-3, -1.0),   joined(0.25, 0.9, 0.99),
      joined(0.5, 1e-9, -0.5), joined(1e-6, 1e-6, 1.0),   joined(0.4, 1e-12, 1.0),
      joined(0.5, 0.5, 1e-8),  joined(0.999, 0.02, 0.01), {0.25, 0.0, 0.25, 0.5},
  };
  for (double const sigma : {0.1539, 0.6, 1.7, 150.0}) {
    for (bit_and_sign const& law : laws) {
      exact const truth = information_of(law, sigma);
      double const priced = seen(law, sigma).information(law);
      CAPTURE(sigma, law.one_plus, law.one_minus, law.zero_plus, law.zero_minus, priced);
      below += exact(priced) < truth;
      most_above = std::max(most_above, exact(priced - truth).convert_to<double>());
      exact const allowed = exact(4e-12) * truth + exact(7e-13) * sqrt(truth) + exact(2e-20);
      CHECK(exact(priced) - truth <= allowed);
      if (truth > 1e-6) {
        most_relative = std::max(most_relative, exact(priced / truth - 1).convert_to<double>());
      }
    }
  }
  CHECK(below == 0);
  CHECK(most_above < 1e-11);
  CHECK(most_relative < 2e-9);
}

TEST_CASE("a small gap keeps its digits", "[noised_sign][slow]") {
  // I is 1e-20 and less, a difference of entropies of order 1.
  for (double const sigma : {0.7, 20.0}) {
    for (double const lean : {1e-7, -1e-9}) {
      bit_and_sign const law = joined(0.3, 0.4, lean);
      exact const truth = information_of(law, sigma);
      double const priced = seen(law, sigma).information(law);
      CAPTURE(sigma, lean, priced);
      CHECK(exact(priced) >= truth);
      CHECK(exact(priced) - truth <=
            exact(4e-12) * truth + exact(7e-13) * sqrt(truth) + exact(2e-20));
    }
  }
}

TEST_CASE("a bit that is the sign hears what the binary channel says", "[noised_sign]") {
  for (double const q : {0.5, 0.3, 1e-3, 1e-9}) {
    for (double const sigma : {0.155, 0.4, 1.0, 3.0, 40.0, 1e4, 1e8}) {
      bit_and_sign const law{q, 0.0, 0.0, 1.0 - q};
      double const truth = mutual_information(tacit::binary_channel{.prior = q, .sigma = sigma});
      double const priced = seen(law, sigma).information(law);
      CAPTURE(q, sigma, truth, priced);
      CHECK(priced >= truth * (1.0 - 1e-13));
      CHECK(priced <= truth * (1.0 + 5e-12) + 7e-13 * std::sqrt(truth) + 1e-19);
    }
  }
}

TEST_CASE("with next to no noise the price is that of the sign", "[noised_sign]") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform;
  for (int run = 0; run < 200; ++run) {
    bit_and_sign const law = joined(uniform(random), uniform(random), 2.0 * uniform(random) - 1.0);
    exact const all = bare(law);
    double const clear = seen(law, 0.0).information(law);
    CHECK(exact(clear) >= all);
    CHECK(exact(clear) <= all * (1 + exact(4e-12)) + exact(7e-13) * sqrt(all) + exact(1e-23));
    CHECK(seen(law, 0.15).information(law) == clear);
    // Just above, the integral differs by less than the sign's equivocation.
    double const nearly = seen(law, 0.1539).information(law);
    CHECK(nearly <= clear + 1e-15);
    CHECK(nearly >= clear - 2e-10);
  }
}

TEST_CASE("more noise tells less, and never more than the contracted share of the sign",
          "[noised_sign]") {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> uniform;
  double tightest = 0.0;
  for (int run = 0; run < 300; ++run) {
    double const u = std::pow(uniform(random), 1 + run % 4);
    double const plus = std::pow(uniform(random), 1 + run % 7);
    double const lean = (run % 2 == 0 ? 1.0 : 0.01) * (2.0 * uniform(random) - 1.0);
    bit_and_sign const law = joined(u, plus, lean);
    double before = seen(law, 0.0).information(law);
    double const whole = before;
    for (double sigma = 0.1; sigma < 1e7; sigma *= 1.7) {
      double const now = seen(law, sigma).information(law);
      CAPTURE(run, sigma, now, before);
      CHECK(now <= before * (1.0 + 5e-12) + 1e-19);
      CHECK(now <=
            tacit::gaussian_contraction(sigma) * whole * (1.0 + 1e-11) + 2e-12 * std::sqrt(now));
      tightest = std::max(tightest, now / (tacit::gaussian_contraction(sigma) * whole));
      before = now;
    }
    CHECK(seen(law, infinity).information(law) == 0.0);
    CHECK(seen(law, 1e200).information(law) > 0.0);
  }
  CHECK(tightest > 0.99);
}

TEST_CASE("the price covers what is not known about the masses", "[noised_sign]") {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform;
  int below = 0;
  int compared = 0;
  for (int run = 0; run < 2000; ++run) {
    double const error = std::pow(10.0, -10.0 + 5.5 * uniform(random));
    bit_and_sign const law = joined(std::pow(uniform(random), 3), std::pow(uniform(random), 3),
                                    run % 2 == 0 ? 1.0 : 2.0 * uniform(random) - 1.0);
    double const sigma = std::pow(10.0, -0.7 + 2.0 * uniform(random));
    auto const moved = [&](double mass) {
      return mass * (1.0 + error * (uniform(random) < 0.5 ? -0.49 : 0.49));
    };
    bit_and_sign const other{moved(law.one_plus), moved(law.one_minus), moved(law.zero_plus),
                             moved(law.zero_minus)};
    double const plus = other.one_plus + other.zero_plus;
    double const minus = other.one_minus + other.zero_minus;
    noised_sign const of_other(plus / (plus + minus), minus / (plus + minus), sigma);
    double const priced = of_other.information(other, error);
    double const truth = seen(law, sigma).information(law);
    below += priced < truth * (1.0 - 5e-12) - 1e-12 * std::sqrt(truth);
    double const width = error * (truth + std::sqrt(truth));
    CHECK(priced <=
          truth + 10.0 * width + 600.0 * error * error + 1e-22 + 1e-12 * std::sqrt(truth));
    ++compared;
  }
  CHECK(compared == 2000);
  CHECK(below == 0);
}

TEST_CASE("a bit or a sign that is certain tells nothing", "[noised_sign]") {
  for (double const sigma : {0.0, 0.5, 3.0}) {
    CHECK(noised_sign(1.0, 0.0, sigma).information({0.5, 0.0, 0.5, 0.0}) <= 1e-200);
    CHECK(noised_sign(0.4, 0.6, sigma).information({0.4, 0.6, 0.0, 0.0}) <= 1e-200);
    CHECK(noised_sign(0.4, 0.6, sigma).information({1e-300, 0.0, 0.4, 0.6}) > 0.0);
    // Independent.
    CHECK(noised_sign(0.25, 0.75, sigma).information({0.125, 0.375, 0.125, 0.375}) <= 1e-22);
  }
}

TEST_CASE("a bit that is independent of the rarest sign tells nothing", "[noised_sign]") {
  // Powers of the widest ratio of densities overflow.
  for (double const plus : {1e-200, 1e-160, 1e-154, 1e-100}) {
    for (double const sigma : {0.16, 0.2, 0.5, 1.0}) {
      CAPTURE(plus, sigma);
      CHECK(noised_sign(plus, 1.0, sigma).information({0.5 * plus, 0.5, 0.5 * plus, 0.5}) <= 1e-22);
    }
  }
}

TEST_CASE("masses of any sum stand for their shares", "[noised_sign]") {
  bit_and_sign const law{0.375, 0.125, 0.0625, 0.4375};
  for (double const sigma : {0.0, 0.5, 3.0, 1e6}) {
    noised_sign const of(0.4375, 0.5625, sigma);
    double const price = of.information(law);
    for (double const scale : {0x1p-1000, 0x1p-20, 2.0, 0x1p1000}) {
      CHECK(of.information({scale * law.one_plus, scale * law.one_minus, scale * law.zero_plus,
                            scale * law.zero_minus}) == price);
    }
  }
}

TEST_CASE("a noised sign refuses what is out of range", "[noised_sign]") {
  CHECK(tacit::gaussian_contraction(0.0) == 1.0);
  CHECK(tacit::gaussian_contraction(1.0) == 1.0);
  CHECK(tacit::gaussian_contraction(infinity) == 0.0);
  CHECK(tacit::gaussian_contraction(1e300) > 0.0);
  CHECK(tacit::gaussian_contraction(2.0) >= 0.25);
  CHECK_THROWS_AS(tacit::gaussian_contraction(-1.0), std::domain_error);
  CHECK_THROWS_AS(tacit::gaussian_contraction(not_a_number), std::domain_error);
  CHECK_THROWS_AS(noised_sign(0.5, 0.6, 1.0), std::domain_error);
  CHECK_THROWS_AS(noised_sign(-0.1, 1.1, 1.0), std::domain_error);
  CHECK_THROWS_AS(noised_sign(not_a_number, 0.5, 1.0), std::domain_error);
  CHECK_THROWS_AS(noised_sign(0.5, 0.5, -1.0), std::domain_error);
  CHECK_THROWS_AS(noised_sign(0.5, 0.5, not_a_number), std::domain_error);
  noised_sign const fair(0.5, 0.5, 1.0);
  CHECK_THROWS_AS(fair.information({}), std::domain_error);
  CHECK_THROWS_AS(fair.information({-0.1, 0.6, 0.5, 0.0}), std::domain_error);
  CHECK_THROWS_AS(fair.information({0.0, 0.0, 0.0, 0.0}), std::domain_error);
  CHECK_THROWS_WITH(fair.information({1e308, 0.0, 0.0, 1e308}),
                    "noised_sign: sum of masses is inf, but must be positive and finite");
  CHECK_THROWS_AS(fair.information({0.25, 0.25, 0.25, 0.25}, -1.0), std::domain_error);
  CHECK_THROWS_AS(fair.information({0.25, 0.25, 0.25, 0.25}, not_a_number), std::domain_error);
}
