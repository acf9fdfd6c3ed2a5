// SPDX-License-Identifier: Apache-2.0
#include "dpzero/figure.hpp"

#include "output/panel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace apps {

namespace {

struct look {
  study_method method;
  char const* colour;
};

constexpr look looks[] = {{study_method::dpzero, "#0072b2"},
                          {study_method::dpgd_0th, "#d55e00"},
                          {study_method::dp_gd, "#009e73"}};

}  // namespace

std::string figure(std::vector<study_row> const& rows) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0.0;
  std::vector<std::size_t> dimensions;
  for (study_row const& row : rows) {
    dimensions.push_back(row.dimension);
    high = std::max(high, row.start_norm);
    low = std::min(low, row.gradient_norm);
  }
  std::sort(dimensions.begin(), dimensions.end());
  dimensions.erase(std::unique(dimensions.begin(), dimensions.end()), dimensions.end());
  if (dimensions.empty() || !(low > 0.0) || !std::isfinite(low)) return svg({});
  double const floor = std::pow(10.0, std::floor(std::log10(low)));
  double const ceiling = std::pow(10.0, std::ceil(std::log10(high)));

  std::vector<panel> panels;
  for (effective_rank const rank :
       {effective_rank::whole, effective_rank::root, effective_rank::logarithmic}) {
    panel p{"Effective rank O(" + std::string(name_of(rank)) + ")",
            "gradient norm on test data, the best setting of each method",
            true,
            floor,
            ceiling,
            std::log10(static_cast<double>(dimensions.back())),
            {},
            {}};
    p.left = std::log10(static_cast<double>(dimensions.front()));
    if (p.left == p.right) p.left -= 1.0;
    p.across = "dimension d";
    for (std::size_t const d : dimensions) {
      p.marks.emplace_back(std::log10(static_cast<double>(d)), std::to_string(d));
    }
    for (double tick = floor; tick < 1.5 * ceiling; tick *= 10.0) p.ticks.push_back(tick);
    line start{"at the start", "#666666", true, {}};
    for (look const& one : looks) {
      line l{std::string(name_of(one.method)), one.colour, false, {}};
      for (study_row const& row : rows) {
        if (row.rank != rank || row.method != one.method) continue;
        double const x = std::log10(static_cast<double>(row.dimension));
        if (std::isfinite(row.gradient_norm)) l.at.emplace_back(x, row.gradient_norm);
        if (one.method == study_method::dpzero) start.at.emplace_back(x, row.start_norm);
      }
      p.lines.push_back(std::move(l));
    }
    if (start.at.empty()) continue;
    p.lines.push_back(std::move(start));
    panels.push_back(std::move(p));
  }
  return svg(panels);
}

}  // namespace apps
