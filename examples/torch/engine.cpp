// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include "opt.hpp"

#include <ATen/Context.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

// Rows of a batch. A record is always in row (its index mod rows): how a product rounds depends on the place.
constexpr std::size_t rows_of_processor = 8;
constexpr std::size_t rows_of_device = 256;  // with fewer it waits for launches
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

  void move_to(at::Device device) {
    for (at::Tensor* const one : {&tokens, &places, &answers}) *one = one->to(device);
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

std::int64_t entries_of(opt_shape const& shape) {
  std::int64_t count = 0;
  for (tacit::recorded_tensor const& one : tensors_of(shape)) {
    std::int64_t entries = 1;
    for (std::uint64_t const size : one.shape) entries *= static_cast<std::int64_t>(size);
    count += entries;
  }
  return count;
}

at::Tensor memory_for(opt_shape const& shape, at::Device device) {
  auto const type = shape.type == tacit::element_type::f32 ? at::kFloat : at::kBFloat16;
  return at::empty({entries_of(shape)}, at::TensorOptions(type).device(device));
}

at::Device device_of(place const& where) {
  if (!where.is_cuda()) return at::kCPU;
  return {at::kCUDA, static_cast<at::DeviceIndex>(where.device)};
}

// Where there are gradients on a device attention is made of its parts: the fused ones add in any order there.
class attention_by_parts {
 public:
  explicit attention_by_parts(at::Device device) : fused_on_device_(device.is_cuda()) {
    if (fused_on_device_) set(false);
  }
  attention_by_parts(attention_by_parts const&) = delete;
  attention_by_parts& operator=(attention_by_parts const&) = delete;
  ~attention_by_parts() {
    if (fused_on_device_) set(true);
  }

 private:
  static void set(bool fused) {
    at::globalContext().setSDPUseFlash(fused);
    at::globalContext().setSDPUseMemEfficient(fused);
  }

  bool fused_on_device_;
};

// The model over this flat tensor, with gradients that add up in another one.
class sloped {
 public:
  sloped(opt_shape const& shape, at::Tensor const& flat) : slope_(at::zeros_like(flat)) {
    std::vector<at::Tensor> leaves = opt::pieces_of(shape, flat.detach());
    std::vector<at::Tensor> const slopes = opt::pieces_of(shape, slope_);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      leaves[i] = leaves[i].detach().requires_grad_();
      leaves[i].mutable_grad() = slopes[i];
    }
    net_.emplace(shape, leaves);
  }

  // The gradient of the mean surprise of a batch.
  at::Tensor const& of(batch const& one) {
    slope_.zero_();
    surprise_of(net_->logits(one.tokens, one.places), one.answers).mean().backward();
    return slope_;
  }

 private:
  at::Tensor slope_;
  std::optional<opt> net_;
};

}  // namespace

struct engine::parts {
  explicit parts(model_folder const& model, place const& at)
      : where(prepared(model, at)),
        shape(model.shape),
        flat(memory_for(shape, device_of(where))),
        host(where.is_cuda() ? memory_for(shape, at::kCPU) : flat),
        views(views_of(host, shape)),
        net(shape, flat) {}

  static place const& prepared(model_folder const& model, place const& at) {
    double const bytes = model.shape.type == tacit::element_type::f32 ? 4.0 : 2.0;
    prepare(at, bytes * static_cast<double>(entries_of(model.shape)));
    return at;
  }

  place where;
  opt_shape shape;
  at::Tensor flat;
  at::Tensor host;          // flat, or a copy of it
  tacit::parameters views;  // of host
  opt net;
  std::optional<sloped> gradients{};  // made when one is asked for
  at::Tensor signs{};                 // on a device: of `signs_of`
  std::optional<tacit::stream_id> signs_of{};
  std::vector<tokenised> texts{};
  std::size_t first = 0;   // of `texts` among all records
  std::size_t length = 1;  // of every row
  std::size_t most = 1;    // tokens of an answer
  std::chrono::duration<double> computing{};

  passes by() const { return {where.device, stream_of(where)}; }

  at::Tensor const& gradient(std::size_t record);

  // Adds the time that the rest of a scope takes.
  struct timed {
    explicit timed(parts& whose) : of(whose) { finish(of.where); }
    ~timed() { of.computing += std::chrono::steady_clock::now() - start; }
    parts& of;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  };
};

engine::engine(model_folder const& model, std::vector<record> const& all,
               std::span<record const> own, place const& where)
    : own_(std::make_unique<parts>(model, where)) {
  model.load(own_->views);
  if (where.is_cuda()) own_->flat.copy_(own_->host);
  std::vector<tokenised> texts = tokenise(model, all);
  for (tokenised const& one : texts) {
    own_->length = std::max(own_->length, one.tokens.size() - 1);
    own_->most = std::max(own_->most, one.tokens.size() - one.prompt);
  }
  auto const first = static_cast<std::ptrdiff_t>(own.data() - all.data());
  own_->first = static_cast<std::size_t>(first);
  own_->texts.assign(texts.begin() + first,
                     texts.begin() + first + static_cast<std::ptrdiff_t>(own.size()));
}

engine::engine(model_folder const& model, std::uint64_t seed)
    : own_(std::make_unique<parts>(model, place{})) {
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

tacit::parameters const& engine::on_host() const {
  if (own_->where.is_cuda()) own_->host.copy_(own_->flat);
  return own_->views;
}

placed engine::weights() const {
  tacit::parameters const& host = on_host();
  if (!own_->where.is_cuda()) return {host, own_->by(), tacit::hash_of(host)};
  auto const whole = [&]<class T>(T* at) {
    return tacit::parameters({{.entries = std::span<T>(at, host.size())}});
  };
  return {own_->shape.type == tacit::element_type::f32
              ? whole(own_->flat.data_ptr<float>())
              : whole(static_cast<tacit::bfloat16*>(own_->flat.data_ptr())),
          own_->by(), tacit::hash_of(host)};
}

std::size_t engine::records() const { return own_->texts.size(); }
double engine::forward_seconds() const { return own_->computing.count(); }

void engine::answer(std::span<std::size_t const> which, std::span<answered> out) const {
  c10::InferenceMode const forward_only;
  parts::timed const watch(*own_);
  std::size_t const rows = own_->where.is_cuda() ? rows_of_device : rows_of_processor;
  std::vector<std::vector<std::size_t>> waiting(rows);  // by row: their places in `which`
  std::size_t batches = 0;
  for (std::size_t j = 0; j < which.size(); ++j) {
    std::vector<std::size_t>& row = waiting[(own_->first + which[j]) % rows];
    row.push_back(j);
    batches = std::max(batches, row.size());
  }
  struct computed {
    at::Tensor surprise, right;
  };
  std::vector<computed> of(batches);
  for (std::size_t b = 0; b < batches; ++b) {
    batch one(rows, own_->length, own_->most);
    for (std::size_t row = 0; row < rows; ++row) {
      if (b < waiting[row].size()) one.put(row, own_->texts[which[waiting[row][b]]]);
    }
    one.move_to(own_->flat.device());
    at::Tensor const logits = own_->net.logits(one.tokens, one.places);
    of[b] = {surprise_of(logits, one.answers), logits.argmax(-1).eq(one.answers)};
  }
  for (std::size_t b = 0; b < batches; ++b) {  // only here a device is waited for
    at::Tensor const surprise = of[b].surprise.cpu();
    at::Tensor const right = of[b].right.cpu();
    for (std::size_t row = 0; row < rows; ++row) {
      if (b >= waiting[row].size()) continue;
      std::size_t const j = waiting[row][b];
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

at::Tensor const& engine::parts::gradient(std::size_t record) {
  if (shape.type != tacit::element_type::f32) {
    throw std::invalid_argument("gradients of records are for weights of float32");
  }
  if (!gradients) gradients.emplace(shape, flat);
  attention_by_parts const same_bits(flat.device());
  tokenised const& text = texts[record];
  batch one(1, length, text.tokens.size() - text.prompt);
  one.put(0, text);
  one.move_to(flat.device());
  return gradients->of(one);
}

void engine::gradient(std::size_t record, std::span<float> out) const {
  parts::timed const watch(*own_);
  at::Tensor const slope = own_->gradient(record).cpu();
  std::copy_n(slope.data_ptr<float>(), out.size(), out.begin());
}

void engine::project(std::size_t record, tacit::stream_id stream,
                     std::span<tacit::parameter_range const> groups, std::span<double> out) const {
  bool const there =
      own_->signs_of && own_->signs_of->seed == stream.seed && own_->signs_of->step == stream.step;
  if (!there) {
    if (!own_->signs.defined()) own_->signs = at::empty_like(own_->flat);
    own_->signs_of.reset();  // until they are made: a pass may throw
    own_->signs.zero_();
    tacit::direction const z{tacit::direction_law::rademacher, stream};
    own_->by()(tacit::perturb{own_->signs.data_ptr<float>(), z, 1.0F}, own_->views.size());
    own_->signs_of = stream;
  }
  at::Tensor slope;
  {
    parts::timed const watch(*own_);
    slope = own_->gradient(record);
    finish(own_->where);
  }
  at::Tensor const along = slope * own_->signs;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    double const sum = along.narrow(0, signed_of(groups[g].first), signed_of(groups[g].size()))
                           .sum(at::kDouble)
                           .item<double>();
    out[g] = sum / std::sqrt(static_cast<double>(groups[g].size()));
  }
}

void engine::train(open_training const& how) const {
  constexpr double beta1 = 0.9;
  constexpr double beta2 = 0.95;
  parts::timed const watch(*own_);
  at::Tensor const weights = own_->flat.to(at::kFloat).clone();
  attention_by_parts const same_bits(weights.device());
  opt_shape in_floats = own_->shape;
  in_floats.type = tacit::element_type::f32;
  sloped model(in_floats, weights);
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
      one.move_to(weights.device());
      at::Tensor const& slope = model.of(one);
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
