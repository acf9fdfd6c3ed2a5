// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/bit_cast.hpp>
#include <tacit/core/check.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/storage.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

/// Which parameters these are, in 256 bits. A transcript names its starting point by it, so nobody may
/// be able to make two starting points of one hash: BLAKE2b, and no checksum.

namespace tacit {

namespace detail {

/// BLAKE2b with 32 bytes of digest and no key, RFC 7693: in portable code faster than SHA-256.
class blake2b {
 public:
  void update(std::span<std::uint8_t const> bytes) noexcept {
    while (!bytes.empty()) {
      // A full block waits until it is known whether it is the last.
      if (filled_ == block_.size()) {
        compress(false);
        filled_ = 0;
      }
      std::size_t const count = std::min(block_.size() - filled_, bytes.size());
      std::copy_n(bytes.begin(), count, block_.begin() + static_cast<std::ptrdiff_t>(filled_));
      bytes = bytes.subspan(count);
      filled_ += count;
      length_ += count;
    }
  }

  /// The digest; nothing may be added after it.
  [[nodiscard]] std::array<std::uint8_t, 32> finish() noexcept {
    std::fill(block_.begin() + static_cast<std::ptrdiff_t>(filled_), block_.end(), std::uint8_t{0});
    compress(true);
    std::array<std::uint8_t, 32> digest{};
    for (std::size_t i = 0; i < digest.size(); ++i) {
      digest[i] = static_cast<std::uint8_t>(state_[i / 8] >> (8 * (i % 8)));
    }
    return digest;
  }

 private:
  using words = std::array<std::uint64_t, 16>;

  // The first 64 bits of the fractional parts of the square roots of the first 8 primes.
  static constexpr std::array<std::uint64_t, 8> initial{
      0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
      0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

  // Which word of the block goes where, in rounds 0 to 9; 10 and 11 are 0 and 1 again.
  static constexpr std::array<std::array<std::uint8_t, 16>, 10> order{
      {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
       {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
       {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
       {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
       {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
       {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
       {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
       {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
       {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
       {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}}};

  static void mix(std::uint64_t& a, std::uint64_t& b, std::uint64_t& c, std::uint64_t& d,
                  std::uint64_t x, std::uint64_t y) noexcept {
    a += b + x;
    d = std::rotr(d ^ a, 32);
    c += d;
    b = std::rotr(b ^ c, 24);
    a += b + y;
    d = std::rotr(d ^ a, 16);
    c += d;
    b = std::rotr(b ^ c, 63);
  }

  template <std::size_t Round>
  static void round(words& v, words const& m) noexcept {
    constexpr auto& s = order[Round % 10];
    mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
    mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
    mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
    mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
    mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
    mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
    mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
    mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
  }

  void compress(bool last) noexcept {
    words m;
    for (std::size_t i = 0; i < m.size(); ++i) {
      m[i] = 0;
      for (std::size_t j = 0; j < 8; ++j) m[i] |= std::uint64_t{block_[8 * i + j]} << (8 * j);
    }
    words v;
    std::copy(state_.begin(), state_.end(), v.begin());
    std::copy(initial.begin(), initial.end(), v.begin() + 8);
    v[12] ^= length_;  // the upper half of the count stays 0 below 2⁶⁴ bytes
    if (last) v[14] = ~v[14];
    [&]<std::size_t... Rounds>(std::index_sequence<Rounds...>) { (round<Rounds>(v, m), ...); }
    (std::make_index_sequence<12>());
    for (std::size_t i = 0; i < state_.size(); ++i) state_[i] ^= v[i] ^ v[i + 8];
  }

  std::array<std::uint64_t, 8> state_{initial[0] ^ 0x01010000 ^ 32,
                                      initial[1],
                                      initial[2],
                                      initial[3],
                                      initial[4],
                                      initial[5],
                                      initial[6],
                                      initial[7]};
  std::array<std::uint8_t, 128> block_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

inline void hash_number(blake2b& hash, std::uint64_t x) noexcept {
  std::array<std::uint8_t, 8> bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(x >> (8 * i));
  hash.update(bytes);
}

inline void hash_text(blake2b& hash, std::string_view text) noexcept {
  hash_number(hash, text.size());
  for (char const c : text) {
    auto const byte = static_cast<std::uint8_t>(c);
    hash.update({&byte, 1});
  }
}

/// The entries' bits, the least significant byte first, on any machine.
template <parameter_storage T>
void hash_entries(blake2b& hash, std::span<T const> entries) noexcept {
  std::array<std::uint8_t, 4096> bytes;
  constexpr std::size_t width = sizeof(T);
  while (!entries.empty()) {
    std::size_t const count = std::min(entries.size(), bytes.size() / width);
    for (std::size_t i = 0; i < count; ++i) {
      using word = std::conditional_t<width == 4, std::uint32_t, std::uint16_t>;
      auto const bits = bit_cast<word>(entries[i]);
      for (std::size_t j = 0; j < width; ++j) {
        bytes[width * i + j] = static_cast<std::uint8_t>(bits >> (8 * j));
      }
    }
    hash.update(std::span(bytes).first(width * count));
    entries = entries.subspan(count);
  }
}

}  // namespace detail

/// How a parameter is stored, by the name it has in a safetensors file, in the order of `tensor::entries`; and then the
/// blocks of zo/quantised_blocks.hpp, by ggml's names, in the order of `quantised_tensor::blocks`.
enum class element_type { f32, f16, bf16, q8_0, q4_0 };

[[nodiscard]] constexpr std::string_view name_of(element_type type) noexcept {
  return type == element_type::f32    ? "F32"
         : type == element_type::f16  ? "F16"
         : type == element_type::bf16 ? "BF16"
         : type == element_type::q8_0 ? "Q8_0"
                                      : "Q4_0";
}

[[nodiscard]] inline element_type element_type_of(tensor const& one) noexcept {
  return static_cast<element_type>(one.entries.index());
}

namespace detail {

/// Of one tensor: name, type, size and bits.
inline void hash_tensor(blake2b& hash, tensor const& one) {
  hash_text(hash, one.name);
  hash_text(hash, name_of(element_type_of(one)));
  hash_number(hash, one.size());
  std::visit(
      [&]<class T>(std::span<T> entries) { hash_entries(hash, std::span<T const>(entries)); },
      one.entries);
}

}  // namespace detail

/// BLAKE2b-256 of names, element types, sizes and bits of all tensors, in their order.
struct parameter_hash {
  std::array<std::uint8_t, 32> bytes{};

  friend bool operator==(parameter_hash const&, parameter_hash const&) = default;
};

/// The hash of these parameters as they are now. One pass, nothing is stored.
template <std::same_as<parameter_hash> Hash = parameter_hash>
[[nodiscard]] Hash hash_of(parameters const& theta) {
  detail::blake2b hash;
  detail::hash_text(hash, "tacit-parameters");
  detail::hash_number(hash, theta.all().size());
  for (tensor const& one : theta.all()) detail::hash_tensor(hash, one);
  return {hash.finish()};
}

/// 64 hexadecimal digits, lower case.
[[nodiscard]] inline std::string to_hex(parameter_hash const& hash) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::uint8_t const byte : hash.bytes) {
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 15]);
  }
  return text;
}

/// The inverse of `to_hex`; nothing for any other text.
[[nodiscard]] inline std::optional<parameter_hash> hash_from_hex(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  parameter_hash hash;
  if (text.size() != 2 * hash.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t const digit = digits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    hash.bytes[i / 2] = static_cast<std::uint8_t>(std::size_t{16} * hash.bytes[i / 2] + digit);
  }
  return hash;
}

}  // namespace tacit
