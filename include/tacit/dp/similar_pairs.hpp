// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/bit_cast.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rising_cells.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>
#include <vector>

/// Pairs of one shape, and fewer of them that are above or below. docs/certificates/grid.md, Lemma 13.

namespace tacit::detail {

/// Where a pair stands among those of its shape: numbers that are not negative, in each of which its profile rises.
struct rising_pair {
  /// The kind of pair, its noise or orientation, how many parts it has, and what else must be equal. The rest is the caller's.
  using shape_key = std::array<std::uint64_t, 8>;
  shape_key shape;
  std::vector<double> numbers;  ///< none where no pair of its shape is known to be above
  double size;  ///< about how much it gives away; steers only which cells are halved

  explicit operator bool() const { return !numbers.empty(); }
};

/// Parts of a mixture by how likely it is to have one of them or of the later ones, and then by their numbers in `of`.
/// Nothing where doubles say little about the weights of several: below 1e-280, or about what they leave of 1.
template <class Part, class... Of>
[[nodiscard]] std::vector<double> rising_parts(std::vector<Part> const& parts, Of&&... of) {
  std::vector<double> numbers(parts.size());
  double later = 0.0;
  for (std::size_t k = parts.size(); k-- > 0;) {
    later += parts[k].weight;
    numbers[k] = later;
    if (parts.size() > 1 && !(parts[k].weight > 1e-280)) return {};
  }
  if (parts.size() > 1 && !(later < 1.0 - 1e-12)) return {};
  auto const append = [&](auto const& number) {
    for (Part const& part : parts) numbers.push_back(number(part));
  };
  (append(of), ...);
  return numbers;
}

/// The weights of the first of `numbers`: no later sum of them is on the wrong side, though the sums were rounded and the
/// weights are off by `error`.
template <std::same_as<double> T>
[[nodiscard]] std::vector<T> weights_of(std::vector<T> const& numbers, std::size_t parts, bool up,
                                        T error) {
  if (parts == 1 && error == 0.0) return {numbers.front()};
  double const slack = 2.0 * error + 4.0 * static_cast<double>(parts + 1) * unit_roundoff;
  std::vector<T> weights(parts);
  double later = 0.0;
  for (std::size_t k = parts; k-- > 0;) {
    double const sum = up ? std::min(1.0, multiply_up(numbers[k], 1.0 + slack))
                          : multiply_down(numbers[k], 1.0 - slack);
    weights[k] = std::max(0.0, up ? subtract_up(sum, later) : subtract_down(sum, later));
    later = sum;
  }
  return weights;
}

template <std::same_as<dominating_pair> Pair>
[[nodiscard]] rising_pair rising_numbers(Pair const& pair) {
  struct visitor {
    using found = rising_pair;
    found operator()(normal_pair const& p) const { return rising_pair{{0}, {p.mu}, p.mu}; }
    found operator()(mixture_pair const& p) const {
      auto numbers = rising_parts(p.parts, [](auto const& part) { return part.shift; });
      if (numbers.empty()) return {};
      double size = 0.0;
      for (auto const& [weight, shift] : p.parts) {
        size += weight * std::sqrt(elementary::expm1(std::min(50.0, shift * shift)));
      }
      return rising_pair{
          {1, static_cast<std::uint64_t>(p.orientation), p.parts.size()}, std::move(numbers), size};
    }
    found operator()(bounded_pair const& p) const {
      if (p.atom != 0.0 && p.atom != 0.5) return {};
      return rising_pair{
          {2, static_cast<std::uint64_t>(p.orientation), static_cast<std::uint64_t>(2.0 * p.atom)},
          {p.epsilon, p.rate},
          p.epsilon * p.rate};
    }
    found operator()(lattice_pair const& p) const {
      return rising_pair{
          {3, static_cast<std::uint64_t>(p.orientation), p.shift, bit_cast<std::uint64_t>(p.sigma)},
          {p.rate},
          p.rate * static_cast<double>(p.shift) / p.sigma};
    }
    found operator()(finite_pair const& p) const {  // a response
      auto const& a = p.atoms;
      bool const one = a.size() == 2 && a[0].loss == -a[1].loss && a[0].p == a[1].q &&
                       a[1].p == a[0].q && p.loss_error == 0.0 && p.mass_error == 0.0 &&
                       p.left_out == 0.0 && p.infinite == 0.0 && p.excluded == 0.0;
      if (!one) return {};
      return rising_pair{{4}, {a[1].loss}, a[1].loss};
    }
    found operator()(amplified_pair const& p) const {
      if (p.absent > p.changed) return {};
      rising_pair out{{5, static_cast<std::uint64_t>(p.kind), p.absent > 0.0 ? 1U : 0U},
                      {p.rate, p.changed},
                      p.rate * p.changed};
      if (p.absent > 0.0) out.numbers.push_back(p.absent);
      return out;
    }
    found operator()(coupled_pair const& p) const {
      if (p.mirrored || (p.parts.size() == 1 && (p.rest || p.weight_error > 0.0))) return {};
      double size = 0.0;
      for (auto const& part : p.parts) {
        if (!(part.q <= 0.0 && part.p >= 0.0)) return {};
        size += part.weight * (part.p - part.q);
      }
      auto numbers = rising_parts(
          p.parts, [](auto const& part) { return part.p; },
          [](auto const& part) { return -part.q; });
      if (numbers.empty()) return {};
      return rising_pair{{6, static_cast<std::uint64_t>(p.kind), p.parts.size(),
                          bit_cast<std::uint64_t>(p.weight_error)},
                         std::move(numbers),
                         size};
    }
    found operator()(allocation_pair const&) const { return {}; }
    found operator()(allocated_pair const&) const { return {}; }
  };
  return std::visit(visitor{}, pair);
}

/// The pair of the shape of `like` with these numbers.
template <std::same_as<dominating_pair> Pair>
[[nodiscard]] dominating_pair pair_with(Pair const& like, std::vector<double> const& numbers,
                                        bool up) {
  struct visitor {
    std::vector<double> const& x;
    bool up;
    dominating_pair operator()(normal_pair const&) const { return normal_pair{x[0]}; }
    dominating_pair operator()(mixture_pair const& p) const {
      std::size_t const n = p.parts.size();
      std::vector<double> const weights = weights_of(x, n, up, 0.0);
      mixture_pair out{{}, p.orientation};
      for (std::size_t k = 0; k < n; ++k) {
        if (weights[k] > 0.0) out.parts.push_back({weights[k], x[n + k]});
      }
      return out;
    }
    dominating_pair operator()(bounded_pair const& p) const {
      return bounded_pair{x[0], p.atom, x[1], p.orientation};
    }
    dominating_pair operator()(lattice_pair const& p) const {
      return lattice_pair{p.sigma, p.shift, x[0], p.orientation};
    }
    dominating_pair operator()(finite_pair const&) const {
      double const high = 1.0 / (1.0 + elementary::exp(-x[0]));
      double const low = high * elementary::exp(-x[0]);
      return finite_pair{{{-x[0], low, high}, {x[0], high, low}}};
    }
    dominating_pair operator()(amplified_pair const& p) const {
      return amplified_pair{p.kind, x[0], x.size() > 2 ? x[2] : 0.0, x[1]};
    }
    dominating_pair operator()(coupled_pair const& p) const {
      std::size_t const n = p.parts.size();
      std::vector<double> const weights = weights_of(x, n, up, p.weight_error);
      coupled_pair out{p.kind, {}};
      for (std::size_t k = 0; k < n; ++k) {
        if (weights[k] > 0.0) out.parts.push_back({weights[k], x[n + k], -x[2 * n + k]});
      }
      return out;
    }
    // These have no numbers.
    dominating_pair operator()(allocation_pair const& p) const { return p; }
    dominating_pair operator()(allocated_pair const& p) const { return p; }
  };
  return std::visit(visitor{numbers, up}, like);
}

/// Things by their shape, to be rounded to fewer.
template <class Thing = dominating_pair, std::same_as<double> T = double>
class similar {
 public:
  void add(Thing const& one, rising_pair at, double count) {
    auto const found = families_.find(at.shape);
    auto const place =
        found != families_.end() ? found : families_.emplace(at.shape, family{one, {}}).first;
    double const size = std::min(50.0, at.size);
    place->second.members.push_back({std::move(at.numbers), count, count * size * size});
    ++size_;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  /// At most `each` cells a shape, and about `most` of all. `use(like, numbers, count, up)` takes what stands for each of
  /// them: their largest numbers above, and their smallest below.
  template <class Use>
  void round(std::size_t each, std::size_t most, double close, Use&& use) && {
    for (auto& [shape, all] : families_) {
      std::size_t const share = most * all.members.size() / size_;
      cells const cell(std::move(all.members), std::clamp<std::size_t>(share, 1, each), close);
      for (bool const up : {true, false}) {
        for (auto const& [at, count] : cell.rounded(up)) use(all.like, at, count, up);
      }
    }
  }

 private:
  using cells = rising_cells<T>;
  struct family {
    Thing like;
    std::vector<typename cells::member> members;
  };
  std::map<rising_pair::shape_key, family> families_;
  std::size_t size_ = 0;
};

}  // namespace tacit::detail
