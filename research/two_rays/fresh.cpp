// Fresh random points of the failing class (sigma .3..5, T q <= 10, T > 1): widths, cpu times, never above Renyi, add below remove.
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/renyi.hpp>

#include "solve.hpp"

#include <cstdio>
#include <ctime>
#include <random>
using namespace tacit::nogrid;
int main(int, char** v) {
  std::mt19937_64 g(std::strtoull(v[1], nullptr, 10));
  int const n = std::atoi(v[2]);
  auto lu = [&](double a, double b) {
    return std::exp(std::uniform_real_distribution<double>(std::log(a), std::log(b))(g));
  };
  int done = 0, narrow = 0, none = 0, above = 0, zero = 0;
  for (int i = 0; done < n; ++i) {
    double const q = lu(1e-6, .95), s = lu(.3, 5), d = lu(1e-15, .05);
    double const T = std::floor(lu(2, 1e6));
    if (q * T > 10) continue;
    composition w;
    w.events.push_back({q, 1 / s, T});
    // total variation at most d?
    if (T * q * std::erf(1 / (s * std::sqrt(8.0))) <= d) {
      ++zero;
      continue;
    }
    ++done;
    auto t0 = std::clock();
    auto const a = solve(w, direction::remove, d, first_guess(w, d));
    double const ms = 1e3 * double(std::clock() - t0) / CLOCKS_PER_SEC;
    if (!a) {
      ++none;
      std::printf("none %.17g %.17g %g %.17g ms %.1f\n", q, s, T, d, ms);
      continue;
    }
    double const wd = (a->epsilon.upper - a->epsilon.lower) / std::max(1.0, a->epsilon.upper);
    narrow += wd <= 1e-9;
    tacit::renyi_accountant y(tacit::adjacency::add_remove);
    y.compose(tacit::sampled(tacit::gaussian{s}, tacit::poisson{q}), (std::uint64_t)T);
    double const r = y.epsilon(d).upper;
    bool const over = a->epsilon.upper > r * (1 + 1e-12) + 1e-12;
    above += over;
    std::printf("%s%s %.17g %.17g %g %.17g [%.15g %.15g] w %.2g rdp %.6g ms %.1f st %d b %d\n",
                wd <= 1e-9 ? "narrow" : "WIDE", over ? " ABOVE" : "", q, s, T, d, a->epsilon.lower,
                a->epsilon.upper, wd, r, ms, a->stage, a->builds);
    std::fflush(stdout);
  }
  std::printf("asked %d narrow %d none %d above_renyi %d (zero by variation %d)\n", done, narrow,
              none, above, zero);
}
