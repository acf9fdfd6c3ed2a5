// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/mechanism/rldp.hpp>
#include <tacit/mechanism/unsound_rldp.hpp>

#include "rldp/soft_actor_critic.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

/// Who chooses clips and noise of a `pairwise_gaussian`, from what it has released:
///
///     mechanism.set(controller->next(mechanism.state()));   // after every step

namespace apps {

class controller {
 public:
  virtual ~controller() = default;
  /// The controls of the next step.
  virtual tacit::pairwise_controls next(tacit::pairwise_state const& seen) = 0;
};

/// What it was at first, to the end.
class fixed_controls final : public controller {
 public:
  tacit::pairwise_controls next(tacit::pairwise_state const& seen) override {
    return seen.controls;
  }
};

/// Clips that follow a quantile of the norms, by the noisy share of records below them:
/// C ← C·exp(−rate·(share below − quantile)) (Andrew et al. 2021). The noise stays. `interval`: steps between moves, whose
/// shares are averaged. With thousands of steps a share's own noise is many times the share.
class quantile_clipping final : public controller {
 public:
  /// @throws std::domain_error unless the quantile is in (0, 1) and rate positive
  /// @throws std::invalid_argument for an interval of 0
  explicit quantile_clipping(double quantile, double rate = 0.2, std::size_t interval = 1);
  /// @throws std::invalid_argument for a state without shares
  tacit::pairwise_controls next(tacit::pairwise_state const& seen) override;

 private:
  double quantile_;
  double rate_;
  std::size_t interval_;
  std::size_t seen_ = 0;
  std::vector<double> clipped_;  // the sum of the shares seen
};

struct sac_controls_options {
  std::size_t interval = 112;  ///< steps between choices; what was released in between is averaged
  std::size_t quantile_interval = 1;  ///< the same of clips that follow a quantile
  double largest_penalty = 5.0;       ///< R_max
  bool learns = true;  ///< or stays with the policy of its first weights, for comparison
  bool moves_noise = true;
  bool moves_clips = true;
  bool one_noise = false;  ///< the same for all groups, by the mean of their actions
  bool absolute_clips =
      false;  ///< min(e^a, 1) of the action itself, as printed: no step from the clip before
  sac_options learner;
};

/// RLDP's reward, max(−R_max, log(1 + max(gain/(cost + 1e-6), −0.999))): the fall of the loss for what it
/// cost in ε.
double rldp_reward(double gain, double cost, double largest_penalty);

/// RLDP's move of a control: a step of action·0.1·(1 − progress) in its logarithm, kept in a factor 2 of
/// where it began, and smoothed: four fifths of the old and one of the new.
double rldp_move(double now, double initial, double action, double progress);

/// What RLDP's controllers share: an observation in, controls out, learning on the way. 2n actions: the
/// moves of n noise multipliers and of n clips.
class sac_policy {
 public:
  sac_policy(Eigen::Index observed, std::size_t groups, std::uint64_t seed,
             sac_controls_options const& options);

  /// `cost`: what the run has spent so far, in ε.
  tacit::pairwise_controls choose(real_vector const& observed, double loss, double cost,
                                  double progress, tacit::pairwise_controls const& now);

 private:
  struct choice {
    real_vector observed, action;
    double loss, cost;
  };
  soft_actor_critic learner_;
  sac_controls_options options_;
  std::optional<choice> last_;
  std::optional<tacit::pairwise_controls> initial_;
};

/// RLDP's controller on released numbers: of each group the noisy share of clipped records and where its
/// controls stand; the noisy loss and its change; the part of the budget that is spent. Deterministic in
/// its seed. Its choices are post-processing.
class sac_controller final : public controller {
 public:
  /// @throws std::invalid_argument for no group, or an interval of 0
  sac_controller(std::uint64_t seed, std::size_t groups, sac_controls_options const& options = {});
  /// @throws std::invalid_argument for a state without shares or loss
  tacit::pairwise_controls next(tacit::pairwise_state const& seen) override;

 private:
  std::size_t groups_;
  std::size_t interval_;
  sac_policy policy_;
  std::optional<tacit::pairwise_controls> initial_;
  std::size_t seen_ = 0;
  real_vector shares_;
  double loss_ = 0.0;
  std::optional<double> last_loss_;
};

/// The paper's controller, on raw quartiles of the norms, Fisher moments and losses of secret batches. What
/// it chooses depends on the records.
class unsound_sac_controller {
 public:
  unsound_sac_controller(std::uint64_t seed, std::size_t groups,
                         sac_controls_options const& options = {});
  tacit::pairwise_controls next(tacit::unsound_private_statistics const& seen);

 private:
  std::size_t groups_;
  std::size_t interval_;
  sac_policy policy_;
  std::size_t seen_ = 0;
  double loss_ = 0.0;
};

/// "fixed", "median", "quantile" (0.75) or "sac"; and what is left of the last without its learning, "sac-random",
/// without one of its moves, "sac-clips" and "sac-noise".
/// @throws std::invalid_argument for another name
std::unique_ptr<controller> make_controller(std::string_view name, std::uint64_t seed,
                                            std::size_t groups,
                                            sac_controls_options const& options = {});

}  // namespace apps
