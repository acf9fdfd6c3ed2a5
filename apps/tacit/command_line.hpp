// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "verbs.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>

namespace calculator {

/// What the program prints: on the standard output for status 0, on the standard error else, where it is
/// one line.
struct outcome {
  int status;
  std::string text;
  std::string if_lost{};  // the complaint where `text` cannot be written
};

/// The parser of command lines, made once for any number of them.
class command_line {
 public:
  /// The options of those verbs alone that need them are known: to make all of them takes longer than most answers.
  command_line(std::span<verb const> verbs, std::function<bool(verb const&)> const& needs_options);
  ~command_line();

  outcome ask(int argc, char const* const* argv);

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// A command line, from its words to what is printed: `tacit VERB …`, or a request for help.
outcome ask(std::span<verb const> verbs, int argc, char const* const* argv);

/// One line, whatever the arguments held.
std::string complaint(std::string const& who, std::string what);

}  // namespace calculator
