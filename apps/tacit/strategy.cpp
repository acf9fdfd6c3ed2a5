// SPDX-License-Identifier: Apache-2.0
//
// Matrix mechanisms: the strategy, and how records take part.

#include "strategy.hpp"

#include <tacit/core/rounded.hpp>
#include <tacit/dp/matrix/nested.hpp>
#include <tacit/dp/matrix/run.hpp>
#include <tacit/dp/matrix/separated.hpp>

#include "matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace calculator {

using tacit::composed;

namespace {

using any_strategy =
    std::variant<tacit::toeplitz_strategy, tacit::tree_strategy, tacit::dense_strategy>;
using any_sampling =
    std::variant<tacit::min_separation, tacit::cyclic_poisson, tacit::balls_in_bins,
                 tacit::nested_bins, tacit::separated_poisson>;

std::uint64_t steps_of(any_strategy const& c) {
  if (auto const* dense = std::get_if<tacit::dense_strategy>(&c)) return dense->columns;
  if (auto const* tree = std::get_if<tacit::tree_strategy>(&c)) return tree->steps;
  return std::get<tacit::toeplitz_strategy>(c).steps;
}

// What an error costs, in multiplications.
double error_work(tacit::toeplitz_strategy const& c) {
  return static_cast<double>(c.steps) * static_cast<double>(c.coefficients.size());
}
double error_work(tacit::tree_strategy const& c) { return static_cast<double>(c.steps); }
double error_work(tacit::dense_strategy const& c) {
  double const n = static_cast<double>(c.columns);
  return n * n * n / 6.0;
}

std::pair<any_strategy, std::string> read_table(arguments const& of) {
  std::string const& file = of.text("--table");
  of.must_be_left_out({"--strategy", "--bands", "--restart", "--buffers"},
                      "where --table is given");
  std::vector<double> entries;
  std::size_t rows = 0;
  visit_rows(file, [&](std::size_t, std::span<double const> row) {
    entries.insert(entries.end(), row.begin(), row.end());
    ++rows;
  });
  std::size_t const columns = entries.size() / rows;
  if (rows == 1) {
    std::uint64_t const steps = of.whole("--steps");
    if (columns > steps) {
      throw bad_input(file + ": " + has(columns, "coefficient") + ", but must have at most " +
                      std::to_string(steps) + ", the --steps");
    }
    return {tacit::toeplitz_strategy{std::move(entries), steps},
            "a Toeplitz strategy of " + std::to_string(columns) + " bands"};
  }
  of.must_be_left_out({"--steps"}, "where --table has the whole matrix");
  if (rows != columns) {
    throw bad_input(file + ": " + has(rows, "row") + ", but must have " + std::to_string(columns) +
                    ", as many as columns, or 1");
  }
  return {tacit::dense_strategy{std::move(entries), columns}, "the strategy of " + file};
}

constexpr std::size_t most_buffers = 20;  // each step costs as many multiplications

// A buffer a line: its decay and its scale.
std::vector<tacit::noise_buffer> read_buffers(std::string const& file) {
  std::vector<tacit::noise_buffer> all;
  auto const names = [&](std::size_t line, std::span<std::string_view const> called) {
    if (called.size() == 2 && called[0] == "decay" && called[1] == "scale") return;
    refuse_line(file, line, "names other columns, but they must be decay, scale");
  };
  auto const visit = [&](std::size_t line, std::span<double const> row) {
    if (row.size() != 2) {
      refuse_line(file, line, has(row.size(), "column") + ", but must have 2: decay, scale");
    }
    if (!(row[0] >= 0.0 && row[0] <= 1.0)) {
      refuse_line(file, line, "the decay is " + exactly(row[0]) + ", but must be in [0, 1]");
    }
    if (!(row[1] >= 0.0)) {
      refuse_line(file, line, "the scale is " + exactly(row[1]) + ", but must be at least 0");
    }
    if (all.size() == most_buffers) {
      refuse_line(file, line,
                  "is one buffer more than " + std::to_string(most_buffers) +
                      ", but there must be at most so many");
    }
    all.push_back({row[0], row[1]});
  };
  visit_rows(file, visit, names);
  return all;
}

std::pair<any_strategy, std::string> read_strategy(arguments const& of) {
  if (of.given("--table")) return read_table(of);
  std::string const word = of.text("--strategy");
  if (word != "buffered") of.must_be_left_out({"--buffers"}, "unless --strategy is buffered");
  std::uint64_t const steps = of.whole("--steps");
  if (word == "buffered") {
    of.must_be_left_out({"--bands"}, "unless --strategy is square-root");
    of.must_be_left_out({"--restart"}, "unless --strategy is tree");
    std::vector<tacit::noise_buffer> const buffers = read_buffers(of.text("--buffers"));
    tacit::toeplitz_strategy found = tacit::buffered_strategy(buffers, steps);
    if (!std::all_of(found.coefficients.begin(), found.coefficients.end(),
                     [](double c) { return std::isfinite(c); })) {
      throw bad_input(of.text("--buffers") + ": the scales add up to no finite number");
    }
    return {std::move(found),
            "a buffered Toeplitz strategy of " + has(buffers.size(), "buffer").substr(4)};
  }
  if (word == "tree") {
    of.must_be_left_out({"--bands"}, "unless --strategy is square-root");
    std::uint64_t const restart = of.whole("--restart", 0);
    return {
        tacit::tree_strategy{steps, restart},
        restart == 0 ? "a binary tree" : "binary trees of " + std::to_string(restart) + " steps"};
  }
  of.must_be_left_out({"--restart"}, "unless --strategy is tree");
  if (word == "identity") {
    of.must_be_left_out({"--bands"}, "unless --strategy is square-root");
    return {tacit::identity_strategy(steps), "independent noise"};
  }
  std::uint64_t const bands = of.whole("--bands", steps);
  if (bands > steps) of.refuse("--bands", "a whole number in [1, " + std::to_string(steps) + "]");
  return {tacit::square_root_strategy(steps, bands),
          "the square root of prefix sums in " + std::to_string(bands) + " bands"};
}

std::pair<any_sampling, std::string> read_participation(arguments const& of) {
  if (of.given("--groups")) {
    of.must_be_left_out({"--bins", "--separation", "--participations", "--apart", "--nested"},
                        "where --groups is given");
    tacit::cyclic_poisson const how{of.whole("--groups"), of.number("--rate")};
    return {how, "cyclic Poisson samples of rate " + exactly(how.rate) + " in " +
                     std::to_string(how.groups) + (how.groups == 1 ? " group" : " groups")};
  }
  if (of.given("--bins")) {
    of.must_be_left_out({"--separation", "--participations", "--rate"}, "where --bins is given");
    std::string const all = std::to_string(of.whole("--bins"));
    if (of.given("--nested")) {
      of.must_be_left_out({"--apart"}, "where --nested is given");
      return {tacit::nested_bins{of.whole("--bins")},
              "every record in one of " + all + " bins, at random, all of which stay secret"};
    }
    tacit::balls_in_bins const how{of.whole("--bins"), of.whole("--apart", 0)};
    std::string const left =
        how.apart == 0 ? ""
                       : ", of which those " + std::to_string(how.apart) + " apart stay secret";
    return {how, "every record in one of " + all + " bins, at random" + left};
  }
  of.must_be_left_out({"--apart", "--nested"}, "unless --bins is given");
  if (of.given("--rate")) {
    of.must_be_left_out({"--participations"}, "where --rate is given");
    if (!of.given("--separation")) {
      of.refuse("--separation", of.must_be("--separation") + ", or --groups be given");
    }
    tacit::separated_poisson const how{of.whole("--separation"), of.number("--rate")};
    return {how, "Poisson samples of rate " + exactly(how.rate) + " that keep a distance of " +
                     std::to_string(how.separation)};
  }
  if (!of.given("--separation") && !of.given("--participations")) {
    of.refuse("--participations",
              of.must_be("--participations") + ", or --separation, --groups or --bins be given");
  }
  std::uint64_t const separation = of.whole("--separation", 1);
  std::uint64_t const most = of.whole("--participations", largest_count);
  std::string words = "every record in ";
  words += of.given("--participations") ? "at most " + has(most, "step").substr(4) : "any steps";
  if (separation > 1) words += " that are at least " + std::to_string(separation) + " apart";
  return {tacit::min_separation{separation, most}, words};
}

}  // namespace

std::vector<composed> matrix_plan::releases(double noise_multiplier) const {
  if (by_divergences) {
    try {
      return by_divergences(noise_multiplier);
    } catch (std::logic_error const& refused) {
      throw bad_input(refused.what());
    }
  }
  std::vector<composed> out = with_unit_noise;
  for (composed& entry : out) {
    if (auto* whole = std::get_if<tacit::matrix_gaussian>(&entry.release.what)) {
      whole->noise_multiplier = noise_multiplier;
    } else {
      double& each = std::get<tacit::gaussian>(entry.release.what).noise_multiplier;
      each = tacit::detail::multiply_down(each, noise_multiplier);
    }
  }
  return out;
}

void declare_matrix_plan(arguments& of) {
  std::uint64_t const most = tacit::toeplitz_strategy::most_steps;
  of.add("--strategy", one_of({"identity", "square-root", "tree", "buffered"}),
         "needed unless --table is given: the matrix C of a run that releases Cx + noise; identity "
         "is independent noise, buffered is BLT");
  of.add("--bands", whole(1, most),
         "of the square root: coefficients beyond are 0; all are kept unless given");
  of.add("--restart", whole(1, most), "of the tree: a new one begins after so many steps");
  of.add(
      "--buffers", input_file("a table of decays in [0, 1] and scales of at least 0"),
      "of buffered: a line 'decay, scale' for each buffer; C has the coefficients 1 and, t steps "
      "later, the sum of scale * decay^(t-1)");
  of.add("--table", input_file("a table of comma-separated numbers"),
         "in place of --strategy: C row by row, or one row with the coefficients of a Toeplitz "
         "matrix");
  of.add("--steps", whole(1, most), "needed unless --table has the whole matrix");
  of.add("--participations", whole(1, largest_count),
         "a record takes part in at most so many steps; or");
  of.add(
      "--separation", whole(1, largest_count),
      "in steps at least so far apart, which do not depend on other records; or both; with --rate, "
      "each of these steps takes it with this probability (b-min-sep); or");
  of.add("--groups", whole(1, largest_count),
         "each record belongs to one of so many groups, which take turns, and takes part");
  of.add("--rate", probability(), "with this probability (cyclic Poisson); or");
  of.add("--bins", whole(1, tacit::random_allocation::most_steps),
         "it draws one of so many bins, and takes part in step bin, bin + bins, ...");
  of.add("--apart", whole(1, tacit::random_allocation::most_steps),
         "with --bins, for any matrix: a divisor of the bins; bins so far apart stay secret, the "
         "others count as known; at least the bands, unless given");
  of.add_flag("--nested",
              "with --bins, for any matrix but a tree: none of the bins counts as known; by Renyi "
              "divergences");
  of.add("--records-per-person", whole(1, 1'000'000),
         "protect a person with up to this many records, all in one group; 1 unless given");
}

matrix_plan read_matrix_plan(arguments const& of, tacit::adjacency neighbours) {
  if (!of.given("--table") && !of.given("--strategy")) {
    of.refuse("--strategy", of.must_be("--strategy") + ", or --table be given");
  }
  auto const [strategy, strategy_words] = read_strategy(of);
  auto const [how, how_words] = read_participation(of);
  std::uint64_t const persons = of.whole("--records-per-person", 1);
  matrix_plan out;
  try {
    std::visit(
        [&](auto const& c, auto const& sampling) {
          if constexpr (std::decay_t<decltype(sampling)>::by_divergences) {
            out.by_divergences = [c, sampling, neighbours](double noise) {
              return matrix_run(c, noise, sampling, neighbours);
            };
          } else {
            out.with_unit_noise = matrix_run(c, 1.0, sampling);
          }
          if (error_work(c) <= 1e9) out.error = prefix_error(c);
        },
        strategy, how);
  } catch (std::logic_error const& error) {
    throw bad_input(error.what());
  }
  auto const* bins = std::get_if<tacit::balls_in_bins>(&how);
  bool const in_bins = bins != nullptr && bins->apart == 0;
  bool const hidden = std::any_of(
      out.with_unit_noise.begin(), out.with_unit_noise.end(), [](composed const& entry) {
        auto const* epoch = std::get_if<tacit::random_allocation>(&entry.release.how);
        return epoch != nullptr && epoch->steps > 1;
      });
  if (persons > 1 && (out.by_divergences || hidden)) {
    throw bad_input(
        "matrix_run: no bound is implemented for several records a person in bins, or in samples "
        "that keep a distance");
  }
  for (composed& entry : out.with_unit_noise) {
    entry.release = by_person(entry.release, persons);
  }
  out.words =
      std::to_string(steps_of(strategy)) + " steps, " + strategy_words + ", " + how_words +
      (in_bins && !hidden ? " (which hides nothing, as no smaller divisor of the bins is at "
                            "least the bands)"
                          : "") +
      (persons == 1 ? "" : ", persons of up to " + std::to_string(persons) + " records");
  return out;
}

}  // namespace calculator
