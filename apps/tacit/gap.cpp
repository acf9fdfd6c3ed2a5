// SPDX-License-Identifier: Apache-2.0
//
// How far noised outputs are from normal, and so the information below the log-det.

#include <tacit/core/check.hpp>
#include <tacit/pac/gap/study.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/row_digest.hpp>

#include "json_text.hpp"
#include "matrix.hpp"
#include "output/text_file.hpp"
#include "verbs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace calculator {

using nlohmann::json;
using tacit::gaussian_noise;

namespace {

arguments::words<tacit::gap_axes> const choices{{"independent", tacit::gap_axes::independent},
                                                {"principal", tacit::gap_axes::principal},
                                                {"random", tacit::gap_axes::random}};

void declare_gap(arguments& of) {
  of.add("OUTPUTS", input_file("a table of comma-separated numbers"),
         "needed: noiseless outputs of independently sampled datasets, one a row");
  of.add("--noise", input_file("what tacit calibrate --json printed, or a table"),
         "needed: its covariance, or one row of variances");
  of.add("--axes", one_of({"independent", "principal", "random"}),
         "along which outputs are compared with the normal; independent components unless given");
  of.add("--confidence", open_probability(), "of what is certified; 0.95 unless given");
  of.add("--radius", positive(),
         "no output of any dataset is longer, as by clipping: certify the information too");
  of.add("--seed", whole(0, UINT64_MAX), "public: halves, draws, axes; 1 unless given");
}

// ---- the noise ----------------------------------------------------------------------------------

struct stated_noise {
  gaussian_noise noise;
  std::vector<std::uint64_t> calibrated_on;  // the rows' digests, in order; may be empty
};

double number_in(std::string const& file, std::string const& name, json const& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    throw bad_input(file + ": " + name + " is " + value.dump().substr(0, 40) +
                    ", but must be a finite number");
  }
  return value.get<double>();
}

json const& list_in(std::string const& file, std::string const& name, json const& value) {
  if (!value.is_array() || value.empty()) {
    throw bad_input(file + ": " + name + " is " + value.dump().substr(0, 40) +
                    ", but must be a list");
  }
  return value;
}

gaussian_noise of_variances(Eigen::VectorXd const& variances, std::string const& file) {
  if (!(variances.minCoeff() > 0.0)) {
    throw bad_input(file + ": the least variance is " + exactly(variances.minCoeff()) +
                    ", but must be positive");
  }
  return gaussian_noise::diagonal(variances);
}

stated_noise read_json(std::string const& file, std::string const& text) {
  json const stated = parse_json(file, text);
  std::vector<std::uint64_t> on;
  if (stated.contains("calibrated_on")) {
    for (json const& digest : list_in(file, "calibrated_on", stated["calibrated_on"])) {
      if (!digest.is_string()) {
        throw bad_input(file + ": calibrated_on has " + digest.dump().substr(0, 40) +
                        ", but must be a list of names of rows");
      }
      auto const name = read_digest(digest.get<std::string>());
      if (!name) {
        throw bad_input(file + ": calibrated_on has " + digest.dump().substr(0, 40) +
                        ", but must be a list of names of rows, of 16 hexadecimal digits each");
      }
      on.push_back(*name);
    }
    std::sort(on.begin(), on.end());
  }
  if (stated.contains("variances")) {
    json const& list = list_in(file, "variances", stated["variances"]);
    Eigen::VectorXd variances(std::ssize(list));
    for (Eigen::Index i = 0; i < variances.size(); ++i) {
      auto const at = static_cast<std::size_t>(i);
      variances(i) = number_in(file, "variances[" + std::to_string(i) + "]", list[at]);
    }
    return {of_variances(variances, file), on};
  }
  if (!stated.contains("covariance")) {
    throw bad_input(file + ": covariance is missing, and variances too, but one must be there");
  }
  json const& rows = list_in(file, "covariance", stated["covariance"]);
  Eigen::MatrixXd covariance(std::ssize(rows), std::ssize(rows));
  for (Eigen::Index i = 0; i < covariance.rows(); ++i) {
    std::string const name = "covariance[" + std::to_string(i) + "]";
    json const& row = list_in(file, name, rows[static_cast<std::size_t>(i)]);
    if (row.size() != rows.size()) {
      throw bad_input(file + ": " + name + " has " + std::to_string(row.size()) +
                      " entries, but must have " + std::to_string(rows.size()));
    }
    for (Eigen::Index j = 0; j < covariance.cols(); ++j) {
      auto const at = static_cast<std::size_t>(j);
      covariance(i, j) = number_in(file, name + "[" + std::to_string(j) + "]", row[at]);
    }
  }
  return {tacit::noise_below(covariance), on};
}

stated_noise read_noise(std::string const& file) {
  std::string text;
  try {
    text = apps::read_text(file);
  } catch (std::runtime_error const& error) {
    throw bad_input(file + ": cannot be read: " + error.what());
  }
  std::size_t const begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '{') return read_json(file, text);
  std::istringstream in(text);
  Eigen::MatrixXd const table = read_matrix(file, in);
  if (table.rows() == 1) return {of_variances(table.row(0).transpose(), file), {}};
  if (table.rows() != table.cols()) {
    throw bad_input(file + ": " + has(static_cast<std::size_t>(table.rows()), "row") + " and " +
                    std::to_string(table.cols()) +
                    " columns, but must have one row, or as many as columns");
  }
  return {tacit::noise_below(table), {}};
}

// ---- the outputs --------------------------------------------------------------------------------

struct sample {
  Eigen::MatrixXd rows;
  bool chose_noise = false;  // any of them
};

sample read_sample(arguments const& of, stated_noise const& stated) {
  std::string const& file = of.text("OUTPUTS");
  double const radius = of.number("--radius", std::numeric_limits<double>::max());
  std::vector<double> entries;
  Eigen::Index count = 0;
  sample out;
  visit_rows(file, [&](std::size_t line, std::span<double const> row) {
    double const length =
        Eigen::Map<Eigen::VectorXd const>(row.data(), std::ssize(row)).stableNorm();
    if (!(length <= radius)) {
      refuse_line(file, line,
                  "the length of the output is " + exactly(length) +
                      ", but must be at most --radius, " + exactly(radius));
    }
    entries.insert(entries.end(), row.begin(), row.end());
    ++count;
    out.chose_noise |= std::binary_search(stated.calibrated_on.begin(), stated.calibrated_on.end(),
                                          tacit::row_digest(row));
  });
  out.rows = Eigen::Map<Eigen::MatrixXd const>(entries.data(), std::ssize(entries) / count, count)
                 .transpose();
  return out;
}

// ---- the answer ---------------------------------------------------------------------------------

answer answer_of(tacit::gap_study const& found, double confidence) {
  double const log_det = found.log_det.value;
  double const left = found.information.value.value;
  double const published = found.sliced_wasserstein.value.value;
  double const wasserstein = found.wasserstein.value.value;
  double const marginal = found.marginal.value.value;
  double const shown = found.donsker_varadhan.value.value;
  answer out{"an estimated " + rounded_up(left) + " nats are revealed: log-det gives " +
                 rounded_up(log_det) + ", and is too high by an estimated " +
                 rounded_down(published) + " (published correction), " + rounded_down(wasserstein) +
                 " (Wasserstein), " + rounded_down(marginal) + " (marginal) or " +
                 rounded_down(shown) + " (Donsker-Varadhan)",
             {{"mi_estimate", left},
              {"estimates",
               {{"log_det", log_det},
                {"sliced_wasserstein", published},
                {"wasserstein", wasserstein},
                {"marginal", marginal},
                {"donsker_varadhan", shown}}}}};
  if (found.rows_repeated > 0) {
    out.json["rows_repeated"] = found.rows_repeated;
    out.sentence += "; rows that are equal count once, and " + std::to_string(found.rows_repeated) +
                    " repeat others";
  }
  if (!found.certified) {
    out.sentence += "; nothing is certified: " + std::to_string(found.rows_that_chose) +
                    " of these rows chose the noise";
    return out;
  }
  double const gap = found.certified->gap.value;
  out.json["gap_certified"] = gap;
  out.sentence += "; certified with confidence " + exactly(confidence) + ": at least " +
                  rounded_down(gap) + " nats from a normal fitted before";
  if (found.certified->revealed) {
    auto const& by = *found.certified->revealed;
    double const revealed = by.least().value.value;
    out.json["mi_bound"] = revealed;
    out.json["mi_bounds"] = {{"normal", by.by_normal.value.value},
                             {"mixture", by.by_mixture.value.value}};
    out.sentence += ", and at most " + rounded_up(revealed) + " nats revealed about the dataset";
  }
  out.json["confidence"] = confidence;
  return out;
}

// What the library refuses, it refuses because of a file.
template <class Use>
auto with_file(std::string const& file, Use const& use) {
  try {
    return use();
  } catch (tacit::infeasible const& error) {
    throw bad_input(file + ": " + error.what());
  } catch (std::logic_error const& error) {
    throw bad_input(file + ": " + error.what());
  }
}

answer run_gap(arguments const& of) {
  std::string const& file = of.text("OUTPUTS");
  std::string const& noise_file = of.text("--noise");
  stated_noise const stated = with_file(noise_file, [&] { return read_noise(noise_file); });
  sample const seen = read_sample(of, stated);
  auto const columns = static_cast<std::size_t>(seen.rows.cols());
  if (stated.noise.dimension() != columns) {
    throw bad_input(noise_file + ": the noise " + has(stated.noise.dimension(), "dimension") +
                    ", but must have " + std::to_string(columns) + ", the columns of " + file);
  }
  if (seen.chose_noise) {
    of.must_be_left_out(
        {"--radius", "--confidence"},
        "where some of these rows chose the noise: nothing can be certified by them");
  }
  tacit::gap_study_options options{
      .axes = of.choice("--axes", choices, tacit::gap_axes::independent),
      .confidence = of.number("--confidence", 0.95),
      .seed = of.whole("--seed", 1),
      .chose_noise = stated.calibrated_on};
  if (of.given("--radius")) options.radius = of.number("--radius");
  return with_file(file, [&] {
    return answer_of(tacit::study_gap(seen.rows, stated.noise, options), options.confidence);
  });
}

}  // namespace

verb gap() {
  return {
      "gap", "How far is the information in noisy outputs below the log-det bound?",
      R"(Log-det would be the truth if Z = output + noise were normal. "estimates" has log-det and
estimates of its excess: the published sliced Wasserstein figure, its sum over orthonormal axes, the sum of
marginal divergences, and a critic on rows that it was not trained on. None of them is a bound.
Half of the rows, chosen by the seed, fit a normal and a critic; the other half certify, all together
with the confidence, that Z is so far from that normal ("gap_certified"; the normal is the fitted one, so
log-det less this is no bound) and, with --radius, what is revealed ("mi_bound", the smaller of two). This needs
independent rows, and a noise that was chosen without them: where "calibrated_on" names any of them, nothing is
certified. Rows that are equal count once. Where there are any, all rows are scored as well, and the worse
figure is given: it holds for copies of independent outputs that are never equal by chance, and for
independent outputs that may be.)",
      declare_gap, run_gap};
}

}  // namespace calculator
