// SPDX-License-Identifier: Apache-2.0
//
// The table of `tacit train`.

#include "training/data.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  try {
    apps::dataset const all = apps::parse_csv({reinterpret_cast<char const*>(data), size}, "table");
    if (!all.features.allFinite() || all.classes.size() < 2) std::abort();
    if (all.features.rows() != static_cast<Eigen::Index>(all.labels.size())) std::abort();
  } catch (std::runtime_error const&) {
  }
  return 0;
}
