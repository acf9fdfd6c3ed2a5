// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/grid/ends.hpp>
#include <tacit/dp/grid/law.hpp>
#include <tacit/dp/grid/pairs.hpp>
#include <tacit/dp/grid/sketch.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace tacit::detail {

/// The laws of a composition's pairs, cut off where that changes a δ of about e^{log_delta} by next to nothing.
template <std::same_as<double> T = double>
class prepared_laws {
 public:
  /// Losses beyond these are not worth a grid.
  static constexpr T largest_loss = 1e12;

  prepared_laws(std::span<counted_pair const> pairs, T log_delta) : pairs_(pairs) {
    T total = 0.0;
    for (counted_pair const& c : pairs) total += c.count;
    // Few releases may be composed atom by atom, exactly; of few laws a grid is fine.
    constexpr std::size_t few_laws = 16;
    if (total > 2.0) trim_ = {512, 0.125};
    if (pairs.size() > few_laws) trim_ = {0, 0.5};
    // What is left out above adds to δ; what is left out below is next to nothing once tilted.
    above_ = elementary::exp(std::clamp(log_delta - elementary::log(total) - 25.0, -680.0, -3.0));
    log_below_ = std::clamp(-elementary::log(total) - 30.0, -680.0, -3.0);
    for (counted_pair const& c : pairs) {
      // Atom by atom, a discrete Gaussian this wide is more than a grid holds.
      auto const* lattice = std::get_if<lattice_pair>(&c.pair);
      usable_ = lattice == nullptr || lattice->sigma <= 5e4;
      if (!usable_) return;
      laws_.push_back(law_of(c, log_below_));
      T const reach = std::max(std::abs(laws_.back().low), std::abs(laws_.back().high));
      usable_ = reach < largest_loss && (reach > 1e-150 || laws_.back().infinite > 0.0);
      if (!usable_) return;
    }
    for (loss_law<T> const& law : laws_) sketches_.emplace_back(law, pairs.size());
    ends_ = loss_ends<T>(laws_);
  }

  /// False where there are no laws, for they would not fit.
  [[nodiscard]] bool usable() const { return usable_; }
  [[nodiscard]] loss_ends<T> const& ends() const { return ends_; }
  [[nodiscard]] std::vector<loss_law<T>> const& laws() const { return laws_; }
  [[nodiscard]] std::vector<loss_sketch<T>> const& sketches() const { return sketches_; }

  /// What it took to find the laws, and a saddle point of them: about, in counted nanoseconds.
  [[nodiscard]] T cost() const {
    T cost = 0.0;
    for (loss_law<T> const& law : laws_) cost += 100.0 * static_cast<T>(law.atoms.size());
    for (std::size_t k = 0; k < sketches_.size(); ++k) {
      cost += static_cast<T>(sketches_[k].loss.size()) * (250.0 + extra_cost(laws_[k]));
    }
    return cost;
  }

  [[nodiscard]] bool lower_holds() const {
    return std::all_of(laws_.begin(), laws_.end(),
                       [](loss_law<T> const& law) { return law.lower_holds; });
  }

  /// Leaves out below what the tilt makes negligible, where that is most of the range; and what that took.
  T cut(T tilt) {
    T cost = 0.0;
    for (std::size_t s = 0; s < laws_.size(); ++s) {
      if (laws_[s].curves.empty() || laws_[s].below == 0.0) continue;
      T const log_moment = sketches_[s].at(tilt).value;
      for (T log_below = -3.0; log_below > log_below_; log_below *= 1.4) {
        loss_law<T> law = law_of(pairs_[s], log_below);
        if (log_below + tilt * law.low - log_moment > log_below_) continue;
        if (law.curves.empty()) break;
        sketches_[s] = loss_sketch<T>(law, pairs_.size());
        laws_[s] = std::move(law);
        cost += static_cast<T>(sketches_[s].loss.size()) * extra_cost(laws_[s]);
        break;
      }
    }
    return cost;
  }

 private:
  // Of a point of a sketch, where a loss has many parts.
  [[nodiscard]] static T extra_cost(loss_law<T> const& law) {
    return 0.75 * std::max(0.0, law.point_cost() - 450.0);
  }

  [[nodiscard]] loss_law<T> law_of(counted_pair const& c, T log_below) const {
    loss_law<T> law = std::visit(law_maker<T>(above_, elementary::exp(log_below), trim_), c.pair);
    law.count = c.count;
    T const range = law.high - law.low;
    if (!law.curves.empty() && !(range > 1e-12 * std::abs(law.high))) {
      // To this precision the loss is a number.
      law.loss_error += 2.0 * range;
      law.mass_error += law.above + law.below;
      law.atoms = {{law.high, 1.0}};
      law.curves.clear();
      law.low = law.high;
      law.below = 0.0;
      law.top_mass = 0.0;
    }
    return law;
  }

  std::span<counted_pair const> pairs_;
  std::vector<loss_law<T>> laws_;
  std::vector<loss_sketch<T>> sketches_;
  loss_ends<T> ends_;
  bool usable_ = true;
  typename law_maker<T>::trimming trim_{std::numeric_limits<std::size_t>::max(), 0.0};
  T above_ = 0.0;
  T log_below_ = 0.0;
};

}  // namespace tacit::detail
