#include "train.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <rubato/core/fnv1a.hpp>
#include <rubato/io/atomic_file.hpp>
#include <rubato/learned/loader.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/rl/dqn.hpp>
#include <rubato/rl/ppo.hpp>
#include <rubato/rl/training.hpp>
#include <rubato/sim/kernels/kernels.hpp>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <variant>

#include "appraisal.hpp"
#include "expert_runs.hpp"
#include "library_version.hpp"
#include "scenario_task.hpp"
#include "states.hpp"
#include "support/file_lock.hpp"
#include "support/regular_file.hpp"
#include "support/shell_word.hpp"
#include "support/user_error.hpp"
#include "training_curves.hpp"

namespace rubato::lab {
namespace {

using support::user_error;
using support::value_or_refuse;

constexpr std::size_t hidden_widths[] = {64, 32};  // Zhu et al. (ICLR 2020), section 4

constexpr std::size_t largest_policy = safetensors_limits{}.header + safetensors_limits{}.data + 8;

// Of its content.
[[nodiscard]] std::string hash_of(const std::string& file) {
  return hexadecimal(fnv1a(support::regular_file{file}.content(largest_policy)));
}

[[nodiscard]] std::string as_csv(std::span<const rl::evaluation> evaluations) {
  std::string text = "episodes,pushes,mean_reward,least_reward,most_reward,mean_time\n";
  for (const rl::evaluation& e : evaluations) {
    text += std::to_string(e.episodes) + ',' + std::to_string(e.steps);
    for (const double number : {e.mean, e.least, e.most, e.mean_elapsed}) text += ',' + std::to_string(number);
    text += '\n';
  }
  return text;
}

// The mean time of a step when all workers run.
[[nodiscard]] double step_time(const sim::cluster_options& machines) {
  const auto& times = machines.step_time;
  const double mean = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  const bool shared = machines.cores > 0 && machines.cores < machines.workers;
  return shared ? mean * machines.workers / machines.cores : mean;
}

[[nodiscard]] policy_card card_of_training(const training_request& asked, const training_data& data, double time_unit) {
  const bool probes = asked.scenario.run.loss == sim::loss_source::probe;
  policy_card about;
  about.loss_source = probes ? "probe" : "worker_ema";
  about.reward = "-(time until the next push)";
  if (asked.agent.time_in_steps) about.reward += " / " + nlohmann::json(time_unit).dump();
  about.trained_on = asked.scenario.name + " " + hexadecimal(support::hash(asked.scenario)) + "; " + text_of(data);
  if (!asked.initial.empty()) about.trained_on += "; after " + hash_of(asked.initial);
  about.command = command_of(asked);
  about.seed = asked.seed;
  about.licence = asked.licence;
  return about;
}

// Training is to give the same policy on every processor.
[[nodiscard]] nn::dynamic_mlp reproducible(nn::dynamic_mlp network) {
  network.use(nn::kernels::reproducible<float>());
  return network;
}

// With weights from the stream of this number.
[[nodiscard]] nn::dynamic_mlp random_network(std::size_t inputs, std::size_t outputs, std::uint64_t seed,
                                             std::uint64_t number) {
  const std::array widths{inputs, hidden_widths[0], hidden_widths[1], outputs};
  auto net = reproducible(value_or_refuse(nn::dynamic_mlp::make(widths)));
  random_sequence draws = rl::sequence_for(seed, rl::purpose::weights, number);
  nn::initialise(net, {}, draws);
  return net;
}

// What learns by acting, beginning with this policy.
[[nodiscard]] rl::dqn<> learner_of(const rl::dqn_options& learning, const nn::dynamic_mlp& start, std::uint64_t) {
  return value_or_refuse(rl::dqn<>::make(reproducible(start), learning));
}
[[nodiscard]] rl::ppo<> learner_of(const rl::ppo_options& learning, const nn::dynamic_mlp& start, std::uint64_t seed) {
  return value_or_refuse(rl::ppo<>::make(reproducible(start), random_network(start.inputs(), 1, seed, 1), learning));
}

// One training, of a known encoder.
template <StateEncoder Encoder>
class session {
 public:
  using policy = q_policy<Encoder, nn::dynamic_mlp>;

  session(const training_request& asked, const training_files& files, const run_context& how)
      : asked_{asked},
        files_{files},
        how_{how},
        time_unit_{asked.agent.time_in_steps ? step_time(asked.scenario.cluster) : 1.0} {}

  training_report run(bool resume) {
    value_or_refuse(to_json(expected_card()));  // before hours are spent on what cannot be written
    const support::file_lock alone = files_.lock_them();
    if (files_.are_complete(expected_card(), resume)) return {.complete = true};
    curves_.emplace(files_.tensorboard, resume);
    const bool begun = resume && exists(files_.start) && exists(files_.training);
    if (resume && !begun) note("nothing to resume yet: beginning");
    const std::optional<policy> start = begun ? resumed_start() : new_start();
    if (!start) return {.interrupted = true};

    return std::visit(
        [&](auto learning) {
          learning.time_unit = time_unit_;
          // As the policy itself, see greedy().
          learning.undecided_action = static_cast<std::uint32_t>(group_action::submitter);
          return act(*start, learner_of(learning, start->network(), asked_.seed), begun);
        },
        asked_.agent.learning);
  }

 private:
  template <rl::Learner Learner>
  training_report act(const policy& start, Learner learner, bool begun) {
    workbench bench{how_.data};
    scenario_task<Encoder> task{asked_.scenario, bench, start.scale(), time_unit_};
    rl::trainer training{task, std::move(learner),
                         rl::training_options{.seed = asked_.seed,
                                              .task = task_text(),
                                              .evaluate_every = asked_.agent.evaluate_every,
                                              .evaluation_episodes = asked_.evaluation_episodes,
                                              .checkpoint = files_.training}};
    // A checkpoint from the beginning: it tells version and arithmetic, which the start does not.
    if (begun)
      value_or_refuse(training.resume());
    else
      value_or_refuse(training.save());
    if (training.episodes() > asked_.episodes)
      throw user_error{"--episodes: found " + std::to_string(asked_.episodes) + ", expected at least the " +
                       std::to_string(training.episodes()) + " that are done"};
    return learn(training, start);
  }

  void note(const std::string& said) const {
    if (!how_.display.quiet) how_.progress << said << std::endl;
  }

  // What the checkpoint must agree on, besides seed and learning: at most 240 bytes.
  [[nodiscard]] std::string task_text() const {
    return hexadecimal(support::hash(asked_.scenario)) + " " + hexadecimal(how_.data.fingerprint) + " " +
           std::string{Encoder::kind} + " from " + hash_of(files_.start) + " by " + library_version() + " " +
           std::string{sim::kernels::native().arithmetic};
  }

  // Of the result; without its appraisal, and with the layers of the smallest network.
  [[nodiscard]] policy_card expected_card() const {
    const auto smallest = value_or_refuse(nn::dynamic_mlp::make({Encoder::dim, group_actions}));
    return card_of(policy{smallest}, card_of_training(asked_, how_.data, time_unit_));
  }

  [[nodiscard]] policy_card start_card() const {
    training_request taught = asked_;
    taught.episodes = taught.test_seeds = 0;
    return card_of_training(taught, how_.data, time_unit_);
  }

  [[nodiscard]] policy load(const std::string& file) const { return value_or_refuse(load_q_policy<Encoder>(file)); }

  [[nodiscard]] std::optional<policy> resumed_start() const {
    const policy start = load(files_.start);
    policy_card expected = start_card();
    expected.kind = Encoder::kind;
    expected.rubato = library_version();
    check_card(files_.start, expected);
    return start;
  }

  // Nothing if it was interrupted.
  [[nodiscard]] std::optional<policy> new_start() {
    std::optional<policy> start = asked_.initial.empty() ? taught_by_experts() : initial_policy();
    if (start) value_or_refuse(save_q_policy(files_.start, *start, start_card()));
    return start;
  }

  [[nodiscard]] policy initial_policy() const {
    auto loaded = load_q_policy<Encoder>(asked_.initial);
    if (!loaded) throw user_error{"--initial: " + loaded.error().message};
    return *std::move(loaded);
  }

  [[nodiscard]] std::optional<policy> taught_by_experts() {
    const training_agent& agent = asked_.agent;
    nn::dynamic_mlp net = random_network(Encoder::dim, group_actions, asked_.seed, 0);
    normaliser<Encoder::dim> scale;
    if (agent.expert_runs > 0) {
      expert_log seen = watch_experts<Encoder>(experts_of(agent, asked_.scenario), asked_.scenario, asked_.seed,
                                               agent.expert_runs, time_unit_, how_);
      if (how_.stop) return std::nullopt;
      note("experts: " + std::to_string(seen.steps.size()) + " pushes; in " + std::to_string(seen.approximated) +
           " of them the action is only near to what the expert did");
      if (agent.experts_scale) scale_observations(seen.steps, scale);
      if (agent.lesson && !regress(net, seen.steps, *agent.lesson)) return std::nullopt;
    }
    return policy{net, {}, {}, scale};
  }

  static void scale_observations(rl::trace& seen, normaliser<Encoder::dim>& scale) {
    for (std::size_t i = 0; i < seen.size(); ++i) scale.observe(seen.observation(i).template first<Encoder::dim>());
    scale.freeze();
    for (std::size_t i = 0; i < seen.size(); ++i)
      scale.apply(std::span{seen.observations}.subspan(i * Encoder::dim).template first<Encoder::dim>());
  }

  // False if it was interrupted.
  [[nodiscard]] bool regress(nn::dynamic_mlp& net, rl::trace& seen, const expert_lesson& lesson) const {
    rl::return_options returns = lesson.returns;
    returns.time_unit = time_unit_;
    seen.compute_returns(returns);
    const std::size_t parameters = net.parameters().size();
    const random_sequence order = rl::sequence_for(asked_.seed, rl::purpose::pretraining, 1);
    const double rate = lesson.learning_rate;
    const auto stop = [this] { return how_.stop.load(); };
    const auto by = [&](auto optimiser) {
      return value_or_refuse(rl::pretrain(net, optimiser, seen, lesson.regression, order, stop));
    };
    const rl::pretrain_stats done = lesson.adaptive ? by(nn::adam{parameters, {.learning_rate = rate}, net.kernel()})
                                                    : by(nn::sgd{parameters, {.learning_rate = rate}, net.kernel()});
    if (done.stopped) return false;
    note("learned from experts: " + std::to_string(done.updates) + " updates, " +
         std::to_string(done.rejected_updates) + " refused (not finite); mean squared error of the last pass " +
         std::to_string(done.last_error));
    return true;
  }

  template <class Trainer>
  training_report learn(Trainer& training, const policy& start) {
    support::progress shown{how_.progress, "training", asked_.episodes, how_.display};
    shown.skip(training.episodes());
    curves_->begin(training.episodes());
    const rl::training_callbacks callbacks{
        .episode = [&](const rl::episode_report& e) { return curves_->note(e), shown.advance(), true; },
        .evaluated =
            [&](const rl::evaluation& e) {
              curves_->note(e);
              shown.print("after " + std::to_string(e.episodes) + " episodes: mean time from the first push on " +
                          std::to_string(e.mean_elapsed) + ", of " + std::to_string(asked_.evaluation_episodes));
              return true;
            },
        .stop = [this] { return how_.stop.load(); }};
    // Where evaluations choose, the policy at the start and the last one compete too.
    const auto select = [&] { return asked_.agent.evaluate_every == 0 || value_or_refuse(training.select(callbacks)); };
    bool whole = training.episodes() > 0 || select();
    if (whole) {
      value_or_refuse(training.run({.episodes = asked_.episodes}, callbacks));
      whole = training.episodes() >= asked_.episodes && select();
    }
    shown.finish();
    const auto& did = training.agent().counters();
    training_report report{.interrupted = !whole,
                           .episodes = training.episodes(),
                           .pushes = training.steps(),
                           .updates = did.updates,
                           .rejected_transitions = did.rejected_transitions,
                           .rejected_updates = did.rejected_updates,
                           .evaluations = {training.evaluations().begin(), training.evaluations().end()}};
    if (!report.interrupted) finish(report, training, start);
    return report;
  }

  template <class Trainer>
  void finish(training_report& report, const Trainer& training, const policy& start) const {
    const bool chosen = !training.evaluations().empty();
    const nn::dynamic_mlp& net = chosen ? training.best() : training.agent().policy();
    const policy learned{net, {}, {}, start.scale()};
    auto appraisal =
        appraise(learned, experts_of(asked_.agent, asked_.scenario), asked_.scenario, asked_.test_seeds, how_);
    report.interrupted = !appraisal;
    if (report.interrupted) return;
    report.appraisal = *std::move(appraisal);
    policy_card about = card_of_training(asked_, how_.data, time_unit_);
    about.evaluation = report.appraisal;
    files_.write_curve(as_csv(report.evaluations));  // before the checkpoint goes, which has them too
    value_or_refuse(save_q_policy(files_.result, learned, about));
    files_.remove_progress();
  }

  const training_request& asked_;
  const training_files files_;
  const run_context& how_;
  const double time_unit_;
  std::optional<training_curves> curves_;  // once the files are ours
};

}  // namespace

std::string command_of(const training_request& asked) {
  const training_agent& agent = asked.agent;
  std::string text = "rubato-lab train --scenario " + support::shell_word(asked.scenario_argument);
  for (const std::string& each : asked.settings) text += " --set " + support::shell_word(each);
  text += " --agent " + std::string{agent.name} + " --state " + asked.state + " --episodes " +
          std::to_string(asked.episodes) + " --seed " + std::to_string(asked.seed);
  if (asked.initial.empty())
    text += " --expert-runs " + std::to_string(agent.expert_runs);
  else
    text += " --initial " + support::shell_word(asked.initial);
  if (asked.episodes > 0 && agent.evaluate_every > 0)
    text += " --evaluate-every " + std::to_string(agent.evaluate_every) + " --evaluation-episodes " +
            std::to_string(asked.evaluation_episodes);
  if (asked.test_seeds > 0) text += " --test-seeds " + std::to_string(asked.test_seeds);
  if (!asked.licence.empty()) text += " --licence " + support::shell_word(asked.licence);
  return text;
}

training_report train(const training_request& asked, const training_files& files, bool resume, const run_context& how) {
  if (asked.agent.episodes == 0 && asked.episodes > 0)
    throw user_error{"--episodes: found " + std::to_string(asked.episodes) +
                     ", expected 0: " + std::string{asked.agent.name} + " learns from experts alone"};
  return with_state(asked.state, [&]<class Encoder>(std::type_identity<Encoder>) {
    return session<Encoder>{asked, files, how}.run(resume);
  });
}

}  // namespace rubato::lab
