// SPDX-License-Identifier: Apache-2.0
#include "finetune/finetune.hpp"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace apps {

namespace {

// Bytes, from the lines of /proc/self/status.
double resident(char const* field) {
  std::ifstream in("/proc/self/status");
  std::string word;
  while (in >> word) {
    double kilobytes = 0.0;
    if (word == field && in >> kilobytes) return 1024.0 * kilobytes;
  }
  return 0.0;
}

}  // namespace

step_cost cost_of(model& of, tuning_options options, std::size_t steps) {
  options.attacked = false;
  options.steps = steps;
  options.curve_points = 1;
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("cost_of: no pipe");
  ::pid_t const child = ::fork();
  if (child < 0) throw std::runtime_error("cost_of: no process");
  if (child == 0) {
    step_cost cost{};
    try {
      ::malloc_trim(0);
      double const before = resident("VmRSS:");
      cost.seconds = tune(of, options).seconds_per_step;
      cost.bytes = resident("VmHWM:") - before;
    } catch (...) {
      std::_Exit(1);
    }
    bool const written = ::write(ends[1], &cost, sizeof cost) == ::ssize_t{sizeof cost};
    std::_Exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  step_cost cost{};
  bool const read = ::read(ends[0], &cost, sizeof cost) == ::ssize_t{sizeof cost};
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!read || status != 0) throw std::runtime_error("cost_of: the child process failed");
  return cost;
}

}  // namespace apps
