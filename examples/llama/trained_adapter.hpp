// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/parameters.hpp>

#include "engine.hpp"
#include "gguf_file.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// An adapter in an engine. Its parameters are moved in place; `apply` tells the engine that they were.
class trained_adapter {
 public:
  /// @throws std::runtime_error for an adapter of another tokenizer, or of tensors of other shapes
  trained_adapter(engine& in, std::string const& file)
      : engine_(&in),
        file_(file),
        is_control_vector_(file_.text("general.architecture") == "controlvector") {
    std::string const tokenizer = file_.text("tacit.tokenizer");
    if (!tokenizer.empty() && tokenizer != in.tokenizer()) {
      throw std::runtime_error(file + " is for a model with another tokenizer");
    }
    if (is_control_vector_) {
      find_layers(file);
    } else {
      load(file);
    }
    apply();
  }

  [[nodiscard]] tacit::parameters parameters() const { return parameters_of(numbers()); }

  void apply() {
    if (!is_control_vector_) return;  // the engine's own tensors are moved
    auto const width = static_cast<std::size_t>(llama_model_n_embd(engine_->model()));
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      auto const* const numbers = static_cast<float const*>(file_.tensors()[i]->data);
      std::copy_n(numbers, width,
                  vector_.begin() + static_cast<std::ptrdiff_t>((layers_[i] - 1) * width));
    }
    if (llama_set_adapter_cvec(engine_->context(), vector_.data(), vector_.size(),
                               static_cast<std::int32_t>(width), 1,
                               llama_model_n_layer(engine_->model())) != 0) {
      fail("the control vector was refused");
    }
  }

  /// The adapter as it is now, for anything that loads GGUF adapters.
  void write(std::string const& file) const { file_.write(file, numbers()); }

 private:
  [[nodiscard]] std::span<ggml_tensor* const> numbers() const noexcept {
    return is_control_vector_ ? file_.tensors() : live_;
  }

  void find_layers(std::string const& file) {
    auto const layers = static_cast<std::size_t>(llama_model_n_layer(engine_->model()));
    std::int64_t const width = llama_model_n_embd(engine_->model());
    for (ggml_tensor const* const one : file_.tensors()) {
      std::string const name = one->name;
      std::size_t const layer = one->type == GGML_TYPE_F32 ? layer_in(name) : 0;
      if (layer < 1 || layer >= layers || ggml_nelements(one) != width) {
        throw std::runtime_error(
            file + " has another shape than the model: tensor " + name + " of " +
            std::to_string(ggml_nelements(one)) + " numbers " + ggml_type_name(one->type) +
            ", but must be one of direction.1 to " + std::to_string(layers - 1) + " of " +
            std::to_string(width) + " numbers f32");
      }
      if (std::find(layers_.begin(), layers_.end(), layer) != layers_.end()) {
        throw std::runtime_error(file + " has layer " + std::to_string(layer) + " twice: tensor " +
                                 name);
      }
      layers_.push_back(layer);
    }
    vector_.resize((layers - 1) * static_cast<std::size_t>(width));
  }

  // The number in direction.NUMBER; 0 where there is none.
  static std::size_t layer_in(std::string_view name) {
    constexpr std::string_view begin = "direction.";
    if (!name.starts_with(begin)) return 0;
    std::size_t layer = 0;
    char const* const end = name.data() + name.size();
    auto const [stop, error] = std::from_chars(name.data() + begin.size(), end, layer);
    return error == std::errc() && stop == end ? layer : 0;
  }

  void load(std::string const& file) {
    llama_adapter_lora* const lora = llama_adapter_lora_init(engine_->model(), file.c_str());
    if (lora == nullptr) fail(file + " does not fit the model");
    llama_adapter_lora* list[] = {lora};
    float scale[] = {1.0F};
    if (llama_set_adapters_lora(engine_->context(), list, 1, scale) != 0)
      fail("cannot use " + file);
    live_ = engine_->tensors_called(file_.tensors());
  }

  engine* engine_;
  gguf_file file_;
  bool is_control_vector_;
  std::vector<ggml_tensor*> live_;   // of LoRA, in the engine
  std::vector<std::size_t> layers_;  // of a control vector, tensor by tensor
  std::vector<float> vector_;        // of all layers but the first
};
