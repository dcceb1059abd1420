#include <rubato/encode/batch_cost.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>

namespace {

using namespace rubato;

feedback step_of_batch(std::uint32_t worker, std::uint32_t samples, double time) {
  return {.what = {.worker = worker, .loss = 1, .samples = samples}, .step_time = time};
}

// Of a worker that does as it is asked; at first it is asked for nothing.
void obey(batch_cost& cost, std::uint32_t samples, double time) {
  cost.granted(0, cost.usual() == 0 ? 0 : samples);
  cost.observe(step_of_batch(0, samples, time));
}

// A worker whose steps take `overhead` and a sixteenth for each sample. Its batches are half an octave above and below
// `batch` in turn.
struct batch_bench {
  batch_cost cost{};
  double overhead = 0;
  std::uint64_t steps = 0;

  batch_bench() { cost.resize(2); }
  batch_bench& run(int count, double batch, double jitter = 0) {
    random_sequence random{9, steps};
    for (int n = 0; n < count; ++n, ++steps) {
      const auto samples = static_cast<std::uint32_t>(std::lround(batch * std::exp2(steps % 2 == 0 ? -0.5 : 0.5)));
      obey(cost, samples, (overhead + samples / 16.0) * std::exp(jitter * random.normal()));
    }
    return *this;
  }
  batch_bench& first(std::uint32_t samples) {
    obey(cost, samples, overhead + samples / 16.0);
    return *this;
  }
};

TEST(BatchCost, TheUsualBatchIsTheHostsOwn) {
  batch_bench b;
  b.cost.observe(step_of_batch(0, 3, 1.0));
  EXPECT_EQ(b.cost.usual(), 0U) << "a step from before";
  b.cost.granted(0, 4);
  b.cost.observe(step_of_batch(0, 4, 1.0));
  EXPECT_EQ(b.cost.usual(), 0U) << "what was asked for is not the host's own";
  b.first(16).run(10, 4);
  EXPECT_EQ(b.cost.usual(), 16U);
}

TEST(BatchCost, ElasticityByHand) {
  batch_cost cost;
  cost.resize(1);
  obey(cost, 16, 1.0);
  EXPECT_NEAR(cost.elasticity(), 0.7, 1e-12) << "one step tells nothing";
  obey(cost, 32, std::sqrt(2.0));  // half an octave longer, for an octave
  EXPECT_NEAR(cost.elasticity(), (0.98 * 0.7 + 0.5) / 1.98, 1e-6);
  obey(cost, 32, 8.0);
  EXPECT_NEAR(cost.elasticity(), (0.98 * 0.7 + 0.5) / 1.98, 1e-6) << "the same batch tells nothing";
  obey(cost, 8, 1e-6);
  EXPECT_NEAR(cost.elasticity(), (0.98 * (0.98 * 0.7 + 0.5) + 4.0) / (0.98 * 1.98 + 4.0), 1e-6)
      << "a change counts as two octaves at most";
}

TEST(BatchCost, SmallChangesSayLittle) {
  batch_cost cost;
  cost.resize(1);
  random_sequence random{7};
  for (std::uint32_t n = 0; n < 600; ++n) obey(cost, 1000 + n % 2, std::exp(0.1 * random.normal()));
  EXPECT_NEAR(cost.elasticity(), 0.7, 0.1) << "a thousandth of the batch, in a tenth of jitter";
}

TEST(BatchCost, ElasticityOfRandomSteps) {
  for (const double overhead : {0.0, 0.5, 1.0, 4.0}) {
    batch_bench b;
    b.overhead = overhead;
    b.first(16).run(400, 16, 0.1);
    EXPECT_NEAR(b.cost.elasticity(), 1 / (1 + overhead), 0.08) << overhead;
    EXPECT_NEAR(b.cost.overhead(), overhead, 0.1 + 0.4 * overhead) << overhead;
  }
}

TEST(BatchCost, OverheadDoesNotDependOnTheBatch) {
  batch_bench b;
  b.overhead = 1;
  b.first(16);
  for (const double batch : {16.0, 4.0, 64.0, 32.0}) {
    b.run(300, batch);
    EXPECT_NEAR(b.cost.overhead(), 1.0, 0.1) << batch;
  }
}

TEST(BatchCost, FactorByHand) {
  batch_bench b;
  b.overhead = 1;
  b.first(16).run(400, 16);
  EXPECT_NEAR(b.cost.factor(16), 1.0, 1e-6);
  EXPECT_NEAR(b.cost.factor(4), 1.25 / 2, 0.03);
  EXPECT_NEAR(b.cost.factor(64), 5.0 / 2, 0.1);
}

TEST(BatchCost, NothingKnown) {
  batch_cost cost;
  cost.resize(1);
  EXPECT_EQ(cost.factor(16), 1.0F);
  feedback cancelled = step_of_batch(0, 32, 9.0);
  cancelled.what.why_dropped = reason::cancelled;
  const double none = std::numeric_limits<double>::quiet_NaN();
  cost.granted(0, 0);
  for (const feedback& step : {step_of_batch(0, 0, 1.0), step_of_batch(0, 8, 0.0), step_of_batch(0, 8, none),
                               step_of_batch(0, 8, -none), cancelled, step_of_batch(7, 8, 1.0)})
    cost.observe(step);
  EXPECT_EQ(cost.usual(), 0U);
  EXPECT_EQ(cost.factor(16), 1.0F);
  obey(cost, 8, 1.0);
  EXPECT_EQ(cost.factor(0), 1.0F);
}

TEST(BatchCost, CountsWhoObeys) {
  batch_cost cost;
  cost.resize(1);
  for (int n = 0; n < 50; ++n) {
    cost.granted(0, n % 2 == 0 ? 0 : 11);
    cost.observe(step_of_batch(0, n % 5 == 4 ? 7 : 16, 1.0));  // as it likes; the last one of an epoch is short
  }
  EXPECT_EQ(cost.obeyed(), 0U);
  EXPECT_EQ(cost.factor(7), 1.0F);
  obey(cost, 16, 1.0);
  EXPECT_EQ(cost.obeyed(), 0U) << "its own batch is no sign of anything";
  obey(cost, 11, 1.0);
  EXPECT_EQ(cost.obeyed(), 1U);
}

TEST(BatchCost, WhoStopsObeyingIsSoonNoticed) {
  batch_cost cost;
  cost.resize(1);
  obey(cost, 16, 1.0);
  for (int n = 0; n < 1000; ++n) obey(cost, 11, 1.0);
  EXPECT_EQ(cost.obeyed(), 50U);
  for (int n = 0; n < 25; ++n) {
    cost.granted(0, 11);
    cost.observe(step_of_batch(0, n % 2 == 0 ? 16 : 7, 1.0));
  }
  EXPECT_EQ(cost.obeyed(), 0U);
}

TEST(BatchCost, SurvivesStragglers) {
  batch_bench b;
  b.first(16);
  random_sequence random{4};
  for (int n = 0; n < 400; ++n) {
    b.overhead = random.below(10) == 0 ? 30.0 : 0.0;  // asleep for thirty steps
    b.run(1, 16);
  }
  EXPECT_NEAR(b.cost.elasticity(), 0.98, 0.2);
}

TEST(BatchCost, ForgetsAWorker) {
  batch_cost cost;
  cost.resize(1);
  obey(cost, 16, 1.0);
  cost.forget(0);
  obey(cost, 32, 100.0);
  EXPECT_NEAR(cost.elasticity(), 0.7, 1e-12) << "the one before was another worker's";
}

TEST(BatchCost, SavesItsState) {
  batch_bench b;
  b.overhead = 1;
  b.first(16).run(51, 8);
  archive saved;
  b.cost.state(saved);
  batch_cost after;
  after.resize(2);
  archive reader{saved.bytes()};
  after.state(reader);
  EXPECT_TRUE(reader.finished());
  for (batch_cost* each : {&b.cost, &after}) obey(*each, 64, 3.0);
  EXPECT_EQ(after.overhead(), b.cost.overhead());
  EXPECT_EQ(after.factor(20), b.cost.factor(20));
}

TEST(BatchCost, BadBytesAreRefused) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  struct saved {
    std::uint32_t usual = 16;
    std::uint64_t obeyed = 50;
    double squares = 2, products = 1, at = 0;
    float time = 0, batch = 4;
  };
  const auto loads = [](const saved& s) {
    archive written;
    std::uint32_t usual = s.usual, asked = 11;
    std::uint64_t obeyed = s.obeyed;
    double squares = s.squares, products = s.products, at = s.at;
    float time = s.time, batch = s.batch;
    bool yes = true;
    written(usual, obeyed, squares, products, at, time, batch, asked, yes, yes);
    batch_cost cost;
    cost.resize(1);
    archive bytes{written.bytes()};
    cost.state(bytes);
    return bytes.finished();
  };
  EXPECT_TRUE(loads({}));
  for (const saved& bad : {saved{.usual = 0}, saved{.obeyed = 51}, saved{.squares = 0}, saved{.squares = none},
                           saved{.products = none}, saved{.at = 1e300}, saved{.at = none}, saved{.time = std::nanf("")},
                           saved{.batch = std::nanf("")}, saved{.batch = -1}, saved{.batch = 99}})
    EXPECT_FALSE(loads(bad));
}

}  // namespace
