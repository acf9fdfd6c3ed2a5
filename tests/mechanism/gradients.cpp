// SPDX-License-Identifier: Apache-2.0
//
// Gradients asked for many at a time, and part by part.

#include <tacit/mechanism/dp_sgd.hpp>
#include <tacit/mechanism/ferret.hpp>
#include <tacit/mechanism/gradients.hpp>
#include <tacit/mechanism/rldp.hpp>
#include <tacit/mechanism/unsound_rldp.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

namespace gradients_tests {

using namespace tacit;

namespace {

constexpr std::size_t many = 50;
constexpr std::size_t width = 7;

noisy_sum_options sums(double noise_multiplier, double rate = 1.0, std::size_t steps = 1) {
  return {.clip = 2.0,
          .noise_multiplier = noise_multiplier,
          .rate = rate,
          .expected_records = static_cast<double>(many),
          .steps = steps};
}

float entry(std::size_t record, std::size_t j) {
  float const wave = std::sin(static_cast<float>(record * width + j));
  return wave * 0.1F * static_cast<float>(record % 30);
}

// Of either type of number; returns the loss.
template <class T>
double one(std::size_t record, std::span<T> out) {
  for (std::size_t j = 0; j < out.size(); ++j) {
    REQUIRE(out[j] == T(0));
    out[j] = entry(record, j);
  }
  return 0.1 * static_cast<double>(record);
}

// The same of a batch, and what it was asked.
template <class T>
struct by_batch {
  std::vector<std::size_t>* asked;
  std::size_t* calls;

  void operator()(std::span<std::size_t const> records, gradient_rows<T> out) const {
    REQUIRE(!records.empty());
    REQUIRE(out.size() == records.size());
    REQUIRE(out.all().size() == records.size() * out.width());
    ++*calls;
    asked->insert(asked->end(), records.begin(), records.end());
    for (std::size_t j = 0; j < records.size(); ++j) (void)one<T>(records[j], out[j]);
  }
};

template <class T>
struct with_losses {
  void operator()(std::span<std::size_t const> records, gradient_rows<T> out,
                  std::span<double> losses) const {
    REQUIRE(losses.size() == records.size());
    for (std::size_t j = 0; j < records.size(); ++j) {
      REQUIRE(std::isnan(losses[j]));
      losses[j] = one<T>(records[j], out[j]);
    }
  }
};

std::vector<parameter_range> const pair_groups{{0, 3}, {3, width}};

pairwise_options sampled_groups() {
  return {.rate = 0.5,
          .expected_records = static_cast<double>(many),
          .steps = 3,
          .budget = {.epsilon = 1e6, .delta = 1e-5},
          .share_noise_multiplier = 1.0,
          .loss_noise_multiplier = 1.0,
          .loss_clip = 2.0};
}

double norm_of(std::size_t record) {
  double squares = 0.0;
  for (std::size_t j = 0; j < width; ++j) {
    squares += double{entry(record, j)} * double{entry(record, j)};
  }
  return std::sqrt(squares);
}

void norms_of(std::span<std::size_t const> records, std::span<double> norms) {
  for (std::size_t j = 0; j < records.size(); ++j) norms[j] = norm_of(records[j]);
}

std::vector<parameter_range> const three_parts{{0, 1}, {1, 5}, {5, width}};

void part_of(std::span<std::size_t const> records, std::size_t k, gradient_rows<float> rows) {
  REQUIRE(rows.width() == three_parts[k].size());
  for (std::size_t j = 0; j < records.size(); ++j) {
    for (std::size_t i = 0; i < rows.width(); ++i) {
      REQUIRE(rows[j][i] == 0.0F);
      rows[j][i] = entry(records[j], three_parts[k].first + i);
    }
  }
}

}  // namespace

TEST_CASE("DP-SGD releases the same bits of gradients one by one and many at a time") {
  dp_sgd alone(sums(0.5, 0.4, 4), width, many, fixed_stream(3));
  std::vector<std::vector<std::size_t>> batches;
  std::vector<vector_release> expected;
  while (!alone.done()) {
    batches.emplace_back();
    expected.push_back(alone.step([&](std::size_t record, std::span<float> out) {
      batches.back().push_back(record);
      (void)one<float>(record, out);
    }));
  }
  for (std::size_t const most : {1U, 3U, 256U}) {
    dp_sgd together(sums(0.5, 0.4, 4), width, many, fixed_stream(3));
    for (std::size_t t = 0; t < expected.size(); ++t) {
      std::vector<std::size_t> asked;
      std::size_t calls = 0;
      CHECK(together.step(by_batch<float>{&asked, &calls}, most) == expected[t]);
      CHECK(asked == batches[t]);
      CHECK(calls == (batches[t].size() + most - 1) / most);
    }
  }
}

TEST_CASE("nobody is asked for an empty batch, and no step is charged for a request that is none") {
  std::vector<std::size_t> asked;
  std::size_t calls = 0;
  dp_sgd mechanism(sums(0.5), width, participants(std::vector<bool>(many, false)));
  CHECK_THROWS_AS(mechanism.step(by_batch<float>{&asked, &calls}, 0), std::invalid_argument);
  CHECK(mechanism.steps() == 0);
  (void)mechanism.step(by_batch<float>{&asked, &calls});
  CHECK(calls == 0);
  CHECK(mechanism.steps() == 1);
  dp_sgd other(sums(0.5), width, many);
  CHECK_THROWS_AS(other.step([](std::span<std::size_t const>, gradient_rows<float>) {
    throw std::runtime_error("out of memory");
  }),
                  std::runtime_error);
  CHECK(other.steps() == 1);
}

TEST_CASE("RLDP and FERRET release the same bits either way") {
  for (std::size_t const most : {1U, 4U, 256U}) {
    pairwise_controls const controls{{0.5, 1.0}, {3.0, 2.0}};
    pairwise_gaussian alone(pair_groups, sampled_groups(), controls, many, fixed_stream(4));
    pairwise_gaussian together(pair_groups, sampled_groups(), controls, many, fixed_stream(4));
    unsound_rldp paper(pair_groups, {.rate = 0.5, .expected_records = double{many}, .steps = 3},
                       controls, many, fixed_stream(4));
    unsound_rldp same(pair_groups, {.rate = 0.5, .expected_records = double{many}, .steps = 3},
                      controls, many, fixed_stream(4));
    for (int t = 0; t < 3; ++t) {
      CHECK(alone.step(one<float>) == together.step(with_losses<float>{}, most));
      CHECK(alone.state().clipped_share == together.state().clipped_share);
      CHECK(alone.state().loss == together.state().loss);
      CHECK(paper.step(one<float>) == same.step(with_losses<float>{}, most));
      CHECK(paper.unsound_statistics().loss == same.unsound_statistics().loss);
    }

    ferret_options const signs{.groups = width, .steps = 40, .rate = 0.3, .budget = nats(50.0)};
    ferret_mechanism apart(signs, many, fixed_stream(5));
    ferret_mechanism many_at_once(signs, many, fixed_stream(5));
    std::size_t moved = 0;
    while (!apart.done()) {
      std::vector<std::size_t> asked;
      std::size_t calls = 0;
      release const y = many_at_once.step(by_batch<double>{&asked, &calls}, most);
      CHECK(apart.step(one<double>) == y);
      CHECK((calls == 0 || !y.held()));
      moved += y.held() ? 0 : 1;
    }
    CHECK(moved > 0);
  }
}

TEST_CASE("RLDP asks for losses where it releases them") {
  pairwise_gaussian mechanism(pair_groups, sampled_groups(), {{0.5, 1.0}, {3.0, 2.0}}, many);
  std::vector<std::size_t> asked;
  std::size_t calls = 0;
  CHECK_THROWS_AS(mechanism.step(by_batch<float>{&asked, &calls}), std::invalid_argument);
  CHECK_THROWS_AS(mechanism.step(with_losses<float>{}, 0), std::invalid_argument);
  CHECK(mechanism.steps() == 0);
}

TEST_CASE("gradients in parts are the whole ones, clipped a little more") {
  for (std::size_t const most : {1U, 6U, 256U}) {
    dp_sgd whole(sums(1e-5), width, many, fixed_stream(6));
    dp_sgd parts(sums(1e-5), width, many, fixed_stream(6));
    vector_release const expected = whole.step(one<float>);
    vector_release const out = parts.step_in_parts(three_parts, norms_of, part_of, most);
    for (std::size_t j = 0; j < width; ++j) {
      CHECK(out.value[j] == Approx(expected.value[j]).margin(3e-4));
      CHECK(out.value[j] != expected.value[j]);
    }
  }
  std::vector<parameter_range> const short_of{{0, width - 1}};
  dp_sgd mechanism(sums(1.0), width, many);
  CHECK_THROWS_AS(mechanism.step_in_parts(short_of, norms_of, part_of), std::invalid_argument);
  CHECK_THROWS_AS(mechanism.step_in_parts(three_parts, norms_of, part_of, 0),
                  std::invalid_argument);
  CHECK(mechanism.steps() == 0);
}

TEST_CASE("a record in parts moves a sum by a clip at most, whatever is said of its norm") {
  constexpr double unit = 2.0 * 0x1p-20 / many;  // of a release
  double const norm = norm_of(29);
  auto const released = [&](bool with, double said) {
    std::vector<bool> taking_part(many, true);
    taking_part[29] = with;
    dp_sgd mechanism(sums(1e-5), width, participants(taking_part), fixed_stream(7));
    auto const norms = [&](std::span<std::size_t const> records, std::span<double> out) {
      norms_of(records, out);
      for (std::size_t j = 0; j < records.size(); ++j) {
        if (records[j] == 29) out[j] = said;
      }
    };
    return mechanism.step_in_parts(three_parts, norms, part_of, 9).value;
  };
  std::vector<float> const without = released(false, 0.0);
  std::vector<double> moved;
  for (double const said : {norm, norm * (1.0 + 1e-5), norm * (1.0 - 1e-5), norm / 3.0, 0.0, -1.0,
                            1e9 * norm, infinity, not_a_number}) {
    std::vector<float> const with = released(true, said);
    double squares = 0.0;
    for (std::size_t j = 0; j < width; ++j) {
      double const units = (double{with[j]} - double{without[j]}) / unit;
      squares += units * units;
    }
    moved.push_back(std::sqrt(squares) * 0x1p-20);
    CAPTURE(said);
    CHECK(moved.back() <= 1.0 + 1e-3);  // the release is rounded to float
  }
  CHECK(norm > 2.0);
  for (std::size_t i = 0; i < 3; ++i) CHECK(moved[i] == Approx(1.0).margin(1e-3));
  for (std::size_t i = 5; i < 9; ++i) CHECK(moved[i] < 1e-3);
}

TEST_CASE("parts of a contribution have squares within the clip's, in integers") {
  // Without noise the units can be read: the least noise is a σ of 4 units, so sums are compared.
  contribution_grid const grid{1.0};
  std::vector<float> const g{0.6F, 0.8F, -0.6F};
  auto const sum_of = [&](double said, std::size_t cut) {
    quantised_sum sum(3, 1.0, 1e-6);
    auto part = sum.scaled_by(said);
    sum.add_part(part, 0, std::span(g).first(cut));
    sum.add_part(part, cut, std::span(g).subspan(cut));
    std::vector<double> out(3);
    auto secret = fixed_stream(8);
    std::move(sum).release(secret, grid.quantum(), std::span(out));
    return out;
  };
  std::vector<double> const nothing = sum_of(not_a_number, 1);
  auto const units = [&](std::vector<double> const& of, std::size_t j) {
    return of[j] - nothing[j];
  };
  // Said to be of norm 1, it has √1.36: the third entry is too much, and all of its part is left out.
  std::vector<double> const two = sum_of(1.0, 2);
  CHECK(units(two, 0) == std::trunc(0x1p20 * (1.0 - 0x1p-14) * double{0.6F}));
  CHECK(units(two, 1) == std::trunc(0x1p20 * (1.0 - 0x1p-14) * double{0.8F}));
  CHECK(units(two, 2) == 0.0);
  std::vector<double> const last = sum_of(1.0, 1);
  CHECK(units(last, 0) == units(two, 0));
  CHECK(units(last, 1) == 0.0);
  CHECK(units(last, 2) == 0.0);
  std::vector<double> const right = sum_of(std::sqrt(1.36), 2);
  double squares = 0.0;
  for (std::size_t j = 0; j < 3; ++j) squares += units(right, j) * units(right, j);
  CHECK(squares <= 0x1p40);
  CHECK(squares > 0x1p40 * (1.0 - 0x1p-12));
  std::vector<float> const broken{0.1F, static_cast<float>(infinity), 0.1F};
  quantised_sum sum(3, 1.0, 1.0);
  auto part = sum.scaled_by(0.2);
  sum.add_part(part, 0, std::span(broken).first(2));
  CHECK(part.left == 0);
  CHECK_THROWS_AS(sum.add_part(part, 2, std::span(broken).first(2)), std::invalid_argument);
}

}  // namespace gradients_tests
