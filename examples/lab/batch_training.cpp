#include "batch_training.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <rubato/adapt/batch_policy_file.hpp>
#include <rubato/adapt/train/batch_tasks.hpp>
#include <rubato/adapt/train/batch_trajectories.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/rl/antithetic_es.hpp>
#include <rubato/rl/evaluation.hpp>
#include <rubato/rl/ppo.hpp>
#include <span>
#include <utility>
#include <vector>

#include "library_version.hpp"
#include "support/file_lock.hpp"
#include "support/parallel.hpp"
#include "support/shell_word.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using adapt::batch_task;
using adapt::learned_batches;
using support::value_or_refuse;
using network = nn::dynamic_mlp;

constexpr std::size_t units = 64;         // of each of two hidden layers
constexpr std::uint32_t episodes = 96;    // of all workers, with the same network
constexpr std::uint32_t practised = 384;  // tasks that PPO's episodes are of
constexpr std::uint64_t first_practised = 1'000'000;

[[nodiscard]] rl::ppo_options learning() {
  rl::ppo_options options = rl::ppo_options::robust();
  options.horizon = 24'576;
  options.batch = 256;
  options.epochs = 4;
  options.gamma = 1;
  options.discount = rl::discounting::per_step;
  options.entropy_bonus = 0.001;
  options.undecided_action = adapt::no_change;
  return options;
}

// Hidden units are drawn; the outputs are small, so that all deltas are about equally likely at first.
[[nodiscard]] network drawn_network(std::size_t outputs, random_sequence& random) {
  const std::vector<std::size_t> widths{adapt::batch_state::size, units, units, outputs};
  network made = value_or_refuse(network::make(widths));
  nn::initialise(made, {}, random);
  for (float& w : made.parameters().subspan(made.layers().back().first)) w *= 0.01F;
  return made;
}

class batch_trainer {
 public:
  batch_trainer(const batch_training_request& asked, const training_files& files, unsigned threads,
                const std::atomic<bool>& stop, std::ostream& progress, const support::progress_options& display)
      : asked_{asked}, files_{files}, threads_{threads}, stop_{stop}, progress_{progress}, display_{display} {}

  [[nodiscard]] search_report train(bool resume) {
    const support::file_lock alone = files_.lock_them();
    if (files_.are_complete(adapt::card_of(learned_batches{untaught()}, card()), resume)) return {.complete = true};
    const std::optional<network> start = resume && exists(files_.start) ? loaded_start() : practised_network();
    if (!start) return {.interrupted = true};
    return search(*start, resume);
  }

 private:
  [[nodiscard]] network untaught() const {
    random_sequence weights = rl::sequence_for(asked_.seed, rl::purpose::weights);
    return drawn_network(adapt::batch_deltas.size(), weights);
  }

  [[nodiscard]] policy_card card() const {
    policy_card about;
    about.reward = "-time until the target";
    about.trained_on = "noisy quadratic bowls on clusters drawn at random, see draw_batch_task";
    about.command = "rubato-lab batch train --seed " + std::to_string(asked_.seed) + " --updates " +
                    std::to_string(asked_.updates) + " --generations " + std::to_string(asked_.generations) +
                    " --population " + std::to_string(asked_.population) + " --tasks " + std::to_string(asked_.tasks) +
                    " --select-every " + std::to_string(asked_.select_every) + " --selection-tasks " +
                    std::to_string(asked_.selection_tasks) +
                    (asked_.licence.empty() ? "" : " --licence " + support::shell_word(asked_.licence));
    about.seed = asked_.seed;
    about.licence = asked_.licence;
    return about;
  }

  [[nodiscard]] network loaded_start() const { return value_or_refuse(adapt::load_batch_policy(files_.start)).network; }

  // By PPO; kept in a file. None if it was stopped.
  [[nodiscard]] std::optional<network> practised_network() {
    random_sequence weights = rl::sequence_for(asked_.seed, rl::purpose::weights);
    network policy = drawn_network(adapt::batch_deltas.size(), weights), value = drawn_network(1, weights);
    auto agent = value_or_refuse(rl::ppo<>::make(std::move(policy), std::move(value), learning()));
    std::vector<batch_task> tasks(asked_.updates > 0 ? practised : 0);
    support::share_out(
        tasks.size(), threads_, stop_, [] { return 0; },
        [&](int, std::size_t i) { tasks[i] = adapt::draw_batch_task(first_practised + i); });
    support::progress shown{progress_, "practising", asked_.updates, display_};
    std::uint64_t begun = 0;
    for (std::uint32_t update = 0; update < asked_.updates && !stop_; ++update) {
      while (!agent.is_due() && !stop_) act(agent, tasks, begun);
      random_sequence draws = rl::sequence_for(asked_.seed, rl::purpose::replay, update);
      static_cast<void>(agent.update(draws));
      shown.advance();
    }
    shown.finish();
    if (stop_) return std::nullopt;
    value_or_refuse(adapt::save_batch_policy(files_.start, {agent.policy()}, card()));
    return agent.policy();
  }

  // Episodes in which the present policy draws, and what they tell the agent, in their order.
  void act(rl::ppo<>& agent, const std::vector<batch_task>& tasks, std::uint64_t& begun) {
    const auto policy = std::make_shared<const network>(agent.policy());
    struct episode {
      std::shared_ptr<adapt::batch_trajectories> made = std::make_shared<adapt::batch_trajectories>();
      const batch_task* task = nullptr;
      sim::run_result ended{};
    };
    std::vector<episode> all(episodes);
    support::share_out(
        episodes, threads_, stop_, [] { return 0; },
        [&](int, std::size_t i) {
          random_sequence draws = rl::sequence_for(asked_.seed, rl::purpose::training, begun + i);
          all[i].task = &tasks[draws.below(tasks.size())];
          all[i].ended = adapt::practise(*all[i].task, adapt::exploring_batches<network>{policy, all[i].made, draws()});
        });
    begun += episodes;
    if (stop_) return;
    for (const episode& each : all)
      adapt::record_run(agent, *each.made, each.ended.time, each.ended.reached, each.task->usual_time / 3);
  }

  [[nodiscard]] search_report search(const network& start, bool resume) {
    rl::search_trainer training{
        value_or_refuse(rl::antithetic_es::make(start.parameters(), {.seed = asked_.seed,
                                                                     .step_size = 0.03,
                                                                     .learning_rate = 0.001,
                                                                     .population = asked_.population,
                                                                     .averaging = 0.9})),
        rl::search_training_options{.seed = asked_.seed,
                                    .task = "batches by " + library_version(),
                                    .runs = asked_.tasks,
                                    .select_every = asked_.select_every,
                                    .selection_runs = asked_.selection_tasks,
                                    .checkpoint = files_.training}};
    resume_search(training, files_, resume, asked_.generations);
    const rl::run_trials measure = [&](std::span<const rl::trial> trials, std::span<double> costs) {
      return measured(start, trials, costs);
    };
    search_report report =
        conduct_search(training, asked_.generations, true, measure, "log(time)", stop_, progress_, display_);
    if (report.interrupted) return report;
    learned_batches best{start};
    std::ranges::copy(training.best(), best.network.parameters().begin());
    value_or_refuse(adapt::save_batch_policy(files_.result, best, card()));
    files_.remove_progress();
    return report;
  }

  // What the trials cost. Candidates share their seeds, and drawing a task takes longer than practising it.
  [[nodiscard]] bool measured(const network& start, std::span<const rl::trial> trials, std::span<double> costs) const {
    std::map<std::uint64_t, batch_task> tasks;
    for (const rl::trial& each : trials) tasks[each.seed] = {};
    std::vector<std::pair<const std::uint64_t, batch_task>*> drawn;
    for (auto& each : tasks) drawn.push_back(&each);
    support::share_out(
        drawn.size(), threads_, stop_, [] { return 0; },
        [&](int, std::size_t i) { drawn[i]->second = adapt::draw_batch_task(drawn[i]->first); });
    support::share_out(
        trials.size(), threads_, stop_, [&] { return learned_batches{start}; },
        [&](learned_batches& policy, std::size_t i) {
          std::ranges::copy(trials[i].parameters, policy.network.parameters().begin());
          costs[i] = std::log(adapt::practise(tasks.at(trials[i].seed), policy).time);
        });
    return !stop_;
  }

  const batch_training_request& asked_;
  const training_files& files_;
  unsigned threads_;
  const std::atomic<bool>& stop_;
  std::ostream& progress_;
  const support::progress_options& display_;
};

}  // namespace

search_report train_batches(const batch_training_request& asked, const training_files& files, bool resume,
                            unsigned threads, const std::atomic<bool>& stop, std::ostream& progress,
                            const support::progress_options& display) {
  return batch_trainer{asked, files, threads, stop, progress, display}.train(resume);
}

}  // namespace rubato::lab
