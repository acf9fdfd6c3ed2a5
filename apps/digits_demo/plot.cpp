// SPDX-License-Identifier: Apache-2.0
#include "plot.hpp"

#include "output/panel.hpp"

#include <algorithm>
#include <utility>

namespace apps {

namespace {

// The colours of Okabe and Ito, distinguishable with any kind of colour vision; paler and darker
// relatives for rows of the same family.
struct look {
  char const* id;
  char const* label;
  char const* colour;
};

constexpr look accuracy_lines[] = {
    {"mezo", "MeZO, no privacy", "#000000"},
    {"half-sign", "half sign, no privacy", "#e69f00"},
    {"mi-.33-sign", "MI .33, spread", "#0072b2"},
    {"record-.33-confident", "MI .33 a record, confident", "#d55e00"},
    {"zpl-coin", "ZPL, coin", "#56b4e9"},
    {"zpl-hold", "ZPL, hold", "#009e73"},
    {"zpl-majority", "ZPL, majority", "#cc79a7"},
};

constexpr look nats_lines[] = {
    {"half-sign", "half sign, no privacy", "#e69f00"},
    {"mi-.33-sign", "MI .33, spread", "#0072b2"},
    {"mi-.01-sign", "MI .01, spread", "#5aa7d8"},
    {"record-.33-spread", "MI .33 a record, spread", "#8c510a"},
    {"record-.33-confident", "MI .33 a record, confident", "#d55e00"},
    {"record-.01-confident", "MI .01 a record, confident", "#e98b4a"},
    {"pathwise", "pathwise", "#666666"},
};

// Mean over the seeds, point by point.
template <class Value>
points mean_curve(row const& r, Value const& value) {
  points out;
  for (std::size_t i = 0; i < r.runs.front().curve.size(); ++i) {
    double sum = 0.0;
    for (paczero_run_result const& run : r.runs) sum += value(run.curve[i]);
    out.emplace_back(static_cast<double>(r.runs.front().curve[i].step),
                     sum / static_cast<double>(r.runs.size()));
  }
  return out;
}

panel accuracy_panel(std::vector<row> const& rows) {
  panel p{"Test accuracy", "mean over the seeds", false, 1.0, 0.0, 1.0, {}, {}};
  for (look const& l : accuracy_lines) {
    auto const found =
        std::find_if(rows.begin(), rows.end(), [&](row const& r) { return r.id == l.id; });
    if (found == rows.end()) continue;
    points at = mean_curve(*found, [](curve_point const& c) { return c.accuracy; });
    for (auto const& [step, value] : at) {
      p.low = std::min(p.low, value);
      p.high = std::max(p.high, value);
      p.right = std::max(p.right, step);
    }
    p.lines.push_back({l.label, l.colour, false, std::move(at)});
  }
  if (p.low > p.high) std::swap(p.low, p.high);
  fit_ticks(p);
  return p;
}

panel nats_panel(std::vector<row> const& rows) {
  panel p{"Nats spent",
          "solid: about which half is the secret; dotted: about the worst record; ZPL: 0",
          true,
          1e-4,
          10.0,
          1.0,
          {1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0},
          {}};
  for (look const& l : nats_lines) {
    auto const found =
        std::find_if(rows.begin(), rows.end(), [&](row const& r) { return r.id == l.id; });
    if (found == rows.end()) continue;
    points subset = mean_curve(*found, [](curve_point const& c) { return c.mi; });
    points record = mean_curve(*found, [](curve_point const& c) { return c.mi_worst_record; });
    p.right = std::max(p.right, subset.back().first);
    p.lines.push_back({"", l.colour, true, std::move(record)});
    p.lines.push_back({l.label, l.colour, false, std::move(subset)});
  }
  return p;
}

}  // namespace

std::string plot(std::vector<row> const& rows) {
  return svg({accuracy_panel(rows), nats_panel(rows)});
}

}  // namespace apps
