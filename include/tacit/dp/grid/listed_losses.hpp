// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/grid/compose.hpp>
#include <tacit/dp/grid/measure.hpp>
#include <tacit/dp/grid/tail.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <vector>

/// A grid's losses as a few hundred, above them or below. docs/certificates/grid.md, Lemma 17.

namespace tacit::detail {

/// Losses, rising, and what of P has them.
template <std::same_as<double> T = double>
struct listed_losses {
  std::vector<T> loss;
  std::vector<T> log_p;
};

// The first node of each stretch: all of them if they are no more than `most`.
template <std::same_as<double> T>
[[nodiscard]] std::vector<std::size_t> stretches(std::vector<T> const& needs, std::size_t most) {
  T whole = 0.0;
  for (T const need : needs) whole += need;
  std::vector<std::size_t> ends{0};
  T sum = 0.0;
  for (std::size_t i = 0; i + 1 < needs.size(); ++i) {
    sum += needs[i];
    T const share = static_cast<T>(ends.size()) / static_cast<T>(most);
    if (needs.size() <= most || sum >= whole * share) ends.push_back(i + 1);
  }
  if (ends.back() + 1 < needs.size()) ends.push_back(needs.size() - 1);
  return ends;
}

/// Of a density the stretches that lose the least have its third root: about that of the tilted masses, where no more is
/// known of the function.
template <std::same_as<double> T>
[[nodiscard]] std::vector<T> third_roots_of(measure<T> const& law) {
  T const largest = *std::max_element(law.mass.begin(), law.mass.end());
  std::vector<T> out;
  for (T const mass : law.mass) {
    T const root = std::sqrt(std::sqrt(mass / largest + 1e-18));
    out.push_back(root * std::sqrt(std::sqrt(root)));
  }
  return out;
}

/// Of a measure's nodes at most about so many losses. Between two that are kept, P's mass goes to both, the mean of the
/// likelihood ratio kept: above; or all of a stretch to its mean: below. Stretches are short where `need` is large.
template <std::same_as<double> T, class Need>
[[nodiscard]] listed_losses<T> listed(tilted_tail<T> const& tail, rounding_side side,
                                      std::size_t most, Need&& need) {
  measure<T> const& law = tail.law();
  std::vector<std::size_t> nodes;  // that have mass
  for (std::size_t k = 0; k < law.mass.size(); ++k) {
    if (law.mass[k] > 0.0) nodes.push_back(k);
  }
  std::size_t const n = nodes.size();
  auto const loss = [&](std::size_t i) {
    return tail.first() + tail.step() * static_cast<T>(nodes[i]);
  };
  std::vector<T> needs;
  for (std::size_t const k : nodes) needs.push_back(need(k));
  std::vector<std::size_t> const ends = stretches(needs, most);
  bool const up = side == rounding_side::above;
  listed_losses<T> out;
  std::vector<T> p(ends.size(), 0.0);
  for (std::size_t j = 0; j < ends.size(); ++j) {
    T const start = loss(ends[j]);
    out.loss.push_back(start);
    std::size_t const next = j + 1 < ends.size() ? ends[j + 1] : n;
    T const width = next < n ? loss(next) - start : 1.0;
    T reverse = 0.0;  // Q's mass of the stretch, times the ratio at its start
    for (std::size_t i = ends[j]; i < next; ++i) {
      T const here = elementary::exp(elementary::log(law.mass[nodes[i]]) + law.log_norm -
                                     tail.tilt() * loss(i));
      T const away = tail.step() * static_cast<T>(nodes[i] - nodes[ends[j]]);
      if (up && i > ends[j]) {
        T const whole = elementary::expm1(-width);
        p[j] += here * elementary::exp(-away) * elementary::expm1(away - width) / whole;
        p[j + 1] += here * elementary::expm1(-away) / whole;
      } else {
        p[j] += here;
        reverse += here * elementary::exp(-away);
      }
    }
    // What is left of Q's mass by underflow would raise the loss: then all stays at the start.
    if (!up && reverse > 1e-290) {
      T const terms = static_cast<T>(next - ends[j]);
      out.loss[j] -= elementary::log(reverse / p[j]) + unit_roundoff * (2.0 * terms + 32.0);
    }
  }
  for (std::size_t j = ends.size(); j-- > 1;) {
    out.loss[j - 1] = std::min(out.loss[j - 1], out.loss[j]);
  }
  // Sums of positive terms, of no more than two stretches each; a mass has a logarithm of at least −461.
  T const farthest = std::max(std::abs(tail.first()), std::abs(tail.last()));
  T const wear = 4.0 * static_cast<T>(n) + 2000.0 +
                 4.0 * (std::abs(law.log_norm) + (1.0 + 2.0 * tail.tilt()) * farthest) +
                 tail.tilt() * tail.placed() / unit_roundoff;
  for (T const mass : p) {
    out.log_p.push_back(elementary::log(mass) + (up ? 1.0 : -1.0) * unit_roundoff * wear);
  }
  return out;
}

}  // namespace tacit::detail
