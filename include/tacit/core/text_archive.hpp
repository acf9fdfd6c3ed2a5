// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/core/wipe.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// A state as text: versioned, checksummed lines of named fields. Plain C++; for the file that keeps
/// such a text private, see core/private_file.hpp.

namespace tacit {

namespace detail {

inline constexpr std::array<std::uint64_t, 256> checksum_table = [] {
  std::array<std::uint64_t, 256> table{};
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    std::uint64_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest % 2 != 0 ? 0xC96C5795D7870F42 : 0);
    table[byte] = rest;
  }
  return table;
}();

/// CRC-64/XZ: every error burst of up to 64 bits, and all but 2⁻⁶⁴ of the others.
[[nodiscard]] constexpr std::uint64_t checksum(std::string_view text) noexcept {
  std::uint64_t rest = ~std::uint64_t{0};
  for (char const c : text) {
    rest = rest >> 8 ^ checksum_table[(rest ^ static_cast<unsigned char>(c)) & 0xFF];
  }
  return ~rest;
}

static_assert(checksum("123456789") == 0x995DC9BBDF1939FA);  // the check value of the CRC catalogue

/// An entry of a list that is a list itself.
template <class T>
concept nested_list = requires(std::remove_cvref_t<T>& value) {
  value.resize(1);
}
&&!std::is_convertible_v<T, std::string_view>;

}  // namespace detail

/// Writes one `name value value …` line a field. Numbers read back as the same bits. A bool or an
/// enumerator is written as its number. It leaves no copy of the text in memory but the one that it returns.
class archive_writer {
 public:
  /// `kind` is one word, `version` the format's.
  archive_writer(std::string_view kind, unsigned version) { field(kind, version); }
  archive_writer(archive_writer const&) = delete;
  archive_writer& operator=(archive_writer const&) = delete;
  ~archive_writer() { detail::wipe(text_); }

  template <class... Values>
  archive_writer& field(std::string_view name, Values const&... values) {
    put(name);
    (append(values), ...);
    put("\n");
    return *this;
  }

  template <class Range>
  archive_writer& list(std::string_view name, Range const& values) {
    put(name);
    append_list(values);
    put("\n");
    return *this;
  }

  /// A list, of numbers or of lists of them, that is left out where it is empty.
  template <class Range>
  archive_writer& optional_list(std::string_view name, Range const& values) {
    return std::size(values) == 0 ? *this : list(name, values);
  }

  /// The text, closed by its checksum.
  [[nodiscard]] std::string finish() && {
    std::uint64_t const sum = detail::checksum(text_);
    field("checksum", sum);
    return std::move(text_);
  }

 private:
  template <class Range>
  void append_list(Range const& values) {
    append(std::size(values));
    for (auto const& value : values) {
      if constexpr (detail::nested_list<decltype(value)>) {
        append_list(value);
      } else {
        append(value);
      }
    }
  }

  template <class T>
  void append(T const& value) {
    put(" ");
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      put(std::string_view(value));  // one word
    } else if constexpr (std::same_as<T, bool> || std::is_enum_v<T>) {
      put(detail::to_text(static_cast<int>(value)));
    } else {
      put(detail::to_text(value));
    }
  }

  // A string that grows by itself leaves its old text in freed memory.
  void put(std::string_view part) {
    if (part.size() > text_.capacity() - text_.size()) {
      std::string larger;
      larger.reserve(2 * (text_.size() + part.size()));
      larger.append(text_);
      text_.swap(larger);
      detail::wipe(larger);
    }
    text_.append(part);
  }

  std::string text_;
};

/// Reads what `archive_writer` wrote, field by field in the same order.
/// Every defect (wrong kind or version, a damaged or truncated text, a missing field, a value that
/// does not parse) throws `corrupt_state`, which names the field. The text is wiped at the end.
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
  ~archive_reader() { detail::wipe(text_); }

  template <class... Values>
  void field(std::string_view name, Values&... values) {
    open(name);
    (read(values), ...);
    close();
  }

  /// An array has its number of values, a vector any.
  template <class Range>
  void list(std::string_view name, Range& values) {
    open(name);
    read_list(values);
    close();
  }

  /// Left empty where the next field has another name: that of a text from before there was such a list, too.
  template <class Range>
  void optional_list(std::string_view name, Range& values) {
    values.clear();
    bool const next = rest_.starts_with(name) && rest_.substr(name.size()).starts_with(' ');
    if (next) list(name, values);
  }

  /// Whether another field follows.
  [[nodiscard]] bool has_more() const noexcept { return !rest_.empty(); }

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
    auto const value = detail::from_text<T>(word());
    if (!value) fail(name_, "not a number in range");
    return *value;
  }

  template <class Range>
  void read_list(Range& values) {
    auto const size = number<std::size_t>();
    if (size > line_.size()) fail(name_, "shorter than it says");  // two characters an entry
    if constexpr (requires { values.resize(size); }) {
      values.resize(size);
    } else if (size != std::size(values)) {
      fail(name_, "of another size");
    }
    for (auto& value : values) {
      if constexpr (detail::nested_list<decltype(value)>) {
        read_list(value);
      } else {
        read(value);
      }
    }
  }

  template <class T>
  void read(T& value) {
    if constexpr (std::same_as<T, std::string>) {
      value = word();
    } else if constexpr (std::same_as<T, bool>) {
      value = number<int>() != 0;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(number<int>());  // one of those there are, or not: its user checks
    } else {
      value = number<T>();
    }
  }

  std::string text_;
  std::string_view rest_;
  std::string_view line_;
  std::string_view name_;
};

}  // namespace tacit
