#ifndef RUBATO_CUDA_ERROR_CUH
#define RUBATO_CUDA_ERROR_CUH

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

#include "../core/result.hpp"

namespace rubato::inline RUBATO_ABI::cuda {

/// What a call of the runtime answered, as an error of this library: errc::io, and a message that begins with `what`.
/// The runtime, which keeps the latest error of a thread, forgets it: no later launch is blamed for it.
/// Tests   tests/cuda/device/error_test.cu: SaysWhatFailedAndWhy, IsToldOnce
inline error check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError());
  return {errc::io, std::string{what} + ": " + cudaGetErrorName(status) + ", " + cudaGetErrorString(status)};
}
/// The same of the driver, by number: its texts would have to be linked from a library that machines without a device
/// do not have.
inline error check(CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return {};
  return {errc::io, std::string{what} + ": CUresult " + std::to_string(static_cast<int>(status)) + " (see cuda.h)"};
}

/// Whether the launch before it was accepted; what fails later shows at the next synchronisation of its stream. An
/// error that the caller's own calls left behind in this thread is taken for the launch's: see cudaGetLastError.
/// Tests   tests/cuda/device/error_test.cu: IsToldOnce
inline error check_launch(const char* what) { return check(cudaGetLastError(), what); }

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
