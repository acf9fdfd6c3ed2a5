// SPDX-License-Identifier: Apache-2.0
//
// A training loop without a number of steps: it goes on for as long as its budget lasts. Each step is charged before
// anything of it is drawn, and one that might not fit is not taken. How much noise a step gets is chosen on the way, from
// what was released, so that no schedule could state the run beforehand: a filter keeps it within the budget.

#include <tacit/dp/event.hpp>
#include <tacit/dp/filter/renyi.hpp>
#include <tacit/secret/bernoulli.hpp>
#include <tacit/secret/normal.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <stdexcept>
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

// The gradients of a Poisson sample and noise: a release, which takes the receipt of its charge.
vector noisy_gradient(receipt<epsilon_cost> paid, std::vector<record> const& records,
                      vector const& theta, double rate, double sigma, secret_stream& bits) {
  if (!paid.live()) throw std::logic_error("nothing was charged for this step");
  vector sum{};
  for (record const& r : records) {
    if (!bernoulli(bits, rate)) continue;
    vector const g = clipped_gradient(r, theta);
    for (std::size_t k = 0; k < features; ++k) sum[k] += g[k];
  }
  for (double& x : sum) x += sigma * standard_normal(bits);
  return sum;
}

}  // namespace

int main() {
  std::vector<record> const records = two_classes(1000);
  approx_dp const target{.epsilon = 1.0, .delta = 1e-5};
  double const rate = 0.05;
  double sigma = 4.0;

  // One order, fixed before the run: the best for a plan that the run need not keep to.
  std::vector<composed> const plan{{sampled(gaussian{sigma}, poisson{rate}), 1000}};
  renyi_filter filter(order_for(plan, target.delta), target);
  secret_stream bits;

  vector theta{};
  vector before{};
  int steps = 0;
  for (;; ++steps) {
    event const step = sampled(gaussian{sigma}, poisson{rate});
    if (filter.would_exceed(step)) break;
    // First the charge, then the coins and the noise.
    vector const released = noisy_gradient(filter.charge(step), records, theta, rate, sigma, bits);
    for (std::size_t k = 0; k < features; ++k) theta[k] -= 0.01 * released[k];
    // Two gradients that point in opposite directions are mostly noise: the next ones get less of it.
    if (dot(released, before) < 0.0) sigma = std::max(2.0, 0.99 * sigma);
    before = released;
  }

  auto const right = std::count_if(records.begin(), records.end(), [&](record const& r) {
    return r.label * dot(r.x, theta) > 0.0;
  });
  bool const kept = filter.epsilon() <= target.epsilon;
  std::printf("%s steps, the last with noise of multiplier %.2f\n",
              steps > 100 ? "hundreds of" : "few", sigma);
  std::printf("epsilon %.4f of %g at delta %g: %s\n", filter.epsilon(), target.epsilon,
              target.delta, kept ? "within the budget" : "BEYOND THE BUDGET");
  std::printf("%s of the records are classified correctly\n", right > 950 ? "over 95 %" : "few");
  return kept ? 0 : 1;
}
