#include "../../examples/support/regular_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "temporary_directory.hpp"

namespace {

using rubato::support::regular_file;
using rubato::support::user_error;
using rubato::test::message_of;
using rubato::test::temporary_directory;

TEST(RegularFile, IsReadInPiecesOrWhole) {
  const temporary_directory folder;
  const std::string text(200'000, 'x');
  folder.write("a", text + "end");
  EXPECT_EQ(regular_file{folder.path() / "a"}.content(200'003), text + "end");
  regular_file file{folder.path() / "a"};
  EXPECT_EQ(file.text(200'000), text);
  regular_file moved{std::move(file)};
  std::array<char, 5> piece{};
  EXPECT_EQ(moved.read(piece), 3u);
  EXPECT_EQ(moved.read(piece), 0u);
  std::ofstream{folder.path() / "a", std::ios::app} << "more";
  EXPECT_EQ(moved.read(piece), 4u) << "what has come since";
}

TEST(RegularFile, PipesDevicesAndFoldersAreRefusedAtOnce) {
  const temporary_directory folder;
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto refusal = [](const std::string& name) {
    return message_of<user_error>([&] { return regular_file{name}; });
  };
  EXPECT_EQ(refusal(pipe), pipe + ": found a device or pipe, expected a regular file");
  EXPECT_EQ(refusal("/dev/zero"), "/dev/zero: found a device or pipe, expected a regular file");
  EXPECT_EQ(refusal("/tmp"), "/tmp: found a directory, expected a regular file");
  EXPECT_EQ(refusal("/no/such/file"), "/no/such/file: cannot be opened: No such file or directory");
}

TEST(RegularFile, WhatIsTooLargeIsRefusedUnread) {
  const temporary_directory folder;
  const std::string file = (folder.path() / "a").string();
  folder.write("a", "four");
  EXPECT_EQ(message_of<user_error>([&] { return regular_file{file}.content(3); }),
            file + ": found more than 3 bytes, expected at most that");
  std::filesystem::resize_file(file, std::uintmax_t{1} << 40);
  EXPECT_EQ(message_of<user_error>([&] { return regular_file{file}.content(std::size_t{1} << 34); }),
            file + ": found more than 17179869184 bytes, expected at most that");
}

}  // namespace
