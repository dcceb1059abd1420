// What one push costs: admit + commit, with everything that follows from it, for the three rules and any number of
// workers. The arrivals are recorded beforehand, so that only the controller is measured.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <rubato/rubato.hpp>
#include <vector>

#include "arrivals.hpp"

namespace {

using rubato::grant;
using rubato::worker_id;
using rubato::bench::arrivals;
using ticket = std::uint32_t;

struct starting {
  arrivals& running;
  void release(ticket, worker_id worker, const grant&) { running.starts(worker.index); }
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
};

struct counting {
  std::uint64_t& effects;
  void release(ticket, worker_id, const grant&) { ++effects; }
  void flush(std::uint64_t, float, std::uint32_t) { ++effects; }
  void discard(std::uint64_t, std::uint32_t) { ++effects; }
};

template <class Policy>
struct recording {
  rubato::controller<Policy, ticket> start;  // after the warm-up
  std::vector<std::uint32_t> pushes;         // those that follow
};

double time_of(std::size_t push) { return static_cast<double>(push) * 1e-3; }

rubato::push_event event_of(std::uint32_t worker, std::size_t push) {
  return {.worker = {worker, 0}, .now = time_of(push), .samples = 16, .loss = 1.0F};
}

template <class Policy>
recording<Policy> record(const Policy& policy, std::uint32_t workers) {
  arrivals running{workers};
  starting sink{running};
  rubato::controller<Policy, ticket> sync{{.capacity = workers}, policy};
  for (std::uint32_t w = 0; w < workers; ++w) static_cast<void>(sync.join({w, 0}, 0.0, w, sink));
  std::size_t push = 0;
  const auto step = [&] {
    const std::uint32_t worker = running.next();
    static_cast<void>(sync.push(event_of(worker, ++push), worker, sink));
    return worker;
  };
  while (push < rubato::bench::warm_up(workers)) step();
  recording<Policy> made{sync, {}};
  made.pushes.resize(rubato::bench::trace_length);
  for (std::uint32_t& worker : made.pushes) worker = step();
  return made;
}

template <class Policy>
void push(benchmark::State& state, const Policy& policy) {
  const auto workers = static_cast<std::uint32_t>(state.range(0));
  recording<Policy> trace = record(policy, workers);
  const std::size_t offset = rubato::bench::warm_up(workers);
  auto& sync = trace.start;
  std::uint64_t effects = 0;
  counting sink{effects};
  std::size_t at = 0;
  for (auto _ : state) {
    const std::uint32_t worker = trace.pushes[at++];
    static_cast<void>(sync.push(event_of(worker, offset + at), worker, sink));
  }
  benchmark::DoNotOptimize(effects);
  state.counters["overrides"] = static_cast<double>(sync.counts().overrides());
}

BENCHMARK_CAPTURE(push, asp, rubato::asp{})->Apply(rubato::bench::sizes);
BENCHMARK_CAPTURE(push, ssp_3, rubato::ssp{.staleness = 3})->Apply(rubato::bench::sizes);
BENCHMARK_CAPTURE(push, bsp, rubato::bsp{})->Apply(rubato::bench::sizes);
BENCHMARK_CAPTURE(push, any_policy_of_asp, rubato::any_policy{rubato::asp{}})->Apply(rubato::bench::sizes);
BENCHMARK_CAPTURE(push, any_policy_of_ssp_3, rubato::any_policy{rubato::ssp{.staleness = 3}})
    ->Apply(rubato::bench::sizes);

}  // namespace

BENCHMARK_MAIN();
