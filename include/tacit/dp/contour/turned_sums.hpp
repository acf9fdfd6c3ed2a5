// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/allocation/discrete_step.hpp>
#include <tacit/dp/allocation/poisson_sums.hpp>
#include <tacit/dp/contour/sums.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace tacit::detail::epochs {

/// E (uS)^n e^{−uS}/n! for a complex u, S the mean of t steps: size and angle.
template <std::same_as<double> T = double>
struct turned_mass {
  T log_size;
  T angle;
  T log_error;  // the logarithm of an absolute error
};

/// That as the n-th coefficient of (Σ_j π_j x^j)^t, π_j = E ρ^j e^{−ρ}/j!, ρ = uU/t: docs/certificates/allocation.md,
/// Lemma 18.
template <std::same_as<double> T = double>
class turned_sums : step_nodes<T> {
  using nodes = step_nodes<T>;
  using nodes::base_;
  using nodes::bent_;
  using nodes::farthest;
  using nodes::least;
  using nodes::location_;
  using nodes::order_;
  using nodes::steps_;

 public:
  turned_sums(discrete_step<T> const& step, T steps, T order) : step_nodes<T>(step, steps, order) {}

  /// Whether there are numbers at the real part `cosine` of the turn where u is not large.
  [[nodiscard]] static bool serves(T order, T cosine) {
    return -elementary::log(cosine) * order < most_shrunk;
  }
  /// Of one value, in additions; `size` is that of the discrete step.
  [[nodiscard]] static T work(std::size_t size, T steps, T order) {
    return (3.0 * order + 100.0) * static_cast<T>(size) + 4.0 * power_work(order, steps);
  }

  /// At u = e^v·turn, |turn| = 1 but for 2 units a part, Re turn > 0. Nothing where numbers would be too small, or too large.
  [[nodiscard]] std::optional<turned_mass<T>> at(T v, complex<T> const& turn) const {
    std::size_t const size = location_.size();
    T const r = elementary::exp(v) / steps_;
    std::vector<T> rho(size);   // |ρ|
    std::vector<T> most(size);  // base·|ρ^j e^{−ρ}/j!|
    std::vector<T> real(size);
    std::vector<T> imaginary(size);
    std::vector<T> off(size);            // of these, in units of `most`, less 14 for each j and 20
    std::vector<complex<T>> hits(size);  // base·(1 − e^{−ρ})
    std::vector<T> hits_at_most(size);
    T off_hit = 0.0;  // of the sum of `hits`, in units
    T lost = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      rho[i] = r * location_[i];
      T const x = rho[i] * turn.re;
      T const y = rho[i] * turn.im;
      if (bent_[i] + x > farthest) {
        lost += base_[i] * this->few_of(x);
        hits[i].re = hits_at_most[i] = base_[i];
        off_hit += base_[i] * (bent_[i] + 16.0);
        rho[i] = 0.0;
        continue;
      }
      T const fall = elementary::exp(-x);
      auto const [sine, cosine] = elementary::sin_cos_far(y);
      T const half = elementary::sin_cos_far(0.5 * y).sin;
      hits[i] =
          complex<T>{-elementary::expm1(-x) + 2.0 * fall * half * half, fall * sine} * base_[i];
      hits_at_most[i] = base_[i] * std::min(2.0, rho[i]);
      off_hit += hits_at_most[i] * (bent_[i] + 40.0) + 12.0 * base_[i] * rho[i] * fall;
      off[i] = bent_[i] + 12.0 * rho[i];
      most[i] = base_[i] * fall;
      real[i] = most[i] * cosine;
      imaginary[i] = -most[i] * sine;
    }
    // In blocks: each term takes part in so many additions, of a real and an imaginary part.
    T const summed = 1.5 * (static_cast<T>(size / block) + 20.0);
    auto const sum = [size](auto&& term) {
      auto total = term(0);
      total = {};
      for (std::size_t k = 0; k < size; k += block) {
        total += sum_in_lanes<decltype(total)>(std::min(size - k, block),
                                               [&](std::size_t j) { return term(k + j); });
      }
      return total;
    };
    complex<T> const hit = sum([&](std::size_t i) { return hits[i]; });  // 1 − π_0
    T const hit_at_most = sum([&](std::size_t i) { return hits_at_most[i]; });
    off_hit += hit_at_most * summed;
    T const size_hit = modulus_of(hit);
    // Of few steps π_0 may be much smaller than the sum of its terms' sizes, by which everything is divided then.
    bool const few = steps_ + 1.0 < order_;
    bool const rare = !few && size_hit < 0.5;
    complex<T> const missed = rare ? complex<T>{1.0 - hit.re, -hit.im} : sum([&](std::size_t i) {
      return complex<T>{real[i], imaginary[i]};
    });
    complex<T> const none =
        few ? complex<T>{sum([&](std::size_t i) { return most[i]; }), 0.0} : missed;
    T const size_none = modulus_of(none);
    // Of π_0, and so of its logarithm, in units of `none`.
    T const off_none =
        (rare ? off_hit + 12.0 * size_hit : sum([&](std::size_t i) {
                                              return most[i] * (off[i] + 20.0 + summed);
                                            }) + 8.0 * size_none) /
        size_none;
    if (!(size_none > 1e-290) || !(off_none < 1e9)) return std::nullopt;
    complex<T> const all_none = complex<T>{rare ? 0.5 * elementary::log1p(norm(hit) - 2.0 * hit.re)
                                                : elementary::log(size_none),
                                           few ? 0.0 : elementary::atan2(none.im, none.re)} *
                                steps_;
    // b_j = π_j/none·s^j, so that nothing overflows.
    T const scale = turn.re * std::min(1.0, 500.0 / std::max(1.0, -all_none.re));
    T const log_scale = elementary::log(scale);
    if (!(-log_scale * order_ < most_shrunk)) return std::nullopt;
    auto const n = static_cast<std::size_t>(order_);
    std::vector<complex<T>> b(n + 1);
    std::vector<T> above(n + 1);  // |b_j| at most
    b[0] = few ? missed / none : complex<T>{1.0, 0.0};
    above[0] = 1.0;
    T shrunk = 1.0;
    T worst = 0.0;  // the error of b_j, in units of that, over its degree
    for (std::size_t j = 1; j <= n; ++j) {
      T const part = 1.0 / static_cast<T>(j);
      for (std::size_t i = 0; i < size; ++i) {
        T const factor = rho[i] * part;
        T const re = factor * turn.re;
        T const im = factor * turn.im;
        T const before = real[i];
        real[i] = before * re - imaginary[i] * im;
        imaginary[i] = before * im + imaginary[i] * re;
        most[i] *= factor;
      }
      complex<T> const own{sum([&](std::size_t i) { return real[i]; }),
                           sum([&](std::size_t i) { return imaginary[i]; })};
      T const all = sum([&](std::size_t i) { return most[i]; });
      T const wrong = sum([&](std::size_t i) { return most[i] * off[i]; });
      shrunk *= scale;
      b[j] = own / none * shrunk;
      above[j] = all / size_none * shrunk;
      if (all > 0.0) {
        worst = std::max(worst, part * (wrong / all + summed + off_none + 40.0));
      }
    }
    complex<T> const found = power_of(std::move(b), steps_).back();
    T const larger = power_of(std::move(above), steps_).back() * (1.0 + 1e-6) + 1e-300;
    if (!(larger < 1e300)) return std::nullopt;
    T const log_size = elementary::log(std::max(modulus_of(found), 1e-300));
    T const down = order_ * log_scale;
    T const units = steps_ * off_none + order_ * (worst + 20.0) +
                    1.5 * power_units(order_, steps_) + 10.0 * order_ +
                    8.0 * (std::abs(all_none.re) + std::abs(all_none.im) + std::abs(log_size) +
                           std::abs(down) + 8.0);
    if (!(units < 1e12)) return std::nullopt;
    T const log_lost =
        lost > 0.0 ? elementary::log(steps_ * lost) : -std::numeric_limits<T>::infinity();
    T const log_extra = log_add(log_lost, least - down) - order_ * elementary::log(turn.re);
    T const log_rounded = all_none.re + elementary::log(larger) - down +
                          elementary::log(1.01 * unit_roundoff * units);
    return turned_mass<T>{all_none.re + log_size - down,
                          all_none.im + elementary::atan2(found.im, found.re),
                          log_add(log_rounded, log_extra) + 0.1};
  }

 private:
  static constexpr T most_shrunk = 340.0;  // −n·log s
  static constexpr std::size_t block = 64;
};

}  // namespace tacit::detail::epochs
