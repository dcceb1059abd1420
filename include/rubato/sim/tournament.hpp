#ifndef RUBATO_SIM_TOURNAMENT_HPP
#define RUBATO_SIM_TOURNAMENT_HPP

#include <bit>
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
  /// Slots 0 to slots - 1, without times.
  explicit tournament(std::uint32_t slots) : leaves_{std::bit_ceil(std::size_t{slots} + (slots == 0 ? 1 : 0))} {
    nodes_.resize(2 * leaves_, {rank_of(std::numeric_limits<double>::infinity()), 0});
    for (std::size_t i = 0; i < leaves_; ++i) nodes_[leaves_ + i].slot = static_cast<std::uint32_t>(i);
    for (std::size_t i = leaves_; --i > 0;) nodes_[i] = nodes_[2 * i];
  }

  /// The earliest time, and whose it is; slot 0 where there is none.
  [[nodiscard]] double first_time() const noexcept { return std::bit_cast<double>(nodes_[1].rank); }
  [[nodiscard]] std::uint32_t first() const noexcept { return nodes_[1].slot; }
  [[nodiscard]] double time(std::uint32_t slot) const noexcept {
    return std::bit_cast<double>(nodes_[leaves_ + slot].rank);
  }

  /// Precondition: time >= 0; infinity takes the slot's time away.
  void set(std::uint32_t slot, double time) noexcept {
    RUBATO_ASSERT(time >= 0, "tournament: a time that is negative or NaN");
    node* const nodes = nodes_.data();
    node winner{rank_of(time), slot};
    std::size_t at = leaves_ + slot;
    nodes[at] = winner;
    for (; at > 1; at /= 2) {
      const node rival = nodes[at ^ 1];
      // All ones if the rival wins; one to the left wins a tie, too. Of a choice GCC would make a branch.
      const std::int64_t lost = (rival.rank - static_cast<std::int64_t>(at & 1) - winner.rank) >> 63;
      winner.rank ^= (winner.rank ^ rival.rank) & lost;
      winner.slot ^= (winner.slot ^ rival.slot) & static_cast<std::uint32_t>(lost);
      nodes[at / 2].rank = winner.rank;
      nodes[at / 2].slot = winner.slot;
    }
  }

 private:
  struct node {
    std::int64_t rank;
    std::uint32_t slot;
  };

  // Numbers in the order of the times, none of which is negative. -0 becomes 0.
  [[nodiscard]] static std::int64_t rank_of(double time) noexcept { return std::bit_cast<std::int64_t>(time + 0.0); }

  std::size_t leaves_;       // a power of two
  std::vector<node> nodes_;  // the root is 1, below i are 2 i and 2 i + 1, the leaves come last
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
