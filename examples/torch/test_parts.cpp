// SPDX-License-Identifier: Apache-2.0
// The parts of the example that know no engine, around losses of a few lines.
#include <tacit/core/normal.hpp>
#include <tacit/mechanism/dpzero.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/zo/journal.hpp>

#include "ferret_tuning.hpp"
#include "model_folder.hpp"
#include "output/used_files.hpp"
#include "shared_tuning.hpp"
#include "support/catch.hpp"
#include "support/directory.hpp"
#include "support/known_secret.hpp"
#include "watched_sums.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr std::size_t records = 40;

using support::known_secret;

using known_sums = tacit::dp_aggzo<known_secret>;

tacit::noisy_sum_options sums(double multiplier, double rate, std::size_t steps) {
  return {.clip = 1.0,
          .noise_multiplier = multiplier,
          .rate = rate,
          .expected_records = records,
          .steps = steps};
}

std::vector<bool> every_third() {
  std::vector<bool> out(records);
  for (std::size_t i = 0; i < records; i += 3) out[i] = true;
  return out;
}

// K rows of scalars that differ from record to record; one is no number.
template <class Sums>
tacit::release take_step(Sums& run) {
  std::span<std::size_t const> const batch = run.batch();
  std::vector<double> scalars(run.directions() * batch.size());
  for (std::size_t k = 0; k < run.directions(); ++k) {
    for (std::size_t j = 0; j < batch.size(); ++j) {
      double const x = std::sin(static_cast<double>(7 * batch[j] + k + 3 * run.steps()));
      scalars[k * batch.size() + j] =
          batch[j] == 33 ? std::numeric_limits<double>::quiet_NaN() : 2.0 * x;
    }
  }
  return run.step(scalars);
}

// Two tensors in one piece; every record wants all entries near 1.
struct model {
  std::vector<float> entries = std::vector<float>(10, 0.0F);

  tacit::parameters parameters() {
    return tacit::parameters({{.entries = std::span(entries).first(6), .name = "a"},
                              {.entries = std::span(entries).last(4), .name = "b"}});
  }
  double distance() const {
    double sum = 0.0;
    for (float const x : entries) sum += (double{x} - 1.0) * (double{x} - 1.0);
    return sum;
  }
};

std::vector<tacit::recorded_tensor> tensors() {
  return {{"a", tacit::element_type::f32, {2, 3}}, {"b", tacit::element_type::f32, {4}}};
}

// Tunes the model on one rank.
promise tune_alone(model& theta, tuning const& how, std::vector<bool> const& inside,
                   std::size_t watched) {
  int count = 0;
  char** words = nullptr;
  apps::communicator ranks(count, words);
  return tune(
      ranks, how, inside, {0, records}, theta.parameters(), tensors(),
      [&](tacit::parameters const&, tacit::record_indices which, std::span<double> out) {
        for (std::size_t j = 0; j < which.size(); ++j) {
          out[j] = theta.distance() * (1.0 + 0.01 * static_cast<double>(which[j]));
        }
      },
      watched);
}

std::string first_line_of(std::filesystem::path const& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

TEST_CASE("a mechanism that is watched releases what it would have released", "[torch]") {
  for (std::size_t const directions : {1U, 3U}) {
    known_sums plain(sums(0.5, 0.5, 20), directions, every_third(), known_secret(1));
    known_sums inner(sums(0.5, 0.5, 20), directions, every_third(), known_secret(1));
    watched_sums seen(inner, targets(12, records));
    while (!plain.done()) CHECK(take_step(plain).coefficients == take_step(seen).coefficients);
    CHECK(seen.done());
  }
}

TEST_CASE("without noise the attacker knows who takes part", "[torch]") {
  for (std::size_t const directions : {1U, 3U}) {
    known_sums inner(sums(1e-3, 0.5, 20), directions, every_third(), known_secret(2));
    watched_sums seen(inner, targets(records, records));
    while (!seen.done()) (void)take_step(seen);
    // Of the record without a number nobody learns anything; the guess is that it stays out.
    double const unknown = every_third()[33] ? 1.0 / records : 0.0;
    CHECK(seen.success(every_third()) == Approx(1.0 - unknown));
  }
}

TEST_CASE("with noise it is right as often as the best test of two normals", "[torch]") {
  // One step, everybody in it: N(0, σ²) or N(1, σ²). Of one coin a run.
  constexpr int runs = 4000;
  constexpr double multiplier = 1.5;
  int right = 0;
  for (int i = 0; i < runs; ++i) {
    std::vector<bool> inside(records, true);
    inside.back() = i % 2 == 0;
    known_sums inner(sums(multiplier, 1.0, 1), 1, inside,
                     known_secret(static_cast<std::uint64_t>(i)));
    watched_sums seen(inner, targets(1, records));
    (void)seen.step(std::vector<double>(seen.batch().size(), 5.0));
    right += seen.success(inside) > 0.5 ? 1 : 0;
  }
  double const wanted = 0.5 * std::erfc(-0.5 / multiplier / std::sqrt(2.0));
  CHECK(std::abs(right - runs * wanted) < 5.0 * std::sqrt(runs * wanted * (1.0 - wanted)));
}

TEST_CASE("every mechanism lowers the loss on one rank, and its transcript makes the same weights",
          "[torch]") {
  for (std::string const mechanism : {"paczero-mi", "paczero-zpl", "dpzero", "dp-aggzo"}) {
    INFO(mechanism);
    support::directory const folder;
    bool const sums = mechanism.starts_with("dp");
    tuning const how{.mechanism = mechanism,
                     .steps = 60,
                     .directions = mechanism == "dp-aggzo" ? std::size_t{3} : std::size_t{1},
                     .smoothing = 1e-2,
                     .learning_rate = 0.05,
                     .epsilon = 50.0,
                     .clip = 30.0,
                     .transcript = (folder / "run.tacit").string()};
    model tuned;
    double const before = tuned.distance();
    promise const kept = tune_alone(tuned, how, std::vector<bool>(records, true), sums ? 5 : 0);
    CHECK(tuned.distance() < 0.8 * before);
    CHECK(kept.attack_bound >= 0.5);
    CHECK(std::isnan(kept.informed_attack) == !sums);
    CHECK(std::isnan(kept.posterior_attack) == sums);

    model again;
    tacit::replay(again.parameters(), tacit::read_transcript(how.transcript));
    CHECK(again.entries == tuned.entries);
  }
}

TEST_CASE("ferret lowers the loss, and its transcript makes the same weights", "[torch]") {
  support::directory const folder;
  tuning const how{.mechanism = ferret_name,
                   .steps = 60,
                   .learning_rate = 0.2,
                   .nats = 20.0,
                   .rate = 0.2,
                   .clip = 10.0,
                   .transcript = (folder / "run.tacit").string()};
  model tuned;
  double const before = tuned.distance();
  auto const gradient = [&](std::size_t, std::span<float> out) {
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = 2.0F * (tuned.entries[j] - 1.0F);
  };
  promise const kept = tune_ferret(how, std::vector<bool>(records, true), tuned.parameters(),
                                   tensors(), projection_of(gradient, 10), 5);
  CHECK(tuned.distance() < 0.8 * before);
  CHECK(kept.informed_attack >= 0.0);
  CHECK(kept.informed_attack <= 1.0);

  model again;
  replay_ferret(again.parameters(), tacit::read_transcript(how.transcript));
  CHECK(again.entries == tuned.entries);

  tuning other = how;
  other.save = (folder / "state").string();
  CHECK_THROWS_WITH(tune_ferret(other, std::vector<bool>(records, true), tuned.parameters(),
                                tensors(), projection_of(gradient, 10)),
                    Catch::Contains("only PACZero keeps a state"));
}

TEST_CASE("a model is the same after it was written and read", "[torch]") {
  support::directory const folder;
  std::ofstream(folder / "words.txt") << "<s>\n<pad>\n</s>\na\nb\n";
  opt_shape shape{.width = 4, .layers = 1, .heads = 2, .inner = 8, .positions = 6};
  model_folder const made = model_folder::make(shape, folder / "words.txt");
  CHECK(made.shape.vocabulary == 5);

  std::vector<std::vector<float>> entries;
  std::vector<tacit::tensor> views;
  for (tacit::recorded_tensor const& one : tensors_of(made.shape)) {
    std::size_t count = 1;
    for (std::uint64_t const size : one.shape) count *= size;
    entries.emplace_back(count, static_cast<float>(entries.size()));
  }
  auto const recorded = tensors_of(made.shape);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    views.push_back({.entries = std::span(entries[i]), .name = recorded[i].name});
  }
  tacit::parameters const theta(views);
  made.write(folder / "model", theta);
  auto const before = entries;
  for (auto& one : entries) std::fill(one.begin(), one.end(), -1.0F);
  model_folder const read = model_folder::open(folder / "model");
  read.load(theta);
  CHECK(entries == before);
  CHECK(read.words.tokens("b a", read.shape.vocabulary) == std::vector<std::int64_t>{4, 3});
  CHECK_THROWS_WITH(read.words.tokens("c", read.shape.vocabulary),
                    Catch::Contains("no token \"c\""));

  auto const weights = folder / "model" / weights_name;
  auto const size = std::filesystem::file_size(weights);
  for (std::uintmax_t const left : {size - 4, size / 2, std::uintmax_t{9}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(weights, left);
    CHECK_THROWS_WITH(read.load(theta), Catch::Contains(weights.string()));
  }
  std::filesystem::remove(weights);
  CHECK_THROWS_WITH(read.load(theta), Catch::Contains(weights.string()));

  std::ofstream(folder / "model" / "vocab.txt") << "<s>\n<pad>\n</s>\nb\na\n";
  CHECK_THROWS_WITH(model_folder::open(folder / "model"),
                    Catch::Contains("the tokenizer does not match the weights"));
  CHECK(first_line_of(folder / "model" / "config.json") == "{");
}

TEST_CASE("a number that is not finite is named by its tensor", "[torch]") {
  std::vector<float> a(3, 1.0F);
  std::vector<tacit::bfloat16> b(2, tacit::rounded_to<tacit::bfloat16>(1.0F));
  tacit::parameters const theta(
      {{.entries = std::span(a), .name = "a"}, {.entries = std::span(b), .name = "b"}});
  CHECK_NOTHROW(require_finite(theta));
  b[1] = tacit::rounded_to<tacit::bfloat16>(std::numeric_limits<float>::infinity());
  CHECK_THROWS_WITH(require_finite(theta), Catch::Contains("tensor b"));
  a[2] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH(require_finite(theta), Catch::Contains("tensor a"));
}

TEST_CASE("a folder that will be written is none that is read, and can be made", "[torch]") {
  support::directory const folder;
  auto const model = folder / "model";
  std::filesystem::create_directories(model);
  std::ofstream(folder / "file") << "no folder";
  std::filesystem::create_directory_symlink(model, folder / "also");
  auto const different = [](std::filesystem::path const& one, std::filesystem::path const& other) {
    apps::must_be_different(
        std::vector<apps::used_file>{{"MODEL", one, false}, {"OUT", other, true}});
  };
  CHECK_NOTHROW(different(model, folder / "out"));
  for (auto const& same : {model, folder / "also", folder / "none" / ".." / "model"}) {
    CHECK_THROWS_WITH(different(model, same), Catch::Contains("another file than MODEL"));
  }
  different(folder / "a.run", folder / "b.run");
  CHECK_THROWS(different(folder / "a.run", folder / "." / "a.run"));  // where neither is there

  for (auto const& out : {model, folder / "out", folder / "some" / "where" / "else"}) {
    CHECK_NOTHROW(apps::must_be_writable("OUT", out, file_names));
  }
  CHECK(std::filesystem::is_empty(model));
  CHECK_FALSE(std::filesystem::exists(folder / "some"));
  for (auto const& out : {folder / "file", folder / "file" / "out", std::filesystem::path(),
                          std::filesystem::path("/dev/null"), folder / std::string(300, 'x')}) {
    CHECK_THROWS_WITH(apps::must_be_writable("OUT", out, file_names),
                      Catch::Contains("which cannot be written"));
  }
  std::filesystem::create_directories(model / weights_name);
  CHECK_THROWS_WITH(apps::must_be_writable("OUT", model, file_names),
                    Catch::Contains("it is no file"));
}
