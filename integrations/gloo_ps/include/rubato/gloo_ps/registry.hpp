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

/// What became of a seat while its session was talking.
enum class seat_fate : std::uint8_t { kept, replaced, evicted };

/// Who is connected: one session for each worker index.
///
/// A higher incarnation takes the place of a lower one, and an operator can take a worker out: the session that has the
/// seat finds its fate set, and ends.
/// Thread  any number
/// Tests   tests/integrations/gloo_ps/server_test.cpp: DuplicateRankIsRefused, HigherIncarnationReplaces,
///         EvictedWorkerHearsOfItAndMayComeBack
class registry {
 public:
  using fate = std::shared_ptr<std::atomic<seat_fate>>;
  explicit registry(std::uint32_t capacity) : seats_(capacity) {}

  /// Takes the seat, or says why not. Pre: the index is below the capacity.
  refusal enter(worker_id who, const fate& of_session) {
    const std::lock_guard lock{mutex_};
    seat& s = seats_[who.index];
    if (s.of_session) {
      if (who.incarnation == s.incarnation) return refusal::duplicate_rank;
      if (who.incarnation < s.incarnation) return refusal::old_incarnation;
      s.of_session->store(seat_fate::replaced);
      --connected_;
    }
    s = {who.incarnation, of_session};
    ++connected_;
    return refusal::none;
  }
  /// Gives the seat up, if it is still this session's.
  void leave(worker_id who, const fate& of_session) {
    const std::lock_guard lock{mutex_};
    if (seats_[who.index].of_session != of_session) return;
    seats_[who.index] = {};
    --connected_;
  }
  /// Takes a worker out; false if none is connected under this index.
  bool evict(std::uint32_t index) {
    const std::lock_guard lock{mutex_};
    if (index >= seats_.size() || !seats_[index].of_session) return false;
    seats_[index].of_session->store(seat_fate::evicted);
    return true;
  }
  [[nodiscard]] std::uint32_t connected() const {
    const std::lock_guard lock{mutex_};
    return connected_;
  }

 private:
  struct seat {
    std::uint32_t incarnation = 0;
    fate of_session{};
  };
  mutable std::mutex mutex_;
  std::vector<seat> seats_;
  std::uint32_t connected_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
