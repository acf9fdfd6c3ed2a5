// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/real.hpp>
#include <tacit/dp/contour/table.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

/// log M along a vertical line of the complex plane, and its rounding.

namespace tacit::detail {

/// log M(θ + it) for t = 0, η, 2η, …, added to a sum over the events of a composition.
template <std::same_as<double> T = double>
class moment_line {
 public:
  struct sums {
    std::vector<T> real;                 // Σ count·Re log M
    std::vector<T> imaginary;            // Σ count·Im log M
    std::vector<T> error;                // log of (1 + the relative error of e^Σ)
    std::vector<std::complex<T>> ratio;  // R = Σ count·log(M/M_small), if split
    std::vector<T> ratio_error;          // of R, absolute
    std::vector<T> ratio_size;           // log|e^{−R}| at most
    explicit sums(std::size_t size) : real(size), imaginary(size), error(size) {}

    void split() {
      ratio.resize(real.size());
      ratio_error.resize(real.size());
      ratio_size.resize(real.size());
    }

    /// Turns e^Σ into e^Σ − e^{Σ−R} = e^Σ(1 − e^{−R}).
    void subtract_small() {
      for (std::size_t n = 0; n < real.size(); ++n) {
        T const fall = -ratio[n].real();
        T const angle = -ratio[n].imag();
        T const grown = std::expm1(fall);
        T const half = std::sin(0.5 * angle);
        T const e = 1.0 + grown;
        // −expm1(fall + i·angle)
        std::complex<T> const w{2.0 * half * half * e - grown, -std::sin(angle) * e};
        T const wrong = std::min(e + std::exp(ratio_size[n]), e * std::expm1(ratio_error[n])) +
                        unit_roundoff * (4.0 * std::abs(grown) +
                                         e * (8.0 * half * half + 4.0 * std::abs(std::sin(angle))));
        T const modulus = std::abs(w);
        // Below its own error it counts as that error.
        T const size = std::max({modulus, wrong, std::numeric_limits<T>::min()});
        real[n] += std::log(size);
        imaginary[n] += std::arg(w);
        error[n] += modulus >= wrong ? std::log1p(wrong / size) : 2.0;
      }
    }
  };

  /// The nodes moved to the height at which they are summed (0: on the real axis, where they may be
  /// tapered). `alias` bounds the error of their trapezoid rule in M, relative to M(θ); `large_alias`
  /// that of the part with large losses, if the nodes are split, relative to M(θ) too.
  moment_line(mixture_table<T> const& nodes, T tilt, T height, T alias, T large_alias = 0.0)
      : tilt_(tilt),
        alias_(alias),
        large_alias_(large_alias),
        split_(nodes.is_split()),
        divergence_(nodes.divergence()),
        divergence_error_(nodes.divergence_error()),
        dropped_(nodes.dropped()) {
    std::size_t const size = nodes.size();
    T const excess = nodes.excess(tilt);
    near_one_ = excess < 0.5;
    value_ = near_one_ ? std::log1p(excess) : nodes.value(tilt);
    std::vector<node> all;
    all.reserve(size);
    for (std::size_t k = 0; k < size; ++k) {
      auto const at = nodes.lift(k, height);
      T const grown = at.log_mass + tilt * at.loss - (near_one_ ? 0.0 : value_);
      std::complex<T> const phase = std::polar(1.0, at.angle);
      // An exponential is as wrong as its argument's last digit.
      T const loss_error = nodes.loss_error(k);
      T const x = nodes.point(k);
      T const plain = 16.0 + x * x + loss_error + std::abs(at.log_mass) + std::abs(at.turned);
      T const shifted = plain + tilt * (loss_error + 4.0 * std::abs(at.turn)) +
                        (near_one_ ? 0.0 : std::abs(value_));
      all.push_back({std::hypot(at.loss, at.turn),
                     {at.loss, at.turn},
                     std::polar(std::exp(at.log_mass), at.turned) * phase,
                     std::polar(std::exp(grown), at.turned + tilt * at.turn) * phase,
                     plain,
                     loss_error,
                     shifted,
                     split_ ? nodes.outside(k) : 0.0});
    }
    std::sort(all.begin(), all.end(), [](node const& a, node const& b) { return a.size < b.size; });
    nodes_ = std::move(all);
    if (near_one_) tabulate();
    for (node const& n : nodes_) {
      total_ += std::abs(n.tilted);
      inexact_ += std::abs(n.tilted) * n.shifted;
      swing_ += std::abs(n.tilted) * (n.size + n.loss_error);
      // A share is as wrong as its logarithm's last digits, at most 1e3 below.
      large_total_ += n.outside * std::abs(n.tilted);
      large_inexact_ += n.outside * std::abs(n.tilted) * (n.shifted + 2e3);
      large_swing_ += n.outside * std::abs(n.tilted) * (n.size + n.loss_error);
    }
  }

  [[nodiscard]] T value() const { return value_; }

  void add(T count, T spacing, sums& to) const {
    std::size_t const size = nodes_.size();
    // Structure of arrays: the loops below are the accountant's hottest.
    std::vector<T> real(size);
    std::vector<T> imaginary(size);
    std::vector<T> turn_real(size);
    std::vector<T> turn_imaginary(size);
    for (std::size_t k = 0; k < size; ++k) {
      T const fall = std::exp(-spacing * nodes_[k].loss.imag());
      turn_real[k] = fall * std::cos(spacing * nodes_[k].loss.real());
      turn_imaginary[k] = fall * std::sin(spacing * nodes_[k].loss.real());
    }
    std::size_t first_large = near_one_ ? size : 0;
    for (std::size_t n = 0; n < to.real.size(); ++n) {
      T const t = spacing * static_cast<T>(n);
      if (near_one_) {
        T const reach = 0.5 / std::hypot(tilt_, t);
        while (first_large > 0 && nodes_[first_large - 1].size >= reach) --first_large;
      }
      if (n % resync == 0) {
        for (std::size_t k = 0; k < size; ++k) {
          node const& at = nodes_[k];
          std::complex<T> const now =
              at.tilted * std::polar(std::exp(-t * at.loss.imag()), t * at.loss.real());
          real[k] = now.real();
          imaginary[k] = now.imag();
        }
      } else {
        for (std::size_t k = 0; k < size; ++k) {
          T const r = real[k];
          real[k] = r * turn_real[k] - imaginary[k] * turn_imaginary[k];
          imaginary[k] = r * turn_imaginary[k] + imaginary[k] * turn_real[k];
        }
      }
      T sum_real = 0.0;
      T sum_imaginary = 0.0;
      for (std::size_t k = first_large; k < size; ++k) {
        sum_real += real[k];
        sum_imaginary += imaginary[k];
      }
      T const drift = 2.0 * static_cast<T>(n % resync + 1);
      std::complex<T> moment{sum_real, sum_imaginary};  // over M(θ) unless that is near one
      T error = 0.0;
      if (near_one_) {
        error = near_one(count, t, n, first_large, moment, drift, to);
      } else {
        T const modulus = std::hypot(sum_real, sum_imaginary);
        error = unit_roundoff * (inexact_ + drift * total_ + t * swing_) + alias_;
        to.real[n] += count * (value_ + std::log(modulus));
        to.imaginary[n] += count * std::atan2(sum_imaginary, sum_real);
        to.error[n] +=
            count * (std::log1p(error / modulus) + unit_roundoff * (4.0 * std::abs(value_) + 16.0));
      }
      if (split_) {
        std::complex<T> large = 0.0;
        for (std::size_t k = 0; k < size; ++k) {
          large += nodes_[k].outside * std::complex<T>{real[k], imaginary[k]};
        }
        T const scale = near_one_ ? std::exp(value_) : 1.0;
        T const wrong = unit_roundoff * (large_inexact_ + drift * large_total_ + t * large_swing_) +
                        large_alias_ * scale;
        compare(count, moment, error, large, wrong, n, to);
      }
    }
  }

 private:
  static constexpr std::size_t resync = 32;
  static constexpr std::size_t powers = 15;  // L², …, L¹⁶: 0.5¹⁷/17! is below an ulp of the sum

  struct node {
    T size;  // |L|
    std::complex<T> loss;
    std::complex<T> mass;
    std::complex<T> tilted;  // mass·e^{θL}; divided by M(θ) unless that is near 1
    T plain;                 // relative error of the mass, in units of rounding
    T loss_error;            // absolute error of the loss, in the same
    T shifted;               // the same of the tilted mass
    T outside;               // its share in the part with large losses
  };

  struct suffix {
    std::complex<T> mass;
    std::complex<T> first;
    T absolute = 0.0;  // Σ |mass|(1 + |L|), and below, weighted by their errors
    T inexact = 0.0;
    T tilted = 0.0;
    T swing = 0.0;
  };

  void tabulate() {
    std::size_t const size = nodes_.size();
    moments_.assign((size + 1) * powers, {});
    magnitudes_.assign(size + 1, 0.0);
    suffixes_.assign(size + 1, {});
    for (std::size_t k = 0; k < size; ++k) {
      node const& at = nodes_[k];
      std::complex<T> term = at.mass * at.loss;
      magnitudes_[k + 1] =
          magnitudes_[k] + std::abs(term) * (at.size * at.plain + 2.0 * at.loss_error);
      for (std::size_t j = 0; j < powers; ++j) {
        term *= at.loss / static_cast<T>(j + 2);
        moments_[(k + 1) * powers + j] = moments_[k * powers + j] + term;
      }
    }
    for (std::size_t k = size; k-- > 0;) {
      node const& at = nodes_[k];
      suffix const& next = suffixes_[k + 1];
      T const mass = std::abs(at.mass);
      T const tilted = std::abs(at.tilted);
      suffixes_[k] = {next.mass + at.mass,
                      next.first + at.mass * at.loss,
                      next.absolute + mass * ((1.0 + at.size) * at.plain + at.loss_error),
                      next.inexact + tilted * at.shifted,
                      next.tilted + tilted,
                      next.swing + tilted * (at.size + at.loss_error)};
    }
  }

  // M = 1 + m: the losses below ½/|z| through their moments, the others by themselves.
  // Takes the sum over the large ones, leaves M, and returns the latter's error.
  [[nodiscard]] T near_one(T count, T t, std::size_t n, std::size_t first_large,
                           std::complex<T>& moment_or_large, T drift, sums& to) const {
    std::complex<T> const large = moment_or_large;
    std::complex<T> const z(tilt_, t);
    std::complex<T> const* const moment = &moments_[first_large * powers];
    std::complex<T> small = 0.0;
    for (std::size_t j = powers; j-- > 0;) small = small * z + moment[j];
    suffix const& beyond = suffixes_[first_large];
    std::complex<T> const m =
        (z * divergence_ - dropped_) + z * z * small + (large - beyond.mass - z * beyond.first);
    T const square = 2.0 * m.real() + std::norm(m);
    T const modulus = std::abs(1.0 + m);
    to.real[n] += count * (square > -0.5 ? 0.5 * std::log1p(square) : std::log(modulus));
    to.imaginary[n] += count * std::atan2(m.imag(), 1.0 + m.real());
    T const size = std::abs(z);
    T const parts = size * divergence_error_ + 24.0 * dropped_ +
                    size * size * magnitudes_[first_large] + (1.0 + size) * beyond.absolute +
                    beyond.inexact + drift * beyond.tilted + t * beyond.swing;
    T const error = unit_roundoff * parts + alias_ * std::exp(value_);
    to.error[n] += count * std::log1p(error / modulus);
    moment_or_large = 1.0 + m;
    return error;
  }

  // R += −count·log(1 − M_large/M)
  static void compare(T count, std::complex<T> moment, T error, std::complex<T> large, T wrong,
                      std::size_t n, sums& to) {
    T const modulus = std::abs(moment);
    std::complex<T> const r = large / moment;
    T const size = std::abs(r);
    // of r
    T const off = error < 0.5 * modulus
                      ? (wrong + size * error) / (modulus - error) + 8.0 * unit_roundoff * size
                      : std::numeric_limits<T>::infinity();
    T const square = std::norm(r) - 2.0 * r.real();
    T const left = std::abs(1.0 - r);
    T const real = square > -0.5 ? 0.5 * std::log1p(square)
                                 : std::log(std::max(left, std::numeric_limits<T>::min()));
    T const imaginary = std::atan2(-r.imag(), 1.0 - r.real());
    to.ratio[n] -= count * std::complex<T>{real, imaginary};
    to.ratio_error[n] +=
        off < 0.5 * left
            ? count * (-std::log1p(-off / left) + 8.0 * unit_roundoff * (size + std::abs(real)))
            : std::numeric_limits<T>::infinity();
    to.ratio_size[n] += count * std::log(left + off);
  }

  T tilt_;
  T alias_;
  T large_alias_;
  bool split_;
  bool near_one_ = false;
  T value_ = 0.0;
  T divergence_;
  T divergence_error_;
  T dropped_;
  T total_ = 0.0;
  T inexact_ = 0.0;
  T swing_ = 0.0;
  T large_total_ = 0.0;
  T large_inexact_ = 0.0;
  T large_swing_ = 0.0;
  std::vector<node> nodes_;               // by |L|
  std::vector<std::complex<T>> moments_;  // prefix sums of mass·L^{j+2}/(j+2)!
  std::vector<T> magnitudes_;             // prefix sums of |mass·L²|, weighted by their errors
  std::vector<suffix> suffixes_;
};

}  // namespace tacit::detail
