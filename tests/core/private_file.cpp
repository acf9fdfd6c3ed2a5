// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/private_file.hpp>

#include "support/catch.hpp"
#include "support/directory.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

using tacit::append_file;
using tacit::claim_file;
using tacit::read_file;
using tacit::unclaim_file;
using tacit::write_private_file;

unsigned mode_of(std::filesystem::path const& path) {
  struct stat found {};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  return found.st_mode & 07777U;
}

}  // namespace

TEST_CASE("a private file is its owner's alone, and replaced at once", "[file]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "state";
  ::mode_t const mask = ::umask(0);  // not even a lenient mask opens it
  write_private_file(path, "first");
  ::umask(mask);
  CHECK(mode_of(path) == 0600U);
  CHECK(read_file(path) == "first");

  // A reader that holds the old file goes on reading the old text: the new one is another file.
  struct stat before {};
  REQUIRE(::stat(path.c_str(), &before) == 0);
  std::filesystem::create_hard_link(path, folder / "old");
  std::string const long_text(300'000, 'x');
  write_private_file(path, long_text);
  CHECK(read_file(path) == long_text);
  CHECK(read_file(folder / "old") == "first");
  CHECK(mode_of(path) == 0600U);
  CHECK(!std::filesystem::exists(folder / "state.new"));

  // A file that stood there open to all becomes private, and a crash's remainder is no obstacle.
  std::filesystem::permissions(path, std::filesystem::perms::all);
  write_private_file(folder / "state.new", "left over");
  write_private_file(path, "third");
  CHECK(mode_of(path) == 0600U);
  CHECK(read_file(path) == "third");

  // A link planted under the fresh name is not followed.
  write_private_file(folder / "victim", "untouched");
  std::filesystem::create_symlink(folder / "victim", folder / "state.new");
  write_private_file(path, "fourth");
  CHECK(read_file(folder / "victim") == "untouched");
  CHECK(read_file(path) == "fourth");

  write_private_file(path, "");
  CHECK(read_file(path).empty());
}

TEST_CASE("files that cannot be written or read say so", "[file]") {
  support::directory const folder;
  CHECK_THROWS_AS(write_private_file(folder / "absent" / "state", "x"), std::system_error);
  CHECK_THROWS_WITH(write_private_file(folder / "absent" / "state", "x"),
                    Catch::Matchers::Contains((folder / "absent" / "state").string()));
  CHECK_THROWS_AS(read_file(folder / "absent"), std::system_error);
  CHECK_THROWS_AS(read_file(folder.path()), std::system_error);  // a directory
  // The target is a folder: the rename fails, and the old content stays.
  std::filesystem::create_directory(folder / "taken");
  CHECK_THROWS_AS(write_private_file(folder / "taken", "x"), std::system_error);
  CHECK(std::filesystem::is_directory(folder / "taken"));
}

TEST_CASE("a file is claimed once", "[file]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "state";
  CHECK_THROWS_AS(claim_file(path), std::system_error);  // nothing to claim

  write_private_file(path, "text");
  std::filesystem::path const claimed = claim_file(path);
  CHECK(claimed == folder / "state.claimed");
  CHECK(!std::filesystem::exists(path));
  CHECK(read_file(claimed) == "text");
  CHECK(mode_of(claimed) == 0600U);
  CHECK_THROWS_AS(claim_file(path), std::system_error);

  // A state written later does not overwrite the earlier claim.
  write_private_file(path, "later");
  CHECK_THROWS_AS(claim_file(path), std::system_error);
  CHECK(read_file(claimed) == "text");
  CHECK(read_file(path) == "later");

  // A claim is not given back over a state that has come since.
  unclaim_file(claimed, path);
  CHECK(read_file(claimed) == "text");
  CHECK(read_file(path) == "later");

  std::filesystem::remove(path);
  unclaim_file(claimed, path);
  CHECK(!std::filesystem::exists(claimed));
  CHECK(read_file(path) == "text");
  CHECK(claim_file(path) == claimed);
}

TEST_CASE("of processes that race for one file exactly one claims it", "[file]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "state";
  for (int round = 0; round < 100; ++round) {
    write_private_file(path, "text");
    int gate[2];
    REQUIRE(::pipe(gate) == 0);
    std::vector<::pid_t> children;
    for (int k = 0; k < 3; ++k) {
      ::pid_t const child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        ::close(gate[1]);
        char start = 0;
        [[maybe_unused]] ssize_t const got = ::read(gate[0], &start, 1);  // until the gate closes
        int answer = 2;
        try {
          answer = read_file(claim_file(path)) == "text" ? 0 : 3;
        } catch (std::system_error const&) {
          answer = 1;
        }
        ::_exit(answer);
      }
      children.push_back(child);
    }
    ::close(gate[0]);
    ::close(gate[1]);
    int winners = 0;
    int losers = 0;
    for (::pid_t const child : children) {
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      winners += WIFEXITED(status) && WEXITSTATUS(status) == 0;
      losers += WIFEXITED(status) && WEXITSTATUS(status) == 1;
    }
    REQUIRE(winners == 1);
    REQUIRE(losers == 2);
    std::filesystem::remove(folder / "state.claimed");
  }
}

TEST_CASE("A file grows at its end, after what is trusted of it", "[file]") {
  support::directory const folder;
  write_private_file(folder / "f", "abcdef");
  {
    append_file file(folder / "f", 6);
    CHECK(read_file(folder / "f") == "abcdef");
    file.append("gh");
    CHECK(read_file(folder / "f") == "abcdefgh");  // before it is closed
    file.append("");
    file.append(std::string(100000, 'x'));
  }
  CHECK(read_file(folder / "f") == "abcdefgh" + std::string(100000, 'x'));
  append_file file(folder / "f", 3);
  CHECK(read_file(folder / "f") == "abc");
  file.append("D");
  CHECK(read_file(folder / "f") == "abcD");
  append_file empty(folder / "f", 0);
  CHECK(read_file(folder / "f").empty());
}

TEST_CASE("A file that is missing, too short or a link is refused", "[file]") {
  support::directory const folder;
  CHECK_THROWS_AS(append_file(folder / "none", 0), std::system_error);
  CHECK_FALSE(std::filesystem::exists(folder / "none"));
  write_private_file(folder / "f", "abc");
  CHECK_THROWS_AS(append_file(folder / "f", 4), std::invalid_argument);
  std::filesystem::create_symlink(folder / "f", folder / "link");
  CHECK_THROWS_AS(append_file(folder / "link", 0), std::system_error);
  CHECK(read_file(folder / "f") == "abc");
}
