// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/contour/sums.hpp>
#include <tacit/dp/contour/turns.hpp>
#include <tacit/dp/grid/loss_law.hpp>
#include <tacit/dp/saddle.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

/// E_P[e^{zL}] of finitely many losses. docs/certificates/contour.md, Lemma 19.

namespace tacit::detail {

/// M(z) = Σ p·e^{z·loss}, of doubles that are taken as they are.
template <std::same_as<double> T = double>
class atom_moments {
 public:
  explicit atom_moments(std::vector<loss_atom<T>> const& atoms) {
    for (loss_atom<T> const& a : atoms) {
      if (a.p > 0.0) atoms_.push_back(a);
    }
  }

  [[nodiscard]] std::size_t size() const { return atoms_.size(); }

  /// The work of `along` for so many points.
  [[nodiscard]] T work(T points) const { return (2.5 * static_cast<T>(size()) + 80.0) * points; }

  /// log M(tilt) and its derivatives, nearly.
  [[nodiscard]] cumulants<T> at_tilt(T tilt) const {
    T const top = highest(tilt);
    T sum = 0.0;
    T first = 0.0;
    T second = 0.0;
    for (loss_atom<T> const& a : atoms_) {
      T const mass = a.p * elementary::exp(tilt * a.loss - top);
      sum += mass;
      first += mass * a.loss;
      second += mass * a.loss * a.loss;
    }
    T const mean = first / sum;
    return {top + elementary::log(sum), mean, std::max(second / sum - mean * mean, 0.0)};
  }

  /// put(n, value, M(tilt + it)/e^value, error of that) for t = n·spacing, with value = log M(tilt), nearly.
  template <class Put>
  [[nodiscard]] bool along(T tilt, T spacing, std::size_t points, Put&& put) const {
    T const value = at_tilt(tilt).value;
    std::vector<turning_term<T>> terms;
    terms.reserve(size());
    T whole = 0.0;
    T inexact = 0.0;  // of Σ mass·e^{itL}, in units, with t·swing
    T swing = 0.0;
    for (loss_atom<T> const& a : atoms_) {
      T const mass = tilted(a, tilt, value);
      terms.push_back({{mass, 0.0}, {a.loss, 0.0}});
      whole += mass;
      inexact += mass * units(a, tilt, value);
      swing += mass * 2.0 * std::abs(a.loss);
    }
    turning_terms<T> turning(std::move(terms), spacing);
    for (std::size_t n = 0; n < points; ++n) {
      T const t = spacing * static_cast<T>(n);
      turning.move_to(n);
      T const off = inexact + turning.units(n) * whole + t * swing + underflow();
      put(n, value, turning.sum_from(0), 1.01 * unit_roundoff * off);
    }
    return true;
  }

  /// log M(tilt) at most.
  [[nodiscard]] T above(T tilt) const {
    T const value = at_tilt(tilt).value;
    T sum = 0.0;
    T wrong = underflow();
    for (loss_atom<T> const& a : atoms_) {
      T const mass = tilted(a, tilt, value);
      sum += mass;
      wrong += mass * units(a, tilt, value);
    }
    T const rounded = unit_roundoff * (1.01 * wrong + 2.0 * static_cast<T>(size()) * sum);
    T const log_sum = elementary::log(sum + rounded);
    return value + log_sum + 4.0 * unit_roundoff * (std::abs(value) + std::abs(log_sum) + 1.0);
  }

  /// p·e^{tilt·loss − value}.
  [[nodiscard]] static T tilted(loss_atom<T> const& a, T tilt, T value) {
    return a.p * elementary::exp(tilt * a.loss - value);
  }
  /// What that errs by, in units.
  [[nodiscard]] static T units(loss_atom<T> const& a, T tilt, T value) {
    T const moved = tilt * a.loss;
    return 1.01 * (std::abs(moved) + std::abs(moved - value)) + 8.0;
  }
  [[nodiscard]] std::vector<loss_atom<T>> const& atoms() const { return atoms_; }

 private:
  [[nodiscard]] T highest(T tilt) const {
    T top = -std::numeric_limits<T>::infinity();
    for (loss_atom<T> const& a : atoms_) top = std::max(top, tilt * a.loss);
    return top;
  }
  // What products lose below the normal numbers, in units of 1.
  [[nodiscard]] T underflow() const { return static_cast<T>(size()) * 1e-290; }

  std::vector<loss_atom<T>> atoms_;
};

}  // namespace tacit::detail
