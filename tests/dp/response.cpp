// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/pure_epsilon.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/zcdp.hpp>

#include "support/catch.hpp"
#include "support/laws.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

// Randomised response where a null record answers at random: every answer of every record of small databases.

namespace response_tests {

using namespace tacit;

namespace {

using law = std::vector<long double>;
using support::hockey_stick;

constexpr int null_record = -1;

// What one record answers; not sampled, it answers at random.
law answer(int value, int categories, long double epsilon, long double rate) {
  long double const shrunk = std::exp(-epsilon);
  long double const others = (categories - 1) * shrunk;
  law out;
  for (int k = 0; k < categories; ++k) {
    long double const own = (k == value ? 1.0L : shrunk) / (1.0L + others);
    long double const random = 1.0L / categories;
    out.push_back(value == null_record ? random : rate * own + (1.0L - rate) * random);
  }
  return out;
}

law product(law const& a, law const& b) {
  law out;
  for (long double const x : a) {
    for (long double const y : b) out.push_back(x * y);
  }
  return out;
}

long double profile(dominating_pair const& pair, double epsilon) {
  auto const& finite = std::get<finite_pair>(pair);
  long double sum = finite.infinite;
  for (auto const& a : finite.atoms) {
    sum += std::max(0.0L, a.p - std::exp(static_cast<long double>(epsilon)) * a.q);
  }
  return sum;
}

std::vector<double> const epsilons{-2.0, -0.7, -0.2, 0.0, 0.05, 0.1, 0.3, 0.5, 0.9, 1.4, 2.0, 3.5};

}  // namespace

TEST_CASE("Randomised response under zero_out: every answer of two records", "[dp][response]") {
  for (int const categories : {2, 3, 5}) {
    for (double const epsilon : {0.01, 0.7, 2.0, 4.0}) {
      for (double const rate : {1.0, 0.5, 0.03}) {
        event release = randomised_response{epsilon, static_cast<std::uint64_t>(categories)};
        if (rate < 1.0) release.how = poisson{rate};
        domination const found = dominate(release, adjacency::zero_out);
        CHECK(found.attained);
        for (double const e : epsilons) {
          long double removed = 0.0L;
          long double added = 0.0L;
          for (int first = 0; first < categories; ++first) {
            for (int second = null_record; second < categories; ++second) {
              law const other = answer(second, categories, epsilon, rate);
              law const with = product(answer(first, categories, epsilon, rate), other);
              law const without = product(answer(null_record, categories, epsilon, rate), other);
              removed = std::max(removed, hockey_stick(with, without, e));
              added = std::max(added, hockey_stick(without, with, e));
            }
          }
          CHECK(std::abs(profile(found.remove, e) - removed) < 1e-15L);
          CHECK(std::abs(profile(found.add, e) - added) < 1e-15L);
        }
      }
    }
  }
}

TEST_CASE("Composed responses under zero_out, answer by answer", "[dp][response]") {
  using enum adjacency;
  // In one the largest loss is that of a record that goes, in the other that of one that comes.
  randomised_response const many{2.0, 40};
  randomised_response const two{1.0, 2};
  event const some(randomised_response{1.5, 3}, poisson{0.2});
  law p{1.0L};
  law q{1.0L};
  auto const put = [&](int categories, double epsilon, double rate) {
    p = product(p, answer(0, categories, epsilon, rate));
    q = product(q, answer(null_record, categories, epsilon, rate));
  };
  put(40, 2.0, 1.0);
  put(2, 1.0, 1.0);
  put(2, 1.0, 1.0);
  put(3, 1.5, 0.2);
  privacy_loss_accountant run(zero_out);
  renyi_accountant orders(zero_out);
  zcdp_accountant rho(zero_out);
  run.compose(many).compose(two, 2).compose(some);
  orders.compose(many).compose(two, 2).compose(some);
  rho.compose(many).compose(two, 2);
  CHECK_THROWS_AS(rho.compose(some), std::invalid_argument);
  for (double const e : {0.0, 0.2, 0.8, 1.5, 2.5}) {
    auto const truth = static_cast<double>(std::max(hockey_stick(p, q, e), hockey_stick(q, p, e)));
    bound<double> const found = run.delta(e);
    CHECK(found.lower <= truth * (1.0 + 1e-13));
    CHECK(found.upper >= truth * (1.0 - 1e-13));
    CHECK(found.upper - found.lower <= 1e-11);
    CHECK(orders.delta(e).upper >= truth);
  }
  long double removed = 0.0L;
  long double added = 0.0L;
  for (std::size_t i = 0; i < p.size(); ++i) {
    removed = std::max(removed, std::log(p[i] / q[i]));
    added = std::max(added, std::log(q[i] / p[i]));
  }
  std::array const all{composed{many, 1}, composed{two, 2}, composed{some, 1}};
  bound<double> const pure_bound = pure_epsilon(all, zero_out);
  CHECK(pure_bound.lower <= std::max(removed, added) + 1e-15L);
  CHECK(pure_bound.upper >= std::max(removed, added) - 1e-15L);
  CHECK(pure_bound.upper - pure_bound.lower < 1e-12);
}

// Two of three records are drawn and answer: the output in the records' order, or as a set.
TEST_CASE("A batch of responses is a set: in the order of the records more is known",
          "[dp][response]") {
  using pair_of_records = std::array<std::size_t, 2>;
  auto const in_order = [](std::array<int, 3> const& values) {
    law out(4, 0.0L);
    for (auto const& [i, j] :
         {pair_of_records{0, 1}, pair_of_records{0, 2}, pair_of_records{1, 2}}) {
      law const both = product(answer(values[i], 2, 1.0L, 1.0L), answer(values[j], 2, 1.0L, 1.0L));
      for (std::size_t k = 0; k < 4; ++k) out[k] += both[k] / 3.0L;
    }
    return out;
  };
  auto const as_set = [&](std::array<int, 3> const& values) {
    law const ordered = in_order(values);
    return law{ordered[0], ordered[1] + ordered[2], ordered[3]};
  };
  privacy_loss_accountant account(adjacency::replace_one);
  account.compose(sampled(randomised_response{.epsilon = 1.0, .categories = 2}, fixed_size{2, 3}));

  double const epsilon = account.epsilon(1e-12).upper;
  CHECK(epsilon == Approx(std::log(1.0 + 2.0 / 3.0 * std::expm1(1.0))).epsilon(1e-9));
  for (int others = 0; others < 4; ++others) {
    int const b = others / 2, c = others % 2;
    for (double const e : {0.0, 0.2, 0.5, 0.7, epsilon}) {
      CAPTURE(b, c, e);
      double const most = account.delta(e).upper;
      CHECK(hockey_stick(as_set({0, b, c}), as_set({1, b, c}), e) <= most + 1e-15L);
      CHECK(hockey_stick(as_set({1, b, c}), as_set({0, b, c}), e) <= most + 1e-15L);
    }
  }
  // What the page says of the order.
  law const p = in_order({0, 0, 1}), q = in_order({1, 0, 1});
  CHECK(static_cast<double>(std::log(q[2] / p[2])) == Approx(0.8562).margin(5e-5));
  CHECK(epsilon == Approx(0.7634).margin(5e-5));
}

TEST_CASE("Randomised response under zero_out at the ends of its range", "[dp][response]") {
  using enum adjacency;
  CHECK(dominate(randomised_response{0.0, 3}, zero_out).remove ==
        dominating_pair(normal_pair{0.0}));
  for (double const epsilon : {1e-12, 30.0, 699.0, 701.0, 1e5}) {
    for (std::uint64_t const k : {std::uint64_t{2}, std::uint64_t{1} << 53}) {
      auto const pair =
          std::get<finite_pair>(dominate(randomised_response{epsilon, k}, zero_out).remove);
      double const gap = pair.atoms[1].loss - pair.atoms[0].loss;
      CHECK(gap == Approx(epsilon).epsilon(1e-13));
      CHECK(pair.atoms[0].p + pair.atoms[1].p == Approx(1.0).epsilon(1e-14));
      CHECK(std::isfinite(pair.atoms[0].loss));
    }
  }
  // In a batch another record, or a null one, is in the place of the one that differs: as under replace_one.
  CHECK(
      dominate(sampled(randomised_response{1.0}, fixed_size{1, 2}), zero_out).remove ==
      dominate(sampled(randomised_response{1.0}, fixed_size{1, 2}), adjacency::replace_one).remove);
  CHECK_FALSE(dominate(sampled(randomised_response{1.0}, shuffled{}), zero_out).attained);
}

}  // namespace response_tests
