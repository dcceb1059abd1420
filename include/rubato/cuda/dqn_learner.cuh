#ifndef RUBATO_CUDA_DQN_LEARNER_CUH
#define RUBATO_CUDA_DQN_LEARNER_CUH

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "../core/result.hpp"
#include "dqn_state.cuh"
#include "dqn_update.cuh"
#include "error.cuh"
#include "lanes.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

namespace detail {

// A tile in a block: for 40-64-32-3 a lane sums 4 x 4 numbers in the widest layers, with two reads of 16 bytes from
// shared memory for 16 multiply-adds. On compute capability 9.0 four blocks fit an SM by their 124 registers, five by
// their 42 KiB of shared memory; while one waits at a barrier the others compute. Not measured.
inline constexpr unsigned tile_lanes = 128;
// An agent's parameters in a block: each lane reads the tiles of a handful of parameters, side by side.
inline constexpr unsigned step_lanes = 1024;
inline constexpr unsigned record_warps = 4;

template <class Arithmetic, class Shape, unsigned Rows>
__global__ void __launch_bounds__(tile_lanes, 4) learn_kernel(const dqn_learner<Shape, Rows> learner) {
  extern __shared__ float4 dqn_shared[];
  learn_from_tile<Arithmetic>(learner, blockIdx.x / learner.tiles(), blockIdx.x % learner.tiles(), block_lanes{},
                              *reinterpret_cast<dqn_tile<Shape, Rows>*>(dqn_shared));
}

template <class Shape, unsigned Rows>
__global__ void __launch_bounds__(step_lanes) step_kernel(const dqn_learner<Shape, Rows> learner) {
  __shared__ alignas(dqn_step_memory) unsigned char memory[sizeof(dqn_step_memory)];  // shared: nothing initialises it
  update_parameters(learner, blockIdx.x, block_lanes{}, *reinterpret_cast<dqn_step_memory*>(memory));
}

template <class Shape, unsigned Rows>
__global__ void start_kernel(const dqn_learner<Shape, Rows> learner, const float* initial, std::size_t stride) {
  start_agent(learner, blockIdx.x, block_lanes{}, initial + blockIdx.x * stride);
}

}  // namespace detail

/// What some agents experienced, in memory of the device: [agents x count] each, an agent's side by side.
/// Tests   tests/cuda/device/dqn_learner_test.cu: HasTheBitsOfTheHost
struct dqn_experiences {
  const float* observation = nullptr;         ///< [agents x count x Shape::inputs]
  const float* next = nullptr;                ///< the same
  const std::uint32_t* action = nullptr;      ///< that was taken, below Shape::outputs
  const float* reward = nullptr;              ///< that it brought
  const float* discount = nullptr;            ///< see dqn_experience
  const std::uint32_t* next_legal = nullptr;  ///< nullptr: all actions are legal
};

namespace detail {

template <class Shape, unsigned Rows>
__global__ void record_kernel(const dqn_learner<Shape, Rows> learner, unsigned count, dqn_experiences all) {
  const unsigned a = blockIdx.x * record_warps + threadIdx.x / 32;
  if (a >= learner.agents) return;
  for (unsigned k = 0; k < count; ++k) {
    const std::size_t i = std::size_t{a} * count + k;
    record(learner, a, warp_lanes{},
           {all.observation + i * Shape::inputs, all.next + i * Shape::inputs, all.action[i], all.reward[i],
            all.discount[i], all.next_legal == nullptr ? rl::all_legal : all.next_legal[i]});
  }
}

// What a launch does not do: loads the kernels, and asks for shared memory beyond what every kernel has.
template <class Arithmetic, class Shape, unsigned Rows>
error prepare_update() {
  constexpr std::size_t bytes = sizeof(dqn_tile<Shape, Rows>);
  static_assert(bytes <= 227 * 1024, "dqn_learner: the network is too large for the shared memory of a block");
  cudaFuncAttributes loaded;
  error e = check(cudaFuncGetAttributes(&loaded, step_kernel<Shape, Rows>), "dqn_learner: the kernel of parameters");
  if (e.code == errc::ok)
    e = check(cudaFuncGetAttributes(&loaded, learn_kernel<Arithmetic, Shape, Rows>), "dqn_learner: that of gradients");
  if (e.code == errc::ok && loaded.maxDynamicSharedSizeBytes < static_cast<int>(bytes))
    e = check(cudaFuncSetAttribute(learn_kernel<Arithmetic, Shape, Rows>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(bytes)),
              "dqn_learner: shared memory of a tile");
  return e;
}

template <class Arithmetic, class Shape, unsigned Rows>
error launch_update(const dqn_learner<Shape, Rows>& learner, cudaStream_t stream) {
  const std::size_t blocks = std::size_t{learner.agents} * learner.tiles();
  if (blocks > 0x7fffffff) return {errc::invalid_option, "dqn_learner: more tiles than a grid has blocks"};
  learn_kernel<Arithmetic>
      <<<static_cast<unsigned>(blocks), tile_lanes, sizeof(dqn_tile<Shape, Rows>), stream>>>(learner);
  if (error e = check_launch("dqn_learner: gradients"); e.code != errc::ok) return e;
  step_kernel<<<learner.agents, step_lanes, 0, stream>>>(learner);
  return check_launch("dqn_learner: parameters");
}

}  // namespace detail

/// All agents as they begin, agent a with the parameters at initial + a * stride; with a stride of 0 all start alike.
/// `initial` is memory of the device, until the stream is past the launch. No allocation; asynchronous.
/// Errors  what the launch answers
/// Tests   tests/cuda/device/dqn_learner_test.cu: HasTheBitsOfTheHost
template <class Shape, unsigned Rows>
error start(const dqn_learner<Shape, Rows>& learner, const float* initial, std::size_t stride, cudaStream_t stream) {
  detail::start_kernel<<<learner.agents, 256, 0, stream>>>(learner, initial, stride);
  return check_launch("dqn_learner: start");
}

/// `count` experiences of each agent into its replay, in turn. Their arrays stay until the stream is past the launch.
/// No allocation; asynchronous.
/// Errors  what the launch answers
/// Tests   tests/cuda/device/dqn_learner_test.cu: HasTheBitsOfTheHost
template <class Shape, unsigned Rows>
error record_batch(const dqn_learner<Shape, Rows>& learner, unsigned count, const dqn_experiences& all,
                   cudaStream_t stream) {
  const unsigned blocks = (learner.agents + detail::record_warps - 1) / detail::record_warps;
  detail::record_kernel<<<blocks, 32 * detail::record_warps, 0, stream>>>(learner, count, all);
  return check_launch("dqn_learner: record_batch");
}

/// An update of all agents, in two kernels: a block for each tile of each batch, and then a block for each agent.
///
/// The bits of learn_from_tile() and update_parameters() with the same Arithmetic on the host, tanh apart. The default
/// has half the operations of exact_arithmetic. No allocation; asynchronous; may be captured.
/// Errors  invalid_option: more tiles than a grid has blocks; what the device answers to the launches
/// Tests   tests/cuda/device/dqn_learner_test.cu: HasTheBitsOfTheHost, TanhIsCloseToTheHost, WideNetworksAskForMemory
template <class Arithmetic = fused_arithmetic, class Shape, unsigned Rows>
error update(const dqn_learner<Shape, Rows>& learner, cudaStream_t stream) {
  if (error e = detail::prepare_update<Arithmetic, Shape, Rows>(); e.code != errc::ok) return e;
  return detail::launch_update<Arithmetic>(learner, stream);
}

/// Updates that the device replays alone. Owns a cudaGraphExec_t.
/// Tests   tests/cuda/device/dqn_learner_test.cu: GraphEqualsLaunches
class updates_graph {
 public:
  updates_graph() = default;
  /// Takes over what it is given; nullptr: none.
  explicit updates_graph(cudaGraphExec_t owned) noexcept : graph_{owned} {}
  /// Leaves the other one without a graph.
  updates_graph(updates_graph&& other) noexcept : graph_{std::exchange(other.graph_, nullptr)} {}
  /// The other one gets, and destroys, what this one had.
  updates_graph& operator=(updates_graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~updates_graph() {
    if (graph_ != nullptr) static_cast<void>(cudaGraphExecDestroy(graph_));  // there is nobody to tell
  }

  /// Replays the updates. Asynchronous.
  /// Errors  what the launch answers
  [[nodiscard]] error launch(cudaStream_t stream) const {
    return check(cudaGraphLaunch(graph_, stream), "updates_graph: launch");
  }
  [[nodiscard]] cudaGraphExec_t get() const noexcept { return graph_; }  ///< still owned; nullptr: none

 private:
  cudaGraphExec_t graph_ = nullptr;
};

/// `count` updates of all agents as one graph, of use for as long as the learner's memory stays: one launch, and no
/// work of the host between the updates. Captures `stream`, on which nothing is started meanwhile.
///
/// Errors  invalid_option: count is 0; what the device answers, above all of a stream that cannot be captured, as the
///         default stream cannot
/// Cost    allocates the graph, in memory of the runtime.
/// Tests   tests/cuda/device/dqn_learner_test.cu: GraphEqualsLaunches, DefaultStreamIsNotCaptured
template <class Arithmetic = fused_arithmetic, class Shape, unsigned Rows>
result<updates_graph> capture_updates(const dqn_learner<Shape, Rows>& learner, unsigned count, cudaStream_t stream) {
  if (count == 0) return error{errc::invalid_option, "capture_updates: count: found 0, expected at least 1"};
  error first = detail::prepare_update<Arithmetic, Shape, Rows>();
  if (first.code == errc::ok)
    first = check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture_updates: begin");
  if (first.code != errc::ok) return first;
  for (unsigned i = 0; i < count && first.code == errc::ok; ++i)
    first = detail::launch_update<Arithmetic>(learner, stream);
  cudaGraph_t graph = nullptr;
  const error ended = check(cudaStreamEndCapture(stream, &graph), "capture_updates: end");  // also after an error
  if (first.code == errc::ok) first = ended;
  cudaGraphExec_t executable = nullptr;
  if (first.code == errc::ok)
    first = check(cudaGraphInstantiate(&executable, graph, 0), "capture_updates: instantiate");
  updates_graph made{executable};
  if (graph != nullptr)
    if (const error e = check(cudaGraphDestroy(graph), "capture_updates: destroy"); first.code == errc::ok) first = e;
  if (first.code != errc::ok) return first;
  return result<updates_graph>{std::move(made)};
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
