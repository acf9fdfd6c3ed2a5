// SPDX-License-Identifier: Apache-2.0
//
// The library's files, each by itself, for every_operation.py to fail: started again it goes on.
//
//     program journal FOLDER      appends six releases, and says so after each
//     program state FOLDER        takes three steps, moves the state, and takes three more
//     program safetensors FILE    writes a model

#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_run.hpp>
#include <tacit/zo/journal.hpp>

#include "safetensors/safetensors.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t steps = 6;

void say(std::string const& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

/// What each step of the journal releases.
std::vector<double> release_of(std::size_t step) {
  return {step % 3 == 0 ? -0.5 : 0.5, step % 2 == 0 ? 0.0 : -0.5};
}

int keep_journal(std::filesystem::path const& folder) {
  tacit::run_record const record{.mechanism = {"faults", {}},
                                 .training = {.smoothing = 1e-3,
                                              .learning_rate = 1e-2,
                                              .decay = tacit::schedule::linear,
                                              .steps = steps,
                                              .seed = 1},
                                 .directions = 2,
                                 .symbols = tacit::symbol_kind::held_sign,
                                 .magnitude = 0.5,
                                 .tensors = {{"w", tacit::element_type::f32, {3}}},
                                 .start = {}};
  std::filesystem::path const file = folder / "journal";
  tacit::journal log = std::filesystem::exists(file) ? tacit::journal::resume(file, record)
                                                     : tacit::journal::create(file, record);
  say(std::string(log.steps(), 'x'));
  while (log.steps() < steps) {
    log.append(release_of(log.steps()));
    say(std::string(log.steps(), 'x'));
  }
  for (std::size_t t = 0; t < steps; ++t) {
    std::span<double const> const found = log.step(t);
    if (std::vector(found.begin(), found.end()) != release_of(t)) return 3;
  }
  return 0;
}

int keep_state(std::filesystem::path const& folder) {
  using saved = tacit::saved_run<tacit::paczero<>>;
  std::filesystem::path const first = folder / "state";
  std::filesystem::path const second = folder / "moved";
  bool const moved = std::filesystem::exists(second);
  saved run = moved ? saved::resume(second) : saved::resume_or_start(first, [] {
    return tacit::paczero(
        {.steps = steps, .budget = tacit::nats(0.5), .otherwise = tacit::disagreement::coin},
        tacit::candidate_set::balanced({.records = 20, .subsets = 8}, 1));
  });
  auto const say_transcript = [&] {
    std::string text;
    for (tacit::release const& one : run.transcript()) {
      double const y = one.coefficients.front();
      text += y > 0.0 ? '+' : y < 0.0 ? '-' : '0';
    }
    say(text);
  };
  say_transcript();
  std::vector<double> scalars(20);
  while (!run.done()) {
    if (run.steps() == steps / 2 && !std::filesystem::exists(second)) run.save_to(second);
    std::iota(scalars.begin(), scalars.end(), -9.75);
    scalars[run.steps()] = 8.0;
    (void)run.step(scalars);
    say_transcript();
  }
  return run->spent().value <= 0.5 ? 0 : 3;
}

int write_model(std::filesystem::path const& file) {
  std::vector<float> w(300);
  std::iota(w.begin(), w.end(), 0.5F);
  apps::save_tensors(file, {{"w", tacit::element_type::f32, {30, 10}}},
                     tacit::parameters({{.entries = std::span(w), .name = "w"}}));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::string_view const what = argv[1];
  try {
    if (what == "journal") return keep_journal(argv[2]);
    if (what == "state") return keep_state(argv[2]);
    if (what == "safetensors") return write_model(argv[2]);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 2;
}
