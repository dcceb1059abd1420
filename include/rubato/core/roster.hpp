#ifndef RUBATO_CORE_ROSTER_HPP
#define RUBATO_CORE_ROSTER_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "../dynarray.hpp"
#include "../pinned.hpp"
#include "archive.hpp"
#include "event.hpp"
#include "parking.hpp"
#include "speed_classes.hpp"
#include "vector_clock.hpp"

namespace rubato::inline RUBATO_ABI {

/// Where a worker is in its life. Exclusion is kept apart: an excluded worker goes on running, being admitted, parking.
enum class worker_state : std::uint8_t {
  absent,    ///< never joined
  joining,   ///< waits for the quorum, or for the commit of a gradient of its former incarnation
  running,   ///< computes a step under a grant
  released,  ///< free to go, but its pull (or a new ticket) has not come yet
  admitted,  ///< its gradient is admitted and not yet committed
  parked,    ///< waits for its release
  left,      ///< gone by its own wish; whoever is gone may come back with a higher incarnation
  done,      ///< has finished its work
  dead,      ///< was lost
  count_     ///< number of states
};

/// The state as it appears in logs.
[[nodiscard]] constexpr std::string_view name(worker_state state) noexcept {
  constexpr std::array<std::string_view, 9> names{"absent", "joining", "running", "released", "admitted",
                                                  "parked", "left",    "done",    "dead"};
  return static_cast<std::size_t>(state) < names.size() ? names[static_cast<std::size_t>(state)] : "invalid";
}

/// What is known of one worker.
struct worker_record {
  std::uint32_t incarnation = 0;              ///< of its latest life
  worker_state state = worker_state::absent;  ///< where it is in that life
  bool excluded = false;                      ///< out of every count, until it is readmitted
  bool linked = false;                        ///< in the parking lists
  bool withheld = false;                      ///< released by its policy, and parked until the guard's bound lets it go
  reason doomed = reason::none;               ///< why the gradient it is computing will be dropped
  std::uint8_t speed = 0;                     ///< class of its smoothed step time
  grant granted{};                            ///< terms of the step it runs, ran last, or will run once its pull comes
  double granted_at = 0.0;                    ///< start of that step, in the host's unit of time
  double parked_at = 0.0;                     ///< since when it is in the parking lists, likewise
  float step_time = 0.0F;                     ///< of its latest step, from grant to arrival
  float smoothed_step_time = 0.0F;            ///< moved by a fifth with each step; 0 before its first one is over
  std::uint64_t step = 0;                     ///< of its latest push: the host's number, or counted here
  std::uint64_t highest_step = 0;             ///< numbered by the host in this incarnation; pushes up to it are repeats
  std::uint64_t round = no_round;             ///< the round that its latest gradient joined

  static constexpr std::uint64_t no_round = ~std::uint64_t{0};  ///< `round` of a gradient that joined none
};

/// Who is where: membership, states, counts, clocks, and the orders in which parked workers wait.
///
/// A worker is *counted* while it runs, is released, admitted or parked, and is not excluded. The vector clock and the
/// speed classes hold exactly the counted; the parking orders those of them that are parked and `linked`.
///
/// Cost    O(1) each unless stated. No allocation after construction. Not thread-safe.
/// Tests   tests/core/roster_test.cpp
class roster {
 public:
  explicit roster(std::uint32_t capacity)
      : capacity_{capacity}, records_(capacity), running_links_(capacity), scratch_(capacity), clock_{capacity},
        parking_{capacity} {
    in_[static_cast<std::size_t>(worker_state::absent)] = capacity;
  }  ///< everybody is absent
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }  ///< worker indices are below it
  /// What is known of a worker. Precondition: worker < capacity().
  [[nodiscard]] const worker_record& operator[](std::uint32_t worker) const noexcept { return records_[worker]; }
  [[nodiscard]] worker_record& operator[](std::uint32_t worker) noexcept { return records_[worker]; }  ///< likewise
  [[nodiscard]] const vector_clock& clock() const noexcept { return clock_; }     ///< steps of everybody
  [[nodiscard]] vector_clock& clock() noexcept { return clock_; }                 ///< to tick()
  [[nodiscard]] const speed_classes& speeds() const noexcept { return speeds_; }  ///< of the counted, once measured
  [[nodiscard]] const parking& parked() const noexcept { return parking_; }       ///< the parking orders
  [[nodiscard]] parking& parked() noexcept { return parking_; }                   ///< to ask for the next in an order
  /// Its latest life.
  [[nodiscard]] worker_id id(std::uint32_t worker) const noexcept { return {worker, records_[worker].incarnation}; }

  /// Workers in a state, without the excluded ones.
  [[nodiscard]] std::uint32_t in(worker_state state) const noexcept { return in_[static_cast<std::size_t>(state)]; }
  [[nodiscard]] std::uint32_t excluded() const noexcept { return excluded_; }  ///< workers
  /// Counted workers that will be heard of without any release.
  [[nodiscard]] std::uint32_t busy() const noexcept {
    return in(worker_state::running) + in(worker_state::released) + in(worker_state::admitted);
  }
  [[nodiscard]] static constexpr bool is_member(worker_state s) noexcept {
    return s >= worker_state::running && s <= worker_state::parked;
  }  ///< counts, unless it is excluded
  [[nodiscard]] static constexpr bool is_gone(worker_state s) noexcept {
    return s >= worker_state::left && s <= worker_state::dead;
  }  ///< may come back, as a higher incarnation
  [[nodiscard]] bool counted(std::uint32_t worker) const noexcept { return clock_.counts(worker); }  ///< see roster
  /// Changes a worker's state, and the number of those in it; clock and parking orders are the caller's.
  [[gnu::always_inline]] void move_to(std::uint32_t worker, worker_state state) noexcept {
    worker_record& r = records_[worker];
    if (!r.excluded) --in_[static_cast<std::size_t>(r.state)], ++in_[static_cast<std::size_t>(state)];
    if (tracks_running_) [[unlikely]]
      return reorder(worker, state);
    r.state = state;
  }

  /// The gradient that a running worker computes will be dropped for this reason.
  void doom(std::uint32_t worker, reason why) noexcept {
    if (tracks_running_ && in_order(records_[worker])) running_.erase(worker, running_links_);
    records_[worker].doomed = why;
  }

  /// A joining worker becomes a counted, parked member at this clock. O(distinct clocks).
  void enter(std::uint32_t worker, clock_type clock, double now) noexcept {
    clock_.set(worker, clock);
    count(worker);
    move_to(worker, worker_state::parked);
    park(worker, now);
  }
  /// Puts a counted worker in state parked into the parking orders.
  void park(std::uint32_t worker, double now) noexcept {
    worker_record& r = records_[worker];
    r.parked_at = now;
    r.linked = true;
    parking_.park(worker, r.speed);
  }
  /// Takes a worker out of the parking orders, if it is in them.
  [[gnu::always_inline]] void unpark(std::uint32_t worker) noexcept {
    worker_record& r = records_[worker];
    r.withheld = false;
    if (!r.linked) return;
    r.linked = false;
    parking_.unpark(worker);
  }

  /// Lets the longest parked run, one after another, until release(worker, record) answers false or `most` run; returns
  /// how many. Counts follow at the end. 0 where an order is kept that each must be moved in by itself.
  template <class Release>
  [[gnu::always_inline]] std::uint32_t run_front(std::uint32_t most, const Release& release) {
    if (tracks_running_) return 0;
    const std::uint32_t count = parking_.take_front(most, [&](std::uint32_t worker) __attribute__((always_inline)) {
      worker_record& r = records_[worker];
      if (!release(worker, r)) return false;
      r.linked = r.withheld = false;
      r.state = worker_state::running;
      r.doomed = reason::none;
      return true;
    });
    in_[static_cast<std::size_t>(worker_state::parked)] -= count;
    in_[static_cast<std::size_t>(worker_state::running)] += count;
    return count;
  }

  /// Ends a worker's life: left, done or dead. Its clock is kept for its return.
  void depart(std::uint32_t worker, worker_state how) noexcept {
    worker_record& r = records_[worker];
    if (r.excluded) {
      r.excluded = false;
      --excluded_;
      ++in_[static_cast<std::size_t>(r.state)];
    }
    uncount(worker);
    r.step_time = r.smoothed_step_time = 0.0F;
    r.speed = 0;
    move_to(worker, how);
  }

  /// Takes a member that counts out of every count; the gradient that it computes will be dropped.
  void exclude(std::uint32_t worker) noexcept {
    worker_record& r = records_[worker];
    uncount(worker);
    --in_[static_cast<std::size_t>(r.state)];
    r.excluded = true;
    ++excluded_;
    if (r.state == worker_state::running) doom(worker, reason::excluded);
    if (r.state == worker_state::released) r.state = worker_state::parked;  // the promise is withdrawn
  }

  /// Counts an excluded worker again, its clock moved into [minimum, highest + (parked)]. O(clocks). True if moved.
  bool readmit(std::uint32_t worker, clock_type highest, double now) noexcept {
    worker_record& r = records_[worker];
    const clock_type own = clock_.clock(worker);
    const clock_type most = saturating_add(highest, r.state == worker_state::parked ? 1 : 0);
    const clock_type fitting = clock_.size() == 0 ? own : std::clamp(own, clock_.minimum(), most);
    if (fitting != own) clock_.set(worker, fitting);
    r.excluded = false;
    --excluded_;
    ++in_[static_cast<std::size_t>(r.state)];
    count(worker);
    if (r.state == worker_state::parked) park(worker, now);
    return fitting != own;
  }

  /// Notes the duration of a finished step (smoothing 0.2 per step), taken for 1e-30 to 1e30.
  [[gnu::always_inline]] void note_step_time(std::uint32_t worker, double duration) noexcept {
    worker_record& r = records_[worker];
    const bool known = r.smoothed_step_time > 0.0F;
    r.step_time = static_cast<float>((std::min)((std::max)(1e-30, duration), 1e30));  // NaN: the least
    r.smoothed_step_time = known ? r.smoothed_step_time + 0.2F * (r.step_time - r.smoothed_step_time) : r.step_time;
    const auto speed = static_cast<std::uint8_t>(speed_classes::class_of(r.smoothed_step_time));
    // Whether the class has changed is not to be guessed: it often has.
    if (counted(worker)) {
      if (known) [[likely]]
        speeds_.move(r.speed, speed);
      else
        speeds_.add(speed);
    }
    r.speed = speed;
  }

  /// Longest running worker first, without the doomed, so granted versions never fall along the list. The order is kept
  /// from the first call on, which costs O(capacity log capacity) and allocates nothing.
  [[nodiscard]] std::uint32_t first_running() noexcept {
    if (!tracks_running_) track_running();
    return running_.front;
  }
  /// The one after a worker in that order; no_worker at its end.
  [[nodiscard]] std::uint32_t next_running(std::uint32_t worker) const noexcept { return running_links_[worker].after; }

  /// Shifts the counted clocks so that the slowest is 0, and limits them to `bound` for workers that have started a
  /// step and to bound + 1 for the parked; calls clamped(worker) for each that was limited. O(capacity).
  template <class Clamped>
  void rebase(clock_type bound, Clamped&& clamped) noexcept {
    clock_.rebase(
        [&](std::uint32_t w) {
          return records_[w].state == worker_state::parked ? saturating_add(bound, 1) : bound;
        },
        clamped);
  }

  /// Saves, or rebuilds a fresh roster of the same capacity. Bytes that contradict each other fail the archive.
  void state(archive& bytes) {
    std::vector<std::pair<clock_type, std::uint32_t>> members;
    for (std::uint32_t w = 0; w < capacity(); ++w) {
      worker_record r = records_[w];
      clock_type clock = clock_.clock(w);
      bytes(r.incarnation, r.state, r.excluded, r.withheld, r.doomed);
      bytes(r.granted);
      bytes(r.granted_at, r.parked_at, r.step_time, r.smoothed_step_time, r.step, r.highest_step, r.round,
            clock);
      if (bytes.saving()) continue;
      if (!bytes.ok() || r.state >= worker_state::count_ || r.state == worker_state::admitted || clock >> 63 != 0 ||
          r.doomed >= reason::count_ || (r.excluded && !is_member(r.state)) ||
          !pinned::within(r.smoothed_step_time, 0, 1e30F) || !pinned::within(r.step_time, 0, 1e30F) ||
          pinned::is_nan(r.granted_at) || pinned::is_nan(r.parked_at) || !pinned::is_finite(r.granted.lr_scale))
        return bytes.fail();
      clock_.set(w, clock);
      r.speed = static_cast<std::uint8_t>(speed_classes::class_of(r.smoothed_step_time));
      --in_[static_cast<std::size_t>(worker_state::absent)];
      ++(r.excluded ? excluded_ : in_[static_cast<std::size_t>(r.state)]);
      records_[w] = r;
      if (is_member(r.state) && !r.excluded) members.emplace_back(clock, w);
    }
    std::sort(members.begin(), members.end());  // in any other order each insertion could pass all those before it
    for (const auto& [clock, worker] : members) count(worker);
    std::uint32_t parked = parking_.size();
    bytes(parked);
    if (!bytes.saving() && parked != in(worker_state::parked)) return bytes.fail();
    std::uint32_t w = parking_.front();
    for (std::uint32_t i = 0; i < parked && bytes.ok(); ++i) {
      bytes(w);
      if (bytes.saving()) {
        w = parking_.after(w);
      } else {
        if (!bytes.ok() || w >= capacity()) return bytes.fail();
        if (records_[w].state != worker_state::parked || !counted(w) || records_[w].linked) return bytes.fail();
        park(w, records_[w].parked_at);
      }
    }
  }

 private:
  void count(std::uint32_t worker) noexcept {
    clock_.insert(worker);
    if (records_[worker].smoothed_step_time > 0.0F) speeds_.add(records_[worker].speed);
  }
  void uncount(std::uint32_t worker) noexcept {
    if (!counted(worker)) return;
    unpark(worker);
    clock_.erase(worker);
    if (records_[worker].smoothed_step_time > 0.0F) speeds_.remove(records_[worker].speed);
  }

  [[nodiscard]] static bool in_order(const worker_record& r) noexcept {
    return r.state == worker_state::running && r.doomed == reason::none;
  }

  [[gnu::noinline]] void reorder(std::uint32_t worker, worker_state state) noexcept {
    worker_record& r = records_[worker];
    if (in_order(r)) running_.erase(worker, running_links_);
    r.state = state;
    if (in_order(r)) running_.push_back(worker, running_links_);
  }

  // Granted versions only grow, so sorting by them restores the order of the grants.
  void track_running() noexcept {
    tracks_running_ = true;
    std::uint32_t n = 0;
    for (std::uint32_t w = 0; w < capacity(); ++w)
      if (in_order(records_[w])) scratch_[n++] = w;
    std::sort(scratch_.data(), scratch_.data() + n, [this](std::uint32_t a, std::uint32_t b) {
      const std::uint64_t at = records_[a].granted.version, other = records_[b].granted.version;
      return at != other ? at < other : a < b;
    });
    for (std::uint32_t i = 0; i < n; ++i) running_.push_back(scratch_[i], running_links_);
  }

  std::uint32_t capacity_;
  detail::dynarray<worker_record> records_;
  detail::dynarray<index_link> running_links_;
  detail::dynarray<std::uint32_t> scratch_;
  index_list running_;
  vector_clock clock_;
  parking parking_;
  speed_classes speeds_;
  std::array<std::uint32_t, static_cast<std::size_t>(worker_state::count_)> in_{};
  std::uint32_t excluded_ = 0;
  bool tracks_running_ = false;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
