#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/controller.hpp>
#include <rubato/sync/extras/straggler_detector.hpp>
#include <tuple>
#include <vector>

namespace rubato::straggler_detector_test {
namespace {

using kind = record::kind;

// A window that ends with every round of one step each.
constexpr straggler_options each_round{.window = 0, .steps = 1};
constexpr straggler_options published{.test = straggler_options::published, .window = 0, .steps = 1};

// One that has seen so many workers come.
straggler_detector watching(std::uint32_t workers, const straggler_options& o = each_round) {
  straggler_detector seen{workers, o};
  for (std::uint32_t w = 0; w < workers; ++w) seen({.what = kind::join, .worker = {w}});
  return seen;
}
// One window: a step of each of these workers, which took so long.
void round_of(straggler_detector& seen, const std::vector<double>& times, double& now) {
  now += *std::max_element(times.begin(), times.end());
  for (std::uint32_t w = 0; w < times.size(); ++w) seen.note_step({w}, times[w], now);
}
void rounds_of(straggler_detector& seen, const std::vector<double>& times, int rounds) {
  double now = 0;
  for (int r = 0; r < rounds; ++r) round_of(seen, times, now);
}
// Eight workers, of which so many take `times` as long.
std::vector<double> slow_ones(std::uint32_t slow, double times) {
  std::vector<double> all(8, 1.0);
  std::fill_n(all.begin(), slow, times);
  return all;
}

struct deaf {
  void release(int, worker_id, const grant&) {}
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
};

TEST(StragglerDetector, ComparesOwnStepTimesBehindABarrier) {
  controller<bsp, int, straggler_detector> sync{{.capacity = 4}, bsp{}, straggler_detector{4, {.window = 20}}};
  deaf sink;
  for (std::uint32_t w = 0; w < 4; ++w) ASSERT_EQ(sync.join({w}, 0, 1, sink), errc::ok);
  straggler_detector& seen = sync.watcher();
  for (int round = 0; round < 30; ++round) {
    EXPECT_EQ(seen.count(), 0U) << "in round " << round;
    for (std::uint32_t w = 0; w < 4; ++w)  // the last one takes four times as long, and all wait for it
      ASSERT_EQ(sync.push({.worker = {w}, .now = 4.0 * round + (w == 3 ? 4 : 1)}, 1, sink), errc::ok);
  }
  for (std::uint32_t w = 0; w < 4; ++w) EXPECT_EQ(sync.workers()[w].step, 30U) << "as many pushes of each";
  EXPECT_EQ(seen.windows(), 3U) << "ten rounds each, which take longer than 20";
  EXPECT_EQ(seen.count(), 1U);
  EXPECT_TRUE(seen.straggles(3));
  EXPECT_DOUBLE_EQ(seen.step_time(0), 1);
  EXPECT_DOUBLE_EQ(seen.step_time(3), 4);
  ASSERT_TRUE(seen.worst());
  EXPECT_EQ(seen.worst()->who, (worker_id{3}));
  EXPECT_DOUBLE_EQ(seen.worst()->step_time, 4);
  EXPECT_DOUBLE_EQ(seen.worst()->median, 1);
}

TEST(StragglerDetector, WindowsInARow) {
  straggler_detector seen = watching(4);
  double now = 0;
  for (int r = 0; r < 2; ++r) round_of(seen, {1, 1, 1, 2}, now);
  round_of(seen, {1, 1, 1, 1}, now);
  for (int r = 0; r < 2; ++r) round_of(seen, {1, 1, 1, 2}, now);
  EXPECT_EQ(seen.count(), 0U) << "never three in a row";
  round_of(seen, {1, 1, 1, 2}, now);
  EXPECT_TRUE(seen.straggles(3));
  EXPECT_EQ(seen.count(), 1U);
}

TEST(StragglerDetector, WindowIsOfTimeAndOfSteps) {
  straggler_detector quick = watching(2, {.window = 5, .steps = 3});  // steps of 0.1: the time is what is waited for
  double now = 0;
  for (int r = 0; r < 49; ++r) round_of(quick, {0.1, 0.1}, now);
  EXPECT_EQ(quick.windows(), 0U);
  round_of(quick, {0.2, 0.2}, now);
  EXPECT_EQ(quick.windows(), 1U);

  straggler_detector leisurely = watching(2, {.window = 5, .steps = 3});  // steps of 4: their number is
  now = 0;
  for (int r = 0; r < 2; ++r) round_of(leisurely, {4, 4}, now);
  EXPECT_EQ(leisurely.windows(), 0U);
  round_of(leisurely, {4, 4}, now);
  EXPECT_EQ(leisurely.windows(), 1U);

  straggler_detector uneven = watching(2, {.window = 5, .steps = 3});  // on average: who is slow need not make them
  for (int step = 1; step <= 5; ++step) uneven.note_step({0}, 1, step);
  uneven.note_step({1}, 6, 6);
  EXPECT_EQ(uneven.windows(), 1U);
  EXPECT_DOUBLE_EQ(uneven.step_time(1), 6);
}

TEST(StragglerDetector, NeitherFiresWhereHalfAreSlow) {
  for (const straggler_options& o : {each_round, published})
    for (std::uint32_t slow = 1; slow < 8; ++slow) {
      straggler_detector seen = watching(8, o);
      rounds_of(seen, slow_ones(slow, 4), 10);
      EXPECT_EQ(seen.count(), slow < 4 ? slow : 0) << slow << " of 8, test " << o.test;
    }
}

TEST(StragglerDetector, PublishedFiresOnAnySlowdown) {
  for (const auto& [times, by_published, by_robust] :
       {std::tuple{1.01, 1U, 0U}, {1.24, 1U, 0U}, {1.26, 1U, 1U}, {4.0, 1U, 1U}}) {
    straggler_detector as_published = watching(8, published), robust = watching(8);
    rounds_of(as_published, slow_ones(1, times), 3);
    rounds_of(robust, slow_ones(1, times), 3);
    EXPECT_EQ(as_published.count(), by_published) << times;
    EXPECT_EQ(robust.count(), by_robust) << times;
  }
}

// Equal workers, whose steps vary by a twentieth: how often each test finds one slow in a window, and for long.
TEST(StragglerDetector, PublishedFiresOnNoise) {
  constexpr std::uint32_t workers = 32;
  constexpr int rounds = 2000;
  straggler_options one = published;
  one.windows = 1;
  straggler_detector in_one_window = watching(workers, one), in_three = watching(workers, published),
                     robust = watching(workers);
  std::uint64_t slow = 0, for_long = 0;
  double now = 0;
  for (int r = 0; r < rounds; ++r) {
    random_sequence random{7, static_cast<std::uint64_t>(r)};
    std::vector<double> times(workers);
    for (double& t : times) t = 1 + 0.05 * random.normal();
    double same = now;
    round_of(in_one_window, times, same);
    same = now;
    round_of(in_three, times, same);
    round_of(robust, times, now);
    slow += in_one_window.count();
    for_long += in_three.count();
    EXPECT_EQ(robust.count(), 0U) << "in round " << r;
  }
  EXPECT_NEAR(static_cast<double>(slow) / (workers * rounds), 0.16, 0.02) << "the lower tail of a Gaussian";
  EXPECT_GT(for_long, 32U) << "three in a row come by chance";
}

TEST(StragglerDetector, RecoversWithHysteresis) {
  straggler_detector seen = watching(4);
  double now = 0;
  for (int r = 0; r < 3; ++r) round_of(seen, {1, 1, 1, 2}, now);
  ASSERT_TRUE(seen.straggles(3));
  for (int r = 0; r < 5; ++r) round_of(seen, {1, 1, 1, 1 / 0.85}, now);  // not far below, but not back
  EXPECT_TRUE(seen.straggles(3));
  round_of(seen, {1, 1, 1, 1 / 0.95}, now);
  EXPECT_FALSE(seen.straggles(3));
  EXPECT_EQ(seen.count(), 0U);
  for (int r = 0; r < 2; ++r) round_of(seen, {1, 1, 1, 2}, now);
  EXPECT_FALSE(seen.straggles(3)) << "it takes as many windows as at first";
  round_of(seen, {1, 1, 1, 2}, now);
  EXPECT_TRUE(seen.straggles(3));

  straggler_detector by_paper = watching(4, published);
  now = 0;
  for (int r = 0; r < 3; ++r) round_of(by_paper, {1, 1, 1, 2}, now);
  ASSERT_TRUE(by_paper.straggles(3));
  round_of(by_paper, {1, 1, 1, 1}, now);
  EXPECT_FALSE(by_paper.straggles(3));
}

// A controller that is watched, without a barrier.
struct watched {
  controller<asp, int, straggler_detector> sync;
  deaf sink{};
  double now = 0;

  explicit watched(std::uint32_t workers)
      : sync{{.capacity = workers}, asp{}, straggler_detector{workers, each_round}} {
    for (std::uint32_t w = 0; w < workers; ++w) EXPECT_EQ(sync.join({w}, 0, 1, sink), errc::ok);
  }
  // A step of everybody who is there, all from now on; times must ascend.
  void round(const std::vector<double>& times) {
    for (std::uint32_t w = 0; w < times.size(); ++w) {
      const worker_id who = sync.workers().id(w);
      seen()({.what = kind::release, .worker = who, .now = now});
      EXPECT_EQ(sync.push({.worker = who, .now = now + times[w]}, 1, sink), errc::ok);
    }
    now += times.back();
  }
  straggler_detector& seen() { return sync.watcher(); }
};

TEST(StragglerDetector, ComesBackWithoutAHistory) {
  watched job{4};
  for (int r = 0; r < 3; ++r) job.round({1, 1, 1, 2});
  ASSERT_TRUE(job.seen().straggles(3));
  ASSERT_EQ(job.sync.depart({3}, job.now, cause::death, job.sink), errc::ok);
  EXPECT_EQ(job.seen().count(), 0U);
  EXPECT_EQ(job.seen().members(), 3U);
  EXPECT_FALSE(job.seen().worst());
  for (int r = 0; r < 3; ++r) job.round({1, 1, 1});
  ASSERT_EQ(job.sync.join({3, 1}, job.now, 1, job.sink), errc::ok);
  EXPECT_EQ(job.seen().members(), 4U);
  EXPECT_EQ(job.seen().step_time(3), 0) << "perhaps another machine";
  for (int r = 0; r < 2; ++r) job.round({1, 1, 1, 2});
  EXPECT_FALSE(job.seen().straggles(3));
  job.round({1, 1, 1, 2});
  ASSERT_TRUE(job.seen().worst());
  EXPECT_EQ(job.seen().worst()->who, (worker_id{3, 1}));
  ASSERT_EQ(job.sync.join({3, 2}, job.now, 1, job.sink), errc::ok);  // while its former life is still there
  EXPECT_EQ(job.seen().count(), 0U);
  EXPECT_EQ(job.seen().members(), 4U);
}

TEST(StragglerDetector, ExcludedAreNoMeasure) {
  straggler_detector seen = watching(4);
  rounds_of(seen, {1, 1, 1, 2}, 3);
  ASSERT_TRUE(seen.straggles(3));
  seen({.what = kind::exclude, .worker = {3}});
  EXPECT_EQ(seen.count(), 0U);
  EXPECT_EQ(seen.members(), 3U);
  seen({.what = kind::admit, .decided = verdict::drop, .because = reason::excluded, .worker = {3}, .now = 9});
  EXPECT_EQ(seen.members(), 3U) << "what it had been doing";
  seen({.what = kind::readmit, .worker = {3}, .now = 10});
  EXPECT_EQ(seen.members(), 4U);
  EXPECT_FALSE(seen.straggles(3));
}

TEST(StragglerDetector, CancelledStepsDoNotCount) {
  straggler_detector seen = watching(2);
  for (int step = 0; step < 5; ++step) {
    seen({.what = kind::release, .worker = {0}, .now = 10.0 * step});
    seen({.what = kind::admit,
          .decided = verdict::drop,
          .because = reason::cancelled,
          .worker = {0},
          .now = 10.0 * step + 1});
    seen({.what = kind::release, .worker = {1}, .now = 10.0 * step});
    seen({.what = kind::admit, .worker = {1}, .now = 10.0 * step + 9});
  }
  EXPECT_EQ(seen.step_time(0), 0);
  EXPECT_DOUBLE_EQ(seen.step_time(1), 9);
  seen({.what = kind::admit, .worker = {1}, .now = 99});
  EXPECT_DOUBLE_EQ(seen.step_time(1), 9) << "a step of which the beginning was not seen";
}

TEST(StragglerDetector, AWorseOneHidesOthersUntilItGoes) {
  straggler_detector seen = watching(8);
  const std::vector<double> times{1, 1, 1, 1, 1, 1, 2, 100};
  double now = 0;
  for (int r = 0; r < 5; ++r) round_of(seen, times, now);
  EXPECT_TRUE(seen.straggles(7));
  EXPECT_FALSE(seen.straggles(6));
  seen.forget(7);
  for (int r = 0; r < 3; ++r) round_of(seen, {1, 1, 1, 1, 1, 1, 2}, now);
  EXPECT_TRUE(seen.straggles(6));
}

TEST(StragglerDetector, AFastOneHidesStragglers) {
  straggler_detector seen = watching(8);
  rounds_of(seen, {1, 1, 1, 1, 1, 1, 10, 0.01}, 5);
  EXPECT_EQ(seen.count(), 0U) << "the deviation is larger than the mean";
}

TEST(StragglerDetector, EvictsTheWorstAndLeavesTwo) {
  straggler_detector seen = watching(5);
  EXPECT_FALSE(seen.to_evict());
  rounds_of(seen, {1, 1, 1, 2, 2.5}, 3);
  EXPECT_EQ(seen.count(), 2U);
  ASSERT_TRUE(seen.to_evict());
  EXPECT_EQ(seen.to_evict()->who, (worker_id{4}));
  EXPECT_DOUBLE_EQ(seen.to_evict()->step_time, 2.5);
  EXPECT_DOUBLE_EQ(seen.to_evict()->median, 1);
  seen({.what = kind::depart, .why = cause::leave, .worker = {4}});
  ASSERT_TRUE(seen.to_evict()) << "four are there";
  EXPECT_EQ(seen.to_evict()->who, (worker_id{3}));
  seen({.what = kind::depart, .why = cause::done, .worker = {0}});
  EXPECT_TRUE(seen.to_evict()) << "two others are";
  seen({.what = kind::depart, .why = cause::death, .worker = {1}});
  EXPECT_FALSE(seen.to_evict()) << "one other would be left";
  EXPECT_TRUE(seen.worst());
}

// Who tells of steps one by one says first who is there: else the first step would be a window of its own.
TEST(StragglerDetector, WindowsWaitForWhoeverIsThere) {
  straggler_detector seen{3, each_round};
  for (std::uint32_t w = 0; w < 3; ++w) seen.enter({w});
  seen.note_step({0}, 1, 1);
  seen.note_step({1}, 1, 1);
  EXPECT_EQ(seen.windows(), 0U);
  seen.enter({0});
  EXPECT_EQ(seen.members(), 3U) << "it was there";
  seen.note_step({2}, 1, 1);
  EXPECT_EQ(seen.windows(), 1U);
}

TEST(StragglerDetector, SavesWhatItSaw) {
  straggler_detector seen = watching(4);
  double now = 0;
  for (int r = 0; r < 3; ++r) round_of(seen, {1, 1, 1, 2}, now);
  seen.forget(0);
  seen.note_step({1}, 1, now += 1);
  archive saved;
  seen.state(saved);
  straggler_detector loaded{4, each_round};
  archive bytes{saved.bytes()};
  loaded.state(bytes);
  EXPECT_TRUE(bytes.finished());
  EXPECT_EQ(loaded.members(), 3U);
  EXPECT_EQ(loaded.windows(), 3U);
  ASSERT_TRUE(loaded.worst());
  EXPECT_EQ(loaded.worst()->who, (worker_id{3}));
  EXPECT_DOUBLE_EQ(loaded.worst()->step_time, 2);
  for (straggler_detector* each : {&seen, &loaded})
    for (const std::uint32_t w : {2U, 3U}) each->note_step({w}, 1, now + 1);
  EXPECT_EQ(seen.windows(), 4U) << "half of it was in the other one";
  EXPECT_EQ(loaded.windows(), 4U);
  EXPECT_EQ(seen.count(), 0U);
  EXPECT_EQ(loaded.count(), 0U);

  archive short_of_it{saved.bytes().first(saved.bytes().size() - 1)};
  straggler_detector{4, each_round}.state(short_of_it);
  EXPECT_FALSE(short_of_it.ok());
  std::vector<std::byte> forged{saved.bytes().begin(), saved.bytes().end()};
  for (std::size_t i = 0; i < 8; ++i) forged[i] = std::byte{0xFF};  // the beginning of the window is no number
  archive nonsense{forged};
  straggler_detector{4, each_round}.state(nonsense);
  EXPECT_FALSE(nonsense.ok());
}

TEST(StragglerDetector, RefusesNumbersThatCannotBe) {
  const auto accepts = [](double median, double busy, double throughput, bool straggles) {
    archive made;
    double began = 0, since = 0;
    std::uint64_t steps = 0, windows = 3;
    std::uint32_t incarnation = 0, slow_windows = 3, steps_of_it = 1;
    bool begun = true, member = true, working = false;
    made(began, median, steps, windows, begun);
    made(incarnation, member, working, straggles, slow_windows, steps_of_it, busy, since, throughput);
    archive bytes{made.bytes()};
    straggler_detector{1, each_round}.state(bytes);
    return bytes.ok();
  };
  EXPECT_TRUE(accepts(1, 1, 0.5, true));
  EXPECT_TRUE(accepts(0, 0, 0, false));
  EXPECT_FALSE(accepts(-3, 1, 0.5, false));
  EXPECT_FALSE(accepts(1, -4, 0.5, false));
  EXPECT_FALSE(accepts(1, 1, -2, false));
  EXPECT_FALSE(accepts(1, 1, 0, true)) << "its step would take for ever";
  EXPECT_FALSE(accepts(0, 1, 0.5, true));
}

TEST(StragglerDetector, OfTheUnknownNothingIsKnown) {
  const straggler_detector of_nobody{0};
  EXPECT_FALSE(of_nobody.is_member(3));
  EXPECT_FALSE(of_nobody.straggles(3));
  EXPECT_EQ(of_nobody.step_time(3), 0);
  const straggler_detector of_four = watching(4);
  for (const std::uint32_t behind : {of_four.capacity(), ~std::uint32_t{0}}) {
    EXPECT_FALSE(of_four.is_member(behind));
    EXPECT_FALSE(of_four.straggles(behind));
    EXPECT_EQ(of_four.step_time(behind), 0);
  }
}

TEST(StragglerDetector, RefusesBadOptions) {
  EXPECT_EQ(problem(straggler_options{}), "");
  EXPECT_EQ(problem(straggler_options{.window = -1}), "stragglers.window is -1, expected a time of 0 or more");
  EXPECT_NE(problem(straggler_options{.window = std::numeric_limits<double>::infinity()}), "");
  EXPECT_NE(problem(straggler_options{.steps = 0}), "");
  EXPECT_NE(problem(straggler_options{.windows = 0}), "");
  EXPECT_NE(problem(straggler_options{.slow = 0}), "");
  EXPECT_EQ(problem(straggler_options{.slow = 1}), "stragglers.slow is 1, expected a share between 0 and 1");
  EXPECT_EQ(problem(straggler_options{.recovered = 0.7}),
            "stragglers.recovered is 0.7, expected a share from slow, 0.8, to 1");
  EXPECT_NE(problem(straggler_options{.recovered = 1.5}), "");
  EXPECT_NE(problem(straggler_options{.test = static_cast<straggler_options::kind>(7)}), "");
}

}  // namespace
}  // namespace rubato::straggler_detector_test
