// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/log.hpp>
#include <tacit/dp/contour/table.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <deque>
#include <initializer_list>
#include <limits>
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
  /// `value` is log M(tilt) of the part asked for; sizes are relative to it.
  envelope(mixture_table<T> const& nodes, T tilt, T value, losses which = losses::all)
      : nodes_(&nodes), tilt_(tilt), which_(which), tilted_(nodes.tilted(tilt, value, which)) {}

  /// log of ∫|f(x ± ia)| over M(θ). `t` > 0 for the side that falls, < 0 for the one that grows.
  [[nodiscard]] T log_size(T height, T t) {
    auto const& [where, stretch, turn] = moved(height);
    T sum = 0.0;
    T high = 0.0;
    for (std::size_t k = 0; k < tilted_.size(); ++k) {
      T const exponent = stretch[k] - t * turn[k];
      high = std::max(high, exponent);
      sum += tilted_[k] * std::expm1(exponent);
    }
    if (high < 600.0) return std::log1p(sum);
    T large = -std::numeric_limits<T>::infinity();
    for (std::size_t k = 0; k < tilted_.size(); ++k) {
      if (tilted_[k] > 0.0) {
        large = log_add(large, std::log(tilted_[k]) + stretch[k] - t * turn[k]);
      }
    }
    return large;
  }

  /// A bound on log|M(θ+it′)/M(θ)| for all t′ ≥ t: the least over heights that halve from the strip's
  /// down to `typical`. For one t after the other, growing.
  [[nodiscard]] T least(T t, T typical) {
    T const strip = std::min(nodes_->strip(), 12.0);
    auto const last = static_cast<int>(std::max(0.0, std::ceil(std::log2(strip / typical))));
    auto const size = [&](int halvings) { return log_size(std::ldexp(strip, -halvings), t); };
    T best = 0.0;
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
      if (here < best || best_ < 0) {
        best = std::min(here, 0.0);
        best_ = at;
      }
    };
    if (best_ >= 0) {
      climb(best_, {-1});  // the best height grows with t
    } else {
      // There may be two minima: for many small losses one low down, for the jumps one far up.
      climb(last, {-1});
      if (best_ > 2) climb(0, {1});
    }
    return best;
  }

 private:
  typename mixture_table<T>::moved const& moved(T height) {
    for (auto const& one : moved_) {
      if (one.height == height) return one;
    }
    return moved_.emplace_back(nodes_->move(tilt_, height, which_));
  }

  mixture_table<T> const* nodes_;
  T tilt_;
  losses which_;
  std::vector<T> tilted_;  // f_θ, normalised to sum 1
  std::deque<typename mixture_table<T>::moved> moved_;
  int best_ = -1;
};

}  // namespace tacit::detail
