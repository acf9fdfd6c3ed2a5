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
/// least noise and the largest batch among them; the lower end is that of a few of them alone. Mixtures are asked without parts
/// that weigh next to nothing beside δ. Everything else is the method's own.
///
/// Guarantee: lower ≤ truth ≤ upper, as the method's own (docs/certificates/sampling.md, Lemmas 15 and 16).
template <class Method>
class gathering {
 public:
  static constexpr std::string_view name = Method::name;
  /// How many releases of a kind are composed as they are, whatever their pairs take; and the work, in counted nanoseconds, up
  /// to which more of them are.
  static constexpr std::size_t most_alone = 12;
  static constexpr double work_alone = 1.1e9;

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
    detail::work_budget work = own_work();
    auto found = epsilon_of(delta, work, finely{});
    return interval_of(found);
  }
  [[nodiscard]] bound<double> delta(double epsilon) const {
    detail::work_budget work = own_work();
    auto found = delta_of(epsilon, work, finely{});
    return interval_of(found);
  }
  /// The same, and the way that the upper end was found. A template, as all that not every method answers: clang 14, told to
  /// instantiate a class, instantiates its members whatever they require.
  template <class Asked = Method>
  requires requires(Asked const& method) { method.epsilon_by(0.5); }
  [[nodiscard]] auto epsilon_by(double delta) const {
    detail::work_budget work = own_work();
    return epsilon_of(delta, work, finely{});
  }
  template <class Asked = Method>
  requires requires(Asked const& method) { method.delta_by(1.0); }
  [[nodiscard]] auto delta_by(double epsilon) const {
    detail::work_budget work = own_work();
    return delta_of(epsilon, work, finely{});
  }
  /// The same as a search asks; what the answer and the composition cost is counted in `work`, which limits nothing.
  [[nodiscard]] bound<double> counted_epsilon(double delta, detail::work_budget& work) const {
    (void)work.spend(work_to_compose());
    return detail::counted(work, own_work(), [&](auto& own) { return epsilon_within(delta, own); });
  }
  [[nodiscard]] bound<double> counted_delta(double epsilon, detail::work_budget& work) const {
    (void)work.spend(work_to_compose());
    return detail::counted(work, own_work(), [&](auto& own) { return delta_within(epsilon, own); });
  }
  /// The same for about what is left of `work`, in which it is counted.
  [[nodiscard]] bound<double> epsilon_within(double delta, detail::work_budget& work) const {
    return epsilon_of(delta, work, coarsely{});
  }
  [[nodiscard]] bound<double> delta_within(double epsilon, detail::work_budget& work) const {
    return delta_of(epsilon, work, coarsely{});
  }

  /// `delta_within` for δ at many ε. For one thread at a time, for as long as this is there and nothing is added to it.
  [[nodiscard]] auto deltas() const {
    std::vector<decltype(detail::deltas_of(all_))> ways;
    ways.push_back(detail::deltas_of(crowded() ? both().above : all_));
    if (crowded()) ways.push_back(detail::deltas_of(both().below));
    return [this, ways = std::move(ways)](double epsilon, detail::work_budget& work) mutable {
      if (ways.size() == 1) return charged(all_, ways[0](epsilon, work));
      bound<double> found =
          work.within(0.5 * work.left(), [&](auto& own) { return ways[0](epsilon, own); });
      found.lower = std::min(found.upper, ways[1](epsilon, work).lower);
      return charged(both().above, found);
    };
  }

  /// Whether the pairs are attained, so that `lower` bounds the mechanism's own loss.
  template <class Asked = Method>
  requires requires(Asked const& method) { method.attained(); }
  [[nodiscard]] bool attained() const {
    Asked const& asked = crowded() ? both().below : all_;
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
    double work = 0.0;       // of those whose pairs were asked for
    bool has_parts = false;  // whether these are mixtures

    [[nodiscard]] bool is_full() const {
      return members.size() >= most_alone && work >= work_alone;
    }
    void add(event const& release, std::uint64_t count) {
      members.try_emplace(detail::key_of(release), member{release, 0}).first->second.count += count;
    }
  };
  // What is composed for an upper end, and for a lower one.
  struct sides {
    Method above;
    Method below;
  };
  struct members {
    std::vector<member> above;
    std::vector<member> below;
  };
  struct lazily_made {
    std::once_flag once;
    members of;
    std::optional<sides> whole;
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
    changed.has_parts = changed.has_parts || has_parts(found);
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

  template <std::same_as<domination> Pairs>
  [[nodiscard]] static bool has_parts(Pairs const& found) {
    auto const* mixture = std::get_if<mixture_pair>(&found.remove);
    return mixture != nullptr && mixture->parts.size() > 1;
  }

  [[nodiscard]] bool any_has_parts() const {
    return gathered_ && std::any_of(gathered_->kinds.begin(), gathered_->kinds.end(),
                                    [](auto const& k) { return k.second.has_parts; });
  }

  // To the method that has everything, while there is one, and to that of all others.
  template <class Add>
  void to_all(Add&& add, bool is_other) {
    if (!crowded()) add(all_);
    if (is_other && gathered_) add(own().others);
  }

  [[nodiscard]] lazily_made const& made() const {
    gathered const& all = *gathered_;
    std::call_once(all.made->once, [&all] {
      members of;
      detail::similar<event> alike;
      std::vector<std::pair<double, member const*>> largest;
      for (auto const& [shape, kind_of] : all.kinds) {
        for (auto const& [key, one] : kind_of.members) {
          if (!all.crowded || !kind_of.is_full()) {
            of.above.push_back(one);
            of.below.push_back(one);
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
            of.above.push_back(
                {detail::event_above(like, numbers), static_cast<std::uint64_t>(count)});
          });
      // A composition leaks no less than a part of it.
      std::stable_sort(largest.begin(), largest.end(),
                       [](auto const& a, auto const& b) { return a.first < b.first; });
      largest.resize(std::min(largest.size(), most_below));
      for (auto const& [size, one] : largest) of.below.push_back(*one);
      auto const composed = [&all](std::vector<member> const& list) {
        Method out = all.others;
        for (member const& one : list) out.add(one.release, one.count);
        return out;
      };
      if (all.crowded) all.made->whole = sides{composed(of.above), composed(of.below)};
      all.made->of = std::move(of);
    });
    return *all.made;
  }
  [[nodiscard]] sides const& both() const { return *made().whole; }

  // Without those parts of mixtures that weigh least: at most `most` together in all releases, which `left_out` of what is above
  // has. Nothing where no part is so light. Lemma 16 of docs/certificates/sampling.md.
  [[nodiscard]] std::optional<sides> without_light_parts(double most) const {
    if (!any_has_parts()) return std::nullopt;
    bool lighter = false;
    auto const lightened = [&](std::vector<member> const& list, bool up) {
      Method out = gathered_->others;
      for (member const& one : list) {
        double const each = most / static_cast<double>(list.size()) / detail::count_up(one.count);
        auto const [above, below, is_lighter] =
            detail::without_light(dominate(one.release, neighbours_), each);
        lighter = lighter || is_lighter;
        out.add(one.release, one.count, up ? above : below);
      }
      return out;
    };
    sides out{lightened(made().of.above, true), lightened(made().of.below, false)};
    return lighter ? std::optional(std::move(out)) : std::nullopt;
  }

  // What one question may cost. Mixtures are asked twice; where releases are gathered, their pairs are found for it.
  [[nodiscard]] detail::work_budget own_work() const {
    if (!crowded()) {
      double const whole = all_.own_work().left();
      return detail::work_budget(any_has_parts() ? 1.5 * whole : whole);
    }
    double const whole = both().above.own_work().left();
    return detail::work_budget(std::max(0.3 * whole, whole - work_to_compose()));
  }
  [[nodiscard]] double work_to_compose() const {
    return crowded() ? both().above.work_to_compose() + both().below.work_to_compose()
                     : all_.work_to_compose();
  }

  // How a method is asked: where it is the answer that counts, with the way to it if there is one; and as a search asks. To a δ
  // what the pairs leave out is added.
  struct finely {
    [[nodiscard]] auto epsilon(Method const& method, double delta, detail::work_budget& own) const {
      if constexpr (requires { method.epsilon_by(delta, own); }) {
        return method.epsilon_by(delta, own);
      } else {
        return method.epsilon_within(delta, own);
      }
    }
    [[nodiscard]] auto delta(Method const& method, double epsilon, detail::work_budget& own) const {
      if constexpr (requires { method.delta_by(epsilon, own); }) {
        return charged(method, method.delta_by(epsilon, own));
      } else {
        return charged(method, method.delta_within(epsilon, own));
      }
    }
  };
  struct coarsely {
    [[nodiscard]] bound<double> epsilon(Method const& method, double delta,
                                        detail::work_budget& own) const {
      return method.epsilon_within(delta, own);
    }
    [[nodiscard]] bound<double> delta(Method const& method, double epsilon,
                                      detail::work_budget& own) const {
      return charged(method, method.delta_within(epsilon, own));
    }
  };
  template <class Found>
  [[nodiscard]] static auto charged(Method const& method, Found found) {
    double const more = method.left_out();
    double& upper = interval_of(found).upper;
    if (more > 0.0) upper = std::min(1.0, detail::add_up(upper, more));
    return found;
  }
  template <class Found>
  [[nodiscard]] static bound<double>& interval_of(Found& found) {
    if constexpr (requires { found.value; }) {
      return found.value;
    } else {
      return found;
    }
  }

  // Losses that are as rare as they are large keep lines from an answer: so mixtures are asked without parts that weigh next to
  // nothing beside δ. ε(δ): fewer parts first, and more if that was narrow.
  template <class Way>
  [[nodiscard]] auto epsilon_of(double delta, detail::work_budget& work, Way way) const {
    auto const ask = [&](Method const& method, detail::work_budget& own) {
      return way.epsilon(method, delta, own);
    };
    std::optional<sides> const heavy = without_light_parts(1e-3 * delta);
    if (!heavy) return ends(work, ask);
    double own = 1.0;
    auto found = in_parts(work, *heavy, ask, &own);
    refine(interval_of(found), own, 1e-9 * delta, work, ask);
    return found;
  }
  // δ(ε), whose size is to be found first.
  template <class Way>
  [[nodiscard]] auto delta_of(double epsilon, detail::work_budget& work, Way way) const {
    auto const ask = [&](Method const& method, detail::work_budget& own) {
      return way.delta(method, epsilon, own);
    };
    // The size of what is heavier than that is at most the whole's, and about it where it is much larger.
    double size = 0.0;
    double light = 1e-3;
    std::optional<sides> heavy;
    for (int round = 0; round < 3; ++round) {
      heavy = without_light_parts(light);
      if (!heavy) return ends(work, ask);
      size = work.within(0.12 * work.left(), [&](auto& own) {
        return std::max(heavy->above.delta_within(epsilon, own).upper, 1e-290);
      });
      if (size > 10.0 * light) break;
      light = std::max(1e-4 * light, 1e-3 * size);
    }
    heavy = without_light_parts(1e-3 * size);
    if (!heavy) return ends(work, ask);
    double own = 1.0;
    auto found = in_parts(work, *heavy, ask, &own);
    refine(interval_of(found), own, 1e-9 * size, work, ask);
    return found;
  }
  // Where `own`, the width of what a method knows of a part, is little beside what light parts make it.
  template <class Ask>
  void refine(bound<double>& best, double own, double light, detail::work_budget& work,
              Ask&& ask) const {
    auto const narrow_to = [&](bound<double> const& finer) {
      best.upper = std::min(best.upper, finer.upper);
      best.lower = std::min(best.upper, std::max(best.lower, finer.lower));
    };
    if (!(width_of(best) > enough) || own > 0.5 * width_of(best) || work.ended()) return;
    if (std::optional<sides> const heavy = without_light_parts(light)) {
      auto found =
          work.within(0.7 * work.left(), [&](auto& part) { return in_parts(part, *heavy, ask); });
      narrow_to(interval_of(found));
    }
    if (!(width_of(best) > enough) || work.ended()) return;
    auto found = ends(work, ask);
    narrow_to(interval_of(found));
  }
  static constexpr double enough = 1e-7;
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

  template <class Ask>
  [[nodiscard]] auto ends(detail::work_budget& work, Ask&& ask) const {
    return crowded() ? in_parts(work, both(), ask) : ask(all_, work);
  }
  template <class Ask>
  [[nodiscard]] static auto in_parts(detail::work_budget& work, sides const& of, Ask&& ask,
                                     double* width = nullptr) {
    auto found = work.within(0.6 * work.left(), [&](auto& own) { return ask(of.above, own); });
    auto below = ask(of.below, work);
    if (width != nullptr) *width = width_of(interval_of(below));
    // What is asked of a part may be less narrow than what is asked of all.
    bound<double>& ends = interval_of(found);
    ends.lower = std::min(interval_of(below).lower, ends.upper);
    return found;
  }

  adjacency neighbours_;
  Method all_;  // while no kind is crowded
  std::shared_ptr<gathered> gathered_;
  std::uint64_t total_ = 0;  // of all releases, up to `most_releases`
};

}  // namespace tacit
