// SPDX-License-Identifier: Apache-2.0
#include "models/network.hpp"

#include <tacit/core/check.hpp>

#include <utility>

namespace apps {

namespace {

using index = Eigen::Index;

}  // namespace

network::network(mlp const& shape, std::vector<float> start, dataset const& private_part,
                 dataset const& test_part)
    : shape_(shape),
      start_(std::move(start)),
      private_(&private_part),
      test_(&test_part),
      loss_(shape_, private_part) {
  check(start_);
}

std::vector<float> network::initial(std::uint64_t /*seed*/) const { return start_; }

std::span<float const> network::own(std::span<float const> theta) {
  theta_ = Eigen::Map<Eigen::VectorXf const>(theta.data(), index(theta.size()));
  return {theta_.data(), theta.size()};
}

void network::losses(std::span<float const> theta, std::span<double> out) {
  check(theta, out);
  loss_(own(theta), out);
}

void network::losses(std::span<float const> theta, std::span<std::size_t const> some,
                     std::span<double> out) {
  check(theta, some, out);
  loss_(own(theta), some, out);
}

void network::gradient(std::span<float const> theta, std::size_t record, std::span<float> out) {
  check(theta, record, out);
  index const inputs = index(shape_.inputs);
  index const hidden = index(shape_.hidden);
  index const classes = index(shape_.classes);
  float const* at = own(theta).data();
  Eigen::Map<Eigen::MatrixXf const> const in(at, inputs, hidden);
  Eigen::Map<Eigen::VectorXf const> const in_bias(at += in.size(), hidden);
  Eigen::Map<Eigen::MatrixXf const> const on(at += hidden, hidden, classes);
  Eigen::Map<Eigen::VectorXf const> const on_bias(at + on.size(), classes);

  Eigen::VectorXf const x = private_->features.row(index(record));
  Eigen::VectorXf const h = (in.transpose() * x + in_bias).array().tanh();
  Eigen::VectorXf error = on.transpose() * h + on_bias;
  error = (error.array() - error.maxCoeff()).exp();
  error /= error.sum();
  error[private_->labels[record]] -= 1.0F;
  Eigen::VectorXf const back = (on * error).array() * (1.0F - h.array().square());

  float* to = out.data();
  Eigen::Map<Eigen::MatrixXf>(to, inputs, hidden).noalias() = x * back.transpose();
  Eigen::Map<Eigen::VectorXf>(to += in.size(), hidden) = back;
  Eigen::Map<Eigen::MatrixXf>(to += hidden, hidden, classes).noalias() = h * error.transpose();
  Eigen::Map<Eigen::VectorXf>(to + on.size(), classes) = error;
}

double network::score(std::span<float const> theta) {
  check(theta);
  return shape_.accuracy(own(theta), *test_);
}

}  // namespace apps
