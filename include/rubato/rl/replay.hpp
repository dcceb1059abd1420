#ifndef RUBATO_RL_REPLAY_HPP
#define RUBATO_RL_REPLAY_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../core/archive.hpp"
#include "../core/rng.hpp"
#include "../nn/saved_values.hpp"
#include "environment.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// Something to learn from: after `action` at `observation` came `reward` (of one step, or of several, discounted),
/// and then `next`, whose value counts `discount` times. The target is reward + discount * value(next).
struct experience {
  std::span<const float> observation;
  std::uint32_t action = 0;
  float reward = 0;
  float discount = 0;  ///< 0: the task was over
  std::span<const float> next;
  std::uint32_t next_legal = all_legal;
};

/// The latest `capacity` experiences, in flat memory; each new one takes the place of the oldest.
///
/// Memory  capacity * (2 * observation_size + 4) words, allocated by the constructor; none later, except state() when
///         it saves.
/// Thread  const calls are thread-safe.
/// Tests   tests/rl/replay_test.cpp: OldestIsReplaced, SamplesUniformly, DistinctSamplesAreDistinctAndUniform,
///         SameSeedSameSample, StateRoundTrip, StateOfAnotherShapeIsRefused; tests/rl/no_allocation_test.cpp
/// Source  Lin, "Self-improving reactive agents based on reinforcement learning, planning and teaching", 1992
class replay_buffer {
 public:
  /// Preconditions: both at least 1, capacity below 2^32.
  replay_buffer(std::size_t capacity, std::size_t observation_size)
      : width_{observation_size},
        observations_(capacity * observation_size),
        next_(capacity * observation_size),
        actions_(capacity),
        rewards_(capacity),
        discounts_(capacity),
        legal_(capacity) {
    RUBATO_ASSERT(capacity > 0 && capacity < 0xFFFFFFFF && observation_size > 0, "replay_buffer: bad size");
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return actions_.size(); }

  /// Keeps a copy, and returns its slot. Precondition: both spans have observation_size numbers.
  std::uint32_t add(const experience& what) noexcept {
    RUBATO_ASSERT(what.observation.size() == width_ && what.next.size() == width_, "replay_buffer: wrong width");
    const std::size_t slot = head_;
    std::copy(what.observation.begin(), what.observation.end(), observations_.data() + slot * width_);
    std::copy(what.next.begin(), what.next.end(), next_.data() + slot * width_);
    actions_[slot] = what.action;
    rewards_[slot] = what.reward;
    discounts_[slot] = what.discount;
    legal_[slot] = what.next_legal;
    head_ = (head_ + 1) % capacity();
    size_ = (std::min)(size_ + 1, capacity());
    return static_cast<std::uint32_t>(slot);
  }

  /// What a slot holds, until it is replaced. Precondition: slot < size().
  [[nodiscard]] experience operator[](std::size_t slot) const noexcept {
    RUBATO_ASSERT(slot < size_, "replay_buffer: empty slot");
    return {{observations_.data() + slot * width_, width_}, actions_[slot], rewards_[slot], discounts_[slot],
            {next_.data() + slot * width_, width_},         legal_[slot]};
  }

  /// Fills `slots` with slots drawn uniformly, with replacement. Precondition: size() > 0. O(slots).
  void sample(random_sequence& random, std::span<std::uint32_t> slots) const noexcept {
    RUBATO_ASSERT(size_ > 0, "replay_buffer: nothing to sample");
    for (std::uint32_t& slot : slots) slot = static_cast<std::uint32_t>(random.below(size_));
  }

  /// The same without replacement: every set of slots is equally likely. Precondition: size() >= slots.size().
  /// O(slots^2) comparisons (Floyd's algorithm).
  void sample_distinct(random_sequence& random, std::span<std::uint32_t> slots) const noexcept {
    RUBATO_ASSERT(size_ >= slots.size(), "replay_buffer: too little to sample");
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const std::size_t last = size_ - slots.size() + i;
      const auto drawn = static_cast<std::uint32_t>(random.below(last + 1));
      const auto taken = slots.first(i);
      slots[i] = std::find(taken.begin(), taken.end(), drawn) == taken.end() ? drawn : static_cast<std::uint32_t>(last);
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
    size_ = static_cast<std::size_t>(size);
    head_ = static_cast<std::size_t>(head);
    nn::detail::saved_values(bytes, std::span{observations_}.first(size_ * width_));
    nn::detail::saved_values(bytes, std::span{next_}.first(size_ * width_));
    for (std::size_t i = 0; i < size_; ++i) bytes(actions_[i], rewards_[i], discounts_[i], legal_[i]);
  }

 private:
  std::size_t width_;
  std::size_t size_ = 0;
  std::size_t head_ = 0;  // the slot of the next experience
  std::vector<float> observations_;
  std::vector<float> next_;
  std::vector<std::uint32_t> actions_;
  std::vector<float> rewards_;
  std::vector<float> discounts_;
  std::vector<std::uint32_t> legal_;
};

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
