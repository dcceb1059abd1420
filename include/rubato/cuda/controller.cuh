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
#include "staged.cuh"

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

/// What decide() needs besides the state: 688 bytes with q_shape that all lanes see, in shared memory.
template <class Shape = q_shape>
struct decide_workspace {
  float inputs[Shape::inputs];             ///< of the learned rule's network
  float scratch[evaluate_scratch<Shape>];  ///< of evaluate()
  float values[Shape::outputs];            ///< of hold, submitter and all
  bool asks_network;                       ///< whether this request wants the network's values
};

/// Tells the controller of a request, and says what is to be done: the decisions of rubato's controller on the host,
/// of which a push is push(), so that no gradient is ever between its admission and its commit. On the device knee and
/// rlp_normalised_state take logarithms and exponentials from there, whose last bit may be another one than the host's,
/// and nvcc fuses knee's products into its sums; all else has the host's bits, with --use_fast_math too unless a number
/// is denormal.
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
///         tests/cuda/device/controller_test.cu: DecidesAsTheHost, RunsSomebody
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

/// A time for this state by a clock of nanoseconds, such as the device's: seconds since its first request that was
/// timed so, which the state remembers. In seconds since 1970 a double would have steps of 238 ns. One call at a time
/// per state.
/// Tests   tests/cuda/controller_test.cpp: TellsNanosecondsApart;
///         tests/cuda/device/controller_test.cu: KeepsTimeByTheDevice
template <std::uint32_t Capacity, class Shape>
[[nodiscard]] RUBATO_DETAIL_SHARED double seconds_at(controller_state<Capacity, Shape>& state,
                                                     std::uint64_t nanoseconds) noexcept {
  if (state.epoch == 0) state.epoch = nanoseconds;
  return 1e-9 * static_cast<double>(static_cast<std::int64_t>(nanoseconds - state.epoch));
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
