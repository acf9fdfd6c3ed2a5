// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/grid/law.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <span>

namespace tacit::detail {

/// What is known of a composition's δ(ε) from the ends of its laws alone. docs/certificates/grid.md, Lemma 12.
template <std::same_as<double> T = double>
class loss_ends {
 public:
  loss_ends() = default;
  explicit loss_ends(std::span<loss_law<T> const> laws) {
    T infinite = 0.0;
    T left_out = 0.0;
    T log_top = 0.0;
    T size = 0.0;
    T wear = 16.0;
    for (loss_law<T> const& law : laws) {
      T const out = elementary::log1p(-std::min(1.0, law.infinite + law.above));
      largest_ = add_up(largest_, multiply_up(law.count, law.largest));
      reach_ = add_up(reach_, multiply_up(law.count, add_up(law.high, law.loss_error)));
      top_ = add_down(top_, multiply_down(law.count, law.top));
      infinite += law.count * elementary::log1p(-law.infinite);
      left_out += law.count * out;
      T const here = law.count * elementary::log(law.top_mass);
      log_top += here;
      size += std::abs(here);
      wear += 4.0 + law.count * law.mass_error / unit_roundoff;
    }
    reach_ = std::max(0.0, reach_);
    T const off = unit_roundoff * wear;
    left_out_ = std::min(1.0, -elementary::expm1(left_out) * (1.0 + off));
    T const mass = std::max(0.0, -elementary::expm1(infinite));  // and never −0
    infinite_ = {mass * (1.0 - off), std::min(1.0, mass * (1.0 + off))};
    top_mass_ = elementary::exp(log_top) * (1.0 - off - unit_roundoff * 8.0 * size);
    if (!(top_mass_ > std::numeric_limits<T>::min())) top_mass_ = 0.0;
  }

  /// No finite loss of the composition is larger.
  [[nodiscard]] T largest() const { return largest_; }
  /// No loss is larger, but for `left_out` of P.
  [[nodiscard]] T reach() const { return reach_; }
  [[nodiscard]] T left_out() const { return left_out_; }
  /// P's mass at +∞.
  [[nodiscard]] bound<T> infinite() const { return infinite_; }
  [[nodiscard]] bound<T> with_infinite(bound<T> finite) const {
    T const off = 4.0 * unit_roundoff;
    return {std::min(1.0, (infinite_.lower + finite.lower) * (1.0 - off)),
            std::min(1.0, (infinite_.upper + finite.upper) * (1.0 + off))};
  }

  [[nodiscard]] bound<T> delta(T epsilon) const {
    T const off = 8.0 * unit_roundoff;
    T const down = subtract_down(top_, epsilon);
    T const lower = down > 0.0 ? top_mass_ * -elementary::expm1(-down) * (1.0 - off) : 0.0;
    T upper = 1.0;
    if (epsilon >= largest_) {
      upper = infinite_.upper;
    } else {
      T const up = subtract_up(reach_, epsilon);
      upper = (left_out_ + (up > 0.0 ? -elementary::expm1(-up) : 0.0)) * (1.0 + off);
    }
    return {std::min(upper, with_infinite({lower, 0.0}).lower), std::min(1.0, upper)};
  }

  [[nodiscard]] bound<T> epsilon(T delta) const {
    T const unbounded = std::numeric_limits<T>::infinity();
    bound<T> out{0.0, infinite_.upper <= delta ? largest_ : unbounded};
    T const off = 8.0 * unit_roundoff;
    // log(1 − share) added to an end, to either side.
    auto const from = [&](T end, T share, T side) {
      return end + elementary::log1p(-share) +
             side * off * (std::abs(end) - elementary::log1p(-share));
    };
    if (left_out_ <= delta) {
      T const share = (delta - left_out_) * (1.0 - off);
      out.upper = std::min(out.upper, std::max(0.0, from(reach_, share, 1.0)));
    }
    if (infinite_.lower > delta) {
      out.lower = unbounded;
    } else if (infinite_.lower + top_mass_ > delta * (1.0 + off)) {
      T const share = (delta * (1.0 + off) - infinite_.lower) / top_mass_ * (1.0 + off);
      if (share < 1.0) out.lower = std::max(0.0, from(top_, std::max(0.0, share), -1.0));
    }
    out.lower = std::min(out.lower, out.upper);
    return out;
  }

  /// δ(ε) by the chord from a point below, for δ is convex in e^ε. Only if no finite loss is larger than
  /// `largest`.
  [[nodiscard]] T chord(T epsilon, T below, T delta_below) const {
    T const at_epsilon = -elementary::expm1(-subtract_up(largest_, epsilon));
    T const at_below = -elementary::expm1(-subtract_down(largest_, below));
    T const finite = std::max(0.0, delta_below - infinite_.lower);
    return with_infinite({0.0, finite * at_epsilon / at_below * (1.0 + 16.0 * unit_roundoff)})
        .upper;
  }

 private:
  T largest_ = 0.0;
  T reach_ = 0.0;
  T left_out_ = 0.0;
  T top_ = 0.0;
  T top_mass_ = 1.0;
  bound<T> infinite_{0.0, 0.0};
};

}  // namespace tacit::detail
