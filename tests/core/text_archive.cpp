// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/text_archive.hpp>

#include "support/catch.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using tacit::archive_reader;
using tacit::archive_writer;
using tacit::corrupt_state;

std::string small_archive() {
  archive_writer out("sample", 3);
  out.field("count", std::size_t{42}).field("pair", -1.5, std::string("word"));
  out.list("weights", std::vector<double>{0.25, 1e-300, -0.0});
  return std::move(out).finish();
}

/// Reads all of `small_archive`; throws what the reader throws.
void read_all(std::string text) {
  archive_reader in(std::move(text), "sample", 3);
  std::size_t count = 0;
  double number = 0.0;
  std::string word;
  std::vector<double> weights;
  in.field("count", count);
  in.field("pair", number, word);
  in.list("weights", weights);
  in.finish();
}

/// A text that was tampered with and sealed anew.
std::string sealed(std::string const& body) {
  return body + "checksum " + std::to_string(tacit::detail::checksum(body)) + "\n";
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

TEST_CASE("a list that may be left out, and lists of lists", "[archive]") {
  using lists = std::vector<std::vector<std::size_t>>;
  for (lists const& written : {lists{}, lists{{1, 2}, {}, {7}}, lists{{}}}) {
    archive_writer out("sample", 1);
    out.optional_list("lists", written).optional_list("numbers", std::vector<double>{});
    out.field("last", 5);
    std::string const text = std::move(out).finish();
    CHECK((text.find("lists") == std::string::npos) == written.empty());
    CHECK(text.find("numbers") == std::string::npos);
    archive_reader in(text, "sample", 1);
    lists read{{3}};
    std::vector<double> numbers{1.0};
    int last = 0;
    in.optional_list("lists", read);
    in.optional_list("numbers", numbers);
    in.field("last", last);
    in.finish();
    CHECK(read == written);
    CHECK(numbers.empty());
    CHECK(last == 5);
  }
  for (char const* bad :
       {"lists 2 1 5", "lists 1 2 5", "lists 1 1 5 6", "lists 9", "lists -1", "lists",
        "lists 1 18446744073709551615 1", "lists 1 1 x", "listsx 1 1 5"}) {
    CAPTURE(bad);
    archive_reader in(sealed("sample 1\n" + std::string(bad) + "\nlast 5\n"), "sample", 1);
    lists read;
    int last = 0;
    CHECK_THROWS_AS((in.optional_list("lists", read), in.field("last", last)), corrupt_state);
  }
}

TEST_CASE("the checksum is CRC-64/XZ", "[archive]") {
  CHECK(tacit::detail::checksum("123456789") == 0x995dc9bbdf1939faU);  // its published check value
  CHECK(tacit::detail::checksum("") == 0);
}

TEST_CASE("numbers read back as the same bits", "[archive]") {
  double const infinity = std::numeric_limits<double>::infinity();
  std::vector<double> values{0.0,
                             -0.0,
                             0.1,
                             -1.0 / 3.0,
                             0x1p-1074,
                             -0x1p-1074,
                             std::nextafter(0x1p-1022, 0.0),
                             0x1p-1022,
                             infinity,
                             -infinity,
                             std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::lowest(),
                             1e22,
                             123456789.0};
  std::mt19937_64 random(1);
  while (values.size() < 2000) {
    auto const x = std::bit_cast<double>(static_cast<std::uint64_t>(random()));
    if (!std::isnan(x)) values.push_back(x);
  }
  std::vector<std::uint64_t> const words{0, 1, ~std::uint64_t{0}, 0x8000000000000000U};
  std::vector<std::uint32_t> const halves{0xffffffffU, 7};

  archive_writer out("numbers", 1);
  out.list("doubles", values).list("words", words).list("halves", halves);
  out.list("nothing", std::vector<double>());
  out.field("mixed", -7, std::string("+-0"), -0.0, std::numeric_limits<double>::quiet_NaN());
  std::string const text = std::move(out).finish();

  archive_reader in(text, "numbers", 1);
  std::vector<double> doubles;
  std::vector<std::uint64_t> words_back;
  std::vector<std::uint32_t> halves_back;
  std::vector<double> nothing{1.0};
  int number = 0;
  std::string symbols;
  double zero = 1.0;
  double not_a_number = 0.0;
  in.list("doubles", doubles);
  in.list("words", words_back);
  in.list("halves", halves_back);
  in.list("nothing", nothing);
  in.field("mixed", number, symbols, zero, not_a_number);
  in.finish();

  REQUIRE(doubles.size() == values.size());
  std::size_t different = 0;
  for (std::size_t k = 0; k < values.size(); ++k) different += !same_bits(doubles[k], values[k]);
  CHECK(different == 0);
  CHECK(words_back == words);
  CHECK(halves_back == halves);
  CHECK(nothing.empty());
  CHECK(number == -7);
  CHECK(symbols == "+-0");
  CHECK(same_bits(zero, -0.0));
  CHECK(std::isnan(not_a_number));
}

TEST_CASE("every change of one byte is refused", "[archive]") {
  std::string const text = small_archive();
  CHECK_NOTHROW(read_all(text));
  std::size_t accepted = 0;
  for (std::size_t place = 0; place < text.size(); ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = text;
      damaged[place] = static_cast<char>(byte);
      if (damaged == text) continue;
      try {
        read_all(std::move(damaged));
        ++accepted;
      } catch (corrupt_state const&) {
      }
    }
  }
  CHECK(accepted == 0);
}

TEST_CASE("every truncation is refused, and so is anything added or moved", "[archive]") {
  std::string const text = small_archive();
  for (std::size_t size = 0; size < text.size(); ++size) {
    CHECK_THROWS_AS(read_all(text.substr(0, size)), corrupt_state);
    CHECK_THROWS_AS(read_all(text.substr(size + 1)), corrupt_state);
    std::string const repeated = text.substr(0, size) + text[size] + text.substr(size);
    CHECK_THROWS_AS(read_all(repeated), corrupt_state);
  }
  CHECK_THROWS_AS(read_all(text + "\n"), corrupt_state);
  CHECK_THROWS_AS(read_all(text + text), corrupt_state);
  CHECK_THROWS_AS(read_all(""), corrupt_state);
  CHECK_THROWS_WITH(read_all(""), "archive: checksum is missing: the state is truncated");
  CHECK_THROWS_WITH(read_all("x" + text), "archive: checksum is wrong: the state is damaged");
}

TEST_CASE("a sealed text of another kind, version or shape is refused by name", "[archive]") {
  std::string const body = "sample 3\ncount 42\npair -1.5 word\nweights 3 0.25 1e-300 -0\n";
  CHECK(sealed(body) == small_archive());

  auto const changed = [&](std::string const& from, std::string const& to) {
    std::string text = body;
    std::size_t const place = text.find(from);
    REQUIRE(place != std::string::npos);
    return sealed(text.replace(place, from.size(), to));
  };
  CHECK_THROWS_WITH(read_all(changed("sample 3", "sample 4")),
                    "archive: sample is of another version");
  CHECK_THROWS_WITH(read_all(changed("sample 3", "sample 3 1")),
                    "archive: sample is longer than it should be");
  CHECK_THROWS_WITH(read_all(changed("sample", "simple")), "archive: sample is missing");
  CHECK_THROWS_WITH(read_all(changed("count 42", "count")),
                    "archive: count is not a number in range");
  CHECK_THROWS_WITH(read_all(changed("count 42", "count 42 43")),
                    "archive: count is longer than it should be");
  CHECK_THROWS_WITH(read_all(changed("count 42\n", "")), "archive: count is missing");
  for (char const* bad : {"-1", "18446744073709551616", "4.5", "0x1", "+3", "", " 4", "four"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(read_all(changed("count 42", std::string("count ") + bad)), corrupt_state);
  }
  CHECK_THROWS_AS(read_all(changed("-1.5", "1e999")), corrupt_state);
  CHECK_THROWS_AS(read_all(changed("-1.5", "1.5x")), corrupt_state);
  for (char const* size : {"2", "4", "1000", "18446744073709551615", "-1", ""}) {
    CAPTURE(size);
    CHECK_THROWS_AS(read_all(changed("weights 3", std::string("weights ") + size)), corrupt_state);
  }
  CHECK_THROWS_WITH(read_all(changed("weights 3", "weights 1000")),
                    "archive: weights is shorter than it says");
  CHECK_THROWS_WITH(read_all(sealed(body + "extra 1\n")),
                    "archive: state is longer than it should be");
  CHECK_THROWS_AS(read_all(sealed(body + body)), corrupt_state);
}
