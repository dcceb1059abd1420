#include <rubato/rl/softmax_policy.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <rubato/nn/batch_workspace.hpp>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/nn/initialiser.hpp>
#include <vector>

namespace rubato::rl {
namespace {

constexpr float tenth = 0.1F;

TEST(SoftmaxPolicy, LogProbabilitiesByHand) {
  std::array<float, 3> logs{};
  log_probabilities(std::array{0.0F, std::log(2.0F), 5.0F}, 0b011, logs);
  EXPECT_NEAR(logs[0], std::log(1 / 3.0), 1e-6);
  EXPECT_NEAR(logs[1], std::log(2 / 3.0), 1e-6);
  EXPECT_EQ(logs[2], 0);
  log_probabilities(std::array{1.0F, 1.0F, 1.0F}, 0, logs);
  for (const float log : logs) EXPECT_NEAR(log, -std::log(3.0), 1e-6) << "none is legal: all are";
}

TEST(SoftmaxPolicy, LargePreferencesStayFinite) {
  std::array<float, 2> logs{}, slopes{};
  const std::array<float, 2> preferences{1e30F, 0};
  log_probabilities(preferences, all_legal, logs);
  EXPECT_EQ(logs, (std::array{0.0F, -1e30F}));
  clipped_surrogate<float>(preferences, {.action = 0, .legal = 0b11, .log_probability = 0, .advantage = 1},
                           {.entropy_bonus = tenth}, slopes);
  EXPECT_EQ(slopes, (std::array{0.0F, 0.0F}));
}

TEST(SoftmaxPolicy, FrequenciesAreThoseOfTheSoftmax) {
  const std::array<float, 4> preferences{0, std::log(2.0F), 7, std::log(5.0F)};
  std::array<int, 4> seen{};
  random_sequence random{1};
  constexpr int draws = 8000;
  for (int i = 0; i < draws; ++i) ++seen.at(softmax_action(preferences, 0b1011, random));
  EXPECT_EQ(seen[2], 0);
  const std::array<double, 4> shares{1 / 8.0, 2 / 8.0, 0, 5 / 8.0};
  for (std::size_t a = 0; a < seen.size(); ++a)
    EXPECT_NEAR(seen.at(a), draws * shares.at(a), 4 * std::sqrt(draws * shares.at(a) * (1 - shares.at(a)))) << a;
}

// Two actions, both with 1/2; when it was taken, the first had 0.4 or 0.625: a ratio of 1.25 or 0.8.
TEST(SoftmaxPolicy, SurrogateByHand) {
  const auto term = [](double before, double advantage, std::array<double, 2>& slopes, double bonus = 0) {
    return clipped_surrogate<double>(
        std::array{3.0, 3.0}, {.action = 0, .legal = 0b11, .log_probability = std::log(before), .advantage = advantage},
        {.clip = 0.1, .entropy_bonus = bonus, .factor = 0.5}, slopes);
  };
  std::array<double, 2> slopes{};
  EXPECT_NEAR(term(0.4, 3, slopes).loss, 0.5 * -1.1 * 3, 1e-12);
  EXPECT_NEAR(term(0.4, -3, slopes).loss, 0.5 * 1.25 * 3, 1e-12);
  EXPECT_NEAR(slopes[0], 0.5 * 1.25 * 3 * 0.5, 1e-12);
  EXPECT_NEAR(slopes[1], -slopes[0], 1e-12);
  EXPECT_NEAR(term(0.625, 3, slopes).loss, 0.5 * -0.8 * 3, 1e-12);
  EXPECT_NEAR(slopes[0], 0.5 * -0.8 * 3 * 0.5, 1e-12);
  EXPECT_NEAR(term(0.625, -3, slopes).loss, 0.5 * 0.9 * 3, 1e-12);
  EXPECT_NEAR(term(0.4, 0, slopes).divergence, 0.25 - std::log(1.25), 1e-12);
  EXPECT_NEAR(term(0.4, 0, slopes, 4).loss, 0.5 * -4 * std::log(2.0), 1e-12);
  EXPECT_NEAR(slopes[0], 0, 1e-12) << "no policy has more entropy";
}

TEST(SoftmaxPolicy, ClippedStepsHaveNoGradient) {
  std::array<float, 2> slopes{1, 1};
  const surrogate_weights<float> weights{.clip = tenth};
  clipped_surrogate<float>(std::array{1.0F, 0.0F},
                           {.action = 0, .legal = 0b11, .log_probability = std::log(0.5F), .advantage = 1}, weights,
                           slopes);
  EXPECT_EQ(slopes, (std::array{0.0F, 0.0F})) << "more probable already";
  slopes = {1, 1};
  clipped_surrogate<float>(std::array{0.0F, 1.0F},
                           {.action = 0, .legal = 0b11, .log_probability = std::log(0.5F), .advantage = -1}, weights,
                           slopes);
  EXPECT_EQ(slopes, (std::array{0.0F, 0.0F})) << "less probable already";
}

TEST(SoftmaxPolicy, IllegalActionsHaveNoGradient) {
  std::array<float, 3> slopes{1, 1, 1};
  const surrogate_weights<float> weights{.entropy_bonus = tenth};
  clipped_surrogate<float>(std::array{1.0F, 9.0F, 0.0F},
                           {.action = 2, .legal = 0b101, .log_probability = -1, .advantage = 1}, weights, slopes);
  EXPECT_LT(slopes[2], 0);
  EXPECT_EQ(slopes[1], 0);
  const surrogate_term<float> foreign =
      clipped_surrogate<float>(std::array{1.0F, 9.0F, 0.0F},
                               {.action = 1, .legal = 0b001, .log_probability = 0, .advantage = 1}, weights, slopes);
  EXPECT_EQ(slopes, (std::array{0.0F, 0.0F, 0.0F})) << "one legal action: nothing to choose";
  EXPECT_EQ(foreign.divergence, 0);
}

// The whole way from the parameters of a network to the loss, on both sides of both kinks.
TEST(SoftmaxPolicy, SurrogateMatchesFiniteDifferences) {
  auto net = *nn::basic_dynamic_mlp<double>::make({2, 3, 4}, {.hidden = {.kind = nn::activation_kind::tanh}});
  random_sequence random{5};
  nn::initialise(net, {}, random);
  const std::array<double, 2> in{0.3, -0.8};
  std::array<double, 4> out{}, slopes{};
  int flat = 0, steep = 0;
  for (const double advantage : {-2.0, 1.5})
    for (const double before : {-3.0, -1.4, -0.2}) {
      const surrogate_step<double> step{
          .action = 3, .legal = 0b1101, .log_probability = before, .advantage = advantage};
      const surrogate_weights<double> weights{.clip = 0.2, .entropy_bonus = 0.05, .factor = 0.5};
      const auto loss = [&] {
        net.evaluate(in, out);
        return clipped_surrogate<double>(out, step, weights, slopes).loss;
      };
      std::vector<double> gradient(net.parameters().size());
      nn::basic_dynamic_mlp<double>::workspace work{net, 1};
      const auto preferences = net.forward(in, work);
      clipped_surrogate<double>(preferences, step, weights, slopes);
      net.backward(slopes, work, gradient);
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        double& parameter = net.parameters()[i];
        const double kept = parameter;
        parameter = kept + 1e-5;
        const double above = loss();
        parameter = kept - 1e-5;
        const double below = loss();
        parameter = kept;
        EXPECT_NEAR(gradient[i], (above - below) / 2e-5, 1e-8) << i;
      }
      const double ratio = std::exp([&] {
        std::array<float, 4> logs{};
        net.evaluate(in, out);
        const std::array<float, 4> rounded{static_cast<float>(out[0]), static_cast<float>(out[1]),
                                           static_cast<float>(out[2]), static_cast<float>(out[3])};
        log_probabilities(rounded, step.legal, logs);
        return static_cast<double>(logs[3]) - before;
      }());
      ++((advantage > 0 ? ratio > 1.2 : ratio < 0.8) ? flat : steep);
    }
  EXPECT_GE(flat, 2);
  EXPECT_GE(steep, 2);
}

}  // namespace
}  // namespace rubato::rl
