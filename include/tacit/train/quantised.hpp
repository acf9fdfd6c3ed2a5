// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/train/retrace.hpp>
#include <tacit/zo/hash.hpp>
#include <tacit/zo/launch.hpp>
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

/// Training of quantised tensors in place, by forward passes alone: the loop of train/trainer.hpp in its pull form,
/// with stochastic rounding.
///
///     settle(tensors, {.smoothing = 1e-3});                   // or blocks that `quantise` has made
///     quantised_parameters theta(tensors, {.smoothing = 1e-3});
///     zeroth_order_loop loop(mechanism, {.smoothing = 1e-3, .learning_rate = 1e-2, .seed = 7,
///                                        .rounding = rounding_mode::stochastic}, theta.size());
///     while (!loop.done()) {
///       two_point(theta, loop.directions(), loss, loop.scalars());
///       rounded_step const next = loop.step_rounded();
///       stochastic_update_all(theta, next.terms, next.rounding);
///     }
///
/// A model whose other tensors are floats gives both kinds the indices of their entries, and makes each pass over both.
///
/// **θ is public**, as there: a function of the start, the options and the releases. Moves come back exactly, and so a
/// replay makes the updates alone.

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

/// Refuses options by which these parameters do not move.
inline void check_options(std::string_view who, quantised_parameters const& theta,
                          train_options const& options) {
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
                   std::size_t from, std::size_t to, CoefficientsOf const& coefficients_of,
                   Launcher const& launch) {
  std::vector<direction_step> terms;
  for (std::size_t t = from; t < to; ++t) {
    std::span<double const> const coefficients = coefficients_of(t);
    if (held(coefficients)) continue;
    terms.clear();
    for (std::size_t k = 0; k < coefficients.size(); ++k) {
      direction const z = direction_of(options, theta.size(), t, coefficients.size(), k);
      terms.push_back(term_of(options, rate_at(options, t), z, coefficients[k], k));
    }
    stochastic_update_all(theta, {terms.data(), terms.size()}, rounding_of(options.seed, t),
                          launch);
  }
}

}  // namespace detail

[[nodiscard]] inline element_type element_type_of(quantised_tensor const& one) noexcept {
  return one.blocks.index() == 0 ? element_type::q8_0 : element_type::q4_0;
}

/// `hash_of` of quantised parameters: their entries' bits are the blocks as they lie in a file, the scale first.
[[nodiscard]] inline parameter_hash hash_of(quantised_parameters const& theta) {
  detail::blake2b hash;
  detail::hash_text(hash, "tacit-parameters");
  detail::hash_number(hash, theta.all().size());
  for (quantised_tensor const& one : theta.all()) {
    detail::hash_text(hash, one.name);
    detail::hash_text(hash, name_of(element_type_of(one)));
    detail::hash_number(hash, one.size());
    std::visit([&]<class B>(
                   std::span<B> blocks) { detail::hash_blocks(hash, std::span<B const>(blocks)); },
               one.blocks);
  }
  return {hash.finish()};
}

/// These tensors as they are recorded, each of one dimension.
/// @throws std::invalid_argument for a part of a model, or tensors in another order than their entries
[[nodiscard]] inline std::vector<recorded_tensor> tensors_of(quantised_parameters const& theta) {
  std::vector<recorded_tensor> result;
  std::uint64_t next = 0;
  for (quantised_tensor const& one : theta.all()) {
    detail::require_argument(one.first == next, "tensors_of", "first index of tensor " + one.name,
                             one.first.value_or(next),
                             detail::to_text(next) + ", of a whole model");
    next += one.size();
    result.push_back({one.name, element_type_of(one), {one.size()}});
  }
  return result;
}

/// Rebuilds θ from the releases: in, θ as it was after the first `from` of them; out, after the last, bit for bit that of
/// the run, whatever the launcher.
/// @throws std::domain_error, std::invalid_argument for an option outside its range or another law or smoothing
///         than that of the parameters, and for from > releases.size()
template <class Launcher = serial>
void replay(quantised_parameters const& theta, train_options const& options,
            std::span<release const> releases, std::size_t from = 0, Launcher const& launch = {}) {
  detail::check_options("replay", theta, options);
  detail::check_from(from, releases.size());
  for (release const& released : releases) {
    for (double const y : released.coefficients) detail::check_finite("replay", "coefficient", y);
  }
  detail::retrace_steps(
      theta, options, from, releases.size(),
      [&](std::size_t t) { return std::span<double const>(releases[t].coefficients); }, launch);
}

/// In: the blocks with which the run of a transcript began. Out: the tuned ones, bit for bit those of training.
/// @throws std::invalid_argument for any other tensors, scales or integers, which are left as they are
template <class Launcher = serial>
void replay(quantised_parameters const& theta, transcript const& run, Launcher const& launch = {}) {
  constexpr std::string_view who = "replay";
  detail::check_options(who, theta, run.run().training);
  std::vector<recorded_tensor> const here = tensors_of(theta);
  detail::check_size(who, "number of tensors", here.size(), run.run().tensors.size());
  parameter_hash const found = hash_of(theta);  // of names, types and sizes, too
  detail::require_argument(found == run.run().start, who, "hash of the parameters", to_hex(found),
                           to_hex(run.run().start) + ", with which the run began");
  detail::retrace_steps(
      theta, run.run().training, 0, run.steps(), [&](std::size_t t) { return run.step(t); },
      launch);
}

}  // namespace tacit
