#include <rubato/adapt/growth/layer_vocabulary.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace rubato::adapt;

namespace layer_vocabulary_test {
namespace {

using rows = std::vector<std::uint32_t>;

TEST(LayerVocabulary, RowsOfLayers) {
  const auto words = layer_vocabulary::make({{"ReLU()", 2}, {"Linear(3, 4)", 0}}, 3);
  ASSERT_TRUE(words);
  EXPECT_EQ(words->row_of("ReLU()"), 2U);
  EXPECT_EQ(words->row_of("Linear(3, 4)"), 0U);
  const std::vector<std::string> model{"Linear(3, 4)", "ReLU()", "Linear(3, 4)"};
  EXPECT_EQ(*words->rows_of(model), (rows{0, 2, 0}));
}

TEST(LayerVocabulary, SeveralMayShareARow) {
  const auto words = layer_vocabulary::make({{"a", 1}, {"b", 1}}, 2);
  ASSERT_TRUE(words);
  EXPECT_EQ(words->row_of("a"), words->row_of("b"));
}

TEST(LayerVocabulary, UnknownLayersHaveARow) {
  const auto words = layer_vocabulary::make({{"a", 0}}, 2, 1);
  ASSERT_TRUE(words);
  const std::vector<std::string> model{"a", "never seen"};
  EXPECT_EQ(*words->rows_of(model), (rows{0, 1}));
}

TEST(LayerVocabulary, UnknownLayersAreAnErrorWithoutOne) {
  const auto words = layer_vocabulary::make({{"a", 0}}, 2);
  ASSERT_TRUE(words);
  EXPECT_EQ(words->row_of("never seen"), std::nullopt);
  const std::vector<std::string> model{"a", "never seen"};
  EXPECT_EQ(words->rows_of(model).error().message,
            "layer 1: found \"never seen\", expected one of the 1 layers that the agent knows");
}

TEST(LayerVocabulary, NamesOfLayersAreEscaped) {
  const std::string hostile = "\x1b[2J\nall is well" + std::string(100, 'x');
  const std::string shown = R"("\x1b[2J\x0aall is well)" + std::string(48, 'x') + "...\"";
  const std::vector<std::string> model{hostile};
  EXPECT_EQ(layer_vocabulary::make({{"a", 0}}, 1)->rows_of(model).error().message,
            "layer 0: found " + shown + ", expected one of the 1 layers that the agent knows");
  EXPECT_EQ(layer_vocabulary::make({{hostile, 1}}, 1).error().message,
            "layer_vocabulary: " + shown + ": found row 1, expected one below 1");
  EXPECT_EQ(layer_vocabulary::make({{hostile, 0}, {hostile, 0}}, 1).error().message,
            "layer_vocabulary: " + shown + ": found twice, expected once");
}

TEST(LayerVocabulary, RefusesWhatCannotBe) {
  const auto refusal = [](std::vector<layer_word> words, std::uint32_t of_table,
                          std::optional<std::uint32_t> unknown = std::nullopt) {
    const auto made = layer_vocabulary::make(std::move(words), of_table, unknown);
    return made ? "none" : made.error().message;
  };
  EXPECT_EQ(refusal({}, 2), "layer_vocabulary: found no layer, expected at least 1");
  EXPECT_EQ(refusal({{"a", 2}}, 2), "layer_vocabulary: \"a\": found row 2, expected one below 2");
  EXPECT_EQ(refusal({{"a", 0}}, 2, 7), "layer_vocabulary: unknown layers: found row 7, expected one below 2");
  EXPECT_EQ(refusal({{"a", 0}, {"b", 1}, {"a", 1}}, 2), "layer_vocabulary: \"a\": found twice, expected once");
}

}  // namespace
}  // namespace layer_vocabulary_test
