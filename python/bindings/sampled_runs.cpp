// SPDX-License-Identifier: Apache-2.0
//
// What samplers of practice make of a whole run: batches cut at a size, a sample drawn once, shuffled batches.

#include <tacit/dp/capped_run.hpp>
#include <tacit/dp/sampled_run.hpp>
#include <tacit/dp/shuffled_batches.hpp>

#include "argument.hpp"
#include "binding.hpp"
#include "patience.hpp"
#include "runs.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace nb = nanobind;

namespace binding {

namespace {

constexpr char const* a_count = "a whole number in [1, 2^53]";

void bind_searches_of_shuffled_runs(nb::module_& m) {
  m.def(
      "shuffled_noise_multiplier_for",
      [](argument<double> const& epsilon, argument<double> const& delta, whole const& steps,
         whole const& epochs, argument<std::string> const& adjacency) {
        constexpr char const* who = "shuffled_noise_multiplier_for";
        tacit::approx_dp const target{epsilon.as(who, "epsilon"), delta.as(who, "delta")};
        return answered_noise(
            who,
            patiently([target, batches = steps.as(who, "steps"), count = epochs.as(who, "epochs"),
                       neighbours = adjacency_of(adjacency.as(who, "adjacency"))] {
              return tacit::shuffled_noise_multiplier_for<tacit::privacy_loss_accountant>(
                  target, batches, count, neighbours, unlimited_effort);
            }));
      },
      nb::kw_only(), nb::arg("epsilon"), nb::arg("delta"), nb::arg("steps"), nb::arg("epochs") = 1,
      nb::arg("adjacency") = "zero_out",
      "The least noise multiplier with which a ShuffledRun of so many steps and epochs is "
      "(epsilon, delta)-DP, within 1e-6 of the least that is certified and never too small. Some "
      "seconds, and longer near epsilon = 0. Raises Infeasible where no noise is enough.");
  m.def(
      "shuffled_epochs_for",
      [](argument<double> const& epsilon, argument<double> const& delta,
         argument<double> const& noise_multiplier, whole const& steps,
         argument<std::string> const& adjacency) {
        constexpr char const* who = "shuffled_epochs_for";
        tacit::approx_dp const target{epsilon.as(who, "epsilon"), delta.as(who, "delta")};
        tacit::gaussian const noise{noise_multiplier.as(who, "noise_multiplier")};
        check_noise_range(who, noise.noise_multiplier);
        return patiently([target, noise, batches = steps.as(who, "steps"),
                          neighbours = adjacency_of(adjacency.as(who, "adjacency"))] {
          return tacit::shuffled_epochs_for<tacit::privacy_loss_accountant>(
              target, noise, batches, neighbours, unlimited_effort);
        });
      },
      nb::kw_only(), nb::arg("epsilon"), nb::arg("delta"), nb::arg("noise_multiplier"),
      nb::arg("steps"), nb::arg("adjacency") = "zero_out",
      "How many shuffled epochs of so many steps are (epsilon, delta)-DP, up to 1e15. Some "
      "seconds, and longer near epsilon = 0. Raises Infeasible if not even one is.");
}

void bind_hidden_in_shuffle(nb::module_& m) {
  m.def(
      "hidden_in_shuffle",
      [](argument<tacit::gaussian> const& noise, whole const& steps,
         argument<double> const& failure, argument<std::string> const& adjacency) {
        constexpr char const* who = "hidden_in_shuffle";
        auto const by = noise.as(who, "noise", "a Gaussian");
        check_noise_range(who, by.noise_multiplier);
        auto const found = patiently([by, batches = steps.as(who, "steps"),
                                      most = failure.as(who, "failure", "in [0, 1)"),
                                      neighbours = adjacency_of(adjacency.as(who, "adjacency"))] {
          return tacit::hidden_in_shuffle(by, batches, most, neighbours);
        });
        return std::pair<tacit::event, double>(found.release, found.failure);
      },
      nb::arg("noise"), nb::arg("steps"), nb::arg("failure"), nb::arg("adjacency") = "zero_out",
      "What an epoch of shuffled batches costs at most, as (event, failure): as much as the event, "
      "of random allocation or of a Gaussian, but for a probability that is at most the given one. "
      "Compose it under zero_out, whichever adjacency was asked about; with the sum of the "
      "failures of all epochs, delta <= delta of what was composed + (1 + e^epsilon)*sum. "
      "Other events count as what they cost under that adjacency: for replace_one, Gaussians with "
      "half of their noise. For epochs of one kind alone, ShuffledRun chooses the failures.\n\n"
      "noise      a Gaussian, its multiplier relative to the most that a record adds to the sum of "
      "a batch\n"
      "steps      batches in an epoch, all of one size, without a smaller one at the end: a whole "
      "number in [1, 10000000]\n"
      "failure    in [0, 1)\n"
      "adjacency  \"zero_out\" or \"replace_one\"; of add_remove nothing is known");
}

}  // namespace

void bind_sampled_runs(nb::module_& m) {
  nb::class_<capped> cut(
      m, "CappedRun",
      "A run whose Poisson-sampled batches are cut down to a size, by ranks of the records that do "
      "not depend on what they contain. With overflow, the probability that any batch is larger, "
      "delta grows by (1 + e^epsilon)*overflow at most; where that is much, steps in which a "
      "record "
      "would displace another are counted as such.\n\n"
      "run      an accountant, with everything that it has composed\n"
      "most     records in a batch, a whole number in [1, 2^53]\n"
      "records  in all, of the larger neighbour: a whole number in [1, 2^53]");
  cut.def(
         "__init__",
         [](capped* self, argument<any_accountant> const& run, whole const& most,
            whole const& records) {
           constexpr char const* who = "CappedRun";
           any_accountant const base = run.as(who, "run", "an accountant");
           std::uint64_t const size = most.as(who, "most", a_count);
           tacit::batch_cap const cap{size, records.as(who, "records", a_count)};
           std::visit(
               [&](auto const& a) {
                 auto const history = a.history();
                 std::vector<tacit::composed> const all(history.begin(), history.end());
                 new (self) capped(one_run{a}, cap, tacit::overflow(cap, all));
                 for (double const failure : tacit::told_failures) {
                   auto const told = tacit::tell_cuts(cap, all, failure);
                   if (!told) break;
                   std::remove_cvref_t<decltype(a)> other(a.neighbours());
                   try {
                     for (auto const& what : told->releases)
                       other.compose(what.release, what.count);
                   } catch (std::logic_error const&) {  // not of batches of a fixed size
                     break;
                   }
                   self->also(one_run{other}, told->failure);
                 }
               },
               base);
         },
         nb::arg("run"), nb::arg("most"), nb::arg("records"))
      .def_prop_ro("most", [](capped const& self) { return self.cap.most; })
      .def_prop_ro("records", [](capped const& self) { return self.cap.records; })
      .def_ro("overflow", &capped::overflow,
              "The probability that any batch is cut, at most: an upper bound.");
  asked_both_ways(cut, "the cut run");
  complete_around(cut, "CappedRun", "most", "records");

  nb::class_<drawn_once> once(
      m, "SampledRun",
      "A whole run on a sample of the records that is drawn once and kept secret. Upper bounds; "
      "lower ones for Poisson samples.\n\n"
      "run       what it is on all records: an accountant, a CappedRun, a BestOf, a SampledRun or "
      "a "
      "ShuffledRun\n"
      "sampling  Poisson, where its adjacency is add_remove or zero_out; FixedSize for "
      "replace_one");
  once.def(
          "__init__",
          [](drawn_once* self, argument<any_run> const& run,
             argument<tacit::sampling> const& sampling) {
            constexpr char const* who = "SampledRun";
            one_run const all{run.as(who, "run", a_run)};
            new (self) drawn_once(all, sampling.as(who, "sampling", "a Poisson or a FixedSize"));
          },
          nb::arg("run"), nb::arg("sampling"))
      .def_prop_ro("sampling", [](drawn_once const& self) { return self.how; });
  asked_both_ways(once, "the run on the sample");
  complete_around(once, "SampledRun", "sampling");

  nb::class_<shuffled_epochs> shuffle(
      m, "ShuffledRun",
      "Epochs of shuffled batches with Gaussian noise, amplified: a record hides among others that "
      "could have been null. Upper bounds, at most what the epochs cost without amplification; "
      "`lower` is 0.\n\n"
      "noise      a Gaussian, its multiplier relative to the most that a record adds to the sum of "
      "a "
      "batch\n"
      "steps      batches in an epoch, all of one size, without a smaller one at the end: a whole "
      "number in [1, 10000000]\n"
      "epochs     how many, each shuffled afresh and secretly\n"
      "adjacency  \"zero_out\" or \"replace_one\"; of add_remove nothing is known, since a record "
      "more "
      "moves all the others");
  shuffle
      .def(
          "__init__",
          [](shuffled_epochs* self, argument<tacit::gaussian> const& noise, whole const& steps,
             whole const& epochs, argument<std::string> const& adjacency) {
            constexpr char const* who = "ShuffledRun";
            auto const by = noise.as(who, "noise", "a Gaussian");
            check_noise_range(who, by.noise_multiplier);
            std::uint64_t const batches = steps.as(who, "steps");
            std::uint64_t const count = epochs.as(who, "epochs");
            new (self) shuffled_epochs{
                by, batches, count,
                std::make_shared<tacit::shuffled_run<tacit::privacy_loss_accountant> const>(
                    by, batches, count, adjacency_of(adjacency.as(who, "adjacency")))};
          },
          nb::arg("noise"), nb::arg("steps"), nb::arg("epochs") = 1,
          nb::arg("adjacency") = "zero_out")
      .def_prop_ro("noise", [](shuffled_epochs const& self) { return self.noise; })
      .def_prop_ro("steps", [](shuffled_epochs const& self) { return self.steps; })
      .def_prop_ro("epochs", [](shuffled_epochs const& self) { return self.epochs; });
  asked_both_ways(shuffle, "the run");
  complete_unchanging(shuffle, "ShuffledRun", "noise", "steps", "epochs", "adjacency");
  bind_hidden_in_shuffle(m);
  bind_searches_of_shuffled_runs(m);
}

}  // namespace binding
