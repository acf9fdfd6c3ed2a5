// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/private_file.hpp>

#include "support/catch.hpp"
#include "support/directory.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

using tacit::append_file;
using tacit::create_private_file;
using tacit::file_lock;
using tacit::output_file;
using tacit::read_file;
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

  // A file that stood there open to all becomes private. One that the user called *.new is no business
  // of ours, and a link is replaced, not followed.
  std::filesystem::permissions(path, std::filesystem::perms::all);
  write_private_file(folder / "state.new", "the user's");
  write_private_file(path, "third");
  CHECK(mode_of(path) == 0600U);
  CHECK(read_file(path) == "third");
  CHECK(read_file(folder / "state.new") == "the user's");
  std::filesystem::remove(path);
  std::filesystem::create_symlink(folder / "state.new", path);
  write_private_file(path, "fourth");
  CHECK(read_file(folder / "state.new") == "the user's");
  CHECK(read_file(path) == "fourth");
  CHECK(support::names_in(folder.path()) == std::vector<std::string>{"old", "state", "state.new"});

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

TEST_CASE("a new file takes no other's place", "[file]") {
  support::directory const folder;
  create_private_file(folder / "state", "text");
  CHECK(mode_of(folder / "state") == 0600U);
  CHECK_THROWS_AS(create_private_file(folder / "state", "other"), std::system_error);
  CHECK(read_file(folder / "state") == "text");
  std::filesystem::create_symlink(folder / "nothing", folder / "link");
  CHECK_THROWS_AS(create_private_file(folder / "link", "other"), std::system_error);
  CHECK(support::names_in(folder.path()) == std::vector<std::string>{"link", "state"});
}

TEST_CASE("a new file that may not be on disk is not there", "[file]") {
  support::directory const folder;
  struct ::rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  int const next = ::dup(0);
  ::close(next);
  struct ::rlimit few = before;
  few.rlim_cur = static_cast<::rlim_t>(next) + 1;  // for the file, and not for its folder
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  std::string said;
  try {
    tacit::create_private_file(folder / "new", "text");
  } catch (std::system_error const& error) {
    said = error.what();
  }
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(said.find("cannot flush the folder") != std::string::npos);
  CHECK(std::filesystem::is_empty(folder / "."));
}

TEST_CASE("an output that is not finished leaves nothing", "[file]") {
  support::directory const folder;
  {
    output_file file(folder / "out", tacit::readers::all);
    file.write("half of");
    CHECK(support::names_in(folder.path()).size() == 1);
    CHECK(!std::filesystem::exists(folder / "out"));
  }
  CHECK(std::filesystem::is_empty(folder.path()));
  ::mode_t const mask = ::umask(0022);
  {
    output_file file(folder / "out", tacit::readers::all);
    file.write("all ");
    file.write("of it");
    file.place();
  }
  ::umask(mask);
  CHECK(read_file(folder / "out") == "all of it");
  CHECK(mode_of(folder / "out") == 0644U);
  CHECK(support::names_in(folder.path()) == std::vector<std::string>{"out"});
}

TEST_CASE("only regular files of bounded size are read", "[file]") {
  support::directory const folder;
  write_private_file(folder / "f", "abc");
  CHECK(read_file(folder / "f", 3) == "abc");
  CHECK_THROWS_AS(read_file(folder / "f", 2), std::system_error);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_AS(read_file(folder / "pipe"), std::system_error);  // and does not wait for a writer
  CHECK_THROWS_AS(read_file("/dev/zero"), std::system_error);
}

TEST_CASE("what says to be empty and has no end is empty", "[file]") {
  if (std::filesystem::exists("/proc/self/pagemap")) CHECK(read_file("/proc/self/pagemap").empty());
}

TEST_CASE("a file that grows while it is read has the length at which it was opened", "[file]") {
  support::directory const folder;
  write_private_file(folder / "f", "abc");
  tacit::input_file file((folder / "f").string());
  std::ofstream(folder / "f", std::ios::app) << "def";
  CHECK(file.left() == 3);
  CHECK(file.text() == "abc");
  CHECK(read_file(folder / "f") == "abcdef");
}

TEST_CASE("an output replaces files alone: no pipe, and no device", "[file]") {
  support::directory const folder;
  std::string const pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_AS(write_private_file(pipe, "x"), std::system_error);
  CHECK(std::filesystem::is_fifo(pipe));
  CHECK(support::names_in(folder.path()) == std::vector<std::string>{"pipe"});
}

TEST_CASE("a lock whose file was removed does not remove another's", "[file]") {
  support::directory const folder;
  std::string const path = folder / "f";
  auto first = std::make_unique<file_lock>(path);
  CHECK(first->is_in_place());
  std::filesystem::remove(path + ".lock");
  CHECK_FALSE(first->is_in_place());
  file_lock const second(path);
  first.reset();
  CHECK(std::filesystem::exists(path + ".lock"));
  CHECK_THROWS_AS(file_lock(path), std::system_error);
}

TEST_CASE("of processes that race for one lock one at a time has it", "[file]") {
  // Each holder makes a file that another holder would find there.
  support::directory const folder;
  std::filesystem::path const path = folder / "state";
  constexpr int processes = 4;
  std::vector<::pid_t> children;
  for (int k = 0; k < processes; ++k) {
    ::pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (int taken = 0; taken < 100;) {
        try {
          file_lock const mine(path);
          std::filesystem::path const mark = folder / "held";
          create_private_file(mark, "");  // throws if another holder is in here
          if (::unlink(mark.c_str()) != 0) ::_exit(0);
          ++taken;
        } catch (std::system_error const& error) {
          if (std::string(error.what()).find("another run writes") == std::string::npos) ::_exit(0);
        }
      }
      ::_exit(1);
    }
    children.push_back(child);
  }
  for (::pid_t const child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 1);
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a forked child does not let go of its parent's lock", "[file]") {
  support::directory const folder;
  file_lock const mine(folder / "state");
  ::pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    { file_lock const moved(std::move(const_cast<file_lock&>(mine))); }
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK_THROWS_AS(file_lock(folder / "state"), std::system_error);
  CHECK(std::filesystem::exists(folder / "state.lock"));
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

TEST_CASE("A file has one name, through links and before it is there", "[file]") {
  using tacit::detail::files;
  support::directory const folder;
  std::filesystem::create_directory(folder / "real");
  std::filesystem::create_directory_symlink(folder / "real", folder / "link");
  write_private_file(folder / "real" / "file", "text");
  std::filesystem::create_symlink(folder / "real" / "file", folder / "alias");
  auto const canonical = [](std::filesystem::path const& path) { return files::canonical(path); };
  std::string const real = std::filesystem::canonical(folder / "real").string();
  CHECK(canonical(folder / "link" / "file") == real + "/file");
  CHECK(canonical(folder / "alias") == real + "/file");
  CHECK(canonical(folder / "link" / "new") == real + "/new");
  CHECK(canonical(folder / "link" / ".." / "real" / "new") == real + "/new");
  CHECK(canonical("new") == std::filesystem::current_path().string() + "/new");
  CHECK(canonical("/new") == "/new");
  CHECK(canonical(folder / "nowhere" / "new") == (folder / "nowhere" / "new").string());

  CHECK(files::folder_of("/a/b") == "/a");
  CHECK(files::folder_of("/a") == "/");
  CHECK(files::folder_of("a") == ".");
}
