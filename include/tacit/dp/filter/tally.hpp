// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/renyi.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The divergences of a run at orders fixed before it. See filter.hpp for what they imply.

namespace tacit::detail {

/// A mechanism that is known by its Rényi curve: order → an upper bound on D_α in both directions.
template <class F>
concept divergence_bound = std::is_invocable_r_v<double, F const&, double>;

/// Σρ at each of some orders, and what it means for (ε, δ).
template <real T>
class renyi_tally {
 public:
  renyi_tally(std::string_view who, std::vector<double> orders, adjacency neighbours)
      : orders_(std::move(orders)), spent_(orders_.size(), 0.0), neighbours_(neighbours) {
    require_argument(!orders_.empty() && orders_.size() <= 1000, who, "number of orders",
                     orders_.size(), "in [1, 1000]");
    double before = 1.0;
    for (double const order : orders_) {
      require_domain(order > before && order <= std::numeric_limits<double>::max(), who, "order",
                     order, "finite, above 1 and above the one before");
      before = order;
    }
  }

  [[nodiscard]] std::span<double const> orders() const noexcept { return orders_; }
  [[nodiscard]] std::span<double const> spent() const noexcept { return spent_; }
  [[nodiscard]] adjacency neighbours() const noexcept { return neighbours_; }

  /// D_α of one release at each order, the worse direction; known already if the last one was the same.
  template <std::same_as<event> Event>
  [[nodiscard]] std::vector<double> costs(std::string_view, Event const& release) const {
    if (last_ && last_->first == release) return last_->second;
    basic_renyi<T> one(neighbours_);
    one.add(release, 1);
    std::vector<double> each;
    each.reserve(orders_.size());
    for (double const order : orders_) each.push_back(one.divergence(order));
    return each;
  }

  template <divergence_bound Divergence>
  [[nodiscard]] std::vector<double> costs(std::string_view who,
                                          Divergence const& divergence) const {
    std::vector<double> each;
    each.reserve(orders_.size());
    for (double const order : orders_) {
      double const d = divergence(order);
      require_domain(d >= 0.0, who, "divergence", d, "at least 0");
      each.push_back(d);
    }
    return each;
  }

  /// What `count` such releases would raise the sums to, rounded up.
  [[nodiscard]] std::vector<double> after(std::string_view who, std::vector<double> const& each,
                                          std::uint64_t count) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (std::all_of(each.begin(), each.end(), [](double d) { return d == infinity; })) {
      throw std::invalid_argument(std::string(who) +
                                  ": the release has no finite Rényi divergence at these orders");
    }
    std::vector<double> sums = spent_;
    if (count == 0) return sums;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (each[i] > 0.0) sums[i] = add_up(sums[i], multiply_up(count_up(count), each[i]));
    }
    return sums;
  }

  void accept(std::vector<double>&& sums) noexcept { spent_ = std::move(sums); }
  template <std::same_as<event> Event>
  void remember(Event const& release, std::vector<double>&& each) {
    last_.emplace(release, std::move(each));
  }
  template <divergence_bound Divergence>
  void remember(Divergence const&, std::vector<double>&&) noexcept {}

  /// Rebuilds the sums of a stored run.
  void restore(std::vector<double> sums) {
    if (sums.size() != orders_.size()) throw corrupt_state("archive: spent is of another size");
    for (double const s : sums) {
      if (!(s >= 0.0)) throw corrupt_state("archive: spent is not an amount");
    }
    spent_ = std::move(sums);
  }

  /// The ε of filter.hpp for these sums. Newton's method on the convex logarithm of
  /// δ·Σ w_i α_i e^{z_i(l−S_i)}, from the right; it need not converge for a bound, see below.
  [[nodiscard]] double epsilon(std::span<double const> sums, double delta) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double const log_share =
        elementary::log(delta) - elementary::log(static_cast<double>(orders_.size()));
    double l = infinity;  // where the largest term alone would reach 1
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      l = std::min(l, sums[i] - (log_share + elementary::log(orders_[i])) / (orders_[i] - 1.0));
    }
    if (!(l < infinity)) return infinity;
    for (int step = 0; step < 100; ++step) {
      sum_at const at = terms(sums, log_share, l);
      double const move = elementary::log(at.weighted) / at.slope;
      if (!(move > 1e-15 * std::abs(l))) break;
      l -= move;
    }
    // l + (1−A)/A′ − 1 + log A′ bounds the reading at every l: docs/certificates/filters.md, Lemma 5.
    enclosure const share = enclosure(delta) / static_cast<double>(orders_.size());
    enclosure sum = 0.0;
    enclosure slope = 0.0;
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      if (!(sums[i] < infinity)) continue;
      enclosure const z = enclosure(orders_[i]) - 1.0;
      enclosure const root = exp(0.5 * z * (enclosure(l) - sums[i]));
      enclosure const term = root * share * root;
      sum += term;
      slope += z * term;
    }
    // As a function of A′ it falls and rises: the ends of the enclosure are the worst.
    enclosure const left = 1.0 - enclosure(sum.lower);
    auto const at = [&](enclosure a) { return (l + (left / a - 1.0 + log(a))).upper; };
    return std::max({0.0, at(slope.lower), at(slope.upper)});
  }

 private:
  struct sum_at {
    double weighted;  // δ·Σ wα e^{z(l−S)}
    double slope;     // d log weighted/dl
  };
  [[nodiscard]] sum_at terms(std::span<double const> sums, double log_share, double l) const {
    sum_at at{0.0, 0.0};
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      if (!(sums[i] < std::numeric_limits<double>::infinity())) continue;
      double const z = orders_[i] - 1.0;
      double const term = elementary::exp(log_share + z * (l - sums[i]));
      at.weighted += orders_[i] * term;
      at.slope += z * orders_[i] * term;
    }
    at.slope /= at.weighted;
    return at;
  }

  std::vector<double> orders_;
  std::vector<double> spent_;
  adjacency neighbours_;
  std::optional<std::pair<event, std::vector<double>>> last_;  // a release and its costs
};

#if defined(TACIT_COMPILED)
extern template class renyi_tally<double>;
#endif

}  // namespace tacit::detail
