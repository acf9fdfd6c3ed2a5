// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/audit/sigmas.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/pac/posterior.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tacit {

/// The informed adversary (Balle, Cherubin & Hayes 2022), the strongest attacker that differential privacy
/// protects from: it knows every number of every record and who takes part, but for one record; and so for
/// each of N records in turn. It keeps
///   evidence_i = log P(releases | i takes part, rest) − log P(releases | i does not, rest),
/// the optimal test of "i takes part" by Neyman & Pearson. At prior ½ it guesses by the sign.
///
/// What covers it: (ε, δ) and μ-Gaussian DP under add_remove (`attack_success(approx_dp)`,
/// `membership_success(information_bound(gaussian_dp))`), and MI-DP, which is an average over transcripts.
/// A bound of the information about which of M *candidate subsets* is the secret covers `candidate_attack`
/// instead: candidates differ in many records, of which add_remove says nothing.
///
/// A record's *contribution* is what it adds to the sum before noise, clipped and rounded as the mechanism
/// does; releases, sums and sigmas are those of the sum, before any division. All are N×d, record after
/// record, or d numbers; d may differ from one observation to the next. Sigmas are one for all d or d.
/// Every observation either happens or throws and changes nothing.
class informed_adversary {
 public:
  /// @throws std::invalid_argument for 0 records
  explicit informed_adversary(std::size_t records) : evidence_(records, 0.0) {
    detail::require_argument(records >= 1, "informed_adversary", "records", records, "at least 1");
  }

  [[nodiscard]] std::size_t records() const noexcept { return evidence_.size(); }

  /// Log-likelihood ratios so far, in nats. ±∞ is certainty.
  [[nodiscard]] std::span<double const> evidence() const noexcept { return evidence_; }

  /// Sum + N(0, diag σ²) was released and was off by `residual` from the true sum of the records with
  /// in_sum = 1. A record that takes part is in the sum with probability `rate`: the attacker knows all
  /// batches but for its record's place in them, as the accountant's dominating pair does.
  ///   l = Σ_k g_k(u_k − g_k/2)/σ_k²,  u the released sum less the rest;  evidence += log(1 − q + q e^l)
  /// @throws std::invalid_argument for another number of entries; std::domain_error unless numbers are finite,
  ///         flags 0 or 1, sigmas positive and rate in (0, 1]
  void observe(std::span<double const> contributions, std::span<std::uint8_t const> in_sum,
               std::span<double const> residual, std::span<double const> sigmas,
               double rate = 1.0) {
    std::size_t const d = residual.size();
    check("observe", contributions, in_sum, residual, rate);
    detail::check_sigmas("observe", sigmas, d);
    std::vector<double> weight(d);
    for (std::size_t k = 0; k < d; ++k) weight[k] = 1.0 / detail::variance_of(sigmas, k);
    add([&](std::size_t i) {
      double const side = in_sum[i] != 0 ? 0.5 : -0.5;
      double l = 0.0;
      for (std::size_t k = 0; k < d; ++k) {
        double const g = contributions[i * d + k];
        l += g * (residual[k] + side * g) * weight[k];
      }
      return mixed(l, rate);
    });
  }

  /// The same for an attacker who does not see the batches: `released` is the noisy sum, `inside` says who
  /// takes part. The others' sum is taken as normal, of mean qΣg and variance q(1−q)Σg² a coordinate.
  /// Exact at rate 1. Below, it is an attack like any other, and no longer the best one.
  /// @throws as `observe`
  void observe_unseen(std::span<double const> contributions, std::span<std::uint8_t const> inside,
                      std::span<double const> released, std::span<double const> sigmas,
                      double rate) {
    std::size_t const d = released.size();
    check("observe_unseen", contributions, inside, released, rate);
    detail::check_sigmas("observe_unseen", sigmas, d);
    double const spread = rate * (1.0 - rate);
    std::vector<double> sum(d, 0.0);
    std::vector<double> squares(d, 0.0);
    for (std::size_t i = 0; i < records(); ++i) {
      if (inside[i] == 0) continue;
      for (std::size_t k = 0; k < d; ++k) {
        double const g = contributions[i * d + k];
        sum[k] += g;
        squares[k] += g * g;
      }
    }
    add([&](std::size_t i) {
      double const own = inside[i];
      double l = 0.0;
      for (std::size_t k = 0; k < d; ++k) {
        double const g = contributions[i * d + k];
        double const mean = rate * (sum[k] - own * g);
        double const others = std::max(squares[k] - own * g * g, 0.0);
        l +=
            g * (released[k] - mean - 0.5 * g) / (detail::variance_of(sigmas, k) + spread * others);
      }
      return mixed(l, rate);
    });
  }

  /// Of each of d sums, plus N(0, σ²) or as they are, a sign was released: −1, +1, or 0 where nothing was. A
  /// sum of exactly 0 gives a fair coin. `sums` are those of the records with in_sum = 1, who share one batch.
  /// Without noise one release may be certainty (±∞): give integers, of which the sums are exact.
  /// @throws as `observe`; std::domain_error for another sign, or unless sigma is finite and at least 0;
  ///         std::invalid_argument if some record's signs could not have happened
  void observe_signs(std::span<double const> contributions, std::span<std::uint8_t const> in_sum,
                     std::span<double const> sums, std::span<std::int8_t const> released,
                     double sigma, double rate = 1.0) {
    std::size_t const d = sums.size();
    check("observe_signs", contributions, in_sum, sums, rate);
    detail::check_size("observe_signs", "number of released signs", released.size(), d);
    detail::check_non_negative("observe_signs", "sigma", sigma);
    for (std::int8_t const y : released) {
      detail::require_domain(y >= -1 && y <= 1, "observe_signs", "released sign", int{y},
                             "-1, 0 or +1");
    }
    add([&](std::size_t i) {
      double with = 0.0;
      double without = 0.0;
      for (std::size_t k = 0; k < d; ++k) {
        if (released[k] == 0) continue;
        double const g = contributions[i * d + k];
        double const rest = in_sum[i] != 0 ? sums[k] - g : sums[k];
        with += log_chance(released[k] * (rest + g), sigma);
        without += log_chance(released[k] * rest, sigma);
      }
      double const in = mixed_logs(with, without, rate);
      detail::require_argument(in > never || without > never, "observe_signs",
                               "likelihood of the signs for record " + detail::to_text(i), 0.0,
                               "positive");
      return in - without;
    });
  }

  /// Log-likelihood ratios of any other release, one a record: log P(y | in, rest) − log P(y | out, rest).
  /// @throws std::invalid_argument unless there is one a record; std::domain_error for a NaN
  void observe_evidence(std::span<double const> ratios) {
    detail::check_size("observe_evidence", "number of ratios", ratios.size(), records());
    add([&](std::size_t i) {
      detail::require_domain(ratios[i] == ratios[i], "observe_evidence", "a ratio", ratios[i],
                             "a number");
      return ratios[i];
    });
  }

  /// What the attacker believes its success to be: max(π, 1−π) = 1/(1 + e^−|evidence|).
  /// @throws std::invalid_argument for a record beyond the last
  [[nodiscard]] double success(std::size_t record) const {
    detail::require_argument(record < records(), "informed_adversary", "record", record,
                             "below the number of records");
    return 1.0 / (1.0 + elementary::exp(-std::abs(evidence_[record])));
  }

  /// The same over all records: what these very releases gave away. One draw, and no bound.
  [[nodiscard]] posterior::exposure exposed() const {
    posterior::exposure out{0, 0.0, 0.0};
    for (std::size_t i = 0; i < records(); ++i) {
      double const here = success(i);
      if (here > out.worst) {
        out.worst = here;
        out.worst_record = i;
      }
      out.mean += here / static_cast<double>(records());
    }
    return out;
  }

  /// 1 for each record whose guess is right: in if its evidence is positive.
  /// @throws std::invalid_argument unless there is one flag a record; std::domain_error unless 0 or 1
  [[nodiscard]] std::vector<std::uint8_t> right_guesses(
      std::span<std::uint8_t const> inside) const {
    check_flags("right_guesses", inside);
    std::vector<std::uint8_t> right(records());
    for (std::size_t i = 0; i < records(); ++i) right[i] = (evidence_[i] > 0.0) == (inside[i] != 0);
    return right;
  }

 private:
  static constexpr double never = -std::numeric_limits<double>::infinity();

  static double mixed_logs(double with, double without, double rate) {
    return rate == 1.0 ? with
                       : log_add(elementary::log1p(-rate) + without, elementary::log(rate) + with);
  }
  static double mixed(double l, double rate) { return mixed_logs(l, 0.0, rate); }

  /// log P(t + N(0, σ²) > 0), a tie by half.
  static double log_chance(double t, double sigma) {
    if (sigma > 0.0) return log_normal_tail(-t / sigma);
    return t > 0.0 ? 0.0 : t < 0.0 ? never : elementary::log(0.5);
  }

  void check_flags(char const* function, std::span<std::uint8_t const> flags) const {
    detail::check_size(function, "number of flags", flags.size(), records());
    for (std::uint8_t const f : flags) {
      detail::require_domain(f <= 1, function, "flag", unsigned{f}, "0 or 1");
    }
  }

  void check(char const* function, std::span<double const> contributions,
             std::span<std::uint8_t const> flags, std::span<double const> numbers,
             double rate) const {
    detail::check_size(function, "number of contributions", contributions.size(),
                       records() * numbers.size());
    check_flags(function, flags);
    for (double const g : contributions) detail::check_finite(function, "contribution", g);
    for (double const x : numbers) detail::check_finite(function, "released number", x);
    detail::require_domain(rate > 0.0 && rate <= 1.0, function, "rate", rate, "in (0, 1]");
  }

  template <class Ratio>
  void add(Ratio const& ratio) {
    std::vector<double> next = evidence_;
    for (std::size_t i = 0; i < records(); ++i) {
      double const more = ratio(i);
      detail::require_domain(more == more, "informed_adversary", "a likelihood ratio", more,
                             "a number");
      // Once evidence is certain it stays: the opposite certainty could only come from rounding.
      if (std::isfinite(next[i])) next[i] += more;
    }
    evidence_ = std::move(next);
  }

  std::vector<double> evidence_;
};

}  // namespace tacit
