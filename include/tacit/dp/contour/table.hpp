// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/short_number.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/saddle.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

/// The moments E_P[e^{zL}] of a Gaussian mixture's privacy loss, on the real axis and on a vertical line
/// of the complex plane, from one table of nodes.
///
///   M(z) = 1 + z·KL(P‖Q) + E_P[e^{zL} − 1 − zL]
///
/// has no cancellation: at a rate of 1e-12 it differs from 1 by 1e-24 and every digit of that is right.
/// The expectation is a trapezoid sum over the output x, exponentially convergent because the integrand
/// is analytic for |Im x| < π/(largest shift).

namespace tacit::detail {

inline constexpr double taper_width = 0.3;

/// How far `log_normal_tail` may be off, relatively, in units of rounding: docs/certificates/gaussian.md, Lemma 5.
/// All other counts of units are derived in docs/certificates/contour.md.
inline constexpr double tail_units = 181.0;

/// At least Σ terms (certificate, Lemma 2); −∞ is the logarithm of zero, as in log_add.
template <std::same_as<double> T>
[[nodiscard]] T sum_above(std::initializer_list<T> terms) {
  T sum = 0.0;
  T size = 0.0;
  for (T const x : terms) {
    sum += x;
    size += std::abs(x);
  }
  if (!(size <= std::numeric_limits<T>::max())) {
    return sum < 0.0 ? sum : std::numeric_limits<T>::infinity();
  }
  return sum + 9.0 * unit_roundoff * size;
}

/// What a part of a mixture contributes to the likelihood ratio at x: weight·e^{shift·(x − shift/2)}/R(x).
template <std::same_as<double> T>
[[nodiscard]] T share_of(mixture_pair::part const& part, T x, T log_ratio) {
  return part.weight * elementary::exp(part.shift * (x - 0.5 * part.shift) - log_ratio);
}
/// The same of all parts, but for rounding at most 1.
template <std::same_as<double> T>
[[nodiscard]] T share_of(std::vector<mixture_pair::part> const& parts, T x, T log_ratio) {
  T share = 0.0;
  for (mixture_pair::part const& part : parts) share += share_of(part, x, log_ratio);
  return share;
}

/// Which part of a split table.
enum class losses { all, lesser, large };

/// P's mass on a grid in x, with the losses there.
template <std::same_as<double> T = double>
class mixture_table {
 public:
  /// P is tapered smoothly where the loss is largest, far out: S(x) = Φ(±(cut − x)/taper_width), so
  /// that at most e^{log_dropped} of its mass is lost (and added to every upper end): the far tail
  /// would else rule M at the tilts that matter. Without `log_dropped` there is no taper.
  /// `reach` is the largest tilt to serve; e^{turns} and e^{swell} are what the ratio's argument and the
  /// taper may grow by off the axis; `rise` is what the former and its power may rise by a unit to the right
  /// of everything, in `add`. Without a reach the table ends near the cut, and nearer if `turns` is
  /// below 0. In the direction `remove` a tapered P is cut off at the end.
  mixture_table(mixture_pair const& pair, std::optional<T> log_dropped, std::optional<T> reach,
                T step, T turns = 0.0, T swell = 0.0, T rise = std::numeric_limits<T>::infinity())
      : pair_(&pair),
        remove_(pair.orientation == orientation::remove),
        tapered_(log_dropped.has_value()),
        step_(short_number(step, 11)),
        weight_(step_ * 0.39894228040143268),  // 1/√2π
        rest_(rest_of(pair)) {
    T const largest = shift();
    if (tapered_) {
      // A normal tail is below e^{−y²/2}.
      T const out = std::sqrt(-2.0 * *log_dropped) * elementary::hypot(1.0, taper_width);
      cut_ = remove_ ? largest + out : -out;
    }
    // Without a taper a tilt z moves the mass to z times the shift. With one the table ends where even
    // the largest tilt has left less than may be dropped.
    T const tilt = reach.value_or(0.0);
    T low = -10.5;
    T high = std::max(2.0 * largest + 10.5,
                      std::min(1000.0, std::sqrt(2.0 * std::max(0.0, turns) + 110.0)));
    if (!remove_ && rise + 2.0 < high) {
      // As far as the normal rules.
      T const most = high;
      high = std::max(2.0 * largest + 10.5, rise + 2.0);
      while (high < most && turns * turn_at(share_of_shifted(high)) > 0.5 * high * high - 55.0) {
        high += 0.5;
      }
    }
    T& end = remove_ ? high : low;
    if (tapered_) {
      T const outwards = remove_ ? 0.1 : -0.1;
      end = cut_ + 32.0 * outwards;
      // As long as the share of what is shifted grows, large tilts find more there.
      for (T const most = cut_ + 8.0;
           remove_ && turns >= 0.0 && end < most && !(share_of_shifted(end) > 0.9);)
        end += 0.5;
      auto const done = [&](T x) {
        T const log_ratio = mixture_ratio(pair_->parts, rest_, x).log;
        return -0.5 * x * x + (remove_ ? 1.0 + tilt : -tilt) * log_ratio +
                   log_normal_tail(beyond(x, cut_)) + swell +
                   turns * turn_at(share_of_shifted(x)) <=
               *log_dropped;
      };
      if (reach) {
        constexpr T most_beyond = 100.0;
        end = cut_ + outwards;
        while (!done(end) && std::abs(end - cut_) < most_beyond) end += outwards;
      }
    } else if (remove_) {
      high = std::max(high, (1.0 + tilt) * largest + 10.5);
    } else {
      low = std::min(low, -tilt * largest - 10.5);
    }
    auto const first = static_cast<std::int64_t>(std::floor(low / step_));
    auto const last = static_cast<std::int64_t>(std::ceil(high / step_)) + 1;
    auto const count = static_cast<std::size_t>(last - first) + 1;
    point_.reserve(count);
    loss_.reserve(count);
    log_mass_.reserve(count);
    mass_.reserve(count);
    if (tapered_) outer_.reserve(count);
    for (std::int64_t k = first; k <= last; ++k) add(step_ * static_cast<T>(k));
    if (tapered_) finish();
  }

  /// arg R(x + ib) over its largest value s·b, at most, where the shifted normals have that share in R.
  [[nodiscard]] static T turn_at(T share) {
    return std::min(1.0, 1.01 * share / std::max(1.0 - 2.0 * share, 0.25));
  }

  /// How many nodes such a table has at most, before it is built.
  [[nodiscard]] static T nodes_for(mixture_pair const& pair, bool tapered, T reach, T step,
                                   T turns = 0.0) {
    T const largest = pair.parts.back().shift;
    bool const turned = pair.orientation == orientation::add && turns > 0.0;
    T const far_out = turned ? std::min(1000.0, std::sqrt(2.0 * turns)) : 0.0;
    return (40.0 + 3.0 * largest + far_out + (tapered ? 0.0 : reach * largest)) / step;
  }

  [[nodiscard]] std::size_t size() const { return loss_.size(); }
  [[nodiscard]] T step() const { return step_; }
  [[nodiscard]] T weight() const { return weight_; }
  [[nodiscard]] T rest() const { return rest_; }
  [[nodiscard]] bool removes() const { return remove_; }
  [[nodiscard]] bool tapered() const { return tapered_; }
  [[nodiscard]] mixture_pair const& pair() const { return *pair_; }
  [[nodiscard]] T shift() const { return pair_->parts.back().shift; }
  [[nodiscard]] T cut() const { return cut_; }
  [[nodiscard]] T inner_cut() const { return inner_cut_; }
  [[nodiscard]] T dropped() const { return dropped_; }
  [[nodiscard]] T divergence() const { return divergence_.value(); }
  [[nodiscard]] T loss(std::size_t k) const { return loss_[k]; }
  [[nodiscard]] T log_ratio(std::size_t k) const { return remove_ ? loss_[k] : -loss_[k]; }
  [[nodiscard]] T mass(std::size_t k) const { return mass_[k]; }
  /// log of the mass, but for log(weight).
  [[nodiscard]] T log_mass(std::size_t k) const { return log_mass_[k]; }
  [[nodiscard]] T point(std::size_t k) const { return point_[k]; }
  /// log Φ of the taper at a node.
  [[nodiscard]] T log_taper(std::size_t k) const { return tapered_ ? outer_[k] : 0.0; }
  /// How far x is beyond a cut, in units of the taper: the taper is 1 − Φ of it.
  [[nodiscard]] T beyond(T x, T cut) const { return (remove_ ? x - cut : cut - x) / taper_width; }

  [[nodiscard]] bool is_split() const { return split_; }
  /// log of the small losses' share and of the large ones', of P before the taper.
  [[nodiscard]] T log_inside(std::size_t k) const { return inner_[k]; }
  [[nodiscard]] T log_outside(std::size_t k) const { return outside_[k]; }

  /// M(z) − 1 at real z, if it is below ½; else something that is not.
  [[nodiscard]] T excess(T z) const {
    T sum = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      T const w = z * loss_[k];
      if (mass_[k] == 0.0 && w < 600.0) continue;
      sum += w < 600.0 ? mass_[k] * exp_residual(w) : weight_ * elementary::exp(log_mass_[k] + w);
    }
    return z * divergence() - dropped_ + sum;
  }

  /// K(z) alone.
  [[nodiscard]] T value(T z) const {
    T const m = excess(z);
    return m < 0.5 ? elementary::log1p(m) : at(z).value;
  }

  [[nodiscard]] cumulants<T> at(T z) const {
    T m = z * divergence() - dropped_;
    T first = divergence();
    T second = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      T const w = z * loss_[k];
      if (w > 600.0) return moments_of(z, [&](std::size_t j) { return log_mass_[j]; });
      if (mass_[k] == 0.0) continue;
      T const grown = elementary::expm1(w);
      T const weighted = mass_[k] * loss_[k];
      m += mass_[k] * (std::abs(w) < 0.5 ? exp_residual(w) : grown - w);
      first += weighted * grown;
      second += weighted * loss_[k] * (grown + 1.0);
    }
    if (m < 0.5) {
      T const slope = first / (1.0 + m);
      return {elementary::log1p(m), slope, second / (1.0 + m) - slope * slope};
    }
    return moments_of(z, [&](std::size_t k) { return log_mass_[k]; });
  }

  /// Divides P at `cut`, by the same smooth step as the taper, into a part with small losses and one
  /// with large ones. Steps further apart than the taper's width; else there is no split.
  void split(T cut) {
    split_ = beyond(cut_, cut) >= 1.0;
    if (!split_) return;
    inner_cut_ = cut;
    inner_.clear();
    outside_.clear();
    for (std::size_t k = 0; k < size(); ++k) {
      T const y = beyond(point_[k], cut);
      T const inside = log_step(y);
      inner_.push_back(inside);
      // Φ(y₁) − Φ(y₂) is the difference of what lies beyond, where both are near one.
      T const outer = beyond(point_[k], cut_);
      outside_.push_back(y > 0.0 ? log_difference(outer_[k], inside)
                                 : log_difference(log_step(-y), log_step(-outer)));
    }
  }

  /// The x at which the loss is `loss`: rough. NaN if there is none in the table.
  [[nodiscard]] T where(T loss) const {
    for (std::size_t k = 1; k < size(); ++k) {
      if ((loss_[k - 1] < loss) != (loss_[k] < loss)) {
        return point_[k - 1] + step_ * (loss - loss_[k - 1]) / (loss_[k] - loss_[k - 1]);
      }
    }
    return std::numeric_limits<T>::quiet_NaN();
  }

  /// log M and its derivatives at a real tilt of a part.
  [[nodiscard]] cumulants<T> at_small(T z) const {
    return moments_of(z,
                      [&](std::size_t k) { return log_mass_[k] + log_share(k, losses::lesser); });
  }
  [[nodiscard]] cumulants<T> at_large(T z) const {
    return moments_of(z, [&](std::size_t k) { return log_mass_[k] + log_share(k, losses::large); });
  }

  /// log of a part's share in a node's mass, which has the taper.
  [[nodiscard]] T log_share(std::size_t k, losses which) const {
    if (which == losses::all) return 0.0;
    return (which == losses::lesser ? inner_[k] : outside_[k]) - outer_[k];
  }

  /// The largest height at which the likelihood ratio keeps clear of its zeros.
  [[nodiscard]] T strip() const { return 0.95 * std::numbers::pi / shift(); }

  /// Of tapered normals, what lies beyond the end at which P is cut off: of the one farthest out, at most.
  [[nodiscard]] T cut_off() const {
    if (!remove_ || !tapered_) return 0.0;
    T const end = point_.back() - shift();
    return end > 0.0 ? elementary::exp(outer_.back() + log_normal_tail(end)) : 1.0;
  }

  /// What a normal of this mean loses to the step at `cut`, and ∫φ(y(x)) under it, the step's density.
  [[nodiscard]] T taken(T mean, T cut) const {
    return elementary::exp(log_normal_tail(-beyond(mean, cut) * taper_width / wide));
  }
  [[nodiscard]] T step_density(T mean, T cut) const {
    T const y = beyond(mean, cut) * taper_width / wide;
    return taper_width / wide * elementary::exp(-0.5 * y * y) / std::sqrt(2.0 * std::numbers::pi);
  }

 private:
  static constexpr T wide = 1.0440306508910550;  // √(1 + taper_width²)
  [[nodiscard]] static T at_most_one(T x) { return x > -746.0 ? elementary::exp(x) : 0.0; }

  // log Φ(−y). Below −9 it is above −2e-19, and 0 serves.
  [[nodiscard]] static T log_step(T y) { return y < -9.0 ? 0.0 : log_normal_tail(y); }

  // log(e^high − e^low)
  [[nodiscard]] static T log_difference(T high, T low) {
    return low < high ? high + log1m_exp(low - high) : -std::numeric_limits<T>::infinity();
  }

  // 1 − Σ weight, rounded once or twice.
  [[nodiscard]] static T rest_of(mixture_pair const& pair) {
    compensated_sum<T> rest(1.0);
    for (mixture_pair::part const& part : pair.parts) rest += -part.weight;
    return std::max(0.0, rest.value());
  }

  template <class Log>
  [[nodiscard]] cumulants<T> moments_of(T z, Log&& log_of) const {
    T high = -std::numeric_limits<T>::infinity();
    for (std::size_t k = 0; k < size(); ++k) high = std::max(high, log_of(k) + z * loss_[k]);
    T zeroth = 0.0;
    T first = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      T const weight = at_most_one(log_of(k) + z * loss_[k] - high);
      zeroth += weight;
      first += weight * loss_[k];
    }
    T const slope = first / zeroth;
    T second = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      T const away = loss_[k] - slope;
      second += at_most_one(log_of(k) + z * loss_[k] - high) * away * away;
    }
    return {high + elementary::log(zeroth * weight_), slope, second / zeroth};
  }

  [[nodiscard]] T share_of_shifted(T x) const {
    return share_of(pair_->parts, x, mixture_ratio(pair_->parts, rest_, x).log);
  }

  void add(T x) {
    auto const [log_ratio, excess, mixed] = mixture_ratio(pair_->parts, rest_, x);
    bool const huge = !(mixed < 1e260);  // the product of ratio and logarithm might overflow
    if (tapered_) outer_.push_back(log_step(beyond(x, cut_)));
    T log_base = -0.5 * x * x;
    if (tapered_) log_base += outer_.back();
    T const base = weight_ * elementary::exp(log_base);
    if (remove_) {
      push(x, log_ratio, log_base + log_ratio);
      divergence_ +=
          huge ? mass_.back() * (log_ratio - 1.0) + base
               : base * entropy_residual(excess, excess > -0.5 ? 1.0 + excess : rest_ + mixed);
    } else {
      push(x, -log_ratio, log_base);
      divergence_ +=
          huge ? weight_ * elementary::exp(log_base + log_ratio) - base * (1.0 + log_ratio)
               : base * (excess > -0.5 ? log1p_residual(excess) : excess - log_ratio);
    }
  }

  void push(T x, T loss, T log_mass) {
    point_.push_back(x);
    loss_.push_back(loss);
    log_mass_.push_back(log_mass);
    mass_.push_back(weight_ * elementary::exp(log_mass));
  }

  // E[1 − S(X)] = P(X + taper_width·Y > cut) for a normal X.
  void finish() {
    T const of_normal = taken(0.0, cut_);
    T of_mixture = rest_ * of_normal;
    for (mixture_pair::part const& part : pair_->parts) {
      of_mixture += part.weight * taken(part.shift, cut_);
    }
    dropped_ = remove_ ? of_mixture + cut_off() : of_normal;
    divergence_ += remove_ ? of_normal - of_mixture : of_mixture - of_normal;
  }

  mixture_pair const* pair_;
  bool remove_;
  bool tapered_;
  bool split_ = false;
  T step_;
  T weight_;  // step/√2π
  T rest_;
  T cut_ = 0.0;
  T inner_cut_ = 0.0;
  T dropped_ = 0.0;
  compensated_sum<T> divergence_;  // E[L] of the tapered P
  std::vector<T> outer_;  // log Φ at every node: the taper, and the parts of a split table
  std::vector<T> inner_;
  std::vector<T> outside_;
  std::vector<T> point_;
  std::vector<T> loss_;
  std::vector<T> log_mass_;
  std::vector<T> mass_;
};

}  // namespace tacit::detail
