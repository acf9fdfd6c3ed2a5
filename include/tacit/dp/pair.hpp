// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/shared_vector.hpp>

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

/// Dominating pairs as values: what a mechanism's privacy loss is at most, in every order of the
/// neighbours. See dominating.hpp for which event has which.

namespace tacit {

/// remove: P is the input that has the record (loss bounded below when sampled). add: the other way.
enum class orientation { remove, add };

/// N(mu, 1) against N(0, 1). Symmetric.
struct normal_pair {
  double mu;
  friend bool operator==(normal_pair const&, normal_pair const&) = default;
};

/// With M = (1−Σ weight)₊·N(0, 1) + Σ weight·N(shift, 1): (M, N(0, 1)) in the direction `remove`,
/// (N(0, 1), M) in the direction `add`. The Poisson-sampled Gaussian has one part. (Shifts that are
/// vectors of at most these norms are dominated too: E_Q[f(M/Q)] of a convex f grows with the
/// covariances of the Gaussian exponents, Kahane 1986; Ganesh 2024.)
struct mixture_pair {
  struct part {
    double weight;  // in (0, 1]
    double shift;   // positive, ascending
    friend bool operator==(part const&, part const&) = default;
  };
  std::vector<part> parts;
  tacit::orientation orientation;
  friend bool operator==(mixture_pair const&, mixture_pair const&) = default;
};

/// A loss in [−epsilon, epsilon]: under P an atom of mass `atom` at ε and of mass atom·e^{−ε} at −ε, and
/// between them the density c·e^{(l−ε)/2}, with 2c(1−e^{−ε}) = 1 − atom(1+e^{−ε}). Symmetric before
/// sampling. Laplace: atom ½. Bounded range: atom 0, which has δ(x) = (1−e^{(x−ε)/2})²/(1−e^{−ε}), the
/// supremum over all two-valued losses t and t−ε; its trade-off multiplies the odds by e^ε, so that k
/// such steps are one of kε. Pure ε (binary randomised response): atom 1/(1+e^{−ε}), no density. If
/// rate < 1 the pair is sampled: with (A, B) as above, (rate·A + (1−rate)·B, B) in the direction
/// `remove`, swapped in the direction `add`.
struct bounded_pair {
  double epsilon;
  double atom;
  double rate;
  tacit::orientation orientation;
  friend bool operator==(bounded_pair const&, bounded_pair const&) = default;
};

/// Discrete Gaussians on the integers: (1−rate)·D(0) + rate·D(shift) against D(0), D(m)(k) ∝
/// e^{−(k−m)²/2σ²}; swapped in the direction `add`. Symmetric at rate 1.
struct lattice_pair {
  double sigma;
  std::uint64_t shift;
  double rate;
  tacit::orientation orientation;
  friend bool operator==(lattice_pair const&, lattice_pair const&) = default;
};

/// Finitely many losses, and the mass of outcomes that only one side can produce.
struct finite_pair {
  struct atom {
    double loss;  // finite, ascending
    double p;     // mass under P
    double q;     // mass under Q: p·e^{−loss}
    friend bool operator==(atom const&, atom const&) = default;
  };
  detail::shared_vector<atom> atoms;
  double infinite = 0.0;    // P's mass where Q has none: loss +∞
  double excluded = 0.0;    // Q's mass where P has none: loss −∞
  double loss_error = 0.0;  // the losses are off by at most that much, relative to the largest
  double mass_error = 0.0;  // and masses, each relative to itself, beside a few ulp
  double left_out = 0.0;    // at most that much of either side is missing, and may have any loss
  friend bool operator==(finite_pair const&, finite_pair const&) = default;
};

/// The symmetric pair given by its profile for ε′ ≥ 0: with e^{ε′} = 1+rate·(e^ε−1), θ = e^{ε′−ε},
///   δ(ε′) = rate·[(1−θ)·δ_absent(ε) + θ·δ_changed(ε)],
/// where δ_m is the profile of the noise's own pair with shift m: normal Φ(m/2−ε/m)−e^ε Φ(−m/2−ε/m),
/// Laplace max(0, 1−e^{(ε−m)/2}). (Advanced joint convexity: Balle, Barthe & Gaboardi 2018.) What a
/// sampled record's absence moves the sum by is `absent`, what its change does `changed`.
/// Convex in e^{ε′}, as a pair's profile is, if absent ≤ changed. If absent > changed (a fixed size under
/// zero_out) it need not be: the profile bounds the mechanism's all the same, and so does its largest
/// convex minorant, which is the pair; second derivatives of the formula may then be negative.
struct amplified_pair {
  enum class noise { normal, laplace };
  noise kind;
  double rate;
  double absent;
  double changed;
  friend bool operator==(amplified_pair const&, amplified_pair const&) = default;
};

/// Two mixtures by the same coins: rest·D(0) + Σ weight·D(p) against rest·D(0) + Σ weight·D(q), rest = (1−Σ weight)₊, D(m)
/// being normal noise of deviation 1, or Laplace noise of scale 1, about m. What a person's sampled records add is p for one
/// neighbour and q for the other. The likelihood ratio rises where it counts: q ≤ 0 ≤ p in every part, or the pair is
/// mirrored, of one part with p = 2q > 0. A mirrored pair has the profile of the two mixtures for ε ≥ 0, and is symmetric.
/// Turned over, the pair has −q for p and −p for q: equal pairs are symmetric.
struct coupled_pair {
  using noise = amplified_pair::noise;
  struct part {
    double weight;  // in (0, 1]
    double p;
    double q;
    friend bool operator==(part const&, part const&) = default;
  };
  noise kind;
  std::vector<part> parts;  // p ascending, q descending
  bool mirrored = false;
  std::optional<double> rest = std::nullopt;  // where it is known as a number of its own
  double weight_error =
      0.0;  // weights from 1e-290 on, and `rest`, are off by at most that, relatively
  friend bool operator==(coupled_pair const&, coupled_pair const&) = default;
};

/// One epoch of random allocation of normal noise: the mean of N(e_i, σ²I) over i ≤ steps, against N(0, σ²I), in as many
/// dimensions; swapped in the direction `add`.
struct allocation_pair {
  double noise_multiplier;
  std::uint64_t steps;
  tacit::orientation orientation;
  friend bool operator==(allocation_pair const&, allocation_pair const&) = default;
};

/// The same of another mechanism, whose step has the pair `above`, and none that is less than `below`, in the direction
/// `remove`: the mean of the laws in which one step is P's and all others are Q's, against that in which all are Q's.
struct allocated_pair {
  finite_pair above;
  finite_pair below;
  std::uint64_t steps;
  tacit::orientation orientation;
  friend bool operator==(allocated_pair const&, allocated_pair const&) = default;
};

using dominating_pair =
    std::variant<normal_pair, mixture_pair, bounded_pair, lattice_pair, finite_pair, amplified_pair,
                 coupled_pair, allocation_pair, allocated_pair>;

/// What dominates an event: a pair for each direction. They are composed separately, and the
/// larger δ counts.
struct domination {
  dominating_pair remove;
  dominating_pair add;  // equal to `remove` where the pair is symmetric
  bool symmetric;
  /// Whether some mechanism that fits the event attains the pair, in rate and noise as given: only then
  /// is a lower bound on the pair's ε a lower bound on the mechanism's.
  bool attained;
  /// What it took to find the pair, in counted nanoseconds (work_budget.hpp), where that is much.
  double work = 0.0;
  /// At most that much of either side of the pairs is missing, and may have any loss: δ is larger by that at most. Of a
  /// person's records parts that no double holds.
  double left_out = 0.0;
};

}  // namespace tacit
