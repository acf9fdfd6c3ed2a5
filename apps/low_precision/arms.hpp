// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/mechanism/release.hpp>
#include <tacit/zo/options.hpp>

#include "training/mlp.hpp"
#include "training/task.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// One zeroth-order run whose parameters are stored in float, bfloat16 or half, and the replay of a run's releases in
/// another storage.

namespace apps {

enum class private_system { paczero_mi, paczero_zpl, dpzero, dp_aggzo, dp_zo_laplace };
inline constexpr private_system all_systems[] = {
    private_system::paczero_mi, private_system::paczero_zpl, private_system::dpzero,
    private_system::dp_aggzo, private_system::dp_zo_laplace};

/// What the parameters are stored as, and how updates are rounded to it.
enum class storage_arm {
  float32,
  bfloat16,
  bfloat16_stochastic,
  half,
  half_stochastic,
  q8_0,
  q4_0
};
inline constexpr storage_arm all_arms[] = {storage_arm::float32, storage_arm::bfloat16,
                                           storage_arm::bfloat16_stochastic, storage_arm::half,
                                           storage_arm::half_stochastic};
inline constexpr storage_arm quantised_arms[] = {storage_arm::float32, storage_arm::q8_0,
                                                 storage_arm::q4_0};
inline constexpr double quantised_room = 0.5;  // that each block has for its entries

std::string_view name_of(private_system system);
std::string_view name_of(storage_arm arm);

inline constexpr double target_epsilon = 8.0;
inline constexpr double target_delta = 1e-5;    // not of DP-ZO with Laplace noise, which is pure
inline constexpr double budget_in_nats = 0.33;  // about a record, of PACZero-MI

struct arm_setting {
  double smoothing = 0.0;      // μ
  double learning_rate = 0.0;  // falls linearly to 0
  std::size_t steps = 0;       // T
};

struct arm_result {
  double accuracy = 0.0;  // on the test part
  double seconds = 0.0;   // of processor, for all steps
  std::vector<float> theta;
  std::vector<tacit::release> releases;
};

/// Trains on all records of the private part, with the least noise for the target or the budget. `loss` is that of the
/// private part, and keeps its buffers. Of a quantised arm `theta` and `accuracy` are those of its integers, and so are the losses.
arm_result train_arm(task const& job, batch_loss& loss, private_system system, storage_arm arm,
                     arm_setting const& setting);

/// What is done in each step of a replay.
enum class replayed { all, updates_alone };

/// The start, as this arm stores it, after the releases of another arm's run.
std::vector<float> replay_in(task const& job, storage_arm arm, arm_setting const& setting,
                             std::span<tacit::release const> releases,
                             replayed what = replayed::all);

/// The root of the mean square of a − b.
double distance(std::span<float const> a, std::span<float const> b);

/// Seconds of processor that this thread has used.
double processor_seconds();

}  // namespace apps
