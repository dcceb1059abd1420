#include "../../examples/support/packed_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "gzipped.hpp"
#include "temporary_directory.hpp"

namespace {

using rubato::support::packed_file;
using rubato::test::gzipped;
using rubato::test::temporary_directory;

const std::string behind_gzip = "found bytes after the end of the gzip data, expected nothing there";
const std::string gzip_ends_early = "found a gzip file that ends early, expected the rest of it";

// Of one byte up to more than any buffer on the way.
std::string square_lines(std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += "line " + std::to_string(i * i) + "\n";
  return text;
}

struct packed_reading {
  std::string text, problem;
  bool cut_off;
};

// What a file of these bytes says, read in pieces of this size.
packed_reading read_packed(const std::string& bytes, std::size_t size = 1'000) {
  const temporary_directory folder;
  folder.write("a", bytes);
  packed_file file{folder.path() / "a"};
  packed_reading all;
  std::string piece(size, '\0');
  std::size_t got = 0;
  do {
    got = file.read(piece);
    all.text.append(piece, 0, got);
  } while (got == size);
  EXPECT_EQ(file.read(piece), 0u) << "it stays at its end";
  all.problem = file.problem();
  all.cut_off = file.cut_off();
  return all;
}

TEST(PackedFile, PlainAndGzipReadTheSame) {
  for (const std::string& text : {std::string{}, std::string{"x"}, std::string{"\x1f"}, square_lines(100'000)})
    for (const std::string& bytes : {text, gzipped(text)})
      for (const std::size_t size : {std::size_t{1}, std::size_t{1'000}, std::size_t{3'000'000}}) {
        if (size == 1 && text.size() > 10) continue;
        EXPECT_TRUE(read_packed(bytes, size).text == text) << text.size();
        EXPECT_EQ(read_packed(bytes, size).problem, "");
      }
}

TEST(PackedFile, MembersAreReadOneBehindTheOther) {
  const std::string text = square_lines(50'000);
  const packed_reading all = read_packed(gzipped(text) + gzipped("") + gzipped("more") + gzipped(text));
  EXPECT_TRUE(all.text == text + "more" + text);
  EXPECT_EQ(all.problem, "");
}

TEST(PackedFile, WhatFollowsTheLastMemberIsAProblem) {
  for (const std::string& end : {std::string{"\n"}, std::string{"{\"what\":1}\n"}, std::string(3, '\0'),
                                 std::string{"\x1f"}, std::string{"\x1fx"}, square_lines(50'000)}) {
    const packed_reading all = read_packed(gzipped("sound") + gzipped("too") + end);
    EXPECT_EQ(all.text, "soundtoo");
    EXPECT_EQ(all.problem, behind_gzip) << end.size();
    EXPECT_FALSE(all.cut_off);
  }
}

TEST(PackedFile, AnEndThatIsMissingIsAProblem) {
  const std::string text = square_lines(100), packed = gzipped(text);
  for (std::size_t size = 2; size < packed.size(); ++size) {
    const packed_reading all = read_packed(packed.substr(0, size));
    EXPECT_TRUE(text.starts_with(all.text));
    EXPECT_EQ(all.problem, gzip_ends_early) << size;
    EXPECT_TRUE(all.cut_off);
    EXPECT_EQ(read_packed(packed + packed.substr(0, size)).problem, gzip_ends_early) << "of a second member: " << size;
  }
}

TEST(PackedFile, CorruptDataAreAProblem) {
  std::string packed = gzipped(square_lines(100));
  packed[packed.size() - 8] ^= 1;  // the checksum
  EXPECT_EQ(read_packed(packed).problem, "found corrupt gzip data (incorrect data check), expected intact gzip data");
  EXPECT_FALSE(read_packed(packed).cut_off);
  packed = gzipped("x") + gzipped("y");
  packed[gzipped("x").size() + 2] ^= 1;  // the method of the second member
  EXPECT_EQ(read_packed(packed).problem,
            "found corrupt gzip data (unknown compression method), expected intact gzip data");
}

}  // namespace
