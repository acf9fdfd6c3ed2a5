// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/finite_pairs.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// Dominating pairs: the one place that says what is known about an event under an adjacency.
///
/// (P, Q) dominates a mechanism if for every pair of neighbours and every ε the mechanism's hockey-stick
/// divergence δ(ε) = sup_E P'(E) − e^ε Q'(E) is at most that of (P, Q). Dominating pairs compose, also
/// adaptively (Zhu, Dong & Wang 2022). The privacy loss is L = log dP/dQ. Every accountant is a way of
/// composing these pairs; a pair of event and adjacency without one is refused here, with the reason.

namespace tacit {

namespace detail {

[[noreturn]] inline void refuse_pair(std::string_view what, std::string_view why) {
  throw std::invalid_argument("dominate: there is no known bound for " + std::string(what) + ": " +
                              std::string(why));
}

[[nodiscard]] inline domination symmetric_domination(dominating_pair const& pair, bool attained) {
  return {pair, pair, true, attained};
}

/// The two directions of a Poisson-sampled pair that has a rate and a direction of its own.
template <class Pair>
[[nodiscard]] domination directed_domination(Pair pair) {
  if (pair.rate == 1.0) return symmetric_domination(pair, true);
  Pair other = pair;
  other.orientation = orientation::add;
  return {pair, other, false, true};
}

/// Nothing is released about anyone.
[[nodiscard]] inline domination no_loss() { return symmetric_domination(normal_pair{0.0}, true); }

template <real T>
class dominator {
 public:
  dominator(event const& release, adjacency neighbours)
      : event_(release),
        neighbours_(neighbours),
        records_(static_cast<double>(release.records_per_person)),
        change_(neighbours == adjacency::replace_one ? 2.0 : 1.0) {
    if (auto const* scheme = std::get_if<poisson>(&release.how)) {
      rate_ = scheme->rate;
      how_ = rate_ == 1.0 ? taken::all : taken::poisson;
    } else if (auto const* batch = std::get_if<fixed_size>(&release.how)) {
      if (neighbours == adjacency::add_remove) {
        refuse_pair("fixed-size batches under add_remove",
                    "neighbours differ in size, and so does the sampling; use replace_one");
      }
      rate_ = batch->rate();
      how_ = batch->batch == batch->records ? taken::all : taken::fixed_size;
    } else if (std::holds_alternative<shuffled>(release.how)) {
      if (neighbours == adjacency::add_remove) {
        refuse_pair("shuffled batches under add_remove",
                    "a record more moves all others; use zero_out or replace_one");
      }
      how_ = taken::shuffled;
    } else if (auto const* epoch = std::get_if<random_allocation>(&release.how)) {
      if (neighbours == adjacency::replace_one) {
        refuse_pair(
            "random allocation under replace_one",
            "its pair is known for a record more or less alone; use add_remove or zero_out");
      }
      if (!std::holds_alternative<gaussian>(release.what)) {
        refuse_pair("random allocation of this mechanism", "only the Gaussian has one");
      }
      if (release.records_per_person > 1) {
        refuse_pair("several records a person under random allocation",
                    "declare one record a person");
      }
      if (epoch->part > 1) {
        refuse_pair("an epoch in which a record takes part more than once, as one pair",
                    "compose its blocks: see `epoch_blocks`");
      }
      how_ = taken::allocated;
    }
    if (release.records_per_person > 1 && sampled() &&
        !(how_ == taken::poisson && std::holds_alternative<gaussian>(release.what) &&
          one_sided())) {
      refuse_pair("several records a person in these samples",
                  "only the Poisson-sampled Gaussian under add_remove or zero_out has one");
    }
  }

  [[nodiscard]] domination operator()(gaussian const& m) const {
    double const shift = one_shift(m.noise_multiplier);
    if (how_ == taken::allocated) {
      std::uint64_t const steps = std::get<random_allocation>(event_.how).steps;
      if (steps == 1) return symmetric_domination(normal_pair{shift}, true);
      return {allocation_pair{m.noise_multiplier, steps, orientation::remove},
              allocation_pair{m.noise_multiplier, steps, orientation::add}, false, true};
    }
    if (!sampled()) return whole(normal_pair{change_ * records_ / m.noise_multiplier});
    if (how_ == taken::poisson && one_sided()) {
      binomial_mixture mixed = binomial_parts(event_.records_per_person, rate_, shift);
      mixture_pair pair{std::move(mixed.parts), orientation::remove};
      mixture_pair other = pair;
      other.orientation = orientation::add;
      return {pair, other, false, mixed.exact};
    }
    return amplified(amplified_pair::noise::normal, shift);
  }

  [[nodiscard]] domination operator()(laplace const& m) const {
    double const shift = one_shift(m.noise_multiplier);
    if (!sampled()) {
      return whole(bounded_pair{divide_up(change_ * records_, m.noise_multiplier), 0.5, 1.0,
                                orientation::remove});
    }
    if (how_ == taken::poisson && one_sided()) {
      return directed_domination(bounded_pair{shift, 0.5, rate_, orientation::remove});
    }
    return amplified(amplified_pair::noise::laplace, shift);
  }

  [[nodiscard]] domination operator()(discrete_gaussian const& m) const {
    std::uint64_t const shift =
        m.sensitivity * event_.records_per_person * (neighbours_ == adjacency::replace_one ? 2 : 1);
    if (!sampled()) return whole(lattice_pair{m.sigma, shift, 1.0, orientation::remove});
    if (how_ == taken::poisson && one_sided()) {
      return directed_domination(lattice_pair{m.sigma, shift, rate_, orientation::remove});
    }
    refuse_pair("a discrete Gaussian in these samples",
                "use Poisson sampling under add_remove or zero_out");
  }

  [[nodiscard]] domination operator()(discrete_laplace const& m) const {
    std::uint64_t const shift =
        m.sensitivity * event_.records_per_person * (neighbours_ == adjacency::replace_one ? 2 : 1);
    return finite(discrete_laplace_pair(m.scale, shift), one_sided(),
                  neighbours_ == adjacency::replace_one);
  }

  [[nodiscard]] domination operator()(randomised_response const& m) const {
    if (neighbours_ == adjacency::add_remove) {
      refuse_pair("randomised response under add_remove",
                  "one record more is one answer more, and everyone can count them; use zero_out, "
                  "where a null record answers at random, or replace_one");
    }
    if (event_.records_per_person > 1) {
      refuse_pair("randomised response of several records a person",
                  "compose one response a record instead");
    }
    double const categories = static_cast<double>(m.categories);
    if (neighbours_ == adjacency::replace_one) {
      return finite(response_pair(m.epsilon, categories, 0.0), false, true);
    }
    if (how_ == taken::fixed_size) {
      refuse_pair("randomised response of a batch under zero_out",
                  "use Poisson sampling, or replace_one");
    }
    if (m.epsilon == 0.0) return no_loss();
    // A record that is not sampled answers at random, as the null record does.
    finite_pair const base = response_or_random_pair(m.epsilon, categories);
    return {sampled_pair(base, rate_, orientation::remove),
            sampled_pair(base, rate_, orientation::add), false, how_ != taken::shuffled};
  }

  [[nodiscard]] domination operator()(exponential_mechanism const& m) const {
    if (m.epsilon == 0.0) return no_loss();
    bounded_pair const pair{all_records(m.epsilon), 0.0, rate_, orientation::remove};
    if (!sampled()) return from_definition(pair, false);
    if (how_ == taken::poisson && neighbours_ == adjacency::add_remove) {
      domination sampled_by_rate = directed_domination(pair);
      sampled_by_rate.attained = false;
      return sampled_by_rate;
    }
    refuse_pair("an exponential mechanism in these samples",
                "use Poisson sampling under add_remove");
  }

  [[nodiscard]] domination operator()(pure const& m) const {
    return by_guarantee(response_pair(all_records(m.epsilon), 2.0, 0.0));
  }

  [[nodiscard]] domination operator()(approx_dp const& m) const {
    approx_dp const whole = all_records(m);
    return by_guarantee(response_pair(whole.epsilon, 2.0, whole.delta));
  }

  [[nodiscard]] domination operator()(dp_profile const& m) const {
    std::vector<approx_dp> points;
    for (approx_dp const& point : m.points) points.push_back(all_records(point));
    domination out = by_guarantee(profile_pair(std::move(points)));
    out.attained = false;  // its masses are rounded up
    return out;
  }

  [[nodiscard]] domination operator()(gaussian_dp const& m) const {
    double const mu = multiply_up(records_, m.mu);
    check_noise("mu", m.mu, mu);
    if (mu == 0.0) return no_loss();
    if (!sampled()) return from_definition(normal_pair{mu}, records_ == 1.0);
    if (how_ == taken::poisson && neighbours_ == adjacency::add_remove) {
      return {mixture_pair{{{rate_, mu}}, orientation::remove},
              mixture_pair{{{rate_, mu}}, orientation::add}, false, true};
    }
    if (how_ == taken::fixed_size && !one_sided()) {
      return symmetric_domination(amplified_pair{amplified_pair::noise::normal, rate_, mu, mu},
                                  false);
    }
    refuse_samples();
  }

  [[nodiscard]] domination operator()(zcdp const&) const { refuse_divergences(); }
  [[nodiscard]] domination operator()(renyi_dp const&) const { refuse_divergences(); }

  [[nodiscard]] domination operator()(matrix_gaussian const& m) const {
    if (sampled() || how_ == taken::shuffled) {
      refuse_pair("a sampled matrix mechanism", "its noise is correlated across the steps");
    }
    double const shift = change_ * records_ * m.sensitivity / m.noise_multiplier;
    check_noise("noise_multiplier", m.noise_multiplier, shift);
    return whole(normal_pair{shift});
  }

 private:
  enum class taken { all, poisson, fixed_size, shuffled, allocated };

  [[nodiscard]] bool sampled() const { return how_ == taken::poisson || how_ == taken::fixed_size; }

  // Under these a record that is not sampled is as good as absent, for sums of contributions.
  [[nodiscard]] bool one_sided() const { return neighbours_ != adjacency::replace_one; }

  [[nodiscard]] double one_shift(double noise) const {
    check_noise("noise_multiplier", noise, 2.0 * records_ / noise);
    return 1.0 / noise;
  }

  [[nodiscard]] double all_records(double epsilon) const {
    require_domain(records_ * epsilon <= std::numeric_limits<double>::max(), "dominate", "epsilon",
                   epsilon, "so small that losses are finite");
    return multiply_up(records_, epsilon);
  }

  // Group privacy: (kε, δ(e^{kε}−1)/(e^ε−1)).
  [[nodiscard]] approx_dp all_records(approx_dp const& each) const {
    double const epsilon = all_records(each.epsilon);
    double factor = records_;
    if (each.epsilon > 0.0 && records_ > 1.0) {
      factor = each.epsilon < 700.0 ? elementary::expm1(epsilon) / elementary::expm1(each.epsilon)
                                    : std::numeric_limits<double>::infinity();
      factor *= 1.0 + 1e-15 * (1.0 + epsilon);  // an exponential is as wrong as its argument
    }
    return {epsilon, each.delta == 0.0 ? 0.0 : std::min(1.0, each.delta * factor)};
  }

  [[nodiscard]] domination whole(dominating_pair pair) const {
    return symmetric_domination(std::move(pair), how_ == taken::all);
  }

  // A mechanism known by its guarantee alone. An epoch of batches is no longer that mechanism.
  [[nodiscard]] domination from_definition(dominating_pair pair, bool attained) const {
    return symmetric_domination(std::move(pair), attained && how_ == taken::all);
  }

  [[nodiscard]] domination amplified(amplified_pair::noise kind, double shift) const {
    // What a batch loses with a record it did not draw: nothing for Poisson, a substitute for a fixed
    // size.
    double const absent = how_ == taken::poisson ? shift : 2.0 * shift;
    return symmetric_domination(amplified_pair{kind, rate_, absent, change_ * shift}, false);
  }

  // Several records: no mechanism that keeps the guarantee at each step uses all of it at every one.
  [[nodiscard]] domination by_guarantee(finite_pair const& base) const {
    domination out =
        finite(base, neighbours_ == adjacency::add_remove, neighbours_ == adjacency::replace_one);
    out.attained = out.attained && records_ == 1.0;
    return out;
  }

  [[nodiscard]] domination finite(finite_pair const& base, bool may_be_absent,
                                  bool may_be_substituted) const {
    if (rate_ == 0.0) return no_loss();
    if (how_ == taken::poisson && may_be_absent) {
      return {sampled_pair(base, rate_, orientation::remove),
              sampled_pair(base, rate_, orientation::add), false, true};
    }
    if (how_ == taken::fixed_size && may_be_substituted) {
      return symmetric_domination(mirrored_pair(base, rate_), false);
    }
    if (sampled()) refuse_samples();
    return from_definition(base, true);
  }

  [[noreturn]] static void refuse_samples() {
    refuse_pair("this mechanism in these samples",
                "use Poisson sampling under add_remove, or fixed-size batches under replace_one");
  }
  [[noreturn]] static void refuse_divergences() {
    refuse_pair("a mechanism that is known by its Rényi divergences alone, as a pair",
                "take the Rényi accountant, or zCDP's; or compose the (ε, δ) that they imply: see "
                "`from_profile`");
  }

  event const& event_;
  adjacency neighbours_;
  double records_;
  double change_;
  double rate_ = 1.0;
  taken how_ = taken::all;
};

}  // namespace detail

/// One epoch of random allocation as blocks of which a record takes part in one step each: with k = part and t = steps,
/// t mod k blocks of ⌊t/k⌋+1 steps and the rest of ⌊t/k⌋. A random partition of the steps is revealed, so that the
/// composition of the blocks bounds k-of-t sampling from above, and is exact for one step a block. Any other event is
/// itself.
[[nodiscard]] inline std::vector<composed> epoch_blocks(event const& release,
                                                        std::uint64_t epochs) {
  auto const* epoch = std::get_if<random_allocation>(&release.how);
  if (epoch == nullptr || epoch->part <= 1) return {{release, epochs}};
  detail::check_event("epoch_blocks", release);
  std::uint64_t const longer = epoch->steps % epoch->part;
  std::uint64_t const shorter = epoch->part - longer;
  detail::require_domain(epochs <= std::numeric_limits<std::uint64_t>::max() / epoch->part,
                         "compose", "count", epochs, "small enough for a total of 64 bits");
  std::uint64_t const steps = epoch->steps / epoch->part;
  auto const block = [&](std::uint64_t length) {
    event out = release;
    out.how = random_allocation{length, 1};
    return out;
  };
  std::vector<composed> out{{block(steps), shorter * epochs}};
  if (longer > 0) out.push_back({block(steps + 1), longer * epochs});
  return out;
}

/// The pair that dominates `release` under `neighbours`, for every real ε and both orders of the
/// neighbours; parameters are nearest, a few ulp (weights of a binomial mixture: 1e-11, relative).
///
/// sampling    add_remove                     zero_out                     replace_one
/// unsampled   all but randomised response    all                          all
/// poisson     all but randomised response    gaussian, laplace, discrete, gaussian, laplace (amplified)
///                                            randomised response
/// fixed_size  refused                        gaussian, laplace            gaussian, laplace, finite ones
/// shuffled    refused                        as unsampled                 as unsampled
/// allocation  gaussian                       gaussian                     refused
///
/// Matrix mechanisms only unsampled. Rate 1 and batch = records are unsampled; rate 0 releases nothing.
/// In a shuffled epoch a person's records change one after the other, each in its own batch: the unsampled
/// pair, which is that chain, covers it, also if a batch depends on what earlier ones released.
///
/// Sources: Zhu, Dong & Wang 2022 (Poisson: any pair; without replacement: mirrored), Balle, Barthe &
/// Gaboardi 2018 (advanced joint convexity), Dong, Durfee & Rogers 2020 (bounded range), Kairouz, Oh &
/// Viswanath 2015 ((ε, δ)). Several records a person: noise by group sensitivity; the Poisson-sampled
/// Gaussian by the binomial mixture of shifts.
/// @throws std::domain_error for a value out of range, or noise so small that a loss overflows;
///         std::invalid_argument, with the reason, where no bound is known
template <real T = double>
[[nodiscard]] domination dominate(event const& release, adjacency neighbours) {
  detail::check_event("dominate", release);
  auto const* scheme = std::get_if<poisson>(&release.how);
  domination const found = std::visit(detail::dominator<T>(release, neighbours), release.what);
  return scheme != nullptr && scheme->rate == 0.0 ? detail::no_loss() : found;
}

#if defined(TACIT_COMPILED)
extern template domination dominate<double>(event const&, adjacency);
#endif

}  // namespace tacit
