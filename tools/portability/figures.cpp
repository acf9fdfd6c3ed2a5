// SPDX-License-Identifier: Apache-2.0
//
// Prints a figure or more of every part of the library, one a line, for compare.py:
//   bits NAME WORD              the same everywhere
//   interval NAME LOWER UPPER   encloses the truth, and so overlaps every other platform's
//   figure NAME VALUE           nearest, or a feasible end: the same to many digits
#include <tacit/tacit.hpp>

#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace tacit;

namespace {

void bits(char const* name, std::uint64_t word) {
  std::printf("bits %s %016" PRIx64 "\n", name, word);
}
void bits(char const* name, double x) { bits(name, detail::bit_cast<std::uint64_t>(x)); }
void interval(char const* name, bound<double> const& x) {
  std::printf("interval %s %.17g %.17g\n", name, x.lower, x.upper);
}
void figure(char const* name, double x) { std::printf("figure %s %.17g\n", name, x); }

/// A stream that every platform draws alike.
secret_stream known_stream() {
  chacha20_key key{};
  for (std::uint32_t k = 0; k < key.size(); ++k) key[k] = 0x9E3779B9U * (k + 1);
  archive_writer out("stream", 1);
  out.list("stream_key", key).field("stream_position", 0U);
  archive_reader in(std::move(out).finish(), "stream", 1);
  secret_stream::state state;
  secret_stream::state::fields(in, state);
  return secret_stream::restore(state);
}

void core_and_info() {
  bits("number_text", detail::checksum(detail::to_text(0.1) + detail::to_text(5e-324) +
                                       detail::to_text(1.5e300) + detail::to_text(1e15F)));
  bits("number_back", detail::from_text<double>("0.30000000000000004").value());
  figure("log1p_residual", log1p_residual(0.1));
  figure("gauss_hermite", gauss_hermite(20).weight[3]);
  figure("normal_tail", mutual_information(binary_channel{.prior = 0.3, .sigma = 1.5}));
  figure("sign_information",
         mutual_information(sign_channel{.prior = 0.25, .noise = flip::with_probability(0.2)}));
  figure("sign_noise", noise_for(sign_channel{.prior = 0.5}, nats(0.33)).probability());
  figure("binary_noise", noise_for(binary_channel{.prior = 0.5}, nats(0.33)));
  figure("attack", attack_success(nats(0.33)));
}

void accountants() {
  event const step = sampled(gaussian{.noise_multiplier = 1.0}, poisson{.rate = 0.01});
  privacy_loss_accountant run;
  run.compose(step, 10'000);
  interval("epsilon", run.epsilon(1e-5));
  interval("epsilon_small_delta", run.epsilon(1e-12));
  interval("delta", run.delta(2.0));

  privacy_loss_accountant replace(adjacency::replace_one);
  replace.compose(step, 1'000);
  interval("epsilon_replace", replace.epsilon(1e-6));

  privacy_loss_accountant mixed;
  mixed.compose(sampled(laplace{.noise_multiplier = 2.0}, poisson{.rate = 0.05}), 200);
  mixed.compose(gaussian{.noise_multiplier = 8.0}, 3);
  interval("epsilon_mixed", mixed.epsilon(1e-6));

  privacy_loss_accountant whole;
  whole.compose(gaussian{.noise_multiplier = 5.0}, 10);
  interval("epsilon_gaussian", whole.epsilon(1e-5));

  renyi_accountant renyi;
  renyi.compose(step, 10'000);
  figure("epsilon_renyi", renyi.epsilon(1e-5).upper);
  figure("epsilon_zcdp", epsilon(zcdp{.rho = 0.1}, 1e-6));
  figure("noise_multiplier", noise_multiplier_for<privacy_loss_accountant>(
                                 {.epsilon = 2.0, .delta = 1e-5}, poisson{.rate = 0.01}, 10'000));
  figure("steps", static_cast<double>(
                      steps_for<privacy_loss_accountant>({.epsilon = 2.0, .delta = 1e-5}, step)));
  bits("state", detail::checksum(renyi.save()));
}

void randomness() {
  stream_id const stream{.seed = 42, .step = 7};
  bits("philox", random_bits64(stream, 123'456'789));
  bits("normal", normal(stream, 5));
  bits("rademacher", std::uint64_t{rademacher_word(stream, 3)});
  bits("sphere", double{sphere_scale(stream, 1001)});

  secret_stream secret = known_stream();
  bits("chacha20", secret.next());
  bits("standard_normal", standard_normal(secret));
  bits("discrete_gaussian", static_cast<std::uint64_t>(draw_discrete_gaussian(secret, 1000)));
  bits("discrete_laplace", static_cast<std::uint64_t>(draw_discrete_laplace(secret, 1000)));
  secret_stream one;
  secret_stream other;
  bits("entropy_differs", std::uint64_t{one.next() != other.next()});
}

void pac() {
  Eigen::MatrixXd outputs(4, 2);
  outputs << 1.0, 0.2, 1.1, 0.1, 0.8, 0.3, 0.9, 0.2;
  auto const plan = log_det(candidate_outputs(outputs), nats(0.5));
  figure("pac_trace", plan.noise.trace());
  figure("pac_information", plan.information.value.value);
  posterior belief(16);
  figure("posterior_entropy", belief.entropy());
}

void loss(std::span<float const> theta, std::span<double> losses) {
  for (std::size_t i = 0; i < losses.size(); ++i) {
    double const x = 0.1 * static_cast<double>(i) - 2.0;
    double const error = double{theta[0]} * x + double{theta[1]} - (2.0 * x - 1.0);
    losses[i] = error * error;
  }
}

void training() {
  std::vector<float> theta{0.1F, -0.2F};
  paczero mechanism({.steps = 60, .budget = nats(0.5)},
                    candidate_set::balanced({.records = 40, .subsets = 16}, 42), known_stream());
  train_options const options{.smoothing = 1e-3, .learning_rate = 0.02, .steps = 60, .seed = 7};
  run_record const record{.mechanism = {.name = "known", .parameters = {{"rate", 0.1}}},
                          .training = options,
                          .symbols = symbol_kind::held_sign,
                          .magnitude = 1.0,
                          .tensors = tensors_of(theta),
                          .start = hash_of(theta)};
  trainer run{mechanism, options, theta};
  while (!run.done()) run.step(loss);
  bits("trained", detail::checksum(to_hex(hash_of(theta))));
  figure("spent", mechanism.spent().value);
  bits("transcript",
       detail::checksum(transcript(record, {1.0, -1.0, 0.0, 1.0, -1.0, -1.0}).sealed()));
}

void files() {
  std::filesystem::path const folder = std::filesystem::temp_directory_path() / "tacit-portability";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::string seen;
  {
    file_lock const mine(folder / "state");
    write_private_file(folder / "state", "first");
    write_private_file(folder / "state", "second");
    append_file(folder / "state", 3).append(" and third");
    seen += read_file(folder / "state") + '\n';
    try {
      create_private_file(folder / "state", "another");
      seen += "made twice\n";
    } catch (std::system_error const&) {
      seen += "made once\n";
    }
#if defined(__EMSCRIPTEN__)
    seen += "locked once\n";  // there are no locks
#else
    try {
      file_lock const again(folder / "state");
      seen += "locked twice\n";
    } catch (std::system_error const&) {
      seen += "locked once\n";
    }
#endif
  }
  std::filesystem::remove_all(folder);
  bits("files", detail::checksum(seen));
}

void audit() {
  figure(
      "epsilon_lower_bound",
      epsilon_lower_bound(
          {.members = 100, .true_positives = 90, .others = 100, .false_positives = 5}, 1e-5, 0.95));
}

}  // namespace

int main() try {
  core_and_info();
  accountants();
  randomness();
  pac();
  training();
  audit();
  files();
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
