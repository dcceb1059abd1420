#ifndef RUBATO_CUDA_SWITCH_GRAPH_CUH
#define RUBATO_CUDA_SWITCH_GRAPH_CUH

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <span>

#include "decide_kernel.cuh"
#include "error.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// What a decide kernel does with its record here: sets the condition of a SWITCH node to the action, see add_switch().
struct switch_choice {
  cudaGraphConditionalHandle handle{};  ///< of the condition that the SWITCH node goes by

  /// By all lanes, of which one sets it.
  template <std::uint32_t Capacity, class Shape, Lanes L>
  __device__ void operator()(const decision_record<Capacity>& record, const controller_state<Capacity, Shape>&,
                             const L& lanes) const noexcept {
    if (lanes.index() == 0) cudaGraphSetConditional(handle, static_cast<unsigned>(record.action));
  }
};

namespace detail {

inline cudaError_t add_node(cudaGraphNode_t& node, cudaGraph_t graph, std::span<const cudaGraphNode_t> after,
                            cudaGraphNodeParams& what) {
#if CUDART_VERSION >= 13000
  return cudaGraphAddNode(&node, graph, after.data(), nullptr, after.size(), &what);
#else
  return cudaGraphAddNode(&node, graph, after.data(), after.size(), &what);
#endif
}

}  // namespace detail

/// A decision and what it chooses, as nodes of a graph.
struct switch_nodes {
  cudaGraphNode_t decision{};           ///< the kernel that decides
  cudaGraphNode_t choice{};             ///< the SWITCH node, which comes after it
  std::array<cudaGraph_t, 4> bodies{};  ///< by release_action; the caller fills them, owned by the graph
};

/// Adds a decision to a graph, and a SWITCH node over its action: hold, submitter, all, some. The caller puts into each
/// body what goes on then, for instance the next step of the submitter; kernels, copies, memsets, child graphs and
/// further conditional nodes are allowed there, all of one context, and an empty body is none. Then the graph is
/// instantiated and launched as usual; each launch reads the request anew.
///
/// CUDA's rules for a graph with such a node: it cannot be a child of another graph, nor be cloned, and there is one
/// instantiation of it at a time: destroy that before the next. Work that several streams are to do goes into several
/// graphs.
///
/// Pointers as of launch_decide. Needs waiting_capabilities::has_switch.
/// Errors  what the runtime answers; the graph is then to be thrown away
/// Tests   tests/cuda/device/switch_graph_test.cu: AGraphDoesWhatIsDecided
template <std::uint32_t Capacity, class Shape>
result<switch_nodes> add_switch(cudaGraph_t graph, std::span<const cudaGraphNode_t> after,
                                controller_state<Capacity, Shape>* state, const request* what, time_of clock,
                                decision_record<Capacity>* record) {
  switch_nodes nodes;
  switch_choice choice;
  if (error e = check(cudaGraphConditionalHandleCreate(&choice.handle, graph, 0, cudaGraphCondAssignDefault),
                      "add_switch: handle");
      e.code != errc::ok)
    return e;

  void* arguments[] = {&state, &what, &clock, &record, &choice};
  cudaGraphNodeParams decide{};
  decide.type = cudaGraphNodeTypeKernel;
  decide.kernel.func = reinterpret_cast<void*>(&detail::decide_kernel<Capacity, Shape, switch_choice>);
  decide.kernel.gridDim = dim3{1, 1, 1};
  decide.kernel.blockDim = dim3{detail::decide_threads, 1, 1};
  decide.kernel.kernelParams = arguments;
  if (error e = check(detail::add_node(nodes.decision, graph, after, decide), "add_switch: decision");
      e.code != errc::ok)
    return e;

  cudaGraphNodeParams switches{};
  switches.type = cudaGraphNodeTypeConditional;
  switches.conditional.handle = choice.handle;
  switches.conditional.type = cudaGraphCondTypeSwitch;
  switches.conditional.size = static_cast<unsigned>(nodes.bodies.size());
  if (error e = check(detail::add_node(nodes.choice, graph, {&nodes.decision, 1}, switches), "add_switch: choice");
      e.code != errc::ok)
    return e;
  for (std::size_t i = 0; i < nodes.bodies.size(); ++i) nodes.bodies[i] = switches.conditional.phGraph_out[i];
  return nodes;
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
