// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// Dominating pairs of finitely many losses: of randomised response, of (ε, δ) guarantees and of discrete
/// Laplace noise; and what sampling makes of one. docs/certificates/events.md has the proofs.

namespace tacit::detail {

template <std::same_as<finite_pair::atom> Atom>
void sort_by_loss(shared_vector<Atom>& atoms) {
  std::sort(atoms.own().begin(), atoms.own().end(),
            [](auto const& a, auto const& b) { return a.loss < b.loss; });
}

/// (Q, P) of (P, Q).
template <std::same_as<finite_pair> Pair>
[[nodiscard]] Pair turned(Pair pair) {
  auto& atoms = pair.atoms.own();
  for (finite_pair::atom& a : atoms) a = {-a.loss, a.q, a.p};
  std::reverse(atoms.begin(), atoms.end());
  std::swap(pair.infinite, pair.excluded);
  return pair;
}

/// What either neighbour alone can produce with one probability, taken from the pair: x of (1−x)·(P, Q) and x of what tells them
/// apart, which adds x to δ. The rest is (P, Q), and its masses are off by a unit more.
template <std::same_as<dominating_pair> Pair>
[[nodiscard]] double taken_apart(Pair& pair) {
  auto* const finite = std::get_if<finite_pair>(&pair);
  if (finite == nullptr || finite->infinite != finite->excluded || !(finite->infinite < 1.0))
    return 0.0;
  double const apart = finite->infinite;
  if (apart == 0.0) return 0.0;
  for (finite_pair::atom& a : finite->atoms.own()) {
    a.p /= 1.0 - apart;
    a.q /= 1.0 - apart;
  }
  finite->infinite = finite->excluded = 0.0;
  finite->mass_error += 4.0 * unit_roundoff;
  return apart * (1.0 + 4.0 * unit_roundoff) * (1.0 + finite->mass_error);
}

/// One step of an epoch, as if every record took part in it: it is above the epoch.
template <std::same_as<allocated_pair> Pair>
[[nodiscard]] finite_pair whole_step(Pair const& epoch) {
  return epoch.orientation == orientation::remove ? epoch.above : turned(epoch.above);
}

/// Randomised response of `categories` answers; with two, also any mechanism that is (ε, δ)-DP.
template <std::same_as<finite_pair> Pair = finite_pair>
[[nodiscard]] Pair response_pair(double epsilon, double categories, double delta) {
  double const other = (1.0 - delta) / (1.0 + (elementary::exp(-epsilon) * (categories - 1.0)));
  double const low = other * elementary::exp(-epsilon);
  finite_pair pair{{{-epsilon, low, other}, {0.0, 0.0, 0.0}, {epsilon, other, low}}, delta, delta};
  if (epsilon == 0.0 || categories == 2.0) {
    pair.atoms.own().erase(pair.atoms.own().begin() + 1);
  } else {
    pair.atoms.own()[1] = {0.0, low * (categories - 2.0), low * (categories - 2.0)};
  }
  if (epsilon == 0.0) pair.atoms = {{0.0, 1.0 - delta, 1.0 - delta}};
  return pair;
}

/// The ε of randomised response by records that answer with probability `rate`, and at random otherwise.
[[nodiscard]] inline double sampled_response(double epsilon, double categories, double rate) {
  double const shrunk = elementary::exp(-epsilon);
  double const at_random = (1.0 - rate) * (1.0 + (categories - 1.0) * shrunk) / categories;
  return elementary::log1p(rate * -elementary::expm1(-epsilon) / (rate * shrunk + at_random));
}

/// Randomised response among `categories`, ε > 0, against an answer at random: its one true answer, and the others.
template <std::same_as<finite_pair> Pair = finite_pair>
[[nodiscard]] Pair response_or_random_pair(double epsilon, double categories) {
  double const shrunk = elementary::exp(-epsilon);
  double const others = (categories - 1.0) * shrunk;
  double const least = 1.0 / categories;
  double const true_loss = -sampled_loss<double>(-epsilon, 1.0 - least, least);
  double const other_loss = -sampled_loss<double>(epsilon, least, 1.0 - least);
  finite_pair pair;
  pair.loss_error = 16.0 * std::numeric_limits<double>::epsilon();
  pair.atoms = {{other_loss, others / (1.0 + others), 1.0 - least},
                {true_loss, 1.0 / (1.0 + others), least}};
  return pair;
}

/// @throws std::domain_error unless this shift in units of the noise is finite
inline void check_noise(std::string_view argument, double noise, double shift) {
  require_domain(shift <= std::numeric_limits<double>::max(), "dominate", argument, noise,
                 "so large that losses are finite");
}

template <std::same_as<finite_pair> Pair = finite_pair>
[[nodiscard]] Pair discrete_laplace_pair(double scale, std::uint64_t shift) {
  require_domain(shift <= 1000000, "dominate", "shift of a discrete Laplace", shift,
                 "at most 1e6 grid units");
  double const s = static_cast<double>(shift);
  check_noise("scale", scale, s / scale);
  double const next = elementary::exp(-1.0 / scale);
  double const tail = 1.0 / (1.0 + next);
  double const point = -elementary::expm1(-1.0 / scale) * tail;
  finite_pair pair;
  pair.loss_error = std::numeric_limits<double>::epsilon();
  pair.atoms.own().reserve(shift + 1);
  for (std::uint64_t k = 0; k <= shift; ++k) {
    double const j = static_cast<double>(k);
    bool const end = k == 0 || k == shift;
    pair.atoms.push_back({(2.0 * j - s) / scale,
                          (end ? tail : point) * elementary::exp(-(s - j) / scale),
                          (end ? tail : point) * elementary::exp(-j / scale)});
  }
  return pair;
}

/// Any mechanism that is (ε, δ)-DP for each of `points`, in both orders of the neighbours: the pair whose profile in
/// x = e^ε is the largest convex one under the points and their mirror images (1/x, 1 − 1/x + δ/x).
/// Guarantee: masses are rounded up, at losses that are exact.
template <std::same_as<finite_pair> Pair = finite_pair>
[[nodiscard]] Pair profile_pair(std::vector<approx_dp> points) {
  std::sort(points.begin(), points.end(), [](approx_dp const& a, approx_dp const& b) {
    return a.epsilon != b.epsilon ? a.epsilon < b.epsilon : a.delta < b.delta;
  });
  std::vector<approx_dp> hull;
  // x times the slope of the profile, on the left of the last point kept and on its right, if `next` is the next.
  auto const before = [&hull] {
    approx_dp const& at = hull.back();
    if (hull.size() == 1) {  // its mirror image is the neighbour
      return (1.0 - enclosure(at.delta)) / (1.0 + exp(-enclosure(at.epsilon)));
    }
    approx_dp const& last = hull[hull.size() - 2];
    return (enclosure(last.delta) - at.delta) / -expm1(enclosure(last.epsilon) - at.epsilon);
  };
  auto const after = [&hull](approx_dp const& next) {
    approx_dp const& at = hull.back();
    return (enclosure(at.delta) - next.delta) / expm1(enclosure(next.epsilon) - at.epsilon);
  };
  finite_pair pair;
  auto const settle = [&pair](double loss, enclosure const& mass) {
    double const p = std::max(0.0, mass.upper);
    double const q = std::max(0.0, (exp(-enclosure(loss)) * mass).upper);
    if (p == 0.0) return;
    if (loss == 0.0) {
      pair.atoms.push_back({0.0, add_up(p, q), add_up(p, q)});
    } else {
      pair.atoms.push_back({loss, p, q});
      pair.atoms.push_back({-loss, q, p});
    }
  };
  for (approx_dp const& next : points) {
    if (!hull.empty() && !(next.delta < hull.back().delta)) continue;
    // A point is left out unless the profile is surely convex there.
    while (!hull.empty() && !((before() - after(next)).lower >= 0.0)) hull.pop_back();
    hull.push_back(next);
  }
  pair.infinite = pair.excluded = hull.back().delta;
  enclosure right = 0.0;
  while (!hull.empty()) {
    approx_dp const at = hull.back();
    settle(at.epsilon, before() - right);
    hull.pop_back();
    if (!hull.empty()) right = after(at);
  }
  sort_by_loss(pair.atoms);
  return pair;
}

/// (rate·P + (1−rate)·Q, Q), or the same swapped.
template <std::same_as<finite_pair> Pair = finite_pair>
[[nodiscard]] Pair sampled_pair(finite_pair const& base, double rate, orientation towards) {
  finite_pair out;
  out.loss_error = base.loss_error + 32.0 * std::numeric_limits<double>::epsilon();
  out.mass_error = base.mass_error;
  out.left_out = base.left_out;
  auto const put = [&](double loss, double p, double q) {
    if (towards == orientation::remove) {
      out.atoms.push_back({loss, p, q});
    } else {
      out.atoms.push_back({-loss, q, p});
    }
  };
  if (base.excluded > 0.0 && rate < 1.0) {
    put(elementary::log1p(-rate), (1.0 - rate) * base.excluded, base.excluded);
  }
  for (finite_pair::atom const& a : base.atoms) {
    put(sampled_loss(a.loss, rate), rate * a.p + (1.0 - rate) * a.q, a.q);
  }
  if (towards == orientation::add) std::reverse(out.atoms.own().begin(), out.atoms.own().end());
  double const alone = rate * base.infinite;
  double const lost = rate == 1.0 ? base.excluded : 0.0;
  out.infinite = towards == orientation::remove ? alone : lost;
  out.excluded = towards == orientation::remove ? lost : alone;
  return out;
}

/// A symmetric base of which a batch without replacement takes part: the profile of the sampled pair
/// for ε ≥ 0, and its mirror image for ε < 0 (Zhu, Dong & Wang 2022). The two directions must not be
/// composed apart (Lebeda et al. 2024).
template <std::same_as<finite_pair> Pair = finite_pair>
[[nodiscard]] Pair mirrored_pair(finite_pair const& base, double rate) {
  finite_pair out;
  out.loss_error = base.loss_error + 32.0 * std::numeric_limits<double>::epsilon();
  out.mass_error = base.mass_error;
  out.left_out = base.left_out;
  double rest = (1.0 - rate) * base.infinite;
  for (finite_pair::atom const& a : base.atoms) {
    if (a.loss == 0.0) rest += a.p;
    if (!(a.loss > 0.0)) continue;
    double const loss = sampled_loss(a.loss, rate);
    out.atoms.push_back({loss, rate * a.p + (1.0 - rate) * a.q, a.q});
    rest += (1.0 - rate) * (a.p - a.q);
  }
  std::size_t const above = out.atoms.size();
  for (std::size_t k = 0; k < above; ++k) {
    finite_pair::atom const a = out.atoms[k];
    out.atoms.push_back({-a.loss, a.q, a.p});
  }
  if (rest > 0.0) out.atoms.push_back({0.0, rest, rest});
  sort_by_loss(out.atoms);
  out.infinite = out.excluded = rate * base.infinite;
  return out;
}

/// The symmetric pair of the profile that (P, Q) has for ε ≥ 0, and its mirror image: for a mechanism of which that
/// profile bounds both orders of the neighbours, and P(L > 0) + Q(L > 0) ≤ 1.
template <std::same_as<finite_pair> Pair = finite_pair>
[[nodiscard]] Pair mirrored_above(finite_pair const& pair) {
  finite_pair out;
  out.loss_error = pair.loss_error;
  out.mass_error = pair.mass_error;
  out.left_out = 2.0 * pair.left_out;
  out.infinite = out.excluded = pair.infinite;
  double rest = 1.0 - pair.infinite;
  for (finite_pair::atom const& a : pair.atoms) {
    if (!(a.loss > 0.0)) continue;
    out.atoms.push_back(a);
    out.atoms.push_back({-a.loss, a.q, a.p});
    rest -= a.p + a.q;
  }
  // What is known of the sum to 1 has no effect for ε ≥ 0.
  if (rest > 0.0) out.atoms.push_back({0.0, rest, rest});
  sort_by_loss(out.atoms);
  return out;
}

/// Several symmetric pairs, of which an outcome reveals the one it is from; weights need not add up to 1.
template <std::same_as<finite_pair> Pair = finite_pair>
class union_of_pairs {
 public:
  /// Lighter ones become mass that only one side can produce.
  static constexpr double least_weight = 1e-120;

  template <class Make>
  void add(double weight, Make&& make) {
    weight_ += weight;
    if (weight < least_weight) {
      all_.infinite += weight;
      return;
    }
    finite_pair const one = make();
    for (finite_pair::atom const& a : one.atoms) {
      all_.atoms.push_back({a.loss, weight * a.p, weight * a.q});
    }
    all_.infinite += weight * one.infinite;
    size_ = one.atoms.empty() ? size_ : std::max(size_, one.atoms.back().loss);
    off_ = std::max(off_, one.atoms.empty() ? 0.0 : one.loss_error * one.atoms.back().loss);
    all_.mass_error = std::max(all_.mass_error, one.mass_error);
    all_.left_out = std::max(all_.left_out, one.left_out);
  }

  /// Of which a share takes part that is as large as the weights together, and 1 at most.
  [[nodiscard]] finite_pair sampled() && {
    double const rate = std::min(1.0, weight_);
    if (!(rate > 0.0)) return {{{0.0, 1.0, 1.0}}};
    for (finite_pair::atom& a : all_.atoms.own()) {
      a.p /= rate;
      a.q /= rate;
    }
    all_.infinite = std::min(1.0, all_.infinite / rate);
    finish();
    return mirrored_pair(all_, rate);
  }

  /// The same where what the others are from is the same for both: that has the loss 0.
  [[nodiscard]] finite_pair told() && {
    constexpr double rounded = 8.0 * std::numeric_limits<double>::epsilon();
    double const rest = std::min(1.0, 1.0 - weight_ + rounded);
    if (rest > 0.0) all_.atoms.push_back({0.0, rest, rest});
    all_.infinite = std::min(1.0, all_.infinite);
    finish();
    return std::move(all_);
  }

 private:
  void finish() {
    all_.excluded = all_.infinite;
    all_.loss_error = size_ > 0.0 ? off_ / size_ : 0.0;
    all_.mass_error += 16.0 * std::numeric_limits<double>::epsilon();
    sort_by_loss(all_.atoms);
  }

  finite_pair all_;
  double weight_ = 0.0;
  double size_ = 0.0;  // the largest loss, and by how much losses may be off
  double off_ = 0.0;
};

}  // namespace tacit::detail
