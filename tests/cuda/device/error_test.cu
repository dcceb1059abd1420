#include <rubato/cuda/error.cuh>

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>

#include "cuda/device/device.hpp"

namespace rubato::cuda {
namespace {

TEST(CudaError, SaysWhatFailedAndWhy) {
  EXPECT_EQ(check(cudaSuccess, "anything").code, errc::ok);
  const error wrong = check(cudaErrorInvalidValue, "copying");
  EXPECT_EQ(wrong.code, errc::io);
  EXPECT_EQ(wrong.message.substr(0, 33), "copying: cudaErrorInvalidValue, i") << wrong.message;
  EXPECT_EQ(check(CUDA_SUCCESS, "anything").code, errc::ok);
  EXPECT_EQ(check(CUDA_ERROR_INVALID_VALUE, "waiting").message, "waiting: CUresult 1 (see cuda.h)");
}

using CudaErrorOnDevice = test::OnDevice;

TEST_F(CudaErrorOnDevice, IsToldOnce) {
  void* memory = nullptr;
  const cudaError_t failed = cudaMalloc(&memory, (std::numeric_limits<std::size_t>::max)() / 2);
  ASSERT_NE(failed, cudaSuccess);
  ASSERT_EQ(cudaPeekAtLastError(), failed);
  EXPECT_EQ(check(failed, "memory").code, errc::io);
  EXPECT_EQ(check_launch("a launch").code, errc::ok);
}

}  // namespace
}  // namespace rubato::cuda
