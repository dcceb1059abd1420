#ifndef RUBATO_TESTS_INTEGRATIONS_CUDA_PS_CREW_HPP
#define RUBATO_TESTS_INTEGRATIONS_CUDA_PS_CREW_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <rubato/core/rng.hpp>
#include <rubato/cuda_ps/host_decisions.hpp>
#include <rubato/cuda_ps/host_shards.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/knee.hpp>
#include <rubato/sync/ssp.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace rubato::cuda_ps::test {

/// A server without a device: decisions, and shards in memory of the host.
struct bench {
  host_shards shards;
  host_decisions<any_policy, host_shards> decisions;

  bench(const server_options& o, std::vector<float> initial, any_policy policy, const rule_options& rule)
      : shards{initial, o.sync.capacity, o.shards, o.log_capacity}, decisions{o,    std::move(policy),
                                                                              rule, shards,
                                                                              {},   std::chrono::microseconds{0}} {}
  [[nodiscard]] std::vector<float> values() {
    return decisions.between_orders(
        [&](auto&) { return std::vector<float>(shards.values().begin(), shards.values().end()); });
  }
};

/// Steps of one life of a worker: `gradient(step, parameters, to)` fills the slot. Returns how many steps were pushed.
template <class Gradient>
std::uint64_t work(bench& at, worker_id who, std::uint64_t steps, Gradient&& gradient) {
  auto next = at.decisions.join_and_wait(who);
  for (std::uint64_t step = 1; step <= steps; ++step) {
    if (!next) return step - 1;
    gradient(step, *next, at.shards.copy(who.index), at.shards.gradient(who.index, next->slot));
    next = at.decisions.push_and_wait({.worker = who, .step = step});
  }
  if (next) static_cast<void>(at.decisions.finish(who));
  return steps;
}

/// Lets the threads of a test take turns at random.
inline void dawdle(random_sequence& random) {
  for (std::uint64_t n = random.below(4); n > 0; --n) std::this_thread::yield();
}

}  // namespace rubato::cuda_ps::test

#endif
