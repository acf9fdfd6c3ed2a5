// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/contour/moment.hpp>
#include <tacit/dp/dominating.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
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

/// What could not be certified, and so must be answered by other means.
struct no_certificate {};

/// log δ, with everything that is not sure.
struct certified_profile {
  double log_scale;  // δ = e^{log_scale}·value
  double value;
  double below;  // δ ≥ e^{log_scale}(value − below)
  double above;  // δ ≤ e^{log_scale}(value + above)
  double slope;  // −dδ/dε, in the same scale

  [[nodiscard]] double log_upper() const { return log_scale + std::log(value + above); }
  [[nodiscard]] double log_lower() const {
    return value > below ? log_scale + std::log(value - below)
                         : -std::numeric_limits<double>::infinity();
  }
};

/// One direction of a composition of normal and mixture pairs.
class contour {
 public:
  struct entry {
    mixture_pair pair;
    double count;
  };

  /// `variance` is Σ count·mu² of the normal pairs.
  contour(std::vector<entry> entries, double variance)
      : entries_(std::move(entries)), variance_(variance) {}

  /// ε at δ, certified.
  [[nodiscard]] bound<double> epsilon(double delta) const {
    double const log_delta = std::log(delta);
    return by_best_route([&] { return epsilon_by_route(log_delta); });
  }

  /// log δ at ε, certified.
  [[nodiscard]] bound<double> log_delta(double epsilon) const {
    return by_best_route([&] { return log_delta_by_route(epsilon); });
  }

  /// Whether δ(ε) is surely at most e^{log_delta}, by the Chernoff (Rényi) bound alone: cheap, and enough
  /// to see that the other direction rules. The tail that is dropped from P counts in full: `loosely` a
  /// few percent of δ are given for it, which says far more where rare large losses rule the moments.
  [[nodiscard]] bool surely_below(double epsilon, double log_delta, bool loosely = false) const {
    kind_ = table::tapered;
    log_tolerance_ = loosely ? -1.0 : fine;
    cuts_.clear();
    tabulate(log_delta, 0.0);
    double error = loosely ? 0.05 : 1e-3;  // −log(1 − e^{−3.3}) = .038
    double second = variance_;
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      double const a = std::min(8.0, coarse_[k].strip());
      error += entries_[k].count *
               std::exp(0.5 * a * a - 2.0 * std::numbers::pi * a / coarse_[k].step() + 5.0);
      second += entries_[k].count * coarse_[k].at(0.0).curvature;
    }
    double best = std::numeric_limits<double>::infinity();
    for (double tilt = 0.5 / std::sqrt(second); tilt < 1e15; tilt *= 1.5) {
      double const bound = value(tilt) - tilt * epsilon + chernoff_constant(tilt);
      if (bound + error <= log_delta) return true;
      if (!(bound < best)) return false;
      best = bound;
    }
    return false;
  }

  /// An upper bound on δ(0), the total variation, in closed form: the sum of the events', and √(KL/2)
  /// (Pinsker, which holds in either order), KL(M‖N) ≤ log(1 + χ²), χ² = Σ w_i w_j (e^{μ_i μ_j} − 1).
  [[nodiscard]] double variation() const {
    double sum = std::erf(std::sqrt(0.125 * variance_));
    double divergence = 0.5 * variance_;
    for (entry const& e : entries_) {
      double square = 0.0;
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

  /// An upper bound on E_P[L], the Kullback–Leibler divergence.
  [[nodiscard]] double divergence() const {
    double sum = 0.5 * variance_;
    for (entry const& e : entries_) {
      double const step = std::min(0.3, 1.5 / e.pair.parts.back().shift);
      sum += e.count * mixture_nodes(e.pair, std::nullopt, 0.0, step).divergence();
    }
    return sum * 1.001;
  }

 private:
  enum class table { tapered, lifted, split };
  static constexpr double fine = -34.5;   // 1e-15
  static constexpr double rough = -25.0;  // 1e-11

  // The tapered table on the real axis is best for long compositions. Where most of P is nearly an atom,
  // with rare jumps, |M| does not fall: the split table takes the part without jumps off. In other short
  // compositions |M| falls slowly along the line, and e^{itL} there turns too fast to be sampled: the
  // table is lifted off the real axis to where it falls instead.
  template <class Answer>
  [[nodiscard]] bound<double> by_best_route(Answer&& answer) const {
    struct way {
      table kind;
      double work;
      double log_tolerance;
    };
    double const each = static_cast<double>(entries_.size());
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

  [[nodiscard]] bound<double> epsilon_by_route(double log_delta) const {
    if (kind_ == table::split) {
      // A first guess from tables without what is too rare to matter for it.
      tabulate(log_delta - log_tolerance_ - 2.0, 0.0);
      double const guess = chernoff_epsilon(log_delta);
      tabulate(log_delta, 0.0);
      choose_cuts(guess, log_delta);
    }
    saddle found = prepared(log_delta, [&] { return saddle_for_delta(log_delta); });
    if (kind_ == table::split && found.epsilon > 0.0) {
      choose_cuts(found.epsilon, log_delta);
      found = prepared(log_delta, [&] { return saddle_for_delta(log_delta); });
    }
    for (int round = 0;; ++round) {
      line const at(*this, found, log_delta);
      double const epsilon = root(at, log_delta);
      // Where losses come in rare jumps the saddle point's own estimate is far off: once more, with the
      // tilt that belongs to the ε just found.
      bool const off = std::abs(epsilon - found.epsilon) * found.tilt > 1.0;
      if ((round < 2 && off) ||
          (round < 3 && at.small(epsilon) > log_delta + log_tolerance_ + 1.0)) {
        if (kind_ == table::split) choose_cuts(epsilon * 0.99, log_delta);
        saddle const better = prepared(log_delta, [&] { return saddle_for_epsilon(epsilon); });
        found = {better.tilt, epsilon, log_delta};
        continue;
      }
      return {end(at, epsilon, log_delta, false), end(at, epsilon, log_delta, true)};
    }
  }

  [[nodiscard]] bound<double> log_delta_by_route(double epsilon) const {
    double guess = std::log(1e-20);
    saddle found{};
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
    certified_profile const p = at.profile(epsilon);
    if (!(p.value > p.below)) throw no_certificate{};
    return {p.log_lower(), p.log_upper()};
  }

  // The least ε that Chernoff shows, on the coarse tables.
  [[nodiscard]] double chernoff_epsilon(double log_delta) const {
    double best = std::numeric_limits<double>::infinity();
    double const start = 1e-6 * std::exp(smallest_tilt());
    for (double tilt = start; tilt < start * 1e18; tilt *= 1.4) {
      double const epsilon = (value(tilt) + chernoff_constant(tilt) - log_delta) / tilt;
      if (!(epsilon < best)) break;
      best = epsilon;
      start_ = std::log(tilt);
    }
    if (!(best > 0.0 && best < std::numeric_limits<double>::max())) throw no_certificate{};
    return best;
  }

  // Each P is cut in two, so that losses below the cuts alone surely make less than 1e-15 of δ: what is
  // left of M after them falls along the line even if most of P is nearly an atom. The largest such
  // cuts, for then it falls the fastest.
  void choose_cuts(double epsilon, double log_delta) const {
    double const goal = log_delta + log_tolerance_ - 0.01;
    double loss = epsilon;
    double tilt = 0.0;
    for (int step = 0; step < 60; ++step, loss /= 1.4) {
      cuts_.clear();
      for (mixture_nodes& nodes : coarse_) {
        double const cut = nodes.where(loss);
        if (!(cut == cut)) break;
        nodes.split(cut);
        cuts_.push_back(cut);
      }
      if (cuts_.size() < coarse_.size()) continue;
      double best = std::numeric_limits<double>::infinity();
      for (tilt = 1.0 / epsilon; tilt < 1e20; tilt *= 1.4) {
        double sum =
            0.5 * tilt * (tilt + 1.0) * variance_ + chernoff_constant(tilt) - tilt * epsilon;
        for (std::size_t k = 0; k < entries_.size(); ++k) {
          sum += entries_[k].count * coarse_[k].value_inside(tilt);
        }
        if (sum <= goal) {
          small_tilt_ = tilt;
          return;
        }
        if (!(sum < best)) break;
        best = sum;
      }
    }
    throw no_certificate{};
  }

  struct saddle {
    double tilt;
    double epsilon;
    double log_delta;
  };

  // log of sup (1 − e^{−x})e^{−θx}
  [[nodiscard]] static double chernoff_constant(double tilt) {
    // θ log θ − (1+θ)log(1+θ), which at large tilts would lose every digit
    return -tilt * std::log1p(1.0 / tilt) - std::log1p(tilt);
  }

  // log of the tilt at which the exponent has moved by about one.
  [[nodiscard]] double smallest_tilt() const {
    double second = variance_;
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      second += entries_[k].count * coarse_[k].at(0.0).curvature;
    }
    return std::log(1.0 / std::sqrt(second));
  }

  // The coarse tables.
  void tabulate(double log_delta, double reach) const {
    double const share = static_cast<double>(entries_.size());
    coarse_.clear();
    for (entry const& e : entries_) {
      double const step = std::min(0.3, 1.5 / e.pair.parts.back().shift);
      if (kind_ == table::lifted) {
        coarse_.emplace_back(e.pair, std::nullopt, reach, step);
      } else {
        coarse_.emplace_back(e.pair, dropped(log_delta, e.count * share), std::nullopt, step);
      }
      if (coarse_.size() <= cuts_.size()) coarse_.back().split(cuts_[coarse_.size() - 1]);
    }
  }

  // The answer of a search on coarse tables. Untapered ones must reach beyond the tilt that is found.
  template <class Search>
  [[nodiscard]] saddle prepared(double log_delta, Search&& found_by) const {
    double largest = 0.0;
    for (entry const& e : entries_) largest = std::max(largest, e.pair.parts.back().shift);
    for (double reach = 8.0 / largest + 8.0; reach * largest < 1e5; reach *= 4.0) {
      tabulate(log_delta, reach);
      saddle const found = found_by();
      if (kind_ != table::lifted || found.tilt < 0.6 * reach) return found;
    }
    throw no_certificate{};
  }

  [[nodiscard]] double dropped(double log_delta, double count) const {
    return log_delta + log_tolerance_ - 2.3 - std::log(count);
  }

  [[nodiscard]] cumulants at(double tilt) const {
    cumulants sum{0.5 * tilt * (tilt + 1.0) * variance_, (tilt + 0.5) * variance_, variance_};
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      cumulants const one = coarse_[k].at(tilt);
      sum.value += entries_[k].count * one.value;
      sum.slope += entries_[k].count * one.slope;
      sum.curvature += entries_[k].count * one.curvature;
    }
    return sum;
  }

  // The same of log(e^K − e^S), S = K of the parts with small losses, if split.
  [[nodiscard]] cumulants shape(double tilt) const {
    cumulants const whole = at(tilt);
    if (kind_ != table::split || cuts_.empty()) return whole;
    // R = K − S = −Σ count·log(1 − r), r the large losses' share of M.
    cumulants fall{0.0, 0.0, 0.0};
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      cumulants const all = coarse_[k].at(tilt);
      cumulants const large = coarse_[k].at_outside(tilt);
      double const r = std::min(std::exp(large.value - all.value), 1.0 - 1e-15);
      double const apart = large.slope - all.slope;
      double const odds = r / (1.0 - r);
      fall.value -= entries_[k].count * std::log1p(-r);
      fall.slope += entries_[k].count * odds * apart;
      fall.curvature +=
          entries_[k].count *
          (odds * (large.curvature - all.curvature + apart * apart) + odds * odds * apart * apart);
    }
    double const weight = 1.0 / std::expm1(fall.value);
    double const slope = whole.slope + weight * fall.slope;
    double const second = whole.curvature + whole.slope * whole.slope +
                          weight * (fall.curvature + fall.slope * (2.0 * whole.slope - fall.slope));
    return {whole.value + std::log(-std::expm1(-fall.value)), slope,
            std::max(second - slope * slope, 1e-12 * slope * slope)};
  }

  [[nodiscard]] double value(double tilt) const {
    double sum = 0.5 * tilt * (tilt + 1.0) * variance_;
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      sum += entries_[k].count * coarse_[k].value(tilt);
    }
    return sum;
  }

  // ε for which this tilt is the saddle, and the saddle point's estimate of log δ there.
  [[nodiscard]] saddle saddle_at(double tilt) const {
    cumulants const k = shape(tilt);
    double const epsilon = k.slope - 1.0 / tilt - 1.0 / (1.0 + tilt);
    double const curvature =
        k.curvature + 1.0 / (tilt * tilt) + 1.0 / ((1.0 + tilt) * (1.0 + tilt));
    return {tilt, epsilon,
            k.value - tilt * epsilon - std::log(tilt) - std::log1p(tilt) -
                0.5 * std::log(2.0 * std::numbers::pi * curvature)};
  }

  // `miss` falls in the tilt; its root to a few percent of a unit is enough.
  template <class Miss>
  [[nodiscard]] saddle search(Miss&& miss, double closeness) const {
    double low = kind_ == table::split && !cuts_.empty() ? start_ : smallest_tilt();
    saddle at_low = saddle_at(std::exp(low));
    double low_miss = miss(at_low);
    double stride = low_miss > 0.0 ? 1.0 : -1.0;
    double high = low;
    saddle at_high = at_low;
    double high_miss = low_miss;
    while ((high_miss > 0.0) == (low_miss > 0.0)) {
      if (std::abs(high_miss) < closeness) return at_high;
      low = high;
      low_miss = high_miss;
      high += stride;
      stride *= 1.3;
      if (!(std::abs(high) < 400.0)) throw no_certificate{};
      at_high = saddle_at(std::exp(high));
      high_miss = miss(at_high);
      if (!(high_miss == high_miss)) throw no_certificate{};
    }
    // Illinois (regula falsi that halves the weight of an end that stays), and bisection now and then:
    // where jumps take over, `miss` is nearly a step.
    for (int step = 1; step < 100; ++step) {
      double const secant = (low * high_miss - high * low_miss) / (high_miss - low_miss);
      double const middle = step % 4 == 0 ? 0.5 * (low + high) : secant;
      saddle const found = saddle_at(std::exp(middle));
      double const found_miss = miss(found);
      if (std::abs(found_miss) < closeness || std::abs(high - low) < 1e-4) return found;
      if ((found_miss > 0.0) == (high_miss > 0.0)) {
        low_miss *= 0.5;
      } else {
        low = high;
        low_miss = high_miss;
      }
      high = middle;
      high_miss = found_miss;
    }
    throw no_certificate{};
  }

  [[nodiscard]] saddle saddle_for_delta(double log_delta) const {
    return search([&](saddle const& s) { return s.log_delta - log_delta; }, 0.3);
  }
  [[nodiscard]] saddle saddle_for_epsilon(double epsilon) const {
    return search([&](saddle const& s) { return (epsilon - s.epsilon) * s.tilt; }, 0.2);
  }

  /// K on one vertical line, and every error that comes with it.
  class line {
   public:
    line(contour const& of, saddle const& found, double log_delta)
        : of_(of), tilt_(found.tilt), start_(found.epsilon), sums_(0) {
      choose_period(found, log_delta);
      choose_end(found, log_delta);
      std::size_t work = 0;
      auto const size = static_cast<std::size_t>(end_ / spacing_) + 2;
      moment_line::sums sums(size);
      if (split()) sums.split();
      for (std::size_t k = 0; k < of.entries_.size(); ++k) {
        entry const& e = of.entries_[k];
        auto const [step, height] = choose_step(k);
        // The table is at least 20 wide: no use in building one that is too long anyway.
        if (20.0 / step * static_cast<double>(size) > of.most_work_) throw no_certificate{};
        double const share = static_cast<double>(of.entries_.size());
        auto const taper =
            lifted() ? std::nullopt : std::optional(of.dropped(log_delta, e.count * share));
        mixture_nodes nodes(e.pair, taper, tilt_ + right_, step);
        if (split()) nodes.split(of.cuts_[k]);
        work += nodes.size() * size;
        if (static_cast<double>(work) > of.most_work_) throw no_certificate{};
        double const value = nodes.value(tilt_);
        double large = 0.0;
        if (split()) {
          double const outside = nodes.at_outside(tilt_).value;
          large = std::exp(outside - value) * alias_of(nodes, height, losses::large, outside);
        }
        moment_line const moments(nodes, tilt_, lifted() ? height : 0.0,
                                  alias_of(nodes, height, losses::all, value), large);
        moments.add(e.count, spacing_, sums);
        dropped_ += e.count * nodes.dropped();
        value_ += e.count * moments.value();
        at_right_ += e.count * nodes.value(tilt_ + right_);
        if (left_ < tilt_) at_left_ += e.count * nodes.value(tilt_ - left_);
        if (split()) at_small_ += e.count * nodes.value_inside(of.small_tilt_);
      }
      double const v = of.variance_;
      value_ += 0.5 * tilt_ * (tilt_ + 1.0) * v;
      at_right_ += 0.5 * (tilt_ + right_) * (tilt_ + right_ + 1.0) * v;
      at_left_ += 0.5 * (tilt_ - left_) * (tilt_ - left_ + 1.0) * v;
      at_small_ += 0.5 * of.small_tilt_ * (of.small_tilt_ + 1.0) * v;
      for (std::size_t n = 0; n < size; ++n) {
        double const t = spacing_ * static_cast<double>(n);
        sums.real[n] += 0.5 * v * (tilt_ * (tilt_ + 1.0) - t * t);
        sums.imaginary[n] += v * t * (tilt_ + 0.5);
        sums.error[n] +=
            unit_roundoff * 8.0 * v * (tilt_ * (tilt_ + 1.0) + t * t + t * (tilt_ + 0.5));
      }
      if (split()) sums.subtract_small();
      sums_ = std::move(sums);
      end_ = spacing_ * static_cast<double>(size);
    }

    [[nodiscard]] double start() const { return start_; }
    [[nodiscard]] double tilt() const { return tilt_; }

    /// log of the δ(ε) that small losses alone make at most (Chernoff), if split; else of nothing.
    [[nodiscard]] double small(double epsilon) const {
      double const z = of_.small_tilt_;
      return split() ? chernoff_constant(z) + at_small_ - z * epsilon + 0.01
                     : -std::numeric_limits<double>::infinity();
    }

    [[nodiscard]] certified_profile profile(double epsilon) const {
      double const scale = sums_.real[0] - tilt_ * epsilon;
      double value = 0.0;
      double slope = 0.0;
      double error = 0.0;
      double magnitude = 0.0;
      for (std::size_t n = 0; n < sums_.real.size(); ++n) {
        double const t = spacing_ * static_cast<double>(n);
        double const size = std::exp(sums_.real[n] - sums_.real[0]) * (n == 0 ? 0.5 : 1.0);
        double const angle = sums_.imaginary[n] - t * epsilon;
        double const c = std::cos(angle) * size;
        double const s = std::sin(angle) * size;
        // 1/(z(z+1)) and 1/(z+1) at z = θ + it.
        double const norm = tilt_ * tilt_ + t * t;
        double const next = (1.0 + tilt_) * (1.0 + tilt_) + t * t;
        double const a = 1.0 + tilt_;
        double const kernel_real = (tilt_ * a - t * t) / (norm * next);
        double const kernel_imaginary = -t * (tilt_ + a) / (norm * next);
        value += c * kernel_real - s * kernel_imaginary;
        slope += (c * a + s * t) / next;
        double const kernel = 1.0 / std::sqrt(norm * next);
        double const phase = std::abs(sums_.imaginary[n]) + std::abs(t * epsilon);
        double const inexact = std::expm1(sums_.error[n]) +
                               unit_roundoff * (2.0 * phase + 2.0 * std::abs(sums_.real[n]) +
                                                2.0 * std::abs(scale) + 16.0);
        error += size * kernel * inexact;
        magnitude += size * kernel;
      }
      double const factor = spacing_ / std::numbers::pi;
      error += unit_roundoff * magnitude *
               (4.0 + std::log2(static_cast<double>(sums_.real.size()) + 2.0));
      // Σ over the line's rest of 1/|z(z+1)| is at most 1/(spacing·end).
      double const rest = std::exp(log_end_ - sums_.real[0]) / (std::numbers::pi * end_ * 0.99);
      double const alias = aliased(epsilon, scale);
      double lost = dropped_ > 0.0 ? std::exp(std::log(dropped_) - scale) : 0.0;
      lost += std::exp(small(epsilon) - scale);
      double const sure = factor * error + rest;
      return {scale, factor * value, sure + alias, sure + lost, factor * slope};
    }

   private:
    [[nodiscard]] bool lifted() const { return of_.kind_ == table::lifted; }
    [[nodiscard]] bool split() const { return of_.kind_ == table::split; }

    // Everything is relative to e^{scale}.
    [[nodiscard]] double aliased(double epsilon, double scale) const {
      double const right = tilt_ + right_;
      double sum = std::exp(chernoff_constant(right) + at_right_ - right * epsilon -
                            right_ * period_ - scale) /
                   -std::expm1(-right_ * period_);
      double const left = tilt_ - left_;
      double const log_left =
          left > 0.0 ? chernoff_constant(left) + at_left_ - left * epsilon : 0.0;
      sum += std::exp(log_left - left_ * period_ - scale) / -std::expm1(-left_ * period_);
      return sum * 1.0001;
    }

    // The copies of δ at ε ± P, ε ± 2P, … must be small: Chernoff at θ ± Δ, Δ chosen for each side.
    void choose_period(saddle const& found, double log_delta) {
      double const goal = log_delta + of_.log_tolerance_;
      double const deviation = 1.0 / std::sqrt(of_.shape(tilt_).curvature);
      auto const need = [&](double move) {
        double const tilt = tilt_ + move;
        return (chernoff_constant(tilt) + of_.value(tilt) - tilt * found.epsilon - goal) /
               std::abs(move);
      };
      // Each has one minimum, for a normal K at √70 deviations: down both ways from near there.
      auto const descend = [&](double scale, double factor, auto&& move, double& best, double& at) {
        double here = need(move(scale));
        double where = scale;
        for (double const way : {factor, 1.0 / factor}) {
          for (double next = where * way; move(next) != 0.0; next *= way) {
            double const there = need(move(next));
            if (!(there < here)) break;
            here = there;
            where = next;
          }
        }
        if (here < best) {
          best = here;
          at = std::abs(move(where));
        }
      };
      period_ = std::numeric_limits<double>::infinity();
      descend(
          6.5, 1.6,
          [&](double scale) { return scale > 1.0 && scale < 40.0 ? scale * deviation : 0.0; },
          period_, right_);
      double best = -goal / tilt_;  // δ ≤ 1
      left_ = tilt_;
      descend(
          std::clamp(8.0 * deviation / tilt_, 0.05, 0.9), 1.5,
          [&](double part) { return part > 0.02 && part < 0.95 ? -part * tilt_ : 0.0; }, best,
          left_);
      period_ = std::max(period_, best) * 1.02;
      if (!(period_ > 0.0 && period_ < std::numeric_limits<double>::max())) throw no_certificate{};
      spacing_ = 2.0 * std::numbers::pi / period_;
    }

    // Where |M| has surely fallen so far that the rest of the line does not matter.
    void choose_end(saddle const& found, double log_delta) {
      cumulants const k = of_.shape(tilt_);
      double const value = of_.value(tilt_);
      std::size_t const count = of_.entries_.size();
      std::vector<double> inside;  // log M of the parts
      std::vector<double> outside;
      std::vector<envelope> small;
      std::vector<envelope> large;
      for (std::size_t j = 0; j < count; ++j) {
        mixture_nodes const& nodes = of_.coarse_[j];
        envelopes_.emplace_back(nodes, tilt_, nodes.value(tilt_));
        if (split()) {
          inside.push_back(nodes.value_inside(tilt_));
          outside.push_back(nodes.at_outside(tilt_).value);
          small.emplace_back(nodes, tilt_, inside.back(), losses::small);
          large.emplace_back(nodes, tilt_, outside.back(), losses::large);
        }
      }
      double const goal = log_delta + of_.log_tolerance_ - (value - tilt_ * found.epsilon);
      end_ = 8.0 / std::sqrt(k.curvature);
      for (;;) {
        if (!(end_ / spacing_ < of_.most_work_)) throw no_certificate{};
        double fallen = -0.5 * of_.variance_ * end_ * end_;
        if (split()) fallen += 0.5 * of_.variance_ * tilt_ * (tilt_ + 1.0) - value;
        double ratio = 0.0;
        for (std::size_t j = 0; j < count; ++j) {
          double const events = of_.entries_[j].count;
          double const typical = std::min(of_.coarse_[j].strip(), 8.0 / std::sqrt(events));
          // What the search tables say of a decay is believed to one part in 1000, for they are coarse.
          if (split()) {
            // |M^n − S^n| ≤ (s + l)^n − s^n with any bounds s and l on |M_small| and |M_large|.
            double const s = inside[j] + 0.999 * small[j].least(end_, typical);
            fallen += events * s;
            ratio +=
                events * std::log1p(std::exp(outside[j] + 0.999 * large[j].least(end_, 0.1) - s));
          } else {
            fallen += 0.999 * events * envelopes_[j].least(end_, typical);
          }
        }
        if (split())
          fallen +=
              ratio > 1.0 ? ratio + std::log(-std::expm1(-ratio)) : std::log(std::expm1(ratio));
        double const enough = goal + std::log(std::numbers::pi * end_);
        if (fallen <= enough) {
          log_end_ = value + fallen;
          break;
        }
        // A normal law's logarithm falls as t².
        end_ *= fallen < 0.0 && enough < 0.0
                    ? std::clamp(1.02 * std::sqrt(enough / fallen), 1.06, 1.3)
                    : 1.3;
      }
    }

    // The spacing in x at which the trapezoid rule's own error does not matter either, with the height
    // that shows it: the distance to the lines that bound the error, and of the table if it is lifted.
    [[nodiscard]] std::pair<double, double> choose_step(std::size_t j) {
      mixture_nodes const& nodes = of_.coarse_[j];
      double const need = std::log(4.0 * of_.entries_[j].count) - of_.log_tolerance_;
      double best = 0.0;
      double height = 0.0;
      double const most = std::min(nodes.strip(), 12.0);
      for (double h = most; h > 0.05 * most; h *= 0.6) {
        double const here = lifted() ? 0.5 * h : h;
        double const growth = std::max(0.0, envelopes_[j].log_size(h, lifted() ? 0.0 : -end_));
        double const step = 2.0 * std::numbers::pi * here / (need + growth);
        if (step < best) break;
        best = step;
        height = here;
      }
      if (!(best > 0.0)) throw no_certificate{};
      return {std::min(0.42, best), height};
    }

    // The trapezoid rule's error in a part of M, relative to e^value, its size at θ.
    [[nodiscard]] double alias_of(mixture_nodes const& nodes, double height, losses which,
                                  double value) const {
      envelope bounds(nodes, tilt_, value, which);
      double const size = lifted() ? std::exp(bounds.log_size(2.0 * height, 0.0)) + 1.0
                                   : std::exp(bounds.log_size(height, -end_)) +
                                         std::exp(bounds.log_size(height, 0.0));
      return 1.01 * size / std::expm1(2.0 * std::numbers::pi * height / nodes.step());
    }

    contour const& of_;
    double tilt_;
    double start_;
    double period_ = 0.0;
    double spacing_ = 0.0;
    double end_ = 0.0;
    double log_end_ = 0.0;
    double right_ = 0.0;
    double left_ = 0.0;
    double value_ = 0.0;
    double at_right_ = 0.0;
    double at_left_ = 0.0;
    double dropped_ = 0.0;
    double at_small_ = 0.0;
    std::vector<envelope> envelopes_;
    moment_line::sums sums_;
  };

  // Newton's method on log δ(ε), kept inside a bracket. δ(ε) ≥ 1 − e^ε gives its lower end; an ε at which
  // this line can tell nothing is too large, for δ falls.
  [[nodiscard]] static double root(line const& at, double log_delta) {
    double low = std::log1p(-std::exp(log_delta));
    double high = std::numeric_limits<double>::infinity();
    double epsilon = std::max(at.start(), low);
    for (int step = 0; step < 200; ++step) {
      certified_profile const p = at.profile(epsilon);
      bool const known = p.value > p.below && p.slope > 0.0;
      double const excess = known ? p.log_scale + std::log(p.value) - log_delta : -1.0;
      (excess > 0.0 ? low : high) = epsilon;
      double next = known ? epsilon + excess * p.value / p.slope : low;
      if (known && !(std::abs(next - epsilon) > 1e-14 * std::abs(epsilon))) return next;
      if (!(next > low && next < high)) {
        bool const open = !(high < std::numeric_limits<double>::max());
        if (!open && !(high - low > 1e-15 * std::abs(high))) break;
        next = open ? 2.0 * std::abs(epsilon) + 1.0 / at.tilt() : 0.5 * (low + high);
      }
      epsilon = next;
    }
    return epsilon;
  }

  // The end of the interval for ε: the certificate itself must hold there.
  [[nodiscard]] static double end(line const& at, double epsilon, double log_delta, bool upper) {
    for (double factor = 1.0; factor < 1e6; factor *= 2.0) {
      certified_profile const p = at.profile(epsilon);
      double const width = (upper ? p.above : p.below) * factor / p.slope;
      double const step = std::max(width, 4.0 * unit_roundoff * std::abs(epsilon) * factor);
      double const candidate = upper ? epsilon + step : epsilon - step;
      certified_profile const there = at.profile(candidate);
      if (upper ? there.log_upper() <= log_delta : there.log_lower() >= log_delta) return candidate;
    }
    throw no_certificate{};
  }

  std::vector<entry> entries_;
  double variance_;
  // What the route under way works with; not part of the composition.
  mutable table kind_ = table::tapered;
  mutable double log_tolerance_ = fine;  // what each part may add to δ, relatively
  mutable double most_work_ = 0.0;
  mutable std::vector<double> cuts_;  // in x, one an entry, if split
  mutable double start_ = 0.0;        // log of a tilt near the saddle
  mutable double small_tilt_ =
      0.0;  // at which Chernoff shows that small losses alone are not enough
  mutable std::vector<mixture_nodes> coarse_;
};

}  // namespace tacit::detail
