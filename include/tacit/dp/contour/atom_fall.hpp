// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/contour/atom_moments.hpp>
#include <tacit/dp/contour/sums.hpp>
#include <tacit/dp/contour/turns.hpp>
#include <tacit/dp/grid/loss_law.hpp>
#include <tacit/dp/saddle.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

/// How far |E_P[e^{zL}]| of finitely many losses falls along a vertical line. docs/certificates/contour.md, Lemma 19.

namespace tacit::detail {

/// |M(θ + it)|/M(θ), and how much more it may be aside of t.
template <std::same_as<double> T = double>
class atom_fall {
 public:
  atom_fall(atom_moments<T> const& law, T tilt) {
    cumulants<T> const k = law.at_tilt(tilt);
    for (loss_atom<T> const& a : law.atoms()) {
      T const mass = atom_moments<T>::tilted(a, tilt, k.value);
      atoms_.push_back({a.loss - k.slope, mass});
      off_ = std::max(off_, atom_moments<T>::units(a, tilt, k.value));
    }
    std::sort(atoms_.begin(), atoms_.end(), [](loss_atom<T> const& a, loss_atom<T> const& b) {
      return std::abs(a.loss) < std::abs(b.loss);
    });
    for (loss_atom<T> const& a : atoms_) {
      masses_.push_back(masses_.back() + a.p);
      firsts_.push_back(firsts_.back() + a.p * std::abs(a.loss));
      squares_.push_back(squares_.back() + a.p * a.loss * a.loss);
    }
  }

  /// At most, within s of t: from the value and the slope there.
  [[nodiscard]] T around(T t, T s) const {
    complex<T> sum;
    complex<T> slope;
    for (loss_atom<T> const& a : atoms_) {
      auto const [sine, cosine] = elementary::sin_cos_far(t * a.loss);
      complex<T> const term{a.p * cosine, a.p * sine};
      sum += term;
      slope += complex<T>{-a.loss * term.im, a.loss * term.re};
    }
    T const wide = wider(t, s);
    T const size = std::max(modulus_of(sum + wide * slope), modulus_of(sum - wide * slope));
    return with_rounding(size + bends(wide), t, units() * (1.0 + wide * firsts_.back()));
  }

  /// The terms of the sum, to be turned from one t to the next, and what the sum says then.
  [[nodiscard]] turning_terms<T> turning(T spacing) const {
    std::vector<turning_term<T>> terms;
    terms.reserve(atoms_.size());
    for (loss_atom<T> const& a : atoms_) terms.push_back({{a.p, 0.0}, {a.loss, 0.0}});
    return turning_terms<T>(std::move(terms), spacing);
  }
  /// The same from the value alone, which the terms have been turned to.
  [[nodiscard]] T around(turning_terms<T> const& terms, std::size_t n, T t, T s) const {
    return with_rounding(modulus_of(terms.sum_from(0)) + moves(wider(t, s)), t,
                         units() + terms.units(n));
  }

 private:
  // Of a mass, and of sums of as many as there are; the masses' own sum is 1 to five times as much.
  [[nodiscard]] T units() const { return off_ + 2.0 * static_cast<T>(atoms_.size()) + 16.0; }
  // A distance from t, with what both round by.
  [[nodiscard]] static T wider(T t, T s) { return 1.000001 * s + 8.0 * unit_roundoff * t; }
  // Σ mass·min(2, s·|loss|) at most: |e^{ix} − 1| ≤ min(2, |x|).
  [[nodiscard]] T moves(T s) const {
    std::size_t const k = first_from(2.0 / s);
    return s * firsts_[k] + 2.0 * std::max(0.0, masses_.back() - masses_[k]) + rounding_of_sums(s);
  }
  // Σ mass·min(2·s·|loss|, s²·loss²/2) at most: |e^{ix} − 1 − ix| ≤ min(2|x|, x²/2).
  [[nodiscard]] T bends(T s) const {
    std::size_t const k = first_from(4.0 / s);
    return 0.5 * s * s * squares_[k] + 2.0 * s * std::max(0.0, firsts_.back() - firsts_[k]) +
           rounding_of_sums(s);
  }
  [[nodiscard]] std::size_t first_from(T size) const {
    auto const next =
        std::partition_point(atoms_.begin(), atoms_.end(),
                             [&](loss_atom<T> const& a) { return std::abs(a.loss) < size; });
    return static_cast<std::size_t>(next - atoms_.begin());
  }
  [[nodiscard]] T rounding_of_sums(T s) const {
    return 16.0 * unit_roundoff * units() * (1.0 + s * firsts_.back());
  }
  // A loss less the mean, its product with t and its turn are off by a few units of their size together.
  [[nodiscard]] T with_rounding(T size, T t, T units_of_sum) const {
    return size + unit_roundoff * (6.0 * units_of_sum + 16.0 * t * firsts_.back());
  }

  std::vector<loss_atom<T>> atoms_;  // less their mean, by size
  // Over the first k.
  std::vector<T> masses_{0.0};
  std::vector<T> firsts_{0.0};   // Σ mass·|loss|
  std::vector<T> squares_{0.0};  // Σ mass·loss²
  T off_ = 0.0;
};

}  // namespace tacit::detail
