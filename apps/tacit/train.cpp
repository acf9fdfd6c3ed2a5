// SPDX-License-Identifier: Apache-2.0
//
// `tacit train`: the options that all mechanisms share, and which part of the program trains.

#include "train.hpp"

#include <tacit/core/open_file.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/zo/journal.hpp>

#include "output/format.hpp"
#include "safetensors/safetensors.hpp"
#include "training/recorded.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace calculator {

namespace {

arguments::words<tacit::optimiser_rule> const optimisers{
    {"sgd", tacit::optimiser_rule::sgd},
    {"momentum", tacit::optimiser_rule::momentum},
    {"adam", tacit::optimiser_rule::adam},
    {"adamw", tacit::optimiser_rule::adamw}};

rule share_below_1() {
  return number("in [0, 0.999999]", [](double x) { return x >= 0.0 && x <= 0.999999; });
}

void declare_train(arguments& of) {
  std::vector<std::string> mechanisms = paczero_mechanisms();
  for (std::string& word : other_mechanisms()) mechanisms.push_back(std::move(word));
  of.add("DATA", input_file("a readable table: comma-separated numbers, the last column the label"),
         "needed, but for the transformer, which makes its own texts: the records");
  of.add("--mechanism", one_of(std::move(mechanisms)),
         "needed: what is released of the private records");
  of.add("--mi", number("positive: at least 1e-290", [](double x) { return x >= 1e-290; }),
         "paczero-mi and ferret: the budget in nats (for 0 there is paczero-zpl)");
  declare_paczero(of);
  declare_systems(of);
  of.add("--steps", whole(1, 10'000'000),
         "steps; unless given 4000, or what was tuned (docs/results.md)");
  of.add("--learning-rate",
         number("in [1e-37, 1e38]", [](double x) { return x >= 1e-37 && x <= 1e38; }),
         "falls linearly to 0; unless given what suits the mechanism, or was tuned");
  of.add("--optimiser", word_of(optimisers), "what releases move; sgd unless given");
  of.add("--momentum", share_below_1(), "optimiser momentum: 0.9 unless given");
  of.add("--beta1", share_below_1(), "optimisers adam and adamw: 0.9 unless given");
  of.add("--beta2", share_below_1(), "the same: 0.999 unless given");
  of.add("--adam-epsilon",
         number("in [1e-30, 1e30]", [](double x) { return x >= 1e-30 && x <= 1e30; }),
         "the same, beside the root: 1e-8 unless given");
  of.add("--weight-decay", number("in [0, 1e30]", [](double x) { return x >= 0.0 && x <= 1e30; }),
         "0 unless given; with adam it is added to the gradient");
  of.add("--clip", number("in (0, 1e100]", [](double x) { return x > 0.0 && x <= 1e100; }),
         "limit of a record's scalar, or of its gradient's norm; by mechanism unless given");
  of.add("--directions", whole(1, 1000),
         "directions a step; 1 unless given, for dp-aggzo 16, or 8 of a transformer");
  of.add("--seed", whole(0, UINT64_MAX),
         "public: split, first weights, candidates, directions; 1 unless given");
  of.add("--seeds", whole(1, 1000), "runs, with seeds from --seed upwards; 1 unless given");
  of.add(
      "--transcript", new_file({".journal", ".journal.lock"}),
      "write the public releases to this file: while training to FILE.journal, sealed at the end; "
      "with --resume the journal is continued");
  of.add("--base", new_file(), "write the parameters before the first step, as safetensors");
  of.add("--tuned", new_file(), "write the parameters after the last step, as safetensors");
}

answer run_train(arguments const& of) {
  if (needs_systems(of)) return train_system(of);
  refuse_systems_options(of);
  return train_paczero(of);
}

}  // namespace

optimiser_choice read_optimiser(arguments const& of) {
  using enum tacit::optimiser_rule;
  optimiser_choice out;
  tacit::optimiser_options& o = out.optimiser;
  o.rule = of.choice("--optimiser", optimisers, o.rule);
  if (o.rule == momentum) {
    o.momentum = of.number("--momentum", o.momentum);
  } else {
    of.must_be_left_out({"--momentum"}, "unless --optimiser is momentum");
  }
  if (o.rule == adam || o.rule == adamw) {
    o.beta1 = of.number("--beta1", o.beta1);
    o.beta2 = of.number("--beta2", o.beta2);
    o.epsilon = of.number("--adam-epsilon", o.epsilon);
  } else {
    of.must_be_left_out({"--beta1", "--beta2", "--adam-epsilon"},
                        "unless --optimiser is adam or adamw");
  }
  out.weight_decay = of.number("--weight-decay", 0.0);
  return out;
}

double rate_with(double for_sgd, tacit::optimiser_options const& optimiser) {
  using enum tacit::optimiser_rule;
  if (optimiser.rule == sgd) return for_sgd;
  return optimiser.rule == momentum ? for_sgd * (1.0 - optimiser.momentum) : 0.02;
}

void must_allow(arguments const& of, double weight_decay, double learning_rate) {
  if (!(learning_rate * weight_decay <= 1.0)) {
    of.refuse("--weight-decay", "at most 1/" + exactly(learning_rate) + ", the learning rate");
  }
  bool const adam = of.given("--optimiser") && of.text("--optimiser").starts_with("adam");
  if (adam && !(learning_rate <= 1e30)) {
    of.refuse("--learning-rate", "at most 1e30 with --optimiser " + of.text("--optimiser"));
  }
}

seed_range read_seeds(arguments const& of, std::vector<std::string> const& of_one_run) {
  seed_range const seeds{of.whole("--seed", 1), of.whole("--seeds", 1)};
  if (seeds.count > 1) of.must_be_left_out(of_one_run, "with several --seeds");
  if (seeds.first > UINT64_MAX - (seeds.count - 1)) {
    of.refuse("--seed", "so small that --seeds fit above it");
  }
  return seeds;
}

nlohmann::ordered_json summary_of(std::vector<nlohmann::ordered_json> const& runs,
                                  seed_range seeds) {
  nlohmann::ordered_json out = runs.front();
  for (auto& [key, value] : out.items()) {
    if (key == "steps" || key == "released" || key == "delta") continue;
    double const first = value.get<double>();
    double beyond = 0.0;  // so that the mean of equal bounds is that bound
    for (nlohmann::ordered_json const& run : runs) beyond += run.at(key).get<double>() - first;
    if (beyond != 0.0) value = first + beyond / static_cast<double>(runs.size());
  }
  for (std::size_t i = 0; runs.size() > 1 && i < runs.size(); ++i) {
    nlohmann::ordered_json entry{{"seed", seeds.first + i}};
    entry.update(runs[i]);
    out["seeds"].push_back(std::move(entry));
  }
  return out;
}

void save_parameters(arguments const& of, char const* option, apps::tensor_list const& tensors,
                     std::vector<float> theta) {
  if (!of.given(option)) return;
  apps::save_tensors(of.text(option), apps::recorded_tensors(tensors),
                     apps::named_tensors(tensors, theta));
}

bool is_of_the_machine(std::exception const& why) {
  return dynamic_cast<std::system_error const*>(&why) != nullptr ||
         dynamic_cast<std::bad_alloc const*>(&why) != nullptr;
}

namespace {

// Whether a journal may be of the run that was asked for, as far as its kind and its beginning tell.
bool may_be_of_this_run(arguments const& of, std::string const& journal) {
  try {
    tacit::run_record const run = tacit::read_transcript(journal).run();
    bool const paczero = run.mechanism.name == "paczero";
    if (of.given("--mechanism") && paczero != of.text("--mechanism").starts_with("paczero")) {
      return false;
    }
    if (of.given("--base")) {
      check_start(apps::tensor_file::read(of.text("--base")).select(run.tensors), run);
    }
    return true;
  } catch (std::system_error const&) {  // what cannot be read may be
    return true;
  } catch (std::bad_alloc const&) {
    return true;
  } catch (std::exception const&) {
    return false;
  }
}

}  // namespace

std::string what_is_left(arguments const& of, bool begun) {
  std::error_code none;
  auto const there = [&](std::string const& file) {
    return std::filesystem::is_regular_file(file, none);
  };
  if (of.given("--transcript")) {
    std::string const sealed = of.text("--transcript");
    std::string const journal = apps::journal_of(sealed).string();
    bool const over = !there(journal);  // where both are, the sealed one may be another run's
    if (!over && !begun && !may_be_of_this_run(of, journal)) {
      return "; that file is of another run: this one needs another --transcript";
    }
    if (!over || there(sealed)) {
      std::string const& kept = over ? sealed : journal;
      std::string text = over ? "; the run is over" : "; the run cannot go on";
      if (of.given("--base") && there(of.text("--base"))) {
        text += ": tacit replay " + apps::shell_word(of.text("--base")) + " " +
                apps::shell_word(kept) + " OUT writes the model after its last release";
      } else {
        text += ": its releases are in " + kept;
      }
      return text + "; another run has a budget of its own, and needs another --transcript";
    }
    if (begun) {
      return "; the run cannot go on, and its journal is no longer " + journal +
             "; another run has a budget of its own";
    }
  }
  return {};
}

std::string taken_name(std::exception const& why) {
  auto const* const file = dynamic_cast<tacit::file_error const*>(&why);
  bool const taken = file != nullptr && file->code() == std::errc::file_exists;
  return taken ? std::filesystem::path(file->path()).string() : std::string();
}

void fail(std::exception const& why, std::string const& end) {
  std::string text = reason(why);
  if (end.empty()) {
    std::string const taken = taken_name(why);
    text += "; nothing of the run is kept: the same command";
    if (!taken.empty()) text += ", with another name for " + taken + ',';
    text += " begins another one";
  }
  throw std::runtime_error(text + end);
}

void refuse_because(arguments const& of, std::string const& name, std::exception const& why,
                    std::string const& end) {
  try {
    of.refuse_because(name, why);
  } catch (bad_input const& refusal) {
    if (name != "--transcript") throw;
    throw bad_input(refusal.what() + end);
  } catch (std::runtime_error const& failure) {
    fail(failure, end);
  }
}

verb train() {
  return {"train", "Trains a small network on private records under a mechanism",
          R"(Part of DATA is taken as public and shows the network all but some classes, by ordinary
training; a secret half of the private part then trains it by zeroth-order steps; the rest tests it.
  accuracy         on the test part
  mi               nats spent on which half was used
  mi_worst_record  nats spent on one record's membership
  mi_worst_group   nats spent on one group's memberships together, with --record-groups
  attack_bound     no attacker on membership is right more often, on average over releases
  attack_achieved  by an attacker who knows all but the half, mean over the records
  unanimity        share of the steps on which all candidates agreed
  losses_evaluated by training: of its batch, at both ends of each direction or, for rldp, once
  steps, seconds
sgd to rldp, and every mechanism on adapters or the transformer: the half is drawn record by record,
epsilon, delta, released (steps that moved the model) and gradients_evaluated are given where they
apply, and attack_achieved is by an attacker who knows all but the record in question (for PACZero,
the half).
With several --seeds these are means, and "seeds" lists the runs. With mezo every record is used and
nothing is protected: the attacker's figures are then all there is to know. The guarantees are about
which half was used, not about who is in DATA.)",
          declare_train, run_train};
}

}  // namespace calculator
