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
  bind_individual(m);
}

}  // namespace binding
