// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/private_file.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/mechanism/run_owner.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace tacit {

/// A run that outlives its process: every step stores the mechanism's state before it returns.
///
///     saved_run run(paczero(options, candidates), "run.state");   // new
///     auto run = saved_run<paczero<>>::resume("run.state");       // after a crash, or on another day
///     while (!run.done()) publish(run.step(scalars));
///     run->spent();                                               // the mechanism, as a constant
///
/// Guarantee: charge and release are on disk together before a release is returned, so that no
/// release is published that the file does not know of. The file holds the secret: it is readable by
/// its owner only and is no part of what is published. One state resumes once, and a run that moves
/// to another file leaves none behind.
///
/// The mechanism has
///   state            an aggregate: `kind` (a word), `version`, and one function of all its fields,
///                     `fields(archive, self)`, which writes them to an archive_writer and reads them
///                     from an archive_reader
///   save()           its state; throws std::logic_error where the run may not be spent: moved from, or
///                     in a forked process
///   restore(state)   static; throws std::logic_error for a state that no run has
/// all of which may be private, with `friend class saved_run<Mechanism>`.
template <class Mechanism>
class saved_run {
 public:
  /// Stores the run now, and at each step from now on.
  /// @throws std::system_error if the file cannot be written, or another run writes it;
  ///         std::logic_error if the mechanism was moved from, or in a forked process
  saved_run(Mechanism mechanism, file_path const& file)
      : mechanism_(std::move(mechanism)), path_(canonical(file)), lock_(path_) {
    store();
  }

  /// Goes on with a stored run: the same secret, belief, account and stream. Claims the file, so that
  /// one state resumes once; the next step writes `file` again. The last stored release may not have
  /// been published before a crash: the mechanism's transcript has it, and publishing that same
  /// release (never a new one) is what keeps the charge right.
  /// @throws corrupt_state for a damaged, truncated or foreign file, which is left as it was;
  ///         std::system_error if there is no such file, it was claimed before, or its writer lives
  [[nodiscard]] static saved_run resume(file_path const& file) {
    file_path path = canonical(file);
    file_lock lock(path);
    file_path claimed = claim_file(path);
    try {
      Mechanism mechanism = parsed(read_file(claimed));
      return {std::move(mechanism), std::move(path), std::move(lock), std::move(claimed)};
    } catch (...) {
      unclaim_file(claimed, path);
      throw;
    }
  }

  /// What `use` returns for a stored mechanism, which it gets as a constant; the file stays as it is.
  /// @throws as `resume`, and what `use` throws
  template <class Use>
  [[nodiscard]] static auto inspect(file_path const& file, Use&& use) {
    file_path const path = canonical(file);
    file_lock const lock(path);  // not while a run writes it
    Mechanism const stored = parsed(read_file(path));
    return std::forward<Use>(use)(stored);
  }

  /// From now on the run is stored in `file`, and is once now. The state in the old file moves.
  /// @throws std::system_error if the file cannot be written or the old one not moved, or another run
  ///         writes it; std::logic_error in a forked process
  void save_to(file_path const& file) {
    owner_.check("saved_run");
    file_path path = canonical(file);
    if (path != path_) {
      file_lock lock(path);
      if (!detail::files::replace(path, claimed_.empty() ? path_ : claimed_)) {
        detail::fail_file("saved_run", "cannot move the state to", path);
      }
      claimed_.clear();
      lock_ = std::move(lock);
      path_ = std::move(path);
    }
    store();
  }

  [[nodiscard]] Mechanism const& operator*() const noexcept { return mechanism_; }
  [[nodiscard]] Mechanism const* operator->() const noexcept { return &mechanism_; }

  // ---- as a mechanism ---------------------------------------------------------------------------

  [[nodiscard]] std::size_t records() const { return mechanism_.records(); }
  [[nodiscard]] std::size_t steps() const { return mechanism_.steps(); }
  [[nodiscard]] bool done() const { return mechanism_.done(); }
  [[nodiscard]] std::size_t directions() const requires requires(Mechanism const& m) {
    m.directions();
  }
  { return mechanism_.directions(); }
  [[nodiscard]] std::size_t dimension() const requires requires(Mechanism const& m) {
    m.dimension();
  }
  { return mechanism_.dimension(); }
  [[nodiscard]] auto transcript() const requires requires(Mechanism const& m) { m.transcript(); }
  { return mechanism_.transcript(); }

  /// The mechanism's step, stored.
  /// @throws what the mechanism throws; std::logic_error in a forked process; std::system_error if the
  ///         state cannot be stored: nothing was published then, this object is of no further use, and
  ///         `resume` takes the step again from the file, coins and all
  template <class... Input>
  auto step(Input&&... input) requires requires(Mechanism& m) {
    m.step(std::forward<Input>(input)...);
  }
  {
    owner_.check("saved_run");
    if (unstored_) throw std::logic_error("saved_run: the last step could not be stored");
    auto released = mechanism_.step(std::forward<Input>(input)...);
    store();
    return released;
  }

 private:
  using state = typename Mechanism::state;

  saved_run(Mechanism&& mechanism, file_path&& path, file_lock&& lock, file_path&& claimed)
      : mechanism_(std::move(mechanism)),
        path_(std::move(path)),
        claimed_(std::move(claimed)),
        lock_(std::move(lock)) {}

  static file_path canonical(file_path const& file) { return detail::files::canonical(file); }

  void store() {
    unstored_ = true;
    state const now = mechanism_.save();
    archive_writer out(state::kind, state::version);
    state::fields(out, now);
    write_private_file(path_, std::move(out).finish());
    unstored_ = false;
    if (!claimed_.empty() && !detail::files::remove(std::exchange(claimed_, {}))) {
      detail::fail_file("saved_run", "cannot remove the claim of", path_);
    }
  }

  static Mechanism parsed(std::string text) {
    archive_reader in(std::move(text), state::kind, state::version);
    state stored{};
    state::fields(in, stored);
    in.finish();
    // A text that passed its checksum and still makes no sense.
    try {
      return Mechanism::restore(std::move(stored));
    } catch (std::logic_error const& error) {
      throw corrupt_state(error.what());
    }
  }

  Mechanism mechanism_;
  file_path path_;
  file_path claimed_;
  file_lock lock_;
  detail::run_owner owner_;
  bool unstored_ = false;
};

}  // namespace tacit
