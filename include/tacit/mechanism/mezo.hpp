// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/pac/candidates.hpp>
#include <tacit/pac/fixed_point.hpp>
#include <tacit/secret/bernoulli.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tacit {

/// What is released of the scalars ĝ_i. From `raw` to PACZero in single changes: only the sign,
/// only a secret half of the records, only a coin.
enum class surrogate {
  raw,         ///< the mean over all records: MeZO
  full_sign,   ///< the sign of the sum over all records
  half_raw,    ///< the mean over the secret subset
  half_sign,   ///< the sign of the sum over the secret subset: what PACZero hides
  random_sign  ///< a fair coin: what training reaches without any information
};

struct mezo_options {
  surrogate what = surrogate::raw;
  std::size_t directions = 1;  ///< K
  std::size_t steps = 0;       ///< T; 0 for no limit
  double clip = 1024.0;        ///< scalars are clipped to ±clip, on the grid of `fixed_point`
};

/// Zeroth-order steps **without privacy**: the baseline, and the surrogates that explain where
/// accuracy is lost on the way to PACZero. Only random_sign is independent of the records.
///
/// A direction whose scalars are all 0, or of which one is not finite, is held: coefficient 0. The
/// sign of a sum that is exactly 0 is +1, as in PACZero.
///
/// The secret subset (uniform over the candidates) and the coins come from `Secret`.
/// Source: MeZO (Malladi et al. 2023); the surrogates: PACZero (arXiv 2605.06505).
template <secret_bits Secret = secret_stream>
class mezo {
 public:
  /// Over all records: raw, full_sign, random_sign.
  /// @throws std::invalid_argument for the surrogates over half of the records, and for no record
  ///         or no direction
  mezo(mezo_options const& options, std::size_t records, Secret secret = Secret())
      : mezo(options, records, std::nullopt, std::move(secret)) {}

  /// Any surrogate; those over half of the records draw their half here.
  mezo(mezo_options const& options, candidate_set const& candidates, Secret secret = Secret())
      : mezo(options, candidates.records(), candidates, std::move(secret)) {}

  [[nodiscard]] std::size_t records() const noexcept { return quantised_.size(); }
  [[nodiscard]] std::size_t directions() const noexcept { return options_.directions; }
  [[nodiscard]] std::size_t steps() const noexcept { return steps_; }
  [[nodiscard]] bool done() const noexcept {
    return options_.steps != 0 && steps_ >= options_.steps;
  }

  /// @throws std::invalid_argument unless there are K·N scalars, and beyond the last step
  release step(std::span<double const> scalars) {
    detail::check_size("mezo", "number of scalars", scalars.size(), records() * directions());
    detail::require_argument(!done(), "mezo", "steps done", steps_, "below the number of steps");
    release out;
    for (std::size_t k = 0; k < directions(); ++k) {
      double const y = coefficient(scalars.subspan(k * records(), records()));
      out.coefficients.push_back(y / static_cast<double>(directions()));
    }
    ++steps_;
    return out;
  }

 private:
  mezo(mezo_options const& options, std::size_t records,
       std::optional<candidate_set> const& candidates, Secret secret)
      : options_(options), secret_(std::move(secret)), quantised_(records) {
    detail::require_argument(records > 0, "mezo", "records", records, "at least 1");
    detail::require_argument(options.directions > 0, "mezo", "directions", options.directions,
                             "at least 1");
    detail::check_positive("mezo", "clip", options.clip);
    bool const half = options.what == surrogate::half_raw || options.what == surrogate::half_sign;
    if (!half) {
      chosen_.resize(records);
      std::iota(chosen_.begin(), chosen_.end(), std::size_t{0});
      return;
    }
    detail::require_argument(candidates.has_value(), "mezo", "number of candidate subsets",
                             std::size_t{0}, "that of a candidate set, for a surrogate over half");
    std::size_t const subset = uniform_below(secret_, candidates->subsets());
    for (std::size_t i = 0; i < records; ++i) {
      if (candidates->contains(subset, i)) chosen_.push_back(i);
    }
  }

  double coefficient(std::span<double const> scalars) {
    fixed_point const grid{.clip = options_.clip};
    if (!grid.try_quantise(scalars, quantised_)) return 0.0;
    if (std::all_of(quantised_.begin(), quantised_.end(), [](auto x) { return x == 0; }))
      return 0.0;
    std::int64_t sum = 0;
    for (std::size_t const i : chosen_) sum += quantised_[i];
    switch (options_.what) {
      case surrogate::full_sign:
      case surrogate::half_sign:
        return sum >= 0 ? 1.0 : -1.0;
      case surrogate::random_sign:
        return bernoulli(secret_, 0.5) ? 1.0 : -1.0;
      case surrogate::raw:
      case surrogate::half_raw:
        break;
    }
    double const size = static_cast<double>(std::max<std::size_t>(chosen_.size(), 1));
    return static_cast<double>(sum) * grid.quantum() / size;
  }

  mezo_options options_;
  Secret secret_;
  std::vector<std::size_t> chosen_;
  std::vector<std::int32_t> quantised_;
  std::size_t steps_ = 0;
};

}  // namespace tacit
