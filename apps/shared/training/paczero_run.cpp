// SPDX-License-Identifier: Apache-2.0
#include "training/paczero_run.hpp"

#include <tacit/core/check.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/mechanism/mezo.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_run.hpp>
#include <tacit/pac/candidates.hpp>
#include <tacit/pac/fixed_point.hpp>
#include <tacit/pac/posterior.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/journal.hpp>

#include "training/recorded.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace apps {

namespace {

// tacit::mezo, watched by an attacker who knows everything but the secret half.
class watched_mezo {
 public:
  watched_mezo(tacit::mezo_options const& options, tacit::candidate_set const& candidates)
      : mechanism_(options, candidates),
        options_(options),
        candidates_(&candidates),
        belief_(candidates.subsets()),
        quantised_(candidates.records()),
        signs_(candidates.subsets()) {}

  std::size_t records() const { return mechanism_.records(); }
  std::size_t directions() const { return mechanism_.directions(); }
  std::size_t steps() const { return mechanism_.steps(); }
  bool done() const { return mechanism_.done(); }

  tacit::release step(std::span<double const> scalars) {
    tacit::release const out = mechanism_.step(scalars);
    for (std::size_t k = 0; k < directions(); ++k) {
      tacit::fixed_point const grid{.clip = options_.clip};
      if (!grid.try_quantise(scalars.subspan(k * records(), records()), quantised_)) continue;
      std::vector<std::int64_t> sums(candidates_->subsets());
      candidates_->add_sums(quantised_, sums);
      std::transform(sums.begin(), sums.end(), signs_.begin(),
                     [](std::int64_t s) { return static_cast<std::int8_t>(s >= 0 ? 1 : -1); });
      unanimous_ += everyone_.unanimous(signs_);
      double const y = out.coefficients[k];
      if (options_.what == tacit::surrogate::half_sign && y != 0.0) {
        belief_.observe_sign(signs_, y > 0.0 ? tacit::sign::plus : tacit::sign::minus,
                             tacit::flip::with_correlation(1.0));
      }
    }
    return out;
  }

  tacit::posterior const& belief() const { return belief_; }
  std::size_t unanimous_steps() const { return unanimous_; }

 private:
  tacit::mezo<> mechanism_;
  tacit::mezo_options options_;
  tacit::candidate_set const* candidates_;
  tacit::posterior belief_;
  tacit::posterior everyone_{belief_.size()};
  std::vector<std::int32_t> quantised_;
  std::vector<std::int8_t> signs_;
  std::size_t unanimous_ = 0;
};

// What is known about the secret subset, and about the best-known record, after these releases.
std::pair<double, double> learnt(tacit::posterior const& belief,
                                 tacit::candidate_set const& candidates) {
  double const subset = std::log(static_cast<double>(belief.size())) - belief.entropy();
  double const record =
      std::log(2.0) - tacit::binary_entropy(1.0 - belief.exposed(candidates).worst);
  return {std::max(subset, 0.0), std::max(record, 0.0)};
}

// Who releases, as it is recorded.
struct releaser {
  tacit::recorded_mechanism described;
  tacit::symbol_kind symbols;
};

tacit::journal open_journal(std::filesystem::path const& transcript, bool resumed,
                            tacit::run_record const& record) {
  std::filesystem::path const file = journal_of(transcript);
  if (!resumed) return begin_journal(transcript, record);
  return std::filesystem::exists(file) ? tacit::journal::resume(file, record)
                                       : tacit::journal::create(file, record);
}

// `run` takes the steps of `mechanism`.
template <class Run, class Mechanism, class Spent>
void train(task const& job, paczero_run_options const& options, Run& run,
           Mechanism const& mechanism, releaser const& who,
           std::span<tacit::release const> transcript, Spent const& spent,
           std::function<void(std::size_t)> const& progress, paczero_run_result& out) {
  std::size_t const steps = options.paczero.steps;
  std::size_t const every = std::max<std::size_t>(1, steps / options.curve_points);
  std::vector<float>& theta = out.tuned = job.start;
  batch_loss loss(job.shape, job.data.private_part);
  tacit::train_options const training{.smoothing = options.smoothing,
                                      .learning_rate = options.learning_rate,
                                      .weight_decay = options.weight_decay,
                                      .decay = tacit::schedule::linear,
                                      .steps = steps,
                                      .law = options.law,
                                      .seed = job.seed,
                                      .optimiser = options.optimiser};
  std::size_t held = static_cast<std::size_t>(
      std::count_if(transcript.begin(), transcript.end(), [](auto const& r) { return r.held(); }));
  std::size_t reported = mechanism.steps();
  auto const look = [&] {
    auto const [subset, record] = spent();
    out.curve.push_back(
        {mechanism.steps(), job.shape.accuracy(theta, job.data.test_part), subset, record});
    if (progress) progress(mechanism.steps() - reported);
    reported = mechanism.steps();
  };
  auto const train_on = [&](auto& releases) {
    tacit::trainer loop{releases, training, theta};
    loop.replay(transcript);
    look();
    while (!loop.done()) {
      held += loop.step(loss).held();
      if (mechanism.steps() % every == 0 || loop.done()) look();
    }
  };
  if (options.transcript.empty()) {
    train_on(run);
  } else {
    std::size_t const k = mechanism.directions();
    bool const signs = who.symbols != tacit::symbol_kind::scalar;
    tacit::journal log = open_journal(options.transcript, !options.resume.empty(),
                                      record_of(job, training, who.described, k, who.symbols,
                                                signs ? 1.0 / static_cast<double>(k) : 0.0));
    tacit::journaled recorded{run, log};
    if constexpr (requires { run.bind_to({}); }) {
      if (!options.about_from_now.empty()) run.bind_to(options.about_from_now);
    }
    train_on(recorded);
    seal(log, options.transcript);
  }
  out.accuracy = out.curve.back().accuracy;
  out.steps = mechanism.steps();
  out.losses_evaluated = 2 * out.steps * mechanism.directions() * job.data.private_part.size();
  out.held = static_cast<double>(held) / static_cast<double>(out.steps);
  out.unanimity = static_cast<double>(mechanism.unanimous_steps()) /
                  static_cast<double>(out.steps * mechanism.directions());
}

// `run` is the mechanism itself, or keeps its state on disk.
template <class Run>
void train_privately(task const& job, paczero_run_options options, Run& run,
                     tacit::paczero<> const& mechanism,
                     std::function<void(std::size_t)> const& progress, paczero_run_result& out) {
  options.paczero = mechanism.options();
  std::vector<tacit::release> const transcript(mechanism.transcript().begin(),
                                               mechanism.transcript().end());
  auto const spent = [&] {
    return std::pair(mechanism.spent().value, mechanism.spent_worst_record().value);
  };
  // A loss that is not finite holds a step under every policy.
  releaser const who{describe(mechanism.options(), mechanism.candidates()),
                     tacit::symbol_kind::held_sign};
  train(job, options, run, mechanism, who, transcript, spent, progress, out);
  auto const seen = mechanism.belief().exposed(mechanism.candidates());
  auto const groups = mechanism.spent_by_group();
  out.exposed = exposure{mechanism.spent().value,
                         mechanism.spent_worst_record().value,
                         groups.empty() ? 0.0 : *std::max_element(groups.begin(), groups.end()),
                         mechanism.attack_bound(),
                         seen.mean,
                         seen.worst};
}

tacit::saved_run<tacit::paczero<>> resumed(paczero_run_options const& options) {
  try {
    return tacit::saved_run<tacit::paczero<>>::resume(options.resume, options.about);
  } catch (tacit::corrupt_state const& error) {
    throw unusable_state(error.what());
  } catch (std::invalid_argument const& error) {
    throw unusable_state(error.what());
  }
}

}  // namespace

paczero_run_result run_paczero(task const& job, paczero_run_options const& options,
                               std::function<void(std::size_t)> const& progress) {
  auto const begin = std::chrono::steady_clock::now();
  paczero_run_result out;
  auto const candidates = tacit::candidate_set::balanced(
      {.records = job.data.private_part.size(), .subsets = options.subsets}, job.seed);
  tacit::paczero_options const& wanted = options.paczero;

  if (options.how == method::public_only) {
    out.accuracy = job.start_accuracy;
    out.tuned = job.start;
    out.exposed = exposure{};
    out.curve = {{0, out.accuracy, 0.0, 0.0}, {wanted.steps, out.accuracy, 0.0, 0.0}};
    if (progress) progress(wanted.steps);
  } else if (options.how == method::without_privacy) {
    tacit::mezo_options const plain{.what = options.surrogate,
                                    .directions = wanted.directions,
                                    .steps = wanted.steps,
                                    .clip = wanted.clip};
    watched_mezo mechanism(plain, candidates);
    bool const scalar = options.surrogate == tacit::surrogate::raw ||
                        options.surrogate == tacit::surrogate::half_raw;
    releaser const who{describe(plain, candidates.records()),
                       scalar ? tacit::symbol_kind::scalar : tacit::symbol_kind::held_sign};
    auto const spent = [&] { return learnt(mechanism.belief(), candidates); };
    train(job, options, mechanism, mechanism, who, {}, spent, progress, out);
    bool const half = options.surrogate == tacit::surrogate::half_sign;
    if (half || options.surrogate == tacit::surrogate::random_sign) {
      auto const [subset, record] = spent();
      auto const seen = mechanism.belief().exposed(candidates);
      out.exposed = exposure{.mi = subset,
                             .mi_worst_record = record,
                             .attack_bound = half ? 1.0 : 0.5,
                             .attack_mean = seen.mean,
                             .attack_worst = seen.worst};
    }
  } else {
    auto const train_saved = [&](tacit::saved_run<tacit::paczero<>> run) {
      train_privately(job, options, run, *run, progress, out);
    };
    if (!options.resume.empty()) {
      auto run = resumed(options);
      if (run->candidates().public_seed() != job.seed || run.records() != candidates.records()) {
        throw unusable_state(options.resume.string() + ": the state of a run on other data");
      }
      run.save_to(options.save.empty() ? options.resume : options.save);
      train_saved(std::move(run));
    } else if (!options.save.empty()) {
      train_saved({tacit::paczero(wanted, candidates), options.save, options.about});
    } else {
      tacit::paczero mechanism(wanted, candidates);
      train_privately(job, options, mechanism, mechanism, progress, out);
    }
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

}  // namespace apps
