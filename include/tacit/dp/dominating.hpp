// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/dp/allocated_pairs.hpp>
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/finite_pairs.hpp>
#include <tacit/dp/integer_pairs.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/profile_points.hpp>
#include <tacit/dp/sampled_records.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
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

/// A mixture of Gaussians, as if every length were the longest.
template <std::same_as<event> Event>
[[nodiscard]] Event of_longest(Event release) {
  auto const& mixture = std::get<gaussian_mixture>(release.what);
  double longest = 0.0;
  for (auto const& part : mixture.parts) {
    if (part.weight > 0.0) longest = std::max(longest, part.sensitivity);
  }
  double const noise = longest > 0.0 ? divide_down(mixture.sigma, longest) : 1.0;
  release.what = gaussian{std::min(noise, std::numeric_limits<double>::max())};
  if (longest == 0.0) release.how = poisson{0.0};
  return release;
}

template <real T>
class dominator : private sampled_records<> {
 public:
  using sampled_records<>::sampled_records;

  [[nodiscard]] domination operator()(gaussian const& m) const {
    double const shift = one_shift(m.noise_multiplier);
    if (how_ == taken::allocated && steps_ > 1) {
      return normal_epoch(m.noise_multiplier, steps_, true);
    }
    if (!sampled()) return whole(normal_pair{change_ * records_ / m.noise_multiplier});
    if (is_directed()) {
      domination out = of_normals(shift * apart());
      out.attained = out.attained && how_ != taken::with_replacement;
      return out;
    }
    return of_sums(coupled_pair::noise::normal, shift);
  }

  [[nodiscard]] domination operator()(laplace const& m) const {
    double const shift = divide_up(1.0, m.noise_multiplier);
    check_noise("noise_multiplier", m.noise_multiplier, 2.0 * records_ * shift);
    if (!sampled()) {
      return whole(bounded_pair{divide_up(change_ * records_, m.noise_multiplier), 0.5, 1.0,
                                orientation::remove});
    }
    if (is_directed() && one_takes_part()) {
      return directed_domination(
          bounded_pair{multiply_up(apart(), shift), 0.5, rate_, orientation::remove});
    }
    return of_sums(coupled_pair::noise::laplace, shift);
  }

  [[nodiscard]] domination operator()(discrete_gaussian const& m) const {
    std::uint64_t const each = m.sensitivity * static_cast<std::uint64_t>(apart());
    if (!sampled()) {
      return whole(lattice_pair{m.sigma, m.sensitivity * moved(), 1.0, orientation::remove});
    }
    if (is_directed() && one_takes_part()) {
      return directed_domination(lattice_pair{m.sigma, each, rate_, orientation::remove});
    }
    return of_integers(m.sensitivity,
                       [&](double span) { return integer_noise_law::gaussian(m.sigma, span); });
  }

  [[nodiscard]] domination operator()(discrete_laplace const& m) const {
    if (!sampled()) {
      return from_definition(discrete_laplace_pair(m.scale, m.sensitivity * moved()), true);
    }
    if (rate_ == 0.0) return no_loss();
    if (one_takes_part() && (is_directed() || (in_batches() && !one_sided()))) {
      finite_pair const base =
          discrete_laplace_pair(m.scale, m.sensitivity * static_cast<std::uint64_t>(apart()));
      if (!is_directed()) return symmetric_domination(mirrored_pair(base, rate_), false);
      return {sampled_pair(base, rate_, orientation::remove),
              sampled_pair(base, rate_, orientation::add), false, true};
    }
    return of_integers(m.sensitivity,
                       [&](double span) { return integer_noise_law::laplace(m.scale, span); });
  }

  [[nodiscard]] domination operator()(integer_noise const& m) const {
    return of_integers(m.sensitivity, [&](double span) {
      if (m.law == integer_law::skellam) return integer_noise_law::skellam(m.variance, span);
      return integer_noise_law::binomial(4.0 * m.variance, span);
    });
  }

  [[nodiscard]] domination operator()(gaussian_mixture const& m) const {
    double const most = in_batches() ? 2.0 * records_ : change_ * records_;
    double const taken_with = in_batches() ? 1.0 : rate_;
    std::vector<mixture_pair::part> parts;
    for (gaussian_mixture::part const& part : m.parts) {
      double const ratio = part.sensitivity / m.sigma;
      check_noise("sigma", m.sigma, most * ratio);
      // What is below all doubles is not 0.
      double const least = part.sensitivity > 0.0 ? std::numeric_limits<double>::denorm_min() : 0.0;
      double const shift = std::max(ratio, least);
      double const weight = std::min(1.0, multiply_up(part.weight, taken_with));
      if (weight > 0.0 && shift > 0.0) parts.push_back({weight, shift});
    }
    if (parts.empty()) return no_loss();
    std::sort(parts.begin(), parts.end(),
              [](auto const& a, auto const& b) { return a.shift < b.shift; });
    std::vector<mixture_pair::part> merged{parts.front()};
    for (std::size_t k = 1; k < parts.size(); ++k) {
      if (parts[k].shift == merged.back().shift) {
        merged.back().weight = std::min(1.0, add_up(merged.back().weight, parts[k].weight));
      } else {
        merged.push_back(parts[k]);
      }
    }
    bool const fixed = merged.size() == 1 && merged[0].weight == 1.0;
    if (in_batches() ? fixed || !one_takes_part() : records_ > 1.0) return longest(merged);
    if (in_batches()) return of_lengths_in_batches(std::move(merged));
    if (neighbours_ == adjacency::replace_one) return exchanged_lengths(std::move(merged));
    return both_ways(std::move(merged), how_ != taken::shuffled);
  }

  [[nodiscard]] domination operator()(randomised_response const& m) const {
    if (neighbours_ == adjacency::add_remove) {
      refuse_pair("randomised response under add_remove",
                  "one record more is one answer more, and everyone can count them; use zero_out, "
                  "where a null record answers at random, or replace_one");
    }
    double const categories = static_cast<double>(m.categories);
    if (how_ == taken::fixed_size && one_takes_part()) {
      return symmetric_domination(mirrored_pair(response_pair(m.epsilon, categories, 0.0), rate_),
                                  false);
    }
    auto const group = [&](double answers) {
      if (answers == 1.0) return response_pair(m.epsilon, categories, 0.0);
      return response_pair(many(m.epsilon, answers), 2.0, 0.0);
    };
    if (in_batches()) return by_union(group);
    if (records_ > 1.0) {
      if (std::holds_alternative<fixed_size>(event_.how)) {
        return symmetric_domination(group(records_), false);
      }
      refuse_unwritten("randomised response of several records a person, as one pair",
                       "compose one response a record instead: see `epoch_blocks`");
    }
    if (neighbours_ == adjacency::replace_one) {
      if (how_ != taken::poisson) {
        return from_definition(response_pair(m.epsilon, categories, 0.0), true);
      }
      finite_pair sampled =
          response_pair(sampled_response(m.epsilon, categories, rate_), categories, 0.0);
      sampled.loss_error = 16.0 * std::numeric_limits<double>::epsilon();
      return symmetric_domination(std::move(sampled), true);
    }
    if (m.epsilon == 0.0) return no_loss();
    // A record that is not sampled answers at random, as the null record does.
    finite_pair const base = response_or_random_pair(m.epsilon, categories);
    return {sampled_pair(base, rate_, orientation::remove),
            sampled_pair(base, rate_, orientation::add), false, how_ != taken::shuffled};
  }

  [[nodiscard]] domination operator()(exponential_mechanism const& m) const {
    if (m.epsilon == 0.0) return no_loss();
    if (!sampled()) {
      return from_definition(bounded_pair{all_records(m.epsilon), 0.0, 1.0, orientation::remove},
                             false);
    }
    if (neighbours_ == adjacency::add_remove && one_takes_part()) {
      domination out = directed_domination(
          bounded_pair{many(m.epsilon, apart()), 0.0, rate_, orientation::remove});
      out.attained = false;
      return out;
    }
    domination out = (*this)(pure{m.epsilon});
    out.attained = false;
    return out;
  }

  [[nodiscard]] domination operator()(pure const& m) const {
    return by_guarantee(
        [&](double times) { return response_pair(many(m.epsilon, times), 2.0, 0.0); });
  }

  [[nodiscard]] domination operator()(approx_dp const& m) const {
    return by_guarantee([&](double times) {
      approx_dp const whole = many(m, times);
      return response_pair(whole.epsilon, 2.0, whole.delta);
    });
  }

  [[nodiscard]] domination operator()(dp_profile const& m) const {
    domination out = by_guarantee([&](double times) {
      std::vector<approx_dp> points;
      for (approx_dp const& point : m.points) points.push_back(many(point, times));
      return profile_pair(std::move(points));
    });
    out.attained = false;  // its masses are rounded up
    return out;
  }

  [[nodiscard]] domination operator()(gaussian_dp const& m) const {
    double const mu = multiply_up(records_, m.mu);
    check_noise("mu", m.mu, 2.0 * mu);
    if (mu == 0.0) return no_loss();
    if (!sampled()) return from_definition(normal_pair{mu}, records_ == 1.0);
    if (neighbours_ == adjacency::add_remove && how_ != taken::with_replacement) {
      domination out = of_normals(m.mu * apart());
      out.attained = out.attained && how_ == taken::poisson && records_ == 1.0;
      return out;
    }
    if (one_takes_part() && in_batches()) {
      double const steps = between();
      return symmetric_domination(
          amplified_pair{amplified_pair::noise::normal, rate_, steps * mu, mu}, false);
    }
    return by_union([&, coarse = coarseness()](double j) {
      return normal_points(between() * j * m.mu, coarse);
    });
  }

  [[nodiscard]] domination operator()(zcdp const&) const { refuse_divergences(); }
  [[nodiscard]] domination operator()(renyi_dp const&) const { refuse_divergences(); }

  [[nodiscard]] domination operator()(matrix_gaussian const& m) const {
    if (sampled() || how_ == taken::shuffled || how_ == taken::most) {
      refuse_pair("a sampled matrix mechanism as one event",
                  "what its samples amplify depends on the strategy: see `matrix_run`");
    }
    double const shift = change_ * records_ * m.sensitivity / m.noise_multiplier;
    check_noise("noise_multiplier", m.noise_multiplier, shift);
    // A ratio below all doubles is not 0.
    double const least = m.sensitivity > 0.0 ? std::numeric_limits<double>::denorm_min() : 0.0;
    return whole(normal_pair{std::max(shift, least)});
  }

 private:
  // Of several lengths that are drawn, as if all but 0 were the longest.
  [[nodiscard]] domination longest(std::vector<mixture_pair::part> const& lengths) const {
    event each = detail::of_longest(event_);
    double weight = 0.0;
    for (auto const& part : lengths) weight = std::min(1.0, add_up(weight, part.weight));
    if (!in_batches()) each.how = poisson{weight};
    domination out = dominator(each, neighbours_)(std::get<gaussian>(each.what));
    out.attained = false;
    return out;
  }
};

/// How many records of a person may take part in a sampled release at most; of batches each counts twice, for the record in
/// whose place it is. A release without samples of that many is above it. 0 where they are more than 10^6.
template <std::same_as<event> Event>
[[nodiscard]] std::uint64_t most_taking_part(Event const& release) {
  std::uint64_t const own = release.records_per_person;
  std::uint64_t many = own;
  if (auto const* batch = std::get_if<fixed_size>(&release.how)) {
    many = 2 * std::min(own, batch->batch);
  } else if (auto const* draws = std::get_if<with_replacement>(&release.how)) {
    many = draws->batch > 1'000'000 ? draws->batch : 2 * draws->batch;
  }
  return many > 1'000'000 ? 0 : many;
}

}  // namespace detail

/// A release as others that compose to no less; any other event than these is itself.
///   k of t steps at random   t mod k blocks of ⌊t/k⌋+1 steps and k less of ⌊t/k⌋, of each of which a record takes part in one
///   n records of a person    in t > 1 steps at random, with Gaussian noise: n epochs of noise/√n, of one record each
///   both, of other noise     one epoch in one step of which nk records take part; but μ-GDP and zCDP stay as they are
///   n randomised responses   n of one record each, but in batches
/// The partition into blocks is random, and revealed: the composition bounds k-of-t sampling from above, and is exact for one
/// step a block. docs/certificates/allocation.md, Lemmas 1 and 29.
template <std::same_as<event> Event>
[[nodiscard]] std::vector<composed> epoch_blocks(Event const& release, std::uint64_t epochs) {
  auto const* epoch = std::get_if<random_allocation>(&release.how);
  std::uint64_t const persons = release.records_per_person;
  bool const answers = persons > 1 && std::holds_alternative<randomised_response>(release.what) &&
                       !std::holds_alternative<fixed_size>(release.how) &&
                       !std::holds_alternative<with_replacement>(release.how);
  bool const in_steps = epoch != nullptr && epoch->steps > 1 && (epoch->part > 1 || persons > 1);
  if (!in_steps && !answers) return {{release, epochs}};
  detail::check_event("epoch_blocks", release);
  event each = release;
  std::uint64_t part = epoch != nullptr ? epoch->part : 1;
  std::uint64_t times = 1;
  if (persons > 1) {
    double const root = detail::next_up(std::sqrt(static_cast<double>(persons)));
    double* noise = nullptr;
    if (auto* m = std::get_if<gaussian>(&each.what)) noise = &m->noise_multiplier;
    if (auto* m = std::get_if<gaussian_mixture>(&each.what)) noise = &m->sigma;
    if (noise != nullptr) *noise = detail::divide_down(*noise, root);
    if (noise != nullptr || answers) {
      each.records_per_person = 1;
      times = persons;
    } else if (!std::holds_alternative<gaussian_dp>(each.what) &&
               !std::holds_alternative<zcdp>(each.what)) {
      detail::check_count("epoch_blocks", "records_per_person times part", persons * part, 1,
                          1'000'000);
      each.records_per_person = persons * part;
      part = 1;
    }
  }
  detail::require_domain(epochs <= std::numeric_limits<std::uint64_t>::max() / (part * times),
                         "compose", "count", epochs, "small enough for a total of 64 bits");
  if (!in_steps) return {{each, times * epochs}};
  std::uint64_t const longer = epoch->steps % part;
  std::uint64_t const shorter = part - longer;
  std::uint64_t const steps = epoch->steps / part;
  auto const block = [&](std::uint64_t length) {
    event out = each;
    out.how = random_allocation{length, 1};
    return out;
  };
  std::vector<composed> out{{block(steps), shorter * times * epochs}};
  if (longer > 0) out.push_back({block(steps + 1), longer * times * epochs});
  return out;
}

/// The pair that dominates `release` under `neighbours`, for every real ε and both orders of the
/// neighbours; parameters are nearest, a few ulp. Rates of batches, weights of a sampled gaussian_mixture and of a person's
/// records and Laplace shifts are rounded up.
///
/// sampling          add_remove                   zero_out                     replace_one
/// unsampled         all but randomised response  all                          all
/// poisson           all but randomised response  all                          all
/// fixed_size        sums, guarantees             all but matrix mechanisms    all but matrix mechanisms
/// with_replacement  sums, guarantees             all but matrix mechanisms    all but matrix mechanisms
/// shuffled          refused                      as unsampled                 as unsampled
/// allocation        sums, guarantees             all but matrix mechanisms    as unsampled
///
/// Several records a person under allocation count as unsampled; of normal noise see `epoch_blocks`.
/// Sums have Gaussian, Laplace or integer noise, or that of a gaussian_mixture.
/// docs/certificates/sampling.md has the proofs.
/// Matrix mechanisms only unsampled. Rate 1 is unsampled, and so is batch = records but under add_remove; rate 0 releases
/// nothing.
/// In a shuffled epoch a person's records change one after the other, each in its own batch: the unsampled
/// pair, which is that chain, covers it, also if a batch depends on what earlier ones released.
///
/// Sources: Zhu, Dong & Wang 2022 (Poisson: any pair; without replacement: mirrored), Balle, Barthe &
/// Gaboardi 2018 (advanced joint convexity), Dong, Durfee & Rogers 2020 (bounded range), Kairouz, Oh &
/// Viswanath 2015 ((ε, δ)). Several records a person: noise by group sensitivity, sampled
/// sums by the binomial or hypergeometric mixture of shifts or, from above, by its union.
/// @throws std::domain_error for a value out of range, or noise so small that a loss overflows;
///         std::invalid_argument, with the reason, where no bound is known
template <real T = double>
[[nodiscard]] domination dominate(event const& release, adjacency neighbours) {
  detail::check_event("dominate", release);
  auto const* scheme = std::get_if<poisson>(&release.how);
  detail::dominator<T> const by_mechanism(release, neighbours);
  if (auto const* epoch = std::get_if<random_allocation>(&release.how)) {
    // As if it were told which steps the records take part in.
    if (neighbours == adjacency::replace_one || release.records_per_person > 1) {
      domination told =
          dominate<T>(by_person(release.what, release.records_per_person), neighbours);
      told.attained = told.attained && epoch->steps == 1;
      return told;
    }
    if (!std::holds_alternative<gaussian>(release.what)) {
      return detail::epoch_of(dominate<T>(event(release.what), neighbours), epoch->steps);
    }
  }
  domination found = std::visit(by_mechanism, release.what);
  // Nothing is left out of a batch of all others, whose place a record could take.
  auto const* batch = std::get_if<fixed_size>(&release.how);
  if (batch != nullptr && batch->batch + release.records_per_person > batch->records &&
      neighbours == adjacency::add_remove) {
    found.attained = false;
  }
  return scheme != nullptr && scheme->rate == 0.0 ? detail::no_loss() : found;
}

#if defined(TACIT_COMPILED)
extern template domination dominate<double>(event const&, adjacency);
#endif

}  // namespace tacit
