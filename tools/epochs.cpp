// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/privacy_loss.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <initializer_list>
#include <vector>

// Epochs of random allocation over their box: how wide ε(δ) is, relative to max(1, ε), and how long it takes the processor, of an
// accountant that has answered nothing before.
// usage: epochs [EPOCHS...], by default 1, 10 and 1000; `ONLY=epochs sh tools/sweep.sh` builds and runs it.

int main(int argc, char** argv) {
  using namespace tacit;
  std::vector<std::uint64_t> counts{1, 10, 1000};
  if (argc > 1) counts.clear();
  for (int k = 1; k < argc; ++k) counts.push_back(std::strtoull(argv[k], nullptr, 10));
  for (std::uint64_t const count : counts) {
    double const most_seconds = count == 1 ? 0.2 : 1.0;
    int cells = 0;
    int wide = 0;
    int slow = 0;
    std::printf(
        "| epochs | steps | σ | δ | lower | upper | width | ms |\n"
        "|---|---|---|---|---|---|---|---|\n");
    for (std::uint64_t const steps : std::initializer_list<std::uint64_t>{
             2, 10, 100, 1000, 10'000, 100'000, 1'000'000}) {
      for (double const sigma : {0.3, 0.5, 1.0, 2.0, 5.0, 20.0}) {
        for (double const delta : {1e-3, 1e-6, 1e-12}) {
          std::clock_t const begin = std::clock();
          auto account = privacy_loss_accountant();
          bound<double> const found =
              account
                  .compose(sampled(gaussian{.noise_multiplier = sigma}, random_allocation{steps}),
                           count)
                  .epsilon(delta);
          double const seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
          double const width = (found.upper - found.lower) / std::max(1.0, found.upper);
          ++cells;
          wide += width <= 1e-6 ? 0 : 1;
          slow += seconds <= most_seconds ? 0 : 1;
          std::printf("| %llu | %llu | %g | %.0e | %.12g | %.12g | %.1e | %.0f |\n",
                      static_cast<unsigned long long>(count),
                      static_cast<unsigned long long>(steps), sigma, delta, found.lower,
                      found.upper, width, 1e3 * seconds);
          std::fflush(stdout);
        }
      }
    }
    std::printf("\n%llu epochs, %d questions: wider than 1e-6 %d, slower than %g s %d\n\n",
                static_cast<unsigned long long>(count), cells, wide, most_seconds, slow);
  }
}
