// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/secret/bernoulli.hpp>
#include <tacit/secret/stream.hpp>

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace tacit {

/// Which of the N records of a known universe take part: the secret. In training all records take part; an
/// audit of one's own training leaves some out.
class participants {
 public:
  /// All of them.
  /// @throws std::invalid_argument unless there is one at least
  participants(std::size_t records)  // NOLINT: a number of records is that many participants
      : records_(checked(records)), chosen_(records) {
    std::iota(chosen_.begin(), chosen_.end(), std::size_t{0});
  }

  /// Those marked true; there may be none.
  participants(std::vector<bool> const& taking_part)  // NOLINT: as above
      : records_(checked(taking_part.size())) {
    for (std::size_t i = 0; i < records_; ++i) {
      if (taking_part[i]) chosen_.push_back(i);
    }
  }

  /// N: how many there are to choose from. Public, unlike how many take part.
  [[nodiscard]] std::size_t records() const noexcept { return records_; }

  /// Those who take part, in increasing order. Secret.
  [[nodiscard]] std::span<std::size_t const> everyone() const noexcept { return chosen_; }

  /// A Poisson batch: each participant with probability `rate` exactly, independently; in
  /// increasing order.
  /// @throws std::domain_error unless rate is in [0, 1]
  template <secret_bits Secret>
  void sample(Secret& secret, double rate, std::vector<std::size_t>& batch) const {
    batch.clear();
    for (std::size_t const i : chosen_) {
      if (bernoulli(secret, rate)) batch.push_back(i);
    }
  }

 private:
  static std::size_t checked(std::size_t records) {
    detail::require_argument(records > 0, "participants", "records", records, "at least 1");
    return records;
  }

  std::size_t records_;
  std::vector<std::size_t> chosen_;
};

}  // namespace tacit
