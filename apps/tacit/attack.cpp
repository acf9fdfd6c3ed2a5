// SPDX-License-Identifier: Apache-2.0
//
// What the best attacker achieves: by a formula, against a run, or by a trade-off curve in a file.

#include "attack.hpp"

#include "accountants.hpp"
#include "output/text_file.hpp"
#include "plan.hpp"
#include "surroundings.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace calculator {

using tacit::bound;
using tacit::trade_off_curve;

namespace {

// The advantage and the success of the best guess.
void add_guesses(answer& out, bound<double> advantage, double prior, bound<double> success,
                 char const* lower_in_words) {
  out.json["advantage"] = ends_in_json(advantage);
  out.json["prior"] = prior;
  out.json["attack_success"] = ends_in_json(success);
  out.sentence += "the advantage of a test, its true positive rate less its false one, is " +
                  ends_in_words(advantage, lower_in_words) +
                  "; a guess of a membership of probability " + exactly(prior) +
                  " is right with probability " + ends_in_words(success, lower_in_words);
}

constexpr std::size_t longest_curve = std::size_t{1} << 24;  // bytes: a hundred thousand knots

trade_off_curve read_curve(arguments const& of) {
  try {
    return trade_off_curve::load(apps::read_text(of.text("--trade-off"), longest_curve));
  } catch (std::runtime_error const& error) {
    of.refuse_because("--trade-off", error);
  }
}

answer attack_by_curve(arguments const& of) {
  trade_off_curve const curve = read_curve(of);
  double const prior = of.number("--prior", 0.5);
  answer out;
  out.json["adjacency"] = in_words(curve.neighbours());
  out.json["attained"] = false;  // as far as the file says
  out.sentence = "by the curve in " + of.text("--trade-off") + ", " + in_words(curve.neighbours()) +
                 " neighbours: ";
  add_guesses(out, curve.advantage(), prior, curve.attack_success(prior), in_file);
  add_rates(
      out, of, [&] { return curve; }, in_file);
  return out;
}

answer attack_on_run(arguments const& of) {
  method const& by = one_with_a_bound(of);
  plan const run = read_plan(of);
  surroundings const around = read_surroundings(of, run);
  double const prior = of.number("--prior", 0.5);
  char const* const exact = attained(run) ? of_run : nullptr;
  accounts const all = accounts_by(by, run, around);
  answer out;
  out.json["accountant"] = by.word;
  if (exact == nullptr) out.json["attained"] = false;
  out.sentence = about(run, around) + ", by " + by.word + ": ";
  asked(all, around, [&](auto const& profile) {
    trade_off_curve const at_guess = curve_for_guess(profile, knots_for_advantage(profile), prior);
    add_guesses(out, at_guess.advantage(), prior, guessed_rightly(at_guess, prior), exact);
    auto const curve = [&] {
      double const rate = of.number("--false-positive-rate");
      trade_off_curve found(profile, run.neighbours,
                            {.knots = 2, .smallest_rate = std::min(rate, 1e-9)});
      return found.refine(profile, rate, 1e-9);
    };
    add_rates(out, of, curve, exact);
  });
  return with_surroundings(std::move(out), around);
}

void declare_attack(arguments& of) {
  declare_guarantee(of);
  of.add("--trade-off", input_file("a readable trade-off curve"),
         "the curve of a run, as tacit curve --trade-off writes it; or the run itself:");
  declare_plan(of, {.needed = false});
  declare_surroundings(of);
  declare_accountant(of);
}

answer run_attack(arguments const& of) {
  std::vector<std::string> of_runs = plan_names();
  of_runs.insert(of_runs.end(), surroundings_names().begin(), surroundings_names().end());
  of_runs.insert(of_runs.end(), {"--accountant", "--patience"});
  for (char const* guarantee : {"--mi", "--epsilon"}) {
    if (!of.given(guarantee)) continue;
    of_runs.emplace_back("--trade-off");
    of.must_be_left_out(of_runs, std::string("where ") + guarantee + " is given");
    return attack_on_guarantee(of);
  }
  of.must_be_left_out({"--delta"}, "unless --epsilon is given");
  if (of.given("--trade-off")) {
    of.must_be_left_out(of_runs, "where --trade-off is given");
    return attack_by_curve(of);
  }
  if (std::any_of(plan_names().begin(), plan_names().end(),
                  [&](std::string const& name) { return of.given(name); })) {
    return attack_on_run(of);
  }
  of.must_be_left_out(of_runs, "unless a run is given");
  of.refuse("--mi",
            of.must_be("--mi") + ", or --epsilon, --trade-off, --schedule or a run be given");
}

}  // namespace

verb attack() {
  static std::string const note =
      std::string(
          R"(Against a run, and by its curve, the figures are of the best test and the best guess for one record, with
"lower" and "upper" ends: lower ones are about the run's own loss where the sampling and the neighbours leave no
slack. Elsewhere, and by a curve in a file, which does not say of what run it is, they are about a bound on it, and the
object has "attained": false. --prior is the probability that the record is a member.
  advantage                   the largest true positive rate less false positive rate
  attack_success              of the best guess of a membership
  true_positive_rate          of the best test at --false-positive-rate
  positive_predictive_value   of those whom that test accuses this share are members, where --prevalence of those
                              tested are
)") + matched_note;
  return {"attack", "What can an attacker achieve against a run, (epsilon, delta), or these nats?",
          note.c_str(), declare_attack, run_attack};
}

}  // namespace calculator
