// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/contour/search.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/normal_sum.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/two_releases.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <vector>

/// Which compositions are two releases of sampled Gaussians, and what `two_releases` says of them.

namespace tacit::detail {

/// Two sampled Gaussians, or one and unsampled ones. Nothing of other compositions, or of little noise.
template <std::same_as<double> T = double>
class two_mixtures {
 public:
  /// The direction `remove`; both must outlive this.
  two_mixtures(std::vector<contour_entry<T>> const& mixtures, normal_sum const& normals)
      : mixtures_(&mixtures), normals_(&normals) {}

  [[nodiscard]] std::optional<bound<T>> epsilon(orientation towards, T delta) const {
    return ask(towards, [&](two_releases<T> const& both) {
      return both.epsilon(delta, likely_epsilon(delta));
    });
  }

  [[nodiscard]] std::optional<bound<T>> log_delta(orientation towards, T epsilon) const {
    return ask(towards, [&](two_releases<T> const& both) {
      auto const [low, high] = both.delta(epsilon);
      enclosure const logs = log(enclosure(low, high));
      return std::optional(bound<T>{logs.lower, logs.upper});
    });
  }

  /// Whether δ(ε) ≤ e^{log_delta} in the direction `add`, where log_delta may be off by 2 units of itself.
  [[nodiscard]] bool add_is_below(T epsilon, T log_delta) const {
    std::optional<bound<T>> const added = ask(orientation::add, [&](two_releases<T> const& both) {
      return std::optional(both.delta(epsilon));
    });
    // The exponential is off by 2 units of its own.
    T const surely = log_delta - 4.0 * unit_roundoff * (2.0 + std::abs(log_delta));
    return added && added->upper <= a_little_less * elementary::exp(surely);
  }

 private:
  template <class Ask>
  [[nodiscard]] std::optional<bound<T>> ask(orientation towards, Ask&& of) const {
    std::size_t const size = mixtures_->size();
    if (size == 0 || size > 2) return {};
    T const each = size == 1 ? mixtures_->front().count : 1.0;
    for (contour_entry<T> const& e : *mixtures_) {
      if (e.pair.parts.size() != 1 || e.count != each) return {};
    }
    auto const [low, high] = normals_->mu();
    bool const unsampled = high.mu > 0.0;  // one release, then
    if (each * static_cast<T>(size) != (unsampled ? 1.0 : 2.0)) return {};
    sampled_normal const last =
        unsampled ? sampled_normal{1.0, {low.mu, high.mu}} : release(mixtures_->back());
    two_releases<T> const both(release(mixtures_->front()), last, towards);
    return both.serves() ? of(both) : std::nullopt;
  }

  [[nodiscard]] static sampled_normal release(contour_entry<T> const& of) {
    mixture_pair::part const& p = of.pair.parts[0];
    return {p.weight, within_steps(p.shift, 1)};
  }

  // Where to look for ε: as if each release had the variance of its loss alone.
  [[nodiscard]] T likely_epsilon(T delta) const {
    T square = normals_->variance().upper;
    for (contour_entry<T> const& e : *mixtures_) {
      auto const [weight, shift] = e.pair.parts[0];
      square += e.count * weight * weight * elementary::expm1(std::min(shift * shift, 100.0));
    }
    return std::max(tacit::epsilon(gaussian_dp{std::sqrt(square)}, delta).upper, 1e-300);
  }

  std::vector<contour_entry<T>> const* mixtures_;
  normal_sum const* normals_;
};

}  // namespace tacit::detail
