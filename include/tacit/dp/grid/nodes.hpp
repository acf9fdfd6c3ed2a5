// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/grid/law.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

/// Where the nodes of a law's grid lie: few atoms should fall on them, for an atom between two nodes is spread
/// over both.

namespace tacit::detail {

inline constexpr std::size_t few_atoms = 64;  // that are worth a node each

/// Whether a law lies within a step, or a density within a few, so that it may be merged to one loss of 0.
template <std::same_as<double> T = double>
[[nodiscard]] bool is_narrow(loss_law<T> const& law, T step) {
  T const steps = law.atoms.empty() ? 4.0 : 1.0;
  return law.high - law.low < steps * step && law.low < 0.0 && law.high > 0.0;
}

/// Of few atoms the heaviest, tilted; none otherwise.
template <std::same_as<double> T = double>
[[nodiscard]] loss_atom<T> const* heaviest_of_few(loss_law<T> const& law, T tilt) {
  if (law.atoms.empty() || law.atoms.size() > few_atoms) return nullptr;
  return &*std::max_element(
      law.atoms.begin(), law.atoms.end(), [&](loss_atom<T> const& a, loss_atom<T> const& b) {
        return elementary::log(a.p) + tilt * a.loss < elementary::log(b.p) + tilt * b.loss;
      });
}

/// The first node: at most a step below the law, such that the heaviest of few atoms has a node to itself; or a loss of 0,
/// where there are no atoms or the law is narrow.
template <std::same_as<double> T = double>
[[nodiscard]] T origin_of(loss_law<T> const& law, T step, T tilt) {
  // No mass lies below it, but for what a loss is rounded by.
  auto const with_node_at = [&](T loss) {
    T const first = loss - step * std::ceil((loss - law.low) / step - 1e-9);
    T const slack = 8.0 * unit_roundoff * (std::abs(law.low) + std::abs(first));
    return first - law.low <= slack ? first : first - step;
  };
  bool const around_0 = law.low <= -step && law.high > 0.0;
  if (is_narrow(law, step) || (law.atoms.empty() && around_0)) return with_node_at(0.0);
  loss_atom<T> const* const heaviest = heaviest_of_few(law, tilt);
  return heaviest != nullptr ? with_node_at(heaviest->loss) : law.low;
}

/// A step a little below the one wanted, on which the atoms of all laws that have few come nearest to nodes: an atom between
/// two of them loses the more, the more of a law it is. Steps of a law are `scale` times that.
template <std::same_as<double> T = double>
[[nodiscard]] T aligned(std::span<loss_law<T> const> laws, std::vector<T> const& scale, T step,
                        T tilt) {
  struct atom {
    T away;  // from the heaviest of its law, over the scale
    T weight;
  };
  std::vector<atom> special;
  for (std::size_t s = 0; s < laws.size() && special.size() < 1024; ++s) {
    loss_law<T> const& law = laws[s];
    loss_atom<T> const* const heaviest = heaviest_of_few(law, tilt);
    if (heaviest == nullptr || is_narrow(law, step * scale[s])) continue;
    for (loss_atom<T> const& a : law.atoms) {
      T const away = std::abs(a.loss - heaviest->loss) / scale[s];
      T const weight = law.count * a.p * elementary::exp(tilt * (a.loss - heaviest->loss));
      if (away > 0.0) special.push_back({away, weight});
    }
  }
  if (special.empty()) return step;
  // Candidates put the heaviest of these atoms on a node.
  T const range =
      std::max_element(special.begin(), special.end(), [](atom const& a, atom const& b) {
        return a.weight < b.weight;
      })->away;
  T best = std::numeric_limits<T>::infinity();
  T found = step;
  T const fewest = std::ceil(range / step);
  T const most = std::max(fewest, std::min(std::floor(1.4 * fewest), fewest + 1000.0));
  for (T n = fewest; n <= most && best > 0.0; n += 1.0) {
    T const h = range / n;
    T cost = 0.0;
    for (atom const& a : special) {
      T const position = a.away / h;
      cost += a.weight * std::max(0.0, std::abs(position - std::round(position)) - 1e-9);
    }
    if (cost < best) {
      best = cost;
      found = h;
    }
  }
  return found;
}

}  // namespace tacit::detail
