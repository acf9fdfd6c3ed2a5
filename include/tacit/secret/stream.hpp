// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/forks.hpp>
#include <tacit/core/process.hpp>
#include <tacit/core/wipe.hpp>
#include <tacit/secret/chacha20.hpp>
#include <tacit/secret/entropy.hpp>
#include <tacit/secret/guarded.hpp>

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

/// A stream of secret random words: ChaCha20 under a key from the operating system. Word k is bytes
/// 8k … 8k + 7 of the RFC's key stream, read little-endian, with a 64-bit block counter (low half in the
/// counter, high half in nonce[0]).
///
/// Guarantee: computational. Distinguishing these words from uniform ones means breaking ChaCha20 or the
/// system's generator.
/// Never repeats: it moves but does not copy, a moved-from stream throws, and after fork() the child's
/// stream takes a new key from the system while the parent's goes on. (A child made by a bare clone
/// system call, behind the C library's back, finds the stream's memory empty on Linux; elsewhere its
/// process number is noticed at the next block, up to seven words late.) One thread at a time.
/// Resumes: `save` and `restore` continue at the very next word. `forget_past` goes on under a new key,
/// so that whoever reads the memory or a state later learns nothing of the words before.
/// Key and buffer are kept out of core dumps, forked children and swap where the system does that
/// (`guarded`), and wiped at the end.
/// @throws std::system_error  (a std::runtime_error) if the operating system gives no randomness
/// @throws std::logic_error   on use of a moved-from stream
class secret_stream {
 public:
  /// As secret as the stream itself: for a private file. It comes from a stream, or by `fields` from what
  /// a stream stored: a program cannot write one, so that no public seed becomes a key. Restore one state once;
  /// two streams restored from it draw the same words.
  class state {
   public:
    state() = default;
    state(state const&) = default;
    state& operator=(state const&) = default;
    ~state() { detail::wipe(key_); }

    /// Writes the fields to an archive_writer, or reads them from an archive_reader.
    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.list("stream_key", self.key_);
      archive.field("stream_position", self.position_);
    }

    friend bool operator==(state const&, state const&) = default;

   private:
    friend class secret_stream;

    state(chacha20_key const& key, std::uint64_t position) : key_(key), position_(position) {}

    chacha20_key key_{};
    std::uint64_t position_ = 0;  // 64-bit words drawn so far
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
  secret_stream(secret_stream&& other) noexcept = default;
  secret_stream& operator=(secret_stream&& other) noexcept = default;
  ~secret_stream() = default;

  /// The next 64 bits.
  std::uint64_t next() {
    check_alive();
    memory& m = *memory_;
    if (m.position % block_words == 0 || m.generation != detail::current_generation()) refill();
    return m.buffer[m.position++ % block_words];
  }

  /// Goes on under a new key, the next 32 bytes of the stream, and erases the old one: word k is now word
  /// k of that key's stream. Nothing happens before the first word.
  void forget_past() {
    check_alive();
    if (is_inherited()) reseed();
    memory& m = *memory_;
    if (m.position == 0) return;
    m.position = (m.position + block_words - 1) / block_words * block_words;
    generate();
    for (std::size_t k = 0; k < m.key.size(); ++k) {
      m.key[k] = static_cast<std::uint32_t>(m.buffer[k / 2] >> (k % 2 * 32));
    }
    detail::wipe(m.buffer);
    m.position = 0;
  }

  /// In a forked child that has not drawn yet, the child's own new stream.
  [[nodiscard]] state save() const {
    check_alive();
    if (is_inherited()) reseed();
    return {memory_->key, memory_->position};
  }

 private:
  static constexpr std::uint64_t block_words = 8;

  struct memory {
    chacha20_key key;
    std::array<std::uint64_t, block_words> buffer;
    std::uint64_t position;
    std::uint64_t generation;  // 0 in a forked child, where the system fills the pages with zeros
    std::int64_t process;
  };

  explicit secret_stream(state const& saved) {
    if (saved.key_ == chacha20_key{}) {
      throw std::invalid_argument(detail::complaint("secret_stream::restore", "key", "all zero",
                                                    "the key of a saved stream"));
    }
    memory_->key = saved.key_;
    memory_->position = saved.position_;
    memory_->generation = detail::current_generation();
    memory_->process = detail::process_id();
    generate();
  }

  void check_alive() const {
    if (!memory_) throw std::logic_error("secret_stream: used after it was moved from");
  }

  [[nodiscard]] bool is_inherited() const noexcept {
    return memory_->generation != detail::current_generation() ||
           memory_->process != detail::process_id();
  }

  // Until the new key is complete the stream still counts as inherited, and draws nothing.
  void reseed() const {
    detail::fill(std::as_writable_bytes(std::span(memory_->key)), detail::system_entropy);
    memory_->position = 0;
    memory_->generation = detail::current_generation();
    memory_->process = detail::process_id();
  }

  void refill() {
    if (is_inherited()) reseed();
    generate();
  }

  void generate() noexcept {
    memory& m = *memory_;
    std::uint64_t const block = m.position / block_words;
    chacha20_block words = chacha20(m.key, static_cast<std::uint32_t>(block),
                                    {static_cast<std::uint32_t>(block >> 32), 0, 0});
    for (std::size_t k = 0; k < block_words; ++k) {
      m.buffer[k] = std::uint64_t{words[2 * k + 1]} << 32 | words[2 * k];
    }
    detail::wipe(words);
  }

  // A pointer to the memory: the child of a fork takes its own key even if the first it does is to save.
  detail::guarded<memory> memory_;
};

static_assert(secret_bits<secret_stream>);

}  // namespace tacit
