// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/grid/coupled_law.hpp>
#include <tacit/dp/grid/curves.hpp>
#include <tacit/dp/grid/loss_law.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// A dominating pair as the law of its loss under P: atoms and curves. What the discretised accountant puts
/// on its grids.

namespace tacit::detail {

template <std::same_as<double> T = double>
class law_maker {
 public:
  /// Atoms at both ends are left out of at least so many, where no more than this share of their range remains.
  struct trimming {
    std::size_t least_atoms;
    T share;
  };

  /// What may be left out above and below.
  law_maker(T above, T below, trimming trim) : above_(above), below_(below), trim_(trim) {}

  [[nodiscard]] loss_law<T> operator()(normal_pair const& pair) const {
    return (*this)(mixture_pair{{{1.0, pair.mu}}, orientation::remove});
  }

  [[nodiscard]] loss_law<T> operator()(mixture_pair const& pair) const {
    mixture_curve<T> curve;
    curve.parts = pair.parts;
    bool const remove = pair.orientation == orientation::remove;
    if (remove) curve.parts.resize(parts_that_count(curve.parts, above_));
    compensated_sum<T> rest(1.0);
    T most = 0.0;  // Σ weight, rounded up
    for (mixture_pair::part const& p : curve.parts) {
      rest += -p.weight;
      most = add_up(most, p.weight);
    }
    curve.rest = std::max(0.0, rest.value());
    T const last = curve.parts.back().shift;
    loss_law<T> out;
    T first_x = 0.0;
    T last_x = 0.0;
    if (remove) {
      first_x = (curve.rest > 0.0 ? 0.0 : pair.parts.front().shift) - tail_point(below_);
      last_x = last + tail_point(above_);
      curve.low = first_x;
      curve.high = last_x;
      out.largest = std::numeric_limits<T>::infinity();
    } else {
      curve.sign = -1.0;
      first_x = -tail_point(above_);
      last_x = tail_point(below_);
      curve.low = -last_x;
      curve.high = -first_x;
      out.largest = most < 1.0 ? -elementary::log1p(-most) * (1.0 + libm_units * unit_roundoff)
                               : std::numeric_limits<T>::infinity();
    }
    for (T const x : {first_x, last_x}) {
      // The exponent shift·(x − shift/2) is off by a few ulp, the loss by at most as much.
      T slope = 1.0;
      if (curve.parts.size() == 1 && curve.rest > 0.0) {
        T const t = last * (x - 0.5 * last);
        T const raised = pair.parts[0].weight * elementary::exp(std::min(t, 600.0));
        slope = raised / (curve.rest + raised);
      }
      T const exponent = slope * last * (std::abs(x) + last);
      out.loss_error =
          std::max(out.loss_error,
                   unit_roundoff * (8.0 * exponent + libm_units * std::abs(curve.ratio_log(x))));
    }
    // The density is e^{loss − t²/2}, or without the loss.
    out.mass_error = out.loss_error +
                     unit_roundoff * (libm_units + 2.0 * first_x * first_x + 2.0 * last_x * last_x);
    finish_curve(out, std::move(curve));
    out.above = above_;
    out.below = below_;
    return out;
  }

  [[nodiscard]] loss_law<T> operator()(bounded_pair const& pair) const {
    loss_law<T> out;
    T const rest = 1.0 - pair.rate;
    T const less = elementary::exp(-pair.epsilon);
    T const sign = pair.orientation == orientation::remove ? 1.0 : -1.0;
    if (pair.epsilon == 0.0) {
      out.atoms.push_back({0.0, 1.0});
      return finished(std::move(out));
    }
    for (T const base : {-pair.epsilon, pair.epsilon}) {
      if (pair.atom == 0.0) break;
      T const a = base > 0.0 ? pair.atom : pair.atom * less;
      T const b = base > 0.0 ? pair.atom * less : pair.atom;
      T const p = sign > 0.0 ? pair.rate * a + rest * b : b;
      out.atoms.push_back({sign * sampled_loss<T>(base, pair.rate, rest), p});
    }
    if (pair.atom > 0.0 && pair.rate == 1.0) {
      out.largest = pair.epsilon;
      out.top = pair.epsilon * (1.0 - 4.0 * unit_roundoff);
      out.top_mass = pair.atom;
    }
    T const spread = 1.0 - pair.atom * (1.0 + less);
    if (spread > 4.0 * unit_roundoff) {
      bounded_curve<T> curve;
      curve.epsilon = pair.epsilon;
      curve.rate = pair.rate;
      curve.sign = sign;
      curve.log_height = elementary::log(-0.5 * spread / elementary::expm1(-pair.epsilon));
      curve.low = -pair.epsilon;
      curve.high = pair.epsilon;
      // c is as badly known as its numerator.
      out.mass_error = libm_units * unit_roundoff * (1.0 + pair.epsilon + 1.0 / spread);
      if (pair.atom == 0.0 && pair.rate == 1.0) {
        // ∫ c·e^{(l−ε)/2} dl over the last 1e-9 of the range
        T const last = 1e-9 * pair.epsilon;
        out.largest = pair.epsilon;
        out.top = pair.epsilon - 1.01 * last;
        out.top_mass = 0.9 * last * elementary::exp(curve.log_height);
      }
      finish_curve(out, std::move(curve));
    }
    return finished(std::move(out));
  }

  [[nodiscard]] loss_law<T> operator()(lattice_pair const& pair) const {
    loss_law<T> out;
    T const m = static_cast<T>(pair.shift);
    T const variance = pair.sigma * pair.sigma;
    T const rest = 1.0 - pair.rate;
    bool const remove = pair.orientation == orientation::remove;
    T const reach_above = pair.sigma * tail_point(above_) + 1.0;
    T const reach_below = pair.sigma * tail_point(below_) + 1.0;
    T const lowest =
        std::floor((remove && rest == 0.0 ? m : 0.0) - (remove ? reach_below : reach_above));
    T const highest = std::ceil((remove ? m : 0.0) + (remove ? reach_above : reach_below));
    // Σ e^{−k²/2σ²}; where σ > 2 it is σ√(2π) to the last bit (Poisson summation).
    compensated_sum<T> total;
    if (pair.sigma > 2.0) {
      total += pair.sigma * std::sqrt(2.0 * std::numbers::pi);
    } else {
      for (int k = -80; k <= 80; ++k) total += elementary::exp(-0.5 * k * k / variance);
    }
    T const log_total = elementary::log(total.value());
    for (T k = lowest; k <= highest; k += 1.0) {
      T const ratio = m * (2.0 * k - m) / (2.0 * variance);
      T const loss = sampled_loss<T>(ratio, pair.rate, rest);
      T const base = -0.5 * k * k / variance - log_total;
      T const p =
          remove ? (rest == 0.0 ? elementary::exp(-0.5 * (k - m) * (k - m) / variance - log_total)
                                : elementary::exp(base + loss))
                 : elementary::exp(base);
      out.atoms.push_back({remove ? loss : -loss, p});
    }
    T const exponent = m * (2.0 * std::max(std::abs(lowest), std::abs(highest)) + m) / variance;
    out.above = above_;
    out.below = below_;
    out.mass_error =
        unit_roundoff * (4.0 * libm_units + 4.0 * tail_point(above_) * tail_point(above_));
    out = finished(std::move(out));
    out.loss_error +=
        16.0 * unit_roundoff * std::min(exponent, 2.0 * out.high + exponent * pair.rate);
    out.largest = remove || rest == 0.0
                      ? std::numeric_limits<T>::infinity()
                      : -elementary::log1p(-pair.rate) * (1.0 + libm_units * unit_roundoff);
    out.top_mass = 0.0;
    return out;
  }

  [[nodiscard]] loss_law<T> operator()(finite_pair const& pair) const {
    loss_law<T> out;
    T size = 0.0;
    for (finite_pair::atom const& a : pair.atoms) {
      if (!(a.p > 0.0)) continue;
      out.atoms.push_back({a.loss, a.p});
      out.largest = out.atoms.size() == 1 ? a.loss : std::max(out.largest, a.loss);
      size = std::max(size, std::abs(a.loss));
    }
    out.infinite = pair.infinite;
    // Losses are what they are given as, but those that were computed.
    out.loss_error = pair.loss_error * size;
    out.mass_error += pair.mass_error + 4.0 * out.loss_error;
    T const off = pair.loss_error * std::abs(out.largest);
    for (loss_atom<T> const& a : out.atoms) {
      if (a.loss == out.largest) out.top_mass += a.p;
    }
    out.top = subtract_down(out.largest, off);
    out.largest = add_up(out.largest, off);
    out.above = out.below = pair.left_out;
    if (pair.left_out > 0.0) out.largest = std::numeric_limits<T>::infinity();
    leave_out_ends(out);
    return finished(std::move(out), true);
  }

  [[nodiscard]] loss_law<T> operator()(amplified_pair const& pair) const;

  [[nodiscard]] loss_law<T> operator()(coupled_pair const& pair) const {
    return coupled_law<T>(pair, above_, below_);
  }

  /// Nothing is known of it here: `epochs::epoch_store` puts atoms above or below it in its place.
  [[nodiscard]] loss_law<T> operator()(allocation_pair const&) const { return unknown(); }
  [[nodiscard]] loss_law<T> operator()(allocated_pair const&) const { return unknown(); }

 private:
  [[nodiscard]] static loss_law<T> unknown() {
    loss_law<T> out;
    out.infinite = 1.0;
    out.lower_holds = false;
    return out;
  }

  // Atoms of next to no mass above all others, if they take half of the range; or those at both ends, as `trim_` says.
  void leave_out_ends(loss_law<T>& law) const {
    std::vector<loss_atom<T>>& all = law.atoms;
    std::size_t first = 0;
    std::size_t kept = all.size();
    T above = 0.0;
    T below = 0.0;
    auto const with = [&law](T mass, loss_atom<T> const& a) {
      return add_up(mass, a.p * (1.0 + 2.0 * law.mass_error));
    };
    for (; kept > 1 && with(above, all[kept - 1]) <= above_; --kept) {
      above = with(above, all[kept - 1]);
    }
    auto const range = [&] { return all[kept - 1].loss - all[first].loss; };
    T const whole = all.empty() ? T{0} : all.back().loss - all.front().loss;
    bool const from_above = kept < all.size() && range() < 0.5 * whole;
    if (all.size() >= trim_.least_atoms) {
      for (; first + 1 < kept && with(below, all[first]) <= below_; ++first) {
        below = with(below, all[first]);
      }
    }
    if (!(first > 0 && range() < trim_.share * whole)) {
      if (!from_above) return;
      first = 0;
      below = 0.0;
    }
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(kept), all.end());
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
    law.above = add_up(law.above, above);
    law.below = add_up(law.below, below);
  }

  T above_;
  T below_;
  trimming trim_;
};

template <std::same_as<double> T>
loss_law<T> law_maker<T>::operator()(amplified_pair const& pair) const {
  T const rest = 1.0 - pair.rate;
  amplified_curve<T> const curve{
      {pair.kind, pair.absent}, {pair.kind, pair.changed}, pair.rate, 1.0, 0.0, 0.0};
  T const widest = std::max(pair.absent, pair.changed);
  bool const normal = curve.absent.normal();
  // P(L′ > ε′) ≤ 6·P_widest(L > ε) ≤ 3·e^{−y²/2} with y = ε/m − m/2.
  T const reach = normal ? widest * (0.5 * widest + tail_point(above_ / 3.0)) : widest;
  T const reach_below = normal ? widest * (0.5 * widest + tail_point(below_ / 3.0)) : widest;
  std::vector<T> ends{0.0};
  T const narrow = std::min(pair.absent, pair.changed);
  if (!normal && narrow > 0.0 && narrow < widest)
    ends.push_back(narrow);  // a Laplace profile's kink
  ends.push_back(reach);

  // The curvature is a sum of positive terms unless an absence moves more than a change.
  bool const convex = pair.absent <= pair.changed;
  if (!convex) ends = hull_of(curve, ends);

  loss_law<T> out;
  // x·G′ of the piece from ends[k], at its ends; and by how much it may be off.
  auto const chord = [&](std::size_t k, bool at_end) {
    T const width = ends[k + 1] - ends[k];
    T const rise = curve.profile(ends[k + 1]) - curve.profile(ends[k]);
    return at_end ? rise / -elementary::expm1(-width) : rise / elementary::expm1(width);
  };
  auto const slope_from = [&](std::size_t k) {
    return convex ? curve.slope(ends[k], false) : chord(k, false);
  };
  auto const slope_to = [&](std::size_t k) {
    return convex ? curve.slope(ends[k + 1], true) : chord(k, true);
  };
  auto const off = [&](std::size_t k) {
    return convex ? 0.0
                  : (curve.profile(ends[k]) + curve.profile(ends[k + 1])) /
                        std::min(1.0, ends[k + 1] - ends[k]);
  };
  // A symmetric profile has P(L = 0) = 1 + 2·dδ/dx′(1+) − δ(0).
  T const zero_mass = 1.0 + 2.0 * slope_from(0) - pair.rate * curve.profile(0.0) +
                      (convex ? 0.0 : 64.0 * unit_roundoff * (2.0 + off(0)));
  if (zero_mass > 0.0) out.atoms.push_back({0.0, zero_mass});
  for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
    bool const last = k + 2 == ends.size();
    // Where slopes jump there is an atom; rounded up, for a negative one would lower the profile.
    if (!(normal && last && convex)) {
      T const before = slope_to(k);
      T const after = last ? curve.slope(ends[k + 1], false) : slope_from(k + 1);
      T const wrong = std::abs(before) + std::abs(after) + off(k) + (last ? 0.0 : off(k + 1));
      T const jump = after - before + 64.0 * unit_roundoff * wrong;
      T const loss = sampled_loss<T>(ends[k + 1], pair.rate, rest);
      if (jump > 0.0) {
        out.atoms.push_back({loss, jump * elementary::exp(loss - ends[k + 1])});
        out.atoms.push_back({-loss, jump * elementary::exp(-ends[k + 1])});
      }
    }
    if (!convex) continue;
    amplified_curve<T> side = curve;
    side.low = ends[k];
    side.high = ends[k + 1];
    finish_curve(out, side);
    side.sign = -1.0;
    side.high = -ends[k];
    side.low = std::max(-ends[k + 1], -reach_below);
    if (side.low < side.high) finish_curve(out, side);
  }
  // An exponent y²/2 is as wrong as y, and e^{loss−ε} as both.
  T const farthest = reach / widest + widest;
  out.mass_error = unit_roundoff * (256.0 + 16.0 * reach + 16.0 * farthest * farthest);
  out.lower_holds = convex;
  out = finished(std::move(out));
  out.above = normal ? above_ : 0.0;
  out.below = normal ? below_ : 0.0;
  if (normal) {
    out.largest = std::numeric_limits<T>::infinity();
    out.top_mass = 0.0;
  }
  return out;
}

/// The common step of all losses, if every law is made of atoms on such a lattice.
template <std::same_as<double> T = double>
[[nodiscard]] std::optional<T> common_lattice(std::span<loss_law<T> const> laws) {
  T common = 0.0;
  std::vector<T> steps;
  for (loss_law<T> const& law : laws) {
    if (!law.curves.empty() || law.atoms.empty()) return std::nullopt;
    if (law.atoms.size() == 1) continue;
    std::vector<T> losses;
    for (loss_atom<T> const& a : law.atoms) losses.push_back(a.loss);
    std::sort(losses.begin(), losses.end());
    T least = std::numeric_limits<T>::infinity();
    for (std::size_t k = 1; k < losses.size(); ++k)
      least = std::min(least, losses[k] - losses[k - 1]);
    T const range = losses.back() - losses.front();
    T const intervals = std::round(range / least);
    if (!(least > 0.0) || !(intervals <= 4e6)) return std::nullopt;
    T const step = range / intervals;
    T const slack =
        32.0 * unit_roundoff * std::max(std::abs(losses.front()), std::abs(losses.back()));
    for (T const loss : losses) {
      T const d = loss - losses.front();
      if (std::abs(d - step * std::round(d / step)) > slack) return std::nullopt;
    }
    steps.push_back(step);
    common = common == 0.0 ? step : std::min(common, step);
  }
  if (common == 0.0) return 1.0;
  for (T const step : steps) {
    T const ratio = step / common;
    if (std::abs(ratio - std::round(ratio)) > 16.0 * unit_roundoff * ratio) return std::nullopt;
  }
  return common;
}

}  // namespace tacit::detail
