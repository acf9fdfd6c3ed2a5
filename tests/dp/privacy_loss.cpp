// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/agreement.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/mechanism/dp_zo_laplace.hpp>
#include <tacit/mechanism/quantised.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace tacit;
using support::exact;

namespace {

event subsampled(double rate, double sigma) {
  return sampled(gaussian{.noise_multiplier = sigma}, poisson{.rate = rate});
}

privacy_loss_accountant run(double rate, double sigma, std::uint64_t steps) {
  privacy_loss_accountant account;
  account.compose(subsampled(rate, sigma), steps);
  return account;
}

void compare_with_renyi(int runs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int k = 0; k < runs; ++k) {
    double const rate = std::pow(10.0, -5.0 * uniform(random));
    double const sigma = std::pow(10.0, -0.3 + 1.8 * uniform(random));
    auto const steps =
        static_cast<std::uint64_t>(std::round(std::pow(10.0, 2.0 + 6.0 * uniform(random))));
    double const delta = std::pow(10.0, -1.0 - 40.0 * uniform(random) * uniform(random));
    auto const account = run(rate, sigma, steps);
    auto const found = account.method().epsilon_by(delta);
    renyi_accountant other;
    other.compose(subsampled(rate, sigma), steps);
    CAPTURE(rate, sigma, steps, delta);
    CHECK(found.value.lower <= found.value.upper);
    CHECK(other.epsilon(delta).upper >= found.value.lower);
  }
}

}  // namespace

TEST_CASE("the runs A, B and C", "[dp]") {
  struct {
    double rate;
    double sigma;
    std::uint64_t steps;
    double epsilon;
    double digit;
  } const known[] = {{0.01, 1.0, 10000, 6.18771238997, 1e-11},
                     {1e-3, 0.6, 100000, 6.1128, 5e-5},
                     {0.5, 10.0, 1000, 7.5452, 5e-5}};
  for (auto const& k : known) {
    auto const account = run(k.rate, k.sigma, k.steps);
    auto const found = account.method().epsilon_by(1e-5);
    CHECK(found.by == privacy_loss_route::contour);
    CHECK(found.value.lower <= k.epsilon + k.digit);
    CHECK(found.value.upper >= k.epsilon - k.digit);
    CHECK(found.value.upper - found.value.lower <= 1e-12 * k.epsilon);
  }
}

TEST_CASE("every composition of the reference table lies in its interval", "[dp]") {
  support::table const rows("dp_sampled.csv");
  int wide = 0;
  int asked = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    // The accountant answers for the worse direction; the table has each by itself.
    if (rows.text(k, "direction") != "remove") continue;
    double const delta = rows.number(k, "delta");
    double const steps = rows.number(k, "steps");
    bound<double> found =
        run(rows.number(k, "rate"), rows.number(k, "sigma"), static_cast<std::uint64_t>(steps))
            .epsilon(delta);
    exact const truth = rows.value(k, "epsilon");
    CAPTURE(k, rows.number(k, "rate"), rows.number(k, "sigma"), steps, delta, found.lower,
            found.upper);
    CHECK(exact(found.lower) <= truth);
    CHECK(exact(found.upper) >= truth);
    ++asked;
    if (!(found.upper - found.lower <= 1e-9 * found.upper)) ++wide;
  }
  CHECK(asked > 30);
  CHECK(wide <= asked / 5);
}

TEST_CASE("schedules of several events", "[dp]") {
  support::table const rows("dp_heterogeneous.csv");
  for (std::size_t k = 0; k < rows.size(); ++k) {
    privacy_loss_accountant account;
    std::istringstream schedule(rows.text(k, "schedule"));
    for (std::string entry; std::getline(schedule, entry, ';');) {
      double rate = 0.0;
      double sigma = 0.0;
      double steps = 0.0;
      char colon = ':';
      std::istringstream(entry) >> rate >> colon >> sigma >> colon >> steps;
      account.compose(subsampled(rate, sigma), static_cast<std::uint64_t>(steps));
    }
    bound<double> const found = account.epsilon(rows.number(k, "delta"));
    exact const truth = std::max(rows.value(k, "epsilon_remove"), rows.value(k, "epsilon_add"));
    CAPTURE(rows.text(k, "schedule"), found.lower, found.upper);
    CHECK(exact(found.lower) <= truth);
    CHECK(exact(found.upper) >= truth);
  }
}

// Many steps of which few do anything, each little: the argument of the likelihood ratio in the direction add grows
// far to the right of the table.
TEST_CASE("tiny rates of small losses have narrow intervals", "[dp]") {
  struct {
    double rate;
    double sigma;
    std::uint64_t steps;
    double delta;
  } const known[] = {{1.1770850868994027e-05, 15.844791291385942, 2211, 2.9054242411471967e-13},
                     {3.9161728532952349e-05, 86.927383397705768, 3057, 2.7730027431751552e-09},
                     {4.1534877592425257e-05, 32.453684796853373, 25084, 4.668528816202454e-05},
                     {0.00012454187666702179, 7.5692011027261739, 602, 8.0033438739158658e-15}};
  for (auto const& k : known) {
    auto const found = run(k.rate, k.sigma, k.steps).method().epsilon_by(k.delta);
    CAPTURE(k.rate, k.sigma, k.steps, found.value.lower, found.value.upper);
    CHECK(found.by == privacy_loss_route::contour);
    CHECK(found.value.upper - found.value.lower <= 1e-9 * found.value.upper);
    discretised_accountant other;
    other.compose(subsampled(k.rate, k.sigma), k.steps);
    bound<double> const grid = other.epsilon(k.delta);
    CHECK(grid.lower <= found.value.upper);
    CHECK(grid.upper >= found.value.lower);
  }
}

TEST_CASE("two steps: narrow intervals that hold a quadrature from the definition", "[dp]") {
  // ε of E_x[δ₁(ε − ℓ(x))] = δ with δ₁ in closed form, split at its kink: mpmath, 30 digits
  struct {
    double rate, sigma, delta, epsilon;
  } const runs[] = {
      // was [.00013355, .00014551]
      {0.0083106373547985926, 98.34838328710488, 7.8191445765346812e-06, 0.000135106718875984131},
      {0.72400369698677258, 10.361131597811664, 2.1180989313364651e-10, 0.583796109186039597},
      {0.49707736772879824, 11.928436319227329, 6.9383582973979268e-05, 0.165825879211376469},
      {1.1495300771268061e-05, 5.2323166960397902, 3.8725324316358295e-14, 2.45500622302908465e-05},
  };
  for (auto const& r : runs) {
    CAPTURE(r.rate, r.sigma, r.delta);
    privacy_loss_accountant run;
    run.compose(sampled(gaussian{r.sigma}, poisson{r.rate}), 2);
    bound<double> const found = run.epsilon(r.delta);
    CHECK(found.lower <= r.epsilon);
    CHECK(found.upper >= r.epsilon);
    CHECK(found.upper - found.lower <= 1e-9);
  }
}

TEST_CASE("rare losses and few steps have narrow intervals, one by one or at once", "[dp]") {
  struct {
    double rate, sigma;
    std::uint64_t steps;
    double delta, width;
  } const runs[] = {
      {3.7716622157727855e-06, 0.63313928787243356, 2194, 4.7511363394258915e-14, 1e-7},  // .85
      {0.00072745996858431731, 4.8784133082321226, 45, 7.6803487343326527e-09, 1e-9},
      {0.0022353291838477164, 5.2531133012348414, 6, 8.0814950962552159e-12, 1e-9},
      {1.2766535365545814e-05, 5.3768114089858736, 30, 9.6336222707093975e-15, 1e-9},
      {0.00023599440891176353, 0.82714971281023464, 191, 1.9054963730228382e-10, 1e-9},
      {0.12656229939896427, 0.3012480592541335, 59, 1.0720181896084135e-06, 1e-9},
  };
  for (auto const& r : runs) {
    CAPTURE(r.rate, r.sigma, r.steps, r.delta);
    event const one = sampled(gaussian{r.sigma}, poisson{r.rate});
    privacy_loss_accountant run;
    run.compose(one, r.steps);
    bound<double> const found = run.epsilon(r.delta);
    CHECK(found.lower <= found.upper);
    CHECK(found.upper - found.lower <= r.width * std::max(1.0, found.upper));
    // δ and ε are inverse
    CHECK(run.delta(found.lower).upper >= r.delta);
    CHECK(run.delta(found.upper).lower <= r.delta);
  }
}

TEST_CASE("two certified intervals that do not meet are an error, and no number", "[dp]") {
  auto const describe = [] {
    return std::string("epsilon at delta 1e-05, 3 of (weight 1, shift 2)");
  };
  detail::agreement known(bound<double>{0.0, 5.0}, describe);
  known.meet({1.0, 2.0}, "the contour");
  known.meet({1.5, 3.0}, "rays");
  CHECK(known.shared().lower == 1.5);
  CHECK(known.shared().upper == 2.0);
  CHECK(known.by() == "the contour");
  REQUIRE_THROWS_AS(known.meet({2.5, 4.0}, "the grid"), internal_error);
  CHECK_THROWS_AS(known.meet({std::nan(""), 4.0}, "the grid"), internal_error);
  try {
    known.meet({2.5, 4.0}, "the grid");
  } catch (std::exception const& error) {
    CHECK(std::string(error.what()) ==
          "privacy_loss: internal inconsistency: two certified intervals do not meet, [1.5, 2] by "
          "the "
          "contour and [2.5, 4] by the grid. No number is given. Please report this with the "
          "question: "
          "epsilon at delta 1e-05, 3 of (weight 1, shift 2)");
  }
  CHECK(known.shared().upper == 2.0);  // a refused interval changes nothing
  detail::agreement const grid(bound<double>{1.0, 2.0}, describe, discretised::name);
  CHECK_THROWS_WITH(detail::agreement(grid).meet({2.5, 4.0}, "a Gaussian above all samples"),
                    Catch::Contains("discretised: internal inconsistency"));
}

TEST_CASE("many kinds of events are not above the Rényi accountant", "[dp][long]") {
  privacy_loss_accountant certified(adjacency::add_remove);
  renyi_accountant moments(adjacency::add_remove);
  for (int k = 0; k < 600; ++k) {
    event const release =
        by_person(sampled(gaussian{1.0 + k / 600.0}, poisson{1e-3 + 1e-6 * k}), 3);
    certified.compose(release, 1);
    moments.compose(release, 1);
  }
  CHECK(certified.epsilon(1e-6).upper <= moments.epsilon(1e-6).upper);
  CHECK(moments.epsilon(1e-6).upper < 2.0);
}

TEST_CASE("a composition leaks no less than any part of it", "[dp]") {
  event const rare = sampled(gaussian{6.0}, poisson{2e-9});
  for (event const& certain : {event(laplace{3.0}), event(pure{0.5})}) {
    privacy_loss_accountant part(adjacency::add_remove);
    part.compose(certain, 1);
    privacy_loss_accountant all = part;
    all.compose(rare, 1);
    bound<double> const e = all.epsilon(1e-9);
    CHECK(e.lower >= part.epsilon(1e-9).lower - 1e-8);
    CHECK(e.upper - e.lower <= 1e-7);
    CHECK(all.delta(0.3).lower >= part.delta(0.3).lower * (1.0 - 1e-6));
  }
}

TEST_CASE("a part of what is not attained contradicts no other end", "[dp]") {
  for (std::uint64_t const count : {1U, 5U, 100U}) {
    for (double const delta : {1e-9, 1e-6}) {
      privacy_loss_accountant certified(adjacency::add_remove);
      renyi_accountant moments(adjacency::add_remove);
      certified.compose(exponential_mechanism{0.1}, count);
      certified.compose(sampled(gaussian{6.0}, poisson{2e-9}), 1);
      moments.compose(exponential_mechanism{0.1}, count);
      moments.compose(sampled(gaussian{6.0}, poisson{2e-9}), 1);
      bound<double> const e = certified.epsilon(delta);
      CHECK(e.lower <= e.upper);
      CHECK(e.upper <= moments.epsilon(delta).upper);
    }
  }
}

TEST_CASE("never above the Rényi accountant, whatever is released", "[dp][long]") {
  std::vector<event> const releases{gaussian{1e-8},
                                    gaussian{0.3},
                                    laplace{0.7},
                                    pure{0.1},
                                    pure{5.0},
                                    randomised_response{1.0, 4},
                                    exponential_mechanism{0.5},
                                    discrete_gaussian{2.0},
                                    sampled(gaussian{0.4}, poisson{1e-4}),
                                    sampled(gaussian{20.0}, poisson{1e-3}),
                                    sampled(laplace{0.2}, poisson{0.01}),
                                    sampled(pure{3.0}, poisson{0.01}),
                                    sampled(exponential_mechanism{2.0}, poisson{0.1}),
                                    by_person(sampled(gaussian{2.0}, poisson{0.01}), 3),
                                    sampled(gaussian{1.0}, fixed_size{10, 1000}),
                                    sampled(laplace{1.0}, fixed_size{10, 1000})};
  int asked = 0;
  for (adjacency const neighbours : {adjacency::add_remove, adjacency::replace_one}) {
    for (event const& release : releases) {
      for (std::uint64_t const count : {std::uint64_t{1}, std::uint64_t{30}}) {
        privacy_loss_accountant certified(neighbours);
        renyi_accountant moments(neighbours);
        try {
          certified.compose(release, count);
          moments.compose(release, count);
        } catch (std::invalid_argument const&) {  // no pair, or no divergence
          continue;
        }
        ++asked;
        bound<double> const e = certified.epsilon(1e-7);
        CAPTURE(to_text(neighbours), &release - releases.data(), count, e.lower, e.upper);
        CHECK(e.lower <= e.upper);
        CHECK(e.upper - moments.epsilon(1e-7).upper <= 0.0);
        bound<double> const d = certified.delta(0.4);
        CHECK(d.lower <= d.upper);
        CHECK(d.upper - moments.delta(0.4).upper <= 0.0);
      }
    }
  }
  CHECK(asked > 30);
}

namespace {

// Σ over releases of one record, sigma(k) and rate(k) of the k-th.
template <class Sigma, class Rate>
privacy_loss_accountant distinct(int n, Sigma&& sigma, Rate&& rate) {
  privacy_loss_accountant account;
  for (int k = 0; k < n; ++k) account.compose(subsampled(rate(k), sigma(k)));
  return account;
}

using spectrum = std::vector<std::complex<double>>;

// The sum of x_j·e^{∓2πijk/N} in place, N a power of two, by the textbook.
void transform(spectrum& x, double sign) {
  std::size_t const n = x.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n >> 1U;
    for (; (j & bit) != 0; bit >>= 1U) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (std::size_t half = 1; half < n; half *= 2) {
    for (std::size_t k = 0; k < half; ++k) {
      auto const turn = std::polar(
          1.0, sign * std::acos(-1.0) * static_cast<double>(k) / static_cast<double>(half));
      for (std::size_t i = k; i < n; i += 2 * half) {
        auto const b = turn * x[i + half];
        x[i + half] = x[i] - b;
        x[i] += b;
      }
    }
  }
}

// δ(ε) of releases in the direction remove, about: losses under P, in 20,000 bins of the output each, shared between the
// neighbouring points of a lattice so that their mean is kept, and convolved.
double convolved_delta(std::vector<double> const& rates, std::vector<double> const& sigmas,
                       double epsilon) {
  constexpr std::size_t size = 1U << 16U;
  constexpr double step = 1e-3;
  spectrum all(size, 1.0);
  for (std::size_t k = 0; k < rates.size(); ++k) {
    double const shift = 1.0 / sigmas[k];
    auto const below = [&](double x) {
      auto const normal = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
      return (1.0 - rates[k]) * normal(x) + rates[k] * normal(x - shift);
    };
    spectrum one(size, 0.0);
    constexpr int bins = 20000;
    double const width = (shift + 18.0) / bins;
    for (int i = 0; i < bins; ++i) {
      double const x = -9.0 + width * i;
      double const loss =
          std::log1p(rates[k] * std::expm1(shift * (x + 0.5 * width) - 0.5 * shift * shift));
      double const at = loss / step + 0.5 * size;
      auto const place = static_cast<std::size_t>(at);
      double const mass = below(x + width) - below(x);
      double const share = at - static_cast<double>(place);
      one[(place + size / 2) % size] += mass * (1.0 - share);
      one[(place + size / 2 + 1) % size] += mass * share;
    }
    transform(one, -1.0);
    for (std::size_t i = 0; i < size; ++i) all[i] *= one[i];
  }
  transform(all, 1.0);
  double delta = 0.0;
  for (std::size_t i = 0; i < size / 2; ++i) {
    double const above = step * static_cast<double>(i) - epsilon;
    if (above > 0.0) delta -= all[i].real() / static_cast<double>(size) * std::expm1(-above);
  }
  return delta;
}

}  // namespace

TEST_CASE("thirty distinct sampled Gaussians", "[dp][long]") {
  constexpr int n = 30;
  auto const sigma = [](int k) { return 1.0 + 0.1 * k; };
  for (double const rate : {0.01, 0.1}) {
    auto const account = distinct(n, sigma, [&](int) { return rate; });
    bound<double> const found = account.epsilon(1e-5);
    CAPTURE(rate, found.lower, found.upper);
    CHECK(found.lower <= found.upper);
    CHECK(found.upper - found.lower <= 1e-8 * found.upper);
    // An independent convolution, right to a few parts in 10⁵.
    std::vector<double> sigmas;
    for (int k = 0; k < n; ++k) sigmas.push_back(sigma(k));
    double const delta = convolved_delta(std::vector<double>(n, rate), sigmas, found.upper);
    CHECK(std::abs(delta / 1e-5 - 1.0) < 1e-3);
    // One by one, in groups of equal ones, and backwards.
    privacy_loss_accountant twice;
    for (int k = n; k-- > 0;) twice.compose(subsampled(rate, sigma(k)));
    bound<double> const backwards = twice.epsilon(1e-5);
    CHECK(backwards.lower <= found.upper);
    CHECK(found.lower <= backwards.upper);
    for (int k = 0; k < n; ++k) twice.compose(subsampled(rate, sigma(k)));
    privacy_loss_accountant pairs;
    for (int k = 0; k < n; ++k) pairs.compose(subsampled(rate, sigma(k)), 2);
    bound<double> const one = twice.epsilon(1e-5);
    bound<double> const other = pairs.epsilon(1e-5);
    CHECK(one.lower <= other.upper);
    CHECK(other.lower <= one.upper);
    CHECK(other.upper - other.lower <= 1e-8 * other.upper);
  }
}

// The limit of equal releases, between those of the least and of the most private.
TEST_CASE("distinct sampled Gaussians that hardly differ", "[dp]") {
  for (int const n : {30, 300, 1000}) {
    auto const near_one = [&](int k) { return 1.5 + 1e-7 * k / n; };
    bound<double> const found = distinct(n, near_one, [](int) { return 0.02; }).epsilon(1e-6);
    auto const steps = static_cast<std::uint64_t>(n);
    bound<double> const most = run(0.02, 1.5, steps).epsilon(1e-6);
    bound<double> const least = run(0.02, 1.5 + 1e-7, steps).epsilon(1e-6);
    CAPTURE(n, found.lower, found.upper);
    CHECK(found.lower <= most.upper);
    CHECK(found.upper >= least.lower);
    CHECK(found.upper - found.lower <= 1e-8 * found.upper);
  }
}

// The line and the rays share neither tables nor formulas.
TEST_CASE("many distinct sampled Gaussians on the line and on rays", "[dp]") {
  std::vector<detail::contour<double>::entry> entries;
  detail::rays::composition what;
  for (int k = 0; k < 100; ++k) {
    double const shift = 1.0 / (1.0 + 0.03 * k);
    double const rate = 0.01 + 0.0002 * (k % 7);
    entries.push_back({mixture_pair{{{rate, shift}}, orientation::remove}, 1.0});
    what.events.push_back({rate, shift, 1.0});
  }
  detail::work_budget work(detail::work_on_lines);
  auto const line =
      detail::contour<double>(entries, 0.0).epsilon(1e-5, detail::line_effort::quick, work);
  auto const rays = detail::rays::epsilon<double>(what, orientation::remove, std::log(1e-5), 0.0);
  REQUIRE(line);
  REQUIRE(rays);
  CHECK(line->lower <= rays->upper);
  CHECK(rays->lower <= line->upper);
  CHECK(line->upper - line->lower <= 1e-9);
  CHECK(rays->upper - rays->lower <= 1e-9);
}

TEST_CASE("thousands of distinct sampled Gaussians", "[dp][long]") {
  auto const sigma = [](int k) { return 1.0 + 3.0 * k / 10'000; };
  auto const even = [](int) { return 0.01; };
  auto const scattered = [](int k) { return 0.001 * std::pow(50.0, 7 * k % 1009 / 1009.0); };
  // One by one as long as the work suffices, then around as many as it suffices for.
  struct composition {
    int n;
    std::function<double(int)> rate;
    double width;  // of max(1, ε)
  };
  for (auto const& [n, rate, width] : {composition{2'000, even, 1e-9},
                                       {2'000, scattered, 1e-9},
                                       {10'000, even, 0.01},
                                       {10'000, scattered, 0.05}}) {
    auto const mixed = distinct(n, sigma, rate);
    bound<double> const found = mixed.epsilon(1e-5);
    CAPTURE(n, found.lower, found.upper);
    CHECK(found.upper - found.lower < width * std::max(1.0, found.upper));
    // By hand: twenty neighbours as the one of them that gives away the most would, or the least.
    privacy_loss_accountant above, below;
    for (int k = 0; k < n; k += 20) {
      double most = 0.0;
      double least = 1.0;
      for (int j = k; j < k + 20; ++j) {
        most = std::max(most, rate(j));
        least = std::min(least, rate(j));
      }
      above.compose(subsampled(most, sigma(k)), 20);
      below.compose(subsampled(least, sigma(k + 19)), 20);
    }
    CHECK(found.lower <= above.epsilon(1e-5).upper);
    CHECK(found.upper >= below.epsilon(1e-5).lower);
    bound<double> const back = mixed.delta(found.upper);
    CHECK(back.lower <= 1e-5);
    CHECK(mixed.delta(found.lower).upper >= 1e-5);
  }
}

TEST_CASE("thousands of distinct sampled Gaussians are never above the Rényi accountant",
          "[dp][long]") {
  struct run {
    int n;
    double least, most;  // σ
    double low, high;    // rates
    double delta;
  };
  // The first was above it by a third, the second in [0, 87,600].
  for (run const& r :
       {run{3'000, 0.3, 30.0, 1e-5, 0.5, 0.999999}, run{10'300, 1.13, 2.25, 1e-4, 3.7e-4, 7e-4}}) {
    privacy_loss_accountant certified;
    renyi_accountant by_orders;
    std::mt19937_64 random(20261201);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (int k = 0; k < r.n; ++k) {
      double const sigma = r.least * std::pow(r.most / r.least, uniform(random));
      double const rate = r.low * std::pow(r.high / r.low, uniform(random));
      auto const count = static_cast<std::uint64_t>(std::pow(100.0, uniform(random)));
      certified.compose(subsampled(rate, sigma), count);
      by_orders.compose(subsampled(rate, sigma), count);
    }
    bound<double> const found = certified.epsilon(r.delta);
    CAPTURE(r.n, found.lower, found.upper);
    CHECK(found.upper <= by_orders.epsilon(r.delta).upper);
    CHECK(found.upper < 1e4);
  }
}

TEST_CASE("runs that hardly sample are answered at once", "[dp]") {
  using namespace tacit;
  for (double const rate : {1e-310, 4e-320, 1e-300}) {
    for (std::uint64_t const records : {1U, 3U}) {
      privacy_loss_accountant run;
      run.compose(by_person(sampled(gaussian{1e-3}, poisson{rate}), records), 1000);
      bound<double> const delta = run.delta(0.1);
      double const drawn =
          1000.0 * static_cast<double>(records) * rate;  // of all steps together, at most
      CHECK(delta.lower == 0.0);
      CHECK(delta.upper >= drawn);
      CHECK(delta.upper <= drawn * (1.0 + 1e-14) + 1e-320);
      CHECK(run.epsilon(1e-5).upper == 0.0);
    }
  }
  // What is not sampled takes part.
  privacy_loss_accountant both;
  both.compose(sampled(gaussian{1.0}, poisson{1e-310}), 1000).compose(gaussian{1.0});
  CHECK(both.delta(0.1).lower > 0.3);
  CHECK(both.epsilon(1e-5).lower > 1.0);
}

TEST_CASE("one step is the profile of the pair", "[dp]") {
  support::table const rows("dp_profile.csv");
  int seen = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    double const epsilon = rows.number(k, "epsilon");
    double const rate = rows.number(k, "rate");
    if (rows.text(k, "direction") != "remove" || epsilon < 0.0) continue;
    auto const account = run(rate, rows.number(k, "sigma"), 1);
    auto const found = account.method().delta_by(epsilon);
    exact const truth = rows.value(k, "delta");
    CAPTURE(k, rate, rows.number(k, "sigma"), epsilon, found.value.lower, found.value.upper);
    CHECK(found.by == privacy_loss_route::closed_form);
    CHECK(exact(found.value.lower) <= truth);
    CHECK(exact(found.value.upper) >= truth);
    if (truth > exact(1e-290)) {
      CHECK(found.value.upper - found.value.lower <= 1e-10 * found.value.upper);
    }
    ++seen;
  }
  CHECK(seen > 30);
}

TEST_CASE("one step: ε is the inverse of δ", "[dp]") {
  for (double const rate : {1e-9, 0.01, 0.7}) {
    for (double const sigma : {0.3, 1.0, 5.0}) {
      for (double const part : {1e-3, 1e-12, 1e-100}) {
        auto const account = run(rate, sigma, 1);
        double const delta = rate * part;
        bound<double> const epsilon = account.epsilon(delta);
        CHECK(epsilon.lower <= epsilon.upper);
        CHECK(account.delta(epsilon.upper).lower <= delta);
        CHECK(account.delta(epsilon.lower).upper >= delta * (1.0 - 1e-9));
        CHECK(epsilon.upper - epsilon.lower <= 1e-8 * epsilon.upper + 1e-300);
      }
    }
  }
}

TEST_CASE("unsampled runs are Gaussian differential privacy", "[dp]") {
  privacy_loss_accountant account;
  account.compose(gaussian{.noise_multiplier = 50.0}, 10000);  // μ = 2
  bound<double> const closed = epsilon(gaussian_dp{2.0}, 1e-10);
  bound<double> const found = account.epsilon(1e-10);
  CHECK(found.lower <= closed.upper);
  CHECK(found.upper >= closed.lower);
  CHECK(found.lower <= 14.27409 + 1e-5);
  CHECK(found.upper >= 14.27409 - 1e-5);
  CHECK(account.method().epsilon_by(1e-10).by == privacy_loss_route::closed_form);
}

TEST_CASE("the end of the Rényi accountant never lies below the certified one", "[dp]") {
  compare_with_renyi(120, 11);
}

TEST_CASE("the end of the Rényi accountant never lies below, two thousand", "[.sweep]") {
  compare_with_renyi(2000, 12);
}

TEST_CASE("the contour and the discretised distribution agree", "[dp][long]") {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int k = 0; k < 12; ++k) {
    double const rate = std::pow(10.0, -3.0 * uniform(random));
    double const sigma = std::pow(10.0, -0.2 + 1.2 * uniform(random));
    auto const steps =
        static_cast<std::uint64_t>(std::round(std::pow(10.0, 1.0 + 3.0 * uniform(random))));
    double const delta = std::pow(10.0, -1.0 - 15.0 * uniform(random));
    bound<double> const found = run(rate, sigma, steps).epsilon(delta);
    discretised_accountant second;
    second.compose(subsampled(rate, sigma), steps);
    bound<double> const check = second.epsilon(delta);
    CAPTURE(rate, sigma, steps, delta, found.lower, found.upper, check.lower, check.upper);
    CHECK(found.lower <= check.upper);
    CHECK(check.lower <= found.upper);
  }
}

TEST_CASE("the number of steps costs nothing and may be a million millions", "[dp]") {
  auto const found = run(1e-6, 1.0, 1000000000000).method().epsilon_by(1e-5);
  CHECK(found.by == privacy_loss_route::contour);
  CHECK(found.value.upper - found.value.lower <= 1e-12 * found.value.upper);
  // CLT: Σ losses is nearly normal with variance T·q²(e−1).
  CHECK(found.value.lower > 5.9);
  CHECK(found.value.upper < 6.1);
}

TEST_CASE("nothing composed, nothing released, everything released", "[dp]") {
  privacy_loss_accountant account;
  CHECK(account.epsilon(1e-5).upper == 0.0);
  CHECK(account.delta(0.0).upper <= std::numeric_limits<double>::min());
  account.compose(subsampled(0.0, 1.0), 1000);
  CHECK(account.epsilon(1e-5).upper == 0.0);
  CHECK(account.method().attained());

  // A rate and a number of steps at which δ(0) is below δ.
  CHECK(run(1e-12, 1.0, 1000).epsilon(1e-5).upper == 0.0);

  CHECK_THROWS_AS(account.epsilon(0.0), std::domain_error);
  CHECK_THROWS_AS(account.epsilon(std::nan("")), std::domain_error);
  CHECK_THROWS_AS(account.delta(-1.0), std::domain_error);
  CHECK_THROWS_AS(account.compose(subsampled(1.5, 1.0)), std::domain_error);
}

TEST_CASE("merge, copy, save and load answer alike", "[dp]") {
  privacy_loss_accountant first = run(0.01, 1.0, 4000);
  privacy_loss_accountant second = run(0.02, 1.5, 3000);
  privacy_loss_accountant both = first;
  both.compose(second);
  privacy_loss_accountant by_hand;
  by_hand.compose(subsampled(0.01, 1.0), 4000).compose(subsampled(0.02, 1.5), 3000);
  CHECK(both.epsilon(1e-6).upper == by_hand.epsilon(1e-6).upper);
  auto const again = privacy_loss_accountant::load(both.save());
  CHECK(again.epsilon(1e-6).upper == both.epsilon(1e-6).upper);
  CHECK(both.would_exceed(subsampled(0.01, 1.0), 1, {both.epsilon(1e-6).upper, 1e-6}));
  CHECK_FALSE(both.would_exceed(subsampled(0.01, 1.0), 1, {both.epsilon(1e-6).upper + 0.1, 1e-6}));
  CHECK_THROWS_AS(renyi_accountant::load(both.save()), corrupt_state);
}

TEST_CASE("an attacker's success is below that of any single (ε, δ)", "[dp]") {
  auto const account = run(0.01, 1.0, 1000);
  for (double const prior : {0.5, 0.9, 0.99}) {
    double const success = account.attack_success(prior);
    CHECK(success >= prior);
    for (double const delta : {1e-2, 1e-5, 1e-9}) {
      approx_dp const guarantee{account.epsilon(delta).upper, delta};
      CHECK(success <= attack_success(guarantee, prior) * (1.0 + 1e-12));
    }
  }
}

TEST_CASE("persons with several records are dearer than one, cheaper than all at once", "[dp]") {
  privacy_loss_accountant one = run(0.01, 2.0, 1000);
  privacy_loss_accountant four;
  four.compose(by_person(subsampled(0.01, 2.0), 4), 1000);
  privacy_loss_accountant shift;  // all four always together
  shift.compose(subsampled(0.04, 0.5), 1000);
  CHECK(four.epsilon(1e-6).lower > one.epsilon(1e-6).upper);
  CHECK(four.epsilon(1e-6).upper < shift.epsilon(1e-6).lower);
}

TEST_CASE("rare large losses: no end is on the wrong side of a Chernoff bound", "[dp][long]") {
  // 10^8 steps of rate 10^-6 and σ = 1. With 60-digit moments of the law cut at 14, and what is cut off,
  // δ(.5) ≤ 2.4e-35 and δ(.2) ≤ 3.6e-29: losses must keep their digits where they are small and their
  // exponents are not.
  privacy_loss run(adjacency::add_remove);
  run.add(sampled(gaussian{.noise_multiplier = 1.0}, poisson{.rate = 1e-6}), 100'000'000);
  bound<double> const half = run.delta(0.5);
  CHECK(half.lower <= 2.4e-35);
  CHECK(half.upper >= half.lower);
  CHECK(half.upper < 1e-15);
  bound<double> const fifth = run.delta(0.2);
  CHECK(fifth.lower <= 3.6e-29);
  CHECK(fifth.upper < 1e-10);
  // The bulk is nearly normal, 7.6 deviations below .1.
  bound<double> const tenth = run.delta(0.1);
  CHECK(tenth.lower > 1e-17);
  CHECK(tenth.upper < 1e-16);
  bound<double> const epsilon = run.epsilon(1e-20);
  CHECK(epsilon.lower < 0.2);
  CHECK(epsilon.upper < 0.3);
  CHECK(epsilon.lower > 0.11);
}

// What the noise of mechanism/quantised.hpp is charged as, against the exact law.

TEST_CASE("discrete Gaussian noise, composed and sampled, leaks no more than it is charged",
          "[whole_noise][long]") {
  struct whole_run {
    std::uint64_t sigma;
    std::uint64_t sensitivity;
    double rate;
    std::uint64_t steps;
  };
  for (whole_run const& r :
       {whole_run{4, 1, 1.0, 1}, whole_run{4, 8, 1.0, 3}, whole_run{6, 2, 0.2, 20},
        whole_run{10, 3, 1.0, 50}, whole_run{12, 8, 0.1, 200}, whole_run{20, 1, 0.01, 1000},
        whole_run{20, 8, 0.05, 100}}) {
    quantised_noise const noise{r.sigma, static_cast<double>(r.sensitivity)};
    discretised_accountant lattice;
    lattice.compose(
        sampled(discrete_gaussian{static_cast<double>(r.sigma), r.sensitivity}, poisson{r.rate}),
        r.steps);
    privacy_loss_accountant charged;
    charged.compose(sampled(noise.charged(), poisson{r.rate}), r.steps);
    for (double const delta : {1e-2, 1e-5, 1e-8}) {
      INFO("sigma " << r.sigma << " sensitivity " << r.sensitivity << " rate " << r.rate);
      CHECK(lattice.epsilon(delta).upper <= charged.epsilon(delta).upper * (1.0 + 1e-4));
    }
    if (r.sigma == 20) {  // 391 of 400 units of variance: nearly as little as it could be
      CHECK(lattice.epsilon(1e-5).lower >= 0.97 * charged.epsilon(1e-5).upper);
    }
  }
}

TEST_CASE("discrete Laplace noise leaks no more than on the coarser grid of its charge",
          "[whole_noise][long]") {
  // A grid of 1024 a clip, which an accountant still takes, against one of 64.
  constexpr std::uint64_t cells = quantised_laplace::cells;
  for (double const rate : {1.0, 0.1}) {
    for (double const multiplier : {0.5, 3.0, 20.0}) {
      std::uint64_t const steps = 10;
      auto const spent = [&](mechanism_event const& what) {
        privacy_loss_accountant all;
        return all.compose(sampled(what, poisson{rate}), steps);
      };
      auto const fine = spent(discrete_laplace{1024.0 * multiplier, 1024});
      auto const coarse = spent(discrete_laplace{static_cast<double>(cells) * multiplier, cells});
      for (double const delta : {1e-2, 1e-5}) {
        double const charged = coarse.epsilon(delta).upper;
        bound<double> const leaked = fine.epsilon(delta);
        CHECK(leaked.lower <= charged);
        CHECK(leaked.upper <= charged * (1.0 + 1e-4));
        CHECK(leaked.lower >= 0.98 * charged);
      }
    }
  }
  // The continuous distribution is no bound: its largest loss is rarer.
  auto const one = [](mechanism_event const& what) {
    return privacy_loss_accountant().compose(what).delta(0.9);
  };
  CHECK(one(discrete_laplace{64.0, 64}).lower > one(laplace{1.0}).upper);
  CHECK(one(discrete_laplace{1024.0, 1024}).lower > one(laplace{1.0}).upper);
}

TEST_CASE("a release with Laplace noise is pure", "[whole_noise]") {
  for (double const multiplier : {0.3, 1.0, 7.7}) {
    auto const noise = quantised_laplace::for_multiplier(multiplier);
    double const pure = noise.epsilon();
    CHECK(pure <= 1.0 / multiplier * (1.0 + 1e-14));
    CHECK(pure >= 1.0 / multiplier * (1.0 - 1e-5));
    auto const steps = privacy_loss_accountant().compose(noise.charged(), 4);
    CHECK(steps.delta(4.0 * pure * (1.0 + 1e-12)).upper <= 1e-12);
    CHECK(steps.delta(4.0 * pure * 0.99).upper > 1e-12);
  }
  CHECK_THROWS_AS(quantised_laplace::for_multiplier(0.0), std::domain_error);
  CHECK_THROWS_AS(quantised_laplace::for_multiplier(0x1p26), std::domain_error);
}

TEST_CASE("a search that finds no tilt asks for no more memory than its budget", "[privacy_loss]") {
  // The guess of δ rose to where a taper may drop everything, and its place is the root of a negative number.
  privacy_loss_accountant thirty(adjacency::add_remove);
  for (int k = 0; k < 30; ++k) thirty.compose(sampled(gaussian{1.0 + 0.1 * k}, poisson{0.01}));
  bound<double> const many = thirty.epsilon(1e-5);
  CHECK(many.lower > 0.0);
  CHECK(many.upper < 1.0);
  privacy_loss_accountant rare(adjacency::add_remove);
  rare.compose(sampled(gaussian{2.0}, poisson{1e-20}), std::uint64_t{1} << 53U);
  CHECK(rare.delta(1.0).upper < 1e-300);
}

TEST_CASE("negligible rates among many distinct ones leave an interval", "[privacy_loss][long]") {
  // The engines take no rate of 1e-200, and there are too many events to be composed one by one.
  privacy_loss_accountant with(adjacency::add_remove);
  privacy_loss_accountant without(adjacency::add_remove);
  for (int k = 0; k < 1500; ++k) {
    event const one = sampled(gaussian{1.0 + 0.001 * k}, poisson{0.001 + 1e-6 * k});
    bool const negligible = k % 7 == 0;
    with.compose(negligible ? sampled(gaussian{1.0 + 0.001 * k}, poisson{1e-200}) : one);
    if (!negligible) without.compose(one);
  }
  bound<double> const a = with.epsilon(1e-5);
  bound<double> const b = without.epsilon(1e-5);
  CHECK(a.lower > 0.9 * b.lower);
  CHECK(a.upper < 1.1 * b.upper);
  CHECK(a.lower <= b.upper);
  CHECK(b.lower <= a.upper);
}
