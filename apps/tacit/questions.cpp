// SPDX-License-Identifier: Apache-2.0
//
// The four questions that are answered by a formula.

#include <tacit/dp/trade_off_curve.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/info/binary_channel.hpp>
#include <tacit/info/sign_channel.hpp>

#include "attack.hpp"
#include "verbs.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace calculator {

using tacit::nats;

namespace {

// ---- the noised sign ----------------------------------------------------------------------------

void declare_observed(arguments& of) {
  of.add("--observed", one_of({"value", "sign"}),
         "what is seen: the noised value, or only the sign of it; value unless given");
}

bool sign_only(arguments const& of) {
  return of.given("--observed") && of.text("--observed") == "sign";
}

nats charge(double prior, double sigma, bool only_sign) {
  return only_sign ? information_charge(tacit::sign_channel{
                         .prior = prior, .noise = tacit::flip_of_gaussian(sigma)})
                   : information_charge(tacit::binary_channel{.prior = prior, .sigma = sigma});
}

void declare_mi(arguments& of) {
  of.add("--prior", probability(), "needed: the probability that the sign is +1");
  of.add("--sigma", non_negative(), "needed: the noise's standard deviation");
  declare_observed(of);
}

answer run_mi(arguments const& of) {
  double const prior = of.number("--prior");
  double const sigma = of.number("--sigma");
  double const revealed = charge(prior, sigma, sign_only(of)).value;
  return {"at most " + rounded_up(revealed) + " nats: what the " +
              (sign_only(of) ? "released sign" : "noised value") +
              " reveals about a sign with P(+1) = " + exactly(prior) +
              " under Gaussian noise of standard deviation " + exactly(sigma),
          {{"mi", revealed}}};
}

void declare_sigma(arguments& of) {
  of.add("--prior", probability(), "needed: the probability that the sign is +1");
  of.add("--mi", number("finite and at least 1e-290", [](double x) { return x >= 1e-290; }),
         "needed: the budget in nats");
  declare_observed(of);
}

answer run_sigma(arguments const& of) {
  double const prior = of.number("--prior");
  nats const budget(of.number("--mi"));
  double const sigma = sign_only(of)
                           ? gaussian_sigma(noise_for(tacit::sign_channel{.prior = prior}, budget))
                           : noise_for(tacit::binary_channel{.prior = prior}, budget);
  // noise_for keeps the information within the budget in exact arithmetic: both are upper bounds.
  double const revealed = std::min(charge(prior, sigma, sign_only(of)).value, budget.value);
  return {"sigma " + rounded_up(sigma) + ": under Gaussian noise of this standard deviation the " +
              (sign_only(of) ? "released sign" : "noised value") + " reveals at most " +
              rounded_up(revealed) + " nats about a sign with P(+1) = " + exactly(prior),
          {{"sigma", sigma}, {"mi", revealed}}};
}

// ---- attackers ----------------------------------------------------------------------------------

// The ε with the same bound on an attacker who guesses a membership bit; for a secret that is harder
// to guess than a coin, the ε with the bound that these nats set on a fair bit.
double matched_epsilon(nats information, double success, double prior) {
  double const epsilon = prior >= 0.5
                             ? tacit::epsilon_for(success, prior)
                             : tacit::epsilon_for(tacit::attack_success(information, 0.5), 0.5);
  return std::min(epsilon, std::numeric_limits<double>::max());
}

std::string text_of_epsilon(double epsilon) {
  return epsilon < std::numeric_limits<double>::max() ? "epsilon " + rounded_down(epsilon)
                                                      : "no finite epsilon";
}

// What one (epsilon, delta) says of every test.
tacit::trade_off_curve curve_of(tacit::approx_dp guarantee) {
  std::vector<tacit::profile_knot> knots{{0.0, {0.0, 1.0}}};
  if (guarantee.epsilon == 0.0) knots.clear();
  if (guarantee.epsilon <= 700.0) knots.push_back({guarantee.epsilon, {0.0, guarantee.delta}});
  return {tacit::adjacency::add_remove, knots};  // or any other: the guarantee is under its own
}

void declare_budget(arguments& of) {
  of.add("--success", positive_probability(),
         "needed: what the attacker's success must not exceed");
  of.add("--prior", positive_probability(),
         "the attacker's success before the release; 0.5 unless given");
}

answer run_budget(arguments const& of) {
  double const success = of.number("--success");
  double const prior = of.number("--prior", 0.5);
  if (success < prior) {
    of.refuse("--success", "in [" + exactly(prior) +
                               ", 1]: the attacker's success before the release cannot be undone");
  }
  nats const most = tacit::information_for(success, prior);
  double const epsilon = matched_epsilon(most, success, prior);
  return {rounded_down(most.value) + " nats, or " + text_of_epsilon(epsilon) +
              ": the most that keeps an attacker who guesses right with probability " +
              exactly(prior) + " before the release at " + exactly(success) + " or less after it",
          {{"mi", most.value}, {"epsilon", epsilon}}};
}

}  // namespace

char const* const matched_note =
    R"(Matched figures set the same bound on an attacker's success. Where that is 1, epsilon is
1.7976931348623157e308, the largest double: no finite epsilon. For a prior under 1/2, epsilon is the
one that matches these nats for a fair membership bit. Bounds from nats are averages over releases:
one unlucky release may reveal more.)";

void declare_guarantee(arguments& of) {
  of.add("--mi", non_negative(), "the information revealed, in nats; needed, or");
  of.add("--epsilon", non_negative(), "the epsilon of differential privacy");
  of.add("--delta", probability(), "its delta; 0 unless given");
  of.add("--prior", positive_probability(),
         "the attacker's success before the release; 0.5 unless given");
  of.add("--false-positive-rate", positive_probability(),
         "of a test for membership: asks for its true positive rate");
  of.add("--prevalence", probability(),
         "the share of members among those tested: asks how many of those accused are members");
}

answer attack_on_guarantee(arguments const& of) {
  double const prior = of.number("--prior", 0.5);
  answer out;
  double success = 0.0;
  double epsilon = 0.0;
  double mi = 0.0;
  std::string revealed;
  std::string matched;
  if (of.given("--mi")) {
    of.must_be_left_out({"--epsilon", "--delta", "--false-positive-rate", "--prevalence"},
                        "where --mi is given");
    mi = of.number("--mi");
    success = tacit::attack_success(nats(mi), prior);
    epsilon = matched_epsilon(nats(mi), success, prior);
    out.json["success"] = success;
    if (prior >= 0.5) out.json["success_exact"] = tacit::membership_success(nats(mi), prior);
    revealed = exactly(mi) + " nats";
    matched = text_of_epsilon(epsilon);
  } else {
    if (prior < 0.5) of.refuse("--prior", "in [0.5, 1] where --epsilon is given");
    tacit::approx_dp const guarantee{of.number("--epsilon"), of.number("--delta", 0.0)};
    epsilon = guarantee.epsilon;
    success = tacit::attack_success(guarantee, prior);
    mi = tacit::information_for(success, prior).value;
    out.json["success"] = success;
    revealed = "epsilon " + exactly(epsilon) + ", delta " + exactly(guarantee.delta);
    matched = rounded_down(mi) + " nats";
  }
  out.json["epsilon"] = epsilon;
  out.json["mi"] = mi;
  out.sentence = revealed + ": an attacker who guesses right with probability " + exactly(prior) +
                 " before the release does so with probability at most " + rounded_up(success) +
                 " after it; matched by " + matched;
  if (prior > 0.5 && of.given("--mi")) {
    out.sentence +=
        "; for one membership bit at most " + rounded_up(out.json["success_exact"].get<double>());
  }
  if (!of.given("--mi")) {
    add_rates(
        out, of,
        [&] {
          return curve_of({epsilon, of.number("--delta", 0.0)});
        },
        nullptr);
  }
  return out;
}

nlohmann::ordered_json ends_in_json(tacit::bound<double> ends) {
  return {{"lower", ends.lower}, {"upper", ends.upper}};
}

std::string ends_in_words(tacit::bound<double> ends, char const* lower_in_words) {
  return "at most " + rounded_up(ends.upper) +
         (lower_in_words == nullptr
              ? ""
              : std::string(" (") + lower_in_words + " " + rounded_down(ends.lower) + ")");
}

void add_rates(answer& out, arguments const& of,
               std::function<tacit::trade_off_curve()> const& curve, char const* lower_in_words) {
  if (!of.given("--false-positive-rate")) {
    of.must_be_left_out({"--prevalence"}, "unless --false-positive-rate is given");
    return;
  }
  double const rate = of.number("--false-positive-rate");
  tacit::trade_off_curve const asked = curve();
  tacit::bound<double> const hit = asked.true_positive_rate(rate);
  out.json["false_positive_rate"] = rate;
  out.json["true_positive_rate"] = ends_in_json(hit);
  out.sentence += "; a test that accuses " + exactly(rate) + " of the non-members accuses " +
                  ends_in_words(hit, lower_in_words) + " of the members";
  if (!of.given("--prevalence")) return;
  double const share = of.number("--prevalence");
  tacit::bound<double> const right = asked.positive_predictive_value(share, rate);
  out.json["prevalence"] = share;
  out.json["positive_predictive_value"] = ends_in_json(right);
  out.sentence += "; where " + exactly(share) + " of those tested are members, " +
                  ends_in_words(right, lower_in_words) + " of those accused are";
}

verb mi() {
  return {"mi", "How much does a noisy sign reveal? An upper bound, in nats",
          "A sign S is +1 or -1; S + N(0, sigma^2) is seen.", declare_mi, run_mi};
}

verb sigma() {
  return {
      "sigma", "How much noise keeps what a sign reveals within a budget of nats?",
      R"(A sign S is +1 or -1; S + N(0, sigma^2) is seen. The noise never overspends. sigma 0: the
budget covers the sign itself. A budget of 0 is refused: no finite noise reveals nothing.)",
      declare_sigma, run_sigma};
}

verb budget() {
  return {"budget", "Which budget keeps an attacker under this success?", matched_note,
          declare_budget, run_budget};
}

}  // namespace calculator
