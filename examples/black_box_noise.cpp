// SPDX-License-Identifier: Apache-2.0
//
// Noise for a program that nobody analysed. The secret is which of several data sets the program ran on. It
// is run on each of them; from the spread of its outputs comes the Gaussian noise that keeps what a release
// reveals within a budget of mutual information.

#include <tacit/core/decimal.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/mechanism/noisy_output.hpp>
#include <tacit/pac/covariance.hpp>

#include <cmath>
#include <cstdio>

using namespace tacit;
using namespace tacit::literals;

namespace {

/// The black box: mean, deviation and largest value of a data set's numbers.
Eigen::VectorXd black_box(Eigen::VectorXd const& data) {
  double const mean = data.mean();
  return Eigen::Vector3d(mean, std::sqrt((data.array() - mean).square().mean()), data.maxCoeff());
}

}  // namespace

int main() {
  // Sixteen candidates: each leaves out one block of the records. One of them, drawn uniformly, was used.
  constexpr Eigen::Index candidates = 16;
  Eigen::VectorXd const records = Eigen::VectorXd::LinSpaced(320, 0.0, 6.0).array().sin();
  Eigen::MatrixXd outputs(candidates, 3);
  for (Eigen::Index k = 0; k < candidates; ++k) {
    Eigen::VectorXd rest(300);
    rest << records.head(20 * k), records.tail(300 - 20 * k);
    outputs.row(k) = black_box(rest);
  }

  // The least noise, by total variance, whose log-det bound is 0.25 nats. Certified: the rows are all
  // candidates there are.
  auto const plan = log_det(candidate_outputs(outputs), 0.25_nats);
  std::printf("a release reveals at most %s nats about the candidate\n",
              rounded_up(plan.information.value.value).c_str());
  std::printf("an attacker who guesses 1 of 16 is right with probability %s at most\n",
              rounded_up(attack_success(plan.information.value, 1.0 / 16.0), 4).c_str());
  std::printf("standard deviations of the noise: %.4f %.4f %.4f\n",
              std::sqrt(plan.noise.covariance()(0, 0)), std::sqrt(plan.noise.covariance()(1, 1)),
              std::sqrt(plan.noise.covariance()(2, 2)));

  // The account is charged before the noise is drawn, from a stream that the operating system seeds.
  noisy_outputs releases(0.5_nats);
  Eigen::VectorXd const secret_output = outputs.row(11);
  try {
    for (int query = 1; query <= 3; ++query) {
      Eigen::VectorXd const released = releases.release(secret_output, plan);
      std::printf("release %d: %.3f %.3f %.3f\n", query, released[0], released[1], released[2]);
    }
  } catch (budget_exhausted const&) {
    std::printf("the third release was refused: %s nats are spent\n",
                rounded_up(releases.account().total().value.value, 3).c_str());
  }
}
