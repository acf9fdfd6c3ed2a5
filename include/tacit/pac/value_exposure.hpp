// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/info/noised_sign.hpp>
#include <tacit/pac/candidates.hpp>
#include <tacit/pac/posterior.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tacit {

/// A belief about every record and about one sign, ±1, that may be shown with Gaussian noise: what the
/// value tells about each record's membership, I(U_i; Y | past), exactly up to rounding.
///
/// Each record has four masses, of the subsets with and without it that have either sign. They are sums
/// of positive terms, so that what small masses decide is priced right as well.
class value_exposure {
 public:
  /// `slack` bounds the relative error of the masses in `belief`, of all that are above e⁻⁶⁴.
  /// @throws std::domain_error unless it is at least 0 and far below 1
  value_exposure(candidate_set const& candidates, posterior const& belief,
                 std::span<std::int8_t const> signs, double slack)
      : error_(slack + (16.0 + static_cast<double>(candidates.subsets()) / 64.0) *
                           std::numeric_limits<double>::epsilon()),
        joint_(candidates.records()) {
    detail::require_domain(error_ > 0.0 && error_ <= 1e-4 && slack >= 0.0, "value_exposure",
                           "slack", slack, "at least 0 and far below 1");
    split const agreement = belief.agreement(signs);
    plus_ = agreement.minority_positive ? agreement.minority : 1.0 - agreement.minority;
    minus_ = agreement.minority_positive ? 1.0 - agreement.minority : agreement.minority;
    auto const probabilities = belief.probabilities();
    detail::check_size("value_exposure", "number of subsets", candidates.subsets(), belief.size());
    std::vector<double> weight(signs.size());
    std::vector<double> sums(records());
    for (bool const positive : {true, false}) {
      for (std::size_t m = 0; m < signs.size(); ++m) {
        weight[m] = (signs[m] > 0) == positive ? probabilities[m] : 0.0;
      }
      candidates.membership_sums(weight, sums);
      auto const inside = positive ? &bit_and_sign::one_plus : &bit_and_sign::one_minus;
      for (std::size_t i = 0; i < records(); ++i) joint_[i].*inside = sums[i];
      candidates.absence_sums(weight, sums);
      auto const outside = positive ? &bit_and_sign::zero_plus : &bit_and_sign::zero_minus;
      for (std::size_t i = 0; i < records(); ++i) joint_[i].*outside = sums[i];
    }
  }

  [[nodiscard]] std::size_t records() const noexcept { return joint_.size(); }

  /// The sign as it is seen through N(0, σ²), for `information` about every record.
  /// @throws std::domain_error unless sigma ≥ 0
  [[nodiscard]] noised_sign through(double sigma) const { return {plus_, minus_, sigma}; }

  /// I(U_i; Y | past), in nats, of the value Y.
  /// Guarantee: upper bound, as close as `noised_sign::information`.
  [[nodiscard]] double information(std::size_t record, noised_sign const& seen) const {
    return seen.information(joint_[record], error_);
  }

  /// The least σ ≥ `least` for which no record's information exceeds its allowance; +∞ where a record
  /// has none.
  /// Guarantee: feasible end; some record's information at it is its allowance less 10⁻¹⁰ relative, or it
  /// is `least`.
  /// @throws std::domain_error for a NaN; std::invalid_argument unless there is one allowance a record
  [[nodiscard]] double sigma_for(std::span<double const> allowance, double least) const {
    detail::check_size("sigma_for", "size of allowance", allowance.size(), records());
    detail::require_domain(least >= 0.0, "sigma_for", "least", least, "at least 0");
    std::vector<std::size_t> open;
    for (double const a : allowance) {
      detail::require_domain(a == a, "sigma_for", "allowance", a, "a number");
      if (!(a > 0.0)) return std::numeric_limits<double>::infinity();
      open.push_back(open.size());
    }
    // More noise tells less: who has room will have it, and who is near is looked at again, since
    // rounding moves prices. Each round solves for the record that is furthest over.
    double sigma = least;
    for (;;) {
      noised_sign const seen = through(sigma);
      std::vector<std::size_t> tight;
      double most = 1.0;
      std::size_t worst = 0;
      for (std::size_t const i : open) {
        double const ratio = information(i, seen) / allowance[i];
        if (ratio > 0.99) tight.push_back(i);
        if (ratio > most) {
          most = ratio;
          worst = i;
        }
      }
      if (most == 1.0) break;
      sigma = enough_noise(worst, allowance[worst] * (1.0 - 1e-11), sigma);
      open = std::move(tight);
    }
    return sigma;
  }

 private:
  /// A σ at which one record's information is within `allowance`, which it is not at `sigma`.
  [[nodiscard]] double enough_noise(std::size_t record, double allowance, double sigma) const {
    auto const excess = [&](double log_sigma) {
      double const priced = information(record, through(elementary::exp(log_sigma)));
      double const over = elementary::log(priced / allowance);
      return priced > allowance ? over : std::min(over, -1e-300);
    };
    double const low = elementary::log(std::max(sigma, 0.1));  // below it is as good as none
    double const at_low = excess(low);
    if (!(at_low > 0.0)) return elementary::exp(low) * (1.0 + 1e-11);
    // A price is at most I(U;S)/σ², and that is at most the price without noise.
    double const bare = information(record, through(0.0));
    double high = std::max(0.5 * elementary::log(bare / allowance), low) + 1e-9;
    double at_high = excess(high);
    for (; at_high > 0.0; at_high = excess(high)) high += 0.1;
    return elementary::exp(detail::sign_change({low, high}, at_low, at_high, excess).high);
  }

  double error_;
  double plus_ = 0.0;
  double minus_ = 0.0;
  std::vector<bit_and_sign> joint_;
};

}  // namespace tacit
