#ifndef RUBATO_PS_LITE_REQUEST_WINDOW_HPP
#define RUBATO_PS_LITE_REQUEST_WINDOW_HPP

#include <cstdint>

namespace rubato::ps_lite {

/// Which requests of one customer have come already. ps-lite numbers them from 0 (KVMeta::timestamp), and its network
/// may bring one twice, or two in the wrong order.
///
/// Exact for the 64 latest numbers; what is older counts as seen.
/// Cost    O(1), 16 bytes. Not thread-safe.
/// Tests   tests/integrations/ps_lite/request_window_test.cpp
class request_window {
 public:
  /// True the first time that this number comes. A negative one is no number, and is always new.
  [[nodiscard]] bool first_time(int timestamp) noexcept {
    if (timestamp < 0) return true;
    const auto number = static_cast<std::uint32_t>(timestamp);
    if (number >= next_) {
      const std::uint32_t ahead = number - next_ + 1;
      seen_ = ahead < 64 ? seen_ << ahead : 0;
      seen_ |= 1, next_ = number + 1;
      return true;
    }
    const std::uint32_t age = next_ - 1 - number;
    if (age >= 64) return false;
    const std::uint64_t bit = std::uint64_t{1} << age;
    return (seen_ & bit) == 0 ? (seen_ |= bit, true) : false;
  }
  /// Whether all numbers above `after` and below `before` have come, or are too old to tell.
  [[nodiscard]] bool complete(int after, int before) const noexcept {
    for (std::int64_t number = std::int64_t{before} - 1; number > after && number >= 0; --number) {
      const std::int64_t age = std::int64_t{next_} - 1 - number;
      if (age >= 64) return true;
      if (age < 0 || (seen_ >> age & 1) == 0) return false;
    }
    return true;
  }

 private:
  std::uint32_t next_ = 0;  // one more than the highest number
  std::uint64_t seen_ = 0;  // bit i: number next_ - 1 - i has come
};

}  // namespace rubato::ps_lite

#endif
