// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/choices.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/integer_noise.hpp>
#include <tacit/dp/matrix.hpp>

#include "runs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

/// Compositions far outside the box, and schedules of thousands of events of every kind.

namespace referee {

/// Run k of a seed by itself: up to four events.
[[nodiscard]] inline composition hostile_run(std::uint64_t seed, std::uint64_t k) {
  using namespace tacit;
  box random(seed * 0x9E3779B97F4A7C15U + k * 0xD1B54A32D192ED03U, 1'000'000);
  auto const pick = [&](auto const& list) {
    auto const at = static_cast<std::size_t>(random.uniform() * static_cast<double>(list.size()));
    return list[std::min(at, list.size() - 1)];
  };
  auto const noise = [&] {
    double const u = random.uniform();
    if (u < 0.3) {
      return pick(
          std::vector{1e-6, 1e-4, 1e-3, 0.01, 0.015, 0.02, 0.021, 0.05, 0.1, 0.2, 1e3, 1e6, 1e9});
    }
    return u < 0.7 ? random.between(0.01, 30.0) : random.between(1e-6, 1e9);
  };
  auto const whole = [&](double most) {
    return static_cast<std::uint64_t>(std::max(1.0, std::round(random.between(1.0, most))));
  };
  auto const mechanism = [&]() -> mechanism_event {
    double const u = random.uniform();
    double const loss = random.uniform() < 0.1 ? 0.0 : random.between(1e-9, 1e3);
    if (u < 0.45) return gaussian{noise()};
    if (u < 0.6) return laplace{noise()};
    if (u < 0.7) return discrete_gaussian{noise(), whole(1e6)};
    if (u < 0.8) return discrete_laplace{noise(), whole(1e6)};
    if (u < 0.86) return randomised_response{loss, 1 + whole(1e6)};
    if (u < 0.9) return exponential_mechanism{loss};
    if (u < 0.95) return pure{loss};
    if (u < 0.98) return approx_dp{loss, random.between(1e-12, 1.0)};
    return matrix_gaussian{noise(), random.between(1e-3, 1e3)};
  };
  auto const scheme = [&]() -> sampling {
    double const u = random.uniform();
    if (u < 0.2) return unsampled{};
    if (u < 0.75) {
      return poisson{random.uniform() < 0.3 ? pick(std::vector{0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.01,
                                                               0.1, 0.5, 0.9, 0.999999, 1.0})
                                            : random.between(1e-12, 1.0)};
    }
    if (u < 0.9) {
      std::uint64_t const records = whole(1e9);
      return fixed_size{whole(static_cast<double>(records)), records};
    }
    if (u < 0.97) {
      std::uint64_t const steps = whole(1e5);
      return random_allocation{steps,
                               random.uniform() < 0.7 ? 1 : whole(static_cast<double>(steps))};
    }
    return shuffled{};
  };
  composition out;
  out.neighbours = pick(std::vector{adjacency::add_remove, adjacency::add_remove,
                                    adjacency::replace_one, adjacency::zero_out});
  int const parts = random.uniform() < 0.6 ? 1 : 1 + static_cast<int>(random.uniform() * 4.0);
  for (int tries = 0; tries < 50 && static_cast<int>(out.parts.size()) < parts; ++tries) {
    event release(mechanism(), scheme());
    if (random.uniform() < 0.05) release.records_per_person = whole(1e6);
    std::uint64_t const count =
        random.uniform() < 0.3
            ? pick(std::vector<std::uint64_t>{1, 2, 3, 50, 1000, 1'000'000, 1'000'000'000})
            : whole(1e9);
    try {
      detail::check_event("hostile", release);
      (void)dominate(release, out.neighbours);
      out.parts.push_back({release, count});
    } catch (std::logic_error const&) {
      continue;  // out of range, or without a pair: what is refused is seen at once
    }
  }
  if (out.parts.empty()) out.parts.push_back({event(gaussian{noise()}), whole(1e9)});
  out.delta = random.uniform() < 0.3
                  ? pick(std::vector{1e-300, 1e-100, 1e-30, 1e-10, 1e-5, 0.1, 0.999999})
                  : std::min(random.between(1e-300, 1.0), 1.0 - 0x1p-53);
  return out;
}

/// Run k of a seed by itself: one to three thousand events, nearly all distinct, and of one kind or of all. Their noise and
/// rates are such as people choose, so that the composition has an answer.
[[nodiscard]] inline composition hostile_schedule(std::uint64_t seed, std::uint64_t k) {
  using namespace tacit;
  box random(seed * 0xBF58476D1CE4E5B9U + k * 0x94D049BB133111EBU, 1'000'000);
  auto const below = [&](std::uint64_t most) {
    return std::min(most - 1,
                    static_cast<std::uint64_t>(random.uniform() * static_cast<double>(most)));
  };
  auto const whole = [&](double most) {
    return static_cast<std::uint64_t>(std::max(1.0, std::round(random.between(1.0, most))));
  };
  composition out;
  out.neighbours = below(2) == 0 ? adjacency::add_remove
                                 : (below(2) == 0 ? adjacency::replace_one : adjacency::zero_out);
  std::uint64_t const length = whole(3000.0);
  // Losses that a schedule of that length leaves of the order of 1.
  double const many = std::sqrt(static_cast<double>(length));
  auto const noise = [&] { return many * random.between(0.3, 30.0); };
  auto const loss = [&] { return random.between(0.01, 2.0) / many; };
  auto const rate = [&] { return random.between(1e-5, 0.9); };
  constexpr std::uint64_t kinds = 20;
  auto const one = [&](std::uint64_t kind) -> std::vector<composed> {
    std::uint64_t const count = below(4) == 0 ? whole(1000.0) : 1;
    auto const once = [&](event release) {
      return std::vector<composed>{{std::move(release), count}};
    };
    switch (kind) {
      case 0:
        return once(gaussian{noise()});
      case 1:
        return once(sampled(gaussian{noise()}, poisson{rate()}));
      case 2:
        return once(laplace{noise()});
      case 3:
        return once(sampled(laplace{noise()}, poisson{rate()}));
      case 4:
        return once(sampled(gaussian{noise()}, fixed_size{1 + below(100), 100 + below(9900)}));
      case 5:
        return once(pure{loss()});
      case 6:
        return once(randomised_response{loss(), 2 + below(10)});
      case 7:
        return once(by_person(sampled(gaussian{noise()}, poisson{rate()}), 1 + below(50)));
      case 8:
        return {{sampled(gaussian{noise()}, random_allocation{1 + below(1000), 1}), 1}};
      case 9:
        return once(
            sampled(gaussian{noise()}, with_replacement{1 + below(100), 1000 + below(9000)}));
      case 10:
        return once(sampled(gaussian_mixture{noise(),
                                             {{0.5 * random.uniform(), random.uniform()},
                                              {0.5 * random.uniform(), 1.0}}},
                            poisson{rate()}));
      case 11: {
        double const deviation = noise();
        event release(integer_noise{integer_law::skellam, deviation * deviation, 1 + below(3)});
        if (below(2) == 0) release.how = poisson{rate()};
        release.records_per_person = below(4) == 0 ? 1 + below(1000) : 1;
        return once(release);
      }
      case 12:
        return once(
            integer_noise{integer_law::binomial, 0.25 * std::round(noise() * noise()) + 1.0});
      case 13:
        return once(sampled(two_sided_geometric(std::exp(-loss())), poisson{rate()}));
      case 14:
        return once(discrete_gaussian{noise(), 1 + below(3)});
      case 15:
        return once(approx_dp{loss(), random.between(1e-12, 1e-7)});
      case 16:
        return once(from_profile([](double e) { return 1e-9 * std::exp(-e); },
                                 std::vector<double>{loss(), 2.0 * loss(), 1.0}));
      case 17:
        return once(gaussian_dp{loss()});
      case 18:
        return once(report_noisy_max(score_noise::gumbel, 1.0 / loss(), out.neighbours));
      default:
        return matrix_run(toeplitz_strategy{{1.0, 0.5 * random.uniform()}, 64}, noise(),
                          cyclic_poisson{2 + below(30), rate()});
    }
  };
  bool const mixed = below(3) > 0;
  std::uint64_t const only = below(kinds);
  for (std::uint64_t tries = 0; tries < 4 * length && out.parts.size() < length; ++tries) {
    try {
      for (composed const& part : one(mixed ? below(kinds) : only)) {
        detail::check_event("hostile", part.release);
        for (composed const& block : epoch_blocks(part.release, part.count)) {
          (void)dominate(block.release, out.neighbours);
        }
        out.parts.push_back(part);
      }
    } catch (std::logic_error const&) {
      if (!mixed && out.parts.empty()) break;  // none of that kind under these neighbours
    }
  }
  if (out.parts.empty()) out.parts.push_back({event(gaussian{noise()}), 1});
  out.delta = random.uniform() < 0.7 ? random.between(1e-10, 1e-3) : random.between(1e-100, 0.5);
  return out;
}

}  // namespace referee
