// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/direction_block.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/storage.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

/// Momentum, Adam and AdamW. Of an entry with gradient g in step t (the steps that are held do not count):
///   momentum   m ← μm + g                       θ ← (1 − ηλ)θ − ηm
///   adamw      m ← β₁m + (1 − β₁)g
///              v ← β₂v + (1 − β₂)g²             θ ← (1 − ηλ)θ − η·m̂/(√v̂ + ε)
///   adam       the same with g + λθ for g, and no other decay
/// with m̂ = m/(1 − β₁^t), v̂ = v/(1 − β₂^t). g is what was released: a vector, or Σ_k y_k·z_k.
///
/// **Privacy.** m and v are functions of the initial θ, the options and the releases, as θ is. They are
/// post-processing: they cost nothing, and may be published.
///
/// Same bits everywhere, as in zo/step.hpp: g, m, v, g² and m̂/(√v̂ + ε) are rounded to float, all else is in
/// double, where products of floats are exact. g² beyond a float is infinite, and its entry then stays.
/// Sources: Polyak 1964; Kingma and Ba 2015; Loshchilov and Hutter 2019, with PyTorch's decay, by ηλ.

namespace tacit {

/// What a step does to every entry alike. `optimiser_state` makes it.
struct optimiser_step {
  bool held = true;      ///< nothing moves, m and v neither
  bool second = false;   ///< whether there is v
  float keep1 = 0.0F;    ///< μ or β₁
  float take1 = 0.0F;    ///< 1 or 1 − β₁
  float keep2 = 0.0F;    ///< β₂
  float take2 = 0.0F;    ///< 1 − β₂
  float pull = 0.0F;     ///< λ of adam
  float step = 0.0F;     ///< −η, for Adam over 1 − β₁^t
  float decay = 0.0F;    ///< ηλ of the others
  double inverse = 1.0;  ///< 1/(1 − β₂^t)
  double epsilon = 0.0;
};

/// m and v of the first entry of a tensor; no v for momentum.
struct moments {
  float* first = nullptr;
  float* second = nullptr;
};

namespace detail {

/// One entry.
template <parameter_storage T>
[[nodiscard]] TACIT_HD T optimised(float x, float g, optimiser_step const& by, float& first,
                                   float* second) noexcept {
  if (by.pull != 0.0F) g = static_cast<float>(double{g} + double{by.pull} * double{x});
  float const m =
      static_cast<float>(double{by.keep1} * double{first} + double{by.take1} * double{g});
  first = m;
  if (second == nullptr) return decayed<T>(x, by.step, m, by.decay);
  float const square = static_cast<float>(double{g} * double{g});
  float const v =
      static_cast<float>(double{by.keep2} * double{*second} + double{by.take2} * double{square});
  *second = v;
  double const size = std::sqrt(double{v} * by.inverse) + by.epsilon;
  return decayed<T>(x, by.step, static_cast<float>(double{m} / size), by.decay);
}

/// Entries side by side. θ, m and v do not overlap, and `by` is a copy: momentum becomes vector instructions.
template <bool Second, parameter_storage T, class Gradient>
void optimise_block(T* __restrict theta, float* __restrict first, float* __restrict second,
                    Gradient const* __restrict g, std::size_t length,
                    optimiser_step const by) noexcept {
  for (std::size_t j = 0; j < length; ++j) {
    theta[j] = optimised<T>(to_float(theta[j]), static_cast<float>(g[j]), by, first[j],
                            Second ? second + j : nullptr);
  }
}

/// The same of `length` entries of a tensor, whose gradients are g[0] …
template <parameter_storage T, class Gradient>
void optimise_entries(T* theta, moments at, Gradient const* g, std::size_t length,
                      optimiser_step const& by) noexcept {
  if (by.second) {
    optimise_block<true>(theta, at.first, at.second, g, length, by);
  } else {
    optimise_block<false>(theta, at.first, static_cast<float*>(nullptr), g, length, by);
  }
}

}  // namespace detail

/// The step along directions: g = Σ_k step_k·z_k[first + i], with the coefficient y_k as step_k.
template <parameter_storage T>
struct optimise {
  T* theta;
  moments at;
  direction_steps terms;
  optimiser_step by;
  std::uint64_t first = 0;

  TACIT_HD void operator()(std::size_t i) const noexcept {
    if (by.held) return;
    double sum = 0.0;
    for (std::size_t k = 0; k < terms.size(); ++k) {
      sum += double{terms[k].step} * double{terms[k].z(first + i)};
    }
    theta[i] = detail::optimised<T>(to_float(theta[i]), static_cast<float>(sum), by, at.first[i],
                                    by.second ? at.second + i : nullptr);
  }
  void block(std::size_t i, std::size_t length) const noexcept {
    if (by.held) return;
    detail::direction_block block;
    double sum[detail::direction_block::size];
    for (std::size_t j = 0; j < length; ++j) sum[j] = 0.0;
    for (std::size_t k = 0; k < terms.size(); ++k) {
      float const* const z = block.load(terms[k].z, first + i, length);
      double const step{terms[k].step};
      for (std::size_t j = 0; j < length; ++j) sum[j] += step * double{z[j]};
    }
    detail::optimise_entries(theta + i, {at.first + i, by.second ? at.second + i : nullptr}, sum,
                             length, by);
  }
};

template <parameter_storage T>
optimise(T*, moments, direction_steps, optimiser_step, std::uint64_t = 0) -> optimise<T>;

/// What a step along directions does with an optimiser. The terms are a view.
struct optimised_step {
  direction_steps terms{};  ///< with the coefficients y_k as steps
  optimiser_step by{};
};

/// `retrace` with an optimiser: `steps` has one for every `directions` terms.
template <parameter_storage T>
struct retrace_optimised {
  T* theta;
  moments at;
  float mu;
  direction_steps terms;
  optimiser_step const* steps;
  std::size_t directions;
  std::uint64_t first = 0;

  TACIT_HD void operator()(std::size_t i) const noexcept {
    for (std::size_t t = 0; t < terms.size(); t += directions) {
      direction_steps const step{terms.data + t, directions};
      theta[i] = detail::there_and_back<T>(theta[i], mu, step, first + i);
      optimise<T>{theta, at, step, steps[t / directions], first}(i);
    }
  }
  void block(std::size_t i, std::size_t length) const noexcept {
    for (std::size_t t = 0; t < terms.size(); t += directions) {
      direction_steps const step{terms.data + t, directions};
      detail::there_and_back_block(theta + i, length, mu, step, first + i);
      optimise<T>{theta, at, step, steps[t / directions], first}.block(i, length);
    }
  }
};

template <parameter_storage T>
retrace_optimised(T*, moments, float, direction_steps, optimiser_step const*, std::size_t,
                  std::uint64_t = 0) -> retrace_optimised<T>;

}  // namespace tacit
