#ifndef RUBATO_RL_TRAINING_HPP
#define RUBATO_RL_TRAINING_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../pinned.hpp"
#include "checkpoint.hpp"
#include "evaluation.hpp"
#include "learner.hpp"
#include "setting.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// How a training is run, besides what the learner's own options say.
struct training_options {
  std::uint64_t seed = 1;                  ///< of everything that is random
  std::string task{};                      ///< what is trained on: part of the configuration; at most 240 bytes
  std::uint64_t evaluate_every = 0;        ///< steps, rounded up to the end of an episode; 0: never
  std::uint32_t evaluation_episodes = 20;  ///< of each evaluation; the same ones each time
  std::string checkpoint{};                ///< path of the file that run() keeps up to date; empty: none
  std::uint64_t checkpoint_every = 10;     ///< episodes; one is also written when run() ends; 0: only then
};

/// When a training is over: whichever comes first. It is no part of the configuration.
struct training_budget {
  std::uint64_t episodes = (std::numeric_limits<std::uint64_t>::max)();  ///< since the beginning, not since a resume
  std::uint64_t steps = (std::numeric_limits<std::uint64_t>::max)();     ///< since the beginning; cuts an episode short
};

/// How far a training is.
struct training_progress {
  std::uint64_t episodes = 0;  ///< that have ended, since the beginning
  std::uint64_t steps = 0;     ///< since the beginning

  friend bool operator==(const training_progress&, const training_progress&) = default;
};

/// How a training episode went.
struct episode_report {
  std::uint64_t episode = 0;      ///< 0 is the first
  std::uint64_t steps = 0;        ///< in this episode
  std::uint64_t total_steps = 0;  ///< since the beginning, this episode included
  double reward = 0;              ///< total, undiscounted
  double elapsed = 0;             ///< total
  std::uint64_t updates = 0;      ///< that learned something
  double mean_loss = 0;           ///< of the updates
  bool terminated = false;        ///< otherwise it was cut short

  friend bool operator==(const episode_report&, const episode_report&) = default;
};

/// Called between episodes. A report that answers false ends run(), which can be continued; so does `stop` with true.
struct training_callbacks {
  std::function<bool(const episode_report&)> episode{};  ///< after each; empty: go on
  std::function<bool(const evaluation&)> evaluated{};    ///< after each; empty: go on
  std::function<bool()> stop{};  ///< asked before each episode, those of evaluations included: a signal has come, say
};

/// Lets a learner act in an environment, one episode after another.
///
///     rl::trainer training{task, agent, {.seed = 7, .evaluate_every = 5000, .checkpoint = "agent.training"}};
///     if (killed_before) training.resume();            // look at the result: it names what does not fit
///     if (training.steps() == 0) training.select();    // the network at the start competes, too
///     training.run({.steps = 100'000}, {.episode = report, .stop = interrupted});
///     training.select();                                // and so does the last one
///     const nn::dynamic_mlp& policy = training.best();  // of the best evaluation
///
/// Everything random is keyed by (seed, purpose, step or episode), and a checkpoint holds everything else: a training
/// that was killed at any moment and continued from its checkpoint ends with the same bits as one that was not, and its
/// callbacks see the same reports from the checkpoint on. An evaluation that was stopped leaves no trace: the next
/// run() begins by repeating it.
///
/// The environment is a reference and must outlive the trainer; the learner is a copy.
/// Thread  not thread-safe.
/// Tests   tests/rl/training_test.cpp: SameSeedSameBits, ResumesBitForBit, KilledAndResumedBitForBit,
///         EvaluationDoesNotDisturb, BudgetsAreKept, KeepsTheBest, CallbackEndsTheRun, AnotherConfigurationIsRefused,
///         DamagedCheckpointsAreRefused, UpdatesComeInTheOrderOfAlgorithm2, LearnersThatDoNotFitAreRefused,
///         OlderCheckpointsReplaceEverything, NanIsTheWorstMean, SelectIsAnEvaluation, SelectIsDoneOncePerStep,
///         SelectIsKept, SelectWritesNothing, StopEndsTheRun, StoppedEvaluationsAreRepeated,
///         StoppedSelectLeavesNoTrace
template <Environment Task, Learner Agent>
class trainer {
 public:
  using network = typename Agent::network;  ///< what best() returns

  /// Begins with the learner as it is. What does not fit is found by run(), select() and resume().
  trainer(Task& task, Agent agent, training_options options)
      : task_{std::addressof(task)}, agent_{std::move(agent)}, options_{std::move(options)}, best_{agent_.policy()} {}

  /// Trains until the budget is spent or a callback says so.
  /// Errors  io: the checkpoint cannot be written; invalid_option: the learner is for tasks of another size, the task's
  ///         text is too long.
  result<training_progress> run(const training_budget& budget, const training_callbacks& callbacks = {}) {
    if (error wrong = problem(); wrong.code != errc::ok) return wrong;
    bool more = true;
    if (evaluation_is_due()) more = evaluate_now(callbacks.stop) && reported(callbacks);  // it was stopped before
    while (more && progress_.episodes < budget.episodes && progress_.steps < budget.steps) {
      if (callbacks.stop && callbacks.stop()) break;
      const episode_report report = episode(budget.steps);
      unsaved_ = true;
      const bool due = evaluation_is_due();
      const bool evaluated = due && evaluate_now(callbacks.stop);
      if (options_.checkpoint_every > 0 && progress_.episodes % options_.checkpoint_every == 0)
        if (error wrong = keep(); wrong.code != errc::ok) return wrong;
      if (callbacks.episode) more = callbacks.episode(report);
      if (due) more = evaluated && reported(callbacks) && more;
    }
    if (error wrong = keep(); wrong.code != errc::ok) return wrong;
    return progress_;
  }

  /// Evaluates now and keeps the best, as run() does every so many steps, unless that was done at this step already.
  /// Answers whether it was finished: false if callbacks.stop said true, and nothing has changed then. What
  /// callbacks.evaluated answers does not matter.
  ///
  /// Evaluations are part of the state: a training that selects at other steps is another training. Before the first
  /// episode and after the last are good places. It writes no checkpoint, so what a selection at the end has found is
  /// not in the way of a longer training that begins with the checkpoint.
  /// Errors  as run()
  result<bool> select(const training_callbacks& callbacks = {}) {
    if (error wrong = problem(); wrong.code != errc::ok) return wrong;
    if (!evaluations_.empty() && evaluations_.back().steps == progress_.steps) return true;
    if (!evaluate_now(callbacks.stop)) return false;
    static_cast<void>(reported(callbacks));
    return true;
  }

  /// Writes the checkpoint now; its size in bytes. run() does so by itself.
  [[nodiscard]] result<std::uint64_t> save() {
    auto done =
        detail::write_checkpoint(options_.checkpoint, configuration(), [this](archive& bytes) { state(bytes); });
    if (done) unsaved_ = false;
    return done;
  }

  /// Goes on where the checkpoint was written. On an error nothing has changed.
  /// Errors  io, corrupt, wrong_kind: see detail::read_checkpoint; the message names the setting that differs.
  ///         invalid_option: as run()
  [[nodiscard]] result<training_progress> resume() {
    if (error wrong = problem(); wrong.code != errc::ok) return wrong;
    trainer loaded = *this;
    error wrong = detail::read_checkpoint(options_.checkpoint, configuration(),
                                          [&loaded](archive& bytes) { loaded.state(bytes); });
    if (wrong.code != errc::ok) return wrong;
    *this = std::move(loaded);
    unsaved_ = false;
    return progress_;
  }

  /// The learner as training has left it.
  [[nodiscard]] const Agent& agent() const noexcept { return agent_; }
  /// The same, to be changed, by adopt() say, before a run.
  [[nodiscard]] Agent& agent() noexcept { return agent_; }
  [[nodiscard]] std::uint64_t episodes() const noexcept { return progress_.episodes; }  ///< see training_progress
  [[nodiscard]] std::uint64_t steps() const noexcept { return progress_.steps; }        ///< see training_progress
  /// All evaluations since the beginning: the learning curve.
  [[nodiscard]] std::span<const evaluation> evaluations() const noexcept { return evaluations_; }
  /// The policy of the evaluation with the largest mean, the first of equals; before any, the policy at the start.
  [[nodiscard]] const network& best() const noexcept { return best_; }
  [[nodiscard]] double best_mean() const noexcept { return best_mean_; }  ///< of that evaluation; 0 before any

  /// What must be the same for a checkpoint to be resumed, as "name=value".
  [[nodiscard]] std::vector<std::string> configuration() const {
    std::vector<std::string> lines = {"task=" + options_.task,
                                      detail::setting("seed", options_.seed),
                                      detail::setting("evaluate_every", options_.evaluate_every),
                                      detail::setting("evaluation_episodes", options_.evaluation_episodes),
                                      detail::setting("observation_size", std::size_t{task_->observation_size()}),
                                      detail::setting("actions", std::size_t{task_->actions()})};
    for (std::string& line : agent_.configuration()) lines.push_back(std::move(line));
    return lines;
  }

 private:
  episode_report episode(std::uint64_t step_budget) {
    episode_report report{.episode = progress_.episodes};
    double losses = 0;
    const auto update = [&] {
      random_sequence random = sequence_for(options_.seed, purpose::replay, iterations_++);
      const update_stats stats = agent_.update(random);
      if (!stats.learned) return;
      ++report.updates;
      losses += static_cast<double>(stats.loss);
    };

    const std::span<const float> first = task_->reset(episode_seed(options_.seed, purpose::training, report.episode));
    observation_.assign(first.begin(), first.end());
    std::uint32_t legal = task_->legal();
    if (agent_.updates_at_reset()) update();
    for (bool over = false; !over;) {
      random_sequence random = sequence_for(options_.seed, purpose::exploration, progress_.steps);
      const std::uint32_t action = agent_.act(observation_, legal, random);
      const auto outcome = task_->step(action);
      const bool out_of_steps = ++progress_.steps >= step_budget;
      over = outcome.terminated || outcome.truncated || out_of_steps;
      legal = task_->legal();
      agent_.record({.observation = observation_,
                     .action = outcome.executed,
                     .reward = outcome.reward,
                     .elapsed = outcome.elapsed,
                     .next = outcome.observation,
                     .next_legal = legal,
                     .terminated = outcome.terminated,
                     .truncated = over && !outcome.terminated});
      ++report.steps;
      report.reward += static_cast<double>(outcome.reward);
      report.elapsed += outcome.elapsed;
      report.terminated = outcome.terminated;
      observation_.assign(outcome.observation.begin(), outcome.observation.end());
      update();
    }
    report.total_steps = progress_.steps;
    report.mean_loss = report.updates > 0 ? losses / static_cast<double>(report.updates) : 0.0;
    ++progress_.episodes;
    return report;
  }

  // Why there can be no training.
  [[nodiscard]] error problem() const {
    if (options_.task.size() > 240) return {errc::invalid_option, "training: task: expected at most 240 bytes"};
    const std::size_t width = task_->observation_size(), actions = task_->actions();
    const std::size_t expected = agent_.observation_size(), known = agent_.actions();
    if (width == expected && actions == known) return {};
    const auto size = [](std::size_t numbers, std::size_t choices) {
      return "observations of " + std::to_string(numbers) + " and " + std::to_string(choices) + " actions";
    };
    return {errc::invalid_option,
            "training: the task has " + size(width, actions) + ", the learner is for " + size(expected, known)};
  }

  [[nodiscard]] bool evaluation_is_due() const noexcept {
    return options_.evaluate_every > 0 && progress_.steps >= next_evaluation_;
  }

  // Whether it was finished.
  [[nodiscard]] bool evaluate_now(const std::function<bool()>& stop) {
    std::optional<evaluation> seen =
        evaluate(*task_, agent_, options_.seed, options_.evaluation_episodes, purpose::selection, stop);
    if (!seen) return false;
    seen->steps = progress_.steps;
    seen->episodes = progress_.episodes;
    const bool better = seen->mean > best_mean_ || (pinned::is_nan(best_mean_) && !pinned::is_nan(seen->mean));
    if (evaluations_.empty() || better) {
      best_ = agent_.policy();
      best_mean_ = seen->mean;
    }
    evaluations_.push_back(*seen);
    if (options_.evaluate_every > 0)
      next_evaluation_ = (progress_.steps / options_.evaluate_every + 1) * options_.evaluate_every;
    unsaved_ = true;
    return true;
  }
  // Of the latest evaluation: whether to go on.
  [[nodiscard]] bool reported(const training_callbacks& callbacks) const {
    return !callbacks.evaluated || callbacks.evaluated(evaluations_.back());
  }

  // Writes the checkpoint if there is one and it is not up to date.
  [[nodiscard]] error keep() {
    if (!unsaved_ || options_.checkpoint.empty()) return {};
    auto done = save();
    return done ? error{} : done.error();
  }

  void state(archive& bytes) {
    bytes(progress_.episodes, progress_.steps, iterations_, next_evaluation_, best_mean_);
    std::uint64_t count = evaluations_.size();
    bytes(count);
    if (!bytes.saving()) evaluations_.clear();
    for (std::uint64_t i = 0; i < count && bytes.ok(); ++i) {
      if (!bytes.saving()) evaluations_.emplace_back();
      evaluation& e = evaluations_.data()[i];
      bytes(e.steps, e.episodes, e.mean, e.least, e.most, e.mean_elapsed);
    }
    best_.state(bytes);
    agent_.state(bytes);
  }

  Task* task_;
  Agent agent_;
  training_options options_;
  training_progress progress_;
  std::uint64_t iterations_ = 0;  // calls of update()
  std::uint64_t next_evaluation_ = options_.evaluate_every;
  std::vector<evaluation> evaluations_;
  network best_;
  double best_mean_ = 0;
  bool unsaved_ = false;  // the checkpoint is not up to date
  std::vector<float> observation_;
};

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
