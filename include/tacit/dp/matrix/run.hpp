// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/count.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/matrix/sensitivity.hpp>
#include <tacit/dp/matrix/strategy.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

/// The run of a matrix mechanism as events: one Gaussian, or, with amplification by sampling, sampled Gaussians without
/// correlation. Proofs: docs/certificates/matrix.md.

namespace tacit {

/// Cyclic Poisson sampling. Each record belongs to one of `groups` groups, which nothing but the record itself decides;
/// step i = 0, 1, … takes each record of group i mod groups with probability `rate`, independently and secretly.
struct cyclic_poisson {
  /// Whether a run is known by its Rényi divergences alone, for each noise anew.
  static constexpr bool by_divergences = false;
  std::uint64_t groups = 0;
  double rate = required;
  friend bool operator==(cyclic_poisson const&, cyclic_poisson const&) = default;
};

/// Balls in bins. Each record draws one of `bins` bins, uniformly, independently of the others and secretly, and
/// takes part in the steps bin, bin + bins, bin + 2·bins, … of the run: once an epoch of `bins` steps.
/// `apart`, a divisor of `bins`, says how the run is to be bounded: the record's bin modulo `apart` counts as known. 0: the
/// least one for which columns of what is left share no row.
struct balls_in_bins {
  /// Whether a run is known by its Rényi divergences alone, for each noise anew.
  static constexpr bool by_divergences = false;
  std::uint64_t bins = 0;
  std::uint64_t apart = 0;
  friend bool operator==(balls_in_bins const&, balls_in_bins const&) = default;
};

namespace detail {

// What amplification needs to know of a strategy: `bands`, so that columns at least so far apart have no row in
// common, and that of the earlier one ends before the later one's begin; `square(i)` ≥ ‖c_i‖², rounded up.
// `falling`: it does not increase with i.

class toeplitz_columns {
 public:
  static constexpr bool falling = true;
  explicit toeplitz_columns(toeplitz_strategy const& c) : steps_(c.steps) {
    for (double const x : c.coefficients) squares_.push_back(add_up(squares_.back(), square_up(x)));
  }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] std::uint64_t bands() const { return squares_.size() - 1; }
  [[nodiscard]] double square(std::uint64_t i) const {
    return squares_[std::min<std::uint64_t>(bands(), steps_ - i)];
  }

 private:
  std::vector<double> squares_{0.0};  // of the first coefficients
  std::uint64_t steps_;
};

// A tree's columns share rows with those of the same tree alone.
class tree_columns {
 public:
  static constexpr bool falling = true;
  explicit tree_columns(tree_strategy const& c)
      : steps_(c.steps),
        bands_(leaves_of(c)),
        levels_(static_cast<double>(levels_of(leaves_of(c)))) {
    require_argument(c.steps <= toeplitz_strategy::most_steps, "matrix_run", "steps", c.steps,
                     "at most 10000000");
  }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] std::uint64_t bands() const { return bands_; }
  [[nodiscard]] double square(std::uint64_t) const { return levels_; }

 private:
  std::uint64_t steps_;
  std::uint64_t bands_;
  double levels_;
};

class dense_columns {
 public:
  static constexpr bool falling = false;
  explicit dense_columns(dense_strategy const& c) {
    for (std::size_t i = 0; i < c.columns; ++i) squares_.push_back(column_square_up(c, i));
    std::size_t row = 0;
    std::size_t column = 0;
    for (double const entry : c.entries) {
      if (entry != 0.0 && row < column) {
        throw std::invalid_argument(
            "matrix_run: the strategy is not lower triangular, but must be for sampled records");
      }
      if (entry != 0.0) bands_ = std::max<std::uint64_t>(bands_, row - column + 1);
      if (++column == c.columns) {
        column = 0;
        ++row;
      }
    }
  }
  [[nodiscard]] std::uint64_t steps() const { return squares_.size(); }
  [[nodiscard]] std::uint64_t bands() const { return bands_; }
  [[nodiscard]] double square(std::uint64_t i) const { return squares_[i]; }

 private:
  std::vector<double> squares_;
  std::uint64_t bands_ = 1;
};

[[nodiscard]] inline toeplitz_columns columns_of(toeplitz_strategy const& c) {
  return toeplitz_columns(c);
}
[[nodiscard]] inline tree_columns columns_of(tree_strategy const& c) { return tree_columns(c); }
[[nodiscard]] inline dense_columns columns_of(dense_strategy const& c) { return dense_columns(c); }

inline void check_apart(std::string_view what, std::uint64_t steps, std::uint64_t bands) {
  require_argument(steps >= bands, "matrix_run", what, steps,
                   "at least " + to_text(bands) + ", the bands of the strategy");
}

/// How much at most the moves of two bins have in common, for bins j ≡ k modulo `apart`: m_j is the sum of |c_i| over the steps
/// of bin j.
struct bin_products {
  double same = 0.0;   // max ⟨m_j, m_j⟩
  double other = 0.0;  // max ⟨m_j, m_k⟩, j ≠ k
};

inline void check_bin_work(double products) {
  require_argument(products <= 4e9, "matrix_run", "products of bins times rows", products,
                   "at most 4e9: take more bins apart");
}

/// Of the least non-increasing majorant of |coefficients|, for which bin 0 has most in common with any other.
[[nodiscard]] inline bin_products products_of(toeplitz_strategy const& c,
                                              balls_in_bins const& how) {
  std::size_t const steps = static_cast<std::size_t>(c.steps);
  std::size_t const bins = static_cast<std::size_t>(std::min(how.bins, c.steps));
  std::size_t const apart = static_cast<std::size_t>(std::min(how.apart, c.steps));
  std::size_t const left = bins / apart + 1;
  check_bin_work(static_cast<double>(steps) * static_cast<double>(left));
  std::vector<double> const sums =
      strided_sums(majorant_of(c), how.bins, ceiling_of(c.steps, how.bins));
  bin_products out;
  for (std::size_t d = 0; d < bins; d += apart) {
    double& of = d == 0 ? out.same : out.other;
    of = std::max(of, inner_product_up(sums, sums, d));
  }
  return out;
}

template <std::same_as<double> T = double>
[[nodiscard]] bin_products products_of(dense_strategy const& c, balls_in_bins const& how) {
  std::size_t const rows = c.entries.size() / c.columns;
  std::size_t const bins = static_cast<std::size_t>(std::min<std::uint64_t>(how.bins, c.columns));
  std::size_t const apart = static_cast<std::size_t>(std::min<std::uint64_t>(how.apart, bins));
  std::size_t const left = bins / apart + 1;
  check_bin_work(static_cast<double>(rows) * static_cast<double>(apart) *
                 static_cast<double>(left) * static_cast<double>(left));
  bin_products out;
  for (std::size_t known = 0; known < apart; ++known) {
    std::vector<std::vector<double>> moves;
    for (std::size_t bin = known; bin < bins; bin += apart) {
      std::vector<double> move(rows, 0.0);
      for (std::size_t i = bin; i < c.columns; i += static_cast<std::size_t>(how.bins)) {
        for (std::size_t r = 0; r < rows; ++r) {
          move[r] = add_up(move[r], std::abs(c.entries[r * c.columns + i]));
        }
        if (how.bins >= c.columns) break;
      }
      for (std::vector<double> const& other : moves) {
        out.other = std::max(out.other, inner_product_up(move, other));
      }
      out.same = std::max(out.same, inner_product_up(move, move));
      moves.push_back(std::move(move));
    }
  }
  return out;
}

[[nodiscard]] inline bin_products products_of(tree_strategy const&, balls_in_bins const&) {
  throw std::invalid_argument(
      "matrix_run: apart is not 0, but must be for a tree; or state it as a dense strategy");
}

/// A Gaussian of this noise on a sensitivity whose square is at most `square`; rounding never adds noise.
[[nodiscard]] inline gaussian gaussian_on(double noise_multiplier, double square) {
  double const noise = divide_down(noise_multiplier, sqrt_up(square));
  require_domain(noise > 0.0, "matrix_run", "norm of a column", sqrt_up(square),
                 "so small that some noise is left");
  return {noise};
}

}  // namespace detail

/// A run in which records take part as `schema` allows: one matrix mechanism.
/// @throws as `sensitivity`; std::domain_error unless the noise multiplier is positive and finite
template <class Strategy>
[[nodiscard]] std::vector<composed> matrix_run(Strategy const& c, double noise_multiplier,
                                               min_separation const& schema) {
  detail::check_positive("matrix_run", "noise_multiplier", noise_multiplier);
  return {{matrix_gaussian{noise_multiplier, sensitivity(c, schema)}, 1}};
}

/// A run under cyclic Poisson sampling: a record of group g is taken at steps g, g + groups, …, or not. With groups at least
/// the bands of the strategy these steps have no row in common, and each is a Poisson-sampled Gaussian of noise
/// noise_multiplier/‖c_i‖. The j-th of any group is covered by the largest norm of the columns
/// j·groups, …, (j+1)·groups − 1. Under every adjacency that has a bound for the sampled Gaussian; a person's records
/// have to be in one group.
/// Guarantee: dominates the run; exact up to rounding for Toeplitz strategies.
/// Source: Choquette-Choo et al. 2023 (arXiv 2306.08153), Theorem 4; with bands = 1, DP-SGD.
/// @throws std::invalid_argument for fewer groups than bands, for a tree of more than 10^7 steps and for a
///         dense strategy that is not lower triangular; std::domain_error for values out of range
template <class Strategy>
[[nodiscard]] std::vector<composed> matrix_run(Strategy const& c, double noise_multiplier,
                                               cyclic_poisson const& how) {
  char const* const me = "matrix_run";
  detail::check_positive(me, "noise_multiplier", noise_multiplier);
  detail::check_strategy(me, c);
  detail::check_probability(me, "rate", how.rate);
  auto const columns = detail::columns_of(c);
  detail::check_apart("groups", how.groups, columns.bands());
  std::vector<composed> run;
  double last = 0.0;
  for (std::uint64_t first = 0; first < columns.steps();) {
    std::uint64_t const rest = columns.steps() - first;
    double most = columns.square(first);
    if constexpr (!columns.falling) {
      for (std::uint64_t i = 1; i < std::min(rest, how.groups); ++i) {
        most = std::max(most, columns.square(first + i));
      }
    }
    if (most > 0.0 && most == last) {
      ++run.back().count;
    } else if (most > 0.0) {
      run.push_back({sampled(detail::gaussian_on(noise_multiplier, most), poisson{how.rate}), 1});
    }
    last = most;
    if (rest <= how.groups) break;
    first += how.groups;
  }
  return run;
}

/// A run under balls in bins. Let b be the least divisor of `bins` that is at least the bands. A record's bin modulo b is
/// revealed; the bins/b that are left have columns without a row in common, and are an epoch of random allocation with
/// the noise noise_multiplier/w, w² = Σ‖c_i‖² over the steps of the worst bin.
/// Where `apart` is given, any strategy will do: what is left is an epoch of bins/apart steps with the noise
/// noise_multiplier/√(w² − ρ²), beside one Gaussian of noise_multiplier/ρ, ρ² being the largest ⟨m_j, m_k⟩ of two bins that
/// are left and w² the largest ⟨m_j, m_j⟩, m_j = Σ|c_i| over the steps of bin j. Which `apart` is best has to be tried.
/// One record a person; under replace_one as if its bin were told.
/// Guarantee: dominates the run; exact up to rounding for C = I.
/// Source: docs/certificates/matrix.md, Theorems 7 and 9.
/// @throws std::invalid_argument for fewer bins than bands or an `apart` that is no divisor of the bins, for a tree of more
///         than 10^7 steps or with an `apart`, for a dense strategy that is not lower triangular, and where ρ would take
///         more than 4·10⁹ products; std::domain_error for values out of range
template <class Strategy>
[[nodiscard]] std::vector<composed> matrix_run(Strategy const& c, double noise_multiplier,
                                               balls_in_bins const& how) {
  char const* const me = "matrix_run";
  detail::check_positive(me, "noise_multiplier", noise_multiplier);
  detail::check_strategy(me, c);
  detail::check_count(me, "bins", how.bins, 1, random_allocation::most_steps);
  auto const columns = detail::columns_of(c);
  if (how.apart > 0) {
    detail::require_argument(how.bins % how.apart == 0, me, "apart", how.apart,
                             "a divisor of the bins, " + detail::to_text(how.bins));
    detail::bin_products const common = detail::products_of(c, how);
    std::vector<composed> run;
    if (common.other > 0.0) {
      run.push_back({detail::gaussian_on(noise_multiplier, common.other), 1});
    }
    double const rest = detail::subtract_up(common.same, common.other);
    if (rest > 0.0) {
      run.push_back({sampled(detail::gaussian_on(noise_multiplier, rest),
                             random_allocation{how.bins / how.apart, 1}),
                     1});
    }
    return run;
  }
  detail::check_apart("bins", how.bins, columns.bands());
  std::uint64_t apart = columns.bands();
  while (how.bins % apart != 0) ++apart;
  std::uint64_t const bins = columns.falling ? 1 : std::min(how.bins, columns.steps());
  double most = 0.0;
  for (std::uint64_t bin = 0; bin < bins; ++bin) {
    double sum = 0.0;
    for (std::uint64_t i = bin; i < columns.steps(); i += how.bins) {
      sum = detail::add_up(sum, columns.square(i));
    }
    most = std::max(most, sum);
  }
  if (!(most > 0.0)) return {};
  return {
      {sampled(detail::gaussian_on(noise_multiplier, most), random_allocation{how.bins / apart, 1}),
       1}};
}

}  // namespace tacit
