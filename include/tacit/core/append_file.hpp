// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/archive.hpp>
#include <tacit/core/check.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tacit {

/// A file that grows at its end, durably: an append is on disk when it returns. A crash during an
/// append leaves what stood before and some first part of the new bytes, or zeros in their place.
class append_file {
 public:
  /// Opens an existing file and cuts off what follows its first `size` bytes.
  /// @throws std::system_error naming the file; std::invalid_argument if it is shorter than `size`
  append_file(std::filesystem::path path, std::uint64_t size)
      : path_(std::move(path)),
        file_(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW)) {
    if (file_.id() < 0) detail::fail_file("append_file: cannot open", path_);
    struct ::stat about {};
    if (::fstat(file_.id(), &about) != 0) detail::fail_file("append_file: cannot look at", path_);
    auto const present = static_cast<std::uint64_t>(about.st_size);
    detail::require_argument(size <= present, "append_file", "size", size,
                             "at most that of the file");
    if (size == present) return;
    if (::ftruncate(file_.id(), about.st_size - static_cast<::off_t>(present - size)) != 0 ||
        ::fsync(file_.id()) != 0) {
      detail::fail_file("append_file: cannot cut", path_);
    }
  }

  /// @throws std::system_error naming the file; what was written of the bytes is then unknown, and
  ///         every later append throws std::logic_error: open the file anew
  void append(std::string_view bytes) {
    if (broken_)
      throw std::logic_error("append_file: an earlier append to " + path_.string() + " failed");
    broken_ = true;
    while (!bytes.empty()) {
      ::ssize_t const written = ::write(file_.id(), bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) detail::fail_file("append_file: cannot write", path_);
      if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fsync(file_.id()) != 0) detail::fail_file("append_file: cannot flush", path_);
    broken_ = false;
  }

 private:
  std::filesystem::path path_;
  detail::descriptor file_;
  bool broken_ = false;
};

}  // namespace tacit
