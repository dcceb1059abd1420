#include <gtest/gtest.h>

#include <string>

#include <rubato/sim/learning_rate.hpp>

namespace {

using namespace rubato::sim;

TEST(learning_rate, ConstantWithoutBoundaries) {
  const learning_rate rate{{.base = 0.03}};
  EXPECT_EQ(rate.at(0), 0.03);
  EXPECT_EQ(rate.at(1'000'000), 0.03);
}

TEST(learning_rate, StepsAtBoundaries) {
  const learning_rate rate{{.base = 0.5, .boundaries = {{100, 0.5}, {200, 0.25}}}};
  EXPECT_EQ(rate.at(99), 0.5);
  EXPECT_EQ(rate.at(100), 0.25);
  EXPECT_EQ(rate.at(199), 0.25);
  EXPECT_EQ(rate.at(200), 0.125);
}

TEST(learning_rate, FactorsDoNotCompound) {
  const learning_rate rate{{.base = 1, .boundaries = {{0, 2}, {1, 3}}}};
  EXPECT_EQ(rate.at(0), 2);
  EXPECT_EQ(rate.at(1), 3);
}

TEST(learning_rate, ProblemNamesTheOption) {
  EXPECT_EQ(problem(learning_rate_options{}), nullptr);
  EXPECT_EQ(std::string{problem(learning_rate_options{.base = 0})}.rfind("base", 0), 0U);
  EXPECT_EQ(std::string{problem(learning_rate_options{.boundaries = {{5, 1}, {5, 1}}})}.rfind("boundaries", 0), 0U);
  EXPECT_EQ(std::string{problem(learning_rate_options{.boundaries = {{5, -1}}})}.rfind("boundaries", 0), 0U);
}

}  // namespace
