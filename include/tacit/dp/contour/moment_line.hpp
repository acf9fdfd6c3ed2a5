// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/contour/strip.hpp>
#include <tacit/dp/contour/sums.hpp>
#include <tacit/dp/contour/table.hpp>
#include <tacit/dp/contour/turns.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

/// log M along a vertical line of the complex plane, and its rounding.

namespace tacit::detail {

/// log M(θ + it) for t = 0, η, 2η, …, added to a sum over the events of a composition.
template <std::same_as<double> T = double>
class moment_line {
 public:
  /// The nodes moved to the height at which they are summed (0: on the real axis, where they may be
  /// tapered). `value` is log M(tilt) or nearly, to which what is not near one is relative.
  moment_line(mixture_table<T> const& nodes, table_facts<T> const& facts, T tilt, T height, T value,
              moment_alias<T> const& alias)
      : tilt_(tilt),
        alias_(alias),
        split_(nodes.is_split()),
        near_one_(nodes.excess(tilt) < 0.5),
        value_(value),
        divergence_(nodes.divergence()),
        dropped_(nodes.dropped()) {
    std::size_t const size = nodes.size();
    nodes_.reserve(size);
    T divergence_error = 2.0 * std::abs(divergence_);
    for (std::size_t k = 0; k < size; ++k) {
      nodes_.push_back(height > 0.0 ? lifted(nodes, k, height) : plain(nodes, facts.errors[k], k));
      if (near_one_) divergence_error += nodes.mass(k) * facts.errors[k].divergence;
    }
    // A dropped mass is as wrong as its logarithm, which 181 units of it are.
    constant_error_ =
        dropped_ > 0.0 ? dropped_ * (24.0 + 400.0 * std::abs(elementary::log(dropped_))) : 0.0;
    divergence_error_ = divergence_error + 2.0 * constant_error_;
    std::sort(nodes_.begin(), nodes_.end(),
              [](node const& a, node const& b) { return a.size < b.size; });
    if (near_one_) tabulate();
    for (node const& n : nodes_) {
      T const modulus = modulus_of(n.tilted);
      total_ += modulus;
      inexact_ += modulus * n.shifted;
      swing_ += modulus * (n.size + n.loss_error);
      large_total_ += n.outside * modulus;
      large_inexact_ += n.outside * modulus * (n.shifted + n.outside_error);
      large_swing_ += n.outside * modulus * (n.size + n.loss_error);
    }
  }

  /// The work of `add` for so many t, in multiplications or so.
  [[nodiscard]] static T work(std::size_t nodes, std::size_t size) {
    return 4.0 * static_cast<T>(nodes) * static_cast<T>(size);
  }

  void add(T count, T spacing, line_sums<T>& to) const {
    std::size_t const size = nodes_.size();
    std::vector<turning_term<T>> terms;
    terms.reserve(size);
    for (node const& n : nodes_) terms.push_back({n.tilted, n.loss});
    turning_terms<T> turning(std::move(terms), spacing);
    std::size_t first_large = near_one_ ? size : 0;
    for (std::size_t n = 0; n < to.real.size(); ++n) {
      T const t = spacing * static_cast<T>(n);
      if (near_one_) {
        T const reach = 0.499 / elementary::hypot(tilt_, t);
        while (first_large > 0 && nodes_[first_large - 1].size >= reach) --first_large;
      }
      turning.move_to(n);
      T const drift = turning.units(n);
      complex<T> moment = turning.sum_from(first_large);
      T error = 0.0;
      if (near_one_) {
        error = near_one(count, t, n, first_large, moment, drift, to);
      } else {
        T const modulus = modulus_of(moment);
        T const log_modulus = elementary::log(modulus);
        T const turned = angle_of(moment);
        error = unit_roundoff * (inexact_ + drift * total_ + t * swing_) + alias_.whole;
        to.add(n, count * (value_ + log_modulus), count * turned,
               count * (off(error, modulus) +
                        unit_roundoff * (std::abs(value_) + 3.0 * std::abs(log_modulus) +
                                         8.0 * std::abs(turned) + 4.0)));
      }
      if (split_) {
        complex<T> large;
        for (std::size_t k = 0; k < size; ++k) large += nodes_[k].outside * turning.at(k);
        T const scale = near_one_ ? elementary::exp(value_) : 1.0;
        T const wrong =
            unit_roundoff * (large_inexact_ + (drift + static_cast<T>(size)) * large_total_ +
                             t * large_swing_) +
            1.01 * alias_.large * scale;
        compare(count, moment, error, large, wrong, n, to);
      }
    }
  }

 private:
  static constexpr std::size_t powers = 15;  // L², …, L¹⁶: 0.5¹⁷/17! is below an ulp of the sum

  struct node {
    T size;  // |L|
    complex<T> loss;
    complex<T> mass;
    complex<T> tilted;  // mass·e^{θL}; divided by e^value unless M is near 1
    T plain;            // relative error of the mass, in units of rounding
    T loss_error;       // absolute error of the loss, in the same
    T shifted;          // the same of the tilted mass
    T outside;          // its share in the part with large losses
    T outside_error;    // the share's, in units
  };

  struct suffix {
    complex<T> mass;
    complex<T> first;
    T absolute = 0.0;  // Σ |mass|(1 + |L|), and below, weighted by their errors
    T inexact = 0.0;
    T tilted = 0.0;
    T tilted_size = 0.0;
  };

  // |aⁿ − bⁿ| ≤ (|b| + |a − b|)ⁿ − |b|ⁿ, and so for products of different numbers.
  [[nodiscard]] static T off(T error, T modulus) {
    return elementary::log1p(1.001 * error / modulus);
  }

  [[nodiscard]] node plain(mixture_table<T> const& nodes, node_errors<T> const& e,
                           std::size_t k) const {
    T const loss = nodes.loss(k);
    T const log_tilted = nodes.log_mass(k) + tilt_ * loss;
    T const grown = near_one_ ? log_tilted : log_tilted - value_;
    T const outside = split_ ? elementary::exp(nodes.log_outside(k) - nodes.log_taper(k)) : 0.0;
    T const windows = outside > 0.0 ? (tail_units + 3.0) * (std::abs(nodes.log_outside(k)) +
                                                            std::abs(nodes.log_inside(k)) +
                                                            std::abs(nodes.log_taper(k))) +
                                          8.0
                                    : 0.0;
    T const shifted =
        e.mass + tilt_ * (e.loss + std::abs(loss)) + std::abs(log_tilted) + std::abs(grown);
    return {std::abs(loss),
            {loss, 0.0},
            {nodes.mass(k), 0.0},
            {nodes.weight() * elementary::exp(grown), 0.0},
            e.mass,
            e.loss,
            shifted,
            outside,
            windows};
  }

  // A node moved to x ± i·height (the side on which |e^{itL}| falls in t), of an untapered P. The height
  // has at most 11 bits, so that height·x is exact: it may be in the thousands, and is an angle.
  [[nodiscard]] node lifted(mixture_table<T> const& nodes, std::size_t k, T height) const {
    auto const& parts = nodes.pair().parts;
    T const x = nodes.point(k);
    T const top = nodes.shift() * (x - 0.5 * nodes.shift());
    T const high = std::max(0.0, top);
    // (1 + u)·e^{−high}, and u itself: where it is small, log(1 + u) has its digits in u, however large
    // the exponents. A loss must be right to a few ulp of itself.
    T real = nodes.rest() * elementary::exp(-high);
    T imaginary = 0.0;
    T excess = 0.0;
    T turned = 0.0;
    T wrong = 0.0;  // Lemma 3: of u in units, at the scale of e^high
    T wrong_near = 0.0;
    T total = 0.0;
    T const n = static_cast<T>(parts.size());
    for (mixture_pair::part const& part : parts) {
      T const exponent = part.shift * (x - 0.5 * part.shift);
      T const angle = part.shift * height;
      T const size = part.weight * elementary::exp(exponent - high);
      T const half = elementary::sin(0.5 * angle);
      total += size;
      auto const [sine, cosine] = elementary::sin_cos(angle);
      real += size * cosine;
      imaginary += size * sine;
      // e^{r+ia} − 1 = expm1(r)·cos a − 2 sin²(a/2) + i e^r sin a
      T const limited = std::min(exponent, 700.0);
      excess += part.weight * (elementary::expm1(limited) * cosine - 2.0 * half * half);
      turned += part.weight * elementary::exp(limited) * sine;
      T const nearness = std::min(1.0, std::abs(exponent) + angle);
      // Far from the axis the sum of both parts of 1 − e^{r+ia} is more than that.
      wrong_near += part.weight * elementary::exp(std::max(0.0, exponent) - high) *
                    ((16.0 + 2.0 * n) * nearness + (7.0 + n) * (2.0 * half * half));
      wrong += size * (3.0 * std::abs(exponent) + 2.0 * std::abs(high) + 4.0 * angle);
    }
    bool const lesser = std::abs(excess) < 0.5 && std::abs(turned) < 0.5;
    T const modulus = elementary::hypot(real, imaginary);
    // Of the two parts of log R near 1 the angle has errors of its own.
    wrong += lesser ? wrong_near + (10.0 + n) * total * std::abs(imaginary) / modulus
                    : (10.0 + n) * total;
    if (!lesser)
      wrong += (8.0 + n) * std::abs(real) + 4.0 * nodes.rest() * elementary::exp(-high) * high;
    T const log_ratio =
        lesser ? 0.5 * elementary::log1p(2.0 * excess + excess * excess + turned * turned)
               : high + elementary::log(modulus);
    T const turn = elementary::atan2(imaginary, real);
    T const base = 0.5 * height * height - 0.5 * x * x;
    T const sign = nodes.removes() ? 1.0 : -1.0;
    complex<T> const loss{sign * log_ratio, turn};
    T const log_mass = nodes.removes() ? base + log_ratio : base;
    T const angle = nodes.removes() ? turn : 0.0;
    complex<T> const phase = polar_of(nodes.weight(), -sign * height * x);
    T const log_tilted = log_mass + tilt_ * loss.re;
    T const grown = near_one_ ? log_tilted : log_tilted - value_;
    // Real and imaginary part together.
    T const loss_error = 1.5 * (wrong / modulus + 4.0 * std::abs(log_ratio) + (8.0 + n) * turn);
    T const plain = 16.0 + x * x + height * height + std::abs(log_mass) + loss_error + 8.0 * angle;
    T const shifted = plain + tilt_ * (loss_error + std::abs(loss.re) + 3.0 * turn) +
                      std::abs(log_tilted) + std::abs(grown) + 2.0 * std::abs(angle);
    return {modulus_of(loss),
            loss,
            polar_of(elementary::exp(log_mass), angle) * phase,
            polar_of(elementary::exp(grown), angle + tilt_ * turn) * phase,
            plain,
            loss_error,
            shifted,
            0.0,
            0.0};
  }

  void tabulate() {
    std::size_t const size = nodes_.size();
    moments_.assign((size + 1) * powers, {});
    magnitudes_.assign(size + 1, 0.0);
    suffixes_.assign(size + 1, {});
    std::array<complex_sum<T>, 2> exact;
    for (std::size_t k = 0; k < size; ++k) {
      node const& at = nodes_[k];
      complex<T> term = at.mass * at.loss;
      magnitudes_[k + 1] =
          magnitudes_[k] +
          modulus_of(term) *
              (at.size * (at.plain + 16.0 + 0.03 * static_cast<T>(size)) + 2.0 * at.loss_error);
      for (std::size_t j = 0; j < powers; ++j) {
        term = term * (at.loss / static_cast<T>(j + 2));
        if (j < exact.size()) {
          moments_[(k + 1) * powers + j] = (exact[j] += term).value();
        } else {
          moments_[(k + 1) * powers + j] = moments_[k * powers + j] + term;
        }
      }
    }
    complex_sum<T> masses;
    complex_sum<T> firsts;
    for (std::size_t k = size; k-- > 0;) {
      node const& at = nodes_[k];
      suffix const& next = suffixes_[k + 1];
      T const mass = modulus_of(at.mass);
      T const tilted = modulus_of(at.tilted);
      suffixes_[k] = {(masses += at.mass).value(),
                      (firsts += at.mass * at.loss).value(),
                      next.absolute + mass * ((1.0 + at.size) * (at.plain + 8.0) + at.loss_error),
                      next.inexact + tilted * at.shifted,
                      next.tilted + tilted,
                      next.tilted_size + tilted * (at.size + at.loss_error)};
    }
  }

  // M = 1 + m: the losses below ½/|z| through their moments, the others by themselves.
  // Takes the sum over the large ones, leaves M, and returns the latter's error.
  [[nodiscard]] T near_one(T count, T t, std::size_t n, std::size_t first_large,
                           complex<T>& moment_or_large, T drift, line_sums<T>& to) const {
    complex<T> const large = moment_or_large;
    complex<T> const z{tilt_, t};
    complex<T> const* const moment = &moments_[first_large * powers];
    complex<T> lesser;
    for (std::size_t j = powers; j-- > 0;) lesser = lesser * z + moment[j];
    suffix const& beyond = suffixes_[first_large];
    complex<T> const linear = z * divergence_ - dropped_;
    complex<T> const bent = z * z * lesser;
    complex<T> const outer = large - beyond.mass - z * beyond.first;
    complex<T> const m = linear + bent + outer;
    T const square = 2.0 * m.re + norm(m);
    T const modulus = modulus_of(1.0 + m);
    T const real = square > -0.5 ? 0.5 * elementary::log1p(square) : elementary::log(modulus);
    T const argument = elementary::atan2(m.im, 1.0 + m.re);
    T const size = modulus_of(z);
    T const parts =
        size * divergence_error_ + constant_error_ +
        1.001 * (size * size * magnitudes_[first_large] + (1.0 + size) * beyond.absolute +
                 beyond.inexact + drift * beyond.tilted + t * beyond.tilted_size) +
        4.0 * modulus_of(linear) + 7.0 * modulus_of(bent) + 2.0 * modulus_of(outer);
    T const error = unit_roundoff * parts + 1.001 * (alias_.whole * elementary::exp(value_) +
                                                     alias_.constant + size * alias_.slope);
    to.add(n, count * real, count * argument,
           count * (off(error, modulus) +
                    unit_roundoff * ((2.0 + 4.0 * modulus_of(m)) * modulus_of(m) +
                                     2.0 * std::abs(real) + 8.0 * std::abs(argument))));
    moment_or_large = 1.0 + m;
    return error + 2.0 * unit_roundoff * modulus;
  }

  // R += −count·log(1 − M_large/M)
  static void compare(T count, complex<T> moment, T error, complex<T> large, T wrong, std::size_t n,
                      line_sums<T>& to) {
    T const modulus = modulus_of(moment);
    if (!(error < 0.5 * modulus)) {  // nothing is known of r
      to.ratio_error[n] = to.ratio_size[n] = std::numeric_limits<T>::infinity();
      return;
    }
    complex<T> const r = large / moment;
    T const size = modulus_of(r);
    // of r
    T const distance =
        1.01 * (wrong + size * error) / (modulus - error) + 16.0 * unit_roundoff * size;
    T const square = norm(r) - 2.0 * r.re;
    T const left = modulus_of(1.0 - r);
    T const real = square > -0.5 ? 0.5 * elementary::log1p(square)
                                 : elementary::log(std::max(left, std::numeric_limits<T>::min()));
    T const imaginary = elementary::atan2(-r.im, 1.0 - r.re);
    to.ratio[n] -= count * complex<T>{real, imaginary};
    to.ratio_error[n] +=
        distance < 0.5 * left
            ? count * (-elementary::log1p(-1.01 * distance / left) +
                       16.0 * unit_roundoff * (size + std::abs(real) + std::abs(imaginary))) +
                  4.0 * unit_roundoff * modulus_of(to.ratio[n])
            : std::numeric_limits<T>::infinity();
    to.ratio_size[n] += count * (elementary::log(left + distance) + 4.0 * unit_roundoff);
  }

  T tilt_;
  moment_alias<T> alias_;
  bool split_;
  bool near_one_;
  T value_;
  T divergence_;
  T divergence_error_ = 0.0;
  T dropped_;
  T constant_error_ = 0.0;
  T total_ = 0.0;
  T inexact_ = 0.0;
  T swing_ = 0.0;
  T large_total_ = 0.0;
  T large_inexact_ = 0.0;
  T large_swing_ = 0.0;
  std::vector<node> nodes_;          // by |L|
  std::vector<complex<T>> moments_;  // prefix sums of mass·L^{j+2}/(j+2)!
  std::vector<T> magnitudes_;        // prefix sums of |mass·L²|, weighted by their errors
  std::vector<suffix> suffixes_;
};

}  // namespace tacit::detail
