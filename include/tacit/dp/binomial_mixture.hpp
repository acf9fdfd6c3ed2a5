// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/rounded.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/two_doubles.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tacit::detail {

/// The binomial mixture of the shifts j·shift, j ~ Bin(records, rate): by the recurrence from the mode outwards, in which
/// nothing cancels. Weights are rounded up; parts whose weight no double holds are left out. docs/certificates/integers.md,
/// Lemma 9.
struct binomial_mixture {
  static constexpr double weight_error = 2.0 * std::numeric_limits<double>::epsilon();
  std::vector<mixture_pair::part> parts;  // j ≥ 1
  std::optional<double> rest;             // the weight of j = 0; of one record, what is left of 1
  double error = weight_error;            // of weights from 1e-290 on, and of `rest`, relatively
  double left_out = 0.0;  // what is left out that is moved farther than all of these, at most
};

/// Weight is added to the largest part until no more than `left` remains of 1: as a sum of doubles has it, and as a
/// compensated one, for pairs take either.
template <class Part>
void leave_at_most(double left, std::vector<Part>& parts) {
  auto const most = std::max_element(
      parts.begin(), parts.end(), [](auto const& a, auto const& b) { return a.weight < b.weight; });
  while (true) {
    double plain = 1.0;
    compensated_sum<double> exact(1.0);
    for (auto const& part : parts) {
      plain -= part.weight;
      exact += -part.weight;
    }
    double const rest = std::max(plain, exact.value());
    if (!(rest > left)) return;
    most->weight +=
        std::max(rest - left, 2.0 * std::numeric_limits<double>::epsilon() * most->weight);
  }
}

/// The weights of a law on `first`, …, `last`, from about its mode: `down(p, j)` is the weight of j − 1 where p is that of j,
/// and `up(p, j)` that of j + 1.
template <class Down, class Up>
[[nodiscard]] binomial_mixture parts_of_law(double first, double mode, double last, double shift,
                                            Down&& down, Up&& up) {
  struct chance {
    double j;
    two_doubles of;
  };
  std::vector<chance> chances;
  two_doubles none;
  // Far above 1, so that neither half of a chance underflows before its weight does.
  constexpr double high = 0x1p900;
  constexpr double least = 0x1p-180;
  two_doubles next{high};
  for (double j = mode; next.high > least; j -= 1.0) {
    if (j == 0.0) {
      none = next;
      break;
    }
    chances.push_back({j, next});
    if (j == first) break;
    next = down(next, j);
  }
  std::reverse(chances.begin(), chances.end());
  next = two_doubles{high};
  for (double j = mode; j < last; j += 1.0) {
    next = up(next, j);
    if (!(next.high > least)) break;
    chances.push_back({j + 1.0, next});
  }
  two_doubles total = none;
  for (chance const& c : chances) total = total + c.of;

  std::vector<mixture_pair::part> parts;
  double dropped = 0.0;
  for (chance const& c : chances) {
    two_doubles const weight = c.of / total;
    if (!(weight.high > 0.0)) {
      if (c.j > mode) ++dropped;
      continue;
    }
    // 2^-80 has room for what so many operations err; a subnormal has no lower half.
    double const above = weight.high >= 1e-290
                             ? add_up(weight.high, weight.low + 0x1p-80 * weight.high)
                             : add_up(weight.high, std::numeric_limits<double>::denorm_min());
    parts.push_back({std::min(1.0, above), c.j * shift});
  }
  // Each weighs less than any double.
  double const fewer = last - (chances.empty() ? first : chances.back().j) + dropped;
  return {std::move(parts), (none / total).high, binomial_mixture::weight_error,
          fewer * std::numeric_limits<double>::denorm_min()};
}

template <std::same_as<double> T = double>
[[nodiscard]] binomial_mixture binomial_parts(std::uint64_t records, T rate, double shift) {
  if (records == 1) return {{{rate, shift}}, std::nullopt, 0.0};
  double const n = static_cast<double>(records);
  two_doubles const odds = two_doubles{rate} / two_doubles::sum_of(1.0, -rate);
  double const mode = std::min(n, std::floor((n + 1.0) * rate));
  return parts_of_law(
      0.0, mode, n, shift,
      [&](two_doubles const& p, double j) { return p * j / (odds * (n - j + 1.0)); },
      [&](two_doubles const& p, double j) { return p * odds * (n - j) / two_doubles{j + 1.0}; });
}

/// The hypergeometric mixture: j of a person's `own` records are among `batch` of `records`, drawn without replacement.
/// @pre own < records and batch ≤ records, below 2^53
template <std::same_as<double> T = double>
[[nodiscard]] binomial_mixture hypergeometric_parts(std::uint64_t records, std::uint64_t own,
                                                    std::uint64_t batch, T shift) {
  std::uint64_t const others = records - own;
  double const k = static_cast<double>(own);
  double const b = static_cast<double>(batch);
  double const left = static_cast<double>(others) - b;  // of the others, where all of a batch are
  double const first = std::max(0.0, -left);
  double const last = std::min(k, b);
  double const likely = (k + 1.0) * (b + 1.0) / (static_cast<double>(records) + 2.0);
  return parts_of_law(
      first, std::clamp(std::floor(likely), first, last), last, shift,
      [&](two_doubles const& p, double j) {
        return p * j * (left + j) / (two_doubles{k - j + 1.0} * (b - j + 1.0));
      },
      [&](two_doubles const& p, double j) {
        return p * (k - j) * (b - j) / (two_doubles{j + 1.0} * (left + j + 1.0));
      });
}

/// Makes the weight of no record what the others leave of 1, and no more than it is: where the loss in the direction `add`
/// ends is not to come out above its place by the rounding of a sum. Profiles rise by that (sampling.md, Lemma 2). False
/// where 1 − Σ weight cannot tell that weight from 0.
template <std::same_as<binomial_mixture> Mixture = binomial_mixture>
[[nodiscard]] bool leave_rest(Mixture& mixed) {
  if (!mixed.rest) return true;
  bool const exact = *mixed.rest >= 1e-13;
  if (*mixed.rest < 1e-3) leave_at_most(exact ? *mixed.rest : 0.0, mixed.parts);
  return exact;
}

/// Fewer parts: some next to one another count as the one of them that is moved farthest, which makes profiles larger. A
/// part ends where `ends(k)`; the last one does.
template <class Ends, std::same_as<binomial_mixture> Mixture>
void join_parts(Mixture& mixed, Ends&& ends) {
  auto& parts = mixed.parts;
  std::vector<mixture_pair::part> out;
  double held = 0.0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    held = std::min(1.0, add_up(held, parts[k].weight));
    if (!ends(k) && k + 1 < parts.size()) continue;
    out.push_back({held, parts[k].shift});
    held = 0.0;
  }
  if (out.size() == parts.size()) return;
  mixed.error += std::numeric_limits<double>::epsilon() * static_cast<double>(parts.size());
  parts = std::move(out);
}

/// Joins parts that hardly ever occur.
template <std::same_as<binomial_mixture> Mixture>
void join_rare_parts(Mixture& mixed) {
  constexpr double rare = 1e-30;
  constexpr double together = 1e-40;  // the lightest of those that are one, of the heaviest
  double heaviest = 0.0;
  bool begins = true;
  join_parts(mixed, [&](std::size_t k) {
    double const weight = mixed.parts[k].weight;
    bool const falls = k > 0 && weight < mixed.parts[k - 1].weight;
    heaviest = begins ? weight : std::max(heaviest, weight);
    begins = weight >= rare || (falls && weight < together * heaviest);
    return begins;
  });
}

/// Joins parts that hardly ever occur, and then others, until no more than `most` are left. Returns whether that was
/// necessary.
template <std::same_as<binomial_mixture> Mixture>
bool join_parts_until(Mixture& mixed, std::size_t most) {
  if (mixed.parts.size() <= most) return false;
  join_rare_parts(mixed);
  std::size_t const each = (mixed.parts.size() + most - 1) / most;
  join_parts(mixed, [&](std::size_t k) { return k % each == each - 1; });
  return true;
}

/// About `most` parts that stand for all: of those that are next to one another each counts as the one that is moved farthest, or
/// least, which makes profiles larger, or smaller (docs/certificates/sampling.md, Lemma 2).
template <class Parts>
[[nodiscard]] std::vector<mixture_pair::part> fewer_parts(Parts const& parts, std::size_t most,
                                                          bool above) {
  std::size_t const each = (parts.size() + most - 1) / most;
  std::vector<mixture_pair::part> out;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (k % each == 0) out.push_back({0.0, parts[k].shift});
    mixture_pair::part& group = out.back();
    if (above) group.shift = parts[k].shift;
    group.weight = above ? std::min(1.0, add_up(group.weight, parts[k].weight))
                         : add_down(group.weight, parts[k].weight);
  }
  return out;
}

/// Leaves out what is moved least, where that weighs less than 1e-290: the heaviest part is known to far less than that, so that
/// it may count there. Returns whether there was any.
template <std::same_as<binomial_mixture> Mixture>
bool leave_out_least(Mixture& mixed) {
  constexpr double least = 1e-290;
  if (!mixed.rest || *mixed.rest >= least) return false;
  mixed.rest = 0.0;
  auto const first = std::find_if(mixed.parts.begin(), mixed.parts.end(),
                                  [](auto const& part) { return part.weight >= least; });
  if (first != mixed.parts.end()) mixed.parts.erase(mixed.parts.begin(), first);
  return true;
}

/// The pair with weights that are no more than the binomial law's own, where `pair` has those of `leave_rest`: a lower
/// end is that of this pair, as profiles rise in the weights. `leave_at_most` adds what is left, where that is below 1e-13, and
/// at most n·2⁻⁵⁰ beside it, to a part that weighs more than an n-th of the whole.
template <std::same_as<mixture_pair> Pair>
[[nodiscard]] Pair lowered(Pair pair) {
  double const n = static_cast<double>(pair.parts.size());
  if (n < 2.0) return pair;
  double left = 1.0;
  for (auto const& part : pair.parts) left -= part.weight;
  double const kept =
      1.0 - (left > 2e-3 ? 0x1p-50 : std::min(1.0, n * ((n + 1.0) * 0x1p-49 + 1.01e-13)));
  std::erase_if(pair.parts, [&](auto& part) {
    part.weight *= kept;
    return part.weight < 1e-290;
  });
  return pair;
}

/// A domination without those parts of its mixtures that weigh at most `most` together: what is above leaves them out, and what is
/// below has no record in their place. Lemma 16 of docs/certificates/sampling.md.
template <std::same_as<domination> Pairs>
struct lighter_pairs {
  Pairs above;
  Pairs below;
  bool is_lighter = false;
};
template <std::same_as<domination> Pairs>
[[nodiscard]] lighter_pairs<Pairs> without_light(Pairs const& pairs, double most) {
  lighter_pairs<Pairs> out{pairs, pairs};
  for (auto towards : {&Pairs::remove, &Pairs::add}) {
    auto* const above = std::get_if<mixture_pair>(&(out.above.*towards));
    auto* const below = std::get_if<mixture_pair>(&(out.below.*towards));
    if (above == nullptr) continue;
    double lost = 0.0;
    while (above->parts.size() > 1) {
      double const with = add_up(lost, above->parts.back().weight);
      if (!(with <= most)) break;
      lost = with;
      above->parts.pop_back();
    }
    if (lost == 0.0) continue;
    below->parts = above->parts;
    for (auto& part : above->parts) {
      part.weight = std::min(1.0, multiply_up(part.weight, 1.0 + 2.0 * lost + 0x1p-52));
    }
    out.above.left_out = std::max(out.above.left_out, add_up(pairs.left_out, lost));
    out.is_lighter = true;
  }
  return out;
}

}  // namespace tacit::detail
