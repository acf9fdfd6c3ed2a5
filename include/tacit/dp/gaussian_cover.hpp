// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/exact_sum.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/normal_sum.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/pure_epsilon.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <variant>

namespace tacit::detail {

/// Upper ends in closed form: every release as if its sampling were known to the attacker. Normal noise of any
/// sampling is dominated by one Gaussian, losses in [−ε, ε] cost ε at most, and mass that only one side can produce is
/// added to δ. With μ, E and D what these sum to, δ(ε) ≤ D + δ_μ(ε − E). Nor is it more than the sum of all δ(0), which says
/// most of few releases at tiny rates.
///
/// Guarantee: upper bounds in both directions; ∞ and 1 where a release has no such bound (discrete Gaussians).
/// Source: Lemma 14 of docs/certificates/grid.md.
class gaussian_cover {
 public:
  template <std::same_as<domination> Pairs>
  void add(Pairs const& pairs, std::uint64_t count) {
    if (count == 0) return;
    double const apart = variation(pairs.remove);
    apart_.add(pairs.symmetric ? apart : std::max(apart, variation(pairs.add)), count);
    add(pairs.remove, pairs.add, count);
  }

  [[nodiscard]] double epsilon(double delta) const {
    if (apart_.value().upper <= delta) return 0.0;
    double const left = subtract_down(delta, alone_.value().upper);
    if (!covers_ || !(left > 0.0)) return unbounded;
    double const normal =
        normals_.variance().upper > 0.0 ? tacit::epsilon(normals_.mu().upper, left).upper : 0.0;
    return add_up(bounded_.value().upper, normal);
  }

  [[nodiscard]] double delta(double epsilon) const {
    double const left = subtract_down(epsilon, bounded_.value().upper);
    double const most = std::min(1.0, apart_.value().upper);
    if (!covers_ || !(left >= 0.0)) return most;
    double const normal =
        normals_.variance().upper > 0.0 ? tacit::delta(normals_.mu().upper, left).upper : 0.0;
    return std::min(most, add_up(alone_.value().upper, normal));
  }

 private:
  static constexpr double unbounded = std::numeric_limits<double>::infinity();

  // The largest μ of the normal pairs that a pair of normal noise is a mixture of; 0 for a pair of another kind.
  template <std::same_as<dominating_pair> Pair>
  [[nodiscard]] static double largest_shift(Pair const& pair) {
    struct visitor {
      double operator()(normal_pair const& p) const { return p.mu; }
      double operator()(mixture_pair const& p) const {
        return p.parts.empty() ? 0.0 : p.parts.back().shift;
      }
      double operator()(allocation_pair const& p) const { return 1.0 / p.noise_multiplier; }
      double operator()(amplified_pair const& p) const {
        return p.kind == amplified_pair::noise::normal ? std::max(p.absent, p.changed) : 0.0;
      }
      double operator()(coupled_pair const& p) const {
        double most = 0.0;
        for (auto const& part : p.parts) most = std::max(most, add_up(part.p, -part.q));
        return p.kind == coupled_pair::noise::normal ? most : 0.0;
      }
      double operator()(bounded_pair const&) const { return 0.0; }
      double operator()(lattice_pair const&) const { return 0.0; }
      double operator()(finite_pair const&) const { return 0.0; }
      double operator()(allocated_pair const&) const { return 0.0; }
    };
    return std::visit(visitor{}, pair);
  }

  // At least half of the distance between the two laws, which is δ(0).
  template <std::same_as<dominating_pair> Pair>
  [[nodiscard]] static double variation(Pair const& pair) {
    struct visitor {
      static double normal(double shift) {
        return tacit::delta(gaussian_dp{raised(shift)}, 0.0).upper;
      }
      static double of_losses(double epsilon) { return raised(elementary::tanh(0.5 * epsilon)); }
      static double of_laplace(double shift) {
        return raised(-elementary::expm1(-0.5 * raised(shift)));
      }
      double operator()(normal_pair const& p) const { return normal(p.mu); }
      double operator()(mixture_pair const& p) const {
        double sum = 0.0;
        for (auto const& part : p.parts) {
          sum = add_up(sum, multiply_up(part.weight, normal(part.shift)));
        }
        return sum;
      }
      double operator()(bounded_pair const& p) const {
        return multiply_up(p.rate, p.atom == 0.5 ? of_laplace(p.epsilon) : of_losses(p.epsilon));
      }
      double operator()(lattice_pair const& p) const { return p.rate; }
      double operator()(finite_pair const& p) const {
        // By losses: of tiny ones the two masses are one double.
        double largest = 0.0;
        for (finite_pair::atom const& a : p.atoms) largest = std::max(largest, std::abs(a.loss));
        double const off = p.loss_error * largest;
        double sum = add_up(p.infinite, p.left_out);
        for (finite_pair::atom const& a : p.atoms) {
          if (a.loss + off > 0.0) sum += a.p * -elementary::expm1(-(a.loss + off));
        }
        return sum *
               (1.0 + p.mass_error + unit_roundoff * (static_cast<double>(p.atoms.size()) + 64.0));
      }
      double operator()(amplified_pair const& p) const {
        bool const is_normal = p.kind == amplified_pair::noise::normal;
        return multiply_up(p.rate, is_normal ? normal(p.changed) : of_laplace(p.changed));
      }
      double operator()(coupled_pair const& p) const {
        bool const is_normal = p.kind == coupled_pair::noise::normal;
        double sum = 0.0;
        for (auto const& part : p.parts) {
          double const shift = add_up(part.p, -part.q);
          double const one = is_normal ? normal(std::abs(shift)) : of_laplace(std::abs(shift));
          sum = add_up(sum, multiply_up(part.weight * (1.0 + p.weight_error), one));
        }
        return p.mirrored ? 1.0 : sum;
      }
      double operator()(allocation_pair const& p) const { return normal(1.0 / p.noise_multiplier); }
      double operator()(allocated_pair const& p) const { return (*this)(p.above); }
    };
    return std::min(1.0, std::visit(visitor{}, pair));
  }
  // By more than some elementary functions are off.
  [[nodiscard]] static double raised(double x) { return x * (1.0 + 16.0 * unit_roundoff); }

  template <std::same_as<dominating_pair> Pair>
  void add(Pair const& remove, Pair const& added, std::uint64_t count) {
    double const shift = std::max(largest_shift(remove), largest_shift(added));
    if (shift > 0.0) {
      normals_.add(normal_pair{shift}, count);
      return;
    }
    double most = 0.0;
    double alone = 0.0;
    for (Pair const* pair : {&remove, &added}) {
      auto const* finite = std::get_if<finite_pair>(pair);
      if (finite == nullptr || finite->infinite == 0.0) {
        most = std::max(most, pure_loss(*pair).upper);
      } else {
        // Rounded thrice at most, and never smaller than a subnormal number.
        alone = std::max(
            alone, multiply_up(add_up(finite->infinite, finite->left_out), 1.0 + shift_error));
        if (!finite->atoms.empty()) {
          most = std::max(most, widened(finite->atoms.back().loss, finite->loss_error).upper);
        }
      }
    }
    if (!(most < unbounded)) {
      covers_ = false;
      return;
    }
    bounded_.add(most, count);
    alone_.add(alone, count);
  }

  normal_sum normals_;
  exact_sum bounded_;
  exact_sum alone_;
  exact_sum apart_;
  bool covers_ = true;
};

}  // namespace tacit::detail
