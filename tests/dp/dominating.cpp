// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/privacy_loss.hpp>

#include "support/catch.hpp"
#include "support/laws.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// The mechanisms themselves, on databases so small that every sample, every neighbour and every
// outcome can be enumerated, against the pairs that are said to dominate them.

namespace {

using tacit::adjacency;
using tacit::allocation_pair;
using tacit::amplified_pair;
using tacit::approx_dp;
using tacit::bounded_pair;
using tacit::by_person;
using tacit::coupled_pair;
using tacit::discrete_gaussian;
using tacit::discrete_laplace;
using tacit::dominate;
using tacit::dominating_pair;
using tacit::domination;
using tacit::event;
using tacit::exponential_mechanism;
using tacit::finite_pair;
using tacit::fixed_size;
using tacit::gaussian;
using tacit::gaussian_dp;
using tacit::laplace;
using tacit::lattice_pair;
using tacit::matrix_gaussian;
using tacit::mechanism_event;
using tacit::mixture_pair;
using tacit::normal_pair;
using tacit::orientation;
using tacit::poisson;
using tacit::pure;
using tacit::randomised_response;
using tacit::sampled;
using tacit::sampling;
using tacit::shuffled;
using tacit::unsampled;
using tacit::with_replacement;

std::vector<double> const epsilons{-3.0, -2.0,  -1.2, -0.7, -0.3, -0.1, -0.01, -1e-6, 0.0, 1e-6,
                                   0.01, 0.033, 0.1,  0.2,  0.45, 0.7,  1.0,   1.4,   2.0, 3.0};

// δ(ε) of a pair, from its definition.

double tail(double x) { return 0.5 * std::erfc(x / std::sqrt(2.0)); }

double normal_profile(double mu, double e) {
  if (mu == 0.0) return std::max(0.0, -std::expm1(e));
  return std::max(0.0, tail(e / mu - 0.5 * mu) - std::exp(e) * tail(e / mu + 0.5 * mu));
}

/// δ(−ε) of the pair in the other order.
double turned(double delta_at_minus, double e) {
  return -std::expm1(e) + std::exp(e) * delta_at_minus;
}

/// What sampling makes of a profile in the direction `remove`, at every real ε.
template <class Profile>
double sampled_profile(Profile profile, double rate, double e) {
  double const inner = 1.0 + std::expm1(e) / rate;
  return inner <= 0.0 ? -std::expm1(e) : rate * profile(std::log(inner));
}

struct profile_of {
  double e;

  double operator()(normal_pair const& p) const { return normal_profile(p.mu, e); }

  double operator()(mixture_pair const& p) const {
    if (p.orientation == orientation::add) {
      mixture_pair other = p;
      other.orientation = orientation::remove;
      return turned(profile_of{-e}(other), e);
    }
    double rest = 1.0;
    for (auto const& part : p.parts) rest -= part.weight;
    rest = std::max(0.0, rest);
    auto const ratio = [&](double x) {
      double sum = rest;
      for (auto const& part : p.parts) {
        sum += part.weight * std::exp(part.shift * (x - 0.5 * part.shift));
      }
      return sum;
    };
    if (std::exp(e) <= rest) return -std::expm1(e);
    double low = -60.0;
    double high = 60.0;
    for (int k = 0; k < 200; ++k) {
      double const middle = 0.5 * (low + high);
      (ratio(middle) < std::exp(e) ? low : high) = middle;
    }
    double delta = (rest - std::exp(e)) * tail(low);
    for (auto const& part : p.parts) delta += part.weight * tail(low - part.shift);
    return delta;
  }

  // Of the unsampled one; its density is integrated exactly.
  static double bounded(bounded_pair const& p, double e) {
    if (e >= p.epsilon) return 0.0;
    if (e <= -p.epsilon) return -std::expm1(e);
    double const c = p.epsilon == 0.0 ? 0.0
                                      : -0.5 * (1.0 - p.atom * (1.0 + std::exp(-p.epsilon))) /
                                            std::expm1(-p.epsilon);
    double const root = std::exp(0.5 * (e - p.epsilon));
    return p.atom * -std::expm1(e - p.epsilon) + 2.0 * c * (1.0 - root) * (1.0 - root);
  }
  double operator()(bounded_pair const& p) const {
    auto const base = [&p](double x) { return bounded(p, x); };
    return p.orientation == orientation::remove ? sampled_profile(base, p.rate, e)
                                                : turned(sampled_profile(base, p.rate, -e), e);
  }

  double operator()(lattice_pair const& p) const {
    double total = 0.0;
    double delta = 0.0;
    double const shift = static_cast<double>(p.shift);
    for (double k = -80.0; k <= 80.0; k += 1.0) {
      double const without = std::exp(-0.5 * k * k / (p.sigma * p.sigma));
      double const away = k - shift;
      double const with =
          p.rate * std::exp(-0.5 * away * away / (p.sigma * p.sigma)) + (1.0 - p.rate) * without;
      total += without;
      delta += p.orientation == orientation::remove ? std::max(0.0, with - std::exp(e) * without)
                                                    : std::max(0.0, without - std::exp(e) * with);
    }
    return delta / total;
  }

  double operator()(finite_pair const& p) const {
    double delta = p.infinite;
    for (auto const& a : p.atoms) {
      if (a.loss > e) delta += a.p - std::exp(e) * a.q;
    }
    return delta;
  }

  double operator()(allocation_pair const&) const {
    throw std::logic_error("the profile of random allocation is the subject of dp/allocation.cpp");
  }
  double operator()(tacit::allocated_pair const&) const {
    throw std::logic_error("that of other mechanisms, of dp/allocated.cpp");
  }

  double operator()(amplified_pair const& p) const {
    if (e < 0.0) return turned(profile_of{-e}(p), e);
    double const inner = std::log1p(std::expm1(e) / p.rate);
    double const theta = std::exp(e - inner);
    auto const noise = [&](double m) {
      if (p.kind == amplified_pair::noise::normal) return normal_profile(m, inner);
      return std::max(0.0, -std::expm1(0.5 * (inner - m)));
    };
    return p.rate * ((1.0 - theta) * noise(p.absent) + theta * noise(p.changed));
  }

  // By cells of the output, with the likelihood ratio that they have on average.
  double operator()(coupled_pair const& p) const {
    if (p.mirrored && e < 0.0) return turned(profile_of{-e}(p), e);
    auto const above = [&](double x) {
      if (p.kind == coupled_pair::noise::normal) return 0.5 * std::erfc(x / std::sqrt(2.0));
      return x > 0.0 ? 0.5 * std::exp(-x) : 1.0 - 0.5 * std::exp(x);
    };
    double reach = 12.0;
    for (auto const& part : p.parts) reach = std::max(reach, 12.0 + std::abs(part.p) - part.q);
    double const limit = p.kind == coupled_pair::noise::normal ? reach : reach + 20.0;
    constexpr double width = 1e-3;
    double delta = 0.0;
    for (double x = -limit; x < limit; x += width) {
      auto const in = [&](double mean) {
        // The smaller of two tails has the digits.
        return x > mean ? above(x - mean) - above(x + width - mean)
                        : above(mean - x - width) - above(mean - x);
      };
      double with = in(0.0);
      double without = with;
      for (auto const& part : p.parts) {
        with += part.weight * (in(part.p) - in(0.0));
        without += part.weight * (in(part.q) - in(0.0));
      }
      delta += std::max(0.0, with - std::exp(e) * without);
    }
    return delta;
  }
};

double profile(dominating_pair const& pair, double e) { return std::visit(profile_of{e}, pair); }

// Mechanisms, enumerated.

using law = std::vector<double>;
using support::hockey_stick;
using database = std::vector<int>;  // contributions, or whatever a mechanism looks at

/// The law of a mechanism's outcome over all samples, each with its probability.
class sampler {
 public:
  virtual ~sampler() = default;
  [[nodiscard]] virtual law operator()(database const& batch) const = 0;

  [[nodiscard]] law operator()(database const& records, sampling const& how) const {
    if (auto const* p = std::get_if<poisson>(&how)) {
      return mixed(records, [&](std::size_t taken) {
        double const k = static_cast<double>(taken);
        return std::pow(p->rate, k) *
               std::pow(1.0 - p->rate, static_cast<double>(records.size()) - k);
      });
    }
    if (auto const* f = std::get_if<fixed_size>(&how)) {
      double ways = 1.0;
      for (std::uint64_t j = 0; j < f->batch; ++j) {
        ways *= static_cast<double>(f->records - j) / static_cast<double>(j + 1);
      }
      return mixed(records,
                   [&](std::size_t taken) { return taken == f->batch ? 1.0 / ways : 0.0; });
    }
    return (*this)(records);
  }

 private:
  template <class Weight>
  law mixed(database const& records, Weight weight) const {
    law out;
    for (std::size_t set = 0; set < (std::size_t{1} << records.size()); ++set) {
      database batch;
      for (std::size_t i = 0; i < records.size(); ++i) {
        if (((set >> i) & 1) != 0) batch.push_back(records[i]);
      }
      double const w = weight(batch.size());
      if (w == 0.0) continue;
      law const of_batch = (*this)(batch);
      out.resize(of_batch.size());
      for (std::size_t k = 0; k < out.size(); ++k) out[k] += w * of_batch[k];
    }
    return out;
  }
};

int sum_of(database const& batch) {
  int sum = 0;
  for (int const x : batch) sum += x;
  return sum;
}

/// A sum plus noise; the laws around every sum from −limit to limit are kept.
class noisy_sum final : public sampler {
 public:
  noisy_sum(int limit, std::function<law(int)> const& around) : limit_(limit) {
    for (int sum = -limit; sum <= limit; ++sum) laws_.push_back(around(sum));
  }
  [[nodiscard]] law operator()(database const& batch) const override {
    return laws_.at(static_cast<std::size_t>(sum_of(batch) + limit_));
  }
  using sampler::operator();

 private:
  int limit_;
  std::vector<law> laws_;
};

noisy_sum with_discrete_laplace(double scale, int limit) {
  return {limit, [scale](int sum) {
            law out;
            double const edge = std::exp(-1.0 / scale);
            for (int k = -90; k <= 90; ++k) {
              out.push_back((1.0 - edge) / (1.0 + edge) * std::exp(-std::abs(k - sum) / scale));
            }
            return out;
          }};
}

noisy_sum with_discrete_gaussian(double sigma, int limit) {
  return {limit, [sigma](int sum) {
            law out;
            double total = 0.0;
            for (int k = -40; k <= 40; ++k) {
              out.push_back(std::exp(-0.5 * (k - sum) * (k - sum) / (sigma * sigma)));
              total += std::exp(-0.5 * k * k / (sigma * sigma));
            }
            for (double& mass : out) mass /= total;
            return out;
          }};
}

// Of a continuous outcome only the cell is known, which can only lose information: the enumerated δ is below the
// mechanism's, by about 1e-5.
template <class Cdf>
law in_cells(Cdf cdf, double range, double width) {
  law out;
  double before = 0.0;
  for (double x = -range; x <= range; x += width) {
    double const now = cdf(x);
    out.push_back(now - before);
    before = now;
  }
  out.push_back(1.0 - before);
  return out;
}

noisy_sum with_normal(double sigma, int limit, double width = 0.02) {
  return {limit, [=](int sum) {
            return in_cells([=](double x) { return tail((sum - x) / sigma); },
                            static_cast<double>(limit) + 8.0 * sigma, width);
          }};
}

noisy_sum with_laplace(double scale, int limit, double width = 0.02) {
  return {limit, [=](int sum) {
            return in_cells(
                [=](double x) {
                  double const y = (x - sum) / scale;
                  return y < 0.0 ? 0.5 * std::exp(y) : 1.0 - 0.5 * std::exp(-y);
                },
                static_cast<double>(limit) + 12.0 * scale, width);
          }};
}

/// One answer a record of the batch, in an order that tells nothing about who it is.
class responses final : public sampler {
 public:
  responses(double epsilon, int categories) : epsilon_(epsilon), categories_(categories) {}
  [[nodiscard]] law operator()(database const& batch) const override {
    law out{1.0};
    double const other = 1.0 / (std::exp(epsilon_) + categories_ - 1);
    for (int const truth : batch) {
      law longer;
      for (double const mass : out) {
        for (int k = 0; k < categories_; ++k) {
          longer.push_back(mass * other * (k == truth ? std::exp(epsilon_) : 1.0));
        }
      }
      out = std::move(longer);
    }
    return out;
  }
  using sampler::operator();

 private:
  double epsilon_;
  int categories_;
};

/// Whether record 1 is in the batch: revealed outright with probability δ, by randomised response otherwise.
class tell_tale final : public sampler {
 public:
  tell_tale(double epsilon, double delta) : epsilon_(epsilon), delta_(delta) {}
  [[nodiscard]] law operator()(database const& batch) const override {
    bool const in = std::find(batch.begin(), batch.end(), 1) != batch.end();
    double const right = (1.0 - delta_) / (1.0 + std::exp(-epsilon_));
    double const wrong = 1.0 - delta_ - right;
    return in ? law{delta_, right, wrong, 0.0} : law{0.0, wrong, right, delta_};
  }
  using sampler::operator();

 private:
  double epsilon_;
  double delta_;
};

/// Each record votes for the outcomes in its bits; outcome y has weight e^{ε·votes/range}: range 1 where
/// votes only come or go, 2 where they also change.
class election final : public sampler {
 public:
  election(double epsilon, double range) : per_vote_(epsilon / range) {}
  [[nodiscard]] law operator()(database const& batch) const override {
    law out(3);
    double total = 0.0;
    for (std::size_t y = 0; y < out.size(); ++y) {
      double votes = 0.0;
      for (int const record : batch) votes += static_cast<double>((record >> y) & 1);
      total += out[y] = std::exp(per_vote_ * votes);
    }
    for (double& mass : out) mass /= total;
    return out;
  }
  using sampler::operator();

 private:
  double per_vote_;
};

// Neighbours.

struct pair_of_databases {
  database with;
  database without;
};

/// All neighbours over the given values, with `others` more records; the first `changed` differ.
std::vector<pair_of_databases> neighbours(adjacency how, database const& values, std::size_t others,
                                          std::size_t changed = 1) {
  std::vector<pair_of_databases> out;
  std::vector<database> all{{}};
  std::size_t const size = others + changed * (how == adjacency::replace_one ? 2 : 1);
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<database> longer;
    for (database const& d : all) {
      for (int const x : values) {
        longer.push_back(d);
        longer.back().push_back(x);
      }
    }
    all = std::move(longer);
  }
  for (database const& d : all) {
    auto const from = [&](std::size_t k) { return d.begin() + static_cast<std::ptrdiff_t>(k); };
    pair_of_databases two{{d.begin(), from(changed)}, {}};
    if (how == adjacency::zero_out) two.without.assign(changed, 0);
    if (how == adjacency::replace_one) two.without.assign(from(changed), from(2 * changed));
    two.with.insert(two.with.end(), from(size - others), d.end());
    two.without.insert(two.without.end(), from(size - others), d.end());
    out.push_back(std::move(two));
  }
  return out;
}

/// The largest δ of a mechanism at each ε, in both orders of the neighbours.
struct worst {
  std::vector<double> remove = std::vector<double>(epsilons.size());
  std::vector<double> add = std::vector<double>(epsilons.size());
};

template <class Mechanism>
worst enumerated(Mechanism const& mechanism, sampling const& how,
                 std::vector<pair_of_databases> const& all) {
  worst out;
  for (auto const& two : all) {
    law const with = mechanism(two.with, how);
    law const without = mechanism(two.without, how);
    for (std::size_t k = 0; k < epsilons.size(); ++k) {
      out.remove[k] = std::max(out.remove[k], hockey_stick(with, without, epsilons[k]));
      out.add[k] = std::max(out.add[k], hockey_stick(without, with, epsilons[k]));
    }
  }
  return out;
}

/// Every enumerated δ is below the pair's; if the pair is attained, by no more than `resolution`.
void check_domination(domination const& found, worst const& truth, double resolution = 1e-11) {
  for (std::size_t k = 0; k < epsilons.size(); ++k) {
    CAPTURE(epsilons[k]);
    double const remove = profile(found.remove, epsilons[k]);
    double const add = profile(found.add, epsilons[k]);
    CHECK(truth.remove[k] <= remove + 1e-12);
    CHECK(truth.add[k] <= add + 1e-12);
    if (found.attained) {
      CHECK(truth.remove[k] >= remove - resolution);
      CHECK(truth.add[k] >= add - resolution);
    }
  }
}

std::string refusal(event const& release, adjacency how) {
  try {
    static_cast<void>(dominate(release, how));
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "";
}

constexpr adjacency all_adjacencies[] = {adjacency::add_remove, adjacency::replace_one,
                                         adjacency::zero_out};

}  // namespace

TEST_CASE("discrete mechanisms without sampling attain their pairs", "[dp][dominating]") {
  for (adjacency const how : all_adjacencies) {
    for (int const records : {1, 2}) {
      for (int const sensitivity : {1, 2}) {
        database values;
        for (int x = -sensitivity; x <= sensitivity; ++x) values.push_back(x);
        auto const all = neighbours(how, values, 0, static_cast<std::size_t>(records));
        int const limit = 2 * sensitivity;
        auto const s = static_cast<std::uint64_t>(sensitivity);
        auto const r = static_cast<std::uint64_t>(records);
        CAPTURE(static_cast<int>(how), records, sensitivity);
        auto const l = dominate(by_person(discrete_laplace{1.7, s}, r), how);
        auto const g = dominate(by_person(discrete_gaussian{1.1, s}, r), how);
        CHECK((l.symmetric && l.attained && g.symmetric && g.attained));
        check_domination(l, enumerated(with_discrete_laplace(1.7, limit), unsampled{}, all));
        check_domination(g, enumerated(with_discrete_gaussian(1.1, limit), unsampled{}, all));
      }
    }
  }
}

TEST_CASE("Poisson samples of discrete mechanisms attain their pairs, for either direction",
          "[dp][dominating]") {
  for (adjacency const how : {adjacency::add_remove, adjacency::zero_out}) {
    auto const all = neighbours(how, {-1, 0, 1}, 2);
    for (double const rate : {0.01, 0.3, 0.9}) {
      CAPTURE(static_cast<int>(how), rate);
      auto const l = dominate(sampled(discrete_laplace{0.8}, poisson{rate}), how);
      auto const g = dominate(sampled(discrete_gaussian{0.7}, poisson{rate}), how);
      CHECK((!l.symmetric && l.attained && !g.symmetric && g.attained));
      check_domination(l, enumerated(with_discrete_laplace(0.8, 3), poisson{rate}, all));
      check_domination(g, enumerated(with_discrete_gaussian(0.7, 3), poisson{rate}, all));
    }
  }
}

TEST_CASE("Poisson samples of a normal and a Laplace sum attain their pairs", "[dp][dominating]") {
  for (adjacency const how : {adjacency::add_remove, adjacency::zero_out}) {
    auto const all = neighbours(how, {-1, 0, 1}, 1);
    for (double const rate : {0.02, 0.4}) {
      CAPTURE(static_cast<int>(how), rate);
      auto const g = dominate(sampled(gaussian{0.8}, poisson{rate}), how);
      auto const l = dominate(sampled(laplace{0.6}, poisson{rate}), how);
      CHECK((!g.symmetric && g.attained && !l.symmetric && l.attained));
      check_domination(g, enumerated(with_normal(0.8, 2), poisson{rate}, all), 3e-4);
      check_domination(l, enumerated(with_laplace(0.6, 2), poisson{rate}, all), 3e-4);
    }
  }
}

TEST_CASE("normal and Laplace sums without sampling attain their pairs", "[dp][dominating]") {
  for (adjacency const how : all_adjacencies) {
    for (int const records : {1, 2}) {
      auto const all = neighbours(how, {-1, 0, 1}, 0, static_cast<std::size_t>(records));
      auto const r = static_cast<std::uint64_t>(records);
      CAPTURE(static_cast<int>(how), records);
      auto const g = dominate(by_person(gaussian{1.3}, r), how);
      auto const l = dominate(by_person(laplace{1.3}, r), how);
      CHECK((g.symmetric && g.attained && l.symmetric && l.attained));
      check_domination(g, enumerated(with_normal(1.3, 2), unsampled{}, all), 1e-4);
      check_domination(l, enumerated(with_laplace(1.3, 2), unsampled{}, all), 1e-4);
    }
  }
}

TEST_CASE(
    "Poisson samples under replace_one attain their pairs, batches of a fixed size stay below",
    "[dp][dominating][long]") {
  struct scheme {
    sampling how;
    adjacency neighbours;
  };
  for (auto const& [how, adjacent] : std::vector<scheme>{{poisson{0.05}, adjacency::replace_one},
                                                         {poisson{0.6}, adjacency::replace_one},
                                                         {fixed_size{1, 3}, adjacency::replace_one},
                                                         {fixed_size{2, 3}, adjacency::replace_one},
                                                         {fixed_size{1, 3}, adjacency::zero_out},
                                                         {fixed_size{2, 3}, adjacency::zero_out}}) {
    auto const all = neighbours(adjacent, {-1, 0, 1}, 2);
    for (double const noise : {0.4, 1.0, 2.5}) {
      CAPTURE(how.index(), static_cast<int>(adjacent), noise);
      auto const g = dominate(sampled(gaussian{noise}, how), adjacent);
      auto const l = dominate(sampled(laplace{noise}, how), adjacent);
      bool const attained = std::holds_alternative<poisson>(how);
      CHECK((g.symmetric && g.attained == attained && l.symmetric && l.attained == attained));
      CHECK(g.remove == g.add);
      // Outputs are told apart in cells of .1.
      double const resolution = std::max(1e-3, 0.03 * std::pow(0.1 / noise, 2));
      check_domination(g, enumerated(with_normal(noise, 3, 0.1), how, all), resolution);
      check_domination(l, enumerated(with_laplace(noise, 3, 0.1), how, all), resolution);
    }
  }
}

TEST_CASE("batches of a fixed size of discrete mechanisms stay below the mirrored pair",
          "[dp][dominating]") {
  for (std::uint64_t const batch : {std::uint64_t{1}, std::uint64_t{2}}) {
    fixed_size const how{batch, 3};
    auto const sums = neighbours(adjacency::replace_one, {-1, 0, 1}, 2);
    for (double const scale : {0.4, 1.5}) {
      CAPTURE(batch, scale);
      auto const found = dominate(sampled(discrete_laplace{scale}, how), adjacency::replace_one);
      CHECK((found.symmetric && !found.attained));
      check_domination(found, enumerated(with_discrete_laplace(scale, 3), how, sums));
    }
    for (int const categories : {2, 3}) {
      database values{0, 1};
      if (categories == 3) values.push_back(2);
      auto const answers = neighbours(adjacency::replace_one, values, 2);
      for (double const epsilon : {0.3, 2.0}) {
        CAPTURE(batch, categories, epsilon);
        auto const found = dominate(
            sampled(randomised_response{epsilon, static_cast<std::uint64_t>(categories)}, how),
            adjacency::replace_one);
        check_domination(found, enumerated(responses(epsilon, categories), how, answers));
      }
    }
    // A guarantee under replace_one: one batch in which a record was exchanged for another.
    for (double const delta : {0.0, 0.1}) {
      auto const neighbouring = neighbours(adjacency::replace_one, {1, 2}, 2);
      mechanism_event const m =
          delta == 0.0 ? mechanism_event(pure{1.1}) : mechanism_event(approx_dp{1.1, delta});
      auto const found = dominate(sampled(m, how), adjacency::replace_one);
      CHECK((found.symmetric && !found.attained));
      check_domination(found, enumerated(tell_tale(1.1, delta), how, neighbouring));
    }
  }
}

TEST_CASE("randomised response attains its pair", "[dp][dominating]") {
  for (int const categories : {2, 3, 5}) {
    database values;
    for (int k = 0; k < categories; ++k) values.push_back(k);
    auto const all = neighbours(adjacency::replace_one, values, 1);
    for (double const epsilon : {0.0, 0.4, 2.5}) {
      CAPTURE(categories, epsilon);
      auto const found =
          dominate(randomised_response{epsilon, static_cast<std::uint64_t>(categories)},
                   adjacency::replace_one);
      CHECK((found.symmetric && found.attained));
      check_domination(found, enumerated(responses(epsilon, categories), unsampled{}, all));
    }
  }
}

TEST_CASE("a pure or approximate guarantee's pair is attained, sampled by Poisson or not",
          "[dp][dominating]") {
  auto const all = neighbours(adjacency::add_remove, {1}, 0);
  for (double const delta : {0.0, 1e-3, 0.2}) {
    for (double const epsilon : {0.0, 0.5, 2.0}) {
      mechanism_event const m = delta == 0.0 ? mechanism_event(pure{epsilon})
                                             : mechanism_event(approx_dp{epsilon, delta});
      for (sampling const& how : std::vector<sampling>{unsampled{}, poisson{0.01}, poisson{0.7}}) {
        CAPTURE(delta, epsilon, how.index());
        auto const found = dominate(sampled(m, how), adjacency::add_remove);
        CHECK(found.attained);
        CHECK(found.symmetric == std::holds_alternative<unsampled>(how));
        check_domination(found, enumerated(tell_tale(epsilon, delta), how, all));
      }
    }
  }
}

TEST_CASE("Poisson samples of a guarantee have its δ that many times where a record is not absent",
          "[dp][dominating]") {
  // One record answers, or is seen not to: δ is q times that of the answer. More cannot be said, nor less.
  for (adjacency const how : {adjacency::replace_one, adjacency::zero_out}) {
    for (double const rate : {1e-9, 0.01, 0.3, 0.999}) {
      for (mechanism_event const& m : std::vector<mechanism_event>{
               pure{0.7}, approx_dp{0.5, 1e-3}, exponential_mechanism{0.4}, tacit::gaussian_dp{0.9},
               tacit::dp_profile{{{0.0, 0.1}, {1.0, 0.01}}}}) {
        CAPTURE(rate, m.index());
        auto const found = dominate(sampled(m, poisson{rate}), how);
        auto const whole = dominate(event(m, unsampled{}), how);
        CHECK((found.symmetric && !found.attained));
        bool const is_curve = std::holds_alternative<tacit::gaussian_dp>(m) ||
                              std::holds_alternative<exponential_mechanism>(m);
        for (double const e : epsilons) {
          if (e < 0.0) continue;
          double const told = rate * profile(whole.remove, e);
          CHECK(profile(found.remove, e) >= told - 1e-15);
          if (!is_curve) CHECK(profile(found.remove, e) <= told * (1.0 + 1e-12) + 1e-15);
        }
      }
    }
  }
  for (std::size_t const records : {std::size_t{1}, std::size_t{2}}) {
    auto const all = neighbours(adjacency::replace_one, {0, 1, 2}, 1, records);
    for (double const rate : {0.1, 0.6}) {
      check_domination(
          dominate(by_person(sampled(pure{0.8}, poisson{rate}), records), adjacency::replace_one),
          enumerated(responses(0.8, 3), poisson{rate}, all));
    }
  }
  // Three outcomes, of which one is that the record was not sampled, twice: all nine.
  double const q = 0.2;
  double const keep = 1.0 / (1.0 + std::exp(-0.7));
  std::vector<double> const p{1.0 - q, q * keep, q * (1.0 - keep)};
  std::vector<double> const other{1.0 - q, q * (1.0 - keep), q * keep};
  tacit::privacy_loss_accountant twice(adjacency::replace_one);
  twice.compose(sampled(pure{0.7}, poisson{q}), 2);
  for (double const e : {0.0, 0.3, 0.7, 1.0}) {
    double sum = 0.0;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        sum += std::max(0.0, p[i] * p[j] - std::exp(e) * other[i] * other[j]);
      }
    }
    tacit::bound<double> const found = twice.delta(e);
    CAPTURE(e, sum, found.lower, found.upper);
    CHECK(found.lower <= sum * (1.0 + 1e-12));
    CHECK(found.upper >= sum * (1.0 - 1e-12));
    CHECK(found.upper - found.lower <= 1e-6 * sum + 1e-15);
  }
}

TEST_CASE("several records a person: a guarantee's own chain is dominated, and not attained",
          "[dp][dominating]") {
  // The chain of k ε-private steps that differ most: two outcomes whose odds grow by e^ε a step is one;
  // the extreme one is a discrete Laplace law of scale 1/ε.
  for (int const k : {2, 3}) {
    auto const r = static_cast<std::uint64_t>(k);
    auto const found = dominate(by_person(pure{0.6}, r), adjacency::add_remove);
    CHECK_FALSE(found.attained);
    CHECK(found.symmetric);
    auto const all = neighbours(adjacency::add_remove, {0, 1}, 0, static_cast<std::size_t>(k));
    check_domination(found, enumerated(with_discrete_laplace(1.0 / 0.6, k), unsampled{}, all));
    check_domination(found, enumerated(election(0.6, 1.0), unsampled{}, all));
  }
  // (ε, δ) steps: at each, δ moves from the outcomes seen so far to one never seen before.
  double const epsilon = 0.4;
  double const delta = 0.03;
  std::vector<law> chain{{0.5, 0.3, 0.2, 0.0, 0.0, 0.0}};
  for (std::size_t step = 0; step < 3; ++step) {
    law next = chain.back();
    // Odds move by e^ε between the first two, and δ goes to a fresh outcome.
    double const moved = next[1] * std::expm1(epsilon) / 2.0;
    next[1] += moved;
    next[0] -= moved;
    double const taken = std::min(delta, next[2]);
    next[2] -= taken;
    next[3 + step] += taken;
    chain.push_back(next);
  }
  for (std::size_t k = 1; k <= 3; ++k) {
    REQUIRE(hockey_stick(chain[k], chain[k - 1], epsilon) <= delta + 1e-15);
    REQUIRE(hockey_stick(chain[k - 1], chain[k], epsilon) <= delta + 1e-15);
    auto const found = dominate(by_person(approx_dp{epsilon, delta}, k), adjacency::add_remove);
    CHECK(found.attained == (k == 1));
    for (double const e : epsilons) {
      CHECK(hockey_stick(chain[k], chain[0], e) <= profile(found.remove, e) + 1e-12);
      CHECK(hockey_stick(chain[0], chain[k], e) <= profile(found.add, e) + 1e-12);
    }
    // δ(1 + e^ε + … + e^{(k−1)ε}), from above.
    double sum = 0.0;
    for (std::size_t j = 0; j < k; ++j) sum += std::exp(static_cast<double>(j) * epsilon);
    auto const& pair = std::get<finite_pair>(found.remove);
    CHECK(pair.infinite >= delta * sum * (1.0 - 1e-16));
    CHECK(pair.infinite <= delta * sum * (1.0 + 1e-14));
  }
  // The same in more digits: δ of k records never comes out below.
  bool above = true;
  bool close = true;
  for (std::uint64_t const k : std::vector<std::uint64_t>{2, 3, 1000}) {
    for (double each = 1e-9; each * static_cast<double>(k) < 660.0; each *= 1.37) {
      auto const found = dominate(by_person(approx_dp{each, 1e-300}, k), adjacency::add_remove);
      long double const truth = 1e-300 * std::expm1(static_cast<long double>(k) * each) /
                                std::expm1(static_cast<long double>(each));
      long double const got = std::get<finite_pair>(found.remove).infinite;
      above = above && got >= truth;
      close = close && got <= truth * (1.0L + 3e-12L);
    }
  }
  CHECK(above);
  CHECK(close);
}

TEST_CASE("the exponential mechanism stays below the bounded-range pair", "[dp][dominating]") {
  database const ballots{0, 1, 2, 4, 7};
  for (double const epsilon : {0.2, 1.5}) {
    CAPTURE(epsilon);
    auto const add = neighbours(adjacency::add_remove, ballots, 1);
    auto const whole = dominate(exponential_mechanism{epsilon}, adjacency::add_remove);
    CHECK((whole.symmetric && !whole.attained));
    check_domination(whole, enumerated(election(epsilon, 1.0), unsampled{}, add));
    for (double const rate : {0.1, 0.8}) {
      auto const part =
          dominate(sampled(exponential_mechanism{epsilon}, poisson{rate}), adjacency::add_remove);
      CHECK((!part.symmetric && !part.attained));
      check_domination(part, enumerated(election(epsilon, 1.0), poisson{rate}, add));
    }
    check_domination(dominate(exponential_mechanism{epsilon}, adjacency::replace_one),
                     enumerated(election(epsilon, 2.0), unsampled{},
                                neighbours(adjacency::replace_one, ballots, 1)));
    check_domination(dominate(exponential_mechanism{epsilon}, adjacency::zero_out),
                     enumerated(election(epsilon, 1.0), unsampled{},
                                neighbours(adjacency::zero_out, ballots, 1)));
    // Two and three records: range 2ε and 3ε.
    for (std::size_t const k : {std::size_t{2}, std::size_t{3}}) {
      check_domination(
          dominate(by_person(exponential_mechanism{epsilon}, k), adjacency::add_remove),
          enumerated(election(epsilon, 1.0), unsampled{},
                     neighbours(adjacency::add_remove, ballots, 0, k)));
    }
  }
}

TEST_CASE("the bounded-range pair is the supremum over two-valued losses t and t−ε, no more",
          "[dp][dominating]") {
  for (double const epsilon : {0.1, 1.0, 6.0}) {
    auto const found = dominate(exponential_mechanism{epsilon}, adjacency::add_remove);
    for (int j = -19; j <= 19; ++j) {
      double const e = epsilon * j / 20.0;
      double supremum = 0.0;
      for (int k = 0; k <= 4000; ++k) {
        double const t = epsilon * k / 4000.0;
        double const p = std::expm1(t - epsilon) / std::expm1(-epsilon);
        law const one{p, 1.0 - p};
        law const other{p * std::exp(-t), (1.0 - p) * std::exp(epsilon - t)};
        REQUIRE(other[0] + other[1] == Approx(1.0).epsilon(1e-12));
        supremum = std::max(supremum, hockey_stick(one, other, e));
      }
      CHECK(supremum <= profile(found.remove, e) + 1e-13);
      CHECK(supremum >= profile(found.remove, e) - 1e-12);
    }
  }
}

TEST_CASE("a shuffled epoch, of adaptive batches too, stays below the unsampled pair",
          "[dp][dominating]") {
  // Four records in two batches, every order of them. The second batch's noise, or its vote, depends on
  // the first one's release.
  double const scale = 0.9;
  auto const release = [&](int sum) {
    law out;
    double const edge = std::exp(-1.0 / scale);
    for (int k = -25; k <= 25; ++k) {
      out.push_back((1.0 - edge) / (1.0 + edge) * std::exp(-std::abs(k - sum) / scale));
    }
    return out;
  };
  auto const epoch = [&](database const& records) {
    law out(51 * 51);
    std::vector<std::size_t> order{0, 1, 2, 3};
    do {
      law const first = release(records[order[0]] + records[order[1]]);
      for (int k = 0; k < 51; ++k) {
        int const sign = k % 2 == 0 ? 1 : -1;
        law const second = release(sign * (records[order[2]] + records[order[3]]));
        for (std::size_t j = 0; j < 51; ++j) {
          auto const i = static_cast<std::size_t>(k);
          out[i * 51 + j] += first[i] * second[j] / 24.0;
        }
      }
    } while (std::next_permutation(order.begin(), order.end()));
    return out;
  };
  database const other{1, -1};
  for (adjacency const how : {adjacency::replace_one, adjacency::zero_out}) {
    for (std::size_t const person : {std::size_t{1}, std::size_t{2}}) {
      event const whole = by_person(sampled(discrete_laplace{scale}, shuffled{}), person);
      auto const found = dominate(whole, how);
      CHECK((found.symmetric && !found.attained));
      database const with{1, person == 2 ? 1 : 0, other[0], other[1]};
      int const gone = how == adjacency::zero_out ? 0 : -1;
      database const without{gone, person == 2 ? gone : 0, other[0], other[1]};
      law const p = epoch(with);
      law const q = epoch(without);
      for (double const e : epsilons) {
        CHECK(hockey_stick(p, q, e) <= profile(found.remove, e) + 1e-12);
        CHECK(hockey_stick(q, p, e) <= profile(found.add, e) + 1e-12);
      }
    }
  }
}

TEST_CASE("bounded range: a step after a step multiplies the odds by e^{2ε}", "[dp][dominating]") {
  // Why several records in a shuffled epoch are covered: the pair's trade-off curve is its own chain.
  for (double const epsilon : {0.3, 2.0}) {
    auto const one = dominate(exponential_mechanism{epsilon}, adjacency::replace_one);
    // Power at size α, the infimum over the profile's lines.
    auto const power = [](dominating_pair const& pair, double range, double size) {
      double best = 1.0;
      for (int k = -20000; k <= 20000; ++k) {
        double const e = range * k / 20000.0;
        best = std::min(best, profile(pair, e) + std::exp(e) * size);
      }
      return best;
    };
    auto const two = dominate(by_person(exponential_mechanism{epsilon}, 2), adjacency::replace_one);
    for (double const size : {0.01, 0.2, 0.6}) {
      double const step = power(one.remove, epsilon, size);
      double const odds = std::exp(epsilon) * size / (1.0 - size);
      CHECK(step == Approx(odds / (1.0 + odds)).epsilon(1e-7));
      CHECK(power(two.remove, 2.0 * epsilon, size) ==
            Approx(power(one.remove, epsilon, step)).epsilon(1e-7));
    }
  }
}

TEST_CASE("vectors are dominated by the line: L2 for normal noise, L1 for Laplace noise",
          "[dp][dominating]") {
  // A record's contribution (a, b) in the plane; Poisson samples of one record, and of a person's two.
  double const rate = 0.35;
  auto const cells = [](auto cdf, double mean) {
    return in_cells([&](double x) { return cdf(x - mean); }, 6.0, 0.15);
  };
  auto const add_to = [](law& out, double weight, law const& x, law const& y) {
    out.resize(x.size() * y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t j = 0; j < y.size(); ++j) out[i * y.size() + j] += weight * x[i] * y[j];
    }
  };
  auto const normal = [](double x) { return tail(-x / 0.8); };
  auto const two_sided = [](double x) {
    return x < 0.0 ? 0.5 * std::exp(x / 0.8) : 1.0 - 0.5 * std::exp(-x / 0.8);
  };
  auto const check = [](domination const& found, law const& with, law const& without) {
    for (double const e : epsilons) {
      CHECK(hockey_stick(with, without, e) <= profile(found.remove, e) + 1e-12);
      CHECK(hockey_stick(without, with, e) <= profile(found.add, e) + 1e-12);
    }
  };
  law normal_at_0;
  law laplace_at_0;
  add_to(normal_at_0, 1.0, cells(normal, 0.0), cells(normal, 0.0));
  add_to(laplace_at_0, 1.0, cells(two_sided, 0.0), cells(two_sided, 0.0));
  for (double const angle : {0.0, 0.5, 1.57, 2.6}) {
    CAPTURE(angle);
    double const a = std::cos(angle);
    double const b = std::sin(angle);
    // One record: the shift (a, b), of norm 1.
    law with;
    add_to(with, 1.0 - rate, cells(normal, 0.0), cells(normal, 0.0));
    add_to(with, rate, cells(normal, a), cells(normal, b));
    check(dominate(sampled(gaussian{0.8}, poisson{rate}), adjacency::add_remove), with,
          normal_at_0);
    // Two records: (1, 0) and (a, b).
    law both;
    add_to(both, (1.0 - rate) * (1.0 - rate), cells(normal, 0.0), cells(normal, 0.0));
    add_to(both, rate * (1.0 - rate), cells(normal, 1.0), cells(normal, 0.0));
    add_to(both, rate * (1.0 - rate), cells(normal, a), cells(normal, b));
    add_to(both, rate * rate, cells(normal, 1.0 + a), cells(normal, b));
    check(dominate(by_person(sampled(gaussian{0.8}, poisson{rate}), 2), adjacency::add_remove),
          both, normal_at_0);
    // Laplace: |a|² + |b|² = 1 as L1 norms.
    law spread;
    add_to(spread, 1.0 - rate, cells(two_sided, 0.0), cells(two_sided, 0.0));
    add_to(spread, rate, cells(two_sided, a * a), cells(two_sided, b * b));
    check(dominate(sampled(laplace{0.8}, poisson{rate}), adjacency::add_remove), spread,
          laplace_at_0);
  }
}

TEST_CASE("several records in Poisson samples: the binomial mixture is attained",
          "[dp][dominating]") {
  for (double const rate : {0.1, 0.6}) {
    for (std::size_t const person : {std::size_t{2}, std::size_t{3}}) {
      auto const found =
          dominate(by_person(sampled(gaussian{1.1}, poisson{rate}), person), adjacency::zero_out);
      CHECK((found.attained && !found.symmetric));
      check_domination(found,
                       enumerated(with_normal(1.1, 3), poisson{rate},
                                  neighbours(adjacency::zero_out, {-1, 0, 1}, 0, person)),
                       1e-4);
    }
  }
}

TEST_CASE("binomial weights: mean, variance, tails, and never more than 1", "[dp][dominating]") {
  for (std::uint64_t const records : std::vector<std::uint64_t>{2, 3, 7, 30, 1000, 1000000}) {
    double const n = static_cast<double>(records);
    for (double const rate :
         {1e-300, 1e-12, 1e-6, 0.001, 0.3, 0.5, 0.97, 1.0 - 1e-6, 1.0 - 0x1p-53}) {
      CAPTURE(records, rate);
      auto const found = dominate(by_person(sampled(gaussian{2.0}, poisson{rate}), records),
                                  adjacency::add_remove);
      auto const& parts = std::get<mixture_pair>(found.remove).parts;
      REQUIRE_FALSE(parts.empty());
      long double total = 0.0L;
      long double mean = 0.0L;
      double before = 0.0;
      bool right = true;
      for (auto const& part : parts) {
        right = right && part.weight > 0.0 && part.weight <= 1.0 && part.shift > before;
        before = part.shift;
        total += part.weight;
        mean += static_cast<long double>(part.weight) * part.shift * 2.0L;
      }
      REQUIRE(right);
      CHECK(total <= 1.0L + 4e-15L);
      CHECK(static_cast<double>(mean) == Approx(n * rate).epsilon(1e-12));
      // What is left for no shift comes out too small by a rounding, never too large.
      long double const none = std::exp(n * std::log1p(-static_cast<long double>(rate)));
      CHECK(found.attained == (none >= 1e-13L));
      long double const left = 1.0L - total;
      double plain = 1.0;
      for (auto const& part : parts) plain -= part.weight;
      if (none < 1e-3L) {
        CHECK(left <= none + 1e-15L);
        CHECK(plain <= (none < 1e-13L ? 0.0L : none * (1.0L + 1e-13L)));
      }
      CHECK(std::abs(static_cast<double>(left - none)) <=
            1e-13 * static_cast<double>(none) + 4e-15);
      long double spread = none * n * rate * n * rate;
      for (auto const& part : parts) {
        long double const away = 2.0L * part.shift - static_cast<long double>(n) * rate;
        spread += part.weight * away * away;
      }
      if (rate > 1e-9 && found.attained) {
        CHECK(static_cast<double>(spread) == Approx(n * rate * (1.0 - rate)).epsilon(1e-11));
      }
      double const all = std::pow(rate, n);
      if (all > 1e-300) {
        CHECK(parts.back().shift == Approx(0.5 * n).epsilon(1e-15));
        CHECK(parts.back().weight == Approx(all).epsilon(1e-11));
      }
    }
  }
}

TEST_CASE("masses sum to 1 under both laws, and the loss is their ratio", "[dp][dominating]") {
  std::vector<event> const all{discrete_laplace{1.3},
                               discrete_laplace{0.2, 7},
                               discrete_laplace{50.0, 1000},
                               discrete_laplace{1e6, 100000},
                               pure{0.0},
                               pure{3.0},
                               pure{30.0},
                               approx_dp{1.0, 1e-9},
                               approx_dp{0.0, 0.25},
                               approx_dp{2.0, 1.0},
                               sampled(pure{3.0}, poisson{1e-9}),
                               sampled(approx_dp{1.0, 0.1}, poisson{0.3}),
                               sampled(discrete_laplace{0.3, 5}, poisson{0.999999}),
                               sampled(pure{30.0}, poisson{1.0 - 1e-14})};
  auto const check = [](finite_pair const& pair) {
    double p = pair.infinite;
    double q = pair.excluded;
    double ratios = 0.0;
    double before = -infinity;
    bool right = true;
    for (auto const& a : pair.atoms) {
      right = right && std::isfinite(a.loss) && a.loss > before && a.p >= 0.0 && a.q >= 0.0 &&
              std::abs(a.q - a.p * std::exp(-a.loss)) <= 1e-12 * a.q;
      before = a.loss;
      p += a.p;
      q += a.q;
      ratios += a.q * std::exp(a.loss);
    }
    CHECK(right);
    CHECK(p == Approx(1.0).epsilon(1e-11));
    CHECK(q == Approx(1.0).epsilon(1e-11));
    CHECK(ratios == Approx(1.0 - pair.infinite).margin(1e-11));
  };
  for (event const& release : all) {
    auto const found = dominate(release, adjacency::add_remove);
    check(std::get<finite_pair>(found.remove));
    check(std::get<finite_pair>(found.add));
  }
  for (mechanism_event const& m : std::vector<mechanism_event>{
           discrete_laplace{1.3, 2}, pure{2.0}, pure{0.0}, approx_dp{1.0, 0.2},
           randomised_response{1.0, 2}, randomised_response{2.0, 7}, randomised_response{0.0, 7}}) {
    for (fixed_size const& how : {fixed_size{1, 1000000}, fixed_size{1, 3}, fixed_size{9, 10}}) {
      auto const found = dominate(sampled(m, how), adjacency::replace_one);
      CHECK(found.remove == found.add);
      check(std::get<finite_pair>(found.remove));
      // Symmetric: the mirror image of itself.
      auto const& pair = std::get<finite_pair>(found.remove);
      bool mirrored = pair.infinite == pair.excluded;
      for (std::size_t k = 0; k < pair.atoms.size(); ++k) {
        auto const& a = pair.atoms[k];
        auto const& b = pair.atoms[pair.atoms.size() - 1 - k];
        mirrored = mirrored && a.loss == -b.loss && a.p == b.q;
      }
      CHECK(mirrored);
    }
    check(std::get<finite_pair>(dominate(m, adjacency::replace_one).remove));
  }
}

TEST_CASE("sampled losses keep their digits at the ends of the range", "[dp][dominating]") {
  auto const loss_of = [](double epsilon, double rate, std::size_t which) {
    auto const found = dominate(sampled(pure{epsilon}, poisson{rate}), adjacency::add_remove);
    return std::get<finite_pair>(found.remove).atoms[which].loss;
  };
  for (double const rate : {1e-300, 1e-20, 1e-3, 0.4, 0.6, 0.999, 1.0 - 1e-14, 1.0 - 0x1p-53}) {
    for (double const epsilon :
         {1e-12, 0.1, 0.69, 0.71, 5.0, 40.0, 600.0, 699.0, 700.0, 701.0, 740.0, 800.0, 2000.0}) {
      CAPTURE(rate, epsilon);
      long double const r = rate;
      long double const e = epsilon;
      long double const up = std::log1p(r * std::expm1(e));
      long double const down = rate > 0.5 && epsilon > 0.1 ? std::log((1.0L - r) + r * std::exp(-e))
                                                           : std::log1p(r * std::expm1(-e));
      CHECK(loss_of(epsilon, rate, 1) == Approx(static_cast<double>(up)).epsilon(1e-12));
      CHECK(loss_of(epsilon, rate, 0) == Approx(static_cast<double>(down)).epsilon(1e-12));
    }
  }
}

TEST_CASE("an amplified profile is a pair's: convex in e^ε, with nothing negative at 0",
          "[dp][dominating]") {
  auto const is_convex = [](amplified_pair const& pair) {
    bool convex = true;
    double const h = 0.02 * pair.rate;
    auto const at = [&pair](double y) { return profile(pair, std::log(y)); };
    for (double x = 1.0 - 10.0 * h; x < 1.0 + 1500.0 * h; x += h) {
      convex = convex && at(x - h) + at(x + h) - 2.0 * at(x) >= -1e-13;
      convex = convex && at(x) >= std::max(0.0, 1.0 - x) - 1e-13;
    }
    return convex;
  };
  for (sampling const& how :
       std::vector<sampling>{poisson{0.01}, poisson{0.5}, fixed_size{1, 100}, fixed_size{3, 4}}) {
    for (double const noise : {0.5, 1.0, 4.0}) {
      CAPTURE(how.index(), noise);
      for (mechanism_event const& m :
           {mechanism_event(gaussian{noise}), mechanism_event(laplace{noise})}) {
        double const shift = 1.0 / noise;
        bool const batch = std::holds_alternative<fixed_size>(how);
        double const rate = batch ? std::get<fixed_size>(how).rate() : std::get<poisson>(how).rate;
        auto const kind = std::holds_alternative<gaussian>(m) ? amplified_pair::noise::normal
                                                              : amplified_pair::noise::laplace;
        amplified_pair const pair{kind, rate, batch ? 2.0 * shift : shift, 2.0 * shift};
        CHECK(is_convex(pair));
        dominating_pair const found = dominate(sampled(m, how), adjacency::replace_one).remove;
        if (batch) CHECK(found == dominating_pair(pair));
        // What is known of the pair itself is less than what joint convexity says.
        for (double const e : {0.0, 0.01, 0.3, 1.0, 2.5}) {
          CHECK(profile(found, e) <= profile(pair, e) + 1e-6);
        }
      }
    }
  }
  // Under zero_out the absence moves more than the change, and there are profiles with a dent: whoever
  // takes their derivatives has to take the convex minorant first.
  auto const dented =
      dominate(sampled(tacit::gaussian_dp{2.0}, fixed_size{1, 100}), adjacency::zero_out);
  CHECK_FALSE(is_convex(std::get<amplified_pair>(dented.remove)));
  auto const smooth =
      dominate(sampled(tacit::gaussian_dp{0.5}, fixed_size{1, 100}), adjacency::zero_out);
  CHECK(is_convex(std::get<amplified_pair>(smooth.remove)));
}

TEST_CASE("parameters of the pairs", "[dp][dominating]") {
  auto const mu = [](event const& release, adjacency how) {
    return std::get<normal_pair>(dominate(release, how).remove).mu;
  };
  CHECK(mu(gaussian{2.0}, adjacency::add_remove) == 0.5);
  CHECK(mu(gaussian{2.0}, adjacency::zero_out) == 0.5);
  CHECK(mu(gaussian{2.0}, adjacency::replace_one) == 1.0);
  CHECK(mu(by_person(gaussian{2.0}, 3), adjacency::replace_one) == 3.0);
  CHECK(mu(matrix_gaussian{4.0, 2.0}, adjacency::add_remove) == 0.5);
  CHECK(mu(by_person(matrix_gaussian{4.0, 2.0}, 5), adjacency::replace_one) == 5.0);
  CHECK(mu(matrix_gaussian{4.0, 0.0}, adjacency::add_remove) == 0.0);

  auto const amplified = [](event const& release, adjacency how) {
    return std::get<amplified_pair>(dominate(release, how).remove);
  };
  using noise = amplified_pair::noise;
  auto const coupled = [](event const& release, adjacency how) {
    return std::get<coupled_pair>(dominate(release, how).remove);
  };
  CHECK(coupled(sampled(gaussian{2.0}, poisson{0.1}), adjacency::replace_one) ==
        coupled_pair{noise::normal, {{0.1, 0.5, -0.5}}});
  CHECK(amplified(sampled(gaussian{2.0}, fixed_size{1, 10}), adjacency::replace_one) ==
        amplified_pair{noise::normal, 0.1, 1.0, 1.0});
  CHECK(amplified(sampled(tacit::gaussian_dp{0.5}, fixed_size{1, 10}), adjacency::zero_out) ==
        amplified_pair{noise::normal, 0.1, 1.0, 0.5});
  CHECK(coupled(sampled(gaussian{2.0}, fixed_size{1, 10}), adjacency::zero_out) ==
        coupled_pair{noise::normal, {{0.1, 1.0, 0.5}}, true});
  CHECK(coupled(sampled(laplace{2.0}, fixed_size{1, 10}), adjacency::zero_out) ==
        coupled_pair{noise::laplace, {{0.1, 1.0, 0.5}}, true});
  CHECK(coupled(by_person(sampled(laplace{2.0}, poisson{0.5}), 2), adjacency::add_remove) ==
        coupled_pair{noise::laplace,
                     {{std::nextafter(0.5, 1.0), 0.5, 0.0}, {std::nextafter(0.25, 1.0), 1.0, 0.0}},
                     false,
                     0.25,
                     0x1p-51});

  // All of a batch, and a rate of 1, is no sampling; a rate of 0 is no release.
  for (adjacency const how : {adjacency::replace_one, adjacency::zero_out}) {
    for (mechanism_event const& m : std::vector<mechanism_event>{
             gaussian{1.5}, laplace{1.5}, discrete_gaussian{1.5}, discrete_laplace{1.5}, pure{1.5},
             exponential_mechanism{1.5}, approx_dp{1.5, 0.1}, matrix_gaussian{1.5, 1.0}}) {
      CHECK(dominate(sampled(m, fixed_size{7, 7}), how).remove == dominate(m, how).remove);
      CHECK(dominate(sampled(m, poisson{1.0}), how).remove == dominate(m, how).remove);
      CHECK(dominate(sampled(m, poisson{1.0}), how).symmetric);
      CHECK(dominate(by_person(sampled(m, fixed_size{7, 7}), 3), how).remove ==
            dominate(by_person(m, 3), how).remove);
    }
  }
  for (mechanism_event const& m : std::vector<mechanism_event>{
           gaussian{1.5}, laplace{1.5}, discrete_gaussian{1.5}, discrete_laplace{1.5}, pure{1.5},
           exponential_mechanism{1.5}, approx_dp{1.5, 0.1}}) {
    auto const found = dominate(sampled(m, poisson{0.0}), adjacency::add_remove);
    CHECK(found.remove == dominating_pair(normal_pair{0.0}));
    CHECK(found.symmetric);
  }
  CHECK(dominate(exponential_mechanism{0.0}, adjacency::add_remove).remove ==
        dominating_pair(normal_pair{0.0}));
}

TEST_CASE("what has no bound is refused, and the message says what was asked and what to do",
          "[dp][dominating]") {
  std::string const none = "dominate: there is no known bound for ";
  std::string const unwritten = "dominate: no bound is implemented for ";
  std::vector<mechanism_event> const all{gaussian{1.0},
                                         laplace{1.0},
                                         discrete_gaussian{1.0},
                                         discrete_laplace{1.0},
                                         randomised_response{1.0},
                                         exponential_mechanism{1.0},
                                         pure{1.0},
                                         approx_dp{1.0, 0.1},
                                         matrix_gaussian{1.0, 1.0}};
  for (mechanism_event const& m : all) {
    CAPTURE(m.index());
    CHECK(refusal(sampled(m, shuffled{}), adjacency::add_remove) ==
          none +
              "shuffled batches under add_remove: a record more moves all others; use zero_out "
              "or replace_one");
    // Several records in a sample: sums, and under add_remove guarantees.
    for (adjacency const how : all_adjacencies) {
      bool const is_sum = m.index() <= 3;
      bool const is_guarantee = std::holds_alternative<exponential_mechanism>(m) ||
                                std::holds_alternative<pure>(m) ||
                                std::holds_alternative<approx_dp>(m);
      bool const refused = !refusal(by_person(sampled(m, poisson{0.1}), 2), how).empty();
      CHECK(refused == !(is_sum || is_guarantee));
      for (std::uint64_t const batch : std::vector<std::uint64_t>{1, 8, 9}) {
        bool const is_answer =
            std::holds_alternative<randomised_response>(m) && how != adjacency::add_remove;
        CHECK(refusal(by_person(sampled(m, fixed_size{batch, 10}), 2), how).empty() ==
              (is_sum || is_guarantee || is_answer));
      }
      // Allocated, as unsampled: but matrix mechanisms.
      CHECK(refusal(sampled(m, tacit::random_allocation{10}), how).empty() ==
            (!std::holds_alternative<matrix_gaussian>(m) && refusal(event(m), how).empty()));
    }
  }

  auto const allowed = [&](sampling const& how, adjacency adjacent) {
    std::string out;
    for (mechanism_event const& m : all) {
      std::string const reason = refusal(sampled(m, how), adjacent);
      out += reason.empty() ? '+' : '-';
      if (!reason.empty()) CHECK((reason.find(none) == 0 || reason.find(unwritten) == 0));
    }
    return out;
  };
  // gaussian, laplace, the discrete ones, response, exponential, pure, approximate, matrix
  CHECK(allowed(unsampled{}, adjacency::add_remove) == "++++-++++");
  CHECK(allowed(unsampled{}, adjacency::zero_out) == "+++++++++");
  CHECK(allowed(unsampled{}, adjacency::replace_one) == "+++++++++");
  CHECK(allowed(poisson{0.1}, adjacency::add_remove) == "++++-+++-");
  CHECK(allowed(poisson{0.1}, adjacency::zero_out) == "++++++++-");
  CHECK(allowed(poisson{0.1}, adjacency::replace_one) == "++++++++-");
  CHECK(allowed(fixed_size{1, 10}, adjacency::add_remove) == "++++-+++-");
  CHECK(allowed(fixed_size{1, 10}, adjacency::zero_out) == "++++++++-");
  CHECK(allowed(fixed_size{1, 10}, adjacency::replace_one) == "++++++++-");
  CHECK(allowed(with_replacement{4, 10}, adjacency::add_remove) == "++++-+++-");
  CHECK(allowed(with_replacement{4, 10}, adjacency::zero_out) == "++++++++-");
  CHECK(allowed(with_replacement{4, 10}, adjacency::replace_one) == "++++++++-");
  CHECK(allowed(shuffled{}, adjacency::add_remove) == "---------");
  CHECK(allowed(shuffled{}, adjacency::zero_out) == "++++++++-");
  CHECK(allowed(shuffled{}, adjacency::replace_one) == "++++++++-");

  CHECK(refusal(randomised_response{1.0}, adjacency::add_remove) ==
        none +
            "randomised response under add_remove: one record more is one answer more, and "
            "everyone can count them; use zero_out, where a null record answers at random, or "
            "replace_one");
  CHECK(refusal(by_person(randomised_response{1.0}, 2), adjacency::replace_one)
            .find("compose one response a record instead") != std::string::npos);
  for (sampling const& how : std::vector<sampling>{poisson{0.1}, fixed_size{1, 10}, shuffled{}}) {
    CHECK(refusal(sampled(matrix_gaussian{1.0, 1.0}, how), adjacency::replace_one)
              .find("a sampled matrix mechanism") != std::string::npos);
  }
  // A value out of range is another matter, and comes first.
  CHECK_THROWS_WITH(dominate(sampled(gaussian{-1.0}, fixed_size{1, 10}), adjacency::add_remove),
                    "dominate: noise_multiplier is -1, but must be positive and finite");
  CHECK_THROWS_AS(dominate(sampled(gaussian{1.0}, poisson{not_a_number}), adjacency::add_remove),
                  std::domain_error);
  // Losses that no double holds are the noise's fault, or the epsilon's.
  std::string const finite = "so large that losses are finite";
  auto const complaint_about = [](event const& release) {
    try {
      static_cast<void>(dominate(release, adjacency::add_remove));
    } catch (std::domain_error const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(complaint_about(gaussian{1e-310}) ==
        "dominate: noise_multiplier is 1e-310, but must be " + finite);
  CHECK(complaint_about(laplace{1e-310}) ==
        "dominate: noise_multiplier is 1e-310, but must be " + finite);
  CHECK(complaint_about(matrix_gaussian{1e-200, 1e200}) ==
        "dominate: noise_multiplier is 1e-200, but must be " + finite);
  CHECK(complaint_about(discrete_laplace{1e-310}) ==
        "dominate: scale is 1e-310, but must be " + finite);
  CHECK(complaint_about(by_person(pure{1e308}, 2)) ==
        "dominate: epsilon is 1e+308, but must be so small that losses are finite");
}

TEST_CASE("extreme values: numbers that can be used, or a refusal", "[dp][dominating]") {
  struct finite_numbers {
    static bool good(double x) { return std::isfinite(x); }
    bool operator()(normal_pair const& p) const { return good(p.mu) && p.mu >= 0.0; }
    bool operator()(mixture_pair const& p) const {
      bool right = !p.parts.empty();
      for (auto const& part : p.parts) {
        right = right && part.weight > 0.0 && part.weight <= 1.0 && good(part.shift) &&
                part.shift > 0.0;
      }
      return right;
    }
    bool operator()(bounded_pair const& p) const {
      return good(p.epsilon) && p.epsilon > 0.0 && p.atom >= 0.0 && p.atom <= 0.5 && p.rate > 0.0 &&
             p.rate <= 1.0;
    }
    bool operator()(lattice_pair const& p) const {
      return good(p.sigma) && p.sigma > 0.0 && p.shift >= 1 && p.rate > 0.0 && p.rate <= 1.0;
    }
    bool operator()(finite_pair const& p) const {
      bool right = p.infinite >= 0.0 && p.infinite <= 1.0 && p.excluded >= 0.0 && p.excluded <= 1.0;
      double total = p.infinite;
      for (auto const& a : p.atoms) {
        right = right && good(a.loss) && a.p >= 0.0 && a.p <= 1.0 && a.q >= 0.0 && a.q <= 1.0;
        total += a.p;
      }
      // What is left out is an upper bound, of whichever law leaves out more.
      return right && total < 1.0 + 1e-10 && total + p.left_out > 1.0 - 1e-10;
    }
    bool operator()(allocation_pair const& p) const {
      return good(p.noise_multiplier) && p.noise_multiplier > 0.0 && p.steps >= 2;
    }
    bool operator()(tacit::allocated_pair const& p) const {
      return (*this)(p.above) && (*this)(p.below) && p.steps >= 2;
    }
    bool operator()(coupled_pair const& p) const {
      bool right = !p.parts.empty();
      double total = 0.0;
      for (auto const& part : p.parts) {
        right = right && good(part.p) && std::isfinite(part.q) && part.p > part.q &&
                part.weight > 0.0 && (p.mirrored ? part.q > 0.0 : part.q <= 0.0);
        total += part.weight;
      }
      return right && total < 1.0 + 1e-10;
    }
    bool operator()(amplified_pair const& p) const {
      return good(p.absent) && p.absent > 0.0 && good(p.changed) && p.changed > 0.0 &&
             p.rate > 0.0 && p.rate < 1.0;
    }
  };
  std::vector<sampling> const schemes{
      unsampled{},
      poisson{0.0},
      poisson{5e-324},
      poisson{1e-300},
      poisson{0.5},
      poisson{1.0 - 0x1p-53},
      poisson{1.0},
      fixed_size{1, std::uint64_t{1} << 53},
      fixed_size{(std::uint64_t{1} << 53) - 1, std::uint64_t{1} << 53},
      fixed_size{5, 5},
      shuffled{}};
  int answers = 0;
  for (double const x :
       {5e-324, 1e-308, 1e-300, 1e-10, 1.0, 1e4, 1e10, 1e300, 1.7976931348623157e308}) {
    for (mechanism_event const& m : std::vector<mechanism_event>{
             gaussian{x}, laplace{x}, discrete_gaussian{x}, discrete_gaussian{x, 1000000000},
             discrete_laplace{x}, discrete_laplace{x, 10}, randomised_response{x},
             randomised_response{x, std::uint64_t{1} << 53}, exponential_mechanism{x}, pure{x},
             approx_dp{x, 1e-300}, approx_dp{x, 1.0}, approx_dp{1e4, 0.0}, matrix_gaussian{x, 1.0},
             matrix_gaussian{1.0, x}}) {
      for (sampling const& how : schemes) {
        for (adjacency const adjacent : all_adjacencies) {
          for (std::uint64_t const records : std::vector<std::uint64_t>{1, 2, 1000}) {
            CAPTURE(x, m.index(), how.index(), static_cast<int>(adjacent), records);
            try {
              auto const found = dominate(by_person(sampled(m, how), records), adjacent);
              if (!std::visit(finite_numbers{}, found.remove)) FAIL("remove");
              if (!std::visit(finite_numbers{}, found.add)) FAIL("add");
              if (found.symmetric && found.remove != found.add) FAIL("not symmetric");
              ++answers;
            } catch (std::invalid_argument const&) {    // no bound
            } catch (std::domain_error const& error) {  // a loss beyond all doubles
              std::string const what = error.what();
              if (what.find("that losses are finite") == std::string::npos &&
                  what.find("takes less than 4e6 values") == std::string::npos &&
                  what.find("at most 2^1022") == std::string::npos &&
                  what.find("at most 1e6 grid units") == std::string::npos &&
                  what.find("below the number of records") == std::string::npos) {
                FAIL(what);
              }
            }
          }
        }
      }
    }
  }
  CHECK(answers > 2000);
  CHECK_THROWS_WITH(
      dominate(discrete_laplace{1.0, 1000001}, adjacency::add_remove),
      "dominate: shift of a discrete Laplace is 1000001, but must be at most 1e6 grid "
      "units");
  CHECK_THROWS_AS(dominate(discrete_laplace{1.0, 500001}, adjacency::replace_one),
                  std::domain_error);
}
