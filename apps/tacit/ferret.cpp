// SPDX-License-Identifier: Apache-2.0
//
// FERRET's mutual-information differential privacy: an average, unlike every epsilon of the other verbs.

#include <tacit/core/units.hpp>
#include <tacit/dp/mi_dp.hpp>

#include "verbs.hpp"

namespace calculator {

namespace {

void declare_ferret(arguments& of) {
  of.add("--groups", whole(1, largest_count),
         "needed: groups of parameters, which release a bit or nothing");
  of.add("--steps", whole(1, largest_count), "needed");
  of.add("--rate", positive_probability(), "needed: how often a record takes part in a step");
  of.add("--epsilon", non_negative(),
         "needed: what may be revealed of a record on average, in nats");
}

answer run_ferret(arguments const& of) {
  tacit::ferret const run{
      .groups = of.whole("--groups"), .steps = of.whole("--steps"), .rate = of.number("--rate")};
  tacit::nats const budget(of.number("--epsilon"));
  double const probability = fire_probability(run, budget);
  double const ceiling = mutual_information_ceiling(run).value;
  return {"groups that fire with probability " + rounded_down(probability) +
              " or less reveal at most " + exactly(budget.value) +
              " nats about a record, on average over releases (an average, no epsilon of "
              "differential privacy); always firing they would reveal at most " +
              rounded_up(ceiling),
          {{"probability", probability}, {"ceiling", ceiling}}};
}

}  // namespace

verb ferret() {
  return {
      "ferret", "How often may a group of parameters fire, for so many nats a record?",
      R"(Each of GROUPS releases at most a bit of the batch in a step, and only if a public coin fires.
probability: the largest that keeps the budget. ceiling: the nats of groups that always fire. Both
are averages over releases: a record may be published once in a while. See tacit attack --mi.)",
      declare_ferret, run_ferret};
}

}  // namespace calculator
