// SPDX-License-Identifier: Apache-2.0
//
// What samplers of practice make of a whole run: batches cut at a size, a sample drawn once.

#include <tacit/dp/sampled_run.hpp>

#include "argument.hpp"
#include "binding.hpp"
#include "runs.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <variant>
#include <vector>

namespace nb = nanobind;

namespace binding {

namespace {

constexpr char const* a_count = "a whole number in [1, 2^53]";

}  // namespace

void bind_sampled_runs(nb::module_& m) {
  nb::class_<capped> cut(
      m, "CappedRun",
      "A run whose Poisson-sampled batches are cut down to a size, by any rule. With overflow, the "
      "probability that any batch is larger, delta grows by (1 + e^epsilon)*overflow at most.\n\n"
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
      "run       what it is on all records: an accountant, a CappedRun, a BestOf or a SampledRun\n"
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
}

}  // namespace binding
