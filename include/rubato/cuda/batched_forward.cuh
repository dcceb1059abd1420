#ifndef RUBATO_CUDA_BATCHED_FORWARD_CUH
#define RUBATO_CUDA_BATCHED_FORWARD_CUH

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "error.cuh"
#include "forward_tile.cuh"
#include "network.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

namespace detail {

// 16 warps leave 128 registers to a lane: 64 sums, 32 inputs, 8 weights and some addresses.
inline constexpr unsigned warps_of_forward = 16;

template <class Shape>
__global__ void __launch_bounds__(32 * warps_of_forward, 1)
    forward_kernel(network<Shape> net, std::size_t queries, const float* in, float* out) {
  using tile = forward_tile<Shape>;
  extern __shared__ float4 rubato_shared_memory[];
  const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
  float* const packed = reinterpret_cast<float*>(rubato_shared_memory);
  float* const activations = packed + tile::parameters + warp * tile::activations;
  // Neighbouring blocks, that is SMs, begin with neighbouring tiles: the last round is spread over all of them.
  const std::size_t first = std::size_t{warp} * gridDim.x + blockIdx.x, stride = std::size_t{warps} * gridDim.x;
  load_tile<Shape>(warp_lanes{}, first, queries, in, activations);  // on its way while the weights are packed
  pack_for_tiles(net, block_lanes{}, packed);
  forward_tiles(net, warp_lanes{}, packed, activations, first, stride, queries, in, out);
}

struct device_limits {
  std::size_t shared_memory = 0;  // bytes, of a block that asks for it
  unsigned processors = 0;
};
// Those of the current device.
inline error limits_of_device(device_limits& limits, const char* what) {
  int device = 0, bytes = 0, processors = 0;
  if (error e = check(cudaGetDevice(&device), what); e.code != errc::ok) return e;
  if (error e = check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), what);
      e.code != errc::ok)
    return e;
  if (error e = check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), what);
      e.code != errc::ok)
    return e;
  limits = {static_cast<std::size_t>(bytes), static_cast<unsigned>(processors)};
  return {};
}

inline error too_little_shared_memory(const char* what, std::size_t wanted, std::size_t given) {
  return {errc::invalid_option, std::string{what} + ": the network wants " + std::to_string(wanted) +
                                    " bytes of shared memory, the device gives " + std::to_string(given) +
                                    "; expected a smaller network, or evaluate_batch"};
}

}  // namespace detail

/// The network on `queries` rows of `in`, a warp for each tile of forward_tile<Shape>::queries: the quickest way in
/// fp32 for many queries, where evaluate_batch() is for few. All products and sums are fp32, in the host's order, each
/// multiply-add rounded once: the bits of evaluate<fused_arithmetic>, for each query whatever the batch. Who needs
/// the host's own bits takes evaluate_batch().
///
/// `in` is [queries x Shape::inputs], `out` [queries x Shape::outputs]; both and the parameters are memory of the
/// current device, or mapped into it, and stay until the stream is past the launch; `out` overlaps neither. Rows are
/// read 16 bytes at a time where `in` begins at a multiple of 16 bytes and Shape::inputs is a multiple of 4. No
/// allocation; asynchronous; can be captured.
/// Errors  invalid_option: parameters and one tile do not fit into the shared memory of a block; else what the
///         runtime answers
/// Cost    parameters once for each SM, inputs and outputs once; 4 * (parameters + 16 * activations) bytes of shared
///         memory in forward_tile<Shape>
/// Tests   tests/cuda/device/batched_forward_test.cu: HasTheBitsOfTheFusedHost, TanhIsCloseToTheHost,
///         EachTileOfAWarpHasTheSameBits, IsCaptured, SaysWhatDoesNotFit
template <class Shape>
error forward_batch(const network<Shape>& net, std::size_t queries, const float* in, float* out, cudaStream_t stream) {
  using tile = forward_tile<Shape>;
  if (queries == 0) return {};
  detail::device_limits limits;
  if (error e = detail::limits_of_device(limits, "forward_batch"); e.code != errc::ok) return e;
  constexpr std::size_t of_parameters = tile::parameters * sizeof(float), of_warp = tile::activations * sizeof(float);
  if (of_parameters + of_warp > limits.shared_memory)
    return detail::too_little_shared_memory("forward_batch", of_parameters + of_warp, limits.shared_memory);

  // The limit is what the device can give, not what this launch takes: another thread may launch at the same time.
  std::size_t most = (limits.shared_memory - of_parameters) / of_warp;
  if (most > detail::warps_of_forward) most = detail::warps_of_forward;
  if (error e = check(cudaFuncSetAttribute(detail::forward_kernel<Shape>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(of_parameters + most * of_warp)),
                      "forward_batch");
      e.code != errc::ok)
    return e;
  // One block an SM, with no more warps than there is work for if all SMs take part.
  const std::size_t tiles = (queries + tile::queries - 1) / tile::queries;
  const std::size_t wanted = (tiles + limits.processors - 1) / limits.processors;
  const std::size_t warps = wanted < most ? wanted : most, bytes = of_parameters + warps * of_warp;
  const std::size_t blocks = tiles < limits.processors ? tiles : limits.processors;
  detail::forward_kernel<Shape>
      <<<static_cast<unsigned>(blocks), static_cast<unsigned>(32 * warps), bytes, stream>>>(net, queries, in, out);
  return check_launch("forward_batch");
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
