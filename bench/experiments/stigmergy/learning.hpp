#ifndef RUBATO_BENCH_EXPERIMENTS_STIGMERGY_LEARNING_HPP
#define RUBATO_BENCH_EXPERIMENTS_STIGMERGY_LEARNING_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <rubato/rl.hpp>
#include <span>
#include <utility>
#include <vector>

#include "episodes.hpp"
#include "maddpg.hpp"
#include "networks.hpp"
#include "tunnel.hpp"

namespace stigmergy {

/// So many agents for so many steps of the world.
struct stage {
  std::size_t agents = 8;
  std::uint64_t steps = 0;
  double rate = 1;  ///< factor on learning rates
};

/// What all learners have in common, whatever they are.
struct plan {
  tunnel_options world{};             ///< but for the number of agents
  std::vector<stage> stages{};        ///< one after another, with the same networks
  std::uint64_t seed = 1;             ///< of everything
  double team_share = 0;              ///< an agent's reward is so much of the mean of all, and the rest of its own
  double reward_scale = 0.1;          ///< on rewards, so that values are of the order of 1
  std::uint64_t look_every = 20'000;  ///< steps of the world
  std::uint32_t look_episodes = 20;   ///< the same ones each time
};

/// A look at a policy in training.
struct look {
  std::size_t agents = 0;
  std::uint64_t steps = 0;  ///< of the world, since the beginning
  double delivered = 0;     ///< in selection episodes
};

/// What training came to: the policy of the best look at as many agents as the last stage has.
struct trained {
  chooser policy{};
  std::vector<look> looks{};
};

/// The same, but that the learning rate falls to a third in the last half of the last stage, to a tenth in its last
/// quarter.
[[nodiscard]] inline std::vector<stage> settling(std::vector<stage> stages) {
  const auto [agents, steps, rate] = stages.back();
  stages.pop_back();
  for (const auto& [share, factor] : {std::pair{2, 1.0}, {4, 1.0 / 3}, {4, 0.1}})
    stages.push_back({agents, steps / static_cast<std::uint64_t>(share), rate * factor});
  return stages;
}
/// Stages of 1, 2, 4, 6 and 8 agents as far as `last`, each of `early` steps but for that, which has `final_steps`.
[[nodiscard]] inline std::vector<stage> curriculum(std::size_t last, std::uint64_t early, std::uint64_t final_steps) {
  std::vector<stage> stages;
  for (const std::size_t agents : {1U, 2U, 4U, 6U, 8U})
    if (agents < last) stages.push_back({agents, early});
  stages.push_back({last, final_steps});
  return stages;
}

/// One episode as learners are told of it: agent by agent, since what follows a step is that agent's next one.
class joint_episode {
 public:
  joint_episode(std::size_t agents, std::size_t width) : agents_{agents}, width_{width} {}

  void clear() { observations_.clear(), actions_.clear(), rewards_.clear(); }
  /// Rows of all agents.
  void see(std::span<const float> rows) { observations_.insert(observations_.end(), rows.begin(), rows.end()); }
  void act(std::span<const std::uint32_t> actions, std::span<const float> rewards) {
    actions_.insert(actions_.end(), actions.begin(), actions.end());
    rewards_.insert(rewards_.end(), rewards.begin(), rewards.end());
  }
  /// Calls to(transition) for every step of every agent; the last of each is truncated.
  template <class To>
  void tell(To&& to) const {
    const std::size_t steps = actions_.size() / agents_;
    for (std::size_t i = 0; i < agents_; ++i)
      for (std::size_t t = 0; t < steps; ++t)
        to(rubato::rl::transition{.observation = row(t, i),
                                  .action = actions_[t * agents_ + i],
                                  .reward = rewards_[t * agents_ + i],
                                  .next = row(t + 1, i),
                                  .truncated = t + 1 == steps});
  }

 private:
  [[nodiscard]] std::span<const float> row(std::size_t step, std::size_t agent) const {
    return std::span{observations_}.subspan((step * agents_ + agent) * width_, width_);
  }

  std::size_t agents_, width_;
  std::vector<float> observations_;
  std::vector<std::uint32_t> actions_;
  std::vector<float> rewards_;
};

/// What was chosen for deep Q-learning, with pheromone and without: on one seed of eight agents that share rewards.
[[nodiscard]] inline rubato::rl::dqn_options dqn_settings() {
  rubato::rl::dqn_options o = rubato::rl::dqn_options::robust();
  o.gamma = 0.97;
  o.n_step = 5;
  o.huber_delta = 2;
  o.max_gradient_norm = 0.1;
  o.epsilon.last = 0.05;
  o.target_rate = 0.005;
  o.learning_rate = 0.0003;
  return o;
}
/// What was chosen for proximal policy optimisation.
[[nodiscard]] inline rubato::rl::ppo_options mappo_settings() {
  rubato::rl::ppo_options o = rubato::rl::ppo_options::robust();
  o.batch = 256;
  o.epochs = 5;
  o.gamma = 0.97;
  o.entropy_bonus = 0.01;
  o.max_divergence = 0.02;
  return o;
}

/// Each agent's reward as learners see it.
inline void share_rewards(const plan& by, std::span<const float> rewards, std::vector<float>& out) {
  float mean = 0;
  for (const float each : rewards) mean += each / static_cast<float>(rewards.size());
  const auto share = static_cast<float>(by.team_share), scale = static_cast<float>(by.reward_scale);
  out.clear();
  for (const float each : rewards) out.push_back(scale * ((1 - share) * each + share * mean));
}

namespace detail {

[[nodiscard]] inline network made(std::size_t inputs, std::size_t outputs, rubato::random_sequence& random) {
  return drawn_network({inputs, 128, 64, outputs}, random);
}

/// Keeps the policy of the best look.
struct selection {
  const plan& by;
  double best = -1;
  trained result{};

  template <class Copy>
  void operator()(tunnel& world, std::uint64_t steps, bool counts, Copy&& copy) {
    const chooser policy = copy();
    const double delivered = play(world, policy, by.seed, rubato::rl::purpose::selection, by.look_episodes).delivered;
    result.looks.push_back({world.agents(), steps, delivered});
    if (!counts || delivered <= best) return;
    best = delivered;
    result.policy = policy;
  }
};

/// Steps of the world, stage after stage, and a look every so often.
///
/// begin(stage) -> agent that acts; act(world, agent) -> action; step(world, before, actions, rewards, is_over);
template <class Begin, class Act, class Step, class Copy>
trained run(const plan& by, Begin&& begin, Act&& act, Step&& step, Copy&& copy) {
  selection select{by};
  std::uint64_t episode = 0, total = 0;
  std::vector<float> before, rewards;
  for (std::size_t s = 0; s < by.stages.size(); ++s) {
    tunnel_options options = by.world;
    options.agents = by.stages[s].agents;
    tunnel world{options}, aside{options};
    begin(s);
    std::vector<std::uint32_t> actions(options.agents);
    std::uint64_t next_look = by.look_every;
    for (std::uint64_t done = 0; done < by.stages[s].steps;) {
      world.reset(rubato::rl::episode_seed(by.seed, rubato::rl::purpose::training, episode++));
      for (bool is_over = false; !is_over;) {
        for (std::size_t i = 0; i < actions.size(); ++i) actions[i] = act(world, i);
        before.assign(world.observations().begin(), world.observations().end());
        const rubato::rl::joint_outcome outcome = world.step(actions);
        is_over = outcome.truncated;
        share_rewards(by, outcome.rewards, rewards);
        step(world, before, actions, rewards, is_over);
        ++done, ++total;
      }
      if (done < next_look && done < by.stages[s].steps) continue;
      next_look = done + by.look_every;
      select(aside, total, options.agents == by.stages.back().agents, copy);
    }
  }
  return std::move(select.result);
}

}  // namespace detail

/// Deep Q-learning whose network all agents share: S-MADRL where the world has pheromone, MADQN where it has not.
///
/// epsilon falls from 1 in the first stage, from `again` in each later one. What is looked at, and kept, is the average
/// of the networks in training, to which a step adds `average_rate` of the latest: what a single one does with eight
/// agents changes from look to look.
[[nodiscard]] inline trained train_dqn(const plan& by, rubato::rl::dqn_options options, double again = 0.3,
                                       double average_rate = 1e-4) {
  namespace rl = rubato::rl;
  rubato::random_sequence weights = rl::sequence_for(by.seed, rl::purpose::weights);
  rubato::random_sequence exploration = rl::sequence_for(by.seed, rl::purpose::exploration);
  rubato::random_sequence replay = rl::sequence_for(by.seed, rl::purpose::replay);
  rl::dqn<> agent = *rl::dqn<>::make(detail::made(tunnel::inputs, tunnel::actions(), weights), options);
  network average = agent.online();
  joint_episode episode{1, tunnel::inputs};
  return detail::run(
      by,
      [&](std::size_t s) {
        const stage& now = by.stages[s];
        options.epsilon.first = s == 0 ? 1 : again;
        options.epsilon.steps = now.steps / 2 * now.agents;
        agent = *rl::dqn<>::make(agent.online(), options);
        episode = {now.agents, tunnel::inputs};
      },
      [&](const tunnel& world, std::size_t i) { return agent.act(world.observation(i), rl::all_legal, exploration); },
      [&](const tunnel& world, std::span<const float> before, std::span<const std::uint32_t> actions,
          std::span<const float> rewards, bool is_over) {
        episode.see(before);
        episode.act(actions, rewards);
        if (is_over) {
          episode.see(world.observations());
          episode.tell([&](const rl::transition& step) { agent.record(step); });
          episode.clear();
        }
        agent.update(replay);
        follow(average, agent.online(), average_rate);
      },
      [&] {
        return [copy = average](const tunnel& world, std::size_t i, rubato::random_sequence&) {
          std::array<float, tunnel::actions()> values;
          copy.evaluate(world.observation(i), values);
          return rubato::rl::best_action(values, rubato::rl::all_legal, stay);
        };
      });
}

/// Proximal policy optimisation whose policy all agents share, and whose value network sees the whole world besides:
/// how MAPPO has it.
///
/// Source  Yu et al., "The Surprising Effectiveness of PPO in Cooperative Multi-Agent Games", NeurIPS 2022
[[nodiscard]] inline trained train_mappo(const plan& by, rubato::rl::ppo_options options, std::size_t episodes = 8) {
  namespace rl = rubato::rl;
  rubato::random_sequence weights = rl::sequence_for(by.seed, rl::purpose::weights);
  rubato::random_sequence exploration = rl::sequence_for(by.seed, rl::purpose::exploration);
  rubato::random_sequence order = rl::sequence_for(by.seed, rl::purpose::replay);
  const std::size_t width = tunnel::inputs + tunnel{by.world}.state_size();
  rl::ppo<> agent = [&] {
    auto policy = detail::made(tunnel::inputs, tunnel::actions(), weights);
    auto value = detail::made(width, 1, weights);
    return *rl::ppo<>::make(std::move(policy), std::move(value), options);
  }();
  joint_episode episode{1, width};
  std::vector<float> rows;
  const auto see = [&](std::span<const float> observations, const std::vector<float>& state) {
    rows.clear();
    for (std::size_t i = 0; i < observations.size() / tunnel::inputs; ++i) {
      const auto own = observations.subspan(i * tunnel::inputs, tunnel::inputs);
      rows.insert(rows.end(), own.begin(), own.end());
      rows.insert(rows.end(), state.begin(), state.end());
    }
    episode.see(rows);
  };
  std::vector<float> state;
  return detail::run(
      by,
      [&](std::size_t s) {
        const stage& now = by.stages[s];
        rl::ppo_options slower = options;
        slower.horizon = by.world.steps * now.agents * std::max<std::size_t>(1, episodes / now.agents);
        slower.batch = std::min(options.batch, slower.horizon);
        slower.learning_rate *= now.rate;
        slower.value_learning_rate *= now.rate;
        agent = *rl::ppo<>::make(agent.policy(), agent.value(), slower);
        episode = {now.agents, width};
      },
      [&](const tunnel& world, std::size_t i) {
        if (i == 0) state = world.state();
        return agent.act(world.observation(i), rl::all_legal, exploration);
      },
      [&](const tunnel& world, std::span<const float> before, std::span<const std::uint32_t> actions,
          std::span<const float> rewards, bool is_over) {
        see(before, state);
        episode.act(actions, rewards);
        if (!is_over) return;
        see(world.observations(), world.state());
        episode.tell([&](const rl::transition& step) { agent.record(step, rl::all_legal); });
        episode.clear();
        agent.update(order);
      },
      [&] {
        return [copy = agent.policy()](const tunnel& world, std::size_t i, rubato::random_sequence& random) {
          return drawn_action(copy, world.observation(i), random);
        };
      });
}

/// See maddpg. The plan has one stage, since every agent has networks of its own.
[[nodiscard]] inline trained train_maddpg(const plan& by, maddpg_options options) {
  namespace rl = rubato::rl;
  rubato::random_sequence weights = rl::sequence_for(by.seed, rl::purpose::weights);
  rubato::random_sequence exploration = rl::sequence_for(by.seed, rl::purpose::exploration);
  rubato::random_sequence replay = rl::sequence_for(by.seed, rl::purpose::replay);
  options.agents = by.stages.front().agents;
  options.inputs = tunnel::inputs;
  options.actions = tunnel::actions();
  maddpg agents{options, weights};
  return detail::run(
      by, [](std::size_t) {},
      [&](const tunnel& world, std::size_t i) { return agents.act(i, world.observation(i), exploration); },
      [&](const tunnel& world, std::span<const float> before, std::span<const std::uint32_t> actions,
          std::span<const float> rewards, bool) {
        agents.record(before, actions, rewards, world.observations());
        agents.update(replay);
      },
      [&] {
        std::vector<network> actors;
        for (std::size_t i = 0; i < options.agents; ++i) actors.push_back(agents.actor(i));
        return [actors](const tunnel& world, std::size_t i, rubato::random_sequence& random) {
          return drawn_action(actors[i], world.observation(i), random);
        };
      });
}

}  // namespace stigmergy

#endif
