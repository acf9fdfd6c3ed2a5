// SPDX-License-Identifier: Apache-2.0
#include "output/format.hpp"
#include "output/panel.hpp"
#include "output/statistics.hpp"
#include "page.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace apps {

namespace {

panel accuracy_panel(system_scores const& s) {
  panel p{std::string(name_of(s.system)),
          "accuracy, mean and 95 % interval over the seeds",
          false,
          0.0,
          0.0,
          0.0,
          {},
          {}};
  p.across = "smoothing μ";
  p.left = -0.4;
  p.right = static_cast<double>(ladder_size) - 0.6;
  constexpr char const* colours[] = {"#666666", "#d55e00", "#e69f00", "#0072b2", "#56b4e9"};
  double low = 1.0;
  double high = 0.0;
  for (std::size_t m = 0; m < ladder_size; ++m) {
    p.marks.emplace_back(static_cast<double>(m), ladder[m].name);
  }
  for (std::size_t a = 0; a < std::size(all_arms); ++a) {
    line l{std::string(name_of(all_arms[a])), colours[a], a == 0, {}};
    for (std::size_t m = 0; m < ladder_size; ++m) {
      mean_interval const i = interval_of(s.arms[a][m].accuracy);
      l.at.emplace_back(static_cast<double>(m), i.mean);
      l.interval.emplace_back(i.low, i.high);
      low = std::min(low, i.low);
      high = std::max(high, i.high);
    }
    p.lines.push_back(std::move(l));
  }
  p.low = low;
  p.high = high;
  fit_ticks(p);
  return p;
}

panel rest_panel(low_precision_results const& found) {
  panel p{"The moves by themselves",
          "root mean square of an entry's drift, nothing released",
          true,
          1e300,
          0.0,
          0.0,
          {},
          {}};
  p.across = "smoothing μ";
  p.left = -4.2;
  p.right = -0.8;
  for (double const mu : {1e-4, 1e-3, 1e-2, 1e-1}) {
    p.marks.emplace_back(std::log10(mu), formatted("%g", mu));
  }
  constexpr char const* colours[] = {"#d55e00", "#0072b2"};
  constexpr char const* names[] = {"bfloat16", "half"};
  for (std::size_t a = 0; a < found.rest.size(); ++a) {
    for (bool const powers : {false, true}) {
      line l{std::string(names[a]) + (powers ? ", powers of two" : ", decimal"),
             colours[a],
             powers,
             {}};
      for (std::size_t m = 0; m < std::size(fine_ladder); ++m) {
        int exponent = 0;
        if ((std::frexp(fine_ladder[m].value, &exponent) == 0.5) != powers) continue;
        mean_interval const i = interval_of(found.rest[a][m]);
        if (!(i.mean > 0.0)) continue;
        double const low = std::max(i.low, 0.2 * i.mean);
        l.at.emplace_back(std::log10(fine_ladder[m].value), i.mean);
        l.interval.emplace_back(low, i.high);
        p.low = std::min(p.low, low);
        p.high = std::max(p.high, i.high);
      }
      if (!l.at.empty()) p.lines.push_back(std::move(l));
    }
  }
  p.low /= 1.2;
  p.high *= 1.2;
  for (double decade = 1e-9; decade < 1e3; decade *= 10.0) {
    if (decade >= p.low && decade <= p.high) p.ticks.push_back(decade);
  }
  return p;
}

}  // namespace

std::string figure(low_precision_results const& found) {
  std::vector<panel> panels;
  for (system_scores const& s : found.systems) {
    if (s.system != private_system::dp_zo_laplace) panels.push_back(accuracy_panel(s));
  }
  panels.push_back(rest_panel(found));
  return svg(panels);
}

}  // namespace apps
