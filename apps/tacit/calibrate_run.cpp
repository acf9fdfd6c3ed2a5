// SPDX-License-Identifier: Apache-2.0
//
// Runs a program on all candidates, finds the noise, and releases what it returned on the secret one.

#include <tacit/config.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/private_file.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/mechanism/noisy_output.hpp>
#include <tacit/mechanism/saved_run.hpp>
#include <tacit/secret/bernoulli.hpp>
#include <tacit/secret/stream.hpp>
#include <tacit/zo/hash.hpp>
#include <tacit/zo/run_record.hpp>

#include "black_box.hpp"
#include "calibrate.hpp"
#include "output/format.hpp"
#include "output/text_file.hpp"
#include "output/used_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace calculator {

using tacit::calibrated;
using tacit::mi_bound;
using tacit::nats;

namespace {

std::vector<std::string> const of_a_run{"--universe", "--header",    "--subsets",
                                        "--folder",   "--jobs",      "--timeout",
                                        "--afresh",   "--statement", "--progress"};

// ---- the release ----------------------------------------------------------------------------------

// The largest deviation of the noise in each coordinate.
Eigen::VectorXd deviations(tacit::gaussian_noise const& noise) {
  auto const d = static_cast<Eigen::Index>(noise.dimension());
  if (noise.along_coordinates()) return noise.variances().cwiseSqrt();
  Eigen::VectorXd out = Eigen::VectorXd::Constant(d, noise.rest());
  if (noise.variances().size() > 0) {
    out += noise.axes().cwiseAbs2() * (noise.variances().array() - noise.rest()).matrix();
  }
  return out.cwiseMax(0.0).cwiseSqrt();
}

// A power of two for each coordinate, far below the noise and far above the rounding of a sum with it; 0 where there
// is no noise. It depends on all candidates and so on none.
Eigen::VectorXd grid_for(Eigen::MatrixXd const& rows, tacit::gaussian_noise const& noise) {
  Eigen::VectorXd grid = deviations(noise);
  for (Eigen::Index j = 0; j < grid.size(); ++j) {
    if (grid(j) == 0.0) continue;
    double const largest = rows.col(j).cwiseAbs().maxCoeff() + 40.0 * grid(j);
    double const step = std::max(std::ldexp(grid(j), -20), std::ldexp(largest, -40));
    grid(j) = std::exp2(std::ceil(std::log2(std::max(step, std::numeric_limits<double>::min()))));
  }
  return grid;
}

Eigen::VectorXd on_grid(Eigen::VectorXd const& x, Eigen::VectorXd const& grid) {
  return x.binaryExpr(grid, [](double y, double step) {
    return (step > 0.0 ? step * std::nearbyint(y / step) : y) + 0.0;
  });
}

// One release, charged before it is drawn, and what is said of it.
class one_release {
 public:
  [[nodiscard]] bool done() const { return !kept_.json.empty(); }
  [[nodiscard]] answer told() const {
    return {tacit::detail::from_word("the state", kept_.sentence),
            nlohmann::ordered_json::parse(tacit::detail::from_word("the state", kept_.json))};
  }

  /// Candidates are equally likely. `tell` makes the answer of the release.
  template <class Tell>
  answer step(tacit::noisy_outputs<>& releases, Eigen::MatrixXd const& rows,
              calibrated<mi_bound> const& how, Tell const& tell) {
    if (done()) throw tacit::budget_exhausted("the release was made before");
    Eigen::VectorXd const grid = grid_for(rows, how.noise);
    tacit::secret_stream secret;
    auto const truth = static_cast<Eigen::Index>(
        tacit::uniform_below(secret, static_cast<std::uint64_t>(rows.rows())));
    Eigen::VectorXd const output = rows.row(truth).transpose();
    Eigen::VectorXd const released = on_grid(releases.release(output, how), grid);
    answer out = tell(released, releases.account());
    kept_.budget = releases.account().budget().value;
    kept_.spent = releases.account().spent().value;
    kept_.sentence = tacit::detail::to_word(out.sentence);
    kept_.json = tacit::detail::to_word(out.json.dump());
    return out;
  }

 private:
  friend class tacit::saved_run<one_release>;

  struct state {
    static constexpr char const* kind = "tacit-calibrated-release";
    static constexpr unsigned version = 1;
    double budget = 0.0;
    double spent = 0.0;
    std::string sentence;  // as words; empty before the release
    std::string json;

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("nats", self.budget, self.spent);
      archive.field("sentence", self.sentence);
      archive.field("answer", self.json);
    }
  };

  [[nodiscard]] state save() const { return kept_; }
  static one_release restore(state&& kept) {
    one_release out;
    out.kept_ = std::move(kept);
    if (out.done()) {
      try {
        (void)out.told();
      } catch (std::exception const&) {
        throw std::logic_error("its release makes no sense");
      }
    }
    return out;
  }
  static bool summary_of(state const& kept) { return !kept.json.empty(); }

  state kept_;
};

using saved_release = tacit::saved_run<one_release>;

// ---- what was asked for ---------------------------------------------------------------------------

rule folder() {
  return {"a folder of its own, or a new one in a folder that exists",
          [](std::string const& text) {
            return !text.empty() && text != "-" &&
                   std::none_of(text.begin(), text.end(),
                                [](char c) { return c == '\x7f' || (c & ~0x1f) == 0; });
          },
          "FOLDER"};
}

rule command() {
  return {"a command for the shell", [](std::string const& text) { return !text.empty(); },
          "COMMAND"};
}

black_box read_box(arguments const& of, bool header) {
  black_box box{
      .command = of.text("--run"),
      .universe = of.text("--universe"),
      .header = header,
      .subsets = of.whole("--subsets", 128),
      .seed = of.whole("--seed", 1),
      .folder = of.given("--folder") ? of.text("--folder") : of.text("--universe") + ".runs",
      .progress = of.given("--progress") || ::isatty(STDERR_FILENO) != 0};
  unsigned const cores = std::max(1U, std::thread::hardware_concurrency());
  box.jobs = of.whole("--jobs", cores);
  box.seconds = of.number("--timeout", box.seconds);
  while (box.folder.size() > 1 && box.folder.back() == '/') box.folder.pop_back();
  return box;
}

bool read_header(arguments const& of) {
  if (of.given("--header")) return of.text("--header") == "yes";
  if (record_table::may_have_header(of.text("--universe"))) {
    of.refuse("--header",
              "yes or no, since no field of the first line is a number: are these the names of the "
              "columns, or a record?");
  }
  return false;
}

void make_folder(arguments const& of, std::string const& folder) {
  std::error_code none;
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    of.refuse_because("--folder", tacit::file_error({errno, std::generic_category()},
                                                    "it cannot be made", folder));
  }
  if (!std::filesystem::is_directory(folder, none)) of.refuse("--folder");
  auto const parent = apps::whole_name(of.text("--universe")).parent_path();
  if (std::filesystem::equivalent(parent, folder, none)) {
    of.refuse("--folder", "another folder than that of --universe");
  }
}

// What the one release of a folder is about, in a word.
std::string about(arguments const& of, noise_request const& asked, black_box const& box,
                  record_table const& records) {
  tacit::detail::blake2b hash;
  tacit::detail::hash_text(hash, digest_of(box, records));
  tacit::detail::hash_text(hash, exactly(asked.budget.value));
  tacit::detail::hash_number(hash, static_cast<std::uint64_t>(asked.how));
  tacit::detail::hash_number(hash, static_cast<std::uint64_t>(asked.shape));
  for (char const* name : {"--confidence", "--samples"}) {
    tacit::detail::hash_text(hash, of.given(name) ? exactly(of.number(name)) : "");
  }
  return to_hex(tacit::parameter_hash{hash.finish()});
}

// The state of the folder, held by this process alone.
saved_release open_state(arguments const& of, std::string const& folder, std::string const& word) {
  std::string const file = folder + "/release";
  std::error_code none;
  try {
    if (!std::filesystem::exists(file, none) || std::filesystem::is_empty(file, none)) {
      return {one_release(), file, word};
    }
    auto const [done, before] = saved_release::summary(file);
    if (before != word && done) {
      of.refuse(
          "--folder",
          "a folder without a release: that of this one is of another command, universe, seed, "
          "method or budget");
    }
    saved_release run = saved_release::resume(file, before);
    if (before != word && !run->done())
      run.bind_to(word);  // nothing was released for what was asked before
    return run;
  } catch (tacit::corrupt_state const& error) {
    of.refuse("--folder", "another one, where no state is damaged: " + file + ": " + error.what());
  } catch (std::system_error const& error) {
    of.refuse_because("--folder", error);
  }
}

// ---- the answer -----------------------------------------------------------------------------------

std::string numbers_in_words(Eigen::VectorXd const& x) {
  constexpr Eigen::Index most = 8;
  std::string text;
  for (Eigen::Index i = 0; i < std::min(most, x.size()); ++i) {
    text += (i > 0 ? ", " : "") + exactly(x(i));
  }
  return x.size() <= most ? text : text + ", ... (" + std::to_string(x.size()) + " numbers)";
}

struct told_run {
  black_box const& box;
  record_table const& records;
  black_box_outputs const& outputs;
};

answer tell(answer out, told_run const& run, Eigen::VectorXd const& released,
            tacit::pac_ledger const& account) {
  mi_bound const spent = account.total();
  double const failure = account.failure();
  auto const with_failure = [&](double success) {
    return std::min(1.0, tacit::detail::add_up(success, failure));
  };
  double const membership = with_failure(tacit::attack_success(spent.value, 0.5));
  double const subset = with_failure(tacit::attack_success(
      spent.value, tacit::detail::divide_up(1.0, static_cast<double>(run.box.subsets))));
  nlohmann::ordered_json json{{"release", std::vector<double>(released.begin(), released.end())},
                              {"subsets", run.box.subsets},
                              {"records", run.records.records()},
                              {"header", run.box.header},
                              {"repeats", run.outputs.repeats},
                              {"attack_bound", membership},
                              {"attack_bound_subset", subset},
                              {"ledger",
                               {{"budget", account.budget().value},
                                {"spent", account.spent().value},
                                {"left", account.remaining().value}}}};
  json.update(out.json);
  out.json = std::move(json);
  out.sentence = "released " + numbers_in_words(released) + ": " + out.sentence +
                 "; an attacker on a record's membership is right with probability at most " +
                 rounded_up(membership);
  if (!run.outputs.repeats) {
    out.sentence +=
        "; on subset 0 the command did not return the same again, so the noise covers what it "
        "draws "
        "at random, too";
  }
  return out;
}

// A page to go with the release: nothing in it depends on the secret but the release.
std::string page(arguments const& of, black_box const& box, answer const& told) {
  auto const& json = told.json;
  auto const number = [&](char const* name) { return json.at(name).get<double>(); };
  double const confidence = number("confidence");
  std::string out = "# Privacy statement\n\n## What is released\n\n";
  for (auto const& x : json.at("release")) out += "    " + exactly(x.get<double>()) + "\n";
  out +=
      "\nIt is what a program returned on a secret half of " +
      std::to_string(json.at("records").get<std::size_t>()) +
      " records, plus Gaussian noise of trace " + rounded_up(number("trace")) +
      ", rounded to a grid far below the noise.\n\n## What is assumed\n\n" +
      "- The half is one of " + std::to_string(box.subsets) + " subsets, " +
      (box.header ? "each with the first line, which is not protected, and " : "") +
      "each with about half of the records; every record is in exactly half of the subsets. They "
      "follow "
      "from the seed " +
      std::to_string(box.seed) +
      ", which is public. Which of them was used was drawn uniformly after the program had run on "
      "all of "
      "them, and is kept nowhere.\n"
      "- The attacker may know all records, the program, what it returned on every subset, and the "
      "noise's covariance, but not the draw.\n"
      "- What is protected is a line of the file: a person in several lines is protected less.\n"
      "- Noise and draw come from the operating system's randomness.\n" +
      (json.at("repeats").get<bool>()
           ? ""
           : "- The program did not return the same when it was run again. What is released is "
             "what it "
             "returned before the draw, so the figures stand; the noise covers the program's own "
             "randomness as well.\n") +
      "\n## What follows\n\n- Which subset was used: at most " + rounded_up(number("mi_bound")) +
      " nats are revealed, of a budget of " + exactly(of.number("--mi")) + ", certified " +
      (confidence < 1.0 ? "with confidence " + exactly(confidence)
                        : "without a chance of failure") +
      ". The budget pays for this one release.\n- Whether a record was used: an attacker is right "
      "with "
      "probability at most " +
      rounded_up(number("attack_bound")) + ", and without the release with probability 0.5.\n" +
      "- Which subset was used: an attacker guesses it with probability at most " +
      rounded_up(number("attack_bound_subset")) + ", and without the release with probability " +
      rounded_up(1.0 / static_cast<double>(box.subsets)) +
      ".\n\nBoth are averages over what might have been released. Figures are rounded to the side "
      "that "
      "keeps them true. tacit " TACIT_VERSION ".\n";
  return out;
}

constexpr char said_again[] = "; the release was made: the same command says it again";

void write_statement(arguments const& of, std::string const& text, bool may_be_there) {
  std::string const& file = of.text("--statement");
  std::error_code none;
  try {
    if (may_be_there && std::filesystem::is_regular_file(file, none) &&
        apps::read_text(file) == text) {
      return;
    }
    of.must_be_new("--statement");
    apps::write_text(file, text);
  } catch (std::system_error const& error) {
    throw std::runtime_error(std::string("--statement: ") + error.what() + said_again);
  }
}

}  // namespace

void declare_black_box(arguments& of) {
  of.add(
      "--run", command(),
      "in place of OUTPUTS: is run on each subset of the universe, and writes its output, numbers, "
      "to its standard output; {} is the name of a file with the subset's records, which are its "
      "standard input as well");
  of.add("--universe", input_file("a text, with a record a line"), "run: all private records");
  of.add("--header", one_of({"yes", "no"}),
         "run: whether the first line names the columns; it is then in every subset, and not "
         "protected. no unless given, if it has a number");
  of.add("--subsets",
         {"an even whole number in [2, 65536]",
          [](std::string const& text) {
            return whole(2, 65536).holds(text) && (text.back() - '0') % 2 == 0;
          },
          "COUNT"},
         "run: candidates, each with about half of the records; 128 unless given");
  of.add(
      "--folder", folder(),
      "run: keeps outputs and the one release, for its owner alone; the same command goes on from "
      "there. The universe's name and .runs unless given");
  of.add("--jobs", whole(1, 256), "run: commands side by side; one a processor unless given");
  of.add("--timeout", positive(), "run: seconds for a subset; no limit unless given");
  of.add("--statement", new_file(), "run: write a page to go with the release");
  of.add_flag("--afresh", "run: on all subsets again, also where the folder has outputs");
  of.add_flag("--progress", "run: say how far it is, also where the errors go to no terminal");
}

void refuse_black_box_options(arguments const& of) {
  of.must_be_left_out(of_a_run, "unless there is --run");
}

answer release_black_box(arguments const& of, noise_request const& asked) {
  bool const certain = asked.how != rule_of_noise::stackelberg && !of.given("--confidence");
  double const allowed =
      certain ? 0.0 : -tacit::detail::subtract_down(of.number("--confidence", 0.95), 1.0);
  black_box const box = read_box(of, read_header(of));
  record_table const records(box.universe, box.header);
  make_folder(of, box.folder);
  saved_release run = open_state(of, box.folder, about(of, asked, box, records));
  bool const told_before = run->done();
  if (of.given("--statement") && !told_before) of.must_be_new("--statement");
  answer out;
  if (told_before) {
    out = run->told();
  } else {
    black_box_outputs const outputs = [&] {
      try {
        return outputs_of(box, records, of.given("--afresh"));
      } catch (bad_input const&) {
        throw;
      } catch (std::runtime_error const& error) {
        throw std::runtime_error(std::string(error.what()) +
                                 "; what was computed is kept: the same command goes on");
      }
    }();
    check_columns("--run", static_cast<std::size_t>(outputs.rows.cols()), asked);
    try {
      tacit::candidate_outputs const listed(outputs.rows);
      calibrated<mi_bound> const how = noise_for_candidates(of, asked, listed);
      answer const described = answer_for(how, asked, listed);
      tacit::noisy_outputs<> releases(asked.budget, allowed);
      out =
          run.step(releases, outputs.rows, how, [&](Eigen::VectorXd const& z, auto const& account) {
            return tell(described, {box, records, outputs}, z, account);
          });
    } catch (std::system_error const& error) {
      throw std::runtime_error(std::string(error.what()) +
                               "; what was computed is kept: the same command goes on");
    }
  }
  if (of.given("--statement")) write_statement(of, page(of, box, out), told_before);
  out.if_lost = said_again;
  return out;
}

}  // namespace calculator
