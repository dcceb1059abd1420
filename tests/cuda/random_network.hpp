#ifndef RUBATO_TESTS_CUDA_RANDOM_NETWORK_HPP
#define RUBATO_TESTS_CUDA_RANDOM_NETWORK_HPP

#include <cstddef>
#include <cstdint>
#include <rubato/core/rng.hpp>
#include <rubato/nn/mlp.hpp>
#include <span>
#include <vector>

namespace rubato::test {

/// Numbers in [-1, 1), the same for the same seed.
inline std::vector<float> numbers(std::size_t count, std::uint64_t seed) {
  random_sequence random{seed};
  std::vector<float> all(count);
  for (float& x : all) x = static_cast<float>(2 * random.uniform() - 1);
  return all;
}

/// `count` numbers: those of `from` again and again.
inline std::vector<float> repeated(const std::vector<float>& from, std::size_t count) {
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = from[i % from.size()];
  return all;
}

/// A network of the host with such parameters, on the kernels whose bits the shared bodies have.
template <class Network>
Network random_network(const nn::mlp_options& options, std::uint64_t seed) {
  Network net{options, nn::kernels::reproducible<float>()};
  const std::vector<float> values = numbers(net.parameters().size(), seed);
  std::span<float> to = net.parameters();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = 0.5F * values[i];
  return net;
}

}  // namespace rubato::test

#endif
