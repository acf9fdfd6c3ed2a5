// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/privacy_loss.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <utility>
#include <vector>

// Random runs of one to three kinds of Poisson-sampled noise on the integers and responses under zero_out: how wide ε(δ) or δ(ε) is,
// relative to max(1, ε) or to δ, and how long it takes the processor, of an accountant that has answered nothing before.
// usage: integers [SEED [RUNS]], by default 1 and 150; `ONLY=integers sh tools/sweep.sh` builds and runs it.

int main(int argc, char** argv) {
  using namespace tacit;
  std::mt19937_64 random(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
  int const runs = argc > 2 ? std::atoi(argv[2]) : 150;
  auto const draw = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  auto const power = [&](double low, double high) { return std::pow(10.0, draw(low, high)); };
  std::vector<double> widths;
  std::vector<double> seconds;
  for (int run = 0; run < runs; ++run) {
    auto account = privacy_loss_accountant(adjacency::zero_out);
    int kinds = 1;
    if (draw(0.0, 1.0) < 0.3) ++kinds;
    if (draw(0.0, 1.0) < 0.1) ++kinds;
    std::vector<std::pair<event, std::uint64_t>> releases;
    for (int k = 0; k < kinds; ++k) {
      poisson const how{power(-6.0, -0.3)};
      auto const count = static_cast<std::uint64_t>(power(0.3, 6.0));
      switch (static_cast<int>(draw(0.0, 4.0))) {
        case 0: {
          double const sigma = power(-0.4, 1.5);
          auto const sensitivity = 1 + static_cast<std::uint64_t>(draw(0.0, 1.5 * sigma));
          releases.emplace_back(sampled(discrete_gaussian{sigma, sensitivity}, how), count);
          break;
        }
        case 1:
          releases.emplace_back(
              sampled(integer_noise{integer_law::skellam, power(-0.3, 2.0), 1}, how), count);
          break;
        case 2:
          releases.emplace_back(sampled(discrete_laplace{power(-0.5, 1.0), 1}, how), count);
          break;
        default:
          releases.emplace_back(sampled(randomised_response{power(-0.5, 0.5), 3}, how), count);
      }
    }
    double const delta = power(-13.0, -2.0);
    bool const wants_delta = draw(0.0, 1.0) < 0.3;
    double const factor = draw(0.8, 1.1);
    for (auto const& [release, count] : releases) account.compose(release, count);
    std::clock_t const begin = std::clock();
    bound<double> found = account.epsilon(delta);
    double size = std::max(1.0, found.upper);
    if (wants_delta && found.upper > 0.0 && found.upper < 1e6) {
      found = account.delta(factor * found.upper);
      size = found.upper;
    }
    seconds.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    widths.push_back(found.upper > 0.0 ? (found.upper - found.lower) / size : 0.0);
  }
  auto const print = [](char const* what, std::vector<double> values) {
    std::sort(values.begin(), values.end());
    auto const at = [&](double share) {
      return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
    };
    std::printf("%s: median %.2g, nine of ten within %.2g, at most %.2g\n", what, at(0.5), at(0.9), at(1.0));
  };
  if (widths.empty()) return 0;
  print("width", widths);
  print("seconds", seconds);
}
