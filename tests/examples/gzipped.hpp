#ifndef RUBATO_TESTS_EXAMPLES_GZIPPED_HPP
#define RUBATO_TESTS_EXAMPLES_GZIPPED_HPP

#include <zlib.h>

#include <fstream>
#include <iterator>
#include <string>

#include "temporary_directory.hpp"

namespace rubato::test {

/// What a gzip file of this text holds: one member.
inline std::string gzipped(const std::string& text) {
  const temporary_directory folder;
  const std::string file = (folder.path() / "a").string();
  gzFile to = gzopen(file.c_str(), "wb");
  gzwrite(to, text.data(), static_cast<unsigned>(text.size()));
  gzclose(to);
  std::ifstream from{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{from}, {}};
}

}  // namespace rubato::test

#endif
