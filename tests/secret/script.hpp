// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// A secret stream that is the same in every run.
inline tacit::secret_stream fixed_stream(std::uint32_t seed) {
  return tacit::secret_stream::restore({{0x74616369, seed}, 0});
}
