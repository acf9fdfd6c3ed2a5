// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/finite_pairs.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// Dominating pairs of noise on the integers: mixtures of one symmetric log-concave law, shifted. Such a pair dominates
/// vectors with independent noise in every coordinate, too, if shifts are L1 norms. docs/certificates/integers.md.

namespace tacit::detail {

/// A symmetric log-concave law on the integers, as far as it matters: G(k) = log p(mode)/p(k), in two doubles.
class integer_noise_law {
 public:
  static constexpr double most_values = 4e6;

  /// P(k) ∝ e^{−k²/2σ²}
  [[nodiscard]] static integer_noise_law gaussian(double sigma, double span) {
    double const variance = sigma * sigma;
    check_noise("sigma", sigma, most_values / variance);
    double const bulk = std::ceil(std::sqrt(2.0 * bulk_energy) * sigma);
    integer_noise_law law("sigma", sigma, bulk, span);
    law.fill([variance](double k) { return (k - 0.5) / variance; });
    return law;
  }

  /// P(k) ∝ e^{−|k|/scale}. All losses are those of sums between the shifts, where its table ends.
  [[nodiscard]] static integer_noise_law laplace(double scale, double span) {
    check_noise("scale", scale, most_values / scale);
    require_domain(scale <= 0x1p1022, "dominate", "scale", scale, "at most 2^1022 in samples");
    integer_noise_law law("scale", scale, 0.0, span);
    law.fill([scale](double) { return 1.0 / scale; });
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
    law.fill([&](double k) { return elementary::log1p(excess[static_cast<std::size_t>(k) - 1]); });
    return law;
  }

  /// Bin(n, ½) − ⌊n/2⌋, n = `trials`.
  [[nodiscard]] static integer_noise_law binomial(double trials, double span) {
    double const half = std::floor(0.5 * trials);
    double const odd = trials - 2.0 * half;
    // G(k) is about 2k²/n, and never much less.
    double const bulk = std::min(half + odd, std::ceil(std::sqrt(0.5 * bulk_energy * trials)));
    integer_noise_law law("variance", 0.25 * trials, bulk, span);
    law.odd_ = static_cast<std::int64_t>(odd);
    law.support_ = half + odd;
    law.fill([half, odd](double k) {
      double const left = half + odd + 1.0 - k;
      return elementary::log1p((2.0 * k - 1.0 - odd) / left);
    });
    return law;
  }

  /// Outside [−bulk, bulk] lies at most `tail` of the law.
  [[nodiscard]] std::int64_t bulk() const { return bulk_; }
  [[nodiscard]] double tail() const { return tail_; }
  /// The mass from an end of the sums that matter outwards, over that on it.
  [[nodiscard]] double end() const { return end_; }
  [[nodiscard]] double total() const { return total_; }

  struct energy {
    double high;
    double low;
    [[nodiscard]] double value() const { return high + low; }
    friend double operator-(energy const& a, energy const& b) {
      return (a.high - b.high) + (a.low - b.low);
    }
  };
  /// G(k); ∞ where p is 0.
  [[nodiscard]] energy at(std::int64_t k) const {
    std::int64_t const place = k >= 0 ? k : odd_ - k;
    if (static_cast<std::size_t>(place) < energies_.size()) {
      return energies_[static_cast<std::size_t>(place)];
    }
    return {std::numeric_limits<double>::infinity(), 0.0};
  }

  /// How far G(k) − G(k − span) may be off, and masses in the bulk, relatively.
  [[nodiscard]] double loss_error(double span) const {
    return span * (step_error_ + 4.0 * unit_roundoff * largest_step_) + 16.0 * unit_roundoff;
  }
  [[nodiscard]] double mass_error() const {
    return step_error_ * static_cast<double>(bulk_) +
           8.0 * unit_roundoff * (bulk_energy + largest_step_);
  }

 private:
  static constexpr double bulk_energy = 600.0;

  integer_noise_law(std::string_view name, double parameter, double bulk, double span) {
    require_domain(bulk + span <= most_values, "dominate", name, parameter,
                   "so small, as shifts must be, that the noise takes less than 4e6 values");
    bulk_ = static_cast<std::int64_t>(bulk);
    size_ = static_cast<std::size_t>(bulk + span) + 1;
    support_ = std::numeric_limits<double>::infinity();
  }

  [[nodiscard]] static double asinh_of(double x) {
    // log(x + √(x² + 1)) for x ≥ 0
    return elementary::log1p(x + x * (x / (1.0 + elementary::hypot(1.0, x))));
  }

  template <class Step>
  void fill(Step&& step) {
    double const last = std::min(static_cast<double>(size_), support_);
    energies_.reserve(static_cast<std::size_t>(last) + 1);
    energies_.push_back({0.0, 0.0});
    compensated_sum<double> weight;
    energy sum{0.0, 0.0};
    for (double k = 1.0; k <= last; k += 1.0) {
      double const more = step(k);
      largest_step_ = more;
      double const next = sum.high + more;
      bool const sum_is_larger = sum.high >= more;
      sum.low += sum_is_larger ? (sum.high - next) + more : (more - next) + sum.high;
      sum.high = next;
      energies_.push_back(sum);
    }
    for (std::size_t k = energies_.size(); k-- > 1;) {
      weight += elementary::exp(-energies_[k].value());
    }
    // The values from 1 up are mirrored on those from odd − 1 down.
    total_ = odd_ == 0 ? 1.0 + 2.0 * weight.value() : 2.0 * weight.value();
    if (static_cast<double>(bulk_) >= support_) return;
    // Ratios fall on the way out.
    auto const edge = static_cast<std::size_t>(bulk_);
    double const ratio = elementary::exp(energies_[edge == 0 ? 0 : edge - 1] - energies_[edge]);
    tail_ = 4.0 * elementary::exp(-energies_[edge].value()) / std::max(1.0 - ratio, 1e-12);
  }

  std::vector<energy> energies_;
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

/// A part of a mixture: the noise, moved.
struct integer_part {
  double weight;
  std::int64_t shift;
};

/// Σ weight·(X + shift) over the parts `p`, against that over the parts `q`.
[[nodiscard]] inline finite_pair integer_mixtures(integer_noise_law const& noise,
                                                  std::span<integer_part const> p,
                                                  std::span<integer_part const> q) {
  std::int64_t low = p.front().shift;
  std::int64_t high = low;
  for (std::span<integer_part const> const parts : {p, q}) {
    for (integer_part const& part : parts) {
      low = std::min(low, part.shift);
      high = std::max(high, part.shift);
    }
  }
  finite_pair pair;
  double largest = 0.0;
  double steepest = 0.0;
  double lost_of_p = 0.0;
  double lost_of_q = 0.0;
  for (std::int64_t x = low - noise.bulk(); x <= high + noise.bulk(); ++x) {
    integer_noise_law::energy least{std::numeric_limits<double>::infinity(), 0.0};
    for (std::span<integer_part const> const parts : {p, q}) {
      for (integer_part const& part : parts) {
        integer_noise_law::energy const here = noise.at(x - part.shift);
        if (part.weight > 0.0 && here.high < least.high) least = here;
      }
    }
    if (!(least.high < std::numeric_limits<double>::infinity())) continue;
    integer_noise_law::energy const base = noise.at(x - q.front().shift);
    // Σ weight·p(x − shift) over p(least), and over p(base) less 1.
    struct sums {
      double ratio = 0.0;
      double excess = 0.0;
      bool possible = false;
    };
    bool const moderate = base.high < 1e300 && base - least < 600.0;
    auto const of = [&](std::span<integer_part const> parts) {
      sums out;
      for (integer_part const& part : parts) {
        if (!(part.weight > 0.0)) continue;
        integer_noise_law::energy const here = noise.at(x - part.shift);
        double const above = here - least;
        out.ratio += part.weight * elementary::exp(-above);
        out.possible = out.possible || here.high < 1e300;
        if (!moderate) continue;
        double const t = base - here;
        out.excess += part.weight * elementary::expm1(t);
        if (above < 40.0) steepest = std::max(steepest, std::abs(t));
      }
      return out;
    };
    sums const a = of(p);
    sums const b = of(q);
    double const mass = elementary::exp(-least.value()) / noise.total() *
                        (x == low - noise.bulk() || x == high + noise.bulk() ? noise.end() : 1.0);
    if (!b.possible) {
      pair.infinite += a.ratio * mass;
    } else if (!a.possible) {
      pair.excluded += b.ratio * mass;
    } else if (!(a.ratio > 0.0 && b.ratio > 0.0)) {
      lost_of_p += a.ratio * mass;  // a loss beyond 700, either way
      lost_of_q += b.ratio * mass;
    } else {
      bool const by_excess = moderate && a.excess > -0.5 && b.excess > -0.5;
      double const loss = by_excess ? elementary::log1p((a.excess - b.excess) / (1.0 + b.excess))
                                    : elementary::log(a.ratio) - elementary::log(b.ratio);
      pair.atoms.push_back({loss, a.ratio * mass, b.ratio * mass});
      largest = std::max(largest, std::abs(loss));
    }
  }
  // Outside of the window, or underflowed in it.
  pair.left_out =
      std::min(1.0, (std::max(lost_of_p, lost_of_q) + 2.0 * noise.tail()) * (1.0 + 1e-9));
  std::sort(pair.atoms.begin(), pair.atoms.end(),
            [](auto const& a, auto const& b) { return a.loss < b.loss; });
  double const span = static_cast<double>(high - low);
  double const off = noise.loss_error(span) + 8.0 * unit_roundoff * (40.0 + steepest);
  pair.loss_error = 8.0 * unit_roundoff + (largest > 0.0 ? off / largest : 0.0);
  pair.mass_error = noise.mass_error();
  return pair;
}

}  // namespace tacit::detail
