#ifndef RUBATO_TESTS_CUDA_DEVICE_CAPTURED_HPP
#define RUBATO_TESTS_CUDA_DEVICE_CAPTURED_HPP

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <rubato/core/result.hpp>

namespace rubato::test {

/// Captures what launch(stream) starts, in this mode, and runs it as a graph, once.
template <class Launch>
void run_captured(cudaStreamCaptureMode mode, const Launch& launch) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // what was set up, on the default stream
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, mode), cudaSuccess);
  const error e = launch(stream);
  EXPECT_EQ(e.code, errc::ok) << e.message;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace rubato::test

#endif
