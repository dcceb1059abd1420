#include <rubato/sim/tournament.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <rubato/core/rng.hpp>

namespace rubato::sim {
namespace {

constexpr double no_time = std::numeric_limits<double>::infinity();

TEST(Tournament, AgreesWithAScan) {
  for (const std::uint32_t slots : {1U, 2U, 10U, 33U, 64U}) {
    tournament tree{slots};
    std::vector<double> times(slots, no_time);
    random_sequence random{slots};
    for (int step = 0; step < 10'000; ++step) {
      const auto slot = static_cast<std::uint32_t>(random.below(slots));
      times[slot] = random.below(3) == 0 ? no_time : static_cast<double>(random.below(100)) / 7;
      tree.set(slot, times[slot]);
      const auto first = std::ranges::min_element(times);
      ASSERT_EQ(tree.first_time(), *first);
      ASSERT_EQ(tree.time(slot), times[slot]);
      if (*first != no_time) {
        ASSERT_EQ(tree.first(), first - times.begin());
      }
    }
  }
}

TEST(Tournament, TiesGoToTheLowestSlot) {
  tournament tree{20};
  for (std::uint32_t slot = 20; slot-- > 0;) tree.set(slot, 1.5);
  for (std::uint32_t slot = 0; slot < 20; ++slot) {
    EXPECT_EQ(tree.first(), slot);
    tree.set(slot, no_time);
  }
  EXPECT_EQ(tree.first_time(), no_time);
}

TEST(Tournament, AnyNumberOfSlots) {
  for (std::uint32_t slots = 1; slots <= 70; ++slots) {
    tournament tree{slots};
    EXPECT_EQ(tree.first_time(), no_time);
    for (std::uint32_t slot = 0; slot < slots; ++slot) tree.set(slot, 1.0 + slot);
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      EXPECT_EQ(tree.first(), slot);
      tree.set(slot, no_time);
    }
    EXPECT_EQ(tree.first_time(), no_time);
  }
}

TEST(Tournament, NegativeZeroIsZero) {
  tournament tree{2};
  tree.set(0, 0.0);
  tree.set(1, -0.0);
  EXPECT_EQ(tree.first(), 0U);
  EXPECT_FALSE(std::signbit(tree.time(1)));
}

}  // namespace
}  // namespace rubato::sim
