// SPDX-License-Identifier: Apache-2.0
#include "output/panel.hpp"

#include "output/format.hpp"

#include <algorithm>
#include <cmath>

namespace apps {

namespace {

constexpr double whole_width = 840.0;
constexpr double whole_height = 480.0;
constexpr double left = 84.0;
constexpr double top = 74.0;
constexpr double height = 330.0;
constexpr double line_height = 20.0;
constexpr double letter_width = 10.0;  // of the labels, on average
constexpr double label_gap = 16.0;
constexpr double right_margin = 14.0;
constexpr double apart = 6.0;  // between the error bars of two lines at one place
constexpr std::size_t few_points = 16;

/// Of the plot, beside the labels of all panels.
double width_beside_labels(std::vector<panel> const& panels) {
  std::size_t longest = 0;
  for (panel const& p : panels) {
    for (line const& l : p.lines) longest = std::max(longest, l.label.size());
  }
  double const beside = letter_width * static_cast<double>(longest) + label_gap + right_margin;
  return std::clamp(whole_width - left - beside, 400.0, whole_width - left - 40.0);
}

/// `offset` is the panel's upper edge.
void draw(std::string& out, panel const& p, double offset, double width) {
  double const bottom = offset + top + height;
  auto const x_of = [&](double x) { return left + width * (x - p.left) / (p.right - p.left); };
  auto const y_of = [&](double value) {
    auto const place = [&](double v) { return p.logarithmic ? std::log(v) : v; };
    double const share = (place(value) - place(p.low)) / (place(p.high) - place(p.low));
    return bottom - height * std::clamp(share, 0.0, 1.0);
  };

  out += formatted("<text x='8' y='%.0f' class='title'>%s</text>\n", offset + 28, p.title.c_str());
  out +=
      formatted("<text x='8' y='%.0f' class='note'>%s</text>\n", offset + 52, p.subtitle.c_str());
  for (double const tick : p.ticks) {
    out += formatted("<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' class='grid'/>\n", left,
                     left + width, y_of(tick), y_of(tick));
    out += formatted("<text x='%.1f' y='%.1f' class='tick' text-anchor='end'>%g</text>\n", left - 8,
                     y_of(tick) + 6, tick);
  }
  auto const mark = [&](double x, std::string const& text) {
    out += formatted("<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' class='axis'/>\n", x_of(x),
                     x_of(x), bottom, bottom + 5);
    out += formatted("<text x='%.1f' y='%.1f' class='tick' text-anchor='middle'>%s</text>\n",
                     x_of(x), bottom + 25, text.c_str());
  };
  for (auto const& [x, text] : p.marks) mark(x, text);
  if (p.marks.empty()) {
    double const stride = nice_step(p.right - p.left, 5.0);
    for (double x = p.left; x <= p.right; x += stride) mark(x, formatted("%g", x));
  }
  out += formatted("<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' class='axis'/>\n", left,
                   left + width, bottom, bottom);
  out += formatted("<text x='%.1f' y='%.1f' class='tick' text-anchor='middle'>%s</text>\n",
                   left + width / 2, bottom + 52, p.across.c_str());

  std::vector<std::pair<double, line const*>> ends;
  double const middle = 0.5 * (static_cast<double>(p.lines.size()) - 1.0);
  for (std::size_t index = 0; index < p.lines.size(); ++index) {
    line const& l = p.lines[index];
    double const aside = l.interval.empty() || l.dashed || !p.side_by_side
                             ? 0.0
                             : apart * (static_cast<double>(index) - middle);
    std::string path;
    std::string marks;
    double end = 0.0;
    for (std::size_t k = 0; k < l.at.size(); ++k) {
      auto const& [x, value] = l.at[k];
      if (p.logarithmic && value < p.low) continue;
      end = y_of(value);
      double const across = x_of(x) + aside;
      path += formatted("%s%.1f,%.1f", path.empty() ? "" : " ", across, end);
      if (l.at.size() > few_points) continue;
      marks += formatted("<circle cx='%.1f' cy='%.1f' r='4.5' fill='%s'/>\n", across, end,
                         l.colour.c_str());
      if (k < l.interval.size()) {
        marks += formatted(
            "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' class='bar' stroke='%s'/>\n", across,
            across, y_of(l.interval[k].first), y_of(l.interval[k].second), l.colour.c_str());
      }
    }
    if (path.empty()) continue;
    out += formatted("<polyline class='line' stroke='%s'%s points='", l.colour.c_str(),
                     l.dashed ? " stroke-dasharray='5 5'" : "");
    out += path + "'/>\n" + marks;
    if (!l.label.empty()) ends.emplace_back(end, &l);
  }

  // Labels stand at the ends of their lines, moved apart where they would touch.
  std::sort(ends.begin(), ends.end());
  std::vector<double> place;
  for (auto const& [y, l] : ends) place.push_back(y);
  for (int round = 0; round < 200; ++round) {
    for (std::size_t i = 1; i < place.size(); ++i) {
      double const overlap = line_height - (place[i] - place[i - 1]);
      if (overlap <= 0.0) continue;
      place[i - 1] -= overlap / 2;
      place[i] += overlap / 2;
    }
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    auto const& [y, l] = ends[i];
    out += formatted("<polyline class='lead' points='%.1f,%.1f %.1f,%.1f'/>\n", left + width + 2, y,
                     left + width + 12, place[i]);
    out += formatted("<text x='%.1f' y='%.1f' class='label' fill='%s'>%s</text>\n",
                     left + width + label_gap, place[i] + 6, l->colour.c_str(), l->label.c_str());
  }
}

}  // namespace

double nice_step(double range, double about) {
  double const power = std::pow(10.0, std::floor(std::log10(range / about)));
  for (double const factor : {1.0, 2.0, 5.0}) {
    if (range / (factor * power) <= about) return factor * power;
  }
  return 10.0 * power;
}

void fit_ticks(panel& p) {
  double const tick = nice_step(std::max(p.high - p.low, 0.01), 6.0);
  p.low = std::floor(p.low / tick) * tick;
  p.high = std::ceil(p.high / tick) * tick;
  for (double y = p.low; y < p.high + tick / 2; y += tick)
    p.ticks.push_back(std::round(y * 1e6) / 1e6);
}

std::string svg(std::vector<panel> const& panels) {
  double const whole = whole_height * static_cast<double>(panels.size());
  std::string out = formatted(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' width='%.0f' height='%.0f' "
      "font-family='Helvetica, Arial, sans-serif'>\n",
      whole_width, whole, whole_width, whole);
  out +=
      "<style>\n"
      "text { font-size: 18px }\n"
      ".title { font-size: 21px; font-weight: bold; fill: #222 }\n"
      ".note, .tick { fill: #555 }\n"
      ".grid { stroke: #e6e6e6 }\n"
      ".axis { stroke: #888 }\n"
      ".lead { stroke: #ccc; fill: none }\n"
      ".line { fill: none; stroke-width: 2.5; stroke-linejoin: round }\n"
      ".bar { stroke-width: 1.5 }\n"
      "</style>\n";
  out += formatted("<rect width='%.0f' height='%.0f' fill='white'/>\n", whole_width, whole);
  double const width = width_beside_labels(panels);
  for (std::size_t k = 0; k < panels.size(); ++k) {
    draw(out, panels[k], whole_height * static_cast<double>(k), width);
  }
  return out + "</svg>\n";
}

}  // namespace apps
