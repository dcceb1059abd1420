#ifndef RUBATO_CUDA_PS_DEVICES_CUH
#define RUBATO_CUDA_PS_DEVICES_CUH

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <rubato/core/result.hpp>
#include <rubato/cuda/error.cuh>
#include <string>
#include <vector>

#include "device_memory.cuh"

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// Makes a device the calling thread's present one for as long as it lives: a kernel is launched into a stream of the
/// present device, whoever launches it. What fails here fails again in what is launched then.
/// Tests   tests/integrations/cuda_ps/device/device_shards_test.cu: AnyThreadMayCarryOutAnOrder
class on_device {
 public:
  /// Until it is destroyed; nothing is done where this is the present device already.
  explicit on_device(int device) noexcept {
    if (cudaGetDevice(&before_) != cudaSuccess || before_ == device || cudaSetDevice(device) != cudaSuccess)
      before_ = none;
  }
  on_device(const on_device&) = delete;
  on_device& operator=(const on_device&) = delete;
  ~on_device() {
    if (before_ != none) static_cast<void>(cudaSetDevice(before_));
  }

 private:
  static constexpr int none = -1;
  int before_ = none;
};

/// Makes devices[0] the present one, and lets devices reach each other directly where they can. Of none it makes the
/// present device.
/// Errors  invalid_option: a device that is not there; io: what the runtime answers, for instance without a device
[[nodiscard]] inline error begin_devices(std::vector<int>& devices) {
  int count = 0, present = 0;
  error wrong;
  if (failed(cuda::check(cudaGetDeviceCount(&count), "the devices"), wrong) ||
      failed(cuda::check(cudaGetDevice(&present), "the device"), wrong))
    return wrong;
  if (devices.empty()) devices.push_back(present);
  for (const int each : devices)
    if (each < 0 || each >= count)
      return {errc::invalid_option,
              "device " + std::to_string(each) + " is not there, expected 0 to " + std::to_string(count - 1)};
  for (const int from : devices)
    for (const int to : devices) {
      int reaches = 0;
      if (from == to) continue;
      if (failed(cuda::check(cudaDeviceCanAccessPeer(&reaches, from, to), "a pair of devices"), wrong)) return wrong;
      if (reaches == 0) continue;  // copies go by way of the host then
      if (failed(cuda::check(cudaSetDevice(from), "a device"), wrong)) return wrong;
      const cudaError_t answer = cudaDeviceEnablePeerAccess(to, 0);
      if (answer == cudaErrorPeerAccessAlreadyEnabled)
        static_cast<void>(cudaGetLastError());
      else if (failed(cuda::check(answer, "a pair of devices"), wrong))
        return wrong;
    }
  return cuda::check(cudaSetDevice(devices[0]), "the first device");
}

/// How many streams a device runs at once: CUDA_DEVICE_MAX_CONNECTIONS, or 8. The driver reads it at the first call of
/// CUDA: it is to be set before.
/// Tests   tests/integrations/cuda_ps/device/device_server_test.cu: ReadsHowManyStreamsRunAtOnce
[[nodiscard]] inline std::uint32_t streams_at_once() noexcept {
  const char* const set = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  return set == nullptr ? 8 : static_cast<std::uint32_t>(std::clamp(std::atoi(set), 1, 32));
}

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
