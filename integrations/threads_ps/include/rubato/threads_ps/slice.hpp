#ifndef RUBATO_THREADS_PS_SLICE_HPP
#define RUBATO_THREADS_PS_SLICE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "update_rule.hpp"

namespace rubato::inline RUBATO_ABI::threads_ps {

/// The sum of the gradients of a round that is still open.
struct open_round {
  std::uint64_t number = 0;  ///< as the controller counts them
  std::vector<float> sum{};  ///< of the gradients, each times its weight
  float weight = 0.0F;       ///< of its gradients together
};

/// A slice of the parameters, its version, and the sums of the rounds that are open in it: the arithmetic of a shard.
///
/// The version counts the updates that this slice has seen: every apply, every flush. Slices that get the same updates
/// in the same order have equal versions, and equal versions mean equal updates.
///
/// Invariant  parameters = initial + all that was applied or flushed, in the order of the versions
/// Pre        gradients have the slice's size
/// Throws     what the rule throws, which may have moved some parameters by then, and std::bad_alloc. A flush that
///            throws counts, and its round is closed; apply() and add() that throw count for nothing.
/// Cost       one pass over the slice per call. Sums are kept for later rounds: no allocation once as many were open as
///            ever will be.
/// Thread     not thread-safe
/// Tests      tests/integrations/threads_ps/slice_test.cpp: AppliesAtOnce, RoundsAreApart, FlushIsOneUpdate,
///            DiscardLeavesTheVersion, EmptyRoundsCountAsUpdates, TheRuleHearsTheWeightOfARound,
///            AFlushThatThrowsCountsAndClosesItsRound, StateRoundTrip
template <UpdateRule Rule>
class slice {
 public:
  /// Version 0, of copies of the initial values; resizes the rule.
  slice(std::span<const float> initial, Rule rule) : values_(initial.begin(), initial.end()), rule_{std::move(rule)} {
    rule_.resize(values_.size());
  }

  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }              ///< parameters
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }               ///< updates so far
  [[nodiscard]] std::span<const float> parameters() const noexcept { return values_; }    ///< valid until restore()
  [[nodiscard]] const std::vector<open_round>& rounds() const noexcept { return open_; }  ///< as they were opened
  [[nodiscard]] Rule& rule() noexcept { return rule_; }                                   ///< to restore its state
  [[nodiscard]] const Rule& rule() const noexcept { return rule_; }                       ///< to save its state

  /// One update by this gradient.
  void apply(std::span<const float> gradient, float weight) {
    rule_.update(values_, {.direction = gradient, .scale = weight});
    ++version_;
  }
  /// Counts an update that was decided and will not be made here.
  void skip() noexcept { ++version_; }
  /// Adds a gradient to the sum of a round.
  void add(std::uint64_t round, std::span<const float> gradient, float weight) {
    open_round& to = opened(round);
    for (std::size_t i = 0; i < to.sum.size(); ++i) to.sum[i] += weight * gradient[i];
    to.weight += weight;
  }
  /// One update by scale times the sum of a round: of zeros where no gradient of it came this far.
  void flush(std::uint64_t round, float scale) {
    const struct closing {
      slice& self;
      std::uint64_t round;
      ~closing() { self.skip(), self.close(round); }
    } at_the_end{*this, round};
    const open_round& whole = opened(round);
    rule_.update(values_, {.direction = whole.sum, .scale = scale, .weight = whole.weight});
  }
  void discard(std::uint64_t round) noexcept { close(round); }  ///< throws its sum away; no update

  /// Goes on from a saved state; that of the rule is restored by itself. Pre: of this size.
  void restore(std::uint64_t version, std::vector<float> parameters, std::vector<open_round> rounds) {
    version_ = version;
    values_ = std::move(parameters);
    open_ = std::move(rounds);
    spare_.reserve(open_.size() + spare_.size());
  }

 private:
  [[nodiscard]] open_round& opened(std::uint64_t round) {
    for (open_round& each : open_)
      if (each.number == round) return each;
    if (spare_.empty()) {
      spare_.reserve(open_.size() + 1);  // for all sums: closing a round does not allocate
      spare_.emplace_back(values_.size());
    }
    open_.emplace_back(open_round{.number = round}).sum.swap(spare_.back());
    spare_.pop_back();
    return open_.back();
  }
  void close(std::uint64_t round) noexcept {
    const auto found = std::find_if(open_.begin(), open_.end(), [round](const auto& r) { return r.number == round; });
    if (found == open_.end()) return;
    std::fill(found->sum.begin(), found->sum.end(), 0.0F);
    spare_.push_back(std::move(found->sum));
    open_.erase(found);
  }

  std::vector<float> values_;
  Rule rule_;
  std::uint64_t version_ = 0;
  std::vector<open_round> open_;           // in the order in which they were opened
  std::vector<std::vector<float>> spare_;  // zeros
};

}  // namespace rubato::inline RUBATO_ABI::threads_ps

#endif
