#ifndef RUBATO_CUDA_DQN_UPDATE_CUH
#define RUBATO_CUDA_DQN_UPDATE_CUH

#include <cstddef>
#include <cstdint>

#include "adam.cuh"
#include "backward.cuh"
#include "dqn_state.cuh"
#include "draws.cuh"
#include "lanes.cuh"
#include "network.cuh"
#include "shared_body.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// The action of the largest value_of(action), as rl::best_action: the first of equal ones among those that are legal,
/// `undecided` where no value is a number. Precondition: actions > 0.
/// Tests   tests/cuda/dqn_learner_test.cpp: BestActionIsThatOfTheHost
template <class ValueOf>
[[nodiscard]] RUBATO_DETAIL_SHARED std::uint32_t best_action(std::uint32_t actions, const ValueOf& value_of,
                                                             std::uint32_t legal, std::uint32_t undecided) noexcept {
  const std::uint32_t existing = actions >= rl::max_actions ? rl::all_legal : (std::uint32_t{1} << actions) - 1;
  const std::uint32_t among = (legal & existing) != 0 ? legal & existing : existing;
  const auto is_number = [](float x) { return x <= 0 || x >= 0; };
  std::uint32_t best = actions;
  float most = 0;
  for (std::uint32_t action = 0; action < actions; ++action) {
    const float value = value_of(action);
    if ((among >> action & 1) == 0 || !is_number(value)) continue;
    if (best < actions && !(value > most)) continue;
    best = action;
    most = value;
  }
  if (best < actions) return best;
  if (undecided < actions && (among >> undecided & 1) != 0) return undecided;
  for (best = 0; (among >> best & 1) == 0;) ++best;
  return best;
}

/// What the lanes of a tile share: shared memory, best; 42 KiB for 40-64-32-3 and 32 rows.
/// Tests   tests/cuda/dqn_learner_test.cpp: MemoryIsCutIntoParts, OneTileLearnsWithTheBitsOfRlDqn
template <class Shape, unsigned Rows>
struct dqn_tile {
  training_tile<Shape, Rows> net;          ///< of the online network, and before that of the target network
  float next_value[Shape::outputs][Rows];  ///< of each action, according to the target network
  const float* experience[Rows];           ///< that was drawn for each row, in the replay
  float next[Rows];                        ///< the value of the next state
  float slope[Rows];                       ///< of the loss by the value of the action
  float loss[Rows];                        ///< its share of the batch's
  std::uint32_t action[Rows];              ///< that was taken
};

namespace detail {

// The slot that agent a draws for sample i of its next batch: that of random_sequence{seed, a}.below(size), but for
// bits that it would refuse, of which there are fewer than `size` among 2^64.
template <class Shape, unsigned Rows>
[[nodiscard]] RUBATO_DETAIL_SHARED std::uint64_t drawn_slot(const dqn_learner<Shape, Rows>& learner, unsigned a,
                                                            const dqn_agent& now, unsigned i) noexcept {
  const std::uint64_t batches = now.updates + now.rejected_updates;
  const random_words at = philox_words(learner.seed, a, batches * (learner.options.batch / 2) + i / 2);
  const std::uint32_t low = i % 2 == 0 ? at.word[0] : at.word[2], high = i % 2 == 0 ? at.word[1] : at.word[3];
  return ((std::uint64_t{high} << 32) | low) % learner.size_of(now);
}

// The value of each next state: memory.net has the next observations.
template <class Arithmetic, class Shape, unsigned Rows, Lanes L>
RUBATO_DETAIL_SHARED void look_ahead(const dqn_learner<Shape, Rows>& learner, unsigned a, const L& lanes,
                                     dqn_tile<Shape, Rows>& memory) noexcept {
  const rl::dqn_options& options = learner.options;
  const bool online_chooses = options.target != rl::td_target::target_max;
  const bool target_values = options.target != rl::td_target::online_max;
  if (target_values) {
    stage(learner.target_of(a), lanes, memory.net);
    forward<Arithmetic>(learner.target_of(a), lanes, memory.net);
    for (unsigned n = lanes.index(); n < Shape::outputs * Rows; n += lanes.count())
      memory.next_value[n / Rows][n % Rows] = memory.net.output(n / Rows, n % Rows);
    lanes.sync();
  }
  stage(learner.online_of(a), lanes, memory.net);  // for the gradient, too
  if (online_chooses) forward<Arithmetic>(learner.online_of(a), lanes, memory.net);
  for (unsigned row = lanes.index(); row < Rows; row += lanes.count()) {
    const std::uint32_t legal =
        options.masks_targets ? learner.rest_of(memory.experience[row]).next_legal : rl::all_legal;
    const auto chosen_by = [&](std::uint32_t action) {
      return online_chooses ? memory.net.output(action, row) : memory.next_value[action][row];
    };
    const std::uint32_t choice = best_action(Shape::outputs, chosen_by, legal, options.undecided_action);
    memory.next[row] = target_values ? memory.next_value[choice][row] : memory.net.output(choice, row);
  }
  lanes.sync();
}

// The slope and the loss of each row: memory.net has what the online network says of the observations.
template <class Shape, unsigned Rows, Lanes L>
RUBATO_DETAIL_SHARED void td_errors(const dqn_learner<Shape, Rows>& learner, const L& lanes,
                                    dqn_tile<Shape, Rows>& memory) noexcept {
  const rl::dqn_options& options = learner.options;
  const float share = options.mean_loss ? rounded_once::quotient(1.0F, static_cast<float>(options.batch)) : 1.0F;
  const auto delta = static_cast<float>(options.huber_delta);
  for (unsigned row = lanes.index(); row < Rows; row += lanes.count()) {
    const auto what = learner.rest_of(memory.experience[row]);
    // A value that does not count may be anything.
    const float target =
        what.discount == 0 ? what.reward : exact_arithmetic::plus_product(what.reward, what.discount, memory.next[row]);
    const float difference = memory.net.output(what.action, row) - target;
    const float size = difference < 0 ? -difference : difference;
    float loss = rounded_once::product(difference, difference), slope = 2 * difference;
    if (options.loss == rl::td_loss::huber) {
      loss = size > delta ? rounded_once::product(delta, size - delta / 2) : loss / 2;
      slope = size > delta ? (difference < 0 ? -delta : delta) : difference;
    }
    memory.action[row] = what.action;
    memory.loss[row] = rounded_once::product(share, loss);
    memory.slope[row] = rounded_once::product(share, slope);
  }
  lanes.sync();
}

}  // namespace detail

/// The first half of an update of agent `a`: tile number `number` of its batch. Draws, looks ahead, and leaves the
/// gradient of the tile in learner.gradient_of(a, number), its part of the loss in learner.loss. Nothing, where no
/// gradient step is due.
///
/// Reads what update_parameters() writes: that comes after it, for all tiles.
/// Cost    three passes forward and one back over the tile. No allocation.
/// Tests   tests/cuda/dqn_learner_test.cpp: OneTileLearnsWithTheBitsOfRlDqn, ManyTilesAreCloseToRlDqn,
///         AnyNumberOfLanesGivesTheSameUpdate
template <class Arithmetic = exact_arithmetic, class Shape, unsigned Rows, Lanes L>
RUBATO_DETAIL_SHARED void learn_from_tile(const dqn_learner<Shape, Rows>& learner, unsigned a, unsigned number,
                                          const L& lanes, dqn_tile<Shape, Rows>& memory) noexcept {
  const dqn_agent& now = learner.agent[a];
  if (!learner.is_due(now)) return;
  for (unsigned row = lanes.index(); row < Rows; row += lanes.count())
    memory.experience[row] = learner.experience_at(a, detail::drawn_slot(learner, a, now, number * Rows + row));
  lanes.sync();
  load_rows(
      lanes, Rows, [&](unsigned row) { return memory.experience[row] + learner.observation_words; }, memory.net);
  detail::look_ahead<Arithmetic>(learner, a, lanes, memory);
  load_rows(
      lanes, Rows, [&](unsigned row) { return memory.experience[row]; }, memory.net);
  forward<Arithmetic>(learner.online_of(a), lanes, memory.net);
  detail::td_errors(learner, lanes, memory);
  if (lanes.index() == 0) {
    float sum = 0;
    for (unsigned row = 0; row < Rows; ++row) sum += memory.loss[row];
    learner.loss[a * learner.tiles() + number] = sum;
  }
  backward<Arithmetic>(
      learner.online_of(a), lanes, Rows,
      [&](unsigned row, unsigned action) { return action == memory.action[row] ? memory.slope[row] : 0.0F; },
      memory.net, learner.gradient_of(a, number));
}

/// What the lanes of update_parameters() share.
struct dqn_step_memory {
  double parts[norm_parts];            ///< scratch of gradient_norm()
  adam_powers powers;                  ///< of the agent, after this step
  nn::kernels::adam_step<float> step;  ///< this step's constants
};

/// The second half of an update of agent `a`: the gradient of the batch from those of its tiles, in turn; clipping; a
/// step of Adam, unless the gradient is not finite; and the target network's move, if that is due. Ends with a sync.
/// Cost    O(parameters * tiles). No allocation.
/// Tests   tests/cuda/dqn_learner_test.cpp: OneTileLearnsWithTheBitsOfRlDqn, ManyTilesAreCloseToRlDqn,
///         AnyNumberOfLanesGivesTheSameUpdate, GradientsThatAreNotFiniteAreCounted
template <class Shape, unsigned Rows, Lanes L>
RUBATO_DETAIL_SHARED void update_parameters(const dqn_learner<Shape, Rows>& learner, unsigned a, const L& lanes,
                                            dqn_step_memory& memory) noexcept {
  constexpr unsigned parameters = Shape::parameters;
  const rl::dqn_options& options = learner.options;
  dqn_agent& now = learner.agent[a];
  const bool due = learner.is_due(now);
  const std::uint64_t iteration = now.iterations + 1;
  const std::size_t first = a * learner.parameter_stride;
  float* const online = learner.online + first;
  double norm = 0;
  if (due) {
    float* const gradient = learner.gradient_of(a, 0);
    if (lanes.index() == 0) {
      memory.powers = now.powers;
      memory.step = next_adam_step({.learning_rate = options.learning_rate}, memory.powers);
    }
    norm = gradient_norm(
        lanes, parameters,
        [&](unsigned i) { return gradient[i] = ordered_sum(gradient, learner.tiles(), learner.parameter_stride, i); },
        memory.parts);
    if (detail::is_finite(norm)) {
      const float factor = options.max_gradient_norm > 0 ? clip_factor(norm, options.max_gradient_norm) : 1.0F;
      for (unsigned i = lanes.index(); i < parameters; i += lanes.count())
        adam(memory.step, factor * gradient[i], learner.first_mean[first + i], learner.second_mean[first + i],
             online[i]);
    }
  }
  if (iteration % options.target_period == 0) {
    float* const target = learner.target + first;
    const auto rate = static_cast<float>(options.target_rate);
    for (unsigned i = lanes.index(); i < parameters; i += lanes.count())
      target[i] =
          options.target_rate == 1 ? online[i] : exact_arithmetic::plus_product(target[i], rate, online[i] - target[i]);
  }
  lanes.sync();  // all have read the counters
  if (lanes.index() == 0) {
    now.iterations = iteration;
    if (due) {
      now.loss = ordered_sum(learner.loss + a * learner.tiles(), learner.tiles(), 1, 0);
      now.gradient_norm = norm;
      if (detail::is_finite(norm)) {
        now.powers = memory.powers;
        ++now.updates;
      } else {
        ++now.rejected_updates;
      }
    }
  }
  lanes.sync();
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
