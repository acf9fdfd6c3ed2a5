// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/quadrature.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/loss.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

/// What the Rényi divergences of all pairs are computed from: tables of losses, and the search for the
/// places that matter. See `rdp/divergence.hpp`.

namespace tacit::detail {

/// e^{log_mass}·(e^w − 1 − w), without overflow between the two.
template <real T>
[[nodiscard]] T scaled_residual(T const& log_mass, T const& w) {
  using elementary::exp;
  if (w > 1) {
    return exp(log_mass + w) * (1 - (1 + w) * exp(-w));
  }
  return exp(log_mass) * exp_residual(w);
}

/// log(e^w − 1 − w).
[[nodiscard]] inline double log_exp_residual(double w) {
  return w > 30.0 ? w + elementary::log1p(-(1.0 + w) * elementary::exp(-w))
                  : elementary::log(exp_residual(w));
}

/// By how many e-folds an integrand has to fall to be dropped.
template <real T>
inline constexpr double fold_range =
    static_cast<double>(std::numeric_limits<T>::digits) * std::numbers::ln2 + 6.0;

/// The next step of 18 bits: its multiples up to 2³⁵ are doubles.
[[nodiscard]] inline double short_step(double step) {
  int power = 0;
  double const fraction = std::frexp(step, &power);
  return std::ldexp(std::floor(std::ldexp(fraction, 18)), power - 18);
}

/// A computed value, and a bound on its error.
template <real T>
struct with_error {
  T value;
  T error;
};

/// log(1 + scaled·e^{log_scale}) / z; `error` is that of `scaled`.
template <real T>
[[nodiscard]] with_error<T> divergence_of(T const& z, T const& scaled, T const& error,
                                          T const& log_scale) {
  using elementary::exp, elementary::log, elementary::log1p;
  T const unit = std::numeric_limits<T>::epsilon() / 2;
  T const total = scaled + exp(-log_scale);
  T const log_moment = log_scale == 0 ? log1p(scaled) : log_scale + log(total);
  T const value = log_moment / z;
  T const rounding = 8 * unit * (value + log_scale / z);
  // Below 1e-290 products underflow; this covers what they lose.
  T const lost = T(value < T(1e-290) ? 1e-290 : 0.0);
  T const apart =
      error < total ? T(error / (total - error) / z) : std::numeric_limits<T>::infinity();
  return {value, apart + rounding + lost};
}

/// The logarithm of κ = 2.03·e^{growth}·ρ^{−2N}/(1 − ρ^{−2}) at the best of many ρ, for Gauss–Legendre panels of a half-width:
/// docs/certificates/renyi.md, Lemma 8. `growth(along, across)` is that of the integrand in an ellipse of these semi-axes,
/// ∞ where it is not analytic.
template <real T, class Growth>
[[nodiscard]] double log_panel_error(double half, Growth&& growth) {
  double const twice_nodes = 4.0 * static_cast<double>(gauss_legendre<T>().size());
  double least = std::numeric_limits<double>::infinity();
  for (double rho = 1.25; rho < 1e15; rho *= 1.2) {
    double const grown = growth(0.5 * half * (rho + 1.0 / rho), 0.5 * half * (rho - 1.0 / rho));
    if (!(grown < std::numeric_limits<double>::infinity())) break;
    least = std::min(least, grown + 0.71 - twice_nodes * elementary::log(rho) -
                                elementary::log1p(-1.0 / (rho * rho)));
  }
  return least;
}

/// What D = log M/z errs by where M errs by at most e^{log_part} of itself. D is at least 0. ∞ for NaN.
template <real T>
[[nodiscard]] T error_of_part(double log_part, double z, T const& divergence) {
  if (!(log_part < std::numeric_limits<double>::infinity())) {
    return std::numeric_limits<T>::infinity();
  }
  double const part = elementary::exp(std::min(log_part, 0.0));
  if (part < 0.5) return T(1.01 * part / (1.0 - part) / z);
  T const above = T(1.01 * log_add(0.0, log_part) / z);
  return above > divergence ? above : divergence;
}

/// The least of three bounds on a divergence of losses L ≤ `largest`, without a quadrature: D ≤ largest, and M − 1 is at
/// most `share`·(e^whole − 1), and `second`. docs/certificates/renyi.md, Lemmas 3 and 4.
template <real T>
[[nodiscard]] with_error<T> without_quadrature(T const& z, T const& largest, T const& share,
                                               T const& whole, T const& second) {
  using elementary::expm1;
  T const unit = std::numeric_limits<T>::epsilon() / 2;
  T least = second;
  if (whole < 500) {
    T const convex = share * expm1(whole);
    if (convex < least) least = convex;
  }
  // Exponents below 500, of factors that are right to a few units.
  with_error<T> out{largest, 32 * unit * largest};
  if (least <= std::numeric_limits<T>::max()) {
    with_error<T> const found = divergence_of(z, least, 20000 * unit * least, T(0));
    if (found.value + found.error < out.value + out.error) out = found;
  }
  return out;
}

/// Losses L_k with their masses p_k under P.
template <real T>
class loss_table {
 public:
  struct entry {
    T loss;
    T log_mass;
    T loss_error;  // of the loss, absolute, in units of rounding
    T mass_error;  // of the mass, relative, likewise
  };

  void reserve(std::size_t size) {
    for (auto* column :
         {&loss_, &log_mass_, &mass_, &loss_error_, &mass_error_, &lowest_, &highest_}) {
      column->reserve(size);
    }
  }

  void add(entry const& e) {
    using elementary::exp;
    bool const first = loss_.empty();
    lowest_.push_back(first || e.log_mass < lowest_.back() ? e.log_mass : lowest_.back());
    highest_.push_back(first || e.loss > highest_.back() ? e.loss : highest_.back());
    loss_.push_back(e.loss);
    log_mass_.push_back(e.log_mass);
    mass_.push_back(exp(e.log_mass));
    // With what a summand's own roundings count for: renyi.md, Lemma 10.
    loss_error_.push_back(e.loss_error + 2 * magnitude(e.loss));
    mass_error_.push_back(e.mass_error + magnitude(e.log_mass) + 16);
    T const backward = scaled_residual(e.log_mass, T(-e.loss));
    divergence_ += backward;
    T const slope = backward - mass_.back() * e.loss;  // d/dL of the summand, up to sign
    divergence_error_ =
        divergence_error_ + (magnitude(slope) * loss_error_.back() + backward * mass_error_.back());
  }

  /// Q's mass where P has none.
  void exclude(T const& mass) { divergence_ += mass; }

  [[nodiscard]] std::size_t size() const { return loss_.size(); }

  /// The divergence at order 1 + z from the first `count` entries.
  [[nodiscard]] with_error<T> divergence(T const& z, std::size_t count) const {
    using elementary::exp;
    T const unit = std::numeric_limits<T>::epsilon() / 2;
    T const backward = divergence_.value();
    if (count == 0) return divergence_of(z, T(z * backward), T(8 * unit * (z * backward)), T(0));
    bool const plain = lowest_[count - 1] > -690 && z * highest_[count - 1] < 600;
    T log_scale = 0;
    if (!plain) {
      for (std::size_t k = 0; k < count; ++k) {
        T const log_term = log_mass_[k] + z * loss_[k];
        if (log_term > log_scale) log_scale = log_term;
      }
      if (log_scale < 300) log_scale = 0;  // M may be near 1: only M − 1 has its digits
    }
    T sum = 0;
    T error = 0;
    for (std::size_t start = 0; start < count; start += block) {
      std::size_t const end = std::min(count, start + block);
      T part = 0;
      T part_error = 0;
      for (std::size_t k = start; k < end; ++k) {
        T const w = z * loss_[k];
        // The largest term is at least e^−2 of the scale, this one below e^−50.
        if (log_scale > 0 && log_mass_[k] + (w > 0 ? w : 0) < log_scale - T(skip_range)) {
          continue;
        }
        T const mass = plain ? mass_[k] : exp(log_mass_[k] - log_scale);
        T const term =
            plain ? mass * exp_residual(w) : scaled_residual(log_mass_[k] - log_scale, w);
        T const slope = term + mass * w;
        part = part + term;
        part_error = part_error + (magnitude(slope) * z * loss_error_[k] + term * mass_error_[k]);
      }
      sum = sum + part;
      error = error + part_error;
    }
    T const share = z * exp(-log_scale);
    sum = sum + share * backward;
    error = error + share * divergence_error_;
    std::size_t const added = block + count / block + 8;
    T const adding = T(static_cast<double>(added));
    return divergence_of(z, sum, unit * (error + adding * sum), log_scale);
  }

 private:
  static constexpr std::size_t block = 32;
  // 50 e-folds, and 80 for e^w − 1 − w ≤ w²/2 at w < 0.
  static constexpr double skip_range = 90.0 + fold_range<T>;

  std::vector<T> loss_;
  std::vector<T> log_mass_;
  std::vector<T> mass_;
  std::vector<T> loss_error_;
  std::vector<T> mass_error_;
  std::vector<T> lowest_;          // log_mass so far
  std::vector<T> highest_;         // loss so far
  compensated_sum<T> divergence_;  // KL(P‖Q)
  T divergence_error_ = 0;
};

/// `sampled_loss`, and how much of the likelihood ratio the sampled part makes.
template <real T>
struct sampled_ratio {
  T loss;
  T share;

  sampled_ratio(T const& rate, T const& l) {
    using elementary::exp;
    T const rest = 1 - rate;
    loss = sampled_loss(l, rate, rest);
    share = rest > 0 ? rate / (rate + rest * exp(-l)) : 1;
  }
};

struct interval {
  double low;
  double high;
};

inline constexpr std::size_t most_pieces = 6000;

/// Parts of a range, and a bound on the logarithm of an integral over the others.
struct significant_parts {
  std::vector<interval> kept;
  double log_dropped = -std::numeric_limits<double>::infinity();
};

/// So many e-folds that parts of a range of this length, dropped together, are below rounding.
template <real T>
[[nodiscard]] double folds_of_dropped(double length) {
  return fold_range<T> + 4.0 + elementary::log1p(length);
}

/// What is left of [low, high] when the parts are dropped on which an integrand is proved to stay
/// `range` e-folds below its largest known value: bisection down to pieces of length `leaf`.
/// `bound(a, b)` bounds its logarithm on [a, b], `value(x)` is its logarithm. Nothing where that would be more pieces than
/// a quadrature is worth.
template <class Bound, class Value>
[[nodiscard]] std::optional<significant_parts> significant(double low, double high, double leaf,
                                                           double best, double range, Bound&& bound,
                                                           Value&& value,
                                                           std::size_t most = most_pieces) {
  struct piece {
    interval where;
    double most;
  };
  if (!(low < high)) return significant_parts{};
  std::vector<piece> waiting{{{low, high}, std::numeric_limits<double>::infinity()}};
  std::vector<piece> kept;
  best = std::max({best, value(low), value(high)});
  std::size_t seen = 0;
  while (!waiting.empty()) {
    if (++seen > most) return std::nullopt;
    piece const now = waiting.back();
    waiting.pop_back();
    if (now.most < best - range) continue;
    if (now.where.high - now.where.low <= leaf) {
      kept.push_back(now);
      continue;
    }
    double const middle = 0.5 * (now.where.low + now.where.high);
    best = std::max(best, value(middle));
    piece const left{{now.where.low, middle}, bound(now.where.low, middle)};
    piece const right{{middle, now.where.high}, bound(middle, now.where.high)};
    waiting.push_back(right);  // so that the pieces come out in order
    waiting.push_back(left);
  }
  significant_parts all;
  std::vector<interval>& out = all.kept;
  for (piece const& p : kept) {
    if (p.most < best - range) continue;
    if (!out.empty() && out.back().high == p.where.low) {
      out.back().high = p.where.high;
    } else {
      out.push_back(p.where);
    }
  }
  all.log_dropped = elementary::log(high - low) + best - range;
  return all;
}

/// The largest value on [a, b] of a chord less a parabola: e_a + slope·(x−a) − x₊²/2.
[[nodiscard]] inline double chord_bound(double a, double at_a, double b, double at_b) {
  double const slope = (at_b - at_a) / (b - a);
  double const x = std::clamp(slope, a, b);
  double const y = std::max(x, 0.0);
  return at_a + slope * (x - a) - 0.5 * y * y;
}

/// Bounds on log G(u), G(u) = (1+u)^p − 1 − pu ≥ 0, the integrand of M − 1, for u > 0: p = α for
/// `remove`, 1−α for `add`. From log v for some v ≥ u, and ℓ = log(1+u). Where log v and ℓ are convex
/// in x, so are both bounds: for p ≥ 2 log G is convex in log v, and at most pℓ; otherwise G lies below two powers
/// of v (p < 2: p(p−1)/2·v², and v^p or, for p < 0, −pv).
class convex_growth {
 public:
  convex_growth(bool remove, double z)
      : remove_(remove), z_(z), square_(elementary::log(0.5 * z * (1.0 + z))) {}

  [[nodiscard]] std::array<double, 2> operator()(double log_v, double log_ratio) const {
    if (remove_ && z_ >= 1.0) {
      double const loss = log1p_exp(log_v);
      return {loss + log_add(log_exp_residual(z_ * loss),
                             elementary::log(z_) + log_exp_residual(-loss)),
              (1.0 + z_) * log_ratio};
    }
    return {square_ + 2.0 * log_v, remove_ ? (1.0 + z_) * log_v : elementary::log(z_) + log_v};
  }

 private:
  bool remove_;
  double z_;
  double square_;
};

/// Gauss–Legendre panels: use(node, weight) over [low, high] in pieces of at most `width`, up to rounding; of a range that
/// is far smaller in one piece.
template <real T, class Use>
void over_panels(double low, double high, double width, Use&& use) {
  auto const& rule = gauss_legendre<T>();
  if (!(low < high)) return;
  auto const pieces =
      static_cast<std::size_t>(std::max(1.0, std::ceil((high - low) / width - 1e-9)));
  T const half = (T(high) - T(low)) / T(static_cast<double>(2 * pieces));
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    T const centre = T(low) + half * T(static_cast<double>(2 * piece + 1));
    for (std::size_t k = rule.size(); k-- > 0;) {
      use(centre - half * rule[k].node, half * rule[k].weight);
    }
    for (auto const& [node, weight] : rule) use(centre + half * node, half * weight);
  }
}

/// By how many units a node x of such panels, over a range of this length, is off its place at most: renyi.md, Lemma 8.
template <real T>
[[nodiscard]] T units_off(T const& x, double length) {
  return 2 * magnitude(x) + 6 * T(length);
}

}  // namespace tacit::detail
