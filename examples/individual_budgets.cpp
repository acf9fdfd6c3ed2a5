// SPDX-License-Identifier: Apache-2.0
//
// A training loop with a budget for each record. A record pays for the length of its own gradient, and not for the
// clipping norm: as training goes on gradients shrink, and well-fitted records stay longer than the worst case would
// allow. Noise and step size may follow what was released; the guarantee holds whenever the loop ends.

#include <tacit/dp/filter/individual.hpp>
#include <tacit/secret/normal.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <vector>

using namespace tacit;

namespace {

constexpr std::size_t features = 5;
using vector = std::array<double, features>;

struct record {
  vector x;
  double label;  // −1 or 1
};

double dot(vector const& a, vector const& b) {
  double sum = 0.0;
  for (std::size_t k = 0; k < features; ++k) sum += a[k] * b[k];
  return sum;
}

// Two classes around −1 and 1 in every coordinate.
std::vector<record> two_classes(std::size_t count) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<record> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i].label = i % 2 == 0 ? 1.0 : -1.0;
    for (double& x : all[i].x) x = all[i].label + normal(random);
  }
  return all;
}

// Of the logistic loss, scaled down to norm 1 at most.
vector clipped_gradient(record const& r, vector const& theta) {
  double const slope = -r.label / (1.0 + std::exp(r.label * dot(r.x, theta)));
  vector g = r.x;
  for (double& x : g) x *= slope;
  double const norm = std::sqrt(dot(g, g));
  for (double& x : g) x /= std::max(1.0, norm);
  return g;
}

}  // namespace

int main() {
  std::vector<record> const records = two_classes(1000);
  approx_dp const target{.epsilon = 2.0, .delta = 1e-5};
  individual_gaussian_filter filter(records.size(),
                                    target);  // neighbours: one record more, or null
  secret_stream bits;
  double const sigma = 25.0;  // could change from step to step
  auto const worst_case = static_cast<int>(filter.budget().mu * filter.budget().mu * sigma * sigma);

  vector theta{};
  int const steps = 3 * worst_case;
  for (int step = 0; step < steps; ++step) {
    std::vector<vector> gradients;
    std::vector<double> norms;
    for (record const& r : records) {
      gradients.push_back(clipped_gradient(r, theta));
      norms.push_back(std::sqrt(dot(gradients.back(), gradients.back())) * (1.0 + 1e-14));
    }
    // First the charge, then the release. Who takes part stays in here.
    vector sum{};
    for (std::size_t const i : filter.charge(norms, sigma)) {
      for (std::size_t k = 0; k < features; ++k) sum[k] += gradients[i][k];
    }
    for (std::size_t k = 0; k < features; ++k) {
      double const released = sum[k] + sigma * standard_normal(bits);
      theta[k] -= 0.002 * released;
    }
  }

  auto const right = std::count_if(records.begin(), records.end(), [&](record const& r) {
    return r.label * dot(r.x, theta) > 0.0;
  });
  std::printf("%d steps, where a budget for the worst gradient ends after %d\n", steps, worst_case);
  std::printf("(%g, %g)-DP; %s of the records are classified correctly\n", target.epsilon,
              target.delta, right > 950 ? "over 95 %" : "few");
}
