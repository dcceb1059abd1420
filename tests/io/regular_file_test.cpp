#include <rubato/io/regular_file.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <utility>

#include "support/folder_test.hpp"

namespace regular_file_test {
namespace {

using rubato::errc;
using rubato::regular_file;

class RegularFileReader : public rubato::test::folder_test {
 protected:
  [[nodiscard]] static std::string next(regular_file& file, std::size_t most) {
    std::string text(most, '\0');
    const auto got = file.read(std::as_writable_bytes(std::span{text}));
    EXPECT_TRUE(got);
    text.resize(got ? *got : 0);
    return text;
  }
};

TEST_F(RegularFileReader, NobodyWaitsForPipesNorReadsDevices) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  for (const std::string& each : {at("pipe"), std::string{"/dev/zero"}, std::string{"/dev/tty"}}) {
    const auto file = regular_file::open(each);
    ASSERT_FALSE(file) << each;
    if (file.error().code == errc::io) continue;  // no terminal
    EXPECT_EQ(file.error().code, errc::wrong_kind) << each;
    EXPECT_EQ(file.error().message, "found a device or pipe, expected a regular file");
  }
  const auto folder = regular_file::open(at("."));
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, errc::wrong_kind);
  EXPECT_EQ(folder.error().message, "found a directory, expected a regular file");
  const auto none = regular_file::open(at("none"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, errc::io);
  EXPECT_EQ(none.error().message, "No such file or directory");
}

TEST_F(RegularFileReader, ReadsAsFarAsTheFileGoes) {
  std::ofstream{at("a")} << "seven b";
  auto file = regular_file::open(at("a"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), 7U);
  EXPECT_EQ(next(*file, 5), "seven");
  regular_file moved = *std::move(file);
  EXPECT_EQ(next(moved, 5), " b");
  EXPECT_EQ(next(moved, 5), "");
  EXPECT_EQ(next(moved, 0), "");
}

TEST_F(RegularFileReader, WhatIsAddedLaterIsReadLater) {
  std::ofstream{at("a")} << "a";
  auto file = regular_file::open(at("a"));
  ASSERT_TRUE(file);
  EXPECT_EQ(next(*file, 5), "a");
  std::ofstream{at("a"), std::ios::app} << "more";
  EXPECT_EQ(file->size(), 5U);
  EXPECT_EQ(next(*file, 5), "more");
}

TEST_F(RegularFileReader, KeepsNoDescriptor) {
  std::ofstream{at("a")} << "a";
  std::ofstream{at("b")} << "b";
  const auto descriptor = [&] { return ::open(at("a").c_str(), O_RDONLY); };
  const int before = descriptor();
  ::close(before);
  {
    auto one = regular_file::open(at("a")), other = regular_file::open(at("b"));
    ASSERT_TRUE(one && other);
    *one = *std::move(other);
    EXPECT_EQ(next(*one, 1), "b");
    EXPECT_FALSE(regular_file::open(at(".")));
  }
  const int after = descriptor();
  ::close(after);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace regular_file_test
