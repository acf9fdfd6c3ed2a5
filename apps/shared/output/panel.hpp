// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace apps {

using points = std::vector<std::pair<double, double>>;

struct line {
  std::string label;  // none: no label at the end
  std::string colour;
  bool dashed;
  points at;             // with a marker each, where there are few
  points interval = {};  // (low, high) of each point: error bars, apart from those of other lines
};

struct panel {
  std::string title;
  std::string subtitle;
  bool logarithmic;  // the vertical axis: points under `low` are left out
  double low;
  double high;
  double right;  // the horizontal axis is [left, right]
  std::vector<double> ticks;
  std::vector<line> lines;
  std::string across = "step";  // what the horizontal axis shows
  double left = 0.0;
  std::vector<std::pair<double, std::string>> marks = {};  // its ticks; none: at equal distances
  bool side_by_side = true;  // error bars at one place are moved apart
};

/// 1, 2 or 5 times a power of ten, so that `range` has at most `about` of them.
double nice_step(double range, double about);

/// Sets the vertical axis of a panel that is not logarithmic, and its ticks, to hold [low, high].
void fit_ticks(panel& p);

/// An SVG of the panels, one below the other. As wide as the column of a repository page, so that its text is
/// read at the size that it is written in, 18 px.
std::string svg(std::vector<panel> const& panels);

}  // namespace apps
