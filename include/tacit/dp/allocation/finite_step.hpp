// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/allocation/lattice.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// The likelihood ratio of one step whose losses are finitely many, on a lattice: once above it and once below it in convex
/// order. docs/certificates/allocation.md, Lemma 25.

namespace tacit::detail::epochs {

/// U = e^L under the law without the record, L the losses of one pair from above and of one from below.
template <std::same_as<double> T = double>
class finite_step {
 public:
  /// @param above, below  at most one step's and at least one step's; either has a loss
  finite_step(finite_pair const& above, finite_pair const& below)
      : above_(above, true), below_(below, false) {}

  /// Of one step, but for so much of δ. An estimate.
  [[nodiscard]] T largest_loss(side way, T delta) const {
    auto const more = [&](T loss) { return above_.profile(way, loss) > delta; };
    T least = 0.0;
    T most = 700.0;
    while (most - least > 1e-9 * most) {
      T const middle = 0.5 * (least + most);
      (more(middle) ? least : most) = middle;
    }
    return most;
  }
  [[nodiscard]] static T highest_loss() { return 20.0; }
  [[nodiscard]] ratio_range<T> range() const {
    T const off = 2.0 * above_.location_error;
    return {above_.first() * (1.0 - off), above_.last() * (1.0 + off)};
  }
  /// Beyond this an excess is next to nothing beside δ.
  [[nodiscard]] T farthest(T delta) const {
    T beyond = 0.0;
    std::size_t k = above_.outcomes.size();
    while (k > 1) {
      beyond += above_.with_record[k - 1];
      if (beyond > 1e-13 * std::min(0.1, delta)) break;
      --k;
    }
    return above_.outcomes[k - 1].value * (1.0 + 0x1p-20);
  }

  [[nodiscard]] std::vector<outcome<T>> sketch(T top) const {
    constexpr std::size_t some = 600;
    std::vector<outcome<T>> const& all = above_.outcomes;
    std::size_t const group = (all.size() - 1) / some + 1;
    std::vector<outcome<T>> out;
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (k % group == 0) out.push_back({0.0, 0.0});
      outcome<T>& mean = out.back();
      mean.mass += all[k].mass;
      if (mean.mass > 0.0) {
        mean.value += (std::min(all[k].value, top) - mean.value) * (all[k].mass / mean.mass);
      }
    }
    return out;
  }

  /// What the record alone can produce.
  [[nodiscard]] enclosure alone() const {
    return {below_.infinite * (1.0 - 2.0 * below_.mass_error),
            above_.infinite * (1.0 + 2.0 * above_.mass_error)};
  }

  /// E(U − u)₊, of either pair, and E(u − U)₊.
  [[nodiscard]] enclosure excess(T u) const {
    return {below_.excess(u).lower, above_.excess(u).upper};
  }
  [[nodiscard]] enclosure shortfall(T u) const {
    return {below_.shortfall(u).lower, above_.shortfall(u).upper};
  }

  /// min(U, about top), above it.
  [[nodiscard]] lattice_law<T> above(T step, T top) const {
    T const origin = above_.first();
    auto const [fitted, nodes] = fit(origin, std::min(top, above_.last()), step);
    auto const [cells, most_terms] = above_.cells(origin, fitted, nodes, 0);
    return {origin,
            fitted,
            spread(cells),
            above_.mass_error + unit_roundoff * most_terms,
            above_.location_error,
            {}};
  }

  /// min(U, about top), below it. Nothing where the lattice is too coarse for it.
  /// `allowed()` says before each attempt whether there may be one.
  template <class Allowed>
  [[nodiscard]] std::optional<lattice_law<T>> below(T step, T top, Allowed&& allowed) const {
    // What is least is merged to its mean, which is node 0, and what is largest counts as the last node. There has to be
    // enough of either to make the polygon convex.
    T merged = below_.outcomes.front().mass;
    T most = std::min(top, below_.last());
    T less = step;
    for (int attempt = 0; attempt < 16 && allowed(); ++attempt) {
      bool enough_above = true;
      if (std::optional<lattice_law<T>> law = from(step, most, merged, enough_above)) return law;
      if (enough_above) {
        merged = std::max(8.0 * merged, 1e-13);
      } else {
        most -= less;
        less *= 2.0;
      }
    }
    return std::nullopt;
  }

 private:
  // A pair's outcomes, values ascending.
  struct ratio_law {
    std::vector<outcome<T>> outcomes;
    std::vector<T> with_record;  // their masses
    // Masses from each outcome on, without the record and with it, and before it.
    std::vector<T> above, with_above, below, with_below;
    T infinite;  // what the record alone can produce
    T location_error;
    T mass_error;

    // What is left out of a pair has any loss: from above the worst one, from below none.
    ratio_law(finite_pair const& pair, bool from_above) {
      T const left_out = from_above ? pair.left_out : 0.0;
      T largest = 0.0;
      if (pair.excluded + left_out > 0.0) put(0.0, pair.excluded + left_out, 0.0);
      for (finite_pair::atom const& a : pair.atoms) {
        if (!(a.p > 0.0 || a.q > 0.0)) continue;
        put(elementary::exp(a.loss), a.q, a.p);
        largest = std::max(largest, std::abs(a.loss));
      }
      infinite = pair.infinite + left_out;
      location_error = 4.0 * (pair.loss_error * largest) + 16.0 * unit_roundoff;
      mass_error = pair.mass_error + 16.0 * unit_roundoff;
      std::size_t const n = outcomes.size();
      for (std::vector<T>* sums : {&above, &with_above, &below, &with_below}) sums->resize(n + 1);
      for (std::size_t k = 0; k < n; ++k) {
        below[k + 1] = below[k] + outcomes[k].mass;
        with_below[k + 1] = with_below[k] + with_record[k];
      }
      for (std::size_t k = n; k-- > 0;) {
        above[k] = above[k + 1] + outcomes[k].mass;
        with_above[k] = with_above[k + 1] + with_record[k];
      }
    }

    void put(T value, T mass, T mass_with_record) {
      outcomes.push_back({value, mass});
      with_record.push_back(mass_with_record);
    }

    [[nodiscard]] T first() const { return outcomes.front().value; }
    [[nodiscard]] T last() const { return outcomes.back().value; }

    // δ of one step, roughly.
    [[nodiscard]] T profile(side way, T loss) const {
      T const factor = elementary::exp(loss);
      T sum = 0.0;
      for (std::size_t k = 0; k < outcomes.size(); ++k) {
        T const with = with_record[k];
        T const without = outcomes[k].mass;
        sum += std::max(0.0, way == side::call ? with - factor * without : without - factor * with);
      }
      return sum;
    }

    // E(U − u)₊ and E(u − U)₊.
    [[nodiscard]] enclosure excess(T u) const {
      std::size_t const k = beyond(u);
      return between(with_above[k], above[k] * u, u);
    }
    [[nodiscard]] enclosure shortfall(T u) const {
      std::size_t const k = beyond(u);
      return between(below[k] * u, with_below[k], u);
    }

    [[nodiscard]] std::size_t beyond(T u) const {
      auto const at = std::upper_bound(outcomes.begin(), outcomes.end(), u,
                                       [](T x, outcome<T> const& o) { return x < o.value; });
      return static_cast<std::size_t>(at - outcomes.begin());
    }
    // Their difference, where both are off. Values near u may be on its other side: they are off by no more than the others.
    [[nodiscard]] enclosure between(T more, T less, T u) const {
      T near_it = 0.0;
      std::size_t const end = beyond(u * (1.0 + 4.0 * location_error));
      for (std::size_t k = beyond(u * (1.0 - 4.0 * location_error)); k < end; ++k) {
        near_it += outcomes[k].mass * u;
      }
      T const each =
          location_error + mass_error + unit_roundoff * (static_cast<T>(outcomes.size()) + 8.0);
      T const off = each * (more + less + 2.0 * near_it) * 1.01 + 1e-300;
      return {std::max(0.0, more - less - off), std::max(0.0, more - less) + off};
    }

    struct filled_cells {
      std::vector<lattice_cell<T>> cells;
      T most_terms = 0.0;  // of a cell's sums
    };
    // From outcome `first` on, between so many nodes; what is beyond the last one is on it.
    [[nodiscard]] filled_cells cells(T origin, T step, std::size_t nodes, std::size_t first) const {
      filled_cells filled{std::vector<lattice_cell<T>>(nodes), 0.0};
      std::vector<lattice_cell<T>>& out = filled.cells;
      T const end = static_cast<T>(nodes - 1);
      T node = 0.0;
      T terms = 0.0;
      for (std::size_t k = first; k < outcomes.size(); ++k) {
        auto const [value, mass] = outcomes[k];
        T const place = std::max(0.0, (value - origin) / step);
        T const here = std::min(std::floor(place), end);
        terms = here == node ? terms + 1.0 : 1.0;  // values ascend
        filled.most_terms = std::max(filled.most_terms, terms);
        node = here;
        if (node == end) {
          out.back().at += mass;
          continue;
        }
        T const v = place - node;
        lattice_cell<T>& cell = out[static_cast<std::size_t>(node)];
        cell.low += mass * (1.0 - v);
        cell.high += mass * v;
      }
      for (lattice_cell<T>& cell : out) {
        T const mass = cell.low + cell.high;
        // By Jensen.
        if (mass > 0.0) cell.gap = cell.low * (cell.high / mass) * (1.0 + 1e-12);
      }
      return filled;
    }
  };

  // Nodes about so far apart, the last of them on `last`.
  struct fitted_nodes {
    T step;
    std::size_t count;
  };
  [[nodiscard]] static fitted_nodes fit(T first, T last, T step) {
    T const cells = std::max(4.0, std::ceil((last - first) / step));
    return {(last - first) / cells, static_cast<std::size_t>(cells) + 1};
  }

  // Of outcomes that have at least so much together their mean is the first node.
  [[nodiscard]] std::optional<lattice_law<T>> from(T step, T most, T merged,
                                                   bool& enough_above) const {
    T mass = 0.0;
    T mean = 0.0;
    std::size_t first = 0;
    for (; first < below_.outcomes.size() && !(mass > 0.0 && mass >= merged); ++first) {
      outcome<T> const& o = below_.outcomes[first];
      mass += o.mass;
      if (mass > 0.0) mean += (o.value - mean) * (o.mass / mass);
    }
    if (!(mass > 0.0) || !(most > mean)) return std::nullopt;
    auto const [fitted, nodes] = fit(mean, most, step);
    auto [cells, most_terms] = below_.cells(mean, fitted, nodes, first);
    cells[0].at = mass;
    lattice_cell<T> const& last = cells[nodes - 2];
    enough_above =
        cells.back().at + last.high >= std::max({last.high, last.gap, cells[nodes - 3].gap});
    if (!enough_above) return std::nullopt;
    T missing = 0.0;
    std::vector<T> wear;
    std::vector<T> masses = contract<T>(cells, 1.0, missing, wear);
    if (missing > 0.0) return std::nullopt;
    T const count = static_cast<T>(first);
    return lattice_law<T>{mean,
                          fitted,
                          std::move(masses),
                          below_.mass_error + (count + most_terms) * unit_roundoff,
                          below_.location_error + (count + 4.0) * 4.0 * unit_roundoff,
                          std::move(wear)};
  }

  ratio_law above_;
  ratio_law below_;
};

}  // namespace tacit::detail::epochs
