// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/check.hpp>
#include <tacit/core/private_file.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/mechanism/paid_steps.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/mechanism/saved_run.hpp>
#include <tacit/secret/normal.hpp>
#include <tacit/secret/stream.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/directory.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace saved_run_tests {

namespace {

using namespace tacit;

/// The least that a saved mechanism needs: each step asks for one gradient and releases it with noise.
class noisy_gradient {
 public:
  noisy_gradient(std::size_t total, secret_stream secret)
      : total_(total), secret_(std::move(secret)) {}

  std::size_t records() const { return 1; }
  std::size_t dimension() const { return 2; }
  std::size_t steps() const { return sums_.size(); }
  bool done() const { return steps() == total_; }
  double last() const { return sums_.back(); }

  template <class GradientOf>
  vector_release step(GradientOf&& gradient_of) {
    if (done()) throw budget_exhausted("noisy_gradient: done");
    vector_release out{std::vector<float>(2)};
    gradient_of(std::size_t{0}, std::span<float>(out.value));
    for (float& y : out.value) y += static_cast<float>(standard_normal(secret_));
    sums_.push_back(out.value[0] + out.value[1]);
    return out;
  }

 private:
  friend class saved_run<noisy_gradient>;

  struct state {
    static constexpr std::string_view kind = "test-gradient";
    static constexpr unsigned version = 3;

    std::size_t total = 0;
    std::vector<double> sums;
    secret_stream::state stream;

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("total", self.total);
      archive.list("sums", self.sums);
      secret_stream::state::fields(archive, self.stream);
    }
  };

  state save() const { return {total_, sums_, secret_.save()}; }

  static noisy_gradient restore(state from) {
    detail::require_argument(from.sums.size() <= from.total, "noisy_gradient", "number of sums",
                             from.sums.size(), "at most the steps");
    noisy_gradient out(from.total, secret_stream::restore(from.stream));
    out.sums_ = std::move(from.sums);
    return out;
  }

  std::size_t total_;
  secret_stream secret_;
  std::vector<double> sums_;
};

using saved = saved_run<noisy_gradient>;
static_assert(first_order_mechanism<noisy_gradient> && first_order_mechanism<saved>);
static_assert(!zeroth_order_mechanism<saved>);
static_assert(!std::is_copy_constructible_v<saved>);

void gradient_of(std::size_t /*record*/, std::span<float> out) {
  out[0] = 0.5F;
  out[1] = -2.0F;
}

}  // namespace

TEST_CASE("any mechanism that lists its fields is saved, and goes on as if undisturbed",
          "[saved_run]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  noisy_gradient undisturbed(5, fixed_stream(1));
  std::optional<saved> run;
  run.emplace(noisy_gradient(5, fixed_stream(1)), path);
  while (!undisturbed.done()) {
    CHECK(run->step(gradient_of) == undisturbed.step(gradient_of));
    run.reset();
    CHECK(saved::inspect(path, [](noisy_gradient const& m) { return m.last(); }) ==
          undisturbed.last());
    run.emplace(saved::resume(path));
    CHECK((*run)->last() == undisturbed.last());
    CHECK(run->steps() == undisturbed.steps());
  }
  CHECK(run->done());
  CHECK_THROWS_AS(run->step(gradient_of), budget_exhausted);
}

TEST_CASE("a step that throws stores nothing, and the run goes on", "[saved_run]") {
  support::directory const folder;
  saved run(noisy_gradient(5, fixed_stream(1)), folder / "run");
  std::string const before = read_file(folder / "run");
  CHECK_THROWS_AS(run.step([](std::size_t, std::span<float>) { throw std::range_error("none"); }),
                  std::range_error);
  CHECK(read_file(folder / "run") == before);
  CHECK_NOTHROW(run.step(gradient_of));
  CHECK(read_file(folder / "run") != before);
}

TEST_CASE("a state of another mechanism, or one that no run has, is corrupt", "[saved_run]") {
  support::directory const folder;
  std::filesystem::path const path = folder / "run";
  auto const refused = [&](std::string_view kind, unsigned version, std::size_t total,
                           std::vector<unsigned> const& key) {
    archive_writer out(kind, version);
    out.field("total", total).list("sums", std::vector{1.5, 2.5}).list("stream_key", key);
    out.field("stream_position", 0U);
    std::string const text = std::move(out).finish();
    std::ofstream(path, std::ios::binary) << text;
    bool corrupt = false;
    try {
      (void)saved::resume(path);
    } catch (corrupt_state const&) {
      corrupt = true;
      CHECK(read_file(path) == text);
    }
    return corrupt;
  };
  std::vector<unsigned> const key(8, 7);
  CHECK_FALSE(refused("test-gradient", 3, 2, key));
  CHECK(refused("test-gradients", 3, 2, key));
  CHECK(refused("test-gradient", 2, 2, key));
  CHECK(refused("test-gradient", 3, 1, key));
  CHECK(refused("test-gradient", 3, 2, std::vector<unsigned>(7, 7)));
  CHECK(refused("test-gradient", 3, 2, std::vector<unsigned>(9, 7)));
}

}  // namespace saved_run_tests
