// SPDX-License-Identifier: Apache-2.0
#include "training/mlp.hpp"

#include <tacit/random/uniform.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace apps {

namespace {

using matrix = Eigen::MatrixXf;
using index = Eigen::Index;

// The parameters as the matrices that they are. Data is float or float const.
template <class Float>
struct layers {
  using weights = Eigen::Map<std::conditional_t<std::is_const_v<Float>, matrix const, matrix>>;
  using biases = Eigen::Map<
      std::conditional_t<std::is_const_v<Float>, Eigen::RowVectorXf const, Eigen::RowVectorXf>>;

  layers(mlp const& shape, Float* at)
      : input(at, index(shape.inputs), index(shape.hidden)),
        hidden_bias(input.data() + input.size(), index(shape.hidden)),
        output(hidden_bias.data() + hidden_bias.size(), index(shape.hidden), index(shape.classes)),
        output_bias(output.data() + output.size(), index(shape.classes)) {}

  weights input;
  biases hidden_bias;
  weights output;
  biases output_bias;
};

// Hidden activations and output scores of all records. A column holds one unit of all records, so
// that every elementwise operation runs over contiguous memory.
void forward(layers<float const> const& net, matrix const& features, matrix& hidden,
             matrix& output) {
  hidden = net.hidden_bias.replicate(features.rows(), 1);
  hidden.noalias() += features * net.input;
  hidden.array() = hidden.array().tanh();
  output = net.output_bias.replicate(features.rows(), 1);
  output.noalias() += hidden * net.output;
}

}  // namespace

tensor_list mlp::tensors() const {
  // Column by column in memory is row by row of the transposed.
  return {{"hidden.weight", {hidden, inputs}},
          {"hidden.bias", {hidden}},
          {"output.weight", {classes, hidden}},
          {"output.bias", {classes}}};
}

std::vector<float> mlp::initial(std::uint64_t seed) const {
  std::vector<float> theta(parameters(), 0.0F);
  tacit::stream_id const stream{.seed = seed, .use = tacit::purpose::initialisation};
  std::uint64_t drawn = 0;
  auto const fill = [&](float* at, std::size_t from, std::size_t to) {
    double const range = std::sqrt(6.0 / static_cast<double>(from + to));
    for (std::size_t i = 0; i < from * to; ++i) {
      at[i] = static_cast<float>(range * (2.0 * tacit::uniform(stream, drawn++) - 1.0));
    }
  };
  fill(theta.data(), inputs, hidden);
  fill(theta.data() + (inputs + 1) * hidden, hidden, classes);
  return theta;
}

void mlp::pretrain(std::span<float> theta, dataset const& data, int epochs, float rate) const {
  // Loops over vectors round by where in memory they begin: in memory of its own, aligned, the same
  // start comes out of every process.
  Eigen::Map<Eigen::ArrayXf> caller(theta.data(), index(theta.size()));
  Eigen::ArrayXf weights = caller;
  Eigen::ArrayXf slope(weights.size());
  Eigen::ArrayXf mean = Eigen::ArrayXf::Zero(weights.size());
  Eigen::ArrayXf square = Eigen::ArrayXf::Zero(weights.size());
  layers<float const> const net(*this, weights.data());
  layers<float> gradient(*this, slope.data());
  matrix activation;
  matrix error;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    forward(net, data.features, activation, error);
    error.colwise() -= error.rowwise().maxCoeff().eval();
    error = error.array().exp();
    error.array().colwise() /= error.rowwise().sum().array().eval();
    for (std::size_t i = 0; i < data.size(); ++i) error(index(i), data.labels[i]) -= 1.0F;
    error /= static_cast<float>(data.size());

    gradient.output.noalias() = activation.transpose() * error;
    gradient.output_bias = error.colwise().sum();
    matrix const back =
        (error * net.output.transpose()).array() * (1.0F - activation.array().square());
    gradient.input.noalias() = data.features.transpose() * back;
    gradient.hidden_bias = back.colwise().sum();

    mean = 0.9F * mean + 0.1F * slope;
    square = 0.999F * square + 0.001F * slope.square();
    float const t = static_cast<float>(epoch);
    weights -= rate * (mean / (1.0F - std::pow(0.9F, t))) /
               ((square / (1.0F - std::pow(0.999F, t))).sqrt() + 1e-8F);
  }
  caller = weights;
}

Eigen::MatrixXf mlp::logits(std::span<float const> theta, Eigen::MatrixXf const& features) const {
  matrix activation;
  matrix output;
  forward(layers<float const>(*this, theta.data()), features, activation, output);
  return output;
}

double mlp::accuracy(std::span<float const> theta, dataset const& data) const {
  matrix const output = logits(theta, data.features);
  std::size_t right = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    index best = 0;
    output.row(index(i)).maxCoeff(&best);
    right += best == data.labels[i];
  }
  return static_cast<double>(right) / static_cast<double>(data.size());
}

batch_loss::batch_loss(mlp const& shape, dataset const& data) : shape_(shape), data_(&data) {}

void batch_loss::operator()(std::span<float const> theta, std::span<double> losses) {
  forward(layers<float const>(shape_, theta.data()), data_->features, hidden_, output_);
  cross_entropies([&](std::size_t i) { return data_->labels[i]; }, losses.first(data_->size()));
}

void batch_loss::operator()(std::span<float const> theta, std::span<std::size_t const> some,
                            std::span<double> losses) {
  // Eight rows are all of one kernel of Eigen's product, whether a packet has four or eight numbers.
  // Sixteen are not: of four numbers a kernel takes twelve rows, and another, which adds up in
  // another order, what is left.
  constexpr std::size_t at_once = 8;
  few_.resize(index(at_once), data_->features.cols());
  std::array<double, at_once> found{};
  layers<float const> const net(shape_, theta.data());
  for (std::size_t begin = 0; begin < some.size(); begin += at_once) {
    auto const here = some.subspan(begin, std::min(at_once, some.size() - begin));
    few_.setZero();
    for (std::size_t i = 0; i < here.size(); ++i) {
      few_.row(index(i)) = data_->features.row(index(here[i]));
    }
    forward(net, few_, hidden_, output_);
    cross_entropies([&](std::size_t i) { return i < here.size() ? data_->labels[here[i]] : 0; },
                    found);
    std::copy_n(found.begin(), here.size(), losses.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

template <class LabelOf>
void batch_loss::cross_entropies(LabelOf const& label_of, std::span<double> losses) {
  // log Σ exp, column by column: a loop over classes of loops over records.
  largest_ = output_.col(0);
  for (index c = 1; c < output_.cols(); ++c) largest_ = largest_.max(output_.col(c).array());
  total_ = (output_.col(0).array() - largest_).exp();
  for (index c = 1; c < output_.cols(); ++c) total_ += (output_.col(c).array() - largest_).exp();
  total_ = total_.log();
  for (std::size_t i = 0; i < losses.size(); ++i) {
    float const own = output_(index(i), label_of(i));
    losses[i] = double{total_[index(i)]} + (double{largest_[index(i)]} - double{own});
  }
}

}  // namespace apps
