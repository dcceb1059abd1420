#include "../../examples/support/text_lines.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "../../examples/support/user_error.hpp"
#include "gzipped.hpp"
#include "temporary_directory.hpp"

namespace {

using rubato::support::ends_early;
using rubato::support::text_lines;
using rubato::support::user_error;
using rubato::test::gzipped;
using rubato::test::message_of;
using rubato::test::temporary_directory;

std::vector<std::string> all_of(text_lines& from) {
  std::vector<std::string> lines;
  for (std::string line; from.next(line);) lines.push_back(line);
  return lines;
}

// Longer than any buffer on the way.
std::string many_lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "line " + std::to_string(i) + std::string(i % 97, 'x') + "\n";
  return text;
}

TEST(TextLines, PlainAndGzip) {
  const temporary_directory folder;
  const std::string text = many_lines(5'000);
  folder.write("plain", text);
  folder.write("packed", gzipped(text));
  text_lines plain{folder.path() / "plain", 1'000}, packed{folder.path() / "packed", 1'000};
  const auto lines = all_of(plain);
  EXPECT_EQ(lines, all_of(packed));
  ASSERT_EQ(lines.size(), 5'000u);
  EXPECT_EQ(lines[3], "line 3xxx");
  EXPECT_EQ(plain.number(), 5'000u);
  EXPECT_EQ(plain.place(), (folder.path() / "plain").string() + ":5000");
}

TEST(TextLines, LastLineWithoutAnEnd) {
  const temporary_directory folder;
  folder.write("a", "one\n\ntwo");
  text_lines lines{folder.path() / "a", 10};
  std::string line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_TRUE(lines.ended());
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "");
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "two");
  EXPECT_FALSE(lines.ended());
  EXPECT_FALSE(lines.next(line));
  EXPECT_EQ(lines.number(), 3u);
}

TEST(TextLines, AGzipFileThatEndsEarly) {
  const temporary_directory folder;
  const std::string text = many_lines(20'000);
  folder.write("whole", gzipped(text));
  std::filesystem::copy(folder.path() / "whole", folder.path() / "half");
  std::filesystem::resize_file(folder.path() / "half", std::filesystem::file_size(folder.path() / "whole") / 2);
  text_lines half{folder.path() / "half", 1'000};
  std::size_t lines = 0;
  const std::string message = message_of<ends_early>([&] {
    for (std::string line; half.next(line);) ++lines;
    return lines;
  });
  EXPECT_EQ(message, (folder.path() / "half").string() + ":" + std::to_string(lines) +
                         ": found a gzip file that ends early, expected the rest of it");
  EXPECT_GT(lines, 1'000u);
  EXPECT_LT(lines, 20'000u);
  EXPECT_FALSE(half.ended());
  EXPECT_THROW(static_cast<void>(half.skip()), ends_early);
}

TEST(TextLines, WhatFollowsGzipDataIsRefused) {
  const temporary_directory folder;
  folder.write("a", gzipped("one\ntwo\n"));
  std::ofstream{folder.path() / "a", std::ios::app | std::ios::binary} << "three\n";
  text_lines lines{folder.path() / "a", 1'000};
  std::string line;
  ASSERT_TRUE(lines.next(line));
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "two");
  EXPECT_EQ(message_of<user_error>([&] { return lines.next(line); }),
            (folder.path() / "a").string() + ":2: found bytes after the end of the gzip data, expected nothing there");
  EXPECT_THROW(static_cast<void>(lines.skip()), user_error);
}

TEST(TextLines, RefusesALineThatIsTooLong) {
  const temporary_directory folder;
  folder.write("a", "short\n" + std::string(200'000, 'x'));
  text_lines lines{folder.path() / "a", 1'000};
  EXPECT_EQ(message_of<user_error>([&] { return all_of(lines); }),
            (folder.path() / "a").string() + ":2: found a line of more than 1000 bytes, expected a shorter one");
}

TEST(TextLines, LinesAreSkipped) {
  const temporary_directory folder;
  folder.write("a", "one\n" + std::string(200'000, 'x') + "\nthree\n" + std::string(200'000, 'y') + "\nfive");
  text_lines lines{folder.path() / "a", 1'000};
  std::string line;
  ASSERT_TRUE(lines.skip());
  EXPECT_THROW(static_cast<void>(lines.next(line)), user_error);
  ASSERT_TRUE(lines.next(line)) << "after a line that is too long";
  EXPECT_EQ(line, "three");
  EXPECT_EQ(lines.number(), 3u);
  ASSERT_TRUE(lines.skip()) << "however long";
  EXPECT_TRUE(lines.ended());
  ASSERT_TRUE(lines.skip());
  EXPECT_FALSE(lines.ended());
  EXPECT_FALSE(lines.skip());
  EXPECT_EQ(lines.number(), 5u);
}

TEST(TextLines, RefusesAFileThatIsNotThere) {
  EXPECT_NE(message_of<user_error>([] {
              return text_lines{"/no/such/file", 10};
            }).find("cannot be opened"),
            std::string::npos);
}

}  // namespace
