// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/contour/strip.hpp>
#include <tacit/dp/contour/table.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <map>
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
  /// Sizes are relative to e^`value`; for log_size M(tilt) of all of P or nearly.
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
      tilted_[k] = nodes.weight() * elementary::exp(exponent(k));
  }

  /// An estimate of log ∫|f(x ± ia)|; `t` > 0 for the side that falls, < 0 for the one that grows.
  [[nodiscard]] T log_size(T height, T t) {
    std::vector<T> const& stretch = moved(height).stretch;
    std::vector<T> const& turn = turns_at(height);
    T sum = 0.0;
    T total = which_ == losses::all ? 1.0 : 0.0;  // where it is nearly one, to the last digits
    T high = 0.0;
    for (std::size_t k = 0; k < tilted_.size(); ++k) {
      T const moves = stretch[k] - t * turn[k];
      if (tilted_[k] < 1e-30 && moves < 20.0) continue;
      high = std::max(high, moves);
      sum += tilted_[k] * (total > 0.0 ? elementary::expm1(moves) : elementary::exp(moves));
    }
    if (high < 600.0) return total > 0.0 ? elementary::log1p(sum) : elementary::log(sum);
    T large = -std::numeric_limits<T>::infinity();
    for (std::size_t k = 0; k < tilted_.size(); ++k) {
      if (tilted_[k] > 0.0)
        large = log_add(large, elementary::log(tilted_[k]) + stretch[k] - t * turn[k]);
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
      T const size = log_strip_integral(height + b);
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
      T const rule = sum_above<T>({0.7, log_alias(*nodes_, b), log_strip_integral(b)});
      least = std::min(least, log_add(sum, rule));
      if (rule < -40.0) break;
    }
    return sum_above<T>({value_, least});
  }

  /// `growth_beyond` of the table.
  [[nodiscard]] T growth_beyond(T height, T t) const {
    return detail::growth_beyond(*nodes_, tilt_, value_, height, t);
  }

  /// What lies beyond the table's ends of ∫|f(x ± i·height)|, on the side that grows where t > 0.
  [[nodiscard]] T moved_tail(T height, T t) const {
    return sum_above<T>({log_tail(*nodes_, tilt_, height, t), -value_});
  }

 private:
  struct on_line {
    std::vector<T> stretch;
    std::vector<T> turn;  // where asked for
  };

  [[nodiscard]] T exponent(std::size_t k) const {
    return nodes_->log_mass(k) + tilt_ * nodes_->loss(k) - value_;
  }
  [[nodiscard]] T power() const { return nodes_->removes() ? 1.0 + tilt_ : -tilt_; }

  // log φ of the steps that end the part, over the taper: Lemma 4.
  [[nodiscard]] T log_edge(std::size_t k) const {
    auto const log_normal = [&](T cut) {
      T const y = nodes_->beyond(nodes_->point(k), cut);
      return -0.5 * y * y - constants::log_root_two_pi<T>();
    };
    T normal =
        which_ == losses::lesser ? log_normal(nodes_->inner_cut()) : log_normal(nodes_->cut());
    if (which_ == losses::large) normal = log_add(normal, log_normal(nodes_->inner_cut()));
    return normal - nodes_->log_taper(k);
  }

  // log of (window + φ·∫₀^{b} e^{v²/2}dv) over the taper, which bounds |window(x + ia)| over it, b =
  // a/taper_width: Lemma 4.
  [[nodiscard]] T log_window(std::size_t k, T log_grown) const {
    if (!nodes_->tapered()) return 0.0;
    T const edge = log_grown + log_edge(k);
    if (which_ == losses::all && edge < -40.0) return 1e-17;  // log(1 + e^edge) ≤ e^edge
    return log_add(nodes_->log_share(k, which_), edge);
  }

  // Of every node: the parts' shares in the likelihood ratio, and what they add up to.
  [[nodiscard]] std::vector<T> const& shares() {
    if (!facts_ && shares_.empty()) shares_ = table_facts<T>::shares_of(*nodes_);
    return facts_ ? facts_->shares : shares_;
  }
  [[nodiscard]] std::vector<T> const& share() {
    std::size_t const parts = nodes_->pair().parts.size();
    if (parts == 1) return shares();
    if (share_.empty()) {
      share_.assign(nodes_->size(), 0.0);
      for (std::size_t k = 0; k < share_.size(); ++k) {
        for (std::size_t j = 0; j < parts; ++j) share_[k] += shares()[k * parts + j];
      }
    }
    return share_;
  }

  on_line& moved(T height) {
    if (auto const known = moved_.find(height); known != moved_.end()) return known->second;
    std::size_t const size = tilted_.size();
    auto const& all_shares = shares();
    on_line out{std::vector<T>(size), {}};
    auto const angles = part_angles(nodes_->pair().parts, height);
    T const log_grown =
        height > 0.0 ? log_growth(height / taper_width) : -std::numeric_limits<T>::infinity();
    T const half_power = 0.5 * power();
    for (std::size_t k = 0; k < size; ++k) {
      auto const [real, imaginary] = ratio_moves(all_shares, k, angles);
      out.stretch[k] = 0.5 * height * height +
                       half_power * elementary::log1p(std::max(
                                        -1.0, 2.0 * real + real * real + imaginary * imaginary)) +
                       log_window(k, log_grown);
    }
    return moved_.emplace(height, std::move(out)).first->second;
  }

  std::vector<T> const& turns_at(T height) {
    on_line& line = moved(height);
    if (line.turn.empty()) {
      auto const& all_shares = shares();
      auto const angles = part_angles(nodes_->pair().parts, height);
      line.turn.resize(tilted_.size());
      for (std::size_t k = 0; k < tilted_.size(); ++k) {
        auto const [real, imaginary] = ratio_moves(all_shares, k, angles);
        line.turn[k] = elementary::atan2(imaginary, 1.0 + real);
      }
    }
    return line.turn;
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
    std::vector<T> const& stretch = moved(height).stretch;
    T const* const turn = t == 0.0 ? nullptr : turns_at(height).data();
    std::vector<T> const& share = this->share();
    T const both = std::abs(power()) + std::abs(t);
    std::vector<T> moves(tilted_.size());
    std::vector<T> sensitivity(tilted_.size());
    T const s = nodes_->shift();
    T const cosine = elementary::cos(0.5 * s * height);
    for (std::size_t k = 0; k < moves.size(); ++k) {
      moves[k] = turn == nullptr ? stretch[k] : stretch[k] - t * turn[k];
      if (chord) moves[k] += chord_above(share, k, both, cosine);
      // A share's error moves the logarithm by at most so much of it; t·turn is no more than that.
      sensitivity[k] =
          both * std::min(share[k] * (s * height + 2.0) * s * height / (cosine * cosine), 8.0);
    }
    return log_sum_above(moves, sensitivity);
  }

  // log ∫|f|(window + 2φ·∫₀^{b} e^{v²/2}dv), b = height/taper_width, moved by up to that height; at most.
  [[nodiscard]] T log_strip_integral(T height) {
    T const ln_two = 0.69314718055994531;
    if (!nodes_->removes()) return sum_above<T>({ln_two, moves_to(height)});
    T const log_grown = log_growth(height / taper_width) + ln_two;
    if (!(log_grown < 600.0)) return std::numeric_limits<T>::infinity();
    std::vector<T> const& share = this->share();
    T const growth = nodes_->tapered() ? elementary::exp(log_grown) : 0.0;
    prepare_strip_integral();
    T sum = 0.0;
    T wrong = 0.0;
    for (std::size_t k = 0; k < tilted_.size(); ++k) {
      // e^c ≤ (2 + c)/(2 − c) for 0 ≤ c < 2, as 2 artanh(c/2) ≥ c.
      T const c = chord_above(share, k, power(), 1.0);
      T const chord = c < 1.0 ? (2.0 + c) / (2.0 - c) : elementary::exp(c);
      T const term = tilted_[k] * (inside_[k] + growth * edge_[k]) * chord;
      sum += term;
      wrong += term * (units_[k] + edge_units_[k] + 4.0 * c);
    }
    wrong += sum * (2.0 * log_grown + static_cast<T>(tilted_.size()) + 24.0);
    sum += 1.01 * unit_roundoff * wrong + static_cast<T>(tilted_.size()) * 1e-300;
    return log_add(sum_above<T>({elementary::log(sum), 0.5 * height * height}),
                   moved_tail(height, 0.0));
  }

  // What log_strip_integral asks of every node, whatever the height.
  void prepare_strip_integral() {
    count_units();
    if (!inside_.empty()) return;
    std::size_t const size = tilted_.size();
    inside_.assign(size, 1.0);
    edge_.assign(size, 0.0);
    edge_units_.assign(size, 0.0);
    if (!nodes_->tapered()) return;
    for (std::size_t k = 0; k < size; ++k) {
      if (which_ != losses::all) inside_[k] = elementary::exp(nodes_->log_share(k, which_));
      T const edge = log_edge(k);
      edge_[k] = elementary::exp(edge);
      // y errs by 2 units, y²/2 by 5, log Φ by what units() has of it.
      edge_units_[k] = 8.0 * (std::abs(edge) + std::abs(nodes_->log_taper(k)) + 1.0);
    }
  }
  void count_units() {
    if (!units_.empty()) return;
    units_.resize(tilted_.size());
    for (std::size_t k = 0; k < units_.size(); ++k) units_[k] = units(k);
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

  [[nodiscard]] T log_sum_above(std::vector<T> const& moves, std::vector<T> const& sensitivity) {
    T high = -std::numeric_limits<T>::infinity();
    for (std::size_t k = 0; k < moves.size(); ++k) {
      if (tilted_[k] > 0.0) high = std::max(high, moves[k]);
    }
    count_units();
    compensated_sum<T> sum;
    T wrong = 0.0;
    for (std::size_t k = 0; k < moves.size(); ++k) {
      if (!(tilted_[k] > 0.0)) continue;
      T const term = tilted_[k] * elementary::exp(moves[k] - high);
      sum += term;
      wrong +=
          term * (units_[k] +
                  (sensitivity.empty() ? 0.0 : sensitivity[k] * (facts_->errors[k].share + 8.0)) +
                  8.0 * std::abs(moves[k]) + 2.0 * std::abs(high) + 8.0);
    }
    return sum_above<T>({high, elementary::log(sum.value() + 1.01 * unit_roundoff * wrong +
                                               static_cast<T>(moves.size()) * 1e-300)});
  }

  mixture_table<T> const* nodes_;
  table_facts<T> const* facts_;
  T tilt_;
  T value_;
  losses which_;
  std::vector<T> tilted_;  // f_θ over e^value, of all of P
  std::vector<T> shares_;
  std::vector<T> share_;
  std::vector<T> units_;
  std::vector<T> inside_;  // the part's share of a node, linearly
  std::vector<T> edge_;    // e^log_edge
  std::vector<T> edge_units_;
  std::map<T, on_line> moved_;  // by height
  int best_ = -1;
};

/// log M(tilt) at most: Lemma 8.
template <std::same_as<double> T>
[[nodiscard]] T moment_above(mixture_table<T> const& nodes, T tilt, table_facts<T> const& facts) {
  T high = 0.0;  // any scale serves
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    high = std::max(high, nodes.log_mass(k) + tilt * nodes.loss(k));
  }
  return envelope<T>(nodes, tilt, high, losses::all, &facts).log_moment();
}

}  // namespace tacit::detail
