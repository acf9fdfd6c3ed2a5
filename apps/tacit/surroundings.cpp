// SPDX-License-Identifier: Apache-2.0
#include "surroundings.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

namespace calculator {

namespace {

void declare_repetitions(arguments& of) {
  of.add("--best-of", number("in [1e-3, 1e12]", [](double x) { return x >= 1e-3 && x <= 1e12; }),
         "the run is repeated, and only the best is released: the mean of the number of runs, "
         "which is drawn beforehand and kept secret");
  of.add("--best-of-law", one_of({"geometric", "logarithmic", "poisson"}),
         "of that number; geometric unless given");
}

std::optional<tacit::repetitions> read_repetitions(arguments const& of) {
  if (!of.given("--best-of")) {
    of.must_be_left_out({"--best-of-law"}, "unless --best-of is given");
    return std::nullopt;
  }
  double const mean = of.number("--best-of");
  std::string const law = of.given("--best-of-law") ? of.text("--best-of-law") : "geometric";
  if (law == "poisson") return tacit::poisson_count{mean};
  if (mean < 1.0) of.refuse("--best-of", "in [1, 1e12] unless --best-of-law is poisson");
  return tacit::repetitions_of_mean(mean, law == "geometric" ? 1.0 : 0.0);
}

std::string repetitions_in_words(std::optional<tacit::repetitions> const& times) {
  if (!times) return "";
  std::string const mean = exactly(tacit::mean_repetitions(*times));
  if (std::holds_alternative<tacit::poisson_count>(*times)) {
    return "the best of a Poisson number of runs of mean " + mean + ", each of ";
  }
  auto const& law = std::get<tacit::truncated_negative_binomial>(*times);
  return std::string("the best of a ") + (law.shape == 0.0 ? "logarithmic" : "geometric") +
         " number of runs of mean " + mean + " (gamma " + exactly(law.gamma) + "), each of ";
}

}  // namespace

void declare_surroundings(arguments& of) {
  of.add("--cap", whole(1, largest_count),
         "Poisson-sampled batches of more records are cut down to this many, by ranks that do not "
         "depend on what records contain, out of");
  of.add("--cap-records", whole(1, largest_count), "this many records");
  of.add("--drawn-once", probability(),
         "the whole run is on a secret sample that has each record with this probability, drawn "
         "once");
  declare_repetitions(of);
}

accounts accounts_by(method const& how, plan const& run, surroundings const& around) {
  accounts out{composed_by(how, run), {}};
  if (how.estimate || !around.cap) return out;
  std::vector<tacit::composed> const history = run.history();
  for (double const failure : tacit::told_failures) {
    std::optional<tacit::told_cuts> const told = tacit::tell_cuts(*around.cap, history, failure);
    if (!told) break;
    if (!out.others.empty() && told->failure == out.others.back().failure) continue;
    auto one = how.start(run.neighbours);
    try {
      for (tacit::composed const& what : told->releases) one->compose(what);
    } catch (std::logic_error const&) {  // not of batches of a fixed size
      break;
    }
    out.others.push_back({std::move(one), told->failure});
  }
  return out;
}

surroundings around(surroundings its, plan const& run) {
  if (its.cap) its.overflow = tacit::overflow(*its.cap, run.history());
  return its;
}

surroundings read_surroundings(arguments const& of, plan const& run) {
  surroundings out;
  if (of.given("--cap")) {
    out.cap = tacit::batch_cap{of.whole("--cap"), of.whole("--cap-records")};
    std::vector<tacit::composed> const history = run.history();
    if (std::none_of(history.begin(), history.end(), [](tacit::composed const& c) {
          return std::holds_alternative<tacit::poisson>(c.release.how);
        })) {
      of.must_be_left_out({"--cap"}, "unless records are sampled by Poisson");
    }
    out = around(std::move(out), run);
  } else {
    of.must_be_left_out({"--cap-records"}, "unless --cap is given");
  }
  if (of.given("--drawn-once")) {
    if (run.neighbours == tacit::adjacency::replace_one) {
      of.must_be_left_out({"--drawn-once"}, "for replace-one neighbours");
    }
    out.drawn_once = of.number("--drawn-once");
  }
  out.times = read_repetitions(of);
  return out;
}

std::string about(plan const& run, surroundings const& around) {
  std::string words = repetitions_in_words(around.times) + in_words(run);
  if (around.cap) {
    words += ", batches of at most " + std::to_string(around.cap->most) + " out of " +
             std::to_string(around.cap->records) + " records";
  }
  if (around.drawn_once) {
    words += ", all on a sample of rate " + exactly(*around.drawn_once) + " drawn once";
  }
  return words + ", " + in_words(run.neighbours) + " neighbours";
}

answer with_surroundings(answer out, surroundings const& around) {
  if (around.cap) {
    out.json["cap"] = {{"most", around.cap->most},
                       {"records", around.cap->records},
                       {"overflow", around.overflow}};
  }
  if (around.drawn_once) out.json["drawn_once"] = *around.drawn_once;
  auto const& times = around.times;
  if (!times) return out;
  nlohmann::ordered_json law{{"mean", tacit::mean_repetitions(*times)}};
  if (auto const* k = std::get_if<tacit::truncated_negative_binomial>(&*times)) {
    law["gamma"] = k->gamma;
    law["shape"] = k->shape;
  }
  out.json["best_of"] = law;
  return out;
}

}  // namespace calculator
