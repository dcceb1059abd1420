#include <rubato/adapt/stigmergy.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <rubato/core/rng.hpp>
#include <vector>

namespace rubato::adapt {
namespace {

pheromone_field field_of(std::size_t columns, std::size_t rows, const pheromone_options& options,
                         std::vector<std::uint8_t> closed = {}) {
  return *pheromone_field::make(columns, rows, options, closed);
}

double sum_of(const pheromone_field& field) {
  double sum = 0;
  for (std::size_t row = 0; row < field.rows(); ++row)
    for (std::size_t column = 0; column < field.columns(); ++column) sum += static_cast<double>(field.at(column, row));
  return sum;
}

TEST(PheromoneField, DepositsEvaporate) {
  pheromone_field field = field_of(3, 2, {.evaporation = 0.5, .deposit = 8});
  field.deposit(2, 1);
  EXPECT_EQ(field.at(2, 1), 8.0F);
  field.step();
  field.deposit(2, 1);
  field.deposit(0, 0);
  EXPECT_EQ(field.at(2, 1), 12.0F);
  field.step();
  EXPECT_EQ(field.at(2, 1), 6.0F);
  EXPECT_EQ(field.at(0, 0), 4.0F);
  EXPECT_EQ(field.at(1, 0), 0.0F);
}

// With the paper's numbers a cell where somebody stays comes to 0.1 / 0.05, seen after the deposit.
TEST(PheromoneField, VisitsWithoutEndComeToTheirRatio) {
  pheromone_field field = field_of(1, 1, {});
  for (int t = 0; t < 1000; ++t) {
    field.step();
    field.deposit(0, 0);
  }
  EXPECT_NEAR(field.at(0, 0), 2.0F, 1e-6);
}

// A factor for all cells would be 0 after some 14,000 steps, were it not put into the amounts before.
TEST(PheromoneField, LongTimesStayExact) {
  pheromone_field field = field_of(2, 1, {.evaporation = 0.05, .deposit = 1});
  for (int t = 0; t < 100'000; ++t) field.step();
  field.deposit(0, 0);
  EXPECT_EQ(field.at(0, 0), 1.0F);
  for (int t = 0; t < 100; ++t) field.step();
  EXPECT_NEAR(field.at(0, 0), std::pow(0.95, 100), 1e-8);
  EXPECT_EQ(field.at(1, 0), 0.0F);
  for (int t = 0; t < 10'000; ++t) field.step();
  EXPECT_EQ(field.at(0, 0), 0.0F);
  EXPECT_EQ(field.held(), 0U) << "what has evaporated is let go of";
}

TEST(PheromoneField, DiffusionByHand) {
  pheromone_field field = field_of(3, 3, {.evaporation = 0, .deposit = 16, .diffusion = 0.5});
  field.deposit(0, 0);  // in a corner: two quarters of a half go, two stay
  field.step();
  EXPECT_EQ(field.at(0, 0), 12.0F);
  EXPECT_EQ(field.at(1, 0), 2.0F);
  EXPECT_EQ(field.at(0, 1), 2.0F);
  field.step();
  EXPECT_EQ(field.at(0, 0), 9.5F) << "12 - 2 * 12 / 8 + 2 * 2 / 8";
  EXPECT_EQ(field.at(1, 0), 2.75F) << "2 - 3 * 2 / 8 + 12 / 8";
  EXPECT_EQ(field.at(1, 1), 0.5F) << "2 / 8 from two sides";
  EXPECT_EQ(field.at(2, 0), 0.25F);
}

TEST(PheromoneField, DiffusionLosesNothing) {
  std::vector<std::uint8_t> walls(7 * 5);
  for (const std::size_t wall : {3U, 9U, 10U, 17U, 30U}) walls[wall] = 1;
  pheromone_field field = field_of(7, 5, {.evaporation = 0, .deposit = 1, .diffusion = 0.8}, walls);
  random_sequence random{1};
  int made = 0;
  for (int t = 0; t < 500; ++t) {
    const auto column = static_cast<std::size_t>(random.below(7)), row = static_cast<std::size_t>(random.below(5));
    made += walls[row * 7 + column] == 0;
    field.deposit(column, row);
    field.step();
    ASSERT_NEAR(sum_of(field), made, 1e-4 * made) << t;
  }
}

TEST(PheromoneField, WallsHoldNothing) {
  // A room of one cell, and one of two, with a wall between them.
  pheromone_field field =
      field_of(4, 1, {.evaporation = 0.1, .deposit = 1, .initial = 2, .diffusion = 0.4}, {0, 1, 0, 0});
  field.deposit(1, 0);
  for (int t = 0; t < 50; ++t) {
    EXPECT_EQ(field.at(1, 0), 0.0F);
    EXPECT_NEAR(field.at(0, 0), 2 * std::pow(0.9, t), 1e-6) << "nothing comes or goes";
    field.step();
  }
}

TEST(PheromoneField, OnlyTouchedCellsAreSwept) {
  pheromone_field field = field_of(1000, 1000, {.diffusion = 0.1});
  EXPECT_EQ(field.held(), 0U);
  field.deposit(500, 500);
  EXPECT_EQ(field.held(), 1U);
  field.step();
  field.step();
  EXPECT_EQ(field.held(), 13U) << "the cells within two moves";
}

TEST(PheromoneField, ResetIsTheBeginning) {
  for (const double diffusion : {0.0, 0.3}) {
    const pheromone_options options{.initial = 1, .diffusion = diffusion};
    pheromone_field used = field_of(4, 3, options, {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0});
    pheromone_field fresh = used;
    for (int t = 0; t < 20; ++t) {
      used.deposit(2, 1);
      used.step();
    }
    used.reset();
    for (int t = 0; t < 20; ++t) {
      for (std::size_t row = 0; row < 3; ++row)
        for (std::size_t column = 0; column < 4; ++column) ASSERT_EQ(used.at(column, row), fresh.at(column, row)) << t;
      for (pheromone_field* each : {&used, &fresh}) {
        each->deposit(0, 2);
        each->step();
      }
    }
  }
}

TEST(PheromoneField, ProblemsAreNamed) {
  EXPECT_EQ(problem(pheromone_options{}), nullptr);
  const auto says = [](const pheromone_options& o) { return std::string{problem(o)}; };
  EXPECT_EQ(says({.evaporation = 1}), "evaporation: expected a number in [0, 0.9]");
  EXPECT_EQ(says({.evaporation = std::nan("")}), "evaporation: expected a number in [0, 0.9]");
  EXPECT_EQ(says({.deposit = -1}), "deposit: expected a number in [0, 1e6]");
  EXPECT_EQ(says({.initial = HUGE_VAL}), "initial: expected a number in [0, 1e6]");
  EXPECT_EQ(says({.diffusion = 0.9}), "diffusion: expected a number in [0, 0.8]");
}

TEST(PheromoneField, BadFieldsAreRefused) {
  const auto refusal = [](std::size_t columns, std::size_t rows, const pheromone_options& options,
                          const std::vector<std::uint8_t>& closed = {}) {
    const auto made = pheromone_field::make(columns, rows, options, closed);
    return made ? "" : made.error().message;
  };
  EXPECT_EQ(refusal(2, 2, {.deposit = -1}), "pheromone_field: deposit: expected a number in [0, 1e6]");
  EXPECT_EQ(refusal(0, 2, {}), "pheromone_field: found 0 x 2 cells, expected 1 to 2^24");
  EXPECT_EQ(refusal(std::size_t{1} << 20, 17, {}), "pheromone_field: found 1048576 x 17 cells, expected 1 to 2^24");
  EXPECT_EQ(refusal(2, 3, {}, {0, 0, 1, 0, 0}),
            "pheromone_field: closed: found 5 flags, expected one for each of 6 cells");
}

}  // namespace
}  // namespace rubato::adapt
