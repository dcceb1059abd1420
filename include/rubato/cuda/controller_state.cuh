#ifndef RUBATO_CUDA_CONTROLLER_STATE_CUH
#define RUBATO_CUDA_CONTROLLER_STATE_CUH

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "../core/admission.hpp"
#include "../core/event.hpp"
#include "../core/roster.hpp"
#include "../core/types.hpp"
#include "../encode/rlp_state.hpp"
#include "../sync/knee_finder.hpp"
#include "../sync/options.hpp"
#include "network.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

namespace detail {
inline constexpr double never = std::numeric_limits<double>::infinity();
}  // namespace detail

/// The rules that a controller on the device knows.
enum class rule : std::uint8_t {
  bsp,     ///< a barrier: nobody goes on before all have pushed
  ssp,     ///< nobody starts more than `staleness` steps ahead of the slowest
  asp,     ///< nobody waits
  k_sync,  ///< the first `k` gradients of a round make the update, the other workers are cancelled
  knee,    ///< as many workers run as raise the throughput noticeably
  learned  ///< a network values the answers, the legal one of highest value is taken
};

/// The network of the learned rule, unless another shape is asked for: rlp_state's 40 numbers in, the values of hold,
/// submitter and all out.
using q_shape = mlp_shape<40, 64, 32, 3>;

/// A policy as plain data: which rule, and its options. Those of other rules have no effect.
///
///     auto policy = cuda::device_policy<>::ssp(3);
///
/// Trivially copyable, an argument of kernels. problem(policy, workers) says what is wrong with it.
/// Tests   tests/cuda/controller_test.cpp: SaysWhatIsWrongWithAPolicy
template <class Shape = q_shape>
struct device_policy {
  static_assert(Shape::inputs == rlp_state::dim && Shape::outputs == 3,
                "device_policy: the network of the learned rule has 40 inputs and 3 outputs");

  rule kind = rule::asp;              ///< says which of the options count
  bool sums = false;                  ///< bsp: gradients are applied on arrival, see bsp::sum
  rlp_scale inputs = rlp_scale::raw;  ///< learned: rlp_state, or rlp_normalised_state
  std::uint32_t k = 1;                ///< k_sync
  clock_type staleness = 3;           ///< ssp
  float threshold = 0.3F;             ///< knee, as are the next two
  bool scales_rate = true;     ///< a larger learning rate where fewer run, by sqrt(alive / parallelism), at most 2
  float most_scatter = 0.25F;  ///< of step times, above which everybody runs; above 0
  network<Shape> values{};     ///< learned
  const double* statistics = nullptr;  ///< learned: see statistics_of(); null: the inputs are not scaled
  double max_idle = detail::never;     ///< learned, see q_policy_options

  /// rubato::bsp; with `sums` gradients are applied on arrival, without they wait for the round's end.
  [[nodiscard]] static device_policy bsp(bool sums = false) noexcept {
    device_policy p;
    p.kind = rule::bsp, p.sums = sums;
    return p;
  }
  /// rubato::ssp. `staleness`: steps that a starting worker may be ahead of the slowest.
  [[nodiscard]] static device_policy ssp(clock_type staleness) noexcept {
    device_policy p;
    p.kind = rule::ssp, p.staleness = staleness;
    return p;
  }
  [[nodiscard]] static device_policy asp() noexcept { return {}; }  ///< rubato::asp
  /// rubato::k_sync. `k`: gradients of a round, 1 to the number of workers.
  [[nodiscard]] static device_policy k_sync(std::uint32_t k) noexcept {
    device_policy p;
    p.kind = rule::k_sync, p.k = k;
    return p;
  }
  /// rubato::knee with its default options.
  [[nodiscard]] static device_policy knee() noexcept {
    device_policy p;
    p.kind = rule::knee;
    return p;
  }
  /// rubato::q_policy: `values` is read on the device, so that its parameters are memory of the device, or mapped.
  [[nodiscard]] static device_policy learned(const network<Shape>& values, rlp_scale inputs = rlp_scale::raw) noexcept {
    device_policy p;
    p.kind = rule::learned, p.values = values, p.inputs = inputs;
    return p;
  }
};

/// Something that a controller is told. Times are in any unit, the same in all calls; the controller has no clock.
///
/// Trivially copyable. Which fields count:
///     start    now, worker: workers 0 to this one join at once; no_worker: all
///     push     worker, now, and where known loss, grad_norm, step, read (as in push_event)
///     join     worker, now: one that has gone comes back, or comes late
///     depart   worker, now, why: leave, death or done
///     poll     now: the policy's deadline may be over, see decision_record::wake_at
///     change   now, policy (memory that the device reads), pending: another policy is put in charge
struct request {
  /// What has happened; which fields count with it is said above.
  enum class kind : std::uint8_t { start, push, join, depart, poll, change };
  kind what = kind::push;                                ///< that has happened
  cause why = cause::death;                              ///< depart: leave, death or done
  pending_gradients pending = pending_gradients::flush;  ///< change: what becomes of the open round
  std::uint32_t worker = no_worker;                      ///< whom it is about
  double now = 0.0;                                      ///< a time before the latest one counts as that
  float loss = 0.0F;               ///< push: a gradient whose loss is not finite is dropped; 0: not known
  float grad_norm = 0.0F;          ///< push: as the loss
  std::uint64_t step = 0;          ///< push: the worker's own number of it, from 1, which comes once; 0: not known
  std::uint64_t read = unbounded;  ///< the lowest version that the worker read; unbounded: that of its grant
  const void* policy = nullptr;    ///< a device_policy of the controller's shape
};

/// Who goes on, in one word: what a SWITCH node chooses by. `some` is anything else, cancellations included.
enum class release_action : std::uint8_t {
  hold,       ///< nobody
  submitter,  ///< the worker of the request, and no other
  all,        ///< whoever was parked
  some        ///< see the record
};

/// What a controller says to one request. Whoever carries it out does so in this order: the gradient, the round, the
/// cancellations, the releases. Releases are not to be seen by workers before parameters have been written.
///
///     apply        parameters -= rate x weight x gradient
///     accumulate   sum        += weight x gradient
///     flushes      parameters -= rate x flush_scale x sum;  sum = 0
///     discards     sum = 0
template <std::uint32_t Capacity>
struct decision_record {
  std::uint32_t worker = no_worker;              ///< of the request
  verdict what = verdict::drop;                  ///< of a push; `repeated` and `refused`: nothing is to be done at all
  reason why = reason::none;                     ///< of a drop or refusal
  release_action action = release_action::hold;  ///< who goes on, in one word; without the lists
  bool flushes = false;                          ///< the open round ends as one update
  bool discards = false;                         ///< the open round ends without one
  bool is_degraded = false;                      ///< the rule had fewer workers than its options need
  float weight = 1.0F;                   ///< on the gradient: the factor of the grant that it was computed under
  float flush_scale = 0.0F;              ///< already divided by `adds`
  std::uint32_t adds = 0;                ///< gradients in the round that ends
  std::uint64_t staleness = 0;           ///< of a push
  std::uint64_t version = 0;             ///< afterwards: that of the grants of the released
  double wake_at = detail::never;        ///< when poll is asked for; infinity: never
  std::uint32_t released = 0;            ///< so many of release[], in the order of their release
  std::uint32_t cancelled = 0;           ///< so many of cancel[]: running steps whose gradients will be dropped
  std::uint32_t release[Capacity] = {};  ///< workers that go on
  std::uint32_t cancel[Capacity] = {};   ///< workers whose steps are in vain
};

/// How many words of four bytes of a record are in use, from the first on: what has to be sent to whoever reads it.
/// Tests   tests/cuda/mailbox_test.cpp: DecidesForAHost; tests/cuda/controller_test.cpp: WordsOfARecord
template <std::uint32_t Capacity>
[[nodiscard]] RUBATO_DETAIL_SHARED std::size_t words_of(const decision_record<Capacity>& record) noexcept {
  constexpr std::size_t lists = 2 * sizeof(record.release) / 4;
  const std::size_t head = sizeof(record) / 4 - lists;
  return record.cancelled == 0 ? head + record.released : head + lists / 2 + record.cancelled;
}

namespace detail {

inline constexpr std::uint32_t reasons = static_cast<std::uint32_t>(reason::count_);

/// What rlp_state remembers of losses.
struct loss_memory {
  double first = 0.0, loss = 0.0, squares = 0.0;  // squares: sum, of their changes
  std::uint64_t measured = 0;
};

/// What the learned rule remembers: the numbers of rlp_state, and those of q_policy.
struct learned_memory {
  float numbers[rlp_state::dim] = {};  // a ring of ten pushes, four numbers each
  std::uint32_t latest = 0;            // push in it
  bool started = false;
  std::uint64_t pushes = 0;
  loss_memory losses{};
  double now = 0.0, waited = 0.0;
  std::uint64_t forced = 0, undecided = 0;
};

template <std::uint32_t Capacity, class Shape>
class state_view;

/// What knee's finder keeps its notes in, in place of a dynarray.
template <std::uint32_t Capacity>
struct knee_notes {
  rubato::detail::knee_note notes[Capacity] = {};

  knee_notes() = default;
  explicit knee_notes(std::uint32_t) noexcept {}
  [[nodiscard]] RUBATO_DETAIL_SHARED static std::uint32_t size() noexcept { return Capacity; }
  [[nodiscard]] RUBATO_DETAIL_SHARED rubato::detail::knee_note& operator[](std::uint32_t w) noexcept {
    return notes[w];
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED rubato::detail::knee_note* begin() noexcept { return notes; }
  [[nodiscard]] RUBATO_DETAIL_SHARED rubato::detail::knee_note* end() noexcept { return notes + Capacity; }
};

}  // namespace detail

/// All that a controller on the device knows, for up to Capacity workers: memory for one object, on the device, that
/// the caller clears or fills with controller_state{}, and starts with a request of kind start.
///
/// Trivially copyable, so that it can be copied to the host to be looked at, staged in shared memory, or saved.
/// Everything is indexed by worker. Hosts read: clock, minimum, version, updates, counted, lr_scale, granted_version,
/// releases, where, policy. Memory: about 110 bytes a worker, and 1 KiB.
template <std::uint32_t Capacity, class Shape = q_shape>
struct controller_state {
  static_assert(Capacity >= 1 && Capacity <= 1024, "controller_state: 1 to 1024 workers");
  using shape = Shape;                                 ///< of the learned rule's network
  static constexpr std::uint32_t capacity = Capacity;  ///< workers that there is room for

  device_policy<Shape> policy{};     ///< in charge: set before the start, later by requests of kind change
  guard_options guard{};             ///< set before the start
  std::uint32_t workers = Capacity;  ///< that there are; at most Capacity

  clock_type clock[Capacity] = {};  ///< pushes of each worker; moved where it joins, and at a change of the policy
  std::uint64_t granted_version[Capacity] = {};  ///< updates that were in at the latest grant
  std::uint64_t highest_step[Capacity] = {};     ///< of the pushes that name their step; 0: none did
  double granted_at[Capacity] = {};              ///< time of the latest grant
  double parked_at[Capacity] = {};               ///< time from which on it has been waiting, if it is in `order`
  float lr_scale[Capacity] = {};                 ///< of the grant
  float step_time[Capacity] = {};                ///< of the latest step; 0: none yet
  float smoothed_step_time[Capacity] = {};       ///< moving average of step times, the latest with 0.2; 0: none yet
  std::uint64_t arrival[Capacity] = {};          ///< numbers those who come to a clock
  std::uint64_t start_order[Capacity] = {};  ///< numbers those who start: of equal versions the higher started later
  std::uint32_t order[Capacity] = {};        ///< the parked, longest first
  std::uint32_t releases[Capacity] = {};     ///< how often it was let go: what its release word says, see waiting.cuh
  worker_state where[Capacity] = {};         ///< absent, running, parked, left, done or dead
  reason doomed[Capacity] = {};       ///< why the gradient of the present step will be dropped; none: it will not
  std::uint8_t speed[Capacity] = {};  ///< class of the smoothed step time, see speed_classes
  bool linked[Capacity] = {};         ///< whether it is in `order`
  bool withheld[Capacity] = {};       ///< parked only because of the bound

  std::uint32_t counted[detail::reasons] = {};  ///< by reason, as counters::total
  std::uint64_t version = 0;                    ///< updates that are in
  std::uint64_t updates = 0;                    ///< updates decided
  std::uint64_t round = 0;                      ///< that is open
  std::uint32_t adds = 0;                       ///< gradients in it
  std::uint32_t alive = 0;                      ///< members: running or parked
  std::uint32_t running = 0;                    ///< members in a step, cancelled ones among them
  std::uint32_t parked = 0;                     ///< in `order`
  std::uint64_t arrivals = 0;                   ///< the latest number in `arrival`
  std::uint64_t starts = 0;                     ///< the latest number in `start_order`
  clock_type minimum = 0;                       ///< of the members' clocks, 0 if there are none
  std::uint32_t at_minimum = 0;                 ///< members whose clock is the minimum
  clock_type asked_minimum = 0;                 ///< the minimum when the rule was asked last
  clock_type asked_bound = 0;                   ///< the rule's bound then
  double now = -detail::never;     ///< the latest time of a request, which never goes back; -infinity: none yet
  double wake_at = detail::never;  ///< when the rule wants a poll; infinity: never
  std::uint64_t epoch = 0;         ///< of its clock in nanoseconds, see seconds_at(); 0: nothing has been timed by one
  bool started = false;            ///< by a start, or by the first who joins
  bool may_cancel = true;  ///< a gradient was of use since the latest cancellation: the guard lets the next one pass
  bool withholds = false;  ///< somebody is parked whom only the bound keeps from going
  bool orders_starts = false;        ///< from the first cancellation on
  detail::learned_memory learned{};  ///< what the learned rule remembers
  /// What knee remembers.
  rubato::detail::basic_knee_finder<detail::state_view<Capacity, Shape>, detail::knee_notes<Capacity>> knee{};
};

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
