#ifndef RUBATO_TESTS_CUDA_DEVICE_DEVICE_HPP
#define RUBATO_TESTS_CUDA_DEVICE_DEVICE_HPP

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace rubato::test {

/// Tests that need a device; without one they are skipped.
class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      static_cast<void>(cudaGetLastError());
      GTEST_SKIP() << "no CUDA device";
    }
  }
};

/// Numbers on the device, copied there and back.
template <class T>
class device_array {
 public:
  explicit device_array(std::size_t count) : count_{count} {
    EXPECT_EQ(cudaMalloc(&data_, (count == 0 ? 1 : count) * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemset(data_, 0, count * sizeof(T)), cudaSuccess);
  }
  explicit device_array(const std::vector<T>& from) : device_array{from.size()} { *this = from; }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  ~device_array() { cudaFree(data_); }

  device_array& operator=(const std::vector<T>& from) {
    EXPECT_EQ(from.size(), count_);
    EXPECT_EQ(cudaMemcpy(data_, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
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
