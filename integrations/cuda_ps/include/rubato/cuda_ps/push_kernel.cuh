#ifndef RUBATO_CUDA_PS_PUSH_KERNEL_CUH
#define RUBATO_CUDA_PS_PUSH_KERNEL_CUH

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <rubato/cuda/controller.cuh>
#include <rubato/cuda/decide_kernel.cuh>
#include <rubato/cuda/error.cuh>

#include "device_decisions.cuh"
#include "device_shards.cuh"

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// Words in memory of the device by which the launches of several streams take turns. Zeros at first.
struct turn_words {
  std::uint32_t next = 0;  ///< the number of the launch that comes next
  std::uint32_t now = 0;   ///< whose turn it is
  struct launch {
    std::uint32_t arrived = 0;   ///< blocks of it that have begun
    std::uint32_t decided = 0;   ///< its number in the stream, once its orders are staged
    std::uint32_t finished = 0;  ///< blocks of it that are done
  };
  launch of[max_workers];  ///< of each stream: one launch at a time
};

/// What a launch reads and writes besides the parameters. Null where there is none.
struct push_words {
  std::uint32_t* releases = nullptr;       ///< a word a worker, memory of the device: steps that it may start
  std::uint32_t* releases_host = nullptr;  ///< the same, mapped
  unsigned long long* progress = nullptr;  ///< mapped, a word a worker: its step << 32 | bits of the loss
  double* wake_at = nullptr;               ///< mapped: when the rule wants to be polled, by the device's clock
};

/// What the launch of one stream is to do.
struct push_request {
  cuda::request what{};
  std::uint32_t stream = 0;     ///< of turn_words and progress; workers have their own index
  std::uint32_t number = 0;     ///< of the launch in its stream, from 1
  std::uint32_t slot = 0;       ///< of the gradient
  std::uint32_t step = 0;       ///< for progress
  const float* loss = nullptr;  ///< of a push
  std::uint64_t snapshot = 0;   ///< not 0: no request, but a copy of the parameters to these copies
};

namespace detail {

[[nodiscard]] __device__ inline std::uint32_t load_acquire(const std::uint32_t* from) noexcept {
  std::uint32_t seen;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(from) : "memory");
  return seen;
}
__device__ inline void store_release(std::uint32_t* to, std::uint32_t what) noexcept {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(to), "r"(what) : "memory");
}
// Who waits here waits for a launch that has begun: it needs nothing of the device that waiters could hold.
__device__ inline void await(const std::uint32_t* word, std::uint32_t value) noexcept {
  while (load_acquire(word) != value) __nanosleep(32);
}

// By all threads of one block: the state goes into shared memory and back, so that memory is waited for twice.
template <std::uint32_t Capacity, class Shape>
__device__ void decide_in_turn(device_decisions<Capacity, Shape>* all, const push_request& asked) noexcept {
  using state = device_decisions<Capacity, Shape>;
  static_assert(sizeof(state) + sizeof(cuda::decide_workspace<Shape>) < 44 * 1024, "push_kernel: too many workers");
  alignas(8) __shared__ unsigned char bytes[sizeof(state)];
  __shared__ cuda::decide_workspace<Shape> space;
  const cuda::block_lanes lanes{};
  auto& near = *reinterpret_cast<state*>(bytes);
  cuda::copy_over_lanes(lanes, *all, near);
  if (asked.snapshot != 0) {
    if (lanes.index() == 0) near.book.begin(), near.book.finish(asked.snapshot);
    lanes.sync();
  } else {
    cuda::request what = asked.what;
    what.now = cuda::device_seconds();
    if (asked.loss != nullptr) what.loss = *asked.loss;
    decide_orders(near, what, asked.slot, lanes, space);
  }
  cuda::copy_over_lanes(lanes, near, *all);
}

template <std::uint32_t Capacity, class Shape>
__global__ void __launch_bounds__(threads_of_block)
    push_kernel(device_decisions<Capacity, Shape>* all, turn_words* turns, push_words words,
                const __grid_constant__ push_request asked, shard_view at, log_view log) {
  __shared__ bool decides, is_last;
  __shared__ std::uint32_t turn;
  __shared__ order now;
  turn_words::launch& own = turns->of[asked.stream];
  if (threadIdx.x == 0) {
    decides = atomicAdd(&own.arrived, 1) == 0;  // the first block that runs: nobody waits for one that does not
    if (decides) {
      turn = atomicAdd(&turns->next, 1);
      await(&turns->now, turn);
    }
  }
  __syncthreads();
  if (decides) decide_in_turn(all, asked);
  if (threadIdx.x == 0) {
    if (decides) {
      store_release(&own.decided, asked.number);
    } else {
      await(&own.decided, asked.number);
    }
  }
  __syncthreads();
  const round_book& book = all->book;
  const unsigned orders = book.count();
  for (unsigned i = 0; i < orders; ++i) {
    for (std::size_t word = threadIdx.x; word < sizeof(order) / 8; word += blockDim.x)
      reinterpret_cast<std::uint64_t*>(&now)[word] = reinterpret_cast<const std::uint64_t*>(&book[i])[word];
    __syncthreads();
    cuda_ps::carry_out(now, book.waiting(), at, grid_lanes{});
    if (decides && threadIdx.x == 0) write_log(now, book.waiting(), log);
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(&own.finished, 1) == gridDim.x - 1;
    if (is_last) __threadfence();
  }
  __syncthreads();
  if (!is_last) return;
  // All blocks have written: who is released may read, and the next launch has its turn.
  __threadfence_system();
  if (asked.snapshot == 0)
    for (unsigned i = threadIdx.x; i < all->record.released; i += blockDim.x) {
      const std::uint32_t w = all->record.release[i];
      const std::uint32_t steps = all->controller.releases[w];
      if (words.releases != nullptr) *static_cast<volatile std::uint32_t*>(words.releases + w) = steps;
      if (words.releases_host != nullptr) *static_cast<volatile std::uint32_t*>(words.releases_host + w) = steps;
    }
  if (threadIdx.x == 0) {
    if (words.progress != nullptr && asked.loss != nullptr)
      *static_cast<volatile unsigned long long*>(words.progress + asked.stream) =
          (static_cast<unsigned long long>(asked.step) << 32) | __float_as_uint(*asked.loss);
    if (words.wake_at != nullptr && asked.snapshot == 0)
      *static_cast<volatile double*>(words.wake_at) = all->record.wake_at;
    own.arrived = 0;
    own.finished = 0;
  }
  __syncthreads();
  if (threadIdx.x == 0) store_release(&turns->now, load_acquire(&turns->now) + 1);
}

}  // namespace detail

/// One request: a turn among the launches of all streams in the order in which they come, the decision, the update, the
/// copies to whoever is released, and the words that let these go on; a single kernel. The first block that runs takes
/// the turn and decides; a gradient must lie in its slot by the stream's order.
///
/// While one launch has its turn, blocks of others wait: `blocks` of all streams together must be less than the device
/// holds, half of it say (see blocks_for()).
/// Asynchronous. No allocation. Errors: what the launch answers.
/// Tests   tests/integrations/cuda_ps/device/device_server_test.cu: SumsAreExact, BspHasTheBitsOfTheHost
template <std::uint32_t Capacity, class Shape>
[[nodiscard]] error launch_push(device_decisions<Capacity, Shape>* all, turn_words* turns, const push_words& words,
                                const push_request& asked, const shard_view& at, const log_view& log, unsigned blocks,
                                cudaStream_t stream) {
  detail::push_kernel<<<blocks, detail::threads_of_block, 0, stream>>>(all, turns, words, asked, at, log);
  return cuda::check_launch("the push of a worker");
}

/// Blocks for the launches of so many streams on the present device, such that all of them together take half of it.
/// Errors  what the runtime answers
template <std::uint32_t Capacity, class Shape>
[[nodiscard]] result<unsigned> blocks_for(std::size_t parameters, std::uint32_t streams) {
  int device = 0, processors = 1, at_once = 1;
  error wrong;
  if (failed(cuda::check(cudaGetDevice(&device), "the device"), wrong) ||
      failed(cuda::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "the device"),
             wrong) ||
      failed(cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                             &at_once, reinterpret_cast<const void*>(&detail::push_kernel<Capacity, Shape>),
                             static_cast<int>(detail::threads_of_block), 0),
                         "the blocks that the device holds"),
             wrong))
    return wrong;
  const std::size_t wanted = (parameters / 4 + detail::threads_of_block - 1) / detail::threads_of_block;
  const std::size_t share = static_cast<std::size_t>(processors) * static_cast<std::size_t>(at_once) / 2 / streams;
  return static_cast<unsigned>((std::max)(std::size_t{1}, (std::min)(wanted, share)));
}

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
