// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

/// Noise of laws other than the normal one, for an output that is one number, or coordinate by coordinate; and
/// what a release by it may be measured in.

namespace tacit {

/// Of density e^(−|x|/scale)/(2·scale).
struct laplace_noise {
  double scale = required;  ///< positive and finite
};

/// P(n) ∝ e^(−|n|/scale) on whole numbers, added to whole numbers: `draw_discrete_laplace`.
struct discrete_laplace_noise {
  double scale = required;  ///< positive and finite; a whole number if it is to be drawn
};

/// Uniform on [−half_width, half_width].
struct uniform_noise {
  double half_width = required;  ///< positive and finite
};

/// Any law on whole numbers of a finite range, added to whole numbers: P(n = first + k) ∝ weights[k].
struct whole_noise {
  std::int64_t first = 0;
  std::vector<double> weights;  ///< finite and at least 0, one of them positive
};

using scalar_noise =
    std::variant<laplace_noise, discrete_laplace_noise, uniform_noise, whole_noise>;

/// The discrete Gaussian, P(n) ∝ e^(−n²/2σ²), drawn anew beyond ±12σ.
/// @throws std::domain_error unless sigma is in [0.1, 2^16]
[[nodiscard]] inline whole_noise discrete_gaussian_noise(double sigma) {
  detail::require_domain(sigma >= 0.1 && sigma <= 65536.0, "discrete_gaussian_noise", "sigma",
                         sigma, "in [0.1, 65536]");
  auto const last = static_cast<std::int64_t>(std::ceil(12.0 * sigma));
  whole_noise out{-last, {}};
  for (std::int64_t n = -last; n <= last; ++n) {
    double const x = static_cast<double>(n) / sigma;
    out.weights.push_back(elementary::exp(-0.5 * (x * x)));
  }
  return out;
}

/// Uniform on −most … most.
/// @throws std::domain_error unless most is in [0, 2^20]
[[nodiscard]] inline whole_noise discrete_uniform_noise(std::int64_t most) {
  detail::require_domain(most >= 0 && most <= 1'048'576, "discrete_uniform_noise", "most", most,
                         "in [0, 2^20]");
  return {-most, std::vector<double>(static_cast<std::size_t>(2 * most + 1), 1.0)};
}

/// Mutual information, I(X; Z), in nats.
struct shannon_measure {};

/// Sibson's information of an order α, in nats: min over laws Q of D_α(P_XZ ‖ P_X × Q). It grows with α, from 0 through
/// I(X; Z) at 1 to log ∫ max_x p(z | x) dz at ∞: by how much the chance of guessing X, if all x are equally likely, multiplies.
struct renyi_measure {
  double order = required;  ///< in [0.5, 1000] but not 1, or ∞
};

/// Total variation between P_XZ and P_X × P_Z, a probability.
struct variation_measure {};

using leakage_measure = std::variant<shannon_measure, renyi_measure, variation_measure>;

namespace detail {

/// @throws std::domain_error, std::invalid_argument
inline void check_scalar_noise(char const* who, scalar_noise const& noise) {
  if (auto const* laplace = std::get_if<laplace_noise>(&noise)) {
    check_positive(who, "scale", laplace->scale);
  } else if (auto const* discrete = std::get_if<discrete_laplace_noise>(&noise)) {
    check_positive(who, "scale", discrete->scale);
  } else if (auto const* uniform = std::get_if<uniform_noise>(&noise)) {
    check_positive(who, "half_width", uniform->half_width);
  } else {
    bool some = false;
    for (double const w : std::get<whole_noise>(noise).weights) {
      require_domain(w >= 0.0 && w <= 1e300, who, "weight of the noise", w, "in [0, 1e300]");
      some |= w > 0.0;
    }
    require_argument(some, who, "largest weight of the noise", 0, "positive");
  }
}

inline void check_measure(char const* who, leakage_measure const& measure) {
  if (auto const* renyi = std::get_if<renyi_measure>(&measure)) {
    double const a = renyi->order;
    require_domain((a >= 0.5 && a <= 1000.0 && a != 1.0) || (std::isinf(a) && a > 0.0), who,
                   "order", a, "in [0.5, 1000] and not 1, or infinite");
  }
}

}  // namespace detail

}  // namespace tacit
