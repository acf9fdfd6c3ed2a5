// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/work_budget.hpp>
#include <tacit/dp/zcdp.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

using namespace tacit;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Gaussian DP's δ(ε), as simple as possible: both terms are far from 0 where it is used.
double gaussian_delta(double mu, double epsilon) {
  if (mu == 0.0) return 0.0;
  if (epsilon == 0.0) return std::erf(mu / std::sqrt(8.0));
  return normal_cdf(0.5 * mu - epsilon / mu) -
         std::exp(epsilon) * normal_cdf(-0.5 * mu - epsilon / mu);
}

double gaussian_epsilon(double mu, double delta) {
  if (gaussian_delta(mu, 0.0) <= delta) return 0.0;
  double low = 0.0;
  double high = mu * mu + 50.0 * mu;
  for (int k = 0; k < 200; ++k) {
    double const middle = 0.5 * (low + high);
    (gaussian_delta(mu, middle) <= delta ? high : low) = middle;
  }
  return high;
}

// Gaussian releases, of which a Poisson rate scales μ: not a bound on anything, but smooth, monotone
// and with ends known in closed form.
struct planned {
  static constexpr std::string_view name = "planned";
  static inline int questions = 0;

  explicit planned(adjacency /*neighbours*/) {}
  void add(event const& release, std::uint64_t count) {
    auto const* noise = std::get_if<gaussian>(&release.what);
    if (noise == nullptr) throw std::invalid_argument("planned: only Gaussians");
    double rate = 1.0;
    if (auto const* p = std::get_if<poisson>(&release.how)) rate = p->rate;
    if (auto const* f = std::get_if<fixed_size>(&release.how)) rate = f->rate();
    mu = std::hypot(mu, std::sqrt(static_cast<double>(count)) * rate / noise->noise_multiplier);
  }
  bound<double> epsilon(double delta) const {
    ++questions;
    return {0.0, gaussian_epsilon(mu, delta)};
  }
  bound<double> delta(double epsilon) const {
    ++questions;
    return {0.0, gaussian_delta(mu, epsilon)};
  }
  double mu = 0.0;
};
using planned_accountant = accountant<planned>;

// The μ at which Gaussian DP is just (ε, δ).
double largest_mu(approx_dp target) {
  double low = 0.0;
  double high = 1e6;
  for (int k = 0; k < 1100; ++k) {
    double const middle = low + 0.5 * (high - low);
    (gaussian_delta(middle, target.epsilon) <= target.delta ? low : high) = middle;
  }
  return low;
}

bool keeps(planned_accountant const& run, approx_dp target) {
  return run.delta(target.epsilon).upper <= target.delta &&
         run.epsilon(target.delta).upper <= target.epsilon;
}

planned_accountant toy_run(double sigma, sampling how, std::uint64_t steps) {
  return planned_accountant().compose(sampled(gaussian{sigma}, how), steps);
}

// A run as a function of x, whose answers a test makes up.
struct made_up {
  std::function<double(double)> delta_at;
  std::function<double(double)> epsilon_at;
  double x;
  bound<double> delta(double /*epsilon*/) const { return {0.0, delta_at(x)}; }
  bound<double> epsilon(double /*delta*/) const { return {0.0, epsilon_at(x)}; }
};

}  // namespace

TEST_CASE("noise is the feasible end, and within 1e-6 of the best", "[dp][calibration]") {
  int worst = 0;
  int all = 0;
  int runs = 0;
  for (double const epsilon : {0.0, 1e-3, 0.1, 1.0, 2.0, 10.0, 100.0}) {
    for (double const delta : {0.4, 1e-2, 1e-5, 1e-9}) {
      for (std::uint64_t const steps : {1ULL, 100ULL, 10000ULL, 1000000000000ULL}) {
        for (sampling const& how : {sampling(unsampled{}), sampling(poisson{1e-3})}) {
          approx_dp const target{epsilon, delta};
          double const rate = std::holds_alternative<poisson>(how) ? 1e-3 : 1.0;
          double const best = rate * std::sqrt(static_cast<double>(steps)) / largest_mu(target);
          planned::questions = 0;
          double const sigma = noise_multiplier_for<planned_accountant>(target, how, steps);
          worst = std::max(worst, planned::questions);
          all += planned::questions;
          ++runs;
          INFO(epsilon << ' ' << delta << ' ' << steps << ' ' << rate);
          CHECK(keeps(toy_run(sigma, how, steps), target));
          // What the test's own δ(ε) cancels moves its end, too.
          if (best > 1e-3) CHECK(sigma <= best * (1.0 + 1.0e-6));
          CHECK(sigma >= std::max(1e-3, best * (1.0 - 1e-6)));
        }
      }
    }
  }
  CHECK(worst <= 14);
  CHECK(all <= 8 * runs);
}

TEST_CASE("few questions are asked", "[dp][calibration]") {
  planned::questions = 0;
  std::ignore = noise_multiplier_for<planned_accountant>({2.0, 1e-5}, poisson{0.01}, 10000);
  CHECK(planned::questions <= 8);
  planned::questions = 0;
  std::ignore = steps_for({2.0, 1e-5}, sampled(gaussian{1.0}, poisson{0.01}), planned_accountant());
  CHECK(planned::questions <= 10);
}

// δ(1e4) of the first steps is far below the smallest double. The truths: the largest n at which the
// closed form δ(1e4) of μ = √n/5, in 400 digits (mpmath), is at most 1e-300, and the same for zCDP and
// Rényi divergences, whose bound is the closed form min over z.
TEST_CASE("a δ that underflows hides no end", "[dp][calibration]") {
  approx_dp const target{1e4, 1e-300};
  CHECK(steps_for<gaussian_accountant>(target, gaussian{5.0}) == 297854);
  CHECK(steps_for<privacy_loss_accountant>(target, gaussian{5.0}) == 297854);
  CHECK(steps_for<zcdp_accountant>(target, gaussian{5.0}) == 297408);
  CHECK(steps_for<renyi_accountant>(target, gaussian{5.0}) == 297408);
}

// The figures of one run say the same, whatever the target: the smallest double, 0, 1 or ∞.
TEST_CASE("answers that tell no two runs apart cost few questions", "[dp][calibration]") {
  struct flat {
    double x;
    int* asked;
    double loss() const { return 1e9 / x; }  // δ(ε) jumps at loss() = ε, ε(δ) at loss() = 2000
    bound<double> delta(double epsilon) const {
      ++*asked;
      return {0.0, loss() <= epsilon ? std::numeric_limits<double>::min() : 1.0};
    }
    bound<double> epsilon(double) const {
      ++*asked;
      return {0.0, loss() <= 2000.0 ? 0.0 : infinite};
    }
  };
  for (bool const whole : {false, true}) {
    for (double const start : {1.0, 1e6, 1e15}) {
      for (double const epsilon : {0.0, 1e-9, 1.0, 1e3, 1e4}) {
        int asked = 0;
        auto const plan = [&](double x) { return flat{x, &asked}; };
        quantity const sought{
            .protects = true, .whole = whole, .smallest = 1.0, .largest = 1e15, .start = start};
        INFO(whole << ' ' << start << ' ' << epsilon);
        if (epsilon < 1e-6) {
          if (epsilon == 0.0) CHECK_THROWS_AS(calibrate({epsilon, 1e-5}, plan, sought), infeasible);
        } else {
          double const best = std::max(5e5, 1e9 / epsilon);
          double const x = calibrate({epsilon, 1e-5}, plan, sought);
          CHECK(x >= best);
          CHECK((whole ? x < best + 1.0 : x <= best * (1.0 + 1e-6)));
        }
        CHECK(asked <= 200);
      }
    }
  }
}

TEST_CASE("a run far inside or outside of the target costs few questions", "[dp][calibration]") {
  for (approx_dp const target :
       {approx_dp{1e4, 1e-300}, approx_dp{1e6, 1e-30}, approx_dp{0.0, 1e-300},
        approx_dp{1e-9, 1e-12}, approx_dp{1e-3, 0.5}, approx_dp{30.0, 0.999}}) {
    for (double const sigma : {1e-2, 1.0, 1e5}) {
      auto const ask = [&](auto const& calibrate_it) {
        planned::questions = 0;
        try {
          std::ignore = calibrate_it();
        } catch (infeasible const&) {
        }
        INFO(target.epsilon << ' ' << target.delta << ' ' << sigma);
        CHECK(planned::questions <= 25);
      };
      ask([&] { return steps_for<planned_accountant>(target, gaussian{sigma}); });
      ask([&] { return rate_for<planned_accountant>(target, gaussian{sigma}, 110176); });
      ask([&] { return noise_multiplier_for<planned_accountant>(target, poisson{1e-5}, 93); });
    }
  }
}

TEST_CASE("one step more would be too many", "[dp][calibration]") {
  for (double const sigma : {0.5, 1.0, 30.0, 1e4, 1e6}) {
    for (approx_dp const target :
         {approx_dp{0.0, 0.4}, approx_dp{1.0, 1e-5}, approx_dp{8.0, 1e-6}, approx_dp{50.0, 0.1}}) {
      event const release = sampled(gaussian{sigma}, poisson{0.3});
      double const best = largest_mu(target) * sigma / 0.3;
      INFO(sigma << ' ' << target.epsilon);
      if (best * best < 1.0) {
        CHECK_THROWS_AS(steps_for<planned_accountant>(target, release), infeasible);
        continue;
      }
      std::uint64_t const steps = steps_for<planned_accountant>(target, release);
      CHECK(keeps(planned_accountant().compose(release, steps), target));
      CHECK(!keeps(planned_accountant().compose(release, steps + 1), target));
    }
  }
}

TEST_CASE("steps go on from what was spent", "[dp][calibration]") {
  event const release = sampled(gaussian{2.0}, poisson{0.01});
  approx_dp const target{3.0, 1e-5};
  std::uint64_t const whole = steps_for<planned_accountant>(target, release);
  planned_accountant const spent = planned_accountant().compose(release, whole / 3);
  CHECK(steps_for(target, release, spent) == whole - whole / 3);
  planned_accountant const all = planned_accountant().compose(release, whole);
  CHECK_THROWS_WITH(
      steps_for(target, release, all),
      Catch::Contains("steps_for: not even one step keeps") && Catch::Contains("planned"));
  // Nothing is lost at rate 0: as many as can be asked for.
  CHECK(steps_for<planned_accountant>(target, sampled(gaussian{2.0}, poisson{0.0})) ==
        1000000000000000ULL);
}

TEST_CASE("rates and batches", "[dp][calibration]") {
  for (double const sigma : {0.7, 1.0, 5.0}) {
    for (std::uint64_t const steps : {1ULL, 1000ULL, 1000000ULL}) {
      approx_dp const target{1.0, 1e-6};
      double const best =
          std::min(1.0, largest_mu(target) * sigma / std::sqrt(static_cast<double>(steps)));
      double const rate = rate_for<planned_accountant>(target, gaussian{sigma}, steps);
      CHECK(keeps(toy_run(sigma, poisson{rate}, steps), target));
      CHECK(rate >= best * (1.0 - 1e-6));
      for (std::uint64_t const records : {1000ULL, 60000ULL, 1000000000000ULL}) {
        if (best * static_cast<double>(records) < 1.0) {
          CHECK_THROWS_AS(
              batch_for<planned_accountant>(target, gaussian{sigma}, batches::fixed_size, records,
                                            steps, adjacency::replace_one),
              infeasible);
          continue;
        }
        std::uint64_t const batch = batch_for<planned_accountant>(
            target, gaussian{sigma}, batches::fixed_size, records, steps, adjacency::replace_one);
        CHECK(batch == batch_for<planned_accountant>(target, gaussian{sigma}, batches::poisson,
                                                     records, steps, adjacency::add_remove));
        CHECK(keeps(toy_run(sigma, fixed_size{batch, records}, steps), target));
        if (batch < records) {
          CHECK(!keeps(toy_run(sigma, fixed_size{batch + 1, records}, steps), target));
        }
      }
    }
  }
}

TEST_CASE("a plan may be a whole schedule", "[dp][calibration]") {
  approx_dp const target{2.0, 1e-5};
  auto const schedule = [](double sigma) {
    return std::vector<composed>{{sampled(gaussian{sigma}, poisson{0.01}), 1000},
                                 {gaussian{10.0 * sigma}, 7}};
  };
  double const sigma = noise_multiplier_for<planned_accountant>(target, schedule);
  double const best = std::sqrt(1000.0 * 1e-4 + 7.0 * 1e-2) / largest_mu(target);
  CHECK(sigma == Approx(best).epsilon(1e-6));
  // An event is a plan, too.
  CHECK(noise_multiplier_for<planned_accountant>(target, [](double s) { return gaussian{s}; }) ==
        Approx(1.0 / largest_mu(target)).epsilon(1e-6));
}

TEST_CASE("the ends of the range", "[dp][calibration]") {
  // So much may be lost that any noise will do.
  CHECK(noise_multiplier_for<planned_accountant>({0.0, 0.999999}, poisson{1e-12}, 1) == 1e-3);
  CHECK(rate_for<planned_accountant>({5.0, 1e-3}, gaussian{100.0}, 1) == 1.0);
  CHECK(batch_for<planned_accountant>({5.0, 1e-3}, gaussian{100.0}, batches::poisson, 50, 1,
                                      adjacency::add_remove) == 50);
  CHECK(batch_for<planned_accountant>({5.0, 1e-3}, gaussian{100.0}, batches::poisson, 1, 1,
                                      adjacency::add_remove) == 1);
  // Far beyond any practice, but there.
  approx_dp const strict{0.0, 1e-200};
  double const sigma =
      noise_multiplier_for<planned_accountant>(strict, unsampled{}, 1000000000000ULL);
  CHECK(sigma == Approx(1e6 / (std::sqrt(2.0 * std::acos(-1.0)) * 1e-200)).epsilon(1e-6));
  CHECK(keeps(toy_run(sigma, unsampled{}, 1000000000000ULL), strict));
  CHECK_THROWS_WITH(rate_for<planned_accountant>({0.0, 1e-300}, gaussian{1.0}, 1),
                    Catch::Contains("not even a rate of 1e-12"));
}

TEST_CASE("refusals", "[dp][calibration]") {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (approx_dp const target :
       {approx_dp{-1.0, 0.1}, approx_dp{nan, 0.1}, approx_dp{infinite, 0.1}, approx_dp{1.0, 0.0},
        approx_dp{1.0, 1.0}, approx_dp{1.0, nan}, approx_dp{}}) {
    CHECK_THROWS_AS(noise_multiplier_for<planned_accountant>(target, unsampled{}, 1),
                    std::domain_error);
    CHECK_THROWS_AS(steps_for<planned_accountant>(target, gaussian{1.0}), std::domain_error);
  }
  // An event without a bound keeps its reason.
  CHECK_THROWS_WITH(rate_for<planned_accountant>({1.0, 1e-5}, laplace{1.0}, 10),
                    "planned: only Gaussians");
  CHECK_THROWS_AS(batch_for<planned_accountant>({1.0, 1e-5}, gaussian{1.0}, batches::poisson, 0, 1,
                                                adjacency::add_remove),
                  std::domain_error);
  auto const plan = [](double x) {
    return made_up{[](double) { return 1.0; }, [](double) { return infinite; }, x};
  };
  quantity const sought{.protects = true, .smallest = 1.0, .largest = 9.0, .start = 2.0};
  CHECK_THROWS_WITH(calibrate({1.0, 0.1}, plan, sought),
                    "calibrate: not even 9 keeps (epsilon 1, delta 0.1)");
  quantity wrong = sought;
  wrong.largest = 0.5;
  CHECK_THROWS_AS(calibrate({1.0, 0.1}, plan, wrong), std::domain_error);
  wrong = sought;
  wrong.start = nan;
  CHECK_THROWS_AS(calibrate({1.0, 0.1}, plan, wrong), std::domain_error);
}

namespace {

// A method whose questions cost `price` seconds of counted work each.
struct dear : planned {
  static constexpr std::string_view name = "dear";
  static inline double price = 1.0;
  using planned::planned;
  bound<double> counted_epsilon(double delta, detail::work_budget& work) const {
    (void)work.spend(1e9 * price);
    return epsilon(delta);
  }
  bound<double> counted_delta(double epsilon, detail::work_budget& work) const {
    (void)work.spend(1e9 * price);
    return delta(epsilon);
  }
};

}  // namespace

TEST_CASE("a search that would cost more than its effort is refused", "[dp][calibration]") {
  using dear_accountant = accountant<dear>;
  approx_dp const target{1.0, 1e-5};
  auto const search = [&](double price, search_effort effort) {
    dear::price = price;
    planned::questions = 0;
    return steps_for(target, gaussian{50.0}, dear_accountant(), effort);
  };
  std::uint64_t const best = search(0.0, {});
  int const needed = planned::questions;
  CHECK(search(1.0, {.seconds = needed + 0.5}) == best);
  for (int allowed = 1; allowed < needed; ++allowed) {
    CAPTURE(allowed);
    CHECK_THROWS_AS(search(1.0, {.seconds = allowed + 0.5}), convergence_error);
    CHECK(planned::questions == allowed);
  }
  // The first question may cost more; then there is no second one.
  CHECK_THROWS_AS(search(1e3, {}), convergence_error);
  CHECK(planned::questions == 1);
  try {
    (void)search(1.0, {.seconds = needed - 0.5});
    FAIL("no refusal");
  } catch (convergence_error const& error) {
    CHECK(error.lower <= static_cast<double>(best));
    CHECK(error.upper >= static_cast<double>(best));
    CHECK_THAT(error.what(), Catch::Contains("steps_for: the search was ended after") &&
                                 Catch::Contains("(epsilon 1, delta 1e-05) is kept at") &&
                                 Catch::Contains("is not shown to be kept at"));
  }
  for (double const seconds : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_AS(search(0.0, {.seconds = seconds}), std::domain_error);
  }
}

// The certified method, and the work of all its questions.
struct counting : privacy_loss {
  static constexpr std::string_view name = "counting";
  using privacy_loss::privacy_loss;
  bound<double> counted_epsilon(double delta, detail::work_budget& work) const {
    double const before = work.left();
    auto const found = privacy_loss::counted_epsilon(delta, work);
    spent() += before - work.left();
    return found;
  }
  bound<double> counted_delta(double epsilon, detail::work_budget& work) const {
    double const before = work.left();
    auto const found = privacy_loss::counted_delta(epsilon, work);
    spent() += before - work.left();
    return found;
  }
  static double& spent() {
    static double all = 0.0;
    return all;
  }
};

// Each took 10 to 60 s: every question composes on grids as fine as one question is allowed.
TEST_CASE("dear questions end a search of the certified accountant early", "[dp][calibration]") {
  using counting_accountant = accountant<counting>;
  counting::spent() = 0.0;
  CHECK_THROWS_AS(
      rate_for<counting_accountant>({1.0, 1e-5}, gaussian{0.5}, 10'000, adjacency::replace_one),
      convergence_error);
  double const one_question =
      detail::work_on_lines + detail::work_on_lines_each + detail::work_on_grid;
  CHECK(counting::spent() > 0.0);
  CHECK(counting::spent() <= detail::work_on_search + one_question);
  counting::spent() = 0.0;
  try {
    double const rate =
        rate_for<counting_accountant>({1e4, 1e-100}, laplace{1.0}, 93, adjacency::replace_one);
    CHECK(rate > 0.0);
  } catch (convergence_error const&) {
  }
  CHECK(counting::spent() <= detail::work_on_search + one_question);
}

// Reported to take 162 and 59 s.
TEST_CASE("the searches that once took minutes, asked of the certified accountant",
          "[dp][calibration][long]") {
  approx_dp const target{1e4, 1e-100};
  auto const plan = [](double noise) {
    return std::vector<composed>{{sampled(laplace{noise}, poisson{2.9e-5}), 93}};
  };
  double kept = 0.0;
  try {
    kept = noise_multiplier_for<privacy_loss_accountant>(target, plan, adjacency::replace_one);
  } catch (convergence_error const& error) {
    kept = error.upper;
    CHECK_THAT(error.what(), Catch::Contains("is kept at"));
  }
  CAPTURE(kept);
  privacy_loss_accountant run(adjacency::replace_one);
  run.compose(plan(kept).front().release, 93);
  CHECK(run.epsilon(target.delta).upper <= target.epsilon);
  CHECK(rate_for<privacy_loss_accountant>({1e6, 1e-30}, gaussian{0.607}, 110'176) == 1.0);
}

// Answers that jump, saturate, vanish, are ∞ or no number at all: the side must be kept.
TEST_CASE("an accountant that misbehaves does not move the side", "[dp][calibration]") {
  approx_dp const target{1.0, 1e-3};
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform;
  auto const edge = [&](double x) { return std::min(1.0, target.delta * std::pow(x / 7.0, -3.0)); };
  std::map<std::string, std::function<double(double)>> const shapes{
      {"a step", [](double x) { return x < 7.0 ? 1.0 : 0.0; }},
      {"stairs", [&](double x) { return edge(std::exp(std::floor(std::log(x) * 4.0) / 4.0)); }},
      {"noise", [&](double x) { return edge(x) * (1.0 + 0.2 * uniform(random)); }},
      {"ripples", [&](double x) { return edge(x) * (1.0 + 0.1 * std::sin(1e5 * x)); }},
      {"infinite near the end", [&](double x) { return x < 7.5 ? infinite : edge(x); }},
      {"no number near the end", [&](double x) { return x < 7.5 ? std::nan("") : edge(x); }},
      {"infinite far away", [&](double x) { return x > 40.0 || x < 0.1 ? infinite : edge(x); }},
      {"negative", [&](double x) { return x < 9.0 ? -1.0 : edge(x); }},
      {"throws", [&](double x) -> double {
         if (x < 8.0) throw convergence_error("made up", 0.0, 1.0);
         return edge(x);
       }}};
  for (auto const& shape : shapes) {
    std::string const& name = shape.first;
    int asked = 0;
    std::map<double, double> answers;  // so that the noise is the same when asked again
    auto const remembered = [&](double x) {
      ++asked;
      auto const known = answers.find(x);
      return known != answers.end() ? known->second : answers[x] = shape.second(x);
    };
    auto const plan = [&](double x) { return made_up{remembered, [](double) { return 0.5; }, x}; };
    for (double const start : {0.01, 1.0, 6.9, 7.1, 300.0}) {
      if (name == "infinite far away" && start > 40.0) continue;
      for (bool const whole : {false, true}) {
        asked = 0;
        INFO(name << ' ' << start << ' ' << whole);
        double const x = calibrate(target, plan,
                                   {.protects = true,
                                    .whole = whole,
                                    .smallest = whole ? 1.0 : 1e-3,
                                    .largest = 1e6,
                                    .start = whole ? std::max(1.0, std::round(start)) : start});
        double const answer = remembered(x);
        CHECK((answer >= 0.0 && answer <= target.delta));
        CHECK(asked <= 120);
        CHECK((!whole || x == std::floor(x)));
      }
    }
  }
}

// Ends that jump from each number to the next, as a grid's do at the scale of their widths; and the last bits of another
// machine's.
TEST_CASE("the last bits of an accountant do not choose another answer", "[dp][calibration]") {
  approx_dp const target{1.0, 1e-3};
  auto const found = [&](double last_bits, double exponent) {
    auto const delta = [&](double x) {
      double const jump = std::fmod(1e13 * std::log(x), 1.0);
      return std::min(1.0, 1e-3 * std::pow(x / 7.0, -exponent)) * (1.0 + 1e-4 * jump + last_bits);
    };
    return calibrate(target,
                     [&](double x) {
                       return made_up{delta, [](double) { return 0.5; }, x};
                     },
                     {.protects = true, .smallest = 1e-3, .largest = 1e6, .start = 1.0});
  };
  for (double const exponent : {0.7, 1.3, 3.0, 5.1}) {
    double const here = found(0.0, exponent);
    for (double const last_bits : {-3e-15, -1e-15, 1e-15, 3e-15}) {
      CHECK(found(last_bits, exponent) == here);
    }
    CHECK(here == std::ldexp(std::round(std::ldexp(here, 24)), -24));  // of 27 bits, in [4, 8)
  }
}

TEST_CASE("both questions asked of the result answer within the target", "[dp][calibration]") {
  approx_dp const target{1.0, 1e-3};
  auto const plan = [](double x) {
    return made_up{[](double at) { return std::min(1.0, 1e-3 * 7.0 / at); },
                   [](double at) { return std::sqrt(9.0 / at); }, x};
  };
  double const x =
      calibrate(target, plan, {.protects = true, .smallest = 1e-3, .largest = 1e6, .start = 1.0});
  CHECK(plan(x).epsilon(target.delta).upper <= 1.0);
  CHECK(x >= 9.0);
  CHECK(x <= 9.0 * (1.0 + 1e-6));
}

// The library's own accountants: what is returned is asked again, on both sides of the end.
namespace {

template <class Accountant>
bool run_keeps(Accountant const& run, approx_dp target) {
  return run.delta(target.epsilon).upper <= target.delta &&
         run.epsilon(target.delta).upper <= target.epsilon;
}

template <class Accountant>
double check_all_ends(approx_dp target, sampling how, std::uint64_t steps) {
  auto const run = [&](double sigma, sampling scheme, std::uint64_t count) {
    return Accountant().compose(sampled(gaussian{sigma}, scheme), count);
  };
  INFO(Accountant::name << ": epsilon " << target.epsilon << ", delta " << target.delta << ", "
                        << steps << " steps");
  double const sigma = noise_multiplier_for<Accountant>(target, how, steps);
  CHECK(run_keeps(run(sigma, how, steps), target));
  CHECK(!run_keeps(run(sigma * (1.0 - 1.2e-6), how, steps), target));
  // The steps of slightly more noise are those steps, or a few more.
  double const noise = sigma * (1.0 + 1e-7);
  std::uint64_t const most = steps_for<Accountant>(target, sampled(gaussian{noise}, how));
  CHECK(most >= steps);
  CHECK(run_keeps(run(noise, how, most), target));
  CHECK(!run_keeps(run(noise, how, most + 1), target));
  return sigma;
}

}  // namespace

TEST_CASE("exact Gaussian accounting calibrates to the closed form", "[dp][calibration]") {
  for (approx_dp const target : {approx_dp{0.0, 0.1}, approx_dp{1.0, 1e-5}, approx_dp{0.1, 1e-290},
                                 approx_dp{50.0, 1e-100}, approx_dp{1e-9, 1e-12}}) {
    for (std::uint64_t const steps : {1ULL, 1000ULL, 1000000000ULL}) {
      double const best = std::sqrt(static_cast<double>(steps)) / gaussian_dp_for(target).mu;
      double const sigma = noise_multiplier_for<gaussian_accountant>(target, unsampled{}, steps);
      CHECK(sigma >= best * (1.0 - 1e-11));
      CHECK(sigma <= best * (1.0 + 1e-6));
    }
    check_all_ends<gaussian_accountant>(target, unsampled{}, 1000);
  }
  CHECK_THROWS_AS(rate_for<gaussian_accountant>({1.0, 1e-5}, gaussian{1.0}, 10),
                  std::invalid_argument);
}

TEST_CASE("zero-concentrated accounting calibrates, too", "[dp][calibration]") {
  for (approx_dp const target : {approx_dp{0.5, 1e-5}, approx_dp{8.0, 1e-30}}) {
    check_all_ends<zcdp_accountant>(target, unsampled{}, 300);
  }
  CHECK(noise_multiplier_for<zcdp_accountant>({1.0, 1e-5}, unsampled{}, 10) >
        noise_multiplier_for<gaussian_accountant>({1.0, 1e-5}, unsampled{}, 10));
}

TEST_CASE("the Renyi accountant calibrates sampled runs", "[dp][calibration]") {
  for (approx_dp const target : {approx_dp{2.0, 1e-5}, approx_dp{0.3, 1e-12}}) {
    check_all_ends<renyi_accountant>(target, poisson{0.01}, 10000);
    check_all_ends<renyi_accountant>(target, poisson{1e-4}, 1000000);
  }
  // Run A of docs/accountants.md.
  CHECK(noise_multiplier_for<renyi_accountant>({2.0, 1e-5}, poisson{0.01}, 10000) ==
        Approx(2.278).epsilon(1e-3));
}

TEST_CASE("the certified accountant calibrates sampled runs", "[dp][calibration]") {
  approx_dp const target{2.0, 1e-5};
  double const sigma = check_all_ends<privacy_loss_accountant>(target, poisson{0.01}, 10000);
  check_all_ends<privacy_loss_accountant>({0.5, 1e-40}, poisson{0.001}, 100000);
  CHECK(sigma == Approx(2.12738).epsilon(1e-5));
  // The interval holds the truth, so that a little less noise surely breaks the target.
  auto const run = [](double noise) {
    return privacy_loss_accountant().compose(sampled(gaussian{noise}, poisson{0.01}), 10000);
  };
  CHECK(run(sigma * (1.0 - 1.2e-6)).delta(target.epsilon).lower > target.delta);
  double const rate = rate_for<privacy_loss_accountant>(target, gaussian{1.0}, 1000);
  auto const sampled_run = [](double r) {
    return privacy_loss_accountant().compose(sampled(gaussian{1.0}, poisson{r}), 1000);
  };
  CHECK(run_keeps(sampled_run(rate), target));
  CHECK(sampled_run(rate * (1.0 + 1.2e-6)).delta(target.epsilon).lower > target.delta);
}

TEST_CASE("batches without replacement", "[dp][calibration]") {
  approx_dp const target{2.0, 1e-5};
  auto const run = [](std::uint64_t batch) {
    return renyi_accountant(adjacency::replace_one)
        .compose(sampled(gaussian{2.0}, fixed_size{batch, 60000}), 1000);
  };
  std::uint64_t const batch = batch_for<renyi_accountant>(
      target, gaussian{2.0}, batches::fixed_size, 60000, 1000, adjacency::replace_one);
  CHECK(run_keeps(run(batch), target));
  CHECK(!run_keeps(run(batch + 1), target));
  // Under add_remove another record takes the place of one that is not drawn.
  std::uint64_t const added = batch_for<renyi_accountant>(
      target, gaussian{4.0}, batches::fixed_size, 60000, 1000, adjacency::add_remove);
  auto const run_added = [](std::uint64_t of) {
    return renyi_accountant(adjacency::add_remove)
        .compose(sampled(gaussian{4.0}, fixed_size{of, 60000}), 1000);
  };
  CHECK(run_keeps(run_added(added), target));
  CHECK(!run_keeps(run_added(added + 1), target));
}
