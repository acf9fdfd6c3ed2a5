// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/enclosure.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tacit::detail {

/// Σ count·x of doubles, exactly, x ≥ 0 where it counts more than once: whichever way a sum is split and ordered, its value is
/// the same. Kept as an expansion, doubles without a common bit (Shewchuk 1997); two or three of them
/// as a rule. Lemma 5 of docs/certificates/rounding.md.
class exact_sum {
 public:
  void add(double x, std::uint64_t count = 1) {
    if (count == 0 || x == 0.0) return;
    // Both factors are doubles: 48 bits and 16.
    double const factors[] = {static_cast<double>(count >> 16) * 65536.0,
                              static_cast<double>(count & 65535U)};
    for (double const n : factors) {
      if (n == 0.0) continue;
      double const product = settled(n * x);
      if (!is_finite(product)) {
        beyond_ = true;
      } else if (product > sure_residual) {
        put(std::fma(n, x, -product));
        put(product);
      } else if (product_error(n, x, product) == 0.0) {
        put(product);
      } else {
        put(multiply_down(n, x));
        lost_ = add_up(lost_, std::numeric_limits<double>::denorm_min());
      }
    }
  }

  void subtract(double x) {
    subtracted_ = true;
    if (x != 0.0) put(-x);
  }

  /// The sum within one unit of rounding of T, where no product underflowed.
  template <real T>
  [[nodiscard]] T nearly() const {
    T sum = 0;
    for (double const part : parts_) sum = sum + T(part);  // each beside those before it is large
    return sum;
  }

  /// The sum between neighbouring doubles; above 2^1023 it may be any.
  [[nodiscard]] enclosure value() const {
    if (beyond_) return {subtracted_ ? -infinite_double : 0x1p1023, infinite_double};
    if (parts_.empty()) return 0.0;
    double high = parts_.back();
    double error = 0.0;
    for (std::size_t k = parts_.size() - 1; k-- > 0 && error == 0.0;) {
      double const sum = high + parts_[k];
      error = sum_error(high, parts_[k], sum);
      high = sum;
    }
    double const upper = error > 0.0 ? next_up(high) : high;
    return {error < 0.0 ? next_down(high) : high, add_up(upper, lost_)};
  }

 private:
  void put(double x) {
    if (!is_finite(x)) {
      beyond_ = true;
      return;
    }
    std::size_t kept = 0;
    for (double const part : parts_) {
      double const sum = x + part;
      if (!is_finite(sum)) {
        beyond_ = true;
        return;
      }
      double const error = sum_error(x, part, sum);
      if (error != 0.0) parts_[kept++] = error;
      x = sum;
    }
    parts_.resize(kept);
    if (x != 0.0) parts_.push_back(x);
  }

  std::vector<double> parts_;  // ascending in size
  double lost_ = 0.0;          // of products that underflowed
  bool beyond_ = false;
  bool subtracted_ = false;
};

}  // namespace tacit::detail
