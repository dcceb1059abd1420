#ifndef RUBATO_CUDA_PS_PUSH_KERNEL_CUH
#define RUBATO_CUDA_PS_PUSH_KERNEL_CUH

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <rubato/cuda/controller.cuh>
#include <rubato/cuda/decide_kernel.cuh>
#include <rubato/cuda/error.cuh>
#include <rubato/cuda/staged.cuh>

#include "device_decisions.cuh"
#include "device_shards.cuh"

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// Words in memory of the device by which the launches of several streams take turns. Zeros at first.
struct turn_words {
  std::uint32_t next = 0;  ///< the number of the launch that comes next
  std::uint32_t now = 0;   ///< whose turn it is
  double wake_in = 0;      ///< as push_words::wake_in, where nobody has asked for a poll 0
  /// What the blocks of a launch tell each other.
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
  double* wake_in = nullptr;               ///< mapped: in how many seconds the rule wants to be polled; 0: it does not
};

/// How far beyond its releases the words of a worker are that has departed: its stream waits no more, and what that
/// pushes is refused.
inline constexpr std::uint32_t steps_of_the_departed = 1U << 30;

/// What the launch of one stream is to do.
struct push_request {
  cuda::request what{};         ///< with the time and, of a push, the loss left out: the kernel fills them in
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
  __shared__ cuda::staged<state> room;
  __shared__ cuda::decide_workspace<Shape> space;
  const cuda::block_lanes lanes{};
  cuda::request what = asked.what;
  if (lanes.index() == 0 && asked.loss != nullptr) what.loss = *asked.loss;  // on its way while the state is
  state& near = room.fetch(lanes, *all);
  if (asked.snapshot != 0) {
    if (lanes.index() == 0) near.book.begin(), near.book.finish(asked.snapshot);
    lanes.sync();
  } else {
    if (lanes.index() == 0) what.now = cuda::device_seconds(near.controller);
    decide_orders(near, what, asked.slot, lanes, space);
  }
  cuda::copy_over_lanes(lanes, near, *all);
}

// What a decision tells, set aside in shared memory: the next one may be made before the host has been told of this.
// Each lane of the first warp reads what it has written.
struct news {
  std::uint32_t worker[max_workers], value[max_workers];  // whose word changes, and to what
  std::uint32_t next_turn;
  float loss;
  double wake_in;
  bool wakes;

  template <std::uint32_t Capacity, class Shape>
  __device__ void gather(const device_decisions<Capacity, Shape>& all, const turn_words& turns,
                         const push_request& asked) noexcept {
    const bool decided = asked.snapshot == 0;
    const std::uint32_t released = decided ? all.record.released : 0;
    const bool departs = decided && asked.what.what == cuda::request::kind::depart && asked.what.worker < Capacity;
    for (std::uint32_t i = threadIdx.x; i < max_workers; i += 32) {
      const bool is_departed = departs && i == released;
      const std::uint32_t w = i < released ? all.record.release[i] : is_departed ? asked.what.worker : no_worker;
      worker[i] = w;
      if (w != no_worker) value[i] = all.controller.releases[w] + (is_departed ? steps_of_the_departed : 0);
    }
    if (threadIdx.x != 0) return;
    next_turn = turns.now + 1;
    loss = asked.loss == nullptr ? 0.0F : *asked.loss;
    wake_in = 0;
    if (all.record.wake_at < cuda::detail::never) wake_in = fmax(all.record.wake_at - all.controller.now, 1e-9);
    wakes = decided && (wake_in != 0 || turns.wake_in != 0);
  }
  __device__ void write(std::uint32_t* words) const noexcept {
    if (words == nullptr) return;
    for (unsigned i = threadIdx.x; i < max_workers && worker[i] != no_worker; i += 32)
      *static_cast<volatile std::uint32_t*>(words + worker[i]) = value[i];
  }
};

// What is known of an update before its turn comes from memory meanwhile, as far as it is not near yet.
__device__ inline void prefetch(const float* from, std::size_t size) noexcept {
  const std::size_t stride = std::size_t{4} * grid_lanes::count();
  std::size_t i = std::size_t{4} * grid_lanes::index();
  for (int n = 0; n < 4 && i < size; ++n, i += stride) asm volatile("prefetch.global.L2 [%0];" : : "l"(from + i));
}

// Three blocks on a multiprocessor, so 80 registers a thread; of the one that decides a few are spilled.
template <std::uint32_t Capacity, class Shape>
__global__ void __launch_bounds__(threads_of_block, 3)
    push_kernel(device_decisions<Capacity, Shape>* all, turn_words* turns, push_words words,
                const __grid_constant__ push_request asked, shard_view at, log_view log) {
  __shared__ bool decides, is_last;
  __shared__ order now;
  __shared__ news told;
  const bool is_first_warp = threadIdx.x < 32, tells = threadIdx.x == 0;
  turn_words::launch& own = turns->of[asked.stream];
  if (tells) decides = atomicAdd(&own.arrived, 1) == 0;  // the first that runs: nobody waits for one that does not
  if (asked.loss != nullptr) prefetch(at.gradient(asked.stream, asked.slot), at.size);
  __syncthreads();
  if (decides) {
    if (tells) await(&turns->now, atomicAdd(&turns->next, 1));
    __syncthreads();
    decide_in_turn(all, asked);
    if (tells) store_release(&own.decided, asked.number);
  } else if (tells) {
    await(&own.decided, asked.number);
  }
  __syncthreads();
  if (is_first_warp) told.gather(*all, *turns, asked);  // any block may be the last to be done
  const round_book& book = all->book;
  const unsigned orders = book.count();
  for (unsigned i = 0; i < orders; ++i) {
    for (std::size_t word = threadIdx.x; word < sizeof(order) / 8; word += blockDim.x)
      reinterpret_cast<std::uint64_t*>(&now)[word] = reinterpret_cast<const std::uint64_t*>(&book[i])[word];
    __syncthreads();
    cuda_ps::carry_out(now, book.waiting(), at, grid_lanes{});
    if (decides && tells) write_log(now, book.waiting(), log);
    __syncthreads();
  }
  if (tells) {
    __threadfence();
    is_last = atomicAdd(&own.finished, 1) == gridDim.x - 1;
    if (is_last) __threadfence();
  }
  __syncthreads();
  if (!is_last || !is_first_warp) return;
  // All blocks have written: who is released may read, and the next launch has its turn. Streams' words belong to this
  // turn, since a later one may change them again; what the host reads takes its time, and comes afterwards.
  __threadfence_system();
  told.write(words.releases);
  if (tells && told.wakes) {
    if (words.wake_in != nullptr) *static_cast<volatile double*>(words.wake_in) = told.wake_in;
    turns->wake_in = told.wake_in;
  }
  __syncwarp();
  if (tells) store_release(&turns->now, told.next_turn);
  told.write(words.releases_host);
  if (!tells) return;
  if (words.progress != nullptr && asked.loss != nullptr)
    *static_cast<volatile unsigned long long*>(words.progress + asked.stream) =
        (static_cast<unsigned long long>(asked.step) << 32) | __float_as_uint(told.loss);
  own.arrived = 0;
  own.finished = 0;
}

}  // namespace detail

/// One request: a turn among the launches of all streams in the order in which they come, the decision, the update, the
/// copies to whoever is released, and the words that let these go on; a single kernel. The first block that runs takes
/// the turn and decides; a gradient must lie in its slot by the stream's order.
///
/// While one launch has its turn, blocks of others wait: `blocks` of all streams together must be less than the device
/// holds, half of it say (see blocks_for()).
/// Asynchronous. No allocation. Errors: what the launch answers.
/// Tests   tests/integrations/cuda_ps/device/push_kernel_test.cu: TellsWhoMayGoOn,
///         LetsTheStreamOfTheDepartedRunOut, TellsWhenToPoll;
///         tests/integrations/cuda_ps/device/device_server_test.cu: SumsAreExact, BspHasTheBitsOfTheHost
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
