// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rdp/poisson_samples.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

/// Mechanisms that are known by a bound on their Rényi divergences, and not by a pair.

namespace tacit::detail {

/// D_α ≤ ρα, and D_α ≤ the bounds at some orders. Between orders (α−1)·D_α lies under its chords, because it is convex
/// and 0 at α = 1; beyond the last order nothing is known. Or of Poisson samples of such a mechanism, in one direction.
class divergence_guarantee {
 public:
  explicit divergence_guarantee(zcdp guarantee) : rho_(guarantee.rho) {}

  template <std::same_as<renyi_dp> Known>
  explicit divergence_guarantee(Known const& guarantee) : points_(guarantee.points) {
    std::sort(points_.begin(), points_.end(),
              [](renyi_bound const& a, renyi_bound const& b) { return a.order < b.order; });
    // Divergences rise with the order, so that what holds of an order holds of those below it.
    for (std::size_t k = points_.size() - 1; k-- > 0;) {
      points_[k].divergence = std::min(points_[k].divergence, points_[k + 1].divergence);
    }
  }

  /// Of samples at that rate, in (0, 1).
  template <std::same_as<double> T>
  [[nodiscard]] divergence_guarantee sampled(T rate, orientation towards) const {
    divergence_guarantee out = *this;
    out.samples_ = {rate, towards, false};
    return out;
  }
  /// The same as if it were told whether the record is in the sample: D_α is log(1 − q + q·e^{(α−1)D_α})/(α − 1).
  template <std::same_as<double> T>
  [[nodiscard]] divergence_guarantee told(T rate) const {
    divergence_guarantee out = *this;
    out.samples_ = {rate, orientation::remove, true};
    return out;
  }

  /// Guarantee: upper bound.
  template <std::same_as<double> T>
  [[nodiscard]] double upper(T order) const {
    if (!(samples_.rate < 1.0)) return unsampled(order);
    if (samples_.told) return told_divergence(order);
    return poisson_sampled_divergence<T>(samples_.rate, order, samples_.towards,
                                         [this](T at) { return unsampled(at); });
  }

  /// About what `upper` takes, in losses (`basic_renyi_curve::work`).
  template <std::same_as<double> T>
  [[nodiscard]] double work(T order) const {
    constexpr double each = 40.0;
    bool const sums = samples_.rate < 1.0 && !samples_.told;
    return sums ? each * std::min(order, most_sampled_order) : 0.0;
  }

  [[nodiscard]] std::vector<renyi_bound> const& points() const { return points_; }

  friend bool operator==(divergence_guarantee const&, divergence_guarantee const&) = default;

 private:
  struct samples {
    double rate;
    orientation towards;
    bool told;
    friend bool operator==(samples const&, samples const&) = default;
  };

  template <std::same_as<double> T>
  [[nodiscard]] double unsampled(T order) const {
    double best = multiply_up(rho_, order);
    auto const next =
        std::lower_bound(points_.begin(), points_.end(), order,
                         [](renyi_bound const& p, double at) { return p.order < at; });
    if (next == points_.end()) return best;
    best = std::min(best, next->divergence);
    if (next == points_.begin() || next->order == order) return best;
    // (α−1)·D = t·(α₁−1)·D₁ + (1−t)·(α₀−1)·D₀ at most, t = (α−α₀)/(α₁−α₀); larger for a larger t.
    renyi_bound const& last = *(next - 1);
    enclosure const z = enclosure(order) - 1.0;
    enclosure const low = (enclosure(last.order) - 1.0) * last.divergence;
    enclosure const high = (enclosure(next->order) - 1.0) * next->divergence;
    enclosure const share = (enclosure(order) - last.order) / (enclosure(next->order) - last.order);
    return std::min(best, ((low + share * (high - low)) / z).upper);
  }

  template <std::same_as<double> T>
  [[nodiscard]] double told_divergence(T order) const {
    double const most = unsampled(order);
    if (order == 1.0) return multiply_up(samples_.rate, most);
    if (!(order > 1.0 && most <= std::numeric_limits<double>::max())) return most;
    enclosure const z = enclosure(order) - 1.0;
    enclosure const grown = z * most;
    enclosure const q = samples_.rate;
    enclosure const log_moment =
        grown.upper < 600.0 ? log1p(q * expm1(grown)) : grown + log(q + exp(-grown));
    return std::min(most, (log_moment / z).upper);
  }

  double rho_ = std::numeric_limits<double>::infinity();
  std::vector<renyi_bound> points_;
  samples samples_{1.0, orientation::remove, false};
};

/// What may be said of a mechanism's samples if all that is known of it is a guarantee.
/// @throws std::invalid_argument, with the reason
template <std::same_as<event> Event>
void check_guaranteed_samples(Event const& release, adjacency neighbours) {
  bool const in_batches =
      std::holds_alternative<with_replacement>(release.how) ||
      (std::holds_alternative<fixed_size>(release.how) && neighbours == adjacency::add_remove);
  auto const* batch = std::get_if<fixed_size>(&release.how);
  if (in_batches ||
      (batch != nullptr && batch->batch < batch->records && neighbours != adjacency::replace_one)) {
    refuse_unwritten("batches of a mechanism that is known by its Rényi divergences",
                     "without replacement, and under replace_one, they have one");
  }
  event any = release;
  any.what = pure{1.0};
  (void)dominate(any, neighbours);
}

/// Of Skellam noise of this variance μ, in every coordinate, on a change of L1 norm Δ₁ and L2 norm Δ₂, both integers:
///   D_α ≤ αΔ₂²/2μ + min{((2α−1)Δ₂² + 6Δ₁)/4μ², 3Δ₁/2μ}   at whole orders α ≥ 2.
/// Guarantee: upper bounds.
/// Source: Agarwal, Kairouz & Liu 2021, Corollary 4.1 with scale 1.
[[nodiscard]] inline renyi_dp skellam_divergences(double variance, double l1, double squared_l2) {
  renyi_dp out;
  enclosure const mu(variance);
  for (double order = 2.0; order <= 1e6;
       order = order < 256.0 ? order + 1.0 : std::ceil(1.02 * order)) {
    enclosure const first = order * enclosure(squared_l2) / (2.0 * mu);
    enclosure const second =
        ((2.0 * order - 1.0) * enclosure(squared_l2) + 6.0 * enclosure(l1)) / (4.0 * mu * mu);
    enclosure const third = 3.0 * enclosure(l1) / (2.0 * mu);
    double const most = (first + min(second, third)).upper;
    if (most <= std::numeric_limits<double>::max()) out.points.push_back({order, most});
  }
  return out;
}

/// A chain of n neighbours, the divergences of each link being bounded: with 1 − 1/c = (1 − 1/α)^{1/n},
///   D_α ≤ (c − 1)/(α − 1)·D_c   for α > 1.
/// Guarantee: upper bound, if `link` is one on D_c, and rises with c.
/// Source: Hölder's inequality, as Mironov 2017, Proposition 11; docs/certificates/events.md, Lemma 3b.
template <std::same_as<double> T, class Link>
[[nodiscard]] T chained_divergence(double links, T order, Link&& link) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (!(order > 1.0)) return infinity;
  enclosure const alpha(order);
  T const at = (-1.0 / expm1(log1p(-1.0 / alpha) / links)).upper;
  if (!(at > 1.0 && at < infinity)) return infinity;
  T const each = link(at);
  if (!(each < infinity)) return infinity;
  return ((enclosure(at) - 1.0) / (alpha - 1.0) * each).upper;
}

/// The same of stated orders: each α is the c of another one.
/// @throws std::invalid_argument where none is a double above 1
template <std::same_as<renyi_dp> Known>
[[nodiscard]] Known chained(Known const& link, double links) {
  Known out;
  for (renyi_bound const& point : link.points) {
    enclosure const log_share = links * log1p(-1.0 / enclosure(point.order));
    enclosure const odds = expm1(-log_share);  // 1/(order − 1)
    double const order = (1.0 + 1.0 / odds).lower;
    double const divergence = ((enclosure(point.order) - 1.0) * odds * point.divergence).upper;
    if (order > 1.0 && divergence <= std::numeric_limits<double>::max()) {
      out.points.push_back({order, divergence});
    }
  }
  if (out.points.empty()) {
    refuse_pair("so many records a person by Rényi divergences of these orders",
                "none is left above 1; state larger ones");
  }
  return out;
}

/// The guarantee of an event that is known by its Rényi divergences; nothing of any other event. That of a person with
/// k records is k²ρ (Bun & Steinke 2016, Proposition 1.9), or a chain's.
/// @throws std::invalid_argument where several records a person have no bound
template <std::same_as<event> Event>
[[nodiscard]] std::optional<divergence_guarantee> guarantee_of(Event const& release,
                                                               adjacency neighbours) {
  double const records = count_up(release.records_per_person);
  if (auto const* noise = std::get_if<integer_noise>(&release.what)) {
    if (noise->law != integer_law::skellam) return std::nullopt;
    double const change =
        multiply_up(multiply_up(records, neighbours == adjacency::replace_one ? 2.0 : 1.0),
                    count_up(noise->sensitivity));
    renyi_dp const all = skellam_divergences(noise->variance, change, multiply_up(change, change));
    if (all.points.empty()) return std::nullopt;
    return divergence_guarantee(all);
  }
  if (auto const* known = std::get_if<zcdp>(&release.what)) {
    return divergence_guarantee(zcdp{multiply_up(multiply_up(records, records), known->rho)});
  }
  auto const* known = std::get_if<renyi_dp>(&release.what);
  if (known == nullptr) return std::nullopt;
  if (release.records_per_person > 1) return divergence_guarantee(chained(*known, records));
  return divergence_guarantee(*known);
}

}  // namespace tacit::detail
