#ifndef RUBATO_EXAMPLES_SUPPORT_REGULAR_FILE_HPP
#define RUBATO_EXAMPLES_SUPPORT_REGULAR_FILE_HPP

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <rubato/io/errno_text.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "user_error.hpp"

namespace rubato::support {

/// A regular file, read from front to back. A pipe, which would have its reader wait, and a device, which may have no
/// end, are refused unread, as is a directory.
///
/// Errors  user_error that begins with FILE: it is none, cannot be opened, or cannot be read
/// Tests   tests/examples/regular_file_test.cpp
class regular_file {
 public:
  explicit regular_file(const std::filesystem::path& file, std::string_view expected = "a regular file")
      : name_{file.string()},
        // Without O_NONBLOCK the opening of a pipe waits for somebody who writes.
        descriptor_{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)} {
    struct stat about {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &about) != 0) fail("cannot be opened: " + errno_text(errno));
    if (!S_ISREG(about.st_mode))
      fail(std::string{S_ISDIR(about.st_mode) ? "found a directory" : "found no regular file"} + ", expected " +
           std::string{expected});
  }
  ~regular_file() { close(); }
  regular_file(regular_file&& other) noexcept
      : name_{std::move(other.name_)}, descriptor_{std::exchange(other.descriptor_, -1)} {}
  regular_file& operator=(regular_file&&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Fills `to` as far as the file goes and returns the number of bytes read. What is added to the file later, a later
  /// call reads.
  [[nodiscard]] std::size_t read(std::span<char> to) {
    std::size_t done = 0;
    while (done < to.size()) {
      const auto got = ::read(descriptor_, to.data() + done, to.size() - done);
      if (got == 0) break;
      if (got > 0)
        done += static_cast<std::size_t>(got);
      else if (errno != EINTR)
        fail("cannot be read: " + errno_text(errno));
    }
    return done;
  }

  /// The next bytes, at most so many. Memory grows with the bytes that are there.
  [[nodiscard]] std::string text(std::size_t most) {
    constexpr std::size_t step = std::size_t{1} << 16;
    std::string all;
    while (all.size() < most) {
      const std::size_t before = all.size(), wanted = std::min(step, most - before);
      all.resize(before + wanted);
      const std::size_t got = read(std::span{all}.subspan(before));
      all.resize(before + got);
      if (got < wanted) break;
    }
    return all;
  }

  /// All the bytes that follow. Refused are more than `most`, unread where the file's size tells.
  [[nodiscard]] std::string content(std::size_t most) {
    struct stat about {};
    const bool large = ::fstat(descriptor_, &about) == 0 && static_cast<std::uintmax_t>(about.st_size) > most;
    std::string all = large ? std::string{} : text(most + 1);
    if (large || all.size() > most) fail("found more than " + std::to_string(most) + " bytes, expected at most that");
    return all;
  }

 private:
  // Of a constructor, too: then nobody else closes it.
  [[noreturn]] void fail(const std::string& what) {
    close();
    throw user_error{name_ + ": " + what};
  }
  void close() noexcept {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

  std::string name_;
  int descriptor_;
};

}  // namespace rubato::support

#endif
