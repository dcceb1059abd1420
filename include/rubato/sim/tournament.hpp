#ifndef RUBATO_SIM_TOURNAMENT_HPP
#define RUBATO_SIM_TOURNAMENT_HPP

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// The first of many times, one for each slot, infinity where a slot has none. Of equal ones the lowest slot's is it.
///
/// A tournament tree: each node holds the earlier of the two below it, and a change is played up to the root. The
/// rivals on the way are known before the first match, and no match is a branch, so that a change takes a few cycles a
/// level, where a heap waits for each comparison and mispredicts half of them.
///
/// Cost    first: O(1); set: O(log slots). 32 to 64 bytes per slot, allocated by the constructor. Not thread-safe.
/// Tests   tests/sim/tournament_test.cpp: AgreesWithAScan, TiesGoToTheLowestSlot, AnyNumberOfSlots, NegativeZeroIsZero
/// Source  Knuth, The Art of Computer Programming, vol. 3, 2nd ed., 1998, section 5.4.1
class tournament {
 public:
  /// Slots 0 to count - 1, without times.
  explicit tournament(std::uint32_t count) : leaves_{std::bit_ceil(std::size_t{count} + (count == 0 ? 1 : 0))} {
    nodes_.resize(2 * leaves_);
    for (std::size_t i = 0; i < leaves_; ++i)
      nodes_[leaves_ + i] = node_of(std::numeric_limits<double>::infinity(), static_cast<std::uint32_t>(i));
    for (std::size_t i = leaves_; --i > 0;) nodes_[i] = nodes_[2 * i];
  }

  /// The earliest time; infinity where there is none.
  [[nodiscard]] double first_time() const noexcept { return time_of(nodes_[1]); }
  /// The slot whose it is; 0 where there is none.
  [[nodiscard]] std::uint32_t first() const noexcept { return slot_of(nodes_[1]); }
  /// The time of a slot; infinity where it has none.
  [[nodiscard]] double time(std::uint32_t slot) const noexcept { return time_of(nodes_[leaves_ + slot]); }

  /// The slot's time is this from now on; infinity takes it away. Precondition: time >= 0.
  void set(std::uint32_t slot, double time) noexcept {
    RUBATO_ASSERT(time >= 0, "tournament: a time that is negative or NaN");
    node* const nodes = nodes_.data();
    node winner = node_of(time, slot);
    std::size_t at = leaves_ + slot;
    nodes[at] = winner;
    for (; at > 1; at /= 2) {
      const node rival = nodes[at ^ 1];
      winner = rival < winner ? rival : winner;
      nodes[at / 2] = winner;
    }
  }

 private:
  // A time and below it a slot, in their order: times are not negative, so that they have the order of their bits. As
  // one number they are compared without a branch.
#if defined(__SIZEOF_INT128__)
  __extension__ typedef __int128 node;

  [[nodiscard]] static node node_of(double time, std::uint32_t slot) noexcept {
    return node{std::bit_cast<std::int64_t>(time + 0.0)} << 64 | slot;  // -0 becomes 0
  }
  [[nodiscard]] static double time_of(node n) noexcept {
    return std::bit_cast<double>(static_cast<std::int64_t>(n >> 64));
  }
  [[nodiscard]] static std::uint32_t slot_of(node n) noexcept { return static_cast<std::uint32_t>(n); }
#else  // as a pair, where the machine has no such numbers
  struct node {
    std::int64_t time;
    std::uint32_t slot;
    friend auto operator<=>(const node&, const node&) = default;
  };

  [[nodiscard]] static node node_of(double time, std::uint32_t slot) noexcept {
    return {std::bit_cast<std::int64_t>(time + 0.0), slot};
  }
  [[nodiscard]] static double time_of(node n) noexcept { return std::bit_cast<double>(n.time); }
  [[nodiscard]] static std::uint32_t slot_of(node n) noexcept { return n.slot; }
#endif

  std::size_t leaves_;       // a power of two
  std::vector<node> nodes_;  // the root is 1, below i are 2 i and 2 i + 1, the leaves come last
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
