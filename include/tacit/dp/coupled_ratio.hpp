// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

/// The likelihood ratio of a coupled pair at an output x, and the output at which its logarithm is a given loss.
/// docs/certificates/sampling.md, Lemma 3, and docs/certificates/grid.md, Lemma 7.

namespace tacit::detail {

/// A weight of a coupled pair, as far as it is known.
[[nodiscard]] inline enclosure weight_of(coupled_pair const& pair, double weight) {
  if (pair.weight_error == 0.0 || weight == 0.0) return weight;
  if (weight < 1e-290) return {0.0, 1e-290};
  return weight * enclosure(subtract_down(1.0, pair.weight_error), add_up(1.0, pair.weight_error));
}

/// What D(0) weighs in both.
[[nodiscard]] inline enclosure rest_of(coupled_pair const& pair) {
  return pair.rest ? weight_of(pair, *pair.rest) : max(left_by(pair.parts).value(), 0.0);
}
template <real T>
[[nodiscard]] T nearly_rest_of(coupled_pair const& pair) {
  if (pair.rest) return T(*pair.rest);
  T const left = left_by(pair.parts).nearly<T>();
  return left > 0 ? left : T(0);
}

/// P/D and Q/D at x, D being the noise about 0, and the difference of their logarithms, the loss.
template <real T>
struct coupled_value {
  likelihood_ratio<T> p;
  likelihood_ratio<T> q;
  T loss;
};

template <real T = double>
class coupled_ratio {
 public:
  explicit coupled_ratio(coupled_pair const& pair)
      : kind_(pair.kind),
        mirrored_(pair.mirrored),
        size_(pair.parts.size()),
        weight_error_(pair.weight_error) {
    rest_ = nearly_rest_of<T>(pair);
    for (coupled_pair::part const& one : pair.parts) {
      p_.push_back({T(one.weight), T(one.p)});
      q_.push_back({T(one.weight), T(one.q)});
      symmetric_ = symmetric_ && one.p == -one.q;
    }
    // A side that nothing moves is the noise itself.
    auto const is_noise = [](std::vector<part> const& parts) {
      return std::all_of(parts.begin(), parts.end(),
                         [](part const& one) { return one.shift == 0; });
    };
    if (is_noise(p_)) p_.clear();
    if (is_noise(q_)) q_.clear();
  }

  [[nodiscard]] bool normal() const { return kind_ == coupled_pair::noise::normal; }
  [[nodiscard]] bool mirrored() const { return mirrored_; }
  /// Whether turning the pair over leaves it as it is: the loss is odd.
  [[nodiscard]] bool symmetric() const { return symmetric_; }
  [[nodiscard]] std::size_t parts() const { return size_; }
  [[nodiscard]] T const& rest() const { return rest_; }
  [[nodiscard]] double weight_error() const { return weight_error_; }
  /// The largest shift of P and of Q, and the least.
  [[nodiscard]] T most_p() const { return last(p_); }
  [[nodiscard]] T least_p() const { return rest_ > 0 || p_.empty() ? T(0) : p_.front().shift; }
  [[nodiscard]] T most_q() const { return mirrored_ ? last(q_) : T(0); }
  [[nodiscard]] T least_q() const { return mirrored_ ? T(0) : last(q_); }
  /// Where a mirrored pair's loss is 0; it counts from there up.
  [[nodiscard]] T middle() const { return (last(p_) + last(q_)) / 2; }

  /// Guarantee: `units` bounds what they err by.
  [[nodiscard]] coupled_value<T> at(T const& x) const {
    using elementary::log1p;
    likelihood_ratio<T> const p = ratio(p_, x);
    likelihood_ratio<T> const q = ratio(q_, x);
    auto const near_zero = [](T const& y) { return y >= T(-0.5) && y <= T(0.5); };
    T const loss = near_zero(p.excess) && near_zero(q.excess)
                       ? T(log1p((p.excess - q.excess) / (1 + q.excess)))
                       : T(p.log - q.log);
    return {p, q, loss};
  }
  /// By how many units of rounding the logarithms of P/D and Q/D at x err, and the loss, where x is `off` units from
  /// its place: docs/certificates/renyi.md, Lemma 10.
  struct error_units {
    T p;
    T q;
    T loss;
  };
  [[nodiscard]] error_units units(coupled_value<T> const& v, T const& x, T const& off) const {
    auto const of = [&](likelihood_ratio<T> const& r, std::vector<part> const& parts) {
      T const shift = magnitude(last(parts));
      T const terms = magnitude(x) + shift;
      if (normal()) {
        return log_units(r, rest_, size_, T(shift * terms), T(shift * (2 * terms + off)));
      }
      return log_units(r, rest_, size_, shift, T(2 * (terms + off)));
    };
    T const p = of(v.p, p_);
    T const q = of(v.q, q_);
    return {p, q, p + q + 12 * (magnitude(v.p.log) + magnitude(v.q.log))};
  }
  [[nodiscard]] T loss(T const& x) const { return at(x).loss; }
  [[nodiscard]] T log_p(T const& x) const { return ratio(p_, x).log; }
  [[nodiscard]] T log_q(T const& x) const { return ratio(q_, x).log; }

  /// log of the density of the noise about 0.
  [[nodiscard]] T log_noise(T const& x) const {
    if (normal()) return -x * x / 2 - constants::log_root_two_pi<T>();
    return (x < 0 ? x : -x) - constants::ln_two<T>();
  }

  /// The x in [low, high] with this loss, nearly; an end where there is none.
  [[nodiscard]] T output(T const& loss, T const& low, T const& high) const {
    T const x = size_ == 1 && p_.size() == 1 && q_.size() == 1 && (symmetric_ || mirrored_)
                    ? closed_output(loss)
                    : searched_output(loss, low, high);
    return x < low ? low : x > high ? high : x;
  }

  /// log(D(x − shift)/D(x)).
  [[nodiscard]] T exponent(T const& shift, T const& x) const {
    if (normal()) return shift * (x - shift / 2);
    if (shift > 0) return x <= 0 ? T(-shift) : x >= shift ? shift : T(2 * x - shift);
    return x >= 0 ? shift : x <= shift ? T(-shift) : T(shift - 2 * x);
  }

 private:
  struct part {
    T weight;
    T shift;
  };

  [[nodiscard]] static T last(std::vector<part> const& parts) {
    return parts.empty() ? T(0) : parts.back().shift;
  }
  [[nodiscard]] likelihood_ratio<T> ratio(std::vector<part> const& parts, T const& x) const {
    return ratio_of_parts<T>(parts, rest_,
                             [&](part const& one) -> T { return exponent(one.shift, x); });
  }

  // With w the weight, r the rest, l the loss.
  [[nodiscard]] T closed_output(T const& loss) const {
    using elementary::exp, elementary::expm1, elementary::log, elementary::log1p;
    if (symmetric_ && loss < 0) return -closed_output(-loss);
    T const& shift = p_.front().shift;
    T const log_weight = log(p_.front().weight);
    T const log_rest = rest_ > 0 ? T(log(rest_)) : -std::numeric_limits<T>::infinity();
    if (!(loss > 0)) return middle();
    T const ln2 = constants::ln_two<T>();
    if (!normal()) {
      // e^{2x−p} = (e^l·(r + w·e^q) − r)/w, between q and p.
      T const& q = q_.front().shift;
      T const grown = log_expm1(loss) + log_add(log_rest, T(log_weight + q)) - q - log_weight;
      return middle() + log1p_exp(grown) / 2;
    }
    if (mirrored_) {
      // A quadratic equation in e^{sx}, s = p/2: s·x = 3s²/2 + l + log((1 + √(1 + k))/2), k = 4r/w·e^{−s²}·(1 − e^{−l})e^{−l}.
      T const s = shift / 2;
      T const log_k = 2 * ln2 + log_rest - log_weight - s * s + log_expm1(loss) - 2 * loss;
      T const root = log_k > 80 ? log_k / 2 - ln2 : log1p(half_of_root(log_k));
      return middle() + (loss + root) / s;
    }
    // s·x = l/2 + asinh(c·sinh(l/2)), c = r/w·e^{s²/2}.
    T const log_y = log_rest - log_weight + shift * shift / 2 + log_expm1(loss) - loss / 2 - ln2;
    T const y = log_y > 80 ? T(0) : T(exp(log_y));
    T const rise = log_y > 80 ? T(log_y + ln2) : log1p(y + y * y / (1 + sqrt_of(1 + y * y)));
    return (loss / 2 + rise) / shift;
  }

  // (√(1 + k) − 1)/2
  [[nodiscard]] static T half_of_root(T const& log_k) {
    T const k = elementary::exp(log_k);
    return k / (2 * (1 + sqrt_of(1 + k)));
  }
  [[nodiscard]] static T sqrt_of(T const& x) {
    using std::sqrt;
    return sqrt(x);
  }

  [[nodiscard]] T searched_output(T const& wanted, T const& low, T const& high) const {
    T const at_low = loss(low) - wanted;
    T const at_high = loss(high) - wanted;
    if (!(at_low < 0)) return low;
    if (!(at_high > 0)) return high;
    bracket<T> const root =
        sign_change<T>({low, high}, at_low, at_high, [&](T const& x) { return loss(x) - wanted; });
    return root.middle();
  }

  coupled_pair::noise kind_;
  bool mirrored_;
  bool symmetric_ = true;
  std::size_t size_;
  double weight_error_;
  std::vector<part> p_;
  std::vector<part> q_;
  T rest_ = 1;
};

}  // namespace tacit::detail
