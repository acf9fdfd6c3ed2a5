// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/parameters.hpp>
#include <tacit/zo/storage.hpp>

#include <fcntl.h>
#include <fnmatch.h>
#include <ggml-cpp.h>
#include <gguf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

/// GGUF files, their tensors as tacit has parameters, and copies of a file with other numbers.

/// A view of a ggml tensor as tacit has it.
/// @throws std::runtime_error for a type that is trained by nobody here
inline tacit::tensor view_of(ggml_tensor* one) {
  auto const entries = static_cast<std::size_t>(ggml_nelements(one));
  auto const as = [&]<class T>(T*) { return std::span<T>(static_cast<T*>(one->data), entries); };
  switch (one->type) {
    case GGML_TYPE_F32:
      return {.entries = as(static_cast<float*>(nullptr)), .name = one->name};
    case GGML_TYPE_F16:
      return {.entries = as(static_cast<tacit::half*>(nullptr)), .name = one->name};
    case GGML_TYPE_BF16:
      return {.entries = as(static_cast<tacit::bfloat16*>(nullptr)), .name = one->name};
    default:
      throw std::runtime_error("tensor " + std::string(one->name) + " is stored as " +
                               ggml_type_name(one->type) + ", but must be f32, f16 or bf16");
  }
}

/// @throws as `view_of`
inline tacit::parameters parameters_of(std::span<ggml_tensor* const> tensors) {
  std::vector<tacit::tensor> views;
  for (ggml_tensor* const one : tensors) views.push_back(view_of(one));
  return tacit::parameters(std::move(views));
}

/// A file as memory that may be changed: the file is not, and a page that nobody asks for takes no memory.
class private_mapping {
 public:
  explicit private_mapping(std::string const& file)
      : size_(static_cast<std::size_t>(std::filesystem::file_size(file))) {
    int const opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (opened >= 0)
      bytes_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, opened, 0);
    std::error_code const reason(errno, std::generic_category());
    if (opened >= 0) ::close(opened);
    if (bytes_ == MAP_FAILED) {
      throw std::runtime_error("cannot read " + file + ": " + reason.message());
    }
  }
  private_mapping(private_mapping const&) = delete;
  private_mapping& operator=(private_mapping const&) = delete;
  ~private_mapping() { ::munmap(bytes_, size_); }

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(bytes_); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::size_t size_;
  void* bytes_ = MAP_FAILED;
};

/// What a GGUF file says of itself, and its tensors. Their numbers may be changed; the file stays as it is.
class gguf_file {
 public:
  /// @throws std::runtime_error for a file that cannot be read, or is none of these
  explicit gguf_file(std::string const& file)
      : file_(file), header_(header_of(file, tensors_)), bytes_(file) {
    for (ggml_tensor* one = ggml_get_first_tensor(tensors_.get()); one != nullptr;
         one = ggml_get_next_tensor(tensors_.get(), one)) {
      std::size_t const at = place_of(one);
      if (at > bytes_.size() || ggml_nbytes(one) > bytes_.size() - at) {
        throw std::runtime_error(file + " ends before tensor " + one->name + " does");
      }
      one->data = bytes_.data() + at;
      all_.push_back(one);
    }
  }

  /// A text of the header; empty if there is none.
  [[nodiscard]] std::string text(char const* key) const {
    std::int64_t const at = gguf_find_key(header_.get(), key);
    bool const is_text = at >= 0 && gguf_get_kv_type(header_.get(), at) == GGUF_TYPE_STRING;
    return is_text ? gguf_get_val_str(header_.get(), at) : "";
  }
  [[nodiscard]] bool has(char const* key) const { return gguf_find_key(header_.get(), key) >= 0; }

  [[nodiscard]] std::span<ggml_tensor* const> tensors() const noexcept { return all_; }

  /// Those with a name like this pattern of the shell, in the order of the file.
  /// @throws std::runtime_error if there are none
  [[nodiscard]] std::vector<ggml_tensor*> tensors_like(std::string const& pattern) const {
    std::vector<ggml_tensor*> out;
    for (ggml_tensor* const one : all_) {
      if (::fnmatch(pattern.c_str(), one->name, 0) == 0) out.push_back(one);
    }
    if (out.empty()) throw std::runtime_error(file_ + " has no tensor with a name like " + pattern);
    return out;
  }

  /// @throws std::runtime_error if there is none
  [[nodiscard]] ggml_tensor* tensor(std::string const& name) const {
    for (ggml_tensor* const one : all_) {
      if (name == one->name) return one;
    }
    throw std::runtime_error(file_ + " has no tensor " + name);
  }

  /// The same file with the numbers that these tensors have now, which are as many as those of their names here.
  /// Either the whole file gets its name or nothing does.
  /// @throws std::runtime_error if it cannot be written
  void write(std::string const& file, std::span<ggml_tensor* const> numbers) const {
    std::filesystem::path const beside = file + ".new";
    try {
      std::filesystem::remove(beside);
      std::filesystem::copy_file(file_, beside);
      std::filesystem::permissions(beside, std::filesystem::perms::owner_write,
                                   std::filesystem::perm_options::add);
      overwrite(beside, numbers);
      std::filesystem::rename(beside, file);
    } catch (std::exception const& error) {
      std::error_code ignored;
      std::filesystem::remove(beside, ignored);
      throw std::runtime_error("cannot write " + file + ": " + error.what());
    }
  }

 private:
  static gguf_context* header_of(std::string const& file, ggml_context_ptr& tensors) {
    ggml_context* made = nullptr;
    gguf_context* const header =
        gguf_init_from_file(file.c_str(), {.no_alloc = true, .ctx = &made});
    tensors.reset(made);
    if (header == nullptr) {
      throw std::runtime_error("cannot read " + file + ", or it is no GGUF file");
    }
    return header;
  }

  // In the file, in bytes.
  [[nodiscard]] std::size_t place_of(ggml_tensor const* one) const {
    std::int64_t const number = gguf_find_tensor(header_.get(), one->name);
    return gguf_get_data_offset(header_.get()) + gguf_get_tensor_offset(header_.get(), number);
  }

  void overwrite(std::filesystem::path const& file, std::span<ggml_tensor* const> numbers) const {
    int const opened = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    bool well = opened >= 0;
    for (ggml_tensor const* const one : numbers) {
      auto const* const from = static_cast<std::byte const*>(one->data);
      std::size_t const size = ggml_nbytes(one);
      for (std::size_t done = 0; well && done < size;) {
        ssize_t const count =
            ::pwrite(opened, from + done, size - done, static_cast<off_t>(place_of(one) + done));
        well = count > 0;
        if (well) done += static_cast<std::size_t>(count);
      }
    }
    well = well && ::fsync(opened) == 0;
    std::error_code const reason(errno, std::generic_category());
    if (opened >= 0) ::close(opened);
    if (!well) throw std::system_error(reason);
  }

  std::string file_;
  ggml_context_ptr tensors_;
  gguf_context_ptr header_;
  private_mapping bytes_;
  std::vector<ggml_tensor*> all_;
};
