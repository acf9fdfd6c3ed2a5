// SPDX-License-Identifier: Apache-2.0
#include "safetensors/safetensors.hpp"
#include "support/catch.hpp"
#include "support/directory.hpp"

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

using apps::save_tensors;
using apps::tensor_file;
using tacit::element_type;
using tacit::recorded_tensor;

std::string bytes_of(std::filesystem::path const& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string length(std::uint64_t n) {
  std::string text;
  for (unsigned j = 0; j < 64; j += 8) text.push_back(static_cast<char>(n >> j));
  return text;
}

class files {
 public:
  tensor_file with(std::string const& header, std::string const& data) const {
    return raw(length(header.size()) + header + data);
  }
  tensor_file raw(std::string const& bytes) const {
    std::ofstream(folder_ / "t", std::ios::binary | std::ios::trunc) << bytes;
    return tensor_file::read(folder_ / "t");
  }
  /// Why a file is refused; "" if it is not.
  std::string defect(std::string const& header, std::string const& data) const {
    return defect_raw(length(header.size()) + header + data);
  }
  std::string defect_raw(std::string const& bytes) const {
    try {
      (void)raw(bytes);
      return "";
    } catch (std::runtime_error const& error) {
      return error.what();
    }
  }
  std::filesystem::path operator/(std::string const& name) const { return folder_ / name; }

 private:
  support::directory folder_;
};

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

std::string const plain = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

}  // namespace

TEST_CASE("A written model is the file that the format describes", "[safetensors]") {
  files const folder;
  std::vector<float> w{1.0F, -0.0F, 3.5F, 4.0F, 5.0F, 6.0F};
  std::vector<tacit::half> h{{0x3C00}, {0xBC00}, {1}};
  std::vector<tacit::bfloat16> b{{0x3F80}};
  // In the order of the run, which is not that of the file.
  std::vector<recorded_tensor> const tensors{{"half", element_type::f16, {3}},
                                             {"a \"b\"", element_type::bf16, {}},
                                             {"w", element_type::f32, {2, 3}},
                                             {"none", element_type::f32, {0, 7}}};
  std::vector<float> none;
  tacit::parameters const theta(
      std::vector<tacit::tensor>{{.entries = std::span(h), .name = "half"},
                                 {.entries = std::span(b), .name = "a \"b\""},
                                 {.entries = std::span(w), .name = "w"},
                                 {.entries = std::span(none), .name = "none"}});
  save_tensors(folder / "m", tensors, theta);
  std::string const header = R"({"none":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]},)"
                             R"("w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                             R"("a \"b\"":{"dtype":"BF16","shape":[],"data_offsets":[24,26]},)"
                             R"("half":{"dtype":"F16","shape":[3],"data_offsets":[26,32]}})";
  std::string padded = header;
  while (padded.size() % 8 != 0) padded.push_back(' ');
  std::string data;
  for (std::uint32_t const bits :
       {0x3F800000U, 0x80000000U, 0x40600000U, 0x40800000U, 0x40A00000U, 0x40C00000U}) {
    for (unsigned j = 0; j < 32; j += 8) data.push_back(static_cast<char>(bits >> j));
  }
  for (unsigned const bits : {0x3F80U, 0x3C00U, 0xBC00U, 1U}) {
    data.push_back(static_cast<char>(bits));
    data.push_back(static_cast<char>(bits >> 8));
  }
  CHECK(bytes_of(folder / "m") == length(padded.size()) + padded + data);

  tensor_file again = tensor_file::read(folder / "m");
  tacit::parameters const back = again.select(tensors);
  CHECK(hash_of(back) == hash_of(theta));
  CHECK(again.tensors().size() == 4);
  std::get<std::span<float>>(back.all()[2].entries)[0] = 2.0F;
  again.write(folder / "n");
  std::string changed = bytes_of(folder / "m");
  changed[8 + padded.size() + 3] = 0x40;
  changed[8 + padded.size() + 2] = 0;
  CHECK(bytes_of(folder / "n") == changed);
  CHECK_FALSE(std::filesystem::exists(folder / "n.new"));
}

TEST_CASE("What is not trained is carried along, and a header kept as it was", "[safetensors]") {
  files const folder;
  std::string const header = R"( {"x":{"shape":[3], "dtype":"I8","data_offsets":[ 0,3]},)"
                             R"("__metadata__":{"format":"pt","note":"\u00e9"},)"
                             R"("q":{"dtype":"F4","shape":[1,2],"data_offsets":[11,12]},)"
                             R"("y":{"dtype":"F32","shape":[2],"data_offsets":[3,11]}}     )";
  std::string const file = length(header.size() - 1) + header.substr(1) + "abc12345678Z";
  tensor_file model = folder.raw(file);
  REQUIRE(model.tensors().size() == 3);
  CHECK(model.tensors()[1].name == "y");  // by place
  model.write(folder / "copy");
  CHECK(bytes_of(folder / "copy") == file);
  // y begins where no float may.
  std::string why;
  try {
    (void)model.select({{"y", element_type::f32, {2}}});
  } catch (std::runtime_error const& error) {
    why = error.what();
  }
  CHECK(has(why, "byte 3"));
  CHECK(has(why, "multiple of 4"));
}

TEST_CASE("Tensors are found by name, type and shape", "[safetensors]") {
  files const folder;
  tensor_file model = folder.with(plain, "12345678");
  CHECK(model.select({{"a", element_type::f32, {2}}}).size() == 2);
  for (recorded_tensor const& other :
       {recorded_tensor{"b", element_type::f32, {2}}, recorded_tensor{"a", element_type::f16, {2}},
        recorded_tensor{"a", element_type::f32, {2, 1}},
        recorded_tensor{"a", element_type::f32, {}}}) {
    CHECK_THROWS_AS(model.select({other}), std::runtime_error);
  }
  CHECK_THROWS_AS(model.select({{"a", element_type::f32, {2}}, {"a", element_type::f32, {2}}}),
                  std::runtime_error);
  CHECK_THROWS_AS(tensor_file({{"a", element_type::f32, {2}}, {"a", element_type::f32, {2}}}),
                  std::runtime_error);
  CHECK_THROWS_AS(tensor_file({{"__metadata__", element_type::f32, {2}}}), std::runtime_error);
}

TEST_CASE("A hostile file is refused with what is wrong", "[safetensors]") {
  files const folder;
  std::string const data = "12345678";
  REQUIRE(folder.defect(plain, data).empty());
  REQUIRE(folder.defect("{}", "").empty());

  std::string const whole = length(plain.size()) + plain + data;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(folder.defect_raw(whole.substr(0, size)).empty());
  }
  CHECK(has(folder.defect(plain, data + "9"), "1 bytes follow"));
  for (std::uint64_t const n :
       {std::uint64_t{63}, std::uint64_t{100'000'001}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    CHECK(has(folder.defect_raw(length(n) + plain + data), "must have at most"));
  }

  auto const tensor = [&](std::string const& fields) { return "{\"a\":{" + fields + "}}"; };
  for (auto const& [header, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "no {"},
           {" " + plain, "no {"},
           {"[" + plain + "]", "no {"},
           {plain + "x", "no JSON"},
           {plain + "{}", "no JSON"},
           {plain.substr(0, plain.size() - 1), "no JSON"},
           {"{\"\xFF\":1}", "no JSON"},
           {R"({"a":1})", "is no object"},
           {R"({"a":null})", "is no object"},
           {R"({"a":[]})", "is no object"},
           {R"({"a":{}})", "must have dtype"},
           {R"({"a":{"b":{}}})", "too deep"},
           {R"({"a":{"b":[[]]}})", "too deep"},
           {R"({"__metadata__":{"n":1}})", "no text"},
           {R"({"__metadata__":{"n":["x"]}})", "no text"},
           {R"({"__metadata__":7})", "is no object"},
           {R"({"__metadata__":{},"__metadata__":{}})", "given twice"},
           {plain.substr(0, plain.size() - 1) + "," + plain.substr(1), "given twice"},
           {tensor(R"("dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8])"), "twice"},
           {tensor(R"("dtype":"F32","shape":[2])"), "must have dtype"},
           {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1)"), "nothing else"},
           {tensor(R"("dtype":32,"shape":[2],"data_offsets":[0,8])"), "no text"},
           {tensor(R"("dtype":"F33","shape":[2],"data_offsets":[0,8])"), "unknown type"},
           {tensor(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), "no list"},
           {tensor(R"("dtype":"F32","shape":["2"],"data_offsets":[0,8])"), "no count"},
           {tensor(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), "no count"},
           {tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), "no count"},
           {tensor(R"("dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,8])"),
            "no count"},
           {tensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), "needs 12"},
           {tensor(R"("dtype":"F32","shape":[],"data_offsets":[0,8])"), "needs 4"},
           {tensor(R"("dtype":"F32","shape":[2,0],"data_offsets":[0,8])"), "needs 0"},
           {tensor(R"("dtype":"F4","shape":[17],"data_offsets":[0,8])"), "needs 8 and a part"},
           {tensor(R"("dtype":"F32","shape":[4611686018427387906],"data_offsets":[0,8])"),
            "larger than any file"},
           {tensor(R"("dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,8])"),
            "larger than any file"},
           {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), "no two numbers"},
           {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,8])"), "no two numbers"},
           {tensor(R"("dtype":"F32","shape":[2],"data_offsets":{"0":0,"1":8})"), "too deep"},
           {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[-1,7])"), "no count"},
           {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), "within the 8 bytes"},
           {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[4,12])"), "within the 8 bytes"},
           {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[18446744073709551608,0])"),
            "within the 8 bytes"},
           {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), "hole"},
           {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), "4 bytes follow"},
           {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
            R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
            "overlaps"},
           {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
            R"("b":{"dtype":"I8","shape":[3],"data_offsets":[5,8]}})",
            "hole"},
       }) {
    CAPTURE(header, why);
    std::string const defect = folder.defect(header, data);
    CAPTURE(defect);
    CHECK(has(defect, why));
  }

  // Long or deep, and still answered at once.
  CHECK(has(folder.defect(std::string(1000000, '['), data), "no {"));
  CHECK(has(folder.defect("{\"a\":" + std::string(1000000, '['), data), "is no object"));
  CHECK(has(folder.defect("{\"a\":{\"b\":" + std::string(1000000, '['), data), "too deep"));
  std::string ones = "1";
  for (int i = 0; i < 100; ++i) ones += ",1";
  CHECK(has(folder.defect(
                tensor("\"dtype\":\"I8\",\"shape\":[" + ones + "],\"data_offsets\":[0,8]"), data),
            "more than 64"));
  std::string many = "{";
  for (int i = 0; i < 20000; ++i) {
    many += '"' + std::to_string(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)";
  }
  CHECK(folder.raw(length(many.size()) + many.substr(0, many.size() - 1) + "}").tensors().size() ==
        20000);
  // Twenty times their size, each of them, if they were kept.
  std::string metadata = "{\"__metadata__\":{\"\":\"\"";
  std::string fields = "{\"a\":{\"\":0";
  for (int i = 0; i < 200000; ++i) {
    metadata += ",\"" + std::to_string(i) + "\":\"\"";
    fields += ",\"" + std::to_string(i) + "\":0";
  }
  CHECK(has(folder.defect(metadata + "}}", ""), "more than 100000 entries"));
  CHECK(has(folder.defect(fields + "}}", ""), "nothing else"));
  std::string const name(10000, 'n');
  CHECK(folder.defect("{\"" + name + "\":1}", data).size() < 300);

  CHECK_THROWS_AS(tensor_file::read(folder / "nowhere"), std::runtime_error);
  CHECK_THROWS_AS(tensor_file::read((folder / "t").parent_path()), std::runtime_error);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_AS(tensor_file::read(folder / "pipe"), std::runtime_error);  // without waiting
  CHECK_THROWS_AS(folder.with(plain, data).write(folder / "no" / "where"), std::runtime_error);
}
