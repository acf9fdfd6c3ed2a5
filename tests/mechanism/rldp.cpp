// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/gaussian.hpp>
#include <tacit/mechanism/rldp.hpp>
#include <tacit/mechanism/unsound_rldp.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

using namespace tacit;

namespace {

static_assert(first_order_mechanism<pairwise_gaussian<>>);
static_assert(first_order_mechanism<unsound_rldp<>>);

template <class M>
concept tells_epsilon = requires(M const& m) {
  m.epsilon();
};
template <class M>
concept tells_event = requires(M const& m) {
  m.event();
};
template <class M>
concept tells_public_state = requires(M const& m) {
  m.state();
};
static_assert(tells_epsilon<pairwise_gaussian<>> && tells_event<pairwise_gaussian<>>);
static_assert(!tells_epsilon<unsound_rldp<>> && !tells_event<unsound_rldp<>> &&
              !tells_public_state<unsound_rldp<>>);

// Two groups, of 2 and 3 parameters; every record in every step.
std::vector<parameter_range> const pair_groups{{0, 2}, {2, 5}};

pairwise_options every_record(std::size_t records, std::size_t steps) {
  return {.rate = 1.0,
          .expected_records = static_cast<double>(records),
          .steps = steps,
          .budget = {.epsilon = 1e12, .delta = 1e-5}};
}

// So little noise that sums can be read.
pairwise_controls loud() { return {{1.0, 2.0}, {0x1p-10, 0x1p-10}}; }

double multiplier_of(event const& what) { return std::get<gaussian>(what.what).noise_multiplier; }

// Norms 5 and 2 times the record's number plus one.
double gradient_of_record(std::size_t record, std::span<float> out) {
  auto const scale = static_cast<float>(record + 1);
  out[0] = 3.0F * scale;
  out[1] = -4.0F * scale;
  out[2] = 0.0F;
  out[3] = 2.0F * scale;
  out[4] = 0.0F;
  return 0.5 * static_cast<double>(record);
}

/// What the paper charges for a step of n groups with noise multiplier σ: one release of multiplier
/// σ, where the joint release has σ/√n.
event paper_event(double noise_multiplier, double rate) {
  return sampled(gaussian{noise_multiplier}, poisson{rate});
}

}  // namespace

TEST_CASE("n groups of one noise multiplier are charged with it over the root of n") {
  std::size_t const n = 24;
  std::vector<parameter_range> groups;
  for (std::size_t i = 0; i < n; ++i) groups.push_back({i, i + 1});
  pairwise_options options = every_record(10, 5);
  options.rate = 0.3;
  pairwise_controls const controls{std::vector<double>(n, 0.1), std::vector<double>(n, 6.0)};
  pairwise_gaussian plain(groups, options, controls, participants(10));
  double const joint = multiplier_of(plain.event());
  CHECK(joint <= 6.0 / std::sqrt(24.0));
  CHECK(joint == Approx(6.0 / std::sqrt(24.0)).epsilon(1e-12));
  CHECK(std::get<poisson>(plain.event().how).rate == 0.3);
  // The paper charges the multiplier itself: 4.9 times the noise that is there.
  CHECK(multiplier_of(paper_event(6.0, 0.3)) / joint == Approx(4.898979).epsilon(1e-6));

  options.share_noise_multiplier = 20.0;
  options.loss_noise_multiplier = 30.0;
  options.loss_clip = 5.0;
  pairwise_gaussian with(groups, options, controls, participants(10));
  CHECK(multiplier_of(with.event()) ==
        Approx(1.0 / std::sqrt(24.0 / 36.0 + 24.0 / 400.0 + 1.0 / 900.0)).epsilon(1e-12));

  pairwise_controls uneven = controls;
  uneven.noise_multipliers[3] = 1.0;
  with.set(uneven);
  CHECK(multiplier_of(with.event()) ==
        Approx(1.0 / std::sqrt(23.0 / 36.0 + 1.0 + 24.0 / 400.0 + 1.0 / 900.0)).epsilon(1e-12));
}

TEST_CASE("an accountant catches the charge without the root") {
  std::vector<clipped_group> const pairs(24, {1.0, 20.0});
  gaussian_accountant claimed(adjacency::add_remove);
  gaussian_accountant true_loss(adjacency::add_remove);
  claimed.compose(paper_event(20.0, 1.0), 100);
  true_loss.compose(sampled(joint_gaussian(pairs), poisson{1.0}), 100);
  // A record whose gradient reaches every clip attains the bound.
  CHECK(true_loss.epsilon(1e-5).lower > 4.0 * claimed.epsilon(1e-5).upper);
}

TEST_CASE("the filter is charged before a step, and ends the run") {
  pairwise_options options{.rate = 0.2,
                           .expected_records = 40.0,
                           .steps = 1000,
                           .budget = {.epsilon = 2.0, .delta = 1e-5}};
  pairwise_controls const controls{{1.0, 1.0}, {6.0, 6.0}};
  pairwise_gaussian mechanism(pair_groups, options, controls, participants(40), fixed_stream(1));
  CHECK(mechanism.state().progress == 0.0);
  CHECK(mechanism.state().clipped_share.empty());
  CHECK(std::isnan(mechanism.state().loss));
  double before = mechanism.epsilon();
  while (!mechanism.done()) {
    (void)mechanism.step(gradient_of_record);
    REQUIRE(mechanism.epsilon() > before);
    REQUIRE(mechanism.epsilon() <= 2.0);
    before = mechanism.epsilon();
  }
  std::size_t const stopped = mechanism.steps();
  CHECK(stopped > 20);
  CHECK(stopped < 1000);
  CHECK(mechanism.state().progress > 0.9);
  // An accountant without adaptive choices claims no more.
  renyi_accountant fixed(adjacency::add_remove);
  fixed.compose(mechanism.event(), stopped);
  CHECK(fixed.epsilon(1e-5).upper <= mechanism.epsilon() + 1e-9);

  CHECK_THROWS_AS(mechanism.step(gradient_of_record), budget_exhausted);
  CHECK(mechanism.steps() == stopped);
  CHECK(mechanism.epsilon() == before);
  // What is left pays for a step of much more noise.
  mechanism.set({{1.0, 1.0}, {200.0, 200.0}});
  CHECK(!mechanism.done());
  (void)mechanism.step(gradient_of_record);
  CHECK(mechanism.epsilon() <= 2.0);
}

TEST_CASE("a noise multiplier that just fills the budget") {
  pairwise_options options{.rate = 0.1,
                           .expected_records = 40.0,
                           .steps = 60,
                           .budget = {.epsilon = 1.5, .delta = 1e-5},
                           .share_noise_multiplier = 20.0,
                           .loss_noise_multiplier = 20.0,
                           .loss_clip = 1.0};
  double const enough = pairwise_noise_multiplier(options, 2);
  for (double const share : {1.0, 0.99}) {
    pairwise_controls const controls{{1.0, 1.0}, {share * enough, share * enough}};
    pairwise_gaussian mechanism(pair_groups, options, controls, participants(40), fixed_stream(2));
    while (!mechanism.done()) (void)mechanism.step(gradient_of_record);
    if (share == 1.0) {
      CHECK(mechanism.steps() == 60);
    } else {
      CHECK(mechanism.steps() < 60);
    }
  }
  // Too loud for a single step.
  CHECK_THROWS_AS(pairwise_gaussian(pair_groups, options, loud(), participants(40)), infeasible);
  options.share_noise_multiplier = 1.0;
  CHECK_THROWS_AS(pairwise_noise_multiplier(options, 2), infeasible);
  CHECK_THROWS_AS(pairwise_noise_multiplier(options, 0), std::invalid_argument);
}

TEST_CASE("groups are clipped apart, and summed over the public divisor") {
  pairwise_gaussian mechanism(pair_groups, every_record(4, 3), loud(),
                              participants(std::vector<bool>{true, false, true, false}),
                              fixed_stream(3));
  vector_release const y = mechanism.step(gradient_of_record);
  REQUIRE(y.value.size() == 5);
  // Record 0: (3, −4) → (.6, −.8), (0, 2, 0) stays. Record 2: (9, −12) → (.6, −.8), (0, 6, 0) → (0, 2, 0).
  std::vector<double> const expected{1.2 / 4, -1.6 / 4, 0.0, 4.0 / 4, 0.0};
  for (std::size_t j = 0; j < 5; ++j) {
    CHECK(y.value[j] == Approx(expected[j]).margin(8.0 * 2.0 * 0x1p-10 / 4));  // 8 deviations
  }
}

TEST_CASE("one record moves each group by its clip at most") {
  for (std::size_t const left_out : {0U, 2U, 3U}) {
    std::vector<bool> others(4, true);
    others[left_out] = false;
    pairwise_gaussian all(pair_groups, every_record(4, 1), loud(), participants(4),
                          fixed_stream(4));
    pairwise_gaussian rest(pair_groups, every_record(4, 1), loud(), participants(others),
                           fixed_stream(4));  // the same noise
    vector_release const a = all.step(gradient_of_record);
    vector_release const b = rest.step(gradient_of_record);
    for (std::size_t i = 0; i < 2; ++i) {
      double squares = 0.0;
      for (std::size_t j = pair_groups[i].first; j < pair_groups[i].last; ++j) {
        double const d = double{a.value[j]} - double{b.value[j]};
        squares += d * d;
      }
      CHECK(std::sqrt(squares) * 4.0 <= loud().clips[i] * (1.0 + 1e-5));
      CHECK(std::sqrt(squares) * 4.0 > loud().clips[i] * (1.0 - 1e-3));
    }
  }
}

TEST_CASE("each group has its own noise") {
  std::vector<parameter_range> const wide{{0, 3000}, {3000, 6000}};
  pairwise_gaussian mechanism(wide, every_record(8, 1), {{0.5, 4.0}, {3.0, 0.25}},
                              participants(std::vector<bool>(8, false)), fixed_stream(5));
  vector_release const y = mechanism.step(gradient_of_record);
  for (std::size_t i = 0; i < 2; ++i) {
    double const sigma = i == 0 ? 0.5 * 3.0 / 8.0 : 4.0 * 0.25 / 8.0;
    double squares = 0.0;
    for (std::size_t j = wide[i].first; j < wide[i].last; ++j) {
      squares += double{y.value[j]} * double{y.value[j]} / (sigma * sigma);
    }
    // χ² of 3000 degrees: mean 3000, deviation √6000. False alarm about 1e-6.
    CHECK(std::abs(squares - 3000.0) < 5.0 * std::sqrt(6000.0));
  }
}

TEST_CASE("the noisy shares and loss") {
  pairwise_options options = every_record(4, 2);
  options.share_noise_multiplier = 0x1p-10;
  options.loss_noise_multiplier = 0x1p-10;
  options.loss_clip = 1.0;
  pairwise_controls controls = loud();
  controls.clips = {11.0, 3.0};  // norms are 5, 10, 15, 20 and 2, 4, 6, 8
  pairwise_gaussian mechanism(pair_groups, options, controls, participants(4), fixed_stream(6));
  (void)mechanism.step(gradient_of_record);
  pairwise_state const seen = mechanism.state();
  REQUIRE(seen.clipped_share.size() == 2);
  CHECK(seen.clipped_share[0] == Approx(0.5).margin(1e-3));
  CHECK(seen.clipped_share[1] == Approx(0.75).margin(1e-3));
  CHECK(seen.clipped_share[0] != 0.5);  // noise there is
  CHECK(seen.loss == Approx((0.0 + 0.5 + 1.0 + 1.0) / 4).margin(1e-3));
  CHECK(seen.steps == 1);
  CHECK(seen.controls == controls);

  // With noise of the usual size: unbiased, of the stated deviation.
  options.share_noise_multiplier = 10.0;
  options.loss_noise_multiplier = 6.0;
  options.steps = 400;
  pairwise_gaussian noisy(pair_groups, options, controls, participants(4), fixed_stream(7));
  double sums[2] = {0.0, 0.0};
  while (!noisy.done()) {
    (void)noisy.step(gradient_of_record);
    sums[0] += (noisy.state().clipped_share[1] - 0.75) / (10.0 * 0.5 / 4.0);
    sums[1] += (noisy.state().loss - 0.625) / (6.0 * 0.5 / 4.0);
  }
  CHECK(std::abs(sums[0]) / std::sqrt(400.0) < statistics::normal_limit);
  CHECK(std::abs(sums[1]) / std::sqrt(400.0) < statistics::normal_limit);
}

TEST_CASE("a gradient or loss that is not finite is no exception") {
  pairwise_options options = every_record(2, 1);
  options.share_noise_multiplier = 0x1p-10;
  options.loss_noise_multiplier = 0x1p-10;
  options.loss_clip = 1.0;
  pairwise_controls controls = loud();
  controls.clips = {100.0, 100.0};
  pairwise_gaussian mechanism(pair_groups, options, controls, participants(2), fixed_stream(8));
  vector_release const y = mechanism.step([](std::size_t record, std::span<float> out) {
    (void)gradient_of_record(0, out);
    if (record == 1) out[0] = static_cast<float>(not_a_number);
    return record == 1 ? not_a_number : 0.0;
  });
  CHECK(y.value[0] == Approx(1.5).margin(0.5));
  CHECK(y.value[3] == Approx(2.0).margin(0.5));
  CHECK(mechanism.state().clipped_share[0] == Approx(0.5).margin(1e-2));
  CHECK(mechanism.state().loss == Approx(0.5).margin(1e-2));
}

TEST_CASE("pairwise_gaussian refuses what has no meaning, and charges nothing then") {
  pairwise_options options = every_record(3, 4);
  pairwise_gaussian mechanism(pair_groups, options, loud(), participants(3));
  double const before = mechanism.epsilon();
  for (double const bad : {0.0, -1.0, infinity, not_a_number}) {
    CHECK_THROWS_AS(mechanism.set({{1.0, bad}, {1.0, 1.0}}), std::domain_error);
    CHECK_THROWS_AS(mechanism.set({{1.0, 1.0}, {bad, 1.0}}), std::domain_error);
  }
  CHECK_THROWS_WITH(mechanism.set({{1.0, 1.0}, {3e6, 1.0}}),
                    "pairwise_gaussian::set: noise multiplier is 3e+06, but must be in [2^-10, "
                    "2^20]");
  CHECK_THROWS_AS(mechanism.set({{1.0}, {1.0, 1.0}}), std::invalid_argument);
  CHECK(mechanism.controls() == loud());

  auto const make = [&](auto change) {
    pairwise_options o = options;
    change(o);
    return pairwise_gaussian(pair_groups, o, loud(), participants(3));
  };
  for (double const bad : {0.0, 1.5, not_a_number}) {
    CHECK_THROWS_AS(make([&](pairwise_options& o) { o.rate = bad; }), std::domain_error);
  }
  for (double const bad : {0.0, infinity, not_a_number}) {
    CHECK_THROWS_AS(make([&](pairwise_options& o) { o.expected_records = bad; }),
                    std::domain_error);
    CHECK_THROWS_AS(make([&](pairwise_options& o) {
                      o.loss_noise_multiplier = 1.0;
                      o.loss_clip = bad;
                    }),
                    std::domain_error);
  }
  CHECK_THROWS_AS(make([](pairwise_options& o) { o.share_noise_multiplier = 0.0; }),
                  std::domain_error);
  CHECK_THROWS_AS(make([](pairwise_options& o) { o.budget = {}; }), std::domain_error);
  CHECK_THROWS_AS(make([](pairwise_options& o) { o.steps = 0; }), std::invalid_argument);
  CHECK_THROWS_AS(
      pairwise_gaussian(std::vector<parameter_range>{{0, 2}, {3, 5}}, options, loud(), 3),
      std::invalid_argument);

  pairwise_gaussian wants_loss = make([](pairwise_options& o) {
    o.loss_noise_multiplier = 1.0;
    o.loss_clip = 1.0;
  });
  double const nothing = wants_loss.epsilon();
  CHECK_THROWS_AS(wants_loss.step([](std::size_t, std::span<float>) {}), std::invalid_argument);
  CHECK(wants_loss.steps() == 0);
  CHECK(wants_loss.epsilon() == nothing);

  // A gradient that throws has cost its step.
  CHECK_THROWS_AS(mechanism.step([](std::size_t, std::span<float>) {
    throw std::runtime_error("no gradient");
  }),
                  std::runtime_error);
  CHECK(mechanism.steps() == 1);
  CHECK(mechanism.epsilon() > before);
  while (!mechanism.done()) (void)mechanism.step(gradient_of_record);
  CHECK(mechanism.steps() == 4);
  CHECK_THROWS_AS(mechanism.step(gradient_of_record), budget_exhausted);

  pairwise_gaussian moved = make([](pairwise_options&) {});
  pairwise_gaussian taken = std::move(moved);
  CHECK_THROWS_AS(moved.step(gradient_of_record), std::logic_error);  // NOLINT: moved from
  (void)taken.step(gradient_of_record);
}

TEST_CASE("the paper's private statistics, under a name that says so") {
  pairwise_options options = every_record(4, 2);
  CHECK_THROWS_AS(unsound_rldp(pair_groups, options, loud(), participants(4)),
                  std::invalid_argument);
  options.budget = {};
  unsound_rldp mechanism(pair_groups, options, loud(), participants(4), fixed_stream(9));
  (void)mechanism.step(gradient_of_record);
  unsound_private_statistics const seen = mechanism.unsound_statistics();
  CHECK(seen.norm_quartiles[0] == std::array<double, 3>{10.0, 15.0, 20.0});
  CHECK(seen.norm_quartiles[1] == std::array<double, 3>{4.0, 6.0, 8.0});
  CHECK(seen.fisher_mean[0] == Approx((25.0 + 100.0 + 225.0 + 400.0) / 4 / 2));
  CHECK(seen.fisher_variance[1] ==
        Approx((16.0 + 256.0 + 1296.0 + 4096.0) / 9 / 4 - std::pow(120.0 / 3 / 4, 2)));
  CHECK(seen.loss == 0.75);
  CHECK(seen.progress == 0.5);
  mechanism.set({{1.0, 1.0}, {2.0, 2.0}});
  (void)mechanism.step(gradient_of_record);
  CHECK(mechanism.done());
  CHECK_THROWS_AS(mechanism.step(gradient_of_record), budget_exhausted);
}
