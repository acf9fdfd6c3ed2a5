// SPDX-License-Identifier: Apache-2.0
#include "models/lora.hpp"

#include <tacit/core/check.hpp>
#include <tacit/random/uniform.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace apps {

lora::lora(model& whole, std::vector<float> frozen, std::size_t rank,
           std::vector<std::string> const& matrices)
    : whole_(&whole), frozen_(std::move(frozen)), rank_(rank), gradient_(frozen_.size()) {
  namespace check = tacit::detail;
  check::check_size("lora", "number of frozen parameters", frozen_.size(), whole.parameters());
  check::require_argument(rank > 0, "lora", "rank", rank, "at least 1");
  check::require_argument(!matrices.empty(), "lora", "number of matrices", matrices.size(),
                          "at least 1");
  std::size_t first = 0;
  for (auto const& [name, shape] : whole.tensors()) {
    bool const wanted = std::find(matrices.begin(), matrices.end(), name) != matrices.end();
    if (wanted && shape.size() == 2) adapted_.push_back({name, shape[0], shape[1], first});
    first += entries(shape);
  }
  check::check_size("lora", "number of names that are of matrices of the model", adapted_.size(),
                    matrices.size());
}

tensor_list lora::tensors() const {
  tensor_list out;
  for (matrix const& w : adapted_) {
    std::string const stem = w.name.substr(0, w.name.rfind('.'));
    out.push_back({stem + ".lora_a", {rank_, w.columns}});
    out.push_back({stem + ".lora_b", {w.rows, rank_}});
  }
  return out;
}

std::vector<float> lora::initial(std::uint64_t seed) const {
  std::vector<float> theta;
  tacit::stream_id const stream{.seed = seed, .step = 1, .use = tacit::purpose::initialisation};
  std::uint64_t drawn = 0;
  for (matrix const& w : adapted_) {
    double const range = std::sqrt(3.0 / static_cast<double>(w.columns));
    for (std::size_t j = 0; j < rank_ * w.columns; ++j) {
      theta.push_back(static_cast<float>(range * (2.0 * tacit::uniform(stream, drawn++) - 1.0)));
    }
    theta.resize(theta.size() + w.rows * rank_);
  }
  return theta;
}

std::vector<float> const& lora::merged(std::span<float const> theta) {
  check(theta);
  merged_ = frozen_;
  for (matrix const& w : adapted_) {
    std::span<float const> const a = theta.first(rank_ * w.columns);
    std::span<float const> const b = theta.subspan(a.size(), w.rows * rank_);
    theta = theta.subspan(a.size() + b.size());
    for (std::size_t o = 0; o < w.rows; ++o) {
      for (std::size_t k = 0; k < rank_; ++k) {
        for (std::size_t i = 0; i < w.columns; ++i) {
          merged_[w.first + o * w.columns + i] += b[o * rank_ + k] * a[k * w.columns + i];
        }
      }
    }
  }
  return merged_;
}

void lora::losses(std::span<float const> theta, std::span<double> out) {
  whole_->losses(merged(theta), out);
}

void lora::losses(std::span<float const> theta, std::span<std::size_t const> some,
                  std::span<double> out) {
  whole_->losses(merged(theta), some, out);
}

void lora::gradient(std::span<float const> theta, std::size_t record, std::span<float> out) {
  check(theta, record, out);
  whole_->gradient(merged(theta), record, gradient_);
  std::fill(out.begin(), out.end(), 0.0F);
  for (matrix const& w : adapted_) {
    std::span<float const> const a = theta.first(rank_ * w.columns);
    std::span<float const> const b = theta.subspan(a.size(), w.rows * rank_);
    std::span<float> const to_a = out.first(a.size());
    std::span<float> const to_b = out.subspan(a.size(), b.size());
    for (std::size_t o = 0; o < w.rows; ++o) {
      float const* const g = gradient_.data() + w.first + o * w.columns;
      for (std::size_t k = 0; k < rank_; ++k) {
        for (std::size_t i = 0; i < w.columns; ++i) {
          to_a[k * w.columns + i] += b[o * rank_ + k] * g[i];
          to_b[o * rank_ + k] += a[k * w.columns + i] * g[i];
        }
      }
    }
    theta = theta.subspan(a.size() + b.size());
    out = out.subspan(a.size() + b.size());
  }
}

double lora::score(std::span<float const> theta) { return whole_->score(merged(theta)); }

}  // namespace apps
