// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/parameters.hpp>
#include <tacit/zo/run_record.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// A model as a folder, as Hugging Face's `save_pretrained` writes one: config.json and model.safetensors. A
/// vocab.txt beside them, a word a line, is the tokenizer. Knows no torch.

inline constexpr char const* config_name = "config.json";
inline constexpr char const* weights_name = "model.safetensors";
inline constexpr char const* vocabulary_name = "vocab.txt";
inline constexpr std::array file_names{config_name, weights_name, vocabulary_name};

/// The sizes of an OPT decoder.
struct opt_shape {
  std::int64_t vocabulary = 0;
  std::int64_t width = 128;
  std::int64_t layers = 2;
  std::int64_t heads = 4;
  std::int64_t inner = 512;     ///< of the feed-forward part
  std::int64_t positions = 64;  ///< the longest text
  tacit::element_type type = tacit::element_type::f32;
};

/// What OPT adds to a position before it looks it up.
inline constexpr std::int64_t position_offset = 2;

/// The token at the beginning of a text.
inline constexpr std::int64_t begin_token = 2;

/// The tensors of the decoder by their names at Hugging Face. The head is that of the embedding.
std::vector<tacit::recorded_tensor> tensors_of(opt_shape const& shape);

/// Words, whose number is their line. Without a vocabulary texts are numbers of tokens already.
class word_tokenizer {
 public:
  /// @throws std::runtime_error for a file with no line, or with a line twice
  static word_tokenizer read(std::filesystem::path const& file);

  /// 0 without a vocabulary.
  [[nodiscard]] std::size_t size() const noexcept { return numbers_.size(); }

  /// A digest of the words (FNV-1a): equal where the vocabularies are.
  [[nodiscard]] std::string digest() const;

  /// The tokens of words between spaces.
  /// @throws std::runtime_error naming a word that is none of them, or no number below `vocabulary`
  [[nodiscard]] std::vector<std::int64_t> tokens(std::string_view text,
                                                 std::int64_t vocabulary) const;

 private:
  std::map<std::string, std::int64_t, std::less<>> numbers_;
};

struct model_folder {
  std::filesystem::path path;  ///< of a new model: its vocabulary's
  opt_shape shape;
  word_tokenizer words;

  /// @throws std::runtime_error for a model of another architecture, one that is too large for the memory of this
  ///         machine, or a vocabulary that is not the model's
  static model_folder open(std::filesystem::path const& path);

  /// The weights, into memory that is laid out as `tensors_of`.
  /// @throws std::runtime_error naming a tensor that is missing, or of another type or shape
  void load(tacit::parameters const& into) const;

  /// The same model with these weights in another folder, which is made.
  void write(std::filesystem::path const& folder, tacit::parameters const& weights) const;

  /// A new model for this vocabulary: without weights yet.
  static model_folder make(opt_shape shape, std::filesystem::path const& vocabulary);
};
