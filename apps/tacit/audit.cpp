// SPDX-License-Identifier: Apache-2.0
//
// What a transcript proves by itself, and what it proves together with the universe of records.

#include <tacit/dp/mi_dp.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/mechanism/dp_zo_laplace.hpp>
#include <tacit/mechanism/mezo.hpp>
#include <tacit/mechanism/noisy_sum.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/quantised.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>

#include "accountants.hpp"
#include "output/format.hpp"
#include "output/progress.hpp"
#include "training/data.hpp"
#include "training/paczero_run.hpp"
#include "training/recorded.hpp"
#include "transcripts.hpp"
#include "verbs.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace calculator {

namespace {

using tacit::run_record;
using tacit::symbol_kind;
using tacit::transcript;

/// A transcript that its mechanism cannot have written.
struct broken_rule : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void must(bool holds, std::string const& what) {
  if (!holds) throw broken_rule(what);
}

void check_steps(transcript const& run, std::uint64_t declared) {
  must(run.steps() <= declared, std::to_string(run.steps()) + " steps, but at most " +
                                    std::to_string(declared) + " were declared");
}

/// Signs of ±1/K, held or not.
void check_signs(run_record const& record) {
  must(record.symbols != symbol_kind::scalar,
       "scalars, but " + record.mechanism.name + " releases signs");
  double const unit = 1.0 / static_cast<double>(record.directions);
  must(record.magnitude == unit,
       "signs of " + exactly(record.magnitude) + ", but must be " + exactly(unit));
}

// ---- the universe ---------------------------------------------------------------------------------

/// What the transcript has for the step that a mechanism is about to take.
struct published_step {
  std::span<double const> coefficients;
  std::function<std::size_t()> direction;  // that the mechanism is at
};

/// Stands where the secret stream stood, so that the very code that ran decides again what it pays,
/// and what it believes afterwards: where that code would draw, the published sign is taken instead.
class published_signs {
 public:
  explicit published_signs(published_step const& step) : step_(&step) {}

  std::uint64_t next() { throw std::logic_error("audit: a draw that no published sign answers"); }

  tacit::sign taken() const {
    double const y = step_->coefficients[step_->direction()];
    must(y != 0.0, "nothing was released where the rule releases a sign");
    return y > 0.0 ? tacit::sign::plus : tacit::sign::minus;
  }

 private:
  published_step const* step_;
};

// Found by argument-dependent lookup, before the draws from a secret.
std::uint64_t uniform_below(published_signs&, std::uint64_t) { return 0; }
bool bernoulli(published_signs& from, double) { return from.taken() == tacit::sign::plus; }
tacit::drawn_sign draw(tacit::paid<tacit::sign_channel>&& payment, tacit::sign,
                       published_signs& from) {
  return {from.taken(), std::move(payment).redeem().noise};
}
tacit::drawn_value draw(tacit::paid<tacit::binary_channel>&&, tacit::sign, published_signs&) {
  throw std::logic_error("audit: the value behind a sign was never published");
}

/// A mechanism that must release what the transcript says.
template <class Mechanism>
class compared {
 public:
  compared(Mechanism& mechanism, transcript const& with, published_step& now)
      : mechanism_(&mechanism), with_(&with), now_(&now) {}

  std::size_t records() const { return mechanism_->records(); }
  std::size_t directions() const { return mechanism_->directions(); }
  std::size_t steps() const { return mechanism_->steps(); }
  bool done() const { return steps() == with_->steps(); }

  tacit::release step(std::span<double const> scalars) {
    std::size_t const t = steps();
    std::string const where = "step " + std::to_string(t) + ": ";
    now_->coefficients = with_->step(t);
    tacit::release made;
    try {
      made = mechanism_->step(scalars);
    } catch (broken_rule const& error) {
      throw broken_rule(where + error.what());
    }
    for (std::size_t k = 0; k < directions(); ++k) {
      must(made.coefficients[k] == now_->coefficients[k], where + exactly(now_->coefficients[k]) +
                                                              " was released, but the rule gives " +
                                                              exactly(made.coefficients[k]));
    }
    return made;
  }

 private:
  Mechanism* mechanism_;
  transcript const* with_;
  published_step* now_;
};

/// Takes all steps of the run again, with the losses of the records of `job`.
template <class Mechanism>
void retrace(apps::task const& job, transcript const& run, Mechanism& mechanism,
             published_step& now) {
  std::vector<float> theta = job.start;
  apps::batch_loss loss(job.shape, job.data.private_part);
  compared same(mechanism, run, now);
  tacit::trainer again{same, run.run().training, theta};
  std::optional<apps::progress_bar> bar;
  if (::isatty(STDERR_FILENO) != 0) bar.emplace(run.steps());
  while (!again.done()) {
    again.step(loss);
    if (bar) bar->advance(1);
  }
}

// Of a group the state in each subset is kept: four bytes each.
constexpr std::size_t most_group_states = 100'000'000;

// ---- the mechanisms -------------------------------------------------------------------------------

answer public_paczero(transcript const& run, arguments const& of) {
  of.must_be_left_out({"--delta"}, "for paczero, whose guarantee has none");
  auto const [o, shape, seed] = paczero_described(run.run().mechanism, run.run().directions);
  check_signs(run.run());
  check_steps(run, o.steps);
  double const kept = 1.0 / static_cast<double>(shape.one_in);
  double const bound = attack_bound(o, shape.one_in);
  std::string const word(tacit::detail::ledger_words[static_cast<std::size_t>(o.ledger)]);
  bool const pathwise = o.ledger == tacit::ledger_kind::pathwise;
  answer out{"", {{"ledger", word}}};
  if (!pathwise) {
    out.json["mi"] = o.budget.value;
    out.sentence =
        "at most " + rounded_up(o.budget.value) + " nats about " +
        (o.ledger == tacit::ledger_kind::subset ? "the secret subset" : "one record's membership") +
        "; ";
  }
  if (!o.groups.empty()) {
    out.json["groups"] = o.groups.size();
    out.json["group_mi"] = o.group_budget.value;
    out.sentence += "at most " + rounded_up(o.group_budget.value) + " nats about each of " +
                    std::to_string(o.groups.size()) + " groups; ";
  }
  if (o.caps_posteriors()) {
    out.json["kappa"] = o.kappa;
    out.sentence +=
        "beliefs about a record stay within " + exactly(kept) + " +- " + exactly(o.kappa) + "; ";
  }
  out.json["attack_bound"] = bound;
  out.sentence +=
      "an attacker on membership is right with probability at most " + rounded_up(bound);
  if (!pathwise) out.sentence += " on average";
  return out;
}

answer universe_paczero(transcript const& run, apps::task const& job, arguments const& of) {
  auto [o, shape, seed] = paczero_described(run.run().mechanism, run.run().directions);
  if (shape.records != job.data.private_part.size() || shape.subsets > 1'000'000) {
    of.refuse("--universe", "the table of the run, of which " + std::to_string(shape.records) +
                                " records trained");
  }
  if (o.what == tacit::observed::value) {
    of.refuse("--universe",
              "left out where an attacker is taken to see values: they are not in "
              "the transcript, so that no charge can be computed again");
  }
  if (o.groups.size() * shape.subsets > most_group_states) {
    of.refuse("--universe", "left out for so many groups of so many subsets");
  }
  o.track_records = o.ledger != tacit::ledger_kind::pathwise;
  published_step now{};
  tacit::paczero<published_signs> mechanism(o, tacit::candidate_set::balanced(shape, seed),
                                            published_signs(now));
  now.direction = [&] { return mechanism.last().size(); };  // a report for each that is done
  retrace(job, run, mechanism, now);
  auto const seen = mechanism.belief().exposed(mechanism.candidates());
  double const spent = mechanism.spent().value;
  double const worst = mechanism.spent_worst_record().value;
  double const all = static_cast<double>(std::max<std::size_t>(run.steps(), 1) * o.directions);
  answer out{
      rounded_up(spent) + " nats were charged, " + rounded_up(worst) + " to the worst record",
      {{"mi_spent", spent}, {"mi_spent_worst_record", worst}}};
  if (auto const groups = mechanism.spent_by_group(); !groups.empty()) {
    double const most = *std::max_element(groups.begin(), groups.end());
    out.sentence += ", " + rounded_up(most) + " to the worst group";
    out.json["mi_spent_worst_group"] = most;
  }
  out.sentence += "; an attacker who knows all but the half is right with probability " +
                  rounded_up(seen.mean) + " on these releases";
  out.json["attack_achieved"] = seen.mean;
  out.json["unanimity"] = static_cast<double>(mechanism.unanimous_steps()) / all;
  return out;
}

answer public_mezo(transcript const& run, arguments const& of) {
  of.must_be_left_out({"--delta"}, "for mezo, which has no guarantee");
  auto const [o, records] = mezo_described(run.run().mechanism, run.run().directions);
  bool const scalar = o.what == tacit::surrogate::raw || o.what == tacit::surrogate::half_raw;
  if (scalar) {
    must(run.run().symbols == symbol_kind::scalar, "signs, but mezo releases means");
    double const most = o.clip / static_cast<double>(o.directions);
    for (std::size_t t = 0; t < run.steps(); ++t) {
      for (double const y : run.step(t)) {
        must(std::fabs(y) <= most, "step " + std::to_string(t) + ": " + exactly(y) +
                                       " was released, but a mean is at most " + exactly(most));
      }
    }
  } else {
    check_signs(run.run());
  }
  if (o.steps != 0) check_steps(run, o.steps);
  if (o.what == tacit::surrogate::random_sign) {
    return {"the releases are coins, which reveal nothing", {{"mi", 0.0}, {"attack_bound", 0.5}}};
  }
  return {"nothing is protected", {{"attack_bound", 1.0}}};
}

answer universe_mezo(transcript const& run, apps::task const& job, arguments const& of) {
  auto const [o, records] = mezo_described(run.run().mechanism, run.run().directions);
  if (records != job.data.private_part.size()) {
    of.refuse("--universe",
              "the table of the run, of which " + std::to_string(records) + " records trained");
  }
  if (o.what != tacit::surrogate::raw && o.what != tacit::surrogate::full_sign) {
    of.refuse("--universe", "left out where releases are drawn: none can be computed again");
  }
  published_step now{};
  tacit::mezo<> mechanism(o, records);
  retrace(job, run, mechanism, now);
  return {"every release is that of these records", nlohmann::ordered_json::object()};
}

answer epsilon_of(tacit::event const& release, std::uint64_t steps, arguments const& of) {
  double const delta = of.number("--delta");
  auto const account = default_method().start(tacit::adjacency::add_remove);
  account->compose(release, steps);
  tacit::bound<double> const epsilon = account->epsilon(delta);
  double const success = account->attack_success(0.5);
  return {"epsilon is at most " + epsilon_in_words(finite(epsilon.upper)) + " at delta " +
              exactly(delta) +
              ", add-remove neighbours; an attacker on membership is right with "
              "probability at most " +
              rounded_up(success),
          {{"epsilon", finite(epsilon.upper)}, {"delta", delta}, {"attack_bound", success}}};
}

answer public_gaussian(transcript const& run, arguments const& of) {
  tacit::parameter_reader in(run.run().mechanism);
  std::uint64_t const steps = in.whole("steps");
  double const noise = in.real("noise_multiplier");
  double const rate = in.real("rate");
  in.finish();
  tacit::detail::check_positive("gaussian", "noise_multiplier", noise);
  tacit::detail::check_probability("gaussian", "rate", rate);
  must(run.run().symbols == symbol_kind::scalar, "signs, but gaussian releases scalars");
  check_steps(run, steps);
  return epsilon_of(
      sampled(tacit::gaussian{.noise_multiplier = noise}, tacit::poisson{.rate = rate}), steps, of);
}

/// The options, once the releases are seen to be sums of whole numbers, as those of this mechanism are.
tacit::noisy_sum_options noisy_sum_of(transcript const& run) {
  tacit::noisy_sum_options const o = noisy_sum_described(run.run().mechanism).options;
  must(run.run().symbols == symbol_kind::scalar,
       "signs, but " + run.run().mechanism.name + " releases scalars");
  check_steps(run, o.steps);
  double const unit = tacit::contribution_grid{o.clip}.quantum() / o.divisor();
  for (std::size_t t = 0; t < run.steps(); ++t) {
    for (double const y : run.step(t)) {
      must(y == std::nearbyint(y / unit) * unit, "step " + std::to_string(t) + ": " + exactly(y) +
                                                     " was released, which is not on the grid of " +
                                                     exactly(unit));
    }
  }
  return o;
}

answer public_dpzero(transcript const& run, arguments const& of) {
  tacit::noisy_sum_options const o = noisy_sum_of(run);
  must(run.run().directions == 1, "several directions, but dpzero has one");
  return epsilon_of(o.gaussian_event(), o.steps, of);
}

answer public_dp_aggzo(transcript const& run, arguments const& of) {
  tacit::noisy_sum_options const o = noisy_sum_of(run);
  return epsilon_of(o.gaussian_event(), o.steps, of);
}

answer public_dp_zo_laplace(transcript const& run, arguments const& of) {
  tacit::noisy_sum_options const o = noisy_sum_of(run);
  must(run.run().directions == 1, "several directions, but dp_zo_laplace has one");
  return epsilon_of(tacit::dp_zo_laplace_event(o.noise_multiplier, o.rate), o.steps, of);
}

answer public_ferret(transcript const& run, arguments const& of) {
  of.must_be_left_out({"--delta"}, "for ferret, whose guarantee has none");
  tacit::parameter_reader in(run.run().mechanism);
  tacit::ferret const what{.groups = in.whole("groups"),
                           .steps = in.whole("steps"),
                           .rate = in.real("rate"),
                           .probability = in.real("probability")};
  in.finish();
  check_signs(run.run());
  must(run.run().directions == what.groups, std::to_string(run.run().directions) +
                                                " coefficients a step, but there are " +
                                                std::to_string(what.groups) + " groups");
  check_steps(run, what.steps);
  tacit::nats const revealed = mutual_information_bound(what);
  double const bound = tacit::membership_success(revealed);
  return {"at most " + rounded_up(revealed.value) +
              " nats about a record; an attacker on membership is right with probability at most " +
              rounded_up(bound) + " on average",
          {{"mi", revealed.value}, {"attack_bound", bound}}};
}

/// Whose transcripts are understood. A mechanism of another name has no guarantee here.
struct audited_mechanism {
  char const* name;
  answer (*from_public)(transcript const&, arguments const&);
  answer (*from_universe)(transcript const&, apps::task const&, arguments const&);
};

constexpr std::array<audited_mechanism, 7> audited{{
    {"paczero", public_paczero, universe_paczero},
    {"mezo", public_mezo, universe_mezo},
    {"dpzero", public_dpzero, nullptr},
    {"dp_aggzo", public_dp_aggzo, nullptr},
    {"dp_zo_laplace", public_dp_zo_laplace, nullptr},
    {"gaussian", public_gaussian, nullptr},
    {"ferret", public_ferret, nullptr},
}};

apps::task task_of(arguments const& of, run_record const& record) {
  apps::task job;
  try {
    job = apps::prepare(apps::load_csv(of.text("--universe")), record.training.seed);
    std::vector<float> start = job.start;
    check_start(apps::named_tensors(job.shape.tensors(), start), record);
  } catch (std::runtime_error const& error) {
    of.refuse_because("--universe", error);
  } catch (std::invalid_argument const& error) {
    of.refuse_because("--universe", error);
  }
  return job;
}

constexpr std::size_t most_directions = 1000;

void declare_audit(arguments& of) {
  declare_transcript(of);
  of.add("--universe", input_file("the table that tacit train was given"),
         "replay the losses and the charges too, step by step");
  of.add("--delta", open_probability(), "for transcripts whose guarantee is (epsilon, delta)");
}

answer run_audit(arguments const& of) {
  transcript const run = read_transcript(of);
  run_record const& record = run.run();
  auto const how = std::find_if(audited.begin(), audited.end(),
                                [&](auto const& m) { return m.name == record.mechanism.name; });
  if (how == audited.end()) {
    std::vector<std::string> names;
    for (audited_mechanism const& m : audited) names.emplace_back(m.name);
    of.refuse("TRANSCRIPT", "one of " + apps::joined(names) + ", not of " +
                                tacit::detail::to_word(record.mechanism.name));
  }
  bool const universe = of.given("--universe");
  if (universe && how->from_universe == nullptr) {
    of.must_be_left_out({"--universe"}, "with the mechanism " + record.mechanism.name);
  }
  // A step that is computed again takes memory for each of them and every record and subset, and a
  // transcript has eight in a byte.
  if (universe && record.directions > most_directions) {
    of.must_be_left_out({"--universe"}, "with more than " + std::to_string(most_directions) +
                                            " directions a step, which tacit train does not take");
  }

  answer out;
  out.json = {{"checked", universe ? "public part and universe" : "public part"},
              {"mechanism", record.mechanism.name},
              {"steps", run.steps()},
              {"directions", record.directions},
              {"symbols", tacit::detail::symbol_words[static_cast<std::size_t>(record.symbols)]},
              {"start", to_hex(record.start)}};
  out.sentence = std::to_string(run.steps()) + " steps of " + record.mechanism.name +
                 " keep its rule, as far as " +
                 (universe ? "the universe shows: " : "the public part shows: ");
  auto const add = [&](answer const& part) {
    out.sentence += part.sentence;
    out.json.update(part.json);
  };
  try {
    add(how->from_public(run, of));
    if (universe) {
      apps::task const job = task_of(of, record);
      out.sentence += "; replayed: ";
      add(how->from_universe(run, job, of));
    }
  } catch (broken_rule const& error) {
    of.refuse("TRANSCRIPT", std::string("one that keeps its mechanism's rule: ") + error.what());
  } catch (std::logic_error const& error) {  // a parameter out of range
    of.refuse("TRANSCRIPT", std::string("one that keeps its mechanism's rule: ") + error.what());
  }
  return out;
}

}  // namespace

verb audit() {
  return {
      "audit", "What does a transcript prove?",
      R"(From the transcript alone: that it is whole, that its symbols, their number and its parameters
are those of its mechanism, and what follows from the parameters.
  checked       "public part", or "public part and universe"
  mi, kappa     what is guaranteed of the secret (paczero, ferret); epsilon, delta (the others)
  attack_bound  no attacker on membership is right more often
With --universe, the table of a run of tacit train, its losses are computed again at every step (on
a machine that computes like the one that trained), what each release cost, and whether the rule
allows it:
  mi_spent, mi_spent_worst_record  nats charged on this path, which are no bound: the budget is
  attack_achieved                  by an attacker who knows all but the half, mean over the records
  unanimity                        share of the signs on which all candidates agreed
That the budget was kept by a secret drawn fairly, no transcript can prove.)",
      declare_audit, run_audit};
}

}  // namespace calculator
