// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
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
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
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

  [[nodiscard]] std::optional<bound<T>> contour_epsilon(T delta) const {
    return over_variance([&](T variance) { return contour_epsilon(delta, variance); });
  }
  [[nodiscard]] std::optional<bound<T>> contour_delta(T epsilon) const {
    return over_variance([&](T variance) { return contour_delta(epsilon, variance); });
  }

  // Nothing where the contour has no certificate in a direction that may rule.
  [[nodiscard]] std::optional<bound<T>> contour_epsilon(T delta, T variance) const {
    T const log_delta = std::log(delta);
    detail::contour<T> const removing(remove_, variance);
    if (removing.variation() <= delta) return bound<T>{0.0, 0.0};
    auto const one = [&](detail::contour<T> const& c) -> std::optional<bound<T>> {
      if (auto const found = c.epsilon(delta)) {
        return bound<T>{std::max(0.0, found->lower), std::max(0.0, found->upper)};
      }
      auto const at_zero = c.log_delta(0.0);  // the total variation
      T const goal = log_delta - 4.0 * detail::unit_roundoff * std::abs(log_delta);
      if (at_zero && at_zero->upper <= goal) return bound<T>{0.0, 0.0};
      return {};
    };
    auto const removed = one(removing);
    if (!removed) return {};
    detail::contour<T> const adding(add_, variance);
    if (adding.chernoff_below(removed->lower, log_delta)) return removed;
    auto const added = one(adding);
    if (!added) return {};
    return bound<T>{std::max(removed->lower, added->lower), std::max(removed->upper, added->upper)};
  }

  [[nodiscard]] std::optional<bound<T>> contour_delta(T epsilon, T variance) const {
    auto log_delta = detail::contour<T>(remove_, variance).log_delta(epsilon);
    if (!log_delta) return {};
    detail::contour<T> const adding(add_, variance);
    if (!adding.chernoff_below(epsilon, log_delta->lower)) {
      auto const added = adding.log_delta(epsilon);
      if (!added) return {};
      log_delta = {std::max(log_delta->lower, added->lower),
                   std::max(log_delta->upper, added->upper)};
    }
    // libm's exponential is right to an ulp; below the least normal number it is 0 or that number.
    T const least = std::numeric_limits<T>::min();
    T const lower = std::exp(log_delta->lower) * detail::a_little_less;
    T const upper = std::exp(log_delta->upper) * detail::a_little_more;
    return bound<T>{lower < least ? 0.0 : lower, std::min(1.0, std::max(upper, least))};
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

  // What rises with the variance of the normal pairs, of which there is an enclosure.
  template <class Ask>
  [[nodiscard]] std::optional<bound<T>> on_rays(Ask&& ask) const {
    detail::enclosure const variance = normals_.variance();
    auto const most = sampled(variance.upper);
    std::optional<bound<T>> found = most ? ask(*most) : std::nullopt;
    if (!found || variance.lower == variance.upper) return found;
    std::optional<bound<T>> const least = ask(*sampled(variance.lower));
    found->lower = least ? least->lower : 0.0;
    return found;
  }

  // Of all ways that may answer, in order, until one is narrow: relative to the larger of `scale` and the upper end.
  // All are certified, so that the truth is in what they share.
  template <class OnContour, class OnRays, class OnGrid>
  [[nodiscard]] answer by_ways(T scale, OnContour&& contour, OnRays&& rays, OnGrid&& grid) const {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    answer best{{0.0, infinity}, route::grid};
    T width = infinity;
    auto const wide = [&](T relative) {
      return !(width < infinity && width <= relative * std::max(scale, best.value.upper));
    };
    auto const meet = [&](bound<T> const& found, route by) {
      best.value.lower = std::max(best.value.lower, found.lower);
      best.value.upper = std::min(best.value.upper, found.upper);
      if (!(best.value.lower <= best.value.upper)) {
        throw std::logic_error("privacy_loss: two certified intervals do not meet");
      }
      if (found.upper - found.lower < width) best.by = by;
      width = std::min(width, found.upper - found.lower);
    };
    auto const on_line = [&] {
      if (std::optional<bound<T>> const found = contour()) meet(*found, route::contour);
    };
    auto const on_two_rays = [&] {
      if (std::optional<bound<T>> const found = rays()) meet(*found, route::rays);
    };
    if (!others_) {
      auto const what = sampled(normals_.variance().upper);
      bool const first = what && detail::rays::rules(*what);
      if (first) on_two_rays();
      if (wide(1e-9)) on_line();
      if (!first && wide(1e-9)) on_two_rays();
    }
    if (wide(1e-4)) meet(grid(), route::grid);
    return best;
  }

  // With the Rényi accountant's upper end, where it covers the events. That of an exponential mechanism may
  // be below the pair's lower end: the mechanism does not attain its pair.
  [[nodiscard]] static bound<T> capped(bound<T> found, T upper) {
    if (upper < found.lower) found.lower = 0.0;
    return {found.lower, std::min(found.upper, upper)};
  }

  // Where losses come in rare large jumps a grid may say little, and the Chernoff bound of the truncated
  // law more: the upper end is the better of the two.
  [[nodiscard]] bound<T> grid_epsilon(T delta) const {
    bound<T> found = grid_.epsilon(delta);
    if (moments_) found = capped(found, moments_->epsilon(delta).upper);
    if (others_ || !(found.upper - found.lower > 1e-2 * found.upper)) return found;
    T const log_delta = std::log(delta);
    T const most = found.upper < 1e300 ? found.upper : 1e6;
    found.upper =
        least_that_holds(std::max(found.lower, 1e-6 * most), found.upper, most,
                         [&, both = directions()](T e) { return both_below(both, e, log_delta); });
    return found;
  }

  [[nodiscard]] bound<T> grid_delta(T epsilon) const {
    // Where δ is below e^−709 it is no normal number, and a grid says no more than that.
    if (!others_ && both_below(directions(), epsilon, -709.0)) {
      return {0.0, std::numeric_limits<T>::min()};
    }
    bound<T> found = grid_.delta(epsilon);
    if (moments_) found = capped(found, moments_->delta(epsilon).upper);
    if (others_ || !(found.upper - found.lower > 1e-2 * found.upper)) return found;
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
  auto const rays = [&](auto const& what) { return detail::rays::epsilon(what, delta); };
  return by_ways(
      1.0, [&] { return contour_epsilon(delta); }, [&] { return on_rays(rays); },
      [&] { return grid_epsilon(delta); });
}

template <std::same_as<double> T>
typename basic_privacy_loss<T>::answer basic_privacy_loss<T>::delta_by(T epsilon) const {
  if (only_normals()) {
    auto const [low, high] = normals_.mu();
    return {{tacit::delta(low, epsilon).lower, tacit::delta(high, epsilon).upper},
            route::closed_form};
  }
  if (single()) {
    return {in_closed_form([&](auto const& profile) { return profile.delta(epsilon); }),
            route::closed_form};
  }
  auto const rays = [&](auto const& what) { return detail::rays::delta(what, epsilon); };
  return by_ways(
      0.0, [&] { return contour_delta(epsilon); }, [&] { return on_rays(rays); },
      [&] { return grid_delta(epsilon); });
}

using privacy_loss = basic_privacy_loss<double>;
using privacy_loss_accountant = accountant<privacy_loss>;

#if defined(TACIT_COMPILED)
extern template class basic_privacy_loss<double>;
#endif

}  // namespace tacit
