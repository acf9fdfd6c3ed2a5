// SPDX-License-Identifier: Apache-2.0
#include <tacit/info/entropy.hpp>
#include <tacit/pac/residual.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

using namespace tacit;

namespace {

using law = std::vector<double>;

}  // namespace

TEST_CASE("entropy and intrinsic privacy against three references") {
  CHECK(entropy_of(law{1.0}).value == 0.0);
  CHECK(entropy_of(law{0.25, 0.25, 0.25, 0.25}).value == Approx(std::log(4.0)).epsilon(1e-15));
  CHECK(entropy_of(law{1.0, 1e-20}).value == Approx(1e-20 * (std::log(1e20) + 1.0)).epsilon(1e-15));
  CHECK(entropy_of(law{0.5, 0.5}).value == Approx(std::log(2.0)).epsilon(1e-15));
  CHECK(entropy_of(law{0.2, 0.8, 0.0}).value == Approx(binary_entropy(0.2)).epsilon(1e-14));

  CHECK(std::abs(intrinsic_privacy(law(7, 1.0 / 7.0)).value) < 1e-15);
  CHECK(intrinsic_privacy(law{1.0, 0.0, 0.0}).value == Approx(-std::log(3.0)).epsilon(1e-15));
  law const p{0.5, 0.3, 0.2};
  CHECK(intrinsic_privacy(p, p).value == 0.0);
  CHECK(intrinsic_privacy(p, law(3, 1.0 / 3.0)).value ==
        Approx(intrinsic_privacy(p).value).epsilon(1e-13));
  CHECK(intrinsic_privacy(p, law{0.2, 0.3, 0.5}).value ==
        Approx(0.3 * std::log(0.4)).epsilon(1e-14));
}

TEST_CASE("what a release leaves is never said to be more than it is") {
  nats const entropy(std::log(8.0));
  for (double const revealed : {0.0, 1e-9, 0.3, 2.0}) {
    remaining_entropy const left = conditional_entropy(entropy, {nats(revealed), 0.95});
    CHECK(left.confidence == 0.95);
    CHECK(left.value.value + revealed <= entropy.value);
    CHECK(std::abs(left.value.value - (entropy.value - revealed)) < 1e-12);
    CHECK(posterior_disadvantage(nats(0.0), {nats(revealed), 0.95}).value.value <= -revealed);
  }
  CHECK(conditional_entropy(entropy, {nats(9.0), 1.0}).value.value == 0.0);
  CHECK(posterior_disadvantage(nats(-0.2), {nats(0.3), 1.0}).value.value ==
        Approx(-0.5).epsilon(1e-12));
  CHECK(attack_success(mi_bound{nats(0.01), 1.0}, 0.25) == attack_success(nats(0.01), 0.25));
}

TEST_CASE("releases compose to what they tell together, and their failures add up") {
  nats const entropy(2.0);
  std::vector<remaining_entropy> parts{{nats(1.9), 0.99}, {nats(1.7), 0.98}, {nats(1.6), 1.0}};
  remaining_entropy const all = composed_entropy(entropy, parts);
  long double const exact = 0.0L + 1.9 + 1.7 + 1.6 - 4.0;
  CHECK(static_cast<long double>(all.value.value) <= exact);
  CHECK(all.value.value == Approx(1.2).epsilon(1e-14));
  CHECK(all.confidence <= 0.97);
  CHECK(all.confidence == Approx(0.97).epsilon(1e-14));
  parts.assign(30, {nats(1.9), 0.99});
  CHECK(composed_entropy(entropy, parts).value.value == 0.0);
  CHECK(composed_entropy(entropy, {parts.data(), 1}).value.value <= 1.9);
}

TEST_CASE("two parts that share their randomness tell more than composition says") {
  // X a fair bit, R another: X⊕R and R tell nothing by themselves, and X together. The rule asks for
  // independent randomness; this is why.
  nats const bit(std::log(2.0));
  std::vector<remaining_entropy> const parts(2, conditional_entropy(bit, {nats(0.0), 1.0}));
  CHECK(composed_entropy(bit, parts).value.value > 0.69);  // in truth: 0
}

TEST_CASE("laws, entropies and parts that mean nothing are refused") {
  for (law const& bad : {law{}, law{0.5, 0.4}, law{1.5, -0.5}, law{not_a_number, 1.0}}) {
    CHECK_THROWS_AS(entropy_of(bad), std::logic_error);
    CHECK_THROWS_AS(intrinsic_privacy(bad), std::logic_error);
  }
  CHECK_THROWS_WITH(intrinsic_privacy(law{0.5, 0.5}, law{1.0, 0.0}),
                    "intrinsic_privacy: reference is 0, but must be positive where the law is");
  CHECK_THROWS_AS(intrinsic_privacy(law{0.5, 0.5}, law{1.0}), std::invalid_argument);
  CHECK_THROWS_AS(conditional_entropy(nats(not_a_number), {nats(0.1), 1.0}), std::domain_error);
  CHECK_THROWS_AS(conditional_entropy(nats(1.0), {nats(-0.1), 1.0}), std::domain_error);
  CHECK_THROWS_AS(conditional_entropy(nats(1.0), {nats(0.1)}), std::domain_error);
  CHECK_THROWS_AS(posterior_disadvantage(nats(-1.0), {nats(0.1)}), std::domain_error);
  CHECK_THROWS_AS(attack_success(mi_bound{nats(0.1)}, 0.5), std::domain_error);
  CHECK_THROWS_AS(composed_entropy(nats(1.0), {}), std::invalid_argument);
  std::vector<remaining_entropy> const above{{nats(1.1), 1.0}};
  CHECK_THROWS_AS(composed_entropy(nats(1.0), above), std::domain_error);
  std::vector<remaining_entropy> const unset{{nats(0.5)}};
  CHECK_THROWS_AS(composed_entropy(nats(1.0), unset), std::domain_error);
}
