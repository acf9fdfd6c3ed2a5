// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/averaged_profile.hpp>
#include <tacit/dp/grid/pairs.hpp>
#include <tacit/dp/grid/plan.hpp>
#include <tacit/dp/grid/prepare.hpp>
#include <tacit/dp/grid/sketch.hpp>
#include <tacit/dp/grid/tail.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rays/answer.hpp>
#include <tacit/dp/rays/real_profile.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

/// Sampled Gaussians of little noise, whose losses jump, beside losses of any other kind, in the direction `remove`.
///
/// With A the rare jumps and B all else,
///
///   δ_{A∘B}(ε) = P_B(ℓ = ∞) + Σ_ℓ P_B(ℓ)·δ_A(ε − ℓ).
///
/// A grid alone carries the jumps together with all that is not one: where they make a δ that is a small part of the
/// tilted masses, its rounding is a large part of that δ. Here rays know δ_A to many digits, and the grid has B alone.
/// docs/certificates/grid.md, Lemma 17.

namespace tacit::detail {

/// Which sampled Gaussians rays take: all that jump, or those that do so seldom and far.
enum class jumps_taken { all, rare };

template <std::same_as<double> T = double>
class jumps_beside {
 public:
  /// Nothing unless `pairs` have both.
  [[nodiscard]] static std::optional<jumps_beside> of(std::span<counted_pair const> pairs,
                                                      jumps_taken taken) {
    jumps_beside out;
    bool large = false;  // is any of their losses within nine deviations
    for (counted_pair const& c : pairs) {
      auto const* mixture = std::get_if<mixture_pair>(&c.pair);
      if (mixture != nullptr && is_taken(*mixture, taken)) {
        mixture_pair::part const& part = mixture->parts.front();
        out.jumps_.events.push_back({part.weight, part.shift, c.count});
        large = large || log_loss(part) > -4.0;
      } else {
        out.others_.push_back(c);
      }
    }
    std::size_t const kinds = out.jumps_.events.size();
    if (!large || kinds > most_kinds || out.others_.empty()) return std::nullopt;
    if (!rays::affordable(out.jumps_)) return std::nullopt;
    return out;
  }

  /// How many different laws rays take.
  [[nodiscard]] std::size_t kinds() const { return jumps_.events.size(); }

  /// ε(δ) or δ(ε). Guarantee: lower ≤ truth ≤ upper. Nothing where the rays, or a grid for the others, have no answer.
  [[nodiscard]] std::optional<bound<T>> answer(loss_query<T> query, work_budget& work) const {
    if (!query.wants_epsilon) return delta(query.value, work);
    T const log_delta = elementary::log(query.value);
    auto const alone = rays::epsilon<T>(jumps_, orientation::remove, log_delta, T{0}, work);
    if (!alone) return std::nullopt;
    T start = std::max(alone->upper, 1e-3);
    rays::real_profile<T> profile(jumps_);
    // A coarse grid first: it tells for about which ε the fine one is to be, and whether that will take too long.
    T const enough = 0.6 * work.left();
    T aim = fine;
    for (int round = 0; round < 4 && !work.ended(); ++round) {
      if (round > 0 && !work.allows(round == 1 ? enough : 0.0)) return std::nullopt;
      std::optional<averaged_profile<T>> mean =
          averaged_near(profile, log_delta, start, round == 0 ? coarse : aim, work);
      if (!mean) return std::nullopt;
      if (round == 0) start = std::max(start, mean->others_epsilon(log_delta));
      T const before = start;
      if (!mean->approach(log_delta, start, work)) return std::nullopt;
      // Where δ falls fast, more of it may be lost for ε to be as narrow.
      aim = std::clamp(3e-10 * std::max(T{1}, start) * mean->fall(), fine, 1e3 * fine);
      if (round > 0 && std::abs(start - before) * (1.0 + mean->tilt()) < 1.0) {
        return query.epsilon_by(
            [&](T delta) { return mean->epsilon(elementary::log(delta), start, work); });
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t most_kinds = 8;
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static constexpr T coarse = 1e-3;  // of log δ, what a grid is to lose
  static constexpr T fine = 1e-8;

  // A step's loss jumps where the ratio of two of its deviations is not near 1. Rare: seldom a loss to speak of, and one within
  // nine deviations.
  [[nodiscard]] static bool is_taken(mixture_pair const& pair, jumps_taken taken) {
    if (pair.orientation != orientation::remove || pair.parts.size() != 1) return false;
    mixture_pair::part const& part = pair.parts.front();
    if (taken == jumps_taken::all) return part.shift > 0.2;
    return part.weight < 0.02 && log_loss(part) > -2.0;
  }
  // Of the loss at nine deviations, about.
  [[nodiscard]] static T log_loss(mixture_pair::part const& part) {
    return elementary::log(part.weight) + 9.0 * part.shift;
  }

  [[nodiscard]] std::optional<bound<T>> delta(T epsilon, work_budget& work) const {
    rays::real_profile<T> profile(jumps_);
    // What may be left out of the others depends on how small δ is: at least as large as that of the jumps alone, about.
    if (!profile.ask(epsilon, work)) return std::nullopt;
    T const log_delta = profile.at({epsilon}, work).upper.front();
    std::optional<averaged_profile<T>> mean =
        averaged_near(profile, log_delta, epsilon, fine, work);
    return mean ? mean->delta(epsilon, work) : std::nullopt;
  }

  // The others on a grid, tilted as suits an ε at which the jumps alone make about that δ.
  [[nodiscard]] std::optional<averaged_profile<T>> averaged_near(rays::real_profile<T>& profile,
                                                                 T log_delta, T epsilon, T aim,
                                                                 work_budget& work) const {
    constexpr T reach = 38.0;  // beyond it there is next to nothing, of a small part too
    prepared_laws<T> laws(others_, log_delta);
    (void)work.spend(laws.cost());
    if (!laws.usable()) return std::nullopt;
    bound<T> range{0.0, 0.0};  // of their losses, about
    for (loss_law<T> const& law : laws.laws()) {
      range.lower += law.count * law.low;
      range.upper += law.count * law.high;
    }
    // The tilt with which the others' errors matter least: that of the largest e^{θ(ε−ℓ)}δ_A(ε − ℓ)·E[e^{θ·loss}].
    if (profile.may_ask(epsilon, 0.0)) (void)profile.ask(epsilon, work);
    T tilt = 0.0;
    T least = infinity;
    for (T t = 0.5; t < 1e5; t *= 1.5) {
      T const here = profile.log_largest(t, epsilon - range.upper, epsilon - range.lower, work) -
                     t * epsilon + cumulants_at<T>(laws.sketches(), t).value;
      if (!(here < least + 2.0) || work.ended()) break;
      if (here < least) {
        least = here;
        tilt = t;
      }
    }
    if (!(tilt > 0.0)) return std::nullopt;
    (void)work.spend(laws.cut(tilt));
    std::optional<certified_tail<T>> tail = work.within(0.4 * work.left(), [&](work_budget& own) {
      grid_composition<T> const grid(laws.laws(), laws.sketches(), tilt, own, reach);
      std::optional<certified_tail<T>> on_lattice = grid.exact();
      return on_lattice ? on_lattice : grid.on_grid(aim);
    });
    if (!tail) return std::nullopt;
    T const nodes =
        static_cast<T>(2 * tail->above.law().mass.size() + tail->below.law().mass.size());
    if (!work.take(120.0 * nodes)) return std::nullopt;  // to list them
    tail->lower_holds = tail->lower_holds && laws.lower_holds();
    return averaged_profile<T>(profile, std::move(*tail), aim);
  }

  rays::composition jumps_;
  std::vector<counted_pair> others_;
};

}  // namespace tacit::detail
