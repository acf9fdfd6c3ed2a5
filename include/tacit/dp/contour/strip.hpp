// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/contour/table.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

/// What a table of nodes is certain of on the real axis: the rounding of its nodes, what lies beyond its
/// ends, and an upper bound on the moment M(z). Lemmas: docs/certificates/contour.md.

namespace tacit::detail {

/// In units of rounding.
template <std::same_as<double> T = double>
struct node_errors {
  T loss;        // absolute
  T mass;        // relative
  T divergence;  // of the node's term in E[L], over its mass
  T share;       // of a part's share in the likelihood ratio, relative
};

/// Lemma 3, from the parts' shares in the likelihood ratio at a node.
template <std::same_as<double> T>
[[nodiscard]] node_errors<T> errors_at(mixture_table<T> const& nodes, std::size_t k,
                                       T const* shares) {
  T const x = nodes.point(k);
  T const loss = nodes.loss(k);
  T const log_ratio = nodes.log_ratio(k);
  auto const& parts = nodes.pair().parts;
  T const n = static_cast<T>(parts.size());
  T grown = 0.0;  // Σ weight·|e^t − 1|, over the ratio
  T moved = 0.0;  // Σ weight·e^t·|t|, over the ratio
  T farthest = 0.0;
  T highest = 0.0;
  bool const summed = log_ratio < -0.69 || log_ratio > 700.0;
  T const inverse = summed ? 0.0 : elementary::exp(-log_ratio);
  for (std::size_t j = 0; j < parts.size(); ++j) {
    T const t = parts[j].shift * (x - 0.5 * parts[j].shift);
    grown += (t > 0.0 ? shares[j] : parts[j].weight * inverse) * std::min(1.0, std::abs(t));
    moved += shares[j] * std::abs(t);
    farthest = std::max(farthest, std::abs(t));
    highest = std::max(highest, t);
  }
  if (summed) {
    grown = 1.0 + n;
    moved += highest;
  }
  node_errors<T> e{};
  e.loss = 3.0 * std::abs(loss) + (6.0 + n) * grown + 3.0 * moved;
  T const taper = nodes.log_taper(k);
  T const base =
      5.0 + 0.5 * x * x + (taper != 0.0 ? (tail_units + 1.0) * std::abs(taper) + 0.5 * x * x : 0.0);
  e.mass = base + (nodes.removes() ? e.loss + std::abs(nodes.log_mass(k)) : 0.0);
  T const sensitive = nodes.removes() ? std::abs(loss) : std::abs(elementary::expm1(log_ratio));
  e.divergence = (base + (std::abs(loss) < 0.336 ? 12.0 : 50.0)) * exp_residual(-loss) +
                 sensitive * ((4.0 + n) * grown + 2.0 * moved);
  if (!nodes.removes() && summed) e.divergence += e.loss;
  // R − 1 and R are sums of their own, of which the latter has lost its digits where it is small.
  if (nodes.removes() && summed) {
    e.divergence += (n + 3.0 * std::abs(loss)) * exp_residual(-loss);
  }
  if (log_ratio > 598.0) {  // where the ratio stands by its logarithm
    T const exponent = nodes.log_mass(k) + (nodes.removes() ? 0.0 : log_ratio);
    e.divergence += sensitive * (2.0 * log_ratio + std::abs(exponent));
  }
  e.share = 8.0 + 3.0 * farthest + e.loss + std::abs(loss);
  return e;
}
template <std::same_as<double> T>
[[nodiscard]] node_errors<T> errors_at(mixture_table<T> const& nodes, std::size_t k) {
  std::vector<T> shares;
  for (mixture_pair::part const& part : nodes.pair().parts) {
    shares.push_back(share_of(part, nodes.point(k), nodes.log_ratio(k)));
  }
  return errors_at(nodes, k, shares.data());
}

/// What several bounds on one table share.
template <std::same_as<double> T = double>
struct table_facts {
  std::vector<node_errors<T>> errors;
  std::vector<T> shares;  // of every part in the likelihood ratio, node by node

  explicit table_facts(mixture_table<T> const& nodes) : shares(shares_of(nodes)) {
    errors.reserve(nodes.size());
    std::size_t const parts = nodes.pair().parts.size();
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      errors.push_back(errors_at(nodes, k, &shares[k * parts]));
    }
  }

  [[nodiscard]] static std::vector<T> shares_of(mixture_table<T> const& nodes) {
    std::vector<T> shares;
    shares.reserve(nodes.size() * nodes.pair().parts.size());
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      for (mixture_pair::part const& part : nodes.pair().parts) {
        shares.push_back(share_of(part, nodes.point(k), nodes.log_ratio(k)));
      }
    }
    return shares;
  }
};

/// 2 sin²(φ/2) and sin φ of the parts' angles φ = shift·height.
template <std::same_as<double> T>
[[nodiscard]] std::vector<std::pair<T, T>> part_angles(std::vector<mixture_pair::part> const& parts,
                                                       T height) {
  std::vector<std::pair<T, T>> angles;
  for (mixture_pair::part const& part : parts) {
    T const half = elementary::sin(0.5 * part.shift * height);
    angles.emplace_back(2.0 * half * half, elementary::sin(part.shift * height));
  }
  return angles;
}

/// Real and imaginary part of R(x + i·height)/R(x) − 1 at the node k, from `part_angles` and the shares of
/// all nodes.
template <std::same_as<double> T>
[[nodiscard]] std::pair<T, T> ratio_moves(std::vector<T> const& shares, std::size_t k,
                                          std::vector<std::pair<T, T>> const& angles) {
  T real = 0.0;
  T imaginary = 0.0;
  for (std::size_t j = 0; j < angles.size(); ++j) {
    T const share = shares[k * angles.size() + j];
    real -= share * angles[j].first;
    imaginary += share * angles[j].second;
  }
  return {real, imaginary};
}

/// log ∫₀^b e^{v²/2} dv at most: v² ≤ bv.
template <std::same_as<double> T>
[[nodiscard]] T log_growth(T b) {
  return sum_above<T>({0.5 * b * b, elementary::log(std::min(b, 2.0 / b))});
}

/// log of |f(x ± ib)|/f(x) at most for the untapered integrand at tilt z, wherever the shifted normals' share
/// in the likelihood ratio is at most `share`; 0 ≤ b < π/shift. Lemma 5.
template <std::same_as<double> T>
[[nodiscard]] T log_stretch(mixture_table<T> const& nodes, T z, T b, T share = 1.0) {
  if (nodes.removes()) return sum_above<T>({0.5 * b * b});
  T const half = elementary::sin(0.5 * b * nodes.shift());
  T const left = std::max(elementary::cos(0.5 * b * nodes.shift()),
                          b * nodes.shift() < 1.57 ? 1.0 - 2.0 * share * half * half : 0.0);
  // The cosine is as wrong as its argument.
  return sum_above<T>(
      {0.5 * b * b, -z * elementary::log(left), z * unit_roundoff * (16.0 * share / left + 2.0)});
}

/// log of 1/(e^{2πb/step} − 1), which the trapezoid rule's error has as a factor.
template <std::same_as<double> T>
[[nodiscard]] T log_alias(mixture_table<T> const& nodes, T b) {
  T const turns = 2.0 * std::numbers::pi * b / nodes.step();
  return sum_above<T>({-turns, -log1m_exp(-turns)});
}

/// The shifted normals' share in the likelihood ratio at x, at most.
template <std::same_as<double> T>
[[nodiscard]] T share_at(mixture_table<T> const& nodes, T x, T log_ratio) {
  return std::min(1.0, 1.01 * share_of(nodes.pair().parts, x, log_ratio));
}

/// In `add`, how much log(R^{−z}·e^{t·arg R}) at x + ib rises a unit to the right at most, wherever x is:
/// Lemma 7 (iii). ∞ where that is not known.
template <std::same_as<double> T>
[[nodiscard]] T rise_beyond(std::vector<mixture_pair::part> const& parts, T z, T b, T t) {
  T const least = parts.front().shift;
  T const most = parts.back().shift;
  T shifts = 0.0;
  for (mixture_pair::part const& part : parts) shifts += part.shift;
  // Sine and cosine of a rounded angle below 2 err by less than 8 units.
  auto const excess = [&](T angle) {
    return t * (elementary::sin(angle) + 8.0 * unit_roundoff) -
           z * (elementary::cos(angle) - 8.0 * unit_roundoff);
  };
  if (!(most * b < 1.57) || !(excess((most - least) * b) <= 0.0)) {
    return std::numeric_limits<T>::infinity();
  }
  T const over = excess(most * b);
  if (!(over > 0.0)) return 0.0;
  // The largest o(κ − θo)/(1 + 2o·cos + o²), κ = over; where it is largest an error of o is of second order.
  T const cosine = elementary::cos(most * b);
  T const odds = over / (z + std::sqrt(z * z + over * (over + 2.0 * z * cosine)));
  return 1.001 * shifts * odds * (over - z * odds) / (1.0 + odds * (2.0 * cosine + odds));
}

/// What ends the table, for sums and integrals of |f(x ± ib)|·e^{t·arg R(x + ib)}, t ≥ 0, where f is the
/// integrand at tilt z with the taper's bound at that height: log of step·Σ over the nodes that it leaves
/// out, and where P is cut off, of what that adds to the trapezoid rule's error and to an integral moved by b.
/// Lemma 7.
template <std::same_as<double> T>
[[nodiscard]] T log_tail(mixture_table<T> const& nodes, T z, T b, T t) {
  T const infinity = std::numeric_limits<T>::infinity();
  T const s = nodes.shift();
  T const turns = t * s * b;
  T const rise = nodes.removes() ? infinity : rise_beyond(nodes.pair().parts, z, b, t);
  T const log_factor = b > 0.0 ? log_growth(b / taper_width) : -infinity;
  T sum = -infinity;
  for (bool const right : {false, true}) {
    std::size_t const k = right ? nodes.size() - 1 : 0;
    T const x = nodes.point(k);
    if (!(right ? x > 1.0 : x < -1.0)) return infinity;
    T const share = share_at(nodes, x, nodes.log_ratio(k));
    node_errors<T> const wrong = errors_at(nodes, k);
    T const end = sum_above<T>(
        {nodes.log_mass(k) + z * nodes.loss(k), elementary::log(nodes.weight()),
         log_stretch(nodes, z, b, share),
         unit_roundoff * 2.0 * (wrong.mass + z * (wrong.loss + std::abs(nodes.loss(k))))});
    bool const cut_here = nodes.tapered() && right == nodes.removes();
    T const y = nodes.tapered() ? nodes.beyond(x, nodes.cut()) : 0.0;
    if (cut_here && !(y >= 0.0)) return infinity;
    if (cut_here && right) {
      // The integrand there, and its derivative.
      T const edge = b / taper_width;
      T const hazard = (y + 1.0) * (2.0 + (y + edge) / taper_width);
      T const log_grown =
          log_add(0.0, log_add(log_factor, 0.5 * edge * edge) + elementary::log(hazard));
      T const slope = x + b + (1.0 + z + t) * s / elementary::cos(0.5 * s * b);
      sum = log_add(sum,
                    sum_above<T>({end, turns * mixture_table<T>::turn_at(share), log_grown, 0.01,
                                  elementary::log(1.0 + nodes.step() * slope + b / nodes.step())}));
      continue;
    }
    T fall = std::abs(x);  // of log f a unit outwards, at least
    T counted = fall;
    if (!right && !nodes.removes()) {
      fall -= z * s * share;
      counted += z * s * share;
    }
    if (right && nodes.removes()) {
      fall -= (1.0 + z) * s;
      counted += (1.0 + z) * s;
    }
    bool const slow = right && rise < x - 1.0;
    if (slow) {
      fall -= rise;
      counted += rise;
    }
    if (cut_here) {
      fall += y / taper_width;
      counted += y / taper_width;
    }
    fall -= 16.0 * unit_roundoff * counted;
    if (!(fall > 1e-3)) return infinity;
    T const log_grown =
        cut_here ? log_add(0.0, log_factor + elementary::log(y + 1.0 + 1.0 / (taper_width * fall)))
        : nodes.tapered() ? log_add(0.0, log_factor - 0.5 * y * y) - nodes.log_taper(k)
                          : 0.0;
    // The share falls to the left.
    bool const bounded = !right || slow;
    T const grown = turns * (bounded ? mixture_table<T>::turn_at(share) : 1.0);
    sum =
        log_add(sum, sum_above<T>({end, -elementary::log(nodes.step() * fall), log_grown, grown}));
  }
  return sum_above<T>({sum});
}

/// An estimate of what grows to the right of the table: there the share in the ratio, and with it the
/// turn, goes on to grow for a while. In `remove` the table is cut off where nothing is left.
template <std::same_as<double> T>
[[nodiscard]] T growth_beyond(mixture_table<T> const& nodes, T tilt, T value, T height, T t) {
  T const power = nodes.removes() ? 1.0 + tilt : -tilt;
  std::size_t const last = nodes.size() - 1;
  T const turns = t * height * nodes.shift();
  T most = nodes.log_mass(last) + tilt * nodes.loss(last) - value + turns;
  if (most < -20.0) return most;
  most = -std::numeric_limits<T>::infinity();
  T const log_factor = log_growth(height / taper_width);
  T const rise = nodes.removes() ? std::numeric_limits<T>::infinity()
                                 : rise_beyond(nodes.pair().parts, tilt, height, t);
  T const dense = nodes.point(last) + 60.0;
  for (T x = nodes.point(last); x < 1000.0; x += x < dense ? 0.25 : 1.0) {
    T const log_ratio = mixture_ratio(nodes.pair().parts, nodes.rest(), x).log;
    T real = 1.0;
    T imaginary = 0.0;
    for (mixture_pair::part const& part : nodes.pair().parts) {
      T const share = share_of(part, x, log_ratio);
      real -= share * (1.0 - elementary::cos(part.shift * height));
      imaginary += share * elementary::sin(part.shift * height);
    }
    T here = 0.5 * height * height - 0.5 * x * x + power * log_ratio - value +
             t * elementary::atan2(imaginary, real) +
             0.5 * power * elementary::log(real * real + imaginary * imaginary);
    T const y = nodes.tapered() ? nodes.beyond(x, nodes.cut()) : -1.0;
    if (y > 0.0) here += -0.5 * y * y + std::max(0.0, log_factor);
    most = std::max(most, here);
    // In `add` the turn may overtake x²/2 as long as the share grows.
    if (x > dense && nodes.removes()) break;
    if (here < most - 60.0 && x * x > 2.0 * turns) break;
    if (nodes.removes() ? here < -80.0 : here < most && x > rise) break;
  }
  return most;
}

/// The trapezoid rule's error in a moment of the tapered normal N·(1−S) alone, S the taper, over (1 +
/// |z|·Σ weight): what the terms 1 + zL of an excess over one contribute to it. Lemma 9.
template <std::same_as<double> T>
[[nodiscard]] T alias_of_normals(mixture_table<T> const& nodes) {
  T const turn = 2.0 * std::numbers::pi / nodes.step();
  T const plain = 2.02 * elementary::exp(-0.5 * turn * turn * (1.0 - 1e-12));
  if (!nodes.tapered()) return plain;
  T most = std::numeric_limits<T>::infinity();
  for (T const b : {1.5, 2.0, 2.5, 3.0}) {
    T taken = nodes.taken(0.0, nodes.cut());
    T density = nodes.step_density(0.0, nodes.cut());
    for (mixture_pair::part const& part : nodes.pair().parts) {
      taken = std::max(taken, nodes.taken(part.shift, nodes.cut()));
      density = std::max(density, nodes.step_density(part.shift, nodes.cut()));
    }
    T const log_size =
        log_add(elementary::log(taken), log_growth(b / taper_width) + elementary::log(density));
    most = std::min(
        most, elementary::exp(sum_above<T>({0.7, 0.5 * b * b, log_size, log_alias(nodes, b)})));
  }
  return plain + most;
}

}  // namespace tacit::detail
