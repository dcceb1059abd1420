// Search in parameter space: cma_es and antithetic_es, on functions whose minimum is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/rl/antithetic_es.hpp>
#include <rubato/rl/cma_es.hpp>
#include <span>
#include <string>
#include <vector>

namespace rubato::rl {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class Search>
[[nodiscard]] std::vector<float> guess_of(const Search& search) {
  std::vector<float> at(search.dimension());
  search.best_guess(at);
  return at;
}

template <class Search>
[[nodiscard]] std::vector<float> candidate_of(const Search& search, std::size_t candidate) {
  std::vector<float> at(search.dimension());
  search.ask(candidate, at);
  return at;
}

template <class Search, class Cost>
void search_for(Search& search, int generations, Cost cost) {
  std::vector<double> costs(search.population());
  for (int g = 0; g < generations; ++g) {
    for (std::size_t c = 0; c < costs.size(); ++c) costs[c] = cost(candidate_of(search, c));
    search.tell(costs);
  }
}

// The minimum is at 1, 2, 3, ...
[[nodiscard]] double distance(std::span<const float> at) {
  double sum = 0;
  for (std::size_t i = 0; i < at.size(); ++i)
    sum += std::pow(static_cast<double>(at[i]) - static_cast<double>(i + 1), 2);
  return std::sqrt(sum);
}

template <class Search>
[[nodiscard]] Search started(std::uint64_t seed = 1, std::size_t dimension = 8) {
  auto made = Search::make(std::vector<float>(dimension), {.seed = seed});
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

template <class Search>
struct EverySearch : ::testing::Test {};
using searches = ::testing::Types<cma_es, antithetic_es>;
TYPED_TEST_SUITE(EverySearch, searches);

TYPED_TEST(EverySearch, FindsTheMinimum) {
  auto search = started<TypeParam>();
  search_for(search, 600, distance);
  EXPECT_LT(distance(guess_of(search)), 0.1);
  EXPECT_EQ(search.generation(), 600u);
}

// About as large as the differences between candidates.
TYPED_TEST(EverySearch, SurvivesNoise) {
  auto search = started<TypeParam>();
  random_sequence noise{5};
  search_for(search, 600, [&noise](std::span<const float> at) { return distance(at) + 0.3 * noise.normal(); });
  EXPECT_LT(distance(guess_of(search)), 1.0) << "from " << distance(std::vector<float>(8));
}

TYPED_TEST(EverySearch, OnlyTheOrderOfCostsMatters) {
  auto one = started<TypeParam>(), other = started<TypeParam>();
  search_for(one, 20, distance);
  search_for(other, 20, [](std::span<const float> at) { return std::exp(distance(at)) - 1e6; });
  EXPECT_EQ(guess_of(one), guess_of(other));
}

TYPED_TEST(EverySearch, NanIsTheWorstCost) {
  auto one = started<TypeParam>(), other = started<TypeParam>();
  const auto far = [](std::span<const float> at) { return at[0] < 0; };
  search_for(one, 20, [&](std::span<const float> at) { return far(at) ? nan : distance(at); });
  search_for(other, 20, [&](std::span<const float> at) { return far(at) ? 1e9 : distance(at); });
  EXPECT_EQ(guess_of(one), guess_of(other));
}

TYPED_TEST(EverySearch, SameSeedSameBits) {
  auto one = started<TypeParam>(7), same = started<TypeParam>(7), other = started<TypeParam>(8);
  for (TypeParam* each : {&one, &same, &other}) search_for(*each, 20, distance);
  EXPECT_EQ(guess_of(one), guess_of(same));
  EXPECT_NE(guess_of(one), guess_of(other));
}

TYPED_TEST(EverySearch, CandidatesDifferAndMayBeAskedForInAnyOrder) {
  const auto search = started<TypeParam>();
  const std::vector<float> last = candidate_of(search, search.population() - 1);
  std::vector<std::vector<float>> all;
  for (std::size_t c = 0; c < search.population(); ++c) all.push_back(candidate_of(search, c));
  EXPECT_EQ(all.back(), last);
  for (std::size_t c = 1; c < all.size(); ++c) EXPECT_NE(all[c - 1], all[c]);
}

TYPED_TEST(EverySearch, ResumesBitForBit) {
  auto whole = started<TypeParam>();
  search_for(whole, 15, distance);
  archive saved;
  whole.state(saved);
  auto resumed = started<TypeParam>();
  archive reader{saved.bytes()};
  resumed.state(reader);
  ASSERT_TRUE(reader.finished());
  EXPECT_EQ(resumed.generation(), 15u);
  search_for(whole, 15, distance);
  search_for(resumed, 15, distance);
  EXPECT_EQ(guess_of(resumed), guess_of(whole));
}

TYPED_TEST(EverySearch, RefusesBadState) {
  auto search = started<TypeParam>();
  archive saved;
  search.state(saved);
  auto bytes = saved.bytes();
  std::vector<std::byte> changed(bytes.begin(), bytes.end());
  for (std::size_t i = changed.size() - 8; i < changed.size(); ++i) changed[i] = std::byte{0xFF};  // NaN
  archive reader{changed};
  search.state(reader);
  EXPECT_FALSE(reader.ok());
}

TYPED_TEST(EverySearch, RefusesParametersThatNoNetworkHas) {
  auto search = started<TypeParam>();
  archive saved;
  search.state(saved);
  std::size_t refused = 0;
  for (std::size_t at = 0; at + 8 <= saved.bytes().size(); at += 8) {
    archive out;
    std::vector<std::byte> changed(saved.bytes().begin(), saved.bytes().end());
    double large = 1e39;
    out(large);
    std::ranges::copy(out.bytes(), changed.begin() + static_cast<std::ptrdiff_t>(at));
    auto forged = started<TypeParam>();
    archive reader{changed};
    forged.state(reader);
    if (!reader.ok())
      ++refused;
    else
      for (const float x : guess_of(forged)) EXPECT_TRUE(std::isfinite(x)) << at;
  }
  EXPECT_GT(refused, 0u);
}

TYPED_TEST(EverySearch, RefusesBadOptions) {
  const std::vector<float> at(3);
  for (const double bad : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()})
    EXPECT_EQ(TypeParam::make(at, {.step_size = bad}).error().code, errc::invalid_option);
  EXPECT_EQ(TypeParam::make(at, {.population = 1}).error().code, errc::invalid_option);
  EXPECT_EQ(TypeParam::make({}, {}).error().code, errc::invalid_option);
  const std::vector<float> not_finite{0.0F, std::numeric_limits<float>::infinity()};
  EXPECT_EQ(TypeParam::make(not_finite, {}).error().code, errc::invalid_option);
}

// The same search, but for one thing that a checkpoint has to agree on.
TYPED_TEST(EverySearch, ItsConfigurationTellsItApart) {
  const auto text = [](const TypeParam& search) {
    std::string lines;
    for (const std::string& line : search.configuration()) lines += line + "\n";
    return lines;
  };
  const std::vector<float> at(3);
  const std::string one = text(*TypeParam::make(at, {}));
  EXPECT_EQ(text(*TypeParam::make(at, {})), one);
  EXPECT_NE(text(*TypeParam::make(at, {.seed = 2})), one);
  EXPECT_NE(text(*TypeParam::make(at, {.step_size = 0.7})), one);
  EXPECT_NE(text(*TypeParam::make(at, {.population = 20})), one);
  EXPECT_NE(text(*TypeParam::make(std::vector<float>(4), {})), one);
}

// Of a valley a thousand times as steep on one side as along it.
TEST(CmaEs, LearnsTheScales) {
  auto search = *cma_es::make(std::vector<float>(2, 1.0F), {.population = 12});
  const auto cost = [](std::span<const float> at) {
    return 1e6 * std::pow(static_cast<double>(at[0]), 2) + std::pow(static_cast<double>(at[1]), 2);
  };
  search_for(search, 60, cost);
  EXPECT_GT(search.variance(1), 1e4 * search.variance(0));
  search_for(search, 140, cost);
  EXPECT_LT(cost(guess_of(search)), 1e-8);
}

TEST(CmaEs, ThePopulationGrowsWithTheDimension) {
  EXPECT_EQ(started<cma_es>(1, 1).population(), 4u);
  EXPECT_EQ(started<cma_es>(1, 20).population(), 12u);
}

TEST(AntitheticEs, PairsAreAntithetic) {
  const auto search = started<antithetic_es>();
  for (std::size_t pair = 0; pair < search.population() / 2; ++pair) {
    const auto up = candidate_of(search, 2 * pair), down = candidate_of(search, 2 * pair + 1);
    for (std::size_t i = 0; i < up.size(); ++i) EXPECT_EQ(up[i], -down[i]) << "the mean is 0";
  }
}

TEST(AntitheticEs, EqualCostsMoveNothing) {
  auto search = started<antithetic_es>();
  search.tell(std::vector<double>(search.population(), 3.0));
  EXPECT_EQ(guess_of(search), std::vector<float>(8));
}

TEST(AntitheticEs, TheGuessIsAnAverage) {
  const std::vector<float> start{1, 2, 3};
  auto plain = *antithetic_es::make(start, {.population = 4}),
       averages = *antithetic_es::make(start, {.population = 4, .averaging = 0.75});
  std::vector<float> expected = start, center(3);
  for (int generation = 0; generation < 3; ++generation) {
    const std::vector<double> costs{3, 1, 4, 2};
    plain.tell(costs);
    averages.tell(costs);
    plain.best_guess(center);
    for (std::size_t i = 0; i < 3; ++i) expected[i] = 0.75F * expected[i] + 0.25F * center[i];
    EXPECT_THAT(guess_of(averages), testing::Pointwise(testing::FloatNear(1e-6F), expected));
  }
  archive saved;
  averages.state(saved);
  auto resumed = *antithetic_es::make(start, {.population = 4, .averaging = 0.75});
  archive reader{saved.bytes()};
  resumed.state(reader);
  EXPECT_EQ(guess_of(resumed), guess_of(averages));
  EXPECT_FALSE(antithetic_es::make(start, {.averaging = 1}));
  EXPECT_FALSE(antithetic_es::make(start, {.averaging = -0.1}));
}

struct without_best_guess : cma_es {
  void best_guess() const;
};
struct without_costs : cma_es {
  void tell();
};

TEST(Concepts, WhatIsASearch) {
  EXPECT_TRUE(ParameterSearch<cma_es>);
  EXPECT_TRUE(ParameterSearch<antithetic_es>);
  EXPECT_FALSE(ParameterSearch<without_best_guess>);
  EXPECT_FALSE(ParameterSearch<without_costs>);
}

}  // namespace
}  // namespace rubato::rl
