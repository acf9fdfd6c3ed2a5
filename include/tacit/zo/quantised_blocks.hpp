// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/direction_block.hpp>
#include <tacit/zo/moves.hpp>
#include <tacit/zo/quantised_units.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/storage.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

/// Quantised parameters: blocks of 32 entries θ_j = s·q_j with one scale s and small integers q_j, laid out as
/// inference engines have them. A step changes the integers alone; the scales stay.
///
/// With R(x) the one or other integer next to x, drawn so that E[R(x)] = x (`integer_at_random`), and
/// u_j = R(μz_j/s):
///   to θ+μz     q ← q + u      s·u is μz on average
///   to θ−μz     q ← q − 2u     the same u: it is drawn by index, from a public stream of the direction
///   back        q ← q + u      integers: exactly where they were
///   update      q ← R(Σ_k (step_k·z_k − decay_k·θ)/s) + q, cut off to the rest range
///
/// **The rest range.** Between steps least + U ≤ q ≤ most − U, where U = ⌈μ·max|z|/|s|⌉ is the largest |u| that
/// there can be: 1 stands for max|z| where z is a sign, 6.338 for normals, which have no larger ones. So no move
/// leaves the range of the integers. In the law `sphere` the entries' range changes with every direction: it is refused
/// (zo/quantised_parameters.hpp).
///
/// **What is unbiased.** Given z, E[s·u] = μz, so (ℓ(θ+su) − ℓ(θ−su))/(2μ) is zᵀg on average to first order; its
/// variance has s/μ where that of θ ± μz has 1, wherever μ < s. An update that stays in the rest range is right on average,
/// up to 2^-32 of a unit; one beyond is cut off, as by a projection onto the range, and biased inwards.
///
/// **Privacy.** Both draws are functions of a public seed and the step. The integers are post-processing of the releases:
/// they cost nothing, and whoever has the releases repeats them bit for bit.
///
/// Same bits everywhere: products of floats are exact in double, and quotients are rounded once.
/// Sources: the layout is ggml's; Gupta, Agrawal, Gopalakrishnan, Narayanan 2015 for rounding at random.

namespace tacit {

/// ggml's Q8_0: θ_j = s·q_j, 8.5 bits an entry.
struct q8_0 {
  half scale;
  std::int8_t entry[32];

  static constexpr int least = -127;
  static constexpr int most = 127;
  [[nodiscard]] TACIT_HD constexpr int get(std::size_t j) const noexcept { return entry[j]; }
  TACIT_HD constexpr void set(std::size_t j, int q) noexcept {
    entry[j] = static_cast<std::int8_t>(q);
  }
  /// q_j ← to(q_j, j) for all j.
  template <class To>
  constexpr void change(To const& to) noexcept {
    for (std::size_t j = 0; j < 32; ++j) set(j, to(get(j), j));
  }

  friend constexpr bool operator==(q8_0 const&, q8_0 const&) = default;
};

/// ggml's Q4_0: θ_j = s·(n_j − 8), 4.5 bits an entry. Byte j has n_j in its lower half and n_{j+16} in its upper.
struct q4_0 {
  half scale;
  std::uint8_t pair[16];

  static constexpr int least = -8;
  static constexpr int most = 7;
  [[nodiscard]] TACIT_HD constexpr int get(std::size_t j) const noexcept {
    return (j < 16 ? pair[j] & 15 : pair[j - 16] >> 4) - 8;
  }
  TACIT_HD constexpr void set(std::size_t j, int q) noexcept {
    unsigned const n = static_cast<unsigned>(q + 8) & 15;
    std::uint8_t& both = pair[j % 16];
    both = static_cast<std::uint8_t>(j < 16 ? (both & 0xF0U) | n : (both & 0x0FU) | n << 4);
  }
  /// q_j ← to(q_j, j) for all j, the two of a byte at a time.
  template <class To>
  constexpr void change(To const& to) noexcept {
    for (std::size_t j = 0; j < 16; ++j) {
      auto const low = static_cast<unsigned>(to((pair[j] & 15) - 8, j) + 8) & 15;
      auto const high = static_cast<unsigned>(to((pair[j] >> 4) - 8, j + 16) + 8) & 15;
      pair[j] = static_cast<std::uint8_t>(low | high << 4);
    }
  }

  friend constexpr bool operator==(q4_0 const&, q4_0 const&) = default;
};

static_assert(sizeof(q8_0) == 34 && sizeof(q4_0) == 18);

template <class B>
concept quantised_block = std::same_as<B, q8_0> || std::same_as<B, q4_0>;

/// θ_j: exact, for a product of 11 and 8 bits.
template <quantised_block B>
[[nodiscard]] TACIT_HD constexpr float value_of(B const& block, std::size_t j) noexcept {
  return to_float(block.scale) * static_cast<float>(block.get(j));
}

/// Where the integers of a block may be between steps; none where the block cannot be moved.
struct rest_range {
  int least = 0;
  int most = -1;

  [[nodiscard]] TACIT_HD constexpr bool empty() const noexcept { return most < least; }
  [[nodiscard]] TACIT_HD constexpr int nearest(int q) const noexcept {
    return q < least ? least : q > most ? most : q;
  }

  friend constexpr bool operator==(rest_range, rest_range) = default;
};

/// max|z_j| of a law: of `sphere` there is no bound for all directions, and the answer is infinite.
[[nodiscard]] TACIT_HD constexpr float largest_entry(direction_law law) noexcept {
  return law == direction_law::rademacher ? 1.0F
         : law == direction_law::gaussian ? 6.338F
                                          : __builtin_huge_valf();
}

/// The rest range for moves by μz: empty for a scale that is 0, infinite or NaN, and where U ≥ `B::most`.
template <quantised_block B>
[[nodiscard]] TACIT_HD constexpr rest_range rest_of(half scale, float mu,
                                                    direction_law law) noexcept {
  double const s = double{to_float(scale)};
  double const size = s < 0.0 ? -s : s;
  // Quotients grow with their numerators, also when rounded: none of the moves is larger.
  double const largest = double{mu} * double{largest_entry(law)} / size;
  if (!(size > 0.0 && size < __builtin_huge_val() && largest > 0.0 && largest <= B::most - 1)) {
    return {};
  }
  int const whole = static_cast<int>(largest);
  int const u = whole + (largest > whole ? 1 : 0);
  return {B::least + u, B::most - u};
}

/// The draws of the moves along a direction.
[[nodiscard]] TACIT_HD constexpr stream_id moves_of(direction const& z) noexcept {
  return {z.stream.seed, z.stream.step, purpose::quantised_move};
}

namespace detail {

/// q + times·u. What is past the integers' range is cut off modulo 2^8 or 2^4, so that moves back are exact even then.
template <quantised_block B>
TACIT_HD constexpr void move_entry(B& block, std::size_t j, double units, int times,
                                   std::uint32_t random) noexcept {
  block.set(j, block.get(j) + times * integer_at_random(units, random));
}

/// Units of which as many or more move an entry to an end of its rest range in any case.
template <quantised_block B>
[[nodiscard]] TACIT_HD constexpr double beyond() noexcept {
  return 2.0 * (B::most - B::least);
}

/// The number itself within ±beyond; a NaN moves nothing.
template <quantised_block B>
[[nodiscard]] TACIT_HD constexpr double within_beyond(double units) noexcept {
  if (!(units > -beyond<B>())) return units <= -beyond<B>() ? -beyond<B>() : 0.0;
  return units > beyond<B>() ? beyond<B>() : units;
}

/// The update of an entry by `sum`, in the units of θ.
template <quantised_block B>
TACIT_HD constexpr void update_entry(B& block, std::size_t j, double sum, double scale,
                                     rest_range rest, std::uint32_t random) noexcept {
  double const units = within_beyond<B>(sum / scale);
  block.set(j, rest.nearest(block.get(j) + integer_at_random(units, random)));
}

// Two short loops overlap better with themselves than one long loop would. A block without a rest range moves by 0.

/// move_entry of all entries of blocks, along signs.
template <quantised_block B>
void move_by_signs(B* blocks, std::size_t count, float mu, int times, float const* z,
                   std::uint32_t const* random) noexcept {
  one_size by[most_blocks];
  for (std::size_t i = 0; i < count; ++i) {
    bool const stays = rest_of<B>(blocks[i].scale, mu, direction_law::rademacher).empty();
    double const scale = double{to_float(blocks[i].scale)};
    by[i] = one_size(stays ? 0.0 : double{mu} / scale);
  }
  for (std::size_t i = 0; i < count; ++i, z += block_entries, random += block_entries) {
    int unit[block_entries];
    units_of_signs(by[i], z, random, unit);
    blocks[i].change([&](int q, std::size_t j) { return q + times * unit[j]; });
  }
}

/// move_entry of all entries of a block, along normals.
template <quantised_block B>
void move_by_numbers(B& block, float mu, direction_law law, int times, float const* z,
                     std::uint32_t const* random) noexcept {
  if (rest_of<B>(block.scale, mu, law).empty()) return;
  double const scale = double{to_float(block.scale)};
  double x[block_entries];
  for (std::size_t j = 0; j < block_entries; ++j) x[j] = double{mu} * double{z[j]} / scale;
  int unit[block_entries];
  units_of(x, random, unit);
  block.change([&](int q, std::size_t j) { return q + times * unit[j]; });
}

/// update_entry of all entries of blocks, by the one term step·z of signs.
template <quantised_block B>
void update_by_signs(B* blocks, std::size_t count, float step, float mu, float const* z,
                     std::uint32_t const* random) noexcept {
  one_size by[most_blocks];
  rest_range rest[most_blocks];
  for (std::size_t i = 0; i < count; ++i) {
    rest[i] = rest_of<B>(blocks[i].scale, mu, direction_law::rademacher);
    double const units = within_beyond<B>(double{step} / double{to_float(blocks[i].scale)});
    bool const stays = rest[i].empty();
    if (stays) rest[i] = {-128, 127};
    by[i] = one_size(stays ? 0.0 : units);
  }
  for (std::size_t i = 0; i < count; ++i, z += block_entries, random += block_entries) {
    int unit[block_entries];
    units_of_signs(by[i], z, random, unit);
    rest_range const within = rest[i];
    blocks[i].change([&](int q, std::size_t j) { return within.nearest(q + unit[j]); });
  }
}

/// add_term of all entries of some blocks.
template <quantised_block B>
void add_to_sums(double* __restrict sum, B const* blocks, std::size_t length,
                 direction_step const& term, float const* __restrict z) noexcept {
  double const step{term.step};
  for (std::size_t e = 0; e < length; ++e) sum[e] += step * double{z[e]};
  if (term.decay == 0.0F) return;
  double const decay{term.decay};
  for (std::size_t e = 0; e < length; e += block_entries, ++blocks) {
    for (std::size_t j = 0; j < block_entries; ++j) {
      sum[e + j] -= decay * double{value_of(*blocks, j)};
    }
  }
}

/// update_entry of all entries, by sums.
template <quantised_block B>
void update_block(B& block, double const* sum, float mu, direction_law law,
                  std::uint32_t const* random) noexcept {
  rest_range const rest = rest_of<B>(block.scale, mu, law);
  if (rest.empty()) return;
  double const scale = double{to_float(block.scale)};
  double x[block_entries];
  for (std::size_t j = 0; j < block_entries; ++j) {
    double const units = sum[j] / scale;
    double const number = units == units ? units : 0.0;
    double const low = number > -beyond<B>() ? number : -beyond<B>();
    x[j] = low < beyond<B>() ? low : beyond<B>();
  }
  int unit[block_entries];
  units_of(x, random, unit);
  block.change([&](int q, std::size_t j) { return rest.nearest(q + unit[j]); });
}

}  // namespace detail

/// q ← q + times·R(μz/s), for 32 entries a call: `times` is 1 to θ+μz, −2 from there to θ−μz, and 1 back. A pass over
/// blocks, as those of zo/step.hpp are over entries. A block without a rest range is left alone.
template <quantised_block B>
struct quantised_perturb {
  B* blocks;
  direction z;
  float mu;
  int times = 1;
  std::uint64_t first = 0;  ///< index of the first entry among all parameters

  [[nodiscard]] TACIT_HD quantised_perturb flip() const noexcept {
    return {blocks, z, mu, -2 * times, first};
  }
  [[nodiscard]] TACIT_HD quantised_perturb restore() const noexcept { return *this; }

  /// Block b.
  TACIT_HD void operator()(std::size_t b) const noexcept {
    B& block = blocks[b];
    if (rest_of<B>(block.scale, mu, z.law).empty()) return;
    double const scale = double{to_float(block.scale)};
    stream_id const draws = moves_of(z);
    std::uint64_t const at = first + block_entries * b;
    for (std::size_t j = 0; j < block_entries; ++j) {
      detail::move_entry(block, j, double{mu} * double{z(at + j)} / scale, times,
                         random_bits32(draws, at + j));
    }
  }

  /// Blocks b … b + count − 1 on the host.
  void block(std::size_t b, std::size_t count) const noexcept {
    detail::direction_block direction;
    detail::draw_block draws;
    detail::by_parts(first, b, count, [&](std::size_t begin, std::size_t n) {
      std::uint64_t const at = first + block_entries * begin;
      float const* const entry = direction.load(z, at, block_entries * n);
      std::uint32_t const* const random = draws.load(moves_of(z), at, block_entries * n);
      if (z.law == direction_law::rademacher) {
        return detail::move_by_signs(blocks + begin, n, mu, times, entry, random);
      }
      for (std::size_t i = 0; i < n; ++i) {
        std::size_t const e = block_entries * i;
        detail::move_by_numbers(blocks[begin + i], mu, z.law, times, entry + e, random + e);
      }
    });
  }
};

template <quantised_block B>
quantised_perturb(B*, direction, float, int = 1, std::uint64_t = 0) -> quantised_perturb<B>;

/// q ← R(Σ_k (step_k·z_k − decay_k·θ)/s) + q, cut off to the rest range, which is that of μ and the directions' law.
/// The sum is taken in double and rounded to an integer once, by the stream `rounding` (zo/stochastic.hpp). A step
/// all of whose terms are 0 leaves q alone, and so does a sum that is no number.
template <quantised_block B, class Terms = direction_steps>
struct quantised_update {
  B* blocks;
  float mu;
  Terms terms;
  stream_id rounding;
  std::uint64_t first = 0;

  /// Block b.
  TACIT_HD void operator()(std::size_t b) const noexcept {
    if (!detail::moves(terms)) return;
    std::uint64_t const at = first + block_entries * b;
    rest_range const rest = rest_of<B>(blocks[b].scale, mu, terms[0].z.law);
    if (rest.empty()) return;
    for (std::size_t j = 0; j < block_entries; ++j) {
      double sum = 0.0;
      float const x = value_of(blocks[b], j);
      for (std::size_t k = 0; k < terms.size(); ++k) {
        detail::add_term(sum, terms[k], x, terms[k].z(at + j));
      }
      detail::update_entry(blocks[b], j, sum, double{to_float(blocks[b].scale)}, rest,
                           random_bits32(rounding, at + j));
    }
  }

  /// Blocks b … b + count − 1 on the host.
  void block(std::size_t b, std::size_t count) const noexcept {
    if (!detail::moves(terms)) return;
    detail::direction_block direction;
    detail::draw_block draws;
    direction_law const law = terms[0].z.law;
    bool const by_signs =
        law == direction_law::rademacher && terms.size() == 1 && terms[0].decay == 0.0F;
    detail::by_parts(first, b, count, [&](std::size_t begin, std::size_t n) {
      std::uint64_t const at = first + block_entries * begin;
      std::size_t const length = block_entries * n;
      std::uint32_t const* const random = draws.load(rounding, at, length);
      if (by_signs) {
        float const* const z = direction.load(terms[0].z, at, length);
        return detail::update_by_signs(blocks + begin, n, terms[0].step, mu, z, random);
      }
      double sum[detail::direction_block::size] = {};
      for (std::size_t k = 0; k < terms.size(); ++k) {
        float const* const z = direction.load(terms[k].z, at, length);
        detail::add_to_sums(sum, blocks + begin, length, terms[k], z);
      }
      for (std::size_t i = 0; i < n; ++i) {
        std::size_t const e = block_entries * i;
        detail::update_block(blocks[begin + i], sum + e, mu, law, random + e);
      }
    });
  }
};

template <quantised_block B, class Terms>
quantised_update(B*, float, Terms, stream_id, std::uint64_t = 0) -> quantised_update<B, Terms>;

/// From θ−μz, with z the direction of the last term, to the end of the step: bit for bit quantised_perturb{blocks, z, mu}
/// and then quantised_update{blocks, mu, terms, rounding}, in one pass. At least one term.
template <quantised_block B, class Terms = direction_steps>
struct quantised_restore_and_update {
  B* blocks;
  float mu;
  Terms terms;
  stream_id rounding;
  std::uint64_t first = 0;

  TACIT_HD void operator()(std::size_t b) const noexcept {
    quantised_perturb<B>{blocks, terms[terms.size() - 1].z, mu, 1, first}(b);
    quantised_update<B, Terms>{blocks, mu, terms, rounding, first}(b);
  }
  void block(std::size_t b, std::size_t count) const noexcept {
    detail::by_parts(first, b, count, [&](std::size_t begin, std::size_t n) {
      quantised_perturb<B>{blocks, terms[terms.size() - 1].z, mu, 1, first}.block(begin, n);
      quantised_update<B, Terms>{blocks, mu, terms, rounding, first}.block(begin, n);
    });
  }
};

template <quantised_block B, class Terms>
quantised_restore_and_update(B*, float, Terms, stream_id, std::uint64_t = 0)
    -> quantised_restore_and_update<B, Terms>;

}  // namespace tacit
