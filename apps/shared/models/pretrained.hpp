// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/lora.hpp"
#include "models/network.hpp"
#include "models/text.hpp"
#include "models/transformer.hpp"
#include "training/task.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace apps {

/// A network that has learnt a table's public part, or adapters beside its two matrices.
class table_model {
 public:
  /// `job` is used, not owned. `rank`: of the adapters; 0: the network itself.
  table_model(task const& job, std::size_t rank);
  table_model(table_model const&) = delete;  // the adapters point to the network
  table_model& operator=(table_model const&) = delete;

  model& of() { return adapters_ ? static_cast<model&>(*adapters_) : network_; }

 private:
  network network_;
  std::unique_ptr<lora> adapters_;
};

/// Texts, and a transformer that has learnt the public ones.
struct pretrained_texts {
  corpus words;
  transformer_shape shape;
  std::vector<float> start;  // the parameters after public training

  /// A model of its own, for a thread of its own.
  language_model model() const { return {shape, start, words.private_part, words.test_part}; }
};

/// A transformer that has learnt the public texts, or adapters beside its queries and values.
class text_model {
 public:
  /// `rank`: of the adapters; 0: the transformer itself.
  text_model(pretrained_texts const& from, std::size_t rank);
  text_model(text_model const&) = delete;  // the adapters point to the transformer
  text_model& operator=(text_model const&) = delete;

  model& of() { return adapters_ ? static_cast<model&>(*adapters_) : transformer_; }

  /// The losses of any texts.
  std::vector<double> losses_of(std::span<float const> theta,
                                std::vector<std::string> const& texts) {
    return transformer_.losses_of(adapters_ ? adapters_->merged(theta) : theta, texts);
  }

 private:
  language_model transformer_;
  std::unique_ptr<lora> adapters_;
};

/// 120 steps are so few that the public sentences are not learnt by heart.
pretrained_texts pretrain_on_texts(std::uint64_t seed, text_options const& options,
                                   std::size_t steps = 120);

}  // namespace apps
