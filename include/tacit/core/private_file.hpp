// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/file_facts.hpp>
#include <tacit/core/open_file.hpp>
#include <tacit/core/run_owner.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// State on disk, in files that their owner alone can read: replaced atomically, appended to durably,
/// and written by one process at a time. Files are opened and read by core/open_file.hpp.

namespace tacit {

namespace detail {

/// Returns when the names in the folder of `path` are on disk.
inline void flush_folder_of(file_path const& path, std::string_view who) {
  file_path const folder = files::folder_of(path);
  if (!files::flush_folder(folder)) fail_file(who, "cannot flush the folder", folder);
}

}  // namespace detail

/// Keeps others from a state for as long as its writer lives: an advisory lock on `path`.lock, which
/// ends with the process however it ends (and with the children that it forked). The file `path`
/// itself is replaced at every write, and a lock on it would go with the old one.
class file_lock {
 public:
  /// @throws std::system_error if another writer holds it, or the lock file cannot be made
  explicit file_lock(file_path const& path) : path_(lock_of(path)), file_(open(path_)) {
    while (!locked(path)) file_ = open(path_);
  }
  file_lock(file_lock&& other) = default;
  file_lock& operator=(file_lock&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(file_, other.file_);
    std::swap(owner_, other.owner_);
    return *this;
  }
  file_lock(file_lock const&) = delete;
  file_lock& operator=(file_lock const&) = delete;
  /// Removes the lock file, except in a forked child, whose parent still holds the lock, and unless somebody removed
  /// it and another holder has made one of the same name.
  ~file_lock() {
    if (file_.is_open() && owner_.holds() && is_in_place()) detail::files::remove(path_);
  }

  /// Whether the lock file is still there: a lock on a file without a name keeps nobody out.
  [[nodiscard]] bool is_in_place() const noexcept {
    auto const mine = detail::files::look(file_.handle());
    auto const named = detail::files::look(path_);
    return mine && named && mine->is(*named);
  }
  /// @throws std::system_error unless it is; std::logic_error if the lock was moved from, or in a forked process,
  ///         whose parent holds the lock, too
  void check(std::string_view whose) const {
    owner_.check(whose);
    if (!is_in_place()) {
      detail::fail_file(whose, "somebody removed", path_, std::errc::no_lock_available);
    }
  }

 private:
  static constexpr std::string_view who = "file_lock";

  static file_path lock_of(file_path path) { return path += ".lock"; }

  static detail::open_file open(file_path const& path) {
    return {detail::files::open_to_lock(path), who, "cannot open", path};
  }

  // False if the file was removed by its last holder before it was locked here.
  bool locked(file_path const& path) const {
    if (!detail::files::lock(file_.handle())) {
      std::error_code const reason = detail::files::last_error();
      detail::fail_file(
          who, detail::files::held_elsewhere(reason) ? "another run writes" : "cannot lock", path,
          reason);
    }
    auto const mine = detail::files::look(file_.handle());
    if (!mine) detail::fail_file(who, "cannot look at", path_);
    if (!mine->regular || mine->size != 0) {  // not ours, and it would be removed
      detail::fail_file(who, "not a lock file:", path_, std::errc::file_exists);
    }
    return is_in_place();
  }

  file_path path_;
  detail::open_file file_;
  detail::run_owner owner_;
};

/// Who may read a file.
enum class readers { owner, all };

/// A file that is being written: beside its place, under a name of its own. At the end it takes its place,
/// complete and on disk; a crash leaves what was there before. One that is not finished is removed. A process
/// that is killed leaves `path`.XXXXXXXXXXXXXXXX.new behind, with 16 random hexadecimal digits.
class output_file {
 public:
  /// @throws std::system_error naming the file; it is no `file_error` where the system gives no randomness
  explicit output_file(file_path path, readers who_reads = readers::owner,
                       std::string_view who = "output_file")
      : who_(who), path_(std::move(path)), file_(create(who_reads)) {}
  output_file(output_file const&) = delete;
  output_file& operator=(output_file const&) = delete;
  ~output_file() {
    if (!done_) detail::files::remove(fresh_);
  }

  /// @throws std::system_error naming the file
  void write(std::string_view bytes) { file_.write(bytes, who_, fresh_); }

  /// Takes the place of the file that is there, if any.
  /// @throws std::system_error naming the file, also if there is a folder, a pipe or a device
  void replace() {
    replace([] {});
  }

  /// The same, unless `last_look` throws, which it may until the very moment: all is on disk by then but the name.
  template <class Look>
  void replace(Look&& last_look) {
    file_.flush(who_, fresh_);
    auto const there = detail::files::look(path_);
    if (there && !there->regular) {
      detail::fail_file(who_, "not a regular file:", path_, std::errc::file_exists);
    }
    std::forward<Look>(last_look)();
    if (!detail::files::replace(path_, fresh_)) detail::fail_file(who_, "cannot replace", path_);
    finish();
  }

  /// Takes its place, in which nothing may be.
  /// @throws std::system_error naming the file, also if there is one: it stays as it was. One that was made
  ///         and may not be on disk is removed
  void place() {
    file_.flush(who_, fresh_);
    if (!detail::files::rename_new(fresh_, path_)) detail::fail_file(who_, "cannot make", path_);
    try {
      finish();
    } catch (std::system_error const&) {
      detail::files::remove(path_);
      throw;
    }
  }

  /// The file, once it has taken its place.
  /// @throws std::system_error naming the file
  [[nodiscard]] detail::known_file known() && { return {std::move(file_), who_, path_}; }

 private:
  detail::open_file create(readers who_reads) {
    for (int attempt = 1;; ++attempt) {
      std::uint64_t bits = 0;
      if (!detail::files::unforeseen(bits)) {  // no file's fault
        throw std::system_error(
            detail::files::last_error(),
            std::string(who_) + ": no randomness for a name beside " + detail::files::text(path_));
      }
      fresh_ = path_;
      fresh_ += ".";
      for (int digit = 0; digit < 16; ++digit) fresh_ += "0123456789abcdef"[bits >> 4 * digit & 15];
      fresh_ += ".new";
      auto const made = detail::files::create(fresh_, who_reads == readers::owner);
      bool const taken =
          made == detail::files::none && detail::files::last_error() == std::errc::file_exists;
      if (!taken || attempt == 100) return {made, who_, "cannot create", fresh_};
    }
  }

  void finish() {
    done_ = true;
    detail::flush_folder_of(path_, who_);
  }

  std::string_view who_;
  file_path path_;
  file_path fresh_;
  detail::open_file file_;
  bool done_ = false;
};

/// Replaces `path` by `text` at once and durably: a crash leaves the old file or the new one, which
/// its owner alone can read.
/// @throws std::system_error naming the file
inline void write_private_file(file_path const& path, std::string_view text) {
  output_file file(path, readers::owner, "write_private_file");
  file.write(text);
  file.replace();
}

/// Makes a file that its owner alone can read, durably.
/// @throws std::system_error naming the file, also if there is one with this name: it stays as it was
inline void create_private_file(file_path const& path, std::string_view text) {
  output_file file(path, readers::owner, "create_private_file");
  file.write(text);
  file.place();
}

/// Removes what killed writers of `path` left beside it. For the holder of its `file_lock` alone.
/// @throws std::system_error naming the file
inline void remove_unfinished(file_path const& path) {
  std::string const whole = detail::files::text(path);
  std::string const begin = whole.substr(whole.find_last_of(detail::files::separators) + 1) + '.';
  for (file_path const& entry : detail::files::names_in(detail::files::folder_of(path))) {
    std::string const name = detail::files::text(entry);
    bool const fresh =
        name.size() == begin.size() + 20 && name.starts_with(begin) && name.ends_with(".new") &&
        name.find_first_not_of("0123456789abcdef", begin.size()) == begin.size() + 16;
    if (!fresh) continue;
    file_path file = path;
    file += name.substr(begin.size() - 1);
    if (!detail::files::remove(file)) detail::fail_file("remove_unfinished", "cannot remove", file);
  }
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
    auto const present = detail::files::look(file_.handle());
    if (!present) detail::fail_file("append_file", "cannot look at", path_);
    detail::require_argument(size <= present->size, "append_file", "size", size,
                             "at most that of the file");
    if (size == present->size) return;
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
    file_.flush("append_file", path_);
    broken_ = false;
  }

 private:
  file_path path_;
  detail::open_file file_;
  bool broken_ = false;
};

}  // namespace tacit
