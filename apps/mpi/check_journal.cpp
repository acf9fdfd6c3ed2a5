// SPDX-License-Identifier: Apache-2.0
//
// Holds the journal of an interrupted zero-leakage run of tacit_mpi against one process that trains
// alone: the releases must be its releases, and the replayed parameters its parameters.
// usage: check_journal DATA JOURNAL SEED. Prints the number of releases and the hash.

#include <tacit/mechanism/paczero.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/hash.hpp>
#include <tacit/zo/journal.hpp>

#include "micro_batches.hpp"
#include "setting.hpp"
#include "training/recorded.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void require(bool holds, char const* what) {
  if (!holds) throw std::runtime_error(what);
}

void check(std::string const& data, std::string const& file, std::uint64_t seed) {
  tacit::transcript const kept = tacit::read_transcript(file);
  std::vector<tacit::release> const releases = tacit::releases_of(kept);
  require(std::any_of(releases.begin(), releases.end(), [](auto const& r) { return !r.held(); }),
          "no release moved the parameters");

  apps::task const job = apps::prepare(apps::load_csv(data), seed);
  std::vector<float> replayed = job.start;
  tacit::replay(apps::named_tensors(job.shape.tensors(), replayed), kept);

  std::vector<float> trained = job.start;
  std::size_t const steps = kept.run().training.steps;
  tacit::paczero mechanism(apps::paczero_of(tacit::nats(0.0), steps), apps::candidates_of(job));
  apps::dataset const& records = job.data.private_part;
  apps::micro_batches loss(job.shape, records, {0, records.size()});
  tacit::trainer run{mechanism, apps::training_of(seed, steps), trained};
  for (tacit::release const& expected : releases) {
    require(run.step(loss) == expected, "another release than in one process");
  }
  require(replayed == trained, "the replayed parameters are not the trained ones");
  std::printf(
      "%zu %s\n", releases.size(),
      tacit::to_hex(tacit::hash_of(apps::named_tensors(job.shape.tensors(), replayed))).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    require(argc == 4, "usage: check_journal DATA JOURNAL SEED");
    check(argv[1], argv[2], std::stoull(argv[3]));
  } catch (std::exception const& error) {
    std::fprintf(stderr, "check_journal: %s\n", error.what());
    return 1;
  }
}
