// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/deltas_of.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/event_words.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/similar_events.hpp>
#include <tacit/dp/similar_pairs.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tacit {

/// A method that asks for few pairs where those of many releases of one kind each take long to find and to compose: sums with
/// normal or Laplace noise in batches. Releases of one kind differ in nothing but their noise and the size of the batch. Of more
/// than `most_alone` of them whose pairs take `work_alone` together, those that are alike count, for an upper end, as one of the
/// least noise and the largest batch among them; the lower end is that of a few of them alone. Everything else is the method's own.
///
/// Guarantee: lower ≤ truth ≤ upper, as the method's own (docs/certificates/sampling.md, Lemma 15).
template <class Method>
class gathering {
 public:
  static constexpr std::string_view name = Method::name;
  /// How many releases of a kind are composed as they are, whatever their pairs take; and the work, in counted nanoseconds, up
  /// to which more of them are.
  static constexpr std::size_t most_alone = 12;
  static constexpr double work_alone = 1.2e9;

  template <class... More>
  explicit gathering(adjacency neighbours, More... more)
      : neighbours_(neighbours), all_(neighbours, more...) {}

  /// @throws as the method does, and std::domain_error for 2^62 releases and more beside a kind that is gathered; nothing is
  ///         added then
  void add(event const& release, std::uint64_t count) {
    if (count == 0) return;
    check_total(count);
    add_checked(release, count);
    count_in(count);
  }

  /// Any dominating pairs, for a mechanism that is no `event`.
  template <std::same_as<domination> Pairs>
  requires requires(Method& method, Pairs const& pairs) { method.add(pairs, std::uint64_t{1}); }
  void add(Pairs const& pairs, std::uint64_t count) {
    check_total(count);
    to_all([&](Method& method) { method.add(pairs, count); }, true);
    count_in(count);
  }

  [[nodiscard]] bound<double> epsilon(double delta) const {
    return epsilon_of(delta, [](Method const& method, double d) { return method.epsilon(d); });
  }
  [[nodiscard]] bound<double> delta(double epsilon) const {
    return delta_of([&](Method const& method) { return method.delta(epsilon); });
  }
  /// The same, and the way that the upper end was found. A template, as all that not every method answers: clang 14, told to
  /// instantiate a class, instantiates its members whatever they require.
  template <class Asked = Method>
  requires requires(Asked const& method) { method.epsilon_by(0.5); }
  [[nodiscard]] auto epsilon_by(double delta) const {
    auto found = answers([&](Asked const& method) { return method.epsilon_by(delta); });
    found.value.upper = epsilon_upper(found.value, delta, [this](double d) {
      return answers([&](Asked const& method) { return method.epsilon_by(d); }).value;
    });
    found.value = by_heavy_parts(found.value, delta,
                                 [](Asked const& method, double d) { return method.epsilon(d); });
    return found;
  }
  template <class Asked = Method>
  requires requires(Asked const& method) { method.delta_by(1.0); }
  [[nodiscard]] auto delta_by(double epsilon) const {
    auto found = answers([&](Asked const& method) { return method.delta_by(epsilon); });
    found.value = by_heavy_parts(charged(found.value),
                                 [&](Asked const& method) { return method.delta(epsilon); });
    return found;
  }
  /// The same, and what the answer costs is counted in `work`, which limits nothing.
  [[nodiscard]] bound<double> counted_epsilon(double delta, detail::work_budget& work) const {
    return epsilon_of(
        delta, [&](Method const& method, double d) { return method.counted_epsilon(d, work); });
  }
  [[nodiscard]] bound<double> counted_delta(double epsilon, detail::work_budget& work) const {
    return delta_of([&](Method const& method) { return method.counted_delta(epsilon, work); });
  }
  /// The same for about what is left of `work`, in which it is counted.
  [[nodiscard]] bound<double> epsilon_within(double delta, detail::work_budget& work) const {
    return charged(delta, [&](double d) {
      return ends_within(work, [&](Method const& method, detail::work_budget& own) {
        return method.epsilon_within(d, own);
      });
    });
  }
  [[nodiscard]] bound<double> delta_within(double epsilon, detail::work_budget& work) const {
    return charged(ends_within(work, [&](Method const& method, detail::work_budget& own) {
      return method.delta_within(epsilon, own);
    }));
  }

  /// `delta_within` for δ at many ε. For one thread at a time, for as long as this is there and nothing is added to it.
  [[nodiscard]] auto deltas() const {
    std::vector<decltype(detail::deltas_of(all_))> ways;
    ways.push_back(detail::deltas_of(crowded() ? made().above : all_));
    if (crowded()) ways.push_back(detail::deltas_of(made().below));
    return [this, ways = std::move(ways)](double epsilon, detail::work_budget& work) mutable {
      if (ways.size() == 1) return charged(ways[0](epsilon, work));
      return charged(in_halves(
          work, [&](detail::work_budget& own) { return ways[0](epsilon, own); },
          [&](detail::work_budget& own) { return ways[1](epsilon, own); }));
    };
  }

  /// Whether the pairs are attained, so that `lower` bounds the mechanism's own loss.
  template <class Asked = Method>
  requires requires(Asked const& method) { method.attained(); }
  [[nodiscard]] bool attained() const {
    Asked const& asked = crowded() ? made().below : all_;
    return asked.attained();
  }

  /// What the first question takes beside what is counted in it.
  template <class Asked = Method>
  requires requires(Asked const& method) { method.work_on_epochs(); }
  [[nodiscard]] double work_on_epochs() const {
    Asked const& asked = crowded() ? gathered_->others : all_;
    return asked.work_on_epochs();
  }

 private:
  // How many stand for the releases of all kinds that are full, once one of them is crowded; and how many of them make the
  // lower end.
  static constexpr std::size_t most_together = 8;
  static constexpr std::size_t most_below = 4;
  // What cells add up, with its rounding, is still a number of 64 bits.
  static constexpr std::uint64_t most_releases = std::uint64_t{1} << 62U;

  struct member {
    event release;
    std::uint64_t count;
  };
  struct kind {
    std::map<detail::event_key, member> members;
    double work = 0.0;  // of those whose pairs were asked for

    [[nodiscard]] bool is_full() const {
      return members.size() >= most_alone && work >= work_alone;
    }
    void add(event const& release, std::uint64_t count) {
      members.try_emplace(detail::key_of(release), member{release, 0}).first->second.count += count;
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
    bool crowded = false;  // then no method has everything
    std::shared_ptr<lazily_made> made;
  };

  void count_in(std::uint64_t count) {
    total_ = leaves_room(count) ? total_ + count : most_releases;
  }
  // Whether the total with them is still a number of 64 bits.
  [[nodiscard]] bool leaves_room(std::uint64_t count) const {
    return total_ < most_releases && count <= most_releases - total_;
  }
  void check_total(std::uint64_t count) const {
    if (!crowded()) return;
    detail::require_domain(leaves_room(count), "compose", "count", count,
                           "small enough for a total of 2^62, beside batches that are gathered");
  }

  void add_checked(event const& release, std::uint64_t count) {
    detail::rising_pair const at = detail::rising_numbers(release);
    kind const* const of = at ? kind_of(at) : nullptr;
    bool const is_known = of != nullptr && of->members.contains(detail::key_of(release));
    if (!at || (is_known && !crowded())) {
      to_all([&](Method& method) { method.add(release, count); }, !is_known);
      if (is_known) own().kinds[at.shape].add(release, count);
      return;
    }
    bool const is_gathered = of != nullptr && of->is_full() && leaves_room(count);
    if (is_known || is_gathered) {  // nothing is refused of it: see `rising_numbers`
      own().kinds[at.shape].add(release, count);
      gathered_->crowded = true;
      return;
    }
    domination const found = dominate(release, neighbours_);
    double const work = work_of(found);
    if (work > 0.0 && !gathered_) {
      gathered_ = std::make_shared<gathered>(gathered{all_, {}, false, {}});
    }
    to_all([&](Method& method) { method.add(release, count, found); }, work == 0.0);
    if (work == 0.0) return;
    kind& changed = own().kinds[at.shape];
    changed.add(release, count);
    changed.work += work;
  }

  [[nodiscard]] bool crowded() const { return gathered_ && gathered_->crowded; }

  // What this has for itself, to be changed.
  [[nodiscard]] gathered& own() {
    if (gathered_.use_count() > 1) gathered_ = std::make_shared<gathered>(*gathered_);
    gathered_->made = std::make_shared<lazily_made>();
    return *gathered_;
  }
  [[nodiscard]] kind const* kind_of(detail::rising_pair const& at) const {
    if (!gathered_) return nullptr;
    auto const place = gathered_->kinds.find(at.shape);
    return place != gathered_->kinds.end() ? &place->second : nullptr;
  }

  // What it takes to find a pair and to compose it, in counted nanoseconds, of those for which a grid has no others; or 0.
  template <std::same_as<domination> Pairs>
  [[nodiscard]] static double work_of(Pairs const& found) {
    constexpr double on_grid = 2e7;
    constexpr std::size_t many_parts = 4;
    auto const* mixture = std::get_if<mixture_pair>(&found.remove);
    auto const* coupled = std::get_if<coupled_pair>(&found.remove);
    bool const alone = std::holds_alternative<finite_pair>(found.remove) ||
                       (mixture != nullptr && mixture->parts.size() > many_parts) ||
                       (coupled != nullptr && coupled->mirrored);
    return found.work + (alone ? on_grid : 0.0);
  }

  // To the method that has everything, while there is one, and to that of all others.
  template <class Add>
  void to_all(Add&& add, bool is_other) {
    if (!crowded()) add(all_);
    if (is_other && gathered_) add(own().others);
  }

  [[nodiscard]] sides const& made() const {
    gathered const& all = *gathered_;
    std::call_once(all.made->once, [&all] {
      sides out{all.others, all.others};
      detail::similar<event> alike;
      std::vector<std::pair<double, member const*>> largest;
      for (auto const& [shape, of] : all.kinds) {
        for (auto const& [key, one] : of.members) {
          if (!of.is_full()) {
            out.above.add(one.release, one.count);
            out.below.add(one.release, one.count);
            continue;
          }
          detail::rising_pair const at = detail::rising_numbers(one.release);
          auto const count = static_cast<double>(one.count);
          largest.emplace_back(-count * at.size * at.size, &one);
          alike.add(one.release, at, count);
        }
      }
      std::move(alike).round(
          most_together, most_together, 0.0,
          [&](event const& like, std::vector<double> const& numbers, double count, bool up) {
            if (!up) return;
            out.above.add(detail::event_above(like, numbers), static_cast<std::uint64_t>(count));
          });
      // A composition leaks no less than a part of it.
      std::stable_sort(largest.begin(), largest.end(),
                       [](auto const& a, auto const& b) { return a.first < b.first; });
      largest.resize(std::min(largest.size(), most_below));
      for (auto const& [size, one] : largest) out.below.add(one->release, one->count);
      all.made->both = std::move(out);
    });
    return *all.made->both;
  }

  template <class Ask>
  [[nodiscard]] bound<double> epsilon_of(double delta, Ask&& ask) const {
    bound<double> const whole = charged(delta, [&](double d) {
      return ends([&](Method const& method) { return ask(method, d); });
    });
    return by_heavy_parts(whole, delta, ask);
  }
  template <class Ask>
  [[nodiscard]] bound<double> delta_of(Ask&& ask) const {
    return by_heavy_parts(charged(ends(ask)), ask);
  }

  // All releases, without those parts of mixtures that weigh least: at most `most` together in all of them, which `left_out` of
  // what is above has. Nothing where no part is so light. Lemma 16 of docs/certificates/sampling.md.
  [[nodiscard]] std::optional<sides> without_light_parts(double most) const {
    if (!gathered_ || crowded()) return std::nullopt;
    double members = 0.0;
    for (auto const& [shape, of] : gathered_->kinds) {
      members += static_cast<double>(of.members.size());
    }
    std::optional<sides> out;
    bool lighter = false;
    for (auto const& [shape, of] : gathered_->kinds) {
      for (auto const& [key, one] : of.members) {
        double const each = most / members / detail::count_up(one.count);
        auto const [above, below, is_lighter] =
            detail::without_light(dominate(one.release, neighbours_), each);
        lighter = lighter || is_lighter;
        if (!out) out = sides{gathered_->others, gathered_->others};
        out->above.add(one.release, one.count, above);
        out->below.add(one.release, one.count, below);
      }
    }
    return lighter ? std::move(out) : std::nullopt;
  }

  // Where an answer is wide, as losses that are as rare as they are large keep lines from one: that of mixtures without parts which
  // weigh next to nothing beside δ. ε(δ): fewer parts first, and more if that was narrow.
  template <class Ask>
  [[nodiscard]] bound<double> by_heavy_parts(bound<double> best, double delta, Ask&& ask) const {
    for (double const share : {1e-3, 1e-9}) {
      if (!(width_of(best) > enough)) break;
      std::optional<sides> const heavy = without_light_parts(share * delta);
      if (!heavy) break;
      double const rest = detail::subtract_down(delta, heavy->above.left_out());
      if (!(rest > 0.0)) break;
      bound<double> const above = ask(heavy->above, rest);
      best.upper = std::min(best.upper, above.upper);
      if (width_of(above) > wide) break;
      best.lower = std::min(best.upper, std::max(best.lower, ask(heavy->below, delta).lower));
      if (width_of(best) > 0.1 * wide) break;
    }
    return best;
  }
  // δ(ε), whose size is found on the way.
  template <class Ask>
  [[nodiscard]] bound<double> by_heavy_parts(bound<double> best, Ask&& ask) const {
    double most = 1e-12;
    for (int k = 0; k < 3 && width_of(best) > enough; ++k) {
      std::optional<sides> const heavy = without_light_parts(most);
      if (!heavy) break;
      double const more = heavy->above.left_out();
      bound<double> const above = ask(heavy->above);
      best.upper = std::min(best.upper, detail::add_up(above.upper, more));
      best.lower = std::min(best.upper, std::max(best.lower, ask(heavy->below).lower));
      if (width_of(above) > wide) break;
      most = std::max(1e-3 * std::min(more, above.upper), 1e-300);
    }
    return best;
  }
  static constexpr double enough = 1e-7;
  static constexpr double wide = 1e-2;
  [[nodiscard]] static double width_of(bound<double> const& found) {
    if (found.upper == 0.0) return 0.0;
    bool const is_known = found.upper <= std::numeric_limits<double>::max();
    return is_known ? (found.upper - found.lower) / found.upper : 1.0;
  }

  // What is asked of a part may be less narrow than what is asked of all.
  [[nodiscard]] static bound<double> below_it(bound<double> const& above,
                                              bound<double> const& below) {
    return {std::min(below.lower, above.upper), above.upper};
  }

  // What the pairs leave out: an upper end is that of δ less it, or has it added.
  [[nodiscard]] double left_out() const { return (crowded() ? made().above : all_).left_out(); }
  template <class Ask>
  [[nodiscard]] double epsilon_upper(bound<double> const& found, double delta, Ask&& ask) const {
    double const less = left_out();
    if (less == 0.0) return found.upper;
    double const rest = detail::subtract_down(delta, less);
    return rest > 0.0 ? std::max(found.upper, ask(rest).upper)
                      : std::numeric_limits<double>::infinity();
  }
  template <class Ask>
  [[nodiscard]] bound<double> charged(double delta, Ask&& ask) const {
    bound<double> found = ask(delta);
    found.upper = epsilon_upper(found, delta, ask);
    return found;
  }
  [[nodiscard]] bound<double> charged(bound<double> const& delta) const {
    double const more = left_out();
    if (more == 0.0) return delta;
    return {delta.lower, std::min(1.0, detail::add_up(delta.upper, more))};
  }

  template <class Above, class Below>
  [[nodiscard]] static bound<double> in_halves(detail::work_budget& work, Above&& above,
                                               Below&& below) {
    bound<double> const found = work.within(0.5 * work.left(), above);
    return below_it(found, below(work));
  }

  template <class Ask>
  [[nodiscard]] bound<double> ends(Ask&& ask) const {
    if (!crowded()) return ask(all_);
    bound<double> const above = ask(made().above);
    return below_it(above, ask(made().below));
  }
  template <class Ask>
  [[nodiscard]] bound<double> ends_within(detail::work_budget& work, Ask&& ask) const {
    if (!crowded()) return ask(all_, work);
    return in_halves(
        work, [&](detail::work_budget& own) { return ask(made().above, own); },
        [&](detail::work_budget& own) { return ask(made().below, own); });
  }
  template <class Ask>
  [[nodiscard]] auto answers(Ask&& ask) const {
    if (!crowded()) return ask(all_);
    auto found = ask(made().above);
    found.value = below_it(found.value, ask(made().below).value);
    return found;
  }

  adjacency neighbours_;
  Method all_;  // while no kind is crowded
  std::shared_ptr<gathered> gathered_;
  std::uint64_t total_ = 0;  // of all releases, up to `most_releases`
};

}  // namespace tacit
