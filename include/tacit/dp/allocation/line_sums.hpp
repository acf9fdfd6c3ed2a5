// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/short_number.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/allocation/cut_ratio.hpp>
#include <tacit/dp/allocation/step_sums.hpp>
#include <tacit/dp/contour/turns.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

/// E(X − c)₊ and E(c − X)₊ of an epoch along a vertical line: with x = g(ΣV_i − c), V = min(U, top), g = 1 or −1,
///   E x₊ = (1/2π)∫ E e^{sx}/s² dy, s = θ + iy, θ > 0,
/// by the trapezoid rule. docs/certificates/allocation.md, Lemmas 26 to 28.

namespace tacit::detail::epochs {

/// E(Y − y)₊ as bounds, Y = ΣV_i of calls, or −ΣV_i of puts.
template <std::same_as<double> T = double>
class line_loss {
 public:
  /// log E e^{tilt·x} is at most `log_moment` + tilt·(gt − y).
  struct moment {
    T tilt;
    T log_moment;
  };
  /// E e^{g(s)(ΣV − t)}/s² at s = θ + iy, relative to E e^{gθ(ΣV − t)}, and how far it is off.
  struct point {
    complex<T> value;
    T wrong;
  };

  /// The points are `spacing` apart, from y = 0 on; beyond the last one |E e^{gs(ΣV − t)}| is at most e^{log_beyond}.
  line_loss(std::vector<point> const& points, T spacing, moment own, moment right, moment left,
            T log_beyond, T centre)
      : spacing_(spacing),
        own_(own),
        right_(right),
        left_(left),
        log_beyond_(log_beyond),
        centre_(centre) {
    for (std::size_t n = 0; n < points.size(); ++n) {
      T const half = n == 0 ? 0.5 : 1.0;
      value_.push_back(half * points[n].value);
      T const size = half * elementary::hypot(points[n].value.re, points[n].value.im);
      wrong_ += half * points[n].wrong + size * unit_roundoff * most_units;
      swing_ += 4.0 * unit_roundoff * size * spacing * static_cast<T>(n);
      size_ += size;
    }
    wrong_ += unit_roundoff * size_ * (static_cast<T>(points.size()) + 16.0);
  }

  [[nodiscard]] std::size_t size() const { return value_.size(); }
  /// y is taken as it is.
  [[nodiscard]] static constexpr T shift() { return 0.0; }

  [[nodiscard]] bound<T> operator()(T y) const {
    T const away = centre_ - y;
    T const exponent = own_.log_moment + own_.tilt * away;
    if (!(std::abs(exponent) < 600.0)) return {0.0, std::numeric_limits<T>::infinity()};
    T const scale = elementary::exp(exponent) * spacing_ / std::numbers::pi;
    T const relative =
        unit_roundoff *
        (16.0 + 4.0 * (std::abs(own_.log_moment) + 2.0 * std::abs(own_.tilt * away)));
    T const value = scale * sum(away);
    T const end = spacing_ * static_cast<T>(value_.size() - 1);
    T const off = 1.01 * (scale * (wrong_ + std::abs(away) * swing_ + relative * size_) +
                          exp_of(log_beyond_ + own_.tilt * away) / (std::numbers::pi * end));
    if (!(end * std::abs(away) < 0x1p40)) return {0.0, std::numeric_limits<T>::infinity()};
    T const period = 2.0 * std::numbers::pi / spacing_ * (1.0 - 1e-12);
    T const further = alias(right_, away, (right_.tilt - own_.tilt) * period) +
                      alias(left_, away, (own_.tilt - left_.tilt) * period);
    T const tiny = std::numeric_limits<T>::min();
    return {std::max(0.0, value - off - further - tiny), value + off + tiny};
  }

 private:
  static constexpr std::size_t anew = 16;
  static constexpr T most_units = 128.0;  // of a turn from one point to the next, sixteen times

  [[nodiscard]] static T exp_of(T x) { return elementary::exp(std::min(x, 700.0)); }

  // What the sum has too much: E(x ∓ kL)₊ for k = 1, 2, …, each by a moment.
  [[nodiscard]] static T alias(moment const& by, T away, T fall) {
    return 1.01 * exp_of(by.log_moment + by.tilt * away - 1.0) / by.tilt / elementary::expm1(fall);
  }

  [[nodiscard]] T sum(T away) const {
    auto const [turn_sine, turn_cosine] = elementary::sin_cos_far(spacing_ * away);
    complex<T> const turn{turn_cosine, turn_sine};
    complex<T> at{1.0, 0.0};
    T total = 0.0;
    for (std::size_t n = 0; n < value_.size(); ++n) {
      if (n % anew == 0) {
        auto const [sine, cosine] = elementary::sin_cos_far(spacing_ * static_cast<T>(n) * away);
        at = {cosine, sine};
      }
      total += value_[n].re * at.re - value_[n].im * at.im;
      at = at * turn;
    }
    return total;
  }

  T spacing_;
  moment own_;
  moment right_;
  moment left_;
  T log_beyond_;
  T centre_;  // gt
  std::vector<complex<T>> value_;
  T wrong_ = 0.0;
  T swing_ = 0.0;  // for each unit of gt − y
  T size_ = 0.0;
};

/// Lines for sums of `steps` ratios with U = e^{aZ − a²/2}.
template <std::same_as<double> T = double>
class line_sums {
 public:
  using sum_on_line = certified_sum<T, line_loss<T>>;

  line_sums(step_ratio<T> const& step, T steps, side way)
      : step_(step), steps_(steps), way_(way), law_(sketch_of(step)) {}

  /// In counted nanoseconds: of a line that is tried before lattices, and of one that is tried after them.
  static constexpr T usual_work = 2e8;
  static constexpr T most_work = 8e8;

  /// For c near t·e^{±ε}, where δ is of that size. Nothing where that is more than the work left, or than `most`.
  [[nodiscard]] std::optional<sum_on_line> at(T epsilon, T delta_size, work_budget& work,
                                              T most = usual_work) const {
    // Of so much noise all values are one, but for their rounding.
    if (!(step_.shift() > least_shift)) return std::nullopt;
    bool const call = way_ == side::call;
    T const c = steps_ * elementary::exp(call ? epsilon : -epsilon);
    T const c_most = c * elementary::exp(0.03 * std::min(1.0, epsilon) + 0x1p-10);
    T fall = 0.0;  // the tilt by which the other values are bounded
    // What is beyond counts as at the cut: of few values there must not be much.
    T const least_top = step_.value(3.0 + std::sqrt(92.0 / steps_));
    T const top = std::min({c_most, step_.farthest(delta_size),
                            call ? std::max(least_top, c_most - steps_ + deficit(fall)) : c_most});
    cut_ratio<T> const ratio(step_.shift(), std::min(step_.parameter(top), highest_z), way_);
    T const sign = ratio.sign();
    T const away = sign * (steps_ - c);
    plan const p = planned(ratio, c, away, delta_size * (call ? steps_ : c));
    if (!(p.points > 0.0)) return std::nullopt;

    T const end = p.spacing * p.points;
    // A panel of 20 nodes for some seven turns.
    T const nodes = 300.0 + 3.0 * end * ratio.top();
    T const cost = 1e6 + nodes * (200.0 + p.points);
    if (!(cost < most) || !work.take(cost)) return std::nullopt;
    // Of one panel, beside the whole, which is e^{value}; of what is bounded alone less will do.
    auto const allowed = [&](T share, T value) {
      return share / steps_ * elementary::exp(std::clamp(value, 0.0, 600.0));
    };
    std::optional<ratio_terms<T>> const terms =
        ratio.at(p.tilt, elementary::hypot(p.tilt, end), allowed(1e-16, p.value));
    if (!terms) return std::nullopt;
    auto const moment_at = [&](T tilt, T value) -> typename line_loss<T>::moment {
      return {tilt, steps_ * log_most(ratio, tilt, allowed(1e-8, value))};
    };
    // What U's transform is at r, at least.
    cut_ratio<T> const whole(step_.shift(), 12.0, side::put);
    auto const laplace = [&](T r) { return log_most(whole, r, allowed(1e-8, 0.0)); };
    T const log_beyond = steps_ * ratio.log_beyond(p.tilt, end, p.turn, laplace) + 1e-9;
    std::vector<typename line_loss<T>::point> const points = along(*terms, p);
    if (points.empty()) return std::nullopt;
    line_loss<T> loss(points, p.spacing, {p.tilt, steps_ * log_first_of(*terms, p.tilt)},
                      moment_at(p.right, p.right_value), moment_at(p.left, p.left_value),
                      log_beyond, sign * steps_);
    // Up to which c the sum exceeds it where one value is beyond the cut, but for so much.
    T linear_to = ratio.top() * (1.0 - 1e-9);
    T unlikely = 0.0;
    if (call && fall > 0.0 && linear_to < c_most * (1.0 - 1e-8)) {
      linear_to = c_most;
      cut_ratio<T> const others(step_.shift(), ratio.last(), side::put);
      T const gap = c_most * (1.0 + 1e-9) - ratio.top() - (steps_ - 1.0);
      T const log_of =
          (steps_ - 1.0) * log_most(others, fall, allowed(1e-8, 0.0)) + fall * gap + 1e-9;
      unlikely = elementary::exp(std::min(0.0, log_of));
    }
    enclosure const excess = enclosure(steps_) * ratio.excess();
    return sum_on_line{
        loss, loss, way_, linear_to, unlikely, excess, excess, 0.0, ratio.location_error(), 0.0};
  }

 private:
  static constexpr T least_shift = 1e-7;
  static constexpr T most_points = 50'000.0;
  static constexpr T log_share = -23.0;  // of δ, each of what a line leaves out

  struct plan {
    T tilt = 0.0;
    T value = 0.0;  // log E e^{gs(V − 1)} there
    T right = 0.0;
    T right_value = 0.0;
    T left = 0.0;
    T left_value = 0.0;
    T spacing = 0.0;
    T points = 0.0;
    T turn = 0.0;
  };

  // By how much t values may fall short of t, next to certainly; by a bound with that tilt.
  [[nodiscard]] T deficit(T& tilt) const {
    T best = std::numeric_limits<T>::infinity();
    for (T r = 1e-7; r < 1e3; r *= 1.5) {
      T const most = (32.0 + steps_ * log_laplace(r)) / r;
      if (!(most < best)) continue;
      best = most;
      tilt = r;
    }
    return best;
  }
  // log E e^{−r(U − 1)}, nearly.
  [[nodiscard]] T log_laplace(T r) const {
    T sum = 0.0;
    for (auto const& [value, mass] : law_) sum += mass * short_expm1(-r * (value - 1.0));
    return elementary::log1p(sum);
  }
  [[nodiscard]] static std::vector<outcome<T>> sketch_of(step_ratio<T> const& step) {
    std::vector<outcome<T>> out;
    for (T z = -10.0; z <= 10.0; z += 0.125) {
      out.push_back({step.value(z), 0.125 * inv_root_two_pi<T> * elementary::exp(-0.5 * z * z)});
    }
    return out;
  }

  // Estimates, of which a line is made; none bounds anything.
  [[nodiscard]] plan planned(cut_ratio<T> const& ratio, T c, T away, T size) const {
    ratio_sketch<T> const sketch(step_.sketch(ratio.top()), c / steps_, way_);
    plan out;
    out.tilt = sketch.saddle(steps_).tilt;
    T const log_allowed = elementary::log(size) + log_share;
    // How long the period has to be, by a moment on either side.
    auto const period = [&](T tilt) {
      T const log_most = steps_ * sketch.at(tilt).value - 1.0 - elementary::log(tilt);
      return std::max(0.1, log_most - log_allowed) / std::abs(tilt - out.tilt);
    };
    auto const best_of = [&](std::initializer_list<T> factors, T& at) {
      T best = std::numeric_limits<T>::infinity();
      for (T const f : factors) {
        T const needed = period(f * out.tilt);
        if (!(needed < best)) continue;
        best = needed;
        at = f * out.tilt;
      }
      return best;
    };
    T const length =
        std::max(best_of({1.1, 1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 4.0, 6.0, 9.0}, out.right),
                 best_of({0.9, 0.75, 0.6, 0.45, 0.3, 0.2, 0.1, 0.05}, out.left));
    auto const value_at = [&](T tilt) {
      return sketch.at(tilt).value + ratio.sign() * tilt * (c / steps_ - 1.0);
    };
    out.value = value_at(out.tilt);
    out.right_value = value_at(out.right);
    out.left_value = value_at(out.left);
    out.spacing = short_number(2.0 * std::numbers::pi / length, 22);

    auto const laplace = [this](T r) { return log_laplace(r); };
    auto const log_left = [&](T end, T phi) {
      return steps_ * ratio.log_beyond(out.tilt, end, phi, laplace) + out.tilt * away -
             elementary::log(std::numbers::pi * end);
    };
    T const a = step_.shift();
    auto const turn_for = [&](T end) {
      T low = elementary::log(1e-3 * std::min(1.0, a * a * end));
      T high = elementary::log(std::min(1.5, 3.0 * a * a * end));
      for (int k = 0; k < 12; ++k) {
        T const first = low + 0.382 * (high - low);
        T const second = low + 0.618 * (high - low);
        if (log_left(end, elementary::exp(first)) < log_left(end, elementary::exp(second))) {
          high = second;
        } else {
          low = first;
        }
      }
      return elementary::exp(0.5 * (low + high));
    };
    T end = 4.0 / (std::sqrt(steps_) * a);
    auto const suffices = [&] {
      out.turn = turn_for(end);
      return log_left(end, out.turn) < log_allowed - 1.0;
    };
    while (!suffices()) {
      end *= 1.5;
      if (!(end < out.spacing * most_points)) return {};
    }
    for (T const back : {0.816, 0.904}) {
      end *= back;
      if (!suffices()) end /= back;
    }
    (void)suffices();
    out.points = std::max(8.0, std::ceil(end / out.spacing));
    return out;
  }

  // At a real s.
  [[nodiscard]] static T excess_of(ratio_terms<T> const& terms, T tilt) {
    return terms.sum + terms.rest({tilt, 0.0}).re;
  }
  [[nodiscard]] static T log_first_of(ratio_terms<T> const& terms, T tilt) {
    return elementary::log1p(excess_of(terms, tilt));
  }
  [[nodiscard]] static T log_most(cut_ratio<T> const& ratio, T tilt, T allowed) {
    auto const found = ratio.at(tilt, tilt, allowed);
    if (!found) return std::numeric_limits<T>::infinity();
    T const units = static_cast<T>(found->term.size()) + 64.0;
    T const most = excess_of(*found, tilt) + found->off(tilt) + units * unit_roundoff * found->sum;
    T const value = elementary::log1p(most);
    return value + 1e-15 * std::abs(value);
  }

  // (E e^{gs(V − 1)})^t/s² along the line, relative to its first value but for s².
  [[nodiscard]] std::vector<typename line_loss<T>::point> along(ratio_terms<T> const& terms,
                                                                plan const& p) const {
    std::vector<typename line_loss<T>::point> out;
    turning_terms<T> line(terms.term, p.spacing);
    T const log_first = log_first_of(terms, p.tilt);
    auto const count = static_cast<std::size_t>(p.points) + 1;
    for (std::size_t n = 0; n < count; ++n) {
      complex<T> const s{p.tilt, p.spacing * static_cast<T>(n)};
      T const square = norm(s);
      line.move_to(n);
      complex<T> const d = line.sum_from(0) + terms.rest(s);  // less 1
      T const wrong = terms.off(std::sqrt(square)) + unit_roundoff * line.units(n) * terms.sum;
      T const more = 2.0 * d.re + norm(d);
      T const size = std::sqrt(std::max(0.0, 1.0 + more));
      T const log_size = more > -1.0 ? 0.5 * elementary::log1p(more) : -800.0;
      T const arg = elementary::atan2(d.im, 1.0 + d.re);
      // What the power is off: by the sum, and by rounding of log, arg and the exponent.
      T const rounded = 8.0 * (std::abs(d.re) + norm(d)) / (size * size) +
                        10.0 * (std::abs(log_size) + std::abs(log_first) + std::abs(arg));
      T const off = steps_ * 1.01 * (wrong / size + unit_roundoff * rounded);
      if (!(size > 0.0 && off < 20.0)) {
        // Nothing is known of it but how large it may be.
        // `size` is the root of a number that rounding may have made 0.
        T const slack = std::sqrt(16.0 * unit_roundoff * (1.0 + std::abs(d.re) + norm(d)));
        T const most = steps_ * (elementary::log(size + slack + wrong) - log_first) + 1e-9;
        out.push_back({{0.0, 0.0}, elementary::exp(std::min(700.0, most)) / square});
        continue;
      }
      T const power = elementary::exp(steps_ * (log_size - log_first));
      auto const [sine, cosine] = elementary::sin_cos_far(steps_ * arg);
      out.push_back({complex<T>{power * cosine, power * sine} / (s * s),
                     power / square * (elementary::expm1(off) + 32.0 * unit_roundoff)});
    }
    return out;
  }

  step_ratio<T> step_;
  T steps_;
  side way_;
  std::vector<outcome<T>> law_;  // U, roughly
};

/// E(X − c)₊ or E(c − X)₊, by lattices or along a line.
template <std::same_as<double> T = double>
using any_sum = std::variant<certified_sum<T>, typename line_sums<T>::sum_on_line>;

/// How many numbers it takes.
template <std::same_as<double> T>
[[nodiscard]] std::size_t size_of(any_sum<T> const& sum) {
  return std::visit([](auto const& s) { return s.size(); }, sum);
}

}  // namespace tacit::detail::epochs
