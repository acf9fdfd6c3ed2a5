// SPDX-License-Identifier: Apache-2.0
//
// The accountants as classes.

#include <tacit/dp/accountant.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/pure_epsilon.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/trade_off.hpp>
#include <tacit/dp/zcdp.hpp>

#include "binding.hpp"
#include "whole.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

namespace nb = nanobind;

namespace binding {

namespace {

using releases = std::variant<tacit::event, tacit::mechanism_event>;

tacit::event event_of(releases const& release) {
  if (auto const* e = std::get_if<tacit::event>(&release)) return *e;
  return tacit::event(std::get<tacit::mechanism_event>(release));
}

/// What `ask` returns for the accountant as it is now, without Python's lock: another thread may compose
/// meanwhile.
template <class Accountant, class Ask>
auto asked(Accountant const& self, Ask const& ask) {
  Accountant const now = self;
  nb::gil_scoped_release const others_run;
  return ask(now);
}

template <class Accountant>
nb::class_<Accountant> bind(nb::module_& m, char const* name, char const* doc) {
  nb::class_<Accountant> type(m, name, doc);
  type.def(
          "__init__",
          [](Accountant* self, std::string_view adjacency) {
            new (self) Accountant(adjacency_of(adjacency));
          },
          nb::arg("adjacency") = "add_remove")
      .def(
          "compose",
          [](Accountant& self, releases const& release, whole const& count) -> Accountant& {
            return self.compose(event_of(release), count.as("compose", "count"));
          },
          nb::arg("event"), nb::arg("count") = 1, nb::rv_policy::none,
          "Adds `count` releases; each may depend on all earlier ones. Returns the accountant.\n\n"
          "Raises ValueError, with the reason, for a value out of range and for an event that has "
          "no bound under this adjacency; nothing is added then.")
      .def(
          "compose",
          [](Accountant& self, Accountant const& other) -> Accountant& {
            return self.compose(other);
          },
          nb::arg("accountant"), nb::rv_policy::none,
          "Adds everything that another accountant of this kind has seen.")
      .def(
          "epsilon",
          [](Accountant const& self, double delta) {
            return asked(self, [=](Accountant const& now) { return now.epsilon(delta); });
          },
          nb::arg("delta"),
          "The smallest epsilon for which the run is (epsilon, delta)-DP, as an Interval. `delta` "
          "in (0, 1); `upper` may be infinite.")
      .def(
          "delta",
          [](Accountant const& self, double epsilon) {
            return asked(self, [=](Accountant const& now) { return now.delta(epsilon); });
          },
          nb::arg("epsilon"),
          "The smallest delta for which the run is (epsilon, delta)-DP, as an Interval. `epsilon` "
          "finite and at least 0.")
      .def(
          "pure_epsilon",
          [](Accountant const& self) {
            return tacit::pure_epsilon(self.history(), self.neighbours());
          },
          "The smallest epsilon for which the run is (epsilon, 0)-DP, as an Interval; infinite "
          "where "
          "there is none, as for Gaussian noise.")
      .def(
          "attack_success",
          [](Accountant const& self, double prior) {
            return asked(self, [=](Accountant const& now) { return now.attack_success(prior); });
          },
          nb::arg("prior") = 0.5,
          "An upper bound on how often an attacker guesses one membership bit of this prior.")
      .def(
          "false_negative_rate",
          [](Accountant const& self, double false_positive_rate) {
            return asked(self, [=](Accountant const& now) {
              return tacit::false_negative_rate(now, false_positive_rate);
            });
          },
          nb::arg("false_positive_rate"),
          "The trade-off curve: no attacker of that false positive rate misses less than this "
          "share of members. A lower bound.")
      .def(
          "would_exceed",
          [](Accountant const& self, releases const& release, whole const& count, double epsilon,
             double delta) {
            return self.would_exceed(event_of(release), count.as("would_exceed", "count"),
                                     {epsilon, delta});
          },
          nb::arg("event"), nb::arg("count"), nb::arg("epsilon"), nb::arg("delta"),
          "Whether `count` more such releases would leave the budget, or could not be shown to "
          "stay in it.")
      .def_prop_ro("adjacency",
                   [](Accountant const& self) { return tacit::to_text(self.neighbours()); })
      .def_prop_ro(
          "history",
          [](Accountant const& self) {
            nb::list out;
            for (tacit::composed const& entry : self.history()) {
              out.append(nb::make_tuple(entry.release, entry.count));
            }
            return out;
          },
          "A list of (event, count), in the order in which they were first composed.")
      .def("save", &Accountant::save, "A versioned, checksummed text for `load`.")
      .def_static("load", &Accountant::load, nb::arg("text"),
                  "The accountant that `save` wrote. Raises CorruptState for any other text.")
      .def("__copy__", [](Accountant const& self) { return self; })
      .def(
          "__deepcopy__", [](Accountant const& self, nb::handle) { return self; }, nb::arg("memo"))
      .def("__getstate__", &Accountant::save)
      .def("__setstate__",
           [](Accountant& self, std::string const& text) {
             new (&self) Accountant(Accountant::load(text));
           })
      .def("__repr__", [name](Accountant const& self) {
        std::string out =
            std::string(name) + "('" + std::string(tacit::to_text(self.neighbours())) + "')";
        for (tacit::composed const& entry : self.history()) {
          out += ".compose(" + nb::cast<std::string>(nb::repr(nb::cast(entry.release))) + ", " +
                 std::to_string(entry.count) + ")";
        }
        return out;
      });
  return type;
}

char const* route_of(tacit::privacy_loss::route by) {
  switch (by) {
    case tacit::privacy_loss::route::closed_form:
      return "closed form";
    case tacit::privacy_loss::route::contour:
      return "contour";
    case tacit::privacy_loss::route::rays:
      return "rays";
    case tacit::privacy_loss::route::grid:
      return "grid";
  }
  return "unknown";
}

}  // namespace

void bind_accountants(nb::module_& m) {
  bind<tacit::privacy_loss_accountant>(
      m, "PrivacyLossAccountant",
      "The accountant to use: a certified interval, for every event that has a dominating pair.")
      .def(
          "epsilon_route",
          [](tacit::privacy_loss_accountant const& self, double delta) {
            return route_of(self.method().epsilon_by(delta).by);
          },
          nb::arg("delta"), "The way by which epsilon(delta) is found, in a word or two.");
  bind<tacit::discretised_accountant>(
      m, "DiscretisedAccountant",
      "Privacy loss distributions on a grid: certified, wider and slower; a second opinion.");
  bind<tacit::renyi_accountant>(
      m, "RenyiAccountant", "Renyi divergences: an upper bound, loose by a few percent or more.");
  bind<tacit::zcdp_accountant>(
      m, "ZcdpAccountant", "Zero-concentrated DP: an upper bound, for events without sampling.");
  bind<tacit::gaussian_accountant>(
      m, "GaussianAccountant",
      "Gaussian DP: exact up to rounding, for Gaussians without sampling.");
}

}  // namespace binding
