#ifndef RUBATO_TESTS_SUPPORT_FOLDER_TEST_HPP
#define RUBATO_TESTS_SUPPORT_FOLDER_TEST_HPP

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace rubato::test {

/// A test with a fresh folder, which goes with it.
class folder_test : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "rubato-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  [[nodiscard]] std::string at(const char* name) const { return (folder / name).string(); }

  std::filesystem::path folder;
};

}  // namespace rubato::test

#endif
