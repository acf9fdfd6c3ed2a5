// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/model.hpp"

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace apps {

/// A decoder of characters: learned places, layers of causal attention and a GELU network, each
/// after a LayerNorm and added to what came in, and a last LayerNorm; the embedding reads the
/// output too. No biases but in the networks.
struct transformer_shape {
  std::size_t width = 32;
  std::size_t heads = 2;
  std::size_t layers = 2;
  std::size_t inner = 64;  // of the GELU network

  tensor_list tensors() const;

  /// Normal weights of deviation 1/√inputs, half of that in the tables and in what is added to the
  /// running sum, from a public stream.
  std::vector<float> initial(std::uint64_t seed) const;
};

/// Texts as tokens, one after another. A text's loss is the mean cross-entropy of its characters
/// and its end, each given those before.
class tokens {
 public:
  /// @throws std::invalid_argument for a text longer than `longest_text`, or of other characters
  explicit tokens(std::vector<std::string> const& texts);

  std::size_t texts() const { return first_.size() - 1; }
  std::size_t begin(std::size_t text) const { return first_[text]; }
  std::size_t end(std::size_t text) const { return first_[text + 1]; }
  int given(std::size_t at) const { return given_[at]; }
  int next(std::size_t at) const { return next_[at]; }

 private:
  std::vector<int> given_;  // the end of a text before its first character, then its characters
  std::vector<int> next_;
  std::vector<std::size_t> first_{0};
};

/// The arithmetic of a transformer. Keeps its buffers and its own copy of θ.
class transformer {
 public:
  explicit transformer(transformer_shape const& shape);
  ~transformer();
  transformer(transformer&&) noexcept;
  transformer& operator=(transformer&&) noexcept;

  transformer_shape const& shape() const { return shape_; }

  /// The loss of every text, in nats a character.
  void losses(std::span<float const> theta, tokens const& all, std::span<double> out);

  /// Those of some of them, in their order, each evaluated by itself.
  void losses(std::span<float const> theta, tokens const& all, std::span<std::size_t const> some,
              std::span<double> out);

  /// Σ over some texts of their losses; the gradient of that sum goes to `out`.
  double gradient(std::span<float const> theta, tokens const& all,
                  std::span<std::size_t const> texts, std::span<float> out);

  /// Of each of a text's characters and its end, given those before.
  std::vector<double> character_losses(std::span<float const> theta, std::string const& text);

  /// exp of the mean cross-entropy of all characters.
  double perplexity(std::span<float const> theta, tokens const& all);

  /// Adam on batches drawn from a public stream, the rate falling linearly to 0: the public part's
  /// ordinary training.
  void pretrain(std::span<float> theta, tokens const& all, std::size_t steps, std::size_t batch,
                float rate, std::uint64_t seed);

 private:
  struct state;
  transformer_shape shape_;
  std::unique_ptr<state> state_;
};

/// A transformer trained on private texts.
class language_model final : public model {
 public:
  /// `start`: the parameters after public training.
  language_model(transformer_shape const& shape, std::vector<float> start,
                 std::vector<std::string> const& private_part,
                 std::vector<std::string> const& test_part);

  tensor_list tensors() const override;
  std::vector<float> initial(std::uint64_t seed) const override;
  std::size_t records() const override { return private_.texts(); }
  void losses(std::span<float const> theta, std::span<double> out) override;
  void losses(std::span<float const> theta, std::span<std::size_t const> some,
              std::span<double> out) override;
  void gradient(std::span<float const> theta, std::size_t record, std::span<float> out) override;
  double score(std::span<float const> theta) override;  // perplexity

  /// The losses of any texts, such as a canary's candidates.
  std::vector<double> losses_of(std::span<float const> theta,
                                std::vector<std::string> const& texts);

 private:
  transformer arithmetic_;
  std::vector<float> start_;
  tokens private_;
  tokens test_;
};

/// The query and value matrices of every layer: what `lora` usually adapts.
std::vector<std::string> query_and_value(transformer_shape const& shape);

}  // namespace apps
