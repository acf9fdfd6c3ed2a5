// SPDX-License-Identifier: Apache-2.0
#include "children.hpp"

#include <tacit/core/open_file.hpp>

#include "arguments.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

extern "C" char** environ;

namespace calculator {

namespace {

constexpr int asked_to_end[] = {SIGINT, SIGTERM, SIGHUP};
constexpr std::size_t kept_complaint = 4096;  // bytes

std::sig_atomic_t volatile interrupted = 0;

extern "C" void interrupt(int /*signal*/) { interrupted = 1; }

// A signal that was ignored, as by nohup, stays ignored.
void handle_interrupts(bool handled) {
  for (int const signal : asked_to_end) {
    struct ::sigaction now {};
    if (::sigaction(signal, nullptr, &now) != 0) continue;
    bool const ours = now.sa_handler == interrupt;
    if (now.sa_handler != (handled ? SIG_DFL : interrupt) && !ours) continue;
    now.sa_handler = handled ? interrupt : SIG_DFL;
    now.sa_flags = 0;
    ::sigaction(signal, &now, nullptr);
  }
}

[[noreturn]] void fail(char const* what, int reason) {
  throw std::system_error(reason, std::generic_category(), what);
}

struct pipe_ends {
  int read;
  int write;
};

pipe_ends make_pipe() {
  int ends[2];
  if (::pipe(ends) != 0) fail("cannot make a pipe", errno);
  for (int const end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {ends[0], ends[1]};
}

class spawn_plan {
 public:
  spawn_plan(int input, int output, int errors) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, errors, STDERR_FILENO);
    ::sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    for (int const signal : asked_to_end) ::sigaddset(&signals, signal);
    for (int const signal : {SIGXFSZ, SIGPIPE}) ::sigaddset(&signals, signal);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  spawn_plan(spawn_plan const&) = delete;
  spawn_plan& operator=(spawn_plan const&) = delete;
  ~spawn_plan() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  // The process, or the negated reason why there is none.
  ::pid_t shell(std::string const& command) const {
    std::string name = "sh";
    std::string option = "-c";
    std::string text = command;
    char* const words[] = {name.data(), option.data(), text.data(), nullptr};
    ::pid_t process = 0;
    int const reason = ::posix_spawn(&process, "/bin/sh", &files_, &attributes_, words, environ);
    return reason == 0 ? process : -reason;
  }

 private:
  ::posix_spawn_file_actions_t files_{};
  ::posix_spawnattr_t attributes_{};
};

// The last line that says anything, short enough for a message.
std::string last_line(std::string text) {
  std::size_t const end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return {};
  text.resize(end + 1);
  std::size_t const begin = text.find_last_of("\r\n");
  if (begin != std::string::npos) text.erase(0, begin + 1);
  if (text.size() <= 200) return text;
  std::size_t cut = 197;
  while (cut > 0 && (text[cut] & '\xc0') == '\x80') --cut;  // between two characters
  return text.substr(0, cut) + "...";
}

}  // namespace

children::children(child_limits limits) : limits_(limits) {
  interrupted = 0;
  handle_interrupts(true);
}

children::~children() {
  for (child const& one : all_) {
    end(one);
    ::waitpid(one.process, nullptr, 0);
    for (int const pipe : {one.output, one.errors}) {
      if (pipe != -1) ::close(pipe);
    }
  }
  handle_interrupts(false);
}

void children::start(std::size_t name, std::string const& command, std::string const& input) {
  tacit::detail::open_file const from(tacit::detail::files::open_to_read(input), "calibrate",
                                      "cannot open", input);
  all_.reserve(all_.size() + 1);
  pipe_ends const output = make_pipe();
  pipe_ends errors{-1, -1};
  ::pid_t process = 0;
  try {
    errors = make_pipe();
    process = spawn_plan(from.handle(), output.write, errors.write).shell(command);
  } catch (std::system_error const& error) {
    process = -error.code().value();
  }
  ::close(output.write);
  if (errors.write != -1) ::close(errors.write);
  if (process < 0) {
    ::close(output.read);
    if (errors.read != -1) ::close(errors.read);
    fail("cannot start the command", -process);
  }
  all_.push_back({name, process, output.read, errors.read, clock::now(), {}, {}, {}});
}

// Until one of them says something or falls silent; else for as long as an end may go unnoticed.
void children::wait_for_words() const {
  std::vector<::pollfd> pipes;
  bool silent = false;
  for (child const& one : all_) {
    silent |= one.output == -1 && one.errors == -1;
    for (int const pipe : {one.output, one.errors}) {
      if (pipe != -1) pipes.push_back({pipe, POLLIN, 0});
    }
  }
  (void)::poll(pipes.data(), static_cast<::nfds_t>(pipes.size()), silent ? 1 : 20);
}

// Takes what there is.
void children::listen(child& to) const {
  char buffer[65536];
  for (int* const pipe : {&to.output, &to.errors}) {
    while (*pipe != -1) {
      ::ssize_t const count = ::read(*pipe, buffer, sizeof buffer);
      if (count < 0 && errno == EINTR && interrupted == 0) continue;
      if (count < 0) break;
      if (count == 0) {
        ::close(*pipe);
        *pipe = -1;
        break;
      }
      auto const size = static_cast<std::size_t>(count);
      if (pipe == &to.errors) {
        to.complained.append(buffer, size);
        if (to.complained.size() > kept_complaint) {
          to.complained.erase(0, to.complained.size() - kept_complaint);
        }
        break;  // one that never stops complaining shall not keep others waiting
      }
      to.said.append(buffer, size);
      if (to.said.size() > limits_.bytes) {
        to.fault = "wrote more than " + std::to_string(limits_.bytes >> 20) + " MiB";
        return;
      }
    }
  }
}

// The command itself may have left its group.
void children::end(child const& one) noexcept {
  ::kill(-one.process, SIGKILL);
  ::kill(one.process, SIGKILL);
}

child_result children::result_of(child const& one, int status) {
  std::string complaint = one.fault;
  if (complaint.empty() && WIFSIGNALED(status)) {
    complaint = "was ended by signal " + std::to_string(WTERMSIG(status));
    if (char const* const name = ::strsignal(WTERMSIG(status))) {
      complaint += std::string(", ") + name;
    }
  } else if (complaint.empty() && WEXITSTATUS(status) != 0) {
    complaint = "ended with exit status " + std::to_string(WEXITSTATUS(status));
  }
  std::string const said = last_line(one.complained);
  if (!complaint.empty() && !said.empty()) complaint += ": " + said;
  return {one.name, one.said, std::move(complaint)};
}

child_result children::next() {
  for (;;) {
    wait_for_words();
    if (interrupted != 0) throw std::runtime_error("interrupted");
    for (auto at = all_.begin(); at != all_.end(); ++at) {
      listen(*at);
      std::chrono::duration<double> const taken = clock::now() - at->begin;
      if (at->fault.empty() && taken.count() > limits_.seconds) {
        at->fault = "took longer than " + exactly(limits_.seconds) + " s";
      }
      if (!at->fault.empty()) end(*at);
      // It keeps its number until it is waited for, so that what is ended with it is surely its own.
      ::siginfo_t about{};
      if (::waitid(P_PID, static_cast<::id_t>(at->process), &about, WEXITED | WNOHANG | WNOWAIT) !=
              0 ||
          about.si_pid == 0) {
        continue;
      }
      end(*at);
      listen(*at);
      int status = 0;
      ::waitpid(at->process, &status, 0);
      for (int const pipe : {at->output, at->errors}) {
        if (pipe != -1) ::close(pipe);
      }
      child_result out = result_of(*at, status);
      all_.erase(at);
      return out;
    }
  }
}

}  // namespace calculator
