// SPDX-License-Identifier: Apache-2.0
//
// Matrix mechanisms: strategies, how far a record can move them, and their runs as events.

#include <tacit/dp/matrix.hpp>

#include "argument.hpp"
#include "binding.hpp"
#include "numbers.hpp"
#include "patience.hpp"
#include "release.hpp"
#include "values.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace nb = nanobind;

namespace binding {

namespace {

using tacit::dense_strategy;
using tacit::toeplitz_strategy;
using tacit::tree_strategy;
using strategy = std::variant<toeplitz_strategy, tree_strategy, dense_strategy>;
using participation =
    std::variant<tacit::min_separation, tacit::cyclic_poisson, tacit::balls_in_bins,
                 tacit::nested_bins, tacit::separated_poisson>;

constexpr char const* a_strategy = "a strategy, as square_root_strategy(100)";
constexpr char const* count = "a whole number in [1, 2^53]";
constexpr char const* step_count = "a whole number in [1, 10000000]";

/// A class that holds arrays, and so has no hash.
template <class T, class... Names>
void with_arrays(nb::class_<T>& type, char const* name, Names... fields) {
  complete(type, name, fields...);
  type.attr("__hash__") = nb::none();
}

void bind_strategies(nb::module_& m) {
  nb::class_<toeplitz_strategy> toeplitz(
      m, "ToeplitzStrategy",
      "C is lower triangular, with C[r, c] = coefficients[r - c] where there is such a "
      "coefficient, and 0 elsewhere.\n\n"
      "coefficients  shape (bands,), finite, 1 <= bands <= steps\n"
      "steps         in [1, 10000000]");
  toeplitz
      .def(
          "__init__",
          [](toeplitz_strategy* self, nb::handle coefficients, whole const& steps) {
            constexpr char const* who = "ToeplitzStrategy";
            toeplitz_strategy made{numbers_of(coefficients, 1, who, "coefficients",
                                              "an array of numbers, of shape (bands,)")
                                       .entries,
                                   steps.as(who, "steps", step_count)};
            tacit::detail::check_strategy(who, made);
            new (self) toeplitz_strategy(std::move(made));
          },
          nb::arg("coefficients").none(), nb::arg("steps"))
      .def_prop_ro(
          "coefficients", [](toeplitz_strategy const& c) { return array_of(c.coefficients); },
          "Shape (bands,): a copy.")
      .def_ro("steps", &toeplitz_strategy::steps);
  with_arrays(toeplitz, "ToeplitzStrategy", "coefficients", "steps");

  nb::class_<tree_strategy> tree(
      m, "TreeStrategy",
      "Every node of a binary tree over the steps is released: the sum of the steps below it. "
      "After every `restart` steps a new tree begins; 0: never.");
  tree.def(
          "__init__",
          [](tree_strategy* self, whole const& steps, whole const& restart) {
            constexpr char const* who = "TreeStrategy";
            tree_strategy const made{steps.as(who, "steps", count),
                                     restart.as(who, "restart", "a whole number in [0, 2^53]")};
            tacit::detail::check_strategy(who, made);
            new (self) tree_strategy(made);
          },
          nb::arg("steps"), nb::arg("restart") = 0)
      .def_ro("steps", &tree_strategy::steps)
      .def_ro("restart", &tree_strategy::restart);
  complete(tree, "TreeStrategy", "steps", "restart");

  nb::class_<dense_strategy> dense(m, "DenseStrategy",
                                   "Any C, with a column for each step.\n\n"
                                   "entries  shape (rows, steps), finite");
  dense
      .def(
          "__init__",
          [](dense_strategy* self, nb::handle entries) {
            constexpr char const* who = "DenseStrategy";
            numbers given = numbers_of(entries, 2, who, "entries",
                                       "an array of numbers, of shape (rows, steps)");
            dense_strategy made{std::move(given.entries), given.shape[1]};
            tacit::detail::check_strategy(who, made);
            new (self) dense_strategy(std::move(made));
          },
          nb::arg("entries").none())
      .def_prop_ro(
          "entries",
          [](dense_strategy const& c) {
            return array_of(c.entries, {c.entries.size() / c.columns, c.columns});
          },
          "Shape (rows, steps): a copy.");
  with_arrays(dense, "DenseStrategy", "entries");

  m.def(
      "identity_strategy",
      [](whole const& steps) {
        auto made = tacit::identity_strategy(steps.as("identity_strategy", "steps", step_count));
        tacit::detail::check_strategy("identity_strategy", made);
        return made;
      },
      nb::arg("steps"), "C = I: independent noise in every step, as in DP-SGD.");
  m.def(
      "square_root_strategy",
      [](whole const& steps, std::optional<whole> const& bands) {
        constexpr char const* who = "square_root_strategy";
        std::uint64_t const of = steps.as(who, "steps", step_count);
        return tacit::square_root_strategy(
            of, bands ? bands->as(who, "bands", "a whole number in [1, steps]") : of);
      },
      nb::arg("steps"), nb::arg("bands").none() = nb::none(),
      "The square root of the prefix sums, of whose coefficients the first `bands` are kept; all "
      "of them unless given. 1 <= bands <= steps <= 10000000.");
  m.def(
      "buffered_strategy",
      [](nb::handle buffers, whole const& steps) {
        constexpr char const* who = "buffered_strategy";
        constexpr char const* must_be = "an array of numbers, of shape (n, 2)";
        numbers const given = numbers_of(buffers, 2, who, "buffers", must_be);
        if (given.shape[1] != 2) detail::refuse(who, "buffers", buffers, must_be);
        std::vector<tacit::noise_buffer> all;
        for (std::size_t k = 0; k < given.entries.size(); k += 2) {
          all.push_back({given.entries[k], given.entries[k + 1]});
        }
        return tacit::buffered_strategy(all, steps.as(who, "steps", step_count));
      },
      nb::arg("buffers").none(), nb::arg("steps"),
      "Buffered linear Toeplitz (BLT): c_0 = 1 and c_t the sum of scale*decay^(t-1) over the "
      "buffers.\n\n"
      "buffers  shape (n, 2): decay in [0, 1], and scale, finite and at least 0, of each\n"
      "steps    in [1, 10000000]");
}

void bind_schemas(nb::module_& m) {
  using tacit::balls_in_bins;
  using tacit::cyclic_poisson;
  using tacit::min_separation;
  using tacit::nested_bins;
  using tacit::separated_poisson;
  nb::class_<min_separation> separated(
      m, "MinSeparation",
      "A record takes part at most `most` times, any two of them at least `separation` steps "
      "apart, in steps that do not depend on other records. A single epoch unless given.");
  separated
      .def(
          "__init__",
          [](min_separation* self, whole const& separation, whole const& most) {
            constexpr char const* who = "MinSeparation";
            new (self) min_separation{separation.as(who, "separation", count),
                                      most.as(who, "most", count)};
          },
          nb::arg("separation") = 1, nb::arg("most") = 1)
      .def_ro("separation", &min_separation::separation)
      .def_ro("most", &min_separation::most);
  complete(separated, "MinSeparation", "separation", "most");
  nb::class_<cyclic_poisson> cyclic(
      m, "CyclicPoisson",
      "Each record belongs to one of `groups` groups, which nothing but the record itself decides; "
      "step i takes each record of group i mod groups with probability `rate`, independently and "
      "secretly.");
  cyclic
      .def(
          "__init__",
          [](cyclic_poisson* self, whole const& groups, argument<double> const& rate) {
            constexpr char const* who = "CyclicPoisson";
            new (self)
                cyclic_poisson{groups.as(who, "groups", count), rate.as(who, "rate", "in [0, 1]")};
          },
          nb::arg("groups"), nb::arg("rate"))
      .def_ro("groups", &cyclic_poisson::groups)
      .def_ro("rate", &cyclic_poisson::rate);
  complete(cyclic, "CyclicPoisson", "groups", "rate");
  nb::class_<balls_in_bins> binned(
      m, "BallsInBins",
      "Each record draws one of `bins` bins, uniformly, independently and secretly, and takes part "
      "in the steps bin, bin + bins, bin + 2*bins, ... of the run.\n\n"
      "bins   in [1, 10000000]\n"
      "apart  a divisor of `bins`, which bounds a run of any strategy: the bin modulo `apart` "
      "counts as known. Which is best has to be tried. 0: the least for which columns of what is "
      "left share no row, which takes a strategy of no more bands than bins");
  binned
      .def(
          "__init__",
          [](balls_in_bins* self, whole const& bins, whole const& apart) {
            constexpr char const* who = "BallsInBins";
            std::uint64_t const all = bins.as(who, "bins", step_count);
            new (self) balls_in_bins{all, apart.as(who, "apart", "a divisor of the bins, or 0")};
          },
          nb::arg("bins"), nb::arg("apart") = 0)
      .def_ro("bins", &balls_in_bins::bins)
      .def_ro("apart", &balls_in_bins::apart);
  complete(binned, "BallsInBins", "bins", "apart");
  nb::class_<nested_bins> nested(
      m, "NestedBins",
      "Records take part as in BallsInBins, for any strategy but a tree: the run is bounded by its "
      "Renyi divergences, and no part of a record's bin counts as known.\n\n"
      "bins  in [1, 10000000]");
  nested
      .def(
          "__init__",
          [](nested_bins* self, whole const& bins) {
            new (self) nested_bins{bins.as("NestedBins", "bins", step_count)};
          },
          nb::arg("bins"))
      .def_ro("bins", &nested_bins::bins);
  complete(nested, "NestedBins", "bins");
  nb::class_<separated_poisson> kept_apart(
      m, "SeparatedPoisson",
      "Poisson samples that keep a distance (b-min-sep): every step takes each record that took "
      "part in none of the `separation` - 1 steps before it, with probability `rate`, "
      "independently and secretly.");
  kept_apart
      .def(
          "__init__",
          [](separated_poisson* self, whole const& separation, argument<double> const& rate) {
            constexpr char const* who = "SeparatedPoisson";
            std::uint64_t const steps = separation.as(who, "separation", count);
            new (self) separated_poisson{steps, rate.as(who, "rate", "in [0, 1]")};
          },
          nb::arg("separation"), nb::arg("rate"))
      .def_ro("separation", &separated_poisson::separation)
      .def_ro("rate", &separated_poisson::rate);
  complete(kept_apart, "SeparatedPoisson", "separation", "rate");
}

}  // namespace

void bind_matrix(nb::module_& m) {
  bind_strategies(m);
  bind_schemas(m);
  nb::class_<tacit::squared_error> error(
      m, "SquaredError", "The variance of an estimate of a prefix sum, for noise of variance 1.");
  error
      .def(
          "__init__",
          [](tacit::squared_error* self, double mean, double largest) {
            new (self) tacit::squared_error{mean, largest};
          },
          nb::arg("mean"), nb::arg("largest"))
      .def_ro("mean", &tacit::squared_error::mean, "On average over the steps.")
      .def_ro("largest", &tacit::squared_error::largest);
  complete(error, "SquaredError", "mean", "largest");

  m.def(
      "sensitivity",
      [](argument<strategy> const& c, argument<tacit::min_separation> const& schema) {
        constexpr char const* who = "sensitivity";
        return patiently([c = c.as(who, "strategy", a_strategy),
                          how = schema.as(who, "schema", "a MinSeparation")] {
          return std::visit([&](auto const& of) { return tacit::sensitivity(of, how); }, c);
        });
      },
      nb::arg("strategy"), nb::arg("schema") = tacit::min_separation{},
      "How far one record can move Cx in the L2 norm, for contributions of norm at most 1 in the "
      "steps that the schema, a MinSeparation, allows: an upper bound. "
      "Raises ValueError for several participations among more than 2048 columns of a "
      "DenseStrategy.");
  m.def(
      "prefix_error",
      [](argument<strategy> const& c) {
        return patiently([c = c.as("prefix_error", "strategy", a_strategy)] {
          return std::visit([](auto const& of) { return tacit::prefix_error(of); }, c);
        });
      },
      nb::arg("strategy"),
      "The SquaredError that a strategy leaves in the prefix sums, to nearest. The noise needed is "
      "proportional to the sensitivity: compare sensitivity**2 * mean.");
  m.def(
      "matrix_run",
      [](argument<strategy> const& c, argument<double> const& noise_multiplier,
         argument<participation> const& how, argument<std::string> const& adjacency) {
        constexpr char const* who = "matrix_run";
        strategy const matrix = c.as(who, "strategy", a_strategy);
        double const multiplier = noise_multiplier.as(who, "noise_multiplier", noise_range);
        check_noise_range(who, multiplier);
        auto const found = patiently(
            [c = matrix, noise = multiplier,
             neighbours = adjacency_of(adjacency.as(who, "adjacency")),
             how = how.as(who, "how",
                          "a MinSeparation, a CyclicPoisson, a BallsInBins, a NestedBins or a "
                          "SeparatedPoisson")] {
              return std::visit(
                  [&](auto const& of, auto const& by) {
                    if constexpr (std::remove_cvref_t<decltype(by)>::by_divergences) {
                      return tacit::matrix_run(of, noise, by, neighbours);
                    } else {
                      return tacit::matrix_run(of, noise, by);
                    }
                  },
                  c, how);
            });
        return list_of(found);
      },
      nb::arg("strategy"), nb::arg("noise_multiplier"), nb::arg("how"),
      nb::arg("adjacency") = "add_remove",
      "The run as a list of (event, count) to compose: one Gaussian for a MinSeparation, sampled "
      "Gaussians without correlation for CyclicPoisson, an epoch of random allocation for "
      "BallsInBins, beside a Gaussian where `apart` is given, and for a NestedBins or a "
      "SeparatedPoisson what is known of the run's Renyi divergences, a RenyiDP mechanism for a "
      "RenyiAccountant. "
      "`noise_multiplier` is in [0.001, 1e9], relative to the clipping norm. `adjacency` is that "
      "of "
      "the accountant that composes the run; it is asked for because these two have no bound under "
      "replace_one, and a RenyiDP does not tell.\n\n"
      "Raises ValueError for fewer groups or bins than the strategy has bands, for an `apart` that "
      "does not divide the bins, for samples of a DenseStrategy that is not lower triangular, and "
      "for a SeparatedPoisson of more than 1000 bands or of a tree.");
}

}  // namespace binding
