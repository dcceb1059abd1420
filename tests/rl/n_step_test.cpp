#include <rubato/rl/n_step.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "agents.hpp"

namespace rubato::rl {
namespace {

struct seen {
  float observation, reward, discount, next;
  friend bool operator==(const seen&, const seen&) = default;
};

// A window over observations that are the number of the step.
struct recorder {
  n_step_window window;
  std::vector<seen> out{};

  auto sink() {
    return [this](const experience& what) {
      out.push_back({what.observation[0], what.reward, what.discount, what.next[0]});
    };
  }
  void push(float number, float reward, double factor, bool terminated = false, bool truncated = false) {
    const std::array<float, 1> here{number}, there{number + 1};
    window.push({.observation = here,
                 .action = 0,
                 .reward = reward,
                 .elapsed = 1,
                 .next = there,
                 .next_legal = all_legal,
                 .terminated = terminated,
                 .truncated = truncated},
                factor, sink());
  }
};

TEST(NStep, ReturnsByHand) {
  recorder r{{3, 1}};
  r.push(0, 1, 0.5);
  r.push(1, 2, 0.5);
  EXPECT_TRUE(r.out.empty());
  r.push(2, 4, 0.5);
  r.push(3, 8, 0.5);
  EXPECT_EQ(r.out, (std::vector<seen>{{0, 1 + 1 + 1, 0.125F, 3}, {1, 2 + 2 + 2, 0.125F, 4}}));
}

TEST(NStep, OneStepIsTheStep) {
  recorder r{{1, 1}};
  r.push(0, 3, 0.8);
  r.push(1, 4, 0.8, true);
  EXPECT_EQ(r.out, (std::vector<seen>{{0, 3, 0.8F, 1}, {1, 4, 0, 2}}));
}

TEST(NStep, TerminalEndsEveryWindow) {
  recorder r{{3, 1}};
  r.push(0, 1, 0.5);
  r.push(1, 2, 0.5, true);
  EXPECT_EQ(r.out, (std::vector<seen>{{0, 2, 0, 2}, {1, 2, 0, 2}}));
  EXPECT_EQ(r.window.open(), 0u);
  r.push(7, 1, 0.5);  // the next episode starts afresh
  EXPECT_EQ(r.out.size(), 2u);
}

TEST(NStep, CutEndsWithBootstrap) {
  recorder r{{3, 1}};
  r.push(0, 1, 0.5);
  r.push(1, 2, 0.5, false, true);
  const std::vector<seen> expected{{0, 2, 0.25F, 2}, {1, 2, 0.5F, 2}};
  EXPECT_EQ(r.out, expected);
  r.out.clear();
  r.push(0, 1, 0.5);
  r.push(1, 2, 0.5);
  r.window.cut(r.sink());
  EXPECT_EQ(r.out, expected);
}

// Steps of unequal length: each has a factor of its own.
TEST(NStep, ElapsedTimeDiscounts) {
  recorder r{{2, 1}};
  r.push(0, 1, 0.25);
  r.push(1, 4, 0.5);
  EXPECT_EQ(r.out, (std::vector<seen>{{0, 1 + 0.25F * 4, 0.125F, 2}}));
}

TEST(NStep, StateRoundTrip) {
  recorder r{{3, 1}}, other{{3, 1}}, wrong{{2, 1}};
  for (float i = 0; i < 4; ++i) r.push(i, i, 0.5);
  const auto bytes = test::saved(r.window);
  archive in{bytes};
  other.window.state(in);
  ASSERT_TRUE(in.finished());
  r.out.clear();
  for (float i = 4; i < 9; ++i) {
    r.push(i, i, 0.5, i == 8);
    other.push(i, i, 0.5, i == 8);
  }
  EXPECT_EQ(other.out, r.out);
  archive again{bytes};
  wrong.window.state(again);
  EXPECT_FALSE(again.ok());
}

}  // namespace
}  // namespace rubato::rl
