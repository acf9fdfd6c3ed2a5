// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <string>

namespace apps {

/// How far the work is, on stderr: a bar on a terminal, a line every fifth of the way elsewhere.
class progress_bar {
 public:
  explicit progress_bar(std::size_t total)
      : total_(std::max<std::size_t>(1, total)), terminal_(::isatty(STDERR_FILENO) != 0) {}

  ~progress_bar() {
    if (terminal_) std::fputs("\r\033[K", stderr);
  }

  /// From any thread.
  void advance(std::size_t steps) {
    std::lock_guard const lock(mutex_);
    done_ = std::min(total_, done_ + steps);
    double const share = static_cast<double>(done_) / static_cast<double>(total_);
    double const seconds = elapsed();
    if (!terminal_) {
      auto const fifth = static_cast<int>(5.0 * share);
      if (fifth > shown_) std::fprintf(stderr, "%3d %%, %.0f s\n", 20 * fifth, seconds);
      shown_ = std::max(shown_, fifth);
    } else if (seconds > last_ + 0.1 || done_ == total_) {
      last_ = seconds;
      auto const full = static_cast<std::size_t>(40.0 * share);
      std::string bar;
      for (std::size_t i = 0; i < 40; ++i) bar += i < full ? "\u2588" : "\u2591";
      double const left = share > 0.0 ? seconds * (1.0 - share) / share : 0.0;
      std::fprintf(stderr, "\r%s %3.0f %%  %.0f s, about %.0f s left \033[K", bar.c_str(),
                   100.0 * share, seconds, left);
    }
  }

  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::size_t total_;
  bool terminal_;
  std::mutex mutex_;
  std::size_t done_ = 0;
  int shown_ = 0;
  double last_ = -1.0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace apps
