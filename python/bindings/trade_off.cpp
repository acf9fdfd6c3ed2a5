// SPDX-License-Identifier: Apache-2.0
//
// Trade-off curves between two certified ends.

#include <tacit/core/text_archive.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/trade_off_curve.hpp>

#include "argument.hpp"
#include "binding.hpp"
#include "numbers.hpp"
#include "patience.hpp"
#include "runs.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace binding {

namespace {

using number = argument<double>;
using curve = tacit::trade_off_curve;

/// ask(curve, x): an Interval for a number; Intervals of its shape for an array, found without Python's lock. Ctrl-C ends
/// those of an array.
template <class Ask>
nb::object at_each(curve const& self, nb::handle given, char const* who, char const* name,
                   char const* must_be, Ask const& ask) {
  std::size_t const axes = axes_of(given, who, name, must_be);
  if (axes == 0) return nb::cast(ask(self, number{nb::borrow(given)}.as(who, name, must_be)));
  numbers const all = numbers_of(given, axes, who, name, must_be);
  auto const [lower, upper] = patiently([now = self, xs = all.entries, ask] {
    std::pair<std::vector<double>, std::vector<double>> ends;
    for (double const x : xs) {
      tacit::bound<double> const found = ask(now, x);
      ends.first.push_back(found.lower);
      ends.second.push_back(found.upper);
    }
    return ends;
  });
  return nb::module_::import_("tacit._questions")
      .attr("Intervals")(array_of(lower, all.shape), array_of(upper, all.shape));
}

template <class Ask>
auto curve_at(char const* who, char const* name, char const* must_be, Ask const& ask) {
  return [=](curve const& self, nb::handle given) {
    return at_each(self, given, who, name, must_be, ask);
  };
}

nb::object knots_of(curve const& self) {
  std::vector<double> entries;
  for (tacit::profile_knot const& k : self.knots()) {
    entries.insert(entries.end(), {k.epsilon, k.delta.lower, k.delta.upper});
  }
  return array_of(entries, {entries.size() / 3, 3});
}

curve curve_through(nb::handle given, argument<std::string> const& adjacency) {
  constexpr char const* who = "from_knots";
  constexpr char const* must_be = "an array of numbers, of shape (n, 3)";
  numbers const all = numbers_of(given, 2, who, "knots", must_be);
  if (all.shape[1] != 3) detail::refuse(who, "knots", given, must_be);
  std::vector<tacit::profile_knot> knots;
  for (std::size_t k = 0; k < all.entries.size(); k += 3) {
    knots.push_back({all.entries[k], {all.entries[k + 1], all.entries[k + 2]}});
  }
  return {adjacency_of(adjacency.as(who, "adjacency")), knots};
}

constexpr char const* probability = "in [0, 1]";

}  // namespace

void bind_trade_off(nb::module_& m) {
  nb::class_<curve>(
      m, "TradeOffCurve", nb::is_final(),
      "f(a), the least false negative rate of any attack at false positive rate a, between two "
      "certified ends: delta is asked for at some hundred epsilon, and the curve then answers for "
      "any attacker. Numbers give an Interval, arrays Intervals of their shape.\n\n"
      "run            an accountant, a BestOf, a CappedRun or a SampledRun\n"
      "knots          at most so many questions, beside some ten that look for the range; in [2, "
      "100000]\n"
      "smallest_rate  false positive rates below it are told less about; in (0, 1)\n"
      "tolerance      of the true positive rate: as close is close enough; at least 0")
      .def(
          "__init__",
          [](curve* self, argument<any_run> const& run, whole const& knots,
             number const& smallest_rate, number const& tolerance) {
            constexpr char const* who = "TradeOffCurve";
            one_run const of{run.as(who, "run", a_run)};
            tacit::trade_off_effort effort;
            effort.knots = knots.as(who, "knots", "a whole number in [2, 100000]");
            effort.smallest_rate = smallest_rate.as(who, "smallest_rate", "in (0, 1)");
            effort.tolerance = tolerance.as(who, "tolerance", "at least 0");
            curve made = patiently([of, effort] { return curve(of, of.neighbours(), effort); });
            new (self) curve(std::move(made));
          },
          nb::arg("run"), nb::arg("knots") = 96, nb::arg("smallest_rate") = 1e-9,
          nb::arg("tolerance") = 1e-6)
      .def_static("from_knots", curve_through, nb::arg("knots").none(), nb::arg("adjacency"),
                  "The curve through what is known of delta: shape (n, 3), rows of epsilon, lower "
                  "and upper end; epsilon rises from 0 to at most 700. Raises ValueError for ends "
                  "that no falling delta has.")
      .def(
          "refine",
          [](curve& self, argument<any_run> const& run, number const& rate,
             number const& tolerance) -> curve& {
            constexpr char const* who = "refine";
            one_run const of{run.as(who, "run", a_run)};
            double const at = rate.as(who, "false_positive_rate", probability);
            double const close = tolerance.as(who, "tolerance", "finite and at least 0");
            self = patiently([of, at, close, finer = self]() mutable {
              finer.refine(of, at, close);
              return std::move(finer);
            });
            return self;
          },
          nb::arg("run"), nb::arg("false_positive_rate"), nb::arg("tolerance") = 1e-6,
          nb::rv_policy::none,
          "Asks the run that the curve was made of for what brings the ends together at one false "
          "positive rate, in [0, 1]: some thirty questions. Returns the curve.")
      .def("false_negative_rate",
           curve_at("false_negative_rate", "false_positive_rate", probability,
                    [](curve const& c, double x) { return c.false_negative_rate(x); }),
           nb::arg("false_positive_rate").none(), "f, at rates in [0, 1].")
      .def("true_positive_rate",
           curve_at("true_positive_rate", "false_positive_rate", probability,
                    [](curve const& c, double x) { return c.true_positive_rate(x); }),
           nb::arg("false_positive_rate").none(),
           "1 - f, to the relative accuracy of delta, at rates in [0, 1].")
      .def("delta",
           curve_at("delta", "epsilon", "finite and at least 0",
                    [](curve const& c, double x) { return c.delta(x); }),
           nb::arg("epsilon").none(), "delta, at epsilons that are finite and at least 0.")
      .def("attack_success",
           curve_at("attack_success", "prior", probability,
                    [](curve const& c, double x) { return c.attack_success(x); }),
           nb::arg("prior").none() = 0.5,
           "How often the best guess of one membership bit of this prior, in [0, 1], is right.")
      .def(
          "positive_predictive_value",
          [](curve const& self, number const& prevalence, nb::handle rates) {
            constexpr char const* who = "positive_predictive_value";
            double const share = prevalence.as(who, "prevalence", probability);
            return at_each(self, rates, who, "false_positive_rate", "in (0, 1]",
                           [share](curve const& c, double rate) {
                             return c.positive_predictive_value(share, rate);
                           });
          },
          nb::arg("prevalence"), nb::arg("false_positive_rate").none(),
          "The share of members among those whom the best attack accuses, where a share "
          "`prevalence` in [0, 1] of those tested are members; at rates in (0, 1].")
      .def_prop_ro("advantage", &curve::advantage,
                   "The largest true positive rate less false positive rate: delta at 0.")
      .def_prop_ro("profile", &curve::profile, "What a run that composes it is told, a DPProfile.")
      .def_prop_ro("knots", knots_of,
                   "Rows of epsilon and both ends of delta, shape (n, 3): for `from_knots`.")
      .def_prop_ro("adjacency", [](curve const& self) { return tacit::to_text(self.neighbours()); })
      .def("save", &curve::save, "A versioned, checksummed text for `load`.")
      .def_static(
          "load",
          [](argument<std::string> const& text) { return curve::load(text.as("load", "text")); },
          nb::arg("text"), "The curve that `save` wrote. Raises CorruptState for any other text.")
      .def("__copy__", [](curve const& self) { return self; })
      .def(
          "__deepcopy__", [](curve const& self, nb::handle) { return self; }, nb::arg("memo"))
      .def("__getstate__", &curve::save)
      .def("__setstate__",
           [](nb::handle self, argument<std::string> const& text) {
             if (nb::inst_ready(self)) {
               throw tacit::corrupt_state("__setstate__: the curve has a state");
             }
             new (nb::inst_ptr<curve>(self)) curve(curve::load(text.as("__setstate__", "state")));
             nb::inst_mark_ready(self);
           })
      .def("__repr__", [](curve const& self) {
        return "<TradeOffCurve of " + std::to_string(self.knots().size()) + " knots, " +
               std::string(tacit::to_text(self.neighbours())) + ">";
      });
}

}  // namespace binding
