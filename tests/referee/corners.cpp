// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/capped_run.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/mixture_profile.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/privacy_loss.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>

// What random questions at the ends of every range have broken, each with the truth from the definition.

using namespace tacit;
using support::exact;

// One sampled Gaussian with next to no noise reveals a sampled record: δ(ε) is the rate, less 1e-13 of it, for all ε
// up to about 1. Where δ is as close to that as δ(0) is known, the search began with steps of 0 and never ended.
TEST_CASE("one release: a δ that δ(0) cannot be told from", "[referee]") {
  struct {
    double rate, sigma, delta;
  } const questions[] = {{3.5282096641857418e-05, 0.067517105056733584, 3.528209664185281e-05},
                         {0.9, 0.05, 0.9},
                         {1e-16, 0.01, 1e-16}};
  for (auto const& q : questions) {
    mixture_pair const pair{{{q.rate, 1.0 / q.sigma}}, orientation::remove};
    bound<double> const found = detail::mixture_profile<>(pair).epsilon(q.delta);
    CAPTURE(q.rate, q.sigma, found.lower, found.upper);
    CHECK(found.lower == 0.0);
    CHECK(detail::mixture_profile<>(pair).delta(found.upper).upper <= q.delta);
    // δ(0) of the others is weight·(1 − 2·Φ(−shift/2)), which is below the weight.
    CHECK((found.upper > 0.0) == (q.sigma > 0.06));
  }
}

// Where weights are tiny the event's end is found from a logarithm of some −17, whose rounding moves δ by a hundred units
// and more. The truths are ball arithmetic's, of these doubles.
TEST_CASE("one release of several shifts at a tiny rate: logarithms round", "[referee]") {
  mixture_pair const pair{{{4.3242100063784918e-09, 0.0029108846870478547},
                           {1.019778664627867e-08, 0.0047974638339444388},
                           {1.1214478617185163e-08, 0.04325451074221047},
                           {8.9692578024605218e-09, 0.28287858794866722}},
                          orientation::remove};
  detail::mixture_profile<> const profile(pair);
  auto const check = [&](double epsilon, exact const& truth) {
    bound<double> const found = profile.delta(epsilon);
    CAPTURE(epsilon, found.lower, found.upper);
    CHECK(exact(found.lower) <= truth);
    CHECK(exact(found.upper) >= truth);
    CHECK(found.upper - found.lower <= 1e-11 * found.upper);
  };
  check(3.623053294980798e-08, exact("2.624074913507142467852817e-17"));
  check(3.6e-08, exact("2.912378887067262005048709e-17"));
  check(1e-09, exact("8.347912166087170780959069e-10"));
  check(0.0, exact("1.225543995299942770995426e-9"));
}

// 1/3, 2/3 and .3·.1 as doubles are less than themselves. A pair of a smaller rate is less lossy than the event.
TEST_CASE("rates of batches, weights of sampled mixtures and Laplace shifts are not rounded down",
          "[referee]") {
  auto const batch = std::get<bounded_pair>(
      dominate(sampled(laplace{3.0}, fixed_size{1, 3}), adjacency::add_remove).remove);
  CHECK(std::fma(batch.rate, 3.0, -1.0) >= 0.0);
  CHECK(std::fma(batch.epsilon, 3.0, -2.0) >= 0.0);
  CHECK(batch.rate <= 1.0 / 3.0 + 0x1p-53);

  gaussian_mixture const secret{1.0, {{0.3, 1.0}}};
  auto const mixed =
      std::get<mixture_pair>(dominate(sampled(secret, poisson{0.1}), adjacency::add_remove).remove);
  CHECK(std::fma(-0.3, 0.1, mixed.parts[0].weight) >= 0.0);
  CHECK(mixed.parts[0].weight <= 0.3 * 0.1 * (1.0 + 0x1p-51));
}

// Larger numbers of records are the safe side, and so the tails of their law are what counts.
TEST_CASE("weights of a person's records are not rounded down", "[referee]") {
  for (std::uint64_t const records : std::vector<std::uint64_t>{2, 6, 30, 400}) {
    for (double const rate : {1e-17, 1e-3, 0.3, 0.9}) {
      auto const mixed = std::get<mixture_pair>(
          dominate(by_person(sampled(gaussian{1.0}, poisson{rate}), records), adjacency::add_remove)
              .remove);
      CAPTURE(records, rate, mixed.parts.size());
      exact probability = pow(exact(rate), static_cast<unsigned>(records));  // of all
      exact tail = 0;
      exact found = 0;
      std::size_t part = mixed.parts.size();
      for (std::uint64_t j = records; j > 0; --j) {
        tail += probability;
        probability *= exact(static_cast<double>(j)) / static_cast<double>(records - j + 1) *
                       (1 - exact(rate)) / exact(rate);
        if (part > 0 && mixed.parts[part - 1].shift >= static_cast<double>(j)) {
          found += mixed.parts[--part].weight;
        }
        if (tail < 1e-300) continue;
        CHECK(found >= tail * (1 - exact("1e-30")));
        CHECK(found <= tail * (1 + exact("3e-11")));
      }
    }
  }
  // Once 1e-14 below.
  tacit::privacy_loss_accountant six;
  six.compose(by_person(sampled(gaussian{10.0}, poisson{1e-17}), 6));
  tacit::bound<double> const delta = six.delta(5.9999999999939998e-17);
  CHECK(delta.upper >= 2.4497799790403616e-30);
  CHECK(delta.upper <= 2.4497799790403616e-30 * (1 + 1e-9));
}

// δ of a few releases is a sum over their outcomes. Grids gave it to four or five digits.
TEST_CASE("a few releases of noise on the integers, outcome by outcome in 50 digits", "[referee]") {
  constexpr double sigma = 0.8;
  constexpr double rate = 0.3;
  auto const at = [&](int k) { return exact(exp(-exact(k) * k / (2 * exact(sigma) * sigma))); };
  exact total = 0;
  for (int k = -50; k <= 50; ++k) total += at(k);
  // One record's contribution of 1 or −1 takes part with the rate.
  std::map<int, std::pair<exact, exact>> one;
  for (int k = -12; k <= 12; ++k) {
    one[k] = {((1 - exact(rate)) * at(k) + exact(rate) * at(k - 1)) / total,
              ((1 - exact(rate)) * at(k) + exact(rate) * at(k + 1)) / total};
  }
  event const release = sampled(discrete_gaussian{sigma}, poisson{rate});
  for (double const epsilon : {0.0, 0.3, 1.7}) {
    exact once = 0;
    exact twice = 0;
    exact const scale = exp(exact(epsilon));
    for (auto const& [j, a] : one) {
      once += std::max<exact>(0, a.first - scale * a.second);
      for (auto const& [k, b] : one) {
        twice += std::max<exact>(0, a.first * b.first - scale * a.second * b.second);
      }
    }
    for (auto const& [count, truth] :
         {std::pair(std::uint64_t{1}, once), std::pair(std::uint64_t{2}, twice)}) {
      bound<double> const found =
          discretised_accountant(adjacency::replace_one).compose(release, count).delta(epsilon);
      CAPTURE(epsilon, count, found.lower, found.upper, static_cast<double>(truth));
      CHECK(exact(found.lower) <= truth + exact(1e-40));
      CHECK(exact(found.upper) >= truth - exact(1e-40));
      CHECK(found.upper - found.lower <= 1e-10 * found.upper);
    }
  }
}

// Eight records in four steps: a batch is larger than 5 with a probability of Σ_{k>5} C(8, k)·3^{8−k}/4^8.
TEST_CASE("batches of random allocation may exceed a cap, too", "[referee]") {
  double const one = (28.0 * 9.0 + 8.0 * 3.0 + 1.0) / 65536.0;
  composed const epochs[] = {{sampled(gaussian{1.0}, random_allocation{4, 1}), 3}};
  CHECK(overflow({.most = 5, .records = 8}, epochs) >= 12.0 * one);
  CHECK(overflow({.most = 5, .records = 8}, epochs) <= 12.0 * one * 1.5);
  CHECK(overflow({.most = 8, .records = 8}, epochs) == 0.0);
}
