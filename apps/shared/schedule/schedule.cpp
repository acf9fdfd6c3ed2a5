// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.hpp"

#include <tacit/core/check.hpp>
#include <tacit/core/count.hpp>
#include <tacit/dp/choices.hpp>
#include <tacit/dp/integer_noise.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/sensitivity.hpp>
#include <tacit/dp/shared_questions.hpp>
#include <tacit/dp/trade_off_curve.hpp>

#include "output/format.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <variant>

namespace apps {

using nlohmann::json;
using tacit::composed;
using tacit::event;

namespace {

// What a text nests, and the keys of each open object. (A callback of json::parse sees as much, in time that grows by the
// square of a list's length.)
class structure : public json::json_sax_t {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(json::number_integer_t) override { return true; }
  bool number_unsigned(json::number_unsigned_t) override { return true; }
  bool number_float(json::number_float_t, json::string_t const&) override { return true; }
  bool string(json::string_t&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(json::string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    throw std::invalid_argument(name + " is given twice in an object");
  }
  bool parse_error(std::size_t, std::string const&, json::exception const&) override {
    return false;  // which json::parse puts into words
  }

 private:
  static constexpr std::size_t deepest = 32;

  bool open() {
    if (keys_.size() >= deepest) throw std::invalid_argument("is nested too deep");
    keys_.emplace_back();
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys_;
};

}  // namespace

json parse_json(std::string const& text) {
  structure watch;
  json::sax_parse(text, &watch);
  try {
    return json::parse(text);
  } catch (json::exception const& error) {
    throw std::invalid_argument(std::string("is no JSON: ") + error.what());
  }
}

namespace {

// A value of the schedule and its place in it: `releases[2].rate`.
class node {
 public:
  node(std::string name, json const& value, std::optional<std::size_t> release = {})
      : name_(std::move(name)), value_(&value), release_(release) {}

  [[noreturn]] void refuse(std::string const& must_be) const {
    std::string is = value_->dump();
    if (is.size() > 60) is = is.substr(0, 57) + "...";
    refuse(name_, "is " + is + ", but must be " + must_be);
  }

  json const& value() const { return *value_; }
  std::string const& name() const { return name_; }

  double number(char const* must_be, bool (*holds)(double)) const {
    if (!value_->is_number() || !holds(value_->get<double>())) refuse(must_be);
    return value_->get<double>() + 0.0;
  }
  double probability() const {
    return number("in [0, 1]", [](double x) { return x >= 0.0 && x <= 1.0; });
  }
  double noise_multiplier() const { return number(noise_range, in_noise_range); }
  double positive() const {
    return number("positive and finite", [](double x) { return x > 0.0 && std::isfinite(x); });
  }
  double non_negative() const {
    return number("finite and at least 0", [](double x) { return x >= 0.0 && std::isfinite(x); });
  }
  std::uint64_t whole(std::uint64_t low, std::uint64_t high) const {
    if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() < low ||
        value_->get<std::uint64_t>() > high) {
      refuse(tacit::detail::count_range(low, high));
    }
    return value_->get<std::uint64_t>();
  }
  std::string word(std::vector<std::string> const& of) const {
    if (!value_->is_string() ||
        std::find(of.begin(), of.end(), value_->get<std::string>()) == of.end()) {
      refuse(joined(of));
    }
    return value_->get<std::string>();
  }
  // Whether this key is true; false unless given.
  bool flag(char const* key) const {
    if (!has(key)) return false;
    node const of = field(key);
    if (!of.value().is_boolean()) of.refuse("true or false");
    return of.value().get<bool>();
  }
  std::size_t entries(char const* must_be) const {
    if (!value_->is_array() || value_->empty()) refuse(must_be);
    return value_->size();
  }

  node entry(std::size_t k) const { return entry(k, name_ + "[" + std::to_string(k) + "]"); }
  node entry(std::size_t k, std::string const& called) const {
    return {called, value_->at(k), release_ ? release_ : k};
  }
  bool has(char const* key) const { return value_->contains(key); }
  node field(char const* key) const {
    if (!has(key)) refuse(named(key), "is missing");
    return {named(key), value_->at(key), release_};
  }

  void must_be_object() const {
    if (!value_->is_object()) refuse("an object");
  }
  void must_have_only(std::vector<std::string> const& keys) const {
    for (auto const& item : value_->items()) {
      if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) {
        refuse(named(item.key()), "is unknown, but must be one of " + joined(keys));
      }
    }
  }

 private:
  std::string named(std::string const& key) const {
    return name_.empty() ? key : name_ + "." + key;
  }
  [[noreturn]] void refuse(std::string const& name, std::string const& why) const {
    throw bad_schedule(name + " " + why, name.substr(name.rfind('.') + 1), release_);
  }

  std::string name_;
  json const* value_;
  std::optional<std::size_t> release_;  // of which it is a part
};

constexpr char const* of_scores =
    "Noisy max, permute-and-flip, sparse vector: scores are in units of what one record may "
    "change, and in one "
    "direction where contributions are stated as non-negative; what is chosen is released, and no "
    "score.";
constexpr char const* of_votes =
    "Votes of teachers: a record trains one teacher, a substitute the same one, and so changes one "
    "vote; what is "
    "chosen is released, and no count.";
constexpr char const* of_vectors =
    "Noise on integer vectors: what a record adds has at most the norms that are stated.";

struct known_mechanism {
  char const* word;
  std::vector<std::string> keys;
  tacit::mechanism_event (*read)(node const&);
  // In place of it, where the event depends on who is a neighbour.
  tacit::mechanism_event (*read_among)(node const&, tacit::adjacency) = nullptr;
  bool at_most = false;  // as in schedule::entry
  char const* assumed = nullptr;

  tacit::mechanism_event read_by(node const& of, tacit::adjacency neighbours) const {
    return read_among != nullptr ? read_among(of, neighbours) : read(of);
  }
};

tacit::mechanism_event read_gaussian(node const& of) {
  if (!of.has("groups")) {
    tacit::gaussian const updates{of.field("noise_multiplier").noise_multiplier()};
    if (!of.has("clip_count_noise")) return updates;
    return with_clip_count(updates, of.field("clip_count_noise").noise_multiplier());
  }
  if (of.has("noise_multiplier")) {
    of.field("noise_multiplier").refuse("left out where groups are given");
  }
  if (of.has("clip_count_noise")) {
    of.field("clip_count_noise").refuse("left out where groups are given");
  }
  node const groups = of.field("groups");
  std::vector<tacit::clipped_group> all;
  for (std::size_t k = 0; k < groups.entries("a list of groups"); ++k) {
    node const group = groups.entry(k);
    group.must_be_object();
    group.must_have_only({"clip", "sigma"});
    all.push_back({group.field("clip").positive(), group.field("sigma").positive()});
  }
  tacit::gaussian const joint = joint_gaussian(all);
  if (!in_noise_range(joint.noise_multiplier)) {
    groups.refuse(std::string("of a joint noise multiplier ") + noise_range);
  }
  return joint;
}

// [{first: …, second: …}, …]
template <class Point>
std::vector<Point> read_points(node const& of, char const* first, char const* second,
                               std::uint64_t most, Point (*read)(node const&, node const&)) {
  node const list = of.field("points");
  std::string const must_be = std::string("a list of at most ") + std::to_string(most) +
                              " objects of " + first + " and " + second;
  std::size_t const count = list.entries(must_be.c_str());
  if (count > most) list.refuse(must_be);
  std::vector<Point> all;
  for (std::size_t k = 0; k < count; ++k) {
    node const point = list.entry(k);
    point.must_be_object();
    point.must_have_only({first, second});
    all.push_back(read(point.field(first), point.field(second)));
  }
  return all;
}

tacit::mechanism_event read_profile(node const& of) {
  return tacit::dp_profile{read_points<tacit::approx_dp>(
      of, "epsilon", "delta", tacit::dp_profile::most_points,
      [](node const& epsilon, node const& delta) {
        return tacit::approx_dp{epsilon.non_negative(), delta.probability()};
      })};
}

tacit::mechanism_event read_renyi(node const& of) {
  return tacit::renyi_dp{read_points<tacit::renyi_bound>(
      of, "order", "divergence", tacit::renyi_dp::most_points,
      [](node const& order, node const& divergence) {
        auto const above_one = [](double x) { return x > 1.0 && std::isfinite(x); };
        return tacit::renyi_bound{order.number("finite and above 1", above_one),
                                  divergence.non_negative()};
      })};
}

std::uint64_t read_sensitivity(node const& of) {
  return of.has("sensitivity") ? of.field("sensitivity").whole(1, 1'000'000'000) : 1;
}

template <tacit::integer_law law>
tacit::mechanism_event read_integer_noise(node const& of) {
  node const variance = of.field("variance");
  double const value = variance.positive();
  if (law == tacit::integer_law::binomial &&
      !(4.0 * value >= 1.0 && 4.0 * value <= 0x1p53 && 4.0 * value == std::floor(4.0 * value))) {
    variance.refuse("a quarter of a number of coins in [1, 2^53] for binomial noise");
  }
  return tacit::integer_noise{law, value, read_sensitivity(of)};
}

tacit::mechanism_event read_mixture(node const& of) {
  tacit::gaussian_mixture out{
      of.field("sigma").positive(),
      read_points<tacit::gaussian_mixture::part>(
          of, "weight", "sensitivity", tacit::gaussian_mixture::most_parts,
          [](node const& weight, node const& sensitivity) {
            return tacit::gaussian_mixture::part{weight.probability(), sensitivity.non_negative()};
          })};
  double sum = 0.0;
  for (auto const& part : out.parts) sum += part.weight;
  if (!(sum <= 1.0 + 1e-12)) of.field("points").refuse("of weights that add up to at most 1");
  return out;
}

// The scale of noise on scores, in units of their sensitivity.
double read_scale(node const& of, char const* key) {
  return of.field(key).number("in [1e-290, 1e290]",
                              [](double x) { return x >= 1e-290 && x <= 1e290; });
}

// What a record may add to a score.
tacit::contribution read_contribution(node const& of) {
  if (!of.has("contribution")) return tacit::contribution::any_sign;
  std::string const word = of.field("contribution").word({"any-sign", "non-negative"});
  return word == "any-sign" ? tacit::contribution::any_sign : tacit::contribution::non_negative;
}

tacit::mechanism_event read_noisy_max(node const& of, tacit::adjacency neighbours) {
  std::string const word = of.field("noise").word({"gumbel", "exponential", "laplace"});
  tacit::score_noise const noise = word == "gumbel"    ? tacit::score_noise::gumbel
                                   : word == "laplace" ? tacit::score_noise::laplace
                                                       : tacit::score_noise::exponential;
  return tacit::report_noisy_max(noise, read_scale(of, "scale"), neighbours, read_contribution(of));
}

tacit::mechanism_event read_permute_and_flip(node const& of, tacit::adjacency neighbours) {
  return tacit::report_noisy_max(tacit::score_noise::exponential, read_scale(of, "scale"),
                                 neighbours, read_contribution(of));
}

tacit::mechanism_event read_sparse_vector(node const& of, tacit::adjacency neighbours) {
  return tacit::sparse_vector(read_scale(of, "threshold_scale"), read_scale(of, "query_scale"),
                              of.field("answers").whole(1, largest_count), neighbours,
                              read_contribution(of));
}

// Noise so small that a loss would be no double.
template <class Make>
tacit::mechanism_event of_finite_loss(node const& noise, Make const& make) {
  try {
    return make();
  } catch (std::domain_error const&) {
    noise.refuse("so large that losses are finite");
  }
}

tacit::mechanism_event read_vector_gaussian(node const& of) {
  double const sigma = of.field("sigma").positive();
  double const l2 = of.field("l2").non_negative();
  return of_finite_loss(of.field("sigma"),
                        [&] { return tacit::vector_discrete_gaussian(sigma, l2); });
}

tacit::mechanism_event read_vector_skellam(node const& of) {
  double const variance = of.field("variance").positive();
  double const l1 = of.field("l1").non_negative();
  double const l2 = of.field("l2").non_negative();
  return of_finite_loss(of.field("variance"),
                        [&] { return tacit::vector_skellam(variance, l1, l2); });
}

std::vector<known_mechanism> const& mechanisms() {
  static std::vector<known_mechanism> const all{
      {"gaussian", {"noise_multiplier", "groups", "clip_count_noise"}, read_gaussian},
      {"laplace",
       {"noise_multiplier"},
       [](node const& of) -> tacit::mechanism_event {
         return tacit::laplace{of.field("noise_multiplier").noise_multiplier()};
       }},
      {"discrete-gaussian",
       {"sigma", "sensitivity"},
       [](node const& of) -> tacit::mechanism_event {
         return tacit::discrete_gaussian{of.field("sigma").positive(), read_sensitivity(of)};
       }},
      {"discrete-laplace",
       {"scale", "sensitivity"},
       [](node const& of) -> tacit::mechanism_event {
         return tacit::discrete_laplace{of.field("scale").positive(), read_sensitivity(of)};
       }},
      {"geometric",
       {"ratio", "sensitivity"},
       [](node const& of) -> tacit::mechanism_event {
         double const ratio =
             of.field("ratio").number("in (0, 1)", [](double x) { return x > 0.0 && x < 1.0; });
         return tacit::two_sided_geometric(ratio, read_sensitivity(of));
       }},
      {"skellam", {"variance", "sensitivity"}, read_integer_noise<tacit::integer_law::skellam>},
      {"binomial", {"variance", "sensitivity"}, read_integer_noise<tacit::integer_law::binomial>},
      {"vector-discrete-gaussian",
       {"sigma", "l2"},
       read_vector_gaussian,
       nullptr,
       false,
       of_vectors},
      {"vector-skellam", {"variance", "l1", "l2"}, read_vector_skellam, nullptr, false, of_vectors},
      {"gaussian-mixture", {"sigma", "points"}, read_mixture},
      {"randomised-response",
       {"epsilon", "categories"},
       [](node const& of) -> tacit::mechanism_event {
         return tacit::randomised_response{
             of.field("epsilon").non_negative(),
             of.has("categories") ? of.field("categories").whole(2, largest_count) : 2};
       }},
      {"exponential",
       {"epsilon"},
       [](node const& of) -> tacit::mechanism_event {
         return tacit::exponential_mechanism{of.field("epsilon").non_negative()};
       }},
      {"report-noisy-max",
       {"noise", "scale", "contribution"},
       nullptr,
       read_noisy_max,
       true,
       of_scores},
      {"permute-and-flip",
       {"scale", "contribution"},
       nullptr,
       read_permute_and_flip,
       true,
       of_scores},
      {"sparse-vector",
       {"threshold_scale", "query_scale", "answers", "contribution"},
       nullptr,
       read_sparse_vector,
       true,
       of_scores},
      {"gnmax-check",
       {"sigma"},
       [](node const& of) -> tacit::mechanism_event {
         return tacit::gnmax_check(read_scale(of, "sigma"));
       },
       nullptr,
       true,
       of_votes},
      {"gnmax-answer",
       {"sigma"},
       [](node const& of) -> tacit::mechanism_event {
         return tacit::gnmax_answer(read_scale(of, "sigma"));
       },
       nullptr,
       true,
       of_votes},
      {"pure",
       {"epsilon"},
       [](node const& of) -> tacit::mechanism_event {
         return tacit::pure{of.field("epsilon").non_negative()};
       }},
      {"approximate",
       {"epsilon", "delta"},
       [](node const& of) -> tacit::mechanism_event {
         return tacit::approx_dp{of.field("epsilon").non_negative(),
                                 of.field("delta").probability()};
       }},
      {"matrix-gaussian",
       {"noise_multiplier", "sensitivity"},
       [](node const& of) -> tacit::mechanism_event {
         return tacit::matrix_gaussian{of.field("noise_multiplier").positive(),
                                       of.field("sensitivity").non_negative()};
       }},
      {"gaussian-dp",
       {"mu"},
       [](node const& of) -> tacit::mechanism_event {
         return tacit::gaussian_dp{of.field("mu").non_negative()};
       }},
      {"zcdp",
       {"rho"},
       [](node const& of) -> tacit::mechanism_event {
         return tacit::zcdp{of.field("rho").non_negative()};
       }},
      {"profile", {"points"}, read_profile},
      {"renyi", {"points"}, read_renyi}};
  return all;
}

constexpr char const* run_word = "run";

tacit::sampling read_sampling(node const& of) {
  if (of.has("allocate") || of.has("of")) {
    for (char const* other : {"rate", "batch", "records", "shuffled", "with_replacement"}) {
      if (of.has(other)) of.field(other).refuse("left out where an epoch is allocated");
    }
    std::uint64_t const steps = of.field("of").whole(1, tacit::random_allocation::most_steps);
    return tacit::random_allocation{steps, of.field("allocate").whole(1, steps)};
  }
  if (of.has("rate")) {
    for (char const* other : {"batch", "records", "shuffled", "with_replacement"}) {
      if (of.has(other)) of.field(other).refuse("left out where rate is given");
    }
    return tacit::poisson{of.field("rate").probability()};
  }
  if (of.has("batch") || of.has("records")) {
    if (of.has("shuffled")) of.field("shuffled").refuse("left out where a batch is given");
    std::uint64_t const records = of.field("records").whole(1, largest_count);
    if (of.flag("with_replacement")) {
      return tacit::with_replacement{of.field("batch").whole(1, largest_count), records};
    }
    return tacit::fixed_size{of.field("batch").whole(1, records), records};
  }
  if (of.has("with_replacement")) {
    of.field("with_replacement").refuse("left out unless a batch is given");
  }
  return of.flag("shuffled") ? tacit::sampling(tacit::shuffled{}) : tacit::unsampled{};
}

std::optional<tacit::repetitions> read_best_of(node const& of) {
  if (!of.has("best_of")) return std::nullopt;
  node const best = of.field("best_of");
  best.must_be_object();
  best.must_have_only({"mean", "law", "shape"});
  node const mean = best.field("mean");
  std::string const law =
      best.has("law") ? best.field("law").word({"geometric", "logarithmic", "poisson"}) : "";
  if (law == "poisson") {
    if (best.has("shape")) best.field("shape").refuse("left out where law is poisson");
    return tacit::poisson_count{
        mean.number("in [1e-3, 1e12]", [](double x) { return x >= 1e-3 && x <= 1e12; })};
  }
  double const runs = mean.number("in [1, 1e12], or of a Poisson law in [1e-3, 1e12]",
                                  [](double x) { return x >= 1.0 && x <= 1e12; });
  if (!best.has("shape")) return tacit::repetitions_of_mean(runs, law == "logarithmic" ? 0.0 : 1.0);
  if (!law.empty()) best.field("shape").refuse("left out where a law is given");
  return tacit::repetitions_of_mean(runs, best.field("shape").number("in (-1, 1000]", [](double x) {
    return x > -1.0 && x <= 1000.0;
  }));
}

surroundings read_surroundings(node const& of, std::vector<schedule::entry> const& releases,
                               tacit::adjacency neighbours) {
  surroundings out;
  if (of.has("cap")) {
    node const cap = of.field("cap");
    if (std::any_of(releases.begin(), releases.end(),
                    [](auto const& e) { return e.run != nullptr; })) {
      cap.refuse("left out where a release is itself a run, whose batches a cap of its own cuts");
    }
    std::vector<composed> history;
    for (schedule::entry const& e : releases) history.push_back(e.what);
    cap.must_be_object();
    cap.must_have_only({"most", "records"});
    if (!has_random_batches(history)) {
      cap.refuse("left out unless records are sampled by Poisson or allocated at random");
    }
    out.cap = tacit::batch_cap{cap.field("most").whole(1, largest_count),
                               cap.field("records").whole(1, largest_count)};
    out.overflow = tacit::overflow(*out.cap, history);
  }
  if (of.has("drawn_once")) out.drawn_once = of.field("drawn_once").probability();
  out.fixed_share = neighbours == tacit::adjacency::replace_one;
  out.times = read_best_of(of);
  return out;
}

// Upper ends of δ at some two thousand ε, to where next to nothing of it is left, closest together where it falls steeply:
// between them it counts as far as convexity bounds it.
template <class Run>
tacit::trade_off_curve upper_curve(Run const& run, tacit::adjacency neighbours) {
  constexpr double most_knots = 2000.0;
  constexpr double least_knots = 60.0;  // whatever they take
  constexpr double least = 1e-30;
  constexpr double farthest = 700.0;
  // In counted nanoseconds, of one question and of all: far out one may take as much as there is.
  constexpr double of_one = 5e8;
  constexpr double of_all = 6e9;
  double spent = 0.0;
  tacit::detail::delta_answers answers = tacit::detail::delta_answers_of(run);
  std::map<double, double> deltas;
  auto const ask = [&](double epsilon) {
    tacit::detail::work_budget own(of_one);
    double const found = answers(epsilon, own).upper;
    spent += of_one - own.left();
    return deltas[epsilon] = std::clamp(found, 0.0, 1.0);
  };
  double const most = ask(0.0);
  for (double e = 1e-9; e < farthest;) {
    double const here = ask(e);
    if (!(here > least)) break;
    e = std::min(farthest, e * (here > 0.95 * most ? 8.0 : 1.4));
    if (e == farthest) ask(e);
  }
  std::map<double, double> const rough = deltas;
  // As many as there is work for, where most of the others take far less than these, which they are near.
  double const each = std::max(spent / static_cast<double>(rough.size()), 1.0);
  double const knots = std::clamp(10.0 * (of_all - spent) / each, least_knots, most_knots);
  auto const height = [&](double delta) { return std::log(std::max(delta, least)); };
  double const fall = height(rough.begin()->second) - height(rough.rbegin()->second);
  // In their order: what is found for one ε serves the next.
  for (auto next = std::next(rough.begin()); next != rough.end(); ++next) {
    auto const [begin, high] = *std::prev(next);
    double const count =
        std::ceil(fall > 0.0 ? knots * (height(high) - height(next->second)) / fall : 1.0);
    for (double k = 1.0; k < count && (spent < of_all || knots == least_knots); ++k) {
      ask(begin + (next->first - begin) * (k / count));
    }
  }
  std::vector<tacit::profile_knot> out;
  double upper = 1.0;
  for (auto const& [epsilon, delta] : deltas) {
    upper = std::min(upper, delta);  // it falls
    out.push_back({epsilon, {0.0, upper}});
  }
  return {neighbours, out};
}

tacit::dp_profile profile_of(schedule::inner_run const& run, tacit::adjacency neighbours) {
  using account = tacit::privacy_loss_accountant;
  auto const start = [&] { return std::make_unique<account>(neighbours); };
  accounts<account> all{start(), {}};
  std::vector<composed> history;
  for (schedule::entry const& e : run.releases) {
    try {
      all.whole->compose(e.what.release, e.what.count);
    } catch (std::logic_error const& error) {  // no bound is known, or none at this value
      throw bad_schedule(e.name + ": " + error.what() + " (inside of a run the accountant is pld)");
    }
    history.push_back(e.what);
  }
  if (run.around.cap) all.tell_cuts(*run.around.cap, history, start);
  auto const curve = [&](auto const& one) { return upper_curve(one, neighbours); };
  tacit::trade_off_curve const of_one = asked_of_one(all, run.around, curve);
  if (!run.around.times) return of_one.profile();
  return curve(tacit::best_of(of_one, *run.around.times)).profile();
}

constexpr char const* inside =
    "A run inside of another one draws its samples, its cuts and the number of its repetitions "
    "anew each time; all of that stays secret, and its releases are seen when it ends or before.";

schedule::entry read_one(node const& of, tacit::adjacency neighbours);

// A whole run as one release: what it gives away is its profile.
schedule::entry read_run(node const& of, tacit::adjacency neighbours) {
  of.must_have_only({"mechanism", "releases", "cap", "drawn_once", "best_of", "steps"});
  auto run = std::make_shared<schedule::inner_run>();
  run->stated = of.value().dump();
  std::uint64_t const steps = of.has("steps") ? of.field("steps").whole(1, largest_count) : 1;
  node const releases = of.field("releases");
  std::uint64_t inside_of_it = 0;
  for (std::size_t k = 0; k < releases.entries("a list of releases"); ++k) {
    node const one = releases.entry(k);
    run->releases.push_back(read_one(one, neighbours));
    if (one.has("batches")) one.field("batches").refuse("left out inside of a run");
    std::uint64_t const count = run->releases.back().what.count;
    if (count > largest_count - inside_of_it) {
      one.field("steps").refuse("so small that all steps of the run are at most 2^53");
    }
    inside_of_it += count;
  }
  run->around = read_surroundings(of, run->releases, neighbours);
  tacit::dp_profile const profile = profile_of(*run, neighbours);
  return {{event(profile), steps}, of.name(), true, true, inside, std::move(run)};
}

schedule::entry read_one(node const& of, tacit::adjacency neighbours) {
  of.must_be_object();
  std::vector<std::string> words{run_word};
  for (known_mechanism const& m : mechanisms()) words.emplace_back(m.word);
  std::string const word = of.field("mechanism").word(words);
  if (word == run_word) return read_run(of, neighbours);
  known_mechanism const& known =
      *std::find_if(mechanisms().begin(), mechanisms().end(),
                    [&](known_mechanism const& m) { return m.word == word; });
  std::vector<std::string> keys{"mechanism",          "steps",    "rate",    "batch",    "records",
                                "with_replacement",   "shuffled", "batches", "allocate", "of",
                                "records_per_person", "attained"};
  keys.insert(keys.end(), known.keys.begin(), known.keys.end());
  of.must_have_only(keys);
  event const release = by_person(
      sampled(known.read_by(of, neighbours), read_sampling(of)),
      of.has("records_per_person") ? of.field("records_per_person").whole(1, 1'000'000) : 1);
  std::uint64_t const steps = of.has("steps") ? of.field("steps").whole(1, largest_count) : 1;
  bool const bounded = of.has("attained") && !of.flag("attained");
  return {{release, steps},
          of.name(),
          known.read_among != nullptr,
          known.at_most || bounded,
          known.assumed};
}

// How many batches a shuffled epoch has: it is amplified only where nothing else is released.
std::uint64_t read_batches(node const& of, composed const& what, std::size_t releases) {
  std::uint64_t const found = of.field("batches").whole(1, tacit::random_allocation::most_steps);
  if (!std::holds_alternative<tacit::shuffled>(what.release.how)) {
    of.field("batches").refuse("left out unless shuffled is true");
  }
  if (!std::holds_alternative<tacit::gaussian>(what.release.what)) {
    of.field("batches").refuse("left out unless mechanism is gaussian");
  }
  if (what.release.records_per_person > 1) {
    of.field("batches").refuse("left out where a person has several records");
  }
  if (releases > 1) of.field("batches").refuse("left out where there are other releases");
  return found;
}

// [[noise multiplier, rate, steps], …]
std::vector<schedule::entry> read_opacus(node const& history) {
  std::vector<schedule::entry> out;
  for (std::size_t k = 0; k < history.entries("a list of [noise multiplier, rate, steps]"); ++k) {
    node const entry = history.entry(k);
    if (!entry.value().is_array() || entry.value().size() != 3) {
      entry.refuse("a list of three: noise multiplier, rate, steps");
    }
    tacit::gaussian const noise{
        entry.entry(0, entry.name() + ".noise_multiplier").noise_multiplier()};
    tacit::poisson const rate{entry.entry(1, entry.name() + ".rate").probability()};
    std::uint64_t const steps = entry.entry(2, entry.name() + ".steps").whole(1, largest_count);
    out.push_back({{sampled(noise, rate), steps}, entry.name()});
  }
  return out;
}

constexpr std::array<std::pair<char const*, tacit::adjacency>, 3> adjacencies{
    {{"add-remove", tacit::adjacency::add_remove},
     {"replace-one", tacit::adjacency::replace_one},
     {"zero-out", tacit::adjacency::zero_out}}};

tacit::adjacency read_adjacency(node const& of) {
  std::vector<std::string> known;
  for (auto const& [name, neighbours] : adjacencies) known.emplace_back(name);
  std::string const word = of.word(known);
  return std::find_if(adjacencies.begin(), adjacencies.end(),
                      [&](auto const& a) { return word == a.first; })
      ->second;
}

}  // namespace

char const* word_of(tacit::adjacency neighbours) {
  return std::find_if(adjacencies.begin(), adjacencies.end(),
                      [&](auto const& a) { return a.second == neighbours; })
      ->first;
}

composed read_release(json const& from, std::size_t k, tacit::adjacency neighbours) {
  node const of("releases[" + std::to_string(k) + "]", from, k);
  composed const out = read_one(of, neighbours).what;
  if (of.has("batches")) of.field("batches").refuse("left out where what keeps a target is sought");
  return out;
}

schedule::entry read_entry(json const& from, std::string const& name, tacit::adjacency neighbours) {
  return read_one(node(name, from), neighbours);
}

schedule read_schedule(json const& from, tacit::adjacency assumed) {
  schedule out;
  node const top("", from);
  if (from.is_array()) {
    out.releases = read_opacus(node("history", from));
  } else if (!from.is_object()) {
    throw bad_schedule("is no schedule: it must hold an object with releases, or a history");
  } else if (from.contains("history")) {
    top.must_have_only({"history", "mechanism"});
    if (top.has("mechanism")) top.field("mechanism").word({"rdp", "gdp", "prv", "tacit"});
    out.releases = read_opacus(top.field("history"));
  } else {
    top.must_have_only({"adjacency", "releases"});
    if (top.has("adjacency")) out.neighbours = read_adjacency(top.field("adjacency"));
    node const releases = top.field("releases");
    for (std::size_t k = 0; k < releases.entries("a list of releases"); ++k) {
      node const entry = releases.entry(k);
      out.releases.push_back(read_one(entry, out.neighbours.value_or(assumed)));
      if (entry.has("batches")) {
        out.batches =
            read_batches(entry, out.releases.back().what, releases.entries("a list of releases"));
      }
    }
  }
  std::uint64_t steps = 0;
  for (std::size_t k = 0; k < out.releases.size(); ++k) {
    auto const& what = out.releases[k].what;
    std::string const& name = out.releases[k].name;
    if (what.count > largest_count - steps) {
      throw bad_schedule(name + ".steps is " + std::to_string(what.count) +
                             ", but must be so small that all steps together are at most " +
                             std::to_string(largest_count),
                         "steps", k);
    }
    steps += what.count;
  }
  return out;
}

nlohmann::ordered_json as_json(composed const& release) {
  struct visitor {
    nlohmann::ordered_json operator()(tacit::gaussian const& m) const {
      return {{"mechanism", "gaussian"}, {"noise_multiplier", m.noise_multiplier}};
    }
    nlohmann::ordered_json operator()(tacit::laplace const& m) const {
      return {{"mechanism", "laplace"}, {"noise_multiplier", m.noise_multiplier}};
    }
    nlohmann::ordered_json operator()(tacit::discrete_gaussian const& m) const {
      return {
          {"mechanism", "discrete-gaussian"}, {"sigma", m.sigma}, {"sensitivity", m.sensitivity}};
    }
    nlohmann::ordered_json operator()(tacit::discrete_laplace const& m) const {
      return {
          {"mechanism", "discrete-laplace"}, {"scale", m.scale}, {"sensitivity", m.sensitivity}};
    }
    nlohmann::ordered_json operator()(tacit::integer_noise const& m) const {
      bool const is_skellam = m.law == tacit::integer_law::skellam;
      return {{"mechanism", is_skellam ? "skellam" : "binomial"},
              {"variance", m.variance},
              {"sensitivity", m.sensitivity}};
    }
    nlohmann::ordered_json operator()(tacit::gaussian_mixture const& m) const {
      nlohmann::ordered_json all = nlohmann::ordered_json::array();
      for (auto const& p : m.parts) {
        all.push_back({{"weight", p.weight}, {"sensitivity", p.sensitivity}});
      }
      return {{"mechanism", "gaussian-mixture"}, {"sigma", m.sigma}, {"points", std::move(all)}};
    }
    nlohmann::ordered_json operator()(tacit::randomised_response const& m) const {
      return {{"mechanism", "randomised-response"},
              {"epsilon", m.epsilon},
              {"categories", m.categories}};
    }
    nlohmann::ordered_json operator()(tacit::exponential_mechanism const& m) const {
      return {{"mechanism", "exponential"}, {"epsilon", m.epsilon}};
    }
    nlohmann::ordered_json operator()(tacit::pure const& m) const {
      return {{"mechanism", "pure"}, {"epsilon", m.epsilon}};
    }
    nlohmann::ordered_json operator()(tacit::approx_dp const& m) const {
      return {{"mechanism", "approximate"}, {"epsilon", m.epsilon}, {"delta", m.delta}};
    }
    nlohmann::ordered_json operator()(tacit::matrix_gaussian const& m) const {
      return {{"mechanism", "matrix-gaussian"},
              {"noise_multiplier", m.noise_multiplier},
              {"sensitivity", m.sensitivity}};
    }
    nlohmann::ordered_json operator()(tacit::gaussian_dp const& m) const {
      return {{"mechanism", "gaussian-dp"}, {"mu", m.mu}};
    }
    nlohmann::ordered_json operator()(tacit::zcdp const& m) const {
      return {{"mechanism", "zcdp"}, {"rho", m.rho}};
    }
    nlohmann::ordered_json operator()(tacit::dp_profile const& m) const {
      nlohmann::ordered_json all = nlohmann::ordered_json::array();
      for (tacit::approx_dp const& p : m.points) {
        all.push_back({{"epsilon", p.epsilon}, {"delta", p.delta}});
      }
      return {{"mechanism", "profile"}, {"points", std::move(all)}};
    }
    nlohmann::ordered_json operator()(tacit::renyi_dp const& m) const {
      nlohmann::ordered_json all = nlohmann::ordered_json::array();
      for (tacit::renyi_bound const& p : m.points) {
        all.push_back({{"order", p.order}, {"divergence", p.divergence}});
      }
      return {{"mechanism", "renyi"}, {"points", std::move(all)}};
    }
  };
  nlohmann::ordered_json out = std::visit(visitor{}, release.release.what);
  if (auto const* p = std::get_if<tacit::poisson>(&release.release.how)) out["rate"] = p->rate;
  if (auto const* f = std::get_if<tacit::fixed_size>(&release.release.how)) {
    out["batch"] = f->batch;
    out["records"] = f->records;
  }
  if (auto const* w = std::get_if<tacit::with_replacement>(&release.release.how)) {
    out["batch"] = w->batch;
    out["records"] = w->records;
    out["with_replacement"] = true;
  }
  if (std::holds_alternative<tacit::shuffled>(release.release.how)) out["shuffled"] = true;
  if (auto const* a = std::get_if<tacit::random_allocation>(&release.release.how)) {
    out["allocate"] = a->part;
    out["of"] = a->steps;
  }
  if (release.release.records_per_person != 1) {
    out["records_per_person"] = release.release.records_per_person;
  }
  out["steps"] = release.count;
  return out;
}

nlohmann::ordered_json as_json(schedule::entry const& release) {
  return release.run ? nlohmann::ordered_json::parse(release.run->stated) : as_json(release.what);
}

double answered_noise(double found) {
  if (found <= 1e9) return found;
  throw tacit::infeasible("it would take a noise multiplier of " + formatted("%.6g", found) +
                          ", and none above 1e9 is answered for");
}

}  // namespace apps
