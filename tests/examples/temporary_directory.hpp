#ifndef RUBATO_TESTS_EXAMPLES_TEMPORARY_DIRECTORY_HPP
#define RUBATO_TESTS_EXAMPLES_TEMPORARY_DIRECTORY_HPP

#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::test {

using bytes = std::vector<std::uint8_t>;

/// A fresh directory that goes with the object.
class temporary_directory {
 public:
  temporary_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "rubato-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"mkdtemp failed"};
    path_ = name;
  }
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  void write(const std::string& name, std::string_view content) const {
    std::ofstream{path_ / name, std::ios::binary}.write(content.data(), static_cast<std::streamsize>(content.size()));
  }
  void write(const std::string& name, const bytes& content) const {
    write(name, std::string{content.begin(), content.end()});
  }

 private:
  std::filesystem::path path_;
};

/// The message of the user_error that `action` ends with; "" if it ends well.
template <class Error, class Action>
[[nodiscard]] std::string message_of(Action&& action) {
  try {
    static_cast<void>(action());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace rubato::test

#endif
