// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/count.hpp>
#include <tacit/core/units.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

/// What was released, independent of any accountant: a mechanism, how its records were sampled, and
/// how many records one person holds. Which inputs count as neighbours belongs to the accountant.
///
/// One record's *contribution* is what it adds to the released sum, clipped to norm C. `C` is therefore
/// the sensitivity under add_remove and zero_out, and 2C is the sensitivity under replace_one, where one
/// contribution leaves and another one comes. Noise multipliers are relative to C whatever the adjacency.
///
/// Stability. Saved accountants name these events: a field is never removed, and never changes its
/// meaning, unit or default. What a mechanism cannot express today becomes a new mechanism or sampling
/// scheme; a new field may be added only with a default under which every event keeps its meaning, and
/// it is written to archives under a new version. An accountant refuses what it does not know.

namespace tacit {

/// Which inputs are neighbours.
enum class adjacency {
  add_remove,   // one has a record more
  replace_one,  // same size, one record differs
  zero_out      // same size, one record is replaced by a null record that contributes nothing
};

/// Contributions summed, plus N(0, (noise_multiplier·C)²) in every coordinate; C bounds the L2 norm of
/// a record's whole contribution. Covers scalars (DPZero), vectors (DP-SGD) and the K coefficients of
/// one step clipped together (DP-AggZO); for groups clipped apart see `joint_gaussian`.
struct gaussian {
  double noise_multiplier = required;
  friend bool operator==(gaussian const&, gaussian const&) = default;
};

/// Contributions summed, plus Laplace noise of scale noise_multiplier·C in every coordinate; C bounds
/// the L1 norm of a record's contribution.
struct laplace {
  double noise_multiplier = required;
  friend bool operator==(laplace const&, laplace const&) = default;
};

/// An integer sum plus discrete Gaussian noise, P(k) ∝ e^{−k²/2σ²}. A scalar; `sensitivity` bounds the
/// integer |contribution|, so records are rounded *before* they are clipped.
struct discrete_gaussian {
  double sigma = required;
  std::uint64_t sensitivity = 1;
  friend bool operator==(discrete_gaussian const&, discrete_gaussian const&) = default;
};

/// An integer sum plus discrete Laplace noise, P(k) ∝ e^{−|k|/scale}.
struct discrete_laplace {
  double scale = required;
  std::uint64_t sensitivity = 1;
  friend bool operator==(discrete_laplace const&, discrete_laplace const&) = default;
};

/// Laws of noise on the integers, beside the discrete Gaussian and the discrete Laplace law.
enum class integer_law {
  skellam,  // the difference of two independent Poisson counts, of mean variance/2 each
  binomial  // of 4·variance fair coins, the number of heads less its mean (rounded down)
};

/// An integer sum plus noise of this law. The loss of binomial noise is infinite where it ends: its δ is positive at
/// every ε.
///
/// This and the two discrete mechanisms above are scalars, or vectors with independent noise in every coordinate:
/// `sensitivity` then bounds the L1 norm of a contribution, which is an integer vector. For L2 norms see
/// `vector_discrete_gaussian` and `vector_skellam`.
struct integer_noise {
  integer_law law = integer_law::skellam;
  double variance = required;
  std::uint64_t sensitivity = 1;
  friend bool operator==(integer_noise const&, integer_noise const&) = default;
};

/// Each record answers one of k categories: the true one with probability e^ε/(e^ε+k−1), each other
/// one with 1/(e^ε+k−1). Under zero_out the null record answers with one of the categories at random.
struct randomised_response {
  double epsilon = required;
  std::uint64_t categories = 2;
  friend bool operator==(randomised_response const&, randomised_response const&) = default;
};

/// The exponential mechanism: ε-bounded range, log P(y)/Q(y) − log P(y′)/Q(y′) ≤ ε for all outcomes
/// (Dong, Durfee & Rogers 2020). For weights e^{ε·score/(2Δ)}, or e^{ε·score/Δ} if a record moves all
/// scores one way.
struct exponential_mechanism {
  double epsilon = required;
  friend bool operator==(exponential_mechanism const&, exponential_mechanism const&) = default;
};

/// Anything ε-differentially private under the accountant's adjacency. (ε, δ): use `approx_dp`.
struct pure {
  double epsilon = required;
  friend bool operator==(pure const&, pure const&) = default;
};

/// Contributions summed, plus N(0, sigma²) in every coordinate, where a record's contribution has an L2 norm that is drawn
/// by the mechanism, secretly: at most `sensitivity` with probability `weight`. With what the weights leave to 1 it is 0.
struct gaussian_mixture {
  static constexpr std::uint64_t most_parts = 1'000;

  struct part {
    double weight = required;
    double sensitivity = required;
    friend bool operator==(part const&, part const&) = default;
  };
  double sigma = required;
  std::vector<part> parts;
  friend bool operator==(gaussian_mixture const&, gaussian_mixture const&) = default;
};

/// A matrix or tree mechanism: B(Cx + noise). `sensitivity` is what one record's whole participation
/// moves Cx by (L2) for contributions of norm 1; the noise is N(0, noise_multiplier²) a coordinate in
/// the same unit. The event is the entire run, so its count is 1. See `matrix_run`.
struct matrix_gaussian {
  double noise_multiplier = required;
  double sensitivity = required;
  friend bool operator==(matrix_gaussian const&, matrix_gaussian const&) = default;
};

/// Anything that is (ε, δ)-differentially private for each of its points, under the accountant's adjacency: a
/// privacy profile, as far as it is known. See `from_profile`.
struct dp_profile {
  static constexpr std::uint64_t most_points = 10'000;

  std::vector<approx_dp> points;
  friend bool operator==(dp_profile const&, dp_profile const&) = default;
};

/// A bound on the Rényi divergence of one order.
struct renyi_bound {
  double order = required;
  double divergence = required;
  friend bool operator==(renyi_bound const&, renyi_bound const&) = default;
};

/// Anything whose Rényi divergences are within the bounds at these orders, for all neighbours in both orders, under
/// the accountant's adjacency. See `from_renyi_curve`.
struct renyi_dp {
  static constexpr std::uint64_t most_points = 1'000;

  std::vector<renyi_bound> points;
  friend bool operator==(renyi_dp const&, renyi_dp const&) = default;
};

/// What is known of a mechanism only by its guarantee is an event, too: `pure`, `approx_dp`, `dp_profile`, `zcdp`,
/// `renyi_dp` and `gaussian_dp`, all of them under the accountant's adjacency.
using mechanism_event =
    std::variant<gaussian, laplace, discrete_gaussian, discrete_laplace, randomised_response,
                 exponential_mechanism, pure, approx_dp, matrix_gaussian, gaussian_dp, zcdp,
                 dp_profile, renyi_dp, integer_noise, gaussian_mixture>;

/// A mechanism that is (ε, delta(ε))-differentially private for each of these ε. What is between them is not asked for:
/// there the profile counts as far as its convexity bounds it.
template <class Profile>
requires std::is_invocable_r_v<double, Profile&, double>
[[nodiscard]] dp_profile from_profile(Profile&& delta, std::span<double const> epsilons) {
  dp_profile out;
  for (double const epsilon : epsilons) out.points.push_back({epsilon, delta(epsilon)});
  return out;
}

/// A mechanism of Rényi divergences at most divergence(α), at each of these orders α.
template <class Curve>
requires std::is_invocable_r_v<double, Curve&, double>
[[nodiscard]] renyi_dp from_renyi_curve(Curve&& divergence, std::span<double const> orders) {
  renyi_dp out;
  for (double const order : orders) out.points.push_back({order, divergence(order)});
  return out;
}

/// Every record takes part.
struct unsampled {
  friend bool operator==(unsampled const&, unsampled const&) = default;
};

/// Every record takes part with probability `rate`, independently, secretly. The sum is not divided by
/// the realised batch size, which would leak it.
struct poisson {
  double rate = required;
  friend bool operator==(poisson const&, poisson const&) = default;
};

/// A uniform batch without replacement, drawn afresh and secretly for each release. A batch is a set, here and below: what is
/// released must not depend on the order of its records, and a guarantee (`pure` and the others) must hold for any two batches
/// that differ by one record. Answers that belong to single records, as in `randomised_response`, must be released in a
/// random, secret order: in the records' own order, one record exchanged can change several of them.
struct fixed_size {
  std::uint64_t batch = 0;
  std::uint64_t records = 0;
  [[nodiscard]] double rate() const {
    return static_cast<double>(batch) / static_cast<double>(records);
  }
  friend bool operator==(fixed_size const&, fixed_size const&) = default;
};

/// A batch of independent uniform draws, each of any record, so that a record may be in it several times, and counts as
/// often. Drawn afresh and secretly for each release.
struct with_replacement {
  std::uint64_t batch = 0;
  std::uint64_t records = 0;
  friend bool operator==(with_replacement const&, with_replacement const&) = default;
};

/// Each record in exactly one of the batches of an epoch. The event is a whole epoch.
struct shuffled {
  friend bool operator==(shuffled const&, shuffled const&) = default;
};

/// Random allocation, or balls in bins: each record takes part in `part` of an epoch's `steps` releases, uniformly,
/// independently of the others, secretly. The event is the whole epoch, its mechanism one step. Sums are not
/// divided by the realised batch sizes. Batches of equal size are not this, but `shuffled`.
struct random_allocation {
  static constexpr std::uint64_t most_steps = 10'000'000;

  std::uint64_t steps = 0;
  std::uint64_t part = 1;
  friend bool operator==(random_allocation const&, random_allocation const&) = default;
};

using sampling =
    std::variant<unsampled, poisson, fixed_size, shuffled, random_allocation, with_replacement>;

/// One release. A mechanism by itself is an event without sampling.
struct event {
  template <class Mechanism>
  requires std::constructible_from<mechanism_event, Mechanism> event(
      Mechanism const& mechanism, sampling scheme = unsampled{})  // NOLINT: a mechanism is an event
      : what(mechanism), how(scheme) {}

  mechanism_event what;
  sampling how;
  std::uint64_t records_per_person = 1;

  friend bool operator==(event const&, event const&) = default;
};

// Templates, here and below: what copies or visits the variants is compiled only where it is called.

template <class Mechanism>
requires std::constructible_from<mechanism_event, Mechanism>
[[nodiscard]] event sampled(Mechanism const& mechanism, sampling scheme) {
  return event(mechanism, scheme);
}

/// The same release, protecting a person with up to `records` records: neighbours then differ in
/// all of these.
template <std::convertible_to<event> Release>
[[nodiscard]] event by_person(Release const& release, std::uint64_t records) {
  event out = release;
  out.records_per_person = records;
  return out;
}

/// One entry of a history: a release, and how often it was made.
struct composed {
  event release;
  std::uint64_t count;
  friend bool operator==(composed const&, composed const&) = default;
};

namespace detail {

template <std::same_as<mechanism_event> Mechanism>
void check_mechanism(std::string_view who, Mechanism const& mechanism) {
  auto const noise = [who](double multiplier) {
    check_positive(who, "noise_multiplier", multiplier);
  };
  auto const loss = [who](double epsilon) { check_non_negative(who, "epsilon", epsilon); };
  auto const whole = [who](std::uint64_t sensitivity) {
    check_count(who, "sensitivity", sensitivity, 1, 1'000'000'000);
  };
  struct visitor {
    decltype(noise) const& check_noise;
    decltype(loss) const& check_loss;
    decltype(whole) const& check_whole;
    std::string_view who;
    void operator()(gaussian const& m) const { check_noise(m.noise_multiplier); }
    void operator()(laplace const& m) const { check_noise(m.noise_multiplier); }
    void operator()(discrete_gaussian const& m) const {
      check_positive(who, "sigma", m.sigma);
      check_whole(m.sensitivity);
    }
    void operator()(discrete_laplace const& m) const {
      check_positive(who, "scale", m.scale);
      check_whole(m.sensitivity);
    }
    void operator()(randomised_response const& m) const {
      check_loss(m.epsilon);
      check_count(who, "categories", m.categories, 2);
    }
    void operator()(exponential_mechanism const& m) const { check_loss(m.epsilon); }
    void operator()(pure const& m) const { check_loss(m.epsilon); }
    void operator()(approx_dp const& m) const {
      check_loss(m.epsilon);
      check_probability(who, "delta", m.delta);
    }
    void operator()(matrix_gaussian const& m) const {
      check_noise(m.noise_multiplier);
      check_non_negative(who, "sensitivity", m.sensitivity);
    }
    void operator()(gaussian_dp const& m) const { check_non_negative(who, "mu", m.mu); }
    void operator()(zcdp const& m) const { check_non_negative(who, "rho", m.rho); }
    void operator()(integer_noise const& m) const {
      check_positive(who, "variance", m.variance);
      check_whole(m.sensitivity);
      if (m.law == integer_law::binomial) {
        double const trials = 4.0 * m.variance;
        require_domain(trials >= 1.0 && trials <= 0x1p53 && trials == std::floor(trials), who,
                       "variance", m.variance,
                       "a quarter of a number of coins in [1, 2^53] for binomial noise");
      }
    }
    void operator()(gaussian_mixture const& m) const {
      check_positive(who, "sigma", m.sigma);
      check_count(who, "number of parts", m.parts.size(), 1, gaussian_mixture::most_parts);
      double sum = 0.0;
      for (gaussian_mixture::part const& part : m.parts) {
        check_probability(who, "weight", part.weight);
        check_non_negative(who, "sensitivity", part.sensitivity);
        sum += part.weight;
      }
      require_domain(sum <= 1.0 + 1e-12, who, "sum of weights", sum, "at most 1");
    }
    void operator()(dp_profile const& m) const {
      check_count(who, "number of points", m.points.size(), 1, dp_profile::most_points);
      for (approx_dp const& point : m.points) (*this)(point);
    }
    void operator()(renyi_dp const& m) const {
      check_count(who, "number of points", m.points.size(), 1, renyi_dp::most_points);
      for (renyi_bound const& point : m.points) {
        require_domain(point.order > 1.0 && point.order <= std::numeric_limits<double>::max(), who,
                       "order", point.order, "finite and above 1");
        check_non_negative(who, "divergence", point.divergence);
      }
    }
  };
  std::visit(visitor{noise, loss, whole, who}, mechanism);
}

/// Refuses values out of range. Which combinations have a bound is for `dominate` to say.
template <std::same_as<event> Event>
void check_event(std::string_view who, Event const& release) {
  check_mechanism(who, release.what);
  if (auto const* scheme = std::get_if<poisson>(&release.how)) {
    check_probability(who, "rate", scheme->rate);
  } else if (auto const* batch = std::get_if<fixed_size>(&release.how)) {
    check_count(who, "records", batch->records);
    check_count(who, "batch", batch->batch, 1, batch->records);
  } else if (auto const* epoch = std::get_if<random_allocation>(&release.how)) {
    check_count(who, "steps", epoch->steps, 1, random_allocation::most_steps);
    check_count(who, "part", epoch->part, 1, epoch->steps);
  } else if (auto const* draws = std::get_if<with_replacement>(&release.how)) {
    check_count(who, "records", draws->records);
    check_count(who, "batch", draws->batch);
  }
  check_count(who, "records_per_person", release.records_per_person, 1, 1'000'000);
}

}  // namespace detail
}  // namespace tacit
