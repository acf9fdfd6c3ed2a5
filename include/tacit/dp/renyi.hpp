// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/event_words.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rdp/conversion.hpp>
#include <tacit/dp/rdp/cost.hpp>
#include <tacit/dp/rdp/guarantee.hpp>
#include <tacit/dp/similar_pairs.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// The Rényi accountant: divergences add up under composition, adaptive composition included, and one
/// order turns the sum into (ε, δ). Every real order is open; the best is searched, not taken from a table.

namespace tacit {

namespace detail {

/// A bound, and log(α−1) of the order that gives it.
struct ordered_bound {
  double value;
  double where;
};

/// The least value of `bound(α)` over the orders, or one at most `enough`. (K(z)+c)/z is quasi-convex in
/// z = α−1 for a convex K, so that one valley holds the least; every value met is a bound, whatever its
/// order. The first three values are a `step` of log(α−1) apart.
template <class Bound>
[[nodiscard]] ordered_bound least_over_orders(double start, double enough, Bound&& bound,
                                              double step = 0.5) {
  double constexpr lowest = -20.7;  // log 1e-9
  double constexpr highest = 18.4;  // log 1e8
  ordered_bound best{std::numeric_limits<double>::infinity(), start};
  auto const at = [&](double log_excess) {
    if (best.value <= enough) return best.value;
    double const value = bound(1.0 + elementary::exp(log_excess));
    if (value < best.value) best = {value, log_excess};
    return value < 1e300 ? value : 1e300;
  };
  double middle = std::clamp(start, lowest + 0.5, highest - 0.5);
  double value = at(middle);
  double left = middle - step;
  double right = middle + step;
  double at_left = at(left);
  double at_right = at(right);
  while (at_left < value && left > lowest) {
    right = middle;
    middle = left;
    value = at_left;
    step *= 1.7;
    left = std::max(lowest, left - step);
    at_left = at(left);
  }
  while (at_right < value && right < highest) {
    left = middle;
    middle = right;
    value = at_right;
    step *= 1.7;
    right = std::min(highest, right + step);
    at_right = at(right);
  }
  if (best.value > enough) (void)least_between({left, right}, 0x1p-13, 40, at);
  return best;
}

}  // namespace detail

/// The accounting method by Rényi divergences.
///
/// Guarantee: upper bounds. Each divergence is raised by the bound on its error, the conversion is the
/// tightest that one order allows (`renyi_epsilon`), and the order leaves less than 1e-7 of the best
/// bound. No lower bound: `lower` is 0. Of more than 4096 distinct events similar ones are rounded up to 2048; of more than a
/// hundred whose divergences take panels (sampled Laplace noise, persons' substitutes, batches under replace_one) to a hundred.
/// Of many kinds the order is sought for a few that stand for them, and then tried for all; where persons have many records, fewer kinds
/// and parts of mixtures count.
///
/// Beside the dominating pairs it uses the exponential mechanism's own divergence (unsampled), and for
/// batches without replacement under replace_one the smaller of Wang–Balle–Kasiviswanathan's bound and
/// the amplified pair's divergence; what is known by its divergences alone has the former, and in Poisson samples under add_remove
/// Lemma 3a of docs/certificates/events.md. An event with δ > 0 has no finite divergence and is refused.
template <real T = double>
class basic_renyi {
 public:
  static constexpr std::string_view name = "renyi";

  explicit basic_renyi(adjacency neighbours) : neighbours_(neighbours) {}

  /// @throws std::domain_error for a value out of range; std::invalid_argument, with the reason, where
  ///         no bound is known. Nothing is added then.
  void add(event const& release, std::uint64_t count) {
    auto const blocks = epoch_blocks(release, count);
    if (blocks.size() == 1) return add(blocks[0].release, blocks[0].count, std::nullopt);
    basic_renyi after = *this;  // all blocks, or none
    for (auto const& [block, times] : blocks) after.add(block, times, std::nullopt);
    *this = std::move(after);
  }

  /// The same, where what dominates the release is known already.
  void add(event const& release, std::uint64_t count, std::optional<domination> const& known_pair) {
    detail::event_key const key = detail::key_of(release);
    if (auto const known = places_.find(key); known != places_.end()) {
      entry& same = entries_[known->second];
      if (same.count <= std::numeric_limits<std::uint64_t>::max() - count) {
        same.count += count;
        return;
      }
    }
    both_costs cost = costs(release, known_pair);
    entries_.push_back({std::move(cost.remove), std::move(cost.add), cost.symmetric, count,
                        cost.left_out, cost.told_apart});
    if (cost.left_out > 0.0 && !cost.told_apart) entries_.back().whole = with_all_records(release);
    places_.insert_or_assign(key, entries_.size() - 1);
  }

  [[nodiscard]] bound<double> epsilon(double delta) const {
    detail::work_budget uncounted(0.0);
    return counted_epsilon(delta, uncounted);
  }

  [[nodiscard]] bound<double> delta(double epsilon) const {
    detail::work_budget uncounted(0.0);
    return counted_delta(epsilon, uncounted);
  }

  /// The same, and what the tables of mixtures cost is counted in `work`, which limits nothing.
  [[nodiscard]] bound<double> counted_epsilon(double delta, detail::work_budget& work) const {
    detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
    double const rest = left_out() > 0.0 ? detail::subtract_down(delta, left_out()) : delta;
    if (!(rest > 0.0)) return {0.0, infinity};
    double const level = -elementary::log(rest);
    return {0.0, worst_least(
                     work, [&](detail::composed_curve<T>& curve) { return start(curve, level); },
                     [&](double order, double divergence) {
                       return renyi_epsilon(order, divergence, rest);
                     })};
  }

  [[nodiscard]] bound<double> counted_delta(double epsilon, detail::work_budget& work) const {
    detail::check_non_negative("delta", "epsilon", epsilon);
    double const least = worst_least(
        work,
        [&](detail::composed_curve<T>& curve) {
          // Where K′(z) = ε, if K(z) ≈ z(1+z)·D₂/2.
          double const half = 0.5 * curve.upper(2.0);
          if (!(half < infinity)) return least_finite(curve);
          return half > 0.0 ? elementary::log(std::max(0.5 * (epsilon / half - 1.0), 1e-3)) : 0.0;
        },
        [&](double order, double divergence) {
          return detail::open_log_renyi_delta(order, divergence, epsilon);
        });
    if (least == -std::numeric_limits<double>::infinity()) return {0.0, std::min(1.0, left_out())};
    return {0.0, std::min(1.0, detail::add_up(exp(detail::enclosure(least)).upper, left_out()))};
  }

  /// The divergence of the whole composition at one order, of the worse direction. Of a person with so many records that the
  /// weights of some numbers of them are below all doubles it is that of all of them in every step.
  /// Guarantee: upper bound.
  /// @throws std::domain_error unless order is finite and above 1; std::invalid_argument where an event has δ > 0
  [[nodiscard]] double divergence(double order) const {
    detail::check_order(order);
    if (std::any_of(entries_.begin(), entries_.end(),
                    [](entry const& e) { return e.told_apart; })) {
      throw std::invalid_argument(
          "divergence: there is no known bound for an event with delta > 0 by Rényi divergences: "
          "what one neighbour alone can produce makes every one of them infinite");
    }
    if (std::any_of(entries_.begin(), entries_.end(),
                    [](entry const& e) { return e.left_out > 0.0 && !e.whole.pair; })) {
      return infinity;
    }
    double const removed = composed(&entry::remove, counted_part::whole).upper(order);
    if (symmetric()) return removed;
    return std::max(removed, composed(&entry::add, counted_part::whole).upper(order));
  }

 private:
  struct both_costs {
    detail::renyi_cost remove;
    detail::renyi_cost add;
    bool symmetric;
    double left_out = 0.0;
    bool told_apart = false;
  };
  struct entry {
    detail::renyi_cost remove;
    detail::renyi_cost add;
    bool symmetric;
    std::uint64_t count;
    double left_out = 0.0;  // of δ, for each
    bool told_apart;        // that is what either neighbour alone can produce
    // Of all records that can take part, where something is left out and that is known.
    detail::renyi_cost whole = {};
  };

  // What is missing of the pairs, together: δ is larger by that at most.
  [[nodiscard]] double left_out() const {
    double sum = 0.0;
    for (entry const& e : entries_) {
      sum = detail::add_up(sum, detail::multiply_up(detail::count_up(e.count), e.left_out));
    }
    return sum;
  }

  [[nodiscard]] both_costs costs(event const& release,
                                 std::optional<domination> const& known_pair) const {
    detail::check_event("compose", release);
    if (std::optional<detail::divergence_guarantee> known =
            detail::guarantee_of(release, neighbours_)) {
      return guaranteed(release, std::move(*known));
    }
    bool const exponential = std::holds_alternative<exponential_mechanism>(release.what);
    bool const mixture = std::holds_alternative<gaussian_mixture>(release.what);
    if (auto const* batch = std::get_if<fixed_size>(&release.how);
        batch != nullptr && batch->batch < batch->records &&
        neighbours_ == adjacency::replace_one && release.records_per_person == 1) {
      event whole = release;
      whole.how = unsampled{};
      detail::renyi_cost cost{
          std::nullopt, without_delta(whole, dominate(whole, neighbours_).remove),
          std::min(1.0, batch->rate() * (1.0 + std::numeric_limits<double>::epsilon())),
          exponential};
      if (auto const* lattice = std::get_if<lattice_pair>(&*cost.base)) {
        // αΔ²/2σ², above the lattice's own and needed at every integer.
        cost.base = normal_pair{static_cast<double>(lattice->shift) / lattice->sigma *
                                (1.0 + 2.0 * std::numeric_limits<double>::epsilon())};
      }
      event const longest = mixture ? detail::of_longest(release) : release;
      if (amplifies(release)) cost.pair = dominate(longest, neighbours_).remove;
      return {cost, cost, true};
    }
    if (mixture && (std::holds_alternative<fixed_size>(release.how) ||
                    std::holds_alternative<with_replacement>(release.how))) {
      return costs(detail::of_longest(release), std::nullopt);
    }
    domination found = known_pair ? *known_pair : dominate(release, neighbours_);
    double const apart =
        std::max(detail::taken_apart(found.remove), detail::taken_apart(found.add));
    found.left_out = detail::add_up(found.left_out, apart);
    detail::renyi_cost remove{without_delta(release, found.remove), std::nullopt, 1.0, false};
    detail::renyi_cost add{without_delta(release, found.add), std::nullopt, 1.0, false};
    auto const* bounded = std::get_if<bounded_pair>(&found.remove);
    remove.bounded_range = add.bounded_range =
        exponential && bounded != nullptr && bounded->rate == 1.0;
    return {std::move(remove), std::move(add), found.symmetric, found.left_out, apart > 0.0};
  }

  [[nodiscard]] both_costs guaranteed(event const& release,
                                      detail::divergence_guarantee known) const {
    detail::check_guaranteed_samples(release, neighbours_);
    detail::renyi_cost cost{std::nullopt, std::nullopt, 1.0, false, std::move(known)};
    auto const* coins = std::get_if<poisson>(&release.how);
    auto const* drawn = std::get_if<fixed_size>(&release.how);
    bool const is_sampled = (coins != nullptr && coins->rate > 0.0 && coins->rate < 1.0) ||
                            (drawn != nullptr && drawn->batch < drawn->records);
    if (release.records_per_person > 1 && is_sampled) {
      // One record after the other: what a sample makes of each of them is known.
      cost.together = cost.known;
      cost.known = detail::guarantee_of(by_person(release, 1), neighbours_);
      cost.links = detail::count_up(release.records_per_person);
    }
    if (auto const* scheme = std::get_if<poisson>(&release.how)) {
      if (scheme->rate == 0.0) cost.known = detail::divergence_guarantee(zcdp{0.0});
      if (scheme->rate > 0.0 && scheme->rate < 1.0) {
        // In a sum a record that is not sampled is as good as a null record. Elsewhere absence is no neighbour's state.
        bool const is_null = neighbours_ == adjacency::zero_out &&
                             std::holds_alternative<integer_noise>(release.what);
        if (neighbours_ != adjacency::add_remove && !is_null) {
          cost.known = cost.known->told(scheme->rate);
          return {cost, cost, true};
        }
        detail::renyi_cost added = cost;
        added.known = cost.known->sampled(scheme->rate, orientation::add);
        cost.known = cost.known->sampled(scheme->rate, orientation::remove);
        return {std::move(cost), std::move(added), false};
      }
    }
    if (auto const* batch = std::get_if<fixed_size>(&release.how)) {
      cost.rate = std::min(1.0, batch->rate() * (1.0 + std::numeric_limits<double>::epsilon()));
    }
    return {cost, cost, true};
  }

  // The mechanisms whose fixed-size batches have a dominating pair; for the others the bound of
  // Wang, Balle & Kasiviswanathan stands alone.
  [[nodiscard]] static bool amplifies(event const& release) {
    return !std::holds_alternative<discrete_gaussian>(release.what);
  }

  [[nodiscard]] static dominating_pair without_delta(event const& release, dominating_pair pair) {
    auto const* finite = std::get_if<finite_pair>(&pair);
    if (finite == nullptr || (finite->infinite == 0.0 && finite->left_out == 0.0)) return pair;
    auto const* noise = std::get_if<integer_noise>(&release.what);
    if (std::holds_alternative<approx_dp>(release.what) ||
        std::holds_alternative<dp_profile>(release.what) ||
        (noise != nullptr && noise->law == integer_law::binomial)) {
      throw std::invalid_argument(
          "compose: there is no known bound for an event with delta > 0 by Rényi divergences: what "
          "one neighbour alone can produce makes every one of them infinite");
    }
    throw std::invalid_argument(
        "compose: no bound is implemented for this noise in these samples by Rényi divergences; "
        "take the privacy-loss or the discretised accountant");
  }

  [[nodiscard]] bool symmetric() const {
    return std::all_of(entries_.begin(), entries_.end(),
                       [](entry const& e) { return e.symmetric; });
  }

  // Of a release as if all records took part that can; nothing where no bound is known of that.
  [[nodiscard]] detail::renyi_cost with_all_records(event const& release) const {
    std::uint64_t const many = detail::most_taking_part(release);
    if (many == 0) return {};
    try {
      both_costs all = costs(by_person(event(release.what), many), std::nullopt);
      if (all.left_out > 0.0) return {};
      return std::move(all.remove);
    } catch (std::logic_error const&) {  // noise that is too small for so many, say
      return {};
    }
  }

  enum class counted_part {
    pairs,   // without what they leave out
    whole,   // with it
    sketch,  // a few kinds that stand for the pairs, which bound nothing
  };

  [[nodiscard]] detail::composed_curve<T> composed(detail::renyi_cost entry::*towards,
                                                   counted_part what = counted_part::pairs) const {
    detail::composed_curve<T> curve;
    detail::similar<detail::renyi_cost> alike;
    detail::similar<detail::renyi_cost> dear;  // of which a divergence takes milliseconds
    auto const cost_of = [&](entry const& e) -> detail::renyi_cost const& {
      bool const is_cut = what == counted_part::whole && e.left_out > 0.0;
      return is_cut ? e.whole : e.*towards;
    };
    std::size_t parts = 0;
    std::size_t changed = 0;  // parts of substitutes, of which a divergence takes as much longer
    for (entry const& e : entries_) {
      parts += detail::parts_of(cost_of(e));
      changed += detail::changed_parts_of(cost_of(e));
    }
    std::size_t const most_dear =
        changed > most_changed ? std::max<std::size_t>(8, most_changed * entries_.size() / changed)
                               : most_dear_kinds;
    // Each its share of parts, where there are too many.
    bool const is_heavy = entries_.size() > 1 && parts > most_parts;
    std::size_t const share = std::max<std::size_t>(4, most_parts / (entries_.size() + 1));
    detail::renyi_cost fewer;
    for (entry const& e : entries_) {
      if (is_heavy) fewer = detail::with_fewer_parts(cost_of(e), share);
      detail::renyi_cost const& cost = is_heavy ? fewer : cost_of(e);
      double const count = detail::count_up(e.count);
      bool const by_panels = detail::takes_panels(cost);
      detail::rising_pair at;
      if (what == counted_part::sketch ||
          entries_.size() > (by_panels ? most_dear : most_distinct)) {
        at = detail::rising_numbers(cost);
      }
      if (at) {
        (by_panels ? dear : alike).add(cost, std::move(at), count);
      } else {
        curve.add(cost, count);
      }
    }
    auto const use = [&](detail::renyi_cost const& like, std::vector<double> const& numbers,
                         double count, bool up) {
      if (what == counted_part::sketch) {  // half of a cell above, and half of it below
        curve.add(detail::cost_with(like, numbers), 0.5 * count);
      } else if (up) {
        curve.add(detail::cost_with(like, numbers), count);
      }
    };
    if (what == counted_part::sketch) {
      std::move(alike).round(most_sketched, most_sketched, 0.0, use);
      std::move(dear).round(few_dear, few_dear, 0.0, use);
      curve.settle();
      return curve;
    }
    std::move(alike).round(most_distinct / 2, most_distinct, 0.0, use);
    std::move(dear).round(most_dear, most_dear, 0.0, use);
    curve.settle();
    return curve;
  }

  /// The larger of the two directions' least bounds. What is below the first direction's need not be
  /// known any better.
  template <class Start, class Bound>
  [[nodiscard]] double worst_least(detail::work_budget& work, Start&& first, Bound&& of) const {
    double step = 0.5;
    double most_asked = most_asked_of_few;
    auto const least = [&](detail::composed_curve<T>& curve, double from, double enough) {
      double asked = 0.0;
      auto const at = [&](double order) {
        asked += curve.each();
        double const all = asked + curve.work() / losses_each;
        if (all > most_asked && asked > curve.each()) return infinity;
        return of(order, curve.upper(order));
      };
      detail::ordered_bound best = detail::least_over_orders(from, enough, at, step);
      for (double const order : stated_near(curve, best.where)) {
        best.value = std::min(best.value, at(order));
      }
      (void)work.spend(loss_cost * curve.work());
      return best;
    };
    auto const start_of = [&](detail::composed_curve<T>& curve,
                              detail::renyi_cost entry::*towards) {
      if (curve.each() <= most_sought) return first(curve);
      detail::composed_curve<T> sketch = composed(towards, counted_part::sketch);
      if (sketch.each() > 0.5 * curve.each()) return first(curve);
      double const where = least(sketch, first(sketch), -infinity).where;
      step = little_step;
      most_asked = most_asked_of_many;
      return where;
    };
    detail::composed_curve<T> removed = composed(&entry::remove);
    detail::ordered_bound const one = least(removed, start_of(removed, &entry::remove), -infinity);
    if (symmetric()) return one.value;
    detail::composed_curve<T> added = composed(&entry::add);
    return std::max(one.value, least(added, one.where, one.value).value);
  }

  // The orders at which divergences are stated; of very many, beside other releases, those next to the best one.
  [[nodiscard]] static std::vector<double> stated_near(detail::composed_curve<T> const& curve,
                                                       double log_excess) {
    constexpr std::size_t few = 32;
    std::vector<double> orders = curve.stated_orders();
    std::sort(orders.begin(), orders.end());
    orders.erase(std::unique(orders.begin(), orders.end()), orders.end());
    if (curve.size() == 1 || orders.size() <= few) return orders;
    auto const off = [&](double order) {
      return std::abs(elementary::log(order - 1.0) - log_excess);
    };
    std::sort(orders.begin(), orders.end(), [&](double a, double b) { return off(a) < off(b); });
    orders.resize(few);
    return orders;
  }

  // log(α−1) of the largest order 1 + 2^{−k} of finite divergence.
  [[nodiscard]] static double least_finite(detail::composed_curve<T>& curve) {
    double z = 1.0;
    while (z > 1e-9 && !(curve.upper(1.0 + z) < infinity)) z *= 0.5;
    return elementary::log(z);
  }

  // log(α−1) of about the best order for ε at e^{−level}: where z(1+z)·D₂/2 = level, unless D grows
  // faster than that, which its first value shows.
  [[nodiscard]] static double start(detail::composed_curve<T>& curve, double level) {
    double const half = 0.5 * curve.upper(2.0);
    if (!(half < infinity)) return least_finite(curve);
    if (!(half > 0.0 && half < 1e300)) return 0.0;
    double z = std::sqrt(level / half);
    for (int round = 0; round < 60 && z > 1e-9; ++round) {
      double const cost = z * curve.upper(1.0 + std::min(z, 1e8));
      if (cost < 4.0 * level + 40.0) break;
      z *= cost < 1e3 * (level + 1.0) ? 0.6 : 0.25;
    }
    return elementary::log(std::min(z, 1e8));
  }

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  // Beyond so many distinct events similar ones count as the largest of them: Lemma 13 of docs/certificates/grid.md.
  static constexpr std::size_t most_distinct = 4096;
  static constexpr std::size_t most_dear_kinds = 100;
  static constexpr std::size_t most_changed = 160;   // parts, all together
  static constexpr std::size_t most_parts = 10'000;  // of mixtures, all together, for one order
  // Of more kinds, as composed curves count them, the order is sought for so many cells of them.
  static constexpr double most_sought = 128.0;
  static constexpr std::size_t most_sketched = 64;
  static constexpr std::size_t few_dear = 8;
  static constexpr double little_step = 0.05;  // of the search for all beside that order
  // Divergences in one search. Every order gives a bound, so that it may end anywhere.
  static constexpr double most_asked_of_few = 50'000.0;
  static constexpr double most_asked_of_many = 30'000.0;
  // Losses of parts of mixtures for their tables that count as one of these.
  static constexpr double losses_each = 300.0;
  static constexpr double loss_cost = 60.0;  // in counted nanoseconds

  adjacency neighbours_;
  std::vector<entry> entries_;
  std::map<detail::event_key, std::size_t> places_;  // of the entries
};

using renyi = basic_renyi<double>;
using renyi_accountant = accountant<renyi>;

#if defined(TACIT_COMPILED)
extern template class basic_renyi<double>;
#endif

}  // namespace tacit
