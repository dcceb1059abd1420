#include <rubato/cuda_ps/server.cuh>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/device/device.hpp"
#include "gradients.cuh"
#include "integrations/cuda_ps/numbers.hpp"

namespace rubato::cuda_ps {
namespace {

using CudaPsServer = rubato::test::OnDevice;
using floats = std::vector<float>;
using server_type = server<any_policy>;
constexpr std::size_t size = 1003;

TEST(CudaPsServerOptions, RefusesBadOptions) {
  const auto ps = server_type::make({.sync = {.capacity = 65}}, {}, floats(4), asp{}, {});
  ASSERT_FALSE(ps);
  EXPECT_EQ(ps.error().code, errc::invalid_option);
  EXPECT_EQ(ps.error().message, "sync.capacity is 65, expected at most 64");
}

void train(server_type& ps, std::uint32_t workers, int steps, bool ones) {
  std::vector<std::jthread> threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.emplace_back([&, w] {
      auto me = ps.join({w});
      ASSERT_TRUE(me) << me.error().message;
      for (int n = 0; n < steps; ++n) {
        test::compute((*me)->step(), w, ps.size(), ones);
        const auto pushed = (*me)->push();
        ASSERT_TRUE(pushed) << pushed.error().message;
      }
      EXPECT_EQ((*me)->finish(), errc::ok);
    });
}
floats values_of(server_type& ps) {
  rubato::test::device_array<float> to{ps.size()};
  EXPECT_TRUE(ps.snapshot(to.data(), nullptr));
  return to.host();
}

TEST_F(CudaPsServer, SumsAreExact) {
  for (const any_policy& policy : {any_policy{asp{}}, any_policy{ssp{.staleness = 1}}}) {
    const auto ps =
        server_type::make({.sync = {.capacity = 4}, .shards = 3}, {}, floats(size), policy, {.learning_rate = 1});
    ASSERT_TRUE(ps) << ps.error().message;
    train(**ps, 4, 50, true);
    EXPECT_EQ(values_of(**ps), floats(size, -200));
  }
}

TEST_F(CudaPsServer, BspHasTheBitsOfTheHost) {
  const rule_options rule{.kind = rule_kind::momentum, .learning_rate = 0.05};
  const floats initial = test::numbers(size, 1);
  const auto ps = server_type::make({.sync = {.capacity = 4}, .shards = 2}, {}, initial, bsp{}, rule);
  ASSERT_TRUE(ps) << ps.error().message;
  train(**ps, 4, 20, false);
  EXPECT_EQ(values_of(**ps), test::rounds_at_the_host(initial, rule, 4, 20));
}

TEST_F(CudaPsServer, ALogGivesTheSameBits) {
  const rule_options rule{.kind = rule_kind::adam, .learning_rate = 0.01};
  const floats initial = test::numbers(size, 1);
  const auto ps =
      server_type::make({.sync = {.capacity = 4}, .shards = 2, .log_capacity = 1000}, {}, initial, asp{}, rule);
  ASSERT_TRUE(ps) << ps.error().message;
  train(**ps, 4, 40, false);
  const auto log = (*ps)->log();
  ASSERT_TRUE(log) << log.error().message;
  ASSERT_EQ(log->size(), 160u);
  EXPECT_EQ(values_of(**ps), test::replayed(*log, rule, initial));
}

TEST_F(CudaPsServer, ShutdownFreesEverybody) {
  const auto ps = server_type::make({.sync = {.capacity = 3}}, {}, floats(size), bsp{}, {});
  ASSERT_TRUE(ps) << ps.error().message;
  std::jthread waits{[&] { EXPECT_EQ((*ps)->join({0}).error().code, errc::departed_worker); }};
  std::this_thread::sleep_for(std::chrono::milliseconds{5});
  (*ps)->shutdown();
}

}  // namespace
}  // namespace rubato::cuda_ps
