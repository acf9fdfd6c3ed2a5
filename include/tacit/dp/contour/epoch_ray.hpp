// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/short_number.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/allocation/discrete_step.hpp>
#include <tacit/dp/allocation/moment_cuts.hpp>
#include <tacit/dp/contour/sums.hpp>
#include <tacit/dp/contour/turned_sums.hpp>
#include <tacit/dp/contour/turns.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

/// E S^{p − it} of an epoch of random allocation where t is large beside the order n: both integrals of epoch_moments.hpp along
/// u = e^{v + iψ}, on which what cancels at ψ = 0 does not. docs/certificates/allocation.md, Lemmas 17 and 18.

namespace tacit::detail::epochs {

/// Where a ray lies, and the t that it serves.
template <std::same_as<double> T = double>
struct ray_place {
  T angle;
  T from;
  T until;
};

/// The values on one ray.
template <std::same_as<double> T = double>
class epoch_ray {
 public:
  /// By how much errors grow on a ray that is not the best one for a t, as a logarithm.
  static constexpr T most_lost = 4.0;

  /// Rays from `from` to `end` for Re w = p; none if there are too many.
  [[nodiscard]] static std::vector<ray_place<T>> places(T sigma, T from, T end) {
    constexpr std::size_t most = 16;
    std::vector<ray_place<T>> out;
    T angle = 0.0;
    while (from < end) {
      if (out.size() == most) return {};
      for (T step = 0.2; step > 0.005;) {
        if (angle + step < 1.54 && lost(sigma, from, angle + step) <= most_lost) {
          angle += step;
        } else {
          step *= 0.5;
        }
      }
      T until = from;
      while (until < end && lost(sigma, until, angle) <= most_lost) {
        until += std::max(0.05 * until, 0.01 * sigma);
      }
      if (!(until > from)) return {};
      out.push_back({angle, from, std::min(until, end)});
      from = until;
    }
    return out;
  }

  /// The line of Re w = p, and relative errors of about e^{log_error}.
  epoch_ray(ray_place<T> const& place, T noise_multiplier, T steps, T order, T p, T log_error,
            moment_cuts<T> const& cuts)
      : place_(place),
        order_(order),
        steps_(steps),
        step_(noise_multiplier, steps, {p, p, place.until, log_error - most_lost}) {
    T const sigma = order - p;
    for (T part = 0.05; part < 0.96; part += 0.05) {
      T const d = part * (0.5 * std::numbers::pi - place.angle);
      T const h = 2.0 * std::numbers::pi * d / (most_lost - log_error + log_swell(sigma, d));
      if (h > spacing_) {
        spacing_ = h;
        height_ = d;
      }
    }
    spacing_ = short_number(spacing_, 22);
    std::tie(first_, last_) = cuts.ends(
        p, p, spacing_, elementary::log(elementary::cos(place.angle)), log_error - most_lost);
  }

  [[nodiscard]] T until() const { return place_.until; }
  [[nodiscard]] bool serves() const {
    return step_.serves() && last_ - first_ < 1e5 &&
           turned_sums<T>::serves(order_, elementary::cos(place_.angle));
  }
  [[nodiscard]] T nodes() const { return last_ - first_ + 1.0; }
  [[nodiscard]] T work_to_fill() const {
    return nodes() * turned_sums<T>::work(step_.size(), steps_, order_);
  }

  void fill(moment_cuts<T> const& cuts) {
    turned_sums<T> const sums(step_, steps_, order_);
    compensated_sum<T> log_factorial;
    for (T j = 2.0; j <= order_; j += 1.0) log_factorial += elementary::log(j);
    auto const [sine, cosine] = elementary::sin_cos(place_.angle);
    for (T k = first_; k <= last_; k += 1.0) {
      T const v = spacing_ * k;
      // Far out rounding hides how small it is, or there are no numbers for it.
      T const shrunk = elementary::log(cosine);
      T const most = cuts.log_most(v + shrunk) - order_ * shrunk;
      turned_mass<T> mass =
          sums.at(v, {cosine, sine}).value_or(turned_mass<T>{most, 0.0, most + 0.7});
      mass.log_size = std::min(mass.log_size, most);
      mass.log_error = std::min(mass.log_error, most + 0.7);
      T const u = elementary::exp(v);
      T const units = 4.0 * (order_ * (std::abs(v) + 2.0) + 4.0 * u + 2.0 * log_factorial.value());
      own_.push_back({mass.log_size, mass.angle, 0.0, mass.log_error});
      plain_.push_back({order_ * v - u * cosine - log_factorial.value(),
                        order_ * place_.angle - u * sine, units, none});
    }
  }

  /// put(n, E S^{p − it}/e^{log_own − log_plain}, its error) for t = nη, begin ≤ n < end. On the real line Σe^{−pv}P(N = n; e^v) over nodes of
  /// the distance `apart` is e^{log_own}, and e^{log_plain} for S = 1, both nearly.
  template <class Put>
  void along(moment_cuts<T> const& cuts, T p, T log_own, T log_plain, T apart, T spacing,
             std::size_t begin, std::size_t end, Put&& put) const {
    side const own = side_of(cuts, own_, p, log_own, apart, false);
    side const plain = side_of(cuts, plain_, p, log_plain, apart, true);
    turning_terms<T> above = terms_of(own_, own, p, spacing);
    turning_terms<T> below = terms_of(plain_, plain, p, spacing);
    for (std::size_t n = begin - begin % 16; n < end; ++n) {  // from where terms are made anew
      above.move_to(n);
      below.move_to(n);
      if (n < begin) continue;
      T const t = spacing * static_cast<T>(n);
      complex<T> const high = above.sum_from(0);
      complex<T> const low = below.sum_from(0);
      auto const wrong_of = [&](side const& of, turning_terms<T> const& terms) {
        return of.wrong + 1.01 * unit_roundoff * (terms.units(n) * of.whole + t * of.swing);
      };
      T const wrong_low = wrong_of(plain, below);
      complex<T> const moment = high / low;
      T const size = modulus_of(moment);
      T const left = modulus_of(low) - wrong_low;
      T const wrong = 1.01 * (wrong_of(own, above) + size * wrong_low) / left +
                      8.0 * unit_roundoff * size + step_.whole_error(p, t);
      // Where nothing is known but |E S^w| ≤ E S^p.
      bool const known = left > 0.0 && wrong < 1.0;
      put(n, known ? moment : complex<T>{1.0, 0.0}, known ? wrong : 2.02);
    }
  }

 private:
  static constexpr T none = -std::numeric_limits<T>::infinity();

  struct node {
    T log_size;
    T angle;
    T units;      // the relative error
    T log_error;  // and the logarithm of an absolute one
  };
  // One of the two integrals, relative to a unit that its terms add up to about, at most.
  struct side {
    T log_unit;
    T wrong;  // all errors but those that grow along a line
    T swing;  // which are t·swing in units
    T whole;  // Σ|term|
  };

  [[nodiscard]] T place_of(std::size_t k) const { return spacing_ * (first_ + static_cast<T>(k)); }
  // Near where both integrands are largest: a phase that both share is left out.
  [[nodiscard]] T middle() const {
    return spacing_ * std::floor(elementary::log(order_) / spacing_);
  }

  // log of (cos ψ)^−σ·e^{−tψ}·Γ(σ)/|Γ(σ + it)|, nearly.
  [[nodiscard]] static T lost(T sigma, T t, T angle) {
    T const x = t / sigma;
    return t * (elementary::atan2(x, T(1.0)) - angle) -
           sigma * (elementary::log(elementary::cos(angle)) + 0.5 * elementary::log1p(x * x));
  }

  // log of what the trapezoid rule adds at most, but for 1/(e^{2πd/η} − 1).
  [[nodiscard]] T log_swell(T sigma, T d) const {
    T const here = elementary::log(elementary::cos(place_.angle));
    return log_add(
        sigma * (here - elementary::log(elementary::cos(place_.angle + d))) - place_.from * d,
        sigma * (here - elementary::log(elementary::cos(place_.angle - d))) + place_.until * d);
  }

  [[nodiscard]] side side_of(moment_cuts<T> const& cuts, std::vector<node> const& nodes, T p,
                             T log_sum, T apart, bool plain) const {
    T const sigma = order_ - p;
    T const shrunk = elementary::log(elementary::cos(place_.angle));
    // What nodes at other distances add up to is as many times more.
    T const log_unit = log_sum - sigma * shrunk + elementary::log(apart / spacing_);
    side out{log_unit, 0.0, 0.0, 0.0};
    T inexact = 0.0;
    T extra = 0.0;
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      node const& at = nodes[k];
      T const v = place_of(k);
      T const mass = elementary::exp(at.log_size - p * v - log_unit);
      T const units = at.units + 4.0 * std::abs(at.angle) + 3.0 * std::abs(at.log_size) +
                      4.0 * std::abs(p * v) + 4.0 * std::abs(log_unit) + 16.0;
      inexact += mass * units;
      out.whole += mass;
      out.swing += 3.0 * mass * std::abs(v - middle());
      if (at.log_error > none) extra += elementary::exp(at.log_error - p * v - log_unit);
    }
    T const fall = 2.0 * std::numbers::pi * height_ / spacing_;
    T const alias =
        1.02 * elementary::exp(log_swell(sigma, height_) - fall) / -elementary::expm1(-fall);
    T const cut =
        elementary::exp(cuts.log_left(p, place_of(0) + shrunk, spacing_, plain)) +
        elementary::exp(cuts.log_right(p, place_of(nodes.size() - 1) + shrunk, spacing_, plain));
    out.wrong = 1.01 * (unit_roundoff * inexact + extra + alias + 2.0 * (cut + step_.mass_error()));
    return out;
  }

  [[nodiscard]] turning_terms<T> terms_of(std::vector<node> const& nodes, side const& of, T p,
                                          T spacing) const {
    std::vector<turning_term<T>> out;
    out.reserve(nodes.size());
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      T const v = place_of(k);
      T const size = elementary::exp(nodes[k].log_size - p * v - of.log_unit);
      out.push_back({polar_of(size, nodes[k].angle), {v - middle(), 0.0}});
    }
    return turning_terms<T>(std::move(out), spacing);
  }

  ray_place<T> place_;
  T order_;
  T steps_;
  discrete_step<T> step_;
  T spacing_ = 0.0;
  T height_ = 0.0;
  T first_ = 0.0;
  T last_ = 0.0;
  std::vector<node> own_;
  std::vector<node> plain_;  // for S = 1
};

}  // namespace tacit::detail::epochs
