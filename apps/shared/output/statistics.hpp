// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

/// What runs of a few seeds say. Runs are independent; the records of one run are not, so that nothing here counts
/// records.

namespace apps {

/// A mean, and its 95 % interval by Student's t. NaN without values; without an interval for one value.
struct mean_interval {
  std::size_t runs = 0;
  double mean = 0.0;
  double deviation = 0.0;  // of one run
  double low = 0.0;
  double high = 0.0;
};
mean_interval interval_of(std::vector<double> const& values);

/// P(T ≥ √n·mean/deviation) with n − 1 degrees of freedom: how likely so large a mean would be if that of the
/// law were 0 or less, for normal values. 1 for fewer than two values, or where one is not finite.
double probability_of_no_gain(std::vector<double> const& values);

/// Holm's correction: the adjusted p of each of m hypotheses. Rejecting those with at most α rejects no true one
/// with probability at least 1 − α, whatever depends on what (Holm 1979).
std::vector<double> holm(std::vector<double> const& p);

}  // namespace apps
