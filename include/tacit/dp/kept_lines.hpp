// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/dp/contour/kept.hpp>
#include <tacit/dp/nearest_kept.hpp>
#include <tacit/dp/rays/kept.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <concepts>
#include <optional>
#include <utility>
#include <vector>

/// Lines and rays that have answered about one composition, for many δ(ε) of it. docs/certificates/contour.md, Lemma 18;
/// docs/certificates/rays.md, Corollary 10.

namespace tacit::detail {

/// One direction, and one variance of its normal pairs.
template <std::same_as<double> T = double>
struct kept_direction {
  std::vector<kept_line<T>> lines;
  std::vector<rays::kept_rays> rays;
};

/// log δ at ε from the nearest of `kept`, where it is as narrow as `width` there.
template <class Kept>
[[nodiscard]] std::optional<bound<double>> narrow_log_delta(std::vector<Kept> const& kept,
                                                            double epsilon, work_budget& work,
                                                            double width = kept_width) {
  Kept const* const nearest = nearest_kept(kept, epsilon);
  if (nearest == nullptr || !work.take(nearest->work())) return std::nullopt;
  std::optional<bound<double>> const found = nearest->log_delta(epsilon);
  if (!found || !(found->upper - found->lower <= width)) return std::nullopt;
  return found;
}

/// Both directions of one composition: what it has of another one would be no bound.
template <std::same_as<double> T = double>
struct kept_lines {
  struct both_ends {  // of the variance of the normal pairs
    kept_direction<T> most;
    kept_direction<T> least;
  };
  both_ends remove;
  both_ends add;
  // Chernoff's bounds of `add`.
  std::vector<kept_moment<T>> moments;
  std::vector<rays::kept_moment> moments_on_rays;

  /// Whether one of them shows that δ(ε) ≤ e^{log_delta} in the direction `add`.
  [[nodiscard]] bool add_is_below(T epsilon, T log_delta) const {
    auto const shows = [&](auto const& moment) { return moment.below(epsilon, log_delta); };
    return std::any_of(moments.begin(), moments.end(), shows) ||
           std::any_of(moments_on_rays.begin(), moments_on_rays.end(), shows);
  }
};

}  // namespace tacit::detail
