#ifndef RUBATO_SYNC_EXTRAS_SWITCH_PAUSES_HPP
#define RUBATO_SYNC_EXTRAS_SWITCH_PAUSES_HPP

#include <cstdint>

#include "../../core/record.hpp"
#include "../observer.hpp"

namespace rubato::inline RUBATO_ABI {

/// How long a job stood still for a change of its policy, in the host's unit of time.
struct switch_pause {
  double last_push = 0;      ///< when the last push before it was in; the change itself where there was none
  double changed = 0;        ///< when switch_to() was called
  double first_release = 0;  ///< when the first worker after it was released

  /// From the last push before to the first release after: what is published of systems that restart for it.
  [[nodiscard]] constexpr double length() const noexcept { return first_release - last_push; }
  /// From the call to the first release: what the change itself costs.
  [[nodiscard]] constexpr double after_change() const noexcept { return first_release - changed; }
};

/// Observer that measures the pause of each change of the policy. A change that is followed by another one before
/// anybody is released counts with it. A policy that changes its rule by itself, as sync_switch does, makes no pause
/// that could be seen here: that is one decision of one policy.
///
/// Cost    O(1) a record. No allocation. Not thread-safe.
/// Tests   tests/extras/switch_pauses_test.cpp: FromTheLastPushToTheFirstRelease, NobodyReleasedIsNoPauseYet,
///         ChangesWithoutAReleaseBetweenAreOne
class switch_pauses {
 public:
  /// Called by the controller.
  void operator()(const record& r) noexcept {
    if (r.what == record::kind::commit && !open_) under_way_.last_push = r.now, pushed_ = true;
    if (r.what == record::kind::change_policy && !open_) {
      open_ = true;
      under_way_.changed = r.now;
      if (!pushed_) under_way_.last_push = r.now;
    }
    if (r.what != record::kind::release || !open_) return;
    open_ = false;
    under_way_.first_release = r.now;
    latest_ = under_way_;
    if (count_++ == 0 || latest_.length() > longest_.length()) longest_ = latest_;
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }            ///< pauses that are over
  [[nodiscard]] const switch_pause& latest() const noexcept { return latest_; }    ///< zeros while there is none
  [[nodiscard]] const switch_pause& longest() const noexcept { return longest_; }  ///< by length(); likewise

 private:
  switch_pause under_way_{};
  switch_pause latest_{};
  switch_pause longest_{};
  std::uint64_t count_ = 0;
  bool open_ = false;
  bool pushed_ = false;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
