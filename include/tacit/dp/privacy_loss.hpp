// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/agreement.hpp>
#include <tacit/dp/contour/routes.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/mixture_profile.hpp>
#include <tacit/dp/normal_sum.hpp>
#include <tacit/dp/rays/answer.hpp>
#include <tacit/dp/renyi.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
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
/// line does not: few steps, small noise, tiny rates. Everything else by the discretised privacy loss
/// distribution, whose intervals are wider. Where two ways answer, the truth is in what they share.
///
/// Guarantee: lower ≤ truth ≤ upper; rounding is counted, libm is trusted to a few ulp (not interval
/// arithmetic). `lower` bounds the mechanism's own ε only where `domination::attained`.
template <std::same_as<double> T = double>
class basic_privacy_loss {
 public:
  static constexpr std::string_view name = "privacy-loss";

  enum class route { closed_form, contour, rays, grid };
  struct answer {
    bound<T> value;
    route by;
  };

  explicit basic_privacy_loss(adjacency neighbours) : neighbours_(neighbours), grid_(neighbours) {}

  void add(event const& release, std::uint64_t count);

  [[nodiscard]] bound<T> epsilon(T delta) const { return epsilon_by(delta).value; }
  [[nodiscard]] bound<T> delta(T epsilon) const { return delta_by(epsilon).value; }

  /// Whether the pairs are attained, so that `lower` bounds the mechanism's own loss.
  [[nodiscard]] bool attained() const noexcept { return attained_; }

  /// ε(δ) and the way it was found.
  [[nodiscard]] answer epsilon_by(T delta) const;

  /// δ(ε) and the way it was found.
  [[nodiscard]] answer delta_by(T epsilon) const;

 private:
  static constexpr T infinity = std::numeric_limits<T>::infinity();

  // Distinct mixtures for which a bound by Rényi orders, and a bisection of Chernoff's, take less than a second.
  static constexpr std::size_t most_by_orders = 1000;
  static constexpr std::size_t most_bisected = 32;
  static constexpr std::size_t most_distinct = 100;  // more are rounded to a few

  struct question {
    std::string_view what;
    T at;
  };

  using entries = std::vector<typename detail::contour<T>::entry>;

  // Equal pairs count together. Both directions have the same parts.
  void put(mixture_pair const& removed, mixture_pair const& added, T count) {
    std::vector<T> key;
    key.reserve(2 * removed.parts.size());
    for (mixture_pair::part const& part : removed.parts) {
      key.insert(key.end(), {part.weight, part.shift});
    }
    auto const [place, is_new] = places_.try_emplace(std::move(key), remove_.size());
    if (is_new) {
      remove_.push_back({removed, count});
      add_.push_back({added, count});
    } else {
      remove_[place->second].count += count;
      add_[place->second].count += count;
    }
  }

  [[nodiscard]] bool only_normals() const { return !others_ && remove_.empty(); }
  [[nodiscard]] bool single() const {
    return !others_ && normals_.variance().upper == 0.0 && remove_.size() == 1 &&
           remove_[0].count == 1.0;
  }

  // Both ends of an answer that rises with the variance of the normal pairs, of which there is an
  // enclosure: a pair of larger μ dominates one of smaller μ.
  template <class Ask>
  [[nodiscard]] std::optional<bound<T>> over_variance(Ask&& ask) const {
    detail::enclosure const variance = normals_.variance();
    std::optional<bound<T>> found = ask(variance.upper);
    if (found && variance.lower < variance.upper) {
      std::optional<bound<T>> const least = ask(variance.lower);
      if (!least) return {};
      found->lower = least->lower;
    }
    return found;
  }

  // The larger of the two directions. One record has the larger in `remove` (Zhu, Dong & Wang 2022,
  // Proposition 30); of persons with several that is not known.
  template <class Ask>
  [[nodiscard]] bound<T> in_closed_form(Ask&& ask) const {
    bound<T> const removed = ask(detail::mixture_profile<T>(remove_[0].pair));
    if (remove_[0].pair.parts.size() == 1) return removed;
    bound<T> const added = ask(detail::mixture_profile<T>(add_[0].pair));
    return {std::max(removed.lower, added.lower), std::max(removed.upper, added.upper)};
  }

  [[nodiscard]] detail::contour<T> contour_towards(orientation towards, T variance) const {
    return {towards == orientation::remove ? remove_ : add_, variance};
  }

  // ε by the vertical line. Nothing where it has no certificate.
  [[nodiscard]] std::optional<bound<T>> contour_epsilon(orientation towards, T delta) const {
    return over_variance([&](T variance) -> std::optional<bound<T>> {
      detail::contour<T> const line = contour_towards(towards, variance);
      if (auto const found = line.epsilon(delta)) {
        return bound<T>{std::max(0.0, found->lower), std::max(0.0, found->upper)};
      }
      auto const at_zero = line.log_delta(0.0);  // the total variation
      T const log_delta = std::log(delta);
      T const goal = log_delta - 4.0 * detail::unit_roundoff * std::abs(log_delta);
      if (at_zero && at_zero->upper <= goal) return bound<T>{0.0, 0.0};
      return {};
    });
  }

  // log δ by the vertical line.
  [[nodiscard]] std::optional<bound<T>> contour_log_delta(orientation towards, T epsilon) const {
    return over_variance(
        [&](T variance) { return contour_towards(towards, variance).log_delta(epsilon); });
  }

  // The composition as the rays have it: sampled Gaussians of one record, and unsampled ones.
  [[nodiscard]] std::optional<detail::rays::composition> sampled(T variance) const {
    detail::rays::composition out{{}, variance};
    for (auto const& e : remove_) {
      if (e.pair.parts.size() != 1 || !(e.pair.parts[0].weight < 1.0)) return std::nullopt;
      out.events.push_back({e.pair.parts[0].weight, e.pair.parts[0].shift, e.count});
    }
    return out;
  }

  // What rises with the variance of the normal pairs, of which there is an enclosure; `least` where its lower end
  // has no answer.
  template <class Ask>
  [[nodiscard]] std::optional<bound<T>> on_rays(T least, Ask&& ask) const {
    detail::enclosure const variance = normals_.variance();
    auto const most = sampled(variance.upper);
    std::optional<bound<T>> found = most ? ask(*most) : std::nullopt;
    if (!found || variance.lower == variance.upper) return found;
    std::optional<bound<T>> const low = ask(*sampled(variance.lower));
    found->lower = low ? low->lower : least;
    return found;
  }

  // One direction by the vertical line and on rays, in the order that suits the composition, until one is narrow.
  template <class Narrow, class OnContour, class OnRays>
  [[nodiscard]] std::optional<answer> one_way(question const& asked, bound<T> widest,
                                              Narrow&& narrow, OnContour&& contour,
                                              OnRays&& rays) const {
    detail::agreement known(widest, [&] { return describe(asked); });
    std::optional<route> by;
    auto const what = sampled(normals_.variance().upper);
    bool const first = what && detail::rays::rules(*what);
    for (bool const on_two_rays : {first, !first}) {
      if (by && narrow(known.shared())) break;
      std::optional<bound<T>> const found = on_two_rays ? rays() : contour();
      if (!found) continue;
      route const way = on_two_rays ? route::rays : route::contour;
      if (!by || found->upper - found->lower < known.width()) by = way;
      known.meet(*found, name_of(way));
    }
    return by ? std::optional<answer>({known.shared(), *by}) : std::nullopt;
  }

  // The larger of the two directions; nothing if one that may rule has no certificate.
  template <class OneWay, class AddIsBelow>
  [[nodiscard]] static std::optional<answer> larger(OneWay&& one, AddIsBelow&& below) {
    std::optional<answer> removed = one(orientation::remove, T(0.0));
    if (!removed || below(*removed)) return removed;
    std::optional<answer> const added = one(orientation::add, removed->value.lower);
    if (!added) return {};
    route const by = added->value.upper > removed->value.upper ? added->by : removed->by;
    return answer{{std::max(removed->value.lower, added->value.lower),
                   std::max(removed->value.upper, added->value.upper)},
                  by};
  }

  // Whether Chernoff's bound shows that in the direction `add` δ(ε) ≤ e^{log_delta}.
  [[nodiscard]] bool add_is_below(route by, T epsilon, T log_delta) const {
    T const variance = normals_.variance().upper;
    if (by == route::rays) {
      return detail::rays::add_is_below<T>(*sampled(variance), epsilon, log_delta);
    }
    return contour_towards(orientation::add, variance).chernoff_below(epsilon, log_delta);
  }

  // Many distinct sampled Gaussians as a few: their rates and shifts rounded up, or down, to those of a group's
  // extreme. Profiles rise in each (Lemma 13 of docs/certificates/grid.md). Nothing where persons have several records.
  [[nodiscard]] std::optional<basic_privacy_loss> merged(bool up) const {
    constexpr std::size_t groups = 4;  // by rate, and of each by shift
    entries sorted = remove_;
    for (auto const& e : sorted) {
      if (e.pair.parts.size() != 1) return {};
    }
    basic_privacy_loss out(neighbours_);
    out.normals_ = normals_;
    auto const in_groups = [&](std::size_t begin, std::size_t end, auto&& key, auto&& then) {
      auto const at = [&](std::size_t k) { return begin + (end - begin) * k / groups; };
      std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(begin),
                sorted.begin() + static_cast<std::ptrdiff_t>(end),
                [&](auto const& a, auto const& b) { return key(a) < key(b); });
      for (std::size_t k = 0; k < groups; ++k) {
        if (at(k) < at(k + 1)) then(at(k), at(k + 1));
      }
    };
    auto const rate = [](auto const& e) { return e.pair.parts[0].weight; };
    auto const shift = [](auto const& e) { return e.pair.parts[0].shift; };
    in_groups(0, sorted.size(), rate, [&](std::size_t begin, std::size_t end) {
      in_groups(begin, end, shift, [&](std::size_t first, std::size_t last) {
        auto one = sorted[first];
        mixture_pair::part& part = one.pair.parts[0];
        for (std::size_t k = first + 1; k < last; ++k) {
          auto const& e = sorted[k];
          part.weight = up ? std::max(part.weight, rate(e)) : std::min(part.weight, rate(e));
          part.shift = up ? std::max(part.shift, shift(e)) : std::min(part.shift, shift(e));
          one.count += e.count;
        }
        auto added = one;
        added.pair.orientation = orientation::add;
        // Counts are added with rounding.
        T const slack = static_cast<T>(last - first) * detail::unit_roundoff;
        one.count = added.count =
            up ? std::ceil(one.count * (1.0 + slack)) : std::floor(one.count * (1.0 - slack));
        out.remove_.push_back(std::move(one));
        out.add_.push_back(std::move(added));
      });
    });
    return out;
  }

  // Of the composition, or of those above and below it. `ask(of)` is what one of them answers.
  template <class Ask>
  [[nodiscard]] std::optional<answer> on_lines(Ask&& ask) const {
    if (others_) return {};
    if (remove_.size() <= most_distinct) {
      std::optional<answer> const exact = ask(*this);
      if (exact || remove_.size() <= detail::rays::most_events) return exact;
    }
    auto const above = merged(true);
    if (!above) return {};
    std::optional<answer> found = ask(*above);
    if (!found) return {};
    auto const below = ask(*merged(false));
    found->value.lower = below ? std::min(below->value.lower, found->value.upper) : 0.0;
    return found;
  }

  [[nodiscard]] std::optional<answer> epsilon_on_lines(T delta) const {
    T const log_delta = std::log(delta);
    T const variance = normals_.variance().upper;
    if (contour_towards(orientation::remove, variance).variation() <= delta) {
      return answer{{0.0, 0.0}, route::contour};
    }
    auto const narrow = [](bound<T> const& b) {
      return b.upper - b.lower <= 1e-9 * std::max(1.0, b.upper);
    };
    auto const one = [&](orientation towards, T start) {
      return one_way(
          {"epsilon at delta ", delta}, {0.0, infinity}, narrow,
          [&] { return contour_epsilon(towards, delta); },
          [&] {
            return on_rays(0.0, [&](auto const& what) {
              return detail::rays::epsilon<T>(what, towards, log_delta, start);
            });
          });
    };
    return larger(one, [&](answer const& removed) {
      return removed.value.upper == 0.0 || add_is_below(removed.by, removed.value.lower, log_delta);
    });
  }

  [[nodiscard]] std::optional<answer> delta_on_lines(T epsilon) const {
    auto const narrow = [](bound<T> const& b) { return b.upper - b.lower <= 1e-9; };
    auto const one = [&](orientation towards, T) {
      return one_way(
          {"delta at epsilon ", epsilon}, {-infinity, infinity}, narrow,
          [&] { return contour_log_delta(towards, epsilon); },
          [&] {
            return on_rays(-infinity, [&](auto const& what) {
              return detail::rays::log_delta<T>(what, towards, epsilon);
            });
          });
    };
    std::optional<answer> found = larger(one, [&](answer const& removed) {
      return add_is_below(removed.by, epsilon, removed.value.lower);
    });
    if (!found) return {};
    // libm's exponential is right to an ulp; below the least normal number it is 0 or that number.
    T const least = std::numeric_limits<T>::min();
    T const lower = std::exp(found->value.lower) * detail::a_little_less;
    T const upper = std::exp(found->value.upper) * detail::a_little_more;
    found->value = {lower < least ? 0.0 : lower, std::min(1.0, std::max(upper, least))};
    return found;
  }

  // What the lines found, or where that is wide the grid, or Rényi's end, know together: relative to the larger of
  // `scale` and the upper end. All are certified.
  template <class OnGrid, class ByOrders>
  [[nodiscard]] answer by_ways(question const& asked, T scale, std::optional<answer> const& lines,
                               OnGrid&& grid, ByOrders&& by_orders) const {
    detail::agreement known(bound<T>{0.0, infinity}, [&] { return describe(asked); });
    route by = route::grid;
    auto const meet = [&](bound<T> const& found, route way) {
      if (found.upper - found.lower < known.width()) by = way;
      known.meet(found, name_of(way));
    };
    if (lines) meet(lines->value, lines->by);
    if (!lines || (remove_.size() <= detail::rays::most_events &&
                   !(known.width() <= 1e-4 * std::max(scale, known.shared().upper)))) {
      meet(grid(), route::grid);
    }
    bound<T> const found = known.shared();
    // Of normal mixtures it is far above the truth. Of losses with atoms it need not be.
    if (moments_ && remove_.size() <= most_by_orders &&
        (others_ || found.upper - found.lower > 1e-9 * found.upper)) {
      bound<T> const above{0.0, by_orders(*moments_).upper};
      // The Rényi accountant may know more of a mechanism than its pair: then the pair's lower end is not its own.
      if (!attained_ && above.upper < found.lower) return answer{above, by};
      known.meet(above, "Rényi divergences");
    }
    return {known.shared(), by};
  }

  [[nodiscard]] static constexpr std::string_view name_of(route way) {
    constexpr std::array names{"a closed form", "the contour", "rays", "the grid"};
    return names[static_cast<std::size_t>(way)];
  }

  // The question as text: the first few pairs by their weights and shifts.
  [[nodiscard]] std::string describe(question const& asked) const {
    using detail::to_text;
    using tacit::to_text;
    std::string text =
        std::string(asked.what) + to_text(asked.at) + ", " + std::string(to_text(neighbours_));
    text += ", unsampled variance " + to_text(normals_.variance().upper);
    std::size_t const most = std::min<std::size_t>(remove_.size(), 16);
    for (std::size_t k = 0; k < most; ++k) {
      text += ", " + to_text(remove_[k].count) + " of";
      for (mixture_pair::part const& part : remove_[k].pair.parts) {
        text += " (weight " + to_text(part.weight) + ", shift " + to_text(part.shift) + ")";
      }
    }
    if (remove_.size() > most) text += ", " + std::to_string(remove_.size() - most) + " more";
    return others_ ? text + ", and pairs that are not normal" : text;
  }

  // A δ that underflows is bounded by a number that is larger than need be.
  [[nodiscard]] answer tiny(answer found, T epsilon) const {
    if (moments_ && found.value.upper < 1e-290 && found.value.lower < found.value.upper) {
      found.value.upper =
          std::max(found.value.lower, std::min(found.value.upper, moments_->delta(epsilon).upper));
    }
    return found;
  }

  // Where losses come in rare large jumps a grid may say little, and the Chernoff bound of the truncated
  // law more: the upper end is the better of the two.
  [[nodiscard]] bound<T> grid_epsilon(T delta) const {
    bound<T> found = grid_.epsilon(delta);
    if (others_ || remove_.size() > most_bisected ||
        !(found.upper - found.lower > 1e-2 * found.upper)) {
      return found;
    }
    T const log_delta = std::log(delta);
    T const most = found.upper < 1e300 ? found.upper : 1e6;
    found.upper =
        least_that_holds(std::max(found.lower, 1e-6 * most), found.upper, most,
                         [&, both = directions()](T e) { return both_below(both, e, log_delta); });
    return found;
  }

  [[nodiscard]] bound<T> grid_delta(T epsilon) const {
    // Where δ is below e^−709 it is no normal number, and a grid says no more than that.
    if (!others_ && remove_.size() <= most_bisected && both_below(directions(), epsilon, -709.0)) {
      return {0.0, std::numeric_limits<T>::min()};
    }
    bound<T> found = grid_.delta(epsilon);
    if (others_ || remove_.size() > most_bisected ||
        !(found.upper - found.lower > 1e-2 * found.upper)) {
      return found;
    }
    T const least = std::max(found.lower, 1e-300);
    // e^{−1e-12} allows for the rounding of the logarithm.
    found.upper = least_that_holds(least, found.upper, found.upper, [&, both = directions()](T d) {
      return both_below(both, epsilon, std::log(d) - 1e-12);
    });
    return found;
  }

  [[nodiscard]] std::array<detail::contour<T>, 2> directions() const {
    T const variance = normals_.variance().upper;  // for upper ends
    return {detail::contour<T>(remove_, variance), detail::contour<T>(add_, variance)};
  }

  [[nodiscard]] static bool both_below(std::array<detail::contour<T>, 2> const& both, T epsilon,
                                       T log_delta) {
    return std::all_of(both.begin(), both.end(), [&](detail::contour<T> const& one) {
      return one.chernoff_below(epsilon, log_delta, true);
    });
  }

  // Nearly the least x in [low, high] for which `holds`; `known` if that is not less.
  template <class Holds>
  [[nodiscard]] static T least_that_holds(T low, T known, T high, Holds&& holds) {
    T best = known;
    auto const wide = [](T a, T b) { return b - a > 1e-3; };
    auto const fails = [&](T log_x) {
      T const x = std::exp(log_x);
      bool const fits = holds(x);
      if (fits) best = std::min(best, x);
      return !fits;
    };
    (void)detail::bisect(detail::bracket<T>{std::log(low), std::log(high)}, wide, fails, 60);
    return best;
  }

  adjacency neighbours_;
  entries remove_;
  entries add_;
  std::map<std::vector<T>, std::size_t> places_;  // of the parts, in both
  detail::normal_sum normals_;
  bool others_ = false;
  bool attained_ = true;
  basic_discretised<T> grid_;
  std::optional<basic_renyi<T>> moments_{std::in_place,
                                         neighbours_};  // none once an event has none
};

template <std::same_as<double> T>
void basic_privacy_loss<T>::add(event const& release, std::uint64_t count) {
  domination const found = dominate(release, neighbours_);
  grid_.add(release, count);
  if (moments_) {
    try {
      moments_->add(release, count);
    } catch (std::invalid_argument const&) {
      moments_.reset();
    }
  }
  attained_ = attained_ && found.attained;
  if (auto const* normal = std::get_if<normal_pair>(&found.remove)) {
    normals_.add(*normal, count);
  } else if (auto const* mixture = std::get_if<mixture_pair>(&found.remove)) {
    put(*mixture, std::get<mixture_pair>(found.add), static_cast<T>(count));
  } else {
    others_ = true;
  }
}

template <std::same_as<double> T>
typename basic_privacy_loss<T>::answer basic_privacy_loss<T>::epsilon_by(T delta) const {
  if (only_normals()) {
    auto const [low, high] = normals_.mu();
    return {{tacit::epsilon(low, delta).lower, tacit::epsilon(high, delta).upper},
            route::closed_form};
  }
  if (single()) {
    return {in_closed_form([&](auto const& profile) { return profile.epsilon(delta); }),
            route::closed_form};
  }
  return by_ways(
      {"epsilon at delta ", delta}, 1.0,
      on_lines([&](auto const& of) { return of.epsilon_on_lines(delta); }),
      [&] { return grid_epsilon(delta); },
      [&](auto const& moments) { return moments.epsilon(delta); });
}

template <std::same_as<double> T>
typename basic_privacy_loss<T>::answer basic_privacy_loss<T>::delta_by(T epsilon) const {
  if (only_normals()) {
    auto const [low, high] = normals_.mu();
    return tiny(
        {{tacit::delta(low, epsilon).lower, tacit::delta(high, epsilon).upper}, route::closed_form},
        epsilon);
  }
  if (single()) {
    return tiny({in_closed_form([&](auto const& profile) { return profile.delta(epsilon); }),
                 route::closed_form},
                epsilon);
  }
  return by_ways(
      {"delta at epsilon ", epsilon}, 0.0,
      on_lines([&](auto const& of) { return of.delta_on_lines(epsilon); }),
      [&] { return grid_delta(epsilon); },
      [&](auto const& moments) { return moments.delta(epsilon); });
}

using privacy_loss = basic_privacy_loss<double>;
using privacy_loss_accountant = accountant<privacy_loss>;

#if defined(TACIT_COMPILED)
extern template class basic_privacy_loss<double>;
#endif

}  // namespace tacit
