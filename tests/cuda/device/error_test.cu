#include <rubato/cuda/error.cuh>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace rubato::cuda
