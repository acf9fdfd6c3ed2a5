// SPDX-License-Identifier: Apache-2.0
#include <tacit/secret/chacha20.hpp>

#include "support/catch.hpp"

using tacit::chacha20;
using tacit::chacha20_block;

namespace {

// RFC 8439, section 2.3.2: key bytes 0, 1, …, 31.
constexpr chacha20_block section_2_3_2 = chacha20({0x03020100, 0x07060504, 0x0B0A0908, 0x0F0E0D0C,
                                                   0x13121110, 0x17161514, 0x1B1A1918, 0x1F1E1D1C},
                                                  1, {0x09000000, 0x4A000000, 0});

}  // namespace

// The compiler itself runs the cipher.
static_assert(section_2_3_2 == chacha20_block{0xE4E7F110, 0x15593BD1, 0x1FDD0F50, 0xC47120A3,  //
                                              0xC7F4D1C7, 0x0368C033, 0x9AAA2204, 0x4E6CD4C3,  //
                                              0x466482D2, 0x09AA9F07, 0x05D7C214, 0xA2028BD9,  //
                                              0xD19C12B5, 0xB94E16DE, 0xE883D0CB, 0x4E3C50A2});

TEST_CASE("RFC 8439, appendix A.1", "[chacha20]") {
  // 1: key 0, nonce 0, counter 0
  CHECK(chacha20({}, 0, {}) == chacha20_block{0xADE0B876, 0x903DF1A0, 0xE56A5D40, 0x28BD8653,  //
                                              0xB819D2BD, 0x1AED8DA0, 0xCCEF36A8, 0xC70D778B,  //
                                              0x7C5941DA, 0x8D485751, 0x3FE02477, 0x374AD8B8,  //
                                              0xF4B8436A, 0x1CA11815, 0x69B687C3, 0x8665EEB2});
  // 2: counter 1
  CHECK(chacha20({}, 1, {}) == chacha20_block{0xBEE7079F, 0x7A385155, 0x7C97BA98, 0x0D082D73,  //
                                              0xA0290FCB, 0x6965E348, 0x3E53C612, 0xED7AEE32,  //
                                              0x7621B729, 0x434EE69C, 0xB03371D5, 0xD539D874,  //
                                              0x281FED31, 0x45FB0A51, 0x1F0AE1AC, 0x6F4D794B});
  // 3: last byte of the key 1, counter 1
  CHECK(chacha20({0, 0, 0, 0, 0, 0, 0, 0x01000000}, 1, {}) ==
        chacha20_block{0x2452EB3A, 0x9249F8EC, 0x8D829D9B, 0xDDD4CEB1,  //
                       0xE8252083, 0x60818B01, 0xF38422B8, 0x5AAA49C9,  //
                       0xBB00CA8E, 0xDA3BA7B4, 0xC4B592D1, 0xFDF2732F,  //
                       0x4436274E, 0x2561B3C8, 0xEBDD4AA6, 0xA0136C00});
  // 4: second byte of the key 0xFF, counter 2
  CHECK(chacha20({0x0000FF00}, 2, {}) ==
        chacha20_block{0xFB4DD572, 0x4BC42EF1, 0xDF922636, 0x327F1394,  //
                       0xA78DEA8F, 0x5E269039, 0xA1BEBBC1, 0xCAF09AAE,  //
                       0xA25AB213, 0x48A6B46C, 0x1B9D9BCB, 0x092C5BE6,  //
                       0x546CA624, 0x1BEC45D5, 0x87F47473, 0x96F0992E});
  // 5: last byte of the nonce 2
  CHECK(chacha20({}, 0, {0, 0, 0x02000000}) ==
        chacha20_block{0x374DC6C2, 0x3736D58C, 0xB904E24A, 0xCD3F93EF,  //
                       0x88228B1A, 0x96A4DFB3, 0x5B76AB72, 0xC727EE54,  //
                       0x0E0E978A, 0xF3145C95, 0x1B748EA8, 0xF786C297,  //
                       0x99C28F5F, 0x628314E8, 0x398A19FA, 0x6DED1B53});
}
