// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rldp/network.hpp"

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace apps {

/// The values of RLDP (July 2025).
struct sac_options {
  Eigen::Index width = 128;
  double discount = 0.99;
  double temperature = 0.04;
  double target_rate = 0.01;
  double critic_rate = 2e-4;
  double actor_rate = 1e-4;
  std::size_t replay = 10000;
  Eigen::Index batch = 4;
  int updates = 2;  ///< for each experience
};

/// Soft actor-critic (Haarnoja et al. 2018) for actions in (−1, 1)^k: an encoder that learns from the
/// critics, a Gaussian actor under tanh on its features, twin critics, and slow copies of encoder and
/// critics for the targets. Deterministic in its seed.
class soft_actor_critic {
 public:
  /// Samples of a batch, in columns.
  struct batch {
    real_matrix state, action, next;
    Eigen::RowVectorXd reward;
  };

  soft_actor_critic(Eigen::Index state, Eigen::Index action, std::uint64_t seed,
                    sac_options const& options = {});

  /// A random action of the present policy.
  real_vector act(real_vector const& state);
  /// The policy's middle: tanh of the actor's mean.
  real_vector mean_action(real_vector const& state) const;

  /// Keeps an experience, the newest `replay` of them, and learns from random ones.
  void learn(real_vector const& state, real_vector const& action, double reward,
             real_vector const& next);

  /// ½ Σ_j mean (Q_j(s, a) − target)², and its gradient.
  double critic_loss(real_vector const& theta, batch const& seen, Eigen::RowVectorXd const& target,
                     real_vector& gradient) const;

  /// mean [α·log π(a|s) − min_j Q_j(s, a)] at a = tanh(mean + deviation·noise), and its gradient in the
  /// actor's parameters. The features are held fixed.
  double actor_loss(real_vector const& theta, real_matrix const& states, real_matrix const& noise,
                    real_vector& gradient) const;

  real_vector const& critic_parameters() const { return critic_theta_; }
  real_vector const& actor_parameters() const { return actor_theta_; }

 private:
  // Actions, their log-densities, and what their gradients need.
  struct draw {
    real_matrix head, action, deviation, pre_action;
    Eigen::RowVectorXd log_density;
  };
  struct experience {
    real_vector state, action, next;
    double reward;
  };

  draw draw_actions(real_vector const& actor, real_matrix const& features,
                    real_matrix const& noise) const;
  Eigen::RowVectorXd targets(batch const& seen);
  void update();

  sac_options options_;
  Eigen::Index actions_;
  encoder encoder_;
  critic critics_[2];
  linear actor_;
  public_draws random_;
  real_vector critic_theta_;
  real_vector target_theta_;
  real_vector actor_theta_;
  adam critic_adam_;
  adam actor_adam_;
  std::vector<experience> replay_;
  std::size_t oldest_ = 0;
};

}  // namespace apps
