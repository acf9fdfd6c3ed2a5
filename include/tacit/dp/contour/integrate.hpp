// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/real.hpp>
#include <tacit/dp/contour/envelope.hpp>
#include <tacit/dp/contour/moments.hpp>
#include <tacit/dp/contour/search.hpp>
#include <tacit/dp/contour/table.hpp>
#include <tacit/dp/saddle.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

/// The integral along one vertical line.

namespace tacit::detail {

/// log δ, with everything that is not sure.
template <std::same_as<double> T = double>
struct certified_profile {
  T log_scale;  // δ = e^{log_scale}·value
  T value;
  T below;  // δ ≥ e^{log_scale}(value − below)
  T above;  // δ ≤ e^{log_scale}(value + above)
  T slope;  // −dδ/dε, in the same scale

  [[nodiscard]] T log_upper() const { return log_scale + std::log(value + above); }
  [[nodiscard]] T log_lower() const {
    return value > below ? log_scale + std::log(value - below)
                         : -std::numeric_limits<T>::infinity();
  }
};

/// K on one vertical line, and every error that comes with it.
template <std::same_as<double> T = double>
class contour_line {
  using search = contour_search<T>;
  using table = typename search::table;

 public:
  contour_line(search const& of, saddle<T> const& found, T log_delta)
      : of_(of), tilt_(found.tilt), start_(found.epsilon), sums_(0) {
    choose_period(found, log_delta);
    choose_end(found, log_delta);
    std::size_t work = 0;
    auto const size = static_cast<std::size_t>(end_ / spacing_) + 2;
    typename moment_line<T>::sums sums(size);
    if (split()) sums.split();
    for (std::size_t k = 0; k < of.entries_.size(); ++k) {
      typename search::entry const& e = of.entries_[k];
      auto const [step, height] = choose_step(k);
      // The table is at least 20 wide: no use in building one that is too long anyway.
      if (20.0 / step * static_cast<T>(size) > of.most_work_) throw no_certificate{};
      T const share = static_cast<T>(of.entries_.size());
      auto const taper =
          lifted() ? std::nullopt : std::optional(of.dropped(log_delta, e.count * share));
      mixture_table<T> nodes(e.pair, taper, tilt_ + right_, step);
      if (split()) nodes.split(of.cuts_[k]);
      work += nodes.size() * size;
      if (static_cast<T>(work) > of.most_work_) throw no_certificate{};
      T const value = nodes.value(tilt_);
      T large = 0.0;
      if (split()) {
        T const outside = nodes.at_outside(tilt_).value;
        large = std::exp(outside - value) * alias_of(nodes, height, losses::large, outside);
      }
      moment_line<T> const moments(nodes, tilt_, lifted() ? height : 0.0,
                                   alias_of(nodes, height, losses::all, value), large);
      moments.add(e.count, spacing_, sums);
      dropped_ += e.count * nodes.dropped();
      value_ += e.count * moments.value();
      at_right_ += e.count * nodes.value(tilt_ + right_);
      if (left_ < tilt_) at_left_ += e.count * nodes.value(tilt_ - left_);
      if (split()) at_small_ += e.count * nodes.value_inside(of.small_tilt_);
    }
    T const v = of.variance_;
    value_ += 0.5 * tilt_ * (tilt_ + 1.0) * v;
    at_right_ += 0.5 * (tilt_ + right_) * (tilt_ + right_ + 1.0) * v;
    at_left_ += 0.5 * (tilt_ - left_) * (tilt_ - left_ + 1.0) * v;
    at_small_ += 0.5 * of.small_tilt_ * (of.small_tilt_ + 1.0) * v;
    for (std::size_t n = 0; n < size; ++n) {
      T const t = spacing_ * static_cast<T>(n);
      sums.real[n] += 0.5 * v * (tilt_ * (tilt_ + 1.0) - t * t);
      sums.imaginary[n] += v * t * (tilt_ + 0.5);
      sums.error[n] +=
          unit_roundoff * 8.0 * v * (tilt_ * (tilt_ + 1.0) + t * t + t * (tilt_ + 0.5));
    }
    if (split()) sums.subtract_small();
    sums_ = std::move(sums);
    end_ = spacing_ * static_cast<T>(size);
  }

  [[nodiscard]] T start() const { return start_; }
  [[nodiscard]] T tilt() const { return tilt_; }

  /// log of the δ(ε) that small losses alone make at most (Chernoff), if split; else of nothing.
  [[nodiscard]] T small(T epsilon) const {
    T const z = of_.small_tilt_;
    return split() ? search::chernoff_constant(z) + at_small_ - z * epsilon + 0.01
                   : -std::numeric_limits<T>::infinity();
  }

  [[nodiscard]] certified_profile<T> profile(T epsilon) const {
    T const scale = sums_.real[0] - tilt_ * epsilon;
    T value = 0.0;
    T slope = 0.0;
    T error = 0.0;
    T magnitude = 0.0;
    for (std::size_t n = 0; n < sums_.real.size(); ++n) {
      T const t = spacing_ * static_cast<T>(n);
      T const size = std::exp(sums_.real[n] - sums_.real[0]) * (n == 0 ? 0.5 : 1.0);
      T const angle = sums_.imaginary[n] - t * epsilon;
      T const c = std::cos(angle) * size;
      T const s = std::sin(angle) * size;
      // 1/(z(z+1)) and 1/(z+1) at z = θ + it.
      T const norm = tilt_ * tilt_ + t * t;
      T const next = (1.0 + tilt_) * (1.0 + tilt_) + t * t;
      T const a = 1.0 + tilt_;
      T const kernel_real = (tilt_ * a - t * t) / (norm * next);
      T const kernel_imaginary = -t * (tilt_ + a) / (norm * next);
      value += c * kernel_real - s * kernel_imaginary;
      slope += (c * a + s * t) / next;
      T const kernel = 1.0 / std::sqrt(norm * next);
      T const phase = std::abs(sums_.imaginary[n]) + std::abs(t * epsilon);
      T const inexact = std::expm1(sums_.error[n]) +
                        unit_roundoff * (2.0 * phase + 2.0 * std::abs(sums_.real[n]) +
                                         2.0 * std::abs(scale) + 16.0);
      error += size * kernel * inexact;
      magnitude += size * kernel;
    }
    T const factor = spacing_ / std::numbers::pi;
    error += unit_roundoff * magnitude * (4.0 + std::log2(static_cast<T>(sums_.real.size()) + 2.0));
    // Σ over the line's rest of 1/|z(z+1)| is at most 1/(spacing·end).
    T const rest = std::exp(log_end_ - sums_.real[0]) / (std::numbers::pi * end_ * 0.99);
    T const alias = aliased(epsilon, scale);
    T lost = dropped_ > 0.0 ? std::exp(std::log(dropped_) - scale) : 0.0;
    lost += std::exp(small(epsilon) - scale);
    T const sure = factor * error + rest;
    return {scale, factor * value, sure + alias, sure + lost, factor * slope};
  }

 private:
  [[nodiscard]] bool lifted() const { return of_.kind_ == table::lifted; }
  [[nodiscard]] bool split() const { return of_.kind_ == table::split; }

  // Everything is relative to e^{scale}.
  [[nodiscard]] T aliased(T epsilon, T scale) const {
    T const right = tilt_ + right_;
    T sum = std::exp(search::chernoff_constant(right) + at_right_ - right * epsilon -
                     right_ * period_ - scale) /
            -std::expm1(-right_ * period_);
    T const left = tilt_ - left_;
    T const log_left =
        left > 0.0 ? search::chernoff_constant(left) + at_left_ - left * epsilon : 0.0;
    sum += std::exp(log_left - left_ * period_ - scale) / -std::expm1(-left_ * period_);
    return sum * 1.0001;
  }

  // The copies of δ at ε ± P, ε ± 2P, … must be small: Chernoff at θ ± Δ, Δ chosen for each side.
  void choose_period(saddle<T> const& found, T log_delta) {
    T const goal = log_delta + of_.log_tolerance_;
    T const deviation = 1.0 / std::sqrt(of_.shape(tilt_).curvature);
    auto const need = [&](T move) {
      T const tilt = tilt_ + move;
      return (search::chernoff_constant(tilt) + of_.value(tilt) - tilt * found.epsilon - goal) /
             std::abs(move);
    };
    // Each has one minimum, for a normal K at √70 deviations: down both ways from near there.
    auto const descend = [&](T scale, T factor, auto&& move, T& best, T& at) {
      T here = need(move(scale));
      T where = scale;
      for (T const way : {factor, 1.0 / factor}) {
        for (T next = where * way; move(next) != 0.0; next *= way) {
          T const there = need(move(next));
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
    period_ = std::numeric_limits<T>::infinity();
    descend(
        6.5, 1.6, [&](T scale) { return scale > 1.0 && scale < 40.0 ? scale * deviation : 0.0; },
        period_, right_);
    T best = -goal / tilt_;  // δ ≤ 1
    left_ = tilt_;
    descend(
        std::clamp(8.0 * deviation / tilt_, 0.05, 0.9), 1.5,
        [&](T part) { return part > 0.02 && part < 0.95 ? -part * tilt_ : 0.0; }, best, left_);
    period_ = std::max(period_, best) * 1.02;
    if (!(period_ > 0.0 && period_ < std::numeric_limits<T>::max())) throw no_certificate{};
    spacing_ = short_number(2.0 * std::numbers::pi / period_, 22);
    period_ = 2.0 * std::numbers::pi / spacing_;
  }

  // Where |M| is bounded so low that the rest of the line does not matter.
  void choose_end(saddle<T> const& found, T log_delta) {
    cumulants<T> const k = of_.shape(tilt_);
    T const value = of_.value(tilt_);
    std::size_t const count = of_.entries_.size();
    std::vector<T> inside;  // log M of the parts
    std::vector<T> outside;
    std::vector<envelope<T>> small;
    std::vector<envelope<T>> large;
    for (std::size_t j = 0; j < count; ++j) {
      mixture_table<T> const& nodes = of_.coarse_[j];
      envelopes_.emplace_back(nodes, tilt_, nodes.value(tilt_));
      if (split()) {
        inside.push_back(nodes.value_inside(tilt_));
        outside.push_back(nodes.at_outside(tilt_).value);
        small.emplace_back(nodes, tilt_, inside.back(), losses::small);
        large.emplace_back(nodes, tilt_, outside.back(), losses::large);
      }
    }
    T const goal = log_delta + of_.log_tolerance_ - (value - tilt_ * found.epsilon);
    end_ = 8.0 / std::sqrt(k.curvature);
    for (;;) {
      if (!(end_ / spacing_ < of_.most_work_)) throw no_certificate{};
      T fallen = -0.5 * of_.variance_ * end_ * end_;
      if (split()) fallen += 0.5 * of_.variance_ * tilt_ * (tilt_ + 1.0) - value;
      T ratio = 0.0;
      for (std::size_t j = 0; j < count; ++j) {
        T const events = of_.entries_[j].count;
        T const typical = std::min(of_.coarse_[j].strip(), 8.0 / std::sqrt(events));
        // Of the decay that the coarse tables show, 999 parts in 1000 are used.
        if (split()) {
          // |M^n − S^n| ≤ (s + l)^n − s^n with any bounds s and l on |M_small| and |M_large|.
          T const s = inside[j] + 0.999 * small[j].least(end_, typical);
          fallen += events * s;
          ratio +=
              events * std::log1p(std::exp(outside[j] + 0.999 * large[j].least(end_, 0.1) - s));
        } else {
          fallen += 0.999 * events * envelopes_[j].least(end_, typical);
        }
      }
      if (split())
        fallen += ratio > 1.0 ? ratio + std::log(-std::expm1(-ratio)) : std::log(std::expm1(ratio));
      T const enough = goal + std::log(std::numbers::pi * end_);
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
  [[nodiscard]] std::pair<T, T> choose_step(std::size_t j) {
    mixture_table<T> const& nodes = of_.coarse_[j];
    T const need = std::log(4.0 * of_.entries_[j].count) - of_.log_tolerance_;
    T best = 0.0;
    T height = 0.0;
    T const most = std::min(nodes.strip(), 12.0);
    for (T h = most; h > 0.05 * most; h *= 0.6) {
      T const here = lifted() ? 0.5 * h : h;
      T const growth = std::max(0.0, envelopes_[j].log_size(h, lifted() ? 0.0 : -end_));
      T const step = 2.0 * std::numbers::pi * here / (need + growth);
      if (step < best) break;
      best = step;
      height = here;
    }
    if (!(best > 0.0)) throw no_certificate{};
    return {std::min(0.42, best), short_number(height, 11)};
  }

  // The trapezoid rule's error in a part of M, relative to e^value, its size at θ.
  [[nodiscard]] T alias_of(mixture_table<T> const& nodes, T height, losses which, T value) const {
    envelope<T> bounds(nodes, tilt_, value, which);
    T const size = lifted() ? std::exp(bounds.log_size(2.0 * height, 0.0)) + 1.0
                            : std::exp(bounds.log_size(height, -end_)) +
                                  std::exp(bounds.log_size(height, 0.0));
    return 1.01 * size / std::expm1(2.0 * std::numbers::pi * height / nodes.step());
  }

  search const& of_;
  T tilt_;
  T start_;
  T period_ = 0.0;
  T spacing_ = 0.0;
  T end_ = 0.0;
  T log_end_ = 0.0;
  T right_ = 0.0;
  T left_ = 0.0;
  T value_ = 0.0;
  T at_right_ = 0.0;
  T at_left_ = 0.0;
  T dropped_ = 0.0;
  T at_small_ = 0.0;
  std::vector<envelope<T>> envelopes_;
  typename moment_line<T>::sums sums_;
};

}  // namespace tacit::detail
