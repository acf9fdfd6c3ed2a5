// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/mechanism/parameter_groups.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/random/rademacher.hpp>
#include <tacit/train/retrace.hpp>
#include <tacit/zo/optimise.hpp>
#include <tacit/zo/optimiser_state.hpp>
#include <tacit/zo/options.hpp>
#include <tacit/zo/step.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// FERRET's side of the parameters: on each group a public unit direction, u_g = z/√n_g on the n_g
/// entries of group g and 0 elsewhere, z the Rademacher signs of the step's stream. ‖u_g‖ = 1 exactly.
///
///     stream_id const stream{seed, mechanism.steps()};
///     release const y = mechanism.step([&](std::size_t record, std::span<double> out) {
///       gradient_of(record, gradient);
///       project_on_groups(gradient, stream, groups, out);
///     });
///     step_on_groups(theta, stream, groups, y, learning_rate);

namespace tacit {

/// out[g] = Σ_{i in group g} u_{g,i}·gradient[i], summed in double in the order of the entries.
/// @throws std::invalid_argument unless the groups tile the gradient and out has their number
inline void project_on_groups(std::span<float const> gradient, stream_id stream,
                              std::span<parameter_range const> groups, std::span<double> out) {
  detail::check_size("project_on_groups", "size of gradient", gradient.size(),
                     detail::check_groups("project_on_groups", groups));
  detail::check_size("project_on_groups", "size of out", out.size(), groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    double sum = 0.0;
    std::uint32_t signs = 0;
    for (std::size_t i = groups[g].first; i < groups[g].last; ++i) {
      if (i == groups[g].first || i % 32 == 0) signs = rademacher_word(stream, i / 32);
      double const sign = 1.0 - 2.0 * static_cast<double>(signs >> (i % 32) & 1);
      sum += sign * double{gradient[i]};  // exact but for the sum
    }
    out[g] = sum / std::sqrt(static_cast<double>(groups[g].size()));
  }
}

/// θ ← (1 − ηλ)θ − η·y_g·u_g on each group that fired, by sgd; with an optimiser (zo/optimise.hpp) the gradient
/// is y_g·u_g, and each group counts its own steps. A group that did not fire stays where it is: by decay too, and
/// with its m and v. The state has as many groups as there are here; of `options` the optimiser and the weight
/// decay matter.
/// Guarantee: a function of θ, state, stream, groups and release alone; the same bits everywhere, with the
/// roundings of `update` (zo/step.hpp).
/// @throws std::invalid_argument unless the groups tile θ, there is a coefficient each, and the state is that of
///         these options and groups; std::domain_error unless learning_rate is positive and weight_decay in
///         [0, 1/learning_rate], or for an option of the optimiser outside its range
inline void step_on_groups(std::span<float> theta, optimiser_state& state, stream_id stream,
                           std::span<parameter_range const> groups, release const& released,
                           double learning_rate, train_options const& options) {
  constexpr std::string_view me = "step_on_groups";
  double const weight_decay = options.weight_decay;
  detail::check_size(me, "size of theta", theta.size(), detail::check_groups(me, groups));
  detail::check_size(me, "number of coefficients", released.coefficients.size(), groups.size());
  detail::check_positive(me, "learning_rate", learning_rate);
  detail::check_non_negative(me, "weight_decay", weight_decay);
  detail::require_domain(learning_rate * weight_decay <= 1.0, me, "weight_decay", weight_decay,
                         "at most 1/learning_rate");
  detail::check_optimiser(me, learning_rate, weight_decay, options.optimiser);
  detail::check_of_options(me, state, options.optimiser);
  detail::check_rounding(me, options);
  detail::check_rounding(me, options, true);
  if (!state.empty()) {
    detail::check_size(me, "size of the optimiser's state", state.first().size(), theta.size());
    detail::check_size(me, "groups of the optimiser's state", state.groups(), groups.size());
  }
  state.count();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    double const y = released.coefficients[g];
    if (y == 0.0) continue;
    if (state.empty()) {
      auto const decay = static_cast<float>(learning_rate * weight_decay);
      auto const amount =
          static_cast<float>(-learning_rate * y / std::sqrt(static_cast<double>(groups[g].size())));
      for (std::size_t i = groups[g].first; i < groups[g].last; ++i) {
        theta[i] = detail::decayed<float>(theta[i], amount, rademacher(stream, i), decay);
      }
      continue;
    }
    optimiser_step const by = state.next(learning_rate, weight_decay, g);
    moments const at = state.at(0);
    auto const share = static_cast<float>(y / std::sqrt(static_cast<double>(groups[g].size())));
    for (std::size_t i = groups[g].first; i < groups[g].last; ++i) {
      float const gradient = share * rademacher(stream, i);  // exact
      theta[i] = detail::optimised<float>(theta[i], gradient, by, at.first[i],
                                          by.second ? at.second + i : nullptr);
    }
  }
}

/// The same by sgd.
inline void step_on_groups(std::span<float> theta, stream_id stream,
                           std::span<parameter_range const> groups, release const& released,
                           double learning_rate, double weight_decay = 0.0) {
  optimiser_state none({}, 0);
  step_on_groups(theta, none, stream, groups, released, learning_rate,
                 {.weight_decay = weight_decay});
}

}  // namespace tacit
