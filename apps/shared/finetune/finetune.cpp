// SPDX-License-Identifier: Apache-2.0
#include "finetune/finetune.hpp"

#include <tacit/audit/known_rest.hpp>
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/mechanism/dp_aggzo.hpp>
#include <tacit/mechanism/dp_sgd.hpp>
#include <tacit/mechanism/dp_zo_laplace.hpp>
#include <tacit/mechanism/dpgd_0th.hpp>
#include <tacit/mechanism/dpzero.hpp>
#include <tacit/mechanism/mezo.hpp>
#include <tacit/mechanism/rldp.hpp>
#include <tacit/train/ferret.hpp>
#include <tacit/train/first_order.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/hash.hpp>
#include <tacit/zo/journal.hpp>

#include "rldp/controllers.hpp"
#include "training/recorded.hpp"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <stdexcept>
#include <utility>

namespace examples {

namespace {

using clock = std::chrono::steady_clock;

double since(clock::time_point begin) {
  return std::chrono::duration<double>(clock::now() - begin).count();
}

double median(std::vector<double> of) {
  if (of.empty()) return 0.0;
  auto const middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

// A mechanism whose scalars and releases are also shown to an attacker.
template <class Mechanism, class Watch>
class watched {
 public:
  watched(Mechanism& mechanism, Watch const& watch) : mechanism_(&mechanism), watch_(&watch) {}
  std::size_t records() const { return mechanism_->records(); }
  std::size_t directions() const { return mechanism_->directions(); }
  std::size_t steps() const { return mechanism_->steps(); }
  bool done() const { return mechanism_->done(); }

  tacit::release step(std::span<double const> scalars) {
    tacit::release out = mechanism_->step(scalars);
    (*watch_)(scalars, out);
    return out;
  }

 private:
  Mechanism* mechanism_;
  Watch const* watch_;
};

class tuning {
 public:
  tuning(model& of, tuning_options const& options, std::function<void(std::size_t)> const& progress)
      : of_(of),
        options_(options),
        progress_(progress),
        theta_(of.initial(options.seed)),
        attack_(of.records()) {}

  tuning_result run() {
    using enum tuning_system;
    look();
    switch (options_.system) {
      case none:
        out_.bound = 0.5;
        break;
      case mezo:
        with_mezo();
        break;
      case sgd:
        with_gradients();
        break;
      case paczero_mi:
      case paczero_zpl:
        with_paczero();
        break;
      case dpzero:
      case dp_aggzo:
        with_noisy_scalars();
        break;
      case dp_zo_laplace:
        with_laplace();
        break;
      case dpgd_0th:
        with_noisy_estimates();
        break;
      case dp_sgd:
        with_noisy_gradients();
        break;
      case ferret:
        with_ferret();
        break;
      case rldp:
        with_rldp();
        break;
    }
    out_.score = out_.curve.back();
    out_.seconds_per_step = median(times_);
    out_.tuned = std::move(theta_);
    out_.inside = std::move(inside_);
    return std::move(out_);
  }

 private:
  std::size_t records() const { return of_.records(); }
  double expected() const { return 0.5 * static_cast<double>(records()); }

  tacit::train_options training() const {
    return {.smoothing = 1e-3,
            .learning_rate = options_.learning_rate,
            .decay = options_.decay,
            .steps = options_.steps,
            .seed = options_.seed};
  }

  void look() { out_.curve.push_back(of_.score(theta_)); }

  // Who takes part: for each record a fair coin of the secret stream.
  std::vector<bool> const& choose() {
    tacit::secret_stream secret;
    inside_.resize(records());
    for (std::size_t i = 0; i < records(); ++i) inside_[i] = tacit::bernoulli(secret, 0.5);
    flags_.assign(inside_.begin(), inside_.end());
    return inside_;
  }

  // step() says whether θ moved; what the attacker needs is taken from its time.
  template <class Done, class Step>
  void steps(Done&& done, Step&& step) {
    std::size_t const every = std::max<std::size_t>(1, options_.steps / options_.curve_points);
    while (!done()) {
      watching_ = 0.0;
      auto const begin = clock::now();
      out_.released += step() ? 1 : 0;
      times_.push_back(since(begin) - watching_);
      ++out_.steps;
      if (out_.steps % every == 0 || done()) look();
      if (progress_) progress_(1);
    }
  }

  template <class Mechanism, class Watch>
  void zeroth_order(Mechanism& mechanism, Watch&& watch,
                    std::optional<tacit::recorded_mechanism> described = {}) {
    auto const timed = [&](std::span<double const> scalars, tacit::release const& released) {
      if (!options_.attacked) return;
      auto const begin = clock::now();
      watch(scalars, released);
      watching_ += since(begin);
    };
    watched seen{mechanism, timed};
    auto const train = [&](auto& releases) {
      tacit::trainer run{releases, training(), theta_};
      auto const loss = [&](std::span<float const> theta, std::span<double> losses) {
        of_.losses(theta, losses);
      };
      steps([&] { return mechanism.done(); }, [&] { return !run.step(loss).held(); });
    };
    if (options_.transcript.empty()) {
      train(seen);
      return;
    }
    if (!described) {
      throw std::invalid_argument("tune: transcript is given, but must be empty for " +
                                  std::string(system_names[static_cast<int>(options_.system)]));
    }
    tacit::run_record const record{.mechanism = *std::move(described),
                                   .training = training(),
                                   .directions = mechanism.directions(),
                                   .symbols = tacit::symbol_kind::scalar,
                                   .tensors = recorded_tensors(of_),
                                   .start = tacit::hash_of(named_tensors(of_, theta_))};
    tacit::journal log = tacit::journal::create(journal_of(options_.transcript), record);
    tacit::journaled recorded{seen, log};
    train(recorded);
    seal(log, options_.transcript);
  }

  // ---- without privacy ----

  void with_mezo() {
    choose();
    std::vector<double> kept;
    tacit::mezo<> mechanism({.steps = options_.steps}, members());
    // The library's baseline takes all its records: it is shown those inside.
    struct inside_only {
      tacit::mezo<>* mezo;
      std::vector<bool> const* inside;
      std::vector<double>* kept;
      std::size_t records() const { return inside->size(); }
      std::size_t directions() const { return 1; }
      std::size_t steps() const { return mezo->steps(); }
      bool done() const { return mezo->done(); }
      tacit::release step(std::span<double const> scalars) {
        kept->clear();
        for (std::size_t i = 0; i < scalars.size(); ++i) {
          if ((*inside)[i]) kept->push_back(scalars[i]);
        }
        return mezo->step(*kept);
      }
    } baseline{&mechanism, &inside_, &kept};
    zeroth_order(baseline, [](auto, auto const&) {});
  }

  std::size_t members() const {
    return static_cast<std::size_t>(std::count(inside_.begin(), inside_.end(), true));
  }

  void with_gradients() {
    choose();
    std::vector<float> gradient(theta_.size());
    std::size_t taken = 0;
    steps([&] { return taken == options_.steps; },
          [&] {
            tacit::vector_release mean;
            mean.value.assign(theta_.size(), 0.0F);
            auto const share = static_cast<float>(1.0 / static_cast<double>(members()));
            for (std::size_t i = 0; i < records(); ++i) {
              if (!inside_[i]) continue;
              of_.gradient(theta_, i, gradient);
              for (std::size_t j = 0; j < gradient.size(); ++j) {
                mean.value[j] += share * gradient[j];
              }
            }
            tacit::descend(theta_, training(), taken++, mean);
            return true;
          });
  }

  // ---- PACZero ----

  void with_paczero() {
    auto const candidates = tacit::candidate_set::balanced(
        {.records = records(), .subsets = options_.subsets}, options_.seed);
    tacit::paczero_options o = options_.paczero;
    o.steps = options_.steps;
    o.budget = tacit::nats(0.0);
    if (options_.system == tuning_system::paczero_mi) {
      o.budget = options_.budget;
      o.ledger = tacit::ledger_kind::record;
      o.track_records = true;
    }
    tacit::paczero<> mechanism(o, candidates);
    zeroth_order(mechanism, [](auto, auto const&) {});
    out_.nats = mechanism.spent_worst_record().value;
    out_.bound = mechanism.attack_bound();
    if (options_.attacked) out_.attacked = mechanism.belief().exposed(candidates).mean;
  }

  // ---- a noisy number, or several ----

  tacit::noisy_sum_options noisy(double multiplier, double rate = 1.0) const {
    return {.clip = options_.clip,
            .noise_multiplier = multiplier,
            .rate = rate,
            .expected_records = expected(),
            .steps = options_.steps};
  }

  double gaussian_multiplier(double rate = 1.0) const {
    return tacit::noise_multiplier_for<tacit::privacy_loss_accountant>(
        options_.target, tacit::poisson{rate}, options_.steps);
  }

  void charged(tacit::event const& each) {
    tacit::privacy_loss_accountant account;
    account.compose(each, out_.steps);
    out_.epsilon = account.epsilon(options_.target.delta).upper;
    out_.bound = account.attack_success();
    guessed();
  }

  void guessed() {
    if (!options_.attacked) return;
    auto const right = attack_.right_guesses(flags_);
    out_.attacked = static_cast<double>(std::count(right.begin(), right.end(), 1)) /
                    static_cast<double>(records());
  }

  void with_noisy_scalars() {
    choose();
    std::size_t const k =
        options_.system == tuning_system::dp_aggzo ? options_.directions : std::size_t{1};
    double const multiplier = gaussian_multiplier();
    double const sigma = multiplier * options_.clip;
    tacit::dp_aggzo<> mechanism(noisy(multiplier), k, inside_);
    std::vector<double> contributions(records() * k);
    zeroth_order(
        mechanism,
        [&](std::span<double const> scalars, tacit::release const& released) {
          std::vector<double> residual(k);
          for (std::size_t j = 0; j < k; ++j) residual[j] = released.coefficients[j] * expected();
          for (std::size_t i = 0; i < records(); ++i) {
            double norm = 0.0;
            for (std::size_t j = 0; j < k; ++j) {
              contributions[i * k + j] = scalars[j * records() + i] / static_cast<double>(k);
              norm = std::hypot(norm, contributions[i * k + j]);
            }
            double const scale = norm > options_.clip ? options_.clip / norm : 1.0;
            for (std::size_t j = 0; j < k; ++j) {
              contributions[i * k + j] *= scale;
              if (inside_[i]) residual[j] -= contributions[i * k + j];
            }
          }
          attack_.observe(contributions, flags_, residual, std::span(&sigma, 1));
        },
        describe(k == 1 ? "dpzero" : "dp_aggzo", mechanism.options(), records()));
    charged(mechanism.event());
  }

  void with_laplace() {
    choose();
    // T steps of ε/T each.
    double const multiplier = static_cast<double>(options_.steps) / options_.target.epsilon;
    tacit::dp_zo_laplace<> mechanism(noisy(multiplier), inside_);
    std::vector<double> evidence(records());
    zeroth_order(
        mechanism,
        [&](std::span<double const> scalars, tacit::release const& released) {
          double residual = released.coefficients.front() * expected();
          std::vector<double> clipped(scalars.begin(), scalars.end());
          for (std::size_t i = 0; i < records(); ++i) {
            clipped[i] = std::clamp(clipped[i], -options_.clip, options_.clip);
            if (inside_[i]) residual -= clipped[i];
          }
          for (std::size_t i = 0; i < records(); ++i) {
            double const without = inside_[i] ? residual + clipped[i] : residual;
            evidence[i] =
                (std::abs(without) - std::abs(without - clipped[i])) / (multiplier * options_.clip);
          }
          attack_.observe_evidence(evidence);
        },
        describe("dp_zo_laplace", mechanism.options(), records()));
    charged(mechanism.event());
  }

  // ---- a noisy vector ----

  void with_noisy_estimates() {
    choose();
    double const multiplier = gaussian_multiplier();
    double const sigma = multiplier * options_.clip;
    tacit::dpgd_0th<> mechanism(noisy(multiplier), theta_.size(), inside_);
    std::vector<double> scalars(records());
    std::vector<float> z(theta_.size());
    std::vector<double> contributions(records());
    steps([&] { return mechanism.done(); },
          [&] {
            std::size_t const t = mechanism.steps();
            tacit::stream_id const stream{options_.seed, t};
            auto const along =
                tacit::direction_at(tacit::direction_law::rademacher, stream, theta_.size());
            auto const loss = [&](std::span<float const> theta, std::span<double> losses) {
              of_.losses(theta, losses);
            };
            tacit::two_point(theta_, {&along, 1}, 1e-3, loss, scalars);
            for (std::size_t j = 0; j < z.size(); ++j) z[j] = along(j);
            tacit::vector_release const released = mechanism.step(scalars, z);
            auto const begin = clock::now();
            if (options_.attacked) {
              // Only what lies along z tells.
              double const length = std::sqrt(static_cast<double>(z.size()));
              double residual = 0.0;
              for (std::size_t j = 0; j < z.size(); ++j) {
                residual += double{released.value[j]} * double{z[j]} / length * expected();
              }
              for (std::size_t i = 0; i < records(); ++i) {
                contributions[i] = std::clamp(scalars[i] * length, -options_.clip, options_.clip);
                if (inside_[i]) residual -= contributions[i];
              }
              attack_.observe(contributions, flags_, std::span(&residual, 1), std::span(&sigma, 1));
            }
            watching_ += since(begin);
            tacit::descend(theta_, training(), t, released);
            return true;
          });
    charged(mechanism.event());
  }

  // Gradients of all records, for the attacker; or of one, for the mechanism.
  class gradients {
   public:
    gradients(tuning& of, std::size_t dimension)
        : of_(of), all_(of.options_.attacked ? of.records() * dimension : 0), d_(dimension) {}

    void begin_step() { batch_.assign(of_.records(), 0); }
    /// Those of all records, before θ moves.
    void look_at_all() {
      for (std::size_t i = 0; i < of_.records(); ++i) of_.of_.gradient(of_.theta_, i, at(i));
    }
    void write(std::size_t record, std::span<float> out) {
      batch_[record] = 1;
      of_.of_.gradient(of_.theta_, record, out);
    }
    std::span<float> at(std::size_t i) { return std::span(all_).subspan(i * d_, d_); }
    std::span<std::uint8_t const> batch() const { return batch_; }

   private:
    tuning& of_;
    std::vector<float> all_;
    std::size_t d_;
    std::vector<std::uint8_t> batch_;
  };

  // What a release of clipped gradients tells: by group [first, last) a clip and a σ.
  struct part {
    std::size_t first, last;
    double clip, sigma;
  };
  void observe_gradients(gradients& seen, std::span<float const> released, double divisor,
                         std::vector<part> const& parts, double rate) {
    auto const begin = clock::now();
    seen.look_at_all();
    std::size_t const n = records();
    std::vector<double> evidence(n, 0.0);
    std::vector<double> residual(released.size());
    std::vector<double> scale(n);
    for (part const& p : parts) {
      for (std::size_t j = p.first; j < p.last; ++j) residual[j] = double{released[j]} * divisor;
      std::vector<double> squares(n);
      for (std::size_t i = 0; i < n; ++i) {
        auto const g = seen.at(i);
        double sum = 0.0;
        for (std::size_t j = p.first; j < p.last; ++j) sum += double{g[j]} * double{g[j]};
        double const norm = std::sqrt(sum);
        scale[i] = norm > p.clip ? p.clip / norm : 1.0;
        squares[i] = sum * scale[i] * scale[i];
        if (seen.batch()[i] == 0) continue;
        for (std::size_t j = p.first; j < p.last; ++j) residual[j] -= scale[i] * double{g[j]};
      }
      for (std::size_t i = 0; i < n; ++i) {
        auto const g = seen.at(i);
        double dot = 0.0;
        for (std::size_t j = p.first; j < p.last; ++j) dot += double{g[j]} * residual[j];
        double const side = seen.batch()[i] != 0 ? 0.5 : -0.5;
        evidence[i] += (scale[i] * dot + side * squares[i]) / (p.sigma * p.sigma);
      }
    }
    if (rate < 1.0) {
      for (double& e : evidence) e = std::log1p(rate * std::expm1(std::min(e, 700.0)));
    }
    attack_.observe_evidence(evidence);
    watching_ += since(begin);
  }

  void with_noisy_gradients() {
    choose();
    double const multiplier = gaussian_multiplier(options_.rate);
    tacit::dp_sgd<> mechanism(noisy(multiplier, options_.rate), theta_.size(), inside_);
    gradients seen(*this, theta_.size());
    std::vector<part> const whole{{0, theta_.size(), options_.clip, multiplier * options_.clip}};
    steps([&] { return mechanism.done(); },
          [&] {
            std::size_t const t = mechanism.steps();
            seen.begin_step();
            auto const released = mechanism.step(
                [&](std::size_t record, std::span<float> out) { seen.write(record, out); });
            if (options_.attacked) {
              observe_gradients(seen, released.value, mechanism.options().divisor(), whole,
                                options_.rate);
            }
            tacit::descend(theta_, training(), t, released);
            return true;
          });
    charged(mechanism.event());
  }

  // ---- FERRET ----

  std::vector<std::size_t> tensor_sizes() const {
    std::vector<std::size_t> sizes;
    for (auto const& [name, shape] : of_.tensors()) sizes.push_back(entries(shape));
    return sizes;
  }

  void with_ferret() {
    choose();
    auto const groups = tacit::ferret_groups(tensor_sizes(), options_.groups);
    std::size_t const g = groups.size();
    tacit::ferret_mechanism<> mechanism({.groups = g,
                                         .steps = options_.steps,
                                         .rate = options_.rate,
                                         .budget = options_.budget,
                                         .clip = options_.clip},
                                        inside_);
    gradients seen(*this, theta_.size());
    std::vector<float> gradient(theta_.size());
    std::vector<double> contributions(records() * g);
    std::vector<std::int32_t> units(g);
    tacit::fixed_point const grid{.clip = options_.clip};
    steps([&] { return mechanism.done(); },
          [&] {
            tacit::stream_id const stream{options_.seed, mechanism.steps()};
            double const rate = tacit::detail::rate_at(training(), mechanism.steps());
            seen.begin_step();
            auto const released = mechanism.step([&](std::size_t record, std::span<double> out) {
              seen.write(record, gradient);
              tacit::project_on_groups(gradient, stream, groups, out);
            });
            if (options_.attacked && !released.held()) {
              auto const begin = clock::now();
              seen.look_at_all();
              std::vector<double> sums(g, 0.0);
              for (std::size_t i = 0; i < records(); ++i) {
                auto const row = std::span(contributions).subspan(i * g, g);
                tacit::project_on_groups(seen.at(i), stream, groups, row);
                grid.quantise(row, units);
                for (std::size_t k = 0; k < g; ++k) {
                  row[k] = units[k];
                  if (seen.batch()[i] != 0) sums[k] += row[k];
                }
              }
              std::vector<std::int8_t> signs;
              for (double const y : released.coefficients) {
                signs.push_back(static_cast<std::int8_t>(y));
              }
              attack_.observe_signs(contributions, seen.batch(), sums, signs, 0.0, options_.rate);
              watching_ += since(begin);
            }
            tacit::step_on_groups(theta_, stream, groups, released, rate);
            return !released.held();
          });
    out_.nats = mechanism.account().spent().value;
    out_.bound = tacit::membership_success(mechanism.account().spent());
    guessed();
  }

  // ---- RLDP ----

  void with_rldp() {
    choose();
    auto const groups = tacit::tensor_groups(tensor_sizes(), 2);
    std::size_t const n = groups.size();
    bool const reads = options_.controller != "fixed";
    tacit::pairwise_options o{.rate = options_.rate,
                              .expected_records = expected(),
                              .steps = options_.steps,
                              .budget = options_.target,
                              .loss_clip = 4.0};
    if (reads) {  // each statistic costs a hundredth of what a group may
      double const alone = tacit::pairwise_noise_multiplier(o, n);
      o.share_noise_multiplier = 10.0 * alone;
      o.loss_noise_multiplier = 10.0 * alone;
    }
    double const multiplier = tacit::pairwise_noise_multiplier(o, n);
    tacit::pairwise_gaussian<> mechanism(
        groups, o, {std::vector<double>(n, options_.clip), std::vector<double>(n, multiplier)},
        inside_);
    sac_controls_options pace;
    pace.interval = std::max<std::size_t>(1, options_.steps / 40);
    auto const chooser = make_controller(options_.controller, options_.seed, n, pace);
    gradients seen(*this, theta_.size());
    std::vector<double> losses(records());
    steps([&] { return mechanism.done(); },
          [&] {
            std::size_t const t = mechanism.steps();
            if (reads) of_.losses(theta_, losses);
            seen.begin_step();
            auto const controls = mechanism.state().controls;
            auto const released = mechanism.step([&](std::size_t record, std::span<float> out) {
              seen.write(record, out);
              return losses[record];
            });
            if (options_.attacked) {
              std::vector<part> parts;
              for (std::size_t k = 0; k < n; ++k) {
                parts.push_back({groups[k].first, groups[k].last, controls.clips[k],
                                 controls.clips[k] * controls.noise_multipliers[k]});
              }
              observe_gradients(seen, released.value, o.divisor(), parts, options_.rate);
            }
            tacit::descend(theta_, training(), t, released);
            if (reads) mechanism.set(chooser->next(mechanism.state()));
            return true;
          });
    out_.epsilon = mechanism.state().epsilon;
    out_.bound = tacit::attack_success(tacit::approx_dp{*out_.epsilon, options_.target.delta});
    guessed();
  }

  model& of_;
  tuning_options const& options_;
  std::function<void(std::size_t)> const& progress_;
  std::vector<float> theta_;
  std::vector<bool> inside_;
  std::vector<std::uint8_t> flags_;
  tacit::known_rest attack_;
  std::vector<double> times_;
  double watching_ = 0.0;
  tuning_result out_;
};

// Bytes, from the lines of /proc/self/status.
double resident(char const* field) {
  std::ifstream in("/proc/self/status");
  std::string word;
  while (in >> word) {
    double kilobytes = 0.0;
    if (word == field && in >> kilobytes) return 1024.0 * kilobytes;
  }
  return 0.0;
}

}  // namespace

std::vector<tacit::recorded_tensor> recorded_tensors(model const& of) {
  std::vector<tacit::recorded_tensor> out;
  for (auto const& [name, shape] : of.tensors()) {
    out.push_back({name, tacit::element_type::f32, {shape.begin(), shape.end()}});
  }
  return out;
}

tacit::parameters named_tensors(model const& of, std::span<float> theta) {
  std::vector<tacit::tensor> views;
  for (auto const& [name, shape] : of.tensors()) {
    views.push_back({.entries = theta.first(entries(shape)), .name = name});
    theta = theta.subspan(entries(shape));
  }
  return tacit::parameters(std::move(views));
}

tuning_result tune(model& of, tuning_options const& options,
                   std::function<void(std::size_t)> const& progress) {
  return tuning(of, options, progress).run();
}

step_cost cost_of(model& of, tuning_options options, std::size_t steps) {
  options.attacked = false;
  options.steps = steps;
  options.curve_points = 1;
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("cost_of: no pipe");
  ::pid_t const child = ::fork();
  if (child < 0) throw std::runtime_error("cost_of: no process");
  if (child == 0) {
    step_cost cost{};
    try {
      ::malloc_trim(0);
      double const before = resident("VmRSS:");
      cost.seconds = tune(of, options).seconds_per_step;
      cost.bytes = resident("VmHWM:") - before;
    } catch (...) {
      std::_Exit(1);
    }
    bool const told = ::write(ends[1], &cost, sizeof cost) == ::ssize_t{sizeof cost};
    std::_Exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  step_cost cost{};
  bool const heard = ::read(ends[0], &cost, sizeof cost) == ::ssize_t{sizeof cost};
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!heard || status != 0) throw std::runtime_error("cost_of: the child process failed");
  return cost;
}

}  // namespace examples
