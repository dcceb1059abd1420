#include <rubato/cuda/waiting.cuh>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <rubato/cuda/switch_graph.cuh>
#include <vector>

#include "cuda/device/device.hpp"

namespace rubato::cuda {
namespace {

__global__ void set(std::uint32_t* word, std::uint32_t value) { *static_cast<volatile std::uint32_t*>(word) = value; }
__global__ void set_late(std::uint32_t* word, std::uint32_t value) {  // after 20 ms and more
  const std::uint64_t begin = device_nanoseconds();
  while (device_nanoseconds() - begin < 20'000'000) __nanosleep(1000);
  *static_cast<volatile std::uint32_t*>(word) = value;
}
__global__ void copy(const std::uint32_t* from, std::uint32_t* to) {
  *to = *static_cast<const volatile std::uint32_t*>(from);
}

class CudaWaiting : public test::OnDevice {
 protected:
  static constexpr std::uint32_t workers = 2;
  static constexpr std::size_t words = 16;

  void SetUp() override {
    test::OnDevice::SetUp();
    if (IsSkipped()) return;
    const auto found = capabilities(0);
    ASSERT_TRUE(found) << found.error().message;
    can_ = *found;
    for (cudaStream_t& each : streams_) ASSERT_EQ(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking), cudaSuccess);
    for (cudaEvent_t& each : events_) ASSERT_EQ(cudaEventCreateWithFlags(&each, cudaEventDisableTiming), cudaSuccess);
    // All kernels are loaded before any stream waits: see wait_for_release().
    words_ = std::make_unique<test::device_array<std::uint32_t>>(words);
    const test::device_array<controller_state<workers>> state{1};
    const test::device_array<decision_record<workers>> record{1};
    const test::device_array<request> what{std::vector<request>{{.what = request::kind::poll, .now = 0.0}}};
    set<<<1, 1, 0, streams_[0]>>>(words_->data(), 1);
    set_late<<<1, 1, 0, streams_[0]>>>(words_->data(), 0);
    copy<<<1, 1, 0, streams_[0]>>>(words_->data(), words_->data() + 1);
    ASSERT_EQ(launch_decide(state.data(), what.data(), time_of::request, record.data(), release_words{words_->data()},
                            streams_[0])
                  .code,
              errc::ok);
    ASSERT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
  }
  void TearDown() override {
    if (words_ != nullptr && streams_.back() != nullptr) release_everybody();
    for (cudaStream_t each : streams_)
      if (each != nullptr) cudaStreamDestroy(each);
    for (cudaEvent_t each : events_)
      if (each != nullptr) cudaEventDestroy(each);
  }
  // Whoever still waits for a word, in a test that fails: or nothing could be freed.
  void release_everybody() {
    EXPECT_EQ(cudaMemsetAsync(words_->data(), 0x3f, words * sizeof(std::uint32_t), streams_.back()), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  // Whether the stream does without that.
  bool finishes(cudaStream_t stream) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    cudaError_t answer = cudaErrorNotReady;
    while (answer == cudaErrorNotReady && std::chrono::steady_clock::now() < end) answer = cudaStreamQuery(stream);
    static_cast<void>(cudaGetLastError());  // which the runtime may keep
    if (answer != cudaSuccess) release_everybody();
    return answer == cudaSuccess;
  }
  [[nodiscard]] std::uint32_t* word(std::size_t i) const { return words_->data() + i; }

  waiting_capabilities can_;
  std::array<cudaStream_t, 4> streams_{};  // the last never waits
  std::array<cudaEvent_t, 2> events_{};
  std::unique_ptr<test::device_array<std::uint32_t>> words_;  // what streams wait for, and what else tests write
};

TEST(CudaCapabilities, CapabilitiesWithoutADevice) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) GTEST_SKIP() << "there is a device";
  static_cast<void>(cudaGetLastError());
  const auto found = capabilities(0);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::io);
  EXPECT_EQ(found.error().message.substr(0, 23), "capabilities: cudaError") << found.error().message;
}

TEST(CudaCapabilities, ChoosesWhatTheDeviceCan) {
  waiting_capabilities can;
  EXPECT_EQ(choose_waiting(can, rule::learned, 4, 8), waiting::events);
  can.has_switch = true;
  EXPECT_EQ(choose_waiting(can, rule::learned, 4, 8), waiting::graph);
  EXPECT_EQ(choose_waiting(can, rule::bsp, 4, 8), waiting::events);
  can.wait_value = [](CUstream, CUdeviceptr, cuuint32_t, unsigned) { return CUDA_SUCCESS; };
  EXPECT_EQ(choose_waiting(can, rule::ssp, 4, 8), waiting::words);
  EXPECT_EQ(choose_waiting(can, rule::ssp, 8, 8), waiting::graph);
}

TEST(CudaCapabilities, RefusesWhatTheDriverLacks) {
  const std::uint32_t word = 0;
  waiting_capabilities can;
  can.driver = 11080;
  EXPECT_EQ(wait_for_release(can, nullptr, &word, 1).message,
            "wait_for_release: driver 11080 has no cuStreamWaitValue32 of 12.0");
  EXPECT_EQ(wait_for_release(can, nullptr, nullptr, 1).code, errc::invalid_option);
  const std::array<cudaStream_t, 2> streams{};
  EXPECT_EQ(wait_for_streams(nullptr, streams, {}).message,
            "wait_for_streams: 0 events, expected one for each of 2 streams");
}

// What it says that can be done is done, and nothing else.
TEST_F(CudaWaiting, SaysWhatTheDeviceCan) {
  std::uint32_t* here = nullptr;
  std::uint32_t* there = nullptr;
  if (can_.maps_memory) {
    ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&here), sizeof *here, cudaHostAllocMapped), cudaSuccess);
    *here = 0;
    ASSERT_EQ(cudaHostGetDevicePointer(reinterpret_cast<void**>(&there), here, 0), cudaSuccess);
    set<<<1, 1, 0, streams_[0]>>>(there, 7);
    EXPECT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
    EXPECT_EQ(*here, 7u);
    EXPECT_EQ(cudaFreeHost(here), cudaSuccess);
  }
  if (can_.wait_value != nullptr) {  // counted round: 5 comes after 2^32 - 1
    set<<<1, 1, 0, streams_[0]>>>(word(0), 5);
    EXPECT_EQ(wait_for_release(can_, streams_[0], word(0), 0xffff'ffffU).code, errc::ok);
    EXPECT_TRUE(finishes(streams_[0]));
  }
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  const test::device_array<controller_state<workers>> state{1};
  const test::device_array<decision_record<workers>> record{1};
  const test::device_array<request> what{1};
  const auto nodes = add_switch(graph, {}, state.data(), what.data(), time_of::request, record.data());
  EXPECT_EQ(static_cast<bool>(nodes), can_.has_switch) << (nodes ? "it can" : nodes.error().message);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(CudaWaiting, StreamsWaitForTheirWords) {
  if (can_.wait_value == nullptr) GTEST_SKIP() << "no cuStreamWaitValue32";
  const auto source = word(1), seen = word(2);
  set<<<1, 1, 0, streams_[0]>>>(word(0), 0);
  set<<<1, 1, 0, streams_[0]>>>(source, 1);
  ASSERT_EQ(wait_for_release(can_, streams_[0], word(0), 2).code, errc::ok);
  copy<<<1, 1, 0, streams_[0]>>>(source, seen);
  ASSERT_EQ(cudaEventRecord(events_[0], streams_[0]), cudaSuccess);
  set_late<<<1, 1, 0, streams_[1]>>>(word(0), 1);  // not yet
  set_late<<<1, 1, 0, streams_[1]>>>(source, 42);  // is to be seen
  EXPECT_EQ(cudaStreamSynchronize(streams_[1]), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(events_[0]), cudaErrorNotReady);
  static_cast<void>(cudaGetLastError());
  set<<<1, 1, 0, streams_[1]>>>(word(0), 2);
  EXPECT_TRUE(finishes(streams_[0]));
  EXPECT_EQ(words_->host()[2], 42u);
}

// The barrier waits for the slowest, and those who wait for it see what was written behind it.
TEST_F(CudaWaiting, StreamsWaitForEvents) {
  const auto source = word(0), seen = word(3), after = word(6);
  set_late<<<1, 1, 0, streams_[0]>>>(source, 7);
  set<<<1, 1, 0, streams_[1]>>>(source + 1, 8);
  const std::array<cudaStream_t, workers> others{streams_[0], streams_[1]};
  ASSERT_EQ(wait_for_streams(streams_[2], others, events_).code, errc::ok);
  copy<<<1, 1, 0, streams_[2]>>>(source, seen);
  copy<<<1, 1, 0, streams_[2]>>>(source + 1, seen + 1);
  set_late<<<1, 1, 0, streams_[2]>>>(source + 2, 9);
  ASSERT_EQ(release_streams(streams_[2], events_[0], others).code, errc::ok);
  for (std::size_t w = 0; w < others.size(); ++w) copy<<<1, 1, 0, others[w]>>>(source + 2, after + w);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<std::uint32_t> all = words_->host();
  EXPECT_EQ(all[3], 7u);
  EXPECT_EQ(all[4], 8u);
  EXPECT_EQ(all[6], 9u);
  EXPECT_EQ(all[7], 9u);
}

// What the headers are for: a stream a worker, which waits for its word before each step; the update, the decision and
// the words in another. bsp: no step begins before the slow worker's latest is in, and each reads the parameters of its
// round, here one number.
TEST_F(CudaWaiting, WorkersStepAsTheyAreReleased) {
  if (can_.wait_value == nullptr) GTEST_SKIP() << "no cuStreamWaitValue32";
  constexpr std::uint32_t steps = 5;
  controller_state<workers> fresh;
  fresh.policy = device_policy<>::bsp();
  const test::device_array<controller_state<workers>> state{std::vector{fresh}};
  const test::device_array<decision_record<workers>> record{1};
  const test::device_array<request> what{
      std::vector<request>{{.what = request::kind::start}, {.worker = 0, .loss = 1.0F}, {.worker = 1, .loss = 1.0F}}};
  const test::device_array<std::uint32_t> read{workers * steps};
  const auto parameter = word(workers), pushed = word(workers + 1);  // after the release words
  for (std::size_t i = 0; i < words; ++i) set<<<1, 1, 0, streams_[2]>>>(word(i), 0);
  ASSERT_EQ(cudaStreamSynchronize(streams_[2]), cudaSuccess);

  const cudaStream_t decides = streams_[2];
  const auto decide = [&](std::size_t i) {
    return launch_decide(state.data(), what.data() + i, time_of::device, record.data(), release_words{words_->data()},
                         decides);
  };
  EXPECT_EQ(decide(0).code, errc::ok);
  for (std::uint32_t n = 1; n <= steps; ++n) {
    for (std::uint32_t w = 0; w < workers; ++w) {
      EXPECT_EQ(wait_for_release(can_, streams_[w], word(w), n).code, errc::ok);
      copy<<<1, 1, 0, streams_[w]>>>(parameter, read.data() + w * steps + n - 1);
      if (w == 1) set_late<<<1, 1, 0, streams_[w]>>>(pushed, n);
      EXPECT_EQ(cudaEventRecord(events_[w], streams_[w]), cudaSuccess);
    }
    for (std::uint32_t w = 0; w < workers; ++w) {
      EXPECT_EQ(cudaStreamWaitEvent(decides, events_[w], 0), cudaSuccess);
      if (w == 1) copy<<<1, 1, 0, decides>>>(pushed, parameter);  // the update, made before anybody is released
      EXPECT_EQ(decide(1 + w).code, errc::ok);
    }
  }
  ASSERT_TRUE(finishes(decides));
  const std::vector<std::uint32_t> all = read.host();
  for (std::uint32_t w = 0; w < workers; ++w)
    for (std::uint32_t n = 0; n < steps; ++n) EXPECT_EQ(all[w * steps + n], n) << "worker " << w;
  const controller_state<workers> after = state.host().front();
  EXPECT_EQ(after.version, steps);
  EXPECT_EQ(words_->host()[0], steps + 1);
  EXPECT_GT(after.step_time[1], 0.015F);  // of set_late: by the device's clock
}

}  // namespace
}  // namespace rubato::cuda
