// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string>

namespace apps {

/// Bytes that this process can still take: what the machine has free or would drop (all that it has, where it does
/// not say), and what a limit on addresses (`ulimit -v`) leaves.
inline double free_memory() {
  auto const page = static_cast<double>(sysconf(_SC_PAGE_SIZE));
  double out = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * page;
  std::ifstream machine("/proc/meminfo");
  for (std::string line; std::getline(machine, line);) {
    constexpr char const* key = "MemAvailable:";
    if (line.starts_with(key)) out = 1024.0 * std::stod(line.substr(std::string(key).size()));
  }
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
    double pages = 0.0;  // taken
    std::ifstream("/proc/self/statm") >> pages;
    out = std::min(out, std::max(static_cast<double>(addresses.rlim_cur) - pages * page, 0.0));
  }
  return out;
}

/// @throws std::runtime_error if so many bytes do not fit in what was free
inline void must_fit(std::string const& what, double bytes, double free) {
  if (bytes <= free) return;
  auto const megabytes = [](double of) { return std::to_string(std::llround(of / 1e6)); };
  throw std::runtime_error(what + " is too large for the memory that is free: " + megabytes(bytes) +
                           " MB of " + megabytes(free));
}

}  // namespace apps
