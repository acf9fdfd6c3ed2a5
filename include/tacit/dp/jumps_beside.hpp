// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/grid/compose.hpp>
#include <tacit/dp/grid/measure.hpp>
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
    for (counted_pair const& c : pairs) {
      auto const* mixture = std::get_if<mixture_pair>(&c.pair);
      if (mixture != nullptr && is_taken(*mixture, taken)) {
        mixture_pair::part const& part = mixture->parts.front();
        out.jumps_.events.push_back({part.weight, part.shift, c.count});
      } else {
        out.others_.push_back(c);
      }
    }
    std::size_t const kinds = out.jumps_.events.size();
    if (kinds == 0 || kinds > most_kinds || out.others_.empty()) return std::nullopt;
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
    for (int round = 0; round < 4 && !work.ended(); ++round) {
      if (round > 0 && !work.allows(round == 1 ? enough : 0.0)) return std::nullopt;
      std::optional<average> mean =
          average_near(profile, log_delta, start, round == 0 ? coarse : fine, work);
      if (!mean) return std::nullopt;
      T const before = start;
      if (!mean->approach(log_delta, start, work)) return std::nullopt;
      if (round > 0 && std::abs(start - before) * (1.0 + mean->tilt()) < 1.0) {
        return mean->epsilon(log_delta, start, work);
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
    auto const [weight, shift] = pair.parts.front();
    if (taken == jumps_taken::all) return shift > 0.2;
    return weight < 0.02 && elementary::log(weight) + 9.0 * shift > -2.0;
  }

  // Losses, rising, and what of P has them.
  struct listed_losses {
    std::vector<T> loss;
    std::vector<T> log_p;
  };

  // Of a measure's nodes at most about so many losses. Between two that are kept, P's mass goes to both, the mean of the
  // likelihood ratio kept: above; or all of a stretch to its mean: below. Stretches are short where `need` is large.
  template <class Need>
  [[nodiscard]] static listed_losses listed(tilted_tail<T> const& tail, rounding_side side,
                                            std::size_t most, Need&& need) {
    measure<T> const& law = tail.law();
    std::vector<std::size_t> nodes;  // that have mass
    for (std::size_t k = 0; k < law.mass.size(); ++k) {
      if (law.mass[k] > 0.0) nodes.push_back(k);
    }
    std::size_t const n = nodes.size();
    auto const loss = [&](std::size_t i) {
      return tail.first() + tail.step() * static_cast<T>(nodes[i]);
    };
    std::vector<T> needs;
    for (std::size_t const k : nodes) needs.push_back(need(k));
    std::vector<std::size_t> const ends = stretches(needs, most);
    bool const up = side == rounding_side::above;
    listed_losses out;
    std::vector<T> p(ends.size(), 0.0);
    for (std::size_t j = 0; j < ends.size(); ++j) {
      T const start = loss(ends[j]);
      out.loss.push_back(start);
      std::size_t const next = j + 1 < ends.size() ? ends[j + 1] : n;
      T const width = next < n ? loss(next) - start : 1.0;
      T reverse = 0.0;  // Q's mass of the stretch, times the ratio at its start
      for (std::size_t i = ends[j]; i < next; ++i) {
        T const here = elementary::exp(elementary::log(law.mass[nodes[i]]) + law.log_norm -
                                       tail.tilt() * loss(i));
        T const away = tail.step() * static_cast<T>(nodes[i] - nodes[ends[j]]);
        if (up && i > ends[j]) {
          T const whole = elementary::expm1(-width);
          p[j] += here * elementary::exp(-away) * elementary::expm1(away - width) / whole;
          p[j + 1] += here * elementary::expm1(-away) / whole;
        } else {
          p[j] += here;
          reverse += here * elementary::exp(-away);
        }
      }
      // What is left of Q's mass by underflow would raise the loss: then all stays at the start.
      if (!up && reverse > 1e-290) {
        T const terms = static_cast<T>(next - ends[j]);
        out.loss[j] -= elementary::log(reverse / p[j]) + unit_roundoff * (2.0 * terms + 32.0);
      }
    }
    for (std::size_t j = ends.size(); j-- > 1;) {
      out.loss[j - 1] = std::min(out.loss[j - 1], out.loss[j]);
    }
    // Sums of positive terms, of no more than two stretches each; a mass has a logarithm of at least −461.
    T const farthest = std::max(std::abs(tail.first()), std::abs(tail.last()));
    T const wear =
        4.0 * static_cast<T>(n) + 2000.0 + 4.0 * (std::abs(law.log_norm) + tail.tilt() * farthest);
    for (T const mass : p) {
      out.log_p.push_back(elementary::log(mass) + (up ? 1.0 : -1.0) * unit_roundoff * wear);
    }
    return out;
  }

  // The first node of each stretch: all of them if they are no more than `most`.
  [[nodiscard]] static std::vector<std::size_t> stretches(std::vector<T> const& needs,
                                                          std::size_t most) {
    T whole = 0.0;
    for (T const need : needs) whole += need;
    std::vector<std::size_t> ends{0};
    T sum = 0.0;
    for (std::size_t i = 0; i + 1 < needs.size(); ++i) {
      sum += needs[i];
      T const share = static_cast<T>(ends.size()) / static_cast<T>(most);
      if (needs.size() <= most || sum >= whole * share) ends.push_back(i + 1);
    }
    if (ends.back() + 1 < needs.size()) ends.push_back(needs.size() - 1);
    return ends;
  }

  // Of a density the stretches that lose the least have its third root: about that of the tilted masses, where no more is
  // known of δ_A.
  [[nodiscard]] static std::vector<T> roots_of(measure<T> const& law) {
    T const largest = *std::max_element(law.mass.begin(), law.mass.end());
    std::vector<T> out;
    for (T const mass : law.mass) {
      T const root = std::sqrt(std::sqrt(mass / largest + 1e-18));
      out.push_back(root * std::sqrt(std::sqrt(root)));
    }
    return out;
  }

  // The sum over ℓ, near some ε.
  class average {
   public:
    average(rays::real_profile<T>& jumps, certified_tail<T> others, T close)
        : jumps_(&jumps), others_(std::move(others)), close_(close) {
      std::vector<T> const roots = roots_of(others_.above.law());
      few_ = listed(others_.above, rounding_side::above, losses_to_approach,
                    [&](std::size_t k) { return roots[k]; });
    }

    [[nodiscard]] T tilt() const { return others_.above.tilt(); }

    [[nodiscard]] std::optional<bound<T>> delta(T epsilon, work_budget& work) {
      (void)known_part(epsilon, few_, rounding_side::above,
                       work);  // asks for rays where they matter
      list_for(epsilon, work);
      T const aside = this->aside(epsilon);
      T const lower = sum(epsilon, aside, below_, rounding_side::below, work);
      T const upper = sum(epsilon, aside, above_, rounding_side::above, work);
      if (!(lower > 0.0)) return std::nullopt;
      return bound<T>{lower, upper};
    }

    // Moves ε to about where log δ(ε) is.
    [[nodiscard]] bool approach(T log_delta, T& epsilon, work_budget& work) {
      auto const miss = [&](T e) {
        return elementary::log(known_part(e, few_, rounding_side::above, work)) - log_delta;
      };
      // Secants of log δ, which falls: short ones first, for far out rays are dear. Errors are left out: those of a coarse grid
      // may be large, and an ε is all that is wanted of it.
      T at = miss(epsilon);
      slope_ = -(1.0 + tilt());
      T farthest = 0.1 / (1.0 + tilt());
      for (int round = 0; round < 32 && !(std::abs(at) < 1e-6); ++round) {
        T const next = std::max(0.5 * epsilon, epsilon + std::min(-at / slope_, farthest));
        T const there = miss(next);
        if (!(std::abs(there) < infinity) || next < 1e-12 || work.ended()) return false;
        if (next != epsilon && there != at) slope_ = (there - at) / (next - epsilon);
        if (!(slope_ < 0.0)) return false;
        farthest = 4.0 * std::abs(next - epsilon);
        epsilon = next;
        at = there;
      }
      return std::abs(at) < 1.0;
    }

    // Near the ε that was approached.
    [[nodiscard]] std::optional<bound<T>> epsilon(T log_delta, T about, work_budget& work) {
      list_for(about, work);
      T const farthest = 4.0 * about + 1.0;
      T const aside = this->aside(farthest);
      T const rounded = 16.0 * unit_roundoff * (1.0 + std::abs(log_delta));
      // An end by secants, to where its bound holds by a little.
      T slope = slope_;
      auto const end = [&](listed_losses const& losses, rounding_side side,
                           T from) -> std::optional<T> {
        T const sign = side == rounding_side::above ? 1.0 : -1.0;
        auto const miss = [&](T e) {
          return elementary::log(sum(e, aside, losses, side, work)) - log_delta + sign * rounded;
        };
        T e = from;
        T at = miss(e);
        std::optional<T> best;  // where it holds, the nearest so far
        T little = 1e-11;
        for (int round = 0; round < 12 && std::abs(at) < infinity && !work.ended(); ++round) {
          if (sign * at <= 0.0) best = e;
          if (sign * at <= 0.0 && sign * at > -8.0 * little) break;
          // Not too near at first: then it holds there, and is had if the work should end.
          T const margin = std::max(little, 1e-3 * std::abs(at));
          T const next = e - (at + sign * margin) / slope;
          T const there = miss(next);
          if (next != e && (there - at) / (next - e) < 0.0) slope = (there - at) / (next - e);
          e = next;
          at = there;
          little *= 2.0;
        }
        if (sign * at <= 0.0) best = e;
        return best && *best <= farthest ? best : std::nullopt;
      };
      std::optional<T> const upper = end(above_, rounding_side::above, about);
      if (!upper) return std::nullopt;
      std::optional<T> const lower = end(below_, rounding_side::below, *upper);
      return bound<T>{std::max(0.0, lower.value_or(0.0)), std::max(0.0, *upper)};
    }

   private:
    static constexpr std::size_t most_losses = 768;
    static constexpr std::size_t losses_to_approach = 96;
    static constexpr int asked_at_once = 16;

    // The losses for sums near ε, where rays have been asked: short stretches where δ_A(ε − ℓ) bends, too.
    void list_for(T epsilon, work_budget& work) {
      above_ = listed_for(epsilon, others_.above, rounding_side::above, work);
      below_ = listed_for(epsilon, others_.below, rounding_side::below, work);
    }
    [[nodiscard]] listed_losses listed_for(T epsilon, tilted_tail<T> const& others,
                                           rounding_side side, work_budget& work) const {
      measure<T> const& law = others.law();
      std::vector<T> const roots = roots_of(law);
      std::size_t first = 0;
      std::size_t last = law.mass.size() - 1;
      while (first < last && !(roots[first] > 2e-6)) ++first;
      while (first < last && !(roots[last] > 2e-6)) --last;
      // δ_A over these nodes' losses, and how it bends.
      constexpr std::size_t mesh = 192;
      T const spacing = static_cast<T>(last - first + 1) / static_cast<T>(mesh);
      T const width = others.step() * spacing;
      std::vector<T> at;
      for (std::size_t j = 0; j <= mesh; ++j) {
        at.push_back(epsilon - others.first() - others.step() * static_cast<T>(first) -
                     width * static_cast<T>(j));
      }
      std::vector<T> delta;
      for (T const log_delta : jumps_->at(at, work).upper)
        delta.push_back(elementary::exp(log_delta));
      std::vector<T> bend = delta;
      for (std::size_t j = 1; j < mesh; ++j) {
        bend[j] += std::max(0.0, delta[j - 1] - 2.0 * delta[j] + delta[j + 1]) / (width * width);
      }
      std::vector<T> needs(law.mass.size(), 0.0);
      T whole = 0.0;
      T whole_roots = 0.0;
      for (std::size_t k = first; k <= last; ++k) {
        auto const j = static_cast<std::size_t>(static_cast<T>(k - first) / spacing + 0.5);
        needs[k] =
            std::cbrt(law.mass[k] * bend[std::min(j, mesh)]) *
            elementary::exp(-others.tilt() * others.step() * static_cast<T>(k - first) / 3.0);
        whole += needs[k];
        whole_roots += roots[k];
      }
      T const share = whole > 0.0 ? 4.0 * whole_roots / whole : 0.0;
      return listed(others, side, most_losses,
                    [&](std::size_t k) { return roots[k] + share * needs[k]; });
    }

    // By how much ε is moved to the safe side.
    [[nodiscard]] T aside(T epsilon) const {
      T const farthest =
          std::abs(epsilon) + std::abs(others_.range.lower) + std::abs(others_.range.upper);
      return std::max(others_.above.shift(), others_.below.shift()) + jumps_->aside(farthest) +
             16.0 * unit_roundoff * (1.0 + farthest);
    }

    // δ(ε) at most, or at least, where losses and ε are known to `aside` together.
    [[nodiscard]] T sum(T epsilon, T aside, listed_losses const& losses, rounding_side side,
                        work_budget& work) {
      bool const up = side == rounding_side::above;
      tilted_tail<T> const& others = up ? others_.above : others_.below;
      if (!up && !others_.lower_holds) return 0.0;
      T const known = known_part(up ? epsilon - aside : epsilon + aside, losses, side, work);
      T const infinite = up ? others_.infinite_above : others_.infinite_below;
      T const off = error(epsilon, aside, others, work);
      T const rounded = 2.0 * unit_roundoff * static_cast<T>(losses.loss.size() + 8);
      if (up) return std::min(1.0, (known + off + infinite) * (1.0 + rounded));
      return std::max(0.0, (known + infinite) * (1.0 - rounded) - off);
    }

    // Σ P_B(ℓ)·δ_A(ε − ℓ) over these losses, by an end of each δ_A. Asks for rays until that end is near the other.
    [[nodiscard]] T known_part(T epsilon, listed_losses const& losses, rounding_side side,
                               work_budget& work) {
      bool const up = side == rounding_side::above;
      std::size_t const n = losses.loss.size();
      std::vector<T> at(n);
      for (std::size_t k = 0; k < n; ++k) at[k] = epsilon - losses.loss[k];
      // What each loss leaves open, and where that is much.
      std::vector<std::pair<T, std::size_t>> wide;
      for (;;) {
        auto const known = jumps_->at(at, work);
        T total = 0.0;
        T open = 0.0;  // how far the ends are apart
        wide.clear();
        for (std::size_t k = 0; k < n; ++k) {
          T const log_p = losses.log_p[k];
          if (!(log_p > -infinity)) continue;
          T const used = up ? known.upper[k] : known.lower[k];
          T const wear = 16.0 + 4.0 * (std::abs(log_p) + std::abs(used));
          T const off = jumps_->blur() + unit_roundoff * wear;
          total += elementary::exp(log_p + used + (up ? off : -off));
          T const apart =
              elementary::exp(log_p + known.upper[k]) - elementary::exp(log_p + known.lower[k]);
          open += apart;
          wide.emplace_back(apart, k);
        }
        if (!(open > close_ * total && ask_where(wide, at, close_ * total, work))) return total;
      }
    }

    // Asks for rays at the ε that leave most open, but for `close` together. Whether there are any more.
    [[nodiscard]] bool ask_where(std::vector<std::pair<T, std::size_t>>& wide,
                                 std::vector<T> const& at, T close, work_budget& work) {
      std::sort(wide.begin(), wide.end(),
                [](auto const& a, auto const& b) { return a.first > b.first; });
      T const enough = close / static_cast<T>(wide.size());
      int asked = 0;
      for (auto const& [apart, k] : wide) {
        if (asked == asked_at_once || !(apart > enough) || work.ended()) break;
        if (!jumps_->may_ask(at[k], 0.05 / (1.0 + tilt()))) continue;
        (void)jumps_->ask(at[k], work);
        ++asked;
      }
      return asked > 0 && !work.ended();
    }

    // What the distance of the tilted masses is worth.
    [[nodiscard]] T error(T epsilon, T aside, tilted_tail<T> const& others,
                          work_budget& work) const {
      T const theta = others.tilt();
      T const low = epsilon - aside;
      T const largest = jumps_->log_largest(theta, low - others_.range.upper,
                                            epsilon + aside - others_.range.lower, work);
      T const log_size = others.log_scale() + largest - theta * low;
      T const off = 16.0 * unit_roundoff *
                    (std::abs(others.log_scale()) + std::abs(largest) + std::abs(theta * low));
      return others.slack() * elementary::exp(log_size + off) * (1.0 + 1e-12) +
             std::numeric_limits<T>::min();
    }

    rays::real_profile<T>* jumps_;
    listed_losses above_;
    listed_losses below_;
    listed_losses few_;
    certified_tail<T> others_;
    T close_;        // how near each other the ends of δ_A are to be, over δ
    T slope_ = 0.0;  // of log δ, where it was approached
  };

  [[nodiscard]] std::optional<bound<T>> delta(T epsilon, work_budget& work) const {
    rays::real_profile<T> profile(jumps_);
    // What may be left out of the others depends on how small δ is: at least as large as that of the jumps alone, about.
    if (!profile.ask(epsilon, work)) return std::nullopt;
    T const log_delta = profile.at({epsilon}, work).upper.front();
    std::optional<average> mean = average_near(profile, log_delta, epsilon, fine, work);
    return mean ? mean->delta(epsilon, work) : std::nullopt;
  }

  // The others on a grid, tilted as suits an ε at which the jumps alone make about that δ.
  [[nodiscard]] std::optional<average> average_near(rays::real_profile<T>& profile, T log_delta,
                                                    T epsilon, T aim, work_budget& work) const {
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
    return average(profile, std::move(*tail), aim);
  }

  rays::composition jumps_;
  std::vector<counted_pair> others_;
};

}  // namespace tacit::detail
