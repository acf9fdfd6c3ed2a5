// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/exact_sum.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/event_words.hpp>
#include <tacit/dp/normal_sum.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/pure_epsilon.hpp>
#include <tacit/dp/rdp/guarantee.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

/// Zero-concentrated differential privacy: one number ρ, which adds up; what it costs in accuracy
/// is the conversion, which has only the Rényi divergences ρα of the loss.

namespace tacit {

namespace detail {

inline void check_rho(std::string_view function, zcdp guarantee) {
  require_domain(guarantee.rho >= 0.0, function, "rho", guarantee.rho, "at least 0");
}

}  // namespace detail

/// μ-Gaussian DP is (μ²/2)-zCDP, exactly.
/// Guarantee: upper bound, an ulp.
/// @throws std::domain_error unless mu ≥ 0
[[nodiscard]] inline zcdp zcdp_of(gaussian_dp guarantee) {
  detail::require_domain(guarantee.mu >= 0.0, "zcdp_of", "mu", guarantee.mu, "at least 0");
  return {detail::multiply_up(0.5, detail::multiply_up(guarantee.mu, guarantee.mu))};
}

/// ε-DP is ε·tanh(ε/2)-zCDP, and no better. Randomised response dominates, with (α−1)D_α =
/// log cosh(sε) − log cosh(ε/2), s = α − ½. log cosh √y is concave (the bound of Jaakkola & Jordan
/// 2000), so with y = s² it lies under its tangent at ¼: (α−1)D_α ≤ α(α−1)·D₁, D₁ = ε·tanh(ε/2).
/// Never above the usual ε²/2.
/// Guarantee: upper bound, a few ulp.
/// @throws std::domain_error unless epsilon ≥ 0
[[nodiscard]] inline zcdp zcdp_of_pure(double epsilon) {
  detail::require_domain(epsilon >= 0.0, "zcdp_of_pure", "epsilon", epsilon, "at least 0");
  detail::enclosure const loss(epsilon);
  return {(loss * tanh(0.5 * loss)).upper};
}

/// Laplace noise that is `epsilon`-DP is (ε − 1 + e^{−ε})-zCDP, and no better: (α−1)D_α =
/// log[cosh(sε) + sinh(sε)/(2s)] − ε/2 with s = α − ½. As a function of y = s² the bracket is
/// entire, of order ½, and vanishes only at −λ for the eigenvalues λ > 0 of −u″ = λu, u′(0) =
/// u(0)/2, u(ε) = 0; its logarithm is Σ log(1 + y/λ), concave, and lies under its tangent at ¼,
/// α(α−1)·D₁.
/// Guarantee: upper bound, a few ulp.
/// @throws std::domain_error unless epsilon ≥ 0
[[nodiscard]] inline zcdp zcdp_of_laplace(double epsilon) {
  detail::require_domain(epsilon >= 0.0, "zcdp_of_laplace", "epsilon", epsilon, "at least 0");
  return {exp_residual(-detail::enclosure(epsilon)).upper};
}

/// A mechanism of bounded range ε is ε²/8-zCDP (Cesar & Rogers 2021), and ε-DP besides.
/// Guarantee: upper bound, a few ulp.
/// @throws std::domain_error unless epsilon ≥ 0
[[nodiscard]] inline zcdp zcdp_of_bounded_range(double epsilon) {
  double const as_pure = zcdp_of_pure(epsilon).rho;
  return {std::min(as_pure, detail::multiply_up(0.125, detail::multiply_up(epsilon, epsilon)))};
}

namespace detail {

/// Of the pair of an event that is not sampled.
template <std::same_as<event> Event>
struct zcdp_of_pair {
  Event const& release;

  [[noreturn]] static void refuse(std::string const& what, std::string_view why) {
    throw std::invalid_argument("zcdp: " + what + " has no known zCDP bound; " + std::string(why));
  }
  [[noreturn]] zcdp refuse_samples() const {
    refuse("a sampled " + words_of(release.what).word,
           "compose the unsampled event to charge it unsampled, or take another accountant");
  }

  // What `dominate` computes is off by less than three doubles.
  [[nodiscard]] static double raised(double nearest) {
    return nearest == 0.0 ? 0.0 : next_up(nearest, 4);
  }
  [[nodiscard]] zcdp operator()(normal_pair const& pair) const {
    return zcdp_of(gaussian_dp{shift_of(pair).upper});
  }
  [[nodiscard]] zcdp operator()(bounded_pair const& pair) const {
    double const epsilon = raised(pair.epsilon);
    if (std::holds_alternative<laplace>(release.what)) return zcdp_of_laplace(epsilon);
    if (std::holds_alternative<exponential_mechanism>(release.what)) {
      return zcdp_of_bounded_range(epsilon);
    }
    return zcdp_of_pure(epsilon);
  }
  // Canonne, Kamath & Steinke 2020: like the continuous one.
  [[nodiscard]] zcdp operator()(lattice_pair const& pair) const {
    return zcdp_of(gaussian_dp{divide_up(count_up(pair.shift), pair.sigma)});
  }
  [[nodiscard]] zcdp operator()(finite_pair const& pair) const {
    if (std::holds_alternative<integer_noise>(release.what)) {
      refuse("noise of an integer law",
             "take the privacy-loss accountant, or the Rényi accountant for Skellam noise");
    }
    if (std::holds_alternative<gaussian_mixture>(release.what)) refuse_samples();
    if (pair.infinite > 0.0) {
      refuse("approx_dp with delta > 0", "its divergences are infinite");
    }
    double largest = 0.0;
    for (finite_pair::atom const& a : pair.atoms) largest = std::max(largest, std::abs(a.loss));
    return zcdp_of_pure(raised(widened(largest, pair.loss_error).upper));
  }
  // That of the largest shift (joint convexity), unless records are sampled.
  [[nodiscard]] zcdp operator()(mixture_pair const& pair) const {
    if (!std::holds_alternative<gaussian_mixture>(release.what)) refuse_samples();
    return zcdp_of(gaussian_dp{next_up(pair.parts.back().shift, 4)});
  }
  [[nodiscard]] zcdp operator()(amplified_pair const&) const { return refuse_samples(); }
  [[nodiscard]] zcdp operator()(coupled_pair const& pair) const {
    if (!std::holds_alternative<gaussian_mixture>(release.what)) refuse_samples();
    auto const& most = pair.parts.back();
    return zcdp_of(gaussian_dp{next_up(subtract_up(most.p, most.q), 4)});
  }
  [[nodiscard]] zcdp operator()(allocation_pair const&) const { return refuse_samples(); }
  [[nodiscard]] zcdp operator()(allocated_pair const&) const { return refuse_samples(); }
};

/// Whether a record takes part in a part of the releases only, by a secret draw.
[[nodiscard]] inline bool is_sampled(sampling const& scheme) {
  if (auto const* p = std::get_if<poisson>(&scheme)) return p->rate > 0.0 && p->rate < 1.0;
  if (auto const* f = std::get_if<fixed_size>(&scheme)) return f->batch < f->records;
  return std::holds_alternative<with_replacement>(scheme);
}

}  // namespace detail

namespace detail {

/// Of a release that is no composition.
template <std::same_as<event> Event>
[[nodiscard]] zcdp zcdp_of_one(Event const& release, adjacency neighbours) {
  zcdp_of_pair<event> const visitor{release};
  if (std::holds_alternative<zcdp>(release.what)) {
    check_event("zcdp_of", release);
    check_guaranteed_samples(release, neighbours);
    if (is_sampled(release.how)) visitor.refuse_samples();
    auto const* scheme = std::get_if<poisson>(&release.how);
    if (scheme != nullptr && scheme->rate == 0.0) return {0.0};
    return {guarantee_of(release, neighbours)->upper(1.0)};
  }
  domination const pair = dominate(release, neighbours);
  if (is_sampled(release.how)) visitor.refuse_samples();
  return std::visit(visitor, pair.remove);
}

}  // namespace detail

/// ρ of one release. Gaussians, also discrete, by half their squared shift; Laplace, bounded range
/// and pure mechanisms by the functions above; sampled ones and (ε, δ > 0) are refused.
/// Guarantee: upper bound.
/// @throws std::domain_error for a value out of range; std::invalid_argument, with the reason,
///         where no bound is known
template <real T = double>
[[nodiscard]] zcdp zcdp_of(event const& release, adjacency neighbours) {
  double sum = 0.0;
  for (auto const& [block, count] : epoch_blocks(release, 1)) {
    double const rho = detail::zcdp_of_one(block, neighbours).rho;
    sum = detail::add_up(sum, count == 1 ? rho : detail::multiply_up(detail::count_up(count), rho));
  }
  return {sum};
}

namespace detail {

/// The largest total variation of a ρ-zCDP pair, δ(0), for ρ > 0: Pinsker's bound √(ρ/2), and
/// Bretagnolle & Huber's √(1−e^{−ρ}), both from D₁ ≤ ρ.
[[nodiscard]] inline double zcdp_variation(double rho) {
  enclosure const divergence(rho);
  return std::min(1.0, sqrt(min(0.5 * divergence, -expm1(-divergence))).upper);
}

}  // namespace detail

/// The δ for which ρ-zCDP implies (ε, δ)-DP:
///   δ = min_{z>0} e^{z((1+z)ρ − ε)}·(1+1/z)^{−z}/(1+z),   z = α − 1
/// (Canonne, Kamath & Steinke 2020, Corollary 13), and at most the total variation that ρ allows.
/// The exponent is convex in z; any z gives a bound.
/// Guarantee: upper bound; the minimum found to 1e-11. Never 0 unless ρ is.
/// @throws std::domain_error unless rho ≥ 0, and epsilon is finite and at least 0
[[nodiscard]] inline double delta(zcdp guarantee, double epsilon) {
  detail::check_rho("delta", guarantee);
  detail::check_non_negative("delta", "epsilon", epsilon);
  double const rho = guarantee.rho;
  if (rho == 0.0) return 0.0;
  double const most = detail::zcdp_variation(rho);
  if (!(rho <= 1e300)) return most;
  double const gap = epsilon - rho;
  // The exponent's derivative is 2zρ − gap − log(1+1/z); log(1+1/z) ≤ 1/z puts its root under this.
  double const root = elementary::hypot(gap, std::sqrt(8.0 * rho));
  double z = gap > 0.0 ? (gap + root) / rho / 4.0 : 2.0 / (root - gap);
  if (!(z <= 1e150)) z = 1e150;
  for (int step = 0; step < 100; ++step) {  // Newton's method in log z
    double const slope = 2.0 * z * rho - gap - elementary::log1p(1.0 / z);
    double const move = -slope / (2.0 * z * rho + 1.0 / (1.0 + z));
    z = std::clamp(z * elementary::exp(std::clamp(move, -2.0, 2.0)), 1e-300, 1e150);
    if (!(std::abs(move) > 1e-8)) break;
  }
  detail::enclosure const excess(z);
  detail::enclosure const exponent = excess * (excess * rho - (detail::enclosure(epsilon) - rho)) -
                                     (excess * log1p(1.0 / excess) + log1p(excess));
  return std::min(most, exp(exponent).upper);
}

/// The ε for which ρ-zCDP implies (ε, δ)-DP: the least over z = α − 1 of
///   ε = (1+z)ρ + (log(1/δ) − log(1+z))/z − log(1+1/z),   at z²ρ + log(1+z) = log(1/δ);
/// 0 where δ is no less than the total variation that ρ allows.
/// Guarantee: upper bound; the minimum found to 1e-11.
/// @throws std::domain_error unless rho ≥ 0 and delta is in (0, 1)
[[nodiscard]] inline double epsilon(zcdp guarantee, double delta) {
  detail::check_rho("epsilon", guarantee);
  detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
  double const rho = guarantee.rho;
  if (rho == 0.0 || detail::zcdp_variation(rho) <= delta) return 0.0;
  if (!(rho <= 1e300)) return std::numeric_limits<double>::infinity();
  double const loss = -elementary::log(delta);
  // Newton's method in log z from the right of the root: the left side is convex there.
  double z = std::min(std::sqrt(loss) / std::sqrt(rho), elementary::expm1(loss));
  for (int step = 0; step < 100; ++step) {
    double const energy = z * (z * rho);
    double const move = (loss - energy - elementary::log1p(z)) / (2.0 * energy + z / (1.0 + z));
    z *= elementary::exp(std::clamp(move, -2.0, 2.0));
    if (!(std::abs(move) > 1e-8)) break;
  }
  detail::enclosure const excess(z);
  detail::enclosure const epsilon = (1.0 + excess) * rho -
                                    (log(detail::enclosure(delta)) + log1p(excess)) / excess -
                                    log1p(1.0 / excess);
  return std::max(0.0, epsilon.upper);
}

/// The largest ρ whose ρ-zCDP implies (ε, δ)-DP.
/// Guarantee: feasible end of the conversion `delta(zcdp, ε)`. δ = 0 gives 0; δ = 1 gives ∞.
/// @throws std::domain_error unless epsilon is finite and at least 0, and delta in [0, 1]
[[nodiscard]] inline zcdp zcdp_for(approx_dp target) {
  detail::check_non_negative("zcdp_for", "epsilon", target.epsilon);
  detail::check_probability("zcdp_for", "delta", target.delta);
  if (target.delta == 1.0) return {std::numeric_limits<double>::infinity()};
  return {last_holding(0.0, std::numeric_limits<double>::max(), [&](double rho) {
    return delta(zcdp{rho}, target.epsilon) <= target.delta;
  })};
}

/// Accounting by zCDP: ρ adds up, and δ and ε come from the sum.
/// Guarantee: upper bounds; it has no lower ones (lower = 0). Cost: none in the counts.
template <real T = double>
class basic_zero_concentrated {
 public:
  static constexpr std::string_view name = "zcdp";

  explicit basic_zero_concentrated(adjacency neighbours) : neighbours_(neighbours) {}

  /// @throws std::invalid_argument, with the reason, for an event without a bound
  void add(event const& release, std::uint64_t count) {
    sum_.add(zcdp_of(release, neighbours_).rho, count);
  }

  /// ρ of the composition.
  [[nodiscard]] zcdp guarantee() const { return {sum_.value().upper}; }

  [[nodiscard]] bound<double> epsilon(double delta) const {
    return {0.0, tacit::epsilon(guarantee(), delta)};
  }
  [[nodiscard]] bound<double> delta(double epsilon) const {
    return {0.0, tacit::delta(guarantee(), epsilon)};
  }

 private:
  adjacency neighbours_;
  detail::exact_sum sum_;
};

using zero_concentrated = basic_zero_concentrated<double>;
using zcdp_accountant = accountant<zero_concentrated>;

}  // namespace tacit
