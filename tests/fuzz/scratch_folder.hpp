#ifndef RUBATO_TESTS_FUZZ_SCRATCH_FOLDER_HPP
#define RUBATO_TESTS_FUZZ_SCRATCH_FOLDER_HPP

#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "fuzz_target.hpp"

namespace rubato::fuzz {

/// A folder for readers that want files, in memory where the system has such a place; gone with the program.
class scratch_folder {
 public:
  scratch_folder() {
    std::string pattern = std::filesystem::is_directory("/dev/shm")
                              ? "/dev/shm/rubato-fuzz-XXXXXX"
                              : (std::filesystem::temp_directory_path() / "rubato-fuzz-XXXXXX").string();
    require(::mkdtemp(pattern.data()) != nullptr, "a folder for temporary files");
    path_ = pattern;
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path at(const std::string& name) const { return path_ / name; }

  /// Its path.
  std::string write(const std::string& name, std::string_view content) const {
    const std::string file = at(name).string();
    std::ofstream{file, std::ios::binary | std::ios::trunc}.write(content.data(),
                                                                  static_cast<std::streamsize>(content.size()));
    return file;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace rubato::fuzz

#endif
