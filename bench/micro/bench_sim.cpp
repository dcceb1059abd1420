// What the simulator costs beside the training it simulates: events of a cluster with nothing, or next to nothing, to
// learn.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <utility>

#include <rubato/sim/cluster.hpp>
#include <rubato/sim/quadratic.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>

namespace {

using namespace rubato::sim;

template <class Policy>
void run(benchmark::State& state, const cluster_options& machines, Policy policy) {
  constexpr std::uint64_t pushes = 100'000;
  quadratic goal;
  run_options training{.stop = stop_rule::workload, .workload = pushes * 16, .max_time = 1e9};
  training.learning_rate.base = 1e-4;  // stable with a thousand workers
  for (auto _ : state) benchmark::DoNotOptimize(simulate(machines, training, policy, goal).time);
  state.SetItemsProcessed(static_cast<std::int64_t>(pushes) * state.iterations());
}

// Arguments: workers.
void independent_asp(benchmark::State& state) {
  run(state, {.workers = static_cast<std::uint32_t>(state.range(0))}, rubato::asp{});
}
void independent_bsp(benchmark::State& state) {
  run(state, {.workers = static_cast<std::uint32_t>(state.range(0))}, rubato::bsp{});
}
void shared_cores_ssp(benchmark::State& state) {
  run(state,
      {.workers = static_cast<std::uint32_t>(state.range(0)),
       .cores = 4,
       .stragglers = {.kind = straggler_kind::fixed}},
      rubato::ssp{.staleness = 3});
}
void shared_link_asp(benchmark::State& state) {
  run(state,
      {.workers = static_cast<std::uint32_t>(state.range(0)),
       .link = {.bandwidth = 1, .latency = 0.01, .model_size = 0.25},
       .decision_time = 0.001},
      rubato::asp{});
}

BENCHMARK(independent_asp)->Arg(10)->Arg(100)->Arg(1'000)->Unit(benchmark::kMillisecond);
BENCHMARK(independent_bsp)->Arg(10)->Arg(100)->Unit(benchmark::kMillisecond);
BENCHMARK(shared_cores_ssp)->Arg(10)->Arg(100)->Unit(benchmark::kMillisecond);
BENCHMARK(shared_link_asp)->Arg(10)->Arg(100)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
