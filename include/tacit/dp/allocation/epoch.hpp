// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/agreement.hpp>
#include <tacit/dp/allocation/line_sums.hpp>
#include <tacit/dp/allocation/one_jump.hpp>
#include <tacit/dp/allocation/step_sums.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

/// One epoch of random allocation: a record takes part in one of t steps, which one is uniform and secret.
///
/// With X = ΣU_i, U_i = e^{aZ_i − a²/2}, a = 1/σ, the dominating pair (mean of N(e_i, σ²I), N(0, σ²I)) has
///   δ_remove(ε) = E(X − c)₊/t, c = t·e^ε;   δ_add(ε) = e^ε·E(c − X)₊/t, c = t·e^{−ε}.
/// Sources and proofs: docs/certificates/allocation.md.

namespace tacit::detail::epochs {

/// Sums that have answered at one ε, for those near it: their bounds hold at every ε.
template <std::same_as<double> T = double>
class kept_sums {
 public:
  [[nodiscard]] std::vector<any_sum<T>> const& all() const { return all_; }

  /// Of what is kept the oldest is dropped where it becomes too much.
  void keep(any_sum<T> one) {
    nodes_ += size_of<T>(one);
    all_.push_back(std::move(one));
    while (all_.size() > 1 && nodes_ > most_nodes) {
      nodes_ -= size_of<T>(all_.front());
      all_.erase(all_.begin());
    }
  }

 private:
  static constexpr std::size_t most_nodes = std::size_t{1} << 22;  // 16 bytes each
  std::vector<any_sum<T>> all_;
  std::size_t nodes_ = 0;
};

/// The two-sided answers for one epoch in one direction.
template <std::same_as<double> T = double>
class epoch {
 public:
  epoch(allocation_pair const& pair, orientation way)
      : sums_(step_ratio<T>(pair.noise_multiplier), static_cast<T>(pair.steps), way),
        lines_(sums_.step(), static_cast<T>(pair.steps), sums_.way()),
        noise_(pair.noise_multiplier),
        steps_(static_cast<T>(pair.steps)),
        own_(pair, way) {}

  /// δ(ε). Guarantee: holds the pair's; about `width` wide, relatively, where lattices of 2^19 points do.
  [[nodiscard]] bound<T> delta(T epsilon, T width = 1e-6) const {
    work_budget work(work_on_epoch);
    return delta(epsilon, work, width);
  }
  /// What `keep` has serves ε near those that it was found for, where it is within twice `width`.
  [[nodiscard]] bound<T> delta(T epsilon, work_budget& work, T width = 1e-6,
                               kept_sums<T>* keep = nullptr) const {
    bound<T> kept{0.0, 1.0};
    if (keep != nullptr) {
      for (auto const& one : keep->all()) {
        narrow(kept, std::visit([&](auto const& sum) { return sums_.from(sum, epsilon); }, one));
      }
      if (kept.upper - kept.lower <= 2.0 * width * kept.upper) return kept;
    }
    T const given = work.left();
    bound<T> best = at_once_delta(epsilon, work);
    narrow(best, kept);
    // Where U is cut beyond c a sum serves smaller c, too.
    T const place = keep == nullptr             ? epsilon
                    : sums_.way() == side::call ? 1.05 * epsilon + 0.01
                                                : std::max(0.0, 0.95 * epsilon - 0.01);
    // A line is made for a δ of some size, which it may find to be smaller.
    auto const by_lines = [&](work_budget& own, T most) {
      for (int attempt = 0; attempt < 5; ++attempt) {
        if (!(best.upper > std::numeric_limits<T>::min() && is_wide_delta(best, width))) return;
        auto line = lines_.at(place, best.upper, own, most);
        if (!line) return;
        bound<T> const before = best;
        narrow(best, sums_.from(*line, epsilon));
        bool const last = !is_wide_delta(best, width) ||
                          !(best.upper - best.lower < 0.5 * (before.upper - before.lower));
        if (last && keep != nullptr) keep->keep(std::move(*line));
        if (last) return;
      }
    };
    by_lines(work, line_sums<T>::usual_work);
    T points = 0x1p13;
    for (int attempt = 0; attempt < 6; ++attempt) {
      if (!(best.upper > std::numeric_limits<T>::min())) break;
      if (!is_wide_delta(best, width)) break;
      std::optional<certified_sum<T>> sum = sums_.at(place, points, best.upper, work);
      T const before = best.upper;
      if (sum) narrow(best, sums_.from(*sum, epsilon));
      T const off = (best.upper - best.lower) / (width * best.upper);
      if (off <= 1.0 || points == most_points) {
        if (sum && keep != nullptr) keep->keep(std::move(*sum));
        break;
      }
      // The width falls with the square of the step, once the lattices are for a δ of that size.
      if (best.upper < 0.1 * before) continue;
      points = std::min(most_points, points * std::clamp(1.3 * std::sqrt(off), 2.0, 32.0));
    }
    after_lattices(given, work, [&](work_budget& own) { by_lines(own, line_sums<T>::most_work); });
    return best;
  }

  /// ε(δ). Guarantee: holds the pair's; about `width`·max(1, ε) wide where lattices of 2^19 points do.
  [[nodiscard]] bound<T> epsilon(T delta, T width = 2e-7) const {
    work_budget work(work_on_epoch);
    return epsilon(delta, work, width);
  }
  [[nodiscard]] bound<T> epsilon(T delta, work_budget& work, T width = 2e-7) const {
    T const given = work.left();
    bound<T> best = at_once_epsilon(delta, work);
    if (best.upper - best.lower <= width * std::max(1.0, best.upper)) return best;
    T guess = std::clamp(sums_.estimate(best.upper, delta), best.lower, best.upper);
    auto const by_lines = [&](work_budget& own, T most) {
      for (int attempt = 0; attempt < 5; ++attempt) {
        auto const line = lines_.at(guess, delta, own, most);
        if (!line) return false;
        narrow(best, read(*line, guess, delta, best));
        if (best.upper - best.lower <= width * std::max(1.0, best.upper)) return true;
        guess = std::clamp(newton(*line, guess, delta), best.lower, best.upper);
      }
      return false;
    };
    if (by_lines(work, line_sums<T>::usual_work)) return best;
    T points = 0x1p12;
    bool may_group = steps_ > 8192.0;
    bool grouped = false;
    for (int attempt = 0; attempt < 14; ++attempt) {
      std::optional<certified_sum<T>> const sum = sums_.at(guess, points, delta, work, grouped);
      T const before = best.upper - best.lower;
      bool settled = true;
      if (sum) {
        narrow(best, read(*sum, guess, delta, best));
        T const next = std::clamp(newton(*sum, guess, delta), best.lower, best.upper);
        settled = std::abs(next - guess) <= 2e-3 * guess;
        guess = next;
      }
      T const after = best.upper - best.lower;
      T const off = after / (width * std::max(1.0, best.upper));
      if (off <= 1.0) return best;
      bool const stuck = settled && !(after < 0.5 * before);
      if (points == most_points && stuck) break;
      if (grouped && stuck) {
        grouped = false;
        points = most_points;
        continue;
      }
      // The width falls with the square of the step.
      points *= settled ? std::clamp(1.3 * std::sqrt(off), 2.0, 32.0) : attempt > 4 ? 2.0 : 1.0;
      if (may_group && points > 0x1p17) {
        may_group = false;
        grouped = true;
        points = 0x1p16;
      }
      points = std::min(points, grouped ? 0x1p18 : most_points);
    }
    guess = std::clamp(guess, best.lower, best.upper);
    after_lattices(given, work,
                   [&](work_budget& own) { (void)by_lines(own, line_sums<T>::most_work); });
    return best;
  }

 private:
  // A dear line has work of its own, half as much as there was for all before it.
  template <class Use>
  static void after_lattices(T given, work_budget& work, Use&& use) {
    work_budget own(0.5 * given);
    use(own);
    (void)work.spend(0.5 * given - own.left());
  }

  static constexpr T most_points = 0x1p19;

  // One step that every record takes part in, for no fewer steps are than one, and what the record's own step says.
  [[nodiscard]] gaussian_dp whole() const { return {divide_up(1.0, noise_)}; }
  [[nodiscard]] bound<T> at_once_epsilon(T delta, work_budget& work) const {
    bound<T> out = own_.epsilon(delta, work);
    out.upper = std::max(out.lower, std::min(out.upper, tacit::epsilon(whole(), delta).upper));
    return out;
  }
  [[nodiscard]] bound<T> at_once_delta(T epsilon, work_budget& work) const {
    bound<T> out = own_.delta(epsilon, work);
    out.upper = std::max(out.lower, std::min(out.upper, tacit::delta(whole(), epsilon).upper));
    return out;
  }

  [[nodiscard]] static bool is_wide_delta(bound<T> const& found, T width) {
    return found.upper - found.lower > width * found.upper;
  }

  // Sums are made for ε near a guess; from there they are read to either side.
  template <class Sum>
  [[nodiscard]] bound<T> read(Sum const& sum, T guess, T delta, bound<T> known) const {
    auto const holds = [&](T e) { return sums_.from(sum, e).upper <= delta; };
    auto const exceeds = [&](T e) { return sums_.from(sum, e).lower > delta; };
    bound<T> out = known;
    T const least = std::max(1e-9 * guess, std::numeric_limits<T>::min());
    if (holds(guess)) {
      T gap = least;
      while (gap < guess && holds(guess - gap)) gap *= 2.0;
      out.upper =
          last_holding(std::min(guess, guess - 0.5 * gap), std::max(0.0, guess - gap), holds);
      if (!holds(out.upper)) out.upper = guess;
      if (gap >= guess && holds(0.0)) out.upper = 0.0;
    } else {
      T gap = least;
      while (guess + gap < known.upper && !holds(guess + gap)) gap *= 2.0;
      T const e = std::min(known.upper, guess + gap);
      if (holds(e)) out.upper = last_holding(e, guess, holds);
    }
    if (exceeds(guess)) {
      T gap = least;
      while (guess + gap < out.upper && exceeds(guess + gap)) gap *= 2.0;
      out.lower = last_holding(guess, std::min(std::max(out.upper, guess), guess + gap), exceeds);
    } else {
      T gap = least;
      while (gap < guess && !exceeds(guess - gap)) gap *= 2.0;
      T const e = std::max(0.0, guess - gap);
      if (exceeds(e)) out.lower = last_holding(e, guess, exceeds);
    }
    return out;
  }

  // From the guess to where log δ is the one asked for, by the slope that is read off.
  template <class Sum>
  [[nodiscard]] T newton(Sum const& sum, T guess, T delta) const {
    auto const log_delta = [&](T e) {
      bound<T> const d = sums_.from(sum, e);
      return elementary::log(0.5 * (d.lower + d.upper) + std::numeric_limits<T>::min());
    };
    T const step = std::min(1e-3 * guess, 0x1p-12);  // before the cut of U
    T const here = log_delta(guess);
    T const slope = (here - log_delta(guess - step)) / step;
    T const move = (elementary::log(delta) - here) / slope;
    return move > -guess ? guess + move : 0.5 * guess;
  }

  step_sums<step_ratio<T>, T> sums_;
  line_sums<T> lines_;
  T noise_;
  T steps_;
  one_jump<T> own_;
};

}  // namespace tacit::detail::epochs
