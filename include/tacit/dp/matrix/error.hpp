// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/count.hpp>
#include <tacit/dp/matrix/strategy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// What noise a strategy leaves in the prefix sums: how strategies compare, together with their sensitivities.

namespace tacit {

/// Var(estimate of x_0 + … + x_t) in a coordinate, for noise of standard deviation 1: on average over the steps t, and the
/// largest. The noise needed is proportional to the sensitivity: compare sensitivity²·mean.
struct squared_error {
  double mean;
  double largest;
  friend bool operator==(squared_error const&, squared_error const&) = default;
};

/// The rows of AC⁻¹, for prefix sums A: for Toeplitz matrices its coefficients are the sums of those of C⁻¹, and row t
/// has the first t + 1.
/// Guarantee: nearest; rounding is not bounded.
/// Cost: steps·bands.
/// @throws std::domain_error or std::invalid_argument for a strategy out of range, or a coefficient 0 that is 0
[[nodiscard]] inline squared_error prefix_error(toeplitz_strategy const& c) {
  detail::check_strategy("prefix_error", c);
  std::vector<double> const& a = c.coefficients;
  detail::require_domain(a[0] != 0.0, "prefix_error", "coefficient 0", a[0], "other than 0");
  std::vector<double> inverse(c.steps);
  double row = 0.0;  // coefficient of AC⁻¹
  double sum = 0.0;
  squared_error out{0.0, 0.0};
  for (std::size_t t = 0; t < inverse.size(); ++t) {
    double x = t == 0 ? 1.0 : 0.0;
    for (std::size_t s = 1; s <= std::min(t, a.size() - 1); ++s) x -= a[s] * inverse[t - s];
    inverse[t] = x / a[0];
    row += inverse[t];
    sum += row * row;
    out.mean += sum;
  }
  return {out.mean / static_cast<double>(c.steps), sum};
}

/// The sum of the nodes that a prefix is made of, one for each binary digit 1 of the steps of the current tree, and of
/// those of each tree before it.
/// Guarantee: nearest.
/// Cost: steps.
/// @throws std::domain_error for a strategy out of range, or more than 10⁷ steps
[[nodiscard]] inline squared_error prefix_error(tree_strategy const& c) {
  detail::check_strategy("prefix_error", c);
  detail::check_count("prefix_error", "steps", c.steps, 1, toeplitz_strategy::most_steps);
  auto const ones = [](std::uint64_t n) {
    std::uint64_t count = 0;
    for (; n > 0; n &= n - 1) ++count;
    return count;
  };
  std::uint64_t const leaves = detail::leaves_of(c);
  double const finished = static_cast<double>(ones(leaves));
  squared_error out{0.0, 0.0};
  for (std::uint64_t t = 1; t <= c.steps; ++t) {
    std::uint64_t const trees = (t - 1) / leaves;
    double const nodes =
        static_cast<double>(trees) * finished + static_cast<double>(ones(t - trees * leaves));
    out.mean += nodes;
    out.largest = std::max(out.largest, nodes);
  }
  out.mean /= static_cast<double>(c.steps);
  return out;
}

/// The rows of AC⁻¹ by substitution.
/// Guarantee: nearest; rounding is not bounded.
/// Cost: columns³.
/// @throws std::domain_error or std::invalid_argument for a strategy out of range, that is not square and lower
///         triangular, or has a 0 on its diagonal
[[nodiscard]] inline squared_error prefix_error(dense_strategy const& c) {
  char const* const me = "prefix_error";
  detail::check_strategy(me, c);
  std::size_t const n = c.columns;
  detail::require_argument(c.entries.size() == n * n, me, "number of entries", c.entries.size(),
                           "the square of the number of columns");
  auto const at = [&](std::size_t r, std::size_t i) { return c.entries[r * n + i]; };
  for (std::size_t r = 0; r < n; ++r) {
    detail::require_domain(at(r, r) != 0.0, me, "entry of the diagonal", at(r, r), "other than 0");
    for (std::size_t i = r + 1; i < n; ++i) {
      detail::require_domain(at(r, i) == 0.0, me, "entry above the diagonal", at(r, i), "0");
    }
  }
  squared_error out{0.0, 0.0};
  std::vector<double> row(n);
  for (std::size_t t = 0; t < n; ++t) {
    double sum = 0.0;
    for (std::size_t i = t + 1; i-- > 0;) {
      double x = 1.0;
      for (std::size_t s = i + 1; s <= t; ++s) x -= row[s] * at(s, i);
      row[i] = x / at(i, i);
      sum += row[i] * row[i];
    }
    out.mean += sum;
    out.largest = std::max(out.largest, sum);
  }
  out.mean /= static_cast<double>(n);
  return out;
}

}  // namespace tacit
