// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/capped_run.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/sampled_run.hpp>
#include <tacit/dp/zcdp.hpp>

#include "referee/hostile_runs.hpp"
#include "referee/runs.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Every accountant at compositions far outside the box: noise 1e-6 to 1e9, rates 1e-12 to 1, counts to 1e9, delta
// 1e-300 to 1, every mechanism and sampling, up to four of them together. Each question is asked by a process of its own,
// which a limit ends. usage: hostile [schedules] [SEED [COUNT [SECONDS [MEGABYTES [FIRST [EVERY]]]]]]; `sh
// tools/hostile.sh` builds and runs it on every core. `schedules` are compositions of up to 3000 events of every kind, in
// which a question's time is what it takes once all is composed, and each event may take as long; the certified
// accountant is asked once more about the same events in another order, and so are a cut and a sampled run of it.
//
// A miss is a question that ended without an answer or a refusal, or took longer or more memory than the limits; an
// answer that is no interval; two answers to one question that do not meet, or, where a pair is not attained, the
// certified accountant's lower end above the grid's upper one, both being the pair's; ε(δ) and δ(ε) that contradict
// each other; and a certified upper end above Rényi's.
// A question that is refused is none, and neither is a wide interval: those are counted. Exit status 1 if anything was
// missed.

namespace {

using namespace tacit;

struct limits {
  double seconds;
  double megabytes;
};

enum class outcome { answered, refused, failed, ended };

struct reply {
  outcome how = outcome::ended;
  bound<double> value{0.0, 0.0};
  char why[160] = "";
  double composing = 0.0;  // the slowest event
  double seconds = 0.0;
  double megabytes = 0.0;
};

constexpr double infinity = std::numeric_limits<double>::infinity();

double processor_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

// What `ask` returns, in a process of its own that ends at four times the limits, and a second for each hundred events.
template <class Ask>
reply apart(limits const& most, std::size_t events, Ask&& ask) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("hostile: no pipe");
  std::fflush(stdout);
  ::pid_t const child = ::fork();
  if (child < 0) throw std::runtime_error("hostile: no process");
  if (child == 0) {
    auto const time = static_cast<::rlim_t>(std::ceil(4.0 * most.seconds + 0.01 * static_cast<double>(events)));
    auto const memory = static_cast<::rlim_t>(4.0 * most.megabytes) << 20;
    ::rlimit const cpu{time, time + 1};
    ::rlimit const space{memory, memory};
    ::setrlimit(RLIMIT_CPU, &cpu);
    ::setrlimit(RLIMIT_AS, &space);
    reply out;
    auto const because = [&](outcome how, std::exception const& error) {
      out.how = how;
      std::snprintf(out.why, sizeof out.why, "%s", error.what());
    };
    try {
      out.value = ask(out);
      out.how = outcome::answered;
    } catch (std::domain_error const& error) {
      because(outcome::refused, error);
    } catch (std::invalid_argument const& error) {
      because(outcome::refused, error);
    } catch (std::exception const& error) {
      because(outcome::failed, error);
    }
    ssize_t const sent = ::write(ends[1], &out, sizeof out);
    ::_exit(sent == static_cast<ssize_t>(sizeof out) ? 0 : 1);
  }
  ::close(ends[1]);
  reply out;
  if (::read(ends[0], &out, sizeof out) != static_cast<ssize_t>(sizeof out)) out = {};
  ::close(ends[0]);
  int status = 0;
  ::rusage used{};
  ::wait4(child, &status, 0, &used);
  auto const seconds = [](::timeval const& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  if (out.how == outcome::ended || !(out.seconds > 0.0)) {
    out.seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  }
  out.megabytes = static_cast<double>(used.ru_maxrss) / 1024.0;
  return out;
}

struct asked {
  std::string name;
  reply epsilon;
  reply delta;
};

class sweep {
 public:
  explicit sweep(limits const& most) : most_(most) {}

  void run(std::uint64_t k, referee::composition const& c, double at) {
    std::vector<asked> all;
    bool const attained = std::all_of(c.parts.begin(), c.parts.end(), [&](composed const& part) {
      return dominate(part.release, c.neighbours).attained;
    });
    auto const put = [&]<class Accountant>(Accountant const&, std::vector<composed> const& parts,
                                           auto&& question) {
      return apart(most_, parts.size(), [&](reply& out) {
        Accountant account(c.neighbours);
        double const begin = processor_seconds();
        double last = begin;
        for (composed const& part : parts) {
          account.compose(part.release, part.count);
          double const now = processor_seconds();
          out.composing = std::max(out.composing, now - last);
          last = now;
        }
        struct timer {
          reply& out;
          double begin;
          ~timer() { out.seconds = std::max(1e-9, processor_seconds() - begin); }
        };
        // Of few events, composing them is part of the question.
        timer const at_end{out, parts.size() > 4 ? last : begin};
        return question(account);
      });
    };
    auto const ask = [&]<class Accountant>(Accountant const& kind) {
      all.push_back({std::string(Accountant::name),
                     put(kind, c.parts, [&](Accountant const& a) { return a.epsilon(c.delta); }),
                     put(kind, c.parts, [&](Accountant const& a) { return a.delta(at); })});
    };
    ask(privacy_loss_accountant());
    ask(renyi_accountant());
    ask(gaussian_accountant());
    ask(zcdp_accountant());
    ask(discretised_accountant());
    for (asked const& a : all) {
      judge(k, c, a.name + ", epsilon", a.epsilon, infinity);
      judge(k, c, a.name + ", delta(" + std::to_string(at) + ")", a.delta, 1.0);
      inverse(k, c, a, at, attained);
      // A lower end is one of the pair, which the other accountants' mechanism may keep away from.
      for (asked const& b : all) {
        if (&a >= &b || !attained) continue;
        meet(k, c, a.name + " and " + b.name + ", epsilon", a.epsilon, b.epsilon);
        meet(k, c, a.name + " and " + b.name + ", delta", a.delta, b.delta);
      }
    }
    // Both of these are about the same pair.
    lower_end(k, c, "privacy-loss and discretised, epsilon", all[0].epsilon, all[4].epsilon);
    lower_end(k, c, "privacy-loss and discretised, delta", all[0].delta, all[4].delta);
    below(k, c, "epsilon", all[0].epsilon, all[1].epsilon);
    below(k, c, "delta", all[0].delta, all[1].delta);
    if (c.parts.size() > 4) around(k, c, at, all[0], put);
  }

  [[nodiscard]] int finish() const {
    std::printf(
        "%d questions, %d answered, %d of them with a width above .1, %d refused; slowest %.2f s, "
        "largest "
        "%.0f MB; %d missed\n",
        questions_, answered_, wide_, refused_, slowest_, largest_, missed_);
    return missed_ > 0 ? 1 : 0;
  }

 private:
  void miss(std::uint64_t k, referee::composition const& c, std::string const& what) {
    ++missed_;
    std::printf("run %llu: %s\n  %s\n", static_cast<unsigned long long>(k), what.c_str(),
                text(c).c_str());
  }

  // The same events from the last to the first, each in two halves; and two runs around the accountant.
  template <class Put>
  void around(std::uint64_t k, referee::composition const& c, double at, asked const& known,
              Put&& put) {
    std::vector<composed> other;
    for (auto part = c.parts.rbegin(); part != c.parts.rend(); ++part) {
      std::uint64_t const half = part->count / 2;
      if (half > 0) other.push_back({part->release, half});
      other.push_back({part->release, part->count - half});
    }
    using certified = privacy_loss_accountant;
    auto const again = [&](std::string const& what, reply const& before, reply const& now) {
      judge(k, c, what, now, infinity);
      meet(k, c, what, before, now);
    };
    again("another order, epsilon", known.epsilon, put(certified(), other, [&](certified const& a) {
            return a.epsilon(c.delta);
          }));
    again("another order, delta", known.delta,
          put(certified(), other, [&](certified const& a) { return a.delta(at); }));
    auto const run = [&](std::string const& what, auto&& question) {
      reply const found = put(certified(), c.parts, question);
      judge(k, c, what, found, infinity);
      return found;
    };
    reply const cut = run("cut run, epsilon", [&](certified const& a) {
      return capped_run<certified>(a, 1e-3 * c.delta).epsilon(c.delta);
    });
    if (cut.how == outcome::answered && known.epsilon.how == outcome::answered &&
        !(cut.value.upper >= known.epsilon.value.lower)) {
      miss(k, c, "a cut run is below the run: " + referee_text(cut.value));
    }
    if (c.neighbours != adjacency::add_remove) return;
    reply const sample = run("sampled run, epsilon", [&](certified const& a) {
      return sampled_run<certified>(a, poisson{0.5}).epsilon(c.delta);
    });
    if (sample.how == outcome::answered && known.epsilon.how == outcome::answered &&
        !(sample.value.lower <= known.epsilon.value.upper)) {
      miss(k, c, "a sampled run is above the run: " + referee_text(sample.value));
    }
  }

  void judge(std::uint64_t k, referee::composition const& c, std::string const& what,
             reply const& r, double most) {
    ++questions_;
    slowest_ = std::max(slowest_, r.seconds);
    largest_ = std::max(largest_, r.megabytes);
    char line[256];
    std::snprintf(line, sizeof line, ": %.2f s, %.0f MB", r.seconds, r.megabytes);
    if (r.how == outcome::ended) return miss(k, c, what + " was ended" + line);
    if (r.how == outcome::failed) return miss(k, c, what + " threw: " + r.why + line);
    if (!(r.seconds <= most_.seconds)) miss(k, c, what + " is slow" + line);
    if (!(r.composing <= most_.seconds)) {
      miss(k, c, what + ": an event took " + std::to_string(r.composing) + " s");
    }
    if (!(r.megabytes <= most_.megabytes)) miss(k, c, what + " is large" + line);
    if (r.how == outcome::refused) {
      ++refused_;
      return;
    }
    ++answered_;
    bound<double> const v = r.value;
    if (!(v.lower >= 0.0 && v.lower <= v.upper && v.upper <= most)) {
      miss(k, c, what + " is no interval: " + referee_text(v));
    }
    wide_ += !(v.upper - v.lower <= 0.1 * v.upper);
  }

  static std::string referee_text(bound<double> const& b) {
    char line[80];
    std::snprintf(line, sizeof line, "[%.17g, %.17g]", b.lower, b.upper);
    return line;
  }

  void meet(std::uint64_t k, referee::composition const& c, std::string const& what, reply const& a,
            reply const& b) {
    if (a.how != outcome::answered || b.how != outcome::answered) return;
    if (a.value.lower <= b.value.upper && b.value.lower <= a.value.upper) return;
    miss(k, c, what + " do not meet: " + referee_text(a.value) + ", " + referee_text(b.value));
  }

  void lower_end(std::uint64_t k, referee::composition const& c, std::string const& what,
                 reply const& a, reply const& b) {
    if (a.how != outcome::answered || b.how != outcome::answered) return;
    if (a.value.lower <= b.value.upper) return;
    miss(k, c, what + ": " + referee_text(a.value) + " is above " + referee_text(b.value));
  }

  // δ falls in ε: what is known of δ at an ε beyond ε(δ)'s upper end is not all above δ, and where the pair is attained
  // what is known short of its lower end is not all below.
  void inverse(std::uint64_t k, referee::composition const& c, asked const& a, double at,
               bool attained) {
    if (a.epsilon.how != outcome::answered || a.delta.how != outcome::answered) return;
    bound<double> const epsilon = a.epsilon.value;
    bound<double> const delta = a.delta.value;
    if ((at >= epsilon.upper && !(delta.lower <= c.delta)) ||
        (attained && at < epsilon.lower && !(delta.upper >= c.delta))) {
      miss(k, c,
           a.name + ", epsilon and delta(" + std::to_string(at) + "): " + referee_text(epsilon) +
               ", " + referee_text(delta));
    }
  }

  void below(std::uint64_t k, referee::composition const& c, std::string const& what,
             reply const& exact, reply const& renyi) {
    if (exact.how != outcome::answered || renyi.how != outcome::answered) return;
    if (exact.value.upper <= renyi.value.upper * (1.0 + 1e-12)) return;
    miss(k, c,
         what + " is above Renyi's: " + referee_text(exact.value) + ", " +
             referee_text(renyi.value));
  }

  limits most_;
  int questions_ = 0, answered_ = 0, refused_ = 0, wide_ = 0, missed_ = 0;
  double slowest_ = 0.0, largest_ = 0.0;
};

}  // namespace

int main(int argc, char** argv) {
  bool const schedules = argc > 1 && std::string(argv[1]) == "schedules";
  int const first = schedules ? 1 : 0;
  auto const argument = [&](int at, double otherwise) {
    return argc > at + first ? std::strtod(argv[at + first], nullptr) : otherwise;
  };
  auto const seed = static_cast<std::uint64_t>(argument(1, 1.0));
  auto const count = static_cast<std::uint64_t>(argument(2, 1000.0));
  sweep all({argument(3, 2.0), argument(4, 500.0)});
  auto const every = static_cast<std::uint64_t>(argument(6, 1.0));
  for (auto k = static_cast<std::uint64_t>(argument(5, 0.0)); k < count; k += every) {
    referee::box random(seed + k, 1'000'000);
    if (schedules) {
      referee::composition const run = referee::hostile_schedule(seed, k);
      all.run(k, run, random.between(0.01, 10.0));
      continue;
    }
    double const at = random.uniform() < 0.2 ? 0.0 : random.between(1e-6, 1e5);
    all.run(k, referee::hostile_run(seed, k), at);
  }
  return all.finish();
}
