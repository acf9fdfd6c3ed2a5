// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <stdexcept>

arguments read_arguments(int count, char** words) {
  arguments out;
  tuning& how = out.how;
  CLI::App app(
      "Private tuning of OPT by libtorch. MODEL is a folder with config.json and "
      "model.safetensors, and with "
      "vocab.txt unless records are numbers of tokens. RECORDS has a line each: a prompt, a tab, "
      "the answer.");
  app.require_subcommand(1);
  auto const verb = [&](char const* name, char const* what) {
    return app.add_subcommand(name, what);
  };
  auto const model = [&](CLI::App* to) { to->add_option("MODEL", out.model)->required(); };
  auto const records = [&](CLI::App* to) { to->add_option("RECORDS", out.records)->required(); };
  auto const result = [&](CLI::App* to) {
    to->add_option("OUT", out.out, "the folder of the new model")->required();
  };
  std::string device = "cpu";
  auto const where = [&](CLI::App* to) {
    to->add_option("--device", device, "cpu, cuda or cuda:NUMBER");
    to->add_option("--threads", out.where.threads, "of a forward pass on the processor")
        ->check(CLI::Range(1, 1024));
    to->add_flag("--tf32", out.where.tf32,
                 "on a CUDA device: products of float32 with 10 bits of each factor");
  };
  auto const seed = [&](CLI::App* to) {
    to->add_option("--seed", out.seed, "of everything public");
  };

  auto* const start = verb("start", "a model with random weights, for a vocabulary");
  start->add_option("VOCABULARY", out.vocabulary, "a word a line")->required();
  result(start);
  start->add_option("--width", out.shape.width);
  start->add_option("--layers", out.shape.layers);
  start->add_option("--heads", out.shape.heads);
  auto* const inner = start->add_option("--inner", out.shape.inner,
                                        "of the feed-forward part; 4 times the width unless given");
  start->add_option("--positions", out.shape.positions, "the longest text, in tokens");
  start->add_flag("--bfloat16", out.bfloat16);
  seed(start);

  auto* const open = verb("train-openly", "trains on public texts by AdamW, without privacy");
  model(open);
  records(open);
  result(open);
  open->add_option("--epochs", out.open.epochs);
  open->add_option("--batch", out.open.batch)->check(CLI::Range(1, 1'000'000));
  open->add_option("--rate-of-learning", out.open.rate);
  where(open);
  seed(open);

  auto* const train =
      verb("train", "tunes privately by forward passes, or by gradients for ferret");
  model(train);
  records(train);
  result(train);
  train->add_option("--transcript", how.transcript, "the file of the releases, which is public")
      ->required();
  train->add_option("--mechanism", how.mechanism,
                    "paczero-mi, paczero-zpl, dpzero, dp-aggzo or ferret");
  train->add_option("--steps", how.steps)->check(CLI::Range(1, 100'000'000));
  train->add_option("--directions", how.directions)->check(CLI::Range(1, 4096));
  train->add_option("--smoothing", how.smoothing, "how far each sign moves the weights");
  train->add_option("--rate-of-learning", how.learning_rate);
  train->add_option("--nats", how.nats, "the budget of paczero-mi and ferret");
  train->add_option("--epsilon", how.epsilon, "of dpzero and dp-aggzo, with");
  train->add_option("--delta", how.delta);
  train->add_option("--batch-rate", how.rate,
                    "how often a record joins a batch of dpzero, dp-aggzo and ferret");
  train->add_option("--clip", how.clip);
  train->add_option("--save", how.save,
                    "the file of PACZero's state, which is secret: a run that is there goes on");
  train->add_flag("--audit", out.audit,
                  "half of the records stay out, and an attacker guesses which");
  train->add_option("--watched", out.watched, "of how many records, the last ones, it guesses")
      ->check(CLI::Range(1, 1'000'000));
  train->add_option("--test", out.test,
                    "fresh records, to report what the tuned model says of them");
  train->add_option("--canaries", out.canaries, "as for exposure, which is reported then");
  train->add_option("--candidates", out.candidates, "lines a canary")
      ->check(CLI::Range(2, 1'000'000));
  train->add_flag("--json", out.json);
  where(train);
  seed(train);

  auto* const losses =
      verb("losses", "a line a record: its loss, and whether the answer is the likeliest");
  model(losses);
  records(losses);
  where(losses);
  losses->add_flag("--json", out.json, "the means alone, as JSON");

  auto* const exposure = verb("exposure", "how much the model tells of planted canaries, in bits");
  model(exposure);
  exposure
      ->add_option("CANARIES", out.records,
                   "the record that was planted, then the others that might have been")
      ->required();
  exposure->add_option("--candidates", out.candidates, "lines a canary")
      ->check(CLI::Range(2, 1'000'000));
  where(exposure);

  auto* const replay =
      verb("replay", "the tuned model again, from the first one and the transcript");
  model(replay);
  replay->add_option("TRANSCRIPT", out.transcript)->required();
  result(replay);

  try {
    app.parse(count, words);
  } catch (CLI::ParseError const& error) {
    if (error.get_exit_code() != 0) throw std::invalid_argument(error.what());
    app.exit(error);  // help, as it was asked for
    return out;
  }
  out.verb = app.get_subcommands().front()->get_name();
  if (inner->empty()) out.shape.inner = 4 * out.shape.width;
  if (out.bfloat16) out.shape.type = tacit::element_type::bf16;
  how.seed = out.open.seed = out.seed;
  int const threads = out.where.threads;
  bool const tf32 = out.where.tf32;
  out.where = place::named(device);
  out.where.threads = threads;
  out.where.tf32 = tf32;
  return out;
}
