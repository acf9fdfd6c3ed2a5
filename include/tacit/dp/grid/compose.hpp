// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/real.hpp>
#include <tacit/dp/grid/cells.hpp>
#include <tacit/dp/grid/convolution.hpp>
#include <tacit/dp/grid/measure.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// Measures composed and taken to powers. What grows too long goes on a coarser grid, to the side that is
/// asked for.

namespace tacit::detail {

/// What a coarser grid may do to a composition: raise δ, lower it, or nothing, for there is none.
enum class rounding_side { above, below, exact };

/// A grid of losses on one that is `ratio` times coarser.
template <std::same_as<double> T = double>
struct loss_coarsening {
  [[nodiscard]] std::optional<measure<T>> operator()(measure<T> const& fine, std::int64_t ratio,
                                                     rounding_side side) const {
    std::vector<loss_cell<T>> const cells = gather(fine, ratio);
    T const step = fine.step * static_cast<T>(ratio);
    measure<T> out = side == rounding_side::above ? spread(cells, step, fine.tilt)
                                                  : contract(cells, step, fine.tilt);
    out.log_norm = fine.log_norm;
    out.log_scale = fine.log_scale;
    out.distance += fine.distance + unit_roundoff * std::abs(fine.log_norm);
    return normalise(out) ? std::optional(std::move(out)) : std::nullopt;
  }
};

/// A measure that is not there yet: what is known of its grid and its length.
template <std::same_as<double> T = double>
struct measure_forecast {
  int level = 0;  // its step is `ratio`^level times the finest
  T nodes = 0.0;
  T variance = 0.0;  // in steps of its own
};

/// `Coarsening` says what a coarser grid is: of losses, or of other numbers that are summed.
template <std::same_as<double> T = double, class Coarsening = loss_coarsening<T>>
class composer {
 public:
  static constexpr T comfortable_size = 0x1p15;
  static constexpr T deviations = 18.0;     // that a window of masses is long, about
  static constexpr std::int64_t ratio = 8;  // of a grid's step and the next finer one's
  static constexpr T fan = 64.0;            // = ratio²: releases that one grid composes

  /// Tilted mass left out at each end of a convolution is at most e^{−reach}. Powers that fit `whole_size` nodes are
  /// formed at once.
  composer(rounding_side side, T reach, work_budget& work, T whole_size = 2.0 * comfortable_size)
      : side_(side), convolution_(reach), work_(work), whole_size_(whole_size) {}

  /// Nothing, here and below, where the work left or the largest size do not suffice.
  [[nodiscard]] std::optional<measure<T>> compose(measure<T> a, measure<T> b) const {
    while (a.step != b.step) {
      measure<T>& finer = a.step < b.step ? a : b;
      if (!affordable(finer)) return std::nullopt;
      std::optional<measure<T>> next = coarsened(finer);
      if (!next) return std::nullopt;
      finer = std::move(*next);
    }
    return convolution_.compose(a, b, work_);
  }

  /// The composition of `count` copies.
  [[nodiscard]] std::optional<measure<T>> power(measure<T> const& one, T count) const {
    if (count == 1.0) return one;
    bool const whole = side_ == rounding_side::exact || count < fan ||
                       convolution_.size_of({{&one, count}}) <= whole_size_;
    if (whole) return convolution_.compose({{&one, count}}, work_);
    std::optional<measure<T>> group = convolution_.compose({{&one, fan}}, work_);
    if (!group || !affordable(*group) || !(group = coarsened(*group))) return std::nullopt;
    std::optional<measure<T>> all = power(*group, std::floor(count / fan));
    T const rest = std::fmod(count, fan);
    if (!all || rest == 0.0) return all;
    std::optional<measure<T>> few = power(one, rest);
    return few ? compose(std::move(*few), std::move(*all)) : std::nullopt;
  }

  /// The composition of all, finest and shortest first. Empties the list.
  [[nodiscard]] std::optional<measure<T>> compose(std::vector<measure<T>> list) const {
    auto const later = [](measure<T> const& a, measure<T> const& b) {
      return a.step != b.step ? a.step > b.step : a.mass.size() > b.mass.size();
    };
    auto const taken = [&] {
      std::pop_heap(list.begin(), list.end(), later);
      measure<T> out = std::move(list.back());
      list.pop_back();
      return out;
    };
    std::make_heap(list.begin(), list.end(), later);
    while (list.size() > 1) {
      measure<T> a = taken();
      measure<T> b = taken();
      std::optional<measure<T>> sum = compose(std::move(a), std::move(b));
      if (!sum) return std::nullopt;
      while (side_ != rounding_side::exact && !list.empty() &&
             static_cast<T>(sum->mass.size()) > 4.0 * comfortable_size) {
        if (!affordable(*sum) || !(sum = coarsened(*sum))) return std::nullopt;
      }
      list.push_back(std::move(*sum));
      std::push_heap(list.begin(), list.end(), later);
    }
    return std::move(list.front());
  }

  /// About what it takes to compose measures of these lengths, in nanoseconds. An estimate.
  [[nodiscard]] static T expected_cost(std::vector<measure_forecast<T>> list) {
    auto const later = [](measure_forecast<T> const& a, measure_forecast<T> const& b) {
      return a.level != b.level ? a.level > b.level : a.nodes > b.nodes;
    };
    T cost = 0.0;
    auto const coarsen = [&](measure_forecast<T>& m) {
      cost += 500.0 + 12.0 * m.nodes;
      m = {m.level + 1, m.nodes / ratio + 2.0, m.variance / (ratio * ratio)};
    };
    auto const taken = [&] {
      std::pop_heap(list.begin(), list.end(), later);
      measure_forecast<T> const out = list.back();
      list.pop_back();
      return out;
    };
    std::make_heap(list.begin(), list.end(), later);
    while (list.size() > 1) {
      measure_forecast<T> a = taken();
      measure_forecast<T> const b = taken();
      while (a.level < b.level) coarsen(a);
      T const lengths = a.nodes + b.nodes;
      measure_forecast<T> sum{b.level, 0.0, a.variance + b.variance};
      sum.nodes = std::min(lengths, deviations * std::sqrt(sum.variance) + 64.0);
      cost += loss_convolution<T>::expected_cost(lengths, sum.nodes);
      while (!list.empty() && sum.nodes > 4.0 * comfortable_size) coarsen(sum);
      list.push_back(sum);
      std::push_heap(list.begin(), list.end(), later);
    }
    return cost;
  }

 private:
  [[nodiscard]] bool affordable(measure<T> const& fine) const {
    return work_.take(500.0 + 12.0 * static_cast<T>(fine.mass.size()));
  }

  [[nodiscard]] std::optional<measure<T>> coarsened(measure<T> const& fine) const {
    return Coarsening{}(fine, ratio, side_);
  }

  rounding_side side_;
  loss_convolution<T> convolution_;
  work_budget& work_;
  T whole_size_;
};

}  // namespace tacit::detail
