// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/rdp/mixture.hpp>
#include <tacit/dp/rdp/table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

/// The Rényi divergence of a dominating pair at any real order α = 1 + z > 1,
///   D_α(P‖Q) = log M / z,   M − 1 = E_P[(e^{zL}−1−zL) + z·(e^{−L}−1+L)] + z·Q(P = 0),
/// in which every term is positive: nothing cancels at any rate, noise or order. A pair becomes a table
/// of losses and their masses, built once and good for many orders. Gaussian mixtures use the trapezoid
/// rule in the output x, whose step follows from the strip |Im x| < π/(largest shift) in which the
/// integrand is analytic; loss densities use Gauss–Legendre panels. Where the outputs that matter lie
/// far apart, the space between them is proved empty (`significant`) and skipped.

namespace tacit {

namespace detail {

/// `sampled_loss`, and how much of the likelihood ratio the sampled part makes.
template <real T>
struct sampled_ratio {
  T loss;
  T share;

  sampled_ratio(T const& rate, T const& l) {
    using std::exp;
    T const rest = T(1) - rate;
    loss = sampled_loss(l, rate, rest);
    share = rest > T(0) ? rate / (rate + rest * exp(-l)) : T(1);
  }
};

/// The loss density of a sampled `bounded_pair`, and its two atoms.
template <real T>
class sampled_bounded {
 public:
  explicit sampled_bounded(bounded_pair const& pair)
      : remove_(pair.orientation == orientation::remove),
        epsilon_(pair.epsilon),
        rate_(pair.rate),
        atom_(pair.atom),
        log_density_(log_density(T(pair.epsilon), T(pair.atom))) {}

  /// log c, 2c(1−e^{−ε}) = 1 − atom(1+e^{−ε}); −∞ where that is nothing but rounding.
  [[nodiscard]] static T log_density(T const& epsilon, T const& atom) {
    using std::expm1, std::log;
    T const lost = T(-T(expm1(T(-epsilon))));
    T const mass = T(T(T(1) - T(T(2) * atom)) + T(atom * lost));
    // The atom is a double: beside 1/(1+e^{−ε}) it may leave 2^−52 over.
    if (!(mass > T(4 * std::numeric_limits<double>::epsilon()))) {
      return T(-std::numeric_limits<T>::infinity());
    }
    return T(log(T(mass / T(T(2) * lost))));
  }

  [[nodiscard]] judged<T> operator()(T const& order) {
    T const z = T(order - T(1));
    double const alpha = static_cast<double>(order);
    if (epsilon_ == 0.0 || rate_ == 0.0) return {T(0), T(0)};
    if (!table_ || alpha > covers_) {
      double const ahead = std::max(1.5 * alpha, 5.0);
      if (2.0 * epsilon_ <= 64.0 * panel(ahead)) {
        covers_ = ahead;
        table_ = sum_over({{-epsilon_, epsilon_}}, panel(ahead));
      } else {
        loss_table<T> const once = sum_over(places(alpha), panel(alpha));
        return once.divergence(z, once.size());
      }
    }
    return table_->divergence(z, table_->size());
  }

 private:
  [[nodiscard]] static double panel(double alpha) { return std::min(2.5, 12.0 / alpha); }

  [[nodiscard]] typename loss_table<T>::entry at(T const& l, T const& log_base) const {
    sampled_ratio<T> const ratio(T(rate_), l);
    T const magnitude = ratio.loss < T(0) ? T(-ratio.loss) : ratio.loss;
    T const size = l < T(0) ? T(-l) : l;
    T const error = T(T(ratio.share * size) + T(T(4) * magnitude));
    T const mass_error = T(T(12) + T(T(2) * T(epsilon_)));
    if (remove_) return {ratio.loss, T(log_base + ratio.loss), error, T(mass_error + error)};
    return {T(-ratio.loss), log_base, error, mass_error};
  }

  [[nodiscard]] loss_table<T> sum_over(std::vector<interval> const& where, double width) const {
    using std::log;
    loss_table<T> out;
    T const end = T(epsilon_);
    if (atom_ > 0.0) {  // Q's atoms
      out.add(at(T(-end), T(log(T(atom_)))));
      out.add(at(end, T(T(log(T(atom_))) - end)));
    }
    if (log_density_ == T(-std::numeric_limits<T>::infinity())) return out;
    for (interval const& i : where) {
      over_panels<T>(i.low, i.high, width, [&](T const& l, T const& weight) {
        out.add(at(l, T(T(log_density_ - T(T(l + end) / T(2))) + T(log(weight)))));
      });
    }
    return out;
  }

  [[nodiscard]] std::vector<interval> places(double alpha) const {
    double const z = alpha - 1.0;
    auto const value = [&](double l) {
      sampled_ratio<double> const ratio(rate_, l);
      double const loss = remove_ ? ratio.loss : -ratio.loss;
      return -0.5 * l + (remove_ ? loss : 0.0) +
             log_add(log_exp_residual(z * loss), std::log(z) + log_exp_residual(-loss));
    };
    double const best = std::max(value(-epsilon_), value(epsilon_));
    // G falls up to l = 0 and rises beyond; the base falls like e^{−l/2} throughout.
    std::vector<interval> where = significant(
        -epsilon_, 0.0, panel(alpha), best, fold_range<T>,
        [&](double a, double) { return value(a); }, value);
    std::vector<interval> const right = significant(
        0.0, epsilon_, panel(alpha), best, fold_range<T>,
        [&](double a, double b) { return value(b) + 0.5 * (b - a); }, value);
    where.insert(where.end(), right.begin(), right.end());
    return where;
  }

  bool remove_;
  double epsilon_;
  double rate_;
  double atom_;
  T log_density_;
  std::optional<loss_table<T>> table_;
  double covers_ = 0.0;
};

/// A symmetric pair given by its profile: M − 1 = zα·∫_0^∞ δ(ε)(e^{zε} + e^{−αε}) dε.
template <real T>
class profile_curve {
 public:
  explicit profile_curve(amplified_pair const& pair)
      : pair_(pair), largest_(std::max(pair.absent, pair.changed)) {}

  [[nodiscard]] judged<T> operator()(T const& order) {
    T const z = T(order - T(1));
    double const tilt = static_cast<double>(z);
    if (largest_ == 0.0 || pair_.rate == 0.0) return {T(0), T(0)};
    if (nodes_.empty() || tilt > covers_) {
      if (normal() && (largest_ > 1e3 || (1.0 + tilt) * largest_ > 3e7)) return unsampled(z);
      double const ahead = std::max(1.5 * tilt, 4.0);
      if (high(ahead) - low() <= 64.0 * panel(ahead)) {
        covers_ = ahead;
        nodes_ = tabulate({{low(), high(ahead)}}, panel(ahead));
      } else {
        return sum(z, tabulate(places(tilt), panel(tilt)));
      }
    }
    return sum(z, nodes_);
  }

 private:
  struct node {
    T epsilon;
    T log_weight;
    T epsilon_error;
    T weight_error;
  };

  [[nodiscard]] bool normal() const { return pair_.kind == amplified_pair::noise::normal; }

  // The panels lie in b = ε/m − m/2 for normal noise of the larger shift m, where δ falls like
  // e^{−b²/2}, and in ε itself for Laplace noise.
  [[nodiscard]] double low() const { return normal() ? -0.5 * largest_ : 0.0; }
  [[nodiscard]] double high(double z) const {
    return normal() ? z * largest_ + std::sqrt(2.0 * fold_range<T>) + 1.0 : largest_;
  }
  [[nodiscard]] double panel(double z) const {
    return normal() ? std::min(2.5, 4.0 / largest_) : std::min(2.5, 12.0 / (1.0 + z));
  }

  /// D ≤ that of the unsampled change.
  [[nodiscard]] judged<T> unsampled(T const& z) const {
    T const value = T(T(T(1) + z) * T(T(largest_) * T(largest_)) / T(2));
    return {value, T(value * T(std::numeric_limits<T>::epsilon() * T(4)))};
  }

  [[nodiscard]] T log_profile(double shift, T const& epsilon) const {
    using std::expm1, std::log;
    if (shift == 0.0) return T(-std::numeric_limits<T>::infinity());
    if (normal()) return log_gaussian_profile(T(shift), epsilon);
    if (!(epsilon < T(shift))) return T(-std::numeric_limits<T>::infinity());
    return T(log(T(-T(expm1(T(T(epsilon - T(shift)) / T(2)))))));
  }

  [[nodiscard]] node at(T const& place, T const& weight) const {
    using std::exp, std::expm1, std::log;
    T const m = T(largest_);
    T const epsilon = normal() ? T(m * T(place + T(m / T(2)))) : place;
    T const rate = T(pair_.rate);
    sampled_ratio<T> const ratio(rate, epsilon);
    T const kept = T(T(exp(T(-epsilon))) * T(T(1) - rate));  // θ = rate + kept
    T const theta = T(rate + kept);
    T const absence = T(T(T(1) - rate) * T(-T(expm1(T(-epsilon)))));
    T log_absent = log_profile(pair_.absent, epsilon);
    T const log_changed = T(log_profile(pair_.changed, epsilon) + T(log(theta)));
    log_absent =
        absence > T(0) ? T(log_absent + T(log(absence))) : T(-std::numeric_limits<T>::infinity());
    T const log_delta = log_add(log_absent, log_changed);
    // dε′ = rate/θ dε, and once more the rate of the profile.
    T const scale = T(normal() ? T(weight * m) : weight);
    T const log_weight = T(T(log_delta + T(T(2) * T(log(rate)))) + T(log(T(scale / theta))));
    T const magnitude = log_weight < T(0) ? T(-log_weight) : log_weight;
    return {ratio.loss, log_weight, T(T(T(4) * ratio.loss) + T(ratio.share * epsilon)),
            T(T(1000) + T(T(20) * magnitude))};
  }

  [[nodiscard]] std::vector<node> tabulate(std::vector<interval> const& where, double width) const {
    std::vector<node> out;
    auto const put = [&](double from, double to) {
      over_panels<T>(from, to, width, [&](T const& place, T const& weight) {
        node const n = at(place, weight);
        if (n.log_weight > T(-std::numeric_limits<T>::infinity())) out.push_back(n);
      });
    };
    double const kink = std::min(pair_.absent, pair_.changed);
    for (interval const& i : where) {
      if (!normal() && i.low < kink && kink < i.high) {
        put(i.low, kink);
        put(kink, i.high);
      } else {
        put(i.low, i.high);
      }
    }
    return out;
  }

  [[nodiscard]] judged<T> sum(T const& z, std::vector<node> const& nodes) const {
    using std::exp, std::log;
    T const unit = T(std::numeric_limits<T>::epsilon() / T(2));
    T log_scale = T(0);
    for (node const& n : nodes) {
      T const term = T(n.log_weight + T(z * n.epsilon));
      if (term > log_scale) log_scale = term;
    }
    if (log_scale < T(300)) log_scale = T(0);  // M may be near 1: only M − 1 has its digits
    T total = T(0);
    T error = T(0);
    T const both = T(T(T(2) * z) + T(1));
    for (node const& n : nodes) {
      T const term = T(T(exp(T(T(n.log_weight + T(z * n.epsilon)) - log_scale))) *
                       T(T(1) + T(exp(T(-T(both * n.epsilon))))));
      total = T(total + term);
      error = T(error + T(term * T(n.weight_error + T(both * n.epsilon_error))));
    }
    T const factor = T(z * T(T(1) + z));
    T const adding = T(static_cast<double>(nodes.size()) + 8.0);
    return divergence_of(z, T(factor * total), T(T(unit * factor) * T(error + T(adding * total))),
                         log_scale);
  }

  [[nodiscard]] std::vector<interval> places(double z) const {
    auto const value = [&](double place) {
      node const n = at(T(place), T(1));
      return static_cast<double>(n.log_weight) + z * static_cast<double>(n.epsilon);
    };
    auto const growth = [&](double place) {
      double const epsilon = normal() ? largest_ * (place + 0.5 * largest_) : place;
      sampled_ratio<double> const ratio(pair_.rate, epsilon);
      // δ ≤ rate·min(1, e^{−b²/2}), θ ≥ rate
      return z * ratio.loss + std::log(pair_.rate * (normal() ? largest_ : 1.0));
    };
    auto const bound = [&](double a, double b) {
      double const at_a = growth(a);
      double const at_b = growth(b);
      return normal() ? chord_bound(a, at_a, b, at_b) : std::max(at_a, at_b);
    };
    double const start = normal() ? low() : 0.0;
    return significant(start, normal() ? high(z) : std::nextafter(largest_, 0.0), panel(z),
                       value(start), fold_range<T>, bound, value);
  }

  amplified_pair pair_;
  double largest_;
  std::vector<node> nodes_;
  double covers_ = 0.0;
};

/// sinh x − x ≥ 0 and x·cosh x − sinh x ≥ 0, for x ≥ 0, times e^{−x}.
template <real T>
[[nodiscard]] T sinh_excess(T const& x) {
  using std::exp;
  if (x < T(1)) {
    // e^{−x}·x³/6·Σ 6x^{2k}/(2k+3)!
    T const square = T(x * x);
    T term = T(T(x * square) / T(6));
    T sum = T(0);
    for (int k = 4; term > T(sum * std::numeric_limits<T>::epsilon()); k += 2) {
      sum = T(sum + term);
      term = T(T(term * square) / T(k * (k + 1)));
    }
    return T(sum * T(exp(T(-x))));
  }
  T const back = T(exp(T(-x)));
  return T(T(T(T(1) - T(back * back)) / T(2)) - T(x * back));
}
template <real T>
[[nodiscard]] T cosh_excess(T const& x) {
  using std::exp;
  if (x < T(1)) {
    // Σ 2k·x^{2k+1}/(2k+1)!
    T const square = T(x * x);
    T power = T(T(x * square) / T(6));
    T sum = T(0);
    for (int k = 1; T(T(2 * k) * power) > T(sum * std::numeric_limits<T>::epsilon()); ++k) {
      sum = T(sum + T(T(2 * k) * power));
      power = T(T(power * square) / T((2 * k + 2) * (2 * k + 3)));
    }
    return T(sum * T(exp(T(-x))));
  }
  T const back = T(exp(T(T(-2) * x)));
  return T(T(T(x * T(T(1) + back)) - T(T(1) - back)) / T(2));
}

/// A `bounded_pair` at rate 1. For a symmetric pair M − 1 = ∫_{l>0} p(l)·e^{zl}(1−e^{−αl})(1−e^{−zl}).
template <real T>
[[nodiscard]] judged<T> whole_bounded(bounded_pair const& pair, T const& order) {
  using std::exp, std::expm1;
  if (pair.epsilon == 0.0) return {T(0), T(0)};
  T const epsilon = T(pair.epsilon);
  T const z = T(order - T(1));
  T const tilt = T(z * epsilon);
  T const log_scale = tilt < T(300) ? T(0) : tilt;
  T sum = T(T(T(pair.atom) * T(-T(expm1(T(-T(order * epsilon)))))) * T(-T(expm1(T(-tilt)))));
  T const log_density = sampled_bounded<T>::log_density(epsilon, T(pair.atom));
  if (log_density > T(-std::numeric_limits<T>::infinity())) {
    // 2c·e^{−ε/2}·ε·[S(b) − S(a)], S(y) = sinh(y)/y, a = ε/2, b = a + zε; all times e^{−zε}.
    T const a = T(epsilon / T(2));
    T const b = T(a + tilt);
    T const sinh_a = T(-T(expm1(T(-epsilon))) / T(2));
    T const cosh_a = T(T(T(1) + T(exp(T(-epsilon)))) / T(2));
    T const half = T(-T(expm1(T(-tilt))) / T(2));
    T const difference =
        T(T(T(T(2) * T(a * sinh_a)) * T(half * half)) +
          T(T(T(tilt * T(exp(T(-tilt)))) * cosh_excess(a)) + T(T(a * cosh_a) * sinh_excess(tilt))));
    sum = T(sum + T(T(T(T(2) * T(exp(log_density))) * epsilon) * T(difference / T(a * b))));
  }
  if (log_scale == T(0)) sum = T(sum * T(exp(tilt)));
  T const unit = T(std::numeric_limits<T>::epsilon() / T(2));
  T const rounding = T(T(64) + T(T(2) * T(tilt < T(300) ? tilt : T(300))));
  return divergence_of(z, sum, T(T(unit * rounding) * sum), log_scale);
}

/// λ(a+b) − λ(a) for λ(v) = log(sinh(v)/v), a and b > 0.
template <real T>
[[nodiscard]] T log_sinhc_step(T const& a, T const& b) {
  using std::exp, std::expm1, std::log, std::log1p, std::sinh;
  T const sinh_a = T(-T(expm1(T(T(-2) * a))) / T(2));  // times e^{−a}
  if (b < T(20)) {
    T const half = T(sinh(T(b / T(2))));
    T const rise = T(T(T(2) * a) * T(half * half));             // a(cosh b − 1)
    T const lean = T(T(cosh_excess(a) / sinh_a) * T(sinh(b)));  // (a·coth a − 1)·sinh b
    T const bend = T(sinh_excess(b) * T(exp(b)));               // sinh b − b
    return T(log1p(T(T(rise + T(lean + bend)) / T(a + b))));
  }
  T const tail = T(exp(T(T(-2) * b)));
  T const coth_a = T(T(T(1) - sinh_a) / sinh_a);
  T const sum = T(T(T(T(1) + tail) + T(coth_a * T(T(1) - tail))) / T(2));
  return T(b + T(log(T(T(a / T(a + b)) * sum))));
}

inline void check_order(double order) {
  require_domain(order > 1.0 && order <= std::numeric_limits<double>::max(), "renyi_divergence",
                 "order", order, "finite and above 1");
}

}  // namespace detail

/// The Rényi divergences D_α(P‖Q) of one dominating pair, in nats, at any real order α > 1: tables are
/// built on first use, kept, and extended when a larger order is asked for (so one curve must not be
/// asked from two threads at once; copies may).
///
/// Guarantee: nearest. Relative error ≤ 1e-12 (measured 2e-14) in double, times the condition number
/// where that is above 1e3: at α·shift > 100 the value depends on the last digits of the shift and rate.
/// `upper` is raised by a bound on the error, which includes that.
///   normal          αμ²/2
///   mixture         rates 1e-300 … 1, largest shift ≤ 64 (σ ≥ 1/64) and α·shift ≤ 3e7; beyond that an
///                   upper bound, M − 1 ≤ Σ weight·(e^{αz·shift²/2} − 1)
///   bounded         closed form (unsampled), or Gauss–Legendre
///   lattice         the sum over the integers; beyond α·shift/σ = 3e7 as mixture
///   finite          the sum; ∞ if P has mass where Q has none
///   amplified       the integral of its profile; beyond changed = 1e3 that of the unsampled pair
template <real T>
class basic_renyi_curve {
 public:
  explicit basic_renyi_curve(dominating_pair const& pair) : source_(make(pair)) {}

  /// @throws std::domain_error unless order is finite and above 1
  [[nodiscard]] T operator()(T const& order) { return at(order).value; }

  /// Guarantee: upper bound.
  /// @throws std::domain_error unless order is finite and above 1
  [[nodiscard]] T upper(T const& order) {
    detail::judged<T> const d = at(order);
    return T(d.value + d.error);
  }

  /// The value with the bound on its error that `upper` adds.
  [[nodiscard]] detail::judged<T> at(T const& order) {
    detail::check_order(static_cast<double>(order));
    return std::visit([&](auto& source) { return source(order); }, source_);
  }

 private:
  struct closed_normal {
    double mu;
    detail::judged<T> operator()(T const& order) const {
      if (mu == 0.0) return {T(0), T(0)};
      T const value = T(order * T(T(mu) * T(mu)) / T(2));
      T const lost = T(value < T(1e-290) ? 1e-290 : 0.0);
      return {value, T(T(value * T(T(2) * std::numeric_limits<T>::epsilon())) + lost)};
    }
  };
  struct closed_bounded {
    bounded_pair pair;
    detail::judged<T> operator()(T const& order) const {
      return detail::whole_bounded<T>(pair, order);
    }
  };
  struct finite_sum {
    detail::loss_table<T> table;
    bool infinite;
    bool nothing;  // every loss is 0
    detail::judged<T> operator()(T const& order) const {
      if (nothing) return {T(0), T(0)};
      if (infinite) return {std::numeric_limits<T>::infinity(), T(0)};
      return table.divergence(T(order - T(1)), table.size());
    }
  };
  using any_source =
      std::variant<closed_normal, closed_bounded, finite_sum, detail::gaussian_line<T>,
                   detail::sampled_bounded<T>, detail::profile_curve<T>>;

  struct maker {
    any_source operator()(normal_pair const& p) const { return closed_normal{p.mu}; }
    any_source operator()(mixture_pair const& p) const { return detail::gaussian_line<T>(p); }
    any_source operator()(lattice_pair const& p) const { return detail::gaussian_line<T>(p); }
    any_source operator()(amplified_pair const& p) const { return detail::profile_curve<T>(p); }
    any_source operator()(bounded_pair const& p) const {
      if (p.rate == 1.0) return closed_bounded{p};
      return detail::sampled_bounded<T>(p);
    }
    any_source operator()(finite_pair const& p) const {
      using std::log;
      finite_sum sum{{}, p.infinite > 0.0, p.infinite == 0.0 && p.excluded == 0.0};
      sum.table.reserve(p.atoms.size());
      for (finite_pair::atom const& a : p.atoms) {
        sum.nothing = sum.nothing && a.loss == 0.0;
        if (!(a.p > 0.0)) {
          sum.table.exclude(T(a.q));
          continue;
        }
        T const size = T(a.loss < 0.0 ? -a.loss : a.loss);
        sum.table.add({T(a.loss), T(log(T(a.p))), T(T(2) * size), T(4)});
      }
      sum.table.exclude(T(p.excluded));
      return sum;
    }
  };
  static any_source make(dominating_pair const& pair) { return std::visit(maker{}, pair); }

  any_source source_;
};
using renyi_curve = basic_renyi_curve<double>;

/// D_α(P‖Q) of a dominating pair at one order; see `basic_renyi_curve`, which answers for many.
/// Guarantee: nearest.
/// @throws std::domain_error unless order is finite and above 1
template <real T>
[[nodiscard]] T renyi_divergence(dominating_pair const& pair, T const& order) {
  return basic_renyi_curve<T>(pair)(order);
}

/// The exponential mechanism's own divergence, below that of the pair which dominates it: under
/// ε-bounded range the loss lies in [t−ε, t] for some t, so that two losses at its ends are the worst
/// (t^α is convex), and the worst t has a closed form. With λ(v) = log(sinh(v)/v) and v = ε/2,
///   (α−1)·D = α·λ(αv) − (α−1)·λ((α−1)v) − λ(v)  ≤ (α−1)·αε²/8.
/// Guarantee: nearest; relative error ≤ 1e-14 in double.
/// Source: Dong, Durfee & Rogers 2020 (the two-point worst case); the closed form is derived here.
/// @throws std::domain_error unless epsilon is finite and at least 0, and order finite and above 1
template <real T>
[[nodiscard]] T bounded_range_divergence(T const& epsilon, T const& order) {
  detail::check_non_negative("bounded_range_divergence", "epsilon", epsilon);
  detail::check_order(static_cast<double>(order));
  if (epsilon == T(0)) return T(0);
  T const z = T(order - T(1));
  T const v = T(epsilon / T(2));
  T const tilt = T(z * v);
  return T(detail::log_sinhc_step(tilt, v) + T(detail::log_sinhc_step(v, tilt) / z));
}

}  // namespace tacit
