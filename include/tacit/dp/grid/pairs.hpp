// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/bit_cast.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
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

/// Whether the pair leaks nothing at all.
[[nodiscard]] inline bool no_leak(dominating_pair const& pair) {
  struct visitor {
    bool operator()(normal_pair const& p) const { return p.mu == 0.0; }
    bool operator()(mixture_pair const& p) const { return p.parts.empty(); }
    bool operator()(bounded_pair const& p) const { return p.epsilon == 0.0 || p.rate == 0.0; }
    bool operator()(lattice_pair const& p) const { return p.shift == 0 || p.rate == 0.0; }
    bool operator()(finite_pair const& p) const {
      return p.infinite == 0.0 && std::all_of(p.atoms.begin(), p.atoms.end(),
                                              [](auto const& a) { return a.loss == 0.0; });
    }
    bool operator()(amplified_pair const& p) const {
      return p.rate == 0.0 || (p.absent == 0.0 && p.changed == 0.0);
    }
    bool operator()(allocation_pair const&) const { return false; }
  };
  return std::visit(visitor{}, pair);
}

/// Equal pairs have equal hashes.
[[nodiscard]] inline std::uint64_t hash_of(dominating_pair const& pair) {
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
    void operator()(allocation_pair const& p) const {
      put(p.noise_multiplier);
      put(static_cast<double>(p.steps));
    }
  };
  std::visit(visitor{mix}, pair);
  return hash;
}

/// Distinct pairs and their counts, in the order in which they came.
class pair_list {
 public:
  void add(dominating_pair const& pair, std::uint64_t count) {
    if (no_leak(pair)) return;
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

  [[nodiscard]] std::vector<counted_pair> all() const {
    std::vector<counted_pair> out;
    out.reserve(entries_.size());
    for (entry const& e : entries_) out.push_back({e.pair, static_cast<double>(e.count)});
    return out;
  }

 private:
  struct entry {
    dominating_pair pair;
    std::uint64_t count;
  };
  std::vector<entry> entries_;
  std::unordered_multimap<std::uint64_t, std::size_t> places_;
};

/// Pairs above and below those of a composition, one by one.
struct pair_envelope {
  std::vector<counted_pair> above;
  std::vector<counted_pair> below;
  bool exact;  // then `below` is empty, and `above` both
};

/// Two numbers of a pair in which its profile rises, each on a geometric scale.
class rising_family {
 public:
  using numbers = std::array<double, 2>;

  void add(numbers const& x, double count) { members_.emplace_back(x, count); }

  /// `put(numbers, count)` for at most `scale`² members or so, each number rounded up, or down.
  template <class Put>
  void rounded(bool up, int scale, Put&& put) const {
    if (members_.empty()) return;
    numbers low = members_.front().first;
    numbers high = low;
    for (auto const& [x, count] : members_) {
      for (std::size_t k = 0; k < 2; ++k) {
        low[k] = std::min(low[k], x[k]);
        high[k] = std::max(high[k], x[k]);
      }
    }
    bool const one = low[0] == high[0] || low[1] == high[1];
    int const parts = one ? scale * scale : scale;
    auto const rung = [&](std::size_t k, int j) {
      if (j <= 0) return low[k];
      if (j >= parts) return high[k];
      return std::clamp(low[k] * elementary::exp(elementary::log(high[k] / low[k]) * j / parts),
                        low[k], high[k]);
    };
    auto const index = [&](std::size_t k, double x) {
      if (low[k] == high[k]) return 0;
      double const at = elementary::log(x / low[k]) / elementary::log(high[k] / low[k]) * parts;
      int j = std::clamp(static_cast<int>(at), 0, parts);
      while (up ? rung(k, j) < x : rung(k, j) > x) j += up ? 1 : -1;
      return j;
    };
    std::unordered_map<std::uint64_t, double> counts;
    for (auto const& [x, count] : members_) {
      auto const key = static_cast<std::uint64_t>(index(0, x[0])) << 32U |
                       static_cast<std::uint64_t>(index(1, x[1]));
      counts[key] += count;
    }
    std::vector<std::pair<std::uint64_t, double>> sorted(counts.begin(), counts.end());
    std::sort(sorted.begin(), sorted.end());
    for (auto const& [key, count] : sorted) {
      put(numbers{rung(0, static_cast<int>(key >> 32U)),
                  rung(1, static_cast<int>(key & 0xFFFFFFFFU))},
          count);
    }
  }

 private:
  std::vector<std::pair<numbers, double>> members_;
};

/// Normal pairs become one. Where that leaves more pairs than `most`, those of one shape are rounded to a
/// few hundred.
[[nodiscard]] inline pair_envelope envelope_of(std::vector<counted_pair> pairs,
                                               std::size_t most = 512) {
  pair_envelope out{{}, {}, true};
  compensated_sum<double> variance;
  std::vector<counted_pair> rest;
  std::size_t normals = 0;
  for (counted_pair const& c : pairs) normals += std::holds_alternative<normal_pair>(c.pair);
  for (counted_pair& c : pairs) {
    auto const* normal = std::get_if<normal_pair>(&c.pair);
    if (normal != nullptr && normals > 1) {
      variance += c.count * normal->mu * normal->mu;
    } else {
      rest.push_back(std::move(c));
    }
  }
  double const mu = std::sqrt(variance.value());
  if (mu > 0.0) rest.push_back({normal_pair{mu}, 1.0});
  if (rest.size() <= most) {
    out.above = std::move(rest);
    return out;
  }
  out.exact = false;
  rising_family responses;
  std::array<std::array<rising_family, 3>, 2> bounded;  // by orientation; by atom: 0, ½, else
  std::array<rising_family, 2> mixtures;
  std::array<double, 3> atom{0.0, 0.5, -1.0};
  double kept = 0.0;  // log of what is not infinite
  std::size_t approximate = 0;
  for (counted_pair& c : rest) {
    if (auto const* finite = std::get_if<finite_pair>(&c.pair)) {
      auto const& a = finite->atoms;
      bool const response = a.size() == 2 && a[0].loss == -a[1].loss && a[0].p == a[1].q &&
                            a[1].p == a[0].q && finite->loss_error == 0.0;
      if (response) {
        responses.add({a[1].loss, 1.0}, c.count);
        kept += c.count * elementary::log1p(-finite->infinite);
        approximate += finite->infinite > 0.0;
        continue;
      }
    } else if (auto const* one = std::get_if<bounded_pair>(&c.pair)) {
      std::size_t const kind = one->atom == 0.0 ? 0 : one->atom == 0.5 ? 1 : 2;
      if (kind < 2) {
        bounded[static_cast<std::size_t>(one->orientation)][kind].add({one->epsilon, one->rate},
                                                                      c.count);
        continue;
      }
    } else if (auto const* mixture = std::get_if<mixture_pair>(&c.pair)) {
      if (mixture->parts.size() == 1) {
        auto const& part = mixture->parts.front();
        mixtures[static_cast<std::size_t>(mixture->orientation)].add({part.weight, part.shift},
                                                                     c.count);
        continue;
      }
    }
    out.above.push_back(c);
    out.below.push_back(std::move(c));
  }
  constexpr int scale = 14;
  for (bool const up : {true, false}) {
    std::vector<counted_pair>& to = up ? out.above : out.below;
    responses.rounded(up, scale, [&](auto const& x, double count) {
      double const high = 1.0 / (1.0 + elementary::exp(-x[0]));
      double const low = high * elementary::exp(-x[0]);
      to.push_back({finite_pair{{{-x[0], low, high}, {x[0], high, low}}}, count});
    });
    for (orientation const way : {orientation::remove, orientation::add}) {
      auto const w = static_cast<std::size_t>(way);
      for (std::size_t kind = 0; kind < 2; ++kind) {
        bounded[w][kind].rounded(up, scale, [&](auto const& x, double count) {
          to.push_back({bounded_pair{x[0], atom[kind], x[1], way}, count});
        });
      }
      mixtures[w].rounded(up, scale, [&](auto const& x, double count) {
        to.push_back({mixture_pair{{{x[0], x[1]}}, way}, count});
      });
    }
    if (approximate > 0) {
      double const off = 4e-16 * (4.0 + static_cast<double>(approximate));
      double const infinite = -elementary::expm1(kept) * (up ? 1.0 + off : 1.0 - off);
      finite_pair alone{{{0.0, 1.0 - infinite, 1.0 - infinite}}};
      alone.infinite = alone.excluded = std::min(1.0, infinite);
      to.push_back({alone, 1.0});
    }
  }
  return out;
}

}  // namespace tacit::detail
