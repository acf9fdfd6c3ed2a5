// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/gaussian_profile.hpp>
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
    T const lost = -expm1(-epsilon);
    T const mass = T(1) - T(2) * atom + atom * lost;
    // The atom is a double: beside 1/(1+e^{−ε}) it may leave 2^−52 over.
    if (!(mass > T(4 * std::numeric_limits<double>::epsilon()))) {
      return -std::numeric_limits<T>::infinity();
    }
    return log(mass / (T(2) * lost));
  }

  [[nodiscard]] with_error<T> operator()(T const& order) {
    T const z = order - T(1);
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
    T const magnitude = ratio.loss < T(0) ? -ratio.loss : ratio.loss;
    T const size = l < T(0) ? -l : l;
    T const error = ratio.share * size + T(4) * magnitude;
    T const mass_error = T(12) + T(2) * T(epsilon_);
    if (remove_) return {ratio.loss, log_base + ratio.loss, error, mass_error + error};
    return {-ratio.loss, log_base, error, mass_error};
  }

  [[nodiscard]] loss_table<T> sum_over(std::vector<interval> const& where, double width) const {
    using std::log;
    loss_table<T> out;
    T const end = T(epsilon_);
    if (atom_ > 0.0) {  // Q's atoms
      out.add(at(-end, log(T(atom_))));
      out.add(at(end, log(T(atom_)) - end));
    }
    if (log_density_ == -std::numeric_limits<T>::infinity()) return out;
    for (interval const& i : where) {
      over_panels<T>(i.low, i.high, width, [&](T const& l, T const& weight) {
        out.add(at(l, log_density_ - (l + end) / T(2) + log(weight)));
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
class profile_divergence {
 public:
  explicit profile_divergence(amplified_pair const& pair)
      : pair_(pair), largest_(std::max(pair.absent, pair.changed)) {}

  [[nodiscard]] with_error<T> operator()(T const& order) {
    T const z = order - T(1);
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
  [[nodiscard]] with_error<T> unsampled(T const& z) const {
    T const value = (T(1) + z) * (T(largest_) * T(largest_)) / T(2);
    return {value, value * (std::numeric_limits<T>::epsilon() * T(4))};
  }

  [[nodiscard]] T log_profile(double shift, T const& epsilon) const {
    using std::expm1, std::log;
    if (shift == 0.0) return -std::numeric_limits<T>::infinity();
    if (normal()) return log_gaussian_profile(T(shift), epsilon);
    if (!(epsilon < T(shift))) return -std::numeric_limits<T>::infinity();
    return log(-expm1((epsilon - T(shift)) / T(2)));
  }

  [[nodiscard]] node at(T const& place, T const& weight) const {
    using std::exp, std::expm1, std::log;
    T const m = T(largest_);
    T const epsilon = normal() ? m * (place + m / T(2)) : place;
    T const rate = T(pair_.rate);
    sampled_ratio<T> const ratio(rate, epsilon);
    T const kept = exp(-epsilon) * (T(1) - rate);  // θ = rate + kept
    T const theta = rate + kept;
    T const absence = (T(1) - rate) * -expm1(-epsilon);
    T log_absent = log_profile(pair_.absent, epsilon);
    T const log_changed = log_profile(pair_.changed, epsilon) + log(theta);
    log_absent = absence > T(0) ? log_absent + log(absence) : -std::numeric_limits<T>::infinity();
    T const log_delta = log_add(log_absent, log_changed);
    // dε′ = rate/θ dε, and once more the rate of the profile.
    T const scale = normal() ? weight * m : weight;
    T const log_weight = log_delta + T(2) * log(rate) + log(scale / theta);
    T const magnitude = log_weight < T(0) ? -log_weight : log_weight;
    return {ratio.loss, log_weight, T(4) * ratio.loss + ratio.share * epsilon,
            T(1000) + T(20) * magnitude};
  }

  [[nodiscard]] std::vector<node> tabulate(std::vector<interval> const& where, double width) const {
    std::vector<node> out;
    auto const put = [&](double from, double to) {
      over_panels<T>(from, to, width, [&](T const& place, T const& weight) {
        node const n = at(place, weight);
        if (n.log_weight > -std::numeric_limits<T>::infinity()) out.push_back(n);
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

  [[nodiscard]] with_error<T> sum(T const& z, std::vector<node> const& nodes) const {
    using std::exp, std::log;
    T const unit = std::numeric_limits<T>::epsilon() / T(2);
    T log_scale = T(0);
    for (node const& n : nodes) {
      T const term = n.log_weight + z * n.epsilon;
      if (term > log_scale) log_scale = term;
    }
    if (log_scale < T(300)) log_scale = T(0);  // M may be near 1: only M − 1 has its digits
    T total = T(0);
    T error = T(0);
    T const both = T(2) * z + T(1);
    for (node const& n : nodes) {
      T const term =
          exp(n.log_weight + z * n.epsilon - log_scale) * (T(1) + exp(-both * n.epsilon));
      total = total + term;
      error = error + term * (n.weight_error + both * n.epsilon_error);
    }
    T const factor = z * (T(1) + z);
    T const adding = T(static_cast<double>(nodes.size()) + 8.0);
    return divergence_of(z, factor * total, unit * factor * (error + adding * total), log_scale);
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
    T const square = x * x;
    T term = x * square / T(6);
    T sum = T(0);
    for (int k = 4; term > sum * std::numeric_limits<T>::epsilon(); k += 2) {
      sum = sum + term;
      term = term * square / T(k * (k + 1));
    }
    return sum * exp(-x);
  }
  T const back = exp(-x);
  return (T(1) - back * back) / T(2) - x * back;
}
template <real T>
[[nodiscard]] T cosh_excess(T const& x) {
  using std::exp;
  if (x < T(1)) {
    // Σ 2k·x^{2k+1}/(2k+1)!
    T const square = x * x;
    T power = x * square / T(6);
    T sum = T(0);
    for (int k = 1; T(2 * k) * power > sum * std::numeric_limits<T>::epsilon(); ++k) {
      sum = sum + T(2 * k) * power;
      power = power * square / T((2 * k + 2) * (2 * k + 3));
    }
    return sum * exp(-x);
  }
  T const back = exp(T(-2) * x);
  return (x * (T(1) + back) - (T(1) - back)) / T(2);
}

/// A `bounded_pair` at rate 1. For a symmetric pair M − 1 = ∫_{l>0} p(l)·e^{zl}(1−e^{−αl})(1−e^{−zl}).
template <real T>
[[nodiscard]] with_error<T> bounded_divergence(bounded_pair const& pair, T const& order) {
  using std::exp, std::expm1;
  if (pair.epsilon == 0.0) return {T(0), T(0)};
  T const epsilon = T(pair.epsilon);
  T const z = order - T(1);
  T const tilt = z * epsilon;
  T const log_scale = tilt < T(300) ? T(0) : tilt;
  T sum = T(pair.atom) * -expm1(-order * epsilon) * -expm1(-tilt);
  T const log_density = sampled_bounded<T>::log_density(epsilon, T(pair.atom));
  if (log_density > -std::numeric_limits<T>::infinity()) {
    // 2c·e^{−ε/2}·ε·[S(b) − S(a)], S(y) = sinh(y)/y, a = ε/2, b = a + zε; all times e^{−zε}.
    T const a = epsilon / T(2);
    T const b = a + tilt;
    T const sinh_a = -expm1(-epsilon) / T(2);
    T const cosh_a = (T(1) + exp(-epsilon)) / T(2);
    T const half = -expm1(-tilt) / T(2);
    T const difference = T(2) * (a * sinh_a) * (half * half) +
                         (tilt * exp(-tilt) * cosh_excess(a) + a * cosh_a * sinh_excess(tilt));
    sum = sum + T(2) * exp(log_density) * epsilon * (difference / (a * b));
  }
  if (log_scale == T(0)) sum = sum * exp(tilt);
  T const unit = std::numeric_limits<T>::epsilon() / T(2);
  T const rounding = T(64) + T(2) * (tilt < T(300) ? tilt : T(300));
  return divergence_of(z, sum, unit * rounding * sum, log_scale);
}

/// λ(a+b) − λ(a) for λ(v) = log(sinh(v)/v), a and b > 0.
template <real T>
[[nodiscard]] T log_sinhc_step(T const& a, T const& b) {
  using std::exp, std::expm1, std::log, std::log1p, std::sinh;
  T const sinh_a = -expm1(T(-2) * a) / T(2);  // times e^{−a}
  if (b < T(20)) {
    T const half = sinh(b / T(2));
    T const rise = T(2) * a * (half * half);           // a(cosh b − 1)
    T const lean = cosh_excess(a) / sinh_a * sinh(b);  // (a·coth a − 1)·sinh b
    T const bend = sinh_excess(b) * exp(b);            // sinh b − b
    return log1p((rise + (lean + bend)) / (a + b));
  }
  T const tail = exp(T(-2) * b);
  T const coth_a = (T(1) - sinh_a) / sinh_a;
  T const sum = (T(1) + tail + coth_a * (T(1) - tail)) / T(2);
  return b + log(a / (a + b) * sum);
}

inline void check_order(double order) {
  require_domain(order > 1.0 && order <= std::numeric_limits<double>::max(), "renyi_divergence",
                 "order", order, "finite and above 1");
}

}  // namespace detail

/// The Rényi divergences D_α(P‖Q) of one dominating pair, in nats, at any real order α > 1: tables are
/// built on first use, kept, and extended for a larger order (so one curve must not be
/// used by two threads at once; copies may).
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
    detail::with_error<T> const d = at(order);
    return d.value + d.error;
  }

  /// The value with the bound on its error that `upper` adds.
  [[nodiscard]] detail::with_error<T> at(T const& order) {
    detail::check_order(static_cast<double>(order));
    return std::visit([&](auto& source) { return source(order); }, source_);
  }

 private:
  struct closed_normal {
    double mu;
    detail::with_error<T> operator()(T const& order) const {
      if (mu == 0.0) return {T(0), T(0)};
      T const value = order * (T(mu) * T(mu)) / T(2);
      T const lost = T(value < T(1e-290) ? 1e-290 : 0.0);
      return {value, value * (T(2) * std::numeric_limits<T>::epsilon()) + lost};
    }
  };
  struct closed_bounded {
    bounded_pair pair;
    detail::with_error<T> operator()(T const& order) const {
      return detail::bounded_divergence<T>(pair, order);
    }
  };
  struct finite_sum {
    detail::loss_table<T> table;
    bool infinite;
    bool nothing;  // every loss is 0
    detail::with_error<T> operator()(T const& order) const {
      if (nothing) return {T(0), T(0)};
      if (infinite) return {std::numeric_limits<T>::infinity(), T(0)};
      return table.divergence(order - T(1), table.size());
    }
  };
  using any_source =
      std::variant<closed_normal, closed_bounded, finite_sum, detail::mixture_divergence<T>,
                   detail::sampled_bounded<T>, detail::profile_divergence<T>>;

  struct maker {
    any_source operator()(normal_pair const& p) const { return closed_normal{p.mu}; }
    any_source operator()(mixture_pair const& p) const { return detail::mixture_divergence<T>(p); }
    any_source operator()(lattice_pair const& p) const { return detail::mixture_divergence<T>(p); }
    any_source operator()(amplified_pair const& p) const {
      return detail::profile_divergence<T>(p);
    }
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
        sum.table.add({T(a.loss), log(T(a.p)), T(2) * size, T(4)});
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
  T const z = order - T(1);
  T const v = epsilon / T(2);
  T const tilt = z * v;
  return detail::log_sinhc_step(tilt, v) + detail::log_sinhc_step(v, tilt) / z;
}

#if defined(TACIT_COMPILED)
extern template class basic_renyi_curve<double>;
#endif

}  // namespace tacit
