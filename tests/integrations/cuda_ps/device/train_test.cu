#include <rubato/cuda_ps/train.cuh>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <vector>

#include "cuda/device/device.hpp"
#include "gradients.cuh"

namespace rubato::cuda_ps {
namespace {

using CudaPsTrain = rubato::test::OnDevice;
using floats = std::vector<float>;
constexpr std::size_t size = 1003;

const auto ones = [](std::uint32_t worker, const lane_step& step) {
  test::compute(step, worker, size, true);
  return cuda::check_launch("a gradient");
};

TEST_F(CudaPsTrain, TrainsWithBothServers) {
  rubato::test::device_array<float> values{size};
  const auto host = server<asp>::make({.sync = {.capacity = 3}}, {}, floats(size), asp{}, {.learning_rate = 1});
  ASSERT_TRUE(host) << host.error().message;
  for (const worker_end& each : train(**host, 3, 40, ones)) {
    EXPECT_EQ(each.failure.code, errc::ok) << each.failure.message;
    EXPECT_EQ(each.steps, 40u);
  }
  ASSERT_TRUE((*host)->snapshot(values.data(), nullptr));
  EXPECT_EQ(values.host(), floats(size, -120));

  using on_device = device_server<8>;
  const auto device =
      on_device::make({.workers = 3}, floats(size), on_device::policy_type::asp(), {.learning_rate = 1});
  ASSERT_TRUE(device) << device.error().message;
  for (const worker_end& each : train(**device, 3, 40, ones)) {
    EXPECT_EQ(each.failure.code, errc::ok) << each.failure.message;
    EXPECT_EQ(each.steps, 40u);
  }
  ASSERT_EQ((*device)->snapshot(values.data(), nullptr).code, errc::ok);
  EXPECT_EQ(values.host(), floats(size, -120));
}

// Worker 1 fails in its fourth step; nobody waits for it.
void expect_others_go_on(const std::vector<worker_end>& ends) {
  EXPECT_EQ(ends[1].failure.message, "no more images");
  EXPECT_EQ(ends[1].steps, 3u);
  for (const std::size_t w : {0u, 2u}) {
    EXPECT_EQ(ends[w].failure.code, errc::ok) << ends[w].failure.message;
    EXPECT_EQ(ends[w].steps, 10u);
  }
}
const auto fails = [](std::uint32_t worker, const lane_step& step) {
  if (worker == 1 && step.number == 4) return error{errc::io, "no more images"};
  return ones(worker, step);
};

TEST_F(CudaPsTrain, AFailingGradientEndsItsWorker) {
  const auto host = server<bsp>::make({.sync = {.capacity = 3}}, {}, floats(size), bsp{}, {.learning_rate = 1});
  ASSERT_TRUE(host) << host.error().message;
  expect_others_go_on(train(**host, 3, 10, fails));

  using on_device = device_server<8>;
  const auto device = on_device::make({.workers = 3}, floats(size), on_device::policy_type::bsp(), {});
  ASSERT_TRUE(device) << device.error().message;
  expect_others_go_on(train(**device, 3, 10, fails));
}

TEST_F(CudaPsTrain, WhoHasJoinedElsewhereIsNotWaitedFor) {
  using on_device = device_server<8>;
  const auto ps = on_device::make({.workers = 3}, floats(size), on_device::policy_type::bsp(), {.learning_rate = 1});
  ASSERT_TRUE(ps) << ps.error().message;
  static_cast<void>((*ps)->join(1));
  const auto ends = train(**ps, 3, 10, ones);
  EXPECT_EQ(ends[1].failure.code, errc::repeated);
  EXPECT_EQ(ends[0].steps, 10u);
  EXPECT_EQ(ends[2].steps, 10u);
}

}  // namespace
}  // namespace rubato::cuda_ps
