// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arms.hpp"
#include "runs/run_log.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

/// The study of low precision, with seeds. Every system, storage and smoothing μ runs all learning rates on the tuning
/// seeds; that of the best mean accuracy is run on the seeds that are scored. A seed has the same split, start,
/// directions and candidates everywhere, so that differences are paired; the noise is secret, and drawn anew.

namespace apps {

struct low_precision_options {
  std::size_t seeds = 10;  // scored: 1 to this
  std::size_t threads = 2;
  std::size_t most_jobs = std::numeric_limits<std::size_t>::max();  // to begin
  std::filesystem::path data{};
  bool quick = false;

  std::size_t steps() const { return quick ? 60 : 10'000; }
  std::size_t records() const { return quick ? 60 : 400; }
};

/// A smoothing, and what a table calls it.
struct named_smoothing {
  double value;
  char const* name;
};

/// Of the runs, in increasing order: two powers of two, and their decimal neighbours.
inline constexpr named_smoothing ladder[] = {
    {0x1p-10, "2⁻¹⁰"}, {1e-3, "0.001"}, {0x1p-7, "2⁻⁷"}, {1e-2, "0.01"}};
inline constexpr std::size_t ladder_size = std::size(ladder);

/// Of the moves there and back where nothing is released.
inline constexpr named_smoothing fine_ladder[] = {
    {1e-4, "0.0001"}, {0x1p-13, "2⁻¹³"}, {0x1p-10, "2⁻¹⁰"}, {1e-3, "0.001"},
    {0x1p-8, "2⁻⁸"},  {3e-3, "0.003"},   {0x1p-7, "2⁻⁷"},   {1e-2, "0.01"},
    {0x1p-5, "2⁻⁵"},  {3e-2, "0.03"},    {0x1p-4, "2⁻⁴"},   {1e-1, "0.1"}};

/// Learning rates that a system is tuned over, increasing.
std::vector<double> rates_of(private_system system);

using scores = std::vector<double>;  // by seed

/// An arm at a μ.
struct arm_scores {
  double rate = 0.0;
  bool at_the_edge = false;  // of the rates
  double tuned = 0.0;        // mean accuracy on the tuning seeds
  scores accuracy;
};

/// The releases of the float run replayed in an arm: at each μ of the ladder, and the updates alone.
struct drift_scores {
  scores distance;  // over how far the float run moved
  scores accuracy;  // minus that of the float run
};

struct system_scores {
  private_system system{};
  std::vector<std::vector<arm_scores>> arms;  // by arm and μ
  std::vector<std::size_t> best;  // of each arm, the μ of the best mean on the tuning seeds
  std::vector<std::vector<drift_scores>>
      drift;                         // by arm, then the ladder and after it the updates alone
  std::vector<scores> microseconds;  // of processor a step, by arm
  scores moved;                      // how far the float run moved, root of the mean square
};

/// A pass over a million entries: nanoseconds of processor an entry, by repetition.
struct pass_times {
  std::string pass;
  std::vector<scores> by_type;  // float, bfloat16, half; empty where there is none
};

/// An arm of quantised parameters, or float beside it, at the μ and rate of the best mean on the tuning seeds.
struct quantised_scores {
  storage_arm arm{};
  double smoothing = 0.0;
  double rate = 0.0;
  bool at_the_edge = false;  // of the rates
  scores accuracy{};
  scores microseconds{};  // of processor a step
};

/// The system whose parameters are quantised, and the μ and rates that it is tuned over.
inline constexpr private_system quantised_system = private_system::paczero_mi;
inline constexpr double quantised_ladder[] = {0x1p-6, 0x1p-4};
inline constexpr double quantised_rates[] = {1e-4, 3e-4, 1e-3, 3e-3};

struct low_precision_results {
  std::vector<quantised_scores> quantised;
  std::vector<system_scores> systems;
  std::vector<std::vector<scores>>
      rest;  // bfloat16 and half: root mean square, by μ of the fine ladder
  scores start_accuracy;
  std::vector<pass_times> passes;
  double load = 0.0;  // of the machine, before the passes were timed: the average of a minute
  bool whole = false;
};

/// Runs what the log does not have, and reads all from it.
low_precision_results run_study(low_precision_options const& how, run_log& log);

}  // namespace apps
