// SPDX-License-Identifier: Apache-2.0
//
// Private answers: queries to many candidate data sets, each answer noised within a budget of nats.

#include <tacit/core/check.hpp>
#include <tacit/core/run_owner.hpp>
#include <tacit/core/units.hpp>
#include <tacit/mechanism/answering.hpp>
#include <tacit/mechanism/saved_answering.hpp>
#include <tacit/pac/answer_plan.hpp>
#include <tacit/pac/answer_transcript.hpp>

#include "argument.hpp"
#include "binding.hpp"
#include "numbers.hpp"
#include "patience.hpp"

#include <Eigen/Core>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nb = nanobind;

namespace binding {

namespace {

constexpr char const* a_path = "a path";
using number = argument<double>;
using word = argument<std::string>;
using file = argument<std::filesystem::path>;
using run = tacit::answering<>;
using saved_run = tacit::saved_answering<>;
/// What all candidates answer: M numbers, or a row a candidate.
using answers = std::variant<std::vector<double>, Eigen::MatrixXd>;

answers answers_of(nb::handle given, char const* who) {
  constexpr char const* must_be = "an array of numbers, of shape (M,) or (M, d)";
  std::size_t const axes = binding::axes_of(given, who, "answers", must_be);
  if (axes == 1) return numbers_of(given, 1, who, "answers", must_be).entries;
  numbers const all = numbers_of(given, 2, who, "answers", must_be);
  using rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::MatrixXd(Eigen::Map<rows const>(all.entries.data(),
                                                static_cast<Eigen::Index>(all.shape[0]),
                                                static_cast<Eigen::Index>(all.shape[1])));
}

tacit::answer_axes noise_axes_of(word const& given) {
  std::string const axes = given.as("Answering", "axes");
  if (axes == "principal") return tacit::answer_axes::principal;
  if (axes == "coordinates") return tacit::answer_axes::coordinates;
  tacit::detail::fail_argument("Answering", "axes", axes, "'principal' or 'coordinates'");
}

std::size_t count_of(whole const& given, char const* who) {
  std::uint64_t const count = given.as(who, "candidates", "a whole number in [2, 2^24]");
  tacit::detail::check_count(who, "candidates", count, 2, std::uint64_t{1} << 24);
  return static_cast<std::size_t>(count);
}

/// Private answers, in memory or in a file, for several threads: one at a time, without Python's lock.
class answering {
 public:
  explicit answering(run&& in_memory) : shared_(std::make_shared<shared>(std::move(in_memory))) {}
  explicit answering(saved_run&& on_disk) : shared_(std::make_shared<shared>(std::move(on_disk))) {}

  /// What `look` returns of the run, `run` or `saved_run`, which no other thread uses meanwhile; nothing of Python.
  /// @throws std::logic_error in a forked process, where another thread's lock is never let go
  template <class Look>
  auto alone(Look const& look) const {
    shared_->owner.check("Answering");
    nb::gil_scoped_release const others_run;
    std::lock_guard const held(shared_->lock);
    return std::visit(look, shared_->run);
  }

  /// Charges and draws. Where Ctrl-C ends the wait for many numbers, that is done all the same.
  std::variant<double, Eigen::VectorXd> answer(answers given, std::optional<double> at_most) {
    constexpr std::size_t worth_a_thread = std::size_t{1} << 14;
    std::size_t const numbers =
        std::visit([](auto const& all) { return std::size_t(all.size()); }, given);
    auto const draw = [all = std::move(given), at_most](auto& run) {
      return std::visit(
          [&](auto const& query) -> std::variant<double, Eigen::VectorXd> {
            if (!at_most) return run.answer(query);
            return run.answer(query, tacit::nats(*at_most));
          },
          all);
    };
    if (numbers < worth_a_thread) return alone(draw);
    shared_->owner.check("Answering");
    return patiently([draw, self = shared_] {
      std::lock_guard const held(self->lock);
      return std::visit(draw, self->run);
    });
  }

 private:
  struct shared {
    template <class Run>
    explicit shared(Run&& of) : run(std::forward<Run>(of)) {}
    tacit::detail::run_owner owner;
    std::mutex lock;
    std::variant<binding::run, saved_run> run;
  };
  std::shared_ptr<shared> shared_;
};

run const& answers_in(run const& in_memory) { return in_memory; }
run const& answers_in(saved_run const& on_disk) { return *on_disk; }

/// A property of the answers, wherever they are kept.
template <class Look>
auto of_run(Look const& look) {
  return [look](answering const& self) {
    return self.alone([&](auto const& kept) { return look(answers_in(kept)); });
  };
}

/// One cell is a column.
Eigen::MatrixXd rows_of(answers const& all) {
  if (auto const* rows = std::get_if<Eigen::MatrixXd>(&all)) return *rows;
  auto const& one = std::get<std::vector<double>>(all);
  return Eigen::Map<Eigen::VectorXd const>(one.data(), static_cast<Eigen::Index>(one.size()));
}

nb::object shown(double cell) { return nb::float_(cell); }
nb::object shown(Eigen::VectorXd const& cells) {
  return array_of({cells.data(), static_cast<std::size_t>(cells.size())});
}

}  // namespace

void bind_answering(nb::module_& m) {
  nb::class_<answering>(
      m, "Answering", nb::is_final(),
      "Private answers to any number of queries, which may depend on the answers before. One of "
      "`candidates` data sets, drawn uniformly in secret, answers all of them; what all answers "
      "together tell about which one it is stays within `budget` nats. Whoever sees the "
      "candidates' "
      "answers sees the secret data.\n\n"
      "candidates  M, a whole number in [2, 2^24]\n"
      "budget      of all answers together, in nats, finite and at least 0\n"
      "per_answer  the most that one may tell, in nats, in [1e-100, 1000]; far less than the "
      "budget\n"
      "axes        of the noise of several cells: 'principal', along the candidates' covariance, "
      "the least noise; or 'coordinates', a noise for each cell\n"
      "resolution  the scale of the noise is about 2^resolution steps of the grid that answers are "
      "on; a whole number in [2, 40]\n"
      "recorded    whether to keep a transcript, some 40 bytes an answer and axis\n"
      "kappa       whatever the answers are, no candidate becomes more than e^kappa times as "
      "likely "
      "as it was, or as unlikely; in (0, 100], or None for no such cap\n"
      "save        a new file that is charged before an answer is returned, for `resume`. It holds "
      "the secret\n"
      "ahead       nats, at least 0, that the file is charged at a time: 0 stores each answer with "
      "its charge; more takes fewer writes, and a crash costs what was not given back. 0 with "
      "kappa\n"
      "about       a word stored in the file, which resumes only with it\n\n"
      "Raises ValueError naming the argument out of range, FileExistsError where there is a file.")
      .def(
          "__init__",
          [](answering* self, whole const& candidates, number const& budget,
             number const& per_answer, word const& axes, whole const& resolution,
             argument<bool> const& recorded, std::optional<number> const& kappa,
             std::optional<file> const& save, number const& ahead_of, word const& about_what) {
            constexpr char const* who = "Answering";
            tacit::given_answers const of{count_of(candidates, who)};
            tacit::answering_options options;
            options.budget = tacit::nats(budget.as(who, "budget", "finite and at least 0"));
            options.per_answer = tacit::nats(per_answer.as(who, "per_answer", "in [1e-100, 1000]"));
            options.how.axes = noise_axes_of(axes);
            std::uint64_t const finely =
                resolution.as(who, "resolution", "a whole number in [2, 40]");
            tacit::detail::check_count(who, "resolution", finely, 2, 40);
            options.how.resolution = static_cast<unsigned>(finely);
            options.recorded = recorded.as(who, "recorded");
            if (kappa) options.kappa = kappa->as(who, "kappa", "in (0, 100]");
            double const ahead = ahead_of.as(who, "ahead", "at least 0");
            std::string about = about_what.as(who, "about");
            if (save) {
              new (self) answering(saved_run(of, options, save->as(who, "save", a_path),
                                             tacit::nats(ahead), std::move(about)));
            } else {
              tacit::detail::require_argument(ahead == 0.0, who, "ahead", ahead, "0 without save");
              tacit::detail::require_argument(about.empty(), who, "about", about,
                                              "empty without save");
              new (self) answering(run(of, options));
            }
          },
          nb::arg("candidates"), nb::arg("budget"), nb::arg("per_answer"),
          nb::arg("axes") = "principal", nb::arg("resolution") = 30, nb::arg("recorded") = false,
          nb::kw_only(), nb::arg("kappa").none() = nb::none(), nb::arg("save").none() = nb::none(),
          nb::arg("ahead") = 0.0, nb::arg("about") = "")
      .def_static(
          "resume",
          [](file const& from, whole const& candidates, number const& ahead, word const& about) {
            constexpr char const* who = "resume";
            return new answering(saved_run::resume(
                {count_of(candidates, who)}, from.as(who, "file", a_path),
                tacit::nats(ahead.as(who, "ahead", "at least 0")), about.as(who, "about")));
          },
          nb::arg("file"), nb::arg("candidates"), nb::kw_only(), nb::arg("ahead") = 0.0,
          nb::arg("about") = "",
          "The answers whose state is in `file`: the same secret candidate, budget and belief, by "
          "a new source of noise. Where answers were lost, since a process ended that had charged "
          "ahead, all that was charged counts as spent, and later answers have more noise.\n\n"
          "Raises CorruptState for a damaged file, OSError if there is none or another run writes "
          "it, ValueError if it is about something else or has other candidates.")
      .def(
          "answer",
          [](answering& self, nb::handle given, nb::object const& at_most) {
            constexpr char const* who = "answer";
            answers all = answers_of(given, who);
            std::optional<double> most;
            if (!at_most.is_none()) most = number{at_most}.as(who, "at_most", "in [1e-100, 1000]");
            return std::visit([](auto const& said) { return shown(said); },
                              self.answer(std::move(all), most));
          },
          nb::arg("answers").none(), nb::arg("at_most") = nb::none(),
          "Charges what the answer may tell, then draws it. `answers` is what each candidate "
          "answers: shape (M,), for a float; or (M, d), for d cells noised together, shape (d,); "
          "in "
          "units of their own, finite. `at_most`: for this many nats, in [1e-100, 1000], in the "
          "place "
          "of per_answer.\n\n"
          "Raises BudgetExhausted if the charge does not fit, or kappa leaves no room, and "
          "ValueError for another number of "
          "answers or one that is not finite; nothing is charged or drawn then. OSError if the "
          "file cannot be written, or is not this run's alone: nothing is answered then, here or "
          "later. Ctrl-C ends the "
          "wait for a long answer, which is charged all the same and is lost but for the "
          "transcript.")
      .def_prop_ro("candidates", of_run([](run const& r) { return r.candidates().candidates; }))
      .def_prop_ro("budget", of_run([](run const& r) { return r.budget().value; }), "Nats.")
      .def_prop_ro("spent", of_run([](run const& r) { return r.spent().value; }), "Nats so far.")
      .def_prop_ro("remaining", of_run([](run const& r) { return r.remaining().value; }),
                   "Nats that are left.")
      .def_prop_ro("answers", of_run([](run const& r) { return r.answers(); }),
                   "How many were given; in a file, those that cost nothing are not counted.")
      .def_prop_ro(
          "charged",
          [](answering const& self) {
            return self.alone([](auto const& kept) {
              if constexpr (requires { kept.charged(); }) return kept.charged().value;
              return answers_in(kept).spent().value;
            });
          },
          "Nats that count as spent if the process ends now: without `ahead`, `spent`.")
      .def(
          "close",
          [](answering& self) {
            self.alone([](auto& kept) {
              if constexpr (requires { kept.close(); }) kept.close();
            });
          },
          "Gives back what the file was charged ahead and is not spent, as the end of the object "
          "does, too. Answers may follow, charged anew.")
      .def(
          "attack_bound",
          [](answering const& self, number const& prior) {
            double const right = prior.as("attack_bound", "prior", "in (0, 1]");
            return of_run([=](run const& r) { return r.attack_bound(right); })(self);
          },
          nb::arg("prior") = 0.5,
          "No attacker is right more often about something whose best guess beforehand is right "
          "with probability `prior`, in (0, 1]: 0.5 for the membership of a record in balanced "
          "subsets, 1/M for the candidate itself.")
      .def(
          "attack_bound_afterwards",
          [](answering const& self, number const& prior) {
            double const right = prior.as("attack_bound_afterwards", "prior", "in (0, 1]");
            return of_run([=](run const& r) { return r.attack_bound_afterwards(right); })(self);
          },
          nb::arg("prior") = 0.5,
          "The same given any answers at all, about anything that is chosen after they were seen: "
          "min(e^kappa*prior, 1 - e^-kappa*(1 - prior)), which is 1 without kappa.")
      .def_prop_ro(
          "belief",
          [](answering const& self) {
            auto const belief = of_run([](run const& r) { return r.belief(); })(self);
            return array_of(belief.probabilities());
          },
          "What an attacker who saw all answers believes of each candidate, shape (M,): public, "
          "for "
          "whoever knows the candidates' answers.")
      .def_prop_ro(
          "transcript", of_run([](run const& r) -> std::optional<std::string> {
            if (!r.transcript()) return std::nullopt;
            return r.transcript()->text();
          }),
          "What was said, a text for `audit_answers`; None unless it was recorded. Public.")
      .def("__reduce_ex__", [](nb::handle, nb::handle) -> nb::object {
        throw nb::type_error(
            "Answering is not copied or pickled: a copy would spend its budget again");
      });

  nb::class_<tacit::answer_audit>(m, "AnswerAudit", nb::is_final(),
                                  "What a transcript of answers is found to have told. Made by "
                                  "`audit_answers`.")
      .def_ro("answers", &tacit::answer_audit::answers,
              "So many, from the first on, agree with the candidates.")
      .def_ro("whole", &tacit::answer_audit::whole, "Whether all of them do.")
      .def_prop_ro(
          "revealed", [](tacit::answer_audit const& a) { return a.revealed.value; },
          "Nats that those tell at most, computed anew.")
      .def_prop_ro(
          "belief", [](tacit::answer_audit const& a) { return array_of(a.belief.probabilities()); },
          "What an attacker believes of each candidate after them, shape (M,).")
      .def("__repr__", [](tacit::answer_audit const& a) {
        return "AnswerAudit(answers=" + std::to_string(a.answers) +
               ", whole=" + (a.whole ? "True" : "False") +
               ", revealed=" + text_of(a.revealed.value) + ")";
      });
  m.def(
      "audit_answers",
      [](word const& text, nb::handle answers_to) {
        constexpr char const* who = "audit_answers";
        auto const transcript = tacit::answer_transcript::parse(text.as(who, "transcript"));
        if (PyCallable_Check(answers_to.ptr()) == 0) {
          detail::refuse(who, "answers_to", answers_to, "a function of one whole number");
        }
        return tacit::audit_answers(
            transcript, [&](std::size_t n) { return rows_of(answers_of(answers_to(n), who)); });
      },
      nb::arg("transcript"), nb::arg("answers_to").none(),
      "Replays a transcript for one who has the candidates' answers: `answers_to(n)` returns what "
      "all of them answered to the n-th query, shape (M,) or (M, d). Grid, noise and charge of "
      "each "
      "answer are computed anew, and the first that has others ends the audit. It needs the same "
      "build of the package. Raises CorruptState for a text that is no transcript.");
}

}  // namespace binding
