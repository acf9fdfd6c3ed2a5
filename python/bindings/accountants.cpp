// SPDX-License-Identifier: Apache-2.0
//
// The accountants as classes.

#include <tacit/core/check.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/pure_epsilon.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/trade_off.hpp>
#include <tacit/dp/zcdp.hpp>

#include "argument.hpp"
#include "binding.hpp"
#include "patience.hpp"
#include "release.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace nb = nanobind;

namespace binding {

namespace {

/// What `ask` returns for the accountant as it is now, without Python's lock: another thread may compose
/// meanwhile. Ctrl-C ends it.
template <class Accountant, class Ask>
auto asked(Accountant const& self, Ask const& ask) {
  return patiently([now = self, ask] { return ask(now); });
}

/// Another object of the same class, which may be a subclass, that has composed the same.
template <class Accountant>
nb::object again(nb::handle self) {
  nb::object out = nb::inst_alloc(self.type());
  new (nb::inst_ptr<Accountant>(out)) Accountant(nb::cast<Accountant const&>(self));
  nb::inst_mark_ready(out);
  return out;
}

template <class Accountant>
nb::class_<Accountant> bind(nb::module_& m, char const* name, char const* doc) {
  nb::class_<Accountant> type(m, name, doc);
  type.def(
          "__init__",
          [name](Accountant* self, argument<std::string> const& adjacency) {
            new (self) Accountant(adjacency_of(adjacency.as(name, "adjacency")));
          },
          nb::arg("adjacency") = "add_remove")
      .def(  // first, since the other one takes anything, to refuse it
          "compose",
          [](Accountant& self, Accountant const& other) -> Accountant& {
            return self.compose(other);
          },
          nb::arg("accountant"), nb::rv_policy::none,
          "Adds everything that another accountant of this kind has seen.")
      .def(
          "compose",
          [](Accountant& self, releases const& release, whole const& count) -> Accountant& {
            return self.compose(event_of(release, "compose"), count.as("compose", "count"));
          },
          nb::arg("event"), nb::arg("count") = 1, nb::rv_policy::none,
          "Adds `count` releases; each may depend on all earlier ones. Returns the accountant.\n\n"
          "Raises ValueError, with the reason, for a value out of range and for an event that has "
          "no bound under this adjacency; nothing is added then.")
      .def(
          "epsilon",
          [](Accountant const& self, argument<double> const& given) {
            double const delta = given.as("epsilon", "delta", "in (0, 1)");
            return asked(self, [=](Accountant const& now) { return now.epsilon(delta); });
          },
          nb::arg("delta"),
          "The smallest epsilon for which the run is (epsilon, delta)-DP, as an Interval. `delta` "
          "in (0, 1); `upper` may be infinite.")
      .def(
          "delta",
          [](Accountant const& self, argument<double> const& given) {
            double const epsilon = given.as("delta", "epsilon", "finite and at least 0");
            return asked(self, [=](Accountant const& now) { return now.delta(epsilon); });
          },
          nb::arg("epsilon"),
          "The smallest delta for which the run is (epsilon, delta)-DP, as an Interval. `epsilon` "
          "finite and at least 0.")
      .def(
          "pure_epsilon",
          [](Accountant const& self) {
            return asked(self, [](Accountant const& now) {
              return tacit::pure_epsilon(now.history(), now.neighbours());
            });
          },
          "The smallest epsilon for which the run is (epsilon, 0)-DP, as an Interval; infinite "
          "where "
          "there is none, as for Gaussian noise.")
      .def(
          "attack_success",
          [](Accountant const& self, argument<double> const& given) {
            double const prior = given.as("attack_success", "prior", "in [0, 1]");
            return asked(self, [=](Accountant const& now) { return now.attack_success(prior); });
          },
          nb::arg("prior") = 0.5,
          "An upper bound on how often an attacker guesses one membership bit of this prior.")
      .def(
          "false_negative_rate",
          [](Accountant const& self, argument<double> const& given) {
            double const false_positive_rate =
                given.as("false_negative_rate", "false_positive_rate", "in [0, 1]");
            return asked(self, [=](Accountant const& now) {
              return tacit::false_negative_rate(now, false_positive_rate);
            });
          },
          nb::arg("false_positive_rate"),
          "The trade-off curve: no attacker of that false positive rate misses less than this "
          "share of members. A lower bound.")
      .def(
          "would_exceed",
          [](Accountant const& self, releases const& release, whole const& count,
             argument<double> const& epsilon, argument<double> const& delta) {
            constexpr char const* who = "would_exceed";
            tacit::event const next = event_of(release, who);
            std::uint64_t const times = count.as(who, "count");
            tacit::approx_dp const budget{epsilon.as(who, "epsilon", "finite and at least 0"),
                                          delta.as(who, "delta", "in (0, 1)")};
            return asked(
                self, [=](Accountant const& now) { return now.would_exceed(next, times, budget); });
          },
          nb::arg("event"), nb::arg("count"), nb::arg("epsilon"), nb::arg("delta"),
          "Whether `count` more such releases would leave the budget, or could not be shown to "
          "stay in it.")
      .def_prop_ro("adjacency",
                   [](Accountant const& self) { return tacit::to_text(self.neighbours()); })
      .def_prop_ro(
          "history",
          [](Accountant const& self) {
            auto const history = self.history();
            return list_of({history.begin(), history.end()});
          },
          "A list of (event, count), in the order in which they were first composed.")
      .def("save", &Accountant::save, "A versioned, checksummed text for `load`.")
      .def_static(
          "load",
          [](argument<std::string> const& text) {
            return Accountant::load(text.as("load", "text"));
          },
          nb::arg("text"),
          "The accountant that `save` wrote. Raises CorruptState for any other text.")
      .def("__copy__",
           [](nb::handle self) {
             nb::object out = again<Accountant>(self);
             nb::object const kept = attributes(self);
             if (!kept.is_none()) out.attr("__dict__").attr("update")(kept);
             return out;
           })
      .def(
          "__deepcopy__",
          [](nb::handle self, nb::handle memo) {
            nb::object out = again<Accountant>(self);
            memo[nb::int_(reinterpret_cast<std::uintptr_t>(self.ptr()))] = out;
            nb::object const kept = attributes(self);
            if (!kept.is_none()) {
              nb::object const deep = nb::module_::import_("copy").attr("deepcopy")(kept, memo);
              out.attr("__dict__").attr("update")(deep);
            }
            return out;
          },
          nb::arg("memo"))
      .def("__getstate__",
           [](nb::handle self) {
             return nb::make_tuple(nb::cast<Accountant const&>(self).save(), attributes(self));
           })
      .def("__setstate__",
           [](nb::handle self, nb::tuple const& state) {
             std::string text;
             if (nb::inst_ready(self) || nb::len(state) != 2 || !nb::try_cast(state[0], text) ||
                 !(state[1].is_none() || nb::isinstance<nb::dict>(state[1]))) {
               throw tacit::corrupt_state("__setstate__: state is not what __getstate__ returned");
             }
             new (nb::inst_ptr<Accountant>(self)) Accountant(Accountant::load(text));
             nb::inst_mark_ready(self);
             if (!state[1].is_none()) self.attr("__dict__").attr("update")(state[1]);
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

char const* route_of(tacit::privacy_loss_route by) {
  switch (by) {
    case tacit::privacy_loss_route::closed_form:
      return "closed form";
    case tacit::privacy_loss_route::two_releases:
      return "two releases";
    case tacit::privacy_loss_route::contour:
      return "contour";
    case tacit::privacy_loss_route::rays:
      return "rays";
    case tacit::privacy_loss_route::grid:
      return "grid";
    case tacit::privacy_loss_route::allocation:
      return "allocation";
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
          [](tacit::privacy_loss_accountant const& self, argument<double> const& delta) {
            double const at = delta.as("epsilon_route", "delta", "in (0, 1)");
            return asked(self, [at](tacit::privacy_loss_accountant const& now) {
              return route_of(now.method().epsilon_by(at).by);
            });
          },
          nb::arg("delta"), "The way by which epsilon(delta) is found, in a word or two.");
  bind<tacit::discretised_accountant>(
      m, "DiscretisedAccountant",
      "Privacy loss distributions on a grid: certified, wider and slower; a second opinion.");
  bind<tacit::renyi_accountant>(
      m, "RenyiAccountant", "Renyi divergences: an upper bound, loose by a few percent or more.")
      .def(
          "divergence",
          [](tacit::renyi_accountant const& self, argument<double> const& order) {
            double const at = order.as("divergence", "order", "finite and above 1");
            return asked(self, [at](tacit::renyi_accountant const& now) {
              return now.method().divergence(at);
            });
          },
          nb::arg("order"),
          "The Renyi divergence of the whole run at this order, finite and above 1, in nats, of "
          "the "
          "worse direction: an upper bound.");
  bind<tacit::zcdp_accountant>(
      m, "ZcdpAccountant", "Zero-concentrated DP: an upper bound, for events without sampling.");
  bind<tacit::gaussian_accountant>(
      m, "GaussianAccountant",
      "Gaussian DP: exact up to rounding, for Gaussians without sampling.");
}

}  // namespace binding
