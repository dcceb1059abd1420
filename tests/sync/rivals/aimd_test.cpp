#include <rubato/sync/rivals/aimd.hpp>
#include <rubato/sync/rivals/k_sync.hpp>

#include <cmath>
#include <limits>

#include "../../support/shared_machine.hpp"
#include "../recorder.hpp"

namespace {

using namespace rubato;
using aimd_machine = test::shared_machine<aimd>;

std::function<double(double)> saturating_at(double cores) {
  return [cores](double n) { return (std::min)(n, cores); };
}

TEST(Aimd, SawsBelowTheKnee) {
  for (const std::uint32_t c : {2u, 4u, 8u}) {
    aimd_machine machine{{}, 12, saturating_at(c)};
    machine.run(200);
    std::uint32_t least = 12;
    std::uint32_t most = 0;
    for (int n = 0; n < 2000; ++n) {
      const std::uint32_t level = machine.run(1).control().policy().parallelism();
      least = (std::min)(least, level), most = (std::max)(most, level);
    }
    EXPECT_LE(least, (c + 1) / 2 + 1) << c;
    EXPECT_GE(most, c + 1) << c;
    EXPECT_LE(most, c + 3) << c;
    EXPECT_TRUE(machine.ok());
  }
}

TEST(Aimd, RunsEverybodyWhereNothingIsShared) {
  aimd_machine machine{{}, 10, [](double n) { return n; }};
  machine.run(300);
  EXPECT_GT(machine.mean_running(1000), 9.9);
}

TEST(Aimd, FollowsADrift) {
  aimd_machine machine{{}, 12, saturating_at(10)};
  EXPECT_GT(machine.run(1000).mean_running(1000), 6.0);
  machine.curve = saturating_at(2);
  EXPECT_LT(machine.run(1000).mean_running(1000), 4.0);
  machine.curve = saturating_at(10);
  EXPECT_GT(machine.run(1000).mean_running(1000), 6.0);
}

TEST(Aimd, SurvivesJoinsAndDeaths) {
  aimd_machine machine{{}, 10, saturating_at(4), {.quorum = 10, .guard = {.enabled = false}}};
  machine.run(500);
  for (std::uint32_t w = 0; w < 9; ++w) machine.die(w).run(20);
  EXPECT_EQ(machine.running(), 1u);
  for (std::uint32_t w = 0; w < 9; ++w) machine.join(w).run(20);
  EXPECT_GT(machine.run(300).mean_running(500), 2.5);
  EXPECT_TRUE(machine.ok());
}

// A worker's first step, or a later one. A minimum of 1e-30 would rise for ever, and all other steps seem longer.
TEST(Aimd, AStepOfNoDurationIsForgotten) {
  for (const std::uint32_t before : {0u, 300u}) {
    aimd_machine machine{{}, 10, saturating_at(4)};
    machine.jitter = 20;
    const auto has_just_started = [&](std::uint32_t w) {
      const worker_record& r = machine.control().workers()[w];
      return r.state == worker_state::running && r.granted_at == machine.now();
    };
    machine.run(before);
    std::uint32_t w = 0;
    while (!has_just_started(w))
      if (++w == 10) w = 0, machine.run(1);
    machine.speed[w] = 1e30;
    ASSERT_LT(machine.run(1).control().workers()[w].step_time, 1e-20F);
    machine.speed[w] = 1.0;
    EXPECT_GT(machine.mean_running(2000), 3.5) << before;
  }
}

TEST(Aimd, CancelledStepsAreNotMeasured) {
  test::bench<> b{k_sync{.k = 1}, 2};
  b.push(0);  // cancels 1
  b.push(1), b.push(1);
  EXPECT_EQ(b.sync.workers()[0].doomed, reason::cancelled);
  ASSERT_EQ(b.sync.switch_to(aimd{}, b.now, pending_gradients::flush, b.sink), errc::ok);
  b.push(0);
  EXPECT_EQ(b.sync.policy().target<aimd>()->each_[0].shortest, 0.0F) << "its step before was not aimd's";
}

TEST(Aimd, BeginsWithOneWorker) { EXPECT_EQ(aimd{}.parallelism(), 1u); }

TEST(Aimd, AStepThatBeganBeforeTheLevelWasSetIsNoMeasureOfIt) {
  test::bench<aimd> b{aimd{}, 2};
  const std::uint32_t first = b.state(0) == worker_state::running ? 0 : 1, other = 1 - first;
  ASSERT_EQ(b.state(other), worker_state::parked);
  b.push(first);  // two may run: both begin
  b.push(first), b.push(first);
  ASSERT_EQ(b.sync.policy().parallelism(), 3u);
  b.push(other);
  EXPECT_EQ(b.sync.policy().samples_, 0u);
}

TEST(Aimd, ForgetsNothing) {
  aimd_machine machine{{}, 10, saturating_at(4)};
  machine.run(77);
  aimd_machine copy = test::restored(machine);
  for (int n = 0; n < 300; ++n) ASSERT_EQ(machine.run(1).now(), copy.run(1).now()) << n;
}

TEST(Aimd, ForgetsAnEarlierLife) {
  const auto saved = [](aimd policy) {
    archive bytes;
    policy.state(bytes);
    return std::vector<std::byte>(bytes.bytes().begin(), bytes.bytes().end());
  };
  test::bench<aimd> b{{}, 2};
  for (int step = 0; step < 3; ++step) b.push(0);
  aimd forgetful = b.sync.policy();
  forgetful.reset(0);
  EXPECT_NE(saved(forgetful), saved(b.sync.policy()));
}

TEST(Aimd, RefusesOptionsOutOfRange) {
  EXPECT_EQ(aimd{.tolerance = 0.0F}.problem(4), "tolerance is 0, expected a number above 0");
  EXPECT_EQ(aimd{.tolerance = std::numeric_limits<float>::infinity()}.problem(4),
            "tolerance is inf, expected a number above 0");
  EXPECT_EQ(aimd{.tolerance = std::nanf("")}.problem(4), "tolerance is nan, expected a number above 0");
  EXPECT_EQ(aimd{.decrease = 1.0F}.problem(4), "decrease is 1, expected a number above 0 and below 1");
  EXPECT_EQ(aimd{.decrease = 0.0F}.problem(4), "decrease is 0, expected a number above 0 and below 1");
  EXPECT_EQ(aimd{}.problem(1), "");
}

TEST(Aimd, DescribesItself) { EXPECT_EQ(aimd{}.describe().json, R"({"kind":"aimd","tolerance":0.2,"decrease":0.5})"); }

}  // namespace
