#ifndef RUBATO_THREADS_PS_SHARD_HPP
#define RUBATO_THREADS_PS_SHARD_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "slice.hpp"

namespace rubato::inline RUBATO_ABI::threads_ps {

/// A slice that many threads share.
///
/// What the controller decides (flush, discard) is posted, which takes no time, in the order of the decisions. Whoever
/// touches the slice next carries it out first: so nobody reads or moves parameters that lack a flush which was decided
/// before, and no arithmetic happens where decisions are made. A gradient is added before its commit, hence before the
/// flush of its round is posted.
///
/// Throws  what the rule throws, out of the call that it was in: of a flush that is whoever touches the slice next. The
///         flush counts, and is over; what is posted behind it is carried out by the next call. A call that throws has
///         done nothing of its own, but for what the rule had moved.
/// Thread  safe: one mutex around the slice, another around the posted effects.
/// Cost    post: O(1), no allocation while no more than `rounds` effects wait, and so no throw.
///         The rest: O(size), and O(size) for each posted effect that it meets. No allocation once as many rounds were
///         open as ever will be.
/// Tests   tests/integrations/threads_ps/shard_test.cpp: TellsTheVersionThatWasMet, PostedEffectsComeFirst,
///         PostedDiscardsLeaveTheVersion, AFlushThatThrowsIsOverAndTheNextComes;
///         tests/integrations/threads_ps/no_allocation_test.cpp
template <UpdateRule Rule>
class shard {
 public:
  /// `rounds`: how many may end until somebody touches the slice again. Gradients are added to each of them first, so
  /// that is no more than there are workers.
  shard(std::span<const float> initial, Rule rule, std::size_t rounds = 1) : slice_{initial, std::move(rule)} {
    posted_.reserve(rounds);
    due_.reserve(rounds);
  }

  [[nodiscard]] std::size_t size() const noexcept { return slice_.size(); }  ///< parameters of the slice

  /// Copies the slice. Returns its version. Precondition: to.size() == size(), and so for the gradients below.
  std::uint64_t read(std::span<float> to) {
    const std::lock_guard lock{mutex_};
    carry_out_posted();
    std::copy(slice_.parameters().begin(), slice_.parameters().end(), to.begin());
    return slice_.version();
  }

  /// One update by this gradient. Returns the version that it meets.
  std::uint64_t apply(std::span<const float> gradient, float weight) {
    const std::lock_guard lock{mutex_};
    carry_out_posted();
    slice_.apply(gradient, weight);
    return slice_.version() - 1;
  }

  /// Adds a gradient to the sum of a round. Returns the version that it meets.
  std::uint64_t add(std::uint64_t round, std::span<const float> gradient, float weight) {
    const std::lock_guard lock{mutex_};
    carry_out_posted();
    slice_.add(round, gradient, weight);
    return slice_.version();
  }

  /// Instead of apply(), where the update will not be made: it counts all the same.
  void skip() noexcept {
    const std::lock_guard lock{mutex_};
    slice_.skip();
  }
  /// Takes back, to within rounding, what add() has added. Pre: the round is open.
  void take_back(std::uint64_t round, std::span<const float> gradient, float weight) noexcept {
    const std::lock_guard lock{mutex_};
    slice_.add(round, gradient, -weight);
  }

  /// Decided: one update by scale times the sum of a round, made by whoever touches the slice next.
  void post_flush(std::uint64_t round, float scale) { post({round, scale, true}); }
  void post_discard(std::uint64_t round) { post({round, 0.0F, false}); }  ///< likewise: the sum is thrown away

 private:
  struct effect {
    std::uint64_t round = 0;
    float scale = 0.0F;
    bool updates = false;
  };

  void post(const effect& what) {
    const std::lock_guard lock{posted_mutex_};
    posted_.push_back(what);
    any_posted_.store(true, std::memory_order_release);
  }

  void carry_out_posted() {
    for (;;) {
      while (carried_out_ < due_.size()) {
        const effect& what = due_[carried_out_++];  // before it throws, if it does: it is not carried out again
        if (what.updates)
          slice_.flush(what.round, what.scale);
        else
          slice_.discard(what.round);
      }
      due_.clear();
      carried_out_ = 0;
      if (!any_posted_.load(std::memory_order_acquire)) return;
      const std::lock_guard lock{posted_mutex_};
      std::swap(posted_, due_);
      any_posted_.store(false, std::memory_order_relaxed);
    }
  }

  std::mutex mutex_;  // guards what follows, up to the posted effects
  slice<Rule> slice_;
  std::vector<effect> due_;      // being carried out
  std::size_t carried_out_ = 0;  // of them

  std::mutex posted_mutex_;  // taken after mutex_, if both are; guards posted_
  std::vector<effect> posted_;
  std::atomic<bool> any_posted_ = false;
};

}  // namespace rubato::inline RUBATO_ABI::threads_ps

#endif
