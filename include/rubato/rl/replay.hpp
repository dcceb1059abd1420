#ifndef RUBATO_RL_REPLAY_HPP
#define RUBATO_RL_REPLAY_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "../core/archive.hpp"
#include "../core/rng.hpp"
#include "../nn/aligned_vector.hpp"
#include "../nn/saved_values.hpp"
#include "draw_below.hpp"
#include "environment.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// Something to learn from: after `action` at `observation` came `reward` (of one step, or of several, discounted),
/// and then `next`, whose value counts `discount` times. The target is reward + discount * value(next).
struct experience {
  std::span<const float> observation;    ///< where the action was chosen
  std::uint32_t action = 0;              ///< that was executed there
  float reward = 0;                      ///< of one step, or of several, discounted
  float discount = 0;                    ///< 0: the task was over
  std::span<const float> next;           ///< after the last of the steps
  std::uint32_t next_legal = all_legal;  ///< legal actions at `next`
};

/// The latest `capacity` experiences, in flat memory; each new one takes the place of the oldest. What belongs to one
/// lies side by side from the start of a cache line on.
///
/// Memory  capacity * (2 * observation_size + 4) words, each experience rounded up to a cache line, allocated by the
///         constructor; none later, except state() when it saves.
/// Thread  const calls are thread-safe.
/// Tests   tests/rl/replay_test.cpp: OldestIsReplaced, SamplesUniformly, DistinctSamplesAreDistinctAndUniform,
///         SameSeedSameSample, EveryWidthIsKept, StateRoundTrip, StateOfAnotherShapeIsRefused;
///         tests/rl/no_allocation_test.cpp
/// Source  Lin, "Self-improving reactive agents based on reinforcement learning, planning and teaching", 1992
class replay_buffer {
 public:
  /// Preconditions: both at least 1, capacity below 2^32.
  replay_buffer(std::size_t capacity, std::size_t observation_size)
      : capacity_{capacity},
        width_{observation_size},
        stride_{(2 * observation_size + words + line - 1) / line * line},
        memory_(capacity * stride_) {
    RUBATO_ASSERT(capacity > 0 && capacity < 0xFFFFFFFF && observation_size > 0, "replay_buffer: bad size");
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }  ///< experiences in it, in slots 0 to size() - 1
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }  ///< experiences that it has room for

  /// Keeps a copy, and returns its slot. Precondition: both spans have observation_size numbers.
  std::uint32_t add(const experience& what) noexcept {
    RUBATO_ASSERT(what.observation.size() == width_ && what.next.size() == width_, "replay_buffer: wrong width");
    const std::size_t slot = head_;
    float* const at = memory_.data() + slot * stride_;
    std::copy(what.observation.begin(), what.observation.end(), at);
    std::copy(what.next.begin(), what.next.end(), at + width_);
    put(slot, {what.action, what.reward, what.discount, what.next_legal});
    head_ = (head_ + 1) % capacity();
    size_ = (std::min)(size_ + 1, capacity());
    return static_cast<std::uint32_t>(slot);
  }

  /// What a slot holds, until it is replaced. Precondition: slot < size().
  [[nodiscard]] experience operator[](std::size_t slot) const noexcept {
    RUBATO_ASSERT(slot < size_, "replay_buffer: empty slot");
    const float* const at = memory_.data() + slot * stride_;
    const rest of = get(slot);
    return {{at, width_}, of.action, of.reward, of.discount, {at + width_, width_}, of.next_legal};
  }

  /// The observations that slots hold, side by side.
  /// Preconditions: each slot < size(); `to` has observation_size numbers for each.
  void gather(std::span<const std::uint32_t> chosen, std::span<float> to) const noexcept { copy_rows(chosen, 0, to); }
  /// The same of the observations after the action.
  void gather_next(std::span<const std::uint32_t> chosen, std::span<float> to) const noexcept {
    copy_rows(chosen, width_, to);
  }

  /// Asks memory for a slot's observation after the action, so that it comes while something else is done.
  /// Precondition: slot < capacity().
  [[gnu::always_inline]] void prefetch_next(std::size_t slot) const noexcept { prefetch(slot, width_, 2 * width_); }
  /// The same for all else that a slot holds.
  [[gnu::always_inline]] void prefetch_rest(std::size_t slot) const noexcept {
    prefetch(slot, 0, width_);
    prefetch(slot, 2 * width_, stride_);
  }

  /// Fills `chosen` with slots drawn uniformly, with replacement, and asks for what follows them by prefetch_next().
  /// Precondition: size() > 0. O(chosen).
  void sample(random_sequence& random, std::span<std::uint32_t> chosen) const noexcept {
    RUBATO_ASSERT(size_ > 0, "replay_buffer: nothing to sample");
    draw_below(random, size_, chosen);
    for (const std::uint32_t slot : chosen) prefetch_next(slot);
  }

  /// The same without replacement: every set of slots is equally likely. Precondition: size() >= chosen.size().
  /// O(chosen^2) comparisons (Floyd's algorithm).
  void sample_distinct(random_sequence& random, std::span<std::uint32_t> chosen) const noexcept {
    RUBATO_ASSERT(size_ >= chosen.size(), "replay_buffer: too little to sample");
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::size_t last = size_ - chosen.size() + i;
      const auto drawn = static_cast<std::uint32_t>(random.below(last + 1));
      const auto taken = chosen.first(i);
      const bool is_new = std::find(taken.begin(), taken.end(), drawn) == taken.end();
      chosen[i] = is_new ? drawn : static_cast<std::uint32_t>(last);
      prefetch_next(chosen[i]);
    }
  }

  /// Saves or loads the content; bytes of another capacity or width are bad.
  void state(archive& bytes) {
    nn::detail::expect(bytes, capacity());
    nn::detail::expect(bytes, width_);
    std::uint64_t size = size_, head = head_;
    bytes(size, head);
    if (size > capacity() || head >= capacity() || (size < capacity() && head != size)) bytes.fail();
    if (!bytes.ok()) return;
    size_ = nn::detail::as_size(size);
    head_ = nn::detail::as_size(head);
    saved_observations(bytes, 0);
    saved_observations(bytes, width_);
    for (std::size_t slot = 0; slot < size_; ++slot) {
      rest of = get(slot);
      bytes(of.action, of.reward, of.discount, of.next_legal);
      put(slot, of);
    }
  }

 private:
  // What an experience has besides observations; it lies behind them.
  struct rest {
    std::uint32_t action;
    float reward;
    float discount;
    std::uint32_t next_legal;
  };
  static constexpr std::size_t words = sizeof(rest) / sizeof(float), line = nn::cache_line / sizeof(float);

  // Inlined, since GCC leaves out calls of a function that does nothing else.
  [[gnu::always_inline]] void prefetch(std::size_t slot, std::size_t first, std::size_t last) const noexcept {
    for (std::size_t i = first / line * line; i < last; i += line)
      __builtin_prefetch(memory_.data() + slot * stride_ + i);
  }
  // In pieces of two registers: a row is too short for a call of memmove().
  void copy_rows(std::span<const std::uint32_t> chosen, std::size_t first, std::span<float> to) const noexcept {
    RUBATO_ASSERT(to.size() == chosen.size() * width_, "replay_buffer: needs rows of observation_size numbers");
    const std::size_t width = width_;
    float* row = to.data();
    for (const std::uint32_t slot : chosen) {
      const float* const from = memory_.data() + slot * stride_ + first;
      std::size_t i = 0;
      for (; i + 8 <= width; i += 8) std::memcpy(row + i, from + i, 8 * sizeof(float));
      for (; i < width; ++i) row[i] = from[i];
      row += width;
    }
  }
  [[nodiscard]] rest get(std::size_t slot) const noexcept {
    rest of;
    std::memcpy(&of, memory_.data() + slot * stride_ + 2 * width_, sizeof(of));
    return of;
  }
  void put(std::size_t slot, const rest& of) noexcept {
    std::memcpy(memory_.data() + slot * stride_ + 2 * width_, &of, sizeof(of));
  }

  // As saved_values() of all those that begin at this word of an experience.
  void saved_observations(archive& bytes, std::size_t first) {
    nn::detail::expect(bytes, sizeof(float));
    nn::detail::expect(bytes, size_ * width_);
    for (std::size_t slot = 0; slot < size_; ++slot)
      for (float& value : std::span{memory_}.subspan(slot * stride_ + first, width_)) bytes(value);
  }

  std::size_t capacity_;
  std::size_t width_;
  std::size_t stride_;  // words from one experience to the next
  std::size_t size_ = 0;
  std::size_t head_ = 0;  // the slot of the next experience
  nn::aligned_vector<float> memory_;
};

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
