#ifndef RUBATO_CORE_VECTOR_CLOCK_HPP
#define RUBATO_CORE_VECTOR_CLOCK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "../dynarray.hpp"
#include "index_list.hpp"

namespace rubato::inline RUBATO_ABI {

/// The clocks of all workers, and the minimum and maximum over those that count.
///
/// Counted workers of equal clock share a bucket, which counts them; the buckets form a chain in the order of their
/// clocks. While all clocks lie within `slack`, emptied buckets stay in it, as the next worker comes soon. All that can
/// be needed are made at construction, so no spread allocates. Who is in which is kept from the first slowest() on.
///
/// Cost    tick, erase, minimum, maximum, slowest: O(1), but the first slowest() O(workers log workers). insert:
///         O(buckets between the clock and the nearer end). rebase: O(workers).
/// Thread  not thread-safe, and slowest() is no exception.
/// Tests   tests/core/vector_clock_test.cpp: AgreesWithAScan, SlowestCameLast, NeverAllocates, RebaseKeepsDifferences,
///         RebaseClamps
class vector_clock {
 public:
  explicit vector_clock(std::uint32_t capacity)
      : entries_(capacity), buckets_(std::size_t{capacity} + slack + 2), neighbours_(capacity) {
    for (std::uint32_t b = free_; b < buckets_.size(); ++b) buckets_[b].above = b + 1;
    buckets_[ends].clock = unbounded;
  }  ///< all clocks are 0, nobody counts
  /// Steps of a worker, whether it counts or not.
  [[nodiscard]] clock_type clock(std::uint32_t worker) const noexcept { return entries_[worker].clock; }
  /// Whether it was inserted, and not erased since.
  [[nodiscard]] bool counts(std::uint32_t worker) const noexcept { return entries_[worker].bucket != ends; }
  [[nodiscard]] std::uint32_t size() const noexcept { return counted_; }  ///< counted workers
  /// Smallest and largest counted clock; 0 while nobody counts.
  [[nodiscard]] clock_type minimum() const noexcept { return minimum_; }
  [[nodiscard]] clock_type maximum() const noexcept { return maximum_; }  ///< likewise
  /// Of the counted workers at the minimum, the one that came there last; no_worker while nobody counts.
  [[nodiscard]] std::uint32_t slowest() const noexcept {
    if (!tracks_members_) track_members();
    return buckets_[buckets_[ends].above].members.back;
  }

  /// Sets the clock of a worker that does not count.
  void set(std::uint32_t worker, clock_type clock) noexcept {
    RUBATO_ASSERT(!counts(worker), "set() of a worker that counts");
    entries_[worker].clock = clock;
  }

  /// Starts to count a worker, at the clock it has.
  void insert(std::uint32_t worker) noexcept {
    RUBATO_ASSERT(!counts(worker), "insert() of a worker that counts already");
    const clock_type clock = entries_[worker].clock;
    std::uint32_t b = ends;
    if (clock > minimum_ + (maximum_ - minimum_) / 2)
      do b = buckets_[b].below;
      while (b != ends && buckets_[b].clock > clock);
    else
      while (buckets_[buckets_[b].above].clock <= clock) b = buckets_[b].above;
    enter(worker, b != ends && buckets_[b].clock == clock ? b : new_bucket(clock, b));
    ++counted_;
    find_ends();
  }

  /// Stops counting a worker, which keeps its clock.
  void erase(std::uint32_t worker) noexcept {
    RUBATO_ASSERT(counts(worker), "erase() of a worker that does not count");
    leave(worker, std::exchange(entries_[worker].bucket, ends));
    --counted_;
    find_ends();
  }

  /// One step further, for counted workers and others.
  [[gnu::always_inline]] void tick(std::uint32_t worker) noexcept {
    entry& e = entries_[worker];
    const std::uint32_t b = e.bucket;
    const std::uint32_t above = buckets_[b].above;
    const clock_type clock = e.clock + 1;
    if (b == ends || buckets_[above].clock != clock || arrivals_ == last_arrival) return step(worker);
    e.clock = clock;
    e.bucket = above;
    e.arrival = ++arrivals_;
    ++buckets_[above].members.size;
    const bool empty = --buckets_[b].members.size == 0;
    // Not &&: what alone decides nothing is not to be guessed.
    if (empty & ((clock - 1 == minimum_) | wide())) vacate(b);
  }

  /// Shifts all clocks so that the smallest counted one is 0 and limits counted ones to limit(worker), which takes at
  /// most two values, one apart; calls clamped(worker) for each one that was limited.
  template <class Limit, class Clamped>
  void rebase(Limit&& limit, Clamped&& clamped) noexcept {
    const clock_type shift = minimum();
    const auto workers = static_cast<std::uint32_t>(entries_.size());
    for (std::uint32_t w = 0; w < workers; ++w)
      entries_[w].clock -= entries_[w].clock < shift ? entries_[w].clock : shift;
    for (std::uint32_t b = buckets_[ends].above; b != ends; b = buckets_[b].above) buckets_[b].clock -= shift;
    find_ends();
    std::uint32_t moved = no_worker;  // a chain: who is limited goes to the top, which is known once all are out
    for (std::uint32_t w = 0; w < workers; ++w) {
      if (!counts(w) || clock(w) <= limit(w)) continue;
      erase(w);
      set(w, limit(w));
      clamped(w);
      neighbours_[w].after = std::exchange(moved, w);
    }
    while (moved != no_worker) insert(std::exchange(moved, neighbours_[moved].after));
  }

 private:
  static constexpr std::uint32_t slack = 64;  // clocks
  static constexpr std::uint32_t ends = 0;    // the bucket above the highest and below the lowest, and of nobody
  static constexpr std::uint32_t last_arrival = (std::numeric_limits<std::uint32_t>::max)();
  struct entry {
    clock_type clock = 0;
    std::uint32_t bucket = ends;
    std::uint32_t arrival = 0;  // numbers those who come into buckets, until members are tracked
  };
  struct bucket {
    clock_type clock = 0;
    std::uint32_t below = ends;
    std::uint32_t above = ends;  // also the chain of free buckets
    index_list members{};        // only their number, until they are tracked
  };

  [[nodiscard]] bool wide() const noexcept { return maximum_ - minimum_ >= slack; }
  void find_ends() noexcept {
    while (counted_ > 0 && buckets_[buckets_[ends].above].members.size == 0) drop(buckets_[ends].above);
    while (counted_ > 0 && buckets_[buckets_[ends].below].members.size == 0) drop(buckets_[ends].below);
    minimum_ = counted_ == 0 ? 0 : buckets_[buckets_[ends].above].clock;
    maximum_ = counted_ == 0 ? 0 : buckets_[buckets_[ends].below].clock;
  }

  std::uint32_t new_bucket(clock_type clock, std::uint32_t below) noexcept {
    const std::uint32_t b = free_;
    const std::uint32_t above = buckets_[below].above;
    free_ = buckets_[b].above;
    buckets_[b] = {.clock = clock, .below = below, .above = above};
    return buckets_[below].above = buckets_[above].below = b;
  }
  void drop(std::uint32_t b) noexcept {
    buckets_[buckets_[b].below].above = buckets_[b].above;
    buckets_[buckets_[b].above].below = buckets_[b].below;
    buckets_[b].above = std::exchange(free_, b);
  }

  void enter(std::uint32_t worker, std::uint32_t b) noexcept {
    if (arrivals_ == last_arrival && !tracks_members_) track_members();
    entries_[worker].bucket = b;
    if (tracks_members_)
      buckets_[b].members.push_back(worker, neighbours_);
    else
      ++buckets_[b].members.size, entries_[worker].arrival = ++arrivals_;
  }
  void leave(std::uint32_t worker, std::uint32_t b) noexcept {
    if (tracks_members_)
      buckets_[b].members.erase(worker, neighbours_);
    else
      --buckets_[b].members.size;
    if (buckets_[b].members.size == 0) drop(b);
  }

  [[gnu::noinline]] void vacate(std::uint32_t b) noexcept { drop(b), find_ends(); }

  // tick() where it takes more than moving to the next bucket.
  [[gnu::noinline]] void step(std::uint32_t worker) noexcept {
    const clock_type clock = ++entries_[worker].clock;
    const std::uint32_t b = entries_[worker].bucket;
    if (b == ends) return;
    if (arrivals_ == last_arrival && !tracks_members_) track_members();  // there are no more numbers to be given
    if (buckets_[buckets_[b].above].clock != clock && buckets_[b].members.size == 1 && wide()) {
      buckets_[b].clock = clock;  // alone: the bucket moves along
      minimum_ = buckets_[buckets_[ends].above].clock;
      maximum_ = buckets_[buckets_[ends].below].clock;
    } else {
      const std::uint32_t above =
          buckets_[buckets_[b].above].clock == clock ? buckets_[b].above : new_bucket(clock, b);
      leave(worker, b);
      enter(worker, above);
      find_ends();
    }
  }

  // Brings the workers of each bucket into the order in which they came.
  void track_members() const noexcept {
    tracks_members_ = true;
    arrivals_ = last_arrival;
    const auto workers = static_cast<std::uint32_t>(entries_.size());
    for (std::uint32_t w = 0; w < workers; ++w) neighbours_[w].after = w;
    std::sort(neighbours_.begin(), neighbours_.end(), [this](const index_link& a, const index_link& b) {
      return entries_[a.after].arrival < entries_[b.after].arrival;
    });
    for (std::uint32_t i = 0; i < workers; ++i) entries_[i].arrival = neighbours_[i].after;  // makes room for the links
    for (bucket& b : buckets_) b.members = {};
    for (std::uint32_t i = 0; i < workers; ++i)
      if (const std::uint32_t w = entries_[i].arrival; counts(w))
        buckets_[entries_[w].bucket].members.push_back(w, neighbours_);
  }

  mutable detail::dynarray<entry> entries_;
  mutable detail::dynarray<bucket> buckets_;
  mutable detail::dynarray<index_link> neighbours_;  // in their buckets
  mutable std::uint32_t arrivals_ = 0;
  mutable bool tracks_members_ = false;
  std::uint32_t free_ = ends + 1;
  std::uint32_t counted_ = 0;
  clock_type minimum_ = 0;  // kept at hand, as is the maximum
  clock_type maximum_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
