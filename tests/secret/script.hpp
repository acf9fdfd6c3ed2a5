// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/text_archive.hpp>
#include <tacit/secret/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

/// Random words written down by a test. Asking for more than were written is an error.
class script {
 public:
  explicit script(std::vector<std::uint64_t> words) : words_(std::move(words)) {}

  std::uint64_t next() {
    if (used_ == words_.size()) throw std::out_of_range("script: no words left");
    return words_[used_++];
  }

  std::size_t used() const { return used_; }
  bool finished() const { return used_ == words_.size(); }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t used_ = 0;
};

static_assert(tacit::secret_bits<script>);

/// What the state of a stream holds. It has no other way in or out than its text.
struct stream_fields {
  tacit::chacha20_key key{};
  std::uint64_t position = 0;

  stream_fields(tacit::chacha20_key const& its_key, std::uint64_t its_position)
      : key(its_key), position(its_position) {}
  explicit stream_fields(tacit::secret_stream::state const& saved) {
    tacit::archive_writer out("stream", 1);
    tacit::secret_stream::state::fields(out, saved);
    tacit::archive_reader in(std::move(out).finish(), "stream", 1);
    in.list("stream_key", key);
    in.field("stream_position", position);
  }

  tacit::secret_stream::state state() const {
    tacit::archive_writer out("stream", 1);
    out.list("stream_key", key).field("stream_position", position);
    tacit::archive_reader in(std::move(out).finish(), "stream", 1);
    tacit::secret_stream::state found;
    tacit::secret_stream::state::fields(in, found);
    return found;
  }
};

/// The stream of a key that a test knows.
inline tacit::secret_stream stream_of(tacit::chacha20_key const& key, std::uint64_t position) {
  return tacit::secret_stream::restore(stream_fields(key, position).state());
}

/// A secret stream that is the same in every run.
inline tacit::secret_stream fixed_stream(std::uint32_t seed) {
  return stream_of({0x74616369, seed}, 0);
}
