// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dpzero/study.hpp"
#include "runs/run_log.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

/// DPZero's synthetic study with seeds: in each problem every arm runs its grid on the tuning seeds, and the setting
/// of the least mean norm is run on the seeds that are scored. A seed draws the same records for all arms, so that
/// differences are paired. The parameters of the theorems are not tuned.

namespace apps {

/// A way to train, and the settings that it is tuned over.
struct study_arm {
  std::string name;
  std::vector<study_setting> grid;  // empty: as a theorem sets it
  int theorem = 0;                  // 1, 2 or 3
};

struct experiment_options {
  std::vector<effective_rank> ranks{effective_rank::whole, effective_rank::root,
                                    effective_rank::logarithmic};
  std::vector<std::size_t> dimensions{20, 60, 180};
  std::size_t records = 2'000;  // the paper: 10'000
  std::size_t seeds = 10;       // scored: 1 to this
  std::size_t threads = 2;
  std::size_t most_jobs = std::numeric_limits<std::size_t>::max();  // to begin
  bool quick = false;
};

/// Not quick: 16 settings an arm. `records` decides the steps of the theorems alone.
std::vector<study_arm> arms_of(bool quick);

/// What Theorem `number` of the paper sets for n records, in a problem whose gradients are at most `lipschitz` long.
/// With ℓ = 1, r = tr A and log = ln(e + ε/δ):
///   1: α = 1/4ℓd,       T = nε/√(d·log),                C = Ld    (DPGD-0th)
///   2: α = 1/4ℓ(r + 2), T = n(r + 2)ε/(d√(r·log)),      C = Ld    (DPGD-0th)
///   3: α = 1/4ℓ(r + 2), T = n(r + 2)ε/(4√(r·log)),      C = √2·C₀ (DPZero)
/// T is rounded, to 1 at least. C₀ is the least for which the paper's bound says that with probability .99 no scalar
/// of the run is clipped: 2√2π·e^(−C₀²/8L²)·Tn = .01.
study_setting setting_of_theorem(int number, study_problem const& problem, double lipschitz);

/// max_i ‖Ax_i‖: the longest gradient of a record at the start. The paper's L, which a quadratic does not have.
double longest_gradient(study_problem const& problem);

/// An arm in a problem: the setting, and its scores by seed.
struct study_result {
  std::size_t arm;
  effective_rank rank;
  std::size_t dimension;
  study_setting setting;
  bool at_the_edge = false;  // of its grid, in α
  std::vector<double> norms;
};

struct experiment_results {
  std::vector<study_arm> arms;
  std::vector<study_result> rows;  // of the problems that are done
  bool whole = false;
};

/// Runs what the log does not have, and reads all from it.
experiment_results run_experiment(experiment_options const& how, run_log& log);

/// The slope of log norm over log d by least squares, for each seed; empty unless there are two dimensions.
std::vector<double> slopes(std::vector<study_result const*> const& by_dimension);

}  // namespace apps
