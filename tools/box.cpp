// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>

#include "referee/runs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <map>
#include <string>
#include <vector>

// Random runs of the box that docs/accuracy.md promises: what is missed, how wide the intervals are, how
// long an answer takes; in all, and by regime.
// usage: box [SEED [COUNT]]; `sh tools/sweep.sh` builds and runs it with a seed of the day.
//
// A miss is an exception, a lower end above the upper one, an upper end above Rényi's or a lower end above
// it, or two answers to one question (composed at once and in two parts; ε(δ), and δ at its ends) that do not meet. Widths
// are relative to max(1, ε) or to δ, times those of the processor. Exit status 1 if anything was missed.

namespace {

using namespace tacit;
using referee::meet;
using referee::run;

struct tally {
  std::vector<double> widths;
  std::vector<double> milliseconds;
  int misses = 0;

  void count(double width, double time) {
    widths.push_back(width);
    milliseconds.push_back(time);
  }
};

/// What one question was answered, in all and by regime.
struct tallies {
  tally all;
  std::map<std::string, tally> regimes;
};

template <class Ask>
auto timed(Ask const& ask, double& milliseconds) {
  std::clock_t const begin = std::clock();
  auto const found = ask();
  milliseconds = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return found;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0.0;
  auto const at = std::min(values.size() - 1,
                           static_cast<std::size_t>(share * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

std::string regime(run const& r) {
  if (r.rate == 1.0) return "unsampled";
  std::string const noise = r.sigma < 0.7 ? "small noise" : r.sigma < 5.0 ? "noise" : "large noise";
  std::string const rate = r.rate < 1e-4 ? "tiny rate" : r.rate < 0.1 ? "rate" : "large rate";
  return rate + ", " + noise + (r.steps <= 50 ? ", few steps" : "");
}

void print(std::string const& name, tally const& t) {
  auto const narrow =
      std::count_if(t.widths.begin(), t.widths.end(), [](double w) { return w <= 1e-9; });
  std::printf(
      "| %s | %zu | %d | %.1f %% | %.1e | %.1e | %.1e | %.2f | %.1f | %.0f |\n", name.c_str(),
      t.widths.size(), t.misses,
      100.0 * static_cast<double>(narrow) / std::max(1.0, static_cast<double>(t.widths.size())),
      quantile(t.widths, 0.5), quantile(t.widths, 0.99), quantile(t.widths, 1.0),
      quantile(t.milliseconds, 0.5), quantile(t.milliseconds, 0.99), quantile(t.milliseconds, 1.0));
}

// What times may be compared with on other processors: milliseconds of a million exponentials.
double million_exponentials() {
  double milliseconds = 0.0;
  double const sum = timed(
      [] {
        double all = 0.0;
        for (int k = 0; k < 1'000'000; ++k) all += std::exp(-1e-6 * k);
        return all;
      },
      milliseconds);
  return sum > 0.0 ? milliseconds : 0.0;
}

void describe(char const* what, run const& r, bound<double> const& found) {
  std::printf("%s: rate %.17g, noise multiplier %.17g, %llu steps, delta %.17g: [%.17g, %.17g]\n",
              what, r.rate, r.sigma, static_cast<unsigned long long>(r.steps), r.delta, found.lower,
              found.upper);
}

void print(char const* question, tallies const& of) {
  std::printf(
      "\n%s\n\n| regime | runs | misses | width <= 1e-9 | median width | 99 %% | worst | "
      "median ms | 99 %% | worst |\n|---|---|---|---|---|---|---|---|---|---|\n",
      question);
  for (auto const& [name, t] : of.regimes) print(name, t);
  print("all", of.all);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t const seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  int const count = argc > 2 ? std::atoi(argv[2]) : 2000;
  referee::box draw(seed);
  tallies epsilons;
  tallies deltas;
  double widest = 0.0;
  double slowest = 0.0;
  std::printf("seed %llu, %d runs; a million exponentials take %.1f ms\n\n",
              static_cast<unsigned long long>(seed), count, million_exponentials());
  for (int k = 0; k < count; ++k) {
    run const r = draw.next();
    bound<double> found{0.0, 0.0};
    auto const miss_of = [&](tallies& of, char const* what) {
      describe(what, r, found);
      ++of.all.misses;
      ++of.regimes[regime(r)].misses;
    };
    auto const miss = [&](char const* what) { miss_of(epsilons, what); };
    try {
      double time = 0.0;
      auto account = privacy_loss_accountant();
      found = timed([&] { return account.compose(r.release(), r.steps).epsilon(r.delta); }, time);
      double const width = (found.upper - found.lower) / std::max(1.0, found.upper);
      epsilons.all.count(width, time);
      epsilons.regimes[regime(r)].count(width, time);
      if (width > std::max(widest, 1e-9)) describe("widest so far", r, found);
      if (time > std::max(slowest, 100.0)) describe("slowest so far", r, found);
      widest = std::max(widest, width);
      slowest = std::max(slowest, time);

      if (!(found.lower <= found.upper) || found.lower < 0.0) miss("no interval");
      double const renyi = renyi_accountant().compose(r.release(), r.steps).epsilon(r.delta).upper;
      if (!(found.lower <= renyi)) miss("lower end above Renyi's upper end");
      if (!(found.upper <= renyi * (1.0 + 1e-12))) miss("upper end above Renyi's");
      if (k % 7 == 0 && r.steps > 1) {
        auto parts = privacy_loss_accountant().compose(r.release(), r.steps / 3);
        parts.compose(r.release(), r.steps - r.steps / 3);
        if (!meet(found, parts.epsilon(r.delta))) miss("in two parts the answers do not meet");
      }

      // Less than δ at the upper end, more than δ at the lower one.
      if (!(found.upper > 0.0)) continue;
      bound<double> const above = timed([&] { return account.delta(found.upper); }, time);
      double const relative = (above.upper - above.lower) / above.upper;
      deltas.all.count(relative, time);
      deltas.regimes[regime(r)].count(relative, time);
      if (!(above.lower <= above.upper)) miss_of(deltas, "no interval of delta");
      if (!(above.lower <= r.delta)) miss_of(deltas, "delta at the upper end of epsilon");
      if (found.lower > 0.0 && !(account.delta(found.lower).upper >= r.delta)) {
        miss_of(deltas, "delta at the lower end of epsilon");
      }
    } catch (std::exception const& error) {
      miss(error.what());
    }
  }
  print("epsilon at delta", epsilons);
  print("delta at that epsilon", deltas);
  return epsilons.all.misses + deltas.all.misses > 0 ? 1 : 0;
}
