// SPDX-License-Identifier: Apache-2.0
#include <tacit/secret/stream.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/sanitised.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

using tacit::secret_stream;

namespace {

static_assert(!std::is_copy_constructible_v<secret_stream>);
static_assert(!std::is_copy_assignable_v<secret_stream>);
static_assert(std::is_nothrow_move_constructible_v<secret_stream>);
static_assert(std::is_nothrow_move_assignable_v<secret_stream>);
static_assert(requires(secret_stream const& stream) { stream.save(); });

constexpr tacit::chacha20_key rfc_key = {0x03020100, 0x07060504, 0x0B0A0908, 0x0F0E0D0C,
                                         0x13121110, 0x17161514, 0x1B1A1918, 0x1F1E1D1C};

std::vector<std::uint64_t> draw(secret_stream& stream, std::size_t n) {
  std::vector<std::uint64_t> words(n);
  for (std::uint64_t& word : words) word = stream.next();
  return words;
}

/// The words of the RFC's key stream by number.
std::uint64_t rfc_word(std::uint64_t k) {
  auto const block = tacit::chacha20(rfc_key, static_cast<std::uint32_t>(k / 8),
                                     {static_cast<std::uint32_t>(k / 8 >> 32), 0, 0});
  return std::uint64_t{block[2 * (k % 8) + 1]} << 32 | block[2 * (k % 8)];
}

enum class fork_by { library, system_call };

/// What `f` returns in a child process.
template <class F>
std::array<std::uint64_t, 16> in_child(fork_by how, F f) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  auto const child = how == fork_by::library
                         ? ::fork()
                         : static_cast<::pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  REQUIRE(child >= 0);
  if (child == 0) {
    std::array<std::uint64_t, 16> const words = f();
    bool const sent = ::write(ends[1], words.data(), sizeof words) == sizeof words;
    ::_exit(sent ? 0 : 1);
  }
  std::array<std::uint64_t, 16> words{};
  ::close(ends[1]);
  CHECK(::read(ends[0], words.data(), sizeof words) == sizeof words);
  ::close(ends[0]);
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  return words;
}

std::array<std::uint64_t, 16> sixteen(secret_stream& stream) {
  std::array<std::uint64_t, 16> words{};
  for (std::uint64_t& word : words) word = stream.next();
  return words;
}

/// True if a and b share no word at all, wherever it stands.
bool disjoint(std::span<std::uint64_t const> a, std::span<std::uint64_t const> b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) == a.end();
}

}  // namespace

TEST_CASE("words are the RFC's key stream, little-endian", "[stream]") {
  secret_stream stream = stream_of(rfc_key, 8);
  CHECK(stream.next() == rfc_word(8));
  for (std::uint64_t k = 9; k < 100; ++k) CHECK(stream.next() == rfc_word(k));
  // Bytes 0 … 7 of block 1 of section 2.4.2's cipher, but with this nonce: word 0 low, word 1 high.
  auto const block = tacit::chacha20(rfc_key, 1, {});
  CHECK((rfc_word(8) & 0xFFFFFFFF) == block[0]);
  CHECK(rfc_word(8) >> 32 == block[1]);
}

TEST_CASE("the block counter runs on past 32 bits", "[stream]") {
  std::uint64_t const start = (std::uint64_t{1} << 35) - 5;
  secret_stream stream = stream_of(rfc_key, start);
  for (std::uint64_t k = start; k < start + 20; ++k) CHECK(stream.next() == rfc_word(k));
  CHECK(rfc_word(std::uint64_t{1} << 35) != rfc_word(0));
}

TEST_CASE("a restored stream goes on at the very next word", "[stream]") {
  for (std::size_t drawn = 0; drawn < 20; ++drawn) {
    secret_stream stream;
    draw(stream, drawn);
    secret_stream::state const saved = stream.save();
    CHECK(stream_fields(saved).position == drawn);
    secret_stream restored = secret_stream::restore(saved);
    CHECK(restored.save() == saved);
    CHECK(draw(restored, 20) == draw(stream, 20));
    CHECK(restored.save() == stream.save());
  }
}

TEST_CASE("a state that was never filled in is refused", "[stream]") {
  CHECK_THROWS_AS(secret_stream::restore(secret_stream::state()), std::invalid_argument);
  CHECK_THROWS_AS(stream_of({}, 17), std::invalid_argument);
}

TEST_CASE("each stream has a key of its own", "[stream]") {
  std::set<tacit::chacha20_key> keys;
  for (int i = 0; i < 100; ++i) keys.insert(stream_fields(secret_stream().save()).key);
  CHECK(keys.size() == 100);
}

TEST_CASE("a moved stream goes on, and its source is dead", "[stream]") {
  secret_stream source = stream_of(rfc_key, 0);
  for (std::uint64_t k = 0; k < 3; ++k) CHECK(source.next() == rfc_word(k));

  secret_stream target(std::move(source));
  CHECK_THROWS_AS(source.next(), std::logic_error);
  CHECK_THROWS_AS(source.save(), std::logic_error);
  for (std::uint64_t k = 3; k < 11; ++k) CHECK(target.next() == rfc_word(k));

  secret_stream assigned;
  assigned = std::move(target);
  CHECK_THROWS_AS(target.next(), std::logic_error);
  CHECK(assigned.next() == rfc_word(11));

  secret_stream& itself = assigned;
  assigned = std::move(itself);
  CHECK(assigned.next() == rfc_word(12));

  source = stream_of(rfc_key, 2);  // a dead stream may live again
  CHECK(source.next() == rfc_word(2));
  secret_stream dead(std::move(source));
  secret_stream heir(std::move(source));
  CHECK_THROWS_AS(heir.next(), std::logic_error);
}

TEST_CASE("a forked child never repeats its parent", "[stream][fork]") {
  // In the middle of a block, at its end, and before the first word.
  for (std::size_t drawn : {0U, 3U, 8U}) {
    for (bool restored : {false, true}) {
      secret_stream stream = restored ? stream_of(rfc_key, 40) : secret_stream();
      draw(stream, drawn);
      secret_stream twin = secret_stream::restore(stream.save());
      auto const first = in_child(fork_by::library, [&] { return sixteen(stream); });
      auto const second = in_child(fork_by::library, [&] { return sixteen(stream); });
      auto const grandchild = in_child(fork_by::library, [&] {
        return in_child(fork_by::library, [&] { return sixteen(stream); });
      });
      auto const parent = sixteen(stream);
      CHECK(disjoint(first, parent));
      CHECK(disjoint(second, parent));
      CHECK(disjoint(grandchild, parent));
      CHECK(disjoint(first, second));
      CHECK(disjoint(first, grandchild));
      CHECK(parent == sixteen(twin));  // the parent notices nothing
    }
  }
}

TEST_CASE("what a forked child saves is its own", "[stream][fork]") {
  secret_stream stream;
  draw(stream, 5);
  auto const child = in_child(fork_by::library, [&] {
    auto const saved = stream.save();
    auto const words = sixteen(stream);
    secret_stream resumed = secret_stream::restore(saved);
    return words == sixteen(resumed) ? words : std::array<std::uint64_t, 16>{};
  });
  CHECK(std::count(child.begin(), child.end(), 0) == 0);
  CHECK(disjoint(child, sixteen(stream)));
}

TEST_CASE("a child made behind the C library's back never repeats its parent", "[stream][fork]") {
  secret_stream stream;
  draw(stream, 13);  // in the middle of a block
  auto const child = in_child(fork_by::system_call, [&] { return sixteen(stream); });
  CHECK(disjoint(child, sixteen(stream)));
}

TEST_CASE("after its past is forgotten a stream goes on under a key that tells nothing of it",
          "[stream]") {
  for (std::uint64_t const drawn : {0U, 1U, 7U, 8U, 9U, 100U}) {
    secret_stream stream = stream_of(rfc_key, 0);
    draw(stream, drawn);
    stream.forget_past();
    secret_stream::state const saved = stream.save();
    stream_fields const fields(saved);
    CHECK(fields.position == 0);
    if (drawn == 0) {
      CHECK(fields.key == rfc_key);
      continue;
    }
    // The new key is the 32 bytes of the next block, which are never drawn as words.
    std::uint64_t const first = (drawn + 7) / 8 * 8;
    for (std::uint64_t k = 0; k < 4; ++k) {
      CHECK((std::uint64_t{fields.key[2 * k + 1]} << 32 | fields.key[2 * k]) ==
            rfc_word(first + k));
    }
    auto const next = draw(stream, 200);
    std::vector<std::uint64_t> past(300);
    for (std::uint64_t k = 0; k < 300; ++k) past[k] = rfc_word(k);
    CHECK(disjoint(next, past));
    secret_stream restored = secret_stream::restore(saved);
    CHECK(draw(restored, 200) == next);
  }
  secret_stream dead;
  secret_stream const heir = std::move(dead);
  CHECK_THROWS_AS(dead.forget_past(), std::logic_error);  // NOLINT: moved from
}

#if defined(__linux__)
namespace {

/// Whether eight bytes, given as their complement so that the search does not find itself, are anywhere in
/// the writable memory of this process.
bool in_memory(std::uint64_t complement) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char flags[5];
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, flags) != 3) continue;
    bool const stack = line.find("[stack") != std::string::npos;
    if (std::string_view(flags).substr(0, 2) != "rw" || stack || end - begin > 1U << 28) continue;
    for (auto at = begin; at < end; at += 8) {
      if (*reinterpret_cast<std::uint64_t const volatile*>(at) == ~complement) return true;
    }
  }
  return false;
}

/// The mappings that are neither dumped nor inherited.
int guarded_mappings() {
  std::ifstream maps("/proc/self/smaps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.starts_with("VmFlags:") && line.find(" dd") != std::string::npos &&
             line.find(" wf") != std::string::npos;
  }
  return count;
}

}  // namespace

TEST_CASE("key and buffer are in pages of their own, and do not outlive the stream", "[stream]") {
  if (support::sanitised) return;  // their allocator keeps what it was given
  int const before = guarded_mappings();
  auto stream = std::make_unique<secret_stream>();
  CHECK(guarded_mappings() == before + 1);
  std::uint64_t const word = ~stream->next();
  CHECK(in_memory(word));
  secret_stream moved = std::move(*stream);
  CHECK(guarded_mappings() == before + 1);
  stream.reset();
  CHECK(in_memory(word));
  moved = secret_stream();
  CHECK_FALSE(in_memory(word));
  CHECK(guarded_mappings() == before + 1);
}
#endif

TEST_CASE("randomness from the system is complete or refused", "[stream]") {
  std::array<std::byte, 10> bytes{};
  int calls = 0;
  // Interrupted, then three bytes at a time.
  tacit::detail::fill(bytes, [&](std::byte* to, std::size_t size) -> ::ssize_t {
    if (++calls % 2 == 1) {
      errno = EINTR;
      return -1;
    }
    std::size_t const some = std::min<std::size_t>(size, 3);
    std::memset(to, calls, some);
    return static_cast<::ssize_t>(some);
  });
  CHECK(calls == 8);
  CHECK(bytes == std::array<std::byte, 10>{std::byte{2}, std::byte{2}, std::byte{2}, std::byte{4},
                                           std::byte{4}, std::byte{4}, std::byte{6}, std::byte{6},
                                           std::byte{6}, std::byte{8}});

  for (int const error : {ENOSYS, EAGAIN, EFAULT, EIO}) {
    CHECK_THROWS_AS(tacit::detail::fill(bytes,
                                        [&](std::byte*, std::size_t) -> ::ssize_t {
                                          errno = error;
                                          return -1;
                                        }),
                    std::runtime_error);
  }
  CHECK_THROWS_AS(
      tacit::detail::fill(bytes, [](std::byte*, std::size_t) -> ::ssize_t { return 0; }),
      std::runtime_error);
}
