// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/gaussian_profile.hpp>

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

/// The profile of one noise pair and what follows from it, with x = e^ε. Nothing here overflows, nor
/// underflows where it counts: the losses of a small noise are in the thousands.
struct noise_profile {
  amplified_pair::noise kind;
  double shift;

  [[nodiscard]] bool normal() const { return kind == amplified_pair::noise::normal; }
  /// P(L > ε)
  [[nodiscard]] double tail_p(double e) const {
    if (normal()) return 0.5 * std::erfc((e / shift - 0.5 * shift) * std::numbers::sqrt2 / 2.0);
    return e < shift ? 1.0 - 0.5 * std::exp(0.5 * (e - shift)) : 0.0;
  }
  /// P(L ≤ ε)
  [[nodiscard]] double rest_p(double e) const {
    if (normal()) return 0.5 * std::erfc((0.5 * shift - e / shift) * std::numbers::sqrt2 / 2.0);
    return e < shift ? 0.5 * std::exp(0.5 * (e - shift)) : 1.0;
  }
  /// x·Q(L > ε), or x·Q(L ≥ ε)
  [[nodiscard]] double raised_tail_q(double e, bool closed) const {
    if (normal()) {
      double const y = e / shift - 0.5 * shift;
      return std::exp(-0.5 * y * y - 0.91893853320467274178) * mills_ratio(e / shift + 0.5 * shift);
    }
    return e < shift || (closed && e == shift) ? 0.5 * std::exp(0.5 * (e - shift)) : 0.0;
  }
  [[nodiscard]] double delta(double e) const {
    if (normal()) return gaussian_profile(shift, e);
    return e < shift ? -std::expm1(0.5 * (e - shift)) : 0.0;
  }
  /// x²·δ″(x), away from a kink
  [[nodiscard]] double curvature(double e) const {
    if (normal()) {
      double const y = e / shift - 0.5 * shift;
      return std::exp(-0.5 * y * y - 0.91893853320467274178) / shift;
    }
    return e < shift ? 0.25 * std::exp(0.5 * (e - shift)) : 0.0;
  }
};

/// P(L > ε) of one pair less that of another, without cancelling near 1.
[[nodiscard]] inline double tail_difference(noise_profile const& a, noise_profile const& b,
                                            double e) {
  double const rest_a = a.rest_p(e);
  double const rest_b = b.rest_p(e);
  return rest_a + rest_b < 1.0 ? rest_b - rest_a : a.tail_p(e) - b.tail_p(e);
}

/// One side of an amplified pair. The parameter is the noise's own ε, or minus it on the negative side,
/// where P's density is e^{−loss} times that at the mirrored loss.
///
/// With x = e^ε and x′ = 1+rate·(x−1) the profile is D = rate·G, G(x) = (1−rate)(1−1/x)δ_a +
/// (rate+(1−rate)/x)δ_c. Q's mass above x′ is −dD/dx′ = −dG/dx, and P's density of ε is x′·x·G″(x).
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
  /// G
  [[nodiscard]] double profile(double e) const {
    double const out = 1.0 - rate;
    return out * -std::expm1(-e) * absent.delta(e) + (rate + out * std::exp(-e)) * changed.delta(e);
  }
  /// x·G′, from the right or from the left
  [[nodiscard]] double slope(double e, bool from_left) const {
    double const out = 1.0 - rate;
    double const less = std::exp(-e);
    return out * (less * (absent.delta(e) - changed.delta(e)) +
                  std::expm1(-e) * absent.raised_tail_q(e, from_left)) -
           (rate + out * less) * changed.raised_tail_q(e, from_left);
  }
  /// x²·G″
  [[nodiscard]] double curvature(double e) const {
    double const out = 1.0 - rate;
    double const less = std::exp(-e);
    return out * -std::expm1(-e) * absent.curvature(e) +
           (rate + out * less) * changed.curvature(e) +
           2.0 * out * less * tail_difference(changed, absent, e);
  }
  [[nodiscard]] double log_density(double t, double at_loss) const {
    double const value = curvature(sign * t);
    double const e = sign * t;
    return value > 0.0 ? (sign > 0.0 ? at_loss - e : -e) + std::log(value)
                       : -std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] double roughness(double t) const {
    if (!absent.normal()) return 4.0;
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

/// Between which parameters a profile is taken as it is, and where by a chord.
struct profile_piece {
  double from;
  double to;
  bool chord;
};

/// Pieces that follow the lower convex hull of G, by samples of it between `ends`. A chord is at least the
/// hull wherever its ends are, and so is a curve whose negative curvature, if any is left, is dropped: how
/// well the samples find the hull is a matter of tightness alone.
[[nodiscard]] inline std::vector<profile_piece> hull_of(amplified_curve const& curve,
                                                        std::vector<double> const& ends) {
  constexpr int samples = 2048;
  constexpr std::size_t short_gap = 8;  // what rounding makes of a straight stretch
  struct point {
    std::size_t index;
    double e;
    double value;
  };
  std::vector<point> hull;
  std::size_t index = 0;
  for (std::size_t part = 0; part + 1 < ends.size(); ++part) {
    for (int k = part == 0 ? 0 : 1; k <= samples; ++k, ++index) {
      double const e =
          k == samples ? ends[part + 1] : ends[part] + (ends[part + 1] - ends[part]) * k / samples;
      point const next{index, e, curve.profile(e)};
      while (hull.size() >= 2) {
        point const& last = hull.back();
        point const& before = hull[hull.size() - 2];
        // Slopes in x, times x at the last.
        double const from_left = (before.value - last.value) / std::expm1(before.e - last.e);
        double const to_right = (next.value - last.value) / std::expm1(next.e - last.e);
        if (from_left < to_right) break;
        hull.pop_back();
      }
      hull.push_back(next);
    }
  }
  std::vector<profile_piece> out;
  for (std::size_t k = 0; k + 1 < hull.size(); ++k) {
    bool const chord = hull[k + 1].index - hull[k].index > short_gap;
    bool const at_end = std::find(ends.begin(), ends.end(), hull[k].e) != ends.end();
    if (chord || out.empty() || out.back().chord || at_end) {
      out.push_back({hull[k].e, hull[k + 1].e, chord});
    } else {
      out.back().to = hull[k + 1].e;
    }
  }
  return out;
}

inline loss_source source_maker::operator()(amplified_pair const& pair) const {
  double const rest = 1.0 - pair.rate;
  amplified_curve const curve{
      {pair.kind, pair.absent}, {pair.kind, pair.changed}, pair.rate, 1.0, 0.0, 0.0};
  double const widest = std::max(pair.absent, pair.changed);
  bool const normal = curve.absent.normal();
  // P(L′ > ε′) ≤ 6·P_widest(L > ε) ≤ 3·e^{−y²/2} with y = ε/m − m/2.
  double const reach = normal ? widest * (0.5 * widest + tail_point(above_ / 3.0)) : widest;
  double const reach_below = normal ? widest * (0.5 * widest + tail_point(below_ / 3.0)) : widest;
  std::vector<double> ends{0.0};
  double const narrow = std::min(pair.absent, pair.changed);
  if (!normal && narrow > 0.0 && narrow < widest)
    ends.push_back(narrow);  // a Laplace profile's kink
  ends.push_back(reach);

  // The curvature is a sum of positive terms unless an absence moves more than a change.
  bool const convex = pair.absent <= pair.changed;
  std::vector<profile_piece> pieces;
  if (convex) {
    for (std::size_t k = 0; k + 1 < ends.size(); ++k)
      pieces.push_back({ends[k], ends[k + 1], false});
  } else {
    pieces = hull_of(curve, ends);
  }

  loss_source out;
  // x·G′ of a piece at its ends.
  auto const slope_from = [&](profile_piece const& piece) {
    if (!piece.chord) return curve.slope(piece.from, false);
    return (curve.profile(piece.to) - curve.profile(piece.from)) /
           std::expm1(piece.to - piece.from);
  };
  auto const slope_to = [&](profile_piece const& piece) {
    if (!piece.chord) return curve.slope(piece.to, true);
    return (curve.profile(piece.from) - curve.profile(piece.to)) /
           std::expm1(piece.from - piece.to);
  };
  // A symmetric profile has P(L = 0) = 1 + 2·dδ/dx′(1+) − δ(0).
  double const zero_mass = 1.0 + 2.0 * slope_from(pieces.front()) - pair.rate * curve.profile(0.0);
  if (zero_mass > 0.0) out.atoms.push_back({0.0, zero_mass});
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    profile_piece const& piece = pieces[k];
    bool const last = k + 1 == pieces.size();
    // Where slopes jump there is an atom; rounded up, for a negative one would lower the profile.
    if (!(normal && last && !piece.chord)) {
      double const before = slope_to(piece);
      double const after = last ? curve.slope(piece.to, false) : slope_from(pieces[k + 1]);
      double const jump =
          after - before + 64.0 * unit_roundoff * (std::abs(before) + std::abs(after));
      double const loss = mixed_loss(piece.to, pair.rate, rest);
      if (jump > 0.0) {
        out.atoms.push_back({loss, jump * std::exp(loss - piece.to)});
        out.atoms.push_back({-loss, jump * std::exp(-piece.to)});
      }
    }
    if (piece.chord) continue;
    amplified_curve side = curve;
    side.low = piece.from;
    side.high = piece.to;
    finish_curve(out, side);
    side.sign = -1.0;
    side.high = -piece.from;
    side.low = std::max(-piece.to, -reach_below);
    if (side.low < side.high) finish_curve(out, side);
  }
  // An exponent y²/2 is as wrong as y, and e^{loss−ε} as both.
  double const farthest = reach / widest + widest;
  out.mass_error = unit_roundoff * (256.0 + 16.0 * reach + 16.0 * farthest * farthest);
  out.lower_holds = convex;
  out = finished(std::move(out));
  out.above = normal ? above_ : 0.0;
  out.below = normal ? below_ : 0.0;
  if (normal) out.largest = std::numeric_limits<double>::infinity();
  return out;
}

}  // namespace tacit::detail
