// SPDX-License-Identifier: Apache-2.0
#include "training/data.hpp"

#include <tacit/random/uniform.hpp>

#include "output/text_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace apps {

namespace {

// A network has an output for each: a column of measurements is no label.
constexpr std::size_t most_classes = 1000;

std::string_view trimmed(std::string_view text) {
  auto const first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    auto const comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

// Infinite where it is beyond a double; nothing for what is written as no number.
std::optional<double> written_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0.0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return {};
  return error == std::errc() ? value : std::numeric_limits<double>::infinity();
}

std::optional<double> number(std::string_view text) {
  std::optional<double> const value = written_number(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::vector<std::string> classes_of(std::vector<std::string> labels) {
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  if (std::all_of(labels.begin(), labels.end(), [](auto const& l) { return number(l); })) {
    std::stable_sort(labels.begin(), labels.end(),
                     [](auto const& a, auto const& b) { return *number(a) < *number(b); });
  }
  return labels;
}

std::size_t two_digits(double x) {
  double const unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(x)) - 1.0));
  return static_cast<std::size_t>(std::round(x / unit) * unit);
}

dataset rows_of(dataset const& all, std::vector<std::size_t> const& rows) {
  dataset part{Eigen::MatrixXf(rows.size(), all.features.cols()), {}, all.classes};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    part.features.row(static_cast<Eigen::Index>(i)) =
        all.features.row(static_cast<Eigen::Index>(rows[i]));
    part.labels.push_back(all.labels[rows[i]]);
  }
  return part;
}

}  // namespace

dataset load_csv(std::filesystem::path const& file) {
  return parse_csv(read_text(file.string()), file.string());
}

dataset parse_csv(std::string_view text, std::string const& name) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  std::vector<std::vector<float>> rows;
  std::vector<std::string> labels;
  for (std::size_t at = 1; !text.empty(); ++at) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    std::string_view const line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    std::vector<std::string_view> const cells = cells_of(line);
    auto const fail = [&](std::string what) {
      std::replace(what.begin(), what.end(), '\0', ' ');  // it would end the message
      throw std::runtime_error(name + ":" + std::to_string(at) + ": " + what);
    };
    if (cells.size() < 2) fail("a record needs a feature and a label");
    bool const names = at == 1 && std::none_of(cells.begin(), cells.end() - 1, written_number);
    if (names) continue;
    if (!rows.empty() && cells.size() != rows.front().size() + 1) {
      fail(std::to_string(cells.size()) + " columns, but must be " +
           std::to_string(rows.front().size() + 1));
    }
    std::vector<float> row;
    for (std::size_t j = 0; j + 1 < cells.size(); ++j) {
      std::optional<double> const value = number(cells[j]);
      bool const held = value && std::abs(*value) <= double{std::numeric_limits<float>::max()};
      if (!held) fail(std::string(cells[j]).append(" is not a finite number, as a float"));
      row.push_back(static_cast<float>(*value));
    }
    if (cells.back().empty()) fail("the label is missing");
    rows.push_back(std::move(row));
    labels.emplace_back(cells.back());
  }
  if (rows.empty()) throw std::runtime_error(name + ": no records");

  dataset out;
  out.classes = classes_of(labels);
  if (out.classes.size() < 2) throw std::runtime_error(name + ": only one class");
  if (out.classes.size() > most_classes) {
    throw std::runtime_error(name + ": the last column has " + std::to_string(out.classes.size()) +
                             " different labels, but must have at most " +
                             std::to_string(most_classes));
  }
  std::map<std::string_view, int> place;
  for (std::string const& label : out.classes) {
    place.emplace(label, static_cast<int>(place.size()));
  }
  out.features.resize(static_cast<Eigen::Index>(rows.size()),
                      static_cast<Eigen::Index>(rows.front().size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      out.features(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = rows[i][j];
    }
    out.labels.push_back(place.at(labels[i]));
  }
  return out;
}

split_data split(dataset const& all, std::uint64_t seed, split_options const& options) {
  auto const total = static_cast<double>(all.size());
  std::size_t const hidden =
      options.private_records != 0 ? options.private_records : two_digits(total * 5.0 / 9.0);
  std::size_t const test =
      options.test_records != 0 ? options.test_records : two_digits(total * 5.0 / 18.0);
  if (hidden >= all.size() || test >= all.size() - hidden) {
    throw std::runtime_error(
        "no record is left for the public part: " + std::to_string(all.size()) + " records, " +
        std::to_string(hidden) + " private, " + std::to_string(test) + " for the test");
  }
  int const classes = static_cast<int>(all.classes.size());
  int const unseen = options.unseen_classes >= 0 ? options.unseen_classes : classes / 5;

  // Fisher-Yates with the public stream of this seed.
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  tacit::stream_id const stream{.seed = seed, .use = tacit::purpose::data_split};
  for (std::size_t i = order.size(); i > 1; --i) {
    auto const j = static_cast<std::size_t>(tacit::uniform(stream, i) * static_cast<double>(i));
    std::swap(order[i - 1], order[j]);
  }

  std::size_t const known = all.size() - hidden - test;
  std::vector<std::size_t> public_rows;
  std::vector<std::size_t> rest;
  for (std::size_t const row : order) {
    bool const seen = all.labels[row] < classes - unseen;
    (seen && public_rows.size() < known ? public_rows : rest).push_back(row);
  }
  if (public_rows.empty()) throw std::runtime_error("the public part has no class to show");
  auto const middle = rest.begin() + static_cast<std::ptrdiff_t>(std::min(hidden, rest.size()));
  auto const end = middle + static_cast<std::ptrdiff_t>(
                                std::min(test, static_cast<std::size_t>(rest.end() - middle)));
  split_data out{rows_of(all, public_rows),
                 rows_of(all, {rest.begin(), middle}),
                 rows_of(all, {middle, end}),
                 {rest.begin(), middle}};
  if (out.test_part.size() == 0) throw std::runtime_error("no record is left for the test");

  Eigen::RowVectorXf low = out.public_part.features.colwise().minCoeff();
  Eigen::RowVectorXf high = out.public_part.features.colwise().maxCoeff();
  // A column of floats may be wider than a float; half of it is not, and has the same shares.
  Eigen::RowVectorXf const part_of =
      (high - low).unaryExpr([](float w) { return std::isfinite(w) ? 1.0F : 0.5F; });
  low.array() *= part_of.array();
  high.array() *= part_of.array();
  Eigen::RowVectorXf const width =
      (high - low).unaryExpr([](float w) { return w > 0.0F ? w : 1.0F; });
  for (dataset* part : {&out.public_part, &out.private_part, &out.test_part}) {
    part->features.array().rowwise() *= part_of.array();
    part->features.rowwise() -= low;
    part->features.array().rowwise() /= width.array();
    part->features = part->features.cwiseMax(-1.0F).cwiseMin(2.0F);
  }
  return out;
}

}  // namespace apps
