// SPDX-License-Identifier: Apache-2.0
#include "demo/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <string_view>
#include <utility>

namespace examples {

namespace {

// The colours of Okabe and Ito, told apart with any kind of colour vision; paler and darker
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

using points = std::vector<std::pair<double, double>>;

struct line {
  std::string label;  // none: no label at the end
  std::string colour;
  bool dashed;
  points at;
};

struct panel {
  std::string title;
  std::string subtitle;
  bool logarithmic;  // the vertical axis
  double low;
  double high;
  double steps;
  std::vector<double> ticks;
  std::vector<line> lines;
};

[[gnu::format(printf, 2, 3)]] void append(std::string& out, char const* format, ...) {
  char text[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  out += text;
}

// Mean over the seeds, point by point.
template <class Value>
points mean_curve(row const& r, Value const& value) {
  points out;
  for (std::size_t i = 0; i < r.runs.front().curve.size(); ++i) {
    double sum = 0.0;
    for (experiment_result const& run : r.runs) sum += value(run.curve[i]);
    out.emplace_back(static_cast<double>(r.runs.front().curve[i].step),
                     sum / static_cast<double>(r.runs.size()));
  }
  return out;
}

double nice_step(double range, double about) {
  double const power = std::pow(10.0, std::floor(std::log10(range / about)));
  for (double const factor : {1.0, 2.0, 5.0}) {
    if (range / (factor * power) <= about) return factor * power;
  }
  return 10.0 * power;
}

constexpr double top = 74.0;
constexpr double height = 380.0;
constexpr double width = 400.0;

void draw(std::string& out, panel const& p, double left) {
  auto const x_of = [&](double step) { return left + width * step / p.steps; };
  auto const y_of = [&](double value) {
    auto const place = [&](double v) { return p.logarithmic ? std::log(v) : v; };
    double const share = (place(value) - place(p.low)) / (place(p.high) - place(p.low));
    return top + height * (1.0 - std::clamp(share, 0.0, 1.0));
  };

  append(out, "<text x='%.0f' y='32' class='title'>%s</text>\n", left - 44, p.title.c_str());
  append(out, "<text x='%.0f' y='51' class='note'>%s</text>\n", left - 44, p.subtitle.c_str());
  for (double const tick : p.ticks) {
    append(out, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' class='grid'/>\n", left,
           left + width, y_of(tick), y_of(tick));
    append(out, "<text x='%.1f' y='%.1f' class='tick' text-anchor='end'>%g</text>\n", left - 8,
           y_of(tick) + 4, tick);
  }
  double const stride = nice_step(p.steps, 5.0);
  for (double step = 0.0; step <= p.steps; step += stride) {
    append(out, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' class='axis'/>\n", x_of(step),
           x_of(step), top + height, top + height + 5);
    append(out, "<text x='%.1f' y='%.1f' class='tick' text-anchor='middle'>%g</text>\n", x_of(step),
           top + height + 20, step);
  }
  append(out, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' class='axis'/>\n", left, left + width,
         top + height, top + height);
  append(out, "<text x='%.1f' y='%.1f' class='tick' text-anchor='middle'>step</text>\n",
         left + width / 2, top + height + 40);

  std::vector<std::pair<double, line const*>> ends;
  for (line const& l : p.lines) {
    std::string path;
    double end = 0.0;
    for (auto const& [step, value] : l.at) {
      if (p.logarithmic && value < p.low) continue;
      end = y_of(value);
      append(path, "%s%.1f,%.1f", path.empty() ? "" : " ", x_of(step), end);
    }
    if (path.empty()) continue;
    append(out, "<polyline class='line' stroke='%s'%s points='", l.colour.c_str(),
           l.dashed ? " stroke-dasharray='3 4' stroke-width='1.5'" : "");
    out += path + "'/>\n";
    if (!l.label.empty()) ends.emplace_back(end, &l);
  }

  // Labels stand at the ends of their lines, moved apart where they would touch.
  constexpr double apart = 16.0;
  std::sort(ends.begin(), ends.end());
  std::vector<double> place;
  for (auto const& [y, l] : ends) place.push_back(y);
  for (int round = 0; round < 200; ++round) {
    for (std::size_t i = 1; i < place.size(); ++i) {
      double const overlap = apart - (place[i] - place[i - 1]);
      if (overlap <= 0.0) continue;
      place[i - 1] -= overlap / 2;
      place[i] += overlap / 2;
    }
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    auto const& [y, l] = ends[i];
    append(out, "<polyline class='lead' points='%.1f,%.1f %.1f,%.1f'/>\n", left + width + 2, y,
           left + width + 12, place[i]);
    append(out, "<text x='%.1f' y='%.1f' class='label' fill='%s'>%s</text>\n", left + width + 15,
           place[i] + 4, l->colour.c_str(), l->label.c_str());
  }
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
      p.steps = std::max(p.steps, step);
    }
    p.lines.push_back({l.label, l.colour, false, std::move(at)});
  }
  if (p.low > p.high) std::swap(p.low, p.high);
  double const tick = nice_step(std::max(p.high - p.low, 0.01), 6.0);
  p.low = std::floor(p.low / tick) * tick;
  p.high = std::ceil(p.high / tick) * tick;
  for (double y = p.low; y < p.high + tick / 2; y += tick)
    p.ticks.push_back(std::round(y * 1e6) / 1e6);
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
    p.steps = std::max(p.steps, subset.back().first);
    p.lines.push_back({"", l.colour, true, std::move(record)});
    p.lines.push_back({l.label, l.colour, false, std::move(subset)});
  }
  return p;
}

}  // namespace

std::string plot(std::vector<row> const& rows) {
  std::string out =
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1300 520' width='1300' height='520' "
      "font-family='Helvetica, Arial, sans-serif'>\n"
      "<style>\n"
      ".title { font-size: 16px; font-weight: bold; fill: #222 }\n"
      ".note, .tick { font-size: 12px; fill: #666 }\n"
      ".label { font-size: 12px }\n"
      ".grid { stroke: #e6e6e6 }\n"
      ".axis { stroke: #888 }\n"
      ".lead { stroke: #ccc; fill: none }\n"
      ".line { fill: none; stroke-width: 2; stroke-linejoin: round }\n"
      "</style>\n"
      "<rect width='1300' height='520' fill='white'/>\n";
  draw(out, accuracy_panel(rows), 62.0);
  draw(out, nats_panel(rows), 710.0);
  return out + "</svg>\n";
}

}  // namespace examples
