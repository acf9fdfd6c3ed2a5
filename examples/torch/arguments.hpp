// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../llama/tuning.hpp"
#include "device.hpp"
#include "engine.hpp"
#include "model_folder.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

/// What the command line asks for. Every verb reads some of it.
struct arguments {
  std::string verb;
  std::string model;
  std::string records;
  std::string out;
  std::string transcript;
  std::string vocabulary;
  std::string test;      ///< fresh records, for the report of a tuned model
  std::string canaries;  ///< and what might have been planted
  opt_shape shape;
  bool bfloat16 = false;
  std::uint64_t seed = 1;
  open_training open;
  tuning how;
  place where;
  bool audit = false;        ///< half of the records stay out, and an attacker guesses which
  std::size_t watched = 64;  ///< of the last records, whom the informed attacker guesses
  bool json = false;
  std::size_t candidates = 64;  ///< of a canary
};

/// @throws std::invalid_argument with a line that says what is wrong; `verb` is empty where only help was asked for
arguments read_arguments(int count, char** words);
