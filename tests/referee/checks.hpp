// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/contour/routes.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/filter.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/rays/answer.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/zcdp.hpp>

#include "referee/runs.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// What any certified accountant keeps, whatever its formulas: one question asked in two ways has answers
/// that can both be true. No reference value is needed, and a wrong formula that is consistent with itself
/// passes: the values are judged by referee/enclosures.cpp. Each check returns what it found wrong.

namespace referee {

using misses = std::vector<std::string>;

struct named_bound {
  std::string name;
  tacit::bound<double> value;
};

inline std::string text(named_bound const& b) {
  char out[96];
  std::snprintf(out, sizeof out, " [%.17g, %.17g]", b.value.lower, b.value.upper);
  return b.name + out;
}

template <class Accountant>
Accountant composed_by(composition const& c) {
  Accountant out(c.neighbours);
  for (tacit::composed const& part : c.parts) out.compose(part.release, part.count);
  return out;
}

inline void expect_meeting(misses& found, char const* what, named_bound const& a,
                           named_bound const& b) {
  if (!meet(a.value, b.value)) {
    found.push_back(std::string(what) + " do not meet: " + text(a) + ", " + text(b));
  }
}

/// ε(δ) of every accountant that takes the composition: intervals, no lower end above another's upper
/// end, and the certified upper end never above Rényi's.
inline misses every_accountant(composition const& c, bool with_grid) {
  misses found;
  std::vector<named_bound> all;
  auto const ask = [&](auto accountant) {
    try {
      for (tacit::composed const& part : c.parts) accountant.compose(part.release, part.count);
    } catch (std::invalid_argument const&) {
      return;  // this method has no bound for the event
    }
    all.push_back({std::string(accountant.name), accountant.epsilon(c.delta)});
  };
  ask(tacit::privacy_loss_accountant(c.neighbours));
  ask(tacit::renyi_accountant(c.neighbours));
  ask(tacit::gaussian_accountant(c.neighbours));
  ask(tacit::zcdp_accountant(c.neighbours));
  if (with_grid) ask(tacit::discretised_accountant(c.neighbours));
  for (named_bound const& a : all) {
    if (!(a.value.lower >= 0.0 && a.value.lower <= a.value.upper)) {
      found.push_back("no interval: " + text(a));
    }
    for (named_bound const& b : all) {
      if (&a < &b) expect_meeting(found, "accountants", a, b);
    }
  }
  if (all.size() > 1 && !(all[0].value.upper <= all[1].value.upper * (1.0 + 1e-12))) {
    found.push_back("above Renyi's: " + text(all[0]) + ", " + text(all[1]));
  }
  return found;
}

/// Composed at once, in random groups and out of order, in two accountants that are merged, and one by one where
/// there are few: ε(δ) and δ(ε) meet.
template <class Accountant>
misses grouped(composition const& c, generator& random) {
  misses found;
  std::string const name(Accountant::name);
  auto const at_once = composed_by<Accountant>(c);
  named_bound const epsilon{name, at_once.epsilon(c.delta)};
  double const e = epsilon.value.upper < 700.0 ? 0.7 * epsilon.value.upper : 1.0;
  named_bound const delta{name, at_once.delta(e)};
  auto const compare = [&](char const* what, Accountant const& other) {
    expect_meeting(found, what, epsilon, {name, other.epsilon(c.delta)});
    expect_meeting(found, what, delta, {name, other.delta(e)});
  };
  Accountant in_groups(c.neighbours), single(c.neighbours), first(c.neighbours),
      second(c.neighbours);
  std::uint64_t all = 0;
  for (auto part = c.parts.rbegin(); part != c.parts.rend(); ++part) {
    all += part->count;
    std::uint64_t const some = part->count / 3;
    first.compose(part->release, some);
    second.compose(part->release, part->count - some);
    for (std::uint64_t const n : random.groups(part->count, 30)) {
      in_groups.compose(part->release, n);
    }
  }
  first.compose(second);
  compare("at once and in groups", in_groups);
  compare("at once and merged", first);
  if (all <= 300) {
    for (tacit::composed const& part : c.parts) {
      for (std::uint64_t k = 0; k < part.count; ++k) single.compose(part.release);
    }
    compare("at once and one by one", single);
  }
  return found;
}

/// δ is known to be at most delta at every ε ≥ epsilon(delta).upper, and at least delta below its lower end.
template <class Accountant>
misses inverse(composition const& c) {
  misses found;
  auto const account = composed_by<Accountant>(c);
  tacit::bound<double> const epsilon = account.epsilon(c.delta);
  named_bound const whole{std::string(Accountant::name), epsilon};
  if (std::isfinite(epsilon.upper)) {
    named_bound const there{"delta at its upper end", account.delta(epsilon.upper)};
    if (!(there.value.lower <= c.delta)) found.push_back(text(whole) + text(there));
  }
  if (epsilon.lower > 0.0) {
    named_bound const there{"delta at its lower end", account.delta(epsilon.lower)};
    if (!(there.value.upper >= c.delta)) found.push_back(text(whole) + text(there));
  }
  return found;
}

/// δ(0) is the total variation, whichever way round: every engine and direction that answers.
inline misses total_variation(composition const& c) {
  using namespace tacit;
  misses found;
  std::vector<detail::contour<>::entry> remove, add;
  detail::rays::composition on_rays{{}, 0.0};
  for (composed const& part : c.parts) {
    domination const pairs = dominate(part.release, c.neighbours);
    auto const* removed = std::get_if<mixture_pair>(&pairs.remove);
    if (removed == nullptr) return found;
    double const count = static_cast<double>(part.count);
    remove.push_back({*removed, count});
    add.push_back({std::get<mixture_pair>(pairs.add), count});
    if (removed->parts.size() == 1 && removed->parts[0].weight < 1.0) {
      on_rays.events.push_back({removed->parts[0].weight, removed->parts[0].shift, count});
    }
  }
  std::vector<named_bound> all;
  auto const put = [&](char const* name, std::optional<bound<double>> const& value) {
    if (value) all.push_back({name, *value});
  };
  put("contour, remove", detail::contour<>(remove, 0.0).log_delta(0.0));
  put("contour, add", detail::contour<>(add, 0.0).log_delta(0.0));
  if (on_rays.events.size() == c.parts.size()) {
    put("rays, remove", detail::rays::log_delta(on_rays, orientation::remove, 0.0));
    put("rays, add", detail::rays::log_delta(on_rays, orientation::add, 0.0));
  }
  for (named_bound const& a : all) {
    for (named_bound const& b : all) {
      if (&a < &b) expect_meeting(found, "log delta at epsilon 0", a, b);
    }
  }
  return found;
}

/// Filters that are charged the composition in pieces: they say no less than what is surely lost, the same as in
/// one piece, and what an accountant has of a part is no more than the whole.
inline misses filtered(composition const& c, generator& random) {
  using namespace tacit;
  misses found;
  std::vector<double> const orders = random.uniform() < 0.5
                                         ? std::vector{1.5, 4.0, 16.0, 64.0}
                                         : std::vector{1.0 + random.between(1e-3, 200.0)};
  approx_dp const budget{1e12, c.delta};
  try {
    renyi_filter whole(orders, budget, c.neighbours), parts(orders, budget, c.neighbours);
    privacy_loss_accountant rest(c.neighbours);
    auto const account = composed_by<privacy_loss_accountant>(c);
    for (composed const& part : c.parts) {
      if (whole.would_exceed(part.release, part.count)) return found;
      std::ignore = whole.charge(part.release, part.count);
    }
    for (composed const& part : c.parts) {
      std::uint64_t const first = part.count - part.count / 3;
      for (std::uint64_t const n : random.groups(first, 7)) {
        std::ignore = parts.charge(part.release, n);
      }
      if (part.count > first) {
        std::ignore = parts.charge(part.release, part.count - first);
        rest.compose(part.release, part.count - first);
      }
    }
    named_bound const lost{"privacy-loss", account.epsilon(c.delta)};
    named_bound const spent{"filter", {whole.epsilon(), whole.epsilon()}};
    named_bound const pieces{"filter in pieces", {parts.epsilon(), parts.epsilon()}};
    if (!(std::abs(pieces.value.upper - spent.value.upper) <= 1e-9 * spent.value.upper)) {
      found.push_back(text(spent) + text(pieces));
    }
    if (!(pieces.value.upper >= lost.value.lower && spent.value.upper >= lost.value.lower)) {
      found.push_back("below what is surely lost: " + text(spent) + text(pieces) + text(lost));
    }
    named_bound const rested{"a part", rest.epsilon(c.delta)};
    if (!(lost.value.upper >= rested.value.lower)) {
      found.push_back("a part above the whole: " + text(lost) + text(rested));
    }
  } catch (infeasible const&) {
    return found;  // these orders need more than any budget at this δ
  } catch (std::invalid_argument const&) {
    return found;  // without a finite divergence
  }
  for (composed const& part : c.parts) {
    if (part.release.how.index() != 0 || !std::holds_alternative<gaussian>(part.release.what)) {
      return found;
    }
  }
  gaussian_filter normal(gaussian_dp{1e12}, c.neighbours);
  for (composed const& part : c.parts) {
    for (std::uint64_t const n : random.groups(part.count, 7)) {
      std::ignore = normal.charge(part.release, n);
    }
  }
  bound<gaussian_dp> const exact = composed_by<gaussian_accountant>(c).method().guarantee();
  double const mu = normal.spent().mu;
  if (!(mu >= exact.lower.mu && mu <= exact.upper.mu * (1.0 + 1e-12))) {
    found.push_back(text({"gaussian filter", {mu, mu}}) +
                    text({"gaussian accountant", {exact.lower.mu, exact.upper.mu}}));
  }
  return found;
}

/// What run k of a seed is checked for: all accountants against each other always, and one more question
/// in turn. An exception is a miss.
inline misses check(std::uint64_t seed, std::uint64_t k) {
  generator random(seed, k);
  composition const c = random.next();
  try {
    misses found = every_accountant(c, random.uniform() < 0.01);
    auto const also = [&](misses const& more) {
      found.insert(found.end(), more.begin(), more.end());
    };
    switch (k % 5) {
      case 0:
        also(grouped<tacit::privacy_loss_accountant>(c, random));
        break;
      case 1:
        also(inverse<tacit::privacy_loss_accountant>(c));
        break;
      case 2:
        also(total_variation(c));
        break;
      case 3:
        also(filtered(c, random));
        break;
      default:
        if (c.only_normals()) {
          also(grouped<tacit::gaussian_accountant>(c, random));
          also(grouped<tacit::zcdp_accountant>(c, random));
          also(inverse<tacit::gaussian_accountant>(c));
          also(inverse<tacit::zcdp_accountant>(c));
        } else if (k % 2 == 0) {
          also(grouped<tacit::renyi_accountant>(c, random));
        } else {
          also(inverse<tacit::renyi_accountant>(c));
        }
    }
    return found;
  } catch (std::exception const& error) {
    return {std::string("exception: ") + error.what()};
  }
}

}  // namespace referee
