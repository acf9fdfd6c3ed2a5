// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/direction_block.hpp>
#include <tacit/zo/storage.hpp>
#include <tacit/zo/vectors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

/// What the passes of zo/step.hpp do to an entry, and to a block of entries at once: bit for bit the same.
/// The plain loop over the entries is the definition, and does what vectors cannot.

namespace tacit {

/// One term of a step, step·z − decay·θ, with step = −η·y and decay = ηλ; a weight decay stands in
/// the first term of a step. By itself also a list of one.
struct direction_step {
  direction z;
  float step;
  float decay = 0.0F;

  [[nodiscard]] TACIT_HD static constexpr std::size_t size() noexcept { return 1; }
  [[nodiscard]] TACIT_HD direction_step const& operator[](std::size_t) const noexcept {
    return *this;
  }
};

/// A view of K terms. Whoever runs the functor must be able to read them.
struct direction_steps {
  direction_step const* data = nullptr;
  std::size_t count = 0;

  [[nodiscard]] TACIT_HD std::size_t size() const noexcept { return count; }
  [[nodiscard]] TACIT_HD direction_step const& operator[](std::size_t k) const noexcept {
    return data[k];
  }
};

namespace detail {

/// S(x + amount·z).
template <parameter_storage T>
[[nodiscard]] TACIT_HD T moved(float x, float amount, float z) noexcept {
  return rounded_to<T>(static_cast<float>(double{x} + double{amount} * double{z}));
}

/// S(x + amount·z − decay·x).
template <parameter_storage T>
[[nodiscard]] TACIT_HD T decayed(float x, float amount, float z, float decay) noexcept {
  double const sum = double{x} + double{amount} * double{z};
  return rounded_to<T>(static_cast<float>(sum - double{decay} * double{x}));
}

/// Whether a step has a term that is not 0. One that has none is a hold, which rounds nothing.
template <class Terms>
[[nodiscard]] TACIT_HD bool moves(Terms const& terms) noexcept {
  for (std::size_t k = 0; k < terms.size(); ++k) {
    if (terms[k].step != 0.0F || terms[k].decay != 0.0F) return true;
  }
  return false;
}

TACIT_HD inline void add_term(double& sum, direction_step const& term, float x, float z) noexcept {
  sum += double{term.step} * double{z};
  if (term.decay != 0.0F) sum -= double{term.decay} * double{x};
}

/// The update of one entry.
template <parameter_storage T, class Terms>
[[nodiscard]] TACIT_HD T stepped(float x, Terms const& terms, std::uint64_t index) noexcept {
  double sum = double{x};
  for (std::size_t k = 0; k < terms.size(); ++k) add_term(sum, terms[k], x, terms[k].z(index));
  return rounded_to<T>(static_cast<float>(sum));
}

/// Moves along one direction, one after the other and each rounded; the last may decay.
template <std::size_t Moves>
struct chain {
  float amount[Moves];
  float decay = 0.0F;

  template <bool Decays, parameter_storage T>
  [[nodiscard]] T apply(T stored, float z) const noexcept {
    for (std::size_t m = 0; m < Moves; ++m) {
      float const x = to_float(stored);
      stored =
          Decays && m + 1 == Moves ? decayed<T>(x, amount[m], z, decay) : moved<T>(x, amount[m], z);
    }
    return stored;
  }

#if defined(TACIT_VECTORS)
  /// The same of a vector, but for the last rounding to storage.
  template <bool Decays, bool Signs, parameter_storage T>
  [[nodiscard]] floats apply(floats x, floats z) const noexcept {
    for (std::size_t m = 0; m < Moves; ++m) {
      if (m > 0) x = stored_vectors<T>::nearest(x);
      if (Signs && !(Decays && m + 1 == Moves)) {
        // amount·z is exact in float, and to round a sum of two floats to double and then to float is
        // to round it once.
        x = x + amount[m] * z;
        continue;
      }
      auto const move = [&](doubles u, doubles v) {
        doubles const sum = u + double{amount[m]} * v;
        return Decays && m + 1 == Moves ? sum - double{decay} * u : sum;
      };
      x = narrowed(move(widened<0>(x), widened<0>(z)), move(widened<1>(x), widened<1>(z)));
    }
    return x;
  }
#endif
};

/// Whether the signs of a block are whole blocks of Philox.
[[nodiscard]] inline bool whole_signs(direction const& z, std::uint64_t first,
                                      std::size_t length) noexcept {
  return z.law == direction_law::rademacher && first % sign_group == 0 && length % sign_group == 0;
}

#if defined(TACIT_VECTORS)

/// The groups of a block; take(k, z) gives the entries of the direction for group k.
template <bool Decays, bool Signs, parameter_storage T, std::size_t Moves, class Take>
void move_groups(T* theta, std::size_t groups, chain<Moves> const moves,
                 Take const& take) noexcept {
  for (std::size_t k = 0; k < groups; ++k, theta += group_entries) {
    floats x[group_vectors], z[group_vectors];
    stored_vectors<T>::load(theta, x);
    take(k, z);
    for (std::size_t v = 0; v < group_vectors; ++v) {
      x[v] = moves.template apply<Decays, Signs, T>(x[v], z[v]);
    }
    stored_vectors<T>::store(x, theta);
  }
}

#endif

template <bool Decays, parameter_storage T, std::size_t Moves>
void move_block(T* theta, std::size_t length, direction const& z, std::uint64_t first,
                chain<Moves> const moves) noexcept {
  direction_block block;
  std::size_t done = 0;
#if defined(TACIT_VECTORS)
  bool const by_vectors = stored_vectors<T>::holds(theta, length);
  if (by_vectors && whole_signs(z, first, length)) {
    std::uint32_t word[direction_block::size / 32];
    fill_words(z.stream, first / sign_group, length / sign_group, word);
    return move_groups<Decays, true>(theta, length / group_entries, moves,
                                     [&](std::size_t k, floats(&out)[group_vectors]) {
                                       for (std::size_t v = 0; v < group_vectors; ++v)
                                         out[v] = signs_of<T>(word[k], v);
                                     });
  }
#endif
  float const* __restrict const entries = block.load(z, first, length);
#if defined(TACIT_VECTORS)
  if (by_vectors) {
    done = length / group_entries * group_entries;
    move_groups<Decays, false>(theta, length / group_entries, moves,
                               [&](std::size_t k, floats(&out)[group_vectors]) {
                                 stored_vectors<float>::load(entries + group_entries * k, out);
                                 stored_vectors<T>::arrange(out);
                               });
  }
#endif
  for (std::size_t j = done; j < length; ++j) {
    theta[j] = moves.template apply<Decays>(theta[j], entries[j]);
  }
}

/// Entries first … first + length − 1, which lie in one block of the direction, in one go.
template <parameter_storage T, std::size_t Moves>
[[gnu::noinline]] void move_block(T* theta, std::size_t length, direction const& z,
                                  std::uint64_t first, chain<Moves> const& moves) noexcept {
  if (moves.decay == 0.0F) {
    move_block<false>(theta, length, z, first, moves);
  } else {
    move_block<true>(theta, length, z, first, moves);
  }
}

#if defined(TACIT_VECTORS)

#if defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__BMI2__)
#define TACIT_SIGN_TABLES

/// Whether x + Σ_k ±step_k is exact in double, with all its partial sums in any order: if all numbers are
/// multiples of 2^q and their magnitudes add to less than 2^(q+53). False where a number is a NaN.
template <parameter_storage T, class Terms>
[[nodiscard, gnu::noinline]] bool exact_sums(T const* theta, std::size_t length,
                                             Terms const& terms) noexcept {
  using bits = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>;
  constexpr auto all = static_cast<bits>(-1);
  bits largest = 0;
  bits smallest = all;  // of those that are not 0, less 1
  for (std::size_t j = 0; j < length; ++j) {
    bits magnitude = 0;
    std::memcpy(&magnitude, theta + j, sizeof magnitude);
    magnitude = static_cast<bits>(magnitude & all >> 1);
    largest = std::max(largest, magnitude);
    smallest = std::min(smallest, static_cast<bits>(magnitude - 1));
  }
  float low = to_float(__builtin_bit_cast(T, static_cast<bits>(smallest + 1)));
  float high = to_float(__builtin_bit_cast(T, largest));
  double sum = double{high};
  if (largest == 0) low = std::numeric_limits<float>::max();
  for (std::size_t t = 0; t < terms.size(); ++t) {
    if (terms[t].decay != 0.0F) return false;
    float const step = terms[t].step;
    float const size = step < 0.0F ? -step : step;
    sum += double{size};
    if (size != 0.0F) low = std::min(low, size);
  }
  // With 2^e ≤ low < 2^(e+1) all are multiples of 2^(e−23), unless low is subnormal; low·2^29 < 2^(e+30).
  return low >= std::numeric_limits<float>::min() && sum < double{low} * 0x1p29;
}

/// Sums of signs by looking them up, four terms at a time: exact, and so the same in any order.
class sign_table {
 public:
  static constexpr std::size_t terms = 4;
  /// Terms first … first + 3 of those there are.
  template <class Terms>
  sign_table(Terms const& all, std::size_t first) noexcept {
    for (std::size_t index = 0; index < 16; ++index) {
      double sum = 0.0;
      for (std::size_t t = first; t < std::min(first + terms, all.size()); ++t) {
        double const step{all[t].step};
        sum += (index >> (t - first) & 1) != 0 ? -step : step;
      }
      sum_[index] = sum;
    }
  }
  /// Adds the sums of 32 entries, bit n of word t being the sign of entry n along term t.
  void add_to(doubles (&sum)[2 * group_vectors],
              std::uint32_t const (&word)[terms]) const noexcept {
    __m256i index = _mm256_setzero_si256();
    for (std::size_t t = 0; t < terms; ++t) {
      index =
          _mm256_mask_add_epi8(index, word[t], index, _mm256_set1_epi8(static_cast<char>(1 << t)));
    }
    std::uint64_t eight[4];
    std::memcpy(eight, &index, sizeof index);
    auto const low = load_vector<__m512d>(sum_);
    auto const high = load_vector<__m512d>(sum_ + 8);
    for (std::size_t h = 0; h < 2 * group_vectors; ++h) {
      __m512i const at =
          _mm512_maskz_cvtepu8_epi64(0xFF, _mm_cvtsi64_si128(static_cast<long long>(eight[h])));
      sum[h] += _mm512_permutex2var_pd(low, at, high);
    }
  }

 private:
  alignas(64) double sum_[16];
};

#endif

/// The update of a block by terms that are all signs; false, and nothing done, where vectors cannot.
template <parameter_storage T, class Terms>
[[nodiscard]] bool sum_signs(T* theta, std::size_t length, Terms const& terms,
                             std::uint64_t first) noexcept {
  constexpr std::size_t most = 16;  // terms whose signs there is room for
  if (terms.size() > most) return false;
  std::uint32_t word[most][direction_block::size / 32];
  for (std::size_t t = 0; t < terms.size(); ++t) {
    direction const& z = terms[t].z;
    if (!whole_signs(z, first, length)) return false;
    fill_words(z.stream, first / sign_group, length / sign_group, word[t]);
  }
#if defined(TACIT_SIGN_TABLES)
  bool const exact = exact_sums(theta, length, terms);
  for (std::size_t t = terms.size(); exact && t % sign_table::terms != 0; ++t) {
    std::memset(word[t], 0, sizeof word[t]);
  }
  sign_table const table[] = {{terms, 0}, {terms, 4}, {terms, 8}, {terms, 12}};
#else
  constexpr bool exact = false;
#endif
  if (!exact && !stored_vectors<T>::holds(theta, length)) return false;
  for (std::size_t k = 0; k < length / group_entries; ++k, theta += group_entries) {
    floats x[group_vectors];
    doubles sum[2 * group_vectors];
    stored_vectors<T>::load(theta, x);
    for (std::size_t v = 0; v < group_vectors; ++v) {
      sum[2 * v] = widened<0>(x[v]);
      sum[2 * v + 1] = widened<1>(x[v]);
    }
#if defined(TACIT_SIGN_TABLES)
    for (std::size_t t = 0; exact && t < terms.size(); t += sign_table::terms) {
      std::uint32_t four[sign_table::terms];
      for (std::size_t i = 0; i < sign_table::terms; ++i) {
        four[i] = stored_vectors<T>::arrange(word[t + i][k]);
      }
      table[t / sign_table::terms].add_to(sum, four);
    }
#endif
    for (std::size_t t = 0; !exact && t < terms.size(); ++t) {
      for (std::size_t h = 0; h < 2 * group_vectors; ++h) {
        sum[h] += steps_of<T>(word[t][k], h, double{terms[t].step});
      }
      if (double const decay{terms[t].decay}; decay != 0.0) {
        for (std::size_t v = 0; v < group_vectors; ++v) {
          sum[2 * v] -= decay * widened<0>(x[v]);
          sum[2 * v + 1] -= decay * widened<1>(x[v]);
        }
      }
    }
    for (std::size_t v = 0; v < group_vectors; ++v) x[v] = narrowed(sum[2 * v], sum[2 * v + 1]);
    stored_vectors<T>::store(x, theta);
  }
  return true;
}

#endif

/// The update of a block by several terms.
template <parameter_storage T, class Terms>
[[gnu::noinline]] void sum_block(T* theta, std::size_t length, Terms const& terms,
                                 std::uint64_t first) noexcept {
#if defined(TACIT_AVX2) || defined(__aarch64__)  // SSE2 compares no 64 bits
  if (sum_signs(theta, length, terms, first)) return;
#endif
  direction_block block;
  double sum[direction_block::size];
  for (std::size_t j = 0; j < length; ++j) sum[j] = double{to_float(theta[j])};
  for (std::size_t k = 0; k < terms.size(); ++k) {
    float const* __restrict const z = block.load(terms[k].z, first, length);
    double const step{terms[k].step};
    double const decay{terms[k].decay};
    for (std::size_t j = 0; j < length; ++j) sum[j] += step * double{z[j]};
    if (decay != 0.0) {
      for (std::size_t j = 0; j < length; ++j) sum[j] -= decay * double{to_float(theta[j])};
    }
  }
  for (std::size_t j = 0; j < length; ++j) {
    theta[j] = rounded_to<T>(static_cast<float>(sum[j]));
  }
}

}  // namespace detail

}  // namespace tacit
