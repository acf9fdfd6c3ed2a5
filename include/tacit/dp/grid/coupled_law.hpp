// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/dp/coupled_ratio.hpp>
#include <tacit/dp/grid/coupled.hpp>
#include <tacit/dp/grid/loss_law.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>
#include <vector>

namespace tacit::detail {

/// By how much the losses of a coupled pair may be off between two outputs. Shares of shifted parts and logarithms are largest
/// at one of the ends, and so is what they err by.
template <std::same_as<double> T>
[[nodiscard]] T coupled_loss_error(coupled_ratio<T> const& ratio, T first, T last) {
  T const farthest = std::max(std::abs(first), std::abs(last));
  T p = 0.0;
  T q = 0.0;
  T logs = 0.0;
  for (T const x : {first, last}) {
    coupled_value<T> const v = ratio.at(x);
    auto const units = ratio.units(v, farthest, 0.0);
    p = std::max(p, units.p);
    q = std::max(q, units.q);
    logs += std::abs(v.p.log) + std::abs(v.q.log);
  }
  return unit_roundoff * (p + q + 12.0 * logs) + 4.0 * ratio.weight_error() * logs;
}

/// Leaves at most `above` of P above, and `below` below. docs/certificates/grid.md, Lemma 15.
template <std::same_as<double> T>
[[nodiscard]] loss_law<T> coupled_law(coupled_pair const& pair, T above, T below) {
  coupled_ratio<T> const ratio(pair);
  loss_law<T> out;
  // Outputs between which the loss is smooth.
  std::vector<T> ends{ratio.mirrored() ? ratio.middle() : ratio.least_p() - tail_point(below),
                      pair.parts[parts_that_count(pair.parts, above) - 1].p + tail_point(above)};
  if (!ratio.normal()) {
    ends = kinks_of<T>(pair);
    if (ratio.mirrored()) {
      std::erase_if(ends, [&](T x) { return !(x > ratio.middle()); });
      ends.insert(ends.begin(), ratio.middle());
    }
  }
  T const first = ends.front();
  T const last = ends.back();
  for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
    finish_curve(out, coupled_curve<T>{ratio, 1.0, ends[k], ends[k + 1]});
    if (!ratio.mirrored()) continue;
    T const end =
        ratio.normal() ? std::min(ends[k + 1], ratio.most_q() + tail_point(below)) : ends[k + 1];
    if (end > ends[k]) finish_curve(out, coupled_curve<T>{ratio, -1.0, -end, -ends[k]});
  }
  out.loss_error = coupled_loss_error(ratio, first, last);
  T const squares = ratio.normal() ? first * first + last * last : 2.0 * (last - first);
  out.mass_error = out.loss_error + unit_roundoff * (libm_units + 2.0 * squares);
  if (ratio.mirrored()) {
    // Rounded up: an error of a mass at 0 is at most that of all that is tilted.
    T const inside = coupled_tail<T>(pair, first, &coupled_pair::part::p) +
                     coupled_tail<T>(pair, first, &coupled_pair::part::q);
    T const off = 64.0 * unit_roundoff;
    out.atoms.push_back({0.0, std::max(0.0, 1.0 - inside) + off});
    out.mass_error += 2.0 * off;
  }
  if (ratio.normal()) {
    out.above = above;
    out.below = below;
    out.largest = std::numeric_limits<T>::infinity();
    return out;
  }
  // Beyond all kinks the ratio is what it is there.
  T const highest = ratio.loss(last);
  out.atoms.push_back({highest, coupled_tail<T>(pair, last, &coupled_pair::part::p)});
  if (ratio.mirrored()) {
    out.atoms.push_back({-highest, coupled_tail<T>(pair, last, &coupled_pair::part::q)});
  } else {
    coupled_pair turned = pair;
    for (coupled_pair::part& part : turned.parts) part = {part.weight, -part.q, -part.p};
    out.atoms.push_back(
        {ratio.loss(first), coupled_tail<T>(turned, -first, &coupled_pair::part::q)});
  }
  out = finished(std::move(out));
  out.largest = add_up(out.high, out.loss_error);
  out.top = subtract_down(out.high, out.loss_error);
  return out;
}

}  // namespace tacit::detail
