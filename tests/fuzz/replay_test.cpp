// The corpora, file by file: what the fuzzers have found to be different, in a build of any compiler.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz_target.hpp"

namespace rubato::fuzz {

void PrintTo(const target& which, std::ostream* out) { *out << which.name; }

namespace {

namespace fs = std::filesystem;

const fs::path& corpora() {
  static const fs::path folder = RUBATO_SOURCE_DIR "/tests/fuzz/corpus";
  return folder;
}

std::vector<fs::path> sorted(const fs::path& folder) {
  std::vector<fs::path> all(fs::directory_iterator{folder}, fs::directory_iterator{});
  std::ranges::sort(all);
  return all;
}

std::vector<std::uint8_t> content_of(const fs::path& file) {
  std::ifstream stream{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

class Corpus : public testing::TestWithParam<target> {};

// A broken promise ends the process, and names the file.
TEST_P(Corpus, KeepsThePromises) {
  const std::vector<fs::path> files = sorted(corpora() / GetParam().name);
  ASSERT_FALSE(files.empty());
  for (const fs::path& file : files) {
    current() = file.string();
    GetParam().run(content_of(file));
  }
}

// Whatever a corpus has, nothing and a few bytes are tried too.
TEST_P(Corpus, ShortInputs) {
  current() = "a short input";
  GetParam().run({});
  for (unsigned first = 0; first < 256; ++first) {
    std::vector<std::uint8_t> some(3, static_cast<std::uint8_t>(first));
    GetParam().run(input{some}.first(1));
    GetParam().run(some);
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(targets()),
                         [](const auto& tested) { return std::string{tested.param.name}; });

}  // namespace
}  // namespace rubato::fuzz
