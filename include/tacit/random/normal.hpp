// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/random/philox.hpp>

#include <cstdint>

namespace tacit {
namespace detail {

[[nodiscard]] TACIT_HD constexpr std::int32_t high_product(std::int32_t a,
                                                           std::int32_t b) noexcept {
  return static_cast<std::int32_t>(std::int64_t{a} * b >> 32);
}

/// The lower tail of the normal law by octaves of probability; see half_normal.
struct alignas(32) quantile_table {
  std::int32_t slope[32][8];   // powers 1 to 8, in units of 2^-30
  std::int32_t right_end[32];  // in units of 2^-28
};

// clang-format off
inline constexpr quantile_table quantiles = {
  {
    {1345733859, 125437, 349601157, 27872763, 38745365, 484455049, -691431215, 642242517},
    {844727492, 224260879, 163615521, 140079891, -60421605, 527160957, -694659051, 612550120},
    {652003473, 227851588, 143505054, 130218018, -57505190, 489760021, -646271000, 569155959},
    {545669415, 212834651, 131601867, 120751393, -54643351, 458290919, -605575747, 532737195},
    {476747924, 197267786, 122065745, 112783573, -52132770, 431600220, -570980632, 501834753},
    {427751981, 183627429, 114109097, 106043951, -49909194, 408704015, -541233973, 475311967},
    {390764024, 172006055, 107374619, 100281009, -47923176, 388847497, -515379310, 452298884},
    {361636723, 162098546, 101607549, 95298695, -46137288, 371453058, -492684833, 432130100},
    {337970231, 153582986, 96614294, 90946589, -44522011, 356076120, -472586443, 414293386},
    {318271238, 146191298, 92246737, 87109058, -43053450, 342371244, -454644848, 398390551},
    {301557526, 139712465, 88390928, 83696509, -41711953, 330067057, -438514080, 384108598},
    {287154118, 133982381, 84958453, 80638808, -40481191, 318947943, -423918551, 371198683},
    {274580416, 128873056, 81879980, 77880434, -39347485, 308840669, -410636302, 359460757},
    {263484028, 124283823, 79100534, 75376941, -38299296, 299604571, -398486690, 348732289},
    {253600114, 120134683, 76576032, 73092363, -37326838, 291124290, -387321245, 338879915},
    {244725398, 116361369, 74270748, 70997293, -36421759, 283304333, -377016829, 329793189},
    {236700993, 112911709, 72155430, 69067463, -35576894, 276064971, -367470442, 321379853},
    {229400731, 109742924, 70205905, 67282662, -34786066, 269339103, -358595251, 313562232},
    {222723013, 106819602, 68402018, 65625922, -34043924, 263069832, -350317520, 306274443},
    {216585011, 104112182, 66726829, 64082887, -33345806, 257208589, -342574211, 299460223},
    {210918452, 101595778, 65165991, 62641326, -32687639, 251713643, -335311095, 293071217},
    {205666500, 99249290, 63707269, 61290752, -32065843, 246548928, -328481249, 287065627},
    {200781412, 97054702, 62340162, 60022113, -31477264, 241683105, -322043849, 281407119},
    {196222760, 94996529, 61055604, 58827560, -30919109, 237088797, -315963203, 276063948},
    {191956057, 93061387, 59845720, 57700242, -30388897, 232741980, -310207954, 271008251},
    {187951681, 91237642, 58703640, 56634158, -29884415, 228621472, -304750435, 266215456},
    {184184030, 89515129, 57623335, 55624023, -29403685, 224708522, -299566132, 261663807},
    {180630853, 87884923, 56599497, 54665161, -28944931, 220986465, -294633240, 257333966},
    {177272704, 86339153, 55627427, 53753424, -28506557, 217440434, -289932295, 253208679},
    {174092508, 84870851, 54702952, 52885115, -28087118, 214057122, -285445862, 249272498},
    {171075202, 83473820, 53822352, 52056924, -27685312, 210824578, -281158270, 245511549},
    {168207440, 82142531, 52982297, 51265886, -27299953, 207732033, -277055397, 241913330},
  }, {
    0, 181056966, 308794562, 411812350, 500023280, 578176337, 648958558, 714056425,
    774606725, 831416839, 885083601, 936062382, 984709646, 1031310417, 1076096700, 1119260244,
    1160961616, 1201336828, 1240502252, 1278558356, 1315592563, 1351681499, 1386892754, 1421286306,
    1454915656, 1487828764, 1520068818, 1551674867, 1582682354, 1613123565, 1643028006, 1672422722,
  }
};
// clang-format on

#if defined(__CUDACC__) || defined(__HIP__)
static __device__ constexpr quantile_table quantiles_on_device = quantiles;
#endif

[[nodiscard]] TACIT_HD constexpr quantile_table const& quantiles_here() noexcept {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return quantiles_on_device;
#else
  return quantiles;
#endif
}

/// −2^28 Φ⁻¹((m + ½)/2^32) for m < 2^31, rounded: the upper half of the normal law in fixed point.
///
/// q = 2m + 1 is the lower tail's mass in units of 2^-33. Its leading zeros name an octave, and on each
/// octave one polynomial of degree 8 in the distance from the octave's right end follows the quantile,
/// since Φ⁻¹ is nearly a logarithm there. The nodes are Chebyshev's, and one of them is the centre of
/// the law, so that the two halves meet in 0. Integers only: no flag, compiler or device changes a bit.
///
/// Accuracy: within 2^-25 of Φ⁻¹.
[[nodiscard]] TACIT_HD constexpr std::int32_t half_normal(
    std::uint32_t m, quantile_table const& table = quantiles_here()) noexcept {
  std::uint32_t const q = 2 * m + 1;
  int const octave = __builtin_clz(q);
  auto const distance = static_cast<std::int32_t>(~(q << octave) & 0x7FFFFFFF);  // 2^32 y, y < ½
  std::int32_t const(&c)[8] = table.slope[octave];
  std::int32_t sum = c[7];
  for (int k = 6; k >= 0; --k) sum = c[k] + high_product(sum, distance);
  return table.right_end[octave] + ((high_product(sum, distance) + 2) >> 2);
}

/// The top bit is the sign, the other 31 are the place in the half. Both steps to float are exact or
/// correctly rounded.
[[nodiscard]] TACIT_HD constexpr float normal_from(
    std::uint32_t word, quantile_table const& table = quantiles_here()) noexcept {
  std::int32_t const magnitude = half_normal(word & 0x7FFFFFFF, table);
  return static_cast<float>(word >> 31 != 0 ? -magnitude : magnitude) * 0x1p-28F;
}

}  // namespace detail

/// Draws 4n … 4n + 3 of `normal`, which share a block.
struct four_normals {
  float value[4];
};

[[nodiscard]] TACIT_HD constexpr four_normals normals(stream_id stream, std::uint64_t n) noexcept {
  philox_block const block = random_block(stream, n);
  return {{detail::normal_from(block.word[0]), detail::normal_from(block.word[1]),
           detail::normal_from(block.word[2]), detail::normal_from(block.word[3])}};
}

/// N(0, 1): the quantile of one of 2^32 equally likely, symmetric probabilities (odd multiples of
/// 2^-33), a multiple of 2^-28 rounded to float. |z| < 6.338. A pure function of (stream, index);
/// index < 2^56.
/// Accuracy: within 2^-25 and half a unit in the last place of the exact quantile. The same float on
/// every compiler, flag and device: integer arithmetic, one correctly rounded conversion, and a
/// multiplication by a power of two.
[[nodiscard]] TACIT_HD constexpr float normal(stream_id stream, std::uint64_t index) noexcept {
  return detail::normal_from(random_bits32(stream, index));
}

}  // namespace tacit
