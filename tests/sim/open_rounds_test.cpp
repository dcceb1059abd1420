#include <rubato/sim/open_rounds.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace rubato::sim {
namespace {

[[nodiscard]] std::vector<std::uint32_t> handles(const std::vector<contribution>& parts) {
  std::vector<std::uint32_t> all;
  for (const contribution& part : parts) all.push_back(part.handle);
  return all;
}

TEST(OpenRounds, KeepsRoundsApart) {
  open_rounds rounds;
  rounds.add(4, {1, 1});
  rounds.add(5, {2, 1});
  rounds.add(4, {3, 1});
  EXPECT_EQ(rounds.waiting(), 3U);
  EXPECT_EQ(handles(rounds.take(4)), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(rounds.any(), 5U);
  EXPECT_EQ(handles(rounds.take(4)), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(handles(rounds.take(5)), (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(rounds.waiting(), 0U);
}

TEST(OpenRounds, ReusedRoundsStartEmpty) {
  open_rounds rounds;
  for (std::uint32_t round = 0; round < 10; ++round) {
    rounds.add(round, {round, 1});
    rounds.add(round, {round, 1});
    EXPECT_EQ(handles(rounds.take(round)), (std::vector<std::uint32_t>{round, round}));
  }
}

}  // namespace
}  // namespace rubato::sim
