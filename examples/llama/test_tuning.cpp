// SPDX-License-Identifier: Apache-2.0
// The parts of the example that know no engine, around a loss of a few lines.
#include <tacit/train/recorded.hpp>
#include <tacit/zo/journal.hpp>
#include <tacit/zo/storage.hpp>

#include "records.hpp"
#include "support/catch.hpp"
#include "support/directory.hpp"
#include "tuning.hpp"

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

constexpr std::size_t records = 40;

// Two tensors of different storage; every record wants the first near 1 and the second near −1.
struct model {
  std::vector<float> a = std::vector<float>(6, 0.0F);
  std::vector<tacit::half> b = std::vector<tacit::half>(4, tacit::half{0});

  tacit::parameters parameters() {
    return tacit::parameters(
        {{.entries = std::span(a), .name = "a"}, {.entries = std::span(b), .name = "b"}});
  }
  double distance() const {
    double sum = 0.0;
    for (float const x : a) sum += (double{x} - 1.0) * (double{x} - 1.0);
    for (tacit::half const x : b) {
      sum += (double{tacit::to_float(x)} + 1.0) * (double{tacit::to_float(x)} + 1.0);
    }
    return sum;
  }
  batch_loss loss() {
    return [this](tacit::parameters const&, tacit::record_indices which, std::span<double> out) {
      for (std::size_t j = 0; j < which.size(); ++j) {
        out[j] = distance() * (1.0 + 0.01 * static_cast<double>(which[j]));
      }
    };
  }
};

tuning usual(std::string const& mechanism, std::string const& transcript) {
  return {.mechanism = mechanism,
          .steps = 60,
          .directions = mechanism == "dp-aggzo" ? std::size_t{3} : std::size_t{1},
          .smoothing = 1e-2,
          .learning_rate = 0.05,
          .epsilon = 50.0,
          .clip = 30.0,
          .transcript = transcript};
}

}  // namespace

TEST_CASE("records are a prompt, a tab and an answer a line", "[llama]") {
  support::directory const folder;
  std::string const file = (folder / "records.tsv").string();
  std::ofstream(file) << "two and two :\t four\na\tb\n";
  std::vector<record> const found = read_records(file);
  REQUIRE(found.size() == 2);
  CHECK(found[0].prompt == "two and two :");
  CHECK(found[0].answer == " four");

  std::ofstream(file) << "a\tb\nno answer\n";
  CHECK_THROWS_WITH(read_records(file), Catch::Contains("line 2 is not a prompt"));
  std::ofstream(file) << "a\tb\r\nc\td\r\n";  // lines as on Windows
  CHECK(read_records(file).size() == 2);
  CHECK(read_records(file)[1].answer == "d");
  for (std::string const& line : std::vector<std::string>{"a\t", "a\t \t", "\tb", " \tb", "a\t\r",
                                                          "", std::string("a\0\tb", 4)}) {
    std::ofstream(file) << "a\tb\n" << line << "\n";
    CHECK_THROWS_WITH(read_records(file), Catch::Contains("line 2 is not a prompt"));
  }
  std::ofstream(file) << "";
  CHECK_THROWS_WITH(read_records(file), Catch::Contains("has no record"));
  CHECK_THROWS_WITH(read_records(file + ".none"), Catch::Contains("cannot read"));
}

TEST_CASE("the surprise of a token is minus the log of its probability", "[llama]") {
  std::vector<float> const logits{1.0F, -2.0F, 0.5F};
  double const sum = std::exp(1.0) + std::exp(-2.0) + std::exp(0.5);
  for (std::size_t t = 0; t < 3; ++t) {
    CHECK(surprise(logits, t) == Approx(std::log(sum) - double{logits[t]}).epsilon(1e-14));
  }
  CHECK(surprise(std::vector<float>{1e4F, 0.0F}, 1) == 1e4);
  float const nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(surprise(std::vector<float>{0.0F, nan}, 0)));
}

TEST_CASE("every mechanism lowers the loss, and its transcript makes the same parameters",
          "[llama]") {
  for (std::string const mechanism : {"paczero-mi", "paczero-zpl", "dpzero", "dp-aggzo"}) {
    INFO(mechanism);
    support::directory const folder;
    std::string const file = (folder / "run.tacit").string();
    model tuned;
    double const before = tuned.distance();
    std::string const promised =
        tune(usual(mechanism, file), tuned.parameters(), records, tuned.loss());
    CHECK(tuned.distance() < 0.8 * before);
    CHECK(promised.find(mechanism.starts_with("dp") ? "(50, 1e-05)" : "nats") != std::string::npos);

    model again;
    tacit::replay(again.parameters(), tacit::read_transcript(file));
    CHECK(again.a == tuned.a);
    CHECK(again.b == tuned.b);
  }
}

TEST_CASE("updates of 16 bits that are rounded at random replay, too", "[llama]") {
  support::directory const folder;
  tuning how = usual("dpzero", (folder / "run.tacit").string());
  how.rounding = tacit::rounding_mode::stochastic;
  model tuned;
  (void)tune(how, tuned.parameters(), records, tuned.loss());
  model again;
  tacit::replay(again.parameters(), tacit::read_transcript(how.transcript));
  CHECK(again.a == tuned.a);
  CHECK(again.b == tuned.b);
  CHECK(tacit::read_transcript(how.transcript).run().training.rounding == how.rounding);
}

TEST_CASE("a run that was interrupted goes on where it was", "[llama]") {
  support::directory const folder;
  tuning how = usual("paczero-mi", (folder / "run.tacit").string());
  how.save = (folder / "run.state").string();
  int left = 51;  // losses: 25 steps and a half
  model broken;
  batch_loss const fails = [&](auto const& theta, auto which, auto out) {
    if (left-- == 0) throw std::runtime_error("the machine fails");
    broken.loss()(theta, which, out);
  };
  CHECK_THROWS_WITH(tune(how, broken.parameters(), records, fails), "the machine fails");
  CHECK(tacit::read_transcript(how.transcript).steps() == 25);

  model resumed;
  (void)tune(how, resumed.parameters(), records, resumed.loss());
  CHECK(tacit::read_transcript(how.transcript).steps() == how.steps);
  model again;
  tacit::replay(again.parameters(), tacit::read_transcript(how.transcript));
  CHECK(again.a == resumed.a);
  CHECK(again.b == resumed.b);
}

TEST_CASE("what cannot be run is refused before it begins", "[llama]") {
  support::directory const folder;
  std::string const file = (folder / "run.tacit").string();
  model theta;
  CHECK_THROWS_WITH(tune(usual("none", file), theta.parameters(), records, theta.loss()),
                    Catch::Contains("mechanism is none"));
  tuning how = usual("dpzero", file);
  how.save = file + ".state";
  CHECK_THROWS_WITH(tune(how, theta.parameters(), records, theta.loss()),
                    Catch::Contains("only PACZero"));
  CHECK_FALSE(std::filesystem::exists(file));

  how = usual("paczero-mi", file);
  how.save = (folder / "state").string();
  how.smoothing = 0.0;
  CHECK_THROWS_WITH(tune(how, theta.parameters(), records, theta.loss()),
                    Catch::Contains("smoothing"));
  CHECK_FALSE(std::filesystem::exists(file));
  CHECK_FALSE(std::filesystem::exists(how.save));

  (void)tune(usual("paczero-zpl", file), theta.parameters(), records, theta.loss());
  model other;  // the transcript of another run is not overwritten
  CHECK_THROWS_AS(tune(usual("paczero-zpl", file), other.parameters(), records, other.loss()),
                  std::system_error);
  how.smoothing = 1e-2;  // nor does a run go on from it whose state is another one
  CHECK_THROWS_WITH(tune(how, other.parameters(), records, other.loss()),
                    Catch::Contains("no state"));
  CHECK_FALSE(std::filesystem::exists(how.save));
}
