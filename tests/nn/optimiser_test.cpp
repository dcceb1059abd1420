#include <rubato/nn/optimiser.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "plain_loops.hpp"

namespace rubato::nn {
namespace {

using test::random_values;

TEST(Optimiser, SgdByHand) {
  basic_sgd<double> optimiser{2, {.learning_rate = 0.5}};
  std::vector<double> p{1, -2};
  optimiser.step(p, std::vector<double>{2, 4});
  EXPECT_EQ(p, (std::vector<double>{0, -4}));
  optimiser.set_learning_rate(0.25);
  optimiser.step(p, std::vector<double>{4, -4});
  EXPECT_EQ(p, (std::vector<double>{-1, -3}));
}

TEST(Optimiser, MomentumByHand) {
  basic_sgd<double> optimiser{1, {.learning_rate = 0.5, .momentum = 0.5}};
  std::vector<double> p{8};
  optimiser.step(p, std::vector<double>{4});  // v = 4
  EXPECT_EQ(p[0], 6);
  optimiser.step(p, std::vector<double>{2});  // v = 2 + 2
  EXPECT_EQ(p[0], 4);
  optimiser.step(p, std::vector<double>{0});  // v = 2
  EXPECT_EQ(p[0], 3);
}

// beta1 = beta2 = 1/2, epsilon = 1: t = 1: m = 2, v = 8, corrected 4 and 16; t = 2 (g = 0): m = 1, v = 4, corrected
// 1 / (3/4) and 4 / (3/4).
TEST(Optimiser, AdamByHand) {
  basic_adam<double> optimiser{1, {.learning_rate = 1, .beta1 = 0.5, .beta2 = 0.5, .epsilon = 1}};
  std::vector<double> p{10};
  optimiser.step(p, std::vector<double>{4});
  EXPECT_NEAR(p[0], 10 - 4.0 / 5, 1e-14);
  optimiser.step(p, std::vector<double>{0});
  EXPECT_NEAR(p[0], 10 - 4.0 / 5 - (4.0 / 3) / (std::sqrt(16.0 / 3) + 1), 1e-14);

  basic_adam<double> decaying{1, {.learning_rate = 0.5, .weight_decay = 0.5}};
  p = {8};
  decaying.step(p, std::vector<double>{0});
  EXPECT_EQ(p[0], 6) << "decay is apart from the gradient";
}

TEST(Optimiser, AdamMatchesTheFormula) {
  const adam_options options{.learning_rate = 0.01, .weight_decay = 0.1};
  constexpr std::size_t count = 37;
  basic_adam<double> exact{count, options};
  adam single{count, options};
  auto p = random_values<double>(count, 1);
  std::vector<float> q(p.begin(), p.end());
  std::vector<double> m(count), v(count), expected = p;
  for (int t = 1; t <= 50; ++t) {
    const auto g = random_values<double>(count, 100 + static_cast<std::uint64_t>(t));
    exact.step(p, g);
    single.step(q, std::vector<float>(g.begin(), g.end()));
    for (std::size_t i = 0; i < count; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
      const double step = m[i] / (1 - std::pow(0.9, t)) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
      expected[i] -= 0.01 * 0.1 * expected[i] + 0.01 * step;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_NEAR(p[i], expected[i], 1e-12);
    EXPECT_NEAR(static_cast<double>(q[i]), expected[i], 1e-4);
  }
}

// Saved after 7 steps and loaded into a new object, it goes on as if nothing had happened.
template <class O>
void expect_resumption(O optimiser, O fresh, O other_size) {
  constexpr std::size_t count = 21;
  auto p = random_values<float>(count, 1);
  const auto go = [](O& o, std::vector<float>& parameters, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t t = from; t < to; ++t) o.step(parameters, random_values<float>(count, 100 + t));
  };
  go(optimiser, p, 0, 7);
  optimiser.set_learning_rate(0.002);
  archive out;
  optimiser.state(out);
  auto resumed = p;
  archive in{out.bytes()};
  fresh.state(in);
  ASSERT_TRUE(in.finished());
  EXPECT_EQ(fresh.learning_rate(), 0.002);
  go(optimiser, p, 7, 30);
  go(fresh, resumed, 7, 30);
  EXPECT_EQ(resumed, p);

  archive wrong{out.bytes()};
  other_size.state(wrong);
  EXPECT_FALSE(wrong.ok());
  archive cut{out.bytes().first(out.bytes().size() - 1)};
  fresh.state(cut);
  EXPECT_FALSE(cut.ok());
}

TEST(Optimiser, SgdResumesBitForBit) {
  expect_resumption(sgd{21, {.momentum = 0.9}}, sgd{21, {.momentum = 0.9}}, sgd{20, {.momentum = 0.9}});
  expect_resumption(sgd{21}, sgd{21}, sgd{22});
}

TEST(Optimiser, AdamResumesBitForBit) { expect_resumption(adam{21}, adam{21}, adam{20}); }

TEST(Optimiser, BadOptionsAreNamed) {
  EXPECT_EQ(problem(sgd_options{}), nullptr);
  EXPECT_EQ(problem(adam_options{}), nullptr);
  const auto starts = [](const char* text, const std::string& word) {
    return text != nullptr && std::string{text}.starts_with(word);
  };
  const double nan = std::nan("");
  EXPECT_TRUE(starts(problem(sgd_options{.learning_rate = -1}), "learning_rate"));
  EXPECT_TRUE(starts(problem(sgd_options{.momentum = 1}), "momentum"));
  EXPECT_TRUE(starts(problem(adam_options{.learning_rate = nan}), "learning_rate"));
  EXPECT_TRUE(starts(problem(adam_options{.beta1 = 1}), "beta1"));
  EXPECT_TRUE(starts(problem(adam_options{.beta2 = -0.1}), "beta2"));
  EXPECT_TRUE(starts(problem(adam_options{.epsilon = 0}), "epsilon"));
  EXPECT_TRUE(starts(problem(adam_options{.weight_decay = nan}), "weight_decay"));
}

// What the constructor casts must still be what the options say.
TEST(Optimiser, OptionsAreThoseOfTheScalar) {
  const double nearly_one = 1 - 1e-9;
  EXPECT_NE(problem(sgd_options{.momentum = nearly_one}), nullptr);
  EXPECT_EQ(problem<double>(sgd_options{.momentum = nearly_one}), nullptr);
  EXPECT_NE(problem(adam_options{.beta1 = nearly_one}), nullptr);
  EXPECT_NE(problem(adam_options{.beta2 = nearly_one}), nullptr);
  EXPECT_NE(problem(adam_options{.epsilon = 1e-50}), nullptr);
  EXPECT_EQ(problem<double>(adam_options{.beta1 = nearly_one, .beta2 = nearly_one, .epsilon = 1e-50}), nullptr);
  const adam_options least{.epsilon = 1e-44};
  ASSERT_EQ(problem(least), nullptr);
  adam optimiser{1, least};
  std::vector<float> p{1};
  optimiser.step(p, std::vector<float>{0});
  EXPECT_EQ(p[0], 1.0F) << "0 / epsilon";
}

TEST(Optimiser, BadStateIsNoticed) {
  const auto refused = [](auto optimiser, std::size_t which, double value) {
    archive out;
    optimiser.state(out);
    std::vector<std::byte> bytes(out.bytes().begin(), out.bytes().end());
    archive number;
    number(value);
    std::ranges::copy(number.bytes(), bytes.begin() + static_cast<std::ptrdiff_t>(8 * which));
    const double before = optimiser.learning_rate();
    archive in{bytes};
    optimiser.state(in);
    EXPECT_EQ(in.finished(), in.ok());
    EXPECT_TRUE(in.ok() || optimiser.learning_rate() == before);
    return !in.ok();
  };
  for (const double bad : {std::nan(""), -1.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(refused(sgd{2}, 1, bad)) << bad;
    EXPECT_TRUE(refused(adam{2}, 0, bad)) << bad;
    EXPECT_TRUE(refused(adam{2}, 1, bad)) << bad;
    EXPECT_TRUE(refused(adam{2}, 2, bad)) << bad;
  }
  EXPECT_TRUE(refused(adam{2}, 1, 1.5));
  EXPECT_FALSE(refused(adam{2}, 1, 0.5));
  EXPECT_FALSE(refused(sgd{2}, 1, 0.5));
}

TEST(Optimiser, ClippingKeepsTheDirection) {
  std::vector<double> g{3, 0, -4};
  EXPECT_EQ(clip_by_norm<double>(g, 1.0), 5);
  EXPECT_NEAR(g[0], 0.6, 1e-15);
  EXPECT_EQ(g[1], 0);
  EXPECT_NEAR(g[2], -0.8, 1e-15);
}

TEST(Optimiser, ClippingLeavesShortGradients) {
  std::vector<float> g{3, -4};
  EXPECT_EQ(clip_by_norm<float>(g, 5.0), 5);
  EXPECT_EQ(g, (std::vector<float>{3, -4}));
}

TEST(Optimiser, ClippingReportsNaN) {
  std::vector<float> g{3, std::numeric_limits<float>::infinity()};
  EXPECT_FALSE(std::isfinite(clip_by_norm<float>(g, 5.0)));
  EXPECT_EQ(g[0], 3);
}

}  // namespace
}  // namespace rubato::nn
