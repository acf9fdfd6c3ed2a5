// SPDX-License-Identifier: Apache-2.0
//
// What a dither buys FERRET's sign. Each of n records is ±C, by a coin that favours +C; one bit is released, the sign of
// their sum plus N(0, σ²). How often the bit is right about the mean, what it tells about one record, and how
// both compare with a mask, which withholds bits that have no dither. All of it is exact: sums over the laws of the sum.

#include <tacit/core/normal.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/mi_dp.hpp>
#include <tacit/info/sign_channel.hpp>
#include <tacit/mechanism/ferret.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/random/uniform.hpp>

#include "output/format.hpp"
#include "output/options.hpp"
#include "output/panel.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct study {
  std::size_t records = 25;
  double mean = 0.2;                                                // of a record, over C
  [[nodiscard]] double plus() const { return 0.5 * (1.0 + mean); }  // P(a record is +C)
};

/// P(K = k) for K of n coins that fall + with probability q, k = 0 … n.
std::vector<double> binomial(std::size_t n, double q) {
  std::vector<double> law{1.0};
  for (std::size_t coin = 0; coin < n; ++coin) {
    law.push_back(0.0);
    for (std::size_t k = law.size() - 1; k > 0; --k) law[k] = q * law[k - 1] + (1.0 - q) * law[k];
    law[0] *= 1.0 - q;
  }
  return law;
}

/// P(the released sign is +), of a sum and a dither in units of C. Without dither a sum of 0 is a coin.
double plus_given(double sum, double sigma) {
  if (sigma == 0.0) return sum > 0.0 ? 1.0 : sum < 0.0 ? 0.0 : 0.5;
  return tacit::normal_tail(-sum / sigma);
}

/// I(X; Y) in nats for P(X = +) = q and P(Y = + | X) = a or b.
double information(double q, double a, double b) {
  auto const part = [](double given, double over) {
    return given == 0.0 ? 0.0 : given * std::log(given / over);
  };
  double const y = q * a + (1.0 - q) * b;
  double const told =
      q * (part(a, y) + part(1.0 - a, 1.0 - y)) + (1.0 - q) * (part(b, y) + part(1.0 - b, 1.0 - y));
  return std::max(told, 0.0);
}

struct sign {
  double sigma;
  double right;    // P(the sign is the mean's)
  double average;  // nats, I(X_i; Y | X_{−i})
  double most;     // nats, whatever the others are
  double epsilon;  // of this one bit at δ = 1e-5, an upper bound; infinite without dither
};

sign dithered(study const& of, double sigma) {
  sign out{sigma, 0.0, 0.0, 0.0, INFINITY};
  auto const sums = binomial(of.records, of.plus());
  for (std::size_t k = 0; k < sums.size(); ++k) {
    out.right += sums[k] * plus_given(2.0 * double(k) - double(of.records), sigma);
  }
  auto const others = binomial(of.records - 1, of.plus());
  for (std::size_t k = 0; k < others.size(); ++k) {
    double const sum = 2.0 * double(k) - double(of.records - 1);
    double const told =
        information(of.plus(), plus_given(sum + 1.0, sigma), plus_given(sum - 1.0, sigma));
    out.average += others[k] * told;
    out.most = std::max(out.most, told);
  }
  // A record decides most where the others cancel: then it is a symmetric channel.
  double const fair = mutual_information(
      tacit::sign_channel{.prior = 0.5, .noise = tacit::flip_of_gaussian(sigma)});
  if (out.most > fair * (1.0 + 1e-9)) throw std::logic_error("a sign tells more than a fair one");
  out.most = fair;
  if (sigma > 0.0) {
    out.epsilon =
        tacit::epsilon(
            {.groups = 1, .steps = 1, .rate = 1.0, .probability = 1.0, .noise_multiplier = sigma},
            1e-5)
            .upper;
  }
  return out;
}

/// A clear sign that is shown with probability p, else a coin: as many nats in the worst context as `like` tells.
double right_by_mask(sign const& clear, sign const& like) {
  double const p = std::min(1.0, like.most / std::numbers::ln2);
  return 0.5 + p * (clear.right - 0.5);
}

/// (2·right − 1)² a nat: how much a budget learns about the mean's sign from many such bits.
double worth(sign const& s) {
  double const correlation = 2.0 * s.right - 1.0;
  return correlation * correlation / s.most;
}

/// `ferret_mechanism` releases signs of this law. Throws where it does not, wrongly once in 10⁹ times at most.
void check_mechanism(study const& of, sign const& s, std::size_t steps) {
  tacit::ferret_mechanism<> mechanism({.groups = 1,
                                       .steps = steps,
                                       .rate = 1.0,
                                       .budget = tacit::nats(1e9),
                                       .clip = 1.0,
                                       .noise_multiplier = s.sigma},
                                      of.records);
  std::vector<double> records(of.records);
  double plus = 0.0;
  while (!mechanism.done()) {
    tacit::stream_id const stream{.seed = 1, .step = mechanism.steps()};
    for (std::size_t i = 0; i < records.size(); ++i) {
      records[i] = tacit::uniform(stream, i) < of.plus() ? 1.0 : -1.0;
    }
    plus += mechanism.step(records).coefficients[0] > 0.0;
  }
  double const chance = std::sqrt(std::log(2e9) / (2.0 * double(steps)));  // Hoeffding
  if (std::fabs(plus / double(steps) - s.right) > chance) {
    throw std::logic_error("the mechanism's signs have another law");
  }
}

apps::panel panel_of(std::vector<sign> const& all, char const* title, char const* subtitle) {
  apps::panel out{title, subtitle, false, 0.0, 1.0, 0.0, {}, {}, "dither σ, in units of the clip"};
  out.left = std::log2(all.front().sigma) - 0.2;
  out.right = std::log2(all.back().sigma);
  for (sign const& s : all) {
    out.marks.emplace_back(std::log2(s.sigma), apps::formatted("%g", s.sigma));
  }
  return out;
}

template <class Value>
apps::line line_of(std::vector<sign> const& all, char const* name, char const* colour,
                   Value const& value) {
  apps::line out{name, colour, false, {}};
  for (sign const& s : all) out.at.emplace_back(std::log2(s.sigma), value(s));
  return out;
}

apps::line level(apps::panel const& in, char const* name, double value) {
  return {name, "#777777", true, {{in.left, value}, {in.right, value}}};
}

std::vector<apps::panel> draw(sign const& clear, std::vector<sign> const& all) {
  apps::panel right = panel_of(all, "A released sign is the mean's",
                               "how often; the mask tells as much at most about a record");
  right.low = 0.5;
  right.lines = {
      line_of(all, "dither", "#d55e00", [](sign const& s) { return s.right; }),
      line_of(all, "mask", "#0072b2", [&](sign const& s) { return right_by_mask(clear, s); }),
      level(right, "clear", clear.right)};
  apps::fit_ticks(right);
  apps::panel told =
      panel_of(all, "What a dithered sign tells about one record", "nats, given the others");
  told.logarithmic = true;
  told.low = 1e-5;
  told.ticks = {1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0};
  told.lines = {line_of(all, "at most", "#d55e00", [](sign const& s) { return s.most; }),
                line_of(all, "on average", "#009e73", [](sign const& s) { return s.average; }),
                level(told, "charged", std::numbers::ln2)};
  apps::panel by_nat = panel_of(all, "Worth of a nat",
                                "squared correlation with the mean's sign, over nats at most");
  by_nat.logarithmic = true;
  by_nat.low = 0.1;
  by_nat.high = 100.0;
  by_nat.ticks = {0.1, 1.0, 10.0, 100.0};
  by_nat.lines = {line_of(all, "dither", "#d55e00", worth), level(by_nat, "clear", worth(clear))};
  return {right, told, by_nat};
}

}  // namespace

int main(int count, char** values) {
  std::filesystem::path out;
  study of;
  std::size_t releases = 4096;
  apps::options app(
      "What a dither buys FERRET's sign, exactly, for records that are one clip long");
  app.add("--out", out, "Folder for the figure, dither.svg");
  app.add("--records", of.records, "n").in_range(1, 1001);
  app.add("--mean", of.mean, "of a record, over the clip").in_range(0.0, 1.0);
  app.add("--releases", releases, "of the mechanism, for each dither, to check their law")
      .in_range(1, 1 << 24);
  if (auto const ends = app.read(count, values)) return *ends;
  try {
    if (!(of.mean >= 0.0 && of.mean <= 1.0)) {
      throw std::domain_error("--mean must be in [0, 1], not " + std::to_string(of.mean));
    }
    sign const clear = dithered(of, 0.0);
    std::vector<sign> all;
    for (double sigma = 0.5; sigma <= 64.0; sigma *= 2.0) all.push_back(dithered(of, sigma));
    std::printf("%zu records of mean %g C.\n\n", of.records, of.mean);
    std::printf(
        "| σ/C | right | by a mask | nats on average | nats at most | charged | ε at δ = 1e-5 | "
        "worth of a nat |\n|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    auto const show = [&](sign const& s) {
      check_mechanism(of, s, releases);
      std::printf("| %g | %.4f | %.4f | %.3g | %.3g | %.3f | %s | %.3g |\n", s.sigma, s.right,
                  right_by_mask(clear, s), s.average, s.most, std::numbers::ln2,
                  std::isfinite(s.epsilon) ? apps::formatted("%.3g", s.epsilon).c_str() : "none",
                  worth(s));
    };
    show(clear);
    for (sign const& s : all) show(s);
    if (!out.empty()) {
      std::filesystem::create_directories(out);
      std::ofstream file(out / "dither.svg", std::ios::binary);
      file << apps::svg(draw(clear, all));
      if (!file.flush()) throw std::runtime_error("cannot write " + (out / "dither.svg").string());
    }
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "pac_dither: %s\n", problem.what());
    return 1;
  }
  return 0;
}
