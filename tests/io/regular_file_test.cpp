#include <rubato/io/regular_file.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "support/folder_test.hpp"
#include "support/sanitizers.hpp"

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
  [[nodiscard]] static std::string text_of(const rubato::file_bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data.get()), bytes.size};
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
  const auto directory = regular_file::open(at("."));
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, errc::wrong_kind);
  EXPECT_EQ(directory.error().message, "found a directory, expected a regular file");
  const auto none = regular_file::open(at("none"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, errc::io);
  EXPECT_EQ(none.error().message, "No such file or directory");
}

TEST_F(RegularFileReader, ReadsAsFarAsTheFileGoes) {
  std::ofstream{at("a")} << "seven b";
  auto file = regular_file::open(at("a"));
  ASSERT_TRUE(file);
  EXPECT_EQ(*file->size(), 7U);
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
  EXPECT_EQ(*file->size(), 5U);
  EXPECT_EQ(next(*file, 5), "more");
}

TEST_F(RegularFileReader, ContentIsWholeOrRefused) {
  std::ofstream{at("a")} << "seven b";
  const auto content = [&](std::uint64_t most) { return regular_file::open(at("a"))->content(most); };
  const auto whole = content(7);
  ASSERT_TRUE(whole);
  EXPECT_EQ(text_of(*whole), "seven b");
  EXPECT_EQ(content(6).error().message, "found 7 bytes, expected at most 6");
  constexpr std::uint64_t huge = std::uint64_t{1} << 42;  // zeros, which no disk has to hold
  std::filesystem::resize_file(at("a"), huge);
  EXPECT_EQ(content(huge - 1).error().message, "found 4398046511104 bytes, expected at most 4398046511103");
}

#if defined(__x86_64__)  // an emulator of another processor would have no memory left itself
TEST_F(RegularFileReader, WhatMemoryCannotHoldIsRefused) {
  if (rubato::test::address_sanitized || rubato::test::thread_sanitized) GTEST_SKIP() << "they need all addresses";
  std::ofstream{at("a")} << "a";
  std::filesystem::resize_file(at("a"), std::uint64_t{1} << 42);
  rlimit memory{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &memory), 0);
  const rlimit little{(std::min)(rlim_t{1} << 40, memory.rlim_max), memory.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &little), 0);
  const auto answer = regular_file::open(at("a"))->content(std::uint64_t{1} << 42);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &memory), 0);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, errc::io);
  EXPECT_EQ(answer.error().message, "no memory for 4398046511104 bytes");
}
#endif

TEST_F(RegularFileReader, OfOtherFilesNoMoreThanTheBeginning) {
  std::ofstream{at("a")} << "seven b";
  const auto beginning_with = [&](std::string_view begin) {
    const auto got = regular_file::open(at("a"))->content(100, std::as_bytes(std::span{begin}));
    return got ? text_of(*got) : got.error().message;
  };
  EXPECT_EQ(beginning_with("seven"), "seven b");
  EXPECT_EQ(beginning_with("eight"), "seven");
  EXPECT_EQ(beginning_with("seven bytes"), "seven b");
  EXPECT_EQ(beginning_with("seven b"), "seven b");
  std::filesystem::resize_file(at("a"), std::uint64_t{1} << 42);
  EXPECT_EQ(beginning_with("eight"), "seven");
  EXPECT_EQ(beginning_with("seven"), "found 4398046511104 bytes, expected at most 100");
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
    const int freed = descriptor();
    ::close(freed);
    EXPECT_EQ(freed, before) << "its own is closed at once";
    EXPECT_EQ(next(*one, 1), "b");
    EXPECT_FALSE(regular_file::open(at(".")));
  }
  const int after = descriptor();
  ::close(after);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace regular_file_test
