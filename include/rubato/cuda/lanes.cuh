#ifndef RUBATO_CUDA_LANES_CUH
#define RUBATO_CUDA_LANES_CUH

#include <concepts>

#include "shared_body.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// The threads that work on one thing together: who I am, how many there are, and a point that none passes before all
/// have come to it, after which each sees what the others wrote. A body that is written over lanes is the same for one
/// thread, a warp, a block, and the threads of a host that test it.
///
/// Tests   tests/cuda/lanes_test.cpp: OneLane, ThreadLanesMeet
template <class L>
concept Lanes = requires(const L& lanes) {
  { lanes.index() }
  noexcept->std::same_as<unsigned>;
  { lanes.count() }
  noexcept->std::same_as<unsigned>;
  { lanes.sync() }
  noexcept->std::same_as<void>;
};

/// One thread, on the host or on the device.
struct one_lane {
  [[nodiscard]] RUBATO_DETAIL_SHARED static unsigned index() noexcept { return 0; }  ///< the only one
  [[nodiscard]] RUBATO_DETAIL_SHARED static unsigned count() noexcept { return 1; }  ///< itself
  RUBATO_DETAIL_SHARED static void sync() noexcept {}                                ///< nobody else is to come
};

#if defined(__CUDACC__)
/// The threads of a warp, all 32 of which take part; blocks have one dimension.
struct warp_lanes {
  [[nodiscard]] __device__ static unsigned index() noexcept { return threadIdx.x % 32; }        ///< in its warp
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr unsigned count() noexcept { return 32; }  ///< of a warp
  __device__ static void sync() noexcept { __syncwarp(); }                                      ///< waits for the warp
};

/// The threads of a block, all of which take part; blocks have one dimension.
struct block_lanes {
  [[nodiscard]] __device__ static unsigned index() noexcept { return threadIdx.x; }  ///< in its block
  [[nodiscard]] __device__ static unsigned count() noexcept { return blockDim.x; }   ///< of the block
  __device__ static void sync() noexcept { __syncthreads(); }                        ///< waits for the block
};
#endif

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
