#ifndef RUBATO_SIM_INDEXED_HEAP_HPP
#define RUBATO_SIM_INDEXED_HEAP_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// A min-heap of at most one entry per slot, whose entries can be moved and removed.
///
/// Keys must be totally ordered and all different: then the order in which entries leave depends on nothing but the
/// keys.
///
/// Cost    top: O(1); set, erase: O(log entries). No allocation after construction. Not thread-safe.
/// Tests   tests/sim/indexed_heap_test.cpp: AgreesWithASort, MovesEntriesBothWays, ErasesFromTheMiddle
template <class Key>
class indexed_heap {
 public:
  /// A heap over slots 0 to slots - 1.
  explicit indexed_heap(std::uint32_t slots) : position_(slots, nowhere) { heap_.reserve(slots); }

  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(heap_.size()); }
  [[nodiscard]] bool contains(std::uint32_t slot) const noexcept { return position_[slot] != nowhere; }

  /// The slot of the smallest key. Precondition: not empty.
  [[nodiscard]] std::uint32_t top() const noexcept { return heap_.front().slot; }
  [[nodiscard]] const Key& top_key() const noexcept { return heap_.front().key; }
  /// Precondition: contains(slot).
  [[nodiscard]] const Key& key(std::uint32_t slot) const noexcept { return heap_[position_[slot]].key; }

  /// Inserts an entry, or gives it another key.
  void set(std::uint32_t slot, const Key& key) noexcept {
    if (!contains(slot)) {
      position_[slot] = size();
      heap_.push_back({key, slot});
      rise(position_[slot]);
      return;
    }
    const std::uint32_t at = position_[slot];
    heap_[at].key = key;
    rise(at);
    sink(position_[slot]);
  }

  /// Removes the entry, if there is one.
  void erase(std::uint32_t slot) noexcept {
    if (!contains(slot)) return;
    const std::uint32_t at = std::exchange(position_[slot], nowhere);
    const node last = heap_.back();
    heap_.pop_back();
    if (at == size()) return;
    place(at, last);
    rise(at);
    sink(position_[last.slot]);
  }

 private:
  struct node {
    Key key;
    std::uint32_t slot;
  };
  static constexpr std::uint32_t nowhere = (std::numeric_limits<std::uint32_t>::max)();

  void place(std::uint32_t at, const node& n) noexcept {
    heap_[at] = n;
    position_[n.slot] = at;
  }

  void rise(std::uint32_t at) noexcept {
    const node moving = heap_[at];
    for (; at > 0; at = (at - 1) / 2) {
      const node& parent = heap_[(at - 1) / 2];
      if (!(moving.key < parent.key)) break;
      place(at, parent);
    }
    place(at, moving);
  }

  void sink(std::uint32_t at) noexcept {
    const node moving = heap_[at];
    for (std::uint32_t child = 2 * at + 1; child < size(); child = 2 * at + 1) {
      if (child + 1 < size() && heap_[child + 1].key < heap_[child].key) ++child;
      if (!(heap_[child].key < moving.key)) break;
      place(at, heap_[child]);
      at = child;
    }
    place(at, moving);
  }

  std::vector<node> heap_;
  std::vector<std::uint32_t> position_;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
