// SPDX-License-Identifier: Apache-2.0
//
// The state of private answers, or what was said of them: refused as corrupt, or answers within their budget, whose belief
// prices the next one.

#include <tacit/core/check.hpp>
#include <tacit/core/private_file.hpp>
#include <tacit/mechanism/saved_answering.hpp>
#include <tacit/mechanism/saved_run.hpp>
#include <tacit/pac/answer_belief.hpp>
#include <tacit/pac/answer_plan.hpp>
#include <tacit/pac/answer_transcript.hpp>

#include "checksummed.hpp"
#include "scratch_file.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void must(bool right) {
  if (!right) std::abort();
}

void check(tacit::detail::answers_on_file const& found) {
  auto const now = found.save();
  must(now.charged.value >= 0.0 && now.charged.value <= now.budget.value);
  must(now.kappa > 0.0);
  auto belief = tacit::answer_belief::restore(now.belief);
  must(now.truth < belief.candidates());
  if (now.ahead) belief.forget();
  double sum = 0.0;
  for (double const p : belief.probabilities()) {
    must(p >= 0.0);
    sum += p;
  }
  must(std::abs(sum - 1.0) < 1e-9 && belief.excess() >= 1.0);
  std::vector<double> answers;
  for (std::size_t m = 0; m < belief.candidates(); ++m) answers.push_back(m % 2 == 0 ? 0.0 : 1.0);
  auto const plan = tacit::plan_answer(answers, belief, now.per_answer, now.how);
  must(plan.charge.value >= 0.0 && plan.charge.value < 17.0);  // log 2^24
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const text = fuzz::checksummed(fuzz::text_of(data, size));
  try {
    if (text.starts_with("tacit-answers ")) {
      auto const said = tacit::answer_transcript::parse(text);
      // One form alone: what is accepted is what would be written.
      if (said.text() == text) return 0;
      must(tacit::answer_transcript::parse(said.text()).text() == said.text());
    } else {
      tacit::saved_run<tacit::detail::answers_on_file>::inspect(fuzz::scratch_file(text), check);
    }
  } catch (tacit::corrupt_state const&) {
  }
  return 0;
}
