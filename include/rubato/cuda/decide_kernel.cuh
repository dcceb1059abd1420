#ifndef RUBATO_CUDA_DECIDE_KERNEL_CUH
#define RUBATO_CUDA_DECIDE_KERNEL_CUH

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "controller.cuh"
#include "error.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// The device's clock in nanoseconds, the same for all streams. CUDA promises no resolution: devices are known on which
/// it advances by 32 ns, by 1.024 us, and by more.
[[nodiscard]] __device__ inline std::uint64_t device_nanoseconds() noexcept {
  std::uint64_t nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

/// A time by the device's clock for a request to this state, see seconds_at(). By one lane.
/// Tests   tests/cuda/device/controller_test.cu: KeepsTimeByTheDevice
template <std::uint32_t Capacity, class Shape>
[[nodiscard]] __device__ double device_seconds(controller_state<Capacity, Shape>& state) noexcept {
  return seconds_at(state, device_nanoseconds());
}

/// Which clock a request of a kernel goes by: its own `now`, or the device's at the time of the decision. Not to be
/// mixed for one state.
enum class time_of : std::uint8_t {
  request,  ///< its own `now`
  device    ///< the device's, see device_seconds()
};

/// What a decide kernel does with its record besides writing it: nothing.
struct no_publication {
  /// Does nothing.
  template <std::uint32_t Capacity, class Shape, Lanes L>
  __device__ void operator()(const decision_record<Capacity>&, const controller_state<Capacity, Shape>&,
                             const L&) const noexcept {}
};

/// Writes the release words of those who may go on: word w is releases[w], so that a stream which waits for
/// word >= n starts step n of worker w. What the lanes wrote before their last sync, and earlier kernels of the stream,
/// is seen by whoever sees the word.
/// Tests   tests/cuda/device/controller_test.cu: DecidesAsTheHost;
///         tests/cuda/device/waiting_test.cu: WorkersStepAsTheyAreReleased
struct release_words {
  std::uint32_t* words = nullptr;  ///< one a worker, zero at first: memory of the device or mapped, not managed

  /// By all lanes, of the record and the state as they are after the decision.
  template <std::uint32_t Capacity, class Shape, Lanes L>
  __device__ void operator()(const decision_record<Capacity>& record, const controller_state<Capacity, Shape>& state,
                             const L& lanes) const noexcept {
    // Only who writes a word: the sync before hands on what the others wrote, and a fence for the system takes longer
    // the more lanes ask for it.
    if (lanes.index() < record.released) __threadfence_system();
    for (std::uint32_t i = lanes.index(); i < record.released; i += lanes.count()) {
      const std::uint32_t w = record.release[i];
      *static_cast<volatile std::uint32_t*>(words + w) = state.releases[w];
    }
  }
};

/// decide() by one block: the state is copied into shared memory, decided on, and copied back, so that memory is waited
/// for twice however many accesses a rule takes. For kernels that decide among other things as well; called by all
/// threads of the block, which must have at least 32 and one dimension.
///
/// The request is read, and the record written, by the block; both are memory of the device or mapped. Of the record
/// what is in use is written, see words_of().
/// Tests   tests/cuda/device/controller_test.cu: DecidesAsTheHost, KeepsTimeByTheDevice
template <std::uint32_t Capacity, class Shape, class Publish>
__device__ void decide_by_block(controller_state<Capacity, Shape>* state, const request* what, time_of clock,
                                decision_record<Capacity>* record, const Publish& publish) noexcept {
  using state_type = controller_state<Capacity, Shape>;
  using record_type = decision_record<Capacity>;
  constexpr bool stages = sizeof(state_type) + sizeof(record_type) + sizeof(decide_workspace<Shape>) <= 40 * 1024;
  __shared__ decide_workspace<Shape> space;
  const block_lanes lanes{};
  request asked;
  if (lanes.index() == 0) asked = *what;  // on its way while the state is
  const auto decide_on = [&](state_type& at, record_type& said) {
    if (clock == time_of::device && lanes.index() == 0) asked.now = device_seconds(at);
    decide(at, asked, lanes, space, said);
  };
  if constexpr (stages) {
    __shared__ staged<state_type> state_room;
    __shared__ staged<record_type> record_room;
    state_type& near = state_room.fetch(lanes, *state);
    record_type& said = record_room.value();
    decide_on(near, said);
    copy_over_lanes(lanes, near, *state);
    copy_over_lanes(lanes, said, *record, 4 * words_of(said));
    publish(said, near, lanes);
  } else {
    decide_on(*state, *record);
    publish(*record, *state, lanes);
  }
}

namespace detail {

// A thread for each output of the widest layer, and enough of them to fetch the state of 64 workers at once.
inline constexpr unsigned decide_threads = 128;

template <std::uint32_t Capacity, class Shape, class Publish>
__global__ void __launch_bounds__(decide_threads)
    decide_kernel(controller_state<Capacity, Shape>* state, const request* what, time_of clock,
                  decision_record<Capacity>* record, Publish publish) {
  decide_by_block(state, what, clock, record, publish);
}

}  // namespace detail

/// One decision as a kernel of its own, of one block.
///
///     cuda::launch_decide(state, request, cuda::time_of::request, record, cuda::release_words{words}, stream);
///
/// All pointers are memory of the device or mapped into it, and stay until the stream is past the launch; one decision
/// at a time per state. No allocation; asynchronous.
/// Errors  what the launch answers
/// Tests   tests/cuda/device/controller_test.cu: DecidesAsTheHost, KeepsTimeByTheDevice
template <std::uint32_t Capacity, class Shape, class Publish = no_publication>
error launch_decide(controller_state<Capacity, Shape>* state, const request* what, time_of clock,
                    decision_record<Capacity>* record, const Publish& publish, cudaStream_t stream) {
  detail::decide_kernel<<<1, detail::decide_threads, 0, stream>>>(state, what, clock, record, publish);
  return check_launch("launch_decide");
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
