// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/private_file.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_run.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/directory.hpp"

#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace paczero_state_tests {

namespace {

using namespace tacit;

constexpr std::size_t records = 20;

using saved_paczero = saved_run<paczero<>>;

/// A secret stream to which the system denies a word, once.
class failing_stream {
 public:
  failing_stream(std::uint32_t seed, std::size_t words)
      : stream_(fixed_stream(seed)), left_(words) {}
  std::uint64_t next() {
    if (left_-- == 0) throw std::system_error(std::make_error_code(std::errc::io_error));
    return stream_.next();
  }
  void forget_past() { stream_.forget_past(); }
  secret_stream::state save() const { return stream_.save(); }
  static failing_stream restore(secret_stream::state const& from) {
    failing_stream out(0, 0);
    out.stream_ = secret_stream::restore(from);
    return out;
  }

 private:
  secret_stream stream_;
  std::size_t left_;
};

candidate_set universe() {
  return candidate_set::balanced({.records = records, .subsets = 8}, 21, 5);
}

std::vector<std::vector<double>> inputs(std::size_t steps, std::size_t directions = 1) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0.05, 1.0);
  std::vector<std::vector<double>> result(steps, std::vector<double>(records * directions));
  for (auto& g : result) {
    for (double& x : g) x = normal(random);
  }
  result[steps / 2].assign(records * directions, 1.0);  // unanimous
  result[steps / 3].assign(records * directions, 0.0);  // a hold
  return result;
}

std::vector<paczero_options> all_kinds() {
  paczero_options const common{.steps = 12, .budget = nats(0.5), .otherwise = disagreement::coin};
  std::vector<paczero_options> kinds(9, common);
  kinds[1].what = observed::value;
  kinds[2].ledger = ledger_kind::record;
  kinds[2].what = observed::value;
  kinds[3].ledger = ledger_kind::record;
  kinds[3].spend = allocation::confident_or_hold;
  kinds[3].horizon = 4.0;
  kinds[3].minimum_correlation = 0.15;
  kinds[4].ledger = ledger_kind::pathwise;
  kinds[4].kappa = 0.1;
  kinds[4].budget = nats{};
  kinds[5].spend = allocation::budget_then_zero;
  kinds[5].track_records = true;
  kinds[5].directions = 3;
  kinds[6].budget = nats(0.0);
  kinds[7].kappa = 0.2;
  kinds[7].groups = {{0, 1}, {4, 2, 19}};
  kinds[7].group_budget = nats(0.1);
  kinds[8].ledger = ledger_kind::record;
  kinds[8].what = observed::value;
  kinds[8].groups = {{3}};
  kinds[8].group_budget = nats(0.01);
  return kinds;
}

/// All that a run knows, but for its secret and its stream.
bool same(paczero<> const& a, paczero<> const& b) {
  auto const equal = [](auto const& x, auto const& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  return a.steps() == b.steps() && equal(a.transcript(), b.transcript()) &&
         equal(a.belief().log_weights(), b.belief().log_weights()) && a.spent() == b.spent() &&
         a.spent_worst_record() == b.spent_worst_record() &&
         equal(a.spent_by_group(), b.spent_by_group()) &&
         a.options().groups == b.options().groups && a.unanimous_steps() == b.unanimous_steps() &&
         a.held_steps() == b.held_steps() && a.done() == b.done() &&
         a.attack_bound() == b.attack_bound() && a.records() == b.records() &&
         a.directions() == b.directions() &&
         a.candidates().public_seed() == b.candidates().public_seed() &&
         a.candidates().first_record() == b.candidates().first_record();
}

unsigned mode_of(std::filesystem::path const& path) {
  struct stat found {};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  return found.st_mode & 07777U;
}

/// The text with one field replaced, sealed anew: whoever can write the file can do so.
std::string tampered(std::string const& text, std::string const& field, std::string const& value) {
  std::istringstream lines(text);
  std::string body;
  bool found = false;
  for (std::string line; std::getline(lines, line);) {
    std::string const name = line.substr(0, line.find(' '));
    if (name == "checksum") break;
    if (name == field) {
      line = name + ' ' + value;
      found = true;
    }
    body += line + '\n';
  }
  REQUIRE(found);
  return body + "checksum " + std::to_string(detail::checksum(body)) + '\n';
}

std::string value_of(std::string const& text, std::string const& field) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.substr(0, line.find(' ')) == field) return line.substr(field.size() + 1);
  }
  FAIL("no field " << field);
  return {};
}

/// A stored run of a few steps, and no process that holds it.
std::string stored(std::filesystem::path const& path, paczero_options const& options,
                   std::size_t steps = 4) {
  saved_run run(paczero(options, universe(), fixed_stream(3)), path);
  auto const g = inputs(options.steps, options.directions);
  for (std::size_t t = 0; t < steps; ++t) (void)run.step(g[t]);
  return read_file(path);
}

/// Written as it stands, refused as corrupt, and left as it was. "" if so.
std::string trouble_with(std::filesystem::path const& path, std::string const& text) {
  std::ofstream(path, std::ios::binary) << text;
  std::string trouble;
  try {
    (void)saved_paczero::resume(path);
    return "resumed";
  } catch (corrupt_state const&) {
  } catch (std::exception const& other) {
    trouble = std::string("not corrupt_state: ") + other.what();
  }
  if (!std::filesystem::exists(path)) return trouble + " the file is gone";
  if (read_file(path) != text) return trouble + " the file has changed";
  if (std::filesystem::exists(path.string() + ".lock")) return trouble + " still locked";
  return trouble;
}

}  // namespace

TEST_CASE("a state is written at once, for its owner alone", "[state]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  paczero unsaved(all_kinds()[0], universe(), fixed_stream(3));
  CHECK(std::filesystem::is_empty(folder.path()));
  ::mode_t const mask = ::umask(0);
  saved_run run(std::move(unsaved), path);
  CHECK(mode_of(path) == 0600U);
  std::string const before = read_file(path);
  (void)run.step(inputs(12)[0]);
  ::umask(mask);
  CHECK(mode_of(path) == 0600U);
  CHECK(mode_of(folder / "run.lock") == 0600U);
  CHECK(read_file(path) != before);
  CHECK(support::names_in(folder.path()) == std::vector<std::string>{"run", "run.lock"});
}

TEST_CASE("charge and release are stored before the release is returned", "[state]") {
  // The process dies with the return value of its last step: whoever resumes publishes that same one.
  for (paczero_options const& options : all_kinds()) {
    support::directory const folder;
    std::filesystem::path const path = folder / "run";
    auto const g = inputs(options.steps, options.directions);
    paczero undisturbed(options, universe(), fixed_stream(4));
    for (std::size_t const crash : {1U, 2U, 5U, 12U}) {
      while (undisturbed.steps() < crash) (void)undisturbed.step(g[undisturbed.steps()]);
      {
        saved_run doomed(paczero(options, universe(), fixed_stream(4)), path);
        for (std::size_t t = 0; t < crash; ++t) (void)doomed.step(g[t]);  // returned, and lost
      }
      auto const resumed = saved_paczero::resume(path);
      REQUIRE(resumed.transcript().size() == crash);
      REQUIRE(same(*resumed, undisturbed));
      std::filesystem::remove(path);
    }
  }
}

TEST_CASE("a resumed run goes on exactly as an undisturbed one", "[state]") {
  for (paczero_options const& options : all_kinds()) {
    support::directory const folder;
    std::filesystem::path const path = folder / "run";
    auto const g = inputs(options.steps, options.directions);
    paczero undisturbed(options, universe(), fixed_stream(5));
    std::optional<saved_paczero> run;
    run.emplace(paczero(options, universe(), fixed_stream(5)), path);
    std::string const chosen = value_of(read_file(path), "chosen");
    while (!undisturbed.done()) {
      std::size_t const t = undisturbed.steps();
      release const expected = undisturbed.step(g[t]);
      REQUIRE(run->step(g[t]) == expected);
      REQUIRE(same(**run, undisturbed));
      // Interrupted after every step.
      run.reset();
      run.emplace(saved_paczero::resume(path));
      REQUIRE(same(**run, undisturbed));
    }
    CHECK(value_of(read_file(path), "chosen") == chosen);
  }
}

TEST_CASE("states stored by earlier releases are read, and stored again as the same text",
          "[state]") {
  // Every kind of ledger and release, written by tacit 0.1 after 0 or 4 steps.
  std::ifstream file(TACIT_TEST_DATA_DIR "/paczero_states.txt");
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  std::size_t states = 0;
  std::string text;
  for (std::string line; std::getline(file, line);) {
    text += line + '\n';
    if (!line.starts_with("checksum ")) continue;
    CAPTURE(text);
    std::ofstream(path, std::ios::binary) << text;
    {
      auto run = saved_paczero::resume(path);
      CHECK(run.steps() == (states == 0 ? 0 : 4));
      run.save_to(path);
    }
    CHECK(read_file(path) == text);
    std::filesystem::remove(path);
    text.clear();
    ++states;
  }
  CHECK(states == 8);
}

TEST_CASE("a state is inspected as it is", "[state]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  std::string const text = stored(path, all_kinds()[0]);
  auto const steps = [](paczero<> const& run) { return run.steps(); };
  std::size_t const seen = saved_paczero::inspect(path, steps);
  CHECK(read_file(path) == text);
  CHECK(support::names_in(folder.path()) == std::vector<std::string>{"run"});
  {
    auto run = saved_paczero::resume(path);
    CHECK(run.steps() == seen);
    (void)run.step(inputs(12)[4]);
    CHECK_THROWS_AS(saved_paczero::inspect(path, steps), std::system_error);  // in use
  }
  CHECK(saved_paczero::inspect(path, steps) == seen + 1);
  write_private_file(path, text.substr(0, text.size() / 2));
  CHECK_THROWS_AS(saved_paczero::inspect(path, steps), tacit::corrupt_state);
  CHECK_THROWS_AS(saved_paczero::inspect(folder / "nothing", steps), std::system_error);
}

TEST_CASE("a state is summed up without its secret, and without what it says to need", "[state]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  std::string const text = stored(path, all_kinds()[0]);
  {
    auto const [run, about] = saved_paczero::summary(path);
    CHECK(about.empty());
    CHECK(run.steps == 4);
    CHECK(run.candidates.records == 20);
    CHECK(run.candidates.subsets == 8);
    CHECK(run.public_seed == 21);
    CHECK(run.first_record == 5);
    CHECK(run.options.budget == all_kinds()[0].budget);
    CHECK(read_file(path) == text);
  }
  // 4 GiB of columns.
  std::ofstream(path, std::ios::binary) << tampered(text, "candidates", "4294967296 8 2 0 21 5");
  CHECK(saved_paczero::summary(path).first.candidates.records == 4294967296);
  for (auto const& [field, value] :
       std::vector<std::pair<std::string, std::string>>{{"candidates", "20 4294967294 2 0 21 5"},
                                                        {"steps", "3"},
                                                        {"directions", "0"},
                                                        {"chosen", "8"},
                                                        {"counts", "99 0"}}) {
    CAPTURE(field, value);
    std::ofstream(path, std::ios::binary) << tampered(text, field, value);
    CHECK_THROWS_AS(saved_paczero::summary(path), tacit::corrupt_state);
  }
}

TEST_CASE("one run at a time has a state, and leaving it without a step changes nothing",
          "[state]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  std::string const text = stored(path, all_kinds()[0]);
  for (int turn = 0; turn < 2; ++turn) {
    auto const resumed = saved_paczero::resume(path);
    CHECK(read_file(path) == text);
    CHECK_THROWS_AS(saved_paczero::resume(path), std::system_error);
  }
  CHECK(support::names_in(folder.path()) == std::vector<std::string>{"run"});

  auto resumed = saved_paczero::resume(path);
  (void)resumed.step(inputs(12)[4]);
  std::string const after = read_file(path);
  CHECK(after != text);
  // Whoever replaced the state may have gone on from it elsewhere.
  write_private_file(path, text);
  CHECK_THROWS_AS(saved_paczero::resume(path), std::system_error);
  CHECK_THROWS_AS(resumed.step(inputs(12)[5]), std::system_error);
  CHECK_THROWS_AS(resumed.step(inputs(12)[5]), std::logic_error);
  CHECK(read_file(path) == text);
  CHECK(support::names_in(folder.path()) == std::vector<std::string>{"run", "run.lock"});
  CHECK_THROWS_AS(saved_paczero::resume(folder / "nothing"), std::system_error);
  { auto const over = std::move(resumed); }
  CHECK(saved_paczero::resume(path).steps() == 4);
}

TEST_CASE("a run whose state was moved away, or whose lock was removed, releases nothing more",
          "[state]") {
  auto const g = inputs(12);
  for (bool const moved : {true, false}) {
    CAPTURE(moved);
    support::directory const folder;
    std::filesystem::path const path = folder / "run";
    (void)stored(path, all_kinds()[0]);
    auto first = saved_paczero::resume(path);
    if (moved) {
      std::filesystem::rename(path, folder / "other");
    } else {
      std::filesystem::remove(folder / "run.lock");
    }
    // Both spend one budget, with one secret.
    auto second = saved_paczero::resume(moved ? folder / "other" : path);
    CHECK_THROWS_AS(first.step(g[first.steps()]), std::system_error);
    CHECK_THROWS_AS(first.step(g[first.steps()]), std::logic_error);
    CHECK_THROWS_AS(first.save_to(folder / "third"), std::system_error);
    CHECK(std::filesystem::exists(path) == !moved);
    CHECK_NOTHROW(second.step(g[second.steps()]));
    CHECK_FALSE(std::filesystem::exists(folder / "third"));
  }
}

TEST_CASE("a bare name is a file of the folder in which the run began, wherever the process goes",
          "[state]") {
  support::directory const folder;
  std::filesystem::create_directory(folder / "elsewhere");
  std::filesystem::path const before = std::filesystem::current_path();
  auto const g = inputs(12);
  std::filesystem::current_path(folder.path());
  {
    saved_run run(paczero(all_kinds()[0], universe(), fixed_stream(1)), "run");
    std::filesystem::current_path(folder / "elsewhere");
    (void)run.step(g[0]);
  }
  CHECK(std::filesystem::is_empty(folder / "elsewhere"));
  std::filesystem::current_path(folder.path());
  for (char const* name : {"run", "./run", "elsewhere/../run"}) {
    auto run = saved_paczero::resume(name);
    std::filesystem::current_path(folder / "elsewhere");
    (void)run.step(g[run.steps()]);
    std::filesystem::current_path(folder.path());
  }
  std::filesystem::current_path(before);
  CHECK(saved_paczero::resume(folder / "run").steps() == 4);
  CHECK(support::names_in(folder.path()) == std::vector<std::string>{"elsewhere", "run"});
}

TEST_CASE("a new run overwrites nothing", "[state]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  auto const start = [](std::uint32_t key) {
    return paczero(all_kinds()[0], universe(), fixed_stream(key));
  };
  std::string const text = stored(path, all_kinds()[0]);
  CHECK_THROWS_AS(saved_run(start(1), path), std::system_error);
  CHECK(read_file(path) == text);
  {
    saved_run other(start(1), folder / "other");
    CHECK_THROWS_AS(other.save_to(path), std::system_error);
    CHECK(read_file(path) == text);
    CHECK_NOTHROW(other.step(inputs(12)[0]));  // where it was
  }
  CHECK(saved_paczero::resume(folder / "other").steps() == 1);
  // What is there is resumed; an empty file, such as mktemp makes, is a place.
  CHECK(saved_paczero::resume_or_start(path, [&] { return start(1); }).steps() == 4);
  std::ofstream(folder / "empty").close();
  CHECK(saved_paczero::resume_or_start(folder / "empty", [&] { return start(1); }).steps() == 0);
  CHECK(saved_paczero::resume_or_start(folder / "none", [&] { return start(1); }).steps() == 0);
  CHECK(saved_paczero::resume(folder / "none").steps() == 0);
  // A damaged state is not taken for none.
  write_private_file(path, text.substr(1));
  CHECK_THROWS_AS(saved_paczero::resume_or_start(path, [&] { return start(1); }),
                  tacit::corrupt_state);
  std::filesystem::create_directory(folder / "folder");
  CHECK_THROWS_AS(saved_run(start(1), folder / "folder"), std::system_error);
  // A link that leads nowhere is not followed, and stays.
  std::filesystem::create_symlink(folder / "nowhere", folder / "link");
  CHECK_THROWS_AS(saved_run(start(1), folder / "link"), std::system_error);
  CHECK_THROWS_AS(saved_paczero::resume_or_start(folder / "link", [&] { return start(1); }),
                  std::system_error);
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK_FALSE(std::filesystem::exists(folder / "nowhere"));
}

TEST_CASE("a state with two names is refused: one would remain as a copy", "[state]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  std::string const text = stored(path, all_kinds()[0]);
  std::filesystem::create_hard_link(path, folder / "second");
  CHECK_THROWS_AS(saved_paczero::resume(path), std::system_error);
  CHECK_THROWS_AS(saved_paczero::resume(folder / "second"), std::system_error);
  std::filesystem::remove(folder / "second");
  CHECK(saved_paczero::resume(path).steps() == 4);
  // One that is given to a live run stays what the state was when the next step replaces it.
  auto run = saved_paczero::resume(path);
  std::filesystem::create_hard_link(path, folder / "second");
  std::string const before = read_file(path);
  CHECK_THROWS_AS(run.step(inputs(12)[4]), std::system_error);
  CHECK(read_file(path) == before);
}

TEST_CASE("a run may be about something else from now on", "[state]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  {
    saved_run run(paczero(all_kinds()[0], universe(), fixed_stream(1)), path, "then");
    (void)run.step(inputs(12)[0]);
    for (char const* bad : {"two words", "line\n"}) {
      CHECK_THROWS_AS(run.bind_to(bad), std::invalid_argument);
    }
    run.bind_to("now");
  }
  CHECK_THROWS_AS(saved_paczero::resume(path, "then"), std::invalid_argument);
  CHECK(saved_paczero::resume(path, "now").steps() == 1);
}

TEST_CASE("what a killed writer left beside a state is removed, and nothing else", "[state]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  std::string const text = stored(path, all_kinds()[0]);
  std::vector<std::string> const mine{"run.new", "run.0123456789abcdef", "run.0123456789abcdeg.new",
                                      "run.claimed", "runs.0123456789abcdef.new"};
  for (std::string const& name : mine) write_private_file(folder / name, name);
  write_private_file(folder / "run.0123456789abcdef.new", "torn");
  CHECK(saved_paczero::resume(path).steps() == 4);
  CHECK_FALSE(std::filesystem::exists(folder / "run.0123456789abcdef.new"));
  for (std::string const& name : mine) CHECK(read_file(folder / name) == name);
}

TEST_CASE("while a run lives nobody else takes its state", "[state]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  auto const g = inputs(12);
  std::optional<saved_paczero> run;
  run.emplace(paczero(all_kinds()[0], universe(), fixed_stream(6)), path);
  (void)run->step(g[0]);
  std::string const text = read_file(path);
  CHECK_THROWS_AS(saved_paczero::resume(path), std::system_error);
  saved_run other(paczero(all_kinds()[0], universe(), fixed_stream(7)), folder / "other");
  CHECK_THROWS_AS(other.save_to(path), std::system_error);
  CHECK_THROWS_AS(saved_run(paczero(all_kinds()[0], universe()), path), std::system_error);
  CHECK(read_file(path) == text);
  // Not even after the run has been moved from.
  saved_paczero moved = std::move(*run);
  CHECK_THROWS_AS(run->step(g[1]), std::logic_error);  // NOLINT: moved from
  run.reset();
  CHECK_THROWS_AS(saved_paczero::resume(path), std::system_error);
  (void)moved.step(g[1]);
  CHECK(read_file(path) != text);
  // The other is free to go on, where it was or elsewhere.
  CHECK_NOTHROW(other.step(g[0]));
  CHECK_NOTHROW(other.save_to(folder / "elsewhere"));
}

TEST_CASE("a state that cannot be stored publishes nothing", "[state]") {
  support::directory const folder;
  auto const g = inputs(12);
  paczero run(all_kinds()[0], universe(), fixed_stream(8));
  CHECK_THROWS_AS(saved_run(std::move(run), folder / "absent" / "run"), std::system_error);

  std::filesystem::create_directory(folder / "later");
  std::filesystem::path const path = folder / "later" / "run";
  saved_run doomed(paczero(all_kinds()[0], universe(), fixed_stream(8)), path);
  paczero undisturbed(all_kinds()[0], universe(), fixed_stream(8));
  CHECK(doomed.step(g[0]) == undisturbed.step(g[0]));
  std::filesystem::rename(folder / "later", folder / "moved");
  CHECK_THROWS_AS(doomed.step(g[1]), std::system_error);
  // What it drew is known to no file: it draws no more.
  std::filesystem::rename(folder / "moved", folder / "later");
  CHECK_THROWS_AS(doomed.step(g[1]), std::logic_error);
  doomed = saved_run(paczero(all_kinds()[0], universe(), fixed_stream(9)),
                     folder / "another");  // lets go of the state
  auto resumed = saved_paczero::resume(path);
  CHECK(resumed.steps() == 1);
  CHECK(resumed.step(g[1]) == undisturbed.step(g[1]));
  CHECK(same(*resumed, undisturbed));
}

TEST_CASE("a step that fails between two of its draws is stored by nobody, and taken again",
          "[state]") {
  support::directory const folder;
  std::size_t const directions = 3;
  auto const g = inputs(12, directions);
  paczero_options options = all_kinds()[0];
  options.directions = directions;
  paczero undisturbed(options, universe(), fixed_stream(8));
  std::vector<release> expected;
  for (std::size_t t = 0; t < 4; ++t) expected.push_back(undisturbed.step(g[t]));
  std::size_t failures = 0;
  for (std::size_t words = 1; words < 60; ++words) {
    std::filesystem::path const path = folder / std::to_string(words);
    std::vector<release> made;
    {
      saved_run run(paczero<failing_stream>(options, universe(), failing_stream(8, words)), path);
      try {
        for (std::size_t t = 0; t < 4; ++t) made.push_back(run.step(g[t]));
      } catch (std::system_error const&) {
        ++failures;
        // Its account may have what its transcript lacks by now.
        CHECK_THROWS_AS(run.step(g[made.size()]), std::logic_error);
        CHECK_THROWS_AS(run.step(g[made.size()]), std::logic_error);
      }
    }
    auto resumed = saved_paczero::resume(path);
    CHECK(resumed.steps() == made.size());
    while (resumed.steps() < 4) made.push_back(resumed.step(g[resumed.steps()]));
    CHECK(made == expected);
  }
  CHECK(failures > 10);
}

TEST_CASE("a run that moves to itself is as one that was moved from", "[state]") {
  support::directory const folder;
  saved_run run(paczero(all_kinds()[0], universe()), folder / "run");
  auto& itself = run;
  run = std::move(itself);
  CHECK_THROWS_AS(run.step(inputs(8)[0]), std::logic_error);
}

TEST_CASE("every damaged byte of a state is refused, and the file left in place", "[state]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  std::string const text = stored(path, all_kinds()[2]);
  std::filesystem::remove(path);
  for (std::size_t place = 0; place < text.size(); ++place) {
    std::string damaged = text;
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << (place % 7)));
    REQUIRE(trouble_with(path, damaged).empty());
  }
  for (std::size_t size = 0; size < text.size(); size += 1 + size / 40) {
    REQUIRE(trouble_with(path, text.substr(0, size)).empty());
  }
  REQUIRE(trouble_with(path, text + text).empty());
  CHECK(trouble_with(path, text) == "resumed");
}

TEST_CASE("a state of another version or kind is refused", "[state]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  std::string const text = stored(path, all_kinds()[0]);
  CHECK(value_of(text, "tacit-paczero") == "1");
  CHECK(trouble_with(path, tampered(text, "tacit-paczero", "2")).empty());
  CHECK(trouble_with(path, tampered(text, "tacit-paczero", "0")).empty());
  CHECK(trouble_with(path, "").empty());
  archive_writer other("tacit-other", 1);
  CHECK(trouble_with(path, std::move(other).finish()).empty());
  CHECK(trouble_with(path, text) == "resumed");
}

TEST_CASE("numbers that make no sense are refused, whatever their checksum", "[state]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  std::string const subset = stored(path, all_kinds()[0]);
  std::string const record = stored(folder / "record", all_kinds()[2]);
  std::string const pathwise = stored(folder / "pathwise", all_kinds()[4]);
  std::string const three = stored(folder / "three", all_kinds()[5]);
  std::string const grouped = stored(folder / "grouped", all_kinds()[7]);

  auto const refused = [&](std::string const& text, std::string const& field,
                           std::string const& value) {
    CAPTURE(field, value);
    CHECK(trouble_with(path, tampered(text, field, value)).empty());
  };
  for (char const* bad : {"0.51", "-0.1", "nan", "inf", "x", ""}) refused(subset, "spent", bad);
  for (char const* bad : {"-1", "nan", "inf"}) refused(subset, "budget", bad);
  for (char const* bad : {"0", "3", "-1"}) refused(subset, "steps", bad);  // 4 are done
  for (char const* bad : {"8", "18446744073709551615", "-1"}) refused(subset, "chosen", bad);
  for (char const* bad : {"-1", "3"}) refused(subset, "ledger", bad);
  for (char const* bad : {"-1", "2"}) refused(subset, "observed", bad);
  for (char const* bad : {"-1", "3"}) refused(subset, "otherwise", bad);
  for (char const* bad : {"4 200 0.3", "-1 200 0.3", "2 nan 0.3", "2 0 0.3", "2 200 0"}) {
    refused(subset, "spend", bad);
  }
  for (char const* bad : {"0", "nan", "-1"}) refused(subset, "clip", bad);
  for (char const* bad : {"0", "3"}) refused(subset, "directions", bad);  // 4 symbols
  refused(subset, "belief", "7 0 0 0 0 0 0 0");
  refused(subset, "belief", "9 0 0 0 0 0 0 0 0 0");
  refused(subset, "belief", "8 0 0 0 nan 0 0 0 0");
  refused(subset, "belief", "8 0 0 0 inf 0 0 0 0");
  refused(subset, "belief", "8 -inf -inf -inf -inf -inf -inf -inf -inf");
  for (char const* bad : {"+0-x", "+0-+ -", "+++++++++++++", "+-+-\t"}) {
    refused(subset, "transcript", bad);
  }
  refused(three, "transcript", "++++");
  for (char const* bad : {"20 9 2 0 21 5", "0 8 2 0 21 5", "20 8 1 0 21 5", "20 8 4 1 21 5",
                          "20 8 2 0 21 18446744073709551615", "20 8 2 0 21"}) {
    refused(subset, "candidates", bad);
  }
  refused(subset, "candidates", "20 16 2 0 21 5");  // more subsets than weights
  refused(subset, "stream_key", "8 0 0 0 0 0 0 0 0");
  refused(subset, "stream_key", "7 1 2 3 4 5 6 7");
  refused(subset, "stream_key", "9 1 2 3 4 5 6 7 8 9");
  refused(subset, "stream_key", "8 4294967296 2 3 4 5 6 7 8");
  refused(subset, "spent_by_record", "1 0.1");
  refused(record, "spent_by_record", "0");
  std::string nineteen;
  for (int i = 0; i < 19; ++i) nineteen += " 0.1";
  refused(record, "spent_by_record", "19" + nineteen);
  for (char const* bad : {"0.51", "-0.1", "nan", "inf"}) {
    refused(record, "spent_by_record", "20" + nineteen + ' ' + bad);
  }
  for (char const* bad : {"5", "1000000000000000", "18446744073709551615"}) {
    refused(record, "observations", bad);  // 4 are released
  }
  refused(subset, "counts", "99 0");
  refused(subset, "counts", "0 99");
  std::string const released = value_of(subset, "transcript");
  auto const held = std::to_string(std::count(released.begin(), released.end(), '0'));
  refused(subset, "counts", "4 " + held);  // all unanimous, and some of them paid for
  refused(subset, "counts", "0 " + held + "1");
  refused(subset, "transcript", "0000");
  refused(subset, "observations", "0");  // and something spent
  refused(record, "candidates", "21 8 2 0 21 5");
  for (char const* bad : {"nan", "0", "0.6", "-0.1"}) refused(pathwise, "kappa", bad);
  for (char const* bad : {"0", "0.6", "-0.1"}) refused(subset, "kappa", bad);  // nan: no cap
  // Groups {0, 1} and {4, 2, 19} of 20 records.
  for (char const* bad : {"0", "1 2 0 1", "2 2 0 1 3 4 2 20", "2 2 0 0 3 4 2 19", "2 0 3 4 2 19",
                          "2 2 0 1 3 4 2", "2 2 0 1 3 4 2 19 5", "3 2 0 1 3 4 2 19",
                          "2 2 0 1 18446744073709551615 4 2 19", "2 2 0 -1 3 4 2 19", ""}) {
    refused(grouped, "groups", bad);
  }
  for (char const* bad : {"nan", "inf", "-0.1", "0", "x"}) refused(grouped, "group_budget", bad);
  for (char const* bad :
       {"0", "1 0.01", "2 0.01 0.11", "2 0.01 nan", "2 0.01 -0.01", "2 0.01", "3 0.01 0.01 0.01"}) {
    refused(grouped, "spent_by_group", bad);
  }
  refused(pathwise, "observed", "0");

  // And one field of each text rewritten as it was is taken: the form of these tests is right.
  for (std::string const& text : {subset, record, pathwise, three, grouped}) {
    CHECK(trouble_with(path, tampered(text, "spent", value_of(text, "spent"))) == "resumed");
  }
}

// How many of the actions are refused.
template <class... Actions>
int refusals(Actions const&... actions) {
  auto const refused = [](auto const& action) {
    try {
      action();
    } catch (std::logic_error const&) {
      return 1;
    }
    return 0;
  };
  return (refused(actions) + ...);
}

TEST_CASE("a forked child cannot go on with its parent's run", "[state]") {
  support::directory const folder;
  auto const g = inputs(8);
  paczero loose({.steps = 8, .budget = nats(0.1)}, universe());
  saved_run kept(paczero({.steps = 8, .budget = nats(0.1)}, universe()), folder / "run");
  std::string const text = read_file(folder / "run");
  ::pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::_exit(refusals([&] { (void)loose.step(g[0]); }, [&] { (void)kept.step(g[0]); },
                     [&] { kept.save_to(folder / "run"); },
                     [&] { kept.save_to(folder / "elsewhere"); },
                     [&] { saved_run(std::move(loose), folder / "of the child"); }));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 5);
  CHECK(read_file(folder / "run") == text);
  CHECK(!std::filesystem::exists(folder / "of the child"));
  CHECK_NOTHROW(kept.step(g[0]));
  CHECK_NOTHROW(loose.step(g[0]));
}

#if defined(CLONE_NEWPID)
TEST_CASE("a forked child that has its parent's process number cannot go on either", "[state]") {
  support::directory const folder;
  auto const g = inputs(8);
  auto const in_namespace = [](auto const& action) {  // action's result, in a process of number 1
    ::pid_t const child = ::fork();
    if (child == 0) ::_exit(::getpid() == 1 ? action() : 98);
    int status = 0;
    return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : 97;
  };
  constexpr int not_allowed = 99;
  ::pid_t const outer = ::fork();
  REQUIRE(outer >= 0);
  if (outer == 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) ::_exit(not_allowed);
    ::_exit(in_namespace([&] {
      paczero loose({.steps = 8, .budget = nats(0.1)}, universe());
      saved_run kept(paczero({.steps = 8, .budget = nats(0.1)}, universe()), folder / "run");
      tacit::file_lock const lock(folder / "other");
      if (::unshare(CLONE_NEWPID) != 0) return not_allowed;
      return in_namespace([&] {
        return refusals([&] { (void)loose.step(g[0]); }, [&] { (void)kept.step(g[0]); },
                        [&] { kept.save_to(folder / "elsewhere"); }, [&] { lock.check("test"); });
      });
    }));
  }
  int status = 0;
  REQUIRE(::waitpid(outer, &status, 0) == outer);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) != not_allowed) CHECK(WEXITSTATUS(status) == 4);
}
#endif

TEST_CASE("a run that moves to another file leaves no state behind to resume", "[state]") {
  support::directory const folder;
  auto const g = inputs(8);
  std::optional<saved_paczero> run;
  run.emplace(paczero(all_kinds()[0], universe(), fixed_stream(1)), folder / "first");
  (void)run->step(g[0]);
  run->save_to(folder / "second");
  CHECK(!std::filesystem::exists(folder / "first"));
  CHECK_THROWS_AS(saved_paczero::resume(folder / "first"), std::system_error);
  run.reset();
  // And so does a resumed one that moves before its first step.
  run.emplace(saved_paczero::resume(folder / "second"));
  run->save_to(folder / "third");
  CHECK(!std::filesystem::exists(folder / "second"));
  (void)run->step(g[1]);
  run.reset();
  CHECK(saved_paczero::resume(folder / "third").steps() == 2);
}

TEST_CASE("a link to a live state resumes nothing", "[state]") {
  support::directory const folder;
  auto const g = inputs(8);
  saved_run run(paczero(all_kinds()[0], universe(), fixed_stream(1)), folder / "run");
  std::filesystem::create_symlink(folder / "run", folder / "alias");
  CHECK_THROWS_AS(saved_paczero::resume(folder / "alias"), std::system_error);
  CHECK_NOTHROW(run.step(g[0]));
}

}  // namespace paczero_state_tests
