#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <rubato/gloo_ps/shard.hpp>
#include <rubato/gloo_ps/shard_thread.hpp>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace gloo_ps_shard_test {
namespace {

namespace ps = rubato::gloo_ps;
using values = std::vector<float>;

ps::shard zero(rubato::threads_ps::sgd_options rule = {.learning_rate = 1}) {
  return {values{0}, rubato::threads_ps::sgd{rule}};
}

TEST(Shard, ImageRoundTrip) {
  ps::shard here = zero({.learning_rate = 1, .momentum = 0.5F}), other = here;
  here.apply(values{1}, 1);
  here.add(3, values{2}, 1);
  ps::restore(other, ps::image_of(here));
  here.flush(3, 1), other.flush(3, 1);
  EXPECT_EQ(here.version(), other.version());
  EXPECT_EQ(here.parameters()[0], other.parameters()[0]);
}

TEST(ShardThread, OneOrder) {
  values seen;
  {
    ps::shard_thread runner{0, zero()};
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
  ps::shard_thread runner{0, zero()};
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

TEST(ShardThread, ARuleThatThrowsIsTold) {
  struct rule : rubato::threads_ps::sgd {
    void update(std::span<float> all, const rubato::threads_ps::update_step& by) {
      if (by.direction[0] > 100) throw std::runtime_error{"too far"};
      sgd::update(all, by);
    }
  };
  ps::shard_thread runner{0, {values{0}, rule{rubato::threads_ps::sgd{}}}};
  const auto version = [&runner] {
    std::uint64_t seen = 0;
    ps::countdown done{1};
    runner.put({.look = [&](ps::shard& here) { seen = here.version(), done.arrive(); }});
    done.wait();
    return seen;
  };
  const auto gradient = [](float x) { return std::make_shared<ps::split_gradient>(std::vector<values>{{x}}); };
  const auto far = gradient(999), near = gradient(1);
  runner.put({.what = ps::shard_effect::kind::apply, .gradient = far});
  far->acks.wait();  // who has pushed it does not wait for ever
  EXPECT_EQ(version(), 1U) << "other shards have the update";
  EXPECT_EQ(runner.take_failure(), "too far");
  EXPECT_EQ(runner.take_failure(), "");
  runner.put({.what = ps::shard_effect::kind::add, .round = 1, .gradient = gradient(999)});
  runner.put({.what = ps::shard_effect::kind::flush, .round = 1});
  EXPECT_EQ(version(), 2U);
  EXPECT_EQ(runner.take_failure(), "too far");
  runner.put({.what = ps::shard_effect::kind::apply, .gradient = near});
  near->acks.wait();
  EXPECT_EQ(version(), 3U);
}

}  // namespace
}  // namespace gloo_ps_shard_test
