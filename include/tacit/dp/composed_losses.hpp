// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/agreement.hpp>
#include <tacit/dp/allocation/store.hpp>
#include <tacit/dp/any_release.hpp>
#include <tacit/dp/atom_lines.hpp>
#include <tacit/dp/finite_pairs.hpp>
#include <tacit/dp/grid/atoms.hpp>
#include <tacit/dp/grid/ends.hpp>
#include <tacit/dp/grid/kept.hpp>
#include <tacit/dp/grid/listed_curves.hpp>
#include <tacit/dp/grid/pairs.hpp>
#include <tacit/dp/grid/plan.hpp>
#include <tacit/dp/grid/prepare.hpp>
#include <tacit/dp/jumps_beside.hpp>
#include <tacit/dp/optimal_composition.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tacit::detail {

/// The composition of one direction's pairs.
template <std::same_as<double> T = double>
class composed_losses {
 public:
  void add(dominating_pair const& pair, std::uint64_t count) { pairs_.add(pair, count); }

  [[nodiscard]] std::size_t distinct() const { return pairs_.size(); }

  /// All that the answer takes, on both sides, is taken from `work`. `store` has the epochs among the pairs.
  [[nodiscard]] bound<T> answer(loss_query<T> query, T width, epochs::epoch_store<T> const& store,
                                work_budget& work, kept_grids<T>* keep = nullptr) const {
    std::vector<counted_pair> pairs = pairs_.all();
    // Pairs of very many losses are made smaller.
    double const losses = losses_of(pairs);
    bool const heavy = static_cast<double>(losses_each(pairs)) < losses;
    if (heavy) (void)work.spend(60.0 * losses);
    std::vector<counted_pair> const epochs = store.taken_from(pairs);
    if (!epochs.empty()) {
      // An epoch of random allocation has a law above it and one below it.
      // Of few epochs that is little beside a question: it leaves the grid all of its work.
      (void)work.spend(std::clamp(store.work() - store.little_work, 0.0, 0.45 * work.left()));
    }
    // Of hundreds of kinds, which a few stand for, grids may need all of the work.
    T const for_lists = pairs.size() <= few ? 0.1 : 0.0;
    auto const asked = [&](pair_envelope around, work_budget& own, T aim,
                           kept_grids<T>* kept = nullptr) {
      if (!epochs.empty()) {
        if (around.exact) around.below = around.above;
        around.exact = false;
        store.put(around.above, epochs, rounding_side::above);
        store.put(around.below, epochs, rounding_side::below);
      }
      return answer_of(around, query, {.width = aim, .for_lists = for_lists}, own, kept);
    };
    // Some pairs take long, each of them: of many, a few stand for all.
    auto const dear = static_cast<std::size_t>(std::count_if(
        pairs.begin(), pairs.end(), [](counted_pair const& c) { return bool(if_dear(c.pair)); }));
    if (dear <= few) return asked(envelope_of(std::move(pairs)), work, width, keep);
    if (heavy) return asked(few_dear(pairs, 2 * few), work, rough);
    bound<T> found{0.0, query.wants_epsilon ? std::numeric_limits<T>::infinity() : 1.0};
    if (dear <= 4 * few) {
      found = work.within(0.85 * work.left(),
                          [&](work_budget& own) { return asked(envelope_of(pairs), own, width); });
      if (good(found, width)) return found;
    }
    T const before = work.left();
    narrow(found, work.within(0.4 * before, [&](work_budget& own) {
      return asked(few_dear(pairs, few), own, rough);
    }));
    if (dear <= 4 * few) return found;
    // Then as many as the rest is likely to be enough for; of pairs that are nearly one the grid is what is wide.
    T cells = std::min(0.7 * work.left() / (before - work.left()), 16.0) * static_cast<T>(few);
    if (cells < 2.0 * static_cast<T>(many_laws)) cells = std::min(cells, static_cast<T>(many_laws));
    bool const one = found.upper - found.lower <= 3.0 * rough * found.upper;
    if (one || cells > 1.3 * static_cast<T>(few)) {
      narrow(found,
             asked(few_dear(pairs, static_cast<std::size_t>(cells)), work, one ? width : rough));
    }
    return found;
  }

  /// The largest lower end of parts of the composition, which leaks no less: of some large loss (`any_release`), or of one kind
  /// of pair alone.
  [[nodiscard]] T lower_of_parts(loss_query<T> query, T width, epochs::epoch_store<T> const& store,
                                 work_budget& work) const {
    std::vector<counted_pair> pairs = pairs_.all();
    T best = work.within(0.3 * work.left(),
                         [&](work_budget& own) { return any_release<T>(pairs).lower(query, own); });
    if (pairs.size() < 2) return best;
    if (pairs.size() > few) {
      std::erase_if(pairs, [](counted_pair const& c) { return any_release<T>::serves(c.pair); });
    }
    // Of many, some.
    std::size_t const tried = pairs.size() <= few ? pairs.size() : 4;
    T left = static_cast<T>(tried);
    for (std::size_t k = 0; k < tried; ++k) {
      counted_pair const& one = pairs[k * (pairs.size() - 1) / std::max<std::size_t>(1, tried - 1)];
      composed_losses alone;
      // Of 2^63 releases and more, that many.
      alone.add(one.pair, static_cast<std::uint64_t>(std::min(one.count, 0x1p63)));
      bound<T> const found = work.within(work.left() / left--, [&](work_budget& own) {
        return alone.answer(query, width, store, own);
      });
      best = std::max(best, found.lower);
    }
    return best;
  }

  /// The same where a few sampled Gaussians have losses that jump, in the direction `remove`, by rays and a grid of the other
  /// losses. Nothing where there are none such, or where that has no answer.
  [[nodiscard]] std::optional<bound<T>> beside_jumps(loss_query<T> query, T width,
                                                     work_budget& work) const {
    std::vector<counted_pair> pairs = pairs_.all();
    if (static_cast<double>(losses_each(pairs)) < losses_of(pairs)) return std::nullopt;
    pair_envelope const around = envelope_of(std::move(pairs));
    std::optional<bound<T>> found = beside_jumps(around.above, query, width, work);
    if (!found || around.exact) return found;
    std::optional<bound<T>> const below = beside_jumps(around.below, query, width, work);
    found->lower = below ? below->lower : 0.0;
    return found;
  }

 private:
  static constexpr T lowest_log_delta = -640.0;
  static constexpr std::size_t many_laws = 64;
  static constexpr T most_responses = 1e15;  // as the closed form of equal ones has them
  static constexpr std::size_t few = 16;
  static constexpr T rough = 1e-2;          // width to aim at where a few pairs stand for many
  static constexpr T least_on_line = 2e7;   // of work, in nanoseconds
  static constexpr T on_line_alone = 3e-8;  // as an aim's width: a line so narrow needs no grid

  [[nodiscard]] static std::optional<bound<T>> beside_jumps(std::vector<counted_pair> const& pairs,
                                                            loss_query<T> query, T width,
                                                            work_budget& work) {
    agreement known(bound<T>{0.0, std::numeric_limits<T>::infinity()}, [&] {
      return std::string(query.words()) + to_text(query.value) + ", " +
             std::to_string(pairs.size()) + " distinct pairs";
    });
    std::vector<jumps_beside<T>> ways;
    for (jumps_taken const taken : {jumps_taken::all, jumps_taken::rare}) {
      auto jumps = jumps_beside<T>::of(pairs, taken);
      // The rare ones are among all.
      if (jumps && (ways.empty() || jumps->kinds() != ways.back().kinds())) {
        ways.push_back(std::move(*jumps));
      }
    }
    bool found = false;
    for (jumps_beside<T> const& way : ways) {
      T const most = (&way == &ways.back() ? 1.0 : 0.8) * work.left();
      std::optional<bound<T>> const here =
          work.within(most, [&](work_budget& own) { return way.answer(query, own); });
      if (!here) continue;
      found = true;
      known.meet(*here, "rays beside a grid");
      if (here->upper - here->lower <= width * here->upper) break;
    }
    if (!found) return std::nullopt;
    return known.shared();
  }

  [[nodiscard]] static bound<T> answer_of(pair_envelope const& around, loss_query<T> query,
                                          grid_aim<T> aim, work_budget& work, kept_grids<T>* keep) {
    grid_aim<T> above_aim = aim;
    grid_aim<T> below_aim = aim;
    if (keep != nullptr) {
      above_aim.keep = &keep->above;
      below_aim.keep = &keep->below;
    }
    if (around.exact) return answer_of(around.above, query, above_aim, work);
    bound<T> const above = work.within(0.5 * work.left(), [&](work_budget& own) {
      return answer_of(around.above, query, above_aim, own);
    });
    return {std::min(above.upper, answer_of(around.below, query, below_aim, work).lower),
            above.upper};
  }

  [[nodiscard]] static bound<T> answer_of(std::vector<counted_pair> const& pairs,
                                          loss_query<T> query, grid_aim<T> aim, work_budget& work) {
    if (pairs.empty()) return {0.0, 0.0};
    if (aim.keep != nullptr) {
      if (auto const known = aim.keep->delta(query.value, aim.width)) return *known;
    }
    T const log_delta = query.wants_epsilon ? elementary::log(query.value) : lowest_log_delta;
    prepared_laws<T> const laws(pairs, log_delta);
    (void)work.spend(laws.cost());
    if (!laws.usable()) {
      return {0.0, query.wants_epsilon ? std::numeric_limits<T>::infinity() : 1.0};
    }
    bound<T> best = read(query, laws.ends());
    if (!laws.lower_holds()) best.lower = 0.0;
    if (best.lower == best.upper || work.ended()) return best;
    if (auto const atoms = atom_composition<T>::of(laws.laws())) {
      narrow(best, by_atoms(*atoms, laws.ends(), query, best));
      if (aim.keep != nullptr) aim.keep->keep({*atoms, laws.ends(), laws.lower_holds()});
      return best;
    }
    if (auto const equal = equal_responses(pairs)) {
      bound<T> const found = read(query, *equal);
      bool const all = pairs.front().count <= most_responses;
      narrow(best, {found.lower, all ? found.upper : std::numeric_limits<T>::infinity()});
      if (all) return best;
    }
    // A line goes first where lists of losses are short beside so many releases; for longer lists, and for curves, which are listed
    // for it above and below, it goes after a coarse grid that says too little. Each starts from what the ends of the laws say,
    // for what the other has found would end its search.
    std::span<loss_law<T> const> const all(laws.laws());
    bound<T> by_line = best;
    bool const serves = atom_lines<T>::serves(all) && !common_lattice(all);  // or a grid is exact
    bool const first = serves && atom_lines<T>::short_lists(all);
    if (first && on_line(laws, query, aim, by_line, work)) return by_line;
    bool const listed = atom_lines<T>::listed(all);
    bool const later = serves && !first && aim.width >= 1e-5 && (query.wants_epsilon || listed);
    T const for_line = !later ? 0.0 : listed ? 0.15 : aim.for_lists;
    work.within((1.0 - for_line) * work.left(),
                [&](work_budget& own) { on_grids(pairs, laws, query, aim, best, own); });
    if (later && !good(best, 0.1 * aim.width)) (void)on_line(laws, query, aim, by_line, work);
    agreement known(best, [&] { return std::string(query.words()) + to_text(query.value); });
    known.meet(by_line, "a line of listed losses");
    return known.shared();
  }

  static void on_grids(std::vector<counted_pair> const& pairs, prepared_laws<T> const& laws,
                       loss_query<T> query, grid_aim<T> aim, bound<T>& best, work_budget& work) {
    if (query.wants_epsilon) return on_grid(laws, query, aim, best, work);
    delta_on_grid(pairs, laws, query, aim, best, work, true);
    if (says_nothing(best)) {
      by_slope(pairs, query, aim, best, work);
      if (says_nothing(best)) delta_on_grid(pairs, laws, query, aim, best, work);
    }
    // Near the largest loss a tilt is steeper than rounding permits, but δ is convex.
    T const gap = laws.ends().largest() - query.value;
    for (T reach = 64.0;
         reach < 1e18 && gap < 1e300 && laws.lower_holds() && !good(best, aim.width);
         reach *= 64.0) {
      T const below = laws.ends().largest() - reach * gap;
      if (!(below > 0.0) || !work.allows(1e6)) break;
      bound<T> there = laws.ends().delta(below);
      delta_on_grid(pairs, laws, {false, below}, {aim.width}, there, work);
      narrow(best, {0.0, laws.ends().chord(query.value, below, there.upper)});
    }
  }

  // Randomised responses of two categories, or (ε, δ) guarantees, all of them equal: more than are composed atom by atom, and
  // of more than `most_responses` that many.
  [[nodiscard]] static std::optional<basic_optimal_composition<T>> equal_responses(
      std::vector<counted_pair> const& pairs) {
    auto const* one = pairs.size() == 1 ? std::get_if<finite_pair>(&pairs.front().pair) : nullptr;
    if (one == nullptr || one->atoms.size() != 2) return std::nullopt;
    T const epsilon = (*one).atoms[1].loss;
    if (!(epsilon > 0.0) || *one != response_pair(epsilon, 2.0, one->infinite)) return std::nullopt;
    T const count = std::min(pairs.front().count, most_responses);
    return basic_optimal_composition<T>({epsilon, one->infinite},
                                        static_cast<std::uint64_t>(count));
  }

  // ε(δ) or δ(ε) by one who knows both.
  template <class Known>
  [[nodiscard]] static bound<T> read(loss_query<T> query, Known const& known) {
    if (!query.wants_epsilon) return known.delta(query.value);
    return query.epsilon_by([&](T delta) { return known.epsilon(delta); });
  }

  /// Along lines, where there are many releases; whether that is narrow enough.
  [[nodiscard]] static bool on_line(prepared_laws<T> const& laws, loss_query<T> query,
                                    grid_aim<T> aim, bound<T>& best, work_budget& work) {
    std::span<loss_law<T> const> const all(laws.laws());
    if (!work.allows(least_on_line)) return false;  // a line would spend more than there is
    // A line's width costs little.
    T const width = std::max(0.01 * aim.width, 1e-10);
    bool const listed = atom_lines<T>::listed(all);
    std::optional<composed_line<T>> line;
    work.within(0.8 * work.left(), [&](work_budget& own) {
      auto const answer = [&](std::span<loss_law<T> const> of, work_budget& part) {
        atom_lines<T> lines(of, query, width);
        auto const found = lines.answer(part);
        return std::pair(found.value_or(bound<T>{0.0, std::numeric_limits<T>::infinity()}),
                         std::move(lines.line()));
      };
      if (listed) {
        auto [found, by] = answer(all, own);
        narrow(best, {laws.lower_holds() ? found.lower : 0.0, found.upper});
        if (by) line = composed_line<T>{std::move(*by), {}, laws.lower_holds()};
        return;
      }
      T const affordable = own.left() / (2e4 * static_cast<T>(all.size()));
      T const cells =
          std::clamp(10.0 / std::sqrt(aim.width), 64.0, std::clamp(affordable, 64.0, 8192.0));
      auto const above = listed_curves<T>::of(all, rounding_side::above, cells, own);
      auto const below = listed_curves<T>::of(all, rounding_side::below, cells, own);
      if (!above || !below) return;
      auto [most, over] =
          own.within(0.5 * own.left(), [&](work_budget& part) { return answer(*above, part); });
      auto [least, under] = answer(*below, own);
      narrow(best, {laws.lower_holds() ? std::min(least.lower, most.upper) : 0.0, most.upper});
      if (over && under) {
        line = composed_line<T>{std::move(*over), std::move(*under), laws.lower_holds()};
      }
    });
    if (!good(best, std::max(0.1 * width, on_line_alone))) return false;
    if (aim.keep != nullptr && line) aim.keep->keep(std::move(*line));
    return true;
  }

  [[nodiscard]] static bool good(bound<T> const& found, T width) {
    return found.upper < std::numeric_limits<T>::infinity() &&
           found.upper - found.lower <= 100.0 * width * found.upper;
  }

  [[nodiscard]] static bool says_nothing(bound<T> const& delta) {
    return delta.upper > 0.5 && delta.lower < 0.25;
  }

  /// δ(ε) ≤ δ₀ + (e^{ε₀} − e^ε)⁺ where δ(ε₀) ≤ δ₀: Lemma 16 of docs/certificates/grid.md.
  static void by_slope(std::vector<counted_pair> const& pairs, loss_query<T> query, grid_aim<T> aim,
                       bound<T>& best, work_budget& work) {
    constexpr T slight = 1e-6;
    T const there = work.within(0.6 * work.left(), [&](work_budget& own) {
      return answer_of(pairs, {true, slight}, {aim.width}, own).upper;
    });
    T rise = 0.0;
    if (there > query.value) rise = (exp(enclosure(there)) - exp(enclosure(query.value))).upper;
    if (rise < 1.0) narrow(best, {0.0, std::min(1.0, add_up(slight, rise))});
  }

  [[nodiscard]] static bound<T> by_atoms(atom_composition<T> const& atoms, loss_ends<T> const& ends,
                                         loss_query<T> query, bound<T> const& known) {
    auto const delta = [&](T e) { return ends.with_infinite(atoms.delta(e)); };
    if (!query.wants_epsilon) return delta(query.value);
    T const rest = query.rest();
    auto const holds = [&](T e) { return delta(e).upper <= rest; };
    auto const exceeds = [&](T e) { return delta(e).lower > query.value; };
    bound<T> out = known;
    if (holds(0.0)) return {0.0, 0.0};
    if (holds(known.upper)) out.upper = last_holding(known.upper, 0.0, holds);
    if (exceeds(0.0)) out.lower = last_holding(0.0, out.upper, exceeds);
    return out;
  }

  /// δ(ε): first how small it is, then on grids for that.
  static void delta_on_grid(std::vector<counted_pair> const& pairs, prepared_laws<T> const& wide,
                            loss_query<T> query, grid_aim<T> aim, bound<T>& best, work_budget& work,
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
      on_grid(std::move(ready), query, aim, best, work, briefly);
    }
  }

  // `briefly`: with one tilt, if that says nothing.
  static void on_grid(prepared_laws<T> laws, loss_query<T> query, grid_aim<T> aim, bound<T>& best,
                      work_budget& work, bool briefly = false) {
    bound<T> const known = read(query, laws.ends());
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
                  [&](work_budget& own) { at_tilt(here, query, s, aim, best, own); });
      if (!lower) best.lower = 0.0;
      // Other tilts say little more of many laws, which are coarse.
      bool const many =
          laws.laws().size() > many_laws && best.upper < std::numeric_limits<T>::max();
      if (!lower || many || good(best, aim.width)) break;
      if (briefly && says_nothing(best)) break;
      // Where the last tilt said hardly more of what is nearly known, no other one will.
      T const before = std::exchange(off, best.upper - best.lower);
      if (off <= 0.02 * best.upper && off > 0.8 * before) break;
    }
  }

  /// With grids tilted by s, ever finer while that helps.
  static void at_tilt(prepared_laws<T> const& laws, loss_query<T> query, saddle<T> const& s,
                      grid_aim<T> aim, bound<T>& best, work_budget& work) {
    grid_composition<T> const plan(laws.laws(), laws.sketches(), s.tilt, work);
    auto const keep = [&](certified_tail<T>&& tail) {
      tail.lower_holds = laws.lower_holds();
      if (aim.keep != nullptr) aim.keep->keep(query.value, std::move(tail));
    };
    if (std::optional<certified_tail<T>> tail = plan.exact()) {
      narrow(best, read(query, *tail));
      keep(std::move(*tail));
      return;
    }
    // An error of d in log δ is one of d/θ in ε. Beyond 1 the tilt would be the wrong one.
    T error = aim.width;
    if (query.wants_epsilon) {
      error = std::min(1.0, aim.width * s.tilt * std::max(s.epsilon, 0.1 * s.deviation));
    }
    T last = std::numeric_limits<T>::infinity();
    std::optional<certified_tail<T>> finest;
    for (int attempt = 0; attempt < 5; ++attempt) {
      std::optional<certified_tail<T>> tail = plan.on_grid(error);
      if (!tail) break;
      // The lower end of what is on the grid, for now: it shows how tight the upper one is.
      tail->lower_holds = true;
      narrow(best, read(query, *tail));
      finest = std::move(tail);
      T const off = best.upper - best.lower;
      T const target = aim.width * best.upper;
      if (off <= target || !(off < 0.8 * last) || finest->finest) break;
      last = off;
      // Without a lower end the width is no guide.
      error *= best.lower > 0.0 ? std::clamp(0.7 * target / off, 0.02, 0.5) : 0.1;
    }
    if (finest) keep(std::move(*finest));
  }

  pair_list<> pairs_;
};

}  // namespace tacit::detail
