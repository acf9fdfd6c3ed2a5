// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/coupled_ratio.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <variant>

/// ε at δ = 0, where the accountants' search ends: a sum of largest losses.
///
/// Lemma. Let (P_i, Q_i) be pairs of largest losses ε_i = ess sup log dP_i/dQ_i. (a) Their composition is
/// (ε, 0)-DP exactly for ε ≥ Σ ε_i. (b) (qP + (1−q)Q, Q) has the largest loss ε′ = log(1 + q(e^ε − 1)), and
/// the swapped pair's is at most that if that of (Q, P) is at most ε, too.
/// Proof. (a) δ(ε) = E_P[1 − e^{ε−L}]₊ is 0 if and only if L ≤ ε almost surely, and the loss of a product is
/// the sum of independent losses, of which each comes arbitrarily close to ε_i with positive probability.
/// (b) The ratio is 1 − q + q·e^L. The swapped one is 1/(1 − q + q·e^L) ≤ 1/(1 − q + q·e^{−ε}), and
/// (1 − q + q·e^{−ε})(1 − q + q·e^ε) = 1 + q(1−q)(e^ε + e^{−ε} − 2) ≥ 1. ∎
/// An `amplified_pair`'s profile is 0 from the ε′ of the larger of its two shifts on (b), and a mirrored pair
/// has the losses of its sampled one; sampled base pairs are symmetric (pair.hpp), as (b) asks.

namespace tacit {

namespace detail {

/// loss·(1 ∓ relative), outwards, and four steps of the subnormal numbers for what is lost among them.
[[nodiscard]] inline bound<double> widened(double loss, double relative) {
  if (loss == 0.0 || relative == 0.0 || !is_finite(loss)) return {loss, loss};
  constexpr double lost = 4.0 * std::numeric_limits<double>::denorm_min();
  return {std::max(0.0, subtract_down(multiply_down(loss, 1.0 - relative), lost)),
          add_up(multiply_up(loss, 1.0 + relative), lost)};
}

/// Of a shift or an epsilon that is nearest.
inline constexpr double shift_error = 0x1p-50;

/// The largest loss of a pair, as it is before sampling.
template <std::same_as<dominating_pair> Pair>
[[nodiscard]] bound<double> pure_loss(Pair const& pair) {
  struct visitor {
    bound<double> operator()(normal_pair const& p) const { return unbounded(p.mu > 0.0); }
    bound<double> operator()(mixture_pair const& p) const { return unbounded(!p.parts.empty()); }
    bound<double> operator()(lattice_pair const& p) const { return unbounded(p.shift > 0); }
    bound<double> operator()(bounded_pair const& p) const {
      return {widened(p.epsilon, shift_error).lower, p.epsilon};  // it is rounded up
    }
    bound<double> operator()(finite_pair const& p) const {
      if (p.infinite > 0.0 || p.left_out > 0.0 || p.atoms.empty()) return unbounded(true);
      return widened(p.atoms.back().loss, p.loss_error);
    }
    bound<double> operator()(amplified_pair const& p) const {
      if (p.kind == amplified_pair::noise::normal) return unbounded(true);
      return widened(std::max(p.absent, p.changed), shift_error);
    }
    // Laplace noise has it where all shifts are passed. It rounds by some 20u, and by 8u
    // a part; shifts that are off by 2u move it by that times the largest, but not by more than log(1/weight) of them.
    bound<double> operator()(coupled_pair const& p) const {
      if (p.kind == coupled_pair::noise::normal) return unbounded(!p.parts.empty());
      double last = 0.0;
      for (auto const& part : p.parts) last = std::max({last, part.p, part.q});
      double const units = 4.0 + static_cast<double>(p.parts.size()) + 0.5 * std::min(last, 750.0);
      double const weights = p.parts.size() > 1 ? 4.0 * binomial_mixture::weight_error : 0.0;
      return widened(coupled_ratio<double>(p).loss(last), units * shift_error + weights);
    }
    bound<double> operator()(allocation_pair const&) const { return unbounded(true); }
    // All steps may have the largest loss of one, or the least.
    bound<double> operator()(allocated_pair const& p) const {
      bool const remove = p.orientation == orientation::remove;
      return {(*this)(remove ? p.below : turned(p.below)).lower, (*this)(whole_step(p)).upper};
    }
    static bound<double> unbounded(bool holds) {
      double const loss = holds ? std::numeric_limits<double>::infinity() : 0.0;
      return {loss, loss};
    }
  };
  return std::visit(visitor{}, pair);
}

/// Lemma (b). The formula rounds by 10u at most, where exp, expm1, log and log1p err by 2u
/// (docs/certificates/elementary.md): log1p enlarges no relative error, and log(rate) is added to losses above
/// 700 alone.
[[nodiscard]] inline bound<double> sampled_pure_loss(bound<double> const& loss, double rate) {
  auto const at = [](double l, double q) { return is_finite(l) ? sampled_loss<double>(l, q) : l; };
  constexpr double rounding = 0x1p-49;
  return {widened(at(loss.lower, next_down(rate)), rounding).lower,
          widened(at(loss.upper, std::min(1.0, next_up(rate))), rounding).upper};
}

struct pure_losses {
  bound<double> remove;
  bound<double> add;
};

/// In each direction. What samples of a symmetric pair lose in the direction `add` is only bounded, by Lemma (b).
template <std::same_as<event> Event>
[[nodiscard]] pure_losses pure_loss(Event const& release, adjacency neighbours) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (std::holds_alternative<zcdp>(release.what) ||
      std::holds_alternative<renyi_dp>(release.what)) {
    return {{0.0, infinity}, {0.0, infinity}};  // of the largest loss it says nothing
  }
  domination const found = dominate(release, neighbours);
  double rate = 1.0;
  if (auto const* scheme = std::get_if<poisson>(&release.how)) rate = scheme->rate;
  auto const* batch = std::get_if<fixed_size>(&release.how);
  if (batch != nullptr) rate = batch->rate();
  if (rate == 0.0) return {{0.0, 0.0}, {0.0, 0.0}};
  if (found.left_out > 0.0) {
    // What weighs less than any double loses the most. But a person's records change one after the other.
    pure_losses out{{found.attained ? pure_loss(found.remove).lower : 0.0, infinity},
                    {found.attained ? pure_loss(found.add).lower : 0.0, infinity}};
    if (release.records_per_person > 1) {
      pure_losses const one = pure_loss(by_person(release, 1), neighbours);
      double const many = count_up(release.records_per_person);
      out.remove.upper = out.add.upper =
          multiply_up(many, std::max(one.remove.upper, one.add.upper));
    } else if (std::uint64_t const many = most_taking_part(release); many > 0) {
      event const all = by_person(event(release.what), many);
      try {
        out.remove.upper = out.add.upper = pure_loss(dominate(all, neighbours).remove).upper;
      } catch (std::domain_error const&) {  // noise that is too small for so many
      }
    }
    return out;
  }
  bound<double> loss = pure_loss(found.remove);
  auto const attained = [&](bound<double> const& known) {
    return bound<double>{found.attained ? known.lower : 0.0, known.upper};
  };
  bool const is_finite_pair = std::holds_alternative<finite_pair>(found.remove);
  bool const is_coupled = std::holds_alternative<coupled_pair>(found.remove);
  bool const amplified_once = release.records_per_person == 1 &&
                              (batch != nullptr) == (neighbours == adjacency::replace_one);
  if (is_coupled || std::holds_alternative<with_replacement>(release.how) ||
      std::holds_alternative<random_allocation>(release.how) ||
      (is_finite_pair && !amplified_once) ||
      (std::holds_alternative<randomised_response>(release.what) && !found.symmetric)) {
    return {attained(loss), attained(pure_loss(found.add))};  // these hold the sampled losses
  }
  if (rate < 1.0) {
    // Other pairs hold the shift; a finite one the sampled losses: its base has those to sample.
    if (is_finite_pair) {
      event whole = release;
      whole.how = unsampled{};
      loss = pure_loss(dominate(whole, neighbours).remove);
    }
    loss = sampled_pure_loss(loss, rate);
  }
  return {attained(loss), {rate < 1.0 ? 0.0 : attained(loss).lower, loss.upper}};
}

}  // namespace detail

/// The smallest ε for which a run is (ε, 0)-DP; infinite for a Gaussian or an (ε, δ) guarantee with δ > 0.
/// Guarantee: bounds on both sides. An event whose pair is not attained adds 0 to the lower end.
/// @throws as `dominate`
/// Source: the lemma above; sampling: Li, Qardaji & Su 2012.
template <std::same_as<adjacency> Adjacency>
[[nodiscard]] bound<double> pure_epsilon(std::span<composed const> run, Adjacency neighbours) {
  using namespace detail;
  bound<double> removed{0.0, 0.0};
  bound<double> added{0.0, 0.0};
  auto const put = [](bound<double>& sum, bound<double> const& loss, std::uint64_t count) {
    if (count == 0 || loss.upper == 0.0) return;
    sum.lower = add_down(sum.lower, multiply_down(count_down(count), loss.lower));
    sum.upper = add_up(sum.upper, multiply_up(count_up(count), loss.upper));
  };
  for (composed const& entry : run) {
    for (auto const& [release, count] : epoch_blocks(entry.release, entry.count)) {
      pure_losses const loss = pure_loss(release, neighbours);
      put(removed, loss.remove, count);
      put(added, loss.add, count);
    }
  }
  return {std::max(removed.lower, added.lower), std::max(removed.upper, added.upper)};
}

}  // namespace tacit
