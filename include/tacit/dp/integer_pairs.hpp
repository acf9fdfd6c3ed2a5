// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/dp/condensed_pair.hpp>
#include <tacit/dp/integer_noise_law.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// Dominating pairs of noise on the integers: mixtures of one symmetric log-concave law, shifted. Such a pair dominates
/// vectors with independent noise in every coordinate, too, if shifts are L1 norms. docs/certificates/integers.md.

namespace tacit::detail {

/// A part of a mixture: the noise, moved.
struct integer_part {
  double weight;
  std::int64_t shift;
};

/// Fewer parts, for a mixture of very many: those within a factor of 1 + ratio of one another count as the one moved
/// farthest. Of P, whose parts are moved up, and Q, whose parts are moved down, such mixtures are dominated by it (Lemma 5
/// of integers.md).
template <std::same_as<integer_part> Part>
[[nodiscard]] std::vector<Part> moved_farther(std::vector<Part> parts, double ratio) {
  auto const size = [](integer_part const& part) {
    return static_cast<double>(std::abs(part.shift));
  };
  std::sort(parts.begin(), parts.end(),
            [&](auto const& a, auto const& b) { return size(a) > size(b); });
  std::vector<integer_part> out;
  for (integer_part const& part : parts) {
    if (!out.empty() && size(part) * (1.0 + ratio) >= size(out.back()) && part.shift != 0) {
      out.back().weight += part.weight;
    } else {
      out.push_back(part);
    }
  }
  return out;
}

/// Σ weight·(X + shift) over the parts `p` and over the parts `q`, at a few hundred values x after one another. Sums are
/// multiples of 2^-960·p(mode), and differences are from the heaviest of the parts `q`, the base.
template <std::same_as<integer_part> Part = integer_part>
class integer_sums {
 public:
  static constexpr std::size_t most = 512;
  using numbers = std::array<double, most>;

  struct side {
    numbers all;          // Σ weight·p(x − shift)
    numbers moved;        // of them, the parts that are not the base
    numbers excess;       // Σ weight·(p(x − shift) − p(x − base))
    numbers differences;  // Σ weight·|p(x − shift) − p(x − base)|
  };

  integer_sums(integer_noise_law const& noise, std::span<integer_part const> of_p,
               std::span<integer_part const> of_q)
      : noise_(noise), of_p_(of_p), of_q_(of_q) {
    auto const heaviest = std::max_element(
        of_q.begin(), of_q.end(), [](auto const& a, auto const& b) { return a.weight < b.weight; });
    base_shift_ = heaviest->shift;
  }

  void read(std::int64_t first, std::size_t count) {
    noise_.read(first - base_shift_, {base.data(), count}, {base_low_.data(), count});
    add(of_p_, p, first, count);
    add(of_q_, q, first, count);
  }

  /// Whether a mixture has no mass at all at x.
  [[nodiscard]] bool excluded(std::span<integer_part const> parts, std::int64_t x) const {
    return noise_.is_bounded() && std::all_of(parts.begin(), parts.end(), [&](auto const& part) {
             return !(part.weight > 0.0) || noise_.excludes(x - part.shift);
           });
  }

  side p;
  side q;
  numbers base;

 private:
  void add(std::span<integer_part const> parts, side& to, std::int64_t first, std::size_t count) {
    for (numbers* sums : {&to.all, &to.moved, &to.excess, &to.differences}) {
      std::fill_n(sums->begin(), count, 0.0);
    }
    for (integer_part const& part : parts) {
      if (!(part.weight > 0.0)) continue;
      if (part.shift == base_shift_) {
        for (std::size_t j = 0; j < count; ++j) to.all[j] += part.weight * base[j];
        continue;
      }
      noise_.read(first - part.shift, {high_.data(), count}, {low_.data(), count});
      for (std::size_t j = 0; j < count; ++j) {
        double const weighted = part.weight * high_[j];
        double const more = part.weight * ((high_[j] - base[j]) + (low_[j] - base_low_[j]));
        to.all[j] += weighted;
        to.moved[j] += weighted;
        to.excess[j] += more;
        to.differences[j] += std::abs(more);
      }
    }
  }

  integer_noise_law const& noise_;
  std::span<integer_part const> of_p_;
  std::span<integer_part const> of_q_;
  std::int64_t base_shift_ = 0;
  numbers base_low_;
  numbers high_;
  numbers low_;
};

/// A pair, and whether it is the mixtures' own, or one that dominates it.
struct integer_pair {
  finite_pair pair;
  bool exact;
  double work;  // counted nanoseconds

  [[nodiscard]] integer_pair condensed() && {
    bool const all = pair.atoms.size() <= most_atoms;
    return {detail::condensed(std::move(pair), most_atoms), exact && all, work};
  }
};

/// Σ weight·(X + shift) over the parts `p`, against that over the parts `q`. Of mixtures of more than two parts, those of P
/// are moved up from 0 and those of Q down. Weights may be off by `weight_error`, relatively, and are 1 together.
template <std::same_as<integer_noise_law> Noise>
[[nodiscard]] integer_pair integer_mixtures(Noise const& noise, std::vector<integer_part> p,
                                            std::vector<integer_part> q,
                                            double weight_error = 0.0) {
  std::int64_t low = p.front().shift;
  std::int64_t high = low;
  for (auto const* parts : {&p, &q}) {
    for (integer_part const& part : *parts) {
      low = std::min(low, part.shift);
      high = std::max(high, part.shift);
    }
  }
  std::int64_t const first = low - noise.bulk();
  std::int64_t const last = high + noise.bulk();
  double const values = static_cast<double>(last - first) + 1.0;
  integer_pair out{{}, true, 0.0};
  constexpr double most_products = 3e7;
  for (double ratio = 1e-3;
       p.size() > 2 && values * static_cast<double>(p.size() + q.size()) > most_products &&
       ratio < 1e6;
       ratio *= 2.0) {
    p = moved_farther(std::move(p), ratio);
    q = moved_farther(std::move(q), ratio);
    out.exact = false;
  }
  out.work = values * (100.0 + 4.0 * static_cast<double>(p.size() + q.size()));

  finite_pair& pair = out.pair;
  pair.atoms.own().reserve(static_cast<std::size_t>(values));
  double const span = static_cast<double>(high - low);
  double const ratio_error = noise.ratio_error(span);
  double const sum_error =
      unit_roundoff * static_cast<double>(p.size() + q.size() + 8) + weight_error;
  constexpr double unit = 1.0 / integer_noise_law::of_mode;
  constexpr double hardly_any = 1e-280 * integer_noise_law::of_mode;
  constexpr double sure = 0x1p-900;
  constexpr double widest = 1e304;  // e^700
  double largest = 0.0;
  double off = 0.0;  // of any loss
  double lost_of_p = 0.0;
  double lost_of_q = 0.0;
  auto const sums = std::make_unique<integer_sums<>>(noise, p, q);
  for (std::int64_t begin = first; begin <= last;
       begin += static_cast<std::int64_t>(integer_sums<>::most)) {
    auto const count = std::min(integer_sums<>::most, static_cast<std::size_t>(last - begin + 1));
    sums->read(begin, count);
    for (std::size_t j = 0; j < count; ++j) {
      std::int64_t const x = begin + static_cast<std::int64_t>(j);
      double const weight = (x == first || x == last ? noise.end() : 1.0) / noise.total();
      double const a = sums->p.all[j];
      double const b = sums->q.all[j];
      double const p_mass = (a * unit) * weight;
      double const q_mass = (b * unit) * weight;
      if (sums->excluded(q, x)) {
        pair.infinite += p_mass;
        continue;
      }
      if (sums->excluded(p, x)) {
        pair.excluded += q_mass;
        continue;
      }
      // A loss beyond 700, or next to no mass.
      if (!(a < widest * b && b < widest * a && std::max(a, b) > hardly_any)) {
        lost_of_p += p_mass;
        lost_of_q += q_mass;
        continue;
      }
      double const base = sums->base[j];
      double const more_p = base > sure ? sums->p.excess[j] / base : 0.0;
      double const more_q = base > sure ? sums->q.excess[j] / base : 0.0;
      double loss = 0.0;
      double wrong = ratio_error * (sums->p.moved[j] / a + sums->q.moved[j] / b);
      if (base > sure && std::abs(more_p) < 0.5 && std::abs(more_q) < 0.5) {
        // Of small losses, which are differences of nearly equal sums.
        loss = elementary::log1p((more_p - more_q) / (1.0 + more_q));
        wrong += 4.0 * sum_error * ((sums->p.differences[j] + sums->q.differences[j]) / base);
      } else {
        loss = elementary::log(a / b);
        wrong += 2.0 * sum_error;
      }
      pair.atoms.push_back({loss, p_mass, q_mass});
      largest = std::max(largest, std::abs(loss));
      off = std::max(off, wrong);
    }
  }
  // Outside of the window, or next to nothing in it.
  pair.left_out =
      std::min(1.0, (std::max(lost_of_p, lost_of_q) + 2.0 * noise.tail()) * (1.0 + 1e-9));
  auto const by_loss = [](finite_pair::atom const& a, finite_pair::atom const& b) {
    return a.loss < b.loss;
  };
  if (!std::is_sorted(pair.atoms.begin(), pair.atoms.end(), by_loss)) {
    std::sort(pair.atoms.own().begin(), pair.atoms.own().end(), by_loss);
  }
  // Losses that rounding alone may have made 0 are no larger than `off`, and add no more than that to any δ; `loss_error`
  // is relative to the largest.
  if (largest == 0.0) pair.left_out = std::min(1.0, add_up(pair.left_out, off));
  pair.loss_error = 8.0 * unit_roundoff + (largest > 0.0 ? off / largest : 0.0);
  pair.mass_error = noise.mass_error() + sum_error;
  return out;
}

}  // namespace tacit::detail
