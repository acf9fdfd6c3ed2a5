// SPDX-License-Identifier: Apache-2.0
#include "safetensors/safetensors.hpp"

#include <tacit/core/private_file.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

namespace apps {

static_assert(std::endian::native == std::endian::little, "the bytes of a file are used in place");

namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using event = json::parse_event_t;

constexpr std::uint64_t longest_header = 100'000'000;  // the format's own limit
constexpr std::size_t most_dimensions = 64;
constexpr std::size_t most_metadata = 100'000;  // entries
constexpr std::size_t shortest_tensor = 50;     // characters of a header

struct known_type {
  std::string_view name;
  unsigned bits;
};

constexpr std::array<known_type, 20> types{
    {{"F64", 64},    {"I64", 64},    {"U64", 64},    {"C64", 64},    {"F32", 32},
     {"I32", 32},    {"U32", 32},    {"F16", 16},    {"BF16", 16},   {"I16", 16},
     {"U16", 16},    {"I8", 8},      {"U8", 8},      {"BOOL", 8},    {"F8_E4M3", 8},
     {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4}}};

// One line, not too long, whatever a file calls its tensors.
std::string shown(std::string name) {
  if (name.size() > 60) name = name.substr(0, 57) + "...";
  return tacit::detail::to_word(name);
}

std::string shown(std::vector<std::uint64_t> const& shape) {
  std::string text = "[";
  for (std::uint64_t const n : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  return text + "]";
}

class header_reader {
 public:
  header_reader(std::filesystem::path const& file, std::uint64_t data) : file_(file), data_(data) {}

  std::vector<stored_tensor> read(std::string const& header) {
    if (header.empty() || header.front() != '{') fail("the header begins with no {");
    // Every tensor's object is checked when it closes, and an entry of the metadata when it comes, and
    // then let go: memory stays in proportion to the header, whatever is in it.
    tensors_.reserve(header.size() / shortest_tensor);
    auto const watch = [this](int depth, event what, json& value) {
      return seen(depth, what, value);
    };
    try {
      if (!json::parse(header, watch).empty()) fail("the header has what is no tensor");
    } catch (json::exception const& error) {
      fail(std::string("the header is no JSON: ") + error.what());
    }
    check_names();
    check_layout();
    return std::move(tensors_);
  }

 private:
  [[noreturn]] void fail(std::string const& what) const {
    throw std::runtime_error(file_.string() + ": " + what);
  }
  [[noreturn]] void fail_tensor(std::string const& what) const {
    fail("tensor " + shown(name_) + " " + what);
  }

  bool seen(int depth, event what, json& parsed) {
    bool const deep =
        (what == event::object_start && depth > 1) || (what == event::array_start && depth > 2);
    if (deep) fail("the header is nested too deep");
    if (depth == 1 && (what == event::array_start || what == event::value))
      fail_tensor("is no object");
    if (what == event::key) {
      auto const text = parsed.get<std::string>();
      if (depth == 1) {
        name_ = text;
        fields_.clear();
        more_ = false;
        if (in_metadata() && std::exchange(metadata_seen_, true)) fail_tensor("is given twice");
        return true;
      }
      field_ = text;
      bool const known = text == "dtype" || text == "shape" || text == "data_offsets";
      more_ = more_ || !known;
      if (!known && !in_metadata()) return false;
      if (!fields_.insert(text).second) fail_tensor("has " + shown(text) + " twice");
      if (fields_.size() > most_metadata) {
        fail_tensor("has more than " + std::to_string(most_metadata) + " entries");
      }
      return !in_metadata();
    }
    bool const is_text = what == event::value && parsed.is_string();
    if (in_metadata() && depth == 2 && !is_text &&
        (what == event::value || what == event::array_start)) {
      fail("__metadata__ has " + shown(field_) + ", no text");
    }
    if (what == event::array_start) entries_ = 0;
    if (what == event::value && depth > 2 && ++entries_ > most_dimensions) {
      fail_tensor("has a list of more than " + std::to_string(most_dimensions) + " entries");
    }
    if (what != event::object_end || depth != 1) return true;
    if (!in_metadata()) add(parsed);
    return false;
  }

  bool in_metadata() const { return name_ == "__metadata__"; }

  std::uint64_t whole(json const& value, char const* what) const {
    if (!value.is_number_unsigned())
      fail_tensor(std::string("has a ") + what + " that is no count");
    return value.get<std::uint64_t>();
  }

  void add(json const& value) {
    if (more_ || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets")) {
      fail_tensor("must have dtype, shape and data_offsets, and nothing else");
    }
    stored_tensor one;
    one.name = name_;
    if (!value["dtype"].is_string()) fail_tensor("has a dtype that is no text");
    one.type = value["dtype"].get<std::string>();
    auto const type = std::find_if(types.begin(), types.end(),
                                   [&](known_type const& t) { return t.name == one.type; });
    if (type == types.end()) fail_tensor("is of the unknown type " + shown(one.type));

    if (!value["shape"].is_array()) fail_tensor("has a shape that is no list");
    std::uint64_t bits = type->bits;
    bool empty = false;
    one.shape.reserve(value["shape"].size());
    for (json const& size : value["shape"]) {
      one.shape.push_back(whole(size, "dimension"));
      empty = empty || one.shape.back() == 0;
    }
    for (std::uint64_t const size : one.shape) {
      if (empty) break;
      if (bits > std::numeric_limits<std::uint64_t>::max() / size) {
        fail_tensor("of shape " + shown(one.shape) + " is larger than any file");
      }
      bits *= size;
    }
    if (empty) bits = 0;

    json const& offsets = value["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2) {
      fail_tensor("has data_offsets that are no two numbers");
    }
    std::uint64_t const begin = whole(offsets[0], "data_offset");
    std::uint64_t const end = whole(offsets[1], "data_offset");
    if (begin > end || end > data_) {
      fail_tensor("is at " + std::to_string(begin) + " to " + std::to_string(end) +
                  ", but must be within the " + std::to_string(data_) + " bytes of data");
    }
    if (bits % 8 != 0 || bits / 8 != end - begin) {
      fail_tensor("has " + std::to_string(end - begin) + " bytes, but " + one.type + " of shape " +
                  shown(one.shape) + " needs " + std::to_string(bits / 8) +
                  (bits % 8 != 0 ? " and a part" : ""));
    }
    one.begin = static_cast<std::size_t>(begin);
    one.end = static_cast<std::size_t>(end);
    tensors_.push_back(std::move(one));
  }

  void check_names() {
    std::vector<std::string_view> names;
    names.reserve(tensors_.size());
    for (stored_tensor const& one : tensors_) names.push_back(one.name);
    std::sort(names.begin(), names.end());
    auto const twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return;
    name_ = *twice;
    fail_tensor("is given twice");
  }

  void check_layout() {
    std::sort(tensors_.begin(), tensors_.end(), [](auto const& a, auto const& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::size_t next = 0;
    for (stored_tensor const& one : tensors_) {
      name_ = one.name;
      if (one.begin < next) fail_tensor("overlaps another");
      if (one.begin > next) fail_tensor("leaves a hole before it");
      next = one.end;
    }
    if (next != data_) {
      fail(std::to_string(data_ - next) + " bytes follow the last tensor");
    }
  }

  std::filesystem::path file_;
  std::uint64_t data_;
  std::vector<stored_tensor> tensors_;
  bool metadata_seen_ = false;
  std::string name_;              // of the tensor, or of the metadata
  std::set<std::string> fields_;  // of it, so far
  std::string field_;             // the last one
  bool more_ = false;             // than a tensor has
  std::size_t entries_ = 0;
};

}  // namespace

tensor_file tensor_file::read(std::filesystem::path const& file) {
  auto const fail = [&](std::string const& what) {
    throw std::runtime_error(file.string() + ": " + what);
  };
  tacit::input_file in(file, std::numeric_limits<std::uint64_t>::max(), "safetensors");
  auto const fill = [&](void* to, std::size_t size) {
    for (auto* at = static_cast<char*>(to); size > 0;) {
      std::size_t const count = in.read(at, size);
      if (count == 0) fail("ends too early");  // it was cut meanwhile
      at += count;
      size -= count;
    }
  };
  std::array<unsigned char, 8> prefix{};
  if (in.left() < prefix.size()) fail("is shorter than the 8 bytes of a header's length");
  fill(prefix.data(), prefix.size());
  std::uint64_t header = 0;
  for (std::size_t i = 0; i < prefix.size(); ++i) header |= std::uint64_t{prefix[i]} << (8 * i);
  if (header > longest_header || header > in.left()) {
    fail("the header has " + std::to_string(header) + " bytes, but must have at most " +
         std::to_string(std::min(longest_header, in.left())));
  }
  tensor_file out;
  out.header_.resize(static_cast<std::size_t>(header));
  fill(out.header_.data(), out.header_.size());
  out.size_ = static_cast<std::size_t>(in.left());
  out.tensors_ = header_reader(file, out.size_).read(out.header_);
  out.data_ = std::make_unique_for_overwrite<std::byte[]>(out.size_);
  fill(out.data_.get(), out.size_);
  return out;
}

tensor_file::tensor_file(std::vector<tacit::recorded_tensor> const& tensors) {
  std::vector<tacit::recorded_tensor> sorted = tensors;
  auto const width = [](tacit::element_type type) {
    return type == tacit::element_type::f32 ? std::size_t{4} : std::size_t{2};
  };
  std::sort(sorted.begin(), sorted.end(), [&](auto const& a, auto const& b) {
    return std::tuple(width(b.type), std::string_view(a.name)) <
           std::tuple(width(a.type), std::string_view(b.name));
  });
  ordered_json header = ordered_json::object();
  for (tacit::recorded_tensor const& one : sorted) {
    std::size_t const bytes = tacit::detail::entries_of("save_tensors", one) * width(one.type);
    tensors_.push_back({one.name, std::string(name_of(one.type)), one.shape, size_, size_ + bytes});
    if (header.contains(one.name) || one.name == "__metadata__") {
      throw std::runtime_error("save_tensors: the name of a tensor is " + shown(one.name) +
                               ", but must be its own, and not that of the metadata");
    }
    header[one.name] = {{"dtype", name_of(one.type)},
                        {"shape", one.shape},
                        {"data_offsets", {size_, size_ + bytes}}};
    size_ += bytes;
  }
  header_ = header.dump();
  header_.resize((header_.size() + 7) / 8 * 8, ' ');  // the data is aligned in a mapped file
  data_ = std::make_unique<std::byte[]>(size_);
}

tacit::parameters tensor_file::select(std::vector<tacit::recorded_tensor> const& wanted) {
  std::map<std::string_view, stored_tensor const*> named;
  for (stored_tensor const& one : tensors_) named[one.name] = &one;
  std::vector<tacit::tensor> views;
  for (tacit::recorded_tensor const& want : wanted) {
    auto const found = named.find(want.name);
    auto const fail = [&](std::string const& what) {
      throw std::runtime_error("tensor " + shown(want.name) + " " + what);
    };
    if (found == named.end()) fail("is missing, or wanted twice");
    stored_tensor const& one = *found->second;
    named.erase(found);  // no two views of one tensor
    if (one.type != name_of(want.type) || one.shape != want.shape) {
      fail("is " + one.type + " of shape " + shown(one.shape) + ", but must be " +
           std::string(name_of(want.type)) + " of shape " + shown(want.shape));
    }
    auto const view = [&]<class T>(T* at) {
      if (one.begin % sizeof(T) != 0) {
        fail("begins at byte " + std::to_string(one.begin) +
             " of the data, but must at a multiple of " + std::to_string(sizeof(T)));
      }
      return tacit::tensor{.entries = std::span<T>(at, (one.end - one.begin) / sizeof(T)),
                           .name = one.name};
    };
    std::byte* const at = data_.get() + one.begin;
    views.push_back(want.type == tacit::element_type::f32 ? view(reinterpret_cast<float*>(at))
                    : want.type == tacit::element_type::f16
                        ? view(reinterpret_cast<tacit::half*>(at))
                        : view(reinterpret_cast<tacit::bfloat16*>(at)));
  }
  return tacit::parameters(std::move(views));
}

bool tensor_file::is_in(std::filesystem::path const& file) const {
  if (std::filesystem::file_size(file) != 8 + header_.size() + size_) return false;
  tensor_file const there = read(file);
  return there.header_ == header_ &&
         (size_ == 0 || std::memcmp(there.data_.get(), data_.get(), size_) == 0);
}

void tensor_file::write(std::filesystem::path const& file) const {
  std::array<char, 8> prefix{};
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    prefix[i] = static_cast<char>(std::uint64_t{header_.size()} >> (8 * i));
  }
  if (std::filesystem::is_regular_file(file) && is_in(file)) return;
  tacit::output_file out(file, tacit::readers::all, "safetensors");
  out.write({prefix.data(), prefix.size()});
  out.write(header_);
  out.write({reinterpret_cast<char const*>(data_.get()), size_});
  out.place();
}

void save_tensors(std::filesystem::path const& file,
                  std::vector<tacit::recorded_tensor> const& tensors,
                  tacit::parameters const& theta) {
  tensor_file out(tensors);
  tacit::parameters const places = out.select(tensors);
  for (std::size_t i = 0; i < places.all().size(); ++i) {
    std::visit(
        [&]<class T>(std::span<T> to) {
          auto const* from = std::get_if<std::span<T>>(&theta.all()[i].entries);
          if (from == nullptr || from->size() != to.size()) {
            throw std::runtime_error("save_tensors: tensor " + shown(tensors[i].name) +
                                     " is not of the type and size that are its own");
          }
          std::copy(from->begin(), from->end(), to.begin());
        },
        places.all()[i].entries);
  }
  out.write(file);
}

}  // namespace apps
