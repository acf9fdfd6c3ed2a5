// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/sum.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

namespace tacit::detail {

/// A node's term a·e^{itL} on a line: a, and L, which may be complex.
template <std::same_as<double> T = double>
struct turning_term {
  complex<T> start;
  complex<T> loss;
};

/// The terms for t = 0, η, 2η, …: turned from one t to the next, and made anew each sixteenth time.
/// docs/certificates/contour.md, Lemma 6.
template <std::same_as<double> T = double>
class turning_terms {
 public:
  turning_terms(std::vector<turning_term<T>> terms, T spacing)
      : terms_(std::move(terms)),
        spacing_(spacing),
        falls_(std::any_of(terms_.begin(), terms_.end(),
                           [](turning_term<T> const& a) { return a.loss.im != 0.0; })),
        real_(terms_.size()),
        imaginary_(terms_.size()),
        turn_real_(terms_.size()),
        turn_imaginary_(terms_.size()) {
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      T const fall = falls_ ? elementary::exp(-spacing * terms_[k].loss.im) : 1.0;
      auto const [sine, cosine] = elementary::sin_cos(spacing * terms_[k].loss.re);
      turn_real_[k] = fall * cosine;
      turn_imaginary_[k] = fall * sine;
    }
  }

  /// To t = nη: from n − 1, or from anywhere if n is a multiple of sixteen.
  void move_to(std::size_t n) {
    std::size_t const size = terms_.size();
    if (n % anew == 0) {
      T const t = spacing_ * static_cast<T>(n);
      for (std::size_t k = 0; k < size; ++k) {
        turning_term<T> const& at = terms_[k];
        T const fall = falls_ ? elementary::exp(-t * at.loss.im) : 1.0;
        auto const [sine, cosine] = elementary::sin_cos_far(t * at.loss.re);
        T const c = fall * cosine;
        T const s = fall * sine;
        real_[k] = at.start.re * c - at.start.im * s;
        imaginary_[k] = at.start.re * s + at.start.im * c;
      }
      return;
    }
    for (std::size_t k = 0; k < size; ++k) {
      T const r = real_[k];
      real_[k] = r * turn_real_[k] - imaginary_[k] * turn_imaginary_[k];
      imaginary_[k] = r * turn_imaginary_[k] + imaginary_[k] * turn_real_[k];
    }
  }

  [[nodiscard]] complex<T> at(std::size_t k) const { return {real_[k], imaginary_[k]}; }

  /// The sum of all from the k-th on.
  [[nodiscard]] complex<T> sum_from(std::size_t k) const {
    return {sum_from(real_, k), sum_from(imaginary_, k)};
  }

  /// What a term and its part in a sum err by at n, in units of its start: of a product of complex numbers √5, of a turn 2 for
  /// its sine and cosine, if it falls 3 more.
  [[nodiscard]] T units(std::size_t n) const {
    T const depth = 12.0 + static_cast<T>(terms_.size() / block);
    return depth + 8.0 + (falls_ ? 8.0 : 5.0) * static_cast<T>(n % anew);
  }

 private:
  static constexpr std::size_t anew = 16;
  static constexpr std::size_t block = 64;

  // In eight lanes, a block of 64 after the other: a term takes part in at most 11 + size/64 additions.
  [[nodiscard]] static T sum_from(std::vector<T> const& x, std::size_t from) {
    T sum = 0.0;
    for (std::size_t k = from; k < x.size(); k += block) {
      sum +=
          sum_in_lanes<T>(std::min(x.size() - k, block), [&](std::size_t j) { return x[k + j]; });
    }
    return sum;
  }

  std::vector<turning_term<T>> terms_;
  T spacing_;
  bool falls_;
  // Structure of arrays: the loops over them are the accountant's hottest.
  std::vector<T> real_;
  std::vector<T> imaginary_;
  std::vector<T> turn_real_;
  std::vector<T> turn_imaginary_;
};

}  // namespace tacit::detail
