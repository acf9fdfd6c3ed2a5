// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/info/noised_sign.hpp>
#include <tacit/info/sign_channel.hpp>
#include <tacit/pac/candidates.hpp>
#include <tacit/pac/posterior.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// What a release tells about the memberships of several records together: of a family, or of all records of one
/// account. A ledger of single records says nothing about U₁ ⊕ U₂, which can be public while U₁ and U₂ are both secret.
///
/// U_G, the memberships of a group's records, has as many states as there are different rows of bits among the
/// candidates. Given the past, a release Y of a sign depends on U_G through the masses P(U_G = s, S = ±1), and
/// I(U_G; Y | past) follows from them. By the chain rule the sums over releases bound I(U_G; transcript): a
/// `record_ledger` with one account for each group keeps them within a budget.

namespace tacit {

/// Groups of records that were declared before the first release, and the state of each in each candidate subset.
template <std::same_as<candidate_set> Candidates = candidate_set>
class basic_record_groups {
 public:
  /// @throws std::invalid_argument unless there is a group and each has records of the set, all of them different
  basic_record_groups(Candidates const& candidates,
                      std::vector<std::vector<std::size_t>> const& groups)
      : subsets_(candidates.subsets()) {
    detail::require_argument(!groups.empty(), "record_groups", "number of groups", groups.size(),
                             "at least 1");
    groups_.reserve(groups.size());
    for (std::vector<std::size_t> const& records : groups) {
      groups_.push_back(states_of(candidates, records));
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return groups_.size(); }
  [[nodiscard]] std::size_t subsets() const noexcept { return subsets_; }
  /// How many different memberships the records of a group have among the candidates.
  [[nodiscard]] std::size_t states(std::size_t group) const { return groups_.at(group).count; }
  /// Which of them the group has in each subset.
  [[nodiscard]] std::span<std::uint32_t const> state(std::size_t group) const {
    return groups_.at(group).of_subset;
  }

 private:
  struct labelled {
    std::size_t count;
    std::vector<std::uint32_t> of_subset;
  };

  static labelled states_of(Candidates const& candidates, std::vector<std::size_t> const& records) {
    detail::require_argument(!records.empty(), "record_groups", "records of a group",
                             records.size(), "at least 1");
    std::vector<std::size_t> sorted = records;
    std::sort(sorted.begin(), sorted.end());
    bool const twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    detail::require_argument(!twice && sorted.back() < candidates.records(), "record_groups",
                             "record", sorted.back(),
                             "below the number of records, and once in a group");
    // Record by record, the subsets of a state part into those with the record and those without it.
    labelled out{1, std::vector<std::uint32_t>(candidates.subsets(), 0)};
    for (std::size_t const i : records) {
      constexpr std::uint32_t unseen = std::numeric_limits<std::uint32_t>::max();
      std::vector<std::uint32_t> part(2 * out.count, unseen);
      std::uint32_t parts = 0;
      for (std::size_t m = 0; m < candidates.subsets(); ++m) {
        std::uint32_t& now = part[2 * out.of_subset[m] + (candidates.contains(m, i) ? 1 : 0)];
        if (now == unseen) now = parts++;
        out.of_subset[m] = now;
      }
      out.count = parts;
    }
    return out;
  }

  std::size_t subsets_;
  std::vector<labelled> groups_;
};
using record_groups = basic_record_groups<>;

/// A belief about every group and about one sign, ±1, that may be released flipped or with Gaussian noise: what the
/// release tells about each group's memberships.
template <std::same_as<record_groups> Groups = record_groups>
class basic_group_exposure {
 public:
  /// `slack` bounds the relative error of the masses in `belief`, of all that are above e⁻⁶⁴.
  /// @throws std::invalid_argument unless there is a sign for each subset; std::domain_error unless `slack` is at
  ///         least 0 and far below 1
  basic_group_exposure(Groups const& groups, posterior const& belief,
                       std::span<std::int8_t const> signs, double slack)
      : error_(slack + (16.0 + static_cast<double>(groups.subsets())) *
                           std::numeric_limits<double>::epsilon()) {
    detail::require_domain(error_ <= 1e-4 && slack >= 0.0, "group_exposure", "slack", slack,
                           "at least 0 and far below 1");
    detail::check_size("group_exposure", "number of signs", signs.size(), groups.subsets());
    detail::check_size("group_exposure", "number of subsets", groups.subsets(), belief.size());
    auto const probabilities = belief.probabilities();
    groups_.reserve(groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<by_sign> masses(groups.states(g));
      std::span<std::uint32_t const> const state = groups.state(g);
      for (std::size_t m = 0; m < signs.size(); ++m) {
        by_sign& mass = masses[state[m]];
        (signs[m] > 0 ? mass.plus : mass.minus) += probabilities[m];
      }
      groups_.push_back(std::move(masses));
    }
  }

  [[nodiscard]] std::size_t groups() const noexcept { return groups_.size(); }

  /// I(U_G; Y | past), in nats, of the sign released through `noise`:
  /// Σ_{s,y} P(s)P(y)·ψ(P(s, y)/(P(s)P(y)) − 1), ψ(x) = (1 + x) log(1 + x) − x.
  /// Guarantee: upper bound, within 1e-11 of it and 1e-12 of its root, and what `slack` adds.
  [[nodiscard]] double information(std::size_t group, flip const& noise) const {
    double const e = noise.probability();
    if (noise.correlation() == 0.0) return 0.0;
    std::vector<by_sign> const& masses = groups_.at(group);
    by_sign const sign = total(masses);
    by_sign const seen{(1.0 - e) * sign.plus + e * sign.minus,
                       (1.0 - e) * sign.minus + e * sign.plus};
    double const all = seen.plus + seen.minus;
    double sum = 0.0;
    auto const add = [&](double joint, double one, double other) {
      double const apart = one * (other / all);
      if (apart > 0.0) sum += apart * entropy_residual(std::max(joint / apart - 1.0, -1.0));
    };
    for (by_sign const& mass : masses) {
      double const state = mass.plus + mass.minus;
      add((1.0 - e) * mass.plus + e * mass.minus, state, seen.plus);
      add((1.0 - e) * mass.minus + e * mass.plus, state, seen.minus);
    }
    // Lemmas 15 and 24 of docs/certificates/pac.md: errors of the masses, and 4e-13 for what the ratios round.
    double const off = 3.1 * error_ + 4e-13;
    return sum * (1.0 + 2e-12) + 1.04 * off * (sum + std::sqrt(2.0 * sum)) + 53.0 * off * off;
  }

  /// The same of the sign plus N(0, σ²). States are told apart one by one: by the chain rule
  /// I(U_G; Y) = Σ_j P(U_G ∉ {1, …, j−1})·I([U_G = j]; Y | U_G ∉ {1, …, j−1}).
  /// Guarantee: upper bound, as close as `noised_sign::information`.
  [[nodiscard]] double information(std::size_t group, double sigma) const {
    std::vector<by_sign> const& masses = groups_.at(group);
    std::vector<by_sign> left(masses.size() + 1);
    for (std::size_t j = masses.size(); j-- > 0;) left[j] = left[j + 1] + masses[j];
    double sum = 0.0;
    for (std::size_t j = 0; j + 1 < masses.size(); ++j) {
      double const all = left[j].plus + left[j].minus;
      bool const decided = !(masses[j].plus + masses[j].minus > 0.0) ||
                           !(left[j + 1].plus + left[j + 1].minus > 0.0);
      if (decided) continue;
      noised_sign const seen(left[j].plus / all, left[j].minus / all, sigma);
      bit_and_sign const law{masses[j].plus / all, masses[j].minus / all, left[j + 1].plus / all,
                             left[j + 1].minus / all};
      sum += all * seen.information(law, error_);
    }
    double const roundings =
        (4.0 * static_cast<double>(masses.size()) + 16.0) * std::numeric_limits<double>::epsilon();
    return sum * (1.0 + roundings + 2.0 * error_);
  }

  /// The largest correlation ≤ `most` for which no group's information exceeds its allowance.
  /// Guarantee: feasible end, within 2e-9 relative of the largest; a fair coin where a group has none.
  /// @throws std::domain_error for a NaN; std::invalid_argument unless there is one allowance a group
  [[nodiscard]] flip flip_for(std::span<double const> allowance, flip const& most) const {
    check_allowances("flip_for", allowance);
    detail::check_probability("flip_for", "correlation", most.correlation());
    double rho = most.correlation();
    keep_all([&](std::size_t g) {
      auto const fits = [&](double x) {
        return information(g, flip::with_correlation(x)) <= allowance[g];
      };
      if (rho == 0.0 || fits(rho)) return true;
      rho = last_holding(0.0, rho, fits) * (1.0 - 1e-9);
      return false;
    });
    return rho == most.correlation() ? most : flip::with_correlation(rho);
  }

  /// The least σ ≥ `least` for which no group's information exceeds its allowance; +∞ where a group has none.
  /// Guarantee: feasible end, within 2e-9 relative of the least.
  /// @throws as `flip_for`; std::domain_error unless `least` is at least 0
  [[nodiscard]] double sigma_for(std::span<double const> allowance, double least) const {
    check_allowances("sigma_for", allowance);
    detail::require_domain(least >= 0.0, "sigma_for", "least", least, "at least 0");
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double sigma = least;
    keep_all([&](std::size_t g) {
      auto const fits = [&](double x) { return information(g, x) <= allowance[g]; };
      if (sigma == infinity || fits(sigma)) return true;
      double high = std::max(2.0 * sigma, 1.0);
      while (high < 1e100 && !fits(high)) high *= 4.0;
      sigma = high < 1e100 ? last_holding(high, sigma, fits) * (1.0 + 1e-9) : infinity;
      return false;
    });
    return sigma;
  }

 private:
  struct by_sign {
    double plus = 0.0;
    double minus = 0.0;
    friend by_sign operator+(by_sign const& a, by_sign const& b) {
      return {a.plus + b.plus, a.minus + b.minus};
    }
  };

  static by_sign total(std::vector<by_sign> const& masses) {
    by_sign sum;
    for (by_sign const& mass : masses) sum = sum + mass;
    return sum;
  }

  // Asks group after group to `keep` within its allowance, until each has been found there. What one changes may
  // round the information of another to the wrong side, so that they are asked again.
  template <class Keep>
  void keep_all(Keep&& keep) const {
    std::size_t kept = 0;
    for (std::size_t g = 0; kept < groups(); g = (g + 1) % groups()) kept = keep(g) ? kept + 1 : 0;
  }

  void check_allowances(char const* who, std::span<double const> allowance) const {
    detail::check_size(who, "size of allowance", allowance.size(), groups());
    for (double const a : allowance) {
      detail::require_domain(a == a, who, "allowance", a, "a number");
    }
  }

  double error_;
  std::vector<std::vector<by_sign>> groups_;  // the states' masses
};
using group_exposure = basic_group_exposure<>;

}  // namespace tacit
