// SPDX-License-Identifier: Apache-2.0
//
// ask                    of                        answer
// epsilon                run, delta                lower, upper, attained, route
// delta                  run, epsilon              lower, upper, attained, route
// epsilons, deltas       run, at: a list           lower, upper: lists, attained
//   these and attack_on_run also of best_of, the mean number of such runs of which the best is released, and its
//   best_of_law: geometric unless given, logarithmic or poisson. Then the answer has best_of: mean, law, gamma
// misses                 epsilons, deltas, at      misses: the least false negative rates at these false positive rates
// attack_on_run          run, prior                success; advantage, of the best attacker
// noise_multiplier, rate run, epsilon, delta       value, run with it: in its last release
// steps, batch           run, epsilon, delta       value, run with it: in its last release
// schedule               text                      run: the schedule, or what another library has for it, checked
// attack                 mi, prior                 success, membership_success, epsilon
// attack                 epsilon, delta, prior     success, mi
// budget                 success, prior            mi, epsilon
// pac                    rows, budget, method, …   noise: pac.cpp
// version                                          version
#include "questions.hpp"

#include <tacit/config.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/decimal.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/selection.hpp>
#include <tacit/dp/trade_off.hpp>
#include <tacit/info/attack.hpp>

#include "schedule/imports.hpp"
#include "schedule/schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace page {

using tacit::adjacency;
using tacit::composed;
using tacit::privacy_loss_accountant;

void refuse(json const& of, char const* key, std::string const& must_be) {
  auto const found = of.find(key);
  bool const missing = found == of.end() || found->is_null();
  std::string is = missing ? "missing" : found->dump();
  if (!missing && found->is_string()) is = "'" + found->get<std::string>() + "'";
  if (is.size() > 60) is = is.substr(0, 57) + "...";
  throw std::invalid_argument(std::string(key) + " is " + is + ", but must be " + must_be);
}

double number(json const& of, char const* key, char const* must_be) {
  auto const found = of.find(key);
  if (found == of.end() || !found->is_number()) refuse(of, key, must_be);
  return found->get<double>() + 0.0;  // −0 is 0
}

std::string word(json const& of, char const* key) {
  auto const found = of.find(key);
  if (found == of.end() || !found->is_string()) refuse(of, key, "a word");
  return found->get<std::string>();
}

json upper_end(double x) {
  return {{"value", x}, {"text", tacit::rounded_up(x)}, {"full", tacit::rounded_up(x, 17)}};
}

json lower_end(double x) {
  return {{"value", x}, {"text", tacit::rounded_down(x)}, {"full", tacit::rounded_down(x, 17)}};
}

namespace {

// ---- a run --------------------------------------------------------------------------------------

struct run {
  adjacency neighbours = adjacency::add_remove;
  std::vector<composed> releases;
};

/// An exception about one of the releases.
struct refused_release : std::invalid_argument {
  refused_release(std::exception const& why, std::size_t which)
      : std::invalid_argument(why.what()), release(which) {}
  std::size_t release;
};

template <class Do>
auto for_release(std::size_t which, Do&& act) {
  try {
    return act();
  } catch (apps::bad_schedule const&) {
    throw;
  } catch (std::logic_error const& error) {
    throw refused_release(error, which);
  }
}

run checked_run(apps::schedule const& given) {
  if (given.batches) {
    throw apps::bad_schedule("releases[0].batches is " + std::to_string(*given.batches) +
                                 ", but must be left out: the page does not amplify shuffled "
                                 "batches; the calculator does",
                             "batches", 0);
  }
  run out{given.neighbours.value_or(adjacency::add_remove), {}};
  for (std::size_t k = 0; k < given.releases.size(); ++k) {
    composed const& next = given.releases[k].what;
    for_release(k, [&] { tacit::detail::check_event("compose", next.release); });
    out.releases.push_back(next);
  }
  return out;
}

run read_run(json const& of) { return checked_run(apps::read_schedule(of)); }

json const& run_of(json const& question) {
  auto const found = question.find("run");
  if (found == question.end()) refuse(question, "run", "a schedule");
  return *found;
}

/// How often a run is repeated, of which the best is released.
std::optional<tacit::repetitions> repetitions_of(json const& question) {
  bool const has_law = question.contains("best_of_law");
  if (!question.contains("best_of")) {
    if (has_law) refuse(question, "best_of_law", "left out unless best_of is given");
    return std::nullopt;
  }
  double const mean = number(question, "best_of", "in [1e-3, 1e12]");
  std::string const law = has_law ? word(question, "best_of_law") : "geometric";
  if (law != "geometric" && law != "logarithmic" && law != "poisson") {
    refuse(question, "best_of_law", "geometric, logarithmic or poisson");
  }
  if (!(mean >= 1e-3 && mean <= 1e12)) refuse(question, "best_of", "in [1e-3, 1e12]");
  if (law == "poisson") return tacit::poisson_count{mean};
  if (mean < 1.0) refuse(question, "best_of", "in [1, 1e12] unless best_of_law is poisson");
  return tacit::repetitions_of_mean(mean, law == "geometric" ? 1.0 : 0.0);
}

/// A run, or the best of several.
struct accounted_run {
  json of;
  std::optional<tacit::repetitions> times;
  privacy_loss_accountant account;
  std::optional<tacit::best_of<privacy_loss_accountant>> best;  // of the account beside it

  [[nodiscard]] tacit::bound<double> epsilon(double delta) const {
    return best ? best->epsilon(delta) : account.epsilon(delta);
  }
  [[nodiscard]] tacit::bound<double> delta(double epsilon) const {
    return best ? best->delta(epsilon) : account.delta(epsilon);
  }
  [[nodiscard]] bool attained() const { return account.method().attained(); }

  // As `accountant::attack_success`: by δ at the odds of the prior.
  [[nodiscard]] double attack_success(double prior) const {
    if (!best) return account.attack_success(prior);
    tacit::detail::check_probability("attack_success", "prior", prior);
    double const low = std::min(prior, 1.0 - prior);
    if (low == 0.0) return 1.0;
    using tacit::detail::enclosure;
    double const odds = log((enclosure(1.0) - enclosure(low)) / enclosure(low)).lower;
    double const most = delta(std::max(0.0, odds)).upper;
    return std::min(1.0, (1.0 - enclosure(low) * (1.0 - enclosure(most))).upper);
  }
};

/// The last ones are kept, since the points of a curve are many questions about one run or two.
accounted_run const& accounted(json const& question) {
  static std::list<accounted_run> kept;
  json const& of = run_of(question);
  std::optional<tacit::repetitions> const times = repetitions_of(question);
  auto const found = std::find_if(kept.begin(), kept.end(), [&](accounted_run const& k) {
    return k.of == of && k.times == times;
  });
  if (found != kept.end()) return *found;
  run const what = read_run(of);
  privacy_loss_accountant next(what.neighbours);
  for (std::size_t k = 0; k < what.releases.size(); ++k) {
    for_release(k, [&] { next.compose(what.releases[k].release, what.releases[k].count); });
  }
  std::list<accounted_run> made;
  made.push_back({of, times, std::move(next), std::nullopt});
  if (times) made.front().best.emplace(made.front().account, *times);
  if (kept.size() == 2) kept.pop_back();
  kept.splice(kept.begin(), made);
  return kept.front();
}

// ---- what a run costs ---------------------------------------------------------------------------

json interval(accounted_run const& about, tacit::bound<double> const& found,
              std::string_view route) {
  json out{{"lower", lower_end(found.lower)},
           {"upper", upper_end(found.upper)},
           {"attained", about.attained()},
           {"route", route}};
  if (!about.times) return out;
  json law{{"mean", upper_end(tacit::mean_repetitions(*about.times))}};
  if (auto const* k = std::get_if<tacit::truncated_negative_binomial>(&*about.times)) {
    law["law"] = k->shape == 0.0 ? "logarithmic" : "geometric";
    law["gamma"] = k->gamma;
  } else {
    law["law"] = "poisson";
  }
  out["best_of"] = std::move(law);
  return out;
}

constexpr std::string_view of_the_best = "the bound of the best of several runs";

json epsilon(json const& question) {
  auto const& about = accounted(question);
  double const delta = number(question, "delta", "in (0, 1)");
  tacit::detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
  if (about.best) return interval(about, about.epsilon(delta), of_the_best);
  auto const found = about.account.method().epsilon_by(delta);
  return interval(about, found.value, tacit::detail::name_of(found.by));
}

json delta(json const& question) {
  auto const& about = accounted(question);
  double const epsilon = number(question, "epsilon", "finite and at least 0");
  tacit::detail::check_non_negative("delta", "epsilon", epsilon);
  if (about.best) return interval(about, about.delta(epsilon), of_the_best);
  auto const found = about.account.method().delta_by(epsilon);
  return interval(about, found.value, tacit::detail::name_of(found.by));
}

std::vector<double> list(json const& question, char const* key) {
  auto const found = question.find(key);
  std::vector<double> out;
  if (found == question.end() || !found->is_array()) refuse(question, key, "a list of numbers");
  for (json const& x : *found) {
    if (!x.is_number()) refuse(question, key, "a list of numbers");
    out.push_back(x.get<double>());
  }
  return out;
}

json curve(json const& question, tacit::bound<double> (accounted_run::*at)(double) const) {
  auto const& about = accounted(question);
  json lower = json::array();
  json upper = json::array();
  for (double const x : list(question, "at")) {
    tacit::bound<double> const y = (about.*at)(x);
    lower.push_back(lower_end(y.lower));
    upper.push_back(upper_end(y.upper));
  }
  return {{"lower", std::move(lower)}, {"upper", std::move(upper)}, {"attained", about.attained()}};
}

json epsilons(json const& question) { return curve(question, &accounted_run::epsilon); }
json deltas(json const& question) { return curve(question, &accounted_run::delta); }

// An attacker whose share of false alarms is α misses at least 1 − δ − e^ε·α and e^−ε(1 − δ − α), for every ε and a
// δ(ε) from above (dp/trade_off.hpp): the largest over the ε that are known.
json misses(json const& question) {
  std::vector<double> const epsilons = list(question, "epsilons");
  std::vector<double> const deltas = list(question, "deltas");
  tacit::detail::check_size("misses", "number of deltas", deltas.size(), epsilons.size());
  json out = json::array();
  for (double const alarms : list(question, "at")) {
    tacit::detail::check_probability("misses", "alarms", alarms);
    double most = 0.0;
    for (std::size_t k = 0; k < epsilons.size(); ++k) {
      tacit::detail::check_non_negative("misses", "epsilon", epsilons[k]);
      tacit::detail::check_probability("misses", "delta", deltas[k]);
      using tacit::detail::enclosure;
      enclosure const hit = enclosure(1.0) - deltas[k];
      most = std::max({most, (hit - exp(enclosure(epsilons[k])) * alarms).lower,
                       (exp(enclosure(-epsilons[k])) * (hit - alarms)).lower});
    }
    out.push_back(lower_end(most));
  }
  return {{"misses", std::move(out)}};
}

json attack_on_run(json const& question) {
  auto const& about = accounted(question);
  return {{"success", upper_end(about.attack_success(number(question, "prior", "in [0, 1]")))},
          {"advantage", upper_end(tacit::total_variation(about).upper)}};
}

// ---- calibration: a number of the last release, after what came before ---------------------------

struct sought {
  run known;
  tacit::approx_dp target;
  json last;  // without the number
  std::size_t place;

  sought(json const& question, char const* key)
      : target{number(question, "epsilon", "finite and at least 0"),
               number(question, "delta", "in (0, 1)")} {
    json all = run_of(question);
    if (!all.is_object() || !all.contains("releases") || !all.at("releases").is_array() ||
        all.at("releases").empty() || !all.at("releases").back().is_object()) {
      (void)read_run(all);  // refuses it
    }
    place = all.at("releases").size() - 1;
    last = all.at("releases").back();
    last.erase(key);
    // A release of nothing stands in for it.
    all.at("releases").back() = {{"mechanism", "pure"}, {"epsilon", 0}};
    known = read_run(all);
    known.releases.pop_back();
  }

  template <class Number>
  [[nodiscard]] composed last_with(char const* key, Number x) const {
    json with = last;
    with[key] = x;
    return checked(apps::read_release(with, place, known.neighbours));
  }

  // The search goes beyond the noise that may be entered.
  [[nodiscard]] composed last_with_noise(double multiplier) const {
    json with = last;
    with["noise_multiplier"] = 1.0;
    composed found = apps::read_release(with, place, known.neighbours);
    std::visit(
        [&](auto& mechanism) {
          if constexpr (requires { mechanism.noise_multiplier; }) {
            mechanism.noise_multiplier = multiplier;
          }
        },
        found.release.what);
    return checked(found);
  }

  [[nodiscard]] composed const& checked(composed const& found) const {
    for_release(place, [&] { tacit::detail::check_event("compose", found.release); });
    return found;
  }

  [[nodiscard]] std::vector<composed> history_with(composed const& found) const {
    std::vector<composed> all = known.releases;
    all.push_back(found);
    return all;
  }

  // The answer, and the run that it makes.
  [[nodiscard]] json answer(json const& question, char const* key, json value) const {
    json whole = run_of(question);
    whole.at("releases").back()[key] = value.at("value");
    return {{"value", std::move(value)}, {"run", std::move(whole)}};
  }
};

json whole_end(std::uint64_t n) {
  return {{"value", n}, {"text", std::to_string(n)}, {"full", std::to_string(n)}};
}

using tacit::unlimited_effort;  // the page has a button that ends a search

json noise_multiplier(json const& question) {
  constexpr char const* key = "noise_multiplier";
  sought const asked(question, key);
  double const found = tacit::noise_multiplier_for<privacy_loss_accountant>(
      asked.target, [&](double x) { return asked.history_with(asked.last_with_noise(x)); },
      asked.known.neighbours, unlimited_effort);
  return asked.answer(question, key, upper_end(apps::answered_noise(found)));
}

json rate(json const& question) {
  sought const asked(question, "rate");
  double const found = tacit::rate_for<privacy_loss_accountant>(
      asked.target, [&](double x) { return asked.history_with(asked.last_with("rate", x)); },
      asked.known.neighbours, unlimited_effort);
  return asked.answer(question, "rate", lower_end(found));
}

json batch(json const& question) {
  sought const asked(question, "batch");
  // A batch of one record is the least there is: its release has the number of all.
  auto const least =
      std::get<tacit::fixed_size>(asked.last_with("batch", std::uint64_t{1}).release.how);
  std::uint64_t const found = tacit::batch_for<privacy_loss_accountant>(
      asked.target,
      [&](std::uint64_t n) { return asked.history_with(asked.last_with("batch", n)); },
      least.records, asked.known.neighbours, unlimited_effort);
  return asked.answer(question, "batch", whole_end(found));
}

json steps(json const& question) {
  sought const asked(question, "steps");
  privacy_loss_accountant spent(asked.known.neighbours);
  for (composed const& e : asked.known.releases) spent.compose(e.release, e.count);
  std::uint64_t const found = for_release(asked.place, [&] {
    return tacit::steps_for(asked.target, asked.last_with("steps", std::uint64_t{1}).release, spent,
                            unlimited_effort);
  });
  return asked.answer(question, "steps", whole_end(found));
}

// ---- a schedule ---------------------------------------------------------------------------------

// A history, another library's state and groups become the releases that they are.
json schedule(json const& question) {
  apps::schedule given;
  try {
    given = apps::parse_schedule(word(question, "text"));
  } catch (apps::bad_schedule const&) {
    throw;
  } catch (std::invalid_argument const& error) {
    throw apps::bad_schedule(std::string("text ") + error.what(), "text");
  }
  for (std::size_t k = 0; k < given.releases.size(); ++k) {
    // As the page keeps it, it would stay the same under other neighbours.
    if (!given.releases[k].of_neighbours) continue;
    throw apps::bad_schedule(
        given.releases[k].name +
            ".mechanism is one whose epsilon depends on the neighbours, but "
            "must be what it is under the page's own: pure, exponential or a profile",
        "mechanism", k);
  }
  run const what = checked_run(given);
  json releases = json::array();
  for (composed const& release : what.releases) releases.push_back(json(apps::as_json(release)));
  return {
      {"run", {{"adjacency", apps::word_of(what.neighbours)}, {"releases", std::move(releases)}}}};
}

// ---- attackers and nats -------------------------------------------------------------------------

// The ε with the same bound on an attacker who guesses a membership bit; for a secret that is harder to guess
// than a coin, the ε with the bound that these nats set on a fair bit.
double matched_epsilon(tacit::nats information, double success, double prior) {
  return prior >= 0.5 ? tacit::epsilon_for(success, prior)
                      : tacit::epsilon_for(tacit::attack_success(information, 0.5), 0.5);
}

json attack(json const& question) {
  double const prior = number(question, "prior", "in (0, 1]");
  if (question.contains("mi")) {
    tacit::nats const revealed(number(question, "mi", "finite and at least 0"));
    double const success = tacit::attack_success(revealed, prior);
    json out{{"success", upper_end(success)},
             {"epsilon", lower_end(matched_epsilon(revealed, success, prior))}};
    if (prior >= 0.5) {
      out["membership_success"] = upper_end(tacit::membership_success(revealed, prior));
    }
    return out;
  }
  tacit::approx_dp const guarantee{number(question, "epsilon", "finite and at least 0"),
                                   number(question, "delta", "in [0, 1]")};
  double const success = tacit::attack_success(guarantee, prior);
  return {{"success", upper_end(success)},
          {"mi", lower_end(tacit::information_for(success, prior).value)}};
}

json budget(json const& question) {
  double const success = number(question, "success", "in (0, 1]");
  double const prior = number(question, "prior", "in (0, 1]");
  tacit::nats const most = tacit::information_for(success, prior);
  return {{"mi", lower_end(most.value)},
          {"epsilon", lower_end(matched_epsilon(most, success, prior))}};
}

json version(json const&) { return {{"version", TACIT_VERSION}}; }

// ---- the door -----------------------------------------------------------------------------------

struct known_question {
  char const* word;
  json (*answer)(json const&);
};

constexpr known_question questions[] = {
    {"epsilon", epsilon},
    {"delta", delta},
    {"epsilons", epsilons},
    {"deltas", deltas},
    {"misses", misses},
    {"attack_on_run", attack_on_run},
    {"noise_multiplier", noise_multiplier},
    {"rate", rate},
    {"steps", steps},
    {"batch", batch},
    {"schedule", schedule},
    {"attack", attack},
    {"budget", budget},
    {"pac", pac_noise},
    {"version", version},
};

// `compose: rate is 1.5, but must be in [0, 1]` is about `rate`.
json refusal(std::string const& message) {
  json out{{"error", message}};
  std::size_t const is = message.find(" is ");
  if (is == std::string::npos || message.find(", but must be ", is) == std::string::npos)
    return out;
  std::size_t const colon = message.rfind(": ", is);
  std::size_t const from = colon == std::string::npos ? 0 : colon + 2;
  out["argument"] = message.substr(from, is - from);
  return out;
}

json answer(std::string const& text) {
  try {
    json const question = json::parse(text);
    std::string const asked = word(question, "ask");
    for (known_question const& q : questions) {
      if (asked == q.word) return q.answer(question);
    }
    refuse(question, "ask", "one of the known questions");
  } catch (apps::bad_schedule const& error) {
    json out{{"error", error.what()}};
    if (!error.argument.empty()) out["argument"] = error.argument;
    if (error.release) out["release"] = *error.release;
    return out;
  } catch (refused_release const& error) {
    json out = refusal(error.what());
    out["release"] = error.release;
    return out;
  } catch (std::bad_alloc const&) {
    return {{"error", "this question needs more memory than the page has"}};
  } catch (std::exception const& error) {
    return refusal(error.what());
  }
}

}  // namespace
}  // namespace page

char const* tacit_ask(char const* question) {
  static std::string kept;
  // Text that is no UTF-8 cannot stop an answer.
  kept = page::answer(question).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return kept.c_str();
}
