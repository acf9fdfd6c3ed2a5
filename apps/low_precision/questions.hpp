// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "experiment.hpp"

#include <string>
#include <vector>

namespace apps {

enum class verdict { yes, opposite, not_seen };

/// A paired difference, and its test: Student's t, two-sided, with Holm's correction over all of them.
struct answered {
  std::size_t question;  // its place in `asked()`
  private_system system;
  scores gain;               // positive where the answer is yes
  bool other_rates = false;  // the two sides were tuned to different η
  double p = 1.0;
  verdict said = verdict::not_seen;
};

/// What is asked of every system: the question, and what is compared.
struct asked_of_all {
  std::string what;
  std::string compared;
};
std::vector<asked_of_all> asked();

std::vector<answered> answers_of(low_precision_results const& found);

}  // namespace apps
