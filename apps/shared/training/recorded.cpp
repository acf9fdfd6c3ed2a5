// SPDX-License-Identifier: Apache-2.0
#include "training/recorded.hpp"

#include <tacit/core/private_file.hpp>
#include <tacit/zo/hash.hpp>

#include "training/tensors.hpp"

#include <string>
#include <system_error>
#include <utility>

namespace apps {

tacit::run_record record_of(task const& job, tacit::train_options const& training,
                            tacit::recorded_mechanism mechanism, std::size_t directions,
                            tacit::symbol_kind symbols, double magnitude) {
  std::vector<float> start = job.start;
  tensor_list const tensors = job.shape.tensors();
  return {.mechanism = std::move(mechanism),
          .training = training,
          .directions = directions,
          .symbols = symbols,
          .magnitude = magnitude,
          .tensors = recorded_tensors(tensors),
          .start = tacit::hash_of(named_tensors(tensors, start))};
}

std::filesystem::path journal_of(std::filesystem::path transcript) {
  return transcript += ".journal";
}

tacit::journal begin_journal(std::filesystem::path const& transcript, tacit::run_record record) {
  tacit::journal begun = tacit::journal::create(journal_of(transcript), std::move(record));
  if (std::filesystem::exists(std::filesystem::symlink_status(transcript))) {
    std::filesystem::remove(journal_of(transcript));
    tacit::detail::fail_file("begin_journal", "there is already", transcript,
                             std::errc::file_exists);
  }
  return begun;
}

void seal(tacit::journal const& log, std::filesystem::path const& transcript) {
  std::string const sealed = log.seal().sealed();
  bool const there = std::filesystem::exists(std::filesystem::symlink_status(transcript));
  if (!there || tacit::read_file(transcript) != sealed) {
    tacit::create_private_file(transcript, sealed);
  }
  std::filesystem::remove(journal_of(transcript));
}

}  // namespace apps
