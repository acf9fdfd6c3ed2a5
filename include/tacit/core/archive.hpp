// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>

#include <boost/crc.hpp>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// Private state on disk: a versioned, checksummed text of named fields, in a file that its owner
/// alone can read, replaced atomically and resumed at most once.

namespace tacit {

namespace detail {

[[nodiscard]] inline std::uint64_t checksum(std::string_view text) {
  // CRC-64/XZ: every error burst of up to 64 bits, and all but 2⁻⁶⁴ of the others.
  boost::crc_optimal<64, 0x42F0E1EBA9EA3693, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, true, true>
      crc;
  crc.process_bytes(text.data(), text.size());
  return crc.checksum();
}

}  // namespace detail

/// Writes one `name value value …` line a field. Numbers read back as the same bits.
class archive_writer {
 public:
  /// `kind` is one word, `version` the format's.
  archive_writer(std::string_view kind, unsigned version) {
    text_.append(kind).append(" ").append(detail::to_text(version)).append("\n");
  }

  template <class... Values>
  archive_writer& field(std::string_view name, Values const&... values) {
    text_.append(name);
    (append(values), ...);
    text_.push_back('\n');
    return *this;
  }

  template <class Range>
  archive_writer& list(std::string_view name, Range const& values) {
    text_.append(name);
    append(std::size(values));
    for (auto const& value : values) append(value);
    text_.push_back('\n');
    return *this;
  }

  /// The text, closed by its checksum.
  [[nodiscard]] std::string finish() && {
    std::uint64_t const sum = detail::checksum(text_);
    field("checksum", sum);
    return std::move(text_);
  }

 private:
  template <class T>
  void append(T const& value) {
    text_.push_back(' ');
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      text_.append(std::string_view(value));  // one word
    } else {
      text_.append(detail::to_text(value));
    }
  }

  std::string text_;
};

/// Reads what `archive_writer` wrote, field by field in the same order.
/// Every defect (wrong kind or version, a damaged or truncated text, a missing field, a value that
/// does not parse) throws `corrupt_state`, which names the field.
class archive_reader {
 public:
  archive_reader(std::string text, std::string_view kind, unsigned version)
      : text_(std::move(text)) {
    std::size_t const mark = text_.rfind("checksum ");
    if (mark == std::string::npos || (mark != 0 && text_[mark - 1] != '\n') ||
        text_.back() != '\n') {
      fail("checksum", "missing: the state is truncated");
    }
    rest_ = std::string_view(text_).substr(mark);
    open("checksum");
    std::uint64_t const sum = number<std::uint64_t>();
    close();
    if (!rest_.empty() || sum != detail::checksum(std::string_view(text_).substr(0, mark))) {
      fail("checksum", "wrong: the state is damaged");
    }
    rest_ = std::string_view(text_).substr(0, mark);
    open(kind);
    if (number<unsigned>() != version) fail(kind, "of another version");
    close();
  }
  // Holds views into its own text.
  archive_reader(archive_reader const&) = delete;
  archive_reader& operator=(archive_reader const&) = delete;

  template <class... Values>
  void field(std::string_view name, Values&... values) {
    open(name);
    (read(values), ...);
    close();
  }

  template <class T>
  void list(std::string_view name, std::vector<T>& values) {
    open(name);
    auto const size = number<std::size_t>();
    if (size > line_.size()) fail(name, "shorter than it says");  // two characters an entry
    values.resize(size);
    for (T& value : values) read(value);
    close();
  }

  /// Nothing may follow the last field.
  void finish() const {
    if (!rest_.empty()) fail("state", "longer than it should be");
  }

 private:
  [[noreturn]] static void fail(std::string_view name, std::string_view what) {
    throw corrupt_state("archive: " + std::string(name) + " is " + std::string(what));
  }

  void open(std::string_view name) {
    name_ = name;
    std::size_t const end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    if (end == std::string_view::npos || word() != name) fail(name, "missing");
    rest_.remove_prefix(end + 1);
  }

  void close() const {
    if (!line_.empty()) fail(name_, "longer than it should be");
  }

  std::string_view word() {
    std::size_t const end = line_.find(' ');
    std::string_view const result = line_.substr(0, end);
    line_.remove_prefix(end == std::string_view::npos ? line_.size() : end + 1);
    return result;
  }

  template <class T>
  T number() {
    T value{};
    std::string_view const text = word();
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
      fail(name_, "not a number in range");
    }
    return value;
  }

  template <class T>
  void read(T& value) {
    if constexpr (std::same_as<T, std::string>) {
      value = word();
    } else {
      value = number<T>();
    }
  }

  std::string text_;
  std::string_view rest_;
  std::string_view line_;
  std::string_view name_;
};

namespace detail {

/// An open file, closed at the end of its scope.
class descriptor {
 public:
  explicit descriptor(int id) noexcept : id_(id) {}
  descriptor(descriptor&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  descriptor(descriptor const&) = delete;
  descriptor& operator=(descriptor const&) = delete;
  ~descriptor() {
    if (id_ >= 0) ::close(id_);
  }
  [[nodiscard]] int id() const noexcept { return id_; }

 private:
  int id_;
};

[[noreturn]] inline void fail_file(std::string_view what, std::filesystem::path const& path,
                                   int code = errno) {
  throw std::system_error(code, std::generic_category(), std::string(what) + ' ' + path.string());
}

}  // namespace detail

/// Keeps others from a state for as long as its writer lives: an advisory lock on `path`.lock, which
/// ends with the process however it ends (and with the children that it forked). (The file `path` itself is replaced at every write, and a lock
/// on it would go with the old one.)
class file_lock {
 public:
  /// @throws std::system_error if another writer holds it, or the lock file cannot be made
  explicit file_lock(std::filesystem::path const& path) : file_(open(path.string() + ".lock")) {
    if (::flock(file_.id(), LOCK_EX | LOCK_NB) != 0) {
      detail::fail_file("file_lock: another run writes", path);
    }
  }

 private:
  static int open(std::filesystem::path const& path) {
    int const id =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (id < 0) detail::fail_file("file_lock: cannot open", path);
    return id;
  }

  detail::descriptor file_;
};

/// Replaces `path` by `text` at once and durably: a crash leaves the old file or the new one. Mode
/// 0600: readable by its owner only.
/// @throws std::system_error naming the file
inline void write_private_file(std::filesystem::path const& path, std::string_view text) {
  std::filesystem::path fresh = path;
  fresh += ".new";
  std::filesystem::remove(
      fresh);  // of an earlier crash; O_EXCL below trusts no file it did not make
  {
    detail::descriptor const file(::open(
        fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
    if (file.id() < 0) detail::fail_file("write_private_file: cannot create", fresh);
    while (!text.empty()) {
      ssize_t const written = ::write(file.id(), text.data(), text.size());
      if (written < 0 && errno != EINTR)
        detail::fail_file("write_private_file: cannot write", fresh);
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fsync(file.id()) != 0) detail::fail_file("write_private_file: cannot flush", fresh);
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    detail::fail_file("write_private_file: cannot replace", path);
  }
  std::filesystem::path const folder = path.has_parent_path() ? path.parent_path() : ".";
  detail::descriptor const parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.id() < 0 || ::fsync(parent.id()) != 0) {
    detail::fail_file("write_private_file: cannot flush the folder", folder);
  }
}

/// @throws std::system_error naming the file
[[nodiscard]] inline std::string read_file(std::filesystem::path const& path) {
  detail::descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.id() < 0) detail::fail_file("read_file: cannot open", path);
  std::string text;
  char buffer[65536];
  for (;;) {
    ssize_t const count = ::read(file.id(), buffer, sizeof buffer);
    if (count == 0) return text;
    if (count < 0 && errno != EINTR) detail::fail_file("read_file: cannot read", path);
    if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  }
}

/// Takes a state file for oneself: renames it to `path`.claimed and returns that name. Of any number
/// of claimants exactly one succeeds; a claimed state is never overwritten.
/// @throws std::system_error if there is nothing to claim, or an earlier claim is still there
[[nodiscard]] inline std::filesystem::path claim_file(std::filesystem::path const& path) {
  std::filesystem::path claimed = path;
  claimed += ".claimed";
  // link fails where the target exists, and rename would not: the claim is the link.
  if (::link(path.c_str(), claimed.c_str()) != 0)
    detail::fail_file("claim_file: cannot claim", path);
  std::filesystem::remove(path);
  return claimed;
}

/// Gives a claim back untouched, for a claimant that could not use the state.
inline void unclaim_file(std::filesystem::path const& claimed, std::filesystem::path const& path) {
  if (::link(claimed.c_str(), path.c_str()) == 0) std::filesystem::remove(claimed);
}

}  // namespace tacit
