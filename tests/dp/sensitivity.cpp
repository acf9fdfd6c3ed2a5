// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/sensitivity.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <cmath>
#include <cstddef>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using tacit::beside_clip_count;
using tacit::clipped_group;
using tacit::joint_gaussian;
using tacit::with_clip_count;

std::vector<double> const not_positive{0.0, -0.0, -1.0, infinity, -infinity, not_a_number};
std::vector<double> const not_non_negative{-1e-300, -1.0, infinity, -infinity, not_a_number};

}  // namespace

TEST_CASE("groups released together: n equal ones have 1/√n of the noise", "[dp][sensitivity]") {
  for (std::size_t const n : std::vector<std::size_t>{1, 2, 24, 1000, 100000}) {
    std::vector<clipped_group> const groups(n, {.clip = 0.7, .sigma = 0.7 * 1.3});
    double const joint = joint_gaussian(groups).noise_multiplier;
    double const truth = 1.3 / std::sqrt(static_cast<double>(n));
    CHECK(joint <= truth);
    CHECK(joint >= truth * (1.0 - 1e-14 * static_cast<double>(n + 10)));
  }
  // RLDP's adapters, GPT-2 with q and v: 24 groups, each with noise σC_i for its own C_i.
  std::vector<clipped_group> adapters;
  for (int i = 0; i < 24; ++i) adapters.push_back({0.1 * (i + 1), 2.0 * 0.1 * (i + 1)});
  CHECK(2.0 / joint_gaussian(adapters).noise_multiplier ==
        Approx(4.898979485566356).epsilon(1e-12));
}

TEST_CASE("groups released together: never more noise than there is", "[dp][sensitivity]") {
  std::mt19937_64 bits(7);
  std::uniform_real_distribution<double> exponent(-3.0, 3.0);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<clipped_group> groups(1 + bits() % 40);
    long double squares = 0.0L;
    for (clipped_group& g : groups) {
      g = {std::pow(10.0, exponent(bits)), std::pow(10.0, exponent(bits))};
      long double const ratio = static_cast<long double>(g.clip) / g.sigma;
      squares += ratio * ratio;
    }
    long double const truth = 1.0L / std::sqrt(squares);
    double const joint = joint_gaussian(groups).noise_multiplier;
    REQUIRE(static_cast<long double>(joint) <= truth);
    REQUIRE(static_cast<long double>(joint) >= truth * (1.0L - 1e-13L));
  }
  // A group that nobody contributes to changes nothing but the rounding.
  std::vector<clipped_group> const one{{3.0, 4.0}};
  std::vector<clipped_group> const two{{3.0, 4.0}, {0.0, 1.0}};
  CHECK(joint_gaussian(two).noise_multiplier ==
        Approx(joint_gaussian(one).noise_multiplier).epsilon(1e-14));
}

TEST_CASE("groups released together: refusals", "[dp][sensitivity]") {
  auto const joint = [](double clip, double sigma) {
    std::vector<clipped_group> const groups{{1.0, 1.0}, {clip, sigma}};
    return joint_gaussian(groups);
  };
  for (double const x : not_positive) CHECK_THROWS_AS(joint(1.0, x), std::domain_error);
  for (double const x : not_non_negative) CHECK_THROWS_AS(joint(x, 1.0), std::domain_error);
  CHECK_THROWS_WITH(joint(-1.0, 1.0),
                    "joint_gaussian: clip is -1, but must be finite and at least 0");
  CHECK_THROWS_WITH(joint(1.0, 0.0), "joint_gaussian: sigma is 0, but must be positive and finite");
  std::string const none =
      "joint_gaussian: number of groups with a positive clip is 0, but must be at least 1";
  CHECK_THROWS_WITH(joint_gaussian(std::vector<clipped_group>{}), none);
  CHECK_THROWS_AS(joint_gaussian(std::vector<clipped_group>{}), std::invalid_argument);
  CHECK_THROWS_WITH(joint_gaussian(std::vector<clipped_group>{{0.0, 1.0}}), none);
  // Neither noise out of an underflow, nor infinitely little of it.
  CHECK_THROWS_AS(joint_gaussian(std::vector<clipped_group>{{1e-300, 1e300}}), std::domain_error);
  CHECK_THROWS_AS(joint(1e300, 1e-300), std::domain_error);
}

TEST_CASE("a clip count beside the updates: Andrew et al.'s split of the noise, and its inverse",
          "[dp][sensitivity]") {
  // z = 1.1 for both and a count of noise 10: 1/sqrt(1/1.1^2 - 1/20^2), in 17 digits.
  CHECK(beside_clip_count({1.1}, 10.0).noise_multiplier ==
        Approx(1.1016675341732837).epsilon(1e-13));
  CHECK(with_clip_count({1.1016675341732837}, 10.0).noise_multiplier == Approx(1.1).epsilon(1e-14));
  std::mt19937_64 bits(5);
  std::uniform_real_distribution<double> draw(-3.0, 3.0);
  for (int trial = 0; trial < 2000; ++trial) {
    double const updates = std::exp(draw(bits));
    double const count = std::exp(draw(bits));
    // The two released as one vector: how far a record moves it, each coordinate in units of its noise.
    long double const z = updates;
    long double const s = count;
    long double const moved = std::sqrt(1.0L / (z * z) + 0.25L / (s * s));
    double const together = with_clip_count({updates}, count).noise_multiplier;
    CHECK(together <= 1.0L / moved);
    CHECK(together >= (1.0L - 1e-14L) / moved);
    double const back = beside_clip_count({together}, count).noise_multiplier;
    CHECK(with_clip_count({back}, count).noise_multiplier >= together);
    CHECK(back == Approx(updates).epsilon(1e-12 * (1.0 + std::pow(updates / count, 2.0))));
  }
  CHECK_THROWS_WITH(
      beside_clip_count({1.0}, 0.5),
      "beside_clip_count: count_noise is 0.5, but must be above half the noise_multiplier");
  for (double const x : not_positive) {
    CHECK_THROWS_AS(with_clip_count({x}, 1.0), std::domain_error);
    CHECK_THROWS_AS(with_clip_count({1.0}, x), std::domain_error);
    CHECK_THROWS_AS(beside_clip_count({x}, 1.0), std::domain_error);
    CHECK_THROWS_AS(beside_clip_count({1.0}, x), std::domain_error);
  }
}
