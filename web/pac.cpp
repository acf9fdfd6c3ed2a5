// SPDX-License-Identifier: Apache-2.0
//
// How much noise, and of which shape, the output of a program needs, from a table of its outputs:
// {"ask": "pac", "rows": [[…], …], "rows_are": "candidates" or "samples", "method": …, "budget": nats,
// "shape": "full" or "diagonal"; "floor" for samples, and "output_norm", "c", "slack" for the method auto}
#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/auto_pac.hpp>
#include <tacit/pac/candidate_noise.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/covariance.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/moments.hpp>

#include "questions.hpp"

#include <Eigen/Core>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace page {

namespace {

using tacit::noise_shape;

/// A covariance of more columns is not for reading, and an eigenvalue problem of seconds.
constexpr std::size_t most_columns = 200;

Eigen::MatrixXd read_rows(json const& question) {
  auto const rows = question.find("rows");
  if (rows == question.end() || !rows->is_array() || rows->empty()) {
    refuse(question, "rows", "a table of numbers, one output a row");
  }
  std::size_t const columns = rows->front().is_array() ? rows->front().size() : 0;
  tacit::detail::require_argument(columns >= 1 && columns <= most_columns, "table", "columns",
                                  columns, "in [1, " + std::to_string(most_columns) + "]");
  Eigen::MatrixXd out(static_cast<Eigen::Index>(rows->size()), static_cast<Eigen::Index>(columns));
  for (std::size_t i = 0; i < rows->size(); ++i) {
    json const& row = (*rows)[i];
    std::string const which = "row " + std::to_string(i + 1) + " of rows is ";
    if (!row.is_array() || row.size() != columns) {
      throw std::invalid_argument(which + "of another length, but must be of " +
                                  std::to_string(columns) + " numbers, as the first is");
    }
    for (std::size_t j = 0; j < columns; ++j) {
      if (!row[j].is_number()) {
        throw std::invalid_argument(which + row.dump().substr(0, 60) + ", but must be numbers");
      }
      out(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = row[j].get<double>();
    }
  }
  return out;
}

json described(tacit::gaussian_noise const& noise) {
  Eigen::MatrixXd const covariance = noise.covariance_from_above();
  json rows = json::array();
  for (Eigen::Index i = 0; i < covariance.rows(); ++i) {
    json row = json::array();
    for (Eigen::Index j = 0; j < covariance.cols(); ++j) row.push_back(covariance(i, j));
    rows.push_back(std::move(row));
  }
  return {{"trace", upper_end(covariance.trace())}, {"covariance", std::move(rows)}};
}

json for_candidates(json const& question, std::string const& method, noise_shape shape,
                    tacit::nats budget) {
  tacit::candidate_outputs const outputs(read_rows(question));
  auto const found = [&]() -> tacit::calibrated<tacit::mi_bound> {
    if (method == "log-det") return tacit::log_det(outputs, budget, shape);
    if (method == "efficient") return tacit::efficient_pac(outputs, budget);
    if (method == "candidates") return tacit::least_trace(outputs, budget, shape);
    refuse(question, "method", "candidates, log-det or efficient where rows are candidates");
  }();
  json out = described(found.noise);
  out["bound"] = upper_end(found.information.value.value);
  return out;
}

json for_samples(json const& question, std::string const& method, noise_shape shape,
                 tacit::nats budget) {
  Eigen::MatrixXd const rows = read_rows(question);
  double const floor =
      question.contains("floor") ? number(question, "floor", "finite and at least 0") : 0.0;
  auto const dimension = static_cast<std::size_t>(rows.cols());
  auto const found = [&]() -> tacit::calibrated<tacit::mi_estimate> {
    if (method == "efficient" || (method == "log-det" && shape == noise_shape::diagonal)) {
      tacit::diagonal_moments seen(dimension);
      seen.observe_rows(rows);
      return method == "efficient" ? tacit::efficient_pac(seen, budget, floor)
                                   : tacit::log_det(seen, budget, floor);
    }
    tacit::output_moments seen(dimension);
    seen.observe_rows(rows);
    if (method == "log-det") return tacit::log_det(seen, budget, floor);
    if (method != "auto") {
      refuse(question, "method", "log-det, efficient or auto where rows are samples");
    }
    tacit::nats const slack(number(question, "slack", "positive and finite"));
    if (!(slack.value < budget.value)) refuse(question, "slack", "positive and below the budget");
    return tacit::auto_pac(seen,
                           {.output_norm = number(question, "output_norm", "positive and finite"),
                            .c = number(question, "c", "positive and finite"),
                            .v = tacit::nats(budget.value - slack.value),
                            .slack = slack});
  }();
  json out = described(found.noise);
  out["estimate"] = upper_end(found.information.value.value);
  return out;
}

}  // namespace

json pac_noise(json const& question) {
  std::string const are = word(question, "rows_are");
  std::string const method = word(question, "method");
  std::string const shape = word(question, "shape");
  if (shape != "full" && shape != "diagonal") refuse(question, "shape", "full or diagonal");
  noise_shape const form = shape == "full" ? noise_shape::full : noise_shape::diagonal;
  if (method == "efficient" && form == noise_shape::full) {
    refuse(question, "shape", "diagonal with the method efficient");
  }
  if (method == "auto" && form == noise_shape::diagonal) {
    refuse(question, "shape", "full with the method auto");
  }
  tacit::nats const budget(number(question, "budget", "positive and finite"));
  if (are == "candidates") return for_candidates(question, method, form, budget);
  if (are != "samples") refuse(question, "rows_are", "candidates or samples");
  return for_samples(question, method, form, budget);
}

}  // namespace page
