// SPDX-License-Identifier: Apache-2.0
#include "rldp/soft_actor_critic.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace apps {

namespace {

// The actor's second half is bent into [−5, 2]: logarithms of deviations.
constexpr double lowest_log = -5.0;
constexpr double highest_log = 2.0;

// log(1 − tanh² u) = 2(log 2 − |u| − log(1 + e^{−2|u|})), where nothing cancels.
double log_slope(double u) {
  double const size = std::abs(u);
  return 2.0 * (std::numbers::ln2 - size - std::log1p(std::exp(-2.0 * size)));
}

}  // namespace

soft_actor_critic::soft_actor_critic(Eigen::Index state, Eigen::Index action, std::uint64_t seed,
                                     sac_options const& options)
    : options_(options),
      actions_(action),
      encoder_(encoder::at(0, state, options.width)),
      critics_{critic::at(encoder_.end(), options.width + action, options.width),
               critic::at(critic::at(encoder_.end(), options.width + action, options.width).end(),
                          options.width + action, options.width)},
      actor_{0, options.width, 2 * action},
      random_(seed),
      critic_theta_(critics_[1].end()),
      actor_theta_(actor_.end()),
      critic_adam_(critics_[1].end(), options.critic_rate),
      actor_adam_(actor_.end(), options.actor_rate) {
  random_.initialise(encoder_, critic_theta_);
  for (critic const& q : critics_) random_.initialise(q, critic_theta_);
  random_.initialise(actor_, actor_theta_);
  actor_theta_ *= 0.01;  // no opinion at first
  target_theta_ = critic_theta_;
}

soft_actor_critic::draw soft_actor_critic::draw_actions(real_vector const& actor,
                                                        real_matrix const& features,
                                                        real_matrix const& noise) const {
  draw d;
  d.head = actor_.forward(actor, features);
  Eigen::ArrayXXd const log_deviation =
      lowest_log +
      0.5 * (highest_log - lowest_log) * (1.0 + d.head.bottomRows(actions_).array().tanh());
  d.deviation = log_deviation.exp().matrix();
  d.pre_action = d.head.topRows(actions_) + d.deviation.cwiseProduct(noise);
  d.action = d.pre_action.array().tanh().matrix();
  double const constant = 0.5 * std::log(2.0 * std::numbers::pi);
  d.log_density = (-0.5 * noise.array().square() - log_deviation - constant -
                   d.pre_action.array().unaryExpr(&log_slope))
                      .colwise()
                      .sum()
                      .matrix();
  return d;
}

real_vector soft_actor_critic::act(real_vector const& state) {
  real_matrix const features = encoder_.forward(critic_theta_, state).out;
  return draw_actions(actor_theta_, features, random_.normals(actions_, 1)).action;
}

real_vector soft_actor_critic::mean_action(real_vector const& state) const {
  real_matrix const features = encoder_.forward(critic_theta_, state).out;
  return actor_.forward(actor_theta_, features).topRows(actions_).array().tanh().matrix();
}

void soft_actor_critic::learn(real_vector const& state, real_vector const& action, double reward,
                              real_vector const& next) {
  experience now{state, action, next, reward};
  if (replay_.size() < options_.replay) {
    replay_.push_back(std::move(now));
  } else {
    replay_[oldest_] = std::move(now);
    oldest_ = (oldest_ + 1) % replay_.size();
  }
  for (int k = 0; k < options_.updates; ++k) update();
}

Eigen::RowVectorXd soft_actor_critic::targets(batch const& seen) {
  Eigen::Index const size = seen.next.cols();
  draw const then = draw_actions(actor_theta_, encoder_.forward(critic_theta_, seen.next).out,
                                 random_.normals(actions_, size));
  real_matrix const features = encoder_.forward(target_theta_, seen.next).out;
  real_matrix const value =
      critics_[0]
          .forward(target_theta_, features, then.action)
          .value.cwiseMin(critics_[1].forward(target_theta_, features, then.action).value);
  return seen.reward + options_.discount * (value.row(0) - options_.temperature * then.log_density);
}

double soft_actor_critic::critic_loss(real_vector const& theta, batch const& seen,
                                      Eigen::RowVectorXd const& target,
                                      real_vector& gradient) const {
  double const share = 1.0 / static_cast<double>(seen.state.cols());
  gradient.setZero(theta.size());
  encoder::trace const features = encoder_.forward(theta, seen.state);
  real_matrix d_features = real_matrix::Zero(options_.width, seen.state.cols());
  double loss = 0.0;
  for (critic const& q : critics_) {
    critic::trace const past = q.forward(theta, features.out, seen.action);
    real_matrix const error = past.value.row(0) - target;
    loss += 0.5 * share * error.squaredNorm();
    d_features += q.backward(theta, past, share * error, gradient).topRows(options_.width);
  }
  encoder_.backward(theta, features, d_features, gradient);
  return loss;
}

double soft_actor_critic::actor_loss(real_vector const& theta, real_matrix const& states,
                                     real_matrix const& noise, real_vector& gradient) const {
  double const share = 1.0 / static_cast<double>(states.cols());
  real_matrix const features = encoder_.forward(critic_theta_, states).out;
  draw const drawn = draw_actions(theta, features, noise);

  // Q is that of the critic which says less, sample by sample.
  critic::trace const values[2] = {critics_[0].forward(critic_theta_, features, drawn.action),
                                   critics_[1].forward(critic_theta_, features, drawn.action)};
  Eigen::RowVectorXd const second_less =
      (values[1].value.array() < values[0].value.array()).cast<double>().row(0).matrix();
  real_vector ignored = real_vector::Zero(critic_theta_.size());
  real_matrix d_action = real_matrix::Zero(actions_, states.cols());
  for (int j = 0; j < 2; ++j) {
    real_matrix const chosen =
        j == 1 ? real_matrix(second_less) : real_matrix((1.0 - second_less.array()).matrix());
    d_action +=
        critics_[j].backward(critic_theta_, values[j], chosen, ignored).bottomRows(actions_);
  }
  double const loss = share * (options_.temperature * drawn.log_density -
                               values[0].value.cwiseMin(values[1].value).row(0))
                                  .sum();

  // With u = mean + deviation·noise and a = tanh u: d log π/du = 2a, da/du = 1 − a²; and log π falls by
  // the logarithm of the deviation.
  Eigen::ArrayXXd const a = drawn.action.array();
  Eigen::ArrayXXd const d_pre =
      share * (options_.temperature * 2.0 * a - d_action.array() * (1.0 - a.square()));
  Eigen::ArrayXXd const d_log =
      d_pre * drawn.deviation.array() * noise.array() - share * options_.temperature;
  Eigen::ArrayXXd const bend = 0.5 * (highest_log - lowest_log) *
                               (1.0 - drawn.head.bottomRows(actions_).array().tanh().square());
  real_matrix d_head(2 * actions_, states.cols());
  d_head << d_pre.matrix(), (d_log * bend).matrix();
  gradient.setZero(theta.size());
  (void)actor_.backward(theta, features, d_head, gradient);
  return loss;
}

void soft_actor_critic::update() {
  auto const size =
      std::min<Eigen::Index>(options_.batch, static_cast<Eigen::Index>(replay_.size()));
  experience const& any = replay_.front();
  batch seen{real_matrix(any.state.size(), size), real_matrix(actions_, size),
             real_matrix(any.state.size(), size), Eigen::RowVectorXd(size)};
  for (Eigen::Index k = 0; k < size; ++k) {
    experience const& e = replay_[random_.below(replay_.size())];
    seen.state.col(k) = e.state;
    seen.action.col(k) = e.action;
    seen.next.col(k) = e.next;
    seen.reward[k] = e.reward;
  }
  real_vector gradient;
  Eigen::RowVectorXd const target = targets(seen);
  (void)critic_loss(critic_theta_, seen, target, gradient);
  critic_adam_.step(critic_theta_, gradient);
  (void)actor_loss(actor_theta_, seen.state, random_.normals(actions_, size), gradient);
  actor_adam_.step(actor_theta_, gradient);
  target_theta_ += options_.target_rate * (critic_theta_ - target_theta_);
}

}  // namespace apps
