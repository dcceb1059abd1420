#ifndef RUBATO_RL_ROLLOUT_HPP
#define RUBATO_RL_ROLLOUT_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../core/archive.hpp"
#include "../nn/saved_values.hpp"
#include "../pinned.hpp"
#include "action_choice.hpp"
#include "environment.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// A step of a rollout, without its observation.
struct rollout_step {
  std::uint32_t action = 0;         ///< the executed one
  std::uint32_t legal = all_legal;  ///< where it was taken
  float reward = 0;                 ///< of this step alone
  float discount = 0;               ///< what the value of the next state counts; 0: the task was over
  float after = 0;                  ///< that value, if `last`
  bool last = false;                ///< the next one in the rollout does not follow from it
};

namespace detail {

// advantages[t] = delta_t + discount_t lambda advantages[t + 1], delta_t = reward_t + discount_t V_(t+1) - V_t.
RUBATO_DETAIL_PINNED inline void advantages(std::size_t count, double lambda, const rollout_step* steps,
                                            const float* values, float* out) noexcept {
  RUBATO_DETAIL_EXACT
  double later = 0;
  for (std::size_t t = count; t-- > 0;) {
    const rollout_step& step = steps[t];
    const bool last = step.last || t + 1 == count;
    const double next = static_cast<double>(last ? step.after : values[t + 1]);
    const double discount = static_cast<double>(step.discount);
    const double delta = static_cast<double>(step.reward) + discount * next - static_cast<double>(values[t]);
    later = last ? delta : delta + discount * lambda * later;
    out[t] = static_cast<float>(later);
  }
}

// To mean 0 and deviation 1.
RUBATO_DETAIL_PINNED inline void standardise(std::size_t count, float* numbers) noexcept {
  RUBATO_DETAIL_EXACT
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(numbers[i]);
  const double mean = sum / static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double difference = static_cast<double>(numbers[i]) - mean;
    squares += difference * difference;
  }
  const double deviation = pinned::square_root(squares / static_cast<double>(count)) + 1e-8;  // equal ones become 0
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = static_cast<float>((static_cast<double>(numbers[i]) - mean) / deviation);
}

}  // namespace detail

/// The steps of one policy in the order in which they were taken, in flat memory: as many as `horizon`, and then it is
/// learned from and cleared.
///
/// Memory  horizon * (observation_size + 6) words, allocated by the constructor; none later, except state() when it
///         saves.
/// Thread  const calls are thread-safe.
/// Tests   tests/rl/rollout_test.cpp: KeepsStepsInOrder, StateRoundTrip, StateOfAnotherShapeIsRefused;
///         tests/rl/no_allocation_test.cpp
class rollout_buffer {
 public:
  /// Preconditions: all at least 1, and at most max_actions actions.
  rollout_buffer(std::size_t horizon, std::size_t observation_size, std::size_t actions)
      : width_{observation_size},
        actions_{actions},
        observations_(horizon * observation_size),
        next_(observation_size),
        steps_(horizon) {
    RUBATO_ASSERT(horizon > 0 && observation_size > 0 && actions > 0 && actions <= max_actions,
                  "rollout_buffer: bad size");
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }             ///< steps in it
  [[nodiscard]] std::size_t horizon() const noexcept { return steps_.size(); }  ///< steps that it has room for
  [[nodiscard]] bool full() const noexcept { return size_ == horizon(); }       ///< there is no room for another step
  void clear() noexcept { size_ = 0; }                                          ///< forgets all steps

  /// One more step. Preconditions: not full(); both spans have observation_size numbers.
  void add(std::span<const float> observation, const rollout_step& step, std::span<const float> next) noexcept {
    RUBATO_ASSERT(!full() && observation.size() == width_ && next.size() == width_, "rollout_buffer: full, or width");
    std::copy(observation.begin(), observation.end(), observations_.data() + size_ * width_);
    std::copy(next.begin(), next.end(), next_.begin());
    steps_[size_++] = step;
  }
  /// Whether the latest step has no successor yet, and has not been told that it will not have one.
  [[nodiscard]] bool open() const noexcept { return size_ > 0 && !steps_[size_ - 1].last; }
  /// What the latest step led to.
  [[nodiscard]] std::span<const float> next() const noexcept { return next_; }
  /// Nothing follows the latest step; what it led to is worth this. Precondition: open().
  void cut(float value) noexcept {
    RUBATO_ASSERT(open(), "rollout_buffer: nothing to cut");
    steps_[size_ - 1].after = value;
    steps_[size_ - 1].last = true;
  }

  /// All steps so far, the first one first, until the next add(), cut() or clear().
  [[nodiscard]] std::span<const rollout_step> steps() const noexcept { return std::span{steps_}.first(size_); }
  /// Where a step was taken. Precondition: step < size().
  [[nodiscard]] std::span<const float> observation(std::size_t step) const noexcept {
    RUBATO_ASSERT(step < size_, "rollout_buffer: no such step");
    return {observations_.data() + step * width_, width_};
  }
  /// All of them, row after row.
  [[nodiscard]] std::span<const float> observations() const noexcept {
    return std::span{observations_}.first(size_ * width_);
  }

  /// Generalised advantages, given the value of each observation:
  ///
  ///     A_t = delta_t + d_t lambda A_(t+1),   delta_t = r_t + d_t V_(t+1) - V_t
  ///
  /// where d_t is the step's discount. The sum ends after a step that is `last`, whose `after` takes the place of
  /// V_(t+1).
  /// Pre     both have size() numbers; no overlap; not open()
  /// Tests   tests/rl/rollout_test.cpp: AdvantagesByHand, AdvantagesOfATruncatedEpisodeByHand, LambdaOneIsTheReturn,
  ///         LambdaZeroIsTheError
  /// Source  Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage Estimation",
  ///         arXiv:1506.02438, eq. 16; a discount for each step: Bradtke and Duff, NIPS 1994
  void advantages(std::span<const float> values, double lambda, std::span<float> out) const noexcept {
    RUBATO_ASSERT(values.size() == size_ && out.size() == size_, "advantages: expected a number for each step");
    detail::advantages(size_, lambda, steps_.data(), values.data(), out.data());
  }

  /// Saves or loads the content; bytes of another shape are bad, and actions that do not exist.
  void state(archive& bytes) {
    nn::detail::expect(bytes, horizon());
    nn::detail::expect(bytes, width_);
    std::uint64_t size = size_;
    bytes(size);
    if (size > horizon()) bytes.fail();
    if (!bytes.ok()) return;
    size_ = nn::detail::as_size(size);
    nn::detail::saved_values(bytes, std::span{observations_}.first(size_ * width_));
    nn::detail::saved_values(bytes, std::span{next_});
    for (rollout_step& step : std::span{steps_}.first(size_)) {
      bytes(step.action, step.legal, step.reward, step.discount, step.after, step.last);
      if (step.action >= actions_ || legal_among(actions_, step.legal) != step.legal) bytes.fail();
    }
    if (!bytes.ok()) size_ = 0;  // not to leave a step that does not exist
  }

 private:
  std::size_t width_;
  std::size_t actions_;
  std::size_t size_ = 0;
  std::vector<float> observations_;
  std::vector<float> next_;  // after the latest step
  std::vector<rollout_step> steps_;
};

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
