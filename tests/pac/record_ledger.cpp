// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/record_ledger.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

using support::exact;
using tacit::candidate_set;
using tacit::flip;
using tacit::nats;
using tacit::posterior;
using tacit::record_exposure;
using tacit::record_ledger;

constexpr double slack = 1e-13;  // of the beliefs below: one observation each

struct universe {
  candidate_set candidates;
  posterior belief;
  std::vector<std::int8_t> signs;
};

/// M = 8, N = 6, a random column each, a random belief and a disagreement.
universe random_universe(std::mt19937_64& random, double spread, std::size_t one_in = 2) {
  std::normal_distribution<double> normal(0.0, spread);
  std::vector<double> weights(8);
  for (double& w : weights) w = normal(random);
  std::vector<std::int8_t> drawn(8);
  do {
    for (auto& s : drawn) s = (random() >> 33 & 1) != 0 ? 1 : -1;
  } while (std::count(drawn.begin(), drawn.end(), 1) % 8 == 0);
  return {candidate_set::balanced({.records = 6, .subsets = 8, .one_in = one_in}, random()),
          posterior::from_log_weights(weights), drawn};
}

exact correlation_of(flip const& noise) {
  return noise.correlation() <= 0.5 ? exact(noise.correlation())
                                    : exact(1 - 2 * exact(noise.probability()));
}

/// The same world in 50 digits, by its definition: P(U, Y) added up over all candidates.
struct enumerated {
  std::vector<exact> p;
  universe const& world;

  explicit enumerated(universe const& source) : world(source) {
    exact total = 0;
    for (double const w : world.belief.log_weights()) {
      p.push_back(exp(exact(w)));
      total += p.back();
    }
    for (exact& x : p) x /= total;
  }

  [[nodiscard]] exact joint(std::size_t record, bool inside, int y, exact const& rho) const {
    exact sum = 0;
    for (std::size_t m = 0; m < p.size(); ++m) {
      if (world.candidates.contains(m, record) == inside) {
        sum += p[m] * (1 + y * rho * world.signs[m]) / 2;
      }
    }
    return sum;
  }

  [[nodiscard]] exact information(std::size_t record, exact const& rho) const {
    exact total = 0;
    for (int const y : {-1, 1}) {
      exact const of_y = joint(record, true, y, rho) + joint(record, false, y, rho);
      for (bool const inside : {false, true}) {
        exact const both = joint(record, inside, y, rho);
        exact const of_u = joint(record, inside, -1, rho) + joint(record, inside, 1, rho);
        if (both > 0) total += both * log(exact(both / (of_y * of_u)));
      }
    }
    return total;
  }

  /// The record's posterior after the outcome.
  [[nodiscard]] exact after(std::size_t record, int y, exact const& rho) const {
    exact const inside = joint(record, true, y, rho);
    return inside / (inside + joint(record, false, y, rho));
  }

  [[nodiscard]] bool all_within(exact const& prior, exact const& kappa, exact const& rho) const {
    for (std::size_t i = 0; i < world.candidates.records(); ++i) {
      for (int const y : {-1, 1}) {
        if (abs(exact(after(i, y, rho) - prior)) > kappa) return false;
      }
    }
    return true;
  }
};

record_exposure exposure_of(universe const& world) {
  return {world.candidates, world.belief, world.signs, slack};
}

std::vector<flip> some_flips() {
  std::vector<flip> flips;
  for (double const rho : {1e-15, 1e-8, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99}) {
    flips.push_back(flip::with_correlation(rho));
  }
  for (double const e : {1e-3, 1e-6, 1e-20, 0.0}) flips.push_back(flip::with_probability(e));
  return flips;
}

}  // namespace

TEST_CASE("what a release tells about each record is priced from above, and closely",
          "[record_ledger][long]") {
  std::mt19937_64 random(1);
  int below = 0;
  int loose = 0;
  int compared = 0;
  double worst_excess = 0.0;
  for (int run = 0; run < 60; ++run) {
    double const spread = run % 4 == 0 ? 0.1 : run % 4 == 1 ? 1.0 : run % 4 == 2 ? 4.0 : 20.0;
    universe const world = random_universe(random, spread, run % 3 == 0 ? 4 : 2);
    enumerated const truth(world);
    record_exposure const exposure = exposure_of(world);
    for (flip const& noise : some_flips()) {
      exact const rho = correlation_of(noise);
      for (std::size_t i = 0; i < exposure.records(); ++i) {
        double const priced = exposure.information(i, noise);
        exact const revealed = truth.information(i, rho);
        below += exact(priced) < revealed;
        // The belief is only known within the slack, which acts on ρ² like the signal does.
        exact const room = rho * rho * 1e-10 + 1e-300;
        loose += exact(priced) > revealed * (1 + exact(1e-4)) + room;
        if (revealed > room * 1e6) {
          worst_excess = std::max(worst_excess, static_cast<double>(exact(priced / revealed - 1)));
        }
        ++compared;
      }
    }
  }
  CHECK(compared == 60 * 14 * 6);
  CHECK(below == 0);
  CHECK(loose == 0);
  CHECK(worst_excess <= 2e-5);
}

TEST_CASE("a coin tells no record anything to speak of", "[record_ledger]") {
  std::mt19937_64 random(2);
  for (int run = 0; run < 20; ++run) {
    record_exposure const exposure = exposure_of(random_universe(random, 2.0));
    for (std::size_t i = 0; i < exposure.records(); ++i) {
      CHECK(exposure.information(i, flip::with_correlation(0.0)) >= 0.0);
      CHECK(exposure.information(i, flip::with_correlation(0.0)) <= 1e-300);
      // A flip that was never set has no price, and so cannot be paid for.
      CHECK(std::isnan(exposure.information(i, flip{})));
    }
  }
}

TEST_CASE("a record whose membership is known has nothing left to tell", "[record_ledger]") {
  candidate_set const candidates = candidate_set::balanced({.records = 6, .subsets = 8}, 3);
  std::vector<std::int8_t> const signs{1, -1, 1, -1, 1, -1, 1, -1};
  for (bool const inside : {false, true}) {
    // Only subsets that contain (do not contain) record 2 are left.
    std::vector<double> weights(8, -infinity);
    for (std::size_t m = 0; m < 8; ++m) {
      if (candidates.contains(m, 2) == inside) weights[m] = -0.3 * static_cast<double>(m);
    }
    universe const world{candidates, posterior::from_log_weights(weights), signs};
    record_exposure const exposure = exposure_of(world);
    enumerated const truth(world);
    for (flip const& noise : some_flips()) {
      double const rho = noise.correlation();
      CHECK(exposure.information(2, noise) >= 0.0);
      CHECK(exposure.information(2, noise) <= 1e-11 * rho * rho + 1e-300);
      for (std::size_t i = 0; i < 6; ++i) {
        CHECK(exact(exposure.information(i, noise)) >= truth.information(i, correlation_of(noise)));
      }
    }
    // It does not stand in the way of the others.
    std::vector<double> allowance(6, 0.01);
    allowance[2] = 1e-9;
    CHECK(exposure.flip_for(allowance, flip::with_correlation(1.0)).correlation() > 0.05);
  }
}

TEST_CASE("a unanimous sign tells no record anything, whatever the flip", "[record_ledger]") {
  std::mt19937_64 random(4);
  universe world = random_universe(random, 2.0);
  for (auto const s : {std::int8_t{-1}, std::int8_t{1}}) {
    world.signs.assign(8, s);
    record_exposure const exposure = exposure_of(world);
    for (flip const& noise : some_flips()) {
      for (std::size_t i = 0; i < 6; ++i) {
        CHECK(exposure.information(i, noise) >= 0.0);
        CHECK(exposure.information(i, noise) <= 1e-9);
      }
    }
    CHECK(exposure.flip_within(0.5, 0.5, flip::with_correlation(0.9)).correlation() == 0.9);
  }
}

TEST_CASE(
    "flip_for reveals no more about a record than its allowance, and nearly that about some record",
    "[record_ledger][long]") {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-12.0, -0.5);
  int too_much = 0;
  int unpriced = 0;
  int wasteful = 0;
  int bound_by_allowance = 0;
  for (int run = 0; run < 150; ++run) {
    universe const world = random_universe(random, run % 2 == 0 ? 0.3 : 2.0, run % 3 == 0 ? 4 : 2);
    enumerated const truth(world);
    record_exposure const exposure = exposure_of(world);
    double const scale = std::pow(10.0, exponent(random));
    std::vector<double> allowance(6);
    for (double& a : allowance) a = scale * (0.5 + std::generate_canonical<double, 53>(random));
    flip const most = run % 5 == 0   ? flip::with_correlation(0.2)
                      : run % 5 == 1 ? flip::with_probability(1e-20)
                                     : flip::with_correlation(1.0);
    flip const found = exposure.flip_for(allowance, most);
    REQUIRE(found.correlation() <= most.correlation());
    for (std::size_t i = 0; i < 6; ++i) {
      too_much += truth.information(i, correlation_of(found)) > exact(allowance[i]);
      unpriced += exposure.information(i, found) > allowance[i];  // then it could not be charged
    }
    if (found.correlation() == most.correlation()) {
      REQUIRE(found.probability() == most.probability());
      continue;
    }
    ++bound_by_allowance;
    exact const more = std::min(exact(correlation_of(found) * (1 + exact(1e-5))), exact(1));
    bool some_record_is_over = false;
    for (std::size_t i = 0; i < 6; ++i) {
      some_record_is_over |= truth.information(i, more) > exact(allowance[i]);
    }
    wasteful += !some_record_is_over;
  }
  CHECK(too_much == 0);
  CHECK(unpriced == 0);
  CHECK(wasteful == 0);
  CHECK(bound_by_allowance > 80);
}

TEST_CASE("flip_for at its ends", "[record_ledger]") {
  std::mt19937_64 random(6);
  record_exposure const exposure = exposure_of(random_universe(random, 1.0));
  flip const most = flip::with_probability(1e-20);
  // Room for everything: the flip that was asked for, digits and all.
  flip const free = exposure.flip_for(std::vector<double>(6, 10.0), most);
  CHECK(free.probability() == 1e-20);
  CHECK(exposure.flip_for(std::vector<double>(6, infinity), most).probability() == 1e-20);
  // One record about which nothing may be revealed turns the release into a coin.
  std::vector<double> allowance(6, 1.0);
  allowance[3] = 0.0;
  CHECK(exposure.flip_for(allowance, most).correlation() == 0.0);
  allowance[3] = -0.1;
  CHECK(exposure.flip_for(allowance, most).correlation() == 0.0);
  CHECK(exposure.flip_for(std::vector<double>(6, 1.0), flip::with_correlation(0.0)).correlation() ==
        0.0);
  // Down to the smallest numbers the price stays affordable.
  for (double const tiny : {1e-30, 1e-100, 1e-290}) {
    flip const found = exposure.flip_for(std::vector<double>(6, tiny), most);
    for (std::size_t i = 0; i < 6; ++i) CHECK(exposure.information(i, found) <= tiny);
  }
  allowance[3] = not_a_number;
  CHECK_THROWS_AS(exposure.flip_for(allowance, most), std::domain_error);
  CHECK_THROWS_AS(exposure.flip_for(std::vector<double>(5, 1.0), most), std::invalid_argument);
  CHECK_THROWS_WITH(exposure.flip_for(std::vector<double>(5, 1.0), most),
                    "flip_for: size of allowance is 5, but must be 6");
}

TEST_CASE("flip_within keeps every record within its room, on both outcomes, and uses the room",
          "[record_ledger]") {
  std::mt19937_64 random(7);
  int outside = 0;
  int wasteful = 0;
  int bound_by_room = 0;
  for (int run = 0; run < 150; ++run) {
    std::size_t const one_in = run % 3 == 0 ? 4 : 2;
    universe const world = random_universe(random, run % 2 == 0 ? 0.02 : 0.1, one_in);
    double const prior = world.candidates.prior();
    enumerated const truth(world);
    record_exposure const exposure = exposure_of(world);
    double const kappa = run % 5 == 0 ? 0.5 : 0.03 + 0.002 * run;
    flip const most = flip::with_correlation(run % 4 == 0 ? 0.05 : 0.98);
    flip const found = exposure.flip_within(prior, kappa, most);
    REQUIRE(found.correlation() <= most.correlation());
    if (found.correlation() == 0.0) {
      // Some record is beyond its room already, or a hair from its edge.
      REQUIRE_FALSE(truth.all_within(prior, kappa, exact(1e-9)));
      continue;
    }
    outside += !truth.all_within(prior, kappa, correlation_of(found));
    if (found.correlation() == most.correlation()) continue;
    ++bound_by_room;
    wasteful += truth.all_within(prior, kappa, correlation_of(found) * (1 + exact(1e-7)));
  }
  CHECK(outside == 0);
  CHECK(wasteful == 0);
  CHECK(bound_by_room > 50);
}

TEST_CASE("flip_within where a record has no room left", "[record_ledger]") {
  std::mt19937_64 random(8);
  universe const world = random_universe(random, 1.0);
  record_exposure const exposure = exposure_of(world);
  CHECK(exposure.flip_within(0.5, 0.0, flip::with_correlation(1.0)).correlation() == 0.0);
  // Beyond the edge: still a coin, which moves nobody.
  CHECK(exposure.flip_within(0.5, 1e-3, flip::with_correlation(1.0)).correlation() == 0.0);
  CHECK(exposure.flip_within(0.5, -1.0, flip::with_correlation(1.0)).correlation() == 0.0);
  // All the room there is: nothing to protect.
  CHECK(exposure.flip_within(0.5, 0.6, flip::with_correlation(0.7)).correlation() == 0.7);
}

TEST_CASE("an exposure of another universe is refused", "[record_ledger]") {
  candidate_set const candidates = candidate_set::balanced({.records = 6, .subsets = 8}, 3);
  std::vector<std::int8_t> const signs(8, 1);
  CHECK_THROWS_AS(record_exposure(candidates, posterior(4), signs, slack), std::invalid_argument);
  CHECK_THROWS_AS(record_exposure(candidates, posterior(8), std::vector<std::int8_t>(7, 1), slack),
                  std::invalid_argument);
  CHECK_THROWS_AS(record_exposure(candidates, posterior(8), std::vector<std::int8_t>(8, 0), slack),
                  std::domain_error);
}

TEST_CASE("a record ledger sums for each record and is bound by the worst", "[record_ledger]") {
  record_ledger account(3, nats(1.0));
  CHECK(account.budget() == nats(1.0));
  CHECK(account.worst() == nats(0.0));
  auto const first = account.charge(std::vector<double>{0.25, 0.5, 0.0});
  CHECK(first.live());
  CHECK(first.cost() == nats(0.5));
  auto const second = account.charge(std::vector<double>{0.25, 0.0, 0.125});
  CHECK(second.cost().value == 0.0);  // the worst record paid nothing
  CHECK(account.worst() == nats(0.5));
  CHECK(account.spent()[0] == 0.5);
  CHECK(account.spent()[1] == 0.5);
  CHECK(account.spent()[2] == 0.125);
  CHECK(account.remaining(2) == nats(0.875));
  CHECK_THROWS_AS(account.remaining(3), std::out_of_range);
  CHECK_NOTHROW(account.charge(std::vector<double>{0.5, 0.5, 0.875}));
  CHECK(account.worst() == account.budget());
  CHECK(account.remaining(0) == nats(0.0));
}

TEST_CASE("a charge that one record cannot pay charges nobody", "[record_ledger]") {
  record_ledger account(3, nats(1.0));
  (void)account.charge(std::vector<double>{0.5, 0.75, 0.25});
  std::vector<double> const before(account.spent().begin(), account.spent().end());
  auto const unchanged = [&] {
    return std::equal(before.begin(), before.end(), account.spent().begin()) &&
           account.worst() == nats(0.75);
  };
  CHECK_THROWS_AS(account.charge(std::vector<double>{0.1, std::nextafter(0.25, 1.0), 0.1}),
                  tacit::budget_exhausted);
  CHECK(unchanged());
  CHECK_THROWS_AS(account.charge(std::vector<double>{0.1, 0.1, not_a_number}), std::domain_error);
  CHECK(unchanged());
  CHECK_THROWS_AS(account.charge(std::vector<double>{0.1, -1e-300, 0.1}), std::domain_error);
  CHECK(unchanged());
  CHECK_THROWS_AS(account.charge(std::vector<double>{0.1, infinity, 0.1}), std::domain_error);
  CHECK(unchanged());
  CHECK_THROWS_AS(account.charge(std::vector<double>{0.1, 0.1}), std::invalid_argument);
  CHECK(unchanged());
}

TEST_CASE("each record's exact sum stays within what the ledger says, and within the budget",
          "[record_ledger]") {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> exponent(-12.0, -3.0);
  record_ledger account(5, nats(0.33));
  std::vector<exact> sums(5, exact(0));
  int refused = 0;
  for (int k = 0; k < 12'000; ++k) {
    std::vector<double> costs(5);
    for (double& c : costs) c = std::pow(10.0, exponent(random));
    try {
      (void)account.charge(costs);
      for (std::size_t i = 0; i < 5; ++i) sums[i] += costs[i];
    } catch (tacit::budget_exhausted const&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(sums[i] <= exact(account.spent()[i]));
    CHECK(account.spent()[i] <= account.worst().value);
    CHECK(exact(account.remaining(i).value) <= exact(0.33) - sums[i]);
  }
  CHECK(account.worst() <= account.budget());
}

TEST_CASE("a restored record ledger goes on, and nonsense is refused", "[record_ledger]") {
  record_ledger account(nats(1.0), {0.25, 0.5});
  CHECK(account.worst() == nats(0.5));
  CHECK_THROWS_AS(account.charge(std::vector<double>{0.0, 0.75}), tacit::budget_exhausted);
  CHECK_NOTHROW(account.charge(std::vector<double>{0.75, 0.5}));

  CHECK_THROWS_AS(record_ledger(nats(1.0), {0.5, 1.5}), std::domain_error);
  CHECK_THROWS_AS(record_ledger(nats(1.0), {-0.5, 0.5}), std::domain_error);
  for (std::size_t place = 0; place < 3; ++place) {
    std::vector<double> spent{0.1, 0.2, 0.3};
    spent[place] = not_a_number;
    CHECK_THROWS_AS(record_ledger(nats(1.0), spent), std::domain_error);
  }
  CHECK_THROWS_AS(record_ledger(nats(1.0), std::vector<double>{}), std::invalid_argument);
  CHECK_THROWS_AS(record_ledger(0, nats(1.0)), std::invalid_argument);
  for (double const budget : {-1.0, not_a_number, infinity}) {
    CHECK_THROWS_AS(record_ledger(2, nats(budget)), std::domain_error);
  }
}

TEST_CASE("an exposure refuses what is not a number", "[record_ledger]") {
  candidate_set const set = candidate_set::balanced({.records = 20, .subsets = 8}, 21);
  std::vector<std::int8_t> const signs{1, -1, 1, -1, 1, 1, -1, -1};
  double const nothing = tacit::required;
  record_exposure const exposure(set, posterior(8), signs, 1e-13);
  flip const most = flip::with_correlation(0.9);
  CHECK_THROWS_AS(exposure.flip_within(0.5, nothing, most), std::domain_error);
  CHECK_THROWS_AS(exposure.flip_within(nothing, 0.1, most), std::domain_error);
  CHECK_THROWS_AS(exposure.flip_within(0.5, 0.1, flip()), std::domain_error);
  CHECK_THROWS_AS(exposure.flip_for(std::vector<double>(20, nothing), most), std::domain_error);
  CHECK_THROWS_AS(record_exposure(set, posterior(8), signs, nothing), std::domain_error);
  CHECK_THROWS_AS(record_exposure(set, posterior(8), signs, 0.5), std::domain_error);
}
