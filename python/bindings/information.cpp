// SPDX-License-Identifier: Apache-2.0
//
// Information in nats, and what attackers make of it.

#include <tacit/info/attack.hpp>
#include <tacit/info/binary_channel.hpp>

#include "argument.hpp"
#include "binding.hpp"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace binding {

void bind_information(nb::module_& m) {
  using tacit::nats;
  m.def(
      "mutual_information",
      [](argument<double> const& prior, argument<double> const& sigma) {
        constexpr char const* who = "mutual_information";
        return tacit::information_charge(
                   tacit::binary_channel{.prior = prior.as(who, "prior", "in [0, 1]"),
                                         .sigma = sigma.as(who, "sigma", "at least 0")})
            .value;
      },
      nb::arg("prior"), nb::arg("sigma"),
      "What S + N(0, sigma^2) reveals about a sign S with P(S = +1) = prior, in nats: an upper "
      "bound, tight to rounding.");
  m.def(
      "sigma_for",
      [](argument<double> const& prior, argument<double> const& information) {
        constexpr char const* who = "sigma_for";
        return tacit::noise_for(tacit::binary_channel{.prior = prior.as(who, "prior", "in [0, 1]")},
                                nats(information.as(who, "information", "at least 0")));
      },
      nb::arg("prior"), nb::arg("information"),
      "The least standard deviation at which the noised sign reveals at most so many nats.");
  m.def(
      "attack_success_from_information",
      [](argument<double> const& information, argument<double> const& prior) {
        constexpr char const* who = "attack_success_from_information";
        return tacit::attack_success(nats(information.as(who, "information", "at least 0")),
                                     prior.as(who, "prior", "in (0, 1]"));
      },
      nb::arg("information"), nb::arg("prior") = 0.5,
      "An upper bound on an attacker's average success after a release of so many nats; `prior` "
      "is the success before it, in (0, 1].");
  m.def(
      "information_for_success",
      [](argument<double> const& success, argument<double> const& prior) {
        constexpr char const* who = "information_for_success";
        return tacit::information_for(success.as(who, "success", "in (0, 1]"),
                                      prior.as(who, "prior", "in (0, 1]"))
            .value;
      },
      nb::arg("success"), nb::arg("prior") = 0.5,
      "The most nats that keep every attacker at or under `success`.");
  m.def(
      "attack_success_from_dp",
      [](argument<double> const& epsilon, argument<double> const& delta,
         argument<double> const& prior) {
        constexpr char const* who = "attack_success_from_dp";
        return tacit::attack_success(tacit::approx_dp{epsilon.as(who, "epsilon", "at least 0"),
                                                      delta.as(who, "delta", "in [0, 1]")},
                                     prior.as(who, "prior", "in [0.5, 1]"));
      },
      nb::arg("epsilon"), nb::arg("delta"), nb::arg("prior") = 0.5,
      "An upper bound on an attacker's success against one membership bit under "
      "(epsilon, delta)-DP; `prior` in [0.5, 1].");
}

}  // namespace binding
