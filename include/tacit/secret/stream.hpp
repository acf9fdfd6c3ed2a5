// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/process.hpp>
#include <tacit/secret/chacha20.hpp>
#include <tacit/secret/entropy.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace tacit {

/// A source of 64 ideal random bits at a time. What a guarantee rests on is drawn from one of these:
/// `secret_stream`, or in a test a script.
template <class Source>
concept secret_bits = requires(Source& source) {
  { source.next() } -> std::same_as<std::uint64_t>;
};

namespace detail {

/// Overwrites memory that is about to die, in a way the compiler may not drop.
template <class T, std::size_t Size>
void wipe(std::array<T, Size>& secret) noexcept {
  for (T& part : secret) static_cast<T volatile&>(part) = T{};
}

}  // namespace detail

/// A stream of secret random words: ChaCha20 under a key from the operating system. Word k is bytes 8k … 8k + 7 of the RFC's key stream, read
/// little-endian, with a 64-bit block counter (low half in the counter, high half in nonce[0]).
///
/// Guarantee: computational. Who tells these words from ideal ones breaks ChaCha20 or the system's
/// generator.
/// Never repeats: it moves but does not copy, a moved-from stream throws, and after fork() the child's
/// stream takes a new key from the system while the parent's goes on. (A child made by a bare clone
/// system call, behind the C library's back, is noticed by its process number at the next block, up to
/// seven words late.) One thread at a time.
/// Resumes: `save` and `restore` continue at the very next word, which is why the key stays for life.
/// The price, against a generator that erases its key as it goes: who reads the process' memory learns
/// past words too. A mechanism's memory holds the outcome of those draws anyway. Key and buffer are
/// wiped on destruction and on moving.
/// @throws std::system_error  (a std::runtime_error) if the operating system gives no randomness
/// @throws std::logic_error   on use of a moved-from stream
class secret_stream {
 public:
  /// Plain data, as secret as the stream itself: for a private file. Restore one state once; two
  /// streams restored from it draw the same words.
  struct state {
    chacha20_key key{};
    std::uint64_t position = 0;  // 64-bit words drawn so far

    friend bool operator==(state const&, state const&) = default;
  };

  secret_stream() {
    detail::watch_forks();
    reseed();
  }

  /// @throws std::invalid_argument  for a key of zeros, which no stream has: a state never filled in
  [[nodiscard]] static secret_stream restore(state const& saved) {
    detail::watch_forks();
    return secret_stream(saved);
  }

  secret_stream(secret_stream const&) = delete;
  secret_stream& operator=(secret_stream const&) = delete;
  secret_stream(secret_stream&& other) noexcept { take(other); }
  secret_stream& operator=(secret_stream&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  ~secret_stream() { forget(); }

  /// The next 64 bits.
  std::uint64_t next() {
    if (position_ % block_words == 0 || generation_ != detail::current_generation()) refill();
    return buffer_[position_++ % block_words];
  }

  /// In a forked child that has not drawn yet, the child's own new stream.
  [[nodiscard]] state save() const {
    check_alive();
    if (is_inherited()) reseed();
    return {key_, position_};
  }

 private:
  static constexpr std::uint64_t block_words = 8;

  explicit secret_stream(state const& saved)
      : key_(saved.key),
        position_(saved.position),
        generation_(detail::current_generation()),
        process_(detail::process_id()) {
    if (key_ == chacha20_key{}) {
      throw std::invalid_argument(detail::complaint("secret_stream::restore", "key", "all zero",
                                                    "the key of a saved stream"));
    }
    generate();
  }

  void check_alive() const {
    if (generation_ == 0) throw std::logic_error("secret_stream: used after it was moved from");
  }

  [[nodiscard]] bool is_inherited() const noexcept {
    return generation_ != detail::current_generation() || process_ != detail::process_id();
  }

  // Until the new key is complete the stream still counts as inherited, and draws nothing.
  void reseed() const {
    detail::fill(std::as_writable_bytes(std::span(key_)), detail::system_entropy);
    position_ = 0;
    generation_ = detail::current_generation();
    process_ = detail::process_id();
  }

  void refill() {
    check_alive();
    if (is_inherited()) reseed();
    generate();
  }

  void generate() noexcept {
    std::uint64_t const block = position_ / block_words;
    chacha20_block words = chacha20(key_, static_cast<std::uint32_t>(block),
                                    {static_cast<std::uint32_t>(block >> 32), 0, 0});
    for (std::size_t k = 0; k < block_words; ++k) {
      buffer_[k] = std::uint64_t{words[2 * k + 1]} << 32 | words[2 * k];
    }
    detail::wipe(words);
  }

  void take(secret_stream& other) noexcept {
    key_ = other.key_;
    buffer_ = other.buffer_;
    position_ = other.position_;
    generation_ = other.generation_;
    process_ = other.process_;
    other.forget();
  }

  void forget() noexcept {
    detail::wipe(key_);
    detail::wipe(buffer_);
    position_ = 0;
    generation_ = 0;
  }

  // Mutable: the child of a fork takes its own key even if the first it does is to save.
  mutable chacha20_key key_{};
  mutable std::uint64_t position_ = 0;
  mutable std::uint64_t generation_ = 0;  // 0: moved from
  mutable std::int64_t process_ = 0;
  std::array<std::uint64_t, block_words> buffer_{};
};

static_assert(secret_bits<secret_stream>);

}  // namespace tacit
