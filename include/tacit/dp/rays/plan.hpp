// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/dp/rays/tails.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

/// Where the rays should cross the real axis, and which losses to take apart: proposals only, no bound rests on
/// them.
///
/// Rounding and the rules' errors are relative to Σ|terms|, which may be far above D where a few rare steps make
/// it: the many small losses are in every term. Windows a₁ < a₂ < … then split D into levels,
///
///   D = D[small a₁] + Σ_j (D[small a_{j+1}] − D[small a_j]) + (D − D[small a_n]),
///
/// every summand ≥ 0, each on a ray of its own; the first is bounded by Chernoff, the last by `log_far`.

namespace tacit::detail::rays {

struct plan {
  std::vector<crossing> levels;
  double log_goal;   // what may be wrong, of D
  double log_error;  // predicted for the worst level
  double log_line;   // ∫|F| on the vertical lines, about, as it is bounded
  double log_rest;   // above D of what is small for the lowest cut, at G
  double rest_tilt;  // and e^{−rest_tilt·ΔG} times that at G + ΔG
  double log_far;    // above δ of what is large for the highest cap
};

/// Moments on the real axis and sizes on the lines γ and top, on a coarse grid without errors.
template <std::same_as<double> T = double>
class planner {
 public:
  /// `few` is a sketch of `what`. It is asked for where to cross; what is left out is bounded for all.
  planner(composition const& what, composition const& few, orientation towards, angles const& a,
          work_budget& work)
      : what_(&what),
        towards_(towards),
        power_(window::largest_angle / a.top),
        gamma_(a.gamma),
        top_(a.top),
        cosine_on_line_(elementary::cos(power_ * gamma_)),
        cosine_on_top_(elementary::cos(power_ * top_)),
        moments_(what, std::min(0.5, a.top)),
        far_(what),
        work_(&work) {
    for (sampled_gaussian const& e : few.events) tabulate(e);
    for (one const& o : events_) nodes_ += static_cast<double>(o.nodes.size());
  }

  /// The rules' step, and the relative error of one weight, about.
  void set(double step, double noise) {
    log_noise_ = elementary::log(noise);
    alias_ = 2.0 * std::numbers::pi * (top_ - gamma_) / step + log_noise_;
  }

  /// For errors of e^{log_goal} in D(G). `c`: where the ray of a similar question crossed, or NaN.
  [[nodiscard]] std::optional<plan> make(double G, double log_goal, int most_levels, double c);

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  struct node {
    double g, log_g, log_weight, weight;
    double turned, log_turned;               // Re g and log|weight| on the line γ
    double raised, log_raised;               // and on the line top
    double kept, log_kept;                   // small_cap, and its logarithm
    double log_cap_on_line, log_cap_on_top;  // its size on γ and top
    double log_part, log_top;                // and that of the part that counts
  };
  struct one {
    double count;
    std::vector<node> nodes;
  };

  void tabulate(sampled_gaussian const& e) {
    law<double> const l(e);
    double const s = l.deviation, mean = l.mean + l.rest;
    double const step = std::min(0.4 * s, 0.8 / power_);
    double const norm = elementary::log(step / (s * constants::root_two_pi<double>()));
    complex<double> const turn = polar(1.0, gamma_), up = polar(1.0, top_);
    auto const exponent = [&](complex<double> const& g) {
      complex<double> const y = log_ratio(g);
      double const x = (y.re - mean) / s, im = y.im / s;
      return norm - 0.5 * (x * x - im * im);
    };
    one o{e.count, {}};
    double stride = step;
    for (double y = mean - 8.5 * s; y < 1e5; y += stride) {
      // far out the steps grow: there it is only to be seen where e^{cg} beats the normal law
      if (y > mean + 22.0 * s) stride *= 1.2;
      double const x = (y - mean) / s, g = elementary::exp(log_softplus(y));
      o.nodes.push_back({g, elementary::log(g), norm - 0.5 * x * x,
                         elementary::exp(norm - 0.5 * x * x), g * turn.re, exponent(g * turn),
                         g * up.re, exponent(g * up), 1.0, 0.0, 0.0, 0.0, 0.0, 0.0});
    }
    events_.push_back(std::move(o));
  }

  // The logarithm of a bound on |small| at x above the cut, or on |large| at x below it, where w = 2 sinh(λx) cos(λθ).
  [[nodiscard]] static double log_window(double w) {
    return window_bound::whole_from(std::abs(w)) - std::max(w, 0.0);
  }
  // 2 sinh(λx); beyond e^6 the windows are 0 or 1.
  [[nodiscard]] double exponent(double x) const {
    double const y = power_ * x;
    return y > 6.0 ? 1e300 : y < -6.0 ? -1e300 : 2.0 * elementary::sinh(y);
  }

  void set_cap(window const& cap) {
    if (cap.log_cut == cap_) return;
    cap_ = cap.log_cut;
    (void)work_->spend(100.0 * nodes_);
    for (one& o : events_) {
      for (node& n : o.nodes) {
        double const w = cap.all() ? -1e300 : exponent(n.log_g - cap_);
        n.kept = w < -40.0 ? 1.0 : w > 40.0 ? 0.0 : 1.0 / (1.0 + elementary::exp(w));
        n.log_kept = w < -40.0 ? 0.0 : w > 30.0 ? -w : elementary::log(n.kept);
        n.log_cap_on_line = w < -150.0 ? 0.0 : log_window(w * cosine_on_line_);
        n.log_cap_on_top = w < -150.0 ? 0.0 : log_window(w * cosine_on_top_);
      }
    }
  }
  void set_windows(window const& cap, window const& cut) {
    set_cap(cap);
    cutting_ = !cut.all();
    if (cutting_) (void)work_->spend(50.0 * nodes_);
    for (one& o : events_) {
      for (node& n : o.nodes) {
        n.log_part = n.log_cap_on_line;
        n.log_top = n.log_cap_on_top;
        if (!cutting_) continue;
        double const w = exponent(cut.log_cut - n.log_g);
        if (w < -150.0) continue;
        n.log_part = std::min(n.log_part, log_window(w * cosine_on_line_));
        n.log_top = std::min(n.log_top, log_window(w * cosine_on_top_));
      }
    }
  }

  // log H(a) summed up, with small_cap.
  [[nodiscard]] double log_moment(double a) const {
    double k = 0.5 * what_->variance * a * (a - 1.0);
    for (one const& o : events_) {
      double h = 0.0;
      for (node const& n : o.nodes) h += moment(n, a);
      k += o.count * elementary::log1p(h);
    }
    return k;
  }
  [[nodiscard]] static double moment(node const& n, double a) {
    double const z = a * n.g;
    if (z < 1.0) return small_moment(n, z);
    return exp_above(n.log_weight + z + n.log_kept, -60.0) - n.weight;
  }
  [[nodiscard]] static double small_moment(node const& n, double z) {
    double const grown = std::abs(z) < 1e-3 ? z + 0.5 * z * z : elementary::expm1(z);
    return n.weight * (grown * n.kept - (1.0 - n.kept));
  }
  [[nodiscard]] static double exp_above(double x, double least) {
    return x > least ? elementary::exp(std::min(x, 700.0)) : 0.0;
  }

  // How much Ψ at a is off where the weights have a relative error of 1, as a logarithm.
  [[nodiscard]] double log_rough(double a) const {
    double k = 0.5 * what_->variance * a * (a - 1.0);
    double whole = 0.0, part = 0.0, size = 0.0;  // of H, of the part above the cut, and that part
    for (one const& o : events_) {
      double h = 0.0, all = 0.0, large = 0.0, alias = 0.0;
      // Terms below e^{-35} of the largest so far are left out.
      double lowest = -60.0, lowest_alias = -60.0;
      for (node const& n : o.nodes) {
        double const z = a * n.g, share = std::min(1.0, std::abs(z));
        double const t = n.log_turned + a * n.turned + n.log_part;
        double const up = n.log_raised + a * n.raised - alias_ + n.log_top;
        if (t > 600.0 || up > 600.0) return infinity;
        lowest = std::max(lowest, t - 35.0);
        lowest_alias = std::max(lowest_alias, up - 35.0);
        alias += exp_above(up, lowest_alias);
        double const on_line = exp_above(t, lowest);
        if (z < 1.0) {
          h += small_moment(n, z);
          if (cutting_) all += share * n.weight * (1.0 + z) * n.kept;
        } else {
          double const moderate = exp_above(n.log_weight + z + n.log_kept, -60.0);
          h += moderate - n.weight;
          if (cutting_) all += moderate;
        }
        if (cutting_) {
          large += on_line;
        } else {
          all += share * on_line;
        }
      }
      if (!(h > -1.0 && h < 1e250)) return infinity;
      k += o.count * elementary::log1p(h);
      double const count = o.count / (1.0 + h);
      whole += count * all;
      part += count * (large + alias);
      size += count * large;
    }
    double const rough = cutting_ ? part + std::min(1.0, size) * whole : 1.0 + whole + part;
    return k + elementary::log(rough);
  }

  // The crossing that belongs to s, and the error there.
  [[nodiscard]] double tilt(double s) const {
    return towards_ == orientation::remove ? 1.0 + elementary::exp(s) : -elementary::exp(s);
  }
  [[nodiscard]] double error(double s, double G) const {
    if (!work_->spend(30.0 * nodes_)) return infinity;
    double const a = tilt(s);
    double const v = log_rough(a) - a * G -
                     elementary::log(std::abs(towards_ == orientation::remove ? a : a - 1.0));
    return v == v ? v : infinity;
  }

  struct least {
    double s;
    double value;
  };
  // The best of some starts, as there may be several minima.
  [[nodiscard]] double coarse(double G, double start) const {
    least best{start, error(start, G)};
    for (double s = start - 6.0; s < start + 8.0; s += 2.0) {
      double const value = error(s, G);
      if (value < best.value) best = {s, value};
    }
    return best.s;
  }
  [[nodiscard]] least minimise(double G, double start) const {
    least best{start, error(start, G)};
    while (best.value == infinity && best.s > -12.0) best = {best.s - 1.0, error(best.s - 1.0, G)};
    double stride = 0.7;
    for (double const way : {-1.0, 1.0}) {
      bool moved = false;
      for (double s = best.s + way * stride; s > -12.0 && s < 14.0; s += way * stride) {
        double const value = error(s, G);
        if (!(value < best.value)) break;
        best = {s, value};
        moved = true;
      }
      if (moved) break;
    }
    for (int i = 0; i < 3; ++i) {
      stride *= 0.4;
      double const left = error(best.s - stride, G), right = error(best.s + stride, G);
      if (left < best.value && left <= right) {
        best = {best.s - stride, left};
      } else if (right < best.value) {
        best = {best.s + stride, right};
      }
    }
    return best;
  }

  // c, and how far around it F grows by little.
  [[nodiscard]] crossing crossing_at(least const& at, double G, window const& cap,
                                     window const& cut) const {
    double const c = tilt(at.s), poles = elementary::exp(at.s);
    auto const size = [&](double a) { return log_rough(a) - a * G; };
    double const here = size(c);
    double reach = 0.5 * poles;
    for (int i = 0; i < 20 && !(std::max(size(c - reach), size(c + reach)) < here + 1.5); ++i)
      reach *= 0.5;
    return {c, reach, cap, cut};
  }

  void add_level(plan& to, least const& at, double G, window const& cap, window const& cut) const {
    crossing const& q = to.levels.emplace_back(crossing_at(at, G, cap, cut));
    to.log_error = std::max(to.log_error, at.value + log_noise_);
    to.log_line = std::max(to.log_line, log_moment(q.c) - q.c * G -
                                            0.5 * elementary::log(std::abs(q.c * (q.c - 1.0))));
  }

  composition const* what_;
  orientation towards_;
  double log_noise_ = 0.0;
  double power_;
  double gamma_;
  double top_;
  double cosine_on_line_;  // of the windows' angles
  double cosine_on_top_;
  double cap_ = infinity;  // which cap the nodes have
  double alias_ = 0.0;
  real_line<T> moments_;
  far_jumps<> far_;
  work_budget* work_;
  std::vector<one> events_;
  double nodes_ = 0.0;  // of all
  bool cutting_ = false;
};

template <std::same_as<double> T>
std::optional<plan> planner<T>::make(double G, double log_goal, int most_levels, double c) {
  if (!(G > 0.0)) return std::nullopt;
  bool const remove = towards_ == orientation::remove;
  plan out{{}, log_goal, -infinity, -infinity, -infinity, 0.0, -infinity};
  window const none{infinity, power_};
  window cap = none;
  double const shift = remove ? G - static_cast<double>(base(*what_)) : 0.0;  // log(δ/D)
  double reach = 0.0;
  for (one const& o : events_) reach = std::max(reach, o.nodes.back().log_g);
  if (remove) {  // the least cap above which nothing matters
    double low = elementary::log(1e-3 * G);
    for (double high = reach; high - low > 0.25;) {
      double const x = cap.all() ? high : 0.5 * (low + high);
      double const beyond = far_.log_bound({x, power_});
      if (beyond > log_goal + shift - 1.0) {
        if (cap.all()) break;
        low = x;
      } else {
        cap.log_cut = high = x;
        out.log_far = beyond;
      }
    }
  }
  double s = elementary::log(std::clamp(2.0 / G, 1e-2, 1e5));
  bool const known = c == c;
  if (known) s = elementary::log(remove ? c - 1.0 : -c);
  for (int level = 1;; ++level) {
    if (work_->ended()) return std::nullopt;
    set_windows(cap, none);
    least const whole = minimise(G, level == 1 && !known ? coarse(G, s) : s);
    double const predicted = whole.value + log_noise_;
    if (predicted <= log_goal || !remove) {
      add_level(out, whole, G, cap, none);
      return out;
    }
    if (level == most_levels && most_levels == 1) return std::nullopt;
    // the lowest cut that leaves the losses above precise
    window cut = none;
    least found{whole.s, infinity};
    double start = whole.s;
    bool ends = false;
    for (double x = std::min(elementary::log(2.0 * G), cap.log_cut - 0.4);
         x > elementary::log(1e-3 * G); x -= 0.47) {
      if (work_->ended()) return std::nullopt;
      set_windows(cap, {x, power_});
      least const next = minimise(G, start);
      if (next.value + log_noise_ > log_goal && !cut.all()) break;
      cut.log_cut = x;
      found = next;
      start = next.s;
      if (x < elementary::log(0.7 * G)) {  // what is below may be nothing
        set_windows(cut, none);
        double best = infinity, at = 2.0;
        for (double t = 1.0 + 0.5 * elementary::exp(-x); t < 1e12; t = 1.0 + (t - 1.0) * 1.5) {
          if (!work_->spend(20.0 * nodes_)) return std::nullopt;
          double const value = log_moment(t) - t * G -
                               (t - 1.0) * elementary::log1p(1.0 / (t - 1.0)) - elementary::log(t);
          if (!(value < best + 1.0)) break;
          if (value < best) best = value, at = t;
        }
        if (best < log_goal) {
          if (!work_->take(moments_.cost())) return std::nullopt;
          out.log_rest = moments_.log_chernoff(at, G, cut);
          out.rest_tilt = at;
          ends = out.log_rest < log_goal + 1.0;
          if (ends) break;
        }
      }
      if (next.value + log_noise_ > log_goal) break;
    }
    if (cut.all()) return std::nullopt;
    set_windows(cap, cut);
    add_level(out, found, G, cap, cut);
    if (ends) return out;
    if (level == most_levels) return std::nullopt;
    cap = cut;
    s = found.s;
  }
}

}  // namespace tacit::detail::rays
