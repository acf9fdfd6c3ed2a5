// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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

/// A file's name as a shell takes it, for a command that a message names.
inline std::string shell_word(std::string const& file) {
  constexpr char const* plain =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_./+-=:@%,";
  auto const is_control = [](char c) { return c == '\x7f' || (c & ~0x1f) == 0; };
  std::string const text = file.empty() || file.front() != '-' ? file : "./" + file;  // no option
  bool const has_control = std::any_of(text.begin(), text.end(), is_control);
  bool const quoted = text.empty() || text.find_first_not_of(plain) != std::string::npos;
  if (!quoted) return text;
  std::string out = has_control ? "$'" : "'";
  for (char const c : text) {
    if (is_control(c)) {
      out += formatted("\\%03o", static_cast<unsigned>(c));
    } else if (has_control && (c == '\'' || c == '\\')) {
      out += {'\\', c};
    } else {
      out += c == '\'' ? "'\\''" : std::string(1, c);
    }
  }
  return out + "'";
}

/// An upper bound with so many digits after the point, never below x ≥ 0 read as a double.
inline std::string up(double x, int digits) {
  std::string const nearest = formatted("%.*f", digits, x);
  if (std::strtod(nearest.c_str(), nullptr) >= x) return nearest;
  return formatted("%.*f", digits, x + std::pow(10.0, -digits));
}

}  // namespace apps
