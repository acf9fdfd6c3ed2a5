// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/grid/law.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// Compositions of few losses, atom by atom: every mass is a sum of products of positive numbers, good to a
/// relative error however small it is. docs/certificates/grid.md, Lemma 11.

namespace tacit::detail {

/// A law of finitely many losses.
template <std::same_as<double> T = double>
struct atom_list {
  std::vector<loss_atom<T>> atoms;  // ascending
  T mass_error = 0.0;               // relative, of every mass
  T underflow = 0.0;                // absolute, of all together
  T loss_error = 0.0;               // absolute
};

template <std::same_as<double> T = double>
class atom_composition {
 public:
  static constexpr std::size_t most_atoms = std::size_t{1} << 16;
  static constexpr std::size_t most_products = std::size_t{1} << 25;  // to one power
  static constexpr T most_left_out = 1e-200;                          // of a law, added to δ

  /// Nothing unless every law has atoms alone, but for next to no mass, and few enough come of it.
  [[nodiscard]] static std::optional<atom_composition> of(std::span<loss_law<T> const> laws) {
    T expected = 1.0;
    T left_out = 0.0;
    for (loss_law<T> const& law : laws) {
      T const missing = add_up(law.above, law.below);
      if (!law.curves.empty() || law.atoms.empty() || !(missing <= most_left_out)) {
        return std::nullopt;
      }
      left_out = add_up(left_out, multiply_up(law.count, missing));
      // At least so many, unless they meet.
      expected *= std::min(law.count * static_cast<T>(law.atoms.size() - 1) + 1.0, 1e6);
    }
    bool const may_meet = common_lattice(laws).has_value();
    if (!(expected <= static_cast<T>(most_atoms)) && !may_meet) return std::nullopt;
    atom_list<T> all{{{0.0, 1.0}}, 0.0, 0.0, 0.0};
    T largest = 0.0;
    for (loss_law<T> const& law : laws) {
      std::optional<atom_list<T>> const one = power(law);
      if (!one || one->atoms.size() * all.atoms.size() > 16 * most_atoms) return std::nullopt;
      all = product(all, *one);
      if (all.atoms.size() > most_atoms) return std::nullopt;
      largest = add_up(largest, multiply_up(law.count, law.largest));
    }
    return atom_composition(std::move(all), largest, left_out);
  }

  /// The finite losses' part of δ(ε), as bounds.
  [[nodiscard]] bound<T> delta(T epsilon) const {
    if (epsilon >= largest_) return {0.0, left_out_};
    return {std::max(0.0, plain(epsilon + loss_error_) * (1.0 - off_) - underflow_),
            add_up(plain(epsilon - loss_error_) * (1.0 + off_) + underflow_, left_out_)};
  }

 private:
  atom_composition(atom_list<T> all, T largest, T left_out)
      : largest_(largest), left_out_(left_out) {
    std::size_t const n = all.atoms.size();
    excess_.resize(n);
    weight_.resize(n);
    T excess = 0.0;
    T weight = 0.0;
    for (std::size_t k = n; k-- > 0;) {
      if (k + 1 < n) {
        T const gap = all.atoms[k + 1].loss - all.atoms[k].loss;
        excess -= weight * elementary::expm1(-gap);
        weight *= elementary::exp(-gap);
      }
      weight += all.atoms[k].p;
      excess_[k] = excess;
      weight_[k] = weight;
    }
    off_ = all.mass_error + unit_roundoff * (16.0 + 8.0 * static_cast<T>(n));
    loss_error_ = all.loss_error;
    underflow_ = all.underflow + static_cast<T>(n) * 8.0 * std::numeric_limits<T>::denorm_min();
    atoms_ = std::move(all.atoms);
  }

  // Σ p·(1 − e^{ε−loss}) over the losses above ε.
  [[nodiscard]] T plain(T epsilon) const {
    auto const next = std::partition_point(
        atoms_.begin(), atoms_.end(), [&](loss_atom<T> const& a) { return !(a.loss > epsilon); });
    if (next == atoms_.end()) return 0.0;
    auto const k = static_cast<std::size_t>(next - atoms_.begin());
    return excess_[k] - weight_[k] * elementary::expm1(epsilon - next->loss);
  }

  // Losses that differ by less than rounding may have made of them are one; the shift is an error.
  static void merge(atom_list<T>& list) {
    sort_by_loss(list.atoms);
    T const size = std::max(std::abs(list.atoms.front().loss), std::abs(list.atoms.back().loss));
    T const tolerance = 16.0 * unit_roundoff * size;
    std::vector<loss_atom<T>> out;
    T most = 0.0;
    T here = 0.0;
    bool merged = false;
    for (loss_atom<T> const& a : list.atoms) {
      if (!out.empty() && a.loss - out.back().loss <= tolerance) {
        out.back().p += a.p;
        merged = merged || a.loss != out.back().loss;
        here += 1.0;
      } else {
        out.push_back(a);
        here = 0.0;
      }
      most = std::max(most, here);
    }
    list.atoms = std::move(out);
    if (merged) list.loss_error += tolerance;
    list.mass_error += unit_roundoff * most;
  }

  [[nodiscard]] static atom_list<T> product(atom_list<T> const& a, atom_list<T> const& b) {
    atom_list<T> out;
    out.atoms.reserve(a.atoms.size() * b.atoms.size());
    T size = 0.0;
    for (loss_atom<T> const& x : a.atoms) {
      for (loss_atom<T> const& y : b.atoms) {
        out.atoms.push_back({x.loss + y.loss, x.p * y.p});
        size = std::max(size, std::abs(out.atoms.back().loss));
      }
    }
    out.mass_error = (a.mass_error + b.mass_error) * (1.0 + 1e-6) + 2.0 * unit_roundoff;
    out.underflow = (a.underflow + b.underflow) * 2.0 +
                    static_cast<T>(out.atoms.size()) * std::numeric_limits<T>::denorm_min();
    out.loss_error = a.loss_error + b.loss_error + unit_roundoff * size;
    if (b.atoms.size() > 1 && a.atoms.size() > 1) merge(out);
    return out;
  }

  // Masses at equal distances, by the definition of their convolution.
  [[nodiscard]] static std::vector<T> convolved(std::vector<T> const& a, std::vector<T> const& b) {
    std::vector<T> out(a.size() + b.size() - 1, 0.0);
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t j = 0; j < b.size(); ++j) out[i + j] += a[i] * b[j];
    }
    return out;
  }

  // Factor by factor, of k atoms that need not meet: at most k·C(n+k−1, k) products, and C(n+k−1, n) atoms.
  [[nodiscard]] static std::optional<atom_list<T>> power_of_few(atom_list<T> const& base, T count) {
    auto const k = static_cast<T>(base.atoms.size());
    T products = k;
    for (T j = 1.0; j <= k; j += 1.0) {
      products *= (count - 1.0 + j) / j;
      if (!(products <= static_cast<T>(16 * most_atoms))) return std::nullopt;
    }
    if (!(products / count <= static_cast<T>(most_atoms))) return std::nullopt;  // what is left
    atom_list<T> out = base;
    for (T done = 1.0; done < count; done += 1.0) out = product(out, base);
    return out;
  }

  [[nodiscard]] static std::optional<atom_list<T>> power(loss_law<T> const& law) {
    atom_list<T> out{law.atoms, law.mass_error, 0.0, law.loss_error};
    sort_by_loss(out.atoms);
    if (law.count == 1.0) return out;
    std::optional<T> const step = common_lattice(std::span<loss_law<T> const>(&law, 1));
    if (!step) return power_of_few(out, law.count);
    T const intervals = std::round((law.high - law.low) / *step);
    T const length = intervals * law.count + 1.0;
    if (!(length <= static_cast<T>(most_atoms) &&
          length * length <= static_cast<T>(most_products))) {
      return std::nullopt;
    }
    std::vector<T> base(static_cast<std::size_t>(intervals) + 1, 0.0);
    for (loss_atom<T> const& a : out.atoms) {
      base[static_cast<std::size_t>(std::round((a.loss - law.low) / *step))] += a.p;
    }
    // Binary powers; each rounds as often as the shorter factor is long.
    std::vector<T> all{1.0};
    T off = law.mass_error;  // of `base`
    T off_all = 0.0;
    for (T left = law.count;;) {
      auto const rounded = [](std::vector<T> const& a, std::vector<T> const& b) {
        return unit_roundoff * static_cast<T>(std::min(a.size(), b.size()) + 1);
      };
      if (std::fmod(left, 2.0) == 1.0) {
        off_all += off + rounded(all, base);
        all = convolved(all, base);
      }
      left = std::floor(left / 2.0);
      if (left == 0.0) break;
      off += off + rounded(base, base);
      base = convolved(base, base);
    }
    T const low = law.count * law.low;
    T const size = law.count * std::max(std::abs(law.low), std::abs(law.high));
    out.atoms.clear();
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (all[k] > 0.0) out.atoms.push_back({low + *step * static_cast<T>(k), all[k]});
    }
    out.mass_error = off_all * (1.0 + 1e-6);
    out.underflow = 4.0 * law.count * length * length * std::numeric_limits<T>::denorm_min();
    out.loss_error = law.count * law.loss_error + 40.0 * unit_roundoff * size;
    return out;
  }

  std::vector<loss_atom<T>> atoms_;
  // Over the atoms from k up, d from atom k: Σp·(1−e^{−d}) and Σp·e^{−d}.
  std::vector<T> excess_;
  std::vector<T> weight_;
  T largest_ = 0.0;
  T left_out_ = 0.0;
  T off_ = 0.0;
  T underflow_ = 0.0;
  T loss_error_ = 0.0;
};

}  // namespace tacit::detail
