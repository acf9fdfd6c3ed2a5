// SPDX-License-Identifier: Apache-2.0
#include <tacit/zo/transcript.hpp>

#include "support/catch.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

using tacit::corrupt_state;
using tacit::element_type;
using tacit::run_record;
using tacit::symbol_kind;
using tacit::transcript;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

run_record sample(symbol_kind kind, std::size_t directions = 1) {
  run_record run;
  run.mechanism = {"paczero",
                   {{"budget", 0.1 + 0.2},
                    {"tiny", 5e-324},
                    {"negative", -0.0},
                    {"candidate_seed", std::uint64_t{0xFFFFFFFFFFFFFFFF}},
                    {"ledger", std::string("a \"text\"\n100 % \xC3\xA9")},
                    {"empty", std::string()}}};
  run.training = {.smoothing = 1e-3,
                  .learning_rate = 0.02,
                  .weight_decay = 0.01,
                  .decay = tacit::schedule::linear,
                  .steps = 1000,
                  .law = tacit::direction_law::sphere,
                  .seed = 7};
  run.directions = directions;
  run.symbols = kind;
  run.magnitude = kind == symbol_kind::scalar ? 0.0 : 1.0 / static_cast<double>(directions);
  run.tensors = {{"layers.0.weight", element_type::bf16, {3, 4}},
                 {"checksum 1", element_type::f32, {}},
                 {"", element_type::f16, {2, 0, 5}}};
  for (std::size_t i = 0; i < 32; ++i) run.start.bytes[i] = static_cast<std::uint8_t>(200 + 9 * i);
  return run;
}

std::vector<double> some(run_record const& run, std::size_t steps, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> values(steps * run.directions);
  for (double& y : values) {
    switch (run.symbols) {
      case symbol_kind::sign:
        y = random() % 2 == 0 ? run.magnitude : -run.magnitude;
        break;
      case symbol_kind::held_sign:
        y = (static_cast<double>(random() % 3) - 1.0) * run.magnitude + 0.0;
        break;
      case symbol_kind::scalar:
        do {
          y = std::bit_cast<double>(std::uint64_t{random()} << 32 | random());
        } while (!std::isfinite(y));
        break;
    }
  }
  return values;
}

bool same(transcript const& a, transcript const& b) { return a.sealed() == b.sealed(); }

/// The bytes with their last eight computed anew: what a forger would do.
std::string resealed(std::string bytes) {
  bytes.resize(bytes.size() - 8);
  return bytes + tacit::detail::checksum_bytes(bytes);
}

/// Whatever is cut off, and whichever bit is flipped, it is refused.
void check_damage(std::string const& bytes) {
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK_THROWS_AS(transcript::parse(bytes.substr(0, size)), corrupt_state);
  }
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    CAPTURE(bit);
    CHECK_THROWS_AS(transcript::parse(damaged), corrupt_state);
  }
}

/// The same, with the header changed too.
std::string reheaded(std::string const& bytes, std::string const& from, std::string const& to) {
  std::size_t const mark = bytes.find("\nchecksum ") + 1;
  std::size_t const end = bytes.find('\n', mark) + 1;
  std::string header = bytes.substr(0, mark);
  std::size_t const at = header.find(from);
  REQUIRE(at != std::string::npos);
  header.replace(at, from.size(), to);
  header += "checksum " + std::to_string(tacit::detail::checksum(header)) + "\n";
  return resealed(header + bytes.substr(end));
}

}  // namespace

TEST_CASE("A transcript reads back as the same bits", "[transcript]") {
  for (auto const kind : {symbol_kind::sign, symbol_kind::held_sign, symbol_kind::scalar}) {
    for (std::size_t const directions : {1UL, 3UL, 8UL}) {
      for (std::size_t const steps : {0UL, 1UL, 2UL, 5UL, 7UL, 8UL, 9UL, 100UL}) {
        CAPTURE(static_cast<int>(kind), directions, steps);
        run_record const run = sample(kind, directions);
        std::vector<double> const values = some(run, steps, 5);
        transcript const before(run, values);
        std::string const bytes = before.sealed();
        transcript const after = transcript::parse(bytes);
        CHECK(after.sealed() == bytes);
        CHECK(after.steps() == steps);
        CHECK(after.run().mechanism == run.mechanism);
        CHECK(after.run().tensors == run.tensors);
        CHECK(after.run().start == run.start);
        CHECK(after.run().training.seed == 7);
        CHECK(after.run().training.law == tacit::direction_law::sphere);
        bool equal = true;
        for (std::size_t i = 0; i < values.size(); ++i) {
          equal &= std::bit_cast<std::uint64_t>(after.step(i / directions)[i % directions]) ==
                   std::bit_cast<std::uint64_t>(values[i]);
        }
        CHECK(equal);
        CHECK_THROWS_AS(after.step(steps), std::invalid_argument);
      }
    }
  }
  auto const back = transcript::parse(transcript(sample(symbol_kind::sign), {}).sealed());
  CHECK(std::signbit(std::get<double>(back.run().mechanism.parameters[2].second)));
}

TEST_CASE("The example of docs/transcript.md is these bytes", "[transcript]") {
  std::vector<float> theta{0.5F, -0.25F};
  tacit::parameters const all(
      std::vector<tacit::tensor>{{.entries = std::span(theta), .name = "w"}});
  run_record const run{.mechanism = {"paczero",
                                     {{"steps", std::uint64_t{1000}},
                                      {"ledger", std::string("subset")},
                                      {"budget", 0.33}}},
                       .training = {.smoothing = 0.001, .learning_rate = 0.02, .seed = 7},
                       .directions = 1,
                       .symbols = symbol_kind::held_sign,
                       .magnitude = 1.0,
                       .tensors = tensors_of(all),
                       .start = hash_of(all)};
  std::string const header = R"(tacit-transcript 1
mechanism "paczero"
parameters 3
parameter "steps" whole 1000
parameter "ledger" text "subset"
parameter "budget" real 0.33
smoothing 0.001
learning_rate 0.02
weight_decay 0
schedule constant 0
law rademacher
seed 7
directions 1
symbols held_sign 1
tensors 1
tensor "w" F32
shape 1 2
start 5e3d0b7015d7a69d2ef9c6c978f91d832e700896ad3961687d41213c1272b6ce
released 7
checksum 2609256227901302740
)";
  std::string const rest = "\xC8\x06\x36\x57\x0A\xFB\x61\xFE\x8C\x20";
  CHECK(transcript(run, {1.0, -1.0, 0.0, 0.0, 1.0, -1.0, 1.0}).sealed() == header + rest);
}

TEST_CASE("Version 3 names a rounding", "[transcript]") {
  run_record run = sample(symbol_kind::scalar);
  run.training.rounding = tacit::rounding_mode::stochastic;
  std::string const bytes = transcript(run, some(run, 7, 2)).sealed();
  CHECK(bytes.starts_with("tacit-transcript 3\n"));
  std::string const line = "schedule linear 1000\nrounding stochastic\nlaw";
  CHECK(bytes.find(line) != std::string::npos);
  transcript const back = transcript::parse(bytes);
  CHECK(back.sealed() == bytes);
  CHECK(back.run().training.rounding == tacit::rounding_mode::stochastic);
  check_damage(bytes);
  // What a record without it means has one form; a word that there is not, or all of floats, has none.
  for (auto const& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"tacit-transcript 3", "tacit-transcript 1"},
           {"tacit-transcript 3", "tacit-transcript 2"},
           {"rounding stochastic\n", ""},
           {"rounding stochastic", "rounding nearest"},
           {"rounding stochastic", "rounding up"},
           {"rounding stochastic\n", "optimiser momentum\nmomentum 0.75\nrounding stochastic\n"}}) {
    CAPTURE(from, to);
    CHECK_THROWS_AS(transcript::parse(reheaded(bytes, from, to)), corrupt_state);
  }
  std::string floats = reheaded(bytes, "BF16", "F32");
  CHECK_THROWS_WITH(transcript::parse(reheaded(floats, "\"\" F16", "\"\" F32")),
                    "tacit-transcript: rounding is stochastic, but must be nearest where all "
                    "tensors are float: there must be one of half or bfloat16");
}

TEST_CASE("Version 2 names an optimiser, and version 1 is read as ever", "[transcript]") {
  using enum tacit::optimiser_rule;
  for (auto const rule : {sgd, momentum, adam, adamw}) {
    run_record run = sample(symbol_kind::scalar);
    run.training.optimiser = {
        .rule = rule, .momentum = 0.75, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6};
    std::string const bytes = transcript(run, some(run, 7, 2)).sealed();
    CHECK(bytes.starts_with(rule == sgd ? "tacit-transcript 1\n" : "tacit-transcript 2\n"));
    std::string const line = rule == sgd        ? "schedule linear 1000\nlaw"
                             : rule == momentum ? "schedule linear 1000\noptimiser momentum\n"
                                                  "momentum 0.75\nlaw"
                             : rule == adam     ? "schedule linear 1000\noptimiser adam\n"
                                                  "betas 0.8 0.95\nepsilon 1e-06\nlaw"
                                                : "schedule linear 1000\noptimiser adamw\n"
                                                  "betas 0.8 0.95\nepsilon 1e-06\nlaw";
    CHECK(bytes.find(line) != std::string::npos);
    transcript const back = transcript::parse(bytes);
    CHECK(back.sealed() == bytes);
    CHECK(back.run().training.optimiser == run.training.optimiser);
    check_damage(bytes);
    std::string const first = bytes.substr(0, bytes.find('\n'));
    CHECK_THROWS_WITH(transcript::parse(reheaded(bytes, first, "tacit-transcript 5")),
                      "tacit-transcript: version is 5, but must be 1, 2, 3 or 4");
    CHECK_THROWS_AS(transcript::parse(reheaded(bytes, first, "tacit-transcript 3")), corrupt_state);
    CHECK_THROWS_AS(transcript::parse(reheaded(bytes, first, "tacit-transcript 0")), corrupt_state);
    CHECK_THROWS_AS(transcript::parse(reheaded(
                        bytes, first, rule == sgd ? "tacit-transcript 2" : "tacit-transcript 1")),
                    corrupt_state);
    if (rule != sgd) {
      CHECK_THROWS_AS(transcript::parse(reheaded(bytes, "optimiser ", "optimiser x")),
                      corrupt_state);
      CHECK_THROWS_AS(transcript::parse(reheaded(bytes, line,
                                                 "schedule linear 1000\noptimiser sgd"
                                                 "\nlaw")),
                      corrupt_state);
    }
    if (rule == momentum) {
      for (char const* bad : {"1", "-0.5", "nan", "inf", "0.750", "75e-2"}) {
        CHECK_THROWS_AS(
            transcript::parse(reheaded(bytes, "momentum 0.75", "momentum " + std::string(bad))),
            corrupt_state);
      }
    }
    if (rule == adam) {
      CHECK_THROWS_AS(transcript::parse(reheaded(bytes, "betas 0.8 0.95", "betas 0.8 1")),
                      corrupt_state);
      CHECK_THROWS_AS(transcript::parse(reheaded(bytes, "betas 0.8 0.95", "betas nan 0.95")),
                      corrupt_state);
      CHECK_THROWS_AS(transcript::parse(reheaded(bytes, "epsilon 1e-06", "epsilon 0")),
                      corrupt_state);
    }
  }
  run_record run = sample(symbol_kind::scalar);
  run.training.optimiser = {.rule = adam, .beta1 = not_a_number};
  CHECK_THROWS_AS(transcript(run, {}), std::domain_error);
}

TEST_CASE("A thousand signs are 125 bytes, with holds 200, scalars 8000", "[transcript]") {
  auto const symbols = [](symbol_kind kind) {
    run_record const run = sample(kind);
    std::string const bytes = transcript(run, some(run, 1000, 1)).sealed();
    std::size_t const mark = bytes.find("\nchecksum ") + 1;
    return bytes.size() - (bytes.find('\n', mark) + 1) - 8;
  };
  CHECK(symbols(symbol_kind::sign) == 125);
  CHECK(symbols(symbol_kind::held_sign) == 200);
  CHECK(symbols(symbol_kind::scalar) == 8000);
  // Nothing was held: a bit a step is enough, and is the form.
  run_record run = sample(symbol_kind::sign);
  std::vector<double> const values = some(run, 1000, 1);
  transcript const plain(run, values);
  run.symbols = symbol_kind::held_sign;
  CHECK(same(transcript(run, values), plain));
}

TEST_CASE("Every truncation and every flipped bit is refused", "[transcript]") {
  for (auto const kind : {symbol_kind::sign, symbol_kind::held_sign, symbol_kind::scalar}) {
    run_record const run = sample(kind, 3);
    std::string const bytes = transcript(run, some(run, 7, 2)).sealed();
    REQUIRE_NOTHROW(transcript::parse(bytes));
    check_damage(bytes);
    for (std::string const& more : {std::string(1, '\0'), std::string("\n"), bytes}) {
      CHECK_THROWS_AS(transcript::parse(bytes + more), corrupt_state);
      CHECK_THROWS_AS(transcript::parse(resealed(bytes + more)), corrupt_state);
    }
  }
}

TEST_CASE("A forged transcript is refused though its checksums fit", "[transcript]") {
  run_record const held = sample(symbol_kind::held_sign);
  // 7 symbols: a whole byte and two fifths of one.
  std::string const bytes = transcript(held, {1.0, -1.0, 0.0, 0.0, 1.0, -1.0, 1.0}).sealed();
  auto const with = [&](std::size_t from_end, int byte) {
    std::string forged = bytes;
    forged[forged.size() - 8 - from_end] = static_cast<char>(byte);
    return resealed(forged);
  };
  REQUIRE(resealed(bytes) == bytes);
  CHECK(static_cast<unsigned char>(bytes[bytes.size() - 10]) == 2 + 0 + 9 + 27 + 2 * 81);
  CHECK(static_cast<unsigned char>(bytes[bytes.size() - 9]) == 0 + 2 * 3);
  CHECK_NOTHROW(transcript::parse(with(2, 241)));
  CHECK_THROWS_AS(transcript::parse(with(2, 242)), corrupt_state);  // no hold is left
  for (int const byte : {243, 255})
    CHECK_THROWS_AS(transcript::parse(with(2, byte)), corrupt_state);
  CHECK_NOTHROW(transcript::parse(with(1, 8)));
  for (int const byte : {9, 18, 242}) {
    CHECK_THROWS_AS(transcript::parse(with(1, byte)), corrupt_state);  // symbols beyond the last
  }

  run_record const sign = sample(symbol_kind::sign);
  std::string const bits = transcript(sign, {1.0, -1.0, 1.0}).sealed();
  CHECK(bits[bits.size() - 9] == 5);
  for (int const byte : {8, 13, 128}) {
    std::string forged = bits;
    forged[forged.size() - 9] = static_cast<char>(byte);
    CHECK_THROWS_AS(transcript::parse(resealed(forged)), corrupt_state);
  }
  // Signs declared as signs that may be held: three symbols would be one byte too.
  std::string const other = transcript(sign, {-1.0, 1.0, -1.0}).sealed();
  CHECK_THROWS_AS(transcript::parse(reheaded(other, "symbols sign", "symbols held_sign")),
                  corrupt_state);

  std::string scalar = transcript(sample(symbol_kind::scalar), {1.0}).sealed();
  for (double const y : {std::numeric_limits<double>::infinity(), not_a_number}) {
    auto const word = std::bit_cast<std::uint64_t>(y);
    for (std::size_t j = 0; j < 8; ++j) {
      scalar[scalar.size() - 16 + j] = static_cast<char>(word >> (8 * j));
    }
    CHECK_THROWS_AS(transcript::parse(resealed(scalar)), corrupt_state);
  }

  for (auto const& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"tacit-transcript 1", "tacit-transcript 2"},
           {"tacit-transcript", "tacit-journal"},
           {"released 3", "released 9"},
           {"released 3", "released 18446744073709551615"},
           {"released 3", "released 03"},
           {"released 3\n", "released 3\nmore 1\n"},
           {"directions 1", "directions 0"},
           {"directions 1", "directions 18446744073709551615"},
           {"smoothing 0.001", "smoothing 1e-3"},
           {"smoothing 0.001", "smoothing nan"},
           {"smoothing 0.001", "smoothing -1"},
           {"learning_rate 0.02", "learning_rate inf"},
           {"schedule linear", "schedule falling"},
           {"law sphere", "law cube"},
           {"symbols sign 1", "symbols sign 0"},
           {"symbols sign 1", "symbols sign inf"},
           {"symbols sign 1", "symbols scalar 1"},
           {"parameters 6", "parameters 5"},
           {"parameters 6", "parameters 7"},
           {"parameters 6", "parameters 18446744073709551615"},
           {"tensors 3", "tensors 2"},
           {"tensors 3", "tensors 18446744073709551615"},
           {"shape 2 3 4", "shape 2 3"},
           {"shape 2 3 4", "shape 18446744073709551615 3 4"},
           {"shape 2 3 4", "shape 2 18446744073709551615 4"},
           {"shape 2 3 4", "shape 2 3 4 5"},
           {"BF16", "BF17"},
           {"\"\" F16", "\" F16"},
           {"\"\" F16", "x F16"},
           {"%20", "%2"},
           {"%20", "%zz"},
           {"%C3", "%c3"},
           {"layers", "%6Cayers"},
           {"real 5e-324", "real nan"},
           {"real 5e-324", "whole 5e-324"},
           {"real 5e-324", "word 5"},
           {"\"tiny\"", "\"budget\""},
           {"mechanism \"paczero\"", "mechanism \"\""},
           {"start c8", "start C8"},
           {"start c8", "start 8"},
           {"start c8", "start  "},
       }) {
    CAPTURE(from, to);
    CHECK_THROWS_AS(transcript::parse(reheaded(bits, from, to)), corrupt_state);
  }
  REQUIRE_NOTHROW(transcript::parse(reheaded(bits, "layers", "rayels")));
  // 2 (2^63 + 1) is 2 in 64 bits.
  std::string const pair = transcript(sample(symbol_kind::sign, 2), {0.5, -0.5}).sealed();
  CHECK_THROWS_AS(transcript::parse(reheaded(pair, "released 1", "released 9223372036854775809")),
                  corrupt_state);
}

TEST_CASE("A record that makes no sense is refused where it is made", "[transcript]") {
  auto const refused = [](auto const& change) {
    run_record run = sample(symbol_kind::sign);
    change(run);
    CHECK_THROWS_AS(transcript(run, {}), std::logic_error);
  };
  refused([](run_record& r) { r.mechanism.name.clear(); });
  refused([](run_record& r) { r.mechanism.parameters.push_back({"tiny", 1.0}); });
  refused([](run_record& r) { r.mechanism.parameters.push_back({"x", not_a_number}); });
  refused([](run_record& r) { r.training.smoothing = tacit::required; });
  refused([](run_record& r) { r.training.learning_rate = 0.0; });
  refused([](run_record& r) { r.training.weight_decay = not_a_number; });
  refused([](run_record& r) { r.directions = 0; });
  refused([](run_record& r) { r.magnitude = 0.0; });
  refused([](run_record& r) { r.magnitude = not_a_number; });
  refused([](run_record& r) { r.symbols = symbol_kind::scalar; });
  refused([](run_record& r) { r.tensors.clear(); });
  refused([](run_record& r) { r.tensors = {{"none", element_type::f32, {0}}}; });
  refused([](run_record& r) {
    r.tensors.push_back({"large", element_type::f32, {1ULL << 40, 1ULL << 40}});
  });
  refused([](run_record& r) {
    r.tensors.push_back({"large", element_type::f32, {~std::uint64_t{0}}});
  });

  run_record const sign = sample(symbol_kind::sign, 2);
  CHECK_NOTHROW(transcript(sign, {0.5, -0.5}));
  CHECK_THROWS_AS(transcript(sign, {0.5}), std::invalid_argument);
  for (double const y : {0.0, 1.0, 0.25, not_a_number}) {
    CHECK_THROWS_AS(transcript(sign, {0.5, y}), std::domain_error);
  }
  run_record const held = sample(symbol_kind::held_sign, 2);
  CHECK_NOTHROW(transcript(held, {0.5, 0.0}));
  for (double const y : {-0.0, 1.0, not_a_number}) {
    CHECK_THROWS_AS(transcript(held, {0.5, y}), std::domain_error);
  }
  run_record const scalar = sample(symbol_kind::scalar);
  CHECK_NOTHROW(transcript(scalar, {-0.0, 1e308, 5e-324}));
  CHECK_THROWS_AS(transcript(scalar, {not_a_number}), std::domain_error);
  CHECK_THROWS_AS(transcript(scalar, {std::numeric_limits<double>::infinity()}), std::domain_error);
}

TEST_CASE("Only a whole model in its order is recorded", "[transcript]") {
  std::vector<float> a(3);
  std::vector<float> b(2);
  auto const of = [&](std::optional<std::uint64_t> first_a, std::optional<std::uint64_t> first_b,
                      std::optional<std::uint64_t> all) {
    return tacit::parameters(
        std::vector<tacit::tensor>{{.entries = std::span(a), .name = "a", .first = first_a},
                                   {.entries = std::span(b), .name = "b", .first = first_b}},
        all);
  };
  CHECK(tensors_of(of({}, {}, {})) ==
        std::vector<tacit::recorded_tensor>{{"a", element_type::f32, {3}},
                                            {"b", element_type::f32, {2}}});
  CHECK_THROWS_AS(tensors_of(of(2, 0, {})), std::invalid_argument);
  CHECK_THROWS_AS(tensors_of(of(0, 4, {})), std::invalid_argument);
  CHECK_THROWS_AS(tensors_of(of({}, {}, 6)), std::invalid_argument);
}
