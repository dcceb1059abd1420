#ifndef RUBATO_CUDA_TENSOR_CORE_FORWARD_CUH
#define RUBATO_CUDA_TENSOR_CORE_FORWARD_CUH

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "batched_forward.cuh"
#include "error.cuh"
#include "network.cuh"
#include "tensor_core_tile.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

namespace detail {

template <class Operands>
struct tensor_core {
  __device__ static void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (std::is_same_v<Operands, bf16_operands>)
      asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
      asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    __trap();  // tensor_core_forward() does not come here
#endif
  }
};

struct grid_lanes {
  [[nodiscard]] __device__ static unsigned index() noexcept { return blockIdx.x * blockDim.x + threadIdx.x; }
  [[nodiscard]] __device__ static unsigned count() noexcept { return gridDim.x * blockDim.x; }
  __device__ static void sync() noexcept {}  // the end of the kernel is the meeting
};

template <class Operands, class Shape>
__global__ void pack_words_kernel(network<Shape> net, std::uint32_t* packed) {
  pack_words<Operands>(net, grid_lanes{}, packed);
}

// Two blocks an SM, so 16 warps with 128 registers a lane: each has its inputs on the way at once, 5 kB for 32 queries
// of 40, and while it waits for them the others multiply. Words of B come from shared memory, 8 bytes a lane without
// a conflict, and serve two instructions each.
inline constexpr unsigned warps_of_tensor_core = 8;

template <class Operands, class Shape>
__global__ void __launch_bounds__(32 * warps_of_tensor_core, 2)
    tensor_core_kernel(network<Shape> net, const std::uint32_t* packed, std::size_t queries, const float* in,
                       float* out) {
  constexpr unsigned words = packed_words<Shape, Operands>;
  static_assert(words % 4 == 0);
  extern __shared__ uint4 rubato_shared_words[];
  for (unsigned i = threadIdx.x; i < words / 4; i += blockDim.x)
    rubato_shared_words[i] = reinterpret_cast<const uint4*>(packed)[i];
  __syncthreads();
  const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
  tensor_core_tiles<Operands>(
      net, tensor_core<Operands>{}, threadIdx.x % 32, reinterpret_cast<const std::uint32_t*>(rubato_shared_words),
      std::size_t{warp} * gridDim.x + blockIdx.x, std::size_t{warps} * gridDim.x, queries, in, out);
}

}  // namespace detail

/// The parameters of `net`, rounded and in the order of the tensor cores, to packed_words<Shape, Operands> words of
/// device memory that begin at a multiple of 16 bytes. Again after each change of the parameters. No allocation;
/// asynchronous; can be captured.
/// Errors  invalid_option: `packed` begins elsewhere; else what the launch answers
/// Tests   tests/cuda/device/tensor_core_forward_test.cu: WholeNumbersAreExact, IsCaptured, WantsAlignedWeights
template <class Operands = bf16_operands, class Shape>
error pack_weights(const network<Shape>& net, std::uint32_t* packed, cudaStream_t stream) {
  if (reinterpret_cast<std::uintptr_t>(packed) % 16 != 0)
    return {errc::invalid_option, "pack_weights: packed: expected memory that begins at a multiple of 16 bytes"};
  constexpr std::size_t words = packed_words<Shape, Operands>;
  detail::pack_words_kernel<Operands><<<static_cast<unsigned>((words + 255) / 256), 256, 0, stream>>>(net, packed);
  return check_launch("pack_weights");
}

/// The network on `queries` rows of `in` by tensor cores: products of rounded inputs, weights and activations, exact,
/// summed in fp32; the error is what tensor_core_tiles() states. The quickest way for many queries where that is
/// enough: inputs then take longer to come from memory than products do.
///
/// On devices before compute capability 8.0, and in programs compiled for none from there on, it is forward_batch(),
/// which is more exact and slower. Layers of much more than 128 outputs need more registers than a lane has.
///
/// `in` is [queries x Shape::inputs], `out` [queries x Shape::outputs], `packed` from pack_weights<Operands>(net); they
/// and the parameters are memory of the current device and stay until the stream is past the launch; `out` overlaps
/// none of the others. Rows are read 8 bytes at a time where `in` begins at a multiple of 8 bytes and Shape::inputs is
/// even. No allocation; asynchronous; can be captured.
/// Errors  invalid_option: `packed` does not begin at a multiple of 16 bytes, or does not fit into the shared memory of
///         a block; else what the runtime answers
/// Cost    packed weights once for each block, inputs and outputs once
/// Tests   tests/cuda/device/tensor_core_forward_test.cu: WholeNumbersAreExact, StaysWithinItsError,
///         EachTileOfAWarpHasTheSameBits, IsCaptured, WantsAlignedWeights
template <class Operands = bf16_operands, class Shape>
error tensor_core_forward(const network<Shape>& net, const std::uint32_t* packed, std::size_t queries, const float* in,
                          float* out, cudaStream_t stream) {
  using plan = tensor_core_plan<Shape, Operands>;
  constexpr auto what = "tensor_core_forward";
  if (reinterpret_cast<std::uintptr_t>(packed) % 16 != 0)
    return {errc::invalid_option, "tensor_core_forward: packed: expected memory that begins at a multiple of 16 bytes"};
  if (queries == 0) return {};
  const auto kernel = detail::tensor_core_kernel<Operands, Shape>;
  // Not the device's capability: compiled as PTX for an older one, the kernel runs on a new one without its body.
  cudaFuncAttributes compiled{};
  if (error e = check(cudaFuncGetAttributes(&compiled, kernel), what); e.code != errc::ok) return e;
  if (compiled.ptxVersion < 80) return forward_batch(net, queries, in, out, stream);
  detail::device_limits limits;
  if (error e = detail::limits_of_device(limits, what); e.code != errc::ok) return e;
  constexpr std::size_t bytes = packed_words<Shape, Operands> * sizeof(std::uint32_t);
  if (bytes > limits.shared_memory) return detail::too_little_shared_memory(what, bytes, limits.shared_memory);
  if (error e = check(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)), what);
      e.code != errc::ok)
    return e;

  // No more warps in a block than there is work for if all SMs take part, and no more blocks than are resident.
  const std::size_t tiles = (queries + plan::queries - 1) / plan::queries;
  std::size_t warps = (tiles + limits.processors - 1) / limits.processors;
  if (warps > detail::warps_of_tensor_core) warps = detail::warps_of_tensor_core;
  int resident = 0;
  if (error e = check(
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, static_cast<int>(32 * warps), bytes), what);
      e.code != errc::ok)
    return e;
  std::size_t blocks = (tiles + warps - 1) / warps;
  const std::size_t most = std::size_t{limits.processors} * static_cast<unsigned>(resident);
  if (blocks > most) blocks = most;
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(32 * warps), bytes, stream>>>(net, packed, queries, in,
                                                                                              out);
  return check_launch(what);
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
