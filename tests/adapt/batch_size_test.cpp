#include <rubato/adapt/batch_size.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/knee.hpp>
#include <span>
#include <string>
#include <vector>

#include "../support/cluster.hpp"
#include "../support/test_policies.hpp"

namespace {

using namespace rubato;
using adapt::batch_options;
using adapt::batch_period;
using adapt::batch_sized;
using adapt::batch_worker;
using adapt::rate_rule;

/// Sets the batches that a test wants next, and keeps what it was told.
struct scripted {
  struct memory {
    std::vector<std::uint32_t> next;
    std::vector<batch_worker> workers;
    batch_period period{};
    std::vector<std::uint32_t> forgotten;
    std::uint32_t periods = 0;
  };
  std::shared_ptr<memory> told = std::make_shared<memory>();
  std::string wrong{};

  void resize(std::uint32_t) noexcept {}
  void forget(std::uint32_t worker) noexcept { told->forgotten.push_back(worker); }
  void operator()(const batch_period& seen, std::span<std::uint32_t> batches) noexcept {
    told->workers.assign(seen.workers.begin(), seen.workers.end());
    told->period = seen;
    ++told->periods;
    std::copy_n(told->next.begin(), std::min(told->next.size(), batches.size()), batches.begin());
  }
  void state(archive&) noexcept {}
  [[nodiscard]] std::string problem() const { return wrong; }
  [[nodiscard]] description describe() const { return {"a script", R"({"kind":"scripted"})"}; }
};
static_assert(adapt::BatchSizer<scripted>);
static_assert(SyncPolicy<batch_sized<bsp, scripted>> && MeasuringPolicy<batch_sized<bsp, scripted>>);

using sized_bsp = batch_sized<bsp, scripted>;
using bsp_cluster = test::cluster<sized_bsp>;

constexpr batch_options every_step{.period = 1, .rate = rate_rule::none};

void push_all(bsp_cluster& c, std::uint32_t workers) {
  for (std::uint32_t w = 0; w < workers; ++w) c.push(w);
}
[[nodiscard]] grant last_grant(bsp_cluster& c, std::uint32_t worker) {
  for (auto each = c.heard().releases.rbegin(); each != c.heard().releases.rend(); ++each)
    if (each->worker.index == worker) return each->terms;
  ADD_FAILURE() << "worker " << worker << " was never released";
  return {};
}

TEST(BatchSize, GrantsWhatTheSizerSays) {
  scripted by;
  by.told->next = {10, 100, 5000};
  bsp_cluster c{sized_bsp{bsp{}, every_step, by}, 3};
  for (std::uint32_t w = 0; w < 3; ++w) EXPECT_EQ(last_grant(c, w).batch, 64U);
  push_all(c, 3);
  EXPECT_EQ(last_grant(c, 0).batch, 32U) << "the least";
  EXPECT_EQ(last_grant(c, 1).batch, 100U);
  EXPECT_EQ(last_grant(c, 2).batch, 1024U) << "the most";
  EXPECT_EQ(c.control().policy().periods(), 1U);
}

TEST(BatchSize, PeriodsAreStepsOfEverybody) {
  scripted by;
  bsp_cluster c{sized_bsp{bsp{}, {.period = 3}, by}, 2};
  for (int round = 1; round <= 9; ++round) {
    push_all(c, 2);
    EXPECT_EQ(by.told->periods, static_cast<std::uint32_t>(round / 3));
  }
  EXPECT_EQ(by.told->period.number, 2U);
  EXPECT_EQ(by.told->period.alive, 2U);
  EXPECT_EQ(by.told->period.time, 6) << "three rounds of two messages";
  EXPECT_EQ(by.told->workers[1].steps, 3U);
}

TEST(BatchSize, RateFollowsTheRule) {
  const auto rate_of = [](rate_rule rule) {
    scripted by;
    by.told->next = {32, 224};
    bsp_cluster c{sized_bsp{bsp{}, {.usual = 64, .period = 1, .rate = rule}, by}, 2};
    EXPECT_EQ(last_grant(c, 0).lr_scale, 1) << "with the usual batch";
    push_all(c, 2);
    EXPECT_EQ(last_grant(c, 0).lr_scale, last_grant(c, 1).lr_scale);
    // What the host applies is this, times samples / usual ones: the mean over 128 samples of a step on average.
    return last_grant(c, 0).lr_scale * 128 / 64;
  };
  EXPECT_FLOAT_EQ(rate_of(rate_rule::none), 1);
  EXPECT_FLOAT_EQ(rate_of(rate_rule::square_root), std::sqrt(2.0F));
  EXPECT_FLOAT_EQ(rate_of(rate_rule::linear), 2);
}

TEST(BatchSize, RateIsThatOfThoseWhoAreAlive) {
  scripted by;
  by.told->next = {64, 192};
  bsp_cluster c{sized_bsp{bsp{}, every_step, by}, 2};
  push_all(c, 2);
  EXPECT_FLOAT_EQ(last_grant(c, 0).lr_scale, 0.5F);
  c.die(1).push(0);
  EXPECT_FLOAT_EQ(last_grant(c, 0).lr_scale, 1);
}

TEST(BatchSize, AWorkerThatJoinsGetsTheMedian) {
  scripted by;
  by.told->next = {100, 200, 300, 400};
  bsp_cluster c{sized_bsp{bsp{}, every_step, by}, 4};
  push_all(c, 4);
  c.die(3).join(3);
  EXPECT_EQ(c.control().policy().batch_of(3), 200U) << "of 100, 200 and 300";
}

TEST(BatchSize, OutOfMemoryIsACap) {
  scripted by;
  by.told->next = {1000, 1000};
  bsp_cluster c{sized_bsp{bsp{}, every_step, by}, 2};
  push_all(c, 2);
  c.obeys = false, c.samples = 300;
  EXPECT_EQ(c.control().measured(c.id(0), {.out_of_memory = 1000}), errc::ok);
  c.push(0);
  c.obeys = true;
  c.push(1);
  EXPECT_EQ(c.control().policy().cap_of(0), 300U) << "what it could do";
  EXPECT_EQ(last_grant(c, 0).batch, 300U) << "whatever the sizer wants";
  EXPECT_EQ(last_grant(c, 1).batch, 1000U);
  EXPECT_EQ(c.control().policy().ignored(), 0U);
}

TEST(BatchSize, ACapMayBeBelowTheLeast) {
  scripted by;
  by.told->next = {64, 64};
  bsp_cluster c{sized_bsp{bsp{}, every_step, by}, 2};
  EXPECT_EQ(c.control().measured(c.id(0), {.out_of_memory = 64}), errc::ok);
  c.obeys = false, c.samples = 8;
  c.push(0).push(1);
  EXPECT_EQ(last_grant(c, 0).batch, 8U);
  EXPECT_EQ(by.told->workers[0].least, 8U);
  EXPECT_EQ(by.told->workers[1].least, 32U);
}

TEST(BatchSize, OutOfMemoryWithoutSamplesHalves) {
  scripted by;
  bsp_cluster c{sized_bsp{bsp{}, every_step, by}, 1};
  EXPECT_EQ(c.control().measured(c.id(0), {.out_of_memory = 64}), errc::ok);
  c.obeys = false, c.samples = 0;
  c.push(0);
  EXPECT_EQ(c.control().policy().cap_of(0), 32U);
}

TEST(BatchSize, IgnoredGrantsAreCounted) {
  scripted by;
  bsp_cluster c{sized_bsp{bsp{}, every_step, by}, 2};
  c.obeys = false, c.samples = 50;
  c.push(0);
  c.samples = 0;
  c.push(1);
  EXPECT_EQ(c.control().policy().ignored(), 1U) << "a push that does not say its samples had what it was granted";
  EXPECT_EQ(by.told->workers[0].samples, 50);
  EXPECT_EQ(by.told->workers[1].samples, 64);
}

TEST(BatchSize, TellsTheSizerWhatWasMeasured) {
  scripted by;
  bsp_cluster c{sized_bsp{bsp{}, {.period = 2}, by}, 2};
  EXPECT_EQ(c.control().measured(c.id(0), {.compute_time = 1, .processor = 7, .accuracy = 0}), errc::ok);
  c.at(10).push(0, 4).at(20).push(1, 0);
  EXPECT_EQ(c.control().measured(c.id(0), {.compute_time = 3, .accuracy = 1}), errc::ok);
  c.at(21).push(0, 2).at(24).push(1, 0);
  ASSERT_EQ(by.told->periods, 1U);
  const batch_worker& first = by.told->workers[0];
  EXPECT_EQ(first.metrics.compute_time, 2);
  EXPECT_EQ(first.metrics.accuracy, 0.5F);
  EXPECT_EQ(first.accuracy_deviation, 0.5F);
  EXPECT_TRUE(std::isnan(first.metrics.processor));
  EXPECT_EQ(first.step_time, 5.5F) << "from 0 to 10 and from 20 to 21";
  EXPECT_EQ(first.loss, 3);
  EXPECT_TRUE(first.counts);
  EXPECT_TRUE(std::isnan(by.told->workers[1].loss));
  EXPECT_TRUE(std::isnan(by.told->workers[1].metrics.compute_time));
  EXPECT_EQ(c.control().policy().absurd(), 1U);
}

TEST(BatchSize, StrangersMeasureNothing) {
  bsp_cluster c{sized_bsp{bsp{}, every_step, {}}, 1};
  EXPECT_NE(c.control().measured({7, 0}, {}), errc::ok);
  EXPECT_NE(c.control().measured({0, 3}, {}), errc::ok);
}

TEST(BatchSize, ForgetsTheDead) {
  scripted by;
  bsp_cluster c{sized_bsp{bsp{}, every_step, by}, 2};
  EXPECT_EQ(c.control().measured(c.id(1), {.processor = 9, .out_of_memory = 64}), errc::ok);
  push_all(c, 2);
  c.die(1).push(0);
  EXPECT_FALSE(by.told->workers[1].counts);
  EXPECT_EQ(c.control().policy().cap_of(1), 32U);
  by.told->forgotten.clear();
  c.join(1);
  EXPECT_EQ(by.told->forgotten, (std::vector{1U}));
  EXPECT_EQ(c.control().policy().cap_of(1), 1024U) << "maybe it is on another machine";
  EXPECT_EQ(c.control().policy().absurd(), 1U) << "counts are of all who ever were";
}

TEST(BatchSize, SavesWhatItKnows) {
  scripted by;
  by.told->next = {100, 200};
  bsp_cluster c{sized_bsp{bsp{}, {.period = 2, .rate = rate_rule::none}, by}, 2};
  push_all(c, 2), push_all(c, 2);
  EXPECT_EQ(c.control().measured(c.id(0), {.out_of_memory = 100}), errc::ok);
  push_all(c, 2);
  archive saved;
  ASSERT_EQ(c.control().save(saved), errc::ok);
  bsp_cluster other{sized_bsp{bsp{}, {.period = 2, .rate = rate_rule::none}, by}, 2};
  for (const std::uint32_t w : {0U, 1U}) other.die(w);
  archive bytes{saved.bytes()};
  ASSERT_EQ(other.control().load(bytes, [](worker_id) { return std::optional<std::uint32_t>{}; }), errc::ok);
  const sized_bsp &before = c.control().policy(), &after = other.control().policy();
  EXPECT_EQ(after.batch_of(1), 200U);
  EXPECT_EQ(after.cap_of(0), before.cap_of(0));
  EXPECT_EQ(after.cap_of(0), 50U);
  EXPECT_EQ(after.periods(), 1U);
  archive again, same;
  sized_bsp first = before, second = after;
  first.state(again), second.state(same);
  EXPECT_TRUE(std::ranges::equal(again.bytes(), same.bytes()));
}

TEST(BatchSize, RefusesSavedStateThatCannotBe) {
  sized_bsp policy{bsp{}, {}, {}};
  policy.resize(1);
  archive saved;
  policy.state(saved);
  std::vector<std::byte> bad(saved.bytes().begin(), saved.bytes().end());
  bad[0] = bad[1] = bad[2] = bad[3] = std::byte{0};  // a batch of none
  archive bytes{bad};
  policy.state(bytes);
  EXPECT_FALSE(bytes.ok());
}

TEST(BatchSize, RefusesBadOptions) {
  const auto problem = [](batch_options options, scripted by = {}) { return sized_bsp{bsp{}, options, by}.problem(4); };
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({.usual = 0}), "batches.usual is 0, expected at least 1");
  EXPECT_EQ(problem({.least = 0}), "batches.least is 0, expected at least 1");
  EXPECT_EQ(problem({.least = 64, .most = 63}), "batches.most is 63, expected at least 64");
  EXPECT_EQ(problem({.initial = 8}), "batches.initial is 8, expected 32 to 1024, the most samples of a step");
  EXPECT_EQ(problem({.period = 0}), "batches.period is 0, expected at least 1");
  EXPECT_EQ(problem({.rate = static_cast<rate_rule>(3)}), "batches.rate is 3, expected none, square_root or linear");
  EXPECT_EQ(problem({}, {.wrong = "no script"}), "no script");
}

TEST(BatchSize, DecidesAsThePolicy) {
  test::cluster plain{knee{}, 4};
  test::cluster treated{batch_sized<knee, scripted>{knee{}, {.initial = 64}, {}}, 4};
  plain.samples = 64;
  for (int n = 0; n < 200; ++n) {
    ASSERT_EQ(plain.running(), treated.running());
    const std::uint32_t who = plain.running()[static_cast<std::size_t>(n) % plain.running().size()];
    plain.push(who), treated.push(who);
  }
}

TEST(BatchSize, SaysWhatItIs) {
  EXPECT_EQ((sized_bsp{bsp{}, {}, {}}.describe().json),
            R"({"kind":"bsp","batches":{"usual":64,"initial":64,"least":32,"most":1024,"period":20,)"
            R"("rate":"square_root","by":{"kind":"scripted"}},"of":)" +
                bsp{}.describe().json + "}");
}

}  // namespace
