// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/trade_off.hpp>
#include <tacit/info/attack.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <boost/math/special_functions/erf.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using namespace tacit;
using support::exact;
using support::table;

namespace {

// Closed forms in 50 digits.

exact normal_cdf(exact const& x) {
  return exact(boost::math::erfc(exact(-x / sqrt(exact(2)))) / 2);
}

exact gaussian_delta(exact const& mu, exact const& e) {
  return exact(normal_cdf(exact(mu / 2 - e / mu)) - exp(e) * normal_cdf(exact(-mu / 2 - e / mu)));
}

// `count` binary responses: the loss is (2k − count)·ε for k ~ Bin(count, e^ε/(1+e^ε)).
exact response_delta(double epsilon, std::uint64_t count, exact const& e) {
  exact const up = log(exact(1 / (1 + exp(exact(-epsilon)))));
  exact const down = exact(up - epsilon);
  exact sum = 0;
  exact choose = 0;
  for (std::uint64_t k = 0; k <= count; ++k) {
    exact const ups = static_cast<double>(k);
    exact const downs = static_cast<double>(count - k);
    exact const loss = exact((ups - downs) * epsilon);
    if (loss > e) sum += exp(exact(choose + ups * up + downs * down)) * (1 - exp(exact(e - loss)));
    if (k < count) choose += log(downs) - log(exact(ups + 1));
  }
  return sum < 1 ? sum : exact(1);  // the sum's own rounding
}

// One Poisson-sampled Gaussian, ε ≥ 0 (Zhu, Dong & Wang 2022, Proposition 30), and its other direction.
exact sampled_remove(double rate, double sigma, double e) {
  exact const inner = log(exact(1 + (exp(exact(e)) - 1) / rate));
  return exact(rate * gaussian_delta(exact(1 / exact(sigma)), inner));
}
exact sampled_add(double rate, double sigma, double e) {
  exact const weight = exact(exact(rate) + exp(exact(-e)) - 1);
  if (weight <= 0) return 0;
  // E_Q[(1 − e^ε·(1−q+q·R))⁺] = q·e^ε·E[(k − R)⁺], k = (e^{−ε} − 1 + q)/q; put from call.
  exact const k = exact(weight / rate);
  exact const mu = exact(1 / exact(sigma));
  exact const call = gaussian_delta(mu, exact(log(k)));
  return exact(rate * exp(exact(e)) * (call - 1 + k));
}

discretised method(event const& release, std::uint64_t count, adjacency neighbours,
                   double width = 1e-3) {
  discretised out(neighbours, width);
  out.add(release, count);
  return out;
}
discretised method(event const& release, std::uint64_t count, double width = 1e-3) {
  return method(release, count, adjacency::add_remove, width);
}

double width_of(bound<double> const& b) { return (b.upper - b.lower) / b.upper; }

event sampled_gaussian(double rate, double sigma) {
  return sampled(gaussian{.noise_multiplier = sigma}, poisson{.rate = rate});
}

}  // namespace

TEST_CASE("Gaussian compositions: the closed form lies inside", "[dp]") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int k = 0; k < 25; ++k) {
    double const mu = std::exp(-4.0 + 6.0 * uniform(random));
    auto const count = static_cast<std::uint64_t>(std::exp(13.0 * uniform(random)));
    double const sigma = std::sqrt(static_cast<double>(count)) / mu;
    double const delta = std::pow(10.0, -1.0 - 99.0 * uniform(random) * uniform(random));
    discretised const run = method(gaussian{.noise_multiplier = sigma}, count, 3e-3);
    exact const whole = exact(sqrt(exact(static_cast<double>(count))) / sigma);
    bound<double> const e = run.epsilon(delta);
    CAPTURE(mu, count, delta, e.lower, e.upper);
    CHECK(e.upper < 1e300);
    CHECK(gaussian_delta(whole, exact(e.upper)) <= exact(delta));
    if (e.lower > 0.0) CHECK(gaussian_delta(whole, exact(e.lower)) >= exact(delta));
    if (e.upper > 0.0) CHECK(width_of(e) < 1e-2);
    double const at = e.upper * (0.3 + 0.9 * uniform(random));
    bound<double> const d = run.delta(at);
    exact const truth = gaussian_delta(whole, exact(at));
    CHECK(exact(d.lower) <= truth);
    CHECK(truth <= exact(d.upper));
  }
}

TEST_CASE("far tails stay certified where a plain FFT has a noise floor", "[dp]") {
  // Rate 1, sigma 50, 1e4 steps: pessimistic grids of others fall below these.
  discretised const run = method(gaussian{.noise_multiplier = 50.0}, 10000, 1e-3);
  for (double const delta : {1e-10, 1e-12, 1e-14, 1e-30, 1e-100}) {
    bound<double> const e = run.epsilon(delta);
    CAPTURE(delta, e.lower, e.upper);
    CHECK(gaussian_delta(exact(2), exact(e.upper)) <= exact(delta));
    CHECK(gaussian_delta(exact(2), exact(e.lower)) >= exact(delta));
    CHECK(width_of(e) < 3e-3);
  }
  CHECK(run.epsilon(1e-12).upper > 15.6411);
  CHECK(run.epsilon(1e-14).upper > 16.8905);
}

TEST_CASE("known runs lie inside", "[dp]") {
  auto const holds = [](discretised const& run, double delta, double truth, double width) {
    bound<double> const e = run.epsilon(delta);
    CAPTURE(delta, truth, e.lower, e.upper);
    CHECK(e.lower <= truth);
    CHECK(truth <= e.upper);
    CHECK(width_of(e) < width);
  };
  discretised const a = method(sampled_gaussian(0.01, 1.0), 10000, 1e-3);
  holds(a, 1e-5, 6.18771238997, 3e-3);
  holds(a, 1e-10, 9.316138526, 3e-3);
  holds(a, 1e-20, 13.87977272, 3e-3);
  holds(method(sampled_gaussian(1e-3, 0.6), 100000, 1e-2), 1e-5, 6.1128, 3e-2);
  holds(method(sampled_gaussian(0.5, 10.0), 1000, 1e-3), 1e-5, 7.5452, 3e-3);
  // A fixed step of 1e-4 adds 5 % here.
  holds(method(sampled_gaussian(1e-4, 1.0), 1000000, 2e-2), 1e-6, 0.5324, 5e-2);
}

TEST_CASE("sampled Gaussians: the 40-digit table lies inside", "[dp]") {
  table const reference("dp_sampled.csv");
  std::size_t tried = 0;
  for (std::size_t row = 0; row < reference.size(); ++row) {
    auto const count = static_cast<std::uint64_t>(reference.number(row, "steps"));
    // A third of the practical ones: the whole table takes half a minute.
    if (row % 3 != 0 || count > 1000000 || reference.number(row, "delta") < 1e-60) continue;
    domination const both =
        dominate(sampled_gaussian(reference.number(row, "rate"), reference.number(row, "sigma")),
                 adjacency::add_remove);
    dominating_pair const& pair =
        reference.text(row, "direction") == "remove" ? both.remove : both.add;
    discretised run(adjacency::add_remove, 0.03);
    run.add(domination{pair, pair, true, true}, count);
    bound<double> const e = run.epsilon(reference.number(row, "delta"));
    exact const truth = reference.value(row, "epsilon");
    CAPTURE(row, reference.text(row, "rate"), reference.text(row, "sigma"), count,
            reference.text(row, "direction"), reference.text(row, "delta"), e.lower, e.upper);
    CHECK(exact(e.lower) <= truth);
    CHECK(truth <= exact(e.upper));
    ++tried;
  }
  CHECK(tried > 15);
}

TEST_CASE("schedules: the 40-digit table lies inside", "[dp][long]") {
  table const reference("dp_heterogeneous.csv");
  for (std::size_t row = 0; row < reference.size(); ++row) {
    std::vector<std::array<double, 3>> schedule;
    std::istringstream runs(reference.text(row, "schedule"));
    for (std::string one; std::getline(runs, one, ';');) {
      std::array<double, 3> numbers{};
      std::istringstream parts(one);
      for (double& number : numbers) {
        std::string text;
        std::getline(parts, text, ':');
        number = std::stod(text);
      }
      schedule.push_back(numbers);
    }
    if (schedule.size() > 20) continue;
    for (bool const removes : {true, false}) {
      discretised run(adjacency::add_remove, 0.02);
      for (auto const& [rate, sigma, steps] : schedule) {
        domination const both = dominate(sampled_gaussian(rate, sigma), adjacency::add_remove);
        dominating_pair const& pair = removes ? both.remove : both.add;
        run.add(domination{pair, pair, true, true}, static_cast<std::uint64_t>(steps));
      }
      bound<double> const e = run.epsilon(reference.number(row, "delta"));
      exact const truth = reference.value(row, removes ? "epsilon_remove" : "epsilon_add");
      CAPTURE(reference.text(row, "schedule"), removes, e.lower, e.upper);
      CHECK(exact(e.lower) <= truth);
      CHECK(truth <= exact(e.upper));
      // 1e11 steps at rate 1e-6 are more than a grid holds at that width; it says so.
      bool const huge = schedule[0][2] > 1e10;
      if (!huge) CHECK(width_of(e) < 0.06);
    }
  }
}

TEST_CASE("epsilon rises as delta falls below 1e-13", "[dp]") {
  // Rate 3.3e-4, sigma 4: an accountant with a noise floor lets it fall from 2.60 to 0.056.
  discretised const run = method(sampled_gaussian(3.3e-4, 4.0), 100000, 1e-2);
  bound<double> const before = run.epsilon(1e-13);
  bound<double> const after = run.epsilon(1e-14);
  CHECK(before.lower > 0.0);
  CHECK(after.lower > before.upper);
}

TEST_CASE("randomised response on its own lattice: the binomial, to rounding", "[dp]") {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int k = 0; k < 25; ++k) {
    double const epsilon = std::exp(-5.0 + 6.0 * uniform(random));
    auto const count = static_cast<std::uint64_t>(std::exp(5.5 * uniform(random)));
    discretised const run =
        method(randomised_response{.epsilon = epsilon}, count, adjacency::replace_one);
    double const at = uniform(random) * epsilon * static_cast<double>(count);
    bound<double> const d = run.delta(at);
    exact const truth = response_delta(epsilon, count, exact(at));
    CAPTURE(epsilon, count, at, d.lower, d.upper);
    CHECK(exact(d.lower) <= truth);
    CHECK(truth <= exact(d.upper));
    if (truth > exact(1e-280)) CHECK(d.upper - d.lower <= 1e-9 * d.upper);
    // Beyond the largest loss there is nothing at all.
    CHECK(run.delta(epsilon * static_cast<double>(count) * (1.0 + 1e-12)).upper == 0.0);
  }
}

TEST_CASE("pure, Laplace, exponential and discrete releases: the table lies inside", "[dp]") {
  table const rows("dp_pure.csv");
  int asked = 0;
  for (std::size_t k = 0; k < rows.size(); k += 2) {
    std::string const kind = rows.text(k, "mechanism");
    double const parameter = rows.number(k, "parameter");
    auto const count = static_cast<std::uint64_t>(rows.number(k, "count"));
    discretised_accountant account;
    if (kind == "pure") account.compose(approx_dp{parameter, rows.number(k, "delta0")}, count);
    if (kind == "laplace") account.compose(laplace{.noise_multiplier = 1.0 / parameter}, count);
    if (kind == "exponential") account.compose(exponential_mechanism{.epsilon = parameter}, count);
    if (kind == "discrete_gaussian") account.compose(discrete_gaussian{.sigma = parameter}, count);
    bound<double> const found = account.delta(rows.number(k, "epsilon"));
    exact const truth = rows.value(k, "delta");
    CAPTURE(k, kind, parameter, count, rows.number(k, "epsilon"), found.lower, found.upper);
    // The parameter 1/parameter and the table's ε are themselves rounded.
    CHECK(exact(found.lower) <= truth * exact(1.0 + 1e-13));
    CHECK(exact(found.upper) >= truth * exact(1.0 - 1e-13));
    ++asked;
  }
  CHECK(asked > 100);
}

TEST_CASE("a discrete Gaussian's lattice leaves only what is cut off", "[dp]") {
  for (std::uint64_t const count : std::array<std::uint64_t, 3>{1, 100, 10000}) {
    discretised const run = method(discrete_gaussian{.sigma = 3.0, .sensitivity = 2}, count);
    bound<double> const d = run.delta(0.4 * static_cast<double>(count));
    bound<double> const e = run.epsilon(1e-7);
    CAPTURE(count, d.lower, d.upper, e.lower, e.upper);
    CHECK(d.lower > 0.0);
    // An error of a few ulp in each of 10⁴ losses counts times the tilt.
    if (count <= 100) CHECK(width_of(d) < 1e-9);
    CHECK(e.lower > 0.0);
    CHECK(width_of(e) < 1e-9);
  }
}

TEST_CASE("counts are not forgotten", "[dp]") {
  // 1000 exponential mechanisms given once by count, and once by one.
  bound<double> const counted =
      method(exponential_mechanism{.epsilon = 0.1}, 1000, 1e-3).epsilon(1e-5);
  discretised apart(adjacency::add_remove, 1e-3);
  for (int k = 0; k < 1000; ++k) apart.add(exponential_mechanism{.epsilon = 0.1}, 1);
  bound<double> const listed = apart.epsilon(1e-5);
  CHECK(counted.lower == listed.lower);
  CHECK(counted.upper == listed.upper);
  CHECK(counted.lower > 5.0);
  // 100 responses of ε = 1 at δ = 1e-5 are 94.3 in the field's figures for ε = 2.
  bound<double> const responses =
      method(randomised_response{.epsilon = 1.0}, 100, adjacency::replace_one).epsilon(1e-5);
  CHECK(response_delta(1.0, 100, exact(responses.upper)) <= exact(1e-5));
  CHECK(response_delta(1.0, 100, exact(responses.lower)) >= exact(1e-5));
  CHECK(responses.lower > 50.0);
  // Unsampled: 100 Gaussians of sigma 1.
  bound<double> const gaussians =
      method(sampled(gaussian{.noise_multiplier = 1.0}, poisson{.rate = 1.0}), 100, 1e-3)
          .epsilon(1e-5);
  CHECK(gaussian_delta(exact(10), exact(gaussians.upper)) <= exact(1e-5));
  CHECK(gaussian_delta(exact(10), exact(gaussians.lower)) >= exact(1e-5));
}

TEST_CASE("one sampled Gaussian, each direction against its closed form", "[dp][long]") {
  for (double const rate : {1e-4, 0.01, 0.9}) {
    for (double const sigma : {0.5, 5.0}) {
      domination const pairs = dominate(sampled_gaussian(rate, sigma), adjacency::add_remove);
      for (bool const removes : {true, false}) {
        dominating_pair const& pair = removes ? pairs.remove : pairs.add;
        discretised one(adjacency::add_remove, 1e-3);
        one.add(domination{pair, pair, true, true}, 1);
        for (double const e : {0.0, 0.3 * rate, 0.5, 2.0}) {
          exact const truth =
              removes ? sampled_remove(rate, sigma, e) : sampled_add(rate, sigma, e);
          bound<double> const d = one.delta(e);
          CAPTURE(rate, sigma, removes, e, d.lower, d.upper);
          CHECK(exact(d.lower) <= truth + exact(1e-45));
          CHECK(truth <= exact(d.upper) + exact(1e-45));
          // Kinks of losses near 0, at the scale of the rate, cost the most.
          if (truth > exact(1e-12)) CHECK(width_of(d) < (rate < 1e-3 ? 0.1 : 5e-3));
        }
      }
    }
  }
}

TEST_CASE("Laplace: one step in closed form, two by quadrature", "[dp]") {
  double const b = 0.8;
  discretised const one = method(laplace{.noise_multiplier = 1.0 / b}, 1, 1e-5);
  for (double const e : {0.0, 0.2, 0.5, 0.79}) {
    bound<double> const d = one.delta(e);
    exact const truth = exact(1 - exp(exact((exact(e) - b) / 2)));
    CHECK(exact(d.lower) <= truth);
    CHECK(truth <= exact(d.upper));
  }
  CHECK(one.delta(b * (1.0 + 1e-12)).upper == 0.0);
  // δ_2(ε) = ½δ(ε−b) + ½e^{−b}δ(ε+b) + ∫ ¼e^{(l−b)/2} δ(ε−l) dl, where δ(x) = 1−e^{(x−b)/2} in [−b, b] and
  // 1−e^x below.
  discretised const two = method(laplace{.noise_multiplier = 1.0 / b}, 2, 1e-5);
  auto const single = [b](double x) {
    return x >= b ? 0.0 : x >= -b ? -std::expm1(0.5 * (x - b)) : -std::expm1(x);
  };
  for (double const e : {0.1, 0.7, 1.2}) {
    double sum = 0.5 * single(e - b) + 0.5 * std::exp(-b) * single(e + b);
    int const n = 400000;
    for (int k = 0; k < n; ++k) {
      double const l = -b + 2.0 * b * (k + 0.5) / n;
      sum += 0.25 * std::exp(0.5 * (l - b)) * single(e - l) * 2.0 * b / n;
    }
    bound<double> const d = two.delta(e);
    CAPTURE(e, sum, d.lower, d.upper);
    CHECK(d.lower <= sum * (1.0 + 1e-9));
    CHECK(sum <= d.upper * (1.0 + 1e-9));
    CHECK(width_of(d) < 1e-4);
  }
}

TEST_CASE("the exponential mechanism: one step in closed form", "[dp]") {
  discretised const one = method(exponential_mechanism{.epsilon = 1.2}, 1, 1e-4);
  for (double const e : {0.0, 0.3, 0.9}) {
    exact const rest = exact(1 - exp(exact((exact(e) - exact(1.2)) / 2)));
    exact const truth = exact(rest * rest / (1 - exp(exact(-1.2))));
    bound<double> const d = one.delta(e);
    CAPTURE(e, d.lower, d.upper);
    CHECK(exact(d.lower) <= truth);
    CHECK(truth <= exact(d.upper));
    CHECK(width_of(d) < 1e-3);
  }
}

TEST_CASE("a discrete Gaussian follows its sum", "[dp]") {
  double const sigma = 3.0;
  discretised const one = method(discrete_gaussian{.sigma = sigma}, 1, 1e-4);
  exact total = 0;
  for (int k = -150; k <= 150; ++k) total += exp(exact(-exact(k) * k / (2 * exact(sigma) * sigma)));
  for (double const e : {0.0, 0.1, 0.5, 1.0}) {
    exact truth = 0;
    for (int k = -150; k <= 150; ++k) {
      exact const q = exact(exp(exact(-exact(k) * k / (2 * exact(sigma) * sigma))) / total);
      exact const p =
          exact(exp(exact(-exact(k - 1) * (k - 1) / (2 * exact(sigma) * sigma))) / total);
      exact const excess = exact(p - exp(exact(e)) * q);
      if (excess > 0) truth += excess;
    }
    bound<double> const d = one.delta(e);
    CAPTURE(e, d.lower, d.upper);
    CHECK(exact(d.lower) <= truth);
    CHECK(truth <= exact(d.upper));
    CHECK(width_of(d) < 1e-9);
  }
}

TEST_CASE("several kinds of release together", "[dp]") {
  // Gaussians only: their multipliers add up in closed form.
  discretised run(adjacency::add_remove, 1e-3);
  exact square = 0;
  for (int k = 1; k <= 12; ++k) {
    double const sigma = 20.0 + 17.0 * k;
    run.add(gaussian{.noise_multiplier = sigma}, static_cast<std::uint64_t>(40 * k));
    square += exact(40 * k) / (exact(sigma) * sigma);
  }
  run.add(gaussian{.noise_multiplier = 3.0}, 1);
  square += 1 / exact(9);
  bound<double> const e = run.epsilon(1e-6);
  CHECK(gaussian_delta(sqrt(square), exact(e.upper)) <= exact(1e-6));
  CHECK(gaussian_delta(sqrt(square), exact(e.lower)) >= exact(1e-6));
  CHECK(width_of(e) < 3e-3);
  // Something infinite adds its mass.
  discretised fails(adjacency::add_remove);
  fails.add(approx_dp{.epsilon = 0.1, .delta = 1e-4}, 3);
  exact const kept = exact(1 - exact(1e-4));
  CHECK(exact(fails.delta(5.0).lower) <= exact(1 - kept * kept * kept));
  CHECK(exact(fails.delta(5.0).upper) >= exact(1 - kept * kept * kept));
  CHECK(fails.epsilon(1e-4).upper == std::numeric_limits<double>::infinity());
}

TEST_CASE("more releases and less noise cost more", "[dp]") {
  bound<double> last{0.0, 0.0};
  for (std::uint64_t const count : std::array<std::uint64_t, 4>{1, 10, 100, 1000}) {
    bound<double> const e = method(sampled_gaussian(0.1, 2.0), count, 1e-2).epsilon(1e-6);
    CHECK(e.lower <= e.upper);
    CHECK(e.lower > last.upper);
    last = e;
  }
  last = {1e300, 1e300};
  for (double const sigma : {0.7, 1.5, 4.0, 20.0}) {
    bound<double> const e = method(sampled_gaussian(0.05, sigma), 200, 1e-2).epsilon(1e-6);
    CHECK(e.upper < last.lower);
    last = e;
  }
}

TEST_CASE("extreme rates and noise give intervals, never nonsense", "[.sweep]") {
  for (double const rate : {1e-12, 1e-3, 0.9}) {
    for (double const sigma : {0.05, 1.0, 1e6}) {
      for (std::uint64_t const count : {std::uint64_t{1}, std::uint64_t{300}}) {
        discretised const run = method(sampled_gaussian(rate, sigma), count, 0.1);
        bound<double> const e = run.epsilon(1e-6);
        bound<double> const d = run.delta(0.5);
        CAPTURE(rate, sigma, count, e.lower, e.upper, d.lower, d.upper);
        CHECK(e.lower >= 0.0);
        CHECK(e.lower <= e.upper);
        CHECK(e.upper < 1e300);
        CHECK(d.lower >= 0.0);
        CHECK(d.lower <= d.upper);
        // Never more than all that a sample can do, here less than ½.
        if (rate * static_cast<double>(count) < 0.5) {
          CHECK(d.upper <= rate * static_cast<double>(count) + 1e-7);
        }
      }
    }
  }
}

TEST_CASE("what no fine grid holds is answered from a coarse one", "[dp][long]") {
  // A step's loss reaches 30,000 of its deviations. By contour integral ε is 16.3975.
  discretised const noisy = method(sampled_gaussian(1e-6, 0.3), 100000000, 0.1);
  bound<double> const e = noisy.epsilon(1e-6);
  CAPTURE(e.lower, e.upper);
  CHECK(e.lower <= 16.3975);
  CHECK(e.upper >= 16.3975);
  CHECK(e.upper < 18.0);
  // Far above what can be reached: next to nothing, and not 1.
  CHECK(method(sampled_gaussian(1e-12, 1.0), 10000).delta(0.5).upper < 1e-20);
  CHECK(method(sampled_gaussian(1e-12, 30.0), 10000).delta(0.5).upper < 1e-200);
}

TEST_CASE("a profile that is not convex has an upper bound alone", "[dp]") {
  event const release = sampled(gaussian_dp{.mu = 2.0}, fixed_size{10, 100});
  discretised const run = method(release, 1, adjacency::zero_out, 1e-2);
  CHECK(run.delta(0.2).lower == 0.0);
  // The hull is at most the profile, and at least what the profile is far out, where it is convex.
  auto const profile = [](double rate, double absent, double changed, double e) {
    exact const inner = log(exact(1 + (exp(exact(e)) - 1) / exact(rate)));
    exact const theta = exp(exact(exact(e) - inner));
    return exact(exact(rate) * ((1 - theta) * gaussian_delta(exact(absent), inner) +
                                theta * gaussian_delta(exact(changed), inner)));
  };
  CHECK(exact(run.delta(0.2).upper) <= profile(0.1, 4.0, 2.0, 0.2) * (1 + exact(1e-4)));
  CHECK(exact(run.delta(8.0).upper) >= profile(0.1, 4.0, 2.0, 8.0));
  CHECK(exact(run.delta(8.0).upper) <= profile(0.1, 4.0, 2.0, 8.0) * (1 + exact(1e-2)));
  // Under replace_one a convex one.
  bound<double> const two = method(sampled(gaussian{.noise_multiplier = 2.0}, fixed_size{10, 100}),
                                   1, adjacency::replace_one, 1e-3)
                                .delta(0.2);
  CHECK(two.lower > 0.0);
  CHECK(width_of(two) < 1e-2);
  exact const truth = profile(0.1, 1.0, 1.0, 0.2);
  CHECK(exact(two.lower) <= truth);
  CHECK(truth <= exact(two.upper));
}

TEST_CASE("amplified profiles: the 40-digit table lies inside", "[dp]") {
  table const rows("dp_replace.csv");
  int convex = 0;
  int hulls = 0;
  for (std::size_t k = 0; k < rows.size(); k += 2) {
    double const sigma = rows.number(k, "sigma");
    double const absent = rows.number(k, "absent") / sigma;
    double const changed = rows.number(k, "changed") / sigma;
    dominating_pair const pair =
        amplified_pair{amplified_pair::noise::normal, rows.number(k, "rate"), absent, changed};
    exact const truth = rows.value(k, "delta");
    if (truth < exact(1e-290)) continue;
    // At a rate of 1e-9 losses spread over too many scales for one grid.
    bool const tight = rows.number(k, "rate") > 1e-3;
    if (!tight && k % 8 != 0) continue;
    discretised run(adjacency::replace_one, 1e-2);
    run.add(domination{pair, pair, true, false}, 1);
    bound<double> const d = run.delta(rows.number(k, "epsilon"));
    CAPTURE(k, rows.text(k, "rate"), sigma, absent, changed, rows.text(k, "epsilon"), d.lower,
            d.upper);
    // The table's ε and shifts are rounded here.
    exact const slack = exact(1e-12);
    CHECK(exact(d.lower) <= truth * (1 + slack));
    if (absent <= changed) {
      CHECK(exact(d.upper) >= truth * (1 - slack));
      if (tight) CHECK(exact(d.upper) <= truth * exact(1.1));
      ++convex;
    } else {
      // The hull is nowhere above the profile, and is the profile far out.
      CHECK(d.lower == 0.0);
      if (tight) CHECK(exact(d.upper) <= truth * exact(1.1));
      if (truth < exact(1e-40)) {
        CHECK(exact(d.upper) >= truth * (1 - slack));
        ++hulls;
      }
    }
  }
  CHECK(convex > 30);
  CHECK(hulls > 5);
}

TEST_CASE("amplification with so little noise that e^loss overflows", "[dp]") {
  discretised const run = method(sampled(gaussian{.noise_multiplier = 0.05}, fixed_size{10, 1000}),
                                 1, adjacency::replace_one, 1e-2);
  for (double const e : {1.0, 300.0, 800.0, 918.0}) {
    // δ_absent = δ_changed, and e^ε = 1 + (e^{ε′} − 1)/rate.
    exact const inner = log(exact(1 + (exp(exact(e)) - 1) * 100));
    exact const truth = exact(gaussian_delta(exact(40), inner) / 100);
    bound<double> const d = run.delta(e);
    CAPTURE(e, d.lower, d.upper);
    CHECK(exact(d.lower) <= truth * exact(1 + 1e-10));  // 1/0.05 is not 20 in double
    CHECK(truth <= exact(d.upper) * exact(1 + 1e-10));
    CHECK(width_of(d) < 2e-2);
  }
}

TEST_CASE("fixed batches under zero_out compose, and cost less than under replace_one", "[dp]") {
  struct run {
    mechanism_event what;
    std::uint64_t count;
  };
  for (auto const& [what, count] :
       {run{gaussian{0.5}, 1}, run{gaussian{0.5}, 100}, run{gaussian{0.5}, 1000},
        run{gaussian{1.0}, 1000}, run{gaussian{0.05}, 1}, run{laplace{0.5}, 100},
        run{laplace{3.0}, 100}}) {
    event const release = sampled(what, fixed_size{1000, 100000});
    bound<double> const zero = method(release, count, adjacency::zero_out, 1e-3).epsilon(1e-5);
    bound<double> const replace =
        method(release, count, adjacency::replace_one, 1e-3).epsilon(1e-5);
    renyi_accountant by_moments(adjacency::zero_out);
    by_moments.compose(release, count);
    CAPTURE(count, zero.upper, replace.lower, replace.upper);
    CHECK(zero.lower > 0.0);
    CHECK(width_of(zero) < 1e-2);
    CHECK(zero.upper <= replace.upper);
    CHECK(zero.upper >= 0.25 * replace.lower);
    CHECK(zero.upper < by_moments.epsilon(1e-5).upper);
  }
}

TEST_CASE("the accountant of this method", "[dp]") {
  discretised_accountant account;
  CHECK(account.epsilon(1e-5).upper == 0.0);
  CHECK(account.delta(0.0).upper == 0.0);
  account.compose(gaussian{.noise_multiplier = 1e6}, 0);
  CHECK(account.epsilon(1e-5).upper == 0.0);
  account.compose(sampled_gaussian(0.1, 2.0), 50);
  discretised_accountant const copy = discretised_accountant::load(account.save());
  CHECK(copy.epsilon(1e-5).upper == account.epsilon(1e-5).upper);
  CHECK_THROWS_AS(account.compose(sampled(gaussian{.noise_multiplier = 1.0}, shuffled{})),
                  std::invalid_argument);
  CHECK(account.epsilon(1e-5).upper == copy.epsilon(1e-5).upper);
  // The Bayes risk is below what the (ε, δ) of any one point says.
  double const success = account.attack_success(0.5);
  CHECK(success > 0.5);
  for (double const delta : {1e-2, 1e-5}) {
    CHECK(success <= attack_success(approx_dp{account.epsilon(delta).upper, delta}, 0.5) + 1e-12);
  }
  CHECK_THROWS_AS(discretised(adjacency::add_remove, 0.0), std::domain_error);
  CHECK_THROWS_AS(discretised(adjacency::add_remove, std::nan("")), std::domain_error);
}

TEST_CASE("several Gaussians whose variances leave the range of doubles still count", "[dp]") {
  for (double const sigma : {1e-300, 1e-160, 1e-155}) {
    discretised_accountant account;
    account.compose(gaussian{sigma});
    account.compose(gaussian{2.0 * sigma});
    CHECK(account.delta(0.0).upper == 1.0);
    CHECK(account.delta(1.0).upper == 1.0);
  }
  for (double const sigma : {1e155, 1e170, 1e300}) {
    discretised_accountant account;
    account.compose(gaussian{sigma});
    account.compose(gaussian{2.0 * sigma});
    CHECK(account.delta(0.0).upper >= 0.39 / sigma);  // φ(0)·μ
  }
  discretised_accountant least;
  least.compose(matrix_gaussian{1e200, 1e-200});
  CHECK(least.delta(0.0).upper > 0.0);
}

// With 2^62 releases and more one factor of an error is below e^−700 and the other above e^700. Their product was taken for nothing,
// and half of these questions had a δ of at most 1e-276.
TEST_CASE("an upper end is above the central limit of very many releases", "[dp][long]") {
  struct run {
    double noise;
    double rate;
    std::uint64_t count;
  };
  for (run const& r :
       {run{1e3, 1e-6, std::uint64_t{1} << 58U},
        run{99330752.494264439, 0.060945054050888611, std::uint64_t{4'125'610'323'454'349'312U}},
        run{1e9, 0.08, std::uint64_t{9'223'373'136'366'403'584U}},
        run{1e9, 0.08, std::uint64_t{18'446'744'073'709'549'567U}},
        run{3e8, 0.1, std::uint64_t{9'223'373'136'366'403'584U}}}) {
    event const release = sampled(gaussian{r.noise}, poisson{r.rate});
    basic_discretised<double> grid(adjacency::add_remove);
    grid.add(dominate(release, adjacency::add_remove), r.count);
    privacy_loss_accountant all;
    all.compose(release, r.count);
    double const mu = r.rate * std::sqrt(static_cast<double>(r.count)) / r.noise;
    CAPTURE(mu, r.count);
    for (double const at : {0.0, 0.5, 1.0}) {
      CAPTURE(at);
      double const least = delta(gaussian_dp{0.99 * mu}, at).lower;
      for (orientation const way : {orientation::remove, orientation::add}) {
        detail::work_budget work(1.7e9);
        CHECK(grid.delta_towards(way, at, work, 1e-4).upper >= least);
      }
      CHECK(all.delta(at).upper >= least);
      CHECK(all.delta(at).lower <= delta(gaussian_dp{1.01 * mu}, at).upper);
    }
    CHECK(all.epsilon(1e-6).upper >= epsilon(gaussian_dp{0.99 * mu}, 1e-6).lower);
  }
  // Draws with replacement, of which there are more than one grid's worth of parts.
  for (std::uint64_t const count :
       {std::uint64_t{9'223'373'136'366'403'584U}, std::uint64_t{18'446'744'073'709'549'567U}}) {
    privacy_loss_accountant all;
    all.compose(sampled(gaussian{1e9}, with_replacement{800, 10'000}), count);
    gaussian_dp const nearly{0.99 * 0.08 * std::sqrt(static_cast<double>(count)) / 1e9};
    CAPTURE(count, nearly.mu);
    CHECK(all.delta(1.0).upper >= delta(nearly, 1.0).lower);
    CHECK(all.epsilon(1e-6).upper >= epsilon(nearly, 1e-6).lower);
  }
}
