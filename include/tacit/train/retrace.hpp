// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/direction_block.hpp>
#include <tacit/zo/launch.hpp>
#include <tacit/zo/optimise.hpp>
#include <tacit/zo/optimiser_state.hpp>
#include <tacit/zo/options.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/stochastic.hpp>
#include <tacit/zo/two_point.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

/// What a loop and its replay have in common: options, learning rates, directions, and the steps of a run.

namespace tacit {

namespace detail {

/// launch(pass(entries, m and v, first), count) for each tensor.
template <class Launcher, class Pass>
void over_tensors(parameters const& theta, optimiser_state& state, Launcher const& launch,
                  Pass const& pass) {
  std::size_t begin = 0;
  for (tensor const& one : theta.all()) {
    std::visit(
        [&](auto entries) {
          launch(pass(entries.data(), state.at(begin), *one.first), entries.size());
        },
        one.entries);
    begin += one.size();
  }
}

}  // namespace detail

/// The step over all tensors, in place.
template <class Launcher = serial>
void optimise_all(parameters const& theta, optimiser_state& state, optimised_step const& next,
                  Launcher const& launch = {}) {
  detail::over_tensors(theta, state, launch, [&](auto* entries, moments at, std::uint64_t first) {
    return optimise{entries, at, next.terms, next.by, first};
  });
}

namespace detail {

inline void check_train_options(train_options const& options) {
  (void)checked_smoothing("trainer", options.smoothing);
  check_positive("trainer", "learning_rate", options.learning_rate);
  require_domain(options.learning_rate <= double{std::numeric_limits<float>::max()}, "trainer",
                 "learning_rate", options.learning_rate, "a finite float");
  check_non_negative("trainer", "weight_decay", options.weight_decay);
  require_domain(options.learning_rate * options.weight_decay <= 1.0, "trainer", "weight_decay",
                 options.weight_decay, "at most 1/learning_rate");
  require_argument(options.decay == schedule::constant || options.decay == schedule::linear,
                   "trainer", "decay", static_cast<int>(options.decay), "constant or linear");
  require_argument(options.decay == schedule::constant || options.steps > 0, "trainer", "steps",
                   options.steps, "at least 1 for a linear schedule");
  check_optimiser("trainer", options);
  check_rounding("trainer", options);
}

/// Refuses to round at random where there is nothing to round.
/// @throws std::invalid_argument if all tensors are of floats
inline void check_rounding(std::string_view who, train_options const& options,
                           parameters const& theta) {
  auto const all = theta.all();
  check_rounding(who, options, std::all_of(all.begin(), all.end(), [](tensor const& one) {
                   return std::holds_alternative<std::span<float>>(one.entries);
                 }));
}

/// η_t.
inline double rate_at(train_options const& options, std::size_t step) {
  if (options.decay == schedule::constant) return options.learning_rate;
  double const left = static_cast<double>(options.steps) - static_cast<double>(step);
  return options.learning_rate * std::max(left, 0.0) / static_cast<double>(options.steps);
}

inline void check_from(std::size_t from, std::size_t releases) {
  require_argument(from <= releases, "replay", "from", from, "at most the number of releases");
}

/// K of releases, of which there is at least one.
/// @throws std::invalid_argument if they differ, or have no coefficient
inline std::size_t directions_of(std::span<release const> releases) {
  std::size_t const directions = releases.front().coefficients.size();
  require_argument(directions > 0, "replay", "number of coefficients", 0, "at least 1");
  for (release const& released : releases) {
    check_size("replay", "number of coefficients", released.coefficients.size(), directions);
  }
  return directions;
}

/// z_k of a step of K directions: stream number step·K + k of the seed.
[[nodiscard]] inline direction direction_of(train_options const& options, std::uint64_t dimension,
                                            std::size_t step, std::size_t directions,
                                            std::size_t k) {
  stream_id const stream{options.seed, std::uint64_t{step} * directions + k};
  return direction_by_blocks(options.law, stream, dimension);
}

/// The k-th term of a step at a learning rate.
[[nodiscard]] inline direction_step term_of(train_options const& options, double rate,
                                            direction const& z, double coefficient, std::size_t k) {
  return {z, static_cast<float>(-rate * coefficient),
          k == 0 ? static_cast<float>(rate * options.weight_decay) : 0.0F};
}

/// Refuses a launcher of a device, which cannot read m and v.
template <class Launcher>
void check_launcher(optimiser_state const& state) {
  if constexpr (moves_elsewhere<Launcher>) {
    require_argument(state.empty(), "trainer", "optimiser", std::string_view("one with a state"),
                     "sgd for a launcher of a device: the pull form takes others");
  }
}

/// Refuses a state that is not the one before release `from` of this run.
inline void check_state(optimiser_state const& state, train_options const& options,
                        std::size_t entries, std::size_t from) {
  check_of_options("replay", state, options.optimiser);
  if (state.empty()) return;
  check_size("replay", "size of the optimiser's state", state.first().size(), entries);
  check_size("replay", "releases in the optimiser's state", state.releases(), from);
}

/// Steps from … to − 1 of a run, of which `coefficients_of(t)` are the K coefficients. The terms of some
/// thousand steps, or of one with more directions than that, are in memory, and nothing else. Whether the options'
/// rounding is one for these tensors is the caller's to check.
template <class CoefficientsOf, class Launcher>
void retrace_steps(parameters const& theta, optimiser_state& state, train_options const& options,
                   std::size_t directions, std::size_t from, std::size_t to,
                   CoefficientsOf const& coefficients_of, Launcher const& launch) {
  check_launcher<Launcher>(state);
  check_state(state, options, static_cast<std::size_t>(theta.size()), from);
  constexpr std::size_t most_terms = 1 << 14;
  std::size_t const stride = std::max<std::size_t>(1, most_terms / directions);
  float const mu = static_cast<float>(options.smoothing);
  std::vector<direction_step> terms;
  terms.reserve(std::min(stride, to - from) * directions);
  std::vector<optimiser_step> steps;
  for (std::size_t t = from; t < to;) {
    stream_id const rounding = rounding_of(options.seed, t);
    terms.clear();
    steps.clear();
    for (std::size_t const end = t + std::min(stride, to - t); t < end; ++t) {
      std::span<double const> const coefficients = coefficients_of(t);
      bool const hold = held(coefficients);
      double const rate = rate_at(options, t);
      for (std::size_t k = 0; k < directions; ++k) {
        direction const z = direction_of(options, theta.dimension(), t, directions, k);
        terms.push_back(hold            ? direction_step{z, 0.0F}
                        : state.empty() ? term_of(options, rate, z, coefficients[k], k)
                                        : direction_step{z, static_cast<float>(coefficients[k])});
      }
      steps.push_back(hold ? optimiser_step{} : state.next(rate, options.weight_decay));
      state.count();
    }
    direction_steps const all{terms.data(), terms.size()};
    if (options.rounding == rounding_mode::stochastic) {
      over_tensors(theta, launch, [&](auto* entries, std::uint64_t first) {
        return stochastic_retrace{entries, mu, all, directions, rounding, first};
      });
    } else if (state.empty()) {
      over_tensors(theta, launch, [&](auto* entries, std::uint64_t first) {
        return retrace{entries, mu, all, directions, first};
      });
    } else {
      over_tensors(theta, state, launch, [&](auto* entries, moments at, std::uint64_t first) {
        return retrace_optimised{entries, at, mu, all, steps.data(), directions, first};
      });
    }
  }
}

/// The state before release `from`, where it can be known without the others.
[[nodiscard]] inline optimiser_state state_at(std::size_t from, train_options const& options,
                                              std::size_t entries) {
  check_train_options(options);
  optimiser_state out(options.optimiser, entries);
  require_argument(out.empty() || from == 0, "replay", "from", from,
                   "0 without the optimiser's state after as many releases");
  return out;
}

}  // namespace detail
}  // namespace tacit
