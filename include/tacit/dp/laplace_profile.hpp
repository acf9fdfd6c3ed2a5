// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/enclosure.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/mixture_profile.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <vector>

/// Several releases of Laplace noise of one scale, exactly: the profile of their sum in closed form.
///
/// Let a be the largest loss of one release. Its loss L has atoms of ½ at a and of ½e^{−a} at −a, and between them the density
/// ¼e^{(L−a)/2}. Divided by e^{(L−a)/2} that is H(z) = ½δ_0 + ½δ_1 + (a/2)·U(0, 1) in z = (L/a + 1)/2, and so, of n releases,
///   δ(ε) = 2e^{−a(n−t)} ∫_{z>t} sinh(a(z − t)) Hⁿ(dz),   t = (ε/a + n)/2.
/// Let S_m be a sum of m uniform numbers. Hⁿ is a sum of binomial weights over j + S_m, and the powers in the series of sinh,
///   g_r(m, t) = a^r·E[(S_m − t)₊^r]/r!,   g_r(m, t) = (a(m − t)·g_{r−1}(m, t) + m·g_r(m − 1, t))/(m + r),
/// follow from each other, and from the B-spline of S_m. Everything is a sum of positive terms: nothing cancels.
/// Lemmas 1 to 4 of docs/certificates/laplace.md.

namespace tacit::detail {

template <std::same_as<double> T = double>
class laplace_profile {
 public:
  /// Of `releases` releases whose largest loss is `most` each.
  laplace_profile(T most, T releases)
      : most_(most), count_(static_cast<int>(releases)), releases_(releases) {}

  /// Where underflow is far below what is asked.
  [[nodiscard]] static bool serves(T most, T releases) {
    return releases <= 512.0 && most * releases <= 300.0;
  }

  /// What `epsilon` takes, in nanoseconds.
  [[nodiscard]] T work() const {
    return 10.0 * releases_ * releases_ *
           (30.0 + static_cast<T>(powers_for(0.5 * most_ * releases_)));
  }

  /// δ(ε) for ε ≥ 0.
  /// Guarantee: lower ≤ δ(ε) ≤ upper, about 1e-12 relative apart where δ ≥ 1e-100, and what the last digits of ε/a + n change.
  [[nodiscard]] bound<T> delta(T epsilon) const {
    enclosure const t = 0.5 * (enclosure(epsilon) / most_ + releases_);
    T const upper = at(t.lower).upper;
    return {std::min(at(t.upper).lower, upper), upper};
  }

  /// The ε ≥ 0 with δ(ε) = delta; 0 where δ(0) is no more than that.
  /// Guarantee: lower ≤ ε ≤ upper, about 1e-12·na apart, and what 1e-12 of δ change; na and 0 below δ = 1e-100.
  [[nodiscard]] bound<T> epsilon(T delta) const {
    if (!(delta >= 1e-100)) return {0.0, multiply_up(most_, releases_)};
    bound<T> const t = inverse_profile(
        delta, [this](T x) { return at(x); }, 0.5 * releases_);
    auto const loss = [this](T x) {
      return most_ * (enclosure(2.0) * std::min(x, releases_) - releases_);
    };
    return {std::max(0.0, loss(t.lower).lower), loss(t.upper).upper};
  }

 private:
  // Lemma 4: what is lost where a number underflows, at most.
  static constexpr T underflow = 1e-115;

  /// δ at t, for t ≥ n/2 or hardly less.
  [[nodiscard]] bound<T> at(T t) const {
    if (!(t < releases_)) return {0.0, 0.0};
    auto const [cut, of_cut] = of_cut_sums(t);
    enclosure const sum = cut * of_cut + whole_sums(t) * roundings(3 * count_);
    enclosure const found = 2.0 * exp(-most_ * (enclosure(releases_) - t)) * sum;
    return {std::max(subtract_down(found.lower, underflow), 0.0),
            std::min(add_up(found.upper, underflow), 1.0)};
  }

  /// By what factor a number may be wrong after k roundings of positive ones.
  [[nodiscard]] static enclosure roundings(int k) {
    return {1.0 - (k + 2) * 0x1p-53, 1.0 + (k + 2) * 0x1p-53};
  }

  /// n!/(j!·(n−j)!)/2ⁿ for each j: the weights of j + S_0.
  [[nodiscard]] std::vector<T> weights_of_none() const {
    std::vector<T> out(static_cast<std::size_t>(count_) + 1, std::ldexp(1.0, -count_));
    for (int j = 1; j <= count_; ++j) {
      out[index(j)] = out[index(j - 1)] * static_cast<T>(count_ - j + 1) / static_cast<T>(j);
    }
    return out;
  }
  /// From the weights of j + S_{m−1} those of j + S_m.
  void next_weights(std::vector<T>& weights, int m) const {
    T const each = most_ / static_cast<T>(m);
    for (int j = 0; j <= count_ - m; ++j) {
      weights[index(j)] *= each * static_cast<T>(count_ - m + 1 - j);
    }
  }

  struct cut_sums {
    T nearly;
    enclosure error;  // as a factor
  };

  /// The terms of all j < t: those whose j + S_m may lie on both sides of t, or wholly below.
  [[nodiscard]] cut_sums of_cut_sums(T t) const {
    int const whole =
        static_cast<int>(t);  // its fraction, and t − j for each j below it, are exact
    T const fraction = t - static_cast<T>(whole);
    int const last = fraction > 0.0 ? whole : whole - 1;
    int const powers = powers_for(most_ * (releases_ - t));
    auto const width = index(count_ + 1);
    std::vector<T> weights = weights_of_none();
    std::vector<T> spline(width, 0.0);
    spline[0] = 1.0;
    std::vector<T> g(index(powers + 1) * width, 0.0);  // rows of r, columns of j
    std::vector<T> sinh(width, 0.0);
    T sum = 0.0;
    for (int m = 1; m <= count_; ++m) {
      next_weights(weights, m);
      if (m > 1) next_spline(spline, fraction, m, std::min(m - 1, whole));
      T const terms = static_cast<T>(m);
      int const first = std::max(0, whole - m + 1);
      int const end = std::min(last, count_ - m);
      for (int j = first; j <= end; ++j) {
        T const above = terms - (t - static_cast<T>(j));
        T& none = g[index(j)];
        none = (above * spline[index(whole - j)] + terms * none) / terms;
        sinh[index(j)] = 0.0;
      }
      for (int r = 1; r <= powers; ++r) {
        T const* const lower = &g[index(r - 1) * width];
        T* const row = &g[index(r) * width];
        T const share = 1.0 / static_cast<T>(m + r);
        T const odd = r % 2 == 1 ? 1.0 : 0.0;
        for (int j = first; j <= end; ++j) {
          T const above = terms - (t - static_cast<T>(j));
          row[j] = (most_ * above * lower[j] + terms * row[j]) * share;
          sinh[index(j)] += odd * row[j];
        }
      }
      T of_m = 0.0;
      for (int j = first; j <= end; ++j) of_m += weights[index(j)] * sinh[index(j)];
      sum += of_m;
    }
    return {sum, roundings(17 * count_ + 7 * powers + 10) + enclosure(0.0, 0x1p-58)};
  }

  /// The density of S_m at fraction + k for each k up to `last`, from that of S_{m−1}.
  static void next_spline(std::vector<T>& spline, T fraction, int m, int last) {
    T const most = static_cast<T>(m);
    for (int k = last; k >= 0; --k) {
      T const x = fraction + static_cast<T>(k);
      T const before = k > 0 ? spline[index(k - 1)] : 0.0;
      spline[index(k)] = (x * spline[index(k)] + (most - x) * before) / (most - 1.0);
    }
  }

  /// An odd r beyond which the series of sinh is below 2^−58 of its first term, for arguments up to x.
  [[nodiscard]] static int powers_for(T x) {
    int r = 1;
    for (T term = 1.0; term > 0x1p-60 || 4.0 * x * x > static_cast<T>((r + 1) * (r + 2)); r += 2) {
      term *= x * x / static_cast<T>((r + 1) * (r + 2));
    }
    return r;
  }

  /// The terms of all j ≥ t, in which E[sinh(a(j − t + S_m))] = ½e^{−a(j−t)}·φᵐ·(e^{a(2(j−t)+m)} − 1), φ = (1 − e^{−a})/a.
  [[nodiscard]] enclosure whole_sums(T t) const {
    int const first = static_cast<int>(std::ceil(t));
    enclosure const phi = -expm1(-most_) / most_;
    std::vector<T> weights = weights_of_none();
    std::vector<enclosure> shrunk;
    for (int j = first; j <= count_; ++j) {
      shrunk.push_back(0.5 * exp(-most_ * (enclosure(static_cast<T>(j)) - t)));
    }
    enclosure sum = 0.0;
    for (int m = 0; m <= count_ - first; ++m) {
      if (m > 0) next_weights(weights, m);
      for (int j = first; j <= count_ - m; ++j) {
        enclosure& e = shrunk[index(j - first)];
        enclosure const twice = 2.0 * (enclosure(static_cast<T>(j)) - t) + static_cast<T>(m);
        sum += weights[index(j)] * e * expm1(most_ * twice);
        e *= phi;
      }
    }
    return sum;
  }

  [[nodiscard]] static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  T most_;
  int count_;
  T releases_;
};

}  // namespace tacit::detail
