// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/parameters.hpp>

#include "engine.hpp"
#include "gguf_file.hpp"

#include <stdexcept>
#include <string>
#include <vector>

/// Weights of the model itself, which are moved in place: the engine's own tensors.
class trained_weights {
 public:
  /// Those of an engine made with `weights::moved` of this file.
  /// @throws std::runtime_error for a pattern that fits none, or a tensor that is quantised or that the engine does
  ///         not compute with as it is in the file
  trained_weights(engine& in, std::string const& model_file, std::string const& pattern)
      : file_(model_file) {
    if (file_.has("split.count")) {
      throw std::runtime_error(model_file +
                               " is a part of a model: llama-gguf-split --merge makes one file");
    }
    std::vector<ggml_tensor*> const named = file_.tensors_like(pattern);
    (void)parameters_of(named);
    live_ = in.tensors_called(named);
    for (std::size_t i = 0; i < live_.size(); ++i) {
      if (live_[i]->type != named[i]->type || !ggml_are_same_shape(live_[i], named[i])) {
        throw std::runtime_error("tensor " + std::string(named[i]->name) +
                                 " is another one in llama.cpp than in the file");
      }
    }
  }

  [[nodiscard]] tacit::parameters parameters() const { return parameters_of(live_); }

  void apply() const noexcept {}  // they are moved

  /// The model as it is now.
  void write(std::string const& file) const { file_.write(file, live_); }

 private:
  gguf_file file_;
  std::vector<ggml_tensor*> live_;
};
