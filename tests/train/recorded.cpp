// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/mezo.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_run.hpp>
#include <tacit/train/recorded.hpp>

#include "support/catch.hpp"
#include "support/directory.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using tacit::candidate_set;
using tacit::journal;
using tacit::journaled;
using tacit::paczero_options;
using tacit::run_record;
using tacit::symbol_kind;

constexpr std::size_t records = 40;

candidate_set candidates() {
  return candidate_set::balanced({.records = records, .subsets = 16}, 11);
}

paczero_options options(std::size_t directions = 1) {
  return {.steps = 60, .budget = tacit::nats(0.5), .directions = directions};
}

void loss(std::span<float const> theta, std::span<double> losses) {
  for (std::size_t i = 0; i < losses.size(); ++i) {
    double const x = 0.1 * static_cast<double>(i) - 2.0;
    double const error = double{theta[0]} * x + double{theta[1]} - (2.0 * x - 1.0);
    losses[i] = error * error;
  }
}

tacit::train_options training() {
  return {.smoothing = 1e-3,
          .learning_rate = 0.02,
          .weight_decay = 0.01,
          .decay = tacit::schedule::linear,
          .steps = 60,
          .seed = 7};
}

run_record record_of(tacit::parameters const& theta, std::size_t directions = 1) {
  return {.mechanism = describe(options(directions), candidates()),
          .training = training(),
          .directions = directions,
          .symbols = symbol_kind::held_sign,
          .magnitude = 1.0 / static_cast<double>(directions),
          .tensors = tensors_of(theta),
          .start = hash_of(theta)};
}

}  // namespace

TEST_CASE("A model comes back from its start and its transcript, bit for bit", "[recorded]") {
  for (std::size_t const directions : {1UL, 3UL}) {
    support::directory const folder;
    std::vector<float> theta{0.1F, -0.2F};
    std::vector<float> again = theta;
    run_record const record = record_of(theta, directions);
    tacit::paczero<> mechanism(options(directions), candidates());
    journal log = journal::create(folder / "j", record);
    journaled recorded{mechanism, log};
    tacit::trainer run{recorded, training(), theta};
    while (!run.done()) {
      run.step(loss);
      REQUIRE(log.steps() == mechanism.steps());
    }
    tacit::transcript const sealed = tacit::transcript::parse(log.seal().sealed());
    CHECK(releases_of(sealed) == std::vector<tacit::release>(mechanism.transcript().begin(),
                                                             mechanism.transcript().end()));
    CHECK(again != theta);
    tacit::replay(again, sealed);
    CHECK(again == theta);

    // From anywhere else it refuses to begin.
    std::vector<float> other = again;
    CHECK_THROWS_AS(tacit::replay(other, sealed), std::invalid_argument);
    CHECK(other == again);
    std::vector<float> longer{0.1F, -0.2F, 0.0F};
    CHECK_THROWS_AS(tacit::replay(longer, sealed), std::invalid_argument);
    std::vector<float> a{0.1F};
    std::vector<float> b{-0.2F};
    CHECK_THROWS_AS(tacit::replay({a, b}, sealed), std::invalid_argument);
  }
}

TEMPLATE_TEST_CASE("So does a model of small numbers", "[recorded]", tacit::half, tacit::bfloat16) {
  support::directory const folder;
  std::vector<TestType> small{tacit::rounded_to<TestType>(0.1F),
                              tacit::rounded_to<TestType>(-3.0F)};
  std::vector<float> large{0.5F, 1e-3F, 2.0F};
  std::vector<TestType> const small_start = small;
  std::vector<float> const large_start = large;
  tacit::parameters const theta(
      std::vector<tacit::tensor>{{.entries = std::span(small), .name = "small"},
                                 {.entries = std::span(large), .name = "large"}});
  tacit::mezo_options const plain{.directions = 2, .steps = 50};
  run_record record = record_of(theta, 2);
  record.mechanism = describe(plain, records);
  record.symbols = symbol_kind::scalar;
  record.magnitude = 0.0;
  tacit::mezo<> mechanism(plain, records);
  journal log = journal::create(folder / "j", record);
  journaled recorded{mechanism, log};
  tacit::trainer run{recorded, training(), theta};
  while (!run.done()) {
    run.step([&](tacit::parameters const&, std::span<double> losses) {
      float const both[2] = {to_float(small[0]) + large[0], to_float(small[1]) - large[2]};
      loss(both, losses);
    });
  }
  std::vector<TestType> const small_end = small;
  std::vector<float> const large_end = large;
  CHECK(small != small_start);
  CHECK_THROWS_AS(tacit::replay(theta, log.seal()), std::invalid_argument);
  small = small_start;
  large = large_start;
  tacit::replay(theta, log.seal());
  CHECK(small == small_end);
  CHECK(large == large_end);
}

TEST_CASE("A crash between mechanism and journal is mended by the same release", "[recorded]") {
  support::directory const folder;
  std::vector<float> theta{0.1F, -0.2F};
  run_record const record = record_of(theta);
  std::vector<tacit::release> made;
  {
    tacit::saved_run mechanism(tacit::paczero(options(), candidates()), folder / "state");
    journal log = journal::create(folder / "j", record);
    journaled recorded{mechanism, log};
    tacit::trainer run{recorded, training(), theta};
    for (int t = 0; t < 20; ++t) made.push_back(run.step(loss));
  }
  {  // the mechanism steps, and the journal does not
    auto mechanism = tacit::saved_run<tacit::paczero<>>::resume(folder / "state");
    mechanism.save_to(folder / "state");
    made.push_back(mechanism.step(std::vector<double>(records, 1.0)));
  }
  {
    auto mechanism = tacit::saved_run<tacit::paczero<>>::resume(folder / "state");
    mechanism.save_to(folder / "state");
    journal log = journal::resume(folder / "j", record);
    CHECK(log.steps() == 20);
    journaled recorded{mechanism, log};
    CHECK(log.steps() == 21);
    CHECK(releases_of(log.seal()) == made);
  }
  // A journal with more, or other, releases is not this mechanism's.
  {
    journal log = journal::resume(folder / "j", record);
    log.append(std::vector{1.0});
    auto mechanism = tacit::saved_run<tacit::paczero<>>::resume(folder / "state");
    mechanism.save_to(folder / "state");
    CHECK_THROWS_AS((journaled{mechanism, log}), std::invalid_argument);
  }
  {
    journal log = journal::create(folder / "other", record);
    log.append(std::vector{made[0].coefficients[0] == 1.0 ? -1.0 : 1.0});
    auto mechanism = tacit::saved_run<tacit::paczero<>>::resume(folder / "state");
    CHECK_THROWS_AS((journaled{mechanism, log}), std::invalid_argument);
  }
  journal wide = journal::create(folder / "wide", record_of(theta, 2));
  tacit::paczero<> mechanism(options(), candidates());
  CHECK_THROWS_AS((journaled{mechanism, wide}), std::invalid_argument);
}

TEST_CASE("What cannot be written is not applied", "[recorded]") {
  support::directory const folder;
  std::vector<float> theta{0.1F, -0.2F};
  std::vector<float> const start = theta;
  run_record scalars = record_of(theta);
  scalars.symbols = symbol_kind::sign;
  journal log = journal::create(folder / "j", scalars);
  tacit::mezo<> mechanism({.directions = 1, .steps = 5}, records);
  journaled recorded{mechanism, log};
  tacit::trainer run{recorded, training(), theta};
  CHECK_THROWS_AS(run.step(loss), std::domain_error);  // a mean is no sign
  CHECK(theta[0] == Approx(start[0]).margin(1e-6));
  CHECK(theta[1] == Approx(start[1]).margin(1e-6));
  CHECK(log.steps() == 0);
}

TEST_CASE("Mechanisms read back as they were described", "[recorded]") {
  std::vector<paczero_options> all;
  for (auto const ledger :
       {tacit::ledger_kind::subset, tacit::ledger_kind::record, tacit::ledger_kind::pathwise}) {
    for (auto const spend :
         {tacit::allocation::uniform, tacit::allocation::adaptive,
          tacit::allocation::confident_or_hold, tacit::allocation::budget_then_zero}) {
      for (auto const otherwise :
           {tacit::disagreement::coin, tacit::disagreement::hold, tacit::disagreement::majority}) {
        paczero_options o{.steps = 77, .ledger = ledger, .spend = spend, .otherwise = otherwise};
        if (ledger == tacit::ledger_kind::pathwise) {
          o.kappa = 0.1;
        } else {
          o.budget = tacit::nats(0.25);
          o.what = tacit::observed::value;
        }
        o.clip = 3.0;
        o.horizon = 20.0;
        o.minimum_correlation = 0.4;
        o.directions = 5;
        all.push_back(o);
      }
    }
  }
  auto const set =
      candidate_set::balanced({.records = 12, .subsets = 6, .complementary = true}, 99);
  for (paczero_options const& o : all) {
    auto const described = describe(o, set);
    auto const back = paczero_described(described, 5);
    CHECK(describe(back.options, candidate_set::balanced(back.candidates, back.candidate_seed)) ==
          described);
    CHECK(back.options.directions == 5);
    CHECK(back.options.otherwise == o.otherwise);
    CHECK(back.options.spend == o.spend);
    CHECK(back.options.ledger == o.ledger);
    CHECK(back.options.what == o.what);
    CHECK(back.candidates.complementary);
    CHECK(back.candidate_seed == 99);

    // One parameter missing, one more, one of another type: never read.
    for (std::size_t i = 0; i < described.parameters.size(); ++i) {
      auto wrong = described;
      wrong.parameters.erase(wrong.parameters.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK_THROWS_AS(paczero_described(wrong, 5), std::logic_error);
      wrong = described;
      wrong.parameters[i].second = std::string("?");
      CHECK_THROWS_AS(paczero_described(wrong, 5), std::logic_error);
    }
    auto longer = described;
    longer.parameters.emplace_back("more", 1.0);
    CHECK_THROWS_AS(paczero_described(longer, 5), std::invalid_argument);
  }

  auto const with = [&](char const* name, tacit::recorded_mechanism::value value) {
    auto wrong = describe(options(), candidates());
    for (auto& [key, old] : wrong.parameters) {
      if (key == name) old = value;
    }
    CHECK_THROWS_AS(paczero_described(wrong, 1), std::logic_error);
  };
  with("steps", std::uint64_t{0});
  with("budget", -1.0);
  with("clip", 0.0);
  with("records", std::uint64_t{0});
  with("records", std::uint64_t{1} << 40);
  with("subsets", std::uint64_t{7});
  with("subsets", std::uint64_t{1} << 33);
  with("one_in", std::uint64_t{1});
  with("complementary", std::uint64_t{2});

  for (auto const what : {tacit::surrogate::raw, tacit::surrogate::random_sign}) {
    auto const described =
        describe(tacit::mezo_options{.what = what, .directions = 2, .steps = 4, .clip = 8.0}, 10);
    auto const back = mezo_described(described, 2);
    CHECK(describe(back.options, back.records) == described);
    CHECK(back.options.what == what);
    CHECK_THROWS_AS(paczero_described(described, 2), std::invalid_argument);
    CHECK_THROWS_AS(mezo_described(describe(options(), candidates()), 2), std::invalid_argument);
  }
}

TEST_CASE("a cap beside a budget, and declared groups, are described and read back", "[recorded]") {
  auto const set = candidate_set::balanced({.records = 12, .subsets = 6}, 99);
  paczero_options o{.steps = 77, .budget = tacit::nats(0.25), .kappa = 0.1};
  o.groups = {{0, 1}, {11}, {4, 2, 7}};
  o.group_budget = tacit::nats(0.0625);
  auto const described = describe(o, set);
  auto const back = paczero_described(described, 1);
  CHECK(back.options.kappa == 0.1);
  CHECK(back.options.groups == o.groups);
  CHECK(back.options.group_budget == o.group_budget);
  CHECK(describe(back.options, set) == described);
  for (auto const ledger : {tacit::ledger_kind::record, tacit::ledger_kind::pathwise}) {
    o.ledger = ledger;
    CHECK(paczero_described(describe(o, set), 1).options.groups == o.groups);
  }
  auto const is_read = [&](std::string const& name, tacit::recorded_mechanism::value const& value) {
    auto changed = described;
    for (auto& [key, old] : changed.parameters) {
      if (key == name) old = value;
    }
    try {
      (void)paczero_described(changed, 1);
    } catch (std::logic_error const&) {
      return false;
    }
    return true;
  };
  for (char const* bad : {"", ";", ",", "0,", "0;", ";0", "0,,1", "0,x", "-1", "0 1", "1e3",
                          "18446744073709551616"}) {
    CAPTURE(bad);
    CHECK_FALSE(is_read("groups", std::string(bad)));
  }
  CHECK(is_read("groups", std::string("0;3,1")));
  CHECK_FALSE(is_read("groups", 1.0));
  CHECK_FALSE(is_read("kappa", 0.7));
  CHECK_FALSE(is_read("group_budget", -0.1));
  auto lacking = described;
  std::erase_if(lacking.parameters, [](auto const& p) { return p.first == "group_budget"; });
  CHECK_THROWS_AS(paczero_described(lacking, 1), std::invalid_argument);
}

TEST_CASE("mechanisms with noise are described and read back", "[recorded]") {
  tacit::noisy_sum_options const o{
      .clip = 0.3, .noise_multiplier = 1.7, .rate = 0.02, .expected_records = 1234.0, .steps = 77};
  for (char const* name : {"dpzero", "dp_aggzo", "dp_zo_laplace"}) {
    auto const described = tacit::describe(name, o, 1300);
    CHECK(described.name == name);
    auto const back = noisy_sum_described(described);
    CHECK(describe(name, back.options, back.records) == described);
    CHECK(back.options.divisor() == o.divisor());
    for (std::size_t i = 0; i < described.parameters.size(); ++i) {
      auto wrong = described;
      wrong.parameters.erase(wrong.parameters.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK_THROWS_AS(noisy_sum_described(wrong), std::logic_error);
      for (tacit::recorded_mechanism::value const& bad :
           {tacit::recorded_mechanism::value("?"), tacit::recorded_mechanism::value(0.0),
            tacit::recorded_mechanism::value(std::uint64_t{0})}) {
        wrong = described;
        wrong.parameters[i].second = bad;
        CHECK_THROWS_AS(noisy_sum_described(wrong), std::logic_error);
      }
    }
  }
}
