// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/solve.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <type_traits>
#include <vector>

namespace tacit {

namespace detail {

/// What a working precision asks of a quadrature: terms below e^−range of the sum are dropped.
template <real T>
inline constexpr double quadrature_range =
    std::numeric_limits<T>::digits * 0.6931471805599453 + 3.0;

}  // namespace detail

/// Σ_k weight[k]·f(node[k]) ≈ ∫ f(x) e^{−x²} dx, exact for polynomials of degree ≤ 2n−1.
/// (The physicists' weight. An expectation over N(μ, σ²) is Σ weight·f(μ + √2 σ node)/√π.)
template <real T>
struct gauss_hermite_rule {
  std::vector<T> node;  // ascending
  std::vector<T> weight;
};

/// Gauss–Hermite nodes and weights of any order n ≥ 1.
///
/// Nodes are the eigenvalues of the Jacobi matrix with off-diagonal √(k/2) (Golub & Welsch 1969),
/// isolated by Sturm counts and polished by Newton's method on the orthonormal Hermite recurrence,
/// which is rescaled on the way so that no order overflows. Weights that underflow are 0.
/// Guarantee: nearest; a few ulp a node, relative error of a weight about n·u. O(n²).
/// @throws std::invalid_argument for order 0
template <real T = double>
[[nodiscard]] gauss_hermite_rule<T> gauss_hermite(std::size_t order) {
  using std::abs, elementary::exp, elementary::log, std::sqrt;
  detail::require_argument(order >= 1, "gauss_hermite", "order", order, "at least 1");

  // How many nodes lie below x: the negative pivots of (J − xI).
  auto const nodes_below = [order](double x) {
    std::size_t count = 0;
    double pivot = -x;
    for (std::size_t k = 1;; ++k) {
      if (pivot < 0.0) ++count;
      if (k == order) return count;
      double const safe = std::abs(pivot) < 1e-300 ? 1e-300 : pivot;
      pivot = -x - 0.5 * static_cast<double>(k) / safe;
    }
  };

  // h_n and h_{n−1}, orthonormal, divided by e^{log_scale}.
  struct values {
    T last;
    T before;
    T log_scale;
  };
  T const limit = T(std::numeric_limits<T>::max_exponent10 > 200 ? 1e100 : 1e12);
  auto const hermite = [order, &limit](T const& x) {
    using std::abs, elementary::log, std::sqrt;
    T before(0);
    T last(1);
    T log_scale(0);
    for (std::size_t k = 0; k < order; ++k) {
      T const j = T(static_cast<double>(k));
      T const next = x * sqrt(2 / (j + 1)) * last - sqrt(j / (j + 1)) * before;
      before = last;
      last = next;
      T const size = abs(last);
      if (size > limit) {
        last /= size;
        before /= size;
        log_scale += log(size);
      }
    }
    return values{last, before, log_scale};
  };

  T const n = T(static_cast<double>(order));
  double const edge = std::sqrt(2.0 * static_cast<double>(order) + 1.0) + 1.0;
  T const root_pi = detail::constants::root_pi<T>();

  gauss_hermite_rule<T> rule{std::vector<T>(order), std::vector<T>(order)};
  for (std::size_t k = order / 2; k < order; ++k) {
    auto const wide = [&](double low, double high) { return high - low > 1e-9 * edge; };
    auto const left = [&](double x) { return nodes_below(x) <= k; };
    bool const centre = order % 2 == 1 && k == order / 2;
    T x = centre ? T(0) : T(detail::bisect<double>({-0.5, edge}, wide, left).middle());
    values v = hermite(x);
    for (int step = 0; !centre && step < 8; ++step) {
      // h_n' = √(2n)·h_{n−1}
      T const move = v.last / (sqrt(2 * n) * v.before);
      x -= move;
      v = hermite(x);
      if (!(abs(move) > std::numeric_limits<T>::epsilon() * x)) break;
    }
    // w = √π / (n·h_{n−1}²) for h_0 = 1
    T const log_weight = log(root_pi / n) - 2 * (log(abs(v.before)) + v.log_scale);
    T const weight = v.log_scale == 0 ? root_pi / (n * (v.before * v.before)) : exp(log_weight);
    rule.node[k] = x;
    rule.node[order - 1 - k] = -x;
    rule.weight[k] = weight;
    rule.weight[order - 1 - k] = weight;
  }
  return rule;
}

namespace detail {

/// A node in (0, 1) of a Gauss–Legendre rule on [−1, 1], and its weight: −node has the same.
template <real T>
struct legendre_node {
  T node;
  T weight;
};

/// The positive half of the Gauss–Legendre rule that serves a working precision, ascending: 20 nodes
/// for the built-in types (a table: the same bits everywhere), 60 for others.
template <real T>
[[nodiscard]] std::vector<legendre_node<T>> const& gauss_legendre() {
  static std::vector<legendre_node<T>> const rule = [] {
    std::vector<legendre_node<T>> half;
    if constexpr (std::is_floating_point_v<T>) {
      // clang-format off
      constexpr legendre_node<long double> table[] = {
      {7.65265211334973337546404093988382110e-02L, 1.52753387130725850698084331955097593e-01L},
      {2.27785851141645078080496195368574625e-01L, 1.49172986472603746787828737001969437e-01L},
      {3.73706088715419560672548177024927237e-01L, 1.42096109318382051329298325067164933e-01L},
      {5.10867001950827098004364050955250998e-01L, 1.31688638449176626898494499748163135e-01L},
      {6.36053680726515025452836696226285937e-01L, 1.18194531961518417312377377711382287e-01L},
      {7.46331906460150792614305070355641590e-01L, 1.01930119817240435036750135480349876e-01L},
      {8.39116971822218823394529061701520685e-01L, 8.32767415767047487247581432220462061e-02L},
      {9.12234428251325905867752441203298113e-01L, 6.26720483341090635695065351870416064e-02L},
      {9.63971927277913791267666131197277222e-01L, 4.06014298003869413310399522749321099e-02L},
      {9.93128599185094924786122388471320278e-01L, 1.76140071391521183118619623518528164e-02L},
      };
      // clang-format on
      for (auto const& [node, weight] : table) {
        half.push_back({static_cast<T>(node), static_cast<T>(weight)});
      }
    } else {
      constexpr int order = 60;
      for (int k = order / 2; k >= 1; --k) {
        T x = T(elementary::cos(std::numbers::pi * (k - 0.25) / (order + 0.5)));
        T slope = 0;
        for (int step = 0; step < 12; ++step) {  // Newton's method on P_60
          T before = 1;
          T last = x;
          for (int n = 1; n < order; ++n) {
            T const next = ((2 * n + 1) * x * last - n * before) / (n + 1);
            before = last;
            last = next;
          }
          slope = order * (before - x * last) / ((1 - x) * (1 + x));
          T const move = last / slope;
          x = x - move;
          if (!(move * move >
                std::numeric_limits<T>::epsilon() * std::numeric_limits<T>::epsilon()))
            break;
        }
        half.push_back({x, 2 / ((1 - x) * (1 + x) * slope * slope)});
      }
    }
    return half;
  }();
  return rule;
}

}  // namespace detail

/// The trapezoid rule on the grid low, low + step, … ≤ high: step·Σ f, without end corrections.
/// For f analytic in |Im x| < d and small at both ends the error is about
/// ∫|f(x ± id)|dx / (e^{2πd/step} − 1): exponentially small (Trefethen & Weideman 2014, Theorem 5.1).
/// `f` may return any type with += and multiplication by T.
template <real T, class Function>
[[nodiscard]] auto trapezoid(Function&& f, T const& low, T const& high, T const& step) {
  auto sum = f(low);
  for (std::size_t k = 1;; ++k) {
    T const x = low + step * T(static_cast<double>(k));
    if (!(x <= high)) break;
    sum += f(x);
  }
  sum *= step;
  return sum;
}

}  // namespace tacit
