#include <rubato/adapt/growth/block_action.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace rubato::adapt;

namespace block_action_test {
namespace {

TEST(BlockActions, ActionsFollowTheModel) {
  auto grown = *growable_model::make({"a", "b", "pool", "c"}, {{0, 2, {"a", "x"}}, {3, 1, {"y"}}});
  const auto are = [&](std::vector<block_action> expected) { EXPECT_EQ(block_actions(grown), expected); };
  are({{0, 1, 0, 0}, {3, 3, 0, 1}});
  grown.deepen(0);
  are({{0, 1, 1, 0}, {5, 5, 0, 1}});
  grown.deepen(1);
  grown.deepen(0);
  grown.deepen(1);
  grown.deepen(1);
  are({{0, 1, 2, 0}, {7, 7, 3, 1}});
}

TEST(BlockActions, WideningIsAnActionOfItsOwn) {
  const auto linear = [](const char* in, const char* out) {
    return "Linear(in_features=" + std::string{in} + ", out_features=" + out + ", bias=True)";
  };
  auto grown =
      *growable_model::make({linear("2", "4"), "ReLU()", linear("4", "3"), "ReLU()", linear("3", "2")},
                            {{0, 2, {linear("4", "4"), "ReLU()"}, false}, {2, 2, {linear("3", "3"), "ReLU()"}, true}});
  grown.deepen(1);
  EXPECT_EQ(block_actions(grown),
            (std::vector<block_action>{{0, 1, 0, 0}, {2, 3, 1, 1}, {2, 3, 1, 1, growth_kind::widen}}));
}

}  // namespace
}  // namespace block_action_test
