// SPDX-License-Identifier: Apache-2.0
//
// Information in nats, and what attackers make of it.

#include <tacit/info/attack.hpp>
#include <tacit/info/binary_channel.hpp>

#include "binding.hpp"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace binding {

void bind_information(nb::module_& m) {
  using tacit::nats;
  m.def(
      "mutual_information",
      [](double prior, double sigma) {
        return tacit::information_charge(tacit::binary_channel{.prior = prior, .sigma = sigma})
            .value;
      },
      nb::arg("prior"), nb::arg("sigma"), nb::call_guard<nb::gil_scoped_release>(),
      "What S + N(0, sigma^2) reveals about a sign S with P(S = +1) = prior, in nats: an upper "
      "bound, tight to rounding.");
  m.def(
      "sigma_for",
      [](double prior, double information) {
        return tacit::noise_for(tacit::binary_channel{.prior = prior}, nats(information));
      },
      nb::arg("prior"), nb::arg("information"), nb::call_guard<nb::gil_scoped_release>(),
      "The least standard deviation at which the noised sign reveals at most so many nats.");
  m.def(
      "attack_success_from_information",
      [](double information, double prior) {
        return tacit::attack_success(nats(information), prior);
      },
      nb::arg("information"), nb::arg("prior") = 0.5,
      "An upper bound on an attacker's average success after a release of so many nats; `prior` "
      "is the success before it, in (0, 1].");
  m.def(
      "information_for_success",
      [](double success, double prior) { return tacit::information_for(success, prior).value; },
      nb::arg("success"), nb::arg("prior") = 0.5,
      "The most nats that keep every attacker at or under `success`.");
  m.def(
      "attack_success_from_dp",
      [](double epsilon, double delta, double prior) {
        return tacit::attack_success(tacit::approx_dp{epsilon, delta}, prior);
      },
      nb::arg("epsilon"), nb::arg("delta"), nb::arg("prior") = 0.5,
      "An upper bound on an attacker's success against one membership bit under "
      "(epsilon, delta)-DP; `prior` in [0.5, 1].");
}

}  // namespace binding
