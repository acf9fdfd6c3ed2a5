// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/count.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/dp/matrix/strategy.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// How far one record can move Cx in the L2 norm, for contributions of norm at most 1. Proofs:
/// docs/certificates/matrix.md.

namespace tacit {

/// A record takes part at most `most` times, any two of them at least `separation` steps apart, in steps that do not
/// depend on other records. The defaults are a single epoch. Fixed-order epochs of `separation` steps are such a schema
/// under zero_out and replace_one; under add_remove a record that is added moves those behind it.
struct min_separation {
  /// Whether a run is known by its Rényi divergences alone, for each noise anew.
  static constexpr bool by_divergences = false;
  std::uint64_t separation = 1;
  std::uint64_t most = 1;
  friend bool operator==(min_separation const&, min_separation const&) = default;
};

namespace detail {

inline void check_schema(std::string_view who, min_separation const& schema) {
  check_count(who, "separation", schema.separation);
  check_count(who, "most", schema.most);
}

/// ⌈a/b⌉
[[nodiscard]] inline std::uint64_t ceiling_of(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

/// How often a record can take part in a run of so many steps.
[[nodiscard]] inline std::uint64_t times_in(std::uint64_t steps, min_separation const& schema) {
  return std::min(schema.most, ceiling_of(steps, schema.separation));
}

[[nodiscard]] inline double square_up(double x) { return multiply_up(x, x); }

/// x[i] + x[i−stride] + … of `terms` terms at most, for every i, in two additions each: sums from the start of a
/// block of `terms` places, and to its end. Rounded up.
[[nodiscard]] inline std::vector<double> strided_sums(std::vector<double> const& x,
                                                      std::uint64_t stride, std::uint64_t terms) {
  std::size_t const n = x.size();
  auto const place = [&](std::size_t i) { return i / stride % terms; };
  std::vector<double> sums = x;
  for (std::size_t i = stride; i < n; ++i) {
    if (place(i) != 0) sums[i] = add_up(sums[i], sums[i - stride]);
  }
  std::vector<double> to_end = x;
  for (std::size_t i = n; i-- > 0;) {
    if (n - i > stride && place(i + stride) != 0) to_end[i] = add_up(to_end[i], to_end[i + stride]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    // The window of i begins terms−1 strides before it, one place behind its own in the block before.
    std::uint64_t const behind = place(i) + 1;
    if (behind == terms || i / stride < terms) continue;
    sums[i] = add_up(sums[i], to_end[i - (terms - 1) * stride]);
  }
  return sums;
}

/// max Σ weights[i] over sets of at most `most` places, any two of them `separation` or more apart, for each number
/// of the first places; `sums[c]` is for c of them at most. Rounded up, for weights ≥ 0.
class separated_sum {
 public:
  separated_sum(std::size_t columns, std::uint64_t most, std::uint64_t separation)
      : width_(static_cast<std::size_t>(most) + 1),
        separation_(static_cast<std::size_t>(std::min<std::uint64_t>(separation, columns))),
        best_((columns + 1) * width_, 0.0) {}

  /// `weight(i)` for the places begin … end−1, in this order.
  template <class Weight>
  void fill(std::size_t begin, std::size_t end, Weight const& weight) {
    begin_ = begin;
    for (std::size_t i = begin; i < end; ++i) {
      double const w = weight(i);
      std::size_t const before = i + 1 >= begin + separation_ ? i + 1 - separation_ : begin;
      for (std::size_t c = 1; c < width_; ++c) {
        double const with = add_up(w, at(before, c - 1));
        at(i + 1, c) = std::max(at(i, c), with);
      }
    }
  }
  /// Of the places begin … end−1, at most c of them.
  [[nodiscard]] double most(std::size_t end, std::size_t c) const {
    return best_[(end - begin_) * width_ + c];
  }

 private:
  double& at(std::size_t end, std::size_t c) { return best_[(end - begin_) * width_ + c]; }

  std::size_t width_;
  std::size_t separation_;
  std::size_t begin_ = 0;
  std::vector<double> best_;
};

/// The least non-increasing majorant of |coefficients|, for every step.
[[nodiscard]] inline std::vector<double> majorant_of(toeplitz_strategy const& c) {
  std::vector<double> out(c.steps, 0.0);
  double most = 0.0;
  for (std::size_t t = c.coefficients.size(); t-- > 0;) {
    out[t] = most = std::max(most, std::abs(c.coefficients[t]));
  }
  return out;
}

/// Σ a_{i+later}·b_i over the places that both have, rounded up, for entries ≥ 0.
[[nodiscard]] inline double inner_product_up(std::vector<double> const& a,
                                             std::vector<double> const& b, std::size_t later = 0) {
  double sum = 0.0;
  for (std::size_t i = 0; i + later < a.size() && i < b.size(); ++i) {
    sum = add_up(sum, multiply_up(a[i + later], b[i]));
  }
  return sum;
}

/// An upper bound on |⟨c_i, c_j⟩| of two columns: the sum to nearest, and (rows + 2)·2⁻⁵² of Σ|c_ri·c_rj|.
[[nodiscard]] inline double inner_product_up(dense_strategy const& c, std::size_t i,
                                             std::size_t j) {
  double sum = 0.0;
  double size = 0.0;
  std::size_t rows = 0;
  for (std::size_t r = 0; r < c.entries.size(); r += c.columns, ++rows) {
    double const term = c.entries[r + i] * c.entries[r + j];
    sum += term;
    size += std::abs(term);
  }
  double const n = static_cast<double>(rows) + 2.0;
  double const error = add_up(multiply_up(n * 0x1p-52, size), n * 0x1p-1073);
  double const upper = add_up(std::abs(sum), error);
  return upper >= 0.0 ? upper : infinite_double;  // NaN: an overflow
}

/// ‖c_i‖², rounded up.
[[nodiscard]] inline double column_square_up(dense_strategy const& c, std::size_t i) {
  double sum = 0.0;
  for (std::size_t k = i; k < c.entries.size(); k += c.columns) {
    sum = add_up(sum, square_up(c.entries[k]));
  }
  return sum;
}

}  // namespace detail

/// Where the bands are at most the separation, √Σ‖c_i‖² over the steps 0, separation, 2·separation, …; else the norm
/// of the sum of these columns of the least non-increasing majorant of |coefficients|.
/// Guarantee: upper bound; up to rounding exact in the first case, and for non-increasing coefficients ≥ 0 (square
/// root, BLT of scales that sum to at most 1).
/// Source: Kalinin & Lampert 2024, Theorem 2; Choquette-Choo et al. 2023 for the bands.
/// @throws std::domain_error or std::invalid_argument for a strategy or schema out of range
[[nodiscard]] inline double sensitivity(toeplitz_strategy const& c,
                                        min_separation const& schema = {}) {
  detail::check_strategy("sensitivity", c);
  detail::check_schema("sensitivity", schema);
  std::uint64_t const times = detail::times_in(c.steps, schema);
  std::uint64_t const bands = c.coefficients.size();
  if (bands <= schema.separation || times == 1) {
    double sum = 0.0;
    for (std::uint64_t t = 0; t < bands; ++t) {
      // Of the columns at 0, separation, … those that have a coefficient t.
      std::uint64_t const having = std::min(times, (c.steps - 1 - t) / schema.separation + 1);
      sum = detail::add_up(
          sum, detail::multiply_up(detail::count_up(having), detail::square_up(c.coefficients[t])));
    }
    return detail::sqrt_up(sum);
  }
  std::vector<double> const sums =
      detail::strided_sums(detail::majorant_of(c), schema.separation, times);
  return detail::sqrt_up(detail::inner_product_up(sums, sums));
}

/// Σ over the levels of the most that participations can weigh there: a node of 2^l leaves has at most
/// m = ⌈2^l/separation⌉ of them, and all nodes of the level together those, k, that fit into the trees that have the level,
/// so that Σ (participations of a node)² is at most ⌊k/m⌋·m² + (k mod m)².
/// Guarantee: upper bound; exact, up to rounding, for one participation, and where separation and restart, if any, are
/// powers of two.
/// @throws std::domain_error for a strategy or schema out of range
[[nodiscard]] inline double sensitivity(tree_strategy const& c, min_separation const& schema = {}) {
  detail::check_strategy("sensitivity", c);
  detail::check_schema("sensitivity", schema);
  std::uint64_t const leaves = detail::leaves_of(c);
  std::uint64_t const last = c.steps % leaves;  // leaves of the last tree, if it is smaller
  double sum = 0.0;
  std::uint64_t below = 1;  // leaves of a node of this level
  for (std::uint64_t level = 0; level < detail::levels_of(leaves); ++level) {
    std::uint64_t const steps = level < detail::levels_of(last) ? c.steps : c.steps - last;
    std::uint64_t const k = detail::times_in(steps, schema);
    std::uint64_t const m =
        std::min(k, detail::ceiling_of(std::min(below, leaves), schema.separation));
    double const full =
        detail::multiply_up(detail::count_up(k / m), detail::square_up(detail::count_up(m)));
    sum = detail::add_up(sum, detail::add_up(full, detail::square_up(detail::count_up(k % m))));
    below *= 2;
  }
  return detail::sqrt_up(sum);
}

/// The norm for a single participation is the largest column norm. For several, √Σ_{i∈π} h_i at the worst pattern π
/// that the schema allows, h_i being the largest Σ_{j∈π}|⟨c_i, c_j⟩| of a pattern with i; or Σ‖c_i‖ if that is less.
/// Both maxima are found by dynamic programming.
/// Guarantee: upper bound; up to rounding exact for one participation, and where columns that far apart are orthogonal
/// (bands at most the separation).
/// Cost: columns²·(rows + most).
/// @throws std::domain_error or std::invalid_argument for a strategy or schema out of range, and for several
///         participations among more than 2048 columns
[[nodiscard]] inline double sensitivity(dense_strategy const& c,
                                        min_separation const& schema = {}) {
  detail::check_strategy("sensitivity", c);
  detail::check_schema("sensitivity", schema);
  std::size_t const n = c.columns;
  std::uint64_t const times = detail::times_in(n, schema);
  std::vector<double> squares(n);
  for (std::size_t i = 0; i < n; ++i) squares[i] = detail::column_square_up(c, i);
  if (times == 1) return detail::sqrt_up(*std::max_element(squares.begin(), squares.end()));
  detail::require_argument(n <= 2048, "sensitivity", "number of columns", n,
                           "at most 2048 for several participations");
  std::size_t const gap = static_cast<std::size_t>(schema.separation);
  detail::separated_sum sums(n, times, gap);

  std::vector<double> worst(n);  // h_i
  std::vector<double> left(times);
  std::vector<double> inner(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      bool const together = (j < i ? i - j : j - i) >= gap;
      inner[j] = together ? detail::inner_product_up(c, i, j) : 0.0;
    }
    auto const weight = [&](std::size_t j) { return inner[j]; };
    std::size_t const end = i >= gap ? i - gap + 1 : 0;
    sums.fill(0, end, weight);
    for (std::size_t k = 0; k < times; ++k) left[k] = sums.most(end, k);
    std::size_t const begin = std::min(n, i + gap);
    sums.fill(begin, n, weight);
    double most = 0.0;
    for (std::size_t k = 0; k < times; ++k) {
      most = std::max(most, detail::add_up(left[k], sums.most(n, times - 1 - k)));
    }
    worst[i] = detail::add_up(squares[i], most);
  }
  sums.fill(0, n, [&](std::size_t i) { return worst[i]; });
  double const by_products = detail::sqrt_up(sums.most(n, times));
  sums.fill(0, n, [&](std::size_t i) { return detail::sqrt_up(squares[i]); });
  return std::min(by_products, sums.most(n, times));
}

}  // namespace tacit
