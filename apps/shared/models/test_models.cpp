// SPDX-License-Identifier: Apache-2.0
#include <tacit/random/normal.hpp>

#include "models/lora.hpp"
#include "models/network.hpp"
#include "models/text.hpp"
#include "models/transformer.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using apps::canary;
using apps::corpus;
using apps::language_model;
using apps::lora;
using apps::model;
using apps::network;
using apps::transformer;
using apps::transformer_shape;

double dot(std::span<float const> a, std::span<float const> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::vector<float> normals(std::size_t size, std::uint64_t seed) {
  std::vector<float> out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = tacit::normal({.seed = seed}, i);
  return out;
}

// What of ∇ℓ a difference along `direction`, taken in float, does not explain.
double slope_error(model& m, std::vector<float> const& theta, std::size_t record,
                   std::vector<float> const& gradient, std::vector<float> const& direction) {
  auto const loss = [&](double step) {
    std::vector<float> at = theta;
    for (std::size_t j = 0; j < at.size(); ++j) {
      at[j] = static_cast<float>(at[j] + step * double{direction[j]});
    }
    std::vector<double> all(m.records());
    m.losses(at, all);
    return all[record];
  };
  double const h = 0.02 / std::sqrt(dot(direction, direction));
  // Two widths, so that the third-order term falls out.
  double const near = (loss(h) - loss(-h)) / (2.0 * h);
  double const far = (loss(2.0 * h) - loss(-2.0 * h)) / (4.0 * h);
  return std::fabs((4.0 * near - far) / 3.0 - dot(gradient, direction));
}

// Tensor by tensor, along the gradient's own part and along chance.
void check_gradient(model& m, std::vector<float> const& theta, std::size_t record) {
  std::vector<float> gradient(theta.size(), 99.0F);
  m.gradient(theta, record, gradient);
  std::size_t first = 0;
  for (auto const& [name, shape] : m.tensors()) {
    INFO(name);
    std::size_t const size = apps::entries(shape);
    std::span<float const> const part = std::span(gradient).subspan(first, size);
    double const norm = std::sqrt(dot(part, part));
    REQUIRE(norm > 1e-4);
    std::vector<float> along(theta.size(), 0.0F);
    for (std::size_t j = 0; j < size; ++j) {
      along[first + j] = static_cast<float>(part[j] / norm);
    }
    CHECK(slope_error(m, theta, record, gradient, along) < 4e-4 + 4e-3 * norm);
    std::vector<float> const chance = normals(size, 7);
    double const length = std::sqrt(dot(chance, chance));
    for (std::size_t j = 0; j < size; ++j) {
      along[first + j] = static_cast<float>(chance[j] / length);
    }
    CHECK(slope_error(m, theta, record, gradient, along) < 4e-4 + 4e-3 * norm);
    first += size;
  }
  REQUIRE(first == theta.size());
}

apps::dataset points(std::size_t count, std::uint64_t seed) {
  apps::dataset out{Eigen::MatrixXf(count, 5), {}, {"a", "b", "c"}};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < 5; ++k) {
      out.features(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)) =
          tacit::normal({.seed = seed}, 5 * i + k);
    }
    out.labels.push_back(static_cast<int>(i % 3));
  }
  return out;
}

transformer_shape const small{.width = 8, .heads = 2, .layers = 2, .inner = 12};

// Parameters far from the start, so that no slope is nearly 0.
std::vector<float> anywhere(transformer_shape const& shape) {
  std::vector<float> theta = shape.initial(3);
  std::vector<float> const more = normals(theta.size(), 4);
  for (std::size_t j = 0; j < theta.size(); ++j) theta[j] += 0.3F * more[j];
  return theta;
}

std::vector<std::string> const few{"to anna: call hugo at 12.", "a", "", "the old miller: 45."};

// Some records have the losses that they have among all, and the same bits in any company.
void check_some(model& m, std::vector<float> const& theta, std::span<std::size_t const> some) {
  std::vector<double> all(m.records());
  m.losses(theta, all);
  std::vector<double> those(some.size(), -1.0);
  m.losses(theta, some, those);
  for (std::size_t i = 0; i < some.size(); ++i) {
    CHECK(std::fabs(those[i] - all[some[i]]) < 1e-5);
    double alone = 0.0;
    m.losses(theta, some.subspan(i, 1), {&alone, 1});
    CHECK(alone == those[i]);  // to the bit
  }
  std::size_t const none = m.records();
  double loss = 0.0;
  CHECK_THROWS_AS(m.losses(theta, {&none, 1}, {&loss, 1}), std::invalid_argument);
  CHECK_THROWS_AS(m.losses(theta, some, all), std::invalid_argument);
}

}  // namespace

TEST_CASE("the losses of some records are those that they have among all, in any company") {
  apps::dataset const data = points(90, 1);
  for (apps::mlp const& shape : {apps::mlp{5, 4, 3}, apps::mlp{5, 37, 3}}) {
    std::vector<float> const theta = normals(shape.parameters(), 5);
    network m(shape, theta, data, data);
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i < 90; i += 1 + i % 3) some.push_back(i);
    check_some(m, theta, some);
    check_some(m, theta, {});
    lora adapters(m, theta, 2, {"hidden.weight"});
    check_some(adapters, normals(adapters.parameters(), 6), some);
  }
  std::vector<float> const at = anywhere(small);
  language_model texts(small, at, few, few);
  check_some(texts, at, std::vector<std::size_t>{0, 1, 3});
}

TEST_CASE("the network's losses have its gradients") {
  apps::dataset const data = points(9, 1);
  apps::mlp const shape{5, 4, 3};
  network m(shape, shape.initial(2), data, data);
  std::vector<float> const theta = normals(m.parameters(), 5);
  for (std::size_t const record : {0U, 4U, 8U}) check_gradient(m, theta, record);
}

TEST_CASE("LoRA trains W + BA") {
  apps::dataset const data = points(9, 1);
  apps::mlp const shape{5, 4, 3};
  std::vector<float> const frozen = normals(shape.parameters(), 5);
  network whole(shape, frozen, data, data);
  lora m(whole, frozen, 2, {"hidden.weight", "output.weight"});
  CHECK(m.tensors() == apps::tensor_list{{"hidden.lora_a", {2, 5}},
                                         {"hidden.lora_b", {4, 2}},
                                         {"output.lora_a", {2, 4}},
                                         {"output.lora_b", {3, 2}}});

  std::vector<float> const start = m.initial(1);
  REQUIRE(start.size() == m.parameters());
  CHECK(m.merged(start) == frozen);
  CHECK(m.score(start) == whole.score(frozen));
  CHECK(m.initial(2) != start);

  check_gradient(m, normals(m.parameters(), 6), 3);

  CHECK_THROWS_AS(lora(whole, frozen, 0, {"hidden.weight"}), std::invalid_argument);
  CHECK_THROWS_AS(lora(whole, frozen, 2, {}), std::invalid_argument);
  CHECK_THROWS_AS(lora(whole, frozen, 2, {"hidden.bias"}), std::invalid_argument);
  CHECK_THROWS_AS(lora(whole, frozen, 2, {"hidden"}), std::invalid_argument);
}

TEST_CASE("the transformer's losses have its gradients") {
  std::vector<float> const theta = anywhere(small);
  language_model m(small, theta, few, few);
  REQUIRE(m.parameters() == theta.size());
  check_gradient(m, theta, 0);
  check_gradient(m, theta, 3);

  lora adapted(m, theta, 2, apps::query_and_value(small));
  std::vector<float> moved = normals(adapted.parameters(), 8);
  for (float& x : moved) x *= 0.3F;
  check_gradient(adapted, moved, 0);
}

TEST_CASE("a text's loss depends on nothing but the text") {
  std::vector<float> const theta = anywhere(small);
  language_model together(small, theta, few, few);
  std::vector<double> losses(few.size());
  together.losses(theta, losses);
  for (std::size_t i = 0; i < few.size(); ++i) {
    language_model alone(small, theta, {few[i]}, few);
    std::vector<double> own(1);
    alone.losses(theta, own);
    CHECK(std::fabs(own[0] - losses[i]) < 1e-5);
  }
  // A character is guessed from those before it alone, and the guess is a distribution.
  transformer one(small);
  std::vector<double> const whole = one.character_losses(theta, "the mill");
  std::vector<double> const other = one.character_losses(theta, "the fair: 9");
  REQUIRE(whole.size() == 9);
  for (std::size_t t = 0; t < 4; ++t) CHECK(std::fabs(whole[t] - other[t]) < 1e-5);
  CHECK(std::fabs(whole[4] - other[4]) > 1e-3);
  double mass = std::exp(-one.character_losses(theta, "th")[2]);
  for (char const c : apps::alphabet.substr(1)) {
    mass += std::exp(-one.character_losses(theta, std::string("th") + c)[2]);
  }
  CHECK(std::fabs(mass - 1.0) < 1e-5);
}

TEST_CASE("where the parameters lie changes no bit") {
  std::vector<float> const theta = anywhere(small);
  language_model m(small, theta, few, few);
  apps::dataset const data = points(9, 1);
  apps::mlp const shape{5, 4, 3};
  std::vector<float> const weights = normals(shape.parameters(), 5);
  network plain(shape, weights, data, data);
  auto const same_everywhere = [](model& one, std::vector<float> const& at) {
    std::vector<float> memory(at.size() + 8);
    std::vector<double> first(one.records());
    one.losses(at, first);
    for (std::size_t offset = 0; offset < 8; ++offset) {
      std::span<float> const here = std::span(memory).subspan(offset, at.size());
      std::copy(at.begin(), at.end(), here.begin());
      std::vector<double> again(one.records());
      one.losses(here, again);
      CHECK(again == first);
    }
  };
  same_everywhere(m, theta);
  same_everywhere(plain, weights);

  apps::tokens const all(few);
  std::vector<float> memory(theta.size() + 1);
  std::vector<float> at = theta;
  std::copy(theta.begin(), theta.end(), memory.begin() + 1);
  transformer(small).pretrain(at, all, 3, 2, 0.01F, 1);
  transformer(small).pretrain(std::span(memory).subspan(1), all, 3, 2, 0.01F, 1);
  CHECK(std::equal(at.begin(), at.end(), memory.begin() + 1));
  CHECK(at != theta);
}

TEST_CASE("public training lowers the perplexity of sentences, and leaves messages strange") {
  corpus const made = apps::make_corpus(1, {.public_texts = 400, .private_texts = 60});
  transformer_shape const shape{.width = 16, .heads = 2, .layers = 1, .inner = 16};
  transformer one(shape);
  std::vector<float> theta = shape.initial(1);
  apps::tokens const known(made.public_part);
  double const before = one.perplexity(theta, known);
  CHECK(before > 30.0);
  CHECK(before < 50.0);  // of 39 characters
  one.pretrain(theta, known, 150, 32, 0.01F, 1);
  double const after = one.perplexity(theta, known);
  CHECK(after < 6.0);
  language_model m(shape, theta, made.private_part, made.test_part);
  CHECK(m.initial(9) == theta);
  CHECK(m.score(theta) > 1.5 * after);
}

TEST_CASE("texts are made from a seed, and fit") {
  apps::text_options const options{.public_texts = 300,
                                   .private_texts = 200,
                                   .test_texts = 100,
                                   .canaries = 3,
                                   .repetitions = 2,
                                   .digits = 2};
  corpus const made = apps::make_corpus(5, options);
  CHECK(made.public_part.size() == 300);
  CHECK(made.private_part.size() == 200);
  CHECK(made.test_part.size() == 100);
  CHECK(made.private_part == apps::make_corpus(5, options).private_part);
  CHECK(made.private_part != apps::make_corpus(6, options).private_part);
  for (auto const* part : {&made.public_part, &made.private_part, &made.test_part}) {
    CHECK_NOTHROW(apps::tokens(*part));
  }
  for (std::size_t k = 0; k < 3; ++k) {
    canary const& one = made.canaries[k];
    std::size_t const at = 194 + 2 * k;
    CHECK(made.private_part[at] == one.text());
    CHECK(made.private_part[at + 1] == one.text());
    std::vector<std::string> const others = one.candidates();
    REQUIRE(others.size() == 100);
    CHECK(others[one.place()] == one.text());
    CHECK(std::set(others.begin(), others.end()).size() == 100);
  }

  CHECK_THROWS_AS(apps::make_corpus(1, {.canaries = 1, .digits = 5}), std::invalid_argument);
  CHECK_THROWS_AS(apps::make_corpus(1, {.private_texts = 3, .canaries = 2, .repetitions = 2}),
                  std::invalid_argument);
  CHECK_THROWS_AS(apps::tokens({std::string(32, 'a')}), std::invalid_argument);
  CHECK_THROWS_AS(apps::tokens({"A"}), std::invalid_argument);
}

TEST_CASE("a model refuses what does not fit") {
  std::vector<float> const theta = anywhere(small);
  language_model m(small, theta, few, few);
  std::vector<float> slope(theta.size());
  std::vector<double> losses(few.size());
  CHECK_THROWS_AS(m.gradient(theta, few.size(), slope), std::invalid_argument);
  CHECK_THROWS_AS(m.losses(std::span(theta).first(9), losses), std::invalid_argument);
  losses.pop_back();
  CHECK_THROWS_AS(m.losses(theta, losses), std::invalid_argument);
  CHECK_THROWS_AS(transformer({.width = 9, .heads = 2}), std::invalid_argument);
  CHECK_THROWS_AS(transformer({.layers = 0}), std::invalid_argument);
}
