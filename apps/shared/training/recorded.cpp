// SPDX-License-Identifier: Apache-2.0
#include "training/recorded.hpp"

#include <tacit/core/archive.hpp>
#include <tacit/zo/hash.hpp>

#include <utility>

namespace examples {

std::vector<tacit::recorded_tensor> tensors_of(mlp const& shape) {
  // Column by column in memory is row by row of the transposed.
  return {{"hidden.weight", tacit::element_type::f32, {shape.hidden, shape.inputs}},
          {"hidden.bias", tacit::element_type::f32, {shape.hidden}},
          {"output.weight", tacit::element_type::f32, {shape.classes, shape.hidden}},
          {"output.bias", tacit::element_type::f32, {shape.classes}}};
}

tacit::parameters named(mlp const& shape, std::span<float> theta) {
  std::vector<tacit::tensor> views;
  for (tacit::recorded_tensor const& one : tensors_of(shape)) {
    std::size_t size = 1;
    for (auto const n : one.shape) size *= n;
    views.push_back({.entries = theta.first(size), .name = one.name});
    theta = theta.subspan(size);
  }
  return tacit::parameters(std::move(views));
}

tacit::run_record record_of(task const& job, tacit::train_options const& training,
                            tacit::recorded_mechanism mechanism, std::size_t directions,
                            tacit::symbol_kind symbols, double magnitude) {
  std::vector<float> start = job.start;
  return {.mechanism = std::move(mechanism),
          .training = training,
          .directions = directions,
          .symbols = symbols,
          .magnitude = magnitude,
          .tensors = tensors_of(job.shape),
          .start = tacit::hash_of(named(job.shape, start))};
}

std::filesystem::path journal_of(std::filesystem::path transcript) {
  return transcript += ".journal";
}

void seal(tacit::journal const& log, std::filesystem::path const& transcript) {
  tacit::write_private_file(transcript, log.seal().sealed());
  std::filesystem::path journal = journal_of(transcript);
  std::filesystem::remove(journal);
  std::filesystem::remove(journal += ".lock");
}

}  // namespace examples
