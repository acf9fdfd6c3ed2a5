// SPDX-License-Identifier: Apache-2.0
//
// A program of the headers alone, for test_training.py: what one side has trained the other replays.
//   other_side replay TRANSCRIPT START END        END: the parameters START after the transcript's steps
//   other_side train paczero|dpzero TRANSCRIPT END  a run of its own, from zeros
// START and END hold the bytes of all tensors, one after the other.

#include <tacit/core/private_file.hpp>
#include <tacit/mechanism/dpzero.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <span>
#include <string>
#include <vector>

using namespace tacit;

namespace {

// Tensors of a record, in memory of this program.
class model {
 public:
  explicit model(std::vector<recorded_tensor> const& tensors) {
    for (recorded_tensor const& one : tensors) {
      std::size_t const n = detail::entries_of("model", one);
      bool const floats = one.type == element_type::f32;
      std::vector<float>& memory = memory_.emplace_back(floats ? n : (n + 1) / 2);
      std::vector<tensor>& views = views_;
      if (floats) {
        views.push_back({.entries = std::span(memory), .name = one.name});
      } else if (one.type == element_type::f16) {
        views.push_back(
            {.entries = std::span(reinterpret_cast<half*>(memory.data()), n), .name = one.name});
      } else {
        views.push_back({.entries = std::span(reinterpret_cast<bfloat16*>(memory.data()), n),
                         .name = one.name});
      }
    }
  }

  [[nodiscard]] parameters theta() const { return parameters(views_); }

  void read(std::string const& bytes) {
    auto next = bytes.begin();
    each([&](char* data, std::size_t size) {
      std::copy_n(next, size, data);
      std::advance(next, static_cast<std::ptrdiff_t>(size));
    });
  }
  [[nodiscard]] std::string bytes() const {
    std::string out;
    each([&](char const* data, std::size_t size) { out.append(data, size); });
    return out;
  }

 private:
  template <class Use>
  void each(Use const& use) const {
    for (tensor const& one : views_) {
      std::visit(
          [&](auto entries) { use(reinterpret_cast<char*>(entries.data()), entries.size_bytes()); },
          one.entries);
    }
  }

  std::list<std::vector<float>> memory_;
  std::vector<tensor> views_;
};

constexpr std::size_t records = 60;

template <class Mechanism>
void train(Mechanism& mechanism, recorded_mechanism const& described, symbol_kind symbols,
           std::string const& transcript_file, std::string const& end) {
  std::vector<recorded_tensor> const tensors{{"weight", element_type::f32, {7, 5}},
                                             {"bias", element_type::f16, {5}}};
  model all(tensors);
  std::size_t const k = mechanism.directions();
  run_record const record{
      .mechanism = described,
      .training = {.smoothing = 1e-2,
                   .learning_rate = 0.05,
                   .weight_decay = 0.1,
                   .decay = schedule::linear,
                   .steps = 40,
                   .law = direction_law::sphere,
                   .seed = 11},
      .directions = k,
      .symbols = symbols,
      .magnitude = symbols == symbol_kind::scalar ? 0.0 : 1.0 / static_cast<double>(k),
      .tensors = tensors,
      .start = hash_of(all.theta())};
  trainer run{mechanism, record.training, all.theta()};
  std::vector<double> coefficients;
  while (!run.done()) {
    release const& released = run.step([](parameters const& theta, std::span<double> losses) {
      auto const weight = std::get<std::span<float>>(theta.all()[0].entries);
      for (std::size_t i = 0; i < losses.size(); ++i) {
        double const error = double{weight[i % weight.size()]} - 0.01 * static_cast<double>(i);
        losses[i] = error * error;
      }
    });
    coefficients.insert(coefficients.end(), released.coefficients.begin(),
                        released.coefficients.end());
  }
  create_private_file(transcript_file, transcript(record, coefficients).sealed());
  create_private_file(end, all.bytes());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> const given(argv + 1, argv + argc);
  if (given.size() == 4 && given[0] == "replay") {
    transcript const run = read_transcript(given[1]);
    model all(run.run().tensors);
    all.read(read_file(given[2]));
    replay(all.theta(), run);
    create_private_file(given[3], all.bytes());
    return 0;
  }
  if (given.size() == 4 && given[0] == "train" && given[1] == "paczero") {
    paczero mechanism({.steps = 40, .budget = nats(0.5), .directions = 2},
                      candidate_set::balanced({.records = records}, 5));
    train(mechanism, describe(mechanism.options(), mechanism.candidates()), symbol_kind::held_sign,
          given[2], given[3]);
    return 0;
  }
  if (given.size() == 4 && given[0] == "train" && given[1] == "dpzero") {
    noisy_sum_options const options{.clip = 1.0,
                                    .noise_multiplier = 1.0,
                                    .rate = 0.5,
                                    .expected_records = records,
                                    .steps = 40};
    dpzero mechanism(options, participants(records));
    train(mechanism, describe("dpzero", options, records), symbol_kind::scalar, given[2], given[3]);
    return 0;
  }
  return 2;
}
