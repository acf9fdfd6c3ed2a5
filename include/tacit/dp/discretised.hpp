// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/bit_cast.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/grid/compose.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace tacit {

namespace detail {

struct counted_pair {
  dominating_pair pair;
  std::uint64_t count;
};

/// Losses beyond these are not worth a grid: answered by 0 and ∞.
inline constexpr double grid_loss_limit = 1e12;

/// The composition of one direction's pairs.
template <std::same_as<double> T = double>
class composed_losses {
 public:
  /// The caller sees to it that the counts have a total of 64 bits.
  void add(dominating_pair const& pair, std::uint64_t count) {
    if (no_leak(pair)) return;
    std::uint64_t const key = key_of(pair);
    auto const [first, last] = places_.equal_range(key);
    auto const known =
        std::find_if(first, last, [&](auto const& at) { return pairs_[at.second].pair == pair; });
    if (known != last) {
      pairs_[known->second].count += count;
    } else {
      places_.emplace(key, pairs_.size());
      pairs_.push_back({pair, count});
    }
  }

  [[nodiscard]] bool empty() const { return pairs_.empty(); }

  [[nodiscard]] bound<T> answer(loss_query<T> query, T width) const {
    if (pairs_.empty()) return {0.0, 0.0};
    bound<T> best{0.0, query.wants_epsilon ? std::numeric_limits<T>::infinity() : 1.0};
    T log_delta = std::log(query.value);
    if (!query.wants_epsilon) {
      prepared const wide = prepare(-640.0);
      if (!wide.usable) return best;
      if (query.value >= wide.largest) return wide.infinite;
      if (query.value >= wide.reach) return {wide.infinite.lower, wide.left_out};
      log_delta = find_saddle<T>(wide.sketches, query).log_delta;
    }
    prepared ready = prepare(log_delta);
    // Over a wide range an estimate is a poor one, and too much may have been left out.
    for (int k = 0; k < 16 && !query.wants_epsilon && ready.usable && log_delta > -640.0; ++k) {
      T const better = query.value < ready.reach ? find_saddle<T>(ready.sketches, query).log_delta
                                                 : 1.3 * std::min(log_delta, 0.0) - 10.0;
      if (!(better < log_delta - 3.0)) break;
      log_delta = better;
      ready = prepare(log_delta);
    }
    if (!ready.usable) return best;
    // What is known without a grid.
    if (query.wants_epsilon) {
      if (ready.infinite.upper <= query.value) best.upper = ready.largest;
      if (ready.left_out <= query.value) best.upper = std::min(best.upper, ready.reach);
    } else if (query.value >= ready.reach) {
      return {ready.infinite.lower, ready.left_out};
    }
    saddle<T> const s = find_saddle<T>(ready.sketches, query);
    cut(ready, s.tilt);
    grid_composition<T> const plan(ready.laws, ready.sketches, s.tilt);
    auto const narrow = [&](certified_tail<T> const& tail) {
      bound<T> const found =
          query.wants_epsilon ? tail.epsilon(query.value) : tail.delta(query.value);
      best.lower = std::max(best.lower, found.lower);
      best.upper = std::min(best.upper, found.upper);
    };
    if (std::optional<certified_tail<T>> const tail = plan.exact()) {
      narrow(*tail);
      return holding(best, ready);
    }
    // An error of d in log δ is one of d/θ in ε. Beyond 1 the tilt would be the wrong one.
    T aim = width;
    if (query.wants_epsilon) {
      aim = std::min(1.0, width * s.tilt * std::max(s.epsilon, 0.1 * s.deviation));
    }
    T last = std::numeric_limits<T>::infinity();
    for (int attempt = 0; attempt < 5; ++attempt) {
      std::optional<certified_tail<T>> tail = plan.gridded(aim);
      if (!tail) break;
      // The lower end of what is on the grid, for now: it tells how good the upper one is.
      tail->lower_holds = true;
      narrow(*tail);
      T const off = best.upper - best.lower;
      T const target = width * best.upper;
      if (off <= target || !(off < 0.8 * last) || tail->finest) break;
      last = off;
      // Without a lower end the width tells little.
      aim *= best.lower > 0.0 ? std::clamp(0.7 * target / off, 0.02, 0.5) : 0.1;
    }
    return holding(best, ready);
  }

 private:
  // Equal pairs have equal keys.
  [[nodiscard]] static std::uint64_t key_of(dominating_pair const& pair) {
    struct mixer {
      std::uint64_t key = 0xCBF29CE484222325;  // FNV-1a
      void take(double x) { key = (key ^ bit_cast<std::uint64_t>(x + 0.0)) * 0x100000001B3; }
      void operator()(normal_pair const& p) { take(p.mu); }
      void operator()(mixture_pair const& p) {
        for (mixture_pair::part const& part : p.parts) {
          take(part.weight);
          take(part.shift);
        }
      }
      void operator()(bounded_pair const& p) {
        take(p.epsilon);
        take(p.rate);
      }
      void operator()(lattice_pair const& p) {
        take(p.sigma);
        take(p.rate);
      }
      void operator()(finite_pair const& p) {
        for (finite_pair::atom const& a : p.atoms) {
          take(a.loss);
          take(a.p);
        }
      }
      void operator()(amplified_pair const& p) {
        take(p.rate);
        take(p.changed);
      }
    } mixed;
    std::visit(mixed, pair);
    return mixed.key;
  }

  // Whether the pair leaks nothing at all.
  [[nodiscard]] static bool no_leak(dominating_pair const& pair) {
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
    };
    return std::visit(visitor{}, pair);
  }

  struct prepared {
    std::vector<loss_law<T>> laws;
    std::vector<loss_sketch<T>> sketches;
    bool usable = true;
    T largest = 0.0;   // no finite loss of the composition is larger
    T reach = 0.0;     // no loss is larger …
    T left_out = 1.0;  // … but for that much of P, the infinite ones included
    bound<T> infinite{0.0, 0.0};
    T above = 0.0;  // left out of a law
    T log_below = 0.0;
  };

  [[nodiscard]] prepared prepare(T log_delta) const {
    prepared out;
    T total = 0.0;
    for (counted_pair const& c : pairs_) total += static_cast<T>(c.count);
    // What is left out above adds to δ; what is left out below is next to nothing once tilted.
    out.above = std::exp(std::clamp(log_delta - std::log(total) - 25.0, -680.0, -3.0));
    out.log_below = std::clamp(-std::log(total) - 30.0, -680.0, -3.0);
    T infinite = 0.0;
    T left_out = 0.0;
    T size = 0.0;
    for (counted_pair const& c : pairs_) {
      // Atom by atom, a discrete Gaussian this wide is more than a grid holds.
      auto const* lattice = std::get_if<lattice_pair>(&c.pair);
      out.usable = lattice == nullptr || lattice->sigma <= 5e4;
      if (!out.usable) break;
      loss_law<T> law = law_of(c, out.above, out.log_below);
      T const reach = std::max(std::abs(law.low), std::abs(law.high));
      out.usable = reach > 1e-150 && reach < grid_loss_limit;
      if (!out.usable) break;
      out.largest += law.count * law.largest;
      out.reach += law.count * (law.high + law.loss_error);
      size += law.count * std::abs(law.high);
      infinite += law.count * std::log1p(-law.infinite);
      left_out += law.count * std::log1p(-std::min(1.0, law.infinite + law.above));
      out.sketches.emplace_back(law);
      out.laws.push_back(std::move(law));
    }
    out.largest *= 1.0 + 1e-15;
    out.reach = std::max(0.0, out.reach + 1e-15 * static_cast<T>(pairs_.size()) * size);
    out.left_out = std::min(1.0, -std::expm1(left_out) * (1.0 + 1e-14));
    out.infinite = {-std::expm1(infinite) * (1.0 - 1e-15), -std::expm1(infinite) * (1.0 + 1e-15)};
    return out;
  }

  [[nodiscard]] static bound<T> holding(bound<T> found, prepared const& ready) {
    bool const both = std::all_of(ready.laws.begin(), ready.laws.end(),
                                  [](loss_law<T> const& s) { return s.lower_holds; });
    return {both ? found.lower : 0.0, found.upper};
  }

  [[nodiscard]] static loss_law<T> law_of(counted_pair const& c, T above, T log_below) {
    loss_law<T> law = std::visit(law_maker<T>(above, std::exp(log_below)), c.pair);
    law.count = static_cast<T>(c.count);
    T const range = law.high - law.low;
    if (!law.curves.empty() && !(range > 1e-12 * std::abs(law.high))) {
      // To this precision the loss is a number.
      law.loss_error += 2.0 * range;
      law.mass_error += law.above + law.below;
      law.atoms = {{law.high, 1.0}};
      law.curves.clear();
      law.low = law.high;
      law.below = 0.0;
    }
    return law;
  }

  /// Leaves out below what the tilt makes negligible, where that is most of the range.
  void cut(prepared& ready, T tilt) const {
    for (std::size_t s = 0; s < pairs_.size(); ++s) {
      if (ready.laws[s].curves.empty() || ready.laws[s].below == 0.0) continue;
      T const log_moment = ready.sketches[s].at(tilt).value;
      for (T log_below = -3.0; log_below > ready.log_below; log_below *= 1.4) {
        loss_law<T> law = law_of(pairs_[s], ready.above, log_below);
        if (log_below + tilt * law.low - log_moment > ready.log_below) continue;
        if (law.curves.empty()) break;
        ready.sketches[s] = loss_sketch<T>(law);
        ready.laws[s] = std::move(law);
        break;
      }
    }
  }

  std::vector<counted_pair> pairs_;
  std::unordered_multimap<std::uint64_t, std::size_t> places_;  // by key
};

}  // namespace detail

/// Accounting on a grid of privacy losses. The losses of every pair are put on a grid twice, once as
/// a pair that is above it (connect-the-dots: Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022), once
/// as one that is below; both are composed by FFT after multiplying by e^{θ·loss}, θ near the saddle point
/// of the question, so that relative accuracy does not depend on how small δ is. Grid, truncation,
/// wrap-around and rounding are bounded and go to the safe side: the interval tells how good it is.
///
/// Losses that all lie on one lattice (randomised response, pure, discrete Laplace, unsampled discrete
/// Gaussian) are composed on it, without grid error.
///
/// Guarantee: bounds of the dominating pair's ε and δ; `domination::attained` says when the lower one
/// is one of the mechanism's. Width about the relative `width` asked for where 2^22 points allow it;
/// a few ulp times the number of releases on a lattice. Where a profile is not convex, lower = 0.
template <std::same_as<double> T = double>
class basic_discretised {
 public:
  static constexpr std::string_view name = "discretised";
  static constexpr T default_width = 1e-4;

  /// `width`: the relative width to aim at, of ε or of δ, whichever is asked for.
  /// @throws std::domain_error unless width is in [1e-9, 1]
  explicit basic_discretised(adjacency neighbours, T width = default_width)
      : neighbours_(neighbours), width_(width) {
    detail::require_domain(width >= 1e-9 && width <= 1.0, "discretised", "width", width,
                           "in [1e-9, 1]");
  }

  /// @throws std::invalid_argument, with the reason, for a release without a dominating pair
  void add(event const& release, std::uint64_t count) {
    add(dominate(release, neighbours_), count);
  }

  /// Any dominating pairs, for a mechanism that is no `event`.
  void add(domination const& pairs, std::uint64_t count);

  [[nodiscard]] bound<T> epsilon(T delta) const {
    detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
    return worse({true, delta});
  }

  [[nodiscard]] bound<T> delta(T epsilon) const {
    detail::check_non_negative("delta", "epsilon", epsilon);
    return worse({false, epsilon});
  }

 private:
  struct composition {
    detail::composed_losses<T> remove;
    detail::composed_losses<T> add;
    bool symmetric = true;
  };

  [[nodiscard]] std::vector<detail::composed_losses<T> const*> directions() const {
    if (composed_.symmetric) return {&composed_.remove};
    return {&composed_.remove, &composed_.add};
  }

  [[nodiscard]] bound<T> worse(detail::loss_query<T> query) const;

  adjacency neighbours_;
  T width_;
  composition composed_;
  std::uint64_t releases_ = 0;
};

template <std::same_as<double> T>
void basic_discretised<T>::add(domination const& pairs, std::uint64_t count) {
  if (count == 0) return;
  detail::require_domain(releases_ <= std::numeric_limits<std::uint64_t>::max() - count, "compose",
                         "count", count, "small enough for a total of 64 bits");
  composed_.remove.add(pairs.remove, count);
  composed_.add.add(pairs.add, count);
  composed_.symmetric = composed_.symmetric && pairs.symmetric;
  releases_ += count;
}

template <std::same_as<double> T>
bound<T> basic_discretised<T>::worse(detail::loss_query<T> query) const {
  bound<T> out{0.0, 0.0};
  for (detail::composed_losses<T> const* losses : directions()) {
    bound<T> const here = losses->answer(query, width_);
    out = {std::max(out.lower, here.lower), std::max(out.upper, here.upper)};
  }
  return out;
}

using discretised = basic_discretised<double>;
using discretised_accountant = accountant<discretised>;

static_assert(accounting_method<discretised>);

#if defined(TACIT_COMPILED)
extern template class basic_discretised<double>;
#endif

}  // namespace tacit
