// SPDX-License-Identifier: Apache-2.0
//
// How far noised outputs are from normal, and so the information below the log-det.

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/calibrated.hpp>
#include <tacit/pac/gap.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/moments.hpp>

#include "json_text.hpp"
#include "matrix.hpp"
#include "output/text_file.hpp"
#include "verbs.hpp"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <vector>

namespace calculator {

using nlohmann::json;
using tacit::gaussian_noise;
using tacit::mi_bound;
using tacit::nats;
using tacit::public_stream;

namespace {

enum class axes_choice { independent, principal, random };

arguments::words<axes_choice> const choices{{"independent", axes_choice::independent},
                                            {"principal", axes_choice::principal},
                                            {"random", axes_choice::random}};

// What each part of the seed is for. Not the parts that `tacit calibrate` draws by, whose noise may come here.
enum : std::uint64_t { order = 1 << 16, noise_draws, start_of_axes, slices, start_of_mixture };

constexpr Eigen::Index fewest_rows = 48;  // half of which fit a critic

void declare_gap(arguments& of) {
  of.add("OUTPUTS", input_file("a table of comma-separated numbers"),
         "needed: noiseless outputs of independently sampled datasets, one a row");
  of.add("--noise", input_file("what tacit calibrate --json printed, or a table"),
         "needed: its covariance, or one row of variances");
  of.add("--axes", one_of({"independent", "principal", "random"}),
         "along which outputs are compared with the normal; independent components unless given");
  of.add("--confidence", open_probability(), "of what is certified; 0.95 unless given");
  of.add("--radius", positive(),
         "no output of any dataset is longer, as by clipping: certify the information too");
  of.add("--seed", whole(0, UINT64_MAX), "public: halves, draws, axes; 1 unless given");
}

// ---- the noise ----------------------------------------------------------------------------------

struct stated_noise {
  gaussian_noise noise;
  std::vector<std::string> calibrated_on;  // the rows' digests, in order; may be empty
};

double number_in(std::string const& file, std::string const& name, json const& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    throw bad_input(file + ": " + name + " is " + value.dump().substr(0, 40) +
                    ", but must be a finite number");
  }
  return value.get<double>();
}

json const& list_in(std::string const& file, std::string const& name, json const& value) {
  if (!value.is_array() || value.empty()) {
    throw bad_input(file + ": " + name + " is " + value.dump().substr(0, 40) +
                    ", but must be a list");
  }
  return value;
}

// A noise with at most the variance of the covariance C in every direction: C reveals at most as much as it
// does. With the axes V and variances v of C, C − V(v − t)Vᵀ = (C − VvVᵀ) + tVVᵀ is positive
// where t exceeds the norm of what is left over, computed, plus its rounding, a few d·u·Σv.
// ("gap_certified" is about this noise.)
gaussian_noise noise_below(Eigen::MatrixXd const& covariance, std::string const& file) {
  gaussian_noise const near = gaussian_noise::with_covariance(covariance);
  Eigen::MatrixXd const& axes = near.axes();
  auto const d = static_cast<double>(covariance.rows());
  Eigen::MatrixXd const scaled = axes * near.variances().asDiagonal();
  Eigen::MatrixXd const left = covariance - scaled * axes.transpose();
  double const skew = (covariance - covariance.transpose()).norm();
  double const less =
      1.01 * (left.norm() + skew +
              (d + 8.0) * std::numeric_limits<double>::epsilon() * near.variances().sum());
  Eigen::VectorXd const variances = near.variances().array() - less;
  if (!(variances.minCoeff() > 0.0)) {
    throw bad_input(file + ": the least variance of any direction is " +
                    exactly(near.least_variance()) + ", but must be above rounding, " +
                    exactly(less));
  }
  return gaussian_noise::along(axes, variances);
}

gaussian_noise of_variances(Eigen::VectorXd const& variances, std::string const& file) {
  if (!(variances.minCoeff() > 0.0)) {
    throw bad_input(file + ": the least variance is " + exactly(variances.minCoeff()) +
                    ", but must be positive");
  }
  return gaussian_noise::diagonal(variances);
}

stated_noise read_json(std::string const& file, std::string const& text) {
  json const stated = parse_json(file, text);
  std::vector<std::string> on;
  if (stated.contains("calibrated_on")) {
    for (json const& digest : list_in(file, "calibrated_on", stated["calibrated_on"])) {
      if (!digest.is_string()) {
        throw bad_input(file + ": calibrated_on has " + digest.dump().substr(0, 40) +
                        ", but must be a list of names of rows");
      }
      on.push_back(digest.get<std::string>());
    }
    std::sort(on.begin(), on.end());
  }
  if (stated.contains("variances")) {
    json const& list = list_in(file, "variances", stated["variances"]);
    Eigen::VectorXd variances(std::ssize(list));
    for (Eigen::Index i = 0; i < variances.size(); ++i) {
      auto const at = static_cast<std::size_t>(i);
      variances(i) = number_in(file, "variances[" + std::to_string(i) + "]", list[at]);
    }
    return {of_variances(variances, file), on};
  }
  if (!stated.contains("covariance")) {
    throw bad_input(file + ": covariance is missing, and variances too, but one must be there");
  }
  json const& rows = list_in(file, "covariance", stated["covariance"]);
  Eigen::MatrixXd covariance(std::ssize(rows), std::ssize(rows));
  for (Eigen::Index i = 0; i < covariance.rows(); ++i) {
    std::string const name = "covariance[" + std::to_string(i) + "]";
    json const& row = list_in(file, name, rows[static_cast<std::size_t>(i)]);
    if (row.size() != rows.size()) {
      throw bad_input(file + ": " + name + " has " + std::to_string(row.size()) +
                      " entries, but must have " + std::to_string(rows.size()));
    }
    for (Eigen::Index j = 0; j < covariance.cols(); ++j) {
      auto const at = static_cast<std::size_t>(j);
      covariance(i, j) = number_in(file, name + "[" + std::to_string(j) + "]", row[at]);
    }
  }
  return {noise_below(covariance, file), on};
}

stated_noise read_noise(std::string const& file) {
  std::string text;
  try {
    text = apps::read_text(file);
  } catch (std::runtime_error const& error) {
    throw bad_input(file + ": cannot be read: " + error.what());
  }
  std::size_t const begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '{') return read_json(file, text);
  std::istringstream in(text);
  Eigen::MatrixXd const table = read_matrix(file, in);
  if (table.rows() == 1) return {of_variances(table.row(0).transpose(), file), {}};
  if (table.rows() != table.cols()) {
    throw bad_input(file + ": " + has(static_cast<std::size_t>(table.rows()), "row") + " and " +
                    std::to_string(table.cols()) +
                    " columns, but must have one row, or as many as columns");
  }
  return {noise_below(table, file), {}};
}

// ---- the outputs --------------------------------------------------------------------------------

struct sample {
  Eigen::MatrixXd rows;  // different ones, in an order of the seed's
  Eigen::MatrixXd all;   // with their repetitions, where there are any
  std::vector<std::string> digests;
};

/// The columns of `entries` at these places, each a row, in an order of the seed's.
Eigen::MatrixXd shuffled(Eigen::Map<Eigen::MatrixXd const> const& entries,
                         std::vector<Eigen::Index> at, std::uint64_t seed) {
  for (std::size_t i = at.size() - 1; i > 0; --i) {
    double const u = tacit::public_uniform({seed, order}, i);
    std::swap(at[i], at[std::min(i, static_cast<std::size_t>(u * static_cast<double>(i + 1)))]);
  }
  Eigen::MatrixXd out(std::ssize(at), entries.rows());
  for (std::size_t i = 0; i < at.size(); ++i) {
    out.row(static_cast<Eigen::Index>(i)) = entries.col(at[i]).transpose();
  }
  return out;
}

sample read_sample(arguments const& of, std::uint64_t seed) {
  std::string const& file = of.text("OUTPUTS");
  double const radius = of.number("--radius", std::numeric_limits<double>::max());
  std::vector<double> entries;
  std::vector<std::uint64_t> digests;
  std::unordered_set<std::uint64_t> known;
  std::vector<Eigen::Index> everywhere;
  std::vector<Eigen::Index> different;
  visit_rows(file, [&](std::size_t line, std::span<double const> row) {
    double const length =
        Eigen::Map<Eigen::VectorXd const>(row.data(), std::ssize(row)).stableNorm();
    if (!(length <= radius)) {
      refuse_line(file, line,
                  "the length of the output is " + exactly(length) +
                      ", but must be at most --radius, " + exactly(radius));
    }
    entries.insert(entries.end(), row.begin(), row.end());
    everywhere.push_back(std::ssize(everywhere));
    digests.push_back(row_digest(row));
    if (known.insert(digests.back()).second) different.push_back(everywhere.back());
  });
  if (std::ssize(different) < fewest_rows) {
    throw bad_input(file + ": " + has(different.size(), "different row") +
                    ", but must have at least " + std::to_string(fewest_rows));
  }
  auto const count = std::ssize(everywhere);
  Eigen::Map<Eigen::MatrixXd const> const columns(entries.data(), std::ssize(entries) / count,
                                                  count);
  sample out{shuffled(columns, different, seed), {}, digest_texts(std::move(digests))};
  if (different.size() < everywhere.size()) out.all = shuffled(columns, everywhere, seed);
  return out;
}

std::size_t rows_in_common(sample const& seen, stated_noise const& stated) {
  std::vector<std::string> both;
  std::set_intersection(seen.digests.begin(), seen.digests.end(), stated.calibrated_on.begin(),
                        stated.calibrated_on.end(), std::back_inserter(both));
  return both.size();
}

// 1/2 log det(I + Sigma/Sigma_B), for the covariance of all rows.
double log_det_of(Eigen::MatrixXd const& rows, gaussian_noise const& noise) {
  Eigen::VectorXd const scale = noise.variances().cwiseSqrt().cwiseInverse();
  tacit::output_moments moments(noise.dimension());
  if (noise.along_coordinates()) {
    moments.observe_rows(Eigen::MatrixXd(rows * scale.asDiagonal()));
  } else {
    Eigen::MatrixXd const whitening = noise.axes() * scale.asDiagonal();
    moments.observe_rows(Eigen::MatrixXd(rows * whitening));
  }
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> const solved(moments.covariance(),
                                                              Eigen::EigenvaluesOnly);
  double sum = 0.0;
  for (double const v : solved.eigenvalues()) sum += std::log1p(std::max(v, 0.0));
  return 0.5 * sum;
}

// The mixture for the scoring rows, from the others alone: as many components as charge the last third
// of those least when fitted on the rest.
tacit::mixture_surrogate fit_mixture(Eigen::MatrixXd const& rows, gaussian_noise const& noise,
                                     double radius, public_stream stream) {
  Eigen::Index const last = rows.rows() / 3;
  Eigen::MatrixXd const head = rows.topRows(rows.rows() - last);
  Eigen::MatrixXd const tail = rows.bottomRows(last);
  std::size_t best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t components = 1; components <= 32; components *= 2) {
    if (static_cast<Eigen::Index>(8 * components) > head.rows()) break;
    auto const trial =
        tacit::mixture_surrogate::fit(head, noise, components, stream).guarded(noise, radius);
    double const charged =
        tacit::certified_information(trial, noise, tail, {.radius = radius, .failure = 0.5})
            .value.value;
    if (charged < least) {
      least = charged;
      best = components;
    } else if (components > 4 * best) {
      break;
    }
  }
  return tacit::mixture_surrogate::fit(rows, noise, best, stream).guarded(noise, radius);
}

// ---- the answer ---------------------------------------------------------------------------------

// What half of the rows fit, and the other half score.
struct comparison {
  Eigen::MatrixXd before;
  Eigen::MatrixXd held_out;
  Eigen::MatrixXd score;  // held_out with noise
  Eigen::MatrixXd whitened;
  Eigen::MatrixXd axes;
  tacit::normal_surrogate surrogate;
  tacit::product_critic critic;
};

comparison fit_half(Eigen::MatrixXd const& rows, gaussian_noise const& noise, axes_choice choice,
                    std::uint64_t seed) {
  Eigen::Index const half = rows.rows() / 2;
  Eigen::MatrixXd const z = tacit::with_public_noise(rows, noise, {seed, noise_draws});
  Eigen::MatrixXd const fit = z.topRows(half);
  auto const normal = tacit::normal_surrogate::fit(fit);
  Eigen::MatrixXd const whitened = normal.whitened(fit);
  Eigen::MatrixXd axes = Eigen::MatrixXd::Identity(rows.cols(), rows.cols());
  if (choice == axes_choice::random) {
    axes = tacit::random_axes(noise.dimension(), {seed, start_of_axes});
  }
  if (choice == axes_choice::independent) {
    axes = tacit::independent_axes(whitened, {seed, start_of_axes});
  }
  auto surrogate = normal.rotated(axes);
  auto critic = tacit::product_critic::fit(surrogate.whitened(fit));
  Eigen::Index const rest = rows.rows() - half;
  return {rows.topRows(half), rows.bottomRows(rest), z.bottomRows(rest), whitened,
          std::move(axes),    std::move(surrogate),  std::move(critic)};
}

struct certified {
  double gap = 0.0;
  double by_normal = 0.0;
  double by_mixture = 0.0;
};

// All of it together with the confidence: the failures add up.
certified certify(comparison const& halves, gaussian_noise const& noise, double failure,
                  std::optional<double> radius, std::uint64_t seed) {
  double const share = failure * (1.0 - 1e-15) / (radius ? 3.0 : 1.0);
  auto const certificate =
      tacit::certified_gap(halves.surrogate, halves.critic, halves.score, share);
  certified out{certificate.value().value};
  if (!radius) return out;
  tacit::held_out_options const options{.radius = *radius, .failure = share};
  out.by_normal =
      tacit::certified_information(certificate, noise, halves.held_out, options).value.value;
  auto const mixture = fit_mixture(halves.before, noise, *radius, {seed, start_of_mixture});
  out.by_mixture =
      tacit::certified_information(mixture, noise, halves.held_out, options).value.value;
  return out;
}

answer compare(arguments const& of, sample const& seen, stated_noise const& stated,
               std::uint64_t seed) {
  gaussian_noise const& noise = stated.noise;
  std::size_t const d = noise.dimension();
  axes_choice const choice = of.choice("--axes", choices, axes_choice::independent);
  comparison const halves = fit_half(seen.rows, noise, choice, seed);

  double const log_det = log_det_of(seen.rows, noise);
  double const published =
      tacit::sliced_wasserstein_gap(halves.whitened, 2 * d, {seed, slices}).value.value;
  double const wasserstein = tacit::wasserstein_gap(halves.whitened, halves.axes).value.value;
  double const marginal = tacit::marginal_gap(halves.whitened, halves.axes).value.value;
  double const shown =
      tacit::donsker_varadhan_gap(halves.surrogate, halves.critic, halves.score).value.value;
  double const left = std::max(0.0, log_det - std::max(0.0, shown));
  answer out{"an estimated " + rounded_up(left) + " nats are revealed: log-det gives " +
                 rounded_up(log_det) + ", and is too high by an estimated " +
                 rounded_down(published) + " (published correction), " + rounded_down(wasserstein) +
                 " (Wasserstein), " + rounded_down(marginal) + " (marginal) or " +
                 rounded_down(shown) + " (Donsker-Varadhan)",
             {{"mi_estimate", left},
              {"estimates",
               {{"log_det", log_det},
                {"sliced_wasserstein", published},
                {"wasserstein", wasserstein},
                {"marginal", marginal},
                {"donsker_varadhan", shown}}}}};
  auto const repeated =
      static_cast<std::size_t>(seen.all.rows() > 0 ? seen.all.rows() - seen.rows.rows() : 0);
  if (repeated > 0) {
    out.json["rows_repeated"] = repeated;
    out.sentence +=
        "; rows that are equal count once, and " + std::to_string(repeated) + " repeat others";
  }
  if (std::size_t const common = rows_in_common(seen, stated); common > 0) {
    out.sentence +=
        "; nothing is certified: " + std::to_string(common) + " of these rows chose the noise";
    return out;
  }

  double const confidence = of.number("--confidence", 0.95);
  std::optional<double> radius;
  if (of.given("--radius")) radius = of.number("--radius");
  certified found = certify(halves, noise, 1.0 - confidence, radius, seed);
  if (repeated > 0) {
    // Equal rows are copies, or independent outputs of a law with atoms: what holds in either case.
    certified const other =
        certify(fit_half(seen.all, noise, choice, seed), noise, 1.0 - confidence, radius, seed);
    found.gap = std::min(found.gap, other.gap);
    found.by_normal = std::max(found.by_normal, other.by_normal);
    found.by_mixture = std::max(found.by_mixture, other.by_mixture);
  }
  out.json["gap_certified"] = found.gap;
  out.sentence += "; certified with confidence " + exactly(confidence) + ": at least " +
                  rounded_down(found.gap) + " nats from a normal fitted before";
  if (radius) {
    double const revealed = std::min(found.by_normal, found.by_mixture);
    out.json["mi_bound"] = revealed;
    out.json["mi_bounds"] = {{"normal", found.by_normal}, {"mixture", found.by_mixture}};
    out.sentence += ", and at most " + rounded_up(revealed) + " nats revealed about the dataset";
  }
  out.json["confidence"] = confidence;
  return out;
}

// What the library refuses, it refuses because of a file.
template <class Use>
auto with_file(std::string const& file, Use const& use) {
  try {
    return use();
  } catch (tacit::infeasible const& error) {
    throw bad_input(file + ": " + error.what());
  } catch (std::logic_error const& error) {
    throw bad_input(file + ": " + error.what());
  }
}

answer run_gap(arguments const& of) {
  std::string const& file = of.text("OUTPUTS");
  std::string const& noise_file = of.text("--noise");
  std::uint64_t const seed = of.whole("--seed", 1);
  stated_noise const stated = with_file(noise_file, [&] { return read_noise(noise_file); });
  sample const seen = read_sample(of, seed);
  auto const columns = static_cast<std::size_t>(seen.rows.cols());
  if (stated.noise.dimension() != columns) {
    throw bad_input(noise_file + ": the noise " + has(stated.noise.dimension(), "dimension") +
                    ", but must have " + std::to_string(columns) + ", the columns of " + file);
  }
  if (rows_in_common(seen, stated) > 0) {
    of.must_be_left_out(
        {"--radius", "--confidence"},
        "where some of these rows chose the noise: nothing can be certified by them");
  }
  return with_file(file, [&] { return compare(of, seen, stated, seed); });
}

}  // namespace

verb gap() {
  return {
      "gap", "How far is the information in noisy outputs below the log-det bound?",
      R"(Log-det would be the truth if Z = output + noise were normal. "estimates" has log-det and
estimates of its excess: the published sliced Wasserstein figure, its sum over orthonormal axes, the sum of
marginal divergences, and a critic on rows that it was not trained on. None of them is a bound.
Half of the rows, chosen by the seed, fit a normal and a critic; the other half certify, all together
with the confidence, that Z is so far from that normal ("gap_certified"; the normal is the fitted one, so
log-det less this is no bound) and, with --radius, what is revealed ("mi_bound", the smaller of two). This needs
independent rows, and a noise that was chosen without them: where "calibrated_on" names any of them, nothing is
certified. Rows that are equal count once. Where there are any, all rows are scored as well, and the worse
figure is given: it holds for copies of independent outputs that are never equal by chance, and for
independent outputs that may be.)",
      declare_gap, run_gap};
}

}  // namespace calculator
