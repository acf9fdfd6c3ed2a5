// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

/// Decimal text that keeps the side of a bound: `printf` rounds to nearest, so that an upper bound may be
/// printed below the truth.

namespace tacit {

namespace detail {

/// x in at most `digits` significant digits, in the style of printf's %g; a digit that is dropped rounds the
/// magnitude up if `away`, and down if not.
[[nodiscard]] inline std::string decimal(double x, int digits, bool away) {
  if (!std::isfinite(x) || x == 0.0)
    return std::isnan(x) ? "nan" : x == 0.0 ? "0" : x < 0.0 ? "-inf" : "inf";
  // A double has at most 767 significant digits: this is its exact value.
  char exact[800];
  std::snprintf(exact, sizeof exact, "%.766e", std::abs(x));
  std::string const text = exact;
  std::size_t const e = text.find('e');
  int exponent = static_cast<int>(std::strtol(text.c_str() + e + 1, nullptr, 10));
  auto const kept = static_cast<std::size_t>(digits);
  std::string mantissa;  // without the decimal point, which the locale chooses
  for (char const c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') mantissa.push_back(c);
  }
  bool const exactly = mantissa.find_first_not_of('0', kept) == std::string::npos;
  mantissa.resize(kept);
  if (away && !exactly) {
    std::size_t k = kept;
    while (k > 0 && mantissa[k - 1] == '9') mantissa[--k] = '0';
    if (k > 0) {
      ++mantissa[k - 1];
    } else {  // 9.99… became 10
      mantissa.insert(0, 1, '1');
      mantissa.pop_back();
      ++exponent;
    }
  }
  mantissa.erase(mantissa.find_last_not_of('0') + 1);
  std::string const sign = x < 0.0 ? "-" : "";
  if (exponent < -4 || exponent >= digits) {
    if (mantissa.size() > 1) mantissa.insert(1, 1, '.');
    std::string const power = std::to_string(std::abs(exponent));
    return sign + mantissa + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
  }
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + mantissa;
  auto const whole = static_cast<std::size_t>(exponent) + 1;
  if (mantissa.size() <= whole) return sign + mantissa + std::string(whole - mantissa.size(), '0');
  return sign + mantissa.insert(whole, 1, '.');
}

inline void check_digits(char const* function, int digits) {
  require_argument(digits >= 1 && digits <= 767, function, "digits", digits, "in [1, 767]");
}

}  // namespace detail

/// x in at most `digits` significant digits, as printf's %g writes them. Guarantee: the decimal number is
/// ≥ x, and less than one unit of its last digit above.
/// @throws std::invalid_argument for digits outside [1, 767]
[[nodiscard]] inline std::string rounded_up(double x, int digits = 6) {
  detail::check_digits("rounded_up", digits);
  return detail::decimal(x, digits, x > 0.0);
}

/// The same from below. Guarantee: ≤ x.
[[nodiscard]] inline std::string rounded_down(double x, int digits = 6) {
  detail::check_digits("rounded_down", digits);
  return detail::decimal(x, digits, x < 0.0);
}

/// `[lower, upper]`, rounded outwards: what is printed encloses the bound.
[[nodiscard]] inline std::string to_string(bound<double> const& x, int digits = 6) {
  return "[" + rounded_down(x.lower, digits) + ", " + rounded_up(x.upper, digits) + "]";
}

}  // namespace tacit
