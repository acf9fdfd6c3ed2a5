// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/pac/dense.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#if defined(TACIT_HIGHWAY)
#include <tacit/pac/all_finite.hpp>

#include <hwy/contrib/sort/vqsort.h>
#endif

namespace tacit::detail {

/// Sorts finite numbers in ascending order, and makes 0 of −0, so that the result has the same bits however it is sorted.
/// It keeps its memory from one column to the next.
///
/// Two passes of a radix sort over 2²² equal cells between the least number and the largest (Knuth, TAOCP
/// 3, §5.2.5), and then a comparison sort of each cell that came out in disorder: few of them, where
/// numbers are spread out as those of a sample are. Whatever the numbers, it takes a comparison sort's
/// time and that of the passes at most.
///
/// A program that links tacit::highway leaves so many numbers that the passes of a radix sort miss the cache to Highway's
/// VQSort (Blacher et al. 2022), which is slower below that, with AVX-512 too (docs/benchmarks.md).
template <dense_scalar T = double>
class column_sorter {
 public:
  void operator()(std::span<T> x) {
    for (T& v : x) v += 0.0;
#if defined(TACIT_HIGHWAY)
    Eigen::Map<vector_of<T> const> const numbers(x.data(), std::ssize(x));
    if (x.size() > 400'000 && all_finite(numbers)) {
      by_highway_(x.data(), x.size(), hwy::SortAscending());
      return;
    }
#endif
    Eigen::Map<array_of<T> const> const all(x.data(), std::ssize(x));
    // The counters, of 32 bits, cost as much as a comparison sort of few numbers.
    bool const suitable = x.size() >= 256 && x.size() <= std::numeric_limits<std::uint32_t>::max();
    double const least = suitable ? all.minCoeff() : 0.0;
    double const range = suitable ? all.maxCoeff() - least : 0.0;
    double const scale = static_cast<double>(cells - 1) / range;
    if (!std::isnormal(scale)) {  // too few, too many, all alike, or too far apart
      std::sort(x.begin(), x.end());
      return;
    }
    auto const cell = [=](double value) {
      return std::min(static_cast<std::uint32_t>((value - least) * scale), cells - 1);
    };

    other_.resize(x.size());
    low_.fill(0);
    high_.fill(0);
    for (double const value : x) {
      std::uint32_t const k = cell(value);
      ++low_[k % digits];
      ++high_[k / digits];
    }
    std::uint32_t before_low = 0;
    std::uint32_t before_high = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      before_low += std::exchange(low_[i], before_low);
      before_high += std::exchange(high_[i], before_high);
    }
    for (double const value : x) other_[low_[cell(value) % digits]++] = value;
    for (double const value : other_) x[high_[cell(value) / digits]++] = value;

    for (std::size_t i = 1; i < x.size(); ++i) {
      if (!(x[i] < x[i - 1])) continue;
      std::uint32_t const k = cell(x[i]);
      std::size_t first = i - 1;
      while (first > 0 && cell(x[first - 1]) == k) --first;
      while (i < x.size() && cell(x[i]) == k) ++i;
      std::sort(x.data() + first, x.data() + i);
    }
  }

 private:
  static constexpr std::uint32_t digits = 1U << 11;
  static constexpr std::uint32_t cells = digits * digits;

#if defined(TACIT_HIGHWAY)
  hwy::Sorter by_highway_;
#endif
  std::vector<T> other_;
  std::array<std::uint32_t, digits> low_;
  std::array<std::uint32_t, digits> high_;
};

}  // namespace tacit::detail
