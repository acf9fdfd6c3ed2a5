// SPDX-License-Identifier: Apache-2.0
#include <tacit/info/binary_channel.hpp>
#include <tacit/pac/auto_pac.hpp>
#include <tacit/pac/covariance.hpp>
#include <tacit/pac/noise_rules.hpp>

#include "support/catch.hpp"
#include "support/matrices.hpp"
#include "support/normals.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

using namespace tacit;
using support::exact;

Eigen::MatrixXd decaying_rows(Eigen::Index n, Eigen::Index d, unsigned seed, double decay = 0.7) {
  Eigen::MatrixXd rows = normals(n, d, seed);
  for (Eigen::Index j = 0; j < d; ++j) rows.col(j) *= std::pow(decay, static_cast<double>(j));
  return rows;
}

Eigen::MatrixXd random_axes(Eigen::Index d, unsigned seed) {
  return support::orthonormal(decaying_rows(d, d, seed, 1.0));
}

Eigen::VectorXd random_weights(Eigen::Index n, unsigned seed) {
  return decaying_rows(n, 1, seed).cwiseAbs2();
}

// Fifty digits, so that its own rounding decides nothing.
using exact_matrix = std::vector<std::vector<exact>>;

exact_matrix zeros(std::size_t d) { return exact_matrix(d, std::vector<exact>(d, exact(0))); }

exact log_determinant(exact_matrix a) {
  exact sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (!(a[k][k] > 0)) throw std::runtime_error("not positive definite");
    sum += log(a[k][k]);
    for (std::size_t i = k + 1; i < a.size(); ++i) {
      exact const f = a[i][k] / a[k][k];
      for (std::size_t j = k; j < a.size(); ++j) a[i][j] -= f * a[k][j];
    }
  }
  return sum;
}

// The square root S of the noise's law as drawn, and from it Sᵀ·S; or the matrix the class
// documents.
exact_matrix exact_noise(gaussian_noise const& noise, bool drawn) {
  std::size_t const d = noise.dimension();
  exact_matrix out = zeros(d);
  Eigen::VectorXd const& v = noise.variances();
  if (noise.along_coordinates()) {
    for (std::size_t i = 0; i < d; ++i) out[i][i] = v(static_cast<Eigen::Index>(i));
    return out;
  }
  exact const rest = drawn ? exact(sqrt(exact(noise.rest()))) : exact(noise.rest());
  for (std::size_t i = 0; i < d; ++i) out[i][i] = rest;
  for (Eigen::Index k = 0; k < v.size(); ++k) {
    exact const along = (drawn ? exact(sqrt(exact(v(k)))) : exact(v(k))) - rest;
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        out[i][j] += along * exact(noise.axes()(static_cast<Eigen::Index>(i), k)) *
                     exact(noise.axes()(static_cast<Eigen::Index>(j), k));
      }
    }
  }
  if (!drawn) return out;
  exact_matrix square = zeros(d);
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      for (std::size_t k = 0; k < d; ++k) square[i][j] += out[i][k] * out[j][k];
    }
  }
  return square;
}

exact_matrix exact_covariance(Eigen::MatrixXd const& rows, Eigen::VectorXd const& weights) {
  auto const d = static_cast<std::size_t>(rows.cols());
  auto const at = [&](Eigen::Index m, std::size_t j) {
    return exact(rows(m, static_cast<Eigen::Index>(j)));
  };
  exact total = 0;
  std::vector<exact> mean(d, exact(0));
  for (Eigen::Index m = 0; m < rows.rows(); ++m) {
    total += exact(weights(m));
    for (std::size_t j = 0; j < d; ++j) mean[j] += exact(weights(m)) * at(m, j);
  }
  for (exact& x : mean) x /= total;
  exact_matrix out = zeros(d);
  for (Eigen::Index m = 0; m < rows.rows(); ++m) {
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        out[i][j] += exact(weights(m)) / total * (at(m, i) - mean[i]) * (at(m, j) - mean[j]);
      }
    }
  }
  return out;
}

constexpr auto by_rule = tacit::certificate::log_det;

exact exact_log_det(exact_matrix const& covariance, gaussian_noise const& noise, bool drawn) {
  exact_matrix const b = exact_noise(noise, drawn);
  exact_matrix sum = b;
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) sum[i][j] += covariance[i][j];
  }
  return (log_determinant(sum) - log_determinant(b)) / 2;
}

// The certificate stands, for the law as documented and as drawn.
void check_certified(Eigen::MatrixXd const& rows, Eigen::VectorXd const& weights,
                     calibrated<mi_bound> const& found, double budget) {
  exact_matrix const covariance = exact_covariance(rows, weights);
  CHECK(found.information.confidence == 1.0);
  CHECK(found.information.value.value <= budget);
  for (bool const drawn : {false, true}) {
    CHECK(exact_log_det(covariance, found.noise, drawn) <= exact(found.information.value.value));
  }
}

}  // namespace

TEST_CASE("variances 4, 1, 1/4 at half a nat: the three traces") {
  Eigen::Vector3d const r(4.0, 1.0, 0.25);
  CHECK(log_det_variances(r, nats(0.5)).sum() == Approx(9.8408).margin(5e-5));
  CHECK(efficient_pac_variances(r, nats(0.5)).sum() == Approx(12.25).epsilon(1e-12));
  CHECK(proportional_variances(r, nats(0.5)).sum() == Approx(13.2706).margin(5e-5));
  // Proposition 2 as printed, at the multiplier that the first variance implies.
  Eigen::VectorXd const l = log_det_variances(r, nats(0.5));
  double const lambda = 2.0 * l(0) * (l(0) + r(0)) / r(0);
  for (Eigen::Index i = 0; i < 3; ++i) {
    CHECK(l(i) ==
          Approx((-r(i) + std::sqrt(r(i) * r(i) + 2.0 * lambda * r(i))) / 2.0).epsilon(1e-12));
  }
}

TEST_CASE("the rules behind Tables 2 and 3 of Residual-PAC") {
  // CIFAR-100 (d = 100) and MNIST (d = 10). The rows named Auto-PAC are trace/(e^{2β/d} − 1), those
  // named Efficient-PAC K/β with K = (Σ√r)²/2: two numbers a data set make all of them. The spectra
  // are not published; any that has both numbers must give those rows, and log-det less. Taken
  // here: one variance that differs from all others.
  struct data_set {
    Eigen::Index dimension;
    double trace;
    double k;
  };
  for (data_set const& set : {data_set{100, 1169.0, 12486.4}, data_set{10, 265.0, 934.2}}) {
    auto const d = static_cast<double>(set.dimension);
    double const roots = std::sqrt(2.0 * set.k);
    // x + (d−1)y = Σ√r and x² + (d−1)y² = trace.
    double const excess = (set.trace - roots * roots / d) * (d - 1.0) / d;
    double const first = roots / d + std::sqrt(excess);
    double const others = (roots - first) / (d - 1.0);
    Eigen::VectorXd r = Eigen::VectorXd::Constant(set.dimension, others * others);
    r(0) = first * first;
    REQUIRE(r.sum() == Approx(set.trace).epsilon(1e-12));
    for (double const beta : {4.0, 1.0, 0.5, 0.25, 0.0625, 1.0 / 128}) {
      double const proportional = proportional_variances(r, nats(beta)).sum();
      double const efficient = efficient_pac_variances(r, nats(beta)).sum();
      double const least = log_det_variances(r, nats(beta)).sum();
      CHECK(proportional == Approx(set.trace / std::expm1(2.0 * beta / d)).epsilon(1e-11));
      CHECK(efficient == Approx(set.k / beta).epsilon(1e-11));
      CHECK(least < efficient);
      CHECK(least < proportional);
    }
  }
}

TEST_CASE("log-det's noise fits the budget, spends it, and no other fits with less") {
  std::mt19937_64 random(1);
  for (double const beta : {1e-290, 1e-12, 1e-3, 0.5, 7.0, 50.0}) {
    for (Eigen::Index const d : {1, 2, 10, 300}) {
      Eigen::VectorXd r =
          random_weights(d, static_cast<unsigned>(d)).array() * std::pow(10.0, d % 7);
      if (d > 2) r(1) = 0.0;
      Eigen::VectorXd const noise = log_det_variances(r, nats(beta));
      exact information = 0;
      for (Eigen::Index i = 0; i < d; ++i) {
        if (r(i) == 0.0) {
          CHECK(noise(i) == 0.0);
          continue;
        }
        exact const x = exact(r(i)) / exact(noise(i));
        information += x < 1e-20 ? exact(x / 2) : exact(log(1 + x) / 2);
      }
      CHECK(information <= exact(beta));
      CHECK(information >= exact(beta) * (1 - exact(1e-12)));
      // Stationary: moving noise from one axis to another at equal information costs.
      for (int trial = 0; trial < 10 && d > 2; ++trial) {
        Eigen::Index const i = static_cast<Eigen::Index>(random() % static_cast<unsigned>(d));
        Eigen::Index const j = static_cast<Eigen::Index>(random() % static_cast<unsigned>(d));
        if (r(i) == 0.0 || r(j) == 0.0 || i == j) continue;
        auto const price = [&](Eigen::Index k) { return noise(k) * (noise(k) / r(k) + 1.0); };
        CHECK(price(i) == Approx(price(j)).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("noise for extreme variances and budgets") {
  for (double const scale : {1e-300, 1e-150, 1e150, 1e290}) {
    Eigen::Vector3d const r = scale * Eigen::Vector3d(4.0, 1.0, 0.25);
    CHECK(log_det_variances(r, nats(0.5)).sum() / scale == Approx(9.84084).epsilon(1e-5));
  }
  Eigen::VectorXd spread(4);
  spread << 1e-300, 1.0, 1e300, 0.0;
  for (double const beta : {1e-3, 1.0, 50.0, 2000.0, 1e6}) {
    Eigen::VectorXd const noise = log_det_variances(spread, nats(beta));
    CHECK(noise.allFinite());
    CHECK(noise.head(3).minCoeff() > 0.0);
    CHECK(noise(3) == 0.0);
  }
  CHECK(log_det_variances(Eigen::VectorXd::Zero(3), nats(1.0)) == Eigen::VectorXd::Zero(3));
  for (double const bad : {0.0, -1.0, infinity, not_a_number}) {
    CHECK_THROWS_AS(log_det_variances(Eigen::VectorXd::Ones(3), nats(bad)), std::domain_error);
    CHECK_THROWS_AS(log_det(candidate_outputs(Eigen::MatrixXd::Ones(1, 2)), nats(bad)),
                    std::domain_error);
  }
  for (double const bad : {-1.0, infinity, not_a_number}) {
    CHECK_THROWS_AS(log_det_variances(Eigen::Vector2d(1.0, bad), nats(1.0)), std::domain_error);
  }
  CHECK_THROWS_AS(log_det_variances(Eigen::VectorXd(), nats(1.0)), std::invalid_argument);
}

TEST_CASE("sums of logarithms keep their digits, of any size and number") {
  for (Eigen::Index const n : {1, 2, 7, 8, 9, 15, 1000}) {
    for (double const size : {1e-300, 1e-16, 1e-3, 1.0, 1e29, 1e31, 1e290}) {
      Eigen::ArrayXd a = size * random_weights(n, static_cast<unsigned>(n)).array();
      a(n / 2) = 0.0;
      long double sum = 0.0L;
      for (double const x : a) sum += std::log1p(static_cast<long double>(x));
      CHECK(static_cast<long double>(detail::log1p_sum(a)) == Approx(sum).epsilon(3e-15));
    }
  }
}

TEST_CASE("Algorithm 1: known variances, and the isotropic way out") {
  Eigen::Vector3d const eigenvalues(0.25, 4.0, 1.0);
  auto_pac_request const asked{.output_norm = 5.0, .c = 1e-3, .v = nats(0.4), .slack = nats(0.1)};
  Eigen::VectorXd const noise = auto_pac_variances(eigenvalues, asked);
  CHECK(noise(1) == Approx(8.9652).margin(5e-5));
  CHECK(noise(2) == Approx(4.5487).margin(5e-5));
  // The least gap is ¾; r√(3c) + 2c reaches it at r = 13.657.
  for (auto const& [norm, isotropic] : {std::pair{13.6, false}, {13.7, true}}) {
    auto_pac_request wider = asked;
    wider.output_norm = norm;
    Eigen::VectorXd const chosen = auto_pac_variances(eigenvalues, wider);
    CHECK((chosen.minCoeff() == chosen.maxCoeff()) == isotropic);
    if (isotropic) CHECK(chosen(0) == Approx((5.25 + 3e-3) / 0.8));
  }
  // Eigenvalues at or below c need no gap among themselves.
  Eigen::VectorXd low(4);
  low << 1e-4, 1e-4, 4.0, 1.0;
  CHECK(auto_pac_variances(low, asked).minCoeff() < auto_pac_variances(low, asked).maxCoeff());
  CHECK_THROWS_AS(auto_pac_variances(eigenvalues, {}), std::domain_error);

  output_moments moments(3);
  moments.observe_rows(decaying_rows(500, 3, 2, 0.3));
  auto_pac_request const narrow{.output_norm = 4.0, .c = 1e-5, .v = nats(0.4), .slack = nats(0.1)};
  auto const found = auto_pac(moments, narrow);
  static_assert(std::is_same_v<decltype(found.information), mi_estimate>);
  CHECK(found.information.value.value == 0.5);
  CHECK(found.noise.axes().cols() == 3);
  auto_pac_request cautious = narrow;
  cautious.output_norm = 1e6;
  CHECK(auto_pac(moments, cautious).noise.axes().cols() == 0);
  CHECK(auto_pac(moments, cautious).noise.least_variance() ==
        Approx((moments.variances().sum() + 3e-5) / 0.8));
}

TEST_CASE("candidates: the certificate holds in fifty digits, and spends the budget", "[long]") {
  for (auto const& [n, d] : {std::pair{2, 1}, {2, 4}, {5, 3}, {4, 6}, {5, 5}, {6, 5}, {12, 6}}) {
    for (double const beta : {1e-12, 0.5, 50.0}) {
      for (bool const weighted : {false, true}) {
        for (double const offset : {0.0, 1e8}) {
          Eigen::MatrixXd rows = decaying_rows(n, d, static_cast<unsigned>(7 * n + d));
          rows.array() += offset;
          Eigen::VectorXd weights = Eigen::VectorXd::Ones(n);
          if (weighted) weights = random_weights(n, 3);
          if (weighted && n > 2) weights(1) = 0.0;
          candidate_outputs const outputs(rows, weights);
          auto const full = log_det(outputs, nats(beta), noise_shape::full, by_rule);
          auto const diagonal = log_det(outputs, nats(beta), noise_shape::diagonal, by_rule);
          auto const efficient = efficient_pac(outputs, nats(beta), by_rule);
          auto const rotated =
              efficient_pac(outputs, random_axes(d, static_cast<unsigned>(n)), nats(beta), by_rule);
          auto const alike = proportional(outputs, nats(beta), by_rule);
          for (auto const* found : {&full, &diagonal, &efficient, &rotated, &alike}) {
            check_certified(rows, weights, *found, beta);
          }
          for (auto const* found : {&full, &diagonal, &alike}) {
            CHECK(found->information.value.value >= beta * (1.0 - 5e-12));
          }
          CHECK(full.noise.trace() <= diagonal.noise.trace() * (1.0 + 1e-7));
          CHECK(full.noise.trace() <= alike.noise.trace() * (1.0 + 1e-7));
          CHECK(diagonal.noise.trace() <= efficient.noise.trace() * (1.0 + 1e-11));
          if (beta < 1.0) {  // the bound is not only safe but that of these eigenvectors
            CHECK(exact_log_det(exact_covariance(rows, weights), full.noise, true) >=
                  exact(beta * (1.0 - 1e-6)));
          }
        }
      }
    }
  }
}

TEST_CASE("two candidates: never below the truth, and at small budgets equal to it") {
  for (auto const d : {1, 3, 50}) {
    for (double const prior : {0.5, 0.01}) {
      for (double const beta : {1e-12, 1e-6, 0.01, 0.5, 3.0}) {
        Eigen::MatrixXd const rows = decaying_rows(2, d, static_cast<unsigned>(d), 1.0);
        candidate_outputs const outputs(rows, Eigen::Vector2d(prior, 1.0 - prior));
        for (noise_shape const shape : {noise_shape::full, noise_shape::diagonal}) {
          auto const [noise, information] = log_det(outputs, nats(beta), shape, by_rule);
          // The squared distance of the two, in units of the noise.
          Eigen::Matrix<long double, Eigen::Dynamic, 1> left =
              (rows.row(0) - rows.row(1)).transpose().cast<long double>();
          long double squares = 0.0L;
          if (noise.along_coordinates()) {
            squares = (left.array().square() / noise.variances().cast<long double>().array()).sum();
          } else {
            Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic> const axes =
                noise.axes().cast<long double>();
            Eigen::Matrix<long double, Eigen::Dynamic, 1> const along = axes.transpose() * left;
            squares =
                (along.array().square() / noise.variances().cast<long double>().array()).sum();
            left -= axes * along;
            if (noise.rest() > 0.0) squares += left.squaredNorm() / noise.rest();
          }
          auto const sigma = static_cast<double>(2.0L / std::sqrt(squares));
          double const truth = mutual_information(binary_channel{.prior = prior, .sigma = sigma});
          CHECK(truth <= information.value.value);
          if (shape == noise_shape::full && beta < 1e-10) CHECK(truth >= beta * (1.0 - 1e-9));
        }
      }
    }
  }
}

TEST_CASE("no noise only where all candidates agree, to the last bit of a number") {
  Eigen::MatrixXd rows = decaying_rows(4, 6, 5);
  rows.col(2).setConstant(0.1);
  rows(3, 4) = rows(0, 4) = rows(1, 4) = 1.0;
  rows(2, 4) = std::nextafter(1.0, 2.0);
  rows.col(5).setZero();
  rows(1, 5) = -0.0;
  candidate_outputs outputs(rows);
  auto const diagonal = log_det(outputs, nats(0.1), noise_shape::diagonal);
  CHECK(diagonal.noise.variances()(2) == 0.0);
  for (Eigen::Index const j : {0, 1, 3, 4}) CHECK(diagonal.noise.variances()(j) > 0.0);
  // −0 is 0, in the outputs and in what is released: nothing to hide.
  CHECK(diagonal.noise.variances()(5) == 0.0);
  Eigen::VectorXd const released =
      rows.row(1).transpose() + diagonal.noise.shaped(Eigen::VectorXd::Constant(6, -1.0));
  CHECK_FALSE(std::signbit(released(5)));
  // Four candidates span three directions of six; whatever rounding hides has noise as well.
  auto const full = log_det(outputs, nats(0.1));
  CHECK(full.noise.least_variance() > 0.0);
  CHECK(full.noise.rest() < 1e-12 * full.noise.trace());

  // More candidates than coordinates: exactly none along the agreeing one, some everywhere else.
  Eigen::MatrixXd many = decaying_rows(20, 3, 6);
  many.col(1).setConstant(0.1);
  auto const embedded = log_det(candidate_outputs(many), nats(0.1)).noise;
  CHECK(embedded.axes().cols() == 2);
  CHECK(embedded.variances().minCoeff() > 0.0);
  CHECK(embedded.shaped(Eigen::VectorXd::Ones(3))(1) == 0.0);

  // A direction that is no coordinate: x = y. Rounded axes cannot tell it, so it has a little
  // noise.
  many.col(1) = many.col(0);
  auto const dependent = log_det(candidate_outputs(many), nats(0.1)).noise;
  CHECK(dependent.least_variance() > 0.0);
  CHECK(dependent.least_variance() < 1e-10 * dependent.trace());

  // A candidate of weight 0 is no candidate.
  Eigen::VectorXd weights = Eigen::VectorXd::Ones(4);
  weights(2) = 0.0;
  outputs.reweigh(weights);
  CHECK(log_det(outputs, nats(0.1), noise_shape::diagonal).noise.variances()(4) == 0.0);

  for (noise_shape const shape : {noise_shape::full, noise_shape::diagonal}) {
    for (Eigen::Index const n : {1, 5}) {
      auto const silent =
          log_det(candidate_outputs(Eigen::MatrixXd::Constant(n, 3, 0.1)), nats(0.1), shape);
      CHECK(silent.noise.trace() == 0.0);
      CHECK(silent.information.value.value == 0.0);
      CHECK(silent.information.confidence == 1.0);
    }
  }
  outputs.reweigh(Eigen::Vector4d(0.0, 0.0, 3.0, 0.0));
  CHECK(log_det(outputs, nats(0.1)).noise.trace() == 0.0);
  CHECK(efficient_pac(outputs, random_axes(6, 1), nats(0.1)).noise.trace() == 0.0);
}

TEST_CASE("candidates that nearly agree, far apart, or of any size") {
  for (double const scale : {1e-300, 1e-160, 1.0, 1e140}) {
    Eigen::MatrixXd const rows = scale * decaying_rows(5, 4, 8);
    auto const found = log_det(candidate_outputs(rows), nats(0.5), noise_shape::full, by_rule);
    CHECK(found.information.value.value <= 0.5);
    if (scale > 1e-150) {
      check_certified(rows, Eigen::VectorXd::Ones(5), found, 0.5);
    } else {
      CHECK(found.noise.least_variance() >= std::numeric_limits<double>::min());
    }
  }
  CHECK_THROWS_AS(log_det(candidate_outputs(1e200 * decaying_rows(5, 4, 8)), nats(0.5)),
                  std::domain_error);  // the variance of the noise overflows
  Eigen::MatrixXd opposite(2, 1);
  opposite << 1.7e308, -1.7e308;
  CHECK_THROWS_AS(log_det(candidate_outputs(opposite), nats(0.5)), std::domain_error);

  Eigen::MatrixXd mixed = decaying_rows(6, 4, 9);
  mixed.col(0) *= 1e9;
  mixed.col(3) *= 1e-9;
  for (double const beta : {1e-6, 0.5, 20.0}) {
    auto const found = log_det(candidate_outputs(mixed), nats(beta), noise_shape::full, by_rule);
    check_certified(mixed, Eigen::VectorXd::Ones(6), found, beta);
    auto const few =
        log_det(candidate_outputs(mixed.topRows(3)), nats(beta), noise_shape::full, by_rule);
    check_certified(mixed.topRows(3), Eigen::VectorXd::Ones(3), few, beta);
  }
}

TEST_CASE("posterior weights: the noise follows what is still secret") {
  Eigen::MatrixXd const rows = decaying_rows(8, 3, 10);
  candidate_outputs outputs(rows);
  double const before = log_det(outputs, nats(0.5), noise_shape::full, by_rule).noise.trace();
  Eigen::VectorXd sure = Eigen::VectorXd::Constant(8, 1e-6);
  sure(3) = 1.0;
  outputs.reweigh(sure);
  auto const after = log_det(outputs, nats(0.5), noise_shape::full, by_rule);
  CHECK(after.noise.trace() < 1e-3 * before);
  check_certified(rows, sure, after, 0.5);
}

TEST_CASE("a thousand coordinates, 128 candidates") {
  auto const found = log_det(candidate_outputs(decaying_rows(128, 1000, 11, 1.0)), nats(0.5));
  CHECK(found.information.value.value <= 0.5);
  CHECK(found.information.value.value > 0.5 * (1.0 - 1e-12));
  CHECK(found.noise.axes().cols() == 127);
  CHECK(found.noise.rest() * 873.0 < 1e-9 * found.noise.trace());
}

TEST_CASE("samples: an estimate, and a floor or nothing where the sample does not vary") {
  Eigen::MatrixXd const rows = decaying_rows(4000, 3, 12, 0.5);
  output_moments moments(3);
  moments.observe_rows(rows);
  auto const found = log_det(moments, nats(0.5));
  static_assert(std::is_same_v<decltype(found.information), mi_estimate>);
  CHECK(found.information.value.value == Approx(0.5).epsilon(1e-11));
  Eigen::Vector3d const r(1.0, 0.25, 0.0625);
  CHECK(found.noise.trace() == Approx(log_det_variances(r, nats(0.5)).sum()).epsilon(0.1));
  CHECK(found.noise.trace() < proportional(moments, nats(0.5)).noise.trace());
  CHECK((proportional(moments, nats(0.5)).noise.covariance() -
         moments.covariance() / std::expm1(1.0 / 3.0))
            .norm() < 1e-10);
  CHECK(log_det(moments, nats(0.5), 0.3).noise.trace() > found.noise.trace());

  output_moments few(3);
  few.observe_rows(rows.topRows(3));
  CHECK_THROWS_AS(log_det(few, nats(0.5)), infeasible);
  CHECK_THROWS_AS(proportional(few, nats(0.5)), infeasible);
  auto const floored = log_det(few, nats(0.5), 1e-4);
  CHECK(floored.noise.least_variance() > 0.0);
  few.observe_rows(rows.row(3));
  CHECK_NOTHROW(log_det(few, nats(0.5)));

  // Four outputs, one of which nearly all the weight is on, are not four.
  output_moments uneven(3);
  uneven.observe_rows(rows.topRows(4), Eigen::Vector4d(1.0, 1e-3, 1e-3, 1e-3));
  CHECK_THROWS_AS(log_det(uneven, nats(0.5)), infeasible);

  output_moments flat(3);
  Eigen::MatrixXd dependent = rows;
  dependent.col(2) = dependent.col(0) - 2.0 * dependent.col(1);
  flat.observe_rows(dependent);
  CHECK_THROWS_AS(log_det(flat, nats(0.5)), infeasible);
  CHECK(log_det(flat, nats(0.5), 1e-6).noise.least_variance() > 0.0);
  for (double const bad : {-1.0, infinity, not_a_number}) {
    CHECK_THROWS_AS(log_det(moments, nats(0.5), bad), std::domain_error);
  }
  CHECK_THROWS_AS(log_det(output_moments(3), nats(0.5), 1.0), std::invalid_argument);
}

TEST_CASE("a plug-in from few samples reads too low") {
  // d = 20, normal outputs, 40 of them: noise that the sample says passes 2 nats passes more.
  Eigen::Index const d = 20;
  int above = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    output_moments moments(20);
    moments.observe_rows(decaying_rows(40, d, 100 + seed, 1.0));
    Eigen::MatrixXd const noise = log_det(moments, nats(2.0)).noise.covariance();
    double const truth =
        0.5 * std::log(support::determinant(Eigen::MatrixXd::Identity(d, d) + noise) /
                       support::determinant(noise));
    if (truth > 2.0) ++above;
  }
  CHECK(above >= 15);
}

TEST_CASE("diagonal samples: up to a hundred thousand coordinates") {
  auto const d = Eigen::Index{100'000};
  diagonal_moments moments(static_cast<std::size_t>(d));
  Eigen::VectorXd const scale = Eigen::VectorXd::LinSpaced(d, 0.5, 2.0);
  Eigen::MatrixXd rows(4, d);
  for (Eigen::Index i = 0; i < 4; ++i) {
    for (Eigen::Index j = 0; j < d; ++j)
      rows(i, j) = scale(j) * std::sin(static_cast<double>((i + 1) * (j + 1)));
  }
  moments.observe_rows(rows);
  Eigen::VectorXd const r = moments.variances();
  for (double const beta : {1e-3, 1.0, 50.0}) {
    auto const least = log_det(moments, nats(beta));
    auto const efficient = efficient_pac(moments, nats(beta));
    CHECK(least.information.value.value == Approx(beta).epsilon(1e-11));
    CHECK(efficient.information.value.value <= beta);
    CHECK(least.noise.trace() <= efficient.noise.trace());
    double const roots = r.cwiseSqrt().sum();
    CHECK(efficient.noise.trace() == Approx(roots * roots / (2.0 * beta)).epsilon(1e-11));
  }
  CHECK(
      log_det(candidate_outputs(rows), nats(0.5), noise_shape::diagonal).information.value.value <=
      0.5);
  auto const low_rank = log_det(candidate_outputs(rows), nats(0.5));
  CHECK(low_rank.noise.axes().cols() == 3);
  CHECK(low_rank.information.value.value <= 0.5);

  rows.col(77).setConstant(0.1);
  diagonal_moments stuck(static_cast<std::size_t>(d));
  stuck.observe_rows(rows);
  CHECK_THROWS_AS(log_det(stuck, nats(0.5)), infeasible);
  CHECK_THROWS_AS(efficient_pac(stuck, nats(0.5)), infeasible);
  CHECK(efficient_pac(stuck, nats(0.5), 1e-3).noise.least_variance() > 0.0);
}

TEST_CASE("Efficient-PAC in a basis of one's own, from runs until they settle") {
  Eigen::MatrixXd const axes = random_axes(4, 13);
  auto const run = [&](std::size_t i, std::span<double> out) {
    Eigen::MatrixXd const y = decaying_rows(1, 4, static_cast<unsigned>(i), 0.5);
    Eigen::Map<Eigen::VectorXd>(out.data(), 4) = axes * y.row(0).transpose();
  };
  diagonal_moments moments(4);
  observe_until_settled(moments, in_basis(axes, run), {.tau = 0.02, .stride = 200});
  auto const found = efficient_pac(moments, axes, nats(0.5));
  Eigen::VectorXd const r = moments.variances();
  CHECK(r(0) == Approx(1.0).epsilon(0.3));
  CHECK(r(3) == Approx(1.0 / 64).epsilon(0.3));
  CHECK((found.noise.variances().array() / efficient_pac_variances(r, nats(0.5)).array() - 1.0)
            .abs()
            .maxCoeff() < 1e-12);
  CHECK(found.noise.axes() == axes);
  CHECK_THROWS_AS(efficient_pac(moments, axes.leftCols(3), nats(0.5)), std::invalid_argument);
  CHECK_THROWS_AS(efficient_pac(moments, Eigen::MatrixXd(2.0 * axes), nats(0.5)),
                  std::invalid_argument);
  candidate_outputs const outputs(decaying_rows(5, 4, 14));
  CHECK_THROWS_AS(efficient_pac(outputs, axes.leftCols(3), nats(0.5)), std::invalid_argument);
  CHECK_THROWS_AS(efficient_pac(outputs, Eigen::MatrixXd(2.0 * axes), nats(0.5)),
                  std::invalid_argument);
}

TEST_CASE("no more noise than the entropy of the outputs calls for") {
  for (unsigned const seed : {1U, 2U, 3U}) {
    candidate_outputs const outputs(decaying_rows(6, 3, seed));
    double const entropy = std::log(6.0);
    for (double const beta : {1e-3, 0.3, 1.0, 1.6, 1.9, 50.0}) {
      auto const all = [&](certificate by) {
        return std::vector{log_det(outputs, nats(beta), noise_shape::full, by),
                           log_det(outputs, nats(beta), noise_shape::diagonal, by),
                           efficient_pac(outputs, nats(beta), by),
                           efficient_pac(outputs, random_axes(3, seed), nats(beta), by),
                           proportional(outputs, nats(beta), by)};
      };
      auto const rules = all(by_rule);
      auto const least = all(certificate::best);
      for (std::size_t k = 0; k < rules.size(); ++k) {
        CAPTURE(beta, k);
        CHECK(least[k].noise.trace() <= rules[k].noise.trace());
        CHECK(least[k].information.value.value <= beta);
        CHECK(information_bound(outputs, least[k].noise).value.value <= beta * (1.0 + 1e-9));
        if (beta > entropy) {
          CHECK(rules[k].noise.trace() > 0.0);
          CHECK(least[k].noise.trace() == 0.0);
          CHECK(least[k].information.value.value == Approx(entropy).epsilon(1e-12));
        }
        // Nothing is left unspent, whichever bound it is that binds; Efficient-PAC's rule leaves a part.
        if (beta > 1.0 && beta < entropy && k != 2 && k != 3) {
          CHECK(least[k].information.value.value >= beta * (1.0 - 1e-9));
        }
        if (beta < 0.01) CHECK(least[k].noise.trace() >= 0.99 * rules[k].noise.trace());
      }
    }
  }
}

TEST_CASE("many candidates: the entropy still caps the noise, and pairs are not compared") {
  // Three thousand rows of three values: their entropy is log 3, whatever the number of rows.
  Eigen::MatrixXd few(3000, 2);
  for (Eigen::Index i = 0; i < few.rows(); ++i) few.row(i).setConstant(static_cast<double>(i % 3));
  auto const none = log_det(candidate_outputs(few), nats(1.2), noise_shape::diagonal);
  CHECK(none.noise.trace() == 0.0);
  CHECK(none.information.value.value == Approx(std::log(3.0)).epsilon(1e-12));
  CHECK(scale_to(candidate_outputs(few), gaussian_noise::isotropic(2, 1.0), nats(1.2))
            .noise.trace() == 0.0);

  // Matrices of 20,000² pairs would take gigabytes.
  candidate_outputs const many(decaying_rows(20000, 2, 3));
  for (noise_shape const shape : {noise_shape::full, noise_shape::diagonal}) {
    auto const rule = log_det(many, nats(0.5), shape, by_rule);
    auto const best = log_det(many, nats(0.5), shape);
    CHECK(best.noise.variances() == rule.noise.variances());
    CHECK(best.information.value.value == rule.information.value.value);
  }
}
