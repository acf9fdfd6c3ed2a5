// SPDX-License-Identifier: Apache-2.0
//
// A statement of one page: what was released, what is assumed, what follows.

#include <tacit/config.hpp>
#include <tacit/dp/event.hpp>

#include "accountants.hpp"
#include "attack.hpp"
#include "plan.hpp"
#include "surroundings.hpp"
#include "verbs.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace calculator {

namespace {

constexpr double priors[] = {0.5, 0.1, 0.01};

void declare_report(arguments& of) {
  declare_plan(of);
  declare_surroundings(of);
  of.add("--delta", open_probability(),
         "another delta to state epsilon at, besides 1e-3, 1e-5, 1e-6, 1e-8 and 1e-10");
  declare_accountant(of);
}

std::string meaning(tacit::adjacency neighbours) {
  switch (neighbours) {
    case tacit::adjacency::add_remove:
      return "Neighbours: one data set has a record more than the other.";
    case tacit::adjacency::replace_one:
      return "Neighbours: data sets of the same size, of which one record differs.";
    case tacit::adjacency::zero_out:
      return "Neighbours: in one data set a record is replaced by one that contributes nothing.";
  }
  return "";
}

// What is released, with the releases of inner runs in the place of their profiles.
void add_releases(std::vector<plan::entry> const& of, std::vector<tacit::event>& all) {
  for (plan::entry const& e : of) {
    if (e.run) {
      add_releases(e.run->releases, all);
    } else {
      all.push_back(e.what.release);
    }
  }
}

void add_once(std::string assumed, std::vector<std::string>& all) {
  if (std::find(all.begin(), all.end(), assumed) == all.end()) all.push_back(std::move(assumed));
}

void add_assumed(std::vector<plan::entry> const& of, std::vector<std::string>& all) {
  for (plan::entry const& e : of) {
    if (e.assumed != nullptr) add_once(e.assumed, all);
    if (!e.run) continue;
    add_assumed(e.run->releases, all);
    for (std::string const& more : assumptions_around(e.run->around)) {
      add_once("Of a run that is one release: " + more, all);
    }
  }
}

bool has_best_of(std::vector<plan::entry> const& of) {
  return std::any_of(of.begin(), of.end(), [](plan::entry const& e) {
    return e.run && (e.run->around.times || has_best_of(e.run->releases));
  });
}

// A line for each release, and for those of an inner run further in.
std::string listed(std::vector<plan::entry> const& of, std::optional<std::uint64_t> batches,
                   std::string const& margin = "") {
  std::string page;
  for (plan::entry const& e : of) {
    page += margin + "- " + in_words(e, batches) + "\n";
    if (!e.run) continue;
    page += listed(e.run->releases, std::nullopt, margin + "  ");
    for (std::string const& around : releases_around(e.run->around)) {
      page += margin + "  - " + around + "\n";
    }
  }
  return page;
}

std::vector<std::string> assumptions(plan const& run, surroundings const& its) {
  std::vector<tacit::event> releases;
  add_releases(run.releases, releases);
  auto const any = [&](std::function<bool(tacit::event const&)> const& holds) {
    return std::any_of(releases.begin(), releases.end(), holds);
  };
  auto const sampled_as = [&]<class Scheme>(Scheme /*which*/) {
    return any([](tacit::event const& e) { return std::holds_alternative<Scheme>(e.how); });
  };
  auto const stated = [](tacit::event const& e) {
    return std::holds_alternative<tacit::pure>(e.what) ||
           std::holds_alternative<tacit::approx_dp>(e.what) ||
           std::holds_alternative<tacit::gaussian_dp>(e.what) ||
           std::holds_alternative<tacit::zcdp>(e.what) ||
           std::holds_alternative<tacit::dp_profile>(e.what) ||
           std::holds_alternative<tacit::renyi_dp>(e.what) ||
           std::holds_alternative<tacit::randomised_response>(e.what) ||
           std::holds_alternative<tacit::exponential_mechanism>(e.what);
  };
  std::vector<std::string> all{meaning(run.neighbours)};
  if (any([](tacit::event const& e) { return e.records_per_person == 1; })) {
    all.emplace_back("What is protected is one record: a person with several is protected less.");
  }
  if (any([](tacit::event const& e) { return e.records_per_person > 1; })) {
    all.emplace_back("Where records per person are stated, no person has more of them.");
  }
  if (any([&](tacit::event const& e) { return !stated(e); })) {
    all.emplace_back(
        "A record's contribution is clipped to the norm that the noise is relative to, before "
        "the sum.");
  }
  if (any(stated)) {
    all.emplace_back("A mechanism given by its guarantee keeps it under these neighbours.");
  }
  add_assumed(run.releases, all);
  if (sampled_as(tacit::poisson{})) {
    all.emplace_back(
        "Poisson samples: each record takes part independently, with the stated rate, drawn afresh "
        "each step; who took part stays secret, and no sum is divided by the size that came out.");
  }
  if (sampled_as(tacit::fixed_size{})) {
    all.emplace_back(
        "Fixed-size batches: each is a uniform draw without replacement, made afresh each step; "
        "who "
        "took part stays secret.");
  }
  if (sampled_as(tacit::shuffled{})) {
    all.emplace_back(
        "Shuffled batches: each record is in one batch of an epoch; a step is an epoch.");
    if (run.batches) {
      all.emplace_back("An epoch has " + std::to_string(*run.batches) +
                       " batches of one size, not counting a smaller one at the end; the records "
                       "are put in a new order for each epoch, uniformly, which stays secret.");
    }
  }
  if (sampled_as(tacit::random_allocation{})) {
    all.emplace_back(
        "Random allocation: each record draws the steps of an epoch that it takes part in, "
        "uniformly "
        "and independently of the others; who took part when stays secret, and no sum is divided "
        "by "
        "the size that came out. A step here is an epoch.");
  }
  if (sampled_as(tacit::unsampled{})) {
    all.emplace_back("Where all records are named, each may take part in every step.");
  }
  all.emplace_back(
      "Noise and samples are drawn from a source that nobody can predict. A step may depend on "
      "what "
      "was released before it; noise, rates and steps were fixed before the run.");
  all.emplace_back(
      its.times
          ? "Every release of a run is listed. The attacker sees all of those of the best run, "
            "nothing of the other runs, and knows all other records."
      : has_best_of(run.releases)
          ? "Every release is listed. The attacker sees all of them, of runs of which only the "
            "best "
            "is released those of the best, and knows all other records."
          : "Every release is listed. The attacker sees all of them and knows all other records.");
  for (std::string& more : assumptions_around(its)) add_once(std::move(more), all);
  return all;
}

answer run_report(arguments const& of) {
  plan const run = read_plan(of);
  method const& by = one_with_a_bound(of);
  surroundings const its = read_surroundings(of, run);
  accounts const all = accounts_by(by, run, its);
  bool const exact = attained(run);
  std::vector<double> deltas{1e-3, 1e-5, 1e-6, 1e-8, 1e-10};
  if (of.given("--delta")) deltas.push_back(of.number("--delta"));
  std::sort(deltas.begin(), deltas.end(), std::greater<>());
  deltas.erase(std::unique(deltas.begin(), deltas.end()), deltas.end());

  answer out;
  std::string& page = out.sentence;
  page = "# Privacy statement\n\n## What is released\n\n";
  out.json["releases"] = nlohmann::ordered_json::array();
  page += listed(run.releases, run.batches);
  for (plan::entry const& e : run.releases) {
    out.json["releases"].push_back(apps::as_json(e));
    if (e.at_most && !e.run) out.json["releases"].back()["attained"] = false;
    if (run.batches) out.json["releases"].back()["batches"] = *run.batches;
  }
  for (std::string const& around : releases_around(its)) page += "- " + around + "\n";
  out.json["adjacency"] = in_words(run.neighbours);
  page += "\n## What is assumed\n\n";
  for (std::string const& assumed : assumptions(run, its)) {
    page += "- " + assumed + "\n";
    out.json["assumptions"].push_back(assumed);
  }

  page += "\n## What follows\n\nUnder " + in_words(run.neighbours) +
          " neighbours the run is (epsilon, delta)-differentially private with\n\n"
          "| delta | epsilon at most |" +
          (exact ? " and at least |\n|---|---|---|\n" : "\n|---|---|\n");
  out.json["accountant"] = by.word;
  if (!exact) out.json["attained"] = false;
  asked(all, its, [&](auto const& profile) {
    for (double const delta : deltas) {
      tacit::bound<double> const found = profile.epsilon(delta);
      double const upper = finite(found.upper);
      double const lower = finite(found.lower);
      page += "| " + exactly(delta) + " | " + epsilon_in_words(upper) + " |" +
              (exact ? " " + rounded_down(lower) + " |\n" : "\n");
      out.json["guarantees"].push_back(
          {{"delta", delta}, {"epsilon", upper}, {"lower", lower}, {"upper", upper}});
    }
    page +=
        "\nAn attacker guesses which of two neighbours was the input, knowing the probability of "
        "one of them\n"
        "beforehand. The guess is right at most with probability:\n\n"
        "| probability of one | before the releases | after them |\n|---|---|---|\n";
    knots_by_epsilon knots;
    if (!its.none()) knots = knots_for_advantage(profile);
    for (double const prior : priors) {
      double const before = std::max(prior, 1.0 - prior);
      double const after =
          its.none() ? all.whole->attack_success(prior)
                     : guessed_rightly(curve_for_guess(profile, knots, prior), prior).upper;
      page += "| " + exactly(prior) + " | " + exactly(before) + " | " + rounded_up(after) + " |\n";
      out.json["attack_success"].push_back({{"prior", prior}, {"success", after}});
    }
  });
  page += "\nFigures are rounded to the side that keeps them true. tacit " +
          std::string(TACIT_VERSION) + ", accountant " + by.word + " (" + by.what + ").";
  out.json["versions"] = {{"tacit", TACIT_VERSION}};
  return with_surroundings(std::move(out), its);
}

}  // namespace

verb report() {
  return {
      "report", "A statement of one page: what is released, assumed, guaranteed",
      R"(Markdown; with --json one object, whose "adjacency" and "releases" are a schedule, and "cap", "drawn_once" and
"best_of" what is around it. Lower ends stand on the page where the sampling and the neighbours leave no slack; elsewhere
the object has "attained": false.)",
      declare_report, run_report};
}

}  // namespace calculator
