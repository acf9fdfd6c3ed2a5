// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/contour/strip.hpp>
#include <tacit/dp/contour/table.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <deque>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

/// How far the integrand of a moment can grow or must fall off the real axis.

namespace tacit::detail {

/// How the integrand P·e^{(θ+it)L} changes when the line of integration in x is moved to x ± ia, 0 < a <
/// π/(largest shift): |f(x ± ia)| ≤ f_θ(x)·e^{stretch ∓ t·turn}, turn = arg of the likelihood ratio ≥ 0.
/// The factor falls in t one way and grows the other: the first bounds |M| for all larger t, the second
/// the trapezoid rule's error.
template <std::same_as<double> T = double>
class envelope {
 public:
  /// Sizes are relative to e^`value`, M(tilt) of all of P or nearly.
  /// `facts` are those of the nodes, and needed where a bound is asked for.
  envelope(mixture_table<T> const& nodes, T tilt, T value, losses which = losses::all,
           table_facts<T> const* facts = nullptr)
      : nodes_(&nodes),
        facts_(facts),
        tilt_(tilt),
        value_(value),
        which_(which),
        tilted_(nodes.size()) {
    for (std::size_t k = 0; k < nodes.size(); ++k)
      tilted_[k] = nodes.weight() * std::exp(exponent(k));
  }

  /// An estimate of log ∫|f(x ± ia)|; `t` > 0 for the side that falls, < 0 for the one that grows.
  [[nodiscard]] T log_size(T height, T t) {
    auto const& [where, stretch, turn, share] = moved(height);
    T sum = 0.0;
    T total = which_ == losses::all ? 1.0 : 0.0;  // where it is nearly one, to the last digits
    T high = 0.0;
    for (std::size_t k = 0; k < tilted_.size(); ++k) {
      T const moves = stretch[k] - t * turn[k];
      high = std::max(high, moves);
      sum += tilted_[k] * (total > 0.0 ? std::expm1(moves) : std::exp(moves));
    }
    if (high < 600.0) return total > 0.0 ? std::log1p(sum) : std::log(sum);
    T large = -std::numeric_limits<T>::infinity();
    for (std::size_t k = 0; k < tilted_.size(); ++k) {
      if (tilted_[k] > 0.0) large = log_add(large, std::log(tilted_[k]) + stretch[k] - t * turn[k]);
    }
    return large;
  }

  /// An estimate of the least log_size for t over heights that halve from the strip's down to `typical`,
  /// and where it is. For one t after the other, growing.
  struct low_point {
    T log_size;
    T height;
  };
  [[nodiscard]] low_point least(T t, T typical) {
    T const strip = std::min(0.8 * nodes_->strip(), 10.0);
    auto const last = static_cast<int>(std::max(0.0, std::ceil(std::log2(strip / typical))));
    auto const size = [&](int halvings) { return log_size(std::ldexp(strip, -halvings), t); };
    T best = std::numeric_limits<T>::infinity();
    auto const climb = [&](int from, std::initializer_list<int> ways) {
      T here = size(from);
      int at = from;
      for (int const way : ways) {
        for (int next = at + way; next >= 0 && next <= last; next += way) {
          T const there = size(next);
          if (!(there < here)) break;
          here = there;
          at = next;
        }
      }
      if (here < best) {
        best = here;
        best_ = at;
      }
    };
    if (best_ >= 0) {
      climb(std::min(best_, last), {-1});  // the best height grows with t
    } else {
      // There may be two minima: for many small losses one low down, for the jumps one far up.
      climb(last, {-1});
      if (best_ > 2) climb(0, {1});
    }
    return {best, std::ldexp(strip, -best_)};
  }

  /// log ∫|f(x + ia)| at t > 0 and for all larger t, at most. Lemma 11.
  [[nodiscard]] T falls_to(T height, T t) {
    T const sum = log_sum_above(height, t, false);
    // The rule's own error in that integral: the integrand moved by b more.
    T const top = std::numbers::pi / nodes_->shift();
    T rule = std::numeric_limits<T>::infinity();
    for (T const part : {0.9, 0.6, 0.3}) {
      T const inner = part * std::min({height, 0.95 * top - height, 6.0});
      T const outer = part * std::min(0.49 * top - height, 6.0);
      T const b = std::max(inner, outer);
      if (!(b > 0.0)) continue;
      T const size = log_swollen(height + b);
      rule = std::min(rule, log_add(sum_above<T>({0.7, size, log_alias(*nodes_, b)}),
                                    moved_tail(height + b, 0.0)));
    }
    return sum_above<T>({log_add(sum, rule)});
  }

  /// log ∫|f(x − ia)| at t ≥ 0 and for all t below, at most. Lemma 10.
  [[nodiscard]] T grows_to(T height, T t) {
    return sum_above<T>({log_add(log_sum_above(height, -t, true), moved_tail(height, t))});
  }

  /// log ∫|f(x ± ia)| at t = 0, at most.
  [[nodiscard]] T moves_to(T height) {
    return sum_above<T>({log_add(log_sum_above(height, 0.0, true), moved_tail(height, 0.0))});
  }

  /// log M(tilt) at most: the sum, its rounding, what lies beyond the table, and the rule's own error.
  /// Lemma 8.
  [[nodiscard]] T log_moment() {
    T const infinity = std::numeric_limits<T>::infinity();
    T const nodes = log_sum_above(0.0, 0.0, false);
    T least = infinity;
    for (T const part : {0.48, 0.3, 0.15}) {
      T const b = part * std::min(std::numbers::pi / nodes_->shift(), 6.5);
      T const sum = log_add(nodes, moved_tail(b, 0.0));
      T const rule = sum_above<T>({0.7, log_alias(*nodes_, b), log_swollen(b)});
      least = std::min(least, log_add(sum, rule));
      if (rule < -40.0) break;
    }
    return sum_above<T>({value_, least});
  }

  /// An estimate of what grows to the right of the table: there the share in the ratio, and with it the
  /// turn, goes on to grow for a while.
  [[nodiscard]] T growth_beyond(T height, T t) const {
    std::size_t const last = nodes_->size() - 1;
    T const turns = t * height * nodes_->shift();
    T most = exponent(last) + turns;
    if (most < -20.0) return most;
    most = -std::numeric_limits<T>::infinity();
    T const swell = log_swell(height / taper_width);
    for (T x = nodes_->point(last); x < nodes_->point(last) + 60.0; x += 0.25) {
      T const log_ratio = mixture_ratio(nodes_->pair().parts, nodes_->rest(), x).log;
      T real = 1.0;
      T imaginary = 0.0;
      for (mixture_pair::part const& part : nodes_->pair().parts) {
        T const share = part.weight * std::exp(part.shift * (x - 0.5 * part.shift) - log_ratio);
        real -= share * (1.0 - std::cos(part.shift * height));
        imaginary += share * std::sin(part.shift * height);
      }
      T here = 0.5 * height * height - 0.5 * x * x + power() * log_ratio - value_ +
               t * std::atan2(imaginary, real) +
               0.5 * power() * std::log(real * real + imaginary * imaginary);
      T const y = nodes_->tapered() ? nodes_->beyond(x, nodes_->cut()) : -1.0;
      if (y > 0.0) here += -0.5 * y * y + std::max(0.0, swell);
      most = std::max(most, here);
      if (here < most - 60.0 && x * x > 2.0 * turns) break;
    }
    return most;
  }

  /// What lies beyond the table's ends of ∫|f(x ± i·height)|, on the side that grows where t > 0.
  [[nodiscard]] T moved_tail(T height, T t) const {
    return sum_above<T>({log_tail(*nodes_, tilt_, height, t), -value_});
  }

 private:
  struct on_line {
    T height;
    std::vector<T> stretch;
    std::vector<T> turn;
    std::vector<T> share;  // of the shifted normals in the likelihood ratio
  };

  [[nodiscard]] T exponent(std::size_t k) const {
    return nodes_->log_mass(k) + tilt_ * nodes_->loss(k) - value_;
  }
  [[nodiscard]] T power() const { return nodes_->removes() ? 1.0 + tilt_ : -tilt_; }

  // log of (window + φ·∫₀^{b} e^{v²/2}dv) over the taper, which bounds |window(x + ia)| over it, b =
  // a/taper_width: Lemma 4.
  [[nodiscard]] T log_window(std::size_t k, T swell) const {
    if (!nodes_->tapered()) return 0.0;
    auto const log_normal = [&](T cut) {
      T const y = nodes_->beyond(nodes_->point(k), cut);
      return -0.5 * y * y - 0.9189385332046727;
    };
    T const share = nodes_->log_share(k, which_);
    T normal =
        which_ == losses::small ? log_normal(nodes_->inner_cut()) : log_normal(nodes_->cut());
    if (which_ == losses::large) normal = log_add(normal, log_normal(nodes_->inner_cut()));
    return log_add(share, swell + normal - nodes_->log_taper(k));
  }

  on_line const& moved(T height) {
    for (auto const& one : moved_) {
      if (one.height == height) return one;
    }
    std::size_t const size = tilted_.size();
    auto const& parts = nodes_->pair().parts;
    if (!facts_ && shares_.empty()) shares_ = table_facts<T>::shares_of(*nodes_);
    auto const& shares = facts_ ? facts_->shares : shares_;
    on_line out{height, std::vector<T>(size), std::vector<T>(size), std::vector<T>(size)};
    std::vector<std::pair<T, T>> turns;  // 2 sin²(φ/2) and sin φ
    for (mixture_pair::part const& part : parts) {
      T const half = std::sin(0.5 * part.shift * height);
      turns.emplace_back(2.0 * half * half, std::sin(part.shift * height));
    }
    T const swell =
        height > 0.0 ? log_swell(height / taper_width) : -std::numeric_limits<T>::infinity();
    T const half_power = 0.5 * power();
    for (std::size_t k = 0; k < size; ++k) {
      // (1 + u(x + ia))/(1 + u(x)) − 1
      T real = 0.0;
      T imaginary = 0.0;
      for (std::size_t j = 0; j < parts.size(); ++j) {
        T const share = shares[k * parts.size() + j];
        real -= share * turns[j].first;
        imaginary += share * turns[j].second;
        out.share[k] += share;
      }
      out.turn[k] = std::atan2(imaginary, 1.0 + real);
      out.stretch[k] = 0.5 * height * height +
                       half_power * std::log1p(std::max(
                                        -1.0, 2.0 * real + real * real + imaginary * imaginary)) +
                       log_window(k, swell);
    }
    return moved_.emplace_back(std::move(out));
  }

  // Units of rounding of f̃ at a node.
  [[nodiscard]] T units(std::size_t k) const {
    node_errors<T> const& e = facts_->errors[k];
    T const windows = which_ == losses::all
                          ? 0.0
                          : (tail_units + 2.0) *
                                (std::abs(nodes_->log_inside(k)) +
                                 std::abs(nodes_->log_outside(k)) + std::abs(nodes_->log_taper(k)));
    return e.mass + tilt_ * (e.loss + std::abs(nodes_->loss(k))) + 2.0 * std::abs(exponent(k)) +
           std::abs(value_) + std::min(windows, 1e15) + 12.0;
  }

  // log Σ f̃·e^{stretch − t·turn} and its rounding; with the chord's correction, a bound on the integral
  // without any rule: Lemma 10.
  [[nodiscard]] T log_sum_above(T height, T t, bool chord) {
    auto const& [where, stretch, turn, share] = moved(height);
    T const both = std::abs(power()) + std::abs(t);
    std::vector<T> moves(tilted_.size());
    std::vector<T> swing(tilted_.size());
    T const s = nodes_->shift();
    T const cosine = std::cos(0.5 * s * height);
    for (std::size_t k = 0; k < moves.size(); ++k) {
      moves[k] = stretch[k] - t * turn[k];
      if (chord) moves[k] += chord_above(share, k, both, cosine);
      // A share's error moves the logarithm by at most so much of it.
      swing[k] =
          both * std::min(share[k] * (s * height + 2.0) * s * height / (cosine * cosine), 8.0);
    }
    return log_sum_above(moves, swing);
  }

  // log ∫|f|(window + 2φ·∫₀^{b} e^{v²/2}dv), b = height/taper_width, moved by up to that height; at most.
  [[nodiscard]] T log_swollen(T height) {
    T const ln_two = 0.69314718055994531;
    if (!nodes_->removes()) return sum_above<T>({ln_two, moves_to(height)});
    auto const& share = moved(height).share;
    std::vector<T> moves(tilted_.size());
    T const swell = log_swell(height / taper_width) + ln_two;
    for (std::size_t k = 0; k < moves.size(); ++k) {
      moves[k] = log_window(k, swell) + chord_above(share, k, power(), 1.0);
    }
    T const sum = sum_above<T>({log_sum_above(moves, {}), 0.5 * height * height});
    return log_add(sum, moved_tail(height, 0.0));
  }

  // How far the integrand's logarithm may lie above its chord at a node or to the right of it.
  [[nodiscard]] T chord_above(std::vector<T> const& share, std::size_t k, T both, T cosine) const {
    T const s = nodes_->shift();
    T const next = std::min(1.0, 1.01 * share[std::min(k + 1, share.size() - 1)]);
    T const left = std::max(0.99 * cosine, 1.0 - 2.0 * next);
    T const edge = nodes_->tapered() ? 1.0 / (taper_width * taper_width) : 0.0;
    return 0.126 * nodes_->step() * nodes_->step() *
           (1.0 + edge + both * s * s * std::min(0.25, next) / (left * left));
  }

  [[nodiscard]] T log_sum_above(std::vector<T> const& moves, std::vector<T> const& swing) {
    T high = -std::numeric_limits<T>::infinity();
    for (std::size_t k = 0; k < moves.size(); ++k) {
      if (tilted_[k] > 0.0) high = std::max(high, moves[k]);
    }
    compensated_sum<T> sum;
    T wrong = 0.0;
    for (std::size_t k = 0; k < moves.size(); ++k) {
      if (!(tilted_[k] > 0.0)) continue;
      T const term = tilted_[k] * std::exp(moves[k] - high);
      sum += term;
      wrong += term * (units(k) + (swing.empty() ? 0.0 : swing[k] * facts_->errors[k].share) +
                       8.0 * std::abs(moves[k]) + 2.0 * std::abs(high) + 8.0);
    }
    return sum_above<T>({high, std::log(sum.value() + 1.01 * unit_roundoff * wrong +
                                        static_cast<T>(moves.size()) * 1e-300)});
  }

  mixture_table<T> const* nodes_;
  table_facts<T> const* facts_;
  T tilt_;
  T value_;
  losses which_;
  std::vector<T> tilted_;  // f_θ over e^value, of all of P
  std::vector<T> shares_;
  std::deque<on_line> moved_;
  int best_ = -1;
};

}  // namespace tacit::detail
