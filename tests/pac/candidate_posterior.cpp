// SPDX-License-Identifier: Apache-2.0
#include <tacit/info/binary_channel.hpp>
#include <tacit/pac/candidate_information.hpp>
#include <tacit/pac/candidate_noise.hpp>
#include <tacit/pac/candidate_posterior.hpp>
#include <tacit/pac/pac_ledger.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

using namespace tacit;
using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST_CASE("two candidates: the posterior is the logistic function of the evidence") {
  MatrixXd rows(2, 3);
  rows << 1.0, 0.0, 2.0, -1.0, 0.5, 2.0;
  VectorXd weights(2);
  weights << 0.3, 0.7;
  candidate_outputs const outputs(rows, weights);
  VectorXd variances(3);
  variances << 0.5, 2.0, 1.0;
  VectorXd z(3);
  z << 0.4, -0.2, 5.0;
  double evidence = std::log(0.3 / 0.7);
  for (int i = 0; i < 3; ++i) {
    evidence +=
        (std::pow(z(i) - rows(1, i), 2) - std::pow(z(i) - rows(0, i), 2)) / (2.0 * variances(i));
  }
  double const expected = 1.0 / (1.0 + std::exp(-evidence));
  CHECK(posterior_after(outputs, gaussian_noise::diagonal(variances), z).probabilities()(0) ==
        Approx(expected).epsilon(1e-13));
  gaussian_noise const full = gaussian_noise::with_covariance(variances.asDiagonal());
  CHECK(posterior_after(outputs, full, z).probabilities()(0) == Approx(expected).epsilon(1e-12));
  // One axis, and the rest.
  gaussian_noise const mixed =
      gaussian_noise::along(MatrixXd::Identity(3, 1), VectorXd::Constant(1, 0.5), 2.0);
  VectorXd same(3);
  same << 0.5, 2.0, 2.0;
  CHECK(posterior_after(outputs, mixed, z).probabilities()(0) ==
        Approx(posterior_after(outputs, gaussian_noise::diagonal(same), z).probabilities()(0))
            .epsilon(1e-13));
}

TEST_CASE("where there is no noise candidates that disagree are ruled out") {
  MatrixXd rows(3, 2);
  rows << 1.0, 4.0, 1.0, 5.0, 2.0, 4.0;
  candidate_outputs const outputs(rows);
  VectorXd variances(2);
  variances << 0.0, 1.0;
  VectorXd z(2);
  z << 1.0, 4.2;
  VectorXd const p =
      posterior_after(outputs, gaussian_noise::diagonal(variances), z).probabilities();
  CHECK(p(2) == 0.0);
  CHECK(p(0) / p(1) == Approx(std::exp(0.5 * (0.64 - 0.04))).epsilon(1e-13));
  z(0) = 3.0;
  CHECK_THROWS_AS(posterior_after(outputs, gaussian_noise::diagonal(variances), z),
                  std::invalid_argument);
  // Silence tells nothing only if all agree.
  CHECK(posterior_after(candidate_outputs(MatrixXd::Ones(4, 2)), gaussian_noise::isotropic(2, 0.0),
                        VectorXd::Ones(2))
            .probabilities() == VectorXd::Constant(4, 0.25));
}

TEST_CASE("a candidate of weight 0 stays so, far releases do not underflow") {
  MatrixXd rows(3, 1);
  rows << 0.0, 1.0, 2.0;
  VectorXd weights(3);
  weights << 1.0, 0.0, 1.0;
  candidate_outputs outputs(rows, weights);
  auto const belief =
      posterior_after(outputs, gaussian_noise::isotropic(1, 1e-4), VectorXd::Constant(1, 1e3));
  CHECK(belief.probabilities()(1) == 0.0);
  CHECK(belief.probabilities()(2) == 1.0);
  // The logarithms keep what a double's range does not: a later release may bring it back.
  CHECK(belief.log_weights(0) == Approx(-0.5e4 * (1e6 - 998.0 * 998.0)).epsilon(1e-12));
  outputs.reweigh(belief);
  CHECK(outputs.entropy().value < 1e-290);
  auto const back =
      posterior_after(outputs, gaussian_noise::isotropic(1, 1e-4), VectorXd::Constant(1, -998.0));
  CHECK(back.log_weights(0) - back.log_weights(2) == Approx(0.0).margin(1e-2));
}

TEST_CASE("shapes and numbers that do not fit are refused") {
  candidate_outputs const outputs(MatrixXd::Random(3, 2));
  gaussian_noise const noise = gaussian_noise::isotropic(2, 1.0);
  CHECK_THROWS_AS(posterior_after(outputs, gaussian_noise::isotropic(3, 1.0), VectorXd::Zero(2)),
                  std::invalid_argument);
  CHECK_THROWS_AS(posterior_after(outputs, noise, VectorXd::Zero(3)), std::invalid_argument);
  VectorXd const bad = VectorXd::Constant(2, std::numeric_limits<double>::quiet_NaN());
  CHECK_THROWS_AS(posterior_after(outputs, noise, bad), std::domain_error);
}

namespace {

using support::exact;

/// log p_m(z) up to a constant, in 50 digits, for noise along the coordinates.
std::vector<exact> true_logs(MatrixXd const& rows, VectorXd const& weights,
                             VectorXd const& variances, std::vector<VectorXd> const& releases) {
  std::vector<exact> out;
  for (Eigen::Index m = 0; m < rows.rows(); ++m) {
    exact sum = log(exact(weights(m)));
    for (VectorXd const& z : releases) {
      for (Eigen::Index j = 0; j < z.size(); ++j) {
        exact const away = exact(z(j)) - exact(rows(m, j));
        sum -= away * away / (2 * exact(variances(j)));
      }
    }
    out.push_back(sum);
  }
  return out;
}

}  // namespace

TEST_CASE("each logarithm of a posterior is right to its error, release after release") {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  int outside = 0;
  double widest = 0.0;
  for (int run = 0; run < 300; ++run) {
    Eigen::Index const count = 2 + run % 9;
    Eigen::Index const d = 1 + run % 7;
    double const scale = std::pow(10.0, run % 5 - 2);
    double const offset = run % 3 == 0 ? 1e6 : 0.0;
    MatrixXd rows(count, d);
    for (double& y : rows.reshaped()) y = offset + scale * normal(random);
    VectorXd weights(count);
    for (double& w : weights) w = std::exp(3.0 * normal(random));
    VectorXd variances(d);
    for (double& v : variances) v = std::exp(2.0 * normal(random));
    candidate_outputs outputs(rows, weights);
    bool const turned = run % 4 == 1;  // the same law along axes
    gaussian_noise const noise = turned ? gaussian_noise::along(MatrixXd::Identity(d, d), variances)
                                        : gaussian_noise::diagonal(variances);
    std::vector<VectorXd> releases;
    for (int k = 0; k < 4; ++k) {
      VectorXd z = rows.row(run % count);
      for (Eigen::Index j = 0; j < d; ++j) z(j) += std::sqrt(variances(j)) * normal(random);
      releases.push_back(z);
      outputs.reweigh(posterior_after(outputs, noise, z));
    }
    auto const truth = true_logs(rows, weights, variances, releases);
    candidate_belief const& belief = outputs.belief();
    exact total = 0;
    for (auto const& l : truth) total += exp(exact(l - truth[0]));
    for (Eigen::Index m = 0; m < count; ++m) {
      auto const at = static_cast<std::size_t>(m);
      for (Eigen::Index k = 0; k < m; ++k) {
        exact const miss = exact(belief.log_weights(m)) - exact(belief.log_weights(k)) -
                           (truth[at] - truth[static_cast<std::size_t>(k)]);
        outside += abs(miss) > exact(belief.error(m) + belief.error(k));
      }
      // The certificate's own reading of it: no true probability is above excess times this one.
      exact const p = exp(exact(truth[at] - truth[0])) / total;
      outside += p > exact(outputs.probabilities()(m)) * exact(outputs.excess());
    }
    if (offset == 0.0) widest = std::max(widest, outputs.excess() - 1.0);
  }
  CHECK(outside == 0);
  CHECK(widest < 1e-6);
}

TEST_CASE("where there is no noise a hair's difference rules a candidate out") {
  MatrixXd rows(3, 2);
  rows << 1.0, 4.0, 1.0 + 1e-15, 4.0, 1.0, 5.0;
  candidate_outputs outputs(rows);
  gaussian_noise const noise = gaussian_noise::diagonal(Eigen::Vector2d(0.0, 1.0));
  auto const belief = posterior_after(outputs, noise, VectorXd(Eigen::Vector2d(1.0, 4.5)));
  CHECK(belief.probabilities()(1) == 0.0);
  CHECK(belief.probabilities()(0) == Approx(0.5).epsilon(1e-14));
  // Charged as what it is: the two that are left, which are both still possible.
  outputs.reweigh(belief);
  nats const revealed = information_bound(outputs, gaussian_noise::isotropic(2, 1e-12)).value;
  CHECK(revealed.value >= std::log(2.0));
  CHECK(revealed.value <= std::log(2.0) * (1.0 + 1e-12));

  // No axis of coordinates: rounding cannot tell who could have released it.
  gaussian_noise const slanted = gaussian_noise::along(MatrixXd::Constant(2, 1, std::sqrt(0.5)),
                                                       VectorXd::Constant(1, 1.0), 0.0);
  CHECK_THROWS_AS(posterior_after(outputs, slanted, VectorXd(Eigen::Vector2d(1.0, 4.5))),
                  std::invalid_argument);
  // A −0 shows that somebody's outputs have signed zeros, which no bound here knows of.
  CHECK_THROWS_WITH(posterior_after(outputs, noise, VectorXd(Eigen::Vector2d(-0.0, 4.5))),
                    "posterior_after: release without noise is -0, but must be 0 with no sign");
}

TEST_CASE("a law that is known to a factor is charged for the worst one within it") {
  // Two candidates, 2 apart, noise 1: the channel of I-MMSE tables. At a computed posterior of (p, 1 − p) with
  // errors e the true law may be anywhere in p·e^{±2e}.
  MatrixXd const rows = Eigen::Vector2d(-1.0, 1.0);
  gaussian_noise const noise = gaussian_noise::isotropic(1, 1.0);
  for (double const p : {0.5, 0.2, 1e-3, 1e-9}) {
    for (double const e : {1e-12, 1e-6, 1e-2, 0.3}) {
      candidate_outputs outputs(rows);
      outputs.reweigh(
          candidate_belief{Eigen::Vector2d(std::log(p), std::log1p(-p)), Eigen::Vector2d(e, e)});
      nats const upper = information_bound(outputs, noise).value;
      auto const both = pairwise_information(outputs, noise);
      auto const line = line_information(outputs, noise);
      for (double const tilt : {-2.0 * e, -e, 0.0, e, 2.0 * e}) {
        double const odds = p / (1.0 - p) * std::exp(tilt);
        double const truth =
            mutual_information(binary_channel{.prior = odds / (1.0 + odds), .sigma = 1.0});
        CHECK(upper.value >= truth);
        CHECK(both.upper.value >= truth);
        CHECK(both.lower.value <= truth);
        CHECK(line.lower.value <= truth);
        CHECK(line.upper.value >= truth);
      }
      CHECK(log_det(outputs, nats(0.01)).information.value <= nats(0.01));
      CHECK(least_trace(outputs, nats(0.01 * p)).information.value <= nats(0.01 * p));
    }
  }
  candidate_outputs outputs(rows);
  CHECK_THROWS_AS(outputs.reweigh(candidate_belief{Eigen::Vector2d(0, 0), VectorXd::Ones(1)}),
                  std::invalid_argument);
  CHECK_THROWS_AS(
      outputs.reweigh(candidate_belief{Eigen::Vector2d(0, not_a_number), Eigen::Vector2d(0, 0)}),
      std::domain_error);
  CHECK_THROWS_AS(
      outputs.reweigh(candidate_belief{Eigen::Vector2d(0, 0), Eigen::Vector2d(0, infinity)}),
      std::domain_error);
  CHECK_THROWS_AS(outputs.reweigh(candidate_belief{Eigen::Vector2d(-infinity, -infinity),
                                                   Eigen::Vector2d(0, 0)}),
                  std::invalid_argument);
}

namespace {

/// I(X; Z) for positions t, weights p and noise σ by its definition, long doubles and equal steps.
long double information_of(std::vector<long double> const& t, std::vector<long double> const& p,
                           long double sigma) {
  auto const [low, high] = std::minmax_element(t.begin(), t.end());
  long double const step = std::min(0.25L * sigma, 0.5L * sigma * sigma / (*high - *low + sigma));
  long double sum = 0;
  for (long double z = *low - 11 * sigma; z <= *high + 11 * sigma; z += step) {
    long double mix = 0;
    for (std::size_t m = 0; m < t.size(); ++m) {
      mix += p[m] * std::exp(-(z - t[m]) * (z - t[m]) / (2 * sigma * sigma));
    }
    for (std::size_t m = 0; m < t.size(); ++m) {
      long double const x = -(z - t[m]) * (z - t[m]) / (2 * sigma * sigma);
      if (mix > 0) sum += p[m] * std::exp(x) * (x - std::log(mix));
    }
  }
  return sum * step / (sigma * std::sqrt(2 * std::acos(-1.0L)));
}

}  // namespace

TEST_CASE(
    "two releases under a ledger, the second chosen by the first: every one of them within the "
    "budget") {
  // Three candidates; the first release at every node of a fine grid; the second noise calibrated for what the
  // first has left, on outputs that depend on it. Referee: the definition, at the posterior by hand.
  std::vector<long double> const prior{0.5L, 0.3L, 0.2L};
  MatrixXd const first = Eigen::Vector3d(0.0, 1.0, 2.5);
  candidate_outputs const start(first, VectorXd(Eigen::Vector3d(0.5, 0.3, 0.2)));
  auto const plan = least_trace(start, nats(0.25));
  long double const sigma = std::sqrt(static_cast<long double>(plan.noise.trace()));
  std::vector<long double> const t{0.0L, 1.0L, 2.5L};
  long double total = information_of(t, prior, sigma);
  CHECK(static_cast<long double>(plan.information.value.value) >= total * (1 - 1e-12L));
  long double const step = 0.5L * sigma;
  int undercharged = 0;
  int over_budget = 0;
  for (long double at = -9 * sigma; at <= 2.5L + 9 * sigma; at += step) {
    VectorXd const z = VectorXd::Constant(1, static_cast<double>(at));
    long double density = 0;
    std::vector<long double> p(3);
    for (std::size_t m = 0; m < 3; ++m) {
      long double const x = (z(0) - t[m]) / sigma;
      p[m] = prior[m] * std::exp(-x * x / 2);
      density += p[m];
    }
    for (long double& x : p) x /= density;
    bool const right = at > 1.0L;
    Eigen::Vector3d const second =
        right ? Eigen::Vector3d(0.0, 3.0, 1.0) : Eigen::Vector3d(2.0, 0.0, 2.0);
    candidate_outputs next{MatrixXd(second)};
    candidate_outputs updated = start;
    updated.reweigh(posterior_after(start, plan.noise, z));
    next.reweigh(updated.belief());
    pac_ledger account(nats(0.4), 0.0);
    static_cast<void>(account.charge(plan.information));
    auto const again = least_trace(next, account.remaining());
    static_cast<void>(account.charge(again.information));
    over_budget += !(account.spent() <= account.budget());
    std::vector<long double> const there{second(0), second(1), second(2)};
    long double const variance = again.noise.trace();
    long double truth = 0;
    if (variance > 0) {
      truth = information_of(there, p, std::sqrt(variance));
    } else {
      std::map<long double, long double> mass;
      for (std::size_t m = 0; m < 3; ++m) mass[there[m]] += p[m];
      for (auto const& [y, q] : mass) {
        if (q > 0) truth -= q * std::log(q);
      }
    }
    undercharged += static_cast<long double>(again.information.value.value) < truth * (1 - 1e-12L);
    total += step / (sigma * std::sqrt(2 * std::acos(-1.0L))) * density * truth;
  }
  CHECK(undercharged == 0);
  CHECK(over_budget == 0);
  CHECK(total <= 0.4L);
}

TEST_CASE("releases without noise under a ledger: every transcript of small universes") {
  // Each step shows one of three coordinates, chosen by what was seen; outputs are small whole numbers.
  std::mt19937_64 random(11);
  for (int run = 0; run < 60; ++run) {
    Eigen::Index const count = 3 + run % 4;
    MatrixXd tables(count, 3);
    for (double& y : tables.reshaped()) y = static_cast<double>(random() % 3);
    long double information = 0;
    long double charged = 0;
    for (Eigen::Index secret = 0; secret < count; ++secret) {
      std::vector<bool> live(static_cast<std::size_t>(count), true);
      VectorXd weights = VectorXd::Ones(count);
      Eigen::Index coordinate = run % 3;
      long double spent = 0;
      for (int k = 0; k < 2; ++k) {
        candidate_outputs outputs(MatrixXd(tables.col(coordinate)), weights);
        auto const none = gaussian_noise::isotropic(1, 0.0);
        spent += information_bound(outputs, none).value.value;
        VectorXd const z = tables.row(secret).segment(coordinate, 1).transpose();
        weights = posterior_after(outputs, none, z).probabilities();
        for (Eigen::Index m = 0; m < count; ++m) {
          if (tables(m, coordinate) != z(0)) live[static_cast<std::size_t>(m)] = false;
          CHECK((weights(m) > 0.0) == live[static_cast<std::size_t>(m)]);
        }
        coordinate = (coordinate + 1 + static_cast<Eigen::Index>(z(0))) % 3;
      }
      auto const left = static_cast<long double>(std::count(live.begin(), live.end(), true));
      information += std::log(static_cast<long double>(count) / left) / count;
      charged += spent / count;
    }
    CHECK(charged >= information * (1 - 1e-15L));
    CHECK(charged <= information * (1 + 1e-12L) + 1e-300L);
  }
}
