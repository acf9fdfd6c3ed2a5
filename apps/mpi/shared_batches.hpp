// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/mechanism/release.hpp>

#include "communicator.hpp"
#include "shard.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace apps {

/// DPZero, DP-AggZO or DP-ZO with Laplace noise over the records of all ranks, as each rank sees it: a
/// mechanism of batches, so that `tacit::trainer` asks a rank for the losses of its own records in the batch, and
/// for no others.
///
/// A step is two broadcasts, of the batch's size and of its indices, one reduction to rank 0 of the K scalars of
/// each of its records, as bits, and one broadcast of K + 1 numbers, the release and the length of an error's
/// text. Rank 0 alone has the mechanism: it charges, draws the batch, and later the noise, calls `keep`, and only
/// then sends the release to the others. Every rank sees the batch, which is secret.
template <class Mechanism>
class shared_batches {
 public:
  /// Called on rank 0 with each release before anybody else sees it.
  using keeper = std::function<void(tacit::release const&)>;

  /// `own`: this rank's records. `whole`: the mechanism over all records on rank 0, null on the others; it
  /// outlives this object's use of it, and has K directions and T steps, of which `taken` were taken before.
  /// @throws std::invalid_argument for a `whole` on the wrong rank, or one that has taken another number of steps
  shared_batches(communicator& ranks, std::size_t directions, std::size_t steps, shard own,
                 Mechanism* whole, keeper keep = {}, std::size_t taken = 0)
      : ranks_(&ranks),
        directions_(directions),
        total_(steps),
        own_(own),
        whole_(whole),
        keep_(std::move(keep)),
        taken_(taken),
        released_(directions + 1) {
    bool const placed =
        ranks.is_first() ? whole != nullptr && whole->steps() == taken : whole == nullptr;
    if (!placed) {
      throw std::invalid_argument("shared_batches: whole must be a run on rank 0 that has taken " +
                                  std::to_string(taken) + " steps, null elsewhere");
    }
  }

  std::size_t records() const { return own_.records; }
  std::size_t directions() const { return directions_; }
  std::size_t steps() const { return taken_; }
  bool done() const { return taken_ == total_; }

  /// Those of the batch that are this rank's, counted from its first record. Collective at the first call of a
  /// step.
  /// @throws shared_failure with the text of what rank 0 met
  std::span<std::size_t const> batch() {
    if (!waits_) {
      std::string trouble;
      if (whole_ != nullptr) trouble = draw();
      std::uint64_t header[2] = {batch_.size(), trouble.size()};
      ranks_->broadcast(std::span<std::uint64_t>(header));
      fail_together(trouble, header[1]);
      batch_.resize(header[0]);
      if (!batch_.empty()) ranks_->broadcast(std::span(batch_));
      auto const at = [&](std::uint64_t record) {
        return std::lower_bound(batch_.begin(), batch_.end(), record);
      };
      auto const end = at(own_.first + own_.records);
      before_ = static_cast<std::size_t>(at(own_.first) - batch_.begin());
      mine_.clear();
      for (auto one = at(own_.first); one != end; ++one) mine_.push_back(*one - own_.first);
      waits_ = true;
    }
    return mine_;
  }

  /// Collective: `scalars` are those of this rank's part of the batch, K rows.
  /// @throws shared_failure with the text of what rank 0 met; nothing is published then
  tacit::release step(std::span<double const> scalars) {
    (void)batch();
    if (scalars.size() != directions_ * mine_.size()) {
      throw std::invalid_argument("shared_batches: number of scalars is " +
                                  std::to_string(scalars.size()) + ", but must be " +
                                  std::to_string(directions_ * mine_.size()));
    }
    waits_ = false;
    // Each scalar is one rank's, and 0 on the others: the sum of its bits is they, whatever it is.
    bits_.assign(directions_ * batch_.size(), 0);
    for (std::size_t k = 0; k < directions_; ++k) {
      for (std::size_t j = 0; j < mine_.size(); ++j) {
        bits_[k * batch_.size() + before_ + j] =
            std::bit_cast<std::int64_t>(scalars[k * mine_.size() + j]);
      }
    }
    if (!bits_.empty()) ranks_->add_up_at_first(bits_);
    std::string trouble;
    if (whole_ != nullptr) trouble = release_all();
    released_.back() = static_cast<double>(trouble.size());
    ranks_->broadcast(std::span(released_));
    fail_together(trouble, static_cast<std::uint64_t>(released_.back()));
    ++taken_;
    return {{released_.begin(), released_.end() - 1}};
  }

 private:
  /// On every rank, with rank 0's text, if it has one.
  void fail_together(std::string& trouble, std::uint64_t size) {
    if (size == 0) return;
    trouble.resize(size);
    ranks_->broadcast(std::span(trouble));
    throw shared_failure(trouble);
  }

  template <class Do>
  static std::string trouble_of(Do const& act) {
    try {
      act();
      return {};
    } catch (std::exception const& error) {
      std::string const text = error.what();
      return text.empty() ? "an error without a text" : text;
    }
  }

  std::string draw() {
    return trouble_of([&] {
      std::span<std::size_t const> const drawn = whole_->batch();
      batch_.assign(drawn.begin(), drawn.end());
    });
  }

  std::string release_all() {
    return trouble_of([&] {
      std::vector<double> all(bits_.size());
      std::transform(bits_.begin(), bits_.end(), all.begin(),
                     [](std::int64_t x) { return std::bit_cast<double>(x); });
      tacit::release const released = whole_->step(all);
      if (keep_) keep_(released);
      std::copy(released.coefficients.begin(), released.coefficients.end(), released_.begin());
    });
  }

  communicator* ranks_;
  std::size_t directions_;
  std::size_t total_;
  shard own_;
  Mechanism* whole_;
  keeper keep_;
  std::size_t taken_;
  bool waits_ = false;  // batch_ is drawn, and has not been summed
  std::vector<std::uint64_t> batch_;
  std::vector<std::size_t> mine_;
  std::size_t before_ = 0;  // how many of the batch lie on lower ranks
  std::vector<std::int64_t> bits_;
  std::vector<double> released_;
};

}  // namespace apps
