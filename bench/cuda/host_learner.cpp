#include "host_learner.hpp"

#include <algorithm>
#include <chrono>
#include <rubato/core/rng.hpp>
#include <rubato/nn/batch_workspace.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/rl/dqn.hpp>

// Apart from learner.cu: cicc 13.0 crashes over an rl::dqn<nn::mlp<...>>.
namespace rubato::bench {
namespace {

using network = nn::mlp<40, 64, 32, 3>;

network initial_network() {
  network net{{}};
  random_sequence random{1};
  nn::initialise(net, {}, random);
  return net;
}

}  // namespace

rl::dqn_options learner_options() {
  rl::dqn_options options;
  options.n_step = 1;
  options.batch = options.learn_after = 256;
  options.replay_capacity = 8192;
  return options;
}

std::vector<float> observations(std::size_t count, std::uint64_t seed) {
  random_sequence random{seed};
  std::vector<float> all(count * 40);
  for (float& x : all) x = static_cast<float>(2 * random.uniform() - 1);
  return all;
}

std::vector<float> initial_parameters() {
  const network net = initial_network();
  return {net.parameters().begin(), net.parameters().end()};
}

double updates_of_one_core() {
  const rl::dqn_options options = learner_options();
  auto agent = *rl::dqn<network>::make(initial_network(), options);
  const std::vector<float> seen = observations(options.replay_capacity + 1, 2);
  for (std::size_t i = 0; i < options.replay_capacity; ++i)
    agent.record({.observation = {seen.data() + i * 40, 40},
                  .action = static_cast<std::uint32_t>(i % 3),
                  .reward = seen[i],
                  .next = {seen.data() + (i + 1) * 40, 40}});
  random_sequence random{3};
  std::vector<double> all;
  for (int i = -100; i < 1000; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    agent.update(random);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (i >= 0) all.push_back(taken.count());
  }
  std::nth_element(all.begin(), all.begin() + 500, all.end());
  return 1 / all[500];
}

}  // namespace rubato::bench
