// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/private_file.hpp>
#include <tacit/mechanism/saved_answering.hpp>

#include "support/catch.hpp"
#include "support/directory.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace tacit;
using Eigen::MatrixXd;

namespace {

using session = saved_answering<>;
constexpr given_answers many{16};
answering_options const options{.budget = nats(0.5), .per_answer = nats(1e-3)};

std::vector<double> query(std::size_t n) {
  std::mt19937_64 random(n);
  std::normal_distribution<double> normal;
  std::vector<double> out(many.candidates);
  for (double& y : out) y = normal(random);
  return out;
}

bool same(answer_belief const& a, answer_belief const& b) {
  return std::ranges::equal(a.probabilities(), b.probabilities()) && a.excess() == b.excess() &&
         a.known() == b.known();
}

/// Charges that a child announces before its answers are returned, and after.
struct told {
  std::atomic<double> spent{0.0};
  std::atomic<int> answers{0};
};

told& shared_memory() {
  void* const page =
      ::mmap(nullptr, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  return *new (page) told;
}

/// Answers in a child until it is killed, after this many answers at least.
void kill_amid(std::filesystem::path const& file, nats ahead, int at_least, told& seen) {
  int const before = seen.answers;
  ::pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      auto answers = session::resume_or_start(many, options, file, ahead);
      for (std::size_t n = 0;; ++n) {
        static_cast<void>(answers.answer(query(n)));
        seen.spent = answers->spent().value;
        ++seen.answers;
      }
    } catch (...) {
      ::_exit(1);
    }
  }
  while (seen.answers < before + at_least) {
    REQUIRE(::waitpid(child, nullptr, WNOHANG) == 0);
    ::usleep(100);
  }
  ::kill(child, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
}

}  // namespace

TEST_CASE("answers that are stored one by one go on where they ended", "[saved_run]") {
  support::directory const folder;
  std::optional<session> answers;
  answers.emplace(many, options, folder / "a");
  for (std::size_t n = 0; n < 20; ++n) {
    CHECK(std::isfinite(answers->answer(query(n))));
    CHECK(answers->charged() == (*answers)->spent());
    answer_belief const belief = (*answers)->belief();
    nats const spent = (*answers)->spent();
    answers.reset();
    answers.emplace(session::resume(many, folder / "a"));
    CHECK((*answers)->spent() == spent);
    CHECK((*answers)->budget() == options.budget);
    CHECK((*answers)->answers() == n + 1);
    CHECK(same((*answers)->belief(), belief));
  }
  // What costs nothing is not written.
  std::string const before = read_file(folder / "a");
  CHECK(answers->answer(std::vector<double>(16, 0.1)) == 0.1);
  CHECK(read_file(folder / "a") == before);
  // The secret stays: it is what answers without noise say.
  auto const exact = [&] { return answers->answer(query(99), nats(0.01)); };
  CHECK(exact() != exact());
}

TEST_CASE("the candidate in the file answers, before and after", "[saved_run]") {
  support::directory const folder;
  auto const truth = [&] {
    std::string const text = read_file(folder / "a");
    return std::stod(text.substr(text.find("truth ") + 6));
  };
  std::vector<double> apart;
  for (int m = 0; m < 16; ++m) apart.push_back(m);
  answering_options const loud{.budget = nats(10.0), .per_answer = nats(1e-3)};
  for (int run = 0; run < 10; ++run) {
    std::filesystem::remove(folder / "a");
    std::optional<session> answers;
    answers.emplace(many, loud, folder / "a");
    double const before = truth();
    static_cast<void>(answers->answer(apart));
    answers.reset();
    answers.emplace(session::resume(many, folder / "a"));
    CHECK(truth() == before);
    // A deviation of 0.085: six of them are a half.
    CHECK(std::nearbyint(answers->answer(apart, nats(4.0))) == before);
  }
}

TEST_CASE("a killed process never gave an answer that its file was not charged for",
          "[saved_run]") {
  support::directory const folder;
  told& seen = shared_memory();
  for (double const ahead : {0.0, 0.02}) {
    std::filesystem::path const file = folder / std::to_string(ahead);
    seen.spent = 0.0;
    seen.answers = 0;
    for (int round = 0; round < 4; ++round) {
      kill_amid(file, nats(ahead), 10 + 7 * round, seen);
      auto const answers = session::resume(many, file, nats(ahead));
      CHECK(answers->spent().value >= seen.spent);
      // An answer that was stored and not returned, or one reservation more than what was announced.
      CHECK(answers->spent().value <= seen.spent + std::max(ahead, 0.001) + 0.001);
      CHECK(answers->belief().known() == (ahead == 0.0));
      CHECK(answers.charged() == answers->spent());
    }
  }
}

TEST_CASE("a killed process and its successors never spend more than the budget", "[saved_run]") {
  support::directory const folder;
  told& seen = shared_memory();
  std::filesystem::path const file = folder / "a";
  kill_amid(file, nats(0.45), 50, seen);
  double const before = seen.spent;
  auto answers = session::resume(many, file, nats(0.45));
  int given = 0;
  CHECK_THROWS_AS(
      [&] {
        for (;; ++given) static_cast<void>(answers.answer(query(1)));
      }(),
      budget_exhausted);
  CHECK(given <= 51);
  CHECK(given >= 49);
  CHECK(answers->spent().value <= 0.5);
  CHECK(before <= 0.45);
}

TEST_CASE("a file charged ahead is written once for many answers, and closing gives the rest back",
          "[saved_run]") {
  support::directory const folder;
  std::optional<session> answers;
  answers.emplace(many, options, folder / "a", nats(0.02));
  static_cast<void>(answers->answer(query(0)));
  std::string const reserved = read_file(folder / "a");
  CHECK(answers->charged().value == Approx(0.021));
  for (std::size_t n = 1; n < 20; ++n) static_cast<void>(answers->answer(query(n)));
  CHECK(read_file(folder / "a") == reserved);
  for (std::size_t n = 20; n < 30; ++n) static_cast<void>(answers->answer(query(n)));
  CHECK(read_file(folder / "a") != reserved);
  answer_belief const belief = (*answers)->belief();
  nats const spent = (*answers)->spent();
  CHECK(answers->charged().value > spent.value);
  answers->close();
  CHECK(answers->charged() == spent);
  answers.reset();
  answers.emplace(session::resume(many, folder / "a", nats(10.0)));
  CHECK((*answers)->spent() == spent);
  CHECK(same((*answers)->belief(), belief));
  // No more than the budget is charged.
  static_cast<void>(answers->answer(query(30)));
  CHECK(answers->charged() == options.budget);
  // The end of the object closes, too; that of one which was moved from does not.
  { session const moved = *std::exchange(answers, std::nullopt); }
  CHECK(session::resume(many, folder / "a")->spent().value < 0.04);
}

TEST_CASE("answers have one owner and one file", "[saved_run]") {
  support::directory const folder;
  session answers(many, options, folder / "a", nats(0.1), "digest");
  static_cast<void>(answers.answer(query(0)));
  nats const spent = answers->spent();
  CHECK_THROWS_AS(session::resume(many, folder / "a", nats(0.1), "digest"), std::system_error);
  CHECK_THROWS_AS(session(many, options, folder / "a"), std::system_error);
  ::pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      static_cast<void>(answers.answer(query(1)));
    } catch (std::logic_error const&) {
      ::exit(0);  // which would close, if it were allowed to
    }
    ::_exit(1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(answers->spent() == spent);
  session moved = std::move(answers);
  CHECK_THROWS_AS(answers.answer(query(1)), std::logic_error);
  CHECK_THROWS_AS(answers.close(), std::logic_error);
  CHECK(std::isfinite(moved.answer(query(1))));
  moved.close();
}

TEST_CASE("a file that is not its own alone, if only for a while, ends a run", "[saved_run]") {
  support::directory const folder;
  std::filesystem::path const file = folder / "a";
  std::filesystem::path const other = folder / "b";
  auto const ends = [](session& answers, auto&& mend) {
    nats const spent = answers->spent();
    CHECK_THROWS_AS(answers.answer(query(1)), std::system_error);
    mend();
    CHECK_THROWS_AS(answers.answer(query(1)), std::logic_error);
    CHECK(answers->spent() == spent);
  };
  for (nats const ahead : {nats(0.0), nats(0.05)}) {
    // Also where an answer would write nothing.
    std::optional<session> answers(std::in_place, many, options, file, ahead);
    static_cast<void>(answers->answer(query(0)));
    std::filesystem::create_hard_link(file, other);
    ends(*answers, [&] { std::filesystem::remove(other); });

    answers.reset();
    answers.emplace(session::resume(many, file, ahead));
    std::filesystem::rename(file, other);
    ends(*answers, [&] { std::filesystem::rename(other, file); });

    // Another run had it, and gave it back.
    answers.reset();
    answers.emplace(session::resume(many, file, ahead));
    static_cast<void>(answers->answer(query(0)));
    std::filesystem::rename(file, other);
    nats told(0.0);
    {
      session elsewhere = session::resume(many, other, ahead);
      for (std::size_t n = 2; n < 21; ++n) static_cast<void>(elsewhere.answer(query(n)));
      told = elsewhere->spent();
    }
    std::filesystem::rename(other, file);
    ends(*answers, [] {});
    answers.reset();
    CHECK(session::resume(many, file, ahead)->spent() >= told);
    std::filesystem::remove(file);
  }
}

TEST_CASE("what is not these answers' file is refused", "[saved_run]") {
  support::directory const folder;
  {
    session answers(many, options, folder / "a", nats(0.0), "digest");
    static_cast<void>(answers.answer(query(0)));
  }
  std::string const good = read_file(folder / "a");
  CHECK_THROWS_AS(session::resume(many, folder / "a"), std::invalid_argument);
  CHECK_THROWS_AS(session::resume({17}, folder / "a", nats(0.0), "digest"), std::invalid_argument);
  CHECK_THROWS_AS(session::resume(many, folder / "a", nats(-1.0), "digest"), std::domain_error);
  CHECK_THROWS_AS(session::resume(many, folder / "b"), std::system_error);
  CHECK_THROWS_AS(session(many, {.budget = nats(1.0)}, folder / "b"), std::domain_error);
  CHECK_THROWS_AS(session(many, options, folder / "b", nats(std::nan(""))), std::domain_error);
  answering_options recorded = options;
  recorded.recorded = true;
  CHECK_THROWS_AS(session(many, recorded, folder / "b"), std::invalid_argument);
  answering_options capped = options;
  capped.kappa = 0.5;
  CHECK_THROWS_AS(session(many, capped, folder / "b", nats(0.1)), std::invalid_argument);
  CHECK(!std::filesystem::exists(folder / "b"));
  {
    session answers(many, capped, folder / "d");
    CHECK(answers->attack_bound_afterwards() < 0.7);
  }
  CHECK_THROWS_AS(session::resume(many, folder / "d", nats(0.1)), std::invalid_argument);
  CHECK(session::resume(many, folder / "d")->attack_bound_afterwards() < 0.7);
  CHECK(read_file(folder / "a") == good);
  // Texts with a right checksum that no answers have.
  auto const refused = [&](std::string const& line, std::string const& in_its_place) {
    std::string text = good.substr(0, good.rfind("checksum "));
    std::size_t const at = text.find("\n" + line + " ") + 1;
    REQUIRE(at != 0);
    text.replace(at, text.find('\n', at) - at, in_its_place);
    text += "checksum " + std::to_string(detail::checksum(text)) + '\n';
    std::ofstream(folder / "c", std::ios::binary) << text;
    try {
      static_cast<void>(session::resume(many, folder / "c", nats(0.0), "digest"));
    } catch (corrupt_state const&) {
      return true;
    }
    return false;
  };
  CHECK_FALSE(refused("truth", "truth 3"));
  CHECK(refused("truth", "truth 16"));
  CHECK(refused("budget", "budget -1"));
  CHECK(refused("budget", "budget 1e-9"));
  CHECK(refused("budget", "budget inf"));
  CHECK(refused("per_answer", "per_answer 0"));
  CHECK(refused("charged", "charged nan 0"));
  CHECK(refused("kappa", "kappa 0"));
  CHECK(refused("how", "how 2 30"));
  CHECK(refused("how", "how 0 41"));
  CHECK(refused("high", "high 1 0"));
  CHECK(refused("low", "low 16 1e300 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"));
  CHECK(refused("errors", "errors 2 0 0"));
  CHECK(refused("errors", "errors 16 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 400"));
}
