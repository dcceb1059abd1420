#ifndef RUBATO_CUDA_CONTROLLER_CUH
#define RUBATO_CUDA_CONTROLLER_CUH

#include <cstddef>
#include <cstdint>
#include <string>

#include "../sync/knee.hpp"
#include "controller_state.cuh"
#include "decider.cuh"
#include "lanes.cuh"
#include "learned_decision.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// What is wrong with a policy for so many workers, as a sentence; empty if nothing is. For the host, before the policy
/// goes to the device, where nobody checks it.
/// Tests   tests/cuda/controller_test.cpp: SaysWhatIsWrongWithAPolicy
template <class Shape>
[[nodiscard]] std::string problem(const device_policy<Shape>& policy, std::uint32_t workers) {
  switch (policy.kind) {
    case rule::k_sync:
      if (policy.k >= 1 && policy.k <= workers) return {};
      return "k is " + std::to_string(policy.k) + ", expected 1 to the number of workers, " + std::to_string(workers);
    case rule::learned:
      if (policy.values.parameters == nullptr) return "values.parameters is null, expected those of a network";
      return policy.max_idle > 0 ? std::string{} : "max_idle: expected a number of steps above 0";
    case rule::knee: {
      rubato::knee host;
      host.threshold = policy.threshold, host.most_scatter = policy.most_scatter;
      return host.problem(workers);
    }
    case rule::bsp:
    case rule::ssp:
    case rule::asp:
      return {};
    default:
      return "kind is " + std::to_string(static_cast<int>(policy.kind)) + ", expected a rule";
  }
}

/// What decide() needs besides the state: 288 numbers that all lanes see, in shared memory.
template <class Shape = q_shape>
struct decide_workspace {
  float inputs[Shape::inputs];
  float scratch[evaluate_scratch<Shape>];
  float values[Shape::outputs];
  bool asks_network;
};

/// Tells the controller of a request, and says what is to be done: the decisions of rubato's controller on the host,
/// of which a push is push(), so that no gradient is ever between its admission and its commit. On the device knee and
/// rlp_normalised_state take logarithms and exponentials from there, whose last bit may be another one than the host's;
/// all else has the host's bits.
///
///     __shared__ cuda::decide_workspace<> space;
///     cuda::decide(*state, {.worker = w, .now = now, .loss = loss}, cuda::warp_lanes{}, space, *record);
///
/// `state`, `space` and `record` are seen by all lanes; ends with a sync. Left to the host: incarnations (a worker that
/// was away joins again), pulls, tickets, per-worker counts, exclusion, releases in portions.
///
/// Cost    one lane decides, in some 10 to 20 accesses to `state` and as many per released worker; O(workers) when the
///         slowest worker advances. All lanes value the inputs of the learned rule: 4 800 products with q_shape.
/// Thread  one decide() at a time per state.
/// Errors  in the record: verdict::refused, with the reason, where the host refuses; nothing has changed then, but for
///         the count of that reason.
/// Tests   tests/cuda/controller_test.cpp: DecidesAsTheHost, SwitchesAsTheHost, WorkersComeAndGoAsAtTheHost,
///         GuardsAsTheHost, DecidesAsARecordedLog, RefusesAsTheHost, AnyNumberOfLanesDecidesTheSame
///         tests/cuda/device/controller_test.cu: DecidesAsTheHost
template <std::uint32_t Capacity, class Shape, Lanes L>
RUBATO_DETAIL_SHARED void decide(controller_state<Capacity, Shape>& state, const request& what, const L& lanes,
                                 decide_workspace<Shape>& space, decision_record<Capacity>& record) noexcept {
  detail::decider<Capacity, Shape> deciding{state, record};
  if (lanes.index() == 0) space.asks_network = deciding.begin(what);
  lanes.sync();
  if (space.asks_network) {
    for (std::size_t i = lanes.index(); i < Shape::inputs; i += lanes.count())
      space.inputs[i] = detail::input(state.learned, state.policy, state.alive, i);
    lanes.sync();
    evaluate(state.policy.values, lanes, space.inputs, space.scratch, space.values);
  }
  if (lanes.index() == 0) deciding.finish(space.values);
  lanes.sync();
}

/// Copies what is trivially copyable and aligned to eight bytes, by all lanes; ends with a sync. For a state that is to
/// be decided on in shared memory, and for records.
/// Tests   tests/cuda/controller_test.cpp: AnyNumberOfLanesDecidesTheSame
template <class T, Lanes L>
RUBATO_DETAIL_SHARED void copy_over_lanes(const L& lanes, const T& from, T& to) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) == 8);
  const auto* const source = reinterpret_cast<const char*>(&from);
  auto* const target = reinterpret_cast<char*>(&to);
  for (std::size_t i = lanes.index() * std::size_t{8}; i < sizeof(T); i += lanes.count() * std::size_t{8})
    __builtin_memcpy(__builtin_assume_aligned(target + i, 8), __builtin_assume_aligned(source + i, 8), 8);
  lanes.sync();
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
