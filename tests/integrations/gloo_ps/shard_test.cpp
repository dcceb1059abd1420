#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <rubato/gloo_ps/shard.hpp>
#include <rubato/gloo_ps/shard_thread.hpp>
#include <utility>
#include <vector>

namespace gloo_ps_shard_test {
namespace {

namespace ps = rubato::gloo_ps;
using values = std::vector<float>;

values of(const ps::shard& s) { return {s.parameters().begin(), s.parameters().end()}; }

TEST(Shard, AppliesAtOnce) {
  ps::shard s{{1, 2}, {.learning_rate = 0.5F}};
  s.apply(values{2, 4}, 2);
  EXPECT_EQ(of(s), (values{-1, -2}));
  EXPECT_EQ(s.version(), 1U);
}

TEST(Shard, RoundsAreApart) {
  ps::shard s{{0, 0}, {.learning_rate = 1}};
  s.add(5, values{1, 0}, 1);
  s.add(6, values{0, 1}, 1);
  s.add(5, values{2, 0}, 1);
  EXPECT_EQ(s.version(), 0U);
  s.flush(5, 1);
  EXPECT_EQ(of(s), (values{-3, 0}));
  s.flush(6, 2);
  EXPECT_EQ(of(s), (values{-3, -2}));
}

TEST(Shard, FlushIsOneUpdate) {
  ps::shard s{{0}, {.learning_rate = 1}};
  for (int i = 0; i < 4; ++i) s.add(0, values{1}, 1);
  s.flush(0, 0.25F);
  EXPECT_EQ(of(s), (values{-1}));
  EXPECT_EQ(s.version(), 1U);
  s.add(1, values{8}, 1);  // the accumulator of the closed round is used again, emptied
  s.flush(1, 1);
  EXPECT_EQ(of(s), (values{-9}));
}

TEST(Shard, DiscardLeavesTheVersion) {
  ps::shard s{{0}, {.learning_rate = 1}};
  s.add(0, values{1}, 1);
  s.discard(0);
  s.discard(17);
  EXPECT_EQ(of(s), (values{0}));
  EXPECT_EQ(s.version(), 0U);
  EXPECT_TRUE(s.state().rounds.empty());
}

TEST(Shard, Momentum) {
  ps::shard s{{0}, {.learning_rate = 1, .momentum = 0.5F}};
  s.apply(values{4}, 1);
  EXPECT_EQ(of(s), (values{-4}));
  s.apply(values{0}, 1);
  EXPECT_EQ(of(s), (values{-6}));
}

TEST(Shard, StateRoundTrip) {
  ps::shard s{{0, 1, 2}, {.learning_rate = 1, .momentum = 0.5F}};
  s.apply(values{1, 1, 1}, 1);
  s.add(3, values{1, 2, 3}, 1);
  ps::shard other{{9, 9, 9}, {.learning_rate = 1, .momentum = 0.5F}};
  other.restore(s.state());
  s.flush(3, 1), other.flush(3, 1);
  EXPECT_EQ(of(s), of(other));
  EXPECT_EQ(s.version(), other.version());
}

TEST(ShardThread, OneOrder) {
  values seen;
  {
    ps::shard_thread runner{0, ps::shard{{0}, {.learning_rate = 1}}};
    for (int i = 1; i <= 100; ++i) {
      const auto gradient = std::make_shared<ps::split_gradient>(std::vector<values>{{1}});
      runner.put({.what = ps::shard_effect::kind::add, .round = 1, .gradient = gradient});
      if (i % 10 == 0) runner.put({.what = ps::shard_effect::kind::flush, .round = 1});
      runner.put({.look = [&seen](ps::shard& here) { seen.push_back(here.parameters()[0]); }});
    }
  }  // carries out what was put in
  ASSERT_EQ(seen.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], static_cast<float>(-10 * ((i + 1) / 10)));
}

TEST(ShardThread, ReadsSeeWhatCameBefore) {
  ps::shard_thread runner{0, ps::shard{{0}, {.learning_rate = 1}}};
  for (std::uint64_t i = 1; i <= 50; ++i) {
    const auto gradient = std::make_shared<ps::split_gradient>(std::vector<values>{{1}});
    runner.put({.what = ps::shard_effect::kind::apply, .gradient = gradient});
    std::uint64_t version = 0;
    ps::countdown done{1};
    runner.put({.look = [&](ps::shard& here) { version = here.version(), done.arrive(); }});
    done.wait();
    EXPECT_EQ(version, i);
    gradient->acks.wait();  // acknowledged: it was before the read
  }
}

}  // namespace
}  // namespace gloo_ps_shard_test
