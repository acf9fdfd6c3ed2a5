// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/allocation/inverse_moments.hpp>
#include <tacit/dp/allocation/whole_moments.hpp>
#include <tacit/dp/rdp/divergence.hpp>
#include <tacit/dp/renyi.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

using namespace tacit;  // NOLINT
using support::exact;

/// log E S^p of two steps: S = e^{aZ/√2 − a²/2}·cosh(aZ′/√2) with independent Z and Z′, by the trapezoid rule in Z′, in
/// whose strip |Im z| < π/2c, c = a/√2, the integrand is analytic.
exact log_moment_of_two(double noise, exact const& p) {
  exact const a = 1 / exact(noise);
  exact const c = a / sqrt(exact(2));
  double const size = std::abs(static_cast<double>(p)) * static_cast<double>(c);
  double const d = std::min(1.5 / static_cast<double>(c), 6.0);
  double const h = 2.0 * std::numbers::pi * d / (130.0 + d * d + 2.0 * size * d);
  double const reach = size + 17.0;
  exact sum = 0;
  exact whole = 0;
  for (long k = -std::lround(reach / h); static_cast<double>(k) * h <= reach; ++k) {
    exact const z = exact(h) * k;
    exact const mass = exp(-z * z / 2);
    sum += mass * pow(cosh(c * z), p);
    whole += mass;
  }
  return log(sum / whole) + a * a * p * p / 4 - a * a * p / 2;
}

/// The same of three steps, in two variables and long double: with v_i the parts of three normal variables that are
/// orthogonal to their mean.
long double log_moment_of_three(double noise, long double p) {
  long double const a = 1.0L / static_cast<long double>(noise);
  long double const h = 0.04L;
  long double const reach = std::abs(p) * a + 10.0L;
  long const n = std::lround(reach / h);
  std::vector<long double> logs;
  long double most = -std::numeric_limits<long double>::infinity();
  for (long i = -n; i <= n; ++i) {
    for (long j = -n; j <= n; ++j) {
      long double const x = h * static_cast<long double>(i);
      long double const y = h * static_cast<long double>(j);
      long double const one = std::exp(a * x * std::sqrt(2.0L / 3.0L));
      long double const two =
          2.0L * std::exp(-a * x / std::sqrt(6.0L)) * std::cosh(a * y / std::sqrt(2.0L));
      logs.push_back(p * std::log((one + two) / 3.0L) - (x * x + y * y) / 2.0L);
      most = std::max(most, logs.back());
    }
  }
  long double sum = 0.0L;
  for (long double const x : logs) sum += std::exp(x - most);
  return most + std::log(sum * h * h / (2.0L * std::numbers::pi_v<long double>)) +
         a * a * p * p / 6.0L - a * a * p / 2.0L;
}

/// E S^m − 1 by the definition: over all (k_1, …, k_t) that add up to m, m!/Πk_i!·t^{−m}·Πe^{k_i(k_i−1)/2σ²}.
exact enumerated_excess(double noise, std::uint64_t steps, std::uint64_t m) {
  exact const square = 1 / (exact(noise) * exact(noise));
  exact whole = 1;
  for (std::uint64_t k = 2; k <= m; ++k) whole *= k;
  exact sum = 0;
  std::function<void(std::uint64_t, std::uint64_t, exact const&)> const take =
      [&](std::uint64_t left, std::uint64_t rest, exact const& so_far) {
        exact factorial = 1;
        for (std::uint64_t k = 0; k <= rest; ++k) {
          if (k > 0) factorial *= k;
          exact const next = so_far * exp(square * (exact(k) * (exact(k) - 1) / 2)) / factorial;
          if (left == 1) {
            if (k == rest) sum += next;
          } else {
            take(left - 1, rest - k, next);
          }
        }
      };
  take(steps, m, whole);
  return sum / pow(exact(steps), static_cast<int>(m)) - 1;
}

double divergence(double noise, std::uint64_t steps, orientation way, double order) {
  return renyi_curve(allocation_pair{noise, steps, way}).upper(order);
}

double epsilon_of(double noise, std::uint64_t steps, std::uint64_t epochs, double delta) {
  renyi_accountant spent;
  spent.compose(sampled(gaussian{noise}, random_allocation{steps}), epochs);
  return spent.epsilon(delta).upper;
}

}  // namespace

TEST_CASE("moments of an epoch against an enumeration", "[allocation]") {
  for (double const noise : {0.3, 1.0, 7.0, 40.0}) {
    for (std::uint64_t const steps : {2U, 3U, 5U}) {
      detail::epochs::whole_moments<> moments(noise, static_cast<double>(steps));
      for (std::uint64_t m = 2; m <= 7; ++m) {
        exact const truth = log(enumerated_excess(noise, steps, m));
        double const found = moments.log_excess(m);
        CAPTURE(noise, steps, m, found);
        CHECK(exact(found) >= truth);
        CHECK(exact(found) <= truth + 1e-11 + 1e-14 * abs(truth));
      }
    }
  }
}

TEST_CASE("the divergences of two steps against a quadrature in 50 digits", "[allocation][slow]") {
  for (double const noise : {0.4, 1.0, 3.0, 20.0}) {
    for (double const order : {1.05, 1.5, 2.0, 3.0, 3.5, 8.0, 25.0, 60.0}) {
      CAPTURE(noise, order);
      exact const z = exact(order) - 1;
      if (order * order < 400.0 * noise * noise) {
        exact const truth = log_moment_of_two(noise, exact(order)) / z;
        double const found = divergence(noise, 2, orientation::remove, order);
        CAPTURE(found, static_cast<double>(truth));
        CHECK(exact(found) >= truth);
        if (order == std::floor(order)) CHECK(exact(found) <= truth * (1 + 1e-11));
      }
      if (order < 60.0 * noise) {
        exact const truth = log_moment_of_two(noise, -z) / z;
        double const found = divergence(noise, 2, orientation::add, order);
        CAPTURE(found, static_cast<double>(truth));
        CHECK(exact(found) >= truth);
        CHECK(exact(found) <= truth * (1 + 1e-8));
      }
    }
  }
}

TEST_CASE("the divergences of three steps against a quadrature", "[allocation]") {
  for (double const noise : {0.7, 1.5, 6.0}) {
    for (double const order : {1.5, 2.0, 2.5, 5.0, 12.0}) {
      CAPTURE(noise, order);
      long double const z = static_cast<long double>(order) - 1.0L;
      if (order < 10.0 * noise) {
        long double const truth = log_moment_of_three(noise, static_cast<long double>(order)) / z;
        double const found = divergence(noise, 3, orientation::remove, order);
        CAPTURE(found, static_cast<double>(truth));
        CHECK(static_cast<long double>(found) >= truth * (1.0L - 1e-15L));
        if (order == std::floor(order)) {
          CHECK(static_cast<long double>(found) <= truth * (1.0L + 1e-11L));
        }
      }
      long double const truth = log_moment_of_three(noise, -z) / z;
      double const found = divergence(noise, 3, orientation::add, order);
      CAPTURE(found, static_cast<double>(truth));
      CHECK(static_cast<long double>(found) >= truth * (1.0L - 1e-15L));
      CHECK(static_cast<long double>(found) <= truth * (1.0L + 1e-8L));
    }
  }
}

TEST_CASE("an epoch's divergences rise with the order and fall with noise and steps",
          "[allocation]") {
  std::mt19937_64 random(20261129);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int k = 0; k < 40; ++k) {
    double const noise = 0.1 * std::pow(500.0, uniform(random));
    auto const steps = static_cast<std::uint64_t>(2.0 * std::pow(1e5, uniform(random)));
    double const order = 1.0 + 1e-3 * std::pow(1e6, uniform(random));
    for (orientation const way : {orientation::remove, orientation::add}) {
      CAPTURE(noise, steps, order, way == orientation::add);
      double const found = divergence(noise, steps, way, order);
      CHECK(found >= 0.0);
      CHECK(found <= order / (2.0 * noise * noise) * (1.0 + 1e-14));
      // The bounds are not the truth, but nearly: chords and Poisson samples bend by less than this.
      CHECK(divergence(noise, steps, way, 2.0 + 2.0 * order) >= found * (1.0 - 1e-9));
      CHECK(divergence(0.9 * noise, steps, way, order) >= found * (1.0 - 1e-9));
      CHECK(divergence(noise, 2 * steps, way, order) <= found * (1.0 + 1e-9));
    }
    // Jensen: E S^{1−α} ≥ 1, and E S^α is at least that of S^2 at the same mean.
    double const least =
        std::log1p(std::expm1(std::min(600.0, 1.0 / (noise * noise))) / static_cast<double>(steps));
    if (order >= 2.0 && noise > 0.05) {
      CHECK(divergence(noise, steps, orientation::remove, order) >= least * (1.0 - 1e-9));
    }
  }
}

TEST_CASE("one step that moves by little beside many others is Gaussian", "[allocation]") {
  // S is nearly normal of variance s = (e^{1/σ²} − 1)/t: D_α is nearly αs/2, in either direction.
  for (std::uint64_t const steps : {10'000U, 1'000'000U}) {
    double const noise = 5.0;
    double const s = std::expm1(1.0 / (noise * noise)) / static_cast<double>(steps);
    for (double const order : {2.0, 3.0, 10.0, 50.0}) {
      for (orientation const way : {orientation::remove, orientation::add}) {
        double const found = divergence(noise, steps, way, order);
        CAPTURE(steps, order, found, order * s / 2.0);
        CHECK(found == Approx(order * s / 2.0).epsilon(1e-3));
      }
    }
  }
}

TEST_CASE("orders beyond the tables meet those within", "[allocation]") {
  for (auto const& [noise, steps] : {std::pair{20.0, 100'000U}, std::pair{3.0, 5000U}}) {
    renyi_curve curve(allocation_pair{noise, steps, orientation::remove});
    double const within = curve.upper(1999.0);
    double const beyond = curve.upper(2001.0);
    CAPTURE(noise, steps, within, beyond);
    CHECK(beyond >= within);
    CHECK(beyond <= 1.05 * within);
    CHECK(curve.upper(1e5) <= 1e5 / (2.0 * noise * noise) * (1.0 + 1e-14));
    CHECK(curve.upper(1e7) <= 1e7 / (2.0 * noise * noise) * (1.0 + 1e-14));
  }
}

TEST_CASE("extremes of noise and steps have divergences", "[allocation]") {
  for (double const noise : {1e-300, 1e-5, 0.01, 0.04, 1e3, 1e10, 1e99, 1e300}) {
    for (std::uint64_t const steps : {std::uint64_t{2}, random_allocation::most_steps}) {
      for (double const order : {1.0 + 1e-15, 1.0001, 1.5, 2.0, 2.5, 1e3, 1e6, 1e12, 1e300}) {
        for (orientation const way : {orientation::remove, orientation::add}) {
          CAPTURE(noise, steps, order);
          double const found = divergence(noise, steps, way, order);
          CHECK(found >= 0.0);  // ∞ where numbers end
          if (noise >= 1e3 && noise < 1e100)
            CHECK(found <= std::max(1e-300, order / noise / noise));
        }
      }
    }
  }
}

TEST_CASE("the Renyi accountant takes epochs of random allocation", "[allocation]") {
  // A quadrature (numpy) of E(X − c)₊ gives .171728684 for pld; one order's bound is above it.
  double const small = epsilon_of(1.0, 1000, 1, 1e-6);
  CHECK(small > 0.1717);
  CHECK(small < 0.71);
  // The privacy-loss accountant has [6.67518384382, 6.67518384432].
  double const many = epsilon_of(1.0, 1000, 1000, 1e-6);
  CAPTURE(many);
  CHECK(many >= 6.67518384382);
  CHECK(many <= 1.15 * 6.67518384432);
  // One large loss among a million steps.
  CHECK(epsilon_of(0.3, 1'000'000, 1, 1e-12) < 15.72);

  // One by one, or at once.
  event const epoch = sampled(gaussian{1.0}, random_allocation{1000});
  renyi_accountant one_by_one;
  renyi_accountant at_once;
  for (int k = 0; k < 7; ++k) one_by_one.compose(epoch);
  at_once.compose(epoch, 7);
  CHECK(one_by_one.epsilon(1e-6).upper == at_once.epsilon(1e-6).upper);
  CHECK(one_by_one.delta(0.5).upper == at_once.delta(0.5).upper);

  // Ten of a thousand steps are a step in each of ten blocks.
  renyi_accountant part;
  part.compose(sampled(gaussian{2.0}, random_allocation{1005, 10}), 3);
  renyi_accountant blocks;
  blocks.compose(sampled(gaussian{2.0}, random_allocation{100}), 15);
  blocks.compose(sampled(gaussian{2.0}, random_allocation{101}), 15);
  CHECK(part.epsilon(1e-6).upper == blocks.epsilon(1e-6).upper);
  renyi_accountant zero(adjacency::zero_out);
  zero.compose(sampled(gaussian{2.0}, random_allocation{1005, 10}), 3);
  CHECK(zero.epsilon(1e-6).upper == part.epsilon(1e-6).upper);

  // One step of one is a Gaussian.
  renyi_accountant all;
  all.compose(sampled(gaussian{2.0}, random_allocation{1}));
  renyi_accountant plain;
  plain.compose(gaussian{2.0});
  CHECK(all.epsilon(1e-6).upper == plain.epsilon(1e-6).upper);
}
