#ifndef RUBATO_GLOO_PS_SHARD_HPP
#define RUBATO_GLOO_PS_SHARD_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <rubato/config.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// How parameters move: velocity = momentum x velocity + scale x gradient; parameters -= learning_rate x velocity.
struct update_rule {
  float learning_rate = 0.01F;
  float momentum = 0;  ///< in [0, 1); 0 keeps no velocity
};

/// What is wrong with the rule, as a sentence; empty if nothing is.
[[nodiscard]] inline std::string problem(const update_rule& rule) {
  if (!(rule.learning_rate >= 0 && rule.learning_rate < 1e6F)) return "learning_rate: expected a number of 0 or more";
  if (!(rule.momentum >= 0 && rule.momentum < 1)) return "momentum: expected a number in [0, 1)";
  return {};
}

/// A slice of the parameters, its version, and the sums of the rounds that are still open in it.
///
/// A version counts the updates that this slice has seen: every apply, every flush. All shards get the same updates in
/// the same order, so equal versions mean equal updates.
///
/// Pre     gradients have the slice's size
/// Cost    one pass over the slice per call; accumulators are kept for the next round
/// Thread  not thread-safe: one thread owns it (shard_thread)
/// Tests   tests/integrations/gloo_ps/shard_test.cpp: AppliesAtOnce, RoundsAreApart, FlushIsOneUpdate,
///         DiscardLeavesTheVersion, Momentum, StateRoundTrip
class shard {
 public:
  /// What there is to save of it.
  struct image {
    std::uint64_t version = 0;
    std::vector<float> parameters{};
    std::vector<float> velocity{};  ///< empty without momentum
    std::map<std::uint64_t, std::vector<float>> rounds{};
  };

  shard(std::vector<float> initial, update_rule rule) : rule_{rule} {
    state_.parameters = std::move(initial);
    if (rule_.momentum > 0) state_.velocity.assign(state_.parameters.size(), 0.0F);
  }

  void apply(std::span<const float> gradient, float weight) { move(gradient, weight); }
  void add(std::uint64_t round, std::span<const float> gradient, float weight) {
    std::vector<float>& sum = open(round);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * gradient[i];
  }
  void flush(std::uint64_t round, float scale) {
    const auto found = state_.rounds.find(round);
    if (found == state_.rounds.end()) {
      ++state_.version;  // a round of nothing is an update all the same, here as in the controller
      return;
    }
    move(found->second, scale);
    close(found);
  }
  void discard(std::uint64_t round) {
    if (const auto found = state_.rounds.find(round); found != state_.rounds.end()) close(found);
  }

  [[nodiscard]] std::uint64_t version() const noexcept { return state_.version; }
  [[nodiscard]] std::span<const float> parameters() const noexcept { return state_.parameters; }
  [[nodiscard]] const image& state() const noexcept { return state_; }
  /// Pre: of a shard of this size and rule.
  void restore(image saved) { state_ = std::move(saved); }

 private:
  void move(std::span<const float> direction, float length) {
    float* const p = state_.parameters.data();
    const std::size_t n = state_.parameters.size();
    if (rule_.momentum > 0) {
      float* const v = state_.velocity.data();
      for (std::size_t i = 0; i < n; ++i) v[i] = rule_.momentum * v[i] + length * direction[i];
      for (std::size_t i = 0; i < n; ++i) p[i] -= rule_.learning_rate * v[i];
    } else {
      const float rate = rule_.learning_rate * length;
      for (std::size_t i = 0; i < n; ++i) p[i] -= rate * direction[i];
    }
    ++state_.version;
  }
  std::vector<float>& open(std::uint64_t round) {
    const auto [place, is_new] = state_.rounds.try_emplace(round);
    if (is_new) {
      place->second = std::move(spare_);
      place->second.assign(state_.parameters.size(), 0.0F);
    }
    return place->second;
  }
  void close(std::map<std::uint64_t, std::vector<float>>::iterator round) {
    spare_ = std::move(round->second);
    state_.rounds.erase(round);
  }

  update_rule rule_;
  image state_;
  std::vector<float> spare_;  // the accumulator of a closed round, for the next one
};

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
