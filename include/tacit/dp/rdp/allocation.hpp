// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/short_number.hpp>
#include <tacit/dp/allocation/inverse_moments.hpp>
#include <tacit/dp/allocation/whole_moments.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rdp/mixture.hpp>
#include <tacit/dp/rdp/table.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>

namespace tacit::detail {

/// The Rényi divergences of an epoch of random allocation. With S the mean of t independent U = e^{aZ − a²/2}, a = 1/σ,
///   (α−1)·D_α = log E S^α in the direction `remove`, log E S^{1−α} in the direction `add`.
/// Guarantee: upper bounds. docs/certificates/allocation.md, Lemmas 19 to 22:
///   remove   whole orders by their moments, and between them the chord; up to 2 as if all steps but the record's own were at
///            their mean; beyond the tables t Poisson samples at the rate 1/t, or Minkowski's inequality
///   add      by a quadrature; where it has no answer, S is at least the geometric mean of its U
/// and either way no more than one release that every record takes part in.
template <real T, std::same_as<double> D = double>
class allocation_divergence {
 public:
  explicit allocation_divergence(allocation_pair const& pair)
      : noise_(pair.noise_multiplier),
        steps_(static_cast<D>(pair.steps)),
        way_(pair.orientation),
        square_(square(enclosure(1.0) / pair.noise_multiplier)) {}

  [[nodiscard]] with_error<T> operator()(T const& order) {
    return {T(upper(static_cast<D>(order))), T(0)};
  }

  /// Of so many that are asked together: tables of all take about as long as of sixteen.
  void among(std::size_t many) {
    D const share = std::max(1.0, static_cast<D>(many) / 16.0);
    most_whole_ = std::max(40.0, std::floor(most_whole_ / std::sqrt(share)));
  }

  /// In losses of mixtures: see `basic_renyi_curve`.
  [[nodiscard]] D work() const {
    return work_ + (moments_ ? of_moment * moments_->work() : 0.0) +
           (poisson_ ? poisson_->work() : 0.0);
  }

 private:
  static constexpr D infinity = std::numeric_limits<D>::infinity();
  static constexpr D of_moment = 0.2;
  static constexpr D of_quadrature = 0.4;

  [[nodiscard]] D upper(D order) {
    D const whole = (0.5 * enclosure(order) * square_).upper;
    // Numbers that are far outside what anyone asks.
    if (!(square_.upper < 1e6 && square_.lower > 1e-200 && order > 1.0 + 1e-12)) return whole;
    return std::min(whole, way_ == orientation::remove ? removed(order) : added(order));
  }

  [[nodiscard]] D removed(D order) {
    D const z = order - 1.0;
    if (order < 2.0) return std::min(near_one(z), removed(2.0));
    if (order > most_whole_) return beyond(order);
    D const below = std::floor(order);
    D const low = log_moment(below);
    if (below == order) return (enclosure(low) / (enclosure(order) - 1.0)).upper;
    enclosure const share = enclosure(order) - below;
    return ((low + share * (enclosure(log_moment(below + 1.0)) - low)) / (enclosure(order) - 1.0))
        .upper;
  }

  // log E S^m at most.
  [[nodiscard]] D log_moment(D m) {
    if (!moments_) moments_.emplace(noise_, steps_);
    return moments_->log_moment(static_cast<std::size_t>(m));
  }

  // Lemma 20: z ≤ 1. E S^z ≤ E(1 − 1/t + U/t)^z under P, by the trapezoid rule.
  [[nodiscard]] D near_one(D z) {
    D const a = 1.0 / noise_;
    D const d = std::min(3.1 / a, 8.0);
    D const h = short_number(2.0 * std::numbers::pi_v<D> * d / (43.0 + 0.5 * d * d), 22);
    D const first = std::floor((a - 10.0) / h);
    D const last = std::ceil((a + z * a + 10.0) / h);
    if (!(last - first < 20'000.0)) return infinity;
    D const rate = 1.0 / steps_;
    D sum = 0.0;    // of E(1 + (U−1)/t)^z − 1
    D wrong = 0.0;  // in units
    for (D k = first; k <= last; k += 1.0) {
      D const x = k * h;
      D const bent = 0.5 * (x - a) * (x - a);
      D const mass =
          h * elementary::exp(-bent) * std::numbers::inv_sqrtpi_v<D> / std::numbers::sqrt2_v<D>;
      D const y = a * (x - 0.5 * a);
      D const step = rate * elementary::expm1(y);
      D const part = elementary::expm1(z * elementary::log1p(step));
      sum += mass * part;
      // x − a and y are differences; a share of the U counts.
      D const share = std::min(1.0, (step + rate) / (1.0 + step));
      D const size = std::abs(a * x) + a * a + 8.0;
      wrong +=
          mass * (std::abs(part) * (bent + 2.0 * (std::abs(x) + a) * (std::abs(x - a) + 1.0) +
                                    last - first + 48.0) +
                  (1.0 + part) * z * (8.0 * share * size + 8.0 * std::abs(step) / (1.0 + step)));
    }
    work_ += of_quadrature * (last - first);
    // Nodes and cuts err by less than 2e^{−43} and 1e-22 of it.
    enclosure const excess =
        sum + enclosure(1.01 * unit_roundoff) * wrong + enclosure(1e-18) * (1.0 + sum);
    return (log1p(excess) / enclosure(z)).upper;
  }

  // Orders beyond the tables.
  [[nodiscard]] D beyond(D order) {
    enclosure const t = steps_;
    enclosure const half = 0.5 * square_;
    D const log_jump = (half * order).upper;
    D best = infinity;
    if (log_jump < 1.5 * elementary::log(steps_) + 1.0) {
      if (!poisson_) {
        poisson_.emplace(
            mixture_pair{{{divide_up(1.0, steps_), divide_up(1.0, noise_)}}, orientation::remove});
      }
      with_error<D> const one = (*poisson_)(std::ceil(order));
      best = multiply_up(steps_, add_up(one.value, one.error));
    }
    // e^D ≤ 1 + (Σ_{j<m} (e^{a²(α−j)/2} − 1) + e^{a²} − 1)/t, 1 < α − m ≤ 2.
    D const m = std::ceil(order) - 2.0;
    if (!(m < steps_)) return best;
    enclosure const one = enclosure(1.0) / -expm1(-half);  // Σ e^{−ja²/2}, j ≥ 0
    D by_jumps = infinity;
    if (log_jump < 600.0) {
      enclosure const all = exp(enclosure(log_jump)) * one * -expm1(-half * m);
      by_jumps = log1p((all - m + expm1(square_)) / t).upper;
    } else {
      enclosure const all = log_jump + log(min(one, enclosure(m)));
      by_jumps = epochs::log1p_exp_above((all + log1p(exp(square_ - all)) - log(t)).upper);
    }
    return std::min(best, by_jumps);
  }

  [[nodiscard]] D added(D order) {
    // Divergences rise with the order, and E S^{−q} with q.
    D const q = std::max(least_inverse, subtract_up(order, 1.0));
    D const z = std::max(least_inverse, subtract_down(order, 1.0));
    // S ≥ (ΠU_i)^{1/t}.
    D const geometric = (0.5 * square_ * (1.0 + enclosure(q) / steps_)).upper;
    epochs::inverse_moment<D> const moment(noise_, steps_, q);
    work_ += of_quadrature * moment.work();
    return std::min(geometric, divide_up(moment.log_most(), z));
  }
  static constexpr D least_inverse = 0.01;

  D noise_;
  D steps_;
  orientation way_;
  enclosure square_;  // a²
  // The largest order of the tables, whose cost grows with its square: of few steps more.
  D most_whole_ = steps_ >= 1000.0 ? 2000.0 : 640.0;
  std::optional<epochs::whole_moments<D>> moments_;
  std::optional<mixture_divergence<D>> poisson_;
  D work_ = 0.0;
};

}  // namespace tacit::detail
