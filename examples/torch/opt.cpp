// SPDX-License-Identifier: Apache-2.0
#include "opt.hpp"

namespace {

constexpr double norm_epsilon = 1e-5;

}  // namespace

std::vector<at::Tensor> opt::pieces_of(opt_shape const& shape, at::Tensor const& flat) {
  std::vector<at::Tensor> out;
  std::int64_t first = 0;
  for (tacit::recorded_tensor const& one : tensors_of(shape)) {
    std::vector<std::int64_t> const view(one.shape.begin(), one.shape.end());
    std::int64_t count = 1;
    for (std::int64_t const size : view) count *= size;
    out.push_back(flat.narrow(0, first, count).view(view));
    first += count;
  }
  return out;
}

opt::opt(opt_shape const& shape, std::vector<at::Tensor> const& pieces) : shape_(shape) {
  std::size_t next = 0;
  auto const take = [&] { return pieces[next++]; };
  auto const take_both = [&] {
    at::Tensor weight = take();
    return affine{std::move(weight), take()};
  };
  embedding_ = take();
  positions_ = take();
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    layer one;
    for (affine layer::*part : {&layer::attention_norm, &layer::query, &layer::key, &layer::value,
                                &layer::out, &layer::feed_norm, &layer::up, &layer::down}) {
      one.*part = take_both();
    }
    layers_.push_back(std::move(one));
  }
  final_norm_ = take_both();
}

at::Tensor opt::normed(at::Tensor const& x, affine const& by) const {
  return at::layer_norm(x, {shape_.width}, by.weight, by.bias, norm_epsilon);
}

at::Tensor opt::attention(at::Tensor const& x, layer const& in) const {
  std::int64_t const batch = x.size(0);
  std::int64_t const length = x.size(1);
  auto const by_heads = [&](affine const& projection) {
    return at::linear(x, projection.weight, projection.bias)
        .view({batch, length, shape_.heads, shape_.width / shape_.heads})
        .transpose(1, 2);
  };
  at::Tensor const mixed = at::scaled_dot_product_attention(by_heads(in.query), by_heads(in.key),
                                                            by_heads(in.value), {}, 0.0, true);
  return at::linear(mixed.transpose(1, 2).reshape({batch, length, shape_.width}), in.out.weight,
                    in.out.bias);
}

at::Tensor opt::logits(at::Tensor const& tokens, at::Tensor const& places) const {
  at::Tensor x =
      at::embedding(embedding_, tokens) + positions_.narrow(0, position_offset, tokens.size(1));
  for (layer const& one : layers_) {
    x = x + attention(normed(x, one.attention_norm), one);
    at::Tensor const inner =
        at::relu(at::linear(normed(x, one.feed_norm), one.up.weight, one.up.bias));
    x = x + at::linear(inner, one.down.weight, one.down.bias);
  }
  x = x.gather(1, places.unsqueeze(-1).expand({-1, -1, shape_.width}));
  return at::linear(normed(x, final_norm_), embedding_).to(at::kFloat);
}
