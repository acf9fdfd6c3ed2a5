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
#include <tacit/dp/rdp/conversion.hpp>
#include <tacit/dp/rdp/divergence.hpp>

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

/// What a release costs in one direction.
struct renyi_cost {
  std::optional<dominating_pair> pair;
  /// The mechanism itself without its sampling, and how it was sampled without replacement.
  std::optional<dominating_pair> base;
  double rate = 1.0;
  /// `pair` (or `base`) is that of an exponential mechanism, whose own divergence is smaller.
  bool bounded_range = false;

  friend bool operator==(renyi_cost const&, renyi_cost const&) = default;
};

/// The largest loss of a pair.
[[nodiscard]] inline double largest_loss(dominating_pair const& pair) {
  double const infinity = std::numeric_limits<double>::infinity();
  if (auto const* bounded = std::get_if<bounded_pair>(&pair)) return bounded->epsilon;
  if (auto const* finite = std::get_if<finite_pair>(&pair)) {
    if (finite->infinite > 0.0 || finite->excluded > 0.0) return infinity;
    double largest = 0.0;
    for (finite_pair::atom const& a : finite->atoms) largest = std::max(largest, std::abs(a.loss));
    return largest;
  }
  auto const* normal = std::get_if<normal_pair>(&pair);
  return normal != nullptr && normal->mu == 0.0 ? 0.0 : infinity;
}

/// Upper bounds on the divergence of one release, at any order.
template <real T>
class cost_curve {
 public:
  explicit cost_curve(renyi_cost const& cost)
      : rate_(cost.rate), bounded_range_(cost.bounded_range) {
    if (cost.pair) whole_.emplace(*cost.pair);
    if (cost.base) {
      base_.emplace(*cost.base);
      largest_loss_ = largest_loss(*cost.base);
    }
    if (bounded_range_)
      epsilon_ = std::get<bounded_pair>(cost.base ? *cost.base : *cost.pair).epsilon;
  }

  [[nodiscard]] double upper(double order) {
    double best = std::numeric_limits<double>::infinity();
    if (whole_) best = bounded_range_ && !base_ ? unsampled(order) : whole_->upper(order);
    if (base_) {
      // A batch gives away no more than the mechanism does on all records.
      best = std::min(best, unsampled(order));
      if (order <= largest_without_replacement_order) {
        best = std::min(best,
                        wang_balle_kasiviswanathan(
                            rate_, order, [&](double j) { return unsampled(j); }, largest_loss_));
      }
    }
    return best;
  }

 private:
  [[nodiscard]] double unsampled(double order) {
    if (bounded_range_) {
      return multiply_up(bounded_range_divergence(epsilon_, order), 1.0 + 1e-13);
    }
    return base_->upper(order);
  }

  std::optional<basic_renyi_curve<T>> whole_;
  std::optional<basic_renyi_curve<T>> base_;
  double rate_;
  bool bounded_range_;
  double epsilon_ = 0.0;
  double largest_loss_ = 0.0;
};

/// The sum of the divergences of a composition, in one direction.
template <real T>
class composed_curve {
 public:
  void add(renyi_cost const& cost, std::uint64_t count) {
    parts_.push_back({cost_curve<T>(cost), count_up(count)});
  }

  [[nodiscard]] double upper(double order) {
    double sum = 0.0;
    for (part& p : parts_) sum = add_up(sum, multiply_up(p.count, p.curve.upper(order)));
    return sum;
  }

 private:
  struct part {
    cost_curve<T> curve;
    double count;
  };
  std::vector<part> parts_;
};

/// A bound, and log(α−1) of the order that gives it.
struct ordered_bound {
  double value;
  double where;
};

/// The least value of `bound(α)` over the orders, or one at most `enough`. (K(z)+c)/z is quasi-convex in
/// z = α−1 for a convex K, so that one valley holds the least; every value met is a bound, whatever its
/// order.
template <class Bound>
[[nodiscard]] ordered_bound least_over_orders(double start, double enough, Bound&& bound) {
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
  double step = 0.5;
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
/// bound. No lower bound: `lower` is 0.
///
/// Beside the dominating pairs it uses the exponential mechanism's own divergence (unsampled), and for
/// batches without replacement under replace_one the smaller of Wang–Balle–Kasiviswanathan's bound and
/// the amplified pair's divergence. An event with δ > 0 has no finite divergence and is refused.
template <real T = double>
class basic_renyi {
 public:
  static constexpr std::string_view name = "renyi";

  explicit basic_renyi(adjacency neighbours) : neighbours_(neighbours) {}

  /// @throws std::domain_error for a value out of range; std::invalid_argument, with the reason, where
  ///         no bound is known. Nothing is added then.
  void add(event const& release, std::uint64_t count) {
    detail::event_key const key = detail::key_of(release);
    if (auto const known = places_.find(key); known != places_.end()) {
      entry& same = entries_[known->second];
      if (same.count <= std::numeric_limits<std::uint64_t>::max() - count) {
        same.count += count;
        return;
      }
    }
    both_costs cost = costs(release);
    entries_.push_back({std::move(cost.remove), std::move(cost.add), cost.symmetric, count});
    places_.insert_or_assign(key, entries_.size() - 1);
  }

  [[nodiscard]] bound<double> epsilon(double delta) const {
    detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
    double const level = -elementary::log(delta);
    return {0.0, worst_least([&](detail::composed_curve<T>& curve) { return start(curve, level); },
                             [&](double order, double divergence) {
                               return renyi_epsilon(order, divergence, delta);
                             })};
  }

  [[nodiscard]] bound<double> delta(double epsilon) const {
    detail::check_non_negative("delta", "epsilon", epsilon);
    double const least = worst_least(
        [&](detail::composed_curve<T>& curve) {
          // Where K′(z) = ε, if K(z) ≈ z(1+z)·D₂/2.
          double const half = 0.5 * curve.upper(2.0);
          return half > 0.0 ? elementary::log(std::max(0.5 * (epsilon / half - 1.0), 1e-3)) : 0.0;
        },
        [&](double order, double divergence) {
          return detail::open_log_renyi_delta(order, divergence, epsilon);
        });
    if (least == -std::numeric_limits<double>::infinity()) return {0.0, 0.0};
    return {0.0, std::min(1.0, exp(detail::enclosure(least)).upper)};
  }

  /// The divergence of the whole composition at one order, of the worse direction.
  /// Guarantee: upper bound.
  /// @throws std::domain_error unless order is finite and above 1
  [[nodiscard]] double divergence(double order) const {
    detail::check_order(order);
    double const removed = composed(&entry::remove).upper(order);
    return symmetric() ? removed : std::max(removed, composed(&entry::add).upper(order));
  }

 private:
  struct both_costs {
    detail::renyi_cost remove;
    detail::renyi_cost add;
    bool symmetric;
  };
  struct entry {
    detail::renyi_cost remove;
    detail::renyi_cost add;
    bool symmetric;
    std::uint64_t count;
  };

  [[nodiscard]] both_costs costs(event const& release) const {
    detail::check_event("compose", release);
    bool const exponential = std::holds_alternative<exponential_mechanism>(release.what);
    if (auto const* batch = std::get_if<fixed_size>(&release.how);
        batch != nullptr && batch->batch < batch->records &&
        neighbours_ == adjacency::replace_one && release.records_per_person == 1) {
      event whole = release;
      whole.how = unsampled{};
      detail::renyi_cost cost{
          std::nullopt, without_delta(dominate(whole, neighbours_).remove),
          std::min(1.0, batch->rate() * (1.0 + std::numeric_limits<double>::epsilon())),
          exponential};
      if (auto const* lattice = std::get_if<lattice_pair>(&*cost.base)) {
        // αΔ²/2σ², above the lattice's own and needed at every integer.
        cost.base = normal_pair{static_cast<double>(lattice->shift) / lattice->sigma *
                                (1.0 + 2.0 * std::numeric_limits<double>::epsilon())};
      }
      if (amplifies(release)) cost.pair = dominate(release, neighbours_).remove;
      return {cost, cost, true};
    }
    if (std::holds_alternative<random_allocation>(release.how)) {
      throw std::invalid_argument(
          "compose: there is no known bound for random allocation by Rényi divergences; take the "
          "privacy-loss or the "
          "discretised accountant");
    }
    domination const found = dominate(release, neighbours_);
    detail::renyi_cost remove{without_delta(found.remove), std::nullopt, 1.0, false};
    detail::renyi_cost add{without_delta(found.add), std::nullopt, 1.0, false};
    auto const* bounded = std::get_if<bounded_pair>(&found.remove);
    remove.bounded_range = add.bounded_range =
        exponential && bounded != nullptr && bounded->rate == 1.0;
    return {std::move(remove), std::move(add), found.symmetric};
  }

  // The mechanisms whose fixed-size batches have a dominating pair; for the others the bound of
  // Wang, Balle & Kasiviswanathan stands alone.
  [[nodiscard]] static bool amplifies(event const& release) {
    return !std::holds_alternative<discrete_gaussian>(release.what) &&
           !std::holds_alternative<exponential_mechanism>(release.what);
  }

  [[nodiscard]] static dominating_pair without_delta(dominating_pair pair) {
    auto const* finite = std::get_if<finite_pair>(&pair);
    if (finite != nullptr && finite->infinite > 0.0) {
      throw std::invalid_argument(
          "compose: there is no known bound for an event with delta > 0 by Rényi divergences: what "
          "one neighbour alone can produce makes every one of them infinite");
    }
    return pair;
  }

  [[nodiscard]] bool symmetric() const {
    return std::all_of(entries_.begin(), entries_.end(),
                       [](entry const& e) { return e.symmetric; });
  }

  [[nodiscard]] detail::composed_curve<T> composed(detail::renyi_cost entry::*towards) const {
    detail::composed_curve<T> curve;
    for (entry const& e : entries_) curve.add(e.*towards, e.count);
    return curve;
  }

  /// The larger of the two directions' least bounds. What is below the first direction's need not be
  /// known any better.
  template <class Start, class Bound>
  [[nodiscard]] double worst_least(Start&& first, Bound&& of) const {
    detail::composed_curve<T> removed = composed(&entry::remove);
    double constexpr none = -std::numeric_limits<double>::infinity();
    detail::ordered_bound const one = detail::least_over_orders(
        first(removed), none, [&](double order) { return of(order, removed.upper(order)); });
    if (symmetric()) return one.value;
    detail::composed_curve<T> added = composed(&entry::add);
    detail::ordered_bound const other = detail::least_over_orders(
        one.where, one.value, [&](double order) { return of(order, added.upper(order)); });
    return std::max(one.value, other.value);
  }

  // log(α−1) of about the best order for ε at e^{−level}: where z(1+z)·D₂/2 = level, unless D grows
  // faster than that, which its first value shows.
  [[nodiscard]] static double start(detail::composed_curve<T>& curve, double level) {
    double const half = 0.5 * curve.upper(2.0);
    if (!(half > 0.0 && half < 1e300)) return 0.0;
    double z = std::sqrt(level / half);
    for (int round = 0; round < 60 && z > 1e-9; ++round) {
      double const cost = z * curve.upper(1.0 + std::min(z, 1e8));
      if (cost < 4.0 * level + 40.0) break;
      z *= cost < 1e3 * (level + 1.0) ? 0.6 : 0.25;
    }
    return elementary::log(std::min(z, 1e8));
  }

  adjacency neighbours_;
  std::vector<entry> entries_;
  std::map<detail::event_key, std::size_t> places_;  // of the entries
};

using renyi = basic_renyi<double>;
using renyi_accountant = accountant<renyi>;

#if defined(TACIT_COMPILED)
extern template class detail::cost_curve<double>;
extern template class detail::composed_curve<double>;
extern template class basic_renyi<double>;
#endif

}  // namespace tacit
