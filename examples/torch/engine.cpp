// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include "opt.hpp"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

// Rows of a batch. A record is always in row (its index mod rows): how a product rounds depends on the place.
constexpr std::size_t rows = 8;
constexpr std::int64_t padding = 1;

// The tokens of a text, and how many of them ask.
struct tokenised {
  std::vector<std::int64_t> tokens;
  std::size_t prompt;
};

std::vector<tokenised> tokenise(model_folder const& model, std::span<record const> records) {
  std::vector<tokenised> out;
  for (std::size_t i = 0; i < records.size(); ++i) {
    try {
      tokenised one{{begin_token}, 0};
      std::int64_t const vocabulary = model.shape.vocabulary;
      for (std::int64_t const t : model.words.tokens(records[i].prompt, vocabulary))
        one.tokens.push_back(t);
      one.prompt = one.tokens.size();
      for (std::int64_t const t : model.words.tokens(records[i].answer, vocabulary))
        one.tokens.push_back(t);
      if (one.tokens.size() == one.prompt) throw std::runtime_error("the answer is empty");
      if (one.tokens.size() - 1 > static_cast<std::size_t>(model.shape.positions)) {
        throw std::runtime_error(std::to_string(one.tokens.size()) +
                                 " tokens are more than the model reads");
      }
      out.push_back(std::move(one));
    } catch (std::runtime_error const& error) {
      throw std::runtime_error("record " + std::to_string(i + 1) + ": " + error.what());
    }
  }
  return out;
}

std::int64_t signed_of(std::size_t n) { return static_cast<std::int64_t>(n); }

// Texts side by side, the places after which their answers' tokens come, and those tokens: [B, L], [B, A], [B, A].
// Places that a shorter answer lacks repeat the last.
struct batch {
  at::Tensor tokens;
  at::Tensor places;
  at::Tensor answers;

  batch(std::size_t size, std::size_t length, std::size_t most)
      : tokens(at::full({signed_of(size), signed_of(length)}, padding, at::kLong)),
        places(at::zeros({signed_of(size), signed_of(most)}, at::kLong)),
        answers(at::full({signed_of(size), signed_of(most)}, padding, at::kLong)) {}

  void put(std::size_t row, tokenised const& text) {
    auto const length = text.tokens.size() - 1;  // the last token is only answered
    std::copy_n(text.tokens.begin(), length, row_of(tokens, row));
    std::int64_t* const place = row_of(places, row);
    std::int64_t* const answer = row_of(answers, row);
    for (std::int64_t j = 0; j < places.size(1); ++j) {
      std::size_t const at = std::min(text.prompt + static_cast<std::size_t>(j), length);
      place[j] = signed_of(at) - 1;
      answer[j] = text.tokens[at];
    }
  }

  static std::int64_t* row_of(at::Tensor const& of, std::size_t row) {
    return of.data_ptr<std::int64_t>() + signed_of(row) * of.size(1);
  }
};

at::Tensor surprise_of(at::Tensor const& logits, at::Tensor const& tokens) {
  return -at::log_softmax(logits, -1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1);
}

tacit::parameters views_of(at::Tensor const& flat, opt_shape const& shape) {
  std::vector<tacit::tensor> views;
  std::size_t first = 0;
  for (tacit::recorded_tensor const& one : tensors_of(shape)) {
    std::size_t count = 1;
    for (std::uint64_t const size : one.shape) count *= size;
    auto const view = [&]<class T>(T* at) {
      views.push_back({.entries = std::span<T>(at + first, count), .name = one.name});
    };
    if (shape.type == tacit::element_type::f32) {
      view(flat.data_ptr<float>());
    } else {
      view(static_cast<tacit::bfloat16*>(flat.data_ptr()));
    }
    first += count;
  }
  return tacit::parameters(std::move(views));
}

at::Tensor memory_for(opt_shape const& shape) {
  std::int64_t count = 0;
  for (tacit::recorded_tensor const& one : tensors_of(shape)) {
    std::int64_t entries = 1;
    for (std::uint64_t const size : one.shape) entries *= static_cast<std::int64_t>(size);
    count += entries;
  }
  return at::empty({count}, shape.type == tacit::element_type::f32 ? at::kFloat : at::kBFloat16);
}

}  // namespace

struct engine::parts {
  explicit parts(model_folder const& model)
      : shape(model.shape),
        flat(memory_for(shape)),
        views(views_of(flat, shape)),
        net(shape, flat) {}

  opt_shape shape;
  at::Tensor flat;
  tacit::parameters views;
  opt net;
  std::vector<tokenised> texts{};
  std::size_t length = 1;  // of every row
  std::size_t most = 1;    // tokens of an answer
  std::chrono::duration<double> computing{};

  // Adds the time that the rest of a scope takes.
  struct timed {
    std::chrono::duration<double>& total;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    ~timed() { total += std::chrono::steady_clock::now() - start; }
  };
};

engine::engine(model_folder const& model, std::vector<record> const& all,
               std::span<record const> own, int threads)
    : own_(std::make_unique<parts>(model)) {
  at::set_num_threads(threads);
  model.load(own_->views);
  std::vector<tokenised> texts = tokenise(model, all);
  for (tokenised const& one : texts) {
    own_->length = std::max(own_->length, one.tokens.size() - 1);
    own_->most = std::max(own_->most, one.tokens.size() - one.prompt);
  }
  auto const first = static_cast<std::ptrdiff_t>(own.data() - all.data());
  own_->texts.assign(texts.begin() + first,
                     texts.begin() + first + static_cast<std::ptrdiff_t>(own.size()));
}

engine::engine(model_folder const& model, std::uint64_t seed)
    : own_(std::make_unique<parts>(model)) {
  std::mt19937_64 dice(seed);
  std::normal_distribution<double> normal;
  double const shrunk = 1.0 / std::sqrt(2.0 * static_cast<double>(model.shape.layers));
  for (tacit::tensor const& one : own_->views.all()) {
    bool const norm = one.name.find("layer_norm.weight") != std::string::npos;
    bool const bias = one.name.ends_with(".bias");
    bool const ends = one.name.ends_with("out_proj.weight") || one.name.ends_with("fc2.weight");
    std::visit(
        [&]<class T>(std::span<T> entries) {
          for (T& x : entries) {
            double const drawn = norm   ? 1.0
                                 : bias ? 0.0
                                        : 0.02 * (ends ? shrunk : 1.0) * normal(dice);
            x = tacit::rounded_to<T>(static_cast<float>(drawn));
          }
        },
        one.entries);
  }
}

engine::~engine() = default;

tacit::parameters const& engine::parameters() const { return own_->views; }
std::size_t engine::records() const { return own_->texts.size(); }
double engine::forward_seconds() const { return own_->computing.count(); }

void engine::answer(std::span<std::size_t const> which, std::span<answered> out) const {
  c10::InferenceMode const forward_only;
  std::vector<std::vector<std::size_t>> waiting(rows);  // by row: their places in `which`
  for (std::size_t j = 0; j < which.size(); ++j) waiting[which[j] % rows].push_back(j);
  for (std::size_t pass = 0;; ++pass) {
    parts::timed const watch{own_->computing};
    batch one(rows, own_->length, own_->most);
    bool any = false;
    for (std::size_t row = 0; row < rows; ++row) {
      if (pass >= waiting[row].size()) continue;
      one.put(row, own_->texts[which[waiting[row][pass]]]);
      any = true;
    }
    if (!any) return;
    at::Tensor const logits = own_->net.logits(one.tokens, one.places);
    at::Tensor const surprise = surprise_of(logits, one.answers);
    at::Tensor const right = logits.argmax(-1).eq(one.answers);
    for (std::size_t row = 0; row < rows; ++row) {
      if (pass >= waiting[row].size()) continue;
      std::size_t const j = waiting[row][pass];
      tokenised const& text = own_->texts[which[j]];
      std::size_t const count = text.tokens.size() - text.prompt;
      std::size_t const at = row * own_->most;
      double sum = 0.0;
      bool all_right = true;
      for (std::size_t k = 0; k < count; ++k) {
        sum += double{surprise.data_ptr<float>()[at + k]};
        all_right = all_right && right.data_ptr<bool>()[at + k];
      }
      out[j] = {sum / static_cast<double>(count), all_right};
    }
  }
}

void engine::gradient(std::size_t record, std::span<float> out) const {
  if (own_->shape.type != tacit::element_type::f32) {
    throw std::invalid_argument("gradients of records are for weights of float32");
  }
  parts::timed const watch{own_->computing};
  tokenised const& text = own_->texts[record];
  batch one(1, own_->length, text.tokens.size() - text.prompt);
  one.put(0, text);
  at::Tensor const leaf = own_->flat.detach().requires_grad_();
  surprise_of(opt(own_->shape, leaf).logits(one.tokens, one.places), one.answers).mean().backward();
  std::copy_n(leaf.grad().data_ptr<float>(), out.size(), out.begin());
}

void engine::train(open_training const& how) const {
  constexpr double beta1 = 0.9;
  constexpr double beta2 = 0.95;
  parts::timed const watch{own_->computing};
  at::Tensor const leaf = own_->flat.to(at::kFloat).detach().clone().requires_grad_();
  opt_shape in_floats = own_->shape;
  in_floats.type = tacit::element_type::f32;
  opt const net(in_floats, leaf);
  at::Tensor const weights = leaf.detach();
  at::Tensor const first = at::zeros_like(weights);
  at::Tensor const second = at::zeros_like(weights);
  std::vector<std::size_t> order(own_->texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 dice(how.seed);
  std::size_t const batches = (order.size() + how.batch - 1) / how.batch;
  auto const total = static_cast<double>(how.epochs * batches);
  double step = 0.0;
  for (std::size_t epoch = 0; epoch < how.epochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), dice);
    for (std::size_t at = 0; at < order.size(); at += how.batch, ++step) {
      std::size_t const size = std::min(how.batch, order.size() - at);
      batch one(size, own_->length, own_->length);
      for (std::size_t row = 0; row < size; ++row) {
        tokenised text = own_->texts[order[at + row]];
        text.prompt = 1;  // every token is asked for
        one.put(row, text);
      }
      leaf.mutable_grad().reset();
      surprise_of(net.logits(one.tokens, one.places), one.answers).mean().backward();
      at::Tensor const& slope = leaf.grad();
      first.mul_(beta1).add_(slope, 1.0 - beta1);
      second.mul_(beta2).addcmul_(slope, slope, 1.0 - beta2);
      double const rate = how.rate * (1.0 - step / total);
      double const bias1 = 1.0 - std::pow(beta1, step + 1.0);
      double const bias2 = 1.0 - std::pow(beta2, step + 1.0);
      weights.mul_(1.0 - rate * how.weight_decay);
      weights.addcdiv_(first, second.div(bias2).sqrt_().add_(1e-8), -rate / bias1);
    }
  }
  own_->flat.copy_(weights);
}
