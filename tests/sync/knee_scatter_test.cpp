#include <rubato/sync/knee.hpp>

#include "knee_machine.hpp"

#include <limits>

namespace {

using namespace rubato;
using test::cores;
using test::knee_machine;

// One step in three is followed by a pause of eight, of whoever it is.
struct pauses {
  random_sequence random{5};

  void run(knee_machine& machine, std::uint32_t steps) {
    while (steps-- > 0) {
      for (double& sleep : machine.sleep) sleep = random.below(3) == 0 ? 8.0 : 0.0;
      machine.run(1);
    }
    std::ranges::fill(machine.sleep, 0.0);
  }
  // In how many of so many steps fewer than all ran.
  [[nodiscard]] std::uint32_t tries(knee_machine& machine, std::uint32_t steps) {
    std::uint32_t tries = 0;
    while (steps-- > 0) {
      run(machine, 1);
      tries += machine.running() < machine.sleep.size() ? 1U : 0U;
    }
    return tries;
  }
};

TEST(KneeScatter, TriesNothingWhileStepsScatter) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  knee_machine machine{{}, 10, cores(2)}, eager{{.most_scatter = infinity}, 10, cores(2)};
  pauses{}.run(eager, 400);
  EXPECT_LT(eager.control().policy().parallelism(), 10u);
  pauses chance;
  chance.run(machine, 100);  // of which it sees how much they scatter
  EXPECT_EQ(chance.tries(machine, 2000), 0u);
  EXPECT_EQ(machine.control().policy().parallelism(), 10u);
  EXPECT_TRUE(machine.ok());
}

// A trial that is lost to scatter settles the levels in between as well.
TEST(KneeScatter, OneTrialShowsTheScatter) {
  for (const std::uint64_t seed : {5u, 6u, 7u}) {
    knee_machine machine{{}, 16, cores(2)};
    EXPECT_LE(pauses{random_sequence{seed}}.tries(machine, 160), 90u);
  }
}

TEST(KneeScatter, FollowsTheScatter) {
  knee_machine machine{{}, 10, cores(4)};
  machine.run(200);
  EXPECT_EQ(machine.control().policy().parallelism(), 4u);
  pauses{}.run(machine, 1000);
  EXPECT_EQ(machine.control().policy().parallelism(), 10u);
  machine.run(400);
  EXPECT_EQ(machine.control().policy().parallelism(), 4u) << "what counts are the last eight windows";
}

// Steps of one to five times the time, whose logarithms have a variance of 0.19. In the first trial a worker's usual
// time is that of one such step, so what is seen there has twice that.
TEST(KneeScatter, FirstStepsScatterTwice) {
  knee_machine machine{{}, 20, cores(4)};
  machine.jitter = 400;
  machine.run(160);
  EXPECT_NEAR(machine.control().policy().parallelism(), 5.0, 2.0);
}

// By how much longer steps take at another level is known of all workers together. That each differs, as those do that
// sleep between steps, is no scatter of the steps at the level that was found.
TEST(KneeScatter, EqualStepsDoNotScatter) {
  knee_machine machine{{}, 10, cores(2)};
  for (std::uint32_t w = 0; w < 3; ++w) machine.sleep[w] = 5.0;
  machine.run(200);
  for (int push = 0; push < 4000; ++push) ASSERT_LE(machine.run(1).control().policy().parallelism(), 3u) << push;
}

TEST(KneeScatter, WorkersThatDifferDoNotScatter) {
  knee_machine machine{{}, 48, cores(3)};
  machine.jitter = 10;
  for (std::uint32_t w = 0; w < 48; ++w) {
    machine.speed[w] = 0.5 + 0.25 * (w % 7);
    machine.sleep[w] = w % 4 == 0 ? 32.0 : 0.0;
  }
  machine.run(480);
  for (int push = 0; push < 4000; ++push) ASSERT_LE(machine.run(1).control().policy().parallelism(), 6u) << push;
}

TEST(KneeScatter, PausesMayComeAndGoForEver) {
  knee_machine machine{{}, 10, cores(4)};
  for (int round = 0; round < 150; ++round) {
    pauses{}.run(machine, 1000);
    machine.run(1000);
    ASSERT_NEAR(machine.control().policy().parallelism(), 4.0, 2.0) << round;
  }
}

TEST(KneeScatter, ForgetsNoScatter) {
  for (const std::uint32_t steps : {10u, 40u, 100u}) {
    knee_machine machine{{}, 10, cores(4)};
    machine.run(200);
    pauses chance;
    chance.run(machine, steps);
    knee_machine copy = test::restored(machine);
    pauses same = chance;
    for (int n = 0; n < 400; ++n) {
      chance.run(machine, 1), same.run(copy, 1);
      ASSERT_EQ(machine.now(), copy.now()) << steps << ", " << n;
    }
  }
}

}  // namespace
