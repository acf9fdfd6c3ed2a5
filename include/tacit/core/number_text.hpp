// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

/// Numbers as text and back: the shortest text that reads back as the same bits, the same characters
/// on every platform and under every locale. Standard libraries without <charconv> for floating point
/// (libc++ before 20) get the same answers from the C library.

namespace tacit::detail {

/// A decimal number: digits × 10^exponent, the first digit not 0.
struct decimal_number {
  std::string digits;
  int exponent = 0;
};

/// The nearest T, infinite where it overflows. Written without a decimal point, which is the one
/// character that the C library takes from the locale.
template <class T>
[[nodiscard]] T nearest_to(decimal_number const& number) {
  std::string const text = number.digits + 'e' + std::to_string(number.exponent);
  if constexpr (std::is_same_v<T, float>) {
    return std::strtof(text.c_str(), nullptr);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::strtod(text.c_str(), nullptr);
  } else {
    return std::strtold(text.c_str(), nullptr);
  }
}

/// The fewest digits that read back as x > 0, finite; among those the nearest to x.
template <class T>
[[nodiscard]] decimal_number shortest_decimal(T x) {
  for (int length = 1;; ++length) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.*Le", length - 1, static_cast<long double>(x));
    decimal_number number;
    char const* at = buffer;
    for (; *at != 'e'; ++at) {
      if (*at >= '0' && *at <= '9') number.digits.push_back(*at);
    }
    number.exponent = static_cast<int>(std::strtol(at + 1, nullptr, 10)) - (length - 1);
    if (nearest_to<T>(number) == x || length == std::numeric_limits<T>::max_digits10) return number;
    // The gap above a power of two is twice the gap below: the next decimal up may read back as x
    // where the nearest one does not.
    std::size_t const nine = number.digits.find_last_not_of('9');
    if (nine == std::string::npos) continue;
    ++number.digits[nine];
    std::size_t const nines = number.digits.size() - (nine + 1);
    number.digits.replace(nine + 1, nines, nines, '0');
    if (nearest_to<T>(number) == x) return number;
  }
}

/// What std::to_chars writes.
template <class T>
[[nodiscard]] std::string floating_to_text(T x) {
  if (x != x) return std::signbit(x) ? "-nan" : "nan";
  std::string text = std::signbit(x) ? "-" : "";
  T const size = std::signbit(x) ? -x : x;
  if (size > std::numeric_limits<T>::max()) return text + "inf";
  if (size == 0) return text + "0";

  auto [digits, exponent] = shortest_decimal(size);
  int const length = static_cast<int>(digits.size());
  int const lone = length == 1 ? 1 : 0;  // one digit needs no point in scientific notation
  if (exponent > 5 - lone || exponent < -(length + 3) + lone) {
    int const power = exponent + length - 1;
    text.push_back(digits[0]);
    if (length > 1) text.append(".").append(digits, 1);
    text.append(power < 0 ? "e-" : "e+");
    std::string const places = std::to_string(power < 0 ? -power : power);
    return text.append(places.size() < 2 ? "0" : "").append(places);
  }
  if (exponent >= 0) {  // a whole number, with all its digits
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.0Lf", static_cast<long double>(size));
    return text + buffer;
  }
  int const before = length + exponent;  // digits before the point
  if (before <= 0) return text.append("0.").append(static_cast<std::size_t>(-before), '0') + digits;
  return text + digits.insert(static_cast<std::size_t>(before), 1, '.');
}

/// What std::from_chars reads, all of `text`; nothing for any other text or a number out of range.
template <class T>
[[nodiscard]] std::optional<T> floating_from_text(std::string_view text) {
  bool const negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  auto const sign = [negative](T x) { return negative ? -x : x; };
  auto const spells = [text](std::string_view word) {
    if (text.size() != word.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
      if ((text[i] | 0x20) != word[i]) return false;
    }
    return true;
  };
  if (spells("inf") || spells("infinity")) return sign(std::numeric_limits<T>::infinity());
  if (spells("nan")) return sign(std::numeric_limits<T>::quiet_NaN());

  decimal_number number;
  bool any = false;
  bool point = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    char const c = text[at];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      any = true;
      if (c != '0' || !number.digits.empty()) number.digits.push_back(c);
      if (point) --number.exponent;
    } else {
      break;
    }
  }
  if (!any) return std::nullopt;
  if (at < text.size()) {
    if ((text[at] | 0x20) != 'e') return std::nullopt;
    std::string_view power = text.substr(at + 1);
    if (power.starts_with('+')) {
      power.remove_prefix(1);
      if (power.starts_with('-')) return std::nullopt;
    }
    int shift = 0;
    auto const [end, error] = std::from_chars(power.data(), power.data() + power.size(), shift);
    if (end != power.data() + power.size() || error != std::errc{}) return std::nullopt;
    constexpr int most = 1 << 30;  // beyond any number's exponent and any text's length
    number.exponent += shift < -most ? -most : shift > most ? most : shift;
  }
  if (number.digits.empty()) return sign(T(0));
  T const x = nearest_to<T>(number);
  if (!(x > 0 && x <= std::numeric_limits<T>::max())) return std::nullopt;
  return sign(x);
}

/// The shortest text that reads back as the same number.
template <class T>
[[nodiscard]] std::string to_text(T const& x) {
  if constexpr (std::is_convertible_v<T const&, std::string_view>) {
    return std::string(std::string_view(x));
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(x);
  } else if constexpr (std::is_floating_point_v<T>) {
#if defined(__cpp_lib_to_chars)
    char buffer[64];
    return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr);
#else
    return floating_to_text(x);
#endif
  } else if constexpr (requires { x.str(std::numeric_limits<T>::max_digits10); }) {
    return x.str(std::numeric_limits<T>::max_digits10);
  } else {
    return to_text(static_cast<double>(x));
  }
}

#if defined(__cpp_lib_to_chars)
template <class T>
concept read_by_from_chars = std::is_arithmetic_v<T>;
#else
template <class T>
concept read_by_from_chars = std::is_integral_v<T>;
#endif

/// The number that is all of `text`; nothing if it is none, or out of T's range.
template <class T>
[[nodiscard]] std::optional<T> from_text(std::string_view text) {
  if constexpr (read_by_from_chars<T>) {
    T x{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
    bool const all = error == std::errc{} && end == text.data() + text.size();
    return all ? std::optional<T>(x) : std::nullopt;
  } else {
    return floating_from_text<T>(text);
  }
}

}  // namespace tacit::detail
