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
/// what its page is made of. The first line says what all of them were made with.
class run_log {
 public:
  /// Reads the file, or begins one, and keeps other programs out of it as long as the log lives. A last line that a
  /// crash cut off is removed. `made_with`: an object of what would make runs of the same key different, such as the
  /// data.
  /// @throws std::runtime_error for a file that is not such a log, is of another protocol or made with something else,
  ///   has two results for one key, or is in use
  explicit run_log(std::filesystem::path file,
                   nlohmann::ordered_json const& made_with = nlohmann::ordered_json::object());
  ~run_log();
  run_log(run_log const&) = delete;
  run_log& operator=(run_log const&) = delete;

  /// What a run left, or null if it has not been done. Valid as long as the log.
  nlohmann::ordered_json const* find(std::string const& key) const;

  /// From any thread. The line is in the file before this returns; of two results with one key the first stays.
  /// @throws std::runtime_error if it cannot be written
  void add(std::string const& key, nlohmann::ordered_json result);

  std::size_t size() const;

  /// The sum of all results' `seconds`.
  double seconds() const;

  std::filesystem::path const& file() const { return file_; }

 private:
  void read(nlohmann::ordered_json const& first_line);
  void append(std::string const& line);

  std::filesystem::path file_;
  int open_;  // locked, for writing at its end
  mutable std::mutex mutex_;
  std::map<std::string, nlohmann::ordered_json> all_;
};

}  // namespace apps
