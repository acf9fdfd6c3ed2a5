// SPDX-License-Identifier: Apache-2.0
#include <tacit/random/normal.hpp>
#include <tacit/random/rademacher.hpp>
#include <tacit/random/sphere.hpp>
#include <tacit/random/uniform.hpp>

#include "support/catch.hpp"

#include <bit>
#include <cstdint>

// The bits every build must give: other compilers, other flags, devices, later versions. A recorded run
// replays only while they hold.

using tacit::purpose;
using tacit::stream_id;

namespace {

struct answer {
  stream_id stream;
  std::uint64_t index;
  double uniform;
  float normal;
  float rademacher;
};

constexpr answer answers[] = {
    {{0x0, 0x0, purpose::direction}, 0x0, 0x1.c2d38b1acc4fdp-1, 0x1.05f4ap-2F, -1.0F},
    {{0x0, 0x0, purpose::direction}, 0x1, 0x1.3601b7b178af5p-1, -0x1.3769e2p-2F, 1.0F},
    {{0x1, 0x0, purpose::direction}, 0x0, 0x1.ca141d79c7d01p-1, -0x1.1d54cp-2F, 1.0F},
    {{0x0, 0x1, purpose::direction}, 0x0, 0x1.e11add55088a3p-1, -0x1.1059eap+1F, -1.0F},
    {{0x0, 0x0, purpose::membership}, 0x0, 0x1.2bd3bf0952ee3p-1, -0x1.f906b2p-1F, 1.0F},
    {{0x0, 0x0, purpose::data_split}, 0x0, 0x1.b37bd4eb44c49p-1, -0x1.1b3232p+0F, 1.0F},
    {{0x0, 0x0, purpose::initialisation}, 0x0, 0x1.35f6501ad7c7ap-2, -0x1.9b9b28p-1F, 1.0F},
    {{0x2A, 0x7, purpose::direction}, 0x3, 0x1.6476c1cc7e6fcp-3, 0x1.b7c3bcp-2F, -1.0F},
    {{0x2A, 0x7, purpose::direction}, 0x4, 0x1.e001559a49d9fp-1, -0x1.08f38ap-2F, 1.0F},
    {{0x2A, 0x7, purpose::direction}, 0x7F, 0x1.62ea06b643192p-2, 0x1.2f72fap-2F, 1.0F},
    {{0x2A, 0x7, purpose::direction}, 0x80, 0x1.4a89ec7ed7c56p-2, -0x1.b4a586p-1F, 1.0F},
    {{0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, purpose::initialisation},
     0xFFFFFFFFFFFFFF,
     0x1.3fed2570c6d35p-1,
     0x1.31aeep+0F,
     1.0F},
    {{0x123456789ABCDEF, 0xFEDCBA9876543210, purpose::membership},
     0xDEADBEEFCAFE,
     0x1.61f16b15bae28p-4,
     -0x1.69fe3p-3F,
     1.0F},
};

// FNV-1a over 64-bit words.
struct digest {
  std::uint64_t value = 0xCBF29CE484222325;
  constexpr void add(std::uint64_t word) { value = (value ^ word) * 0x100000001B3; }
  constexpr void add(float x) { add(std::uint64_t{std::bit_cast<std::uint32_t>(x)}); }
};

}  // namespace

// The compiler's own arithmetic against the compiled program's.
static_assert(tacit::normal(answers[7].stream, answers[7].index) == answers[7].normal);
static_assert(tacit::uniform(answers[7].stream, answers[7].index) == answers[7].uniform);
static_assert(tacit::rademacher(answers[7].stream, answers[7].index) == answers[7].rademacher);

TEST_CASE("known answers", "[known]") {
  for (answer const& known : answers) {
    CAPTURE(known.stream.seed, known.stream.step, known.index);
    CHECK(tacit::uniform(known.stream, known.index) == known.uniform);
    CHECK(tacit::normal(known.stream, known.index) == known.normal);
    CHECK(tacit::rademacher(known.stream, known.index) == known.rademacher);
  }
}

TEST_CASE("known digest of normals over every octave of probability", "[known]") {
  digest all;
  for (std::uint32_t shift = 0; shift < 32; ++shift) {
    for (std::uint32_t i = 0; i < 4'096; ++i) {
      all.add(tacit::detail::normal_from((i * 0x9E3779B9) >> shift | (i & 1) << 31));
    }
  }
  CHECK(all.value == 0x4A7E5005ACB148E0);
}

TEST_CASE("known digest of streams", "[known]") {
  digest all;
  for (std::uint64_t i = 0; i < 65'536; ++i) {
    stream_id const stream{i % 5, i / 7, static_cast<purpose>(i % 4)};
    all.add(tacit::normal(stream, i * i));
    all.add(std::bit_cast<std::uint64_t>(tacit::uniform(stream, i * i)));
    all.add(tacit::rademacher(stream, i * i));
  }
  CHECK(all.value == 0xE9BCFCD5836DA064);
}

TEST_CASE("known sphere scales", "[known]") {
  digest all;
  for (std::uint64_t d = 1; d < 400; ++d) all.add(tacit::sphere_scale(stream_id{31, d}, d));
  CHECK(all.value == 0xEEA88CE272DF16D5);
}
