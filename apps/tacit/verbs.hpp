// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arguments.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace calculator {

struct answer {
  std::string sentence;
  nlohmann::ordered_json json;
  std::string if_lost{};  // the end of the complaint where it cannot be written
};

/// One question: how it is asked on the command line, and its answer.
struct verb {
  char const* name;
  char const* summary;
  char const* note;  // below the options of its help
  void (*declare)(arguments&);
  answer (*run)(arguments const&);
};

verb epsilon();
verb delta();
verb noise();
verb steps();
verb rate();
verb matrix();
verb curve();
verb report();
verb mi();
verb sigma();
verb attack();
verb budget();
verb ferret();
verb calibrate();
verb gap();
verb train();
verb replay();
verb releases();
verb audit();

}  // namespace calculator
