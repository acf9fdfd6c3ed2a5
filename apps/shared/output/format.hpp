// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace apps {

/// What printf would print, up to 511 characters.
[[gnu::format(printf, 1, 2)]] inline std::string formatted(char const* format, ...) {
  char text[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

/// An upper bound with so many digits after the point, never below x ≥ 0 read as a double.
inline std::string up(double x, int digits) {
  std::string const nearest = formatted("%.*f", digits, x);
  if (std::strtod(nearest.c_str(), nullptr) >= x) return nearest;
  return formatted("%.*f", digits, x + std::pow(10.0, -digits));
}

}  // namespace apps
