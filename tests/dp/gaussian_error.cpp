// SPDX-License-Identifier: Apache-2.0
// What docs/certificates/gaussian.md proves of R(b) − R(c), at points: the same template in a type that carries a
// bound on the rounding error of each number along. It takes errors that cancel for independent, such as that
// of e^κμ − 1 above and below the pole's quotient, and so exceeds what is proved where μ is large.
#include <tacit/core/enclosure.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/dp/gaussian_profile.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>

namespace {

constexpr double unit = 0x1p-53;

/// What a double run computes, and how far that may be from the truth.
struct counted {
  double value = 0.0;
  double error = 0.0;

  counted() = default;
  counted(double x) : value(x) {}
  counted(double x, double e) : value(x), error(e * (1.0 + 1e-12)) {}

  friend counted operator-(counted const& x) { return {-x.value, x.error}; }
  friend counted operator+(counted const& x, counted const& y) {
    double const sum = x.value + y.value;
    return {sum, x.error + y.error + unit * std::abs(sum)};
  }
  friend counted operator-(counted const& x, counted const& y) { return x + -y; }
  friend counted operator*(counted const& x, counted const& y) {
    double const product = x.value * y.value;
    return {product, x.error * std::abs(y.value) + y.error * std::abs(x.value) + x.error * y.error +
                         unit * std::abs(product)};
  }
  friend counted operator/(counted const& x, counted const& y) {
    double const quotient = x.value / y.value;
    double const least = std::abs(y.value) - y.error;
    return {quotient, (x.error + std::abs(quotient) * y.error) / least + unit * std::abs(quotient)};
  }
  friend auto operator<=>(counted const& x, counted const& y) { return x.value <=> y.value; }
  [[maybe_unused]] friend bool operator==(counted const& x, counted const& y) {
    return x.value == y.value;
  }
};

// An elementary function at x: function_units·u of the result, and the slope times the error of x.
counted elementary(double value, double slope, double error) {
  return {value,
          tacit::detail::function_units * unit * std::abs(value) + slope * error * std::exp(error)};
}
counted exp(counted const& x) {
  double const y = std::exp(x.value);
  return elementary(y, y, x.error);
}
counted expm1(counted const& x) {
  return elementary(std::expm1(x.value), std::exp(x.value), x.error);
}

}  // namespace

template <>
class std::numeric_limits<counted> : public std::numeric_limits<double> {
 public:
  static counted epsilon() { return counted(std::numeric_limits<double>::epsilon()); }
  static counted infinity() { return counted(std::numeric_limits<double>::infinity()); }
  static counted max() { return counted(std::numeric_limits<double>::max()); }
};

static_assert(tacit::real<counted>);

TEST_CASE("rounding takes no more from a difference of Mills ratios than is stated", "[dp]") {
  double worst = 0.0;
  double largest = 0.0;
  double where_b = 0.0;
  double where_mu = 0.0;
  for (double b = -0.999; b < 40.0; b += b < 12.0 ? 0.01 : 0.7) {
    for (double log_mu = -12.0; log_mu <= 4.0; log_mu += 0.05) {
      double const mu = std::pow(10.0, log_mu);
      double const epsilon = mu * (b + 0.5 * mu);
      if (!(epsilon >= 0.0)) continue;
      auto const found = tacit::detail::difference_of_mills<counted>(
          counted(b), counted(b) + counted(mu), counted(mu), counted(epsilon));
      // φ(b)·smooth + pole, over φ(b).
      double const over = std::exp(0.5 * b * b) * std::sqrt(2.0 * 3.141592653589793);
      double const scale = found.pole.value > 0.0 ? over : 0.0;
      double const value = found.smooth.value + scale * found.pole.value;
      // 2π and √2π are doubles, too.
      double const error =
          found.smooth.error + 3.0 * unit * std::abs(found.smooth.value) + scale * found.pole.error;
      if (error / value > worst) {
        worst = error / value;
        where_b = b;
        where_mu = mu;
      }
      largest =
          std::max(largest, (std::abs(found.smooth.value) + scale * found.pole.value) / value);
    }
  }
  INFO("worst " << worst * 1e14 << "e-14 at b " << where_b << ", mu " << where_mu << "; largest "
                << largest);
  CHECK(worst < 5.8e-14);  // 4.22e-14 is proved
  CHECK(worst > 1e-14);    // else nothing was counted
  CHECK(largest < 12.6);
}
