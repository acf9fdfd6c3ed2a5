// SPDX-License-Identifier: Apache-2.0
//
// A safetensors file; the first two bytes of the input are the length of the header's text.

#include "safetensors/safetensors.hpp"

#include "scratch_file.hpp"

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size < 2) return 0;
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(data[0]);
  bytes[1] = static_cast<char>(data[1]);
  bytes.append(reinterpret_cast<char const*>(data + 2), size - 2);
  try {
    apps::tensor_file const file = apps::tensor_file::read(fuzz::scratch_file(bytes));
    for (apps::stored_tensor const& one : file.tensors()) {
      if (one.end < one.begin || one.end > bytes.size()) std::abort();
    }
  } catch (std::runtime_error const&) {
  }
  return 0;
}
