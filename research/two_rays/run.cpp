#include "solve.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
using namespace tacit::nogrid;
// reads lines of classify.txt; argument: truth interval midpoints used as the start if "cheat"
int main(int argc, char** v) {
  bool cheat = argc > 1 && !std::strcmp(v[1], "cheat");
  double q, s, d, lo, hi, ms;
  unsigned long long T;
  int by;
  while (std::scanf("%lf %lf %llu %lf %lf %lf %d %lf", &q, &s, &T, &d, &lo, &hi, &by, &ms) == 8) {
    if (hi == 0) continue;
    composition w;
    w.events.push_back({q, 1 / s, (double)T});
    auto t0 = std::clock();
    double st = cheat ? .5 * (lo + hi) : first_guess(w, d);
    auto a = solve(w, direction::remove, d, st);
    double t = 1e3 * double(std::clock() - t0) / CLOCKS_PER_SEC;
    if (!a) {
      printf("FAIL %.17g %.17g %llu %.17g [%.12g %.12g] old %d start %.6g ms %.2f\n", q, s, T, d,
             lo, hi, by, st, t);
      continue;
    }
    double wd = (a->epsilon.upper - a->epsilon.lower) / std::max(1.0, a->epsilon.upper);
    bool miss = a->epsilon.lower > hi || a->epsilon.upper < lo;
    printf(
        "%s %s %.17g %.17g %llu %.17g [%.15g %.15g] w %.2g old [%.12g %.12g] w %.2g ms %.2f b %d "
        "st %d n %zu rest %.3g levels %g al %.1g en %.1g ro %.1g re %.1g start %.6g\n",
        miss ? "MISS" : "ok", wd <= 1e-9 ? "narrow" : "WIDE", q, s, T, d, a->epsilon.lower,
        a->epsilon.upper, wd, lo, hi, (hi - lo) / std::max(1.0, hi), t, a->builds, a->stage, a->n,
        a->p.rest_cut, (double)a->levels, a->last.alias / a->last.value,
        a->last.ends / a->last.value, a->last.rounding / a->last.value,
        a->last.rest / a->last.value, st);
  }
}
