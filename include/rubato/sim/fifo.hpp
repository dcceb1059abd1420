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
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void push(T value) {
    if (size_ == ring_.size()) grow();
    ring_[(first_ + size_++) % ring_.size()] = std::move(value);
  }

  /// Precondition: not empty.
  T pop() noexcept {
    RUBATO_ASSERT(size_ > 0, "fifo: pop of an empty queue");
    T value = std::move(ring_[first_]);
    first_ = (first_ + 1) % ring_.size();
    --size_;
    return value;
  }

 private:
  void grow() {
    std::vector<T> larger(ring_.empty() ? 8 : 2 * ring_.size());
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move(ring_[(first_ + i) % ring_.size()]);
    ring_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> ring_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
