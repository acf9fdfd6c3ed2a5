// SPDX-License-Identifier: Apache-2.0
#include <tacit/zo/journal.hpp>

#include "support/catch.hpp"
#include "support/directory.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using tacit::corrupt_state;
using tacit::journal;
using tacit::read_file;
using tacit::read_transcript;
using tacit::run_record;
using tacit::symbol_kind;

run_record sample(symbol_kind kind = symbol_kind::held_sign, std::size_t directions = 2) {
  run_record run;
  run.mechanism = {"sample", {{"steps", std::uint64_t{9}}}};
  run.training = {.smoothing = 1e-3, .learning_rate = 0.02, .seed = 7};
  run.directions = directions;
  run.symbols = kind;
  run.magnitude = kind == symbol_kind::scalar ? 0.0 : 0.5;
  run.tensors = {{"w", tacit::element_type::f32, {4}}};
  return run;
}

std::vector<double> step(run_record const& run, std::size_t t) {
  std::vector<double> values(run.directions);
  for (std::size_t k = 0; k < values.size(); ++k) {
    double const x = static_cast<double>((5 * t + 7 * k) % 3) - 1.0;
    values[k] = run.symbols == symbol_kind::scalar ? 1.25 * x
                : run.symbols == symbol_kind::sign ? (x < 0.0 ? -0.5 : 0.5)
                                                   : x * 0.5 + 0.0;
  }
  return values;
}

bool holds_steps(tacit::transcript const& what, run_record const& run, std::size_t steps) {
  if (what.steps() != steps) return false;
  for (std::size_t t = 0; t < steps; ++t) {
    if (!std::ranges::equal(what.step(t), step(run, t))) return false;
  }
  return true;
}

void write(std::filesystem::path const& file, std::string const& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace

TEST_CASE("A journal is read back, goes on and is sealed", "[journal]") {
  for (auto const kind : {symbol_kind::sign, symbol_kind::held_sign, symbol_kind::scalar}) {
    for (std::size_t const directions : {1UL, 2UL, 6UL, 17UL}) {
      support::directory const folder;
      run_record const run = sample(kind, directions);
      {
        journal log = journal::create(folder / "j", run);
        CHECK(log.steps() == 0);
        for (std::size_t t = 0; t < 4; ++t) log.append(step(run, t));
        CHECK(std::ranges::equal(log.step(3), step(run, 3)));
        CHECK_THROWS_AS(log.step(4), std::invalid_argument);
      }
      CHECK(holds_steps(read_transcript(folder / "j"), run, 4));
      {
        journal log = journal::resume(folder / "j", run);
        CHECK(log.steps() == 4);
        for (std::size_t t = 4; t < 9; ++t) log.append(step(run, t));
        CHECK(holds_steps(log.seal(), run, 9));
        CHECK(read_transcript(folder / "j").sealed() == log.seal().sealed());
        write(folder / "sealed", log.seal().sealed());
      }
      CHECK(holds_steps(read_transcript(folder / "sealed"), run, 9));
      CHECK(holds_steps(read_transcript(folder / "j"), run, 9));
    }
  }
}

TEST_CASE("Cut at any byte, a journal loses the unfinished step and nothing else", "[journal]") {
  for (auto const kind : {symbol_kind::held_sign, symbol_kind::scalar}) {
    support::directory const folder;
    run_record const run = sample(kind);
    std::vector<std::size_t> ends;
    {
      journal log = journal::create(folder / "j", run);
      ends.push_back(read_file(folder / "j").size());
      for (std::size_t t = 0; t < 4; ++t) {
        log.append(step(run, t));
        ends.push_back(read_file(folder / "j").size());
      }
    }
    std::string const bytes = read_file(folder / "j");
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
      CAPTURE(size);
      std::string const cut = bytes.substr(0, size);
      write(folder / "cut", cut);
      if (size < ends.front()) {  // the header was there before the file had its name
        CHECK_THROWS_AS(read_transcript(folder / "cut"), corrupt_state);
        if (size > 0) CHECK_THROWS_AS(journal::resume(folder / "cut", run), corrupt_state);
        CHECK(read_file(folder / "cut") == cut);
        continue;
      }
      std::size_t whole = 0;
      while (whole + 1 < ends.size() && ends[whole + 1] <= size) ++whole;
      CHECK(holds_steps(read_transcript(folder / "cut"), run, whole));
      CHECK(read_file(folder / "cut") == cut);  // looking at it changes nothing
      {
        journal log = journal::resume(folder / "cut", run);
        CHECK(log.steps() == whole);
        CHECK(read_file(folder / "cut") == bytes.substr(0, ends[whole]));
        for (std::size_t t = whole; t < 4; ++t) log.append(step(run, t));
      }
      CHECK(read_file(folder / "cut") == bytes);
      // The file grew, and the bytes did not come: after a power cut.
      if (whole < 4) {
        std::string const longer = cut + std::string(ends[whole + 1] - size, '\0');
        bool const unwritten = size + 8 <= ends[whole + 1];
        write(folder / "cut", longer);
        if (unwritten) {
          CHECK(journal::resume(folder / "cut", run).steps() == whole);
        } else {
          CHECK_THROWS_AS(journal::resume(folder / "cut", run), corrupt_state);
        }
      }
    }
  }
}

TEST_CASE("Any other damage to a journal is refused", "[journal]") {
  for (auto const kind : {symbol_kind::sign, symbol_kind::held_sign, symbol_kind::scalar}) {
    support::directory const folder;
    run_record const run = sample(kind);
    std::size_t header = 0;
    {
      journal log = journal::create(folder / "j", run);
      header = read_file(folder / "j").size();
      for (std::size_t t = 0; t < 4; ++t) log.append(step(run, t));
    }
    std::string const bytes = read_file(folder / "j");
    auto const refused = [&](std::string const& damaged) {
      CHECK_THROWS_AS(tacit::detail::parse_journal(damaged), corrupt_state);
    };
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      std::string damaged = bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
      CAPTURE(bit);
      refused(damaged);
    }
    // Records that stand elsewhere than they were written: swapped, left out, twice, another run's.
    std::size_t const size = (bytes.size() - header) / 4;
    std::string const start = bytes.substr(0, header);
    auto const record = [&](std::size_t t) { return bytes.substr(header + t * size, size); };
    REQUIRE(start + record(0) + record(1) + record(2) + record(3) == bytes);
    refused(start + record(1) + record(0));
    refused(start + record(0) + record(2));
    refused(start + record(0) + record(0));
    refused(start + std::string(size, '\0') + record(0));
    run_record other = run;
    other.training.seed = 8;
    refused(tacit::detail::header_of(tacit::detail::journal_kind, other) + record(0));
    // In a file: left as it is.
    write(folder / "bad", start + record(1));
    CHECK_THROWS_AS(journal::resume(folder / "bad", run), corrupt_state);
    CHECK_THROWS_AS(read_transcript(folder / "bad"), corrupt_state);
    CHECK(read_file(folder / "bad") == start + record(1));
  }
}

TEST_CASE("A step that cannot fit one record is no allocation", "[journal]") {
  run_record run = sample(symbol_kind::scalar);
  for (std::size_t const directions :
       {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() / 8 + 2}) {
    run.directions = directions;
    std::string const header = tacit::detail::header_of(tacit::detail::journal_kind, run);
    CHECK(tacit::detail::parse_journal(header + std::string(100, 'x')).coefficients.empty());
  }
}

TEST_CASE("A journal belongs to one run and one owner", "[journal]") {
  support::directory const folder;
  run_record const run = sample();
  {
    journal log = journal::create(folder / "j", run);
    log.append(step(run, 0));
    CHECK_THROWS_AS(journal::resume(folder / "j", run), std::system_error);
    CHECK_THROWS_AS(journal::create(folder / "j", run), std::system_error);
  }
  CHECK_THROWS_AS(journal::create(folder / "j", run), std::system_error);
  CHECK_THROWS_AS(journal::resume(folder / "none", run), std::system_error);
  CHECK_THROWS_AS(journal::create(folder / "nowhere" / "j", run), std::system_error);
  CHECK(holds_steps(read_transcript(folder / "j"), run, 1));

  auto const differs = [&](auto const& change) {
    run_record other = run;
    change(other);
    CHECK_THROWS_AS(journal::resume(folder / "j", other), std::invalid_argument);
  };
  differs([](run_record& r) { r.training.seed = 8; });
  differs([](run_record& r) { r.training.learning_rate = 0.03; });
  differs([](run_record& r) { r.mechanism.parameters.clear(); });
  differs([](run_record& r) { r.start.bytes[5] = 1; });
  differs([](run_record& r) { r.tensors[0].name = "v"; });
  differs([](run_record& r) { r.symbols = symbol_kind::sign; });

  journal log = journal::resume(folder / "j", run);
  std::string const before = read_file(folder / "j");
  CHECK_THROWS_AS(log.append(std::vector{0.5}), std::invalid_argument);
  CHECK_THROWS_AS(log.append(std::vector{0.5, 0.25}), std::domain_error);
  CHECK_THROWS_AS(log.append(std::vector{0.5, std::numeric_limits<double>::quiet_NaN()}),
                  std::domain_error);
  CHECK(read_file(folder / "j") == before);
  log.append(step(run, 1));
  CHECK(holds_steps(log.seal(), run, 2));

  // Another run may have it, where somebody took its lock away.
  std::filesystem::remove(folder / "j.lock");
  journal other = journal::resume(folder / "j", run);
  CHECK_THROWS_AS(log.append(step(run, log.steps())), std::system_error);
  CHECK_NOTHROW(other.append(step(run, other.steps())));
  journal heir = std::move(other);
  CHECK_THROWS_AS(other.append(step(run, 0)), std::logic_error);
  CHECK_NOTHROW(heir.append(step(run, heir.steps())));
}

TEST_CASE("A journal that cannot be written breaks, and its file goes on", "[journal]") {
  support::directory const folder;
  run_record const run = sample();
  journal::create(folder / "j", run).append(step(run, 0));
  std::string const kept = read_file(folder / "j");
  // In a child, whose limit on the size of files lets half a record through.
  ::pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    journal log = journal::resume(folder / "j", run);
    ::rlimit const small{kept.size() + 3, kept.size() + 3};
    ::setrlimit(RLIMIT_FSIZE, &small);
    ::signal(SIGXFSZ, SIG_IGN);
    int failures = 0;
    try {
      log.append(step(run, 1));
    } catch (std::system_error const&) {
      ++failures;
    }
    try {
      log.append(step(run, 1));
    } catch (std::logic_error const&) {
      ++failures;
    }
    ::_exit(failures == 2 && log.steps() == 1 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(read_file(folder / "j").size() == kept.size() + 3);
  CHECK(holds_steps(read_transcript(folder / "j"), run, 1));
  CHECK(journal::resume(folder / "j", run).steps() == 1);
  CHECK(read_file(folder / "j") == kept);
}

TEST_CASE("A forked child appends nothing to its parent's journal", "[journal]") {
  support::directory const folder;
  run_record const run = sample();
  journal log = journal::create(folder / "j", run);
  log.append(step(run, 0));
  ::pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      log.append(step(run, 1));
    } catch (std::logic_error const&) {
      ::_exit(0);
    }
    ::_exit(1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  log.append(step(run, 1));
  CHECK(holds_steps(read_transcript(folder / "j"), run, 2));
}

TEST_CASE("A run that is killed leaves a journal of whole steps", "[journal]") {
  support::directory const folder;
  run_record const run = sample(symbol_kind::scalar, 300);
  ::pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    journal log = journal::create(folder / "j", run);
    for (std::size_t t = 0;; ++t) log.append(step(run, t));
  }
  auto const size = [&] {
    std::error_code none;
    auto const bytes = std::filesystem::file_size(folder / "j", none);
    return none ? 0 : bytes;
  };
  while (size() < 100000) ::usleep(1000);
  ::kill(child, SIGKILL);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  std::size_t const steps = read_transcript(folder / "j").steps();
  CHECK(steps >= 40);
  CHECK(holds_steps(read_transcript(folder / "j"), run, steps));
  journal log = journal::resume(folder / "j", run);
  log.append(step(run, steps));
  CHECK(holds_steps(log.seal(), run, steps + 1));
}
