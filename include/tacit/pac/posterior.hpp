// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/info/sign_channel.hpp>
#include <tacit/pac/candidates.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tacit {

enum class sign : std::int8_t { minus = -1, plus = +1 };

/// How a belief over candidates divides between the two signs. The smaller mass is the one kept: a
/// double cannot hold 1 − 10⁻²⁰.
struct split {
  double minority;         ///< in [0, ½]
  bool minority_positive;  ///< the minority has sign +1; false in a tie
};

/// The belief of an adversary who knows everything but the secret: P(secret = m | releases)
/// for each of M candidates, by Bayes' rule.
///
/// Weights are kept as logarithms: a candidate that has become as unlikely as e⁻⁸⁰⁰ is still there,
/// and still disagrees. Only an observation that excludes a candidate (log weight −∞) removes it.
///
/// `signs` is one std::int8_t a candidate, −1 or +1: what the candidate would have released. Every
/// function that takes it throws std::invalid_argument unless its size is M, and std::domain_error
/// for any other value. Every observation either happens or throws and changes nothing.
///
/// Accuracy: log weights carry an absolute error of a few 2⁻⁵³·|log weight| per observation; the
/// normalisation is computed anew from the weights each time, so its error does not accumulate. A
/// weight e^w is then good to a relative error of a few 2⁻⁵³·(1 + |w|) per observation.
class posterior {
 public:
  struct exposure {
    std::size_t worst_record;  ///< counted from 0 within the candidate set; the first of equals
    double worst;              ///< max over records of max(π, 1−π)
    double mean;               ///< mean over records of max(π, 1−π)
  };

  /// Uniform.
  /// @throws std::invalid_argument for 0 candidates
  explicit posterior(std::size_t candidates)
      : log_weights_(checked_count(candidates), -elementary::log(static_cast<double>(candidates))),
        probabilities_(candidates, 1.0 / static_cast<double>(candidates)),
        live_(candidates) {}

  /// The belief with weights proportional to e^w, as from a stored state. Weights that sum to 1
  /// within 10⁻¹² are kept bit for bit: a restored belief goes on exactly as the saved one would.
  /// @throws std::domain_error      for a NaN or +∞, naming the candidate
  /// @throws std::invalid_argument  unless at least one weight is finite
  [[nodiscard]] static posterior from_log_weights(std::vector<double> log_weights);

  [[nodiscard]] std::size_t size() const noexcept { return log_weights_.size(); }

  /// The number of candidates that are not excluded.
  [[nodiscard]] std::size_t live() const noexcept { return live_; }

  /// Normalised: Σ e^w = 1.
  [[nodiscard]] std::span<double const> log_weights() const noexcept { return log_weights_; }

  /// e^w. A live candidate below 10⁻³⁰⁸ may have 0 here: do not infer from it that a candidate is excluded.
  [[nodiscard]] std::span<double const> probabilities() const noexcept { return probabilities_; }

  /// Nats of uncertainty left about the secret, −Σ p log p.
  [[nodiscard]] double entropy() const;

  /// True when all live candidates have the same sign: then the sign is known to the adversary
  /// beforehand. Decided by counting, never by weights.
  [[nodiscard]] bool unanimous(std::span<std::int8_t const> signs) const;

  /// The masses of the two signs.
  /// Guarantee: minority is 0 only when the live candidates are unanimous; a mass under 2.2·10⁻³⁰⁸ is
  /// reported as that.
  /// Accuracy: nearest; the weights' own relative error, however small the mass, since the minority
  /// is summed by itself.
  [[nodiscard]] split agreement(std::span<std::int8_t const> signs) const;

  /// The released sign is the secret's sign, flipped with probability e = (1−ρ)/2:
  /// p[m] ∝ p[m]·(1 + y·ρ·s_m)/2. e = 0 excludes the candidates that disagree; any e > 0 excludes
  /// nobody, however near 1 the correlation ρ; ρ = 0 changes nothing.
  /// @throws std::domain_error      if the flip was never set
  /// @throws std::invalid_argument  if e = 0 and every live candidate disagrees: such a release
  ///                                cannot have happened
  void observe_sign(std::span<std::int8_t const> signs, sign released, flip const& noise);

  /// The released value is the secret's sign plus N(0, σ²): p[m] ∝ p[m]·exp(s_m·y/σ²).
  /// σ = +∞ changes nothing. Excludes nobody.
  /// @throws std::domain_error unless the value is finite and σ is positive (+∞ included)
  void observe_value(std::span<std::int8_t const> signs, double value, double sigma);

  /// π_i = P(record i is in the secret subset | releases) = Σ_{m∋i} p[m], clamped to [0, 1].
  ///
  /// Accuracy: nearest, absolute error ≤ (10 + M/64)·2⁻⁵³ beside that of the weights. A π_i
  /// within that distance of 1 may be any such number: 1 − π_i has no correct digit there.
  /// @throws std::invalid_argument unless the set has M subsets and per_record one entry a record
  void memberships(candidate_set const& candidates, std::span<double> per_record) const;

  /// a_i = Σ_{m∋i} p[m]·s_m, in [−π_i, π_i] up to rounding. After a release y of correlation ρ, and
  /// with mean sign s̄ = Σ p[m]·s_m, the belief is π_i ← (π_i + yρ·a_i)/(1 + yρ·s̄).
  /// Accuracy and exceptions as for memberships.
  void sign_memberships(candidate_set const& candidates, std::span<std::int8_t const> signs,
                        std::span<double> per_record) const;

  /// How often the best guess "in" or "out" about a record is right, after these very releases. The
  /// worst record is one draw and may exceed any bound that speaks of the average over releases.
  /// Accuracy: nearest, absolute error as for memberships.
  /// @throws std::invalid_argument unless the set has M subsets
  [[nodiscard]] exposure exposed(candidate_set const& candidates) const;

 private:
  struct masses {
    double minus;
    double plus;
  };

  posterior() = default;

  // e^w, but exactly 1/M where nothing has been learnt: e^(−log M) is an ulp off, and an attacker without
  // information would seem to have some.
  struct uniform_law {
    double log_weight;
    double probability;
  };
  static uniform_law uniform_over(std::size_t candidates) noexcept {
    double const count = static_cast<double>(candidates);
    return {-elementary::log(count), 1.0 / count};
  }
  static double mass(double w, uniform_law const& uniform) noexcept {
    return w == uniform.log_weight ? uniform.probability : elementary::exp(w);
  }

  static std::size_t checked_count(std::size_t candidates) {
    detail::require_argument(candidates >= 1, "posterior", "candidates", candidates, "at least 1");
    return candidates;
  }

  void check_signs(char const* function, std::span<std::int8_t const> signs) const;
  void check_subsets(char const* function, candidate_set const& candidates) const {
    detail::check_size(function, "number of subsets", candidates.subsets(), size());
  }

  [[nodiscard]] masses sum_by_sign(std::span<std::int8_t const> signs) const;
  [[nodiscard]] double log_sum(std::span<std::int8_t const> signs, double log_minus,
                               double log_plus) const;
  void multiply(std::span<std::int8_t const> signs, double log_minus, double log_plus,
                double log_total) noexcept;

  std::vector<double> log_weights_;
  std::vector<double> probabilities_;  // mass(log_weights_), always: a function of them alone
  std::size_t live_ = 0;
};

inline posterior posterior::from_log_weights(std::vector<double> log_weights) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (std::size_t m = 0; m < log_weights.size(); ++m) {
    if (!(log_weights[m] < infinity)) {
      detail::fail_domain("posterior", "log weight of candidate " + detail::to_text(m),
                          log_weights[m], "below +infinity");
    }
  }
  posterior result;
  result.live_ = static_cast<std::size_t>(std::count_if(log_weights.begin(), log_weights.end(),
                                                        [](double w) { return w > -infinity; }));
  detail::require_argument(result.live_ >= 1, "posterior", "number of finite log weights",
                           result.live_, "at least 1");

  double const top = *std::max_element(log_weights.begin(), log_weights.end());
  compensated_sum<double> sum;
  for (double const w : log_weights) sum += elementary::exp(w - top);
  double const rest = elementary::log(sum.value());
  if (!(std::abs(top + rest) <= 1e-12)) {
    for (double& w : log_weights) {
      // Finite stays finite: the difference of two finite numbers may overflow.
      if (w > -infinity) w = std::max((w - top) - rest, std::numeric_limits<double>::lowest());
    }
  }
  result.probabilities_.reserve(log_weights.size());
  uniform_law const uniform = uniform_over(log_weights.size());
  for (double const w : log_weights) result.probabilities_.push_back(mass(w, uniform));
  result.log_weights_ = std::move(log_weights);
  return result;
}

inline double posterior::entropy() const {
  compensated_sum<double> sum;
  for (std::size_t m = 0; m < size(); ++m) {
    if (probabilities_[m] > 0.0) sum += -probabilities_[m] * log_weights_[m];
  }
  return std::max(sum.value(), 0.0);
}

inline bool posterior::unanimous(std::span<std::int8_t const> signs) const {
  check_signs("unanimous", signs);
  std::size_t positive = 0;
  for (std::size_t m = 0; m < size(); ++m) {
    bool const alive = log_weights_[m] > -std::numeric_limits<double>::infinity();
    positive += static_cast<std::size_t>(alive & (signs[m] > 0));
  }
  return positive == 0 || positive == live_;
}

inline split posterior::agreement(std::span<std::int8_t const> signs) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  check_signs("agreement", signs);
  masses const mass = sum_by_sign(signs);
  bool const positive = mass.plus < mass.minus;
  // The computed total is at least twice the smaller mass, so the quotient is at most ½.
  double minority = std::min(mass.plus, mass.minus) / (mass.plus + mass.minus);
  if (minority < 1e-280) {
    // Weights near the smallest double have lost digits, or are 0: add them as logarithms.
    double const log_minority =
        positive ? log_sum(signs, -infinity, 0.0) : log_sum(signs, 0.0, -infinity);
    minority = log_minority > -infinity
                   ? std::max(elementary::exp(log_minority), std::numeric_limits<double>::min())
                   : 0.0;
  }
  return {minority, positive};
}

inline void posterior::observe_sign(std::span<std::int8_t const> signs, sign released,
                                    flip const& noise) {
  check_signs("observe_sign", signs);
  detail::require_domain(released == sign::minus || released == sign::plus, "observe_sign",
                         "released sign", static_cast<int>(released), "-1 or +1");
  double const correlation = noise.correlation();
  detail::check_probability("observe_sign", "correlation", correlation);  // NaN: never set
  if (correlation == 0.0) return;
  double const agree = elementary::log1p(correlation);
  // 1 − ρ = 2e has its digits in e where ρ is near 1, and in ρ where it is small; −∞ at e = 0.
  double const differ = correlation > 0.5 ? elementary::log(2.0 * noise.probability())
                                          : elementary::log1p(-correlation);
  double const log_plus = released == sign::plus ? agree : differ;
  double const log_minus = released == sign::plus ? differ : agree;
  double const log_total = log_sum(signs, log_minus, log_plus);
  detail::require_argument(log_total > -std::numeric_limits<double>::infinity(), "observe_sign",
                           "released sign", static_cast<int>(released),
                           "that of a live candidate when the sign is not flipped");
  multiply(signs, log_minus, log_plus, log_total);
}

inline void posterior::observe_value(std::span<std::int8_t const> signs, double value,
                                     double sigma) {
  check_signs("observe_value", signs);
  detail::check_finite("observe_value", "value", value);
  detail::require_domain(sigma > 0.0, "observe_value", "sigma", sigma, "positive");
  double const evidence = value / sigma / sigma;
  if (evidence == 0.0) return;
  // Relative to the favoured sign, the other falls by 2|y|/σ². Capped, so that no number of
  // observations that can be made excludes a candidate by overflow.
  double const differ = -2.0 * std::min(std::abs(evidence), 1e290);
  double const log_plus = evidence > 0.0 ? 0.0 : differ;
  double const log_minus = evidence > 0.0 ? differ : 0.0;
  multiply(signs, log_minus, log_plus, log_sum(signs, log_minus, log_plus));
}

inline void posterior::memberships(candidate_set const& candidates,
                                   std::span<double> per_record) const {
  check_subsets("memberships", candidates);
  candidates.membership_sums(probabilities_, per_record);
  for (double& p : per_record) p = std::clamp(p, 0.0, 1.0);
}

inline void posterior::sign_memberships(candidate_set const& candidates,
                                        std::span<std::int8_t const> signs,
                                        std::span<double> per_record) const {
  check_signs("sign_memberships", signs);
  check_subsets("sign_memberships", candidates);
  std::vector<double> signed_probabilities(size());
  for (std::size_t m = 0; m < size(); ++m) signed_probabilities[m] = probabilities_[m] * signs[m];
  candidates.membership_sums(signed_probabilities, per_record);
}

inline posterior::exposure posterior::exposed(candidate_set const& candidates) const {
  check_subsets("exposed", candidates);
  std::vector<double> success(candidates.records());
  memberships(candidates, success);
  compensated_sum<double> sum;
  for (double& p : success) {
    p = std::max(p, 1.0 - p);
    sum += p;
  }
  auto const worst = std::max_element(success.begin(), success.end());
  return {static_cast<std::size_t>(worst - success.begin()), *worst,
          sum.value() / static_cast<double>(success.size())};
}

inline void posterior::check_signs(char const* function, std::span<std::int8_t const> signs) const {
  detail::check_size(function, "size of signs", signs.size(), size());
  // s + 1 is 0 or 2. In this form the loop becomes vector instructions.
  unsigned char wrong = 0;
  for (std::int8_t const s : signs) wrong |= static_cast<unsigned char>((s + 1) & ~2);
  if (wrong == 0) return;
  auto const bad =
      std::find_if(signs.begin(), signs.end(), [](std::int8_t s) { return s != 1 && s != -1; });
  detail::fail_domain(function, "sign of candidate " + detail::to_text(bad - signs.begin()),
                      static_cast<int>(*bad), "-1 or +1");
}

/// Both masses in one pass. Blocks of eight running sums each, joined by compensated sums: the
/// relative error is at most 66·2⁻⁵³ to first order, whatever M.
inline posterior::masses posterior::sum_by_sign(std::span<std::int8_t const> signs) const {
  constexpr std::size_t block = 512;
  compensated_sum<double> minus;
  compensated_sum<double> plus;
  for (std::size_t begin = 0; begin < size(); begin += block) {
    std::size_t const end = std::min(begin + block, size());
    double lane[2][8] = {};
    for (std::size_t m = begin; m < end; ++m) lane[signs[m] > 0][m % 8] += probabilities_[m];
    for (double const x : lane[0]) minus += x;
    for (double const x : lane[1]) plus += x;
  }
  return {minus.value(), plus.value()};
}

/// log Σ e^(w + step), step = log_plus or log_minus by the candidate's sign; −∞ if no term is left.
inline double posterior::log_sum(std::span<std::int8_t const> signs, double log_minus,
                                 double log_plus) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  masses const mass = sum_by_sign(signs);
  double const total =
      mass.minus * elementary::exp(log_minus) + mass.plus * elementary::exp(log_plus);
  if (total > 1e-280) return elementary::log(total);
  double const step[2] = {log_minus, log_plus};
  double top = -infinity;
  for (std::size_t m = 0; m < size(); ++m) {
    top = std::max(top, log_weights_[m] + step[signs[m] > 0]);
  }
  if (top == -infinity) return top;
  compensated_sum<double> sum;
  for (std::size_t m = 0; m < size(); ++m) {
    sum += elementary::exp(log_weights_[m] + step[signs[m] > 0] - top);
  }
  return top + elementary::log(sum.value());
}

inline void posterior::multiply(std::span<std::int8_t const> signs, double log_minus,
                                double log_plus, double log_total) noexcept {
  double const step[2] = {log_minus - log_total, log_plus - log_total};
  uniform_law const uniform = uniform_over(size());
  std::size_t live = 0;
  for (std::size_t m = 0; m < size(); ++m) {
    double const w = log_weights_[m] + step[signs[m] > 0];
    log_weights_[m] = w;
    probabilities_[m] = mass(w, uniform);
    live += w > -std::numeric_limits<double>::infinity();
  }
  live_ = live;
}

}  // namespace tacit
