// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/accountant.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace {

using tacit::accountant;
using tacit::adjacency;
using tacit::approx_dp;
using tacit::bound;
using tacit::by_person;
using tacit::composed;
using tacit::corrupt_state;
using tacit::discrete_gaussian;
using tacit::discrete_laplace;
using tacit::event;
using tacit::exponential_mechanism;
using tacit::fixed_size;
using tacit::gaussian;
using tacit::laplace;
using tacit::matrix_gaussian;
using tacit::mechanism_event;
using tacit::poisson;
using tacit::pure;
using tacit::randomised_response;
using tacit::sampled;
using tacit::sampling;
using tacit::shuffled;
using tacit::unsampled;

/// Adds up ε of pure releases and answers for one randomised response of the sum: δ(ε) =
/// (e^total − e^ε)/(1 + e^total). Other releases cost nothing here, but for shuffled ones, which are
/// refused half way.
class toy {
 public:
  static constexpr std::string_view name = "toy";
  explicit toy(adjacency) {}

  void add(event const& release, std::uint64_t count) {
    ++calls_;
    if (std::holds_alternative<tacit::shuffled>(release.how)) {
      throw std::invalid_argument("add: shuffled, which this method refuses");
    }
    if (auto const* p = std::get_if<pure>(&release.what)) {
      total_ += p->epsilon * static_cast<double>(count);
    }
  }
  [[nodiscard]] bound<double> epsilon(double delta) const {
    double const e = std::log(std::max(1.0, std::exp(total_) - delta * (1.0 + std::exp(total_))));
    return {e, e};
  }
  [[nodiscard]] bound<double> delta(double epsilon) const {
    long double const total = total_;
    long double const d = std::max(0.0L, -std::expm1(epsilon - total)) / (1.0L + std::exp(-total));
    double const up = std::nextafter(static_cast<double>(d), 1.0);
    return {std::max(0.0, std::nextafter(up, 0.0)), d > 0.0L ? up : 0.0};
  }
  [[nodiscard]] double total() const { return total_; }
  [[nodiscard]] int calls() const { return calls_; }

 private:
  double total_ = 0.0;
  int calls_ = 0;
};

/// Another method's answer, distinguished by its name only.
class other_toy : public toy {
 public:
  static constexpr std::string_view name = "other-toy";
  using toy::toy;
};

/// A method that can say nothing: its upper ends are infinite or not numbers.
struct clueless {
  static constexpr std::string_view name = "clueless";
  explicit clueless(adjacency) {}
  void add(event const&, std::uint64_t) {}
  [[nodiscard]] bound<double> epsilon(double) const { return {0.0, infinity}; }
  [[nodiscard]] bound<double> delta(double) const { return {0.0, not_a_number}; }
};

using toy_accountant = accountant<toy>;

/// A text that was tampered with and sealed anew.
std::string sealed(std::string const& text, std::string const& from, std::string const& to) {
  std::string body = text.substr(0, text.rfind("checksum "));
  std::size_t const at = body.find(from);
  REQUIRE(at != std::string::npos);
  body.replace(at, from.size(), to);
  return body + "checksum " + std::to_string(tacit::detail::checksum(body)) + "\n";
}

std::vector<event> every_kind() {
  std::vector<event> out;
  for (mechanism_event const& m : std::vector<mechanism_event>{
           gaussian{1.1}, laplace{0x1.fffffffffffffp-1022},
           discrete_gaussian{1.0 / 3.0, 1000000000}, discrete_laplace{1e300, 7},
           randomised_response{0.0, std::uint64_t{1} << 53}, exponential_mechanism{0.1}, pure{0.25},
           approx_dp{0.7, 5e-324}, matrix_gaussian{3.0, 0.0}, tacit::gaussian_dp{0.3},
           tacit::zcdp{1e-3}, tacit::dp_profile{{{0.5, 0.1}, {1.0 / 3.0, 0.2}}},
           tacit::dp_profile{{{0.5, 0.1}}}, tacit::renyi_dp{{{1.5, 0.1}, {2.0, 0.1}}}}) {
    for (sampling const& how :
         std::vector<sampling>{unsampled{}, poisson{0.01}, poisson{1.0 / 3.0}, fixed_size{3, 7},
                               fixed_size{(std::uint64_t{1} << 53) - 1, std::uint64_t{1} << 53}}) {
      out.push_back(sampled(m, how));
      out.push_back(by_person(sampled(m, how), 1000000));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("releases are composed in a chain, and equal ones are counted together",
          "[dp][accountant]") {
  toy_accountant a;
  CHECK(a.neighbours() == adjacency::add_remove);
  CHECK(a.history().empty());
  CHECK(a.delta(0.0).upper == 0.0);
  CHECK(a.epsilon(0.5).upper == 0.0);

  a.compose(pure{0.5}).compose(gaussian{1.0}, 3).compose(pure{0.5}, 2);
  REQUIRE(a.history().size() == 2);
  CHECK(a.history()[0] == composed{pure{0.5}, 3});
  CHECK(a.history()[1] == composed{gaussian{1.0}, 3});
  CHECK(a.method().total() == 1.5);
  CHECK(a.delta(0.3).upper == toy(a.method()).delta(0.3).upper);
  CHECK(a.epsilon(0.3).upper == toy(a.method()).epsilon(0.3).upper);

  // Sampling and the number of records make another release.
  a.compose(sampled(gaussian{1.0}, poisson{1.0})).compose(by_person(gaussian{1.0}, 2));
  CHECK(a.history().size() == 4);
  CHECK(toy_accountant(adjacency::zero_out).neighbours() == adjacency::zero_out);
  CHECK(toy_accountant::name == "toy");
}

TEST_CASE("a count of 0 changes nothing, but its value is checked", "[dp][accountant]") {
  toy_accountant a;
  a.compose(pure{1.0}, 0);
  CHECK(a.history().empty());
  CHECK(a.method().calls() == 0);
  a.compose(pure{1.0}).compose(pure{1.0}, 0);
  CHECK(a.history()[0].count == 1);
  CHECK(a.method().calls() == 1);
  CHECK_THROWS_AS(a.compose(pure{-1.0}, 0), std::domain_error);
}

TEST_CASE("what is refused leaves the accountant as it was", "[dp][accountant]") {
  toy_accountant a;
  a.compose(pure{1.0}).compose(gaussian{2.0}, 5);
  std::string const before = a.save();
  auto const unchanged = [&] { return a.save() == before && a.method().total() == 1.0; };

  CHECK_THROWS_WITH(a.compose(sampled(gaussian{1.0}, shuffled{})),
                    "add: shuffled, which this method refuses");
  CHECK(unchanged());
  CHECK_THROWS_WITH(a.compose(gaussian{not_a_number}),
                    "compose: noise_multiplier is nan, but must be positive and finite");
  CHECK(unchanged());
  CHECK_THROWS_WITH(a.compose(sampled(gaussian{1.0}, poisson{1.5})),
                    "compose: rate is 1.5, but must be in [0, 1]");
  CHECK(unchanged());

  std::uint64_t const most = std::numeric_limits<std::uint64_t>::max();
  CHECK_THROWS_WITH(a.compose(gaussian{2.0}, most - 4),
                    "compose: count is 18446744073709551611, but must be small enough for a total "
                    "of 64 bits");
  CHECK_THROWS_AS(a.compose(gaussian{2.0}, most), std::domain_error);
  CHECK(unchanged());
  a.compose(gaussian{2.0}, most - 5);
  CHECK(a.history()[1].count == most);
  CHECK_THROWS_AS(a.compose(gaussian{2.0}), std::domain_error);
  CHECK(toy_accountant::load(a.save()).history()[1].count == most);
}

TEST_CASE("accountants merge, whole or not at all", "[dp][accountant]") {
  toy_accountant a;
  a.compose(pure{1.0}).compose(gaussian{2.0}, 5);
  toy_accountant b;
  b.compose(gaussian{2.0}, 2).compose(laplace{3.0}).compose(pure{0.5}, 4);
  toy_accountant both = a;
  both.compose(b);
  CHECK(both.method().total() == 3.0);
  REQUIRE(both.history().size() == 4);
  CHECK(both.history()[1] == composed{gaussian{2.0}, 7});
  CHECK(both.history()[3] == composed{pure{0.5}, 4});
  CHECK(b.history().size() == 3);

  // With itself: everything twice.
  both.compose(both);
  CHECK(both.method().total() == 6.0);
  CHECK(both.history()[1].count == 14);
  CHECK(both.history().size() == 4);

  CHECK_THROWS_WITH(a.compose(toy_accountant(adjacency::replace_one)),
                    "compose: the other accountant's adjacency is replace_one, but must be "
                    "add_remove");

  // The second entry overflows: the first one is not added either.
  toy_accountant full;
  full.compose(laplace{3.0}, std::numeric_limits<std::uint64_t>::max());
  toy_accountant onto = b;
  CHECK_THROWS_AS(full.compose(onto), std::domain_error);
  CHECK(full.history().size() == 1);
  CHECK(full.method().total() == 0.0);
}

TEST_CASE("a copy lives its own life", "[dp][accountant]") {
  toy_accountant a;
  a.compose(pure{1.0});
  toy_accountant b = a;
  b.compose(pure{1.0}).compose(gaussian{1.0});
  CHECK(a.history().size() == 1);
  CHECK(a.method().total() == 1.0);
  CHECK(b.method().total() == 2.0);
  a = b;
  CHECK(a.save() == b.save());
}

TEST_CASE("questions have a range", "[dp][accountant]") {
  toy_accountant a;
  a.compose(pure{1.0});
  for (double const x : {0.0, 1.0, -0.1, 2.0, infinity, not_a_number}) {
    CHECK_THROWS_AS(a.epsilon(x), std::domain_error);
    CHECK_THROWS_AS(a.would_exceed(pure{1.0}, 1, {1.0, x}), std::domain_error);
  }
  for (double const x : {-1e-300, -infinity, infinity, not_a_number}) {
    CHECK_THROWS_AS(a.delta(x), std::domain_error);
    CHECK_THROWS_AS(a.would_exceed(pure{1.0}, 1, {x, 0.1}), std::domain_error);
  }
  for (double const x : {-1e-300, 1.0 + 1e-15, not_a_number}) {
    CHECK_THROWS_AS(a.attack_success(x), std::domain_error);
  }
  CHECK_THROWS_WITH(a.epsilon(0.0), "epsilon: delta is 0, but must be in (0, 1)");
  CHECK_THROWS_WITH(a.delta(-1.0), "delta: epsilon is -1, but must be finite and at least 0");
  CHECK_THROWS_WITH(a.attack_success(1.5), "attack_success: prior is 1.5, but must be in [0, 1]");
  CHECK_THROWS_WITH(a.would_exceed(pure{1.0}, 1, {1.0, 0.0}),
                    "would_exceed: delta is 0, but must be in (0, 1)");
}

TEST_CASE("attack success is the Bayes rule's against one randomised response",
          "[dp][accountant]") {
  for (double const total : {0.0, 1e-9, 0.3, 2.0, 12.0}) {
    toy_accountant a;
    a.compose(pure{total});
    double before = 1.0;
    bool above = true;
    bool close = true;
    bool falls = true;
    bool mirrors = true;
    auto const ask = [&](double prior) {
      // It answers with its prior's guess, or with the response.
      long double const truth =
          std::max(1.0L - prior, 1.0L / (1.0L + std::exp(-static_cast<long double>(total))));
      double const success = a.attack_success(prior);
      above = above && success >= truth;
      close = close && success <= truth * (1.0L + 4e-15L) && success <= 1.0;
      return success;
    };
    for (int k = 0; k <= 2000; ++k) {
      double const prior = 0.5 * k / 2000.0;
      double const success = ask(prior);
      falls = falls && success <= before * (1.0 + 4e-15);  // the surer beforehand, the more right
      before = success;
      mirrors = mirrors && a.attack_success(1.0 - prior) == Approx(success).epsilon(1e-14);
    }
    // Close to ½ the odds cancel.
    for (double nudge = 1e-17; nudge < 0.4; nudge *= 1.1) ask(0.5 - nudge);
    CHECK(above);
    CHECK(close);
    CHECK(falls);
    CHECK(mirrors);
    CHECK(a.attack_success(0.0) == 1.0);
    CHECK(a.attack_success(1.0) == 1.0);
    CHECK(a.attack_success() == a.attack_success(0.5));
    for (double const tiny : {1e-300, 1e-308, 1e-310, 5e-324}) {
      CHECK(a.attack_success(tiny) == 1.0);
    }
  }
  // It grows with what was released.
  toy_accountant a;
  double before = a.attack_success();
  CHECK(before == Approx(0.5).epsilon(1e-14));
  for (int k = 0; k < 20; ++k) {
    double const now = a.compose(pure{0.1}).attack_success();
    CHECK(now > before);
    before = now;
  }
}

TEST_CASE("would_exceed asks without spending, and doubts", "[dp][accountant]") {
  toy_accountant a;
  a.compose(pure{0.5});
  std::string const before = a.save();
  // The budget of one response of ε = 1, at ε = ½.
  toy one(adjacency::add_remove);
  one.add(pure{1.0}, 1);
  approx_dp const budget{0.5, one.delta(0.5).upper};
  CHECK_FALSE(a.would_exceed(pure{0.25}, 1, budget));
  CHECK_FALSE(a.would_exceed(pure{0.25}, 2, budget));
  CHECK(a.would_exceed(pure{0.25}, 3, budget));
  CHECK_FALSE(a.would_exceed(pure{0.25}, 0, budget));
  CHECK(a.save() == before);
  CHECK_THROWS_AS(a.would_exceed(sampled(pure{0.1}, shuffled{}), 1, budget), std::invalid_argument);
  CHECK_THROWS_AS(a.would_exceed(pure{0.5}, std::numeric_limits<std::uint64_t>::max(), budget),
                  std::domain_error);
  accountant<clueless> unknown;
  CHECK(unknown.would_exceed(gaussian{1.0}, 1, {100.0, 0.999}));
}

TEST_CASE("every event and every sampling survives save and load", "[dp][accountant]") {
  for (adjacency const how : {adjacency::add_remove, adjacency::replace_one, adjacency::zero_out}) {
    toy_accountant a(how);
    std::uint64_t count = 1;
    for (event const& release : every_kind()) {
      a.compose(release, count);
      count = count * 3 % 1000003;
      toy_accountant one(how);
      one.compose(release, count);
      auto const back = toy_accountant::load(one.save());
      REQUIRE(back.history().size() == 1);
      CHECK(back.history()[0] == composed{release, count});
    }
    std::string const text = a.save();
    auto const back = toy_accountant::load(text);
    CHECK(back.neighbours() == how);
    CHECK(std::equal(a.history().begin(), a.history().end(), back.history().begin(),
                     back.history().end()));
    CHECK(back.method().total() == a.method().total());
    CHECK(back.save() == text);
  }
  CHECK(toy_accountant::load(toy_accountant().save()).history().empty());
  // Schemes that the toy refuses are written as well.
  accountant<clueless> rest;
  rest.compose(sampled(gaussian{1.0}, shuffled{}), 4);
  CHECK(accountant<clueless>::load(rest.save()).history()[0] ==
        composed{sampled(gaussian{1.0}, shuffled{}), 4});
}

TEST_CASE("a damaged text is refused, whichever byte it is", "[dp][accountant]") {
  toy_accountant a(adjacency::replace_one);
  a.compose(sampled(gaussian{1.1}, poisson{0.01}), 10000)
      .compose(sampled(randomised_response{0.5, 3}, fixed_size{3, 70}), 2)
      .compose(by_person(approx_dp{0.5, 1e-9}, 2));
  std::string const text = a.save();
  REQUIRE(toy_accountant::load(text).save() == text);
  std::size_t accepted = 0;
  for (std::size_t k = 0; k < text.size(); ++k) {
    for (int const mask : {1, 2, 16, 32, 128, 255}) {
      std::string damaged = text;
      damaged[k] = static_cast<char>(damaged[k] ^ mask);
      try {
        static_cast<void>(toy_accountant::load(damaged));
        ++accepted;
      } catch (corrupt_state const&) {
      }
    }
    std::string shorter = text;
    shorter.erase(k, 1);
    std::string longer = text;
    longer.insert(k, 1, longer[k] == '0' ? '1' : '0');
    for (std::string const& damaged : {text.substr(0, k), text.substr(k + 1), shorter, longer}) {
      try {
        static_cast<void>(toy_accountant::load(damaged));
        ++accepted;
      } catch (corrupt_state const&) {
      }
    }
  }
  CHECK(accepted == 0);
  CHECK_THROWS_AS(toy_accountant::load(""), corrupt_state);
  CHECK_THROWS_AS(toy_accountant::load(text + text), corrupt_state);
  CHECK_THROWS_AS(toy_accountant::load(text + "\n"), corrupt_state);
}

TEST_CASE("a text that was sealed anew is refused where save would not have written it",
          "[dp][accountant]") {
  toy_accountant a;
  a.compose(sampled(discrete_gaussian{1.5, 3}, fixed_size{3, 70}), 2)
      .compose(sampled(gaussian{1.25}, poisson{0.5}), 5)
      .compose(by_person(pure{0.5}, 2), 7);
  std::string const text = a.save();
  CAPTURE(text);
  auto const refused = [&](std::string const& from, std::string const& to) {
    try {
      static_cast<void>(toy_accountant::load(sealed(text, from, to)));
    } catch (corrupt_state const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(toy_accountant::load(sealed(text, "pure", "pure")).save() == text);

  CHECK(refused("method toy", "method other-toy") ==
        "archive: method is not that of this accountant");
  CHECK_THROWS_AS(accountant<other_toy>::load(text), corrupt_state);
  CHECK(refused("adjacency add_remove", "adjacency unknown") == "archive: adjacency is unknown");
  CHECK(refused("tacit-accountant 1", "tacit-accountant 2").find("of another version") !=
        std::string::npos);
  CHECK_FALSE(refused("tacit-accountant", "tacit-other").empty());
  CHECK_FALSE(refused("releases 3", "releases 2").empty());
  CHECK_FALSE(refused("releases 3", "releases 4").empty());
  CHECK_FALSE(refused("releases 3", "releases -1").empty());
  CHECK(refused("pure", "purer") == "archive: release is of the unknown kind purer");
  CHECK(refused("poisson", "fish") == "archive: release is of the unknown kind fish");
  CHECK(refused("discrete_gaussian 1.5 3 ", "discrete_gaussian 1.5 3.5 ") ==
        "archive: release is not a whole number where one must be");
  CHECK_FALSE(refused("discrete_gaussian 1.5 3 ", "discrete_gaussian 1.5 -3 ").empty());
  CHECK_FALSE(refused("discrete_gaussian 1.5 3 ", "discrete_gaussian 1.5 nan ").empty());
  CHECK_FALSE(refused("discrete_gaussian 1.5 3 ", "discrete_gaussian 1.5 1e300 ").empty());
  CHECK(refused("discrete_gaussian 1.5", "discrete_gaussian nan")
            .find("archive: release is refused: compose: sigma is nan") == 0);
  CHECK(refused("fixed_size 3 70", "fixed_size 71 70").find("batch is 71") != std::string::npos);
  CHECK(refused("fixed_size 3 70 1 2", "fixed_size 3 70 0 2").find("records_per_person is 0") !=
        std::string::npos);
  CHECK(refused("fixed_size 3 70", "shuffled 0 0").find("which this method refuses") !=
        std::string::npos);
  // Readable, but not what save writes: counts of 0, one release in two entries, idle numbers, another
  // spelling.
  std::string const odd = "archive: state is not as it would be saved";
  CHECK(refused("poisson 0.5 0 1 5", "poisson 0.5 0 1 0") == odd);
  CHECK(refused("gaussian 1.25 0 poisson", "gaussian 1.25 1 poisson") == odd);
  CHECK(refused("gaussian 1.25 0 poisson", "gaussian 1.250 0 poisson") == odd);
  CHECK(refused("release gaussian 1.25 0 poisson 0.5 0 1 5",
                "release pure 0.5 0 unsampled 0 0 2 5") == odd);
}
