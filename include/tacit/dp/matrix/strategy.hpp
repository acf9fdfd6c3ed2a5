// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/count.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// Strategies of matrix mechanisms. A run releases Cx + noise row by row, x_i being the sum of the contributions of
/// step i, and anything computed from it: DP-FTRL multiplies by AC⁻¹ for the prefix sums Ax. Row r of a lower
/// triangular C uses no step after r, so that contributions may be chosen from what was released before
/// (docs/certificates/matrix.md, Lemma 1).
///
/// The strategy of a run is the matrix that its trainer multiplies by, rounding included: use these coefficients there.

namespace tacit {

/// C is lower triangular, with C_rc = coefficients[r−c] for r−c below the number of coefficients, the bands, and 0
/// elsewhere.
struct toeplitz_strategy {
  static constexpr std::uint64_t most_steps = 10'000'000;

  std::vector<double> coefficients;
  std::uint64_t steps = 0;
  friend bool operator==(toeplitz_strategy const&, toeplitz_strategy const&) = default;
};

/// Every node of a binary tree over the steps is released: the sum of the steps below it. After every `restart` steps
/// a new tree begins; 0: never. A leaf is in 1 + ⌈log₂ steps⌉ nodes, in which `steps` are those of one tree.
struct tree_strategy {
  std::uint64_t steps = 0;
  std::uint64_t restart = 0;
  friend bool operator==(tree_strategy const&, tree_strategy const&) = default;
};

/// Any C, row by row, with a column for each step.
struct dense_strategy {
  std::vector<double> entries;
  std::size_t columns = 0;
  friend bool operator==(dense_strategy const&, dense_strategy const&) = default;
};

/// C = I: independent noise in every step, as in DP-SGD.
[[nodiscard]] inline toeplitz_strategy identity_strategy(std::uint64_t steps) {
  return {{1.0}, steps};
}

/// The square root of the prefix sums, coefficients c_t = C(2t, t)/4^t, of which the first `bands` are kept.
/// Guarantee: coefficients are upper bounds, off by at most 2t·2⁻⁵³, relatively.
/// Source: Fichtenberger, Henzinger & Upadhyay 2023; banded: Kalinin & Lampert 2024.
/// @throws std::domain_error unless 1 ≤ bands ≤ steps ≤ 10⁷
[[nodiscard]] inline toeplitz_strategy square_root_strategy(std::uint64_t steps,
                                                            std::uint64_t bands) {
  detail::check_count("square_root_strategy", "steps", steps, 1, toeplitz_strategy::most_steps);
  detail::check_count("square_root_strategy", "bands", bands, 1, steps);
  std::vector<double> coefficients{1.0};
  coefficients.reserve(bands);
  for (std::uint64_t t = 1; t < bands; ++t) {
    double const ratio =
        detail::divide_up(static_cast<double>(2 * t - 1), static_cast<double>(2 * t));
    coefficients.push_back(detail::multiply_up(coefficients.back(), ratio));
  }
  return {std::move(coefficients), steps};
}
[[nodiscard]] inline toeplitz_strategy square_root_strategy(std::uint64_t steps) {
  return square_root_strategy(steps, steps);
}

/// A buffer of a buffered linear Toeplitz (BLT) strategy.
struct noise_buffer {
  double decay = required;  // θ
  double scale = required;  // ω
};

/// Buffered linear Toeplitz: c_0 = 1 and c_t = Σ_j ω_j·θ_j^{t−1}.
/// Guarantee: coefficients are upper bounds, off by at most (t + number of buffers)·2⁻⁵², relatively.
/// Source: Dvijotham, McMahan, Pillutla, Steinke & Thakurta 2024.
/// @throws std::domain_error unless 1 ≤ steps ≤ 10⁷, decays are in [0, 1] and scales finite and at least 0
[[nodiscard]] inline toeplitz_strategy buffered_strategy(std::span<noise_buffer const> buffers,
                                                         std::uint64_t steps) {
  char const* const me = "buffered_strategy";
  detail::check_count(me, "steps", steps, 1, toeplitz_strategy::most_steps);
  std::vector<double> terms;
  for (noise_buffer const& buffer : buffers) {
    detail::check_probability(me, "decay", buffer.decay);
    detail::check_non_negative(me, "scale", buffer.scale);
    terms.push_back(buffer.scale);
  }
  std::vector<double> coefficients{1.0};
  coefficients.reserve(steps);
  while (coefficients.size() < steps) {
    double sum = 0.0;
    for (std::size_t j = 0; j < terms.size(); ++j) {
      sum = detail::add_up(sum, terms[j]);
      terms[j] = detail::multiply_up(terms[j], buffers[j].decay);
    }
    coefficients.push_back(sum);
  }
  return {std::move(coefficients), steps};
}

namespace detail {

inline void check_strategy(std::string_view who, toeplitz_strategy const& c) {
  check_count(who, "steps", c.steps, 1, toeplitz_strategy::most_steps);
  require_argument(!c.coefficients.empty() && c.coefficients.size() <= c.steps, who,
                   "number of coefficients", c.coefficients.size(),
                   "at least 1 and at most the number of steps");
  for (double const x : c.coefficients) check_finite(who, "coefficient", x);
}

inline void check_strategy(std::string_view who, tree_strategy const& c) {
  check_count(who, "steps", c.steps);
  check_count(who, "restart", c.restart, 0);
}

inline void check_strategy(std::string_view who, dense_strategy const& c) {
  require_argument(c.columns >= 1 && !c.entries.empty() && c.entries.size() % c.columns == 0, who,
                   "number of entries", c.entries.size(),
                   "a positive multiple of the number of columns");
  for (double const x : c.entries) check_finite(who, "entry", x);
}

/// The leaves of a tree but the last.
[[nodiscard]] inline std::uint64_t leaves_of(tree_strategy const& c) {
  return c.restart == 0 || c.restart > c.steps ? c.steps : c.restart;
}

/// 1 + ⌈log₂ leaves⌉; 0 without leaves.
[[nodiscard]] inline std::uint64_t levels_of(std::uint64_t leaves) {
  if (leaves == 0) return 0;
  std::uint64_t levels = 1;
  for (std::uint64_t rest = leaves - 1; rest > 0; rest /= 2) ++levels;
  return levels;
}

}  // namespace detail
}  // namespace tacit
