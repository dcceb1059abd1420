#include <gtest/gtest.h>

#include <rubato/threads_ps/slice.hpp>
#include <span>
#include <stdexcept>
#include <vector>

namespace threads_ps_slice_test {
namespace {

namespace ps = rubato::threads_ps;
using slice = ps::slice<ps::sgd>;
using numbers = std::vector<float>;

slice made(const numbers& initial, ps::sgd_options rule = {.learning_rate = 1}) { return {initial, ps::sgd{rule}}; }
numbers of(const slice& s) { return {s.parameters().begin(), s.parameters().end()}; }

TEST(UpdateRule, SgdMovesAgainstTheDirection) {
  numbers values{1, 2, 3};
  ps::sgd rule{{.learning_rate = 0.5F}};
  rule.resize(3);
  rule.update(values, {.direction = numbers{2, 0, -2}, .scale = 2});
  EXPECT_EQ(values, (numbers{-1, 2, 5}));
}

TEST(UpdateRule, MomentumRemembers) {
  numbers values{0};
  ps::sgd rule{{.learning_rate = 1, .momentum = 0.5F}};
  rule.resize(1);
  rule.update(values, {.direction = numbers{4}});  // v = 4
  rule.update(values, {.direction = numbers{2}});  // v = 2 + 2
  rule.update(values, {.direction = numbers{0}});  // v = 2
  EXPECT_EQ(values, (numbers{-10}));
}

TEST(UpdateRule, StateRoundTrip) {
  numbers here{0, 1}, there = here;
  const auto made = [](std::size_t size, float momentum) {
    ps::sgd rule{{.learning_rate = 1, .momentum = momentum}};
    rule.resize(size);
    return rule;
  };
  ps::sgd rule = made(2, 0.5F), other = made(2, 0.5F), shorter = made(1, 0.5F), plain = made(2, 0);
  numbers moved = here;
  rule.update(moved, {.direction = numbers{4, -4}});
  ASSERT_TRUE(other.restore(rule.state()));
  rule.update(here, {.direction = numbers{1, 1}}), other.update(there, {.direction = numbers{1, 1}});
  EXPECT_EQ(here, there);
  EXPECT_FALSE(shorter.restore(rule.state()));
  EXPECT_FALSE(plain.restore(rule.state()));
  EXPECT_FALSE(rule.restore(plain.state()));
}

TEST(UpdateRule, BadOptionsAreSentences) {
  EXPECT_EQ(problem(ps::sgd_options{}), "");
  for (const float wrong : {-1.0F, 1e7F, 0.0F / 0.0F})
    EXPECT_EQ(problem(ps::sgd_options{.learning_rate = wrong}), "learning_rate: expected a number in [0, 1e6)");
  for (const float wrong : {-0.1F, 1.0F, 0.0F / 0.0F}) EXPECT_NE(problem(ps::sgd_options{.momentum = wrong}), "");
}

TEST(Slice, AppliesAtOnce) {
  slice s = made({1, 2}, {.learning_rate = 0.5F});
  s.apply(numbers{2, 4}, 2);
  EXPECT_EQ(of(s), (numbers{-1, -2}));
  EXPECT_EQ(s.version(), 1U);
}

TEST(Slice, RoundsAreApart) {
  slice s = made({0, 0});
  s.add(5, numbers{1, 0}, 1);
  s.add(6, numbers{0, 1}, 1);  // admitted while the last commit of round 5 is out
  s.add(5, numbers{2, 0}, 1);
  EXPECT_EQ(s.version(), 0U);
  s.flush(5, 1);
  EXPECT_EQ(of(s), (numbers{-3, 0}));
  s.flush(6, 2);
  EXPECT_EQ(of(s), (numbers{-3, -2}));
}

TEST(Slice, FlushIsOneUpdate) {
  slice s = made({0});
  for (int i = 0; i < 4; ++i) s.add(0, numbers{1}, 1);
  s.flush(0, 0.25F);
  EXPECT_EQ(of(s), (numbers{-1}));
  EXPECT_EQ(s.version(), 1U);
  s.add(1, numbers{8}, 1);  // the sum of the closed round is used again, emptied
  s.flush(1, 1);
  EXPECT_EQ(of(s), (numbers{-9}));
}

TEST(Slice, DiscardLeavesTheVersion) {
  slice s = made({0});
  s.add(0, numbers{1}, 1);
  s.discard(0);
  s.discard(17);
  EXPECT_EQ(of(s), (numbers{0}));
  EXPECT_EQ(s.version(), 0U);
  EXPECT_TRUE(s.rounds().empty());
  s.add(1, numbers{1}, 1);
  s.flush(1, 1);
  EXPECT_EQ(of(s), (numbers{-1}));
}

TEST(Slice, EmptyRoundsCountAsUpdates) {
  slice s = made({0}, {.learning_rate = 1, .momentum = 0.5F});
  s.apply(numbers{4}, 1);
  s.flush(3, 1);
  EXPECT_EQ(s.version(), 2U);
  EXPECT_EQ(of(s), (numbers{-6})) << "by the rule, which remembers";
}

TEST(Slice, TheRuleHearsTheWeightOfARound) {
  struct rule {
    std::vector<float>* heard;
    void resize(std::size_t) {}
    void update(std::span<float>, const ps::update_step& by) { heard->insert(heard->end(), {by.scale, by.weight}); }
  };
  numbers heard;
  ps::slice<rule> s{numbers{0}, rule{&heard}};
  s.apply(numbers{1}, 0.5F);
  s.add(0, numbers{1}, 0.5F), s.add(1, numbers{1}, 8), s.add(0, numbers{1}, 2);
  s.flush(0, 0.25F);
  s.add(1, numbers{1}, -8);  // taken back
  s.flush(1, 1), s.flush(2, 1);
  EXPECT_EQ(heard, (numbers{0.5F, 1, 0.25F, 2.5F, 1, 0, 1, 0}));
}

TEST(Slice, AFlushThatThrowsCountsAndClosesItsRound) {
  struct rule {
    void resize(std::size_t) {}
    void update(std::span<float> values, const ps::update_step& by) {
      if (by.direction[0] > 100) throw std::runtime_error{"too far"};
      values[0] -= by.scale * by.direction[0];
    }
  };
  ps::slice<rule> s{numbers{0}, rule{}};
  s.add(0, numbers{60}, 1), s.add(0, numbers{60}, 1);
  EXPECT_THROW(s.flush(0, 0.5F), std::runtime_error);
  EXPECT_EQ(s.version(), 1U);
  EXPECT_TRUE(s.rounds().empty());
  EXPECT_THROW(s.apply(numbers{120}, 1), std::runtime_error);
  EXPECT_EQ(s.version(), 1U) << "an update that nobody has seen";
  s.add(1, numbers{60}, 1);
  s.flush(1, 1);
  EXPECT_EQ(s.parameters()[0], -60.0F) << "the sum of the closed round is used again, emptied";
  EXPECT_EQ(s.version(), 2U);
}

TEST(Slice, StateRoundTrip) {
  slice s = made({0, 1, 2}, {.learning_rate = 1, .momentum = 0.5F});
  s.apply(numbers{1, 1, 1}, 1);
  s.add(3, numbers{1, 2, 3}, 1);
  slice other = made({9, 9, 9}, {.learning_rate = 1, .momentum = 0.5F});
  ASSERT_TRUE(other.rule().restore(s.rule().state()));
  other.restore(s.version(), of(s), s.rounds());
  s.flush(3, 1), other.flush(3, 1);
  EXPECT_EQ(of(s), of(other));
  EXPECT_EQ(s.version(), other.version());
}

}  // namespace
}  // namespace threads_ps_slice_test
