// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/file_facts.hpp>
#include <tacit/core/private_file_posix.hpp>
#include <tacit/core/private_file_windows.hpp>
#include <tacit/core/wipe.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// Files as they are opened and read. Every operation on a file goes through `detail::files`, which is
/// `posix_files` or `windows_files`.

namespace tacit {

/// The name of a file. A std::filesystem::path, a string and a literal convert to it.
using file_path = detail::files::path;

/// An operation on a file that failed, and on which file: the one of its user, or its lock, or what is
/// written beside it before it takes its place.
class file_error : public std::system_error {
 public:
  file_error(std::error_code reason, std::string const& text, file_path path)
      : std::system_error(reason, text), path_(std::move(path)) {}
  [[nodiscard]] file_path const& path() const noexcept { return path_; }

 private:
  file_path path_;
};

namespace detail {

[[noreturn]] inline void fail_file(std::string_view who, std::string_view what,
                                   file_path const& path,
                                   std::error_code reason = files::last_error()) {
  std::string text(who);
  throw file_error(reason, text.append(": ").append(what) + ' ' + files::text(path), path);
}

[[noreturn]] inline void fail_file(std::string_view who, std::string_view what,
                                   file_path const& path, std::errc reason) {
  fail_file(who, what, path, std::make_error_code(reason));
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
    if (is_open()) files::close(handle_);
  }
  [[nodiscard]] bool is_open() const noexcept { return handle_ != files::none; }
  [[nodiscard]] files::handle handle() const noexcept { return handle_; }

  /// Writes all of `bytes`.
  /// @throws std::system_error naming the function and the file
  void write(std::string_view bytes, std::string_view who, file_path const& path) {
    while (!bytes.empty()) {
      std::ptrdiff_t const written = files::write(handle_, bytes.data(), bytes.size());
      if (written < 0) fail_file(who, "cannot write", path);
      if (written == 0) fail_file(who, "cannot write", path, std::errc::no_space_on_device);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  /// Returns when all that was written is on disk.
  /// @throws std::system_error naming the function and the file
  void flush(std::string_view who, file_path const& path) {
    if (!files::flush(handle_)) fail_file(who, "cannot flush", path);
  }

 private:
  files::handle handle_;
};

/// A file that was opened. No other one is taken for it while this lives: where a number may be given again, it is kept open.
class known_file {
 public:
  /// @throws std::system_error naming the function and the file
  known_file(open_file&& opened, std::string_view who, file_path const& path) {
    auto const facts = files::look(opened.handle());
    if (!facts) fail_file(who, "cannot look at", path);
    facts_ = *facts;
    open_file mine(std::move(opened));
    if constexpr (files::gives_numbers_again) kept_.emplace(std::move(mine));
  }

  [[nodiscard]] bool is(file_facts const& other) const noexcept { return facts_.is(other); }

 private:
  std::optional<open_file> kept_;
  file_facts facts_{};
};

}  // namespace detail

/// A regular file that is read from its beginning to the end that it had when it was opened: what says to be
/// empty and has no end, as some files of /proc, is empty.
class input_file {
 public:
  static constexpr std::uint64_t usual_limit = std::uint64_t{1} << 32;  // bytes

  /// Does not wait for the other end of a pipe.
  /// @throws std::system_error naming the file: it is missing, unreadable, larger than `most` bytes, or a
  ///         folder, a pipe or a device
  explicit input_file(file_path path, std::uint64_t most = usual_limit,
                      std::string_view who = "input_file")
      : who_(who),
        path_(std::move(path)),
        file_(detail::files::open_to_read(path_), who_, "cannot open", path_) {
    auto const facts = detail::files::look(file_.handle());
    if (!facts) detail::fail_file(who_, "cannot look at", path_);
    auto const refuse = [&](std::string_view what) {
      detail::fail_file(who_, what, path_, std::errc::invalid_argument);
    };
    if (!facts->regular) refuse("not a regular file:");
    if (facts->size > most) refuse("too large:");
    names_ = facts->names;
    left_ = facts->size;
  }

  /// Bytes that were not read yet.
  [[nodiscard]] std::uint64_t left() const noexcept { return left_; }
  /// Its hard links.
  [[nodiscard]] std::uint64_t names() const noexcept { return names_; }

  /// The file, once it was read.
  /// @throws std::system_error naming the file
  [[nodiscard]] detail::known_file known() && { return {std::move(file_), who_, path_}; }

  /// At most `size` bytes; the number, 0 at the end.
  /// @throws std::system_error naming the file
  std::size_t read(char* to, std::size_t size) {
    size = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
    if (size == 0) return 0;
    std::ptrdiff_t const count = detail::files::read(file_.handle(), to, size);
    if (count < 0) detail::fail_file(who_, "cannot read", path_);
    left_ = count == 0 ? 0 : left_ - static_cast<std::uint64_t>(count);
    return static_cast<std::size_t>(count);
  }

  /// The rest.
  /// @throws std::system_error naming the file
  [[nodiscard]] std::string text() {
    std::string out;
    out.reserve(static_cast<std::size_t>(left_));  // one that grows leaves copies behind
    char buffer[65536];
    for (std::size_t count = 0; (count = read(buffer, sizeof buffer)) > 0;) {
      out.append(buffer, count);
    }
    detail::wipe(buffer, std::min(out.size(), sizeof buffer));  // the rest was never written
    return out;
  }

 private:
  std::string_view who_;
  file_path path_;
  detail::open_file file_;
  std::uint64_t names_ = 0;
  std::uint64_t left_ = 0;
};

/// The whole of a regular file.
/// @throws std::system_error as `input_file`
[[nodiscard]] inline std::string read_file(file_path const& path,
                                           std::uint64_t most = input_file::usual_limit) {
  return input_file(path, most, "read_file").text();
}

}  // namespace tacit
