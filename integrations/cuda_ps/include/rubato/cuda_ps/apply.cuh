#ifndef RUBATO_CUDA_PS_APPLY_CUH
#define RUBATO_CUDA_PS_APPLY_CUH

#include <cstddef>
#include <cstdint>
#include <rubato/core/types.hpp>
#include <rubato/cuda/lanes.cuh>

#include "rule.cuh"

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// Workers of one server: a bit of a word for each.
inline constexpr std::uint32_t max_workers = 64;
/// Gradients that a worker has room for: one that waits in the round, and the one that it computes meanwhile.
inline constexpr std::uint32_t slots_of_worker = 2;

/// What is done to the parameters at once.
enum class deed : std::uint8_t {
  copy,    ///< nothing: they are copied to who is released
  apply,   ///< one update by one gradient
  add,     ///< a gradient that waits joins the accumulator, since its worker needs the room
  flush,   ///< one update by the accumulator and the gradients that wait, in the order of the workers
  discard  ///< the accumulator is emptied
};

/// Of one gradient.
struct gradient_note {
  std::uint64_t version_read = 0;  ///< updates that were in the parameters which it was computed with
  std::uint32_t step = 0;          ///< its worker's own number of it
  float weight = 0;                ///< applied_weight()
};

/// The gradients that wait for the flush of the open round, at most one of each worker.
struct waiting_gradients {
  gradient_note of[max_workers];  ///< by worker; what counts is said by order::who
};

/// What carries out an order that is no flush needs no such list.
struct nobody_waits {
  gradient_note of[1];  ///< nothing: never read
};

/// One deed, with all that a kernel needs for it. Trivially copyable, an argument of kernels.
struct order {
  deed what = deed::copy;         ///< which of the fields below count
  bool adds_up = false;           ///< flush, discard: the accumulator is not empty
  std::uint32_t worker = 0;       ///< apply, add
  std::uint32_t slot = 0;         ///< apply, add
  std::uint32_t count = 0;        ///< flush: gradients, those in the accumulator among them
  float scale = 0;                ///< flush
  gradient_note gradient{};       ///< apply, add
  rule_step step{};               ///< apply, flush
  std::uint64_t who = 0;          ///< flush: bit w for each worker whose gradient waits
  std::uint64_t slots = 0;        ///< and which slot it waits in
  std::uint64_t released = 0;     ///< bit w: this worker's copy gets the parameters as they are afterwards
  std::uint64_t version = 0;      ///< updates, this one included
  std::uint64_t first_entry = 0;  ///< of the log
};

/// A shard's memory. Everything has `size` numbers, a multiple of 4, and begins at a multiple of 16 bytes.
struct shard_view {
  std::size_t size = 0;              ///< numbers, those that fill up the last quad among them
  float* values = nullptr;           ///< the parameters
  float* first = nullptr;            ///< momentum, adam
  float* second = nullptr;           ///< adam
  float* sum = nullptr;              ///< the accumulator: zeros, unless an order has added to it
  const float* gradients = nullptr;  ///< of worker w in slot s: gradients + (w * slots_of_worker + s) * stride
  float* copies = nullptr;           ///< of worker w: copies + w * stride
  std::size_t stride = 0;            ///< from a gradient or copy to the next; numbers

  /// This shard's part of a worker's gradient; slot is 0 or 1.
  [[nodiscard]] RUBATO_DETAIL_SHARED const float* gradient(std::uint32_t worker, std::uint64_t slot) const noexcept {
    return gradients + (worker * std::size_t{slots_of_worker} + slot) * stride;
  }
};

namespace detail {

struct alignas(16) quad {
  float x[4];
};
[[nodiscard]] RUBATO_DETAIL_SHARED inline quad load(const float* from) noexcept {
  return *reinterpret_cast<const quad*>(from);
}
RUBATO_DETAIL_SHARED inline void store(float* to, const quad& what) noexcept { *reinterpret_cast<quad*>(to) = what; }

RUBATO_DETAIL_SHARED inline void add(quad& sum, float weight, const quad& gradient) noexcept {
  for (int k = 0; k < 4; ++k) sum.x[k] = exact::plus_product(sum.x[k], weight, gradient.x[k]);
}

// An order at N places at once, i, i + stride and so on: what is read does not wait for what is written.
template <std::size_t N, class Waiting>
RUBATO_DETAIL_SHARED void carry_out_at(const order& o, const Waiting& waiting, const shard_view& at, std::size_t i,
                                       std::size_t stride) noexcept {
  const auto read = [&](const float* from, quad(&to)[N]) {
    RUBATO_DETAIL_UNROLL
    for (std::size_t n = 0; n < N; ++n) to[n] = load(from + i + n * stride);
  };
  const auto write = [&](float* to, const quad(&from)[N]) {
    RUBATO_DETAIL_UNROLL
    for (std::size_t n = 0; n < N; ++n) store(to + i + n * stride, from[n]);
  };
  const auto add = [&](quad(&sum)[N], float weight, const float* gradient) {
    quad more[N];
    read(gradient, more);
    RUBATO_DETAIL_UNROLL
    for (std::size_t n = 0; n < N; ++n) detail::add(sum[n], weight, more[n]);
  };
  quad value[N] = {}, direction[N] = {};
  const bool moves = o.what == deed::apply || o.what == deed::flush;
  if (moves || o.released != 0) read(at.values, value);
  if (o.what == deed::apply) read(at.gradient(o.worker, o.slot), direction);
  if (o.what == deed::add || (o.what == deed::flush && o.adds_up)) read(at.sum, direction);
  if (o.what == deed::add) {
    add(direction, o.gradient.weight, at.gradient(o.worker, o.slot));
    write(at.sum, direction);
  }
  if (o.what == deed::flush)
    for (std::uint64_t rest = o.who, w = 0; rest != 0; rest >>= 1, ++w)
      if ((rest & 1) != 0)
        add(direction, waiting.of[w].weight, at.gradient(static_cast<std::uint32_t>(w), o.slots >> w & 1));
  if (moves) {
    quad first[N] = {}, second[N] = {};
    if (o.step.kind != rule_kind::sgd) read(at.first, first);
    if (o.step.kind == rule_kind::adam) read(at.second, second);
    RUBATO_DETAIL_UNROLL
    for (std::size_t n = 0; n < N; ++n)
      for (int k = 0; k < 4; ++k)
        cuda_ps::update(o.step, direction[n].x[k], value[n].x[k], first[n].x[k], second[n].x[k]);
    if (o.step.kind != rule_kind::sgd) write(at.first, first);
    if (o.step.kind == rule_kind::adam) write(at.second, second);
    write(at.values, value);
  }
  if (o.adds_up) {
    const quad zeros[N] = {};
    write(at.sum, zeros);
  }
  for (std::uint64_t rest = o.released, w = 0; rest != 0; rest >>= 1, ++w)
    if ((rest & 1) != 0) write(at.copies + w * at.stride, value);
}

}  // namespace detail

/// Does to a shard what an order says, and copies the parameters to whom it releases: one pass over the shard.
///
/// Every number is its own affair, so that lanes need not wait for each other; a caller that signals a release waits
/// for all of them first. The sum of a round goes from worker 0 upwards: the same bits whoever came first. `waiting` is
/// waiting_gradients, which a flush alone reads, or nobody_waits.
/// Cost    a number costs 12 bytes for an update by SGD, 20 by momentum, 28 by Adam, 4 for each gradient more in a
///         round, and 4 for each copy: bound by memory. No allocation.
/// Tests   tests/integrations/cuda_ps/apply_test.cpp: AppliesAndCopies, ARoundIsSummedInTheOrderOfTheWorkers,
///         AddsGoIntoTheSum, ADiscardLeavesNothing, AnyNumberOfLanesGivesTheSameBits, IsThatOfThreadsPs;
///         tests/integrations/cuda_ps/device/device_shards_test.cu: HasTheBitsOfTheHost
template <class Waiting, cuda::Lanes L>
RUBATO_DETAIL_SHARED void carry_out(const order& o, const Waiting& waiting, const shard_view& at,
                                    const L& lanes) noexcept {
  constexpr std::size_t at_once = 2;  // quads of a lane; more would take registers that other blocks need
  const std::size_t stride = std::size_t{4} * lanes.count();
  std::size_t i = std::size_t{4} * lanes.index();
  for (; i + (at_once - 1) * stride < at.size; i += at_once * stride)
    detail::carry_out_at<at_once>(o, waiting, at, i, stride);
  for (; i < at.size; i += stride) detail::carry_out_at<1>(o, waiting, at, i, stride);
}

/// What was done, in the order in which it was: enough to do it again (replay.hpp).
struct log_entry {
  std::uint64_t number = 0;   ///< from 1; 0: never written
  std::uint64_t version = 0;  ///< apply, add: what the gradient was computed with; flush: updates, this one included
  std::uint32_t worker = no_worker;  ///< apply, add
  std::uint32_t step = 0;            ///< apply, add: the worker's own number of it; flush: gradients
  float factor = 0;                  ///< apply, add: weight; flush: scale
  deed what = deed::copy;            ///< apply, add, flush or discard
};
static_assert(sizeof(log_entry) == 32);

/// The latest `capacity` entries: number n lies at (n - 1) % capacity.
struct log_view {
  log_entry* entries = nullptr;  ///< not owned, zeros at first
  std::size_t capacity = 0;      ///< 0: no log is kept

  /// In its place, over the entry `capacity` before it. Precondition: capacity > 0, entry.number > 0.
  RUBATO_DETAIL_SHARED void write(const log_entry& entry) const noexcept {
    entries[(entry.number - 1) % capacity] = entry;
  }
};

/// How many entries an order leaves: those of a flush name each gradient that waited, in the order of the workers.
[[nodiscard]] RUBATO_DETAIL_SHARED inline std::uint64_t entries_of(const order& o) noexcept {
  std::uint64_t n = o.what == deed::copy ? 0 : 1;
  if (o.what == deed::flush)
    for (std::uint64_t rest = o.who; rest != 0; rest &= rest - 1) ++n;
  return n;
}

/// Writes them. By one thread, of one shard: all shards do the same.
/// Tests   tests/integrations/cuda_ps/replay_test.cpp: GivesTheSameBits
template <class Waiting>
RUBATO_DETAIL_SHARED void write_log(const order& o, const Waiting& waiting, const log_view& log) noexcept {
  if (log.capacity == 0 || o.what == deed::copy) return;
  std::uint64_t number = o.first_entry;
  const auto gradient = [&](deed what, std::uint32_t worker, const gradient_note& g) {
    log.write({.number = number++,
               .version = g.version_read,
               .worker = worker,
               .step = g.step,
               .factor = g.weight,
               .what = what});
  };
  if (o.what == deed::apply || o.what == deed::add) return gradient(o.what, o.worker, o.gradient);
  if (o.what == deed::flush)
    for (std::uint32_t w = 0; w < max_workers; ++w)
      if ((o.who >> w & 1) != 0) gradient(deed::add, w, waiting.of[w]);
  log.write({.number = number, .version = o.version, .step = o.count, .factor = o.scale, .what = o.what});
}

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
