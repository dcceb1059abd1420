#include <rubato/cuda/switch_graph.cuh>

#include <gtest/gtest.h>

#include <cstdint>
#include <rubato/cuda/waiting.cuh>
#include <vector>

#include "cuda/device/device.hpp"

namespace rubato::cuda {
namespace {

__global__ void choose_this(std::uint32_t* word, std::uint32_t value) { *word = value; }

class CudaSwitchGraph : public test::OnDevice {
 protected:
  void SetUp() override {
    test::OnDevice::SetUp();
    if (IsSkipped()) return;
    const auto can = capabilities(0);
    ASSERT_TRUE(can) << can.error().message;
    if (!can->has_switch) GTEST_SKIP() << "no SWITCH nodes";
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
  }
  void TearDown() override {
    if (ready_ != nullptr) EXPECT_EQ(cudaGraphExecDestroy(ready_), cudaSuccess);
    if (graph_ != nullptr) EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  cudaStream_t stream_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t ready_ = nullptr;
};

TEST_F(CudaSwitchGraph, AGraphDoesWhatIsDecided) {
  controller_state<2> fresh;
  fresh.policy = device_policy<>::bsp();
  const test::device_array<controller_state<2>> state{std::vector{fresh}};
  const test::device_array<decision_record<2>> record{1};
  const test::device_array<request> what{1};
  const test::device_array<std::uint32_t> chosen{1};

  const auto nodes = add_switch(graph_, {}, state.data(), what.data(), time_of::request, record.data());
  ASSERT_TRUE(nodes) << nodes.error().message;
  for (std::uint32_t action = 0; action < nodes->bodies.size(); ++action) {
    std::uint32_t* to = chosen.data();
    std::uint32_t value = action + 1;
    void* arguments[] = {&to, &value};
    cudaGraphNodeParams body{};
    body.type = cudaGraphNodeTypeKernel;
    body.kernel.func = reinterpret_cast<void*>(&choose_this);
    body.kernel.gridDim = body.kernel.blockDim = dim3{1, 1, 1};
    body.kernel.kernelParams = arguments;
    cudaGraphNode_t node{};
    ASSERT_EQ(detail::add_node(node, nodes->bodies[action], {}, body), cudaSuccess);
  }
  ASSERT_EQ(cudaGraphInstantiate(&ready_, graph_, 0), cudaSuccess);

  const auto choice_of = [&](const request& r) {
    EXPECT_EQ(cudaMemcpyAsync(what.data(), &r, sizeof r, cudaMemcpyHostToDevice, stream_), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(ready_, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    return static_cast<release_action>(chosen.host().front() - 1);
  };
  EXPECT_EQ(choice_of({.what = request::kind::start}), release_action::all);
  EXPECT_EQ(choice_of({.worker = 1, .now = 1.0}), release_action::hold);
  EXPECT_EQ(choice_of({.worker = 0, .now = 2.0}), release_action::all);
}

}  // namespace
}  // namespace rubato::cuda
