#ifndef RUBATO_EXAMPLES_SUPPORT_REGULAR_FILE_HPP
#define RUBATO_EXAMPLES_SUPPORT_REGULAR_FILE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <rubato/core/result.hpp>
#include <rubato/io/regular_file.hpp>
#include <span>
#include <string>
#include <utility>

#include "user_error.hpp"

namespace rubato::support {

/// A rubato::regular_file that throws.
///
/// Errors  user_error that begins with FILE: it is none, cannot be opened, or cannot be read
/// Tests   tests/examples/regular_file_test.cpp
class regular_file {
 public:
  explicit regular_file(const std::filesystem::path& file) : name_{file.string()}, file_{opened(name_)} {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Fills `to` as far as the file goes and returns the number of bytes read. What is added to the file later, a later
  /// call reads.
  [[nodiscard]] std::size_t read(std::span<char> to) {
    const result<std::size_t> got = file_.read(std::as_writable_bytes(to));
    if (!got) throw user_error{name_ + ": cannot be read: " + got.error().message};
    return *got;
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
    const result<std::uint64_t> size = file_.size();
    const bool large = size && *size > most;
    std::string all = large ? std::string{} : text(most + 1);
    if (large || all.size() > most)
      throw user_error{name_ + ": found more than " + std::to_string(most) + " bytes, expected at most that"};
    return all;
  }

 private:
  [[nodiscard]] static rubato::regular_file opened(const std::string& name) {
    result<rubato::regular_file> file = rubato::regular_file::open(name);
    if (file) return *std::move(file);
    throw user_error{name + ": " + (file.error().code == errc::io ? "cannot be opened: " : "") + file.error().message};
  }

  std::string name_;
  rubato::regular_file file_;
};

}  // namespace rubato::support

#endif
