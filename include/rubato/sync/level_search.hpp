#ifndef RUBATO_SYNC_LEVEL_SEARCH_HPP
#define RUBATO_SYNC_LEVEL_SEARCH_HPP

#include <cstdint>

#include "../core/archive.hpp"
#include "../core/types.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI::detail {

/// Which level of parallelism is the best so far, and which to compare it with next: halves from everybody down, then
/// the middle of the bracket that this leaves, and then the neighbours, ever more rarely while they lose.
struct level_search {
  static constexpr std::uint32_t first_patience = 4;
  static constexpr std::uint32_t longest_patience = 64;

  std::uint32_t home = no_worker;   // the best level; no_worker: everybody, however many they become
  std::uint32_t below = 0;          // the highest level that lost to home for being too low
  std::uint32_t above = no_worker;  // the lowest one that lost for being too high
  std::uint32_t patience = 1;       // windows at home before the next trial
  std::uint32_t stride = 1;         // to the neighbour that is tried
  bool narrows = true;
  bool upwards = true;

  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint32_t level(std::uint32_t alive) const noexcept {
    return larger(smaller(home, alive), 1U);
  }

  /// No trial is over yet.
  [[nodiscard]] RUBATO_DETAIL_SHARED bool opens() const noexcept { return below == 0 && above == no_worker; }

  /// The level to try next; level(alive) if there is none.
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint32_t next(std::uint32_t alive) noexcept {
    const std::uint32_t at = level(alive);
    if (narrows) {
      const std::uint32_t down = at - smaller(below, at - 1);
      const std::uint32_t up = larger(smaller(above, alive + 1), at + 1) - at;
      if (down > 1 && down >= up) return at - down / 2;
      if (up > 1) return at + up / 2;
      narrows = false;
      patience = first_patience;
      return at;
    }
    if (upwards && at >= alive) {
      upwards = false;
      return at;
    }
    upwards = upwards || at == 1;
    const std::uint32_t step = larger(stride, at / 8);
    return upwards ? at + smaller(step, alive - smaller(at, alive)) : at - smaller(step, at - 1);
  }

  RUBATO_DETAIL_SHARED void be_patient(std::uint32_t windows) noexcept {
    patience = smaller(larger(patience, windows), longest_patience);
  }

  /// A trial is over: is the higher of the two levels worth its staleness? `all_between` says that the answer holds for
  /// every level between them as well. True if home has moved.
  RUBATO_DETAIL_SHARED bool judge(std::uint32_t tried, std::uint32_t alive, bool is_worth, bool all_between) noexcept {
    const std::uint32_t at = level(alive);
    const std::uint32_t low = smaller(tried, at), high = larger(tried, at);
    const bool moves = is_worth == (tried > at);
    if (moves) home = tried >= alive ? no_worker : tried;
    if (is_worth)
      below = all_between ? high - 1 : low;
    else
      above = all_between ? low + 1 : high;
    if (narrows) return moves;
    if (moves)
      patience = first_patience;
    else
      be_patient(2 * patience);
    stride = moves ? smaller(2 * stride, alive) : 1;
    upwards = upwards == moves;
    return moves;
  }

  void state(archive& bytes) { bytes(home, below, above, patience, stride, narrows, upwards); }
};

}  // namespace rubato::inline RUBATO_ABI::detail

#endif
