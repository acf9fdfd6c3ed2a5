// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/launch.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/quantised_parameters.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/two_point.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// A model some of whose tensors are floats and others blocks, as inference engines hold them: norms in float, matrices
/// in Q8_0 or Q4_0. It is one vector of R^d, with one transcript.

namespace tacit {

/// A tensor of either kind.
using any_tensor = std::variant<tensor, quantised_tensor>;

/// The tensors of such a model, at least one of them of blocks, which are at rest: views, of which the entries stay the
/// caller's. Each tensor follows the one before, or says where it begins. Floats move by S(θ + μz) and are updated
/// with stochastic rounding where they are half or bfloat16 (zo/stochastic.hpp), blocks as zo/quantised_blocks.hpp says.
class mixed_parameters {
 public:
  /// @throws as `parameters` and `quantised_parameters`, also for a tensor of one kind that overlaps one of the other;
  ///         std::invalid_argument if no tensor is of blocks: `parameters` takes such models
  mixed_parameters(std::vector<any_tensor> tensors, quantised_moves const& by)
      : tensors_(std::move(tensors)), blocks_(blocks_of(tensors_, by)) {
    std::vector<tensor> floats;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (any_tensor const& any : tensors_) {
      if (auto const* one = std::get_if<tensor>(&any)) {
        size_ += one->size();
        floats.push_back(*one);
      }
      std::visit(
          [&](auto const& one) {
            if (one.size() > 0) places.emplace_back(*one.first, *one.first + one.size());
          },
          any);
    }
    if (size_ > 0) floats_.emplace(std::move(floats));
    size_ += blocks_.size();
    std::sort(places.begin(), places.end());
    for (std::size_t i = 1; i < places.size(); ++i) {
      detail::require_argument(
          places[i].first >= places[i - 1].second, "mixed_parameters", "first index of a tensor",
          places[i].first,
          "at least " + std::to_string(places[i - 1].second) + ", the end of another");
    }
    dimension_ = places.back().second;
  }

  /// The entries of all tensors here together.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Where the last tensor ends. No direction that blocks can be moved along depends on it.
  [[nodiscard]] std::uint64_t dimension() const noexcept { return dimension_; }
  /// The tensors in the order given, each with its `first`.
  [[nodiscard]] std::span<any_tensor const> all() const noexcept {
    return {tensors_.data(), tensors_.size()};
  }
  [[nodiscard]] float smoothing() const noexcept { return blocks_.smoothing(); }
  [[nodiscard]] direction_law law() const noexcept { return blocks_.law(); }

  /// Those of floats; none where there are no entries of floats.
  [[nodiscard]] std::optional<parameters> const& floats() const noexcept { return floats_; }
  [[nodiscard]] quantised_parameters const& blocks() const noexcept { return blocks_; }

 private:
  // Gives each tensor its place, on the way.
  static quantised_parameters blocks_of(std::vector<any_tensor>& tensors,
                                        quantised_moves const& by) {
    std::vector<quantised_tensor> blocks;
    std::uint64_t next = 0;
    for (any_tensor& any : tensors) {
      std::visit(
          [&](auto& one) {
            if (!one.first) one.first = next;
            next = *one.first + one.size();
          },
          any);
      if (auto const* one = std::get_if<quantised_tensor>(&any)) blocks.push_back(*one);
    }
    detail::require_argument(!blocks.empty(), "mixed_parameters", "number of tensors of blocks",
                             blocks.size(), "at least 1");
    return {std::move(blocks), by};
  }

  std::vector<any_tensor> tensors_;
  quantised_parameters blocks_;
  std::optional<parameters> floats_;
  std::uint64_t size_ = 0;
  std::uint64_t dimension_ = 0;
};

// Blocks first: their passes refuse what they do not take before anything has moved.

/// θ ← θ + times·μz over all tensors: `times` is 1 to θ+μz, −2 from there to θ−μz, and 1 back, up to rounding of floats.
/// @throws std::invalid_argument for a direction of another law
template <class Launcher = serial>
void perturb_all(mixed_parameters const& theta, direction const& z, int times,
                 Launcher const& launch = {}) {
  perturb_all(theta.blocks(), z, times, launch);
  float const amount = static_cast<float>(times) * theta.smoothing();
  if (theta.floats()) perturb_all(*theta.floats(), z, amount, launch);
}

/// The update over all tensors, by the draws of its step.
/// @throws as that of quantised parameters. Nothing is changed then
template <class Launcher = serial>
void stochastic_update_all(mixed_parameters const& theta, direction_steps terms, stream_id rounding,
                           Launcher const& launch = {}) {
  stochastic_update_all(theta.blocks(), terms, rounding, launch);
  if (theta.floats()) stochastic_update_all(*theta.floats(), terms, rounding, launch);
}

/// The same from θ−μz, with z the direction of the last term: in one pass. At least one term.
/// @throws as `stochastic_update_all`
template <class Launcher = serial>
void restore_and_stochastic_update_all(mixed_parameters const& theta, direction_steps terms,
                                       stream_id rounding, Launcher const& launch = {}) {
  restore_and_stochastic_update_all(theta.blocks(), terms, rounding, launch);
  if (!theta.floats()) return;
  restore_and_stochastic_update_all(*theta.floats(), theta.smoothing(), terms, rounding, launch);
}

}  // namespace tacit
