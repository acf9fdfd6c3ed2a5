// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/grid/law.hpp>
#include <tacit/dp/saddle.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// Where to tilt a composition: its saddle point, from sketches of the laws. Estimates: they steer, and never
/// bound.

namespace tacit::detail {

/// Losses and masses for estimates, dense enough for sums e^{θ·loss} and coarse enough to be cheap.
template <std::same_as<double> T = double>
struct loss_sketch {
  std::vector<T> loss;  // ascending
  std::vector<T> p;
  T count = 0.0;

  /// The more laws there are, the fewer points each gets.
  explicit loss_sketch(loss_law<T> const& law, std::size_t laws = 1) : count(law.count) {
    // Many atoms count in groups of neighbours, at their means: no mass is lost.
    std::vector<loss_atom<T>> atoms = law.atoms;
    std::size_t const group = atoms.size() / 4096 + 1;
    if (group > 1) sort_by_loss(atoms);
    for (std::size_t k = 0; k < atoms.size(); k += group) {
      T mass = 0.0;
      T weighted = 0.0;
      for (std::size_t j = k; j < std::min(k + group, atoms.size()); ++j) {
        mass += atoms[j].p;
        weighted += atoms[j].p * (atoms[j].loss - atoms[k].loss);
      }
      if (mass > 0.0) put(atoms[k].loss + weighted / mass, mass);
    }
    std::size_t const of_atoms = p.size();
    for (loss_curve<T> const& part : law.curves) {
      std::visit(
          [&](auto const& curve) {
            T const length = curve.high - curve.low;
            T const rough = std::min(curve.roughness(curve.low, curve.high), 16.0);
            T const least = laws > 20 ? 24.0 : 64.0;
            T const most = laws > 20 ? 200.0 : 4096.0;
            T const affordable = std::clamp(most_work / law.point_cost(), least, most);
            auto const n = static_cast<int>(std::clamp(length * rough, least, affordable));
            for (int k = 0; k < n; ++k) {
              T const t = curve.low + length * (k + 0.5) / n;
              T const l = curve.loss(t);
              put(l, elementary::exp(curve.log_density(t, l)) * length / n);
            }
          },
          part);
    }
    match(of_atoms, 1.0 - law.infinite - law.above - law.below);
    std::vector<std::size_t> order(loss.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return loss[a] < loss[b]; });
    std::vector<T> sorted_loss;
    std::vector<T> sorted_p;
    for (std::size_t const k : order) {
      sorted_loss.push_back(loss[k]);
      sorted_p.push_back(p[k]);
    }
    loss = std::move(sorted_loss);
    p = std::move(sorted_p);
  }

  [[nodiscard]] cumulants<T> at(T tilt) const {
    T high = -std::numeric_limits<T>::infinity();
    for (T const l : loss) high = std::max(high, tilt * l);
    T sum = 0.0;
    T first = 0.0;
    T second = 0.0;
    T const base = loss.empty() ? 0.0 : loss[loss.size() / 2];
    for (std::size_t k = 0; k < loss.size(); ++k) {
      T const w = p[k] * elementary::exp(tilt * loss[k] - high);
      T const d = loss[k] - base;
      sum += w;
      first += w * d;
      second += w * d * d;
    }
    T const mean = first / sum;
    return {high + elementary::log(sum), base + mean, std::max(0.0, second / sum - mean * mean)};
  }

 private:
  static constexpr T most_work = 1e8;  // counted nanoseconds, where a loss has many parts

  // Makes the masses from the curves, which are a sum in the place of an integral, add up to what they are with those of the
  // atoms: of many releases an error in each is a large one in all.
  void match(std::size_t of_atoms, T whole) {
    T rest = whole;
    T sum = 0.0;
    for (std::size_t k = 0; k < of_atoms; ++k) rest -= p[k];
    for (std::size_t k = of_atoms; k < p.size(); ++k) sum += p[k];
    if (!(rest > 0.01 && sum > 0.5 * rest && sum < 2.0 * rest)) return;
    for (std::size_t k = of_atoms; k < p.size(); ++k) p[k] *= rest / sum;
  }

  void put(T l, T mass) {
    if (!(mass > 0.0)) return;
    loss.push_back(l);
    p.push_back(mass);
  }
};

/// What a query is about; the other of the two is estimated.
template <std::same_as<double> T = double>
struct loss_query {
  bool wants_epsilon;
  T value;
  /// What is missing of the pairs: an upper end of ε is one for a δ that is less by that. To a δ it is added by who asks.
  T left_out = 0.0;

  /// The δ that an upper end of ε is for.
  [[nodiscard]] T rest() const { return subtract_down(value, left_out); }

  /// Brings ε's upper end in `found`, which is for all of δ, up to what `ask` finds at the rest: bounds, alone or with the way to
  /// them, or nothing.
  template <class Found, class Ask>
  void charge(Found& found, Ask&& ask) const {
    bound<T>* const here = bound_of(found);
    if (here == nullptr || left_out == 0.0) return;
    T upper = std::numeric_limits<T>::infinity();
    if (T const delta = rest(); delta > 0.0) {
      auto other = ask(delta);
      if (bound<T> const* const there = bound_of(other)) upper = there->upper;
    }
    here->upper = std::max(here->upper, upper);
  }
  /// ε(value), by what `ask` finds of ε at a δ.
  template <class Ask>
  [[nodiscard]] auto epsilon_by(Ask&& ask) const {
    auto found = ask(value);
    charge(found, ask);
    return found;
  }

  /// Before the value, for a message.
  [[nodiscard]] std::string_view words() const {
    return wants_epsilon ? "epsilon at delta " : "delta at epsilon ";
  }

 private:
  template <class Found>
  [[nodiscard]] static bound<T>* bound_of(Found& found) {
    if constexpr (std::same_as<Found, bound<T>>) {
      return &found;
    } else if constexpr (requires { found->value; }) {
      return found ? &found->value : nullptr;
    } else if constexpr (requires { *found; }) {
      return found ? &*found : nullptr;
    } else {
      return &found.value;
    }
  }
};

/// Of all of them.
template <std::same_as<double> T = double>
[[nodiscard]] cumulants<T> cumulants_at(std::span<loss_sketch<T> const> sketches, T tilt) {
  cumulants<T> sum{0.0, 0.0, 0.0};
  for (loss_sketch<T> const& s : sketches) {
    cumulants<T> const one = s.at(tilt);
    sum.value += s.count * one.value;
    sum.slope += s.count * one.slope;
    sum.curvature += s.count * one.curvature;
  }
  return sum;
}

/// The saddle point at this tilt.
template <std::same_as<double> T = double>
[[nodiscard]] saddle<T> saddle_at(std::span<loss_sketch<T> const> sketches, T tilt) {
  return saddle_at(tilt, cumulants_at(sketches, tilt));
}

/// The saddle point for the query, or far out where there is none.
template <std::same_as<double> T = double>
[[nodiscard]] saddle<T> find_saddle(std::span<loss_sketch<T> const> sketches, loss_query<T> query) {
  constexpr T farthest = 1e20;
  T const log_delta = query.wants_epsilon ? elementary::log(query.value) : 0.0;
  T const curvature = cumulants_at<T>(sketches, 0.0).curvature;
  auto const found = find_saddle(
      smallest_log_tilt(std::max(curvature, 1e-30)),
      [&](T tilt) { return saddle_at(sketches, tilt); },
      [&](saddle<T> const& s) {
        return query.wants_epsilon ? s.log_delta - log_delta : (query.value - s.epsilon) * s.tilt;
      });
  return found && found->tilt < farthest ? *found : saddle_at(sketches, farthest);
}

}  // namespace tacit::detail
