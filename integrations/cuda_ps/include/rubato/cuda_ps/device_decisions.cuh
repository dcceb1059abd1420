#ifndef RUBATO_CUDA_PS_DEVICE_DECISIONS_CUH
#define RUBATO_CUDA_PS_DEVICE_DECISIONS_CUH

#include <cstdint>
#include <rubato/cuda/controller.cuh>
#include <type_traits>

#include "round_book.cuh"

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// What decisions on the device go by: the controller, the book of the open round, and which version each worker has.
/// Trivially copyable; one object in memory of the device, staged in shared memory for each decision.
template <std::uint32_t Capacity, class Shape = cuda::q_shape>
struct device_decisions {
  static_assert(Capacity < max_workers, "device_decisions: at most 63 workers, the last bit is that of snapshots");
  cuda::controller_state<Capacity, Shape> controller{};  ///< its policy, guard and workers are set before the start
  cuda::decision_record<Capacity> record{};              ///< the latest
  round_book book{};                                     ///< makes orders of the latest decision
  std::uint64_t version_read[Capacity] = {};             ///< updates in the parameters that each worker was given last
};
static_assert(std::is_trivially_copyable_v<device_decisions<8>> && alignof(device_decisions<8>) == 8);

/// Tells the controller of a request, and stages in the book the orders that follow from it: those that host_decisions
/// makes of the same requests, for samples of nominal number. `slot`: where the gradient of a push lies. One order more
/// than there: of a worker that leaves or dies the gradient that waits joins the accumulator, since its stream may have
/// been given further steps, which run out into the slots.
///
/// As cuda::decide(): everything is seen by all lanes; ends with a sync.
/// Tests   tests/integrations/cuda_ps/device_decisions_test.cpp: OrdersAreThoseOfTheHost, SwitchesAsTheHost,
///         TheGradientOfADeadWorkerIsRefused, TheSlotsOfADeadWorkerAreCleared, AnyNumberOfLanesDecidesTheSame
template <std::uint32_t Capacity, class Shape, cuda::Lanes L>
RUBATO_DETAIL_SHARED void decide_orders(device_decisions<Capacity, Shape>& all, cuda::request what, std::uint32_t slot,
                                        const L& lanes, cuda::decide_workspace<Shape>& space) noexcept {
  const bool is_push = what.what == cuda::request::kind::push && what.worker < Capacity;
  if (is_push) what.read = all.version_read[what.worker];
  cuda::decide(all.controller, what, lanes, space, all.record);
  if (lanes.index() == 0) {
    const cuda::decision_record<Capacity>& said = all.record;
    all.book.begin();
    const bool departs = what.what == cuda::request::kind::depart && what.why != cause::done;
    if (departs && what.worker < Capacity) all.book.clear_slot(what.worker);
    if (is_push && said.what < verdict::repeated)
      all.book.admit(
          said.what, what.worker, slot,
          gradient_note{
              .version_read = what.read, .step = static_cast<std::uint32_t>(what.step), .weight = said.weight});
    if (said.flushes) all.book.flush(said.flush_scale);
    if (said.discards) all.book.discard();
    std::uint64_t released = 0;
    for (std::uint32_t i = 0; i < said.released; ++i) {
      released |= std::uint64_t{1} << said.release[i];
      all.version_read[said.release[i]] = all.book.version();
    }
    all.book.finish(released);
  }
  lanes.sync();
}

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
