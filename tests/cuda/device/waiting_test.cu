#include <rubato/cuda/waiting.cuh>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "cuda/device/device.hpp"

namespace rubato::cuda {
namespace {

__global__ void set(std::uint32_t* word, std::uint32_t value) { *static_cast<volatile std::uint32_t*>(word) = value; }
__global__ void copy(const std::uint32_t* from, std::uint32_t* to) {
  *to = *static_cast<const volatile std::uint32_t*>(from);
}

class CudaWaiting : public test::OnDevice {
 protected:
  void SetUp() override {
    test::OnDevice::SetUp();
    if (IsSkipped()) return;
    const auto found = capabilities(0);
    ASSERT_TRUE(found) << found.error().message;
    can_ = *found;
    for (cudaStream_t& each : streams_) ASSERT_EQ(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking), cudaSuccess);
    for (cudaEvent_t& each : events_) ASSERT_EQ(cudaEventCreateWithFlags(&each, cudaEventDisableTiming), cudaSuccess);
  }
  void TearDown() override {
    for (cudaStream_t each : streams_)
      if (each != nullptr) cudaStreamDestroy(each);
    for (cudaEvent_t each : events_)
      if (each != nullptr) cudaEventDestroy(each);
  }

  waiting_capabilities can_;
  std::array<cudaStream_t, 3> streams_{};
  std::array<cudaEvent_t, 2> events_{};
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

TEST_F(CudaWaiting, SaysWhatTheDeviceCan) {
  EXPECT_GE(can_.driver, 12000);
  EXPECT_EQ(can_.has_switch, can_.driver >= 12080);
}

TEST_F(CudaWaiting, StreamsWaitForTheirWords) {
  if (can_.wait_value == nullptr) GTEST_SKIP() << "no cuStreamWaitValue32";
  const test::device_array<std::uint32_t> word{1}, source{std::vector<std::uint32_t>{1}}, seen{1};
  ASSERT_EQ(wait_for_release(can_, streams_[0], word.data(), 2).code, errc::ok);
  copy<<<1, 1, 0, streams_[0]>>>(source.data(), seen.data());
  set<<<1, 1, 0, streams_[1]>>>(word.data(), 1);     // not yet
  set<<<1, 1, 0, streams_[1]>>>(source.data(), 42);  // is to be seen
  set<<<1, 1, 0, streams_[1]>>>(word.data(), 2);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(seen.host().front(), 42u);
}

TEST_F(CudaWaiting, StreamsWaitForEvents) {
  const test::device_array<std::uint32_t> source{2}, seen{2};
  set<<<1, 1, 0, streams_[0]>>>(source.data(), 7);
  set<<<1, 1, 0, streams_[1]>>>(source.data() + 1, 8);
  const std::array<cudaStream_t, 2> workers{streams_[0], streams_[1]};
  ASSERT_EQ(wait_for_streams(streams_[2], workers, events_).code, errc::ok);
  copy<<<1, 1, 0, streams_[2]>>>(source.data(), seen.data());
  copy<<<1, 1, 0, streams_[2]>>>(source.data() + 1, seen.data() + 1);
  ASSERT_EQ(release_streams(streams_[2], events_[0], workers).code, errc::ok);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(seen.host(), (std::vector<std::uint32_t>{7, 8}));
}

TEST_F(CudaWaiting, AGraphDoesWhatIsDecided) {
  if (!can_.has_switch) GTEST_SKIP() << "no SWITCH nodes";
  controller_state<2> fresh;
  fresh.policy = device_policy<>::bsp();
  const test::device_array<controller_state<2>> state{std::vector{fresh}};
  const test::device_array<decision_record<2>> record{1};
  const test::device_array<request> what{1};
  const test::device_array<std::uint32_t> chosen{1};

  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  const auto nodes = add_switch(graph, {}, state.data(), what.data(), time_of::request, record.data());
  ASSERT_TRUE(nodes) << nodes.error().message;
  for (std::uint32_t action = 0; action < nodes->bodies.size(); ++action) {
    std::uint32_t* to = chosen.data();
    std::uint32_t value = action + 1;
    void* arguments[] = {&to, &value};
    cudaGraphNodeParams body{};
    body.type = cudaGraphNodeTypeKernel;
    body.kernel.func = reinterpret_cast<void*>(&set);
    body.kernel.gridDim = body.kernel.blockDim = dim3{1, 1, 1};
    body.kernel.kernelParams = arguments;
    cudaGraphNode_t node{};
    ASSERT_EQ(detail::add_node(node, nodes->bodies[action], {}, body), cudaSuccess);
  }
  cudaGraphExec_t ready = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);

  const auto choice_of = [&](const request& r) {
    const test::device_array<request> source{std::vector{r}};
    EXPECT_EQ(cudaMemcpy(what.data(), source.data(), sizeof r, cudaMemcpyDeviceToDevice), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(ready, streams_[0]), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
    return static_cast<release_action>(chosen.host().front() - 1);
  };
  EXPECT_EQ(choice_of({.what = request::kind::start}), release_action::all);
  EXPECT_EQ(choice_of({.worker = 1, .now = 1.0}), release_action::hold);
  EXPECT_EQ(choice_of({.worker = 0, .now = 2.0}), release_action::all);
  EXPECT_EQ(cudaGraphExecDestroy(ready), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

}  // namespace
}  // namespace rubato::cuda
