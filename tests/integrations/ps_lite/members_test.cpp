#include <gtest/gtest.h>

#include <rubato/ps_lite/members.hpp>

namespace rubato {
namespace {

using namespace ps_lite;

TEST(Members, IndicesAreDenseAndKept) {
  member_list<member<int, int>> all{3};
  EXPECT_FALSE(all.find({9, 0}));
  EXPECT_EQ(all.find_or_add({9, 0}), 0u);
  EXPECT_EQ(all.find_or_add({11, 0}), 1u);
  EXPECT_EQ(all.find_or_add({9, 1}), 2u) << "another customer of the same node is another worker";
  EXPECT_EQ(all.find_or_add({11, 0}), 1u);
  EXPECT_EQ(all.find({9, 1}), 2u);
  EXPECT_EQ(all[2].name, (worker_name{9, 1}));
}

TEST(Members, NobodyBeyondTheCapacity) {
  member_list<member<int, int>> all{1};
  EXPECT_EQ(all.find_or_add({9, 0}), 0u);
  EXPECT_FALSE(all.find_or_add({11, 0}));
  EXPECT_EQ(all.size(), 1u);
}

TEST(Members, NegativeNamesAreNamesToo) {
  member_list<member<int, int>> all{2};
  EXPECT_EQ(all.find_or_add({-1, 0}), 0u);
  EXPECT_EQ(all.find_or_add({-1, -1}), 1u);
}

}  // namespace
}  // namespace rubato
