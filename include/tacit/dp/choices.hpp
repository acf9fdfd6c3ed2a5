// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/count.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

/// Mechanisms that choose: the best of some candidates by noised scores, queries above a threshold, a vote of teachers.
/// Each is the event that stands for it, in every accountant. docs/certificates/events.md, Lemmas 6 to 8.

namespace tacit {

/// What is added to each score before the largest is reported.
enum class score_noise { gumbel, exponential, laplace };

/// What one record may contribute to a score, in units of the sensitivity.
enum class contribution {
  any_sign,     // in [−1, 1]
  non_negative  // in [0, 1], as to counts: monotone scores
};

namespace detail {

/// By how much the changes of two scores may differ from each other, and a score may change.
struct score_change {
  double range;
  double most;
};
[[nodiscard]] inline score_change change_of(contribution each, adjacency neighbours) {
  double const width = each == contribution::any_sign ? 2.0 : 1.0;
  if (neighbours == adjacency::replace_one) return {2.0 * width, width};
  return {width, 1.0};
}

/// Outside, a quotient by it would overflow.
inline void check_scale(std::string_view who, std::string_view name, double scale) {
  require_domain(scale >= 1e-290 && scale <= 1e290, who, name, scale, "in [1e-290, 1e290]");
}

}  // namespace detail

/// Report noisy max: the candidate of the largest score, after noise of this scale (in units of the sensitivity) on each.
/// With exponential noise it is permute-and-flip (McKenna & Sheldon 2020; Ding et al. 2021), with Gumbel noise the
/// exponential mechanism. ε = range/scale: bounded range for Gumbel noise, pure for the others. `neighbours` must be those
/// of the accountant that composes it.
/// Guarantee: upper bound.
/// @throws std::domain_error unless scale is in [1e-290, 1e290]
template <std::same_as<adjacency> Adjacency>
[[nodiscard]] mechanism_event report_noisy_max(score_noise noise, double scale,
                                               Adjacency neighbours,
                                               contribution each = contribution::any_sign) {
  detail::check_scale("report_noisy_max", "scale", scale);
  double const epsilon = detail::divide_up(detail::change_of(each, neighbours).range, scale);
  if (noise == score_noise::gumbel) return exponential_mechanism{epsilon};
  return pure{epsilon};
}

/// The sparse vector technique, AboveThreshold: Laplace noise on the threshold, once, and fresh on each query; it tells which
/// queries are above, and ends after `answers` that are, however many are below. The answers' values are not released.
/// ε = most/threshold_scale + answers·(2·most or, if all queries move one way, most)/query_scale. `neighbours` must be
/// those of the accountant that composes it.
/// Guarantee: upper bound.
/// Source: Lyu, Su & Li 2017, Theorems 4 and 5 (of the algorithm's variants in use most are not private).
/// @throws std::domain_error unless scales are in [1e-290, 1e290], and answers in [1, 2^53]
[[nodiscard]] inline pure sparse_vector(double threshold_scale, double query_scale,
                                        std::uint64_t answers, adjacency neighbours,
                                        contribution each = contribution::any_sign) {
  using namespace detail;
  check_scale("sparse_vector", "threshold_scale", threshold_scale);
  check_scale("sparse_vector", "query_scale", query_scale);
  check_count("sparse_vector", "answers", answers);
  double const most = change_of(each, neighbours).most;
  bool const one_way = each == contribution::non_negative && neighbours != adjacency::replace_one;
  double const each_answer = divide_up(one_way ? most : 2.0 * most, query_scale);
  return {add_up(divide_up(most, threshold_scale), multiply_up(count_up(answers), each_answer))};
}

/// PATE's vote of teachers, none of whom has seen another's records, with N(0, sigma²) on each count: one record changes
/// one teacher, and so two counts by 1, where a record's teacher depends on that record alone and a substitute has the
/// same. Confident-GNMax is a `gnmax_check` for every query and a `gnmax_answer` for
/// those that pass. What depends on the votes themselves (the tighter bounds of Papernot et al. 2018) is not covered.
/// Guarantee: upper bound.
/// @throws std::domain_error unless sigma is in [1e-290, 1e290]
[[nodiscard]] inline gaussian_dp gnmax_answer(double sigma) {
  detail::check_scale("gnmax_answer", "sigma", sigma);
  return {detail::divide_up(detail::sqrt_up(2.0), sigma)};
}

/// Whether the largest count, with N(0, sigma²) on it, is above a threshold.
[[nodiscard]] inline gaussian_dp gnmax_check(double sigma) {
  detail::check_scale("gnmax_check", "sigma", sigma);
  return {detail::divide_up(1.0, sigma)};
}

}  // namespace tacit
