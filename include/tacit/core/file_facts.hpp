// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tacit::detail {

/// What the operating system says of a file.
struct file_facts {
  bool regular;          // not a folder, a pipe or a device
  std::uint64_t size;    // bytes
  std::uint64_t names;   // hard links
  std::uint64_t volume;  // together with `number`, the same for two names of one file alone
  std::uint64_t number;

  [[nodiscard]] bool is(file_facts const& other) const noexcept {
    return volume == other.volume && number == other.number;
  }
};

}  // namespace tacit::detail
