// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/contour/table.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/saddle.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

/// K and its saddle point on coarse tables: where the contour should cross the real axis.

namespace tacit::detail {

/// What could not be certified, and so must be answered by other means.
struct no_certificate {};

/// One direction of a composition of normal and mixture pairs, and the tables that the route under way works
/// with.
template <std::same_as<double> T = double>
class contour_search {
 public:
  struct entry {
    mixture_pair pair;
    T count;
  };

  enum class table { tapered, lifted, split };
  static constexpr T fine = -34.5;   // 1e-15
  static constexpr T rough = -25.0;  // 1e-11

  contour_search(std::vector<entry> entries, T variance)
      : entries_(std::move(entries)), variance_(variance) {}

  // The least ε that Chernoff shows, on the coarse tables.
  [[nodiscard]] T chernoff_epsilon(T log_delta) const {
    T best = std::numeric_limits<T>::infinity();
    T const start = 1e-6 * std::exp(smallest_tilt());
    for (T tilt = start; tilt < start * 1e18; tilt *= 1.4) {
      T const epsilon = (value(tilt) + chernoff_constant(tilt) - log_delta) / tilt;
      if (!(epsilon < best)) break;
      best = epsilon;
      start_ = std::log(tilt);
    }
    if (!(best > 0.0 && best < std::numeric_limits<T>::max())) throw no_certificate{};
    return best;
  }

  // Each P is cut in two, so that losses below the cuts alone make less than 1e-15 of δ: what is
  // left of M after them falls along the line even if most of P is nearly an atom. The largest such
  // cuts, for then it falls the fastest.
  void choose_cuts(T epsilon, T log_delta) const {
    T const goal = log_delta + log_tolerance_ - 0.01;
    T loss = epsilon;
    T tilt = 0.0;
    for (int step = 0; step < 60; ++step, loss /= 1.4) {
      cuts_.clear();
      for (mixture_table<T>& nodes : coarse_) {
        T const cut = nodes.where(loss);
        if (!(cut == cut)) break;
        nodes.split(cut);
        cuts_.push_back(cut);
      }
      if (cuts_.size() < coarse_.size()) continue;
      T best = std::numeric_limits<T>::infinity();
      for (tilt = 1.0 / epsilon; tilt < 1e20; tilt *= 1.4) {
        T sum = 0.5 * tilt * (tilt + 1.0) * variance_ + chernoff_constant(tilt) - tilt * epsilon;
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

  // log of sup (1 − e^{−x})e^{−θx}
  [[nodiscard]] static T chernoff_constant(T tilt) {
    // θ log θ − (1+θ)log(1+θ), which at large tilts would lose every digit
    return -tilt * std::log1p(1.0 / tilt) - std::log1p(tilt);
  }

  // log of the tilt at which the exponent has moved by about one.
  [[nodiscard]] T smallest_tilt() const {
    T second = variance_;
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      second += entries_[k].count * coarse_[k].at(0.0).curvature;
    }
    return std::log(1.0 / std::sqrt(second));
  }

  // The coarse tables.
  void tabulate(T log_delta, T reach) const {
    T const share = static_cast<T>(entries_.size());
    coarse_.clear();
    for (entry const& e : entries_) {
      T const step = std::min(0.3, 1.5 / e.pair.parts.back().shift);
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
  [[nodiscard]] saddle<T> prepared(T log_delta, Search&& found_by) const {
    T largest = 0.0;
    for (entry const& e : entries_) largest = std::max(largest, e.pair.parts.back().shift);
    for (T reach = 8.0 / largest + 8.0; reach * largest < 1e5; reach *= 4.0) {
      tabulate(log_delta, reach);
      saddle<T> const found = found_by();
      if (kind_ != table::lifted || found.tilt < 0.6 * reach) return found;
    }
    throw no_certificate{};
  }

  [[nodiscard]] T dropped(T log_delta, T count) const {
    return log_delta + log_tolerance_ - 2.3 - std::log(count);
  }

  [[nodiscard]] cumulants<T> at(T tilt) const {
    cumulants<T> sum{0.5 * tilt * (tilt + 1.0) * variance_, (tilt + 0.5) * variance_, variance_};
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      cumulants<T> const one = coarse_[k].at(tilt);
      sum.value += entries_[k].count * one.value;
      sum.slope += entries_[k].count * one.slope;
      sum.curvature += entries_[k].count * one.curvature;
    }
    return sum;
  }

  // The same of log(e^K − e^S), S = K of the parts with small losses, if split.
  [[nodiscard]] cumulants<T> shape(T tilt) const {
    cumulants<T> const whole = at(tilt);
    if (kind_ != table::split || cuts_.empty()) return whole;
    // R = K − S = −Σ count·log(1 − r), r the large losses' share of M.
    cumulants<T> fall{0.0, 0.0, 0.0};
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      cumulants<T> const all = coarse_[k].at(tilt);
      cumulants<T> const large = coarse_[k].at_outside(tilt);
      T const r = std::min(std::exp(large.value - all.value), 1.0 - 1e-15);
      T const apart = large.slope - all.slope;
      T const odds = r / (1.0 - r);
      fall.value -= entries_[k].count * std::log1p(-r);
      fall.slope += entries_[k].count * odds * apart;
      fall.curvature +=
          entries_[k].count *
          (odds * (large.curvature - all.curvature + apart * apart) + odds * odds * apart * apart);
    }
    T const weight = 1.0 / std::expm1(fall.value);
    T const slope = whole.slope + weight * fall.slope;
    T const second = whole.curvature + whole.slope * whole.slope +
                     weight * (fall.curvature + fall.slope * (2.0 * whole.slope - fall.slope));
    return {whole.value + std::log(-std::expm1(-fall.value)), slope,
            std::max(second - slope * slope, 1e-12 * slope * slope)};
  }

  [[nodiscard]] T value(T tilt) const {
    T sum = 0.5 * tilt * (tilt + 1.0) * variance_;
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      sum += entries_[k].count * coarse_[k].value(tilt);
    }
    return sum;
  }

  [[nodiscard]] saddle<T> estimate(T tilt) const { return saddle_at(tilt, shape(tilt)); }

  // `miss` falls in the tilt; its root to a few percent of a unit is enough.
  template <class Miss>
  [[nodiscard]] saddle<T> search(Miss&& miss, T closeness) const {
    T low = kind_ == table::split && !cuts_.empty() ? start_ : smallest_tilt();
    saddle<T> at_low = estimate(std::exp(low));
    T low_miss = miss(at_low);
    T stride = low_miss > 0.0 ? 1.0 : -1.0;
    T high = low;
    saddle<T> at_high = at_low;
    T high_miss = low_miss;
    while ((high_miss > 0.0) == (low_miss > 0.0)) {
      if (std::abs(high_miss) < closeness) return at_high;
      low = high;
      low_miss = high_miss;
      high += stride;
      stride *= 1.3;
      if (!(std::abs(high) < 400.0)) throw no_certificate{};
      at_high = estimate(std::exp(high));
      high_miss = miss(at_high);
      if (!(high_miss == high_miss)) throw no_certificate{};
    }
    // Illinois (regula falsi that halves the weight of an end that stays), and bisection now and then:
    // where jumps take over, `miss` is nearly a step.
    for (int step = 1; step < 100; ++step) {
      T const secant = (low * high_miss - high * low_miss) / (high_miss - low_miss);
      T const middle = step % 4 == 0 ? 0.5 * (low + high) : secant;
      saddle<T> const found = estimate(std::exp(middle));
      T const found_miss = miss(found);
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

  [[nodiscard]] saddle<T> saddle_for_delta(T log_delta) const {
    return search([&](saddle<T> const& s) { return s.log_delta - log_delta; }, 0.3);
  }
  [[nodiscard]] saddle<T> saddle_for_epsilon(T epsilon) const {
    return search([&](saddle<T> const& s) { return (epsilon - s.epsilon) * s.tilt; }, 0.2);
  }

  std::vector<entry> entries_;
  T variance_;
  // What the route under way works with; not part of the composition.
  mutable table kind_ = table::tapered;
  mutable T log_tolerance_ = fine;  // what each part may add to δ, relatively
  mutable T most_work_ = 0.0;
  mutable std::vector<T> cuts_;  // in x, one an entry, if split
  mutable T start_ = 0.0;        // log of a tilt near the saddle
  mutable T small_tilt_ = 0.0;   // at which Chernoff shows that small losses alone are not enough
  mutable std::vector<mixture_table<T>> coarse_;
};

}  // namespace tacit::detail
