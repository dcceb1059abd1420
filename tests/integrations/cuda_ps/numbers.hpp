#ifndef RUBATO_TESTS_INTEGRATIONS_CUDA_PS_NUMBERS_HPP
#define RUBATO_TESTS_INTEGRATIONS_CUDA_PS_NUMBERS_HPP

#include <cstddef>
#include <cstdint>
#include <rubato/core/rng.hpp>
#include <vector>

namespace rubato::cuda_ps::test {

/// Numbers between -1 and 1 whose sums are rounded; by `seed` and `stream` alone.
inline std::vector<float> numbers(std::size_t count, std::uint64_t seed, std::uint64_t stream = 0) {
  random_sequence random{seed, stream, 0};
  std::vector<float> made(count);
  for (float& each : made) each = static_cast<float>(2 * random.uniform() - 1);
  return made;
}

}  // namespace rubato::cuda_ps::test

#endif
