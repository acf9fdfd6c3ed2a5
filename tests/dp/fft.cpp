// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/grid/fft.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <random>
#include <vector>

using namespace tacit;
using detail::real_fft;
using support::exact;

namespace {

std::vector<double> noise(std::size_t size, unsigned seed, bool heavy) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> out(size);
  for (double& x : out) x = heavy ? std::exp(6.0 * normal(generator)) : normal(generator);
  return out;
}

struct norms {
  long double one = 0.0L;
  long double two = 0.0L;
};
norms of(std::vector<double> const& x) {
  norms out;
  for (double const v : x) {
    out.one += std::abs(v);
    out.two += static_cast<long double>(v) * v;
  }
  return {out.one, std::sqrt(out.two)};
}

// Twice in the middle: the spectrum has a conjugate for every bin but the ends.
long double weight(std::size_t k, std::size_t size) {
  return k == 0 || 2 * k == size ? 1.0L : 2.0L;
}

std::complex<long double> wide(real_fft::complex const& z) { return {z.re, z.im}; }

}  // namespace

TEST_CASE("the transform keeps its proved bound, against the sum in long double", "[dp]") {
  for (std::size_t const size : {16u, 32u, 48u, 64u, 96u, 128u, 192u, 256u, 384u, 1024u, 1536u}) {
    // The long double roots are right to 2^-63, so that the referee is off by next to nothing.
    std::vector<std::complex<long double>> root(size);
    for (std::size_t j = 0; j < size; ++j) {
      long double const angle = -2.0L * std::numbers::pi_v<long double> *
                                static_cast<long double>(j) / static_cast<long double>(size);
      root[j] = {std::cos(angle), std::sin(angle)};
    }
    for (bool const heavy : {false, true}) {
      std::vector<double> const x = noise(size, static_cast<unsigned>(size), heavy);
      real_fft fft(size);
      std::vector<real_fft::complex> const bins = fft.forward(x);
      REQUIRE(bins.size() == size / 2 + 1);
      norms const in = of(x);
      long double largest = 0.0L;
      long double squares = 0.0L;
      long double spectrum = 0.0L;
      for (std::size_t k = 0; k < bins.size(); ++k) {
        std::complex<long double> sum = 0.0L;
        for (std::size_t j = 0; j < size; ++j) {
          sum += static_cast<long double>(x[j]) * root[j * k % size];
        }
        long double const off = std::abs(sum - wide(bins[k]));
        largest = std::max(largest, off);
        squares += weight(k, size) * off * off;
        spectrum += weight(k, size) * std::norm(wide(bins[k]));
      }
      long double const bound = real_fft::error(size);
      long double const n = static_cast<long double>(size);
      CAPTURE(size, heavy);
      CHECK(largest <= bound * in.one);
      CHECK(std::sqrt(squares) <= bound * std::sqrt(n) * in.two);

      // The inverse of the computed bins, against the sum over them.
      std::vector<double> const back = fft.inverse(bins);
      long double inverse_squares = 0.0L;
      for (std::size_t j = 0; j < size; ++j) {
        long double sum = 0.0L;
        for (std::size_t k = 0; k < bins.size(); ++k) {
          std::complex<long double> const w = std::conj(root[j * k % size]);
          sum += weight(k, size) * (w * wide(bins[k])).real();
        }
        long double const off = sum / n - back[j];
        inverse_squares += off * off;
      }
      CHECK(std::sqrt(inverse_squares) <= bound * std::sqrt(spectrum / n));
    }
  }
}

TEST_CASE("the transform of one sample is its powers of the root, to 50 digits", "[dp]") {
  for (std::size_t const size : {16u, 48u, 4096u, 6144u}) {
    real_fft fft(size);
    for (std::size_t const at : {std::size_t{1}, size / 4 + 1, size - 3}) {
      std::vector<double> x(size, 0.0);
      x[at] = 1.0;
      std::vector<real_fft::complex> const bins = fft.forward(x);
      for (std::size_t k = 0; k < bins.size(); k += 1 + size / 64) {
        exact const angle = exact(2) * boost::math::constants::pi<exact>() *
                            exact(static_cast<double>(at * k % size)) /
                            exact(static_cast<double>(size));
        exact const off = hypot(exact(bins[k].re) - cos(angle), exact(bins[k].im) + sin(angle));
        CAPTURE(size, at, k);
        CHECK(off <= exact(real_fft::error(size)));
      }
    }
  }
}

TEST_CASE("the transform's identities", "[dp]") {
  for (std::size_t const size : {std::size_t{64}, std::size_t{3} << 10, std::size_t{1} << 16}) {
    real_fft fft(size);
    std::vector<double> const x = noise(size, 3, false);
    std::vector<double> const y = noise(size, 4, false);
    std::vector<real_fft::complex> const of_x = fft.forward(x);
    std::vector<real_fft::complex> const of_y = fft.forward(y);
    double const bound = real_fft::error(size);
    double const n = static_cast<double>(size);
    double const scale = static_cast<double>(of(x).two + of(y).two);
    CAPTURE(size);

    // There and back.
    std::vector<double> back = fft.inverse(of_x);
    for (std::size_t j = 0; j < size; ++j) back[j] -= x[j];
    CHECK(of(back).two <= 2.0 * bound * scale);

    // Parseval.
    long double squares = 0.0L;
    for (std::size_t k = 0; k < of_x.size(); ++k) squares += weight(k, size) * norm(of_x[k]);
    double const parseval = static_cast<double>(std::sqrt(squares / n) / of(x).two);
    CHECK(std::abs(parseval - 1.0) <= 2.0 * bound);

    // Linear.
    std::vector<double> sum(size);
    for (std::size_t j = 0; j < size; ++j) sum[j] = x[j] + y[j];
    std::vector<real_fft::complex> const of_sum = fft.forward(sum);
    double off = 0.0;
    for (std::size_t k = 0; k < of_sum.size(); ++k) {
      off += static_cast<double>(weight(k, size)) * norm(of_sum[k] - of_x[k] - of_y[k]);
    }
    CHECK(std::sqrt(off) <= 4.0 * bound * std::sqrt(n) * scale);

    // A cyclic convolution by a step of one is a rotation.
    std::vector<double> step(size, 0.0);
    step[1] = 1.0;
    std::vector<real_fft::complex> product = fft.forward(step);
    for (std::size_t k = 0; k < product.size(); ++k) product[k] = product[k] * of_x[k];
    product.back().im = 0.0;
    std::vector<double> rotated = fft.inverse(product);
    for (std::size_t j = 0; j < size; ++j) rotated[j] -= x[(j + size - 1) % size];
    CHECK(of(rotated).two <= 4.0 * bound * scale * std::sqrt(n));
  }
}
