// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/file_facts.hpp>
#include <tacit/core/open_file.hpp>
#include <tacit/core/private_file.hpp>
#include <tacit/core/run_owner.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/core/wipe.hpp>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace tacit {

/// A run that outlives its process: every step stores the mechanism's state before it returns.
///
///     saved_run run(paczero(options, candidates), "run.state");   // new
///     auto run = saved_run<paczero<>>::resume("run.state");       // after a crash, or on another day
///     auto run = saved_run<paczero<>>::resume_or_start("run.state", [&] { return paczero(…); });
///     while (!run.done()) publish(run.step(scalars));
///     run->spent();                                               // the mechanism, as a constant
///
/// Guarantee: charge and release are on disk together before a release is returned, so that no
/// release is published that the file does not know of. The file holds the secret: it is readable by
/// its owner only and is no part of what is published. One run at a time writes a state, by a lock
/// that ends with its process; a run whose state was moved away or given a second name, or whose lock was
/// removed, releases nothing more; no file that is already there is overwritten by a new run, and a run
/// that moves to another file leaves none behind. A copy of the file defeats this: resuming both copies
/// spends the same budget twice.
///
/// `about`, one word such as a digest of the data, says what the run belongs to. It is stored with the
/// state, which resumes only with the same word.
///
/// The mechanism has
///   state            an aggregate: `kind` (a word), `version`, and one function of all its fields,
///                     `fields(archive, self)`, which writes them to an archive_writer and reads them
///                     from an archive_reader
///   save()           its state; throws std::logic_error where the run may not be spent: moved from, or
///                     in a forked process
///   restore(state)   static; throws std::logic_error for a state that no run has
///   summary_of(state)   static; for `summary`, if there is to be one: a value without the secret
/// all of which may be private, with `friend class saved_run<Mechanism>`.
template <class Mechanism>
class saved_run {
 public:
  /// Stores the run now, and at each step from now on.
  /// @throws std::system_error if there is a file that is not empty, it cannot be written, or another
  ///         run writes it; std::invalid_argument if `about` is not one word; std::logic_error if the
  ///         mechanism was moved from, or in a forked process
  saved_run(Mechanism mechanism, file_path const& file, std::string about = {})
      : saved_run(std::move(mechanism), detail::files::canonical(file), std::move(about), {}) {
    start();
  }

  /// Goes on with a stored run: the same secret, belief, account and stream. The last stored release
  /// may not have been published before a crash: the mechanism's transcript has it, and publishing
  /// that same release (never a new one) is what keeps the charge right. A run that is done resumes
  /// as well, for what it released.
  /// @throws corrupt_state for a damaged, truncated or foreign file, which is left as it was;
  ///         std::system_error if there is no such file, it has a second name (a hard link, which would
  ///         remain a copy), or another run writes it; std::invalid_argument if it is about something
  ///         else
  [[nodiscard]] static saved_run resume(file_path const& file, std::string about = {}) {
    file_path path = detail::files::canonical(file);
    file_lock lock(path);
    return resumed(std::move(path), std::move(about), std::move(lock));
  }

  /// Resumes the run in `file`, or starts the one that `make()` returns where there is none, or an
  /// empty file.
  /// @throws as both
  template <class Make>
  [[nodiscard]] static saved_run resume_or_start(file_path const& file, Make&& make,
                                                 std::string about = {}) {
    file_path path = detail::files::canonical(file);
    file_lock lock(path);
    if (present(path)) return resumed(std::move(path), std::move(about), std::move(lock));
    saved_run out(std::forward<Make>(make)(), std::move(path), std::move(about), std::move(lock));
    out.start();
    return out;
  }

  /// What `use` returns for a stored mechanism, which it gets as a constant; the file stays as it is.
  /// @throws as `resume`, and what `use` throws
  template <class Use>
  [[nodiscard]] static auto inspect(file_path const& file, Use&& use) {
    file_path const path = detail::files::canonical(file);
    file_lock const lock(path);  // not while a run writes it
    Mechanism const found = restored(parsed(read_file(path)));
    return std::forward<Use>(use)(found);
  }

  /// The summary of a stored run, which leaves out its secret, and what the run is about. Takes no more
  /// memory than the file does: `resume` and `inspect` take what a run of this size needs, which a hostile
  /// state may say to be much. The file stays as it is.
  /// @throws as `resume`
  [[nodiscard]] static auto summary(file_path const& file) requires
      requires(typename Mechanism::state const& fields) {
    Mechanism::summary_of(fields);
  }
  {
    file_path const path = detail::files::canonical(file);
    file_lock const lock(path);
    stored found = parsed(read_file(path));
    return std::pair(or_corrupt([&] { return Mechanism::summary_of(found.fields); }),
                     std::move(found.about));
  }

  /// From now on the run is stored in `file`, on the same volume, and is once now. The state in the
  /// old file moves.
  /// @throws std::system_error if there is a file that is not empty, the state cannot be moved there or
  ///         not be written, or another run writes it; std::logic_error in a forked process
  void save_to(file_path const& file) {
    owner_.check(who);
    file_path path = detail::files::canonical(file);
    if (path != path_) {
      file_lock lock(path);
      make_room(path);
      must_be_alone();
      if (!detail::files::rename_new(path_, path)) {
        detail::fail_file(who, "cannot move the state to", path);
      }
      lock_ = std::move(lock);
      path_.swap(path);
      // The new name is on disk before the old one is gone, and the old one gone before the state changes.
      if (detail::files::folder_of(path) != detail::files::folder_of(path_)) {
        detail::flush_folder_of(path_, who);
        detail::flush_folder_of(path, who);
      }
    }
    store();
  }

  /// From now on the run is about this, one word, and resumes with it alone.
  /// @throws std::invalid_argument unless it is one word; std::system_error if it cannot be stored;
  ///         std::logic_error in a forked process
  void bind_to(std::string about) {
    owner_.check(who);
    check_word(about);
    if (about == about_) return;
    about_ = std::move(about);
    store();
  }

  /// Whether the state is still this run's alone, which every step looks at by itself.
  /// @throws as `step`; this object is of no further use then
  void check() {
    check_alive();
    ended_ = true;
    must_be_alone();
    ended_ = false;
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
    check_alive();
    auto released = mechanism_.step(std::forward<Input>(input)...);
    store();
    return released;
  }

 private:
  using state = typename Mechanism::state;

  static constexpr std::string_view who = "saved_run";

  struct stored {
    state fields{};
    std::string about;
  };

  // Without a lock it takes one.
  saved_run(Mechanism&& mechanism, file_path&& path, std::string&& about,
            std::optional<file_lock> lock)
      : mechanism_(std::move(mechanism)),
        path_(std::move(path)),
        about_(std::move(about)),
        lock_(lock ? *std::move(lock) : file_lock(path_)) {
    check_word(about_);
  }

  static void check_word(std::string const& about) {
    detail::require_argument(about.find_first_of(" \n") == std::string::npos, who, "about", about,
                             "one word");
  }

  static saved_run resumed(file_path&& path, std::string&& about, file_lock&& lock) {
    remove_unfinished(path);
    input_file file(path, input_file::usual_limit, who);
    if (file.names() > 1) fail_names(path);
    stored found = parsed(file.text());
    detail::require_argument(found.about == about, who, "about", about,
                             found.about + ", as in the state");
    saved_run out(restored(std::move(found)), std::move(path), std::move(about), std::move(lock));
    out.now_ = std::move(file).known();
    return out;
  }

  // The next replacement of the state would leave another name with the old state: a copy.
  [[noreturn]] static void fail_names(file_path const& path) {
    detail::fail_file(who, "remove all names but one of", path, std::errc::too_many_links);
  }

  // Whether there is anything but an empty file.
  static bool present(file_path const& path) {
    auto const facts = detail::files::look(path);
    return facts && !(facts->regular && facts->size == 0);
  }

  // An empty file, such as mktemp makes, is a placeholder. A link that leads nowhere is none: it stays, and
  // nothing can be made in its place.
  static void make_room(file_path const& path) {
    if (present(path)) detail::fail_file(who, "there is already", path, std::errc::file_exists);
    if (detail::files::look(path) && !detail::files::remove(path)) {
      detail::fail_file(who, "cannot remove", path);
    }
  }

  void start() {
    remove_unfinished(path_);
    make_room(path_);
    write([](output_file& file) { file.place(); });
  }

  void check_alive() const {
    owner_.check(who);
    if (ended_) {
      throw std::logic_error("saved_run: its state could not be stored, or was not its own alone");
    }
  }

  // A state that was moved away, also for a while, or that has a second name, or whose lock was removed, may be resumed by
  // another run. Between this look and what follows there is a moment in which that can happen unseen.
  void must_be_alone() const {
    auto const facts = detail::files::look(path_);
    if (!facts) detail::fail_file(who, "somebody moved or removed", path_);
    if (now_ && !now_->is(*facts)) {
      detail::fail_file(who, "somebody replaced", path_, std::errc::file_exists);
    }
    if (facts->names > 1) fail_names(path_);
    lock_.check(who);
  }

  void store() {
    write([this](output_file& file) { file.replace([this] { must_be_alone(); }); });
  }

  // If it fails, this object is of no further use.
  template <class TakePlace>
  void write(TakePlace&& take_place) {
    ended_ = true;
    output_file file(path_, readers::owner, who);
    file.write(text().is);
    take_place(file);
    now_ = std::move(file).known();
    ended_ = false;
  }

  // With the secret in it.
  struct secret_text {
    std::string is;
    explicit secret_text(std::string&& text) : is(std::move(text)) {}
    secret_text(secret_text const&) = delete;
    secret_text& operator=(secret_text const&) = delete;
    ~secret_text() { detail::wipe(is); }
  };

  secret_text text() {
    state const now = mechanism_.save();
    archive_writer out(state::kind, state::version);
    state::fields(out, now);
    if (!about_.empty()) out.field("about", about_);
    return secret_text(std::move(out).finish());
  }

  static stored parsed(std::string text) {
    archive_reader in(std::move(text), state::kind, state::version);
    stored out;
    state::fields(in, out.fields);
    if (in.has_more()) in.field("about", out.about);
    in.finish();
    return out;
  }

  static Mechanism restored(stored&& found) {
    return or_corrupt([&] { return Mechanism::restore(std::move(found.fields)); });
  }

  // Restores from a text that passed its checksum, whose fields may still make no sense.
  template <class Make>
  static auto or_corrupt(Make&& make) {
    try {
      return make();
    } catch (std::logic_error const& error) {
      throw corrupt_state(error.what());
    }
  }

  Mechanism mechanism_;
  file_path path_;
  std::string about_;
  file_lock lock_;
  detail::run_owner owner_;
  std::optional<detail::known_file> now_;  // what has this name since it was last stored or read
  bool ended_ = false;
};

}  // namespace tacit
