// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace tacit {

namespace detail {

/// Nothing was published by these coefficients.
[[nodiscard]] inline bool held(std::span<double const> coefficients) noexcept {
  return std::all_of(coefficients.begin(), coefficients.end(), [](double y) { return y == 0.0; });
}

}  // namespace detail

/// All that a zeroth-order mechanism publishes of one step: a coefficient y_k for each direction,
/// already divided by their number K, so that the step is θ ← (1−ηλ)θ − η Σ_k y_k z_k.
struct release {
  std::vector<double> coefficients;

  /// Nothing was published: every coefficient is 0, and θ is not moved.
  [[nodiscard]] bool held() const noexcept { return detail::held(coefficients); }

  friend bool operator==(release const&, release const&) = default;
};

/// All that a step in parameter space publishes: θ ← (1−ηλ)θ − η·value.
struct vector_release {
  std::vector<float> value;

  friend bool operator==(vector_release const&, vector_release const&) = default;
};

/// A mechanism whose step reads a secret batch. `batch()` charges the step, draws the batch and says
/// which records are in it, in increasing order; asked again before `step`, it says the same. Whoever
/// sees it knows more than the guarantee says: the loss may, what is published may not.
template <class M>
concept batched_mechanism = requires(M& mechanism) {
  { mechanism.batch() } -> std::same_as<std::span<std::size_t const>>;
};

/// Numbers in, one release out: takes the two-point scalars of a step, K rows, and never sees the
/// parameters. A row has a scalar for each record of `batch()`; where there is none, for each of the
/// N records.
template <class M>
concept zeroth_order_mechanism = requires(M& mechanism, M const& view, std::span<double const> g) {
  { view.records() } -> std::convertible_to<std::size_t>;
  { view.directions() } -> std::convertible_to<std::size_t>;
  { view.steps() } -> std::convertible_to<std::size_t>;  // done so far
  { view.done() } -> std::convertible_to<bool>;
  { mechanism.step(g) } -> std::same_as<release>;
};

/// Per-record gradients in, one vector out. The mechanism asks for them, `gradient_of(record, out)`
/// with room for all numbers of one gradient, or many at a time (mechanism/gradients.hpp): of the records of the
/// secret batch only, in increasing order. Whoever watches the calls sees the batch.
template <class M>
concept first_order_mechanism = requires(M& mechanism, M const& view,
                                         void (*gradient_of)(std::size_t, std::span<float>)) {
  { view.records() } -> std::convertible_to<std::size_t>;
  { view.dimension() } -> std::convertible_to<std::size_t>;
  { view.steps() } -> std::convertible_to<std::size_t>;  // done so far
  { view.done() } -> std::convertible_to<bool>;
  { mechanism.step(gradient_of) } -> std::same_as<vector_release>;
};

}  // namespace tacit
