// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/gaussian.hpp>
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
#include <random>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

// What is known of a mechanism only by its guarantee, against mechanisms of few outcomes that keep it.

namespace guarantee_tests {

using namespace tacit;

namespace {

using law = std::vector<double>;
using support::hockey_stick;

double divergence(law const& p, law const& q, double order) {
  double sum = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] > 0.0) sum += p[i] * std::pow(p[i] / q[i], order - 1.0);
  }
  return std::log(sum) / (order - 1.0);
}

law product(law const& a, law const& b) {
  law out;
  for (double const x : a) {
    for (double const y : b) out.push_back(x * y);
  }
  return out;
}

law mixture(double rate, law const& a, law const& b) {
  law out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(rate * a[i] + (1.0 - rate) * b[i]);
  return out;
}

// δ(ε) of a pair from its definition.
double profile(dominating_pair const& pair, double epsilon) {
  auto const& finite = std::get<finite_pair>(pair);
  double sum = finite.infinite;
  for (auto const& a : finite.atoms) sum += std::max(0.0, a.p - std::exp(epsilon) * a.q);
  return sum;
}

class generator {
 public:
  double number(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(draw_);
  }
  std::size_t whole(std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(draw_);
  }
  /// Some outcomes may be impossible.
  law on(std::size_t outcomes, bool with_zeros) {
    law out;
    double sum = 0.0;
    for (std::size_t k = 0; k < outcomes; ++k) {
      double const x = with_zeros && number(0.0, 1.0) < 0.15 ? 0.0 : std::exp(number(-4.0, 0.0));
      out.push_back(x);
      sum += x;
    }
    if (sum == 0.0) return on(outcomes, with_zeros);
    for (double& x : out) x /= sum;
    return out;
  }

 private:
  std::mt19937_64 draw_{20261123};
};

std::vector<double> const epsilons{-2.5, -1.0, -0.4, -0.1, 0.0, 0.05, 0.1, 0.2,
                                   0.35, 0.5,  0.8,  1.0,  1.3, 1.7,  2.5, 4.0};

double worse(law const& p, law const& q, double epsilon) {
  return std::max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon));
}

// The largest profile that is convex in x = e^ε under the points and their mirror images: at each x the least
// value of all chords between two of them, and of all points further left.
double largest_profile(std::vector<approx_dp> const& points, double epsilon) {
  struct place {
    double x;
    double delta;
  };
  std::vector<place> all{{0.0, 1.0}};
  for (approx_dp const& p : points) {
    double const x = std::exp(p.epsilon);
    all.push_back({x, p.delta});
    all.push_back({1.0 / x, 1.0 - 1.0 / x + p.delta / x});
  }
  double const x = std::exp(epsilon);
  double least = 1.0;
  for (place const& a : all) {
    if (a.x <= x) least = std::min(least, a.delta);
    for (place const& b : all) {
      if (a.x < x && x < b.x) {
        least = std::min(least, ((b.x - x) * a.delta + (x - a.x) * b.delta) / (b.x - a.x));
      }
    }
  }
  return least;
}

}  // namespace

TEST_CASE("A profile of some points is the largest convex one under them", "[dp][guarantees]") {
  generator random;
  for (int round = 0; round < 500; ++round) {
    std::vector<approx_dp> points;
    // Any points, not only those of a mechanism.
    for (std::size_t k = random.whole(1, 7); k-- > 0;) {
      double const epsilon = random.number(0.0, 1.0) < 0.2 ? 0.0 : random.number(0.0, 3.0);
      double const delta = random.number(0.0, 1.0) < 0.2 ? 0.0 : random.number(0.0, 1.0);
      points.push_back({epsilon, delta});
    }
    domination const found = dominate(dp_profile{points}, adjacency::add_remove);
    REQUIRE(found.symmetric);
    double mass = std::get<finite_pair>(found.remove).infinite;
    for (auto const& a : std::get<finite_pair>(found.remove).atoms) mass += a.p;
    CHECK(mass >= 1.0 - 1e-16);
    CHECK(mass <= 1.0 + 1e-13);
    for (double const epsilon : epsilons) {
      double const expected = largest_profile(points, epsilon);
      double const given = profile(found.remove, epsilon);
      CHECK(given >= expected - 1e-14);
      CHECK(given <= expected + 1e-12);
    }
  }
}

TEST_CASE("A profile dominates each mechanism that keeps its points, sampled or not",
          "[dp][guarantees]") {
  generator random;
  for (int round = 0; round < 400; ++round) {
    std::size_t const outcomes = random.whole(2, 5);
    law const p = random.on(outcomes, true);
    law const q = random.on(outcomes, true);
    std::vector<double> at;
    for (std::size_t k = random.whole(1, 5); k-- > 0;) at.push_back(random.number(0.0, 2.5));
    dp_profile const known = from_profile([&](double e) { return worse(p, q, e); }, at);
    domination const whole = dominate(known, adjacency::zero_out);
    double const rate = random.number(0.01, 0.99);
    domination const poissons = dominate(sampled(known, poisson{rate}), adjacency::add_remove);
    law const mixed = mixture(rate, p, q);
    for (double const epsilon : epsilons) {
      CHECK(profile(whole.remove, epsilon) >= hockey_stick(p, q, epsilon) - 1e-14);
      CHECK(profile(whole.add, epsilon) >= hockey_stick(q, p, epsilon) - 1e-14);
      CHECK(profile(poissons.remove, epsilon) >= hockey_stick(mixed, q, epsilon) - 1e-14);
      CHECK(profile(poissons.add, epsilon) >= hockey_stick(q, mixed, epsilon) - 1e-14);
    }
  }
}

TEST_CASE("A profile under replace_one: every batch of every database of three records",
          "[dp][guarantees]") {
  generator random;
  for (int round = 0; round < 60; ++round) {
    // A batch of one record of three values: what is released depends on its value.
    std::array<law, 3> answers{random.on(3, false), random.on(3, false), random.on(3, false)};
    std::vector<double> at{random.number(0.0, 0.5), random.number(0.5, 1.0),
                           random.number(1.0, 3.0)};
    dp_profile const known = from_profile(
        [&](double e) {
          double most = 0.0;
          for (law const& a : answers) {
            for (law const& b : answers) most = std::max(most, worse(a, b, e));
          }
          return most;
        },
        at);
    domination const found = dominate(sampled(known, fixed_size{1, 3}), adjacency::replace_one);
    auto const released = [&](std::size_t x, std::size_t y, std::size_t z) {
      law out;
      for (std::size_t i = 0; i < 3; ++i) {
        out.push_back((answers[x][i] + answers[y][i] + answers[z][i]) / 3.0);
      }
      return out;
    };
    for (std::size_t code = 0; code < 81; ++code) {
      law const one = released(code % 3, code / 3 % 3, code / 9 % 3);
      law const other = released(code / 27, code / 3 % 3, code / 9 % 3);
      for (double const epsilon : epsilons) {
        CHECK(profile(found.remove, epsilon) >= hockey_stick(one, other, epsilon) - 1e-14);
      }
    }
  }
}

TEST_CASE("Composed profiles: every outcome of two mechanisms, and of persons with two records",
          "[dp][guarantees]") {
  generator random;
  for (int round = 0; round < 40; ++round) {
    law const p = random.on(4, false);
    law const q = random.on(4, false);
    law const r = random.on(3, false);
    law const s = random.on(3, false);
    std::vector<double> const at{0.0, 0.4, 0.9, 1.5, 3.0};
    auto const known = [&](law const& a, law const& b) {
      return from_profile([&](double e) { return worse(a, b, e); }, at);
    };
    privacy_loss_accountant certified(adjacency::replace_one);
    discretised_accountant grid(adjacency::replace_one);
    certified.compose(known(p, q), 2).compose(known(r, s));
    grid.compose(known(p, q), 2).compose(known(r, s));
    law const one = product(product(p, p), r);
    law const other = product(product(q, q), s);
    for (double const epsilon : {0.0, 0.3, 1.0, 2.0, 4.0}) {
      double const truth = worse(one, other, epsilon);
      CHECK(certified.delta(epsilon).upper >= truth * (1.0 - 1e-12));
      CHECK(grid.delta(epsilon).upper >= truth * (1.0 - 1e-12));
    }
    // Neighbours of neighbours.
    law const between = mixture(random.number(0.0, 1.0), p, q);
    dp_profile const each = from_profile(
        [&](double e) { return std::max(worse(p, between, e), worse(between, q, e)); }, at);
    domination const person = dominate(by_person(each, 2), adjacency::replace_one);
    CHECK_FALSE(person.attained);
    for (double const epsilon : epsilons) {
      CHECK(profile(person.remove, epsilon) >= hockey_stick(p, q, epsilon) - 1e-14);
    }
  }
}

TEST_CASE("One point is an (ε, δ) guarantee, many of a Gaussian nearly the Gaussian",
          "[dp][guarantees]") {
  privacy_loss_accountant point;
  privacy_loss_accountant plain;
  point.compose(dp_profile{{{1.0, 1e-5}}}, 10);
  plain.compose(approx_dp{1.0, 1e-5}, 10);
  CHECK(point.epsilon(1e-3).upper == Approx(plain.epsilon(1e-3).upper).epsilon(1e-12));
  CHECK(point.epsilon(1e-5).upper == infinity);

  std::vector<double> at;
  for (int k = 0; k <= 800; ++k) at.push_back(k / 80.0);
  privacy_loss_accountant many;
  privacy_loss_accountant normal;
  many.compose(from_profile([](double e) { return delta(gaussian_dp{1.0}, e).upper; }, at), 4);
  normal.compose(gaussian_dp{1.0}, 4);
  CHECK(normal.epsilon(1e-5).upper == Approx(epsilon(gaussian_dp{2.0}, 1e-5).upper));
  CHECK(many.epsilon(1e-5).upper >= normal.epsilon(1e-5).lower);
  CHECK(many.epsilon(1e-5).upper <= normal.epsilon(1e-5).upper + 2e-3);

  CHECK(privacy_loss_accountant::load(many.save()).epsilon(1e-5).upper == many.epsilon(1e-5).upper);
  std::string const text = many.save();
  CHECK(text.find("\npoints 1602 0 ") != std::string::npos);
}

TEST_CASE("Points that nearly coincide, and ends of the range", "[dp][guarantees]") {
  for (std::vector<approx_dp> const& points : std::vector<std::vector<approx_dp>>{
           {{0.0, 0.5}, {5e-324, 0.4}},
           {{1.0, 0.5}, {std::nextafter(1.0, 2.0), 0.4}, {2.0, 0.0}},
           {{1.0, 0.3}, {2.0, std::nextafter(0.3, 0.0)}},
           {{1e308, 0.1}, {1e-308, 0.9}},
           {{700.0, 1e-300}, {800.0, 1e-310}, {1.0, 1.0}},
           {{0.0, 1.0}},
           {{0.0, 0.0}},
           {{1.0, 0.5}, {1.0, 0.25}, {3.0, 0.5}}}) {
    auto const pair =
        std::get<finite_pair>(dominate(dp_profile{points}, adjacency::add_remove).remove);
    double mass = pair.infinite;
    for (auto const& a : pair.atoms) {
      CHECK(std::isfinite(a.p));
      mass += a.p;
    }
    CHECK(mass >= 1.0 - 1e-16);
    CHECK(mass <= 1.0 + 1e-12);
    for (approx_dp const& p : points) {
      if (p.epsilon < 700.0) CHECK(profile(pair, p.epsilon) <= p.delta + 1e-12);
    }
  }
}

TEST_CASE("Gaussian DP: a pair of its own under every sampling that has one", "[dp][guarantees]") {
  using enum adjacency;
  CHECK(dominate(gaussian_dp{0.5}, replace_one).remove == dominating_pair(normal_pair{0.5}));
  CHECK(dominate(by_person(gaussian_dp{0.5}, 3), add_remove).remove ==
        dominating_pair(normal_pair{1.5}));
  CHECK(dominate(sampled(gaussian_dp{0.5}, poisson{0.1}), add_remove).add ==
        dominate(sampled(gaussian{2.0}, poisson{0.1}), add_remove).add);
  CHECK(dominate(gaussian_dp{0.0}, add_remove).remove == dominating_pair(normal_pair{0.0}));
  // A record that is not sampled is absent, which is no neighbour's state: δ is q times that of the release.
  privacy_loss_accountant told(zero_out);
  told.compose(sampled(gaussian_dp{0.5}, poisson{0.1}));
  double const tenth = 0.1 * delta(gaussian_dp{0.5}, 0.3).upper;
  CHECK(told.delta(0.3).upper >= tenth);
  CHECK(told.delta(0.3).upper <= 1.001 * tenth);
  // Another record in its place is two steps away.
  CHECK(dominate(sampled(gaussian_dp{0.5}, fixed_size{1, 2}), zero_out).remove ==
        dominating_pair(amplified_pair{amplified_pair::noise::normal, 0.5, 1.0, 0.5}));

  // With all of its records replaced at once, and so no smaller than that of one Gaussian of this μ.
  privacy_loss_accountant batches(replace_one);
  batches.compose(sampled(gaussian_dp{1.0}, fixed_size{1, 10}), 20);
  privacy_loss_accountant sum(replace_one);
  sum.compose(sampled(gaussian{2.0}, fixed_size{1, 10}), 20);
  CHECK(batches.epsilon(1e-5).upper == Approx(sum.epsilon(1e-5).upper).epsilon(1e-6));

  gaussian_accountant exact;
  exact.compose(gaussian_dp{0.6}).compose(gaussian_dp{0.8});
  CHECK(exact.epsilon(1e-5).upper == Approx(epsilon(gaussian_dp{1.0}, 1e-5).upper));
  zcdp_accountant rho;
  rho.compose(gaussian_dp{2.0});
  CHECK(rho.method().guarantee().rho == Approx(2.0));
}

TEST_CASE("Rényi guarantees bound mechanisms that keep them, at every order", "[dp][guarantees]") {
  generator random;
  for (int round = 0; round < 200; ++round) {
    std::size_t const outcomes = random.whole(2, 5);
    law const p = random.on(outcomes, false);
    law const q = random.on(outcomes, false);
    auto const both = [&](double order) {
      return std::max(divergence(p, q, order), divergence(q, p, order));
    };
    std::vector<double> at;
    for (std::size_t k = random.whole(1, 6); k-- > 0;) {
      at.push_back(1.0 + std::exp(random.number(-4.0, 3.0)));
    }
    renyi_dp const known = from_renyi_curve([&](double o) { return both(o) * (1 + 1e-14); }, at);
    renyi one(adjacency::add_remove);
    one.add(known, 1);
    renyi three(adjacency::add_remove);
    three.add(known, 3);
    double const last = *std::max_element(at.begin(), at.end());
    for (double order = 1.02; order < last; order = 1.0 + 1.3 * (order - 1.0)) {
      double const truth = both(order);
      CHECK(one.divergence(order) >= truth * (1.0 - 1e-12));
      CHECK(three.divergence(order) >= 3.0 * truth * (1.0 - 1e-12));
    }
    for (double const order : at) {
      CHECK(one.divergence(order) <= both(order) * (1.0 + 1e-9));
    }
    CHECK(one.divergence(1.001 * last) == infinity);
    law const a = product(product(p, p), p);
    law const b = product(product(q, q), q);
    for (double const epsilon : {0.1, 0.7, 2.0}) {
      CHECK(three.delta(epsilon).upper >= worse(a, b, epsilon) * (1.0 - 1e-12));
    }
  }
}

TEST_CASE("Poisson samples of what is known by its divergences, in both orders of the neighbours",
          "[dp][guarantees]") {
  generator random;
  std::vector<double> whole;
  for (int order = 2; order <= 40; ++order) whole.push_back(order);
  for (int round = 0; round < 200; ++round) {
    std::size_t const outcomes = random.whole(2, 5);
    law const p = random.on(outcomes, false);
    law const q = random.on(outcomes, false);
    double const rate = round % 10 == 0 ? 0.97 : std::exp(random.number(-9.0, -0.2));
    law mixed;
    for (std::size_t k = 0; k < outcomes; ++k) mixed.push_back((1.0 - rate) * q[k] + rate * p[k]);
    auto const both = [&](double order) {
      return std::max(divergence(p, q, order), divergence(q, p, order)) * (1.0 + 1e-14);
    };
    bool const at_few = round % 3 == 0;
    renyi_dp const known =
        from_renyi_curve(both, at_few ? std::vector<double>{3.5, 8.0, 40.0} : whole);
    renyi samples(adjacency::add_remove);
    samples.add(sampled(known, poisson{rate}), 1);
    renyi all(adjacency::add_remove);
    all.add(known, 1);
    for (double order = 1.02; order < 40.0; order = 1.0 + 1.3 * (order - 1.0)) {
      double const removed = divergence(mixed, q, order);
      double const added = divergence(q, mixed, order);
      CAPTURE(round, rate, order, removed, added);
      CHECK(samples.divergence(order) >= std::max(removed, added) * (1.0 - 1e-9) - 1e-14);
      CHECK(samples.divergence(order) <= all.divergence(order) * (1.0 + 1e-12));
    }
    // Each direction by itself. What is known of D_α(P‖Q) alone gives the remove direction exactly, at whole orders.
    detail::divergence_guarantee const one(
        from_renyi_curve([&](double o) { return divergence(p, q, o) * (1.0 + 1e-14); }, whole));
    for (double const order : {2.0, 3.0, 11.0, 40.0}) {
      double const truth = divergence(mixed, q, order);
      double const bound = one.sampled(rate, orientation::remove).upper(order);
      CHECK(bound >= truth * (1.0 - 1e-9) - 1e-14);
      CHECK(bound <= truth * (1.0 + 1e-8) + 1e-13);
    }
    detail::divergence_guarantee const of_both(from_renyi_curve(both, whole));
    for (double const order : {1.5, 2.0, 7.3, 60.0}) {
      CHECK(of_both.sampled(rate, orientation::add).upper(order) >=
            divergence(q, mixed, order) * (1.0 - 1e-9) - 1e-14);
    }
  }
}

TEST_CASE("Poisson samples of a Gaussian that is known to be zCDP cost hardly more than its own",
          "[dp][guarantees]") {
  for (double const sigma : {0.8, 1.0, 3.0}) {
    for (double const rate : {1e-4, 0.01, 0.1}) {
      renyi_accountant known;
      known.compose(sampled(zcdp{0.5 / (sigma * sigma)}, poisson{rate}), 1000);
      renyi_accountant own;
      own.compose(sampled(gaussian{sigma}, poisson{rate}), 1000);
      double const bound = known.epsilon(1e-5).upper;
      double const least = own.epsilon(1e-5).upper;
      CAPTURE(sigma, rate, bound, least);
      CHECK(bound >= least * (1.0 - 1e-9));
      CHECK(bound <= 1.2 * least);
      // At whole orders the remove direction is the Gaussian's.
      CHECK(known.method().divergence(2.0) >= own.method().divergence(2.0) * (1.0 - 1e-12));
    }
  }
  CHECK_THROWS_AS(renyi_accountant().compose(by_person(sampled(zcdp{0.5}, fixed_size{1, 9}), 2)),
                  std::invalid_argument);
  // Skellam noise is known by its divergences at whole orders.
  renyi_accountant counts;
  counts.compose(sampled(integer_noise{integer_law::skellam, 400.0, 2}, poisson{0.01}), 100);
  privacy_loss_accountant exact;
  exact.compose(sampled(integer_noise{integer_law::skellam, 400.0, 2}, poisson{0.01}), 100);
  CHECK(counts.epsilon(1e-6).upper >= exact.epsilon(1e-6).lower);
  CHECK(counts.epsilon(1e-6).upper <= 3.0 * exact.epsilon(1e-6).upper);
  // Far out: tiny rates, great divergences, orders that are not known.
  for (double const rate : {5e-324, 1e-300, 1e-17, 0.5, 1.0 - 1e-16}) {
    for (double const rho : {1e-300, 1e-9, 1.0, 1e6, 1e300}) {
      renyi_accountant far;
      far.compose(sampled(zcdp{rho}, poisson{rate}), 3);
      renyi_accountant whole;
      whole.compose(zcdp{rho}, 3);
      bound<double> const found = far.epsilon(1e-9);
      CHECK(found.upper >= 0.0);
      CHECK(found.upper <= whole.epsilon(1e-9).upper * (1.0 + 1e-6));
    }
  }
}

TEST_CASE("The best of the stated orders is not missed", "[dp][guarantees]") {
  for (double const order : {1.001, 1.5, 2.0, 7.0, 1000.0}) {
    renyi_accountant account;
    account.compose(renyi_dp{{{order, 0.1}}}, 3);
    double const expected = renyi_epsilon(order, 0.3, 1e-5);
    CHECK(account.epsilon(1e-5).upper <= expected * (1.0 + 1e-12));
    CHECK(account.epsilon(1e-5).upper >= 0.99 * expected);
    CHECK(account.delta(2.0).upper <= renyi_delta(order, 0.3, 2.0) * (1.0 + 1e-12));
  }
}

TEST_CASE("zCDP: its own accountant and Rényi's, and elsewhere refused with the way out",
          "[dp][guarantees]") {
  using enum adjacency;
  zcdp_accountant own;
  own.compose(zcdp{0.25}, 2).compose(by_person(zcdp{0.1}, 2)).compose(gaussian{1.0});
  CHECK(own.method().guarantee().rho == Approx(0.5 + 0.4 + 0.5));
  renyi_accountant orders;
  orders.compose(zcdp{0.5}, 4);
  renyi_accountant normal;
  normal.compose(gaussian{1.0}, 4);
  CHECK(orders.epsilon(1e-5).upper == Approx(normal.epsilon(1e-5).upper).epsilon(1e-6));
  CHECK(own.would_exceed(zcdp{0.1}, 1, {.epsilon = 0.1, .delta = 1e-5}));
  CHECK_THROWS_WITH(
      privacy_loss_accountant().compose(zcdp{0.1}),
      "dominate: there is no known bound for a mechanism that is known by its Rényi divergences "
      "alone, as a pair: take the Rényi accountant, or zCDP's; or compose the (ε, δ) that they "
      "imply: see `from_profile`");
  CHECK_THROWS_AS(gaussian_accountant().compose(zcdp{0.1}), std::invalid_argument);
  CHECK_THROWS_AS(zcdp_accountant().compose(renyi_dp{{{2.0, 0.1}}}), std::invalid_argument);

  // Samples: batches where the bound needs nothing but the divergences.
  renyi_accountant batches(replace_one);
  batches.compose(sampled(zcdp{0.5}, fixed_size{1, 100}), 100);
  renyi_accountant whole(replace_one);
  whole.compose(zcdp{0.5}, 100);
  renyi_accountant sums(replace_one);
  sums.compose(sampled(gaussian{2.0}, fixed_size{1, 100}), 100);
  CHECK(batches.epsilon(1e-5).upper < 0.1 * whole.epsilon(1e-5).upper);
  CHECK(batches.epsilon(1e-5).upper >= sums.epsilon(1e-5).upper);
  for (adjacency const how : {add_remove, zero_out, replace_one}) {
    if (how != add_remove) {  // as if it were told whether the record is sampled
      renyi_accountant told(how);
      told.compose(sampled(zcdp{0.5}, poisson{0.1}));
      for (double const order : {1.5, 2.0, 10.0, 60.0, 1e5}) {
        double const moment = order * (order - 1.0) * 0.5;
        double const most = moment < 600.0 ? std::log1p(0.1 * std::expm1(moment)) / (order - 1.0)
                                           : (moment + std::log(0.1)) / (order - 1.0);
        CHECK(told.method().divergence(order) >= most * (1.0 - 1e-14));
        CHECK(told.method().divergence(order) <= most * (1.0 + 1e-13));
      }
      // Of the same noise, where sums say more.
      renyi_accountant sum(how);
      sum.compose(sampled(gaussian{1.0 / (how == zero_out ? 1.0 : 0.5)}, poisson{0.1}));
      CHECK(told.method().divergence(2.0) >= sum.method().divergence(2.0));
    }
    CHECK_THROWS_AS(zcdp_accountant(how).compose(sampled(zcdp{0.5}, poisson{0.1})),
                    std::invalid_argument);
    renyi_accountant epoch(how);
    event const allocated = sampled(zcdp{0.5}, random_allocation{10, 1});
    epoch.compose(allocated);  // no worse than one step
    CHECK(epoch.method().divergence(2.0) == 1.0);
  }
  CHECK_THROWS_AS(renyi_accountant(add_remove).compose(sampled(zcdp{0.5}, shuffled{})),
                  std::invalid_argument);
  // Of two records order 2 is that of both links of order 4/3, of which D is (2 − 1)/(4/3 − 1) times that of a link.
  renyi_accountant two;
  two.compose(by_person(renyi_dp{{{2.0, 0.1}}}, 2));
  CHECK(two.method().divergence(1.25) == Approx(0.3).epsilon(1e-14));
  CHECK(two.method().divergence(1.34) == std::numeric_limits<double>::infinity());
  renyi_accountant epoch(replace_one);
  epoch.compose(sampled(zcdp{0.5}, shuffled{}));
  CHECK(epoch.method().divergence(2.0) == 1.0);
  renyi_accountant nothing;
  nothing.compose(sampled(zcdp{0.5}, poisson{0.0}));
  CHECK(nothing.method().divergence(2.0) == 0.0);

  std::array const run{composed{zcdp{0.5}, 1}};
  CHECK(pure_epsilon(run, add_remove).upper == infinity);
}

}  // namespace guarantee_tests
