// SPDX-License-Identifier: Apache-2.0
// The fragments that pages show without the program around them, and the figures that the pages give for them.
#include <tacit/audit.hpp>
#include <tacit/info.hpp>
#include <tacit/mechanism/paczero.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

using namespace tacit;
using namespace tacit::literals;

TEST_CASE("papers.md: the paper's PACZero", "[docs]") {
  std::size_t const T = 100;
  std::size_t const N = 40;
  nats const B(0.33);
  std::uint64_t const public_seed = 42;
  // clang-format off
  tacit::paczero mechanism({.steps = T, .budget = B,               // 0 for ZPL
                            .what = tacit::observed::value,
                            .spend = tacit::allocation::adaptive,
                            .otherwise = tacit::disagreement::coin},
                           tacit::candidate_set::balanced({.records = N, .subsets = 128}, public_seed));
  // clang-format on
  CHECK(mechanism.records() == N);
}

TEST_CASE("papers.md: 60 nodes of Gauss and Hermite, in 50 digits", "[docs]") {
  using wide = boost::multiprecision::cpp_bin_float_50;
  tacit::basic_binary_channel<wide> const c{wide(0.03), wide(0.36)};
  wide const error =
      gauss_hermite_information(c, tacit::gauss_hermite<wide>(60)) / mutual_information(c) - 1;
  CHECK(static_cast<double>(error) == Approx(-2.8e-6).margin(5e-8));
}

TEST_CASE("papers.md: a sign charged as a sign has the larger correlation", "[docs]") {
  nats const budget(0.3 * binary_entropy(0.5));
  double const by_sign = noise_for(sign_channel{.prior = 0.5}, budget).correlation();
  double const by_value =
      flip_of_gaussian(noise_for(binary_channel{.prior = 0.5}, budget)).correlation();
  CHECK(by_sign == Approx(0.6214).margin(5e-5));
  CHECK(by_value == Approx(0.5294).margin(5e-5));
}

TEST_CASE("papers.md: a sign charged as a sign while the posterior follows the value", "[docs]") {
  // clang-format off
  flip const e = flip_of_gaussian(1.0);
  auto const information = [&](double q) { return mutual_information(sign_channel{.prior = q, .noise = e}); };
  double const truth = information(0.5) + information(e.probability());  // the posterior after a sign: e or 1 − e
  double const charged = information(0.5) + trapezoid([&](double x) {    // the posterior after the value 1 + x
    double const q = 1.0 / (1.0 + std::exp(-2.0 * (1.0 + x)));
    return std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi) * information(std::min(q, 1.0 - q));
  }, -12.0, 12.0, 0.01);
  // clang-format on
  CHECK(truth == Approx(0.3985).margin(5e-5));
  CHECK(charged == Approx(0.3741).margin(5e-5));
}

TEST_CASE("audit.md: a verdict", "[docs]") {
  attack_trials trials(2);
  std::array<std::uint8_t, 2> const right{1, 1};  // this attacker is never wrong
  for (int run = 0; run < 100; ++run) trials.add(right);
  double const allowed = 0.6;
  confidence_interval const success = trials.mean(0.99);
  verdict const v = verdict_on(success, allowed);  // caught: success.lower > allowed
  CHECK(v == verdict::caught);
}
