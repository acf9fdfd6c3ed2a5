// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/random/normal.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/storage.hpp>

#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <gguf.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// Adapters as GGUF files: LoRA's matrices, or a control vector. All numbers of the file are the parameters.

/// A view of a ggml tensor as tacit has it.
/// @throws std::runtime_error for a type that is trained by nobody here
inline tacit::tensor view_of(ggml_tensor* one) {
  auto const entries = static_cast<std::size_t>(ggml_nelements(one));
  auto const as = [&]<class T>(T*) { return std::span<T>(static_cast<T*>(one->data), entries); };
  switch (one->type) {
    case GGML_TYPE_F32:
      return {.entries = as(static_cast<float*>(nullptr)), .name = one->name};
    case GGML_TYPE_F16:
      return {.entries = as(static_cast<tacit::half*>(nullptr)), .name = one->name};
    case GGML_TYPE_BF16:
      return {.entries = as(static_cast<tacit::bfloat16*>(nullptr)), .name = one->name};
    default:
      throw std::runtime_error("tensor " + std::string(one->name) + " is stored as " +
                               ggml_type_name(one->type) + ", but must be f32, f16 or bf16");
  }
}

/// What a GGUF file says of itself and its tensors; with their numbers unless told otherwise.
class gguf_file {
 public:
  explicit gguf_file(std::string const& file, bool with_numbers = true) {
    ggml_context* tensors = nullptr;
    header_.reset(gguf_init_from_file(file.c_str(), {.no_alloc = !with_numbers, .ctx = &tensors}));
    tensors_.reset(tensors);
    if (!header_) throw std::runtime_error("cannot read " + file + ", or it is no GGUF file");
    for (ggml_tensor* one = ggml_get_first_tensor(tensors); one != nullptr;
         one = ggml_get_next_tensor(tensors, one)) {
      // The numbers themselves are a tensor without a place in the file.
      if (gguf_find_tensor(header_.get(), one->name) >= 0) all_.push_back(one);
    }
  }

  /// A text of the header; empty if there is none.
  [[nodiscard]] std::string text(char const* key) const {
    std::int64_t const at = gguf_find_key(header_.get(), key);
    bool const is_text = at >= 0 && gguf_get_kv_type(header_.get(), at) == GGUF_TYPE_STRING;
    return is_text ? gguf_get_val_str(header_.get(), at) : "";
  }

  [[nodiscard]] std::span<ggml_tensor* const> tensors() const noexcept { return all_; }

  [[nodiscard]] tacit::parameters parameters() const {
    std::vector<tacit::tensor> views;
    for (ggml_tensor* const one : all_) views.push_back(view_of(one));
    return tacit::parameters(std::move(views));
  }

  /// The same header and tensors with the numbers as they are now.
  void write(std::string const& file) const {
    gguf_context_ptr const out(gguf_init_empty());
    gguf_set_kv(out.get(), header_.get());
    for (ggml_tensor const* const one : all_) gguf_add_tensor(out.get(), one);
    if (!gguf_write_to_file(out.get(), file.c_str(), false)) {
      throw std::runtime_error("cannot write " + file);
    }
  }

 private:
  gguf_context_ptr header_;
  ggml_context_ptr tensors_;
  std::vector<ggml_tensor*> all_;
};

struct adapter_shape {
  bool control_vector = false;
  std::int64_t rank = 4;           ///< of LoRA
  ggml_type type = GGML_TYPE_F32;  ///< of LoRA's matrices: f32 or f16
  std::uint64_t seed = 0;          ///< public: of LoRA's A
};

/// Writes an adapter that changes nothing yet: a control vector of zeros; or, for the queries and values of every
/// layer, A normal with variance 1/columns and B = 0. `tokenizer` says whose tokens it is for.
inline void write_start(std::string const& model_file, std::string const& file,
                        adapter_shape const& shape, std::string const& tokenizer) {
  gguf_file const model(model_file, false);
  std::string const family = model.text("general.architecture");
  gguf_context_ptr const out(gguf_init_empty());
  gguf_set_val_str(out.get(), "general.type", "adapter");
  gguf_set_val_str(out.get(), "tacit.tokenizer", tokenizer.c_str());
  if (shape.control_vector) {
    gguf_set_val_str(out.get(), "general.architecture", "controlvector");
    gguf_set_val_str(out.get(), "controlvector.model_hint", family.c_str());
  } else {
    gguf_set_val_str(out.get(), "general.architecture", family.c_str());
    gguf_set_val_str(out.get(), "adapter.type", "lora");
    gguf_set_val_f32(out.get(), "adapter.lora.alpha", static_cast<float>(shape.rank));
  }

  std::size_t const room = 2 * model.tensors().size() * ggml_tensor_overhead();
  ggml_context_ptr const tensors(
      ggml_init({.mem_size = room, .mem_buffer = nullptr, .no_alloc = true}));
  auto const add = [&](std::string const& name, auto... sizes) {
    std::array<std::int64_t, sizeof...(sizes)> const shape_of{sizes...};
    ggml_type const type = shape.control_vector ? GGML_TYPE_F32 : shape.type;
    ggml_set_name(ggml_new_tensor(tensors.get(), type, sizeof...(sizes), shape_of.data()),
                  name.c_str());
  };
  for (ggml_tensor const* const one : model.tensors()) {
    std::string const name = one->name;  // blk.LAYER.…
    if (shape.control_vector && name.ends_with(".attn_norm.weight")) {
      std::string const layer = name.substr(4, name.find('.', 4) - 4);
      if (layer != "0") add("direction." + layer, one->ne[0]);
    } else if (!shape.control_vector &&
               (name.ends_with(".attn_q.weight") || name.ends_with(".attn_v.weight"))) {
      add(name + ".lora_a", one->ne[0], shape.rank);
      add(name + ".lora_b", shape.rank, one->ne[1]);
    }
  }
  ggml_backend_buffer_ptr const numbers(
      ggml_backend_alloc_ctx_tensors_from_buft(tensors.get(), ggml_backend_cpu_buffer_type()));
  if (!numbers) throw std::runtime_error(model_file + " has no layer that could be tuned");
  ggml_backend_buffer_clear(numbers.get(), 0);

  std::uint64_t step = 0;
  for (ggml_tensor* one = ggml_get_first_tensor(tensors.get()); one != nullptr;
       one = ggml_get_next_tensor(tensors.get(), one)) {
    if (std::string_view(one->name).ends_with(".lora_a")) {
      tacit::stream_id const stream{shape.seed, step++};
      float const scale = 1.0F / std::sqrt(static_cast<float>(one->ne[0]));
      std::visit(
          [&]<class T>(std::span<T> entries) {
            for (std::size_t i = 0; i < entries.size(); ++i) {
              entries[i] = tacit::rounded_to<T>(scale * tacit::normal(stream, i));
            }
          },
          view_of(one).entries);
    }
    gguf_add_tensor(out.get(), one);
  }
  if (!gguf_write_to_file(out.get(), file.c_str(), false)) {
    throw std::runtime_error("cannot write " + file);
  }
}
