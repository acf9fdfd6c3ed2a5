// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/deltas_of.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/similar_events.hpp>
#include <tacit/dp/similar_pairs.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tacit {

/// A method that asks for few pairs where those of many releases of one kind each take long to find and to compose: sums in
/// batches, and integer noise in samples. Releases of one kind differ in nothing but their noise and their batch or rate. Of more
/// than `most_alone` of them whose pairs take `work_alone` together, those that are alike count as one: for an upper end as one
/// of the least noise and the largest batch among them, for a lower end as one of the most noise and the smallest batch.
/// Everything else is the method's own.
///
/// Guarantee: lower ≤ truth ≤ upper, as the method's own (docs/certificates/sampling.md, Lemma 15).
template <class Method>
class gathering {
 public:
  static constexpr std::string_view name = Method::name;
  /// How many releases of a kind are composed as they are, whatever their pairs take; and the work, in counted nanoseconds, up
  /// to which more of them are.
  static constexpr std::size_t most_alone = 12;
  static constexpr double work_alone = 5e8;

  template <class... More>
  explicit gathering(adjacency neighbours, More... more)
      : neighbours_(neighbours), all_(neighbours, more...) {}

  /// @throws as the method does; nothing is added then
  void add(event const& release, std::uint64_t count) {
    if (count == 0) return;
    detail::rising_pair const at = detail::rising_numbers(release);
    kind* const of = at ? kind_of(at) : nullptr;
    bool const is_known = of != nullptr && of->members.contains(at.numbers);
    if (!at || (is_known && !crowded_)) {
      to_all([&](Method& method) { method.add(release, count); }, !is_known);
      if (is_known) kind_to_change(at).count(at, count);
      return;
    }
    if (is_known || (of != nullptr && of->is_full())) {
      std::uint64_t const most = std::uint64_t{1} << 62U;
      detail::require_domain(of->total < most && count < most, "compose", "count", count,
                             "small enough for a total of 2^62 releases of a kind");
      kind& changed = kind_to_change(at);
      if (!is_known) check(changed, release, at.numbers);
      changed.count(at, count);
      crowded_ = true;
      return;
    }
    domination const found = dominate(release, neighbours_);
    double const work = work_of(found);
    if (work > 0.0 && !gathered_) gathered_ = std::make_shared<gathered>(gathered{all_, {}, {}});
    to_all([&](Method& method) { method.add(release, count, found); }, work == 0.0);
    if (work == 0.0) return;
    own().kinds.try_emplace(at.shape, kind{release, {}, at.numbers, at.numbers});
    kind& changed = kind_to_change(at);
    changed.checked(at.numbers);
    changed.count(at, count);
    changed.work += work;
  }

  /// Any dominating pairs, for a mechanism that is no `event`.
  template <std::same_as<domination> Pairs>
  requires requires(Method& method, Pairs const& pairs) { method.add(pairs, std::uint64_t{1}); }
  void add(Pairs const& pairs, std::uint64_t count) {
    to_all([&](Method& method) { method.add(pairs, count); }, true);
  }

  [[nodiscard]] bound<double> epsilon(double delta) const {
    return ends([&](Method const& method) { return method.epsilon(delta); });
  }
  [[nodiscard]] bound<double> delta(double epsilon) const {
    return ends([&](Method const& method) { return method.delta(epsilon); });
  }
  /// The same, and the way that the upper end was found.
  [[nodiscard]] auto epsilon_by(double delta) const requires requires(Method const& method) {
    method.epsilon_by(delta);
  }
  {
    return answers([&](Method const& method) { return method.epsilon_by(delta); });
  }
  [[nodiscard]] auto delta_by(double epsilon) const requires requires(Method const& method) {
    method.delta_by(epsilon);
  }
  {
    return answers([&](Method const& method) { return method.delta_by(epsilon); });
  }
  /// The same, and what the answer costs is counted in `work`, which limits nothing.
  [[nodiscard]] bound<double> counted_epsilon(double delta, detail::work_budget& work) const {
    return ends([&](Method const& method) { return method.counted_epsilon(delta, work); });
  }
  [[nodiscard]] bound<double> counted_delta(double epsilon, detail::work_budget& work) const {
    return ends([&](Method const& method) { return method.counted_delta(epsilon, work); });
  }
  /// The same for about what is left of `work`, in which it is counted.
  [[nodiscard]] bound<double> epsilon_within(double delta, detail::work_budget& work) const {
    return ends_within(work, [&](Method const& method, detail::work_budget& own) {
      return method.epsilon_within(delta, own);
    });
  }
  [[nodiscard]] bound<double> delta_within(double epsilon, detail::work_budget& work) const {
    return ends_within(work, [&](Method const& method, detail::work_budget& own) {
      return method.delta_within(epsilon, own);
    });
  }

  /// `delta_within` for δ at many ε. For one thread at a time, for as long as this is there and nothing is added to it.
  [[nodiscard]] auto deltas() const {
    std::vector<decltype(detail::deltas_of(all_))> ways;
    ways.push_back(detail::deltas_of(crowded_ ? made().above : all_));
    if (crowded_) ways.push_back(detail::deltas_of(made().below));
    return [ways = std::move(ways)](double epsilon, detail::work_budget& work) mutable {
      if (ways.size() == 1) return ways[0](epsilon, work);
      bound<double> const above = work.within(
          0.5 * work.left(), [&](detail::work_budget& own) { return ways[0](epsilon, own); });
      return below_it(above, ways[1](epsilon, work));
    };
  }

  /// Whether the pairs are attained, so that `lower` bounds the mechanism's own loss.
  [[nodiscard]] bool attained() const requires requires(Method const& method) { method.attained(); }
  { return (crowded_ ? made().below : all_).attained(); }

  /// What the first question takes beside what is counted in it.
  [[nodiscard]] double work_on_epochs() const requires requires(Method const& method) {
    method.work_on_epochs();
  }
  { return (crowded_ ? gathered_->others : all_).work_on_epochs(); }

 private:
  // For how many pairs those of the kinds that are full count, once one of them is crowded.
  static constexpr std::size_t most_together = 8;

  using numbers = std::vector<double>;
  struct member {
    std::uint64_t count;
    double size;
  };
  struct kind {
    event like;
    std::map<numbers, member> members;
    // Between these nothing is refused: see `check`.
    numbers low;
    numbers high;
    std::uint64_t total = 0;
    double work = 0.0;  // of those whose pairs were asked for

    [[nodiscard]] bool is_full() const {
      return members.size() >= most_alone && work >= work_alone;
    }
    void count(detail::rising_pair const& at, std::uint64_t more) {
      member& one = members.try_emplace(at.numbers, member{0, at.size}).first->second;
      one.count += more;
      total += more;
    }
    void checked(numbers const& at) {
      for (std::size_t i = 0; i < at.size(); ++i) {
        low[i] = std::min(low[i], at[i]);
        high[i] = std::max(high[i], at[i]);
      }
    }
  };
  struct sides {
    Method above;
    Method below;
  };
  struct lazily_made {
    std::once_flag once;
    std::optional<sides> both;
  };
  // Once there is a kind. Shared by copies until one of them changes.
  struct gathered {
    Method others;  // what is of none of the kinds
    std::map<detail::rising_pair::shape_key, kind> kinds;
    std::shared_ptr<lazily_made> made;
  };

  // What this has for itself, to be changed.
  [[nodiscard]] gathered& own() {
    if (gathered_.use_count() > 1) gathered_ = std::make_shared<gathered>(*gathered_);
    gathered_->made = std::make_shared<lazily_made>();
    return *gathered_;
  }
  [[nodiscard]] kind* kind_of(detail::rising_pair const& at) {
    if (!gathered_) return nullptr;
    auto const place = gathered_->kinds.find(at.shape);
    return place != gathered_->kinds.end() ? &place->second : nullptr;
  }
  [[nodiscard]] kind& kind_to_change(detail::rising_pair const& at) {
    return own().kinds.find(at.shape)->second;
  }

  // What it takes to find a pair and to compose it, in counted nanoseconds, of those for which a grid has no others; or 0.
  template <std::same_as<domination> Pairs>
  [[nodiscard]] static double work_of(Pairs const& found) {
    constexpr double on_grid = 2e7;
    constexpr std::size_t many_parts = 4;
    constexpr double each_loss = 2e4;
    if (auto const* finite = std::get_if<finite_pair>(&found.remove)) {
      return found.work + std::min(on_grid, each_loss * static_cast<double>(finite->atoms.size()));
    }
    auto const* mixture = std::get_if<mixture_pair>(&found.remove);
    auto const* coupled = std::get_if<coupled_pair>(&found.remove);
    bool const alone = (mixture != nullptr && mixture->parts.size() > many_parts) ||
                       (coupled != nullptr && coupled->mirrored);
    return found.work + (alone ? on_grid : 0.0);
  }

  // To the method that has everything, while there is one, and to that of all others.
  template <class Add>
  void to_all(Add&& add, bool is_other) {
    if (!crowded_) add(all_);
    if (is_other && gathered_) add(own().others);
  }

  // What is refused of a kind lies beyond some batch, or some noise, on either side: it is never between two releases that are
  // not. So that not each of many has to be asked for, what is asked for goes further than the release at hand.
  void check(kind& of, event const& release, numbers const& at) const {
    bool inside = true;
    for (std::size_t i = 0; i < at.size(); ++i) {
      inside = inside && of.low[i] <= at[i] && at[i] <= of.high[i];
    }
    if (inside) return;
    (void)dominate(release, neighbours_);
    of.checked(at);
    of.low[0] = 0.0;  // smaller batches and rates are never refused
    numbers low = of.low;
    numbers high = of.high;
    high[0] = detail::more_often(release, high[0]);
    low[0] = high[0];
    if (at.size() > 1) {
      low[1] *= 0.5;
      high[1] *= 2.0;
    }
    try {
      (void)dominate(detail::event_with(of.like, high, true), neighbours_);
      (void)dominate(detail::event_with(of.like, low, false), neighbours_);
    } catch (std::exception const&) {
      return;
    }
    of.high = std::move(high);
    if (at.size() > 1) of.low[1] = low[1];
  }

  [[nodiscard]] sides const& made() const {
    gathered const& all = *gathered_;
    std::call_once(all.made->once, [&all] {
      sides out{all.others, all.others};
      auto const use = [&](event const& like, numbers const& at, std::uint64_t count, bool up) {
        (up ? out.above : out.below).add(detail::event_with(like, at, up), count);
      };
      detail::similar<event> alike;
      for (auto const& [shape, of] : all.kinds) {
        for (auto const& [at, one] : of.members) {
          if (of.is_full()) {
            alike.add(of.like, {shape, at, one.size}, static_cast<double>(one.count));
          } else {
            use(of.like, at, one.count, true);
            use(of.like, at, one.count, false);
          }
        }
      }
      std::move(alike).round(most_together, most_together, 0.0,
                             [&](event const& like, numbers const& at, double count, bool up) {
                               use(like, at, static_cast<std::uint64_t>(count), up);
                             });
      all.made->both = std::move(out);
    });
    return *all.made->both;
  }

  // Pairs that are put under some points of their profile lie a little above it, so that the ends of one release as two sides
  // may be the wrong way round by as little.
  [[nodiscard]] static bound<double> below_it(bound<double> const& above,
                                              bound<double> const& below) {
    return {std::min(below.lower, above.upper), above.upper};
  }

  template <class Ask>
  [[nodiscard]] bound<double> ends(Ask&& ask) const {
    if (!crowded_) return ask(all_);
    bound<double> const above = ask(made().above);
    return below_it(above, ask(made().below));
  }
  template <class Ask>
  [[nodiscard]] bound<double> ends_within(detail::work_budget& work, Ask&& ask) const {
    if (!crowded_) return ask(all_, work);
    bound<double> const above = work.within(
        0.5 * work.left(), [&](detail::work_budget& own) { return ask(made().above, own); });
    return below_it(above, ask(made().below, work));
  }
  template <class Ask>
  [[nodiscard]] auto answers(Ask&& ask) const {
    if (!crowded_) return ask(all_);
    auto found = ask(made().above);
    found.value = below_it(found.value, ask(made().below).value);
    return found;
  }

  adjacency neighbours_;
  Method all_;  // while no kind is crowded
  bool crowded_ = false;
  std::shared_ptr<gathered> gathered_;
};

}  // namespace tacit
