// SPDX-License-Identifier: Apache-2.0
#include "referee/checks.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

// All accountants against each other at random compositions, corners first: referee/checks.hpp says what is asked.
// usage: together [SEED [COUNT [FIRST [EVERY]]]]: runs FIRST, FIRST + EVERY, … below COUNT. A miss is printed with all
// of its numbers, and its run repeats alone as `together SEED k+1 k`. Exit status 1 if anything was missed.

int main(int argc, char** argv) {
  auto const argument = [&](int at, unsigned long long otherwise) {
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise;
  };
  auto const seed = argument(1, 1), count = argument(2, 1000), first = argument(3, 0),
             every = argument(4, 1);
  unsigned long long runs = 0, missed = 0;
  double slowest = 0.0;
  auto const seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  for (unsigned long long k = first; k < count; k += every, ++runs) {
    double const begin = seconds();
    auto const found = referee::check(seed, k);
    double const time = seconds() - begin;
    auto const describe = [&] { return text(referee::generator(seed, k).next()); };
    missed += !found.empty();
    for (auto const& what : found) {
      std::printf("run %llu: %s\n  %s\n", k, what.c_str(), describe().c_str());
    }
    if (time > slowest && time > 10.0) {
      std::printf("slowest so far: run %llu, %.1f s: %s\n", k, time, describe().c_str());
      slowest = time;
    }
    if (runs % 100 == 99) std::printf("%llu runs, %.0f s\n", runs + 1, seconds());
    std::fflush(stdout);
  }
  std::printf("seed %llu: %llu runs, %llu missed, %.0f s of a processor\n", seed, runs, missed,
              seconds());
  return missed > 0 ? 1 : 0;
}
