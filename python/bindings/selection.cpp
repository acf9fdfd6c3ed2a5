// SPDX-License-Identifier: Apache-2.0
//
// The best of several runs, and compositions that are known by their Rényi divergences.

#include "selection.hpp"

#include <tacit/dp/discretised.hpp>
#include <tacit/dp/divergence_sum.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/zcdp.hpp>

#include "argument.hpp"
#include "binding.hpp"
#include "patience.hpp"
#include "values.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nb = nanobind;

namespace binding {

tacit::repetitions repetitions_of(std::string const& law, double mean) {
  constexpr char const* who = "repetitions";
  if (law != "geometric" && law != "logarithmic" && law != "poisson") {
    throw std::invalid_argument("best_of_law is '" + law +
                                "', but must be 'geometric', 'logarithmic' or 'poisson'");
  }
  tacit::detail::require_domain(mean >= 1e-3 && mean <= 1e12, who, "best_of", mean,
                                "in [1e-3, 1e12]");
  if (law == "poisson") return tacit::poisson_count{mean};
  tacit::detail::require_domain(mean >= 1.0, who, "best_of", mean,
                                "in [1, 1e12] unless best_of_law is poisson");
  return tacit::repetitions_of_mean(mean, law == "geometric" ? 1.0 : 0.0);
}

namespace {

using any_accountant =
    std::variant<tacit::privacy_loss_accountant, tacit::discretised_accountant,
                 tacit::renyi_accountant, tacit::zcdp_accountant, tacit::gaussian_accountant>;

/// One run, by whichever accountant.
struct one_run {
  any_accountant by;

  [[nodiscard]] tacit::bound<double> epsilon(double delta) const {
    return std::visit([=](auto const& a) { return a.epsilon(delta); }, by);
  }
  [[nodiscard]] tacit::bound<double> delta(double epsilon) const {
    return std::visit([=](auto const& a) { return a.delta(epsilon); }, by);
  }
  /// Upper bounds on its Rényi divergences.
  /// @throws std::invalid_argument where none are known
  [[nodiscard]] tacit::renyi_accountant divergences() const {
    return std::visit(
        [](auto const& a) {
          tacit::renyi_accountant out(a.neighbours());
          for (tacit::composed const& entry : a.history()) out.compose(entry.release, entry.count);
          return out;
        },
        by);
  }
};

/// Unlike `tacit::best_of` it owns the accountant of the run.
class best {
 public:
  best(any_accountant run, tacit::repetitions const& times)
      : run_(std::make_shared<one_run>(one_run{std::move(run)})), of_(*run_, times) {}

  [[nodiscard]] tacit::best_of<one_run> const& value() const { return of_; }
  [[nodiscard]] one_run const& run() const { return *run_; }

 private:
  std::shared_ptr<one_run const> run_;
  tacit::best_of<one_run> of_;
};

/// A Python function of the order, which is asked from whatever thread needs it.
tacit::divergence_sum::curve curve_of(nb::object const& function) {
  // Copies of the curve share it, so that Python's lock is needed but here and at the end.
  auto const kept = std::shared_ptr<nb::object>(new nb::object(function), [](nb::object* last) {
    nb::gil_scoped_acquire const held;
    delete last;
  });
  return [kept](double order) {
    nb::gil_scoped_acquire const held;
    double const bound =
        argument<double>{(*kept)(order)}.as("divergence", "part(order)", "a number");
    tacit::detail::require_domain(bound >= 0.0, "divergence", "part(order)", bound, "at least 0");
    return bound;
  };
}

constexpr char const* gamma_range = "in (0, 1]";
constexpr char const* shape_range = "in (-1, 1000]";

}  // namespace

void bind_selection(nb::module_& m) {
  using tacit::poisson_count;
  using tacit::truncated_negative_binomial;
  nb::class_<truncated_negative_binomial> negative_binomial(
      m, "TruncatedNegativeBinomial",
      "How often a run is repeated: P(K = k) ~ Gamma(k + shape)/k! * (1 - gamma)^k for k >= 1. "
      "Geometric for shape 1, logarithmic for shape 0.");
  negative_binomial
      .def(
          "__init__",
          [](truncated_negative_binomial* self, argument<double> const& gamma,
             argument<double> const& shape) {
            constexpr char const* who = "TruncatedNegativeBinomial";
            truncated_negative_binomial const times{gamma.as(who, "gamma", gamma_range),
                                                    shape.as(who, "shape", shape_range)};
            tacit::detail::check_repetitions(who, times);
            new (self) truncated_negative_binomial(times);
          },
          nb::arg("gamma"), nb::arg("shape") = 1.0)
      .def_ro("gamma", &truncated_negative_binomial::gamma)
      .def_ro("shape", &truncated_negative_binomial::shape);
  complete(negative_binomial, "TruncatedNegativeBinomial", "gamma", "shape");

  nb::class_<poisson_count> poisson(m, "PoissonCount",
                                    "How often a run is repeated: a Poisson number. Nothing is "
                                    "released where it is 0.");
  poisson
      .def(
          "__init__",
          [](poisson_count* self, argument<double> const& mean) {
            constexpr char const* who = "PoissonCount";
            poisson_count const times{mean.as(who, "mean", "positive and finite")};
            tacit::detail::check_repetitions(who, times);
            new (self) poisson_count(times);
          },
          nb::arg("mean"))
      .def_ro("mean", &poisson_count::mean);
  complete(poisson, "PoissonCount", "mean");

  constexpr char const* law = "a law, as TruncatedNegativeBinomial(0.05)";
  m.def(
      "mean_repetitions",
      [](argument<tacit::repetitions> const& times) {
        return tacit::mean_repetitions(times.as("mean_repetitions", "times", law));
      },
      nb::arg("times"), "The mean of the number of runs, rounded up.");
  m.def(
      "repetitions_of_mean",
      [](argument<double> const& mean, argument<double> const& shape) {
        constexpr char const* who = "repetitions_of_mean";
        return tacit::repetitions_of_mean(mean.as(who, "mean", "in [1, 1e12]"),
                                          shape.as(who, "shape", shape_range));
      },
      nb::arg("mean"), nb::arg("shape") = 1.0,
      "The TruncatedNegativeBinomial of this shape whose mean is at most `mean`, in [1, 1e12], and "
      "nearly so. Draw from it, with its gamma: that is what is charged.");

  nb::class_<best>(
      m, "BestOf",
      "The best of several runs, each of which an accountant accounts for: an honest epsilon of "
      "hyperparameter tuning. The number of runs is drawn beforehand and kept secret; settings may "
      "be drawn at random, but not chosen by what earlier runs showed; only the output of the best "
      "score is released. What the score costs, if it is of private data, belongs to the run.")
      .def(
          "__init__",
          [](best* self, argument<any_accountant> const& run,
             argument<tacit::repetitions> const& times) {
            constexpr char const* who = "BestOf";
            any_accountant const one = run.as(who, "run", "an accountant");
            tacit::repetitions const number = times.as(who, "times", law);
            best const made = patiently([one, number] { return best(one, number); });
            new (self) best(made);
          },
          nb::arg("run"), nb::arg("times"))
      .def(
          "epsilon",
          [](best const& self, argument<double> const& given) {
            double const delta = given.as("epsilon", "delta", "in (0, 1)");
            return patiently([now = self, delta] { return now.value().epsilon(delta); });
          },
          nb::arg("delta"),
          "The smallest epsilon for which the best is (epsilon, delta)-DP whatever the score, as "
          "an Interval. `delta` in (0, 1); `upper` may be infinite.")
      .def(
          "delta",
          [](best const& self, argument<double> const& given) {
            double const epsilon = given.as("delta", "epsilon", "finite and at least 0");
            return patiently([now = self, epsilon] { return now.value().delta(epsilon); });
          },
          nb::arg("epsilon"),
          "The smallest delta for which the best is (epsilon, delta)-DP whatever the score, as an "
          "Interval. `epsilon` finite and at least 0.")
      .def(
          "divergence",
          [](best const& self, argument<double> const& given) {
            double const order = given.as("divergence", "order", "finite and above 1");
            return patiently([now = self, order] {
              tacit::renyi_accountant const one = now.run().divergences();
              return tacit::least_divergence(order, [&](double at) {
                return now.value().divergence(at, one.method().divergence(at));
              });
            });
          },
          nb::arg("order"),
          "The Renyi divergence of the best at this order, finite and above 1, in nats, of the "
          "worse direction: an upper bound. Raises ValueError where none is known for the run.")
      .def_prop_ro(
          "run", [](best const& self) { return self.run().by; }, "A copy of the accountant.")
      .def_prop_ro("times", [](best const& self) { return self.value().times(); })
      .def("__copy__", [](nb::handle self) { return nb::borrow(self); })
      .def(
          "__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); },
          nb::arg("memo"))
      .def("__reduce__",
           [](nb::handle self) {
             return nb::make_tuple(self.type(),
                                   nb::make_tuple(self.attr("run"), self.attr("times")));
           })
      .def("__repr__", [](nb::handle self) {
        return "BestOf(" + text_of(self.attr("run")) + ", " + text_of(self.attr("times")) + ")";
      });

  nb::class_<tacit::divergence_sum>(
      m, "DivergenceSum",
      "A composition of parts that are known by their Renyi divergences alone: accountants, the "
      "best of several runs and what a paper bounds, in any order, each of which may depend on all "
      "earlier ones. Upper "
      "bounds; `lower` is 0.")
      .def(nb::init<>())
      .def(
          "add",
          [](tacit::divergence_sum& self, nb::object const& part,
             whole const& count) -> tacit::divergence_sum& {
            constexpr char const* who = "add";
            std::uint64_t const times = count.as(who, "count");
            if (PyCallable_Check(part.ptr()) != 0) return self.add(curve_of(part), times);
            auto const given = argument<std::variant<any_accountant, best>>{part}.as(
                who, "part", "an accountant, a BestOf or a function of the order");
            auto const* tuned = std::get_if<best>(&given);
            auto const run = std::make_shared<tacit::renyi_accountant const>(
                tuned ? tuned->run().divergences()
                      : one_run{std::get<any_accountant>(given)}.divergences());
            auto const one = [run](double order) { return run->method().divergence(order); };
            if (tuned == nullptr) return self.add(one, times);
            return self.add(
                [one, kept = *tuned](double order) {
                  return kept.value().divergence(order, one(order));
                },
                times);
          },
          nb::arg("part").none(), nb::arg("count") = 1, nb::rv_policy::none,
          "Adds `count` of these: an accountant, a BestOf, or a function that returns for every "
          "order above 1 an upper bound on the Renyi divergence of the worse direction, in nats, "
          "whatever was released before. Raises ValueError, with the reason, where no divergence "
          "is "
          "known; nothing is added then.")
      .def(
          "epsilon",
          [](tacit::divergence_sum const& self, argument<double> const& given) {
            double const delta = given.as("epsilon", "delta", "in (0, 1)");
            return patiently([now = self, delta] { return now.epsilon(delta); });
          },
          nb::arg("delta"), "Epsilon at this delta in (0, 1), as an Interval.")
      .def(
          "delta",
          [](tacit::divergence_sum const& self, argument<double> const& given) {
            double const epsilon = given.as("delta", "epsilon", "finite and at least 0");
            return patiently([now = self, epsilon] { return now.delta(epsilon); });
          },
          nb::arg("epsilon"), "Delta at this epsilon, finite and at least 0, as an Interval.")
      .def(
          "divergence",
          [](tacit::divergence_sum const& self, argument<double> const& given) {
            double const order = given.as("divergence", "order", "finite and above 1");
            return patiently([now = self, order] { return now.divergence(order); });
          },
          nb::arg("order"),
          "The Renyi divergence of the whole at this order, finite and above 1, in nats: an upper "
          "bound.");
}

}  // namespace binding
