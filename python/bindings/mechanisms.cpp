// SPDX-License-Identifier: Apache-2.0
//
// PACZero and DPZero: numbers of each record in, a release out.

#include "argument.hpp"
#include "binding.hpp"
#include "training.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace binding {

namespace {

using number = argument<double>;
using word = argument<std::string>;
using flag = argument<bool>;
using file = argument<std::filesystem::path>;
using record_lists = argument<std::vector<std::vector<whole>>>;

constexpr char const* a_path = "a path";

template <class T>
std::optional<T> optional_of(std::optional<argument<T>> const& given, char const* who,
                             char const* name) {
  return given ? std::optional(given->as(who, name)) : std::nullopt;
}

template <class Enum, std::size_t N>
Enum choice(char const* name, std::array<std::string_view, N> const& words,
            argument<std::string> const& given) {
  std::string word = given.as("paczero", name);
  std::string range = "one of";
  for (std::string_view const known : words) range.append(" '").append(known).append("'");
  std::replace(word.begin(), word.end(), '_', '-');
  auto const found = tacit::detail::choice_called<Enum>(words, word);
  tacit::detail::require_argument(found.has_value(), "paczero", name, word, range);
  return *found;
}

std::vector<std::vector<std::size_t>> groups_of(std::optional<record_lists> const& given) {
  std::vector<std::vector<std::size_t>> groups;
  if (!given) return groups;
  for (std::vector<whole> const& records :
       given->as("paczero", "groups", "lists of the records of each group")) {
    std::vector<std::size_t>& group = groups.emplace_back();
    for (whole const& record : records) {
      group.push_back(record.as("paczero", "groups", "lists of whole numbers"));
    }
  }
  return groups;
}

tacit::paczero<> new_paczero(whole const& records, whole const& steps,
                             std::optional<number> const& given_budget, word const& ledger,
                             std::optional<number> const& given_kappa,
                             std::optional<record_lists> const& groups,
                             std::optional<number> const& given_group_budget, word const& observed,
                             word const& allocation, number const& horizon,
                             number const& minimum_correlation, word const& disagreement,
                             whole const& directions, number const& clip, flag const& track_records,
                             whole const& subsets, whole const& one_in, flag const& complementary,
                             whole const& candidate_seed) {
  constexpr char const* who = "paczero";
  std::optional<double> const budget = optional_of(given_budget, who, "budget");
  std::optional<double> const kappa = optional_of(given_kappa, who, "kappa");
  std::optional<double> const group_budget = optional_of(given_group_budget, who, "group_budget");
  tacit::paczero_options options;
  options.steps = steps.as(who, "steps");
  options.ledger = choice<tacit::ledger_kind>("ledger", tacit::detail::ledger_words, ledger);
  bool const pathwise = options.ledger == tacit::ledger_kind::pathwise;
  if (budget.has_value() == pathwise || (pathwise && !kappa)) {
    throw std::invalid_argument(
        "paczero: the ledgers 'subset' and 'record' take a budget, with or without kappa, "
        "'pathwise' takes kappa and no budget");
  }
  if (budget) options.budget = tacit::nats(*budget);
  if (kappa) {
    // NaN in the options is no cap at all.
    tacit::detail::require_domain(*kappa > 0.0 && *kappa <= 0.5, who, "kappa", *kappa,
                                  "in (0, 0.5]");
    options.kappa = *kappa;
  }
  options.groups = groups_of(groups);
  if (options.groups.empty()) {
    tacit::detail::require_argument(!group_budget, who, "group_budget", group_budget.value_or(0.0),
                                    "left out where no groups are declared");
  } else {
    tacit::detail::require_argument(group_budget || budget, who, "group_budget", "missing",
                                    "given where there is no budget");
    options.group_budget = tacit::nats(group_budget ? *group_budget : *budget);
  }
  options.what = choice<tacit::observed>("observed", tacit::detail::observed_words, observed);
  options.spend =
      choice<tacit::allocation>("allocation", tacit::detail::allocation_words, allocation);
  options.horizon = horizon.as(who, "horizon");
  options.minimum_correlation = minimum_correlation.as(who, "minimum_correlation");
  options.otherwise =
      choice<tacit::disagreement>("disagreement", tacit::detail::disagreement_words, disagreement);
  options.directions = directions.as(who, "directions");
  options.clip = clip.as(who, "clip");
  options.track_records = track_records.as(who, "track_records");
  options.check();
  tacit::candidate_set::shape const shape{records.as(who, "records"), subsets.as(who, "subsets"),
                                          one_in.as(who, "one_in"),
                                          complementary.as(who, "complementary")};
  return {options, tacit::candidate_set::balanced(shape, candidate_seed.as(who, "candidate_seed"))};
}

nb::object coefficients(std::span<tacit::release const> releases, std::size_t directions) {
  auto all = std::make_unique<std::vector<double>>();
  all->reserve(releases.size() * directions);
  for (tacit::release const& one : releases) {
    all->insert(all->end(), one.coefficients.begin(), one.coefficients.end());
  }
  double* const data = all->data();
  nb::capsule const owner(all.release(), [](void* vector) noexcept {
    delete static_cast<std::vector<double>*>(vector);
  });
  return nb::cast(
      nb::ndarray<nb::numpy, double, nb::ndim<2>>(data, {releases.size(), directions}, owner));
}

using numbers = nb::ndarray<double const, nb::c_contig, nb::device::cpu>;

[[noreturn]] nb::object no_copy(nb::handle self) {
  std::string const type = nb::cast<std::string>(self.type().attr("__name__"));
  throw nb::type_error(
      (type + " is not copied or pickled: a copy would spend its budget again").c_str());
}

}  // namespace

void bind_mechanisms(nb::module_& m) {
  nb::class_<mechanism>(m, "Mechanism", "What PACZero and DPZero have in common.")
      .def_prop_ro("records", &mechanism::records, "N.")
      .def_prop_ro("directions", &mechanism::directions, "K, of a step.")
      .def_prop_ro("steps", &mechanism::steps, "Taken so far.")
      .def_prop_ro("planned_steps", &mechanism::planned_steps,
                   "T, that the budget or the noise is for.")
      .def_prop_ro("done", &mechanism::done, "Whether all planned steps were taken.")
      .def_prop_ro(
          "transcript",
          [](mechanism const& self) { return coefficients(self.transcript(), self.directions()); },
          "Everything released so far: the coefficients, shape (steps, K).")
      .def(
          "step",
          [](mechanism& self, argument<numbers> const& given) {
            numbers const scalars = given.as("step", "scalars", "an array of numbers of the host");
            bool const flat = scalars.ndim() == 1 && self.directions() == 1;
            std::size_t const at = flat ? 0 : 1;
            if (!flat && (scalars.ndim() != 2 || scalars.shape(0) != self.directions())) {
              throw std::invalid_argument(
                  "step: scalars must have shape (K, N), or (N,) for one direction");
            }
            tacit::detail::check_size("step", "number of scalars in a row", scalars.shape(at),
                                      self.records());
            tacit::release const released = self.step({scalars.data(), scalars.size()});
            return coefficients({&released, 1}, self.directions()).attr("reshape")(-1);
          },
          nb::arg("scalars"),
          "One step without a Trainer: the numbers of each record, shape (K, N), or (N,) for K = "
          "1; "
          "float64. Charges, then returns the K released coefficients.\n\n"
          "Raises BudgetExhausted beyond the last step, ValueError for another shape, RuntimeError "
          "in a forked process.")
      .def("__reduce_ex__", [](nb::handle self, nb::handle) { return no_copy(self); });

  nb::class_<paczero_run, mechanism>(
      m, "PACZero", nb::is_final(),
      "PACZero: every step releases one sign for each direction, under a budget of nats about "
      "which "
      "candidate subset of the records is the data. The secret subset is drawn here.\n\n"
      "records              N, all of them, whether in the subset or not\n"
      "steps                T: the run's length, for which the budget is\n"
      "budget               nats of the whole run, at least 0; 0 reads the secret never\n"
      "ledger               whose information is limited: 'subset', 'record', or 'pathwise' with "
      "kappa in place of budget\n"
      "kappa                in (0, 0.5]: keeps what anyone can believe about a record's membership "
      "within kappa of what was believed before, whatever is released; also beside a budget\n"
      "groups               lists of records, from 0, that belong together, such as a family's; "
      "each group's memberships together are charged within group_budget\n"
      "group_budget         nats about each group, at least 0; budget unless given\n"
      "observed             'sign', or 'value' (the paper's charge)\n"
      "allocation           'adaptive', 'uniform', 'confident-or-hold' (with horizon and "
      "minimum_correlation) or 'budget-then-zero'\n"
      "disagreement         on what nothing pays for: 'hold', 'coin' or 'majority'\n"
      "directions           K, of a step\n"
      "clip                 of a record's scalar; for utility alone\n"
      "subsets, one_in      M candidate subsets, of which each record is in one of one_in\n"
      "candidate_seed       public: names the candidate subsets\n"
      "save                 a new file that keeps the state after every step, for `resume`. It "
      "holds "
      "the secret\n"
      "about                a word stored with the state, which resumes only with it\n\n"
      "Raises ValueError naming the argument out of range, FileExistsError where there is a state.")
      .def(
          "__init__",
          [](paczero_run* self, whole const& records, whole const& steps,
             std::optional<number> const& budget, word const& ledger,
             std::optional<number> const& kappa, std::optional<record_lists> const& groups,
             std::optional<number> const& group_budget, word const& observed,
             word const& allocation, number const& horizon, number const& minimum_correlation,
             word const& disagreement, whole const& directions, number const& clip,
             flag const& track_records, whole const& subsets, whole const& one_in,
             flag const& complementary, whole const& candidate_seed,
             std::optional<file> const& save, word const& about_what) {
            std::string const about = about_what.as("paczero", "about");
            tacit::paczero<> run =
                new_paczero(records, steps, budget, ledger, kappa, groups, group_budget, observed,
                            allocation, horizon, minimum_correlation, disagreement, directions,
                            clip, track_records, subsets, one_in, complementary, candidate_seed);
            if (save) {
              new (self) paczero_run(
                  paczero_run::saved(std::move(run), save->as("paczero", "save", a_path), about));
            } else {
              tacit::detail::require_argument(about.empty(), "paczero", "about", about,
                                              "empty without save");
              new (self) paczero_run(std::move(run));
            }
          },
          nb::arg("records"), nb::arg("steps"), nb::arg("budget").none() = nb::none(),
          nb::kw_only(), nb::arg("ledger") = "subset", nb::arg("kappa").none() = nb::none(),
          nb::arg("groups").none() = nb::none(), nb::arg("group_budget").none() = nb::none(),
          nb::arg("observed") = "sign", nb::arg("allocation") = "adaptive",
          nb::arg("horizon") = 200.0, nb::arg("minimum_correlation") = 0.3,
          nb::arg("disagreement") = "hold", nb::arg("directions") = 1, nb::arg("clip") = 1024.0,
          nb::arg("track_records") = false, nb::arg("subsets") = 128, nb::arg("one_in") = 2,
          nb::arg("complementary") = false, nb::arg("candidate_seed") = 0,
          nb::arg("save").none() = nb::none(), nb::arg("about") = "")
      .def_static(
          "resume",
          [](file const& from, word const& about) {
            return new paczero_run(paczero_run::saved::resume(from.as("resume", "file", a_path),
                                                              about.as("resume", "about")));
          },
          nb::arg("file"), nb::arg("about") = "",
          "The run whose state is in `file`: the same secret, account and coins. A Trainer brings "
          "the "
          "parameters from their start to where it stands.\n\n"
          "Raises CorruptState for a damaged file, OSError if there is none or another run writes "
          "it, "
          "ValueError if it is about something else.")
      .def_prop_ro(
          "budget",
          [](paczero_run const& self) -> std::optional<double> {
            tacit::paczero_options const& o = self.get().options();
            if (o.ledger == tacit::ledger_kind::pathwise) return std::nullopt;
            return o.budget.value;
          },
          "Nats of the whole run; None for the pathwise ledger.")
      .def_prop_ro(
          "spent", [](paczero_run const& self) { return self.get().spent().value; },
          "Nats charged for the secret subset so far. For the owner alone.")
      .def_prop_ro(
          "spent_worst_record",
          [](paczero_run const& self) { return self.get().spent_worst_record().value; },
          "Nats charged for the worst record so far. For the owner alone.")
      .def_prop_ro(
          "spent_by_group",
          [](paczero_run const& self) {
            auto const spent = self.get().spent_by_group();
            return std::vector<double>(spent.begin(), spent.end());
          },
          "Nats charged for each group so far, in their order. For the owner alone.")
      .def_prop_ro(
          "attack_bound", [](paczero_run const& self) { return self.get().attack_bound(); },
          "How often an attacker on a record's membership is right, at most, by budget and kappa.")
      .def_prop_ro(
          "unanimous_steps", [](paczero_run const& self) { return self.get().unanimous_steps(); },
          "Directions in which every live candidate had the same sign. For the owner alone.")
      .def_prop_ro(
          "held_steps", [](paczero_run const& self) { return self.get().held_steps(); },
          "Directions in which nothing was released.");

  nb::class_<dpzero_run, mechanism>(
      m, "DPZero", nb::is_final(),
      "DPZero, and with several directions DP-AggZO: a Poisson batch's clipped numbers are summed, "
      "and discrete Gaussian noise is added.\n\n"
      "records           N, who may take part in a batch\n"
      "steps             T: no step follows the last\n"
      "clip              C, of a record's whole contribution to a step\n"
      "noise_multiplier  the noise over C; `tacit.noise_multiplier_for(epsilon=, delta=, rate=, "
      "steps=)` is the least for a target\n"
      "rate              of the Poisson batches, in (0, 1]\n"
      "expected_records  what a sum is divided by, times rate. Public; `records` unless given\n"
      "directions        K, which cost no more than one\n\n"
      "It keeps no state on disk: the budget is the number of steps. Raises ValueError naming the "
      "argument out of range.")
      .def(
          "__init__",
          [](dpzero_run* self, whole const& records, whole const& steps, number const& clip,
             number const& noise_multiplier, number const& rate,
             std::optional<number> const& expected_records, whole const& directions) {
            constexpr char const* who = "dpzero";
            std::size_t const n = records.as(who, "records");
            tacit::noisy_sum_options const options{
                .clip = clip.as(who, "clip"),
                .noise_multiplier = noise_multiplier.as(who, "noise_multiplier"),
                .rate = rate.as(who, "rate"),
                .expected_records = optional_of(expected_records, who, "expected_records")
                                        .value_or(static_cast<double>(n)),
                .steps = steps.as(who, "steps")};
            new (self) dpzero_run(options, directions.as(who, "directions"), n);
          },
          nb::arg("records"), nb::arg("steps"), nb::kw_only(), nb::arg("clip"),
          nb::arg("noise_multiplier"), nb::arg("rate"),
          nb::arg("expected_records").none() = nb::none(), nb::arg("directions") = 1)
      .def_prop_ro(
          "event", [](dpzero_run const& self) { return self.get().event(); },
          "What a step is charged as, under add_remove: compose it `planned_steps` times.");
}

}  // namespace binding
