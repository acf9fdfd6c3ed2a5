// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace support {

/// How many of the actions a forked child is refused, for being one; -1 if the child ended otherwise.
template <class... Actions>
[[nodiscard]] int refused_in_a_child(Actions const&... actions) {
  auto const refused = [](auto const& action) {
    try {
      action();
    } catch (std::logic_error const& error) {
      return std::string(error.what()).find("used in a forked process") != std::string::npos ? 1
                                                                                             : 0;
    }
    return 0;
  };
  ::pid_t const child = ::fork();
  if (child == 0) ::_exit((refused(actions) + ... + 0));
  int status = 0;
  bool const ended = child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status);
  return ended ? WEXITSTATUS(status) : -1;
}

}  // namespace support
