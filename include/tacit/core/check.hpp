// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/number_text.hpp>
#include <tacit/core/real.hpp>

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

/// Errors, and the checks that raise them.
///
/// std::domain_error      a value outside its range
/// std::invalid_argument  a shape, or a combination that has no known bound
/// tacit::infeasible      no noise can meet the request
/// tacit::budget_exhausted  a release that would overspend, refused before it exists
/// tacit::convergence_error a solver that did not close its bracket, with the bracket
/// tacit::corrupt_state   a stored state that cannot be trusted
/// tacit::internal_error  the library contradicts itself: a defect to report, and no number
///
/// Every message has one shape: `noise_for: prior is 1.5, but must be in [0, 1]`.
/// Checks are written so that NaN fails them.

namespace tacit {

struct infeasible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct budget_exhausted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct corrupt_state : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct internal_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct convergence_error : std::runtime_error {
  convergence_error(std::string const& what, double lower_end, double upper_end)
      : std::runtime_error(what), lower(lower_end), upper(upper_end) {}
  double lower;
  double upper;
};

namespace detail {

[[nodiscard]] inline std::string complaint(std::string_view function, std::string_view argument,
                                           std::string_view value, std::string_view range) {
  std::string text;
  text.append(function).append(": ").append(argument).append(" is ").append(value);
  return text.append(", but must be ").append(range);
}

// Cold and out of line: the hot path of a check is one branch.
template <class T>
[[noreturn, gnu::cold, gnu::noinline]] void fail_domain(std::string_view function,
                                                        std::string_view argument, T const& value,
                                                        std::string_view range) {
  throw std::domain_error(complaint(function, argument, to_text(value), range));
}

template <class T>
[[noreturn, gnu::cold, gnu::noinline]] void fail_argument(std::string_view function,
                                                          std::string_view argument, T const& value,
                                                          std::string_view range) {
  throw std::invalid_argument(complaint(function, argument, to_text(value), range));
}

/// `if (!(condition)) std::domain_error`. NaN makes every comparison false, and so fails.
template <class T>
constexpr void require_domain(bool holds, std::string_view function, std::string_view argument,
                              T const& value, std::string_view range) {
  if (!holds) fail_domain(function, argument, value, range);
}

template <class T>
constexpr void require_argument(bool holds, std::string_view function, std::string_view argument,
                                T const& value, std::string_view range) {
  if (!holds) fail_argument(function, argument, value, range);
}

template <real T>
constexpr void check_probability(std::string_view function, std::string_view argument, T const& x) {
  require_domain(x >= 0 && x <= 1, function, argument, x, "in [0, 1]");
}

template <real T>
constexpr void check_positive(std::string_view function, std::string_view argument, T const& x) {
  require_domain(x > 0 && x <= std::numeric_limits<T>::max(), function, argument, x,
                 "positive and finite");
}

template <real T>
constexpr void check_non_negative(std::string_view function, std::string_view argument,
                                  T const& x) {
  require_domain(x >= 0 && x <= std::numeric_limits<T>::max(), function, argument, x,
                 "finite and at least 0");
}

template <real T>
constexpr void check_finite(std::string_view function, std::string_view argument, T const& x) {
  require_domain(x >= std::numeric_limits<T>::lowest() && x <= std::numeric_limits<T>::max(),
                 function, argument, x, "finite");
}

inline void check_size(std::string_view function, std::string_view argument, std::size_t size,
                       std::size_t expected) {
  require_argument(size == expected, function, argument, size, to_text(expected));
}

}  // namespace detail
}  // namespace tacit
