// SPDX-License-Identifier: Apache-2.0
//
// Several ranks must train what one process trains, bit for bit: run by mpirun with any number of
// ranks up to four.

#include <tacit/mechanism/dp_zo_laplace.hpp>
#include <tacit/mechanism/dpzero.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/hash.hpp>

#include "communicator.hpp"
#include "micro_batches.hpp"
#include "shared_batches.hpp"
#include "shared_paczero.hpp"
#include "support/known_secret.hpp"
#include "training/paczero_run.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using apps::communicator;
using tacit::release;

using support::known_secret;

using mechanism = tacit::paczero<known_secret>;

struct setting {
  tacit::paczero_options options;
  tacit::train_options training;
};

struct outcome {
  std::vector<float> theta;
  std::vector<release> releases;
  bool operator==(outcome const&) const = default;
};

class tests {
 public:
  tests(communicator& ranks, apps::task const& job) : ranks_(&ranks), job_(&job) {}

  void run() {
    losses_are_those_of_the_whole();
    tacit::nats const nothing(0.0);
    tacit::nats const something(0.33);
    setting const zero{{.steps = 30, .budget = nothing},
                       {.smoothing = 1e-3, .learning_rate = 0.02, .seed = 5}};
    same("zero leakage", zero);
    setting paid{
        {.steps = 30, .budget = something, .otherwise = tacit::disagreement::coin, .directions = 2},
        {.smoothing = 1e-3,
         .learning_rate = 0.02,
         .weight_decay = 0.1,
         .decay = tacit::schedule::linear,
         .steps = 30,
         .law = tacit::direction_law::gaussian,
         .seed = 6}};
    same("paid releases and coins, two directions", paid);
    paid.options.ledger = tacit::ledger_kind::record;
    same("an account for each record", paid);
    a_loss_that_is_no_number(zero);
    another_loss_is_seen(zero);
    an_error_reaches_all(zero);
    nothing_after_the_last_step(zero);
    batches_are_those_of_the_whole();
  }

  std::int64_t failures() const { return failures_; }

 private:
  apps::dataset const& records() const { return job_->data.private_part; }

  void check(bool holds, std::string const& what) {
    if (holds) return;
    ++failures_;
    std::fprintf(stderr, "rank %zu of %zu: %s\n", ranks_->rank(), ranks_->size(), what.c_str());
  }

  mechanism whole(setting const& wanted) const {
    return mechanism(wanted.options,
                     tacit::candidate_set::balanced({.records = records().size()}, job_->seed),
                     known_secret(9));
  }

  // By one process, with nothing of MPI. `spoil` is given step, first record and losses.
  template <class Spoil>
  outcome alone(setting const& wanted, Spoil const& spoil) const {
    mechanism one = whole(wanted);
    outcome out{job_->start, {}};
    apps::micro_batches loss(job_->shape, records(), {0, records().size()});
    tacit::trainer run{one, wanted.training, out.theta};
    while (!run.done()) {
      std::size_t const t = out.releases.size();
      out.releases.push_back(run.step([&](std::span<float const> theta, std::span<double> losses) {
        loss(theta, losses);
        spoil(t, 0, losses);
      }));
    }
    return out;
  }

  // By all ranks; `keep` as in shared_paczero. What stood when an error ended it, and its text.
  template <class Spoil>
  std::string together(setting const& wanted, Spoil const& spoil,
                       apps::shared_paczero<mechanism>::keeper const& keep, outcome& out,
                       std::size_t extra_steps = 0) {
    std::optional<mechanism> first;
    if (ranks_->is_first()) first.emplace(whole(wanted));
    auto const part = apps::shard_of(records().size(), ranks_->rank(), ranks_->size());
    apps::micro_batches loss(job_->shape, records(), part);
    apps::shared_paczero<mechanism> all(
        *ranks_, wanted.options,
        tacit::candidate_set::balanced({.records = part.records}, job_->seed, part.first),
        first ? &*first : nullptr, keep);
    out = {job_->start, {}};
    tacit::trainer run{all, wanted.training, out.theta};
    try {
      while (all.steps() < wanted.options.steps + extra_steps) {
        std::size_t const t = out.releases.size();
        out.releases.push_back(
            run.step([&](std::span<float const> theta, std::span<double> losses) {
              loss(theta, losses);
              spoil(t, part.first, losses);
            }));
      }
    } catch (apps::shared_failure const& error) {
      return error.what();
    }
    return {};
  }

  // Record i is spoilt wherever it lies.
  static void set(std::span<double> losses, std::size_t first, std::size_t i, double value) {
    if (i >= first && i - first < losses.size()) losses[i - first] = value;
  }
  static void leave(std::size_t, std::size_t, std::span<double>) {}

  void all_equal(std::vector<float>& theta, std::string const& what) {
    tacit::parameter_hash const hash = tacit::hash_of(theta);
    try {
      must_agree(*ranks_, what, std::as_bytes(std::span(hash.bytes)));
    } catch (apps::shared_failure const& error) {
      check(false, error.what());
    }
  }

  // Bit for bit: a release is a sign, and would not show a loss that is off by a rounding.
  void losses_are_those_of_the_whole() {
    std::vector<double> whole(records().size());
    apps::micro_batches(job_->shape, records(), {0, whole.size()})(job_->start, whole);
    auto const part = apps::shard_of(records().size(), ranks_->rank(), ranks_->size());
    std::vector<double> own(part.records);
    apps::micro_batches(job_->shape, records(), part)(job_->start, own);
    check(
        std::equal(own.begin(), own.end(), whole.begin() + static_cast<std::ptrdiff_t>(part.first)),
        "losses: not those of the whole");
    std::int64_t total = static_cast<std::int64_t>(part.records);
    ranks_->add_up(std::span(&total, 1));
    check(total == static_cast<std::int64_t>(whole.size()), "losses: not of all records");
  }

  void same(std::string const& what, setting const& wanted) {
    outcome const one = alone(wanted, leave);
    outcome all;
    check(together(wanted, leave, {}, all).empty(), what + ": an error");
    check(all.releases == one.releases, what + ": other releases than in one process");
    check(all.theta == one.theta, what + ": another theta than in one process");
    check(all.theta != job_->start, what + ": nothing was learnt");
    all_equal(all.theta, what);
  }

  void a_loss_that_is_no_number(setting const& wanted) {
    std::size_t const last = records().size() - 1;
    auto const spoil = [&](std::size_t t, std::size_t first, std::span<double> losses) {
      if (t == 3) set(losses, first, last, std::numeric_limits<double>::quiet_NaN());
      if (t == 4) set(losses, first, 0, std::numeric_limits<double>::infinity());
    };
    outcome const one = alone(wanted, spoil);
    outcome all;
    check(together(wanted, spoil, {}, all).empty(), "bad losses: an error");
    check(all == one, "bad losses: not as in one process");
    check(all.releases[3].held() && all.releases[4].held(), "bad losses: no hold");
    outcome const good = alone(wanted, leave);
    check(!good.releases[3].held() || !good.releases[4].held(), "bad losses: would hold anyhow");
  }

  // That the comparison can fail: one record of the last rank has another loss.
  void another_loss_is_seen(setting const& wanted) {
    std::size_t step = 0;
    auto const spoil = [&](std::size_t, std::size_t first, std::span<double> losses) {
      set(losses, first, records().size() - 1, step++ % 2 == 0 ? 1e3 : -1e3);
    };
    outcome all;
    check(together(wanted, spoil, {}, all).empty(), "another loss: an error");
    check(all.releases != alone(wanted, leave).releases, "another loss: not seen");
    all_equal(all.theta, "another loss");
  }

  void an_error_reaches_all(setting const& wanted) {
    std::size_t kept = 0;
    auto const keep = [&](release const&) {
      if (++kept == 3) throw std::runtime_error("the disk is full");
    };
    outcome all;
    std::string const text = together(wanted, leave, keep, all);
    check(text == "the disk is full", "an error: reported as '" + text + "'");
    check(all.releases.size() == 2, "an error: the release was published");
    all_equal(all.theta, "an error");
  }

  void nothing_after_the_last_step(setting const& wanted) {
    outcome all;
    std::string const text = together(wanted, leave, {}, all, 1);
    check(text == "paczero::step: step is 31, but must be at most 30",
          "after the last step: reported as '" + text + "'");
    check(all.releases == alone(wanted, leave).releases, "after the last step: another release");
    all_equal(all.theta, "after the last step");
  }

  // Of mechanisms that draw batches: each rank evaluates its own records in them, and no other.
  void batches_are_those_of_the_whole() {
    tacit::noisy_sum_options const sums{.clip = 3.0,
                                        .noise_multiplier = 0.5,
                                        .rate = 0.1,
                                        .expected_records = static_cast<double>(records().size()),
                                        .steps = 30};
    tacit::train_options plain{.smoothing = 1e-3, .learning_rate = 0.05, .seed = 8};
    auto const n = records().size();
    same_batches("DPZero", plain, 1, [&] { return tacit::dpzero(sums, n, known_secret(10)); });
    plain.optimiser = {.rule = tacit::optimiser_rule::adamw, .beta2 = 0.9};
    plain.weight_decay = 0.1;
    same_batches("DP-AggZO by AdamW", plain, 3,
                 [&] { return tacit::dp_aggzo(sums, 3, n, known_secret(11)); });
    tacit::noisy_sum_options rare = sums;
    rare.rate = 0.005;  // most batches are empty
    same_batches("DP-ZO with Laplace noise", plain, 1,
                 [&] { return tacit::dp_zo_laplace(rare, n, known_secret(12)); });
    tacit::noisy_sum_options whole = sums;
    whole.rate = 1.0;
    same_batches("DPZero of all", plain, 1,
                 [&] { return tacit::dpzero(whole, n, known_secret(13)); });
    batches_fail_together(sums);
  }

  /// The loss, which also adds up how many records it is asked about.
  static auto counted(apps::batch_loss& loss, std::int64_t& evaluated) {
    return [&](std::span<float const> theta, std::span<std::size_t const> batch,
               std::span<double> losses) {
      evaluated += static_cast<std::int64_t>(batch.size());
      loss(theta, batch, losses);
    };
  }

  template <class Make>
  void same_batches(std::string const& what, tacit::train_options const& training,
                    std::size_t directions, Make const& make) {
    using mechanism_of = decltype(make());
    std::int64_t evaluated_alone = 0;
    outcome one{job_->start, {}};
    {
      mechanism_of alone = make();
      apps::batch_loss loss(job_->shape, records());
      tacit::trainer run{alone, training, one.theta};
      while (!run.done()) {
        one.releases.push_back(run.step(counted(loss, evaluated_alone)));
      }
    }
    std::optional<mechanism_of> first;
    if (ranks_->is_first()) first.emplace(make());
    auto const part = apps::shard_of(records().size(), ranks_->rank(), ranks_->size());
    apps::dataset const own = apps::records_of(records(), part);
    apps::batch_loss loss(job_->shape, own);
    apps::shared_batches<mechanism_of> all(*ranks_, directions, one.releases.size(), part,
                                           first ? &*first : nullptr);
    outcome out{job_->start, {}};
    std::int64_t evaluated = 0;
    tacit::trainer run{all, training, out.theta};
    while (!run.done()) {
      out.releases.push_back(run.step(counted(loss, evaluated)));
    }
    check(out.releases == one.releases, what + ": other releases than in one process");
    check(out.theta == one.theta, what + ": another theta than in one process");
    check(out.theta != job_->start, what + ": nothing was learnt");
    ranks_->add_up(std::span(&evaluated, 1));
    check(evaluated == evaluated_alone, what + ": another number of losses than in one process");
    all_equal(out.theta, what);
  }

  void batches_fail_together(tacit::noisy_sum_options const& sums) {
    using one_direction = tacit::dpzero<known_secret>;
    auto const part = apps::shard_of(records().size(), ranks_->rank(), ranks_->size());
    auto const text_of = [&](std::size_t steps, apps::shared_batches<one_direction>::keeper keep) {
      std::optional<one_direction> first;
      if (ranks_->is_first()) first.emplace(sums, records().size(), known_secret(14));
      apps::shared_batches<one_direction> all(*ranks_, 1, steps, part, first ? &*first : nullptr,
                                              std::move(keep));
      try {
        while (!all.done()) {
          std::vector<double> const scalars(all.batch().size(), 0.5);
          all.step(scalars);
        }
      } catch (apps::shared_failure const& error) {
        return std::to_string(all.steps()) + ": " + error.what();
      }
      return std::string("none");
    };
    std::string const late = text_of(31, {});
    check(late == "30: dpzero: step is 30, but must be below 30",
          "batches after the last step: reported as '" + late + "'");
    std::string const full =
        text_of(30, [](release const&) { throw std::runtime_error("the disk is full"); });
    check(full == "0: the disk is full", "batches and a full disk: reported as '" + full + "'");
  }

  communicator* ranks_;
  apps::task const* job_;
  std::int64_t failures_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  communicator ranks(argc, argv);
  try {
    // 121 records: four micro-batches, the last of them not full.
    apps::task job = apps::prepare(
        apps::load_csv(argv[1]), 3,
        {.split = {.private_records = 121, .test_records = 100}, .hidden = 8, .epochs = 5});
    ranks.broadcast(std::span(job.start));
    tests all(ranks, job);
    all.run();
    std::int64_t failures = all.failures();
    ranks.add_up(std::span(&failures, 1));
    if (ranks.is_first())
      std::printf("%zu ranks: %s\n", ranks.size(), failures == 0 ? "passed" : "FAILED");
    return failures == 0 ? 0 : 1;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "rank %zu: %s\n", ranks.rank(), error.what());
    ranks.abort();
  }
}
