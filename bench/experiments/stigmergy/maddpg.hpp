#ifndef RUBATO_BENCH_EXPERIMENTS_STIGMERGY_MADDPG_HPP
#define RUBATO_BENCH_EXPERIMENTS_STIGMERGY_MADDPG_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <rubato/nn/loss.hpp>
#include <rubato/nn/optimiser.hpp>
#include <span>
#include <utility>
#include <vector>

#include "networks.hpp"

namespace stigmergy {

/// How a maddpg learns.
struct maddpg_options {
  std::size_t agents = 2;
  std::size_t inputs = 0;  ///< what each agent sees
  std::size_t actions = 0;
  std::vector<std::size_t> hidden{128, 64};
  double gamma = 0.97;
  double temperature = 1;                           ///< of the Gumbel softmax
  double target_rate = 0.01;                        ///< by which target networks follow
  double actor_rate = 0.0003, critic_rate = 0.001;  ///< of Adam
  double preference_penalty = 0.001;                ///< on the squares of preferences, lest they saturate
  double max_gradient_norm = 0.5;
  std::size_t capacity = 100'000;  ///< joint steps that are kept
  std::size_t batch = 256;
  std::size_t update_every = 8;     ///< joint steps
  std::size_t learn_after = 2'000;  ///< joint steps
};

/// Each agent has a policy of its own, by what it sees, and a critic of its own, which sees and knows what all of them
/// do; actions are drawn by the Gumbel-softmax trick, so that the critic's slope reaches the policy.
/// Source  Lowe et al., "Multi-Agent Actor-Critic for Mixed Cooperative-Competitive Environments", NIPS 2017
class maddpg {
 public:
  maddpg(const maddpg_options& options, rubato::random_sequence& random) : options_{options} {
    const std::size_t n = options.agents, joint = n * (options.inputs + options.actions);
    const auto drawn = [&](std::size_t inputs, std::size_t outputs) {
      std::vector<std::size_t> widths{inputs};
      widths.insert(widths.end(), options.hidden.begin(), options.hidden.end());
      widths.push_back(outputs);
      return drawn_network(widths, random);
    };
    for (std::size_t i = 0; i < n; ++i)
      members_.emplace_back(drawn(options.inputs, options.actions), drawn(joint, 1), options);
    width_ = n * options.inputs;
    observations_.resize(options.capacity * width_);
    next_.resize(options.capacity * width_);
    actions_.resize(options.capacity * n);
    rewards_.resize(options.capacity * n);
  }

  /// An action for this agent, drawn by its preferences.
  [[nodiscard]] std::uint32_t act(std::size_t agent, std::span<const float> observation,
                                  rubato::random_sequence& random) const {
    return drawn_action(members_[agent].actor, observation, random);
  }
  [[nodiscard]] const network& actor(std::size_t agent) const { return members_[agent].actor; }

  /// A joint step: all observations one after another, an action and a reward for each, and what came of it.
  void record(std::span<const float> observations, std::span<const std::uint32_t> actions,
              std::span<const float> rewards, std::span<const float> next) {
    const std::size_t slot = steps_++ % options_.capacity, n = options_.agents;
    std::copy(observations.begin(), observations.end(), observations_.data() + slot * width_);
    std::copy(next.begin(), next.end(), next_.data() + slot * width_);
    std::copy(actions.begin(), actions.end(), actions_.data() + slot * n);
    std::copy(rewards.begin(), rewards.end(), rewards_.data() + slot * n);
  }

  /// Learns if it is time.
  void update(rubato::random_sequence& random) {
    if (steps_ < options_.learn_after || steps_ % options_.update_every != 0) return;
    for (std::size_t i = 0; i < options_.agents; ++i) learn(i, random);
    for (member& each : members_) {
      follow(each.target_actor, each.actor, options_.target_rate);
      follow(each.target_critic, each.critic, options_.target_rate);
    }
  }

 private:
  struct member {
    member(network policy, network value, const maddpg_options& o)
        : actor{std::move(policy)},
          critic{std::move(value)},
          target_actor{actor},
          target_critic{critic},
          actor_optimiser{actor.parameters().size(), {.learning_rate = o.actor_rate}, rubato::nn::kernel_of(actor)},
          critic_optimiser{critic.parameters().size(), {.learning_rate = o.critic_rate}, rubato::nn::kernel_of(critic)},
          actor_work{actor, o.batch},
          critic_work{critic, o.batch},
          actor_gradient(actor.parameters().size()),
          critic_gradient(critic.parameters().size()) {}

    network actor, critic, target_actor, target_critic;
    rubato::nn::adam actor_optimiser, critic_optimiser;
    network::workspace actor_work, critic_work;
    std::vector<float> actor_gradient, critic_gradient;
  };

  // softmax((preferences + Gumbel noise) / temperature), row by row, in place.
  void relax(std::span<float> preferences, rubato::random_sequence& random) const {
    const std::size_t width = options_.actions;
    for (std::size_t row = 0; row < preferences.size(); row += width) {
      float most = -HUGE_VALF, sum = 0;
      for (std::size_t a = 0; a < width; ++a) {
        float& p = preferences[row + a];
        const double gumbel = -std::log(-std::log(1 - 0.999999 * random.uniform() - 5e-7));
        p = static_cast<float>((static_cast<double>(p) + gumbel) / options_.temperature);
        most = std::max(most, p);
      }
      for (std::size_t a = 0; a < width; ++a) sum += preferences[row + a] = std::exp(preferences[row + a] - most);
      for (std::size_t a = 0; a < width; ++a) preferences[row + a] /= sum;
    }
  }

  // Rows of one agent's observations, and rows of [all observations, all actions] without the latter.
  [[nodiscard]] std::vector<float> seen_by(std::size_t agent, const std::vector<float>& memory) const {
    std::vector<float> rows(options_.batch * options_.inputs);
    for (std::size_t k = 0; k < options_.batch; ++k)
      std::copy_n(memory.data() + chosen_[k] * width_ + agent * options_.inputs, options_.inputs,
                  rows.data() + k * options_.inputs);
    return rows;
  }
  [[nodiscard]] std::vector<float> seen_by_all(const std::vector<float>& memory) const {
    const std::size_t joint = width_ + options_.agents * options_.actions;
    std::vector<float> rows(options_.batch * joint, 0.0F);
    for (std::size_t k = 0; k < options_.batch; ++k)
      std::copy_n(memory.data() + chosen_[k] * width_, width_, rows.data() + k * joint);
    return rows;
  }

  void learn(std::size_t agent, rubato::random_sequence& random) {
    const std::size_t n = options_.agents, m = options_.actions, batch = options_.batch, joint = width_ + n * m;
    const std::size_t stored = std::min(steps_, options_.capacity);
    chosen_.resize(batch);
    for (std::size_t& each : chosen_) each = static_cast<std::size_t>(random.below(stored));
    member& who = members_[agent];

    // The critic, towards the reward and what target networks say of the next step.
    std::vector<float> rows = seen_by_all(next_);
    for (std::size_t other = 0; other < n; ++other) {
      member& one = members_[other];
      const std::vector<float> sees = seen_by(other, next_);
      const auto wants = one.target_actor.forward(sees, one.actor_work);
      std::vector<float> drawn(wants.begin(), wants.end());
      relax(drawn, random);
      for (std::size_t k = 0; k < batch; ++k)
        std::copy_n(drawn.data() + k * m, m, rows.data() + k * joint + width_ + other * m);
    }
    const auto later = who.target_critic.forward(rows, who.critic_work);
    std::vector<float> targets(batch);
    for (std::size_t k = 0; k < batch; ++k)
      targets[k] = rewards_[chosen_[k] * n + agent] + static_cast<float>(options_.gamma) * later[k];
    rows = seen_by_all(observations_);
    for (std::size_t k = 0; k < batch; ++k)
      for (std::size_t other = 0; other < n; ++other)
        rows[k * joint + width_ + other * m + actions_[chosen_[k] * n + other]] = 1;
    std::vector<float> slopes(batch);
    const auto values = who.critic.forward(rows, who.critic_work);
    static_cast<void>(rubato::nn::squared_error<float>(values, targets, slopes, 1.0F / static_cast<float>(batch)));
    who.critic.backward(slopes, who.critic_work, who.critic_gradient, rubato::nn::gradient_mode::overwrite);
    step(who.critic, who.critic_gradient, who.critic_optimiser);

    // The policy, up the critic's slope by its own action.
    const std::vector<float> sees = seen_by(agent, observations_);
    const auto wants = who.actor.forward(sees, who.actor_work);
    const std::vector<float> preferences(wants.begin(), wants.end());
    std::vector<float> drawn = preferences;
    relax(drawn, random);
    for (std::size_t k = 0; k < batch; ++k)
      std::copy_n(drawn.data() + k * m, m, rows.data() + k * joint + width_ + agent * m);
    static_cast<void>(who.critic.forward(rows, who.critic_work));
    std::fill(slopes.begin(), slopes.end(), -1.0F / static_cast<float>(batch));
    std::vector<float> by_input(batch * joint);
    who.critic.backward(slopes, who.critic_work, who.critic_gradient, rubato::nn::gradient_mode::overwrite, by_input);
    std::vector<float> by_preference(batch * m);
    for (std::size_t k = 0; k < batch; ++k) {
      const float* slope = by_input.data() + k * joint + width_ + agent * m;
      const float* p = drawn.data() + k * m;
      float mean = 0;
      for (std::size_t a = 0; a < m; ++a) mean += p[a] * slope[a];
      for (std::size_t a = 0; a < m; ++a)
        by_preference[k * m + a] = p[a] * (slope[a] - mean) / static_cast<float>(options_.temperature) +
                                   static_cast<float>(2 * options_.preference_penalty) * preferences[k * m + a] /
                                       static_cast<float>(batch * m);
    }
    who.actor.backward(by_preference, who.actor_work, who.actor_gradient, rubato::nn::gradient_mode::overwrite);
    step(who.actor, who.actor_gradient, who.actor_optimiser);
  }

  void step(network& of, std::vector<float>& gradient, rubato::nn::adam& optimiser) const {
    const double norm =
        rubato::nn::clip_by_norm<float>(gradient, options_.max_gradient_norm, rubato::nn::kernel_of(of));
    if (std::isfinite(norm)) optimiser.step(of.parameters(), gradient);
  }

  maddpg_options options_;
  std::vector<member> members_;
  std::size_t width_ = 0;  // of a joint observation
  std::vector<float> observations_, next_, rewards_;
  std::vector<std::uint32_t> actions_;
  std::vector<std::size_t> chosen_;
  std::size_t steps_ = 0;
};

}  // namespace stigmergy

#endif
