// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tacit {

/// What an attacker who saw all answers believes about which of M equally likely candidates gave them.
///
/// After an answer Y_j + n, n a discrete Gaussian of whole scale s on each axis, the logarithm of candidate m grows by
///   Σ (Y_m − c)(2(z − c) − (Y_m − c))/(2s²),
/// for any whole c, up to what is common to all. These sums are kept in twice the precision of a double, so that a
/// million small ones lose nothing.
/// Guarantee: no true probability exceeds the one of `probabilities()` by more than the factor `excess()`; rounding is
/// counted as it happens (docs/certificates/pac.md, 28). Where answers were given that it does not know of (`forget`), nothing is
/// claimed of any probability, and charges hold for all of them (29).
class answer_belief {
 public:
  /// For a file: the sums and what their rounding may come to.
  struct state {
    bool known = true;
    std::vector<double> high;
    std::vector<double> low;
    std::vector<double> errors;

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("known", self.known);
      archive.list("high", self.high);
      archive.list("low", self.low);
      archive.list("errors", self.errors);
    }
  };

  /// @throws std::invalid_argument unless there are 2 to 2²⁴ candidates
  explicit answer_belief(std::size_t candidates)
      : high_(candidates, 0.0),
        low_(candidates, 0.0),
        errors_(candidates, 0.0),
        probabilities_(candidates) {
    detail::require_argument(candidates >= 2 && candidates <= std::size_t{1} << 24, "answer_belief",
                             "number of candidates", candidates, "in [2, 2^24]");
    weigh();
  }

  [[nodiscard]] state save() const { return {known_, high_, low_, errors_}; }

  /// @throws std::invalid_argument for sums of different lengths; std::domain_error for one that is not finite, or has
  ///         a rest that is no rest, and for errors that leave everything open
  [[nodiscard]] static answer_belief restore(state from) {
    answer_belief out(from.high.size());
    detail::check_size("answer_belief", "number of sums", from.low.size(), from.high.size());
    detail::check_size("answer_belief", "number of errors", from.errors.size(), from.high.size());
    for (std::size_t m = 0; m < from.high.size(); ++m) {
      detail::check_finite("answer_belief", "sum", from.high[m]);
      detail::require_domain(from.high[m] + from.low[m] == from.high[m], "answer_belief",
                             "rest of a sum", from.low[m], "too small to change it");
      detail::check_non_negative("answer_belief", "error", from.errors[m]);
    }
    if (!from.known) {
      out.forget();
      return out;
    }
    out.high_ = std::move(from.high);
    out.low_ = std::move(from.low);
    out.errors_ = std::move(from.errors);
    out.weigh();
    detail::check_finite("answer_belief", "uncertainty", out.excess_);
    return out;
  }

  /// Answers were given that are not known: what an attacker believes may be anything, now and later. The probabilities are equal
  /// ones from now on, and say nothing.
  void forget() noexcept {
    known_ = false;
    for (auto* const of : {&high_, &low_, &errors_}) std::fill(of->begin(), of->end(), 0.0);
    weigh();
  }

  /// Whether no answer is missing.
  [[nodiscard]] bool known() const noexcept { return known_; }

  [[nodiscard]] std::size_t candidates() const noexcept { return high_.size(); }
  [[nodiscard]] std::span<double const> probabilities() const noexcept { return probabilities_; }
  [[nodiscard]] double excess() const noexcept { return excess_; }

  /// How far the logarithms of those that are possible at all may be from the true ones, up to what is common to all.
  [[nodiscard]] double error() const noexcept { return error_; }

  /// No logarithm of a candidate's probability is further than this from log(1/M), where it began; ∞ where the belief is not
  /// known. An upper bound where it is below 600.
  [[nodiscard]] double strayed() const noexcept {
    if (!known_) return std::numeric_limits<double>::infinity();
    auto const n = static_cast<double>(candidates());
    double most = 0.0;
    for (double const p : probabilities_) most = std::max(most, std::abs(elementary::log(n * p)));
    return most * (1.0 + 8.0 * detail::unit_roundoff) + 2.0 * error_ +
           (2.0 * n + 4000.0) * detail::unit_roundoff;
  }

  /// One that is most probable: answers are best told apart from its own.
  [[nodiscard]] std::size_t most_probable() const noexcept { return top_; }

  /// Takes in one axis of an answer: `from` is what each candidate would have said and `said` the answer, both less the
  /// same whole number and below 2⁵³. `learn` follows the last axis.
  void see(std::span<double const> from, double said, double scale) noexcept {
    if (!known_) return;
    constexpr double u = detail::unit_roundoff;
    double const denominator = 2.0 * scale * scale;
    for (std::size_t m = 0; m < high_.size(); ++m) {
      double const grown = from[m] * (2.0 * said - from[m]) / denominator;
      add(m, grown);
      // A term is right to 4u of itself, an addition to 2u² of what it adds up.
      // Noise beyond 12 scales is never said: 2^-101 for both of two candidates.
      errors_[m] += 5.0 * u * std::abs(grown) +
                    4.0 * u * u * (std::abs(high_[m]) + std::abs(grown)) + 0x1p-101;
    }
  }

  /// Believes what was seen.
  void learn() noexcept {
    if (known_) weigh();
  }

 private:
  /// a + b and what its rounding leaves out, exactly.
  struct exact_pair {
    double sum;
    double rest;
    exact_pair(double a, double b) noexcept : sum(a + b) {
      double const part = sum - a;
      rest = (a - (sum - part)) + (b - part);
    }
  };

  void add(std::size_t m, double x) noexcept {
    exact_pair const grown(high_[m], x);
    exact_pair const whole(grown.sum, low_[m] + grown.rest);
    high_[m] = whole.sum;
    low_[m] = whole.rest;
  }

  void weigh() noexcept {
    top_ = static_cast<std::size_t>(std::max_element(high_.begin(), high_.end()) - high_.begin());
    double const top = high_[top_];
    double sum = 0.0;
    error_ = 0.0;
    for (std::size_t m = 0; m < high_.size(); ++m) {
      double const l = (high_[m] - top) + low_[m];
      // Of one that is surely below it does not matter how far.
      if (l + errors_[m] + errors_[top_] >= least) error_ = std::max(error_, errors_[m]);
      probabilities_[m] = elementary::exp(std::max(l, least));
      sum += probabilities_[m];
    }
    for (double& p : probabilities_) p /= sum;
    // 2·|least| roundings in an exponent, twice; the function, the sum and the quotient.
    auto const n = static_cast<double>(high_.size());
    double const rounding = (2.0 * n + 3000.0) * detail::unit_roundoff;
    excess_ = elementary::exp(2.0 * error_) * (1.0 + rounding);
  }

  // Weights below are raised to it: of a logarithm relative to the largest.
  static constexpr double least = -650.0;

  std::vector<double> high_;
  std::vector<double> low_;
  std::vector<double> errors_;
  std::vector<double> probabilities_;
  std::size_t top_ = 0;
  double error_ = 0.0;
  double excess_ = 1.0;
  bool known_ = true;
};

}  // namespace tacit
