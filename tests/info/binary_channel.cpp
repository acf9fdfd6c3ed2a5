// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/quadrature.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/info/binary_channel.hpp>
#include <tacit/info/conversion.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/info/gauss_hermite_information.hpp>
#include <tacit/info/noised_sign.hpp>
#include <tacit/info/sign_channel.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/sanitised.hpp"
#include "support/table.hpp"

#include <boost/math/special_functions/erf.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

using namespace tacit;
using support::exact;
using support::table;

namespace {

/// Priors from ½ down to 1e-300, budgets over every regime: a share of the entropy, a tiny share, next
/// to the entropy, and plain small numbers.
struct request {
  double prior;
  double budget;
};
class requests {
 public:
  explicit requests(std::uint64_t seed) : random_(seed) {}

  request next() {
    for (;;) {
      double const depth = draw() < 0.5 ? 300.0 : 6.0;
      double const prior = 0.5 * std::pow(10.0, -depth * draw());
      double const entropy = binary_entropy(prior);
      double budget = 0.0;
      switch (kind_++ % 4) {
        case 0:
          budget = entropy * draw();
          break;
        case 1:
          budget = entropy * std::pow(10.0, -12.0 * draw());
          break;
        case 2:
          budget = entropy * (1.0 - std::pow(10.0, -16.0 * draw()));
          break;
        default:
          budget = std::pow(10.0, -290.0 * draw());
          break;
      }
      if (budget >= 1e-290 && budget < entropy) return {prior, budget};
    }
  }

 private:
  double draw() { return std::uniform_real_distribution<double>()(random_); }
  std::mt19937_64 random_;
  int kind_ = 0;
};

template <class T>
T spent_by_value(double prior, double sigma) {
  return mutual_information(basic_binary_channel<T>{T(prior), T(sigma)});
}
template <class T>
T spent_by_sign(double prior, flip const& noise) {
  auto const wide = noise.correlation() <= 0.5
                        ? basic_flip<T>::with_correlation(T(noise.correlation()))
                        : basic_flip<T>::with_probability(T(noise.probability()));
  return mutual_information(basic_sign_channel<T>{T(prior), wide});
}

template <class T>
void check_inverses(std::size_t cases, std::uint64_t seed) {
  requests source(seed);
  T highest_value = T(0), lowest_value = T(2), highest_sign = T(0), lowest_sign = T(2);
  bool charges_fit = true;
  for (std::size_t i = 0; i < cases; ++i) {
    auto const [prior, budget] = source.next();
    double const sigma = noise_for(binary_channel{.prior = prior}, nats(budget));
    flip const noise = noise_for(sign_channel{.prior = prior}, nats(budget));
    T const by_value = T(spent_by_value<T>(prior, sigma) / T(budget));
    T const by_sign = T(spent_by_sign<T>(prior, noise) / T(budget));
    // The price that a ledger will ask fits too.
    charges_fit = charges_fit && information_charge(binary_channel{prior, sigma}).value <= budget &&
                  information_charge(sign_channel{prior, noise}).value <= budget;
    highest_value = by_value > highest_value ? by_value : highest_value;
    lowest_value = by_value < lowest_value ? by_value : lowest_value;
    highest_sign = by_sign > highest_sign ? by_sign : highest_sign;
    lowest_sign = by_sign < lowest_sign ? by_sign : lowest_sign;
  }
  CHECK(charges_fit);
  CHECK(highest_value <= T(1));
  CHECK(highest_sign <= T(1));
  CHECK(lowest_value >= T(1) - T(1e-12));
  CHECK(lowest_sign >= T(1) - T(1e-12));
}

}  // namespace

TEST_CASE("noise_for never overspends and wastes at most 1e-12: 1e5 cases in long double") {
  check_inverses<long double>(support::sanitised ? 5'000 : 100'000, 20261121);
}

TEST_CASE("noise_for never overspends and wastes at most 1e-12: 1e3 cases in 50 digits", "[slow]") {
  check_inverses<exact>(1'000, 7);
}

TEST_CASE("noise_for over a million cases", "[.sweep][sweep]") {
  check_inverses<long double>(1'000'000, 99);
  check_inverses<exact>(10'000, 99);
}

TEST_CASE("noise_for lands on the safe side of the 40-digit inverse") {
  table const reference("inverse.csv");
  for (std::size_t row = 0; row < reference.size(); ++row) {
    double const prior = reference.number(row, "prior");
    nats const beta(reference.number(row, "beta"));
    CAPTURE(prior, beta.value);
    exact const sigma = exact(noise_for(binary_channel{.prior = prior}, beta));
    CHECK(sigma >= reference.value(row, "sigma"));
    flip const noise = noise_for(sign_channel{.prior = prior}, beta);
    if (noise.correlation() <= 0.5) {
      CHECK(exact(noise.correlation()) <= reference.value(row, "correlation"));
      CHECK(exact(noise.correlation()) >= reference.value(row, "correlation") * exact(1 - 1e-9));
    } else {
      CHECK(exact(noise.probability()) >= reference.value(row, "flip"));
    }
  }
}

TEST_CASE("the ends of the budget have defined answers") {
  binary_channel const fair{.prior = 0.5};
  sign_channel const sign{.prior = 0.5};
  CHECK(noise_for(fair, nats(0.0)) == infinity);
  CHECK(noise_for(sign, nats(0.0)).correlation() == 0.0);
  CHECK(noise_for(fair, nats(0.7)) == 0.0);  // above log 2: nothing to hide
  CHECK(noise_for(sign, nats(0.7)).correlation() == 1.0);
  CHECK(noise_for(binary_channel{.prior = 0.0}, nats(0.1)) == 0.0);
  CHECK(noise_for(binary_channel{.prior = 0.0}, nats(0.0)) == infinity);
  // Next to the entropy the answer is still noise, and still fits.
  double const below = std::nextafter(binary_entropy(0.5), 0.0);
  double const sigma = noise_for(fair, nats(below));
  CHECK(sigma > 0.0);
  CHECK(spent_by_value<exact>(0.5, sigma) <= exact(below));
  // Under 1e-290 relative accuracy ends, safety does not.
  double const least = noise_for(fair, nats(1e-300));
  CHECK(exact(0.5) / (exact(least) * exact(least)) <= exact(1e-300));  // I ≤ 2q(1−q)/σ²
}

TEST_CASE("noise_for refuses what has no answer") {
  CHECK_THROWS_AS(noise_for(binary_channel{.prior = 1.5}, nats(0.1)), std::domain_error);
  CHECK_THROWS_WITH(noise_for(binary_channel{.prior = 1.5}, nats(0.1)),
                    "noise_for: prior is 1.5, but must be in [0, 1]");
  CHECK_THROWS_AS(noise_for(binary_channel{}, nats(0.1)), std::domain_error);
  CHECK_THROWS_AS(noise_for(binary_channel{.prior = 0.5}, nats()), std::domain_error);
  CHECK_THROWS_AS(noise_for(binary_channel{.prior = 0.5}, nats(-1.0)), std::domain_error);
  CHECK_THROWS_AS(noise_for(sign_channel{.prior = 0.5}, nats(-1e-9)), std::domain_error);
  // A noise that is already chosen is not silently replaced.
  CHECK_THROWS_AS(noise_for(binary_channel{.prior = 0.5, .sigma = 1.0}, nats(0.1)),
                  std::invalid_argument);
  CHECK_THROWS_AS(
      noise_for(sign_channel{.prior = 0.5, .noise = flip::with_correlation(0.5)}, nats(0.1)),
      std::invalid_argument);
  CHECK_THROWS_AS(mutual_information(binary_channel{.prior = 0.5}), std::domain_error);
  CHECK_THROWS_AS(mutual_information(binary_channel{.prior = 0.5, .sigma = -1.0}),
                  std::domain_error);
  CHECK_THROWS_AS(mutual_information(sign_channel{.prior = 0.5}), std::domain_error);
  CHECK_THROWS_AS(flip::with_correlation(std::nan("")), std::domain_error);
  CHECK_THROWS_AS(flip::with_probability(0.6), std::domain_error);
}

TEST_CASE("the channel behaves as one") {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform;
  for (int i = 0; i < 2000; ++i) {
    double const q = 0.5 * std::pow(10.0, -8.0 * uniform(random));
    double const sigma = std::pow(10.0, -1.5 + 6.0 * uniform(random));
    binary_channel const channel{.prior = q, .sigma = sigma};
    CAPTURE(q, sigma);
    double const information = mutual_information(channel);
    double const entropy = binary_entropy(q);
    CHECK(information >= 0.0);
    CHECK(information <= entropy * (1 + 1e-14));
    CHECK(information + equivocation(channel) == Approx(entropy).epsilon(1e-14));
    // Either sign may be the rare one.
    if (q > 0.01) {
      CHECK(mutual_information(binary_channel{.prior = 1.0 - q, .sigma = sigma}) ==
            Approx(information).epsilon(1e-12));
    }
    // More noise, less information: 2q(1−q)/σ² bounds it.
    double const noisier = mutual_information(binary_channel{.prior = q, .sigma = sigma * 1.001});
    CHECK((information < 0.999 * entropy ? noisier < information
                                         : noisier <= information * (1 + 1e-14)));
    CHECK(information <= 2.0 * q * (1.0 - q) / sigma / sigma * (1 + 1e-14));
    // The sign of Y is a function of Y: it tells less.
    double const of_sign =
        mutual_information(sign_channel{.prior = q, .noise = flip_of_gaussian(sigma)});
    CHECK(of_sign <= information * (1 + 1e-13));
    // A charge is above the truth, and not far above.
    CHECK(information_charge(channel).value > information);
    CHECK(information_charge(channel).value <= information * (1 + 2e-13));
  }
}

TEST_CASE("the estimation error is the slope of the information") {
  for (double const q : {0.5, 0.3, 1e-3, 1e-9}) {
    for (double const sigma : {0.1, 0.5, 0.97, 1.0, 3.0, 40.0}) {
      CAPTURE(q, sigma);
      exact const h = exact("1e-12") * exact(sigma);
      using wide = basic_binary_channel<exact>;
      exact const difference = (mutual_information(wide{exact(q), exact(sigma) + h}) -
                                mutual_information(wide{exact(q), exact(sigma) - h})) /
                               (exact(2) * h);
      double const slope =
          -mmse(binary_channel{.prior = q, .sigma = sigma}) / (sigma * sigma * sigma);
      CHECK(slope < 0.0);
      CHECK(slope == Approx(static_cast<double>(difference)).epsilon(1e-10));
    }
  }
}

TEST_CASE("at small budgets the sign carries 2/pi of the value's charge") {
  double const sigma = 1e4;
  double const ratio =
      mutual_information(sign_channel{.prior = 0.5, .noise = flip_of_gaussian(sigma)}) /
      mutual_information(binary_channel{.prior = 0.5, .sigma = sigma});
  CHECK(ratio == Approx(2.0 / 3.14159265358979).epsilon(1e-6));
  // Charging the sign buys up to sqrt(pi/2) more correlation.
  auto const gain = [](double share) {
    nats const budget(share * binary_entropy(0.5));
    return noise_for(sign_channel{.prior = 0.5}, budget).correlation() /
           flip_of_gaussian(noise_for(binary_channel{.prior = 0.5}, budget)).correlation();
  };
  CHECK(gain(1e-6) == Approx(1.2533).epsilon(1e-3));
  CHECK(gain(0.3) == Approx(1.17).margin(0.01));
  CHECK(gain(0.9) == Approx(1.03).margin(0.01));
}

TEST_CASE("a flip and its Gaussian stand for each other, on the noisy side") {
  for (double const rho : {1e-150, 1e-20, 1e-3, 0.3, 0.5, 0.7, 0.999, 1.0 - 0x1p-53}) {
    flip const noise = flip::with_correlation(rho);
    double const sigma = gaussian_sigma(noise);
    CAPTURE(rho, sigma);
    flip const back = flip_of_gaussian(sigma);
    if (rho <= 0.5) {
      CHECK(back.correlation() <= rho);
      CHECK(back.correlation() >= rho * (1 - 1e-13));
    } else {
      CHECK(back.probability() >= noise.probability());
    }
  }
  CHECK(gaussian_sigma(flip::with_correlation(0.0)) == infinity);
  CHECK(gaussian_sigma(flip::with_correlation(1.0)) == 0.0);
}

TEST_CASE("a flip of a Gaussian by 50 digits, and no Gaussian of a flip shows more") {
  // 2Φ(x) − 1 and 1 − Φ(x) of x = 1/σ by Boost, not by what the library has.
  auto const correlation = [](double sigma) {
    return exact(boost::math::erf(exact(1 / (exact(sigma) * sqrt(exact(2))))));
  };
  auto const probability = [](double sigma) {
    return exact(boost::math::erfc(exact(1 / (exact(sigma) * sqrt(exact(2))))) / 2);
  };
  std::mt19937_64 random(83);
  std::uniform_real_distribution<double> uniform;
  double const unit = 0x1p-53;
  for (int k = 0; k < 3000; ++k) {
    double const sigma = k % 2 == 0 ? 0.05 * std::pow(10.0, 3.0 * uniform(random))
                                    : std::pow(10.0, 280.0 * uniform(random));
    CAPTURE(sigma);
    flip const shown = flip_of_gaussian(sigma);
    double const off = shown.correlation() <= 0.5
                           ? support::relative(shown.correlation(), correlation(sigma))
                           : support::relative(shown.probability(), probability(sigma)) /
                                 (1.0 + 1.0 / (sigma * sigma));
    REQUIRE(off <= 20.0 * unit);
  }
  for (int k = 0; k < 3000; ++k) {
    flip const given = k % 3 == 0 ? flip::with_correlation(uniform(random))
                       : k % 3 == 1
                           ? flip::with_correlation(std::pow(10.0, -300.0 * uniform(random)))
                           : flip::with_probability(std::pow(10.0, -300.0 * uniform(random)) / 2);
    if (given.correlation() == 0.0 || given.probability() == 0.0) continue;
    CAPTURE(given.correlation(), given.probability());
    double const sigma = gaussian_sigma(given);
    if (given.correlation() <= 0.5) {
      exact const back = correlation(sigma);
      REQUIRE(back <= given.correlation());
      if (given.correlation() >= 1e-290) REQUIRE(back >= given.correlation() * (1 - exact(1e-13)));
    } else {
      exact const back = probability(sigma);
      REQUIRE(back >= given.probability());
      // Within 1e-13 of σ: an error of σ counts 1 + 1/σ² times.
      if (given.probability() >= 1e-290) {
        REQUIRE(back <=
                given.probability() * (1 + exact(1.1e-13) * (1 + 1 / exact(sigma * sigma))));
      }
    }
  }
  for (double const least : {5e-324, 1e-320, 1e-310, 1e-300}) {
    CHECK(correlation(gaussian_sigma(flip::with_correlation(least))) <= least);
    CHECK(probability(gaussian_sigma(flip::with_probability(least))) >= least);
  }
}

TEST_CASE("the published 60-node rule errs as the table says, on both sides") {
  table const reference("gauss_hermite.csv");
  gauss_hermite_rule<exact> const rule = gauss_hermite<exact>(60);
  bool under = false;
  for (std::size_t row = 0; row < reference.size(); ++row) {
    basic_binary_channel<exact> const channel{exact(reference.number(row, "prior")),
                                              exact(reference.number(row, "sigma"))};
    exact const ours = gauss_hermite_information(channel, rule);
    exact const theirs = reference.value(row, "gauss_hermite_60");
    CHECK(abs(ours - theirs) <= abs(theirs) * exact("1e-30") + exact("1e-38"));
    under = under || theirs < reference.value(row, "mutual_information") * exact(1 - 1e-7);
  }
  CHECK(under);  // the rule under-reports somewhere: why it does no accounting here
}

namespace {

/// The inverse as published with PACZero, written anew: bisection of log σ in [1e-4, 1e4] until the
/// 60-node information is within 1e-6 of the budget, *absolutely*.
double published_sigma(double prior, double budget) {
  gauss_hermite_rule<double> const rule = gauss_hermite(60);
  double low = std::log(1e-4);
  double high = std::log(1e4);
  for (int i = 0; i < 200; ++i) {
    double const sigma = std::exp(0.5 * (low + high));
    double const information =
        gauss_hermite_information(binary_channel{.prior = prior, .sigma = sigma}, rule);
    if (std::abs(information - budget) < 1e-6) return sigma;
    (information > budget ? low : high) = 0.5 * (low + high);
  }
  return std::exp(0.5 * (low + high));
}

}  // namespace

TEST_CASE("the published inverse overspends as reported, and noise_for does not") {
  auto const overspend = [](double budget) {
    return mutual_information(binary_channel{.prior = 0.5, .sigma = published_sigma(0.5, budget)}) /
           budget;
  };
  CHECK(overspend(1e-7) == Approx(5.0).epsilon(0.05));
  CHECK(overspend(5e-8) == Approx(10.0).epsilon(0.05));
  CHECK(overspend(1e-12) > 1000.0);
  CHECK(overspend(3.3e-4) == Approx(1.0014).epsilon(5e-4));
  for (double const budget : {1e-7, 5e-8, 1e-12, 3.3e-4}) {
    double const sigma = noise_for(binary_channel{.prior = 0.5}, nats(budget));
    CHECK(spent_by_value<exact>(0.5, sigma) <= exact(budget));
  }
}

namespace {

constexpr double least_double = std::numeric_limits<double>::denorm_min();
constexpr double largest_double = std::numeric_limits<double>::max();

/// From the least positive double to the largest: subnormal numbers, those whose reciprocal or square leaves the
/// range, and where the formulas change over.
std::vector<double> const extremes{
    least_double, 1e-323, 1e-320, 1e-310, 5.5e-309, 5.6e-309, std::numeric_limits<double>::min(),
    1e-300,       1e-200, 1e-160, 1e-154, 1e-100,   1e-17,    1e-6,
    1e-4,         0.02,   0.0515, 0.0518, 0.06,     0.25,     0.5,
    0.97,         0.98,   1.0,    3.0,    1e4,      1e16,     1e100,
    1e150,        1e154,  1e160,  1e200,  1e300,    1e308,    largest_double};

std::vector<double> extreme_probabilities() {
  std::vector<double> all{0.0, 1.0 - 1e-10, 1.0 - 0x1p-53};
  for (double const x : extremes) {
    if (x <= 1.0) all.push_back(x);
  }
  return all;
}

/// In [0, most]: NaN is not, and no infinity unless `most` is one.
bool within(double x, double most) { return x >= 0.0 && x <= most; }

/// The entropy of a sign, raised as a charge is, and a charge's own raise.
double most_of(double prior) {
  double const entropy = detail::raised(binary_entropy(detail::minority(prior)));
  return entropy * (1.0 + 2e-13) + std::numeric_limits<double>::min();
}

/// What a channel reveals, as a wider type sees it.
exact truth_of(double prior, double sigma) {
  return sigma == 0.0 ? binary_entropy(exact(prior)) : spent_by_value<exact>(prior, sigma);
}

}  // namespace

TEST_CASE("next to no noise shows a sign of any prior at once") {
  // Each of these took for ever: the quotient of such a prior's odds overflows.
  for (auto const& [prior, sigma] : std::vector<std::array<double, 2>>{{1e-310, 1e-100},
                                                                       {1e-310, 1e-160},
                                                                       {1e-310, 1e-310},
                                                                       {least_double, 1e-320},
                                                                       {least_double, 1e-7},
                                                                       {5.5e-309, 0.05}}) {
    CAPTURE(prior, sigma);
    binary_channel const channel{.prior = prior, .sigma = sigma};
    CHECK(mutual_information(channel) <= binary_entropy(prior));
    CHECK(mutual_information(channel) >= 0.99 * binary_entropy(prior));
    CHECK(information_charge(channel).value >= binary_entropy(prior));
    if (sigma < 1e-6) {
      CHECK(mutual_information(channel) == binary_entropy(prior));
      CHECK(equivocation(channel) == 0.0);
      CHECK(mmse(channel) == 0.0);
    }
  }
  using wide = basic_binary_channel<long double>;
  long double const rare = std::numeric_limits<long double>::denorm_min();
  CHECK(mutual_information(wide{rare, 1e-30L}) == binary_entropy(rare));
  using narrow = basic_binary_channel<float>;
  float const scarce = std::numeric_limits<float>::denorm_min();
  CHECK(mutual_information(narrow{scarce, 1e-30F}) == binary_entropy(scarce));
}

TEST_CASE("channels answer at every extreme of priors, noises and budgets") {
  for (double const prior : extreme_probabilities()) {
    double const most = most_of(prior);
    CHECK(within(binary_entropy(prior), 0.7));
    for (double const x : extremes) {
      CAPTURE(prior, x);
      binary_channel const channel{.prior = prior, .sigma = x};
      CHECK(within(mutual_information(channel), most));
      CHECK(within(equivocation(channel), most));
      CHECK(within(mmse(channel), 1.0));
      double const charge = information_charge(channel).value;
      CHECK(within(charge, most));
      CHECK((charge > 0.0) == (prior > 0.0 && prior < 1.0));
      CHECK(within(mutual_information(basic_binary_channel<float>{static_cast<float>(prior),
                                                                  static_cast<float>(x)}),
                   0.7));
      CHECK(within(
          static_cast<double>(mutual_information(basic_binary_channel<long double>{prior, x})),
          most));
      CHECK(within(information_bound(gaussian_dp{x}, prior).value, most));
      CHECK(within(information_bound(approx_dp{x, 0.0}, prior).value, most));

      nats const budget(x);
      double const sigma = noise_for(binary_channel{.prior = prior}, budget);
      CHECK(within(sigma, largest_double));
      flip const noise = noise_for(sign_channel{.prior = prior}, budget);
      CHECK(within(noise.correlation(), 1.0));
      CHECK(within(noise.probability(), 0.5));

      flip const of_gaussian = flip_of_gaussian(x);
      CHECK(within(of_gaussian.correlation(), 1.0));
      std::vector<flip> flips{of_gaussian, noise};
      if (x <= 1.0) flips.push_back(flip::with_correlation(x));
      if (x <= 0.5) flips.push_back(flip::with_probability(x));
      for (flip const& given : flips) {
        CAPTURE(given.correlation(), given.probability());
        sign_channel const sign{.prior = prior, .noise = given};
        CHECK(within(mutual_information(sign), most));
        CHECK(within(information_charge(sign).value, most));
        CHECK(within(gaussian_sigma(given), infinity));
      }
      if (prior > 0.0) {
        CHECK(within(attack_success(budget, prior), 1.0));
        CHECK(attack_success(budget, prior) >= prior);
      }
      if (prior >= 0.5) {
        CHECK(within(membership_success(budget, prior), 1.0));
        CHECK(within(attack_success(approx_dp{x, 0.0}, prior), 1.0));
      }
      CHECK(within(upper_probability_for(budget, prior), 1.0));
    }
    for (double const other : extreme_probabilities()) {
      CAPTURE(prior, other);
      CHECK(within(bernoulli_kl(prior, other), infinity));
      CHECK(within(entropy_of(std::array<double, 2>{prior, 1.0 - prior}).value, 0.7));
      if (prior > 0.0 && other >= prior) {
        CHECK(within(information_for(other, prior).value, 746.0));
      }
      if (prior >= 0.5 && other >= prior) CHECK(within(epsilon_for(other, prior), infinity));
      CHECK(within(information_bound(approx_dp{1.0, other}, prior).value, most));
    }
  }
}

TEST_CASE("what a noised sign tells has a price at every extreme") {
  for (double const prior : extreme_probabilities()) {
    for (double const x : extremes) {
      noised_sign const seen(prior, 1.0 - prior, x);
      for (double const share : {0.0, least_double, 1e-300, 1e-100, 0.25, 0.5, 1.0}) {
        CAPTURE(prior, x, share);
        bit_and_sign const law{prior * share, (1.0 - prior) * (1.0 - share), prior * (1.0 - share),
                               (1.0 - prior) * share};
        double const entropy =
            most_of(std::min(law.one_plus + law.one_minus, law.zero_plus + law.zero_minus));
        double const allowed = 4e-12 * entropy + 7e-13 * std::sqrt(entropy) + 2e-20;
        CHECK(within(seen.information(law), entropy + allowed));
      }
      CHECK(within(gaussian_contraction(x), 1.0));
    }
  }
}

TEST_CASE("the published rule refuses a noise whose square it cannot hold") {
  gauss_hermite_rule<double> const rule = gauss_hermite(60);
  for (double const prior : extreme_probabilities()) {
    if (prior == 0.0 || prior == 1.0) continue;
    for (double const x : extremes) {
      CAPTURE(prior, x);
      binary_channel const channel{.prior = prior, .sigma = x};
      if (x >= 1.5e-154 && x <= 1e152) {
        CHECK(std::isfinite(gauss_hermite_information(channel, rule)));
      } else {
        CHECK_THROWS_AS(gauss_hermite_information(channel, rule), std::domain_error);
      }
    }
  }
}

TEST_CASE("charges and inverses are on the safe side where priors and budgets are subnormal",
          "[slow]") {
  for (double const prior : {least_double, 1e-322, 1e-310, 5.6e-309, 1e-300, 1e-100, 0.5}) {
    for (double const sigma : {0.03, 0.0515, 0.0518, 0.06, 0.2, 1.0, 1e10, 1e153, 1e161}) {
      CAPTURE(prior, sigma);
      CHECK(information_charge(binary_channel{prior, sigma}).value >= truth_of(prior, sigma));
    }
    for (double const x : {least_double, 1e-320, 1e-300, 1e-100, 0.25, 0.5}) {
      CAPTURE(prior, x);
      for (flip const& noise : {flip::with_correlation(x), flip::with_probability(x)}) {
        CHECK(information_charge(sign_channel{prior, noise}).value >=
              spent_by_sign<exact>(prior, noise));
      }
    }
    for (double const budget : {least_double, 1e-322, 1e-310, 1e-308, 1e-307, 1e-291, 1e-289}) {
      CAPTURE(prior, budget);
      CHECK(truth_of(prior, noise_for(binary_channel{.prior = prior}, nats(budget))) <= budget);
      CHECK(spent_by_sign<exact>(prior, noise_for(sign_channel{.prior = prior}, nats(budget))) <=
            budget);
    }
  }
}
