// What one decision about batches costs, for each worker: the end of a period in which everybody's steps were measured,
// with a network of the shape that ships, 32-64-64-5. The floor is the network's multiply-adds alone. What a push costs
// that ends no period is in `push`: all of a controller's admit and commit, under bsp, with the means of what was
// measured; `plain` is the same without batches.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <rubato/adapt/batch_size.hpp>
#include <rubato/adapt/batch_sizers/dynamix.hpp>
#include <rubato/core/rng.hpp>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/controller.hpp>
#include <string>
#include <utility>
#include <vector>

#include "floor.hpp"
#include "paired.hpp"

namespace {

namespace adapt = rubato::adapt;
using rubato::bsp;
using sizer = adapt::dynamix<rubato::nn::dynamic_mlp>;

rubato::nn::dynamic_mlp network() {
  auto net = *rubato::nn::dynamic_mlp::make({adapt::batch_state::size, 64, 64, adapt::batch_deltas.size()});
  rubato::random_sequence draws{1};
  for (float& x : net.parameters()) x = static_cast<float>(0.1 * (2 * draws.uniform() - 1));
  return net;
}

rubato::step_metrics measured(std::uint32_t worker) {
  const float one = static_cast<float>(worker % 7 + 1) / 8;
  return {.compute_time = one,
          .communication_time = one / 4,
          .throughput = one,
          .retransmissions = 2,
          .processor = one,
          .memory = one / 2,
          .accuracy = one,
          .gradient_variance = 1,
          .gradient_square = 0.1F};
}

void decision(benchmark::State& state, std::uint32_t workers) {
  sizer by{network()};
  by.resize(workers);
  std::vector<adapt::batch_worker> seen(workers);
  for (std::uint32_t w = 0; w < workers; ++w)
    seen[w] = {.counts = true,
               .batch = 128,
               .least = 32,
               .most = 1024,
               .steps = 2,
               .samples = 128,
               .step_time = 1,
               .loss = 1,
               .metrics = measured(w),
               .accuracy_deviation = 0.1F};
  std::vector<std::uint32_t> batches(workers, 128);
  const adapt::batch_period period{
      .workers = seen, .alive = workers, .usual = 64, .initial = 64, .number = 1, .time = 2};
  const std::size_t weights = by.network.parameters().size();
  std::vector<rubato::bench::contender> all;
  all.emplace_back(
      "ours", 100,
      [&] {
        by(period, batches);
        benchmark::DoNotOptimize(batches.data());
        batches.assign(workers, 128);
      },
      workers);
  all.emplace_back("floor", 100, [&] {
    benchmark::DoNotOptimize(rubato::bench::floor_pass(rubato::nn::kernels::native<float>().name, weights));
  });
  rubato::bench::in_turns(state, std::move(all));
}

template <class Policy>
struct rounds {
  rubato::controller<Policy, std::uint32_t> sync;
  std::uint32_t workers;
  double now = 0;

  rounds(Policy policy, std::uint32_t count) : sync{{.capacity = count}, std::move(policy)}, workers{count} {
    for (std::uint32_t w = 0; w < count; ++w) static_cast<void>(sync.join({w, 0}, 0.0, w, ignore));
  }
  void operator()() {
    for (std::uint32_t w = 0; w < workers; ++w) {
      static_cast<void>(sync.measured({w, 0}, measured(w)));
      static_cast<void>(sync.push({.worker = {w, 0}, .now = now += 1, .samples = 64, .loss = 1}, w, ignore));
    }
  }

  struct nobody {
    void release(std::uint32_t, rubato::worker_id, const rubato::grant&) {}
    void flush(std::uint64_t, float, std::uint32_t) {}
    void discard(std::uint64_t, std::uint32_t) {}
  };
  nobody ignore{};
};

void push(benchmark::State& state, std::uint32_t workers) {
  std::vector<rubato::bench::contender> all;
  using batches = adapt::batch_sized<bsp, adapt::same_batches>;
  all.emplace_back("ours", 20, rounds{batches{bsp{}, {.period = 1'000'000}, adapt::same_batches{}}, workers}, workers);
  all.emplace_back("plain", 20, rounds{bsp{}, workers}, workers);
  rubato::bench::in_turns(state, std::move(all));
}

[[maybe_unused]] const bool registered = [] {
  for (const std::uint32_t workers : {8U, 32U, 256U}) {
    const std::string of = "/" + std::to_string(workers);
    benchmark::RegisterBenchmark(("decision" + of).c_str(), decision, workers)->UseManualTime();
    benchmark::RegisterBenchmark(("push" + of).c_str(), push, workers)->UseManualTime();
  }
  return true;
}();

}  // namespace

BENCHMARK_MAIN();
