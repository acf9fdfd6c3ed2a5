// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/privacy_loss.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

// What docs/certificates/index.md tables outside of the box, row by row: the interval, and how long composing it and asking take the
// processor. usage: outside [ROW...], by default all; `ONLY=outside sh tools/sweep.sh` builds and runs it.

namespace {

using namespace tacit;

struct row {
  char const* what;
  adjacency neighbours;
  bool wants_epsilon;
  double at;  // δ, or else ε
  std::vector<composed> releases;
};

template <class Release>
std::vector<composed> kinds(int count, std::uint64_t each, Release&& release) {
  std::vector<composed> out;
  for (int k = 0; k < count; ++k) out.push_back({release(k, k / static_cast<double>(count)), each});
  return out;
}

std::vector<composed> once(event const& release, std::uint64_t count) {
  return {composed{release, count}};
}

std::vector<row> rows() {
  constexpr adjacency add = adjacency::add_remove;
  constexpr adjacency replace = adjacency::replace_one;
  constexpr adjacency zero = adjacency::zero_out;
  auto const persons = kinds(600, 1, [](int, double at) {
    return by_person(sampled(gaussian{1.0 + at}, poisson{0.001 + 0.0005 * at}), 2);
  });
  auto const draws = [](int count) {
    return kinds(count, 1, [](int k, double) {
      return sampled(gaussian{3.0 + 0.2 * k / 600.0}, with_replacement{30, 10'000});
    });
  };
  auto const batches = [](int count, auto how) {
    return kinds(count, 1, [how](int k, double) {
      return sampled(gaussian{1.0}, how(10 + static_cast<std::uint64_t>(k)));
    });
  };
  auto const with = [](std::uint64_t batch) { return with_replacement{batch, 10'000}; };
  auto const without = [](std::uint64_t batch) { return fixed_size{batch, 10'000}; };
  event const many = sampled(gaussian{1.0}, with_replacement{256, 50'000});
  event const integers =
      sampled(discrete_laplace{1.2053260137639283, 2}, with_replacement{110, 114});
  // σ from 1.25 to 12.5, rates from .001 to .1 in another order.
  auto const spread = [](int count) {
    return kinds(count, 1, [count](int k, double at) {
      double const other = 7 * k % count / static_cast<double>(count);
      return sampled(gaussian{1.25 * std::pow(10.0, at)},
                     poisson{0.001 * std::pow(100.0, other)});
    });
  };
  auto const epoch = [](double sigma, std::uint64_t steps) {
    return sampled(gaussian{sigma}, random_allocation{steps});
  };
  return {
      {"600 persons of two records", add, true, 1e-6, persons},
      {"the same, replace_one", replace, true, 1e-6, persons},
      {"600 Gaussians, 30 draws out of 10,000, replace_one", replace, true, 1e-6, draws(600)},
      {"the same, zero_out", zero, true, 1e-6, draws(600)},
      {"the same, add_remove", add, true, 1e-6, draws(600)},
      {"22 of the first", replace, true, 1e-6, draws(22)},
      {"10 to 609 draws out of 10,000, replace_one", replace, true, 1e-6, batches(600, with)},
      {"batches of 10 to 609, replace_one", replace, true, 1e-6, batches(600, without)},
      {"10 to 109 draws, zero_out", zero, true, 1e-6, batches(100, with)},
      {"10,000 Laplace scales, 20 to 30", add, true, 1e-6,
       kinds(10'000, 1, [](int, double at) { return event(laplace{20.0 + 10.0 * at}); })},
      {"600 sampled Laplace scales, 1 to 2", add, true, 1e-6,
       kinds(600, 1,
             [](int, double at) {
               return sampled(laplace{1.0 + at}, poisson{0.001 + 0.0006 * at});
             })},
      {"600 such Gaussians, replace_one", replace, true, 1e-6,
       kinds(600, 1,
             [](int, double at) {
               return sampled(gaussian{1.0 + at}, poisson{0.001 + 0.0006 * at});
             })},
      {"300 discrete Gaussians", add, true, 1e-6,
       kinds(300, 1,
             [](int, double at) {
               return sampled(discrete_gaussian{4.0 + 4.0 * at, 4}, poisson{0.01});
             })},
      {"316 samples of a mixture", add, true, 1.8e-13,
       once(sampled(gaussian_mixture{.sigma = 0.8, .parts = {{0.01, 1.0}, {1.2e-4, 0.784}}},
                    poisson{1.04e-3}),
            316)},
      {"100 Laplace scales, 10 draws out of 1000, replace_one", replace, true, 1e-6,
       kinds(100, 1,
             [](int, double at) {
               return sampled(laplace{2.0 + at}, with_replacement{10, 1'000});
             })},
      {"1000 of 256 draws out of 50,000", add, true, 1e-6, once(many, 1'000)},
      {"the same, δ(1)", add, false, 1.0, once(many, 1'000)},
      {"10⁵ of them, δ = 1e-100", add, true, 1e-100, once(many, 100'000)},
      {"three of σ = .05", add, true, 1e-6,
       once(sampled(gaussian{0.05}, with_replacement{256, 50'000}), 3)},
      {"6885 of 9 draws out of 60,000", add, true, 3.9e-9,
       once(sampled(gaussian{0.549}, with_replacement{9, 60'000}), 6'885)},
      {"40 kinds of 256 draws, 25 each", add, true, 1e-6,
       kinds(40, 25,
             [](int, double at) {
               return sampled(gaussian{1.0 + 0.8 * at}, with_replacement{256, 50'000});
             })},
      {"100 steps of Laplace noise of .05, δ(0)", add, false, 0.0,
       once(sampled(laplace{0.05}, random_allocation{100}), 1)},
      {"1000 steps of Laplace noise of .1", add, true, 1e-6,
       once(sampled(laplace{0.1}, random_allocation{1'000}), 1)},
      {"640 Gaussians of little noise, replace_one", replace, true, 8e-13,
       once(sampled(gaussian{0.432}, poisson{3.4e-4}), 640)},
      {"1404 persons of eight records, δ(.212)", add, false, 0.212,
       once(by_person(sampled(gaussian{4.375}, poisson{6.82e-5}), 8), 1'404)},
      {"two persons of two records, δ(1.394), zero_out", zero, false, 1.394,
       once(by_person(sampled(gaussian{1.785}, poisson{3.37e-5}), 2), 2)},
      {"138 persons of two records, δ = 8e-15", add, true, 8e-15,
       once(by_person(sampled(gaussian{0.68}, poisson{5.4e-5}), 2), 138)},
      {"10 epochs of 10⁵ steps, σ = .5", add, true, 1e-6, once(epoch(0.5, 100'000), 10)},
      {"10 epochs of 10⁵ steps, σ = .3", add, true, 1e-6, once(epoch(0.3, 100'000), 10)},
      {"one epoch of 10⁶ steps, σ = .5", add, true, 1e-12, once(epoch(0.5, 1'000'000), 1)},
      {"2 epochs of 10⁶ steps, σ = .6", add, true, 1e-12, once(epoch(0.6, 1'000'000), 2)},
      {"2 epochs of 10⁴ steps, σ = .3", add, true, 1e-9, once(epoch(0.3, 10'000), 2)},
      {"10 persons of 10,000 records, σ = 100", add, true, 1e-6,
       once(by_person(sampled(gaussian{100.0}, poisson{0.5}), 10'000), 10)},
      {"10 persons of a million records, σ = 1000", add, true, 1e-6,
       once(by_person(sampled(gaussian{1'000.0}, poisson{0.01}), 1'000'000), 10)},
      {"50 kinds of persons of 1000 records", add, true, 1e-6,
       kinds(50, 1,
             [](int k, double) {
               return by_person(sampled(gaussian{100.0 + k}, poisson{0.5}), 1'000);
             })},
      {"two persons of 60 records, replace_one", replace, true, 1e-6,
       once(by_person(sampled(gaussian{0.23}, poisson{0.011}), 60), 2)},
      {"two persons of 200 records, replace_one", replace, true, 1e-6,
       once(by_person(sampled(gaussian{1.0}, poisson{0.1}), 200), 2)},
      {"60 kinds of persons of 20 records, replace_one", replace, true, 1e-6,
       kinds(60, 1,
             [](int k, double) {
               return by_person(sampled(gaussian{1.0 + 0.01 * k}, poisson{0.001 + 1e-5 * k}), 20);
             })},
      {"500 kinds of sampled Gaussians, σ .8 to 1.5, at a rate of .001", add, true, 1e-6,
       kinds(500, 1,
             [](int, double at) { return sampled(gaussian{0.8 + 0.7 * at}, poisson{0.001}); })},
      {"10,000 kinds of sampled Gaussians", add, true, 1e-6, spread(10'000)},
      {"50,000 kinds of sampled Gaussians", add, true, 1e-6, spread(50'000)},
      {"110 draws out of 114 on the integers, zero_out", zero, true, 1e-6, once(integers, 1)},
      {"the same, replace_one", replace, true, 1e-6, once(integers, 1)},
      {"10¹² responses of 1e-9, three categories", replace, true, 1e-6,
       once(randomised_response{1e-9, 3}, 1'000'000'000'000)},
      {"10¹⁵ + 1 responses of 1e-9, two categories", replace, true, 1e-6,
       once(randomised_response{1e-9, 2}, 1'000'000'000'000'001)},
      {"3 epochs of 10⁷ steps, seven records a person", add, true, 1e-6,
       once(by_person(epoch(1.0, 10'000'000), 7), 3)},
      {"3 epochs of 10⁷ steps, seven times each of 1000 records", add, true, 1e-6,
       once(by_person(sampled(gaussian{5.0}, random_allocation{10'000'000, 7}), 1'000), 3)},
      {"1000 batches of 10 out of 1000, replace_one", replace, true, 1e-10,
       once(sampled(gaussian{3.0}, fixed_size{10, 1'000}), 1'000)},
      {"60 kinds of batches, replace_one", replace, true, 1e-6,
       kinds(60, 5,
             [](int k, double) {
               return sampled(gaussian{1.0},
                              fixed_size{10 + 5 * static_cast<std::uint64_t>(k), 10'000});
             })},
  };
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<row> const all = rows();
  std::vector<bool> asked(all.size(), argc < 2);
  for (int k = 1; k < argc; ++k) {
    auto const place = std::strtoull(argv[k], nullptr, 10);
    if (place < all.size()) asked[place] = true;
  }
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (!asked[k]) continue;
    row const& r = all[k];
    std::clock_t const begin = std::clock();
    privacy_loss_accountant account(r.neighbours);
    for (composed const& c : r.releases) account.compose(c.release, c.count);
    std::clock_t const composed = std::clock();
    bound<double> const found = r.wants_epsilon ? account.epsilon(r.at) : account.delta(r.at);
    auto const seconds = [](std::clock_t from, std::clock_t to) {
      return static_cast<double>(to - from) / CLOCKS_PER_SEC;
    };
    std::printf("%2zu  %s: [%.9g, %.9g], %.2f s and %.2f s\n", k, r.what, found.lower, found.upper,
                seconds(begin, composed), seconds(composed, std::clock()));
    std::fflush(stdout);
  }
}
