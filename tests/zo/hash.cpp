// SPDX-License-Identifier: Apache-2.0
#include <tacit/zo/hash.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using tacit::bfloat16;
using tacit::half;
using tacit::hash_of;
using tacit::parameters;
using tacit::tensor;
using tacit::to_hex;

std::string digest(std::string_view text, std::size_t piece) {
  tacit::detail::blake2b hash;
  std::vector<std::uint8_t> const bytes(text.begin(), text.end());
  for (std::span<std::uint8_t const> rest = bytes; !rest.empty();) {
    std::size_t const count = std::min(piece, rest.size());
    hash.update(rest.first(count));
    rest = rest.subspan(count);
  }
  return to_hex({hash.finish()});
}

}  // namespace

TEST_CASE("BLAKE2b gives the answers of another implementation, in pieces of any size", "[hash]") {
  // Computed by Python's hashlib.
  for (std::size_t const piece : {1UL, 3UL, 127UL, 128UL, 129UL, 1000UL, 1000000UL}) {
    CAPTURE(piece);
    CHECK(digest("", piece) == "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
    CHECK(digest("abc", piece) ==
          "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    CHECK(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", piece) ==
          "5f7a93da9c5621583f22e49e8e91a40cbba37536622235a380f434b9f68e49c4");
    CHECK(digest(std::string(1000000, 'a'), piece) ==
          "0741850f36cba4259628355d1073e24ddb9ca0e1bfac36fd39ae5dc2101e23a4");
  }
}

TEST_CASE("Every length pads to a digest of its own", "[hash]") {
  std::vector<std::string> seen;
  for (std::size_t length = 0; length <= 260; ++length) {
    seen.push_back(digest(std::string(length, '\0'), 7));
  }
  std::sort(seen.begin(), seen.end());
  CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}

TEST_CASE("Another name, type, order, division or bit is another hash", "[hash]") {
  std::vector<float> a{1.0F, 0.0F, 3.0F};
  std::vector<float> b{4.0F};
  std::vector<float> whole{1.0F, 0.0F, 3.0F, 4.0F};
  std::vector<half> halves{{0x3C00}, {0}};
  std::vector<bfloat16> brains{{0x3C00}, {0}};
  std::vector<std::string> seen;
  auto const add = [&](std::vector<tensor> tensors) {
    seen.push_back(to_hex(hash_of(parameters(std::move(tensors)))));
  };
  add({{.entries = std::span(a), .name = "a"}, {.entries = std::span(b), .name = "b"}});
  add({{.entries = std::span(a), .name = "b"}, {.entries = std::span(b), .name = "a"}});
  add({{.entries = std::span(a), .name = "ab"}, {.entries = std::span(b)}});
  add({{.entries = std::span(b), .name = "b"}, {.entries = std::span(a), .name = "a"}});
  add({{.entries = std::span(whole), .name = "a"}});
  add({{.entries = std::span(halves), .name = "a"}});
  add({{.entries = std::span(brains), .name = "a"}});
  a[1] = -0.0F;
  add({{.entries = std::span(a), .name = "a"}, {.entries = std::span(b), .name = "b"}});
  a[1] = std::numeric_limits<float>::denorm_min();
  add({{.entries = std::span(a), .name = "a"}, {.entries = std::span(b), .name = "b"}});
  a[1] = std::numeric_limits<float>::quiet_NaN();
  add({{.entries = std::span(a), .name = "a"}, {.entries = std::span(b), .name = "b"}});
  std::sort(seen.begin(), seen.end());
  CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}

TEST_CASE("The hash of these parameters is this one, on any machine", "[hash]") {
  // Computed by Python's hashlib from the definition in docs/transcript.md.
  std::vector<float> floats(3000);
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = 0.5F * static_cast<float>(i);
  std::vector<half> halves{{0x3C00}, {0xC000}, {0x7C00}};
  CHECK(to_hex(hash_of(
            parameters(std::vector<tensor>{{.entries = std::span(floats), .name = "w"},
                                           {.entries = std::span(halves), .name = "\xC3\xA9"}}))) ==
        "98ee3bce362c23dd92dc586a0d4566f5ce13a65ad398572aa96b4b04aad0a4ab");
}

TEST_CASE("Hexadecimal reads back, and nothing else reads", "[hash]") {
  tacit::parameter_hash hash;
  for (std::size_t i = 0; i < hash.bytes.size(); ++i) {
    hash.bytes[i] = static_cast<std::uint8_t>(37 * i + 1);
  }
  std::string text = to_hex(hash);
  CHECK(tacit::hash_from_hex(text) == hash);
  for (std::string const& wrong :
       {std::string(), text.substr(1), text + "0", std::string(64, 'A'), std::string(64, ' ')}) {
    CHECK_FALSE(tacit::hash_from_hex(wrong));
  }
}
