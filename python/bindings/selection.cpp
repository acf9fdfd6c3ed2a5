// SPDX-License-Identifier: Apache-2.0
//
// The best of several runs, and compositions that are known by their Rényi divergences.

#include "selection.hpp"

#include <tacit/dp/divergence_sum.hpp>

#include "argument.hpp"
#include "binding.hpp"
#include "patience.hpp"
#include "runs.hpp"
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

/// Upper bounds on the Rényi divergences of a run.
/// @throws std::invalid_argument where none are known
tacit::renyi_accountant divergences_of(one_run const& run) {
  return std::visit(
      [](auto const& a) -> tacit::renyi_accountant {
        if constexpr (requires { a.history(); }) {
          tacit::renyi_accountant out(a.neighbours());
          for (tacit::composed const& entry : a.history()) out.compose(entry.release, entry.count);
          return out;
        } else {
          throw std::invalid_argument(
              "divergence: no Renyi divergences are known of a run that is not an accountant");
        }
      },
      run.by);
}

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

  nb::class_<best> tuned(
      m, "BestOf",
      "The best of several runs: an honest epsilon of hyperparameter tuning. The number of runs is "
      "drawn beforehand and kept secret; settings may be drawn at random, but not chosen by what "
      "earlier runs showed; only the output of the best score is released. What the score costs, "
      "if it is of private data, belongs to the run.\n\n"
      "run    one of the runs: an accountant, a CappedRun, a SampledRun or a BestOf\n"
      "times  the law of their number, a TruncatedNegativeBinomial or a PoissonCount");
  tuned
      .def(
          "__init__",
          [](best* self, argument<any_run> const& run, argument<tacit::repetitions> const& times) {
            constexpr char const* who = "BestOf";
            one_run const one{run.as(who, "run", a_run)};
            tacit::repetitions const number = times.as(who, "times", law);
            best const made = patiently([one, number] { return best(one, number); });
            new (self) best(made);
          },
          nb::arg("run"), nb::arg("times"))
      .def(
          "divergence",
          [](best const& self, argument<double> const& given) {
            double const order = given.as("divergence", "order", "finite and above 1");
            return patiently([now = self, order] {
              tacit::renyi_accountant const one = divergences_of(now.run());
              return tacit::least_divergence(order, [&](double at) {
                return now.value().divergence(at, one.method().divergence(at));
              });
            });
          },
          nb::arg("order"),
          "The Renyi divergence of the best at this order, finite and above 1, in nats, of the "
          "worse direction: an upper bound. Raises ValueError where none is known for the run.")
      .def_prop_ro("times", [](best const& self) { return self.value().times(); });
  asked_both_ways(tuned, "the best, whatever the score,");
  complete_around(tuned, "BestOf", "times");

  nb::class_<tacit::divergence_sum> sum(
      m, "DivergenceSum",
      "A composition of parts that are known by their Renyi divergences alone: accountants, the "
      "best of several runs and what a paper bounds, in any order, each of which may depend on all "
      "earlier ones. Upper "
      "bounds; `lower` is 0.");
  sum.def(nb::init<>())
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
            one_run const whole = tuned != nullptr
                                      ? tuned->run()
                                      : one_run{std::visit([](auto const& a) { return any_run(a); },
                                                           std::get<any_accountant>(given))};
            auto const run = std::make_shared<tacit::renyi_accountant const>(divergences_of(whole));
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
          "divergence",
          [](tacit::divergence_sum const& self, argument<double> const& given) {
            double const order = given.as("divergence", "order", "finite and above 1");
            return patiently([now = self, order] { return now.divergence(order); });
          },
          nb::arg("order"),
          "The Renyi divergence of the whole at this order, finite and above 1, in nats: an upper "
          "bound.");
  asked_both_ways(sum, "the whole");
}

}  // namespace binding
