// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/rldp.hpp>

#include "rldp/controllers.hpp"
#include "support/catch.hpp"

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

using namespace apps;

namespace {

// The sound controller cannot be shown the private statistics, nor the unsound mechanism be steered by
// what is sound without saying so.
template <class Controller, class State>
concept reads = requires(Controller& c, State const& s) {
  c.next(s);
};
static_assert(reads<sac_controller, tacit::pairwise_state>);
static_assert(!reads<sac_controller, tacit::unsound_private_statistics>);
static_assert(!reads<controller, tacit::unsound_private_statistics>);

sac_options small() {
  sac_options out;
  out.width = 8;
  return out;
}

// The largest difference of a gradient from central differences, over the largest entry.
template <class Loss>
double worst_difference(real_vector const& theta, Loss const& loss) {
  real_vector gradient;
  real_vector ignored;
  (void)loss(theta, gradient);
  double const h = 1e-5;
  double worst = 0.0;
  for (Eigen::Index i = 0; i < theta.size(); ++i) {
    real_vector up = theta;
    real_vector down = theta;
    up[i] += h;
    down[i] -= h;
    double const slope = (loss(up, ignored) - loss(down, ignored)) / (2.0 * h);
    worst = std::max(worst, std::abs(slope - gradient[i]));
  }
  return worst / gradient.cwiseAbs().maxCoeff();
}

tacit::pairwise_state state_of(std::size_t step) {
  double const t = static_cast<double>(step);
  tacit::pairwise_state out;
  out.steps = step;
  out.controls = {{1.0, 2.0}, {4.0, 5.0}};
  out.clipped_share = {0.5 + 0.3 * std::sin(t), 0.5 + 0.3 * std::cos(t)};
  out.loss = 2.0 / (1.0 + 0.01 * t) + 0.1 * std::sin(3.0 * t);
  out.epsilon = 0.01 * t;
  out.progress = 0.002 * t;
  return out;
}

}  // namespace

TEST_CASE("gradients of critics and actor are those of their losses") {
  soft_actor_critic const learner(5, 3, 7, small());
  public_draws random(9);
  soft_actor_critic::batch const seen{random.normals(5, 4),
                                      random.normals(3, 4).array().tanh().matrix(),
                                      random.normals(5, 4), random.normals(1, 4).row(0)};
  Eigen::RowVectorXd const target = random.normals(1, 4).row(0);
  real_vector const critics =
      learner.critic_parameters() + 0.1 * random.normals(learner.critic_parameters().size(), 1);
  CHECK(worst_difference(critics, [&](real_vector const& theta, real_vector& gradient) {
          return learner.critic_loss(theta, seen, target, gradient);
        }) < 1e-7);
  real_matrix const noise = random.normals(3, 4);
  real_vector const actor =
      learner.actor_parameters() + 0.3 * random.normals(learner.actor_parameters().size(), 1);
  CHECK(worst_difference(actor, [&](real_vector const& theta, real_vector& gradient) {
          return learner.actor_loss(theta, seen.state, noise, gradient);
        }) < 1e-7);
}

TEST_CASE("soft actor-critic learns which action is rewarded") {
  sac_options options;
  options.width = 16;
  options.discount = 0.0;  // one step
  options.temperature = 0.005;
  options.critic_rate = 3e-3;
  options.actor_rate = 3e-3;
  options.batch = 16;
  options.updates = 1;
  soft_actor_critic learner(1, 1, 3, options);
  real_vector const left = real_vector::Constant(1, -1.0);
  real_vector const right = real_vector::Constant(1, 1.0);
  auto const best = [](real_vector const& s) { return s[0] > 0.0 ? 0.5 : -0.3; };
  double const before = std::abs(learner.mean_action(right)[0] - 0.5);
  CHECK(before > 0.3);
  for (int t = 0; t < 1500; ++t) {
    real_vector const& s = t % 2 == 0 ? left : right;
    real_vector const a = learner.act(s);
    learner.learn(s, a, -std::pow(a[0] - best(s), 2), s);
  }
  CHECK(std::abs(learner.mean_action(right)[0] - 0.5) < 0.15);
  CHECK(std::abs(learner.mean_action(left)[0] + 0.3) < 0.15);
}

TEST_CASE("reward and moves are RLDP's") {
  CHECK(rldp_reward(0.2, 0.1, 5.0) == Approx(std::log(1.0 + 0.2 / 0.100001)));
  CHECK(rldp_reward(-1.0, 0.1, 5.0) == -5.0);
  CHECK(rldp_reward(-1.0, 0.1, 50.0) == Approx(std::log(0.001)));
  CHECK(rldp_move(2.0, 2.0, 1.0, 0.0) == Approx(2.0 * std::exp(0.02)));
  CHECK(rldp_move(2.0, 2.0, -1.0, 0.5) == Approx(2.0 * std::exp(-0.01)));
  CHECK(rldp_move(2.0, 2.0, 1.0, 1.0) == Approx(2.0));
  double sigma = 1.0;
  for (int t = 0; t < 500; ++t) sigma = rldp_move(sigma, 1.0, 1.0, 0.0);
  CHECK(sigma == Approx(2.0).epsilon(1e-6));
}

TEST_CASE("the controller is a function of its seed and of what was released") {
  sac_controls_options options;
  options.interval = 3;
  options.learner = small();
  sac_controller one(5, 2, options);
  sac_controller same(5, 2, options);
  sac_controller other(6, 2, options);
  bool differs = false;
  tacit::pairwise_controls now = state_of(0).controls;
  tacit::pairwise_controls const first = now;
  for (std::size_t t = 1; t <= 120; ++t) {
    tacit::pairwise_state seen = state_of(t);
    seen.controls = now;
    tacit::pairwise_controls const next = one.next(seen);
    REQUIRE(next == same.next(seen));
    differs = differs || !(next == other.next(seen));
    REQUIRE((t % 3 == 0) == !(next == now));  // a choice at each interval
    for (std::size_t i = 0; i < 2; ++i) {
      REQUIRE(next.clips[i] <= 2.0 * first.clips[i] * (1.0 + 1e-12));
      REQUIRE(next.clips[i] >= 0.5 * first.clips[i] * (1.0 - 1e-12));
      REQUIRE(next.noise_multipliers[i] <= 2.0 * first.noise_multipliers[i] * (1.0 + 1e-12));
      REQUIRE(next.noise_multipliers[i] >= 0.5 * first.noise_multipliers[i] * (1.0 - 1e-12));
    }
    now = next;
  }
  CHECK(differs);

  tacit::pairwise_state bare = state_of(1);
  bare.clipped_share.clear();
  CHECK_THROWS_AS(one.next(bare), std::invalid_argument);
  bare = state_of(1);
  bare.loss = std::nan("");
  CHECK_THROWS_AS(one.next(bare), std::invalid_argument);
}

TEST_CASE("a part of the controller leaves the rest of the controls as they were") {
  auto const after = [](char const* name, sac_controls_options options) {
    options.interval = 1;
    options.learner = small();
    auto const chooser = make_controller(name, 5, 2, options);
    tacit::pairwise_controls now = state_of(0).controls;
    for (std::size_t t = 1; t <= 20; ++t) {
      tacit::pairwise_state seen = state_of(t);
      seen.controls = now;
      now = chooser->next(seen);
    }
    return now;
  };
  tacit::pairwise_controls const first = state_of(0).controls;
  tacit::pairwise_controls const all = after("sac", {});
  CHECK(all.clips != first.clips);
  CHECK(all.noise_multipliers != first.noise_multipliers);
  CHECK(after("sac-clips", {}).noise_multipliers == first.noise_multipliers);
  CHECK(after("sac-clips", {}).clips != first.clips);
  CHECK(after("sac-noise", {}).clips == first.clips);
  CHECK(after("sac-noise", {}).noise_multipliers != first.noise_multipliers);
  CHECK(!(after("sac-random", {}) == all));

  sac_controls_options printed;
  printed.one_noise = true;
  printed.absolute_clips = true;
  tacit::pairwise_controls const out = after("sac", printed);
  CHECK(out.noise_multipliers[0] / first.noise_multipliers[0] ==
        Approx(out.noise_multipliers[1] / first.noise_multipliers[1]));
  for (double const clip : out.clips) {
    CHECK(clip <= 1.0);
    CHECK(clip >= std::exp(-1.0));
  }
  CHECK_THROWS_AS(make_controller("sac-", 5, 2), std::invalid_argument);
}

TEST_CASE("the paper's controller reads the private statistics") {
  sac_controls_options options;
  options.interval = 2;
  options.learner = small();
  unsound_sac_controller steering(5, 2, options);
  tacit::pairwise_options run{.rate = 1.0, .expected_records = 3.0, .steps = 8};
  tacit::unsound_rldp mechanism({{0, 1}, {1, 3}}, run, {{1.0, 1.0}, {1.0, 1.0}}, 3);
  while (!mechanism.done()) {
    (void)mechanism.step([&](std::size_t record, std::span<float> out) {
      out[0] = out[1] = out[2] = static_cast<float>(record);
      return 1.0 / static_cast<double>(1 + mechanism.steps());
    });
    mechanism.set(steering.next(mechanism.unsound_statistics()));
  }
  CHECK(!(mechanism.controls() == tacit::pairwise_controls{{1.0, 1.0}, {1.0, 1.0}}));
}

TEST_CASE("clips follow a quantile of the norms, and fixed ones stay") {
  tacit::pairwise_state seen;
  seen.controls = {{0.3, 9.0}, {1.0, 1.0}};
  auto const median = make_controller("median", 1, 2);
  auto const upper = make_controller("quantile", 1, 2);
  for (auto const& [steering, end] : {std::pair{median.get(), 2.0}, {upper.get(), 3.0}}) {
    seen.controls.clips = {0.3, 9.0};
    for (int t = 0; t < 300; ++t) {
      seen.clipped_share.clear();  // norms uniform on [0, 4]
      for (double const c : seen.controls.clips) {
        seen.clipped_share.push_back(std::max(0.0, 1.0 - c / 4.0));
      }
      seen.controls = steering->next(seen);
    }
    CHECK(seen.controls.clips[0] == Approx(end).epsilon(1e-3));
    CHECK(seen.controls.clips[1] == Approx(end).epsilon(1e-3));
    CHECK(seen.controls.noise_multipliers == std::vector<double>{1.0, 1.0});
  }
  CHECK(make_controller("fixed", 1, 2)->next(seen) == seen.controls);
  CHECK_THROWS_AS(make_controller("mean", 1, 2), std::invalid_argument);
  CHECK_THROWS_AS(quantile_clipping(1.0), std::domain_error);
  CHECK_THROWS_AS(quantile_clipping(0.5, 0.2, 0), std::invalid_argument);
  // Every four steps, by the mean of what they saw.
  quantile_clipping averaging(0.5, 0.2, 4);
  seen.controls.clips = {1.0, 1.0};
  for (double const share : {-3.0, 5.0, 1.0, 0.6}) {
    CHECK(seen.controls.clips[0] == 1.0);
    seen.clipped_share = {share, 0.5};
    seen.controls = averaging.next(seen);
  }
  CHECK(seen.controls.clips[0] == Approx(std::exp(0.2 * (0.9 - 0.5))));
  CHECK(seen.controls.clips[1] == Approx(1.0));
  seen.clipped_share.clear();
  CHECK_THROWS_AS(median->next(seen), std::invalid_argument);
}

TEST_CASE("the controller steers the mechanism inside its budget") {
  tacit::pairwise_options options{.rate = 0.5,
                                  .expected_records = 20.0,
                                  .steps = 40,
                                  .budget = {.epsilon = 3.0, .delta = 1e-5},
                                  .share_noise_multiplier = 30.0,
                                  .loss_noise_multiplier = 30.0,
                                  .loss_clip = 4.0};
  double const noise = tacit::pairwise_noise_multiplier(options, 2);
  tacit::pairwise_gaussian mechanism({{0, 1}, {1, 3}}, options, {{1.0, 1.0}, {noise, noise}}, 20);
  sac_controls_options choices;
  choices.interval = 4;
  choices.learner = small();
  auto const steering = make_controller("sac", 3, 2, choices);
  while (!mechanism.done()) {
    (void)mechanism.step([](std::size_t record, std::span<float> out) {
      out[0] = out[1] = out[2] = static_cast<float>(record) * 0.1F;
      return 1.0;
    });
    mechanism.set(steering->next(mechanism.state()));
  }
  CHECK(mechanism.steps() > 20);
  CHECK(mechanism.epsilon() <= 3.0);
}
