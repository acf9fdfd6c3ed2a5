// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/coupled_profile.hpp>
#include <tacit/dp/coupled_ratio.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/pure_epsilon.hpp>
#include <tacit/dp/renyi.hpp>

#include "support/catch.hpp"
#include "support/laws.hpp"
#include "support/table.hpp"

#include <boost/math/special_functions/erf.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// Mixtures by the same coins: Poisson samples under replace_one, and batches under zero_out, of continuous noise.

using namespace tacit;
using support::exact;
using support::hockey_stick;
using support::table;

namespace {

using noise = coupled_pair::noise;

coupled_pair pair_of(table const& rows, std::size_t k) {
  double const q = rows.number(k, "q");
  return {rows.text(k, "noise") == "normal" ? noise::normal : noise::laplace,
          {{rows.number(k, "weight"), rows.number(k, "p"), q}},
          q > 0.0};
}

domination both(coupled_pair const& pair) { return {pair, pair, true, true}; }

double above(noise kind, double x) {
  if (kind == noise::normal) return 0.5 * std::erfc(x / std::sqrt(2.0));
  return x > 0.0 ? 0.5 * std::exp(-x) : 1.0 - 0.5 * std::exp(x);
}
double density(noise kind, double x) {
  if (kind == noise::normal) return std::exp(-0.5 * x * x) / std::sqrt(2.0 * 3.14159265358979324);
  return 0.5 * std::exp(-std::abs(x));
}

class random_numbers {
 public:
  explicit random_numbers(unsigned seed) : draw_(seed) {}
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(draw_);
  }
  double power(double low, double high) { return std::pow(10.0, between(low, high)); }

 private:
  std::mt19937_64 draw_;
};

}  // namespace

TEST_CASE("coupled pairs: profiles in 40 digits, in closed form and on the grid", "[dp]") {
  table const rows("dp_coupled.csv");
  REQUIRE(rows.size() > 50);
  std::size_t on_grid = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    coupled_pair const pair = pair_of(rows, k);
    double const epsilon = rows.number(k, "epsilon");
    exact const truth = rows.value(k, "delta");
    detail::coupled_profile<double> const profile(pair);
    bound<double> const found = profile.delta(epsilon);
    CAPTURE(k, rows.text(k, "noise"), pair.parts[0].weight, pair.parts[0].p, pair.parts[0].q,
            epsilon, found.lower, found.upper, static_cast<double>(truth));
    CHECK(exact(found.lower) <= truth);
    CHECK(truth <= exact(found.upper));
    CHECK(exact(found.upper) - exact(found.lower) <= truth * exact(1e-9));
    if (epsilon > 0.0 && truth < exact(0.9)) {
      double const delta = static_cast<double>(truth);
      bound<double> const inverse = profile.epsilon(delta);
      CAPTURE(inverse.lower, inverse.upper);
      CHECK(inverse.lower <= epsilon * (1.0 + 1e-12));
      CHECK(inverse.upper >= epsilon * (1.0 - 1e-12));
      CHECK(inverse.upper - inverse.lower <= 1e-9 * epsilon);
    }
    if (k % 3 != 0) continue;
    ++on_grid;
    discretised grid(adjacency::replace_one, 1e-3);
    grid.add(both(pair), 1);
    bound<double> const cells = grid.delta(epsilon);
    CAPTURE(cells.lower, cells.upper);
    CHECK(exact(cells.lower) <= truth);
    CHECK(truth <= exact(cells.upper));
  }
  CHECK(on_grid > 15);
}

TEST_CASE("points above a coupled profile are those of its half-lines", "[dp]") {
  random_numbers draw(7121);
  // By 50 digits, and all of the terms.
  struct sides {
    exact p;
    exact q;
  };
  for (int round = 0; round < 400; ++round) {
    noise const kind = round % 2 == 0 ? noise::normal : noise::laplace;
    auto const count = static_cast<std::size_t>(draw.between(1.0, 30.0));
    double const shift = draw.power(-3.0, 1.0);
    double const falls =
        draw.power(-4.0, 0.0);  // each weight that many times the one before, about
    coupled_pair pair{kind, {}};
    double weight = draw.power(-6.0, -0.5);
    for (std::size_t j = 1; j <= count && weight > 1e-280; ++j, weight *= falls) {
      double const half = weight * draw.between(0.1, 0.5);
      pair.parts.push_back({half, 2.0 * static_cast<double>(j) * shift,
                            -2.0 * (static_cast<double>(j) - 1.0) * shift});
    }
    detail::coupled_profile<> const profile(pair);
    double const most = pair.parts.back().p;
    double const t = kind == noise::normal ? draw.between(0.0, 1.0) * (most + 20.0) + shift
                                           : draw.between(shift, most);
    auto const beyond = [&](exact const& x) -> exact {
      if (kind == noise::normal) return boost::math::erfc(x / sqrt(exact(2))) / 2;
      return x > 0 ? exact(exp(-x) / 2) : exact(1 - exp(x) / 2);
    };
    auto const ratio = [&](double a) -> exact {
      if (kind == noise::normal) return exp(exact(a) * (exact(t) - exact(a) / 2));
      return exp(abs(exact(t)) - abs(exact(t) - exact(a)));
    };
    exact left = 1;
    sides density{0, 0};
    sides tail{0, 0};
    for (auto const& part : pair.parts) {
      left -= exact(part.weight);
      density.p += exact(part.weight) * ratio(part.p);
      density.q += exact(part.weight) * ratio(part.q);
      tail.p += exact(part.weight) * beyond(exact(t) - exact(part.p));
      tail.q += exact(part.weight) * beyond(exact(t) - exact(part.q));
    }
    exact const epsilon = log((density.p + left) / (density.q + left));
    tail.p += left * beyond(exact(t));
    tail.q += left * beyond(exact(t));
    exact const delta = tail.p - exp(epsilon) * tail.q;
    approx_dp const found = profile.above(t);
    CAPTURE(round, count, shift, falls, t, found.epsilon, found.delta, static_cast<double>(epsilon),
            static_cast<double>(delta));
    CHECK(exact(found.epsilon) >= epsilon);
    CHECK(exact(found.delta) >= delta);
    double const size = static_cast<double>(abs(epsilon));
    CHECK(found.epsilon <=
          std::max(0.0, static_cast<double>(epsilon) * (1.0 + 1e-12)) + 1e-13 * size + 1e-290);
    if (tail.p < exact(1e-290)) continue;
    // Where Q's probability is hardly a number, P's is all that is known.
    if (tail.q < exact(1e-290)) {
      CHECK(exact(found.delta) <= exact(1.0 + 1e-12) * tail.p);
      continue;
    }
    CHECK(exact(found.delta) - delta <= exact(1e-12) * (1 + epsilon) * tail.p);
  }
}

TEST_CASE("coupled pairs: Rényi divergences in 40 digits", "[dp]") {
  table const rows("dp_coupled_renyi.csv");
  REQUIRE(rows.size() == 20);
  std::size_t exactly = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    renyi_curve curve(pair_of(rows, k));
    double const order = rows.number(k, "order");
    exact const truth = rows.value(k, "divergence");
    CAPTURE(k, rows.text(k, "noise"), rows.text(k, "weight"), rows.text(k, "p"), rows.text(k, "q"),
            order, curve(order), static_cast<double>(truth));
    CHECK(exact(curve.upper(order)) >= truth);
    exactly += abs(exact(curve(order)) / truth - 1) < exact(1e-12);
  }
  CHECK(exactly > rows.size() * 9 / 10);
}

TEST_CASE("parts that move one side alone still weigh on the other", "[dp]") {
  // M = ∫ P^α·Q^{1−α}, by trapezoids of densities as the definition has them.
  auto const divergence = [](coupled_pair const& pair, double alpha) {
    double rest = 1.0;
    for (auto const& one : pair.parts) rest -= one.weight;
    double const step = 1.0 / 64.0;
    double sum = 0.0;
    for (double x = -40.0; x < 60.0; x += step) {
      double p = std::max(rest, 0.0) * density(noise::normal, x);
      double q = p;
      for (auto const& one : pair.parts) {
        p += one.weight * density(noise::normal, x - one.p);
        q += one.weight * density(noise::normal, x - one.q);
      }
      if (p > 0.0 && q > 0.0) {
        sum += step * std::exp(alpha * std::log(p) + (1.0 - alpha) * std::log(q));
      }
    }
    return std::log(sum) / (alpha - 1.0);
  };
  for (auto const& parts : {std::vector<coupled_pair::part>{{0.4, 1.0, 0.0}, {0.6, 3.0, -3.0}},
                            std::vector<coupled_pair::part>{{0.4, 0.0, -1.0}, {0.6, 3.0, -3.0}},
                            std::vector<coupled_pair::part>{{0.2, 0.0, 0.0}, {0.7, 2.0, -1.0}},
                            std::vector<coupled_pair::part>{{0.3, 0.5, 0.0}, {0.3, 1.0, 0.0}},
                            std::vector<coupled_pair::part>{{1.0, 0.0, -1.5}}}) {
    coupled_pair const pair{noise::normal, parts};
    for (double const alpha : {1.1, 1.5, 2.0}) {
      CAPTURE(parts.size(), parts[0].weight, parts[0].p, parts[0].q, alpha);
      double const truth = divergence(pair, alpha);
      renyi_curve curve(pair);
      CHECK(curve(alpha) == Approx(truth).epsilon(1e-8));
      CHECK(curve.upper(alpha) >= truth * (1.0 - 1e-9));
      CHECK(curve.upper(alpha) <= truth * (1.0 + 1e-8));
    }
  }
}

TEST_CASE("two releases of coupled pairs, by quadrature of one profile over the other's outputs",
          "[dp]") {
  for (noise const kind : {noise::normal, noise::laplace}) {
    for (double const weight : {0.05, 0.6}) {
      for (double const shift : {0.4, 1.5}) {
        // The loss, from the densities; δ of one release at any ε, from its best half-line.
        auto const mixed = [&](double x, double towards) {
          return weight * density(kind, x - towards) + (1.0 - weight) * density(kind, x);
        };
        auto const loss = [&](double x) { return std::log(mixed(x, shift) / mixed(x, -shift)); };
        auto const one = [&](double e) {
          double low = -40.0;
          double high = 40.0;
          if (loss(high) <= e) return 0.0;
          if (loss(low) >= e) return 1.0 - std::exp(e);
          for (int step = 0; step < 60; ++step) {
            double const middle = 0.5 * (low + high);
            (loss(middle) < e ? low : high) = middle;
          }
          auto const tail = [&](double towards) {
            return weight * above(kind, low - towards) + (1.0 - weight) * above(kind, low);
          };
          return tail(shift) - std::exp(e) * tail(-shift);
        };
        double const epsilon = 0.3 * weight;
        double two = 0.0;
        constexpr double width = 2e-3;
        double const reach = kind == noise::normal ? 11.0 : 40.0;
        for (double x = -reach + 0.5 * width; x < reach; x += width) {
          two += width * mixed(x, shift) * one(epsilon - loss(x));
        }
        discretised run(adjacency::replace_one, 1e-5);
        run.add(both({kind, {{weight, shift, -shift}}}), 2);
        bound<double> const found = run.delta(epsilon);
        CAPTURE(static_cast<int>(kind), weight, shift, two, found.lower, found.upper);
        CHECK(found.lower <= two * (1.0 + 1e-5));
        CHECK(found.upper >= two * (1.0 - 1e-5));
        CHECK(found.upper - found.lower <= 1e-3 * two);
      }
    }
  }
}

TEST_CASE(
    "continuous noise: every sample of every database, all adjacencies, persons of one or two",
    "[dp][samplers][long]") {
  // The outputs in cells of .05 give away no more than the outputs, and next to nothing less.
  constexpr double width = 0.05;
  constexpr int cells = 900;
  for (noise const kind : {noise::normal, noise::laplace}) {
    for (double const scale : {0.8, 2.0}) {
      auto const law_around = [&](double sum) {
        std::vector<double> law;
        for (int k = -cells; k < cells; ++k) {
          double const x = (width * k - sum) / scale;
          double const y = x + width / scale;
          law.push_back(x > 0.0 ? above(kind, x) - above(kind, y)
                                : above(kind, -y) - above(kind, -x));
        }
        return law;
      };
      std::vector<std::vector<double>> around;
      for (int sum = -9; sum <= 9; ++sum) around.push_back(law_around(sum));
      for (sampling const& how :
           std::vector<sampling>{poisson{0.3}, poisson{0.85}, fixed_size{1, 3}, fixed_size{2, 3},
                                 with_replacement{1, 3}, with_replacement{3, 3}}) {
        // The law of the released sum, over all samples of three records, or of fewer.
        auto const released = [&](std::vector<int> const& records) {
          std::vector<double> sums(19, 0.0);
          std::size_t const n = records.size();
          if (auto const* draws = std::get_if<with_replacement>(&how)) {
            std::size_t all = 1;
            for (std::uint64_t k = 0; k < draws->batch; ++k) all *= n;
            for (std::size_t code = 0; code < all; ++code) {
              int sum = 0;
              std::size_t rest = code;
              for (std::uint64_t k = 0; k < draws->batch; ++k) {
                sum += records[rest % n];
                rest /= n;
              }
              sums[static_cast<std::size_t>(sum + 9)] += 1.0 / static_cast<double>(all);
            }
          } else {
            double total = 0.0;
            for (std::size_t set = 0; set < std::size_t{1} << n; ++set) {
              int sum = 0;
              std::size_t taken = 0;
              for (std::size_t k = 0; k < n; ++k) {
                if ((set >> k & 1U) == 0U) continue;
                sum += records[k];
                ++taken;
              }
              double chance = 0.0;
              if (auto const* p = std::get_if<poisson>(&how)) {
                chance = std::pow(p->rate, static_cast<double>(taken)) *
                         std::pow(1.0 - p->rate, static_cast<double>(n - taken));
              } else if (taken == std::get<fixed_size>(how).batch) {
                chance = 1.0;
              }
              total += chance;
              sums[static_cast<std::size_t>(sum + 9)] += chance;
            }
            for (double& p : sums) p /= total;
          }
          std::vector<double> law(2 * cells, 0.0);
          for (std::size_t s = 0; s < sums.size(); ++s) {
            if (sums[s] == 0.0) continue;
            for (std::size_t k = 0; k < law.size(); ++k) law[k] += sums[s] * around[s][k];
          }
          return law;
        };
        for (adjacency const adjacent :
             {adjacency::add_remove, adjacency::zero_out, adjacency::replace_one}) {
          for (std::size_t const persons : std::vector<std::size_t>{1, 2}) {
            if (persons > 1 && std::holds_alternative<fixed_size>(how)) continue;
            mechanism_event const m = kind == noise::normal ? mechanism_event(gaussian{scale})
                                                            : mechanism_event(laplace{scale});
            domination const found = dominate(by_person(sampled(m, how), persons), adjacent);
            std::vector<double> const at{0.0, 0.05, 0.3, 1.0};
            std::vector<double> removed(at.size(), 0.0);
            std::vector<double> added(at.size(), 0.0);
            for (int code = 0; code < 27; ++code) {
              std::vector<int> const one{code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1};
              std::vector<std::vector<int>> others;
              std::vector<int> other = one;
              auto const end = other.begin() + static_cast<std::ptrdiff_t>(persons);
              if (adjacent == adjacency::add_remove) {
                other.erase(other.begin(), end);
                others.push_back(other);
              } else if (adjacent == adjacency::zero_out) {
                std::fill(other.begin(), end, 0);
                others.push_back(other);
              } else {
                for (int const value : {-1, 1}) {
                  std::fill(other.begin(), end, value);
                  others.push_back(other);
                }
              }
              std::vector<double> const p = released(one);
              for (std::vector<int> const& next : others) {
                std::vector<double> const q = released(next);
                for (std::size_t k = 0; k < at.size(); ++k) {
                  removed[k] = std::max(removed[k], hockey_stick(p, q, at[k]));
                  added[k] = std::max(added[k], hockey_stick(q, p, at[k]));
                }
              }
            }
            for (bool const add : {false, true}) {
              dominating_pair const& pair = add ? found.add : found.remove;
              discretised grid(adjacent, 1e-4);
              grid.add(domination{pair, pair, true, found.attained}, 1);
              for (std::size_t k = 0; k < at.size(); ++k) {
                double const truth = add ? added[k] : removed[k];
                bound<double> const bounds = grid.delta(at[k]);
                CAPTURE(static_cast<int>(kind), scale, how.index(), static_cast<int>(adjacent),
                        persons, add, at[k], truth, bounds.lower, bounds.upper);
                CHECK(truth <= bounds.upper + 1e-12);
                if (found.attained) CHECK(truth >= bounds.lower - 2e-3);
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("replaced records cost no less than removed ones, and no more than by joint convexity",
          "[dp]") {
  random_numbers draw(20261125);
  int asked = 0;
  for (int round = 0; round < 3000; ++round) {
    double const rate = round % 2 == 0 ? draw.power(-9.0, -0.05) : draw.between(0.0, 1.0);
    double const shift = 1.0 / draw.power(std::log10(0.05), 2.0);
    detail::coupled_profile<double> const replaced({noise::normal, {{rate, shift, -shift}}});
    detail::coupled_profile<double> const zeroed(
        {noise::normal, {{rate, 2.0 * shift, shift}}, true});
    detail::coupled_profile<double> const laplaces({noise::laplace, {{rate, shift, -shift}}});
    detail::coupled_profile<double> const in_batches(
        {noise::laplace, {{rate, 2.0 * shift, shift}}, true});
    mixture_pair const removed{{{rate, shift}}, orientation::remove};
    // At a loss of the noise before sampling, so that every part of the profile is asked for.
    double const inner = shift * (draw.between(-0.5, 9.0) + 0.5 * shift);
    if (!(inner > 0.0 && inner <= 700.0)) continue;
    double const epsilon = std::log1p(rate * std::expm1(inner));
    double const theta = std::exp(epsilon - inner);
    auto const convex = [&](auto&& of, double absent, double changed) {
      return rate * ((1.0 - theta) * of(absent) + theta * of(changed));
    };
    auto const gaussians = [&](double m) { return delta(gaussian_dp{m}, inner).upper; };
    auto const laplacians = [&](double m) { return std::max(0.0, -std::expm1(0.5 * (inner - m))); };
    ++asked;
    CAPTURE(rate, shift, inner, epsilon);
    double const slack = 1e-9;
    bound<double> const found = replaced.delta(epsilon);
    CHECK(found.lower <= convex(gaussians, shift, 2.0 * shift) * (1.0 + slack) + 1e-300);
    CHECK(found.upper >= detail::mixture_profile<double>(removed).delta(epsilon).lower);
    CHECK(found.upper - found.lower <= 1e-6 * found.upper + 1e-290);
    CHECK(zeroed.delta(epsilon).lower <=
          convex(gaussians, 2.0 * shift, shift) * (1.0 + slack) + 1e-300);
    double const rounding = 1e-13 * rate;
    CHECK(laplaces.delta(epsilon).lower <=
          convex(laplacians, shift, 2.0 * shift) * (1.0 + slack) + rounding);
    CHECK(in_batches.delta(epsilon).lower <=
          convex(laplacians, 2.0 * shift, shift) * (1.0 + slack) + rounding);
  }
  CHECK(asked > 2000);
}

TEST_CASE("at a rate of 1 a replaced record is a Gaussian of twice the shift", "[dp]") {
  for (double const sigma : {0.3, 1.0, 5.0, 100.0}) {
    privacy_loss nearly(adjacency::replace_one);
    nearly.add(sampled(gaussian{sigma}, poisson{1.0 - 0x1p-53}), 1);
    for (double const epsilon : {0.0, 0.1, 1.0}) {
      bound<double> const whole = delta(gaussian_dp{2.0 / sigma}, epsilon);
      bound<double> const found = nearly.delta(epsilon);
      CAPTURE(sigma, epsilon, whole.lower, whole.upper, found.lower, found.upper);
      CHECK(found.lower <= whole.upper);
      CHECK(found.upper >= whole.lower * (1.0 - 1e-12));
      CHECK(found.upper - found.lower <= 1e-9 * whole.upper);
    }
  }
  privacy_loss all(adjacency::replace_one);
  all.add(sampled(gaussian{2.0}, poisson{1.0}), 3);
  CHECK(all.epsilon(1e-5).upper == Approx(epsilon(gaussian_dp{std::sqrt(3.0)}, 1e-5).upper));
}

TEST_CASE("runs under replace_one and zero_out meet those of fine noise on the integers",
          "[dp][long]") {
  struct run {
    event continuous;
    event fine;
    adjacency neighbours;
  };
  sampling const samples = poisson{0.01};
  sampling const batches = fixed_size{600, 60000};
  std::vector<run> const runs{
      {sampled(gaussian{1.0}, samples), sampled(discrete_gaussian{200.0, 200}, samples),
       adjacency::replace_one},
      {sampled(laplace{1.0}, samples), sampled(discrete_laplace{200.0, 200}, samples),
       adjacency::replace_one},
      {sampled(gaussian{2.0}, batches), sampled(discrete_gaussian{200.0, 100}, batches),
       adjacency::zero_out},
      {sampled(laplace{2.0}, batches), sampled(discrete_laplace{200.0, 100}, batches),
       adjacency::zero_out},
      {by_person(sampled(gaussian{3.0}, samples), 3),
       by_person(sampled(discrete_gaussian{300.0, 100}, samples), 3), adjacency::replace_one},
      {by_person(sampled(laplace{3.0}, samples), 3),
       by_person(sampled(discrete_laplace{300.0, 100}, samples), 3), adjacency::zero_out},
      {sampled(gaussian{2.0}, with_replacement{6, 600}),
       sampled(discrete_gaussian{100.0, 50}, with_replacement{6, 600}), adjacency::add_remove}};
  for (run const& r : runs) {
    privacy_loss continuous(r.neighbours);
    privacy_loss fine(r.neighbours);
    continuous.add(r.continuous, 1000);
    fine.add(r.fine, 1000);
    bound<double> const found = continuous.epsilon(1e-5);
    bound<double> const other = fine.epsilon(1e-5);
    CAPTURE(found.lower, found.upper, other.lower, other.upper);
    CHECK(found.upper >= other.lower * (1.0 - 3e-4));
    CHECK(found.lower <= other.upper * (1.0 + 3e-4));
    CHECK(found.upper - found.lower <= 2e-2 * found.upper);
    basic_renyi<double> orders(r.neighbours);
    orders.add(r.continuous, 1000);
    CHECK(orders.epsilon(1e-5).upper >= found.lower);
    // Draws of one record several times are rare large losses, of which moments say little.
    bool const rare = std::holds_alternative<with_replacement>(r.continuous.how);
    CHECK(orders.epsilon(1e-5).upper <= (rare ? 3.0 : 1.4) * found.upper);
  }
}

TEST_CASE("replaced Laplace releases at δ = 0 have their largest loss", "[dp]") {
  double const rate = 0.02;
  double const largest =
      std::log((1.0 - rate + rate * std::exp(0.5)) / (1.0 - rate + rate * std::exp(-0.5)));
  std::vector<composed> const run{{sampled(laplace{2.0}, poisson{rate}), 5}};
  bound<double> const found = pure_epsilon(run, adjacency::replace_one);
  CHECK(found.lower <= 5.0 * largest * (1.0 + 1e-15));
  CHECK(found.upper >= 5.0 * largest * (1.0 - 1e-15));
  CHECK(found.upper - found.lower <= 1e-12 * largest);
  double const batch =
      std::log((1.0 - rate + rate * std::exp(1.0)) / (1.0 - rate + rate * std::exp(0.5)));
  std::vector<composed> const batches{{sampled(laplace{2.0}, fixed_size{1, 50}), 5}};
  bound<double> const zeroed = pure_epsilon(batches, adjacency::zero_out);
  CHECK(zeroed.lower == 0.0);
  CHECK(zeroed.upper == Approx(5.0 * batch));
}

TEST_CASE("six hundred different replaced releases meet the same ones that are alike", "[dp]") {
  discretised different(adjacency::replace_one);
  for (int k = 0; k < 600; ++k) {
    different.add(sampled(laplace{1.0 + 1e-7 * k}, poisson{0.01}), 1);
  }
  discretised alike(adjacency::replace_one);
  alike.add(sampled(laplace{1.0}, poisson{0.01}), 600);
  bound<double> const found = different.epsilon(1e-5);
  bound<double> const one = alike.epsilon(1e-5);
  CAPTURE(found.lower, found.upper, one.lower, one.upper);
  CHECK(found.lower <= one.upper);
  CHECK(found.upper >= one.lower * (1.0 - 1e-3));
  CHECK(found.upper - found.lower <= 0.05 * one.upper);
}

TEST_CASE("the output of a loss is where the pair loses it", "[dp]") {
  random_numbers draw(7);
  for (int round = 0; round < 2000; ++round) {
    double const shift = draw.power(-3.0, 1.5);
    double const weight = draw.power(-9.0, 0.0);
    noise const kind = round % 2 == 0 ? noise::normal : noise::laplace;
    for (coupled_pair const& pair : {coupled_pair{kind, {{weight, shift, -shift}}},
                                     coupled_pair{kind, {{weight, 2.0 * shift, shift}}, true},
                                     coupled_pair{kind,
                                                  {{weight, shift, -0.5 * shift},
                                                   {0.5 * (1.0 - weight), 3.0 * shift, -shift}}}}) {
      detail::coupled_ratio<double> const ratio(pair);
      double const low = pair.mirrored ? 1.5 * shift : -shift;
      double const high = kind == noise::normal ? 10.0 * (1.0 + shift) : 2.0 * shift;
      double const wanted =
          ratio.loss(low) + draw.between(0.001, 0.999) * (ratio.loss(high) - ratio.loss(low));
      double const x = ratio.output(wanted, low, high);
      CAPTURE(round, static_cast<int>(kind), pair.mirrored, shift, weight, wanted, x);
      CHECK(std::abs(ratio.loss(x) - wanted) <= 1e-12 * (std::abs(wanted) + ratio.loss(high)));
    }
  }
}

TEST_CASE("hundreds of different substituted Gaussians are answered as groups", "[coupled][long]") {
  auto const composed = [](std::size_t count, double ratio) {
    privacy_loss_accountant all(adjacency::replace_one);
    for (std::size_t k = 0; k < count; ++k) {
      double const part = static_cast<double>(k) / static_cast<double>(count - 1);
      all.compose(sampled(gaussian{std::pow(ratio, part)}, poisson{0.01}));
    }
    return all;
  };
  auto const equal = [](double sigma) {
    privacy_loss_accountant all(adjacency::replace_one);
    all.compose(sampled(gaussian{sigma}, poisson{0.01}), 300);
    return all.epsilon(1e-5);
  };
  // Next to equal ones cost what equal ones do.
  bound<double> const near = composed(300, 1.0 + 1e-9).epsilon(1e-5);
  CHECK(near.lower <= equal(1.0).upper);
  CHECK(near.upper >= equal(1.0 + 1e-9).lower);
  CHECK(near.upper - near.lower <= 1e-3 * near.upper);
  bound<double> const spread = composed(300, 2.0).epsilon(1e-5);
  CHECK(spread.lower >= equal(2.0).lower);
  CHECK(spread.upper <= equal(1.0).upper);
  CHECK(spread.upper - spread.lower <= 0.05 * spread.upper);
  bound<double> const more = composed(1000, 2.0).delta(1.0);
  CHECK(more.lower >= composed(300, 2.0).delta(1.0).lower);
  CHECK(more.upper - more.lower <= 0.3 * more.upper);
}

TEST_CASE("the weight of no record is known as well as the others", "[dp]") {
  // In 40 digits from the definition. No record is drawn with a probability of 1e-12, 1e-14 and 1e-14.
  struct question {
    std::uint64_t records;
    double rate;
    double noise;
    double delta;
    double truth;
  };
  for (question const& one : {question{6, 0.99, 1.0, 1e-6, 73.27559836617145},
                              question{2, 0.9999999, 0.2, 1e-6, 128.9534626614760378803},
                              question{14, 0.9, 1.0, 1e-6, 190.1783834140765}}) {
    event const release = by_person(sampled(gaussian{one.noise}, poisson{one.rate}), one.records);
    CAPTURE(one.records, one.rate);
    CHECK(dominate(release, adjacency::replace_one).attained);
    privacy_loss_accountant run(adjacency::replace_one);
    run.compose(release, 1);
    bound<double> const found = run.epsilon(one.delta);
    CHECK(found.lower <= one.truth * (1.0 + 1e-15));
    CHECK(found.upper >= one.truth * (1.0 - 1e-15));
    CHECK(found.upper - found.lower <= 1e-12 * one.truth);
  }
  event const steps = by_person(sampled(gaussian{1.0}, poisson{0.99}), 6);
  privacy_loss_accountant run(adjacency::replace_one);
  run.compose(steps, 1);
  bound<double> const found = run.delta(60.0);
  CHECK(found.lower <= 0.005020028972007418396587 * (1.0 + 1e-15));
  CHECK(found.upper >= 0.005020028972007418396587 * (1.0 - 1e-15));
  CHECK(found.upper - found.lower <= 1e-11 * found.upper);
  // Noise on the integers.
  event const integers = by_person(sampled(discrete_gaussian{1.0, 1}, poisson{0.99}), 7);
  privacy_loss_accountant whole(adjacency::replace_one);
  whole.compose(integers, 1);
  bound<double> const delta = whole.delta(80.0);
  CHECK(delta.lower <= 0.00012504608);
  CHECK(delta.upper >= 0.00012504607);
  CHECK(delta.upper - delta.lower <= 1e-9 * delta.upper);
}
