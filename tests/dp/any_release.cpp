// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/any_release.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/privacy_loss.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

using namespace tacit;

namespace {

using release = std::pair<event, double>;

double lower_of(std::vector<release> const& releases, detail::loss_query<double> query,
                orientation towards, double work = 1e10) {
  std::vector<detail::counted_pair> pairs;
  for (auto const& [one, count] : releases) {
    domination const found = dominate(one, adjacency::add_remove);
    pairs.push_back({towards == orientation::remove ? found.remove : found.add, count});
  }
  detail::work_budget own(work);
  return detail::any_release<double>(pairs).lower(query, own);
}

// δ(ε) of two releases of (1 − q)·N(0, σ²) + q·N(1, σ²) against N(0, σ²), from densities on a mesh of outcomes.
double of_two_on_a_mesh(double sigma, double q, double epsilon, bool turned) {
  double const step = 0.01 * sigma;
  auto const density = [&](double x) { return std::exp(-0.5 * x * x / (sigma * sigma)); };
  std::vector<double> mixed;
  std::vector<double> noise;
  for (double x = -9.0 * sigma; x < 1.0 + 9.0 * sigma; x += step) {
    noise.push_back(density(x));
    mixed.push_back((1.0 - q) * density(x) + q * density(x - 1.0));
  }
  if (turned) std::swap(mixed, noise);
  double sum = 0.0;
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    for (std::size_t j = 0; j < mixed.size(); ++j) {
      sum += std::max(0.0, mixed[i] * mixed[j] - std::exp(epsilon) * noise[i] * noise[j]);
    }
  }
  double const mass = step / (sigma * std::sqrt(2.0 * std::acos(-1.0)));
  return sum * mass * mass;
}

}  // namespace

TEST_CASE("of two releases, that one of them has a large loss says less than all, and most of it") {
  for (bool const turned : {false, true}) {
    orientation const towards = turned ? orientation::add : orientation::remove;
    for (auto const& [sigma, q, epsilon] :
         {std::tuple(0.4, 1e-3, 2.0), std::tuple(0.4, 0.02, 0.5), std::tuple(1.0, 0.3, 0.2),
          std::tuple(0.7, 1.0, 1.0), std::tuple(2.0, 0.01, 0.01)}) {
      double const truth = of_two_on_a_mesh(sigma, q, epsilon, turned);
      event const one = sampled(gaussian{sigma}, poisson{q});
      double const lower = lower_of({{one, 2.0}}, {false, epsilon}, towards);
      CAPTURE(turned, sigma, q, epsilon, truth, lower);
      CHECK(lower <= truth * (1.0 + 1e-4));
      if (!turned && q < 0.01 && sigma < 1.0) CHECK(lower >= 0.99 * truth);
    }
  }
}

TEST_CASE(
    "a lower end by some large loss is below what lines know, and near it where losses are rare") {
  std::mt19937_64 random(20261130);
  auto const in = [&](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<>(0.0, 1.0)(random));
  };
  int near_by = 0;
  for (int run = 0; run < 100; ++run) {
    event const one = sampled(gaussian{in(0.2, 3.0)}, poisson{in(1e-7, 0.5)});
    event const other = sampled(gaussian{in(0.2, 3.0)}, poisson{in(1e-7, 0.5)});
    auto const count = static_cast<std::uint64_t>(in(1.0, 1e5));
    double const delta = in(1e-20, 1e-3);
    privacy_loss_accountant all(adjacency::add_remove);
    all.compose(one, count);
    all.compose(other, 3);
    bound<double> const truth = all.epsilon(delta);
    double const lower = std::max(lower_of({{one, static_cast<double>(count)}, {other, 3.0}},
                                           {true, delta}, orientation::remove),
                                  lower_of({{one, static_cast<double>(count)}, {other, 3.0}},
                                           {true, delta}, orientation::add));
    CAPTURE(run, count, delta, truth.lower, truth.upper, lower);
    CHECK(lower <= truth.upper);
    near_by += lower >= 0.9 * truth.upper ? 1 : 0;
    double const at = 0.7 * truth.upper;
    bound<double> const mass = all.delta(at);
    CHECK(lower_of({{one, static_cast<double>(count)}, {other, 3.0}}, {false, at},
                   orientation::remove) <= mass.upper);
  }
  CHECK(near_by >= 15);
}

TEST_CASE("what some large loss says of persons, batches and Laplace noise is below the rest") {
  std::vector<event> const kinds{sampled(gaussian{0.8}, with_replacement{20, 1000}),
                                 sampled(laplace{0.3}, poisson{0.001}),
                                 sampled(laplace{0.3}, with_replacement{20, 1000}),
                                 by_person(sampled(gaussian{1.0}, poisson{0.001}), 5)};
  for (event const& one : kinds) {
    for (std::uint64_t const count : {std::uint64_t{1}, std::uint64_t{1000}}) {
      privacy_loss_accountant all(adjacency::add_remove);
      all.compose(one, count);
      for (double const delta : {1e-3, 1e-30}) {
        double const truth = all.epsilon(delta).upper;
        auto const n = static_cast<double>(count);
        CHECK(lower_of({{one, n}}, {true, delta}, orientation::remove) <= truth);
        CHECK(lower_of({{one, n}}, {true, delta}, orientation::add) <= truth);
      }
    }
  }
}

TEST_CASE("of draws far out, and of many kinds of them, an accountant has a lower end") {
  auto const draws = [](double sigma) {
    return sampled(gaussian{sigma}, with_replacement{256, 50'000});
  };
  privacy_loss_accountant many(adjacency::add_remove);
  many.compose(draws(1.0), 100'000);
  CHECK(many.epsilon(1e-100).lower > 1760.0);
  privacy_loss_accountant kinds(adjacency::add_remove);
  for (int i = 0; i < 40; ++i) kinds.compose(draws(1.0 + 0.02 * i), 25);
  CHECK(kinds.epsilon(1e-6).lower > 8.0);
}

TEST_CASE("some large loss says nothing without pairs that have a profile, or without work") {
  event const draws = sampled(gaussian{1.0}, with_replacement{256, 50'000});
  CHECK(lower_of({}, {true, 1e-6}, orientation::remove) == 0.0);
  CHECK(lower_of({{gaussian{1.0}, 3.0}}, {true, 1e-6}, orientation::remove) == 0.0);
  CHECK(lower_of({{draws, 1000.0}}, {true, 1e-6}, orientation::remove, 1e4) == 0.0);
  CHECK(lower_of({{draws, 1000.0}}, {false, 5.0}, orientation::remove, 1e4) == 0.0);
  gaussian_mixture const rare{1.0, {{1e-300, 1.0}, {2e-300, 2.0}}};
  CHECK(lower_of({{rare, 1000.0}}, {true, 1e-6}, orientation::remove) == 0.0);
  CHECK(lower_of({{rare, 1000.0}}, {false, 0.5}, orientation::remove) >= 0.0);
  // Where work ends the search is left where it is.
  double const some = lower_of({{draws, 1000.0}}, {true, 1e-6}, orientation::remove, 2e6);
  double const all = lower_of({{draws, 1000.0}}, {true, 1e-6}, orientation::remove);
  CHECK(some > 0.0);
  CHECK(some <= all);
}
