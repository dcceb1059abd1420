#ifndef RUBATO_IO_REGULAR_FILE_HPP
#define RUBATO_IO_REGULAR_FILE_HPP

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "../core/result.hpp"
#include "errno_text.hpp"

namespace rubato::inline RUBATO_ABI {

/// A regular file, read from front to back. A pipe, which would have its reader wait, and a device, which may have no
/// end, are refused unread, as is a directory.
///
///     result<regular_file> file = regular_file::open(path);
///     if (!file) return complain(path + ": " + file.error().message);
///
/// Errors  messages are the reason alone, without the path: wrong_kind, "found a directory, expected a regular file";
///         io, what the system says
/// Cost    a system call each, no buffer. POSIX systems. Not thread-safe.
/// Tests   tests/io/regular_file_test.cpp: NobodyWaitsForPipesNorReadsDevices, ReadsAsFarAsTheFileGoes,
///         WhatIsAddedLaterIsReadLater, KeepsNoDescriptor
class regular_file {
 public:
  /// The file at this path, before its first byte. The path is not kept.
  [[nodiscard]] static result<regular_file> open(const std::string& path) {
    // Without O_NONBLOCK the opening of a pipe waits for somebody who writes.
    regular_file file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    struct stat about {};
    if (file.descriptor_ < 0 || ::fstat(file.descriptor_, &about) != 0) return error{errc::io, errno_text(errno)};
    if (!S_ISREG(about.st_mode))
      return error{errc::wrong_kind, std::string{"found a "} +
                                         (S_ISDIR(about.st_mode) ? "directory" : "device or pipe") +
                                         ", expected a regular file"};
    return file;
  }

  /// Takes over the file: nothing may be asked of `other` any more.
  regular_file(regular_file&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
  /// Likewise, and closes its own.
  regular_file& operator=(regular_file&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~regular_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// Bytes that it has by now.
  [[nodiscard]] std::uint64_t size() const noexcept {
    struct stat about {};
    return ::fstat(descriptor_, &about) == 0 ? static_cast<std::uint64_t>(about.st_size) : 0;
  }

  /// Fills `to` as far as the file goes; the number of bytes read.
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> to) {
    std::size_t done = 0;
    while (done < to.size()) {
      const auto count = ::read(descriptor_, to.data() + done, to.size() - done);
      if (count == 0) break;
      if (count > 0)
        done += static_cast<std::size_t>(count);
      else if (errno != EINTR)
        return error{errc::io, errno_text(errno)};
    }
    return done;
  }

 private:
  explicit regular_file(int descriptor) noexcept : descriptor_{descriptor} {}

  int descriptor_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
