// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/grid/fft.hpp>
#include <tacit/dp/grid/measure.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

/// Sums of losses: powers and products of grid measures by FFT, with a bound on every error.

namespace tacit::detail {

template <std::same_as<double> T = double>
struct loss_factor {
  measure<T> const* law;
  T count;
};

/// The sum of all losses: Σ count of each factor's index. docs/certificates/grid.md, Lemma 9.
template <std::same_as<double> T = double>
class loss_convolution {
 public:
  static constexpr std::size_t largest_size = std::size_t{1} << 22;
  static constexpr std::size_t direct_products = 1 << 14;

  /// Tilted mass left out at each end is at most e^{−reach}.
  explicit loss_convolution(T reach) : reach_(reach) {}

  /// How many grid points the composition would take; ∞ where there is no bound.
  [[nodiscard]] T size_of(std::vector<loss_factor<T>> const& factors) const {
    window const w = window_of(factors);
    return w.high - w.low + 1.0;
  }

  /// Nothing if the result does not fit the largest size, or the work is more than is left.
  [[nodiscard]] std::optional<measure<T>> compose(std::vector<loss_factor<T>> const& factors,
                                                  work_budget& work) const {
    T lengths = 0.0;
    for (loss_factor<T> const& f : factors) lengths += static_cast<T>(f.law->mass.size());
    if (!work.take(cost_of_window(lengths))) return std::nullopt;
    window const w = window_of(factors);
    T const wanted = w.high - w.low + 1.0;
    if (!(wanted <= static_cast<T>(largest_size))) return std::nullopt;
    std::size_t size = 16;
    while (static_cast<T>(size) < wanted) size *= 2;
    // 2^k, or 3·2^k if that will do.
    if (size >= 64 && 0.75 * static_cast<T>(size) >= wanted) size = size / 4 * 3;
    bool const pair = factors.size() == 2 && factors[0].count == 1.0 && factors[1].count == 1.0;
    T const n = static_cast<T>(size);
    if (!work.take(pair ? cost_of_pair(n) : cost_of_powers(n, static_cast<T>(factors.size())))) {
      return std::nullopt;
    }

    real_fft fft(size);
    measure<T> out;
    for (loss_factor<T> const& f : factors) {
      out.distance += f.count * f.law->distance;
      out.log_scale += f.count * f.law->log_scale;
    }
    std::vector<complex<T>> const result =
        pair ? product(fft, factors, w, out.distance) : spectrum(fft, factors, w, out.distance);
    std::vector<T> const values = fft.inverse(result);

    T squares = 0.0;
    for (std::size_t k = 0; k < result.size(); ++k) {
      squares += (k == 0 || k + 1 == result.size() ? 1.0 : 2.0) * norm(result[k]);
    }
    // What lies beyond the window is missing there, and wrapped into it.
    out.distance += (real_fft::error(size) * std::sqrt(squares) + 4.0 * elementary::exp(-reach_)) *
                    (1.0 + 1e-9);
    // Whole numbers: index = base + place, place in [low, high].
    T base = 0.0;
    T log_norm = 0.0;
    for (std::size_t f = 0; f < factors.size(); ++f) {
      base += factors[f].count * w.moments[f].centre;
      log_norm += factors[f].count * factors[f].law->log_norm;
    }
    if (!(std::abs(base) + std::abs(w.low) < 0x1p53)) return std::nullopt;
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
    return finished(std::move(out), factors, log_norm);
  }

  /// The sum of two losses: of short laws by the definition, whose terms are all positive.
  [[nodiscard]] std::optional<measure<T>> compose(measure<T> const& a, measure<T> const& b,
                                                  work_budget& work) const {
    std::vector<loss_factor<T>> const factors{{&a, 1.0}, {&b, 1.0}};
    std::size_t const shorter = std::min(a.mass.size(), b.mass.size());
    std::size_t const products = a.mass.size() * b.mass.size();
    if (products > direct_products && shorter > 8) return compose(factors, work);
    if (a.mass.size() + b.mass.size() > largest_size ||
        !work.take(200.0 + static_cast<T>(products))) {
      return std::nullopt;
    }
    measure<T> out;
    out.first = a.first + b.first;
    out.mass.resize(a.mass.size() + b.mass.size() - 1, 0.0);
    for (std::size_t i = 0; i < a.mass.size(); ++i) {
      if (a.mass[i] == 0.0) continue;
      for (std::size_t j = 0; j < b.mass.size(); ++j) out.mass[i + j] += a.mass[i] * b.mass[j];
    }
    out.distance = a.distance + b.distance + unit_roundoff * static_cast<T>(shorter + 1);
    out.log_scale = a.log_scale + b.log_scale;
    return finished(std::move(out), factors, a.log_norm + b.log_norm);
  }

  /// About what two laws of so many nodes together take, whose sum has `nodes`, in nanoseconds. An estimate.
  [[nodiscard]] static T expected_cost(T lengths, T nodes) {
    return cost_of_window(lengths) + cost_of_pair(1.25 * nodes);
  }

 private:
  // In nanoseconds, n the size of a transform.
  [[nodiscard]] static T cost_of_window(T lengths) { return 500.0 + 30.0 * lengths; }
  [[nodiscard]] static T cost_of_pair(T n) { return n * (30.0 + 3.0 * std::log2(n)); }
  [[nodiscard]] static T cost_of_powers(T n, T factors) {
    return n * (22.0 + (1.0 + factors) * (27.0 + std::log2(n)));
  }

  struct window {
    std::vector<index_moments<T>> moments;
    T low = 0.0;  // places from the sum of the centres
    T high = 0.0;
  };

  [[nodiscard]] static std::optional<measure<T>> finished(
      measure<T> out, std::vector<loss_factor<T>> const& factors, T log_norm) {
    out.step = factors.front().law->step;
    out.tilt = factors.front().law->tilt;
    out.log_norm = log_norm;
    for (loss_factor<T> const& f : factors) {
      out.distance +=
          3.0 * unit_roundoff * f.count * (std::abs(f.law->log_norm) + std::abs(f.law->log_scale));
    }
    if (!normalise(out)) return std::nullopt;
    return out;
  }

  // Chernoff at both ends, from the measures' own moments, and never beyond what can occur.
  [[nodiscard]] window window_of(std::vector<loss_factor<T>> const& factors) const {
    window out;
    T variance = 0.0;
    T lowest = 0.0;
    T highest = 0.0;
    for (loss_factor<T> const& f : factors) {
      index_moments<T> const m = moments_of(*f.law);
      T const first = static_cast<T>(f.law->first) - m.centre;
      lowest += f.count * first;
      highest += f.count * (first + static_cast<T>(f.law->mass.size() - 1));
      variance += f.count * m.variance;
      out.moments.push_back(m);
    }
    auto const end = [&](T sign, T limit) {
      T best = limit;
      auto const at = [&](T lambda) {
        T sum = reach_;
        for (std::size_t f = 0; f < factors.size(); ++f) {
          sum +=
              factors[f].count * log_moment(*factors[f].law, out.moments[f].centre, sign * lambda);
        }
        return sign * sum / lambda;
      };
      auto const nearer = [sign](T a, T b) { return sign > 0.0 ? a < b : a > b; };
      // The bound falls and then rises in λ: start from the normal law's λ, or from the largest that a far
      // end with next to no mass permits, and walk while it gains.
      T const start = std::sqrt(2.0 * reach_ / variance);
      T extent = 0.0;
      for (std::size_t f = 0; f < factors.size(); ++f) {
        T const first = static_cast<T>(factors[f].law->first) - out.moments[f].centre;
        T const last = first + static_cast<T>(factors[f].law->mass.size());
        extent = std::max(extent, sign > 0.0 ? last : -first);
      }
      T at_start = at(start);
      bool const overflow = !(std::abs(at_start) <= std::numeric_limits<T>::max());
      T const from = overflow ? std::min({start, 1150.0 / extent, 170.0}) : start;
      if (overflow) at_start = at(from);
      if (nearer(at_start, best)) best = at_start;
      for (T const factor : {0.6, 1.6}) {
        T previous = at_start;
        T lambda = from;
        for (int k = 0; k < 40; ++k) {
          lambda *= factor;
          T const next = at(lambda);
          if (!(nearer(next, previous) || !(std::abs(previous) <= std::numeric_limits<T>::max())))
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
      out.low = std::max(lowest, std::floor(end(-1.0, lowest)) - 1.0);
      out.high = std::min(highest, std::ceil(end(1.0, highest)) + 1.0);
    }
    return out;
  }

  // A law's masses from its centre, on a circle of that size. Returns by how much the sums are off where it is longer.
  [[nodiscard]] static T wrap(std::vector<T>& circle, measure<T> const& law, T centre,
                              std::size_t size) {
    circle.assign(size, 0.0);
    auto const around = static_cast<std::int64_t>(size);
    auto place = static_cast<std::int64_t>(static_cast<T>(law.first) - centre) % around;
    if (place < 0) place += around;
    T off = 0.0;
    for (std::size_t k = 0; k < law.mass.size(); ++k) {
      T& sum = circle[static_cast<std::size_t>(place)];
      sum += law.mass[k];
      if (k >= size) off += std::min(law.mass[k], unit_roundoff * sum);
      if (++place == around) place = 0;
    }
    return off * (1.0 + 1e-9);
  }

  // The product of the transforms of two laws.
  [[nodiscard]] static std::vector<complex<T>> product(real_fft& fft,
                                                       std::vector<loss_factor<T>> const& factors,
                                                       window const& w, T& distance) {
    std::vector<T> circle;
    T const off_a = wrap(circle, *factors[0].law, w.moments[0].centre, fft.size());
    std::vector<complex<T>> out = fft.forward(circle);
    T const off_b = wrap(circle, *factors[1].law, w.moments[1].centre, fft.size());
    std::vector<complex<T>> const other = fft.forward(circle);
    // The masses sum to 1.
    T const off = real_fft::error(fft.size()) + std::max(off_a, off_b);
    T squares = 0.0;
    for (std::size_t bin = 0; bin < out.size(); ++bin) {
      T const a = std::sqrt(norm(out[bin]));
      T const b = std::sqrt(norm(other[bin]));
      T const lost = off * (a + b + off) + 3.0 * unit_roundoff * a * b;
      squares += (bin == 0 || bin + 1 == out.size() ? 1.0 : 2.0) * lost * lost;
      out[bin] = out[bin] * other[bin];
    }
    out.front().im = 0.0;
    out.back().im = 0.0;
    distance += std::sqrt(squares) * (1.0 + 1e-9);
    return out;
  }

  // The product of the factors' transforms to their powers. Relative errors of the factors add up,
  // weighted by the powers; the l1 distance of what they become is at most the l2 norm of the errors of
  // the spectrum (Parseval, Cauchy–Schwarz).
  [[nodiscard]] std::vector<complex<T>> spectrum(real_fft& fft,
                                                 std::vector<loss_factor<T>> const& factors,
                                                 window const& w, T& distance) const {
    std::size_t const size = fft.size();
    std::size_t const bins = size / 2 + 1;
    std::vector<T> log_size(bins, 0.0);
    std::vector<T> phase(bins, 0.0);
    std::vector<T> error(bins, 0.0);
    std::vector<T> buffer;
    std::vector<complex<T>> transform;
    for (std::size_t f = 0; f < factors.size(); ++f) {
      measure<T> const& law = *factors[f].law;
      T const count = factors[f].count;
      T const first = static_cast<T>(law.first) - w.moments[f].centre;
      T const more = static_cast<T>(factors.size() - 1);  // sums
      auto const put = [&](std::size_t bin, T logarithm, T angle, T relative) {
        log_size[bin] += count * logarithm;
        phase[bin] += count * angle;
        error[bin] += count * (relative + unit_roundoff * ((3.0 + more) * std::abs(logarithm) +
                                                           (9.0 + more) * std::abs(angle)));
      };
      std::vector<std::pair<std::uint64_t, T>> few;
      for (std::size_t k = 0; k < law.mass.size() && few.size() <= 8; ++k) {
        if (law.mass[k] == 0.0) continue;
        std::int64_t place = (static_cast<std::int64_t>(first) + static_cast<std::int64_t>(k)) %
                             static_cast<std::int64_t>(size);
        if (place < 0) place += static_cast<std::int64_t>(size);
        few.emplace_back(static_cast<std::uint64_t>(place), law.mass[k]);
      }
      if (few.size() <= 8) {
        // 1 − transform, to relative accuracy: what a high power needs.
        T const units = 16.0 + static_cast<T>(few.size());
        for (std::size_t bin = 0; bin < bins; ++bin) {
          T real = 0.0;
          T imaginary = 0.0;
          T touched = 0.0;
          for (auto const& [place, mass] : few) {
            std::uint64_t turns = (place * bin) % size;
            T const sign = 2 * turns > size ? -1.0 : 1.0;
            if (2 * turns > size) turns = size - turns;
            T const half = std::numbers::pi * static_cast<T>(turns) / static_cast<T>(size);
            T const sine = elementary::sin(half);
            T const cosine = elementary::cos(half);
            real += mass * 2.0 * sine * sine;
            imaginary -= sign * mass * 2.0 * sine * cosine;
            touched += mass * 2.0 * sine;
          }
          T const square = real * (real - 2.0) + imaginary * imaginary;
          T const length = std::max(1e-300, std::sqrt(std::max(0.0, 1.0 + square)));
          T const logarithm =
              square > -0.5 ? 0.5 * elementary::log1p(square) : elementary::log(length);
          put(bin, logarithm, elementary::atan2(imaginary, 1.0 - real),
              elementary::log1p(units * unit_roundoff * touched / (length * length)));
        }
        continue;
      }
      T const off = wrap(buffer, law, w.moments[f].centre, size) + real_fft::error(size);
      transform = fft.forward(buffer);  // the masses sum to 1
      for (std::size_t bin = 0; bin < bins; ++bin) {
        T const square = std::max(1e-300, norm(transform[bin]));
        T const logarithm = 0.5 * elementary::log(square);
        T const relative = elementary::log1p(off / std::sqrt(square)) + 2.0 * unit_roundoff;
        bool const negligible = log_size[bin] + error[bin] + count * (logarithm + relative) < -90.0;
        put(bin, logarithm,
            negligible ? 3.2 : elementary::atan2(transform[bin].im, transform[bin].re), relative);
      }
    }
    transform.resize(bins);
    T squares = 0.0;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      T const exponent = log_size[bin];
      T const y = error[bin] + unit_roundoff * (5.0 + std::abs(exponent) + std::abs(phase[bin]));
      T const weight = bin == 0 || bin + 1 == bins ? 1.0 : 2.0;
      // Too small for its phase to matter: its bound is added to the error.
      if (exponent + y < -80.0) {
        squares += weight * elementary::exp(2.0 * (exponent + y));
        transform[bin] = {};
        continue;
      }
      T const size_here = elementary::exp(exponent);
      T const lost = y < 30.0 ? size_here * elementary::expm1(y) : elementary::exp(exponent + y);
      squares += weight * lost * lost;
      auto const [sine, cosine] = elementary::sin_cos_far(phase[bin]);
      transform[bin] = {size_here * cosine, size_here * sine};
    }
    transform.front().im = 0.0;
    transform.back().im = 0.0;
    distance += std::sqrt(squares) * (1.0 + 1e-9);
    return transform;
  }

  T reach_;
};

}  // namespace tacit::detail
