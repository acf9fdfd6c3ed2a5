// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include <cstdint>

/// Small networks with gradients by hand. All parameters of a network lie in one vector, and a layer
/// knows where its own begin. A column is a sample. `backward` adds to the gradient of the parameters and
/// returns that of the input.

namespace apps {

using real_vector = Eigen::VectorXd;
using real_matrix = Eigen::MatrixXd;

/// y = Wx + b.
struct linear {
  Eigen::Index at;
  Eigen::Index inputs;
  Eigen::Index outputs;

  Eigen::Index end() const { return at + (inputs + 1) * outputs; }
  real_matrix forward(real_vector const& theta, real_matrix const& x) const;
  real_matrix backward(real_vector const& theta, real_matrix const& x, real_matrix const& dy,
                       real_vector& gradient) const;
};

/// y = gain·(x − mean x)/√(var x + 1e-5) + bias, for each sample by itself.
struct layer_norm {
  Eigen::Index at;
  Eigen::Index width;

  Eigen::Index end() const { return at + 2 * width; }
  real_matrix forward(real_vector const& theta, real_matrix const& x) const;
  real_matrix backward(real_vector const& theta, real_matrix const& x, real_matrix const& dy,
                       real_vector& gradient) const;
};

/// x·Φ(x).
real_matrix gelu(real_matrix const& x);
real_matrix gelu_backward(real_matrix const& x, real_matrix const& dy);

/// Two layers, each with layer norm and GELU.
struct encoder {
  linear first;
  layer_norm first_norm;
  linear second;
  layer_norm second_norm;

  struct trace {
    real_matrix x, linear1, norm1, hidden, linear2, norm2, out;
  };

  static encoder at(Eigen::Index begin, Eigen::Index inputs, Eigen::Index width);
  Eigen::Index end() const { return second_norm.end(); }
  trace forward(real_vector const& theta, real_matrix const& x) const;
  void backward(real_vector const& theta, trace const& past, real_matrix const& d_out,
                real_vector& gradient) const;
};

/// One hidden layer of GELU units and one number out, for a state's features and an action under them.
struct critic {
  linear hidden;
  linear out;

  struct trace {
    real_matrix x, linear1, units, value;
  };

  static critic at(Eigen::Index begin, Eigen::Index inputs, Eigen::Index width);
  Eigen::Index end() const { return out.end(); }
  trace forward(real_vector const& theta, real_matrix const& features,
                real_matrix const& actions) const;
  real_matrix backward(real_vector const& theta, trace const& past, real_matrix const& d_value,
                       real_vector& gradient) const;
};

/// Adam (Kingma & Ba 2015).
class adam {
 public:
  adam(Eigen::Index parameters, double rate)
      : rate_(rate), mean_(real_vector::Zero(parameters)), square_(real_vector::Zero(parameters)) {}

  void step(real_vector& theta, real_vector const& gradient);

 private:
  double rate_;
  real_vector mean_;
  real_vector square_;
  int steps_ = 0;
};

/// Public draws: a function of the seed and of how many there were before.
class public_draws {
 public:
  explicit public_draws(std::uint64_t seed) : seed_(seed) {}

  double normal();
  /// Uniform on 0 … n − 1, up to n·2⁻⁶⁴.
  std::uint64_t below(std::uint64_t n);
  real_matrix normals(Eigen::Index rows, Eigen::Index columns);

  /// Weights uniform in ±√(3/inputs), zero biases; gains of 1.
  void initialise(linear const& layer, real_vector& theta);
  void initialise(layer_norm const& layer, real_vector& theta) const;
  void initialise(encoder const& network, real_vector& theta);
  void initialise(critic const& network, real_vector& theta);

 private:
  std::uint64_t seed_;
  std::uint64_t normals_ = 0;
  std::uint64_t words_ = 0;
};

}  // namespace apps
