// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model_folder.hpp"

#include <ATen/ATen.h>

#include <cstddef>
#include <utility>
#include <vector>

/// OPT's decoder (Zhang et al. 2022, the sizes with the layer norms before their blocks) over one flat tensor of all
/// parameters, in the order of `tensors_of`. A view: who moves the flat tensor moves the model.
class opt {
 public:
  opt(opt_shape const& shape, at::Tensor const& flat) : opt(shape, pieces_of(shape, flat)) {}
  /// Of tensors that are its pieces.
  opt(opt_shape const& shape, std::vector<at::Tensor> const& pieces);

  /// Views of the flat tensor's parts, in the shapes of `tensors_of`.
  static std::vector<at::Tensor> pieces_of(opt_shape const& shape, at::Tensor const& flat);

  /// Logits, as floats, of the token after each of these places. `tokens` is [B, L], `places` is [B, A] and the
  /// result [B, A, V]. Texts are padded at their ends: what comes after a place does not reach it.
  [[nodiscard]] at::Tensor logits(at::Tensor const& tokens, at::Tensor const& places) const;

 private:
  struct affine {
    at::Tensor weight;
    at::Tensor bias;
  };
  struct layer {
    affine attention_norm, query, key, value, out, feed_norm, up, down;
  };

  [[nodiscard]] at::Tensor normed(at::Tensor const& x, affine const& by) const;
  [[nodiscard]] at::Tensor attention(at::Tensor const& x, layer const& in) const;

  opt_shape shape_;
  at::Tensor embedding_;
  at::Tensor positions_;
  std::vector<layer> layers_;
  affine final_norm_;
};
