#include <rubato/adapt/growth/growable_model.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace rubato::adapt;

namespace growable_model_test {
namespace {

using names = std::vector<std::string>;

// Blocks a b and d, with c between them.
growable_model model() { return *growable_model::make({"a", "b", "c", "d"}, {{0, 2, {"x", "y"}}, {3, 1, {"z"}}}); }
names layers_of(const growable_model& model) { return {model.layers().begin(), model.layers().end()}; }

TEST(GrowableModel, DeepensBehindTheOriginalBlock) {
  growable_model m = model();
  m.deepen(0);
  EXPECT_EQ(layers_of(m), (names{"a", "b", "x", "y", "c", "d"}));
  m.deepen(1);
  EXPECT_EQ(layers_of(m), (names{"a", "b", "x", "y", "c", "d", "z"}));
  EXPECT_EQ(m.insertions(), 2U);
  EXPECT_EQ(m.blocks().size(), 2U) << "what was inserted cannot be deepened";
}

TEST(GrowableModel, TheNewestInsertionIsFirst) {
  growable_model m = *growable_model::make({"a"}, {{0, 1, {"x"}}});
  m.deepen(0);
  EXPECT_EQ(layers_of(m), (names{"a", "x"}));
  m.deepen(0);
  EXPECT_EQ(layers_of(m), (names{"a", "x", "x"}));
  EXPECT_EQ(m.blocks()[0].first, 0U);
}

TEST(GrowableModel, OtherBlocksMove) {
  growable_model m = model();
  m.deepen(0), m.deepen(0);
  EXPECT_EQ(m.blocks()[0].first, 0U);
  EXPECT_EQ(m.blocks()[1].first, 7U);
  EXPECT_EQ(m.layers()[m.blocks()[1].first], "d");
}

TEST(GrowableModel, RefusesImpossibleBlocks) {
  const auto refusal = [](names layers, std::vector<growable_block> blocks) {
    const auto made = growable_model::make(std::move(layers), std::move(blocks));
    return made ? "none" : made.error().message;
  };
  EXPECT_EQ(refusal({}, {{0, 1, {"x"}}}), "growable_model: found no layer, expected at least 1");
  EXPECT_EQ(refusal({"a"}, {}), "growable_model: found no block that can be deepened, expected at least 1");
  EXPECT_EQ(refusal({"a"}, {{0, 0, {"x"}}}), "growable_model: block 0: found no layer, expected at least 1");
  EXPECT_EQ(refusal({"a"}, {{0, 1, {}}}), "growable_model: block 0: found no layer to insert, expected at least 1");
  EXPECT_EQ(refusal({"a"}, {{0, 2, {"x"}}}), "growable_model: block 0: found layers 0 to 1, expected layers below 1");
  EXPECT_EQ(refusal({"a"}, {{4'000'000'000, 4'000'000'000, {"x"}}}),
            "growable_model: block 0: found layers 4000000000 to 7999999999, expected layers below 1");
  EXPECT_EQ(refusal({"a", "b"}, {{0, 2, {"x"}}, {1, 1, {"x"}}}),
            "growable_model: block 1: found layer 1 as its first, expected 2 or later");
}

}  // namespace
}  // namespace growable_model_test
