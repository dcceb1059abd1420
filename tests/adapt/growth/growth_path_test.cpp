#include <rubato/adapt/train/growth_path.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "small_tables.hpp"

using namespace rubato;
using namespace rubato::adapt;

namespace growth_path_test {
namespace {

using test::path_to;
using actions = std::vector<std::uint32_t>;

TEST(GrowthPath, HasEveryPrefix) {
  const growth_path path = path_to(3);
  EXPECT_EQ(path.after({}).layers, (actions{0, 2}));
  EXPECT_EQ(path.after(actions{0}).layers, (actions{0, 1, 2}));
  EXPECT_EQ(path.after(actions{1}).layers, (actions{0, 2, 3}));
  EXPECT_EQ(path.after(actions{2}).layers, (actions{0, 2})) << "doing nothing";
  EXPECT_EQ(path.after({}).time, encoded_time(80, 100, time_encoding::sines));
  EXPECT_EQ(path.after(actions{2}).time, encoded_time(40, 100, time_encoding::sines));
  EXPECT_EQ(path.most_layers(), 3U);
}

TEST(GrowthPath, KnowsWhereTheBlocksAre) {
  const growth_path path = path_to(3);
  using places = std::vector<block_action>;
  EXPECT_EQ(path.after({}).actions, (places{{0, 0, 0, 0}, {1, 1, 0, 1}}));
  EXPECT_EQ(path.after(actions{0}).actions, (places{{0, 0, 1, 0}, {2, 2, 0, 1}}));
  EXPECT_EQ(path.after(actions{1}).actions, (places{{0, 0, 0, 0}, {1, 1, 1, 1}}));
  EXPECT_EQ(path.after(actions{2}).actions, path.after({}).actions);
  EXPECT_EQ(path.growing_actions(), 2U);
}

TEST(GrowthPath, WideningIsAnAction) {
  const auto words = *layer_vocabulary::make({{"Linear(in_features=2, out_features=4, bias=True)", 0},
                                              {"Linear(in_features=4, out_features=2, bias=True)", 1},
                                              {"Linear(in_features=2, out_features=8, bias=True)", 2},
                                              {"Linear(in_features=8, out_features=2, bias=True)", 3},
                                              {"x", 4}},
                                             5);
  const auto model = growable_model::make({words.words()[0].layer, words.words()[2].layer}, {{0, 1, {"x"}, true}});
  const auto table = growth_table::make(3, 100, std::vector<growth_outcome>(9, {0.5, {80, 40}}));
  const auto path = growth_path::make(*model, *table, words, time_encoding::sines);
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(path->growing_actions(), 2U);
  EXPECT_EQ(path->after(actions{0}).layers, (actions{0, 4, 1}));
  EXPECT_EQ(path->after(actions{1}).layers, (actions{2, 3}));
  EXPECT_EQ(path->after(actions{1}).actions[1].kind, growth_kind::widen);
}

TEST(GrowthPath, NextLeadsToPlacesAndSequences) {
  const growth_path path = path_to(3);
  ASSERT_EQ(path.places().size(), 4U);
  for (std::uint32_t a = 0; a < 3; ++a) {
    const std::size_t place = path.next(0, a);
    EXPECT_EQ(path.places()[place].layers, path.after(actions{a}).layers);
    for (std::uint32_t b = 0; b < 3; ++b)
      EXPECT_EQ(path.next(place, b) - path.places().size(), path.table().number_of(actions{a, b}));
  }
}

TEST(GrowthPath, TimesCanBeLater) {
  const growth_path path = path_to(3);
  const growth_path::place& start = path.places()[0];
  EXPECT_EQ(start.time_left, 80);
  EXPECT_EQ(path.time_at(start, 0), start.time);
  EXPECT_EQ(path.time_at(start, 30), encoded_time(50, 100, time_encoding::sines));
  EXPECT_EQ(path.time_at(start, 500), encoded_time(0, 100, time_encoding::sines));
  EXPECT_EQ(path.time_at(start, -500), encoded_time(100, 100, time_encoding::sines));
}

TEST(GrowthPath, RefusesOtherTables) {
  const auto model = growable_model::make({"a", "b"}, {{0, 1, {"x"}}, {1, 1, {"y"}}});
  const auto other = growth_table::make(2, 100, {{0.5, {50}}, {0.5, {50}}});
  EXPECT_EQ(growth_path::make(*model, *other, test::small_words(), time_encoding::sines).error().message,
            "growth_path: found a table of 2 actions, expected 3, as many as the model has");
  const auto unknown = growable_model::make({"a", "c"}, {{0, 1, {"x"}}, {1, 1, {"y"}}});
  EXPECT_EQ(growth_path::make(*unknown, path_to(0).table(), test::small_words(), time_encoding::sines).error().message,
            "layer 1: found \"c\", expected one of the 4 layers that the agent knows");
}

TEST(GrowthPath, GoesByTheMostProbableActions) {
  growth_network network = test::small_network(1);
  const growth_path path = path_to(3);
  growth_network::workspace work{network, path.most_layers()};
  for (std::uint32_t favourite = 0; favourite < 3; ++favourite) {
    const auto bias = network.head().bias(2);
    std::fill(bias.begin(), bias.end(), 0.0F);
    bias[favourite] = 100;
    EXPECT_EQ(most_probable_sequence(network, path, work), 4U * favourite);
  }
  block_network other = *block_network::make({.vocabulary = 4});
  block_network::workspace room{other, path.most_layers(), path.growing_actions()};
  EXPECT_EQ(most_probable_sequence(other, path, room), 0U) << "of equals the first";
  nn::dynamic_mlp& head = other.head();
  head.weight(0)(head.inputs() - 1, 0) = head.weight(1)(0, 0) = head.weight(2)(0, 0) = 1;  // for doing nothing
  EXPECT_EQ(most_probable_sequence(other, path, room), 8U);
}

}  // namespace
}  // namespace growth_path_test
