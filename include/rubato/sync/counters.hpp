#ifndef RUBATO_SYNC_COUNTERS_HPP
#define RUBATO_SYNC_COUNTERS_HPP

#include <array>
#include <cstddef>
#include <cstdint>

#include "../core/reason.hpp"
#include "../dynarray.hpp"

namespace rubato::inline RUBATO_ABI {

/// How often each reason occurred, in all and per worker.
///
/// Cost    O(1). 112 bytes a worker, made at construction. Not thread-safe.
/// Tests   tests/sync/controller_test.cpp: NothingIsSilent
class counters {
 public:
  static constexpr std::size_t reasons = static_cast<std::size_t>(reason::count_);  ///< that are told apart
  static_assert(reasons == 28, "saved state has another layout: controller's format has to change as well");
  using row = std::array<std::uint32_t, reasons>;  ///< of one worker, by reason

  explicit counters(std::uint32_t capacity) : workers_(capacity) {}  ///< all are 0
  /// Counts one occurrence, of no worker where the index is not below the capacity.
  [[gnu::noinline]] void add(reason why, std::uint32_t worker) noexcept {
    ++total_[static_cast<std::size_t>(why)];
    if (worker < workers_.size()) ++workers_[worker][static_cast<std::size_t>(why)];
  }
  /// Of all workers, and of none in particular.
  [[nodiscard]] std::uint64_t total(reason why) const noexcept { return total_[static_cast<std::size_t>(why)]; }
  /// Of one worker. Precondition: worker < capacity.
  [[nodiscard]] std::uint32_t of(std::uint32_t worker, reason why) const noexcept {
    return workers_[worker][static_cast<std::size_t>(why)];
  }
  /// Times that the guard had to override the policy.
  [[nodiscard]] std::uint64_t overrides() const noexcept {
    return total(reason::liveness) + total(reason::bound) + total(reason::overdue) + total(reason::cancel_limit) +
           total(reason::rate_limit);
  }
  /// Saves or loads all of them, for the same capacity.
  template <class Archive>
  void state(Archive& bytes) {
    for (auto& n : total_) bytes(n);
    for (row& r : workers_)
      for (auto& n : r) bytes(n);
  }

 private:
  std::array<std::uint64_t, reasons> total_{};
  detail::dynarray<row> workers_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
