#ifndef RUBATO_RL_PRETRAIN_HPP
#define RUBATO_RL_PRETRAIN_HPP

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../core/result.hpp"
#include "../core/rng.hpp"
#include "../nn/loss.hpp"
#include "../nn/optimiser.hpp"
#include "../nn/training_concepts.hpp"
#include "../pinned.hpp"
#include "dueling.hpp"
#include "trace.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// How pretrain() goes through a trace.
struct pretrain_options {
  std::uint32_t passes = 1;      ///< over all steps, each in an order of its own
  std::size_t batch = 32;        ///< steps of the trace in a gradient step, at least 1
  bool mean_loss = true;         ///< the mean over a batch; otherwise the sum
  double max_gradient_norm = 0;  ///< 0: no clipping
  bool dueling = false;          ///< outputs are V, A_0, A_1, ...
};

/// How a regression went.
struct pretrain_stats {
  std::uint64_t steps = 0;             ///< that were learned from, passes counted
  std::uint64_t skipped = 0;           ///< a number was not finite or the action unknown
  std::uint64_t updates = 0;           ///< steps of the optimiser
  std::uint64_t rejected_updates = 0;  ///< the gradient was not finite
  double first_error = 0;              ///< mean squared error of the first pass, each before its update
  double last_error = 0;               ///< of the last pass
  bool stopped = false;                ///< before its end: throw the network away
};

/// Regression of Q(s, a) on the returns of a trace, by squared error, for the actions that were taken: what teaches a
/// network what policies are worth that somebody else followed.
///
///     log.compute_returns({});                                   // RLP: minus the time left
///     log.compute_returns({.gamma = 0.99, .by_elapsed = true});  // on the scale of a robust dqn
///     auto taught = rl::pretrain(net, optimiser, log, {.passes = 3}, rl::sequence_for(seed, purpose::pretraining));
///     agent.adopt(net);
///
/// stop() is asked before each batch; one that says true ends the regression with what is no result of it.
/// Errors  invalid_option: a trace without returns or of another width, a batch or a number of passes of 0.
/// Cost    a forward and a backward pass for each step and pass. Allocates an order of the steps and one batch.
/// Tests   tests/rl/pretrain_test.cpp: OneUpdateByHand, LearnsTheReturns, SkipsWhatIsNotFinite, SameSeedSameBits,
///         WrongTracesAreRefused, DuelingNetworksLearnToo, StopsBetweenBatches
/// Source  Zhu et al., ICLR 2020, §3.3 ("over all iterations"); passes, batches and their order are ours
template <nn::TrainableNetwork Network, nn::Optimiser Opt>
requires std::same_as<typename Network::scalar, float> && std::same_as<typename Opt::scalar, float>
[[nodiscard]] result<pretrain_stats> pretrain(Network& net, Opt& optimiser, const trace& log,
                                              const pretrain_options& options, random_sequence random,
                                              const std::function<bool()>& stop = {}) {
  const auto refusal = [](std::string what) { return error{errc::invalid_option, "pretrain: " + std::move(what)}; };
  const std::size_t width = net.inputs(), outputs = net.outputs(), actions = outputs - (options.dueling ? 1 : 0);
  if (options.batch == 0 || options.passes == 0) return refusal("batch and passes: expected at least 1");
  if (log.observation_size != width)
    return refusal("observations of " + std::to_string(log.observation_size) + " numbers, the network expects " +
                   std::to_string(width));
  if (log.returns.size() != log.finished()) return refusal("the trace has no returns: call compute_returns()");
  if (log.returns.size() > (std::numeric_limits<std::uint32_t>::max)()) return refusal("more than 2^32 steps");

  pretrain_stats stats;
  std::vector<std::uint32_t> order(log.returns.size());
  std::iota(order.begin(), order.end(), 0U);
  typename Network::workspace work{net, options.batch};
  std::vector<float> rows(options.batch * width), slopes(options.batch * outputs), gradients(net.parameters().size());
  std::vector<float> values(actions), value_slopes(actions);
  std::vector<std::uint32_t> chosen;
  chosen.reserve(options.batch);
  double squares = 0;

  const auto learn = [&] {  // false: asked to stop instead
    if (stop && stop()) return false;
    const auto predicted = net.forward(std::span<const float>{rows}.first(chosen.size() * width), work);
    const float share = options.mean_loss ? 1.0F / static_cast<float>(chosen.size()) : 1.0F;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const auto row = predicted.subspan(i * outputs, outputs);
      const auto slope = std::span{slopes}.subspan(i * outputs, outputs);
      const std::uint32_t action = log.actions[chosen[i]];
      if (options.dueling)
        dueling_values(row, values);
      else
        std::copy(row.begin(), row.end(), values.begin());
      const nn::loss_term<float> term = nn::squared_error(values[action], log.returns[chosen[i]]);
      squares += static_cast<double>(term.value);
      std::fill(value_slopes.begin(), value_slopes.end(), 0.0F);
      value_slopes[action] = share * term.slope;
      if (options.dueling)
        dueling_gradient(value_slopes, slope);
      else
        std::copy(value_slopes.begin(), value_slopes.end(), slope.begin());
    }
    net.backward(std::span<const float>{slopes}.first(chosen.size() * outputs), work, gradients,
                 nn::gradient_mode::overwrite);
    const double most = options.max_gradient_norm > 0 ? options.max_gradient_norm : HUGE_VAL;
    if (pinned::is_finite(nn::clip_by_norm<float>(gradients, most, nn::kernel_of(net)))) {
      optimiser.step(net.parameters(), gradients);
      ++stats.updates;
    } else {
      ++stats.rejected_updates;
    }
    stats.steps += chosen.size();
    chosen.clear();
    return true;
  };

  for (std::uint32_t pass = 0; pass < options.passes; ++pass) {
    const std::uint64_t before = stats.steps;
    squares = 0;
    for (std::size_t i = order.size(); i > 1; --i)  // Fisher and Yates
      std::swap(order[i - 1], order.data()[random.below(i)]);
    for (const std::uint32_t step : order) {
      const auto seen = log.observation(step);
      const bool sound = pinned::is_finite(log.returns[step]) && log.actions[step] < actions &&
                         std::all_of(seen.begin(), seen.end(), [](float x) { return pinned::is_finite(x); });
      if (!sound) {
        ++stats.skipped;
        continue;
      }
      std::copy(seen.begin(), seen.end(), rows.data() + chosen.size() * width);
      chosen.push_back(step);
      if (chosen.size() == options.batch) stats.stopped = !learn();
      if (stats.stopped) return stats;
    }
    if (!chosen.empty()) stats.stopped = !learn();
    if (stats.stopped) return stats;
    const std::uint64_t learned = stats.steps - before;
    stats.last_error = learned > 0 ? squares / static_cast<double>(learned) : 0.0;
    if (pass == 0) stats.first_error = stats.last_error;
  }
  return stats;
}

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
