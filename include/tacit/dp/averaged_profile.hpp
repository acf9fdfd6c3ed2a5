// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/grid/listed_losses.hpp>
#include <tacit/dp/grid/measure.hpp>
#include <tacit/dp/grid/tail.hpp>
#include <tacit/dp/rays/real_profile.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace tacit::detail {

/// Σ_ℓ P_B(ℓ)·δ_A(ε − ℓ), near some ε: δ_A by rays, B on a grid. docs/certificates/grid.md, Lemma 17.
template <std::same_as<double> T = double>
class averaged_profile {
 public:
  /// `jumps` lives longer, and is asked for more rays. `close`: how near each other the ends of δ_A are to be, over δ.
  averaged_profile(rays::real_profile<T>& jumps, certified_tail<T> others, T close)
      : jumps_(&jumps), others_(std::move(others)), close_(close) {
    std::vector<T> const roots = third_roots_of(others_.above.law());
    few_ = listed(others_.above, rounding_side::above, losses_to_approach,
                  [&](std::size_t k) { return roots[k]; });
  }

  [[nodiscard]] T tilt() const { return others_.above.tilt(); }

  /// Guarantee: lower ≤ δ(ε) ≤ upper. Nothing without a lower end.
  [[nodiscard]] std::optional<bound<T>> delta(T epsilon, work_budget& work) {
    // Asks for rays where they matter.
    (void)known_part(epsilon, few_, rounding_side::above, work);
    list_for(epsilon, work);
    T const aside = this->aside(epsilon);
    T const lower = sum(epsilon, aside, below_, rounding_side::below, work);
    T const upper = sum(epsilon, aside, above_, rounding_side::above, work);
    if (!(lower > 0.0)) return std::nullopt;
    return bound<T>{lower, upper};
  }

  /// How fast log δ falls in ε, where it was approached. An estimate.
  [[nodiscard]] T fall() const { return -slope_; }

  /// The ε of the others alone, at least, which is no more than that of all.
  [[nodiscard]] T others_epsilon(T log_delta) const {
    return others_.epsilon(elementary::exp(log_delta)).lower;
  }

  /// Moves ε to about where δ(ε) is δ: an estimate. Whether it came near.
  [[nodiscard]] bool approach(T log_delta, T& epsilon, work_budget& work) {
    auto const miss = [&](T e) {
      return elementary::log(known_part(e, few_, rounding_side::above, work)) - log_delta;
    };
    // Secants of log δ, which falls: short ones first, for far out rays are dear. Errors are left out: those of a coarse grid
    // may be large, and an ε is all that is wanted of it.
    T at = miss(epsilon);
    slope_ = -(1.0 + tilt());
    T farthest = 0.1 / (1.0 + tilt());
    T low = 0.0;  // where δ is more, and below where it is less
    T high = infinity;
    for (int round = 0; round < 32 && !(std::abs(at) < 1e-6); ++round) {
      (at > 0.0 ? low : high) = epsilon;
      T next = std::max(0.5 * epsilon, epsilon + std::min(-at / slope_, farthest));
      bool const inside = next > low && next < high;
      if (high < infinity && (!inside || (round % 3 == 2 && std::abs(at) > 0.1)))
        next = 0.5 * (low + high);
      T const there = miss(next);
      if (!(std::abs(there) < infinity) || next < 1e-12 || work.ended()) return false;
      T const slope = (there - at) / (next - epsilon);
      if (slope < 0.0) slope_ = slope;
      farthest = 4.0 * std::abs(next - epsilon);
      epsilon = next;
      at = there;
    }
    return std::abs(at) < 1.0;
  }

  /// Near the ε that was approached. Guarantee: lower ≤ ε(δ) ≤ upper. Nothing without an upper end.
  [[nodiscard]] std::optional<bound<T>> epsilon(T log_delta, T about, work_budget& work) {
    list_for(about, work);
    T const farthest = 4.0 * about + 1.0;
    T const aside = this->aside(farthest);
    T const rounded = 16.0 * unit_roundoff * (1.0 + std::abs(log_delta));
    // An end by secants, to where its bound holds by a little.
    T slope = slope_;
    auto const end = [&](listed_losses<T> const& losses, rounding_side side,
                         T from) -> std::optional<T> {
      T const sign = side == rounding_side::above ? 1.0 : -1.0;
      auto const miss = [&](T e) {
        return elementary::log(sum(e, aside, losses, side, work)) - log_delta + sign * rounded;
      };
      T e = from;
      T at = miss(e);
      std::optional<T> best;  // where it holds, the nearest so far
      T little = 1e-11;
      for (int round = 0; round < 12 && std::abs(at) < infinity && !work.ended(); ++round) {
        if (sign * at <= 0.0) best = e;
        if (sign * at <= 0.0 && sign * at > -8.0 * little) break;
        // Not too near at first: then it holds there, and is had if the work should end.
        T const margin = std::max(little, 1e-3 * std::abs(at));
        T const next = e - (at + sign * margin) / slope;
        T const there = miss(next);
        if (next != e && (there - at) / (next - e) < 0.0) slope = (there - at) / (next - e);
        e = next;
        at = there;
        little *= 2.0;
      }
      if (sign * at <= 0.0) best = e;
      return best && *best <= farthest ? best : std::nullopt;
    };
    std::optional<T> const upper = end(above_, rounding_side::above, about);
    if (!upper) return std::nullopt;
    std::optional<T> const lower = end(below_, rounding_side::below, *upper);
    return bound<T>{std::max(0.0, lower.value_or(0.0)), std::max(0.0, *upper)};
  }

 private:
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static constexpr std::size_t most_losses = 768;
  static constexpr std::size_t losses_to_approach = 96;
  static constexpr int asked_at_once = 16;

  // The losses for sums near ε, where rays have been asked: short stretches where δ_A(ε − ℓ) bends, too.
  void list_for(T epsilon, work_budget& work) {
    above_ = listed_for(epsilon, others_.above, rounding_side::above, work);
    below_ = listed_for(epsilon, others_.below, rounding_side::below, work);
  }
  [[nodiscard]] listed_losses<T> listed_for(T epsilon, tilted_tail<T> const& others,
                                            rounding_side side, work_budget& work) const {
    measure<T> const& law = others.law();
    std::vector<T> const roots = third_roots_of(law);
    std::size_t first = 0;
    std::size_t last = law.mass.size() - 1;
    while (first < last && !(roots[first] > 2e-6)) ++first;
    while (first < last && !(roots[last] > 2e-6)) --last;
    // δ_A over these nodes' losses, and how it bends.
    constexpr std::size_t mesh = 192;
    T const spacing = static_cast<T>(last - first + 1) / static_cast<T>(mesh);
    T const width = others.step() * spacing;
    std::vector<T> at;
    for (std::size_t j = 0; j <= mesh; ++j) {
      at.push_back(epsilon - others.first() - others.step() * static_cast<T>(first) -
                   width * static_cast<T>(j));
    }
    std::vector<T> delta;
    for (T const log_delta : jumps_->at(at, work).upper)
      delta.push_back(elementary::exp(log_delta));
    std::vector<T> bend = delta;
    for (std::size_t j = 1; j < mesh; ++j) {
      bend[j] += std::max(0.0, delta[j - 1] - 2.0 * delta[j] + delta[j + 1]) / (width * width);
    }
    std::vector<T> needs(law.mass.size(), 0.0);
    T whole = 0.0;
    T whole_roots = 0.0;
    for (std::size_t k = first; k <= last; ++k) {
      auto const j = static_cast<std::size_t>(static_cast<T>(k - first) / spacing + 0.5);
      needs[k] = std::cbrt(law.mass[k] * bend[std::min(j, mesh)]) *
                 elementary::exp(-others.tilt() * others.step() * static_cast<T>(k - first) / 3.0);
      whole += needs[k];
      whole_roots += roots[k];
    }
    T const share = whole > 0.0 ? 4.0 * whole_roots / whole : 0.0;
    return listed(others, side, most_losses,
                  [&](std::size_t k) { return roots[k] + share * needs[k]; });
  }

  // By how much ε is moved to the safe side.
  [[nodiscard]] T aside(T epsilon) const {
    T const farthest =
        std::abs(epsilon) + std::abs(others_.range.lower) + std::abs(others_.range.upper);
    return std::max(others_.above.shift(), others_.below.shift()) + jumps_->aside(farthest) +
           16.0 * unit_roundoff * (1.0 + farthest);
  }

  // δ(ε) at most, or at least, where losses and ε are known to `aside` together.
  [[nodiscard]] T sum(T epsilon, T aside, listed_losses<T> const& losses, rounding_side side,
                      work_budget& work) {
    bool const up = side == rounding_side::above;
    tilted_tail<T> const& others = up ? others_.above : others_.below;
    if (!up && !others_.lower_holds) return 0.0;
    T const known = known_part(up ? epsilon - aside : epsilon + aside, losses, side, work);
    T const infinite = up ? others_.infinite_above : others_.infinite_below;
    T const off = error(epsilon, aside, others, work);
    T const rounded = 2.0 * unit_roundoff * static_cast<T>(losses.loss.size() + 8);
    if (up) return std::min(1.0, (known + off + infinite) * (1.0 + rounded));
    return std::max(0.0, (known + infinite) * (1.0 - rounded) - off);
  }

  // Σ P_B(ℓ)·δ_A(ε − ℓ) over these losses, by an end of each δ_A. Asks for rays until that end is near the other.
  [[nodiscard]] T known_part(T epsilon, listed_losses<T> const& losses, rounding_side side,
                             work_budget& work) {
    bool const up = side == rounding_side::above;
    std::size_t const n = losses.loss.size();
    std::vector<T> at(n);
    for (std::size_t k = 0; k < n; ++k) at[k] = epsilon - losses.loss[k];
    // What each loss leaves open, and where that is much.
    std::vector<std::pair<T, std::size_t>> wide;
    for (;;) {
      auto const known = jumps_->at(at, work);
      T total = 0.0;
      T open = 0.0;  // how far the ends are apart
      wide.clear();
      for (std::size_t k = 0; k < n; ++k) {
        T const log_p = losses.log_p[k];
        if (!(log_p > -infinity)) continue;
        T const used = up ? known.upper[k] : known.lower[k];
        T const wear = 16.0 + 4.0 * (std::abs(log_p) + std::abs(used));
        T const off = jumps_->blur() + unit_roundoff * wear;
        total += elementary::exp(log_p + used + (up ? off : -off));
        T const apart =
            elementary::exp(log_p + known.upper[k]) - elementary::exp(log_p + known.lower[k]);
        open += apart;
        wide.emplace_back(apart, k);
      }
      if (!(open > close_ * total && ask_where(wide, at, close_ * total, work))) return total;
    }
  }

  // Asks for rays at the ε that leave most open, but for `close` together. Whether there are any more.
  [[nodiscard]] bool ask_where(std::vector<std::pair<T, std::size_t>>& wide,
                               std::vector<T> const& at, T close, work_budget& work) {
    std::sort(wide.begin(), wide.end(),
              [](auto const& a, auto const& b) { return a.first > b.first; });
    T const enough = close / static_cast<T>(wide.size());
    int asked = 0;
    for (auto const& [apart, k] : wide) {
      if (asked == asked_at_once || !(apart > enough) || work.ended()) break;
      if (!jumps_->may_ask(at[k], 0.05 / (1.0 + tilt()))) continue;
      (void)jumps_->ask(at[k], work);
      ++asked;
    }
    return asked > 0 && !work.ended();
  }

  // What the distance of the tilted masses is worth.
  [[nodiscard]] T error(T epsilon, T aside, tilted_tail<T> const& others, work_budget& work) const {
    T const theta = others.tilt();
    T const low = epsilon - aside;
    T const largest = jumps_->log_largest(theta, low - others_.range.upper,
                                          epsilon + aside - others_.range.lower, work);
    T const log_size = others.log_scale() + largest - theta * low;
    T const off = 16.0 * unit_roundoff *
                  (std::abs(others.log_scale()) + std::abs(largest) + std::abs(theta * low));
    return others.slack() * elementary::exp(log_size + off) * (1.0 + 1e-12) +
           std::numeric_limits<T>::min();
  }

  rays::real_profile<T>* jumps_;
  listed_losses<T> above_;
  listed_losses<T> below_;
  listed_losses<T> few_;
  certified_tail<T> others_;
  T close_;        // how near each other the ends of δ_A are to be, over δ
  T slope_ = 0.0;  // of log δ, where it was approached
};

}  // namespace tacit::detail
