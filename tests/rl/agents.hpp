#ifndef RUBATO_TESTS_RL_AGENTS_HPP
#define RUBATO_TESTS_RL_AGENTS_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <rubato/nn/initialiser.hpp>
#include <rubato/rl/dqn.hpp>
#include <rubato/rl/evaluation.hpp>
#include <vector>

namespace rubato::test {

/// A network of one layer with these parameters (weights input-major, then biases).
inline nn::dynamic_mlp linear(std::size_t inputs, std::size_t outputs, const std::vector<float>& parameters) {
  auto net = nn::dynamic_mlp::make({inputs, outputs});
  std::ranges::copy(parameters, net->parameters().begin());
  return *net;
}

/// A network with drawn weights.
inline nn::dynamic_mlp drawn(std::initializer_list<std::size_t> widths, std::uint64_t seed) {
  auto net = nn::dynamic_mlp::make(widths);
  random_sequence random = rl::sequence_for(seed, rl::purpose::weights);
  nn::initialise(*net, {}, random);
  return *net;
}

inline std::vector<float> parameters(const nn::dynamic_mlp& net) {
  return {net.parameters().begin(), net.parameters().end()};
}

/// A step of a task with one number to observe.
struct row {
  std::array<float, 1> observation, next;
  std::uint32_t action;
  float reward;
  double elapsed = 1;
  bool terminated = false, truncated = false;
  std::uint32_t next_legal = rl::all_legal;

  operator rl::transition() const {
    return {.observation = observation,
            .action = action,
            .reward = reward,
            .elapsed = elapsed,
            .next = next,
            .next_legal = next_legal,
            .terminated = terminated,
            .truncated = truncated};
  }
};

/// Everything that a learner saves.
template <class T>
std::vector<std::byte> saved(T what) {
  archive out;
  what.state(out);
  return {out.bytes().begin(), out.bytes().end()};
}

}  // namespace rubato::test

#endif
