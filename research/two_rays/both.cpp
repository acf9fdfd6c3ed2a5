// add and remove: at epsilon = 0 both are the total variation; elsewhere against the T = 1 closed form, and add <= ... prints both
#include "solve.hpp"

#include <cstdio>
using namespace tacit::nogrid;
int main() {
  double q, s, d, lo, hi, ms;
  unsigned long long T;
  int by;
  int n = 0, bad = 0, none = 0, wide = 0;
  while (std::scanf("%lf %lf %llu %lf %lf %lf %d %lf", &q, &s, &T, &d, &lo, &hi, &by, &ms) == 8) {
    composition w;
    w.events.push_back({q, 1 / s, (double)T});
    for (double eps : {0.0, lo > 0 ? .3 * lo : .01}) {
      if (eps >= w.base()) continue;
      auto r = log_delta(w, direction::remove, eps), a = log_delta(w, direction::add, eps);
      ++n;
      if (!r || !a) {
        ++none;
        printf("none %g %g %llu eps %g remove %d add %d\n", q, s, T, eps, (bool)r, (bool)a);
        continue;
      }
      bool meet = r->log_lower <= a->log_upper && a->log_lower <= r->log_upper;
      if (r->log_upper - r->log_lower > 1e-6 || a->log_upper - a->log_lower > 1e-6) ++wide;
      if (eps == 0 && !meet) {
        ++bad;
        printf("DISJOINT ");
      }
      printf("%g %g %llu eps %.4g remove %.13g +%.1g st %d b %d add %.13g +%.1g st %d b %d %s\n", q,
             s, T, eps, r->log_lower, r->log_upper - r->log_lower, r->stage, r->builds,
             a->log_lower, a->log_upper - a->log_lower, a->stage, a->builds, meet ? "meet" : "");
    }
  }
  printf("asked %d none %d wide %d disjoint %d\n", n, none, wide, bad);
}
