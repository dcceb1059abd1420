#ifndef RUBATO_IO_REGULAR_FILE_HPP
#define RUBATO_IO_REGULAR_FILE_HPP

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "../core/result.hpp"
#include "errno_text.hpp"

namespace rubato::inline RUBATO_ABI {

/// Bytes of a file.
struct file_bytes {
  std::unique_ptr<std::byte[]> data{};                                                           ///< of `size` bytes
  std::size_t size = 0;                                                                          ///< bytes
  [[nodiscard]] std::span<const std::byte> span() const noexcept { return {data.get(), size}; }  ///< all of them
};

/// A regular file, read from front to back. A pipe, which would have its reader wait, and a device, which may have no
/// end, are refused unread, as is a directory.
///
///     result<regular_file> file = regular_file::open(path);
///     if (!file) return complain(path + ": " + file.error().message);
///
/// Errors  messages are the reason alone, without the path: wrong_kind, "found a directory, expected a regular file";
///         io, what the system says
/// Cost    system calls, no buffer. POSIX systems. Not thread-safe.
/// Tests   tests/io/regular_file_test.cpp: NobodyWaitsForPipesNorReadsDevices, ReadsAsFarAsTheFileGoes,
///         WhatIsAddedLaterIsReadLater, KeepsNoDescriptor, ContentIsWholeOrRefused, WhatMemoryCannotHoldIsRefused,
///         OfOtherFilesNoMoreThanTheBeginning
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
    return result<regular_file>{std::move(file)};  // nvcc would copy it
  }

  /// Takes over the file: nothing may be asked of `other` any more.
  regular_file(regular_file&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
  /// Likewise, and closes its own.
  regular_file& operator=(regular_file&& other) noexcept {
    const int taken = std::exchange(other.descriptor_, -1);  // first: `other` may be this one
    close();
    descriptor_ = taken;
    return *this;
  }
  ~regular_file() { close(); }

  /// Bytes that it has by now, read or not.
  [[nodiscard]] result<std::uint64_t> size() const {
    struct stat about {};
    if (::fstat(descriptor_, &about) != 0) return error{errc::io, errno_text(errno)};
    return static_cast<std::uint64_t>(about.st_size);
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

  /// All of a file of which nothing was read yet; of one that does not begin with `begin`, as many bytes as those.
  /// Errors  io, also where it has more bytes than `most`, or than memory holds. Allocates twice at most.
  [[nodiscard]] result<file_bytes> content(std::uint64_t most, std::span<const std::byte> begin = {}) {
    const result<std::uint64_t> all = size();
    if (!all) return all.error();
    const auto first = static_cast<std::size_t>((std::min)(*all, std::uint64_t{begin.size()}));
    result<file_bytes> head = bytes(first);
    if (!head || head->size < begin.size() || !std::ranges::equal(head->span(), begin)) return head;
    if (*all > most)
      return error{errc::io, "found " + std::to_string(*all) + " bytes, expected at most " + std::to_string(most)};
    constexpr std::uint64_t addresses = (std::numeric_limits<std::ptrdiff_t>::max)();
    if (*all > addresses) return out_of_memory(*all);
    return bytes(static_cast<std::size_t>(*all), head->span());
  }

 private:
  // So many bytes, or as many as there are, of which the first were read before.
  [[nodiscard]] result<file_bytes> bytes(std::size_t count, std::span<const std::byte> head = {}) {
    file_bytes all;
    all.data.reset(new (std::nothrow) std::byte[count]);
    if (!all.data) return out_of_memory(count);
    std::ranges::copy(head, all.data.get());
    const result<std::size_t> got = read(std::span{all.data.get() + head.size(), count - head.size()});
    if (!got) return got.error();
    all.size = head.size() + *got;
    return result<file_bytes>{std::move(all)};
  }

  [[nodiscard]] static error out_of_memory(std::uint64_t count) {
    return {errc::io, "no memory for " + std::to_string(count) + " bytes"};
  }

  void close() noexcept {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  explicit regular_file(int descriptor) noexcept : descriptor_{descriptor} {}

  int descriptor_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
