// SPDX-License-Identifier: Apache-2.0
//
// A fuzz target without a fuzzer: the inputs in a folder, and a number of variants of each, the same every time.
//
//     program FOLDER [VARIANTS]

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

namespace {

/// A copy with a few bytes changed, taken out, doubled or put in.
std::string variant_of(std::string text, std::mt19937& draw) {
  auto const below = [&](std::size_t n) { return n == 0 ? 0 : draw() % n; };
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    std::size_t const at = below(text.size());
    std::size_t const length = below(9);
    switch (draw() % 4) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(draw());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      default:
        text.insert(at, length, "019.-+e \n\"[{,"[below(13)]);
    }
  }
  return text;
}

void ask(std::string const& text) {
  (void)LLVMFuzzerTestOneInput(reinterpret_cast<std::uint8_t const*>(text.data()), text.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  int const variants = argc > 2 ? std::atoi(argv[2]) : 0;
  int inputs = 0;
  for (auto const& file : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream in(file.path(), std::ios::binary);
    std::string const text{std::istreambuf_iterator<char>(in), {}};
    ask(text);
    std::mt19937 draw(1);
    for (int i = 0; i < variants; ++i) ask(variant_of(text, draw));
    inputs += 1 + variants;
  }
  std::printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
