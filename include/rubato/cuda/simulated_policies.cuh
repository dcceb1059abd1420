#ifndef RUBATO_CUDA_SIMULATED_POLICIES_CUH
#define RUBATO_CUDA_SIMULATED_POLICIES_CUH

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "../encode/rlp_state.hpp"
#include "draws.cuh"
#include "lanes.cuh"
#include "learned_decision.cuh"
#include "network.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// What a policy sees of a simulated cluster when a push has been handled.
struct simulated_push {
  std::uint32_t worker = 0;     ///< whose push it is
  std::uint32_t workers = 0;    ///< of the cluster
  std::uint32_t running = 0;    ///< in a step, or cancelled and not yet heard of
  std::uint32_t parked = 0;     ///< the submitter counted
  std::uint32_t clock = 0;      ///< of the submitter, after this push
  std::uint32_t minimum = 0;    ///< of all clocks
  std::uint32_t added = 0;      ///< gradients in the open round
  std::uint32_t staleness = 0;  ///< updates since its grant, without its own
  std::uint32_t pushes = 0;     ///< so far, this one counted
  double now = 0;               ///< of the push; units of time
  float loss = 0;               ///< average of the workers' losses
  bool pending = false;         ///< its gradient waits in the open round
  bool dropped = false;         ///< not finite, or cancelled
};

/// What becomes of a gradient.
enum class simulated_use : std::uint8_t {
  apply,    ///< at once
  add,      ///< to the open round
  complete  ///< to the open round, which is flushed: one update by the mean
};

/// Who may run next.
enum class simulated_verb : std::uint8_t {
  hold,        ///< nobody
  submitter,   ///< whoever pushed
  all,         ///< whoever is parked
  up_to_clock  ///< of the parked who has made at most so many pushes
};

/// What a policy answers to a push.
struct simulated_decision {
  simulated_verb verb = simulated_verb::hold;  ///< which of the parked start
  std::uint32_t clock = 0;                     ///< of up_to_clock
  bool flushes = false;                        ///< the open round, before anybody starts
  bool cancels = false;                        ///< all who run: they push at once, and what they push is dropped
};

// A policy of simulated clusters: plain data, an argument of kernels, with
//
//   state                      what it remembers of a run, one in each lane, all the same
//   memory                     what its lanes share
//   use(workers, added)        of a gradient that is not dropped, where so many are in the open round
//   decide(lanes, push, state, memory)  who starts; the same in all lanes. Ends with a sync if it writes memory
//
// All workers start at time 0. A worker whose gradient is in the open round must not start before the flush: there is
// room for one gradient a worker. Somebody must run after each push, or the run ends as stalled.
// Tests   tests/cuda/simulated_cluster_test.cpp: AgreesWithTheHost

namespace detail {

struct nothing {};

// cuda::evaluate, with its bits, for few lanes: each has eight outputs under way, which wait for an input together and
// not for each other. Against one output at a time that is eight loads of weights for one of an input, not for eight.
template <std::size_t Layer = 0, class Shape, Lanes L>
RUBATO_DETAIL_SHARED void evaluate_by_few(const network<Shape>& net, const L& lanes, const float* in, float* scratch,
                                          float* out) noexcept {
  constexpr unsigned inputs = Shape::width(Layer), outputs = Shape::width(Layer + 1), together = 8;
  const float* const weight = net.parameters + Shape::weight(Layer);
  const float* const bias = net.parameters + Shape::bias(Layer);
  float* const to = Layer + 1 == Shape::layers ? out : scratch + Layer % 2 * Shape::widest_hidden;
  for (unsigned base = 0; base < outputs; base += together * lanes.count()) {  // once, if the count is known and 8
    const unsigned first = base + lanes.index();
    float sum[together];
    for (unsigned j = 0; j < together; ++j)
      if (const unsigned o = first + j * lanes.count(); o < outputs) sum[j] = bias[o];
    for (unsigned i = inputs; i-- > 0;)
      for (unsigned j = 0; j < together; ++j)
        if (const unsigned o = first + j * lanes.count(); o < outputs)
          sum[j] = exact_arithmetic::plus_product(sum[j], in[i], weight[i * outputs + o]);
    for (unsigned j = 0; j < together; ++j)
      if (const unsigned o = first + j * lanes.count(); o < outputs) to[o] = activate(net.ending_of(Layer), sum[j]);
  }
  lanes.sync();
  if constexpr (Layer + 1 < Shape::layers) evaluate_by_few<Layer + 1>(net, lanes, to, scratch, out);
}

}  // namespace detail

/// rubato::bsp.
struct simulated_bsp {
  using state = detail::nothing;   ///< it remembers nothing
  using memory = detail::nothing;  ///< and its lanes share nothing
  bool sums = false;               ///< bsp::sum: gradients are applied on arrival

  /// At once with `sums`; else to the round.
  [[nodiscard]] RUBATO_DETAIL_SHARED simulated_use use(std::uint32_t, std::uint32_t) const noexcept {
    return sums ? simulated_use::apply : simulated_use::add;
  }
  /// Nobody while somebody runs; then the round is flushed, and all start.
  template <Lanes L>
  [[nodiscard]] RUBATO_DETAIL_SHARED simulated_decision decide(const L&, const simulated_push& push, state&,
                                                               memory&) const noexcept {
    if (push.running > 0) return {};
    return {.verb = simulated_verb::all, .flushes = true};
  }
};

/// rubato::ssp.
struct simulated_ssp {
  using state = detail::nothing;   ///< it remembers nothing
  using memory = detail::nothing;  ///< and its lanes share nothing
  std::uint32_t staleness = 3;     ///< steps

  /// At once.
  [[nodiscard]] RUBATO_DETAIL_SHARED simulated_use use(std::uint32_t, std::uint32_t) const noexcept {
    return simulated_use::apply;
  }
  /// All who are at most `staleness` steps ahead of the slowest.
  template <Lanes L>
  [[nodiscard]] RUBATO_DETAIL_SHARED simulated_decision decide(const L&, const simulated_push& push, state&,
                                                               memory&) const noexcept {
    const std::uint32_t most = push.minimum + staleness;
    return {.verb = simulated_verb::up_to_clock, .clock = most < staleness ? 0xffff'ffffU : most};
  }
};

/// rubato::asp.
struct simulated_asp {
  using state = detail::nothing;   ///< it remembers nothing
  using memory = detail::nothing;  ///< and its lanes share nothing

  /// At once.
  [[nodiscard]] RUBATO_DETAIL_SHARED simulated_use use(std::uint32_t, std::uint32_t) const noexcept {
    return simulated_use::apply;
  }
  /// Whoever pushed.
  template <Lanes L>
  [[nodiscard]] RUBATO_DETAIL_SHARED simulated_decision decide(const L&, const simulated_push&, state&,
                                                               memory&) const noexcept {
    return {.verb = simulated_verb::submitter};
  }
};

/// rubato::k_sync: the first k gradients of a round make the update, the other workers are cancelled.
struct simulated_k_sync {
  using state = detail::nothing;   ///< it remembers nothing
  using memory = detail::nothing;  ///< and its lanes share nothing
  std::uint32_t k = 1;             ///< gradients of a round; 1 to the number of workers

  /// To the round, which k gradients complete, or as many as there are workers.
  [[nodiscard]] RUBATO_DETAIL_SHARED simulated_use use(std::uint32_t workers, std::uint32_t added) const noexcept {
    return added + 1 >= (k < workers ? k : workers) ? simulated_use::complete : simulated_use::add;
  }
  /// Where the round is empty all; after a flush whoever runs is cancelled. Else nobody, but whoever pushed in vain.
  template <Lanes L>
  [[nodiscard]] RUBATO_DETAIL_SHARED simulated_decision decide(const L&, const simulated_push& push, state&,
                                                               memory&) const noexcept {
    if (push.added == 0) return {.verb = simulated_verb::all, .cancels = !push.dropped};
    return {.verb = push.pending ? simulated_verb::hold : simulated_verb::submitter};
  }
};

/// rubato::q_policy over rlp_state, or rlp_normalised_state, without scaling and without max_idle: the legal action of
/// highest value. Exact arithmetic; the network's endings are those of the host's.
///
///     cuda::simulated_q<cuda::mlp_shape<40, 64, 32, 3>> policy{{parameters, hidden, output}};
///
/// With raw inputs and without tanh it decides what the host's does, bit for bit; normalised ones go through the
/// device's logarithms. Memory of the lanes: 0.85 KB for the paper's shape.
/// Tests   tests/cuda/simulated_cluster_test.cpp: LearnedAgreesWithTheHost, AnyNumberOfLanesGivesTheSameBits
template <class Shape, rlp_scale Scale = rlp_scale::raw>
struct simulated_q {
  static_assert(Shape::inputs == rlp_state::dim && Shape::outputs == 3,
                "simulated_q: a network of 40 inputs and 3 outputs, for hold, submitter and all");
  using state = detail::loss_memory;  ///< the losses so far
  /// What the lanes of a cluster share.
  struct memory {
    float inputs[2][Shape::inputs];          ///< one holds what was, the other what is
    float scratch[evaluate_scratch<Shape>];  ///< of the network
    float values[4];                         ///< of hold, submitter and all; the last is not used
  };

  network<Shape> values{};  ///< parameters in memory that all lanes can read

  /// At once.
  [[nodiscard]] RUBATO_DETAIL_SHARED simulated_use use(std::uint32_t, std::uint32_t) const noexcept {
    return simulated_use::apply;
  }
  /// Takes the push into the inputs, and answers by the network's values. Ends with a sync.
  template <Lanes L>
  [[nodiscard]] RUBATO_DETAIL_SHARED simulated_decision decide(const L& lanes, const simulated_push& push, state& at,
                                                               memory& shared) const noexcept {
    float newest[4];
    encode(push, at, newest);
    const float* const before = shared.inputs[push.pushes % 2];
    float* const in = shared.inputs[1 - push.pushes % 2];
    for (std::uint32_t i = lanes.index(); i < Shape::inputs; i += lanes.count())
      in[i] = i < 4 ? newest[i] : push.pushes == 1 ? 0.0F : before[i - 4];
    lanes.sync();
    detail::evaluate_by_few(values, lanes, in, shared.scratch, shared.values);
    return {.verb = greedy(shared.values, push)};
  }

 private:
  // The newest push's numbers: basic_rlp_state::observe.
  RUBATO_DETAIL_SHARED static void encode(const simulated_push& push, state& at, float* newest) noexcept {
    detail::note_loss(at, Scale, push.pushes, push.loss, newest);
    const auto staleness = static_cast<float>(push.staleness);
    newest[3] = Scale == rlp_scale::raw ? staleness : detail::per_worker(staleness, push.workers);
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED static simulated_verb greedy(const float* value,
                                                                  const simulated_push& push) noexcept {
    const group_action best = detail::greedy(value, push.running > 0, push.parked > 1);
    return best == group_action::all    ? simulated_verb::all
           : best == group_action::hold ? simulated_verb::hold
                                        : simulated_verb::submitter;
  }
};

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
