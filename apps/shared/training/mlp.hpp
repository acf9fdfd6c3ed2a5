// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training/data.hpp"
#include "training/tensors.hpp"

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace apps {

/// A network with one hidden layer of tanh units and a softmax on top. Its parameters are the
/// caller's, one after another: input weights (inputs x hidden, column by column), hidden biases,
/// output weights (hidden x classes), output biases.
struct mlp {
  std::size_t inputs;
  std::size_t hidden;
  std::size_t classes;

  /// hidden.weight (hidden × inputs, row by row), hidden.bias, output.weight (classes × hidden),
  /// output.bias: as others know them.
  tensor_list tensors() const;

  std::size_t parameters() const { return (inputs + 1) * hidden + (hidden + 1) * classes; }

  /// Uniform weights in the range of Glorot and Bengio (2010), zero biases, from a public stream.
  std::vector<float> initial(std::uint64_t seed) const;

  /// Full-batch Adam on the cross-entropy: the public part's ordinary training.
  void pretrain(std::span<float> theta, dataset const& data, int epochs, float rate) const;

  /// What goes into the softmax: a row a record, a column a class.
  Eigen::MatrixXf logits(std::span<float const> theta, Eigen::MatrixXf const& features) const;

  double accuracy(std::span<float const> theta, dataset const& data) const;
};

/// The cross-entropy of each record of a data set, all in one go: what zeroth-order training calls
/// again and again. Keeps its buffers.
class batch_loss {
 public:
  batch_loss(mlp const& shape, dataset const& data);

  void operator()(std::span<float const> theta, std::span<double> losses);

  /// Of some records, in their order. A record's is the same bits whichever the others are: it is
  /// evaluated in one of the equal places of a matrix that has one shape.
  void operator()(std::span<float const> theta, std::span<std::size_t const> some,
                  std::span<double> losses);

 private:
  /// After hidden_ and output_.
  template <class LabelOf>
  void cross_entropies(LabelOf const& label_of, std::span<double> losses);

  mlp shape_;
  dataset const* data_;
  Eigen::MatrixXf few_;
  Eigen::MatrixXf hidden_;
  Eigen::MatrixXf output_;
  Eigen::ArrayXf largest_;
  Eigen::ArrayXf total_;
};

}  // namespace apps
