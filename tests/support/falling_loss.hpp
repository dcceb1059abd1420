#ifndef RUBATO_TESTS_SUPPORT_FALLING_LOSS_HPP
#define RUBATO_TESTS_SUPPORT_FALLING_LOSS_HPP

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cluster.hpp"

namespace rubato::test {

/// What a policy grants in two hundred pushes of six workers whose losses fall from here.
template <class Policy>
[[nodiscard]] std::vector<grant> grants_while_losses_fall(Policy policy, float loss = 2.3F,
                                                          std::uint32_t samples = 16) {
  cluster<Policy> c{std::move(policy), 6};
  c.samples = samples;
  for (std::size_t n = 0; n < 200; ++n, loss *= 0.99F) {
    const auto running = c.running();
    c.push(running[n % running.size()], loss);
  }
  EXPECT_EQ(c.overrides(), 0U);
  std::vector<grant> all;
  for (const auto& each : c.heard().releases) all.push_back(each.terms);
  return all;
}

/// The mean binary logarithm of the last fifty batches.
[[nodiscard]] inline double last_batch_octaves(const std::vector<grant>& all) {
  double octaves = 0;
  for (std::size_t i = all.size() - 50; i < all.size(); ++i) octaves += std::log2(all[i].batch) / 50;
  return octaves;
}

}  // namespace rubato::test

#endif
