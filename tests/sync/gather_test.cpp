#include <rubato/sync/gather.hpp>

#include <gtest/gtest.h>

namespace {

using rubato::gather;

TEST(Gather, CompleteWithTheLastPart) {
  gather parts{2, 3};
  EXPECT_FALSE(parts.part({0, 0}, 1, 2, 5));
  EXPECT_FALSE(parts.part({1, 0}, 1, 0, 5)) << "another worker's";
  EXPECT_FALSE(parts.part({0, 0}, 1, 0, 5));
  EXPECT_TRUE(parts.part({0, 0}, 1, 1, 5));
}

TEST(Gather, RangeOfVersions) {
  gather parts{1, 3};
  parts.part({0, 0}, 1, 0, 7);
  parts.part({0, 0}, 1, 1, 4);
  const auto read = parts.part({0, 0}, 1, 2, 9);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->lowest, 4u);
  EXPECT_EQ(read->highest, 9u);
}

TEST(Gather, RepeatsDoNotCount) {
  gather parts{1, 2};
  EXPECT_FALSE(parts.part({0, 0}, 1, 0, 1));
  EXPECT_FALSE(parts.part({0, 0}, 1, 0, 1));
  EXPECT_TRUE(parts.part({0, 0}, 1, 1, 1));
  EXPECT_FALSE(parts.part({0, 0}, 1, 1, 1)) << "complete already";
}

TEST(Gather, NewerStepStartsOver) {
  gather parts{1, 2};
  EXPECT_FALSE(parts.part({0, 0}, 1, 0, 1));
  EXPECT_FALSE(parts.part({0, 0}, 2, 1, 2)) << "the part of step 1 is an orphan";
  EXPECT_FALSE(parts.part({0, 0}, 1, 1, 1)) << "too old";
  EXPECT_TRUE(parts.part({0, 0}, 2, 0, 2));
  EXPECT_FALSE(parts.part({0, 1}, 1, 0, 3)) << "a new incarnation counts its steps anew";
  EXPECT_TRUE(parts.part({0, 1}, 1, 1, 3));
}

TEST(Gather, ManyShards) {
  gather parts{1, 130};
  for (std::uint32_t shard = 0; shard < 129; ++shard) EXPECT_FALSE(parts.part({0, 0}, 1, shard, 1));
  EXPECT_TRUE(parts.part({0, 0}, 1, 129, 1));
}

TEST(Gather, ManyShardsOfManyWorkersAreApart) {
  gather parts{3, 130};
  for (std::uint32_t shard = 0; shard < 129; ++shard)
    for (std::uint32_t w = 0; w < 3; ++w) EXPECT_FALSE(parts.part({w, 0}, 1, shard, 1));
  for (std::uint32_t w = 0; w < 3; ++w) EXPECT_TRUE(parts.part({w, 0}, 1, 129, 1)) << w;
}

TEST(Gather, IndicesOutOfRangeAreIgnored) {
  gather parts{1, 1};
  EXPECT_FALSE(parts.part({1, 0}, 1, 0, 1));
  EXPECT_FALSE(parts.part({0, 0}, 1, 1, 1));
}

}  // namespace
