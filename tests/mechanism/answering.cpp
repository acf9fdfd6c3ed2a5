// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/answering.hpp>

#include "support/catch.hpp"
#include "support/counted_bits.hpp"
#include "support/forked.hpp"
#include "support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace tacit;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

struct source {
  std::mt19937_64 random;
  std::uint64_t drawn = 0;
  explicit source(std::uint64_t seed) : random(seed) {}
  counted_bits bits() { return {&random, &drawn}; }
  // What a session of the same seed draws first.
  std::uint64_t first_below(std::uint64_t n) {
    counted_bits same = bits();
    return uniform_below(same, n);
  }
};

using session = answering<given_answers, counted_bits>;

std::vector<double> normal_answers(std::size_t count, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> out(count);
  for (double& y : out) y = normal(random);
  return out;
}

}  // namespace

TEST_CASE("answers are charged before anything is drawn, and end with the budget") {
  source secret(1);
  session answers(given_answers{128}, {.budget = nats(10.5 * 0x1p-32), .per_answer = nats(0x1p-32)},
                  secret.bits());
  std::mt19937_64 random(2);
  std::uint64_t const before = secret.drawn;
  CHECK_THROWS_AS(answers.answer(std::vector<double>(128, std::nan(""))), std::domain_error);
  CHECK_THROWS_AS(answers.answer(std::vector<double>(127, 1.0)), std::invalid_argument);
  CHECK(secret.drawn == before);
  CHECK(answers.spent() == nats(0.0));
  for (int i = 0; i < 10; ++i) {
    double const z = answers.answer(normal_answers(128, random));
    CHECK(std::isfinite(z));
  }
  std::uint64_t const drawn = secret.drawn;
  CHECK_THROWS_AS(answers.answer(normal_answers(128, random)), budget_exhausted);
  CHECK(secret.drawn == drawn);
  CHECK(answers.answers() == 10);
  CHECK(answers.spent().value <= 10.0 * 0x1p-32);
  CHECK(answers.spent().value >= 10.0 * 0x1p-32 * (1.0 - 1e-6));
  // What all agree on is free.
  CHECK(answers.answer(std::vector<double>(128, 0.1)) == 0.1);
}

TEST_CASE("an answer is the secret candidate's, with noise on a grid") {
  constexpr std::size_t count = 8;
  std::vector<double> sample;
  std::mt19937_64 random(3);
  auto const query = normal_answers(count, random);
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    source secret(seed);
    auto const truth = source(seed).first_below(count);
    session answers(given_answers{count}, {.budget = nats(1.0), .per_answer = nats(0.01)},
                    secret.bits());
    auto const plan = plan_answer(query, answer_belief(count), nats(0.01));
    double const step = plan.along.front().step;
    double const z = answers.answer(query);
    CHECK(z / step == std::nearbyint(z / step));
    double const deviation = step * static_cast<double>(plan.along.front().scale);
    sample.push_back((z - query[truth]) / deviation);
  }
  CHECK(statistics::kolmogorov(sample, statistics::normal_cdf) < statistics::kolmogorov_limit);
}

TEST_CASE("an attacker who knows all is not right more often than the bound") {
  constexpr std::size_t count = 8;
  std::mt19937_64 random(4);
  int right = 0;
  int right_about_all = 0;
  constexpr int sessions = 3000;
  double bound = 0.0;
  double bound_all = 0.0;
  for (int i = 0; i < sessions; ++i) {
    source secret(static_cast<std::uint64_t>(1000 + i));
    auto const truth = source(static_cast<std::uint64_t>(1000 + i)).first_below(count);
    session answers(given_answers{count}, {.budget = nats(0.2), .per_answer = nats(0.01)},
                    secret.bits());
    for (int query = 0; query < 20; ++query) {
      // Each asks about the half that an attacker knows least of.
      std::vector<double> all(count);
      for (std::size_t m = 0; m < count; ++m) all[m] = m < count / 2 ? 1.0 : 0.0;
      all[static_cast<std::size_t>(query) % count] += 1e-3;
      static_cast<void>(answers.answer(all));
    }
    auto const p = answers.belief().probabilities();
    double low = 0.0;
    for (std::size_t m = 0; m < count / 2; ++m) low += p[m];
    right += (low > 0.5) == (truth < count / 2) ? 1 : 0;
    right_about_all +=
        static_cast<std::uint64_t>(std::max_element(p.begin(), p.end()) - p.begin()) == truth ? 1
                                                                                              : 0;
    bound = answers.attack_bound();
    bound_all = answers.attack_bound(1.0 / count);
  }
  // Of binomial deviations, five: once in three million.
  CHECK(right <= sessions * bound + 5.0 * std::sqrt(0.25 * sessions));
  CHECK(right >= sessions * 0.6);  // it is an attack
  CHECK(right_about_all <= sessions * bound_all + 5.0 * std::sqrt(0.25 * sessions));
}

TEST_CASE("a transcript is audited by whoever has the candidates' answers") {
  std::mt19937_64 random(5);
  std::vector<std::vector<double>> queries;
  for (int i = 0; i < 50; ++i) queries.push_back(normal_answers(16, random));
  source secret(7);
  session answers(given_answers{16},
                  {.budget = nats(1.0), .per_answer = nats(1e-3), .recorded = true}, secret.bits());
  for (auto const& query : queries) static_cast<void>(answers.answer(query));
  static_cast<void>(answers.answer(queries[0], nats(0.02)));
  queries.push_back(queries[0]);
  auto const told = answer_transcript::parse(answers.transcript()->text());
  auto const by = [&](std::size_t n) { return queries[n]; };
  answer_audit const found = audit_answers(told, by);
  CHECK(found.whole);
  CHECK(found.answers == 51);
  CHECK(found.revealed == answers.spent());
  for (std::size_t m = 0; m < 16; ++m) {
    CHECK(found.belief.probabilities()[m] == answers.belief().probabilities()[m]);
  }
  // Other answers of a candidate: the rest is not what the transcript says.
  queries[20][3] += 0.5;
  answer_audit const other = audit_answers(told, by);
  CHECK(!other.whole);
  CHECK(other.answers == 20);
  // A budget that the answers do not fit.
  answer_transcript small(16, nats(0.01), told.how());
  queries[20][3] -= 0.5;
  answer_belief belief(16);
  for (std::size_t n = 0; n < 51; ++n) {
    auto const plan = plan_answer(queries[n], belief, nats(told.entries()[n].at_most), told.how());
    std::vector<std::int64_t> const said{told.axes()[n].said};
    small.add(plan, nats(told.entries()[n].at_most), said);
    observe(belief, plan, said);
  }
  CHECK(audit_answers(small, by).answers < 11);
}

TEST_CASE("cells of any candidates, noised together") {
  struct tables {
    MatrixXd all;
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(all.rows()); }
    MatrixXd operator()(int scale) const { return all * scale; }
  };
  MatrixXd all(4, 3);
  all << 1, 2, 3, 2, 2, 4, 1, 3, 4, 2, 3, 5;
  source secret(3);
  answering<tables, counted_bits> answers(
      tables{all}, {.budget = nats(1.0), .per_answer = nats(0.1), .recorded = true}, secret.bits());
  for (int query = 1; query <= 5; ++query) {
    VectorXd const z = answers.answer(query);
    CHECK(z.size() == 3);
    CHECK(z.allFinite());
  }
  auto const found = audit_answers(*answers.transcript(),
                                   [&](std::size_t n) { return MatrixXd(all * double(n + 1)); });
  CHECK(found.whole);
  CHECK(found.revealed == answers.spent());
}

TEST_CASE("answers are given once: not from what was moved, nor by a forked process") {
  answering<> answers(given_answers{2}, {.budget = nats(1.0), .per_answer = nats(0.1)});
  answering<> moved = std::move(answers);
  std::vector<double> const query{0.0, 1.0};
  CHECK_THROWS_AS(answers.answer(query), std::logic_error);
  CHECK(std::isfinite(moved.answer(query)));
  CHECK(support::refused_in_a_child([&] { (void)moved.answer(query); }) == 1);
  CHECK_THROWS_AS((answering<>(given_answers{1}, {.budget = nats(1.0), .per_answer = nats(0.1)})),
                  std::invalid_argument);
  CHECK_THROWS_AS((answering<>(given_answers{2}, {.budget = nats(1.0)})), std::domain_error);
  CHECK_THROWS_AS((answering<>(given_answers{2}, {.budget = nats(-1.0), .per_answer = nats(0.1)})),
                  std::domain_error);
}

TEST_CASE("with kappa no answers lead further, and the noise grows where they leave little room") {
  std::mt19937_64 random(31);
  for (double const kappa : {0.05, 0.7}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      source secret(seed);
      session answers(
          given_answers{16},
          {.budget = nats(10.0), .per_answer = nats(0.05), .kappa = kappa, .recorded = true},
          secret.bits());
      std::vector<std::vector<double>> queries;
      for (int query = 0; query < 60; ++query) {
        queries.push_back(normal_answers(16, random));
        try {
          static_cast<void>(answers.answer(queries.back()));
        } catch (budget_exhausted const&) {
          break;
        }
        CHECK(answers.belief().strayed() <= kappa + 1e-9);
      }
      CHECK(answers.answers() > 5);
      CHECK(answers.answer(std::vector<double>(16, 0.5)) == 0.5);  // free, and always answered
      queries.resize(answers.answers() - 1);
      queries.emplace_back(16, 0.5);
      // Who audits needs no kappa.
      answer_audit const found =
          audit_answers(*answers.transcript(), [&](std::size_t n) { return queries[n]; });
      CHECK(found.whole);
      CHECK(found.revealed == answers.spent());
      for (double const p : answers.belief().probabilities()) {
        CHECK(p <= std::exp(kappa) / 16.0 * (1 + 1e-12));
        CHECK(p >= std::exp(-kappa) / 16.0 * (1 - 1e-12));
      }
      double const half = 1.0 - 0.5 * std::exp(-kappa);
      CHECK(answers.attack_bound_afterwards() == Approx(half).epsilon(1e-14));
      CHECK(answers.attack_bound_afterwards() >= half);
      CHECK(answers.attack_bound() <= answers.attack_bound_afterwards());
      CHECK(answers.attack_bound_afterwards(1.0) == 1.0);
      CHECK_THROWS_AS(answers.attack_bound_afterwards(0.0), std::domain_error);
    }
  }
  source secret(1);
  session const without(given_answers{2}, {.budget = nats(1.0), .per_answer = nats(0.1)},
                        secret.bits());
  CHECK(without.attack_bound_afterwards() == 1.0);
  for (double const kappa : {0.0, -1.0, 101.0, std::nan("")}) {
    CHECK_THROWS_AS(
        session(given_answers{2}, {.budget = nats(1.0), .per_answer = nats(0.1), .kappa = kappa},
                secret.bits()),
        std::domain_error);
  }
}
