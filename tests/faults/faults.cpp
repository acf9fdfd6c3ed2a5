// SPDX-License-Identifier: Apache-2.0
//
// A file system that fails. Preloaded into a program, it counts the operations on the files of one folder, and
// the end of the program as the last, and at the n-th of them
//   kill      ends the process before the operation
//   torn      writes half, and ends the process
//   power     ends the process and takes back what was not flushed: the bytes since a file's last fsync, and the
//             names since the folder's
//   ENOSPC, EIO, EINTR   fails it once with that reason (closing and removing never fail)
//   ENOSPC+   fails it and every later write with that reason
//   short     writes, or reads, one byte of it
//   entropy   fails the n-th draw of randomness from the system, and counts no operation
//   lookup    fails with EIO the n-th question about a name or an open file (stat, access, realpath, link, a folder's
//             listing, close), and counts no operation
//   answer    fails with EIO the closing of the standard output, which need not be in the folder
//   peer      kills the other processes that the parent started: the other ranks of a run under mpirun
//
//     LD_PRELOAD=libfaults.so FAULT_FOLDER=folder FAULT_AT=12 FAULT_KIND=power program …
//
// Without FAULT_AT it only counts. The number of operations, the last of them and the number of lookups go
// into the file FAULT_COUNT, if that is given.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace {

template <class Function>
Function* real(char const* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

int real_lstat(char const* path, struct ::stat* about) {
  return real<int(char const*, struct ::stat*)>("lstat")(path, about);
}
int real_fstat(int file, struct ::stat* about) {
  return real<int(int, struct ::stat*)>("fstat")(file, about);
}

struct change {
  enum class kind { created, removed, renamed } what;
  std::string name;
  std::string from;      // of a renaming
  std::string replaced;  // a second name of what was removed or replaced, if anything
};

class faulty_folder {
 public:
  static faulty_folder& get() {
    static faulty_folder* const one = new faulty_folder;  // outlives every static object
    return *one;
  }

  static inline bool making = false;

  bool has(char const* path) const {
    if (folder_.empty()) return false;
    std::string const full = std::filesystem::absolute(path).lexically_normal().string();
    return full.starts_with(folder_ + '/') || full == folder_;
  }
  bool has(int file) const {
    std::lock_guard const alone(threads_);
    return open_.contains(file);
  }
  bool watches() const { return count_ > 0; }

  // The error to report, or 0.
  int next(char const* operation, bool may_fail, bool writes = false) {
    ++count_;
    if (!log_.empty()) note(operation);
    bool const now = count_ == at_;
    if (now && (kind_ == "kill" || (kind_ == "torn" && !writes))) end();
    if (now && kind_ == "power") {
      lose();
      end();
    }
    if (now && kind_ == "peer") end_peers();
    if (!may_fail) return 0;
    if (now && kind_ == "EIO") return EIO;
    if (now && kind_ == "EINTR") return EINTR;
    if (now && kind_.starts_with("ENOSPC")) return ENOSPC;
    if (count_ > at_ && at_ > 0 && kind_ == "ENOSPC+" && writes) return ENOSPC;
    return 0;
  }
  bool denies_randomness() { return kind_ == "entropy" && ++draws_ == at_; }
  bool denies_lookup() { return ++lookups_ == at_ && kind_ == "lookup"; }
  bool denies_answer() const { return kind_ == "answer"; }
  bool tears() const { return count_ == at_ && kind_ == "torn"; }
  bool shortens() const { return count_ == at_ && kind_ == "short"; }
  [[noreturn]] static void end() {
    ::kill(::getpid(), SIGKILL);
    for (;;) ::pause();
  }

  void opened(int file, char const* path, bool made) {
    std::string const name = std::filesystem::absolute(path).lexically_normal().string();
    struct ::stat about {};
    real_fstat(file, &about);
    std::lock_guard const alone(threads_);
    open_[file] = {name, about.st_size, S_ISDIR(about.st_mode)};
    if (made) changes_.push_back({change::kind::created, name, {}, {}});
  }
  void closed(int file) {
    std::lock_guard const alone(threads_);
    open_.erase(file);
  }
  void flushed(int file) {
    entry& one = open_.at(file);
    if (one.folder) {
      changes_.clear();
    } else {
      struct ::stat about {};
      real_fstat(file, &about);
      durable_[inode_of(file)] = about.st_size;
    }
  }
  void written(int file) { durable_.try_emplace(inode_of(file), open_.at(file).size); }
  // Before a name goes.
  std::string kept(char const* path) {
    struct ::stat about {};
    if (real_lstat(path, &about) != 0) return {};
    std::string const name =  // an earlier run may have left some
        folder_ + ".kept." + std::to_string(::getpid()) + '.' + std::to_string(++kept_);
    auto const link = real<int(char const*, char const*)>("link");
    return link(path, name.c_str()) == 0 ? name : std::string();
  }
  void changed(change what) {
    auto const full = [](std::string const& path) {
      return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
    };
    what.name = full(what.name);
    what.from = full(what.from);
    changes_.push_back(std::move(what));
  }

 private:
  struct entry {
    std::string name;
    ::off_t size;  // when it was opened
    bool folder;
  };

  faulty_folder() {
    auto const text = [](char const* name) {
      char const* const value = std::getenv(name);
      return std::string(value == nullptr ? "" : value);
    };
    if (auto folder = text("FAULT_FOLDER"); !folder.empty()) {
      making = true;  // this looks names up, too
      folder_ = std::filesystem::canonical(folder).string();
      making = false;
    }
    at_ = std::atol(text("FAULT_AT").c_str());
    kind_ = text("FAULT_KIND");
    log_ = text("FAULT_COUNT");
  }

  static ::ino_t inode_of(int file) {
    struct ::stat about {};
    real_fstat(file, &about);
    return about.st_ino;
  }

  void note(char const* operation) const {
    if (std::FILE* const out =
            real<std::FILE*(char const*, char const*)>("fopen")(log_.c_str(), "w")) {
      std::fprintf(out, "%ld %s %ld\n", count_, operation, lookups_);
      std::fclose(out);
    }
  }

  static void end_peers() {
    std::string const parent = std::to_string(::getppid());
    std::ifstream children("/proc/" + parent + "/task/" + parent + "/children");
    for (::pid_t one = 0; children >> one;) {
      if (one != ::getpid()) ::kill(one, SIGKILL);
    }
  }

  // As after a power cut: bytes first, by the files' present names, then the names, last change first.
  void lose() {
    for (auto const& file : std::filesystem::directory_iterator(folder_)) {
      struct ::stat about {};
      if (real_lstat(file.path().c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
      auto const found = durable_.find(about.st_ino);
      if (found != durable_.end() && found->second < about.st_size) {
        [[maybe_unused]] int const cut = ::truncate(file.path().c_str(), found->second);
      }
    }
    auto const rename = real<int(char const*, char const*)>("rename");
    auto const unlink = real<int(char const*)>("unlink");
    for (auto at = changes_.rbegin(); at != changes_.rend(); ++at) {
      if (at->what == change::kind::created) unlink(at->name.c_str());
      if (at->what == change::kind::renamed) rename(at->name.c_str(), at->from.c_str());
      if (!at->replaced.empty()) rename(at->replaced.c_str(), at->name.c_str());
    }
  }

  std::string folder_;
  long at_ = 0;
  std::string kind_;
  std::string log_;
  long count_ = 0;
  long kept_ = 0;
  long draws_ = 0;
  long lookups_ = 0;
  mutable std::mutex threads_;  // MPI's close files of their own
  std::map<int, entry> open_;
  std::map<::ino_t, ::off_t> durable_;
  std::vector<change> changes_;
};

faulty_folder& here() { return faulty_folder::get(); }

// What a program says to be done must stand after a power cut.
[[gnu::destructor]] void at_the_end() {
  if (here().watches()) (void)here().next("exit", false);
}

int failing(int reason) {
  errno = reason;
  return -1;
}

bool denied(char const* path) {
  return !faulty_folder::making && here().has(path) && here().denies_lookup();
}
bool denied(int file) {
  return !faulty_folder::making && here().has(file) && here().denies_lookup();
}

int open_with(char const* name, char const* path, int flags, ::mode_t mode) {
  auto const open = real<int(char const*, int, ...)>(name);
  if (!here().has(path)) return open(path, flags, mode);
  if (int const reason = here().next("open", true, (flags & O_CREAT) != 0)) return failing(reason);
  struct ::stat about {};
  bool const there = real_lstat(path, &about) == 0;
  int const file = open(path, flags, mode);
  if (file >= 0) here().opened(file, path, !there);
  return file;
}

int rename_with(char const* from, char const* to, auto&& rename) {
  if (!here().has(to)) return rename();
  if (int const reason = here().next("rename", true)) return failing(reason);
  std::string const replaced = here().kept(to);
  int const result = rename();
  if (result == 0) here().changed({change::kind::renamed, to, from, replaced});
  return result;
}

int remove_with(char const* path, auto&& remove) {
  if (!here().has(path)) return remove();
  (void)here().next("remove", false);
  std::string const kept = here().kept(path);
  int const result = remove();
  if (result == 0) here().changed({change::kind::removed, path, {}, kept});
  return result;
}

}  // namespace

extern "C" {

int open(char const* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  auto const mode = static_cast<::mode_t>((flags & O_CREAT) != 0 ? va_arg(rest, int) : 0);
  va_end(rest);
  return open_with("open", path, flags, mode);
}

int open64(char const* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  auto const mode = static_cast<::mode_t>((flags & O_CREAT) != 0 ? va_arg(rest, int) : 0);
  va_end(rest);
  return open_with("open64", path, flags, mode);
}

int close(int file) {
  bool const fails = denied(file) || (file == STDOUT_FILENO && here().denies_answer());
  here().closed(file);
  int const result = real<int(int)>("close")(file);
  return fails ? failing(EIO) : result;
}

::ssize_t write(int file, void const* from, std::size_t size) {
  auto const write = real<::ssize_t(int, void const*, std::size_t)>("write");
  if (!here().has(file)) return write(file, from, size);
  if (int const reason = here().next("write", true, true)) return failing(reason);
  here().written(file);
  if (here().tears()) {
    [[maybe_unused]] ::ssize_t const half = write(file, from, size / 2);
    faulty_folder::end();
  }
  return write(file, from, here().shortens() && size > 1 ? 1 : size);
}

::ssize_t read(int file, void* to, std::size_t size) {
  auto const read = real<::ssize_t(int, void*, std::size_t)>("read");
  if (!here().has(file)) return read(file, to, size);
  if (int const reason = here().next("read", true)) return failing(reason);
  return read(file, to, here().shortens() && size > 1 ? 1 : size);
}

::ssize_t getrandom(void* to, std::size_t size, unsigned flags) {
  if (here().denies_randomness()) return failing(ENOSYS);
  return real<::ssize_t(void*, std::size_t, unsigned)>("getrandom")(to, size, flags);
}

int getentropy(void* to, std::size_t size) {
  if (here().denies_randomness()) return failing(ENOSYS);
  return real<int(void*, std::size_t)>("getentropy")(to, size);
}

int fsync(int file) {
  if (!here().has(file)) return real<int(int)>("fsync")(file);
  if (int const reason = here().next("fsync", true)) return failing(reason);
  here().flushed(file);  // what it promises; nothing here need reach a disk
  return 0;
}

int ftruncate(int file, ::off_t size) noexcept {
  if (here().has(file)) {
    if (int const reason = here().next("ftruncate", true)) return failing(reason);
  }
  return real<int(int, ::off_t)>("ftruncate")(file, size);
}

int flock(int file, int how) noexcept {
  if (here().has(file)) {
    if (int const reason = here().next("flock", true)) return failing(reason);
  }
  return real<int(int, int)>("flock")(file, how);
}

int rename(char const* from, char const* to) noexcept {
  return rename_with(from, to,
                     [&] { return real<int(char const*, char const*)>("rename")(from, to); });
}

int renameat2(int old_folder, char const* from, int new_folder, char const* to,
              unsigned flags) noexcept {
  return rename_with(from, to, [&] {
    return real<int(int, char const*, int, char const*, unsigned)>("renameat2")(
        old_folder, from, new_folder, to, flags);
  });
}

int link(char const* from, char const* to) noexcept {
  if (denied(to)) return failing(EIO);
  return real<int(char const*, char const*)>("link")(from, to);
}

int access(char const* path, int how) noexcept {
  if (denied(path)) return failing(EIO);
  return real<int(char const*, int)>("access")(path, how);
}

char* realpath(char const* path, char* out) noexcept {
  if (denied(path)) {
    errno = EIO;
    return nullptr;
  }
  return real<char*(char const*, char*)>("realpath")(path, out);
}

::DIR* opendir(char const* path) {
  if (denied(path)) {
    errno = EIO;
    return nullptr;
  }
  return real<::DIR*(char const*)>("opendir")(path);
}

int stat(char const* path, struct ::stat* about) noexcept {
  if (denied(path)) return failing(EIO);
  return real<int(char const*, struct ::stat*)>("stat")(path, about);
}

int stat64(char const* path, struct ::stat64* about) noexcept {
  if (denied(path)) return failing(EIO);
  return real<int(char const*, struct ::stat64*)>("stat64")(path, about);
}

int lstat(char const* path, struct ::stat* about) noexcept {
  if (denied(path)) return failing(EIO);
  return real_lstat(path, about);
}

int lstat64(char const* path, struct ::stat64* about) noexcept {
  if (denied(path)) return failing(EIO);
  return real<int(char const*, struct ::stat64*)>("lstat64")(path, about);
}

int fstat(int file, struct ::stat* about) noexcept {
  if (denied(file)) return failing(EIO);
  return real_fstat(file, about);
}

int fstat64(int file, struct ::stat64* about) noexcept {
  if (denied(file)) return failing(EIO);
  return real<int(int, struct ::stat64*)>("fstat64")(file, about);
}

int unlink(char const* path) noexcept {
  return remove_with(path, [&] { return real<int(char const*)>("unlink")(path); });
}

int remove(char const* path) noexcept {
  return remove_with(path, [&] { return real<int(char const*)>("remove")(path); });
}

}  // extern "C"
