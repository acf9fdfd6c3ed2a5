// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/bit_cast.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/condensed_pair.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/similar_pairs.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <utility>
#include <variant>
#include <vector>

/// The pairs of a composition, counted; and fewer pairs that are above or below them, where there are too
/// many for a grid each. docs/certificates/grid.md, Lemma 13.

namespace tacit::detail {

struct counted_pair {
  dominating_pair pair;
  double count;
};

/// Whether the two laws of the pair are one.
template <std::same_as<dominating_pair> Pair>
[[nodiscard]] bool is_trivial(Pair const& pair) {
  struct visitor {
    bool operator()(normal_pair const& p) const { return p.mu == 0.0; }
    bool operator()(mixture_pair const& p) const { return p.parts.empty(); }
    bool operator()(bounded_pair const& p) const { return p.epsilon == 0.0 || p.rate == 0.0; }
    bool operator()(lattice_pair const& p) const { return p.shift == 0 || p.rate == 0.0; }
    bool operator()(finite_pair const& p) const {
      return p.infinite == 0.0 && p.left_out == 0.0 &&
             std::all_of(p.atoms.begin(), p.atoms.end(),
                         [](auto const& a) { return a.loss == 0.0; });
    }
    bool operator()(amplified_pair const& p) const {
      return p.rate == 0.0 || (p.absent == 0.0 && p.changed == 0.0);
    }
    bool operator()(coupled_pair const& p) const { return p.parts.empty(); }
    bool operator()(allocation_pair const&) const { return false; }
    bool operator()(allocated_pair const& p) const { return (*this)(p.above); }
  };
  return std::visit(visitor{}, pair);
}

/// Equal pairs have equal hashes.
template <std::same_as<dominating_pair> Pair>
[[nodiscard]] std::uint64_t hash_of(Pair const& pair) {
  std::uint64_t hash = pair.index();
  auto const mix = [&hash](double x) {
    hash = (hash ^ bit_cast<std::uint64_t>(x + 0.0)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29U;
  };
  struct visitor {
    decltype(mix)& put;
    void operator()(normal_pair const& p) const { put(p.mu); }
    void operator()(mixture_pair const& p) const {
      for (auto const& part : p.parts) {
        put(part.weight);
        put(part.shift);
      }
    }
    void operator()(bounded_pair const& p) const {
      put(p.epsilon);
      put(p.rate);
    }
    void operator()(lattice_pair const& p) const {
      put(p.sigma);
      put(p.rate);
    }
    void operator()(finite_pair const& p) const {
      for (auto const& a : p.atoms) put(a.loss);
      put(p.infinite);
    }
    void operator()(amplified_pair const& p) const {
      put(p.rate);
      put(p.changed);
    }
    void operator()(coupled_pair const& p) const {
      for (auto const& part : p.parts) {
        put(part.weight);
        put(part.p);
        put(part.q);
      }
    }
    void operator()(allocation_pair const& p) const {
      put(p.noise_multiplier);
      put(static_cast<double>(p.steps));
    }
    void operator()(allocated_pair const& p) const {
      (*this)(p.above);
      put(static_cast<double>(p.steps));
    }
  };
  std::visit(visitor{mix}, pair);
  return hash;
}

/// Distinct pairs and their counts, in the order in which they came.
template <std::same_as<dominating_pair> Pair = dominating_pair>
class pair_list {
 public:
  void add(Pair const& pair, std::uint64_t count) {
    if (is_trivial(pair)) return;
    std::uint64_t const key = hash_of(pair);
    auto const [first, last] = places_.equal_range(key);
    for (auto at = first; at != last; ++at) {
      entry& known = entries_[at->second];
      if (!(known.pair == pair)) continue;
      require_domain(known.count <= std::numeric_limits<std::uint64_t>::max() - count, "compose",
                     "count", count, "small enough for a total of 64 bits");
      known.count += count;
      return;
    }
    places_.emplace(key, entries_.size());
    entries_.push_back({pair, count});
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::vector<counted_pair> all() const {
    std::vector<counted_pair> out;
    out.reserve(entries_.size());
    for (entry const& e : entries_) out.push_back({e.pair, static_cast<double>(e.count)});
    return out;
  }

 private:
  struct entry {
    Pair pair;
    std::uint64_t count;
  };
  std::vector<entry> entries_;
  std::multimap<std::uint64_t, std::size_t> places_;
};

/// Pairs above and below those of a composition, one by one.
struct pair_envelope {
  std::vector<counted_pair> above;
  std::vector<counted_pair> below;
  bool exact;  // then `below` is empty, and `above` both
};

/// How many losses the finite pairs have together.
template <std::same_as<counted_pair> Pair>
[[nodiscard]] double losses_of(std::vector<Pair> const& pairs) {
  double losses = 0.0;
  for (counted_pair const& c : pairs) {
    auto const* finite = std::get_if<finite_pair>(&c.pair);
    if (finite != nullptr) losses += static_cast<double>(finite->atoms.size());
  }
  return losses;
}

/// How many losses each of them may keep, so that together they have no more than a question can look at.
template <std::same_as<counted_pair> Pair>
[[nodiscard]] std::size_t losses_each(std::vector<Pair> const& pairs) {
  constexpr std::size_t fewest = 256;
  constexpr std::size_t together = std::size_t{1} << 19U;
  std::size_t wide = 0;
  for (counted_pair const& c : pairs) {
    auto const* finite = std::get_if<finite_pair>(&c.pair);
    wide += finite != nullptr && finite->atoms.size() > fewest;
  }
  if (losses_of(pairs) <= static_cast<double>(together) || wide == 0) {
    return std::numeric_limits<std::size_t>::max();
  }
  return std::max(fewest, together / wide);
}

/// Where the pair stands among similar ones, if a grid of it takes milliseconds.
template <std::same_as<dominating_pair> Pair>
[[nodiscard]] rising_pair if_dear(Pair const& pair) {
  auto const* mixture = std::get_if<mixture_pair>(&pair);
  bool const dear = (mixture != nullptr && mixture->parts.size() > 1) ||
                    std::holds_alternative<amplified_pair>(pair) ||
                    std::holds_alternative<coupled_pair>(pair);
  return dear ? rising_numbers(pair) : rising_pair{};
}

/// Similar pairs as fewer, above them and below.
template <std::same_as<dominating_pair> Pair>
void round_into(pair_envelope& out, similar<Pair>&& pairs, std::size_t each, std::size_t most,
                double close = 0.0) {
  std::move(pairs).round(
      each, most, close,
      [&](Pair const& like, std::vector<double> const& numbers, double count, bool up) {
        dominating_pair pair = pair_with(like, numbers, up);
        if (!is_trivial(pair)) (up ? out.above : out.below).push_back({std::move(pair), count});
      });
}

/// What is wanted of an envelope: to make pairs of very many losses smaller takes long, on either side.
enum class envelope_side { above, below, both };

/// Finite pairs of very many losses get fewer of them, and mixtures of very many parts. Normal pairs become one. Where that leaves more pairs than `most`,
/// those of one shape are rounded to a few hundred. The side that is not wanted has no meaning.
template <std::same_as<counted_pair> Pair>
[[nodiscard]] pair_envelope envelope_of(std::vector<Pair> pairs,
                                        envelope_side side = envelope_side::both,
                                        std::size_t most = 512) {
  pair_envelope out{{}, {}, true};
  bool const is_above = side != envelope_side::below;
  bool const is_below = side != envelope_side::above;
  std::size_t smaller = 0;
  compensated_sum<double>
      variance;  // in units of the largest μ², which itself may leave the range of doubles
  std::vector<counted_pair> rest;
  std::size_t const few = losses_each(pairs);
  std::size_t parts = 0;  // of mixtures
  for (counted_pair const& c : pairs) {
    auto const* mixture = std::get_if<mixture_pair>(&c.pair);
    if (mixture != nullptr) parts += mixture->parts.size();
  }
  bool const heavy = parts > 16'384;
  std::size_t const few_parts =
      heavy ? std::clamp<std::size_t>(8'192 / pairs.size(), 16, 256) : 256;
  std::size_t const many_parts = heavy ? few_parts : 1'024;
  std::size_t normals = 0;
  double largest = 0.0;
  for (counted_pair const& c : pairs) {
    if (auto const* normal = std::get_if<normal_pair>(&c.pair)) {
      ++normals;
      largest = std::max(largest, normal->mu);
    }
  }
  for (counted_pair& c : pairs) {
    auto const* normal = std::get_if<normal_pair>(&c.pair);
    auto const* finite = std::get_if<finite_pair>(&c.pair);
    auto const* mixture = std::get_if<mixture_pair>(&c.pair);
    if (normal != nullptr && normals > 1) {
      double const part = normal->mu / largest;
      variance += c.count * part * part;
    } else if (finite != nullptr && finite->atoms.size() > few) {
      ++smaller;
      if (is_below) out.below.push_back({merged(*finite, few), c.count});
      if (!is_above) continue;
      out.above.push_back({condensed(std::get<finite_pair>(std::move(c.pair)), few), c.count});
    } else if (mixture != nullptr && mixture->parts.size() > many_parts) {
      ++smaller;
      for (bool const up : {true, false}) {
        if (!(up ? is_above : is_below)) continue;
        mixture_pair fewer{fewer_parts(mixture->parts, few_parts, up), mixture->orientation};
        (up ? out.above : out.below).push_back({std::move(fewer), c.count});
      }
    } else {
      rest.push_back(std::move(c));
    }
  }
  if (normals > 1) rest.push_back({normal_pair{largest * std::sqrt(variance.value())}, 1.0});
  out.exact = smaller == 0 && rest.size() <= most;
  if (rest.size() + smaller <= most) {
    if (!out.exact) out.below.insert(out.below.end(), rest.begin(), rest.end());
    std::move(rest.begin(), rest.end(), std::back_inserter(out.above));
    return out;
  }
  out.exact = false;
  similar<> alike;
  double kept = 0.0;  // log of what is not infinite
  std::size_t approximate = 0;
  for (counted_pair& c : rest) {
    // What is infinite comes by itself.
    auto* const finite = std::get_if<finite_pair>(&c.pair);
    bool const apart = finite != nullptr && finite->infinite == finite->excluded;
    double const infinite = apart ? finite->infinite : 0.0;
    if (apart) finite->infinite = finite->excluded = 0.0;
    if (rising_pair at = rising_numbers(c.pair)) {
      alike.add(c.pair, std::move(at), c.count);
      kept += c.count * elementary::log1p(-infinite);
      approximate += infinite > 0.0;
      continue;
    }
    if (apart) finite->infinite = finite->excluded = infinite;
    out.above.push_back(c);
    out.below.push_back(std::move(c));
  }
  round_into(out, std::move(alike), 100, 800);
  if (approximate > 0) {
    for (bool const up : {true, false}) {
      double const off = 4e-16 * (4.0 + static_cast<double>(approximate));
      double const infinite =
          std::min(1.0, -elementary::expm1(kept) * (up ? 1.0 + off : 1.0 - off));
      finite_pair alone{{{0.0, 1.0 - infinite, 1.0 - infinite}}};
      alone.infinite = alone.excluded = infinite;
      (up ? out.above : out.below).push_back({alone, 1.0});
    }
  }
  return out;
}

/// Pairs of which a grid takes milliseconds each as at most about so many, above them and below; the others by `envelope_of`.
template <std::same_as<counted_pair> Pair>
[[nodiscard]] pair_envelope few_dear(std::vector<Pair> const& pairs, std::size_t cells) {
  pair_envelope rounded{{}, {}, false};
  similar<> dear;
  for (counted_pair const& c : pairs) {
    if (rising_pair at = if_dear(c.pair)) {
      dear.add(c.pair, std::move(at), c.count);
      continue;
    }
    rounded.above.push_back(c);
    rounded.below.push_back(c);
  }
  constexpr double close = 1e-4;  // a grid is no finer
  round_into(rounded, std::move(dear), cells, cells, close);
  pair_envelope up = envelope_of(std::move(rounded.above), envelope_side::above);
  pair_envelope down = envelope_of(std::move(rounded.below), envelope_side::below);
  return {std::move(up.above), std::move(down.exact ? down.above : down.below), false};
}

}  // namespace tacit::detail
