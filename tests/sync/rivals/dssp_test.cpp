#include <rubato/sync/rivals/dssp.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <vector>

#include "../../support/cluster.hpp"
#include "../../support/metronome.hpp"

namespace {

using namespace rubato;
using push_rhythm = dssp::rhythm;

TEST(Dssp, ExtraStepsByHand) {
  // Pushes of the fast one at 10, 12, 14, 16, 18; of the slow one at 15, 22, 29, ...: 14 and 16 are equally near to 15.
  EXPECT_EQ(dssp::extra_steps({10, 2}, {8, 7}, 4), 2u);
  EXPECT_EQ(dssp::extra_steps({10, 2}, {8, 7}, 1), 1u) << "12 is nearer than 10";
  EXPECT_EQ(dssp::extra_steps({10, 2}, {8, 7}, 0), 0u);
  // At 10, 13, 16, 19, 22 against 15, 22: the second push of the slow one is met exactly.
  EXPECT_EQ(dssp::extra_steps({10, 3}, {8, 7}, 4), 4u);
  EXPECT_EQ(dssp::extra_steps({10, 3}, {8, 7}, 3), 2u);
  // The slow one is about to push: nothing is gained by a step.
  EXPECT_EQ(dssp::extra_steps({10, 2}, {3, 7}, 4), 0u);
  // It is overdue already.
  EXPECT_EQ(dssp::extra_steps({10, 2}, {1, 1}, 4), 0u);
}

TEST(Dssp, ExtraStepsAgreeWithASearch) {
  random_sequence random{1};
  for (int n = 0; n < 2000; ++n) {
    const bool ties = n % 2 == 0;
    const auto draw = [&](double most) {
      return ties ? static_cast<double>(random.below(static_cast<std::uint64_t>(most))) : random.uniform() * most;
    };
    const push_rhythm fast{10 + draw(5), draw(4)};
    const push_rhythm slow{draw(15), draw(12)};
    const clock_type most = random.below(20);
    clock_type best = 0;
    double nearest = std::numeric_limits<double>::infinity();
    for (clock_type r = 0; r <= most; ++r)
      for (clock_type j = 1; j <= most + 1; ++j) {
        const double apart = std::abs((fast.last + static_cast<double>(r) * fast.interval) -
                                      (slow.last + static_cast<double>(j) * slow.interval));
        if (apart < nearest) nearest = apart, best = r;
      }
    ASSERT_EQ(dssp::extra_steps(fast, slow, most), best) << n;
  }
}

TEST(Dssp, StretchesForTheFastest) {
  test::cluster c{dssp{.lower = 1, .upper = 4}, 2};
  const std::vector<std::uint32_t> both{0, 1};
  const std::vector<std::uint32_t> slow_only{1};
  c.at(1).push(0);
  EXPECT_EQ(c.running(), both) << "a lead of 1";
  c.at(2).push(0);
  EXPECT_EQ(c.running(), slow_only) << "a lead of 2, and nothing is known of the slow one";
  c.at(4).push(1).at(5).push(0);
  EXPECT_EQ(c.running(), slow_only) << "one push makes no interval";
  c.at(8).push(1).at(9).push(0);
  EXPECT_EQ(c.running(), both) << "9, 13, 17 against 12, 16, 20: one further step";
  c.at(10).push(0);
  EXPECT_EQ(c.running(), both) << "10, 11, 12 against 12: two further steps";
  c.at(11).push(0);
  EXPECT_EQ(c.running(), both) << "the second of them, with a lead of 4";
  c.at(12).push(0);
  EXPECT_EQ(c.running(), slow_only) << "a lead of 5";
  c.at(12).push(1).at(16).push(1).at(20).push(1);
  EXPECT_EQ(c.running(), slow_only) << "a lead of 2 is more than the lower bound";
  c.at(24).push(1);
  EXPECT_EQ(c.running(), both);
  EXPECT_EQ(c.overrides(), 0u);
}

// No more steps are planned than the upper bound allows from here on: of 11.125, 12.1875 against 11, 13.25 the first,
// though the third, 13.25, would be nearest of all.
TEST(Dssp, PlansWithinWhatIsLeftOfTheRange) {
  test::cluster c{dssp{.lower = 1, .upper = 4}, 2};
  c.at(1).push(0).at(2).push(0).at(6.5).push(1).at(7).push(0).at(8.75).push(1).at(9).push(0);
  ASSERT_EQ(c.running().size(), 2u);
  c.at(10.0625).push(0);
  EXPECT_EQ(c.running().size(), 2u);
  EXPECT_EQ(c.control().policy().known[0].extra, 0u);
}

// Whatever steps it believes to have granted, as after a load of forged bytes.
TEST(Dssp, TheUpperBoundIsKeptOverGrantedSteps) {
  struct generous : dssp {
    generous() { lower = 1, upper = 3; }
    void observe(const feedback& f) noexcept { known[f.what.worker].extra = 100; }
  };
  test::metronome run{generous{}, {1.0, 20.0}, {.guard = {.enabled = false}}};
  for (int n = 0; n < 100; ++n) {
    ASSERT_TRUE(run.run(1).ok());
    const roster& all = run.control().workers();
    if (all[0].state == worker_state::running) {
      ASSERT_LE(all.clock().clock(0) - all.clock().minimum(), 3u);
    }
  }
}

// The step that is granted is used up although the lead has fallen meanwhile.
TEST(Dssp, GrantedStepsAreUsedUpAtAnyLead) {
  test::cluster c{dssp{.lower = 1, .upper = 9}, 2};
  c.at(1).push(0).at(2).push(0).at(4).push(1).at(5).push(0).at(8).push(1).at(9).push(0).at(10).push(0);
  ASSERT_EQ(c.control().policy().known[0].extra, 1u) << "two steps were granted, of which one has begun";
  c.at(10.25).push(1).at(10.5).push(1).at(10.75).push(1);
  ASSERT_EQ(c.clock(0), c.clock(1));
  c.at(11).push(0);
  EXPECT_EQ(c.control().policy().known[0].extra, 0u);
}

// Times may have any origin, so a worker that has pushed once or never must not look like one that pushes at 0.
TEST(Dssp, NothingIsPredictedFromOnePush) {
  test::cluster c{dssp{.lower = 0, .upper = 9}, 2, {.quorum = 1}};
  for (double time = 1; time < 5; ++time) c.at(time).push(0).at(time).push(1);
  c.die(1).join(1);
  c.at(8).push(0);
  EXPECT_EQ(c.running(), std::vector{1u});

  EXPECT_EQ(dssp::extra_steps({-5, 2}, {0, 0}, 9), 2u) << "what a worker without a push would look like";
  controller<dssp, int> sync{{.capacity = 2}, {.lower = 0, .upper = 9}};
  const auto quiet = [](int, worker_id, const grant&) {};
  for (const std::uint32_t w : {0u, 1u}) ASSERT_EQ(sync.join({w}, -11, 0, quiet), errc::ok);
  const auto push = [&](std::uint32_t w, double now) { return sync.push({.worker = {w}, .now = now}, 0, quiet); };
  ASSERT_EQ(push(0, -9), errc::ok);
  ASSERT_EQ(push(1, -8), errc::ok);
  ASSERT_EQ(sync.depart({1}, -8, cause::leave, quiet), errc::ok);
  ASSERT_EQ(sync.join({1, 1}, -8, 0, quiet), errc::ok);
  ASSERT_EQ(push(0, -7), errc::ok);
  EXPECT_EQ(sync.workers()[0].state, worker_state::parked);
}

TEST(Dssp, OnlyTheFastestIsPredicted) {
  test::cluster c{dssp{.lower = 0, .upper = 8}, 3};
  // All three have intervals of 1; worker 2 then stays behind.
  for (double time = 1; time < 4; ++time) c.at(time).push(0).at(time).push(1).at(time).push(2);
  c.at(4).push(2).at(4).push(0).at(4).push(1);
  ASSERT_EQ(c.running().size(), 3u);
  c.at(4.25).push(0);
  ASSERT_EQ(c.state(0), worker_state::running) << "4.25, 4.5, ... against 5: three further steps";
  c.at(4.5).push(0);
  ASSERT_EQ(c.state(0), worker_state::running);
  c.at(4.5).push(1);
  EXPECT_EQ(c.state(1), worker_state::parked) << "it is ahead of the slowest, but not the fastest";
}

TEST(Dssp, NeverMoreThanUpperAhead) {
  for (const double slow : {3.0, 20.0, 1000.0}) {
    test::metronome run{dssp{.lower = 2, .upper = 7}, {1.0, 1.25, slow}, {.guard = {.enabled = false}}};
    clock_type widest = 0;
    for (int n = 0; n < 400; ++n) {
      ASSERT_TRUE(run.run(1).ok());
      const roster& all = run.control().workers();
      for (std::uint32_t w = 0; w < 3; ++w)
        if (all[w].state == worker_state::running)
          widest = std::max(widest, all.clock().clock(w) - all.clock().minimum());
    }
    EXPECT_LE(widest, 7u);
    EXPECT_GT(widest, 2u) << "the range is used";
  }
}

// What the range is for: with one slow worker the fast one waits less often than under the lower bound.
TEST(Dssp, FastWorkersWaitLessThanUnderTheLowerBound) {
  const auto steps = [](clock_type upper) {
    test::metronome run{dssp{.lower = 1, .upper = upper}, {1.0, 1.0, 2.0, 4.75}};
    EXPECT_TRUE(run.run(400).ok());
    return run.control().workers().clock().maximum() - run.control().workers().clock().minimum();
  };
  EXPECT_GT(steps(8), steps(1));
}

TEST(Dssp, SurvivesDepartureOfTheSlowest) {
  test::cluster c{dssp{.lower = 1, .upper = 3}, 3};
  c.push(0).push(0).push(1).push(1);
  ASSERT_EQ(c.parked(), (std::vector{0u, 1u}));
  c.die(2);
  EXPECT_EQ(c.running(), (std::vector{0u, 1u}));
  EXPECT_EQ(c.overrides(), 0u);
}

TEST(Dssp, ForgetsAnEarlierLife) {
  test::cluster c{dssp{.lower = 1, .upper = 3}, 2};
  c.push(1).push(1);
  ASSERT_EQ(c.control().policy().known[1].seen, 2u);
  c.die(1).join(1);
  EXPECT_EQ(c.control().policy().known[1].seen, 0u);
}

TEST(Dssp, IntervalsAreSmoothed) {
  dssp policy{.smoothing = 0.25};
  policy.resize(1);
  for (const double time : {1.0, 3.0, 9.0}) policy.observe({.what = {.worker = 0, .now = time}});
  EXPECT_DOUBLE_EQ(policy.known[0].pushes.interval, 2.0 + 0.25 * (6.0 - 2.0));
}

TEST(Dssp, RefusesBadOptions) {
  EXPECT_EQ(dssp{}.problem(4), "");
  EXPECT_EQ((dssp{.lower = 3, .upper = 2}.problem(4)), "upper is 2, expected at least 3, the lower bound");
  EXPECT_EQ((dssp{.lower = 0, .upper = 70'000}.problem(4)),
            "upper - lower is 70000, expected 0 to 65535, for its cost");
  EXPECT_EQ((dssp{.smoothing = 0.0}.problem(4)), "smoothing is 0, expected a number above 0, at most 1");
  EXPECT_NE((dssp{.smoothing = std::nan("")}.problem(4)), "");
}

TEST(Dssp, RefusesStateThatNoRunLeaves) {
  const auto loads = [](double last, double interval, std::uint8_t seen) {
    dssp saved, loaded;
    saved.resize(1), loaded.resize(1);
    saved.known[0].pushes = {last, interval};
    saved.known[0].seen = seen;
    archive out;
    saved.state(out);
    archive in{out.bytes()};
    loaded.state(in);
    return in.finished();
  };
  EXPECT_TRUE(loads(1.0, 2.0, 2));
  EXPECT_FALSE(loads(std::numeric_limits<double>::infinity(), 2.0, 2));
  EXPECT_FALSE(loads(1.0, std::nan(""), 2));
  EXPECT_FALSE(loads(1.0, 2.0, 3));
}

TEST(Dssp, DescribesItself) {
  EXPECT_EQ(dssp{}.describe().json, R"({"kind":"dssp","lower":3,"upper":15,"smoothing":1})");
  EXPECT_EQ((dssp{.lower = 2, .upper = unbounded}.describe().json),
            R"({"kind":"dssp","lower":2,"upper":null,"smoothing":1})");
  EXPECT_EQ((dssp{.lower = unbounded, .upper = unbounded}.describe().json),
            R"({"kind":"dssp","lower":null,"upper":null,"smoothing":1})");
  EXPECT_EQ(dssp{}.clock_bound(), 15u);
  EXPECT_EQ(dssp{}.max_legal_wait(0), 13.0);
}

}  // namespace
