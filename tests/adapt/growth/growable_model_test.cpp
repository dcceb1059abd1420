#include <rubato/adapt/growth/growable_model.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
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

TEST(GrowableModel, DeepensAgain) {
  growable_model m = *growable_model::make({"a"}, {{0, 1, {"x", "y"}}});
  m.deepen(0), m.deepen(0);
  EXPECT_EQ(layers_of(m), (names{"a", "x", "y", "x", "y"}));
  EXPECT_EQ(m.blocks()[0].first, 0U);
  EXPECT_EQ(m.blocks()[0].insertions, 2U);
}

TEST(GrowableModel, InsertionsAreWhatLooksLikeThem) {
  const auto count = [](names of, names insertion) {
    return growable_model::make(std::move(of), {{0, 1, std::move(insertion)}})->insertions();
  };
  EXPECT_EQ(count({"a", "x", "x", "b", "x"}, {"x"}), 2U);
  EXPECT_EQ(count({"a", "x", "y", "x"}, {"x", "y"}), 1U) << "half of one is none";
  EXPECT_EQ(count({"a", "b", "x"}, {"x"}), 0U);
  EXPECT_EQ(growable_model::make({"a", "x", "x"}, {{0, 1, {"x"}}, {2, 1, {"x"}}})->insertions(), 1U)
      << "the next block is none";
}

TEST(GrowableModel, InsertionsCanBeTold) {
  growable_model m = *growable_model::make({"a", "x", "b"}, {{0, 1, {"x"}, false, 0}});
  EXPECT_EQ(m.insertions(), 0U);
  m.deepen(0);
  EXPECT_EQ(m.insertions(), 1U);
  EXPECT_EQ(growable_model::make({"a", "x", "b"}, {{0, 1, {"x"}, false, 3}}).error().message,
            "growable_model: block 0: found 3 insertions, expected at most 2 before what follows");
}

TEST(GrowableModel, OtherBlocksMove) {
  growable_model m = model();
  m.deepen(0), m.deepen(0);
  EXPECT_EQ(m.blocks()[0].first, 0U);
  EXPECT_EQ(m.blocks()[1].first, 7U);
  EXPECT_EQ(m.layers()[m.blocks()[1].first], "d");
}

std::string linear(int in, int out) {
  return "Linear(in_features=" + std::to_string(in) + ", out_features=" + std::to_string(out) + ", bias=True)";
}
std::string convolution(int in, int out) {
  return "Conv2d(" + std::to_string(in) + ", " + std::to_string(out) + ", kernel_size=(3, 3), stride=(1, 1))";
}
std::string norm(int channels) { return "BatchNorm2d(" + std::to_string(channels) + ", eps=1e-05)"; }
names insertion(int width) { return {convolution(width, width), norm(width), "ReLU()"}; }

// Two convolutional blocks, of which the first widens; a pooling after each, and a linear block that does not widen.
growable_model convolutional(bool second_widens = false) {
  return *growable_model::make(
      {convolution(3, 8), norm(8), "ReLU()", "MaxPool2d(2)", convolution(8, 6), norm(6), "ReLU()",
       "Flatten(start_dim=1, end_dim=-1)", linear(6 * 25, 10), "ReLU()"},
      {{0, 3, insertion(8), true}, {4, 3, insertion(6), second_widens}, {8, 2, {linear(10, 10), "ReLU()"}}});
}

TEST(GrowableModel, WidensABlockAndWhatReadsIt) {
  growable_model m = convolutional();
  m.widen(0);
  EXPECT_EQ(layers_of(m), (names{convolution(3, 16), norm(16), "ReLU()", "MaxPool2d(2)", convolution(16, 6), norm(6),
                                 "ReLU()", "Flatten(start_dim=1, end_dim=-1)", linear(150, 10), "ReLU()"}));
  m.widen(0);
  EXPECT_EQ(m.layers()[0], convolution(3, 32));
  EXPECT_EQ(m.layers()[4], convolution(32, 6));
  EXPECT_EQ(m.insertions(), 0U);
}

TEST(GrowableModel, WidensWhatWasInserted) {
  growable_model m = convolutional();
  m.deepen(0), m.deepen(0), m.deepen(1);
  m.widen(0);
  names expected{convolution(3, 16), norm(16), "ReLU()"};
  for (int i = 0; i < 2; ++i) expected.insert(expected.end(), {convolution(16, 16), norm(16), "ReLU()"});
  expected.insert(expected.end(), {"MaxPool2d(2)", convolution(16, 6)});
  EXPECT_EQ((names{m.layers().begin(), m.layers().begin() + 11}), expected);
  EXPECT_EQ((names{m.layers().begin() + 13, m.layers().begin() + 16}), insertion(6)) << "of the next block, as it was";
  EXPECT_EQ(m.blocks()[0].insertions, 2U);
  EXPECT_EQ(m.blocks()[1].insertions, 1U);
}

TEST(GrowableModel, WhatIsInsertedLaterIsAsWide) {
  growable_model first = convolutional(), second = convolutional();
  first.widen(0), first.deepen(0);
  second.deepen(0), second.widen(0);
  EXPECT_EQ(layers_of(first), layers_of(second));
  EXPECT_EQ(first.layers()[3], convolution(16, 16));
}

TEST(GrowableModel, WidensTheFactorsOfAFlattening) {
  growable_model m = convolutional(true);
  m.widen(1);
  EXPECT_EQ(m.layers()[4], convolution(8, 12));
  EXPECT_EQ(m.layers()[8], linear(300, 10));
}

// What reads the block comes to look like what would be inserted.
TEST(GrowableModel, WideningMakesNoInsertion) {
  growable_model m = *growable_model::make({linear(3, 4), "ReLU()", linear(4, 8), "ReLU()", linear(8, 2)},
                                           {{0, 2, {linear(4, 4), "ReLU()"}, true}});
  m.widen(0);
  EXPECT_EQ(layers_of(m), (names{linear(3, 8), "ReLU()", linear(8, 8), "ReLU()", linear(8, 2)}));
  m.widen(0);
  EXPECT_EQ(layers_of(m), (names{linear(3, 16), "ReLU()", linear(16, 8), "ReLU()", linear(8, 2)}));
  EXPECT_EQ(m.insertions(), 0U);
}

TEST(GrowableModel, ActionsHaveNumbers) {
  const growable_model m = convolutional(true);
  ASSERT_EQ(m.actions(), 6U);
  EXPECT_EQ(m.action(0), (growth_action{growth_kind::deepen, 0}));
  EXPECT_EQ(m.action(2), (growth_action{growth_kind::deepen, 2}));
  EXPECT_EQ(m.action(3), (growth_action{growth_kind::widen, 0}));
  EXPECT_EQ(m.action(4), (growth_action{growth_kind::widen, 1}));
  EXPECT_EQ(m.action(5), std::nullopt);
  for (std::size_t number = 0; number < 6; ++number) {
    growable_model grown = m, expected = m;
    grown.grow(number);
    if (number < 3) expected.deepen(number);
    if (number == 3 || number == 4) expected.widen(number - 3);
    EXPECT_EQ(layers_of(grown), layers_of(expected)) << number;
  }
  EXPECT_EQ(model().actions(), 3U) << "where nothing widens";
}

TEST(GrowableModel, RefusesToWidenWhatDoesNotFit) {
  const auto refusal = [](names layers, names insertion) {
    const auto made = growable_model::make(std::move(layers), {{0, 1, std::move(insertion), true}});
    return made ? "none" : made.error().message;
  };
  EXPECT_EQ(refusal({linear(4, 2), linear(6, 1)}, {linear(2, 2), "ReLU()"}), "none");
  EXPECT_EQ(refusal({linear(4, 2), "ReLU()"}, {"x"}),
            "growable_model: block 0, which widens: found no layer behind it that reads its outputs, expected one");
  EXPECT_EQ(refusal({"Bilinear(2)", linear(4, 2)}, {"x"}),
            "growable_model: block 0, which widens: found no layer whose outputs are known, expected one");
  EXPECT_EQ(refusal({linear(4, 2), linear(3, 1)}, {"x"}),
            "growable_model: block 0, which widens: found that layer 1 behind it reads 3, expected 2, or a multiple");
  EXPECT_EQ(refusal({linear(4, 2), linear(2, 1)}, {linear(4, 4)}),
            "growable_model: block 0, which widens: found an insertion that reads 4, expected 2");
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
