// SPDX-License-Identifier: Apache-2.0
//
// Private tuning of OPT by libtorch. README.md says what to type.

#include <tacit/audit/exposure.hpp>
#include <tacit/audit/membership.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/zo/journal.hpp>

#include "arguments.hpp"
#include "engine.hpp"
#include "ferret_tuning.hpp"
#include "output/used_files.hpp"
#include "shared_tuning.hpp"

#include <mpi/communicator.hpp>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <new>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using nlohmann::ordered_json;

double peak_megabytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024.0;
}

std::vector<answered> answers_of(engine const& model) {
  std::vector<std::size_t> which(model.records());
  std::iota(which.begin(), which.end(), std::size_t{0});
  std::vector<answered> out(which.size());
  model.answer(which, out);
  return out;
}

ordered_json summary_of(std::vector<answered> const& of) {
  double sum = 0.0;
  std::size_t right = 0;
  for (answered const& one : of) {
    sum += one.loss;
    right += one.right;
  }
  auto const n = static_cast<double>(of.size());
  return {{"records", of.size()}, {"loss", sum / n}, {"accuracy", static_cast<double>(right) / n}};
}

// A line a number, or JSON.
void print(ordered_json const& what, bool json) {
  if (json) {
    std::printf("%s\n", what.dump().c_str());
    return;
  }
  for (auto const& [name, value] : what.items()) {
    std::printf("%s: %s\n", name.c_str(),
                value.is_string() ? value.get<std::string>().c_str() : value.dump().c_str());
  }
}

// No file takes another one's place, and what is to be written can be, before anything is paid for.
void check_files(arguments const& wanted) {
  std::vector<apps::used_file> files;
  auto const add = [&](char const* name, std::string const& path, bool is_written) {
    if (!path.empty()) files.push_back({name, path, is_written});
  };
  add("MODEL", wanted.model, false);
  add("VOCABULARY", wanted.vocabulary, false);
  add("RECORDS", wanted.records, false);
  add("--test", wanted.test, false);
  add("--canaries", wanted.canaries, false);
  add("TRANSCRIPT", wanted.transcript, false);
  add("--transcript", wanted.how.transcript, true);
  add("--save", wanted.how.save, true);
  add("OUT", wanted.out, true);
  for (char const* name : file_names) {
    std::filesystem::path const file(name);
    if (!wanted.model.empty()) add("MODEL", wanted.model / file, false);
    add("OUT", wanted.out / file, true);
  }
  apps::must_be_different(files);
  apps::must_be_writable("OUT", wanted.out, file_names);
  for (apps::used_file const& one : files) {
    if (one.written && one.argument != "OUT") apps::must_be_writable(one);
  }
}

// The same where the files are those of rank 0: every rank ends with its words.
void check_files(apps::communicator& ranks, arguments const& wanted) {
  std::string trouble;
  try {
    if (ranks.is_first()) check_files(wanted);
  } catch (std::exception const& error) {
    trouble = error.what();
  }
  std::uint64_t size = trouble.size();
  ranks.broadcast(std::span(&size, 1));
  if (size == 0) return;
  trouble.resize(size);
  ranks.broadcast(std::span(trouble));
  throw apps::shared_failure(trouble);
}

void start(arguments const& wanted) {
  check_files(wanted);
  model_folder const made = model_folder::make(wanted.shape, wanted.vocabulary);
  engine const model(made, wanted.seed);
  made.write(wanted.out, model.on_host());
  std::printf("%llu parameters\n", static_cast<unsigned long long>(model.on_host().size()));
}

void train_openly(arguments const& wanted) {
  check_files(wanted);
  model_folder const given = model_folder::open(wanted.model);
  engine const model(given, read_records(wanted.records), wanted.where);
  model.train(wanted.open);
  require_finite(model.on_host());
  given.write(wanted.out, model.on_host());
  print(summary_of(answers_of(model)), false);
}

void losses(arguments const& wanted) {
  engine const model(model_folder::open(wanted.model), read_records(wanted.records), wanted.where);
  std::vector<answered> const of = answers_of(model);
  for (std::size_t i = 0; i < of.size() && !wanted.json; ++i) {
    std::printf("%zu %.17g %s\n", i + 1, of[i].loss, of[i].right ? "right" : "wrong");
  }
  ordered_json all = summary_of(of);
  all["peak_megabytes"] = peak_megabytes();
  if (wanted.where.is_cuda()) all["peak_device_megabytes"] = peak_device_megabytes(wanted.where);
  if (wanted.json) print(all, true);
}

// Bits of each canary: the planted record's, and then those of the others that might have been.
std::vector<double> exposures(std::string const& model_at, std::string const& records,
                              std::size_t candidates, place const& where) {
  engine const model(model_folder::open(model_at), read_records(records), where);
  if (model.records() % candidates != 0) {
    throw std::invalid_argument(records + " has no whole number of canaries with " +
                                std::to_string(candidates) + " candidates each");
  }
  std::vector<answered> const of = answers_of(model);
  std::vector<double> out;
  for (std::size_t at = 0; at < of.size(); at += candidates) {
    std::vector<double> others;
    for (std::size_t j = 1; j < candidates; ++j) others.push_back(of[at + j].loss);
    out.push_back(tacit::exposure(tacit::canary_rank(of[at].loss, others), candidates));
  }
  return out;
}

double mean_of(std::vector<double> const& of) {
  return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
}

void exposure(arguments const& wanted) {
  std::vector<double> const bits =
      exposures(wanted.model, wanted.records, wanted.candidates, wanted.where);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    std::printf("canary %zu: %.2f bits\n", i + 1, bits[i]);
  }
  std::printf("mean %.2f of %.2f bits; a model that saw none: 1.44\n", mean_of(bits),
              std::log2(static_cast<double>(wanted.candidates)));
}

// How often guesses by a threshold on the loss are right, on records other than those that chose the threshold.
double loss_attack(std::vector<answered> const& of, std::vector<bool> const& inside) {
  std::vector<double> members;
  std::vector<double> others;
  for (std::size_t i = 0; i < of.size(); ++i) (inside[i] ? members : others).push_back(of[i].loss);
  auto const parts = tacit::halves(tacit::loss_scores(members, others));
  return tacit::success(tacit::count_guesses(parts.test, tacit::best_threshold(parts.calibration)),
                        0.95)
      .value;
}

// All losses are numbers before anything is paid for. Of a later one that is none the mechanism disposes.
void must_be_finite(apps::communicator& ranks, std::vector<answered> const& of, std::size_t first,
                    std::string const& when) {
  std::int64_t bad = 0;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (std::isfinite(of[i].loss)) continue;
    if (bad++ == 0) sum = static_cast<std::int64_t>(first + i + 1);
  }
  std::int64_t counts[2] = {bad, bad > 0 ? 1 : 0};
  ranks.add_up(counts);
  if (counts[0] == 0) return;
  throw apps::shared_failure(bad > 0 ? "the loss of record " + std::to_string(sum) + when +
                                           " is not finite"
                                     : "a loss on another rank" + when + " is not finite");
}

void must_agree(apps::communicator& ranks, std::string const& what,
                tacit::parameter_hash const& hash) {
  apps::must_agree(ranks, what, std::as_bytes(std::span(hash.bytes)));
}

void train(apps::communicator& ranks, arguments const& wanted) {
  check_files(ranks, wanted);
  model_folder const given = model_folder::open(wanted.model);
  std::vector<record> const records = read_records(wanted.records);
  bool const gradients = wanted.how.mechanism == ferret_name;
  if (gradients && ranks.size() > 1) throw std::invalid_argument("ferret runs on one rank");
  apps::shard const own = apps::shard_of(records.size(), ranks.rank(), ranks.size());
  engine const model(given, records, std::span(records).subspan(own.first, own.records),
                     wanted.where);
  placed const weights = model.weights();
  must_agree(ranks, "the model", weights.start);
  must_be_finite(ranks, answers_of(model), own.first, "");

  std::vector<bool> inside(records.size(), true);
  std::mt19937_64 coins(wanted.seed);
  bool const own_half = wanted.how.mechanism.starts_with("paczero-");  // it draws one by itself
  for (std::size_t i = 0; i < inside.size() && wanted.audit && !own_half; ++i)
    inside[i] = coins() % 2 == 0;

  std::vector<answered> of(model.records());
  auto const loss = [&](tacit::parameters const&, std::span<std::size_t const> which,
                        std::span<double> out) {
    model.answer(which, std::span(of).first(which.size()));
    for (std::size_t j = 0; j < which.size(); ++j) out[j] = of[j].loss;
  };
  record_projection projection;
  if (gradients && wanted.where.is_cuda()) {
    projection = [&](std::size_t one, auto stream, auto groups, std::span<double> out) {
      model.project(one, stream, groups, out);
    };
    // What does not fit in the device's memory is found before anything is paid for.
    std::vector<double> first(1);
    tacit::parameter_range const all{0, weights.theta.size()};
    if (given.shape.type == tacit::element_type::f32)
      model.project(0, {}, std::span(&all, 1), first);
  } else if (gradients) {
    projection =
        projection_of([&](std::size_t one, std::span<float> out) { model.gradient(one, out); },
                      weights.theta.size());
  }
  std::size_t const watched = wanted.audit && !own_half ? wanted.watched : 0;
  double const before = model.forward_seconds();
  std::uint64_t const sent = ranks.exchanged().bytes;
  auto const began = std::chrono::steady_clock::now();
  std::clock_t const worked = std::clock();
  std::vector<tacit::recorded_tensor> const tensors = tensors_of(given.shape);
  promise const kept = gradients
                           ? tune_ferret(wanted.how, inside, weights, tensors, projection, watched)
                           : tune(ranks, wanted.how, inside, own, weights, tensors, loss, watched);
  std::chrono::duration<double> const whole = std::chrono::steady_clock::now() - began;
  double const processor = static_cast<double>(std::clock() - worked) / CLOCKS_PER_SEC;
  double const computing = model.forward_seconds() - before;
  double const peak = peak_megabytes();
  double const device_peak = peak_device_megabytes(wanted.where);
  std::uint64_t const exchanged = ranks.exchanged().bytes - sent;
  tacit::parameter_hash const tuned = tacit::hash_of(model.on_host());
  must_agree(ranks, "the tuned model", tuned);
  // What is of no use is not written: the steps are paid for, and the transcript still makes it.
  require_finite(model.on_host());
  must_be_finite(ranks, answers_of(model), own.first, " under what was tuned");
  if (!ranks.is_first()) return;
  given.write(wanted.out, model.on_host());

  auto const steps = static_cast<double>(wanted.how.steps);
  ordered_json report{{"mechanism", wanted.how.mechanism},
                      {"parameters", weights.theta.size()},
                      {"ranks", ranks.size()},
                      {"promise", kept.text},
                      {"attack_bound", kept.attack_bound}};
  if (wanted.audit) {
    report["attack"] = own_half ? kept.posterior_attack : kept.informed_attack;
    if (!own_half && ranks.size() == 1) {
      report["loss_attack"] = loss_attack(answers_of(model), inside);
    }
  }
  report["seconds_a_step"] = whole.count() / steps;
  report["processor_seconds_a_step"] = processor / steps;
  report["percent_not_computing_losses"] = 100.0 * (1.0 - computing / whole.count());
  report["bytes_a_step"] = static_cast<double>(exchanged) / steps;
  report["peak_megabytes"] = peak;
  if (wanted.where.is_cuda()) report["peak_device_megabytes"] = device_peak;
  if (!wanted.test.empty()) {
    engine const fresh(model_folder::open(wanted.out), read_records(wanted.test), wanted.where);
    ordered_json const said = summary_of(answers_of(fresh));
    report["accuracy"] = said["accuracy"];
    report["loss"] = said["loss"];
  }
  if (!wanted.canaries.empty()) {
    report["exposure"] =
        mean_of(exposures(wanted.out, wanted.canaries, wanted.candidates, wanted.where));
  }
  report["hash"] = to_hex(tuned);
  print(report, wanted.json);
}

void replay(arguments const& wanted) {
  check_files(wanted);
  model_folder const given = model_folder::open(wanted.model);
  engine const model(given, std::vector<record>());
  tacit::transcript const run = tacit::read_transcript(wanted.transcript);
  if (run.run().mechanism.name == ferret_name) {
    replay_ferret(model.on_host(), run);
  } else {
    tacit::replay(model.on_host(), run, tacit::openmp{});
  }
  require_finite(model.on_host());
  given.write(wanted.out, model.on_host());
}

void act(arguments const& wanted, int count, char** words) {
  if (wanted.verb == "start") {
    start(wanted);
  } else if (wanted.verb == "train-openly") {
    train_openly(wanted);
  } else if (wanted.verb == "losses") {
    losses(wanted);
  } else if (wanted.verb == "exposure") {
    exposure(wanted);
  } else if (wanted.verb == "replay") {
    replay(wanted);
  } else if (wanted.verb == "train") {
    apps::communicator ranks(count, words);
    train(ranks, wanted);
  }
}

}  // namespace

int main(int count, char** words) {
  std::set_terminate([] {  // of a thread that did not get its memory, for example
    std::fputs("private_opt: an error in a thread, perhaps for want of memory\n", stderr);
    std::_Exit(2);
  });
  try {
    act(read_arguments(count, words), count, words);
  } catch (std::bad_alloc const&) {
    std::fputs("private_opt: not enough memory\n", stderr);
    return 2;
  } catch (std::exception const& error) {
    std::string const text = error.what();  // torch's have a stack below their first line
    std::fprintf(stderr, "private_opt: %s\n", text.substr(0, text.find('\n')).c_str());
    return 2;
  }
  return 0;
}
