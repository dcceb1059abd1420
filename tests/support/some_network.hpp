#ifndef RUBATO_TESTS_SUPPORT_SOME_NETWORK_HPP
#define RUBATO_TESTS_SUPPORT_SOME_NETWORK_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <rubato/core/rng.hpp>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/nn/initialiser.hpp>

namespace rubato::test {

/// A network with weights drawn from a seed, biases too: for states in which much is 0. The first layer's weights are
/// small enough for raw features.
[[nodiscard]] inline nn::dynamic_mlp random_network(std::uint64_t seed, std::size_t inputs = 40,
                                                    std::size_t hidden = 8, std::size_t outputs = 3) {
  nn::dynamic_mlp network = *nn::dynamic_mlp::make({inputs, hidden, outputs});
  random_sequence random{seed, 77};
  nn::initialise(network, {nn::initialiser_kind::xavier_uniform}, random);
  for (float& bias : network.bias(1)) bias = static_cast<float>(0.5 * random.normal());
  return network;
}

/// A network that values the three actions so, whatever it sees.
[[nodiscard]] inline nn::dynamic_mlp constant_network(const std::array<float, 3>& values, std::size_t inputs = 40) {
  nn::dynamic_mlp network = *nn::dynamic_mlp::make({inputs, 2, 3});
  for (std::size_t a = 0; a < 3; ++a) network.bias(1)[a] = values[a];
  return network;
}

}  // namespace rubato::test

#endif
