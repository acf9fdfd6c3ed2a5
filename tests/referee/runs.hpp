// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace referee {

/// Steps of one Poisson-sampled Gaussian, and a δ to ask at.
struct run {
  double rate;
  double sigma;
  std::uint64_t steps;
  double delta;

  [[nodiscard]] tacit::event release() const {
    using namespace tacit;
    return rate == 1.0 ? event(gaussian{sigma}) : sampled(gaussian{sigma}, poisson{rate});
  }
};

/// The box that the library promises to serve: rates 1e-6 … 1, σ .3 … 100, 1 … 1e6 steps, δ 1e-15 … .05.
/// Its corners come first, unless they are not wanted, then points that are uniform in the logarithms.
class box {
 public:
  explicit box(std::uint64_t seed, bool corners = true)
      : random_(seed), count_(corners ? 0 : last_corner) {}

  [[nodiscard]] run next() {
    std::size_t const k = count_++;
    if (k < last_corner) {
      constexpr std::array rates{1e-6, 0.9, 1.0};
      constexpr std::array<std::uint64_t, 2> steps{1, 1'000'000};
      return {rates[k % 3], k / 3 % 2 == 0 ? 0.3 : 100.0, steps[k / 6 % 2], k < 12 ? 1e-15 : 0.05};
    }
    double const rate = uniform() < 0.1 ? 1.0 : between(1e-6, 1.0);
    double const sigma = between(0.3, 100.0);
    auto const steps = static_cast<std::uint64_t>(std::round(between(1.0, 1e6)));
    return {rate, sigma, steps, between(1e-15, 0.05)};
  }

  /// Of a run's steps, so many at a time: a random composition of its count into at most `most` parts.
  [[nodiscard]] std::vector<std::uint64_t> groups(std::uint64_t steps, int most) {
    std::vector<std::uint64_t> out;
    while (steps > 0 && static_cast<int>(out.size()) + 1 < most) {
      auto const part = std::uniform_int_distribution<std::uint64_t>(1, steps)(random_);
      out.push_back(part);
      steps -= part;
    }
    if (steps > 0) out.push_back(steps);
    return out;
  }

  [[nodiscard]] double uniform() { return std::uniform_real_distribution<double>()(random_); }
  [[nodiscard]] double between(double low, double high) {
    return std::clamp(low * std::pow(high / low, uniform()), low, high);
  }

 private:
  static constexpr std::size_t last_corner = 24;
  std::mt19937_64 random_;
  std::size_t count_;
};

/// Whether two certified answers to one question can both be true.
[[nodiscard]] inline bool meet(tacit::bound<double> const& a, tacit::bound<double> const& b) {
  return a.lower <= b.upper && b.lower <= a.upper;
}

}  // namespace referee
