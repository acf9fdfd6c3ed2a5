// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/launch.hpp>
#include <tacit/zo/quantised_blocks.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/storage.hpp>
#include <tacit/zo/two_point.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// Quantised tensors as zeroth-order steps move them (zo/quantised_blocks.hpp says what a step does to an entry), from
/// floats or from the blocks of an inference engine to two-point scalars and updates.

namespace tacit {

/// One quantised tensor of a model: a view of its blocks, in the order of the model's vector.
struct quantised_tensor {
  std::variant<std::span<q8_0>, std::span<q4_0>> blocks;
  std::string name = {};  ///< free text, may be empty
  std::optional<std::uint64_t> first =
      {};  ///< index of its first entry among all parameters, of which others
           ///< may be floats; empty: it follows the tensor before

  /// Its entries.
  [[nodiscard]] std::uint64_t size() const noexcept {
    return std::visit([](auto view) { return std::uint64_t{block_entries} * view.size(); }, blocks);
  }
};

/// The moves that blocks must have room for.
struct quantised_moves {
  double smoothing = required;                    ///< μ
  direction_law law = direction_law::rademacher;  ///< not `sphere`
};

namespace detail {

inline float checked_moves(char const* function, quantised_moves const& by) {
  require_argument(by.law == direction_law::rademacher || by.law == direction_law::gaussian,
                   function, "law", static_cast<int>(by.law),
                   "rademacher or gaussian, whose entries have a bound");
  return checked_smoothing(function, by.smoothing);
}

/// "block 3 of tensor weight", in quotes where there is no name to read.
[[nodiscard]] inline std::string place_of(quantised_tensor const& one, std::size_t index,
                                          std::size_t block) {
  return "block " + std::to_string(block) + " of tensor " +
         (one.name.empty() ? std::to_string(index) : one.name);
}

/// Calls each(block, rest range, where) for the blocks that can be moved.
/// @throws std::domain_error for a scale that is no finite number, or too small to be moved by μz
template <class Tensors, class Each>
void over_movable(char const* function, Tensors const& tensors, float mu, direction_law law,
                  Each const& each) {
  std::size_t index = 0;
  for (quantised_tensor const& one : tensors) {
    std::visit(
        [&]<class B>(std::span<B> blocks) {
          for (std::size_t b = 0; b < blocks.size(); ++b) {
            float const scale = to_float(blocks[b].scale);
            if (scale == 0.0F) continue;
            rest_range const rest = rest_of<B>(blocks[b].scale, mu, law);
            if (rest.empty()) {
              float const least = mu * largest_entry(law) / static_cast<float>(B::most - 1);
              fail_domain(function, "scale of " + place_of(one, index, b), double{scale},
                          "finite, and at least " + to_text(least) +
                              " in size, so that a move by μz stays within its integers");
            }
            each(blocks[b], rest, [&, b] { return place_of(one, index, b); });
          }
        },
        one.blocks);
    ++index;
  }
}

}  // namespace detail

/// Brings the integers of all blocks into their rest range, once, before training: those beyond it are cut off. ggml's
/// Q4_0 has its largest entry at −8, which goes to −8 + U: to leave room without that, quantise by `quantise`.
/// Returns how many entries changed. Blocks of scale 0 are 0 whatever their integers are, and stay as they are.
/// @throws std::domain_error naming tensor and block for a scale that is infinite or NaN, or so small that the block
///         cannot be moved by μz; std::domain_error, std::invalid_argument for μ or the law. Nothing is changed then
inline std::uint64_t settle(std::span<quantised_tensor const> tensors, quantised_moves const& by) {
  float const mu = detail::checked_moves("settle", by);
  detail::over_movable("settle", tensors, mu, by.law, [](auto&, rest_range, auto const&) {});
  std::uint64_t changed = 0;
  detail::over_movable("settle", tensors, mu, by.law,
                       [&](auto& block, rest_range rest, auto const&) {
                         for (std::size_t j = 0; j < block_entries; ++j) {
                           int const q = block.get(j);
                           if (rest.nearest(q) == q) continue;
                           block.set(j, rest.nearest(q));
                           ++changed;
                         }
                       });
  return changed;
}

/// Blocks for these floats that can be moved by μz. The scale of each is the least whose rest range holds the largest entry,
/// and `room` where all are smaller: what training may make of an entry of the block. (By the scales of an inference engine
/// no entry can outgrow the largest of its block.) Past the last entry blocks are filled with zeros.
/// @throws std::domain_error for an entry that is no finite number, for a room that is negative or infinite, or where
///         the scale would be past the largest half; for μ and the law as `settle`
template <quantised_block B>
[[nodiscard]] std::vector<B> quantise(std::span<float const> theta, quantised_moves const& by,
                                      double room = 0.0) {
  float const mu = detail::checked_moves("quantise", by);
  detail::check_non_negative("quantise", "room", room);
  double const move = double{mu} * double{largest_entry(by.law)};
  std::vector<B> out(theta.size() / block_entries + (theta.size() % block_entries != 0 ? 1 : 0));
  for (std::size_t b = 0; b < out.size(); ++b) {
    std::span<float const> const entries =
        theta.subspan(block_entries * b, std::min(block_entries, theta.size() - block_entries * b));
    double extreme = 0.0;  // with its sign: its place is at the longer end, as in ggml
    for (float const x : entries) {
      detail::check_finite("quantise", "entry", double{x});
      if (std::fabs(double{x}) > std::fabs(extreme)) extreme = double{x};
    }
    // With U units for moves the scale must be enough for them, and for the entries in what is left.
    double const largest = std::max(std::fabs(extreme), room);
    double size = std::numeric_limits<double>::infinity();
    for (int u = 1; u < B::most; ++u) {
      size = std::min(size, std::max(largest / (-B::least - u), move / u));
    }
    detail::require_domain(size <= 65504.0, "quantise", "scale of block " + std::to_string(b), size,
                           "at most 65504, the largest half");
    half scale = rounded_to<half>(static_cast<float>(size));
    if (double{to_float(scale)} < size) ++scale.bits;
    if (extreme > 0.0 && -B::least > B::most) scale.bits ^= 0x8000;
    rest_range const rest = rest_of<B>(scale, mu, by.law);
    out[b].scale = scale;
    for (std::size_t j = 0; j < block_entries; ++j) {
      double const x = j < entries.size() ? double{entries[j]} : 0.0;
      out[b].set(j, rest.nearest(static_cast<int>(std::lrint(x / double{to_float(scale)}))));
    }
  }
  return out;
}

/// Quantised tensors at rest, and the moves that they have room for: views, of which the blocks stay the caller's. What
/// a constructor has found holds after every pass below. Blocks of scale 0 are constants.
class quantised_parameters {
 public:
  /// @throws std::domain_error naming tensor and block for a scale as in `settle`, or for an entry beyond its rest range,
  ///         which `settle` cuts off; std::invalid_argument if there is no entry, if tensors overlap, or if one
  ///         ends past 2^56; for μ and the law as `settle`
  quantised_parameters(std::vector<quantised_tensor> tensors, quantised_moves const& by)
      : tensors_(std::move(tensors)),
        smoothing_(detail::checked_moves("quantised_parameters", by)),
        law_(by.law) {
    constexpr char const* who = "quantised_parameters";
    constexpr std::uint64_t largest = std::uint64_t{1} << 56;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    std::uint64_t next = 0;
    for (quantised_tensor& one : tensors_) {
      std::uint64_t const first = one.first.value_or(next);
      detail::require_argument(first <= largest && one.size() <= largest - first, who,
                               "end of tensor " + one.name, first + one.size(), "at most 2^56");
      one.first = first;
      next = first + one.size();
      size_ += one.size();
      dimension_ = std::max(dimension_, next);
      if (one.size() > 0) places.emplace_back(first, next);
    }
    detail::require_argument(size_ > 0, who, "number of parameters", size_, "at least 1");
    std::sort(places.begin(), places.end());
    for (std::size_t i = 1; i < places.size(); ++i) {
      detail::require_argument(
          places[i].first >= places[i - 1].second, who, "first index of a tensor", places[i].first,
          "at least " + std::to_string(places[i - 1].second) + ", the end of another");
    }
    detail::over_movable(
        who, tensors_, smoothing_, law_, [](auto const& block, rest_range rest, auto const& where) {
          for (std::size_t j = 0; j < block_entries; ++j) {
            detail::require_domain(rest.nearest(block.get(j)) == block.get(j), who,
                                   "entry " + std::to_string(j) + " of " + where(), block.get(j),
                                   "in [" + std::to_string(rest.least) + ", " +
                                       std::to_string(rest.most) + "]: settle() cuts off");
          }
        });
  }

  /// The entries of all tensors here together.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Where the last tensor ends. No direction that blocks can be moved along depends on it.
  [[nodiscard]] std::uint64_t dimension() const noexcept { return dimension_; }
  [[nodiscard]] std::span<quantised_tensor const> all() const noexcept {
    return {tensors_.data(), tensors_.size()};
  }
  [[nodiscard]] float smoothing() const noexcept { return smoothing_; }
  [[nodiscard]] direction_law law() const noexcept { return law_; }

 private:
  std::vector<quantised_tensor> tensors_;
  float smoothing_;
  direction_law law_;
  std::uint64_t size_ = 0;
  std::uint64_t dimension_ = 0;
};

namespace detail {

template <class Launcher, class Pass>
void over_tensors(quantised_parameters const& theta, Launcher const& launch, Pass const& pass) {
  for (quantised_tensor const& one : theta.all()) {
    std::visit([&](auto blocks) { launch(pass(blocks.data(), *one.first), blocks.size()); },
               one.blocks);
  }
}

inline void check_law(char const* function, quantised_parameters const& theta, direction const& z) {
  require_argument(z.law == theta.law(), function, "law of a direction", static_cast<int>(z.law),
                   "that of the parameters' moves, " + to_text(static_cast<int>(theta.law())));
}

inline void check_terms(char const* function, quantised_parameters const& theta,
                        direction_steps terms) {
  for (std::size_t k = 0; k < terms.size(); ++k) {
    check_law(function, theta, terms[k].z);
    check_finite(function, "step", double{terms[k].step});
    check_finite(function, "decay", double{terms[k].decay});
  }
}

}  // namespace detail

/// q ← q + times·R(μz/s) over all tensors: `times` is 1 to θ+μz, −2 from there to θ−μz, and 1 back, which is exact.
/// @throws std::invalid_argument for a direction of another law
template <class Launcher = serial>
void perturb_all(quantised_parameters const& theta, direction const& z, int times,
                 Launcher const& launch = {}) {
  detail::check_law("perturb_all", theta, z);
  detail::over_tensors(theta, launch, [&](auto* blocks, std::uint64_t first) {
    return quantised_perturb{blocks, z, theta.smoothing(), times, first};
  });
}

/// The update over all tensors, by the draws of its step: `rounding_of(seed, t)`, or what
/// `zeroth_order_loop::step_rounded` says.
/// @throws std::invalid_argument for a direction of another law; std::domain_error for a term that is not finite.
///         Nothing is changed then
template <class Launcher = serial>
void stochastic_update_all(quantised_parameters const& theta, direction_steps terms,
                           stream_id rounding, Launcher const& launch = {}) {
  detail::check_terms("stochastic_update_all", theta, terms);
  detail::over_tensors(theta, launch, [&](auto* blocks, std::uint64_t first) {
    return quantised_update{blocks, theta.smoothing(), terms, rounding, first};
  });
}

/// The same from θ−μz, with z the direction of the last term: in one pass. At least one term.
/// @throws as `stochastic_update_all`
template <class Launcher = serial>
void restore_and_stochastic_update_all(quantised_parameters const& theta, direction_steps terms,
                                       stream_id rounding, Launcher const& launch = {}) {
  detail::check_terms("restore_and_stochastic_update_all", theta, terms);
  detail::over_tensors(theta, launch, [&](auto* blocks, std::uint64_t first) {
    return quantised_restore_and_update{blocks, theta.smoothing(), terms, rounding, first};
  });
}

/// Parameters with blocks among them, which know the moves that these have room for: quantised_parameters, and
/// mixed_parameters of zo/mixed_parameters.hpp.
template <class Theta>
concept parameters_with_blocks = requires(Theta const& theta) {
  { theta.smoothing() } -> std::same_as<float>;
  { theta.law() } -> std::same_as<direction_law>;
};

/// `two_point` of such parameters: scalars[k·N + i] = [ℓ_i(θ+su_k) − ℓ_i(θ−su_k)]/(2μ) with E[su_k] = μz_k. The
/// integers come back exactly after each direction, also if the loss throws.
/// `loss(theta, losses)` fills one number a record, of what `theta` views.
/// @throws std::invalid_argument unless scalars.size() is a multiple of the number of directions, and for
///         a direction of another law
template <parameters_with_blocks Theta, class Loss, class Launcher = serial>
requires std::invocable<Loss&, Theta const&, std::span<double>>
void two_point(Theta const& theta, std::span<direction const> directions, Loss&& loss,
               std::span<double> scalars, Launcher const& launch = {}) {
  auto const move = [&](direction const& z, int times) { perturb_all(theta, z, times, launch); };
  detail::two_point_unrestored(theta, directions, theta.smoothing(), loss, scalars, move);
  move(directions.back(), 1);
}

}  // namespace tacit
