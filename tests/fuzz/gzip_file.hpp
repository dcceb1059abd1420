#ifndef RUBATO_TESTS_FUZZ_GZIP_FILE_HPP
#define RUBATO_TESTS_FUZZ_GZIP_FILE_HPP

#include <zlib.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace rubato::fuzz {

/// Writes the content, compressed, into this file; its path.
inline std::string write_gzip(const std::filesystem::path& path, std::string_view content) {
  const gzFile to = ::gzopen(path.c_str(), "wb1");
  if (!content.empty()) ::gzwrite(to, content.data(), static_cast<unsigned>(content.size()));
  ::gzclose(to);
  return path.string();
}

}  // namespace rubato::fuzz

#endif
