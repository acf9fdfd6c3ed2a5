// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/bit_cast.hpp>
#include <tacit/core/check.hpp>

#include <cstdint>

namespace tacit {

/// The end of the interval on which a monotone predicate holds: bisection over the representable
/// doubles between `holds_here` ≥ 0 and `fails_there` ≥ 0 (either order), at most 64 calls.
///
/// Guarantee: feasible end. The result satisfies the predicate, and its neighbouring double on the
/// way to `fails_there` does not (for a predicate that is not quite monotone: some neighbour does
/// not). `holds_here` is taken on trust and returned if nothing beyond it holds.
/// @throws std::domain_error if an end is negative or NaN
template <class Predicate>
[[nodiscard]] double last_holding(double holds_here, double fails_there, Predicate&& holds) {
  detail::require_domain(holds_here >= 0.0, "last_holding", "holds_here", holds_here, "at least 0");
  detail::require_domain(fails_there >= 0.0, "last_holding", "fails_there", fails_there,
                         "at least 0");
  // Non-negative doubles order as their bit patterns do; + 0.0 turns −0 into +0.
  auto inside = detail::bit_cast<std::uint64_t>(holds_here + 0.0);
  auto outside = detail::bit_cast<std::uint64_t>(fails_there + 0.0);
  while (inside + 1 < outside || outside + 1 < inside) {
    std::uint64_t const middle =
        inside < outside ? inside + (outside - inside) / 2 : outside + (inside - outside) / 2;
    (holds(detail::bit_cast<double>(middle)) ? inside : outside) = middle;
  }
  return detail::bit_cast<double>(inside);
}

}  // namespace tacit
