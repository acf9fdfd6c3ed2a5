// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace calculator {

/// What a command may take and say before it is ended.
struct child_limits {
  double seconds = std::numeric_limits<double>::infinity();
  std::size_t bytes = std::size_t{1} << 26;
};

/// What came of a command.
struct child_result {
  std::size_t name;       // as it was started
  std::string output;     // what it wrote to its standard output by its end
  std::string complaint;  // why the output is of no use; empty where it is
};

/// Commands for the shell that run side by side, each with its own standard input and in a process group of its own,
/// which is ended with it: no process that a command leaves behind goes on. One thread only.
/// A signal that asks this program to end (SIGINT, SIGTERM, SIGHUP) ends them too.
class children {
 public:
  explicit children(child_limits limits);
  children(children const&) = delete;
  children& operator=(children const&) = delete;
  ~children();

  [[nodiscard]] std::size_t running() const noexcept { return all_.size(); }

  /// @throws std::system_error if the input cannot be opened, or the system starts no more processes
  void start(std::size_t name, std::string const& command, std::string const& input);

  /// Waits until one of them ends.
  /// @throws std::runtime_error where this program was asked to end
  [[nodiscard]] child_result next();

 private:
  using clock = std::chrono::steady_clock;

  struct child {
    std::size_t name;
    ::pid_t process;
    int output;  // pipes; -1 when closed
    int errors;
    clock::time_point begin;
    std::string said;
    std::string complained;  // the end of it
    std::string fault;
  };

  void wait_for_words() const;
  void listen(child& to) const;
  static void end(child const& one) noexcept;
  [[nodiscard]] static child_result result_of(child const& one, int status);

  child_limits limits_;
  std::vector<child> all_;
};

}  // namespace calculator
