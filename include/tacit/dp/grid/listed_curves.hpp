// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/grid/compose.hpp>
#include <tacit/dp/grid/fill.hpp>
#include <tacit/dp/grid/loss_law.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

/// A law of one release with its curves as lists of losses, above it or below it. docs/certificates/grid.md, Lemma 18.

namespace tacit::detail {

template <std::same_as<double> T = double>
class listed_curves {
 public:
  /// Each curve in about so many cells of its parameter. Nothing where it would take far more.
  [[nodiscard]] static std::optional<loss_law<T>> of(loss_law<T> const& law, rounding_side side,
                                                     T cells) {
    listed_curves listed(side, cells);
    if (!listed.put(law)) return std::nullopt;
    return std::move(listed.out_);
  }

  /// Of all of them. Nothing where the work does not allow it, either.
  [[nodiscard]] static std::optional<std::vector<loss_law<T>>> of(std::span<loss_law<T> const> laws,
                                                                  rounding_side side, T cells,
                                                                  work_budget& work) {
    std::vector<loss_law<T>> out;
    for (loss_law<T> const& law : laws) {
      T const each = 4.0 * law.point_cost() + 400.0;
      T const usual = static_cast<T>(law.curves.size()) * cells;
      if (!work.take(usual * each)) return std::nullopt;
      // Of short cells there are more.
      listed_curves listed(side, cells);
      listed.left_ = usual + work.left() / each;
      bool const is_whole = listed.put(law);
      (void)work.spend(std::max(0.0, listed.count_ - usual) * each);
      if (!is_whole) return std::nullopt;
      out.push_back(std::move(listed.out_));
    }
    return out;
  }

 private:
  static constexpr T longest = 0.4;  // of a cell, times roughness: one rule serves

  // P's mass of a cell, divided between its ends so that the mean of the likelihood ratio is kept.
  struct shares {
    T low = 0.0;
    T high = 0.0;
  };

  listed_curves(rounding_side side, T cells) : side_(side), cells_(cells) {}

  [[nodiscard]] bool put(loss_law<T> const& law) {
    out_ = law;
    out_.curves.clear();
    for (loss_curve<T> const& part : law.curves) {
      if (!std::visit([&](auto const& curve) { return put(curve); }, part)) return false;
    }
    // As in `cell_filler`, of the largest logarithm.
    out_.mass_error += unit_roundoff * (96.0 + libm_units + 20.0 * largest_log_);
    return true;
  }

  template <class Curve>
  [[nodiscard]] bool put(Curve const& curve) {
    T const usual = (curve.high - curve.low) / cells_;
    T const most = 8.0 * cells_ + 1024.0;
    T from = curve.low;
    T loss = curve.loss(from);
    T at_from = 0.0;  // mass on the cell's lower end
    for (T count = 0.0; from < curve.high; count += 1.0) {
      if (!(count < most && count_ < left_)) return false;
      count_ += 1.0;
      T to = std::min(from + usual, curve.high);
      while ((to - from) * curve.roughness(from, to) > longest) to = from + 0.5 * (to - from);
      if (!(to > from)) return false;
      T const next = std::max(loss, curve.loss(to));
      shares const mass = shares_of(curve, from, to, loss, next);
      if (side_ == rounding_side::above) {
        put(loss, at_from + mass.low);
        at_from = mass.high;
      } else {
        put(mean_loss(mass, loss, next), mass.low + mass.high);
      }
      from = to;
      loss = next;
    }
    put(loss, at_from);
    return true;
  }

  template <class Curve>
  [[nodiscard]] shares shares_of(Curve const& curve, T from, T to, T low, T high) {
    T const length = to - from;
    T const width = high - low;
    T const whole = -elementary::expm1(-width);
    unit_rule<T> const rule = gauss_legendre(length * curve.roughness(from, to));
    shares out;
    for (std::size_t k = 0; k < rule.node.size(); ++k) {
      T const t = from + length * rule.node[k];
      T const loss = curve.loss(t);
      T const log_p = curve.log_density(t, loss);
      if (!(log_p > -std::numeric_limits<T>::infinity())) continue;
      T const p = length * rule.weight[k] * elementary::exp(log_p);
      largest_log_ = std::max(largest_log_, std::abs(log_p));
      // All of it up, where the cell is a number to this precision.
      T const v = std::clamp(loss - low, 0.0, width);
      bool const narrow = !(whole > 1e-290);
      T const u = narrow ? 1.0 : std::min(1.0, -elementary::expm1(-v) / whole);
      T const rest =
          narrow ? 0.0 : std::min(1.0, elementary::exp(-v) * -elementary::expm1(v - width) / whole);
      out.high += p * u;
      out.low += p * rest;
    }
    return out;
  }

  // log(P/Q) of a cell, or less.
  [[nodiscard]] static T mean_loss(shares const& mass, T low, T high) {
    T const width = high - low;
    T const share = mass.high / (mass.low + mass.high);
    if (!(share >= 0.0)) return low;
    T const above = -elementary::log1p(share * elementary::expm1(-width));
    T const farthest = std::max(std::abs(low), std::abs(high));
    return std::max(low, low + above * (1.0 - 1e-11) - 2.0 * unit_roundoff * farthest);
  }

  void put(T loss, T mass) {
    if (mass > 0.0) out_.atoms.push_back({loss, mass});
  }

  rounding_side side_;
  T cells_;
  T count_ = 0.0;                                // of cells so far
  T left_ = std::numeric_limits<T>::infinity();  // how many there may be
  loss_law<T> out_;
  T largest_log_ = 0.0;
};

}  // namespace tacit::detail
