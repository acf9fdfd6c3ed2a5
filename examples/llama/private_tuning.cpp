// SPDX-License-Identifier: Apache-2.0
//
// Private tuning of a GGUF model inside llama.cpp, by forward passes alone. README.md says what to type.

#include <tacit/train/recorded.hpp>
#include <tacit/zo/journal.hpp>
#include <tacit/zo/launch.hpp>

#include "engine.hpp"
#include "gguf_adapter.hpp"
#include "gguf_file.hpp"
#include "records.hpp"
#include "trained_adapter.hpp"
#include "trained_weights.hpp"
#include "tuning.hpp"

#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace {

constexpr auto usage =
    "usage: private_tuning start MODEL ADAPTER [--rank 4 | --control 1] [--type f32|f16] [--seed "
    "1]\n"
    "       private_tuning train MODEL ADAPTER RECORDS TUNED --transcript RUN [--mechanism "
    "paczero-mi]\n"
    "           [--steps 300] [--directions 1] [--smoothing 0.01] [--rate-of-learning 0.01] "
    "[--seed 1]\n"
    "           [--rounding nearest|stochastic]\n"
    "           [--nats 0.33] [--epsilon 8] [--delta 1e-5] [--batch-rate 0.2] [--clip 1] [--save "
    "STATE]\n"
    "       private_tuning train MODEL RECORDS TUNED --weights PATTERN --transcript RUN ...\n"
    "       private_tuning losses MODEL RECORDS [ADAPTER]\n"
    "       private_tuning replay ADAPTER|MODEL RUN TUNED\n"
    "All take --threads 1.";

// Words in their places, and --NAME VALUE anywhere.
class arguments {
 public:
  arguments(int count, char** words) {
    for (int i = 1; i < count; ++i) {
      std::string const word = words[i];
      if (!word.starts_with("--")) {
        places_.push_back(word);
      } else if (++i < count) {
        named_[word.substr(2)] = words[i];
      } else {
        throw std::invalid_argument(word + " has no value");
      }
    }
  }

  [[nodiscard]] std::string const& at(std::size_t i) const {
    if (i >= places_.size()) throw std::invalid_argument(usage);
    return places_[i];
  }
  [[nodiscard]] std::size_t places() const noexcept { return places_.size(); }

  void take(std::string const& name, std::string& value) {
    if (auto const found = named_.extract(name)) value = found.mapped();
  }
  template <class Number>
  void take(std::string const& name, Number& value) {
    auto const found = named_.extract(name);
    if (!found) return;
    std::size_t read = 0;
    double const number = std::stod(found.mapped(), &read);
    value = static_cast<Number>(number);
    if (read != found.mapped().size() || static_cast<double>(value) != number) {
      throw std::invalid_argument("--" + name + " is " + found.mapped() + ", but must be a number");
    }
  }
  void finish() const {
    if (!named_.empty())
      throw std::invalid_argument("there is no option --" + named_.begin()->first);
  }

 private:
  std::vector<std::string> places_;
  std::map<std::string, std::string> named_;
};

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
  given.take("rank", shape.rank);
  given.take("control", shape.control_vector);
  given.take("type", type);
  given.take("seed", shape.seed);
  given.finish();
  shape.type = type == "f16" ? GGML_TYPE_F16 : GGML_TYPE_F32;
  write_start(given.at(1), given.at(2), shape, engine(given.at(1), {}, threads).tokenizer());
}

// A line a record. Of private records this is as private as they are.
void print(std::FILE* to, std::span<answered const> of) {
  for (std::size_t i = 0; i < of.size(); ++i) {
    std::fprintf(to, "%zu %.17g %s\n", i + 1, of[i].loss, of[i].right ? "right" : "wrong");
  }
}

void losses(arguments& given, int threads) {
  given.finish();
  engine model(given.at(1), read_records(given.at(2)), threads);
  if (given.places() > 3) trained_adapter adapter(model, given.at(3));
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

// A replay begins with this file.
void refuse_to_replace(std::string const& start, std::string const& tuned) {
  std::error_code none;
  if (std::filesystem::equivalent(start, tuned, none)) {
    throw std::invalid_argument(tuned + " is where the run starts, but must be another file");
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
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (!std::isfinite(of[i].loss)) {
      throw std::runtime_error("the loss of record " + std::to_string(i + 1) + " is not finite");
    }
  }
  double const before = model.forward_seconds();
  auto const began = clock::now();
  std::string const promised = tune(how, trained.parameters(), model.records(), loss);
  std::chrono::duration<double> const steps = clock::now() - first.value_or(began);
  std::chrono::duration<double> const start = first.value_or(began) - began;
  double const forward = model.forward_seconds() - before;
  trained.write(tuned);
  if (!report.empty()) {
    trained.apply();
    model.answer(all_of(model), false, of);
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
  given.take("mechanism", how.mechanism);
  given.take("steps", how.steps);
  given.take("directions", how.directions);
  given.take("smoothing", how.smoothing);
  given.take("rate-of-learning", how.learning_rate);
  given.take("rounding", rounding);
  given.take("seed", how.seed);
  given.take("nats", how.nats);
  given.take("epsilon", how.epsilon);
  given.take("delta", how.delta);
  given.take("batch-rate", how.rate);
  given.take("clip", how.clip);
  given.take("transcript", how.transcript);
  given.take("save", how.save);
  given.take("report", report);
  given.finish();
  if (rounding == "stochastic") {
    how.rounding = tacit::rounding_mode::stochastic;
  } else if (rounding != "nearest") {
    throw std::invalid_argument("rounding must be nearest or stochastic, not " + rounding);
  }
  if (how.transcript.empty()) throw std::invalid_argument(usage);
  std::string const& start = given.at(of_model ? 1 : 2);
  std::string const& records = given.at(of_model ? 2 : 3);
  std::string const& tuned = given.at(of_model ? 3 : 4);
  refuse_to_replace(start, tuned);

  engine model(given.at(1), read_records(records), threads,
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
  given.finish();
  refuse_to_replace(given.at(1), given.at(3));
  gguf_file const start(given.at(1));
  tacit::transcript const run = tacit::read_transcript(given.at(2));
  std::vector<ggml_tensor*> moved;
  for (tacit::recorded_tensor const& one : run.run().tensors) {
    moved.push_back(start.tensor(one.name));
  }
  tacit::replay(parameters_of(moved), run, tacit::openmp{});
  start.write(given.at(3), moved);
}

}  // namespace

int main(int count, char** words) {
  keep_last_error();
  try {
    arguments given(count, words);
    int threads = 1;
    given.take("threads", threads);
#if defined(_OPENMP)
    omp_set_num_threads(threads);
#endif
    std::string const& verb = given.at(0);
    if (verb == "start") {
      start(given, threads);
    } else if (verb == "train") {
      train(given, threads);
    } else if (verb == "losses") {
      losses(given, threads);
    } else if (verb == "replay") {
      replay(given);
    } else {
      throw std::invalid_argument(usage);
    }
  } catch (std::exception const& error) {
    std::fprintf(stderr, "private_tuning: %s\n", error.what());
    return 2;
  }
  return 0;
}
