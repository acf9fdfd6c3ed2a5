// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/private_file.hpp>
#include <tacit/core/wipe.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_run.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/directory.hpp"

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

// What is given back to the heap is looked through for the key of a stream, as a state has it in decimals.

namespace {

constexpr std::string_view key = "1952539497 1234567890";
bool watching = false;
int found = 0;

void give_back(void* memory) noexcept {
  if (memory != nullptr) {
    std::size_t const size = ::malloc_usable_size(memory);
    std::string_view const text(static_cast<char const*>(memory), size);
    found += watching && text.find(key) != std::string_view::npos;
    tacit::detail::wipe(memory, size);  // found once, and what the test itself knows not at all
  }
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  if (void* const memory = std::malloc(size + (size == 0))) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size,
                   std::nothrow_t const&) noexcept {  // given back by the same delete
  return std::malloc(size + (size == 0));
}
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }

TEST_CASE("no copy of a stored key is left in freed memory", "[stream]") {
  support::directory const folder;
  std::string const path = (folder / "run").string();
  auto const make = [] {
    return tacit::paczero(
        {.steps = 3, .budget = tacit::nats(0.5), .otherwise = tacit::disagreement::hold},
        tacit::candidate_set::balanced({.records = 200, .subsets = 128}, 1),
        fixed_stream(1234567890));
  };
  {
    // That a copy would be found.
    std::string const line = std::string(key) + std::string(100, ' ');
    watching = true;
    auto const text = std::make_unique<std::string>(line);
    std::string().swap(*text);
    watching = false;
    REQUIRE(std::exchange(found, 0) == 1);
  }
  {
    tacit::paczero run = make();
    watching = true;
    tacit::saved_run const stored(std::move(run), path);
    watching = false;
    REQUIRE(tacit::read_file(path).find(key) != std::string::npos);
  }
  CHECK(std::exchange(found, 0) == 0);
  watching = true;
  std::size_t const steps = tacit::saved_run<tacit::paczero<>>::inspect(
      path, [](tacit::paczero<> const& run) { return run.steps(); });
  watching = false;
  CHECK(steps == 0);
  CHECK(std::exchange(found, 0) == 0);
}
