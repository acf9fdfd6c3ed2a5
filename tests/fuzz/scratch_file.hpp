// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace fuzz {

/// A file of this process with these bytes, for readers that take a name.
inline std::string scratch_file(std::string_view bytes) {
  static std::string const path = [] {
    std::string name = (std::filesystem::temp_directory_path() / "tacit_fuzz_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    return name + "/input";
  }();
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

}  // namespace fuzz
