#ifndef RUBATO_CUDA_BOOKKEEPING_CUH
#define RUBATO_CUDA_BOOKKEEPING_CUH

#include <cstdint>

#include "controller_state.cuh"
#include "rules.cuh"

namespace rubato::inline RUBATO_ABI::cuda::detail {

/// What a controller on the device keeps count of whatever its rule: rounds, clocks, who waits, and what the guard
/// allows. The host's ledger, vector_clock, parking and guard, with orders kept as they are cheap to read for a few
/// dozen workers: the parked in an array, the slowest and the longest running by a scan where somebody asks.
template <std::uint32_t Capacity, class Shape>
class bookkeeping {
 protected:
  using state_type = controller_state<Capacity, Shape>;
  using view_type = state_view<Capacity, Shape>;

  RUBATO_DETAIL_SHARED bookkeeping(state_type& state, decision_record<Capacity>& record) noexcept
      : s_{state}, out_{record} {}

  [[nodiscard]] RUBATO_DETAIL_SHARED view_type view(std::uint32_t worker) const noexcept { return {s_, worker}; }
  RUBATO_DETAIL_SHARED void count(reason why) noexcept { ++s_.counted[static_cast<std::uint32_t>(why)]; }

  // --- ledger

  RUBATO_DETAIL_SHARED void end_round(bool flushes, float scale) noexcept {
    out_.flushes = flushes;
    out_.discards = !flushes;
    out_.adds = s_.adds;
    out_.flush_scale = flushes ? rounded_once::quotient(scale, static_cast<float>(s_.adds)) : 0.0F;
    if (flushes)
      ++s_.updates, ++s_.version;
    else
      s_.counted[static_cast<std::uint32_t>(reason::switched)] += s_.adds;
    s_.adds = 0;
    ++s_.round;
  }

  // --- vector_clock

  RUBATO_DETAIL_SHARED void come_to(std::uint32_t w, clock_type clock) noexcept {
    s_.clock[w] = clock;
    s_.arrival[w] = ++s_.arrivals;
    if (s_.at_minimum == 0 || clock < s_.minimum)
      s_.minimum = clock, s_.at_minimum = 1;
    else if (clock == s_.minimum)
      ++s_.at_minimum;
  }

  // A member is no longer at this clock.
  RUBATO_DETAIL_SHARED void leave_clock(clock_type clock) noexcept {
    if (clock == s_.minimum && --s_.at_minimum == 0) find_minimum();
  }

  RUBATO_DETAIL_SHARED void tick(std::uint32_t w) noexcept {
    const clock_type before = s_.clock[w];
    s_.clock[w] = before + 1;
    s_.arrival[w] = ++s_.arrivals;
    leave_clock(before);
  }

  // Clocks from 0 on, limited to the bound, and by one more for the parked.
  RUBATO_DETAIL_SHARED void rebase(clock_type bound) noexcept {
    const clock_type shift = s_.minimum;
    for (std::uint32_t w = s_.workers; w-- > 0;) {  // downwards: those who are limited arrive as they do at the host
      const clock_type clock = s_.clock[w] - smaller(s_.clock[w], shift);
      const clock_type limit = s_.where[w] == worker_state::parked ? saturating_add(bound, 1) : bound;
      const bool limits = view_type::is_member(s_.where[w]) && clock > limit;
      s_.clock[w] = limits ? limit : clock;
      if (limits) s_.arrival[w] = ++s_.arrivals, count(reason::clock_clamped);
    }
    find_minimum();
  }

  // --- roster and parking

  RUBATO_DETAIL_SHARED void note_step_time(std::uint32_t w, double duration) noexcept {
    const auto time = static_cast<float>(duration > 1e30 ? 1e30 : larger(1e-30, duration));
    const float usual = s_.smoothed_step_time[w];
    s_.step_time[w] = time;
    s_.smoothed_step_time[w] = usual > 0.0F ? exact_arithmetic::plus_product(usual, 0.2F, time - usual) : time;
    s_.speed[w] = static_cast<std::uint8_t>(speed_class_of(s_.smoothed_step_time[w]));
  }

  RUBATO_DETAIL_SHARED void park(std::uint32_t w) noexcept {
    if (w == no_worker || s_.where[w] != worker_state::parked || s_.linked[w]) return;
    s_.parked_at[w] = s_.now;
    s_.linked[w] = true;
    s_.order[s_.parked++] = w;
  }

  RUBATO_DETAIL_SHARED void unpark(std::uint32_t w) noexcept {
    s_.withheld[w] = false;
    if (!s_.linked[w]) return;
    s_.linked[w] = false;
    std::uint32_t at = 0;
    while (s_.order[at] != w) ++at;
    --s_.parked;
    for (; at < s_.parked; ++at) s_.order[at] = s_.order[at + 1];
  }

  // --- guard

  [[nodiscard]] RUBATO_DETAIL_SHARED clock_type highest() const noexcept {
    if (!s_.guard.enabled) return unbounded;
    return saturating_add(s_.minimum, smaller(s_.guard.bound, bound_of(s_.policy)));
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED bool allows(std::uint32_t w) const noexcept { return s_.clock[w] <= highest(); }

  // The worker that the guard's age puts before this one, or this one.
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint32_t overdue_or(std::uint32_t worker) noexcept {
    if (!s_.guard.enabled) return worker;
    for (std::uint32_t i = 0; i < s_.parked; ++i) {
      const std::uint32_t w = s_.order[i];
      if (!(s_.now - s_.parked_at[w] > s_.guard.max_wait)) break;
      if (!allows(w)) continue;
      if (w != worker) count(reason::overdue);
      return w;
    }
    return worker;
  }

  state_type& s_;
  decision_record<Capacity>& out_;

 private:
  RUBATO_DETAIL_SHARED void find_minimum() noexcept {
    clock_type least = unbounded;
    std::uint32_t at = 0;
    for (std::uint32_t w = 0; w < s_.workers; ++w) {
      if (!view_type::is_member(s_.where[w])) continue;
      const clock_type clock = s_.clock[w];
      at = clock < least ? 1 : at + (clock == least ? 1 : 0);
      least = smaller(least, clock);
    }
    s_.minimum = at == 0 ? 0 : least;
    s_.at_minimum = at;
  }
};

}  // namespace rubato::inline RUBATO_ABI::cuda::detail

#endif
