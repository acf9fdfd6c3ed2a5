// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/agreement.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/normal_mixtures.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tacit::detail {

/// What grids say of a composition: first a coarse one, then finer ones where they may be had; and where that is little, the
/// Chernoff bounds of few mixtures.
///
/// Guarantee: lower ≤ truth ≤ upper, as of `basic_discretised`, of `jumps_beside` and of `normal_mixtures::both_below`.
template <std::same_as<double> T = double>
class grid_answers {
 public:
  /// The width that a search compares by, relative to ε or δ.
  static constexpr T coarse = basic_discretised<T>::default_width;
  // Distinct mixtures for which the direction `add` has an answer without a grid.
  static constexpr std::size_t most_on_grid = 16;

  using kept = typename basic_discretised<T>::kept_directions;

  /// Both live longer; no mixtures where there are pairs of another kind, too. `width` is what to aim at; what grids leave for
  /// δ at other ε goes into `keep`, if there is one.
  grid_answers(basic_discretised<T> const& grid, normal_mixtures<T> const* mixtures, T width,
               kept* keep = nullptr)
      : grid_(&grid),
        mixtures_(mixtures),
        keep_(keep),
        // Where a line and rays are wide of one mixture, its losses come in rare large jumps, and a finer grid says no more.
        width_(mixtures != nullptr && mixtures->one_mixture() ? coarse : width) {}

  /// ε(δ), of a composition that may miss something. Where losses come in rare large jumps a grid may say little, and the
  /// Chernoff bound of the truncated law more: the upper end is the better of the two. `by_orders` is an upper end by Rényi
  /// divergences, or infinite.
  template <class ByOrders>
  [[nodiscard]] bound<T> epsilon(T delta, work_budget& work, ByOrders&& by_orders) const {
    std::optional<bound<T>> added;
    loss_query<T> const asked{true, delta, grid_->left_out()};
    if (few_mixtures()) {
      added = asked.epsilon_by([&](T value) { return mixtures_->added_epsilon(value, work); });
    }
    auto const towards = [&](orientation way, T aim, work_budget& own) {
      return grid_->epsilon_towards(way, delta, own, aim);
    };
    bound<T> found = refined(
        asked, work,
        [&](T aim, work_budget& own) {
          return added ? larger_of(towards(orientation::remove, aim, own), *added)
                       : grid_->epsilon(delta, own, aim);
        },
        [&](work_budget& own) { return added ? *added : towards(orientation::add, coarse, own); });
    if (!bisects() || !(found.upper - found.lower > 1e-2 * found.upper)) return found;
    found.upper = std::max(found.lower, std::min(found.upper, by_orders()));
    if (!(asked.rest() > 0.0)) return found;
    T const log_delta = elementary::log(asked.rest());
    T const most = found.upper < 1e300 ? found.upper : 1e6;
    found.upper = least_that_holds(std::max(found.lower, 1e-6 * most), found.upper, most,
                                   [&, both = mixtures_->directions()](T e) {
                                     return mixtures_->both_below(both, e, log_delta, work);
                                   });
    return found;
  }

  /// δ(ε).
  [[nodiscard]] bound<T> delta(T epsilon, work_budget& work) const {
    // Below e^−709 δ is not a normal number, and this is all that a grid could state.
    if (bisects() && mixtures_->both_below(mixtures_->directions(), epsilon, -709.0, work)) {
      return {0.0, std::numeric_limits<T>::min()};
    }
    bound<T> found = refined(
        {false, epsilon}, work,
        [&](T aim, work_budget& own) { return grid_->delta(epsilon, own, aim, keep_); },
        [&](work_budget& own) -> bound<T> {
          if (few_mixtures()) {
            if (auto const added = mixtures_->added_delta(epsilon, own)) return *added;
          }
          return grid_->delta_towards(orientation::add, epsilon, own, coarse);
        });
    if (!bisects() || !(found.upper - found.lower > 1e-2 * found.upper)) return found;
    T const least = std::max(found.lower, 1e-300);
    // e^{−1e-12} allows for the rounding of the logarithm.
    found.upper =
        least_that_holds(least, found.upper, found.upper, [&, both = mixtures_->directions()](T d) {
          return mixtures_->both_below(both, epsilon, elementary::log(d) - 1e-12, work);
        });
    return found;
  }

 private:
  static constexpr std::size_t most_bisected = 32;  // distinct mixtures

  // By rays beside a grid of the losses that do not jump, where there are both: that is narrow nearly always. Or else what a grid
  // for the coarse width says; where that is not narrow enough a finer one if it may be had, which takes ten times as long as
  // the coarse one or more; and the finest if it is cheap. `added` is the direction `add` beside the rays.
  template <class OnGrid, class Added>
  [[nodiscard]] bound<T> refined(loss_query<T> query, work_budget& work, OnGrid&& on_grid,
                                 Added&& added) const {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    agreement known(bound<T>{0.0, query.wants_epsilon ? infinity : 1.0}, [&] {
      return std::string(query.words()) + to_text(query.value) +
             ", on grids and by rays beside a grid";
    });
    auto const is_wider = [&](T width) {
      bound<T> const now = known.shared();
      return !(now.upper < infinity) || now.upper - now.lower > width * now.upper;
    };
    work.within(0.8 * work.left(), [&](work_budget& own) {
      if (auto const removed = grid_->removed_beside_jumps(query, own, width_)) {
        known.meet(larger_of(*removed, added(own)), "rays beside a grid");
      }
    });
    if (!is_wider(coarse)) return known.shared();
    T const before = work.left();
    known.meet(before_bisection(work, [&](work_budget& own) { return on_grid(coarse, own); }),
               "a grid");
    bool const hopeless = !work.allows(10.0 * (before - work.left()));
    auto const narrowed = [&](T aim, T most) {
      if (width_ >= coarse || hopeless || !is_wider(aim) || work.ended()) return;
      work.within(most, [&](auto& own) { known.meet(on_grid(aim, own), "a finer grid"); });
    };
    narrowed(width_, work.left());
    narrowed(1e-2 * width_, 1e8);
    return known.shared();
  }

  [[nodiscard]] bool few_mixtures() const {
    return mixtures_ != nullptr && mixtures_->distinct() <= most_on_grid;
  }

  // Whether a Chernoff bound is bisected where a grid says little.
  [[nodiscard]] bool bisects() const {
    return mixtures_ != nullptr && mixtures_->distinct() <= most_bisected;
  }
  template <class Ask>
  [[nodiscard]] bound<T> before_bisection(work_budget& work, Ask&& ask) const {
    return work.within(bisects() ? 0.9 * work.left() : work.left(), std::forward<Ask>(ask));
  }

  // Nearly the least x in [low, high] for which `holds`; `known` if that is not less.
  template <class Holds>
  [[nodiscard]] static T least_that_holds(T low, T known, T high, Holds&& holds) {
    T best = known;
    auto const wide = [](T a, T b) { return b - a > 1e-3; };
    auto const fails = [&](T log_x) {
      T const x = elementary::exp(log_x);
      bool const fits = holds(x);
      if (fits) best = std::min(best, x);
      return !fits;
    };
    (void)bisect(bracket<T>{elementary::log(low), elementary::log(high)}, wide, fails, 60);
    return best;
  }

  basic_discretised<T> const* grid_;
  normal_mixtures<T> const* mixtures_;
  kept* keep_;
  T width_;
};

}  // namespace tacit::detail
