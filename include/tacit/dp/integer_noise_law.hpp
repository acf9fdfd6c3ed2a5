// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/finite_pairs.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

/// Laws of noise on the integers, tabulated. docs/certificates/integers.md.

namespace tacit::detail {

/// A symmetric log-concave law on the integers, as multiples of the probability of its mode: p(k)/p(mode)·2^960 in two
/// doubles, so that differences of neighbours keep their digits. It is 0 where p is, or below 2^-2000.
class integer_noise_law {
 public:
  static constexpr double most_values = 4e6;
  static constexpr double of_mode = 0x1p960;

  /// P(k) ∝ e^{−k²/2σ²}
  [[nodiscard]] static integer_noise_law gaussian(double sigma, double span) {
    double const variance = sigma * sigma;
    check_noise("sigma", sigma, most_values / variance);
    double const bulk = std::ceil(std::sqrt(2.0 * bulk_energy) * sigma);
    integer_noise_law law("sigma", sigma, bulk, span);
    law.fill([variance](double k) { return step::of((k - 0.5) / variance); });
    return law;
  }

  /// P(k) ∝ e^{−|k|/scale}. All losses are those of sums between the shifts, where its table ends.
  [[nodiscard]] static integer_noise_law laplace(double scale, double span) {
    check_noise("scale", scale, most_values / scale);
    require_domain(scale <= 0x1p1022, "dominate", "scale", scale, "at most 2^1022 in samples");
    integer_noise_law law("scale", scale, 0.0, span);
    law.fill([each = step::of(1.0 / scale)](double) { return each; });
    double const next = elementary::exp(-1.0 / scale);
    law.total_ = (1.0 + next) / -elementary::expm1(-1.0 / scale);
    law.end_ = 1.0 / -elementary::expm1(-1.0 / scale);
    law.tail_ = 0.0;
    return law;
  }

  /// p(k) = e^{−μ}·I_k(μ), μ = `variance`: the difference of two Poisson counts of mean μ/2.
  [[nodiscard]] static integer_noise_law skellam(double variance, double span) {
    check_noise("variance", variance, 4.0 * most_values / variance);
    // log p(k−1)/p(k) ≥ asinh((k − ½)/μ) (Amos 1974), which adds up to at least this.
    auto const energy = [variance](double k) {
      double const root = elementary::hypot(k, variance);
      return k * asinh_of(k / variance) - k * (k / (root + variance));
    };
    double bulk = 1.0;
    while (energy(bulk) < bulk_energy && bulk < 2.0 * most_values) bulk *= 2.0;
    for (double step = 0.25 * bulk; step >= 1.0; step *= 0.5) {
      if (energy(bulk - std::floor(step)) >= bulk_energy) bulk -= std::floor(step);
    }
    integer_noise_law law("variance", variance, bulk, span);
    // 1/r − 1 for the ratio r of a probability to the one before, backwards: 1/r_j = 2(j+1)/μ + r_{j+1}. Errors shrink on
    // the way, so that it may begin anywhere far out.
    std::size_t const last = law.size_;
    double const farthest = static_cast<double>(last);
    double const more = std::ceil(20.0 / asinh_of((farthest + 0.5) / variance)) + 8.0;
    std::vector<double> excess(last + 1, 0.0);
    double missing = 0.0;  // 1 − r
    for (double j = farthest + more; j >= 0.0; j -= 1.0) {
      double const e = std::max(0.0, 2.0 * ((j + 1.0) / variance) - missing);
      missing = e / (1.0 + e);
      if (j <= farthest) excess[static_cast<std::size_t>(j)] = e;
    }
    law.step_error_ = 24.0 * unit_roundoff;
    law.fill([&](double k) {
      double const e = excess[static_cast<std::size_t>(k) - 1];
      return step{1.0 / (1.0 + e), e / (1.0 + e)};
    });
    return law;
  }

  /// Bin(n, ½) − ⌊n/2⌋, n = `trials`.
  [[nodiscard]] static integer_noise_law binomial(double trials, double span) {
    double const half = std::floor(0.5 * trials);
    double const odd = trials - 2.0 * half;
    // −log p(k)/p(0) is about 2k²/n, and never much less.
    double const bulk = std::min(half + odd, std::ceil(std::sqrt(0.5 * bulk_energy * trials)));
    integer_noise_law law("variance", 0.25 * trials, bulk, span);
    law.odd_ = static_cast<std::int64_t>(odd);
    law.support_ = half + odd;
    law.fill([half, odd](double k) {
      double const left = half + odd + 1.0 - k;
      double const fewer = 2.0 * k - 1.0 - odd;
      return step{left / (left + fewer), fewer / (left + fewer)};
    });
    return law;
  }

  /// Outside [−bulk, bulk] lies at most `tail` of the law.
  [[nodiscard]] std::int64_t bulk() const { return bulk_; }
  [[nodiscard]] double tail() const { return tail_; }
  /// The mass from an end of the sums that matter outwards, over that on it.
  [[nodiscard]] double end() const { return end_; }
  /// Σ p(k)/p(mode)
  [[nodiscard]] double total() const { return total_; }

  /// Multiples of 2^-960·p(mode) for the values first, first + 1, … Those beyond the table are 0.
  void read(std::int64_t first, std::span<double> high, std::span<double> low) const {
    auto const count = static_cast<std::int64_t>(high.size());
    auto const known = static_cast<std::int64_t>(high_.size());
    auto const clear = [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t j = from; j < to; ++j) high[at(j)] = low[at(j)] = 0.0;
    };
    // The mirror image of k < 0 is odd − k.
    std::int64_t const begin = std::clamp<std::int64_t>(odd_ - known + 1 - first, 0, count);
    std::int64_t const middle = std::clamp<std::int64_t>(-first, begin, count);
    std::int64_t const end = std::clamp<std::int64_t>(known - first, middle, count);
    clear(0, begin);
    for (std::int64_t j = begin; j < middle; ++j) {
      high[at(j)] = high_[at(odd_ - first - j)];
      low[at(j)] = low_[at(odd_ - first - j)];
    }
    for (std::int64_t j = middle; j < end; ++j) {
      high[at(j)] = high_[at(first + j)];
      low[at(j)] = low_[at(first + j)];
    }
    clear(end, count);
  }

  /// Whether p(k) is 0, and not only small.
  [[nodiscard]] bool excludes(std::int64_t k) const {
    return static_cast<double>(k >= 0 ? k : odd_ - k) > support_;
  }
  [[nodiscard]] bool is_bounded() const {
    return support_ < std::numeric_limits<double>::infinity();
  }

  /// How far p(k)/p(k − span) may be off, and masses, relatively.
  [[nodiscard]] double ratio_error(double span) const {
    return span * (step_error_ + 16.0 * unit_roundoff * largest_step_) + 16.0 * unit_roundoff;
  }
  [[nodiscard]] double mass_error() const {
    return step_error_ * static_cast<double>(bulk_) +
           16.0 * unit_roundoff * (bulk_energy + 100.0 + largest_step_);
  }

 private:
  static constexpr double bulk_energy = 600.0;

  // r = p(k)/p(k − 1) and 1 − r, each to a few ulp.
  struct step {
    double kept;
    double missing;
    [[nodiscard]] static step of(double log_ratio) {
      return {elementary::exp(-log_ratio), -elementary::expm1(-log_ratio)};
    }
  };

  integer_noise_law(std::string_view name, double parameter, double bulk, double span) {
    require_domain(bulk + span <= most_values, "dominate", name, parameter,
                   "so small, as shifts must be, that the noise takes less than 4e6 values");
    bulk_ = static_cast<std::int64_t>(bulk);
    size_ = static_cast<std::size_t>(bulk + span) + 1;
    support_ = std::numeric_limits<double>::infinity();
  }

  [[nodiscard]] static std::size_t at(std::int64_t j) { return static_cast<std::size_t>(j); }

  [[nodiscard]] static double asinh_of(double x) {
    // log(x + √(x² + 1)) for x ≥ 0
    return elementary::log1p(x + x * (x / (1.0 + elementary::hypot(1.0, x))));
  }

  template <class Step>
  void fill(Step&& step_to) {
    double const last = std::min(static_cast<double>(size_), support_);
    high_.reserve(static_cast<std::size_t>(last) + 1);
    low_.reserve(static_cast<std::size_t>(last) + 1);
    double high = of_mode;
    double low = 0.0;
    double ratio = 1.0;
    high_.push_back(high);
    low_.push_back(low);
    for (double k = 1.0; k <= last && high > 0.0; k += 1.0) {
      step const next = step_to(k);
      ratio = next.kept;
      if (next.missing < 0.5) {
        // What is subtracted may be off by a few ulp; that the rest is not is what differences rest on.
        double const less = settled(high * next.missing);
        double const rest = high - less;
        low += (high - rest) - less;
        high = rest + low;
        low -= high - rest;
      } else {
        high *= next.kept;
        low = 0.0;
      }
      high_.push_back(high);
      low_.push_back(low);
    }
    largest_step_ = ratio > 0.0 ? -elementary::log(ratio) : 1100.0;
    compensated_sum<double> weight;
    for (std::size_t k = high_.size(); k-- > 1;) weight += high_[k] / of_mode;
    // The values from 1 up are mirrored on those from odd − 1 down.
    total_ = odd_ == 0 ? 1.0 + 2.0 * weight.value() : 2.0 * weight.value();
    if (static_cast<double>(bulk_) >= support_) return;
    // Ratios fall on the way out.
    auto const edge = static_cast<std::size_t>(bulk_);
    if (edge >= high_.size() || edge == 0) return;
    double const fall = 1.0 - high_[edge] / high_[edge - 1];
    tail_ = 4.0 * (high_[edge] / of_mode) / std::max(fall, 1e-12);
  }

  std::vector<double> high_;
  std::vector<double> low_;
  std::size_t size_ = 0;
  std::int64_t bulk_ = 0;
  std::int64_t odd_ = 0;
  double support_ = 0.0;
  double total_ = 1.0;
  double tail_ = 0.0;
  double end_ = 1.0;
  double step_error_ = 0.0;
  double largest_step_ = 0.0;
};

}  // namespace tacit::detail
