// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/mixture_profile.hpp>
#include <tacit/dp/privacy_loss.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

using tacit::adjacency;
using tacit::bound;
using tacit::by_person;
using tacit::discrete_gaussian;
using tacit::event;
using tacit::gaussian;
using tacit::gaussian_mixture;
using tacit::mixture_pair;
using tacit::poisson;
using tacit::privacy_loss_accountant;
using tacit::sampled;
using tacit::with_replacement;
using tacit::detail::binomial_mixture;
using tacit::detail::binomial_parts;
using tacit::detail::mixture_profile;

namespace {

bound<double> epsilon(event const& release, std::uint64_t steps, adjacency neighbours,
                      double delta) {
  privacy_loss_accountant run(neighbours);
  run.compose(release, steps);
  return run.epsilon(delta);
}

// The run in which all others contribute what is farthest from the record: Σ w_j·N(2j/σ, 1) against N(0, 1).
bound<double> attained(std::uint64_t batch, std::uint64_t records, double noise,
                       std::uint64_t steps, double delta) {
  double const rate = 1.0 / static_cast<double>(records);
  gaussian_mixture law;
  law.sigma = noise;
  for (auto const& part : binomial_parts(batch, rate, 2.0).parts) {
    if (part.weight > 1e-40) law.parts.push_back({part.weight * (1.0 - 1e-10), part.shift});
  }
  return epsilon(law, steps, adjacency::add_remove, delta);
}

}  // namespace

TEST_CASE("substitutes for several draws: hardly above what a database attains", "[dp][long]") {
  struct run {
    std::uint64_t batch;
    std::uint64_t records;
    double noise;
    std::uint64_t steps;
    double most;  // of the upper end, over what is attained
  };
  // Where a record is drawn more often than not, the two move apart.
  for (run const& r : {run{10, 1000, 2.0, 1000, 1.003}, run{1, 1000, 2.0, 1000, 1.003},
                       run{50, 1000, 5.0, 100, 1.01}, run{1000, 1000, 20.0, 10, 1.25}}) {
    bound<double> const least = attained(r.batch, r.records, r.noise, r.steps, 1e-6);
    event const release = sampled(gaussian{r.noise}, with_replacement{r.batch, r.records});
    for (adjacency const neighbours : {adjacency::replace_one, adjacency::zero_out}) {
      bound<double> const found = epsilon(release, r.steps, neighbours, 1e-6);
      CAPTURE(r.batch, r.noise, least.lower, found.upper);
      if (neighbours == adjacency::replace_one) CHECK(found.upper >= least.lower);
      CHECK(found.upper <= r.most * std::max(least.upper, found.lower));
      CHECK(found.upper <= 1.3 * least.upper);
    }
  }
}

TEST_CASE("draws with replacement: continuous noise and noise on a fine lattice agree",
          "[dp][long]") {
  for (adjacency const neighbours :
       {adjacency::add_remove, adjacency::zero_out, adjacency::replace_one}) {
    for (std::uint64_t const steps : std::vector<std::uint64_t>{2, 100}) {
      with_replacement const draws{30, 3000};
      bound<double> const found = epsilon(sampled(gaussian{2.0}, draws), steps, neighbours, 1e-6);
      bound<double> const fine =
          epsilon(sampled(discrete_gaussian{200.0, 100}, draws), steps, neighbours, 1e-6);
      CAPTURE(static_cast<int>(neighbours), steps, found.lower, found.upper, fine.lower,
              fine.upper);
      CHECK(found.upper >= fine.lower * 0.999);
      CHECK(found.upper <= fine.upper * 1.03);
    }
  }
}

TEST_CASE("a batch of draws is not the worse for the draws that hardly ever occur",
          "[dp][grid][long]") {
  // Once 3.7, 157.96 and 376.4: the grid went out to the shift of 80 draws of one record.
  event const release = sampled(gaussian{1.0}, with_replacement{600, 60000});
  CHECK(epsilon(release, 1, adjacency::add_remove, 1e-5).upper < 3.71);
  CHECK(epsilon(release, 2, adjacency::add_remove, 1e-5).upper < 4.42);
  CHECK(epsilon(release, 1000, adjacency::add_remove, 1e-5).upper < 17.1);
  // A person of many records, in Poisson samples; once [7.8, 127.8].
  event const person = by_person(sampled(gaussian{1.0}, poisson{0.01}), 100);
  bound<double> const found = epsilon(person, 10, adjacency::add_remove, 1e-5);
  CAPTURE(found.lower, found.upper);
  CHECK(found.upper < 47.0);
  CHECK(found.lower > 46.0);
}

TEST_CASE("parts that count as one are above what they were", "[dp]") {
  for (std::uint64_t const records : std::vector<std::uint64_t>{3, 40, 600, 5000}) {
    for (double const mean : {0.01, 0.7, 4.0}) {
      binomial_mixture mixed =
          binomial_parts(records, std::min(0.9, mean / static_cast<double>(records)), 0.8);
      std::vector<mixture_pair::part> const all = mixed.parts;
      join_rare_parts(mixed);
      std::vector<mixture_pair::part> const joined = mixed.parts;
      CAPTURE(records, mean, all.size(), joined.size());
      CHECK(joined.size() <= 64);
      CHECK(joined.back().shift == all.back().shift);
      // The tail from any shift on weighs no less than it did.
      double tail = 0.0;
      double joined_tail = 0.0;
      auto next = joined.rbegin();
      for (auto part = all.rbegin(); part != all.rend(); ++part) {
        for (; next != joined.rend() && next->shift >= part->shift; ++next) {
          joined_tail += next->weight;
        }
        tail += part->weight;
        CHECK(joined_tail >= tail * (1.0 - 1e-13));
      }
      CHECK(joined_tail <= tail * (1.0 + 1e-12));
      mixture_pair const before{all, tacit::orientation::remove};
      mixture_pair const after{joined, tacit::orientation::remove};
      for (double const e : {0.0, 0.5, 3.0, 12.0}) {
        bound<double> const d = mixture_profile<>(before).delta(e);
        bound<double> const more = mixture_profile<>(after).delta(e);
        CHECK(more.upper >= d.lower);
        CHECK(more.lower <= d.upper * (1.0 + 1e-9) + 1e-28);
      }
      CHECK(join_parts_until(mixed, 8) == (joined.size() > 8));
      CHECK(mixed.parts.size() <= 8);
      CHECK(mixed.parts.back().shift == all.back().shift);
      for (double const e : {0.0, 0.5, 3.0, 12.0}) {
        bound<double> const d = mixture_profile<>(before).delta(e);
        CHECK(mixture_profile<>({mixed.parts, tacit::orientation::remove}).delta(e).upper >=
              d.lower);
      }
    }
  }
}
