// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/random/philox.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tacit {

namespace detail {

/// The public random words of one record, in order.
class column_stream {
 public:
  column_stream(std::uint64_t seed, std::uint64_t record) noexcept
      : stream_{seed, record, purpose::membership} {}

  [[nodiscard]] std::uint32_t next() noexcept {
    if (next_ % 4 == 0) block_ = random_block(stream_, next_ / 4);
    return block_.word[next_++ % 4];
  }

  /// Uniform on 0 … n−1 without bias: a word that would favour some values is drawn again
  /// (Lemire 2019, Fast random integer generation in an interval).
  [[nodiscard]] std::uint32_t below(std::uint32_t n) noexcept {
    std::uint32_t const unfair = (0U - n) % n;  // 2³² mod n
    std::uint64_t product = 0;
    do {
      product = std::uint64_t{next()} * n;
    } while (static_cast<std::uint32_t>(product) < unfair);
    return static_cast<std::uint32_t>(product >> 32);
  }

 private:
  stream_id stream_;
  std::uint64_t next_ = 0;
  philox_block block_{};
};

/// Bit j of the argument moves to bit 2j.
[[nodiscard]] constexpr std::uint64_t spread_bits(std::uint32_t bits) noexcept {
  std::uint64_t x = bits;
  x = (x | x << 16) & 0x0000'ffff'0000'ffff;
  x = (x | x << 8) & 0x00ff'00ff'00ff'00ff;
  x = (x | x << 4) & 0x0f0f'0f0f'0f0f'0f0f;
  x = (x | x << 2) & 0x3333'3333'3333'3333;
  return (x | x << 1) & 0x5555'5555'5555'5555;
}

}  // namespace detail

/// The candidate subsets of a universe of N records: M subsets, each record in exactly M/k of them.
/// One of them, drawn in secret elsewhere, is the data; which record is in which subset is public.
/// A record's prior of being in the secret subset is therefore exactly 1/k.
///
/// A record's column (its M membership bits) is a function of (public seed, record index) alone, and
/// uniform over all columns with exactly M/k ones; columns of different records are independent.
/// Any shard of the records rebuilds exactly its own columns.
///
/// Memory: N·M/8 bytes (M rounded up to a multiple of 64).
/// Source: PACZero (arXiv 2605.06505), balanced candidate subsets.
class candidate_set {
 public:
  struct shape {
    std::size_t records = 0;     ///< N, 1 … 2³²
    std::size_t subsets = 128;   ///< M, a multiple of one_in, below 2³²
    std::size_t one_in = 2;      ///< k ≥ 2: every record is in one subset in k
    bool complementary = false;  ///< k = 2 only: subsets 2j and 2j+1 are each other's complement
  };

  /// Records [first_record, first_record + records) of the universe of this seed. With
  /// `complementary` a column is uniform over the columns that split every pair: M/2 fair bits.
  /// @throws std::invalid_argument for a shape outside the ranges above
  [[nodiscard]] static candidate_set balanced(shape dimensions, std::uint64_t public_seed,
                                              std::size_t first_record = 0) {
    return {dimensions, public_seed, first_record};
  }

  [[nodiscard]] std::size_t records() const noexcept { return shape_.records; }
  [[nodiscard]] std::size_t subsets() const noexcept { return shape_.subsets; }
  [[nodiscard]] shape const& dimensions() const noexcept { return shape_; }
  [[nodiscard]] std::uint64_t public_seed() const noexcept { return public_seed_; }
  [[nodiscard]] std::size_t first_record() const noexcept { return first_record_; }

  /// 1/k: the chance of every record to be in the secret subset, before anything is released.
  [[nodiscard]] double prior() const noexcept { return 1.0 / static_cast<double>(shape_.one_in); }

  /// Both indices count from 0, the record's within this shard.
  /// @throws std::invalid_argument for an index beyond the set
  [[nodiscard]] bool contains(std::size_t subset, std::size_t record) const {
    detail::require_argument(subset < subsets(), "candidate_set", "subset", subset,
                             "below the number of subsets");
    detail::require_argument(record < records(), "candidate_set", "record", record,
                             "below the number of records");
    return (strip(subset / 64)[record] >> (subset % 64) & 1U) != 0;
  }

  /// per_subset[m] += Σ_{i∈m} per_record[i], exactly.
  ///
  /// Guarantee: exact, hence the same whatever the order of records or shards. No partial sum
  /// overflows: every number met on the way is the sum of some of the N ≤ 2³² addends, each in
  /// [−2³¹, 2³¹), so it lies in [−2⁶³, 2⁶³). What per_subset held before is the caller's: addends of
  /// at most 2³⁰ (`fixed_point`) leave room for 2³³ of them in all.
  /// @throws std::invalid_argument unless the sizes are N and M; per_subset is then untouched
  void add_sums(std::span<std::int32_t const> per_record, std::span<std::int64_t> per_subset) const;

  /// per_record[i] = Σ_{m∋i} per_subset_weight[m].
  ///
  /// Guarantee: the terms are added in an order that does not depend on the records, so a
  /// record's sum is the same bits in any shard.
  /// Accuracy: nearest, absolute error ≤ (10 + M/64)·2⁻⁵³·Σ|w| to first order.
  /// @throws std::invalid_argument unless the sizes are M and N; per_record is then untouched
  void membership_sums(std::span<double const> per_subset_weight,
                       std::span<double> per_record) const {
    add_weights(per_subset_weight, per_record, 0);
  }

  /// per_record[i] = Σ_{m∌i} per_subset_weight[m]: the weights of the subsets without the record, which
  /// 1 less the sum above does not give where they are small.
  /// Accuracy and exceptions as above.
  void absence_sums(std::span<double const> per_subset_weight, std::span<double> per_record) const {
    add_weights(per_subset_weight, per_record, 255);
  }

 private:
  candidate_set(shape dimensions, std::uint64_t public_seed, std::size_t first_record);

  void draw_column(std::size_t record, std::span<std::uint64_t> column) const;

  // Of the subsets whose bits, each changed by `mask`, are set.
  void add_weights(std::span<double const> per_subset_weight, std::span<double> per_record,
                   std::size_t mask) const;

  [[nodiscard]] std::size_t strips() const noexcept { return (shape_.subsets + 63) / 64; }

  [[nodiscard]] std::uint64_t const* strip(std::size_t s) const noexcept {
    return words_.data() + s * shape_.records;
  }

  shape shape_;
  std::uint64_t public_seed_;
  std::size_t first_record_;
  // One word a record for subsets 64s … 64s+63 (a strip), strip by strip: both sums read the words
  // of a strip in order and keep its tables (16 KiB) in the first cache level.
  std::vector<std::uint64_t> words_;
};

inline candidate_set::candidate_set(shape dimensions, std::uint64_t public_seed,
                                    std::size_t first_record)
    : shape_(dimensions), public_seed_(public_seed), first_record_(first_record) {
  constexpr std::uint64_t most_records = std::uint64_t{1} << 32;
  constexpr std::uint64_t most_subsets = most_records - 1;
  auto const require = [](bool holds, char const* argument, std::size_t value, char const* range) {
    detail::require_argument(holds, "candidate_set", argument, value, range);
  };
  require(shape_.records >= 1 && shape_.records <= most_records, "records", shape_.records,
          "in [1, 2^32]");
  require(shape_.one_in >= 2, "one_in", shape_.one_in, "at least 2");
  require(shape_.subsets >= 1 && shape_.subsets <= most_subsets, "subsets", shape_.subsets,
          "in [1, 2^32 - 1]");
  require(shape_.subsets % shape_.one_in == 0, "subsets", shape_.subsets, "a multiple of one_in");
  require(!shape_.complementary || shape_.one_in == 2, "one_in", shape_.one_in,
          "2 for complementary subsets");
  require(first_record_ <= std::numeric_limits<std::size_t>::max() - shape_.records, "first_record",
          first_record_, "at most the largest index less records");

  words_.resize(strips() * shape_.records);
  std::vector<std::uint64_t> column(strips());
  for (std::size_t i = 0; i < shape_.records; ++i) {
    draw_column(first_record_ + i, column);
    for (std::size_t s = 0; s < column.size(); ++s) words_[s * shape_.records + i] = column[s];
  }
}

inline void candidate_set::draw_column(std::size_t record, std::span<std::uint64_t> column) const {
  detail::column_stream random(public_seed_, record);
  std::uint64_t const last = ~std::uint64_t{0} >> (64 * column.size() - shape_.subsets);
  if (shape_.complementary) {
    for (std::uint64_t& word : column) {
      std::uint64_t const even = detail::spread_bits(random.next());
      word = even | (~even & 0x5555'5555'5555'5555) << 1;
    }
    column.back() &= last;
    return;
  }
  // Start from a column whose law does not change when subsets are renamed, then flip uniformly
  // chosen bits of the excess kind until the count is right. No step prefers one subset to another,
  // so all columns with the right count are equally likely. Fair bits start near M/2; for k > 2 an
  // empty column starts nearer.
  std::size_t ones = 0;
  for (std::uint64_t& word : column) {
    word = 0;
    if (shape_.one_in == 2) {
      word = random.next();
      word |= std::uint64_t{random.next()} << 32;
      if (&word == &column.back()) word &= last;
      ones += static_cast<std::size_t>(std::popcount(word));
    }
  }
  std::size_t const target = shape_.subsets / shape_.one_in;
  while (ones != target) {
    std::uint32_t const subset = random.below(static_cast<std::uint32_t>(shape_.subsets));
    std::uint64_t& word = column[subset / 64];
    std::uint64_t const bit = std::uint64_t{1} << (subset % 64);
    bool const is_one = (word & bit) != 0;
    if (is_one != (ones > target)) continue;
    word ^= bit;
    is_one ? --ones : ++ones;
  }
}

inline void candidate_set::add_sums(std::span<std::int32_t const> per_record,
                                    std::span<std::int64_t> per_subset) const {
  detail::check_size("add_sums", "size of per_record", per_record.size(), records());
  detail::check_size("add_sums", "size of per_subset", per_subset.size(), subsets());
  for (std::size_t s = 0; s < strips(); ++s) {
    // bucket[g][b]: the sum over the records whose bits for subsets 64s + 8g … 64s + 8g + 7 are b.
    // One addition serves eight memberships; what remains does not depend on N.
    std::int64_t bucket[8][256] = {};
    std::uint64_t const* const words = strip(s);
    for (std::size_t i = 0; i < records(); ++i) {
      std::uint64_t const bits = words[i];
      std::int64_t const x = per_record[i];
      bucket[0][bits & 255] += x;
      bucket[1][bits >> 8 & 255] += x;
      bucket[2][bits >> 16 & 255] += x;
      bucket[3][bits >> 24 & 255] += x;
      bucket[4][bits >> 32 & 255] += x;
      bucket[5][bits >> 40 & 255] += x;
      bucket[6][bits >> 48 & 255] += x;
      bucket[7][bits >> 56] += x;
    }
    std::int64_t sum[64];
    for (std::size_t g = 0; g < 8; ++g) {
      // The upper half of the buckets has the top bit set: its total is that subset's sum. Adding it
      // onto the lower half forgets the bit.
      for (std::size_t bit = 8; bit-- > 0;) {
        std::size_t const half = std::size_t{1} << bit;
        std::int64_t total = 0;
        for (std::size_t b = 0; b < half; ++b) {
          total += bucket[g][half + b];
          bucket[g][b] += bucket[g][half + b];
        }
        sum[8 * g + bit] = total;
      }
    }
    std::size_t const used = std::min<std::size_t>(64, subsets() - 64 * s);
    for (std::size_t m = 0; m < used; ++m) per_subset[64 * s + m] += sum[m];
  }
}

inline void candidate_set::add_weights(std::span<double const> per_subset_weight,
                                       std::span<double> per_record, std::size_t mask) const {
  char const* const function = mask == 0 ? "membership_sums" : "absence_sums";
  detail::check_size(function, "size of per_subset_weight", per_subset_weight.size(), subsets());
  detail::check_size(function, "size of per_record", per_record.size(), records());
  for (std::size_t s = 0; s < strips(); ++s) {
    // partial[g][b ^ mask]: the weights of the bits set in b, where b is byte g of a word in memory.
    // Each entry is one addition to the entry without its top bit.
    double partial[8][256];
    for (std::size_t g = 0; g < 8; ++g) {
      partial[g][mask] = 0.0;
      for (std::size_t bit = 0; bit < 8; ++bit) {
        std::size_t const place = std::endian::native == std::endian::little ? g : 7 - g;
        std::size_t const m = 64 * s + 8 * place + bit;
        double const weight = m < subsets() ? per_subset_weight[m] : 0.0;
        std::size_t const half = std::size_t{1} << bit;
        for (std::size_t b = 0; b < half; ++b) {
          partial[g][(half + b) ^ mask] = partial[g][b ^ mask] + weight;
        }
      }
    }
    // Bytes are read where they lie: from shifts of the word g++ makes vector code, which is slower.
    auto const* byte = reinterpret_cast<unsigned char const*>(strip(s));
    for (std::size_t i = 0; i < records(); ++i, byte += 8) {
      double const low =
          (partial[0][byte[0]] + partial[1][byte[1]]) + (partial[2][byte[2]] + partial[3][byte[3]]);
      double const high =
          (partial[4][byte[4]] + partial[5][byte[5]]) + (partial[6][byte[6]] + partial[7][byte[7]]);
      per_record[i] = s == 0 ? low + high : per_record[i] + (low + high);
    }
  }
}

}  // namespace tacit
