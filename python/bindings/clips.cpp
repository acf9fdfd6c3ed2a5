// SPDX-License-Identifier: Apache-2.0
//
// Groups of coordinates that are clipped apart, and counts of who was within the clip: each is one Gaussian.

#include <tacit/dp/event.hpp>
#include <tacit/dp/sensitivity.hpp>

#include "argument.hpp"
#include "binding.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

namespace nb = nanobind;

namespace binding {

namespace {

using number = argument<double>;

constexpr char const* a_gaussian = "a Gaussian";
constexpr char const* positive = "positive and finite";

}  // namespace

void bind_clips(nb::module_& m) {
  m.def(
      "joint_gaussian",
      [](argument<std::vector<std::pair<number, number>>> const& groups) {
        constexpr char const* who = "joint_gaussian";
        std::vector<tacit::clipped_group> all;
        for (auto const& [clip, sigma] :
             groups.as(who, "groups", "pairs of numbers, or an array of shape (n, 2)")) {
          double const norm = clip.as(who, "clip", "finite and at least 0");
          all.push_back({norm, sigma.as(who, "sigma", positive)});
        }
        return tacit::joint_gaussian(all);
      },
      nb::arg("groups"),
      "Groups of coordinates with a clip and a noise of their own, released together, as the one "
      "Gaussian that they are: of multiplier 1/sqrt(sum of clip^2/sigma^2), never rounded up. n "
      "equal groups of multiplier m make m/sqrt(n), not m.\n\n"
      "groups  pairs (clip, sigma), or an array of shape (n, 2): the most that a record's "
      "contribution to the group has in L2 norm, at least 0, and the standard deviation of the "
      "noise in each of its coordinates, positive");
  m.def(
      "with_clip_count",
      [](argument<tacit::gaussian> const& updates, number const& count_noise) {
        constexpr char const* who = "with_clip_count";
        auto const noise = updates.as(who, "updates", a_gaussian);
        return tacit::with_clip_count(noise, count_noise.as(who, "count_noise", positive));
      },
      nb::arg("updates"), nb::arg("count_noise"),
      "Updates of adaptive clipping and the count, released beside them, of contributions that "
      "were within the clip, as one Gaussian: of multiplier (z^-2 + (2*count_noise)^-2)^(-1/2), "
      "never rounded up. The count is a sum of indicators less 1/2, to which a record that takes "
      "no part adds 0; of indicators 0 and 1 give half of its noise.\n\n"
      "updates      a Gaussian, of multiplier z\n"
      "count_noise  standard deviation of the noise of the count, positive");
  m.def(
      "beside_clip_count",
      [](argument<tacit::gaussian> const& together, number const& count_noise) {
        constexpr char const* who = "beside_clip_count";
        auto const noise = together.as(who, "together", a_gaussian);
        return tacit::beside_clip_count(noise, count_noise.as(who, "count_noise", positive));
      },
      nb::arg("together"), nb::arg("count_noise"),
      "The Gaussian for the updates that leaves `together` for them and a count beside them: "
      "`with_clip_count` of it is at least `together`. Raises ValueError unless count_noise is "
      "above half of together's multiplier.");
}

}  // namespace binding
