// SPDX-License-Identifier: Apache-2.0
#pragma once

#if !defined(_WIN32)

#include <tacit/core/file_facts.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace tacit::detail {

/// What core/private_file.hpp asks of the operating system. A failure is a return value; `last_error`
/// has its reason. Interrupted calls are repeated. (Under emscripten nothing is locked: a page's files
/// have one user.)
struct posix_files {
  using handle = int;
  static constexpr handle none = -1;
  // A std::filesystem::path converts to it, without the cost of its header.
  using path = std::string;

  [[nodiscard]] static std::string text(path const& file) { return file; }
  static constexpr char const* separators = "/";
  [[nodiscard]] static path folder_of(path const& file) {
    std::size_t const slash = file.rfind('/');
    return slash == std::string::npos ? "." : file.substr(0, slash == 0 ? 1 : slash);
  }
  /// One name for a file under all its names, also where only its folder exists.
  [[nodiscard]] static path canonical(path const& file) {
    auto const resolved = [](path const& name) -> path {
      char* const found = ::realpath(name.c_str(), nullptr);
      if (found == nullptr) return {};
      path out(found);
      std::free(found);
      return out;
    };
    if (path whole = resolved(file); !whole.empty()) return whole;
    path folder = resolved(folder_of(file));
    if (folder.empty()) return file;
    if (folder.back() != '/') folder += '/';
    return folder += file.substr(file.rfind('/') + 1);  // npos + 1 = 0
  }
  /// The names of what is in a folder; empty if it cannot be listed.
  [[nodiscard]] static std::vector<path> names_in(path const& folder) {
    std::vector<path> names;
    if (::DIR* const opened = ::opendir(folder.c_str())) {
      while (::dirent const* const entry = ::readdir(opened)) names.emplace_back(entry->d_name);
      ::closedir(opened);
    }
    return names;
  }
  /// 64 bits for a name that nobody can have foreseen.
  static bool unforeseen(std::uint64_t& bits) noexcept {
    return ::getentropy(&bits, sizeof bits) == 0;
  }

  /// Does not wait for the other end of a pipe.
  static handle open_to_read(path const& file) noexcept {
    return open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  }
  /// A new file that its owner alone can read, or everybody whom the process lets; fails if there is
  /// anything of this name.
  static handle create(path const& file, bool owner_only) noexcept {
    return open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                owner_only ? 0600 : 0666);
  }
  /// Made if there is none.
  static handle open_to_lock(path const& file) noexcept {
    return open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  }
  /// Writes go to the end.
  static handle open_to_append(path const& file) noexcept {
    return open(file, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  }
  static void close(handle file) noexcept { ::close(file); }

  /// For this process and the children that it forks, until the last of them ends or closes it.
  static bool lock(handle file) noexcept {
    for (;;) {
      if (::flock(file, LOCK_EX | LOCK_NB) == 0) return true;
      if (errno != EINTR) return false;
    }
  }
  /// Whether `lock` failed because there is another holder.
  static bool held_elsewhere(std::error_code reason) noexcept {
    return reason.value() == EWOULDBLOCK;
  }

  /// The number of bytes, 0 at the end of the file, −1 on failure.
  static std::ptrdiff_t read(handle file, char* to, std::size_t size) noexcept {
    for (;;) {
      ::ssize_t const count = ::read(file, to, size);
      if (count >= 0 || errno != EINTR) return count;
    }
  }
  /// The number of bytes, perhaps fewer than asked; −1 on failure.
  static std::ptrdiff_t write(handle file, char const* from, std::size_t size) noexcept {
    for (;;) {
      ::ssize_t const count = ::write(file, from, size);
      if (count >= 0 || errno != EINTR) return count;
    }
  }
  static bool flush(handle file) noexcept {
    for (;;) {
      if (::fsync(file) == 0) return true;
      if (errno != EINTR) return false;
    }
  }

  /// The number of a file that is gone may be given to a new one.
  static constexpr bool gives_numbers_again = true;

  static std::optional<file_facts> look(handle file) noexcept {
    struct ::stat about {};
    if (::fstat(file, &about) != 0) return std::nullopt;
    return facts(about);
  }
  /// Of what has this name, links followed. Nothing (and ENOENT) if there is none.
  static std::optional<file_facts> look(path const& file) noexcept {
    struct ::stat about {};
    if (::stat(file.c_str(), &about) != 0) return std::nullopt;
    return facts(about);
  }
  static bool truncate(handle file, std::uint64_t size) noexcept {
    for (;;) {
      if (::ftruncate(file, static_cast<::off_t>(size)) == 0) return true;
      if (errno != EINTR) return false;
    }
  }

  /// Gives a file another name; fails, and changes nothing, where that name is taken.
  static bool rename_new(path const& file, path const& name) noexcept {
#if defined(__APPLE__)
    return ::renamex_np(file.c_str(), name.c_str(), RENAME_EXCL) == 0;
#elif defined(__EMSCRIPTEN__)  // one user, and no links
    if (::access(name.c_str(), F_OK) == 0) {
      errno = EEXIST;
      return false;
    }
    return ::rename(file.c_str(), name.c_str()) == 0;
#else
#if defined(RENAME_NOREPLACE)  // glibc on Linux
    if (::renameat2(AT_FDCWD, file.c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE) == 0) {
      return true;
    }
    if (errno != ENOSYS && errno != EINVAL) return false;
#endif
    // A link fails where the name exists, and a renaming would not.
    if (::link(file.c_str(), name.c_str()) != 0) return false;
    if (::unlink(file.c_str()) == 0) return true;
    int const reason = errno;
    ::unlink(name.c_str());
    errno = reason;
    return false;
#endif
  }
  static bool replace(path const& file, path const& by) noexcept {
    return ::rename(by.c_str(), file.c_str()) == 0;
  }
  /// True also if there is nothing of this name.
  static bool remove(path const& file) noexcept {
    return ::remove(file.c_str()) == 0 || errno == ENOENT;
  }
  /// The names in a folder, on disk.
  static bool flush_folder(path const& folder) noexcept {
    handle const opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return false;
    bool const flushed = flush(opened);
    int const reason = errno;
    close(opened);
    errno = reason;
    return flushed;
  }

  static std::error_code last_error() noexcept { return {errno, std::generic_category()}; }

 private:
  static handle open(path const& file, int flags, ::mode_t mode = 0) noexcept {
    for (;;) {
      handle const opened = ::open(file.c_str(), flags, mode);
      if (opened >= 0 || errno != EINTR) return opened;
    }
  }
  static file_facts facts(struct ::stat const& about) noexcept {
    return {S_ISREG(about.st_mode), static_cast<std::uint64_t>(about.st_size),
            static_cast<std::uint64_t>(about.st_nlink), static_cast<std::uint64_t>(about.st_dev),
            static_cast<std::uint64_t>(about.st_ino)};
  }
};

using files = posix_files;

}  // namespace tacit::detail

#endif
