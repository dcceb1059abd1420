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

#include "update_rule.hpp"

namespace rubato::inline RUBATO_ABI::threads_ps {

/// A slice of the parameters: its values, how many updates are in them, and the sums of the rounds that are open.
///
/// What the controller decides (flush, discard) is posted, which takes no time, in the order of the decisions. Whoever
/// touches the slice next carries it out first: so nobody reads or moves parameters that lack a flush which was decided
/// before, and no arithmetic happens where decisions are made. A gradient is added before its commit, hence before the
/// flush of its round is posted.
///
/// Invariant  values = initial + all that was applied or flushed, in the order of the versions
/// Thread  safe: one mutex around the slice, another around the posted effects.
/// Cost    post: O(1). The rest O(size), and O(size) for each posted effect that it meets. Sums of rounds are kept for
///         later rounds: no allocation once as many were open as ever will be.
/// Tests   tests/integrations/threads_ps/shard_test.cpp: AppliesAtOnce, FlushesWhatWasAdded, PostedEffectsComeFirst,
///         LaterRoundsAreApart, DiscardsLeaveTheVersion, EmptyRoundsCountAsUpdates
template <UpdateRule Rule>
class shard {
 public:
  shard(std::span<const float> initial, Rule rule) : values_(initial.begin(), initial.end()), rule_{std::move(rule)} {
    rule_.resize(values_.size());
  }

  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

  /// Copies the slice. Returns its version. Precondition: to.size() == size(), and so for the gradients below.
  std::uint64_t read(std::span<float> to) {
    const std::lock_guard lock{mutex_};
    carry_out_posted();
    std::copy(values_.begin(), values_.end(), to.begin());
    return version_;
  }

  /// One update by this gradient. Returns the version that it meets.
  std::uint64_t apply(std::span<const float> gradient, float weight) {
    const std::lock_guard lock{mutex_};
    carry_out_posted();
    rule_.update(values_, gradient, weight);
    return version_++;
  }

  /// Adds a gradient to the sum of a round. Returns the version that it meets.
  std::uint64_t add(std::uint64_t round, std::span<const float> gradient, float weight) {
    const std::lock_guard lock{mutex_};
    carry_out_posted();
    std::vector<float>& sum = sum_of(round);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * gradient[i];
    return version_;
  }

  /// Decided: one update by scale times the sum of a round; or the sum is thrown away.
  void post_flush(std::uint64_t round, float scale) { post({round, scale, true}); }
  void post_discard(std::uint64_t round) { post({round, 0.0F, false}); }

 private:
  struct effect {
    std::uint64_t round = 0;
    float scale = 0.0F;
    bool updates = false;
  };
  struct open_round {
    std::uint64_t number = 0;
    std::vector<float> sum{};
  };

  void post(const effect& what) {
    const std::lock_guard lock{posted_mutex_};
    posted_.push_back(what);
    any_posted_.store(true, std::memory_order_release);
  }

  void carry_out_posted() {
    if (!any_posted_.load(std::memory_order_acquire)) return;
    {
      const std::lock_guard lock{posted_mutex_};
      std::swap(posted_, due_);
      any_posted_.store(false, std::memory_order_relaxed);
    }
    for (const effect& what : due_) {
      std::vector<float>& sum = sum_of(what.round);  // of zeros where no gradient of the round came this far
      if (what.updates) {
        rule_.update(values_, sum, what.scale);
        ++version_;
      }
      close(what.round);
    }
    due_.clear();
  }

  [[nodiscard]] std::vector<float>& sum_of(std::uint64_t round) {
    for (open_round& each : open_)
      if (each.number == round) return each.sum;
    if (spare_.empty()) spare_.emplace_back(values_.size());
    open_.push_back({round, std::move(spare_.back())});
    spare_.pop_back();
    return open_.back().sum;
  }
  void close(std::uint64_t round) {
    for (open_round& each : open_) {
      if (each.number != round) continue;
      for (float& x : each.sum) x = 0.0F;
      spare_.push_back(std::move(each.sum));
      std::swap(each, open_.back());
      return open_.pop_back();
    }
  }

  std::mutex mutex_;  // guards what follows, up to the posted effects
  std::vector<float> values_;
  Rule rule_;
  std::uint64_t version_ = 0;
  std::vector<open_round> open_;
  std::vector<std::vector<float>> spare_;  // zeros
  std::vector<effect> due_;                // being carried out

  std::mutex posted_mutex_;  // taken after mutex_, if both are; guards posted_
  std::vector<effect> posted_;
  std::atomic<bool> any_posted_ = false;
};

}  // namespace rubato::inline RUBATO_ABI::threads_ps

#endif
