// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/transcript.hpp>

#include "arguments.hpp"

namespace calculator {

/// The argument TRANSCRIPT: a sealed transcript, or the journal of a run.
void declare_transcript(arguments& of);
tacit::transcript read_transcript(arguments const& of);

}  // namespace calculator
