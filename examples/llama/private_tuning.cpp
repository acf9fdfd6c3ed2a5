// SPDX-License-Identifier: Apache-2.0
//
// Private tuning of a GGUF model inside llama.cpp, by forward passes alone. README.md says what to type.

#include <tacit/train/recorded.hpp>
#include <tacit/zo/journal.hpp>
#include <tacit/zo/launch.hpp>

#include "engine.hpp"
#include "gguf_adapter.hpp"
#include "gguf_file.hpp"
#include "output/used_files.hpp"
#include "records.hpp"
#include "trained_adapter.hpp"
#include "trained_weights.hpp"
#include "tuning.hpp"

#include <sys/resource.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace {

constexpr auto usage =
    "usage: private_tuning start MODEL ADAPTER [--rank 4 | --control 1] [--type f32|f16]\n"
    "       private_tuning train MODEL ADAPTER RECORDS TUNED --transcript RUN [--save STATE] ...\n"
    "       private_tuning train MODEL RECORDS TUNED --weights PATTERN --transcript RUN ...\n"
    "       private_tuning losses MODEL RECORDS [ADAPTER]\n"
    "       private_tuning replay ADAPTER|MODEL RUN TUNED\n"
    "examples/llama/README.md has the options.";

// Words in their places, and --NAME VALUE anywhere.
class arguments {
 public:
  arguments(int count, char** words) {
    for (int i = 1; i < count; ++i) {
      std::string const word = words[i];
      if (!word.starts_with("--")) {
        places_.push_back(word);
      } else if (++i == count) {
        throw std::invalid_argument(word + " has no value");
      } else if (!named_.emplace(word.substr(2), words[i]).second) {
        throw std::invalid_argument(word + " is there twice");
      }
    }
  }

  [[nodiscard]] std::string verb() const { return places_.empty() ? "" : places_[0]; }

  void take(std::string const& name, std::string& value) {
    if (auto const found = named_.extract(name)) value = found.mapped();
  }
  /// Whole numbers have bounds.
  template <class Number>
  void take(std::string const& name, Number& value, Number least = {}, Number most = {}) {
    auto const found = named_.extract(name);
    if (!found) return;
    std::string const& text = found.mapped();
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool const is_number = error == std::errc() && end == text.data() + text.size();
    if constexpr (!std::is_integral_v<Number>) {
      if (!is_number || !std::isfinite(value)) refuse(name, text, "a finite number");
    } else if (!is_number || value < least || value > most) {
      refuse(name, text,
             "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
  }
  void take(std::string const& name, std::string& value, std::string const& one,
            std::string const& other) {
    take(name, value);
    if (value != one && value != other) refuse(name, value, one + " or " + other);
  }

  /// The words after the verb, which are called so; those of the last `optional` names may be missing.
  [[nodiscard]] std::vector<std::string> places(std::vector<std::string> const& names,
                                                std::size_t optional = 0) const {
    if (!named_.empty()) {
      throw std::invalid_argument(verb() + " has no option --" + named_.begin()->first);
    }
    std::size_t const given = places_.size() - 1;
    if (given + optional < names.size()) {
      throw std::invalid_argument(verb() + " has no " + names[given]);
    }
    if (given > names.size()) {
      throw std::invalid_argument(verb() + " has no place for " + places_.back());
    }
    return {places_.begin() + 1, places_.end()};
  }

 private:
  [[noreturn]] static void refuse(std::string const& name, std::string const& is,
                                  std::string const& must_be) {
    throw std::invalid_argument("--" + name + " is " + is + ", but must be " + must_be);
  }

  std::vector<std::string> places_;
  std::map<std::string, std::string> named_;
};

// Before anything is paid for, and before a model is loaded.
void check(std::vector<apps::used_file> const& files) {
  apps::must_be_different(files);
  for (apps::used_file const& one : files) {
    if (one.written) apps::must_be_writable(one);
  }
}

std::vector<std::size_t> all_of(engine const& in) {
  std::vector<std::size_t> out(in.records());
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

double peak_megabytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024.0;
}

void start(arguments& given, int threads) {
  adapter_shape shape;
  std::string type = "f32";
  int control = 0;
  given.take("rank", shape.rank, std::int64_t{1}, std::int64_t{1} << 20);
  given.take("control", control, 0, 1);
  given.take("type", type, "f32", "f16");
  given.take("seed", shape.seed, std::uint64_t{0}, UINT64_MAX);
  auto const places = given.places({"MODEL", "ADAPTER"});
  check({{"MODEL", places[0], false}, {"ADAPTER", places[1], true}});
  shape.control_vector = control != 0;
  shape.type = type == "f16" ? GGML_TYPE_F16 : GGML_TYPE_F32;
  write_start(places[0], places[1], shape, engine(places[0], {}, threads).tokenizer());
}

// A line a record. Of private records this is as private as they are.
void print(std::FILE* to, std::span<answered const> of) {
  for (std::size_t i = 0; i < of.size(); ++i) {
    std::fprintf(to, "%zu %.17g %s\n", i + 1, of[i].loss, of[i].right ? "right" : "wrong");
  }
}

void losses(arguments& given, int threads) {
  auto const places = given.places({"MODEL", "RECORDS", "ADAPTER"}, 1);
  engine model(places[0], read_records(places[1]), threads);
  if (places.size() > 2) trained_adapter adapter(model, places[2]);
  std::vector<answered> of(model.records());
  model.answer(all_of(model), false, of);
  print(stdout, of);
  double sum = 0.0;
  std::size_t right = 0;
  for (answered const& one : of) {
    sum += one.loss;
    right += one.right;
  }
  std::printf("mean loss %.4f nats a token, %zu of %zu right; peak memory %.1f MB\n",
              sum / static_cast<double>(of.size()), right, of.size(), peak_megabytes());
}

// @throws std::runtime_error naming the first record whose loss is no number
void must_be_finite(std::span<answered const> of, std::string const& when) {
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (!std::isfinite(of[i].loss)) {
      throw std::runtime_error("the loss of record " + std::to_string(i + 1) + when +
                               " is not finite");
    }
  }
}

// `trained`: an adapter in this engine, or weights of it.
template <class Trained>
void train(engine& model, Trained& trained, tuning const& how, std::string const& tuned,
           std::string const& report) {
  bool const secret_batches = !how.mechanism.starts_with("paczero-");
  std::vector<answered> of(model.records());
  using clock = std::chrono::steady_clock;
  std::optional<clock::time_point> first;
  auto const loss = [&](tacit::parameters const&, std::span<std::size_t const> records,
                        std::span<double> out) {
    if (!first) first = clock::now();
    trained.apply();
    model.answer(records, secret_batches, std::span(of).first(records.size()));
    for (std::size_t j = 0; j < records.size(); ++j) out[j] = of[j].loss;
  };

  // Before anything is paid for: every loss is a number. Of a later one that is none the mechanism disposes.
  model.answer(all_of(model), secret_batches, of);
  must_be_finite(of, "");
  std::size_t const one = 0;
  for (int sign = 0; sign < 2;
       ++sign) {  // a new control vector takes memory: there is enough for a step
    trained.apply();
    model.answer(std::span(&one, 1), secret_batches, of);
  }
  double const before = model.forward_seconds();
  auto const began = clock::now();
  std::string const promised = tune(how, trained.parameters(), model.records(), loss);
  std::chrono::duration<double> const steps = clock::now() - first.value_or(began);
  std::chrono::duration<double> const start = first.value_or(began) - began;
  double const forward = model.forward_seconds() - before;
  // What is of no use gets no name: the steps are paid for, and the transcript still makes it.
  require_finite(trained.parameters());
  trained.apply();
  model.answer(all_of(model), false, of);
  must_be_finite(of, " under what was tuned");
  trained.write(tuned);
  if (!report.empty()) {
    std::FILE* const file = std::fopen(report.c_str(), "w");
    if (file == nullptr) throw std::runtime_error("cannot write " + report);
    print(file, of);
    std::fclose(file);
  }
  std::printf("%zu steps on %llu parameters; %s\n", how.steps,
              static_cast<unsigned long long>(trained.parameters().size()), promised.c_str());
  std::printf(
      "%.3f s a step, of which %.2f %% is no forward pass, after %.1f s for the hash of the "
      "start; peak memory %.1f MB\n",
      steps.count() / static_cast<double>(how.steps), 100.0 * (1.0 - forward / steps.count()),
      start.count(), peak_megabytes());
}

void train(arguments& given, int threads) {
  std::string pattern;
  given.take("weights", pattern);
  bool const of_model = !pattern.empty();
  tuning how;
  if (of_model) how.smoothing = 0x1p-10;
  std::string rounding = "nearest";
  std::string report;
  constexpr std::size_t many = 100'000'000;
  given.take("mechanism", how.mechanism);
  given.take("steps", how.steps, std::size_t{1}, many);
  given.take("directions", how.directions, std::size_t{1}, many);
  given.take("smoothing", how.smoothing);
  given.take("rate-of-learning", how.learning_rate);
  given.take("rounding", rounding, "nearest", "stochastic");
  given.take("seed", how.seed, std::uint64_t{0}, UINT64_MAX);
  given.take("nats", how.nats);
  given.take("epsilon", how.epsilon);
  given.take("delta", how.delta);
  given.take("batch-rate", how.rate);
  given.take("clip", how.clip);
  given.take("transcript", how.transcript);
  given.take("save", how.save);
  given.take("report", report);
  if (rounding == "stochastic") how.rounding = tacit::rounding_mode::stochastic;
  auto const places = of_model ? given.places({"MODEL", "RECORDS", "TUNED"})
                               : given.places({"MODEL", "ADAPTER", "RECORDS", "TUNED"});
  if (how.transcript.empty()) throw std::invalid_argument("train has no --transcript");
  std::string const& start = places[of_model ? 0 : 1];
  std::string const& records = places[places.size() - 2];
  std::string const& tuned = places.back();
  std::vector<apps::used_file> files{{"MODEL", places[0], false},
                                     {"RECORDS", records, false},
                                     {"TUNED", tuned, true},
                                     {"TUNED", tuned + ".new", true},
                                     {"--transcript", how.transcript, true},
                                     {"--transcript", how.transcript + ".lock", true}};
  if (!of_model) files.push_back({"ADAPTER", start, false});
  if (!how.save.empty()) {
    files.push_back({"--save", how.save, true});
    files.push_back({"--save", how.save + ".lock", true});
  }
  if (!report.empty()) files.push_back({"--report", report, true});
  check(files);

  engine model(places[0], read_records(records), threads,
               of_model ? weights::moved : weights::fixed);
  if (of_model) {
    trained_weights chosen(model, start, pattern);
    train(model, chosen, how, tuned, report);
  } else {
    trained_adapter adapter(model, start);
    train(model, adapter, how, tuned, report);
  }
}

void replay(arguments& given) {
  auto const places = given.places({"ADAPTER or MODEL", "RUN", "TUNED"});
  check({{"ADAPTER or MODEL", places[0], false},
         {"RUN", places[1], false},
         {"TUNED", places[2], true},
         {"TUNED", places[2] + ".new", true}});
  gguf_file const start(places[0]);
  tacit::transcript const run = tacit::read_transcript(places[1]);
  std::vector<ggml_tensor*> moved;
  for (tacit::recorded_tensor const& one : run.run().tensors) {
    moved.push_back(start.tensor(one.name));
  }
  tacit::parameters const theta = parameters_of(moved);
  tacit::replay(theta, run, tacit::openmp{});
  require_finite(theta);
  start.write(places[2], moved);
}

// Threads that OpenMP does not get end the process, in words of its own and perhaps late: here they are asked for.
void begin_threads(int threads) {
#if defined(_OPENMP)
  try {
    std::mutex gate;
    std::vector<std::jthread> all;
    std::unique_lock const closed(gate);
    for (int i = 1; i < threads; ++i) {
      all.emplace_back([&] { std::lock_guard const waits(gate); });
    }
  } catch (std::system_error const&) {
    throw std::runtime_error("there is no memory for " + std::to_string(threads) + " threads");
  }
  omp_set_num_threads(threads);
  std::atomic<int> begun = 0;
#pragma omp parallel
  ++begun;
#else
  (void)threads;
#endif
}

void act(arguments& given, int threads) {
  std::string const verb = given.verb();
  if (verb == "start") {
    start(given, threads);
  } else if (verb == "train") {
    train(given, threads);
  } else if (verb == "losses") {
    losses(given, threads);
  } else if (verb == "replay") {
    replay(given);
  } else {
    throw std::invalid_argument(
        verb.empty() ? usage : "there is no verb " + verb + ": start, train, losses or replay");
  }
}

}  // namespace

int main(int count, char** words) {
#if defined(__GLIBC__)
  // Large blocks go back to the system: those of one control vector after the other do not pile up.
  mallopt(M_MMAP_THRESHOLD, 1 << 17);
#endif
  errors_in_one_line();
  try {
    arguments given(count, words);
    int threads = 1;
    given.take("threads", threads, 1, 1024);
    begin_threads(threads);
    act(given, threads);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "private_tuning: %s\n", error.what());
    return 2;
  }
  return 0;
}
