// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/grid/cells.hpp>
#include <tacit/dp/grid/fft.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

/// Sums of losses: powers and products of grid measures by FFT, with a bound on every error, and the
/// δ(ε) of the result.
///
/// The currency of all errors is the distance Σ|computed − meant| of tilted masses, relative to their
/// sum. For any measure μ, ∫(1−e^{ε−l})⁺e^{−θl} dμ(l) ≤ C(θ)·e^{−θε}·|μ|, C(θ) = θ^θ/(1+θ)^{1+θ}: a
/// distance d moves δ(ε) by at most C(θ)·e^{Λ−θε}·d, Λ the logarithm of the untilted scale.

namespace tacit::detail {

struct loss_factor {
  grid_measure const* measure;
  double count;
};

/// Cumulants of a measure's index, about a centre.
struct index_moments {
  double centre = 0.0;  // a whole number
  double mean = 0.0;    // from the centre
  double variance = 0.0;
};

[[nodiscard]] inline index_moments moments_of(grid_measure const& measure) {
  double mean = 0.0;
  for (std::size_t k = 0; k < measure.mass.size(); ++k)
    mean += measure.mass[k] * static_cast<double>(k);
  index_moments out;
  double const centre = std::floor(mean + 0.5);
  out.centre = static_cast<double>(measure.first) + centre;
  for (std::size_t k = 0; k < measure.mass.size(); ++k) {
    double const d = static_cast<double>(k) - centre;
    out.mean += measure.mass[k] * d;
    out.variance += measure.mass[k] * d * d;
  }
  out.variance = std::max(0.0, out.variance - out.mean * out.mean);
  return out;
}

/// Σ_k mass_k·factor^k of `size` masses that lie `stride` apart (±1), in four chains that do not wait for
/// each other.
[[nodiscard]] inline double power_sum(double const* mass, std::size_t size, std::ptrdiff_t stride,
                                      double factor) {
  double const square = factor * factor;
  double const fourth = square * square;
  double sums[4] = {0.0, 0.0, 0.0, 0.0};
  for (std::size_t block = (size + 3) / 4; block-- > 0;) {
    for (std::size_t j = 0; j < 4; ++j) {
      std::size_t const k = 4 * block + j;
      double const here = k < size ? mass[static_cast<std::ptrdiff_t>(k) * stride] : 0.0;
      sums[j] = here + sums[j] * fourth;
    }
  }
  return (sums[0] + factor * sums[1]) + square * (sums[2] + factor * sums[3]);
}

/// log Σ mass·e^{λ·(index − centre)}, rounded up; ∞ where it overflows.
[[nodiscard]] inline double log_moment(grid_measure const& measure, double centre, double lambda) {
  auto const n = static_cast<std::int64_t>(measure.mass.size());
  std::int64_t const middle =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(centre) - measure.first, 0, n - 1);
  double const* const at = measure.mass.data() + middle;
  double const up = std::exp(lambda);
  double const down = std::exp(-lambda);
  double sum = power_sum(at, static_cast<std::size_t>(n - middle), 1, up);
  if (middle > 0) sum += down * power_sum(at - 1, static_cast<std::size_t>(middle), -1, down);
  if (!(sum <= 1e300)) return std::numeric_limits<double>::infinity();
  double const shift = static_cast<double>(measure.first + middle) - centre;
  // A factor to the n-th power is n times as wrong as itself, and every step rounds twice.
  return std::log(sum) + lambda * shift + 4.0 * unit_roundoff * static_cast<double>(n + 4);
}

/// The sum of all losses: Σ count of each factor's index. `distance` grows by what the result is off.
class loss_convolution {
 public:
  /// Tilted mass left out at each end is at most e^{−reach}.
  loss_convolution(std::size_t largest_size, double reach)
      : largest_size_(largest_size), reach_(reach) {}

  /// How many grid points the composition would take; ∞ where there is no bound.
  [[nodiscard]] double size_of(std::vector<loss_factor> const& factors) const {
    window const w = window_of(factors);
    return w.high - w.low + 1.0;
  }

  /// Nothing if the result does not fit the largest size.
  [[nodiscard]] std::optional<grid_measure> compose(std::vector<loss_factor> const& factors,
                                                    double& distance) {
    if (factors.empty()) return grid_measure{0, {1.0}, 0.0};
    if (factors.size() == 1 && factors[0].count == 1.0) return *factors[0].measure;
    window const w = window_of(factors);
    double const wanted = w.high - w.low + 1.0;
    if (!(wanted <= static_cast<double>(largest_size_))) return std::nullopt;
    std::size_t size = 16;
    while (static_cast<double>(size) < wanted) size *= 2;
    // 2^k, or 3·2^k if that will do.
    if (size >= 64 && 0.75 * static_cast<double>(size) >= wanted) size = size / 4 * 3;

    if (!fft_ || fft_->size() != size) fft_.emplace(size);
    std::vector<std::complex<double>> const result = spectrum(factors, w, distance);
    std::vector<double> const values = fft_->inverse(result);

    double norm = 0.0;
    for (std::size_t k = 0; k < result.size(); ++k) {
      norm += (k == 0 || k + 1 == result.size() ? 1.0 : 2.0) * std::norm(result[k]);
    }
    distance += real_fft::error(size) * std::sqrt(norm) + 2.0 * std::exp(-reach_);
    // Whole numbers: index = base + place, place in [low, high].
    double base = 0.0;
    double log_norm = 0.0;
    for (std::size_t f = 0; f < factors.size(); ++f) {
      base += factors[f].count * w.moments[f].centre;
      log_norm += factors[f].count * factors[f].measure->log_norm;
    }
    if (!(std::abs(base) + std::abs(w.low) < 0x1p53)) return std::nullopt;
    grid_measure out;
    out.first = static_cast<std::int64_t>(base + w.low);
    out.mass.resize(static_cast<std::size_t>(wanted));
    auto const low = static_cast<std::int64_t>(w.low);
    auto const period = static_cast<std::int64_t>(size);
    for (std::size_t k = 0; k < out.mass.size(); ++k) {
      std::int64_t place = (low + static_cast<std::int64_t>(k)) % period;
      if (place < 0) place += period;
      // A mass below 0 is rounding; 0 is nearer to the truth.
      out.mass[k] = std::max(0.0, values[static_cast<std::size_t>(place)]);
    }
    if (!normalise(out)) return std::nullopt;
    out.log_norm += log_norm;
    distance += 4.0 * unit_roundoff;
    return out;
  }

 private:
  struct window {
    std::vector<index_moments> moments;
    double low = 0.0;  // places from the sum of the centres
    double high = 0.0;
  };

  // Chernoff at both ends, from the measures' own moments, and never beyond what can occur.
  [[nodiscard]] window window_of(std::vector<loss_factor> const& factors) const {
    window out;
    double variance = 0.0;
    double lowest = 0.0;
    double highest = 0.0;
    for (loss_factor const& f : factors) {
      index_moments const m = moments_of(*f.measure);
      double const first = static_cast<double>(f.measure->first) - m.centre;
      lowest += f.count * first;
      highest += f.count * (first + static_cast<double>(f.measure->mass.size() - 1));
      variance += f.count * m.variance;
      out.moments.push_back(m);
    }
    auto const end = [&](double sign, double limit) {
      double best = limit;
      auto const at = [&](double lambda) {
        double sum = reach_;
        for (std::size_t f = 0; f < factors.size(); ++f) {
          sum += factors[f].count *
                 log_moment(*factors[f].measure, out.moments[f].centre, sign * lambda);
        }
        return sign * sum / lambda;
      };
      auto const nearer = [sign](double a, double b) { return sign > 0.0 ? a < b : a > b; };
      // The bound falls and then rises in λ: start from the normal law's λ, or from the largest that a far
      // end with next to no mass permits, and walk while it gains.
      double const start = std::sqrt(2.0 * reach_ / variance);
      double extent = 0.0;
      for (std::size_t f = 0; f < factors.size(); ++f) {
        double const first = static_cast<double>(factors[f].measure->first) - out.moments[f].centre;
        double const last = first + static_cast<double>(factors[f].measure->mass.size());
        extent = std::max(extent, sign > 0.0 ? last : -first);
      }
      double at_start = at(start);
      bool const overflow = !(std::abs(at_start) <= std::numeric_limits<double>::max());
      double const from = overflow ? std::min({start, 1150.0 / extent, 170.0}) : start;
      if (overflow) at_start = at(from);
      if (nearer(at_start, best)) best = at_start;
      for (double const factor : {0.6, 1.6}) {
        double previous = at_start;
        double lambda = from;
        for (int k = 0; k < 40; ++k) {
          lambda *= factor;
          double const next = at(lambda);
          if (!(nearer(next, previous) ||
                !(std::abs(previous) <= std::numeric_limits<double>::max())))
            break;
          if (nearer(next, best)) best = next;
          previous = next;
        }
        if (overflow) break;  // more overflows all the same
      }
      return best;
    };
    out.low = lowest;
    out.high = highest;
    if (highest - lowest > 64.0 && variance > 0.0) {
      out.low = std::max(lowest, std::floor(end(-1.0, lowest)));
      out.high = std::min(highest, std::ceil(end(1.0, highest)));
    }
    return out;
  }

  // The product of the factors' transforms to their powers. Relative errors of the factors add up,
  // weighted by the powers; the l1 distance of what they become is at most the l2 norm of the errors of
  // the spectrum (Parseval, Cauchy–Schwarz).
  [[nodiscard]] std::vector<std::complex<double>> spectrum(std::vector<loss_factor> const& factors,
                                                           window const& w, double& distance) {
    std::size_t const size = fft_->size();
    std::size_t const bins = size / 2 + 1;
    std::vector<double> log_size(bins, 0.0);
    std::vector<double> phase(bins, 0.0);
    std::vector<double> error(bins, 0.0);
    std::vector<double> buffer;
    std::vector<std::complex<double>> transform;
    for (std::size_t f = 0; f < factors.size(); ++f) {
      grid_measure const& measure = *factors[f].measure;
      double const count = factors[f].count;
      double const first = static_cast<double>(measure.first) - w.moments[f].centre;
      auto const put = [&](std::size_t bin, double logarithm, double angle, double relative) {
        log_size[bin] += count * logarithm;
        phase[bin] += count * angle;
        error[bin] +=
            count * (relative + 3.0 * unit_roundoff * (std::abs(logarithm) + std::abs(angle)));
      };
      std::vector<std::pair<std::uint64_t, double>> few;
      for (std::size_t k = 0; k < measure.mass.size() && few.size() <= 8; ++k) {
        if (measure.mass[k] == 0.0) continue;
        std::int64_t place = (static_cast<std::int64_t>(first) + static_cast<std::int64_t>(k)) %
                             static_cast<std::int64_t>(size);
        if (place < 0) place += static_cast<std::int64_t>(size);
        few.emplace_back(static_cast<std::uint64_t>(place), measure.mass[k]);
      }
      if (few.size() <= 8) {
        // 1 − transform, to relative accuracy: what a high power needs.
        for (std::size_t bin = 0; bin < bins; ++bin) {
          double real = 0.0;
          double imaginary = 0.0;
          double touched = 0.0;
          for (auto const& [place, mass] : few) {
            std::uint64_t turns = (place * bin) % size;
            double const sign = 2 * turns > size ? -1.0 : 1.0;
            if (2 * turns > size) turns = size - turns;
            double const half =
                std::numbers::pi * static_cast<double>(turns) / static_cast<double>(size);
            double const sine = std::sin(half);
            double const cosine = std::cos(half);
            real += mass * 2.0 * sine * sine;
            imaginary -= sign * mass * 2.0 * sine * cosine;
            touched += mass * 2.0 * sine;
          }
          double const square = real * (real - 2.0) + imaginary * imaginary;
          double const length = std::max(1e-300, std::sqrt(std::max(0.0, 1.0 + square)));
          double const logarithm = square > -0.5 ? 0.5 * std::log1p(square) : std::log(length);
          put(bin, logarithm, std::atan2(imaginary, 1.0 - real),
              std::log1p(8.0 * unit_roundoff * touched / (length * length)));
        }
        continue;
      }
      buffer.assign(size, 0.0);
      auto place = static_cast<std::int64_t>(first) % static_cast<std::int64_t>(size);
      if (place < 0) place += static_cast<std::int64_t>(size);
      for (double const mass : measure.mass) {
        buffer[static_cast<std::size_t>(place)] += mass;
        if (++place == static_cast<std::int64_t>(size)) place = 0;
      }
      transform = fft_->forward(buffer);
      double const off = real_fft::error(size);  // the masses sum to 1
      for (std::size_t bin = 0; bin < bins; ++bin) {
        double const square = std::max(1e-300, std::norm(transform[bin]));
        double const logarithm = 0.5 * std::log(square);
        double const relative = std::log1p(off / std::sqrt(square));
        bool const negligible = log_size[bin] + error[bin] + count * (logarithm + relative) < -90.0;
        put(bin, logarithm, negligible ? 3.2 : std::arg(transform[bin]), relative);
      }
    }
    transform.resize(bins);
    double squares = 0.0;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      double const exponent = log_size[bin];
      double const y =
          error[bin] + unit_roundoff * (4.0 + std::abs(exponent) + std::abs(phase[bin]));
      double const weight = bin == 0 || bin + 1 == bins ? 1.0 : 2.0;
      // What is not worth a phase is not worth more than its bound.
      if (exponent + y < -80.0) {
        squares += weight * std::exp(2.0 * (exponent + y));
        transform[bin] = 0.0;
        continue;
      }
      double const size_here = std::exp(exponent);
      double const lost = y < 30.0 ? size_here * std::expm1(y) : std::exp(exponent + y);
      squares += weight * lost * lost;
      transform[bin] = {size_here * std::cos(phase[bin]), size_here * std::sin(phase[bin])};
    }
    transform.front() = transform.front().real();
    transform.back() = transform.back().real();
    distance += std::sqrt(squares);
    return transform;
  }

  std::size_t largest_size_;
  double reach_;
  std::optional<real_fft> fft_;
};

/// δ(ε) of a tilted measure, at every ε, and what is known of its errors.
class tilted_tail {
 public:
  tilted_tail() = default;
  /// Losses origin + step·index. `distance` and `log_scale` bound all that the measure is off; losses
  /// are off by at most `shift`. Beyond `largest` there is surely no finite loss.
  tilted_tail(grid_measure measure, double step, double origin, double tilt, double distance,
              double log_scale, double shift, double largest)
      : measure_(std::move(measure)),
        step_(step),
        tilt_(tilt),
        log_scale_(std::max(log_scale, measure_.log_norm)),
        shift_(shift),
        largest_(largest) {
    first_ = origin + step * static_cast<double>(measure_.first);
    double const last = first_ + step * static_cast<double>(measure_.mass.size());
    shift_ += 4.0 * unit_roundoff * (std::abs(origin) + std::abs(first_) + std::abs(last));
    slack_ = std::expm1(distance + unit_roundoff * 8.0 * std::abs(measure_.log_norm));
    if (!(slack_ < 1e300)) slack_ = std::numeric_limits<double>::infinity();
    // log C(θ)
    log_constant_ = (tilt > 0.0 ? tilt * std::log(tilt) : 0.0) - (1.0 + tilt) * std::log1p(tilt);
    // Sums over the nodes from k up, of mass·e^{−θd}(1−e^{−d}) and mass·e^{−(1+θ)d}, d from node k.
    std::size_t const n = measure_.mass.size();
    excess_.resize(n);
    weight_.resize(n);
    long double const down = std::exp(static_cast<long double>(-tilt) * step);
    long double const further = std::exp(-(1.0L + tilt) * static_cast<long double>(step));
    long double const lift = -std::expm1(-static_cast<long double>(step));
    long double excess = 0.0L;
    long double weight = 0.0L;
    for (std::size_t k = n; k-- > 0;) {
      excess = down * (excess + lift * weight);
      weight = measure_.mass[k] + further * weight;
      excess_[k] = static_cast<double>(excess);
      weight_[k] = static_cast<double>(weight);
    }
    for (std::size_t k = 0; k < n; ++k) centre_ += measure_.mass[k] * static_cast<double>(k);
    for (std::size_t k = 0; k < n; ++k) {
      double const d = static_cast<double>(k) - centre_;
      deviation_ += measure_.mass[k] * d * d;
    }
    centre_ = first_ + step * centre_;
    deviation_ = step * std::sqrt(deviation_);
    rounding_ = 8.0 * unit_roundoff +
                4.0 * static_cast<double>(std::numeric_limits<long double>::epsilon()) *
                    static_cast<double>(n + 4);
  }

  /// The finite losses' part of δ(ε), as bounds.
  [[nodiscard]] double upper(double epsilon) const {
    if (measure_.mass.empty() || epsilon >= largest_) return 0.0;
    double const at = epsilon - shift_;
    double const value = plain(at);
    return (value > 0.0 ? value * (1.0 + relative_error(at)) : 0.0) + error(at);
  }
  [[nodiscard]] double lower(double epsilon) const {
    if (measure_.mass.empty()) return 0.0;
    double const at = epsilon + shift_;
    double const off = relative_error(at);
    if (!(off < 1.0)) return 0.0;
    double const low = plain(at) * (1.0 - off) - error(at);
    return low > 0.0 ? low : 0.0;
  }

  [[nodiscard]] grid_measure const& measure() const { return measure_; }
  /// Mean and deviation of the tilted loss: where the tilt is at home. Estimates.
  [[nodiscard]] double centre() const { return centre_; }
  [[nodiscard]] double deviation() const { return deviation_; }
  [[nodiscard]] double first() const { return first_; }
  [[nodiscard]] double last() const {
    return first_ + step_ * static_cast<double>(measure_.mass.size());
  }
  [[nodiscard]] double step() const { return step_; }
  [[nodiscard]] double tilt() const { return tilt_; }
  [[nodiscard]] double shift() const { return shift_; }
  [[nodiscard]] double slack() const { return slack_; }
  [[nodiscard]] double log_scale() const { return log_scale_; }

 private:
  [[nodiscard]] double plain(double epsilon) const {
    double const position = std::ceil((epsilon - first_) / step_);
    if (!(position < static_cast<double>(measure_.mass.size()))) return 0.0;
    auto const k = static_cast<std::size_t>(std::max(0.0, position));
    double const above = std::max(0.0, first_ + step_ * static_cast<double>(k) - epsilon);
    // Node k lies `above` over ε, and so do all others more by that.
    double const log_factor = measure_.log_norm - tilt_ * epsilon - tilt_ * above;
    return std::exp(log_factor + std::log(excess_[k] - std::expm1(-above) * weight_[k]));
  }
  [[nodiscard]] double error(double epsilon) const {
    // Never 0, not even where it underflows; the exponent's own rounding is next to nothing there.
    double const exponent = log_scale_ - tilt_ * epsilon + log_constant_;
    if (!(exponent > -700.0)) return std::numeric_limits<double>::min();
    return slack_ * std::exp(exponent + relative_error(epsilon));
  }
  [[nodiscard]] double relative_error(double epsilon) const {
    return rounding_ +
           4.0 * unit_roundoff * (std::abs(measure_.log_norm) + 2.0 * std::abs(tilt_ * epsilon));
  }

  grid_measure measure_;
  std::vector<double> excess_;
  std::vector<double> weight_;
  double step_ = 1.0;
  double tilt_ = 0.0;
  double log_scale_ = 0.0;
  double shift_ = 0.0;
  double largest_ = 0.0;
  double first_ = 0.0;
  double centre_ = 0.0;
  double deviation_ = 0.0;
  double slack_ = 0.0;
  double log_constant_ = 0.0;
  double rounding_ = 0.0;
};

}  // namespace tacit::detail
