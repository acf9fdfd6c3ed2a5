// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(_WIN32)

#include <tacit/core/file_facts.hpp>
#include <tacit/core/windows.hpp>

#include <bcrypt.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace tacit::detail {

/// What core/private_file.hpp asks of the operating system; see `posix_files`. The differences: a
/// state file is private by an access list that admits one user alone; a lock is not inherited by
/// children; names are made durable by MOVEFILE_WRITE_THROUGH and the file system's own journal, as
/// Windows flushes no folder.
struct windows_files {
  using handle = HANDLE;
  inline static handle const none = INVALID_HANDLE_VALUE;
  using path = std::filesystem::path;

  [[nodiscard]] static std::string text(path const& file) { return file.string(); }
  static constexpr char const* separators = "/\\";
  [[nodiscard]] static path folder_of(path const& file) {
    return file.has_parent_path() ? file.parent_path() : path(".");
  }
  [[nodiscard]] static path canonical(path const& file) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(file));
  }
  [[nodiscard]] static std::vector<path> names_in(path const& folder) {
    std::vector<path> names;
    std::error_code none;
    for (auto const& entry : std::filesystem::directory_iterator(folder, none)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  static bool unforeseen(std::uint64_t& bits) noexcept {
    return ::BCryptGenRandom(nullptr, reinterpret_cast<UCHAR*>(&bits), sizeof bits,
                             BCRYPT_USE_SYSTEM_PREFERRED_RNG) >= 0;
  }

  static handle open_to_read(path const& file) noexcept {
    return ::CreateFileW(file.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr,
                         OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  }
  // Renamed or removed while it is open, which Windows refuses without FILE_SHARE_DELETE.
  static handle create(path const& file, bool owner_only) noexcept {
    if (owner_only) return open_private(file, GENERIC_WRITE, FILE_SHARE_DELETE, CREATE_NEW);
    return ::CreateFileW(file.c_str(), GENERIC_WRITE, FILE_SHARE_DELETE, nullptr, CREATE_NEW,
                         FILE_ATTRIBUTE_NORMAL, nullptr);
  }
  static handle open_to_lock(path const& file) noexcept {
    return open_private(file, GENERIC_READ | GENERIC_WRITE,
                        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, OPEN_ALWAYS);
  }
  static handle open_to_append(path const& file) noexcept {
    handle const opened = refuse_link(
        ::CreateFileW(file.c_str(), GENERIC_WRITE, FILE_SHARE_READ, nullptr, OPEN_EXISTING,
                      FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
    if (opened != none && !seek(opened, 0, FILE_END)) return give_up(opened);
    return opened;
  }
  static void close(handle file) noexcept { ::CloseHandle(file); }

  static bool lock(handle file) noexcept {
    OVERLAPPED from_start{};
    return ::LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
                        &from_start) != 0;
  }
  static bool held_elsewhere(std::error_code reason) noexcept {
    return reason.value() == ERROR_LOCK_VIOLATION;
  }

  static std::ptrdiff_t read(handle file, char* to, std::size_t size) noexcept {
    DWORD count = 0;
    if (::ReadFile(file, to, at_once(size), &count, nullptr) == 0) return -1;
    return static_cast<std::ptrdiff_t>(count);
  }
  static std::ptrdiff_t write(handle file, char const* from, std::size_t size) noexcept {
    DWORD count = 0;
    if (::WriteFile(file, from, at_once(size), &count, nullptr) == 0) return -1;
    return static_cast<std::ptrdiff_t>(count);
  }
  static bool flush(handle file) noexcept { return ::FlushFileBuffers(file) != 0; }

  static constexpr bool gives_numbers_again = false;

  static std::optional<file_facts> look(handle file) noexcept {
    BY_HANDLE_FILE_INFORMATION about{};
    if (::GetFileInformationByHandle(file, &about) == 0) return std::nullopt;
    bool const regular = ::GetFileType(file) == FILE_TYPE_DISK &&
                         (about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
    return file_facts{regular, joined(about.nFileSizeHigh, about.nFileSizeLow),
                      about.nNumberOfLinks, about.dwVolumeSerialNumber,
                      joined(about.nFileIndexHigh, about.nFileIndexLow)};
  }
  static std::optional<file_facts> look(path const& file) noexcept {
    handle const opened =
        ::CreateFileW(file.c_str(), 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                      nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
    if (opened == none) return std::nullopt;
    std::optional<file_facts> const found = look(opened);
    close(opened);
    return found;
  }
  static bool truncate(handle file, std::uint64_t size) noexcept {
    return seek(file, size, FILE_BEGIN) && ::SetEndOfFile(file) != 0;
  }

  static bool rename_new(path const& file, path const& name) noexcept {
    return ::MoveFileExW(file.c_str(), name.c_str(), MOVEFILE_WRITE_THROUGH) != 0;
  }
  static bool replace(path const& file, path const& by) noexcept {
    return ::MoveFileExW(by.c_str(), file.c_str(),
                         MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) != 0;
  }
  static bool remove(path const& file) noexcept {
    return ::DeleteFileW(file.c_str()) != 0 || ::GetLastError() == ERROR_FILE_NOT_FOUND;
  }
  static bool flush_folder(path const&) noexcept { return true; }

  static std::error_code last_error() noexcept {
    return {static_cast<int>(::GetLastError()), std::system_category()};
  }

 private:
  static std::uint64_t joined(DWORD high, DWORD low) noexcept {
    return (std::uint64_t{high} << 32) | low;
  }

  static DWORD at_once(std::size_t size) noexcept {
    return static_cast<DWORD>(std::min<std::size_t>(size, std::size_t{1} << 30));
  }

  static bool seek(handle file, std::uint64_t distance, DWORD from) noexcept {
    LARGE_INTEGER move{};
    move.QuadPart = static_cast<LONGLONG>(distance);
    return ::SetFilePointerEx(file, move, nullptr, from) != 0;
  }

  static handle give_up(handle file) noexcept {
    DWORD const reason = ::GetLastError();
    close(file);
    ::SetLastError(reason);
    return none;
  }

  static handle refuse_link(handle file) noexcept {
    BY_HANDLE_FILE_INFORMATION about{};
    if (file == none) return none;
    if (::GetFileInformationByHandle(file, &about) == 0) return give_up(file);
    if ((about.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0) return file;
    ::SetLastError(ERROR_CANT_ACCESS_FILE);
    return give_up(file);
  }

  static handle open_private(path const& file, DWORD access, DWORD sharing, DWORD how) noexcept {
    owner_only const rule;
    if (!rule.made) return none;
    SECURITY_ATTRIBUTES attributes{sizeof(SECURITY_ATTRIBUTES), rule.get(), FALSE};
    return refuse_link(::CreateFileW(file.c_str(), access, sharing, &attributes, how,
                                     FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT,
                                     nullptr));
  }

  /// Full access to the user of this process, none to others, and nothing inherited from the folder.
  struct owner_only {
    owner_only() noexcept {
      HANDLE token = nullptr;
      if (::OpenProcessToken(::GetCurrentProcess(), TOKEN_QUERY, &token) == 0) return;
      DWORD size = 0;
      bool const known = ::GetTokenInformation(token, TokenUser, user, sizeof user, &size) != 0;
      ::CloseHandle(token);
      if (!known) return;
      PSID const sid = reinterpret_cast<TOKEN_USER*>(user)->User.Sid;
      auto* const allowed = reinterpret_cast<ACL*>(list);
      made = ::InitializeAcl(allowed, sizeof list, ACL_REVISION) != 0 &&
             ::AddAccessAllowedAce(allowed, ACL_REVISION, FILE_ALL_ACCESS, sid) != 0 &&
             ::InitializeSecurityDescriptor(&descriptor, SECURITY_DESCRIPTOR_REVISION) != 0 &&
             ::SetSecurityDescriptorDacl(&descriptor, TRUE, allowed, FALSE) != 0 &&
             ::SetSecurityDescriptorControl(&descriptor, SE_DACL_PROTECTED, SE_DACL_PROTECTED) != 0;
    }
    [[nodiscard]] void* get() const noexcept {
      return const_cast<SECURITY_DESCRIPTOR*>(&descriptor);
    }

    alignas(void*) BYTE user[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    alignas(void*) BYTE list[sizeof(ACL) + sizeof(ACCESS_ALLOWED_ACE) + SECURITY_MAX_SID_SIZE];
    SECURITY_DESCRIPTOR descriptor{};
    bool made = false;
  };
};

using files = windows_files;

}  // namespace tacit::detail

#endif
