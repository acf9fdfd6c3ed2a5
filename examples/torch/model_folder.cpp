// SPDX-License-Identifier: Apache-2.0
#include "model_folder.hpp"

#include "memory/free_memory.hpp"
#include "output/text_file.hpp"
#include "safetensors/safetensors.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <variant>

using nlohmann::ordered_json;

namespace {

constexpr char const* digest_key = "tacit_vocabulary";

[[noreturn]] void fail(std::filesystem::path const& file, std::string const& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

std::uint64_t entries_of(std::vector<tacit::recorded_tensor> const& tensors) {
  std::uint64_t sum = 0;
  for (tacit::recorded_tensor const& one : tensors) {
    std::uint64_t entries = 1;
    for (std::uint64_t const size : one.shape) entries *= size;
    sum += entries;
  }
  return sum;
}

// Refuses sizes that no model has, before anything is made as large as they say.
void check(opt_shape const& s, std::filesystem::path const& file) {
  for (auto const& [name, size] : {std::pair{"vocab_size", s.vocabulary},
                                   {"hidden_size", s.width},
                                   {"num_hidden_layers", s.layers},
                                   {"num_attention_heads", s.heads},
                                   {"ffn_dim", s.inner},
                                   {"max_position_embeddings", s.positions}}) {
    if (size < 1 || size > 1'000'000) fail(file, std::string(name) + " must be in [1, 1000000]");
  }
  if (s.width % s.heads != 0) fail(file, "hidden_size must be a multiple of num_attention_heads");
  double const bytes = static_cast<double>(entries_of(tensors_of(s))) *
                       (s.type == tacit::element_type::f32 ? 4.0 : 2.0);
  apps::must_fit(file.string() + ": the model", bytes, apps::free_memory());
}

opt_shape shape_in(ordered_json const& config, std::filesystem::path const& file) {
  auto const must_be = [&](char const* key, ordered_json const& wanted,
                           bool may_be_missing = true) {
    if (may_be_missing && !config.contains(key)) return;
    if (config.value(key, ordered_json()) != wanted) {
      fail(file, std::string(key) + " must be " + wanted.dump() +
                     ", for this program knows no other OPT");
    }
  };
  must_be("model_type", "opt", false);
  must_be("do_layer_norm_before", true);
  must_be("_remove_final_layer_norm", false);
  must_be("enable_bias", true);
  must_be("layer_norm_elementwise_affine", true);
  must_be("activation_function", "relu");
  must_be("tie_word_embeddings", true);
  opt_shape s;
  s.vocabulary = config.at("vocab_size");
  s.width = config.at("hidden_size");
  s.layers = config.at("num_hidden_layers");
  s.heads = config.at("num_attention_heads");
  s.inner = config.at("ffn_dim");
  s.positions = config.at("max_position_embeddings");
  must_be("word_embed_proj_dim", s.width);
  std::string const type =
      config.value(config.contains("dtype") ? "dtype" : "torch_dtype", "float32");
  if (type != "float32" && type != "bfloat16") {
    fail(file, "torch_dtype is " + type + ", but must be float32 or bfloat16");
  }
  s.type = type == "float32" ? tacit::element_type::f32 : tacit::element_type::bf16;
  check(s, file);
  return s;
}

ordered_json config_of(opt_shape const& s) {
  return {{"model_type", "opt"},
          {"architectures", {"OPTForCausalLM"}},
          {"activation_function", "relu"},
          {"do_layer_norm_before", true},
          {"vocab_size", s.vocabulary},
          {"hidden_size", s.width},
          {"word_embed_proj_dim", s.width},
          {"num_hidden_layers", s.layers},
          {"num_attention_heads", s.heads},
          {"ffn_dim", s.inner},
          {"max_position_embeddings", s.positions},
          {"bos_token_id", begin_token},
          {"eos_token_id", begin_token},
          {"pad_token_id", 1},
          {"dropout", 0.0},
          {"torch_dtype", s.type == tacit::element_type::f32 ? "float32" : "bfloat16"}};
}

}  // namespace

std::vector<tacit::recorded_tensor> tensors_of(opt_shape const& s) {
  std::vector<tacit::recorded_tensor> out;
  auto const add = [&](std::string name, std::vector<std::int64_t> const& shape) {
    out.push_back({"model.decoder." + std::move(name), s.type, {shape.begin(), shape.end()}});
  };
  auto const add_both = [&](std::string const& name, std::int64_t to, std::int64_t from) {
    add(name + ".weight", from > 0 ? std::vector{to, from} : std::vector{to});
    add(name + ".bias", {to});
  };
  add("embed_tokens.weight", {s.vocabulary, s.width});
  add("embed_positions.weight", {s.positions + position_offset, s.width});
  for (std::int64_t layer = 0; layer < s.layers; ++layer) {
    std::string const at = "layers." + std::to_string(layer) + ".";
    add_both(at + "self_attn_layer_norm", s.width, 0);
    for (char const* part : {"q", "k", "v", "out"}) {
      add_both(at + "self_attn." + part + "_proj", s.width, s.width);
    }
    add_both(at + "final_layer_norm", s.width, 0);
    add_both(at + "fc1", s.inner, s.width);
    add_both(at + "fc2", s.width, s.inner);
  }
  add_both("final_layer_norm", s.width, 0);
  return out;
}

word_tokenizer word_tokenizer::read(std::filesystem::path const& file) {
  word_tokenizer out;
  std::istringstream lines(apps::read_text(file.string()));
  for (std::string line; std::getline(lines, line);) {
    auto const next = static_cast<std::int64_t>(out.numbers_.size());
    if (!out.numbers_.emplace(line, next).second) fail(file, "\"" + line + "\" is there twice");
  }
  if (out.numbers_.empty()) fail(file, "there is no word");
  return out;
}

std::string word_tokenizer::digest() const {
  std::vector<std::string_view> words(numbers_.size());
  for (auto const& [word, number] : numbers_) words[static_cast<std::size_t>(number)] = word;
  std::uint64_t digest = 0xcbf29ce484222325;
  auto const add = [&](char c) {
    digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  };
  for (std::string_view const word : words) {
    std::for_each(word.begin(), word.end(), add);
    add('\n');
  }
  return std::to_string(digest);
}

std::vector<std::int64_t> word_tokenizer::tokens(std::string_view text,
                                                 std::int64_t vocabulary) const {
  std::vector<std::int64_t> out;
  while (!text.empty()) {
    std::string_view const word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.empty()) continue;
    std::int64_t number = -1;
    if (size() > 0) {
      auto const found = numbers_.find(word);
      if (found != numbers_.end()) number = found->second;
    } else {
      auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      if (error != std::errc{} || end != word.data() + word.size()) number = -1;
    }
    if (number < 0 || number >= vocabulary) {
      throw std::runtime_error("the model's tokenizer has no token \"" + std::string(word) + "\"");
    }
    out.push_back(number);
  }
  return out;
}

model_folder model_folder::open(std::filesystem::path const& path) {
  model_folder out;
  out.path = path;
  auto const file = path / config_name;
  std::string expected;
  try {
    ordered_json const config = ordered_json::parse(apps::read_text(file.string()));
    out.shape = shape_in(config, file);
    expected = config.value(digest_key, "");
  } catch (ordered_json::exception const& error) {
    fail(file, error.what());
  }
  auto const words = path / vocabulary_name;
  if (!std::filesystem::exists(words)) {
    if (!expected.empty()) fail(words, "is missing, but the model was made for a vocabulary");
    return out;
  }
  out.words = word_tokenizer::read(words);
  auto const count = static_cast<std::int64_t>(out.words.size());
  if (count != out.shape.vocabulary || (!expected.empty() && expected != out.words.digest())) {
    fail(words, "the tokenizer does not match the weights: " + std::to_string(count) +
                    " words, for a model of " + std::to_string(out.shape.vocabulary) +
                    (count == out.shape.vocabulary ? " others" : ""));
  }
  return out;
}

model_folder model_folder::make(opt_shape shape, std::filesystem::path const& vocabulary) {
  model_folder out;
  out.words = word_tokenizer::read(vocabulary);
  shape.vocabulary = static_cast<std::int64_t>(out.words.size());
  check(shape, vocabulary);
  out.path = vocabulary;
  out.shape = shape;
  return out;
}

void model_folder::load(tacit::parameters const& into) const {
  auto const file = path / weights_name;
  apps::tensor_file stored = apps::tensor_file::read(file);
  tacit::parameters const from = [&] {
    try {
      return stored.select(tensors_of(shape));
    } catch (std::exception const& error) {
      fail(file, error.what());
    }
  }();
  for (std::size_t i = 0; i < from.all().size(); ++i) {
    std::visit(
        [&]<class T>(std::span<T> entries) {
          std::copy(entries.begin(), entries.end(),
                    std::get<std::span<T>>(into.all()[i].entries).begin());
        },
        from.all()[i].entries);
  }
}

void model_folder::write(std::filesystem::path const& folder,
                         tacit::parameters const& weights) const {
  std::filesystem::create_directories(folder);
  ordered_json config = config_of(shape);
  if (words.size() > 0) {
    config[digest_key] = words.digest();
    auto const file = std::filesystem::is_directory(path) ? path / vocabulary_name : path;
    apps::write_text(folder / vocabulary_name, apps::read_text(file.string()));
  }
  apps::write_text(folder / config_name, config.dump(2) + "\n");
  // A file of another run is replaced, as the other two are.
  std::filesystem::remove(folder / weights_name);
  apps::save_tensors(folder / weights_name, tensors_of(shape), weights);
}
