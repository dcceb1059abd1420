#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <rubato/adapt/batch_sizer.hpp>
#include <rubato/adapt/batch_sizers/goodput.hpp>
#include <rubato/adapt/batch_sizers/random.hpp>
#include <rubato/adapt/batch_sizers/speed_proportional.hpp>
#include <rubato/adapt/batch_sizers/step_time_fit.hpp>
#include <rubato/adapt/batch_sizers/warm_up.hpp>
#include <set>
#include <vector>

namespace {

using namespace rubato;
using namespace rubato::adapt;

static_assert(BatchSizer<same_batches> && BatchSizer<speed_proportional> && BatchSizer<warm_up> &&
              BatchSizer<goodput> && BatchSizer<random_batches>);

/// Workers whose steps take a fixed time and a time for each sample, period by period.
struct machines {
  std::vector<double> fixed, per_sample;
  std::vector<std::uint32_t> batches;
  std::uint32_t initial = 64;
  double variance = 0, square = 0;  // of gradients; none where square is 0
  std::uint64_t periods = 0;

  machines(std::vector<double> fixed_times, std::vector<double> sample_times)
      : fixed{std::move(fixed_times)}, per_sample{std::move(sample_times)}, batches(fixed.size(), 64) {}

  [[nodiscard]] double step_time(std::size_t w) const { return fixed[w] + per_sample[w] * batches[w]; }
  [[nodiscard]] std::uint32_t total() const { return std::accumulate(batches.begin(), batches.end(), 0U); }

  template <BatchSizer Sizer>
  void run(Sizer& sizer, int how_many) {
    if (periods == 0) sizer.resize(static_cast<std::uint32_t>(fixed.size()));
    for (int n = 0; n < how_many; ++n) {
      std::vector<batch_worker> workers;
      for (std::size_t w = 0; w < fixed.size(); ++w) {
        batch_worker each{.counts = true, .batch = batches[w], .least = 32, .most = 1024, .steps = 1};
        each.samples = static_cast<float>(batches[w]);
        each.step_time = static_cast<float>(step_time(w));
        if (square > 0) {
          each.metrics.gradient_variance = static_cast<float>(variance);
          each.metrics.gradient_square = static_cast<float>(square);
        }
        workers.push_back(each);
      }
      sizer({.workers = workers,
             .alive = static_cast<std::uint32_t>(fixed.size()),
             .usual = 64,
             .initial = initial,
             .number = periods++,
             .time = 1},
            batches);
      for (std::uint32_t& batch : batches) batch = std::clamp(batch, 32U, 1024U);
    }
  }
};

TEST(BatchSizers, SpeedProportionalEvensStepsOut) {
  machines of{{0.3, 0.3, 0.3}, {0.01, 0.02, 0.005}};
  of.initial = 128;
  speed_proportional by;
  of.run(by, 40);
  EXPECT_NEAR(of.step_time(0), of.step_time(1), 0.02);
  EXPECT_NEAR(of.step_time(0), of.step_time(2), 0.02);
}

TEST(BatchSizers, SpeedProportionalKeepsTheTotal) {
  machines of{{0, 0, 0}, {0.1, 0.02, 0.005}};
  speed_proportional by;
  of.run(by, 10);
  EXPECT_EQ(of.batches[0], 32U) << "the least";
  EXPECT_NEAR(of.total(), 192, 1);
}

TEST(BatchSizers, SpeedProportionalNeedsOneSpeed) {
  speed_proportional by;
  by.resize(3);
  std::vector<batch_worker> workers(3, {.counts = true, .batch = 64, .least = 32, .most = 1024});
  workers[2].counts = false;
  std::vector<std::uint32_t> batches(3, 64);
  by({.workers = workers, .alive = 2, .usual = 64, .initial = 64}, batches);
  EXPECT_EQ(batches, (std::vector{64U, 64U, 64U})) << "nothing is known";
  workers[0].steps = 1, workers[0].samples = 64, workers[0].step_time = 2;
  by({.workers = workers, .alive = 2, .usual = 64, .initial = 64}, batches);
  EXPECT_EQ(batches, (std::vector{64U, 64U, 64U})) << "the other is taken to be as fast";
  workers[1].steps = 1, workers[1].samples = 64, workers[1].step_time = 6;
  by({.workers = workers, .alive = 2, .usual = 64, .initial = 64}, batches);
  EXPECT_EQ(batches, (std::vector{96U, 32U, 64U}));
  by.forget(1);
  workers[1].steps = 0;
  by({.workers = workers, .alive = 2, .usual = 64, .initial = 64}, batches);
  EXPECT_EQ(batches[0], batches[1]);
}

TEST(BatchSizers, AbsurdTimesAreNoSpeeds) {
  speed_proportional by;
  by.resize(2);
  std::vector<batch_worker> workers(2, {.counts = true, .batch = 64, .least = 32, .most = 1024, .steps = 1});
  workers[0].samples = workers[1].samples = 64;
  workers[0].step_time = 0, workers[1].step_time = not_measured;
  std::vector<std::uint32_t> batches(2, 64);
  by({.workers = workers, .alive = 2, .usual = 64, .initial = 64}, batches);
  EXPECT_EQ(batches, (std::vector{64U, 64U}));
}

TEST(BatchSizers, WarmUpByHand) {
  machines of{{0}, {1}};
  warm_up by{.last = 256, .over = 4};
  std::vector<std::uint32_t> seen;
  for (int period = 0; period < 5; ++period) {
    of.run(by, 1);
    seen.push_back(of.batches[0]);
  }
  EXPECT_EQ(seen, (std::vector{91U, 128U, 181U, 256U, 256U}));
}

TEST(BatchSizers, RandomDrawsEveryDelta) {
  machines of{{0, 0}, {1, 1}};
  random_batches by, same;
  std::set<int> deltas;
  for (int period = 0; period < 50; ++period) {
    of.batches[0] = 512;
    of.run(by, 1);
    deltas.insert(static_cast<int>(of.batches[0]) - 512);
  }
  EXPECT_EQ(deltas, (std::set{-100, -25, 0, 25, 100}));
  machines again{{0, 0}, {1, 1}};
  again.run(same, 3);
  machines twice{{0, 0}, {1, 1}};
  random_batches other;
  twice.run(other, 3);
  EXPECT_EQ(again.batches, twice.batches) << "a function of seed, worker and period";
}

TEST(BatchSizers, ABatchIsNeverBelowOne) {
  EXPECT_EQ(changed_by(64, -100), 1U);
  EXPECT_EQ(changed_by(125, -25), 100U);
  EXPECT_EQ(changed_by(4294967295U, 100), 4294967295U);
}

TEST(BatchSizers, StepTimeFitFindsTheLine) {
  adapt::detail::step_time_fit fit;
  EXPECT_EQ(fit.time_of(100), 0) << "nothing is known";
  fit.add(100, 3, 0.2);
  EXPECT_NEAR(fit.time_of(200), 6, 1e-9) << "a proportion, until batches differ";
  fit.add(200, 4, 0.2);
  fit.add(150, 3.5, 0.2);
  EXPECT_NEAR(fit.time_of(400), 6, 1e-6) << "2 and 0.01 for each sample";
  EXPECT_NEAR(fit.samples_in(6), 400, 1e-4);
}

// McCandlish et al.: with steps that take a fixed time and one for each sample, the best total is the root of
// noise x fixed / per sample, of all workers.
TEST(BatchSizers, GoodputGrowsWithTheNoise) {
  for (const double noise : {500.0, 5000.0}) {
    machines of{{1, 1, 1, 1}, {0.01, 0.01, 0.01, 0.01}};
    of.variance = noise, of.square = 1;
    goodput by;
    of.run(by, 40);
    EXPECT_EQ(of.batches[0], of.batches[3]);
    EXPECT_NEAR(of.total(), std::sqrt(noise * 4 * 1 / 0.01), 0.04 * of.total()) << noise;
  }
}

TEST(BatchSizers, GoodputIsEqualForAllByDefault) {
  machines of{{0.5, 0.5}, {0.01, 0.04}};
  of.variance = 1000, of.square = 1;
  goodput by;
  of.run(by, 20);
  EXPECT_EQ(of.batches[0], of.batches[1]);
}

TEST(BatchSizers, GoodputBalances) {
  machines of{{0.5, 0.5}, {0.002, 0.01}};
  of.variance = 1000, of.square = 1;
  goodput by{.balanced = true};
  of.run(by, 40);
  EXPECT_NEAR(of.step_time(0), of.step_time(1), 0.03 * of.step_time(0));
  EXPECT_GT(of.batches[0], 3 * of.batches[1]);
}

TEST(BatchSizers, GoodputNeedsTheNoise) {
  machines of{{1, 1}, {0.01, 0.02}};
  goodput by;
  of.run(by, 5);
  EXPECT_EQ(of.batches, (std::vector{64U, 64U}));
  EXPECT_EQ(by.noise_scale(), 0);
  of.variance = 2000, of.square = 1;
  of.run(by, 20);
  EXPECT_EQ(by.noise_scale(), 2000);
  EXPECT_GT(of.batches[0], 64U);
}

TEST(BatchSizers, GoodputChangesByTheLargestChangeAtMost) {
  machines of{{10, 10}, {0.001, 0.001}};
  of.variance = 1e6, of.square = 1;
  goodput by{.largest_change = 1.5F};
  of.run(by, 1);
  EXPECT_EQ(of.batches[0], 43U) << "the cost of a sample is not known yet";
  of.run(by, 1);
  EXPECT_EQ(of.batches[0], 65U);
  of.run(by, 1);
  EXPECT_EQ(of.batches[0], 98U);
}

template <class Sizer>
void expect_saved(Sizer by, Sizer fresh, machines of) {
  of.run(by, 7);
  archive saved;
  by.state(saved);
  fresh.resize(static_cast<std::uint32_t>(of.fixed.size()));
  archive bytes{saved.bytes()};
  fresh.state(bytes);
  EXPECT_TRUE(bytes.finished());
  machines other = of;
  of.run(by, 3), other.run(fresh, 3);
  EXPECT_EQ(of.batches, other.batches);
}

TEST(BatchSizers, SaveWhatTheyKnow) {
  machines of{{1, 2}, {0.01, 0.02}};
  of.variance = 3000, of.square = 1;
  expect_saved(speed_proportional{}, speed_proportional{}, of);
  expect_saved(goodput{}, goodput{}, of);
  expect_saved(goodput{.balanced = true}, goodput{.balanced = true}, of);
  expect_saved(warm_up{}, warm_up{}, of);
}

TEST(BatchSizers, RefuseBadOptions) {
  EXPECT_EQ(speed_proportional{}.problem(), "");
  EXPECT_EQ(speed_proportional{.newest = 0}.problem(), "newest is 0, expected a number above 0, at most 1");
  EXPECT_EQ(warm_up{}.problem(), "");
  EXPECT_EQ((warm_up{.last = 0}.problem()), "last is 0, expected at least 1");
  EXPECT_EQ((warm_up{.over = 0}.problem()), "over is 0, expected at least 1");
  EXPECT_EQ(goodput{}.problem(), "");
  EXPECT_EQ((goodput{.newest = 2}.problem()), "newest is 2, expected a number above 0, at most 1");
  EXPECT_EQ((goodput{.largest_change = 1}.problem()), "largest_change is 1, expected a number above 1");
}

}  // namespace
