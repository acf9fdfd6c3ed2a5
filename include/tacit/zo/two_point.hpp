// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/step.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tacit {

namespace detail {

template <class Tensor>
concept span_like = std::convertible_to<Tensor&, std::span<float>>;

}  // namespace detail

/// The parameters of a model: one tensor or several, seen as one vector of R^d in their order. A
/// view: the tensors stay the caller's.
class parameters {
 public:
  template <detail::span_like Tensor>
  parameters(Tensor& one) : parameters(std::vector<std::span<float>>{std::span<float>(one)}) {}
  parameters(std::initializer_list<std::span<float>> tensors)
      : parameters(std::vector<std::span<float>>(tensors)) {}

  /// @throws std::invalid_argument if there is no parameter at all
  parameters(std::vector<std::span<float>> tensors) : tensors_(std::move(tensors)) {
    for (std::span<float> const tensor : tensors_) {
      views_.emplace_back(tensor);
      size_ += tensor.size();
    }
    detail::require_argument(size_ > 0, "parameters", "number of parameters", size_, "at least 1");
  }

  /// d: the entries of all tensors together.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<std::span<float> const> tensors() const noexcept { return tensors_; }
  [[nodiscard]] std::span<std::span<float const> const> view() const noexcept { return views_; }

 private:
  std::vector<std::span<float>> tensors_;
  std::vector<std::span<float const>> views_;
  std::uint64_t size_ = 0;
};

/// θ ← θ + amount·z over all tensors, in place.
inline void perturb_all(parameters const& theta, direction const& z, float amount) noexcept {
  std::uint64_t first = 0;
  for (std::span<float> const tensor : theta.tensors()) {
    sweep(perturb{tensor.data(), z, amount, first}, tensor.size());
    first += tensor.size();
  }
}

/// θ ← (1−decay)·θ + step·z over all tensors, in place.
inline void update_all(parameters const& theta, direction const& z, float step,
                       float decay) noexcept {
  std::uint64_t first = 0;
  for (std::span<float> const tensor : theta.tensors()) {
    sweep(update{tensor.data(), z, step, decay, first}, tensor.size());
    first += tensor.size();
  }
}

/// A user's loss: fills one number a record. Either over one tensor,
/// `(std::span<float const> theta, std::span<double> losses)`, or over the list of tensors,
/// `(std::span<std::span<float const> const> tensors, std::span<double> losses)`.
template <class Loss>
concept loss_of_one_tensor = std::invocable<Loss&, std::span<float const>, std::span<double>>;
using tensor_views = std::span<std::span<float const> const>;
template <class Loss>
concept loss_of_tensors = std::invocable<Loss&, tensor_views, std::span<double>>;

namespace detail {

template <class Loss>
void evaluate(Loss& loss, parameters const& theta, std::span<double> losses) {
  // A record that the loss forgets must not keep an older number.
  std::fill(losses.begin(), losses.end(), std::numeric_limits<double>::quiet_NaN());
  if constexpr (loss_of_one_tensor<Loss>) {
    require_argument(theta.tensors().size() == 1, "two_point", "number of tensors",
                     theta.tensors().size(), "1 for this loss");
    loss(theta.view().front(), losses);
  } else {
    static_assert(loss_of_tensors<Loss>,
                  "a loss takes (std::span<float const>, std::span<double>) or "
                  "(std::span<std::span<float const> const>, std::span<double>)");
    loss(theta.view(), losses);
  }
}

/// μ as the float that the sweeps use.
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

/// The per-record derivatives along K directions, by central differences:
/// scalars[k·N + i] = [ℓ_i(θ+μz_k) − ℓ_i(θ−μz_k)]/(2μ) = z_kᵀ∇ℓ_i(θ) + O(μ²).
///
/// In place: for each direction θ goes through +μz, −2μz, +μz, and so comes back up to rounding.
/// The directions are computed anew in each of the three sweeps; nothing of size d is stored.
/// If the loss throws, θ is moved back (up to rounding) and the exception passes on.
/// @throws std::invalid_argument unless scalars.size() is a multiple of the number of directions,
///                               or if a loss of one tensor meets several
/// @throws std::domain_error     unless the smoothing μ is positive and a normal float
/// Source: Malladi et al. 2023 (MeZO); Spall 1992.
template <class Loss>
void two_point(parameters const& theta, std::span<direction const> directions, double smoothing,
               Loss&& loss, std::span<double> scalars) {
  float const mu = detail::checked_smoothing("two_point", smoothing);
  detail::require_argument(!directions.empty() && scalars.size() % directions.size() == 0,
                           "two_point", "size of scalars", scalars.size(),
                           "a multiple of the number of directions, at least 1");
  std::size_t const records = scalars.size() / directions.size();
  std::vector<double> minus(records);
  for (direction const& z : directions) {
    std::span<double> const row = scalars.first(records);
    scalars = scalars.subspan(records);
    float back = -mu;
    perturb_all(theta, z, mu);
    try {
      detail::evaluate(loss, theta, row);
      perturb_all(theta, z, -2.0F * mu);
      back = mu;
      detail::evaluate(loss, theta, minus);
    } catch (...) {
      perturb_all(theta, z, back);
      throw;
    }
    perturb_all(theta, z, mu);
    two_point_scalars(row, minus, mu, row);
  }
}

}  // namespace tacit
