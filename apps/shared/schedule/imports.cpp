// SPDX-License-Identifier: Apache-2.0
//
// Runs as other libraries' accountants state them.

#include "schedule/imports.hpp"

#include <tacit/core/count.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/dp/sensitivity.hpp>

#include "output/format.hpp"
#include "schedule/python_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

namespace apps {

using nlohmann::json;
using tacit::detail::enclosure;

namespace {

// A value and its place: `ComposedDpEvent.events[2].event`.
class part {
 public:
  part(std::string name, json const& value) : name_(std::move(name)), value_(&value) {}

  std::string const& name() const { return name_; }
  json const& value() const { return *value_; }

  [[noreturn]] void refuse(std::string const& must_be) const {
    std::string is = is_call() ? kind() : value_->dump();
    if (is.size() > 60) is = is.substr(0, 57) + "...";
    throw bad_schedule(name_ + " is " + is + ", but must be " + must_be);
  }

  double number(char const* must_be, bool (*holds)(double)) const {
    if (!value_->is_number() || !holds(value_->get<double>())) refuse(must_be);
    return value_->get<double>() + 0.0;
  }
  double probability() const {
    return number("in [0, 1]", [](double x) { return x >= 0.0 && x <= 1.0; });
  }
  double positive() const {
    return number("positive and finite", [](double x) { return x > 0.0 && std::isfinite(x); });
  }
  double non_negative() const {
    return number("finite and at least 0", [](double x) { return x >= 0.0 && std::isfinite(x); });
  }
  double noise() const { return number(noise_range, in_noise_range); }
  std::uint64_t whole(std::uint64_t low = 1, std::uint64_t high = largest_count) const {
    bool const is = value_->is_number_unsigned();
    if (!is || value_->get<std::uint64_t>() < low || value_->get<std::uint64_t>() > high) {
      refuse(tacit::detail::count_range(low, high));
    }
    return value_->get<std::uint64_t>();
  }
  std::vector<part> entries(char const* must_be) const {
    if (!value_->is_array()) refuse(must_be);
    std::vector<part> out;
    for (std::size_t k = 0; k < value_->size(); ++k) {
      out.emplace_back(name_ + "[" + std::to_string(k) + "]", value_->at(k));
    }
    return out;
  }

  bool is_call() const { return value_->is_object() && value_->contains(call_key); }
  // GaussianDpEvent of dp_accounting.GaussianDpEvent(…)
  std::string kind() const {
    if (!is_call()) refuse("a call");
    std::string const whole = value_->at(call_key).get<std::string>();
    for (char const* module : {"dp_accounting.dp_event.", "dp_accounting.", "dp_event.",
                               "prv_accountant.dpsgd.", "prv_accountant."}) {
      if (whole.starts_with(module)) return whole.substr(std::string(module).size());
    }
    return whole;
  }

  // The arguments of a call, in this order. Those that were not given are null where they may be left out.
  std::vector<part> arguments(std::vector<char const*> const& names, std::size_t needed) const {
    static json const none;
    json const& values = value_->at("values");
    json const& named = value_->at("named");
    std::string const within = name_ + ".";
    if (values.size() > names.size()) {
      throw bad_schedule(name_ + " has " + std::to_string(values.size()) +
                         " arguments, but must have at most " + std::to_string(names.size()));
    }
    std::size_t found = 0;
    std::vector<part> out;
    for (std::size_t k = 0; k < names.size(); ++k) {
      bool const by_name = named.contains(names[k]);
      if (by_name && k < values.size()) throw bad_schedule(within + names[k] + " is given twice");
      if (!by_name && k >= values.size() && k < needed) {
        throw bad_schedule(within + names[k] + " is missing");
      }
      found += by_name ? 1 : 0;
      out.emplace_back(within + names[k], by_name             ? named.at(names[k])
                                          : k < values.size() ? values.at(k)
                                                              : none);
    }
    if (found != named.size()) {
      for (auto const& item : named.items()) {
        if (std::find(names.begin(), names.end(), item.key()) != names.end()) continue;
        throw bad_schedule(within + item.key() + " is unknown, but must be one of " +
                           joined({names.begin(), names.end()}));
      }
    }
    return out;
  }
  std::vector<part> arguments(std::vector<char const*> const& names) const {
    return arguments(names, names.size());
  }

 private:
  std::string name_;
  json const* value_;
};

using entries = std::vector<schedule::entry>;

std::uint64_t times(part const& count, std::uint64_t before) {
  std::uint64_t const n = count.whole();
  if (n > largest_count / before) {
    count.refuse("so small that all steps together are at most " + std::to_string(largest_count));
  }
  return n * before;
}

tacit::gaussian joint(part const& of, std::vector<tacit::clipped_group> const& groups) {
  tacit::gaussian const all = tacit::joint_gaussian(groups);
  if (!in_noise_range(all.noise_multiplier)) {
    of.refuse(std::string("of a joint noise multiplier ") + noise_range);
  }
  return all;
}

// ---- dp_accounting ------------------------------------------------------------------------------

using mechanism_reader = tacit::mechanism_event (*)(part const&);

tacit::mechanism_event read_response(part const& of) {
  auto const its = of.arguments({"noise_parameter", "num_buckets"});
  double const p = its[0].number("in (0, 1]", [](double x) { return x > 0.0 && x <= 1.0; });
  std::uint64_t const k = its[1].whole(2);
  // The true category has probability 1 − p + p/k, each other one p/k.
  enclosure const odds = enclosure(static_cast<double>(k)) * (1.0 - enclosure(p)) / enclosure(p);
  return tacit::randomised_response{std::max(0.0, log1p(odds).upper), k};
}

tacit::mechanism_event read_mixture(part const& of) {
  auto const its = of.arguments({"standard_deviation", "sensitivities", "sampling_probs"});
  auto const sizes = its[1].entries("a list of sensitivities");
  auto const weights = its[2].entries("a list of probabilities");
  if (weights.size() != sizes.size() || weights.empty() ||
      weights.size() > tacit::gaussian_mixture::most_parts) {
    its[2].refuse("as many as the sensitivities, 1 to " +
                  std::to_string(tacit::gaussian_mixture::most_parts));
  }
  std::vector<tacit::gaussian_mixture::part> parts;
  double sum = 0.0;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    parts.push_back({weights[k].probability(), sizes[k].non_negative()});
    sum += parts.back().weight;
  }
  if (!(std::fabs(sum - 1.0) <= 1e-9)) its[2].refuse("probabilities that add up to 1");
  return tacit::gaussian_mixture{its[0].positive(), parts};
}

tacit::mechanism_event read_tree(part const& of) {
  auto const its = of.arguments({"noise_multiplier", "step_counts"});
  std::uint64_t most = 0;
  if (its[1].value().is_array()) {
    for (part const& count : its[1].entries("")) most = std::max(most, count.whole());
    if (most == 0) its[1].refuse("at least one number of steps");
  } else {
    most = its[1].whole();
  }
  // A step is in as many sums as the number of steps has binary digits.
  double const sums = static_cast<double>(std::bit_width(most));
  return tacit::matrix_gaussian{its[0].noise(), sqrt(enclosure(sums)).upper};
}

struct known_event {
  char const* name;
  mechanism_reader read;
};

// D_α ≤ ξ + ρα, at so many orders that what convexity says between them is little more.
tacit::renyi_dp divergences_of(double xi, double rho) {
  tacit::renyi_dp out;
  for (double over = 0x1p-10; over <= 0x1p20; over *= 1.05) {
    double const order = 1.0 + over;
    double const divergence = (enclosure(xi) + enclosure(rho) * order).upper;
    if (divergence <= std::numeric_limits<double>::max()) out.points.push_back({order, divergence});
  }
  return out;
}

std::vector<known_event> const& known_events() {
  static std::vector<known_event> const all{
      {"GaussianDpEvent",
       [](part const& of) -> tacit::mechanism_event {
         return tacit::gaussian{of.arguments({"noise_multiplier"})[0].noise()};
       }},
      {"LaplaceDpEvent",
       [](part const& of) -> tacit::mechanism_event {
         return tacit::laplace{of.arguments({"noise_multiplier"})[0].noise()};
       }},
      {"DiscreteLaplaceDpEvent",
       [](part const& of) -> tacit::mechanism_event {
         auto const its = of.arguments({"noise_parameter", "sensitivity"});
         double const scale = tacit::detail::divide_down(1.0, its[0].positive());
         if (!(scale > 0.0)) its[0].refuse("of a scale that is positive");
         return tacit::discrete_laplace{scale, its[1].whole(1, 1'000'000'000)};
       }},
      {"RandomizedResponseDpEvent", read_response},
      {"MixtureOfGaussiansDpEvent", read_mixture},
      {"SingleEpochTreeAggregationDpEvent", read_tree},
      {"ZCDpEvent", [](part const& of) -> tacit::mechanism_event {
         auto const its = of.arguments({"rho", "xi"}, 1);
         double const rho = its[0].non_negative();
         double const xi = its[1].value().is_null() ? 0.0 : its[1].non_negative();
         if (xi == 0.0) return tacit::zcdp{rho};
         return divergences_of(xi, rho);
       }}};
  return all;
}

known_event const* mechanism_of(std::string const& kind) {
  auto const found = std::find_if(known_events().begin(), known_events().end(),
                                  [&](known_event const& e) { return kind == e.name; });
  return found == known_events().end() ? nullptr : &*found;
}

[[noreturn]] void refuse_event(part const& of) {
  std::string const kind = of.kind();
  constexpr std::pair<char const*, char const*> reasons[] = {
      {"NonPrivateDpEvent", "what protects something: nothing bounds this release"},
      {"UnsupportedDpEvent", "an event that says what it is"}};
  for (auto const& [name, reason] : reasons) {
    if (kind == name) of.refuse(reason);
  }
  std::vector<std::string> known{"NoOpDpEvent",
                                 "ComposedDpEvent",
                                 "SelfComposedDpEvent",
                                 "PoissonSampledDpEvent",
                                 "SampledWithReplacementDpEvent",
                                 "SampledWithoutReplacementDpEvent",
                                 "RepeatAndSelectDpEvent",
                                 "TruncatedSubsampledGaussianDpEvent"};
  for (known_event const& e : known_events()) known.emplace_back(e.name);
  of.refuse(joined(known));
}

// Whether a composition is of Gaussians alone.
bool is_gaussian(part const& of) {
  std::string const kind = of.kind();
  if (kind == "SelfComposedDpEvent") return is_gaussian(of.arguments({"event", "count"})[0]);
  if (kind == "ComposedDpEvent") {
    std::vector<part> const all = of.arguments({"events"})[0].entries("a list of events");
    return std::all_of(all.begin(), all.end(), is_gaussian);
  }
  return kind == "NoOpDpEvent" || kind == "GaussianDpEvent";
}

// Gaussians one after the other on the same sample are one.
void add_gaussians(part const& of, std::uint64_t before,
                   std::vector<tacit::clipped_group>& groups) {
  std::string const kind = of.kind();
  if (kind == "NoOpDpEvent") {
    (void)of.arguments({});
  } else if (kind == "SelfComposedDpEvent") {
    auto const its = of.arguments({"event", "count"});
    add_gaussians(its[0], times(its[1], before), groups);
  } else if (kind == "ComposedDpEvent") {
    for (part const& e : of.arguments({"events"})[0].entries("a list of events")) {
      add_gaussians(e, before, groups);
    }
  } else {  // of another kind `is_gaussian` is false
    double const sigma = of.arguments({"noise_multiplier"})[0].noise();
    groups.push_back({sqrt(enclosure(static_cast<double>(before))).upper, sigma});
  }
}

std::optional<tacit::sampling> sampling_of(part const& of, std::vector<part>& inside) {
  std::string const kind = of.kind();
  if (kind == "PoissonSampledDpEvent") {
    inside = of.arguments({"sampling_probability", "event"});
    return tacit::poisson{inside[0].probability()};
  }
  bool const again = kind == "SampledWithReplacementDpEvent";
  if (!again && kind != "SampledWithoutReplacementDpEvent") return std::nullopt;
  inside = of.arguments({"source_dataset_size", "sample_size", "event"});
  std::uint64_t const records = inside[0].whole();
  if (again) return tacit::with_replacement{inside[1].whole(), records};
  return tacit::fixed_size{inside[1].whole(1, records), records};
}

// The runs that are one release.
class inner_runs {
 public:
  explicit inner_runs(tacit::adjacency neighbours) : neighbours_(neighbours) {}

  // Releases and what is around them, stated by its keys.
  schedule::entry operator()(part const& of, entries const& releases, json around,
                             std::uint64_t count) const {
    around["mechanism"] = "run";
    around["releases"] = json::array();
    for (schedule::entry const& e : releases) around["releases"].push_back(json(as_json(e)));
    around["steps"] = count;
    return read_entry(around, of.name(), neighbours_);
  }

  [[nodiscard]] bool replaces() const { return neighbours_ == tacit::adjacency::replace_one; }

 private:
  tacit::adjacency neighbours_;
};

json law_of(part const& mean, part const& shape) {
  double const runs =
      mean.number("in [1e-3, 1e12]", [](double x) { return x >= 1e-3 && x <= 1e12; });
  if (shape.value() == "inf") return {{"mean", runs}, {"law", "poisson"}};
  double const of_law =
      shape.number("in (-1, 1000], or inf", [](double x) { return x > -1.0 && x <= 1000.0; });
  if (runs < 1.0) mean.refuse("in [1, 1e12] unless shape is inf");
  return {{"mean", runs}, {"shape", of_law}};
}

void read_event(part const& of, std::uint64_t before, inner_runs const& run, entries& out);

// What is composed on one secret sample is a run on it.
void read_run_on_sample(part const& of, tacit::sampling const& how, part const& event,
                        std::uint64_t before, inner_runs const& run, entries& out) {
  double share = 0.0;
  if (auto const* coins = std::get_if<tacit::poisson>(&how)) share = coins->rate;
  if (auto const* batch = std::get_if<tacit::fixed_size>(&how)) {
    if (!run.replaces()) {
      event.refuse(
          "a mechanism: of a composition on one sample of a fixed size a bound is known "
          "under replace-one alone");
    }
    share = std::min(1.0, tacit::detail::divide_up(static_cast<double>(batch->batch),
                                                   static_cast<double>(batch->records)));
  }
  if (std::holds_alternative<tacit::with_replacement>(how)) {
    event.refuse("a mechanism: of a composition on one sample with replacement no bound is known");
  }
  entries inside;
  read_event(event, 1, run, inside);
  if (!inside.empty()) out.push_back(run(of, inside, {{"drawn_once", share}}, before));
}

void read_sampled(part const& of, tacit::sampling how, part const& event, std::uint64_t before,
                  inner_runs const& run, entries& out) {
  std::string const kind = event.kind();
  std::vector<part> inside;
  if (std::optional<tacit::sampling> const inner = sampling_of(event, inside)) {
    auto const* const outer_rate = std::get_if<tacit::poisson>(&how);
    auto const* const rate = std::get_if<tacit::poisson>(&*inner);
    if (outer_rate == nullptr || rate == nullptr) {
      event.refuse("a mechanism: of samples of samples only Poisson's are known");
    }
    double const both = std::min(1.0, tacit::detail::multiply_up(outer_rate->rate, rate->rate));
    return read_sampled(event, tacit::poisson{both}, inside.back(), before, run, out);
  }
  if (known_event const* known = mechanism_of(kind)) {
    out.push_back({{sampled(known->read(event), how), before}, of.name()});
    return;
  }
  bool const is_run =
      kind == "RepeatAndSelectDpEvent" || kind == "TruncatedSubsampledGaussianDpEvent";
  if (!is_run && kind != "NoOpDpEvent" && kind != "ComposedDpEvent" &&
      kind != "SelfComposedDpEvent") {
    refuse_event(event);
  }
  if (!is_gaussian(event)) return read_run_on_sample(of, how, event, before, run, out);
  std::vector<tacit::clipped_group> groups;
  add_gaussians(event, 1, groups);
  if (!groups.empty()) out.push_back({{sampled(joint(event, groups), how), before}, of.name()});
}

void read_event(part const& of, std::uint64_t before, inner_runs const& run, entries& out) {
  std::string const kind = of.kind();
  std::vector<part> inside;
  if (kind == "NoOpDpEvent") {
    (void)of.arguments({});
  } else if (kind == "ComposedDpEvent") {
    for (part const& e : of.arguments({"events"})[0].entries("a list of events")) {
      read_event(e, before, run, out);
    }
  } else if (kind == "SelfComposedDpEvent") {
    inside = of.arguments({"event", "count"});
    read_event(inside[0], times(inside[1], before), run, out);
  } else if (std::optional<tacit::sampling> const how = sampling_of(of, inside)) {
    read_sampled(of, *how, inside.back(), before, run, out);
  } else if (known_event const* known = mechanism_of(kind)) {
    out.push_back({{tacit::event(known->read(of)), before}, of.name()});
  } else if (kind == "RepeatAndSelectDpEvent") {
    inside = of.arguments({"event", "mean", "shape"});
    json const law = law_of(inside[1], inside[2]);
    entries repeated;
    read_event(inside[0], 1, run, repeated);
    if (repeated.empty()) return;
    out.push_back(run(of, repeated, {{"best_of", law}}, before));
  } else if (kind == "TruncatedSubsampledGaussianDpEvent") {
    inside = of.arguments(
        {"dataset_size", "sampling_probability", "truncated_batch_size", "noise_multiplier"});
    tacit::event const step =
        sampled(tacit::gaussian{inside[3].noise()}, tacit::poisson{inside[1].probability()});
    json const cap{{"records", inside[0].whole()}, {"most", inside[2].whole()}};
    out.push_back(run(of, {{{step, before}, of.name()}}, {{"cap", cap}}, 1));
  } else {
    refuse_event(of);
  }
}

// ---- prv-accountant -----------------------------------------------------------------------------

// A mechanism by its constructor's arguments, or by the attributes that it has then.
tacit::event read_variable(part const& of) {
  std::string const kind = of.kind();
  json const& named = of.value().at("named");
  if (kind == "PoissonSubsampledGaussianMechanism") {
    auto const its = named.contains("sigma")
                         ? of.arguments({"p", "sigma"})
                         : of.arguments({"sampling_probability", "noise_multiplier"});
    return sampled(tacit::gaussian{its[1].noise()}, tacit::poisson{its[0].probability()});
  }
  if (kind == "GaussianMechanism") {
    bool const by_mu = named.contains("mu");
    auto const its =
        by_mu ? of.arguments({"mu"}) : of.arguments({"noise_multiplier", "l2_sensitivity"}, 1);
    double const over = by_mu || its[1].value().is_null() ? 1.0 : its[1].positive();
    double const noise = by_mu ? tacit::detail::divide_down(1.0, its[0].positive())
                               : tacit::detail::divide_down(its[0].positive(), over);
    if (!in_noise_range(noise)) {
      of.refuse(std::string("of noise over the sensitivity ") + noise_range);
    }
    return tacit::gaussian{noise};
  }
  if (kind == "LaplaceMechanism") {
    double const scale = tacit::detail::divide_down(1.0, of.arguments({"mu"})[0].positive());
    if (!in_noise_range(scale)) of.refuse(std::string("of 1/mu ") + noise_range);
    return tacit::laplace{scale};
  }
  if (kind == "PureDPMechanism") return tacit::pure{of.arguments({"eps"})[0].non_negative()};
  if (kind == "ApproximateDPMechanism") {
    auto const its = of.arguments({named.contains("eps") ? "eps" : "epsilon", "delta"});
    return tacit::approx_dp{its[0].non_negative(), its[1].probability()};
  }
  of.refuse(
      "PoissonSubsampledGaussianMechanism, GaussianMechanism, LaplaceMechanism, PureDPMechanism or "
      "ApproximateDPMechanism");
}

entries read_prv(part const& of) {
  if (of.kind() == "DPSGDAccountant") {
    auto const its = of.arguments(
        {"noise_multiplier", "sampling_probability", "max_steps", "eps_error", "delta_error"}, 3);
    tacit::event const step =
        sampled(tacit::gaussian{its[0].noise()}, tacit::poisson{its[1].probability()});
    return {{{step, its[2].whole()}, of.name()}};
  }
  auto const its =
      of.arguments({"prvs", "eps_error", "delta_error", "max_self_compositions", "eps_max"}, 1);
  bool const one = its[0].is_call();
  std::vector<part> const prvs =
      one ? std::vector<part>{its[0]} : its[0].entries("a list of mechanisms");
  part const& counts = its[3];
  std::vector<part> many;
  if (!counts.value().is_null()) {
    many = one ? std::vector<part>{counts} : counts.entries("a list of counts");
    if (many.size() != prvs.size()) counts.refuse("as many as the prvs");
  }
  entries out;
  for (std::size_t k = 0; k < prvs.size(); ++k) {
    std::uint64_t const count = many.empty() ? 1 : many[k].whole();
    out.push_back({{read_variable(prvs[k]), count}, prvs[k].name()});
  }
  return out;
}

// ---- any of them --------------------------------------------------------------------------------

// A named tuple's repr is a call of _GaussianDpEventNamedTupleWrapper that names the class and its module.
json without_wrappers(json const& from) {
  if (!from.is_structured()) return from;
  json out = from;
  for (json& inner : out) inner = without_wrappers(inner);
  if (!out.is_object() || !out.contains(call_key)) return out;
  std::string const name = out.at(call_key).get<std::string>();
  if (!name.starts_with('_') || !name.ends_with("NamedTupleWrapper")) return out;
  json& named = out.at("named");
  if (!named.contains("class_name") || !named.at("class_name").is_string() ||
      !named.contains("module_name") || named.at("module_name") != "dp_accounting.dp_event") {
    throw bad_schedule(name + " must name a class of dp_accounting.dp_event");
  }
  out[call_key] = named.at("class_name");
  named.erase("class_name");
  named.erase("module_name");
  return out;
}

// What JSON makes of a named tuple: ["dp_accounting.dp_event", class, value, …].
bool is_named_tuple(json const& from) {
  return from.is_array() && from.size() >= 2 && from[0] == "dp_accounting.dp_event" &&
         from[1].is_string();
}

// Of the arrays that JSON makes of named tuples, calls.
json with_calls(json const& from) {
  if (!from.is_array()) return from;
  json values = json::array();
  bool const is_event = is_named_tuple(from);
  for (std::size_t k = is_event ? 2 : 0; k < from.size(); ++k) {
    values.push_back(with_calls(from[k]));
  }
  if (!is_event) return values;
  return {{call_key, from[1]}, {"values", std::move(values)}, {"named", json::object()}};
}

// One record more would move all records behind it to other leaves of a tree: dp_accounting has trees under
// REPLACE_SPECIAL alone.
bool has_tree(json const& of) {
  if (of.is_object() && of.contains(call_key) &&
      part("", of).kind() == "SingleEpochTreeAggregationDpEvent") {
    return true;
  }
  return of.is_structured() && std::any_of(of.begin(), of.end(), has_tree);
}

schedule checked(entries releases, std::string const& of,
                 std::optional<tacit::adjacency> neighbours = {}) {
  if (releases.empty()) throw bad_schedule(of + " holds no release");
  std::uint64_t steps = 0;
  for (schedule::entry const& e : releases) {
    if (e.what.count > largest_count - steps) {
      throw bad_schedule(e.name + " has " + std::to_string(e.what.count) +
                         " steps, but must have so few that all together are at most " +
                         std::to_string(largest_count));
    }
    steps += e.what.count;
  }
  return {neighbours, std::move(releases)};
}

schedule read_call(json const& from, tacit::adjacency assumed) {
  part const of(part("", from).kind(), from);
  if (of.name() == "PRVAccountant" || of.name() == "DPSGDAccountant") {
    return checked(read_prv(of), of.name());
  }
  std::optional<tacit::adjacency> neighbours;
  if (has_tree(from)) neighbours = tacit::adjacency::zero_out;
  entries out;
  read_event(of, 1, inner_runs(neighbours.value_or(assumed)), out);
  return checked(std::move(out), of.name(), neighbours);
}

// Whether it is Python's text, not JSON's: a name, a tuple, or what stands in '.
bool is_python(std::string const& text) {
  std::size_t const first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return false;
  char const c = text[first];
  if (c != '[' && c != '{') return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  std::size_t const second = text.find_first_not_of(" \t\r\n", first + 1);
  return second != text.npos && (text[second] == '(' || text[second] == '\'');
}

}  // namespace

schedule parse_schedule(std::string const& text, tacit::adjacency assumed) {
  if (!is_python(text)) {
    json const from = parse_json(text);
    return is_named_tuple(from) ? read_call(with_calls(from), assumed)
                                : read_schedule(from, assumed);
  }
  try {
    json const found = without_wrappers(parse_python(text));
    return found.is_object() && found.contains(call_key) ? read_call(found, assumed)
                                                         : read_schedule(found, assumed);
  } catch (bad_schedule const&) {
    throw;
  } catch (std::invalid_argument const& error) {
    throw bad_schedule(error.what());
  }
}

}  // namespace apps
