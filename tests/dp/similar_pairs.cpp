// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/grid/pairs.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/similar_pairs.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <variant>
#include <vector>

using namespace tacit;

namespace {

using wide = long double;

wide normal_above(wide x) { return 0.5L * std::erfc(x / std::sqrt(2.0L)); }

wide noise_above(coupled_pair::noise kind, wide x) {
  if (kind == coupled_pair::noise::normal) return normal_above(x);
  return x > 0.0L ? 0.5L * std::exp(-x) : 1.0L - 0.5L * std::exp(x);
}

// sup over thresholds t of P(z > t) − e^ε·Q(z > t): the profile where the likelihood ratio rises, which it does for ε ≥ 0.
template <class Excess>
wide best_threshold(Excess const& excess) {
  wide best = 0.0L;
  wide at = 0.0L;
  for (wide step = 1.0L, middle = 0.0L, width = 40.0L; step > 1e-9L; step *= 0.1L) {
    for (wide t = middle - width; t <= middle + width; t += step) {
      if (wide const e = excess(t); e > best) {
        best = e;
        at = t;
      }
    }
    middle = at;
    width = 2.0L * step;
  }
  return best;
}

// δ(ε) of a pair in its direction, from its definition.
wide profile(dominating_pair const& pair, wide epsilon) {
  wide const ratio = std::exp(epsilon);
  if (auto const* mixture = std::get_if<mixture_pair>(&pair)) {
    return best_threshold([&](wide t) {
      bool const add = mixture->orientation == orientation::add;  // there the ratio falls in z
      auto const beyond = [&](wide shift) { return normal_above(add ? shift - t : t - shift); };
      wide rest = 1.0L;
      wide mixed = 0.0L;
      for (auto const& [weight, shift] : mixture->parts) {
        rest -= static_cast<wide>(weight);
        mixed += static_cast<wide>(weight) * beyond(shift);
      }
      mixed += rest * beyond(0.0L);
      return add ? beyond(0.0L) - ratio * mixed : mixed - ratio * beyond(0.0L);
    });
  }
  if (auto const* coupled = std::get_if<coupled_pair>(&pair)) {
    return best_threshold([&](wide t) {
      wide rest = 1.0L;
      wide sum = 0.0L;
      for (auto const& [weight, p, q] : coupled->parts) {
        rest -= static_cast<wide>(weight);
        sum += static_cast<wide>(weight) *
               (noise_above(coupled->kind, t - p) - ratio * noise_above(coupled->kind, t - q));
      }
      return sum + rest * (1.0L - ratio) * noise_above(coupled->kind, t);
    });
  }
  auto const& amplified = std::get<amplified_pair>(pair);
  wide const inner = 1.0L + (ratio - 1.0L) / amplified.rate;
  auto const noise = [&](wide shift) -> wide {
    if (shift == 0.0L) return 0.0L;
    if (amplified.kind == amplified_pair::noise::laplace) {
      return std::max(0.0L, 1.0L - std::exp((std::log(inner) - shift) / 2.0L));
    }
    wide const e = std::log(inner) / shift;
    return normal_above(e - shift / 2.0L) - inner * normal_above(e + shift / 2.0L);
  };
  wide const share = ratio / inner;
  return amplified.rate *
         ((1.0L - share) * noise(amplified.absent) + share * noise(amplified.changed));
}

double uniform(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

// Parts of a person with several records, of which a part each has so many.
std::vector<mixture_pair::part> person_parts(std::mt19937_64& random, std::size_t records) {
  std::vector<mixture_pair::part> parts;
  double left = uniform(random, 0.05, 0.9);
  double shift = 0.0;
  for (std::size_t k = 0; k < records; ++k) {
    double const weight = k + 1 == records ? left : left * uniform(random, 0.3, 0.9);
    left -= weight;
    shift += uniform(random, 0.3, 1.2);
    parts.push_back({weight, shift});
  }
  return parts;
}

dominating_pair random_pair(std::mt19937_64& random, std::size_t shape) {
  auto const noise =
      shape % 2 == 0 ? amplified_pair::noise::normal : amplified_pair::noise::laplace;
  if (shape < 4) {
    return mixture_pair{person_parts(random, 1 + shape / 2 * 2),
                        shape % 2 == 0 ? orientation::remove : orientation::add};
  }
  if (shape < 8) {
    double const changed = uniform(random, 0.3, 2.0);
    double const absent = shape < 6 ? changed * uniform(random, 0.2, 1.0) : 0.0;
    return amplified_pair{noise, uniform(random, 0.01, 0.9), absent, changed};
  }
  coupled_pair out{noise, {}};
  for (auto const& [weight, shift] : person_parts(random, shape < 10 ? 1 : 3)) {
    out.parts.push_back({weight, shift, -shift * uniform(random, 0.9, 1.0)});
  }
  // q descends.
  for (std::size_t k = 1; k < out.parts.size(); ++k) {
    out.parts[k].q = std::min(out.parts[k].q, out.parts[k - 1].q);
  }
  return out;
}

}  // namespace

TEST_CASE("what stands for similar pairs is above each of them, or below", "[dp][grid]") {
  std::mt19937_64 random(20261129);
  for (std::size_t shape = 0; shape < 12; ++shape) {
    for (int round = 0; round < 2; ++round) {
      std::vector<dominating_pair> pairs;
      detail::similar<> alike;
      for (int k = 0; k < 4; ++k) {
        pairs.push_back(random_pair(random, shape));
        auto at = detail::rising_numbers(pairs.back());
        REQUIRE(at);
        alike.add(pairs.back(), std::move(at), 1.0 + k);
      }
      std::size_t seen = 0;
      std::move(alike).round(1, 1, 0.0,
                             [&](dominating_pair const& like, std::vector<double> const& numbers,
                                 double count, bool up) {
                               ++seen;
                               CHECK(count == 10.0);
                               dominating_pair const one = detail::pair_with(like, numbers, up);
                               for (wide const epsilon : {0.0L, 0.1L, 0.7L, 2.0L}) {
                                 wide const found = profile(one, epsilon);
                                 for (dominating_pair const& pair : pairs) {
                                   wide const known = profile(pair, epsilon);
                                   CAPTURE(shape, round, up, epsilon, found, known);
                                   // The search for the best threshold is right to some 1e-16.
                                   CHECK((up ? found >= known - 1e-15L : found <= known + 1e-15L));
                                 }
                               }
                             });
      CHECK(seen == 2);
    }
  }
}

TEST_CASE("weights of parts keep their later sums on one side", "[dp][grid]") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::size_t const parts = 1 + static_cast<std::size_t>(random() % 40);
    mixture_pair pair{person_parts(random, parts), orientation::remove};
    auto const at = detail::rising_numbers(dominating_pair(pair));
    if (!at) continue;
    for (bool const up : {true, false}) {
      std::vector<double> const weights = detail::weights_of(at.numbers, parts, up, 1e-13);
      long double sum = 0.0L;
      long double known = 0.0L;
      for (std::size_t k = parts; k-- > 0;) {
        sum += weights[k];
        known += static_cast<long double>(pair.parts[k].weight);
        CAPTURE(round, k, up);
        // Even of weights that are off by as much as they may be.
        CHECK((up ? sum >= known * (1.0L + 1e-13L) : sum <= known * (1.0L - 1e-13L)));
        CHECK(std::abs(static_cast<double>(sum / known) - 1.0) < 1e-12);
      }
    }
  }
}

TEST_CASE("pairs that none is known to be above stand for themselves", "[dp][grid]") {
  using noise = amplified_pair::noise;
  CHECK_FALSE(detail::rising_numbers(dominating_pair(amplified_pair{noise::normal, .1, 2., 1.})));
  CHECK_FALSE(
      detail::rising_numbers(dominating_pair(coupled_pair{noise::normal, {{.5, 2., 1.}}, true})));
  CHECK_FALSE(detail::rising_numbers(
      dominating_pair(mixture_pair{{{1e-300, 1.}, {.1, 2.}}, orientation::remove})));
  CHECK_FALSE(detail::rising_numbers(
      dominating_pair(mixture_pair{{{.5, 1.}, {.5, 2.}}, orientation::remove})));
  CHECK_FALSE(detail::rising_numbers(dominating_pair(allocation_pair{1., 10, orientation::add})));
}

// Where the vertical line knows the truth.
TEST_CASE("a grid of hundreds of kinds of persons holds what the line says", "[dp][grid][long]") {
  for (adjacency const neighbours : {adjacency::add_remove, adjacency::replace_one}) {
    for (std::uint64_t const records : {2U, 3U}) {
      discretised_accountant grid(neighbours);
      privacy_loss_accountant known(neighbours);
      for (int k = 0; k < 150; ++k) {
        event release = sampled(gaussian{1.5 + k / 150.0},
                                poisson{0.05 * (1.0 + 0.5 * ((k * 7) % 150) / 150.0)});
        release.records_per_person = records;
        grid.compose(release, 2);
        known.compose(release, 2);
      }
      bound<double> const found = grid.epsilon(1e-6);
      bound<double> const truth = known.epsilon(1e-6);
      CAPTURE(records, found.lower, found.upper, truth.lower, truth.upper);
      CHECK(found.lower <= truth.upper);
      CHECK(found.upper >= truth.lower);
      CHECK(found.upper - found.lower < 0.25 * found.upper);
      CHECK(truth.upper - truth.lower < 0.25 * truth.upper);
    }
  }
}

TEST_CASE("hundreds of kinds of batches and persons have two ends", "[dp][privacy_loss][long]") {
  auto const ends = [](adjacency neighbours, int kinds, auto const& release_of) {
    privacy_loss_accountant run(neighbours);
    for (int k = 0; k < kinds; ++k) run.compose(release_of(k, static_cast<double>(k) / kinds), 1);
    return run.epsilon(1e-6);
  };
  auto const batch = [](int k, double at) {
    return event(gaussian{1.0 + at}, fixed_size{10U + static_cast<std::uint64_t>(k), 10'000});
  };
  auto const person = [](int, double at) {
    event release = sampled(gaussian{1.0 + at}, poisson{.001 * (1.0 + at / 2.0)});
    release.records_per_person = 2;
    return release;
  };
  bound<double> const batches = ends(adjacency::replace_one, 600, batch);
  bound<double> const persons = ends(adjacency::add_remove, 600, person);
  bound<double> const others = ends(adjacency::replace_one, 600, person);
  CAPTURE(batches.lower, batches.upper, persons.lower, persons.upper, others.lower, others.upper);
  CHECK(batches.lower > 0.8 * batches.upper);  // Rényi's end is 12.7
  CHECK(batches.upper < 12.0);
  CHECK(persons.lower > 0.6 * persons.upper);  // 1.26
  CHECK(persons.upper < 0.26);
  CHECK(others.lower > 0.8 * others.upper);  // 1.43
  CHECK(others.upper < 0.5);
}

TEST_CASE("the accountant knows as much of hundreds of kinds as its grid alone",
          "[dp][privacy_loss][long]") {
  privacy_loss_accountant run(adjacency::add_remove);
  discretised_accountant grid(adjacency::add_remove);
  for (int k = 0; k < 400; ++k) {
    double const at = k / 400.0;
    event release = sampled(gaussian{1.0 + at}, poisson{.001 * (1.0 + at / 2.0)});
    release.records_per_person = 3;
    run.compose(release, 1);
    grid.compose(release, 1);
  }
  bound<double> const all = run.epsilon(1e-6);
  bound<double> const alone = grid.epsilon(1e-6);
  CAPTURE(all.lower, all.upper, alone.lower, alone.upper);
  CHECK(all.lower >= alone.lower);
  CHECK(all.upper <= alone.upper);
  CHECK(all.upper < 0.35);  // Rényi's end is 1.88
}

TEST_CASE("Rényi divergences of hundreds of kinds are above their sum, and close", "[dp][renyi]") {
  enum class kind { batch, person, laplace };
  for (kind const of : {kind::batch, kind::person, kind::laplace}) {
    for (int const kinds : {120, 520}) {
      renyi_accountant all(adjacency::replace_one);
      double const order = 8.0;
      double sum = 0.0;
      for (int k = 0; k < kinds; ++k) {
        double const at = static_cast<double>(k) / kinds;
        event release(gaussian{2.0 + at}, fixed_size{10U + static_cast<std::uint64_t>(k), 10'000});
        if (of == kind::person) {
          release = sampled(gaussian{2.0 + at}, poisson{.01 * (1.0 + at)});
          release.records_per_person = 2;
        }
        if (of == kind::laplace) release = sampled(laplace{2.0 + at}, poisson{.01 * (1.0 + at)});
        all.compose(release, 3);
        renyi one(adjacency::replace_one);
        one.add(release, 3);
        sum += one.divergence(order);
      }
      double const found = all.method().divergence(order);
      CAPTURE(static_cast<int>(of), kinds, sum, found);
      CHECK(found >= sum * (1.0 - 1e-12));
      CHECK(found < 1.1 * sum);
    }
  }
}
