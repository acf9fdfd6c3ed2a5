// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/train/retrace.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/hash.hpp>
#include <tacit/zo/launch.hpp>
#include <tacit/zo/mixed_parameters.hpp>
#include <tacit/zo/optimiser_state.hpp>
#include <tacit/zo/options.hpp>
#include <tacit/zo/quantised_parameters.hpp>
#include <tacit/zo/stochastic.hpp>
#include <tacit/zo/transcript.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

/// Training of quantised tensors in place, by forward passes alone, with stochastic rounding: by the loop of
/// train/trainer.hpp, as floats are trained.
///
///     settle(tensors, {.smoothing = 1e-3});                   // or blocks that `quantise` has made
///     quantised_parameters theta(tensors, {.smoothing = 1e-3});
///     trainer run(mechanism, {.smoothing = 1e-3, .learning_rate = 1e-2, .seed = 7,
///                             .rounding = rounding_mode::stochastic}, theta);
///     while (!run.done()) run.step(loss);      // loss(quantised_parameters const&, losses)
///
/// A model whose other tensors are floats is `mixed_parameters`, and so is then what the loss is given. The pull form:
///
///     zeroth_order_loop loop(mechanism, options, theta.dimension());
///     while (!loop.done()) {
///       two_point(theta, loop.directions(), loss, loop.scalars());
///       rounded_step const next = loop.step_rounded();
///       stochastic_update_all(theta, next.terms, next.rounding);
///     }
///
/// **θ is public**, as there: a function of the start, the options and the releases. Blocks come back from moves exactly,
/// and their replay makes the updates alone.

namespace tacit {

namespace detail {

template <quantised_block B>
void hash_blocks(blake2b& hash, std::span<B const> blocks) noexcept {
  for (B const& block : blocks) {
    std::array<std::uint8_t, sizeof(B)> bytes{};
    bytes[0] = static_cast<std::uint8_t>(block.scale.bits);
    bytes[1] = static_cast<std::uint8_t>(block.scale.bits >> 8);
    for (std::size_t j = 2; j < sizeof(B); ++j) {
      if constexpr (std::same_as<B, q8_0>) {
        bytes[j] = static_cast<std::uint8_t>(block.entry[j - 2]);
      } else {
        bytes[j] = block.pair[j - 2];
      }
    }
    hash.update(bytes);
  }
}

inline void hash_tensor(blake2b& hash, quantised_tensor const& one) {
  hash_text(hash, one.name);
  hash_text(hash, name_of(one.blocks.index() == 0 ? element_type::q8_0 : element_type::q4_0));
  hash_number(hash, one.size());
  std::visit([&]<class B>(std::span<B> blocks) { hash_blocks(hash, std::span<B const>(blocks)); },
             one.blocks);
}

/// each(tensor) for the tensors of either kind.
template <parameters_with_blocks Theta, class Each>
void over_all(Theta const& theta, Each const& each) {
  for (auto const& one : theta.all()) {
    if constexpr (std::same_as<Theta, quantised_parameters>) {
      each(one);
    } else {
      std::visit(each, one);
    }
  }
}

/// Refuses options by which these parameters do not move.
template <parameters_with_blocks Theta>
void check_options(std::string_view who, Theta const& theta, train_options const& options) {
  check_train_options(options);
  require_argument(options.rounding == rounding_mode::stochastic, who, "rounding",
                   std::string_view("nearest"), "stochastic for quantised parameters");
  require_argument(options.law == theta.law(), who, "law", static_cast<int>(options.law),
                   "that of the parameters' moves, " + to_text(static_cast<int>(theta.law())));
  require_argument(static_cast<float>(options.smoothing) == theta.smoothing(), who, "smoothing",
                   options.smoothing,
                   "that of the parameters' moves, " + to_text(double{theta.smoothing()}));
}

template <class CoefficientsOf, class Launcher>
void retrace_steps(quantised_parameters const& theta, train_options const& options,
                   std::size_t directions, std::size_t from, std::size_t to,
                   CoefficientsOf const& coefficients_of, Launcher const& launch) {
  std::vector<direction_step> terms;
  for (std::size_t t = from; t < to; ++t) {
    std::span<double const> const coefficients = coefficients_of(t);
    if (held(coefficients)) continue;
    terms.clear();
    for (std::size_t k = 0; k < directions; ++k) {
      direction const z = direction_of(options, theta.dimension(), t, directions, k);
      terms.push_back(term_of(options, rate_at(options, t), z, coefficients[k], k));
    }
    stochastic_update_all(theta, {terms.data(), terms.size()}, rounding_of(options.seed, t),
                          launch);
  }
}

template <class CoefficientsOf, class Launcher>
void retrace_steps(mixed_parameters const& theta, train_options const& options,
                   std::size_t directions, std::size_t from, std::size_t to,
                   CoefficientsOf const& coefficients_of, Launcher const& launch) {
  retrace_steps(theta.blocks(), options, directions, from, to, coefficients_of, launch);
  if (!theta.floats()) return;
  optimiser_state none(options.optimiser, 0);
  retrace_steps(*theta.floats(), none, options, directions, from, to, coefficients_of, launch);
}

}  // namespace detail

[[nodiscard]] inline element_type element_type_of(quantised_tensor const& one) noexcept {
  return one.blocks.index() == 0 ? element_type::q8_0 : element_type::q4_0;
}

/// `hash_of` of parameters with blocks: their entries' bits are the blocks as they lie in a file, the scale first.
template <parameters_with_blocks Theta>
[[nodiscard]] parameter_hash hash_of(Theta const& theta) {
  detail::blake2b hash;
  detail::hash_text(hash, "tacit-parameters");
  detail::hash_number(hash, theta.all().size());
  detail::over_all(theta, [&](auto const& one) { detail::hash_tensor(hash, one); });
  return {hash.finish()};
}

/// These tensors as they are recorded, each of one dimension.
/// @throws std::invalid_argument for a part of a model, or tensors in another order than their entries
template <parameters_with_blocks Theta>
[[nodiscard]] std::vector<recorded_tensor> tensors_of(Theta const& theta) {
  std::vector<recorded_tensor> result;
  std::uint64_t next = 0;
  detail::over_all(theta, [&](auto const& one) {
    detail::require_argument(one.first == next, "tensors_of", "first index of tensor " + one.name,
                             one.first.value_or(next),
                             detail::to_text(next) + ", of a whole model");
    next += one.size();
    result.push_back({one.name, element_type_of(one), {std::uint64_t{one.size()}}});
  });
  return result;
}

/// Rebuilds θ from the releases: in, θ as it was after the first `from` of them; out, after the last, bit for bit that of
/// the run, whatever the launcher. (As there, a step whose loss threw has moved floats by roundings; blocks it has not.)
/// @throws std::domain_error, std::invalid_argument for an option outside its range or another law or smoothing
///         than that of the parameters, for from > releases.size(), and for releases that differ in their number of
///         directions
template <parameters_with_blocks Theta, class Launcher = serial>
void replay(Theta const& theta, train_options const& options, std::span<release const> releases,
            std::size_t from = 0, Launcher const& launch = {}) {
  detail::check_options("replay", theta, options);
  detail::check_from(from, releases.size());
  if (releases.empty()) return;
  std::size_t const directions = detail::directions_of(releases);
  for (release const& released : releases) {
    for (double const y : released.coefficients) detail::check_finite("replay", "coefficient", y);
  }
  detail::retrace_steps(
      theta, options, directions, from, releases.size(),
      [&](std::size_t t) { return std::span<double const>(releases[t].coefficients); }, launch);
}

/// In: the tensors with which the run of a transcript began. Out: the tuned ones, bit for bit those of training.
/// @throws std::invalid_argument for any other tensors, scales or numbers, which are left as they are
template <parameters_with_blocks Theta, class Launcher = serial>
void replay(Theta const& theta, transcript const& run, Launcher const& launch = {}) {
  constexpr std::string_view who = "replay";
  detail::check_options(who, theta, run.run().training);
  std::vector<recorded_tensor> const here = tensors_of(theta);
  detail::check_size(who, "number of tensors", here.size(), run.run().tensors.size());
  parameter_hash const found = hash_of(theta);  // of names, types and sizes, too
  detail::require_argument(found == run.run().start, who, "hash of the parameters", to_hex(found),
                           to_hex(run.run().start) + ", with which the run began");
  detail::retrace_steps(
      theta, run.run().training, run.run().directions, 0, run.steps(),
      [&](std::size_t t) { return run.step(t); }, launch);
}

namespace detail {

template <parameters_with_blocks Theta>
struct training<Theta> {
  static void check(std::string_view who, Theta const& theta, train_options const& options) {
    check_options(who, theta, options);
  }
  template <class Launcher>
  static void replay(Theta const& theta, train_options const& options,
                     std::span<release const> releases, std::size_t from, Launcher const& launch) {
    tacit::replay(theta, options, releases, from, launch);
  }
};

}  // namespace detail

template <zeroth_order_mechanism Mechanism, parameters_with_blocks Theta, class Launcher = serial>
trainer(Mechanism&, train_options const&, Theta, Launcher = {})
    -> trainer<Mechanism, Launcher, Theta>;

}  // namespace tacit
