// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rdp/conversion.hpp>
#include <tacit/dp/rdp/divergence.hpp>
#include <tacit/dp/rdp/guarantee.hpp>
#include <tacit/dp/similar_pairs.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

/// The divergences of a composition: what one release costs at any order, and their sum.

namespace tacit::detail {

/// What a release costs in one direction.
struct renyi_cost {
  std::optional<dominating_pair> pair;
  /// The mechanism itself without its sampling, and how it was sampled without replacement.
  std::optional<dominating_pair> base;
  double rate = 1.0;
  /// `pair` (or `base`) is that of an exponential mechanism, whose own divergence is smaller.
  bool bounded_range = false;
  /// In place of `pair` (or `base`): what is known of the mechanism's divergences.
  std::optional<divergence_guarantee> known = std::nullopt;
  /// How many neighbours of which that is known follow one another, and what is known of all of them without samples.
  double links = 1.0;
  std::optional<divergence_guarantee> together = std::nullopt;

  friend bool operator==(renyi_cost const&, renyi_cost const&) = default;
};

/// As of its pair; of a batch, whose bounds rise in its rate and with the mechanism's divergences, as of that pair, too.
/// Nothing for one that none is known to be above: docs/certificates/grid.md, Lemma 13.
template <std::same_as<renyi_cost> Cost>
[[nodiscard]] rising_pair rising_numbers(Cost const& cost) {
  if (cost.bounded_range || cost.known || !(cost.pair || cost.base)) return {};
  rising_pair out{{}, {}, cost.rate};
  if (cost.pair) {
    out = rising_numbers(*cost.pair);
    if (!out || std::holds_alternative<normal_pair>(*cost.pair)) return {};
  }
  if (!cost.base) return out;
  rising_pair const base = rising_numbers(*cost.base);
  if (!base || base.numbers.size() > 2) return {};
  if (!cost.pair) out.size *= base.size;
  out.shape[5] = 1 + base.shape[0] + (cost.pair ? 16U : 0U);
  out.shape[6] = base.shape[1];
  out.shape[7] = base.shape[2];
  out.numbers.push_back(cost.rate);
  out.numbers.insert(out.numbers.end(), base.numbers.begin(), base.numbers.end());
  return out;
}

/// The cost of the shape of `like` with these numbers, above others.
template <std::same_as<renyi_cost> Cost>
[[nodiscard]] renyi_cost cost_with(Cost const& like, std::vector<double> numbers) {
  renyi_cost out = like;
  if (like.base) {
    auto const of_base = static_cast<std::ptrdiff_t>(rising_numbers(*like.base).numbers.size());
    out.base = pair_with(*like.base, {numbers.end() - of_base, numbers.end()}, true);
    numbers.erase(numbers.end() - of_base, numbers.end());
    out.rate = numbers.back();
    numbers.pop_back();
  }
  if (like.pair) out.pair = pair_with(*like.pair, numbers, true);
  return out;
}

/// Whether a divergence takes many panels, and so milliseconds.
[[nodiscard]] inline bool takes_panels(renyi_cost const& cost) {
  auto const of = [](std::optional<dominating_pair> const& pair) {
    if (!pair) return false;
    auto const* bounded = std::get_if<bounded_pair>(&*pair);
    return std::holds_alternative<coupled_pair>(*pair) ||
           std::holds_alternative<amplified_pair>(*pair) ||
           (bounded != nullptr && bounded->rate < 1.0);
  };
  return of(cost.pair) || of(cost.base);
}

/// The parts of a mixture; 1 of anything else.
[[nodiscard]] inline std::size_t parts_of(renyi_cost const& cost) {
  auto const* mixture = cost.pair ? std::get_if<mixture_pair>(&*cost.pair) : nullptr;
  return mixture != nullptr ? mixture->parts.size() : 1;
}

/// The parts of what is exchanged, beyond the first; 0 of anything else.
[[nodiscard]] inline std::size_t changed_parts_of(renyi_cost const& cost) {
  auto const* coupled = cost.pair ? std::get_if<coupled_pair>(&*cost.pair) : nullptr;
  return coupled != nullptr && !coupled->parts.empty() ? coupled->parts.size() - 1 : 0;
}

/// The same of about `most` parts where a mixture has more: no less, by Lemma 2 of docs/certificates/sampling.md.
template <std::same_as<renyi_cost> Cost>
[[nodiscard]] Cost with_fewer_parts(Cost cost, std::size_t most) {
  if (parts_of(cost) > most) {
    auto& mixture = std::get<mixture_pair>(*cost.pair);
    mixture.parts = fewer_parts(mixture.parts, most, true);
  }
  return cost;
}

/// The largest loss of a pair.
template <std::same_as<dominating_pair> Pair>
[[nodiscard]] double largest_loss(Pair const& pair) {
  double const infinity = std::numeric_limits<double>::infinity();
  if (auto const* bounded = std::get_if<bounded_pair>(&pair)) return bounded->epsilon;
  if (auto const* finite = std::get_if<finite_pair>(&pair)) {
    if (finite->infinite > 0.0 || finite->excluded > 0.0 || finite->left_out > 0.0) {
      return infinity;
    }
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
      : known_(cost.known),
        together_(cost.together),
        rate_(cost.rate),
        links_(cost.links),
        bounded_range_(cost.bounded_range) {
    if (cost.pair) whole_.emplace(*cost.pair);
    if (cost.base) {
      base_.emplace(*cost.base);
      largest_loss_ = largest_loss(*cost.base);
    }
    if (bounded_range_)
      epsilon_ = std::get<bounded_pair>(cost.base ? *cost.base : *cost.pair).epsilon;
  }

  [[nodiscard]] double upper(double order) {
    if (links_ == 1.0) return of_link(order);
    double const chain =
        chained_divergence(links_, order, [this](double at) { return of_link(at); });
    return together_ ? std::min(chain, together_->upper(order)) : chain;
  }

  /// See `basic_renyi_curve`.
  void among(std::size_t many) {
    if (whole_) whole_->among(many);
  }

  /// What tables have taken so far, as `basic_renyi_curve` counts it.
  [[nodiscard]] double work() const {
    return known_work_ + (whole_ ? whole_->work() : 0.0) + (base_ ? base_->work() : 0.0);
  }

  /// The orders at which a guarantee is stated: a least bound is often at one of them.
  void stated_orders(std::vector<double>& into) const {
    auto const& stated = together_ ? together_ : known_;
    if (!stated) return;
    for (renyi_bound const& point : stated->points()) into.push_back(point.order);
  }

 private:
  [[nodiscard]] double of_link(double order) {
    double best = std::numeric_limits<double>::infinity();
    if (whole_) best = bounded_range_ && !base_ ? unsampled(order) : whole_->upper(order);
    if (known_ && !(rate_ < 1.0)) {
      known_work_ += known_->work(order);
      return unsampled(order);
    }
    if (base_ || known_) {
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

  [[nodiscard]] double unsampled(double order) {
    if (known_) return known_->upper(order);
    if (bounded_range_) {
      double const most = multiply_up(bounded_range_divergence(epsilon_, order), 1.0 + 1e-13);
      return epsilon_ > 0.0 ? std::max(most, std::numeric_limits<double>::denorm_min()) : most;
    }
    return base_->upper(order);
  }

  std::optional<basic_renyi_curve<T>> whole_;
  std::optional<basic_renyi_curve<T>> base_;
  std::optional<divergence_guarantee> known_;
  std::optional<divergence_guarantee> together_;
  double rate_;
  double links_;
  bool bounded_range_;
  double known_work_ = 0.0;
  double epsilon_ = 0.0;
  double largest_loss_ = std::numeric_limits<double>::infinity();
};

/// The sum of the divergences of a composition, in one direction.
template <real T>
class composed_curve {
 public:
  void add(renyi_cost const& cost, double count) {
    parts_.push_back({cost_curve<T>(cost), count});
    each_ += takes_panels(cost) ? panels_cost : 1.0;
  }

  [[nodiscard]] std::size_t size() const { return parts_.size(); }

  /// What an order takes, in divergences without panels.
  [[nodiscard]] double each() const { return each_; }

  /// Once all are there, and before the first question.
  void settle() {
    for (part& p : parts_) p.curve.among(parts_.size());
  }

  [[nodiscard]] double upper(double order) {
    double sum = 0.0;
    for (part& p : parts_) sum = add_up(sum, multiply_up(p.count, p.curve.upper(order)));
    return sum;
  }

  [[nodiscard]] double work() const {
    double sum = 0.0;
    for (part const& p : parts_) sum += p.curve.work();
    return sum;
  }

  [[nodiscard]] std::vector<double> stated_orders() const {
    std::vector<double> all;
    for (part const& p : parts_) p.curve.stated_orders(all);
    return all;
  }

 private:
  struct part {
    cost_curve<T> curve;
    double count;
  };
  static constexpr double panels_cost = 50.0;
  std::vector<part> parts_;
  double each_ = 0.0;
};

#if defined(TACIT_COMPILED)
extern template class cost_curve<double>;
extern template class composed_curve<double>;
#endif

}  // namespace tacit::detail
