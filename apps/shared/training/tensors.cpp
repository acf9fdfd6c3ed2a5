// SPDX-License-Identifier: Apache-2.0
#include "training/tensors.hpp"

#include <functional>
#include <numeric>

namespace apps {

std::size_t entries(std::vector<std::size_t> const& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

std::vector<tacit::recorded_tensor> recorded_tensors(tensor_list const& tensors) {
  std::vector<tacit::recorded_tensor> out;
  for (auto const& [name, shape] : tensors) {
    out.push_back({name, tacit::element_type::f32, {shape.begin(), shape.end()}});
  }
  return out;
}

tacit::parameters named_tensors(tensor_list const& tensors, std::span<float> theta) {
  std::vector<tacit::tensor> views;
  for (auto const& [name, shape] : tensors) {
    views.push_back({.entries = theta.first(entries(shape)), .name = name});
    theta = theta.subspan(entries(shape));
  }
  return tacit::parameters(std::move(views));
}

}  // namespace apps
