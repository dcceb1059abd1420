#ifndef RUBATO_CUDA_EVALUATE_CUH
#define RUBATO_CUDA_EVALUATE_CUH

#include <cuda_runtime_api.h>

#include <cstddef>

#include "error.cuh"
#include "network.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

namespace detail {

inline constexpr unsigned queries_of_block = 4;
inline constexpr std::size_t static_shared_memory = 48 * 1024;  // bytes, that a kernel has without asking for more

template <class Shape>
__global__ void __launch_bounds__(32 * queries_of_block)
    evaluate_kernel(network<Shape> net, std::size_t queries, const float* in, float* out) {
  __shared__ float scratch[queries_of_block][evaluate_scratch<Shape> + 1];
  static_assert(sizeof scratch <= static_shared_memory, "evaluate_batch: expected hidden layers of at most 1535 units");
  const unsigned warp = threadIdx.x / 32;
  const std::size_t query = std::size_t{blockIdx.x} * queries_of_block + warp;
  if (query < queries)
    evaluate(net, warp_lanes{}, in + query * Shape::inputs, scratch[warp], out + query * Shape::outputs);
}

}  // namespace detail

/// The network on `queries` rows of `in`, a warp for each: the quickest way for few queries. The bits of
/// cuda::evaluate, and so those of the host.
///
/// `in` is [queries x Shape::inputs], `out` [queries x Shape::outputs]; both and the parameters are memory of the
/// device, or mapped into it, and stay until the stream is past the launch; `out` overlaps neither. Hidden layers have
/// at most 1535 units. No allocation; asynchronous; can be captured.
/// Errors  invalid_option: more queries than a grid has warps; what the launch answers
/// Tests   tests/cuda/device/evaluate_test.cu: HasTheBitsOfTheHost, IsCaptured
template <class Shape>
error evaluate_batch(const network<Shape>& net, std::size_t queries, const float* in, float* out, cudaStream_t stream) {
  if (queries == 0) return {};
  const std::size_t blocks = (queries + detail::queries_of_block - 1) / detail::queries_of_block;
  if (blocks > 0x7fffffff) return {errc::invalid_option, "evaluate_batch: more queries than a grid has warps"};
  detail::evaluate_kernel<<<static_cast<unsigned>(blocks), 32 * detail::queries_of_block, 0, stream>>>(net, queries, in,
                                                                                                       out);
  return check_launch("evaluate_batch");
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
