// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

#include "models/pretrained.hpp"

#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace apps {

namespace {

class table_place final : public workplace {
 public:
  table_place(std::shared_ptr<task const> job, bool adapters)
      : job_(std::move(job)), model_(*job_, adapters) {}

  model& of() override { return model_.of(); }
  std::vector<canary> const& canaries() const override {
    static std::vector<canary> const none;
    return none;
  }
  std::vector<double> losses_of(std::span<float const>, std::vector<std::string> const&) override {
    throw std::logic_error("losses_of: a table has no texts");
  }

 private:
  std::shared_ptr<task const> job_;
  table_model model_;
};

class text_place final : public workplace {
 public:
  explicit text_place(std::shared_ptr<pretrained_texts const> from)
      : from_(std::move(from)), model_(from_->model()) {}

  model& of() override { return model_; }
  std::vector<canary> const& canaries() const override { return from_->words.canaries; }
  std::vector<double> losses_of(std::span<float const> theta,
                                std::vector<std::string> const& all) override {
    return model_.losses_of(theta, all);
  }

 private:
  std::shared_ptr<pretrained_texts const> from_;
  language_model model_;
};

// One of each key, made by whoever asks first while the others wait.
template <class Key, class Value>
class once {
 public:
  template <class Make>
  std::shared_ptr<Value const> get(Key const& key, Make const& make) {
    std::lock_guard const lock(mutex_);
    auto& kept = kept_[key];
    if (!kept) kept = std::make_shared<Value const>(make());
    return kept;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Value const>> kept_;
};

std::shared_ptr<task const> prepared(std::string const& file, std::uint64_t seed, bool quick) {
  static once<std::tuple<std::string, std::uint64_t, bool>, task> all;
  return all.get({file, seed, quick}, [&] {
    task_options options;
    if (quick) options.split.private_records = 120;
    return prepare(load_csv(file), seed, options);
  });
}

std::shared_ptr<pretrained_texts const> written(std::uint64_t seed, bool quick) {
  static once<std::pair<std::uint64_t, bool>, pretrained_texts> all;
  return all.get({seed, quick}, [&] {
    if (!quick) {
      return pretrain_on_texts(seed, {.private_texts = 256, .test_texts = 256, .canaries = 8});
    }
    return pretrain_on_texts(
        seed,
        {.public_texts = 256, .private_texts = 24, .test_texts = 24, .canaries = 2, .digits = 1},
        10);
  });
}

}  // namespace

place_words words_of(place where) {
  switch (where) {
    case place::digits:
      return {"digits", "Digits, a network", "accuracy", false};
    case place::digits_lora:
      return {"digits-lora", "Digits, adapters of rank 4", "accuracy", false};
    case place::cancer:
      return {"cancer", "Breast cancer, a network", "accuracy", false};
    case place::cancer_lora:
      return {"cancer-lora", "Breast cancer, adapters of rank 4", "accuracy", false};
    case place::text:
      break;
  }
  return {"text", "Messages, a character transformer", "perplexity", true};
}

std::unique_ptr<workplace> open(place where, std::uint64_t seed, std::filesystem::path const& data,
                                bool quick) {
  if (where == place::text) return std::make_unique<text_place>(written(seed, quick));
  bool const digits = where == place::digits || where == place::digits_lora;
  auto job = prepared((data / (digits ? "digits.csv" : "breast_cancer.csv")).string(), seed, quick);
  bool const adapters = where == place::digits_lora || where == place::cancer_lora;
  return std::make_unique<table_place>(std::move(job), adapters);
}

}  // namespace apps
