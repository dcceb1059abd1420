#ifndef RUBATO_SYNC_LEVEL_SEARCH_HPP
#define RUBATO_SYNC_LEVEL_SEARCH_HPP

#include <algorithm>
#include <cstdint>

#include "../core/archive.hpp"
#include "../core/types.hpp"

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

  [[nodiscard]] std::uint32_t level(std::uint32_t alive) const noexcept {
    return (std::max)((std::min)(home, alive), 1U);
  }

  /// No trial is over yet.
  [[nodiscard]] bool opens() const noexcept { return below == 0 && above == no_worker; }

  /// The level to try next; level(alive) if there is none.
  [[nodiscard]] std::uint32_t next(std::uint32_t alive) noexcept {
    const std::uint32_t at = level(alive);
    if (narrows) {
      const std::uint32_t down = at - (std::min)(below, at - 1);
      const std::uint32_t up = (std::max)((std::min)(above, alive + 1), at + 1) - at;
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
    const std::uint32_t step = (std::max)(stride, at / 8);
    return upwards ? at + (std::min)(step, alive - (std::min)(at, alive)) : at - (std::min)(step, at - 1);
  }

  void be_patient(std::uint32_t windows) noexcept {
    patience = (std::min)((std::max)(patience, windows), longest_patience);
  }

  /// A trial is over: is the higher of the two levels worth its staleness? `all_between` says that the answer holds for
  /// every level between them as well. True if home has moved.
  bool judge(std::uint32_t tried, std::uint32_t alive, bool higher_is_worth_it, bool all_between) noexcept {
    const std::uint32_t at = level(alive);
    const std::uint32_t low = (std::min)(tried, at), high = (std::max)(tried, at);
    const bool moves = higher_is_worth_it == (tried > at);
    if (moves) home = tried >= alive ? no_worker : tried;
    if (higher_is_worth_it)
      below = all_between ? high - 1 : low;
    else
      above = all_between ? low + 1 : high;
    if (narrows) return moves;
    if (moves)
      patience = first_patience;
    else
      be_patient(2 * patience);
    stride = moves ? (std::min)(2 * stride, alive) : 1;
    upwards = upwards == moves;
    return moves;
  }

  void state(archive& bytes) { bytes(home, below, above, patience, stride, narrows, upwards); }
};

}  // namespace rubato::inline RUBATO_ABI::detail

#endif
