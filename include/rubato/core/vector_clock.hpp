#ifndef RUBATO_CORE_VECTOR_CLOCK_HPP
#define RUBATO_CORE_VECTOR_CLOCK_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "types.hpp"

namespace rubato::inline RUBATO_ABI {

/// The clocks of all workers, and the minimum and maximum over those that count.
///
/// Counted workers of equal clock share a bucket; the buckets form a chain in the order of their clocks. At most one
/// bucket a worker and one spare exist, all made at construction, so no spread of the clocks ever allocates.
///
/// Cost    tick, erase, minimum, maximum, slowest: O(1). insert: O(buckets between the clock and the nearer end).
///         rebase: O(workers).
/// Thread  not thread-safe.
/// Tests   tests/core/vector_clock_test.cpp: AgreesWithAScan, NeverAllocates, RebaseKeepsDifferences, RebaseClamps
class vector_clock {
 public:
  static constexpr std::uint32_t none = no_worker;  ///< no worker, no bucket

  explicit vector_clock(std::uint32_t capacity) : entries_(capacity), buckets_(std::size_t{capacity} + 1) {
    for (std::uint32_t b = 0; b < capacity; ++b) buckets_[b].above = b + 1;
  }

  [[nodiscard]] clock_type clock(std::uint32_t worker) const noexcept { return entries_[worker].clock; }
  [[nodiscard]] bool counts(std::uint32_t worker) const noexcept { return entries_[worker].bucket != none; }
  [[nodiscard]] std::uint32_t size() const noexcept { return counted_; }  ///< counted workers
  /// Smallest and largest counted clock; 0 while nobody counts.
  [[nodiscard]] clock_type minimum() const noexcept { return counted_ == 0 ? 0 : buckets_[lowest_].clock; }
  [[nodiscard]] clock_type maximum() const noexcept { return counted_ == 0 ? 0 : buckets_[highest_].clock; }
  /// A counted worker at the minimum, or none.
  [[nodiscard]] std::uint32_t slowest() const noexcept { return counted_ == 0 ? none : buckets_[lowest_].front; }

  /// Sets the clock of a worker that does not count.
  void set(std::uint32_t worker, clock_type clock) noexcept {
    RUBATO_ASSERT(!counts(worker), "set() of a worker that counts");
    entries_[worker].clock = clock;
  }

  /// Starts to count a worker, at the clock it has.
  void insert(std::uint32_t worker) noexcept {
    RUBATO_ASSERT(!counts(worker), "insert() of a worker that counts already");
    const clock_type clock = entries_[worker].clock;
    std::uint32_t below = none;
    if (clock > minimum() + (maximum() - minimum()) / 2)
      for (below = highest_; below != none && buckets_[below].clock > clock;) below = buckets_[below].below;
    else
      for (std::uint32_t b = lowest_; b != none && buckets_[b].clock <= clock; b = buckets_[b].above) below = b;
    push_front(below != none && buckets_[below].clock == clock ? below : new_bucket(clock, below), worker);
    ++counted_;
  }

  /// Stops counting a worker, which keeps its clock.
  void erase(std::uint32_t worker) noexcept {
    RUBATO_ASSERT(counts(worker), "erase() of a worker that does not count");
    unlink(worker);
    --counted_;
  }

  /// One step further, for counted workers and others.
  void tick(std::uint32_t worker) noexcept {
    entry& e = entries_[worker];
    const clock_type clock = ++e.clock;
    const std::uint32_t b = e.bucket;
    if (b == none) return;
    const std::uint32_t above = buckets_[b].above;
    const bool above_fits = above != none && buckets_[above].clock == clock;
    if (!above_fits && e.before == none && e.after == none) {
      buckets_[b].clock = clock;  // alone in its bucket: the bucket moves along
      return;
    }
    const std::uint32_t target = above_fits ? above : new_bucket(clock, b);
    unlink(worker);
    push_front(target, worker);
  }

  /// Shifts all clocks so that the smallest counted one is 0 and limits counted ones to limit(worker), which takes at
  /// most two values, one apart; calls clamped(worker) for each one that was limited.
  template <class Limit, class Clamped>
  void rebase(Limit&& limit, Clamped&& clamped) noexcept {
    const clock_type shift = minimum();
    const auto workers = static_cast<std::uint32_t>(entries_.size());
    for (std::uint32_t w = 0; w < workers; ++w)
      entries_[w].clock -= entries_[w].clock < shift ? entries_[w].clock : shift;
    for (std::uint32_t b = lowest_; b != none; b = buckets_[b].above) buckets_[b].clock -= shift;
    std::uint32_t moved = none;  // a chain: who is limited goes to the top, which is found once all of them are out
    for (std::uint32_t w = 0; w < workers; ++w) {
      if (!counts(w) || clock(w) <= limit(w)) continue;
      erase(w);
      set(w, limit(w));
      clamped(w);
      entries_[w].after = std::exchange(moved, w);
    }
    while (moved != none) insert(std::exchange(moved, entries_[moved].after));
  }

 private:
  struct entry {
    clock_type clock = 0;
    std::uint32_t bucket = none;
    std::uint32_t before = none;
    std::uint32_t after = none;
  };
  struct bucket {
    clock_type clock = 0;
    std::uint32_t below = none;
    std::uint32_t above = none;  // also the chain of free buckets
    std::uint32_t front = none;
  };

  [[nodiscard]] std::uint32_t new_bucket(clock_type clock, std::uint32_t below) noexcept {
    const std::uint32_t b = free_;
    free_ = buckets_[b].above;
    const std::uint32_t above = below == none ? lowest_ : buckets_[below].above;
    buckets_[b] = {.clock = clock, .below = below, .above = above};
    (below == none ? lowest_ : buckets_[below].above) = b;
    (above == none ? highest_ : buckets_[above].below) = b;
    return b;
  }

  void push_front(std::uint32_t b, std::uint32_t worker) noexcept {
    const std::uint32_t after = buckets_[b].front;
    if (after != none) entries_[after].before = worker;
    entries_[worker] = {.clock = entries_[worker].clock, .bucket = b, .before = none, .after = after};
    buckets_[b].front = worker;
  }

  void unlink(std::uint32_t worker) noexcept {
    const entry e = entries_[worker];
    (e.before == none ? buckets_[e.bucket].front : entries_[e.before].after) = e.after;
    if (e.after != none) entries_[e.after].before = e.before;
    entries_[worker].bucket = none;
    if (buckets_[e.bucket].front != none) return;
    const auto [clock, below, above, front] = buckets_[e.bucket];
    (below == none ? lowest_ : buckets_[below].above) = above;
    (above == none ? highest_ : buckets_[above].below) = below;
    buckets_[e.bucket].above = free_;
    free_ = e.bucket;
  }

  std::vector<entry> entries_;
  std::vector<bucket> buckets_;
  std::uint32_t lowest_ = none;
  std::uint32_t highest_ = none;
  std::uint32_t free_ = 0;
  std::uint32_t counted_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
