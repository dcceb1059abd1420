// What clocks and the idle set cost per push, under stale synchronous parallel on random arrivals, without the
// controller around them: tick, park or go on, and free those that wait when the slowest advances.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <rubato/core/parking.hpp>
#include <rubato/core/vector_clock.hpp>
#include <vector>

#include "arrivals.hpp"

namespace {

using rubato::clock_type;
using rubato::bench::arrivals;

constexpr clock_type staleness = 4;

struct clocks_and_idle {
  rubato::vector_clock clock;
  rubato::parking idle;

  explicit clocks_and_idle(std::uint32_t workers) : clock{workers}, idle{workers} {
    for (std::uint32_t w = 0; w < workers; ++w) clock.insert(w);
  }

  template <class Release>
  void push(std::uint32_t worker, Release&& release) {
    const clock_type before = clock.minimum();
    clock.tick(worker);
    const clock_type now = clock.minimum();
    if (now != before)
      while (idle.front() != rubato::no_worker && clock.clock(idle.front()) - now <= staleness) {
        const std::uint32_t freed = idle.front();
        idle.unpark(freed);
        release(freed);
      }
    if (clock.clock(worker) - now <= staleness)
      release(worker);
    else
      idle.park(worker, 0);
  }
};

void clock_tick(benchmark::State& state) {
  const auto workers = static_cast<std::uint32_t>(state.range(0));
  rubato::random_sequence random{1};
  std::vector<std::uint32_t> order(rubato::bench::trace_length);
  for (std::uint32_t& worker : order) worker = static_cast<std::uint32_t>(random.below(workers));
  clocks_and_idle sync{workers};
  std::size_t at = 0;
  for (auto _ : state) sync.clock.tick(order[at++]);
  benchmark::DoNotOptimize(sync.clock.minimum());
}

void clock_and_idle(benchmark::State& state) {
  const auto workers = static_cast<std::uint32_t>(state.range(0));
  arrivals running{workers};
  clocks_and_idle sync{workers};
  const auto starts = [&](std::uint32_t worker) { running.starts(worker); };
  for (std::uint32_t w = 0; w < workers; ++w) starts(w);
  for (std::size_t i = 0; i < rubato::bench::warm_up(workers); ++i) sync.push(running.next(), starts);
  const clocks_and_idle start = sync;
  std::vector<std::uint32_t> pushes(rubato::bench::trace_length);
  for (std::uint32_t& worker : pushes) sync.push(worker = running.next(), starts);

  sync = start;
  std::uint64_t released = 0;
  std::size_t at = 0;
  for (auto _ : state) sync.push(pushes[at++], [&](std::uint32_t) { ++released; });
  benchmark::DoNotOptimize(released);
}

BENCHMARK(clock_tick)->Apply(rubato::bench::sizes);
BENCHMARK(clock_and_idle)->Apply(rubato::bench::sizes);

}  // namespace

BENCHMARK_MAIN();
