// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/log.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/saddle.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
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

/// `number` > 0 cut to `bits` significant bits: at most 2^{1−bits} of it less, and exact when multiplied
/// by an integer below 2^{53−bits}. The trapezoid rule's theorems are about nodes that are equally spaced.
template <std::same_as<double> T>
[[nodiscard]] T short_number(T number, int bits) {
  int exponent = 0;
  T const mantissa = std::frexp(number, &exponent);
  return std::ldexp(std::floor(std::ldexp(mantissa, bits)), exponent - bits);
}

/// Which part of a split table.
enum class losses { all, small, large };

/// P's mass on a grid in x, with the losses there.
template <std::same_as<double> T = double>
class mixture_table {
 public:
  /// P is tapered smoothly where the loss is largest, far out: S(x) = Φ(±(cut − x)/taper_width), so
  /// that at most e^{log_dropped} of its mass is lost (and added to every upper end): the far tail
  /// would else rule M at the tilts that matter. Without `log_dropped` there is no taper.
  /// `reach` is the largest tilt to serve; without one the table ends at the cut.
  mixture_table(mixture_pair const& pair, std::optional<T> log_dropped, std::optional<T> reach,
                T step)
      : pair_(&pair),
        remove_(pair.orientation == orientation::remove),
        step_(short_number(step, 11)) {
    for (mixture_pair::part const& part : pair.parts) rest_ -= part.weight;
    rest_ = pair.parts.size() == 1 ? 1.0 - pair.parts.front().weight : std::max(0.0, rest_);
    T const largest = pair.parts.back().shift;
    tapered_ = log_dropped.has_value();
    if (tapered_) {
      // A normal tail is below e^{−y²/2}.
      T const out = std::sqrt(-2.0 * *log_dropped) * std::hypot(1.0, taper_width);
      cut_ = remove_ ? largest + out : -out;
    }
    // Without a taper a tilt z moves the mass to z times the shift. With one the table ends where even
    // the largest tilt has left less than may be dropped; what P has beyond is dropped too.
    T const tilt = reach.value_or(0.0);
    T low = -10.5;
    T high = 2.0 * largest + 10.5;
    T& end = remove_ ? high : low;
    if (tapered_) {
      T const outwards = remove_ ? 0.1 : -0.1;
      end = cut_ + 32.0 * outwards;
      T const limit = *log_dropped;
      auto const log_left = [&](T x) {
        T const loss = mixture_ratio(pair_->parts, rest_, x).log;
        return -0.5 * x * x + (remove_ ? 1.0 + tilt : -tilt) * loss +
               log_normal_tail(sign() * (x - cut_) / taper_width);
      };
      if (reach) {
        for (end = cut_ + outwards; log_left(end) > limit; end += outwards) {
          if (std::abs(end - cut_) > 1e3) {
            dropped_ = std::numeric_limits<T>::infinity();  // nothing can be said
            end = cut_;
            break;
          }
        }
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
    if (tapered_) outer_.log_inside.reserve(count);
    if (tapered_) outer_.log_outside.reserve(count);
    for (std::int64_t k = first; k <= last; ++k) add(step_ * static_cast<T>(k));
    if (tapered_) finish(*log_dropped);
  }

  [[nodiscard]] std::size_t size() const { return loss_.size(); }
  [[nodiscard]] T step() const { return step_; }
  [[nodiscard]] T dropped() const { return dropped_; }
  [[nodiscard]] T divergence() const { return divergence_; }
  /// Its error, in units of rounding.
  [[nodiscard]] T divergence_error() const {
    T const shift = pair_->parts.back().shift;
    T sum = 24.0 * std::abs(divergence_);
    for (std::size_t k = 0; k < size(); ++k) {
      T const x = std::abs(point_[k]);
      // Each term is about mass·L²/2 where L is small, and below mass·(|L| + 1) elsewhere.
      T const term = mass_[k] * std::min(loss_[k] * loss_[k], std::abs(loss_[k]) + 1.0);
      sum += term * (x * x + 8.0 * shift * (x + 0.5 * shift));
    }
    return sum;
  }
  [[nodiscard]] T loss(std::size_t k) const { return loss_[k]; }
  [[nodiscard]] T mass(std::size_t k) const { return mass_[k]; }
  [[nodiscard]] T log_mass(std::size_t k) const { return log_mass_[k]; }
  [[nodiscard]] T point(std::size_t k) const { return point_[k]; }

  /// The error of a node's loss, in units of rounding: of the exponents shift·(x − shift/2), which carry
  /// that of x itself, times how much of the likelihood ratio they make, and of the logarithm.
  [[nodiscard]] T loss_error(std::size_t k) const {
    T const x = point_[k];
    T const log_ratio = remove_ ? loss_[k] : -loss_[k];
    T sum = 4.0 * std::abs(log_ratio);
    for (mixture_pair::part const& part : pair_->parts) {
      T const share = part.weight * std::exp(part.shift * (x - 0.5 * part.shift) - log_ratio);
      sum += 4.0 * share * part.shift * (std::abs(x) + 0.5 * part.shift);
    }
    return sum;
  }

  [[nodiscard]] T sign() const { return remove_ ? 1.0 : -1.0; }

  /// M(z) − 1 at real z, if it is below ½; else something that is not.
  [[nodiscard]] T excess(T z) const {
    T sum = 0.0;
    for (std::size_t k = 0; k < size(); ++k) sum += mass_[k] * exp_residual(z * loss_[k]);
    return z * divergence_ - dropped_ + sum;
  }

  /// K(z) alone.
  [[nodiscard]] T value(T z) const {
    T const m = excess(z);
    return m < 0.5 ? std::log1p(m) : at(z).value;
  }

  [[nodiscard]] cumulants<T> at(T z) const {
    T m = z * divergence_ - dropped_;
    T first = divergence_;
    T second = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      T const w = z * loss_[k];
      T const grown = std::expm1(w);
      T const weighted = mass_[k] * loss_[k];
      m += mass_[k] * (std::abs(w) < 0.5 ? exp_residual(w) : grown - w);
      first += weighted * grown;
      second += weighted * loss_[k] * (grown + 1.0);
    }
    if (m < 0.5) {
      T const slope = first / (1.0 + m);
      return {std::log1p(m), slope, second / (1.0 + m) - slope * slope};
    }
    T high = -std::numeric_limits<T>::infinity();
    for (std::size_t k = 0; k < size(); ++k) high = std::max(high, log_mass_[k] + z * loss_[k]);
    T zeroth = 0.0;
    first = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      T const weight = std::exp(log_mass_[k] + z * loss_[k] - high);
      zeroth += weight;
      first += weight * loss_[k];
    }
    T const slope = first / zeroth;
    second = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      T const away = loss_[k] - slope;
      second += std::exp(log_mass_[k] + z * loss_[k] - high) * away * away;
    }
    return {high + std::log(zeroth), slope, second / zeroth};
  }

  /// Divides P at `cut`, by the same smooth step as the taper, into a part with small losses and one
  /// with large ones.
  void split(T cut) {
    split_ = true;
    inner_ = {};
    dropped_inside_ = dropped_;
    divergence_inside_ = divergence_;
    for (std::size_t k = 0; k < size(); ++k) {
      inner_.push(sign() * (point_[k] - cut) / taper_width);
      T const outside = mass_[k] * std::exp(inner_.log_outside.back());
      dropped_inside_ += outside;
      divergence_inside_ -= outside * loss_[k];
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

  /// log M at a real tilt of the part with small losses.
  [[nodiscard]] T value_inside(T z) const {
    T m = z * divergence_inside_ - dropped_inside_;
    for (std::size_t k = 0; k < size(); ++k) {
      T const inside = inner_.log_inside[k];
      T const w = z * loss_[k];
      m += w < 600.0 ? mass_[k] * std::exp(inside) * exp_residual(w)
                     : std::exp(log_mass_[k] + inside + w);
    }
    if (m < 0.5) return std::log1p(m);
    T large = -std::numeric_limits<T>::infinity();
    for (std::size_t k = 0; k < size(); ++k) {
      large = std::max(large, log_mass_[k] + inner_.log_inside[k] + z * loss_[k]);
    }
    T sum = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      sum += std::exp(log_mass_[k] + inner_.log_inside[k] + z * loss_[k] - large);
    }
    return large + std::log(sum);
  }

  /// log M and its derivatives at a real tilt of the part with large losses.
  [[nodiscard]] cumulants<T> at_outside(T z) const {
    T high = -std::numeric_limits<T>::infinity();
    for (std::size_t k = 0; k < size(); ++k) {
      high = std::max(high, log_mass_[k] + inner_.log_outside[k] + z * loss_[k]);
    }
    T zeroth = 0.0;
    T first = 0.0;
    T second = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      T const weight = std::exp(log_mass_[k] + inner_.log_outside[k] + z * loss_[k] - high);
      zeroth += weight;
      first += weight * loss_[k];
      second += weight * loss_[k] * loss_[k];
    }
    T const mean = first / zeroth;
    return {high + std::log(zeroth), mean, second / zeroth - mean * mean};
  }

  [[nodiscard]] bool is_split() const { return split_; }
  /// The share of a node's mass that belongs to the part with large losses.
  [[nodiscard]] T outside(std::size_t k) const { return std::exp(inner_.log_outside[k]); }

  [[nodiscard]] std::vector<T> tilted(T z, T value, losses which) const {
    std::vector<T> out(size());
    for (std::size_t k = 0; k < size(); ++k) {
      T const share = which == losses::all     ? 0.0
                      : which == losses::small ? inner_.log_inside[k]
                                               : inner_.log_outside[k];
      out[k] = std::exp(log_mass_[k] + share + z * loss_[k] - value);
    }
    return out;
  }

  struct moved {
    T height;
    std::vector<T> stretch;
    std::vector<T> turn;
  };

  /// For `envelope`.
  [[nodiscard]] moved move(T z, T height, losses which) const {
    moved out{height, std::vector<T>(size()), std::vector<T>(size())};
    T const power = remove_ ? 1.0 + z : -z;
    T const sharp = 0.5 * height * height / (taper_width * taper_width);
    std::vector<std::complex<T>> turns;
    for (mixture_pair::part const& part : pair_->parts) {
      turns.push_back(std::polar(1.0, part.shift * height));
    }
    for (std::size_t k = 0; k < size(); ++k) {
      // 1 + u(x + ia), over 1 + u(x).
      T const x = point_[k];
      T const log_ratio = remove_ ? loss_[k] : -loss_[k];
      T real = rest_ * std::exp(-log_ratio);
      T imaginary = 0.0;
      for (std::size_t j = 0; j < turns.size(); ++j) {
        mixture_pair::part const& part = pair_->parts[j];
        T const size = part.weight * std::exp(part.shift * (x - 0.5 * part.shift) - log_ratio);
        real += size * turns[j].real();
        imaginary += size * turns[j].imag();
      }
      out.turn[k] = std::atan2(imaginary, real);
      out.stretch[k] =
          0.5 * height * height + power * 0.5 * std::log(real * real + imaginary * imaginary);
      if (tapered_) out.stretch[k] += growth(outer_.log_inside[k], outer_.log_outside[k], sharp);
      if (which == losses::small) {
        out.stretch[k] += growth(inner_.log_inside[k], inner_.log_outside[k], sharp);
      } else if (which == losses::large) {
        out.stretch[k] += growth(inner_.log_outside[k], inner_.log_inside[k], sharp);
      }
    }
    return out;
  }

  /// A node moved to x ± i·height (the side on which |e^{itL}| falls in t), of an untapered P. The height
  /// has at most 11 bits, so that height·x is exact: it may be in the thousands, and is an angle.
  struct lifted {
    T loss;      // Re L
    T turn;      // Im L ≥ 0
    T log_mass;  // of |P-mass|
    T turned;    // arg of the P-mass, but for the next
    T angle;     // ∓height·x
  };
  [[nodiscard]] lifted lift(std::size_t k, T height) const {
    if (height == 0.0) return {loss_[k], 0.0, log_mass_[k], 0.0, 0.0};
    T const x = point_[k];
    T const high = std::max(0.0, pair_->parts.back().shift * (x - 0.5 * pair_->parts.back().shift));
    // (1 + u)·e^{−high}, and u itself: where it is small, log(1 + u) has its digits in u, however large
    // the exponents. A loss must be right to a few ulp of itself.
    T real = rest_ * std::exp(-high);
    T imaginary = 0.0;
    T excess = 0.0;
    T turned = 0.0;
    for (mixture_pair::part const& part : pair_->parts) {
      T const exponent = part.shift * (x - 0.5 * part.shift);
      T const size = part.weight * std::exp(exponent - high);
      T const half = std::sin(0.5 * part.shift * height);
      real += size * std::cos(part.shift * height);
      imaginary += size * std::sin(part.shift * height);
      // e^{r+ia} − 1 = expm1(r)·cos a − 2 sin²(a/2) + i e^r sin a
      excess +=
          part.weight * (std::expm1(std::min(exponent, 700.0)) * std::cos(part.shift * height) -
                         2.0 * half * half);
      turned += part.weight * std::exp(std::min(exponent, 700.0)) * std::sin(part.shift * height);
    }
    bool const small = std::abs(excess) < 0.5 && std::abs(turned) < 0.5;
    T const log_ratio = small ? 0.5 * std::log1p(2.0 * excess + excess * excess + turned * turned)
                              : high + 0.5 * std::log(real * real + imaginary * imaginary);
    T const turn = std::atan2(imaginary, real);
    T const base = -0.5 * x * x + 0.5 * height * height - 0.5 * std::log(2.0 * std::numbers::pi) +
                   std::log(step_);
    return remove_ ? lifted{log_ratio, turn, base + log_ratio, turn, -height * x}
                   : lifted{-log_ratio, turn, base, 0.0, height * x};
  }

  /// The largest height at which the likelihood ratio keeps clear of its zeros.
  [[nodiscard]] T strip() const { return 0.95 * std::numbers::pi / pair_->parts.back().shift; }

 private:
  // A smooth step Φ(∓y) at every node, and what is on its other side.
  struct edge {
    std::vector<T> log_inside;
    std::vector<T> log_outside;

    void push(T y) {
      log_inside.push_back(y < -9.0 ? -1e-18 : log_normal_tail(y));
      log_outside.push_back(y > 9.0 ? -1e-18 : log_normal_tail(-y));
    }
  };

  // log of |Φ(y + ib)|/Φ(y) at most, `sharp` = b²/2: |Φ(y + ib)| ≤ e^{b²/2}Φ(y), and ≤ 1 + e^{b²/2}Φ(−y).
  [[nodiscard]] static T growth(T log_this, T log_other, T sharp) {
    return sharp + log_other < -41.0 ? 1e-17
                                     : std::min(sharp, log1p_exp(sharp + log_other) - log_this);
  }

  void add(T x) {
    auto const [log_ratio, excess, mixed] = mixture_ratio(pair_->parts, rest_, x);
    bool const huge = !(mixed < 1e260);  // the product of ratio and logarithm might overflow
    if (tapered_) outer_.push(sign() * (x - cut_) / taper_width);
    T const taper = tapered_ ? outer_.log_inside.back() : 0.0;
    T const log_base =
        -0.5 * x * x - 0.5 * std::log(2.0 * std::numbers::pi) + std::log(step_) + taper;
    T const base = std::exp(log_base);
    if (remove_) {
      push(x, log_ratio, log_base + log_ratio);
      divergence_ +=
          huge ? mass_.back() * (log_ratio - 1.0) + base
               : base * entropy_residual(excess, excess > -0.5 ? 1.0 + excess : rest_ + mixed);
    } else {
      push(x, -log_ratio, log_base);
      divergence_ += huge ? std::exp(log_base + log_ratio) - base * (1.0 + log_ratio)
                          : base * (excess > -0.5 ? log1p_residual(excess) : excess - log_ratio);
    }
  }

  void push(T x, T loss, T log_mass) {
    point_.push_back(x);
    loss_.push_back(loss);
    log_mass_.push_back(log_mass);
    mass_.push_back(std::exp(log_mass));
  }

  void finish(T log_dropped) {
    // What the taper takes from a normal of mean m.
    T const wide = std::sqrt(1.0 + taper_width * taper_width);
    auto const taken = [&](T mean) {
      return std::exp(log_normal_tail(sign() * (cut_ - mean) / wide));
    };
    T const of_normal = taken(0.0);
    T of_mixture = rest_ * of_normal;
    for (mixture_pair::part const& part : pair_->parts)
      of_mixture += part.weight * taken(part.shift);
    dropped_ += remove_ ? of_mixture : of_normal;
    divergence_ += remove_ ? of_normal - of_mixture : of_mixture - of_normal;
    dropped_ += std::exp(log_dropped);  // beyond the end of the table
  }

  mixture_pair const* pair_;
  bool remove_;
  bool tapered_ = false;
  bool split_ = false;
  T step_;
  T rest_ = 1.0;
  T cut_ = 0.0;
  T dropped_ = 0.0;
  T divergence_ = 0.0;  // E[L] of the tapered P
  edge outer_;
  edge inner_;
  T dropped_inside_ = 0.0;  // dropped_ and divergence_ of the part with small losses
  T divergence_inside_ = 0.0;
  std::vector<T> point_;
  std::vector<T> loss_;
  std::vector<T> log_mass_;
  std::vector<T> mass_;
};

}  // namespace tacit::detail
