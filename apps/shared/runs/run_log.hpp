// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>

namespace apps {

/// All finished runs, one a line of JSON in a file that only grows: what a study that was stopped goes on from, and
/// what its page is made of.
class run_log {
 public:
  /// Reads the file, or begins one. A last line that a crash cut off is removed.
  /// @throws std::runtime_error for a file that is not such a log, or is one of another protocol
  explicit run_log(std::filesystem::path file);

  /// What a run left, or null if it has not been done. Valid as long as the log.
  nlohmann::ordered_json const* find(std::string const& key) const;

  /// From any thread. The line is in the file before this returns; of two results with one key the first stays.
  /// @throws std::runtime_error if it cannot be written
  void add(std::string const& key, nlohmann::ordered_json result);

  std::size_t size() const;

  /// The sum of all results' `seconds`.
  double seconds() const;

 private:
  void append(std::string const& line);

  std::filesystem::path file_;
  mutable std::mutex mutex_;
  std::map<std::string, nlohmann::ordered_json> all_;
};

}  // namespace apps
