// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/private_file_posix.hpp>
#include <tacit/core/private_file_windows.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// Private state on disk, in files that their owner alone can read: replaced atomically, appended to
/// durably, and resumed at most once.
///
/// Every operation on a file goes through `detail::files`, which is `posix_files` or `windows_files`.

namespace tacit {

/// The name of a file. A std::filesystem::path, a string and a literal convert to it.
using file_path = detail::files::path;

namespace detail {

[[noreturn]] inline void fail_file(std::string_view who, std::string_view what,
                                   file_path const& path,
                                   std::error_code reason = files::last_error()) {
  std::string text(who);
  throw std::system_error(reason, text.append(": ").append(what) + ' ' + files::text(path));
}

/// An open file, closed at the end of its scope.
class open_file {
 public:
  /// @throws std::system_error unless `opened` is a file
  open_file(files::handle opened, std::string_view who, std::string_view what,
            file_path const& path)
      : handle_(opened) {
    if (handle_ == files::none) fail_file(who, what, path);
  }
  open_file(open_file&& other) noexcept : handle_(std::exchange(other.handle_, files::none)) {}
  open_file& operator=(open_file&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  open_file(open_file const&) = delete;
  open_file& operator=(open_file const&) = delete;
  ~open_file() {
    if (handle_ != files::none) files::close(handle_);
  }
  [[nodiscard]] files::handle handle() const noexcept { return handle_; }

  /// Writes all of `bytes`, and returns when they are on disk.
  /// @throws std::system_error naming the function and the file
  void write(std::string_view bytes, std::string_view who, file_path const& path) {
    while (!bytes.empty()) {
      std::ptrdiff_t const written = files::write(handle_, bytes.data(), bytes.size());
      if (written < 0) fail_file(who, "cannot write", path);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    if (!files::flush(handle_)) fail_file(who, "cannot flush", path);
  }

 private:
  files::handle handle_;
};

}  // namespace detail

/// Keeps others from a state for as long as its writer lives: an advisory lock on `path`.lock, which
/// ends with the process however it ends (and with the children that it forked). The file `path`
/// itself is replaced at every write, and a lock on it would go with the old one.
class file_lock {
 public:
  /// @throws std::system_error if another writer holds it, or the lock file cannot be made
  explicit file_lock(file_path const& path) : file_(open(path)) {
    if (!detail::files::lock(file_.handle())) {
      detail::fail_file("file_lock", "another run writes", path);
    }
  }

 private:
  static detail::open_file open(file_path path) {
    path += ".lock";
    return {detail::files::open_to_lock(path), "file_lock", "cannot open", path};
  }

  detail::open_file file_;
};

/// Replaces `path` by `text` at once and durably: a crash leaves the old file or the new one, which
/// its owner alone can read.
/// @throws std::system_error naming the file
inline void write_private_file(file_path const& path, std::string_view text) {
  constexpr std::string_view who = "write_private_file";
  file_path fresh = path;
  fresh += ".new";
  // Of an earlier crash; `create` trusts no file that it did not make.
  if (!detail::files::remove(fresh)) detail::fail_file(who, "cannot remove", fresh);
  detail::open_file(detail::files::create(fresh), who, "cannot create", fresh)
      .write(text, who, fresh);
  if (!detail::files::replace(path, fresh)) detail::fail_file(who, "cannot replace", path);
  file_path const folder = detail::files::folder_of(path);
  if (!detail::files::flush_folder(folder)) {
    detail::fail_file(who, "cannot flush the folder", folder);
  }
}

/// @throws std::system_error naming the file
[[nodiscard]] inline std::string read_file(file_path const& path) {
  detail::open_file const file(detail::files::open_to_read(path), "read_file", "cannot open", path);
  std::string text;
  char buffer[65536];
  for (;;) {
    std::ptrdiff_t const count = detail::files::read(file.handle(), buffer, sizeof buffer);
    if (count == 0) return text;
    if (count < 0) detail::fail_file("read_file", "cannot read", path);
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

/// Takes a state file for oneself: renames it to `path`.claimed and returns that name. Of any number
/// of claimants exactly one succeeds; a claimed state is never overwritten.
/// @throws std::system_error if there is nothing to claim, or an earlier claim is still there
[[nodiscard]] inline file_path claim_file(file_path const& path) {
  file_path claimed = path;
  claimed += ".claimed";
  if (!detail::files::rename_new(path, claimed)) {
    detail::fail_file("claim_file", "cannot claim", path);
  }
  return claimed;
}

/// Gives a claim back untouched, for a claimant that could not use the state.
inline void unclaim_file(file_path const& claimed, file_path const& path) {
  detail::files::rename_new(claimed, path);
}

/// A file that grows at its end, durably: an append is on disk when it returns. A crash during an
/// append leaves what stood before and some first part of the new bytes, or zeros in their place.
class append_file {
 public:
  /// Opens an existing file and cuts off what follows its first `size` bytes.
  /// @throws std::system_error naming the file; std::invalid_argument if it is shorter than `size`
  append_file(file_path path, std::uint64_t size)
      : path_(std::move(path)),
        file_(detail::files::open_to_append(path_), "append_file", "cannot open", path_) {
    auto const present = detail::files::size(file_.handle());
    if (!present) detail::fail_file("append_file", "cannot look at", path_);
    detail::require_argument(size <= *present, "append_file", "size", size,
                             "at most that of the file");
    if (size == *present) return;
    if (!detail::files::truncate(file_.handle(), size) || !detail::files::flush(file_.handle())) {
      detail::fail_file("append_file", "cannot cut", path_);
    }
  }

  /// @throws std::system_error naming the file; what was written of the bytes is then unknown, and
  ///         every later append throws std::logic_error: open the file anew
  void append(std::string_view bytes) {
    if (broken_) {
      throw std::logic_error("append_file: an earlier append to " + detail::files::text(path_) +
                             " failed");
    }
    broken_ = true;
    file_.write(bytes, "append_file", path_);
    broken_ = false;
  }

 private:
  file_path path_;
  detail::open_file file_;
  bool broken_ = false;
};

}  // namespace tacit
