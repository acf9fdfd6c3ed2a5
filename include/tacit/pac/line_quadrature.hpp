// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/short_number.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/pac/dense.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

/// I(X; Z) of candidates on a line, by trapezoid sums of
///   Σ p_m φ(z − t_m) log(φ(z − t_m)/mix(z)) = mix(z)·KL(posterior(z)‖p).
/// docs/certificates/pac.md, lemmas 12 to 16, has the proofs.
///
/// *Clusters.* Where neighbours are more than `far_apart` apart, Z all but determines the
/// cluster C that X is in: I(X; Z) = I(C; Z) + I(X; Z | C), and 0 ≤ H(C) − I(C; Z) ≤ 2 log 2·(n/4)·Σ e^{−gap²/8}. Each cluster
/// is a line of its own.
/// *Alias.* In a strip |Im z| ≤ a the terms of the mixture that matter lie in a sector of 0.8π, so that it has no
/// zero: all of them at a·R = 0.8π, R = max t − min t, and at a·W = 0.4π those within W of the nearest one, where W is
/// long enough for the others to be a thousandth of it. ∫|integrand| ≤ e^{a²/2}(H + 5), and the error is at most
/// 2e^{a²/2}(H + 5)/(e^{2πa/h} − 1) (Trefethen & Weideman 2014, Theorem 5.1).
/// *Tails.* KL ≤ log 1/p_min, mix ≤ φ(distance from the outermost candidate).
/// *Window.* A node's sum takes the candidates within w of it; those beyond add φ(w)(1 + log 1/p_min + w²/2) at most.
/// *Rounding.* Nodes are multiples of a step of 20 bits: exact. A relative error e of posterior/p moves KL by
/// at most 1.04e·(KL + √(2KL)) + 53e², KL being the computed one (Pinsker).

namespace tacit::detail {

inline constexpr double far_apart = 18.0;

/// Positions in ascending order with their weights, centred; and the trapezoid sum that is to be taken.
template <dense_scalar T>
struct line_plan {
  array_of<T> t;
  array_of<T> p;
  double largest_kl = 0.0;
  double aim = 0.0;  // of the alias and of the tails, absolutely
  double step = 0.0;
  double reach = 0.0;
  double window = 0.0;
  double nodes = 0.0;
  double work = 0.0;  // evaluations of a normal, about

  /// A sum that is right to 2^−57·least for each candidate, up to rounding.
  line_plan(array_of<T> positions, array_of<T> const& weights, double least)
      : t(std::move(positions)), p(weights) {
    double constexpr pi = std::numbers::pi;
    p /= p.sum();
    t -= (p * t).sum();
    double const range = t(t.size() - 1) - t(0);
    double entropy = 0.0;
    for (double const q : p) entropy -= q * elementary::log(q);
    largest_kl = -elementary::log(p.minCoeff());
    aim = 0x1p-57 * least * static_cast<double>(t.size());
    double const digits = elementary::log(2.0 * (entropy + 5.0) / aim);
    double gap = 0.0;
    for (Eigen::Index m = 1; m < t.size(); ++m) gap = std::max(gap, t(m) - t(m - 1));
    // W(W − gap)/2 = log(1000/p_min), and a little more.
    double const turning =
        1.001 * (0.5 * gap + std::sqrt(0.25 * gap * gap + 2.0 * (largest_kl + 7.0)));
    double const strip =
        std::min(std::max(0.8 * pi / range, 0.4 * pi / turning), std::sqrt(2.0 * digits));
    step = short_number(2.0 * pi * strip / (digits + 0.5 * strip * strip), 20);
    reach = std::sqrt(2.0 * elementary::log((largest_kl + 2.0) * 4.0 / aim));
    window = reach + 2.0;
    nodes = (range + 2.0 * reach) / step + 2.0;
    work = nodes + static_cast<double>(t.size()) * std::min(nodes, 2.0 * window / step + 1.0);
  }
};

/// ∫ mix(z)·KL(posterior(z)‖p) dz for a mixture of unit normals on a line.
struct line_sum {
  double value;
  double error;
};

template <dense_scalar T = double>
[[nodiscard]] line_sum integrate(line_plan<T> const& plan) {
  using elementary::exp, elementary::expm1, std::sqrt;
  array_of<T> const& t = plan.t;
  array_of<T> const& p = plan.p;
  Eigen::Index const size = p.size();
  double const low = t(0);
  double const high = t(size - 1);
  double const extent = std::max(-low, high);
  auto const count = static_cast<double>(size);
  // The weights of the candidates below and above each.
  array_of<T> below = array_of<T>::Zero(size + 1);
  array_of<T> above = array_of<T>::Zero(size + 1);
  for (Eigen::Index m = 0; m < size; ++m) below(m + 1) = below(m) + p(m);
  for (Eigen::Index m = size; m-- > 0;) above(m) = above(m + 1) + p(m);
  Eigen::Index begin = 0;
  Eigen::Index end = 0;
  compensated_sum<double> value;
  double lost = 0.0;
  array_of<T> x(size);
  auto const first = static_cast<long>(std::floor((low - plan.reach) / plan.step));
  auto const last = static_cast<long>(std::ceil((high + plan.reach) / plan.step));
  for (long j = first; j <= last; ++j) {
    double const z = plan.step * static_cast<double>(j);
    double const steepest = extent * (std::abs(z) + extent);  // bounds every |log-likelihood ratio|
    double kl = 0.0;
    double mix = 0.0;
    double relative = 0.0;  // error of a ratio
    if (steepest < 0.25) {
      for (Eigen::Index m = 0; m < size; ++m) x(m) = expm1(t(m) * (z - 0.5 * t(m)));
      double const mean = (p * x).sum();
      for (Eigen::Index m = 0; m < size; ++m) {
        kl += p(m) * entropy_residual((x(m) - mean) / (1.0 + mean), (1.0 + x(m)) / (1.0 + mean));
      }
      mix = (1.0 + mean) * exp(-0.5 * z * z);
      relative = 1.3 * unit_roundoff * (count + 32.0) * steepest;
      lost += mix * kl * unit_roundoff * (count + 16.0 + 2.0 * z * z);
    } else {
      while (end < size && t(end) <= z + plan.window) ++end;
      while (begin < end && t(begin) < z - plan.window) ++begin;
      if (begin == end) continue;
      double top = -std::numeric_limits<double>::infinity();
      for (Eigen::Index m = begin; m < end; ++m) {
        x(m) = -0.5 * (z - t(m)) * (z - t(m));
        top = std::max(top, x(m));
      }
      double sum = 0.0;
      for (Eigen::Index m = begin; m < end; ++m) {
        x(m) = exp(x(m) - top);
        sum += p(m) * x(m);
      }
      kl = below(begin) + above(end);  // ψ(−1) = 1
      for (Eigen::Index m = begin; m < end; ++m) {
        double const ratio = x(m) / sum;
        kl += p(m) * entropy_residual(ratio - 1.0, ratio);
      }
      mix = sum * exp(top);
      relative = unit_roundoff * (count + 300.0 - 8.0 * top);
      lost += mix * kl * unit_roundoff * (count + 300.0 - 8.0 * top);
    }
    value += mix * kl;
    lost += mix * relative * (1.04 * (kl + sqrt(2.0 * kl)) + 53.0 * relative);
  }
  double const measure = plan.step / sqrt(2.0 * std::numbers::pi);
  double const tails =
      2.0 * plan.largest_kl * (plan.step + 1.0 / plan.reach) * exp(-0.5 * plan.reach * plan.reach);
  double const outside = 0.4 * (high - low + 2.0 * plan.reach + 4.0 * plan.step) *
                         (1.0 + plan.largest_kl + 0.5 * plan.window * plan.window) *
                         exp(-0.5 * plan.window * plan.window);
  double const sum = measure * value.value();
  // Each position is off by u of itself: |dI| ≤ √Σp dt²·√Var(T|Z), which is at most Var T and 1.
  double const spread = sqrt((p * t.square()).sum());
  double const centring = 2.0 * unit_roundoff * spread * std::min(spread, 1.0);
  return {sum, 1.02 * (plan.aim + tails + outside + measure * lost + centring) +
                   16.0 * unit_roundoff * sum};
}

/// I for positions t and weights p that sum to 1, `least` a positive lower bound of it. Nothing if it
/// would take more than `most` evaluations of a normal.
template <dense_scalar T = double>
[[nodiscard]] std::optional<bound<double>> information_on_a_line(array_of<T> const& t,
                                                                 array_of<T> const& p, double least,
                                                                 double most) {
  std::vector<Eigen::Index> order(static_cast<std::size_t>(p.size()));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::sort(order.begin(), order.end(),
            [&](Eigen::Index a, Eigen::Index b) { return t(a) < t(b); });
  auto const count = static_cast<double>(p.size());

  std::vector<line_plan<T>> plans;
  std::vector<double> mass;      // of each cluster
  std::vector<double> planned;   // of those in `plans`
  double across_clusters = 0.0;  // H(C|Z), at most
  double work = 0.0;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && t(order[end]) - t(order[end - 1]) <= far_apart) ++end;
    std::vector<Eigen::Index> const members(order.begin() + static_cast<std::ptrdiff_t>(begin),
                                            order.begin() + static_cast<std::ptrdiff_t>(end));
    array_of<T> const weights = p(members);
    mass.push_back(weights.sum());
    if (members.size() > 1) {
      plans.emplace_back(t(members), weights, least);
      planned.push_back(mass.back());
      work += plans.back().work;
    }
    if (end < order.size()) {
      double const gap = (t(order[end]) - t(order[end - 1])) * (1.0 - 4.0 * unit_roundoff);
      across_clusters += 0.35 * count * elementary::exp(-0.125 * gap * gap);
    }
    if (!(work <= most)) return std::nullopt;
    begin = end;
  }

  double value = mass.size() > 1 ? entropy_of(mass).value : 0.0;
  double error = 8.0 * (count + 8.0) * unit_roundoff * value;
  for (std::size_t c = 0; c < plans.size(); ++c) {
    line_sum const inside = integrate(plans[c]);
    value += planned[c] * inside.value;
    error += planned[c] * (inside.error + 8.0 * (count + 8.0) * unit_roundoff * inside.value);
  }
  error = 1.01 * error + 2.0 * (count + 8.0) * unit_roundoff * value;
  return bound<double>{std::max(0.0, value - error - across_clusters), value + error};
}

#if defined(TACIT_COMPILED_DENSE)
extern template std::optional<bound<double>> information_on_a_line<double>(Eigen::ArrayXd const&,
                                                                           Eigen::ArrayXd const&,
                                                                           double, double);
#endif

}  // namespace tacit::detail
