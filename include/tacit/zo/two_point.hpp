// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/launch.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/stochastic.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <variant>
#include <vector>

namespace tacit {

namespace detail {

/// The tensors of one storage in one call, for a launcher that takes them together.
template <parameter_storage T, class Launcher, class Pass>
void over_tensors_of(parameters const& theta, Launcher const& launch, Pass const& pass) {
  using over = pass_over<decltype(pass(static_cast<T*>(nullptr), std::uint64_t{}))>;
  std::vector<over> parts;
  for (tensor const& one : theta.all()) {
    if (auto const* entries = std::get_if<std::span<T>>(&one.entries)) {
      parts.push_back({pass(entries->data(), *one.first), entries->size()});
    }
  }
  if (!parts.empty()) launch(std::span<over const>(parts));
}

/// launch(pass(entries, first), count) for each tensor.
template <class Launcher, class Pass>
void over_tensors(parameters const& theta, Launcher const& launch, Pass const& pass) {
  using over = pass_over<decltype(pass(static_cast<float*>(nullptr), std::uint64_t{}))>;
  if constexpr (std::invocable<Launcher const&, std::span<over const>>) {
    over_tensors_of<float>(theta, launch, pass);
    over_tensors_of<half>(theta, launch, pass);
    over_tensors_of<bfloat16>(theta, launch, pass);
  } else {
    for (tensor const& one : theta.all()) {
      std::visit([&](auto entries) { launch(pass(entries.data(), *one.first), entries.size()); },
                 one.entries);
    }
  }
}

}  // namespace detail

/// θ ← θ + amount·z over all tensors, in place.
template <class Launcher = serial>
void perturb_all(parameters const& theta, direction const& z, float amount,
                 Launcher const& launch = {}) {
  detail::over_tensors(theta, launch, [&](auto* entries, std::uint64_t first) {
    return perturb{entries, z, amount, first};
  });
}

/// The step over all tensors, in place: for a loop of one's own, which restores θ by itself.
template <class Launcher = serial>
void update_all(parameters const& theta, direction_steps terms, Launcher const& launch = {}) {
  detail::over_tensors(theta, launch, [&](auto* entries, std::uint64_t first) {
    return update{entries, terms, first};
  });
}

/// From θ−μz, with z the direction of the last term, to the end of the step. At least one term.
template <class Launcher = serial>
void restore_and_update_all(parameters const& theta, float mu, direction_steps terms,
                            Launcher const& launch = {}) {
  detail::over_tensors(theta, launch, [&](auto* entries, std::uint64_t first) {
    return restore_and_update{entries, mu, terms, first};
  });
}

/// The two with an update that is rounded at random (zo/stochastic.hpp), by the draws of its step.
template <class Launcher = serial>
void stochastic_update_all(parameters const& theta, direction_steps terms, stream_id rounding,
                           Launcher const& launch = {}) {
  detail::over_tensors(theta, launch, [&](auto* entries, std::uint64_t first) {
    return stochastic_update{entries, terms, rounding, first};
  });
}

template <class Launcher = serial>
void restore_and_stochastic_update_all(parameters const& theta, float mu, direction_steps terms,
                                       stream_id rounding, Launcher const& launch = {}) {
  detail::over_tensors(theta, launch, [&](auto* entries, std::uint64_t first) {
    return restore_and_stochastic_update{entries, mu, terms, rounding, first};
  });
}

/// A user's loss: fills one number a record. Over floats it takes one tensor,
/// `(std::span<float const> theta, std::span<double> losses)`, or the list of tensors,
/// `(std::span<std::span<float const> const> tensors, std::span<double> losses)`; over any storage
/// `(parameters const& theta, std::span<double> losses)`.
template <class Loss>
concept loss_of_one_tensor = std::invocable<Loss&, std::span<float const>, std::span<double>>;
using tensor_views = std::span<std::span<float const> const>;
template <class Loss>
concept loss_of_tensors = std::invocable<Loss&, tensor_views, std::span<double>>;
template <class Loss>
concept loss_of_parameters = std::invocable<Loss&, parameters const&, std::span<double>>;

/// A user's loss of some records only: the same with their indices before the losses, of which it fills one
/// for each, in that order.
using record_indices = std::span<std::size_t const>;
template <class Loss>
concept batch_loss_of_one_tensor =
    std::invocable<Loss&, std::span<float const>, record_indices, std::span<double>>;
template <class Loss>
concept batch_loss_of_tensors =
    std::invocable<Loss&, tensor_views, record_indices, std::span<double>>;
template <class Loss>
concept batch_loss_of_parameters =
    std::invocable<Loss&, parameters const&, record_indices, std::span<double>>;
template <class Loss>
concept loss_of_batches =
    batch_loss_of_one_tensor<Loss> || batch_loss_of_tensors<Loss> || batch_loss_of_parameters<Loss>;

namespace detail {

inline std::span<float const> one_tensor(parameters const& theta) {
  require_argument(theta.all().size() == 1, "two_point", "number of tensors", theta.all().size(),
                   "1 for this loss");
  return theta.floats().front();
}

template <class Loss, class Parameters>
void evaluate(Loss& loss, Parameters const& theta, std::span<double> losses) {
  // A record that the loss forgets must not keep an older number.
  std::fill(losses.begin(), losses.end(), std::numeric_limits<double>::quiet_NaN());
  if constexpr (!std::same_as<Parameters, parameters>) {
    static_assert(std::invocable<Loss&, Parameters const&, std::span<double>>,
                  "a loss of other parameters than floats takes these, and (std::span<double>)");
    loss(theta, losses);
  } else if constexpr (loss_of_one_tensor<Loss>) {
    loss(one_tensor(theta), losses);
  } else if constexpr (loss_of_tensors<Loss>) {
    loss(theta.floats(), losses);
  } else {
    static_assert(loss_of_parameters<Loss>,
                  "a loss takes (std::span<float const>, std::span<double>), "
                  "(std::span<std::span<float const> const>, std::span<double>) or "
                  "(tacit::parameters const&, std::span<double>)");
    loss(theta, losses);
  }
}

/// A loss of some records, over parameters of this kind.
template <class Loss, class Parameters>
concept batch_loss_over =
    std::invocable<Loss&, Parameters const&, record_indices, std::span<double>> ||
    (std::same_as<Parameters, parameters>&& loss_of_batches<Loss>);

/// The losses of a batch, as two_point asks for them, of any kind of loss.
template <class Loss, class Parameters>
class losses_of_batch {
 public:
  /// With a loss of batches; else `batch` matters only where it is not all of the N records.
  losses_of_batch(Loss& loss, record_indices batch, std::size_t records)
      : loss_(&loss), batch_(batch), records_(records) {}

  void operator()(Parameters const& theta, std::span<double> losses) {
    if constexpr (batch_loss_over<Loss, Parameters>) {
      if (batch_.empty()) return;
      constexpr bool of_floats = std::same_as<Parameters, parameters>;
      if constexpr (of_floats && batch_loss_of_one_tensor<Loss>) {
        (*loss_)(one_tensor(theta), batch_, losses);
      } else if constexpr (of_floats && batch_loss_of_tensors<Loss>) {
        (*loss_)(theta.floats(), batch_, losses);
      } else {
        (*loss_)(theta, batch_, losses);
      }
    } else if (losses.size() == records_) {
      evaluate(*loss_, theta, losses);
    } else {
      all_.resize(records_);
      evaluate(*loss_, theta, all_);
      for (std::size_t i = 0; i < losses.size(); ++i) losses[i] = all_[batch_[i]];
    }
  }

 private:
  Loss* loss_;
  record_indices batch_;
  std::size_t records_;
  std::vector<double> all_;
};

/// μ as the float that the passes use.
inline float checked_smoothing(char const* function, double smoothing) {
  constexpr double largest = std::numeric_limits<float>::max() / 2;
  check_positive(function, "smoothing", smoothing);
  require_domain(smoothing >= std::numeric_limits<float>::min() && smoothing <= largest, function,
                 "smoothing", smoothing, "in the range of normal floats");
  return static_cast<float>(smoothing);
}

}  // namespace detail

/// ĝ_i = (ℓ_i⁺ − ℓ_i⁻)/(2μ), from the losses at θ+μz and θ−μz. A NaN loss gives a NaN, on which a
/// mechanism holds its step.
/// @throws std::invalid_argument unless all three have one size
inline void two_point_scalars(std::span<double const> plus, std::span<double const> minus,
                              float smoothing, std::span<double> scalars) {
  detail::check_size("two_point_scalars", "size of minus", minus.size(), plus.size());
  detail::check_size("two_point_scalars", "size of scalars", scalars.size(), plus.size());
  double const width = 2.0 * double{smoothing};
  for (std::size_t i = 0; i < plus.size(); ++i) scalars[i] = (plus[i] - minus[i]) / width;
}

namespace detail {

/// two_point, but θ stays at θ−μz for the last direction. `move(z, times)` makes θ ← θ + times·μz.
template <class Parameters, class Loss, class Move>
void two_point_unrestored(Parameters const& theta, std::span<direction const> directions, float mu,
                          Loss& loss, std::span<double> scalars, Move const& move) {
  require_argument(!directions.empty() && scalars.size() % directions.size() == 0, "two_point",
                   "size of scalars", scalars.size(),
                   "a multiple of the number of directions, at least 1");
  std::size_t const records = scalars.size() / directions.size();
  std::vector<double> minus(records);
  for (direction const& z : directions) {
    if (&z != &directions.front()) move(*(&z - 1), 1);
    std::span<double> const row = scalars.first(records);
    scalars = scalars.subspan(records);
    move(z, 1);
    int back = -1;
    try {
      evaluate(loss, theta, row);
      move(z, -2);
      back = 1;
      evaluate(loss, theta, minus);
    } catch (...) {
      move(z, back);
      throw;
    }
    two_point_scalars(row, minus, mu, row);
  }
}

}  // namespace detail

/// The per-record derivatives along K directions, by central differences:
/// scalars[k·N + i] = [ℓ_i(θ+μz_k) − ℓ_i(θ−μz_k)]/(2μ) = z_kᵀ∇ℓ_i(θ) + O(μ²).
///
/// In place: for each direction θ goes through +μz, −2μz, +μz, and so comes back up to rounding.
/// The directions are computed anew in each of the three passes; nothing of size d is stored.
/// If the loss throws, θ is moved back (up to rounding) and the exception passes on.
/// @throws std::invalid_argument unless scalars.size() is a multiple of the number of directions,
///                               or if a loss of one tensor, or of floats, meets others
/// @throws std::domain_error     unless the smoothing μ is positive and a normal float
/// Source: Malladi et al. 2023 (MeZO); Spall 1992.
template <class Loss, class Launcher = serial>
void two_point(parameters const& theta, std::span<direction const> directions, double smoothing,
               Loss&& loss, std::span<double> scalars, Launcher const& launch = {}) {
  float const mu = detail::checked_smoothing("two_point", smoothing);
  auto const move = [&](direction const& z, int times) {
    perturb_all(theta, z, static_cast<float>(times) * mu, launch);
  };
  detail::two_point_unrestored(theta, directions, mu, loss, scalars, move);
  move(directions.back(), 1);
}

}  // namespace tacit
