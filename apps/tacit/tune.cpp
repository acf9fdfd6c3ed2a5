// SPDX-License-Identifier: Apache-2.0
//
// Tunes a small network, its adapters or a transformer under any system of the papers.

#include "tune.hpp"

#include "output/progress.hpp"
#include "finetune/finetune.hpp"
#include "models/lora.hpp"
#include "models/network.hpp"
#include "models/text.hpp"
#include "models/transformer.hpp"
#include "safetensors/safetensors.hpp"
#include "training/experiment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace calculator {

namespace {

using examples::tuning_options;
using examples::tuning_result;
using examples::tuning_system;

enum class tuned_model { network, adapters, transformer };

arguments::words<tuned_model> const tuned_models{{"network", tuned_model::network},
                                                 {"adapters", tuned_model::adapters},
                                                 {"transformer", tuned_model::transformer}};
arguments::words<tacit::ferret_grouping> const groupings{{"max", tacit::ferret_grouping::max},
                                                         {"eighth", tacit::ferret_grouping::eighth},
                                                         {"2", tacit::ferret_grouping::two}};

std::vector<std::string> const only_tuned{"--model", "--epsilon",    "--delta",
                                          "--rate",  "--controller", "--groups"};

tuning_system system_of(arguments const& of) {
  auto const found = std::find(std::begin(examples::system_names), std::end(examples::system_names),
                               of.text("--mechanism"));
  return static_cast<tuning_system>(found - std::begin(examples::system_names));
}

bool has_epsilon(tuning_system system) {
  using enum tuning_system;
  return system == dpzero || system == dp_zo_laplace || system == dp_aggzo || system == dpgd_0th ||
         system == dp_sgd || system == rldp;
}

bool takes_gradients(tuning_system system) {
  using enum tuning_system;
  return system == sgd || system == dp_sgd || system == ferret || system == rldp;
}

// Steps, rates and clips at which the digits learn: a matter of use, not of privacy.
void suit(tuning_options& o) {
  using enum tuning_system;
  o.steps = o.system == dp_aggzo ? 100 : takes_gradients(o.system) ? 60 : 1000;
  o.learning_rate = o.system == dp_aggzo        ? 0.5
                    : o.system == ferret        ? 0.1
                    : takes_gradients(o.system) ? 2.0
                    : o.system == dpgd_0th      ? 2e-4
                                                : 0.02;
  o.clip = o.system == dpgd_0th                              ? 50.0
           : o.system == dpzero || o.system == dp_zo_laplace ? 3.0
           : o.system == ferret                              ? 1.0
                                                             : 0.5;
  if (o.system == ferret) {
    o.steps = 300;
    o.rate = 0.02;
  }
}

tuning_options read_tuned(arguments const& of) {
  of.must_be_left_out(
      {"--ledger", "--kappa", "--observed", "--allocation", "--horizon", "--minimum-correlation",
       "--disagreement", "--smoothing", "--save", "--resume", "--subsets"},
      "with --mechanism " + of.text("--mechanism") + " and this --model");
  using enum tuning_system;
  tuning_options o;
  o.system = system_of(of);
  suit(o);
  std::string const with = "with --mechanism " + of.text("--mechanism");
  if (has_epsilon(o.system)) {
    o.target = {of.number("--epsilon"), of.number("--delta", 1e-5)};
  } else {
    of.must_be_left_out({"--epsilon", "--delta"}, with);
  }
  if (o.system == paczero_mi || o.system == ferret) {
    o.budget = tacit::nats(of.number("--mi"));
  } else {
    of.must_be_left_out({"--mi"}, with);
  }
  o.paczero.clip = 1024.0;
  if (o.system == paczero_mi) o.paczero.spend = tacit::allocation::confident_or_hold;
  o.paczero.otherwise = tacit::disagreement::hold;
  o.steps = of.whole("--steps", o.steps);
  o.learning_rate = of.number("--learning-rate", o.learning_rate);
  o.clip = of.number("--clip", o.clip);
  if (o.system == dp_sgd || o.system == ferret || o.system == rldp) {
    o.rate = of.number("--rate", o.rate);
  } else {
    of.must_be_left_out({"--rate"}, with);
  }
  if (o.system == dp_aggzo) {
    o.directions = of.whole("--directions", 16);
  } else {
    of.must_be_left_out({"--directions"}, with);
  }
  if (o.system == ferret) {
    o.groups = of.choice("--groups", groupings, o.groups);
  } else {
    of.must_be_left_out({"--groups"}, with);
  }
  if (o.system == rldp) {
    if (of.given("--controller")) o.controller = of.text("--controller");
  } else {
    of.must_be_left_out({"--controller"}, with);
  }
  for (char const* name : {"--transcript", "--base", "--tuned"}) {
    if (of.given(name)) of.must_be_new(name);
  }
  if (o.system == dpzero || o.system == dp_zo_laplace || o.system == dp_aggzo) {
    if (of.given("--transcript")) o.transcript = of.text("--transcript");
  } else {
    of.must_be_left_out({"--transcript"}, with + " and this --model");
  }
  return o;
}

// A model and what it stands on.
struct made {
  std::optional<examples::task> job;
  std::unique_ptr<examples::model> whole;
  std::unique_ptr<examples::model> adapters;
  examples::model& of() { return adapters ? *adapters : *whole; }
};

made make(arguments const& of, tuned_model which, std::optional<examples::dataset> const& data,
          std::uint64_t seed) {
  made out;
  if (which == tuned_model::transformer) {
    examples::corpus const words = examples::make_corpus(seed, {.private_texts = 256});
    examples::transformer_shape const shape;
    std::vector<float> start = shape.initial(seed);
    examples::transformer(shape).pretrain(start, examples::tokens(words.public_part), 120, 32,
                                          3e-3F, seed);
    out.whole = std::make_unique<examples::language_model>(shape, std::move(start),
                                                           words.private_part, words.test_part);
    return out;
  }
  try {
    out.job = examples::prepare(*data, seed);
  } catch (std::runtime_error const& error) {
    of.refuse_because("DATA", error);
  }
  examples::task const& job = *out.job;
  out.whole = std::make_unique<examples::network>(job.shape, job.start, job.data.private_part,
                                                  job.data.test_part);
  if (which == tuned_model::adapters) {
    out.adapters = std::make_unique<examples::lora>(
        *out.whole, job.start, 4, std::vector<std::string>{"hidden.weight", "output.weight"});
  }
  return out;
}

void save(arguments const& of, char const* name, examples::model const& model,
          std::vector<float> theta) {
  if (!of.given(name)) return;
  try {
    examples::save_tensors(of.text(name), examples::recorded_tensors(model),
                           examples::named_tensors(model, theta));
  } catch (std::runtime_error const& error) {
    of.refuse_because(name, error);
  }
}

}  // namespace

std::vector<std::string> tuned_mechanisms() {
  return {"sgd", "dpzero", "dp-zo-laplace", "dp-aggzo", "dpgd-0th", "dp-sgd", "ferret", "rldp"};
}

void declare_tuned(arguments& of) {
  of.add(
      "--model", one_of({"network", "adapters", "transformer"}),
      "what is trained: a network, adapters of rank 4 beside its frozen matrices, or a transformer "
      "on messages that are made up; network unless given");
  of.add("--epsilon", positive(), "needed for (epsilon, delta): what the run may spend");
  of.add("--delta", open_probability(), "1e-5 unless given");
  of.add("--rate", positive_probability(),
         "dp-sgd, ferret, rldp: how often a record joins a batch; 1 unless given, for ferret 0.02");
  of.add("--groups", one_of({"max", "eighth", "2"}), "ferret: tensors a group; max unless given");
  of.add("--controller", one_of({"fixed", "median", "quantile", "sac"}),
         "rldp: who chooses clips and noise; fixed unless given");
}

bool is_tuned(arguments const& of) {
  if (of.given("--model") && of.text("--model") != "network") return true;
  auto const words = tuned_mechanisms();
  return of.given("--mechanism") &&
         std::find(words.begin(), words.end(), of.text("--mechanism")) != words.end();
}

void must_not_be_tuned(arguments const& of) {
  std::vector<std::string> names = only_tuned;
  names.erase(names.begin());  // --model network says what is so anyway
  std::string const which = of.given("--mechanism") ? of.text("--mechanism") : "a saved run";
  of.must_be_left_out(names, "with --mechanism " + which);
}

answer run_tuned(arguments const& of) {
  of.text("--mechanism");  // needed
  auto const which = of.choice("--model", tuned_models, tuned_model::network);
  tuning_options const wanted = read_tuned(of);
  std::size_t const runs = of.whole("--seeds", 1);
  std::uint64_t const seed = of.whole("--seed", 1);
  if (runs > 1) of.must_be_left_out({"--transcript", "--base", "--tuned"}, "with several --seeds");
  if (seed > UINT64_MAX - (runs - 1)) of.refuse("--seed", "so small that --seeds fit above it");
  std::optional<examples::dataset> data;
  if (which == tuned_model::transformer) {
    of.must_be_left_out({"DATA"}, "with --model transformer");
  } else {
    try {
      data = examples::load_csv(of.text("DATA"));
    } catch (std::runtime_error const& error) {
      of.refuse_because("DATA", error);
    }
  }

  std::optional<examples::progress_bar> bar;
  if (::isatty(STDERR_FILENO) != 0) bar.emplace(runs * wanted.steps);
  std::string const score = which == tuned_model::transformer ? "perplexity" : "accuracy";
  std::vector<nlohmann::ordered_json> each;
  for (std::size_t i = 0; i < runs; ++i) {
    made at = make(of, which, data, seed + i);
    tuning_options options = wanted;
    options.seed = seed + i;
    save(of, "--base", at.of(), at.of().initial(options.seed));
    tuning_result run;
    try {
      run = examples::tune(at.of(), options, [&](std::size_t steps) {
        if (bar) bar->advance(steps);
      });
    } catch (tacit::infeasible const& error) {
      of.refuse_because(of.given("--epsilon") ? "--epsilon" : "--mi", error);
    } catch (std::system_error const& error) {
      of.refuse_because("--transcript", error);
    }
    nlohmann::ordered_json one{{score, run.score}};
    if (run.epsilon) {
      one["epsilon"] = *run.epsilon;
      one["delta"] = wanted.target.delta;
    }
    if (run.nats) one["mi_worst_record"] = *run.nats;
    one["attack_bound"] = run.bound;
    if (run.attacked) one["attack_achieved"] = *run.attacked;
    one["released"] = run.released;
    one["steps"] = run.steps;
    one["seconds_a_step"] = run.seconds_per_step;
    each.push_back(std::move(one));
    save(of, "--tuned", at.of(), std::move(run.tuned));
  }

  answer out{"", each.front()};
  for (auto& [key, value] : out.json.items()) {
    if (key == "steps" || key == "released" || key == "delta") continue;
    double const first = value.get<double>();
    double beyond = 0.0;  // so that the mean of equal bounds is that bound
    for (nlohmann::ordered_json const& run : each) beyond += run.at(key).get<double>() - first;
    value = first + beyond / static_cast<double>(runs);
  }
  auto const at_most = [&](char const* key) { return rounded_up(out.json.at(key).get<double>()); };
  out.sentence = score + " " + rounded_down(out.json.at(score).get<double>()) + " after " +
                 std::to_string(each.front().at("steps").get<std::size_t>()) + " steps" +
                 (runs > 1 ? ", mean of " + std::to_string(runs) + " runs" : "") + "; ";
  if (out.json.contains("epsilon")) {
    out.sentence += "(" + at_most("epsilon") + ", " + exactly(wanted.target.delta) + ")-DP; ";
  } else if (out.json.contains("mi_worst_record")) {
    out.sentence += at_most("mi_worst_record") + " nats spent on a record's membership; ";
  }
  out.sentence += out.json.at("attack_bound").get<double>() < 1.0
                      ? "an attacker on membership is right with at most " + at_most("attack_bound")
                      : std::string("nothing is protected");
  if (out.json.contains("attack_achieved")) {
    out.sentence += ", the strongest was with " + at_most("attack_achieved");
  }
  for (std::size_t i = 0; runs > 1 && i < runs; ++i) {
    nlohmann::ordered_json entry{{"seed", seed + i}};
    entry.update(each[i]);
    out.json["seeds"].push_back(std::move(entry));
  }
  return out;
}

}  // namespace calculator
