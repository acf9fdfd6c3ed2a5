// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/contour/integrate.hpp>
#include <tacit/dp/contour/search.hpp>
#include <tacit/dp/contour/table.hpp>
#include <tacit/dp/saddle.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

/// The contour accountant: certified δ(ε) of a composition of Gaussian mixtures, without a grid.
///
/// With K(z) = Σ count·log M(z) over the events, for any θ > 0,
///
///   δ(ε) = (1/2πi) ∫_{θ−i∞}^{θ+i∞} e^{K(z)−zε} / (z(z+1)) dz.
///
/// K on the real axis is the Rényi accountant; on the vertical line it is the truth. θ is the saddle
/// point, so nothing cancels: errors are relative to δ, at 1e-5 as at 1e-100. The trapezoid rule on the
/// line, spacing η, returns exactly Σ_k e^{θkP}δ(ε+kP), P = 2π/η: more than δ(ε) by terms that Chernoff
/// bounds. What else is not exact is bounded and added: the end of the line (|M| falls under a bound
/// monotone in Im z, got by moving the integral in x off the real axis), the trapezoid rule in x (the
/// same bound on the other side), the dropped tail of P, and rounding.

namespace tacit::detail {

/// One direction of a composition of normal and mixture pairs.
template <std::same_as<double> T = double>
class contour : contour_search<T> {
  using search = contour_search<T>;
  using line = contour_line<T>;
  using table = typename search::table;

 public:
  using entry = typename search::entry;

  /// `variance` is Σ count·mu² of the normal pairs.
  contour(std::vector<entry> entries, T variance) : search(std::move(entries), variance) {}

  /// ε at δ, certified.
  [[nodiscard]] bound<T> epsilon(T delta) const {
    T const log_delta = std::log(delta);
    return by_best_route([&] { return epsilon_by_route(log_delta); });
  }

  /// log δ at ε, certified.
  [[nodiscard]] bound<T> log_delta(T epsilon) const {
    return by_best_route([&] { return log_delta_by_route(epsilon); });
  }

  /// Whether the Chernoff (Rényi) bound alone shows that δ(ε) ≤ e^{log_delta}: cheap, and enough
  /// to see that the other direction rules. The tail that is dropped from P counts in full: `loosely` a
  /// few percent of δ are given for it, which says far more where rare large losses rule the moments.
  [[nodiscard]] bool chernoff_below(T epsilon, T log_delta, bool loosely = false) const;

  /// An upper bound on δ(0), the total variation, in closed form: the sum of the events', and √(KL/2)
  /// (Pinsker, which holds in either order), KL(M‖N) ≤ log(1 + χ²), χ² = Σ w_i w_j (e^{μ_i μ_j} − 1).
  [[nodiscard]] T variation() const;

  /// An upper bound on E_P[L], the Kullback–Leibler divergence.
  [[nodiscard]] T divergence() const;

 private:
  using search::chernoff_constant;
  using search::chernoff_epsilon;
  using search::choose_cuts;
  using search::coarse_;
  using search::cuts_;
  using search::entries_;
  using search::fine;
  using search::kind_;
  using search::log_tolerance_;
  using search::most_work_;
  using search::prepared;
  using search::rough;
  using search::saddle_for_delta;
  using search::saddle_for_epsilon;
  using search::smallest_tilt;
  using search::start_;
  using search::tabulate;
  using search::variance_;

  // The tapered table on the real axis is best for long compositions. Where most of P is nearly an atom,
  // with rare jumps, |M| does not fall: the split table takes the part without jumps off. In other short
  // compositions |M| falls slowly along the line, and e^{itL} there turns too fast to be sampled: the
  // table is lifted off the real axis to where it falls instead.
  template <class Answer>
  [[nodiscard]] bound<T> by_best_route(Answer&& answer) const {
    struct way {
      table kind;
      T work;
      T log_tolerance;
    };
    T const each = static_cast<T>(entries_.size());
    for (auto const& [kind, work, tolerance] :
         {way{table::tapered, 3e5 * each, fine}, way{table::split, 3e6, fine},
          way{table::split, 3e6, rough}, way{table::tapered, 3e6, fine},
          way{table::lifted, 2e7, fine}, way{table::split, 2e7, rough},
          way{table::tapered, 2e7, fine}}) {
      kind_ = kind;
      log_tolerance_ = tolerance;
      most_work_ = work;
      cuts_.clear();
      try {
        return answer();
      } catch (no_certificate const&) {
      }
    }
    throw no_certificate{};
  }

  [[nodiscard]] bound<T> epsilon_by_route(T log_delta) const;

  [[nodiscard]] bound<T> log_delta_by_route(T epsilon) const;

  // Newton's method on log δ(ε), kept inside a bracket. δ(ε) ≥ 1 − e^ε gives its lower end; an ε at which
  // this line can tell nothing is too large, for δ falls.
  [[nodiscard]] static T root(line const& at, T log_delta) {
    T low = std::log1p(-std::exp(log_delta));
    T high = std::numeric_limits<T>::infinity();
    T epsilon = std::max(at.start(), low);
    for (int step = 0; step < 200; ++step) {
      certified_profile<T> const p = at.profile(epsilon);
      bool const known = p.value > p.below && p.slope > 0.0;
      T const excess = known ? p.log_scale + std::log(p.value) - log_delta : -1.0;
      (excess > 0.0 ? low : high) = epsilon;
      T next = known ? epsilon + excess * p.value / p.slope : low;
      if (known && !(std::abs(next - epsilon) > 1e-14 * std::abs(epsilon))) return next;
      if (!(next > low && next < high)) {
        bool const open = !(high < std::numeric_limits<T>::max());
        if (!open && !(high - low > 1e-15 * std::abs(high))) break;
        next = open ? 2.0 * std::abs(epsilon) + 1.0 / at.tilt() : 0.5 * (low + high);
      }
      epsilon = next;
    }
    return epsilon;
  }

  // The end of the interval for ε: the certificate itself must hold there.
  [[nodiscard]] static T end(line const& at, T epsilon, T log_delta, bool upper) {
    for (T factor = 1.0; factor < 1e6; factor *= 2.0) {
      certified_profile<T> const p = at.profile(epsilon);
      T const width = (upper ? p.above : p.below) * factor / p.slope;
      T const step = std::max(width, 4.0 * unit_roundoff * std::abs(epsilon) * factor);
      T const candidate = upper ? epsilon + step : epsilon - step;
      certified_profile<T> const there = at.profile(candidate);
      if (upper ? there.log_upper() <= log_delta : there.log_lower() >= log_delta) return candidate;
    }
    throw no_certificate{};
  }
};

template <std::same_as<double> T>
bool contour<T>::chernoff_below(T epsilon, T log_delta, bool loosely) const {
  kind_ = table::tapered;
  log_tolerance_ = loosely ? -1.0 : fine;
  cuts_.clear();
  tabulate(log_delta, 0.0);
  T error = loosely ? 0.05 : 1e-3;  // −log(1 − e^{−3.3}) = .038
  T second = variance_;
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    T const a = std::min(8.0, coarse_[k].strip());
    error += entries_[k].count *
             std::exp(0.5 * a * a - 2.0 * std::numbers::pi * a / coarse_[k].step() + 5.0);
    second += entries_[k].count * coarse_[k].at(0.0).curvature;
  }
  T best = std::numeric_limits<T>::infinity();
  for (T tilt = 0.5 / std::sqrt(second); tilt < 1e15; tilt *= 1.5) {
    T const bound = this->value(tilt) - tilt * epsilon + chernoff_constant(tilt);
    if (bound + error <= log_delta) return true;
    if (!(bound < best)) return false;
    best = bound;
  }
  return false;
}

template <std::same_as<double> T>
T contour<T>::variation() const {
  T sum = std::erf(std::sqrt(0.125 * variance_));
  T divergence = 0.5 * variance_;
  for (entry const& e : entries_) {
    T square = 0.0;
    for (mixture_pair::part const& part : e.pair.parts) {
      sum += e.count * part.weight * std::erf(part.shift / std::sqrt(8.0));
      for (mixture_pair::part const& other : e.pair.parts) {
        square += part.weight * other.weight * std::expm1(part.shift * other.shift);
      }
    }
    divergence += e.count * std::log1p(square);
  }
  return std::min({1.0, sum, std::sqrt(0.5 * divergence)}) * (1.0 + 1e-9);
}

template <std::same_as<double> T>
T contour<T>::divergence() const {
  T sum = 0.5 * variance_;
  for (entry const& e : entries_) {
    T const step = std::min(0.3, 1.5 / e.pair.parts.back().shift);
    sum += e.count * mixture_table<T>(e.pair, std::nullopt, 0.0, step).divergence();
  }
  return sum * 1.001;
}

template <std::same_as<double> T>
bound<T> contour<T>::epsilon_by_route(T log_delta) const {
  if (kind_ == table::split) {
    // A first guess from tables without what is too rare to matter for it.
    tabulate(log_delta - log_tolerance_ - 2.0, 0.0);
    T const guess = chernoff_epsilon(log_delta);
    tabulate(log_delta, 0.0);
    choose_cuts(guess, log_delta);
  }
  saddle<T> found = prepared(log_delta, [&] { return saddle_for_delta(log_delta); });
  if (kind_ == table::split && found.epsilon > 0.0) {
    choose_cuts(found.epsilon, log_delta);
    found = prepared(log_delta, [&] { return saddle_for_delta(log_delta); });
  }
  for (int round = 0;; ++round) {
    line const at(*this, found, log_delta);
    T const epsilon = root(at, log_delta);
    // Where losses come in rare jumps the saddle<T> point's own estimate is far off: once more, with the
    // tilt that belongs to the ε just found.
    bool const off = std::abs(epsilon - found.epsilon) * found.tilt > 1.0;
    if ((round < 2 && off) || (round < 3 && at.small(epsilon) > log_delta + log_tolerance_ + 1.0)) {
      if (kind_ == table::split) choose_cuts(epsilon * 0.99, log_delta);
      saddle<T> const better = prepared(log_delta, [&] { return saddle_for_epsilon(epsilon); });
      found = {better.tilt, epsilon, log_delta};
      continue;
    }
    return {end(at, epsilon, log_delta, false), end(at, epsilon, log_delta, true)};
  }
}

template <std::same_as<double> T>
bound<T> contour<T>::log_delta_by_route(T epsilon) const {
  T guess = std::log(1e-20);
  saddle<T> found{};
  for (int round = 0; round < 3; ++round) {
    if (kind_ == table::split) {
      cuts_.clear();
      if (round == 0) {
        tabulate(guess, 0.0);
        start_ = smallest_tilt();
        found = prepared(guess, [&] { return saddle_for_epsilon(epsilon); });
        guess = std::min(found.log_delta, -1e-3);
        tabulate(guess, 0.0);
      }
      choose_cuts(epsilon, guess);
    }
    found = prepared(guess, [&] { return saddle_for_epsilon(epsilon); });
    bool const is_near = std::abs(found.log_delta - guess) < 2.0;
    guess = std::min(found.log_delta, -1e-3);
    if (is_near) break;
  }
  line const at(*this, {found.tilt, epsilon, guess}, guess);
  certified_profile<T> const p = at.profile(epsilon);
  if (!(p.value > p.below)) throw no_certificate{};
  return {p.log_lower(), p.log_upper()};
}

#if defined(TACIT_COMPILED)
extern template class contour<double>;
#endif

}  // namespace tacit::detail
