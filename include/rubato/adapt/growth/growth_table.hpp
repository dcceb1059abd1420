#ifndef RUBATO_ADAPT_GROWTH_GROWTH_TABLE_HPP
#define RUBATO_ADAPT_GROWTH_GROWTH_TABLE_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../core/number_text.hpp"
#include "../../core/result.hpp"
#include "../../pinned.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// What training came to after a sequence of actions.
struct growth_outcome {
  double accuracy = 0;              ///< at the end, on held-out samples, 0 to 1
  std::vector<double> time_left{};  ///< of the budget when each action was asked for
};

/// The reward for an accuracy: 100 tan(a pi / 2), so that the last hundredths are worth most. An accuracy above 0.999
/// is worth what 0.999 is.
/// Tests   tests/adapt/growth/growth_table_test.cpp: RewardsAsPublished
/// Source  report on growing networks with spare GPUs, section 3.3 (docs/growth.md)
[[nodiscard]] inline double growth_reward(double accuracy) noexcept {
  return 100 * std::tan((std::min)(accuracy, 0.999) * std::numbers::pi / 2);
}

/// What training a model came to, for every sequence of actions: so an agent can be trained, and judged, without
/// training the model again. Sequences are numbered as numbers of base `actions`, the first action first: with four
/// actions, (1, 1, 0) is 20.
///
/// Cost    make() O(n log n) for n sequences; all else O(steps). make() allocates. Thread-safe, being constant.
/// Tests   tests/adapt/growth/growth_table_test.cpp: NumbersSequences, TimeOfAPrefixIsThatOfItsFirstSequence,
///         RanksAreByAccuracy, EqualsRankInTheirOrder, RefusesWhatCannotBe
class growth_table {
 public:
  /// `outcomes` are those of all sequences, by their numbers. How many steps these have, their times say.
  /// Errors  invalid_option: a budget that is not above 0; less than two actions; another number of outcomes than
  ///         actions to the power of steps; an accuracy not from 0 to 1; a time not from 0 to the budget, or later than
  ///         the one of the step before
  [[nodiscard]] static result<growth_table> make(std::uint32_t actions, double budget,
                                                 std::vector<growth_outcome> outcomes) {
    using rubato::detail::text_of;
    const auto refusal = [](std::string what) {
      return error{errc::invalid_option, "growth_table: " + std::move(what)};
    };
    if (!(budget > 0) || !pinned::is_finite(budget))
      return refusal("budget is " + text_of(budget) + ", expected a number above 0");
    if (actions < 2) return refusal("actions: found " + std::to_string(actions) + ", expected at least 2");
    const std::size_t steps = outcomes.empty() ? 0 : outcomes.front().time_left.size();
    std::size_t expected = steps == 0 ? 0 : 1;
    for (std::size_t s = 0; s < steps && expected <= outcomes.size(); ++s) expected *= actions;
    if (steps == 0 || outcomes.size() != expected)
      return refusal("found " + std::to_string(outcomes.size()) + " sequences of " + std::to_string(steps) +
                     " steps, expected all that there are with " + std::to_string(actions) + " actions");
    for (std::size_t n = 0; n < outcomes.size(); ++n) {
      const std::string which = "sequence " + std::to_string(n) + ": ";
      const growth_outcome& each = outcomes[n];
      if (!(each.accuracy >= 0 && each.accuracy <= 1))
        return refusal(which + "accuracy is " + text_of(each.accuracy) + ", expected 0 to 1");
      if (each.time_left.size() != steps)
        return refusal(which + "found " + std::to_string(each.time_left.size()) + " times, expected " +
                       std::to_string(steps));
      double before = budget;
      for (const double left : each.time_left) {
        if (!(left >= 0 && left <= before))
          return refusal(which + "time left is " + text_of(left) + ", expected 0 to " + text_of(before));
        before = left;
      }
    }
    return growth_table{actions, static_cast<std::uint32_t>(steps), budget, std::move(outcomes)};
  }

  [[nodiscard]] std::uint32_t actions() const noexcept { return actions_; }          ///< at each step
  [[nodiscard]] std::uint32_t steps() const noexcept { return steps_; }              ///< of a sequence
  [[nodiscard]] double budget() const noexcept { return budget_; }                   ///< of time, in all
  [[nodiscard]] std::size_t sequences() const noexcept { return outcomes_.size(); }  ///< how many there are

  /// The number of the sequence that begins with these actions and goes on with action 0.
  /// Precondition: at most steps() actions, each below actions()
  [[nodiscard]] std::size_t number_of(std::span<const std::uint32_t> first) const noexcept {
    RUBATO_ASSERT(first.size() <= steps_, "growth_table: a longer sequence than there are");
    std::size_t number = 0;
    for (std::size_t s = 0; s < steps_; ++s) number = number * actions_ + (s < first.size() ? first[s] : 0);
    return number;
  }
  /// The actions of a sequence, from the first on. Allocates.
  [[nodiscard]] std::vector<std::uint32_t> actions_of(std::size_t number) const {
    std::vector<std::uint32_t> actions(steps_);
    for (std::size_t s = steps_; s-- > 0; number /= actions_)
      actions[s] = static_cast<std::uint32_t>(number % actions_);
    return actions;
  }
  /// What a sequence comes to, and when its actions were asked for.
  [[nodiscard]] const growth_outcome& outcome(std::size_t number) const noexcept { return outcomes_[number]; }
  /// The accuracy that this sequence comes to.
  [[nodiscard]] double accuracy(std::size_t number) const noexcept { return outcomes_[number].accuracy; }
  /// Its place by accuracy, from 1 on. Of equals the lower number is before the other.
  [[nodiscard]] std::uint32_t rank(std::size_t number) const noexcept { return ranks_[number]; }
  /// The best of all.
  [[nodiscard]] double best() const noexcept { return best_; }
  /// The mean of all: what choosing by chance is to be expected to come to.
  [[nodiscard]] double mean() const noexcept {
    double sum = 0;
    for (const growth_outcome& each : outcomes_) sum += each.accuracy;
    return sum / static_cast<double>(outcomes_.size());
  }
  /// The time that is left when the action after these is asked for: that of the sequence number_of() them. Sequences
  /// were trained one by one, so that their times differ a little even where they begin alike.
  /// Precondition: fewer than steps() actions
  [[nodiscard]] double time_left(std::span<const std::uint32_t> first) const noexcept {
    RUBATO_ASSERT(first.size() < steps_, "growth_table: no action is asked for after the last");
    return outcomes_[number_of(first)].time_left[first.size()];
  }

 private:
  growth_table(std::uint32_t actions, std::uint32_t steps, double budget, std::vector<growth_outcome> outcomes)
      : actions_{actions}, steps_{steps}, budget_{budget}, outcomes_{std::move(outcomes)}, ranks_(outcomes_.size()) {
    std::vector<std::size_t> order(outcomes_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t n) { return outcomes_[n].accuracy; });
    for (std::size_t place = 0; place < order.size(); ++place)
      ranks_[order[place]] = static_cast<std::uint32_t>(place + 1);
    best_ = outcomes_[order.front()].accuracy;
  }

  std::uint32_t actions_, steps_;
  double budget_;
  std::vector<growth_outcome> outcomes_;
  std::vector<std::uint32_t> ranks_;
  double best_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
