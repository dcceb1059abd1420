#ifndef RUBATO_CUDA_MAILBOX_KERNEL_CUH
#define RUBATO_CUDA_MAILBOX_KERNEL_CUH

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "decide_kernel.cuh"
#include "error.cuh"
#include "mailbox.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// What a host asks that has a controller of its own, and wants the network's values alone: one row of inputs.
template <class Shape>
struct value_question {
  float inputs[Shape::inputs];  ///< of the network, scaled as it wants them
};
/// What the network makes of a value_question.
template <class Shape>
struct value_answer {
  float values[Shape::outputs];  ///< of the actions, in the network's order
};

/// Whether work is left in the stream: what a mailbox_client asks to know that its kernel has not gone. An error of the
/// stream says that it has.
/// Tests   tests/cuda/device/mailbox_test.cu: GivesTheStateBack
inline bool is_running(cudaStream_t stream) noexcept {
  const bool runs = cudaStreamQuery(stream) == cudaErrorNotReady;
  // No error, but the runtime may keep it as one, and check_launch() would be told of it.
  if (runs && cudaPeekAtLastError() == cudaErrorNotReady) static_cast<void>(cudaGetLastError());
  return runs;
}

namespace detail {

// One block: the state lives in shared memory as long as the kernel does.
template <std::uint32_t Capacity, class Shape>
__global__ void __launch_bounds__(decide_threads)
    decisions_kernel(mailbox<request, decision_record<Capacity>>* box, controller_state<Capacity, Shape>* state) {
  using state_type = controller_state<Capacity, Shape>;
  using record_type = decision_record<Capacity>;
  static_assert(sizeof(state_type) + sizeof(record_type) <= 40 * 1024, "launch_decisions: a smaller capacity");
  __shared__ staged<state_type> state_room;
  __shared__ staged<record_type> record_room;
  __shared__ staged<request> question_room;
  __shared__ decide_workspace<Shape> space;
  __shared__ std::uint32_t stops;
  const block_lanes lanes{};
  state_type& near = state_room.fetch(lanes, *state);
  serve(*box, lanes, question_room.value(), record_room.value(), stops, [&](const request& asked, record_type& said) {
    // The policy and its network lie where the question points, perhaps where an earlier one did: what the L1 cache
    // has of them is old, and nothing but a fence makes it forget (from compute capability 7.0 on it then does, which
    // is how later loads come to see what whoever sent the question wrote before). Too slow to be done always.
    if (asked.what == request::kind::change) __threadfence_system();
    decide(near, asked, lanes, space, said);
    return words_of(said);
  });
  copy_over_lanes(lanes, near, *state);
}

template <class Shape>
__global__ void __launch_bounds__(decide_threads)
    values_kernel(mailbox<value_question<Shape>, value_answer<Shape>>* box, network<Shape> net) {
  __shared__ value_question<Shape> question;
  __shared__ value_answer<Shape> answer;
  __shared__ float scratch[evaluate_scratch<Shape>];
  __shared__ std::uint32_t stops;
  const block_lanes lanes{};
  serve(*box, lanes, question, answer, stops,
        [&](const value_question<Shape>& asked, value_answer<Shape>& said) -> std::size_t {
          evaluate(net, lanes, asked.inputs, scratch, said.values);
          return Shape::outputs;
        });
}

}  // namespace detail

/// Starts a kernel of one block that stays, and decides for the host that asks through the mailbox, until that stops
/// it. It holds the state meanwhile: what lies at `state` is read at the start, and written at the end.
///
///     cuda::mailbox<cuda::request, cuda::decision_record<64>>* box;  // zeros, mapped: cudaHostAllocMapped
///     cuda::launch_decisions(box_of_device, state, stream);
///     cuda::mailbox_client client{*box};
///
/// `box` is the device's address of the mapped memory. The stream is the kernel's alone, and not the legacy default
/// stream, which would wait for it; the block takes its place on one multiprocessor, which it keeps busy with polling.
///
/// While it stays, nothing may wait for the whole device: no cudaDeviceSynchronize, cudaFree or cudaFreeHost, and no
/// first launch of another kernel, which CUDA loads then, and may wait to load (CUDA_MODULE_LOADING=EAGER loads all of
/// them at the start; or launch each once before). A policy that a request of kind `change` points at, and its network,
/// are complete before the request, and may be other ones at the next; in between they must not change.
/// Errors  what the launch answers
/// Tests   tests/cuda/device/mailbox_test.cu: DecidesAsTheBody, GivesTheStateBack, ReadsEachPolicyAnew
template <std::uint32_t Capacity, class Shape>
error launch_decisions(mailbox<request, decision_record<Capacity>>* box, controller_state<Capacity, Shape>* state,
                       cudaStream_t stream) {
  detail::decisions_kernel<<<1, detail::decide_threads, 0, stream>>>(box, state);
  return check_launch("launch_decisions");
}

/// The same for a host that asks for the network's values alone. The bits of cuda::evaluate. The network must not
/// change while the kernel stays, which would see some of it.
/// Tests   tests/cuda/device/mailbox_test.cu: ValuesHaveTheBitsOfTheHost
template <class Shape>
error launch_values(mailbox<value_question<Shape>, value_answer<Shape>>* box, const network<Shape>& net,
                    cudaStream_t stream) {
  detail::values_kernel<<<1, detail::decide_threads, 0, stream>>>(box, net);
  return check_launch("launch_values");
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
