// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace tacit {

/// All that a zeroth-order mechanism publishes of one step: a coefficient y_k for each direction,
/// already divided by their number K, so that the step is θ ← (1−ηλ)θ − η Σ_k y_k z_k.
struct release {
  std::vector<double> coefficients;

  /// Nothing was published: every coefficient is 0, and θ is not moved.
  [[nodiscard]] bool held() const noexcept {
    return std::all_of(coefficients.begin(), coefficients.end(), [](double y) { return y == 0.0; });
  }

  friend bool operator==(release const&, release const&) = default;
};

/// Numbers in, one release out: takes the K×N two-point scalars of a step, row-major, and never
/// sees the parameters.
template <class M>
concept zeroth_order_mechanism = requires(M& mechanism, M const& view, std::span<double const> g) {
  { view.records() } -> std::convertible_to<std::size_t>;
  { view.directions() } -> std::convertible_to<std::size_t>;
  { view.steps() } -> std::convertible_to<std::size_t>;  // done so far
  { view.done() } -> std::convertible_to<bool>;
  { mechanism.step(g) } -> std::same_as<release>;
};

}  // namespace tacit
