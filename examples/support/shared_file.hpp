#ifndef RUBATO_EXAMPLES_SUPPORT_SHARED_FILE_HPP
#define RUBATO_EXAMPLES_SUPPORT_SHARED_FILE_HPP

#include <cstddef>
#include <filesystem>
#include <span>

namespace rubato::support {

/// A file as memory that several processes share: what one writes the others see. Errors: std::system_error.
/// Tests   tests/examples/shared_file_test.cpp
class shared_file {
 public:
  /// Makes the file, which must not be there, of so many zeros; at least 1.
  [[nodiscard]] static shared_file make(const std::filesystem::path&, std::size_t size);
  [[nodiscard]] static shared_file open(const std::filesystem::path&);
  shared_file(shared_file&&) noexcept;
  shared_file& operator=(shared_file&&) = delete;
  ~shared_file();

  /// Begins at the start of a page.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  explicit shared_file(std::span<std::byte> mapped) noexcept : bytes_{mapped} {}
  std::span<std::byte> bytes_;
};

}  // namespace rubato::support

#endif
