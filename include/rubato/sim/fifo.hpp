#ifndef RUBATO_SIM_FIFO_HPP
#define RUBATO_SIM_FIFO_HPP

#include <cstddef>
#include <utility>
#include <vector>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// A queue in a ring, which grows to the largest number ever waiting.
///
/// Cost    O(1); allocates only while growing. Not thread-safe.
/// Tests   tests/sim/fifo_test.cpp: KeepsOrderWhileGrowing
template <class T>
class fifo {
 public:
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }   ///< nothing waits
  [[nodiscard]] std::size_t size() const noexcept { return size_; }  ///< elements that wait

  /// A new last element, to be written: it holds what some earlier one did. References into the queue become invalid.
  [[nodiscard]] T& push() {
    if (size_ == ring_.size()) grow();
    return ring_[(first_ + size_++) & (ring_.size() - 1)];
  }

  /// The first element. Precondition, as of pop(): not empty.
  [[nodiscard]] const T& front() const noexcept {
    RUBATO_ASSERT(size_ > 0, "fifo: front of an empty queue");
    return ring_[first_];
  }
  /// Removes the first element.
  void pop() noexcept {
    RUBATO_ASSERT(size_ > 0, "fifo: pop of an empty queue");
    first_ = (first_ + 1) & (ring_.size() - 1);
    --size_;
  }

 private:
  void grow() {
    std::vector<T> larger(ring_.empty() ? 8 : 2 * ring_.size());
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move(ring_[(first_ + i) & (ring_.size() - 1)]);
    ring_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> ring_;  // its size is 0 or a power of two
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
