// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <cstdio>
#include <optional>

namespace apps {

/// Reads the command line. Returns with what the program ends where it ends at once: 0 after --help, 2 after one line
/// about what cannot be read.
inline std::optional<int> parse(CLI::App& app, char const* program, int argc,
                                char const* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 2;
  }
  return {};
}

}  // namespace apps
