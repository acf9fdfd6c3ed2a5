// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/finite_pairs.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rdp/allocation.hpp>
#include <tacit/dp/rdp/amplified.hpp>
#include <tacit/dp/rdp/bounded.hpp>
#include <tacit/dp/rdp/coupled.hpp>
#include <tacit/dp/rdp/mixture.hpp>
#include <tacit/dp/rdp/table.hpp>

#include <cstddef>
#include <limits>
#include <variant>

/// The Rényi divergence of a dominating pair at any real order α = 1 + z > 1,
///   D_α(P‖Q) = log M / z,   M − 1 = E_P[(e^{zL}−1−zL) + z·(e^{−L}−1+L)] + z·Q(P = 0),
/// in which every term is positive: nothing cancels at any rate, noise or order. A pair becomes a table
/// of losses and their masses, built once and good for many orders. Gaussian mixtures use the trapezoid
/// rule in the output x, whose step follows from the strip |Im x| < π/(largest shift) in which the
/// integrand is analytic, and whose error is bounded (docs/certificates/renyi.md, Lemma 7); loss densities use Gauss–Legendre panels. Where the outputs that matter lie
/// far apart, the space between them is proved empty (`significant`) and skipped.

namespace tacit {

namespace detail {

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
///   mixture         rates 1e-300 … 1, largest shift ≤ 64 (σ ≥ 1/64) and α·shift ≤ 3e7; beyond that, or where parts
///                   are so many that a table is too large, an upper bound (docs/certificates/renyi.md)
///   bounded         closed form (unsampled), or panels (Lemma 8); where that takes more than some thousand panels
///                   (orders of thousands at tiny rates) the upper bound of docs/certificates/renyi.md, Lemma 3
///   lattice         the sum over the integers; beyond α·shift/σ = 3e7 as mixture
///   finite          the sum; ∞ if P has mass where Q has none, or may have
///   coupled         trapezoids or panels, with their error bounded (docs/certificates/renyi.md, Lemmas 5 and 8); where
///                   that takes more than some thousand nodes as amplified, or by joint convexity
///   amplified       the integral of its profile, by panels with their error bounded (Lemma 9); beyond changed = 1e3 that of the unsampled pair, and Lemma 4
///   allocation      upper bounds (rdp/allocation.hpp): at whole orders of the direction `remove`, up to some hundred, and in the
///                   direction `add` within 1e-10 of the divergence, or of 1e-12 where that is more; chords between those
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

  /// How many losses of parts of mixtures have been computed for tables: what takes the time, where parts are many. Moments
  /// of epochs of random allocation count as so many.
  [[nodiscard]] double work() const {
    if (auto const* mixture = std::get_if<detail::mixture_divergence<T>>(&source_)) {
      return mixture->work();
    }
    if (auto const* coupled = std::get_if<detail::coupled_divergence<T>>(&source_)) {
      return coupled->work();
    }
    auto const* epoch = std::get_if<detail::allocation_divergence<T>>(&source_);
    return epoch == nullptr ? 0.0 : epoch->work();
  }

  /// That so many are asked together: of epochs of random allocation tables are smaller, and more is by other bounds.
  void among(std::size_t many) {
    if (auto* epoch = std::get_if<detail::allocation_divergence<T>>(&source_)) epoch->among(many);
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
      if (mu == 0.0) return {0, 0};
      T const value = (order * T(mu)) * T(mu) / 2;  // the square alone may underflow
      T const lost = T(value < T(1e-290) ? 1e-290 : 0.0);
      return {value, value * (2 * std::numeric_limits<T>::epsilon()) + lost};
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
      if (nothing) return {0, 0};
      if (infinite) return {std::numeric_limits<T>::infinity(), 0};
      return table.divergence(order - 1, table.size());
    }
  };
  using any_source =
      std::variant<closed_normal, closed_bounded, finite_sum, detail::mixture_divergence<T>,
                   detail::sampled_bounded<T>, detail::profile_divergence<T>,
                   detail::coupled_divergence<T>, detail::allocation_divergence<T>>;

  struct maker {
    any_source operator()(normal_pair const& p) const { return closed_normal{p.mu}; }
    any_source operator()(mixture_pair const& p) const { return detail::mixture_divergence<T>(p); }
    any_source operator()(lattice_pair const& p) const { return detail::mixture_divergence<T>(p); }
    any_source operator()(amplified_pair const& p) const {
      return detail::profile_divergence<T>(p);
    }
    any_source operator()(coupled_pair const& p) const { return detail::coupled_divergence<T>(p); }
    any_source operator()(bounded_pair const& p) const {
      if (p.rate == 1.0) return closed_bounded{p};
      return detail::sampled_bounded<T>(p);
    }
    any_source operator()(allocation_pair const& p) const {
      return detail::allocation_divergence<T>(p);
    }
    any_source operator()(allocated_pair const& p) const { return (*this)(detail::whole_step(p)); }
    any_source operator()(finite_pair const& p) const {
      using elementary::log;
      finite_sum sum{
          {}, p.infinite > 0.0 || p.left_out > 0.0, p.infinite == 0.0 && p.excluded == 0.0};
      sum.table.reserve(p.atoms.size());
      double largest = 0.0;
      for (finite_pair::atom const& a : p.atoms) {
        largest = a.loss > largest ? a.loss : -a.loss > largest ? -a.loss : largest;
      }
      T const off = T(p.loss_error / detail::unit_roundoff);
      T const wrong = T(p.mass_error / detail::unit_roundoff);
      for (finite_pair::atom const& a : p.atoms) {
        sum.nothing = sum.nothing && a.loss == 0.0;
        if (!(a.p > 0.0)) {
          sum.table.exclude(T(a.q));
          continue;
        }
        T const size = T(a.loss < 0.0 ? -a.loss : a.loss);
        // A mass under P that underflows is known by that under Q.
        bool const tiny = a.p < 1e-290 && a.q > a.p;
        T const log_mass = tiny ? T(log(T(a.q)) + T(a.loss)) : T(log(T(a.p)));
        sum.table.add({T(a.loss), log_mass, 2 * size + off * largest, 6 - 2 * log_mass + wrong});
      }
      sum.table.exclude(T(p.excluded));
      return sum;
    }
  };
  static any_source make(dominating_pair const& pair) { return std::visit(maker{}, pair); }

  any_source source_;
};
/// In double.
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
  if (epsilon == 0) return 0;
  T const z = order - 1;
  T const v = epsilon / 2;
  T const tilt = z * v;
  if (!(tilt < 1e300)) return epsilon;  // but for a few units of 1
  if (epsilon < 1e-75 && tilt < 1e-9) return order * epsilon * epsilon / 8;  // cubes underflow
  return detail::log_sinhc_step(tilt, v) + detail::log_sinhc_step(v, tilt) / z;
}

#if defined(TACIT_COMPILED)
extern template class basic_renyi_curve<double>;
#endif

}  // namespace tacit
