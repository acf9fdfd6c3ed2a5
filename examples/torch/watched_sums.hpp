// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/audit/informed_adversary.hpp>
#include <tacit/mechanism/noisy_sum.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/mechanism/quantised.hpp>
#include <tacit/mechanism/release.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <vector>

/// The attacker of an audit, beside the mechanism. Knows no engine.

/// Whose membership it guesses: the last so many records. (Canaries are there.)
struct targets {
  std::size_t first = 0;
  std::size_t records = 0;

  targets(std::size_t last, std::size_t of) : first(of - std::min(last, of)), records(of - first) {}

  /// 1 for those that are in this increasing list.
  [[nodiscard]] std::vector<std::uint8_t> flags(std::span<std::size_t const> in) const {
    std::vector<std::uint8_t> out(records, 0);
    for (std::size_t const i : in) {
      if (i >= first) out[i - first] = 1;
    }
    return out;
  }

  /// The share of right guesses, where these took part.
  [[nodiscard]] double success(tacit::informed_adversary const& attacker,
                               std::span<std::size_t const> taking_part) const {
    std::vector<std::uint8_t> const right = attacker.right_guesses(flags(taking_part));
    return static_cast<double>(std::accumulate(right.begin(), right.end(), 0)) /
           static_cast<double>(records);
  }
};

/// DPZero or DP-AggZO, watched by an attacker who knows every scalar of every record and all batches but for its
/// record's place in them. It asks for the scalars of the batch and of the targets; the mechanism gets those of the
/// batch, so that it releases what it would have released.
template <class Mechanism>
class watched_sums {
 public:
  watched_sums(Mechanism& mechanism, targets whom)
      : mechanism_(&mechanism),
        whom_(whom),
        attacker_(whom.records),
        grid_{mechanism.options().clip} {}

  [[nodiscard]] std::size_t records() const { return mechanism_->records(); }
  [[nodiscard]] std::size_t directions() const { return mechanism_->directions(); }
  [[nodiscard]] std::size_t steps() const { return mechanism_->steps(); }
  [[nodiscard]] bool done() const { return mechanism_->done(); }
  [[nodiscard]] tacit::noisy_sum_options const& options() const { return mechanism_->options(); }

  /// How often it guesses right, where these take part.
  [[nodiscard]] double success(tacit::participants const& taking_part) const {
    return whom_.success(attacker_, taking_part.everyone());
  }

  [[nodiscard]] std::span<std::size_t const> batch() {
    if (!waits_) {
      std::span<std::size_t const> const drawn = mechanism_->batch();
      std::vector<std::size_t> watched(whom_.records);
      std::iota(watched.begin(), watched.end(), whom_.first);
      asked_.clear();
      std::set_union(drawn.begin(), drawn.end(), watched.begin(), watched.end(),
                     std::back_inserter(asked_));
      waits_ = true;
    }
    return asked_;
  }

  tacit::release step(std::span<double const> scalars) {
    waits_ = false;
    std::size_t const k = directions();
    std::span<std::size_t const> const drawn = mechanism_->batch();
    std::vector<std::size_t> const in_batch(drawn.begin(), drawn.end());
    std::vector<double> of_batch(k * in_batch.size());
    std::vector<double> contributions(k * whom_.records);
    std::vector<double> residual(k, 0.0);
    std::size_t next = 0;  // of the batch
    for (std::size_t j = 0; j < asked_.size(); ++j) {
      bool const inside = next < in_batch.size() && in_batch[next] == asked_[j];
      std::vector<std::int32_t> const units = contribution(scalars, j);
      for (std::size_t d = 0; d < k; ++d) {
        if (inside) of_batch[d * in_batch.size() + next] = scalars[d * asked_.size() + j];
        if (inside) residual[d] -= units[d];
        if (asked_[j] >= whom_.first) contributions[(asked_[j] - whom_.first) * k + d] = units[d];
      }
      next += inside ? 1 : 0;
    }
    tacit::release out = mechanism_->step(of_batch);
    double const unit = grid_.quantum() / options().divisor();
    for (std::size_t d = 0; d < k; ++d) residual[d] += out.coefficients[d] / unit;
    auto const norm = static_cast<double>(tacit::contribution_grid::norm);
    double const sigma = static_cast<double>(
        tacit::quantised_noise::for_multiplier("watched_sums", options().noise_multiplier, norm)
            .sigma);
    attacker_.observe(contributions, whom_.flags(in_batch), residual, std::span(&sigma, 1),
                      options().rate);
    return out;
  }

 private:
  // What the j-th of those that were asked adds to the sums, as the mechanism clips and rounds it.
  [[nodiscard]] std::vector<std::int32_t> contribution(std::span<double const> scalars,
                                                       std::size_t j) const {
    std::size_t const k = directions();
    if (k == 1) return {grid_.quantise(scalars[j])};
    std::vector<double> shares(k);
    for (std::size_t d = 0; d < k; ++d) {
      shares[d] = scalars[d * asked_.size() + j] * (1.0 / static_cast<double>(k));
    }
    std::vector<std::int32_t> units(k);
    grid_.quantise(std::span<double const>(shares), units);
    return units;
  }

  Mechanism* mechanism_;
  targets whom_;
  tacit::informed_adversary attacker_;
  tacit::contribution_grid grid_;
  std::vector<std::size_t> asked_;
  bool waits_ = false;  // asked_ is of a step that has not been taken
};
