// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/pure_epsilon.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/zcdp.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

// Persons with several records: docs/certificates/allocation.md, Lemma 29.

namespace {

using namespace tacit;  // NOLINT

constexpr std::initializer_list<double> some_epsilons = {0.0, 0.3, 1.2, 2.5};

/// Where the person's records stand, and how often: by step, in units of a contribution.
using moved_by = std::vector<std::vector<double>>;

/// Every way in which records with these contributions take part in `part` of the steps each.
moved_by placements(std::vector<double> const& contributions, std::size_t steps, std::size_t part) {
  moved_by out{std::vector<double>(steps, 0.0)};
  for (double const v : contributions) {
    moved_by next;
    for (auto const& before : out) {
      for (std::size_t set = 0; set < std::size_t{1} << steps; ++set) {
        std::vector<double> after = before;
        std::size_t size = 0;
        for (std::size_t i = 0; i < steps; ++i) {
          if (((set >> i) & 1) == 0) continue;
          after[i] += v;
          ++size;
        }
        if (size == part) next.push_back(after);
      }
    }
    out = std::move(next);
  }
  return out;
}

struct both_ways {
  double remove = 0.0;
  double add = 0.0;
};

/// δ of an epoch with the shifts `with`, each as probable as the others, against one with `without`: the sum over outputs of
/// all steps on a lattice of this spacing, of noise that has this mass there.
template <class Mass>
std::vector<both_ways> enumerated(moved_by const& with, moved_by const& without, double spacing,
                                  int most, Mass&& mass) {
  std::size_t const steps = with[0].size();
  std::vector<int> at(steps, -most);
  std::vector<both_ways> out(some_epsilons.size());
  // The mass of each output, by way, step and output.
  using masses = std::vector<std::vector<std::vector<double>>>;
  auto const tabled = [&](moved_by const& shifts) {
    masses all;
    for (auto const& shift : shifts) {
      all.emplace_back();
      for (double const s : shift) {
        all.back().emplace_back();
        for (int k = -most; k <= most; ++k) all.back().back().push_back(mass(k * spacing - s));
      }
    }
    return all;
  };
  masses const of_with = tabled(with);
  masses const of_without = tabled(without);
  auto const density = [&](masses const& all) {
    double sum = 0.0;
    for (auto const& way : all) {
      double product = 1.0;
      for (std::size_t i = 0; i < steps; ++i) {
        product *= way[i][static_cast<std::size_t>(at[i] + most)];
      }
      sum += product;
    }
    return sum / static_cast<double>(all.size());
  };
  for (;;) {
    double const p = density(of_with);
    double const q = density(of_without);
    std::size_t k = 0;
    for (double const e : some_epsilons) {
      out[k].remove += std::max(0.0, p - std::exp(e) * q);
      out[k].add += std::max(0.0, q - std::exp(e) * p);
      ++k;
    }
    std::size_t i = 0;
    while (i < steps && ++at[i] > most) at[i++] = -most;
    if (i == steps) return out;
  }
}

template <class Accountant>
void check_above(Accountant run, event const& release, std::vector<both_ways> const& truth,
                 double tolerance) {
  run.compose(release);
  std::size_t k = 0;
  for (double const e : some_epsilons) {
    CAPTURE(e, truth[k].remove, truth[k].add, run.method().name);
    CHECK(run.delta(e).upper >= std::max(truth[k].remove, truth[k].add) * (1.0 - tolerance) - 1e-9);
    ++k;
  }
}

void check_all_above(event const& release, adjacency how, std::vector<both_ways> const& truth,
                     double tolerance) {
  check_above(privacy_loss_accountant(how), release, truth, tolerance);
  if (tolerance > 1e-2) check_above(discretised_accountant(how), release, truth, tolerance);
  check_above(renyi_accountant(how), release, truth, tolerance);
}

}  // namespace

TEST_CASE("a person's records in random steps are above every way they may fall", "[persons]") {
  struct toy {
    std::vector<double> contributions;
    std::size_t steps;
    std::size_t part;
  };
  for (toy const& t : std::vector<toy>{{{1, 1}, 2, 1},
                                       {{1, -1}, 2, 1},
                                       {{1, 1}, 3, 1},
                                       {{1, 1, 1}, 2, 1},
                                       {{1, 1, -1}, 2, 1},
                                       {{1, 1}, 3, 2},
                                       {{1, -1}, 2, 2},
                                       {{1, 1, 1}, 3, 2}}) {
    auto const persons = static_cast<std::uint64_t>(t.contributions.size());
    random_allocation const how{t.steps, t.part};
    auto const with = placements(t.contributions, t.steps, t.part);
    std::vector<double> opposite = t.contributions;
    for (double& v : opposite) v = -v;
    auto const other = placements(opposite, t.steps, t.part);
    moved_by const nothing{std::vector<double>(t.steps, 0.0)};
    CAPTURE(persons, t.steps, t.part);
    for (double const sigma : {0.8, 2.0}) {
      CAPTURE(sigma);
      // The trapezoid rule of entire functions: in all but the kink of (·)₊ it is exact.
      double const step = t.steps == 2 ? 0.05 * sigma : 0.3 * sigma;
      int const most = static_cast<int>((6.0 * sigma + 3.0) / step);
      auto const normal = [&](double x) {
        return step / sigma * 0.3989422804014327 * std::exp(-0.5 * x * x / (sigma * sigma));
      };
      event const release = by_person(sampled(gaussian{sigma}, how), persons);
      double const resolution = t.steps == 2 ? 2e-3 : 4e-2;
      auto const truth = enumerated(with, nothing, step, most, normal);
      for (adjacency const adjacent : {adjacency::add_remove, adjacency::zero_out}) {
        check_all_above(release, adjacent, truth, resolution);
      }
      check_all_above(release, adjacency::replace_one, enumerated(with, other, step, most, normal),
                      resolution);
    }
    for (double const scale : {0.7, 2.0}) {
      CAPTURE(scale);
      int const most = static_cast<int>((t.steps == 2 ? 22.0 : 9.0) * scale) + 4;
      double const height = std::tanh(0.5 / scale);
      auto const geometric = [&](double x) { return height * std::exp(-std::abs(x) / scale); };
      event const release = by_person(sampled(discrete_laplace{scale}, how), persons);
      auto const truth = enumerated(with, nothing, 1.0, most, geometric);
      for (adjacency const adjacent : {adjacency::add_remove, adjacency::zero_out}) {
        check_all_above(release, adjacent, truth, 1e-9);
      }
      check_all_above(release, adjacency::replace_one,
                      enumerated(with, other, 1.0, most, geometric), 1e-9);
    }
  }
}

TEST_CASE("a person's records in random steps cost no more than told, and no less than one's",
          "[persons]") {
  auto const of = [](auto run, event const& release, std::uint64_t count = 1) {
    run.compose(release, count);
    return run.epsilon(1e-6);
  };
  for (adjacency const how : {adjacency::add_remove, adjacency::zero_out, adjacency::replace_one}) {
    for (std::uint64_t const persons : std::vector<std::uint64_t>{2, 9}) {
      for (double const sigma : {0.7, 20.0}) {
        CAPTURE(static_cast<int>(how), persons, sigma);
        event const epoch = sampled(gaussian{sigma}, random_allocation{1000});
        event const several = by_person(epoch, persons);
        privacy_loss_accountant run(how);
        run.compose(several);
        CHECK_FALSE(run.method().attained());
        double const found = run.epsilon(1e-6).upper;
        CHECK(found >= of(privacy_loss_accountant(how), epoch).lower);
        CHECK(found <= of(privacy_loss_accountant(how), by_person(gaussian{sigma}, persons)).upper *
                           (1.0 + 1e-9));
        CHECK(found <= of(renyi_accountant(how), several).upper * (1.0 + 1e-12));
        CHECK(found <= of(discretised_accountant(how), several).upper * (1.0 + 1e-9));
        CHECK(run.delta(found).lower <= 1e-6);
        CHECK(privacy_loss_accountant::load(run.save()).save() == run.save());
      }
    }
  }
  // The composition that it is.
  std::vector<composed> const blocks =
      epoch_blocks(by_person(sampled(gaussian{2.0}, random_allocation{10, 4}), 9), 5);
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].count == 2 * 9 * 5);
  CHECK(blocks[1].count == 2 * 9 * 5);
  double const noise = std::get<gaussian>(blocks[0].release.what).noise_multiplier;
  CHECK((noise <= 2.0 / 3.0 && noise >= 2.0 / 3.0 * (1.0 - 1e-15)));
  CHECK(blocks[0].release == sampled(gaussian{noise}, random_allocation{2}));
  CHECK(blocks[1].release == sampled(gaussian{noise}, random_allocation{3}));
  // With much noise it is as one record of n times the contribution: n²(e^{1/σ²} − 1)/t.
  double const many = of(privacy_loss_accountant(),
                         by_person(sampled(gaussian{50.0}, random_allocation{100}), 4), 20)
                          .upper;
  double const large =
      of(privacy_loss_accountant(), sampled(gaussian{12.5}, random_allocation{100}), 20).upper;
  CHECK(many <= large);
  CHECK(many >= 0.98 * large);
  // One step, and one in which all take part.
  for (mechanism_event const& m :
       std::vector<mechanism_event>{gaussian{1.5}, laplace{2.0}, pure{0.3}}) {
    CHECK(of(privacy_loss_accountant(), by_person(sampled(m, random_allocation{1}), 3)).upper ==
          of(privacy_loss_accountant(), by_person(m, 3)).upper);
    CHECK(dominate(by_person(sampled(m, random_allocation{1}), 3), adjacency::zero_out).attained ==
          dominate(by_person(m, 3), adjacency::zero_out).attained);
  }
}

TEST_CASE("a person's records in random steps of other mechanisms count as told", "[persons]") {
  random_allocation const one{20};
  random_allocation const two{20, 2};
  auto const of = [](auto run, event const& release) {
    run.compose(release, 3);
    return run.epsilon(1e-6).upper;
  };
  std::vector<mechanism_event> const mechanisms{laplace{3.0},
                                                discrete_gaussian{4.0},
                                                discrete_laplace{3.0},
                                                integer_noise{integer_law::skellam, 25.0},
                                                exponential_mechanism{0.4},
                                                pure{0.2},
                                                approx_dp{0.2, 1e-9},
                                                dp_profile{{{0.1, 1e-3}, {0.5, 1e-9}}}};
  for (adjacency const how : {adjacency::add_remove, adjacency::zero_out, adjacency::replace_one}) {
    for (mechanism_event const& m : mechanisms) {
      CAPTURE(m.index(), static_cast<int>(how));
      CHECK(of(privacy_loss_accountant(how), by_person(sampled(m, one), 2)) ==
            of(privacy_loss_accountant(how), by_person(m, 2)));
      CHECK(of(renyi_accountant(how), by_person(sampled(m, one), 2)) ==
            of(renyi_accountant(how), by_person(m, 2)));
      CHECK(of(privacy_loss_accountant(how), by_person(sampled(m, two), 2)) ==
            of(privacy_loss_accountant(how), by_person(m, 4)));
      privacy_loss_accountant run(how);
      run.compose(by_person(sampled(m, one), 2));
      CHECK_FALSE(run.method().attained());
      std::vector<composed> const history{{by_person(sampled(m, one), 2), 3}};
      std::vector<composed> const whole{{by_person(m, 2), 3}};
      CHECK(pure_epsilon(history, how).upper == pure_epsilon(whole, how).upper);
      CHECK(pure_epsilon(history, how).lower == 0.0);
    }
    CHECK(of(renyi_accountant(how), by_person(sampled(zcdp{0.01}, two), 3)) ==
          of(renyi_accountant(how), by_person(sampled(zcdp{0.02}, one), 3)));
    CHECK(of(zcdp_accountant(how), by_person(sampled(zcdp{0.01}, one), 3)) ==
          of(zcdp_accountant(how), by_person(zcdp{0.01}, 3)));
    CHECK(of(privacy_loss_accountant(how), by_person(sampled(gaussian_dp{0.2}, one), 2)) ==
          of(privacy_loss_accountant(how), by_person(gaussian_dp{0.2}, 2)));
  }
  // What cannot be stated is named.
  privacy_loss_accountant run;
  CHECK_THROWS_WITH(
      run.compose(by_person(sampled(laplace{3.0}, random_allocation{2000, 1001}), 1000)),
      "epoch_blocks: records_per_person times part is 1001000, but must be a whole "
      "number in [1, 1000000]");
  CHECK_THROWS_AS(run.compose(by_person(sampled(gaussian{3.0}, random_allocation{10}), 1'000'000),
                              std::numeric_limits<std::uint64_t>::max() / 999'999),
                  std::domain_error);
  CHECK_THROWS_AS(run.compose(by_person(sampled(gaussian{5e-324}, random_allocation{10}), 4)),
                  std::domain_error);
  CHECK_THROWS_AS(run.compose(by_person(sampled(matrix_gaussian{1.0, 1.0}, one), 2)),
                  std::invalid_argument);
  CHECK(run.history().empty());
}

namespace {

/// A mixture's lengths, and with which probability.
struct drawn_lengths {
  std::vector<double> lengths;
  std::vector<double> weights;
};

/// The law of the sum of some records, by shift: each adds its value times a length that is drawn.
struct sum_law {
  std::vector<double> shifts{0.0};
  std::vector<double> weights{1.0};

  void add(double value, drawn_lengths const& drawn) {
    sum_law out;
    out.shifts.clear();
    out.weights.clear();
    double rest = 1.0;
    for (double const w : drawn.weights) rest -= w;
    for (std::size_t k = 0; k < shifts.size(); ++k) {
      for (std::size_t i = 0; i < drawn.lengths.size(); ++i) {
        out.shifts.push_back(shifts[k] + value * drawn.lengths[i]);
        out.weights.push_back(weights[k] * drawn.weights[i]);
      }
      out.shifts.push_back(shifts[k]);
      out.weights.push_back(weights[k] * rest);
    }
    *this = std::move(out);
  }
  void mix(sum_law const& other, double weight) {
    shifts.insert(shifts.end(), other.shifts.begin(), other.shifts.end());
    for (double const w : other.weights) weights.push_back(w * weight);
  }
};

/// Of a release of these records: every sample, with its probability.
sum_law released(std::vector<double> const& records, sampling const& how,
                 drawn_lengths const& drawn) {
  std::size_t const n = records.size();
  sum_law all{{}, {}};
  auto const put = [&](std::vector<int> const& times, double probability) {
    sum_law one;
    for (std::size_t i = 0; i < n; ++i) {
      for (int k = 0; k < times[i]; ++k) one.add(records[i], drawn);
    }
    all.mix(one, probability);
  };
  if (auto const* coins = std::get_if<poisson>(&how)) {
    for (std::size_t set = 0; set < std::size_t{1} << n; ++set) {
      std::vector<int> times(n, 0);
      double probability = 1.0;
      for (std::size_t i = 0; i < n; ++i) {
        times[i] = static_cast<int>((set >> i) & 1);
        probability *= times[i] == 1 ? coins->rate : 1.0 - coins->rate;
      }
      put(times, probability);
    }
  } else if (std::holds_alternative<unsampled>(how)) {
    put(std::vector<int>(n, 1), 1.0);
  } else {
    auto const* fixed = std::get_if<fixed_size>(&how);
    auto const* draws = std::get_if<with_replacement>(&how);
    std::size_t const batch = fixed != nullptr ? fixed->batch : draws->batch;
    std::vector<std::vector<int>> samples;
    std::vector<std::size_t> drawn_at(batch, 0);
    for (;;) {  // every sequence of draws
      std::vector<int> times(n, 0);
      for (std::size_t const i : drawn_at) ++times[i];
      if (fixed == nullptr || *std::max_element(times.begin(), times.end()) <= 1) {
        samples.push_back(times);
      }
      std::size_t k = 0;
      while (k < batch && ++drawn_at[k] == n) drawn_at[k++] = 0;
      if (k == batch) break;
    }
    for (auto const& times : samples) put(times, 1.0 / static_cast<double>(samples.size()));
  }
  return all;
}

/// δ in both orders at `some_epsilons`, of normal noise on two such laws.
std::vector<both_ways> noised(sum_law const& p, sum_law const& q, double sigma) {
  std::vector<both_ways> out(some_epsilons.size());
  double const step = 0.02 * sigma;
  auto const density = [&](sum_law const& law, double x) {
    double sum = 0.0;
    for (std::size_t k = 0; k < law.shifts.size(); ++k) {
      double const z = (x - law.shifts[k]) / sigma;
      sum += law.weights[k] * std::exp(-0.5 * z * z);
    }
    return sum * step / sigma * 0.3989422804014327;
  };
  for (double x = -9.0 - 8.0 * sigma; x <= 9.0 + 8.0 * sigma; x += step) {
    double const at_p = density(p, x);
    double const at_q = density(q, x);
    std::size_t k = 0;
    for (double const e : some_epsilons) {
      out[k].remove += std::max(0.0, at_p - std::exp(e) * at_q);
      out[k].add += std::max(0.0, at_q - std::exp(e) * at_p);
      ++k;
    }
  }
  return out;
}

struct question {
  sampling how;
  std::size_t persons;
};

}  // namespace

TEST_CASE("mixtures of Gaussians in batches, and of persons, are above every sample", "[persons]") {
  std::vector<question> const questions{{fixed_size{1, 3}, 1},
                                        {fixed_size{2, 3}, 1},
                                        {fixed_size{3, 3}, 1},
                                        {with_replacement{2, 3}, 1},
                                        {with_replacement{2, 3}, 2},
                                        {fixed_size{1, 3}, 2},
                                        {fixed_size{2, 3}, 2},
                                        {unsampled{}, 2},
                                        {poisson{0.3}, 2}};
  drawn_lengths const drawn{{1.0, 2.5}, {0.3, 0.1}};
  drawn_lengths const whole{{0.5, 2.0}, {0.6, 0.4}};
  for (drawn_lengths const& law : {drawn, whole}) {
    for (double const sigma : {0.9, 4.0}) {
      gaussian_mixture m{sigma, {}};
      for (std::size_t i = 0; i < law.lengths.size(); ++i) {
        m.parts.push_back({law.weights[i], law.lengths[i]});
      }
      for (question const& asked : questions) {
        std::size_t const others = 3 - asked.persons;
        std::vector<std::vector<double>> bases;  // of the other records
        for (std::size_t set = 0; set < std::size_t{1} << others; ++set) {
          bases.emplace_back();
          for (std::size_t i = 0; i < others; ++i) bases.back().push_back((set >> i) & 1 ? 1 : -1);
        }
        for (adjacency const how :
             {adjacency::add_remove, adjacency::zero_out, adjacency::replace_one}) {
          event const release = by_person(sampled(m, asked.how), asked.persons);
          std::vector<both_ways> worst(some_epsilons.size());
          for (auto const& base : bases) {
            auto const with = [&](double value) {
              std::vector<double> all = base;
              all.insert(all.end(), asked.persons, value);
              return released(all, asked.how, law);
            };
            sum_law const one = with(1.0);
            // Batches without a record more are of the others.
            auto const* fixed = std::get_if<fixed_size>(&asked.how);
            if (how == adjacency::add_remove && fixed != nullptr && fixed->batch > others) continue;
            sum_law const other = how == adjacency::add_remove ? released(base, asked.how, law)
                                  : how == adjacency::zero_out ? with(0.0)
                                                               : with(-1.0);
            auto const found = noised(one, other, sigma);
            for (std::size_t k = 0; k < worst.size(); ++k) {
              worst[k].remove = std::max(worst[k].remove, found[k].remove);
              worst[k].add = std::max(worst[k].add, found[k].add);
            }
          }
          CAPTURE(asked.how.index(), asked.persons, sigma, static_cast<int>(how));
          privacy_loss_accountant run(how);
          run.compose(release);
          renyi_accountant orders(how);
          orders.compose(release);
          std::size_t k = 0;
          for (double const e : some_epsilons) {
            double const truth = std::max(worst[k].remove, worst[k].add);
            CAPTURE(e, truth);
            bound<double> const found = run.delta(e);
            CHECK(found.upper >= truth * (1.0 - 2e-3) - 1e-12);
            CHECK(orders.delta(e).upper >= truth * (1.0 - 2e-3) - 1e-12);
            CHECK(found.upper <= orders.delta(e).upper * (1.0 + 1e-9));
            // A batch of one record attains the pair, but for what lies between its points.
            auto const* fixed = std::get_if<fixed_size>(&asked.how);
            if (fixed != nullptr && fixed->batch == 1 && asked.persons == 1 &&
                how != adjacency::zero_out) {
              CHECK(found.upper <= truth * 1.01 + 1e-9);
            }
            ++k;
          }
          bool const all = sampling(fixed_size{3, 3}) == asked.how && how != adjacency::add_remove;
          if (!all) CHECK_FALSE(run.method().attained());
        }
      }
    }
  }
}

TEST_CASE("a mixture of one length in batches is the Gaussian", "[persons]") {
  gaussian_mixture const one{2.0, {{1.0, 1.0}}};
  for (sampling const& how : std::vector<sampling>{fixed_size{3, 30}, with_replacement{3, 30}}) {
    for (adjacency const adjacent :
         {adjacency::add_remove, adjacency::zero_out, adjacency::replace_one}) {
      for (std::uint64_t const persons : std::vector<std::uint64_t>{1, 2}) {
        CAPTURE(how.index(), static_cast<int>(adjacent), persons);
        domination const found = dominate(by_person(sampled(one, how), persons), adjacent);
        CHECK(found.remove ==
              dominate(by_person(sampled(gaussian{2.0}, how), persons), adjacent).remove);
        CHECK_FALSE(found.attained);
      }
    }
  }
  // No length at all, noise that no double holds, and what zCDP and Gaussian DP have no bound for.
  CHECK(dominate(sampled(gaussian_mixture{2.0, {{0.5, 0.0}}}, fixed_size{1, 3}),
                 adjacency::add_remove)
            .remove == dominating_pair(normal_pair{0.0}));
  CHECK_THROWS_AS(dominate(sampled(gaussian_mixture{1e-300, {{0.5, 1e100}}}, fixed_size{1, 3}), {}),
                  std::domain_error);
  gaussian_mixture const two{2.0, {{0.5, 1.0}, {0.1, 2.0}}};
  for (std::uint64_t const batch : std::vector<std::uint64_t>{1, 3}) {
    zcdp_accountant by_rho;
    gaussian_accountant by_mu;
    CHECK_THROWS_AS(by_rho.compose(sampled(two, fixed_size{batch, 3})), std::invalid_argument);
    CHECK_THROWS_AS(by_mu.compose(sampled(two, fixed_size{batch, 3})), std::invalid_argument);
  }
}

namespace {

using answer_law = std::map<std::vector<int>, double>;

/// An answer among k categories of a record that has this value; of a null record, −1, at random.
double answers(int value, int answer, double epsilon, int k) {
  if (value < 0) return 1.0 / k;
  return (answer == value ? std::exp(epsilon) : 1.0) / (std::exp(epsilon) + k - 1);
}

/// The answers of records in their order.
answer_law all_answers(std::vector<int> const& values, double epsilon, int k) {
  answer_law out{{{}, 1.0}};
  for (int const value : values) {
    answer_law longer;
    for (auto const& [before, mass] : out) {
      for (int a = 0; a < k; ++a) {
        std::vector<int> after = before;
        after.push_back(a);
        longer[after] += mass * answers(value, a, epsilon, k);
      }
    }
    out = std::move(longer);
  }
  return out;
}

answer_law answered(std::vector<int> const& values, sampling const& how, double epsilon, int k) {
  std::size_t const n = values.size();
  answer_law out;
  if (auto const* coins = std::get_if<poisson>(&how)) {  // what is not drawn answers at random
    for (std::size_t set = 0; set < std::size_t{1} << n; ++set) {
      std::vector<int> shown = values;
      double probability = 1.0;
      for (std::size_t i = 0; i < n; ++i) {
        bool const drawn = ((set >> i) & 1) != 0;
        if (!drawn) shown[i] = -1;
        probability *= drawn ? coins->rate : 1.0 - coins->rate;
      }
      for (auto const& [a, mass] : all_answers(shown, epsilon, k)) out[a] += probability * mass;
    }
    return out;
  }
  auto const* fixed = std::get_if<fixed_size>(&how);
  auto const* draws = std::get_if<with_replacement>(&how);
  if (fixed == nullptr && draws == nullptr) return all_answers(values, epsilon, k);
  std::size_t const batch = fixed != nullptr ? fixed->batch : draws->batch;
  std::vector<std::vector<int>> samples;
  std::vector<std::size_t> at(batch, 0);
  for (;;) {
    std::vector<int> times(n, 0);
    for (std::size_t const i : at) ++times[i];
    if (fixed == nullptr || *std::max_element(times.begin(), times.end()) <= 1) {
      samples.emplace_back();
      for (std::size_t const i : at) samples.back().push_back(values[i]);
    }
    std::size_t j = 0;
    while (j < batch && ++at[j] == n) at[j++] = 0;
    if (j == batch) break;
  }
  for (auto const& sample : samples) {
    for (auto const& [a, mass] : all_answers(sample, epsilon, k)) {
      std::vector<int> as_a_set = a;
      std::sort(as_a_set.begin(), as_a_set.end());
      out[as_a_set] += mass / static_cast<double>(samples.size());
    }
  }
  return out;
}

double larger_delta(answer_law const& p, answer_law const& q, double epsilon) {
  double one = 0.0;
  double other = 0.0;
  for (auto const& [a, mass] : p) {
    one += std::max(0.0, mass - std::exp(epsilon) * q.at(a));
    other += std::max(0.0, q.at(a) - std::exp(epsilon) * mass);
  }
  return std::max(one, other);
}

}  // namespace

TEST_CASE("responses of persons, and in batches, are above every sample", "[persons]") {
  std::vector<question> const questions{{unsampled{}, 2},
                                        {poisson{0.3}, 2},
                                        {fixed_size{1, 3}, 1},
                                        {fixed_size{2, 3}, 1},
                                        {fixed_size{1, 3}, 2},
                                        {fixed_size{2, 3}, 2},
                                        {fixed_size{3, 3}, 2},
                                        {fixed_size{3, 3}, 1},
                                        {with_replacement{1, 3}, 1},
                                        {with_replacement{2, 3}, 1},
                                        {with_replacement{2, 3}, 2},
                                        {unsampled{}, 3}};
  for (int const k : {2, 3}) {
    for (double const epsilon : {0.4, 1.5}) {
      randomised_response const m{epsilon, static_cast<std::uint64_t>(k)};
      for (question const& asked : questions) {
        for (adjacency const how : {adjacency::zero_out, adjacency::replace_one}) {
          CAPTURE(k, epsilon, asked.how.index(), asked.persons, static_cast<int>(how));
          std::vector<std::vector<int>> databases;
          for (int code = 0; code < k * k * k; ++code) {
            databases.push_back({code % k, code / k % k, code / (k * k)});
          }
          std::vector<double> worst(some_epsilons.size(), 0.0);
          for (auto const& one : databases) {
            answer_law const p = answered(one, asked.how, epsilon, k);
            for (auto other : databases) {
              bool alike = true;
              for (std::size_t i = asked.persons; i < 3; ++i) alike = alike && one[i] == other[i];
              if (!alike) continue;
              if (how == adjacency::zero_out) {
                for (std::size_t i = 0; i < asked.persons; ++i) other[i] = -1;
              }
              answer_law const q = answered(other, asked.how, epsilon, k);
              std::size_t at = 0;
              for (double const e : some_epsilons) {
                worst[at] = std::max(worst[at], larger_delta(p, q, e));
                ++at;
              }
            }
          }
          event const release = by_person(sampled(m, asked.how), asked.persons);
          privacy_loss_accountant run(how);
          run.compose(release);
          discretised_accountant grid(how);
          grid.compose(release);
          renyi_accountant orders(how);
          orders.compose(release);
          bool const exact = asked.how.index() <= 1;
          std::size_t at = 0;
          for (double const e : some_epsilons) {
            CAPTURE(e, worst[at]);
            CHECK(run.delta(e).upper >= worst[at] * (1.0 - 1e-12) - 1e-15);
            CHECK(grid.delta(e).upper >= worst[at] * (1.0 - 1e-12) - 1e-15);
            CHECK(orders.delta(e).upper >= worst[at] * (1.0 - 1e-12) - 1e-15);
            CHECK(run.delta(e).upper <= orders.delta(e).upper * (1.0 + 1e-9) + 1e-15);
            if (exact) CHECK(run.delta(e).upper <= worst[at] * (1.0 + 1e-4) + 1e-9);
            ++at;
          }
          std::vector<composed> const history{{release, 1}};
          double const most = pure_epsilon(history, how).upper;
          CHECK(run.delta(most).upper <= 1e-9);
          answer_law const p = answered({0, 0, 0}, asked.how, epsilon, k);
          CHECK(p.size() > 1);
        }
      }
    }
  }
}

TEST_CASE("responses of a person compose as so many responses", "[persons]") {
  randomised_response const m{0.7, 4};
  for (adjacency const how : {adjacency::zero_out, adjacency::replace_one}) {
    for (sampling const& scheme :
         std::vector<sampling>{unsampled{}, poisson{0.2}, shuffled{}, random_allocation{10},
                               random_allocation{10, 2}}) {
      CAPTURE(static_cast<int>(how), scheme.index());
      privacy_loss_accountant several(how);
      several.compose(by_person(sampled(m, scheme), 3), 5);
      privacy_loss_accountant one_each(how);
      one_each.compose(sampled(m, scheme), 15);
      CHECK(several.epsilon(1e-6).upper == one_each.epsilon(1e-6).upper);
      CHECK_FALSE(several.method().attained());
    }
    zcdp_accountant rho(how);
    rho.compose(by_person(m, 3), 5);
    zcdp_accountant each(how);
    each.compose(m, 15);
    CHECK(rho.epsilon(1e-6).upper == Approx(each.epsilon(1e-6).upper).epsilon(1e-14));
    // Several records of a batch count as a group.
    privacy_loss_accountant batches(how);
    batches.compose(by_person(sampled(m, fixed_size{10, 100}), 3), 5);
    privacy_loss_accountant as_pure(how);
    as_pure.compose(by_person(sampled(pure{0.7}, fixed_size{10, 100}), 3), 5);
    CHECK(batches.epsilon(1e-6).upper <= as_pure.epsilon(1e-6).upper * (1.0 + 1e-6));
  }
  privacy_loss_accountant run(adjacency::replace_one);
  CHECK_THROWS_AS(run.compose(by_person(m, 1000), std::numeric_limits<std::uint64_t>::max() / 999),
                  std::domain_error);
  CHECK_THROWS_AS(privacy_loss_accountant().compose(by_person(m, 2)), std::invalid_argument);
}

namespace {

double divergence(std::vector<double> const& p, std::vector<double> const& q, double order) {
  double most = -std::numeric_limits<double>::infinity();
  auto const exponent = [&](std::size_t k) {
    return order * std::log(p[k]) + (1.0 - order) * std::log(q[k]);
  };
  for (std::size_t k = 0; k < p.size(); ++k) most = std::max(most, exponent(k));
  double sum = 0.0;
  for (std::size_t k = 0; k < p.size(); ++k) sum += std::exp(exponent(k) - most);
  return std::max(0.0, (most + std::log(sum)) / (order - 1.0));
}

}  // namespace

TEST_CASE("chains of neighbours have the divergences of their links", "[persons]") {
  std::mt19937 random(20);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  double closest = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 300; ++run) {
    std::size_t const links = 2 + static_cast<std::size_t>(run % 4);
    std::vector<std::vector<double>> chain(links + 1);
    double const spread = run % 3 == 0 ? 0.05 : 2.0 * uniform(random);
    std::vector<double> logs(4, 0.0);
    double const drift = uniform(random);
    for (auto& law : chain) {
      double sum = 0.0;
      for (std::size_t k = 0; k < logs.size(); ++k) {
        double const way = k % 2 == 0 ? 1.0 : -1.0;
        logs[k] += spread * (drift * way + (1.0 - drift) * (uniform(random) - 0.5));
        law.push_back(std::exp(logs[k]));
        sum += law.back();
      }
      for (double& mass : law) mass /= sum;
    }
    auto const of_link = [&](double order) {
      double most = 0.0;
      for (std::size_t k = 0; k < links; ++k) {
        most = std::max({most, divergence(chain[k], chain[k + 1], order),
                         divergence(chain[k + 1], chain[k], order)});
      }
      return most;
    };
    double const n = static_cast<double>(links);
    for (double const order : {1.2, 2.0, 5.0, 20.0}) {
      double const truth = std::max(divergence(chain.front(), chain.back(), order),
                                    divergence(chain.back(), chain.front(), order));
      double const found = detail::chained_divergence(n, order, of_link);
      CAPTURE(links, order, truth, found);
      CHECK(found >= truth * (1.0 - 1e-9) - 1e-12);
      if (order > 1.5 && truth > 1e-3) closest = std::min(closest, found / truth);
    }
    // Stated orders: each is the order of all links for another one of the chain.
    std::vector<double> orders;
    for (double const order : {1.5, 3.0, 6.0, 12.0, 40.0, 100.0}) orders.push_back(order);
    renyi_dp const known = from_renyi_curve(of_link, orders);
    renyi_accountant account;
    account.compose(by_person(known, links));
    renyi_dp const grouped = detail::chained(known, n);
    REQUIRE(grouped.points.size() >= 5);
    for (renyi_bound const& point : grouped.points) {
      double const truth = std::max(divergence(chain.front(), chain.back(), point.order),
                                    divergence(chain.back(), chain.front(), point.order));
      CAPTURE(point.order, truth, point.divergence);
      CHECK(point.divergence >= truth * (1.0 - 1e-6) - 1e-12);
      CHECK(account.method().divergence(point.order) <= point.divergence * (1.0 + 1e-12));
    }
  }
  CHECK(closest < 1.1);
  // Never above n²ρ by much, and Mironov's (α, 3·D_{2α}) for two.
  double const two = detail::chained_divergence(2.0, 8.0, [](double c) { return 0.1 * c; });
  CHECK((two >= 4.0 * 0.8 && two <= 4.0 * 0.8 * 1.02));
  CHECK(detail::chained_divergence(2.0, 2.0, [](double c) { return c <= 4.0 ? 1.0 : 1e9; }) < 3.0);
}

TEST_CASE("sampled records of a person, by divergences alone", "[persons]") {
  auto const epsilon = [](adjacency how, event const& release, std::uint64_t count = 100) {
    renyi_accountant run(how);
    run.compose(release, count);
    return run.epsilon(1e-6).upper;
  };
  // Of normal noise the truth is known: half of a squared shift.
  double const sigma = 4.0;
  zcdp const rho{0.5 / (sigma * sigma)};
  renyi_dp points;
  for (double order = 1.25; order < 2000.0; order *= 1.1) {
    points.points.push_back({order, rho.rho * order});
  }
  for (mechanism_event const& known : std::vector<mechanism_event>{rho, points}) {
    for (std::uint64_t const persons : std::vector<std::uint64_t>{2, 5}) {
      CAPTURE(known.index(), persons);
      for (adjacency const how :
           {adjacency::add_remove, adjacency::zero_out, adjacency::replace_one}) {
        double const whole = epsilon(how, by_person(known, persons));
        for (double const rate : {0.0, 0.01, 0.3, 1.0}) {
          CAPTURE(static_cast<int>(how), rate);
          double const found = epsilon(how, by_person(sampled(known, poisson{rate}), persons));
          CHECK(found <= whole * (1.0 + 1e-9));
          if (rate == 0.0) CHECK(found < 0.01);
          if (how == adjacency::add_remove && rate > 0.0) {
            CHECK(found >=
                  epsilon(how, by_person(sampled(gaussian{sigma}, poisson{rate}), persons)) *
                      (1.0 - 1e-9));
          }
          if (rate == 0.01 && how == adjacency::add_remove) CHECK(found < 0.5 * whole);
        }
      }
      double const batch =
          epsilon(adjacency::replace_one, by_person(sampled(known, fixed_size{10, 1000}), persons));
      CHECK(batch < 0.5 * epsilon(adjacency::replace_one, by_person(known, persons)));
      CHECK(batch >= epsilon(adjacency::replace_one, sampled(known, fixed_size{10, 1000})));
    }
  }
  event const noise =
      by_person(sampled(integer_noise{integer_law::skellam, 400.0}, poisson{0.01}), 3);
  privacy_loss_accountant exact;
  exact.compose(noise, 100);
  CHECK(epsilon(adjacency::add_remove, noise) >= exact.epsilon(1e-6).lower);
  CHECK(exact.epsilon(1e-6).upper <= epsilon(adjacency::add_remove, noise));
  // So many that no order is left.
  renyi_accountant run;
  CHECK_THROWS_AS(run.compose(by_person(renyi_dp{{{2.0, 0.1}}}, 1000)), std::invalid_argument);
  CHECK_NOTHROW(run.compose(by_person(renyi_dp{{{2.0, 0.1}, {5000.0, 1.0}}}, 1000)));
}
