// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

/// Pairs of very many losses, by fewer.

namespace tacit::detail {

/// So many losses are kept of one pair of noise on the integers.
inline constexpr std::size_t most_atoms = std::size_t{1} << 17U;

/// A pair of about `most` losses that dominates one of more: of losses that are neighbours, each in [a, b], those between
/// are a or b, with probabilities that keep both masses (Lemma 6 of docs/certificates/integers.md). A symmetric pair stays
/// one.
template <std::same_as<finite_pair> Pair = finite_pair>
[[nodiscard]] Pair condensed(finite_pair pair, std::size_t most) {
  if (pair.atoms.size() <= most) return pair;
  shared_vector<finite_pair::atom> const all = std::exchange(pair.atoms, {});
  std::size_t const group = (all.size() - 1) / std::max<std::size_t>(1, most / 2) + 1;
  std::size_t const middle = all.size() / 2 / group * group;
  std::size_t end = 0;
  for (std::size_t begin = 0; begin < all.size(); begin = end) {
    // The same on either side of the middle.
    end = begin == middle && all.size() > 2 * middle ? all.size() - middle : begin + group;
    finite_pair::atom low{all[begin].loss, 0.0, 0.0};
    finite_pair::atom high{all[end - 1].loss, 0.0, 0.0};
    double const width = -elementary::expm1(low.loss - high.loss);
    for (std::size_t k = begin; k < end; ++k) {
      finite_pair::atom const& at = all[k];
      if (!(width > 0.0)) {
        high.p += at.p;
        high.q += at.q;
        continue;
      }
      // p·e^{−loss} and p are sums of the same over a and b.
      double const from_low = -elementary::expm1(low.loss - at.loss) / width;
      double const to_high = -elementary::expm1(at.loss - high.loss) / width;
      high.p += at.p * from_low;
      low.p += at.p * elementary::exp(low.loss - at.loss) * to_high;
      high.q += at.q * elementary::exp(at.loss - high.loss) * from_low;
      low.q += at.q * to_high;
    }
    if (low.p > 0.0 || low.q > 0.0) pair.atoms.push_back(low);
    if (high.p > 0.0 || high.q > 0.0) pair.atoms.push_back(high);
  }
  pair.mass_error += unit_roundoff * static_cast<double>(2 * group + 16);
  return pair;
}

/// A pair of about `most` losses that is dominated by one of more: losses that are neighbours are one, which is what the
/// pair says without telling them apart. With a ≤ l the losses of a group and q their masses, it is
/// a + log(1 + Σ q(e^{l−a} − 1)/Σ q) (Lemma 8 of docs/certificates/integers.md).
template <std::same_as<finite_pair> Pair>
[[nodiscard]] Pair merged(Pair const& pair, std::size_t most) {
  if (pair.atoms.size() <= most) return pair;
  Pair out = pair;
  out.atoms = {};
  std::size_t const group = (pair.atoms.size() - 1) / std::max<std::size_t>(1, most) + 1;
  double largest = 0.0;
  double kept = 0.0;
  double widest = 0.0;
  for (std::size_t begin = 0; begin < pair.atoms.size(); begin += group) {
    std::size_t const end = std::min(begin + group, pair.atoms.size());
    double const low = pair.atoms[begin].loss;
    double const high = pair.atoms[end - 1].loss;
    finite_pair::atom all{low, 0.0, 0.0};
    double more = 0.0;
    bool exact = high - low < 40.0;
    for (std::size_t k = begin; k < end; ++k) {
      finite_pair::atom const& at = pair.atoms[k];
      all.p += at.p;
      all.q += at.q;
      more += at.q * elementary::expm1(at.loss - low);
      exact = exact && (at.q == 0.0 || at.q >= 1e-300);
    }
    largest = std::max({largest, std::abs(low), std::abs(high)});
    if (!(exact && all.q >= 1e-280 && all.p >= 1e-280)) {
      // Masses may have underflowed, and by more than their error where a large e^{l−low} raises them.
      for (std::size_t k = begin; k < end; ++k) {
        out.atoms.push_back(pair.atoms[k]);
        kept = std::max(kept, std::abs(pair.atoms[k].loss));
      }
      continue;
    }
    all.loss = std::clamp(low + elementary::log1p(more / all.q), low, high);
    kept = std::max(kept, std::abs(all.loss));
    widest = std::max(widest, high - low);
    out.atoms.push_back(all);
  }
  if (!(kept > 0.0)) return pair;
  double const units = static_cast<double>(2 * group + 32) * unit_roundoff;
  out.loss_error = (pair.loss_error * largest + widest * 2.0 * (pair.mass_error + units) +
                    8.0 * unit_roundoff * largest) /
                   kept * (1.0 + 8.0 * unit_roundoff);
  out.mass_error += units;
  return out;
}

}  // namespace tacit::detail
