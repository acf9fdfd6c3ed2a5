// SPDX-License-Identifier: Apache-2.0
//
// Filters and odometers: runs whose releases are chosen on the way.

#include <tacit/dp/filter.hpp>

#include "argument.hpp"
#include "binding.hpp"
#include "numbers.hpp"
#include "patience.hpp"
#include "release.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace nb = nanobind;

namespace binding {

namespace {

using number = argument<double>;
using word = argument<std::string>;
using epsilon_delta = argument<tacit::approx_dp>;
using mu_or_epsilon = argument<std::variant<tacit::gaussian_dp, tacit::approx_dp>>;

constexpr char const* a_target = "an ApproxDP";
constexpr char const* mu_or_target = "a GaussianDP or an ApproxDP";
constexpr char const* an_order = "finite and above 1";
constexpr char const* some_records = "a whole number in [1, 2^53]";

/// An order, or several.
std::vector<double> orders_of(nb::handle given, char const* who) {
  constexpr char const* must_be =
      "one number, or numbers of shape (n,), finite, above 1 and ascending";
  bool const one = PyNumber_Check(given.ptr()) != 0 &&
                   nb::cast<int>(nb::getattr(given, "ndim", nb::int_(0))) == 0;
  if (one) return {number{nb::borrow(given)}.as(who, "orders", must_be)};
  return numbers_of(given, 1, who, "orders", must_be).entries;
}

/// What a Python function says of each order, asked for before anything is charged.
struct known_divergences {
  std::vector<double> orders;
  std::vector<double> bounds;
  double operator()(double order) const {
    for (std::size_t k = 0; k < orders.size(); ++k) {
      if (orders[k] == order) return bounds[k];
    }
    return std::numeric_limits<double>::quiet_NaN();  // refused
  }
};

/// Does `act` with the release: an event, or the divergences that a function of the order returns.
template <class Act>
auto with_release(nb::handle given, std::span<double const> orders, char const* who,
                  Act const& act) {
  if (!PyCallable_Check(given.ptr())) {
    return act(event_of(releases{nb::borrow(given)}, who));
  }
  known_divergences known{{orders.begin(), orders.end()}, {}};
  for (double const order : orders) {
    known.bounds.push_back(
        number{given(order)}.as(who, "divergence", "a number of at least 0 for each order"));
  }
  return act(known);
}

/// What is true of all of them: one object owns the run.
template <class T>
void sole(nb::class_<T>& type) {
  type.def("__reduce_ex__", [](nb::handle self, nb::handle) -> nb::object {
    auto const name = nb::cast<std::string>(self.type().attr("__name__"));
    throw nb::type_error(
        (name + " is not copied or pickled: a copy would spend its budget again").c_str());
  });
}

/// save, load, adjacency.
template <class T>
void kept(nb::class_<T>& type, char const* what) {
  type.def_prop_ro("adjacency", [](T const& self) { return tacit::to_text(self.neighbours()); })
      .def("save", &T::save,
           "A versioned, checksummed text for `load`: to be stored after the charge and before its "
           "release, and resumed from once.")
      .def_static(
          "load", [](word const& text) { return T::load(text.as("load", "text")); },
          nb::arg("text"), what);
  sole(type);
}

constexpr char const* loaded = "What `save` wrote. Raises CorruptState for any other text.";
constexpr char const* of_release =
    "an Event, a mechanism, or a function that returns for an order an upper bound on the Renyi "
    "divergence in both directions, whatever was released before";

void bind_renyi(nb::module_& m) {
  using tacit::renyi_filter;
  using tacit::renyi_odometer;
  nb::class_<renyi_odometer> odometer(
      m, "RenyiOdometer", nb::is_final(),
      "Reads epsilon off a run whose releases are chosen on the way, at any moment, also one that "
      "the run itself decides on: an upper bound.\n\n"
      "orders     of the Renyi divergence, fixed before the run: a number, or shape (n,), "
      "ascending, finite and above 1; 1 to 1000 of them\n"
      "adjacency  which inputs are neighbours");
  odometer
      .def(
          "__init__",
          [](renyi_odometer* self, nb::handle orders, word const& adjacency) {
            constexpr char const* who = "RenyiOdometer";
            new (self) renyi_odometer(orders_of(orders, who),
                                      adjacency_of(adjacency.as(who, "adjacency")));
          },
          nb::arg("orders").none(), nb::arg("adjacency") = "add_remove")
      .def(
          "add",
          [](renyi_odometer& self, nb::handle release, whole const& count) -> renyi_odometer& {
            std::uint64_t const times = count.as("add", "count");
            with_release(release, self.orders(), "add",
                         [&](auto const& of) { self.add(of, times); });
            return self;
          },
          nb::arg("event").none(), nb::arg("count") = 1, nb::rv_policy::none,
          (std::string("To be called before the release is made: ") + of_release +
           ". `count` releases, of which the last is chosen with the first. Raises ValueError, "
           "with "
           "the reason, where there is no bound; nothing is added then.")
              .c_str())
      .def(
          "epsilon",
          [](renyi_odometer const& self, number const& delta) {
            return self.epsilon(delta.as("epsilon", "delta", "in (0, 1)"));
          },
          nb::arg("delta"),
          "Epsilon up to now, at a delta in (0, 1) that was fixed before the run. At no release it "
          "is not 0 but what the conversion costs.")
      .def_prop_ro(
          "orders", [](renyi_odometer const& self) { return array_of(self.orders()); },
          "Shape (n,).")
      .def_prop_ro(
          "spent", [](renyi_odometer const& self) { return array_of(self.spent()); },
          "The sum of the divergences at each order, in nats, shape (n,).");
  kept(odometer, loaded);

  nb::class_<renyi_filter> filter(
      m, "RenyiFilter", nb::is_final(),
      "Keeps a run whose releases are chosen on the way inside (epsilon, delta): every release is "
      "charged before it exists, and one that might not fit is refused.\n\n"
      "orders     of the Renyi divergence, fixed before the run: a number, or shape (n,), "
      "ascending, finite and above 1; `order_for` suggests one\n"
      "budget     an ApproxDP, delta in (0, 1)\n"
      "adjacency  which inputs are neighbours\n\n"
      "Raises Infeasible if the orders leave nothing of epsilon at this delta.");
  filter
      .def(
          "__init__",
          [](renyi_filter* self, nb::handle orders, epsilon_delta const& budget,
             word const& adjacency) {
            constexpr char const* who = "RenyiFilter";
            new (self) renyi_filter(orders_of(orders, who), budget.as(who, "budget", a_target),
                                    adjacency_of(adjacency.as(who, "adjacency")));
          },
          nb::arg("orders").none(), nb::arg("budget"), nb::arg("adjacency") = "add_remove")
      .def(
          "would_exceed",
          [](renyi_filter const& self, nb::handle release, whole const& count) {
            std::uint64_t const times = count.as("would_exceed", "count");
            return with_release(release, self.orders(), "would_exceed",
                                [&](auto const& of) { return self.would_exceed(of, times); });
          },
          nb::arg("event").none(), nb::arg("count") = 1,
          "Whether `count` more such releases would leave the budget.")
      .def(
          "charge",
          [](renyi_filter& self, nb::handle release, whole const& count) {
            std::uint64_t const times = count.as("charge", "count");
            with_release(release, self.orders(), "charge",
                         [&](auto const& of) { (void)self.charge(of, times); });
          },
          nb::arg("event").none(), nb::arg("count") = 1,
          (std::string("Charges a release before it is made: ") + of_release +
           ". `count` of them, of which the last is chosen with the first. Raises BudgetExhausted "
           "if they do not fit, ValueError where there is no bound; nothing is charged then.")
              .c_str())
      .def(
          "epsilon", [](renyi_filter const& self) { return self.epsilon(); },
          "What a run that is stopped now has used up of epsilon, at the budget's delta: an upper "
          "bound, also for a stop that the run itself decides on.")
      .def_prop_ro("budget", [](renyi_filter const& self) { return self.budget(); })
      .def_prop_ro(
          "orders", [](renyi_filter const& self) { return array_of(self.orders()); }, "Shape (n,).")
      .def_prop_ro(
          "spent", [](renyi_filter const& self) { return array_of(self.spent()); },
          "The sum of the divergences at each order, in nats, shape (n,).");
  kept(filter, loaded);

  m.def(
      "order_for",
      [](argument<std::vector<std::pair<releases, whole>>> const& plan, number const& delta,
         word const& adjacency) {
        constexpr char const* who = "order_for";
        std::vector<tacit::composed> all;
        for (auto const& [release, count] :
             plan.as(who, "plan", "a list of (event, count), as of accountant.history")) {
          all.push_back({event_of(release, who), count.as(who, "count")});
        }
        return patiently([all, at = delta.as(who, "delta", "in (0, 1)"),
                          neighbours = adjacency_of(adjacency.as(who, "adjacency"))] {
          return tacit::order_for(all, at, neighbours);
        });
      },
      nb::arg("plan"), nb::arg("delta"), nb::arg("adjacency") = "add_remove",
      "A good order for a RenyiFilter over a schedule planned in advance, a list of (event, "
      "count): the one at which the plan's own epsilon at this delta in (0, 1) is the smallest. A "
      "run that ends up elsewhere is no less private.");
}

void bind_gaussian(nb::module_& m) {
  using tacit::gaussian_filter;
  nb::class_<gaussian_filter> filter(
      m, "GaussianFilter", nb::is_final(),
      "Keeps a run of Gaussian releases without sampling, chosen on the way, inside a GaussianDP; "
      "for an ApproxDP, inside the largest mu that implies it. No loss against a fixed schedule.");
  filter
      .def(
          "__init__",
          [](gaussian_filter* self, mu_or_epsilon const& given, word const& adjacency) {
            constexpr char const* who = "GaussianFilter";
            tacit::adjacency const neighbours = adjacency_of(adjacency.as(who, "adjacency"));
            std::visit([&](auto const& budget) { new (self) gaussian_filter(budget, neighbours); },
                       given.as(who, "budget", mu_or_target));
          },
          nb::arg("budget"), nb::arg("adjacency") = "add_remove")
      .def(
          "would_exceed",
          [](gaussian_filter const& self, releases const& release, whole const& count) {
            return self.would_exceed(event_of(release, "would_exceed"),
                                     count.as("would_exceed", "count"));
          },
          nb::arg("event"), nb::arg("count") = 1,
          "Whether `count` more such releases would leave the budget.")
      .def(
          "charge",
          [](gaussian_filter& self, releases const& release, whole const& count) {
            (void)self.charge(event_of(release, "charge"), count.as("charge", "count"));
          },
          nb::arg("event"), nb::arg("count") = 1,
          "Charges `count` releases, of which the last is chosen with the first, before any of "
          "them is made. Raises BudgetExhausted if they do not fit, ValueError for one that is not "
          "Gaussian or is sampled; nothing is charged then.")
      .def_prop_ro("budget", [](gaussian_filter const& self) { return self.budget(); })
      .def_prop_ro(
          "spent", [](gaussian_filter const& self) { return self.spent(); },
          "The GaussianDP of what was charged.");
  kept(filter, loaded);
}

void bind_gaussian_odometer(nb::module_& m) {
  using tacit::gaussian_odometer;
  nb::class_<gaussian_odometer> odometer(
      m, "GaussianOdometer", nb::is_final(),
      "Reads epsilon off a run of Gaussian releases without sampling that are chosen on the way, "
      "at "
      "any moment, also one that the run itself decides on: the epsilon of the first rung that the "
      "run has not passed, an upper bound at `delta`, the sum of the deltas of all rungs.\n\n"
      "ladder     1 to 1000 ApproxDP, fixed before the run, epsilon ascending; a rung where a run "
      "is "
      "likely to stop deserves most of delta\n"
      "adjacency  which inputs are neighbours");
  odometer
      .def(
          "__init__",
          [](gaussian_odometer* self, argument<std::vector<tacit::approx_dp>> const& ladder,
             word const& adjacency) {
            constexpr char const* who = "GaussianOdometer";
            auto rungs = ladder.as(who, "ladder", "a list of ApproxDP");
            new (self)
                gaussian_odometer(std::move(rungs), adjacency_of(adjacency.as(who, "adjacency")));
          },
          nb::arg("ladder"), nb::arg("adjacency") = "add_remove")
      .def(
          "add",
          [](gaussian_odometer& self, releases const& release,
             whole const& count) -> gaussian_odometer& {
            self.add(event_of(release, "add"), count.as("add", "count"));
            return self;
          },
          nb::arg("event"), nb::arg("count") = 1, nb::rv_policy::none,
          "To be called before the release is made. `count` releases, of which the last is chosen "
          "with the first. Raises ValueError for one that is not Gaussian or is sampled; nothing "
          "is "
          "added then.")
      .def(
          "epsilon", [](gaussian_odometer const& self) { return self.epsilon(); },
          "Epsilon up to now, at `delta`: 0 before the first release, infinite beyond the last "
          "rung.")
      .def(
          "epsilon_after",
          [](gaussian_odometer const& self, releases const& release, whole const& count) {
            return self.epsilon_after(event_of(release, "epsilon_after"),
                                      count.as("epsilon_after", "count"));
          },
          nb::arg("event"), nb::arg("count") = 1,
          "What it would be after `count` more such releases: a run that is to stay on a rung asks "
          "before it releases.")
      .def_prop_ro(
          "delta", [](gaussian_odometer const& self) { return self.delta(); },
          "The sum of the deltas of all rungs, rounded up.")
      .def_prop_ro("ladder",
                   [](gaussian_odometer const& self) {
                     return std::vector<tacit::approx_dp>(self.ladder().begin(),
                                                          self.ladder().end());
                   })
      .def_prop_ro(
          "spent", [](gaussian_odometer const& self) { return self.spent(); },
          "The GaussianDP of what was added.");
  kept(odometer, loaded);
}

/// An `approximate_filter` around either filter.
struct failing_filter {
  using of_renyi = tacit::approximate_filter<tacit::renyi_filter>;
  using of_gaussian = tacit::approximate_filter<tacit::gaussian_filter>;
  std::variant<of_renyi, of_gaussian> by;

  template <class Ask>
  decltype(auto) ask(Ask const& of) const {
    return std::visit(of, by);
  }
  [[nodiscard]] tacit::adjacency neighbours() const {
    return ask([](auto const& filter) { return filter.neighbours(); });
  }
  [[nodiscard]] std::string save() const {
    return ask([](auto const& filter) { return filter.save(); });
  }
  [[nodiscard]] static failing_filter load(std::string text) {
    // Whichever it is, the text has a checksum.
    if (text.find("\ntacit-gaussian-filter ") == std::string::npos) {
      return {of_renyi::load(std::move(text))};
    }
    return {of_gaussian::load(std::move(text))};
  }
};

/// `act(filter, release, failure…)`: an event by itself brings its own failure, a function of the order one of 0.
template <class Filter, class Act>
auto with_failure(Filter& filter, nb::handle given, nb::handle failure, char const* who,
                  Act const& act) {
  auto const stated = [&] {
    return tacit::failure_cost(number{nb::borrow(failure)}.as(who, "failure", "in [0, 1]"));
  };
  auto const of_event = [&](tacit::event const& release) {
    return failure.is_none() ? act(filter, release) : act(filter, release, stated());
  };
  if constexpr (requires { filter.rest().orders(); }) {
    return with_release(given, filter.rest().orders(), who, [&](auto const& of) {
      if constexpr (std::is_same_v<decltype(of), tacit::event const&>) {
        return of_event(of);
      } else {
        return act(filter, of, failure.is_none() ? tacit::failure_cost(0.0) : stated());
      }
    });
  } else {
    return of_event(event_of(releases{nb::borrow(given)}, who));
  }
}

void bind_approximate(nb::module_& m) {
  nb::class_<failing_filter> filter(
      m, "ApproximateFilter", nb::is_final(),
      "A filter whose releases may each fail with a probability of their own: these have a budget "
      "beside the filter's. Keeps a run inside (epsilon, delta + failures) for each (epsilon, "
      "delta) "
      "that the filter inside guarantees.\n\n"
      "rest      a RenyiFilter or a GaussianFilter, which is taken over: it charges nothing by "
      "itself "
      "any more\n"
      "failures  in [0, 1): the most that they may add up to");
  filter
      .def(
          "__init__",
          [](failing_filter* self, nb::handle rest, number const& failures) {
            constexpr char const* who = "ApproximateFilter";
            double const most = failures.as(who, "failures", "in [0, 1)");
            // Nothing is taken over by a filter that is refused.
            tacit::detail::require_domain(most >= 0.0 && most < 1.0, "approximate_filter",
                                          "failures", most, "in [0, 1)");
            if (nb::isinstance<tacit::renyi_filter>(rest)) {
              new (self) failing_filter{
                  failing_filter::of_renyi(std::move(nb::cast<tacit::renyi_filter&>(rest)), most)};
            } else if (nb::isinstance<tacit::gaussian_filter>(rest)) {
              new (self) failing_filter{failing_filter::of_gaussian(
                  std::move(nb::cast<tacit::gaussian_filter&>(rest)), most)};
            } else {
              binding::detail::refuse(who, "rest", rest, "a RenyiFilter or a GaussianFilter");
            }
          },
          nb::arg("rest").none(), nb::arg("failures"))
      .def(
          "would_exceed",
          [](failing_filter const& self, nb::handle release, whole const& count,
             nb::handle failure) {
            std::uint64_t const times = count.as("would_exceed", "count");
            return self.ask([&](auto const& by) {
              return with_failure(by, release, failure, "would_exceed",
                                  [&](auto const& of, auto const&... what) {
                                    return of.would_exceed(what..., times);
                                  });
            });
          },
          nb::arg("event").none(), nb::arg("count") = 1, nb::arg("failure") = nb::none(),
          "Whether `count` more such releases would leave either budget.")
      .def(
          "charge",
          [](failing_filter& self, nb::handle release, whole const& count, nb::handle failure) {
            std::uint64_t const times = count.as("charge", "count");
            std::visit(
                [&](auto& by) {
                  with_failure(by, release, failure, "charge", [&](auto& of, auto const&... what) {
                    (void)of.charge(what..., times);
                  });
                },
                self.by);
          },
          nb::arg("event").none(), nb::arg("count") = 1, nb::arg("failure") = nb::none(),
          (std::string("Charges a release before it is made: what the filter inside charges, ") +
           of_release +
           ", but for a probability `failure` in [0, 1]. Without it an ApproxDP fails with its "
           "delta, on a Poisson sample under add_remove with the rate times its delta; nothing "
           "else "
           "fails. `count` of them, of which the last is chosen with the first. Raises "
           "BudgetExhausted if they do not fit, ValueError where there is no bound; nothing is "
           "charged then.")
              .c_str())
      .def_prop_ro(
          "failures",
          [](failing_filter const& self) {
            return self.ask([](auto const& by) { return by.failures(); });
          },
          "The most that failures may add up to.")
      .def_prop_ro(
          "failed",
          [](failing_filter const& self) {
            return self.ask([](auto const& by) { return by.failed(); });
          },
          "What they add up to, rounded up.")
      .def_prop_ro(
          "budget",
          [](failing_filter const& self) {
            return self.ask([](auto const& by) { return nb::cast(by.rest().budget()); });
          },
          "Of the filter inside.")
      .def_prop_ro(
          "spent",
          [](failing_filter const& self) {
            return self.ask([](auto const& by) {
              if constexpr (requires { by.rest().orders(); }) {
                return array_of(by.rest().spent());
              } else {
                return nb::cast(by.rest().spent());
              }
            });
          },
          "Of the budget of the filter inside, as that says it.");
  kept(filter, loaded);
}

nb::object indices_of(std::vector<std::size_t> const& taking_part) {
  auto copied = std::make_unique<std::vector<std::int64_t>>(taking_part.begin(), taking_part.end());
  std::int64_t* const data = copied->data();
  std::size_t const size = copied->size();
  nb::capsule const owner(copied.release(), [](void* vector) noexcept {
    delete static_cast<std::vector<std::int64_t>*>(vector);
  });
  return nb::cast(nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>(data, {size}, owner));
}

constexpr char const* for_each_record = "an array of numbers, of shape (records,)";

void bind_individual(nb::module_& m) {
  using tacit::individual_gaussian_filter;
  using tacit::individual_renyi_filter;
  nb::class_<individual_gaussian_filter> gaussian(
      m, "IndividualGaussianFilter", nb::is_final(),
      "Sums with Gaussian noise in which every record that can pay takes part: each record has the "
      "whole budget, and pays for its own norm, which may depend on this record and on past "
      "releases alone. Under add_remove or zero_out. Who takes part and what was spent are as "
      "secret as the records.\n\n"
      "records  how many\n"
      "budget   of each: a GaussianDP, or an ApproxDP for the largest mu that implies it");
  gaussian
      .def(
          "__init__",
          [](individual_gaussian_filter* self, whole const& records, mu_or_epsilon const& given) {
            constexpr char const* who = "IndividualGaussianFilter";
            std::uint64_t const all = records.as(who, "records", some_records);
            std::visit(
                [&](auto const& budget) { new (self) individual_gaussian_filter(all, budget); },
                given.as(who, "budget", mu_or_target));
          },
          nb::arg("records"), nb::arg("budget"))
      .def(
          "charge",
          [](individual_gaussian_filter& self, nb::handle norms, number const& sigma) {
            double const noise = sigma.as("charge", "sigma", "positive and finite");
            return indices_of(self.charge(
                numbers_of(norms, 1, "charge", "norms", for_each_record).entries, noise));
          },
          nb::arg("norms").none(), nb::arg("sigma"),
          "Before a release of noise N(0, sigma^2) in every coordinate: `norms`, shape (records,), "
          "are at least the L2 norms of what the records would add. Charges those that can pay, "
          "and returns their indices, ascending; the others are left out of this release.\n\n"
          "Raises ValueError unless norms are finite and at least 0, and sigma positive and "
          "finite; nothing is charged then.")
      .def_prop_ro(
          "budget", [](individual_gaussian_filter const& self) { return self.budget(); },
          "The GaussianDP that no record exceeds.")
      .def_prop_ro(
          "spent", [](individual_gaussian_filter const& self) { return array_of(self.spent()); },
          "The sum of (norm/sigma)^2 of each record, shape (records,). Secret.");
  sole(gaussian);

  nb::class_<individual_renyi_filter> renyi(
      m, "IndividualRenyiFilter", nb::is_final(),
      "Any releases whose Renyi divergence at one order is known for each record, which may depend "
      "on this record and on past releases alone: each record has the whole budget. Under "
      "add_remove or zero_out. Who takes part and what was spent are as secret as the records.\n\n"
      "records  how many\n"
      "order    finite and above 1, fixed before the run\n"
      "budget   of each: a divergence in nats, or an ApproxDP for the largest that implies it");
  renyi
      .def(
          "__init__",
          [](individual_renyi_filter* self, whole const& records, number const& order,
             argument<std::variant<tacit::approx_dp, number>> const& given) {
            constexpr char const* who = "IndividualRenyiFilter";
            constexpr char const* must_be = "a divergence, finite and at least 0, or an ApproxDP";
            std::uint64_t const all = records.as(who, "records", some_records);
            double const at = order.as(who, "order", an_order);
            auto const budget = given.as(who, "budget", must_be);
            if (auto const* target = std::get_if<tacit::approx_dp>(&budget)) {
              new (self) individual_renyi_filter(all, at, *target);
            } else {
              new (self) individual_renyi_filter(
                  all, at, std::get<number>(budget).as(who, "budget", must_be));
            }
          },
          nb::arg("records"), nb::arg("order"), nb::arg("budget"))
      .def(
          "charge",
          [](individual_renyi_filter& self, nb::handle divergences) {
            return indices_of(self.charge(
                numbers_of(divergences, 1, "charge", "divergences", for_each_record).entries));
          },
          nb::arg("divergences").none(),
          "Before a release: `divergences`, shape (records,), bound its divergence at the order "
          "with and without each record, in both directions, whatever the other records are. "
          "Charges those that can pay, and returns their indices, ascending.\n\n"
          "Raises ValueError if one is negative or NaN; nothing is charged then.")
      .def_prop_ro("order", [](individual_renyi_filter const& self) { return self.order(); })
      .def_prop_ro(
          "budget", [](individual_renyi_filter const& self) { return self.budget(); },
          "The divergence that no record exceeds, in nats.")
      .def_prop_ro(
          "spent", [](individual_renyi_filter const& self) { return array_of(self.spent()); },
          "The sum of the divergences of each record, shape (records,). Secret.");
  sole(renyi);
}

}  // namespace

void bind_filters(nb::module_& m) {
  bind_renyi(m);
  bind_gaussian(m);
  bind_gaussian_odometer(m);
  bind_approximate(m);
  bind_individual(m);
}

}  // namespace binding
