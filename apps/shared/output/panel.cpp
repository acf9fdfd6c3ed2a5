// SPDX-License-Identifier: Apache-2.0
#include "output/panel.hpp"

#include "output/format.hpp"

#include <algorithm>
#include <cmath>

namespace examples {

namespace {

constexpr double top = 74.0;
constexpr double height = 380.0;
constexpr double width = 400.0;

void draw(std::string& out, panel const& p, double left) {
  auto const x_of = [&](double x) { return left + width * (x - p.left) / (p.right - p.left); };
  auto const y_of = [&](double value) {
    auto const place = [&](double v) { return p.logarithmic ? std::log(v) : v; };
    double const share = (place(value) - place(p.low)) / (place(p.high) - place(p.low));
    return top + height * (1.0 - std::clamp(share, 0.0, 1.0));
  };

  out += formatted("<text x='%.0f' y='32' class='title'>%s</text>\n", left - 44, p.title.c_str());
  out += formatted("<text x='%.0f' y='51' class='note'>%s</text>\n", left - 44, p.subtitle.c_str());
  for (double const tick : p.ticks) {
    out += formatted("<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' class='grid'/>\n", left,
                     left + width, y_of(tick), y_of(tick));
    out += formatted("<text x='%.1f' y='%.1f' class='tick' text-anchor='end'>%g</text>\n", left - 8,
                     y_of(tick) + 4, tick);
  }
  auto const mark = [&](double x, std::string const& text) {
    out += formatted("<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' class='axis'/>\n", x_of(x),
                     x_of(x), top + height, top + height + 5);
    out += formatted("<text x='%.1f' y='%.1f' class='tick' text-anchor='middle'>%s</text>\n",
                     x_of(x), top + height + 20, text.c_str());
  };
  for (auto const& [x, text] : p.marks) mark(x, text);
  if (p.marks.empty()) {
    double const stride = nice_step(p.right - p.left, 5.0);
    for (double x = p.left; x <= p.right; x += stride) {
      std::string text;
      text += formatted("%g", x);
      mark(x, text);
    }
  }
  out += formatted("<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' class='axis'/>\n", left,
                   left + width, top + height, top + height);
  out += formatted("<text x='%.1f' y='%.1f' class='tick' text-anchor='middle'>%s</text>\n",
                   left + width / 2, top + height + 40, p.across.c_str());

  std::vector<std::pair<double, line const*>> ends;
  for (line const& l : p.lines) {
    std::string path;
    double end = 0.0;
    for (auto const& [x, value] : l.at) {
      if (p.logarithmic && value < p.low) continue;
      end = y_of(value);
      path += formatted("%s%.1f,%.1f", path.empty() ? "" : " ", x_of(x), end);
    }
    if (path.empty()) continue;
    out += formatted("<polyline class='line' stroke='%s'%s points='", l.colour.c_str(),
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
    out += formatted("<polyline class='lead' points='%.1f,%.1f %.1f,%.1f'/>\n", left + width + 2, y,
                     left + width + 12, place[i]);
    out += formatted("<text x='%.1f' y='%.1f' class='label' fill='%s'>%s</text>\n",
                     left + width + 15, place[i] + 4, l->colour.c_str(), l->label.c_str());
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
  int const whole = 652 * static_cast<int>(panels.size()) - 4;
  std::string out;
  out += formatted(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d 520' width='%d' height='520' "
      "font-family='Helvetica, Arial, sans-serif'>\n",
      whole, whole);
  out +=
      "<style>\n"
      ".title { font-size: 16px; font-weight: bold; fill: #222 }\n"
      ".note, .tick { font-size: 12px; fill: #666 }\n"
      ".label { font-size: 12px }\n"
      ".grid { stroke: #e6e6e6 }\n"
      ".axis { stroke: #888 }\n"
      ".lead { stroke: #ccc; fill: none }\n"
      ".line { fill: none; stroke-width: 2; stroke-linejoin: round }\n"
      "</style>\n";
  out += formatted("<rect width='%d' height='520' fill='white'/>\n", whole);
  double left = 62.0;
  for (panel const& p : panels) {
    draw(out, p, left);
    left += 648.0;
  }
  return out + "</svg>\n";
}

}  // namespace examples
