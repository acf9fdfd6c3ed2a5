// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/contour/routes.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/gaussian.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>

using namespace tacit;
using contour = detail::contour<>;
using support::exact;

namespace {

contour sampled_steps(double rate, double sigma, double steps, orientation towards) {
  return contour({{mixture_pair{{{rate, 1.0 / sigma}}, towards}, steps}}, 0.0);
}

// Compositions of unsampled Gaussians, given to the contour as mixtures: the truth is a closed form.
void compare_with_closed_forms(int cases, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  int answered = 0;
  int asked = 0;
  while (asked < cases) {
    double const mu = std::pow(10.0, -6.0 + 6.0 * uniform(random));
    double const total = std::pow(10.0, -1.5 + 3.0 * uniform(random));
    double const steps = std::min(1e12, std::max(2.0, std::round(total * total / mu / mu)));
    double const delta = std::pow(10.0, -0.4 - 100.0 * uniform(random) * uniform(random));
    bound<double> const truth = epsilon(gaussian_dp{mu * std::sqrt(steps)}, delta);
    if (!(truth.lower > 0.0)) continue;
    ++asked;
    for (auto const towards : {orientation::remove, orientation::add}) {
      contour const found({{mixture_pair{{{1.0, mu}}, towards}, steps}}, 0.0);
      auto const interval = found.epsilon(delta);
      if (!interval) continue;
      CAPTURE(mu, steps, delta, interval->lower, interval->upper);
      CHECK(interval->lower <= truth.upper);
      CHECK(interval->upper >= truth.lower);
      auto const log_delta = found.log_delta(interval->upper);
      CHECK((!log_delta || log_delta->lower <= std::log(delta) + 1e-15));
      ++answered;
    }
  }
  CHECK(answered >= 2 * asked * 97 / 100);
}

// At ε = 0 either direction has the total variation.
void compare_directions_at_zero(int cases, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  int met = 0;
  for (int k = 0; k < cases; ++k) {
    double const rate = std::pow(10.0, -4.0 * uniform(random));
    double const sigma = std::pow(10.0, -0.3 + 2.0 * uniform(random));
    double const steps = std::round(std::pow(50.0, 0.18 + 0.82 * uniform(random)));
    auto const removed = sampled_steps(rate, sigma, steps, orientation::remove).log_delta(0.0);
    auto const added = sampled_steps(rate, sigma, steps, orientation::add).log_delta(0.0);
    if (!removed || !added) continue;
    CAPTURE(rate, sigma, steps, removed->lower, removed->upper, added->lower, added->upper);
    CHECK(removed->lower <= added->upper);
    CHECK(added->lower <= removed->upper);
    ++met;
  }
  CHECK(met > cases / 2);
}

}  // namespace

TEST_CASE("the lifted table's nodes are equally spaced", "[dp]") {
  // δ of two and four steps by nested quadrature of the definition. With nodes 27,000 out, placed to
  // their last digit alone, these intervals were 1e-12 and 1e-9 beside the truth.
  struct {
    double rate;
    double sigma;
    double steps;
    orientation towards;
    double epsilon;
    double log_delta;
    double digit;
  } const known[] = {
      {0.04351084427492425, 5.3635307724018881, 2.0, orientation::remove, 0.0,
       std::log(0.00459047803824919166), 2e-15},
      {0.04351084427492425, 5.3635307724018881, 2.0, orientation::add, 0.0,
       std::log(0.00459047803824919166), 2e-15},
      {0.00055520829850115594, 5.0103292289529895, 4.0, orientation::add, 0.00049325629480542444,
       -14.7493694063292, 6e-14},
  };
  for (auto const& k : known) {
    bound<double> const found =
        sampled_steps(k.rate, k.sigma, k.steps, k.towards).log_delta(k.epsilon).value();
    CAPTURE(k.rate, k.steps, k.epsilon, found.lower, found.upper);
    CHECK(found.lower <= k.log_delta + k.digit);
    CHECK(found.upper >= k.log_delta - k.digit);
  }
}

TEST_CASE("at ε = 0 both directions have the total variation", "[dp][long]") {
  compare_directions_at_zero(150, 31);
}

TEST_CASE("at ε = 0 both directions have the total variation, five thousand", "[.sweep]") {
  compare_directions_at_zero(5000, 32);
}

TEST_CASE("run A down to 1e-100", "[dp]") {
  contour const run = sampled_steps(0.01, 1.0, 1e4, orientation::remove);
  struct {
    double delta;
    double epsilon;
    double digit;
  } const known[] = {{1e-5, 6.18771238997, 1e-11},
                     {1e-10, 9.316138526, 1e-9},
                     {1e-20, 13.87977272, 1e-8},
                     {1e-50, 24.44449131, 1e-8},
                     {1e-100, 40.45484475, 1e-8}};
  for (auto const& [delta, epsilon, digit] : known) {
    bound<double> const found = run.epsilon(delta).value();
    CHECK(found.lower <= epsilon + digit);
    CHECK(found.upper >= epsilon - digit);
    CHECK(found.upper - found.lower <= 1e-12 * epsilon);
  }
}

TEST_CASE("the interval holds the closed form of unsampled runs", "[dp]") {
  compare_with_closed_forms(400, 20);
}

TEST_CASE("the interval holds the closed form of unsampled runs, ten thousand", "[.sweep]") {
  compare_with_closed_forms(10000, 21);
}

TEST_CASE("one event in two entries is the same composition", "[dp]") {
  for (auto const towards : {orientation::remove, orientation::add}) {
    mixture_pair const pair{{{0.02, 0.7}}, towards};
    bound<double> const whole = contour({{pair, 3000.0}}, 0.0).epsilon(1e-8).value();
    bound<double> const split =
        contour({{pair, 1000.0}, {pair, 2000.0}}, 0.0).epsilon(1e-8).value();
    CHECK(whole.lower <= split.upper);
    CHECK(split.lower <= whole.upper);
    CHECK(split.upper - split.lower < 1e-11);
  }
}

TEST_CASE("a normal part is the same as a mixture of weight one", "[dp]") {
  mixture_pair const sampled{{{0.02, 0.7}}, orientation::remove};
  mixture_pair const whole{{{1.0, 0.01}}, orientation::remove};
  bound<double> const apart = contour({{sampled, 1000.0}}, 0.09).epsilon(1e-9).value();
  bound<double> const together =
      contour({{sampled, 1000.0}, {whole, 900.0}}, 0.0).epsilon(1e-9).value();
  CHECK(apart.lower <= together.upper);
  CHECK(together.lower <= apart.upper);
  CHECK(together.upper - together.lower < 1e-11);
}

TEST_CASE("ε and δ are each other's inverse, certified", "[dp]") {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  int answered = 0;
  for (int k = 0; k < 60; ++k) {
    double const rate = std::pow(10.0, -4.0 * uniform(random));
    double const sigma = std::pow(10.0, -0.2 + 1.5 * uniform(random));
    double const steps = std::round(std::pow(10.0, 2.5 + 5.0 * uniform(random)));
    double const delta = std::pow(10.0, -1.0 - 30.0 * uniform(random));
    auto const towards = k % 2 == 0 ? orientation::remove : orientation::add;
    contour const run = sampled_steps(rate, sigma, steps, towards);
    CAPTURE(rate, sigma, steps, delta, k);
    auto const epsilon = run.epsilon(delta);
    if (!epsilon) continue;
    auto const at_lower = run.log_delta(epsilon->lower);
    auto const at_upper = run.log_delta(epsilon->upper);
    if (!at_lower || !at_upper) continue;
    CHECK(at_lower->upper >= std::log(delta) * (1.0 + 1e-15));
    CHECK(at_upper->lower <= std::log(delta) * (1.0 - 1e-15));
    ++answered;
  }
  CHECK(answered > 50);
}

TEST_CASE("ε falls in δ and σ, and grows in the rate and the steps", "[dp]") {
  auto const upper = [](double rate, double sigma, double steps, double delta) {
    return sampled_steps(rate, sigma, steps, orientation::remove).epsilon(delta).value().upper;
  };
  auto const lower = [](double rate, double sigma, double steps, double delta) {
    return sampled_steps(rate, sigma, steps, orientation::remove).epsilon(delta).value().lower;
  };
  for (double const step : {1e-3, 0.1}) {
    CHECK(lower(0.01, 1.0, 1e4, 1e-6 * (1.0 - step)) > upper(0.01, 1.0, 1e4, 1e-6));
    CHECK(lower(0.01, 1.0, 1e4, 1e-6) > upper(0.01, 1.0 + step, 1e4, 1e-6));
    CHECK(lower(0.01 * (1.0 + step), 1.0, 1e4, 1e-6) > upper(0.01, 1.0, 1e4, 1e-6));
    CHECK(lower(0.01, 1.0, 1e4 * (1.0 + step), 1e-6) > upper(0.01, 1.0, 1e4, 1e-6));
  }
}

TEST_CASE("Chernoff's bound never contradicts the certificate", "[dp]") {
  for (double const steps : {1e3, 1e5, 1e7}) {
    contour const run = sampled_steps(0.003, 0.9, steps, orientation::add);
    for (double const delta : {1e-3, 1e-9, 1e-40}) {
      bound<double> const epsilon = run.epsilon(delta).value();
      detail::work_budget work(1e8);
      CHECK_FALSE(run.chernoff_below(epsilon.lower, std::log(delta), work));
      CHECK(run.chernoff_below(epsilon.upper * 2.0 + 1.0, std::log(delta), work));
    }
  }
}

TEST_CASE("rare jumps: one step is the closed form", "[dp]") {
  // δ(ε) = q·δ_Gauss(log(1 + (e^ε − 1)/q)). Most of P is nearly an atom here.
  int answered = 0;
  int asked = 0;
  for (double const rate : {1e-8, 1e-5, 1e-3, 0.1}) {
    for (double const sigma : {0.05, 0.1, 0.3, 1.0}) {
      for (double const part : {0.03, 1e-4, 1e-9}) {
        double const inner = epsilon(gaussian_dp{1.0 / sigma}, part).upper;
        double const at =
            inner < 700.0 ? std::log1p(rate * std::expm1(inner)) : inner + std::log(rate);
        if (!(at > 1e-9)) continue;
        ++asked;
        auto const found =
            sampled_steps(rate, sigma, 1.0, orientation::remove).epsilon(rate * part);
        if (!found) continue;
        CAPTURE(rate, sigma, part, at, found->lower, found->upper);
        CHECK(found->lower <= at * (1.0 + 1e-9));
        CHECK(found->upper >= at * (1.0 - 1e-9));
        if (found->upper - found->lower <= 1e-7 * at) ++answered;
      }
    }
  }
  CAPTURE(answered, asked);
  CHECK(answered > asked / 2);
}

TEST_CASE("rare jumps: the interval meets the discretised one", "[dp]") {
  struct {
    double rate;
    double sigma;
    std::uint64_t steps;
    double delta;
  } const runs[] = {{0.01, 0.05, 10, 1e-5}, {0.01, 0.1, 10, 1e-5}, {1e-3, 0.3, 1000, 1e-5},
                    {0.1, 0.3, 10, 1e-5},   {0.1, 0.1, 2, 1e-5},   {0.5, 0.3, 2, 1e-10}};
  int answered = 0;
  for (auto const& r : runs) {
    auto const found =
        sampled_steps(r.rate, r.sigma, static_cast<double>(r.steps), orientation::remove)
            .epsilon(r.delta);
    if (!found) continue;
    discretised_accountant second;
    second.compose(sampled(gaussian{.noise_multiplier = r.sigma}, poisson{.rate = r.rate}),
                   r.steps);
    bound<double> const check = second.epsilon(r.delta);
    CAPTURE(r.rate, r.sigma, r.steps, r.delta, found->lower, found->upper, check.lower,
            check.upper);
    CHECK(found->lower <= check.upper);
    CHECK(found->upper >= check.lower);
    if (found->upper - found->lower <= 1e-9 * found->upper) ++answered;
  }
  CHECK(answered >= 4);
}

TEST_CASE("the closed bound on the total variation is one", "[dp]") {
  // One step: δ(0) = q·(2Φ(μ/2) − 1).
  for (double const rate : {1e-6, 0.01, 0.9}) {
    for (double const sigma : {0.1, 1.0, 30.0}) {
      double const truth = rate * delta(gaussian_dp{1.0 / sigma}, 0.0).lower;
      double const bound = sampled_steps(rate, sigma, 1.0, orientation::remove).variation();
      CHECK(bound >= truth);
      CHECK(bound <= truth * 1.001);
    }
  }
}

TEST_CASE("tilts of 1e16: two steps against a direct integral", "[dp]") {
  // δ = E_P[δ₁(ε − L)] with δ₁ in closed form, in 60 digits: δ at the first ε is 1e-30(1 + 1.88e-13), at
  // the second 1e-30(1 − 1.49e-12).
  bound<double> const found =
      sampled_steps(1e-12, 1000.0, 2.0, orientation::remove).epsilon(1e-30).value();
  CHECK(found.lower <= 1.09537658922764e-14);
  CHECK(found.upper >= 1.09537658922761e-14);
}

TEST_CASE("rare losses under large noise are answered in both directions", "[dp]") {
  // In `add` the likelihood ratio goes on to turn far to the right of everything, where its own power has left
  // nothing. The enclosures are the grid's (dp/discretised), which is another way to the same number.
  struct row {
    double rate, sigma, steps, delta;
    bound<double> grid;
  };
  for (row const& r : {
           row{4.9758284400025177e-05,
               9.8324292740871275,
               531.0,
               6.1919329113340476e-13,
               {0.00064111421521969463, 0.00064116452347158384}},
           row{5.7563985392832795e-06,
               10.986261588739897,
               11036.0,
               1.1421245745124499e-05,
               {2.5962672432131529e-05, 2.596267250775445e-05}},
           row{2.7203726305283837e-06,
               6.0765796613613494,
               239.0,
               1.0399636423056704e-08,
               {1.8361766866337554e-05, 1.8362216792521128e-05}},
       }) {
    CAPTURE(r.rate, r.sigma, r.steps);
    for (auto const towards : {orientation::remove, orientation::add}) {
      auto const found = sampled_steps(r.rate, r.sigma, r.steps, towards).epsilon(r.delta);
      REQUIRE(found);
      CHECK(found->upper - found->lower < 1e-12);
      CHECK(found->lower <= r.grid.upper);
      if (towards == orientation::remove) CHECK(found->upper >= r.grid.lower);
    }
  }
}

// Unsampled runs in closed form, in 50 digits: shifts that are a unit of rounding off, one way or the other, and the
// interval about the noise itself, of which the shift is a rounded reciprocal.
TEST_CASE("what the rounding of a shift does is bounded, and counted", "[dp]") {
  std::mt19937_64 random(15);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int k = 0; k < 40; ++k) {
    double const sigma = std::pow(10.0, -0.7 + 2.0 * uniform(random));
    double const steps = std::round(std::pow(10.0, 3.0 * uniform(random)));
    double const delta = std::pow(10.0, -1.0 - 20.0 * uniform(random));
    double const shift = 1.0 / sigma;
    double const rough = epsilon(gaussian_dp{shift * std::sqrt(steps)}, delta).upper;
    if (!(rough > 1e-3 && rough < 1e4)) continue;
    exact const mu = sqrt(exact(steps)) * exact(shift);
    detail::rounded_shifts shifts(0.0);
    mixture_pair::part const part{1.0, shift};
    shifts.add(steps, std::array{part});
    double const rho = shifts.blur(std::log(delta));
    CHECK(rho < 1e-9 * (1.0 + rough));
    for (double const way : {-2.0, 2.0}) {
      exact const moved = gaussian_profile<exact>(mu * (1 + exact(way) * exact(0x1p-53)), rough);
      CHECK(moved <= exp(exact(rho)) * gaussian_profile<exact>(mu, exact(rough) - exact(rho)));
      CHECK(moved >= exp(-exact(rho)) * gaussian_profile<exact>(mu, exact(rough) + exact(rho)));
    }
    exact const truth = sqrt(exact(steps)) / exact(sigma);
    for (auto const towards : {orientation::remove, orientation::add}) {
      auto const found = sampled_steps(1.0, sigma, steps, towards).epsilon(delta);
      if (!found) continue;
      CHECK(gaussian_profile<exact>(truth, exact(found->lower)) >= exact(delta));
      CHECK(gaussian_profile<exact>(truth, exact(found->upper)) <= exact(delta));
    }
  }
}
