// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gap/sort.hpp>
#include <tacit/pac/gap/surrogate.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

namespace tacit {
namespace detail {

/// Φ(b) − Φ(a), to 4e-15 absolutely: two erfc of at most 2, each right to 18 units.
[[nodiscard]] inline double normal_mass(double a, double b) noexcept {
  double const x = a / std::numbers::sqrt2;
  double const y = b / std::numbers::sqrt2;
  // From the nearer tail, so that far cells keep their relative accuracy.
  return a > 0.0 ? 0.5 * (elementary::erfc(x) - elementary::erfc(y))
                 : 0.5 * (elementary::erfc(-y) - elementary::erfc(-x));
}

}  // namespace detail

/// A function of one number, constant between its edges, whose E e^f under N(0, 1) is a finite sum.
class step_function {
 public:
  /// f = value[k] on (edge[k−1], edge[k]).
  /// @throws std::invalid_argument unless there is one value more than edges; std::domain_error unless
  ///         all is finite and the edges ascend
  step_function(std::vector<double> edges, std::vector<double> values)
      : edges_(std::move(edges)), values_(std::move(values)) {
    detail::check_size("step_function", "number of values", values_.size(), edges_.size() + 1);
    for (std::size_t k = 0; k < edges_.size(); ++k) {
      detail::check_finite("step_function", "edge", edges_[k]);
      if (k > 0) {
        detail::require_domain(edges_[k] > edges_[k - 1], "step_function", "edge", edges_[k],
                               "above the edge before it");
      }
    }
    for (double const v : values_) detail::check_finite("step_function", "value", v);
    auto const [least, most] = std::minmax_element(values_.begin(), values_.end());
    least_ = *least;
    most_ = *most;
    double sum = 0.0;
    double constexpr infinity = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < values_.size(); ++k) {
      double const mass = detail::normal_mass(k == 0 ? -infinity : edges_[k - 1],
                                              k == edges_.size() ? infinity : edges_[k]);
      sum += elementary::exp(values_[k] - most_) * (std::max(mass, 0.0) + 4e-15);
    }
    // The exponential's argument is right to |f|u, everything else to a few u a term.
    double const terms = static_cast<double>(values_.size());
    log_normaliser_ =
        most_ + elementary::log(sum) + (terms + 4.0 + std::abs(most_) + std::abs(least_)) * 4.5e-16;
  }

  [[nodiscard]] double least() const noexcept { return least_; }
  [[nodiscard]] double most() const noexcept { return most_; }

  /// log E e^f under N(0, 1).
  /// Guarantee: upper bound.
  [[nodiscard]] double log_normaliser() const noexcept { return log_normaliser_; }

  /// The least of f within `reach` of t.
  /// Guarantee: a lower bound of f wherever in there t truly lies.
  [[nodiscard]] double least_near(double t, double reach) const noexcept {
    auto k = static_cast<std::size_t>(std::lower_bound(edges_.begin(), edges_.end(), t - reach) -
                                      edges_.begin());
    double value = values_[k];
    for (; k < edges_.size() && edges_[k] <= t + reach; ++k) {
      value = std::min(value, values_[k + 1]);
    }
    return value;
  }

 private:
  std::vector<double> edges_;
  std::vector<double> values_;
  double least_;
  double most_;
  double log_normaliser_;
};

/// f(t) = Σ_i f_i(t_i): Donsker and Varadhan's inequality, one coordinate at a time. The coordinates of t
/// are independent under Q, so that
///   KL(P‖Q) ≥ E_P f − log E_Q e^f = E_P Σ f_i − Σ_i log E e^{f_i(N(0,1))},
/// where nothing about Q is sampled. The best f_i are log dP_i/dQ_i, and then the right side is
/// Σ KL(P_i‖N(0,1)). No limit of Donsker–Varadhan bounds by sampling (log of the number of draws)
/// applies: E_Q e^f is known.
template <dense_scalar T = double>
class basic_product_critic {
 public:
  /// @throws std::invalid_argument for no coordinate
  explicit basic_product_critic(std::vector<step_function> coordinates)
      : coordinates_(std::move(coordinates)) {
    detail::require_argument(!coordinates_.empty(), "product_critic", "number of coordinates",
                             coordinates_.size(), "positive");
  }

  /// Log histograms against the normal, cells of equal counts, each value taken over the cell and some
  /// neighbours. How many of both: whatever does best for the coordinate on the last third when fitted
  /// on the first two, or a single cell, which is f = 0.
  /// @param whitened the training rows in the surrogate's coordinates, in no particular order
  /// @throws std::invalid_argument for fewer than 24 rows
  [[nodiscard]] static basic_product_critic fit(matrix_of<T> const& whitened) {
    Eigen::Index const n = whitened.rows();
    detail::require_argument(n >= 24, "product_critic", "number of rows", n, "at least 24");
    Eigen::Index const first = n - n / 3;
    std::vector<step_function> chosen;
    std::vector<double> head;
    std::vector<double> all;
    detail::column_sorter<T> sort;
    for (Eigen::Index i = 0; i < whitened.cols(); ++i) {
      auto const column = whitened.col(i);
      head.assign(column.data(), column.data() + first);
      all.assign(column.data(), column.data() + n);
      sort(head);
      sort(all);
      std::size_t cells = 1;
      std::size_t neighbours = 0;
      double best = 0.0;
      for (std::size_t fine = 4; fine <= 256 && 6 * fine <= head.size(); fine *= 2) {
        for (std::size_t const wide : {0U, 1U, 3U, 6U}) {
          step_function const trial = log_histogram(head, fine, wide);
          double score = 0.0;
          for (Eigen::Index k = first; k < n; ++k) score += trial.least_near(column(k), 0.0);
          score = score / static_cast<double>(n - first) - trial.log_normaliser();
          if (score > best) {
            best = score;
            cells = fine;
            neighbours = wide;
          }
        }
      }
      chosen.push_back(log_histogram(all, cells, neighbours));
    }
    return basic_product_critic(std::move(chosen));
  }

  [[nodiscard]] std::size_t dimension() const noexcept { return coordinates_.size(); }
  [[nodiscard]] std::vector<step_function> const& coordinates() const noexcept {
    return coordinates_;
  }

  [[nodiscard]] double least() const noexcept { return sum(&step_function::least); }
  [[nodiscard]] double most() const noexcept { return sum(&step_function::most); }

  /// log E_Q e^f.
  /// Guarantee: upper bound.
  [[nodiscard]] double log_normaliser() const noexcept {
    double const total = sum(&step_function::log_normaliser);
    double size = 0.0;
    for (auto const& f : coordinates_) size += std::abs(f.log_normaliser());
    return total + static_cast<double>(dimension()) * 2.3e-16 * size;
  }

  /// f of every row.
  /// Guarantee: lower bound, but for the rounding of the sum of d values, which leaves it in
  /// [least(), most()] and is counted by the certificate.
  [[nodiscard]] vector_of<T> values(matrix_of<T> const& whitened,
                                    vector_of<T> const& rounding) const {
    detail::check_rows("product_critic", whitened, dimension());
    vector_of<T> out = vector_of<T>::Zero(whitened.rows());
    for (Eigen::Index i = 0; i < whitened.cols(); ++i) {
      step_function const& f = coordinates_[static_cast<std::size_t>(i)];
      for (Eigen::Index k = 0; k < whitened.rows(); ++k) {
        out(k) += f.least_near(whitened(k, i), rounding(k));
      }
    }
    return out;
  }

 private:
  template <class Member>
  [[nodiscard]] double sum(Member member) const noexcept {
    double total = 0.0;
    for (auto const& f : coordinates_) total += (f.*member)();
    return total;
  }

  /// log of (share of the sample / share of the normal) over a cell and `neighbours` on either side, a
  /// thousandth of the normal mixed in so that no cell is worse than −log 1000.
  [[nodiscard]] static step_function log_histogram(std::span<double const> sorted,
                                                   std::size_t cells, std::size_t neighbours) {
    if (cells == 1) return {{}, {0.0}};
    std::size_t const n = sorted.size();
    std::vector<double> edges;
    std::vector<std::size_t> counts{0};
    for (std::size_t k = 1; k < cells; ++k) {
      std::size_t const place = k * n / cells;
      double const edge = 0.5 * (sorted[place - 1] + sorted[place]);
      if (!edges.empty() && !(edge > edges.back())) continue;  // ties
      edges.push_back(edge);
      counts.push_back(place);
    }
    counts.push_back(n);
    std::vector<double> values;
    double constexpr infinity = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k + 1 < counts.size(); ++k) {
      std::size_t const from = k < neighbours ? 0 : k - neighbours;
      std::size_t const to = std::min(k + neighbours, edges.size());
      double const mass = detail::normal_mass(from == 0 ? -infinity : edges[from - 1],
                                              to == edges.size() ? infinity : edges[to]);
      double const share =
          static_cast<double>(counts[to + 1] - counts[from]) / static_cast<double>(n);
      values.push_back(elementary::log(1e-3 + 0.999 * share / std::max(mass, 1e-9)));
    }
    return {std::move(edges), std::move(values)};
  }

  std::vector<step_function> coordinates_;
};

using product_critic = basic_product_critic<>;

}  // namespace tacit
