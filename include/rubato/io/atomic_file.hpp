#ifndef RUBATO_IO_ATOMIC_FILE_HPP
#define RUBATO_IO_ATOMIC_FILE_HPP

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "../core/result.hpp"
#include "byte_sink.hpp"
#include "errno_text.hpp"

namespace rubato::inline RUBATO_ABI {

/// A file that appears complete or not at all: a byte sink that writes to a temporary file beside it, which commit()
/// flushes to the disk and renames.
///
///     result<atomic_file> file = atomic_file::create("out/run.jsonl");
///     (*file)("first line\n");
///     if (auto done = file->commit(); !done) complain(done.error().message);
///
/// Until commit() succeeds, a file that was there before keeps its content; destruction without it, or a failure,
/// removes the temporary. A file that is replaced keeps its permissions, and a symbolic link to a file keeps pointing
/// where it does; one to nothing is replaced by the file.
/// Errors  io, naming the file and the system's reason. Writes remember their first error for commit().
/// Cost    one buffer of 64 KiB. POSIX systems. Not thread-safe.
/// Tests   tests/io/atomic_file_test.cpp: NothingBeforeCommit, FailureLeavesTheOldFile, KeepsPermissions, FollowsLinks
class atomic_file {
 public:
  /// Opens the temporary file. The folder must exist, and `path` name a regular file or nothing yet.
  [[nodiscard]] static result<atomic_file> create(std::string path) {
    struct stat old {};
    const bool replaces = ::stat(path.c_str(), &old) == 0;
    if (replaces && !S_ISREG(old.st_mode)) return failure("cannot write " + path + ": not a regular file");
    if (replaces) path = target_of(std::move(path));

    for (std::uint32_t attempt = 0; attempt < attempts; ++attempt) {
      std::string temporary = path + '.' + std::to_string(::getpid()) + '.' + std::to_string(attempt) + ".tmp";
      const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor < 0 && errno == EEXIST) continue;  // of another atomic_file of this process, or left behind
      if (descriptor < 0) return failure("cannot create " + path + ": " + errno_text(errno));
      if (replaces) static_cast<void>(::fchmod(descriptor, old.st_mode & 07777));
      return atomic_file{std::move(path), std::move(temporary), descriptor};
    }
    return failure("cannot create " + path + ": " + std::to_string(attempts) + " of its temporary files exist already");
  }

  /// Takes over the temporary; nothing may be written to or committed by `other` any more.
  atomic_file(atomic_file&& other) noexcept
      : path_{std::move(other.path_)}, temporary_{std::exchange(other.temporary_, {})},
        buffer_{std::move(other.buffer_)}, descriptor_{std::exchange(other.descriptor_, -1)},
        written_{other.written_}, error_{other.error_} {}
  /// Likewise, and gives up the file of its own as destruction does.
  atomic_file& operator=(atomic_file&& other) noexcept {
    if (this == &other) return *this;
    discard();
    path_ = std::move(other.path_);
    temporary_ = std::exchange(other.temporary_, {});
    buffer_ = std::move(other.buffer_);
    descriptor_ = std::exchange(other.descriptor_, -1);
    written_ = other.written_;
    error_ = other.error_;
    return *this;
  }
  ~atomic_file() { discard(); }

  /// Appends bytes.
  void operator()(std::string_view bytes) noexcept {
    written_ += bytes.size();
    if (bytes.size() > buffer_size - buffer_.size()) drain();
    if (bytes.size() > buffer_size)
      put(bytes);
    else
      buffer_.append(bytes);  // fits in what was reserved
  }

  /// Puts the file in its place; the number of bytes in it. Once only, and nothing may be written afterwards.
  result<std::uint64_t> commit() {
    drain();
    if (error_ == 0 && ::fsync(descriptor_) != 0) error_ = errno;
    if (descriptor_ >= 0 && ::close(std::exchange(descriptor_, -1)) != 0 && error_ == 0) error_ = errno;
    if (error_ == 0 && std::rename(temporary_.c_str(), path_.c_str()) != 0) error_ = errno;
    if (error_ != 0) {
      if (!temporary_.empty()) ::unlink(temporary_.c_str());
      temporary_.clear();
      return failure("cannot write " + path_ + ": " + errno_text(error_));
    }
    temporary_.clear();
    sync_folder();
    return written_;
  }

  /// What commit() renames to: the target, if create() was given a symbolic link.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  static constexpr std::size_t buffer_size = std::size_t{1} << 16;
  static constexpr std::uint32_t attempts = 100;

  atomic_file(std::string path, std::string temporary, int descriptor)
      : path_{std::move(path)}, temporary_{std::move(temporary)}, descriptor_{descriptor} {
    buffer_.reserve(buffer_size);
  }

  [[nodiscard]] static error failure(std::string message) { return {errc::io, std::move(message)}; }

  // What a symbolic link points to: renaming onto the link itself would replace it.
  [[nodiscard]] static std::string target_of(std::string path) {
    char* real = ::realpath(path.c_str(), nullptr);
    if (real != nullptr) path = real;
    std::free(real);
    return path;
  }

  void drain() noexcept {
    put(buffer_);
    buffer_.clear();
  }

  void put(std::string_view bytes) noexcept {
    if (descriptor_ < 0 && error_ == 0) error_ = EBADF;
    while (!bytes.empty() && error_ == 0) {
      const auto count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count >= 0)
        bytes.remove_prefix(static_cast<std::size_t>(count));
      else if (errno != EINTR)
        error_ = errno;
    }
  }

  // The new name is on the disk only when the folder is; a file system that cannot do that is left alone.
  void sync_folder() const {
    const std::size_t slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    static_cast<void>(::fsync(descriptor));
    ::close(descriptor);
  }

  void discard() noexcept {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
  }

  std::string path_;
  std::string temporary_;  // empty: renamed or removed
  std::string buffer_;
  int descriptor_ = -1;
  std::uint64_t written_ = 0;
  int error_ = 0;  // the first errno; 0: none
};

/// Writes a whole file in one go, complete or not at all; the number of bytes in it.
inline result<std::uint64_t> write_file(std::string path, std::string_view bytes) {
  result<atomic_file> file = atomic_file::create(std::move(path));
  if (!file) return file.error();
  (*file)(bytes);
  return file->commit();
}

}  // namespace rubato::inline RUBATO_ABI

#endif
