#ifndef RUBATO_RL_N_STEP_HPP
#define RUBATO_RL_N_STEP_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../core/archive.hpp"
#include "../pinned.hpp"
#include "../nn/saved_values.hpp"
#include "learner.hpp"
#include "replay.hpp"

namespace rubato::inline RUBATO_ABI::rl {

namespace detail {

// What one step earned, and how much the value of what follows counts.
struct discounted_step {
  double reward = 0;
  double factor = 0;
};

// `step`, and then `later`.
RUBATO_DETAIL_PINNED inline discounted_step before(discounted_step step, discounted_step later) noexcept {
  RUBATO_DETAIL_EXACT
  return {step.reward + step.factor * later.reward, step.factor * later.factor};
}

}  // namespace detail

/// Turns single steps into experiences of n steps:
///
///     reward = r_0 + d_0 r_1 + d_0 d_1 r_2 + ...   discount = d_0 d_1 ... d_(n-1)   next = the state after step n - 1
///
/// where d_i is the discount of step i: gamma, or gamma^elapsed where steps take unequal time. The end of the task ends
/// every window that is open, with discount 0; an episode that is cut short ends them where it was cut, with the
/// product of the discounts so far.
///
/// Cost    push(): O(n) and one copy of an observation; at the end of an episode O(n^2). Memory for n observations,
///         allocated by the constructor.
/// Thread  not thread-safe.
/// Tests   tests/rl/n_step_test.cpp: ReturnsByHand, OneStepIsTheStep, TerminalEndsEveryWindow, CutEndsWithBootstrap,
///         ElapsedTimeDiscounts, StateRoundTrip
/// Source  Sutton and Barto, "Reinforcement Learning", 2nd edition, §7.1; Bradtke and Duff, "Reinforcement learning
///         methods for continuous-time Markov decision problems", NIPS 1994 (discount by elapsed time)
class n_step_window {
 public:
  /// Preconditions: both at least 1.
  n_step_window(std::size_t steps, std::size_t observation_size)
      : width_{observation_size},
        observations_(steps * observation_size),
        actions_(steps),
        steps_(steps),
        next_(observation_size) {
    RUBATO_ASSERT(steps > 0 && observation_size > 0, "n_step_window: bad size");
  }

  /// One more step, whose discount is `factor`. Calls sink(const experience&) for each window that ends with it.
  template <class Sink>
  void push(const transition& step, double factor, Sink&& sink) {
    RUBATO_ASSERT(step.observation.size() == width_ && step.next.size() == width_, "n_step_window: wrong width");
    const std::size_t slot = (first_ + count_++) % steps_.size();
    std::copy(step.observation.begin(), step.observation.end(), observations_.data() + slot * width_);
    actions_[slot] = step.action;
    steps_[slot] = {static_cast<double>(step.reward), step.terminated ? 0.0 : factor};
    std::copy(step.next.begin(), step.next.end(), next_.begin());
    next_legal_ = step.next_legal;
    if (step.terminated || step.truncated)
      cut(sink);
    else if (count_ == steps_.size())
      finish_oldest(sink);
  }

  /// Ends every open window after the step that was pushed last, as if the episode had been truncated there.
  template <class Sink>
  void cut(Sink&& sink) {
    while (count_ > 0) finish_oldest(sink);
  }

  /// Windows that are open.
  [[nodiscard]] std::size_t open() const noexcept { return count_; }

  /// Whether all steps in it are of actions below this number.
  [[nodiscard]] bool actions_are_below(std::size_t count) const noexcept {
    return std::all_of(actions_.begin(), actions_.end(), [count](std::uint32_t a) { return a < count; });
  }

  /// Saves or loads the open windows; bytes of another n or width are bad. The actions are the caller's to check.
  void state(archive& bytes) {
    nn::detail::expect(bytes, steps_.size());
    std::uint64_t first = first_, count = count_;
    bytes(first, count, next_legal_);
    if (first >= steps_.size() || count >= steps_.size()) bytes.fail();
    nn::detail::saved_values(bytes, std::span{observations_});
    nn::detail::saved_values(bytes, std::span{next_});
    for (std::size_t i = 0; i < steps_.size(); ++i) bytes(actions_[i], steps_[i].reward, steps_[i].factor);
    if (!bytes.ok()) return;
    first_ = nn::detail::as_size(first);
    count_ = nn::detail::as_size(count);
  }

 private:
  template <class Sink>
  void finish_oldest(Sink&& sink) {
    detail::discounted_step sum{0, 1};
    for (std::size_t i = count_; i-- > 0;) sum = detail::before(steps_[(first_ + i) % steps_.size()], sum);
    sink(experience{.observation = {observations_.data() + first_ * width_, width_},
                    .action = actions_[first_],
                    .reward = static_cast<float>(sum.reward),
                    .discount = static_cast<float>(sum.factor),
                    .next = next_,
                    .next_legal = next_legal_});
    first_ = (first_ + 1) % steps_.size();
    --count_;
  }

  std::size_t width_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::vector<float> observations_;  // a ring of the steps whose windows are open
  std::vector<std::uint32_t> actions_;
  std::vector<detail::discounted_step> steps_;
  std::vector<float> next_;  // after the latest step
  std::uint32_t next_legal_ = all_legal;
};

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
