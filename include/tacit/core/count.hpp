// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/number_text.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// Counts: of records, steps, categories. Whole numbers up to 2^53 are all doubles.

namespace tacit::detail {

inline constexpr std::uint64_t largest_count = std::uint64_t{1} << 53;

/// `a whole number in [1, 2^53]`: every refusal of a count uses these words.
[[nodiscard]] inline std::string count_range(std::uint64_t low, std::uint64_t high) {
  return "a whole number in [" + to_text(low) + ", " +
         (high == largest_count ? "2^53" : to_text(high)) + "]";
}

/// @throws std::domain_error outside [low, high]
inline void check_count(std::string_view function, std::string_view argument, std::uint64_t n,
                        std::uint64_t low = 1, std::uint64_t high = largest_count) {
  if (!(n >= low && n <= high)) fail_domain(function, argument, n, count_range(low, high));
}

}  // namespace tacit::detail
