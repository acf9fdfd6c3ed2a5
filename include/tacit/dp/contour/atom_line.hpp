// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/contour/atom_fall.hpp>
#include <tacit/dp/contour/atom_moments.hpp>
#include <tacit/dp/contour/integrate.hpp>
#include <tacit/dp/contour/line.hpp>
#include <tacit/dp/contour/plan.hpp>
#include <tacit/dp/contour/search.hpp>
#include <tacit/dp/grid/loss_law.hpp>
#include <tacit/dp/saddle.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// Many releases whose losses are listed, such as those of noise on the integers: the contour integral along a vertical line.
/// |M| of such a law returns, farther out, to nearly M(θ); one more Gaussian, of a deviation so small that it hardly changes δ,
/// is what the integrand falls by there. docs/certificates/contour.md, Lemmas 19 and 20.

namespace tacit::detail {

/// δ(ε) of a composition of laws of atoms alone, in one direction, from one line.
template <std::same_as<double> T = double>
class atom_line {
 public:
  /// What the line says, and what it would say without its errors.
  struct found {
    bound<T> value;
    T nearly;
  };

  /// `blur`: what the masses of all releases together, relatively, and their losses are off by.
  atom_line(contour_line<T> line, T blur) : line_(std::move(line)), blur_(blur) {}

  /// The ε that it was planned for.
  [[nodiscard]] T start() const { return line_.start(); }

  [[nodiscard]] found delta(T epsilon) const {
    T const aside = blur_ + 2.0 * unit_roundoff * std::abs(epsilon);
    certified_profile<T> const above = line_.profile(epsilon - aside);
    certified_profile<T> const below = line_.profile(epsilon + aside);
    auto const out = [&](T log_size, T side) {
      // A number below the normal ones has no relative error, and an upper end is never 0.
      if (!(log_size > -700.0)) return side > 0.0 ? std::numeric_limits<T>::min() : T(0.0);
      T const off = blur_ + unit_roundoff * (4.0 * std::abs(log_size) + 16.0);
      return std::min(1.0, elementary::exp(log_size + side * off));
    };
    T const nearly = below.value > 0.0 ? elementary::exp(below.log_scale) * below.value : 0.0;
    return {{out(below.log_lower(), -1.0), out(above.log_upper(), 1.0)}, nearly};
  }

  /// ε(δ). Nothing if the budget does not allow it.
  [[nodiscard]] std::optional<found> epsilon(T log_delta, work_budget& work) const {
    std::optional<T> const nearly = root_on(line_, log_delta, work);
    if (!nearly) return std::nullopt;
    auto const lower = end_on(line_, *nearly, log_delta, blur_, false, work);
    auto const upper = end_on(line_, *nearly, log_delta, blur_, true, work);
    T const unbounded = std::numeric_limits<T>::infinity();
    return found{{std::max(0.0, lower.value_or(0.0)), std::max(0.0, upper.value_or(unbounded))},
                 *nearly};
  }

 private:
  contour_line<T> line_;
  T blur_;
};

/// Plans a line through a saddle point, and integrates along it.
template <std::same_as<double> T = double>
class atom_line_planner {
 public:
  /// The laws must outlive this.
  atom_line_planner(std::span<loss_law<T> const> laws, work_budget& work)
      : laws_(laws), work_(&work) {
    T masses = 0.0;
    T losses = 0.0;
    for (loss_law<T> const& law : laws) {
      moments_.emplace_back(law.atoms);
      atoms_ += static_cast<T>(law.atoms.size());
      masses = add_up(masses, multiply_up(law.count, law.mass_error));
      losses = add_up(losses, multiply_up(law.count, law.loss_error));
    }
    blur_ = 1.01 * std::max(masses, losses);
  }

  /// With an error of so much in log δ, if the work allows that. Nothing if no line is worth its work.
  [[nodiscard]] std::optional<atom_line<T>> through(saddle<T> const& at, T error) {
    if (!(blur_ < most_blur && at.tilt > 1e-9 && at.tilt < 1e9 && std::abs(at.epsilon) < 1e9)) {
      return std::nullopt;
    }
    plan_ = {};
    plan_.tilt = at.tilt;
    plan_.epsilon = at.epsilon;
    cumulants<T> const k = at_tilt(at.tilt);
    T const goal = at.log_delta + log_tolerance;
    if (!(k.curvature > 0.0) ||
        !choose_copies(plan_, goal, k.curvature, [this](T tilt) { return at_tilt(tilt).value; })) {
      return std::nullopt;
    }
    falls_.clear();
    for (atom_moments<T> const& law : moments_) falls_.emplace_back(law, at.tilt);
    T const scale = k.value - at.tilt * at.epsilon;
    T const above_delta = scale - at.log_delta;
    T const most_hidden = 0.1 * error * elementary::exp(-above_delta);  // of e^{K − θε}
    // From `reach_`/w on the Gaussian of deviation w rules. It hides w²·density, for which e^{K − θε}/√(2πK″) is a first guess.
    reach_ = std::sqrt(2.0 * std::max(1.0, above_delta - log_tolerance));
    T enough = reach_ / std::sqrt(most_hidden * std::sqrt(2.0 * std::numbers::pi * k.curvature));
    T end = 6.0 / std::sqrt(k.curvature);
    std::optional<contour_line<T>> line;
    far_ = 0.0;
    for (int round = 0; round < 3 && enough > far_; ++round) {
      if (!choose_end(end, goal - scale, enough)) break;
      auto next = integrated();
      if (!next) break;
      line = std::move(next);
      T const hidden = line->hidden_;
      if (hidden <= most_hidden || far_ < enough || error >= 1.0) break;
      enough *= 1.1 * std::sqrt(hidden / most_hidden);
      end = plan_.end();
    }
    if (!line) return std::nullopt;
    return atom_line<T>(std::move(*line), blur_);
  }

 private:
  static constexpr T log_tolerance = -30.0;  // what each kind of error may add to δ, relatively
  static constexpr T most_blur = 0.05;
  static constexpr T most_share = 0.6;  // of the work, to see where |M| stays low

  // K and its derivatives, nearly.
  [[nodiscard]] cumulants<T> at_tilt(T tilt) const {
    (void)work_->spend(10.0 * atoms_);
    cumulants<T> sum{0.0, 0.0, 0.0};
    for (std::size_t k = 0; k < moments_.size(); ++k) {
      cumulants<T> const one = moments_[k].at_tilt(tilt);
      sum.value += laws_[k].count * one.value;
      sum.slope += laws_[k].count * one.slope;
      sum.curvature += laws_[k].count * one.curvature;
    }
    return sum;
  }

  // The end of the line, from `end` on, and how far beyond it, up to `enough`, |e^K| is seen to stay as low: whether that is
  // farther than was known. `goal` is relative to e^{K − θε}.
  [[nodiscard]] bool choose_end(T end, T goal, T enough) {
    T const longest = 0.3 * work_->left() / (3.0 * atoms_ + 1200.0) * plan_.spacing;
    T const before = far_;
    return work_->within(most_share * work_->left(), [&](work_budget& own) {
      for (bool longer = true; longer && end < longest && !own.ended();) {
        T const aim = goal + elementary::log(std::numbers::pi * end);
        // With some room, so that the next steps need not be short.
        T const low = log_size(sizes_around(end, 0.0, own));
        if (!(low <= aim - 3.0)) {
          T const factor = low < 0.0 && aim < 3.0 ? std::sqrt((aim - 3.5) / low) : 1.3;
          end *= std::clamp(factor, 1.03, 1.3);
          continue;
        }
        T const seen = stays_low(end, aim, enough, own);
        if (seen > 2.0 * far_) {
          far_ = seen;
          log_fallen_ = aim;
          plan_.points = static_cast<std::size_t>(end / plan_.spacing) + 2;
        }
        // Where |M| returns, a line that ends behind that need not be much longer.
        longer = seen < 1e3 * end && seen < enough;
        end = 1.03 * seen;
      }
      return far_ > before;
    });
  }

  // How far |e^{K(θ + it) − K(θ)}| ≤ e^{aim} from `end` on.
  [[nodiscard]] T stays_low(T end, T aim, T enough, work_budget& work) const {
    constexpr int fewest_steps = 24;
    T t = end;
    T s = 0.02 * end;
    // Steps become longer while what is seen at their middles is enough.
    for (int step = 0; step < 10 * fewest_steps && t < enough; ++step) {
      bool const easy = log_size(sizes_around(t + s, s, work)) <= aim;
      if (!easy && step >= fewest_steps) break;
      if (!easy && !low_around(t + s, s, aim, 12, work)) return t;
      t += 2.0 * s;
      s *= easy ? 1.5 : 0.6;
    }
    std::vector<turning_terms<T>> turning;
    for (atom_fall<T> const& law : falls_) turning.push_back(law.turning(2.0 * s));
    // From a multiple of sixteen on, they are made anew.
    auto n = static_cast<std::size_t>(std::min(t / (2.0 * s), 1e15)) / 16 * 16;
    std::vector<T> sizes(falls_.size());
    for (; t < enough && work.spend(5.0 * atoms_ + 100.0); ++n) {
      T const middle = 2.0 * s * static_cast<T>(n);
      for (std::size_t k = 0; k < falls_.size(); ++k) {
        turning[k].move_to(n);
        sizes[k] = falls_[k].around(turning[k], n, middle, s);
      }
      if (middle + s <= t) continue;
      if (!(log_size(sizes) <= aim) && !low_around(middle, s, aim, 6, work, t)) return t;
      t = middle + s;
    }
    return t;
  }

  // The same for |y − t| ≤ reach and y ≥ from: at once, or by quarters.
  [[nodiscard]] bool low_around(T t, T reach, T aim, int depth, work_budget& work,
                                T from = 0.0) const {
    if (t + reach <= from) return true;
    if (log_size(sizes_around(t, reach, work)) <= aim) return true;
    if (depth == 0 || work.ended()) return false;
    for (T const aside : {-0.75, -0.25, 0.25, 0.75}) {
      if (!low_around(t + aside * reach, 0.25 * reach, aim, depth - 1, work, from)) return false;
    }
    return true;
  }

  [[nodiscard]] std::vector<T> sizes_around(T t, T s, work_budget& work) const {
    (void)work.spend(35.0 * atoms_);
    std::vector<T> sizes;
    for (atom_fall<T> const& law : falls_) sizes.push_back(law.around(t, s));
    return sizes;
  }
  // Re K − K(θ) at most, of |M|/M(θ) of each law.
  [[nodiscard]] T log_size(std::vector<T> const& sizes) const {
    T sum = 0.0;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      sum += laws_[k].count * std::min(0.0, elementary::log(sizes[k]));
    }
    return sum * (1.0 - 1e-12);
  }

  [[nodiscard]] std::optional<contour_line<T>> integrated() {
    T const tilt = plan_.tilt;
    T const points = static_cast<T>(plan_.points);
    contour_line<T> line(plan_);
    line_sums<T> sums(plan_.points, false);
    T const lost = unit_roundoff * (4.0 + static_cast<T>(laws_.size()));
    auto const add = [&](T& to, T count, T log_size) { add_counted(to, count, log_size, lost); };
    T value = 0.0;
    T left_below = 0.0;
    T log_mass = 0.0;
    for (std::size_t k = 0; k < laws_.size(); ++k) {
      loss_law<T> const& law = laws_[k];
      if (!work_->take(moments_[k].work(points))) return std::nullopt;
      std::optional<T> const log_moment = add_along(law.count, moments_[k], plan_, sums);
      if (!log_moment) return std::nullopt;
      add(value, law.count, std::max(moments_[k].above(tilt), *log_moment));
      add(line.at_right_, law.count, moments_[k].above(tilt + plan_.right));
      if (plan_.left < tilt) add(line.at_left_, law.count, moments_[k].above(tilt - plan_.left));
      line.dropped_ += 1.01 * law.count * law.above;
      add(log_mass, law.count, moments_[k].above(0.0));
      if (law.below > 0.0) {
        left_below += 1.01 * law.count * law.below *
                      elementary::exp(tilt * (law.low + law.loss_error) - *log_moment);
      }
    }
    // As low as was seen up to `far_`, and from there on by the Gaussian, which `add_normals` counts at the line's end.
    T const w = reach_ / far_;
    if (!(w <= 1.0 && left_below <= 1e-3)) return std::nullopt;
    T const variance = w * w;
    T const beyond = -0.5 * variance * (far_ - line.end_) * (far_ + line.end_);
    line.log_end_ = sum_above<T>({value, log_add(log_fallen_, beyond), 1e-9});
    line.add_normals(variance, plan_, sums);
    // Relative to what Re K(θ) was found to be.
    line.hidden_ =
        1.001 * elementary::exp(sums.error[0]) * (1.0 + w) * variance / std::numbers::pi *
        (plan_.spacing * size_of(sums) + elementary::exp(log_fallen_) * (far_ + plan_.spacing) +
         elementary::exp(beyond) * (1.0 / (variance * far_) + plan_.spacing));
    // All of the measure may be more than 1, by what its masses are rounded by.
    line.log_mass_ = std::max(0.0, log_mass);
    line.finish(sums);
    // What is left out below counts as an error of the first node.
    line.error_ += 1.01 * left_below * elementary::exp(contour_search<T>::chernoff_constant(tilt)) *
                   std::numbers::pi / plan_.spacing;
    return line;
  }

  // Σ e^{Re K − K(θ)} over the nodes at most, the first one by half.
  [[nodiscard]] static T size_of(line_sums<T> const& sums) {
    T sum = 0.0;
    for (std::size_t n = 0; n < sums.real.size(); ++n) {
      sum += elementary::exp(sums.real[n].value() - sums.real[0].value() + sums.error[n]) *
             (n == 0 ? 0.5 : 1.0);
    }
    return sum;
  }

  std::span<loss_law<T> const> laws_;
  work_budget* work_;
  std::vector<atom_moments<T>> moments_;
  T atoms_ = 0.0;  // of all laws
  T blur_ = 0.0;
  // Of one line:
  contour_plan<T> plan_;
  std::vector<atom_fall<T>> falls_;
  T log_fallen_ = 0.0;  // |e^K| from the line's end up to `far_`, relative to e^{K(θ)}
  T far_ = 0.0;
  T reach_ = 0.0;
};

}  // namespace tacit::detail
