// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/zo/optimise.hpp>
#include <tacit/zo/options.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace tacit {

namespace detail {

inline constexpr std::array<std::string_view, 4> optimiser_words{"sgd", "momentum", "adam",
                                                                 "adamw"};

[[nodiscard]] constexpr bool is_adam(optimiser_rule rule) noexcept {
  return rule == optimiser_rule::adam || rule == optimiser_rule::adamw;
}

/// @throws std::domain_error, std::invalid_argument for an option that this rule reads, out of its range
inline void check_optimiser(std::string_view who, double learning_rate, double weight_decay,
                            optimiser_options const& o) {
  bool const known =
      o.rule == optimiser_rule::sgd || o.rule == optimiser_rule::momentum || is_adam(o.rule);
  require_argument(known, who, "optimiser", static_cast<int>(o.rule),
                   "sgd, momentum, adam or adamw");
  constexpr double most = 1.0 - 0x1p-20;
  auto const check_share = [&](std::string_view name, double x) {
    require_domain(x >= 0.0 && x <= most, who, name, x, "in [0, 1 - 2^-20]");
  };
  if (o.rule == optimiser_rule::momentum) check_share("momentum", o.momentum);
  if (!is_adam(o.rule)) return;
  check_share("beta1", o.beta1);
  check_share("beta2", o.beta2);
  require_domain(o.epsilon >= 1e-30 && o.epsilon <= 1e30, who, "epsilon", o.epsilon,
                 "in [1e-30, 1e30]");
  // So that no float that a step is made of is infinite.
  require_domain(learning_rate <= 1e30, who, "learning_rate", learning_rate,
                 "at most 1e30 for Adam");
  require_domain(weight_decay <= 1e30, who, "weight_decay", weight_decay, "at most 1e30 for Adam");
}

inline void check_optimiser(std::string_view who, train_options const& options) {
  check_optimiser(who, options.learning_rate, options.weight_decay, options.optimiser);
}

/// @throws std::invalid_argument for a rounding that there is not, or not with this optimiser
inline void check_rounding(std::string_view who, train_options const& options) {
  bool const stochastic = options.rounding == rounding_mode::stochastic;
  require_argument(stochastic || options.rounding == rounding_mode::nearest, who, "rounding",
                   static_cast<int>(options.rounding), "nearest or stochastic");
  require_argument(!stochastic || options.optimiser.rule == optimiser_rule::sgd, who, "rounding",
                   std::string_view("stochastic"), "nearest for an optimiser other than sgd");
}

/// Refuses to round at random where nothing is rounded: every tensor is of floats.
inline void check_rounding(std::string_view who, train_options const& options, bool all_floats) {
  require_argument(options.rounding == rounding_mode::nearest || !all_floats, who, "rounding",
                   std::string_view("stochastic"),
                   "nearest where all tensors are float: there must be one of half or bfloat16");
}

/// 1 − β^t, step by step, with two roundings a step wherever it is computed.
[[nodiscard]] inline double next_share(double before, double beta) noexcept {
  return settled(beta * before) + (1.0 - beta);
}

}  // namespace detail

/// What an optimiser remembers of the releases: m and v, and how many steps they have seen. Public, as θ is.
/// Memory: nothing for sgd, 4 bytes an entry for momentum, 8 for Adam.
class optimiser_state {
 public:
  /// Before the first release. `groups` > 1: of groups of entries that do not all move in every step, each of
  /// which counts its own steps.
  optimiser_state(optimiser_options const& options, std::size_t entries, std::size_t groups = 1)
      : options_(options),
        first_(options.rule == optimiser_rule::sgd ? 0 : entries, 0.0F),
        second_(detail::is_adam(options.rule) ? entries : 0, 0.0F),
        clocks_(groups) {}

  [[nodiscard]] optimiser_options const& options() const noexcept { return options_; }

  /// Whether there is anything to remember.
  [[nodiscard]] bool empty() const noexcept { return options_.rule == optimiser_rule::sgd; }

  [[nodiscard]] std::size_t groups() const noexcept { return clocks_.size(); }

  /// How many releases it has seen, holds among them.
  [[nodiscard]] std::size_t releases() const noexcept { return releases_; }

  /// m and v of all entries; empty where there is none.
  [[nodiscard]] std::span<float const> first() const noexcept { return first_; }
  [[nodiscard]] std::span<float const> second() const noexcept { return second_; }

  /// m and v from an entry on.
  [[nodiscard]] moments at(std::size_t entry) noexcept {
    return {first_.data() + entry, second_.empty() ? nullptr : second_.data() + entry};
  }

  /// Counts a release.
  void count() noexcept { ++releases_; }

  /// The step of a group that moves.
  [[nodiscard]] optimiser_step next(double rate, double weight_decay, std::size_t group = 0) {
    optimiser_options const& o = options_;
    auto& [share1, share2] = clocks_[group];
    optimiser_step out;
    out.held = false;
    out.step = static_cast<float>(-rate);
    out.decay = static_cast<float>(rate * weight_decay);
    if (o.rule == optimiser_rule::momentum) {
      out.keep1 = static_cast<float>(o.momentum);
      out.take1 = 1.0F;
    } else if (detail::is_adam(o.rule)) {
      share1 = detail::next_share(share1, o.beta1);
      share2 = detail::next_share(share2, o.beta2);
      out.second = true;
      out.keep1 = static_cast<float>(o.beta1);
      out.take1 = static_cast<float>(1.0 - o.beta1);
      out.keep2 = static_cast<float>(o.beta2);
      out.take2 = static_cast<float>(1.0 - o.beta2);
      out.step = static_cast<float>(-rate / share1);
      out.inverse = 1.0 / share2;
      out.epsilon = o.epsilon;
      if (o.rule == optimiser_rule::adam) {
        out.decay = 0.0F;
        out.pull = static_cast<float>(weight_decay);
      }
    }
    return out;
  }

 private:
  struct clock {
    double share1 = 0.0;  // 1 − β₁^t
    double share2 = 0.0;
  };

  optimiser_options options_;
  std::vector<float> first_;
  std::vector<float> second_;
  std::vector<clock> clocks_;
  std::size_t releases_ = 0;
};

namespace detail {

inline void check_of_options(std::string_view who, optimiser_state const& state,
                             optimiser_options const& options) {
  require_argument(state.options() == options, who, "optimiser's state",
                   std::string_view("that of another"), "that of these options");
}

}  // namespace detail
}  // namespace tacit
