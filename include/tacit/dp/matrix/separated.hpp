// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/constants.hpp>
#include <tacit/core/count.hpp>
#include <tacit/core/elementary.hpp>
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
#include <stdexcept>
#include <utility>
#include <vector>

/// Poisson samples that keep a distance, called b-min-sep: the Rényi divergences of a banded matrix mechanism. Proofs:
/// docs/certificates/matrix.md, Theorems 8 to 11.

namespace tacit {

/// Every step takes each record that took part in none of the `separation` − 1 steps before it, with probability
/// `rate`, independently and secretly. At the start a record may be barred for up to `separation` − 1 steps, in any way that
/// does not depend on other records: not at all, or as in equilibrium. A batch that is cut to a size is not this: who is
/// cut depends on the others.
/// Source: Dong & Ganesh 2026 (arXiv 2602.09338), who evaluate it by Monte Carlo.
struct separated_poisson {
  /// Whether a run is known by its Rényi divergences alone, for each noise anew.
  static constexpr bool by_divergences = true;
  std::uint64_t separation = 0;
  double rate = required;
  friend bool operator==(separated_poisson const&, separated_poisson const&) = default;
};

namespace detail {

/// The widest window, and so the most bands of a strategy.
inline constexpr std::uint64_t most_separated_bands = 1'000;

/// |C_r,r−d| at most, over the rows r, for d = 0, 1, …
[[nodiscard]] inline std::vector<double> band_bounds(toeplitz_strategy const& c) {
  std::vector<double> out;
  for (double const x : c.coefficients) out.push_back(std::abs(x));
  return out;
}
[[nodiscard]] inline std::vector<double> band_bounds(dense_strategy const& c) {
  std::vector<double> out(static_cast<std::size_t>(dense_columns(c).bands()), 0.0);
  for (std::size_t k = 0; k < c.entries.size(); ++k) {
    if (c.entries[k] == 0.0) continue;
    double& most = out[k / c.columns - k % c.columns];
    most = std::max(most, std::abs(c.entries[k]));
  }
  return out;
}

[[nodiscard]] inline std::uint64_t rows_of(toeplitz_strategy const& c) { return c.steps; }
[[nodiscard]] inline std::uint64_t rows_of(dense_strategy const& c) {
  return c.entries.size() / c.columns;
}

/// One row out of each window of as many steps as there are shifts, by the record's last step in the window: step x of it
/// moves a normal variable of its own by shifts[x]. The record's state at the beginning of a window is for how many
/// steps it cannot take part yet.
template <std::same_as<double> T = double>
class separated_chain {
 public:
  static constexpr std::uint64_t most_turns = 200;

  /// Rates below 1e-30 count as that; the shifts are at least 0.
  separated_chain(std::vector<T> shifts, separated_poisson const& how)
      : shifts_(std::move(shifts)),
        separation_(how.separation),
        rate_(std::max(how.rate, 1e-30)),
        rest_(subtract_up(1.0, how.rate)),
        largest_(*std::max_element(shifts_.begin(), shifts_.end())) {}

  /// log‖X‖_α of the likelihood ratio X of `windows` windows, on average over runs of at least `whole` of them and at
  /// most one more. It goes back from the end of the run for up to `turns` windows, and bounds the growth before.
  /// Guarantee: upper bound, for whole orders; ∞ where it would take too much.
  [[nodiscard]] T log_norm(T order, T windows, std::uint64_t whole,
                           std::uint64_t turns = most_turns) const {
    grid const over = tabulated(order);
    if (over.at.empty()) return infinite_double;
    // log v_k of the states below the width of a window; v_0 = 1. A state further on becomes one of them, a window later
    // for each width.
    std::size_t const width = shifts_.size();
    std::uint64_t const away = (separation_ - 1) / width;
    std::uint64_t const most = std::min({std::max<std::uint64_t>(whole, 1), 8 + 3 * away, turns});
    std::vector<std::vector<T>> logs{std::vector<T>(width, 0.0)};
    std::vector<T> growth{0.0};  // log of the largest v_k/v_{k−1}
    T top = 0.0;                 // of all log v_k so far
    T best = infinite_double;
    for (std::uint64_t k = 1; k <= most; ++k) {
      logs.push_back(after_a_window(order, over, logs));
      T fastest = 0.0;
      T slowest = infinite_double;
      for (std::size_t x = 0; x < width; ++x) {
        fastest = std::max(fastest, subtract_up(logs[k][x], logs[k - 1][x]));
        slowest = std::min(slowest, logs[k][x] - logs[k - 1][x]);
        top = std::max(top, logs[k][x]);
      }
      growth.push_back(fastest);
      // States that have not come back yet hold earlier ratios.
      T const every = *std::max_element(
          growth.end() - static_cast<std::ptrdiff_t>(std::min(k, away)) - 1, growth.end());
      T const left = std::max(0.0, subtract_up(windows, static_cast<T>(k)));
      best = std::min(best, add_up(top, multiply_up(left, every)));
      if (k > away && fastest - slowest < 3e-3 * fastest) break;
    }
    return best;
  }

 private:
  // Of the trapezoid rule.
  static constexpr T step = 0.5;
  static constexpr std::size_t most_nodes = 8'192;
  static constexpr T most_exponent = 300.0;
  static constexpr T rounding = 0x1p-53;

  struct grid {
    std::vector<T> at;
    std::vector<T> ratios;  // e^{s_x·z − s_x²/2}, by node
  };

  // From −12 to where no ratio's power counts (Lemma 12); nothing where that is too far.
  [[nodiscard]] grid tabulated(T order) const {
    T const room = multiply_up(order * (order - 1.0), square_up(largest_));
    T const right = order * largest_ + sqrt_up(140.0 + room) + 1.0;
    if (!(largest_ * right <= most_exponent && largest_ <= 16.0)) return {};
    auto const nodes = static_cast<std::size_t>((right + 12.0) / step) + 3;
    if (nodes > most_nodes) return {};
    grid out;
    out.at.reserve(nodes);
    out.ratios.reserve(nodes * shifts_.size());
    for (std::size_t k = 0; k < nodes; ++k) {
      T const z = step * static_cast<T>(k) - 12.0;
      out.at.push_back(z);
      for (T const s : shifts_) out.ratios.push_back(elementary::exp(s * z - 0.5 * s * s));
    }
    return out;
  }

  // log v_k of the state: the number of steps that are barred.
  [[nodiscard]] T log_of(std::vector<std::vector<T>> const& logs, std::uint64_t state) const {
    std::uint64_t const turns = state / shifts_.size();
    std::size_t const last = logs.size() - 1;
    return turns > last ? 0.0 : logs[last - turns][state % shifts_.size()];
  }

  // log v_{k+1} = log‖Σ (chance of the way)·v_k(its end)·(its ratio)‖_α, rounded up.
  [[nodiscard]] std::vector<T> after_a_window(T order, grid const& over,
                                              std::vector<std::vector<T>> const& logs) const {
    std::size_t const width = shifts_.size();
    std::vector<T> ends(width);
    T top = log_of(logs, 0);
    for (std::size_t x = 0; x < width; ++x) {
      ends[x] = log_of(logs, separation_ - width + x);
      top = std::max(top, ends[x]);
    }
    // A smaller value may count as a larger one, and none is so small that a product could underflow.
    auto const raised = [&](T log_value) {
      return elementary::exp(std::max(log_value - top, -100.0));
    };
    T const never = raised(log_of(logs, 0));
    for (T& end : ends) end = rate_ * raised(end);

    std::size_t const nodes = over.at.size();
    std::vector<T> exponents(width * nodes);
    std::vector<T> summits(width, -infinite_double);
    T const places = static_cast<T>(width);
    for (std::size_t k = 0; k < nodes; ++k) {
      T const z = over.at[k];
      T const size = largest_ * std::abs(z) + largest_ * largest_;
      T sum = never;
      for (std::size_t x = width; x-- > 0;) {
        sum = ends[x] * over.ratios[k * width + x] + rest_ * sum;
        T const log_sum = elementary::log(sum);
        T const power = order * log_sum;
        // Lemma 12: what rounding may have taken.
        T const lost = rounding * (order * (4.0 * size + 4.0 * places + 120.0) +
                                   8.0 * std::abs(power) + 4.0 * z * z);
        T const exponent = power - 0.5 * z * z + lost;
        exponents[x * nodes + k] = exponent;
        summits[x] = std::max(summits[x], exponent);
      }
    }
    std::vector<T> out(width);
    for (std::size_t x = 0; x < width; ++x) {
      T sum = 0.0;
      for (std::size_t k = 0; k < nodes; ++k) {
        T const below = exponents[x * nodes + k] - summits[x];
        if (below > -60.0) sum += elementary::exp(below);
      }
      T const scale = step / constants::root_two_pi<T>();
      T const off = rounding * (4.0 * static_cast<T>(nodes) + 40.0) + 1e-21;
      T const log_moment = summits[x] + elementary::log(sum * scale) + off +
                           8.0 * rounding * (std::abs(summits[x]) + 20.0);
      out[x] = next_up(add_up(top, divide_up(log_moment, order)));
    }
    return out;
  }

  std::vector<T> shifts_;  // by step of the window, the earliest first
  std::uint64_t separation_;
  T rate_;
  T rest_;
  T largest_;
};

/// By the rows themselves: step x of a window of b steps moves its last row by |a_{b−1−x}|, b times as often.
template <std::same_as<double> T>
[[nodiscard]] std::vector<T> row_shifts(std::vector<T> const& a, T sigma) {
  std::vector<T> out(a.rbegin(), a.rend());
  double const root = sqrt_up(static_cast<double>(a.size()));
  for (double& x : out) x = divide_up(multiply_up(root, x), sigma);
  return out;
}

/// By one size for all steps, w² = max_d R(d)·b/(b−d), R(d) = Σ_t a_t·a_{t+d}.
template <std::same_as<double> T>
[[nodiscard]] std::vector<T> even_shifts(std::vector<T> const& a, T sigma) {
  std::size_t const bands = a.size();
  double square = 0.0;
  for (std::size_t d = 0; d < bands; ++d) {
    double const sum = inner_product_up(a, a, d);
    double const share = divide_up(static_cast<double>(bands), static_cast<double>(bands - d));
    square = std::max(square, multiply_up(sum, share));
  }
  return std::vector<T>(bands, divide_up(sqrt_up(square), sigma));
}

/// Whole orders, the last so large that none beyond is the best for any target.
template <std::same_as<double> T = double>
[[nodiscard]] std::vector<T> separated_orders(std::size_t bands) {
  // Fewer of them where each takes long.
  double const ratio = bands <= 100 ? 1.15 : 1.4;
  std::vector<T> out;
  for (T order = 2.0; order <= 1e5; order = std::max(order + 1.0, std::floor(ratio * order))) {
    out.push_back(order);
  }
  return out;
}

}  // namespace detail

/// A run under `separated_poisson`, whose separation is at least the bands b of the strategy: what is known of its Rényi
/// divergences at whole orders α, the least of
///   (α/(α−1))·(1/b)·Σ over the rows of log λ_row, λ being the growth in a window of ‖likelihood ratio‖_α of a chain of the record's
///   states, with √b·|C_r,r−d| for row r;
///   the same with one size for all steps, where a record's moves of Cx overlap as little as these;
///   α·S²/2σ², S the `sensitivity` of all patterns of that separation.
/// Under add_remove and zero_out, one record a person: an event for the Rényi accountant, with count 1. It does not carry
/// `neighbours`, which the accountant has to share.
/// Guarantee: upper bounds; up to rounding exact for C = I without separation, where the run is of Poisson-sampled Gaussians.
/// At rates below 1e-6 rounding is no small part of them.
/// Cost: bands·10⁵ exponentials or so for each of some 60 orders.
/// @throws std::invalid_argument for replace_one, for a separation below the bands, for more than 1000 bands and for a dense strategy
///         that is not lower triangular; std::domain_error for values out of range
template <class Strategy, std::same_as<double> T = double>
[[nodiscard]] std::vector<composed> matrix_run(Strategy const& c, double noise_multiplier,
                                               separated_poisson const& how, adjacency neighbours) {
  char const* const me = "matrix_run";
  detail::check_positive(me, "noise_multiplier", noise_multiplier);
  detail::check_strategy(me, c);
  detail::check_probability(me, "rate", how.rate);
  detail::check_count(me, "separation", how.separation);
  if (neighbours == adjacency::replace_one) {
    detail::refuse_unwritten("samples that keep a distance, under replace_one",
                             "use add_remove or zero_out, or cyclic Poisson samples");
  }
  std::vector<T> const a = detail::band_bounds(c);
  std::uint64_t const bands = a.size();
  detail::check_apart("separation", how.separation, bands);
  detail::require_argument(bands <= detail::most_separated_bands, me, "number of bands", bands,
                           "at most 1000 for samples that keep a distance");
  double const square = detail::inner_product_up(a, a);
  if (!(square > 0.0) || how.rate == 0.0) return {};

  std::uint64_t const rows = detail::rows_of(c);
  std::uint64_t const times = detail::ceiling_of(rows, how.separation);
  double const whole =
      detail::divide_up(detail::multiply_up(detail::count_up(times), square),
                        detail::multiply_down(2.0 * noise_multiplier, noise_multiplier));
  detail::separated_chain<T> const by_rows(detail::row_shifts(a, noise_multiplier), how);
  detail::separated_chain<T> const even(detail::even_shifts(a, noise_multiplier), how);
  double const width = static_cast<double>(bands);
  double const row_windows = detail::divide_up(detail::count_up(rows), width);
  double const even_windows = detail::divide_up(detail::count_up(rows + bands - 1), width);

  std::uint64_t const most = detail::separated_chain<T>::most_turns;
  renyi_dp out;
  for (double const order : detail::separated_orders<T>(a.size())) {
    double best = detail::next_up(detail::multiply_up(whole, order));  // never 0
    double const share = detail::divide_up(order, order - 1.0);
    auto const take = [&](detail::separated_chain<T> const& chain, double windows,
                          std::uint64_t turns) {
      return detail::multiply_up(share, chain.log_norm(order, windows, rows / bands, turns));
    };
    // One window tells what is not worth more of them.
    double const first = take(by_rows, row_windows, 1);
    double const second = bands > 1 ? take(even, even_windows, 1) : detail::infinite_double;
    best = std::min({best, first, second});
    if (first <= 4.0 * second) best = std::min(best, take(by_rows, row_windows, most));
    if (second <= 4.0 * first) best = std::min(best, take(even, even_windows, most));
    if (best <= detail::largest_double) out.points.push_back({order, best});
  }
  if (out.points.empty()) {
    throw std::domain_error("matrix_run: noise_multiplier is too small for any finite divergence");
  }
  return {{event(out), 1}};
}

[[nodiscard]] inline std::vector<composed> matrix_run(tree_strategy const&, double,
                                                      separated_poisson const&, adjacency) {
  throw std::invalid_argument(
      "matrix_run: no bound is implemented for a tree under samples that keep a distance; state it "
      "as a dense strategy, or use cyclic Poisson samples");
}

}  // namespace tacit
