// SPDX-License-Identifier: Apache-2.0
//
// The calculator: one question on the command line, one answer on stdout.

#include "command_line.hpp"
#include "patience.hpp"
#include "verbs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>

namespace {

std::array<calculator::verb, 19> const verbs{
    calculator::epsilon(), calculator::delta(),     calculator::noise(),  calculator::steps(),
    calculator::rate(),    calculator::matrix(),    calculator::curve(),  calculator::report(),
    calculator::mi(),      calculator::sigma(),     calculator::attack(), calculator::budget(),
    calculator::ferret(),  calculator::calibrate(), calculator::gap(),    calculator::train(),
    calculator::replay(),  calculator::releases(),  calculator::audit()};

bool print(std::string const& text, std::FILE* to) {
  return std::fputs(text.c_str(), to) >= 0 && std::fflush(to) == 0;
}

/// Some file systems say only when a file is closed that it is not on disk.
bool print_answer(std::string const& text) {
  return print(text, stdout) && ::close(STDOUT_FILENO) == 0;
}

/// A standard stream that the caller closed is given a descriptor that fails: else a state or a journal would
/// be opened under its number, and what is said to the stream be written into the file.
void hold_standard_streams() {
  for (int const stream : {0, 1, 2}) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    (void)::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the user's limit is an error like a full disk
  calculator::outcome const out = calculator::ask(verbs, argc, argv);
  calculator::wait_for_ever();
  if (out.status != 0) {
    print(out.text, stderr);
  } else if (!print_answer(out.text)) {
    print(out.if_lost, stderr);
    return 1;
  }
  return out.status;
}
