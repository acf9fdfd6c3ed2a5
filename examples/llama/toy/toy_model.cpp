// SPDX-License-Identifier: Apache-2.0
//
// Trains a small model on public text by ggml's own AdamW, and quantises one, both by llama.h:
//
//     toy_model train MODEL.gguf CORPUS.txt EPOCHS TRAINED.gguf
//     toy_model quantise TRAINED.gguf F16|BF16|Q8_0|Q4_K QUANTISED.gguf

#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::uint32_t context = 256;  // tokens in a row of the training set

struct schedule {
  std::int64_t step = 0;
  std::int64_t steps = 1;
};

// AdamW, from 3e-4 down to 0 by half a cosine.
ggml_opt_optimizer_params rate(void* at) {
  auto& where = *static_cast<schedule*>(at);
  double const done = static_cast<double>(where.step++) / static_cast<double>(where.steps);
  ggml_opt_optimizer_params out = ggml_opt_get_default_optimizer_params(nullptr);
  out.adamw.alpha = static_cast<float>(1.5e-4 * (1.0 + std::cos(3.14159265 * std::min(done, 1.0))));
  return out;
}

std::vector<llama_token> tokens_of(llama_model const* model, std::string const& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  llama_vocab const* vocab = llama_model_get_vocab(model);
  std::vector<llama_token> all;
  std::vector<llama_token> some(4096);
  for (std::string line; std::getline(in, line);) {
    line += '\n';
    std::int32_t const count =
        llama_tokenize(vocab, line.data(), static_cast<std::int32_t>(line.size()), some.data(),
                       static_cast<std::int32_t>(some.size()), true, false);
    if (count < 0) throw std::runtime_error("a line is too long");
    all.insert(all.end(), some.begin(), some.begin() + count);
  }
  return all;
}

void train(std::string const& from, std::string const& corpus, int epochs, std::string const& to) {
  llama_model_params loading = llama_model_default_params();
  loading.load_mode = LLAMA_LOAD_MODE_NONE;  // so that the weights can be written
  loading.use_extra_bufts = false;
  llama_model* const model = llama_model_load_from_file(from.c_str(), loading);
  if (model == nullptr) throw std::runtime_error("cannot load " + from);
  llama_context_params sizes = llama_context_default_params();
  sizes.n_ctx = sizes.n_batch = sizes.n_ubatch = context;
  sizes.n_threads = sizes.n_threads_batch = 1;
  sizes.type_k = sizes.type_v = GGML_TYPE_F32;  // which the backward pass needs
  llama_context* const engine = llama_init_from_model(model, sizes);
  if (engine == nullptr) throw std::runtime_error("no memory for the context");

  std::vector<llama_token> const tokens = tokens_of(model, corpus);
  auto const rows = static_cast<std::int64_t>((tokens.size() - 1) / context);
  ggml_opt_dataset_t const data =
      ggml_opt_dataset_init(GGML_TYPE_I32, GGML_TYPE_I32, context, context, rows, 1);
  std::copy_n(tokens.begin(), rows * context,
              static_cast<llama_token*>(ggml_opt_dataset_data(data)->data));
  std::copy_n(tokens.begin() + 1, rows * context,
              static_cast<llama_token*>(ggml_opt_dataset_labels(data)->data));

  // The optimiser computes on as many threads as the last forward pass did: on one, which waits for no other.
  llama_token first = tokens.front();
  llama_decode(engine, llama_batch_get_one(&first, 1));

  schedule at{.steps = rows * epochs};
  llama_opt_init(engine, model,
                 {.n_ctx_train = 0,
                  .param_filter = llama_opt_param_filter_all,
                  .param_filter_ud = nullptr,
                  .get_opt_pars = rate,
                  .get_opt_pars_ud = &at,
                  .optimizer_type = GGML_OPT_OPTIMIZER_TYPE_ADAMW});
  ggml_opt_result_t const result = ggml_opt_result_init();
  for (int epoch = 0; epoch < epochs; ++epoch) {
    ggml_opt_result_reset(result);
    llama_opt_epoch(engine, data, result, nullptr, rows, nullptr, nullptr);
    double loss = 0.0;
    ggml_opt_result_loss(result, &loss, nullptr);
    std::printf("epoch %d of %d: %lld rows of %u tokens, loss %.4f nats a token\n", epoch + 1,
                epochs, static_cast<long long>(rows), context, loss);
    std::fflush(stdout);
  }
  ggml_opt_result_free(result);
  ggml_opt_dataset_free(data);
  llama_free(engine);
  llama_model_save_to_file(model, to.c_str());
  llama_model_free(model);
}

void quantise(std::string const& from, std::string const& type, std::string const& to) {
  static std::map<std::string, llama_ftype> const types{{"F16", LLAMA_FTYPE_MOSTLY_F16},
                                                        {"BF16", LLAMA_FTYPE_MOSTLY_BF16},
                                                        {"Q8_0", LLAMA_FTYPE_MOSTLY_Q8_0},
                                                        {"Q4_K", LLAMA_FTYPE_MOSTLY_Q4_K_S}};
  llama_model_quantize_params how = llama_model_quantize_default_params();
  how.nthread = 1;
  how.ftype = types.at(type);
  if (llama_model_quantize(from.c_str(), to.c_str(), &how) != 0) {
    throw std::runtime_error("cannot quantise " + from);
  }
}

}  // namespace

int main(int count, char** words) {
  std::vector<std::string> const given(words + 1, words + count);
  llama_log_set([](ggml_log_level, char const*, void*) {}, nullptr);
  try {
    if (count == 6 && given[0] == "train") {
      train(given[1], given[2], std::stoi(given[3]), given[4]);
    } else if (count == 5 && given[0] == "quantise") {
      quantise(given[1], given[2], given[3]);
    } else {
      throw std::runtime_error(
          "usage: toy_model train MODEL CORPUS EPOCHS TRAINED | quantise MODEL TYPE QUANTISED");
    }
  } catch (std::exception const& error) {
    std::fprintf(stderr, "toy_model: %s\n", error.what());
    return 2;
  }
  return 0;
}
