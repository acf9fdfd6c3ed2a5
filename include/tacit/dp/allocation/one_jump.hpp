// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/allocation/whole_moments.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <vector>

namespace tacit::detail::epochs {

/// What the record's own step says of one epoch: with δ_μ the profile of N(μ, 1) against N(0, 1), a = 1/σ and any y > 0
///   δ_a(ε + log t) ≤ δ_remove(ε) ≤ f(0) + min(1, 1/y)·(f(y) − f(0)) + min_m E S^m/y^m, f(v) = δ_a(log(t(e^ε − v))),
///   δ_add(ε) ≤ δ_{a/√t}(ε − a²(1 − 1/t)/2).
/// Narrow where a step's ratio may be larger than the sum of all others. docs/certificates/allocation.md, Lemmas 23 and 24.
template <std::same_as<double> T = double>
class one_jump {
 public:
  one_jump(allocation_pair const& pair, orientation way)
      : one_jump(pair.noise_multiplier, static_cast<T>(pair.steps), way) {}
  one_jump(T noise_multiplier, T steps, orientation way)
      : noise_(noise_multiplier), steps_(steps), way_(way) {}

  /// ε(δ). Guarantee: holds the pair's.
  [[nodiscard]] bound<T> epsilon(T delta, work_budget& work) const {
    if (way_ == orientation::add) {
      return {0.0, add_up(tacit::epsilon(of_mean(), delta).upper, middle())};
    }
    enclosure const log_steps = log(enclosure(steps_));
    bound<T> out{std::max(0.0, (tacit::epsilon(least(), delta).lower - log_steps).lower),
                 tacit::epsilon(most(), delta).upper};
    if (!serves()) return out;
    std::vector<T> const moments = log_moments(work, elementary::log(delta));
    for (T share = 0.5; share > 1e-10; share *= 0.125) {
      enclosure const others = share * enclosure(delta);
      T const own = (delta - others).lower;
      if (!(own > 0.0 && others.lower > 0.0)) continue;
      T log_y = std::numeric_limits<T>::infinity();
      for (std::size_t k = 0; k < moments.size(); ++k) {
        log_y = std::min(log_y, ((moments[k] - log(others)) / static_cast<T>(k + 2)).upper);
      }
      T const jump = (tacit::epsilon(most(), own).upper - log_steps).upper;
      out.upper = std::min(out.upper, log_sum(jump, log_y));
    }
    out.upper = std::max(out.upper, out.lower);
    return out;
  }

  /// δ(ε). Guarantee: holds the pair's.
  [[nodiscard]] bound<T> delta(T epsilon, work_budget& work) const {
    if (way_ == orientation::add) {
      T const rest = subtract_down(epsilon, middle());
      return {0.0, rest >= 0.0 ? tacit::delta(of_mean(), rest).upper : 1.0};
    }
    T const upper = deltas({epsilon}, work).front();
    T const lower = tacit::delta(least(), (epsilon + log(enclosure(steps_))).upper).lower;
    return {lower, std::max(lower, upper)};
  }

  /// δ_remove at most, at each of many ε, which rise.
  [[nodiscard]] std::vector<T> deltas(std::vector<T> const& epsilons, work_budget& work) const {
    std::vector<T> moments;
    if (serves()) moments = log_moments(work, -epsilons.back() - 40.0);
    std::vector<T> out;
    enclosure const log_steps = log(enclosure(steps_));
    T share = 0.5;  // y is e^ε·share: the best is not far from the last one
    for (T const epsilon : epsilons) {
      T const first = std::min(0.5, 8.0 * share);
      T const last = epsilon == epsilons.front() ? 1e-10 : share / 8.0;
      T least_delta = tacit::delta(most(), epsilon).upper;
      T const alone = std::max(0.0, (epsilon + log_steps).lower);
      T const own = tacit::delta(most(), alone).upper;
      for (T of = first; of > last; of *= 0.5) {
        T const found = of_share(epsilon, of, own, moments);
        if (!(found < least_delta)) continue;
        least_delta = found;
        share = of;
      }
      out.push_back(least_delta);
    }
    return out;
  }

 private:
  static constexpr std::size_t most_moments = 300;

  [[nodiscard]] bool serves() const { return noise_ > 1e-2 && noise_ < 1e6; }

  // f(0) + min(1, 1/y)·(f(y) − f(0)) + min_m E S^m/y^m, f(y) = δ_a(log(t(e^ε − y))), for y = share·e^ε; `own` is f(0).
  [[nodiscard]] T of_share(T epsilon, T share, T own, std::vector<T> const& moments) const {
    enclosure const log_y = epsilon + log(enclosure(share));
    T const jump = (epsilon + log1p(-enclosure(share)) + log(enclosure(steps_))).lower;
    T others = 0.0;  // log of what more than y of the others has
    for (std::size_t k = 0; k < moments.size(); ++k) {
      others = std::min(others, (moments[k] - static_cast<T>(k + 2) * log_y).upper);
    }
    if (!(jump >= 0.0 && others < 0.0)) return 1.0;
    T const more = subtract_up(tacit::delta(most(), jump).upper, own);
    T const part = log_y.lower > 0.0 ? exp(-log_y).upper : 1.0;
    return add_up(add_up(own, multiply_up(part, std::max(0.0, more))),
                  exp(enclosure(others)).upper);
  }

  // log E S^m at most, m = 2, 3, …: as long as they make y smaller, for others that have e^{log_delta}.
  [[nodiscard]] std::vector<T> log_moments(work_budget& work, T log_delta) const {
    whole_moments<T> moments(noise_, steps_);
    std::vector<T> out;
    T best = std::numeric_limits<T>::infinity();
    for (std::size_t m = 2; m < most_moments; ++m) {
      out.push_back(moments.log_moment(m));
      T const log_y = (out.back() - log_delta) / static_cast<T>(m);
      if (log_y > best + 0.5) break;
      best = std::min(best, log_y);
    }
    (void)work.spend(cost * moments.work());
    return out;
  }

  [[nodiscard]] static T log_sum(T x, T y) {
    enclosure const high = std::max(x, y);
    return (high + log1p(exp(enclosure(std::min(x, y)) - high))).upper;
  }

  [[nodiscard]] gaussian_dp most() const { return {divide_up(1.0, noise_)}; }
  [[nodiscard]] gaussian_dp least() const { return {divide_down(1.0, noise_)}; }
  // The geometric mean of t ratios: normal losses about a²/2, of a deviation of a/√t.
  [[nodiscard]] gaussian_dp of_mean() const {
    return {(enclosure(1.0) / noise_ / sqrt(enclosure(steps_))).upper};
  }
  [[nodiscard]] T middle() const {
    return (0.5 * square(enclosure(1.0) / noise_) * (1.0 - enclosure(1.0) / steps_)).upper;
  }

  static constexpr T cost = 12.0;  // of an exponent, in nanoseconds

  T noise_;
  T steps_;
  orientation way_;
};

/// The lower ends of compositions of epochs and of Gaussians, by each record's own steps: S ≥ U_I/t. Lemma 23.
template <std::same_as<double> T = double>
class own_steps {
 public:
  void add(allocation_pair const& pair, T count) {
    auto const same = std::find_if(kinds_.begin(), kinds_.end(), [&](kind const& k) {
      return k.noise == pair.noise_multiplier && k.steps == static_cast<T>(pair.steps);
    });
    if (same != kinds_.end()) {
      same->count = add_down(same->count, count);
    } else if (kinds_.size() < most_kinds) {
      kinds_.push_back({pair.noise_multiplier, static_cast<T>(pair.steps), count});
    }
  }

  /// ε(δ) at least, beside Gaussians of μ² = `variance`.
  [[nodiscard]] T epsilon(T delta, T variance) const {
    T best = 0.0;
    each(variance, [&](gaussian_dp of, enclosure const& log_steps) {
      best = std::max(best, (tacit::epsilon(of, delta).lower - log_steps).lower);
    });
    return best;
  }
  /// δ(ε) at least.
  [[nodiscard]] T delta(T epsilon, T variance) const {
    T best = 0.0;
    each(variance, [&](gaussian_dp of, enclosure const& log_steps) {
      best = std::max(best, tacit::delta(of, (epsilon + log_steps).upper).lower);
    });
    return best;
  }

 private:
  static constexpr std::size_t most_kinds = 64;
  struct kind {
    T noise;
    T steps;
    T count;
  };

  // Some of one kind, and all of those of which each tells more than it hides.
  template <class Use>
  void each(T variance, Use&& use) const {
    enclosure all = variance;
    enclosure all_steps = 0.0;
    auto const ask = [&](enclosure const& of, enclosure const& log_steps) {
      T const mu = sqrt(of).lower;
      if (mu > 0.0 && mu < 1e100) use(gaussian_dp{mu}, log_steps);
    };
    for (kind const& k : kinds_) {
      enclosure const square_of = square(enclosure(1.0) / k.noise);
      enclosure const log_of = log(enclosure(k.steps));
      for (T some = 1.0; some < k.count; some *= 2.0) {
        ask(variance + some * square_of, some * log_of);
      }
      ask(variance + k.count * square_of, k.count * log_of);
      if (!((0.5 * square_of).lower > log_of.upper)) continue;
      all += k.count * square_of;
      all_steps += k.count * log_of;
    }
    ask(all, all_steps);
  }

  std::vector<kind> kinds_;
};

}  // namespace tacit::detail::epochs
