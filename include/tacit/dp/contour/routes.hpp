// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/contour/envelope.hpp>
#include <tacit/dp/contour/integrate.hpp>
#include <tacit/dp/contour/kept.hpp>
#include <tacit/dp/contour/plan.hpp>
#include <tacit/dp/contour/search.hpp>
#include <tacit/dp/contour/strip.hpp>
#include <tacit/dp/contour/table.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rounded_shifts.hpp>
#include <tacit/dp/saddle.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

/// The contour accountant: certified δ(ε) of a composition of Gaussian mixtures, without a grid.
///
/// With K(z) = Σ count·log M(z) over the events, for any θ > 0,
///
///   δ(ε) = (1/2πi) ∫_{θ−i∞}^{θ+i∞} e^{K(z)−zε} / (z(z+1)) dz.
///
/// K on the real axis is the Rényi accountant; on the vertical line it is the truth. θ is the saddle
/// point, so nothing cancels: errors are relative to δ, at 1e-5 as at 1e-100. The trapezoid rule on the
/// line, spacing η, returns exactly Σ_k e^{θkP}δ(ε+kP), P = 2π/η: more than δ(ε) by terms that Chernoff
/// bounds. What else is not exact is bounded and added: the end of the line (|M| falls under a bound
/// monotone in Im z, got by moving the integral in x off the real axis), the trapezoid rule in x (the
/// same bound on the other side), the dropped tail of P, and rounding. Each bound is a lemma of
/// docs/certificates/contour.md.

namespace tacit::detail {

/// Which routes are tried: the cheapest, which serves most compositions, the others, or all.
enum class line_effort { quick, thorough, all };

/// erf x at most, for x ≥ 0, but for 20 units of rounding: the series of alternating and falling terms is cut off
/// after a positive one, 1e-6 above.
template <std::same_as<double> T>
[[nodiscard]] T error_function_above(T x) {
  if (!(x < 0.5)) return 1.0 - elementary::erfc(x);
  T const z = x * x;
  T const series = 1.0 - z * (1.0 / 3.0 - z * (1.0 / 10.0 - z * (1.0 / 42.0 - z / 216.0)));
  return 2.0 * std::numbers::inv_sqrtpi_v<T> * x * series;
}

/// One direction of a composition of normal and mixture pairs. A question that has no certificate here,
/// or whose certificate would cost more than about a second, has no answer.
template <std::same_as<double> T = double>
class contour {
 public:
  using entry = contour_entry<T>;

  /// `variance` is Σ count·mu² of the normal pairs.
  contour(std::vector<entry> entries, T variance, std::vector<laplace_entry<T>> laplace = {},
          std::vector<epoch_entry<T>> epochs = {})
      : of_{std::move(entries), variance, std::move(laplace), std::move(epochs)},
        shifts_(variance) {
    for (entry const& e : of_.entries) shifts_.add(e.count, e.pair.parts);
    for (laplace_entry<T> const& e : of_.laplace) shifts_.add_bounded(e.count, e.pair.epsilon);
    for (epoch_entry<T> const& e : of_.epochs) {
      shifts_.add_epochs(e.count, e.pair.noise_multiplier, static_cast<T>(e.pair.steps));
    }
  }

  /// ε at δ, certified.
  [[nodiscard]] std::optional<bound<T>> epsilon(T delta, line_effort effort,
                                                work_budget& work) const {
    return by_best_route(effort, work, [&](line_route<T> const& route, work_budget& budget) {
      return epsilon_by(route, elementary::log(delta), budget);
    });
  }

  /// log δ at ε, certified. Lines that are narrow there are kept, if wanted.
  [[nodiscard]] std::optional<bound<T>> log_delta(T epsilon, line_effort effort, work_budget& work,
                                                  std::vector<kept_line<T>>* keep = nullptr) const {
    return by_best_route(effort, work, [&](line_route<T> const& route, work_budget& budget) {
      return log_delta_by(route, epsilon, budget, keep);
    });
  }

  /// The same by all routes, with a budget of their own.
  [[nodiscard]] std::optional<bound<T>> epsilon(T delta) const {
    work_budget work(work_on_lines);
    return epsilon(delta, line_effort::all, work);
  }
  [[nodiscard]] std::optional<bound<T>> log_delta(T epsilon) const {
    work_budget work(work_on_lines);
    return log_delta(epsilon, line_effort::all, work);
  }

  /// Whether the Chernoff (Rényi) bound alone shows that δ(ε) ≤ e^{log_delta}: cheap, and enough
  /// to see that the other direction rules. The tail that is dropped from P counts in full: `loosely` a
  /// few percent of δ are given for it, which says far more where rare large losses rule the moments. What shows it, if not
  /// loosely, is kept where that is wanted.
  [[nodiscard]] bool chernoff_below(T epsilon, T log_delta, work_budget& work, bool loosely = false,
                                    std::vector<kept_moment<T>>* keep = nullptr) const;

  /// An upper bound on δ(0), the total variation, in closed form, of normals and mixtures alone: the sum of the events', and √(KL/2)
  /// (Pinsker, which holds in either order), KL(M‖N) ≤ log(1 + χ²), χ² = Σ w_i w_j (e^{μ_i μ_j} − 1).
  [[nodiscard]] T variation() const;

 private:
  static constexpr T fine = -34.5;   // 1e-15
  static constexpr T rough = -25.0;  // 1e-11
  static constexpr T most_work =
      1.6e8;  // of one entry, and a hundredth of it more for each other one
  static constexpr T work_on_epochs = 1.6e9;
  static constexpr T narrow = 1e-9;
  static constexpr T sharp =
      1e-13;  // of a line that was planned for another ε, to be asked no further

  // The tapered table on the real axis is best for long compositions. Where most of P is nearly an atom,
  // with rare jumps, |M| does not fall: the split table takes the part without jumps off. In other short
  // compositions |M| falls slowly along the line, and e^{itL} there turns too fast to be sampled: the
  // table is lifted off the real axis to where it falls instead.
  static constexpr std::array<line_route<T>, 7> routes{{
      {contour_table::tapered, 3e5, true, fine},
      {contour_table::split, 3e6, false, fine},
      {contour_table::split, 3e6, false, rough},
      {contour_table::tapered, 3e6, false, fine},
      {contour_table::lifted, 2e7, false, fine},
      {contour_table::split, 2e7, false, rough},
      {contour_table::tapered, 2e7, false, fine},
  }};

  // The first answer that is narrow, or the narrowest. Tables that have answered once answer the same again, however
  // much work they are allowed.
  template <class Answer>
  [[nodiscard]] std::optional<bound<T>> by_best_route(line_effort effort, work_budget& work,
                                                      Answer&& answer) const {
    T const more = std::clamp(static_cast<T>(of_.size()) - 1.0, 0.0, 1000.0);
    T const whole = most_work * (1.0 + 0.01 * more) + (of_.epochs.empty() ? 0.0 : work_on_epochs);
    return work.within(whole, [&](work_budget& budget) {
      return by_best_route(effort, std::forward<Answer>(answer), budget);
    });
  }
  template <class Answer>
  [[nodiscard]] std::optional<bound<T>> by_best_route(line_effort effort, Answer&& answer,
                                                      work_budget& budget) const {
    std::optional<bound<T>> best;
    std::vector<std::pair<contour_table, T>> answered;
    for (std::size_t k = effort == line_effort::thorough; k < routes.size(); ++k) {
      if (effort == line_effort::quick && k > 0) break;
      line_route<T> const& route = routes[k];
      if (route.table == contour_table::split && of_.has_untabulated()) continue;
      // Without tables all routes are one.
      if (k > 0 && of_.entries.empty() && !of_.epochs.empty()) break;
      std::pair const kind{route.table, route.log_tolerance};
      if (std::find(answered.begin(), answered.end(), kind) != answered.end()) continue;
      if (std::optional<bound<T>> const found = answer(route, budget)) {
        answered.push_back(kind);
        T const width = found->upper - found->lower;
        if (!best || width < best->upper - best->lower) best = found;
        if (width <= narrow * std::max(1.0, std::abs(found->upper))) break;
      }
      if (budget.ended()) break;
    }
    return best;
  }

  [[nodiscard]] std::optional<bound<T>> epsilon_by(line_route<T> const& route, T log_delta,
                                                   work_budget& budget) const;

  [[nodiscard]] std::optional<bound<T>> log_delta_by(line_route<T> const& route, T epsilon,
                                                     work_budget& budget,
                                                     std::vector<kept_line<T>>* keep) const;

  contour_pairs<T> of_;
  rounded_shifts shifts_;
};

template <std::same_as<double> T>
bool contour<T>::chernoff_below(T epsilon, T log_delta, work_budget& budget, bool loosely,
                                std::vector<kept_moment<T>>* keep) const {
  // Of P so much is dropped that it makes e^{−1−2.3} < .037 or 1e-16 of δ: what is left may have
  // log(1 − .037) > −.038 less.
  contour_search<T> search(of_, {contour_table::tapered, 0.0, false, loosely ? -1.0 : fine},
                           budget);
  if (!search.tabulate(log_delta, 0.0, -1.0)) return false;
  T const blur = shifts_.blur(log_delta);
  T const goal =
      log_delta - (loosely ? 0.04 : 1e-15) - 4.0 * unit_roundoff * std::abs(log_delta) - blur;
  epsilon -= blur + 2.0 * unit_roundoff * std::abs(epsilon);
  T best = std::numeric_limits<T>::infinity();
  for (T tilt = 0.5 * elementary::exp(search.smallest_tilt()); tilt < 1e15; tilt *= 1.5) {
    T const log_size =
        search.value(tilt) - tilt * epsilon + contour_search<T>::chernoff_constant(tilt);
    if (log_size + 1e-9 <= goal) {
      if (!budget.spend(search.certificate_cost())) return false;
      T sum = 0.0;
      T size = 0.0;
      for (std::size_t k = 0; k < of_.entries.size(); ++k) {
        mixture_table<T> const& nodes = search.tables()[k];
        table_facts<T> const facts(nodes);
        T const one = of_.entries[k].count * moment_above(nodes, tilt, facts);
        sum += one;
        size += std::abs(one);
      }
      search.each_untabulated([&](T count, auto const& law) {
        T const one = count * law.above(tilt);
        sum += one;
        size += std::abs(one);
      });
      T const rounded = unit_roundoff * (4.0 + static_cast<T>(of_.size())) * size;
      T const normal = 0.5 * tilt * (tilt + 1.0) * of_.variance;
      T const constant = contour_search<T>::chernoff_constant(tilt);
      if (sum_above<T>({sum, rounded, normal, -tilt * epsilon, constant}) <= goal) {
        if (keep != nullptr && !loosely) {
          keep->push_back(
              {tilt, sum_above<T>({sum, rounded, normal, constant}), log_delta, shifts_});
        }
        return true;
      }
    }
    if (!(log_size < best) || budget.ended()) return false;
    best = log_size;
  }
  return false;
}

template <std::same_as<double> T>
T contour<T>::variation() const {
  if (of_.has_untabulated()) return 1.0;
  T sum = error_function_above(std::sqrt(0.125 * of_.variance));
  T divergence = 0.5 * of_.variance;
  T terms = 32.0;
  for (entry const& e : of_.entries) {
    T square = 0.0;
    // As many terms as pairs of parts are not worth it.
    bool const many = e.pair.parts.size() > 256;
    for (mixture_pair::part const& part : e.pair.parts) {
      sum += e.count * part.weight * error_function_above(part.shift / std::sqrt(8.0));
      if (many) continue;
      for (mixture_pair::part const& other : e.pair.parts) {
        T const product = part.shift * other.shift;
        square += part.weight * other.weight * elementary::expm1(product);
        terms += 1.0;
      }
    }

    divergence += many ? std::numeric_limits<T>::infinity() : e.count * elementary::log1p(square);
    terms += 1.0;
  }
  // Sums of positive terms: each is right to a few units, and e^x where x < 700 to 3x more, with the shifts' own.
  T const rounded = 1.0 + unit_roundoff * (terms + 2200.0);
  return std::min({1.0, sum * rounded, std::sqrt(0.5 * divergence) * rounded});
}

template <std::same_as<double> T>
std::optional<bound<T>> contour<T>::epsilon_by(line_route<T> const& route, T log_delta,
                                               work_budget& budget) const {
  line_planner<T> search(of_, route, budget);
  T const blur = shifts_.blur(log_delta);
  std::optional<bound<T>> best;
  std::optional<saddle<T>> found = search.for_delta(log_delta);
  for (int round = 0; found; ++round) {
    auto const plan = search.plan(*found, log_delta);
    if (!plan) break;
    auto const line = integrate(of_, *plan, budget);
    if (!line) break;
    std::optional<T> const nearly = root_on(*line, log_delta, budget);
    if (!nearly) break;
    T const epsilon = *nearly;
    std::optional<T> const lower = end_on(*line, epsilon, log_delta, blur, false, budget);
    std::optional<T> const upper = end_on(*line, epsilon, log_delta, blur, true, budget);
    if (lower && upper && (!best || *upper - *lower < best->upper - best->lower)) {
      best = bound<T>{*lower, *upper};
      if (*upper - *lower <= sharp * std::max(1.0, *upper)) break;
    }
    // Where losses come in rare jumps the saddle point's own estimate is far off: once more, with the
    // tilt that belongs to the ε just found.
    bool const off = std::abs(epsilon - found->epsilon) * found->tilt > 1.0;
    bool const lesser = line->lesser(epsilon) > log_delta + route.log_tolerance + 1.0;
    if (!(round < 2 && off) && !(round < 3 && lesser)) break;
    if (search.splits() && !search.choose_cuts(epsilon * 0.99, log_delta)) break;
    found = search.for_epsilon(epsilon, log_delta);
    if (found) *found = {found->tilt, epsilon, log_delta, found->deviation};
  }
  return best;
}

template <std::same_as<double> T>
std::optional<bound<T>> contour<T>::log_delta_by(line_route<T> const& route, T epsilon,
                                                 work_budget& budget,
                                                 std::vector<kept_line<T>>* keep) const {
  line_planner<T> search(of_, route, budget);
  std::optional<saddle<T>> const found = search.for_epsilon(epsilon);
  if (!found) return {};
  auto const plan = search.plan(*found, found->log_delta);
  if (!plan) return {};
  auto line = integrate(of_, *plan, budget);
  if (!line) return {};
  kept_line<T> asked(std::move(*line), shifts_);
  std::optional<bound<T>> const value = asked.first_log_delta(epsilon);
  double const width = of_.epochs.empty() ? kept_width : kept_width_of_epochs;
  if (keep != nullptr && value && value->upper - value->lower <= width) {
    keep->push_back(std::move(asked));
  }
  return value;
}

#if defined(TACIT_COMPILED)
extern template class contour<double>;
#endif

}  // namespace tacit::detail
