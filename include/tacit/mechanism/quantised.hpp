// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/sensitivity.hpp>
#include <tacit/secret/discrete.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

/// Noise that cannot be read back. A sum of real numbers plus a real normal, in doubles, has low
/// bits that depend on the summands (Mironov 2012). Here contributions are whole numbers from the
/// start: put on a grid, of a norm that is checked in integers, summed exactly in any order, and
/// hidden by noise that is a whole number itself, drawn exactly. What becomes of the released
/// integer is post-processing.

namespace tacit {

namespace detail {

/// What a released number becomes: one that T cannot hold, its largest.
template <std::floating_point T>
[[nodiscard]] constexpr T as_released(double x) {
  constexpr double most = std::numeric_limits<T>::max();
  return static_cast<T>(std::clamp(x, -most, most));
}

}  // namespace detail

/// Whole units for contributions of L2 norm at most `clip`, which is 2^20 of them.
struct contribution_grid {
  static constexpr std::int64_t norm = std::int64_t{1} << 20;

  double clip = required;

  /// @throws std::domain_error unless clip is in [1e-100, 1e100]
  void check(std::string_view who) const {
    detail::require_domain(clip >= 1e-100 && clip <= 1e100, who, "clip", clip,
                           "in [1e-100, 1e100]");
  }

  /// The value of one unit, exactly.
  [[nodiscard]] double quantum() const noexcept { return clip * 0x1p-20; }

  /// min(1, clip/‖v‖)·v in units, rounded towards 0.
  /// Guarantee: the squares of `out` sum to at most norm², in integers. A contribution with a
  /// number that is not finite becomes 0: an exception would reveal the record.
  /// @throws std::invalid_argument unless in and out have the same size
  template <std::floating_point T>
  void quantise(std::span<T const> in, std::span<std::int32_t> out) const {
    detail::check_size("quantise", "size of out", out.size(), in.size());
    double largest = 0.0;
    bool finite = true;
    for (T const x : in) {
      double const size = std::fabs(static_cast<double>(x));
      finite &= size - size == 0.0;
      largest = size > largest ? size : largest;
    }
    if (!finite || largest < quantum()) {  // nothing, or nothing that reaches one unit
      std::fill(out.begin(), out.end(), 0);
      return;
    }
    double const share = 1.0 / largest;  // numbers in [−1, 1] have squares that do not overflow
    double squares = 0.0;
    for (T const x : in) {
      double const part = static_cast<double>(x) * share;
      squares += part * part;
    }
    double scale = static_cast<double>(norm) / std::max(clip, largest * std::sqrt(squares));
    constexpr auto most = static_cast<std::uint64_t>(norm) * static_cast<std::uint64_t>(norm);
    for (;;) {
      std::uint64_t total = 0;
      for (std::size_t j = 0; j < in.size(); ++j) {
        auto const k = static_cast<std::int32_t>(static_cast<double>(in[j]) * scale);
        out[j] = k;
        total += static_cast<std::uint64_t>(std::int64_t{k} * k);
      }
      if (total <= most) return;
      scale *= 1.0 - 0x1p-40;  // the norm was rounded to less than it is
    }
  }

  /// The same of one number: clamp(x, −clip, clip).
  [[nodiscard]] std::int32_t quantise(double x) const noexcept {
    constexpr auto most = static_cast<double>(norm);
    // No branch: a loop over these becomes vector instructions.
    double units = x * (most / clip);
    units = units < most ? units : most;
    units = units > -most ? units : -most;
    return static_cast<std::int32_t>(x - x == 0.0 ? units : 0.0);
  }
};

/// Discrete Gaussian noise of a whole σ in every coordinate of a sum of whole contributions, each
/// of L2 norm at most `norm`.
///
/// What it is charged as: continuous noise of variance σ² − 9, in any number of coordinates, with
/// any sampling that does not look at the data.
///   Let s = 3 and let N_Z(y, s²) be the law on the integers with P(k) ∝ e^(−(k−y)²/2s²), y real.
///   By Poisson summation its normaliser is s√2π·(1 + 2Σ_{m≥1} e^(−2π²s²m²)·cos 2πmy): the same for
///   all y but for a factor 1 ± 2.01·e^(−2π²s²), and 2π²s² = 177.6. So y ~ N(x, σ² − s²) followed
///   by k ~ N_Z(y, s²) is N_Z(x, σ²) but for a factor 1 ± 8e^(−2π²s²), below 1 ± 1e-76, at every k.
///   The first move is the continuous mechanism; the second does not look at the data. Factors of
///   this size at each coordinate of each step are far below the 1e-15 by which the multiplier is
///   rounded down.
/// (Known before: the Rényi divergence of the discrete Gaussian is at most that of the continuous
/// one of the same σ, unsampled; Canonne, Kamath & Steinke 2020. The nine units of variance cover everything
/// else.)
struct quantised_noise {
  std::uint64_t sigma = 0;
  double norm = required;

  /// The least whole σ that is charged as at least this multiplier of `norm`.
  /// @throws std::domain_error unless the multiplier is positive, or where σ would be above 2^45
  [[nodiscard]] static quantised_noise for_multiplier(std::string_view who, double noise_multiplier,
                                                      double norm) {
    detail::check_positive(who, "noise_multiplier", noise_multiplier);
    detail::check_positive(who, "norm of a contribution", norm);
    double const wanted = std::hypot(noise_multiplier * norm, 3.0);
    detail::require_domain(wanted <= 0x1p45, who, "noise_multiplier", noise_multiplier,
                           "at most " + detail::to_text(0x1p45 / norm));
    quantised_noise out{std::max<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(wanted)), 4),
                        norm};
    while (!(out.charged().noise_multiplier >= noise_multiplier)) ++out.sigma;
    return out;
  }

  /// As a group of a joint release, in units. Guarantee: `sigma` is rounded down.
  [[nodiscard]] clipped_group group() const {
    double const s = static_cast<double>(sigma);
    return {norm, std::sqrt((s - 3.0) * (s + 3.0)) * detail::a_little_less};
  }

  /// As one release. Guarantee: lower bound of the noise.
  [[nodiscard]] gaussian charged() const {
    clipped_group const one = group();
    return joint_gaussian({&one, 1});
  }
};

/// Contributions of real vectors, clipped to an L2 norm on the grid, summed, and released once:
///
///     quantised_sum sum(dimension, clip, noise_multiplier);
///     for (…) sum.add(contribution);
///     std::move(sum).release(secret, divisor, out);
///
/// Charge before: `gaussian{noise_multiplier}`, or `group()` where several sums are one release.
class quantised_sum {
 public:
  /// @throws std::invalid_argument for dimension 0; std::domain_error unless clip is in
  ///         [1e-100, 1e100] and noise_multiplier positive and at most 2^25
  quantised_sum(std::size_t dimension, double clip, double noise_multiplier)
      : grid_{clip},
        noise_(quantised_noise::for_multiplier("quantised_sum", noise_multiplier,
                                               static_cast<double>(contribution_grid::norm))),
        sum_(dimension),
        units_(dimension) {
    detail::require_argument(dimension > 0, "quantised_sum", "dimension", dimension, "at least 1");
    grid_.check("quantised_sum");
  }
  // It moves and does not copy: what was charged once is released once.
  quantised_sum(quantised_sum const&) = delete;
  quantised_sum& operator=(quantised_sum const&) = delete;
  quantised_sum(quantised_sum&&) noexcept = default;
  quantised_sum& operator=(quantised_sum&&) noexcept = default;
  ~quantised_sum() = default;

  /// One record's. With a number that is not finite it counts as 0.
  /// @throws std::invalid_argument unless it has as many numbers as the sum
  template <std::floating_point T>
  void add(std::span<T const> contribution) {
    grid_.quantise(contribution, units_);
    for (std::size_t j = 0; j < sum_.size(); ++j) sum_[j] += units_[j];
  }

  /// A contribution that comes in parts.
  struct in_parts {
    double scale = 0.0;      ///< to units
    std::uint64_t left = 0;  ///< of the square of the clip, in units
  };

  /// One whose norm its owner says: clipped by it, less a 2^-14th. A norm that is none makes it 0.
  [[nodiscard]] in_parts scaled_by(double norm) const noexcept {
    constexpr auto most = static_cast<std::uint64_t>(contribution_grid::norm);
    if (!(norm >= 0.0 && norm <= std::numeric_limits<double>::max())) return {};
    return {static_cast<double>(most) * (1.0 - 0x1p-14) / std::max(grid_.clip, norm), most * most};
  }

  /// The entries from `first` on. With one that is not finite, or if they exceed what is left, they count as 0,
  /// and so do all parts after.
  /// Guarantee: the units of all parts of a contribution have squares that sum to at most the clip's, in
  /// integers, whatever its owner said.
  /// @throws std::invalid_argument unless they fit into the sum
  template <std::floating_point T>
  void add_part(in_parts& of, std::size_t first, std::span<T const> part) {
    detail::require_argument(first <= sum_.size() && part.size() <= sum_.size() - first,
                             "quantised_sum", "end of a part", first + part.size(),
                             "at most " + detail::to_text(sum_.size()));
    constexpr auto most = static_cast<double>(contribution_grid::norm);
    std::uint64_t left = of.left;
    for (std::size_t j = 0; j < part.size(); ++j) {
      double const units = static_cast<double>(part[j]) * of.scale;
      bool const fits = std::fabs(units) <= most;  // NaN does not
      std::int64_t const k = fits ? static_cast<std::int64_t>(units) : 0;
      auto const square = static_cast<std::uint64_t>(k * k);
      if (!fits || square > left) {
        of.left = 0;
        of.scale = std::numeric_limits<double>::quiet_NaN();
        return;
      }
      left -= square;
      units_[j] = static_cast<std::int32_t>(k);
    }
    of.left = left;
    for (std::size_t j = 0; j < part.size(); ++j) sum_[first + j] += units_[j];
  }

  /// In units of the grid: {norm, standard deviation}.
  [[nodiscard]] clipped_group group() const { return noise_.group(); }

  /// (sum + noise)·quantum/divisor. The divisor must not depend on the data.
  /// @throws std::invalid_argument unless out has as many numbers; std::domain_error unless the
  ///         divisor is positive; std::runtime_error where there is no randomness
  template <secret_bits Secret, std::floating_point T>
  void release(Secret& secret, double divisor, std::span<T> out) && {
    detail::check_size("release", "size of out", out.size(), sum_.size());
    detail::check_positive("release", "divisor", divisor);
    std::vector<std::int64_t> released;
    released.swap(sum_);
    add_discrete_gaussian(secret, noise_.sigma, released);
    double const unit = grid_.quantum() / divisor;
    for (std::size_t j = 0; j < out.size(); ++j) {
      out[j] = detail::as_released<T>(static_cast<double>(released[j]) * unit);
    }
  }

 private:
  contribution_grid grid_;
  quantised_noise noise_;
  std::vector<std::int64_t> sum_;
  std::vector<std::int32_t> units_;
};

}  // namespace tacit
