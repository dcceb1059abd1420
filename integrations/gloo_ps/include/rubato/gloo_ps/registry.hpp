#ifndef RUBATO_GLOO_PS_REGISTRY_HPP
#define RUBATO_GLOO_PS_REGISTRY_HPP

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <rubato/core/types.hpp>
#include <vector>

#include "messages.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// Who is connected: one session for each worker index.
///
/// A higher incarnation takes the place of a lower one, whose session finds `replaced` set and ends.
/// Thread  any number
/// Tests   tests/integrations/gloo_ps/server_test.cpp: DuplicateRankIsRefused, HigherIncarnationReplaces
class registry {
 public:
  using flag = std::shared_ptr<std::atomic<bool>>;
  explicit registry(std::uint32_t capacity) : seats_(capacity) {}

  /// Takes the seat, or says why not. Pre: the index is below the capacity.
  refusal enter(worker_id who, const flag& replaced) {
    const std::lock_guard lock{mutex_};
    seat& s = seats_[who.index];
    if (s.replaced) {
      if (who.incarnation == s.incarnation) return refusal::duplicate_rank;
      if (who.incarnation < s.incarnation) return refusal::old_incarnation;
      s.replaced->store(true);
      --connected_;
    }
    s = {who.incarnation, replaced};
    ++connected_;
    return refusal::none;
  }
  /// Gives the seat up, if it is still this session's.
  void leave(worker_id who, const flag& replaced) {
    const std::lock_guard lock{mutex_};
    if (seats_[who.index].replaced != replaced) return;
    seats_[who.index] = {};
    --connected_;
  }
  [[nodiscard]] bool connected(std::uint32_t index) const {
    const std::lock_guard lock{mutex_};
    return seats_[index].replaced != nullptr;
  }
  [[nodiscard]] std::uint32_t connected() const {
    const std::lock_guard lock{mutex_};
    return connected_;
  }

 private:
  struct seat {
    std::uint32_t incarnation = 0;
    flag replaced{};
  };
  mutable std::mutex mutex_;
  std::vector<seat> seats_;
  std::uint32_t connected_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
