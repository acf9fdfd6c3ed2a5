// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/agreement.hpp>
#include <tacit/dp/allocation/epoch.hpp>
#include <tacit/dp/allocation/one_jump.hpp>
#include <tacit/dp/coupled_profile.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/far_bounds.hpp>
#include <tacit/dp/gathering.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/grid_answers.hpp>
#include <tacit/dp/kept_lines.hpp>
#include <tacit/dp/normal_mixtures.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/participation.hpp>
#include <tacit/dp/rays/answer.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tacit {

/// The certified accounting method: an interval that holds the truth about the composition of the
/// dominating pairs.
///
/// Gaussians, sampled or not, and persons with several records: one step and unsampled steps in closed
/// form, other compositions by the contour integral, in about a millisecond for any number of steps and
/// to a relative width of about 1e-13. A contour on two rays serves sampled Gaussians where a vertical
/// line does not: few steps, small noise, tiny rates. Laplace noise, sampled or not, by the line as well where there
/// are many releases of it, and in closed form where there are few of one scale. Epochs of random allocation by the line, too, and one alone by
/// sums of likelihood ratios on lattices above and below them. Everything else by the discretised privacy loss
/// distribution, whose intervals are wider. Where two ways answer, the truth is in what they share.
///
/// Guarantee: lower ≤ truth ≤ upper; rounding is counted, and nothing is assumed of the C library but
/// what is exact. `lower` bounds the mechanism's own ε only where `domination::attained`.
template <std::same_as<double> T = double>
class basic_privacy_loss {
 public:
  static constexpr std::string_view name = "privacy-loss";

  using route = privacy_loss_route;
  using answer = detail::routed_bound<T>;

  explicit basic_privacy_loss(adjacency neighbours)
      : mixtures_(neighbours), grid_(neighbours), moments_(std::in_place, neighbours) {}

  void add(event const& release, std::uint64_t count);
  /// A release whose pairs are known already.
  void add(event const& release, std::uint64_t count, domination const& found);

  [[nodiscard]] bound<T> epsilon(T delta) const { return epsilon_by(delta).value; }
  [[nodiscard]] bound<T> delta(T epsilon) const { return delta_by(epsilon).value; }

  /// Whether the pairs are attained, so that `lower` bounds the mechanism's own loss.
  [[nodiscard]] bool attained() const noexcept { return attained_; }

  /// What is missing of the pairs, together: δ is larger than what is answered by that at most. An ε counts it.
  [[nodiscard]] double left_out() const { return grid_.left_out(); }

  /// ε(δ) and the way it was found.
  [[nodiscard]] answer epsilon_by(T delta) const {
    detail::work_budget uncounted(0.0);
    return epsilon_by(delta, uncounted, {1.0, fine});
  }

  /// δ(ε) and the way it was found.
  [[nodiscard]] answer delta_by(T epsilon) const {
    detail::work_budget uncounted(0.0);
    return delta_by(epsilon, uncounted, {1.0, fine});
  }

  /// The same for about what is left of `work`, in which it is counted; of all of its own, that is the same answer.
  [[nodiscard]] answer epsilon_by(T delta, detail::work_budget& work) const {
    return epsilon_by(delta, work, {share_of_question(work), fine});
  }
  [[nodiscard]] answer delta_by(T epsilon, detail::work_budget& work) const {
    return delta_by(epsilon, work, {share_of_question(work), fine});
  }

  /// Upper ends by Rényi divergences, or what bounds nothing where there are none, or more than a few kinds of releases.
  [[nodiscard]] T epsilon_by_orders(T delta, detail::work_budget& work) const {
    return has_orders() ? moments_->counted_epsilon(delta, work).upper
                        : std::numeric_limits<T>::infinity();
  }
  [[nodiscard]] T delta_by_orders(T epsilon, detail::work_budget& work) const {
    return has_orders() ? moments_->counted_delta(epsilon, work).upper : T(1.0);
  }

  /// `delta_within` for δ at many ε: what was planned for one serves those near it, where log δ is known to 4e-10 (to 1e-5
  /// of epochs of random allocation, to 2e-3 of one of them), or to 4e-4 on a grid. So an answer may depend on what was asked
  /// before; each is an interval that holds the truth. For one thread at a time, for as long as this is there and nothing is
  /// added to it.
  [[nodiscard]] auto deltas() const {
    return [this, kept = kept_for_others{}](T epsilon, detail::work_budget& work) mutable {
      return delta_by(epsilon, work, {share_of_question(work), coarse}, &kept).value;
    };
  }

  /// What one question may cost.
  [[nodiscard]] detail::work_budget own_work() const {
    T const lines = for_lines().left() + detail::least_on_grid * detail::work_on_grid;
    T const whole = epoch_ ? 2.0 * detail::work_on_epoch : std::max(lines, detail::work_on_grid);
    return detail::work_budget(whole);
  }
  /// What it took to find the pairs.
  [[nodiscard]] double work_to_compose() const { return grid_.work_to_compose(); }

  /// What the first question takes beside what is counted in it.
  [[nodiscard]] double work_on_epochs() const { return epoch_ ? 0.0 : grid_.work_on_epochs(); }

  /// The same as a search asks, which needs no narrow interval of what a grid answers.
  [[nodiscard]] bound<T> epsilon_within(T delta, detail::work_budget& work) const {
    return epsilon_by(delta, work, {share_of_question(work), coarse}).value;
  }
  [[nodiscard]] bound<T> delta_within(T epsilon, detail::work_budget& work) const {
    return delta_by(epsilon, work, {share_of_question(work), coarse}).value;
  }

 private:
  // Distinct mixtures for which a bound by Rényi orders takes less than a second, for which it is asked where nothing else says
  // much, and for which a grid is tried, too.
  static constexpr std::size_t most_by_orders = 500;
  static constexpr std::size_t most_at_all = 10'000;
  static constexpr std::size_t most_finely = 64;  // on a grid, where lines say nothing
  static constexpr T work_on_parts = 4e8;         // where nothing else says much
  static constexpr std::size_t most_on_grid = detail::grid_answers<T>::most_on_grid;

  // Widths to aim at on a grid, relative to ε or δ: where the answer is what was asked for, and where a search compares it.
  static constexpr T fine = 1e-7;
  static constexpr T coarse = basic_discretised<T>::default_width;
  static constexpr T wide = 1e-2;          // an answer that says little
  static constexpr T wide_of_crowd = 0.1;  // the same, of many kinds, before a grid is asked
  static constexpr T little = 1e-4;

  using question = detail::loss_query<T>;

  // What one δ leaves for others.
  struct kept_for_others {
    detail::kept_lines<T> lines;
    typename basic_discretised<T>::kept_directions grids;
    detail::far_bounds<T> by_orders;
    detail::epochs::kept_sums<T> removed;  // of one epoch
    detail::epochs::kept_sums<T> added;
  };

  struct effort {
    T share;  // of the work that a question may cost
    T width;
  };

  [[nodiscard]] bool has_orders() const {
    constexpr std::size_t few = 8;
    return moments_ && mixtures_.distinct() <= few;
  }

  [[nodiscard]] answer epsilon_by(T delta, detail::work_budget& work, effort allowed) const;
  [[nodiscard]] answer delta_by(T epsilon, detail::work_budget& work, effort allowed,
                                kept_for_others* keep = nullptr) const;

  // How wide an answer by lines may be without a grid, which seldom says more of one mixture, and of epochs.
  [[nodiscard]] T line_width(effort const& allowed) const {
    if (mixtures_.has_epochs()) return std::min(coarse, 10.0 * allowed.width);
    return mixtures_.has_untabulated() || !mixtures_.one_mixture() ? allowed.width : coarse;
  }

  // Many kinds, of which a grid is coarse.
  [[nodiscard]] bool is_crowd() const { return !others_ && mixtures_.distinct() > most_finely; }

  // What the lines found, or where that is wider than `width` another way, Rényi's end, or that of revealed samples, know together:
  // relative to the larger of `scale` and the upper end. All are certified.
  template <class Other, class OfGrid, class OfLines, class ByOrders, class Covered>
  [[nodiscard]] answer by_ways(question const& asked, T scale, T width,
                               std::optional<answer> const& lines, Other&& other, OfGrid&& of_grid,
                               OfLines&& of_lines, ByOrders&& by_orders, Covered&& covered) const {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    detail::agreement known(bound<T>{0.0, infinity}, [&] {
      return mixtures_.describe(asked) + (others_ ? ", and pairs that are not normal" : "");
    });
    route by = route::grid;
    auto const meet = [&](bound<T> const& found, route way) {
      if (known.meet(found, detail::name_of(way))) by = way;
    };
    if (lines) meet(lines->value, lines->by);
    auto const is_wider = [&](T most) {
      T const upper = known.shared().upper;
      return !(upper < infinity) || known.width() > most * std::max(scale, upper);
    };
    // It is asked below, with more work.
    if (lines ? mixtures_.distinct() <= most_on_grid && is_wider(width) : !is_crowd()) {
      answer const more = other();
      meet(more.value, more.by);
    }
    bound<T> const found = known.shared();
    // Of normal mixtures it is far above the truth. Of losses with atoms it need not be.
    T const narrow = std::max(1e-9 * found.upper, std::min(1e-9 * scale, 1e-4 * found.upper));
    bool const is_wide = !(found.upper < infinity) || found.upper - found.lower > narrow;
    if (is_wide) {
      known.meet({0.0, covered(grid_.cover())}, "a Gaussian above all samples");
      T const normals = mixtures_.normals().variance().lower;
      known.meet({asked.wants_epsilon ? own_steps_.epsilon(asked.value, normals)
                                      : own_steps_.delta(asked.value, normals),
                  infinity},
                 "the records' own steps");
    }
    bound<T> const now = known.shared();
    bool const says_little = !(now.upper < infinity) || now.upper - now.lower > wide * now.upper;
    // Where lines of many kinds have answered, a grid of a few of them seldom says more.
    bool const by_grid =
        says_little && !(lines && is_crowd() && now.upper - now.lower <= wide_of_crowd * now.upper);
    if (by_grid) {
      known.meet(of_grid(asked), "a grid with all work, or a part alone");
    }
    // A composition leaks no less than what lines serve of it.
    if (others_ && is_wider(little) && mixtures_.distinct() <= most_at_all) {
      known.meet({of_lines(), infinity}, "the part that lines serve");
    }
    // Moments of epochs take longer.
    bool const by_moments =
        mixtures_.has_epochs() ? says_little : others_ || mixtures_.has_untabulated() || is_wide;
    if (moments_ && (says_little || mixtures_.distinct() <= most_by_orders) && by_moments) {
      bound<T> const above{0.0, by_orders(known.shared().upper)};
      // The Rényi accountant may know more of a mechanism than its pair: then the pair's lower end is not its own.
      if (!attained_ && above.upper < known.shared().lower) return answer{above, by};
      known.meet(above, "Rényi divergences");
    }
    return {known.shared(), by};
  }

  // The lower end of what lines serve of the composition.
  [[nodiscard]] T lines_alone(question const& asked, detail::work_budget& work) const {
    if (mixtures_.distinct() == 0) {
      gaussian_dp const mu = mixtures_.normals().mu().lower;
      return asked.wants_epsilon ? tacit::epsilon(mu, asked.value).lower
                                 : tacit::delta(mu, asked.value).lower;
    }
    std::optional<answer> const found = asked.wants_epsilon ? mixtures_.epsilon(asked.value, work)
                                                            : mixtures_.delta(asked.value, work);
    return found ? found->value.lower : T(0.0);
  }

  // A δ that underflows is bounded by a number that is larger than need be.
  [[nodiscard]] answer tiny(answer found, T epsilon) const {
    if (moments_ && found.value.upper < hardly_any && found.value.lower < found.value.upper) {
      found.value.upper =
          std::max(found.value.lower, std::min(found.value.upper, moments_->delta(epsilon).upper));
    }
    return found;
  }

  [[nodiscard]] detail::work_budget for_lines(T share = 1.0) const {
    T const more = std::min(static_cast<T>(mixtures_.distinct()), detail::most_on_lines);
    // Moments of an epoch take long, but a grid takes longer. Of a part they make a lower end alone.
    T const one = (mixtures_.has_epochs() && !others_ ? 3.0 : 1.0) * detail::work_on_lines;
    return detail::work_budget(share * (one + detail::work_on_lines_each * more));
  }

  [[nodiscard]] T spent_on(detail::work_budget const& lines, effort allowed) const {
    return for_lines(allowed.share).left() - lines.left();
  }

  [[nodiscard]] T share_of_question(detail::work_budget const& work) const {
    return std::clamp(work.left() / own_work().left(), 0.0, 1.0);
  }

  // The closed form of Laplace noise of one scale, or a grid where there is none, where it is wide, or where it takes longer.
  template <class OfProfile, class OnGrid>
  [[nodiscard]] answer without_lines(T width, detail::work_budget& work, OfProfile&& of_profile,
                                     OnGrid&& on_grid) const {
    auto const profile = others_ ? std::nullopt : mixtures_.one_laplace();
    if (profile && profile->work() <= (width < coarse ? 2e8 : 2e7) && work.take(profile->work())) {
      bound<T> const found = of_profile(*profile);
      if (found.upper - found.lower <= 1e-9 * found.upper) return {found, route::closed_form};
    }
    return {on_grid(), route::grid};
  }

  // A coarse grid that has all of a question's work, if the ways before it left that of 1.25 times so much, and the lower end of a
  // part of the composition. Of a crowd it seldom says much, but of persons: it has no more than what is left.
  [[nodiscard]] auto at_last(detail::work_budget const& lines, detail::work_budget& counted,
                             effort allowed) const {
    return [&lines, &counted, allowed, begin = counted.left(), this](question const& asked) {
      T const all = allowed.share * grid_.own_work().left();
      bool const is_strict = is_crowd() && !mixtures_.has_persons();
      T const on_lines = (is_strict ? 1.0 : 0.5) * spent_on(lines, allowed);
      T const left = 1.25 * all - (begin - counted.left()) - on_lines;
      detail::work_budget const whole(std::clamp(left, is_strict ? 0.0 : 0.25 * all, all));
      bound<T> found = detail::counted(counted, whole, [&](auto& own) {
        return asked.wants_epsilon ? grid_.epsilon(asked.value, own)
                                   : grid_.delta(asked.value, own);
      });
      bool const is_known = found.upper < std::numeric_limits<T>::infinity();
      if (is_known && found.upper - found.lower <= wide * found.upper) return found;
      T const part = detail::counted(counted, detail::work_budget(allowed.share * work_on_parts),
                                     [&](auto& own) { return grid_.lower_of_parts(asked, own); });
      found.lower = std::min(found.upper, std::max(found.lower, part));
      return found;
    };
  }

  // On grids, for what the lines have not cost.
  template <class Ask>
  [[nodiscard]] bound<T> on_grid(detail::work_budget const& lines, detail::work_budget& counted,
                                 effort allowed, Ask&& ask, kept_for_others* keep = nullptr) const {
    T const whole = allowed.share * grid_.own_work().left();
    T const rest = whole - spent_on(lines, allowed);
    detail::work_budget const own(std::max(rest, detail::least_on_grid * whole));
    detail::grid_answers<T> const grid(grid_, others_ ? nullptr : &mixtures_, allowed.width,
                                       keep != nullptr ? &keep->grids : nullptr);
    return detail::counted(counted, own, [&](auto& most) { return ask(grid, most); });
  }

  // Below it a bound need not be near the truth: what accountants compute with is no normal number there.
  static constexpr T hardly_any = 1e-290;

  // One epoch of random allocation and nothing else, whose directions are summed without a grid of losses. Rényi's end
  // counts where they leave much open.
  template <class Ask, class ByOrders>
  [[nodiscard]] answer of_epoch(detail::work_budget& work, T share, Ask&& ask,
                                ByOrders&& by_orders) const {
    auto const one = [&](orientation towards) {
      detail::epochs::epoch<T> const epoch(*epoch_, towards);
      return detail::counted(work, detail::work_budget(share * detail::work_on_epoch),
                             [&](auto& own) { return ask(epoch, own, towards); });
    };
    bound<T> found = one(orientation::remove);
    detail::epochs::one_jump<T> const add(*epoch_, orientation::add);
    if (!(ask(add, work, orientation::add).upper <= found.lower)) {
      found = detail::larger_of(found, one(orientation::add));
    }
    if (moments_ && found.upper - found.lower > wide * found.upper) {
      found.upper = std::max(found.lower, std::min(found.upper, by_orders()));
    }
    return {found, route::allocation};
  }

  // One release of a coupled pair and nothing else, for what `ask` asks of its profile.
  template <class Ask>
  [[nodiscard]] answer of_coupled(Ask&& ask) const {
    bound<T> const remove = ask(detail::coupled_profile<T>(alone_->remove));
    if (alone_->symmetric) return {remove, route::closed_form};
    bound<T> const add = ask(detail::coupled_profile<T>(alone_->add));
    return {detail::larger_of(remove, add), route::closed_form};
  }

  // Whether no other way is asked. One sampled release of Laplace noise has others, and Rényi's end, which its closed form
  // is brought under; that form is wide where δ is the rate but for its rounding, and at ε that hardly are numbers.
  template <class ByOrders>
  [[nodiscard]] bool suffices(answer& found, ByOrders&& by_orders) const {
    if (!is_laplace_) return true;
    if (!(found.value.upper - found.value.lower <= 1e-9 * found.value.upper)) return false;
    if (moments_) {
      found.value.upper = std::max(found.value.lower, std::min(found.value.upper, by_orders()));
    }
    return true;
  }

  detail::normal_mixtures<T> mixtures_;
  detail::participation drawn_;
  bool others_ = false;  // pairs of another kind
  bool empty_ = true;
  std::optional<allocation_pair> epoch_;          // all that there is
  detail::epochs::own_steps<T> own_steps_;        // of all epochs
  std::optional<detail::coupled_release> alone_;  // one release that is all there is
  bool is_laplace_ = false;                       // of one mechanism that is bounded
  bool attained_ = true;
  basic_discretised<T> grid_;
  std::optional<basic_renyi<T>> moments_;  // none once an event has none
};

template <std::same_as<double> T>
void basic_privacy_loss<T>::add(event const& release, std::uint64_t count) {
  std::vector<composed> const blocks = epoch_blocks(release, count);
  auto const pairs_of = [&](composed const& block) {
    return dominate(block.release, mixtures_.neighbours());
  };
  if (blocks.size() == 1) {
    add(blocks.front().release, blocks.front().count, pairs_of(blocks.front()));
    attained_ = attained_ && blocks.front().count == count;
    return;
  }
  basic_privacy_loss after = *this;  // all blocks, or none
  for (composed const& block : blocks) after.add(block.release, block.count, pairs_of(block));
  after.attained_ = false;
  *this = std::move(after);
}

template <std::same_as<double> T>
void basic_privacy_loss<T>::add(event const& release, std::uint64_t count,
                                domination const& found) {
  drawn_.add(release, count);
  grid_.add(found, count);
  if (moments_) {
    try {
      moments_->add(release, count, found);
    } catch (std::invalid_argument const&) {
      moments_.reset();
    }
  }
  attained_ = attained_ && found.attained;
  auto const* epoch = std::get_if<allocation_pair>(&found.remove);
  if (epoch != nullptr) own_steps_.add(*epoch, detail::count_down(count));
  if (count > 0) {
    epoch_.reset();
    alone_.reset();
    if (empty_ && count == 1 && epoch != nullptr) epoch_ = *epoch;
    if (empty_ && count == 1) alone_ = detail::as_coupled(found);
    is_laplace_ = std::holds_alternative<bounded_pair>(found.remove);
    empty_ = false;
  }
  if (auto const* normal = std::get_if<normal_pair>(&found.remove)) {
    mixtures_.add(*normal, count);
  } else if (auto const* mixture = std::get_if<mixture_pair>(&found.remove)) {
    mixtures_.add(*mixture, std::get<mixture_pair>(found.add), static_cast<T>(count));
  } else if (count > 0 && !mixtures_.add_laplace(found, static_cast<T>(count)) &&
             !mixtures_.add_epoch(found, static_cast<T>(count))) {
    others_ = true;
  }
}

template <std::same_as<double> T>
typename basic_privacy_loss<T>::answer basic_privacy_loss<T>::epsilon_by(T delta,
                                                                         detail::work_budget& work,
                                                                         effort allowed) const {
  if (drawn_.at_most() <= delta) return {{0.0, 0.0}, route::closed_form};
  question const asked{true, delta, left_out()};
  if (!others_ && mixtures_.distinct() == 0) {
    auto const [low, high] = mixtures_.normals().mu();
    return {asked.epsilon_by([&, low = low, high = high](T value) {
              return bound<T>{tacit::epsilon(low, value).lower, tacit::epsilon(high, value).upper};
            }),
            route::closed_form};
  }
  if (!others_ && mixtures_.single()) {
    return {asked.epsilon_by([&](T value) {
              return mixtures_.of_one([&](auto const& profile) { return profile.epsilon(value); });
            }),
            route::closed_form};
  }
  if (alone_ || epoch_) {
    detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
    if (alone_) {
      answer found = asked.epsilon_by([&](T value) {
        return of_coupled([&](auto const& profile) { return profile.epsilon(value); });
      });
      if (suffices(found, [&] { return moments_->counted_epsilon(delta, work).upper; })) {
        return found;
      }
    }
    if (epoch_)
      return of_epoch(
          work, allowed.share,
          [&](auto const& e, auto& own, orientation) {
            return asked.epsilon_by([&](T value) { return e.epsilon(value, own); });
          },
          [&] { return moments_->counted_epsilon(delta, work).upper; });
  }
  return detail::counted(work, for_lines(allowed.share), [&](detail::work_budget& own) {
    std::optional<T> by_moments;
    auto const by_orders = [&](T /*known*/ = 0.0) {
      if (!moments_) return std::numeric_limits<T>::infinity();
      if (!by_moments) by_moments = moments_->counted_epsilon(delta, work).upper;
      return *by_moments;
    };
    return by_ways(
        asked, 1.0, line_width(allowed), others_ ? std::nullopt : asked.epsilon_by([&](T value) {
          return mixtures_.epsilon(value, own);
        }),
        [&] {
          auto const exactly = [&](auto const& profile) { return profile.epsilon(delta); };
          return without_lines(allowed.width, own, exactly, [&] {
            return on_grid(own, work, allowed, [&](auto const& grid, auto& most) {
              return grid.epsilon(delta, most, by_orders);
            });
          });
        },
        at_last(own, work, allowed), [&] { return lines_alone(asked, own); }, by_orders,
        [&](auto const& cover) { return cover.epsilon(asked.rest()); });
  });
}

template <std::same_as<double> T>
typename basic_privacy_loss<T>::answer basic_privacy_loss<T>::delta_by(
    T epsilon, detail::work_budget& work, effort allowed, kept_for_others* keep) const {
  if (drawn_.at_most() < hardly_any) return {{0.0, drawn_.at_most()}, route::closed_form};
  if (!others_ && mixtures_.distinct() == 0) {
    auto const [low, high] = mixtures_.normals().mu();
    return tiny(
        {{tacit::delta(low, epsilon).lower, tacit::delta(high, epsilon).upper}, route::closed_form},
        epsilon);
  }
  if (!others_ && mixtures_.single()) {
    return tiny({mixtures_.of_one([&](auto const& profile) { return profile.delta(epsilon); }),
                 route::closed_form},
                epsilon);
  }
  if (alone_ || epoch_) {
    detail::check_non_negative("delta", "epsilon", epsilon);
    if (alone_) {
      answer found = of_coupled([&](auto const& profile) { return profile.delta(epsilon); });
      if (suffices(found, [&] { return moments_->counted_delta(epsilon, work).upper; })) {
        return tiny(found, epsilon);
      }
    }
    if (epoch_)
      return of_epoch(
          work, allowed.share,
          [&](auto const& e, auto& own, orientation way) {
            using asked = std::remove_cvref_t<decltype(e)>;
            if constexpr (std::same_as<asked, detail::epochs::epoch<T>>) {
              if (keep != nullptr) {
                return e.delta(epsilon, own, 10.0 * coarse,
                               way == orientation::remove ? &keep->removed : &keep->added);
              }
            }
            return e.delta(epsilon, own);
          },
          [&] { return moments_->counted_delta(epsilon, work).upper; });
  }
  return detail::counted(work, for_lines(allowed.share), [&](detail::work_budget& own) {
    // Narrow answers of attained pairs need no other way beside them.
    if (keep != nullptr && !others_ && attained_) {
      if (auto const known = mixtures_.delta_from(keep->lines, epsilon, own)) return *known;
    }
    std::optional<T> by_moments;
    auto const by_orders = [&](T known) {
      if (by_moments) return *by_moments;
      if (keep != nullptr && keep->by_orders.around(epsilon)) return T(1.0);
      by_moments = moments_->counted_delta(epsilon, work).upper;
      if (keep != nullptr) keep->by_orders.add(epsilon, *by_moments, known);
      return *by_moments;
    };
    // A grid says no more of a δ that is hardly a number.
    if (others_ && keep == nullptr && moments_ && mixtures_.distinct() <= most_by_orders &&
        by_orders(T(1.0)) < hardly_any) {
      return answer{{0.0, *by_moments}, route::grid};
    }
    return by_ways(
        {false, epsilon}, 0.0, line_width(allowed),
        others_ ? std::nullopt
                : mixtures_.delta(epsilon, own, keep != nullptr ? &keep->lines : nullptr),
        [&] {
          auto const exactly = [&](auto const& profile) { return profile.delta(epsilon); };
          return without_lines(allowed.width, own, exactly, [&] {
            return on_grid(
                own, work, allowed,
                [&](auto const& grid, auto& most) { return grid.delta(epsilon, most); }, keep);
          });
        },
        at_last(own, work, allowed),
        [&] {
          return lines_alone({false, epsilon}, own);
        },
        by_orders, [&](auto const& cover) { return cover.delta(epsilon); });
  });
}

using privacy_loss = gathering<basic_privacy_loss<double>>;
using privacy_loss_accountant = accountant<privacy_loss>;

#if defined(TACIT_COMPILED)
extern template class basic_privacy_loss<double>;
extern template class gathering<basic_privacy_loss<double>>;
#endif

}  // namespace tacit
