#ifndef RUBATO_TESTS_CUDA_DEVICE_DEVICE_HPP
#define RUBATO_TESTS_CUDA_DEVICE_DEVICE_HPP

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace rubato::test {

namespace detail {

// Before the first call of CUDA, which reads them. A kernel that is loaded when it is launched first may wait for the
// whole device, and so for a stream that waits for that kernel; streams that wait need a queue of their own each.
inline const bool environment =
    setenv("CUDA_MODULE_LOADING", "EAGER", 0) == 0 && setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0) == 0;

}  // namespace detail

/// Tests that need a device; without one they are skipped. Kernels are loaded before the first of them.
class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(detail::environment);
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      static_cast<void>(cudaGetLastError());
      GTEST_SKIP() << "no CUDA device";
    }
  }
};

/// Numbers on the device, copied there and back. They are there when a call returns, whichever stream looks at them:
/// the null stream makes the copies, and others do not wait for it.
template <class T>
class device_array {
 public:
  explicit device_array(std::size_t count) : count_{count} {
    EXPECT_EQ(cudaMalloc(&data_, (count == 0 ? 1 : count) * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemset(data_, 0, count * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
  }
  explicit device_array(const std::vector<T>& from) : device_array{from.size()} { *this = from; }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  ~device_array() { cudaFree(data_); }

  device_array& operator=(const std::vector<T>& from) {
    EXPECT_EQ(from.size(), count_);
    EXPECT_EQ(cudaMemcpy(data_, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
    return *this;
  }
  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(data_); }
  [[nodiscard]] std::vector<T> host() const {
    std::vector<T> to(count_);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(to.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return to;
  }

 private:
  void* data_ = nullptr;
  std::size_t count_;
};

}  // namespace rubato::test

#endif
