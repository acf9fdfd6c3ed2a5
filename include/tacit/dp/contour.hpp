// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/moment.hpp>

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
  /// to see that the other direction rules.
  [[nodiscard]] bool surely_below(double epsilon, double log_delta) const {
    lifted_ = false;
    tabulate(log_delta, 0.0);
    double error = 1e-3;
    double second = variance_;
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      double const a = std::min(8.0, coarse_[k].strip());
      error += entries_[k].count *
               std::exp(0.5 * a * a - 2.0 * std::numbers::pi * a / coarse_[k].step() + 5.0);
      second += entries_[k].count * coarse_[k].at(0.0).curvature;
    }
    double best = std::numeric_limits<double>::infinity();
    for (double tilt = 0.5 / std::sqrt(second); tilt < 1e15; tilt *= 1.5) {
      double const bound =
          value(tilt) - tilt * epsilon + tilt * std::log(tilt) - (1.0 + tilt) * std::log1p(tilt);
      if (bound + error <= log_delta) return true;
      if (!(bound < best)) return false;
      best = bound;
    }
    return false;
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
  // The tapered table on the real axis is best for long compositions. In short ones |M| falls slowly
  // along the line, and e^{itL} there turns too fast to be sampled: the table is lifted off the real
  // axis to where it falls instead.
  template <class Answer>
  [[nodiscard]] bound<double> by_best_route(Answer&& answer) const {
    for (auto const& [lifted, work] : {std::pair{false, 3e6}, {true, 2e7}, {false, 2e7}}) {
      lifted_ = lifted;
      most_work_ = work;
      try {
        return answer();
      } catch (no_certificate const&) {
      }
    }
    throw no_certificate{};
  }

  [[nodiscard]] bound<double> epsilon_by_route(double log_delta) const {
    saddle found = prepared(log_delta, [&] { return saddle_for_delta(log_delta); });
    for (int round = 0;; ++round) {
      line const at(*this, found, log_delta);
      double const epsilon = root(at, log_delta);
      // Where losses come in rare jumps the saddle point's own estimate is far off: once more, with the
      // tilt that belongs to the ε just found.
      if (round < 2 && std::abs(epsilon - found.epsilon) * found.tilt > 1.0) {
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
      found = prepared(guess, [&] { return saddle_for_epsilon(epsilon); });
      bool const near = std::abs(found.log_delta - guess) < 2.0;
      guess = std::min(found.log_delta, -1e-3);
      if (near) break;
    }
    line const at(*this, {found.tilt, epsilon, guess}, guess);
    certified_profile const p = at.profile(epsilon);
    if (!(p.value > p.below)) throw no_certificate{};
    return {p.log_lower(), p.log_upper()};
  }

  static constexpr double unit = 0.5 * std::numeric_limits<double>::epsilon();
  static constexpr double log_tolerance = -34.5;  // 1e-15: what each part may add to δ, relatively

  struct saddle {
    double tilt;
    double epsilon;
    double log_delta;
  };

  // The coarse tables.
  void tabulate(double log_delta, double reach) const {
    double const share = static_cast<double>(entries_.size());
    coarse_.clear();
    for (entry const& e : entries_) {
      double const step = std::min(0.3, 1.5 / e.pair.parts.back().shift);
      if (lifted_) {
        coarse_.emplace_back(e.pair, std::nullopt, reach, step);
      } else {
        coarse_.emplace_back(e.pair, dropped(log_delta, e.count * share), std::nullopt, step);
      }
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
      if (!lifted_ || found.tilt < 0.6 * reach) return found;
    }
    throw no_certificate{};
  }

  [[nodiscard]] static double dropped(double log_delta, double count) {
    return log_delta + log_tolerance - 2.3 - std::log(count);
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

  [[nodiscard]] double value(double tilt) const {
    double sum = 0.5 * tilt * (tilt + 1.0) * variance_;
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      sum += entries_[k].count * coarse_[k].value(tilt);
    }
    return sum;
  }

  // ε for which this tilt is the saddle, and the saddle point's estimate of log δ there.
  [[nodiscard]] saddle saddle_at(double tilt) const {
    cumulants const k = at(tilt);
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
    double second = variance_;
    for (std::size_t k = 0; k < entries_.size(); ++k)
      second += entries_[k].count * coarse_[k].at(0.0).curvature;
    double low = std::log(1.0 / std::sqrt(second));
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
      for (std::size_t k = 0; k < of.entries_.size(); ++k) {
        entry const& e = of.entries_[k];
        auto const [step, height] = choose_step(k);
        // The table is at least 20 wide: no use in building one that is too long anyway.
        if (20.0 / step * static_cast<double>(size) > of.most_work_) throw no_certificate{};
        double const share = static_cast<double>(of.entries_.size());
        auto const taper =
            of.lifted_ ? std::nullopt : std::optional(dropped(log_delta, e.count * share));
        mixture_nodes const nodes(e.pair, taper, tilt_ + right_, step);
        work += nodes.size() * size;
        if (static_cast<double>(work) > of.most_work_) throw no_certificate{};
        moment_line const moments(nodes, tilt_, of.lifted_ ? height : 0.0, alias_of(nodes, height));
        moments.add(e.count, spacing_, sums);
        dropped_ += e.count * nodes.dropped();
        value_ += e.count * moments.value();
        at_right_ += e.count * nodes.value(tilt_ + right_);
        if (left_ < tilt_) at_left_ += e.count * nodes.value(tilt_ - left_);
      }
      double const v = of.variance_;
      value_ += 0.5 * tilt_ * (tilt_ + 1.0) * v;
      at_right_ += 0.5 * (tilt_ + right_) * (tilt_ + right_ + 1.0) * v;
      at_left_ += 0.5 * (tilt_ - left_) * (tilt_ - left_ + 1.0) * v;
      for (std::size_t n = 0; n < size; ++n) {
        double const t = spacing_ * static_cast<double>(n);
        sums.real[n] += 0.5 * v * (tilt_ * (tilt_ + 1.0) - t * t);
        sums.imaginary[n] += v * t * (tilt_ + 0.5);
        sums.error[n] += unit * 8.0 * v * (tilt_ * (tilt_ + 1.0) + t * t + t * (tilt_ + 0.5));
      }
      sums_ = std::move(sums);
      end_ = spacing_ * static_cast<double>(size);
    }

    [[nodiscard]] double start() const { return start_; }
    [[nodiscard]] double tilt() const { return tilt_; }

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
        double const inexact =
            std::expm1(sums_.error[n]) +
            unit * (2.0 * phase + 2.0 * std::abs(sums_.real[n]) + 2.0 * std::abs(scale) + 16.0);
        error += size * kernel * inexact;
        magnitude += size * kernel;
      }
      double const factor = spacing_ / std::numbers::pi;
      error += unit * magnitude * (4.0 + std::log2(static_cast<double>(sums_.real.size()) + 2.0));
      // Σ over the line's rest of 1/|z(z+1)| is at most 1/(spacing·end).
      double const rest = std::exp(log_end_ - sums_.real[0]) / (std::numbers::pi * end_ * 0.99);
      double const alias = aliased(epsilon, scale);
      double const lost = dropped_ > 0.0 ? std::exp(std::log(dropped_) - scale) : 0.0;
      double const sure = factor * error + rest;
      return {scale, factor * value, sure + alias, sure + lost, factor * slope};
    }

   private:
    // Everything is relative to e^{scale}.
    [[nodiscard]] double aliased(double epsilon, double scale) const {
      auto const log_constant = [](double x) {
        return x * std::log(x) - (1.0 + x) * std::log1p(x);
      };
      double const right = tilt_ + right_;
      double sum =
          std::exp(log_constant(right) + at_right_ - right * epsilon - right_ * period_ - scale) /
          -std::expm1(-right_ * period_);
      double const left = tilt_ - left_;
      double const log_left = left > 0.0 ? log_constant(left) + at_left_ - left * epsilon : 0.0;
      sum += std::exp(log_left - left_ * period_ - scale) / -std::expm1(-left_ * period_);
      return sum * 1.0001;
    }

    // The copies of δ at ε ± P, ε ± 2P, … must be small: Chernoff at θ ± Δ, Δ chosen for each side.
    void choose_period(saddle const& found, double log_delta) {
      double const goal = log_delta + log_tolerance;
      double const deviation = 1.0 / std::sqrt(of_.at(tilt_).curvature);
      period_ = 0.0;
      double best = std::numeric_limits<double>::infinity();
      for (double scale = 1.0; scale < 40.0; scale *= 1.6) {
        double const move = scale * deviation;
        double const tilt = tilt_ + move;
        double const k = of_.value(tilt);
        double const need = (tilt * std::log(tilt) - (1.0 + tilt) * std::log1p(tilt) + k -
                             tilt * found.epsilon - goal) /
                            move;
        if (need < best) {
          best = need;
          right_ = move;
        }
      }
      period_ = best;
      best = -goal / tilt_;  // δ ≤ 1
      left_ = tilt_;
      for (double part = 0.9; part > 0.02; part *= 0.65) {
        double const tilt = tilt_ * (1.0 - part);
        double const k = of_.value(tilt);
        double const need = (tilt * std::log(tilt) - (1.0 + tilt) * std::log1p(tilt) + k -
                             tilt * found.epsilon - goal) /
                            (tilt_ * part);
        if (need < best) {
          best = need;
          left_ = tilt_ * part;
        }
      }
      period_ = std::max(period_, best) * 1.02;
      if (!(period_ > 0.0 && period_ < std::numeric_limits<double>::max())) throw no_certificate{};
      spacing_ = 2.0 * std::numbers::pi / period_;
    }

    // Where |M| has surely fallen so far that the rest of the line does not matter.
    void choose_end(saddle const& found, double log_delta) {
      cumulants const k = of_.at(tilt_);
      moved_.resize(of_.entries_.size());
      for (std::size_t j = 0; j < of_.entries_.size(); ++j) {
        mixture_nodes const& nodes = of_.coarse_[j];
        double const value = nodes.value(tilt_);
        double const strip = nodes.strip();
        double const typical = std::min(strip, 8.0 / std::sqrt(of_.entries_[j].count));
        for (double height = strip; height > 0.4 * typical; height *= 0.5) {
          if (height < strip * 0.1 && height > 24.0 * typical) continue;
          moved_[j].push_back(nodes.move(tilt_, value, height));
        }
      }
      double const goal = log_delta + log_tolerance - (k.value - tilt_ * found.epsilon);
      end_ = 7.0 / std::sqrt(k.curvature);
      for (;; end_ *= 1.2) {
        double fallen = -0.5 * of_.variance_ * end_ * end_;
        for (std::size_t j = 0; j < moved_.size(); ++j) {
          double least = 0.0;
          for (auto const& m : moved_[j]) least = std::min(least, m.log_size(end_));
          fallen += of_.entries_[j].count * least;
        }
        if (fallen - std::log(std::numbers::pi * end_) <= goal) {
          // The search tables are coarse; what they say of a decay is believed to one part in 1000.
          log_end_ = k.value + fallen * 0.999;
          break;
        }
        if (!(end_ / spacing_ < of_.most_work_)) throw no_certificate{};
      }
    }

    // The spacing in x at which the trapezoid rule's own error does not matter either, with the height
    // that shows it: the distance to the lines that bound the error, and of the table if it is lifted.
    [[nodiscard]] std::pair<double, double> choose_step(std::size_t j) const {
      mixture_nodes const& nodes = of_.coarse_[j];
      double const value = nodes.value(tilt_);
      double const need = std::log(4.0 * of_.entries_[j].count) - log_tolerance;
      double best = 0.0;
      double height = 0.0;
      double const most = std::min(nodes.strip(), 12.0);
      for (double h = most; h > 0.05 * most; h *= 0.6) {
        double const here = of_.lifted_ ? 0.5 * h : h;
        double const growth =
            std::max(0.0, nodes.move(tilt_, value, h).log_size(of_.lifted_ ? 0.0 : -end_));
        double const step = 2.0 * std::numbers::pi * here / (need + growth);
        if (step < best) break;
        best = step;
        height = here;
      }
      if (!(best > 0.0)) throw no_certificate{};
      return {std::min(0.42, best), height};
    }

    [[nodiscard]] double alias_of(mixture_nodes const& nodes, double height) const {
      double const value = nodes.value(tilt_);
      double size = 0.0;
      if (of_.lifted_) {
        size = std::exp(nodes.move(tilt_, value, 2.0 * height).log_size(0.0)) + 1.0;
      } else {
        auto const moved = nodes.move(tilt_, value, height);
        size = std::exp(moved.log_size(-end_)) + std::exp(moved.log_size(0.0));
      }
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
    std::vector<std::vector<mixture_nodes::moved>> moved_;
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
      double const step = std::max(width, 4.0 * unit * std::abs(epsilon) * factor);
      double const candidate = upper ? epsilon + step : epsilon - step;
      certified_profile const there = at.profile(candidate);
      if (upper ? there.log_upper() <= log_delta : there.log_lower() >= log_delta) return candidate;
    }
    throw no_certificate{};
  }

  std::vector<entry> entries_;
  double variance_;
  // What the route under way works with; not part of the composition.
  mutable bool lifted_ = false;
  mutable double most_work_ = 0.0;
  mutable std::vector<mixture_nodes> coarse_;
};

}  // namespace tacit::detail
