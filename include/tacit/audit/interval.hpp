// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/betting.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/sum.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <string_view>
#include <vector>

/// The chance of success, from a finite number of attacks: an interval that covers the truth
/// with a stated confidence at any sample size, and the one comparison that an audit is about.

namespace tacit {

/// lower ≤ truth ≤ upper, except with probability 1 − confidence over the trials, half of it on each side.
struct confidence_interval {
  double value;  ///< as measured
  double lower;
  double upper;
  double confidence;
};

namespace detail {

/// log m! − log(√(2πm) m^m e^−m), for m ≥ 1. Absolute error ≤ 3e-12: from 16 on less than the first term
/// left out, 1/(1680 m⁷).
[[nodiscard]] inline double stirling_error(double m) {
  if (m < 16.0) {
    double factorial = 1.0;  // exact
    for (double j = 2.0; j <= m; ++j) factorial *= j;
    return elementary::log(factorial / std::sqrt(2.0 * std::numbers::pi * m)) -
           m * elementary::log(m) + m;
  }
  double const square = m * m;
  return (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / m;
}

/// P(k successes in n trials of probability p = 1 − q in (0, 1)), by its distance from the mean (Loader
/// 2000, "Fast and accurate computation of binomial probabilities").
[[nodiscard]] inline double binomial_probability(double k, double n, double p, double q) {
  if (k == 0.0) return elementary::exp(n * elementary::log1p(-p));
  if (k == n) return elementary::exp(n * elementary::log(p));
  double const excess = std::fma(-n, p, k);
  double const deviance =
      k * elementary::log1p(excess / (n * p)) + (n - k) * elementary::log1p(-excess / (n * q));
  double const correction = stirling_error(n) - stirling_error(k) - stirling_error(n - k);
  return std::sqrt(n / (2.0 * std::numbers::pi * k * (n - k))) *
         elementary::exp(correction - deviance);
}

/// P(at least k of n trials of probability p = 1 − q), n·p ≤ k: each term is less than the last.
[[nodiscard]] inline double sum_of_tail(double k, double n, double p, double q) {
  double const odds = p / q;
  double term = binomial_probability(k, n, p, q);
  compensated_sum<double> sum(term);
  for (; k < n; ++k) {
    double const ratio = (n - k) / (k + 1.0) * odds;
    term *= ratio;
    sum += term;
    // What follows is less than a geometric series.
    if (term * ratio <= 1e-12 * (1.0 - ratio) * sum.value()) break;
  }
  return sum.value();
}

/// P(at least `hits` of n trials of probability p in [0, 1]), 1 ≤ hits ≤ n ≤ 2^24; not below 1e-300.
///
/// Relative error ≤ 1e-8. With d = k − np, the deviance D is at least 2d²/n (Pinsker), so that |d| < 8e4
/// where the first term is above 1e-308 (where it is not, the tail is below 1e-300: n terms). An argument
/// of log1p with relative error 4u gives D an error of 4u|d|, since k = np(1 + x); the logarithms' own
/// errors are 2u(D + 2|d|). Both, and three of `stirling_error`: 2e-10. The rounding of 1 − p: nu = 1.9e-9,
/// since the derivative of log P(X = k) by log p is d/q ≤ n. Each further term has 5 roundings more than
/// the last, and there are at most n/4 on average over the tail: E[X − k | X ≥ k] ≤ p(n − k), from
/// E[(X − np); X ≥ k] = kq·P(X = k) (De Moivre). That is 5u·2^22 = 2.4e-9. What is left out: 1e-12. For
/// hits ≤ np the tail is at least ½, as the median is ⌊np⌋ or more (Kaas & Buhrman 1980).
[[nodiscard]] inline double binomial_tail(std::uint64_t hits, std::uint64_t trials, double p) {
  if (p == 1.0) return 1.0;
  auto const k = static_cast<double>(hits);
  auto const n = static_cast<double>(trials);
  double const q = 1.0 - p;
  if (k <= n * p) return 1.0 - sum_of_tail(n - k + 1.0, n, q, p);
  return p == 0.0 ? 1e-300 : std::max(1e-300, sum_of_tail(k, n, p, q));
}

inline constexpr double binomial_tail_error = 1e-8;
inline void check_hits(std::string_view who, std::string_view name, std::uint64_t hits,
                       std::uint64_t trials) {
  require_argument(trials >= 1, who, "number of trials", trials, "at least 1");
  require_argument(trials <= (std::uint64_t{1} << 24), who, "number of trials", trials,
                   "at most 2^24");
  require_argument(hits <= trials, who, name, hits, "at most the number of trials");
}

inline void check_open(std::string_view who, std::string_view name, double x) {
  require_domain(x > 0.0 && x < 1.0, who, name, x, "in (0, 1)");
}

}  // namespace detail

/// The p at which `hits` or more of so many independent trials would happen with probability `failure`
/// (Clopper & Pearson 1934). 0 for no hits. Also where trials of different probabilities, of mean p, are
/// counted together and at least one hit is to be expected: their count is less spread (Hoeffding 1956).
/// Guarantee: lower bound of the true rate, except with probability `failure`, at any number of trials.
/// @throws std::invalid_argument unless hits ≤ trials and 1 ≤ trials ≤ 2^24; std::domain_error unless
///         failure is in (0, 1)
[[nodiscard]] inline double lower_rate(std::uint64_t hits, std::uint64_t trials, double failure) {
  detail::check_hits("lower_rate", "hits", hits, trials);
  detail::check_open("lower_rate", "failure", failure);
  if (hits == 0) return 0.0;
  double const enough = failure * (1.0 - detail::binomial_tail_error);
  return last_holding(0.0, 1.0,
                      [=](double p) { return detail::binomial_tail(hits, trials, p) <= enough; });
}

/// The same from above: 1 less the `lower_rate` of the misses.
/// Guarantee: upper bound of the true rate, except with probability `failure`.
/// @throws as `lower_rate`
[[nodiscard]] inline double upper_rate(std::uint64_t hits, std::uint64_t trials, double failure) {
  detail::check_hits("upper_rate", "hits", hits, trials);
  detail::check_open("upper_rate", "failure", failure);
  return detail::add_up(1.0, -lower_rate(trials - hits, trials, failure));
}

namespace detail {

/// Each end misses with probability `failure`.
[[nodiscard]] inline confidence_interval success_within(std::uint64_t correct, std::uint64_t trials,
                                                        double confidence, double failure) {
  return {static_cast<double>(correct) / static_cast<double>(trials),
          lower_rate(correct, trials, failure), upper_rate(correct, trials, failure), confidence};
}

}  // namespace detail

/// An interval for the chance of success, from `correct` of `trials` *independent* guesses: one guess per
/// run. Guesses about many records of one run share its noise and are not independent: `attack_trials`.
/// Guarantee: covers at any number of trials (Clopper–Pearson); each end misses with probability
/// (1−confidence)/2.
/// @throws std::invalid_argument unless correct ≤ trials and 1 ≤ trials ≤ 2^24; std::domain_error unless
///         confidence is in (0, 1)
[[nodiscard]] inline confidence_interval success_interval(std::uint64_t correct,
                                                          std::uint64_t trials, double confidence) {
  detail::check_hits("success_interval", "correct", correct, trials);
  detail::check_open("success_interval", "confidence", confidence);
  return detail::success_within(correct, trials, confidence, 0.5 * (1.0 - confidence));
}

/// An interval for the mean of independent numbers in [low, high] of one law (core/betting.hpp).
/// Guarantee: covers at any number of them; each end misses with probability (1−confidence)/2.
/// @throws as `lower_confidence`; std::domain_error unless confidence is in (0, 1)
[[nodiscard]] inline confidence_interval mean_interval(std::span<double const> sample, double low,
                                                       double high, double confidence) {
  detail::check_open("mean_interval", "confidence", confidence);
  double const failure = 0.5 * (1.0 - confidence);
  double const lower = lower_confidence(sample, low, high, failure);
  double const upper = upper_confidence(sample, low, high, failure);
  compensated_sum<double> sum;
  for (double const x : sample) sum += x;
  double const mean = sum.value() / static_cast<double>(sample.size());
  if (lower > upper) return {mean, low, high, confidence};  // independent numbers cannot do that
  return {mean, lower, upper, confidence};
}

enum class verdict {
  not_caught,  ///< this attack, at this number of trials, shows nothing; it proves nothing either
  caught,      ///< even the interval's lower end is above what the guarantee allows
};

/// An attack that succeeds more often than a guarantee allows refutes it, and only then.
/// Guarantee: a mechanism that keeps `allowed` is caught with probability (1 − confidence)/2 at the most.
/// @throws std::domain_error unless the interval is ordered, and `allowed` is in [0, 1]
[[nodiscard]] inline verdict verdict_on(confidence_interval const& success, double allowed) {
  detail::require_domain(success.lower <= success.upper, "verdict_on", "lower end", success.lower,
                         "at most the upper end");
  detail::check_probability("verdict_on", "allowed", allowed);
  return success.lower > allowed ? verdict::caught : verdict::not_caught;
}

/// How often an attack was right about each record, run after run.
///
/// One run is one trial: the records of a run share its noise. What is counted are therefore runs, for
/// one record; and a run's *share* of right guesses, one number in [0, 1], for all records together.
class attack_trials {
 public:
  /// @throws std::invalid_argument for 0 records
  explicit attack_trials(std::size_t records) : right_(records, 0) {
    detail::require_argument(records >= 1, "attack_trials", "records", records, "at least 1");
  }

  /// One more independent run: for each record, 1 if its guess was right and 0 if not.
  /// @throws std::invalid_argument unless there is one entry a record; std::domain_error for an entry
  ///         other than 0 and 1. Nothing is counted then.
  void add(std::span<std::uint8_t const> right) {
    detail::check_size("attack_trials::add", "number of guesses", right.size(), right_.size());
    std::size_t hits = 0;
    for (std::uint8_t const r : right) {
      detail::require_domain(r <= 1, "attack_trials::add", "guess", unsigned{r}, "0 or 1");
      hits += r;
    }
    shares_.push_back(static_cast<double>(hits) / static_cast<double>(right.size()));
    for (std::size_t i = 0; i < right.size(); ++i) right_[i] += right[i];
  }

  [[nodiscard]] std::size_t records() const noexcept { return right_.size(); }
  [[nodiscard]] std::size_t runs() const noexcept { return shares_.size(); }

  /// Success on one record that was named before the runs.
  /// @throws std::invalid_argument for a record beyond the last, or before the first run;
  ///         std::domain_error unless confidence is in (0, 1)
  [[nodiscard]] confidence_interval on(std::size_t record, double confidence) const {
    detail::require_argument(record < records(), "attack_trials", "record", record,
                             "below the number of records");
    return success_interval(right_[record], runs(), confidence);
  }

  /// Success averaged over the records.
  /// @throws as `mean_interval`
  [[nodiscard]] confidence_interval mean(double confidence) const {
    return mean_interval(shares_, 0.0, 1.0, confidence);
  }

  struct worst_case {
    std::size_t record;
    confidence_interval success;
  };

  /// The record that was guessed right most often (the first of equals). It was chosen after the fact,
  /// so its interval holds for all N records at once: failures of (1−confidence)/N each.
  /// Its `value` is the largest of N and leans upwards.
  /// @throws as `on`
  [[nodiscard]] worst_case worst(double confidence) const {
    detail::check_open("attack_trials::worst", "confidence", confidence);
    auto const most = std::max_element(right_.begin(), right_.end());
    double const failure =
        0.5 * (1.0 - confidence) / static_cast<double>(records()) * (1.0 - 1e-15);
    return {static_cast<std::size_t>(most - right_.begin()),
            detail::success_within(*most, runs(), confidence, failure)};
  }

 private:
  std::vector<std::uint64_t> right_;
  std::vector<double> shares_;
};

}  // namespace tacit
