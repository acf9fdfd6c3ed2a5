// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <tuple>

// What parts of a composition say of all of it.

using namespace tacit;

TEST_CASE("what lines serve of a composition is no more than all of it", "[dp][parts][long]") {
  privacy_loss_accountant alone(adjacency::zero_out);
  for (int k = 0; k < 64; ++k) {
    double const sigma = 0.6 + k / 63.0;
    alone.compose(sampled(gaussian{sigma}, poisson{std::pow(10.0, -(2.0 + 2.0 * sigma))}), 100);
  }
  privacy_loss_accountant beside = alone;
  beside.compose(pure{0.1}, 1);
  bound<double> const part = alone.epsilon(1e-8);
  bound<double> const all = beside.epsilon(1e-8);
  CAPTURE(part.lower, part.upper, all.lower, all.upper);
  CHECK(all.lower >= part.lower * (1.0 - 1e-9));
  CHECK(all.upper <= part.upper + 0.1 * (1.0 + 1e-9));

  // An (ε, δ) event beside so many releases that no grid has them: no more than both apart.
  event const release = sampled(laplace{1.0}, poisson{0.01});
  privacy_loss_accountant many(adjacency::add_remove);
  many.compose(release, 100'000'000'000);
  privacy_loss_accountant guarded = many;
  guarded.compose(approx_dp{1.0, 1e-7}, 1);
  CHECK(guarded.epsilon(1e-6).upper <= 1.001 * many.epsilon(9e-7).upper + 1.0);
  CHECK(guarded.epsilon(1e-6).lower <= guarded.epsilon(1e-6).upper);
}

TEST_CASE("what either neighbour alone can produce adds to delta, by Rényi divergences",
          "[dp][parts]") {
  renyi_accountant accountant(adjacency::add_remove);
  accountant.compose(approx_dp{0.5, 1e-7}, 3);
  accountant.compose(gaussian{5.0}, 2);
  renyi_accountant pure_part(adjacency::add_remove);
  pure_part.compose(pure{0.5}, 3);
  pure_part.compose(gaussian{5.0}, 2);
  CHECK(accountant.epsilon(1e-5).upper >= pure_part.epsilon(1e-5).upper);
  CHECK(accountant.epsilon(1e-5).upper <= pure_part.epsilon(1e-5 - 3.01e-7).upper * (1.0 + 1e-9));
  CHECK(accountant.epsilon(2.9e-7).upper == std::numeric_limits<double>::infinity());
  CHECK(accountant.delta(100.0).upper >= 3e-7);
  CHECK(accountant.delta(100.0).upper <= 3.0001e-7);
  CHECK_THROWS_AS(accountant.method().divergence(2.0), std::invalid_argument);
  // Never below what is certified: the privacy-loss accountant meets both.
  privacy_loss_accountant exact(adjacency::add_remove);
  exact.compose(approx_dp{0.5, 1e-7}, 3);
  exact.compose(gaussian{5.0}, 2);
  CHECK(exact.epsilon(1e-5).lower <= accountant.epsilon(1e-5).upper);
  CHECK(exact.delta(1.0).lower <= accountant.delta(1.0).upper);
}

TEST_CASE("few releases at tiny rates are no further apart than their rates say", "[dp][parts]") {
  auto const delta = [](event const& release, std::uint64_t count, adjacency neighbours,
                        double epsilon) {
    privacy_loss_accountant accountant(neighbours);
    accountant.compose(release, count);
    return accountant.delta(epsilon);
  };
  // In 40 digits: 9.6408e-15, 1.909e-12.
  bound<double> const whole =
      delta(sampled(discrete_gaussian{0.2530900868818992, 1}, poisson{4.8263004547929345e-15}), 2,
            adjacency::zero_out, 0.0);
  CHECK(whole.upper >= 9.6408e-15);
  CHECK(whole.upper <= 9.66e-15);
  bound<double> const normal =
      delta(sampled(gaussian{0.25}, poisson{1e-12}), 2, adjacency::add_remove, 0.0);
  CHECK(normal.lower <= 1.909e-12);
  CHECK(normal.upper >= 1.908e-12);
  CHECK(normal.upper <= 1.91e-12);
  for (double const epsilon : {0.0, 1e-6, 1.0}) {
    for (double const rate : {1e-14, 1e-11}) {
      for (event const& one :
           {sampled(laplace{0.3}, poisson{rate}), sampled(pure{2.0}, poisson{rate}),
            sampled(gaussian{0.3}, poisson{rate}),
            sampled(discrete_laplace{0.5, 1}, poisson{rate})}) {
        CHECK(delta(one, 3, adjacency::add_remove, epsilon).upper <= 3.0 * rate * (1.0 + 1e-9));
      }
    }
  }
}

TEST_CASE("many releases at rates below all roundings are no closer than one of them",
          "[dp][parts][long]") {
  auto const delta = [](mechanism_event const& noise, double rate, std::uint64_t count,
                        adjacency neighbours) {
    discretised_accountant grid(neighbours);
    grid.compose(sampled(noise, poisson{rate}), count);
    privacy_loss_accountant loss(neighbours);
    loss.compose(sampled(noise, poisson{rate}), count);
    bound<double> const one = grid.delta(0.0);
    bound<double> const other = loss.delta(0.0);
    CHECK(one.lower <= other.upper);
    CHECK(other.lower <= one.upper);
    CHECK((one.upper < 1e-30 || loss.epsilon(1e-30).upper > 0.0));
    return bound<double>{std::max(one.lower, other.lower), std::min(one.upper, other.upper)};
  };
  integer_noise const skellam{integer_law::skellam, 50.0, 1};
  for (mechanism_event const& noise :
       {mechanism_event(skellam), mechanism_event(discrete_gaussian{2.0, 1}),
        mechanism_event(laplace{2.0}), mechanism_event(gaussian{.noise_multiplier = 2.0})}) {
    for (double const rate : {1e-18, 1e-13}) {
      for (adjacency const neighbours : {adjacency::replace_one}) {
        bound<double> const one = delta(noise, rate, 1, neighbours);
        bound<double> const many = delta(noise, rate, 100, neighbours);
        CAPTURE(noise.index(), rate, one.lower, one.upper, many.lower, many.upper);
        CHECK(many.upper >= one.lower);
        CHECK(one.lower <= one.upper);
        // By the sum of a hundred.
        CHECK(many.upper <= 100.0 * one.upper * (1.0 + 1e-6));
      }
    }
  }
  // In 40 digits, one release of Skellam noise of variance 50 under replace_one.
  bound<double> const known = delta(skellam, 1e-18, 1, adjacency::replace_one);
  CHECK(known.lower <= 1.1255476e-19);
  CHECK(known.upper >= 1.1255474e-19);
}

TEST_CASE("a person with very many records has an interval that says something", "[parts]") {
  // About 10,000 of a million records in each sample, together one Gaussian's μ of 10·√10 but for their number.
  privacy_loss_accountant many(adjacency::add_remove);
  many.compose(by_person(sampled(gaussian{1000.0}, poisson{0.01}), 1'000'000), 10);
  bound<double> const found = many.epsilon(1e-6);
  double const about = epsilon(gaussian_dp{std::sqrt(1000.0)}, 1e-6).upper;
  CHECK(found.lower >= 0.99 * about);
  CHECK(found.upper <= 1.02 * about);
  CHECK(found.upper - found.lower <= 0.01 * found.upper);
  // Fewer of them lose less, and as many as lines serve are known narrowly.
  double last = 0.0;
  for (auto const records : std::initializer_list<std::uint64_t>{500, 1000, 2000, 20'000}) {
    privacy_loss_accountant some(adjacency::add_remove);
    some.compose(by_person(sampled(gaussian{1000.0}, poisson{0.01}), records), 10);
    bound<double> const less = some.epsilon(1e-6);
    CAPTURE(records, less.lower, less.upper);
    CHECK(less.upper >= last);
    CHECK(less.lower <= found.upper);
    if (records <= 1'000) CHECK(less.upper - less.lower <= 1e-6);
    last = less.lower;
  }
}

TEST_CASE("many kinds of persons with very many records", "[parts]") {
  auto const person = [](double sigma) {
    return by_person(sampled(gaussian{sigma}, poisson{0.3}), 800);
  };
  // Forty kinds, hardly different, are what forty releases of one are, but each counts as fewer parts than it has.
  privacy_loss_accountant kinds(adjacency::add_remove), one(adjacency::add_remove);
  renyi_accountant orders(adjacency::add_remove), orders_of_one(adjacency::add_remove);
  for (int k = 0; k < 40; ++k) {
    event const release = person(3000.0 + 1e-9 * k);
    kinds.compose(release, 1);
    orders.compose(release, 1);
  }
  one.compose(person(3000.0), 40);
  orders_of_one.compose(person(3000.0), 40);
  bound<double> const many = kinds.epsilon(1e-6);
  bound<double> const narrow = one.epsilon(1e-6);
  CAPTURE(many.lower, many.upper, narrow.lower, narrow.upper);
  CHECK(narrow.upper - narrow.lower <= 1e-9);
  CHECK(many.lower <= narrow.upper);
  CHECK(many.upper >= narrow.lower * (1.0 - 1e-9));
  CHECK(many.upper <= 1.1 * narrow.upper);
  double const by_orders = orders.epsilon(1e-6).upper;
  CHECK(by_orders >= orders_of_one.epsilon(1e-6).upper * (1.0 - 1e-9));
  CHECK(by_orders <= 1.05 * orders_of_one.epsilon(1e-6).upper);
  CHECK(many.upper <= by_orders);
}

TEST_CASE("a cost of fewer parts is no less, at any order", "[parts]") {
  domination const pairs =
      dominate(by_person(sampled(gaussian{20.0}, poisson{0.2}), 300), adjacency::add_remove);
  for (dominating_pair const* pair : {&pairs.remove, &pairs.add}) {
    detail::renyi_cost const whole{*pair, std::nullopt, 1.0, false};
    CHECK(detail::parts_of(whole) > 64);
    for (std::size_t const most : {4U, 16U, 64U}) {
      detail::renyi_cost const fewer = detail::with_fewer_parts(whole, most);
      CHECK(detail::parts_of(fewer) <= most);
      for (double const order : {1.25, 2.0, 3.7, 16.0}) {
        CAPTURE(most, order);
        double const less = detail::cost_curve<double>(whole).upper(order);
        double const more = detail::cost_curve<double>(fewer).upper(order);
        CHECK(more >= less * (1.0 - 1e-9));
        CHECK(more <= (most == 64 ? 1.1 : 10.0) * less);
      }
    }
  }
}

TEST_CASE("two releases of a person's exchanged records lose no less than one", "[parts]") {
  for (auto const& [sigma, rate, records] :
       {std::tuple{0.23, 0.011, 60}, std::tuple{0.23, 0.011, 40}, std::tuple{1.0, 0.1, 200}}) {
    event const release =
        by_person(sampled(gaussian{sigma}, poisson{rate}), static_cast<std::uint64_t>(records));
    privacy_loss_accountant one(adjacency::replace_one), two(adjacency::replace_one);
    one.compose(release, 1);
    two.compose(release, 2);
    CAPTURE(sigma, rate, records);
    CHECK(two.epsilon(1e-6).lower >= one.epsilon(1e-6).lower * (1.0 - 1e-3));
  }
}
