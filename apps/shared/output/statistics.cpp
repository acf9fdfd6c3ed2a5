// SPDX-License-Identifier: Apache-2.0
#include "output/statistics.hpp"

#include "output/spread.hpp"

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace apps {

namespace {

bool all_finite(std::vector<double> const& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace

mean_interval interval_of(std::vector<double> const& values) {
  double const nothing = std::numeric_limits<double>::quiet_NaN();
  if (values.empty() || !all_finite(values))
    return {values.size(), nothing, nothing, nothing, nothing};
  spread const s = spread_of(values);
  if (s.runs < 2) return {s.runs, s.mean, 0.0, nothing, nothing};
  double const n = static_cast<double>(s.runs);
  boost::math::students_t const law(n - 1.0);
  double const width = boost::math::quantile(law, 0.975) * s.deviation / std::sqrt(n);
  return {s.runs, s.mean, s.deviation, s.mean - width, s.mean + width};
}

double probability_of_no_gain(std::vector<double> const& values) {
  if (values.size() < 2 || !all_finite(values)) return 1.0;
  spread const s = spread_of(values);
  if (s.deviation == 0.0) return s.mean > 0.0 ? 0.0 : 1.0;
  double const n = static_cast<double>(s.runs);
  boost::math::students_t const law(n - 1.0);
  return boost::math::cdf(boost::math::complement(law, std::sqrt(n) * s.mean / s.deviation));
}

std::vector<double> holm(std::vector<double> const& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> out(p.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, static_cast<double>(p.size() - i) * p[order[i]]);
    out[order[i]] = std::min(largest, 1.0);
  }
  return out;
}

}  // namespace apps
