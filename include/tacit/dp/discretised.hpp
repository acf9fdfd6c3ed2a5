// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/agreement.hpp>
#include <tacit/dp/allocation/store.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/gaussian_cover.hpp>
#include <tacit/dp/grid/atoms.hpp>
#include <tacit/dp/grid/ends.hpp>
#include <tacit/dp/grid/pairs.hpp>
#include <tacit/dp/grid/plan.hpp>
#include <tacit/dp/grid/prepare.hpp>
#include <tacit/dp/jumps_beside.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tacit {

namespace detail {

/// The composition of one direction's pairs.
template <std::same_as<double> T = double>
class composed_losses {
 public:
  void add(dominating_pair const& pair, std::uint64_t count) { pairs_.add(pair, count); }

  [[nodiscard]] std::size_t distinct() const { return pairs_.size(); }

  /// All that the answer takes, on both sides, is taken from `work`. `store` has the epochs among the pairs.
  [[nodiscard]] bound<T> answer(loss_query<T> query, T width, epochs::epoch_store<T> const& store,
                                work_budget& work) const {
    std::vector<counted_pair> pairs = pairs_.all();
    // Pairs of very many losses are made smaller.
    double const losses = losses_of(pairs);
    bool const heavy = static_cast<double>(losses_each(pairs)) < losses;
    if (heavy) (void)work.spend(60.0 * losses);
    std::vector<counted_pair> const epochs = store.taken_from(pairs);
    if (!epochs.empty()) {
      // An epoch of random allocation has a law above it and one below it.
      // Of few epochs that is little beside a question: it leaves the grid all of its work.
      (void)work.spend(std::clamp(store.work() - store.little_work, 0.0, 0.2 * work.left()));
    }
    auto const asked = [&](pair_envelope around, work_budget& own) {
      if (!epochs.empty()) {
        if (around.exact) around.below = around.above;
        around.exact = false;
        store.put(around.above, epochs, rounding_side::above);
        store.put(around.below, epochs, rounding_side::below);
      }
      return answer_of(around, query, width, own);
    };
    // Substituted pairs take long, each of them: a few around many are asked first.
    auto const substituted = static_cast<std::size_t>(
        std::count_if(pairs.begin(), pairs.end(),
                      [](counted_pair const& c) { return substituted_pairs<>::is_one(c); }));
    if (substituted <= few) return asked(envelope_of(std::move(pairs)), work);
    if (heavy) return asked(few_substituted(pairs, 2 * few), work);
    bound<T> found = work.within(0.4 * work.left(), [&](work_budget& own) {
      return asked(few_substituted(pairs, few), own);
    });
    bool const all = substituted <= 4 * few;
    narrow(found,
           asked(all ? envelope_of(std::move(pairs)) : few_substituted(pairs, 2 * few), work));
    return found;
  }

  /// The same where a few sampled Gaussians have rare and large losses, in the direction `remove`, by rays and a grid of
  /// the other losses. Nothing where there are none such, or where that has no answer.
  [[nodiscard]] std::optional<bound<T>> beside_jumps(loss_query<T> query, work_budget& work) const {
    std::vector<counted_pair> pairs = pairs_.all();
    if (static_cast<double>(losses_each(pairs)) < losses_of(pairs)) return std::nullopt;
    pair_envelope const around = envelope_of(std::move(pairs));
    auto const asked = [&](std::vector<counted_pair> const& some) -> std::optional<bound<T>> {
      auto const jumps = jumps_beside<T>::of(some);
      return jumps ? jumps->answer(query, work) : std::nullopt;
    };
    std::optional<bound<T>> found = asked(around.above);
    if (!found || around.exact) return found;
    std::optional<bound<T>> const below = asked(around.below);
    found->lower = below ? std::min(below->lower, found->upper) : 0.0;
    return found;
  }

 private:
  static constexpr T lowest_log_delta = -640.0;
  static constexpr std::size_t many_laws = 64;
  static constexpr std::size_t few = 16;

  [[nodiscard]] static bound<T> answer_of(pair_envelope const& around, loss_query<T> query, T width,
                                          work_budget& work) {
    if (around.exact) return answer_of(around.above, query, width, work);
    bound<T> const above = work.within(0.5 * work.left(), [&](work_budget& own) {
      return answer_of(around.above, query, width, own);
    });
    return {std::min(above.upper, answer_of(around.below, query, width, work).lower), above.upper};
  }

  [[nodiscard]] static bound<T> answer_of(std::vector<counted_pair> const& pairs,
                                          loss_query<T> query, T width, work_budget& work) {
    if (pairs.empty()) return {0.0, 0.0};
    T const log_delta = query.wants_epsilon ? elementary::log(query.value) : lowest_log_delta;
    prepared_laws<T> const laws(pairs, log_delta);
    (void)work.spend(laws.cost());
    if (!laws.usable()) {
      return {0.0, query.wants_epsilon ? std::numeric_limits<T>::infinity() : 1.0};
    }
    bound<T> best =
        query.wants_epsilon ? laws.ends().epsilon(query.value) : laws.ends().delta(query.value);
    if (!laws.lower_holds()) best.lower = 0.0;
    if (best.lower == best.upper || work.ended()) return best;
    if (auto const atoms = atom_composition<T>::of(laws.laws())) {
      narrow(best, by_atoms(*atoms, laws.ends(), query, best));
      return best;
    }
    if (query.wants_epsilon) {
      on_grid(laws, query, width, best, work);
      return best;
    }
    delta_on_grid(pairs, laws, query, width, best, work, true);
    if (says_nothing(best)) {
      by_slope(pairs, query, width, best, work);
      if (says_nothing(best)) delta_on_grid(pairs, laws, query, width, best, work);
    }
    // Near the largest loss a tilt is steeper than rounding permits, but δ is convex.
    T const gap = laws.ends().largest() - query.value;
    for (T reach = 64.0; reach < 1e18 && gap < 1e300 && laws.lower_holds() && !good(best, width);
         reach *= 64.0) {
      T const below = laws.ends().largest() - reach * gap;
      if (!(below > 0.0) || !work.allows(1e6)) break;
      bound<T> there = laws.ends().delta(below);
      delta_on_grid(pairs, laws, {false, below}, width, there, work);
      narrow(best, {0.0, laws.ends().chord(query.value, below, there.upper)});
    }
    return best;
  }

  [[nodiscard]] static bool good(bound<T> const& found, T width) {
    return found.upper - found.lower <= 100.0 * width * found.upper;
  }

  [[nodiscard]] static bool says_nothing(bound<T> const& delta) {
    return delta.upper > 0.5 && delta.lower < 0.25;
  }

  /// δ(ε) ≤ δ₀ + (e^{ε₀} − e^ε)⁺ where δ(ε₀) ≤ δ₀: Lemma 16 of docs/certificates/grid.md.
  static void by_slope(std::vector<counted_pair> const& pairs, loss_query<T> query, T width,
                       bound<T>& best, work_budget& work) {
    constexpr T slight = 1e-6;
    T const there = work.within(0.6 * work.left(), [&](work_budget& own) {
      return answer_of(pairs, {true, slight}, width, own).upper;
    });
    T rise = 0.0;
    if (there > query.value) rise = (exp(enclosure(there)) - exp(enclosure(query.value))).upper;
    if (rise < 1.0) narrow(best, {0.0, std::min(1.0, add_up(slight, rise))});
  }

  [[nodiscard]] static bound<T> by_atoms(atom_composition<T> const& atoms, loss_ends<T> const& ends,
                                         loss_query<T> query, bound<T> const& known) {
    auto const delta = [&](T e) { return ends.with_infinite(atoms.delta(e)); };
    if (!query.wants_epsilon) return delta(query.value);
    auto const holds = [&](T e) { return delta(e).upper <= query.value; };
    auto const exceeds = [&](T e) { return delta(e).lower > query.value; };
    bound<T> out = known;
    if (holds(0.0)) return {0.0, 0.0};
    if (holds(known.upper)) out.upper = last_holding(known.upper, 0.0, holds);
    if (exceeds(0.0)) out.lower = last_holding(0.0, out.upper, exceeds);
    return out;
  }

  /// δ(ε): first how small it is, then on grids for that.
  static void delta_on_grid(std::vector<counted_pair> const& pairs, prepared_laws<T> const& wide,
                            loss_query<T> query, T width, bound<T>& best, work_budget& work,
                            bool briefly = false) {
    if (query.value >= wide.ends().reach()) return;
    T log_delta = find_saddle<T>(wide.sketches(), query).log_delta;
    prepared_laws<T> ready(pairs, log_delta);
    (void)work.spend(ready.cost());
    // Over a wide range an estimate is a poor one, and too much may have been left out.
    for (int k = 0; k < 16 && ready.usable() && log_delta > lowest_log_delta && !work.ended();
         ++k) {
      T const better = query.value < ready.ends().reach()
                           ? find_saddle<T>(ready.sketches(), query).log_delta
                           : 1.3 * std::min(log_delta, 0.0) - 10.0;
      if (!(better < log_delta - 3.0)) break;
      log_delta = better;
      ready = prepared_laws<T>(pairs, log_delta);
      (void)work.spend(ready.cost());
    }
    if (ready.usable() && !work.ended()) {
      on_grid(std::move(ready), query, width, best, work, briefly);
    }
  }

  // `briefly`: with one tilt, if that says nothing.
  static void on_grid(prepared_laws<T> laws, loss_query<T> query, T width, bound<T>& best,
                      work_budget& work, bool briefly = false) {
    bound<T> const known =
        query.wants_epsilon ? laws.ends().epsilon(query.value) : laws.ends().delta(query.value);
    bool const lower = laws.lower_holds();
    narrow(best, {lower ? known.lower : 0.0, known.upper});
    saddle<T> const first = find_saddle<T>(laws.sketches(), query);
    T const first_share = query.wants_epsilon ? 0.9 : 0.8;
    T off = std::numeric_limits<T>::infinity();
    for (T const factor : {1.0, 0.2, 0.03, 5.0}) {
      saddle<T> const s =
          factor == 1.0 ? first : saddle_at<T>(laws.sketches(), factor * first.tilt);
      prepared_laws<T> here = laws;
      (void)work.spend(here.cut(s.tilt));
      // The first tilt is the likeliest; what it leaves is for the others.
      work.within(factor == 5.0 ? work.left() : first_share * work.left(),
                  [&](work_budget& own) { at_tilt(here, query, s, width, best, own); });
      if (!lower) best.lower = 0.0;
      // Other tilts say little more of many laws, which are coarse.
      bool const many =
          laws.laws().size() > many_laws && best.upper < std::numeric_limits<T>::max();
      if (!lower || many || good(best, width)) break;
      if (briefly && says_nothing(best)) break;
      // Where the last tilt said hardly more of what is nearly known, no other one will.
      T const before = std::exchange(off, best.upper - best.lower);
      if (off <= 0.02 * best.upper && off > 0.8 * before) break;
    }
  }

  /// With grids tilted by s, ever finer while that helps.
  static void at_tilt(prepared_laws<T> const& laws, loss_query<T> query, saddle<T> const& s,
                      T width, bound<T>& best, work_budget& work) {
    grid_composition<T> const plan(laws.laws(), laws.sketches(), s.tilt, work);
    auto const read = [&](certified_tail<T> const& tail) {
      narrow(best, query.wants_epsilon ? tail.epsilon(query.value) : tail.delta(query.value));
    };
    if (std::optional<certified_tail<T>> const tail = plan.exact()) {
      read(*tail);
      return;
    }
    // An error of d in log δ is one of d/θ in ε. Beyond 1 the tilt would be the wrong one.
    T aim = width;
    if (query.wants_epsilon) {
      aim = std::min(1.0, width * s.tilt * std::max(s.epsilon, 0.1 * s.deviation));
    }
    T last = std::numeric_limits<T>::infinity();
    for (int attempt = 0; attempt < 5; ++attempt) {
      std::optional<certified_tail<T>> tail = plan.on_grid(aim);
      if (!tail) break;
      // The lower end of what is on the grid, for now: it shows how tight the upper one is.
      tail->lower_holds = true;
      read(*tail);
      T const off = best.upper - best.lower;
      T const target = width * best.upper;
      if (off <= target || !(off < 0.8 * last) || tail->finest) break;
      last = off;
      // Without a lower end the width is no guide.
      aim *= best.lower > 0.0 ? std::clamp(0.7 * target / off, 0.02, 0.5) : 0.1;
    }
  }

  pair_list<> pairs_;
};

}  // namespace detail

/// Accounting on a grid of privacy losses. The losses of every pair are put on a grid twice, once as
/// a pair that is above it (connect-the-dots: Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022), once
/// as one that is below; both are composed by FFT after multiplying by e^{θ·loss}, θ near the saddle point
/// of the question, so that relative accuracy does not depend on how small δ is. Grid, truncation,
/// wrap-around and rounding are bounded and go to the safe side: the width of the interval is the accuracy.
///
/// Losses that all lie on one lattice (randomised response, pure, discrete Laplace, unsampled discrete
/// Gaussian) are composed on it, without grid error.
///
/// Guarantee: bounds of the dominating pair's ε and δ; `domination::attained` says when the lower one
/// is one of the mechanism's. Width about the relative `width` asked for where 2^22 points allow it;
/// a few ulp times the number of releases on a lattice. Where a profile is not convex, lower = 0.
template <std::same_as<double> T = double>
class basic_discretised {
 public:
  static constexpr std::string_view name = "discretised";
  static constexpr T default_width = 1e-4;

  /// `width`: the relative width to aim at, of ε or of δ, whichever is asked for.
  /// @throws std::domain_error unless width is in [1e-9, 1]
  explicit basic_discretised(adjacency neighbours, T width = default_width)
      : neighbours_(neighbours), width_(width) {
    detail::require_domain(width >= 1e-9 && width <= 1.0, "discretised", "width", width,
                           "in [1e-9, 1]");
  }

  /// @throws std::invalid_argument, with the reason, for a release without a dominating pair
  void add(event const& release, std::uint64_t count) {
    std::vector<composed> const blocks = epoch_blocks(release, count);
    if (blocks.size() == 1) {
      add(dominate(blocks.front().release, neighbours_), blocks.front().count);
      return;
    }
    basic_discretised after = *this;  // all blocks, or none
    for (composed const& block : blocks) after.add(block.release, block.count);
    *this = std::move(after);
  }

  /// Any dominating pairs, for a mechanism that is no `event`.
  void add(domination const& pairs, std::uint64_t count);

  [[nodiscard]] bound<T> epsilon(T delta) const {
    detail::work_budget work = own_work();
    return epsilon(delta, work);
  }
  [[nodiscard]] bound<T> delta(T epsilon) const {
    detail::work_budget work = own_work();
    return delta(epsilon, work);
  }

  /// The same for no more than `work`, both directions together, and for another width.
  [[nodiscard]] bound<T> epsilon(T delta, detail::work_budget& work) const {
    return epsilon(delta, work, width_);
  }
  [[nodiscard]] bound<T> delta(T epsilon, detail::work_budget& work) const {
    return this->delta(epsilon, work, width_);
  }
  [[nodiscard]] bound<T> epsilon(T delta, detail::work_budget& work, T width) const {
    detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
    bound<T> const found = worse({true, delta}, width, work);
    return wide(found) ? covered(found, cover_.epsilon(delta), "epsilon at delta ", delta) : found;
  }
  /// In one direction alone.
  [[nodiscard]] bound<T> epsilon_towards(orientation towards, T delta, detail::work_budget& work,
                                         T width) const {
    detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
    return one(towards).answer({true, delta}, width, composed_.epochs, work);
  }
  [[nodiscard]] bound<T> delta_towards(orientation towards, T epsilon, detail::work_budget& work,
                                       T width) const {
    detail::check_non_negative("delta", "epsilon", epsilon);
    return one(towards).answer({false, epsilon}, width, composed_.epochs, work);
  }
  /// In the direction `remove`, by rays beside a grid of the other losses: `composed_losses::beside_jumps`.
  [[nodiscard]] std::optional<bound<T>> removed_beside_jumps(detail::loss_query<T> query,
                                                             detail::work_budget& work) const {
    return composed_.remove.beside_jumps(query, work);
  }
  [[nodiscard]] bound<T> delta(T epsilon, detail::work_budget& work, T width) const {
    detail::check_non_negative("delta", "epsilon", epsilon);
    bound<T> const found = worse({false, epsilon}, width, work);
    return wide(found) ? covered(found, cover_.delta(epsilon), "delta at epsilon ", epsilon)
                       : found;
  }

  /// The same, and what it and the composition cost is counted in `work`, which limits nothing.
  [[nodiscard]] bound<T> counted_epsilon(T delta, detail::work_budget& work) const {
    (void)work.spend(work_to_compose());
    return detail::counted(work, own_work(), [&](auto& own) { return epsilon(delta, own); });
  }
  [[nodiscard]] bound<T> counted_delta(T epsilon, detail::work_budget& work) const {
    (void)work.spend(work_to_compose());
    return detail::counted(work, own_work(), [&](auto& own) { return delta(epsilon, own); });
  }

  /// The same for about what is left of `work`, in which it is counted.
  [[nodiscard]] bound<T> epsilon_within(T delta, detail::work_budget& work) const {
    return work.within(own_work().left(), [&](auto& own) { return epsilon(delta, own); });
  }
  [[nodiscard]] bound<T> delta_within(T epsilon, detail::work_budget& work) const {
    return work.within(own_work().left(), [&](auto& own) { return delta(epsilon, own); });
  }

  /// Upper ends with all sampling revealed.
  [[nodiscard]] detail::gaussian_cover const& cover() const { return cover_; }

  /// What it took to find the pairs.
  [[nodiscard]] double work_to_compose() const { return work_to_compose_; }

  /// What it takes, or has taken, to make the atoms of all epochs of random allocation, which the first question does.
  [[nodiscard]] double work_on_epochs() const {
    return composed_.epochs.empty() ? 0.0 : composed_.epochs.work();
  }

  /// What one question may cost, of both directions together.
  [[nodiscard]] static constexpr detail::work_budget own_work() {
    return detail::work_budget(detail::work_on_grid);
  }

 private:
  struct composition {
    detail::composed_losses<T> remove;
    detail::composed_losses<T> add;
    detail::epochs::epoch_store<T> epochs;  // of both
    bool symmetric = true;
  };

  [[nodiscard]] detail::composed_losses<T> const& one(orientation towards) const {
    return towards == orientation::add && !composed_.symmetric ? composed_.add : composed_.remove;
  }
  [[nodiscard]] std::vector<detail::composed_losses<T> const*> directions() const {
    if (composed_.symmetric) return {&composed_.remove};
    return {&composed_.remove, &composed_.add};
  }

  [[nodiscard]] bound<T> worse(detail::loss_query<T> query, T width,
                               detail::work_budget& work) const;

  // What is narrower lies below the cover already, as the truth does, but for its width.
  [[nodiscard]] static bool wide(bound<T> const& found) {
    return !(found.upper < std::numeric_limits<T>::infinity()) ||
           found.upper - found.lower > default_width * found.upper;
  }
  /// @throws internal_error if the upper end in closed form is below the grid's lower one
  [[nodiscard]] bound<T> covered(bound<T> const& found, T most, std::string_view asked,
                                 T value) const {
    auto const describe = [&] {
      return std::string(asked) + detail::to_text(value) + ", " +
             std::to_string(composed_.remove.distinct()) + " distinct pairs";
    };
    detail::agreement known(found, describe, name);
    known.meet({0.0, most}, "a Gaussian above all samples");
    return known.shared();
  }

  adjacency neighbours_;
  T width_;
  composition composed_;
  detail::gaussian_cover cover_;
  std::uint64_t releases_ = 0;
  double work_to_compose_ = 0.0;
};

template <std::same_as<double> T>
void basic_discretised<T>::add(domination const& pairs, std::uint64_t count) {
  if (count == 0) return;
  detail::require_domain(releases_ <= std::numeric_limits<std::uint64_t>::max() - count, "compose",
                         "count", count, "small enough for a total of 64 bits");
  composed_.remove.add(pairs.remove, count);
  composed_.add.add(pairs.add, count);
  composed_.epochs.add(pairs.remove);
  composed_.epochs.add(pairs.add);
  composed_.symmetric = composed_.symmetric && pairs.symmetric;
  cover_.add(pairs, count);
  releases_ += count;
  work_to_compose_ += pairs.work;
}

template <std::same_as<double> T>
bound<T> basic_discretised<T>::worse(detail::loss_query<T> query, T width,
                                     detail::work_budget& work) const {
  bound<T> out{0.0, 0.0};
  auto const all = directions();
  for (std::size_t k = 0; k < all.size(); ++k) {
    bound<T> const here =
        work.within(work.left() / static_cast<T>(all.size() - k), [&](detail::work_budget& own) {
          return all[k]->answer(query, width, composed_.epochs, own);
        });
    out = {std::max(out.lower, here.lower), std::max(out.upper, here.upper)};
  }
  return out;
}

using discretised = basic_discretised<double>;
using discretised_accountant = accountant<discretised>;

static_assert(accounting_method<discretised>);

#if defined(TACIT_COMPILED)
extern template class basic_discretised<double>;
#endif

}  // namespace tacit
