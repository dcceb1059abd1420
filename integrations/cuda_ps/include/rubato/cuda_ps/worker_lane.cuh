#ifndef RUBATO_CUDA_PS_WORKER_LANE_CUH
#define RUBATO_CUDA_PS_WORKER_LANE_CUH

#include <cuda_runtime_api.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "device_memory.cuh"
#include "device_shards.cuh"
#include "devices.cuh"

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// A step as the code that computes its gradient sees it. Pointers are memory of the worker's device.
struct lane_step {
  std::uint64_t number = 0;           ///< of this life of the worker, from 1
  std::uint32_t samples = 0;          ///< to take the gradient of, as a mean
  std::uint32_t slot = 0;             ///< which of the worker's two gradients it is
  const float* parameters = nullptr;  ///< as they are when kernels of the stream run
  float* gradient = nullptr;          ///< as many numbers
  float* loss = nullptr;              ///< one number
  cudaStream_t stream = nullptr;      ///< what the kernels of the step are given to
};

namespace detail {

// One store, so that the host sees both or neither. It needs no fence: nothing else is read by it.
template <int = 0>
__global__ void tell_host_kernel(const float* loss, std::uint32_t step, volatile unsigned long long* word) {
  *word = (static_cast<unsigned long long>(step) << 32) | __float_as_uint(*loss);
}

}  // namespace detail

/// The stream of a worker, and what lies at both of its ends: the copy of the parameters, the gradients, the loss, and
/// the word by which the host learns that a step is over.
///
/// On the server's device they are the server's own memory; on another they are the worker's, and are copied.
/// Thread  one at a time
class worker_lane {
 public:
  worker_lane() = default;
  /// `device` becomes the present one of the calling thread. Precondition: begin_devices() of both.
  [[nodiscard]] static result<worker_lane> make(const device_shards& shards, std::uint32_t worker, int device,
                                                int server) {
    worker_lane lane;
    lane.shards_ = &shards;
    lane.worker_ = worker;
    lane.device_ = device;
    lane.server_ = server;
    error wrong;
    if (worker >= max_workers) return error{errc::unknown_worker, "worker " + std::to_string(worker)};
    if (failed(cuda::check(cudaSetDevice(device), "the device of a worker"), wrong) ||
        failed(make_stream(), lane.stream_, wrong) || failed(device_array<float>::make(1), lane.loss_, wrong) ||
        failed(mapped_array<unsigned long long>::make(1), lane.word_, wrong))
      return wrong;
    if (lane.is_remote()) {
      const std::size_t size = shards.layout().padded();
      if (failed(device_array<float>::make(size), lane.parameters_, wrong) ||
          failed(device_array<float>::make(size), lane.gradient_, wrong))
        return wrong;
    }
    // Zeros are written by the null stream.
    if (failed(cuda::check(cudaStreamSynchronize(nullptr), "the memory of a worker"), wrong)) return wrong;
    return result<worker_lane>{std::move(lane)};
  }

  [[nodiscard]] cudaStream_t own() const noexcept { return stream_.get(); }  ///< of this worker, on its device

  /// Fills in the pointers. The stream is already behind the copy of the parameters.
  [[nodiscard]] error begin_step(lane_step& step) const {
    step.stream = stream_.get();
    step.loss = loss_.data();
    step.parameters = is_remote() ? parameters_.data() : shards_->copy(worker_);
    step.gradient = is_remote() ? gradient_.data() : shards_->gradient(worker_, step.slot);
    if (!is_remote()) return {};
    return cuda::check(
        cudaMemcpyPeerAsync(parameters_.data(), device_, shards_->copy(worker_), server_, bytes(), stream_.get()),
        "the parameters to the worker's device");
  }
  /// Tells the stream that the gradient is complete, and waits until it is. Returns the loss.
  [[nodiscard]] result<float> finish_step(const lane_step& step) const {
    error wrong;
    if (failed(hand_over(step), wrong)) return wrong;
    const auto number = static_cast<std::uint32_t>(step.number);
    const on_device here{device_};
    detail::tell_host_kernel<><<<1, 1, 0, stream_.get()>>>(loss_.data(), number, word_.device());
    if (failed(cuda::check_launch("the end of a step"), wrong)) return wrong;
    volatile unsigned long long* const word = word_.host();
    for (std::uint32_t looks = 1;; ++looks) {
      const unsigned long long seen = *word;
      if (seen >> 32 == number) return std::bit_cast<float>(static_cast<std::uint32_t>(seen));
      if (looks % 4096 != 0) continue;  // a kernel that has failed writes no word
      const cudaError_t state = cudaStreamQuery(stream_.get());
      if (state != cudaErrorNotReady && state != cudaSuccess) return cuda::check(state, "the step of a worker");
    }
  }
  /// What a worker on another device has to copy.
  [[nodiscard]] error hand_over(const lane_step& step) const {
    if (!is_remote()) return {};
    return cuda::check(cudaMemcpyPeerAsync(shards_->gradient(worker_, step.slot), server_, gradient_.data(), device_,
                                           bytes(), stream_.get()),
                       "the gradient to the server's device");
  }

 private:
  [[nodiscard]] bool is_remote() const noexcept { return device_ != server_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return shards_->layout().padded() * sizeof(float); }

  const device_shards* shards_ = nullptr;
  std::uint32_t worker_ = 0;
  int device_ = 0;
  int server_ = 0;
  device_array<float> loss_, parameters_, gradient_;
  mapped_array<unsigned long long> word_;
  stream stream_;  // destroyed first
};

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
