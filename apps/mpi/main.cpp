// SPDX-License-Identifier: Apache-2.0
//
// Private training on several ranks: each holds the parameters and a shard of the records, and a step
// sends the subset sums, or a batch's scalars, one way and one release the other.

#include <tacit/core/decimal.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/mechanism/dpzero.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/hash.hpp>
#include <tacit/zo/journal.hpp>

#include "communicator.hpp"
#include "micro_batches.hpp"
#include "output/format.hpp"
#include "output/options.hpp"
#include "output/progress.hpp"
#include "safetensors/safetensors.hpp"
#include "setting.hpp"
#include "shared_batches.hpp"
#include "shared_paczero.hpp"
#include "training/recorded.hpp"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using apps::communicator;
using apps::traffic;

struct arguments {
  std::filesystem::path data = TACIT_EXAMPLE_DATA "/digits.csv";
  std::filesystem::path transcript;
  std::filesystem::path base;
  std::filesystem::path tuned;
  double budget = 0.33;
  double epsilon = 0.0;  // positive: DPZero
  double delta = 1e-5;
  double rate = 0.05;
  std::size_t steps = 4000;
  std::uint64_t seed = 1;
  bool json = false;
};

// ---- the last words of a rank that is stopped ---------------------------------------------------

// Releases of which this rank knows that they are on disk.
volatile std::sig_atomic_t safe_releases = 0;

// Where they are, and what makes a model of them; set before a signal is handled.
std::string where_they_are;

struct line {
  char text[2 * PATH_MAX + 128];
  std::size_t size;
};

// Calls only what a signal handler may.
line what_is_safe() {
  constexpr std::string_view before = "tacit_mpi: stopped; at least ";
  constexpr std::string_view after = " releases are safe in ";
  line out;
  char* at = std::copy(before.begin(), before.end(), out.text);
  at = std::to_chars(at, at + 20, int{safe_releases}).ptr;
  at = std::copy(after.begin(), after.end(), at);
  auto const room = static_cast<std::size_t>(std::end(out.text) - at) - 1;
  at = std::copy_n(where_they_are.data(), std::min(room, where_they_are.size()), at);
  *at++ = '\n';
  out.size = static_cast<std::size_t>(at - out.text);
  return out;
}

std::string last_words(arguments const& wanted) {
  std::string const journal = apps::journal_of(wanted.transcript).string();
  if (wanted.base.empty()) return journal;
  return journal + "; for a model of them: tacit replay " + apps::shell_word(wanted.base.string()) +
         ' ' + apps::shell_word(journal) + " OUT";
}

// When a rank has died, MPI stops the others with SIGTERM.
extern "C" void say_what_is_safe(int signal) {
  line const last = what_is_safe();
  [[maybe_unused]] auto const written = ::write(STDERR_FILENO, last.text, last.size);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// ---- the run ------------------------------------------------------------------------------------

struct outcome {
  tacit::parameter_hash hash;
  double accuracy = 0.0;
  double spent = 0.0;  // nats, or ε; known to rank 0, as are the next two
  double attack_bound = 0.0;
  std::size_t held = 0;
  std::size_t evaluated = 0;  // losses, where batches are drawn
  double seconds = 0.0;
  traffic exchanged;
};

std::span<std::byte const> bytes_of(tacit::parameter_hash const& hash) {
  return std::as_bytes(std::span(hash.bytes));
}

void save(std::filesystem::path const& file, apps::task const& job, std::vector<float> theta) {
  if (file.empty()) return;
  apps::save_tensors(file, apps::recorded_tensors(job.shape.tensors()),
                     apps::named_tensors(job.shape.tensors(), theta));
}

// Rank 0's files before the first step; the journal of its releases, if there is to be a transcript.
std::optional<tacit::journal> begin_files(apps::task const& job, arguments const& wanted,
                                          tacit::run_record const& record) {
  for (auto const& file : {wanted.transcript, wanted.base, wanted.tuned}) {
    if (std::filesystem::exists(file)) {
      throw std::invalid_argument("output is " + file.string() + ", but must be a new file");
    }
  }
  save(wanted.base, job, job.start);
  if (wanted.transcript.empty()) return {};
  return apps::begin_journal(wanted.transcript, record);
}

// All steps, and what every mechanism does after them.
template <class Mechanism, class Loss>
outcome take_steps(communicator& ranks, apps::task const& job, arguments const& wanted,
                   tacit::train_options const& training, Mechanism& mechanism, Loss& loss,
                   std::optional<tacit::journal> const& journal) {
  std::vector<float> theta = job.start;
  tacit::trainer run{mechanism, training, theta};

  if (!wanted.transcript.empty()) {
    where_they_are = last_words(wanted);
    std::signal(SIGTERM, say_what_is_safe);
  }
  std::optional<apps::progress_bar> bar;
  if (ranks.is_first() && ::isatty(STDERR_FILENO) != 0) bar.emplace(wanted.steps);
  outcome out;
  traffic const before = ranks.exchanged();
  auto const begin = std::chrono::steady_clock::now();
  while (!run.done()) {
    out.held += run.step(loss).held();
    safe_releases = static_cast<std::sig_atomic_t>(mechanism.steps());
    if (bar) bar->advance(1);
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  out.exchanged = {ranks.exchanged().bytes - before.bytes,
                   ranks.exchanged().seconds - before.seconds};

  out.hash = tacit::hash_of(apps::named_tensors(job.shape.tensors(), theta));
  must_agree(ranks, "the hash of the parameters", bytes_of(out.hash));
  if (journal) apps::seal(*journal, wanted.transcript);
  if (ranks.is_first()) {
    out.accuracy = job.shape.accuracy(theta, job.data.test_part);
    save(wanted.tuned, job, theta);
  }
  return out;
}

outcome train_paczero(communicator& ranks, apps::task const& job, arguments const& wanted) {
  auto const options = apps::paczero_of(tacit::nats(wanted.budget), wanted.steps);
  auto const training = apps::training_of(wanted.seed, wanted.steps);
  apps::dataset const& records = job.data.private_part;
  apps::shard const part = apps::shard_of(records.size(), ranks.rank(), ranks.size());

  std::optional<tacit::paczero<>> whole;
  std::optional<tacit::journal> journal;
  if (ranks.is_first()) {
    whole.emplace(options, apps::candidates_of(job));
    journal = begin_files(
        job, wanted,
        record_of(job, training, describe(options, whole->candidates()), options.directions,
                  tacit::symbol_kind::held_sign, 1.0 / static_cast<double>(options.directions)));
  }
  apps::micro_batches loss(job.shape, records, part);
  apps::shared_paczero<> mechanism(
      ranks, options,
      tacit::candidate_set::balanced({.records = part.records}, job.seed, part.first),
      whole ? &*whole : nullptr, [&](tacit::release const& released) {
        if (journal) journal->append(released.coefficients);
      });
  outcome out = take_steps(ranks, job, wanted, training, mechanism, loss, journal);
  if (whole) {
    out.spent = whole->spent().value;
    out.attack_bound = whole->attack_bound();
  }
  return out;
}

outcome train_dpzero(communicator& ranks, apps::task const& job, arguments const& wanted) {
  auto const training = apps::training_of(wanted.seed, wanted.steps);
  apps::dataset const& records = job.data.private_part;
  apps::shard const part = apps::shard_of(records.size(), ranks.rank(), ranks.size());

  std::optional<tacit::dpzero<>> whole;
  std::optional<tacit::journal> journal;
  if (ranks.is_first()) {
    tacit::noisy_sum_options const options{
        .clip = 3.0,
        .noise_multiplier = tacit::noise_multiplier_for<tacit::privacy_loss_accountant>(
            {wanted.epsilon, wanted.delta}, tacit::poisson{wanted.rate}, wanted.steps),
        .rate = wanted.rate,
        .expected_records = static_cast<double>(records.size()),
        .steps = wanted.steps};
    whole.emplace(options, records.size());
    journal = begin_files(job, wanted,
                          record_of(job, training, describe("dpzero", options, records.size()), 1,
                                    tacit::symbol_kind::scalar, 0.0));
  }
  apps::shared_batches<tacit::dpzero<>> mechanism(
      ranks, 1, wanted.steps, part, whole ? &*whole : nullptr, [&](tacit::release const& released) {
        if (journal) journal->append(released.coefficients);
      });
  apps::dataset const own = apps::records_of(records, part);
  apps::batch_loss network(job.shape, own);
  std::int64_t evaluated = 0;
  auto loss = [&](std::span<float const> theta, std::span<std::size_t const> batch,
                  std::span<double> losses) {
    network(theta, batch, losses);
    evaluated += static_cast<std::int64_t>(batch.size());
  };
  outcome out = take_steps(ranks, job, wanted, training, mechanism, loss, journal);
  ranks.add_up(std::span(&evaluated, 1));
  out.evaluated = static_cast<std::size_t>(evaluated);
  if (whole) {
    tacit::privacy_loss_accountant account;
    account.compose(whole->event(), whole->steps());
    out.spent = account.epsilon(wanted.delta).upper;
    out.attack_bound = account.attack_success();
  }
  return out;
}

void report(communicator const& ranks, apps::task const& job, arguments const& wanted,
            outcome const& run) {
  auto const steps = static_cast<double>(wanted.steps);
  double const milliseconds = 1e3 * run.seconds / steps;
  double const exchanging = 1e3 * run.exchanged.seconds / steps;
  std::uint64_t const bytes = run.exchanged.bytes / wanted.steps;
  std::string const hash = tacit::to_hex(run.hash);
  if (wanted.json) {
    nlohmann::ordered_json json{{"ranks", ranks.size()},
                                {"records", job.data.private_part.size()},
                                {"parameters", job.start.size()},
                                {"steps", wanted.steps},
                                {"held", run.held},
                                {"accuracy_before", job.start_accuracy},
                                {"accuracy", run.accuracy}};
    if (wanted.epsilon > 0.0) {
      json["epsilon"] = run.spent;
      json["delta"] = wanted.delta;
      json["losses_evaluated"] = run.evaluated;
    } else {
      json["mi"] = run.spent;
    }
    json.update({{"attack_bound", run.attack_bound},
                 {"hash", hash},
                 {"bytes_per_step", bytes},
                 {"milliseconds_per_step", milliseconds},
                 {"milliseconds_exchanging", exchanging}});
    std::printf("%s\n", json.dump().c_str());
    return;
  }
  std::printf("accuracy %.3f, before %.3f, after %zu steps, ", run.accuracy, job.start_accuracy,
              wanted.steps);
  if (wanted.epsilon > 0.0) {
    std::printf("with %zu losses evaluated; (%s, %s)-DP\n", run.evaluated,
                tacit::rounded_up(run.spent).c_str(), tacit::detail::to_text(wanted.delta).c_str());
  } else {
    std::printf("of which %zu were held; %.3f nats spent on which half was used\n", run.held,
                run.spent);
  }
  std::printf("hash of the parameters, the same on %s: %s\n",
              ranks.size() == 1 ? "the one rank"
                                : ("all " + std::to_string(ranks.size()) + " ranks").c_str(),
              hash.c_str());
  std::printf(
      "a step: %llu bytes handed to MPI by a rank, %.3f ms, %.3f of them exchanging and waiting\n",
      static_cast<unsigned long long>(bytes), milliseconds, exchanging);
}

void run(communicator& ranks, arguments const& wanted) {
  apps::task job = apps::prepare(apps::load_csv(wanted.data), wanted.seed);
  // Public training is the same in every process, but its last bits may be the processor's.
  ranks.broadcast(std::span(job.start));
  Eigen::MatrixXf& features = job.data.private_part.features;
  std::span const all(features.data(), static_cast<std::size_t>(features.size()));
  must_agree(ranks, "the table of records", bytes_of(tacit::hash_of(all)));
  outcome const result =
      wanted.epsilon > 0.0 ? train_dpzero(ranks, job, wanted) : train_paczero(ranks, job, wanted);
  if (ranks.is_first()) report(ranks, job, wanted, result);
}

void say(std::string const& error) {
  std::fprintf(stderr, "tacit_mpi: %s\n", error.c_str());
  line const last = what_is_safe();
  if (!where_they_are.empty()) std::fwrite(last.text, 1, last.size, stderr);
}

}  // namespace

int main(int argc, char** argv) {
  communicator ranks(argc, argv);
  arguments wanted;
  apps::options app(
      "Trains a small network privately on several ranks: mpirun -np 4 tacit_mpi. Each holds the "
      "parameters and a shard of the records; rank 0 holds the secret.");
  app.add("DATA", wanted.data, "the table to train on, of which each rank keeps its shard");
  apps::option const budget = app.add(
      "--mi", wanted.budget, "nats about which half of the records was used; 0 is zero leakage");
  apps::option const epsilon = app.add("--epsilon", wanted.epsilon,
                                       "DPZero in place of PACZero: what the run may spend of it");
  epsilon.excludes(budget).positive(1e6);
  app.add("--delta", wanted.delta, "with --epsilon; 1e-5 unless given")
      .needs(epsilon)
      .positive(0.5);
  app.add("--rate", wanted.rate,
          "with --epsilon: how often a record joins a batch; 0.05 unless given")
      .needs(epsilon)
      .positive(1.0);
  app.add("--steps", wanted.steps, "steps").in_range(1, 10'000'000);
  app.add("--seed", wanted.seed, "public: split, first weights, candidates, directions");
  app.add("--transcript", wanted.transcript,
          "write what the world sees to this file, and to FILE.journal step by step");
  app.add("--base", wanted.base, "write the parameters before the first step, as safetensors");
  app.add("--tuned", wanted.tuned, "write the parameters after the last step, as safetensors");
  app.flag("--json", wanted.json, "print JSON");
  // On every rank the same.
  if (auto const ends = app.read("tacit_mpi", argc, argv, ranks.is_first())) return *ends;
  if (!(wanted.budget >= 0.0 && wanted.budget <= 1e6)) {
    if (ranks.is_first()) {
      std::fprintf(stderr, "tacit_mpi: --mi: is %f, but must be in [0, 1000000]\n", wanted.budget);
    }
    return 2;
  }
  try {
    run(ranks, wanted);
    return 0;
  } catch (apps::shared_failure const& error) {
    if (ranks.is_first()) say(error.what());
    return 1;
  } catch (std::exception const& error) {
    say("rank " + std::to_string(ranks.rank()) + ": " + error.what());
    ranks.abort();  // the others know nothing of it, and would wait
  }
}
