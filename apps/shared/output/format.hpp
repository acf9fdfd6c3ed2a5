// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

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

/// Whole numbers beyond are not all doubles, nor numbers of JSON.
inline constexpr std::uint64_t largest_count = std::uint64_t{1} << 53;

/// a, b or c
inline std::string joined(std::vector<std::string> const& words) {
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) all += i + 1 < words.size() ? ", " : " or ";
    all += words[i];
  }
  return all;
}

/// An upper bound with so many digits after the point, never below x ≥ 0 read as a double.
inline std::string up(double x, int digits) {
  std::string const nearest = formatted("%.*f", digits, x);
  if (std::strtod(nearest.c_str(), nullptr) >= x) return nearest;
  return formatted("%.*f", digits, x + std::pow(10.0, -digits));
}

}  // namespace apps
