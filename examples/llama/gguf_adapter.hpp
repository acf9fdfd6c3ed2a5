// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/random/normal.hpp>
#include <tacit/zo/storage.hpp>

#include "gguf_file.hpp"

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
#include <variant>

/// Adapters as GGUF files: LoRA's matrices, or a control vector. All numbers of the file are the parameters.

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
  gguf_file const model(model_file);
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
  if (ggml_get_first_tensor(tensors.get()) == nullptr) {
    throw std::runtime_error(model_file + " has no layer that could be tuned");
  }
  ggml_backend_buffer_ptr const numbers(
      ggml_backend_alloc_ctx_tensors_from_buft(tensors.get(), ggml_backend_cpu_buffer_type()));
  if (!numbers) throw std::runtime_error("there is no memory for the adapter");
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
