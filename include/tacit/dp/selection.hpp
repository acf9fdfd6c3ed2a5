// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/shared_questions.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <string_view>
#include <variant>
#include <vector>

/// The best of several runs: hyperparameter tuning with an honest ε.
///
/// A run Q is private, its score included. It is repeated K times, independently, with settings drawn at random or the
/// same, and only the output of the best score is released. Were K fixed, that would cost as much as all K runs
/// composed. With a random K that is drawn beforehand and kept secret it costs far less: a geometric K at most triples
/// a pure ε, whatever its mean, and other ε grow slowly with the mean (Liu & Talwar 2019; Papernot & Steinke 2022;
/// Koskela, Redberg & Wang 2024). docs/certificates/selection.md has the proof.

namespace tacit {

/// P(K = k) ∝ Γ(k + η)/k!·(1 − γ)^k for k ≥ 1, η = `shape`: geometric on 1, 2, … for η = 1, logarithmic for η = 0.
struct truncated_negative_binomial {
  double gamma = required;
  double shape = 1.0;
  friend bool operator==(truncated_negative_binomial const&,
                         truncated_negative_binomial const&) = default;
};

/// K of a Poisson law. If K = 0 nothing is released.
struct poisson_count {
  double mean = required;
  friend bool operator==(poisson_count const&, poisson_count const&) = default;
};

/// How often a run is repeated.
using repetitions = std::variant<truncated_negative_binomial, poisson_count>;

namespace detail {

inline void check_repetitions(std::string_view who, repetitions const& times) {
  if (auto const* k = std::get_if<truncated_negative_binomial>(&times)) {
    require_domain(k->gamma > 0.0 && k->gamma <= 1.0, who, "gamma", k->gamma, "in (0, 1]");
    require_domain(k->shape > -1.0 && k->shape <= 1000.0, who, "shape", k->shape, "in (-1, 1000]");
  } else {
    check_positive(who, "mean", std::get<poisson_count>(times).mean);
  }
}

[[nodiscard]] inline enclosure mean_of(repetitions const& times) {
  auto const* k = std::get_if<truncated_negative_binomial>(&times);
  if (k == nullptr) return enclosure(std::get<poisson_count>(times).mean);
  if (k->gamma == 1.0) return enclosure(1.0);
  enclosure const gamma(k->gamma);
  enclosure const eta(k->shape);
  enclosure const exponent = eta * log(gamma);
  // η/(1 − γ^η)
  enclosure const share = k->shape == 0.0 ? 1.0 / -log(gamma) : eta / -expm1(exponent);
  return share * (1.0 - gamma) / gamma;
}

}  // namespace detail

/// E[K] = η(1 − γ)/(γ(1 − γ^η)), or (1 − γ)/(γ log 1/γ) for η = 0; or the Poisson law's mean.
/// Guarantee: upper bound, within 1e-13 of it.
/// @throws std::domain_error unless γ is in (0, 1], the shape in (−1, 1000], a Poisson mean positive and finite
[[nodiscard]] inline double mean_repetitions(repetitions const& times) {
  detail::check_repetitions("mean_repetitions", times);
  return detail::mean_of(times).upper;
}

/// The law of this shape whose mean is at most `mean`, and nearly so: what is drawn from and what is charged then have
/// the same γ.
/// @throws std::domain_error unless the mean is in [1, 1e12] and the shape in (−1, 1000]
[[nodiscard]] inline truncated_negative_binomial repetitions_of_mean(double mean,
                                                                     double shape = 1.0) {
  detail::require_domain(mean >= 1.0 && mean <= 1e12, "repetitions_of_mean", "mean", mean,
                         "in [1, 1e12]");
  detail::check_repetitions("repetitions_of_mean", truncated_negative_binomial{1.0, shape});
  double const gamma = last_holding(1.0, 1e-300, [&](double g) {
    return detail::mean_of(truncated_negative_binomial{g, shape}).upper <= mean;
  });
  return {gamma, shape};
}

/// The best of K runs, each of which `base` accounts for.
///
/// With δ_Q that of the worse direction, for every way to score and every ε₁ ≥ 0,
///   δ_A(ε) ≤ E[K]·δ_Q(ε − Δ),   Δ = (1 + η) log(e^{ε₁} + (1 − γ)/γ·δ_Q(ε₁)),   or for a Poisson K of mean μ
///   δ_A(ε) ≤ μ·E[δ_Q(ε + ε₁ − μδ_Q(ε₁) − (e^{ε₁} − 1)V)],   V exponential of mean 1.
/// Guarantee: `upper` bounds the best of K by any score; `lower` is attained by a score that says nothing, where that of
/// `base` is.
///
/// `Accountant` has `epsilon(δ)` and `delta(ε)` for one run, in the sense of `accountant`, and must outlive this.
template <class Accountant>
class best_of {
 public:
  /// @throws std::domain_error unless γ is in (0, 1], the shape in (−1, 1000], a Poisson mean positive and finite
  best_of(Accountant const& base, repetitions const& times)
      : base_(&base), times_((detail::check_repetitions("best_of", times), times)) {
    mean_ = detail::mean_of(times).upper;
    detail::work_budget work(0.5 * detail::work_on_run);
    questions ask(base, work);
    auto const* k = std::get_if<truncated_negative_binomial>(&times_);
    excess_ = k != nullptr ? least_excess(*k, ask) : poisson_excess(0.0, ask).upper;
    if (k == nullptr) choose_averages(ask);
    left_ = 0.5 * detail::work_on_run + std::max(0.0, work.left());
  }
  best_of(Accountant const&&, repetitions const&) = delete;

  /// @throws std::domain_error unless δ is in (0, 1)
  [[nodiscard]] bound<double> epsilon(double delta) const {
    detail::work_budget work(left_);
    return epsilon_within(delta, work);
  }

  /// @throws std::domain_error unless ε is finite and at least 0
  [[nodiscard]] bound<double> delta(double epsilon) const {
    detail::work_budget work(left_);
    return delta_within(epsilon, work);
  }

  /// The same for about what is left of `work`, in which it is counted.
  [[nodiscard]] bound<double> epsilon_within(double delta, detail::work_budget& work) const {
    detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
    questions ask(*base_, work);
    double const most = detail::divide_down(delta, mean_);
    double upper = 0.0;
    if (most < 1.0) {
      upper = most > 0.0 ? detail::add_up(ask.epsilon(most).upper, excess_)
                         : std::numeric_limits<double>::infinity();
    }
    double const least = detail::divide_up(delta, surely_one());
    double const lower = least < 1.0 && ask.more() ? ask.epsilon(least).lower : 0.0;
    if (most < 1.0 && !averages_.empty()) upper = least_epsilon(most, upper, ask);
    return {std::min(lower, upper), upper};
  }
  [[nodiscard]] bound<double> delta_within(double epsilon, detail::work_budget& work) const {
    detail::check_non_negative("delta", "epsilon", epsilon);
    questions ask(*base_, work);
    known_profile one(ask);  // the upper end first: what it takes may be all of the work
    double const upper = std::min(1.0, detail::multiply_up(mean_, profile_of_one(epsilon, one)));
    double const lower =
        ask.more() ? detail::multiply_down(surely_one(), ask.delta(epsilon).lower) : 0.0;
    return {std::min(lower, upper), upper};
  }

  /// The Rényi divergence of this order of the best, in the worse direction, where that of one run is at most `one`:
  ///   D_α(A) ≤ D_α(Q) + Δ + log E[K]/(α − 1),   or for a Poisson K of mean μ
  ///   D_α(A) ≤ log(1 + μ·exp((α − 1)μδ_Q(log(1 + 1/(α − 1))))·(exp((α − 1)D_α(Q)) − 1))/(α − 1).
  /// Divergences of releases add up, so that the best of several runs can be one of them (`divergence_sum`).
  /// Guarantee: upper bound.
  /// @throws std::domain_error unless order is finite and above 1, and one ≥ 0
  [[nodiscard]] double divergence(double order, double one) const {
    using detail::enclosure;
    double const infinity = std::numeric_limits<double>::infinity();
    detail::require_domain(order > 1.0 && order < infinity, "divergence", "order", order,
                           "finite and above 1");
    detail::require_domain(one >= 0.0, "divergence", "one", one, "at least 0");
    if (one == infinity) return infinity;
    if (one == 0.0) return 0.0;  // nothing is revealed
    enclosure const z = enclosure(order) - 1.0;
    enclosure const mean = detail::mean_of(times_);
    if (std::holds_alternative<truncated_negative_binomial>(times_)) {
      if (excess_ == infinity) return infinity;
      return (enclosure(one) + enclosure(excess_) + log(mean) / z).upper;
    }
    double const e = log1p(1.0 / z).lower;
    enclosure const whole = z * enclosure(one);
    enclosure const sum = whole + z * mean * enclosure(base_->delta(e).upper);
    // μe^{zμδ}(e^{zD} − 1) by its logarithm, which may be large.
    double const excess = (log(mean) + sum + log(-expm1(-whole))).upper;
    enclosure const added =
        excess > 0.0 ? excess + log1p(exp(-enclosure(excess))) : log1p(exp(enclosure(excess)));
    return (added / z).upper;
  }

  /// The least Δ found (of a Poisson K at ε₁ = 0), raised: by how much ε exceeds that of a run at δ/E[K], at most.
  [[nodiscard]] double excess() const noexcept { return excess_; }
  [[nodiscard]] repetitions const& times() const noexcept { return times_; }

 private:
  // P(K ≥ 1), rounded down.
  [[nodiscard]] double surely_one() const {
    auto const* k = std::get_if<poisson_count>(&times_);
    return k == nullptr ? 1.0 : (-expm1(-detail::enclosure(k->mean))).lower;
  }

  using questions = detail::shared_questions<Accountant>;

  // δ_Q at most, for ε ≥ 0. It falls in ε: where no work is left, what is known of a smaller ε stands for it.
  class known_profile {
   public:
    explicit known_profile(questions& ask) : ask_(&ask) {}

    // From `end` on it is at most `beyond`, and is not asked for: there it is slow. Up to there it is asked for at
    // multiples of a width; between them it is below the chord, since it is convex in e^ε.
    void ends(double end, double beyond) {
      end_ = end;
      beyond_ = beyond;
      width_ = end / parts;
    }

    [[nodiscard]] double operator()(double epsilon) {
      using detail::enclosure;
      if (epsilon >= end_) return beyond_;
      if (!(width_ > 0.0)) return at(epsilon);
      double k = std::min(std::floor(epsilon / width_), parts - 1.0);
      if (width_ * k > epsilon) k -= 1.0;  // the quotient was rounded up
      double const left = width_ * k;
      double const right = width_ * (k + 1.0);
      double const before = at(left);
      double const after = at(right);
      if (!(epsilon > left && after < before)) return before;
      enclosure const share = expm1(enclosure(epsilon) - left) / expm1(enclosure(right) - left);
      return std::min(before, (before - (enclosure(before) - after) * share).upper);
    }

   private:
    static constexpr double parts = 512.0;

    double at(double epsilon) {
      auto const next = known_.lower_bound(epsilon);
      if (next != known_.end() && next->first == epsilon) return next->second;
      // Something is asked in any case.
      if (!known_.empty() && !ask_->more()) {
        return next == known_.begin() ? 1.0 : std::prev(next)->second;
      }
      double const found = ask_->delta(epsilon).upper;
      known_.emplace_hint(next, epsilon, found);
      return found;
    }

    questions* ask_;
    std::map<double, double> known_;  // by ε
    double end_ = std::numeric_limits<double>::infinity();
    double beyond_ = 0.0;
    double width_ = 0.0;
  };

  // δ_Q(ε) at most. Below 0 the other direction's is asked: P(S) − e^ε·Q(S) = 1 − e^ε + e^ε(Q(Sᶜ) − e^{−ε}P(Sᶜ)).
  [[nodiscard]] static double profile(double epsilon, known_profile& one) {
    if (epsilon >= 0.0) return one(epsilon);
    if (epsilon == -std::numeric_limits<double>::infinity()) return 1.0;
    double const reverse = one(-epsilon);
    detail::enclosure const kept =
        exp(detail::enclosure(epsilon)) * (detail::enclosure(1.0) - detail::enclosure(reverse));
    return std::min(1.0, (1.0 - kept).upper);
  }

  [[nodiscard]] static double least_excess(truncated_negative_binomial const& k, questions& ask) {
    using detail::enclosure;
    enclosure const rest = (1.0 - enclosure(k.gamma)) / enclosure(k.gamma);
    enclosure const power = 1.0 + enclosure(k.shape);
    double best = std::numeric_limits<double>::infinity();
    auto const at = [&](double e) {
      if (!ask.more()) return std::numeric_limits<double>::infinity();
      enclosure const hidden = rest * enclosure(ask.delta(e).upper) * exp(-enclosure(e));
      double const value = (power * (enclosure(e) + log1p(hidden))).upper;
      best = std::min(best, value);
      return value;
    };
    // At least ε₁, so that the least lies below the value at 0; x + δ(log x)·(1 − γ)/γ is convex in x. A question takes the
    // longer the smaller δ is: it is approached from below.
    double const high = at(0.0) / (1.0 + k.shape);
    if (!(high > 0.0)) return best;
    double end = 0x1p-20 * high;
    for (double last = at(end); end < high; end *= 2.0) {
      double const next = at(2.0 * end);
      if (!(next < last)) break;
      last = next;
    }
    (void)detail::least_between({0.0, std::min(2.0 * end, high)}, 1e-9, 60, at);
    return best;
  }

  // μδ_Q(ε₁) − ε₁
  [[nodiscard]] detail::enclosure poisson_excess(double e, questions& ask) const {
    return detail::enclosure(mean_) * detail::enclosure(ask.delta(e).upper) - detail::enclosure(e);
  }

  // A shift and a scale of V, both raised.
  struct average {
    double shift;
    double scale;
  };

  // For some e^{ε₁} − 1: any ε₁ is right.
  void choose_averages(questions& ask) {
    if (excess_ > 1000.0) return;  // that much says nothing anyway
    for (double scale = 0.0125; scale < 30.0; scale *= 2.0) {
      double const e = elementary::log1p(scale);
      if (e >= excess_ || !ask.more()) break;
      averages_.push_back({poisson_excess(e, ask).upper, expm1(detail::enclosure(e)).upper});
    }
  }

  // δ_A(ε)/E[K] at most.
  [[nodiscard]] double profile_of_one(double epsilon, known_profile& one) const {
    double best = profile(detail::subtract_down(epsilon, excess_), one);
    for (average const& by : averages_) best = std::min(best, averaged(epsilon, by, best, one));
    return best;
  }

  // E[δ_Q(ε − shift − scale·V)] at most, or anything at least `enough`: δ_Q falls in ε, so that a cell of V counts as
  // its upper end.
  [[nodiscard]] static double averaged(double epsilon, average const& by, double enough,
                                       known_profile& one) {
    using detail::enclosure;
    double sum = 0.0;
    double reached = 1.0;  // P(V > v), raised
    for (double v = 0.0; v < 700.0 && sum < enough;) {
      double const before = v;
      v += std::min(std::max(0.2 / by.scale, 0.04), 0.125 + v / 16.0);
      double const here = profile(
          (enclosure(epsilon) - enclosure(by.shift) - enclosure(by.scale) * enclosure(v)).lower,
          one);
      double const share = (-expm1(enclosure(before) - enclosure(v))).upper;
      sum = detail::add_up(sum, detail::multiply_up(detail::multiply_up(reached, share), here));
      reached = exp(-enclosure(v)).upper;
      if (reached <= 1e-3 * sum || here >= 1.0) break;
    }
    return detail::add_up(sum, reached);
  }

  // The least ε found at which δ_A/E[K] is at most `most`; `upper` is one.
  [[nodiscard]] double least_epsilon(double most, double upper, questions& ask) const {
    known_profile one(ask);
    if (profile_of_one(0.0, one) <= most) return 0.0;
    // What is a thousandth of what is looked for need not be known.
    double const end = most > 1e-290 && ask.more() ? ask.epsilon(1e-3 * most).upper : 0.0;
    if (end > 0.0 && end < 700.0) one.ends(end, 1e-3 * most);
    double holds = upper;
    for (average const& by : averages_) {
      auto const fits = [&](double e) { return averaged(e, by, most, one) <= most; };
      if (!(holds < std::numeric_limits<double>::infinity()) || !fits(0.999 * holds)) continue;
      double fails = 0.0;
      while (holds - fails > 1e-4 * holds) {
        double const middle = 0.5 * (fails + holds);
        (fits(middle) ? holds : fails) = middle;
      }
    }
    return holds;
  }

  Accountant const* base_;
  repetitions times_;
  double mean_ = 1.0;
  double excess_ = 0.0;
  double left_ = 0.0;  // of the work that making this and a question may cost
  std::vector<average> averages_;
};

}  // namespace tacit
