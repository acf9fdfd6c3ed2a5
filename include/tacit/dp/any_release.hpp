// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/coupled_profile.hpp>
#include <tacit/dp/grid/pairs.hpp>
#include <tacit/dp/grid/sketch.hpp>
#include <tacit/dp/mixture_profile.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

/// A lower end of a composition whose losses come in rare large jumps, in closed form.
///
/// With δᵢ the profile of one release, let Aᵢ be its best event at ε and pᵢ = Pᵢ(Aᵢ). Some Aᵢ happens under P with a probability
/// of at least S₁ − S₁²/2, S₁ = Σ pᵢ, and under Q of at most Σ Qᵢ(Aᵢ), so that
///   δ(ε) ≥ Σ δᵢ(ε) − (Σ pᵢ)²/2,   pᵢ ≤ δᵢ(ε′)/(1 − e^{ε′−ε}) for every ε′ < ε:
/// docs/certificates/grid.md, Lemma 19. It is near the truth where Σ pᵢ is small, and the sums may be over any of the releases.

namespace tacit::detail {

template <std::same_as<double> T = double>
class any_release {
 public:
  /// Of the pairs that have a profile in closed form (sums with normal or Laplace noise, sampled, of persons or in batches), up to
  /// `most_kinds` kinds, or others below them.
  explicit any_release(std::vector<counted_pair> const& pairs) {
    for (counted_pair const& one : pairs) {
      if (serves(one.pair)) kinds_.push_back(one);
    }
    std::size_t const all = kinds_.size();
    if (all > most_kinds) {
      for (std::size_t i = 0; i < most_kinds; ++i) {
        kinds_[i] = kinds_[i * (all - 1) / (most_kinds - 1)];
      }
      kinds_.resize(most_kinds);
    }
    for (counted_pair& one : kinds_) {
      if (auto* mixture = std::get_if<mixture_pair>(&one.pair)) {
        *mixture = lowered(std::move(*mixture));
        mixture->parts = fewer_parts(mixture->parts, most_parts, false);
      }
    }
  }

  /// Whether one release of it has a profile in closed form.
  [[nodiscard]] static bool serves(dominating_pair const& pair) { return terms_of(pair) > 0; }

  /// A lower end of what is asked, 0 where nothing is known, for what is left of `work` at most.
  [[nodiscard]] T lower(loss_query<T> query, work_budget& work) {
    // Where that is too much, every second kind.
    T const most = work.left() / (query.wants_epsilon ? 30.0 : 1.0);
    while (kinds_.size() > 1 && cost() > most) {
      std::size_t const half = (kinds_.size() + 1) / 2;
      for (std::size_t k = 1; k < half; ++k) kinds_[k] = std::move(kinds_[2 * k]);
      kinds_.resize(half);
    }
    if (kinds_.empty()) return 0.0;
    if (!query.wants_epsilon) return work.take(cost()) ? delta(query.value) : T(0.0);
    auto const exceeds = [&](T e) { return work.take(cost()) && delta(e) > query.value; };
    T low = 0.0;
    T high = 1.0;
    for (; high < 1e300 && exceeds(high); high *= 2.0) low = high;
    while (high - low > 1e-4 * high) {
      T const middle = 0.5 * (low + high);
      (exceeds(middle) ? low : high) = middle;
    }
    return low;
  }

 private:
  static constexpr std::size_t most_kinds = 64;
  static constexpr std::size_t most_parts = 256;

  // Of a δ, in counted nanoseconds.
  [[nodiscard]] T cost() const {
    T sum = 0.0;
    for (counted_pair const& one : kinds_) {
      T const each = std::holds_alternative<mixture_pair>(one.pair) ? 3e3 : 7e2;
      sum += each * static_cast<T>(terms_of(one.pair));
    }
    return sum;
  }

  struct share {
    T delta;  // a lower end of δᵢ(ε)
    T p;      // an upper end of pᵢ
    T count;
    T ratio = p > 0.0 ? delta / p : T(0.0);
  };
  [[nodiscard]] static share share_of(counted_pair const& one, T epsilon) {
    T const less = std::max(0.0, epsilon - 1.0);
    T const kept = epsilon > 0.0 ? (-expm1(enclosure(less) - epsilon)).lower : 0.0;
    auto const from = [&](T delta, T of_less) {
      T const p = kept > 0.0 ? std::min(1.0, divide_up(of_less, kept)) : 1.0;
      return share{delta, p, one.count};
    };
    auto const by = [&](auto const& profile) {
      return from(profile.delta(epsilon).lower, profile.delta(less).upper);
    };
    auto const* mixture = std::get_if<mixture_pair>(&one.pair);
    return mixture != nullptr ? by(mixture_profile<T>(*mixture))
                              : by(coupled_profile<T>(std::get<coupled_pair>(one.pair)));
  }

  // 0 of a pair that has no such profile.
  [[nodiscard]] static std::size_t terms_of(dominating_pair const& pair) {
    if (auto const* mixture = std::get_if<mixture_pair>(&pair)) return mixture->parts.size();
    auto const* coupled = std::get_if<coupled_pair>(&pair);
    if (coupled == nullptr) return 0;
    return (coupled->parts.size() + 1) * (coupled->parts.size() + 1);
  }

  [[nodiscard]] T delta(T epsilon) const {
    std::vector<share> shares;
    T best = 0.0;
    for (counted_pair const& one : kinds_) {
      shares.push_back(share_of(one, epsilon));
      best = std::max(best, shares.back().delta);  // of one release alone
    }
    std::sort(shares.begin(), shares.end(),
              [](share const& one, share const& other) { return one.ratio > other.ratio; });
    // One more release of a kind adds δᵢ − pᵢ·Σ p.
    enclosure gain = 0.0;
    enclosure all = 0.0;
    for (share const& one : shares) {
      T const room = (one.ratio - all.upper) / one.p;
      if (!(room >= 1.0)) continue;
      enclosure const n = std::floor(std::min(room, one.count));
      gain += n * one.delta;
      all += n * one.p;
    }
    return std::max(best, (gain - 0.5 * square(all)).lower);
  }

  std::vector<counted_pair> kinds_;
};

}  // namespace tacit::detail
