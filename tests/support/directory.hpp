// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace support {

/// An empty folder of one's own, gone with its content at the end of the scope.
class directory {
 public:
  directory() {
    std::string name = (std::filesystem::temp_directory_path() / "tacit_test_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  directory(directory const&) = delete;
  directory& operator=(directory const&) = delete;
  ~directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::filesystem::path const& path() const { return path_; }

  friend std::filesystem::path operator/(directory const& folder, std::string const& name) {
    return folder.path_ / name;
  }

 private:
  std::filesystem::path path_;
};

/// The names in a folder, in order.
inline std::vector<std::string> names_in(std::filesystem::path const& folder) {
  std::vector<std::string> names;
  for (auto const& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace support
