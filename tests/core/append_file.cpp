// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/append_file.hpp>

#include "support/catch.hpp"
#include "support/directory.hpp"

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

using tacit::append_file;
using tacit::read_file;

TEST_CASE("A file grows at its end, after what is trusted of it", "[append]") {
  support::directory const folder;
  tacit::write_private_file(folder / "f", "abcdef");
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

TEST_CASE("A file that is missing, too short or a link is refused", "[append]") {
  support::directory const folder;
  CHECK_THROWS_AS(append_file(folder / "none", 0), std::system_error);
  CHECK_FALSE(std::filesystem::exists(folder / "none"));
  tacit::write_private_file(folder / "f", "abc");
  CHECK_THROWS_AS(append_file(folder / "f", 4), std::invalid_argument);
  std::filesystem::create_symlink(folder / "f", folder / "link");
  CHECK_THROWS_AS(append_file(folder / "link", 0), std::system_error);
  CHECK(read_file(folder / "f") == "abc");
}
