// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/count.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/matrix/run.hpp>
#include <tacit/dp/matrix/sensitivity.hpp>
#include <tacit/dp/matrix/strategy.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

/// Balls in bins for a matrix mechanism of any strategy: its Rényi divergences, bounded by arcs of bins that lie in one
/// another. Proofs: docs/certificates/matrix.md, Theorem 13 and Lemma 14.

namespace tacit {

/// Records take part as under `balls_in_bins`: each draws one of `bins` bins, uniformly, independently of the others and
/// secretly, and takes part in the steps bin, bin + bins, bin + 2·bins, … of the run. No part of a record's bin counts as known.
struct nested_bins {
  /// Whether a run is known by its Rényi divergences alone, for each noise anew.
  static constexpr bool by_divergences = true;
  std::uint64_t bins = 0;
  friend bool operator==(nested_bins const&, nested_bins const&) = default;
};

namespace detail {

inline constexpr char const* fewer_bins = "at most 1e9: take fewer bins, or fewer bands";

/// By their distance on the circle of bins, how much the moves of two bins have in common at most: ⟨m_j, m_k⟩, m_j being the
/// sum of |c_i| over the steps of bin j. Bins that are further apart than the last have nothing in common.
/// Guarantee: upper bounds.
template <std::same_as<double> T = double>
[[nodiscard]] std::vector<T> products_by_distance(toeplitz_strategy const& c, std::uint64_t bins) {
  // Bin 0 has most in common with any other, and m_d is m_0 moved by d rows.
  std::size_t const bands = c.coefficients.size();
  std::vector<T> column(static_cast<std::size_t>(c.steps), 0.0);
  for (std::size_t t = 0; t < bands; ++t) column[t] = std::abs(c.coefficients[t]);
  std::uint64_t const distances = std::min(std::min<std::uint64_t>(2 * bands, bins), c.steps);
  T const work = static_cast<T>(c.steps) * static_cast<T>(distances);
  require_argument(work <= 1e9, "matrix_run", "products of bins times rows", work, fewer_bins);
  std::vector<T> const sums = strided_sums(column, bins, ceiling_of(c.steps, bins));
  auto const product = [&](std::uint64_t later) {
    bool const apart = later >= bands && bins - later >= bands;
    if (apart || later >= c.steps) return T(0.0);
    return inner_product_up(sums, sums, static_cast<std::size_t>(later));
  };
  std::vector<T> out(static_cast<std::size_t>(std::min(bins / 2, c.steps - 1)) + 1);
  out[0] = product(0);
  for (std::size_t d = 1; d < out.size(); ++d) out[d] = std::max(product(d), product(bins - d));
  return out;
}

template <std::same_as<double> T = double>
[[nodiscard]] std::vector<T> products_by_distance(dense_strategy const& c, std::uint64_t bins) {
  static_cast<void>(columns_of(c));  // refuses what is not lower triangular
  std::size_t const rows = c.entries.size() / c.columns;
  std::size_t const used = static_cast<std::size_t>(std::min<std::uint64_t>(bins, c.columns));
  T const work = static_cast<T>(rows) * static_cast<T>(used) * static_cast<T>(used);
  require_argument(work <= 1e9, "matrix_run", "products of bins times rows", work, fewer_bins);
  std::vector<std::vector<T>> moves(used, std::vector<T>(rows, 0.0));
  for (std::size_t i = 0; i < c.columns; ++i) {
    std::vector<T>& move = moves[static_cast<std::size_t>(i % bins)];
    for (std::size_t r = 0; r < rows; ++r) {
      move[r] = add_up(move[r], std::abs(c.entries[r * c.columns + i]));
    }
  }
  std::vector<T> out(static_cast<std::size_t>(std::min<std::uint64_t>(bins / 2, used - 1)) + 1);
  for (std::size_t j = 0; j < used; ++j) {
    for (std::size_t k = 0; k <= j; ++k) {
      std::uint64_t const between = std::min<std::uint64_t>(j - k, bins - (j - k));
      T& most = out[static_cast<std::size_t>(between)];
      most = std::max(most, inner_product_up(moves[j], moves[k]));
    }
  }
  return out;
}

/// The circle of bins as one arc, that cut into two, these into two, and so on to single bins. Bins in one arc of a level
/// have the weight of the level in common, wherever on the circle the first arc begins.
template <std::same_as<double> T = double>
class nested_arcs {
 public:
  static constexpr std::size_t most_moments = 1'024;

  /// `common` as from `products_by_distance`.
  nested_arcs(std::vector<T> common, std::uint64_t bins)
      : bins_(static_cast<T>(bins)), each_(common[0]) {
    levels_.push_back({bins, 1, 0});
    while (levels_.back().size > 1 || levels_.back().longer > 0) {
      levels_.push_back(halved(levels_.back()));
    }
    covers_.push_back(cover(common, 0.0));
    covers_.push_back(cover(std::move(common), 0.125));
  }

  /// D_α at most: the lesser of log E X^α/(α−1), X as in Theorem 13, and α·w²/2σ², w² = `common[0]`.
  /// Guarantee: upper bounds, at whole orders; no points where they are infinite.
  [[nodiscard]] renyi_dp divergences(T noise_multiplier) const {
    auto const over_variance = [&](T square) {
      return divide_up(divide_up(square, noise_multiplier), noise_multiplier);
    };
    T const whole = multiply_up(0.5, over_variance(each_));
    std::vector<T> moments;
    for (std::vector<T> weights : covers_) {
      for (T& weight : weights) weight = over_variance(weight);
      T const all = std::accumulate(weights.begin(), weights.end(), T(0.0));
      if (!(all <= most_weight)) continue;
      std::vector<T> const found = log_moments(weights, moments_for(whole));
      if (moments.empty()) moments = found;
      for (std::size_t k = 0; k < found.size(); ++k) moments[k] = std::min(moments[k], found[k]);
    }
    renyi_dp out;
    for (T order = 2.0; order <= 1e5;) {
      T best = next_up(multiply_up(whole, order));  // never 0
      bool const known = order < static_cast<T>(moments.size());
      if (known) {
        T const moment = moments[static_cast<std::size_t>(order)];
        best = std::min(best, next_up(divide_up(moment, order - 1.0)));
      }
      if (best <= largest_double) out.points.push_back({order, best});
      order = order < 64.0 ? order + 1.0 : std::floor((known ? 1.03 : 1.15) * order);
    }
    return out;
  }

 private:
  static constexpr T rounding = 0x1p-53;
  static constexpr T least_exponent = -60.0;
  static constexpr T most_weight = 1e6;

  struct level {
    std::uint64_t size;    // bins of an arc
    std::uint64_t arcs;    // how many of them, at least 1
    std::uint64_t longer;  // and how many of one bin more
  };

  [[nodiscard]] static level halved(level const& above) {
    std::uint64_t const half = above.size / 2;
    if (above.size == 1) return {1, above.arcs + 2 * above.longer, 0};
    if (above.size % 2 == 0) return {half, 2 * above.arcs + above.longer, above.longer};
    return {half, above.arcs, above.arcs + 2 * above.longer};
  }

  // In how many of the places where the first arc may begin two bins at this distance are in one arc, at least.
  [[nodiscard]] T together(std::size_t k, std::uint64_t distance) const {
    if (k == 0) return bins_;
    level const& at = levels_[k];
    if (distance > at.size) return 0.0;
    return static_cast<T>(at.arcs * (at.size - distance) + at.longer * (at.size + 1 - distance));
  }

  // The weights of the levels. From the longest arcs on, each gets the least with which bins have as much in common as they
  // need, if they are as far apart as the arcs of the next level; or less, by this share of them. (Where all that bins have in
  // common ends at the length of an arc, this level's arcs hold hardly any two that are nearly so far apart.)
  [[nodiscard]] std::vector<T> cover(std::vector<T> left, T share) const {
    std::vector<T> weights(levels_.size(), 0.0);
    for (std::size_t k = 0; k < levels_.size(); ++k) {
      std::uint64_t nearest = k + 1 < levels_.size() ? levels_[k + 1].size : 0;
      if (nearest > 2) {
        nearest -= static_cast<std::uint64_t>(std::ceil(share * static_cast<T>(nearest)));
      }
      for (std::uint64_t d = nearest; d < left.size(); ++d) {
        if (!(left[d] > 0.0)) continue;
        weights[k] = std::max(weights[k], divide_up(multiply_up(left[d], bins_), together(k, d)));
      }
      left.resize(std::min<std::size_t>(left.size(), static_cast<std::size_t>(nearest)));
      for (std::size_t d = 0; d < left.size(); ++d) {
        left[d] =
            subtract_up(left[d], multiply_down(weights[k], divide_down(together(k, d), bins_)));
      }
    }
    return weights;
  }

  // Beyond some 2·log(bins)/K, K = w²/σ², it counts for little that the bin is not known.
  [[nodiscard]] std::size_t moments_for(T whole) const {
    T const enough = 4.0 * (1.0 + elementary::log(bins_)) / whole;
    return enough < static_cast<T>(most_moments)
               ? std::max<std::size_t>(64, static_cast<std::size_t>(enough))
               : most_moments;
  }

  // log E X^k for k = 0, 1, …, `most`, rounded up.
  [[nodiscard]] std::vector<T> log_moments(std::vector<T> const& weights, std::size_t most) const {
    // log(E V^k/k!) of the arcs of a level, and log k!.
    std::vector<T> arc(most + 1, 0.0);
    std::vector<T> factorials(most + 1, 0.0);
    enclosure factorial = 0.0;
    for (std::size_t k = 2; k <= most; ++k) {
      factorial += log(enclosure(static_cast<T>(k)));
      arc[k] = -factorial.lower;
      factorials[k] = factorial.upper;
    }
    std::vector<T> longer;
    for (std::size_t at = levels_.size(); at-- > 0;) {
      if (at + 1 < levels_.size()) {
        std::vector<T> next = joined(levels_[at].size, levels_[at + 1].size, arc, longer);
        longer = levels_[at].longer == 0
                     ? std::vector<T>()
                     : joined(levels_[at].size + 1, levels_[at + 1].size, arc, longer);
        arc = std::move(next);
      }
      raise(arc, weights[at]);
      raise(longer, weights[at]);
    }
    for (std::size_t k = 0; k <= most; ++k) arc[k] = add_up(arc[k], factorials[k]);
    return arc;
  }

  // All bins of the arc share one more normal variable of this variance. E V⁰ = E V = 1 stay.
  static void raise(std::vector<T>& arc, T weight) {
    for (std::size_t k = 2; k < arc.size(); ++k) {
      T const n = static_cast<T>(k);
      arc[k] = add_up(arc[k], multiply_up(weight, 0.5 * n * (n - 1.0)));
    }
  }

  // An arc of so many bins, whose halves have `half` bins or one more.
  [[nodiscard]] static std::vector<T> joined(std::uint64_t bins, std::uint64_t half,
                                             std::vector<T> const& arc,
                                             std::vector<T> const& longer) {
    if (bins == 1) return arc;
    auto const share = [&](std::uint64_t part) {
      std::vector<T> out = part == half ? arc : longer;
      T const part_log = log(enclosure(static_cast<T>(part)) / static_cast<T>(bins)).upper;
      for (std::size_t k = 1; k < out.size(); ++k) {
        out[k] = add_up(out[k], multiply_up(static_cast<T>(k), part_log));
      }
      return out;
    };
    bool const alike = bins % 2 == 0;
    std::vector<T> const first = share(bins / 2);
    std::vector<T> const second = alike ? first : share(bins - bins / 2);
    std::vector<T> out = arc;  // the first two stay
    std::vector<T> exponents(out.size());
    for (std::size_t k = 2; k < out.size(); ++k) {
      std::size_t const last = alike ? k / 2 : k;  // what follows is as what came before
      T top = -infinite_double;
      for (std::size_t i = 0; i <= last; ++i) {
        exponents[i] = first[i] + second[k - i];
        top = std::max(top, exponents[i]);
      }
      T sum = 0.0;
      for (std::size_t i = 0; i <= last; ++i) {
        T const below = exponents[i] - top;
        T const times = alike && 2 * i < k ? 2.0 : 1.0;
        if (below > least_exponent) sum += times * elementary::exp(below);
      }
      // Lemma 14: what rounding may have taken.
      T const lost = rounding * (3.0 * std::abs(top) + 2.0 * static_cast<T>(k) + 300.0);
      out[k] = add_up(top, add_up(elementary::log(sum), lost));
    }
    return out;
  }

  T bins_;
  T each_;
  std::vector<level> levels_;
  std::vector<std::vector<T>> covers_;
};

}  // namespace detail

/// A run under `nested_bins`, of any strategy but a tree: what is known of its Rényi divergences at whole orders α. Let K(d) ≥
/// ⟨m_j, m_k⟩/σ² for bins j, k at the distance d on the circle of p bins, m_j being the sum of |c_i| over the steps of bin j. The
/// divergences are at most the lesser of αK(0)/2 and, for α up to 1024 or so,
///   log E X^α/(α−1),  X = (1/p)·Σ_j e^{G_j − Var G_j/2},
/// G_j being the sum of independent normal variables, one for each arc of `nested_arcs` that holds bin j, of variances that cover K:
/// moments follow from those of the arcs' halves.
/// Under add_remove and zero_out, one record a person: an event for the Rényi accountant, with count 1. It does not carry
/// `neighbours`, which the accountant has to share.
/// Guarantee: upper bounds; up to rounding exact for C = I and whole epochs. Nothing is given away to the first order of K but where K is
/// less than its chords between the lengths of arcs.
/// Cost: steps·min(2·bands, bins) products for Toeplitz strategies, steps·bins² for dense ones, and log₂(bins)·10⁶ exponentials
/// at most.
/// Source: the setting of Schuchardt & Kalinin 2026 (arXiv 2601.21636); their sums are exact, and take a time exponential in the bands.
/// @throws std::invalid_argument for replace_one, for a tree, for a dense strategy that is not lower triangular, and for more than 10⁹
///         products; std::domain_error for values out of range
template <class Strategy, std::same_as<double> T = double>
[[nodiscard]] std::vector<composed> matrix_run(Strategy const& c, double noise_multiplier,
                                               nested_bins const& how, adjacency neighbours) {
  char const* const me = "matrix_run";
  detail::check_positive(me, "noise_multiplier", noise_multiplier);
  detail::check_strategy(me, c);
  detail::check_count(me, "bins", how.bins, 1, random_allocation::most_steps);
  if (neighbours == adjacency::replace_one) {
    detail::refuse_unwritten("balls in bins, under replace_one", "use add_remove or zero_out");
  }
  if constexpr (std::same_as<Strategy, tree_strategy>) {
    throw std::invalid_argument(
        "matrix_run: no bound is implemented for a tree by nested arcs; state it as a dense "
        "strategy, or use cyclic Poisson samples");
  } else {
    std::vector<T> common = detail::products_by_distance(c, how.bins);
    if (!(common[0] > 0.0)) return {};
    detail::nested_arcs<T> const arcs(std::move(common), how.bins);
    renyi_dp const out = arcs.divergences(noise_multiplier);
    if (out.points.empty()) {
      throw std::domain_error(
          "matrix_run: noise_multiplier is too small for any finite divergence");
    }
    return {{event(out), 1}};
  }
}

}  // namespace tacit
