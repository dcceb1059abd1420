#ifndef RUBATO_CUDA_POLICY_SEARCH_CUH
#define RUBATO_CUDA_POLICY_SEARCH_CUH

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "error.cuh"
#include "simulated_cluster.cuh"
#include "simulated_population.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// Count threads of a warp that lie side by side, Count a power of two up to 32; blocks have one dimension.
/// Tests   tests/cuda/device/simulated_cluster_test.cu: LaunchesDoNotMatter
template <unsigned Count>
struct part_lanes {
  static_assert(Count >= 1 && Count <= 32 && (Count & (Count - 1)) == 0, "part_lanes: 1, 2, 4, 8, 16 or 32 threads");
  [[nodiscard]] __device__ static unsigned index() noexcept { return threadIdx.x % Count; }  ///< in its part
  [[nodiscard]] __device__ static unsigned count() noexcept { return Count; }                ///< of a part
  /// Waits for the part, and for no other thread of the warp.
  __device__ static void sync() noexcept {
    constexpr unsigned all = 0xffffffffU >> (32 - Count);
    __syncwarp(all << (threadIdx.x % 32 / Count * Count));
  }
};

namespace detail {

inline constexpr unsigned search_threads = 128;  // of a block
inline constexpr unsigned search_blocks = 4;     // on an SM, at least: 16 warps, and up to 128 registers a thread

// Apart by a quarter of the banks, as four clusters of a warp read theirs at the same place at once.
template <class Memory>
inline constexpr std::size_t memory_stride = (sizeof(Memory) + 127) / 128 * 128 + 32;

template <unsigned LanesEach, std::uint32_t MaxWorkers, class Goal, class Candidates>
__global__ void __launch_bounds__(search_threads, search_blocks)
    search_kernel(const __grid_constant__ simulated_machines<MaxWorkers> machines,
                  const __grid_constant__ simulated_run run, const __grid_constant__ Goal goal,
                  const __grid_constant__ Candidates candidates, const __grid_constant__ search_size size,
                  episode_result* out) {
  using memory = simulated_memory<MaxWorkers, Goal, typename Candidates::policy>;
  extern __shared__ double search_memory[];
  constexpr unsigned clusters = search_threads / LanesEach;
  const part_lanes<LanesEach> lanes;
  const unsigned mine = threadIdx.x / LanesEach;
  auto& shared = *reinterpret_cast<memory*>(reinterpret_cast<char*>(search_memory) + mine * memory_stride<memory>);
  const std::uint64_t all = std::uint64_t{size.candidates} * size.clusters;
  for (std::uint64_t e = std::uint64_t{blockIdx.x} * clusters + mine; e < all;
       e += std::uint64_t{gridDim.x} * clusters) {
    const episode_result r = episode_of(machines, run, goal, candidates, size, e, lanes, shared);
    if (lanes.index() == 0) out[e] = r;
  }
}

template <unsigned Threads>  // a template, as there are no inline kernels
__global__ void __launch_bounds__(Threads)
    mean_kernel(const episode_result* episodes, search_size size, episode_cost cost, double* out) {
  __shared__ double scratch[mean_parts];
  mean_cost(episodes + std::size_t{blockIdx.x} * size.clusters, size.clusters, cost, part_lanes<Threads>{}, scratch,
            out + blockIdx.x);
}

}  // namespace detail

/// Runs an episode of each of size.candidates policies on each of size.clusters clusters: what a search by trial asks
/// for. Cluster n has seed size.first_seed + n, whoever the candidate. Episode c * size.clusters + n of `out`, memory
/// of the device, is that of candidate c; it depends on nothing else, whatever the launch and LanesEach.
///
/// A generation of a search, `parameters` and what follows being memory of the device:
///
///     const cuda::search_size size{.candidates = population, .clusters = 256, .first_seed = 256 * es.generation()};
///     for (std::size_t c = 0; c < population; ++c) es.ask(c, of_candidate(host, c));
///     cudaMemcpyAsync(parameters, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice, stream);
///     const cuda::q_candidates<shape> candidates{parameters};
///     error e = cuda::simulate_episodes(machines, run, goal, candidates, size, out, stream);
///     if (e.code == errc::ok) e = cuda::mean_costs(out, size, cuda::episode_cost::time, means, stream);
///     cudaMemcpyAsync(costs.data(), means, costs.size() * sizeof(double), cudaMemcpyDeviceToHost, stream);
///     cudaStreamSynchronize(stream);
///     es.tell(costs);
///
/// LanesEach   threads of a cluster. The event core is scalar: eight threads, and so four clusters a warp, leave least
///             of them idle while each still has few of a network's outputs
/// Candidates  plain data with a type `policy` and operator()(candidate): q_candidates, or the_candidate for one rule
/// Memory      none of the device but `out`; shared memory of 16 clusters a block. Asynchronous, allocates nothing
/// Errors      invalid_option: no episodes, or clusters too large for shared memory; io: what CUDA answers
/// Tests       tests/cuda/device/simulated_cluster_test.cu: EpisodesAreThoseOfTheHost, LaunchesDoNotMatter,
///             RefusesWhatDoesNotFit
template <unsigned LanesEach = 8, std::uint32_t MaxWorkers, class Goal, class Candidates>
error simulate_episodes(const simulated_machines<MaxWorkers>& machines, const simulated_run& run, const Goal& goal,
                        const Candidates& candidates, const search_size& size, episode_result* out,
                        cudaStream_t stream) {
  if (const char* wrong = problem(size)) return {errc::invalid_option, std::string{"simulate_episodes: "} + wrong};
  constexpr unsigned clusters = detail::search_threads / LanesEach;
  constexpr std::size_t bytes =
      clusters * detail::memory_stride<simulated_memory<MaxWorkers, Goal, typename Candidates::policy>>;
  const auto kernel = detail::search_kernel<LanesEach, MaxWorkers, Goal, Candidates>;
  int device = 0, processors = 0, most = 0, resident = 0;
  if (error e = check(cudaGetDevice(&device), "simulate_episodes: device"); e.code != errc::ok) return e;
  if (error e = check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "shared memory");
      e.code != errc::ok)
    return e;
  if (bytes > static_cast<std::size_t>(most))
    return {errc::invalid_option, "simulate_episodes: a block's clusters need " + std::to_string(bytes) +
                                      " bytes of shared memory, expected at most " + std::to_string(most) +
                                      ": take more lanes for each"};
  if (error e = check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "processors");
      e.code != errc::ok)
    return e;
  if (bytes > 48 * 1024)
    if (error e = check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                             cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                        "simulate_episodes: shared memory");
        e.code != errc::ok)
      return e;
  if (error e = check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, reinterpret_cast<const void*>(kernel),
                                                                    detail::search_threads, bytes),
                      "simulate_episodes: occupancy");
      e.code != errc::ok)
    return e;
  const std::uint64_t all = std::uint64_t{size.candidates} * size.clusters, needed = (all + clusters - 1) / clusters;
  std::uint64_t blocks = static_cast<std::uint64_t>(resident) * static_cast<std::uint64_t>(processors);
  if (size.blocks != 0) blocks = size.blocks;
  if (blocks > needed) blocks = needed;
  kernel<<<static_cast<unsigned>(blocks), detail::search_threads, bytes, stream>>>(machines, run, goal, candidates,
                                                                                   size, out);
  return check_launch("simulate_episodes");
}

/// The mean cost of each candidate's episodes, in their order: size.candidates numbers, memory of the device.
/// A warp for each. Asynchronous, no allocation.
/// Errors  invalid_option: no episodes; io: what CUDA answers
/// Tests   tests/cuda/device/simulated_cluster_test.cu: EpisodesAreThoseOfTheHost
inline error mean_costs(const episode_result* episodes, const search_size& size, episode_cost cost, double* out,
                        cudaStream_t stream) {
  if (const char* wrong = problem(size)) return {errc::invalid_option, std::string{"mean_costs: "} + wrong};
  detail::mean_kernel<32><<<size.candidates, 32, 0, stream>>>(episodes, size, cost, out);
  return check_launch("mean_costs");
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
