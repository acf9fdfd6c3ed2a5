// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/dp/contour/epoch_moments.hpp>
#include <tacit/dp/contour/laplace_nodes.hpp>
#include <tacit/dp/contour/table.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/saddle.hpp>
#include <tacit/dp/work_budget.hpp>

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

template <std::same_as<double> T = double>
struct contour_entry {
  mixture_pair pair;
  T count;
};

/// Laplace noise, sampled or not.
template <std::same_as<double> T = double>
struct laplace_entry {
  bounded_pair pair;
  T count;
};

/// An epoch of random allocation.
template <std::same_as<double> T = double>
struct epoch_entry {
  allocation_pair pair;
  T count;
};

/// One direction of a composition of normal, mixture and Laplace pairs, and epochs; `variance` is Σ count·mu² of the normal ones.
template <std::same_as<double> T = double>
struct contour_pairs {
  std::vector<contour_entry<T>> entries;
  T variance;
  std::vector<laplace_entry<T>> laplace = {};
  std::vector<epoch_entry<T>> epochs = {};

  /// Whether there are laws that are not tabulated.
  [[nodiscard]] bool has_untabulated() const { return !laplace.empty() || !epochs.empty(); }
  [[nodiscard]] std::size_t size() const { return entries.size() + laplace.size() + epochs.size(); }
};

enum class contour_table { tapered, lifted, split };

/// A way to integrate along a line.
template <std::same_as<double> T = double>
struct line_route {
  contour_table table;
  T work;           // at most so many nodes times points of the line
  bool each;        // for each of the entries
  T log_tolerance;  // what each kind of error may add to δ, relatively
};

/// The coarse tables of one route, and the searches on them. Empty results mean that the route has no
/// answer, or none that the budget allows.
template <std::same_as<double> T = double>
class contour_search {
 public:
  contour_search(contour_pairs<T> const& of, line_route<T> const& route, work_budget& budget)
      : of_(&of), route_(route), budget_(&budget) {
    for (laplace_entry<T> const& e : of.laplace) {
      laplace_.emplace_back(e.pair,
                            static_cast<std::size_t>(1.0 + std::ceil(e.pair.epsilon / 0.7)));
      untabulated_size_ += static_cast<T>(laplace_.back().size());
    }
    for (epoch_entry<T> const& e : of.epochs) {
      auto found = epochs::epoch_moments<T>::coarse(e.pair, budget);
      if (!found) break;  // no answer
      // A line needs moments on its right, too.
      farthest_ = std::min(farthest_, 0.75 * found->farthest_tilt());
      epochs_.push_back(std::move(*found));
      untabulated_size_ += 2.0 * static_cast<T>(epochs_.back().size());
    }
  }

  [[nodiscard]] bool splits() const { return route_.table == contour_table::split; }

  // log of sup (1 − e^{−x})e^{−θx}
  [[nodiscard]] static T chernoff_constant(T tilt) {
    // θ log θ − (1+θ)log(1+θ), which at large tilts would lose every digit
    return -tilt * elementary::log1p(1.0 / tilt) - elementary::log1p(tilt);
  }

  /// A saddle for δ, or for ε near a guess of log δ. If split, the cuts come with it.
  [[nodiscard]] std::optional<saddle<T>> for_delta(T log_delta) {
    if (splits()) {
      // A first guess from tables without what is too rare to matter for it.
      if (!tabulate(log_delta - route_.log_tolerance - 2.0, 0.0)) return {};
      std::optional<T> const guess = chernoff_epsilon(log_delta);
      if (!guess || !tabulate(log_delta, 0.0) || !choose_cuts(*guess, log_delta)) return {};
    }
    auto const by_delta = [&] {
      return search([&](saddle<T> const& s) { return s.log_delta - log_delta; });
    };
    auto found = prepared(log_delta, by_delta);
    if (found && splits() && found->epsilon > 0.0) {
      if (!choose_cuts(found->epsilon, log_delta)) return {};
      found = prepared(log_delta, by_delta);
    }
    return found;
  }

  [[nodiscard]] std::optional<saddle<T>> for_epsilon(T epsilon, T log_delta) {
    return prepared(log_delta, [&] {
      return search([&](saddle<T> const& s) { return (epsilon - s.epsilon) * s.tilt; });
    });
  }

  /// The same where δ is not known yet: its saddle.log_delta is the guess of it.
  [[nodiscard]] std::optional<saddle<T>> for_epsilon(T epsilon) {
    T guess = elementary::log(1e-20);
    std::optional<saddle<T>> found;
    for (int round = 0; round < 3; ++round) {
      if (splits()) {
        cuts_.clear();
        if (round == 0) {
          if (!tabulate(guess, 0.0)) return {};
          start_ = smallest_tilt();
          found = for_epsilon(epsilon, guess);
          if (!found) return {};
          guess = std::min(found->log_delta, -1e-3);
          if (!tabulate(guess, 0.0)) return {};
        }
        if (!choose_cuts(epsilon, guess)) return {};
      }
      found = for_epsilon(epsilon, guess);
      if (!found) return {};
      bool const is_near = std::abs(found->log_delta - guess) < 2.0;
      guess = std::min(found->log_delta, -1e-3);
      if (is_near) break;
    }
    return saddle<T>{found->tilt, epsilon, guess, found->deviation};
  }

  /// Each P is cut in two, so that losses below the cuts alone make less than 1e-15 of δ: what is
  /// left of M after them falls along the line even if most of P is nearly an atom. The largest such
  /// cuts, for then it falls the fastest.
  [[nodiscard]] bool choose_cuts(T epsilon, T log_delta) {
    T const goal = log_delta + route_.log_tolerance - 0.01;
    T loss = epsilon;
    for (int step = 0; step < 60; ++step, loss /= 1.4) {
      cuts_.clear();
      if (!budget_->spend(100.0 * nodes_)) return false;
      for (mixture_table<T>& nodes : coarse_) {
        T const cut = nodes.where(loss);
        if (!(cut == cut)) break;
        nodes.split(cut);
        if (!nodes.is_split()) break;
        cuts_.push_back(cut);
      }
      if (cuts_.size() < coarse_.size()) continue;
      T best = std::numeric_limits<T>::infinity();
      for (T tilt = 1.0 / epsilon; tilt < 1e20; tilt *= 1.4) {
        if (!budget_->spend(50.0 * nodes_)) return false;
        T sum =
            0.5 * tilt * (tilt + 1.0) * of_->variance + chernoff_constant(tilt) - tilt * epsilon;
        for (std::size_t k = 0; k < coarse_.size(); ++k) {
          sum += of_->entries[k].count * coarse_[k].at_small(tilt).value;
        }
        if (sum <= goal) {
          small_tilt_ = tilt;
          return true;
        }
        if (!(sum < best)) break;
        best = sum;
      }
    }
    return false;
  }

  // The coarse tables.
  [[nodiscard]] bool tabulate(T log_delta, T reach, T turns = 0.0) {
    if (epochs_.size() < of_->epochs.size()) return false;
    T const share = static_cast<T>(of_->size());
    coarse_.clear();
    nodes_ = untabulated_size_;
    bool const tapered = route_.table != contour_table::lifted;
    for (contour_entry<T> const& e : of_->entries) {
      T const step = std::min(0.3, 1.5 / e.pair.parts.back().shift);
      T const size = mixture_table<T>::nodes_for(e.pair, tapered, reach, step);
      // A taper that may drop everything lies nowhere, one that may drop nothing infinitely far out.
      T const least = tapered ? dropped(log_delta, e.count * share) : -1.0;
      if (!(least < 0.0 && least > -1e6)) return false;
      if (!budget_->take(120.0 * size * static_cast<T>(e.pair.parts.size()))) return false;
      if (tapered) {
        coarse_.emplace_back(e.pair, least, std::nullopt, step, turns);
      } else {
        coarse_.emplace_back(e.pair, std::nullopt, reach, step);
      }
      if (coarse_.size() <= cuts_.size()) {
        coarse_.back().split(cuts_[coarse_.size() - 1]);
        if (!coarse_.back().is_split()) return false;
      }
      nodes_ += static_cast<T>(coarse_.back().size());
    }
    return true;
  }
  [[nodiscard]] std::vector<mixture_table<T>> const& tables() const { return coarse_; }
  /// use(count, law) for what is not tabulated.
  template <class Use>
  void each_untabulated(Use&& use) const {
    for (std::size_t k = 0; k < laplace_.size(); ++k) use(of_->laplace[k].count, laplace_[k]);
    for (std::size_t k = 0; k < epochs_.size(); ++k) use(of_->epochs[k].count, epochs_[k]);
  }

  [[nodiscard]] T smallest_tilt() const {
    T second = of_->variance;
    for (std::size_t k = 0; k < coarse_.size(); ++k) {
      second += of_->entries[k].count * coarse_[k].at(0.0).curvature;
    }
    each_untabulated(
        [&](T count, auto const& law) { second += count * law.at_tilt(0.0).curvature; });
    return smallest_log_tilt(second);
  }

  /// Of a certified moment on these tables, in nanoseconds, about.
  [[nodiscard]] T certificate_cost() const { return 300.0 * nodes_; }

  [[nodiscard]] T value(T tilt) const {
    (void)budget_->spend(14.0 * nodes_);
    T sum = 0.5 * tilt * (tilt + 1.0) * of_->variance;
    for (std::size_t k = 0; k < coarse_.size(); ++k) {
      sum += of_->entries[k].count * coarse_[k].value(tilt);
    }
    each_untabulated([&](T count, auto const& law) { sum += count * law.at_tilt(tilt).value; });
    return sum;
  }

 protected:
  // The least ε that Chernoff shows, on the coarse tables.
  [[nodiscard]] std::optional<T> chernoff_epsilon(T log_delta) {
    T best = std::numeric_limits<T>::infinity();
    T const start = 1e-6 * elementary::exp(smallest_tilt());
    for (T tilt = start; tilt < start * 1e18; tilt *= 1.4) {
      T const epsilon = (value(tilt) + chernoff_constant(tilt) - log_delta) / tilt;
      if (!(epsilon < best)) break;
      best = epsilon;
      start_ = elementary::log(tilt);
    }
    if (!(best > 0.0 && best < std::numeric_limits<T>::max())) return {};
    return best;
  }

  // The answer of a search on coarse tables. Untapered ones must reach beyond the tilt that is found.
  template <class Search>
  [[nodiscard]] std::optional<saddle<T>> prepared(T log_delta, Search&& found_by) {
    if (of_->entries.empty()) return tabulate(log_delta, 0.0) ? found_by() : std::nullopt;
    T largest = 0.0;
    for (contour_entry<T> const& e : of_->entries) {
      largest = std::max(largest, e.pair.parts.back().shift);
    }
    for (T reach = 8.0 / largest + 8.0; reach * largest < 1e5; reach *= 4.0) {
      if (!tabulate(log_delta, reach)) return {};
      std::optional<saddle<T>> const found = found_by();
      if (!found || route_.table != contour_table::lifted || found->tilt < 0.6 * reach)
        return found;
    }
    return {};
  }

  [[nodiscard]] T dropped(T log_delta, T count) const {
    return log_delta + route_.log_tolerance - 2.3 - elementary::log(count);
  }

  // As if K were of second degree from where the tables say little on.
  [[nodiscard]] cumulants<T> at(T tilt) const {
    if (tilt > farthest_) {
      cumulants<T> const last = at(farthest_);
      T const beyond = tilt - farthest_;
      return {last.value + beyond * (last.slope + 0.5 * beyond * last.curvature),
              last.slope + beyond * last.curvature, last.curvature};
    }
    T const v = of_->variance;
    cumulants<T> sum{0.5 * tilt * (tilt + 1.0) * v, (tilt + 0.5) * v, v};
    for (std::size_t k = 0; k < coarse_.size(); ++k) {
      cumulants<T> const one = coarse_[k].at(tilt);
      sum.value += of_->entries[k].count * one.value;
      sum.slope += of_->entries[k].count * one.slope;
      sum.curvature += of_->entries[k].count * one.curvature;
    }
    each_untabulated([&](T count, auto const& law) {
      cumulants<T> const one = law.at_tilt(tilt);
      sum.value += count * one.value;
      sum.slope += count * one.slope;
      sum.curvature += count * one.curvature;
    });
    return sum;
  }

  // The same of log(e^K − e^S), S = K of the parts with small losses, if split.
  [[nodiscard]] cumulants<T> shape(T tilt) const {
    (void)budget_->spend((splits() && !cuts_.empty() ? 80.0 : 20.0) * nodes_);
    cumulants<T> const whole = at(tilt);
    if (!splits() || cuts_.empty()) return whole;
    // R = K − S = −Σ count·log(1 − r), r the large losses' share of M.
    cumulants<T> fall{0.0, 0.0, 0.0};
    for (std::size_t k = 0; k < coarse_.size(); ++k) {
      T const count = of_->entries[k].count;
      cumulants<T> const all = coarse_[k].at(tilt);
      cumulants<T> const large = coarse_[k].at_large(tilt);
      T const r = std::min(elementary::exp(large.value - all.value), 1.0 - 1e-15);
      T const apart = large.slope - all.slope;
      T const odds = r / (1.0 - r);
      fall.value -= count * elementary::log1p(-r);
      fall.slope += count * odds * apart;
      fall.curvature += count * (odds * (large.curvature - all.curvature + apart * apart) +
                                 odds * odds * apart * apart);
    }
    T const weight = 1.0 / elementary::expm1(fall.value);
    T const slope = whole.slope + weight * fall.slope;
    T const second = whole.curvature + whole.slope * whole.slope +
                     weight * (fall.curvature + fall.slope * (2.0 * whole.slope - fall.slope));
    return {whole.value + elementary::log(-elementary::expm1(-fall.value)), slope,
            std::max(second - slope * slope, 1e-12 * slope * slope)};
  }

  [[nodiscard]] saddle<T> estimate(T tilt) const { return saddle_at(tilt, shape(tilt)); }

  template <class Miss>
  [[nodiscard]] std::optional<saddle<T>> search(Miss&& miss) const {
    std::optional<saddle<T>> found = find_saddle(
        splits() && !cuts_.empty() ? start_ : smallest_tilt(),
        [&](T tilt) { return estimate(tilt); },
        [&](saddle<T> const& s) {
          return budget_->ended() ? std::numeric_limits<T>::quiet_NaN() : miss(s);
        });
    // A line need not lie through the saddle: on its left it sums more than δ.
    if (found) found->tilt = std::min(found->tilt, farthest_);
    return found;
  }

  contour_pairs<T> const* of_;
  line_route<T> route_;
  work_budget* budget_;
  std::vector<T> cuts_;  // in x, one an entry, if split
  T start_ = 0.0;        // log of a tilt near the saddle
  T small_tilt_ = 0.0;   // at which Chernoff shows that small losses alone are not enough
  T nodes_ = 0.0;
  std::vector<mixture_table<T>> coarse_;
  std::vector<laplace_nodes<T>> laplace_;
  std::vector<epochs::epoch_moments<T>> epochs_;
  T untabulated_size_ = 0.0;                         // of their nodes
  T farthest_ = std::numeric_limits<T>::infinity();  // tilt of a line
};

}  // namespace tacit::detail
