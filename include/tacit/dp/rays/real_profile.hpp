// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/nearest_kept.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rays/answer.hpp>
#include <tacit/dp/rays/kept.hpp>
#include <tacit/dp/rounded_shifts.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace tacit::detail::rays {

/// δ of sampled Gaussians in the direction `remove` at any real ε: from rays where it was asked, and elsewhere from what
/// every profile is. With B = Σ −count·log(1 − rate), for e ≤ −B no loss is smaller and δ(e) = 1 − e^e; δ ≥ 1 − e^e; and δ
/// falls, by no more than e^e rises.
template <std::same_as<double> T = double>
class real_profile {
 public:
  explicit real_profile(composition const& what)
      : what_(&what), base_(static_cast<T>(base(what))), blur_(shifts_of(what).blur(least)) {}

  /// Logarithms: e^lower ≤ δ(e − s)e^blur and δ(e + s) ≤ e^{upper + blur}, s what `aside` says of the farthest e.
  struct bounds {
    std::vector<T> lower;
    std::vector<T> upper;
  };

  /// At falling ε. Below e^least a δ is as good as none.
  [[nodiscard]] bounds at(std::vector<T> const& falling, work_budget& work) const {
    std::size_t const n = falling.size();
    T const moved = farthest_aside(falling);
    bounds out{std::vector<T>(n, -infinity), std::vector<T>(n, 0.0)};
    for (std::size_t k = 0; k < n; ++k) {
      T const e = falling[k];
      T const none = e < 0.0 ? elementary::log(-elementary::expm1(e)) : -infinity;
      T const off = 8.0 * unit_roundoff * (1.0 + std::abs(none));
      if (none > -infinity) out.lower[k] = none - off;
      if (is_exact(e)) {
        out.upper[k] = std::min(0.0, none + off);
      } else if (auto const found = on_rays(e, work)) {
        out.lower[k] = std::max(out.lower[k], std::min(found->lower, 0.0));
        out.upper[k] = std::min(0.0, found->upper);
      }
      if (out.lower[k] < least) out.lower[k] = -infinity;
      out.upper[k] = std::max(out.upper[k], least);
      if (k == 0) continue;
      out.lower[k] = std::max(out.lower[k], out.lower[k - 1]);
      if (!(falling[k - 1] <= 1.0)) continue;
      // Between e + s and the one above it.
      T const rise =
          elementary::exp(falling[k - 1] + moved) * -elementary::expm1(e - falling[k - 1]);
      T const above = elementary::exp(out.upper[k - 1]) + rise;
      if (above < 1.0) {
        T const log_above = elementary::log(above * (1.0 + 16.0 * unit_roundoff));
        out.upper[k] =
            std::min(out.upper[k], log_above + 2.0 * unit_roundoff * std::abs(log_above));
      }
    }
    for (std::size_t k = n; k-- > 1;) out.upper[k - 1] = std::min(out.upper[k - 1], out.upper[k]);
    return out;
  }

  /// Of e^{tilt·e}δ(e) over [low, high] the logarithm of the largest, at most: on stretches that have the largest δ at one
  /// end, and the largest e^{tilt·e} at the other.
  [[nodiscard]] T log_largest(T tilt, T low, T high, work_budget& work) const {
    T const stretches = std::clamp(std::ceil(8.0 * tilt * (high - low)), 16.0, 192.0);
    std::vector<T> falling{high};
    for (T k = 1.0; k < stretches; k += 1.0) falling.push_back(high - (high - low) * k / stretches);
    // Upper ends are of what is moved up.
    T const moved = farthest_aside(falling) + aside(low);
    falling.push_back(low - moved);
    bounds const known = at(falling, work);
    T most = -infinity;
    for (std::size_t k = 1; k < falling.size(); ++k) {
      T const exponent = tilt * falling[k - 1];
      most =
          std::max(most, known.upper[k] + exponent +
                             4.0 * unit_roundoff * (std::abs(known.upper[k]) + std::abs(exponent)));
    }
    return most + tilt * moved + blur_;
  }

  /// Whether rays for this ε may still say more than those for others that are not nearer than `apart`, or than a part of how
  /// far ε is above the smallest loss.
  [[nodiscard]] bool may_ask(T epsilon, T apart) const {
    T const room = std::min(apart, 0.05 * (epsilon + base_));
    return asked_.size() < most_asked && !is_exact(epsilon) && room > 0.0 &&
           std::none_of(asked_.begin(), asked_.end(),
                        [&](T known) { return std::abs(known - epsilon) <= room; });
  }
  /// Asks for rays there. Whether there are any.
  bool ask(T epsilon, work_budget& work) {
    asked_.push_back(epsilon);
    std::vector<kept_rays> found;
    work.within(most_work(*what_), [&](work_budget& own) {
      (void)solver<T>(*what_, orientation::remove, own, &found, infinity).log_delta(epsilon);
    });
    auto const width = [&](kept_rays const& one) {
      std::optional<bound<T>> const known = one.unshifted(epsilon);
      return known ? known->upper - known->lower : infinity;
    };
    auto const narrowest = std::min_element(
        found.begin(), found.end(),
        [&](kept_rays const& a, kept_rays const& b) { return width(a) < width(b); });
    if (narrowest == found.end()) return false;
    kept_.push_back(std::move(*narrowest));
    return true;
  }

  /// What rays at ε round it by: as `ray_sum::shift`, where long double may be no wider than double.
  [[nodiscard]] T aside(T epsilon) const {
    return 72.0 * unit_roundoff * (base_ + std::abs(epsilon)) + blur_;
  }
  [[nodiscard]] T blur() const { return blur_; }

 private:
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static constexpr T least = -900.0;
  static constexpr std::size_t most_asked = 96;

  [[nodiscard]] T farthest_aside(std::vector<T> const& falling) const {
    return aside(std::max(std::abs(falling.front()), std::abs(falling.back())));
  }

  [[nodiscard]] bool is_exact(T epsilon) const { return epsilon <= -base_ * (1.0 + 1e-12); }

  [[nodiscard]] std::optional<bound<T>> on_rays(T epsilon, work_budget& work) const {
    if (!(epsilon > -base_ * (1.0 - 1e-12))) return std::nullopt;
    kept_rays const* const nearest = nearest_kept(kept_, epsilon);
    if (nearest == nullptr) return std::nullopt;
    // One integral where an answer takes two, and a short one.
    (void)work.spend(0.3 * nearest->work());
    return nearest->unshifted(epsilon);
  }

  composition const* what_;
  T base_;
  T blur_;
  std::vector<kept_rays> kept_;
  std::vector<T> asked_;
};

}  // namespace tacit::detail::rays
