// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "verbs.hpp"

#include <span>
#include <string>

namespace calculator {

/// What the program prints: on the standard output for status 0, on the standard error else, where it is
/// one line.
struct outcome {
  int status;
  std::string text;
};

/// A command line, from its words to what is printed: `tacit VERB …`, or a request for help.
outcome ask(std::span<verb const> verbs, int argc, char const* const* argv);

/// One line, whatever the arguments held.
std::string complaint(std::string const& who, std::string what);

}  // namespace calculator
