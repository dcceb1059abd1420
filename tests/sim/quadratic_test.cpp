#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <rubato/sim/quadratic.hpp>

namespace {

using namespace rubato::sim;

void apply(quadratic& bowl, std::uint32_t handle, double rate) {
  const contribution part{handle, 1};
  bowl.update({&part, 1}, rate);
  bowl.release(handle);
}

TEST(quadratic, WithoutNoiseDecaysAtItsCurvatures) {
  quadratic bowl{{.dimension = 3, .condition = 100, .noise = 0}};
  const std::vector<double> before{bowl.parameters().begin(), bowl.parameters().end()};
  for (std::uint64_t step = 0; step < 10; ++step) apply(bowl, bowl.compute(0, step, 16).handle, 0.5);
  const std::array<double, 3> curvature{1, 0.1, 0.01};
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(bowl.parameters()[i], before[i] * std::pow(1 - 0.5 * curvature[i], 10), 1e-12);
}

TEST(quadratic, NoiseHasTheStatedDeviation) {
  for (const std::uint32_t batch : {1U, 16U}) {
    quadratic bowl{{.dimension = 1, .condition = 1, .noise = 0.5}};
    const double start = bowl.parameters()[0];
    double sum = 0;
    double squares = 0;
    constexpr int draws = 40'000;
    for (std::uint64_t step = 0; step < draws; ++step) {
      bowl.reset(0);
      apply(bowl, bowl.compute(0, step, batch).handle, 1);
      const double noise = start - bowl.parameters()[0] - start;
      sum += noise;
      squares += noise * noise;
    }
    const double expected = 0.5 / std::sqrt(double(batch));
    EXPECT_NEAR(sum / draws, 0, 4 * expected / std::sqrt(double(draws)));
    EXPECT_NEAR(std::sqrt(squares / draws), expected, 0.02 * expected);
  }
}

TEST(quadratic, StatisticsAreThoseOfTheNoise) {
  quadratic bowl{{.dimension = 4, .condition = 10, .noise = 0.5, .gradient_statistics = true}}, silent;
  EXPECT_TRUE(std::isnan(silent.compute(0, 1, 8).statistics.variance)) << "nobody asked";
  double square = 0;
  constexpr int draws = 40'000;
  for (std::uint64_t step = 0; step < draws; ++step) {
    const gradient made = bowl.compute(0, step, 8);
    EXPECT_EQ(made.statistics.variance, 1) << "four times a quarter";
    EXPECT_FLOAT_EQ(made.statistics.accuracy, static_cast<float>(bowl.evaluate().accuracy));
    square += static_cast<double>(made.statistics.square) / draws;
    bowl.release(made.handle);
  }
  double exact = 0;
  for (int i = 0; i < 4; ++i) exact += std::pow(10, -2.0 * i / 3);
  EXPECT_NEAR(square, exact, 0.01) << "without the bias of the batch's noise";
}

TEST(quadratic, UpdateOfManyIsTheWeightedSum) {
  quadratic together;
  quadratic apart;
  std::array<contribution, 3> parts;
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    parts[worker] = {together.compute(worker, 0, 16).handle, 0.5F};
    static_cast<void>(apart.compute(worker, 0, 16));
  }
  together.update(parts, 0.1);
  for (const contribution& part : parts) apart.update({&part, 1}, 0.1);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(together.parameters()[i], apart.parameters()[i], 1e-15);
}

TEST(quadratic, MomentumIsHeavyBall) {
  quadratic bowl{{.dimension = 1, .condition = 1, .noise = 0, .momentum = 0.9}};
  double x = bowl.parameters()[0];
  double v = 0;
  for (std::uint64_t step = 0; step < 20; ++step) {
    v = 0.9 * v + x;
    x -= 0.1 * v;
    apply(bowl, bowl.compute(0, step, 1).handle, 0.1);
    EXPECT_NEAR(bowl.parameters()[0], x, 1e-12);
  }
}

TEST(quadratic, MomentumMayChangeDuringARun) {
  quadratic bowl{{.dimension = 1, .condition = 1, .noise = 0, .momentum = 0.9}};
  double x = bowl.parameters()[0];
  double v = 0;
  for (std::uint64_t step = 0; step < 20; ++step) {
    const double momentum = step < 5 ? 0.9 : step < 10 ? 0 : 0.5;
    if (step >= 5) bowl.set_momentum(momentum);
    v = momentum * v + x;
    x -= 0.1 * v;
    apply(bowl, bowl.compute(0, step, 1).handle, 0.1);
    EXPECT_NEAR(bowl.parameters()[0], x, 1e-12);
  }
  bowl.reset(0);
  quadratic fresh{{.dimension = 1, .condition = 1, .noise = 0, .momentum = 0.9}};
  for (quadratic* each : {&bowl, &fresh})
    for (std::uint64_t step = 0; step < 3; ++step) apply(*each, each->compute(0, step, 1).handle, 0.1);
  EXPECT_EQ(bowl.parameters()[0], fresh.parameters()[0]) << "a reset forgets it";
}

TEST(quadratic, SameSeedSameBits) {
  const auto run = [](std::uint64_t seed) {
    quadratic bowl;
    bowl.reset(seed);
    for (std::uint64_t step = 0; step < 50; ++step) apply(bowl, bowl.compute(1, step, 16).handle, 0.1);
    return bowl.evaluate().loss;
  };
  EXPECT_EQ(run(3), run(3));
  EXPECT_NE(run(3), run(4));
}

TEST(quadratic, AccuracyFallsAsTheLossGrows) {
  quadratic bowl{{.noise = 0}};
  const evaluation start = bowl.evaluate();
  apply(bowl, bowl.compute(0, 0, 1).handle, 0.5);
  const evaluation later = bowl.evaluate();
  EXPECT_LT(later.loss, start.loss);
  EXPECT_GT(later.accuracy, start.accuracy);
  EXPECT_EQ(later.accuracy, 1 / (1 + later.loss));
  EXPECT_EQ(bowl.probe(), later.loss);
}

TEST(quadratic, DivergenceIsReportedNotFatal) {
  quadratic bowl;
  apply(bowl, bowl.compute(0, 0, 1).handle, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(std::isfinite(bowl.compute(0, 1, 1).loss));
  EXPECT_EQ(bowl.evaluate().accuracy, 0);
}

TEST(quadratic, ProblemNamesTheOption) {
  EXPECT_EQ(problem(quadratic_options{}), nullptr);
  EXPECT_EQ(std::string{problem(quadratic_options{.dimension = 0})}.rfind("dimension", 0), 0U);
  EXPECT_EQ(std::string{problem(quadratic_options{.condition = 0.5})}.rfind("condition", 0), 0U);
  EXPECT_EQ(std::string{problem(quadratic_options{.noise = -1})}.rfind("noise", 0), 0U);
  EXPECT_EQ(std::string{problem(quadratic_options{.momentum = 1})}.rfind("momentum", 0), 0U);
}

}  // namespace
