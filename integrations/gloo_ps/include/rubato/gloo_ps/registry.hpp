#ifndef RUBATO_GLOO_PS_REGISTRY_HPP
#define RUBATO_GLOO_PS_REGISTRY_HPP

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <rubato/core/types.hpp>
#include <string>
#include <utility>
#include <vector>

#include "messages.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// What became of a seat while its session was talking.
enum class seat_fate : std::uint8_t {
  kept,      ///< it has it still
  replaced,  ///< a higher incarnation has it
  evicted    ///< the worker was taken out
};

/// A seat as its session sees it.
struct seat_state {
  std::atomic<seat_fate> fate = seat_fate::kept;  ///< looked at by the session every tick
  std::string why{};                              ///< for the worker; written before it is evicted, and once
};

/// Who is connected: one session for each worker index.
///
/// A higher incarnation takes the place of a lower one, and a worker can be taken out: the session that has the seat
/// finds its fate set, and ends.
/// Thread  any number
/// Tests   tests/integrations/gloo_ps/server_test.cpp: DuplicateRankIsRefused, HigherIncarnationReplaces,
///         EvictedWorkerHearsOfItAndMayComeBack
class registry {
 public:
  using fate = std::shared_ptr<seat_state>;                        ///< of one session, which made it
  explicit registry(std::uint32_t capacity) : seats_(capacity) {}  ///< nobody yet

  /// Takes the seat, or says why not. Pre: the index is below the capacity.
  refusal enter(worker_id who, const fate& of_session) {
    const std::lock_guard lock{mutex_};
    seat& s = seats_[who.index];
    if (s.of_session) {
      if (who.incarnation == s.incarnation) return refusal::duplicate_rank;
      if (who.incarnation < s.incarnation) return refusal::old_incarnation;
      s.of_session->fate = seat_fate::replaced;
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
  /// Takes a worker out, whatever its incarnation, and says which that was; nothing if none is connected under this
  /// index, or is on its way out.
  std::optional<worker_id> evict(std::uint32_t index, std::string why) {
    const std::lock_guard lock{mutex_};
    if (index >= seats_.size() || !seats_[index].of_session) return std::nullopt;
    if (!take_out(*seats_[index].of_session, std::move(why))) return std::nullopt;
    return worker_id{index, seats_[index].incarnation};
  }
  /// Takes this incarnation out, and no later one.
  bool evict(worker_id who, std::string why) {
    const std::lock_guard lock{mutex_};
    if (who.index >= seats_.size() || seats_[who.index].incarnation != who.incarnation) return false;
    return seats_[who.index].of_session && take_out(*seats_[who.index].of_session, std::move(why));
  }
  /// Seats that are taken, those of evicted workers until they leave among them.
  [[nodiscard]] std::uint32_t connected() const {
    const std::lock_guard lock{mutex_};
    return connected_;
  }

 private:
  struct seat {
    std::uint32_t incarnation = 0;
    fate of_session{};
  };
  static bool take_out(seat_state& seat, std::string why) {
    if (seat.fate != seat_fate::kept) return false;
    seat.why = std::move(why);
    seat.fate = seat_fate::evicted;
    return true;
  }
  mutable std::mutex mutex_;
  std::vector<seat> seats_;
  std::uint32_t connected_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
