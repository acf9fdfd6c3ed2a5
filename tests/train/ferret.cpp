// SPDX-License-Identifier: Apache-2.0
#include <tacit/train/ferret.hpp>
#include <tacit/zo/direction.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

using namespace tacit;

namespace {

std::vector<parameter_range> const ferret_ranges{{0, 5}, {5, 69}, {69, 200}};
constexpr stream_id ferret_stream{11, 4};

}  // namespace

TEST_CASE("a gradient on the groups' unit directions") {
  direction const z = direction_at(direction_law::rademacher, ferret_stream, 200);
  std::vector<float> gradient(200);
  for (std::size_t i = 0; i < 200; ++i) gradient[i] = std::sin(static_cast<float>(i) + 0.5F);
  std::vector<double> out(3);
  project_on_groups(gradient, ferret_stream, ferret_ranges, out);
  for (std::size_t g = 0; g < 3; ++g) {
    double sum = 0.0;
    for (std::size_t i = ferret_ranges[g].first; i < ferret_ranges[g].last; ++i) {
      sum += double{z(i)} * double{gradient[i]};
    }
    CHECK(out[g] == sum / std::sqrt(static_cast<double>(ferret_ranges[g].size())));
  }
  // On z itself the scalar is ‖z_g‖ = √n_g: u_g has length 1.
  for (std::size_t i = 0; i < 200; ++i) gradient[i] = z(i);
  project_on_groups(gradient, ferret_stream, ferret_ranges, out);
  CHECK(out[1] == 8.0);
  CHECK(out[2] == Approx(std::sqrt(131.0)).epsilon(1e-15));
}

TEST_CASE("a release moves the groups that fired, each by the learning rate") {
  std::vector<float> theta(200, 1.0F);
  release const y{{1.0, 0.0, -1.0}};
  step_on_groups(theta, ferret_stream, ferret_ranges, y, 0.25);
  std::vector<double> moved(3);
  std::vector<float> change(200);
  for (std::size_t i = 0; i < 200; ++i) change[i] = theta[i] - 1.0F;
  project_on_groups(change, ferret_stream, ferret_ranges, moved);
  CHECK(moved[0] == Approx(-0.25).epsilon(1e-6));
  CHECK(moved[1] == 0.0);
  CHECK(moved[2] == Approx(0.25).epsilon(1e-6));

  std::vector<float> decayed(200, 1.0F);
  step_on_groups(decayed, ferret_stream, ferret_ranges, y, 0.25, 0.5);
  CHECK(decayed[0] == Approx(theta[0] - 0.125F).epsilon(1e-6));
  CHECK(decayed[10] == 1.0F);  // its group did not fire
}

TEST_CASE("project_on_groups and step_on_groups refuse what does not fit") {
  std::vector<float> theta(200);
  std::vector<double> out(3);
  release const y{{1.0, 0.0, -1.0}};
  std::vector<parameter_range> const gap{{0, 5}, {6, 200}};
  std::vector<double> two(2);
  CHECK_THROWS_WITH(project_on_groups(theta, ferret_stream, gap, two),
                    "project_on_groups: first parameter of a group is 6, but must be where the "
                    "group before it ends, 5");
  CHECK_THROWS_AS(project_on_groups(theta, ferret_stream, ferret_ranges, two),
                  std::invalid_argument);
  CHECK_THROWS_AS(project_on_groups(std::vector<float>(199), ferret_stream, ferret_ranges, out),
                  std::invalid_argument);
  CHECK_THROWS_AS(step_on_groups(theta, ferret_stream, ferret_ranges, release{{1.0}}, 0.1),
                  std::invalid_argument);
  for (double const bad : {0.0, -1.0, infinity, not_a_number}) {
    CHECK_THROWS_AS(step_on_groups(theta, ferret_stream, ferret_ranges, y, bad), std::domain_error);
  }
  CHECK_THROWS_AS(step_on_groups(theta, ferret_stream, ferret_ranges, y, 0.1, 11.0),
                  std::domain_error);
}
