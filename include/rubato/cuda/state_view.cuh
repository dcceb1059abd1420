#ifndef RUBATO_CUDA_STATE_VIEW_CUH
#define RUBATO_CUDA_STATE_VIEW_CUH

#include <cstdint>

#include "controller_state.cuh"
#include "shared_body.cuh"

namespace rubato::inline RUBATO_ABI::cuda::detail {

using rubato::detail::larger;
using rubato::detail::smaller;

/// speed_classes::class_of and ::lower_edge.
[[nodiscard]] RUBATO_DETAIL_SHARED inline std::uint32_t speed_class_of(float step_time) noexcept {
  if (step_time <= 0.0F) return 0;
  const std::uint32_t quarter_octave = (__builtin_bit_cast(std::uint32_t, step_time) & 0x7FFFFFFF) >> 21;
  constexpr std::uint32_t first = (127 - 32) * 4;
  return quarter_octave <= first ? 0 : smaller(quarter_octave - first, speed_classes::count - 1);
}
[[nodiscard]] RUBATO_DETAIL_SHARED inline float lower_edge_of(std::uint32_t speed) noexcept {
  return __builtin_bit_cast(float, (speed + (127 - 32) * 4) << 21);
}

/// cluster_view of a controller on the device, with the names of that.
template <std::uint32_t Capacity, class Shape>
class state_view {
 public:
  RUBATO_DETAIL_SHARED state_view(const controller_state<Capacity, Shape>& state, std::uint32_t submitter) noexcept
      : state_{&state}, submitter_{submitter} {}

  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint32_t capacity() const noexcept { return state_->workers; }
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint32_t alive() const noexcept { return state_->alive; }
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint32_t busy() const noexcept { return state_->running; }
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint32_t parked() const noexcept { return alive() - busy(); }
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint32_t pending() const noexcept { return state_->adds; }
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint64_t version() const noexcept { return state_->version; }
  [[nodiscard]] RUBATO_DETAIL_SHARED double now() const noexcept { return state_->now; }
  [[nodiscard]] RUBATO_DETAIL_SHARED clock_type minimum_clock() const noexcept { return state_->minimum; }
  [[nodiscard]] RUBATO_DETAIL_SHARED bool minimum_moved() const noexcept {
    return state_->minimum != state_->asked_minimum;
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED clock_type clock_of_submitter() const noexcept {
    return submitter_ != no_worker ? state_->clock[submitter_] : 0;
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED float step_time_of_submitter() const noexcept {
    return submitter_ != no_worker ? state_->step_time[submitter_] : 0.0F;
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED float step_time_of(std::uint32_t worker) const noexcept {
    return state_->smoothed_step_time[worker];
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED bool counts(std::uint32_t worker) const noexcept {
    return is_member(state_->where[worker]);
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED static bool is_member(worker_state where) noexcept {
    return where == worker_state::running || where == worker_state::parked;
  }

  /// The member at the minimum that came there last; no_worker if there is none. O(workers).
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint32_t slowest() const noexcept {
    std::uint32_t found = no_worker;
    for (std::uint32_t w = 0; w < capacity(); ++w)
      if (counts(w) && state_->clock[w] == state_->minimum &&
          (found == no_worker || state_->arrival[w] > state_->arrival[found]))
        found = w;
    return found;
  }

  /// Lower edge of the class that holds the median step time; 0 before the first step. O(8 workers).
  [[nodiscard]] RUBATO_DETAIL_SHARED float median_step_time() const noexcept {
    const std::uint32_t known = slower_than(0, false);
    if (known == 0) return 0.0F;
    std::uint32_t speed = 0;  // the lowest class with more than known / 2 workers in it and in faster ones
    for (std::uint32_t bit = speed_classes::count / 2; bit > 0; bit /= 2)
      if (known - slower_than(speed + bit, true) <= known / 2) speed += bit;
    return lower_edge_of(speed);
  }

 private:
  // Members of known step time that are of this class or of a slower one.
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint32_t slower_than(std::uint32_t speed, bool only) const noexcept {
    std::uint32_t found = 0;
    for (std::uint32_t w = 0; w < capacity(); ++w)
      if (counts(w) && state_->smoothed_step_time[w] > 0.0F && (!only || state_->speed[w] >= speed)) ++found;
    return found;
  }

  const controller_state<Capacity, Shape>* state_;
  std::uint32_t submitter_;
};

}  // namespace rubato::inline RUBATO_ABI::cuda::detail

#endif
