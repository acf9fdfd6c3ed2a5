// SPDX-License-Identifier: Apache-2.0
#include <tacit/audit/exposure.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

struct rank_law {
  double information;  // from the uniform law, nats
  double exposure;     // mean, bits
  double first;        // P(rank 1)
};

/// P(rank) ∝ rank^−λ: at its information no law of ranks has a larger mean exposure.
rank_law tilted(std::uint64_t candidates, double lambda) {
  auto const count = static_cast<double>(candidates);
  double total = 0.0;
  for (std::uint64_t k = 1; k <= candidates; ++k)
    total += std::pow(static_cast<double>(k), -lambda);
  rank_law out{0.0, 0.0, 1.0 / total};
  for (std::uint64_t k = 1; k <= candidates; ++k) {
    double const p = std::pow(static_cast<double>(k), -lambda) / total;
    out.information += p * std::log(p * count);
    out.exposure += p * tacit::exposure(k, candidates);
  }
  return out;
}

}  // namespace

TEST_CASE("exposure of a rank", "[audit]") {
  CHECK(tacit::exposure(1, 1024) == 10.0);
  CHECK(tacit::exposure(512, 1024) == 1.0);
  CHECK(tacit::exposure(1024, 1024) == 0.0);
  std::vector<double> const others{1.0, 0.5, 2.0, 1.0, infinity};
  CHECK(tacit::canary_rank(0.4, others) == 1);
  CHECK(tacit::canary_rank(0.5, others) == 2);  // a tie counts against the canary
  CHECK(tacit::canary_rank(1.0, others) == 4);
  CHECK(tacit::canary_rank(infinity, others) == 6);
  CHECK_THROWS_AS(tacit::canary_rank(not_a_number, others), std::domain_error);
  CHECK_THROWS_AS(tacit::canary_rank(1.0, std::vector<double>{not_a_number}), std::domain_error);
  CHECK_THROWS_AS(tacit::exposure(0, 10), std::domain_error);
  CHECK_THROWS_AS(tacit::exposure(11, 10), std::domain_error);
}

TEST_CASE("a canary that nobody trained on has one nat of exposure on average", "[audit]") {
  for (std::uint64_t const candidates : {1U, 2U, 10U, 1000U, 100000U}) {
    rank_law const uniform = tilted(candidates, 0.0);
    CAPTURE(candidates);
    CHECK(uniform.exposure <= tacit::exposure_bound(tacit::nats(0.0), candidates));
    CHECK(uniform.exposure <= tacit::exposure_bound(tacit::approx_dp{0.0, 0.0}, candidates));
    CHECK(uniform.first == Approx(tacit::rank_success(tacit::nats(0.0), 1, candidates)));
  }
  CHECK(tilted(100'000, 0.0).exposure == Approx(1.0 / std::numbers::ln2).epsilon(1e-3));
  CHECK(tacit::exposure_bound(tacit::nats(0.0), 1U << 20) ==
        Approx(1.0 / std::numbers::ln2).epsilon(1e-12));
  CHECK(tacit::exposure_bound(tacit::approx_dp{0.0, 0.0}, 1U << 20) ==
        Approx(1.0 / std::numbers::ln2).epsilon(1e-5));
}

TEST_CASE("no law of ranks passes the bounds from information", "[audit]") {
  for (std::uint64_t const candidates : {2U, 100U, 20000U}) {
    for (double const lambda : {0.05, 0.3, 0.6, 0.9, 1.2, 3.0}) {
      rank_law const law = tilted(candidates, lambda);
      double const bound = tacit::exposure_bound(tacit::nats(law.information), candidates);
      CAPTURE(candidates, lambda, law.information);
      CHECK(law.exposure <= bound);
      // With two candidates both are the same number, up to the rounding of this sum.
      CHECK(law.first <=
            tacit::rank_success(tacit::nats(law.information * (1.0 + 1e-9)), 1, candidates));
      if (candidates == 20000 && lambda <= 0.6) CHECK(law.exposure > 0.95 * bound);
    }
  }
  CHECK(tacit::exposure_bound(tacit::nats(100.0), 1024) == Approx(10.0));
  CHECK(tacit::exposure_bound(tacit::nats(infinity), 1024) == Approx(10.0));
}

TEST_CASE("no law of ranks passes the bounds from epsilon and delta", "[audit]") {
  // The extreme law: each rank's chance is raised by e^ε from the front until mass runs out, δ to the first.
  for (std::uint64_t const candidates : {10U, 1000U}) {
    for (double const epsilon : {0.0, 0.5, 2.0, 4.0}) {
      for (double const delta : {0.0, 0.01, 0.3}) {
        auto const count = static_cast<double>(candidates);
        double left = 1.0, mean = 0.0, reached = 0.0;
        for (std::uint64_t k = 1; k <= candidates; ++k) {
          // The best that P(rank ≤ k) ≤ e^ε k/R + δ allows.
          double const allowed =
              std::min(1.0, std::exp(epsilon) * static_cast<double>(k) / count + delta);
          double const p = std::min(left, allowed - reached);
          mean += p * tacit::exposure(k, candidates);
          reached += p;
          left -= p;
        }
        tacit::approx_dp const guarantee{epsilon, delta};
        CAPTURE(candidates, epsilon, delta);
        CHECK(mean <= tacit::exposure_bound(guarantee, candidates) * (1.0 + 1e-12));
        if (candidates == 1000) {
          CHECK(mean > 0.97 * tacit::exposure_bound(guarantee, candidates) - 0.02);
        }
      }
    }
  }
  // Rank 1 of 2 under ε-DP between canary and none: e^ε/2 up to where the other side binds, 1 − e^−ε/2.
  CHECK(tacit::rank_success(tacit::approx_dp{0.1, 0.0}, 1, 2) ==
        Approx(std::min(std::exp(0.1) / 2, 1.0 - std::exp(-0.1) / 2)));
  CHECK(tacit::rank_success(tacit::approx_dp{3.0, 0.0}, 1, 2) == Approx(1.0 - std::exp(-3.0) / 2));
  CHECK(tacit::rank_success(tacit::approx_dp{1.0, 1e-5}, 1, 1000) ==
        Approx(std::exp(1.0) / 1000 + 1e-5));
  CHECK(tacit::rank_success(tacit::approx_dp{1.0, 1.0}, 1, 1000) == 1.0);
  CHECK(tacit::exposure_bound(tacit::approx_dp{1.0, 1.0}, 1024) == Approx(10.0));
}

TEST_CASE("the extrapolated exposure is near the tail of the laws that it fits", "[audit]") {
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  std::vector<double> losses(20'000);
  for (double& x : losses) x = 100.0 + 3.0 * normal(random);
  for (double const z : {0.0, -2.0, -4.0, -8.0, -40.0}) {
    double const truth = -tacit::log_normal_tail(-z) / std::numbers::ln2;
    CAPTURE(z, truth);
    // Skewness is known to √(6/20000) = .017: up to a tenth of a far tail's exponent.
    CHECK(tacit::exposure_estimate(100.0 + 3.0 * z, losses) ==
          Approx(truth).epsilon(0.12).margin(0.05));
  }
  // Skew-normal 2φ(t)Φ(αt), α = ∓4: |U|·δ + √(1−δ²)·V. To the left of −1 its law is 2Φ or far less.
  double const delta = 4.0 / std::sqrt(17.0);
  for (double& x : losses) {
    x = -(delta * std::abs(normal(random)) + std::sqrt(1.0 - delta * delta) * normal(random));
  }
  for (double const z : {-1.5, -3.0, -5.0}) {
    double const truth = -tacit::log_normal_tail(-z) / std::numbers::ln2 - 1.0;
    CHECK(tacit::exposure_estimate(z, losses) == Approx(truth).epsilon(0.1));
  }
  CHECK(tacit::exposure_estimate(10.0, losses) < 1e-6);

  CHECK_THROWS_AS(tacit::exposure_estimate(1.0, std::vector<double>{1.0, 2.0}),
                  std::invalid_argument);
  CHECK_THROWS_AS(tacit::exposure_estimate(1.0, std::vector<double>{1.0, 1.0, 1.0}),
                  std::domain_error);
  CHECK_THROWS_AS(tacit::exposure_estimate(not_a_number, losses), std::domain_error);
  CHECK_THROWS_AS(tacit::exposure_estimate(1.0, std::vector<double>{1.0, 2.0, infinity}),
                  std::domain_error);
}

TEST_CASE("bounds on ranks refuse what is no guarantee", "[audit]") {
  // Without any loss of privacy the bound is the blind chance, to its last digits.
  for (std::uint64_t const candidates : {1000ULL, 1000000000ULL, 900000000000001ULL}) {
    double const blind = 1.0 / static_cast<double>(candidates);
    double const bound = tacit::rank_success(tacit::approx_dp{0.0, 0.0}, 1, candidates);
    CHECK(bound >= blind);
    CHECK(bound <= blind * (1.0 + 1e-14));
  }
  for (double const bad : {-0.1, not_a_number}) {
    CHECK_THROWS_AS(tacit::rank_success(tacit::nats(bad), 1, 10), std::domain_error);
    CHECK_THROWS_AS(tacit::exposure_bound(tacit::nats(bad), 10), std::domain_error);
    CHECK_THROWS_AS(tacit::rank_success(tacit::approx_dp{bad, 0.0}, 1, 10), std::domain_error);
    CHECK_THROWS_AS(tacit::exposure_bound(tacit::approx_dp{1.0, bad}, 10), std::domain_error);
  }
  CHECK_THROWS_AS(tacit::rank_success(tacit::nats(1.0), 0, 10), std::domain_error);
  CHECK_THROWS_AS(tacit::exposure_bound(tacit::nats(1.0), 0), std::domain_error);
}
