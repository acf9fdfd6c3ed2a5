// SPDX-License-Identifier: Apache-2.0
//
// A small network, its adapters or a transformer, tuned under any system of the papers.

#include <tacit/core/open_file.hpp>

#include "finetune/finetune.hpp"
#include "models/pretrained.hpp"
#include "output/progress.hpp"
#include "safetensors/safetensors.hpp"
#include "train.hpp"
#include "training/tensors.hpp"
#include "tuned_settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace calculator {

namespace {

using apps::tuning_options;
using apps::tuning_result;
using apps::tuning_system;

arguments::words<tuned_model> const tuned_models{{"network", tuned_model::network},
                                                 {"adapters", tuned_model::adapters},
                                                 {"transformer", tuned_model::transformer}};
arguments::words<tacit::ferret_grouping> const groupings{
    {"max", tacit::ferret_grouping::max},
    {"half", tacit::ferret_grouping::half},
    {"quarter", tacit::ferret_grouping::quarter},
    {"eighth", tacit::ferret_grouping::eighth},
    {"2", tacit::ferret_grouping::two}};

std::vector<std::string> const systems_options{"--model", "--epsilon",    "--delta",
                                               "--rate",  "--controller", "--groups"};

bool has_epsilon(tuning_system system) {
  using enum tuning_system;
  return system == dpzero || system == dp_zo_laplace || system == dp_aggzo || system == dpgd_0th ||
         system == dp_sgd || system == rldp;
}

// What was tuned for the nearest budget, by its ratio: a matter of use, not of privacy.
void suit(tuning_options& o, tuned_model model) {
  if (o.system == tuning_system::ferret) {  // never tuned to a run that moves
    o.steps = 300;
    o.learning_rate = 0.1;
    o.clip = 1.0;
    o.rate = 0.02;
    return;
  }
  double const budget = has_epsilon(o.system) ? o.target.epsilon : o.budget.value;
  double nearest = std::numeric_limits<double>::infinity();
  for (tuned_setting const& one : tuned_settings) {
    if (one.model != model || one.system != o.system) continue;
    double const off = one.budget == 0.0 ? 0.0 : std::abs(std::log(budget / one.budget));
    if (off > nearest) continue;
    nearest = off;
    o.steps = one.steps;
    o.learning_rate = one.learning_rate;
    if (one.clip != 0.0) o.clip = one.clip;
    o.rate = one.rate;
  }
}

tuning_options read_options(arguments const& of, tuned_model model) {
  of.must_be_left_out({"--ledger", "--kappa", "--observed", "--allocation", "--horizon",
                       "--minimum-correlation", "--disagreement", "--smoothing", "--save",
                       "--resume", "--subsets", "--record-groups", "--group-mi"},
                      "with --mechanism " + of.text("--mechanism") + " and this --model");
  using enum tuning_system;
  tuning_options o;
  o.system = apps::system_named(of.text("--mechanism"));
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
  suit(o, model);
  o.paczero.clip = 1024.0;
  if (o.system == paczero_mi) {
    o.paczero.spend = tacit::allocation::confident_or_hold;
    o.paczero.ledger = tacit::ledger_kind::record;
  }
  o.paczero.otherwise = tacit::disagreement::hold;
  o.steps = of.whole("--steps", o.steps);
  optimiser_choice const moved = read_optimiser(of);
  o.optimiser = moved.optimiser;
  o.weight_decay = moved.weight_decay;
  o.learning_rate = of.number("--learning-rate", rate_with(o.learning_rate, o.optimiser));
  must_allow(of, o.weight_decay, o.learning_rate);
  o.clip = of.number("--clip", o.clip);
  if (has_epsilon(o.system) || o.system == ferret) {
    o.rate = of.number("--rate", o.rate);
  } else {
    of.must_be_left_out({"--rate"}, with);
  }
  if (o.system == dp_aggzo) {
    o.directions = of.whole("--directions", model == tuned_model::transformer ? 8 : 16);
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
  for (char const* name : {"--transcript", "--tuned"}) {  // the same --base may be there
    if (of.given(name)) of.must_be_new(name);
  }
  if (o.system == dpzero || o.system == dp_zo_laplace || o.system == dp_aggzo) {
    if (of.given("--transcript")) o.transcript = of.text("--transcript");
  } else {
    of.must_be_left_out({"--transcript"}, with + " and this --model");
  }
  return o;
}

// A model and what it is built on.
struct trained_model {
  std::optional<apps::task> job;
  std::unique_ptr<apps::table_model> table;
  std::unique_ptr<apps::language_model> texts;
  apps::model& of() { return table ? table->of() : static_cast<apps::model&>(*texts); }
};

trained_model model_for(arguments const& of, tuned_model which,
                        std::optional<apps::dataset> const& data, std::uint64_t seed) {
  trained_model out;
  if (which == tuned_model::transformer) {
    out.texts = std::make_unique<apps::language_model>(
        apps::pretrain_on_texts(seed, {.private_texts = 256}).model());
    return out;
  }
  try {
    out.job = apps::prepare(*data, seed);
  } catch (std::runtime_error const& error) {
    of.refuse_because("DATA", error);
  }
  out.table = std::make_unique<apps::table_model>(*out.job, which == tuned_model::adapters ? 4 : 0);
  return out;
}

}  // namespace

std::vector<std::string> other_mechanisms() {
  return {"sgd", "dpzero", "dp-zo-laplace", "dp-aggzo", "dpgd-0th", "dp-sgd", "ferret", "rldp"};
}

void declare_systems(arguments& of) {
  of.add(
      "--model", one_of({"network", "adapters", "transformer"}),
      "what is trained: a network, adapters of rank 4 beside its frozen matrices, or a transformer "
      "on messages that are made up; network unless given");
  of.add("--epsilon", positive(), "needed for (epsilon, delta): what the run may spend");
  of.add("--delta", open_probability(), "1e-5 unless given");
  of.add("--rate", positive_probability(),
         "dpzero to rldp: how often a record joins a batch; 1 unless given, for ferret 0.02");
  of.add("--groups", one_of({"max", "eighth", "2"}), "ferret: tensors a group; max unless given");
  of.add("--controller", one_of({"fixed", "median", "quantile", "sac"}),
         "rldp: who chooses clips and noise; fixed unless given");
}

bool needs_systems(arguments const& of) {
  if (of.given("--model") && of.text("--model") != "network") return true;
  auto const words = other_mechanisms();
  return of.given("--mechanism") &&
         std::find(words.begin(), words.end(), of.text("--mechanism")) != words.end();
}

void refuse_systems_options(arguments const& of) {
  std::vector<std::string> names = systems_options;
  names.erase(names.begin());  // --model network says what is so anyway
  std::string const which = of.given("--mechanism") ? of.text("--mechanism") : "a saved run";
  of.must_be_left_out(names, "with --mechanism " + which);
}

answer train_system(arguments const& of) {
  of.text("--mechanism");  // needed
  auto const which = of.choice("--model", tuned_models, tuned_model::network);
  tuning_options const wanted = read_options(of, which);
  seed_range const seeds = read_seeds(of, {"--transcript", "--base", "--tuned"});
  std::optional<apps::dataset> data;
  if (which == tuned_model::transformer) {
    of.must_be_left_out({"DATA"}, "with --model transformer");
  } else {
    try {
      data = apps::load_csv(of.text("DATA"));
    } catch (std::runtime_error const& error) {
      of.refuse_because("DATA", error);
    }
  }

  std::optional<apps::progress_bar> bar;
  if (::isatty(STDERR_FILENO) != 0) bar.emplace(seeds.count * wanted.steps);
  std::string const score = which == tuned_model::transformer ? "perplexity" : "accuracy";
  std::vector<nlohmann::ordered_json> each;
  for (std::size_t i = 0; i < seeds.count; ++i) {
    trained_model at = model_for(of, which, data, seeds.first + i);
    tuning_options options = wanted;
    options.seed = seeds.first + i;
    apps::tensor_list const tensors = at.of().tensors();
    bool begun = false;
    try {
      save_parameters(of, "--base", tensors, at.of().initial(options.seed));
    } catch (std::runtime_error const& error) {
      refuse_because(of, "--base", error, what_is_left(of, begun));
    }
    tuning_result run;
    try {
      run = apps::tune(at.of(), options, [&](std::size_t steps) {
        begun = true;
        if (bar) bar->advance(steps);
      });
      save_parameters(of, "--tuned", tensors, std::move(run.tuned));
    } catch (tacit::infeasible const& error) {
      of.refuse_because(of.given("--epsilon") ? "--epsilon" : "--mi", error);
    } catch (tacit::file_error const& error) {
      if (!begun) refuse_because(of, "--transcript", error, what_is_left(of, begun));
      fail(error, what_is_left(of, begun));
    } catch (std::exception const& error) {
      if (!is_of_the_machine(error)) throw;
      fail(error, what_is_left(of, begun));
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
    if (run.losses_evaluated > 0) one["losses_evaluated"] = run.losses_evaluated;
    if (run.gradients_evaluated > 0) one["gradients_evaluated"] = run.gradients_evaluated;
    one["seconds_a_step"] = run.seconds_per_step;
    each.push_back(std::move(one));
  }

  answer out{"", summary_of(each, seeds)};
  auto const at_most = [&](char const* key) { return rounded_up(out.json.at(key).get<double>()); };
  out.sentence = score + " " + rounded_down(out.json.at(score).get<double>()) + " after " +
                 std::to_string(each.front().at("steps").get<std::size_t>()) + " steps" +
                 (seeds.count > 1 ? ", mean of " + std::to_string(seeds.count) + " runs" : "") +
                 "; ";
  if (out.json.contains("epsilon")) {
    out.sentence += "(" + at_most("epsilon") + ", " + exactly(wanted.target.delta) + ")-DP; ";
  } else if (out.json.contains("mi_worst_record")) {
    out.sentence += at_most("mi_worst_record") + " nats spent on a record's membership; ";
  }
  out.sentence +=
      out.json.at("attack_bound").get<double>() < 1.0
          ? "an attacker on membership is right with probability at most " + at_most("attack_bound")
          : std::string("nothing is protected");
  if (out.json.contains("attack_achieved")) {
    out.sentence += ", the strongest one was right with probability " + at_most("attack_achieved");
  }
  return out;
}

}  // namespace calculator
