// SPDX-License-Identifier: Apache-2.0
//
// A private run that survives its process. Before a step returns, its charge and its release are on disk
// together, so that no crash can release without charging, or charge for one release twice. The parameters
// need not be saved: replaying the releases from the start gives them again, bit for bit.

#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_run.hpp>
#include <tacit/train/trainer.hpp>

#include <cstdio>
#include <filesystem>
#include <span>
#include <vector>

using namespace tacit;
using namespace tacit::literals;

namespace {

constexpr std::size_t records = 400;
constexpr std::size_t steps = 300;

// Yours: a number for each record, smaller is better. Here a line is fitted.
void loss(std::span<float const> theta, std::span<double> losses) {
  for (std::size_t i = 0; i < records; ++i) {
    double const x = 0.01 * static_cast<double>(i) - 2.0;
    double const error = double{theta[0]} * x + double{theta[1]} - (2.0 * x - 1.0);
    losses[i] = error * error;
  }
}

train_options const options{
    .smoothing = 1e-3, .learning_rate = 0.02, .decay = schedule::linear, .steps = steps, .seed = 7};

}  // namespace

int main() {
  std::filesystem::path const state =
      std::filesystem::temp_directory_path() / "stop_and_resume.state";
  std::filesystem::remove(state);

  std::vector<float> before{0.0F, 0.0F};
  {
    // Every step is stored before it returns. The file holds the secret: only its owner can read it.
    saved_run mechanism(paczero({.steps = steps, .budget = 0.33_nats},
                                candidate_set::balanced({.records = records}, 42)),
                        state);
    trainer run{mechanism, options, before};
    for (int k = 0; k < 100; ++k) run.step(loss);
    std::printf("stopped after %zu steps, %.3f nats spent\n", mechanism.steps(),
                mechanism->spent().value);
  }  // the process ends here

  // Later, in another process: the same secret, account and coins.
  auto mechanism = saved_run<paczero<>>::resume(state);
  std::vector<float> theta{0.0F, 0.0F};  // the start again
  trainer run{mechanism, options, theta};
  run.replay(mechanism.transcript());
  bool const same = theta == before;
  std::printf("resumed at step %zu with %s parameters\n", mechanism.steps(),
              same ? "the same" : "OTHER");
  while (!run.done()) run.step(loss);
  std::printf("done after %zu steps: y = %.2f x %+.2f\n", mechanism.steps(), double{theta[0]},
              double{theta[1]});
  std::printf("an attacker on membership is right with probability %.3f at most\n",
              mechanism->attack_bound());
  std::filesystem::remove(state);
  return same ? 0 : 1;
}
