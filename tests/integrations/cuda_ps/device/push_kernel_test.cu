#include <rubato/cuda_ps/push_kernel.cuh>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/device/device.hpp"

namespace rubato::cuda_ps {
namespace {

using CudaPsPush = rubato::test::OnDevice;
using state = device_decisions<8>;
using kind = cuda::request::kind;

// Two workers, one after the other in one stream, and what their server reads and writes.
struct bench {
  rubato::test::device_array<state> all{1};
  rubato::test::device_array<turn_words> turns{1};
  rubato::test::device_array<std::uint32_t> words{8};
  rubato::test::device_array<float> loss{std::vector<float>{2.5F}};
  mapped_array<std::uint32_t> words_host;
  mapped_array<unsigned long long> progress;
  mapped_array<double> wake_in;
  std::unique_ptr<device_shards> shards;
  stream own;
  std::uint32_t launches = 0;

  void begin(const cuda::device_policy<>& policy, double wake_at) {
    error wrong;
    ASSERT_FALSE(failed(mapped_array<std::uint32_t>::make(8), words_host, wrong)) << wrong.message;
    ASSERT_FALSE(failed(mapped_array<unsigned long long>::make(8), progress, wrong)) << wrong.message;
    ASSERT_FALSE(failed(mapped_array<double>::make(1), wake_in, wrong)) << wrong.message;
    ASSERT_FALSE(failed(device_shards::make(std::vector<float>(5), 3, 1, rule_kind::sgd, 0), shards, wrong));
    ASSERT_FALSE(failed(make_stream(), own, wrong)) << wrong.message;
    std::vector<state> fresh(1);
    fresh[0].controller.workers = 2;
    fresh[0].controller.policy = policy;
    fresh[0].controller.wake_at = wake_at;
    all = fresh;
  }
  // By the stream of this worker, or of the server, which is number 2.
  void push(std::uint32_t of, const cuda::request& what, unsigned blocks = 3) {
    const push_words told{words.data(), words_host.device(), progress.device(), wake_in.device()};
    const push_request asked{.what = what,
                             .stream = of,
                             .number = ++launches,
                             .step = 7,
                             .loss = what.what == kind::push ? loss.data() : nullptr};
    const error e = launch_push(all.data(), turns.data(), told, asked, shards->whole(), log_view{}, blocks, own.get());
    ASSERT_EQ(e.code, errc::ok) << e.message;
    ASSERT_EQ(cudaStreamSynchronize(own.get()), cudaSuccess);
  }
  void expect_words(std::uint32_t first, std::uint32_t second) {
    EXPECT_EQ(words.host(), (std::vector<std::uint32_t>{first, second, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(words_host.host()[0], first);
    EXPECT_EQ(words_host.host()[1], second);
  }
};

TEST_F(CudaPsPush, TellsWhoMayGoOn) {
  bench at;
  ASSERT_NO_FATAL_FAILURE(at.begin(cuda::device_policy<>::bsp(), cuda::detail::never));
  ASSERT_NO_FATAL_FAILURE(at.push(2, {.what = kind::start}));
  at.expect_words(1, 1);
  ASSERT_NO_FATAL_FAILURE(at.push(0, {.worker = 0, .step = 1}));
  at.expect_words(1, 1);
  EXPECT_EQ(at.progress.host()[0] >> 32, 7u);
  EXPECT_EQ(static_cast<std::uint32_t>(at.progress.host()[0]), 0x40200000u) << "2.5";
  ASSERT_NO_FATAL_FAILURE(at.push(1, {.worker = 1, .step = 1}));
  at.expect_words(2, 2);
  EXPECT_EQ(*at.wake_in.host(), 0) << "no deadline";
}

TEST_F(CudaPsPush, LetsTheStreamOfTheDepartedRunOut) {
  bench at;
  ASSERT_NO_FATAL_FAILURE(at.begin(cuda::device_policy<>::bsp(), cuda::detail::never));
  ASSERT_NO_FATAL_FAILURE(at.push(2, {.what = kind::start}));
  ASSERT_NO_FATAL_FAILURE(at.push(0, {.worker = 0, .step = 1}));
  ASSERT_NO_FATAL_FAILURE(at.push(2, {.what = kind::depart, .why = cause::death, .worker = 1}));
  at.expect_words(2, 1 + steps_of_the_departed);
}

TEST_F(CudaPsPush, TellsWhenToPoll) {
  bench at;
  ASSERT_NO_FATAL_FAILURE(at.begin(cuda::device_policy<>::asp(), 1000));
  ASSERT_NO_FATAL_FAILURE(at.push(2, {.what = kind::start}));
  EXPECT_GT(*at.wake_in.host(), 900);
  EXPECT_LE(*at.wake_in.host(), 1000);
  ASSERT_NO_FATAL_FAILURE(at.push(2, {.what = kind::poll}));
  EXPECT_GT(*at.wake_in.host(), 900) << "it is not over";
  const rubato::test::device_array<cuda::device_policy<>> another{std::vector{cuda::device_policy<>::ssp(1)}};
  ASSERT_NO_FATAL_FAILURE(at.push(2, {.what = kind::change, .policy = another.data()}));
  EXPECT_EQ(*at.wake_in.host(), 0) << "another policy has not asked for it";
}

}  // namespace
}  // namespace rubato::cuda_ps
