// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/feasible_end.hpp>

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

namespace binding {

// Of a search that is asked patiently: Ctrl-C ends it, and nothing else.
using tacit::unlimited_effort;

/// Waits, without Python's lock, for others to do something; every 20 ms Python may act on a signal.
/// @throws nanobind::python_error where one ends the call, as Ctrl-C does
template <class Done>
void await(std::mutex& lock, std::condition_variable& changed, Done const& done) {
  while (true) {
    {
      nanobind::gil_scoped_release const others_run;
      std::unique_lock held(lock);
      if (changed.wait_for(held, std::chrono::milliseconds(20), done)) return;
    }
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  }
}

/// What ask() returns, in a thread of its own, so that Ctrl-C ends the call though nothing ends the question: its thread
/// goes on until it is done, and its answer is dropped. So `ask` owns all that it uses, and nothing of Python.
template <class Ask>
auto patiently(Ask ask) -> std::invoke_result_t<Ask&> {
  using answer = std::invoke_result_t<Ask&>;
  struct asked {
    explicit asked(Ask&& question) : ask(std::move(question)) {}
    Ask ask;
    std::mutex lock;
    std::condition_variable changed;
    std::optional<answer> found;
    std::exception_ptr refused;
    bool done = false;

    void run() noexcept {
      std::optional<answer> result;
      std::exception_ptr thrown;
      try {
        result.emplace(ask());
      } catch (...) {
        thrown = std::current_exception();
      }
      std::lock_guard const held(lock);
      found = std::move(result);
      refused = thrown;
      done = true;
      changed.notify_one();
    }
  };
  auto const question = std::make_shared<asked>(std::move(ask));
  try {
    std::thread([question] { question->run(); }).detach();
  } catch (std::system_error const&) {  // the machine has no more threads
    nanobind::gil_scoped_release const others_run;
    question->run();
  }
  await(question->lock, question->changed, [&] { return question->done; });
  if (question->refused) std::rethrow_exception(question->refused);
  return std::move(*question->found);
}

}  // namespace binding
