// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/parameters.hpp>
#include <tacit/zo/transcript.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace apps {

struct stored_tensor {
  std::string name;
  std::string type;  // as the file says it: F32, BF16, I64, …
  std::vector<std::uint64_t> shape;
  std::size_t begin = 0;  // in the data
  std::size_t end = 0;
};

/// A safetensors file in memory: a length in 8 bytes, a JSON header, the tensors' bytes.
///
/// What a file says is believed only after it was checked: the header's length against the file's, every
/// range against the data, its size against type and shape; ranges may not overlap, nor leave a hole.
/// Tensors of types that nothing here computes with are carried along untouched.
class tensor_file {
 public:
  /// @throws std::runtime_error naming the file and its defect
  static tensor_file read(std::filesystem::path const& file);

  /// Zeros, laid out in the one order that `save_tensors` writes: large element types first, then by
  /// name. @throws std::runtime_error for a name given twice
  explicit tensor_file(std::vector<tacit::recorded_tensor> const& tensors);

  /// In the order of their bytes.
  std::vector<stored_tensor> const& tensors() const { return tensors_; }

  /// The parameters of a run, in its order, as views of this file's bytes.
  /// @throws std::runtime_error naming a tensor that is not here, or of another type or shape
  tacit::parameters select(std::vector<tacit::recorded_tensor> const& wanted);

  /// Makes `file`, whole and on disk. One that has the same bytes already is left as it is.
  /// @throws std::runtime_error naming the file, also if there is another: it stays as it was
  void write(std::filesystem::path const& file) const;

 private:
  tensor_file() = default;
  bool is_in(std::filesystem::path const& file) const;
  std::span<std::byte> data() { return {data_.get(), size_}; }

  std::string header_;  // with its padding, without its length
  std::vector<stored_tensor> tensors_;
  std::unique_ptr<std::byte[]> data_;
  std::size_t size_ = 0;
};

/// Writes a model into a new file: `tensors` says the shapes, `theta` has the numbers.
/// @throws std::runtime_error naming the file
void save_tensors(std::filesystem::path const& file,
                  std::vector<tacit::recorded_tensor> const& tensors,
                  tacit::parameters const& theta);

}  // namespace apps
