// SPDX-License-Identifier: Apache-2.0
#include "models/transformer.hpp"

#include <tacit/core/check.hpp>
#include <tacit/random/normal.hpp>
#include <tacit/random/uniform.hpp>

#include "models/text.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

namespace apps {

namespace {

using matrix = Eigen::MatrixXf;
using array = Eigen::ArrayXf;
using index = Eigen::Index;

constexpr std::size_t context = longest_text + 1;

// The parameters as the matrices that they are, and their names. Row by row in memory is column by
// column of the transposed: a matrix here is inputs x outputs. Float is float or float const.
template <class Float>
struct weights {
  using table = Eigen::Map<std::conditional_t<std::is_const_v<Float>, matrix const, matrix>>;
  using row = Eigen::Map<
      std::conditional_t<std::is_const_v<Float>, Eigen::RowVectorXf const, Eigen::RowVectorXf>>;

  struct layer {
    row scale1, shift1;
    table query, key, value, mixer;
    row scale2, shift2;
    table in;
    row in_bias;
    table out;
    row out_bias;
  };

  weights(transformer_shape const& shape, Float* at)
      : at_(at),
        embedding(next(shape.width, alphabet.size())),
        place(next(shape.width, context)),
        layers(layers_of(shape)),
        scale(next(shape.width)),
        shift(next(shape.width)) {}

 private:
  table next(std::size_t inputs, std::size_t outputs) {
    table const here(at_, index(inputs), index(outputs));
    at_ += here.size();
    return here;
  }
  row next(std::size_t size) {
    row const here(at_, index(size));
    at_ += here.size();
    return here;
  }
  std::vector<layer> layers_of(transformer_shape const& shape) {
    std::size_t const d = shape.width;
    std::size_t const f = shape.inner;
    std::vector<layer> all;
    for (std::size_t l = 0; l < shape.layers; ++l) {
      all.push_back({next(d), next(d), next(d, d), next(d, d), next(d, d), next(d, d), next(d),
                     next(d), next(d, f), next(f), next(f, d), next(d)});
    }
    return all;
  }

  Float* at_;

 public:
  table embedding;  // width x characters
  table place;      // width x context
  std::vector<layer> layers;
  row scale, shift;
};

// What a LayerNorm gives: (x − mean)/deviation, and 1/deviation of each row.
struct normalised {
  matrix unit;
  array rate;
};

template <class Row>
void normalise(matrix const& x, Row const& scale, Row const& shift, normalised& keep, matrix& y) {
  index const d = x.cols();
  array mean = x.col(0);
  for (index c = 1; c < d; ++c) mean += x.col(c).array();
  mean /= static_cast<float>(d);
  keep.unit = x.colwise() - mean.matrix();
  keep.rate = keep.unit.col(0).array().square();
  for (index c = 1; c < d; ++c) keep.rate += keep.unit.col(c).array().square();
  keep.rate = (keep.rate / static_cast<float>(d) + 1e-5F).rsqrt();
  keep.unit.array().colwise() *= keep.rate;
  y.resizeLike(x);
  for (index c = 0; c < d; ++c) y.col(c) = keep.unit.col(c).array() * scale[c] + shift[c];
}

// From the slope in y: those in scale and shift are added, the slope in x is returned.
template <class Row>
matrix normalise_back(matrix const& slope, normalised const& kept, Eigen::Map<Row const> const& s,
                      Eigen::Map<Row>& to_scale, Eigen::Map<Row>& to_shift) {
  to_scale += (slope.array() * kept.unit.array()).matrix().colwise().sum();
  to_shift += slope.colwise().sum();
  matrix x = slope.array().rowwise() * s.array();
  float const d = static_cast<float>(x.cols());
  array const mean = x.rowwise().sum().array() / d;
  array const along = (x.array() * kept.unit.array()).rowwise().sum() / d;
  x.array().colwise() -= mean;
  x.array() -= kept.unit.array().colwise() * along;
  x.array().colwise() *= kept.rate;
  return x;
}

constexpr float gelu_inner = 0.7978845608F;  // √(2/π)
constexpr float gelu_cubic = 0.044715F;

auto gelu_tanh(matrix const& x) {
  return (gelu_inner * (x.array() + gelu_cubic * x.array().cube())).tanh();
}

}  // namespace

tensor_list transformer_shape::tensors() const {
  tensor_list all{{"embedding", {alphabet.size(), width}}, {"place", {context, width}}};
  auto const norm = [&](std::string const& name) {
    all.push_back({name + ".scale", {width}});
    all.push_back({name + ".shift", {width}});
  };
  for (std::size_t l = 0; l < layers; ++l) {
    std::string const stem = "layer" + std::to_string(l) + '.';
    norm(stem + "norm1");
    for (char const* one : {"query", "key", "value", "mixer"}) {
      all.push_back({stem + one + ".weight", {width, width}});
    }
    norm(stem + "norm2");
    all.push_back({stem + "in.weight", {inner, width}});
    all.push_back({stem + "in.bias", {inner}});
    all.push_back({stem + "out.weight", {width, inner}});
    all.push_back({stem + "out.bias", {width}});
  }
  norm("norm");
  return all;
}

std::vector<float> transformer_shape::initial(std::uint64_t seed) const {
  std::vector<float> theta;
  tacit::stream_id const stream{.seed = seed, .use = tacit::purpose::initialisation};
  for (auto const& [name, shape] : tensors()) {
    // What is added to the running sum starts small, so that the sum of all layers does.
    float deviation = 1.0F / std::sqrt(static_cast<float>(shape.back()));
    if (name == "embedding" || name == "place") deviation *= 0.5F;
    if (name.ends_with("mixer.weight") || name.ends_with("out.weight")) deviation *= 0.5F;
    float const constant = name.ends_with(".scale") ? 1.0F : 0.0F;
    for (std::size_t j = entries(shape); j > 0; --j) {
      theta.push_back(shape.size() == 2 ? deviation * tacit::normal(stream, theta.size())
                                        : constant);
    }
  }
  return theta;
}

tokens::tokens(std::vector<std::string> const& texts) {
  for (std::string const& text : texts) {
    tacit::detail::require_argument(text.size() <= longest_text, "tokens", "length of a text",
                                    text.size(), "at most " + std::to_string(longest_text));
    given_.push_back(0);
    for (char const c : text) {
      given_.push_back(token_of(c));
      next_.push_back(token_of(c));
    }
    next_.push_back(0);
    first_.push_back(given_.size());
  }
}

struct transformer::state {
  explicit state(transformer_shape const& of)
      : shape(of),
        theta(size_of(of)),
        slope(theta.size()),
        net(of, theta.data()),
        back(of, slope.data()) {}

  static index size_of(transformer_shape const& of) {
    std::size_t sum = 0;
    for (auto const& [name, dimensions] : of.tensors()) sum += entries(dimensions);
    return index(sum);
  }

  void take(std::span<float const> from) {
    tacit::detail::check_size("transformer", "number of parameters", from.size(),
                              static_cast<std::size_t>(theta.size()));
    theta = Eigen::Map<Eigen::VectorXf const>(from.data(), index(from.size()));
  }

  void select(tokens const& all, std::span<std::size_t const> texts) {
    given.clear();
    next.clear();
    first.assign(1, 0);
    for (std::size_t const text : texts) {
      for (std::size_t at = all.begin(text); at < all.end(text); ++at) {
        given.push_back(all.given(at));
        next.push_back(all.next(at));
      }
      first.push_back(index(given.size()));
    }
  }

  // What a layer computed, for the way back.
  struct layer {
    normalised norm1, norm2;
    matrix y1, query, key, value, mixed, y2, before, after;
    std::vector<matrix> share;  // of a text's head: earlier characters x characters
  };

  // The selected texts: the loss of each character goes to `costs`. With `keep` the layers stay,
  // and `output` becomes the softmax.
  void forward(bool keep) {
    index const count = index(given.size());
    columns.resize(index(shape.width), count);
    for (std::size_t r = 0; r + 1 < first.size(); ++r) {
      for (index t = first[r]; t < first[r + 1]; ++t) {
        columns.col(t) =
            net.embedding.col(given[static_cast<std::size_t>(t)]) + net.place.col(t - first[r]);
      }
    }
    x = columns.transpose();
    kept.resize(keep ? shape.layers : 1);
    for (std::size_t l = 0; l < shape.layers; ++l) {
      auto const& w = net.layers[l];
      layer& at = kept[keep ? l : 0];
      normalise(x, w.scale1, w.shift1, at.norm1, at.y1);
      at.query.noalias() = at.y1 * w.query;
      at.key.noalias() = at.y1 * w.key;
      at.value.noalias() = at.y1 * w.value;
      attend(at);
      x.noalias() += at.mixed * w.mixer;
      normalise(x, w.scale2, w.shift2, at.norm2, at.y2);
      at.before = w.in_bias.replicate(count, 1);
      at.before.noalias() += at.y2 * w.in;
      at.after = 0.5F * at.before.array() * (1.0F + gelu_tanh(at.before));
      x.noalias() += at.after * w.out;
      x.rowwise() += w.out_bias;
    }
    normalise(x, net.scale, net.shift, last, y);
    output.noalias() = y * net.embedding;
    cross_entropy(keep);
  }

  void attend(layer& at) {
    index const size = index(shape.width / shape.heads);
    float const shrink = 1.0F / std::sqrt(static_cast<float>(size));
    at.mixed.resize(x.rows(), x.cols());
    at.share.resize((first.size() - 1) * shape.heads);
    for (std::size_t r = 0; r + 1 < first.size(); ++r) {
      index const from = first[r];
      index const length = first[r + 1] - from;
      for (std::size_t h = 0; h < shape.heads; ++h) {
        index const head = index(h) * size;
        matrix& s = at.share[r * shape.heads + h];
        s.noalias() = at.key.block(from, head, length, size) *
                      at.query.block(from, head, length, size).transpose();
        for (index t = 0; t < length; ++t) {
          auto seen = s.col(t).head(t + 1).array();
          seen = (shrink * (seen - seen.maxCoeff())).exp();
          seen /= seen.sum();
          s.col(t).tail(length - t - 1).setZero();
        }
        at.mixed.block(from, head, length, size).noalias() =
            s.transpose() * at.value.block(from, head, length, size);
      }
    }
  }

  void cross_entropy(bool keep) {
    array largest = output.col(0);
    for (index c = 1; c < output.cols(); ++c) largest = largest.max(output.col(c).array());
    array total = array::Zero(output.rows());
    array own(output.rows());
    for (index t = 0; t < own.size(); ++t) {
      own[t] = output(t, next[static_cast<std::size_t>(t)]) - largest[t];
    }
    for (index c = 0; c < output.cols(); ++c) {
      output.col(c) = (output.col(c).array() - largest).exp();
      total += output.col(c).array();
    }
    if (keep) output.array().colwise() /= total;
    total = total.log();
    costs.resize(next.size());
    for (std::size_t t = 0; t < costs.size(); ++t) {
      costs[t] = double{total[index(t)]} - double{own[index(t)]};
    }
  }

  // The mean over the characters of a selected text.
  double loss(std::size_t r) const {
    return std::accumulate(costs.begin() + first[r], costs.begin() + first[r + 1], 0.0) /
           static_cast<double>(first[r + 1] - first[r]);
  }

  // After forward(true): the slope of the sum of the texts' losses.
  void backward() {
    slope.setZero();
    for (std::size_t r = 0; r + 1 < first.size(); ++r) {
      for (index t = first[r]; t < first[r + 1]; ++t) {
        output(t, next[static_cast<std::size_t>(t)]) -= 1.0F;
      }
      index const length = first[r + 1] - first[r];
      output.middleRows(first[r], length) /= static_cast<float>(length);
    }
    back.embedding.noalias() += y.transpose() * output;
    matrix const in_y = output * net.embedding.transpose();
    matrix in_x = normalise_back<Eigen::RowVectorXf>(in_y, last, net.scale, back.scale, back.shift);
    for (std::size_t l = shape.layers; l-- > 0;) {
      auto const& w = net.layers[l];
      auto& to = back.layers[l];
      layer const& at = kept[l];

      to.out.noalias() += at.after.transpose() * in_x;
      to.out_bias += in_x.colwise().sum();
      matrix inner = in_x * w.out.transpose();
      array2 const bend = gelu_tanh(at.before);
      inner.array() *=
          0.5F * (1.0F + bend) + 0.5F * at.before.array() * (1.0F - bend.square()) * gelu_inner *
                                     (1.0F + 3.0F * gelu_cubic * at.before.array().square());
      to.in.noalias() += at.y2.transpose() * inner;
      to.in_bias += inner.colwise().sum();
      matrix const in_y2 = inner * w.in.transpose();
      in_x += normalise_back<Eigen::RowVectorXf>(in_y2, at.norm2, w.scale2, to.scale2, to.shift2);

      to.mixer.noalias() += at.mixed.transpose() * in_x;
      matrix const in_mixed = in_x * w.mixer.transpose();
      attend_back(at, in_mixed);
      to.query.noalias() += at.y1.transpose() * in_query;
      to.key.noalias() += at.y1.transpose() * in_key;
      to.value.noalias() += at.y1.transpose() * in_value;
      matrix in_y1 = in_query * w.query.transpose();
      in_y1.noalias() += in_key * w.key.transpose();
      in_y1.noalias() += in_value * w.value.transpose();
      in_x += normalise_back<Eigen::RowVectorXf>(in_y1, at.norm1, w.scale1, to.scale1, to.shift1);
    }
    for (std::size_t r = 0; r + 1 < first.size(); ++r) {
      for (index t = first[r]; t < first[r + 1]; ++t) {
        back.embedding.col(given[static_cast<std::size_t>(t)]) += in_x.row(t).transpose();
        back.place.col(t - first[r]) += in_x.row(t).transpose();
      }
    }
  }

  void attend_back(layer const& at, matrix const& in_mixed) {
    index const size = index(shape.width / shape.heads);
    float const shrink = 1.0F / std::sqrt(static_cast<float>(size));
    in_query.resizeLike(in_mixed);
    in_key.resizeLike(in_mixed);
    in_value.resizeLike(in_mixed);
    for (std::size_t r = 0; r + 1 < first.size(); ++r) {
      index const from = first[r];
      index const length = first[r + 1] - from;
      for (std::size_t h = 0; h < shape.heads; ++h) {
        index const head = index(h) * size;
        auto const part = [&](auto& of) { return of.block(from, head, length, size); };
        matrix const& s = at.share[r * shape.heads + h];
        part(in_value).noalias() = s * part(in_mixed);
        matrix in_s = part(at.value) * part(in_mixed).transpose();
        Eigen::RowVectorXf const mean = (s.array() * in_s.array()).matrix().colwise().sum();
        in_s.rowwise() -= mean;
        in_s.array() *= shrink * s.array();
        part(in_query).noalias() = in_s.transpose() * part(at.key);
        part(in_key).noalias() = in_s * part(at.query);
      }
    }
  }

  using array2 = Eigen::ArrayXXf;

  transformer_shape shape;
  Eigen::VectorXf theta;  // aligned: what is computed does not depend on where the caller's lies
  Eigen::VectorXf slope;
  weights<float const> net;
  weights<float> back;

  std::vector<int> given;
  std::vector<int> next;
  std::vector<index> first;
  std::vector<double> costs;

  matrix columns, x, y, output;
  normalised last;
  std::vector<layer> kept;
  matrix in_query, in_key, in_value;
};

transformer::transformer(transformer_shape const& shape) : shape_(shape) {
  tacit::detail::require_argument(
      shape.heads > 0 && shape.width > 0 && shape.width % shape.heads == 0, "transformer", "width",
      shape.width, "a multiple of the heads");
  tacit::detail::require_argument(shape.layers > 0 && shape.inner > 0, "transformer", "layers",
                                  shape.layers, "at least 1, as the inner width");
  state_ = std::make_unique<state>(shape);
}

transformer::~transformer() = default;
transformer::transformer(transformer&&) noexcept = default;
transformer& transformer::operator=(transformer&&) noexcept = default;

void transformer::losses(std::span<float const> theta, tokens const& all, std::span<double> out) {
  tacit::detail::check_size("transformer", "number of losses", out.size(), all.texts());
  state_->take(theta);
  constexpr std::size_t at_once = 32;  // their activations stay in the cache
  std::vector<std::size_t> texts;
  for (std::size_t begin = 0; begin < all.texts(); begin += at_once) {
    texts.resize(std::min(at_once, all.texts() - begin));
    std::iota(texts.begin(), texts.end(), begin);
    state_->select(all, texts);
    state_->forward(false);
    for (std::size_t r = 0; r < texts.size(); ++r) out[texts[r]] = state_->loss(r);
  }
}

void transformer::losses(std::span<float const> theta, tokens const& all,
                         std::span<std::size_t const> some, std::span<double> out) {
  tacit::detail::check_size("transformer", "number of losses", out.size(), some.size());
  state_->take(theta);
  for (std::size_t i = 0; i < some.size(); ++i) {
    state_->select(all, some.subspan(i, 1));
    state_->forward(false);
    out[i] = state_->loss(0);
  }
}

double transformer::gradient(std::span<float const> theta, tokens const& all,
                             std::span<std::size_t const> texts, std::span<float> out) {
  tacit::detail::check_size("transformer", "size of the gradient", out.size(), theta.size());
  for (std::size_t const text : texts) {
    tacit::detail::require_argument(text < all.texts(), "transformer", "text", text,
                                    "below the number of texts");
  }
  std::fill(out.begin(), out.end(), 0.0F);
  if (texts.empty()) return 0.0;
  state_->take(theta);
  state_->select(all, texts);
  state_->forward(true);
  state_->backward();
  Eigen::Map<Eigen::VectorXf>(out.data(), index(out.size())) = state_->slope;
  double sum = 0.0;
  for (std::size_t r = 0; r < texts.size(); ++r) sum += state_->loss(r);
  return sum;
}

std::vector<double> transformer::character_losses(std::span<float const> theta,
                                                  std::string const& text) {
  std::size_t const only = 0;
  state_->take(theta);
  state_->select(tokens({text}), {&only, 1});
  state_->forward(false);
  return state_->costs;
}

double transformer::perplexity(std::span<float const> theta, tokens const& all) {
  tacit::detail::require_argument(all.texts() > 0, "transformer", "number of texts", all.texts(),
                                  "at least 1");
  std::vector<double> each(all.texts());
  losses(theta, all, each);
  double sum = 0.0;
  for (std::size_t text = 0; text < each.size(); ++text) {
    sum += each[text] * static_cast<double>(all.end(text) - all.begin(text));
  }
  return std::exp(sum / static_cast<double>(all.end(each.size() - 1)));
}

void transformer::pretrain(std::span<float> theta, tokens const& all, std::size_t steps,
                           std::size_t batch, float rate, std::uint64_t seed) {
  tacit::detail::require_argument(all.texts() > 0 && batch > 0, "transformer", "batch", batch,
                                  "at least 1, as the number of texts");
  array at = Eigen::Map<array const>(theta.data(), index(theta.size()));
  array slope(at.size());
  array mean = array::Zero(at.size());
  array square = array::Zero(at.size());
  std::vector<std::size_t> texts(batch);
  for (std::size_t step = 0; step < steps; ++step) {
    tacit::stream_id const stream{.seed = seed, .step = step, .use = tacit::purpose::estimation};
    for (std::size_t i = 0; i < batch; ++i) {
      texts[i] =
          static_cast<std::size_t>(tacit::uniform(stream, i) * static_cast<double>(all.texts()));
    }
    gradient({at.data(), theta.size()}, all, texts, {slope.data(), theta.size()});
    slope /= static_cast<float>(batch);
    mean = 0.9F * mean + 0.1F * slope;
    square = 0.99F * square + 0.01F * slope.square();
    float const t = static_cast<float>(step + 1);
    float const left = 1.0F - static_cast<float>(step) / static_cast<float>(steps);
    at -= left * rate * (mean / (1.0F - std::pow(0.9F, t))) /
          ((square / (1.0F - std::pow(0.99F, t))).sqrt() + 1e-8F);
  }
  std::copy(at.begin(), at.end(), theta.begin());
}

language_model::language_model(transformer_shape const& shape, std::vector<float> start,
                               std::vector<std::string> const& private_part,
                               std::vector<std::string> const& test_part)
    : arithmetic_(shape), start_(std::move(start)), private_(private_part), test_(test_part) {
  check(start_);
}

tensor_list language_model::tensors() const { return arithmetic_.shape().tensors(); }

std::vector<float> language_model::initial(std::uint64_t /*seed*/) const { return start_; }

void language_model::losses(std::span<float const> theta, std::span<double> out) {
  arithmetic_.losses(theta, private_, out);
}

void language_model::losses(std::span<float const> theta, std::span<std::size_t const> some,
                            std::span<double> out) {
  check(theta, some, out);
  arithmetic_.losses(theta, private_, some, out);
}

void language_model::gradient(std::span<float const> theta, std::size_t record,
                              std::span<float> out) {
  check(theta, record, out);
  arithmetic_.gradient(theta, private_, {&record, 1}, out);
}

double language_model::score(std::span<float const> theta) {
  return arithmetic_.perplexity(theta, test_);
}

std::vector<double> language_model::losses_of(std::span<float const> theta,
                                              std::vector<std::string> const& texts) {
  tokens const all(texts);
  std::vector<double> out(all.texts());
  arithmetic_.losses(theta, all, out);
  return out;
}

std::vector<std::string> query_and_value(transformer_shape const& shape) {
  std::vector<std::string> names;
  for (std::size_t l = 0; l < shape.layers; ++l) {
    for (char const* one : {"query", "value"}) {
      names.push_back("layer" + std::to_string(l) + '.' + one + ".weight");
    }
  }
  return names;
}

}  // namespace apps
