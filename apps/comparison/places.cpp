// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

#include "models/pretrained.hpp"

#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace apps {

namespace {

// Tests on a half of the records: the first, or the second.
task half_of(task const& whole, bool second) {
  task out = whole;
  dataset const& all = whole.data.test_part;
  auto const n = static_cast<Eigen::Index>(all.size());
  Eigen::Index const first = second ? n / 2 : 0;
  Eigen::Index const count = second ? n - n / 2 : n / 2;
  out.data.test_part.features = all.features.middleRows(first, count);
  out.data.test_part.labels.assign(all.labels.begin() + first, all.labels.begin() + first + count);
  return out;
}

class table_place final : public workplace {
 public:
  table_place(std::shared_ptr<task const> job, std::size_t rank)
      : job_(std::move(job)), rank_(rank), model_(*job_, rank) {}

  model& of() override { return model_.of(); }
  std::vector<canary> const& canaries() const override {
    static std::vector<canary> const none;
    return none;
  }
  std::vector<double> losses_of(std::span<float const>, std::vector<std::string> const&) override {
    throw std::logic_error("losses_of: a table has no texts");
  }
  std::pair<double, double> score_of_halves(std::span<float const> theta) override {
    if (!first_) {
      first_ = std::make_unique<tested>(half_of(*job_, false), rank_);
      second_ = std::make_unique<tested>(half_of(*job_, true), rank_);
    }
    return {first_->on.of().score(theta), second_->on.of().score(theta)};
  }

 private:
  struct tested {
    tested(task half, std::size_t rank) : job(std::move(half)), on(job, rank) {}
    task job;
    table_model on;
  };

  std::shared_ptr<task const> job_;
  std::size_t rank_;
  table_model model_;
  std::unique_ptr<tested> first_;  // made where it is asked for
  std::unique_ptr<tested> second_;
};

class text_place final : public workplace {
 public:
  text_place(std::shared_ptr<pretrained_texts const> from, std::size_t rank)
      : from_(std::move(from)), model_(*from_, rank) {}

  model& of() override { return model_.of(); }
  std::vector<canary> const& canaries() const override { return from_->words.canaries; }
  std::vector<double> losses_of(std::span<float const> theta,
                                std::vector<std::string> const& all) override {
    return model_.losses_of(theta, all);
  }
  std::pair<double, double> score_of_halves(std::span<float const>) override {
    throw std::logic_error("score_of_halves: texts are not halved");
  }

 private:
  std::shared_ptr<pretrained_texts const> from_;
  text_model model_;
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
      return {"text", "Messages, a character transformer", "perplexity", true};
    case place::text_lora:
      break;
  }
  return {"text-lora", "Messages, adapters of rank 4", "perplexity", true};
}

std::unique_ptr<workplace> open(place where, std::uint64_t seed, std::filesystem::path const& data,
                                bool quick, std::size_t rank) {
  bool const adapters =
      where == place::digits_lora || where == place::cancer_lora || where == place::text_lora;
  std::size_t const used = adapters ? rank : 0;
  if (has_texts(where)) return std::make_unique<text_place>(written(seed, quick), used);
  bool const digits = where == place::digits || where == place::digits_lora;
  auto job = prepared((data / (digits ? "digits.csv" : "breast_cancer.csv")).string(), seed, quick);
  return std::make_unique<table_place>(std::move(job), used);
}

}  // namespace apps
