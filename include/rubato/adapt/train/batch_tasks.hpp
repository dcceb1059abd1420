#ifndef RUBATO_ADAPT_TRAIN_BATCH_TASKS_HPP
#define RUBATO_ADAPT_TRAIN_BATCH_TASKS_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../../core/rng.hpp"
#include "../../sim/cluster.hpp"
#include "../../sim/options.hpp"
#include "../../sim/quadratic.hpp"
#include "../../sync/bsp.hpp"
#include "../batch_policy_file.hpp"
#include "../batch_size.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// A training to practise setting batches on: a cluster whose workers differ, and a noisy bowl until its target.
struct batch_task {
  sim::cluster_options machines{};  ///< its workers
  sim::run_options run{};           ///< with the target
  sim::quadratic_options bowl{};    ///< what is trained
  std::uint32_t initial = 64;       ///< samples of the first steps
  double usual_time = 0;            ///< about what it takes with a good total, divided equally: a measure of its length
};

namespace detail {

// Of a bowl, with updates of so many samples at the rate of all tasks; one more than `most` if it takes more. `seed`:
// of the noise, which is another in each attempt: with the task's own there are seeds for which no bowl would do.
[[nodiscard]] inline std::uint32_t updates_until(const batch_task& task, std::uint32_t samples, std::uint32_t most,
                                                 std::uint64_t seed) {
  sim::quadratic bowl{task.bowl};
  bowl.reset(seed);
  for (std::uint32_t n = 1; n <= most; ++n) {
    const sim::gradient made = bowl.compute(0, n, samples);
    const sim::contribution part{made.handle, 1};
    bowl.update({&part, 1}, task.run.learning_rate.base);
    bowl.release(made.handle);
    if (n % 2 == 0 && bowl.evaluate().accuracy >= task.run.target_accuracy) return n;
  }
  return most + 1;
}

// A bowl whose accuracies are squeezed and shifted, task by task, and scatter as those of a batch do: what a policy
// learns from them must not depend on how good a model can become.
class squeezed_bowl : public sim::quadratic {
 public:
  explicit squeezed_bowl(const batch_task& task) : sim::quadratic{task.bowl}, random_{task.run.seed, 1} {
    share_ = 0.2 + 0.8 * random_.uniform();
    offset_ = (1 - share_) * 0.5 * random_.uniform();
  }
  [[nodiscard]] sim::gradient compute(std::uint32_t worker, std::uint64_t step, std::uint32_t batch) {
    sim::gradient made = sim::quadratic::compute(worker, step, batch);
    const double mean = std::clamp(share_ * static_cast<double>(made.statistics.accuracy) + offset_, 0.0, 1.0);
    const double deviation = std::sqrt(mean * (1 - mean) / batch);
    const double told = mean + (random_.uniform() - 0.5) * deviation * std::sqrt(12.0);
    made.statistics.accuracy = static_cast<float>(std::clamp(told, 0.0, 1.0));
    return made;
  }

 private:
  random_sequence random_;
  double share_ = 1, offset_ = 0;
};

}  // namespace detail

/// The task of a seed. Clusters of 4 to 32 workers: one slow, two generations or a spread, up to twelve times as slow;
/// a third with a congested link, a third with workers that become slow for a while. Bowls on which updates of 1,024
/// samples reach the target in 30 to 400, and in 0.2 to 0.6 of the updates that those of 256 need.
///
/// Cost    some milliseconds
/// Source  Zhang et al., "Which Algorithmic Choices Matter at Which Batch Sizes? Insights From a Noisy Quadratic
/// Model",
///         NeurIPS 2019: such bowls need updates by batch and rate as networks do
/// Tests   tests/adapt/batch_tasks_test.cpp: SameSeedSameTask, AreOfTheStatedKinds, BatchesMatter
[[nodiscard]] inline batch_task draw_batch_task(std::uint64_t seed) {
  random_sequence random{seed, 0};
  const auto between = [&](double least, double most) { return least + (most - least) * random.uniform(); };
  const auto log_between = [&](double least, double most) { return least * std::pow(most / least, random.uniform()); };
  const auto one_in = [&](std::uint64_t n) { return random.below(n) == 0; };
  batch_task task;

  constexpr std::uint32_t sizes[]{4, 8, 8, 8, 8, 16, 16, 32};
  const std::uint32_t workers = sizes[random.below(8)];
  task.machines.workers = workers;
  task.machines.fixed_share = between(0.1, 0.5);
  task.machines.jitter = between(0.02, 0.1);
  const double slowest = 1 + 11 * random.uniform() * random.uniform();
  const std::uint64_t kind = random.below(3);
  const std::uint32_t slow = 1 + static_cast<std::uint32_t>(random.below(2));
  task.machines.step_time.assign(workers, 1.0);
  for (std::uint32_t w = 0; w < workers; ++w) {
    double& time = task.machines.step_time[w];
    if (kind == 0) time = w + slow >= workers ? slowest : 1;
    if (kind == 1) time = w < workers / 2 ? 1 : 1 + (slowest - 1) / 3;
    if (kind == 2) time = std::pow(slowest, static_cast<double>(w) / (workers - 1));
  }
  task.machines.link = {.bandwidth = 1, .model_size = 0.4 * random.uniform() * random.uniform() / workers};
  if (one_in(3)) {
    task.machines.link.model_size = (std::max)(task.machines.link.model_size, 0.16 / workers);
    task.machines.link.congestion = {.share = between(0.08, 0.38), .length = between(20, 80), .gap = between(20, 80)};
  }
  if (one_in(3))
    task.machines.stragglers = {.kind = sim::straggler_kind::burst,
                                .probability = between(0.1, 0.5),
                                .mean = 0,
                                .sd = 0,
                                .burst_length = between(20, 80),
                                .burst_gap = between(30, 130),
                                .slowdown = between(2, 7)};

  constexpr std::uint32_t initials[]{32, 64, 128, 256};
  task.initial = initials[random.below(4)];
  task.run.seed = seed;
  task.run.batch = 64;
  task.run.learning_rate.base = 0.4;
  task.run.evaluate_every = 2 * workers;
  task.run.max_time = 20'000;
  for (;;) {
    task.bowl = {
        .dimension = 16, .condition = log_between(5, 300), .noise = log_between(0.1, 6), .gradient_statistics = true};
    sim::quadratic bowl{task.bowl};
    bowl.reset(seed);
    task.run.target_accuracy = 1 / (1 + bowl.evaluate().loss * log_between(0.01, 0.15));
    const std::uint64_t noise = random();
    const std::uint32_t few = detail::updates_until(task, 1024, 400, noise);
    if (few < 30 || few > 400) continue;
    const double ratio = few / static_cast<double>(detail::updates_until(task, 256, 5 * few, noise));
    if (ratio < 0.2 || ratio > 0.6) continue;
    task.usual_time = few * *std::max_element(task.machines.step_time.begin(), task.machines.step_time.end());
    return task;
  }
}

/// The task, with batches that `by` sets.
template <BatchSizer Sizer>
[[nodiscard]] sim::run_result practise(const batch_task& task, Sizer by) {
  detail::squeezed_bowl goal{task};
  const batch_options options{.usual = 64, .initial = task.initial, .period = learned_period, .rate = rate_rule::none};
  return sim::simulate(task.machines, task.run, batch_sized<bsp, Sizer>{bsp{}, options, std::move(by)}, goal);
}

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
