// SPDX-License-Identifier: Apache-2.0
#include "surroundings.hpp"

#include <tacit/dp/calibration.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
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
  of.add(
      "--best-of-shape", number("in (-1, 1000]", [](double x) { return x > -1.0 && x <= 1000.0; }),
      "in its place: the number is of the truncated negative binomial law of this shape, of which "
      "1 is geometric and 0 logarithmic");
}

std::optional<tacit::repetitions> read_repetitions(arguments const& of) {
  if (!of.given("--best-of")) {
    of.must_be_left_out({"--best-of-law", "--best-of-shape"}, "unless --best-of is given");
    return std::nullopt;
  }
  double const mean = of.number("--best-of");
  if (of.given("--best-of-shape")) {
    of.must_be_left_out({"--best-of-law"}, "where --best-of-shape is given");
    if (mean < 1.0) of.refuse("--best-of", "in [1, 1e12] unless --best-of-law is poisson");
    return tacit::repetitions_of_mean(mean, of.number("--best-of-shape"));
  }
  std::string const law = of.given("--best-of-law") ? of.text("--best-of-law") : "geometric";
  if (law == "poisson") return tacit::poisson_count{mean};
  if (mean < 1.0) of.refuse("--best-of", "in [1, 1e12] unless --best-of-law is poisson");
  return tacit::repetitions_of_mean(mean, law == "geometric" ? 1.0 : 0.0);
}

std::string repetitions_in_words(tacit::repetitions const& times) {
  std::string const mean = exactly(tacit::mean_repetitions(times));
  if (std::holds_alternative<tacit::poisson_count>(times)) {
    return "the best of a Poisson number of runs of mean " + mean;
  }
  auto const& law = std::get<tacit::truncated_negative_binomial>(times);
  bool const is_named = law.shape == 0.0 || law.shape == 1.0;
  return std::string("the best of a ") +
         (law.shape == 0.0   ? "logarithmic"
          : law.shape == 1.0 ? "geometric"
                             : "truncated negative binomial") +
         " number of runs of mean " + mean + " (gamma " + exactly(law.gamma) +
         (is_named ? "" : ", shape " + exactly(law.shape)) + ")";
}

std::string cap_in_words(tacit::batch_cap cap) {
  return "batches of at most " + std::to_string(cap.most) + " out of " +
         std::to_string(cap.records) + " records, cut by ranks";
}

std::string sample_in_words(surroundings const& around) {
  return (around.fixed_share ? "all on a sample of the share " : "all on a sample of rate ") +
         exactly(*around.drawn_once) + (around.fixed_share ? " of the records" : "") +
         " drawn once";
}

// Only bounds are known of the best of several runs and of capped batches. An estimate put into one is neither.
void refuse_estimate(method const& how, surroundings const& around) {
  char const* const option = around.times ? "--best-of" : around.cap ? "--cap" : nullptr;
  if (!how.estimate || option == nullptr) return;
  throw bad_input(std::string("--accountant is ") + how.word +
                  ", but must be one with a bound where " + option +
                  " is given: a bound on that needs one on the run itself");
}

}  // namespace

void declare_surroundings(arguments& of) {
  of.add(
      "--cap", whole(1, largest_count),
      "batches of random size (--rate, --allocate) of more records are cut down to this many, by "
      "ranks that do not depend on what records contain, out of");
  of.add("--cap-records", whole(1, largest_count), "this many records");
  of.add("--drawn-once", probability(),
         "the whole run is on a secret sample that has each record with this probability, drawn "
         "once; for replace-one neighbours of a fixed size, this share of the records");
  declare_repetitions(of);
}

std::vector<std::string> const& surroundings_names() {
  static std::vector<std::string> const all{"--cap",     "--cap-records", "--drawn-once",
                                            "--best-of", "--best-of-law", "--best-of-shape"};
  return all;
}

accounts accounts_by(method const& how, plan const& run, surroundings const& around) {
  refuse_estimate(how, around);
  accounts out{composed_by(how, run), {}};
  if (how.estimate || !around.cap) return out;
  out.tell_cuts(*around.cap, run.history(), [&] { return how.start(run.neighbours); });
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
    if (std::any_of(run.releases.begin(), run.releases.end(),
                    [](plan::entry const& e) { return e.run != nullptr; })) {
      of.must_be_left_out({"--cap"},
                          "where a release of the schedule is itself a run, whose batches a cap of "
                          "its own cuts");
    }
    if (!apps::has_random_batches(run.history())) {
      of.must_be_left_out({"--cap"},
                          "unless records are sampled by Poisson or allocated at random: other "
                          "batches have one size");
    }
    out = around(std::move(out), run);
  } else {
    of.must_be_left_out({"--cap-records"}, "unless --cap is given");
  }
  if (of.given("--drawn-once")) {
    out.drawn_once = of.number("--drawn-once");
    out.fixed_share = run.neighbours == tacit::adjacency::replace_one;
  }
  out.times = read_repetitions(of);
  return out;
}

std::string words_around(surroundings const& around, std::string const& run, char const* each) {
  std::string words;
  if (around.times) words = repetitions_in_words(*around.times) + ", " + each + " ";
  words += run;
  if (around.cap) words += ", " + cap_in_words(*around.cap);
  if (around.drawn_once) {
    words += ", " + sample_in_words(around);
  }
  return words;
}

std::string about(plan const& run, surroundings const& around) {
  return words_around(around, in_words(run)) + ", " + in_words(run.neighbours) + " neighbours";
}

std::vector<std::string> releases_around(surroundings const& around) {
  std::vector<std::string> all;
  if (around.cap) all.push_back("with " + cap_in_words(*around.cap));
  if (around.drawn_once) {
    all.push_back(sample_in_words(around));
  }
  if (around.times) {
    all.push_back("of all this, only " + repetitions_in_words(*around.times));
  }
  return all;
}

std::vector<std::string> assumptions_around(surroundings const& around) {
  std::vector<std::string> all;
  if (around.cap) {
    std::string const most = std::to_string(around.cap->most);
    all.push_back("A batch of more than " + most + " records is cut down to " + most +
                  ", by ranks that do not depend on what records contain; no data set has more "
                  "than " +
                  std::to_string(around.cap->records) + " records.");
  }
  if (around.drawn_once) {
    all.emplace_back(
        around.fixed_share
            ? "The whole run is on one sample of the records, drawn before it, uniformly among "
              "those that have the stated share of them; who is in it stays secret."
            : "The whole run is on one sample of the records, drawn before it, which has each of "
              "them independently with the stated rate; who is in it stays secret.");
  }
  if (around.times) {
    all.emplace_back(
        "The number of runs is drawn from the named law before the first of them, and stays "
        "secret. The releases listed are those of one run and include its score, by which the "
        "best is chosen. No run depends on what another one showed.");
  }
  return all;
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

namespace {

// A run and what is around it, as a search asks for it.
class surrounded_run {
 public:
  surrounded_run(method const& how, plan const& run, surroundings const& its)
      : its_(around(its, run)), all_(accounts_by(how, run, its_)) {}

  tacit::bound<double> epsilon(double delta) const {
    return asked(all_, its_, [&](auto const& one) { return one.epsilon(delta); });
  }
  tacit::bound<double> delta(double epsilon) const {
    return asked(all_, its_, [&](auto const& one) { return one.delta(epsilon); });
  }

 private:
  surroundings its_;
  accounts all_;
};

}  // namespace

double end_around(method const& how, tacit::approx_dp target,
                  std::function<plan(double)> const& run, surroundings const& around,
                  tacit::quantity const& sought, char const* safest) {
  try {
    return tacit::calibrate(
        target, [&](double x) { return surrounded_run(how, run(x), around); }, sought,
        tacit::unlimited_effort);
  } catch (tacit::infeasible const&) {
    throw tacit::infeasible(std::string(safest) + " keeps epsilon " + exactly(target.epsilon) +
                            " at delta " + exactly(target.delta) + " by the " + how.word +
                            " accountant");
  }
}

}  // namespace calculator
