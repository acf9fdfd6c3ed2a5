// SPDX-License-Identifier: Apache-2.0
//
// The questions about (epsilon, delta).

#include <tacit/core/check.hpp>

#include "accountants.hpp"
#include "plan.hpp"
#include "strategy.hpp"
#include "surroundings.hpp"
#include "verbs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace calculator {

using tacit::approx_dp;
using tacit::bound;

namespace {

constexpr char const* bound_note =
    R"(The figure is an upper bound, and "lower" a lower end: of the run's own loss where the sampling
and the neighbours leave no slack, else of the accountant's bound on it. No finite epsilon is
1.7976931348623157e308, the largest double. gdp-clt is an estimate that may be too small, and has no
ends. docs/accountants.md says which accountant suits what, and has the format of --schedule.)";

// A sentence about one accountant's answer, and its JSON.
using answer_of = std::function<answer(method const&)>;

// The answer of one accountant; of all of them, the list, in which some may have none.
answer gathered(arguments const& of, std::string const& question, std::string const& about,
                answer_of const& ask, method const& unless_named = default_method()) {
  std::vector<method const*> const asked = chosen_methods(of, unless_named);
  if (asked.size() == 1) {
    answer one = ask(*asked.front());
    one.sentence = question + one.sentence + " by " + asked.front()->word + about;
    return one;
  }
  answer all{question, {{"accountants", nlohmann::ordered_json::array()}}};
  std::string refusals;
  bool answered = false;
  for (method const* m : asked) {
    nlohmann::ordered_json entry{{"accountant", m->word}};
    std::string words;
    try {
      answer const one = ask(*m);
      entry.update(one.json);
      words = one.sentence + " by " + m->word;
      answered = true;
    } catch (std::runtime_error const& error) {  // no bound, or none that could be computed
      entry["refused"] = error.what();
      words = std::string("none by ") + m->word;
      refusals += (refusals.empty() ? "" : "; ") + std::string(m->word) + ": " + error.what();
    }
    all.sentence += (m == asked.front() ? "" : ", ") + words;
    all.json["accountants"].push_back(std::move(entry));
  }
  if (!answered) throw bad_input("no accountant has an answer: " + refusals);
  all.sentence += about;
  return all;
}

// Where no mechanism attains the pair, its lower end is none of the run's, and words leave it out.
answer figure(char const* key, method const& how, bound<double> found, bool has_lower,
              std::string (*in_words)(double)) {
  double const upper = finite(found.upper);
  double const lower = finite(found.lower);
  if (how.estimate) {
    return {"about " + in_words(upper) + " (an estimate)",
            {{"accountant", how.word}, {key, upper}, {"estimate", true}}};
  }
  answer out{"at most " + in_words(upper) +
                 (has_lower && lower > 0.0 ? " (and at least " + rounded_down(lower) + ")" : ""),
             {{"accountant", how.word}, {key, upper}, {"lower", lower}, {"upper", upper}}};
  if (!has_lower) out.json["attained"] = false;
  return out;
}

void declare_epsilon(arguments& of) {
  declare_plan(of);
  declare_surroundings(of);
  of.add("--delta", open_probability(), "needed");
  declare_accountant(of);
}

answer run_epsilon(arguments const& of) {
  plan const run = read_plan(of);
  double const delta = of.number("--delta");
  surroundings const around = read_surroundings(of, run);
  auto const ask = [&](method const& m) {
    bound<double> const epsilon =
        asked(accounts_by(m, run, around), around, [&](auto const& a) { return a.epsilon(delta); });
    return figure("epsilon", m, epsilon, attained(run), epsilon_in_words);
  };
  return with_surroundings(
      gathered(of, "epsilon at delta " + exactly(delta) + " is ", ": " + about(run, around), ask),
      around);
}

void declare_delta(arguments& of) {
  declare_plan(of);
  declare_surroundings(of);
  of.add("--epsilon", non_negative(), "needed");
  declare_accountant(of);
}

answer run_delta(arguments const& of) {
  plan const run = read_plan(of);
  double const epsilon = of.number("--epsilon");
  surroundings const around = read_surroundings(of, run);
  auto const ask = [&](method const& m) {
    bound<double> const delta =
        asked(accounts_by(m, run, around), around, [&](auto const& a) { return a.delta(epsilon); });
    return figure("delta", m, delta, attained(run), rounded_up);
  };
  return with_surroundings(
      gathered(of, "delta at epsilon " + exactly(epsilon) + " is ", ": " + about(run, around), ask),
      around);
}

// ---- calibration --------------------------------------------------------------------------------

void declare_target(arguments& of) {
  of.add("--epsilon", non_negative(), "needed: the target");
  of.add("--delta", open_probability(), "needed: the target");
  declare_accountant(of);
}

approx_dp read_target(arguments const& of) {
  if (of.given("--accountant") && of.text("--accountant") == "gdp-clt") {
    of.refuse("--accountant", "one with a bound: an estimate cannot keep a target");
  }
  return {of.number("--epsilon"), of.number("--delta")};
}

std::string target_in_words(approx_dp target) {
  return "epsilon " + exactly(target.epsilon) + " at delta " + exactly(target.delta);
}

// What an accountant calibrates; what it cannot is bad input, with its reason.
template <class Solve>
auto solved(method const& how, Solve const& solve) {
  if (how.estimate) throw bad_input("an estimate cannot keep a target");
  try {
    return solve();
  } catch (tacit::infeasible const& error) {
    throw bad_input(error.what());
  } catch (std::logic_error const& error) {
    throw bad_input(error.what());
  }
}

// What an accountant found, of which neighbours.
nlohmann::ordered_json kept_by(method const& how, tacit::adjacency neighbours,
                               nlohmann::ordered_json found) {
  found.update({{"accountant", how.word}, {"adjacency", in_words(neighbours)}});
  return found;
}

plan one_release(tacit::adjacency neighbours, tacit::event const& release, std::uint64_t count,
                 std::optional<std::uint64_t> batches = std::nullopt) {
  plan run{neighbours, {{{release, count}, ""}}};
  run.batches = batches;
  return run;
}

void declare_noise(arguments& of) {
  declare_plan(of, {.noise = false, .schedule = false});
  declare_surroundings(of);
  declare_target(of);
}

answer run_noise(arguments const& of) {
  approx_dp const target = read_target(of);
  tacit::adjacency const neighbours = read_adjacency(of);
  tacit::sampling const how = read_sampling(of);
  std::uint64_t const persons = read_records_per_person(of);
  std::uint64_t const steps = read_steps(of);
  std::optional<std::uint64_t> const batches = read_shuffled_batches(of);
  if (batches) of.must_be_left_out({"--clip-count-noise"}, "where --shuffle is given");
  auto const with_noise = [&](double multiplier) {
    tacit::event const release = sampled(read_mechanism(of, multiplier), how);
    return one_release(neighbours, by_person(release, persons), steps, batches);
  };
  auto const history = [&](double multiplier) { return with_noise(multiplier).history(); };
  surroundings const its = read_surroundings(of, with_noise(1.0));
  std::string const count =
      of.given("--clip-count-noise")
          ? " beside a clip count of noise " + exactly(of.number("--clip-count-noise"))
          : "";
  std::string const run = count_in_words(steps, how) + ", " + in_words(how, batches);
  auto const found_by = [&](method const& m) {
    if (!its.none()) {
      return apps::answered_noise(end_around(m, target, with_noise, its, tacit::noise_sought,
                                             "no noise multiplier up to 1e300"));
    }
    return batches && m.shuffled != nullptr ? m.shuffled->noise(target, *batches, steps, neighbours)
                                            : m.noise(target, history, neighbours);
  };
  return gathered(of, "a noise multiplier of ",
                  count + " keeps " + target_in_words(target) + ": " + words_around(its, run) +
                      ", " + in_words(neighbours) + " neighbours",
                  [&](method const& m) -> answer {
                    double const sigma = solved(m, [&] { return found_by(m); });
                    return with_surroundings(
                        {rounded_up(sigma), kept_by(m, neighbours, {{"noise_multiplier", sigma}})},
                        around(its, with_noise(sigma)));
                  });
}

void declare_steps(arguments& of) {
  declare_plan(of, {.steps = false, .schedule = false});
  declare_surroundings(of);
  declare_target(of);
}

answer run_steps(arguments const& of) {
  approx_dp const target = read_target(of);
  tacit::adjacency const neighbours = read_adjacency(of);
  tacit::event const release =
      by_person(sampled(read_mechanism(of, of.number("--noise-multiplier")), read_sampling(of)),
                read_records_per_person(of));
  of.must_be_left_out({"--epochs"}, "where they are asked for");
  std::optional<std::uint64_t> const batches = read_shuffled_batches(of);
  auto const with_count = [&](double count) {
    return one_release(neighbours, release, static_cast<std::uint64_t>(count), batches);
  };
  surroundings const its = read_surroundings(of, with_count(1.0));
  auto const found_by = [&](method const& m) {
    if (!its.none()) {
      bool const in_epochs = count_in_words(1, release.how) == "1 epoch";
      return static_cast<std::uint64_t>(
          end_around(m, target, with_count, its,
                     tacit::count_sought(tacit::most_steps_sought, in_epochs ? 10.0 : 1000.0),
                     in_epochs ? "not even one epoch" : "not even one step"));
    }
    if (!batches || m.shuffled == nullptr) return m.steps(target, release, neighbours);
    return m.shuffled->epochs(target, std::get<tacit::gaussian>(release.what), *batches,
                              neighbours);
  };
  std::string const each = in_words(release.what) + ", " + in_words(release.how, batches);
  return gathered(
      of, target_in_words(target) + " allows at most ",
      ": " + words_around(its, each, "each with") + ", " + in_words(neighbours) + " neighbours",
      [&](method const& m) -> answer {
        std::uint64_t const steps = solved(m, [&] { return found_by(m); });
        bool const all = static_cast<double>(steps) >= tacit::most_steps_sought;
        return with_surroundings(
            {count_in_words(steps, release.how) + (all ? " (the most that are looked for)" : ""),
             kept_by(m, neighbours, {{"steps", steps}})},
            around(its, with_count(static_cast<double>(steps))));
      });
}

void declare_rate(arguments& of) {
  declare_plan(of, {.sampling = false, .schedule = false});
  declare_surroundings(of);
  declare_target(of);
}

answer run_rate(arguments const& of) {
  approx_dp const target = read_target(of);
  tacit::adjacency const neighbours = read_adjacency(of);
  tacit::mechanism_event const mechanism = read_mechanism(of, of.number("--noise-multiplier"));
  std::uint64_t const persons = read_records_per_person(of);
  std::uint64_t const steps = of.whole("--steps");
  std::uint64_t const records = of.whole("--records", 0);
  double const most = static_cast<double>(records);
  auto const sampled_so = [&](tacit::sampling const& how) {
    return one_release(neighbours, by_person(sampled(mechanism, how), persons), steps);
  };
  auto const with_rate = [&](double x) { return sampled_so(tacit::poisson{x}); };
  auto const with_batch = [&](double n) {
    return sampled_so(tacit::fixed_size{static_cast<std::uint64_t>(n), records});
  };
  surroundings const its = read_surroundings(of, records == 0 ? with_rate(0.01) : with_batch(1.0));
  std::string const run = count_in_words(steps, tacit::unsampled{}) + ", " + in_words(mechanism);
  return gathered(
      of, records == 0 ? "a Poisson rate of " : "fixed-size batches of ",
      " keeps " + target_in_words(target) + ": " + words_around(its, run) + ", " +
          in_words(neighbours) + " neighbours",
      [&](method const& m) -> answer {
        if (records == 0) {
          double const rate = solved(m, [&] {
            return its.none()
                       ? m.rate(
                             target, [&](double x) { return with_rate(x).history(); }, neighbours)
                       : end_around(m, target, with_rate, its, tacit::rate_sought,
                                    "not even a rate of 1e-12");
          });
          return with_surroundings({rounded_down(rate), kept_by(m, neighbours, {{"rate", rate}})},
                                   around(its, with_rate(rate)));
        }
        std::uint64_t const batch = solved(m, [&] {
          if (!its.none()) {
            return static_cast<std::uint64_t>(end_around(m, target, with_batch, its,
                                                         tacit::batch_sought(most),
                                                         "not even a batch of one record"));
          }
          return m.batch(
              target, [&](std::uint64_t n) { return with_batch(static_cast<double>(n)).history(); },
              records, neighbours);
        });
        double const rate = tacit::fixed_size{batch, records}.rate();
        return with_surroundings(
            {std::to_string(batch) + " out of " + std::to_string(records) + " records",
             kept_by(m, neighbours, {{"rate", rate}, {"batch", batch}})},
            around(its, with_batch(static_cast<double>(batch))));
      });
}

// ---- matrix mechanisms --------------------------------------------------------------------------

void declare_matrix(arguments& of) {
  declare_matrix_plan(of);
  of.add("--noise-multiplier", number(apps::noise_range, apps::in_noise_range),
         "standard deviation of the noise on Cx over the clipping norm: asks for epsilon; or");
  of.add("--epsilon", non_negative(), "asks for the least noise that keeps it");
  of.add("--delta", open_probability(), "needed");
  of.add("--adjacency", one_of({"add-remove", "replace-one", "zero-out"}),
         "as tacit epsilon; add-remove unless given");
  declare_accountant(of);
}

answer with_error(answer out, matrix_plan const& run, double noise_multiplier) {
  double const variance = noise_multiplier * noise_multiplier;
  if (run.error) {
    out.json["mean_squared_error"] = run.error->mean * variance;
    out.json["largest_squared_error"] = run.error->largest * variance;
  }
  out.json["releases"] = nlohmann::ordered_json::array();
  for (tacit::composed const& entry : run.releases(noise_multiplier)) {
    out.json["releases"].push_back(as_json(entry));
    out.json["releases"].back()["attained"] = false;  // a bound on what the matrix releases
  }
  return out;
}

answer run_matrix(arguments const& of) {
  tacit::adjacency const neighbours = read_adjacency(of);
  be_patient(of);  // a strategy alone may take seconds
  matrix_plan const run = read_matrix_plan(of, neighbours);
  method const& unless_named = run.by_divergences ? divergence_method() : default_method();
  double const delta = of.number("--delta");
  std::string const about = run.words + ", " + in_words(neighbours) + " neighbours";
  if (of.given("--noise-multiplier")) {
    of.must_be_left_out({"--epsilon"}, "where --noise-multiplier is given");
    double const noise = of.number("--noise-multiplier");
    plan asked{neighbours, {}};
    for (tacit::composed const& entry : run.releases(noise)) asked.releases.push_back({entry, ""});
    return gathered(
        of, "epsilon at delta " + exactly(delta) + " is ",
        ": noise of multiplier " + exactly(noise) + ", " + about,
        [&](method const& m) {
          bound<double> const epsilon = composed_by(m, asked)->epsilon(delta);
          return with_error(figure("epsilon", m, epsilon, false, epsilon_in_words), run, noise);
        },
        unless_named);
  }
  if (!of.given("--epsilon")) {
    of.refuse("--noise-multiplier", of.must_be("--noise-multiplier") + ", or --epsilon be given");
  }
  approx_dp const target = read_target(of);
  auto const history = [&](double noise) { return run.releases(noise); };
  return gathered(
      of, "a noise multiplier of ", " keeps " + target_in_words(target) + ": " + about,
      [&](method const& m) -> answer {
        double const noise = solved(m, [&] { return m.noise(target, history, neighbours); });
        return with_error(
            {rounded_up(noise), kept_by(m, neighbours, {{"noise_multiplier", noise}})}, run, noise);
      },
      unless_named);
}

constexpr char const* target_note =
    R"(The printed value keeps the target, as the accountant itself confirms: noise and rates are within
1e-6 of the best for the accountant, steps and batches the best. The sentence rounds to the same side.
--cap, --drawn-once and --best-of are around every run that is tried; the answer repeats them, and of a cap says how
probable it is, at most, that any batch of the run that was found is larger ("overflow").)";

}  // namespace

verb epsilon() {
  return {"epsilon", "Epsilon of these releases at a delta", bound_note, declare_epsilon,
          run_epsilon};
}

verb delta() {
  return {"delta", "Delta of these releases at an epsilon", bound_note, declare_delta, run_delta};
}

verb noise() {
  return {"noise", "The least noise that keeps (epsilon, delta)", target_note, declare_noise,
          run_noise};
}

verb steps() {
  return {"steps", "The most steps that keep (epsilon, delta)", target_note, declare_steps,
          run_steps};
}

verb rate() {
  return {"rate", "The largest sampling rate, or batch, that keeps (epsilon, delta)", target_note,
          declare_rate, run_rate};
}

verb matrix() {
  return {
      "matrix", "Epsilon, or noise, of a matrix mechanism: DP-FTRL with correlated noise",
      R"(A run releases Cx + N(0, (noise-multiplier * clipping norm)^2), x being the sums of its steps. Cyclic Poisson
samples and bins amplify where C has no more bands than there are groups, or bins; --separation with --rate where it
has no more than that, and --bins with --nested for any number of bands, both by --accountant rdp alone, which is asked
unless another is; the draws are secret.
  mean_squared_error, largest_squared_error   of the prefix sums, in clipping norms: estimates, for up to 1e9
                                              steps * bands
  releases                                    the same run as --schedule of tacit epsilon has it
docs/accountants.md explains; docs/certificates/matrix.md has the proofs.)",
      declare_matrix, run_matrix};
}

}  // namespace calculator
