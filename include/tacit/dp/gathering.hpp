// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/agreement.hpp>
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/deltas_of.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/release_kinds.hpp>
#include <tacit/dp/similar_events.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tacit {

/// A method that asks for few pairs where those of many releases of one kind each take long to find and to compose: sums with
/// normal or Laplace noise in batches. Of a kind that is full (`detail::release_kinds`) those that are alike count, for an upper
/// end, as one of the least noise and the largest batch among them; the lower end is that of a few of them alone, or, of Gaussians
/// under add_remove, that of a few with the most noise and the smallest batch. Mixtures are asked without parts that weigh next to
/// nothing beside δ. Everything else is the method's own.
///
/// Guarantee: lower ≤ truth ≤ upper, as the method's own (docs/certificates/sampling.md, Lemmas 15 and 16).
template <class Method>
class gathering {
 public:
  static constexpr std::string_view name = Method::name;
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
    auto found = epsilon_of<manner::finely>(delta, work);
    return interval_of(found);
  }
  [[nodiscard]] bound<double> delta(double epsilon) const {
    detail::work_budget work = own_work();
    auto found = delta_of<manner::finely>(epsilon, work);
    return interval_of(found);
  }
  /// The same, and the way that the upper end was found. A template, as all that not every method answers: clang 14, told to
  /// instantiate a class, instantiates its members whatever they require.
  template <class Asked = Method>
  requires requires(Asked const& method) { method.epsilon_by(0.5); }
  [[nodiscard]] auto epsilon_by(double delta) const {
    detail::work_budget work = own_work();
    return epsilon_of<manner::finely>(delta, work);
  }
  template <class Asked = Method>
  requires requires(Asked const& method) { method.delta_by(1.0); }
  [[nodiscard]] auto delta_by(double epsilon) const {
    detail::work_budget work = own_work();
    return delta_of<manner::finely>(epsilon, work);
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
    return epsilon_of<manner::as_a_search>(delta, work);
  }
  [[nodiscard]] bound<double> delta_within(double epsilon, detail::work_budget& work) const {
    return delta_of<manner::as_a_search>(epsilon, work);
  }

  /// `delta_within` for δ at many ε. For one thread at a time, for as long as this is there and nothing is added to it.
  [[nodiscard]] auto deltas() const {
    std::vector<decltype(detail::deltas_of(all_))> ways;
    ways.push_back(detail::deltas_of(crowded() ? both().above : all_));
    if (crowded()) ways.push_back(detail::deltas_of(both().below));
    return [this, ways = std::move(ways)](double epsilon, detail::work_budget& work) mutable {
      if (ways.size() == 1) return charged(all_, ways[0](epsilon, work));
      bound<double> const found =
          work.within(0.5 * work.left(), [&](auto& own) { return ways[0](epsilon, own); });
      return charged(both().above, below_it(found, ways[1](epsilon, work)));
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
  // What cells add up, with its rounding, is still a number of 64 bits.
  static constexpr std::uint64_t most_releases = std::uint64_t{1} << 62U;

  // What is composed for an upper end, and for a lower one.
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
    detail::release_kinds<Method> kinds;
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
    auto const* const of = gathered_ ? gathered_->kinds.find(at) : nullptr;
    bool const is_known = of != nullptr && of->has(release);
    if (!at || (is_known && !crowded())) {
      to_all([&](Method& method) { method.add(release, count); }, !is_known);
      if (is_known) own().kinds.add(at, release, count);
      return;
    }
    bool const is_gathered = of != nullptr && of->is_full() && leaves_room(count);
    if (is_known || is_gathered) {  // nothing is refused of it: see `rising_numbers`
      own().kinds.add(at, release, count);
      gathered_->crowded = true;
      return;
    }
    domination const found = dominate(release, neighbours_);
    bool const is_other = detail::release_kinds<Method>::work_of(found) == 0.0;
    if (!is_other && !gathered_) {
      gathered_ = std::make_shared<gathered>(gathered{all_, {}, false, {}});
    }
    to_all([&](Method& method) { method.add(release, count, found); }, is_other);
    if (!is_other) own().kinds.add(at, release, count, found);
  }

  [[nodiscard]] bool crowded() const { return gathered_ && gathered_->crowded; }

  // What this has for itself, to be changed.
  [[nodiscard]] gathered& own() {
    if (gathered_.use_count() > 1) gathered_ = std::make_shared<gathered>(*gathered_);
    gathered_->made = std::make_shared<lazily_made>();
    return *gathered_;
  }

  // To the method that has everything, while there is one, and to that of all others.
  template <class Add>
  void to_all(Add&& add, bool is_other) {
    if (!crowded()) add(all_);
    if (is_other && gathered_) add(own().others);
  }

  // The others, and what `all` lists: `add(method, one)` adds one of it.
  template <class Add>
  [[nodiscard]] Method composed_of(std::vector<composed> const& all, Add&& add) const {
    Method out = gathered_->others;
    for (composed const& one : all) add(out, one);
    return out;
  }

  // For a lower end what stands below all releases, if that is a mixture of normals: all of these are ordered, and their pairs
  // exact.
  [[nodiscard]] auto selected() const {
    auto of = gathered_->kinds.selected(crowded());
    auto const is_ordered = [](composed const& one) {
      return std::holds_alternative<gaussian>(one.release.what);
    };
    if (neighbours_ == adjacency::add_remove && crowded() &&
        std::all_of(of.beneath.begin(), of.beneath.end(), is_ordered)) {
      of.below = std::move(of.beneath);
    }
    return of;
  }

  [[nodiscard]] sides const& both() const {
    gathered const& all = *gathered_;
    std::call_once(all.made->once, [&] {
      auto const of = selected();
      auto const add = [](Method& to, composed const& one) { to.add(one.release, one.count); };
      auto const add_lowered = [this](Method& to, composed const& one) {
        domination found = dominate(one.release, neighbours_);
        for (auto* pair : {&found.remove, &found.add}) {
          if (auto* mixture = std::get_if<mixture_pair>(pair)) *mixture = detail::lowered(*mixture);
        }
        to.add(one.release, one.count, found);
      };
      all.made->both = sides{composed_of(of.above, add), composed_of(of.below, add_lowered)};
    });
    return *all.made->both;
  }

  // Without those parts of mixtures that weigh least: at most `most` together in all releases, which `left_out` of what is above
  // has. Nothing where no part is so light. Lemma 16 of docs/certificates/sampling.md.
  [[nodiscard]] std::optional<sides> without_light_parts(double most) const {
    if (!has_parts()) return std::nullopt;
    bool lighter = false;
    auto const lightened = [&](std::vector<composed> const& all, bool up) {
      return composed_of(all, [&](Method& to, composed const& one) {
        double const each = most / static_cast<double>(all.size()) / detail::count_up(one.count);
        auto const [above, below, is_lighter] =
            detail::without_light(dominate(one.release, neighbours_), each);
        lighter = lighter || is_lighter;
        to.add(one.release, one.count, up ? above : below);
      });
    };
    auto const of = selected();
    sides out{lightened(of.above, true), lightened(of.below, false)};
    return lighter ? std::optional(std::move(out)) : std::nullopt;
  }
  [[nodiscard]] bool has_parts() const { return gathered_ && gathered_->kinds.have_parts(); }

  // What one question may cost. Mixtures are asked twice; where releases are gathered, their pairs are found for it.
  [[nodiscard]] detail::work_budget own_work() const {
    if (!crowded()) {
      double const whole = all_.own_work().left();
      return detail::work_budget(has_parts() ? 1.5 * whole : whole);
    }
    double const whole = both().above.own_work().left();
    return detail::work_budget(std::max(0.3 * whole, whole - work_to_compose()));
  }
  [[nodiscard]] double work_to_compose() const {
    return crowded() ? both().above.work_to_compose() + both().below.work_to_compose()
                     : all_.work_to_compose();
  }

  // How a method is asked: where it is the answer that counts, with the way to it if there is one; or as a search asks. To a δ
  // what the pairs leave out is added.
  enum class manner { finely, as_a_search };

  template <manner How>
  [[nodiscard]] static auto ask_epsilon(Method const& method, double delta,
                                        detail::work_budget& own) {
    if constexpr (How == manner::finely && requires { method.epsilon_by(delta, own); }) {
      return method.epsilon_by(delta, own);
    } else {
      return method.epsilon_within(delta, own);
    }
  }
  template <manner How>
  [[nodiscard]] static auto ask_delta(Method const& method, double epsilon,
                                      detail::work_budget& own) {
    if constexpr (How == manner::finely && requires { method.delta_by(epsilon, own); }) {
      return charged(method, method.delta_by(epsilon, own));
    } else {
      return charged(method, method.delta_within(epsilon, own));
    }
  }
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
  template <manner How>
  [[nodiscard]] auto epsilon_of(double delta, detail::work_budget& work) const {
    auto const ask = [&](Method const& method, detail::work_budget& own) {
      return ask_epsilon<How>(method, delta, own);
    };
    auto found = by_heavy_parts(delta, work, ask);
    if constexpr (requires { all_.epsilon_by_orders(delta, work); }) {
      if (asks_orders(interval_of(found))) {
        bring_under(all_.epsilon_by_orders(delta, work), all_.attained(), interval_of(found));
      }
    }
    return found;
  }
  template <manner How>
  [[nodiscard]] auto delta_of(double epsilon, detail::work_budget& work) const {
    auto const ask = [&](Method const& method, detail::work_budget& own) {
      return ask_delta<How>(method, epsilon, own);
    };
    auto found = by_heavy_parts(size_of_delta(epsilon, work), work, ask);
    if constexpr (requires { all_.delta_by_orders(epsilon, work); }) {
      if (asks_orders(interval_of(found))) {
        bring_under(all_.delta_by_orders(epsilon, work), all_.attained(), interval_of(found));
      }
    }
    return found;
  }

  // A wide answer without light parts may be above what Rényi divergences say of all.
  [[nodiscard]] bool asks_orders(bound<double> const& found) const {
    return has_parts() && !crowded() && width_of(found) > enough;
  }
  static void bring_under(double upper, bool attained, bound<double>& found) {
    if (!attained && upper < found.lower) found.lower = 0.0;  // the pair's, and not its own
    found.upper = std::max(found.lower, std::min(found.upper, upper));
  }

  // About δ(ε), where mixtures have light parts. The size of what is heavier than that is at most the whole's, and about it where it
  // is much larger.
  [[nodiscard]] double size_of_delta(double epsilon, detail::work_budget& work) const {
    double size = 0.0;
    double light = 1e-3;
    for (int round = 0; round < 3; ++round) {
      std::optional<sides> const heavy = without_light_parts(light);
      if (!heavy) break;
      size = work.within(0.12 * work.left(), [&](auto& own) {
        return std::max(heavy->above.delta_within(epsilon, own).upper, 1e-290);
      });
      if (size > 10.0 * light) break;
      light = std::max(1e-4 * light, 1e-3 * size);
    }
    return size;
  }

  // What `ask` finds of all releases, for a δ of about that size.
  template <class Ask>
  [[nodiscard]] auto by_heavy_parts(double delta, detail::work_budget& work, Ask&& ask) const {
    std::optional<sides> heavy = without_light_parts(1e-3 * delta);
    if (!heavy) return ends(work, ask);
    auto [found, own] = in_parts(work, *heavy, ask);
    bound<double>& best = interval_of(found);
    // Where the method's own width is little beside what the light parts make.
    if (!(width_of(best) > enough) || own > 0.5 * width_of(best) || work.ended()) return found;
    heavy = without_light_parts(1e-9 * delta);
    if (heavy) {
      auto finer = work.within(0.7 * work.left(),
                               [&](auto& part) { return in_parts(part, *heavy, ask).first; });
      detail::narrow(best, interval_of(finer));
    }
    if (!(width_of(best) > enough) || work.ended()) return found;
    auto all = ends(work, ask);
    detail::narrow(best, interval_of(all));
    return found;
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
    return crowded() ? in_parts(work, both(), ask).first : ask(all_, work);
  }
  // And how wide it is what the method knows of the part below.
  template <class Ask>
  [[nodiscard]] static auto in_parts(detail::work_budget& work, sides const& of, Ask&& ask) {
    auto found = work.within(0.6 * work.left(), [&](auto& own) { return ask(of.above, own); });
    auto part = ask(of.below, work);
    bound<double> const below = interval_of(part);
    interval_of(found) = below_it(interval_of(found), below);
    return std::pair(std::move(found), width_of(below));
  }

  adjacency neighbours_;
  Method all_;  // while no kind is crowded
  std::shared_ptr<gathered> gathered_;
  std::uint64_t total_ = 0;  // of all releases, up to `most_releases`
};

}  // namespace tacit
