#ifndef RUBATO_SYNC_OUTBOX_HPP
#define RUBATO_SYNC_OUTBOX_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "sink.hpp"

namespace rubato::inline RUBATO_ABI {

/// A sink that keeps the effects, in their order, for a host that acts on them after unlocking.
///
///     { std::lock_guard lock{mutex}; sync.commit(work, now, outcome::done, reply, box); }
///     box.deliver(host);
///
/// Keeping the total order over several threads is the host's part: one thread delivers, or each its own effects where
/// the policy never flushes.
/// Cost    O(1) per effect; allocates only beyond the largest number that each of its two buffers, which take turns,
///         ever kept (`reserve` is of both). Not thread-safe.
/// Errors  none; if a callback throws, which it must not, the effects after it are kept for the next deliver().
/// Tests   tests/sync/outbox_test.cpp: DeliversInOrder, DeliversOnce, KeepsWhatACallbackThatThrowsLeft;
///         tests/properties/no_allocation_test.cpp: AllocatesNothingWithinWhatIsReserved
template <class Ticket>
class outbox {
 public:
  /// Keeps so many effects, and delivers as many, without an allocation.
  explicit outbox(std::size_t reserve = 0) { effects_.reserve(reserve), delivered_.reserve(reserve); }
  void release(Ticket&& ticket, worker_id worker, const grant& terms) {
    effects_.push_back({.what = kind::release, .worker = worker, .terms = terms, .ticket = std::move(ticket)});
  }
  void flush(std::uint64_t round, float scale, std::uint32_t n) {
    effects_.push_back({.what = kind::flush, .n = n, .scale = scale, .round = round});
  }
  void discard(std::uint64_t round, std::uint32_t n) {
    effects_.push_back({.what = kind::discard, .n = n, .round = round});
  }
  void cancel(worker_id worker) { effects_.push_back({.what = kind::cancel, .worker = worker}); }
  void ready(worker_id worker) { effects_.push_back({.what = kind::ready, .worker = worker}); }
  void abandon(Ticket&& ticket, worker_id worker, reason why) {
    effects_.push_back({.what = kind::abandon, .why = why, .worker = worker, .ticket = std::move(ticket)});
  }

  [[nodiscard]] std::size_t size() const noexcept { return effects_.size(); }  ///< effects to be delivered

  /// Plays the effects to another sink, and forgets them. It must have every callback but `ready`. A callback may cause
  /// further effects here: they are delivered after those before them, by this same call.
  template <class Sink>
  void deliver(Sink&& sink) {
    if (!delivered_.empty()) return;  // called from a callback: the outer call goes on
    while (!effects_.empty()) {
      std::swap(effects_, delivered_);
      for (delivery under_way{*this}; under_way.next < delivered_.size();)
        switch (effect& e = delivered_[under_way.next++]; e.what) {
          case kind::release: sink.release(std::move(*e.ticket), e.worker, e.terms); break;
          case kind::flush: sink.flush(e.round, e.scale, e.n); break;
          case kind::discard: sink.discard(e.round, e.n); break;
          case kind::cancel: sink.cancel(e.worker); break;
          case kind::abandon: sink.abandon(std::move(*e.ticket), e.worker, e.why); break;
          case kind::ready: if constexpr (requires { sink.ready(e.worker); }) sink.ready(e.worker); break;
        }
    }
  }

 private:
  enum class kind : std::uint8_t { release, flush, discard, cancel, abandon, ready };
  struct effect {
    kind what = kind::release;
    reason why = reason::none;
    std::uint32_t n = 0;
    float scale = 0.0F;
    std::uint64_t round = 0;
    worker_id worker{};
    grant terms{};
    std::optional<Ticket> ticket{};
  };
  struct delivery {
    outbox& box;
    std::size_t next = 0;
    ~delivery() {  // what is left when a callback throws goes back, before what has come since
      auto& rest = box.delivered_;
      const auto left = rest.begin() + static_cast<std::ptrdiff_t>(next);
      box.effects_.insert(box.effects_.begin(), std::make_move_iterator(left), std::make_move_iterator(rest.end()));
      rest.clear();
    }
  };
  std::vector<effect> effects_;
  std::vector<effect> delivered_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
