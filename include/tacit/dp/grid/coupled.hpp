// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/coupled_ratio.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <vector>

/// The law of a coupled pair's loss on a grid: pieces on which it is smooth, and atoms where Laplace noise leaves the
/// likelihood ratio as it is.

namespace tacit::detail {

/// The parameter is the output x; or −x on the other side of a mirrored pair, whose P is Q there.
template <std::same_as<double> T = double>
struct coupled_curve {
  coupled_ratio<T> ratio;
  T sign = 1.0;
  T low = 0.0;
  T high = 0.0;

  [[nodiscard]] T loss(T t) const { return sign * ratio.loss(sign * t); }
  [[nodiscard]] T log_density(T t, T) const {
    T const x = sign * t;
    return ratio.log_noise(x) + (sign > 0.0 ? ratio.log_p(x) : ratio.log_q(x));
  }
  [[nodiscard]] T cost() const { return 250.0 + 150.0 * static_cast<T>(ratio.parts()); }
  [[nodiscard]] T cell_cost() const { return ratio.parts() == 1 ? 0.0 : 8.0 * cost(); }
  [[nodiscard]] T roughness(T from, T to) const {
    if (!ratio.normal()) return 2.0;
    T const least = ratio.least_q();
    T const most = ratio.most_p();
    T farthest = 0.0;
    for (T const x : {sign * from, sign * to}) {
      farthest = std::max({farthest, std::abs(x - least), std::abs(x - most)});
    }
    return (farthest + 0.5 * (most - least) + 2.2) * (ratio.mirrored() ? 5.0 : 1.0);
  }
  [[nodiscard]] T parameter(T at_loss, T hint) const {
    if (sign < 0.0) return -ratio.output(-at_loss, -high, -std::max(low, hint));
    return ratio.output(at_loss, std::max(low, hint), high);
  }
};

/// The outputs at which Laplace noise of a pair has a kink, ascending.
template <std::same_as<double> T = double>
[[nodiscard]] std::vector<T> kinks_of(coupled_pair const& pair) {
  std::vector<T> kinks{0.0};
  for (coupled_pair::part const& part : pair.parts) {
    kinks.push_back(part.p);
    kinks.push_back(part.q);
  }
  std::sort(kinks.begin(), kinks.end());
  kinks.erase(std::unique(kinks.begin(), kinks.end()), kinks.end());
  return kinks;
}

/// P(X > x) of one of a pair's mixtures; of Laplace noise, for x at or above all shifts.
template <std::same_as<double> T = double>
[[nodiscard]] T coupled_tail(coupled_pair const& pair, T x, double coupled_pair::part::*shift) {
  auto const tail = [&](T y) {
    if (pair.kind == coupled_pair::noise::normal) return tail_by_erfc(y);
    return y > 0.0 ? 0.5 * elementary::exp(-y) : 1.0 - 0.5 * elementary::exp(y);
  };
  T sum = 0.0;
  for (coupled_pair::part const& part : pair.parts) {
    sum += part.weight * tail(x - part.*shift);
  }
  return sum + nearly_rest_of<T>(pair) * tail(x);
}

}  // namespace tacit::detail
