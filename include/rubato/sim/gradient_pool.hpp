#ifndef RUBATO_SIM_GRADIENT_POOL_HPP
#define RUBATO_SIM_GRADIENT_POOL_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// Reusable storage for live gradients, handed out by number. It grows to the largest number ever live at once.
///
/// A slot keeps its contents (and capacity) when it is released, so that the next owner need not allocate.
/// Cost    O(1); allocates only while growing. Thread: one object per thread.
/// Tests   tests/sim/gradient_pool_test.cpp: RecyclesTheLastReleased, ClearDropsAllHandles
template <class Slot>
class gradient_pool {
 public:
  /// A free slot; references into the pool are invalid afterwards.
  [[nodiscard]] std::uint32_t acquire() {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
      live_.push_back(0);
    }
    const std::uint32_t handle = free_.back();
    free_.pop_back();
    live_[handle] = 1;
    return handle;
  }

  /// Takes a slot back. Precondition: the handle is live.
  void release(std::uint32_t handle) {
    RUBATO_ASSERT(live(handle), "gradient_pool: released a handle that is not live");
    live_[handle] = 0;
    free_.push_back(handle);
  }

  /// Drops all handles, keeps the storage.
  void clear() {
    free_.clear();
    for (std::size_t i = slots_.size(); i > 0; --i) free_.push_back(static_cast<std::uint32_t>(i - 1));
    live_.assign(slots_.size(), 0);
  }

  /// The slot of a handle, until the next acquire(). Precondition: the handle is live.
  [[nodiscard]] Slot& operator[](std::uint32_t handle) noexcept {
    RUBATO_ASSERT(live(handle), "gradient_pool: a handle that is not live");
    return slots_[handle];
  }

  /// Whether the handle has been acquired and neither released nor cleared since.
  [[nodiscard]] bool live(std::uint32_t handle) const noexcept { return handle < live_.size() && live_[handle] != 0; }

  /// Slots ever made, live or free.
  [[nodiscard]] std::size_t capacity() const noexcept { return slots_.size(); }

 private:
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;  // a stack: the slot released last is the warmest in cache
  std::vector<std::uint8_t> live_;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
