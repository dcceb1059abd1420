#include <rubato/sim/burst_process.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace rubato::sim {
namespace {

TEST(BurstProcess, TakesItsShareOfTime) {
  burst_process bursts{10, 30, 5, 1, 2};
  int within = 0;
  for (int t = 0; t < 400'000; ++t) within += bursts.at(t) ? 1 : 0;
  EXPECT_NEAR(within / 400'000.0, 0.25, 0.01);

  int first = 0;
  for (std::uint64_t seed = 0; seed < 4'000; ++seed) first += burst_process{10, 30, seed, 1, 2}.at(0) ? 1 : 0;
  EXPECT_NEAR(first / 4'000.0, 0.25, 0.03) << "at the beginning as later";
}

TEST(BurstProcess, ChangesAsOftenAsItShould) {
  burst_process bursts{10, 30, 6, 1, 2};
  int changes = 0;
  bool before = bursts.at(0);
  while (bursts.end() < 40'000) {
    const bool now = bursts.at(bursts.end());
    EXPECT_NE(now, before) << "what at() has found ends at end()";
    before = now;
    ++changes;
  }
  EXPECT_NEAR(changes, 2'000, 200) << "twice every 40 units of time";
}

TEST(BurstProcess, AskedWheneverTheSame) {
  burst_process often{2, 3, 7, 1, 2}, seldom{2, 3, 7, 1, 2};
  for (int t = 0; t < 1'000; ++t) {
    const bool now = often.at(t);
    if (t % 50 == 0) {
      EXPECT_EQ(seldom.at(t), now) << t;
    }
  }
  burst_process other{2, 3, 8, 1, 2};
  int differ = 0;
  for (int t = 1'000; t < 1'100; ++t) differ += other.at(t) != often.at(t) ? 1 : 0;
  EXPECT_GT(differ, 10) << "another seed";
}

}  // namespace
}  // namespace rubato::sim
