// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace apps {

/// Calls work(i) for i = 0 … count − 1 on some threads; the first exception stops them and is rethrown.
template <class Work>
void in_parallel(std::size_t count, std::size_t threads, Work const& work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::exception_ptr> errors(threads);
  std::vector<std::thread> pool;
  for (std::exception_ptr& error : errors) {
    pool.emplace_back([&] {
      try {
        for (std::size_t i = next++; i < count; i = next++) work(i);
      } catch (...) {
        error = std::current_exception();
        next = count;
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  for (std::exception_ptr const& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace apps
