// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/allocation/atoms.hpp>
#include <tacit/dp/allocation/epoch.hpp>
#include <tacit/dp/allocation/one_jump.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/pure_epsilon.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/zcdp.hpp>

#include "support/catch.hpp"

#include <boost/math/quadrature/gauss.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using namespace tacit;  // NOLINT
using detail::rounding_side;
using detail::epochs::epoch_atoms;
using one_epoch = detail::epochs::epoch<double>;
using step_of = detail::epochs::step_ratio<double>;

bound<double> delta_of(double noise, std::uint64_t steps, orientation way, double epsilon) {
  return one_epoch({noise, steps, way}, way).delta(epsilon, 1e-7);
}

double delta_of(finite_pair const& pair, double epsilon) {
  double sum = pair.infinite;
  for (auto const& a : pair.atoms) {
    if (a.loss > epsilon) sum += a.p * -std::expm1(epsilon - a.loss);
  }
  return sum;
}

}  // namespace

TEST_CASE("two steps against a quadrature of the closed form of one", "[allocation]") {
  // E_z[call(c − U(z))]/2 and e^ε·E_z[put(c − U(z))]/2 by mpmath's quad, 30 digits, from the definition of the pair.
  struct reference {
    double noise;
    double epsilon;
    orientation way;
    double delta;
  };
  auto const [noise, epsilon, way, delta] =
      GENERATE(reference{1.0, 4.2, orientation::remove, 1.0059925955725597e-6},
               reference{1.0, 3.449, orientation::add, 1.0032951418179286e-6},
               reference{0.5, 6.0, orientation::remove, 0.0039021061503920094},
               reference{0.5, 1.0, orientation::add, 0.38033919439738189},
               reference{3.0, 0.5, orientation::remove, 0.002069904929018593},
               reference{3.0, 0.5, orientation::add, 0.0019650490260177722},
               reference{0.3, 20.0, orientation::remove, 1.1373994724655389e-6},
               reference{10.0, 0.2, orientation::add, 5.4644745483107762e-5},
               reference{20.0, 0.01, orientation::remove, 0.0097172512442335679},
               reference{1.0, 0.0, orientation::remove, 0.29776222519356196},
               reference{1.0, 0.0, orientation::add, 0.29776222519356196});
  CAPTURE(noise, epsilon, delta);
  bound<double> const found = delta_of(noise, 2, way, epsilon);
  CHECK(found.lower <= delta * (1.0 + 1e-15));
  CHECK(found.upper >= delta * (1.0 - 1e-15));
  CHECK(found.upper - found.lower <= 1e-5 * delta);
  bound<double> const back = one_epoch({noise, 2, way}, way).epsilon(delta);
  CHECK(back.lower <= epsilon + 1e-14);
  CHECK(back.upper >= epsilon - 1e-14);
  CHECK(back.upper - back.lower <= 1e-6 * std::max(1.0, epsilon));
}

namespace {

/// E(U−k)₊ of U = e^{az−a²/2}, and E(k−U)₊: Black and Scholes.
double call_of(double a, double k) {
  if (k <= 0.0) return 1.0 - k;
  double const z = (std::log(k) + 0.5 * a * a) / a;
  return normal_tail(z - a) - k * normal_tail(z);
}
double put_of(double a, double k) {
  if (k <= 0.0) return 0.0;
  double const z = (std::log(k) + 0.5 * a * a) / a;
  return k * normal_tail(-z) - normal_tail(a - z);
}

/// δ of an epoch of two steps: E_z of the other step's call or put, by Gauss's rule, the pieces shorter towards the
/// kink.
double delta_of_two(double noise, double epsilon, orientation way) {
  using rule = boost::math::quadrature::gauss<double, 20>;
  bool const remove = way == orientation::remove;
  double const a = 1.0 / noise;
  double const c = 2.0 * std::exp(remove ? epsilon : -epsilon);
  double const kink = (std::log(c) + 0.5 * a * a) / a;
  auto const integrand = [&](double z) {
    double const rest = c - std::exp(a * z - 0.5 * a * a);
    double const density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
    return density * (remove ? call_of(a, rest) : put_of(a, rest));
  };
  double sum = 0.0;
  auto const add = [&](double from, double to, double longest) {
    double const pieces = std::max(1.0, std::ceil((to - from) / longest));
    for (double k = 0.0; k < pieces; ++k) {
      sum += rule::integrate(integrand, from + (to - from) * k / pieces,
                             from + (to - from) * (k + 1.0) / pieces);
    }
  };
  double reach = kink - std::min(-14.0, kink - 14.0);
  for (int k = 0; k < 60; ++k, reach *= 0.5) add(kink - reach, kink - 0.5 * reach, 0.25);
  if (remove) add(kink, std::max(kink, a) + 14.0, 0.25);
  return 0.5 * sum * (remove ? 1.0 : std::exp(epsilon));
}

}  // namespace

TEST_CASE("the record's own step against a quadrature of two", "[allocation]") {
  std::mt19937_64 draw(20261129);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  detail::work_budget work(0.0);
  for (int k = 0; k < 40; ++k) {
    double const noise = 0.15 * std::pow(100.0, uniform(draw));
    double const epsilon = 3.0 / noise * uniform(draw) + 2.0 / (noise * noise) * uniform(draw);
    for (orientation const way : {orientation::remove, orientation::add}) {
      detail::epochs::one_jump<> const own({noise, 2, way}, way);
      bound<double> const found = own.delta(epsilon, work);
      double const truth = delta_of_two(noise, epsilon, way);
      CAPTURE(noise, epsilon, way == orientation::add, found.lower, found.upper, truth);
      CHECK(found.lower <= truth * (1.0 + 1e-9) + 1e-15);
      CHECK(found.upper >= truth * (1.0 - 1e-9) - 1e-15);
      if (!(truth > 1e-12 && truth < 0.5)) continue;
      bound<double> const back = own.epsilon(truth, work);
      CHECK(back.lower <= epsilon + 1e-6);
      CHECK(back.upper >= epsilon - 1e-6);
    }
  }
}

TEST_CASE("two steps against a quadrature, two hundred answers", "[allocation][.sweep]") {
  std::mt19937_64 draw(20261123);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  double widest = 0.0;
  for (int k = 0; k < 100; ++k) {
    double const noise = 0.15 * std::pow(200.0, uniform(draw));
    double const delta = std::pow(10.0, -1.0 - 11.0 * uniform(draw));
    for (orientation const way : {orientation::remove, orientation::add}) {
      bound<double> const found = one_epoch({noise, 2, way}, way).epsilon(delta);
      CAPTURE(noise, delta, way == orientation::add, found.lower, found.upper);
      CHECK(found.lower <= found.upper);
      if (found.lower > 0.0) CHECK(delta_of_two(noise, found.lower, way) >= delta * (1.0 - 1e-9));
      if (found.upper > 0.0) CHECK(delta_of_two(noise, found.upper, way) <= delta * (1.0 + 1e-9));
      widest = std::max(widest, (found.upper - found.lower) / std::max(1.0, found.upper));
    }
  }
  CHECK(widest < 1e-6);
}

TEST_CASE("one epoch against Bromwich integrals", "[allocation]") {
  // An inversion of E e^{−sU} along the lips of its cut, in double (numpy): 12 digits, of which the last may be off.
  struct reference {
    std::uint64_t steps;
    double remove;
    double add;
  };
  auto const [steps, remove, add] =
      GENERATE(reference{1000, .171728684450, .149430954813}, reference{10, 2.65240477, 1.54342509},
               reference{2, 4.20124566, 3.44950109});
  CAPTURE(steps);
  double const off = steps == 1000 ? 1e-11 : 1e-8;
  for (auto const way : {orientation::remove, orientation::add}) {
    double const epsilon = way == orientation::remove ? remove : add;
    bound<double> const found = one_epoch({1.0, steps, way}, way).epsilon(1e-6);
    CHECK(found.lower <= epsilon + off);
    CHECK(found.upper >= epsilon - off);
    CHECK(found.upper - found.lower <= 1e-6 * std::max(1.0, epsilon));
  }
}

TEST_CASE("an epoch's bounds keep their order at random parameters", "[allocation][long]") {
  std::mt19937_64 random(20261123);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  int wide = 0;
  constexpr int runs = 12;
  for (int k = 0; k < runs; ++k) {
    double const noise = std::exp(std::log(0.5) + uniform(random) * std::log(20.0));
    auto const steps = static_cast<std::uint64_t>(2.0 * std::pow(1000.0, uniform(random)));
    double const delta = std::pow(10.0, -3.0 - 6.0 * uniform(random));
    CAPTURE(noise, steps, delta);
    one_epoch const remove({noise, steps, orientation::remove}, orientation::remove);
    one_epoch const add({noise, steps, orientation::add}, orientation::add);
    bound<double> const e = remove.epsilon(delta);
    REQUIRE(e.lower <= e.upper);
    wide += e.upper - e.lower > 1e-6 * std::max(1.0, e.upper);
    // ε and δ are inverse.
    bound<double> const d = remove.delta(e.upper, 1e-4);
    CHECK(d.lower <= delta);
    CHECK(remove.delta(e.lower, 1e-4).upper >= delta * (e.lower > 0.0 ? 1.0 : 0.0));
    // At ε = 0 either direction is the total variation.
    bound<double> const p = remove.delta(0.0, 1e-4);
    bound<double> const q = add.delta(0.0, 1e-4);
    CHECK(p.lower <= q.upper);
    CHECK(q.lower <= p.upper);
    // More steps to hide among never leak more: averages of U fall in convex order.
    one_epoch const longer({noise, steps + 1, orientation::remove}, orientation::remove);
    CHECK(longer.epsilon(delta).lower <= e.upper);
    // Not above one release that every record takes part in.
    CHECK(e.upper <= epsilon(gaussian_dp{1.0 / noise}, delta).upper);
  }
  CHECK(wide <= 2);
}

TEST_CASE("distinct epochs answer as equal ones do", "[allocation][long]") {
  auto const epoch_of = [](double noise) {
    return event(gaussian{noise}, random_allocation{50, 1});
  };
  privacy_loss_accountant equal;
  equal.compose(epoch_of(2.0), 20);
  bound<double> const expected = equal.epsilon(1e-6);
  privacy_loss_accountant equal_too;
  equal_too.compose(epoch_of(2.0), 65);
  bound<double> const of_many = equal_too.epsilon(1e-6);
  discretised_accountant distinct;
  discretised_accountant very_many;
  for (int k = 0; k < 65; ++k) {
    double const noise = 2.0 * (1.0 + 1e-12 * k);
    if (k < 20) distinct.compose(epoch_of(noise));
    very_many.compose(epoch_of(noise));
  }
  auto const check = [](bound<double> const& found, bound<double> const& truth) {
    CAPTURE(truth.lower, truth.upper, found.lower, found.upper);
    CHECK(found.lower <= truth.upper);
    CHECK(found.upper >= truth.lower * (1.0 - 1e-9));
    CHECK(found.upper - found.lower <= 1e-2 * truth.upper);
  };
  check(distinct.epsilon(1e-6), expected);
  check(very_many.epsilon(1e-6), of_many);
  double const epsilon = expected.upper;
  bound<double> const delta = distinct.delta(epsilon);
  CHECK(delta.lower <= 1e-6);
  CHECK(delta.upper >= 1e-6 * (1.0 - 1e-3));
  CHECK(delta.upper <= 1.1e-6);
}

// Each pair of neighbours counts as two of its less private one, and as two of its more private one: either is known
// without groups.
TEST_CASE("very many distinct epochs are answered as groups", "[allocation][long]") {
  auto const noise = [](int k) { return 1.0 + 0.01 * k; };
  auto const steps = [](int k) { return static_cast<std::uint64_t>(100 + 7 * (k % 5)); };
  auto const same_steps = GENERATE(true, false);
  CAPTURE(same_steps);
  discretised_accountant many;
  discretised_accountant more;
  discretised_accountant less;
  for (int k = 0; k < 40; ++k) {
    many.compose(event(gaussian{noise(k)}, random_allocation{same_steps ? 100 : steps(k), 1}));
    if (k % 2 != 0) continue;
    std::uint64_t const fewer = same_steps ? 100 : std::min(steps(k), steps(k + 1));
    std::uint64_t const most = same_steps ? 100 : std::max(steps(k), steps(k + 1));
    more.compose(event(gaussian{noise(k)}, random_allocation{fewer, 1}), 2);
    less.compose(event(gaussian{noise(k + 1)}, random_allocation{most, 1}), 2);
  }
  bound<double> const found = many.epsilon(1e-6);
  bound<double> const above = more.epsilon(1e-6);
  bound<double> const below = less.epsilon(1e-6);
  CAPTURE(found.lower, found.upper, below.lower, above.upper);
  CHECK(found.lower <= above.upper);
  CHECK(found.upper >= below.lower);
  CHECK(found.lower <= found.upper);
  CHECK(found.lower >= 0.9 * below.lower);
  CHECK(found.upper <= 1.1 * above.upper);
}

// What averages over fewer steps, or has less noise, is larger in convex order.
// σ from 1 to 1.5, t = 100.
std::vector<double> rising_noise(std::size_t count) {
  std::vector<double> out;
  for (std::size_t k = 0; k < count; ++k) {
    out.push_back(std::pow(1.5, static_cast<double>(k) / static_cast<double>(count - 1)));
  }
  return out;
}
privacy_loss_accountant epochs_of(std::vector<double> const& noise) {
  privacy_loss_accountant all;
  for (double const sigma : noise) all.compose(sampled(gaussian{sigma}, random_allocation{100}));
  return all;
}

TEST_CASE("distinct epochs against samples of their ratios", "[allocation][.sweep]") {
  // The definition: under P one of the t draws of an epoch, and under Q none, is moved by a = 1/σ.
  constexpr int samples = 20'000;
  std::mt19937_64 random(20261124);
  std::normal_distribution<double> normal;
  for (std::size_t const count : {2U, 16U, 33U, 64U}) {
    std::vector<double> const noise = rising_noise(count);
    privacy_loss_accountant const all = epochs_of(noise);
    auto const loss = [&](bool shifted) {  // log(dP/dQ)
      double sum = 0.0;
      for (double const sigma : noise) {
        double const a = 1.0 / sigma;
        double ratio = 0.0;
        for (int j = 0; j < 100; ++j) {
          ratio += std::exp(a * (normal(random) + (shifted && j == 0 ? a : 0.0)) - 0.5 * a * a);
        }
        sum += std::log(ratio / 100.0);
      }
      return sum;
    };
    std::vector<double> removed, added;
    for (int k = 0; k < samples; ++k) {
      removed.push_back(loss(true));
      added.push_back(-loss(false));
    }
    for (double const epsilon : {0.0, 0.2, 0.6, 1.5}) {
      bound<double> const found = all.delta(epsilon);
      double largest = 0.0, largest_error = 0.0;
      for (auto const* losses : {&removed, &added}) {
        double sum = 0.0, squares = 0.0;
        for (double const l : *losses) {
          double const d = l > epsilon ? -std::expm1(epsilon - l) : 0.0;
          sum += d, squares += d * d;
        }
        double const mean = sum / samples;
        double const error = 4.5 * std::sqrt((squares / samples - mean * mean) / samples) + 1e-4;
        CAPTURE(count, epsilon, found.lower, found.upper, mean, error);
        CHECK(mean - error <= found.upper);
        largest = std::max(largest, mean);
        largest_error = std::max(largest_error, error);
      }
      CAPTURE(count, epsilon, found.lower, found.upper, largest);
      CHECK(found.lower <= largest + largest_error);
    }
  }
}

TEST_CASE("how wide distinct epochs are", "[allocation][.sweep]") {
  struct limit {
    std::size_t count;
    double width;  // docs/certificates/allocation.md
  };
  for (auto const& [count, width] :
       {limit{2, 1e-8}, limit{16, 1e-8}, limit{32, 1e-8}, limit{64, .032}, limit{1000, .045}}) {
    bound<double> const found = epochs_of(rising_noise(count)).epsilon(1e-6);
    CAPTURE(count, found.lower, found.upper);
    CHECK(found.upper - found.lower <= 1.05 * width * found.upper);
  }
}

TEST_CASE("threads ask one accountant of distinct epochs what one alone is answered",
          "[allocation][long]") {
  std::vector<double> const deltas{1e-3, 1e-5, 1e-7, 1e-9};
  privacy_loss_accountant const asked = epochs_of(rising_noise(3));
  std::vector<bound<double>> at_once(deltas.size());
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < deltas.size(); ++k) {
    threads.emplace_back([&, k] { at_once[k] = asked.epsilon(deltas[k]); });
  }
  for (std::thread& t : threads) t.join();
  privacy_loss_accountant const alone = epochs_of(rising_noise(3));
  for (std::size_t k = 0; k < deltas.size(); ++k) {
    bound<double> const found = alone.epsilon(deltas[k]);
    CHECK(at_once[k].lower == found.lower);
    CHECK(at_once[k].upper == found.upper);
  }
}

TEST_CASE("epochs whose noise differs by rounding alone are grouped", "[allocation][long]") {
  discretised_accountant distinct(adjacency::add_remove);
  discretised_accountant equal(adjacency::add_remove);
  double noise = 30.0;
  for (int k = 0; k < 40; ++k) {
    distinct.compose(sampled(gaussian{noise}, random_allocation{100}), 1);
    noise = std::nextafter(noise, 31.0);
  }
  equal.compose(sampled(gaussian{30.0}, random_allocation{100}), 40);
  bound<double> const grouped = distinct.epsilon(1e-6);
  bound<double> const known = equal.epsilon(1e-6);
  CHECK(grouped.lower <= known.upper);
  CHECK(grouped.upper >= known.lower);
  CHECK(grouped.lower > 0.99 * known.lower);
  CHECK(grouped.upper < 1.01 * known.upper);
}

TEST_CASE("an epoch of next to no information does not spoil another", "[allocation]") {
  discretised_accountant alone(adjacency::add_remove);
  alone.compose(sampled(gaussian{1.0}, random_allocation{2}), 1);
  discretised_accountant both = alone;
  both.compose(sampled(gaussian{1e7}, random_allocation{3}), 1);
  for (double const delta : {1e-3, 1e-6}) {
    bound<double> const more = both.epsilon(delta);
    bound<double> const one = alone.epsilon(delta);
    CHECK(more.upper >= one.lower);
    CHECK(more.upper < 1.001 * one.upper);
    CHECK(more.lower > 0.999 * one.lower);
  }
  CHECK(both.delta(4.886).upper < 1.01 * alone.delta(4.886).upper);
}

TEST_CASE("whatever the work, an epoch's atoms above have all of its masses", "[allocation]") {
  // Where it suffices for the reading at ε = 0 alone, the polygon ends at E X.
  for (double const work : {1e4, 6.0835e6, 6.996e6, 1.06e7, 1.24e7, 1.4e7, 3e7, 1e8}) {
    for (auto const& [noise, steps] :
         {std::pair{101.455, 217181.0}, {15.9757, 147912.0}, {306.266, 271.0}, {1.0, 100.0}}) {
      detail::work_budget left(work);
      finite_pair const above = epoch_atoms<double>(step_of(noise), steps, 6465.14, left)
                                    .pair(orientation::remove, rounding_side::above);
      double sum = above.infinite;
      for (auto const& a : above.atoms) sum += a.p;
      CAPTURE(noise, steps, work);
      CHECK(sum >= 1.0);
    }
  }
}

TEST_CASE("an epoch of less noise or fewer steps is less private at every ε",
          "[allocation][long]") {
  std::mt19937_64 random(20261124);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int k = 0; k < 20; ++k) {
    double const noise = 0.4 * std::pow(20.0, uniform(random));
    auto const steps = static_cast<std::uint64_t>(2.0 * std::pow(500.0, uniform(random)));
    double const less = noise * (0.7 + 0.3 * uniform(random));
    auto const fewer = std::max<std::uint64_t>(
        2, static_cast<std::uint64_t>(uniform(random) * static_cast<double>(steps)));
    double const epsilon = 2.0 * uniform(random) / noise;
    CAPTURE(noise, steps, less, fewer, epsilon);
    for (auto const way : {orientation::remove, orientation::add}) {
      CHECK(delta_of(noise, steps, way, epsilon).lower <=
            delta_of(less, std::min(fewer, steps), way, epsilon).upper);
    }
  }
}

TEST_CASE("an epoch as atoms lies on either side of it", "[allocation][long]") {
  auto const [noise, steps] = GENERATE(std::pair{1.0, 500.0}, std::pair{0.7, 30.0});
  CAPTURE(noise, steps);
  detail::work_budget work(1e10);
  epoch_atoms<double> const atoms(step_of(noise), steps, 0x1p17, work);
  for (auto const way : {orientation::remove, orientation::add}) {
    finite_pair const above = atoms.pair(way, rounding_side::above);
    finite_pair const below = atoms.pair(way, rounding_side::below);
    for (double const epsilon : {0.0, 0.03, 0.1, 0.3, 1.0}) {
      CAPTURE(epsilon, way == orientation::remove);
      bound<double> const truth = delta_of(noise, static_cast<std::uint64_t>(steps), way, epsilon);
      CHECK(delta_of(above, epsilon) >= truth.lower * (1.0 - 1e-12));
      CHECK(delta_of(below, epsilon) <= truth.upper * (1.0 + 1e-12));
      if (truth.lower > 1e-12) {
        CHECK(delta_of(above, epsilon) - delta_of(below, epsilon) <= 0.01 * truth.upper);
      }
    }
  }
}

TEST_CASE("two epochs of two steps against the enumeration of their sums", "[allocation][long]") {
  // The composition's δ is E_P[(1 − e^{ε−L})₊] with L = ln(S₁S₂) and S = (U+U′)/2: four normal variables, here by a
  // trapezoid rule in z with a step of 0.05 in each (its error for analytic integrands is far below the kink's, 1e-4).
  privacy_loss_accountant epochs(adjacency::add_remove);
  epochs.compose(sampled(gaussian{1.0}, random_allocation{2}), 2);
  constexpr int n = 241;
  std::vector<double> ratio(n);
  std::vector<double> mass(n);
  double const h = 16.0 / (n - 1);
  for (int k = 0; k < n; ++k) {
    double const z = -8.0 + h * k;
    ratio[static_cast<std::size_t>(k)] = std::exp(z - 0.5);
    mass[static_cast<std::size_t>(k)] =
        h * std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::acos(-1.0));
  }
  struct outcome {
    double s;
    double q;
  };
  std::vector<outcome> sums;
  for (std::size_t i = 0; i < ratio.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      sums.push_back({0.5 * (ratio[i] + ratio[j]), (i == j ? 1.0 : 2.0) * mass[i] * mass[j]});
    }
  }
  std::sort(sums.begin(), sums.end(), [](auto const& a, auto const& b) { return a.s < b.s; });
  // E(S₁S₂ − x)₊ by sums over the larger S₂ of every S₁.
  std::vector<double> q_above(sums.size() + 1, 0.0);
  std::vector<double> p_above(sums.size() + 1, 0.0);
  for (std::size_t k = sums.size(); k-- > 0;) {
    q_above[k] = q_above[k + 1] + sums[k].q;
    p_above[k] = p_above[k + 1] + sums[k].q * sums[k].s;
  }
  for (double const epsilon : {1.0, 3.0, 5.0}) {
    double const x = std::exp(epsilon);
    double delta = 0.0;
    for (auto const& first : sums) {
      auto const next = std::partition_point(sums.begin(), sums.end(),
                                             [&](auto const& o) { return o.s * first.s <= x; });
      auto const k = static_cast<std::size_t>(next - sums.begin());
      delta += first.q * (first.s * p_above[k] - x * q_above[k]);
    }
    bound<double> const found = epochs.delta(epsilon);
    CAPTURE(epsilon, delta);
    CHECK(found.lower <= delta * 1.001);
    CHECK(found.upper >= delta * 0.999);
    CHECK(found.upper - found.lower <= 0.02 * delta);
  }
}

// A grid that is too coarse for large ratios says nothing of large losses, and there is no Rényi curve: the upper end was ∞.
TEST_CASE("epochs have the upper end of one Gaussian where the grid has none",
          "[allocation][long]") {
  for (double const sigma : {0.5, 0.3, 0.1}) {
    for (std::uint64_t const count : {2U, 3U, 10U}) {
      CAPTURE(sigma, count);
      event const release(gaussian{sigma}, random_allocation{10, 1});
      double const mu = std::sqrt(static_cast<double>(count)) / sigma;
      double const revealed = epsilon(gaussian_dp{mu}, 1e-6).upper;
      bound<double> const exact = privacy_loss_accountant().compose(release, count).epsilon(1e-6);
      bound<double> const grid = discretised_accountant().compose(release, count).epsilon(1e-6);
      for (bound<double> const& found : {exact, grid}) {
        CHECK(found.lower > 0.0);
        CHECK(found.lower <= found.upper);
        CHECK(found.upper <= revealed * (1.0 + 1e-12));
      }
    }
  }
  // Beside pure losses and mass that one side alone can produce: 3 of 10 steps are 3 blocks of μ = 2.
  privacy_loss_accountant mixed;
  mixed.compose(event(gaussian{0.5}, random_allocation{10, 3}), 3);
  mixed.compose(event(laplace{0.7}), 5).compose(event(approx_dp{0.1, 1e-8}), 2);
  bound<double> const found = mixed.epsilon(1e-6);
  CHECK(found.lower <= found.upper);
  CHECK(found.upper <= epsilon(gaussian_dp{6.0}, 1e-6 - 2e-8).upper + 5.0 / 0.7 + 0.2 + 1e-9);
  // Mass of 2e-8 on one side alone bounds δ, not ε.
  CHECK(mixed.epsilon(1.9e-8).upper == std::numeric_limits<double>::infinity());
}

TEST_CASE("blocks, and what has no bound", "[allocation]") {
  // Ten of a thousand: ten blocks of a hundred.
  privacy_loss_accountant part(adjacency::add_remove);
  part.compose(sampled(gaussian{2.0}, random_allocation{1000, 10}), 1);
  privacy_loss_accountant blocks(adjacency::add_remove);
  blocks.compose(sampled(gaussian{2.0}, random_allocation{100}), 10);
  CHECK(part.epsilon(1e-6).upper == blocks.epsilon(1e-6).upper);
  CHECK_FALSE(part.method().attained());
  CHECK(blocks.method().attained());
  std::vector<composed> const uneven =
      epoch_blocks(sampled(gaussian{2.0}, random_allocation{10, 4}), 3);
  REQUIRE(uneven.size() == 2);
  CHECK(uneven[0] == composed{sampled(gaussian{2.0}, random_allocation{2}), 6});
  CHECK(uneven[1] == composed{sampled(gaussian{2.0}, random_allocation{3}), 6});
  // All blocks, or none: there is room for the first six releases, and not for six more.
  privacy_loss_accountant full(adjacency::add_remove);
  full.compose(gaussian{1e12}, std::numeric_limits<std::uint64_t>::max() - 8);
  bound<double> const before = full.epsilon(1e-6);
  CHECK_THROWS_AS(full.compose(sampled(gaussian{2.0}, random_allocation{10, 4}), 3),
                  std::domain_error);
  CHECK(full.epsilon(1e-6).upper == before.upper);
  basic_discretised<double> grid(adjacency::add_remove);
  grid.add(gaussian{1e12}, std::numeric_limits<std::uint64_t>::max() - 8);
  CHECK_THROWS_AS(grid.add(sampled(gaussian{2.0}, random_allocation{10, 4}), 3), std::domain_error);
  CHECK_NOTHROW(grid.add(gaussian{1e12}, 8));
  // However it is stated, no ε without δ.
  CHECK(pure_epsilon(part.history(), part.neighbours()).upper ==
        std::numeric_limits<double>::infinity());
  // One step is one release of all.
  privacy_loss_accountant one(adjacency::zero_out);
  one.compose(sampled(gaussian{2.0}, random_allocation{1}), 1);
  privacy_loss_accountant whole(adjacency::zero_out);
  whole.compose(gaussian{2.0}, 1);
  CHECK(one.epsilon(1e-6).upper == whole.epsilon(1e-6).upper);
  // Saved and loaded.
  std::string const text = blocks.save();
  CHECK(privacy_loss_accountant::load(text).save() == text);

  auto const refuses = [](auto accountant, event const& release) {
    CHECK_THROWS_AS(accountant.compose(release, 1), std::invalid_argument);
    CHECK(accountant.history().empty());
  };
  event const epoch = sampled(gaussian{1.0}, random_allocation{100});
  refuses(zcdp_accountant(adjacency::add_remove), by_person(epoch, 2));
  refuses(gaussian_accountant(adjacency::add_remove), by_person(epoch, 2));
  refuses(zcdp_accountant(adjacency::add_remove), epoch);
  refuses(gaussian_accountant(adjacency::add_remove), epoch);
  privacy_loss_accountant accountant(adjacency::add_remove);
  CHECK_THROWS_AS(accountant.compose(sampled(gaussian{1.0}, random_allocation{0}), 1),
                  std::domain_error);
  CHECK_THROWS_AS(accountant.compose(sampled(gaussian{1.0}, random_allocation{10, 11}), 1),
                  std::domain_error);
  CHECK_THROWS_AS(accountant.compose(sampled(gaussian{1.0}, random_allocation{10, 0}), 1),
                  std::domain_error);
}

TEST_CASE("an epoch of little noise is not above what its orders and fewer steps say",
          "[allocation]") {
  auto const by = [](auto accountant, std::uint64_t steps, double delta) {
    accountant.compose(sampled(gaussian{0.3}, random_allocation{steps}));
    return accountant.epsilon(delta);
  };
  for (double const delta : {1e-10, 1e-12}) {
    bound<double> const found = by(privacy_loss_accountant(), 1'000'000, delta);
    CAPTURE(delta, found.lower, found.upper);
    CHECK(found.upper <= by(renyi_accountant(), 1'000'000, delta).upper);
    CHECK(found.upper <= by(privacy_loss_accountant(), 10'000, delta).lower);
    CHECK(found.upper - found.lower <= 1e-5 * found.upper);
    // S ≥ U/t: no less than the whole release at δ, less log t.
    CHECK(found.upper >= epsilon(gaussian_dp{1.0 / 0.3}, delta).lower - std::log(1e6));
    privacy_loss_accountant one;
    one.compose(sampled(gaussian{0.3}, random_allocation{1'000'000}));
    CHECK(one.delta(found.upper).lower <= delta);
    CHECK(one.delta(found.lower).upper >= delta * (1.0 - 1e-9));
  }
}

TEST_CASE("ten epochs of little noise have two ends", "[allocation][long]") {
  privacy_loss_accountant at_once;
  renyi_accountant by_orders;
  event const epoch = sampled(gaussian{0.1}, random_allocation{100});
  at_once.compose(epoch, 10);
  by_orders.compose(epoch, 10);
  bound<double> const found = at_once.epsilon(1e-5);
  CAPTURE(found.lower, found.upper);
  CHECK(found.upper <= by_orders.epsilon(1e-5).upper);
  CHECK(found.lower >= 580.0);
  bound<double> const delta = at_once.delta(595.0);
  CHECK(delta.lower <= 1e-5);
  privacy_loss_accountant one_by_one;
  for (int k = 0; k < 10; ++k) one_by_one.compose(epoch);
  CHECK(one_by_one.epsilon(1e-5).lower == found.lower);
  CHECK(one_by_one.epsilon(1e-5).upper == found.upper);
}

TEST_CASE("several epochs of little noise against samples of their ratios", "[allocation][long]") {
  struct run {
    double noise;
    std::uint64_t steps;
    std::uint64_t epochs;
  };
  for (auto const& [noise, steps, epochs] : {run{0.3, 40, 2}, run{0.25, 100, 2}, run{0.3, 30, 3}}) {
    constexpr double delta = 0.02;
    privacy_loss_accountant account;
    account.compose(sampled(gaussian{noise}, random_allocation{steps}), epochs);
    bound<double> const found = account.epsilon(delta);
    CAPTURE(noise, steps, epochs, found.lower, found.upper);
    CHECK(found.upper - found.lower <= 0.02);
    // δ_remove(ε) = E_P(1 − e^ε/Πratio)₊ at both ends.
    std::mt19937_64 random(20261201);
    std::normal_distribution<double> normal;
    double const a = 1.0 / noise;
    constexpr int samples = 100'000;
    double sum[2] = {};
    double squares[2] = {};
    for (int k = 0; k < samples; ++k) {
      double loss = 0.0;
      for (std::uint64_t e = 0; e < epochs; ++e) {
        double ratio = std::exp(a * normal(random) + 0.5 * a * a);  // the record's own step
        for (std::uint64_t i = 1; i < steps; ++i) {
          ratio += std::exp(a * normal(random) - 0.5 * a * a);
        }
        loss += std::log(ratio / static_cast<double>(steps));
      }
      double const at[2] = {found.lower, found.upper};
      for (int end = 0; end < 2; ++end) {
        double const part = std::max(0.0, -std::expm1(at[end] - loss));
        sum[end] += part / samples;
        squares[end] += part * part / samples;
      }
    }
    double const error = 5.0 * std::sqrt(squares[0] / samples);
    CHECK(sum[0] >= delta - error);
    CHECK(sum[1] <= delta + error);
  }
}

TEST_CASE("several epochs of many steps and little noise are narrow", "[allocation][long]") {
  struct run {
    double noise;
    std::uint64_t steps;
    std::uint64_t epochs;
    double delta;
    double width;
  };
  for (auto const& [noise, steps, epochs, delta, width] :
       {run{0.3, 10'000, 2, 1e-9, 0.02}, run{0.3, 10'000, 3, 1e-6, 0.02},
        run{0.3, 100'000, 10, 1e-6, 0.06}}) {
    event const epoch = sampled(gaussian{noise}, random_allocation{steps});
    privacy_loss_accountant account;
    account.compose(epoch, epochs);
    bound<double> const found = account.epsilon(delta);
    CAPTURE(noise, steps, epochs, delta, found.lower, found.upper);
    CHECK(found.upper - found.lower <= width);
    renyi_accountant by_orders;
    by_orders.compose(epoch, epochs);
    CHECK(found.upper <= by_orders.epsilon(delta).upper);
    // No less than the own steps alone, and no more than so many epochs of fewer steps.
    double const own = std::sqrt(static_cast<double>(epochs)) / noise;
    double const hidden = static_cast<double>(epochs) * std::log(static_cast<double>(steps));
    CHECK(found.upper >= epsilon(gaussian_dp{own}, delta).lower - hidden);
    privacy_loss_accountant fewer;
    fewer.compose(sampled(gaussian{noise}, random_allocation{steps / 2}), epochs);
    CHECK(found.lower <= fewer.epsilon(delta).upper);
    CHECK(account.delta(found.upper).lower <= delta);
    CHECK(account.delta(found.lower).upper >= delta * (1.0 - 1e-9));
  }
}

namespace {

void compare_with_orders(std::uint64_t seed, int runs) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int k = 0; k < runs; ++k) {
    double const noise = 0.3 * std::pow(20.0 / 0.3, uniform(random));
    auto const steps = static_cast<std::uint64_t>(2.0 * std::pow(5e5, uniform(random)));
    double const delta = std::pow(10.0, -6.0 - 6.0 * uniform(random));
    auto const epochs =
        uniform(random) < 0.4 ? 1U : static_cast<std::uint64_t>(std::pow(1000.0, uniform(random)));
    privacy_loss_accountant certified;
    renyi_accountant by_orders;
    event const epoch = sampled(gaussian{noise}, random_allocation{steps});
    certified.compose(epoch, epochs);
    by_orders.compose(epoch, epochs);
    bound<double> const found = certified.epsilon(delta);
    double const most = by_orders.epsilon(delta).upper;
    CAPTURE(noise, steps, epochs, delta, found.lower, found.upper, most);
    CHECK(found.lower <= found.upper);
    CHECK(found.lower <= most);
    CHECK(found.upper <= 1.01 * most);  // it is asked where the interval is wider than that
  }
}

}  // namespace

TEST_CASE("epochs at random corners are within their orders", "[allocation][long]") {
  compare_with_orders(20261129, 8);
}
TEST_CASE("epochs at many random corners are within their orders", "[allocation][.sweep]") {
  compare_with_orders(20261130, 150);
}

TEST_CASE("an epoch of very many steps and little noise costs less than Poisson samples",
          "[allocation]") {
  for (double const sigma : {0.55, 0.6, 0.7, 0.8, 0.9}) {
    privacy_loss_accountant epoch(adjacency::add_remove);
    epoch.compose(sampled(gaussian{sigma}, random_allocation{1'000'000}));
    bound<double> const found = epoch.epsilon(1e-12);
    privacy_loss_accountant coins(adjacency::add_remove);
    coins.compose(sampled(gaussian{sigma}, poisson{1e-6}), 1'000'000);
    privacy_loss_accountant fewer(adjacency::add_remove);
    fewer.compose(sampled(gaussian{sigma}, random_allocation{500'000}));
    CAPTURE(sigma, found.lower, found.upper);
    CHECK(found.upper - found.lower <= 1e-6);
    CHECK(found.upper <= coins.epsilon(1e-12).lower);
    CHECK(found.upper <= fewer.epsilon(1e-12).upper);  // Lemma 10
    // And δ is its inverse.
    CHECK(epoch.delta(found.upper).lower <= 1e-12);
    CHECK(epoch.delta(found.lower).upper >= 1e-12);
  }
}
