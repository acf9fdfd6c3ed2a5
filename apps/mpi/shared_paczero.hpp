// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/mechanism/paczero.hpp>

#include "communicator.hpp"

#include <algorithm>
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

/// PACZero over the records of all ranks, as each rank sees it: a zeroth-order mechanism that takes
/// the scalars of the rank's own records and gives the release of all, so that `tacit::trainer` and
/// `tacit::zeroth_order_loop` work with it as they are.
///
/// A step is one all-reduce of K·M + 1 integers, the exact subset sums and the number of ranks with a
/// scalar that is no number, and one broadcast of K + 1 numbers, the release and the length of an
/// error's text. Rank 0 alone has the secret and the ledger: it charges, draws, calls `keep`, and only
/// then sends the release to the others. Nothing that is sent depends on the number of parameters.
template <class Mechanism = tacit::paczero<>>
class shared_paczero {
 public:
  /// Called on rank 0 with each release before anybody else sees it.
  using keeper = std::function<void(tacit::release const&)>;

  /// `own`: the candidate columns of this rank's records. `whole`: the mechanism over all records on
  /// rank 0, null on the others. Both outlive this object's use of them.
  /// @throws std::invalid_argument for a `whole` on the wrong rank, or one that has begun
  shared_paczero(communicator& ranks, tacit::paczero_options const& options,
                 tacit::candidate_set own, Mechanism* whole, keeper keep = {})
      : ranks_(&ranks),
        options_(options),
        own_(std::move(own)),
        whole_(whole),
        keep_(std::move(keep)),
        quantised_(own_.records()),
        sums_(options.directions * own_.subsets() + 1),
        released_(options.directions + 1) {
    bool const placed =
        ranks.is_first() ? whole != nullptr && whole->steps() == 0 : whole == nullptr;
    if (!placed) {
      throw std::invalid_argument(
          "shared_paczero: whole must be a new run on rank 0, null elsewhere");
    }
  }

  std::size_t records() const { return own_.records(); }
  std::size_t directions() const { return options_.directions; }
  std::size_t steps() const { return steps_; }
  bool done() const { return steps_ == options_.steps; }

  /// Collective: `scalars` are the K×N of this rank's N records, row-major.
  /// @throws shared_failure with the text of what rank 0 met; nothing is published then
  tacit::release step(std::span<double const> scalars) {
    add_own(scalars);
    ranks_->add_up(sums_);
    std::string trouble;
    if (whole_ != nullptr) trouble = release_all();
    released_.back() = static_cast<double>(trouble.size());
    ranks_->broadcast(std::span(released_));
    if (released_.back() != 0.0) {
      trouble.resize(static_cast<std::size_t>(released_.back()));
      ranks_->broadcast(std::span(trouble));
      throw shared_failure(trouble);
    }
    ++steps_;
    return {{released_.begin(), released_.end() - 1}};
  }

 private:
  void add_own(std::span<double const> scalars) {
    std::size_t const n = records();
    std::size_t const m = own_.subsets();
    if (scalars.size() != directions() * n) {
      throw std::invalid_argument("shared_paczero: number of scalars is " +
                                  std::to_string(scalars.size()) + ", but must be " +
                                  std::to_string(directions() * n));
    }
    tacit::fixed_point const grid{options_.clip};
    std::fill(sums_.begin(), sums_.end(), 0);
    for (std::size_t k = 0; k < directions(); ++k) {
      if (!grid.try_quantise(scalars.subspan(k * n, n), quantised_)) {
        sums_.back() = 1;
        return;
      }
      own_.add_sums(quantised_, std::span(sums_).subspan(k * m, m));
    }
  }

  /// On rank 0: what went wrong, or nothing and the release.
  std::string release_all() {
    std::span const sums = std::span(sums_).first(sums_.size() - 1);
    // As paczero::step has it: a scalar that is no number, of any rank, holds the whole step.
    if (sums_.back() != 0) std::fill(sums.begin(), sums.end(), 0);
    try {
      tacit::release const released = whole_->step_from_sums(sums);
      if (keep_) keep_(released);
      std::copy(released.coefficients.begin(), released.coefficients.end(), released_.begin());
      return {};
    } catch (std::exception const& error) {
      std::string const text = error.what();
      return text.empty() ? "an error without a text" : text;
    }
  }

  communicator* ranks_;
  tacit::paczero_options options_;
  tacit::candidate_set own_;
  Mechanism* whole_;
  keeper keep_;
  std::size_t steps_ = 0;
  std::vector<std::int32_t> quantised_;
  std::vector<std::int64_t> sums_;
  std::vector<double> released_;
};

}  // namespace apps
