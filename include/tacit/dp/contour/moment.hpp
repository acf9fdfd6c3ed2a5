// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/gaussian_profile.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <deque>
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

/// K = log M and its first two derivatives, at a real tilt.
struct cumulants {
  double value;
  double slope;
  double curvature;
};

inline constexpr double taper_width = 0.3;

/// Which part of a split table.
enum class losses { all, small, large };

/// P's mass on a grid in x, with the losses there.
class mixture_nodes {
 public:
  /// P is tapered smoothly where the loss is largest, far out: S(x) = Φ(±(cut − x)/taper_width), so
  /// that at most e^{log_dropped} of its mass is lost (and added to every upper end): the far tail
  /// would else rule M at the tilts that matter. Without `log_dropped` there is no taper.
  /// `reach` is the largest tilt to serve; without one the table ends at the cut.
  mixture_nodes(mixture_pair const& pair, std::optional<double> log_dropped,
                std::optional<double> reach, double step)
      : pair_(&pair), remove_(pair.orientation == orientation::remove), step_(step) {
    for (mixture_pair::part const& part : pair.parts) rest_ -= part.weight;
    rest_ = pair.parts.size() == 1 ? 1.0 - pair.parts.front().weight : std::max(0.0, rest_);
    double const largest = pair.parts.back().shift;
    tapered_ = log_dropped.has_value();
    if (tapered_) {
      // A normal tail is below e^{−y²/2}.
      double const out = std::sqrt(-2.0 * *log_dropped) * std::hypot(1.0, taper_width);
      cut_ = remove_ ? largest + out : -out;
    }
    // Without a taper a tilt z moves the mass to z times the shift. With one the table ends where even
    // the largest tilt has left less than may be dropped; what P has beyond is dropped too.
    double const tilt = reach.value_or(0.0);
    double low = -10.5;
    double high = 2.0 * largest + 10.5;
    double& end = remove_ ? high : low;
    if (tapered_) {
      double const outwards = remove_ ? 0.1 : -0.1;
      end = cut_ + 32.0 * outwards;
      double const limit = *log_dropped;
      auto const log_left = [&](double x) {
        double const loss = loss_at(x).log_ratio;
        return -0.5 * x * x + (remove_ ? 1.0 + tilt : -tilt) * loss +
               log_normal_tail(sign() * (x - cut_) / taper_width);
      };
      if (reach) {
        for (end = cut_ + outwards; log_left(end) > limit; end += outwards) {
          if (std::abs(end - cut_) > 1e3) {
            dropped_ = std::numeric_limits<double>::infinity();  // nothing can be said
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
    auto const count = static_cast<std::size_t>((high - low) / step) + 2;
    point_.reserve(count);
    loss_.reserve(count);
    log_mass_.reserve(count);
    mass_.reserve(count);
    if (tapered_) outer_.log_inside.reserve(count);
    if (tapered_) outer_.log_outside.reserve(count);
    for (std::size_t k = 0; k < count; ++k) add(low + step * static_cast<double>(k));
    if (tapered_) finish(*log_dropped);
  }

  [[nodiscard]] std::size_t size() const { return loss_.size(); }
  [[nodiscard]] double step() const { return step_; }
  [[nodiscard]] double dropped() const { return dropped_; }
  [[nodiscard]] double divergence() const { return divergence_; }
  /// Its error, in units of rounding.
  [[nodiscard]] double divergence_error() const {
    double const shift = pair_->parts.back().shift;
    double sum = 24.0 * std::abs(divergence_);
    for (std::size_t k = 0; k < size(); ++k) {
      double const x = std::abs(point_[k]);
      // Each term is about mass·L²/2 where L is small, and below mass·(|L| + 1) elsewhere.
      double const term = mass_[k] * std::min(loss_[k] * loss_[k], std::abs(loss_[k]) + 1.0);
      sum += term * (x * x + 8.0 * shift * (x + 0.5 * shift));
    }
    return sum;
  }
  [[nodiscard]] double loss(std::size_t k) const { return loss_[k]; }
  [[nodiscard]] double mass(std::size_t k) const { return mass_[k]; }
  [[nodiscard]] double log_mass(std::size_t k) const { return log_mass_[k]; }
  [[nodiscard]] double point(std::size_t k) const { return point_[k]; }

  /// The error of a node's loss, in units of rounding: of the exponents shift·(x − shift/2), which carry
  /// that of x itself, times how much of the likelihood ratio they make, and of the logarithm.
  [[nodiscard]] double wander(std::size_t k) const {
    double const x = point_[k];
    double const log_ratio = remove_ ? loss_[k] : -loss_[k];
    double sum = 4.0 * std::abs(log_ratio);
    for (mixture_pair::part const& part : pair_->parts) {
      double const share = part.weight * std::exp(part.shift * (x - 0.5 * part.shift) - log_ratio);
      sum += 4.0 * share * part.shift * (std::abs(x) + 0.5 * part.shift);
    }
    return sum;
  }

  [[nodiscard]] double sign() const { return remove_ ? 1.0 : -1.0; }

  /// M(z) − 1 at real z, if it is below ½; else something that is not.
  [[nodiscard]] double excess(double z) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < size(); ++k) sum += mass_[k] * exp_residual(z * loss_[k]);
    return z * divergence_ - dropped_ + sum;
  }

  /// K(z) alone.
  [[nodiscard]] double value(double z) const {
    double const m = excess(z);
    return m < 0.5 ? std::log1p(m) : at(z).value;
  }

  [[nodiscard]] cumulants at(double z) const {
    double m = z * divergence_ - dropped_;
    double first = divergence_;
    double second = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      double const w = z * loss_[k];
      double const grown = std::expm1(w);
      double const weighted = mass_[k] * loss_[k];
      m += mass_[k] * (std::abs(w) < 0.5 ? exp_residual(w) : grown - w);
      first += weighted * grown;
      second += weighted * loss_[k] * (grown + 1.0);
    }
    if (m < 0.5) {
      double const slope = first / (1.0 + m);
      return {std::log1p(m), slope, second / (1.0 + m) - slope * slope};
    }
    double high = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < size(); ++k) high = std::max(high, log_mass_[k] + z * loss_[k]);
    double zeroth = 0.0;
    first = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      double const weight = std::exp(log_mass_[k] + z * loss_[k] - high);
      zeroth += weight;
      first += weight * loss_[k];
    }
    double const slope = first / zeroth;
    second = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      double const away = loss_[k] - slope;
      second += std::exp(log_mass_[k] + z * loss_[k] - high) * away * away;
    }
    return {high + std::log(zeroth), slope, second / zeroth};
  }

  /// Divides P at `cut`, by the same smooth step as the taper, into a part with small losses and one
  /// with large ones.
  void split(double cut) {
    split_ = true;
    inner_ = {};
    dropped_inside_ = dropped_;
    divergence_inside_ = divergence_;
    for (std::size_t k = 0; k < size(); ++k) {
      inner_.push(sign() * (point_[k] - cut) / taper_width);
      double const outside = mass_[k] * std::exp(inner_.log_outside.back());
      dropped_inside_ += outside;
      divergence_inside_ -= outside * loss_[k];
    }
  }

  /// The x at which the loss is `loss`: rough. NaN if there is none in the table.
  [[nodiscard]] double where(double loss) const {
    for (std::size_t k = 1; k < size(); ++k) {
      if ((loss_[k - 1] < loss) != (loss_[k] < loss)) {
        return point_[k - 1] + step_ * (loss - loss_[k - 1]) / (loss_[k] - loss_[k - 1]);
      }
    }
    return std::numeric_limits<double>::quiet_NaN();
  }

  /// log M at a real tilt of the part with small losses.
  [[nodiscard]] double value_inside(double z) const {
    double m = z * divergence_inside_ - dropped_inside_;
    for (std::size_t k = 0; k < size(); ++k) {
      double const inside = inner_.log_inside[k];
      double const w = z * loss_[k];
      m += w < 600.0 ? mass_[k] * std::exp(inside) * exp_residual(w)
                     : std::exp(log_mass_[k] + inside + w);
    }
    if (m < 0.5) return std::log1p(m);
    double large = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < size(); ++k) {
      large = std::max(large, log_mass_[k] + inner_.log_inside[k] + z * loss_[k]);
    }
    double sum = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      sum += std::exp(log_mass_[k] + inner_.log_inside[k] + z * loss_[k] - large);
    }
    return large + std::log(sum);
  }

  /// log M and its derivatives at a real tilt of the part with large losses.
  [[nodiscard]] cumulants at_outside(double z) const {
    double high = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < size(); ++k) {
      high = std::max(high, log_mass_[k] + inner_.log_outside[k] + z * loss_[k]);
    }
    double zeroth = 0.0;
    double first = 0.0;
    double second = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      double const weight = std::exp(log_mass_[k] + inner_.log_outside[k] + z * loss_[k] - high);
      zeroth += weight;
      first += weight * loss_[k];
      second += weight * loss_[k] * loss_[k];
    }
    double const mean = first / zeroth;
    return {high + std::log(zeroth), mean, second / zeroth - mean * mean};
  }

  [[nodiscard]] bool is_split() const { return split_; }
  /// The share of a node's mass that belongs to the part with large losses.
  [[nodiscard]] double outside(std::size_t k) const { return std::exp(inner_.log_outside[k]); }

  [[nodiscard]] std::vector<double> tilted(double z, double value, losses which) const {
    std::vector<double> out(size());
    for (std::size_t k = 0; k < size(); ++k) {
      double const share = which == losses::all     ? 0.0
                           : which == losses::small ? inner_.log_inside[k]
                                                    : inner_.log_outside[k];
      out[k] = std::exp(log_mass_[k] + share + z * loss_[k] - value);
    }
    return out;
  }

  struct moved {
    double height;
    std::vector<double> stretch;
    std::vector<double> turn;
  };

  /// For `envelope`.
  [[nodiscard]] moved move(double z, double height, losses which) const {
    moved out{height, std::vector<double>(size()), std::vector<double>(size())};
    double const power = remove_ ? 1.0 + z : -z;
    double const sharp = 0.5 * height * height / (taper_width * taper_width);
    std::vector<std::complex<double>> turns;
    for (mixture_pair::part const& part : pair_->parts) {
      turns.push_back(std::polar(1.0, part.shift * height));
    }
    for (std::size_t k = 0; k < size(); ++k) {
      // 1 + u(x + ia), over 1 + u(x).
      double const x = point_[k];
      double const log_ratio = remove_ ? loss_[k] : -loss_[k];
      double real = rest_ * std::exp(-log_ratio);
      double imaginary = 0.0;
      for (std::size_t j = 0; j < turns.size(); ++j) {
        mixture_pair::part const& part = pair_->parts[j];
        double const size = part.weight * std::exp(part.shift * (x - 0.5 * part.shift) - log_ratio);
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

  /// A node moved to x ± i·height (the side on which |e^{itL}| falls in t), of an untapered P.
  struct lifted {
    double loss;      // Re L
    double turn;      // Im L ≥ 0
    double log_mass;  // of |P-mass|
    double angle;     // arg of the P-mass
  };
  [[nodiscard]] lifted lift(std::size_t k, double height) const {
    if (height == 0.0) return {loss_[k], 0.0, log_mass_[k], 0.0};
    double const x = point_[k];
    double const high =
        std::max(0.0, pair_->parts.back().shift * (x - 0.5 * pair_->parts.back().shift));
    // (1 + u)·e^{−high}, and u itself: where it is small, log(1 + u) has its digits in u, however large
    // the exponents. A loss must be right to a few ulp of itself.
    double real = rest_ * std::exp(-high);
    double imaginary = 0.0;
    double excess = 0.0;
    double turned = 0.0;
    for (mixture_pair::part const& part : pair_->parts) {
      double const exponent = part.shift * (x - 0.5 * part.shift);
      double const size = part.weight * std::exp(exponent - high);
      double const half = std::sin(0.5 * part.shift * height);
      real += size * std::cos(part.shift * height);
      imaginary += size * std::sin(part.shift * height);
      // e^{r+ia} − 1 = expm1(r)·cos a − 2 sin²(a/2) + i e^r sin a
      excess +=
          part.weight * (std::expm1(std::min(exponent, 700.0)) * std::cos(part.shift * height) -
                         2.0 * half * half);
      turned += part.weight * std::exp(std::min(exponent, 700.0)) * std::sin(part.shift * height);
    }
    bool const small = std::abs(excess) < 0.5 && std::abs(turned) < 0.5;
    double const log_ratio =
        small ? 0.5 * std::log1p(2.0 * excess + excess * excess + turned * turned)
              : high + 0.5 * std::log(real * real + imaginary * imaginary);
    double const turn = std::atan2(imaginary, real);
    double const base = -0.5 * x * x + 0.5 * height * height -
                        0.5 * std::log(2.0 * std::numbers::pi) + std::log(step_);
    return remove_ ? lifted{log_ratio, turn, base + log_ratio, turn - height * x}
                   : lifted{-log_ratio, turn, base, height * x};
  }

  /// The largest height at which the likelihood ratio keeps clear of its zeros.
  [[nodiscard]] double strip() const { return 0.95 * std::numbers::pi / pair_->parts.back().shift; }

 private:
  // A smooth step Φ(∓y) at every node, and what is on its other side.
  struct edge {
    std::vector<double> log_inside;
    std::vector<double> log_outside;

    void push(double y) {
      log_inside.push_back(y < -9.0 ? -1e-18 : log_normal_tail(y));
      log_outside.push_back(y > 9.0 ? -1e-18 : log_normal_tail(-y));
    }
  };

  // log of |Φ(y + ib)|/Φ(y) at most, `sharp` = b²/2: |Φ(y + ib)| ≤ e^{b²/2}Φ(y), and ≤ 1 + e^{b²/2}Φ(−y).
  [[nodiscard]] static double growth(double log_this, double log_other, double sharp) {
    return sharp + log_other < -41.0 ? 1e-17
                                     : std::min(sharp, log1p_exp(sharp + log_other) - log_this);
  }

  // The likelihood ratio M/N(0, 1) at x: u = ratio − 1, and its logarithm.
  struct likelihood {
    double excess;
    double ratio;
    double log_ratio;
    bool huge;  // then only the logarithm can be used
  };
  [[nodiscard]] likelihood loss_at(double x) const {
    double largest = 0.0;
    for (mixture_pair::part const& part : pair_->parts) {
      largest = std::max(largest, part.shift * (x - 0.5 * part.shift));
    }
    if (largest > 600.0) {
      double sum = 0.0;
      for (mixture_pair::part const& part : pair_->parts) {
        sum += part.weight * std::exp(part.shift * (x - 0.5 * part.shift) - largest);
      }
      return {0.0, 0.0, log_add(std::log(rest_), largest + std::log(sum)), true};
    }
    double excess = 0.0;
    for (mixture_pair::part const& part : pair_->parts) {
      excess += part.weight * std::expm1(part.shift * (x - 0.5 * part.shift));
    }
    if (excess > -0.5) return {excess, 1.0 + excess, std::log1p(excess), false};
    double ratio = rest_;  // 1 + excess would have lost what is left of it
    for (mixture_pair::part const& part : pair_->parts) {
      ratio += part.weight * std::exp(part.shift * (x - 0.5 * part.shift));
    }
    if (ratio > 1e-290) return {excess, ratio, std::log(ratio), false};
    double log_ratio = rest_ > 0.0 ? std::log(rest_) : -std::numeric_limits<double>::infinity();
    for (mixture_pair::part const& part : pair_->parts) {
      log_ratio = log_add(log_ratio, std::log(part.weight) + part.shift * (x - 0.5 * part.shift));
    }
    return {excess, ratio, log_ratio, false};
  }

  void add(double x) {
    auto const [excess, ratio, log_ratio, huge] = loss_at(x);
    if (tapered_) outer_.push(sign() * (x - cut_) / taper_width);
    double const taper = tapered_ ? outer_.log_inside.back() : 0.0;
    double const log_base =
        -0.5 * x * x - 0.5 * std::log(2.0 * std::numbers::pi) + std::log(step_) + taper;
    double const base = std::exp(log_base);
    if (remove_) {
      push(x, log_ratio, log_base + log_ratio);
      divergence_ +=
          huge ? mass_.back() * (log_ratio - 1.0) + base : base * entropy_residual(excess, ratio);
    } else {
      push(x, -log_ratio, log_base);
      divergence_ += huge ? std::exp(log_base + log_ratio) - base * (1.0 + log_ratio)
                          : base * (excess > -0.5 ? log1p_residual(excess) : excess - log_ratio);
    }
  }

  void push(double x, double loss, double log_mass) {
    point_.push_back(x);
    loss_.push_back(loss);
    log_mass_.push_back(log_mass);
    mass_.push_back(std::exp(log_mass));
  }

  void finish(double log_dropped) {
    // What the taper takes from a normal of mean m.
    double const wide = std::sqrt(1.0 + taper_width * taper_width);
    auto const taken = [&](double mean) {
      return std::exp(log_normal_tail(sign() * (cut_ - mean) / wide));
    };
    double const of_normal = taken(0.0);
    double of_mixture = rest_ * of_normal;
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
  double step_;
  double rest_ = 1.0;
  double cut_ = 0.0;
  double dropped_ = 0.0;
  double divergence_ = 0.0;  // E[L] of the tapered P
  edge outer_;
  edge inner_;
  double dropped_inside_ = 0.0;  // dropped_ and divergence_ of the part with small losses
  double divergence_inside_ = 0.0;
  std::vector<double> point_;
  std::vector<double> loss_;
  std::vector<double> log_mass_;
  std::vector<double> mass_;
};

/// How the integrand P·e^{(θ+it)L} changes when the line of integration in x is moved to x ± ia, 0 < a <
/// π/(largest shift): |f(x ± ia)| ≤ f_θ(x)·e^{stretch ∓ t·turn}, turn = arg of the likelihood ratio ≥ 0.
/// The factor falls in t one way and grows the other: the first bounds |M| for all larger t, the second
/// the trapezoid rule's error.
class envelope {
 public:
  /// `value` is log M(tilt) of the part asked for; sizes are relative to it.
  envelope(mixture_nodes const& nodes, double tilt, double value, losses which = losses::all)
      : nodes_(&nodes), tilt_(tilt), which_(which), tilted_(nodes.tilted(tilt, value, which)) {}

  /// log of ∫|f(x ± ia)| over M(θ). `t` > 0 for the side that falls, < 0 for the one that grows.
  [[nodiscard]] double log_size(double height, double t) {
    auto const& [where, stretch, turn] = moved(height);
    double sum = 0.0;
    double high = 0.0;
    for (std::size_t k = 0; k < tilted_.size(); ++k) {
      double const exponent = stretch[k] - t * turn[k];
      high = std::max(high, exponent);
      sum += tilted_[k] * std::expm1(exponent);
    }
    if (high < 600.0) return std::log1p(sum);
    double large = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < tilted_.size(); ++k) {
      if (tilted_[k] > 0.0) {
        large = log_add(large, std::log(tilted_[k]) + stretch[k] - t * turn[k]);
      }
    }
    return large;
  }

  /// A bound on log|M(θ+it′)/M(θ)| for all t′ ≥ t: the least over heights that halve from the strip's
  /// down to `typical`. For one t after the other, growing.
  [[nodiscard]] double least(double t, double typical) {
    double const strip = std::min(nodes_->strip(), 12.0);
    auto const last = static_cast<int>(std::max(0.0, std::ceil(std::log2(strip / typical))));
    auto const size = [&](int halvings) { return log_size(std::ldexp(strip, -halvings), t); };
    double best = 0.0;
    auto const climb = [&](int from, std::initializer_list<int> ways) {
      double here = size(from);
      int at = from;
      for (int const way : ways) {
        for (int next = at + way; next >= 0 && next <= last; next += way) {
          double const there = size(next);
          if (!(there < here)) break;
          here = there;
          at = next;
        }
      }
      if (here < best || best_ < 0) {
        best = std::min(here, 0.0);
        best_ = at;
      }
    };
    if (best_ >= 0) {
      climb(best_, {-1});  // the best height grows with t
    } else {
      // There may be two minima: for many small losses one low down, for the jumps one far up.
      climb(last, {-1});
      if (best_ > 2) climb(0, {1});
    }
    return best;
  }

 private:
  mixture_nodes::moved const& moved(double height) {
    for (auto const& one : moved_) {
      if (one.height == height) return one;
    }
    return moved_.emplace_back(nodes_->move(tilt_, height, which_));
  }

  mixture_nodes const* nodes_;
  double tilt_;
  losses which_;
  std::vector<double> tilted_;  // f_θ, normalised to sum 1
  std::deque<mixture_nodes::moved> moved_;
  int best_ = -1;
};

/// log M(θ + it) for t = 0, η, 2η, …, added to a sum over the events of a composition.
class moment_line {
 public:
  struct sums {
    std::vector<double> real;                 // Σ count·Re log M
    std::vector<double> imaginary;            // Σ count·Im log M
    std::vector<double> error;                // log of (1 + the relative error of e^Σ)
    std::vector<std::complex<double>> ratio;  // R = Σ count·log(M/M_small), if split
    std::vector<double> ratio_error;          // of R, absolute
    std::vector<double> ratio_size;           // log|e^{−R}| at most
    explicit sums(std::size_t size) : real(size), imaginary(size), error(size) {}

    void split() {
      ratio.resize(real.size());
      ratio_error.resize(real.size());
      ratio_size.resize(real.size());
    }

    /// Turns e^Σ into e^Σ − e^{Σ−R} = e^Σ(1 − e^{−R}).
    void subtract_small() {
      for (std::size_t n = 0; n < real.size(); ++n) {
        double const fall = -ratio[n].real();
        double const angle = -ratio[n].imag();
        double const grown = std::expm1(fall);
        double const half = std::sin(0.5 * angle);
        double const e = 1.0 + grown;
        // −expm1(fall + i·angle)
        std::complex<double> const w{2.0 * half * half * e - grown, -std::sin(angle) * e};
        double const wrong =
            std::min(e + std::exp(ratio_size[n]), e * std::expm1(ratio_error[n])) +
            unit_roundoff *
                (4.0 * std::abs(grown) + e * (8.0 * half * half + 4.0 * std::abs(std::sin(angle))));
        double const modulus = std::abs(w);
        // Below its own error it counts as that error.
        double const size = std::max({modulus, wrong, std::numeric_limits<double>::min()});
        real[n] += std::log(size);
        imaginary[n] += std::arg(w);
        error[n] += modulus >= wrong ? std::log1p(wrong / size) : 2.0;
      }
    }
  };

  /// The nodes moved to the height at which they are summed (0: on the real axis, where they may be
  /// tapered). `alias` bounds the error of their trapezoid rule in M, relative to M(θ); `large_alias`
  /// that of the part with large losses, if the nodes are split, relative to M(θ) too.
  moment_line(mixture_nodes const& nodes, double tilt, double height, double alias,
              double large_alias = 0.0)
      : tilt_(tilt),
        alias_(alias),
        large_alias_(large_alias),
        split_(nodes.is_split()),
        divergence_(nodes.divergence()),
        divergence_error_(nodes.divergence_error()),
        dropped_(nodes.dropped()) {
    std::size_t const size = nodes.size();
    double const excess = nodes.excess(tilt);
    near_one_ = excess < 0.5;
    value_ = near_one_ ? std::log1p(excess) : nodes.value(tilt);
    std::vector<node> all;
    all.reserve(size);
    for (std::size_t k = 0; k < size; ++k) {
      auto const at = nodes.lift(k, height);
      double const grown = at.log_mass + tilt * at.loss - (near_one_ ? 0.0 : value_);
      double const angle = at.angle + tilt * at.turn;
      // An exponential is as wrong as its argument's last digit.
      double const wander = nodes.wander(k);
      double const x = nodes.point(k);
      double const plain = 16.0 + x * x + wander + std::abs(at.log_mass) + std::abs(at.angle);
      double const shifted =
          plain + tilt * (wander + 4.0 * std::abs(at.turn)) + (near_one_ ? 0.0 : std::abs(value_));
      all.push_back({std::hypot(at.loss, at.turn),
                     {at.loss, at.turn},
                     std::polar(std::exp(at.log_mass), at.angle),
                     std::polar(std::exp(grown), angle),
                     plain,
                     wander,
                     shifted,
                     split_ ? nodes.outside(k) : 0.0});
    }
    std::sort(all.begin(), all.end(), [](node const& a, node const& b) { return a.size < b.size; });
    nodes_ = std::move(all);
    if (near_one_) tabulate();
    for (node const& n : nodes_) {
      total_ += std::abs(n.tilted);
      inexact_ += std::abs(n.tilted) * n.shifted;
      swing_ += std::abs(n.tilted) * (n.size + n.wander);
      // A share is as wrong as its logarithm's last digits, at most 1e3 below.
      large_total_ += n.outside * std::abs(n.tilted);
      large_inexact_ += n.outside * std::abs(n.tilted) * (n.shifted + 2e3);
      large_swing_ += n.outside * std::abs(n.tilted) * (n.size + n.wander);
    }
  }

  [[nodiscard]] double value() const { return value_; }

  void add(double count, double spacing, sums& to) const {
    std::size_t const size = nodes_.size();
    // Structure of arrays: the loops below are the accountant's hottest.
    std::vector<double> real(size);
    std::vector<double> imaginary(size);
    std::vector<double> turn_real(size);
    std::vector<double> turn_imaginary(size);
    for (std::size_t k = 0; k < size; ++k) {
      double const fall = std::exp(-spacing * nodes_[k].loss.imag());
      turn_real[k] = fall * std::cos(spacing * nodes_[k].loss.real());
      turn_imaginary[k] = fall * std::sin(spacing * nodes_[k].loss.real());
    }
    std::size_t first_large = near_one_ ? size : 0;
    for (std::size_t n = 0; n < to.real.size(); ++n) {
      double const t = spacing * static_cast<double>(n);
      if (near_one_) {
        double const reach = 0.5 / std::hypot(tilt_, t);
        while (first_large > 0 && nodes_[first_large - 1].size >= reach) --first_large;
      }
      if (n % resync == 0) {
        for (std::size_t k = 0; k < size; ++k) {
          node const& at = nodes_[k];
          std::complex<double> const now =
              at.tilted * std::polar(std::exp(-t * at.loss.imag()), t * at.loss.real());
          real[k] = now.real();
          imaginary[k] = now.imag();
        }
      } else {
        for (std::size_t k = 0; k < size; ++k) {
          double const r = real[k];
          real[k] = r * turn_real[k] - imaginary[k] * turn_imaginary[k];
          imaginary[k] = r * turn_imaginary[k] + imaginary[k] * turn_real[k];
        }
      }
      double sum_real = 0.0;
      double sum_imaginary = 0.0;
      for (std::size_t k = first_large; k < size; ++k) {
        sum_real += real[k];
        sum_imaginary += imaginary[k];
      }
      double const drift = 2.0 * static_cast<double>(n % resync + 1);
      std::complex<double> moment{sum_real, sum_imaginary};  // over M(θ) unless that is near one
      double error = 0.0;
      if (near_one_) {
        error = near_one(count, t, n, first_large, moment, drift, to);
      } else {
        double const modulus = std::hypot(sum_real, sum_imaginary);
        error = unit_roundoff * (inexact_ + drift * total_ + t * swing_) + alias_;
        to.real[n] += count * (value_ + std::log(modulus));
        to.imaginary[n] += count * std::atan2(sum_imaginary, sum_real);
        to.error[n] +=
            count * (std::log1p(error / modulus) + unit_roundoff * (4.0 * std::abs(value_) + 16.0));
      }
      if (split_) {
        std::complex<double> large = 0.0;
        for (std::size_t k = 0; k < size; ++k) {
          large += nodes_[k].outside * std::complex<double>{real[k], imaginary[k]};
        }
        double const scale = near_one_ ? std::exp(value_) : 1.0;
        double const wrong =
            unit_roundoff * (large_inexact_ + drift * large_total_ + t * large_swing_) +
            large_alias_ * scale;
        compare(count, moment, error, large, wrong, n, to);
      }
    }
  }

 private:
  static constexpr std::size_t resync = 32;
  static constexpr std::size_t powers = 15;  // L², …, L¹⁶: 0.5¹⁷/17! is below an ulp of the sum

  struct node {
    double size;  // |L|
    std::complex<double> loss;
    std::complex<double> mass;
    std::complex<double> tilted;  // mass·e^{θL}; divided by M(θ) unless that is near 1
    double plain;                 // relative error of the mass, in units of rounding
    double wander;                // absolute error of the loss, in the same
    double shifted;               // the same of the tilted mass
    double outside;               // its share in the part with large losses
  };

  struct suffix {
    std::complex<double> mass;
    std::complex<double> first;
    double absolute = 0.0;  // Σ |mass|(1 + |L|), and below, weighted by their errors
    double inexact = 0.0;
    double tilted = 0.0;
    double swing = 0.0;
  };

  void tabulate() {
    std::size_t const size = nodes_.size();
    moments_.assign((size + 1) * powers, {});
    magnitudes_.assign(size + 1, 0.0);
    suffixes_.assign(size + 1, {});
    for (std::size_t k = 0; k < size; ++k) {
      node const& at = nodes_[k];
      std::complex<double> term = at.mass * at.loss;
      magnitudes_[k + 1] = magnitudes_[k] + std::abs(term) * (at.size * at.plain + 2.0 * at.wander);
      for (std::size_t j = 0; j < powers; ++j) {
        term *= at.loss / static_cast<double>(j + 2);
        moments_[(k + 1) * powers + j] = moments_[k * powers + j] + term;
      }
    }
    for (std::size_t k = size; k-- > 0;) {
      node const& at = nodes_[k];
      suffix const& next = suffixes_[k + 1];
      double const mass = std::abs(at.mass);
      double const tilted = std::abs(at.tilted);
      suffixes_[k] = {next.mass + at.mass,
                      next.first + at.mass * at.loss,
                      next.absolute + mass * ((1.0 + at.size) * at.plain + at.wander),
                      next.inexact + tilted * at.shifted,
                      next.tilted + tilted,
                      next.swing + tilted * (at.size + at.wander)};
    }
  }

  // M = 1 + m: the losses below ½/|z| through their moments, the others by themselves.
  // Takes the sum over the large ones, leaves M, and returns the latter's error.
  [[nodiscard]] double near_one(double count, double t, std::size_t n, std::size_t first_large,
                                std::complex<double>& moment_or_large, double drift,
                                sums& to) const {
    std::complex<double> const large = moment_or_large;
    std::complex<double> const z(tilt_, t);
    std::complex<double> const* const moment = &moments_[first_large * powers];
    std::complex<double> small = 0.0;
    for (std::size_t j = powers; j-- > 0;) small = small * z + moment[j];
    suffix const& beyond = suffixes_[first_large];
    std::complex<double> const m =
        (z * divergence_ - dropped_) + z * z * small + (large - beyond.mass - z * beyond.first);
    double const square = 2.0 * m.real() + std::norm(m);
    double const modulus = std::abs(1.0 + m);
    to.real[n] += count * (square > -0.5 ? 0.5 * std::log1p(square) : std::log(modulus));
    to.imaginary[n] += count * std::atan2(m.imag(), 1.0 + m.real());
    double const size = std::abs(z);
    double const parts = size * divergence_error_ + 24.0 * dropped_ +
                         size * size * magnitudes_[first_large] + (1.0 + size) * beyond.absolute +
                         beyond.inexact + drift * beyond.tilted + t * beyond.swing;
    double const error = unit_roundoff * parts + alias_ * std::exp(value_);
    to.error[n] += count * std::log1p(error / modulus);
    moment_or_large = 1.0 + m;
    return error;
  }

  // R += −count·log(1 − M_large/M)
  static void compare(double count, std::complex<double> moment, double error,
                      std::complex<double> large, double wrong, std::size_t n, sums& to) {
    double const modulus = std::abs(moment);
    std::complex<double> const r = large / moment;
    double const size = std::abs(r);
    // of r
    double const off = error < 0.5 * modulus
                           ? (wrong + size * error) / (modulus - error) + 8.0 * unit_roundoff * size
                           : std::numeric_limits<double>::infinity();
    double const square = std::norm(r) - 2.0 * r.real();
    double const left = std::abs(1.0 - r);
    double const real = square > -0.5
                            ? 0.5 * std::log1p(square)
                            : std::log(std::max(left, std::numeric_limits<double>::min()));
    double const imaginary = std::atan2(-r.imag(), 1.0 - r.real());
    to.ratio[n] -= count * std::complex<double>{real, imaginary};
    to.ratio_error[n] +=
        off < 0.5 * left
            ? count * (-std::log1p(-off / left) + 8.0 * unit_roundoff * (size + std::abs(real)))
            : std::numeric_limits<double>::infinity();
    to.ratio_size[n] += count * std::log(left + off);
  }

  double tilt_;
  double alias_;
  double large_alias_;
  bool split_;
  bool near_one_ = false;
  double value_ = 0.0;
  double divergence_;
  double divergence_error_;
  double dropped_;
  double total_ = 0.0;
  double inexact_ = 0.0;
  double swing_ = 0.0;
  double large_total_ = 0.0;
  double large_inexact_ = 0.0;
  double large_swing_ = 0.0;
  std::vector<node> nodes_;                    // by |L|
  std::vector<std::complex<double>> moments_;  // prefix sums of mass·L^{j+2}/(j+2)!
  std::vector<double> magnitudes_;  // prefix sums of |mass·L²|, weighted by their errors
  std::vector<suffix> suffixes_;
};

}  // namespace tacit::detail
