// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/contour/line.hpp>
#include <tacit/dp/contour/table.hpp>
#include <tacit/dp/nearest_kept.hpp>
#include <tacit/dp/rounded_shifts.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <optional>
#include <utility>

/// What one question about δ leaves for those near it: docs/certificates/contour.md, Lemma 18.

namespace tacit::detail {

/// How wide log δ may be where a kept line answers in the place of one of its own: well within what a trade-off curve or a
/// lone question calls narrow. A line of epochs of random allocation takes long, and is less narrow itself.
inline constexpr double kept_width = 4e-10;
inline constexpr double kept_width_of_epochs = 1e-5;

/// A line of integration that was planned for one ε: its bounds hold at every other one, and are narrow near its own.
template <std::same_as<double> T = double>
class kept_line {
 public:
  kept_line(contour_line<T> line, rounded_shifts const& shifts)
      : line_(std::move(line)), shifts_(shifts) {}

  [[nodiscard]] T start() const { return line_.start(); }
  /// Of one answer, in nanoseconds.
  [[nodiscard]] T work() const { return 2.0 * line_.work(); }

  /// log δ at the ε that the line was planned for, certified: before any other.
  [[nodiscard]] std::optional<bound<T>> first_log_delta(T epsilon) {
    certified_profile<T> const p = line_.profile(epsilon);
    if (!(p.value > p.below)) return {};
    log_delta_ = p.log_lower();
    fall_ = p.slope / p.value;
    return at_least(epsilon, log_delta_ - 1.0);
  }
  /// At another one. Farther out δ falls faster.
  [[nodiscard]] std::optional<bound<T>> log_delta(T epsilon) const {
    return at_least(epsilon, log_delta_ - 1.0 - 2.0 * fall_ * std::abs(epsilon - start()));
  }

 private:
  // Nothing if log δ turns out to be less than that, for which the shifts' rounding is counted.
  [[nodiscard]] std::optional<bound<T>> at_least(T epsilon, T least) const {
    T const blur = shifts_.blur(least);
    T const aside = blur + 2.0 * unit_roundoff * std::abs(epsilon);
    T const lower = line_.profile(epsilon + aside).log_lower();
    if (!(lower >= least)) return {};
    return bound<T>{lower - blur - 2.0 * unit_roundoff * std::abs(lower),
                    sum_above<T>({line_.profile(epsilon - aside).log_upper(), blur})};
  }

  contour_line<T> line_;
  rounded_shifts shifts_;
  T log_delta_ = 0.0;  // at its own ε, and how fast it falls there: about
  T fall_ = 0.0;
};

/// Chernoff's bound at one tilt: log δ′(ε) ≤ log_size − tilt·ε of the truncated law, from which so much was dropped as makes
/// e^{−34.5−2.3} of e^{log_delta} at most.
template <std::same_as<double> T = double>
struct kept_moment {
  T tilt;
  T log_size;
  T log_delta;
  rounded_shifts shifts;

  /// Whether it shows that δ(ε) ≤ e^{at}.
  [[nodiscard]] bool below(T epsilon, T at) const {
    T const gap = std::max(0.0, log_delta - at);
    if (!(gap < 25.0)) return false;
    T const blur = shifts.blur(at);
    T const goal = at - 1e-15 * elementary::exp(gap) - 4.0 * unit_roundoff * std::abs(at) - blur;
    epsilon -= blur + 2.0 * unit_roundoff * std::abs(epsilon);
    return sum_above<T>({log_size, -tilt * epsilon}) <= goal;
  }
};

}  // namespace tacit::detail
