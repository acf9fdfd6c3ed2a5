// SPDX-License-Identifier: Apache-2.0
#include "shared_tuning.hpp"

#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>

#include "watched_sums.hpp"

#include <mpi/shared_batches.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using apps::communicator;

// A mechanism of all records as one of batches, each of which is everybody.
template <class Mechanism>
class everybody {
 public:
  explicit everybody(Mechanism& mechanism) : mechanism_(&mechanism), all_(mechanism.records()) {
    std::iota(all_.begin(), all_.end(), std::size_t{0});
  }

  [[nodiscard]] std::size_t steps() const { return mechanism_->steps(); }
  [[nodiscard]] std::span<std::size_t const> batch() const { return all_; }
  tacit::release step(std::span<double const> scalars) { return mechanism_->step(scalars); }

 private:
  Mechanism* mechanism_;
  std::vector<std::size_t> all_;
};

// A run as every rank has it.
struct shared_run {
  communicator& ranks;
  tuning const& how;
  apps::shard own;
  placed const& weights;
  batch_loss const& loss;

  // On every rank; `whole` is rank 0's. First all come to where the releases before have led.
  template <class Whole>
  void take_steps(Whole* whole, std::vector<tacit::release> before) const {
    std::uint64_t counts[2] = {before.size(), 0};
    ranks.broadcast(std::span<std::uint64_t>(counts));
    if (counts[1] != 0) fail_together({}, counts[1]);
    std::vector<double> flat(counts[0] * how.directions);
    for (std::size_t t = 0; t < before.size(); ++t) {
      std::copy(before[t].coefficients.begin(), before[t].coefficients.end(),
                flat.begin() + static_cast<std::ptrdiff_t>(t * how.directions));
    }
    if (!flat.empty()) ranks.broadcast(std::span(flat));
    before.assign(counts[0], {});
    for (std::size_t t = 0; t < before.size(); ++t) {
      auto const row = std::span(flat).subspan(t * how.directions, how.directions);
      before[t].coefficients.assign(row.begin(), row.end());
    }
    apps::shared_batches<Whole> mechanism(ranks, how.directions, how.steps, own, whole, {},
                                          before.size());
    tacit::trainer run(mechanism, how.training(), weights.theta, weights.by);
    run.replay(before);
    while (!run.done()) run.step(loss);
  }

  // Rank 0 cannot begin: the others, which wait for its releases, end with its text.
  void fail_together(std::string trouble, std::uint64_t size) const {
    if (ranks.is_first()) {
      std::uint64_t counts[2] = {0, trouble.size()};
      ranks.broadcast(std::span<std::uint64_t>(counts));
      size = trouble.size();
    }
    trouble.resize(size);
    ranks.broadcast(std::span(trouble));
    throw apps::shared_failure(trouble);
  }
};

}  // namespace

promise tune(communicator& ranks, tuning const& how, tacit::participants const& taking_part,
             apps::shard own, placed const& weights,
             std::vector<tacit::recorded_tensor> const& tensors, batch_loss const& loss,
             std::size_t watched) {
  if (how.mechanism == "dpzero" && how.directions != 1) {
    throw std::invalid_argument("directions is " + std::to_string(how.directions) +
                                ", but must be 1 for dpzero: dp-aggzo has several");
  }
  shared_run const run{ranks, how, own, weights, loss};
  if (!ranks.is_first()) {
    run.take_steps<everybody<tacit::paczero<>>>(nullptr, {});
    return {};
  }
  bool begun = false;
  double attack = std::numeric_limits<double>::quiet_NaN();
  // Releases are on disk before they act: a run that was interrupted goes on from them.
  auto const take = [&]<class Mechanism>(Mechanism& mechanism, tacit::recorded_mechanism described,
                                         tacit::symbol_kind symbols, double magnitude) {
    tacit::run_record const record{.mechanism = std::move(described),
                                   .training = how.training(),
                                   .directions = mechanism.directions(),
                                   .symbols = symbols,
                                   .magnitude = magnitude,
                                   .tensors = tensors,
                                   .start = weights.start};
    bool const goes_on = !how.save.empty() && std::filesystem::exists(how.transcript);
    tacit::journal log = goes_on ? tacit::journal::resume(how.transcript, record)
                                 : tacit::journal::create(how.transcript, record);
    auto const take_all = [&](auto& of, auto const& as_batches) {
      tacit::journaled recorded{of, log};
      std::vector<tacit::release> const before = tacit::releases_of(log.seal());
      begun = true;
      auto batches = as_batches(recorded);
      run.take_steps(&batches, before);
    };
    auto const as_it_is = [](auto& of) { return of; };
    if constexpr (!tacit::batched_mechanism<Mechanism>) {
      take_all(mechanism, [](auto& of) { return everybody(of); });
    } else if (watched == 0) {
      take_all(mechanism, as_it_is);
    } else {
      watched_sums seen(mechanism, targets(watched, taking_part.records()));
      take_all(seen, as_it_is);
      attack = seen.success(taking_part);
    }
  };
  try {
    promise out = with_mechanism(how, taking_part, take);
    out.informed_attack = attack;
    return out;
  } catch (std::exception const& error) {
    if (!begun) run.fail_together(error.what(), 0);
    throw;
  }
}
