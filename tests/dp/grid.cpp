// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/grid/law.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

using namespace tacit;
using support::exact;

namespace {

struct weighted {
  exact loss;
  exact p;
};

// Every outcome of a composition, and δ(ε) by its definition.
class enumeration {
 public:
  void add(std::vector<weighted> const& one) {
    std::vector<weighted> next;
    for (weighted const& a : all_) {
      for (weighted const& b : one) next.push_back({exact(a.loss + b.loss), exact(a.p * b.p)});
    }
    all_ = std::move(next);
  }
  [[nodiscard]] exact delta(exact const& epsilon) const {
    exact sum = 0;
    for (weighted const& a : all_) {
      if (a.loss > epsilon) sum += a.p * (1 - exp(exact(epsilon - a.loss)));
    }
    return sum;
  }

 private:
  std::vector<weighted> all_{{0, 1}};
};

// An answer of one of k categories; k = 2 is any pure mechanism's pair.
std::vector<weighted> response(double epsilon, int categories = 2) {
  exact const e = exp(exact(epsilon));
  exact const total = exact(e + categories - 1);
  std::vector<weighted> out{{exact(epsilon), exact(e / total)},
                            {exact(-epsilon), exact(1 / total)}};
  if (categories > 2) out.push_back({0, exact((categories - 2) / total)});
  return out;
}

// (rate·P + (1−rate)·Q, Q) for the pure pair (P, Q), or the other way round.
std::vector<weighted> sampled_response(double epsilon, double rate, bool removes) {
  exact const e = exp(exact(epsilon));
  std::vector<weighted> out;
  for (exact const& q : {exact(1 / (1 + e)), exact(e / (1 + e))}) {
    exact const p = exact(1 - q);
    exact const mixed = exact(rate * p + (1 - exact(rate)) * q);
    exact const loss = log(exact(mixed / q));
    out.push_back(removes ? weighted{loss, mixed} : weighted{exact(-loss), q});
  }
  return out;
}

bool holds(bound<double> const& found, exact const& truth) {
  return exact(found.lower) <= truth && truth <= exact(found.upper);
}

bool meet(bound<double> const& a, bound<double> const& b) {
  return a.lower <= b.upper && b.lower <= a.upper;
}

discretised_accountant account(adjacency neighbours,
                               std::vector<std::pair<event, std::uint64_t>> const& events) {
  discretised_accountant out(neighbours);
  for (auto const& [release, count] : events) out.compose(release, count);
  return out;
}

discretised_accountant pures(std::vector<std::pair<double, std::uint64_t>> const& events) {
  discretised_accountant out;
  for (auto const& [epsilon, count] : events) out.compose(pure{epsilon}, count);
  return out;
}

event random_event(std::mt19937_64& random, adjacency neighbours) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  double const epsilon = std::exp(-4.0 + 5.0 * uniform(random));
  double const rate = uniform(random);
  bool const one_sided = neighbours == adjacency::add_remove;
  switch (random() % 6) {
    case 0:
      return pure{epsilon};
    case 1:
      return laplace{1.0 / epsilon};
    case 2:
      return exponential_mechanism{epsilon};
    case 3:
      return one_sided ? event(sampled(laplace{1.0 / epsilon}, poisson{rate}))
                       : event(randomised_response{epsilon, 3});
    case 4:
      return one_sided ? event(sampled(pure{epsilon}, poisson{rate}))
                       : event(sampled(pure{epsilon}, fixed_size{30, 100}));
    default:
      return one_sided ? event(sampled(gaussian{0.5 + 2.0 / epsilon}, poisson{rate}))
                       : event(sampled(gaussian{0.5 + 2.0 / epsilon}, fixed_size{30, 100}));
  }
}

}  // namespace

TEST_CASE("one lattice of fine steps does not serve coarse laws as well", "[dp][grid]") {
  auto const epsilon = [](double wide, mechanism_event const& other) {
    privacy_loss_accountant accountant(adjacency::add_remove);
    accountant.compose(discrete_gaussian{wide, 1}, 1);
    accountant.compose(event(other), 1);
    return accountant.epsilon(1e-6);
  };
  // Losses are whole numbers of steps of the wide one, of which the other has 10^9 in its range.
  bound<double> const beside = epsilon(12'000.0, discrete_gaussian{3.0, 1});
  privacy_loss_accountant alone(adjacency::add_remove);
  alone.compose(discrete_gaussian{3.0, 1}, 1);
  CHECK(beside.lower >= alone.epsilon(1e-6).lower * (1.0 - 1e-6));
  CHECK(beside.upper <= alone.epsilon(1e-6).upper + 1e-3);
  CHECK(beside.upper - beside.lower <= 1e-6);
  for (mechanism_event const& other :
       {mechanism_event(pure{1.0}), mechanism_event(approx_dp{1.0, 1e-7})}) {
    for (double const wide : {40'000.0, 50'000.0, 60'000.0}) {
      bound<double> const found = epsilon(wide, other);
      CAPTURE(wide, found.lower, found.upper);
      CHECK(found.lower >= 0.9999);
      CHECK(found.upper <= 1.001);
    }
  }
}

TEST_CASE("delta at and near the largest loss", "[dp]") {
  // At the largest loss and above there is nothing, in exact sums of the losses.
  CHECK(pures({{1.0, 1}}).delta(1.0).upper == 0.0);
  CHECK(pures({{0.25, 4}}).delta(1.0).upper == 0.0);
  CHECK(pures({{0.3, 10}}).delta(3.0).upper == 0.0);  // ten times the double below 0.3
  CHECK(pures({{0.1, 10}}).delta(1.0).upper > 0.0);   // and the one above 0.1
  CHECK(account(adjacency::add_remove, {{laplace{2.0}, 4}}).delta(2.0).upper == 0.0);
  CHECK(account(adjacency::replace_one, {{randomised_response{1.0}, 2}}).delta(2.0).upper == 0.0);

  enumeration two;
  two.add(response(1.3));
  two.add(response(1.0));
  bound<double> const close = pures({{1.3, 1}, {1.0, 1}}).delta(2.2999);
  CHECK(holds(close, two.delta(exact(2.2999))));
  CHECK(close.upper - close.lower < 1e-9 * close.upper);
  CHECK(close.upper > 5.7e-5);
  CHECK(close.upper < 5.8e-5);

  enumeration three;
  three.add(response(1.3717));
  three.add(response(0.9283));
  bound<double> const e = pures({{1.3717, 1}, {0.9283, 1}}).epsilon(1e-6);
  CHECK(three.delta(exact(e.upper)) <= exact(1e-6));
  CHECK(three.delta(exact(e.lower)) >= exact(1e-6));
  CHECK(e.upper - e.lower < 1e-9);

  // One Laplace: 1 − e^{(ε−1)/2}.
  for (double const gap : {1e-3, 1e-8, 1e-12}) {
    double const at = 1.0 - gap;
    bound<double> const d = account(adjacency::add_remove, {{laplace{1.0}, 1}}).delta(at);
    CAPTURE(gap, d.lower, d.upper);
    CHECK(holds(d, exact(1 - exp(exact((exact(at) - 1) / 2)))));
    CHECK(d.upper < 1.01 * d.lower);
  }
}

TEST_CASE("steps that fit exactly are found", "[dp]") {
  CHECK(steps_for<privacy_loss_accountant>({1.0, 1e-6}, pure{0.25}) == 4);
  CHECK(steps_for<privacy_loss_accountant>({3.0, 1e-6}, pure{0.3}) == 10);
  CHECK(steps_for<privacy_loss_accountant>({2.0, 1e-6}, laplace{2.0}) == 4);
}

TEST_CASE("small compositions of responses, outcome by outcome in 50 digits", "[dp][long]") {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int run = 0; run < 300; ++run) {
    bool const replace = uniform(random) < 0.4;
    bool const removes = uniform(random) < 0.5;
    adjacency const neighbours = replace ? adjacency::replace_one : adjacency::add_remove;
    discretised method(neighbours);
    enumeration truth;
    double most = 0.0;
    int const kinds = 1 + static_cast<int>(random() % 3);
    for (int kind = 0; kind < kinds; ++kind) {
      double const epsilon = uniform(random) < 0.3 ? 0.25 * static_cast<double>(1 + random() % 8)
                                                   : std::exp(-4.0 + 6.0 * uniform(random));
      auto const count = 1 + random() % 3;
      double const rate = uniform(random) < 0.5 ? 1.0 : uniform(random);
      int const categories = replace ? 2 + static_cast<int>(random() % 3) : 2;
      domination pairs =
          replace ? dominate(randomised_response{epsilon, static_cast<std::uint64_t>(categories)},
                             neighbours)
                  : dominate(sampled(pure{epsilon}, poisson{rate}), neighbours);
      if (!removes) pairs.remove = pairs.add;
      pairs.symmetric = true;
      method.add(pairs, count);
      for (std::uint64_t k = 0; k < count; ++k) {
        truth.add(replace ? response(epsilon, categories)
                          : sampled_response(epsilon, rate, removes));
      }
      most += epsilon * static_cast<double>(count);
    }
    for (double const at : {0.0, most * uniform(random), most * (1.0 - 1e-9)}) {
      bound<double> const d = method.delta(at);
      exact const value = truth.delta(exact(at));
      CAPTURE(run, replace, removes, at, d.lower, d.upper, static_cast<double>(value));
      // Rates and losses of sampled responses are rounded.
      exact const slack = exact(1e-13);
      CHECK(exact(d.lower) <= value * (1 + slack) + exact(1e-17));
      CHECK(value * (1 - slack) <= exact(d.upper) + exact(1e-17));
      CHECK(d.upper - d.lower <= 1e-9 * d.upper + 3e-14 * (1.0 + most));
    }
  }
}

TEST_CASE("laws that are nearly alike: no mass is raised to the first node", "[dp][long]") {
  for (double const apart : {4e-11, 2e-10}) {
    double const first = 0.1;
    double const second = 0.1 * (1.0 + apart);
    discretised run(adjacency::add_remove, 1e-2);
    run.add(pure{first}, 30);
    run.add(pure{second}, 20);
    run.add(sampled(gaussian{1e8}, poisson{1e-9}), 1);  // so that the others are on a grid
    auto const log_binomial = [](int n, int k) {
      return lgamma(exact(n + 1)) - lgamma(exact(k + 1)) - lgamma(exact(n - k + 1));
    };
    // k and m of them have the larger loss.
    for (double const epsilon : {0.1, 0.7}) {
      exact truth = 0;
      for (int k = 0; k <= 30; ++k) {
        for (int m = 0; m <= 20; ++m) {
          exact const loss = (2 * k - 30) * exact(first) + (2 * m - 20) * exact(second);
          if (!(loss > epsilon)) continue;
          exact const log_p = log_binomial(30, k) + log_binomial(20, m) - (30 - k) * exact(first) -
                              30 * log1p(exp(-exact(first))) - (20 - m) * exact(second) -
                              20 * log1p(exp(-exact(second)));
          truth += exp(log_p) * (1 - exp(exact(epsilon) - loss));
        }
      }
      bound<double> const found = run.delta(epsilon);
      CAPTURE(apart, epsilon, found.lower, found.upper, truth.convert_to<double>());
      CHECK(exact(found.lower) <= truth);
      CHECK(truth * (1 - exact(1e-15)) <= exact(found.upper));
    }
  }
}

TEST_CASE("many responses far out in the tail", "[dp]") {
  discretised_accountant run(adjacency::replace_one);
  run.compose(randomised_response{1.0}, 100);
  bound<double> const e = run.epsilon(1e-300);
  CHECK(e.lower > 99.999);
  CHECK(e.upper <= 100.0);
}

TEST_CASE("the direction add at a tiny rate: the largest loss is -log1p(-rate)", "[dp]") {
  double const rate = 900719.4 * 0x1p-53;
  mixture_pair const pair{{{rate, 1.0}}, orientation::add};
  discretised run(adjacency::add_remove);
  run.add(domination{pair, pair, true, true}, 1);
  // By mpmath, 60 digits: Φ(x) − e^ε·((1−q)Φ(x) + q·Φ(x−1)) with 1 − q + q·e^{x−1/2} = e^{−ε}.
  struct row {
    double part;
    double delta;
  };
  for (auto const& [part, delta] :
       {row{0.5, 9.53050020175e-12}, row{0.99, 3.67601737458e-18}, row{0.999, 9.61131147545e-25},
        row{0.9999, 1.52689089989e-33}, row{0.99999, 1.35873693129e-44}}) {
    bound<double> const d = run.delta(part * -std::log1p(-rate));
    CAPTURE(part, delta, d.lower, d.upper);
    CHECK(d.lower <= delta * (1.0 + 1e-9));
    CHECK(d.upper >= delta * (1.0 - 1e-9));
  }
}

// To nearest, half of them would be below.
TEST_CASE(
    "the largest loss of the direction add is above -log1p(-rate), on the line and on the integers",
    "[dp]") {
  std::mt19937_64 random(20261205);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  detail::law_maker<double> const make(1e-20, 1e-20, {1024, 0.125});
  for (int k = 0; k < 2000; ++k) {
    double const rate = k % 2 == 0 ? std::pow(10.0, -18.0 * uniform(random)) : uniform(random);
    exact const most = -log(1 - exact(rate));
    CAPTURE(rate);
    for (double const largest : {make(lattice_pair{2.0, 1, rate, orientation::add}).largest,
                                 make(mixture_pair{{{rate, 0.5}}, orientation::add}).largest}) {
      CHECK(exact(largest) >= most);
      CHECK(exact(largest) <= most * exact(1.0 + 1e-13));
    }
  }
}

TEST_CASE("losses in the thousands", "[dp]") {
  discretised_accountant run;
  run.compose(sampled(gaussian{0.01}, poisson{0.5}), 2);
  bound<double> const e = run.epsilon(1e-5);
  CHECK(e.upper - e.lower < 1e-3 * e.upper);
  // In half of half of the runs both steps see the record: ε is near that of N(√2·100, 1), which is
  // 10⁴ + 141·4.1.
  CHECK(e.lower > 10500.0);
  CHECK(e.upper < 10600.0);
}

// Errors are weighed by what the tilted masses of one release sum to, to the power of all of them. An estimate of that sum
// which is 1e-3 too large made the errors of these counts e^{60} and more times too large: [0, Rényi's end].
TEST_CASE("thousands of sampled releases under replace_one have narrow intervals", "[dp]") {
  struct run {
    double sigma;
    double rate;
    std::uint64_t steps;
    double delta;
  };
  for (run const& r : std::vector<run>{{2.52, 0.00141, 61447, 3.16e-7},
                                       {4.87, 0.0017, 29478, 6e-8},
                                       {2.81, 0.01, 43095, 0.5}}) {
    event const release = sampled(gaussian{r.sigma}, poisson{r.rate});
    auto const account = discretised_accountant(adjacency::replace_one).compose(release, r.steps);
    bound<double> const e = account.epsilon(r.delta);
    double const renyi =
        renyi_accountant(adjacency::replace_one).compose(release, r.steps).epsilon(r.delta).upper;
    CAPTURE(r.sigma, e.lower, e.upper, renyi);
    CHECK(e.upper - e.lower <= 1e-3 * e.upper);
    CHECK(e.lower <= renyi);
    bound<double> const d = account.delta(0.5 * (e.lower + e.upper));
    CHECK(d.upper - d.lower <= 2e-2 * d.upper);
    CHECK(meet(d, {0.99 * r.delta, 1.01 * r.delta}));
  }
}

// A step as wide as the narrowest law put more cells under the others than there are numbers.
TEST_CASE("a law of next to no width beside one of a great width", "[dp][long]") {
  auto const account = discretised_accountant(adjacency::replace_one)
                           .compose(sampled(laplace{3733581.0484995609}, poisson{9.3e-11}), 50)
                           .compose(sampled(gaussian{0.015}, poisson{0.0031586642751877262}), 2);
  auto const without = discretised_accountant(adjacency::replace_one)
                           .compose(sampled(gaussian{0.015}, poisson{0.0031586642751877262}), 2);
  for (double const delta : {1e-6, 1e-3, 0.5, 0.999999}) {
    CHECK(meet(account.epsilon(delta), without.epsilon(delta)));
  }
  CHECK(meet(account.delta(0.0), without.delta(0.0)));
}

TEST_CASE("one by one, in groups and at once: the intervals meet", "[dp][long]") {
  std::mt19937_64 random(5);
  for (int run = 0; run < 12; ++run) {
    adjacency const neighbours = run % 2 == 0 ? adjacency::add_remove : adjacency::replace_one;
    discretised_accountant alone(neighbours);
    discretised_accountant grouped(neighbours);
    discretised_accountant at_once(neighbours);
    for (int kind = 0; kind < 2; ++kind) {
      event const release = random_event(random, neighbours);
      std::uint64_t const count = 1 + random() % 40;
      for (std::uint64_t k = 0; k < count; ++k) alone.compose(release);
      std::uint64_t const part = random() % (count + 1);
      grouped.compose(release, part).compose(release, count - part);
      at_once.compose(release, count);
    }
    bound<double> const e = at_once.epsilon(1e-6);
    CHECK(meet(e, alone.epsilon(1e-6)));
    CHECK(meet(e, grouped.epsilon(1e-6)));
    // ε and δ are inverse.
    if (!(e.lower > 0.0 && e.upper < 1e300)) continue;
    CAPTURE(run, e.lower, e.upper);
    CHECK(at_once.delta(e.upper).lower <= 1e-6);
    CHECK(at_once.delta(e.lower).upper >= 1e-6);
    // δ falls, and ε too.
    CHECK(at_once.delta(0.5 * e.lower).upper >= at_once.delta(e.lower).lower);
    CHECK(at_once.epsilon(1e-5).lower <= e.upper);
  }
}

TEST_CASE("grids of their own for the parts of a sum: the intervals meet", "[dp]") {
  // The same losses as two pairs that differ in the last digit, and as one.
  std::mt19937_64 random(6);
  for (int run = 0; run < 6; ++run) {
    event const release = random_event(random, adjacency::add_remove);
    domination const pairs = dominate(release, adjacency::add_remove);
    if (!std::holds_alternative<bounded_pair>(pairs.remove)) continue;
    bounded_pair const one = std::get<bounded_pair>(pairs.remove);
    bounded_pair other = one;
    other.epsilon = std::nextafter(one.epsilon, 0.0);
    discretised together(adjacency::add_remove);
    discretised apart(adjacency::add_remove);
    together.add(domination{one, one, true, true}, 30);
    apart.add(domination{one, one, true, true}, 17);
    apart.add(domination{other, other, true, true}, 13);
    CHECK(meet(together.epsilon(1e-7), apart.epsilon(1e-7)));
  }
}

TEST_CASE("at epsilon 0 both directions are the total variation", "[dp]") {
  std::mt19937_64 random(8);
  for (int run = 0; run < 12; ++run) {
    event const release = random_event(random, adjacency::add_remove);
    domination const pairs = dominate(release, adjacency::add_remove);
    std::uint64_t const count = 1 + random() % 20;
    discretised removes(adjacency::add_remove);
    discretised adds(adjacency::add_remove);
    removes.add(domination{pairs.remove, pairs.remove, true, true}, count);
    adds.add(domination{pairs.add, pairs.add, true, true}, count);
    bound<double> const a = removes.delta(0.0);
    bound<double> const b = adds.delta(0.0);
    CAPTURE(run, count, a.lower, a.upper, b.lower, b.upper);
    CHECK(meet(a, b));
    CHECK(a.upper - a.lower < 0.05 * a.upper);
  }
}

TEST_CASE("thousands of distinct events", "[dp][long]") {
  // Between n of the least and n of the largest, which are on a lattice of their own.
  constexpr int n = 50000;
  discretised_accountant run;
  for (int k = 0; k < n; ++k) run.compose(pure{0.01 * (1.0 + 1e-6 * k)});
  bound<double> const e = run.epsilon(1e-6);
  bound<double> const least = pures({{0.01, n}}).epsilon(1e-6);
  bound<double> const most = pures({{0.01 * (1.0 + 1e-6 * n), n}}).epsilon(1e-6);
  CAPTURE(e.lower, e.upper, least.lower, most.upper);
  CHECK(e.lower <= most.upper);
  CHECK(e.upper >= least.lower);
  CHECK(e.upper < 1.05 * most.upper);
  CHECK(e.lower > 0.9 * least.lower);
}

TEST_CASE("the certified upper end is never above the Rényi accountant's", "[dp][long]") {
  std::mt19937_64 random(9);
  for (int run = 0; run < 10; ++run) {
    adjacency const neighbours = run % 2 == 0 ? adjacency::add_remove : adjacency::replace_one;
    privacy_loss_accountant certified(neighbours);
    renyi_accountant moments(neighbours);
    for (int kind = 0; kind < 2; ++kind) {
      event const release = random_event(random, neighbours);
      std::uint64_t const count = 1 + random() % 60;
      certified.compose(release, count);
      moments.compose(release, count);
    }
    bound<double> const e = certified.epsilon(1e-8);
    CAPTURE(run, e.lower, e.upper);
    CHECK(e.lower <= e.upper);
    CHECK(e.upper <= moments.epsilon(1e-8).upper * (1.0 + 1e-9));
    bound<double> const d = certified.delta(0.5 * e.upper);
    CHECK(d.lower <= d.upper);
    CHECK(d.upper <= moments.delta(0.5 * e.upper).upper * (1.0 + 1e-9));
  }
}

TEST_CASE("epsilon at a large delta is as narrow as at a small one", "[dp]") {
  auto const check = [](event const& release, std::uint64_t count,
                        std::vector<double> const& deltas) {
    privacy_loss_accountant account(adjacency::add_remove);
    account.compose(release, count);
    double last = 1e300;
    for (double const delta : deltas) {
      bound<double> const found = account.epsilon(delta);
      CAPTURE(delta, found.lower, found.upper);
      CHECK(found.lower > 0.0);
      CHECK(found.upper - found.lower <= 1e-4 * found.upper);
      CHECK(account.delta(found.lower).upper >= delta);
      CHECK(account.delta(found.upper).lower <= delta);
      CHECK(found.lower <= last);
      last = found.upper;
    }
  };
  check(sampled(laplace{0.1}, poisson{0.1}), 1000, {0.3, 0.5, 0.7, 0.8, 0.9, 0.99});
  check(sampled(laplace{0.5}, poisson{0.05}), 30'000, {0.5, 0.7, 0.9, 0.99});
  check(by_person(sampled(gaussian{0.5}, poisson{0.1}), 4), 100, {0.5, 0.7, 0.9, 0.99});
  check(exponential_mechanism{0.5}, 200, {0.3, 0.5, 0.7, 0.9});
}
