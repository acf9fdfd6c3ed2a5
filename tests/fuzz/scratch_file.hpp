// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace fuzz {

/// A file of this process with these bytes, for readers that take a name. One descriptor writes it: it is
/// opened once, and removed at the end.
inline std::string const& scratch_file(std::string_view bytes) {
  struct place {
    std::string folder = (std::filesystem::temp_directory_path() / "tacit_fuzz_XXXXXX").string();
    std::string name;
    int file = -1;
    place() {
      if (::mkdtemp(folder.data()) == nullptr) std::abort();
      name = folder + "/input";
      file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    place(place const&) = delete;
    place& operator=(place const&) = delete;
    ~place() {
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
  };
  static place const one;
  if (::ftruncate(one.file, 0) != 0 ||
      ::pwrite(one.file, bytes.data(), bytes.size(), 0) != static_cast<::ssize_t>(bytes.size())) {
    std::abort();
  }
  return one.name;
}

}  // namespace fuzz
