#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <rubato/sim/sgd.hpp>

#include "reference_mlp.hpp"

namespace {

using namespace rubato::sim;
using rubato_test::dense_parameters;
using rubato_test::reference_mlp;
using rubato_test::synthetic_images;

struct world {
  synthetic_images images{700};
  data_split parts = split(images.view(), 500, 200);
  image_data data{parts};
};

const world& shared() {
  static const world one;
  return one;
}

// 24 units and 5 classes are multiples of nothing that the kernels like.
sgd_options small(std::uint32_t hidden, input_scale input = input_scale::standardised) {
  return {.hidden_layers = hidden, .hidden_units = 24, .batch = 7, .input = input, .validation_samples = 150};
}

double largest_difference(dense_parameters left, const dense_parameters& right) {
  double most = 0;
  left.zip(right, [&](double x, double y) { most = std::max(most, std::abs(x - y)); });
  return most;
}

void apply(sgd_objective& net, std::uint32_t handle, double rate) {
  const contribution part{handle, 1};
  net.update({&part, 1}, rate);
  net.release(handle);
}

// The gradient as an update of rate 64 shows it: large, so that the difference of two floats is precise.
dense_parameters gradient_of(sgd_objective& net, const reference_mlp& reference, std::uint32_t handle) {
  constexpr double rate = 64;
  dense_parameters before = reference.read(net);
  apply(net, handle, rate);
  before.zip(reference.read(net), [&](double& x, double after) { x = (x - after) / rate; });
  return before;
}

class sgd_gradient : public testing::TestWithParam<std::tuple<std::uint32_t, input_scale>> {};

TEST_P(sgd_gradient, GradientMatchesFiniteDifferences) {
  const auto [hidden, input] = GetParam();
  sgd_objective net{small(hidden, input), shared().data};
  reference_mlp reference{net, shared().parts};
  const auto drawn = net.samples(3, 5, 7);
  const std::vector<std::uint32_t> samples{drawn.begin(), drawn.end()};

  dense_parameters expected = reference.at;
  dense_parameters& at = reference.at;
  const auto slope = [&](double& parameter) {
    const double kept = parameter;
    constexpr double step = 1e-6;
    parameter = kept + step;
    const double above = reference.loss(samples);
    parameter = kept - step;
    const double below = reference.loss(samples);
    parameter = kept;
    return (above - below) / (2 * step);
  };
  for (std::size_t layer = 0; layer < at.weights.size(); ++layer) {
    for (std::size_t i = 0; i < at.weights[layer].size(); ++i) expected.weights[layer][i] = slope(at.weights[layer][i]);
    for (std::size_t i = 0; i < at.biases[layer].size(); ++i) expected.biases[layer][i] = slope(at.biases[layer][i]);
  }

  const gradient made = net.compute(3, 5);
  EXPECT_EQ(made.samples, 7U);
  EXPECT_NEAR(made.loss, reference.loss(samples), 1e-5);
  EXPECT_LT(largest_difference(expected, reference.gradient(samples)), 1e-6) << "the reference contradicts itself";
  EXPECT_LT(largest_difference(expected, gradient_of(net, reference, made.handle)), 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Shapes, sgd_gradient,
                         testing::Combine(testing::Values(0U, 1U, 3U),
                                          testing::Values(input_scale::unit, input_scale::standardised)));

TEST(sgd, NormMatchesTheDenseGradient) {
  for (const std::uint32_t hidden : {0U, 1U, 2U}) {
    for (const input_scale input : {input_scale::unit, input_scale::standardised}) {
      sgd_options options = small(hidden, input);
      options.gradient_norm = true;
      sgd_objective net{options, shared().data};
      const reference_mlp reference{net, shared().parts};
      double squares = 0;
      dense_parameters dense = reference.gradient(net.samples(1, 2, 7));
      dense.zip(dense, [&](double x, double) { squares += x * x; });
      EXPECT_NEAR(net.compute(1, 2).norm, std::sqrt(squares), 1e-5 * std::sqrt(squares)) << hidden;
    }
  }
}

// Of single samples, in double: their variance and, without bias, the square of their mean.
TEST(sgd, StatisticsMatchTheDenseGradients) {
  for (const std::uint32_t hidden : {0U, 1U, 2U}) {
    for (const std::uint32_t batch : {2U, 7U, 32U, 50U}) {
      sgd_options options = small(hidden, input_scale::standardised);
      options.gradient_statistics = true;
      sgd_objective net{options, shared().data};
      const reference_mlp reference{net, shared().parts};
      const std::span<const std::uint32_t> drawn = net.samples(1, 2, batch);
      const std::vector<std::uint32_t> samples{drawn.begin(), drawn.begin() + (std::min)(batch, 32U)};
      const double n = static_cast<double>(samples.size());
      const auto square_of = [](dense_parameters of) {
        double sum = 0;
        of.zip(of, [&](double x, double) { sum += x * x; });
        return sum;
      };
      double each = 0;
      for (const std::uint32_t sample : samples) each += square_of(reference.gradient({&sample, 1})) / n;
      const double mean = square_of(reference.gradient(samples));
      const double variance = (each - mean) * n / (n - 1);
      const gradient_statistics found = net.compute(1, 2, batch).statistics;
      EXPECT_NEAR(found.variance, variance, 1e-4 * variance) << hidden << " hidden, batch " << batch;
      EXPECT_NEAR(found.square, mean - variance / n, 1e-4 * each) << hidden << " hidden, batch " << batch;
    }
  }
}

TEST(sgd, StatisticsKnowWhatTheBatchGotRight) {
  sgd_options options = small(1, input_scale::standardised);
  options.gradient_statistics = true;
  sgd_objective net{options, shared().data};
  const gradient one = net.compute(1, 2, 1);
  EXPECT_TRUE(one.statistics.accuracy == 0 || one.statistics.accuracy == 1);
  EXPECT_TRUE(std::isnan(one.statistics.variance)) << "of a single sample nothing is known";
  for (std::uint64_t step = 0; step < 200; ++step) apply(net, net.compute(0, step, 32).handle, 0.1F);
  EXPECT_GT(net.compute(1, 300, 64).statistics.accuracy, 0.8F);
  sgd_objective silent{small(1), shared().data};
  EXPECT_TRUE(std::isnan(silent.compute(1, 2).statistics.accuracy));
}

TEST(sgd, NoisyLabelsAreDrawnForTheSeed) {
  sgd_options options = small(1);
  options.data_fraction = 1;
  options.probe_samples = 500;
  sgd_objective clean{options, shared().data};
  options.label_noise = 0.5;
  sgd_objective noisy{options, shared().data};
  for (std::uint64_t step = 0; step < 400; ++step) apply(clean, clean.compute(0, step, 32).handle, 0.1F);
  std::ranges::copy(clean.parameters(), noisy.parameters().begin());
  EXPECT_EQ(clean.evaluate().loss, noisy.evaluate().loss) << "validation knows no noise";
  // Of five classes: half the labels are drawn, four fifths of these differ.
  EXPECT_GT(noisy.probe(), 10 * clean.probe());
  const double first = noisy.probe();
  noisy.reset(1);
  std::ranges::copy(clean.parameters(), noisy.parameters().begin());
  EXPECT_NE(noisy.probe(), first) << "other labels";
  noisy.reset(0);
  std::ranges::copy(clean.parameters(), noisy.parameters().begin());
  EXPECT_EQ(noisy.probe(), first) << "the same seed, the same labels";
}

TEST(sgd, WrittenGradientIsWhatUpdateSubtracts) {
  for (const std::uint32_t hidden : {0U, 1U, 2U}) {
    constexpr float rate = 0.25F;
    sgd_objective server{small(hidden), shared().data}, worker{small(hidden), shared().data};
    server.reset(3);
    worker.reset(3);
    std::vector<float> dense(worker.parameters().size() + 1, -1.0F);
    const std::span<float> to{dense.data() + 1, dense.size() - 1};  // any alignment will do
    const gradient pushed = worker.compute(1, 4);
    worker.write_gradient(pushed.handle, to);
    for (std::size_t i = 0; i < to.size(); ++i) worker.parameters()[i] -= rate * to[i];
    apply(server, server.compute(1, 4).handle, rate);
    for (std::size_t i = 0; i < to.size(); ++i) ASSERT_NEAR(worker.parameters()[i], server.parameters()[i], 1e-6) << i;
    EXPECT_NEAR(worker.evaluate().loss, server.evaluate().loss, 1e-5);
    EXPECT_EQ(dense[0], -1.0F);
    worker.release(pushed.handle);
  }
}

TEST(sgd, UpdateOfManyEqualsTheSequence) {
  for (const std::uint32_t hidden : {0U, 2U}) {
    sgd_objective together{small(hidden), shared().data};
    sgd_objective apart{small(hidden), shared().data};
    std::array<contribution, 4> parts;
    for (std::uint32_t worker = 0; worker < parts.size(); ++worker) {
      parts[worker] = {together.compute(worker, 0).handle, 0.25F};
      ASSERT_EQ(apart.compute(worker, 0).handle, parts[worker].handle);
    }
    together.update(parts, 0.1);
    for (const contribution& part : parts) apart.update({&part, 1}, 0.1);
    const reference_mlp reference{together, shared().parts};
    EXPECT_LT(largest_difference(reference.at, reference.read(apart)), 1e-6);
  }
}

// Plain SGD, heavy-ball momentum, which may change once, and enough updates to fold the shift of the inputs back into
// the weights.
void follow(const sgd_options& options, std::uint64_t updates, double rate, double tolerance,
            std::optional<double> momentum_of_second_half = {}) {
  sgd_objective net{options, shared().data};
  reference_mlp reference{net, shared().parts};
  dense_parameters velocity = reference.at;
  velocity.zip(velocity, [](double& v, double) { v = 0; });
  for (std::uint64_t step = 0; step < updates; ++step) {
    const dense_parameters dense = reference.gradient(net.samples(0, step, options.batch));
    const bool changed = momentum_of_second_half && step >= updates / 2;
    if (changed) net.set_momentum(*momentum_of_second_half);
    velocity.zip(dense,
                 [&](double& v, double g) { v = (changed ? *momentum_of_second_half : options.momentum) * v + g; });
    reference.at.zip(velocity, [&](double& w, double v) { w -= rate * v; });
    apply(net, net.compute(0, step).handle, rate);
  }
  EXPECT_LT(largest_difference(reference.at, reference.read(net)), tolerance);

  const evaluation expected = reference.evaluate(options.validation_samples);
  const evaluation found = net.evaluate();
  EXPECT_NEAR(found.loss, expected.loss, 1e-4);
  EXPECT_NEAR(found.accuracy, expected.accuracy, 1.01 / options.validation_samples);
}

TEST(sgd, StandardisedInputsMatchADenseReference) {
  follow(small(0), 200, 0.03, 1e-4);
  follow(small(1), 200, 0.03, 1e-4);
}

TEST(sgd, FoldingTheShiftKeepsTheFunction) { follow(small(0), 1'030, 0.03, 1e-4); }

TEST(sgd, MomentumMatchesTheReference) {
  for (const std::uint32_t hidden : {0U, 1U}) {
    sgd_options options = small(hidden);
    options.momentum = 0.9;
    follow(options, 100, 0.005, 1e-4);
  }
  sgd_options folded = small(0);
  folded.momentum = 0.9;
  follow(folded, 1'030, 0.003, 1e-4);
}

TEST(sgd, MomentumMayChangeDuringARun) {
  sgd_options options = small(1);
  options.momentum = 0.9;
  follow(options, 60, 0.005, 1e-4, 0.25);
  follow(options, 60, 0.005, 1e-4, 0.0);
  sgd_objective changed{options, shared().data}, fresh{options, shared().data};
  changed.set_momentum(0.1);
  changed.reset(0);
  for (sgd_objective* each : {&changed, &fresh})
    for (std::uint64_t step = 0; step < 3; ++step) apply(*each, each->compute(0, step).handle, 0.01);
  EXPECT_EQ(changed.evaluate().loss, fresh.evaluate().loss) << "a reset forgets it";
}

TEST(sgd, EvaluateMatchesTheReference) {
  for (const std::uint32_t hidden : {0U, 1U, 2U, 6U}) {
    sgd_objective net{small(hidden), shared().data};
    const reference_mlp reference{net, shared().parts};
    EXPECT_NEAR(net.evaluate().loss, reference.evaluate(150).loss, 1e-4) << hidden;
    EXPECT_NEAR(net.evaluate().accuracy, reference.evaluate(150).accuracy, 1.01 / 150) << hidden;
  }
}

TEST(sgd, ProbeIsTheLossOnTheFirstSamplesOfTheSeed) {
  sgd_options options = small(1);
  options.probe_samples = 50;
  sgd_objective net{options, shared().data};
  const reference_mlp reference{net, shared().parts};
  EXPECT_NEAR(net.probe(), reference.loss(net.training_samples().first(50)), 1e-5);
}

TEST(sgd, LearnsSyntheticClasses) {
  for (const std::uint32_t hidden : {0U, 1U, 3U}) {
    sgd_objective net{small(hidden), shared().data};
    for (std::uint64_t step = 0; step < 400; ++step) apply(net, net.compute(0, step).handle, 0.03);
    EXPECT_GE(net.evaluate().accuracy, 0.85) << hidden;
  }
}

TEST(sgd, UsesTheStatedShareOfTheData) {
  sgd_options options = small(0);
  options.data_fraction = 0.3;
  sgd_objective net{options, shared().data};
  const std::set<std::uint32_t> first{net.training_samples().begin(), net.training_samples().end()};
  EXPECT_EQ(first.size(), 150U);

  std::set<std::uint32_t> seen;
  for (std::uint64_t step = 0; step < 500; ++step)
    for (const std::uint32_t sample : net.samples(0, step, 16)) seen.insert(sample);
  EXPECT_EQ(seen, first);

  net.reset(1);
  const std::set<std::uint32_t> second{net.training_samples().begin(), net.training_samples().end()};
  EXPECT_EQ(second.size(), 150U);
  EXPECT_NE(second, first);
}

TEST(sgd, BatchSizeIsPerCall) {
  sgd_objective net{small(1), shared().data};
  const reference_mlp reference{net, shared().parts};
  for (const std::uint32_t batch : {1U, 2U, 5U, 16U, 33U, 64U}) {
    const auto samples = net.samples(0, batch, batch);
    const double expected = reference.loss(samples);
    const gradient made = net.compute(0, batch, batch);
    EXPECT_EQ(made.samples, batch);
    EXPECT_NEAR(made.loss, expected, 1e-5) << batch;
  }
}

TEST(sgd, DivergenceIsReportedNotFatal) {
  for (const instruction_set instructions : {instruction_set::native, instruction_set::portable}) {
    for (const std::uint32_t hidden : {0U, 1U, 3U}) {
      sgd_options options = small(hidden);
      options.instructions = instructions;
      options.gradient_norm = true;
      sgd_objective net{options, shared().data};
      apply(net, net.compute(0, 0).handle, std::numeric_limits<double>::quiet_NaN());
      for (std::uint64_t step = 1; step < 5; ++step) {
        const gradient made = net.compute(0, step);
        EXPECT_FALSE(std::isfinite(made.loss)) << hidden;
        apply(net, made.handle, 0.1);
      }
      const evaluation judged = net.evaluate();
      EXPECT_FALSE(std::isfinite(judged.loss)) << hidden;
      EXPECT_EQ(judged.accuracy, 0) << hidden;
      EXPECT_FALSE(std::isfinite(net.probe())) << hidden;

      net.reset(0);
      EXPECT_TRUE(std::isfinite(net.compute(0, 0).loss)) << hidden;
    }
  }
}

TEST(sgd, RunawayRatesEndInANonFiniteLoss) {
  sgd_objective net{small(1), shared().data};
  bool finite = true;
  for (std::uint64_t step = 0; step < 50 && finite; ++step) {
    const gradient made = net.compute(0, step);
    finite = std::isfinite(made.loss);
    apply(net, made.handle, 1e30);
  }
  EXPECT_FALSE(finite);
  EXPECT_LE(net.evaluate().accuracy, 1);
}

TEST(sgd, ProblemNamesTheOption) {
  const image_data& data = shared().data;
  EXPECT_EQ(problem(sgd_options{}, data), nullptr);
  const auto named = [&](const sgd_options& options) { return std::string{problem(options, data)}; };
  EXPECT_EQ(named({.hidden_layers = 7}).rfind("hidden_layers", 0), 0U);
  EXPECT_EQ(named({.hidden_units = 0}).rfind("hidden_units", 0), 0U);
  EXPECT_EQ(named({.batch = 0}).rfind("batch", 0), 0U);
  EXPECT_EQ(named({.momentum = 1}).rfind("momentum", 0), 0U);
  EXPECT_EQ(named({.data_fraction = 0}).rfind("data_fraction", 0), 0U);
  EXPECT_EQ(named({.data_fraction = std::nan("")}).rfind("data_fraction", 0), 0U);
  EXPECT_EQ(named({.validation_samples = 0}).rfind("validation_samples", 0), 0U);
}

}  // namespace
