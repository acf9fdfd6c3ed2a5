// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/capped_run.hpp>
#include <tacit/dp/condensed_pair.hpp>
#include <tacit/dp/coupled_profile.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/grid/pairs.hpp>
#include <tacit/dp/integer_noise.hpp>
#include <tacit/dp/integer_noise_law.hpp>
#include <tacit/dp/integer_pairs.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/pure_epsilon.hpp>
#include <tacit/dp/rdp/guarantee.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/sampled_run.hpp>
#include <tacit/dp/zcdp.hpp>

#include "support/catch.hpp"
#include "support/laws.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// Every sample of every small database, with noise on the integers or a mechanism of few outcomes, against the pairs that
// are said to dominate it.

namespace sampler_tests {

using namespace tacit;

namespace {

using law = std::vector<double>;
using database = std::vector<int>;  // contributions
using support::exact;
using support::hockey_stick;

std::vector<double> const epsilons{-2.0, -0.8, -0.3, -0.05, 0.0, 0.02, 0.1, 0.3, 0.6, 1.1, 2.0};

double mass_of(finite_pair const& pair, double e) {
  double sum = pair.infinite + pair.left_out;
  for (auto const& a : pair.atoms) sum += std::max(0.0, a.p - std::exp(e) * a.q);
  return sum;
}

double tail(double x) { return 0.5 * std::erfc(x / std::sqrt(2.0)); }

double mass_of(lattice_pair const& pair, double e) {
  double sum = 0.0;
  double total = 0.0;
  double const shift = static_cast<double>(pair.shift);
  auto const at = [&](double k) { return std::exp(-0.5 * k * k / (pair.sigma * pair.sigma)); };
  for (double k = -200.0; k <= 200.0; k += 1.0) {
    double const mixed = pair.rate * at(k - shift) + (1.0 - pair.rate) * at(k);
    bool const remove = pair.orientation == orientation::remove;
    sum += std::max(0.0, remove ? mixed - std::exp(e) * at(k) : at(k) - std::exp(e) * mixed);
    total += at(k);
  }
  return sum / total;
}

double mass_of(mixture_pair const& pair, double e) {
  // By cells of x, with the likelihood ratio at their middle.
  double sum = 0.0;
  double rest = 1.0;
  for (auto const& part : pair.parts) rest -= part.weight;
  for (double x = -40.0; x < 60.0; x += 1e-3) {
    auto const in = [&](double mean) { return tail(x - mean) - tail(x + 1e-3 - mean); };
    double mixed = rest * in(0.0);
    for (auto const& part : pair.parts) mixed += part.weight * in(part.shift);
    bool const remove = pair.orientation == orientation::remove;
    sum += std::max(0.0, remove ? mixed - std::exp(e) * in(0.0) : in(0.0) - std::exp(e) * mixed);
  }
  return sum;
}

double profile(dominating_pair const& pair, double e) {
  if (auto const* finite = std::get_if<finite_pair>(&pair)) return mass_of(*finite, e);
  if (auto const* mixture = std::get_if<mixture_pair>(&pair)) return mass_of(*mixture, e);
  return mass_of(std::get<lattice_pair>(pair), e);
}

// What is drawn: the places of a database, with their probability.
struct drawn {
  double probability;
  std::vector<std::size_t> places;
};

std::vector<drawn> samples(sampling const& how, std::size_t records) {
  std::vector<drawn> all;
  if (auto const* draws = std::get_if<with_replacement>(&how)) {
    all.push_back({1.0, {}});
    for (std::uint64_t k = 0; k < draws->batch; ++k) {
      std::vector<drawn> longer;
      for (drawn const& d : all) {
        for (std::size_t place = 0; place < records; ++place) {
          longer.push_back({d.probability / static_cast<double>(records), d.places});
          longer.back().places.push_back(place);
        }
      }
      all = std::move(longer);
    }
    return all;
  }
  for (std::size_t subset = 0; subset < std::size_t{1} << records; ++subset) {
    drawn d{1.0, {}};
    for (std::size_t place = 0; place < records; ++place) {
      if ((subset >> place & 1U) != 0U) d.places.push_back(place);
    }
    auto const taken = static_cast<double>(d.places.size());
    if (auto const* p = std::get_if<poisson>(&how)) {
      d.probability =
          std::pow(p->rate, taken) * std::pow(1.0 - p->rate, static_cast<double>(records) - taken);
    } else if (auto const* f = std::get_if<fixed_size>(&how)) {
      if (d.places.size() != std::min<std::size_t>(f->batch, records)) continue;
    } else if (d.places.size() != records) {
      continue;
    }
    all.push_back(std::move(d));
  }
  if (std::holds_alternative<fixed_size>(how)) {
    for (drawn& d : all) d.probability = 1.0 / static_cast<double>(all.size());
  }
  return all;
}

using mechanism = std::function<law(database const&)>;

law released(mechanism const& of, sampling const& how, database const& records) {
  law out;
  for (drawn const& d : samples(how, records.size())) {
    database batch;
    for (std::size_t const place : d.places) batch.push_back(records[place]);
    law const one = of(batch);
    out.resize(one.size(), 0.0);
    for (std::size_t k = 0; k < one.size(); ++k) out[k] += d.probability * one[k];
  }
  return out;
}

void for_each(std::size_t length, std::vector<int> const& values,
              std::function<void(database const&)> const& use) {
  database now(length, 0);
  std::size_t count = 1;
  for (std::size_t k = 0; k < length; ++k) count *= values.size();
  for (std::size_t code = 0; code < count; ++code) {
    std::size_t rest = code;
    for (int& x : now) {
      x = values[rest % values.size()];
      rest /= values.size();
    }
    use(now);
  }
}

// Neighbours of three records of which a person has `persons`: what has the person's records, and what has not, or others.
void for_neighbours(adjacency neighbours, std::size_t persons, std::vector<int> const& values,
                    std::function<void(database const&, database const&)> const& use) {
  for_each(3, values, [&](database const& one) {
    database other = one;
    auto const first = other.begin();
    auto const end = first + static_cast<std::ptrdiff_t>(persons);
    if (neighbours == adjacency::add_remove) {
      other.erase(first, end);
      use(one, other);
    } else if (neighbours == adjacency::zero_out) {
      std::fill(first, end, 0);
      use(one, other);
    } else {
      for_each(persons, values, [&](database const& instead) {
        std::copy(instead.begin(), instead.end(), other.begin());
        use(one, other);
      });
    }
  });
}

std::vector<sampling> const schemes{
    unsampled{},      poisson{0.3},     poisson{0.85},          fixed_size{1, 3},
    fixed_size{2, 3}, fixed_size{3, 3}, with_replacement{1, 3}, with_replacement{3, 3}};
std::vector<adjacency> const all_adjacencies{adjacency::add_remove, adjacency::zero_out,
                                             adjacency::replace_one};

// Noise on the integers from its definition, on [−120, 120].
constexpr int window = 120;
law noise_of(mechanism_event const& m) {
  law out;
  double total = 0.0;
  for (int k = -window; k <= window; ++k) {
    double p = 0.0;
    if (auto const* g = std::get_if<discrete_gaussian>(&m)) {
      p = std::exp(-0.5 * k * k / (g->sigma * g->sigma));
    } else if (auto const* l = std::get_if<discrete_laplace>(&m)) {
      p = std::exp(-std::abs(k) / l->scale);
    } else {
      auto const& n = std::get<integer_noise>(m);
      if (n.law == integer_law::skellam) {
        double const mean = 0.5 * n.variance;
        for (int j = std::max(0, -k); j < 400; ++j) {
          p += std::exp((2.0 * j + k) * std::log(mean) - 2.0 * mean - std::lgamma(j + 1.0) -
                        std::lgamma(j + k + 1.0));
        }
      } else {
        double const coins = 4.0 * n.variance;
        double const heads = std::floor(0.5 * coins) + k;
        if (heads >= 0.0 && heads <= coins) {
          p = std::exp(std::lgamma(coins + 1.0) - std::lgamma(heads + 1.0) -
                       std::lgamma(coins - heads + 1.0));
        }
      }
    }
    out.push_back(p);
    total += p;
  }
  for (double& p : out) p /= total;
  return out;
}

std::vector<mechanism_event> const noises{discrete_gaussian{1.3, 2}, discrete_laplace{1.7, 2},
                                          integer_noise{integer_law::skellam, 1.9, 2},
                                          integer_noise{integer_law::binomial, 4.0, 2},
                                          integer_noise{integer_law::binomial, 4.25, 1}};

int sensitivity_of(mechanism_event const& m) {
  if (auto const* g = std::get_if<discrete_gaussian>(&m)) return static_cast<int>(g->sensitivity);
  if (auto const* l = std::get_if<discrete_laplace>(&m)) return static_cast<int>(l->sensitivity);
  return static_cast<int>(std::get<integer_noise>(m).sensitivity);
}

}  // namespace

TEST_CASE("Integer noise: every sample of every database, all adjacencies, persons of one or two",
          "[dp][samplers][long]") {
  int answered = 0;
  for (mechanism_event const& m : noises) {
    law const noise = noise_of(m);
    int const most = sensitivity_of(m);
    mechanism const sum = [&](database const& batch) {
      int shift = 0;
      for (int const x : batch) shift += x;
      law out(2 * 80 + 1, 0.0);
      for (int k = -80; k <= 80; ++k) {
        out[static_cast<std::size_t>(k + 80)] = noise[static_cast<std::size_t>(k - shift + window)];
      }
      return out;
    };
    std::vector<int> const values{-most, 0, most};
    for (sampling const& how : schemes) {
      for (adjacency const adjacent : all_adjacencies) {
        for (std::uint64_t const persons : std::vector<std::uint64_t>{1, 2}) {
          CAPTURE(m.index(), how.index(), static_cast<int>(adjacent), persons);
          domination const found = dominate(by_person(sampled(m, how), persons), adjacent);
          ++answered;
          std::vector<double> const at = epsilons;
          law removed(at.size(), 0.0);
          law added(at.size(), 0.0);
          for_neighbours(adjacent, persons, values,
                         [&](database const& one, database const& other) {
                           law const p = released(sum, how, one);
                           law const q = released(sum, how, other);
                           for (std::size_t k = 0; k < at.size(); ++k) {
                             removed[k] = std::max(removed[k], hockey_stick(p, q, at[k]));
                             added[k] = std::max(added[k], hockey_stick(q, p, at[k]));
                           }
                         });
          for (std::size_t k = 0; k < at.size(); ++k) {
            CAPTURE(at[k]);
            double const above = profile(found.remove, at[k]);
            double const above_added = profile(found.add, at[k]);
            CHECK(removed[k] <= above + 1e-12);
            CHECK(added[k] <= above_added + 1e-12);
            // Batches under add_remove reach it where their size is not that of the smaller neighbour.
            if (found.attained && !std::holds_alternative<shuffled>(how) &&
                !(std::holds_alternative<fixed_size>(how) &&
                  std::get<fixed_size>(how).batch == 3)) {
              CHECK(removed[k] >= above - 1e-10);
              CHECK(added[k] >= above_added - 1e-10);
            }
          }
        }
      }
    }
  }
  CHECK(answered == 5 * 3 * (8 + 8));
}

TEST_CASE("Integer noise on vectors: contributions by their L1 norm", "[dp][samplers][long]") {
  // Two coordinates, two records; a record's contribution is one of all pairs of L1 norm at most 2.
  std::vector<std::pair<int, int>> contributions;
  for (int x = -2; x <= 2; ++x) {
    for (int y = -2; y <= 2; ++y) {
      if (std::abs(x) + std::abs(y) <= 2) contributions.emplace_back(x, y);
    }
  }
  constexpr int reach = 14;
  for (mechanism_event const& m : noises) {
    if (sensitivity_of(m) != 2) continue;
    law const noise = noise_of(m);
    auto const at = [&](std::pair<int, int> shift) {
      law out;
      for (int x = -reach; x <= reach; ++x) {
        for (int y = -reach; y <= reach; ++y) {
          out.push_back(noise[static_cast<std::size_t>(x - shift.first + window)] *
                        noise[static_cast<std::size_t>(y - shift.second + window)]);
        }
      }
      return out;
    };
    auto const mixed = [](double rate, law const& a, law const& b) {
      law out;
      for (std::size_t k = 0; k < a.size(); ++k) out.push_back(rate * a[k] + (1.0 - rate) * b[k]);
      return out;
    };
    law const absent = at({0, 0});
    domination const whole = dominate(m, adjacency::add_remove);
    domination const poissons = dominate(sampled(m, poisson{0.4}), adjacency::zero_out);
    domination const replaced = dominate(sampled(m, poisson{0.4}), adjacency::replace_one);
    domination const batches = dominate(sampled(m, fixed_size{1, 2}), adjacency::replace_one);
    domination const zeroed = dominate(sampled(m, fixed_size{1, 2}), adjacency::zero_out);
    for (auto const& a : contributions) {
      law const p = at(a);
      for (double const e : epsilons) {
        CAPTURE(m.index(), a.first, a.second, e);
        CHECK(hockey_stick(p, absent, e) <= profile(whole.remove, e) + 1e-12);
        CHECK(hockey_stick(absent, p, e) <= profile(whole.add, e) + 1e-12);
        CHECK(hockey_stick(mixed(0.4, p, absent), absent, e) <=
              profile(poissons.remove, e) + 1e-12);
        CHECK(hockey_stick(absent, mixed(0.4, p, absent), e) <= profile(poissons.add, e) + 1e-12);
      }
      for (auto const& b : contributions) {
        law const q = at(b);
        law const one = mixed(0.4, p, absent);
        law const other = mixed(0.4, q, absent);
        for (double const e : {-0.3, 0.0, 0.2, 0.7}) {
          CAPTURE(m.index(), a.first, a.second, b.first, b.second, e);
          CHECK(hockey_stick(one, other, e) <= profile(replaced.remove, e) + 1e-12);
        }
        // Batches of one of two records: b is the one that stays.
        for (double const e : {-0.3, 0.0, 0.2, 0.7}) {
          law const with = mixed(0.5, p, q);
          CHECK(hockey_stick(with, mixed(0.5, absent, q), e) <= profile(zeroed.remove, e) + 1e-12);
          CHECK(hockey_stick(mixed(0.5, absent, q), with, e) <= profile(zeroed.add, e) + 1e-12);
          CHECK(hockey_stick(with, mixed(0.5, at({-a.first, -a.second}), q), e) <=
                profile(batches.remove, e) + 1e-12);
        }
      }
    }
  }
}

TEST_CASE("Guarantees in batches: every sample of every database of three values",
          "[dp][samplers][long]") {
  std::mt19937_64 draw(20261124);
  auto const number = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(draw);
  };
  for (int round = 0; round < 12; ++round) {
    // A law of three outcomes for each multiset of values 0 (null), 1, 2.
    std::vector<law> table;
    for (int k = 0; k < 64; ++k) {
      law one{number(0.2, 1.0), number(0.2, 1.0), number(0.2, 1.0)};
      double const total = one[0] + one[1] + one[2];
      for (double& p : one) p /= total;
      table.push_back(one);
    }
    mechanism const of = [&](database const& batch) {
      std::size_t count[3] = {0, 0, 0};
      for (int const x : batch) ++count[x];
      return table[count[0] + 4 * count[1] + 16 * count[2]];
    };
    for (adjacency const adjacent : all_adjacencies) {
      // The ε and the profile that this mechanism keeps on batches of up to three records.
      double epsilon = 0.0;
      std::vector<double> const at{0.0, 0.15, 0.4, 0.9};
      law kept(at.size(), 0.0);
      for (std::size_t size = 1; size <= 3; ++size) {
        for_each(size, {0, 1, 2}, [&](database const& one) {
          for (std::size_t place = 0; place < size; ++place) {
            std::vector<database> others;
            database other = one;
            if (adjacent == adjacency::add_remove) {
              other.erase(other.begin() + static_cast<std::ptrdiff_t>(place));
              others.push_back(other);
            } else {
              for (int const value : {0, 1, 2}) {
                if (adjacent == adjacency::zero_out && value > 0) continue;
                other[place] = value;
                others.push_back(other);
              }
            }
            for (database const& next : others) {
              law const p = of(one);
              law const q = of(next);
              for (std::size_t k = 0; k < 3; ++k) {
                epsilon = std::max(epsilon, std::abs(std::log(p[k] / q[k])));
              }
              for (std::size_t k = 0; k < at.size(); ++k) {
                kept[k] = std::max({kept[k], hockey_stick(p, q, at[k]), hockey_stick(q, p, at[k])});
              }
            }
          }
        });
      }
      dp_profile points;
      for (std::size_t k = 0; k < at.size(); ++k) points.points.push_back({at[k], kept[k]});
      points.points.push_back({epsilon, 0.0});
      for (mechanism_event const& m :
           std::vector<mechanism_event>{pure{epsilon}, approx_dp{at[1], kept[1]}, points}) {
        for (sampling const& how : schemes) {
          for (std::uint64_t const persons : std::vector<std::uint64_t>{1, 2}) {
            domination found;
            try {
              found = dominate(by_person(sampled(m, how), persons), adjacent);
            } catch (std::invalid_argument const&) {
              continue;
            }
            CAPTURE(m.index(), how.index(), static_cast<int>(adjacent), persons, round);
            for_neighbours(adjacent, persons, {0, 1, 2},
                           [&](database const& one, database const& other) {
                             law const p = released(of, how, one);
                             law const q = released(of, how, other);
                             for (double const e : epsilons) {
                               if (!(hockey_stick(p, q, e) <= profile(found.remove, e) + 1e-12) ||
                                   !(hockey_stick(q, p, e) <= profile(found.add, e) + 1e-12)) {
                                 FAIL("above its pair at " << e);
                               }
                             }
                           });
          }
        }
      }
    }
  }
}

TEST_CASE("Randomised response of Poisson samples under replace_one is randomised response",
          "[dp][samplers]") {
  for (double const categories : {2.0, 3.0, 5.0}) {
    for (double const rate : {0.1, 0.7}) {
      auto const count = static_cast<std::size_t>(categories);
      double const right = std::exp(1.2) / (std::exp(1.2) + categories - 1.0);
      double const wrong = 1.0 / (std::exp(1.2) + categories - 1.0);
      law p(count, rate * wrong + (1.0 - rate) / categories);
      law q = p;
      p[0] = rate * right + (1.0 - rate) / categories;
      q[1] = p[0];
      domination const found =
          dominate(sampled(randomised_response{1.2, count}, poisson{rate}), adjacency::replace_one);
      CHECK(found.attained);
      for (double const e : epsilons) {
        CHECK(profile(found.remove, e) == Approx(hockey_stick(p, q, e)).margin(1e-14));
      }
    }
  }
}

TEST_CASE("Normal sums in batches: two records, by cells of the line", "[dp][samplers][long]") {
  // Of contributions −1, 0 and 1; a batch of two draws, or of one record.
  double const sigma = 0.9;
  law absent;
  auto const at = [&](double shift) {
    law out;
    for (double x = -9.0; x < 9.0; x += 0.01) {
      out.push_back(tail((x - shift) / sigma) - tail((x + 0.01 - shift) / sigma));
    }
    return out;
  };
  mechanism const sum = [&](database const& batch) {
    int shift = 0;
    for (int const x : batch) shift += x;
    return at(shift);
  };
  for (sampling const& how :
       std::vector<sampling>{with_replacement{2, 2}, fixed_size{1, 2}, poisson{0.4}}) {
    for (adjacency const adjacent : all_adjacencies) {
      for (std::uint64_t const persons : std::vector<std::uint64_t>{1, 2}) {
        if (persons == 2 && !std::holds_alternative<poisson>(how)) continue;
        domination const found =
            dominate(by_person(sampled(gaussian{sigma}, how), persons), adjacent);
        if (!std::holds_alternative<finite_pair>(found.remove) &&
            !std::holds_alternative<mixture_pair>(found.remove)) {
          continue;  // amplified pairs: tests/dp/dominating.cpp
        }
        CAPTURE(how.index(), static_cast<int>(adjacent), persons);
        std::vector<double> const few{-0.5, 0.0, 0.3, 1.0, 2.0};
        law above;
        law above_added;
        for (double const e : few) {
          above.push_back(profile(found.remove, e));
          above_added.push_back(profile(found.add, e));
        }
        for_each(2, {-1, 0, 1}, [&](database const& one) {
          std::vector<database> others;
          if (adjacent == adjacency::add_remove) {
            others.push_back(persons == 2 ? database{} : database{one[1]});
          } else if (adjacent == adjacency::zero_out) {
            others.push_back(persons == 2 ? database{0, 0} : database{0, one[1]});
          } else {
            for (int const x : {-1, 1}) {
              for (int const y : {-1, 1}) others.push_back({x, persons == 2 ? y : one[1]});
            }
          }
          for (database const& other : others) {
            law const p = released(sum, how, one);
            law const q = released(sum, how, other);
            for (std::size_t k = 0; k < few.size(); ++k) {
              CHECK(hockey_stick(p, q, few[k]) <= above[k] + 1e-6);
              CHECK(hockey_stick(q, p, few[k]) <= above_added[k] + 1e-6);
            }
          }
        });
      }
    }
  }
}

TEST_CASE("Points above continuous noise: never below its profile, and close to it",
          "[dp][samplers]") {
  for (double const shift : {0.01, 0.3, 1.0, 4.0, 30.0}) {
    finite_pair const normal = detail::normal_points(shift);
    finite_pair const laplace = detail::laplace_points(shift);
    for (double const part : {0.0, 0.1, 0.5, 1.0, 2.0}) {
      double const e = shift * (0.5 * shift + part);
      double const exact =
          tail(e / shift - 0.5 * shift) - std::exp(e) * tail(e / shift + 0.5 * shift);
      CHECK(mass_of(normal, e) >= exact * (1.0 - 1e-9) - 1e-13);
      CHECK(mass_of(normal, e) <= exact * 1.01 + 1e-12);
      double const l = 0.5 * part * shift;
      double const above = l < shift ? -std::expm1(0.5 * (l - shift)) : 0.0;
      CHECK(mass_of(laplace, l) >= above * (1.0 - 1e-12) - 1e-15);
      CHECK(mass_of(laplace, l) <= above * 1.001 + 1e-6);
    }
  }
}

TEST_CASE("Skellam noise: its divergences are within their bound, of scalars and of vectors",
          "[dp][samplers]") {
  for (double const variance : {1.0, 4.0, 25.0, 100.0}) {
    law const noise = noise_of(integer_noise{integer_law::skellam, variance, 1});
    auto const moment = [&](int shift, double order) {
      double sum = 0.0;
      for (int k = -window + 8; k <= window - 8; ++k) {
        double const p = noise[static_cast<std::size_t>(k - shift + window)];
        double const q = noise[static_cast<std::size_t>(k + window)];
        if (p > 1e-290 && q > 1e-290) sum += p * std::pow(p / q, order - 1.0);
      }
      return std::log(sum);
    };
    for (double const order : {1.5, 2.0, 2.5, 3.0, 7.0, 16.0}) {
      for (std::vector<int> const& shift :
           std::vector<std::vector<int>>{{1}, {3}, {1, 1}, {2, 1}, {1, 1, 1, 1}}) {
        double l1 = 0.0;
        double l2 = 0.0;
        double divergence = 0.0;
        for (int const s : shift) {
          l1 += s;
          l2 += s * s;
          divergence += moment(s, order) / (order - 1.0);
        }
        detail::divergence_guarantee const known(detail::skellam_divergences(variance, l1, l2));
        CAPTURE(variance, order, shift.size(), shift[0]);
        CHECK(divergence <= known.upper(order) + 1e-12);
        // Close where noise is large.
        if (variance >= 25.0 && order == 2.0 && shift.size() == 1) {
          CHECK(divergence >= 0.85 * known.upper(order));
        }
      }
    }
  }
}

TEST_CASE("A mixture of Gaussians: its two directions, sampled or not", "[dp][samplers]") {
  gaussian_mixture const m{2.0, {{0.25, 3.0}, {0.5, 1.0}, {0.125, 1.0}, {0.0, 9.0}, {0.1, 0.0}}};
  for (adjacency const adjacent : {adjacency::add_remove, adjacency::zero_out}) {
    domination const found = dominate(m, adjacent);
    CHECK(found.attained);
    CHECK(std::get<mixture_pair>(found.remove) ==
          mixture_pair{{{0.625, 0.5}, {0.25, 1.5}}, orientation::remove});
    CHECK(std::get<mixture_pair>(found.add).orientation == orientation::add);
    CHECK(std::get<mixture_pair>(dominate(sampled(m, poisson{0.5}), adjacent).remove) ==
          mixture_pair{{{0.3125, 0.5}, {0.125, 1.5}}, orientation::remove});
  }
  CHECK(std::get<normal_pair>(
            dominate(gaussian_mixture{2.0, {{1.0, 1.0}}}, adjacency::add_remove).remove) ==
        normal_pair{0.5});
  domination const replaced = dominate(m, adjacency::replace_one);
  CHECK((replaced.attained && replaced.symmetric));
  CHECK(std::get<coupled_pair>(replaced.remove) ==
        coupled_pair{coupled_pair::noise::normal, {{0.625, 0.5, -0.5}, {0.25, 1.5, -1.5}}});
  CHECK(std::get<coupled_pair>(dominate(sampled(m, poisson{0.5}), adjacency::replace_one).remove) ==
        coupled_pair{coupled_pair::noise::normal, {{0.3125, 0.5, -0.5}, {0.125, 1.5, -1.5}}});
  CHECK_FALSE(dominate(sampled(m, shuffled{}), adjacency::replace_one).attained);
  CHECK(dominate(gaussian_mixture{2.0, {{1.0, 1.0}}}, adjacency::replace_one).remove ==
        dominating_pair(normal_pair{1.0}));
  CHECK(dominate(gaussian_mixture{2.0, {{1.0, 0.0}}}, adjacency::replace_one).remove ==
        dominating_pair(normal_pair{0.0}));
  CHECK_FALSE(dominate(sampled(m, fixed_size{1, 3}), adjacency::add_remove).attained);
  CHECK_THROWS_WITH(dominate(gaussian_mixture{1.0, {{0.7, 1.0}, {0.4, 1.0}}}, adjacency::zero_out),
                    Catch::Contains("sum of weights is 1.1") && Catch::Contains("at most 1"));
  CHECK_THROWS_AS(dominate(gaussian_mixture{1.0, {}}, adjacency::zero_out), std::domain_error);
}

TEST_CASE("A mixture of Gaussians under replace_one: every database of three records",
          "[dp][samplers]") {
  // A record in {−1, 0, 1} counts once, three times or not at all, as the mechanism draws for each. Outputs are in cells,
  // which can only lose information.
  constexpr double sigma = 2.0;
  gaussian_mixture const m{sigma, {{0.25, 3.0}, {0.5, 1.0}}};
  constexpr double width = 0.02;
  constexpr int most = 9;
  std::vector<law> about;  // of N(shift, σ²), shift from −9
  for (int shift = -most; shift <= most; ++shift) {
    law one;
    double above = 1.0;
    for (double x = -20.0; x <= 20.0; x += width) {
      double const next = tail((x - shift) / sigma);
      one.push_back(above - next);
      above = next;
    }
    one.push_back(above);
    about.push_back(std::move(one));
  }
  for (double const rate : {1.0, 0.3}) {
    std::map<int, double> const lengths{{3, 0.25 * rate}, {1, 0.5 * rate}, {0, 1.0 - 0.75 * rate}};
    auto const released_of = [&](database const& records) {
      std::map<int, double> sums{{0, 1.0}};
      for (int const x : records) {
        std::map<int, double> longer;
        for (auto const& [sum, p] : sums) {
          for (auto const& [length, w] : lengths) longer[sum + length * x] += p * w;
        }
        sums = std::move(longer);
      }
      law out(about[0].size(), 0.0);
      for (auto const& [sum, p] : sums) {
        law const& one = about[static_cast<std::size_t>(sum + most)];
        for (std::size_t k = 0; k < out.size(); ++k) out[k] += p * one[k];
      }
      return out;
    };
    domination const found = dominate(sampled(m, poisson{rate}), adjacency::replace_one);
    detail::coupled_profile<> const pair(std::get<coupled_pair>(found.remove));
    std::vector<double> const at{0.0, 0.05, 0.3, 0.8, 1.5, 2.5};
    law largest(at.size(), 0.0);
    std::map<database, law> laws;
    for_each(3, {-1, 0, 1}, [&](database const& d) { laws[d] = released_of(d); });
    for (auto const& [one, p] : laws) {
      for (int const instead : {-1, 0, 1}) {
        database other = one;
        other[0] = instead;
        law const& q = laws[other];
        for (std::size_t k = 0; k < at.size(); ++k) {
          largest[k] = std::max(largest[k], hockey_stick(p, q, at[k]));
        }
      }
    }
    for (std::size_t k = 0; k < at.size(); ++k) {
      CAPTURE(rate, at[k], largest[k]);
      double const exact = pair.delta(at[k]).upper;
      CHECK(largest[k] <= exact + 1e-12);
      CHECK(largest[k] >= exact - 1e-4);  // attained: the cells lose that much
    }
    // Composed, by methods of their own.
    privacy_loss_accountant run(adjacency::replace_one);
    discretised_accountant grid(adjacency::replace_one);
    renyi_accountant orders(adjacency::replace_one);
    run.compose(sampled(m, poisson{rate}), 5);
    grid.compose(sampled(m, poisson{rate}), 5);
    orders.compose(sampled(m, poisson{rate}), 5);
    bound<double> const epsilon = run.epsilon(1e-5);
    bound<double> const other = grid.epsilon(1e-5);
    CHECK(epsilon.lower > 0.0);
    CHECK((epsilon.lower <= other.upper && other.lower <= epsilon.upper));
    CHECK(orders.epsilon(1e-5).upper >= epsilon.lower);
    // Longest contributions alone cost more, and the same law with the record absent less.
    privacy_loss_accountant longest(adjacency::replace_one);
    longest.compose(sampled(gaussian{sigma / 3.0}, poisson{0.75 * rate}), 5);
    CHECK(epsilon.lower <= longest.epsilon(1e-5).upper);
    privacy_loss_accountant absent(adjacency::add_remove);
    absent.compose(sampled(m, poisson{rate}), 5);
    CHECK(absent.epsilon(1e-5).lower <= epsilon.upper);
  }
  // By the largest length, joint convexity.
  CHECK(zcdp_of(m, adjacency::replace_one).rho == Approx(0.5 * 9.0).epsilon(1e-12));
  CHECK_THROWS_AS(zcdp_of(sampled(m, poisson{0.3}), adjacency::replace_one), std::invalid_argument);
  // Of many lengths some count as the next one.
  gaussian_mixture fine{1.0, {}};
  for (int k = 1; k <= 1000; ++k) fine.parts.push_back({1e-3, 1e-3 * k});
  domination const joined = dominate(fine, adjacency::replace_one);
  CHECK_FALSE(joined.attained);
  CHECK(std::get<coupled_pair>(joined.remove).parts.size() <= 64);
  gaussian_mixture few{1.0, {}};
  for (int k = 1; k <= 20; ++k) few.parts.push_back({0.05, 0.05 * k - 0.025});
  detail::coupled_profile<> const above(std::get<coupled_pair>(joined.remove));
  detail::coupled_profile<> const near(
      std::get<coupled_pair>(dominate(few, adjacency::replace_one).remove));
  CHECK(above.delta(0.5).upper > near.delta(0.5).lower * 0.99);
  CHECK(above.delta(0.5).upper < near.delta(0.5).upper * 1.05);
}

namespace {

// One run of few outcomes: what a pair of laws loses, as an accountant says it.
struct known_run {
  law p;
  law q;
  [[nodiscard]] bound<double> delta(double e) const {
    double const d = std::max(hockey_stick(p, q, e), hockey_stick(q, p, e));
    return {d * (1.0 - 1e-12), d * (1.0 + 1e-12)};
  }
  [[nodiscard]] bound<double> epsilon(double d) const {
    double low = 0.0;
    double high = 60.0;
    for (int k = 0; k < 80; ++k) {
      double const middle = 0.5 * (low + high);
      (delta(middle).upper <= d ? high : low) = middle;
    }
    return {low * (1.0 - 1e-12), high};
  }
};

double log_choose(double n, double k) {
  return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
}

}  // namespace

TEST_CASE("A binomial excess: never below the tail, and near it", "[dp][samplers]") {
  for (double const n : {1.0, 2.0, 10.0, 1000.0, 60000.0}) {
    for (double const rate : {1e-4, 0.01, 0.3, 0.9}) {
      for (double const more : {1.0, 3.0, 6.0, 10.0}) {
        double const cap = std::floor(n * rate + more * std::sqrt(n * rate * (1.0 - rate)));
        if (cap < 1.0 || cap > n) continue;
        double exact = 0.0;
        for (double k = n; k > cap; k -= 1.0) {
          exact += std::exp(log_choose(n, k) + k * std::log(rate) + (n - k) * std::log1p(-rate));
        }
        double const bound = detail::binomial_excess(static_cast<std::uint64_t>(n), rate,
                                                     static_cast<std::uint64_t>(cap));
        CAPTURE(n, rate, cap, exact, bound);
        CHECK(bound >= exact * (1.0 - 1e-9));
        if (more >= 3.0 && exact > 0.0) CHECK(bound <= 1.6 * exact);
      }
    }
  }
  CHECK(detail::binomial_excess(10, 0.5, 10) == 0.0);
  CHECK(detail::binomial_excess(10, 1.0, 9) == 1.0);
  CHECK(detail::binomial_excess(10, 0.5, 4) == 1.0);
}

TEST_CASE("Capped batches: every sample of three records, two steps", "[dp][samplers]") {
  // A step releases a randomised count of the records it takes: 1 or 0 by a law of that count.
  auto const step = [](double rate, std::size_t records, std::size_t cap) {
    law counts(5, 0.0);
    for (std::size_t subset = 0; subset < std::size_t{1} << records; ++subset) {
      std::size_t taken = 0;
      for (std::size_t k = 0; k < records; ++k) taken += subset >> k & 1U;
      double const probability = std::pow(rate, static_cast<double>(taken)) *
                                 std::pow(1.0 - rate, static_cast<double>(records - taken));
      counts[std::min(taken, cap)] += probability;
    }
    law const noise{0.1, 0.2, 0.4, 0.2, 0.1};
    law out(9, 0.0);
    for (std::size_t c = 0; c < counts.size(); ++c) {
      for (std::size_t k = 0; k < noise.size(); ++k) out[c + k] += counts[c] * noise[k];
    }
    return out;
  };
  auto const twice = [](law const& a) {
    law out;
    for (double const x : a) {
      for (double const y : a) out.push_back(x * y);
    }
    return out;
  };
  for (double const rate : {0.05, 0.2}) {
    for (std::uint64_t const cap : std::vector<std::uint64_t>{1, 2}) {
      known_run const whole{twice(step(rate, 3, 3)), twice(step(rate, 2, 3))};
      known_run const cut{twice(step(rate, 3, cap)), twice(step(rate, 2, cap))};
      composed const steps{sampled(pure{1.0}, poisson{rate}), 2};
      double const kappa = overflow({cap, 3}, {&steps, 1});
      capped_run const bounded(whole, kappa);
      CAPTURE(rate, cap, kappa);
      CHECK(kappa > 0.0);
      for (double const e : {0.0, 0.1, 0.4, 1.0}) {
        CHECK(cut.delta(e).upper <= bounded.delta(e).upper * (1.0 + 1e-11));
        CHECK(cut.delta(e).lower >= bounded.delta(e).lower * (1.0 - 1e-11));
      }
      for (double const d : {0.01, 0.1, 0.3}) {
        bound<double> const e = bounded.epsilon(d);
        CHECK(e.lower <= e.upper);
        if (e.upper < 1e300) CHECK(bounded.delta(e.upper).upper <= d * (1.0 + 1e-9));
        if (e.upper < 1e300) CHECK(cut.epsilon(d).lower <= e.upper * (1.0 + 1e-9));
        CHECK(cut.epsilon(d).upper >= e.lower * (1.0 - 1e-9));
      }
    }
  }
  known_run const run{{0.6, 0.4}, {0.4, 0.6}};
  CHECK(capped_run(run, 0.0).epsilon(0.05).upper == run.epsilon(0.05).upper);
  CHECK(std::isinf(capped_run(run, 0.3).epsilon(0.1).upper));
  CHECK_THROWS_AS(capped_run(run, 1.5), std::domain_error);
  CHECK_THROWS_AS(capped_run(run, std::nan("")), std::domain_error);
  CHECK_THROWS_WITH(overflow({0, 3}, {}), Catch::Contains("overflow: most is 0"));
}

TEST_CASE("Capped batches that are told: every sample of small databases", "[dp][samplers]") {
  discrete_laplace const m{1.7, 2};
  law const noise = noise_of(m);
  // By rank, the first or the last of those drawn stay.
  auto const released_by = [&](database const& records, double rate, std::size_t cap, bool first) {
    law out(161, 0.0);
    for (drawn const& d : samples(poisson{rate}, records.size())) {
      int sum = 0;
      std::size_t const taken = std::min(cap, d.places.size());
      for (std::size_t k = 0; k < taken; ++k) {
        sum += records[d.places[first ? k : d.places.size() - 1 - k]];
      }
      for (int k = -80; k <= 80; ++k) {
        out[static_cast<std::size_t>(k + 80)] +=
            d.probability * noise[static_cast<std::size_t>(k - sum + window)];
      }
    }
    return out;
  };
  for (adjacency const adjacent : all_adjacencies) {
    for (double const rate : {0.2, 0.6}) {
      for (std::uint64_t const cap : std::vector<std::uint64_t>{1, 2}) {
        composed const step{sampled(m, poisson{rate}), 1};
        CAPTURE(static_cast<int>(adjacent), rate, cap);
        // Two others: full with this probability.
        double const full = cap == 1 ? rate * (2.0 - rate) : rate * rate;
        CHECK(detail::binomial_tail(2, rate, cap - 1) >= full * (1.0 - 1e-14));
        CHECK(detail::binomial_tail(2, rate, cap - 1) <= full * (1.0 + 1e-12));
        domination const few = dominate(step.release, adjacent);
        auto const told = tell_cuts({cap, 3}, {&step, 1}, 1e-9);
        REQUIRE(told.has_value());
        REQUIRE(told->releases.size() == 1);
        CHECK(told->failure == 0x1p-1000);
        domination const many = dominate(told->releases[0].release, adjacent);
        for (double const e : epsilons) {
          double most = 0.0;
          for_neighbours(adjacent, 1, {-2, 0, 2}, [&](database const& one, database const& other) {
            for (bool const first : {true, false}) {
              law const p = released_by(one, rate, cap, first);
              law const q = released_by(other, rate, cap, first);
              most = std::max({most, hockey_stick(p, q, e), hockey_stick(q, p, e)});
            }
          });
          double const by_few = std::max(profile(few.remove, e), profile(few.add, e));
          double const by_many = std::max(profile(many.remove, e), profile(many.add, e));
          CAPTURE(e, most, by_few, by_many);
          CHECK(by_many >= by_few * (1.0 - 1e-12));
          CHECK(most <= (1.0 - full) * by_few + full * by_many + 1e-12);
        }
      }
    }
  }
}

TEST_CASE("Caps that are no rare event: bounds where there were none", "[dp][samplers][long]") {
  composed const steps{sampled(gaussian{1.0}, poisson{0.01}), 1000};
  privacy_loss_accountant whole;
  whole.compose(steps.release, steps.count);
  double last = 1e300;
  for (std::uint64_t const cap : std::vector<std::uint64_t>{600, 650, 700, 750, 1000}) {
    capped_run<privacy_loss_accountant> run(whole, overflow({cap, 60000}, {&steps, 1}));
    std::vector<std::unique_ptr<privacy_loss_accountant>> others;
    for (double const failure : {1e-8, 0.3, 1e-2, 1e-4, 1e-6, 1e-11}) {
      auto const told = tell_cuts({cap, 60000}, {&steps, 1}, failure);
      REQUIRE(told.has_value());
      CHECK(told->failure <= failure);
      others.push_back(std::make_unique<privacy_loss_accountant>());
      for (composed const& what : told->releases) others.back()->compose(what.release, what.count);
      run.also(*others.back(), told->failure);
    }
    bound<double> const found = run.epsilon(1e-5);
    CAPTURE(cap, found.lower, found.upper);
    CHECK(found.upper >= whole.epsilon(1e-5).lower);
    CHECK(found.upper <= last);
    CHECK(found.upper < (cap == 600 ? 14.0 : cap == 650 ? 5.4 : cap == 700 ? 1.94 : 1.9));
    CHECK(run.delta(found.upper * (1.0 + 1e-9)).upper <= 1e-5 * (1.0 + 1e-6));
    last = found.upper;
  }
  std::uint64_t counted = 0;
  auto const told = tell_cuts({620, 60000}, {&steps, 1}, 1e-8);
  for (composed const& what : told->releases) counted += what.count;
  CHECK(counted == 1000);
  composed const persons{by_person(steps.release, 2), 10};
  CHECK_FALSE(tell_cuts({620, 60000}, {&persons, 1}, 1e-8).has_value());
  CHECK_THROWS_WITH(tell_cuts({620, 60000}, {&steps, 1}, 0.0), Catch::Contains("failure is 0"));
  capped_run<privacy_loss_accountant> run(whole, 0.1);
  CHECK_THROWS_AS(run.also(whole, -1.0), std::domain_error);
}

TEST_CASE("A run on a sample that is drawn once: both directions, from the mixture itself",
          "[dp][samplers]") {
  std::mt19937_64 draw(7);
  auto const number = [&] { return std::uniform_real_distribution<double>(0.1, 1.0)(draw); };
  for (int round = 0; round < 40; ++round) {
    known_run run;
    double p = 0.0;
    double q = 0.0;
    for (int k = 0; k < 4; ++k) {
      run.p.push_back(number());
      run.q.push_back(number());
      p += run.p.back();
      q += run.q.back();
    }
    for (double& x : run.p) x /= p;
    for (double& x : run.q) x /= q;
    for (double const rate : {0.02, 0.3, 0.9, 1.0}) {
      known_run mixed = run;
      for (std::size_t k = 0; k < 4; ++k) mixed.p[k] = rate * run.p[k] + (1.0 - rate) * run.q[k];
      sampled_run const sample(run, poisson{rate});
      for (double const e : {0.0, 0.05, 0.2, 0.6, 1.5}) {
        bound<double> const d = sample.delta(e);
        CHECK(mixed.delta(e).upper <= d.upper * (1.0 + 1e-9) + 1e-15);
        CHECK(mixed.delta(e).lower >= d.lower * (1.0 - 1e-9) - 1e-15);
      }
      for (double const d : {0.001, 0.02, 0.1}) {
        bound<double> const e = sample.epsilon(d);
        CHECK(mixed.epsilon(d).lower <= e.upper + 1e-9);
        CHECK(mixed.epsilon(d).upper >= e.lower - 1e-9);
      }
    }
  }
  known_run const run{{0.6, 0.4}, {0.4, 0.6}};
  CHECK(sampled_run(run, poisson{0.0}).epsilon(0.1).upper == 0.0);
  CHECK_THROWS_AS(sampled_run(run, unsampled{}), std::invalid_argument);
  CHECK_THROWS_AS(sampled_run(run, poisson{1.5}), std::domain_error);
}

namespace {

// A run whose every question costs as much.
struct costly_run {
  known_run run;
  double cost;
  int* asked;
  [[nodiscard]] bound<double> delta(double e) const {
    ++*asked;
    return run.delta(e);
  }
  [[nodiscard]] bound<double> epsilon(double d) const {
    ++*asked;
    return run.epsilon(d);
  }
  [[nodiscard]] bound<double> delta_within(double e, detail::work_budget& work) const {
    (void)work.spend(cost);
    return delta(e);
  }
  [[nodiscard]] bound<double> epsilon_within(double d, detail::work_budget& work) const {
    (void)work.spend(cost);
    return epsilon(d);
  }
};

}  // namespace

TEST_CASE("What is around a run asks it for no more work than one question may cost",
          "[dp][samplers]") {
  known_run const run{{0.55, 0.25, 0.15, 0.05}, {0.1, 0.2, 0.3, 0.4}};
  known_run mixed = run;
  for (std::size_t k = 0; k < 4; ++k) mixed.p[k] = 0.5 * (run.p[k] + run.q[k]);
  std::vector<bound<double>> cut;
  std::vector<bound<double>> sampled;
  for (double const cost : {0.0, 1e7, 3e8, 1e9, 1.8e9}) {
    int asked = 0;
    costly_run const costly{run, cost, &asked};
    auto const is_bounded = [&](char const* what, double times) {
      CAPTURE(what, cost, asked);
      CHECK(static_cast<double>(asked) * cost <= times * detail::work_on_run);
      asked = 0;
    };
    double const kappa = 1e-4;
    cut.push_back(capped_run(costly, kappa).epsilon(0.1));
    is_bounded("cut", 1.2);
    double const left = 0.1 - (1.0 + std::exp(cut.back().upper)) * kappa;
    CHECK(cut.back().upper >= run.epsilon(0.1).lower);
    CHECK(run.delta(cut.back().upper).lower <= left * (1.0 + 1e-9));
    sampled.push_back(sampled_run(costly, poisson{0.5}).epsilon(0.05));
    is_bounded("sampled", 1.2);
    CHECK(sampled.back().lower <= mixed.epsilon(0.05).upper);
    CHECK(sampled.back().upper >= mixed.epsilon(0.05).lower);
    (void)sampled_run(costly, poisson{0.5}).delta(0.2);
    is_bounded("a sampled run's delta", 1.2);
    capped_run const inner(costly, kappa);
    (void)sampled_run(inner, poisson{0.5}).epsilon(0.05);
    is_bounded("both", 1.2);
  }
  // Cheap questions leave nothing to find; few ones a wider interval.
  for (auto const* all : {&cut, &sampled}) {
    CHECK((*all)[1].upper <= (*all)[0].upper * (1.0 + 1e-8));
    CHECK((*all)[1].lower >= (*all)[0].lower * (1.0 - 1e-8));
    CHECK((*all)[0].lower > 0.0);
    for (bound<double> const& few : *all) {
      CHECK(few.upper >= (*all)[0].upper * (1.0 - 1e-8));
      CHECK(few.lower <= (*all)[0].lower * (1.0 + 1e-8));
    }
  }
  CHECK(cut[4].upper <= run.epsilon(0.05).upper);
  CHECK(cut[0].upper < cut[4].upper);
  // The lower end of ε is that of δ: 1 − e^ε/2 times the run's own.
  double const e = sampled[0].lower;
  double const inner = std::log(0.5 * std::exp(e) / (1.0 - 0.5 * std::exp(e)));
  CHECK(std::abs((1.0 - 0.5 * std::exp(e)) * run.delta(inner).lower / 0.05 - 1.0) < 1e-6);
}

// Σ weight·P(X + shift = x) of discrete Gaussian noise, over P(X = 0), by exponentials in long double.
long double mixed_at(std::vector<detail::integer_part> const& parts, long double x,
                     long double sigma) {
  long double sum = 0.0L;
  for (auto const& part : parts) {
    long double const k = x - static_cast<long double>(part.shift);
    sum += static_cast<long double>(part.weight) * std::exp(-k * k / (2.0L * sigma * sigma));
  }
  return sum;
}

TEST_CASE("Integer noise: losses of small rates keep their digits", "[dp][samplers]") {
  struct question {
    double sigma;
    double rate;
    std::int64_t shift;
  };
  for (question const& ask : std::vector<question>{
           {3.0, 0.1, 1}, {40.0, 1e-6, 3}, {40.0, 1e-15, 3}, {0.7, 1e-9, 2}, {500.0, 1e-4, 1}}) {
    CAPTURE(ask.sigma, ask.rate, ask.shift);
    double const span = 2.0 * static_cast<double>(ask.shift);
    auto const noise = detail::integer_noise_law::gaussian(ask.sigma, 2.0 * span);
    std::vector<detail::integer_part> const p{
        {ask.rate, 2 * ask.shift}, {ask.rate, ask.shift}, {1.0 - 2.0 * ask.rate, 0}};
    std::vector<detail::integer_part> const q{{ask.rate, -ask.shift}, {1.0 - ask.rate, 0}};
    finite_pair const found = detail::integer_mixtures(noise, p, q).pair;
    REQUIRE(found.atoms.size() > 50 * static_cast<std::size_t>(ask.sigma));
    double const largest = std::max(found.atoms.back().loss, -found.atoms.front().loss);
    long double const sigma = static_cast<long double>(ask.sigma);
    auto const loss_at = [&](long double at) {
      // Rates may be far below one ulp of the sums.
      auto const excess = [&](std::vector<detail::integer_part> const& parts) {
        long double sum = 0.0L;
        for (auto const& part : parts) {
          long double const a = static_cast<long double>(part.shift);
          sum += static_cast<long double>(part.weight) *
                 std::expm1((a * at - 0.5L * a * a) / (sigma * sigma));
        }
        return sum;
      };
      long double const more = (excess(p) - excess(q)) / (1.0L + excess(q));
      return more > -0.5L ? std::log1p(more)
                          : std::log(mixed_at(p, at, sigma) / mixed_at(q, at, sigma));
    };
    std::map<long double, long double> known;  // masses by losses, which rise in x
    for (std::int64_t x = -noise.bulk() - 4 * ask.shift; x <= noise.bulk() + 4 * ask.shift; ++x) {
      long double const at = static_cast<long double>(x);
      known[loss_at(at)] = mixed_at(p, at, sigma) / static_cast<long double>(noise.total());
    }
    double worst = 0.0;
    for (auto const& atom : found.atoms) {
      long double const loss = static_cast<long double>(atom.loss);
      auto above = known.lower_bound(loss);
      if (above == known.end()) --above;
      auto const below = above == known.begin() ? above : std::prev(above);
      auto const& near = loss - below->first < above->first - loss ? below : above;
      worst = std::max(worst, static_cast<double>(std::abs(loss - near->first)));
      CHECK(atom.p == Approx(static_cast<double>(near->second)).epsilon(1e-11));
    }
    CHECK(worst <= found.loss_error * largest);
    CHECK(found.loss_error < 1e-11);
  }
}

TEST_CASE("Integer noise: a pair of fewer losses dominates, and is close", "[dp][samplers]") {
  for (double const sigma : {5.0, 40.0}) {
    auto const noise = detail::integer_noise_law::gaussian(sigma, 1.0);
    finite_pair const all = detail::integer_mixtures(noise, {{1.0, 1}}, {{1.0, 0}}).pair;
    double before = 1.0;
    for (std::size_t const most : {std::size_t{20}, std::size_t{120}, std::size_t{400}}) {
      finite_pair const fewer = detail::condensed(all, most);
      CHECK(fewer.atoms.size() <= most + 2);
      finite_pair reversed = all;
      finite_pair fewer_reversed = fewer;
      for (finite_pair* pair : {&reversed, &fewer_reversed}) {
        for (auto& a : pair->atoms.own()) a = {-a.loss, a.q, a.p};
      }
      for (double const e : epsilons) {
        CAPTURE(sigma, most, e);
        CHECK(mass_of(fewer, e) >= mass_of(all, e) * (1.0 - 1e-12));
        CHECK(mass_of(fewer_reversed, e) >= mass_of(reversed, e) * (1.0 - 1e-12));
      }
      CHECK(mass_of(fewer, 0.0) <= before * (1.0 + 1e-12));
      before = mass_of(fewer, 0.0);
    }
    CHECK(before <= 1.05 * mass_of(all, 0.0));
  }
  // What `dominate` returns of a wide law.
  domination const wide =
      dominate(event(integer_noise{integer_law::skellam, 4e7, 5}), adjacency::add_remove);
  domination const normal = dominate(event(gaussian{std::sqrt(4e7) / 5.0}), adjacency::add_remove);
  CHECK_FALSE(wide.attained);
  auto const& atoms = std::get<finite_pair>(wide.remove);
  CHECK(atoms.atoms.size() <= detail::most_atoms + 2);
  double const mu = std::get<normal_pair>(normal.remove).mu;
  for (double const e : {0.0, 1e-4, 1e-3, 2e-3}) {
    double const about = tail(e / mu - 0.5 * mu) - std::exp(e) * tail(e / mu + 0.5 * mu);
    CHECK(mass_of(atoms, e) == Approx(about).epsilon(1e-4));
  }
}

TEST_CASE("Integer noise: a pair of fewer losses below, and a composition that keeps so many",
          "[dp][samplers]") {
  auto const noise = detail::integer_noise_law::gaussian(40.0, 1.0);
  finite_pair const all = detail::integer_mixtures(noise, {{0.3, 1}, {0.7, 0}}, {{1.0, 0}}).pair;
  for (std::size_t const most : {std::size_t{20}, std::size_t{120}, std::size_t{400}}) {
    finite_pair const fewer = detail::merged(all, most);
    CHECK(fewer.atoms.size() <= most + 1);
    double largest = 0.0;
    double worst = 0.0;
    for (auto const& a : fewer.atoms) {
      largest = std::max(largest, std::abs(a.loss));
      long double const loss = std::log(static_cast<long double>(a.p) / a.q);
      worst = std::max(worst, static_cast<double>(std::abs(loss - a.loss)));
    }
    CAPTURE(most, worst, fewer.loss_error * largest);
    // Masses are known to as much.
    CHECK(worst <= fewer.loss_error * largest + 2.0 * fewer.mass_error + 1e-16);
    CHECK(fewer.loss_error < 1e-11);
    for (double const e : epsilons) {
      double const found = mass_of(fewer, e);
      CHECK(found <= mass_of(all, e) * (1.0 + 1e-12));
      if (most == 400 && e <= 0.0) CHECK(found >= mass_of(all, e) * 0.999);
    }
  }
  CHECK(detail::merged(all, all.atoms.size()) == all);

  std::vector<detail::counted_pair> pairs;
  std::size_t before = 0;
  for (int k = 0; k < 40; ++k) {
    domination const one = dominate(event(integer_noise{integer_law::skellam, 1e7 + 1e5 * k, 5}),
                                    adjacency::add_remove);
    before += std::get<finite_pair>(one.remove).atoms.size();
    pairs.push_back({one.remove, 1.0});
  }
  pairs.push_back({dominate(event(pure{0.1}), adjacency::add_remove).remove, 3.0});
  detail::pair_envelope const fewer = detail::envelope_of(pairs);
  CHECK_FALSE(fewer.exact);
  for (auto const* side : {&fewer.above, &fewer.below}) {
    std::size_t after = 0;
    double counts = 0.0;
    for (auto const& c : *side) {
      after += std::get<finite_pair>(c.pair).atoms.size();
      counts += c.count;
    }
    CHECK(after <= (std::size_t{1} << 19U) + 100);
    CHECK(counts == 43.0);
  }
  CHECK(before > std::size_t{1} << 19U);
  for (std::size_t k = 0; k < 40; ++k) {
    finite_pair const& above = std::get<finite_pair>(fewer.above[k].pair);
    finite_pair const& below = std::get<finite_pair>(fewer.below[k].pair);
    finite_pair const& exact = std::get<finite_pair>(pairs[k].pair);
    for (double const e : {0.0, 1e-3, 4e-3}) {
      double const d = mass_of(exact, e);
      CHECK(mass_of(above, e) >= d * (1.0 - 1e-11));
      CHECK(mass_of(below, e) <= d * (1.0 + 1e-11));
      CHECK(mass_of(above, e) - mass_of(below, e) <= 1e-3 * d);
    }
  }
}

TEST_CASE("Integer noise: persons with very many records cost no more than others",
          "[dp][samplers]") {
  double const sigma = 1000.0;
  std::uint64_t const records = 1000;
  for (adjacency const neighbours : {adjacency::add_remove, adjacency::replace_one}) {
    event const release = by_person(sampled(discrete_gaussian{sigma, 3}, poisson{0.5}), records);
    domination const found = dominate(release, neighbours);
    CHECK_FALSE(found.attained);
    CHECK(found.work < 3e8);
    CHECK(found.work > 1e6);
    // Against the pair itself, whose shifts are 3j.
    detail::binomial_mixture const weights = detail::binomial_parts(records, 0.5, 3.0);
    std::vector<detail::integer_part> p;
    std::vector<detail::integer_part> q;
    for (auto const& part : weights.parts) {
      p.push_back({part.weight, static_cast<std::int64_t>(part.shift)});
      q.push_back({part.weight, -p.back().shift});
    }
    if (neighbours == adjacency::add_remove) q = {{1.0, 0}};
    auto const& pair = std::get<finite_pair>(found.remove);
    long double total = 0.0L;
    std::vector<std::pair<long double, long double>> outcomes;
    for (int x = -9000; x <= 12000; x += 50) {  // every fiftieth value: δ to some digits
      outcomes.push_back({mixed_at(p, x, sigma), mixed_at(q, x, sigma)});
      total += mixed_at({{1.0, 0}}, x, sigma);
    }
    for (double const e : {0.0, 0.5, 1.0, 2.0, 5.0}) {
      CAPTURE(e, static_cast<int>(neighbours));
      long double sum = 0.0L;
      for (auto const& [a, b] : outcomes) {
        sum += std::max(0.0L, a - std::exp(static_cast<long double>(e)) * b);
      }
      double const truth = static_cast<double>(sum / total);
      CHECK(mass_of(pair, e) >= truth * (1.0 - 1e-3));
      CHECK(mass_of(pair, e) <= truth * 1.1);
    }
  }
}

TEST_CASE("weights of hypergeometric laws are within what they are said to be", "[dp][samplers]") {
  auto const log_choose = [](std::uint64_t n, std::uint64_t k) {
    long double sum = 0.0L;
    for (std::uint64_t i = 0; i < k; ++i) {
      sum += std::log(static_cast<long double>(n - i) / static_cast<long double>(i + 1));
    }
    return sum;
  };
  struct drawn_from {
    std::uint64_t records;
    std::uint64_t own;
    std::uint64_t batch;
  };
  for (drawn_from const& from : std::vector<drawn_from>{{3, 1, 1},
                                                        {3, 2, 1},
                                                        {3, 2, 2},
                                                        {10, 4, 8},
                                                        {10, 4, 10},
                                                        {100, 7, 20},
                                                        {1000, 900, 150},
                                                        {1000, 2, 999},
                                                        {60'000, 30, 600},
                                                        {1'000'000'000, 5, 3}}) {
    std::uint64_t const records = from.records;
    std::uint64_t const own = from.own;
    std::uint64_t const batch = from.batch;
    CAPTURE(records, own, batch);
    detail::binomial_mixture const mixed = detail::hypergeometric_parts(records, own, batch, 1.0);
    long double total = 0.0L;
    auto const weight = [&](std::uint64_t j) -> long double {
      if (j > own || j > batch || batch - j > records - own) return 0.0L;
      return std::exp(log_choose(own, j) + log_choose(records - own, batch - j) -
                      log_choose(records, batch));
    };
    for (auto const& part : mixed.parts) {
      auto const j = static_cast<std::uint64_t>(part.shift);
      total += part.weight;
      long double const exact = weight(j);
      if (exact < 1e-290L) continue;
      CHECK(std::abs(static_cast<double>(part.weight / exact - 1.0L)) < 1e-13);
    }
    REQUIRE(mixed.rest.has_value());
    CHECK(std::abs(static_cast<double>(*mixed.rest - weight(0))) <= 1e-13 * weight(0));
    CHECK(std::abs(static_cast<double>(total + *mixed.rest - 1.0L)) < 1e-15);
  }
  // Of one record it is the rate.
  CHECK(detail::hypergeometric_parts(60'000, 1, 600, 1.0).parts.front().weight ==
        Approx(0.01).epsilon(1e-15));
}

TEST_CASE("persons with several records in batches without replacement", "[dp][samplers]") {
  for (adjacency const how : all_adjacencies) {
    CAPTURE(static_cast<int>(how));
    auto const epsilon_of = [&](mechanism_event const& m, sampling const& drawn,
                                std::uint64_t persons) {
      privacy_loss_accountant run(how);
      run.compose(by_person(sampled(m, drawn), persons), 20);
      return run.epsilon(1e-5);
    };
    for (mechanism_event const& m :
         std::vector<mechanism_event>{gaussian{3.0}, laplace{6.0}, discrete_gaussian{3.0},
                                      pure{0.1}, approx_dp{0.1, 1e-9}, gaussian_dp{0.3}}) {
      CAPTURE(m.index());
      fixed_size const batch{20, 1000};
      bound<double> const one = epsilon_of(m, batch, 1);
      bound<double> const three = epsilon_of(m, batch, 3);
      // Dearer than one record, no more than all three at every step; with replacement their number is more spread.
      CHECK(three.upper >= one.upper);
      CHECK(three.upper <= epsilon_of(m, unsampled{}, how == adjacency::replace_one ? 3 : 6).upper);
      double const again = epsilon_of(m, with_replacement{20, 1000}, 3).upper;
      CHECK(three.upper <= again * 1.02);  // some record is drawn a little more often
      if (!std::holds_alternative<gaussian_dp>(m)) CHECK(three.upper == Approx(again).epsilon(0.1));
      // Where the others do not fill a batch.
      CHECK(epsilon_of(m, fixed_size{999, 1000}, 3).upper >= three.upper);
    }
  }
  CHECK_THROWS_WITH(
      dominate(by_person(sampled(gaussian{1.0}, fixed_size{2, 5}), 5), adjacency::add_remove),
      "dominate: records_per_person is 5, but must be below the number of records");
  // A person may have them all where others come in their place.
  domination const all =
      dominate(by_person(sampled(gaussian{1.0}, fixed_size{2, 5}), 7), adjacency::replace_one);
  CHECK(all.remove == dominating_pair(normal_pair{14.0}));
  CHECK_FALSE(all.attained);
}

TEST_CASE("weights of binomial laws are within what they are said to be", "[dp][samplers]") {
  for (std::uint64_t const records : std::vector<std::uint64_t>{2, 3, 7, 30, 200}) {
    for (double const rate : {2.27e-8, 1e-3, 0.02, 0.3, 0.6}) {
      detail::binomial_mixture const mixed = detail::binomial_parts(records, rate, 1.0);
      CAPTURE(records, rate, mixed.error);
      for (auto const& part : mixed.parts) {
        long double weight = 1.0L;
        auto const chosen = static_cast<std::uint64_t>(part.shift);
        for (std::uint64_t k = 0; k < records; ++k) {
          if (k < chosen) {
            weight *=
                static_cast<long double>(records - k) / static_cast<long double>(k + 1) * rate;
          } else {
            weight *= 1.0L - static_cast<long double>(rate);
          }
        }
        if (weight < 1e-290L) continue;
        CHECK(std::abs(static_cast<double>(part.weight / weight - 1.0L)) <=
              mixed.error + 4.0 * static_cast<double>(records) * 0x1p-63);
      }
      if (records <= 7 && rate <= 0.02) CHECK(mixed.error <= 2e-14);
    }
  }
}

// With weights that count as known to 1e-11 the loss of each of these steps would count as unknown.
TEST_CASE("very many steps of a person's integer noise at a tiny rate", "[dp][samplers][long]") {
  event const release = by_person(sampled(discrete_gaussian{40.18}, poisson{2.27e-8}), 3);
  for (adjacency const neighbours : {adjacency::add_remove, adjacency::replace_one}) {
    domination const found = dominate(release, neighbours);
    auto const& pair = std::get<finite_pair>(found.remove);
    double const largest = std::max(pair.atoms.back().loss, -pair.atoms.front().loss);
    CHECK(pair.loss_error * largest <= 1e-13);
    discretised_accountant run(neighbours);
    run.compose(release, 46'000'000'000'000);
    CHECK(run.epsilon(1e-5).upper <= 1.5);
  }
}

// δ ≤ δ₀ + e^{ε₀} − e^ε where δ(ε₀) ≤ δ₀.
TEST_CASE("a delta that no grid holds follows from an epsilon that one does",
          "[dp][samplers][long]") {
  discretised_accountant run(adjacency::replace_one);
  run.compose(sampled(discrete_gaussian{40.0}, poisson{2.27e-8}), 46'000'000'000'000);
  double const epsilon = run.epsilon(1e-5).upper;
  REQUIRE(epsilon <= 0.2);
  CHECK(run.delta(0.0).upper <= 0.25);
  CHECK(run.delta(0.5 * epsilon).upper <= 0.25);
  CHECK(run.delta(1.0).upper <= 1e-5);
}

// Where a change moves every output that there is, each has an infinite or a huge loss, and counts as left out: a pair
// without losses that is not one of two equal laws.
TEST_CASE("Integer noise that hides nothing is not taken for no release", "[dp][samplers][long]") {
  std::mt19937_64 engine(20261125);
  auto const log_uniform = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(engine));
  };
  auto const variation = [](auto const& weight,
                            int change) {  // of a symmetric law and itself, moved
    double all = 0.0;
    double more = 0.0;
    for (int k = -4 * change - 4000; k <= 4 * change + 4000; ++k) {
      all += weight(k);
      more += std::max(0.0, weight(k) - weight(k - change));
    }
    return more / all;
  };
  auto const compare = [](event const& release, adjacency how, double truth) {
    privacy_loss_accountant exact(how);
    discretised_accountant grid(how);
    exact.compose(release);
    grid.compose(release);
    for (bound<double> const& found : {exact.delta(0.0), grid.delta(0.0)}) {
      CHECK(found.upper >= truth * (1.0 - 1e-9));
      CHECK(found.lower <= found.upper);
    }
    // δ ≥ δ(0) − (1 − e^{−ε}) for every ε.
    if (truth > 1e-4) CHECK(exact.epsilon(1e-5).upper >= -std::log1p(1e-5 - truth * (1.0 - 1e-9)));
  };
  for (int k = 0; k < 24; ++k) {
    double const scale = log_uniform(0.1, 100.0);
    int const change = static_cast<int>(log_uniform(1.0, 1000.0));
    auto const units = static_cast<std::uint64_t>(change);
    bool const normal = k % 2 == 0;
    double const far =
        normal ? variation([&](int x) { return std::exp(-0.5 * x * x / (scale * scale)); }, change)
               : variation([&](int x) { return std::exp(-std::abs(x) / scale); }, change);
    mechanism_event const noise = normal ? mechanism_event(discrete_gaussian{scale, units})
                                         : mechanism_event(discrete_laplace{scale, units});
    INFO((normal ? "Gaussian " : "Laplace ") << scale << ", change " << change);
    for (adjacency const how : {adjacency::replace_one, adjacency::zero_out}) {
      compare(sampled(noise, fixed_size{10, 100}), how, 0.1 * far);
      compare(sampled(noise, poisson{0.1}), how, 0.1 * far);
    }
  }
  for (std::uint64_t const change : {300U, 400U, 100000U}) {
    compare(integer_noise{integer_law::skellam, 1.0, change}, adjacency::add_remove, 1.0 - 1e-12);
  }
  // Others of the run do not hide it.
  privacy_loss_accountant run(adjacency::replace_one);
  run.compose(sampled(discrete_gaussian{10.0, 1000}, poisson{0.1}));
  run.compose(sampled(gaussian{1.0}, poisson{0.01}), 100);
  CHECK(run.delta(0.0).upper >= 0.1);
  CHECK(run.delta(5.0).upper >= 0.1);
}

TEST_CASE("Noise for integers starts from noise that hides nothing", "[dp][samplers]") {
  double const sigma = noise_multiplier_for<privacy_loss_accountant>({1.0, 1e-5}, [](double s) {
    return event(integer_noise{integer_law::skellam, s, 1000});
  });
  CHECK(sigma > 1000.0);
}

TEST_CASE("Integer noise by other names", "[dp][samplers]") {
  discrete_laplace const g = two_sided_geometric(std::exp(-0.5), 3);
  CHECK(g.scale == Approx(2.0).epsilon(1e-14));
  CHECK(g.sensitivity == 3);
  CHECK(vector_discrete_gaussian(2.0, 3.0).rho == Approx(1.125).epsilon(1e-14));
  CHECK(vector_discrete_gaussian(2.0, 3.0).rho >= 1.125);
  renyi_dp const s = vector_skellam(50.0, 4.0, 2.0);
  CHECK(s.points.size() <= renyi_dp::most_points);
  CHECK(s.points.front().divergence == Approx(2.0 * 4.0 / 100.0 + std::min(36.0 / 1e4, 0.12)));
  CHECK_THROWS_WITH(two_sided_geometric(1.0), Catch::Contains("ratio is 1, but must be in (0, 1)"));
  CHECK_THROWS_AS(vector_skellam(0.0, 1.0, 1.0), std::domain_error);
  CHECK_THROWS_AS(vector_discrete_gaussian(1e-200, 1e200), std::domain_error);
}

TEST_CASE("what weighs less than any double is charged", "[dp]") {
  // The largest loss of k records, each sampled alone: k·log(1 + q(e^{1/b} − 1)).
  struct persons {
    double scale;
    double rate;
    std::uint64_t records;
  };
  for (auto const& [b, q, k] :
       {persons{0.05, 1e-6, 20}, persons{0.05, 1e-6, 60}, persons{0.05, 1e-6, 100},
        persons{0.05, 1e-6, 1000}, persons{0.1, 1e-3, 1000}}) {
    double const truth = static_cast<double>(k) * std::log1p(q * std::expm1(1.0 / b));
    for (adjacency const neighbours :
         {adjacency::add_remove, adjacency::zero_out, adjacency::replace_one}) {
      std::vector<composed> const run{{by_person(sampled(laplace{b}, poisson{q}), k), 2}};
      bound<double> const found = pure_epsilon(std::span<composed const>(run), neighbours);
      CAPTURE(b, q, k, truth, found.lower, found.upper);
      CHECK(found.upper >= 2.0 * truth * (1.0 - 1e-13));
      CHECK(found.lower <= 2.0 * truth * (1.0 + 1e-6));
      CHECK(found.upper <= 2.0 * truth * (1.0 + 1e-3));  // replaced ones lose a little more
    }
  }
  // Of 100 draws with replacement, each of which may be the record's: Lemma 11.
  std::vector<composed> const drawn{{sampled(laplace{0.1}, with_replacement{100, 1'000'000}), 1}};
  CHECK(pure_epsilon(std::span<composed const>(drawn), adjacency::add_remove).upper >= 618.6);
  // D_2 of a mixture: log Σ w_i w_j e^{ij/σ²}.
  for (std::uint64_t const k : {10U, 40U, 64U, 100U}) {
    event const release = by_person(sampled(gaussian{1.0}, poisson{1e-6}), k);
    exact sum = 0;
    std::vector<exact> weights;
    exact weight = pow(exact(1.0 - 1e-6), k);
    for (std::uint64_t j = 0; j <= k; ++j) {
      weights.push_back(weight);
      weight *= exact(1e-6) / exact(1.0 - 1e-6) * exact(k - j) / exact(j + 1);
    }
    for (std::uint64_t i = 0; i <= k; ++i) {
      for (std::uint64_t j = 0; j <= k; ++j) sum += weights[i] * weights[j] * exp(exact(i * j));
    }
    auto const truth = static_cast<double>(log(sum));
    renyi orders(adjacency::add_remove);
    orders.add(release, 3);
    CAPTURE(k, truth);
    CHECK(orders.divergence(2.0) >= 3.0 * truth * (1.0 - 1e-12));
    CHECK(orders.divergence(2.0) <=
          3.0 * (1.0 + 1e-9) * std::max(truth, static_cast<double>(k * k)));
    // But ε at a δ that is a number in use is what it was.
    renyi_accountant by_orders(adjacency::add_remove);
    privacy_loss_accountant by_losses(adjacency::add_remove);
    by_orders.compose(release, 3);
    by_losses.compose(release, 3);
    CHECK(by_losses.epsilon(1e-5).upper <= by_orders.epsilon(1e-5).upper);
    CHECK(by_orders.epsilon(1e-5).upper < 1.0);
  }
  // δ beyond what the pairs that are kept can lose, and ε at a δ below what is charged.
  event const many = by_person(sampled(laplace{0.05}, poisson{1e-6}), 100);
  for (double const epsilon : {425.0, 500.0, 600.0}) {
    privacy_loss_accountant losses(adjacency::add_remove);
    discretised_accountant grid(adjacency::add_remove);
    losses.compose(many, 1);
    grid.compose(many, 1);
    CHECK(losses.delta(epsilon).upper > 0.0);
    CHECK(grid.delta(epsilon).upper > 0.0);
    CHECK(losses.delta(epsilon).upper < 1e-280);
    CHECK(losses.epsilon(1e-322).upper == std::numeric_limits<double>::infinity());
  }
}

}  // namespace sampler_tests
