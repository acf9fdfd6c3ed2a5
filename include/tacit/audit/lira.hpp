// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// The likelihood-ratio attack (LiRA) of Carlini et al. 2022: how a record's statistic is distributed over
/// *shadow* runs that trained on it, and over those that did not, decides whether the run under attack did.

namespace tacit {

/// log(p/(1−p)) of the probability p = e^−loss that a model gives the right answer: nearly normal over runs,
/// which the loss is not. A loss below 2⁻⁵³ counts as 2⁻⁵³.
/// @throws std::domain_error unless the loss is at least 0 and finite
[[nodiscard]] inline double logit_of_loss(double loss) {
  detail::check_non_negative("logit_of_loss", "loss", loss);
  double const x = std::max(loss, 0x1p-53);
  return -x - log1m_exp(-x);
}

/// S runs of the same training on random subsets of N records: run after run, N statistics each, and a flag
/// for each, 1 if the run trained on that record.
struct shadow_runs {
  std::size_t records = 0;
  std::vector<double> statistics;
  std::vector<std::uint8_t> inside;
};

struct lira_options {
  /// One variance for all records, from all their residuals: for fewer than some 64 shadow runs.
  bool pooled_variance = false;
  /// No fitted standard deviation is taken to be less.
  double least_deviation = 1e-3;
};

namespace detail {

struct normal_fit {
  double mean = 0.0;
  double deviation = 0.0;
};

/// A normal law for each record from the runs with this flag.
[[nodiscard]] inline std::vector<normal_fit> fit_shadows(char const* who,
                                                         shadow_runs const& shadows,
                                                         std::uint8_t flag,
                                                         lira_options const& options) {
  std::size_t const records = shadows.records;
  std::size_t const runs = shadows.statistics.size() / records;
  std::vector<normal_fit> fits(records);
  std::vector<double> squares(records, 0.0);
  std::vector<double> freedom(records, 0.0);
  double all_squares = 0.0;
  double all_freedom = 0.0;
  for (std::size_t i = 0; i < records; ++i) {
    double count = 0.0;
    double sum = 0.0;
    for (std::size_t s = 0; s < runs; ++s) {
      if (shadows.inside[s * records + i] != flag) continue;
      sum += shadows.statistics[s * records + i];
      count += 1.0;
    }
    require_argument(count >= 2.0, who,
                     std::string("number of shadow runs with") + (flag == 0 ? "out" : "") +
                         " record " + to_text(i),
                     count, "at least 2");
    fits[i].mean = sum / count;
    for (std::size_t s = 0; s < runs; ++s) {
      if (shadows.inside[s * records + i] != flag) continue;
      double const away = shadows.statistics[s * records + i] - fits[i].mean;
      squares[i] += away * away;
    }
    freedom[i] = count - 1.0;
    all_squares += squares[i];
    all_freedom += freedom[i];
  }
  for (std::size_t i = 0; i < records; ++i) {
    double const variance =
        options.pooled_variance ? all_squares / all_freedom : squares[i] / freedom[i];
    fits[i].deviation = std::max(std::sqrt(variance), options.least_deviation);
  }
  return fits;
}

inline void check_shadows(char const* who, shadow_runs const& shadows,
                          std::span<double const> target, lira_options const& options) {
  require_argument(shadows.records >= 1, who, "records", shadows.records, "at least 1");
  require_argument(shadows.statistics.size() % shadows.records == 0, who, "number of statistics",
                   shadows.statistics.size(), "a multiple of the number of records");
  check_size(who, "number of flags", shadows.inside.size(), shadows.statistics.size());
  check_size(who, "number of target statistics", target.size(), shadows.records);
  for (double const x : shadows.statistics) check_finite(who, "statistic", x);
  for (double const x : target) check_finite(who, "target statistic", x);
  for (std::uint8_t const f : shadows.inside) {
    require_domain(f <= 1, who, "flag", unsigned{f}, "0 or 1");
  }
  check_positive(who, "least_deviation", options.least_deviation);
}

}  // namespace detail

/// For each record log N(x; μ_in, σ_in²) − log N(x; μ_out, σ_out²), x its statistic in the run under attack,
/// the laws fitted to the shadow runs with and without it. Positive: more likely a member.
/// Accuracy: an attack's score, as good as the normal fits; any threshold on it is a valid attack.
/// @throws std::invalid_argument unless sizes fit and each record is in at least 2 shadow runs, and out of
///         2; std::domain_error unless numbers are finite, flags 0 or 1 and least_deviation positive
[[nodiscard]] inline std::vector<double> lira_online(shadow_runs const& shadows,
                                                     std::span<double const> target,
                                                     lira_options const& options = {}) {
  detail::check_shadows("lira_online", shadows, target, options);
  auto const in = detail::fit_shadows("lira_online", shadows, 1, options);
  auto const out = detail::fit_shadows("lira_online", shadows, 0, options);
  std::vector<double> scores(target.size());
  for (std::size_t i = 0; i < target.size(); ++i) {
    double const with = (target[i] - in[i].mean) / in[i].deviation;
    double const without = (target[i] - out[i].mean) / out[i].deviation;
    scores[i] = 0.5 * (without - with) * (without + with) +
                elementary::log(out[i].deviation / in[i].deviation);
  }
  return scores;
}

/// The variant that needs no shadow run on the record: (x − μ_out)/σ_out, how unusual the statistic would be
/// for a run without it. (The paper's score is Φ of this: the same order, and no ties where Φ is 1.)
/// @throws as `lira_online`, but only runs without each record are needed
[[nodiscard]] inline std::vector<double> lira_offline(shadow_runs const& shadows,
                                                      std::span<double const> target,
                                                      lira_options const& options = {}) {
  detail::check_shadows("lira_offline", shadows, target, options);
  auto const out = detail::fit_shadows("lira_offline", shadows, 0, options);
  std::vector<double> scores(target.size());
  for (std::size_t i = 0; i < target.size(); ++i) {
    scores[i] = (target[i] - out[i].mean) / out[i].deviation;
  }
  return scores;
}

}  // namespace tacit
