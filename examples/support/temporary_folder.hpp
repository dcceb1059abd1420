#ifndef RUBATO_EXAMPLES_SUPPORT_TEMPORARY_FOLDER_HPP
#define RUBATO_EXAMPLES_SUPPORT_TEMPORARY_FOLDER_HPP

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace rubato::support {

/// A fresh folder that goes with the object, and all that is in it. Errors: std::system_error.
class temporary_folder {
 public:
  explicit temporary_folder(const std::string& name) {
    std::string made = (std::filesystem::temp_directory_path() / (name + "-XXXXXX")).string();
    if (mkdtemp(made.data()) == nullptr) throw std::system_error{errno, std::generic_category(), made};
    path_ = made;
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace rubato::support

#endif
