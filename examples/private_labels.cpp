// SPDX-License-Identifier: Apache-2.0
//
// Private prediction (PAC-private responses, arXiv 2601.14033). 64 classifiers of digits are each trained on half of 1000
// private images. One of them, drawn in secret, labels what anybody asks. A student learns from the answers alone: it
// may be published, and tells no more than they do.
//
//     example_private_labels examples/data/digits.csv 1000000

#include <tacit/core/decimal.hpp>
#include <tacit/mechanism/answering.hpp>
#include <tacit/pac/candidates.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using namespace tacit;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index pixels = 64;
constexpr Index digits = 10;
constexpr Index models = 64;
constexpr Index members = 1000;  // private images; half of the others are asked about
constexpr Index batch = 100;

/// A column an image, of pixels in [0, 1].
struct images {
  MatrixXd columns;
  Eigen::VectorX<Index> labels;
};

images read_images(char const* path) {
  std::ifstream file(path);
  std::string line;
  std::vector<std::string> lines;
  while (std::getline(file, line)) lines.push_back(line);  // of which the first has names
  Index const count = std::ssize(lines) - 1;
  if (count < members + 2) throw std::runtime_error("too few digits in the file");
  images out{MatrixXd(pixels, count), Eigen::VectorX<Index>(count)};
  for (Index image = 0; image < count; ++image) {
    // In an order that mixes the writers: 1013 and the 1797 lines have no common factor.
    char* at = lines[static_cast<std::size_t>(1 + image * 1013 % count)].data();
    for (Index i = 0; i < pixels; ++i, ++at) out.columns(i, image) = std::strtod(at, &at) / 16.0;
    out.labels(image) = std::strtol(at, nullptr, 10);
  }
  return out;
}

/// Softmax regression, a row a digit: one step towards the labels that these images should have, none for a column of zeros.
void improve(MatrixXd& weights, MatrixXd const& columns, MatrixXd const& wanted, double rate) {
  MatrixXd p = (weights * columns).array().exp();
  p.array().rowwise() /= p.colwise().sum().array().eval();
  weights += rate / double(columns.cols()) * (wanted - p) * columns.transpose();
}

Index digit_of(Eigen::Ref<VectorXd const> const& scores) {
  Index best = 0;
  scores.maxCoeff(&best);
  return best;
}

/// In percent, of the last so many images.
double accuracy(MatrixXd const& weights, images const& all, Index count) {
  MatrixXd const scores = weights * all.columns.rightCols(count);
  Index right = 0;
  for (Index i = 0; i < count; ++i) right += digit_of(scores.col(i)) == all.labels.tail(count)(i);
  return 100.0 * double(right) / double(count);
}

/// The classifiers, one below another. Every private image is in half of their subsets.
MatrixXd teachers_of(images const& all, candidate_set const& subsets) {
  MatrixXd out(models * digits, pixels);
  for (Index m = 0; m < models; ++m) {
    std::vector<Index> in;
    for (Index i = 0; i < members; ++i) {
      if (subsets.contains(static_cast<std::size_t>(m), static_cast<std::size_t>(i)))
        in.push_back(i);
    }
    MatrixXd wanted = MatrixXd::Zero(digits, std::ssize(in));
    for (Index i = 0; i < wanted.cols(); ++i) wanted(all.labels(in)(i), i) = 1.0;
    MatrixXd weights = MatrixXd::Zero(digits, pixels);
    for (int step = 0; step < 200; ++step) improve(weights, all.columns(Eigen::all, in), wanted, 1);
    out.middleRows(m * digits, digits) = weights;
  }
  return out;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) return std::fprintf(stderr, "usage: %s DIGITS.csv QUERIES\n", words[0]), 2;
  images const all = read_images(words[1]);
  Index const queries = std::atol(words[2]);
  Index const asked = (all.labels.size() - members) / 2;
  auto const subsets = candidate_set::balanced({.records = members, .subsets = models}, 1);
  MatrixXd const teachers = teachers_of(all, subsets);

  // 2^-32 nats an answer: the budget is for a million of them.
  answering<> answers({models}, {.budget = nats(0x1p-12), .per_answer = nats(0x1p-32)});
  MatrixXd student = MatrixXd::Zero(digits, pixels);
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal(0.0, 0.1);
  Index right = 0;
  Index right_alone = 0;
  Index agreed = 0;
  for (Index done = 0; done < queries; done += batch) {
    // Images that nobody has a label of, each as often as one likes, with noise of its own.
    std::vector<Index> which(batch);
    for (Index& i : which) i = members + static_cast<Index>(random() % 1000003) % asked;
    MatrixXd columns =
        all.columns(Eigen::all, which).unaryExpr([&](double x) { return x + normal(random); });
    MatrixXd const scores = teachers * columns;
    MatrixXd said = MatrixXd::Zero(digits, batch);
    for (Index q = 0; q < batch; ++q) {
      MatrixXd votes = MatrixXd::Zero(models, digits);
      for (Index m = 0; m < models; ++m)
        votes(m, digit_of(scores.col(q).segment(m * digits, digits))) = 1.0;
      nats const before = answers.spent();
      Index const label = digit_of(answers.answer(votes));
      Index const truth = all.labels(which)(q);
      right += label == truth ? 1 : 0;
      right_alone += votes(0, truth) > 0.0 ? 1 : 0;
      // Where all agree there is no noise, which is public. The student learns from these answers.
      bool const free = answers.spent() == before;
      agreed += free ? 1 : 0;
      if (free) said(label, q) = 1.0;
      if (!free) columns.col(q).setZero();
    }
    improve(student, columns, said, 0.5);
  }
  double const percent = 100.0 / double(queries);
  std::printf(
      "%ld answers: %.1f %% right, where one classifier alone has %.1f %%; %.1f %% agreed on\n",
      long{queries}, double(right) * percent, double(right_alone) * percent,
      double(agreed) * percent);
  Index const others = all.labels.size() - members - asked;
  std::printf("the student: %.1f %% of other images, where one classifier alone has %.1f %%\n",
              accuracy(student, all, others), accuracy(teachers.topRows(digits), all, others));

  // An attacker who knows all images and subsets has the exact posterior: how sure it is, is how often it is right.
  auto const p = answers.belief().probabilities();
  std::vector<double> in(members);
  subsets.membership_sums(p, in);
  for (double& x : in) x = std::max(x, 1.0 - x);
  std::printf(
      "%s nats: an attacker is right about an image with probability %.5f, about the most "
      "exposed one with %.5f, at most %s; about the classifier with %.5f, at most %s\n",
      rounded_up(answers.spent().value, 3).c_str(),
      std::accumulate(in.begin(), in.end(), 0.0) / double(members),
      *std::max_element(in.begin(), in.end()), rounded_up(answers.attack_bound(), 5).c_str(),
      *std::max_element(p.begin(), p.end()),
      rounded_up(answers.attack_bound(1.0 / models), 5).c_str());
}
