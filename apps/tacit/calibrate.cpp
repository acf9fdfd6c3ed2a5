// SPDX-License-Identifier: Apache-2.0
//
// Gaussian noise for any output, from a table of outputs.

#include "calibrate.hpp"

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/auto_pac.hpp>
#include <tacit/pac/calibrated.hpp>
#include <tacit/pac/candidate_noise.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/covariance.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/moments.hpp>
#include <tacit/pac/monte_carlo_information.hpp>
#include <tacit/pac/residual.hpp>
#include <tacit/pac/row_digest.hpp>
#include <tacit/pac/stackelberg.hpp>

#include "matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace calculator {

using tacit::calibrated;
using tacit::gaussian_noise;
using tacit::mi_bound;
using tacit::mi_estimate;
using tacit::nats;
using tacit::noise_shape;

namespace {

arguments::words<rule_of_noise> const methods{
    {"log-det", rule_of_noise::log_det},       {"auto", rule_of_noise::auto_pac},
    {"efficient", rule_of_noise::efficient},   {"proportional", rule_of_noise::proportional},
    {"candidates", rule_of_noise::candidates}, {"stackelberg", rule_of_noise::stackelberg}};

// A full covariance has so many columns at most: as text it has some 20 bytes an entry.
constexpr std::size_t most_columns = 4096;

void declare_calibrate(arguments& of) {
  of.add("OUTPUTS", input_file("a table of comma-separated numbers"),
         "an output a row; needed unless there is --run");
  declare_black_box(of);
  declare_law(of);
  of.add("--mi", number("finite and at least 1e-290", [](double x) { return x >= 1e-290; }),
         "needed: the budget, in nats");
  std::vector<std::string> words;
  for (auto const& [word, value] : methods) words.push_back(word);
  of.add("--method", one_of(words), "how the noise is found; candidates with --run, else needed");
  of.add("--rows", one_of({"samples", "candidates"}),
         "rows are the outputs of sampled datasets, or of all candidates there are; samples unless "
         "given, but candidates with the methods candidates and stackelberg");
  of.add("--weights", input_file("a table of one number a row"),
         "how likely each row is, up to a factor; all equally unless given");
  of.add(
      "--shape", one_of({"full", "diagonal"}),
      "any covariance, or a variance a coordinate; full unless given, but efficient is diagonal");
  of.add("--floor", non_negative(),
         "samples: is added to each direction's variance; 0 unless given");
  of.add("--confidence", open_probability(),
         "stackelberg: of the bound, 0.95 unless given; candidates: draw for a tighter bound");
  of.add("--samples", whole(1, 100'000'000),
         "draws that certify, where there is a confidence; 100000 unless given");
  of.add("--seed", whole(0, UINT64_MAX),
         "public: of those draws, and with --run of the subsets; 1 unless given");
  of.add("--output-norm", positive(), "auto: no output is longer");
  of.add("--c", positive(), "auto: how far an eigenvalue of the sample may be off");
  of.add("--slack", positive(), "auto: the part of --mi for what the sample misses");
}

noise_request read_request(arguments const& of) {
  bool const runs = of.given("--run");
  if (of.given("--law")) {
    of.text("OUTPUTS");
    of.must_be_left_out({"--run", "--method", "--rows", "--shape", "--floor", "--confidence",
                         "--samples", "--seed", "--output-norm", "--c", "--slack"},
                        "with --law");
    refuse_black_box_options(of);
    return {rule_of_noise::candidates, true, noise_shape::diagonal, nats(of.number("--mi"))};
  }
  of.must_be_left_out({"--order"}, "unless --law is given");
  if (runs) {
    of.must_be_left_out({"OUTPUTS", "--weights"}, "with --run");
  } else {
    of.text("OUTPUTS");
    of.text("--method");
    refuse_black_box_options(of);
  }
  noise_request asked{of.choice("--method", methods, rule_of_noise::candidates), false,
                      noise_shape::full, nats(of.number("--mi"))};
  std::string const with =
      "with --method " + (of.given("--method") ? of.text("--method") : std::string("candidates"));
  bool const searched =
      asked.how == rule_of_noise::candidates || asked.how == rule_of_noise::stackelberg;
  asked.listed = searched || runs || (of.given("--rows") && of.text("--rows") == "candidates");
  if (runs && of.given("--rows") && of.text("--rows") == "samples") {
    of.refuse("--rows", "candidates with --run");
  }
  if (runs && asked.how == rule_of_noise::auto_pac) {
    of.refuse("--method",
              "another one with --run: its answer is an estimate, which pays for no release");
  }
  if (searched && of.given("--rows") && of.text("--rows") == "samples") {
    of.refuse("--rows", "candidates " + with);
  }
  if (asked.how == rule_of_noise::auto_pac) {
    if (asked.listed) of.refuse("--rows", "samples " + with);
    of.must_be_left_out({"--floor"}, with);
    if (!(of.number("--slack") < asked.budget.value)) {
      of.refuse("--slack", "positive and below --mi");
    }
  } else {
    of.must_be_left_out({"--output-norm", "--c", "--slack"}, "unless --method is auto");
  }
  if (asked.listed) of.must_be_left_out({"--floor"}, "where rows are candidates");
  if (!searched) of.must_be_left_out({"--confidence"}, with);
  if (asked.how != rule_of_noise::stackelberg && !of.given("--confidence")) {
    of.must_be_left_out({"--samples"}, with + ", where no --confidence is given");
    if (!runs) of.must_be_left_out({"--seed"}, with + ", where no --confidence is given");
  }

  bool const along = asked.how == rule_of_noise::efficient;
  bool const across =
      asked.how == rule_of_noise::auto_pac || asked.how == rule_of_noise::proportional;
  bool const diagonal = of.given("--shape") ? of.text("--shape") == "diagonal" : along;
  if (along && !diagonal) of.refuse("--shape", "diagonal " + with);
  if (across && diagonal) of.refuse("--shape", "full " + with);
  asked.shape = diagonal ? noise_shape::diagonal : noise_shape::full;
  return asked;
}

}  // namespace

void check_columns(std::string const& file, std::size_t columns, noise_request const& asked) {
  if (asked.shape == noise_shape::full && columns > most_columns) {
    throw bad_input(file + ": " + has(columns, "column") + ", but must have at most " +
                    std::to_string(most_columns) + " unless --shape is diagonal");
  }
}

namespace {

// ---- the answer ---------------------------------------------------------------------------------

std::vector<double> eigenvalues(gaussian_noise const& noise) {
  std::vector<double> out(noise.variances().begin(), noise.variances().end());
  out.insert(out.end(), noise.rest_dimension(), noise.rest());
  std::sort(out.begin(), out.end(), std::greater<>());
  return out;
}

nlohmann::ordered_json row_of(Eigen::VectorXd const& x) {
  return std::vector<double>(x.begin(), x.end());
}

// From "eigenvalues" on. Returns the trace.
double describe(gaussian_noise const& noise, noise_shape shape, nlohmann::ordered_json& json) {
  json["eigenvalues"] = eigenvalues(noise);
  if (shape == noise_shape::diagonal) {
    // No noise at all has no axes.
    auto const d = static_cast<Eigen::Index>(noise.dimension());
    json["variances"] =
        row_of(noise.along_coordinates() ? noise.variances()
                                         : Eigen::VectorXd::Constant(d, noise.rest()).eval());
    return noise.trace();
  }
  Eigen::MatrixXd const covariance = noise.covariance_from_above();
  json["covariance"] = nlohmann::ordered_json::array();
  for (auto const& row : covariance.rowwise()) {
    json["covariance"].push_back(row_of(row.transpose()));
  }
  return covariance.trace();
}

}  // namespace

answer answer_for(calibrated<mi_bound> const& found, noise_request const& asked,
                  tacit::candidate_outputs const& outputs) {
  double const revealed = found.information.value.value;
  double const confidence = found.information.confidence;
  // What Residual-PAC calls the conditional entropy.
  nats const left = tacit::conditional_entropy(outputs.entropy(), found.information).value;
  answer out{"",
             {{"trace", 0.0},
              {"mi_bound", revealed},
              {"entropy_left", left.value},
              {"confidence", confidence}}};
  double const trace = describe(found.noise, asked.shape, out.json);
  out.json["trace"] = trace;
  out.sentence = (trace > 0.0 ? "noise of trace " + rounded_up(trace) : "no noise") +
                 ": which of " + std::to_string(outputs.size()) +
                 " candidates was used is revealed by at most " + rounded_up(revealed) +
                 " nats, certified " +
                 (confidence < 1.0 ? "with confidence " + exactly(confidence)
                                   : std::string("without a chance of failure")) +
                 " if these are all candidates and their weights";
  return out;
}

namespace {

answer answer_for(calibrated<mi_estimate> const& found, noise_request const& asked,
                  std::size_t rows, std::vector<std::uint64_t> const& digests) {
  double const revealed = found.information.value.value;
  answer out{"", {{"trace", 0.0}, {"mi_estimate", revealed}}};
  double const trace = describe(found.noise, asked.shape, out.json);
  out.json["trace"] = trace;
  out.json["calibrated_on"] = digest_texts(digests);
  out.sentence = "noise of trace " + rounded_up(trace) + ": it is estimated to reveal " +
                 rounded_up(revealed) + " nats about the dataset, from " + std::to_string(rows) +
                 " sampled outputs; nothing is certified";
  return out;
}

// ---- rows are candidates ------------------------------------------------------------------------

}  // namespace

calibrated<mi_bound> noise_for_candidates(arguments const& of, noise_request const& asked,
                                          tacit::candidate_outputs const& outputs) {
  tacit::monte_carlo const draws{.samples = of.whole("--samples", 100'000),
                                 .confidence = of.number("--confidence", 0.95),
                                 .seed = of.whole("--seed", 1)};
  switch (asked.how) {
    case rule_of_noise::efficient:
      return tacit::efficient_pac(outputs, asked.budget);
    case rule_of_noise::proportional:
      return tacit::proportional(outputs, asked.budget);
    case rule_of_noise::candidates: {
      calibrated<mi_bound> best = tacit::least_trace(outputs, asked.budget, asked.shape);
      if (!of.given("--confidence") || best.noise.trace() == 0.0) return best;
      try {
        calibrated<mi_bound> drawn = tacit::scale_to(outputs, best.noise, asked.budget, draws);
        if (drawn.noise.trace() < best.noise.trace()) return drawn;
      } catch (tacit::infeasible const&) {  // the other bounds have no certificate for this shape
      } catch (tacit::convergence_error const&) {
      }
      return best;
    }
    case rule_of_noise::stackelberg:
      return tacit::stackelberg(outputs, asked.budget, draws, {.shape = asked.shape});
    default:
      return tacit::log_det(outputs, asked.budget, asked.shape);
  }
}

namespace {

answer run_candidates(arguments const& of, noise_request const& asked,
                      std::optional<Eigen::VectorXd> weights) {
  std::string const& file = of.text("OUTPUTS");
  Eigen::MatrixXd rows = read_matrix(file);
  auto const count = static_cast<std::size_t>(rows.rows());
  check_columns(file, static_cast<std::size_t>(rows.cols()), asked);
  if (!weights) weights = Eigen::VectorXd::Ones(rows.rows());
  if (weights->size() != rows.rows()) {
    throw bad_input(of.text("--weights") + ": " +
                    has(static_cast<std::size_t>(weights->size()), "weight") + ", but must have " +
                    std::to_string(count) + ", one a row of " + file);
  }
  tacit::candidate_outputs const outputs(std::move(rows), *std::move(weights));
  if (of.given("--law")) {
    if (outputs.dimension() != 1) {
      throw bad_input(file + ": " + has(outputs.dimension(), "column") +
                      ", but must have 1 with --law");
    }
    return noise_of_law(of, {outputs.rows().data(), count},
                        {outputs.probabilities().data(), count});
  }
  return answer_for(noise_for_candidates(of, asked, outputs), asked, outputs);
}

// ---- rows are samples ---------------------------------------------------------------------------

// Moments of a table, some rows at a time: O(columns) memory for variances alone.
template <class Moments>
struct sampled_rows {
  std::optional<Moments> moments;
  std::size_t rows = 0;
  std::vector<std::uint64_t> digests;

  sampled_rows(arguments const& of, noise_request const& asked,
               std::optional<Eigen::VectorXd> const& weights) {
    std::string const& file = of.text("OUTPUTS");
    Eigen::MatrixXd block;
    Eigen::VectorXd block_weights;
    Eigen::Index filled = 0;
    auto const absorb = [&] {
      moments->observe_rows(Eigen::MatrixXd(block.topRows(filled)), block_weights.head(filled));
      filled = 0;
    };
    auto const check_weights = [&](bool enough, std::size_t count) {
      if (enough) return;
      throw bad_input(of.text("--weights") + ": " +
                      has(static_cast<std::size_t>(weights->size()), "weight") +
                      ", but must have " + (count > 0 ? std::to_string(count) : "more") +
                      ", one a row of " + file);
    };
    visit_rows(file, [&](std::size_t, std::span<double const> row) {
      if (!moments) {
        check_columns(file, row.size(), asked);
        moments.emplace(row.size());
        auto const d = std::ssize(row);
        Eigen::Index const height = std::clamp<Eigen::Index>((1 << 20) / d, 1, 1024);
        block.resize(height, d);
        block_weights.resize(height);
      }
      auto const at = static_cast<Eigen::Index>(rows++);
      if (weights) check_weights(at < weights->size(), 0);
      block.row(filled) = Eigen::Map<Eigen::RowVectorXd const>(row.data(), std::ssize(row));
      block_weights(filled) = weights ? (*weights)(at) : 1.0;
      digests.push_back(tacit::row_digest(row));
      if (++filled == block.rows()) absorb();
    });
    if (weights) check_weights(static_cast<Eigen::Index>(rows) == weights->size(), rows);
    if (filled > 0) absorb();
  }
};

answer run_samples(arguments const& of, noise_request const& asked,
                   std::optional<Eigen::VectorXd> const& weights) {
  double const floor = of.number("--floor", 0.0);
  if (asked.shape == noise_shape::diagonal) {
    sampled_rows<tacit::diagonal_moments> const seen(of, asked, weights);
    return answer_for(asked.how == rule_of_noise::efficient
                          ? tacit::efficient_pac(*seen.moments, asked.budget, floor)
                          : tacit::log_det(*seen.moments, asked.budget, floor),
                      asked, seen.rows, seen.digests);
  }
  sampled_rows<tacit::output_moments> const seen(of, asked, weights);
  auto const found = [&] {
    if (asked.how == rule_of_noise::proportional) {
      return tacit::proportional(*seen.moments, asked.budget, floor);
    }
    if (asked.how == rule_of_noise::log_det) {
      return tacit::log_det(*seen.moments, asked.budget, floor);
    }
    nats const slack(of.number("--slack"));
    return tacit::auto_pac(*seen.moments, {.output_norm = of.number("--output-norm"),
                                           .c = of.number("--c"),
                                           .v = nats(asked.budget.value - slack.value),
                                           .slack = slack});
  };
  return answer_for(found(), asked, seen.rows, seen.digests);
}

answer run_calibrate(arguments const& of) {
  noise_request const asked = read_request(of);
  char const* const source = of.given("--run") ? "--run" : "OUTPUTS";
  std::optional<Eigen::VectorXd> weights;
  if (of.given("--weights")) weights = read_weights(of.text("--weights"));
  try {
    if (of.given("--run")) return release_black_box(of, asked);
    return asked.listed ? run_candidates(of, asked, std::move(weights))
                        : run_samples(of, asked, weights);
  } catch (tacit::infeasible const& error) {
    throw bad_input(of.text(source) + ": " + error.what() + (asked.listed ? "" : "; see --floor"));
  } catch (std::logic_error const& error) {
    throw bad_input(of.text(source) + ": " + error.what());
  }
}

}  // namespace

verb calibrate() {
  return {
      "calibrate", "How much noise, and of which shape, does an output need for so many nats?",
      R"(Rows are outputs, columns their coordinates; the noise is Gaussian, unless there is a --law.
  log-det       the least trace at 1/2 log det(I + Sigma/Sigma_B) = B
  auto          Algorithm 1 of PAC privacy, for a claim of B nats
  efficient     Efficient-PAC: the least trace at 1/2 trace(Sigma/Sigma_B) = B
  proportional  the shape of Sigma itself, for comparison
  candidates    the least noise found by all bounds for listed candidates
  stackelberg   the least found by descent on the Monte Carlo information, certified by drawing
From candidates "mi_bound" is certified, if the rows are all there are; from samples "mi_estimate" is
an estimate, and no bound. "entropy_left" is what of the secret's entropy is left, at least. --json has the noise to draw: "covariance", or "variances" for a diagonal.
"calibrated_on" names the sampled rows, one by one: tacit gap certifies nothing by rows of which any chose
the noise. Where a coordinate gets no noise, release 0 for -0: a sign of zero is nothing that was counted.
--run does all of it: the universe's records are dealt to --subsets subsets by the seed, each record to half of them;
the command runs on every one; one of them is drawn in secret, and its output is released with the noise, charged before,
once. A command whose output is of no use is named by its subset, and then nothing is charged or released.)",
      declare_calibrate, run_calibrate};
}

}  // namespace calculator
