#pragma once
#include "nogrid.hpp"

#include <cstdint>
namespace tacit::nogrid {

inline double one_jump(composition const& w, double epsilon) {
  double sum = 0;
  for (event const& e : w.events) {
    double const G = epsilon + w.base();
    double const strike = std::log(std::expm1(G));
    law<double> const l(e);
    double const d = (l.m - strike) / l.s;
    auto phi = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
    double const value = e.rate / (1 - e.rate) * phi(d + l.s) - std::expm1(G) * phi(d);
    sum += e.count * std::max(value, 0.0) * std::exp(-w.base());
  }
  return std::log(std::max(sum, 1e-320));
}

struct plan {
  std::vector<ray_parameters> levels;
  double rest_cut = 0, rest_tilt = 0;
  std::vector<double> predicted;
  double far = -infinity, far_cap = infinity;
};

struct planner {
  double noise_unit;
  composition const& w;
  direction towards;
  angles at;
  search_table table;
  mutable long evals = 0;
  planner(composition const& what, direction d, angles const& a, double unit_ = 1.6e-13)
      : noise_unit(unit_), w(what), towards(d), at(a), table(what, a, unit_) {}
  double G(double eps) const {
    return towards == direction::remove ? w.base() + eps : w.base() - eps;
  }
  double f(double s, double g) const {
    ++evals;
    double const a = towards == direction::remove ? 1 + std::exp(s) : -std::exp(s);
    double const v =
        table.noise(a) - a * g - std::log(std::abs(towards == direction::remove ? a : a - 1));
    return v == v ? v : infinity;
  }
  std::pair<double, double> minimise(double g, double start) const {
    double at = start, stride = 0.7, best = f(at, g);
    while (best == infinity && at > -9) {
      at -= 1.0;
      best = f(at, g);
    }
    for (int way : {-1, 1}) {
      bool moved = false;
      for (double x = at + way * stride; x > -7 && x < 14; x += way * stride) {
        double y = f(x, g);
        if (y < best) {
          best = y;
          at = x;
          moved = true;
        } else
          break;
      }
      if (moved) break;
    }
    for (int i = 0; i < 3; ++i) {
      stride *= 0.4;
      double l = f(at - stride, g), r = f(at + stride, g);
      if (l < best && l <= r) {
        best = l;
        at -= stride;
      } else if (r < best) {
        best = r;
        at += stride;
      }
    }
    return {at, best};
  }
  std::pair<double, double> rest(double g, double cut) {
    table.set_window(0.0, cut);
    double best = infinity, tt = 2;
    for (double t = 1 + 0.5 / cut; t < 1e12; t = 1 + (t - 1) * 1.5) {
      ++evals;
      double const x = table.log_small(t) - t * g - (t - 1) * std::log1p(1 / (t - 1)) - std::log(t);
      if (!(x == x)) break;
      if (x < best) {
        best = x;
        tt = t;
      } else if (x > best + 1)
        break;
    }
    return {best, tt};
  }
  // log_goal: log of the absolute error allowed in D
  std::optional<plan> make(double eps, double log_goal) {  // changes the window only
    double const g = G(eps);
    if (!(g > 0)) return std::nullopt;
    plan out;
    double const noise = std::log(noise_unit);
    double cap = infinity;
    if (towards == direction::remove) {
      // far jumps: the least cap that loses nothing that matters
      double reach = 0;
      for (event const& e : w.events) {
        law<double> const l(e);
        reach = std::max(reach, std::exp(detail::log_softplus(l.m + 22 * l.s)));
      }
      for (double x = reach; x > 1e-3 * g; x /= 1.25) {
        double const b = log_far(w, towards, eps, x, at.power);
        if (b > log_goal - 1.0) break;
        cap = x;
        out.far = b;
      }
      if (cap == infinity) {
      }
    }
    out.far_cap = cap;
    auto tilt = [&](double s) {
      return towards == direction::remove ? 1 + std::exp(s) : -std::exp(s);
    };
    double s = std::log(std::clamp(2.0 / g, 1e-2, 1e5));
    for (int level = 0; level < 12; ++level) {
      table.set_window(0.0, cap);
      auto [s0, v0] = minimise(g, s);
      if (v0 + noise <= log_goal || towards == direction::add) {
        out.levels.push_back({at, tilt(s0), 0.0, cap});
        out.predicted.push_back(v0 + noise);
        return out;
      }
      // the lowest cut that is still precise
      double cut = 0, s_cut = 0, v_cut = 0;
      double const first = std::min(2.0 * g, cap / 1.5);
      double sl = s0;
      for (double x = first; x > 1e-3 * g; x /= 1.6) {
        table.set_window(x, cap);
        auto [s1, v1] = minimise(g, sl);
        if (v1 + noise > log_goal && cut > 0) break;
        cut = x;
        s_cut = s1;
        v_cut = v1;
        sl = s1;
        if (x < 0.7 * g) {
          auto [b, t] = rest(g, x);
          if (b < log_goal) {
            out.rest_cut = x;
            out.rest_tilt = t;
            break;
          }
        }
        if (v1 + noise > log_goal) break;
      }
      if (!(cut > 0)) return std::nullopt;
      out.levels.push_back({at, tilt(s_cut), cut, cap});
      out.predicted.push_back(v_cut + noise);
      if (out.rest_cut > 0) return out;
      cap = cut;
      s = s_cut;
    }
    return std::nullopt;
  }
};

template <class R>
struct rays {
  std::vector<ray<R>> levels;
  double log_rest = -infinity, rest_tilt = 0, G0 = 0, log_far = -infinity;
};
template <class R>
inline std::optional<rays<R>> build_all(composition const& w, direction d, double eps,
                                        plan const& p, double tol) {
  rays<R> out;
  for (auto const& q : p.levels) {
    auto r = build<R>(w, d, eps, q, tol);
    if (!r) return std::nullopt;
    out.G0 = r->G0;
    out.levels.push_back(std::move(*r));
  }
  if (p.rest_cut > 0) {
    out.log_rest =
        log_rest(w, out.G0, p.rest_cut, p.rest_tilt, p.levels[0].at.step, p.levels[0].at.power);
    out.rest_tilt = p.rest_tilt;
  }
  out.log_far = p.far + (d == direction::remove ? eps : 0.0);
  return out;
}
template <class R>
inline profile integrate(rays<R> const& r, double eps) {
  profile out{};
  bool first = true;
  for (ray<R> const& one : r.levels) {
    profile p = integrate(one, eps);
    if (first) {
      out = p;
      first = false;
      continue;
    }
    double const k = std::exp(p.log_scale - out.log_scale);
    out.value += k * p.value;
    out.below += k * p.below;
    out.above += k * p.above;
    out.slope += k * p.slope;
    out.alias += k * p.alias;
    out.ends += k * p.ends;
    out.rounding += k * p.rounding;
  }
  if (r.log_rest > -infinity) {
    double const G = r.levels[0].G(eps);
    double const shift = r.levels[0].towards == direction::remove ? eps : 0.0;
    out.rest = std::exp(r.log_rest - r.rest_tilt * (G - r.G0) + shift - out.log_scale);
    out.above += out.rest;
  }
  if (r.log_far > -infinity) {
    double const f = std::exp(r.log_far - out.log_scale);
    out.rest += f;
    out.above += f;
  }
  return out;
}

struct answer {
  interval epsilon;
  int builds;
  int levels;
  profile last;
  std::size_t n;
  int stage;
  plan p;
  long evals;
  double tilt;
};

struct configuration {
  angles at;
  bool wide;
  double noise_unit;
};
inline std::vector<configuration> const& menu() {
  static std::vector<configuration> const m = [] {
    std::vector<configuration> out;
    auto const put = [&](double s, bool wide) {
      double const step = wide ? 3.0 / 128 : 1.0 / 32;
      out.push_back(
          {{0.15 * s, 0.4 * s, 0.6 * s, s * step, 0.7 / (0.6 * s)}, wide, wide ? 8e-17 : 1.6e-13});
    };
    put(1.0, false);
    put(0.5, false);
    put(1.0, true);
    put(0.5, true);
    put(0.25, false);
    put(0.25, true);
    put(0.125, true);
    return out;
  }();
  return m;
}

struct outcome {
  double epsilon;
  profile p;
  interval ends;
  bool certified;
  std::size_t n;
  bool found;
};

/// epsilon at delta on given rays, by Newton from start
template <class R>
inline std::optional<outcome> root(rays<R> const& r, double log_delta, double start, double most) {
  double e = start;
  profile p{};
  for (int i = 0; i < 40; ++i) {
    p = integrate(r, e);
    if (!(p.value > 0 && p.slope > 0)) {
      NOGRID_WHY("  no value %g slope %g above %g\n", p.value, p.slope, p.above);
      return outcome{e, integrate(r, start), {0.0, infinity}, false, 0, false};
    }
    double const miss = p.log_scale + std::log(p.value) - log_delta;
    double next = e + miss * p.value / p.slope;
    if (next < 0) next = 0.5 * e;
    if (next >= most) next = 0.5 * (e + most);
    if (std::abs(next - e) <= 1e-15 * std::abs(next)) {
      e = next;
      break;
    }
    e = next;
  }
  if (!(e == e)) return std::nullopt;
  p = integrate(r, e);
  outcome out{e, p, {0, infinity}, true, r.levels[0].point.size(), true};
  double const shift = static_cast<double>(r.levels[0].rounding_G) * r.G0;  // G itself
  double lo = e, hi = e;
  for (double k = 1;; k *= 1.5) {
    hi = e + std::max(k * p.above / p.slope, 4 * u * e * k);
    if (hi >= most) {
      hi = most;
      break;
    }
    profile t = integrate(r, hi);
    if (t.log_scale + std::log(t.value + t.above) <= log_delta) break;
    if (k > 50) {
      out.certified = false;
      break;
    }
  }
  for (double k = 1;; k *= 1.5) {
    lo = e - std::max(k * p.below / p.slope, 4 * u * e * k);
    if (lo <= 0) {
      lo = 0;
      break;
    }
    profile t = integrate(r, lo);
    if (t.value > t.below && t.log_scale + std::log(t.value - t.below) >= log_delta) break;
    if (k > 50) {
      out.certified = false;
      break;
    }
  }
  if (lo == 0.0) {
    profile const t = integrate(r, 0.0);
    if (t.value + t.above > 0.0 && t.log_scale + std::log(t.value + t.above) <= log_delta) {
      out.ends = {0.0, 0.0};
      out.certified = true;
      return out;
    }
  }
  if (out.certified) out.ends = {std::max(0.0, lo - shift), hi + shift};
  return out;
}

inline std::optional<answer> solve(composition const& w, direction d, double delta, double start) {
  double const log_delta = std::log(delta);
  answer out{};
  out.epsilon = {0.0, infinity};
  double eps = start, tilt = 1.0;
  auto const& all = menu();
  double const most = d == direction::add ? w.base() : infinity;
  std::optional<answer> best;
  std::vector<std::optional<planner>> planners(all.size());
  int draft = 1;  // while > 0 the root is not known
  double inflate[2] = {1.0, 1.0};
  std::vector<int> tries(all.size(), 0);
  bool last_resort = false;
  for (std::size_t stage = 0, round = 0; round < 40; ++round) {
    if (stage >= all.size()) {
      // what is predicted not to be enough may be narrower all the same
      if (last_resort || !best) break;
      last_resort = true;
      inflate[0] = inflate[1] = 1.0;
      stage = 3;
    }
    configuration const& how = all[stage];
    if (last_resort && !how.wide) {
      ++stage;
      continue;
    }
    if (!planners[stage]) {
      planners[stage].emplace(w, d, how.at, how.noise_unit);
    }
    planner& pl = *planners[stage];
    pl.noise_unit = how.noise_unit * inflate[how.wide];
    double const log_goal =
        log_delta - (d == direction::remove ? eps : 0.0) +
        (draft > 0 ? std::log(1e-3) : std::log(2e-10 * std::max(1.0, tilt) * std::max(1.0, eps)));
    auto const planned = pl.make(eps, log_goal);
    double worst = infinity;
    if (planned) {
      worst = -infinity;
      for (double x : planned->predicted) worst = std::max(worst, x - log_goal);
    }
    NOGRID_WHY("stage %zu wide %d s %.3g draft %d: levels %zu worst %.3g G %.4g\n", stage, how.wide,
               how.at.alpha / .15, draft, planned ? planned->levels.size() : 0, worst, pl.G(eps));
    if (!planned || (!last_resort && worst > (draft > 0 ? 6.0 : 1.0)) ||
        planned->levels.size() > (last_resort ? 8 : 5)) {
      ++stage;
      continue;
    }
    std::optional<outcome> o;
    ++out.builds;
    if (how.wide) {
      auto r = build_all<long double>(w, d, eps, *planned, -44.0);
      if (r) o = root(*r, log_delta, eps, most);
    } else {
      auto r = build_all<double>(w, d, eps, *planned, -32.0);
      if (r) o = root(*r, log_delta, eps, most);
    }
    if (!o) {
      ++stage;
      continue;
    }
    if (!o->found) {
      // surely too far out: half way back; else the next configuration
      bool const out_of_reach = o->p.value + o->p.above > 0
                                    ? o->p.log_scale + std::log(o->p.value + o->p.above) < log_delta
                                    : true;
      if (draft > 0 && out_of_reach && draft < 14) {
        eps *= 0.6;
        ++draft;
      } else
        ++stage;
      continue;
    }
    double const moved = std::abs(o->epsilon - eps) * std::abs(o->p.slope / o->p.value);
    bool const far_off = std::abs(o->epsilon - eps) * std::abs(planned->levels.back().c) > 4.0;
    double const err = (o->p.below + o->p.above) / o->p.value;
    NOGRID_WHY(
        "  e %.12g moved %.2g value %.3g al %.2g en %.2g ro %.2g re %.2g tilt %.3g width %.2g\n",
        o->epsilon, moved, o->p.value, o->p.alias / o->p.value, o->p.ends / o->p.value,
        o->p.rounding / o->p.value, o->p.rest / o->p.value, o->p.slope / o->p.value,
        o->ends.upper - o->ends.lower);
    eps = o->epsilon;
    tilt = o->p.slope / o->p.value;
    if (!(err < 0.5) && draft > 0) {
      if (moved > 0.05 && draft < 14)
        ++draft;
      else
        ++stage;
      continue;
    }
    double const width = o->certified ? o->ends.upper - o->ends.lower : infinity;
    if (o->certified && (!best || width < best->epsilon.upper - best->epsilon.lower)) {
      best = out;
      best->epsilon = o->ends;
      best->last = o->p;
      best->levels = static_cast<int>(planned->levels.size());
      best->n = o->n;
      best->stage = static_cast<int>(stage);
      best->p = *planned;
      best->tilt = tilt;
    }
    if (width <= 1e-9 * std::max(1.0, eps)) break;
    if (draft > 0) {
      if ((moved > 2.0 || far_off) && draft < 14) {
        ++draft;
      } else {
        draft = 0;
      }
      continue;
    }
    if (moved > 0.5 && tries[stage]++ < 3) continue;
    {
      double const had = (o->p.rounding + o->p.ends + o->p.alias) *
                         std::exp(o->p.log_scale - (d == direction::remove ? eps : 0.0));
      double const ratio = had / std::exp(worst + log_goal);
      if (ratio > 1.5 && ratio < 1e12 && tries[stage]++ == 0) {
        inflate[how.wide] *= std::min(ratio, 1e4);
        continue;
      }
    }
    ++stage;
  }
  if (best) best->builds = out.builds;
  return best;
}

/// Where to start: one jump alone, or the normal law of the same variance (of jumps up to 3 deviations), whichever is larger.
inline double first_guess(composition const& w, double delta) {
  double lo = 0, hi = 1;
  double const t = std::log(delta);
  double jump = 0.0;
  if (one_jump(w, 1e-12) >= t) {
    while (one_jump(w, hi) > t && hi < 1e6) hi *= 2;
    for (int i = 0; i < 40; ++i) {
      double m = 0.5 * (lo + hi);
      (one_jump(w, m) > t ? lo : hi) = m;
    }
    jump = 0.5 * (lo + hi);
  }
  double variance = w.variance, T = 0;
  for (event const& e : w.events) {
    auto const phi = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
    variance +=
        e.count * e.rate * e.rate * std::expm1(e.shift * e.shift) * phi(3.0 - 2.0 * e.shift);
    T += e.count;
  }
  // delta of a normal law with that deviation: the root of log(mu) - z^2/2 - 2 log z ~ t
  double const mu = std::sqrt(variance);
  double z = 0.0;
  for (int i = 0; i < 20; ++i)
    z = std::sqrt(std::max(0.0, 2.0 * (std::log(mu + 1e-300) - t - 0.9 - 2.0 * std::log(1.0 + z))));
  double const normal = mu * z + 0.5 * variance;
  return std::max({jump, normal, 1e-9});
}
}  // namespace tacit::nogrid
namespace tacit::nogrid {
/// log delta(epsilon), certified, in one direction
struct delta_answer {
  double log_lower, log_upper;
  int stage, builds;
  std::size_t levels;
};
inline std::optional<delta_answer> log_delta(composition const& w, direction d, double eps) {
  auto const& all = menu();
  double guess = -3.0;
  std::optional<delta_answer> best;
  int builds = 0;
  double tilt = 1.0;
  for (std::size_t stage = 0, round = 0; stage < all.size() && round < 30; ++round) {
    planner pl(w, d, all[stage].at, all[stage].noise_unit);
    pl.noise_unit = all[stage].noise_unit;
    if (!(pl.G(eps) > 0)) return std::nullopt;
    double const shift = d == direction::remove ? eps : 0.0;
    auto const planned =
        pl.make(eps, guess - shift + std::log(round == 0 ? 1e-3 : 2e-10 * std::max(1.0, tilt)));
    if (!planned || planned->levels.size() > 5) {
      ++stage;
      continue;
    }
    std::optional<profile> p;
    ++builds;
    if (all[stage].wide) {
      auto r = build_all<long double>(w, d, eps, *planned, -44.0);
      if (r) p = integrate(*r, eps);
    } else {
      auto r = build_all<double>(w, d, eps, *planned, -32.0);
      if (r) p = integrate(*r, eps);
    }
    if (!p) {
      ++stage;
      continue;
    }
    double const upper = p->log_scale + std::log(p->value + p->above);
    if (!(p->value > 2.0 * p->below)) {
      if (upper < guess - 1.0) {
        guess = upper;
      } else
        ++stage;
      continue;
    }
    double const lower = p->log_scale + std::log(p->value - p->below);
    if (!best || upper - lower < best->log_upper - best->log_lower)
      best = delta_answer{lower, upper, static_cast<int>(stage), builds, planned->levels.size()};
    double const now = p->log_scale + std::log(p->value);
    tilt = p->slope / p->value;
    bool const near = std::abs(now - guess) < 1.0 && round > 0;
    guess = now;
    if (upper - lower < 1e-9 * std::max(1.0, tilt)) return best;
    if (near) ++stage;
  }
  return best;
}
}  // namespace tacit::nogrid
