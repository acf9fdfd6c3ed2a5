// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/paczero.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace paczero_tests {

namespace {

using namespace tacit;
using kind = paczero_report::kind;
using sums = std::vector<std::int64_t>;

constexpr std::uint64_t ones = ~std::uint64_t{0};

/// A secret stream that repeats one word and counts how often it was asked. Zeros: the secret is
/// subset 0, a paid sign is kept for ρ ≤ ½ and flipped above, a coin is +1. Ones: the last subset,
/// kept above ½, a coin is −1.
struct constant {
  std::uint64_t word = 0;
  std::shared_ptr<int> asked = std::make_shared<int>(0);
  std::uint64_t next() {
    ++*asked;
    return word;
  }
};

static_assert(zeroth_order_mechanism<paczero<>> && zeroth_order_mechanism<paczero<constant>>);
static_assert(!std::is_copy_constructible_v<paczero<>> && !std::is_copy_assignable_v<paczero<>>);
static_assert(std::is_move_constructible_v<paczero<>>);

candidate_set four_subsets(std::size_t records = 6) {
  return candidate_set::balanced({.records = records, .subsets = 4}, 11);
}
candidate_set sixteen_subsets(std::size_t records = 50) {
  return candidate_set::balanced({.records = records, .subsets = 16}, 11);
}

std::vector<double> log_weights(paczero<constant> const& run) {
  return {run.belief().log_weights().begin(), run.belief().log_weights().end()};
}

/// What `paczero` says about options, "" if it takes them.
std::string complaint_about(paczero_options const& options) {
  try {
    paczero run(options, four_subsets(), constant{});
    return "";
  } catch (std::logic_error const& error) {
    return error.what();
  }
}

std::vector<double> scalars(std::mt19937_64& random, std::size_t count) {
  std::normal_distribution<double> normal(0.02, 1.0);
  std::vector<double> result(count);
  for (double& x : result) x = normal(random);
  return result;
}

}  // namespace

TEST_CASE("a run that was moved from takes no step", "[paczero]") {
  paczero<constant> first({.steps = 2, .budget = nats(0.0)}, four_subsets(), constant{});
  std::vector<double> const scalars(first.records(), 1.0);
  paczero<constant> second = std::move(first);
  CHECK_THROWS_AS(first.step(scalars), std::logic_error);  // NOLINT: moved from
  CHECK_NOTHROW(second.step(scalars));
}

TEST_CASE("more scalars than can be counted are refused", "[paczero]") {
  for (std::size_t const directions : {std::size_t{1} << 61, std::size_t{1} << 63}) {
    CHECK_THROWS_AS(paczero<constant>({.steps = 1, .budget = nats(0.0), .directions = directions},
                                      four_subsets(8), constant{}),
                    std::domain_error);
  }
  CHECK_THROWS_AS(
      paczero<constant>({.steps = 16, .budget = nats(0.0), .directions = std::size_t{1} << 60},
                        four_subsets(), constant{}),
      std::domain_error);
}

TEST_CASE("paczero names the option that is out of range", "[paczero]") {
  paczero_options const good{.steps = 3, .budget = nats(0.1)};
  CHECK(complaint_about(good).empty());

  auto const with = [&](auto change) {
    paczero_options options = good;
    change(options);
    return complaint_about(options);
  };
  CHECK(with([](auto& o) { o.steps = 0; }) == "paczero: steps is 0, but must be at least 1");
  CHECK(with([](auto& o) { o.directions = 0; }) ==
        "paczero: directions is 0, but must be at least 1");
  CHECK(with([](auto& o) { o.budget = nats{}; }) ==
        "paczero: budget is nan, but must be finite and at least 0");
  CHECK(with([](auto& o) { o.budget = nats(-1e-9); }) ==
        "paczero: budget is -1e-09, but must be finite and at least 0");
  CHECK(with([](auto& o) { o.budget = nats(infinity); }) ==
        "paczero: budget is inf, but must be finite and at least 0");
  for (double const clip : {0.0, -1.0, infinity, not_a_number}) {
    CHECK(with([clip](auto& o) { o.clip = clip; }) ==
          "paczero: clip is " + detail::to_text(clip) + ", but must be positive and finite");
  }
  for (double const kappa : {0.0, -0.1, 0.51, infinity, not_a_number}) {
    CHECK(with([kappa](auto& o) {
            o.ledger = ledger_kind::pathwise;
            o.kappa = kappa;
          }) == "paczero: kappa is " + detail::to_text(kappa) + ", but must be in (0, 0.5]");
  }
  CHECK(with([](auto& o) {
          o.ledger = ledger_kind::pathwise;
          o.kappa = 0.5;
          o.budget = nats{};
        }).empty());  // has no use for a budget
  CHECK(with([](auto& o) {
          o.ledger = ledger_kind::pathwise;
          o.kappa = 0.1;
          o.what = observed::value;
        }) ==
        "paczero: observed is value, but must be sign for a cap kappa: an unbounded value has no "
        "worst case");
  CHECK(with([](auto& o) { o.kappa = 0.6; }) ==
        "paczero: kappa is 0.6, but must be in (0, 0.5]");  // whatever the ledger
  CHECK(with([](auto& o) {
          o.groups = {{0, 1}};
        }) == "paczero: group_budget is nan, but must be finite and at least 0");
  CHECK(with([](auto& o) { o.group_budget = nats(0.1); }) ==
        "paczero: group_budget is 0.1, but must be left out where no groups are declared");
  CHECK(with([](auto& o) {
          o.groups = {{0, 1}, {0, 8}};
          o.group_budget = nats(0.1);
        }) ==
        "record_groups: record is 8, but must be below the number of records, and once in a "
        "group");
  for (double const horizon : {0.0, 0.5, -3.0, infinity, not_a_number}) {
    CHECK(with([horizon](auto& o) {
            o.spend = allocation::confident_or_hold;
            o.horizon = horizon;
          }) == "paczero: horizon is " + detail::to_text(horizon) +
                    ", but must be finite and at least 1");
    CHECK(with([horizon](auto& o) { o.horizon = horizon; }).empty());  // not looked at
  }
  for (double const least : {0.0, -0.3, 1.1, not_a_number}) {
    CHECK(with([least](auto& o) {
            o.spend = allocation::confident_or_hold;
            o.minimum_correlation = least;
          }) ==
          "paczero: minimum_correlation is " + detail::to_text(least) + ", but must be in (0, 1]");
  }
}

TEST_CASE("paczero refuses another shape, and a step beyond the last", "[paczero]") {
  paczero run({.steps = 2, .budget = nats(0.1)}, four_subsets(), constant{});
  CHECK(run.records() == 6);
  CHECK(run.directions() == 1);
  CHECK_FALSE(run.done());
  CHECK_THROWS_AS(run.step(std::vector<double>(5, 1.0)), std::invalid_argument);
  CHECK_THROWS_WITH(run.step(std::vector<double>(7, 1.0)),
                    "paczero::step: number of scalars is 7, but must be 6");
  CHECK_THROWS_WITH(run.step_from_sums(sums(5, 1)),
                    "paczero::step: number of sums is 5, but must be 4");
  CHECK(run.steps() == 0);
  (void)run.step(std::vector<double>(6, 1.0));
  (void)run.step(std::vector<double>(6, -1.0));
  CHECK(run.done());
  CHECK_THROWS_AS(run.step(std::vector<double>(6, 1.0)), budget_exhausted);
  CHECK_THROWS_WITH(run.step_from_sums(sums(4, 1)),
                    "paczero::step: step is 3, but must be at most 2");
  CHECK(run.steps() == 2);
  CHECK(run.transcript().size() == 2);
}

TEST_CASE("a scalar that is not finite, or nothing but zeros, holds and charges nothing",
          "[paczero]") {
  for (std::size_t const directions : {1U, 2U}) {
    paczero run({.steps = 8,
                 .budget = nats(0.1),
                 .otherwise = disagreement::coin,
                 .directions = directions},
                four_subsets(), constant{});
    std::vector<double> const before = log_weights(run);
    std::size_t held = 0;
    for (double const bad : {not_a_number, infinity, -infinity, 0.0, -0.0, 1e-9}) {
      std::vector<double> g(directions * 6, bad == 0.0 || bad == 1e-9 ? bad : 1.0);
      if (!std::isfinite(bad))
        g[directions * 6 - 2] = bad;  // the last direction voids the first too
      release const result = run.step(g);
      CHECK(result.held());
      CHECK(result.coefficients.size() == directions);
      for (paczero_report const& report : run.last()) {
        CHECK(report.what == kind::void_input);
        CHECK(report.charged.value == 0.0);
        CHECK(report.released == 0);
      }
      held += directions;
      CHECK(run.held_steps() == held);
    }
    CHECK(run.steps() == 6);
    CHECK(run.spent() == nats(0.0));
    CHECK(run.unanimous_steps() == 0);
    CHECK(log_weights(run) == before);
    CHECK(run.step_from_sums(sums(directions * 4, 0)).held());
  }
}

TEST_CASE("one direction of zeros holds by itself", "[paczero]") {
  paczero run({.steps = 1, .budget = nats(0.1), .directions = 2}, four_subsets(), constant{});
  release const result = run.step_from_sums({{0, 0, 0, 0, 1, 2, 3, 4}});
  CHECK(result.coefficients == std::vector<double>{0.0, 0.5});
  CHECK_FALSE(result.held());
  CHECK(run.held_steps() == 1);
  CHECK(run.unanimous_steps() == 1);
}

TEST_CASE("the sign of zero is plus, and a unanimous sign is free", "[paczero]") {
  constant const secret{};
  paczero run({.steps = 4, .budget = nats(0.1)}, four_subsets(), secret);
  int const asked = *secret.asked;
  CHECK(run.step_from_sums(sums{0, 5, 3, 0}).coefficients[0] == 1.0);
  CHECK(run.last()[0].what == kind::unanimous);
  CHECK(run.step_from_sums(sums{-1, -2, -3, -1}).coefficients[0] == -1.0);
  CHECK(run.last()[0].what == kind::unanimous);
  CHECK(run.last()[0].agreement.minority == 0.0);
  CHECK(run.unanimous_steps() == 2);
  CHECK(run.spent() == nats(0.0));
  CHECK(*secret.asked == asked);  // neither the secret nor a coin was looked at
  // 0 stands with the plus side: one of four.
  (void)run.step_from_sums(sums{0, -1, -1, -1});
  CHECK(run.last()[0].what == kind::paid);
  CHECK(run.last()[0].agreement.minority == 0.25);
  CHECK(run.last()[0].agreement.minority_positive);
}

TEST_CASE("step adds up the secret candidates' scalars, clipped", "[paczero]") {
  // With the whole entropy to spend each step, the released sign is the secret subset's own.
  candidate_set const candidates = four_subsets();
  std::mt19937_64 random(5);
  std::size_t compared = 0;
  for (std::uint64_t j = 0; j < 4; ++j) {
    for (int k = 0; k < 25; ++k) {
      // ρ > ½ throughout: ones keep the sign; the word before them is the secret.
      script secret({j, ones, ones});
      paczero run({.steps = 1, .budget = nats(10.0), .clip = 1.5}, candidates, secret);
      std::vector<double> const g = scalars(random, 6);
      double sum = 0.0;
      for (std::size_t i = 0; i < 6; ++i) {
        if (candidates.contains(j, i)) sum += std::clamp(g[i], -1.5, 1.5);
      }
      release const result = run.step(g);
      CHECK(result.coefficients[0] == (sum >= 0.0 ? 1.0 : -1.0));
      compared += run.last()[0].what == kind::paid;
    }
  }
  CHECK(compared > 50);
}

TEST_CASE("K directions share the budget, and each learns from the one before", "[paczero]") {
  sums const first{3, -1, 2, -5};
  sums const second{1, 1, -1, -2};
  sums both = first;
  both.insert(both.end(), second.begin(), second.end());
  for (std::uint64_t const word : {std::uint64_t{0}, ones}) {
    paczero together({.steps = 1, .budget = nats(0.1), .directions = 2}, four_subsets(),
                     constant{word});
    paczero apart({.steps = 2, .budget = nats(0.1)}, four_subsets(), constant{word});
    release const one = together.step_from_sums(both);
    release const a = apart.step_from_sums(first);
    release const b = apart.step_from_sums(second);
    CHECK(one.coefficients ==
          std::vector<double>{a.coefficients[0] / 2.0, b.coefficients[0] / 2.0});
    CHECK(log_weights(together) == log_weights(apart));
    CHECK(together.spent() == apart.spent());
    CHECK(together.last()[0].charged.value == Approx(0.05).epsilon(1e-9));
    CHECK(together.last()[1].charged.value == Approx(0.05).epsilon(1e-9));
    CHECK(together.last()[1].charged == apart.last()[0].charged);
    // The second direction met a belief that the first had moved.
    CHECK(together.last()[1].agreement.minority == apart.last()[0].agreement.minority);
  }
  paczero four({.steps = 5, .budget = nats(0.2), .directions = 4}, four_subsets(), constant{});
  (void)four.step_from_sums({{1, -1, 1, -1, 1, 1, -1, -1, 1, -1, -1, 1, 1, 1, 1, -1}});
  for (paczero_report const& report : four.last()) {
    CHECK(report.charged.value == Approx(0.2 / 20).epsilon(1e-9));
  }
}

TEST_CASE("a paid sign costs what is charged, nothing more, and never beyond the budget",
          "[paczero]") {
  std::mt19937_64 random(6);
  for (auto const spend : {allocation::uniform, allocation::adaptive, allocation::confident_or_hold,
                           allocation::budget_then_zero}) {
    for (auto const what : {observed::sign, observed::value}) {
      for (double const budget : {1e-9, 0.33, 3.0}) {
        paczero_options const options{.steps = 100,
                                      .budget = nats(budget),
                                      .what = what,
                                      .spend = spend,
                                      .horizon = 20.0,
                                      .directions = 2};
        paczero run(options, sixteen_subsets(), fixed_stream(7));
        double total = 0.0;
        int paid_for = 0;
        double least = 1.0;
        while (!run.done()) {
          (void)run.step(scalars(random, 100));
          for (paczero_report const& report : run.last()) {
            total += report.charged.value;
            paid_for += report.what == kind::paid;
            if (report.what == kind::paid) {
              least = std::min(least, report.correlation);
              // At most .999 of the sign's entropy.
              REQUIRE(report.charged.value <=
                      entropy_cap * binary_entropy(report.agreement.minority) * (1.0 + 1e-9));
            }
          }
        }
        CAPTURE(static_cast<int>(spend), static_cast<int>(what), budget);
        CHECK(run.spent().value == Approx(total).epsilon(1e-12));
        CHECK(run.spent() <= nats(budget));
        CHECK(run.spent_worst_record() == run.spent());
        bool const confident = spend == allocation::confident_or_hold;
        CHECK((paid_for > 0 || (confident && budget < 1.0)));
        if (confident && paid_for > 0) CHECK(least >= 0.3);
        if (!confident && budget < 1.0) CHECK(run.spent().value > budget * 0.8);
      }
    }
  }
}

TEST_CASE("near-unanimity releases the majority, reads no secret and costs nothing", "[paczero]") {
  // Zeros flip every sign at ρ > ½: the belief turns against subset 0, which is the secret.
  sums const against{5, -1, -1, -1};
  for (auto const spend : {allocation::uniform, allocation::adaptive}) {
    constant const secret{0};
    paczero run({.steps = 40, .budget = nats(100.0), .spend = spend}, four_subsets(), secret);
    int paid_steps = 0;
    while (run.last().empty() || run.last()[0].what == kind::paid) {
      REQUIRE(run.step_from_sums(against).coefficients[0] == -1.0);
      ++paid_steps;
    }
    REQUIRE(paid_steps > 1);
    REQUIRE(paid_steps < 40);
    CHECK(run.last()[0].agreement.minority < 1e-12);
    CHECK(run.last()[0].agreement.minority > 0.0);
    CHECK(run.last()[0].what == kind::unpaid);
    CHECK(run.last()[0].charged.value == 0.0);
    CHECK(run.belief().live() == 4);

    std::vector<double> const before = log_weights(run);
    nats const spent = run.spent();
    int const asked = *secret.asked;
    CHECK(run.step_from_sums(against).coefficients[0] == -1.0);  // though the secret says +1
    CHECK(run.step_from_sums(sums{-5, 1, 1, 1}).coefficients[0] == 1.0);
    CHECK(log_weights(run) == before);
    CHECK(run.spent() == spent);
    CHECK(*secret.asked == asked);
    CHECK(run.unanimous_steps() == 0);  // it is not unanimous, and does not count as such
    // A sign that divides the others is paid for as ever.
    (void)run.step_from_sums(sums{1, 1, -1, -1});
    CHECK(run.last()[0].what == kind::paid);
  }
}

TEST_CASE("a spent budget leaves the step to the disagreement policy", "[paczero]") {
  for (auto const otherwise : {disagreement::coin, disagreement::hold, disagreement::majority}) {
    for (std::uint64_t const word : {std::uint64_t{0}, ones}) {
      constant const secret{word};
      paczero run({.steps = 6,
                   .budget = nats(0.01),
                   .spend = allocation::budget_then_zero,
                   .otherwise = otherwise},
                  four_subsets(), secret);
      sums const three_to_one{4, 4, 4, -1};
      (void)run.step_from_sums(three_to_one);
      REQUIRE(run.last()[0].what == kind::paid);
      CHECK(run.last()[0].charged.value == Approx(0.01).epsilon(1e-9));
      // What a rounded account has left buys next to nothing; then it buys nothing at all.
      for (int k = 0; k < 3; ++k) (void)run.step_from_sums(three_to_one);
      CHECK(run.spent() <= nats(0.01));
      int const asked = *secret.asked;
      std::vector<double> const before = log_weights(run);
      double const y = run.step_from_sums(three_to_one).coefficients[0];
      CHECK(run.last()[0].what == kind::unpaid);
      CHECK(run.last()[0].charged.value == 0.0);
      CHECK(log_weights(run) == before);
      CHECK(*secret.asked == asked + (otherwise == disagreement::coin));
      switch (otherwise) {
        case disagreement::coin:
          CHECK(y == (word == 0 ? 1.0 : -1.0));
          break;
        case disagreement::hold:
          CHECK(y == 0.0);
          break;
        case disagreement::majority:
          CHECK(y == 1.0);
          break;
      }
    }
  }
}

TEST_CASE("confident or hold holds what it cannot say clearly", "[paczero]") {
  // Even with another policy for a spent budget: holding is the rule.
  constant const secret{};
  paczero run({.steps = 3,
               .budget = nats(0.001),
               .spend = allocation::confident_or_hold,
               .horizon = 10.0,
               .minimum_correlation = 0.3,
               .otherwise = disagreement::coin},
              four_subsets(), secret);
  int const asked = *secret.asked;
  CHECK(run.step_from_sums(sums{1, -1, 1, -1}).held());
  CHECK(run.last()[0].what == kind::unpaid);
  CHECK(run.spent() == nats(0.0));
  CHECK(*secret.asked == asked);
  // The same budget over a shorter horizon says it.
  paczero bold({.steps = 3,
                .budget = nats(0.5),
                .spend = allocation::confident_or_hold,
                .horizon = 10.0,
                .minimum_correlation = 0.3},
               four_subsets(), secret);
  CHECK_FALSE(bold.step_from_sums(sums{1, -1, 1, -1}).held());
  CHECK(bold.last()[0].correlation >= 0.3);
  CHECK(bold.last()[0].charged.value == Approx(0.05).epsilon(1e-9));
}

TEST_CASE("the record ledger binds the worst record, in both views", "[paczero][long]") {
  std::mt19937_64 random(8);
  for (auto const what : {observed::sign, observed::value}) {
    for (auto const spend : {allocation::uniform, allocation::adaptive,
                             allocation::confident_or_hold, allocation::budget_then_zero}) {
      double const budget = 0.05;
      paczero run({.steps = 200,
                   .budget = nats(budget),
                   .what = what,
                   .ledger = ledger_kind::record,
                   .spend = spend,
                   .horizon = 20.0,
                   .minimum_correlation = 0.1},
                  sixteen_subsets(), fixed_stream(9));
      while (!run.done()) (void)run.step(scalars(random, 50));
      CAPTURE(static_cast<int>(what), static_cast<int>(spend));
      CHECK(run.spent_worst_record() <= nats(budget));
      CHECK(run.spent_worst_record() > nats(0.2 * budget));
      CHECK(run.spent() >
            run.spent_worst_record());  // far more is revealed about the subset itself
    }
  }
}

TEST_CASE("a record that has nothing left holds its run, and is no error", "[paczero]") {
  std::mt19937_64 random(5);
  for (std::uint32_t key = 0; key < 10; ++key) {
    for (auto const what : {observed::sign, observed::value}) {
      paczero run({.steps = 30,
                   .budget = nats(0.05),
                   .what = what,
                   .ledger = ledger_kind::record,
                   .spend = allocation::budget_then_zero},
                  sixteen_subsets(), fixed_stream(key));
      while (!run.done()) CHECK_NOTHROW(run.step(scalars(random, 50)));
      CHECK(run.spent_worst_record() <= nats(0.05));
    }
  }
}

TEST_CASE("an account of each record may be kept where it does not bind", "[paczero]") {
  std::mt19937_64 random(10);
  std::vector<std::vector<double>> steps(50);
  for (auto& g : steps) g = scalars(random, 50);
  for (auto const what : {observed::sign, observed::value}) {
    paczero_options options{.steps = 50, .budget = nats(0.3), .what = what};
    paczero plain(options, sixteen_subsets(), fixed_stream(11));
    options.track_records = true;
    paczero tracked(options, sixteen_subsets(), fixed_stream(11));
    for (auto const& g : steps) CHECK(plain.step(g) == tracked.step(g));
    CHECK(plain.spent() == tracked.spent());
    CHECK(plain.spent_worst_record() == plain.spent());
    CHECK(tracked.spent_worst_record().value < 0.5 * tracked.spent().value);
    CHECK(tracked.spent_worst_record() > nats(0.0));
  }
  paczero zero(
      {.steps = 1, .budget = nats(0.0), .otherwise = disagreement::coin, .track_records = true},
      four_subsets(), constant{});
  (void)zero.step_from_sums(sums{1, -1, 1, -1});
  CHECK(zero.spent_worst_record() == nats(0.0));
}

TEST_CASE("pathwise keeps every record near its prior all along", "[paczero]") {
  std::mt19937_64 random(12);
  for (std::size_t const one_in : {2U, 4U}) {
    for (double const kappa : {0.01, 0.05}) {
      candidate_set const candidates =
          candidate_set::balanced({.records = 50, .subsets = 16, .one_in = one_in}, 11);
      paczero run({.steps = 300,
                   .ledger = ledger_kind::pathwise,
                   .kappa = kappa,
                   .otherwise = disagreement::coin},
                  candidates, fixed_stream(13));
      double furthest = 0.0;
      std::vector<double> belief(50);
      while (!run.done()) {
        (void)run.step(scalars(random, 50));
        run.belief().memberships(candidates, belief);
        for (double const p : belief) {
          furthest = std::max(furthest, std::abs(p - candidates.prior()));
        }
      }
      CHECK(furthest <= kappa + 1e-12);
      CHECK(furthest > 0.5 * kappa);
      CHECK(run.attack_bound() ==
            Approx(std::max(candidates.prior(), 1.0 - candidates.prior()) + kappa).epsilon(1e-15));
      CHECK(run.belief().exposed(candidates).worst <= run.attack_bound() + 1e-12);
      CHECK(run.spent() > nats(0.0));
    }
  }
}

TEST_CASE("a cap on posteriors beside a budget: both hold all along", "[paczero]") {
  for (auto const ledger : {ledger_kind::subset, ledger_kind::record}) {
    for (auto const spend : {allocation::adaptive, allocation::budget_then_zero}) {
      std::mt19937_64 random(14);
      candidate_set const candidates = sixteen_subsets();
      constexpr double kappa = 0.08;
      paczero run({.steps = 300,
                   .budget = nats(0.4),
                   .ledger = ledger,
                   .kappa = kappa,
                   .spend = spend,
                   .otherwise = disagreement::coin},
                  candidates, fixed_stream(15));
      double furthest = 0.0;
      std::vector<double> belief(50);
      while (!run.done()) {
        (void)run.step(scalars(random, 50));
        run.belief().memberships(candidates, belief);
        for (double const p : belief) furthest = std::max(furthest, std::abs(p - 0.5));
      }
      CHECK(furthest <= kappa + 1e-12);
      CHECK(furthest > 0.5 * kappa);
      CHECK((ledger == ledger_kind::subset ? run.spent() : run.spent_worst_record()) <= nats(0.4));
      CHECK(run.attack_bound() == Approx(0.58).epsilon(1e-15));
      // Nothing was spent twice for the cap: it is no nats.
      CHECK(run.spent() > nats(0.0));
    }
  }
}

TEST_CASE("declared groups stay within their budget, and the run goes on without them",
          "[paczero][long]") {
  for (auto const what : {observed::sign, observed::value}) {
    for (auto const ledger : {ledger_kind::subset, ledger_kind::record}) {
      std::mt19937_64 random(16);
      paczero_options options{.steps = 60, .budget = nats(0.6), .what = what, .ledger = ledger};
      options.groups = {{0, 1}, {2, 3, 4}, {7, 20, 33}, {5}};
      options.group_budget = nats(0.05);
      paczero run(options, sixteen_subsets(), fixed_stream(17));
      CHECK(run.spent_by_group().size() == 4);
      while (!run.done()) (void)run.step(scalars(random, 50));
      auto const spent = run.spent_by_group();
      double const most = *std::max_element(spent.begin(), spent.end());
      CHECK(most <= 0.05);
      CHECK(most > 0.04);  // it is what binds
      CHECK(*std::min_element(spent.begin(), spent.end()) > 0.0);
      CHECK(run.spent() > nats(0.05));
    }
  }
  // A group that may be told nothing: whatever tells about it is not paid for.
  paczero_options strict{.steps = 3, .budget = nats(2.0), .otherwise = disagreement::coin};
  strict.groups = {{0, 1}};
  strict.group_budget = nats(0.0);
  paczero run(strict, four_subsets(), constant{});
  (void)run.step_from_sums(sums{1, -1, 1, -1});
  CHECK(run.last()[0].what == paczero_report::kind::unpaid);
  CHECK(run.spent_by_group()[0] == 0.0);
}

TEST_CASE("the bound on an attacker's success", "[paczero]") {
  auto const bound = [](paczero_options const& options) {
    return paczero(options, four_subsets(), constant{}).attack_bound();
  };
  CHECK(bound({.steps = 1, .budget = nats(0.33)}) == Approx(0.881888).margin(1e-6));
  CHECK(bound({.steps = 1, .budget = nats(0.25)}) == Approx(0.837893).margin(1e-6));
  CHECK(bound({.steps = 1, .budget = nats(0.33), .ledger = ledger_kind::record}) ==
        Approx(0.881888).margin(1e-6));
  CHECK(bound({.steps = 1, .budget = nats(0.0)}) == 0.5);
  CHECK(bound({.steps = 1, .budget = nats(5.0)}) == 1.0);
  CHECK(bound({.steps = 1, .ledger = ledger_kind::pathwise, .kappa = 0.05}) ==
        Approx(0.55).epsilon(1e-15));
  CHECK(bound({.steps = 1, .ledger = ledger_kind::pathwise, .kappa = 0.5}) == 1.0);
  // With two caps it is the lesser; a record that is chosen afterwards is covered by the subset's nats, and by kappa.
  for (auto const ledger : {ledger_kind::subset, ledger_kind::record}) {
    CHECK(bound({.steps = 1, .budget = nats(0.33), .ledger = ledger, .kappa = 0.05}) ==
          Approx(0.55).epsilon(1e-15));
    CHECK(bound({.steps = 1, .budget = nats(0.001), .ledger = ledger, .kappa = 0.4}) ==
          bound({.steps = 1, .budget = nats(0.001)}));
  }
  auto const afterwards = [](paczero_options const& options) {
    return attack_bound_afterwards(options, 2);
  };
  CHECK(afterwards({.steps = 1, .budget = nats(0.33)}) ==
        bound({.steps = 1, .budget = nats(0.33)}));
  CHECK(afterwards({.steps = 1, .budget = nats(0.33), .ledger = ledger_kind::record}) == 1.0);
  for (auto const ledger : {ledger_kind::subset, ledger_kind::record, ledger_kind::pathwise}) {
    CHECK(afterwards({.steps = 1, .budget = nats(0.33), .ledger = ledger, .kappa = 0.1}) ==
          Approx(0.6).epsilon(1e-15));
  }
  // Of a prior ¼ the best guess is right three times in four.
  paczero const quarter({.steps = 1, .budget = nats(0.0)},
                        candidate_set::balanced({.records = 6, .subsets = 8, .one_in = 4}, 1),
                        constant{});
  CHECK(quarter.attack_bound() == 0.75);
}

TEST_CASE("without a budget no step touches the belief or asks for more than a coin", "[paczero]") {
  std::mt19937_64 random(14);
  for (auto const otherwise : {disagreement::coin, disagreement::hold, disagreement::majority}) {
    for (auto const what : {observed::sign, observed::value}) {
      for (auto const ledger : {ledger_kind::subset, ledger_kind::record}) {
        constant const secret{};
        paczero run({.steps = 50,
                     .budget = nats(0.0),
                     .what = what,
                     .ledger = ledger,
                     .otherwise = otherwise},
                    sixteen_subsets(), secret);
        std::vector<double> const before = log_weights(run);
        int coins = 0;
        int const asked = *secret.asked;
        while (!run.done()) {
          (void)run.step(scalars(random, 50));
          paczero_report const& report = run.last()[0];
          REQUIRE(report.what != kind::paid);
          coins += report.what == kind::unpaid;
          if (report.what == kind::unpaid) {
            int const majority = report.agreement.minority_positive ? -1 : 1;
            int const expected = otherwise == disagreement::hold       ? 0
                                 : otherwise == disagreement::majority ? majority
                                                                       : 1;
            REQUIRE(report.released == expected);
          }
        }
        CHECK(coins > 10);
        CHECK(*secret.asked == asked + (otherwise == disagreement::coin ? coins : 0));
        CHECK(log_weights(run) == before);
        CHECK(run.spent() == nats(0.0));
        CHECK(run.spent_worst_record() == nats(0.0));
      }
    }
  }
}

TEST_CASE("the transcript is what was returned", "[paczero]") {
  std::mt19937_64 random(15);
  paczero run({.steps = 30, .budget = nats(0.3), .directions = 3}, sixteen_subsets(),
              fixed_stream(16));
  std::vector<release> returned;
  while (!run.done()) returned.push_back(run.step(scalars(random, 150)));
  CHECK(std::equal(returned.begin(), returned.end(), run.transcript().begin(),
                   run.transcript().end()));
  for (release const& r : returned) {
    for (double const y : r.coefficients) {
      REQUIRE((y == 0.0 || std::abs(y) == 1.0 / 3.0));
    }
  }
}

}  // namespace paczero_tests
