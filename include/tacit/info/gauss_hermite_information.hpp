// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/quadrature.hpp>
#include <tacit/core/real.hpp>
#include <tacit/info/binary_channel.hpp>

#include <cmath>
#include <cstddef>
#include <limits>

namespace tacit {

/// The published rule of PACZero (arXiv 2605.06505), kept for comparison: I as the expected log of
/// the density ratio, each conditional by Gauss–Hermite (60 nodes there).
///   I ≈ Σ_s P(s)·π^{−½} Σ_k w_k log[N(y;s)/(qN(y;1)+pN(y;−1))],  y = s + √2σx_k
/// Guarantee: estimate. Errors of either sign: 3e-6 relative near σ = .36, and nothing but rounding
/// noise at large σ with a small prior (docs/papers.md). Use `mutual_information` to account.
/// @throws std::domain_error unless prior is in (0, 1), sigma is positive and finite, and its square no less than
///         the smallest normal number and well below the largest
template <real T>
[[nodiscard]] T gauss_hermite_information(basic_binary_channel<T> const& channel,
                                          gauss_hermite_rule<T> const& rule) {
  using elementary::exp, elementary::log, std::sqrt;
  T const q = channel.prior;
  detail::require_domain(q > 0 && q < 1, "gauss_hermite_information", "prior", q, "in (0, 1)");
  detail::check_positive("gauss_hermite_information", "sigma", channel.sigma);
  T const square = channel.sigma * channel.sigma;
  T const widest =
      std::numeric_limits<T>::max() / T(8.0 * static_cast<double>(rule.node.size() + 1));
  detail::require_domain(square >= std::numeric_limits<T>::min() && square <= widest,
                         "gauss_hermite_information", "sigma", channel.sigma,
                         "neither so small nor so large that its square is out of range");
  T const log_positive = log(q);
  T const log_negative = log(1 - q);
  T total = 0;
  for (int s = -1; s <= 1; s += 2) {
    T conditional = 0;
    for (std::size_t k = 0; k < rule.node.size(); ++k) {
      T const y = s + detail::constants::root_two<T>() * channel.sigma * rule.node[k];
      auto const log_density = [&](int t) {
        T const distance = y - t;
        return -distance * distance / (2 * square);
      };
      T const mixture = log_add(log_positive + log_density(1), log_negative + log_density(-1));
      conditional = conditional + rule.weight[k] * (log_density(s) - mixture);
    }
    total = total + (s > 0 ? q : 1 - q) * conditional;
  }
  return total / detail::constants::root_pi<T>();
}

}  // namespace tacit
