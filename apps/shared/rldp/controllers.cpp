// SPDX-License-Identifier: Apache-2.0
#include "rldp/controllers.hpp"

#include <tacit/core/check.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace apps {

namespace {

void check_shares(char const* who, tacit::pairwise_state const& seen) {
  tacit::detail::check_size(who, "number of released shares", seen.clipped_share.size(),
                            seen.controls.clips.size());
}

Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

}  // namespace

quantile_clipping::quantile_clipping(double quantile, double rate, std::size_t interval)
    : quantile_(quantile), rate_(rate), interval_(interval) {
  tacit::detail::require_domain(quantile > 0.0 && quantile < 1.0, "quantile_clipping", "quantile",
                                quantile, "in (0, 1)");
  tacit::detail::check_positive("quantile_clipping", "rate", rate);
  tacit::detail::require_argument(interval > 0, "quantile_clipping", "interval", interval,
                                  "at least 1");
}

tacit::pairwise_controls quantile_clipping::next(tacit::pairwise_state const& seen) {
  check_shares("quantile_clipping", seen);
  tacit::pairwise_controls out = seen.controls;
  clipped_.resize(out.clips.size());
  for (std::size_t i = 0; i < clipped_.size(); ++i) clipped_[i] += seen.clipped_share[i];
  if (++seen_ < interval_) return out;
  double const steps = static_cast<double>(std::exchange(seen_, 0));
  for (std::size_t i = 0; i < out.clips.size(); ++i) {
    double const share = std::exchange(clipped_[i], 0.0) / steps;
    double const below = 1.0 - std::clamp(share, 0.0, 1.0);
    out.clips[i] *= std::exp(-rate_ * (below - quantile_));
    out.clips[i] = std::clamp(out.clips[i], 1e-12, 1e12);
  }
  return out;
}

double rldp_reward(double gain, double cost, double largest_penalty) {
  double const ratio = std::max(gain / (cost + 1e-6), -0.999);
  return std::max(-largest_penalty, std::log1p(ratio));
}

double rldp_move(double now, double initial, double action, double progress) {
  double const step = 0.1 * (1.0 - progress) * action;
  double const target =
      std::clamp(std::log(now) + step, std::log(0.5 * initial), std::log(2.0 * initial));
  return std::exp(0.8 * std::log(now) + 0.2 * target);
}

sac_policy::sac_policy(Eigen::Index observed, std::size_t groups, std::uint64_t seed,
                       sac_controls_options const& options)
    : learner_(observed, index(2 * groups), seed, options.learner), options_(options) {}

tacit::pairwise_controls sac_policy::choose(real_vector const& observed, double loss, double cost,
                                            double progress, tacit::pairwise_controls const& now) {
  if (!initial_) initial_ = now;
  if (last_ && options_.learns) {
    double const reward =
        rldp_reward(last_->loss - loss, cost - last_->cost, options_.largest_penalty);
    learner_.learn(last_->observed, last_->action, reward, observed);
  }
  real_vector const action = learner_.act(observed);
  last_ = choice{observed, action, loss, cost};

  tacit::pairwise_controls out = now;
  std::size_t const n = now.clips.size();
  double const mean = action.head(index(n)).mean();
  for (std::size_t i = 0; i < n; ++i) {
    if (options_.moves_noise) {
      out.noise_multipliers[i] = rldp_move(now.noise_multipliers[i], initial_->noise_multipliers[i],
                                           options_.one_noise ? mean : action[index(i)], progress);
    }
    if (!options_.moves_clips) continue;
    double const by = action[index(n + i)];
    out.clips[i] = options_.absolute_clips
                       ? std::min(std::exp(by), 1.0)
                       : rldp_move(now.clips[i], initial_->clips[i], by, progress);
  }
  return out;
}

sac_controller::sac_controller(std::uint64_t seed, std::size_t groups,
                               sac_controls_options const& options)
    : groups_(groups),
      interval_(options.interval),
      policy_(index(3 * groups + 3), groups, seed, options),
      shares_(real_vector::Zero(index(groups))) {
  tacit::detail::require_argument(groups >= 1, "sac_controller", "groups", groups, "at least 1");
  tacit::detail::require_argument(interval_ >= 1, "sac_controller", "interval", interval_,
                                  "at least 1");
}

tacit::pairwise_controls sac_controller::next(tacit::pairwise_state const& seen) {
  check_shares("sac_controller", seen);
  tacit::detail::check_size("sac_controller", "number of groups", seen.controls.clips.size(),
                            groups_);
  if (!std::isfinite(seen.loss)) {
    throw std::invalid_argument("sac_controller: loss is not released, but must be");
  }
  if (!initial_) initial_ = seen.controls;
  for (std::size_t i = 0; i < groups_; ++i) {
    shares_[index(i)] += std::clamp(seen.clipped_share[i], 0.0, 1.0);
  }
  loss_ += seen.loss;
  if (++seen_ < interval_) return seen.controls;

  double const steps = static_cast<double>(std::exchange(seen_, 0));
  double const loss = std::exchange(loss_, 0.0) / steps;
  real_vector observed(index(3 * groups_ + 3));
  for (std::size_t i = 0; i < groups_; ++i) {
    observed[index(3 * i)] = 2.0 * shares_[index(i)] / steps - 1.0;
    observed[index(3 * i + 1)] = std::log(seen.controls.clips[i] / initial_->clips[i]);
    observed[index(3 * i + 2)] =
        std::log(seen.controls.noise_multipliers[i] / initial_->noise_multipliers[i]);
  }
  shares_.setZero();
  observed[index(3 * groups_)] = loss;
  observed[index(3 * groups_ + 1)] = loss - last_loss_.value_or(loss);
  observed[index(3 * groups_ + 2)] = seen.progress;
  last_loss_ = loss;
  return policy_.choose(observed, loss, seen.epsilon, seen.progress, seen.controls);
}

unsound_sac_controller::unsound_sac_controller(std::uint64_t seed, std::size_t groups,
                                               sac_controls_options const& options)
    : groups_(groups),
      interval_(options.interval),
      policy_(index(7 * groups + 2), groups, seed, options) {
  tacit::detail::require_argument(groups >= 1, "unsound_sac_controller", "groups", groups,
                                  "at least 1");
  tacit::detail::require_argument(interval_ >= 1, "unsound_sac_controller", "interval", interval_,
                                  "at least 1");
}

tacit::pairwise_controls unsound_sac_controller::next(
    tacit::unsound_private_statistics const& seen) {
  tacit::detail::check_size("unsound_sac_controller", "number of groups",
                            seen.controls.clips.size(), groups_);
  loss_ += seen.loss;
  if (++seen_ < interval_) return seen.controls;
  double const loss = std::exchange(loss_, 0.0) / static_cast<double>(std::exchange(seen_, 0));
  real_vector observed(index(7 * groups_ + 2));
  for (std::size_t i = 0; i < groups_; ++i) {
    Eigen::Index const at = index(7 * i);
    for (std::size_t k = 0; k < 3; ++k) {
      observed[at + index(k)] = std::log(seen.norm_quartiles[i][k] + 1e-12);
    }
    observed[at + 3] = std::log(seen.fisher_mean[i] + 1e-12);
    observed[at + 4] = std::log(seen.fisher_variance[i] + 1e-12);
    observed[at + 5] = std::log(seen.controls.clips[i]);
    observed[at + 6] = std::log(seen.controls.noise_multipliers[i]);
  }
  observed[index(7 * groups_)] = loss;
  observed[index(7 * groups_ + 1)] = seen.progress;
  return policy_.choose(observed, loss, seen.progress, seen.progress, seen.controls);
}

std::unique_ptr<controller> make_controller(std::string_view name, std::uint64_t seed,
                                            std::size_t groups,
                                            sac_controls_options const& options) {
  if (name == "fixed") return std::make_unique<fixed_controls>();
  if (name == "median")
    return std::make_unique<quantile_clipping>(0.5, 0.2, options.quantile_interval);
  if (name == "quantile")
    return std::make_unique<quantile_clipping>(0.75, 0.2, options.quantile_interval);
  if (name.starts_with("sac")) {
    sac_controls_options part = options;
    part.learns = name != "sac-random";
    part.moves_noise = name != "sac-clips";
    part.moves_clips = name != "sac-noise";
    if (name == "sac" || !part.learns || !part.moves_noise || !part.moves_clips) {
      return std::make_unique<sac_controller>(seed, groups, part);
    }
  }
  throw std::invalid_argument(
      "make_controller: name is " + std::string(name) +
      ", but must be fixed, median, quantile, sac, sac-random, sac-clips or sac-noise");
}

}  // namespace apps
