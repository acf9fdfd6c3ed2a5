// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/moments.hpp>

#include "support/catch.hpp"
#include "support/normals.hpp"
#include "support/numbers.hpp"

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using tacit::diagonal_moments;
using tacit::output_moments;

Eigen::MatrixXd offset_rows(Eigen::Index n, Eigen::Index d, unsigned seed, double offset = 0.0) {
  Eigen::MatrixXd rows = normals(n, d, seed).array() + offset;
  for (Eigen::Index j = 1; j < d; ++j)
    rows.col(j) += 0.5 * (rows.col(j - 1).array() - offset).matrix();
  return rows;
}

std::vector<double> row(Eigen::MatrixXd const& rows, Eigen::Index i) {
  std::vector<double> out;
  for (Eigen::Index j = 0; j < rows.cols(); ++j) out.push_back(rows(i, j));
  return out;
}

// Two passes, in a wider type.
Eigen::MatrixXd naive_covariance(Eigen::MatrixXd const& rows, Eigen::VectorXd const& weights) {
  using wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  wide const y = rows.cast<long double>();
  Eigen::Matrix<long double, Eigen::Dynamic, 1> const w = weights.cast<long double>();
  wide const centred = y.rowwise() - (w.transpose() * y / w.sum()).eval().row(0);
  wide const scatter = centred.transpose() * w.asDiagonal() * centred;
  return (scatter / (w.sum() - w.squaredNorm() / w.sum())).cast<double>();
}

double distance(Eigen::MatrixXd const& a, Eigen::MatrixXd const& b) {
  return (a - b).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() / b.cwiseAbs().maxCoeff();
}

std::string message_of(auto&& call) {
  try {
    call();
  } catch (std::exception const& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEMPLATE_TEST_CASE("one by one, in rows, and merged, the moments are the same", "", output_moments,
                   diagonal_moments) {
  for (double const offset : {0.0, 1e8}) {
    for (bool const weighted : {false, true}) {
      Eigen::MatrixXd const rows = offset_rows(3001, 7, 1, offset);
      Eigen::VectorXd weights = Eigen::VectorXd::Ones(rows.rows());
      if (weighted) weights = offset_rows(rows.rows(), 1, 2).cwiseAbs2();
      weights(17) = weighted ? 0.0 : 1.0;

      TestType one_by_one(7);
      for (Eigen::Index i = 0; i < rows.rows(); ++i) one_by_one.observe(row(rows, i), weights(i));
      TestType in_rows(7);
      TestType merged(7);
      Eigen::Index const half = 1200;
      TestType other(7);
      if (weighted) {
        in_rows.observe_rows(rows, weights);
        merged.observe_rows(rows.topRows(half), weights.head(half));
        other.observe_rows(rows.bottomRows(rows.rows() - half), weights.tail(rows.rows() - half));
      } else {
        in_rows.observe_rows(rows);
        merged.observe_rows(rows.topRows(half));
        other.observe_rows(rows.bottomRows(rows.rows() - half));
      }
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> const row_by_row =
          rows;
      TestType in_pieces(7);
      if (weighted) {
        in_pieces.observe_rows(row_by_row, weights);
      } else {
        in_pieces.observe_rows(row_by_row);
      }
      TestType merged_into_nothing(7);
      merged_into_nothing.merge(merged);
      merged_into_nothing.merge(other);
      merged_into_nothing.merge(TestType(7));

      Eigen::MatrixXd const covariance = naive_covariance(rows, weights);
      Eigen::VectorXd const mean = (rows.transpose() * weights) / weights.sum();
      // The offset itself has rounded the rows; about it, nothing more may be lost.
      for (auto const* moments : {&one_by_one, &in_rows, &in_pieces, &merged_into_nothing}) {
        CHECK(moments->count() == (weighted ? 3000 : 3001));
        CHECK(moments->effective_count() ==
              Approx(weights.sum() * weights.sum() / weights.squaredNorm()).epsilon(1e-12));
        CHECK((moments->mean() - mean).cwiseAbs().maxCoeff() < 1e-13 * (1.0 + offset));
        CHECK(distance(moments->variances(), covariance.diagonal()) < 1e-8 * (offset > 0) + 1e-13);
        if constexpr (std::is_same_v<TestType, output_moments>) {
          CHECK(distance(moments->covariance(), covariance) < 1e-8 * (offset > 0) + 1e-13);
        }
      }
    }
  }
}

TEST_CASE("a large offset costs no digits") {
  // Exact in double: offset + k/4.
  Eigen::MatrixXd rows(4096, 2);
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    rows(i, 0) = 1e8 + 0.25 * static_cast<double>(i % 5);
    rows(i, 1) = -1e12 + 0.25 * static_cast<double>(i * 7 % 11);
  }
  Eigen::MatrixXd plain = rows;
  plain.col(0).array() -= 1e8;
  plain.col(1).array() += 1e12;
  output_moments near(2);
  near.observe_rows(plain);
  output_moments in_rows(2);
  in_rows.observe_rows(rows);
  output_moments one_by_one(2);
  for (Eigen::Index i = 0; i < rows.rows(); ++i) one_by_one.observe(row(rows, i));
  CHECK(distance(in_rows.covariance(), near.covariance()) < 1e-9);
  CHECK(distance(one_by_one.covariance(), near.covariance()) <
        1e-4);  // the running mean is at 1e12
  CHECK(std::abs(one_by_one.variances()(0) / near.variances()(0) - 1.0) < 1e-9);
}

TEST_CASE("one of each is a variance of a half of the square") {
  output_moments moments(1);
  moments.observe(std::vector{3.0});
  CHECK_THROWS_AS(moments.covariance(), std::invalid_argument);
  moments.observe(std::vector{5.0});
  CHECK(moments.covariance()(0, 0) == 2.0);
  CHECK(moments.mean()(0) == 4.0);
  output_moments alike(3);
  alike.observe_rows(Eigen::MatrixXd::Constant(100, 3, 0.1));
  CHECK(alike.covariance() == Eigen::MatrixXd::Zero(3, 3));
}

TEST_CASE("weights: their scale does not matter, vanishing ones are refused") {
  Eigen::MatrixXd const rows = offset_rows(50, 3, 4);
  Eigen::VectorXd const weights = offset_rows(50, 1, 5).cwiseAbs();
  output_moments plain(3);
  plain.observe_rows(rows, weights);
  output_moments tiny(3);
  tiny.observe_rows(rows, 1e-100 * weights);
  CHECK(distance(tiny.covariance(), plain.covariance()) < 1e-13);
  output_moments vanishing(3);
  vanishing.observe_rows(rows, 1e-200 * weights);
  CHECK_THROWS_AS(vanishing.covariance(), std::domain_error);  // W₂ has underflowed

  output_moments alone(3);
  alone.observe(row(rows, 0), 1.0);
  alone.observe(row(rows, 1), 1e-30);
  CHECK_THROWS_AS(alone.covariance(), std::invalid_argument);
  CHECK_THROWS_AS(alone.observe(row(rows, 2), -1.0), std::domain_error);
  CHECK_THROWS_AS(alone.observe(row(rows, 2), not_a_number), std::domain_error);
  CHECK_THROWS_AS(alone.observe(row(rows, 2), infinity), std::domain_error);
  CHECK(alone.count() == 2);
}

TEMPLATE_TEST_CASE("a row that is not finite is refused by name, and nothing is observed", "",
                   output_moments, diagonal_moments) {
  for (double const bad : {not_a_number, infinity, -infinity}) {
    for (Eigen::Index const at : {0, 1500, 2999}) {
      Eigen::MatrixXd rows = offset_rows(3000, 100, 6);
      rows(at, 42) = bad;
      TestType moments(100);
      std::string const complaint = message_of([&] { moments.observe_rows(rows); });
      CHECK(complaint.find("row " + std::to_string(at) + " is") != std::string::npos);
      Eigen::VectorXd weights = Eigen::VectorXd::Ones(rows.rows());
      weights(at) = 0.0;
      CHECK_THROWS_AS(moments.observe_rows(rows, weights), std::domain_error);
      CHECK_THROWS_AS(moments.observe_rows(rows, Eigen::VectorXd::Zero(rows.rows())),
                      std::domain_error);
      CHECK_THROWS_AS(moments.observe(row(rows, at)), std::domain_error);
      CHECK(moments.count() == 0);
      CHECK_THROWS_AS(moments.mean(), std::invalid_argument);
    }
  }
  TestType moments(2);
  CHECK_THROWS_AS(moments.observe(std::vector{1.0}), std::invalid_argument);
  CHECK_THROWS_AS(moments.observe_rows(Eigen::MatrixXd::Zero(3, 3)), std::invalid_argument);
  CHECK_THROWS_AS(moments.observe_rows(Eigen::MatrixXd::Zero(3, 2), Eigen::VectorXd::Ones(2)),
                  std::invalid_argument);
  CHECK_THROWS_AS(moments.merge(TestType(3)), std::invalid_argument);
  CHECK_THROWS_AS(TestType(0), std::invalid_argument);
  moments.observe_rows(Eigen::MatrixXd(0, 2));
  CHECK(moments.count() == 0);
  moments.observe(std::vector{1e200, 0.0});
  moments.observe(std::vector{-1e200, 0.0});
  CHECK_THROWS_AS(moments.variances(), std::domain_error);
}

TEMPLATE_TEST_CASE("runs of a black box", "", output_moments, diagonal_moments) {
  Eigen::MatrixXd const rows = offset_rows(1000, 5, 7);
  auto const run = [&](std::size_t i, std::span<double> out) {
    for (std::size_t j = 0; j < out.size(); ++j) {
      out[j] = rows(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
    }
  };
  TestType expected(5);
  expected.observe_rows(rows);
  TestType moments(5);
  observe_runs(moments, run, 300);
  TestType elsewhere(5);
  observe_runs(elsewhere, run, 700, 300);
  moments.merge(elsewhere);
  CHECK(moments.count() == 1000);
  CHECK(distance(moments.variances(), expected.variances()) < 1e-13);

  auto const bad = [&](std::size_t i, std::span<double> out) {
    run(i, out);
    if (i == 77) out[2] = not_a_number;
  };
  auto const forgetful = [&](std::size_t i, std::span<double> out) {
    run(i, i == 77 ? out.first(4) : out);
  };
  CHECK(message_of([&] { observe_runs(moments, bad, 200); }).find("run 77 is") !=
        std::string::npos);
  CHECK(message_of([&] { observe_runs(moments, forgetful, 200); }).find("run 77 is") !=
        std::string::npos);
  CHECK(moments.count() == 1000);
}

TEST_CASE("settled: no variance moves by more than tau") {
  auto run = [random = std::mt19937_64(8)](std::size_t, std::span<double> out) mutable {
    std::normal_distribution<double> normal;
    for (double& y : out) y = normal(random);
  };
  diagonal_moments rough(4);
  std::size_t const few = observe_until_settled(rough, run, {.tau = 0.1, .stride = 50});
  diagonal_moments fine(4);
  std::size_t const many = observe_until_settled(fine, run, {.tau = 1e-3, .stride = 50});
  CHECK(few < many);
  CHECK(fine.count() == many);
  CHECK(many % 50 == 0);
  CHECK((fine.variances().array() - 1.0).abs().maxCoeff() < 0.1);

  diagonal_moments never(4);
  CHECK_THROWS_AS(observe_until_settled(never, run, {.tau = 1e-12, .stride = 50, .most_runs = 500}),
                  tacit::convergence_error);
  CHECK(never.count() == 500);
  CHECK_THROWS_AS(observe_until_settled(never, run, {}), std::domain_error);
  CHECK_THROWS_AS(observe_until_settled(never, run, {.tau = 1.0, .stride = 1}),
                  std::invalid_argument);
  CHECK_THROWS_AS(observe_until_settled(never, run, {.tau = 1.0, .stride = 50, .most_runs = 99}),
                  std::invalid_argument);
}

TEST_CASE("a hundred thousand variances need no matrix") {
  std::size_t const d = 100'000;
  diagonal_moments moments(d);
  std::vector<double> output(d);
  for (int i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < d; ++j) output[j] = 1e6 + static_cast<double>(j) * (i - 2);
    moments.observe(output);
  }
  Eigen::VectorXd const variances = moments.variances();
  CHECK(variances(0) == 0.0);
  CHECK(variances(1) == Approx(2.5));
  CHECK(variances(99'999) == Approx(2.5 * 99'999.0 * 99'999.0));

  diagonal_moments runs(d);
  observe_runs(
      runs,
      [](std::size_t i, std::span<double> out) {
        for (std::size_t j = 0; j < out.size(); ++j) {
          out[j] = 1e6 + static_cast<double>(j) * (static_cast<double>(i) - 2.0);
        }
      },
      5);
  CHECK(((runs.variances() - variances).array() <= 1e-12 * variances.array()).all());
}

TEST_CASE("an output may be a vector, a row or an expression of Eigen's") {
  Eigen::MatrixXd rows(3, 2);
  rows << 1.0, 2.0, -0.5, 0.25, 3.0, -1.0;
  output_moments by_span(2);
  output_moments by_row(2);
  output_moments by_expression(2);
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    Eigen::VectorXd const y = rows.row(i);
    by_span.observe(std::span(y.data(), 2), 1.0 + static_cast<double>(i));
    by_row.observe(rows.row(i), 1.0 + static_cast<double>(i));
    by_expression.observe(0.5 * (y + y), 1.0 + static_cast<double>(i));
  }
  CHECK(by_row.covariance() == by_span.covariance());
  CHECK(by_expression.covariance() == by_span.covariance());
  CHECK_THROWS_AS(by_row.observe(Eigen::Vector3d(1.0, 2.0, 3.0)), std::invalid_argument);
  CHECK_THROWS_AS(by_row.observe(Eigen::Vector2d(1.0, std::nan(""))), std::domain_error);
  CHECK(by_row.count() == 3);
}
