// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <tacit/core/decimal.hpp>

#include "output/format.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace apps {

namespace {

// Of value(i), of each run i.
template <class Value>
spread spread_over(std::size_t runs, Value const& value) {
  std::vector<double> all;
  for (std::size_t i = 0; i < runs; ++i) all.push_back(value(i));
  return spread_of(all);
}

// Upper bounds: rounded up, so never 0 for what is not 0.
std::string nats_text(double x) {
  if (x == 0.0) return "0";
  return x < 0.001 ? tacit::rounded_up(x, 2) : up(x, x < 0.1 ? 4 : 3);
}

using cells = std::array<std::string, 10>;

cells const heading{"row",   "test accuracy", "vs MeZO", "nats: subset", "worst record",
                    "bound", "attack: mean",  "worst",   "unanimous",    "s/run"};
// The same over two lines, for a terminal.
cells const upper_heading{"",        "test", "points", "nats:", "worst",
                          "attack:", "mean", "worst",  "all",   "s per"};
cells const lower_heading{"row",   "accuracy", "vs MeZO",  "subset", "record",
                          "bound", "achieved", "(1 draw)", "agree",  "run"};

cells cells_of(summary const& s) {
  cells out;
  out[0] = s.title;
  out[1] =
      formatted("%.3f", s.accuracy.mean) + " \u00b1 " + formatted("%.3f", s.accuracy.deviation);
  out[2] = s.against_mezo ? formatted("%+.1f", 100.0 * s.against_mezo->mean) + " \u00b1 " +
                                formatted("%.1f", 100.0 * s.against_mezo->deviation)
                          : "";
  if (s.exposed) {
    out[3] = nats_text(s.exposed->mi);
    out[4] = nats_text(s.exposed->mi_worst_record);
    out[5] = up(s.exposed->attack_bound, 3);
    out[6] = formatted("%.3f", s.exposed->attack_mean);
    out[7] = formatted("%.3f", s.exposed->attack_worst);
  } else {
    std::fill(out.begin() + 3, out.begin() + 8, "none");
  }
  if (s.steps == 0) return out;
  out[8] = formatted("%.2f", s.unanimity);
  out[9] = formatted("%.1f", s.seconds);
  return out;
}

// Characters on the screen: bytes that do not continue a UTF-8 sequence.
std::size_t width(std::string const& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(std::string const& text, std::size_t to, bool left) {
  std::string const space(to - std::min(to, width(text)), ' ');
  return left ? text + space : space + text;
}

template <class Join>
std::string lines(std::vector<cells> rows, std::vector<summary> const& table, Join const& join) {
  std::size_t const headings = rows.size();
  for (summary const& s : table) rows.push_back(cells_of(s));
  std::array<std::size_t, std::tuple_size_v<cells>> widths{};
  for (cells const& r : rows) {
    for (std::size_t j = 0; j < r.size(); ++j) widths[j] = std::max(widths[j], width(r[j]));
  }
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    cells line;
    for (std::size_t j = 0; j < line.size(); ++j) {
      line[j] = padded(rows[i][j], widths[j], j == 0);
    }
    out += join(line, i + 1 == headings, widths);
  }
  return out;
}

}  // namespace

std::vector<summary> summarise(std::vector<row> const& rows) {
  auto const mezo =
      std::find_if(rows.begin(), rows.end(), [](row const& r) { return r.id == "mezo"; });
  std::vector<summary> table;
  for (row const& r : rows) {
    auto const& runs = r.runs;
    auto const mean = [&](auto const& value) { return spread_over(runs.size(), value).mean; };
    summary s{r.id,
              r.title,
              spread_over(runs.size(), [&](std::size_t i) { return runs[i].accuracy; }),
              std::nullopt,
              std::nullopt,
              runs.front().steps,
              mean([&](std::size_t i) { return runs[i].unanimity; }),
              mean([&](std::size_t i) { return runs[i].held; }),
              mean([&](std::size_t i) { return runs[i].seconds; })};
    if (mezo != rows.end() && r.id != "mezo" && runs.size() > 1) {
      s.against_mezo = spread_over(
          runs.size(), [&](std::size_t i) { return runs[i].accuracy - mezo->runs[i].accuracy; });
      s.against_mezo->deviation /= std::sqrt(static_cast<double>(runs.size()));
    }
    if (runs.front().exposed) {
      s.exposed = exposure{
          mean([&](std::size_t i) { return runs[i].exposed->mi; }),
          mean([&](std::size_t i) { return runs[i].exposed->mi_worst_record; }),
          mean([&](std::size_t i) { return runs[i].exposed->attack_bound; }),
          mean([&](std::size_t i) { return runs[i].exposed->attack_mean; }),
          0.0,
      };
      for (paczero_run_result const& run : runs) {
        s.exposed->attack_worst = std::max(s.exposed->attack_worst, run.exposed->attack_worst);
      }
    }
    table.push_back(std::move(s));
  }
  return table;
}

std::string caveat(std::size_t records) {
  std::string const n = std::to_string(records);
  return "Not covered: all this is about which half of the " + n +
         " private records was used, against an attacker who knows all " + n +
         ". What every half agrees on is released for free: nothing is said about who is among "
         "the " +
         n + ".";
}

std::string legend() {
  return "Bounds are averages over all possible runs (pathwise: every run): the few runs here, and "
         "more so "
         "the worst record of one, may exceed them. none: every record is used, and nothing "
         "protected.";
}

std::string as_text(std::vector<summary> const& table) {
  return lines({upper_heading, lower_heading}, table,
               [](cells const& line, bool last_heading, auto const& widths) {
                 std::string text;
                 std::size_t total = 0;
                 for (std::size_t j = 0; j < line.size(); ++j) {
                   text += (j == 0 ? "" : "  ") + line[j];
                   total += widths[j] + (j == 0 ? 0 : 2);
                 }
                 text.erase(text.find_last_not_of(' ') + 1);
                 text += '\n';
                 return last_heading ? text + std::string(total, '-') + '\n' : text;
               });
}

std::string as_markdown(std::vector<summary> const& table) {
  return lines({heading}, table, [](cells const& line, bool last_heading, auto const& widths) {
    std::string text = "|";
    for (std::string const& cell : line) text += ' ' + cell + " |";
    text += '\n';
    if (last_heading) {
      text += '|';
      for (std::size_t j = 0; j < line.size(); ++j) {
        text += std::string(widths[j] + 1, '-') + (j == 0 ? "-|" : ":|");
      }
      text += '\n';
    }
    return text;
  });
}

nlohmann::ordered_json as_json(std::vector<summary> const& table) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (summary const& s : table) {
    nlohmann::ordered_json line{{"row", s.id},
                                {"title", s.title},
                                {"accuracy", s.accuracy.mean},
                                {"accuracy_sd", s.accuracy.deviation}};
    if (s.against_mezo) {
      line["against_mezo"] = s.against_mezo->mean;
      line["against_mezo_se"] = s.against_mezo->deviation;
    }
    if (s.exposed) {
      line["mi"] = s.exposed->mi;
      line["mi_worst_record"] = s.exposed->mi_worst_record;
      line["attack_bound"] = s.exposed->attack_bound;
      line["attack_achieved"] = s.exposed->attack_mean;
      line["attack_worst_draw"] = s.exposed->attack_worst;
    }
    line["unanimity"] = s.unanimity;
    line["held"] = s.held;
    line["seconds"] = s.seconds;
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace apps
