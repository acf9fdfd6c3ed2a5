// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/bit_cast.hpp>
#include <tacit/core/check.hpp>
#include <tacit/zo/run_record.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Released coefficients as bytes: a bit, a fifth of a byte or eight bytes each.

namespace tacit::detail {

/// How many symbols this many bytes may hold.
[[nodiscard]] constexpr std::uint64_t symbols_within(symbol_kind kind,
                                                     std::uint64_t bytes) noexcept {
  return kind == symbol_kind::sign        ? 8 * bytes
         : kind == symbol_kind::held_sign ? 5 * bytes
                                          : bytes / 8;
}

[[nodiscard]] constexpr std::uint64_t bytes_of(symbol_kind kind, std::uint64_t symbols) noexcept {
  return kind == symbol_kind::sign        ? symbols / 8 + (symbols % 8 != 0)
         : kind == symbol_kind::held_sign ? symbols / 5 + (symbols % 5 != 0)
                                          : symbols * 8;
}

/// −1, 0 or +1 for a coefficient −c, +0 or +c; nothing for any other.
[[nodiscard]] inline std::optional<int> symbol_of(double coefficient, double magnitude) noexcept {
  auto const bits = [](double x) { return bit_cast<std::uint64_t>(x); };
  if (bits(coefficient) == bits(magnitude)) return 1;
  if (bits(coefficient) == bits(-magnitude)) return -1;
  if (bits(coefficient) == bits(0.0)) return 0;
  return std::nullopt;
}

inline void check_coefficient(std::string_view who, run_record const& run, double coefficient) {
  if (run.symbols == symbol_kind::scalar) {
    check_finite(who, "coefficient", coefficient);
    return;
  }
  auto const symbol = symbol_of(coefficient, run.magnitude);
  require_domain(symbol && (*symbol != 0 || run.symbols == symbol_kind::held_sign), who,
                 "coefficient", coefficient,
                 (run.symbols == symbol_kind::sign ? "+-" : "0 or +-") + to_text(run.magnitude));
}

/// sign: bit j of byte i is symbol 8i + j, set for +; held_sign: byte i is Σ_j d_j·3^j for the symbols
/// 5i + j, d = 0 for −, 1 for held, 2 for +; scalar: the double, least significant byte first. What
/// is left of the last byte is 0.
[[nodiscard]] inline std::string pack(run_record const& run, std::span<double const> values) {
  std::string bytes(bytes_of(run.symbols, values.size()), '\0');
  auto const at = [&](std::size_t i) -> char& { return bytes[i]; };
  unsigned power = 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (run.symbols == symbol_kind::scalar) {
      auto const bits = bit_cast<std::uint64_t>(values[i]);
      for (std::size_t j = 0; j < 8; ++j) at(8 * i + j) = static_cast<char>(bits >> (8 * j));
      continue;
    }
    int const symbol = symbol_of(values[i], run.magnitude).value();
    std::size_t const base = run.symbols == symbol_kind::sign ? 8 : 5;
    if (i % base == 0) power = 1;
    unsigned const digit =
        static_cast<unsigned>(run.symbols == symbol_kind::sign ? (symbol + 1) / 2 : symbol + 1);
    char& byte = at(i / base);
    byte = static_cast<char>(static_cast<unsigned char>(byte) + digit * power);
    power *= run.symbols == symbol_kind::sign ? 2 : 3;
  }
  return bytes;
}

/// The inverse; `bytes` must have the size of `count` symbols.
/// @throws corrupt_state for bytes that `pack` never makes
[[nodiscard]] inline std::vector<double> unpack(std::string_view who, run_record const& run,
                                                std::string_view bytes, std::size_t count) {
  std::vector<double> values;
  values.reserve(count);
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (run.symbols == symbol_kind::scalar) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t bits = 0;
      for (std::size_t j = 0; j < 8; ++j) bits |= std::uint64_t{byte(8 * i + j)} << (8 * j);
      auto const value = bit_cast<double>(bits);
      if (!std::isfinite(value)) fail_record(who, "a scalar is not finite");
      values.push_back(value);
    }
    return values;
  }
  bool const bit = run.symbols == symbol_kind::sign;
  unsigned const base = bit ? 2 : 3;
  std::size_t const each = bit ? 8 : 5;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned rest = byte(i);
    std::size_t const here = std::min(each, count - each * i);
    for (std::size_t j = 0; j < here; ++j) {
      unsigned const digit = rest % base;
      rest /= base;
      values.push_back(digit + 1 == base ? run.magnitude : digit == 0 ? -run.magnitude : 0.0);
    }
    if (rest != 0) fail_record(who, "a byte of symbols is none that symbols make");
  }
  return values;
}

}  // namespace tacit::detail
