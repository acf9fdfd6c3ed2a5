// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/finite_pairs.hpp>
#include <tacit/dp/integer_pairs.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/profile_points.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// What sampling makes of a mechanism's pair, for persons with one record or several, under each adjacency. `dominator`
/// knows the mechanisms. docs/certificates/sampling.md has the proofs.

namespace tacit::detail {

[[noreturn]] inline void refuse_pair(std::string_view what, std::string_view why) {
  throw std::invalid_argument("dominate: there is no known bound for " + std::string(what) + ": " +
                              std::string(why));
}

/// The same where papers have one, or it could be worked out.
[[noreturn]] inline void refuse_unwritten(std::string_view what, std::string_view why) {
  throw std::invalid_argument("dominate: no bound is implemented for " + std::string(what) + ": " +
                              std::string(why));
}

template <std::same_as<domination> Domination = domination>
[[nodiscard]] Domination symmetric_domination(dominating_pair const& pair, bool attained) {
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
template <std::same_as<domination> Domination = domination>
[[nodiscard]] Domination no_loss() {
  return symmetric_domination(normal_pair{0.0}, true);
}

/// A release, how many of a person's records take part in it, and what that makes of a pair.
template <std::same_as<event> Event = event>
class sampled_records {
 public:
  sampled_records(Event const& release, adjacency neighbours)
      : event_(release),
        neighbours_(neighbours),
        records_(static_cast<double>(release.records_per_person)),
        change_(neighbours == adjacency::replace_one ? 2.0 : 1.0) {
    if (auto const* scheme = std::get_if<poisson>(&release.how)) {
      rate_ = scheme->rate;
      how_ = rate_ == 1.0 ? taken::all : taken::poisson;
    } else if (auto const* batch = std::get_if<fixed_size>(&release.how)) {
      rate_ = quotient(batch->batch, batch->records);
      std::uint64_t const own = release.records_per_person;
      how_ = taken::fixed_size;
      // A record more moves one out of any batch: also out of one that took all.
      if (neighbours == adjacency::add_remove) {
        require_domain(own == 1 || own < batch->records, "dominate", "records_per_person", own,
                       "below the number of records");
      } else if (batch->batch == batch->records) {
        how_ = taken::all;
      } else if (batch->batch + own > batch->records) {
        how_ = taken::most;
      }
    } else if (auto const* draws = std::get_if<with_replacement>(&release.how)) {
      require_domain(release.records_per_person < draws->records, "dominate", "records_per_person",
                     release.records_per_person, "below the number of records");
      rate_ = quotient(release.records_per_person, draws->records);
      how_ = taken::with_replacement;
    } else if (std::holds_alternative<shuffled>(release.how)) {
      if (neighbours == adjacency::add_remove) {
        refuse_pair("shuffled batches under add_remove",
                    "a record more moves all others; use zero_out or replace_one");
      }
      how_ = taken::shuffled;
    } else if (auto const* epoch = std::get_if<random_allocation>(&release.how)) {
      if (std::holds_alternative<matrix_gaussian>(release.what)) {
        refuse_pair("random allocation of a matrix mechanism as one event",
                    "what its steps give away depends on the strategy: see `balls_in_bins`");
      }
      bool const several = release.records_per_person > 1 && epoch->steps > 1 &&
                           neighbours != adjacency::replace_one &&
                           (std::holds_alternative<gaussian>(release.what) ||
                            std::holds_alternative<gaussian_mixture>(release.what));
      if (epoch->part > 1 || several) {
        refuse_pair("an epoch in which a person takes part more than once, as one pair",
                    "compose its blocks: see `epoch_blocks`");
      }
      steps_ = epoch->steps;
      how_ = taken::allocated;
    }
  }

 protected:
  // `most`: some of a person's are in any batch, of which no more is made than that all of them may be.
  enum class taken { all, most, poisson, fixed_size, with_replacement, shuffled, allocated };

  [[nodiscard]] bool in_batches() const {
    return how_ == taken::fixed_size || how_ == taken::with_replacement;
  }
  [[nodiscard]] bool sampled() const { return how_ == taken::poisson || in_batches(); }

  // Whether one record takes part, or none.
  [[nodiscard]] bool one_takes_part() const {
    return records_ == 1.0 && how_ != taken::with_replacement;
  }

  // Whether one neighbour releases what the other does where its own records are not sampled. For sums of contributions,
  // a record that is not sampled is then as good as a null record; a batch has another record in its place.
  [[nodiscard]] bool is_directed() const {
    return how_ == taken::poisson ? neighbours_ != adjacency::replace_one
                                  : in_batches() && neighbours_ == adjacency::add_remove;
  }

  // How many contributions the presence of a sampled record moves, …
  [[nodiscard]] double apart() const { return in_batches() ? 2.0 : 1.0; }
  // … and how many steps between neighbours replace a record in a batch.
  [[nodiscard]] double between() const {
    return in_batches() && neighbours_ != adjacency::replace_one ? 2.0 : 1.0;
  }

  // In units of contributions.
  [[nodiscard]] std::uint64_t moved() const {
    return event_.records_per_person * (neighbours_ == adjacency::replace_one ? 2 : 1);
  }

  // How many of a person's records take part, and how probable that is: the parts' shifts times `each`.
  [[nodiscard]] binomial_mixture taking_part(double each) const {
    if (one_takes_part()) return {{{rate_, each}}, std::nullopt, 0.0};
    if (how_ == taken::poisson) return binomial_parts(event_.records_per_person, rate_, each);
    auto const check = [&](std::uint64_t batch, double mean) {
      require_domain(mean <= 1e5, "dominate", "batch", batch,
                     "so small that a person is drawn at most 1e5 times on average");
    };
    if (auto const* drawn = std::get_if<fixed_size>(&event_.how)) {
      check(drawn->batch, rate_ * records_);
      return hypergeometric_parts(drawn->records, event_.records_per_person, drawn->batch, each);
    }
    std::uint64_t const batch = std::get<with_replacement>(event_.how).batch;
    check(batch, rate_ * static_cast<double>(batch));
    return binomial_parts(batch, rate_, each);
  }

  // Pairs that lack what is left out of the law they are made of.
  [[nodiscard]] static domination less(domination out, binomial_mixture const& law) {
    out.left_out = law.left_out;
    return out;
  }

  // A rate, rounded up: profiles rise in it.
  [[nodiscard]] static double quotient(std::uint64_t part, std::uint64_t whole) {
    return std::min(1.0, divide_up(static_cast<double>(part), static_cast<double>(whole)));
  }

  [[nodiscard]] double one_shift(double noise) const {
    check_noise("noise_multiplier", noise, 2.0 * records_ / noise);
    return 1.0 / noise;
  }

  [[nodiscard]] double many(double epsilon, double times) const {
    require_domain(times * epsilon <= std::numeric_limits<double>::max(), "dominate", "epsilon",
                   epsilon, "so small that losses are finite");
    return multiply_up(times, epsilon);
  }
  [[nodiscard]] double all_records(double epsilon) const { return many(epsilon, records_); }

  // Group privacy: (kε, δ(e^{kε}−1)/(e^ε−1)).
  [[nodiscard]] approx_dp many(approx_dp const& each, double times) const {
    double const epsilon = many(each.epsilon, times);
    double factor = times;
    if (each.epsilon > 0.0 && times > 1.0) {
      factor = each.epsilon < 700.0 ? elementary::expm1(epsilon) / elementary::expm1(each.epsilon)
                                    : std::numeric_limits<double>::infinity();
      factor *= 1.0 + 1e-15 * (1.0 + epsilon);  // an exponential is as wrong as its argument
    }
    return {epsilon, each.delta == 0.0 ? 0.0 : std::min(1.0, each.delta * factor)};
  }

  [[nodiscard]] domination whole(dominating_pair const& pair) const {
    return symmetric_domination(pair, how_ == taken::all);
  }

  // A mechanism known by its guarantee alone. An epoch of batches is no longer that mechanism.
  [[nodiscard]] domination from_definition(dominating_pair const& pair, bool attained) const {
    return symmetric_domination(pair, attained && how_ == taken::all);
  }

  // Sums with normal or Laplace noise, a contribution of which is `shift`.
  [[nodiscard]] domination of_sums(coupled_pair::noise kind, double shift) const {
    if (rate_ == 0.0) return no_loss();
    if (one_takes_part() && in_batches() && !is_directed()) {
      if (!one_sided()) {
        return symmetric_domination(amplified_pair{kind, rate_, 2.0 * shift, 2.0 * shift}, false);
      }
      return symmetric_domination(coupled_pair{kind, {{rate_, 2.0 * shift, shift}}, true}, false);
    }
    double const each = shift * (is_directed() ? apart() : 1.0);
    double const back = is_directed() ? 0.0 : each;
    binomial_mixture mixed = taking_part(1.0);
    std::vector<mixture_pair::part> const drawn = mixed.parts;
    bool joined = join_parts_until(mixed, most_parts);
    joined = leave_out_least(mixed) || joined;
    if (in_batches() && !is_directed()) {
      // With so little noise the output tells how many there were.
      if (shift > 30.0) {
        return by_union([&, coarse = coarseness()](double j) {
          bool const normal = kind == coupled_pair::noise::normal;
          double const most = 2.0 * shift * j;
          return normal ? normal_points(most, coarse) : laplace_points(most, coarse);
        });
      }
      domination out = symmetric_domination(exchanged_points(kind, mixed, drawn, shift), false);
      double const parts = static_cast<double>(mixed.parts.size());
      double const told = static_cast<double>(std::min<std::size_t>(1000, drawn.size()));
      out.work = 3.5e5 * parts + 5e4 * told;  // some 1200 points, each of three sums
      return less(std::move(out), mixed);
    }
    coupled_pair pair{kind, {}, false, mixed.rest, mixed.error};
    for (auto const& part : mixed.parts) {
      pair.parts.push_back({part.weight, each * part.shift, -back * part.shift});
    }
    bool const attained = how_ == taken::poisson && !joined;
    if (!is_directed()) return less(symmetric_domination(std::move(pair), attained), mixed);
    coupled_pair turned = pair;
    for (coupled_pair::part& part : turned.parts) part = {part.weight, -part.q, -part.p};
    return less({std::move(pair), std::move(turned), false, attained}, mixed);
  }
  static constexpr std::size_t most_parts = 64;

  // A contribution of a length that is drawn, and another one in its place: of the same law, but anywhere (Lemma 13).
  [[nodiscard]] domination exchanged_lengths(std::vector<mixture_pair::part> drawn) const {
    bool const all = how_ != taken::shuffled;
    if (drawn.size() == 1 && drawn[0].weight == 1.0) {
      return symmetric_domination(normal_pair{2.0 * drawn[0].shift}, all);
    }
    binomial_mixture mixed{std::move(drawn), std::nullopt, 0.0};
    bool const joined = join_parts_until(mixed, most_parts);
    coupled_pair pair{coupled_pair::noise::normal, {}, false, std::nullopt, mixed.error};
    for (auto const& part : mixed.parts) {
      pair.parts.push_back({part.weight, part.shift, -part.shift});
    }
    return symmetric_domination(std::move(pair), all && !joined);
  }

  // Such lengths in a batch without replacement: a sample of what an exchange makes of them (Lemma 18).
  [[nodiscard]] domination of_lengths_in_batches(std::vector<mixture_pair::part> drawn) const {
    domination const exchanged = exchanged_lengths(std::move(drawn));
    auto const& pair = std::get<coupled_pair>(exchanged.remove);
    finite_pair const base = exchanged_points(pair);
    domination out = is_directed()
                         ? domination{sampled_pair(base, rate_, orientation::remove),
                                      sampled_pair(base, rate_, orientation::add), false, false}
                         : symmetric_domination(mirrored_pair(base, rate_), false);
    out.work = 1e5 * static_cast<double>(pair.parts.size());
    return out;
  }

  // Both directions of a mixture of shifted normals.
  [[nodiscard]] domination both_ways(std::vector<mixture_pair::part> parts, bool attained) const {
    if (parts.size() == 1 && parts[0].weight == 1.0) {
      return symmetric_domination(normal_pair{parts[0].shift}, attained);
    }
    mixture_pair pair{std::move(parts), orientation::remove};
    mixture_pair other = pair;
    other.orientation = orientation::add;
    return {std::move(pair), std::move(other), false, attained};
  }
  [[nodiscard]] domination of_normals(double shift) const {
    if (rate_ == 0.0) return no_loss();
    binomial_mixture mixed = taking_part(shift);
    bool const exact = leave_rest(mixed);
    return less(both_ways(std::move(mixed.parts), exact), mixed);
  }
  [[nodiscard]] static domination both_ways(integer_pair found, bool attained, bool symmetric) {
    finite_pair other = symmetric ? found.pair : turned(found.pair);
    return {std::move(found.pair), std::move(other), symmetric, attained && found.exact,
            found.work};
  }

  // Of the pairs for each number of records that may take part, where there are many of them.
  [[nodiscard]] double coarseness() const {
    return std::max(1.0, static_cast<double>(taking_part(1.0).parts.size()) / 16.0);
  }

  // As if the number of a person's records in the sample were told: `make` has the pair for each. Of batches, and where absence is
  // a neighbour's state, what is released without them is a neighbour of what is released with them.
  template <class Make>
  [[nodiscard]] domination by_union(Make&& make) const {
    if (rate_ == 0.0) return no_loss();
    union_of_pairs<> all;
    binomial_mixture const drawn = taking_part(1.0);
    for (auto const& part : drawn.parts) {
      all.add(part.weight, [&] { return make(part.shift); });
    }
    bool const amplifies = in_batches() || neighbours_ == adjacency::add_remove;
    finite_pair pair = amplifies ? std::move(all).sampled() : std::move(all).told();
    return less(symmetric_domination(std::move(pair), false), drawn);
  }

  // Sums with noise on the integers, whose law is `law_for` shifts that far apart.
  template <class Law>
  [[nodiscard]] domination of_integers(std::uint64_t sensitivity, Law&& law_for) const {
    double const each = static_cast<double>(sensitivity);
    auto const moved_by = [&](double shift) {
      return integer_mixtures(law_for(shift), {{1.0, static_cast<std::int64_t>(shift)}}, {{1.0, 0}})
          .condensed();
    };
    if (!sampled()) {
      return both_ways(moved_by(each * static_cast<double>(moved())), how_ == taken::all, true);
    }
    if (rate_ == 0.0) return no_loss();
    bool const substituted = in_batches() && !is_directed();  // by another record
    if (substituted && one_takes_part() && !one_sided()) {
      integer_pair found = moved_by(2.0 * each);
      found.pair = mirrored_pair(found.pair, rate_);
      return both_ways(std::move(found), false, true);
    }
    if (substituted && !one_takes_part()) return exchanged_integers(each, law_for);
    binomial_mixture const mixed = taking_part(each * (is_directed() ? apart() : 1.0));
    std::vector<integer_part> p;
    std::vector<integer_part> q;
    double const rest = mixed.rest ? *mixed.rest : 1.0 - rate_;
    double span = 0.0;
    for (auto const& part : mixed.parts) {
      p.push_back({part.weight, static_cast<std::int64_t>(part.shift)});
      if (!is_directed()) q.push_back({part.weight, -p.back().shift});
      span = std::max(span, part.shift);
    }
    if (substituted) q[0].shift = 0;
    p.push_back({rest, substituted ? -p[0].shift : 0});
    q.push_back({is_directed() ? 1.0 : rest, p.back().shift});
    integer_noise_law const noise = law_for(is_directed() ? span : 2.0 * span);
    integer_pair found = integer_mixtures(noise, std::move(p), std::move(q), mixed.error);
    if (substituted) found.pair = mirrored_above(found.pair);
    bool const attained = !substituted && how_ != taken::with_replacement;
    return less(both_ways(std::move(found).condensed(), attained, !is_directed()), mixed);
  }

  // Draws with replacement of which j are a person's, and would be exchanged for as many of others: by the pair of Lemma 11 of
  // sampling.md. Null records move sums by j, not 2j: where a person is drawn more often than not, that counts for more.
  template <class Law>
  [[nodiscard]] domination exchanged_integers(double each, Law&& law_for) const {
    binomial_mixture const mixed = taking_part(each);
    double const rest = mixed.rest ? *mixed.rest : 1.0 - mixed.parts.front().weight;
    bool const null_records = one_sided() && rest < 0.5;
    std::vector<integer_part> p;
    std::vector<integer_part> q;
    double span = 0.0;
    for (auto const& part : mixed.parts) {
      double const back = null_records ? part.shift : 2.0 * (part.shift - each);
      p.push_back({part.weight, static_cast<std::int64_t>(2.0 * part.shift)});
      q.push_back({part.weight, -static_cast<std::int64_t>(back)});
      span = std::max(span, 2.0 * part.shift + back);
    }
    p.push_back({rest, 0});
    q.push_back(p.back());
    integer_pair found = integer_mixtures(law_for(span), std::move(p), std::move(q), mixed.error);
    if (!null_records) found.pair = mirrored_above(found.pair);
    return less(both_ways(std::move(found).condensed(), false, !null_records), mixed);
  }

  // A mechanism known by its guarantee alone, `make`'s for that many steps between neighbours. Several records: no
  // mechanism that keeps the guarantee at each step uses all of it at every one.
  template <class Make>
  [[nodiscard]] domination by_guarantee(Make&& make) const {
    if (!sampled()) return from_definition(make(records_), records_ == 1.0);
    if (rate_ == 0.0) return no_loss();
    double const steps = between();
    bool const substituted = how_ == taken::poisson && neighbours_ != adjacency::add_remove;
    if (!one_takes_part() || substituted) {
      return by_union([&](double j) { return make(steps * j); });
    }
    finite_pair const base = make(steps);
    if (is_directed()) {
      return {sampled_pair(base, rate_, orientation::remove),
              sampled_pair(base, rate_, orientation::add), false, how_ == taken::poisson};
    }
    finite_pair mixed = mirrored_pair(base, rate_);
    if (one_sided()) {
      finite_pair known = make(1.0);
      if (known.atoms.back().loss < mixed.atoms.back().loss) mixed = std::move(known);
    }
    return symmetric_domination(std::move(mixed), false);
  }

  // Under these a null record, or none, is in the place of another.
  [[nodiscard]] bool one_sided() const { return neighbours_ != adjacency::replace_one; }

  [[noreturn]] static void refuse_divergences() {
    refuse_pair("a mechanism that is known by its Rényi divergences alone, as a pair",
                "take the Rényi accountant, or zCDP's; or compose the (ε, δ) that they imply: see "
                "`from_profile`");
  }

  Event const& event_;
  adjacency neighbours_;
  double records_;
  double change_;
  double rate_ = 1.0;
  taken how_ = taken::all;
  std::uint64_t steps_ = 1;  // of an epoch
};

}  // namespace tacit::detail
