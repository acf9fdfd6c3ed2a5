// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/private_file.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <streambuf>
#include <string>

namespace apps {

inline constexpr std::size_t most_bytes = std::size_t{1} << 32;  // bytes

/// The whole of a regular file, or of the standard input for `-`.
/// @throws std::runtime_error if it cannot be read to its end, or is longer than `most`
inline std::string read_text(std::string const& file, std::size_t most = most_bytes) {
  if (file != "-") return tacit::read_file(file, most);
  std::string text;
  char buffer[65536];
  for (std::size_t count = 0; (count = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) {
    text.append(buffer, count);
    if (text.size() > most) throw std::runtime_error("the standard input is too long");
  }
  if (std::ferror(stdin) != 0) throw std::runtime_error("the standard input cannot be read");
  return text;
}

/// A file for a std::istream, which is bad where it cannot be read.
class file_buffer : public std::streambuf {
 public:
  /// @throws std::system_error if it cannot be opened
  explicit file_buffer(std::string const& file)
      : file_(file, std::numeric_limits<std::uint64_t>::max()) {}

 protected:
  int_type underflow() override {
    std::size_t const count = file_.read(buffer_, sizeof buffer_);
    setg(buffer_, buffer_, buffer_ + count);
    return count == 0 ? traits_type::eof() : traits_type::to_int_type(buffer_[0]);
  }

 private:
  tacit::input_file file_;
  char buffer_[65536];
};

/// Replaces a file at once; a crash leaves the old one or the new one.
/// @throws std::runtime_error if it cannot be written
inline void write_text(std::filesystem::path const& file, std::string const& text) {
  tacit::output_file out(file, tacit::readers::all, "write_text");
  out.write(text);
  out.replace();
}

}  // namespace apps
