// SPDX-License-Identifier: Apache-2.0
//
// A run, as the options of a verb state it.

#include "plan.hpp"

#include <tacit/core/count.hpp>
#include <tacit/dp/sensitivity.hpp>

#include "surroundings.hpp"

#include <algorithm>

namespace calculator {

using tacit::adjacency;
using tacit::composed;

namespace {

arguments::words<adjacency> const adjacencies{{"add-remove", adjacency::add_remove},
                                              {"replace-one", adjacency::replace_one},
                                              {"zero-out", adjacency::zero_out}};

std::vector<std::string> const stating_one_release{"--mechanism",
                                                   "--noise-multiplier",
                                                   "--rate",
                                                   "--batch",
                                                   "--records",
                                                   "--with-replacement",
                                                   "--clip-count-noise",
                                                   "--allocate",
                                                   "--of",
                                                   "--shuffle",
                                                   "--epochs",
                                                   "--steps",
                                                   "--records-per-person"};

std::string of_multiplier(char const* noise, double multiplier) {
  return std::string(noise) + " noise of multiplier " + exactly(multiplier);
}

std::string counted(std::uint64_t count, std::string const& what, char const* several = "s") {
  return std::to_string(count) + " " + what + (count == 1 ? "" : several);
}

std::string of_epsilon(std::string const& mechanism, double epsilon) {
  return mechanism + " of epsilon " + exactly(epsilon);
}

}  // namespace

std::uint64_t plan::steps() const {
  std::uint64_t sum = 0;
  for (entry const& e : releases) sum += e.what.count;
  return sum;
}

std::vector<composed> plan::history() const {
  std::vector<composed> all;
  for (entry const& e : releases) all.push_back(e.what);
  return all;
}

void declare_plan(arguments& of, plan_options which) {
  char const* const only = !which.needed    ? ""
                           : which.schedule ? "needed unless --schedule is given: "
                                            : "needed: ";
  of.add("--mechanism", one_of({"gaussian", "laplace"}), "the noise; gaussian unless given");
  if (which.noise) {
    of.add("--noise-multiplier", number(apps::noise_range, apps::in_noise_range),
           std::string(only) +
               "standard deviation (laplace: scale) of the noise over the clipping norm");
  }
  of.add("--clip-count-noise", number(apps::noise_range, apps::in_noise_range),
         "adaptive clipping: each step also releases the sum of indicators, less 1/2 each, of the "
         "contributions within the clip, with noise of this standard deviation (half of it, if "
         "they are not less 1/2)");
  if (which.sampling) {
    of.add("--rate", probability(),
           "every record takes part in a step with this probability (Poisson)");
    of.add("--batch", whole(1, largest_count),
           "every step takes a fresh batch of this size without replacement, out of");
    of.add_flag("--with-replacement",
                "the batch is of independent draws, so that a record may be in it "
                "several times");
    of.add("--allocate", whole(1, tacit::random_allocation::most_steps),
           "every record takes part in this many steps of an epoch, drawn at random, out of");
    of.add("--of", whole(1, tacit::random_allocation::most_steps), "this many steps of an epoch");
    of.add("--shuffle", whole(1, tacit::random_allocation::most_steps),
           "the records are shuffled for each epoch, which has this many batches of one size; "
           "zero-out or replace-one neighbours");
    of.add("--epochs", whole(1, largest_count),
           "with --allocate or --shuffle, in place of --steps; 1 unless given");
  }
  of.add("--records", whole(1, largest_count),
         which.sampling ? "this many; without --rate and --batch every record takes part"
                        : "fixed-size batches out of this many records; Poisson samples unless "
                          "given");
  if (which.steps) {
    of.add("--steps", whole(1, largest_count), std::string(only) + "how many releases");
  }
  of.add("--records-per-person", whole(1, 1'000'000),
         "protect a person with up to this many records; 1 unless given");
  of.add("--adjacency", one_of({"add-remove", "replace-one", "zero-out"}),
         "neighbours differ by a record more or less, by another one in its place, or by one that "
         "contributes nothing; add-remove unless given");
  if (which.schedule) {
    of.add("--schedule", input_file("a readable schedule"),
           "in place of all these: what is released, as JSON, or the state of an accountant of "
           "Opacus, "
           "dp_accounting or prv-accountant as Python prints it");
  }
}

adjacency read_adjacency(arguments const& of) {
  return of.choice("--adjacency", adjacencies, adjacency::add_remove);
}

tacit::mechanism_event read_mechanism(arguments const& of, double noise_multiplier) {
  if (of.given("--mechanism") && of.text("--mechanism") == "laplace") {
    of.must_be_left_out({"--clip-count-noise"}, "where --mechanism is laplace");
    return tacit::laplace{noise_multiplier};
  }
  if (of.given("--clip-count-noise")) {
    return tacit::with_clip_count({noise_multiplier}, of.number("--clip-count-noise"));
  }
  return tacit::gaussian{noise_multiplier};
}

tacit::sampling read_sampling(arguments const& of) {
  bool const again = of.given("--with-replacement");
  if (again && !of.given("--batch"))
    of.must_be_left_out({"--with-replacement"}, "unless --batch is given");
  if (of.given("--allocate")) {
    of.must_be_left_out({"--rate", "--batch", "--records"}, "where --allocate is given");
    of.must_be_left_out({"--shuffle"}, "where --allocate is given");
    tacit::random_allocation const how{of.whole("--of"), of.whole("--allocate")};
    if (how.part > how.steps) of.refuse("--allocate", tacit::detail::count_range(1, how.steps));
    return how;
  }
  if (of.given("--shuffle")) {
    of.must_be_left_out({"--rate", "--batch", "--records", "--of"}, "where --shuffle is given");
    return tacit::shuffled{};
  }
  of.must_be_left_out({"--of"}, "unless --allocate is given");
  of.must_be_left_out({"--epochs"}, "unless --allocate or --shuffle is given");
  if (of.given("--rate")) {
    of.must_be_left_out({"--batch", "--records"}, "where --rate is given");
    return tacit::poisson{of.number("--rate")};
  }
  if (!of.given("--batch")) {
    of.must_be_left_out({"--records"}, "unless --batch is given");
    return tacit::unsampled{};
  }
  if (again) return tacit::with_replacement{of.whole("--batch"), of.whole("--records")};
  tacit::fixed_size const how{of.whole("--batch"), of.whole("--records")};
  if (how.batch > how.records) of.refuse("--batch", tacit::detail::count_range(1, how.records));
  return how;
}

std::uint64_t read_records_per_person(arguments const& of) {
  return of.whole("--records-per-person", 1);
}

std::uint64_t read_steps(arguments const& of) {
  bool const allocated = of.given("--allocate");
  if (!allocated && !of.given("--shuffle")) return of.whole("--steps");
  of.must_be_left_out({"--steps"}, allocated ? "where --allocate is given: --epochs says how many"
                                             : "where --shuffle is given: --epochs says how many");
  return of.whole("--epochs", 1);
}

std::optional<std::uint64_t> read_shuffled_batches(arguments const& of) {
  if (!of.given("--shuffle")) return std::nullopt;
  of.must_be_left_out({"--records-per-person"}, "where --shuffle is given");
  if (of.given("--mechanism") && of.text("--mechanism") != "gaussian") {
    of.must_be_left_out({"--shuffle"}, "unless --mechanism is gaussian");
  }
  return of.whole("--shuffle");
}

std::vector<std::string> const& plan_names() {
  static std::vector<std::string> const all = [] {
    std::vector<std::string> names = stating_one_release;
    names.insert(names.end(), {"--adjacency", "--schedule"});
    return names;
  }();
  return all;
}

plan read_plan(arguments const& of) {
  if (of.given("--schedule")) {
    of.must_be_left_out(stating_one_release, "where --schedule is given");
    if (of.has("--patience")) be_patient(of);  // runs inside of it are asked for their profiles
    std::optional<adjacency> neighbours;
    if (of.given("--adjacency")) neighbours = read_adjacency(of);
    return read_schedule(of.text("--schedule"), neighbours);
  }
  tacit::mechanism_event const mechanism = read_mechanism(of, of.number("--noise-multiplier"));
  tacit::event const release =
      by_person(sampled(mechanism, read_sampling(of)), read_records_per_person(of));
  plan run{read_adjacency(of), {{{release, read_steps(of)}, ""}}};
  run.batches = read_shuffled_batches(of);
  return run;
}

std::string in_words(tacit::mechanism_event const& mechanism) {
  struct visitor {
    std::string operator()(tacit::gaussian const& m) const {
      return of_multiplier("Gaussian", m.noise_multiplier);
    }
    std::string operator()(tacit::laplace const& m) const {
      return of_multiplier("Laplace", m.noise_multiplier);
    }
    std::string operator()(tacit::discrete_gaussian const& m) const {
      return "discrete Gaussian noise of sigma " + exactly(m.sigma) + " on a sensitivity of " +
             std::to_string(m.sensitivity);
    }
    std::string operator()(tacit::discrete_laplace const& m) const {
      return "discrete Laplace noise of scale " + exactly(m.scale) + " on a sensitivity of " +
             std::to_string(m.sensitivity);
    }
    std::string operator()(tacit::integer_noise const& m) const {
      bool const is_skellam = m.law == tacit::integer_law::skellam;
      return std::string(is_skellam ? "Skellam" : "binomial") + " noise of variance " +
             exactly(m.variance) + " on a sensitivity of " + std::to_string(m.sensitivity);
    }
    std::string operator()(tacit::gaussian_mixture const& m) const {
      return "Gaussian noise of sigma " + exactly(m.sigma) + " on a sensitivity drawn among " +
             std::to_string(m.parts.size());
    }
    std::string operator()(tacit::randomised_response const& m) const {
      return of_epsilon("randomised response among " + std::to_string(m.categories), m.epsilon);
    }
    std::string operator()(tacit::exponential_mechanism const& m) const {
      return of_epsilon("an exponential mechanism", m.epsilon);
    }
    std::string operator()(tacit::pure const& m) const {
      return of_epsilon("any mechanism", m.epsilon);
    }
    std::string operator()(tacit::approx_dp const& m) const {
      return of_epsilon("any mechanism", m.epsilon) + " and delta " + exactly(m.delta);
    }
    std::string operator()(tacit::matrix_gaussian const& m) const {
      return of_multiplier("correlated Gaussian", m.noise_multiplier) + " on a sensitivity of " +
             exactly(m.sensitivity);
    }
    std::string operator()(tacit::gaussian_dp const& m) const {
      return "any mechanism of Gaussian DP, mu " + exactly(m.mu);
    }
    std::string operator()(tacit::zcdp const& m) const {
      return "any mechanism of zCDP, rho " + exactly(m.rho);
    }
    std::string operator()(tacit::dp_profile const& m) const {
      return "any mechanism of a profile with " + counted(m.points.size(), "point");
    }
    std::string operator()(tacit::renyi_dp const& m) const {
      return "any mechanism of Rényi divergences within " +
             counted(m.points.size(), "stated bound");
    }
  };
  return std::visit(visitor{}, mechanism);
}

std::string in_words(tacit::sampling const& how, std::optional<std::uint64_t> batches) {
  if (batches) return "epochs of " + counted(*batches, "shuffled batch", "es");
  if (auto const* p = std::get_if<tacit::poisson>(&how)) {
    return "Poisson samples of rate " + exactly(p->rate);
  }
  if (auto const* f = std::get_if<tacit::fixed_size>(&how)) {
    return "batches of " + std::to_string(f->batch) + " out of " + std::to_string(f->records) +
           " records";
  }
  if (auto const* w = std::get_if<tacit::with_replacement>(&how)) {
    return "batches of " + counted(w->batch, "draw") + " with replacement out of " +
           std::to_string(w->records) + " records";
  }
  if (auto const* a = std::get_if<tacit::random_allocation>(&how)) {
    return "epochs of " + counted(a->steps, "step") + " of which every record takes part in " +
           std::to_string(a->part) + ", at random";
  }
  return std::holds_alternative<tacit::shuffled>(how) ? "epochs of shuffled batches"
                                                      : "all records";
}

std::string count_in_words(std::uint64_t count, tacit::sampling const& how) {
  bool const in_epochs = std::holds_alternative<tacit::random_allocation>(how) ||
                         std::holds_alternative<tacit::shuffled>(how);
  return counted(count, in_epochs ? "epoch" : "step");
}

std::string in_words(composed const& what, std::optional<std::uint64_t> batches) {
  auto const& how = what.release.how;
  std::string const persons =
      what.release.records_per_person == 1
          ? ""
          : ", persons of up to " + std::to_string(what.release.records_per_person) + " records";
  return count_in_words(what.count, how) + ", " + in_words(what.release.what) + ", " +
         in_words(how, batches) + persons;
}

std::string in_words(plan::entry const& what, std::optional<std::uint64_t> batches) {
  if (!what.run) return in_words(what.what, batches);
  plan const inner{tacit::adjacency::add_remove, what.run->releases};
  std::string const several = counted(what.what.count, "run") + ", each of them ";
  return (what.what.count == 1 ? "a run as one release: " : several) +
         words_around(what.run->around, in_words(inner));
}

std::string in_words(plan const& run) {
  if (run.releases.size() == 1) return in_words(run.releases.front(), run.batches);
  return std::to_string(run.steps()) + " steps in " + std::to_string(run.releases.size()) +
         " kinds of release";
}

std::string in_words(adjacency neighbours) { return apps::word_of(neighbours); }

}  // namespace calculator
