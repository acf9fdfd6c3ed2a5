// SPDX-License-Identifier: Apache-2.0
#include <tacit/info/attack.hpp>
#include <tacit/info/conversion.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <cmath>
#include <limits>

using namespace tacit;
using support::exact;
using support::table;

TEST_CASE("attack bounds stay above the 40-digit truth, and close to it") {
  table const reference("attack.csv");
  std::size_t sharp = 0;
  for (std::size_t row = 0; row < reference.size(); ++row) {
    nats const mi(reference.number(row, "mi"));
    double const prior = reference.number(row, "prior");
    CAPTURE(mi.value, prior);
    double const success = attack_success(mi, prior);
    exact const truth = reference.value(row, "success");
    CHECK(exact(success) >= truth);
    CHECK(exact(success) <= truth + exact(1e-9) * (truth - exact(prior)) + exact(4e-16));
    if (prior < 0.5) continue;
    double const exact_form = membership_success(mi, prior);
    exact const sharp_truth = reference.value(row, "success_exact");
    CHECK(exact(exact_form) >= sharp_truth);
    CHECK(exact(exact_form) <=
          sharp_truth + exact(1e-9) * (sharp_truth - exact(prior)) + exact(4e-16));
    CHECK(exact_form <= success * (1 + 1e-12));
    ++sharp;
  }
  CHECK(sharp > 50);
}

TEST_CASE("the figures of the papers") {
  CHECK(attack_success(nats(0.25)) == Approx(0.837893).margin(1e-6));
  CHECK(attack_success(nats(1.0 / 128)) == Approx(0.562418).margin(1e-6));
  CHECK(attack_success(nats(0.33)) == Approx(0.881888).margin(1e-6));
  CHECK(epsilon_for(attack_success(nats(0.33))) == Approx(2.010).margin(1e-3));
  CHECK(attack_success(nats(0.68)) == Approx(0.998204).margin(1e-6));
  CHECK(epsilon_for(attack_success(nats(0.68))) == Approx(6.32).margin(1e-2));
  CHECK(membership_success(nats(0.05), 0.9) == Approx(0.9215).margin(1e-4));
  CHECK(attack_success(nats(0.05), 0.9) == Approx(0.979).margin(1e-3));
}

TEST_CASE("success and budget are inverse to each other, each on its safe side") {
  for (double const prior : {1.0 / 128, 0.1, 0.5, 0.75, 0.9, 0.999}) {
    for (double const success : {0.5, 0.500001, 0.6, 0.9, 0.99, 0.9999999, 1.0}) {
      CAPTURE(prior, success);
      if (success < prior) {
        CHECK_THROWS_AS(information_for(success, prior), infeasible);
        continue;
      }
      nats const budget = information_for(success, prior);
      // The budget granted must keep even the true attacker at or under the success asked for.
      CHECK(bernoulli_kl(exact(success), exact(prior)) >= exact(budget.value));
      CHECK(attack_success(budget, prior) == Approx(success).epsilon(1e-6));
    }
  }
  for (double const delta : {0.0, 1e-5, 0.1}) {
    for (double const success : {0.6, 0.9, 0.9999}) {
      double const epsilon = epsilon_for(success, 0.5, delta);
      // 1 − (1−δ)/(1+e^ε) ≤ success in exact arithmetic
      CHECK(exact(1) - (exact(1) - exact(delta)) / (exact(1) + exp(exact(epsilon))) <=
            exact(success));
      CHECK(attack_success(approx_dp{epsilon, delta}) == Approx(success).epsilon(1e-12));
    }
  }
}

TEST_CASE("success under (epsilon, delta) is above the exact corner") {
  for (double const epsilon : {0.0, 1e-9, 0.1, 1.0, 5.0, 40.0, 800.0}) {
    for (double const delta : {0.0, 1e-9, 0.01, 1.0}) {
      for (double const prior : {0.5, 0.9}) {
        exact const corner =
            exact(1) - (exact(1) - exact(delta)) / (exact(1) + exp(exact(epsilon)));
        exact const edge = exact(prior) + exact(delta) * (exact(1) - exact(prior));
        double const bound = attack_success(approx_dp{epsilon, delta}, prior);
        CAPTURE(epsilon, delta, prior);
        CHECK((exact(bound) >= (corner > edge ? corner : edge) || bound == 1.0));
        CHECK(bound <= 1.0);
      }
    }
  }
  CHECK(attack_success(approx_dp{0.0, 0.0}, 0.9) == 0.9);
}

TEST_CASE("the ends are defined and nonsense is refused") {
  CHECK(attack_success(nats(0.0), 0.3) == 0.3);
  CHECK(attack_success(nats(1.0)) == 1.0);
  CHECK(membership_success(nats(0.7)) == 1.0);
  CHECK(membership_success(nats(0.0), 0.8) == 0.8);
  CHECK(information_for(0.5).value == 0.0);
  CHECK(epsilon_for(1.0) == std::numeric_limits<double>::infinity());
  CHECK_THROWS_WITH(attack_success(approx_dp{1.0, 0.0}, 0.25),
                    "attack_success: prior_success is 0.25, but must be in [0.5, 1]");
  CHECK_THROWS_AS(attack_success(nats()), std::domain_error);
  CHECK_THROWS_AS(attack_success(nats(-0.1)), std::domain_error);
  CHECK_THROWS_AS(attack_success(nats(0.1), 0.0), std::domain_error);
  CHECK_THROWS_AS(attack_success(approx_dp{}), std::domain_error);
  CHECK_THROWS_AS(attack_success(approx_dp{-1.0, 0.0}), std::domain_error);
  CHECK_THROWS_AS(membership_success(nats(0.1), 0.3), std::domain_error);
  CHECK_THROWS_AS(information_for(std::nan("")), std::domain_error);
  CHECK_THROWS_AS(epsilon_for(0.6, 0.5, 0.9), infeasible);
}

TEST_CASE("differential privacy in nats stays above the 40-digit truth") {
  table const gaussian("gaussian_dp.csv");
  for (std::size_t row = 0; row < gaussian.size(); ++row) {
    double const mu = gaussian.number(row, "mu");
    double const prior = gaussian.number(row, "prior");
    exact const truth = gaussian.value(row, "mutual_information");
    double const upper = information_bound(gaussian_dp{mu}, prior).value;
    CAPTURE(mu, prior);
    CHECK(exact(upper) >= truth);
    CHECK(exact(upper) <= truth * exact(1 + 1e-12));
  }
  table const approximate("approx_dp.csv");
  for (std::size_t row = 0; row < approximate.size(); ++row) {
    approx_dp const guarantee{approximate.number(row, "epsilon"), approximate.number(row, "delta")};
    exact const truth = approximate.value(row, "mutual_information");
    double const upper = information_bound(guarantee).value;
    CAPTURE(guarantee.epsilon, guarantee.delta);
    CHECK(exact(upper) >= truth);
    CHECK(exact(upper) <= truth * exact(1 + 1e-12) + exact(1e-307));
  }
  CHECK(information_bound(gaussian_dp{0.0}).value == 0.0);
  CHECK(information_bound(approx_dp{0.0, 0.0}).value == 0.0);
  CHECK_THROWS_AS(information_bound(gaussian_dp{}), std::domain_error);
  CHECK_THROWS_AS(information_bound(approx_dp{1.0, 2.0}), std::domain_error);
}

TEST_CASE("the inverse of a divergence returns the safe end") {
  CHECK_THROWS_AS(upper_probability_for(nats(), 0.5), std::domain_error);
  CHECK_THROWS_AS(bernoulli_kl(0.5, std::nan("")), std::domain_error);
  CHECK(bernoulli_kl(0.5, 0.0) == std::numeric_limits<double>::infinity());
}

TEST_CASE("what underflows is not nothing, and next to the prior success is not at it") {
  // A guarantee of 1e-310, or of 1e-200 whose square underflows, still lets something through.
  for (double const tiny : {5e-324, 1e-310, 1e-200}) {
    CHECK(information_bound(gaussian_dp{tiny}).value > 0.0);
    CHECK(information_bound(approx_dp{tiny, 0.0}).value > 0.0);
    CHECK(information_bound(approx_dp{0.0, tiny}).value > 0.0);
    CHECK(attack_success(approx_dp{tiny, 0.0}) > 0.5);
    CHECK(attack_success(approx_dp{0.0, tiny}) > 0.5);
    for (double const prior : {0.5, 0.75, 1.0 - 1e-9}) {
      CHECK(attack_success(nats(tiny), prior) > prior);
      CHECK(membership_success(nats(tiny), prior) > prior);
    }
  }
  CHECK(information_bound(gaussian_dp{0.0}).value == 0.0);
  CHECK(information_bound(approx_dp{0.0, 0.0}).value == 0.0);
  CHECK(attack_success(approx_dp{0.0, 0.0}) == 0.5);
  // e^ε/(1 + e^ε) for ε around log(p/(1−p)): never rounded down to the prior success.
  for (double const prior : {0.6, 0.75, 0.9, 0.999}) {
    double epsilon = std::log(prior / (1.0 - prior));
    for (int k = 0; k < 8; ++k) epsilon = std::nextafter(epsilon, 0.0);
    for (int k = 0; k < 16; ++k, epsilon = std::nextafter(epsilon, 10.0)) {
      exact const truth = 1 / (1 + exp(exact(-epsilon)));
      CHECK(exact(attack_success(approx_dp{epsilon, 0.0}, prior)) >= truth);
    }
  }
}
