#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/core/speed_classes.hpp>
#include <vector>

namespace rubato {
namespace {

TEST(SpeedClasses, ClassesAreOrdered) {
  std::uint32_t last = 0;
  for (float t = 0x1p-40F; t < 0x1p40F; t *= 1.01F) {
    const std::uint32_t speed = speed_classes::class_of(t);
    ASSERT_GE(speed, last);
    ASSERT_LE(speed, last + 1) << "no class is left out";
    last = speed;
  }
  EXPECT_EQ(last, speed_classes::count - 1);
  EXPECT_EQ(speed_classes::class_of(0.0F), 0u);
  EXPECT_EQ(speed_classes::class_of(-1.0F), 0u);
  EXPECT_EQ(speed_classes::class_of(std::numeric_limits<float>::infinity()), 255u);
  EXPECT_EQ(speed_classes::class_of(std::numeric_limits<float>::quiet_NaN()), 255u);
}

TEST(SpeedClasses, AClassIsAQuarterOctave) {
  for (std::uint32_t speed = 1; speed + 1 < speed_classes::count; ++speed) {
    const float edge = speed_classes::lower_edge(speed);
    ASSERT_EQ(speed_classes::class_of(edge), speed);
    ASSERT_EQ(speed_classes::class_of(std::nextafter(edge, 0.0F)), speed - 1);
  }
  EXPECT_EQ(speed_classes::lower_edge(128), 1.0F);
  EXPECT_EQ(speed_classes::lower_edge(129), 1.25F);
  EXPECT_EQ(speed_classes::lower_edge(132), 2.0F);
}

TEST(SpeedClasses, RankCountsTheFaster) {
  speed_classes speeds;
  random_sequence random{1};
  std::vector<std::uint32_t> all;
  for (int step = 0; step < 3000; ++step) {
    if (!all.empty() && random.below(3) == 0) {
      const std::size_t i = random.below(all.size());
      speeds.remove(all[i]);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      all.push_back(static_cast<std::uint32_t>(random.below(speed_classes::count)));
      speeds.add(all.back());
    }
    ASSERT_EQ(speeds.size(), all.size());
    const auto asked = static_cast<std::uint32_t>(random.below(speed_classes::count));
    ASSERT_EQ(speeds.rank(asked), std::ranges::count_if(all, [&](std::uint32_t s) { return s < asked; }));
  }
}

TEST(SpeedClasses, MedianIsAMiddleClass) {
  speed_classes speeds;
  EXPECT_EQ(speeds.median(), 0u);
  random_sequence random{2};
  std::vector<std::uint32_t> all;
  for (int step = 0; step < 500; ++step) {
    all.push_back(static_cast<std::uint32_t>(random.below(speed_classes::count)));
    speeds.add(all.back());
    std::ranges::sort(all);
    ASSERT_EQ(speeds.median(), all[all.size() / 2]);
  }
  for (int more = 0; more < 600; ++more) speeds.add(250);
  EXPECT_EQ(speeds.median(), 250u) << "among the slowest";
}

TEST(SpeedClasses, MoveIsRemoveAndAdd) {
  random_sequence random{3};
  speed_classes moved, replaced;
  std::vector<std::uint32_t> speeds(50);
  for (std::uint32_t& s : speeds) moved.add(s = static_cast<std::uint32_t>(random.below(256))), replaced.add(s);
  for (int step = 0; step < 2000; ++step) {
    std::uint32_t& s = speeds[random.below(speeds.size())];
    const auto to = random.below(4) == 0 ? s : static_cast<std::uint32_t>(random.below(256));
    moved.move(s, to);
    replaced.remove(s);
    replaced.add(to);
    s = to;
    ASSERT_EQ(moved.size(), replaced.size());
    ASSERT_EQ(moved.median(), replaced.median());
    for (const std::uint32_t c : {0u, 17u, 128u, 255u}) ASSERT_EQ(moved.rank(c), replaced.rank(c));
  }
}

}  // namespace
}  // namespace rubato
