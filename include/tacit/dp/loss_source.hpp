// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/dominating.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>
#include <variant>
#include <vector>

/// A dominating pair as the law of its loss under P: atoms, and curves along which loss and density
/// are smooth functions of a parameter. What the discretised accountant puts on its grids.

namespace tacit::detail {

inline constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2.0;

/// log((1−rate) + rate·e^t), with `rest` = 1−rate: relative accuracy near t = 0, absolute elsewhere.
[[nodiscard]] inline double mixed_loss(double t, double rate, double rest) {
  if (rest == 0.0) return t;
  if (t > 600.0) return log_add(std::log(rest), std::log(rate) + t);
  double const change = rate * std::expm1(t);
  return std::abs(change) < 0.5 ? std::log1p(change) : std::log(rest + rate * std::exp(t));
}

/// The t at which mixed_loss is `loss`; −∞ below its range.
[[nodiscard]] inline double unmixed_loss(double loss, double rate, double rest) {
  if (rest == 0.0) return loss;
  if (loss > 600.0) return loss - std::log(rate);
  double const change = std::expm1(loss) / rate;
  return change > -1.0 ? std::log1p(change) : -std::numeric_limits<double>::infinity();
}

// Each curve: parameter in [low, high], loss ascending. `roughness` D bounds the n-th derivative of
// both densities by D^n times their value, up to the order that the quadrature uses.

/// Mixture pairs, and normal ones as a mixture without rest. The parameter is x in the direction
/// `remove`, −x in the direction `add`.
struct mixture_curve {
  std::vector<mixture_pair::part> parts;
  double rest = 0.0;
  double sign = 1.0;
  double low = 0.0;
  double high = 0.0;

  [[nodiscard]] double ratio_log(double x) const {
    if (parts.size() == 1) {
      double const s = parts[0].shift;
      return mixed_loss(s * (x - 0.5 * s), parts[0].weight, rest);
    }
    double change = 0.0;
    double highest = -std::numeric_limits<double>::infinity();
    for (mixture_pair::part const& p : parts) {
      double const t = p.shift * (x - 0.5 * p.shift);
      highest = std::max(highest, t);
      if (t < 600.0) change += p.weight * std::expm1(t);
    }
    if (highest < 600.0 && std::abs(change) < 0.5) return std::log1p(change);
    double const top = std::max(highest, 0.0);
    double sum = rest * std::exp(-top);
    for (mixture_pair::part const& p : parts) {
      sum += p.weight * std::exp(p.shift * (x - 0.5 * p.shift) - top);
    }
    return top + std::log(sum);
  }
  [[nodiscard]] double loss(double t) const { return sign * ratio_log(sign * t); }
  [[nodiscard]] double log_density(double t, double at_loss) const {
    double const normal = -0.5 * t * t - 0.91893853320467274178;
    return sign > 0.0 ? at_loss + normal : normal;
  }
  [[nodiscard]] double roughness(double t) const {
    double const shift = parts.back().shift;
    return std::max(std::abs(t), std::abs(sign * t - shift)) + 4.0;
  }
  [[nodiscard]] double parameter(double at_loss, double hint) const {
    double const target = sign * at_loss;
    double const s = parts.back().shift;
    if (parts.size() == 1) {
      return sign * (unmixed_loss(target, parts[0].weight, rest) / s + 0.5 * s);
    }
    // Bisection in what is left of [low, high]; an error here moves mass by no more loss than it spans.
    double below = std::max(low, hint);
    double above = high;
    for (int k = 0; k < 60 && above - below > 1e-15 * (std::abs(above) + std::abs(below)); ++k) {
      double const middle = 0.5 * (below + above);
      (loss(middle) <= at_loss ? below : above) = middle;
    }
    return 0.5 * (below + above);
  }
};

/// The density between the atoms of a bounded pair. The parameter is the loss before sampling, or
/// minus it in the direction `add`.
struct bounded_curve {
  double epsilon = 0.0;
  double log_height = 0.0;
  double rate = 1.0;
  double sign = 1.0;
  double low = 0.0;
  double high = 0.0;

  [[nodiscard]] double loss(double t) const {
    return sign * mixed_loss(sign * t, rate, 1.0 - rate);
  }
  [[nodiscard]] double log_density(double t, double at_loss) const {
    double const base = log_height - 0.5 * (sign * t + epsilon);
    return sign > 0.0 ? at_loss + base : base;
  }
  [[nodiscard]] double roughness(double) const { return 2.0; }
  [[nodiscard]] double parameter(double at_loss, double) const {
    return sign * unmixed_loss(sign * at_loss, rate, 1.0 - rate);
  }
};

/// The profile of one noise pair: δ(ε), Q(L > ε), P(L > ε), and e^ε·δ″ (in e^ε), away from its kink.
struct noise_profile {
  amplified_pair::noise kind;
  double shift;

  [[nodiscard]] double tail_p(double e) const {
    if (kind == amplified_pair::noise::normal) {
      return 0.5 * std::erfc((e / shift - 0.5 * shift) * std::numbers::sqrt2 / 2.0);
    }
    return e < shift ? 1.0 - 0.5 * std::exp(0.5 * (e - shift)) : 0.0;
  }
  [[nodiscard]] double tail_q(double e) const {
    if (kind == amplified_pair::noise::normal) {
      return 0.5 * std::erfc((e / shift + 0.5 * shift) * std::numbers::sqrt2 / 2.0);
    }
    return e < shift ? 0.5 * std::exp(-0.5 * (e + shift)) : 0.0;
  }
  [[nodiscard]] double delta(double e) const {
    if (kind == amplified_pair::noise::normal) {
      return e == 0.0 ? std::erf(shift * std::numbers::sqrt2 / 4.0)
                      : std::max(0.0, tail_p(e) - std::exp(e) * tail_q(e));
    }
    return e < shift ? -std::expm1(0.5 * (e - shift)) : 0.0;
  }
  // The logarithm of e^ε·δ″.
  [[nodiscard]] double log_curvature(double e) const {
    if (kind == amplified_pair::noise::normal) {
      double const y = e / shift + 0.5 * shift;
      return -0.5 * y * y - 0.91893853320467274178 - std::log(shift);
    }
    return e < shift ? -0.5 * (e + shift) - 2.0 * std::numbers::ln2
                     : -std::numeric_limits<double>::infinity();
  }
};

/// One side of an amplified pair. The parameter is the noise's own ε, or minus it on the negative side,
/// where P's density is e^{−loss} times that at the mirrored loss.
///
/// With x = e^ε and x′ = 1+rate·(x−1) the profile is D(x) = rate·[(1−rate)(1−1/x)δ_a + (rate+(1−rate)/x)δ_c],
/// and P's density of ε is x′·x·D″/rate, where x²·D″/rate is what `log_density` sums up.
struct amplified_curve {
  noise_profile absent;
  noise_profile changed;
  double rate = 1.0;
  double sign = 1.0;
  double low = 0.0;
  double high = 0.0;

  [[nodiscard]] double loss(double t) const {
    return sign * mixed_loss(sign * t, rate, 1.0 - rate);
  }
  [[nodiscard]] double curvature(double e) const {
    double const out = 1.0 - rate;
    double const less = std::exp(-e);
    return out * -std::expm1(-e) * std::exp(absent.log_curvature(e)) +
           (rate + out * less) * std::exp(changed.log_curvature(e)) +
           2.0 * out * (changed.tail_p(e) - absent.tail_p(e)) * less * less;
  }
  [[nodiscard]] double log_density(double t, double at_loss) const {
    double const value = curvature(sign * t);
    double const x = sign > 0.0 ? at_loss : 0.0;
    return value > 0.0 ? x + std::log(value) : -std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] double roughness(double t) const {
    if (absent.kind == amplified_pair::noise::laplace) return 4.0;
    double const m = std::min(absent.shift, changed.shift);
    return (std::abs(t) / m + 0.5 * m + 4.0) / m + 4.0;
  }
  [[nodiscard]] double parameter(double at_loss, double) const {
    return sign * unmixed_loss(sign * at_loss, rate, 1.0 - rate);
  }
};

using loss_curve_part = std::variant<mixture_curve, bounded_curve, amplified_curve>;

struct loss_atom {
  double loss;
  double p;
};

/// A law of the loss. Masses are exact up to the relative error `mass_error`, losses up to `loss_error`.
struct loss_source {
  std::vector<loss_atom> atoms;
  std::vector<loss_curve_part> curves;
  double infinite = 0.0;  // P's own
  double above = 0.0;     // at most that much of P lies above all curves and atoms, …
  double below = 0.0;     // … and below them
  double low = 0.0;       // the ends of what is not left out
  double high = 0.0;
  double largest = 0.0;   // no finite loss is larger; may be ∞
  bool has_edge = false;  // `low` is (in the direction add, `high` is) where the loss itself ends
  bool lower_holds = true;
  double loss_error = 0.0;
  double mass_error = 4.0 * unit_roundoff;
  double count = 0.0;
};

/// How many standard deviations leave out at most `mass` of a normal law (or of a discrete one: both
/// are sub-Gaussian, Canonne, Kamath & Steinke 2020).
[[nodiscard]] inline double tail_point(double mass) { return std::sqrt(-2.0 * std::log(mass)); }

class source_maker {
 public:
  source_maker(double above, double below) : above_(above), below_(below) {}

  [[nodiscard]] loss_source operator()(normal_pair const& pair) const {
    return (*this)(mixture_pair{{{1.0, pair.mu}}, orientation::remove});
  }

  [[nodiscard]] loss_source operator()(mixture_pair const& pair) const {
    mixture_curve curve;
    curve.parts = pair.parts;
    compensated_sum<double> rest(1.0);
    for (mixture_pair::part const& p : pair.parts) rest += -p.weight;
    curve.rest = std::max(0.0, rest.value());
    double const last = pair.parts.back().shift;
    loss_source out;
    double first_x = 0.0;
    double last_x = 0.0;
    if (pair.orientation == orientation::remove) {
      first_x = (curve.rest > 0.0 ? 0.0 : pair.parts.front().shift) - tail_point(below_);
      last_x = last + tail_point(above_);
      curve.low = first_x;
      curve.high = last_x;
      out.largest = std::numeric_limits<double>::infinity();
    } else {
      curve.sign = -1.0;
      first_x = -tail_point(above_);
      last_x = tail_point(below_);
      curve.low = -last_x;
      curve.high = -first_x;
      out.largest = curve.rest > 0.0 ? -std::log(curve.rest) * (1.0 + 4.0 * unit_roundoff)
                                     : std::numeric_limits<double>::infinity();
    }
    for (double const x : {first_x, last_x}) {
      // The exponent shift·(x − shift/2) is off by a few ulp, the loss by at most as much.
      double slope = 1.0;
      if (pair.parts.size() == 1 && curve.rest > 0.0) {
        double const t = last * (x - 0.5 * last);
        double const raised = pair.parts[0].weight * std::exp(std::min(t, 600.0));
        slope = raised / (curve.rest + raised);
      }
      double const exponent = slope * last * (std::abs(x) + last);
      out.loss_error =
          std::max(out.loss_error, 8.0 * unit_roundoff * (exponent + std::abs(curve.ratio_log(x))));
    }
    out.mass_error = 8.0 * unit_roundoff;
    out.has_edge = curve.rest > 0.0;
    finish_curve(out, std::move(curve));
    out.above = above_;
    out.below = below_;
    return out;
  }

  [[nodiscard]] loss_source operator()(bounded_pair const& pair) const {
    loss_source out;
    double const rest = 1.0 - pair.rate;
    double const less = std::exp(-pair.epsilon);
    double const sign = pair.orientation == orientation::remove ? 1.0 : -1.0;
    if (pair.epsilon == 0.0) {
      out.atoms.push_back({0.0, 1.0});
      return finished(std::move(out));
    }
    for (double const base : {-pair.epsilon, pair.epsilon}) {
      if (pair.atom == 0.0) break;
      double const a = base > 0.0 ? pair.atom : pair.atom * less;
      double const b = base > 0.0 ? pair.atom * less : pair.atom;
      double const p = sign > 0.0 ? pair.rate * a + rest * b : b;
      out.atoms.push_back({sign * mixed_loss(base, pair.rate, rest), p});
    }
    double const spread = 1.0 - pair.atom * (1.0 + less);
    if (spread > 4.0 * unit_roundoff) {
      bounded_curve curve;
      curve.epsilon = pair.epsilon;
      curve.rate = pair.rate;
      curve.sign = sign;
      curve.log_height = std::log(-0.5 * spread / std::expm1(-pair.epsilon));
      curve.low = -pair.epsilon;
      curve.high = pair.epsilon;
      // c is as badly known as its numerator.
      out.mass_error = 8.0 * unit_roundoff * (1.0 + 1.0 / spread);
      finish_curve(out, std::move(curve));
    }
    out.has_edge = true;
    return finished(std::move(out));
  }

  [[nodiscard]] loss_source operator()(lattice_pair const& pair) const {
    loss_source out;
    double const m = static_cast<double>(pair.shift);
    double const variance = pair.sigma * pair.sigma;
    double const rest = 1.0 - pair.rate;
    bool const remove = pair.orientation == orientation::remove;
    double const reach_above = pair.sigma * tail_point(above_) + 1.0;
    double const reach_below = pair.sigma * tail_point(below_) + 1.0;
    double const lowest =
        std::floor((remove && rest == 0.0 ? m : 0.0) - (remove ? reach_below : reach_above));
    double const highest = std::ceil((remove ? m : 0.0) + (remove ? reach_above : reach_below));
    // Σ e^{−k²/2σ²}; where σ > 2 it is σ√(2π) to the last bit (Poisson summation).
    compensated_sum<double> total;
    if (pair.sigma > 2.0) {
      total += pair.sigma * std::sqrt(2.0 * std::numbers::pi);
    } else {
      for (int k = -80; k <= 80; ++k) total += std::exp(-0.5 * k * k / variance);
    }
    double const log_total = std::log(total.value());
    for (double k = lowest; k <= highest; k += 1.0) {
      double const ratio = m * (2.0 * k - m) / (2.0 * variance);
      double const loss = mixed_loss(ratio, pair.rate, rest);
      double const base = -0.5 * k * k / variance - log_total;
      double const p =
          remove ? (rest == 0.0 ? std::exp(-0.5 * (k - m) * (k - m) / variance - log_total)
                                : std::exp(base + loss))
                 : std::exp(base);
      out.atoms.push_back({remove ? loss : -loss, p});
    }
    double const exponent =
        m * (2.0 * std::max(std::abs(lowest), std::abs(highest)) + m) / variance;
    out.above = above_;
    out.below = below_;
    out.mass_error = unit_roundoff * (16.0 + 2.0 * tail_point(above_) * tail_point(above_));
    out.has_edge = rest > 0.0;
    out = finished(std::move(out));
    out.loss_error +=
        8.0 * unit_roundoff * std::min(exponent, 2.0 * out.high + exponent * pair.rate);
    out.largest = remove || rest == 0.0 ? std::numeric_limits<double>::infinity() : -std::log(rest);
    return out;
  }

  [[nodiscard]] loss_source operator()(finite_pair const& pair) const {
    loss_source out;
    for (finite_pair::atom const& a : pair.atoms) {
      if (a.p > 0.0) out.atoms.push_back({a.loss, a.p});
    }
    out.infinite = pair.infinite;
    return finished(std::move(out));
  }

  [[nodiscard]] loss_source operator()(amplified_pair const& pair) const;

 private:
  template <class Curve>
  static void finish_curve(loss_source& out, Curve curve) {
    double const low = curve.loss(curve.low);
    double const high = curve.loss(curve.high);
    bool const first = out.curves.empty();
    out.low = first ? low : std::min(out.low, low);
    out.high = first ? high : std::max(out.high, high);
    out.curves.emplace_back(std::move(curve));
  }

  // The ends and the errors of a source whose losses are all finite and few ulp off.
  [[nodiscard]] static loss_source finished(loss_source out) {
    bool first = out.curves.empty();
    for (loss_atom const& a : out.atoms) {
      out.low = first ? a.loss : std::min(out.low, a.loss);
      out.high = first ? a.loss : std::max(out.high, a.loss);
      first = false;
    }
    double const size = std::max(std::abs(out.low), std::abs(out.high));
    out.largest = out.high + 8.0 * unit_roundoff * size;
    out.loss_error = std::max(out.loss_error, 8.0 * unit_roundoff * size);
    return out;
  }

  double above_;
  double below_;
};

/// The lower convex hull of a symmetric profile's samples, as atoms: at least the hull of the profile,
/// which still bounds the mechanism where the profile itself is not convex.
template <class Profile>
[[nodiscard]] loss_source hull_of_profile(Profile const& profile, double reach) {
  struct point {
    double loss;
    double delta;
  };
  constexpr int samples = 1 << 14;
  // The slope in e^loss from a to b, times e^(loss of a).
  auto const slope = [](point const& a, point const& b) {
    return (b.delta - a.delta) / std::expm1(b.loss - a.loss);
  };
  std::vector<point> hull;
  double rounding = 0.0;
  for (int k = 0; k <= samples; ++k) {
    double const loss = reach * k / samples;
    point const next{loss, k == samples ? 0.0 : profile(loss)};
    rounding += next.delta;
    while (hull.size() >= 2) {
      point const& last = hull.back();
      point const& before = hull[hull.size() - 2];
      double const fall = std::exp(before.loss - last.loss) * slope(last, next);
      if (slope(before, last) < fall) break;
      hull.pop_back();
    }
    hull.push_back(next);
  }
  loss_source out;
  double const first_slope = slope(hull[0], hull[1]);
  out.atoms.push_back({0.0, std::max(0.0, 1.0 + 2.0 * first_slope - hull[0].delta)});
  for (std::size_t k = 1; k < hull.size(); ++k) {
    double const before = std::exp(hull[k].loss - hull[k - 1].loss) * slope(hull[k - 1], hull[k]);
    double const after = k + 1 < hull.size() ? slope(hull[k], hull[k + 1]) : 0.0;
    double const p = std::max(0.0, after - before);
    out.atoms.push_back({hull[k].loss, p});
    out.atoms.push_back({-hull[k].loss, p * std::exp(-hull[k].loss)});
  }
  out.lower_holds = false;
  out.mass_error = 256.0 * unit_roundoff * (2.0 + rounding / std::expm1(reach / samples));
  return out;
}

inline loss_source source_maker::operator()(amplified_pair const& pair) const {
  double const rest = 1.0 - pair.rate;
  noise_profile const absent{pair.kind, pair.absent};
  noise_profile const changed{pair.kind, pair.changed};
  double const widest = std::max(pair.absent, pair.changed);
  bool const normal = pair.kind == amplified_pair::noise::normal;
  // P(L′ > ε′) ≤ 6·P_widest(L > ε) ≤ 3·e^{−y²/2} with y = ε/m − m/2.
  double const reach = normal ? widest * (0.5 * widest + tail_point(above_ / 3.0)) : widest;
  double const reach_below = normal ? widest * (0.5 * widest + tail_point(below_ / 3.0)) : widest;
  amplified_curve const curve{absent, changed, pair.rate, 1.0, 0.0, 0.0};

  // The curvature is a sum of positive terms unless an absence moves more than a change.
  if (pair.absent > pair.changed) {
    bool convex = normal;
    for (int k = 0; convex && k <= 4096; ++k) convex = curve.curvature(reach * k / 4096) >= 0.0;
    if (!convex) {
      auto const profile = [&](double loss) {
        double const e = unmixed_loss(loss, pair.rate, rest);
        double const less = std::exp(-e);
        return pair.rate * (rest * -std::expm1(-e) * absent.delta(e) +
                            (pair.rate + rest * less) * changed.delta(e));
      };
      loss_source out = finished(hull_of_profile(profile, mixed_loss(reach, pair.rate, rest)));
      out.above = normal ? above_ : 0.0;
      if (normal) out.largest = std::numeric_limits<double>::infinity();
      return out;
    }
  }

  loss_source out;
  // A symmetric profile has P(L = 0) = 1 + 2·dδ/dx′(1+) − δ(0).
  double const zero_mass = rest * (2.0 * absent.delta(0.0) - changed.delta(0.0));
  if (zero_mass > 0.0) out.atoms.push_back({0.0, zero_mass});
  if (!normal) {
    // The kink of a Laplace profile at its shift.
    auto const put = [&](double shift, double share) {
      double const loss = mixed_loss(shift, pair.rate, rest);
      double const q = 0.5 * std::exp(-shift) * share;
      out.atoms.push_back({loss, q * std::exp(loss)});
      out.atoms.push_back({-loss, q});
    };
    put(pair.absent, -rest * std::expm1(-pair.absent));
    put(pair.changed, pair.rate + rest * std::exp(-pair.changed));
  }
  std::vector<double> ends{0.0};
  if (!normal && pair.absent < widest) ends.push_back(pair.absent);
  ends.push_back(reach);
  for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
    amplified_curve side = curve;
    side.low = ends[k];
    side.high = ends[k + 1];
    finish_curve(out, side);
    side.sign = -1.0;
    side.low = normal ? -reach_below : -ends[k + 1];
    side.high = -ends[k];
    finish_curve(out, side);
  }
  out.mass_error = 256.0 * unit_roundoff;
  out = finished(std::move(out));
  out.above = normal ? above_ : 0.0;
  out.below = normal ? below_ : 0.0;
  if (normal) out.largest = std::numeric_limits<double>::infinity();
  return out;
}

}  // namespace tacit::detail
