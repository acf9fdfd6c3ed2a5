// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/journal.hpp>
#include <tacit/zo/options.hpp>
#include <tacit/zo/transcript.hpp>

#include "training/task.hpp"

#include <cstddef>
#include <filesystem>

namespace apps {

/// All that is fixed before the first step of a run on this task. `magnitude` is that of its signs,
/// 0 for scalars.
tacit::run_record record_of(task const& job, tacit::train_options const& training,
                            tacit::recorded_mechanism mechanism, std::size_t directions,
                            tacit::symbol_kind symbols, double magnitude);

/// FILE.journal: where the transcript FILE is kept while its run goes on.
std::filesystem::path journal_of(std::filesystem::path transcript);

/// The journal of a new run, whose transcript is to be FILE.
/// @throws what tacit::journal::create throws; tacit::file_error if there is FILE by now: another run may have
///         sealed it since somebody looked
tacit::journal begin_journal(std::filesystem::path const& transcript, tacit::run_record record);

/// At the end of a run: the transcript in the place of its journal. A crash before the journal was
/// removed leaves both, and this may be done again.
/// @throws std::system_error naming the file, also if it is another transcript
void seal(tacit::journal const& log, std::filesystem::path const& transcript);

}  // namespace apps
