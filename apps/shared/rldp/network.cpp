// SPDX-License-Identifier: Apache-2.0
#include "rldp/network.hpp"

#include <tacit/random/normal.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/random/uniform.hpp>

#include <cmath>
#include <numbers>

namespace apps {

namespace {

using const_weights = Eigen::Map<real_matrix const>;
using weights = Eigen::Map<real_matrix>;

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// x̂ and 1/√(var + 1e-5) of each column.
struct normalised {
  real_matrix value;
  Eigen::RowVectorXd scale;
};

normalised normalise(real_matrix const& x) {
  real_matrix centred = x.rowwise() - x.colwise().mean();
  Eigen::RowVectorXd const scale =
      (centred.array().square().colwise().mean() + 1e-5).rsqrt().matrix();
  centred.array().rowwise() *= scale.array();
  return {std::move(centred), scale};
}

}  // namespace

real_matrix linear::forward(real_vector const& theta, real_matrix const& x) const {
  const_weights const w(theta.data() + at, outputs, inputs);
  return (w * x).colwise() + theta.segment(at + inputs * outputs, outputs);
}

real_matrix linear::backward(real_vector const& theta, real_matrix const& x, real_matrix const& dy,
                             real_vector& gradient) const {
  const_weights const w(theta.data() + at, outputs, inputs);
  weights(gradient.data() + at, outputs, inputs).noalias() += dy * x.transpose();
  gradient.segment(at + inputs * outputs, outputs) += dy.rowwise().sum();
  return w.transpose() * dy;
}

real_matrix layer_norm::forward(real_vector const& theta, real_matrix const& x) const {
  real_matrix y = normalise(x).value;
  y.array().colwise() *= theta.segment(at, width).array();
  y.colwise() += theta.segment(at + width, width);
  return y;
}

real_matrix layer_norm::backward(real_vector const& theta, real_matrix const& x,
                                 real_matrix const& dy, real_vector& gradient) const {
  normalised const unit = normalise(x);
  gradient.segment(at, width) += (dy.array() * unit.value.array()).rowwise().sum().matrix();
  gradient.segment(at + width, width) += dy.rowwise().sum();
  // dx = scale·(d − mean d − x̂·mean(d·x̂)), d = gain·dy.
  real_matrix dx = dy;
  dx.array().colwise() *= theta.segment(at, width).array();
  Eigen::RowVectorXd const mean = dx.colwise().mean();
  Eigen::RowVectorXd const along = (dx.array() * unit.value.array()).colwise().mean().matrix();
  dx.rowwise() -= mean;
  dx -= (unit.value.array().rowwise() * along.array()).matrix();
  dx.array().rowwise() *= unit.scale.array();
  return dx;
}

real_matrix gelu(real_matrix const& x) {
  return x.unaryExpr([](double u) { return u * normal_cdf(u); });
}

real_matrix gelu_backward(real_matrix const& x, real_matrix const& dy) {
  return x.binaryExpr(dy, [](double u, double d) {
    double const density = std::exp(-0.5 * u * u) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    return d * (normal_cdf(u) + u * density);
  });
}

encoder encoder::at(Eigen::Index begin, Eigen::Index inputs, Eigen::Index width) {
  linear const first{begin, inputs, width};
  layer_norm const first_norm{first.end(), width};
  linear const second{first_norm.end(), width, width};
  return {first, first_norm, second, {second.end(), width}};
}

encoder::trace encoder::forward(real_vector const& theta, real_matrix const& x) const {
  trace t;
  t.x = x;
  t.linear1 = first.forward(theta, x);
  t.norm1 = first_norm.forward(theta, t.linear1);
  t.hidden = gelu(t.norm1);
  t.linear2 = second.forward(theta, t.hidden);
  t.norm2 = second_norm.forward(theta, t.linear2);
  t.out = gelu(t.norm2);
  return t;
}

void encoder::backward(real_vector const& theta, trace const& past, real_matrix const& d_out,
                       real_vector& gradient) const {
  real_matrix d = gelu_backward(past.norm2, d_out);
  d = second_norm.backward(theta, past.linear2, d, gradient);
  d = second.backward(theta, past.hidden, d, gradient);
  d = gelu_backward(past.norm1, d);
  d = first_norm.backward(theta, past.linear1, d, gradient);
  (void)first.backward(theta, past.x, d, gradient);
}

critic critic::at(Eigen::Index begin, Eigen::Index inputs, Eigen::Index width) {
  linear const hidden{begin, inputs, width};
  return {hidden, {hidden.end(), width, 1}};
}

critic::trace critic::forward(real_vector const& theta, real_matrix const& features,
                              real_matrix const& actions) const {
  trace t;
  t.x.resize(features.rows() + actions.rows(), features.cols());
  t.x << features, actions;
  t.linear1 = hidden.forward(theta, t.x);
  t.units = gelu(t.linear1);
  t.value = out.forward(theta, t.units);
  return t;
}

real_matrix critic::backward(real_vector const& theta, trace const& past,
                             real_matrix const& d_value, real_vector& gradient) const {
  real_matrix const d = out.backward(theta, past.units, d_value, gradient);
  return hidden.backward(theta, past.x, gelu_backward(past.linear1, d), gradient);
}

void adam::step(real_vector& theta, real_vector const& gradient) {
  ++steps_;
  mean_ = 0.9 * mean_ + 0.1 * gradient;
  square_ = 0.999 * square_ + 0.001 * gradient.cwiseAbs2();
  double const mean_scale = 1.0 / (1.0 - std::pow(0.9, steps_));
  double const square_scale = 1.0 / (1.0 - std::pow(0.999, steps_));
  theta.array() -=
      rate_ * mean_scale * mean_.array() / ((square_scale * square_.array()).sqrt() + 1e-8);
}

double public_draws::normal() {
  return double{tacit::normal({seed_, 1, tacit::purpose::initialisation}, normals_++)};
}

std::uint64_t public_draws::below(std::uint64_t n) {
  std::uint64_t const word =
      tacit::random_bits64({seed_, 2, tacit::purpose::initialisation}, words_++);
  return word % n;
}

real_matrix public_draws::normals(Eigen::Index rows, Eigen::Index columns) {
  real_matrix out(rows, columns);
  for (double& x : out.reshaped()) x = normal();
  return out;
}

void public_draws::initialise(linear const& layer, real_vector& theta) {
  double const range = std::sqrt(3.0 / static_cast<double>(layer.inputs));
  for (Eigen::Index i = 0; i < layer.inputs * layer.outputs; ++i) {
    std::uint64_t const word = below(std::uint64_t{1} << 32);
    theta[layer.at + i] = range * (static_cast<double>(word) * 0x1p-31 - 1.0);
  }
  theta.segment(layer.at + layer.inputs * layer.outputs, layer.outputs).setZero();
}

void public_draws::initialise(layer_norm const& layer, real_vector& theta) const {
  theta.segment(layer.at, layer.width).setOnes();
  theta.segment(layer.at + layer.width, layer.width).setZero();
}

void public_draws::initialise(encoder const& network, real_vector& theta) {
  initialise(network.first, theta);
  initialise(network.first_norm, theta);
  initialise(network.second, theta);
  initialise(network.second_norm, theta);
}

void public_draws::initialise(critic const& network, real_vector& theta) {
  initialise(network.hidden, theta);
  initialise(network.out, theta);
}

}  // namespace apps
