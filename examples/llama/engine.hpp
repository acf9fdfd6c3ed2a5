// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/free_memory.hpp"
#include "records.hpp"

#include <llama-cpp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// llama.cpp as the program that computes losses: a model, the records' tokens, an adapter that is trained.

/// What became of a record: the mean surprise over the answer's tokens, in nats; and whether each of them was the
/// likeliest.
struct answered {
  double loss;
  bool right;
};

/// Ends the process, which would else be aborted, with one line.
[[noreturn]] inline void end_with(std::string_view what) {
  what = what.substr(0, what.find('\n'));
  std::fprintf(stderr, "private_tuning: %.*s\n", static_cast<int>(what.size()), what.data());
  _exit(2);
}

/// llama.cpp writes many lines of log. The last error is kept, for ours.
inline std::string& last_error() {
  static std::string text = "no reason given";
  return text;
}

/// For the whole process, before anything else of llama.cpp is called: one line of what goes wrong in it.
inline void errors_in_one_line() {
  llama_log_set(
      [](ggml_log_level level, char const* text, void*) {
        std::string_view const line(text);
        if (level == GGML_LOG_LEVEL_ERROR) last_error() = line.substr(0, line.find('\n'));
      },
      nullptr);
  ggml_set_abort_callback([](char const* text) {  // of memory that it did not get, for example
    std::string_view const where(text);
    end_with("llama.cpp cannot go on, perhaps for want of memory: " +
             std::string(where.substr(where.rfind('/', where.find(':')) + 1)));
  });
  // llama.cpp does not survive a std::bad_alloc: some of its destructors free twice then.
  std::set_new_handler([] { end_with("not enough memory"); });
  std::set_terminate([] { end_with("an error in llama.cpp, perhaps for want of memory"); });
}

[[noreturn]] inline void fail(std::string const& what) {
  throw std::runtime_error(what + ": " + last_error());
}

/// Whether the weights of the model itself are moved.
enum class weights { fixed, moved };

class engine {
 public:
  /// @throws std::runtime_error for a model that cannot be loaded or does not fit in memory, and for records that
  ///         its tokenizer cannot represent
  engine(std::string const& model_file, std::vector<record> const& records, int threads,
         weights of_model = weights::fixed) {
    std::error_code none;
    auto const bytes = static_cast<double>(std::filesystem::file_size(model_file, none));
    if (none) throw std::runtime_error("cannot read " + model_file);
    double const free = apps::free_memory();
    apps::must_fit(model_file, bytes, free);
    llama_model_params loading = llama_model_default_params();
    loading.n_gpu_layers = 0;  // what is moved in place lies in the host's memory
    if (of_model == weights::moved) {
      loading.load_mode = LLAMA_LOAD_MODE_NONE;  // a mapped file cannot be written
      loading.use_extra_bufts = false;           // which would lay weights out in another way
    }
    model_.reset(llama_model_load_from_file(model_file.c_str(), loading));
    if (!model_) fail("cannot load " + model_file);

    for (std::size_t i = 0; i < records.size(); ++i) {
      tokenised one{tokens_of(records[i].prompt, true, i), 0};
      one.prompt = one.tokens.size();
      std::vector<llama_token> const answer = tokens_of(records[i].answer, false, i);
      one.tokens.insert(one.tokens.end(), answer.begin(), answer.end());
      auto const longest = static_cast<std::size_t>(llama_model_n_ctx_train(model()));
      if (one.tokens.size() > longest) {
        throw std::runtime_error(
            "record " + std::to_string(i + 1) + " has " + std::to_string(one.tokens.size()) +
            " tokens, more than the model was trained to read: " + std::to_string(longest));
      }
      room_ = std::max(room_, one.tokens.size());
      records_.push_back(std::move(one));
    }
    apps::must_fit(model_file + " with a context of " + std::to_string(room_) + " tokens",
                   bytes + context_bytes(), free);
    llama_context_params sizes = llama_context_default_params();
    sizes.n_ctx = sizes.n_batch = sizes.n_ubatch = static_cast<std::uint32_t>(room_);
    sizes.n_seq_max = most_sequences;
    sizes.kv_unified = true;
    sizes.n_threads = sizes.n_threads_batch = threads;
    sizes.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    sizes.type_k = sizes.type_v = GGML_TYPE_F32;  // a loss that is smooth on the scale of μ
    sizes.cb_eval = look_at;
    sizes.cb_eval_user_data = this;
    context_.reset(llama_init_from_model(model_.get(), sizes));
    if (!context_) fail("no memory for a context of " + std::to_string(room_) + " tokens");
  }

  engine(engine const&) = delete;  // llama.cpp has its address
  engine& operator=(engine const&) = delete;

  [[nodiscard]] llama_model* model() const noexcept { return model_.get(); }
  [[nodiscard]] llama_context* context() const noexcept { return context_.get(); }
  [[nodiscard]] std::size_t records() const noexcept { return records_.size(); }

  /// Seconds spent in llama_decode.
  [[nodiscard]] double forward_seconds() const noexcept { return forward_.count(); }

  /// A digest of the texts of all tokens (FNV-1a): equal where the tokenizers are.
  [[nodiscard]] std::string tokenizer() const {
    llama_vocab const* vocab = llama_model_get_vocab(model());
    std::uint64_t digest = 0xcbf29ce484222325;
    for (llama_token t = 0; t < llama_vocab_n_tokens(vocab); ++t) {
      for (char const* c = llama_vocab_get_text(vocab, t);; ++c) {
        digest = (digest ^ static_cast<unsigned char>(*c)) * 0x100000001b3;
        if (*c == '\0') break;
      }
    }
    return std::to_string(digest);
  }

  /// The records of these indices, with the adapter as it is now. One forward pass takes as many as there is room
  /// for; or one each, where nothing about a record may depend on who else is asked for, roundings included.
  /// @throws std::runtime_error if llama.cpp cannot compute them
  void answer(std::span<std::size_t const> which, bool one_by_one, std::span<answered> out) {
    for (std::size_t done = 0; done < which.size();) {
      std::size_t taken = 0;
      std::size_t tokens = 0;
      while (done + taken < which.size() && taken < (one_by_one ? 1 : most_sequences) &&
             tokens + records_[which[done + taken]].tokens.size() <= room_) {
        tokens += records_[which[done + taken]].tokens.size();
        ++taken;
      }
      forward(which.subspan(done, taken), out.subspan(done, taken));
      done += taken;
    }
  }

  /// The tensors of these names that the model computes with.
  /// @throws std::runtime_error naming one that it does not use
  [[nodiscard]] std::vector<ggml_tensor*> tensors_called(std::span<ggml_tensor* const> names) {
    std::size_t const first = 0;
    answered ignored{};
    sought_.clear();
    for (ggml_tensor const* const one : names) sought_[one->name] = nullptr;
    answer({&first, 1}, true, {&ignored, 1});
    std::vector<ggml_tensor*> out;
    for (ggml_tensor const* const one : names) out.push_back(sought_[one->name]);
    sought_.clear();
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i] == nullptr || !ggml_backend_buffer_is_host(out[i]->buffer)) {
        throw std::runtime_error("tensor " + std::string(names[i]->name) +
                                 " is not one that this model computes with in host memory");
      }
    }
    return out;
  }

 private:
  static constexpr std::size_t most_sequences = 64;

  struct tokenised {
    std::vector<llama_token> tokens;
    std::size_t prompt;  // how many of them
  };

  [[nodiscard]] std::vector<llama_token> tokens_of(std::string const& text, bool special,
                                                   std::size_t record) const {
    llama_vocab const* vocab = llama_model_get_vocab(model());
    auto const length = static_cast<std::int32_t>(text.size());
    std::vector<llama_token> out(text.size() + 2);  // a token a byte, a first one, a last one
    std::int32_t const count =
        llama_tokenize(vocab, text.data(), length, out.data(),
                       static_cast<std::int32_t>(out.size()), special, false);
    out.resize(static_cast<std::size_t>(std::max(count, 0)));
    std::string back(8 * text.size() + 64, '\0');
    std::int32_t const read = llama_detokenize(vocab, out.data(), count, back.data(),
                                               static_cast<std::int32_t>(back.size()), true, false);
    back.resize(static_cast<std::size_t>(std::max(read, 0)));
    // Some tokenizers tidy spaces as they read back.
    auto const without_spaces = [](std::string words) {
      std::erase(words, ' ');
      return words;
    };
    if (without_spaces(back) != without_spaces(text)) {
      throw std::runtime_error("the model's tokenizer does not match record " +
                               std::to_string(record + 1) + ": it reads back \"" + back + "\"");
    }
    return out;
  }

  void forward(std::span<std::size_t const> which, std::span<answered> out) {
    auto const start = std::chrono::steady_clock::now();
    llama_batch batch = llama_batch_init(static_cast<std::int32_t>(room_), 0, 1);
    for (std::size_t j = 0; j < which.size(); ++j) {
      auto const& [tokens, prompt] = records_[which[j]];
      for (std::size_t p = 0; p < tokens.size(); ++p) {
        std::int32_t const at = batch.n_tokens++;
        batch.token[at] = tokens[p];
        batch.pos[at] = static_cast<llama_pos>(p);
        batch.n_seq_id[at] = 1;
        batch.seq_id[at][0] = static_cast<llama_seq_id>(j);
        batch.logits[at] = p + 1 >= prompt && p + 1 < tokens.size();
      }
    }
    llama_memory_clear(llama_get_memory(context()), true);
    std::int32_t const failed = llama_decode(context(), batch);
    llama_batch_free(batch);
    if (failed != 0) fail("llama_decode failed");
    llama_synchronize(context());
    forward_ += std::chrono::steady_clock::now() - start;

    std::int32_t at = 0;
    for (std::size_t j = 0; j < which.size(); ++j) {
      auto const& [tokens, prompt] = records_[which[j]];
      double sum = 0.0;
      bool right = true;
      for (std::size_t p = prompt - 1; p + 1 < tokens.size(); ++p) {
        float const* row = llama_get_logits_ith(context(), at + static_cast<std::int32_t>(p));
        std::span<float const> const logits(row, vocabulary_size());
        auto const next = static_cast<std::size_t>(tokens[p + 1]);
        sum += surprise(logits, next);
        right = right && *std::max_element(logits.begin(), logits.end()) == logits[next];
      }
      out[j] = {sum / static_cast<double>(tokens.size() - prompt), right};
      at += static_cast<std::int32_t>(tokens.size());
    }
  }

  // At least: keys and values, attention of one layer, and the logits, in the graph and out of it.
  [[nodiscard]] double context_bytes() const {
    auto const tokens = static_cast<double>(room_);
    double const heads = std::max(llama_model_n_head(model()), 1);
    double const kept = llama_model_n_layer(model()) * llama_model_n_head_kv(model()) *
                        (llama_model_n_embd(model()) / heads);
    return 4.0 * tokens *
           (2.0 * kept + heads * tokens + 2.0 * static_cast<double>(vocabulary_size()));
  }

  [[nodiscard]] std::size_t vocabulary_size() const {
    return static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model())));
  }

  // Called for every node of a graph before it is computed: here its operands can be seen.
  static bool look_at(ggml_tensor* node, bool, void* self) {
    auto& sought = static_cast<engine*>(self)->sought_;
    if (sought.empty()) return false;
    for (ggml_tensor* const operand : node->src) {
      if (operand == nullptr) continue;
      if (auto const found = sought.find(operand->name); found != sought.end()) {
        found->second = operand;
      }
    }
    return false;
  }

  llama_model_ptr model_;
  llama_context_ptr context_;
  std::vector<tokenised> records_;
  std::size_t room_ = 512;  // tokens of a forward pass
  std::map<std::string, ggml_tensor*, std::less<>> sought_;
  std::chrono::duration<double> forward_{};
};
