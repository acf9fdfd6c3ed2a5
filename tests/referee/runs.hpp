// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/event.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <variant>
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
/// Its corners come first, then points that are uniform in the logarithms.
class box {
 public:
  explicit box(std::uint64_t seed, std::size_t first = 0) : random_(seed), count_(first) {}

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

  static constexpr std::size_t last_corner = 24;

 private:
  std::mt19937_64 random_;
  std::size_t count_;
};

/// Events, each so many times, the neighbours that all of them are about, and a δ to ask at.
struct composition {
  tacit::adjacency neighbours = tacit::adjacency::add_remove;
  std::vector<tacit::composed> parts;
  double delta = 0.0;

  [[nodiscard]] bool only_normals() const {
    return std::all_of(parts.begin(), parts.end(), [](tacit::composed const& part) {
      return part.release.how.index() == 0 &&
             std::holds_alternative<tacit::gaussian>(part.release.what);
    });
  }
};

/// As a line that names every number in full.
[[nodiscard]] inline std::string text(composition const& c) {
  std::string out(tacit::to_text(c.neighbours));
  char number[48];
  auto const put = [&](char const* format, auto x) {
    std::snprintf(number, sizeof number, format, x);
    out += number;
  };
  for (tacit::composed const& part : c.parts) {
    auto const what = tacit::detail::words_of(part.release.what);
    auto const how = tacit::detail::words_of(part.release.how);
    out += "; " + what.word;
    put(" %.17g", what.first);
    put(" %.17g, ", what.second);
    out += how.word;
    put(" %.17g", how.first);
    put(" %.17g", how.second);
    put(", %llu records", static_cast<unsigned long long>(part.release.records_per_person));
    put(" x %llu", static_cast<unsigned long long>(part.count));
  }
  put("; delta %.17g", c.delta);
  return out;
}

/// Run k of a seed, by itself: mostly one sampled Gaussian of the box, whose corners come first; and what else the
/// accountants take.
class generator : public box {
 public:
  generator(std::uint64_t seed, std::uint64_t k)
      : box(seed * 0x9E3779B97F4A7C15U + k * 0xD1B54A32D192ED03U,
            k < last_corner ? k : last_corner),
        corner_(k < last_corner) {}

  [[nodiscard]] composition next() {
    using namespace tacit;
    composition out;
    run const first = box::next();
    out.delta = first.delta;
    out.parts = {{first.release(), first.steps}};
    double const kind = uniform();
    if (corner_ || kind < 0.8) return out;
    auto const count = [&](double most) {
      return static_cast<std::uint64_t>(std::round(between(1.0, most)));
    };
    auto const several = [&](auto&& draw) {
      out.parts.clear();
      for (std::uint64_t left = count(3.9); left > 0; --left) out.parts.push_back(draw());
    };
    if (kind < 0.87) {  // several sampled Gaussians
      several([&] {
        run const r = box::next();
        return composed{r.release(), r.steps};
      });
    } else if (kind < 0.92) {  // several Gaussians without sampling
      several([&] { return composed{gaussian{between(0.3, 100.0)}, count(1e6)}; });
    } else if (kind < 0.96) {  // persons with several records
      out.parts = {{by_person(sampled(gaussian{between(0.5, 100.0)}, poisson{between(1e-6, 0.9)}),
                              1 + count(7.0)),
                    count(1e4)}};
    } else if (kind < 0.98) {
      double const rate = uniform() < 0.3 ? 1.0 : between(1e-4, 0.9);
      out.parts = {{sampled(laplace{between(0.3, 30.0)}, poisson{rate}), count(300.0)}};
    } else if (kind < 0.985) {
      out.neighbours = adjacency::replace_one;
      out.parts = {
          {sampled(gaussian{between(0.5, 30.0)}, fixed_size{1, 1 + count(1000.0)}), count(300.0)}};
    } else {
      out.neighbours = uniform() < 0.5 ? adjacency::replace_one : adjacency::add_remove;
      several([&] {
        double const epsilon = between(1e-3, 3.0);
        if (out.neighbours == adjacency::replace_one && uniform() < 0.5) {
          return composed{randomised_response{epsilon, 1 + count(5.0)}, count(20.0)};
        }
        return composed{pure{epsilon}, count(20.0)};
      });
    }
    return out;
  }

 private:
  bool corner_;
};

/// Whether two certified answers to one question can both be true.
[[nodiscard]] inline bool meet(tacit::bound<double> const& a, tacit::bound<double> const& b) {
  return a.lower <= b.upper && b.lower <= a.upper;
}

}  // namespace referee
