// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/dp/grid/law.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <vector>

/// Where the nodes of a law's grid lie: few atoms should fall on them, for an atom between two nodes is spread
/// over both.

namespace tacit::detail {

inline constexpr std::size_t few_atoms = 64;  // that are worth a node each

/// The first node: at most a step below the law, such that the heaviest of few atoms has a node to itself.
template <std::same_as<double> T = double>
[[nodiscard]] T origin_of(loss_law<T> const& law, T step, T tilt) {
  if (law.atoms.empty() || law.atoms.size() > few_atoms) return law.low;
  loss_atom<T> const& heaviest = *std::max_element(
      law.atoms.begin(), law.atoms.end(), [&](loss_atom<T> const& a, loss_atom<T> const& b) {
        return elementary::log(a.p) + tilt * a.loss < elementary::log(b.p) + tilt * b.loss;
      });
  return heaviest.loss - step * std::ceil((heaviest.loss - law.low) / step - 1e-9);
}

/// A step a little below the one wanted, on which the law's upper end and its few atoms come
/// nearest to nodes.
template <std::same_as<double> T = double>
[[nodiscard]] T aligned(loss_law<T> const& law, T step, T tilt) {
  std::vector<loss_atom<T>> special;
  if (law.atoms.size() <= few_atoms) special = law.atoms;
  if (special.empty()) return step;
  T high = -std::numeric_limits<T>::infinity();
  for (loss_atom<T> const& a : special) high = std::max(high, tilt * a.loss);
  T best = std::numeric_limits<T>::infinity();
  T found = step;
  // Candidates put the highest atom on a node.
  T top = law.low;
  for (loss_atom<T> const& a : special) top = std::max(top, a.loss);
  T const range = top - law.low;
  if (!(range > 0.0)) return step;
  T const fewest = std::ceil(range / step);
  T const most = std::max(fewest, std::min(std::floor(1.4 * fewest), fewest + 1000.0));
  for (T n = fewest; n <= most; n += 1.0) {
    T const h = range / n;
    T cost = 0.0;
    for (loss_atom<T> const& a : special) {
      T const position = (a.loss - law.low) / h;
      T const off = std::abs(position - std::round(position));
      cost += a.p * elementary::exp(tilt * a.loss - high) * std::max(0.0, off - 1e-9);
    }
    if (cost < best) {
      best = cost;
      found = h;
    }
    if (cost == 0.0) break;
  }
  return found;
}

}  // namespace tacit::detail
