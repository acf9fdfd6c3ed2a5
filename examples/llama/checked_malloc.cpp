// SPDX-License-Identifier: Apache-2.0
//
// ggml does not look whether malloc had memory. With the linker's --wrap=malloc,--wrap=calloc the process ends there
// with one line.

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

void* there(void* memory, bool asked) {
  if (memory == nullptr && asked) {
    std::fputs("private_tuning: not enough memory\n", stderr);
    std::_Exit(2);
  }
  return memory;
}

}  // namespace

extern "C" {

void* __real_malloc(std::size_t size);
void* __real_calloc(std::size_t count, std::size_t size);

void* __wrap_malloc(std::size_t size) { return there(__real_malloc(size), size > 0); }

void* __wrap_calloc(std::size_t count, std::size_t size) {
  return there(__real_calloc(count, size), count > 0 && size > 0);
}
}
