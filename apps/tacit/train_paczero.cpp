// SPDX-License-Identifier: Apache-2.0
//
// PACZero on a network, and MeZO beside it: runs that can be saved, resumed and recorded.

#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_run.hpp>
#include <tacit/zo/hash.hpp>

#include "output/format.hpp"
#include "output/progress.hpp"
#include "output/text_file.hpp"
#include "output/used_files.hpp"
#include "train.hpp"
#include "training/groups.hpp"
#include "training/paczero_run.hpp"
#include "training/recorded.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace calculator {

using apps::paczero_run_options;
using apps::paczero_run_result;
using tacit::allocation;
using tacit::disagreement;
using tacit::ledger_kind;
using tacit::nats;
using tacit::observed;
using tacit::paczero_options;

namespace {

enum class mechanism { mezo, paczero_mi, paczero_zpl };

arguments::words<mechanism> const trainable{{"mezo", mechanism::mezo},
                                            {"paczero-mi", mechanism::paczero_mi},
                                            {"paczero-zpl", mechanism::paczero_zpl}};
arguments::words<ledger_kind> const ledgers{{"subset", ledger_kind::subset},
                                            {"record", ledger_kind::record},
                                            {"pathwise", ledger_kind::pathwise}};
arguments::words<observed> const views{{"value", observed::value}, {"sign", observed::sign}};
arguments::words<allocation> const allocations{{"adaptive", allocation::adaptive},
                                               {"uniform", allocation::uniform},
                                               {"confident-or-hold", allocation::confident_or_hold},
                                               {"budget-then-zero", allocation::budget_then_zero}};
arguments::words<disagreement> const disagreements{{"coin", disagreement::coin},
                                                   {"hold", disagreement::hold},
                                                   {"majority", disagreement::majority}};

template <class Choice>
std::string word_for(arguments::words<Choice> const& of, Choice choice) {
  return std::find_if(of.begin(), of.end(), [&](auto const& w) { return w.second == choice; })
      ->first;
}

// ---- a saved run --------------------------------------------------------------------------------

struct stored_run {
  paczero_options options;
  tacit::candidate_set::shape shape;
  std::uint64_t seed;
  std::size_t steps_done;
  std::string about;       // one word: a digest of what the run goes on,
  std::string digest;      //
  std::string transcript;  // and the file that its releases go to, if any
};

// How a run goes on whose state is on disk, and what is left of another. Once it has begun, a state that is not where
// it was is somewhere else.
std::string how_to_go_on(arguments const& of, std::exception const& why, bool begun) {
  char const* const kept = of.given("--resume") ? "--resume" : "--save";
  std::error_code none;
  bool const stored = of.given(kept) && std::filesystem::is_regular_file(of.text(kept), none) &&
                      !std::filesystem::is_empty(of.text(kept), none);
  if (!stored && of.given(kept) && begun) {
    return "; the run's state is no longer " + of.text(kept) +
           ": go on with the same command and --resume with its name now";
  }
  if (!stored) return what_is_left(of, begun);
  std::string text = "; the run is kept: go on with the same command and --resume " +
                     apps::shell_word(of.text(kept));
  if (!of.given("--resume")) text += " in place of --save";
  std::string const taken = taken_name(why);
  return taken.empty() ? text : text + ", and another name for " + taken;
}

// Where the answer of a run that is done could not be written.
std::string how_to_be_told_again(arguments const& of) {
  for (char const* kept : {"--resume", "--save"}) {
    if (!of.given(kept)) continue;
    bool const new_one = kept != std::string("--resume");
    return "; the run is done: the same command and --resume " + apps::shell_word(of.text(kept)) +
           (new_one ? " in place of --save" : "") + " answers again";
  }
  return {};
}

stored_run look_at(arguments const& of) {
  std::string const file = of.text("--resume");
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) of.refuse("--resume");
  try {
    auto const [run, about] = tacit::saved_run<tacit::paczero<>>::summary(file);
    if (run.candidates.one_in != 2 || run.candidates.complementary || run.first_record != 0) {
      throw std::runtime_error("its candidates are those of another program");
    }
    // What no command gives, no state of this program has.
    auto const must_be_possible = [&](char const* name, std::string const& stored) {
      if (of.holds(name, stored)) return;
      throw std::runtime_error("its " + std::string(name) + " is " + stored + ", but must be " +
                               of.must_be(name));
    };
    paczero_options const& p = run.options;
    must_be_possible("--steps", std::to_string(p.steps));
    must_be_possible("--directions", std::to_string(p.directions));
    must_be_possible("--subsets", std::to_string(run.candidates.subsets));
    must_be_possible("--clip", exactly(p.clip));
    if (p.pays() && p.ledger != ledger_kind::pathwise)
      must_be_possible("--mi", exactly(p.budget.value));
    std::string const digest = about.substr(0, about.find('"'));
    return {run.options,
            run.candidates,
            run.public_seed,
            run.steps,
            about,
            digest,
            digest.size() == about.size()
                ? std::string()
                : tacit::detail::from_word("the state", about.substr(digest.size()))};
  } catch (bad_input const&) {
    throw;
  } catch (std::runtime_error const& error) {  // unreadable, in use, or corrupt
    refuse_because(of, "--resume", error, how_to_go_on(of, error, true));
  }
}

// A state that is behind its journal is an old copy, whose budget was spent since. The run goes on with its
// journal, which finds out, and without it only in another one that the user names.
void must_have_its_journal(arguments const& of, stored_run const& saved) {
  std::error_code none;
  if (saved.transcript.empty() || saved.steps_done == saved.options.steps) return;
  if (std::filesystem::exists(saved.transcript, none)) {
    of.refuse("--resume",
              "the last state of its run: this is a copy from before " + saved.transcript);
  }
  std::filesystem::path const journal = apps::journal_of(saved.transcript);
  if (std::filesystem::exists(journal, none)) {
    if (!of.given("--transcript") ||
        !std::filesystem::equivalent(apps::journal_of(of.text("--transcript")), journal, none)) {
      of.refuse("--transcript", saved.transcript + ", whose journal has the run's releases");
    }
  } else if (!of.given("--transcript")) {
    of.refuse("--transcript",
              "the name of the run's journal without .journal: it is no longer " +
                  journal.string() +
                  ". Where it is lost, a new name, and a state that is no older copy");
  }
}

void must_agree(arguments const& of, paczero_run_options const& wanted, stored_run const& saved) {
  paczero_options const& now = wanted.paczero;
  paczero_options const& then = saved.options;
  auto const agree = [&](char const* name, bool same, std::string const& was) {
    if (of.given(name) && !same) of.refuse(name, was + ", as in the saved run");
  };
  agree("--mi", now.budget == then.budget, exactly(then.budget.value));
  agree("--ledger", now.ledger == then.ledger, word_for(ledgers, then.ledger));
  auto const stored = [](double x) { return std::isnan(x) ? "left out" : exactly(x); };
  agree("--kappa", now.kappa == then.kappa, stored(then.kappa));
  agree("--group-mi", now.group_budget == then.group_budget, stored(then.group_budget.value));
  agree("--observed", now.what == then.what, word_for(views, then.what));
  agree("--allocation", now.spend == then.spend, word_for(allocations, then.spend));
  agree("--horizon", now.horizon == then.horizon, exactly(then.horizon));
  agree("--minimum-correlation", now.minimum_correlation == then.minimum_correlation,
        exactly(then.minimum_correlation));
  agree("--disagreement", now.otherwise == then.otherwise, word_for(disagreements, then.otherwise));
  agree("--steps", now.steps == then.steps, std::to_string(then.steps));
  agree("--subsets", wanted.subsets == saved.shape.subsets, std::to_string(saved.shape.subsets));
  agree("--clip", now.clip == then.clip, exactly(then.clip));
  agree("--directions", now.directions == then.directions, std::to_string(then.directions));
  agree("--seed", of.whole("--seed", saved.seed) == saved.seed, std::to_string(saved.seed));
}

// ---- what was asked for -------------------------------------------------------------------------

mechanism mechanism_of(arguments const& of, std::optional<stored_run> const& saved) {
  if (!saved) {
    of.text("--mechanism");  // needed
    return of.choice("--mechanism", trainable, mechanism::mezo);
  }
  bool const zpl =
      saved->options.ledger != ledger_kind::pathwise && saved->options.budget == nats(0.0);
  mechanism const then = zpl ? mechanism::paczero_zpl : mechanism::paczero_mi;
  if (of.choice("--mechanism", trainable, then) != then) {
    of.refuse("--mechanism", word_for(trainable, then) + ", as in the saved run");
  }
  return then;
}

// A rate at which the digits learn well: a matter of use, not of privacy.
double suitable_rate(mechanism which, paczero_options const& p) {
  if (which == mechanism::mezo) return 0.03;
  if (which == mechanism::paczero_mi) {
    if (p.spend == allocation::confident_or_hold) {
      return p.ledger == ledger_kind::record ? 0.012 : 0.02;
    }
    if (p.spend != allocation::budget_then_zero) return 0.006;
  }
  switch (p.otherwise) {
    case disagreement::hold:
      return 0.02;
    case disagreement::majority:
      return 0.009;
    case disagreement::coin:
      break;
  }
  return 0.006;
}

// The options of the budget: all of them, or some, mean nothing to some mechanisms.
void read_spending(arguments const& of, mechanism which, bool resumed, paczero_options& p) {
  std::vector<std::string> const pacing{"--horizon", "--minimum-correlation"};
  std::vector<std::string> const spending{"--mi", "--allocation"};
  if (which != mechanism::paczero_mi) {
    for (auto const& names :
         {spending,
          pacing,
          {"--ledger", "--kappa", "--observed", "--record-groups", "--group-mi"}}) {
      of.must_be_left_out(names, "with --mechanism " + word_for(trainable, which));
    }
    p.budget = nats(0.0);
    return;
  }
  p.ledger = of.choice("--ledger", ledgers, p.ledger);
  p.what = of.choice("--observed", views, p.what);
  if (p.ledger == ledger_kind::pathwise) {
    for (auto const& names : {spending, pacing}) {
      of.must_be_left_out(names, "with --ledger pathwise");
    }
    p.kappa = resumed ? of.number("--kappa", p.kappa) : of.number("--kappa");
  } else {
    p.kappa = of.number("--kappa", p.kappa);
  }
  if (p.caps_posteriors() && p.what == observed::value) {
    of.refuse("--observed", "sign with --kappa: a value has no worst case");
  }
  if (!of.given("--record-groups") && p.groups.empty()) {
    of.must_be_left_out({"--group-mi"}, "without --record-groups");
  } else if (of.given("--group-mi") || (p.ledger == ledger_kind::pathwise && !resumed)) {
    p.group_budget = nats(of.number("--group-mi"));
  } else if (!resumed) {
    p.group_budget = nats(of.number("--mi"));
  }
  if (p.ledger == ledger_kind::pathwise) return;
  p.budget = nats(resumed ? of.number("--mi", p.budget.value) : of.number("--mi"));
  p.track_records = true;
  p.spend = of.choice("--allocation", allocations, p.spend);
  if (p.spend == allocation::confident_or_hold) {
    p.horizon = of.number("--horizon", p.horizon);
    p.minimum_correlation = of.number("--minimum-correlation", p.minimum_correlation);
  } else {
    of.must_be_left_out(pacing, "unless --allocation is confident-or-hold");
  }
}

paczero_run_options read_options(arguments const& of, mechanism which,
                                 std::optional<stored_run> const& saved) {
  paczero_run_options wanted;
  paczero_options& p = wanted.paczero;
  p.steps = 4000;
  if (saved) {
    p = saved->options;
    wanted.subsets = saved->shape.subsets;
    wanted.resume = of.text("--resume");
  }
  read_spending(of, which, saved.has_value(), p);
  if (which == mechanism::mezo) {
    wanted.how = apps::method::without_privacy;
    of.must_be_left_out({"--disagreement", "--save"}, "with --mechanism mezo");
  }
  p.otherwise = of.choice("--disagreement", disagreements, p.otherwise);
  if (p.spend == allocation::confident_or_hold && p.otherwise != disagreement::hold) {
    of.refuse("--disagreement", "hold with --allocation confident-or-hold");
  }
  p.steps = of.whole("--steps", p.steps);
  p.directions = of.whole("--directions", p.directions);
  p.clip = of.number("--clip", p.clip);
  wanted.subsets = of.whole("--subsets", wanted.subsets);
  wanted.smoothing = of.number("--smoothing", wanted.smoothing);
  optimiser_choice const moved = read_optimiser(of);
  wanted.optimiser = moved.optimiser;
  wanted.weight_decay = moved.weight_decay;
  wanted.learning_rate =
      of.number("--learning-rate", rate_with(suitable_rate(which, p), wanted.optimiser));
  must_allow(of, wanted.weight_decay, wanted.learning_rate);
  if (of.given("--save")) {
    wanted.save = of.text("--save");
    std::error_code none;
    std::filesystem::path const folder = std::filesystem::absolute(wanted.save, none).parent_path();
    auto const type = std::filesystem::symlink_status(wanted.save, none).type();
    bool const there = std::filesystem::exists(wanted.save, none);
    bool const taken = there ? !std::filesystem::is_empty(wanted.save, none)
                             : type == std::filesystem::file_type::symlink;  // which leads nowhere
    // The name beside it under which it is written: free, and not too long.
    bool const possible =
        std::filesystem::symlink_status(wanted.save.string() + ".0123456789abcdef.new", none)
            .type() == std::filesystem::file_type::not_found;
    if (taken || !possible || !std::filesystem::is_directory(folder, none)) of.refuse("--save");
  }
  // The files of a run that is done may be there, from the same command: as it would write them.
  bool const done = saved && saved->steps_done == p.steps;
  for (char const* name : {"--transcript", "--tuned"}) {
    if (of.given(name) && !done) of.must_be_new(name);
  }
  if (of.given("--transcript")) {
    wanted.transcript = of.text("--transcript");
    std::error_code none;
    bool const left = std::filesystem::exists(apps::journal_of(wanted.transcript), none);
    if (left && !saved) of.refuse("--transcript", "one that has no FILE.journal, or with --resume");
  }
  return wanted;
}

// ---- the files of a run ---------------------------------------------------------------------------

// One word that says on what a run goes on: the bytes of the table, and what moves the parameters.
std::string belongs_to(std::string const& table, paczero_run_options const& wanted) {
  tacit::detail::blake2b hash;
  tacit::detail::hash_text(hash, table);
  for (double const x : {wanted.smoothing, wanted.learning_rate}) {
    tacit::detail::hash_number(hash, std::bit_cast<std::uint64_t>(x));
  }
  tacit::optimiser_options const& o = wanted.optimiser;
  if (wanted.weight_decay != 0.0 || o.rule != tacit::optimiser_rule::sgd) {
    // States from before there were these have neither.
    tacit::detail::hash_number(hash, static_cast<std::uint64_t>(o.rule));
    for (double const x : {wanted.weight_decay, o.momentum, o.beta1, o.beta2, o.epsilon}) {
      tacit::detail::hash_number(hash, std::bit_cast<std::uint64_t>(x));
    }
  }
  return to_hex(tacit::parameter_hash{hash.finish()});
}

// What the state of a new run is about: see `stored_run`.
std::string about(std::string const& digest, paczero_run_options const& wanted) {
  if (wanted.transcript.empty()) return digest;
  return digest + tacit::detail::to_word(apps::whole_name(wanted.transcript).string());
}

// A run has failed.
[[noreturn]] void fail_midway(arguments const& of, std::exception const& why, bool begun) {
  fail(why, how_to_go_on(of, why, begun));
}

// Before its first step a run was refused a file, or one beside it. A new run's state may be there by then.
[[noreturn]] void refuse_file(arguments const& of, tacit::file_error const& why) {
  char const* whose = nullptr;
  std::size_t length = 0;
  for (char const* name : {"--resume", "--save", "--transcript"}) {
    if (!of.given(name)) continue;
    std::string const file = apps::whole_name(of.text(name)).string();
    std::string const path = apps::whole_name(why.path()).string();
    bool const beside = path == file || path.starts_with(file + '.');
    if (beside && file.size() > length) {
      whose = name;
      length = file.size();
    }
  }
  if (whose == nullptr) fail_midway(of, why, of.given("--resume"));
  refuse_because(of, whose, why, how_to_go_on(of, why, of.given("--resume")));
}

// ---- the answer ---------------------------------------------------------------------------------

nlohmann::ordered_json figures(paczero_run_result const& run, std::size_t subsets,
                               bool has_groups) {
  // Without privacy all is granted to the attacker: everything there is to know.
  apps::exposure const everything{.mi = std::log(static_cast<double>(subsets)),
                                  .mi_worst_record = std::numbers::ln2,
                                  .attack_bound = 1.0,
                                  .attack_mean = 1.0,
                                  .attack_worst = 1.0};
  apps::exposure const e = run.exposed.value_or(everything);
  nlohmann::ordered_json out{
      {"accuracy", run.accuracy}, {"mi", e.mi}, {"mi_worst_record", e.mi_worst_record}};
  if (has_groups) out["mi_worst_group"] = e.mi_worst_group;
  out.update({{"attack_bound", e.attack_bound},
              {"attack_achieved", e.attack_mean},
              {"unanimity", run.unanimity},
              {"steps", run.steps},
              {"losses_evaluated", run.losses_evaluated},
              {"seconds", run.seconds}});
  return out;
}

std::string sentence(nlohmann::ordered_json const& mean, bool protects, std::size_t runs) {
  auto const at_most = [&](char const* key) { return rounded_up(mean.at(key).get<double>()); };
  std::string const privacy =
      protects ? at_most("mi") + " nats spent on which half was used, " +
                     at_most("mi_worst_record") + " on the worst record" +
                     (mean.contains("mi_worst_group")
                          ? ", " + at_most("mi_worst_group") + " on the worst group"
                          : std::string()) +
                     "; an attacker on membership is right with probability at "
                     "most " +
                     at_most("attack_bound") +
                     ", one who knows all but the half was right with probability " +
                     at_most("attack_achieved")
               : "nothing is protected";
  char rest[96];
  std::snprintf(rest, sizeof rest, "candidates agreed on %.1f %% of the steps; %.1f s",
                100.0 * mean.at("unanimity").get<double>(), mean.at("seconds").get<double>());
  return "accuracy " + rounded_down(mean.at("accuracy").get<double>()) + " after " +
         std::to_string(mean.at("steps").get<std::size_t>()) + " steps" +
         (runs > 1 ? ", mean of " + std::to_string(runs) + " runs" : std::string()) + "; " +
         privacy + "; " + rest;
}

}  // namespace

std::vector<std::string> paczero_mechanisms() {
  std::vector<std::string> words;
  for (auto const& [word, value] : trainable) words.push_back(word);
  return words;
}

void declare_paczero(arguments& of) {
  of.add(
      "--ledger", word_of(ledgers),
      "paczero-mi: the budget is about the secret subset or about each record's membership, or a "
      "cap on an attacker's belief about any record; subset unless given");
  of.add("--kappa", number("in (0, 0.5]", [](double x) { return x > 0.0 && x <= 0.5; }),
         "paczero-mi: beliefs about a record stay within 0.5 +- KAPPA; needed by ledger pathwise, "
         "and a second cap with the others");
  of.add("--record-groups", input_file("a readable file of groups, one a line: rows of DATA"),
         "paczero-mi: families, or the records of an account: the memberships of each group "
         "together are charged. Rows are counted from 0, and separated by commas or blanks");
  of.add("--group-mi", non_negative(),
         "the budget of each group in nats; --mi unless given, and needed by ledger pathwise");
  of.add("--observed", word_of(views),
         "paczero-mi: what an attacker is taken to see of a paid release; sign unless given");
  of.add("--allocation", word_of(allocations),
         "paczero-mi: how the budget is spread over the steps; adaptive (evenly) unless given, but "
         "confident-or-hold learns more from it");
  of.add("--horizon", number("at least 1", [](double x) { return x >= 1.0; }),
         "confident-or-hold: a release may cost the rest of the budget over HORIZON; 200 unless "
         "given");
  of.add("--minimum-correlation", positive_probability(),
         "confident-or-hold: a release that would agree less with the truth is held; 0.3 unless "
         "given");
  of.add("--disagreement", word_of(disagreements),
         "paczero: what is released where candidates disagree and nothing pays; hold unless given");
  of.add("--subsets",
         {"an even whole number in [2, 1000000]",
          [one = whole(2, 1'000'000)](std::string const& text) {
            return one.holds(text) && (text.back() - '0') % 2 == 0;
          },
          "COUNT"},
         "paczero: candidates for the secret subset; 128 unless given");
  of.add(
      "--smoothing", number("in [1e-37, 1e38]", [](double x) { return x >= 1e-37 && x <= 1e38; }),
      "paczero and mezo: half the distance between the two points at which losses are taken; 0.001 "
      "unless given");
  of.add("--save", state_file("a new or empty file, in a folder that exists"),
         "paczero: keep the run's state here, step by step; it holds the secret");
  of.add("--resume", state_file("the state of a run of paczero, not in use elsewhere"),
         "go on with a saved run, or finish the files of one that is done, with the same DATA, "
         "--smoothing, --learning-rate, --optimiser and --weight-decay; what else is given must be "
         "as it "
         "was");
}

answer train_paczero(arguments const& of) {
  if (of.given("--resume")) of.must_be_left_out({"--save", "--seeds"}, "with --resume");
  seed_range seeds = read_seeds(of, {"--save", "--transcript", "--base", "--tuned"});

  of.text("DATA");  // needed
  std::optional<stored_run> saved;
  if (of.given("--resume")) saved = look_at(of);
  mechanism const which = mechanism_of(of, saved);
  paczero_run_options const asked = read_options(of, which, saved);
  if (saved) {
    must_agree(of, asked, *saved);
    must_have_its_journal(of, *saved);
    seeds.first = saved->seed;
  }

  apps::dataset all;
  apps::record_lists groups;
  std::string digest;
  paczero_run_options wanted = asked;
  try {
    std::string const table = apps::read_text(of.text("DATA"));
    all = apps::parse_csv(table, of.text("DATA"));
    digest = belongs_to(table, wanted);
    wanted.about_from_now = about(digest, wanted);
    wanted.about = saved ? saved->about : wanted.about_from_now;
  } catch (std::runtime_error const& error) {
    refuse_because(of, "DATA", error, how_to_go_on(of, error, saved.has_value()));
  }
  if (of.given("--record-groups")) {
    try {
      std::string const file = of.text("--record-groups");
      groups = apps::parse_groups(apps::read_text(file), file, all.size());
    } catch (std::runtime_error const& error) {
      refuse_because(of, "--record-groups", error, how_to_go_on(of, error, saved.has_value()));
    }
  }
  if (which == mechanism::paczero_mi && wanted.paczero.ledger != ledger_kind::pathwise &&
      !(wanted.paczero.budget.value < std::numbers::ln2)) {
    std::fprintf(
        stderr,
        "tacit train: warning: --mi is log 2 or more, which allows an attacker to be sure of "
        "a record's membership\n");
  }

  std::optional<apps::progress_bar> bar;
  if (::isatty(STDERR_FILENO) != 0) {
    bar.emplace(seeds.count * wanted.paczero.steps - (saved ? saved->steps_done : 0));
  }
  std::vector<nlohmann::ordered_json> each;
  for (std::size_t i = 0; i < seeds.count; ++i) {
    std::optional<apps::task> job;
    try {
      job = apps::prepare(all, seeds.first + i);
    } catch (std::runtime_error const& error) {
      of.refuse_because("DATA", error);
    }
    std::size_t const records = job->data.private_part.size();
    if (saved && records != saved->shape.records) {
      of.refuse("DATA", "the table of the saved run, which has " +
                            std::to_string(saved->shape.records) + " private records and not " +
                            std::to_string(records));
    }
    bool const has_groups =
        of.given("--record-groups") || (saved && !saved->options.groups.empty());
    if (of.given("--record-groups")) {
      wanted.paczero.groups = apps::groups_among(groups, job->data.private_rows);
      wanted.paczero.group_budget =
          wanted.paczero.groups.empty() ? nats{} : asked.paczero.group_budget;
      if (saved && wanted.paczero.groups != saved->options.groups) {
        of.refuse("--record-groups", "the groups of the saved run");
      }
    }
    if (saved && saved->digest != digest) {
      of.refuse("DATA",
                "the table of the saved run, with its --smoothing, --learning-rate, "
                "--optimiser and --weight-decay");
    }
    try {
      save_parameters(of, "--base", job->shape.tensors(), job->start);
    } catch (std::runtime_error const& error) {
      refuse_because(of, "--base", error, how_to_go_on(of, error, of.given("--resume")));
    }
    bool begun = false;
    try {
      paczero_run_result run = apps::run_paczero(*job, wanted, [&](std::size_t steps) {
        begun = true;
        if (bar) bar->advance(steps);
      });
      each.push_back(figures(run, wanted.subsets, has_groups));
      save_parameters(of, "--tuned", job->shape.tensors(), std::move(run.tuned));
    } catch (apps::unusable_state const& error) {
      of.refuse_because("--resume", error);
    } catch (tacit::file_error const& error) {
      if (!begun) refuse_file(of, error);
      fail_midway(of, error, true);
    } catch (tacit::corrupt_state const& error) {
      if (!of.given("--transcript")) throw;
      of.refuse_because("--transcript", error);
    } catch (std::invalid_argument const& error) {  // the journal of another run, or a later one
      if (!saved || !of.given("--transcript")) throw;
      of.refuse("--transcript",
                "the transcript of this run, and --resume no older copy of its state: " +
                    std::string(error.what()));
    } catch (std::exception const& error) {
      if (!begun && !is_of_the_machine(error)) throw;
      fail_midway(of, error, begun || of.given("--resume"));
    }
  }

  answer out{"", summary_of(each, seeds)};
  out.sentence = sentence(out.json, which != mechanism::mezo, seeds.count);
  out.if_lost = how_to_be_told_again(of);
  return out;
}

}  // namespace calculator
