// What one push costs under each policy, for any number of workers: admit + commit with all that follows from it, and
// the polls that the policy asks for, in between. Arrivals are those of exponential step times of mean 1, recorded
// beforehand from a controller that has come to its steady state; the measured one starts from the same state and sees
// the same arrivals. All policies are held by any_policy, so each figure has its virtual calls in it.
//
//     bench_policies --benchmark_filter='ssp.*/1000$'
//
// Columns: releases and updates per push show that the policy was at work, polls per push what its deadlines cost the
// host; overrides must be 0.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/sync/controller.hpp>
#include <string>
#include <utility>
#include <vector>

#include "arrivals.hpp"
#include "policies.hpp"

namespace {

using rubato::grant;
using rubato::worker_id;
using ticket = std::uint32_t;
using controller = rubato::controller<rubato::any_policy, ticket>;

constexpr std::size_t pushes = 1'000'000;

// What a recording and its replay have in common: who runs, the time, and what became of everything.
struct progress {
  std::uint32_t running = 0;
  double now = 0.0;
  std::uint64_t releases = 0, polls = 0;
};

// Tells `started` of everybody who starts a step.
template <class Started>
struct counting {
  progress& at;
  Started& started;
  void release(ticket, worker_id worker, const grant&) {
    ++at.running, ++at.releases;
    started(worker.index);
  }
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
};

// The next push of this worker, at the time at which it comes if `running` workers have steps of mean 1.
template <class Started>
void push(controller& sync, progress& at, std::uint32_t worker, Started& started) {
  counting<Started> sink{at, started};
  at.now += 1.0 / at.running--;
  const rubato::push_event event{.worker = {worker, 0}, .now = at.now, .samples = 16, .loss = 1.0F};
  static_cast<void>(sync.push(event, worker, sink));
}

// What is due, and, if nobody runs, whatever is due next.
template <class Started>
void poll(controller& sync, progress& at, Started& started) {
  while (sync.next_deadline() <= at.now || at.running == 0) {
    if (sync.next_deadline() == std::numeric_limits<double>::infinity()) return;
    counting<Started> sink{at, started};
    at.now = std::max(at.now, sync.next_deadline());
    ++at.polls;
    sync.poll(at.now, sink);
  }
}

struct recording {
  controller start;  // after the warm-up
  progress at;
  std::vector<std::uint32_t> workers;  // who pushes from then on
};

recording record(const rubato::any_policy& policy, std::uint32_t workers) {
  rubato::bench::arrivals running{workers};
  const auto started = [&](std::uint32_t worker) { running.starts(worker); };
  controller sync{{.capacity = workers}, policy};
  progress at;
  counting<decltype(started)> sink{at, started};
  for (std::uint32_t w = 0; w < workers; ++w) static_cast<void>(sync.join({w, 0}, 0.0, w, sink));
  const auto step = [&] {
    poll(sync, at, started);
    const std::uint32_t worker = running.next();
    push(sync, at, worker, started);
    return worker;
  };
  for (std::size_t n = 0; n < rubato::bench::warm_up(workers); ++n) step();
  recording made{sync, at, {}};
  made.workers.resize(pushes);
  for (std::uint32_t& worker : made.workers) worker = step();
  return made;
}

void measure(benchmark::State& state, const rubato::any_policy& policy, std::uint32_t workers) {
  recording trace = record(policy, workers);
  controller& sync = trace.start;
  progress at = trace.at;
  const std::uint64_t overrides = sync.counts().overrides();
  const std::uint64_t updates = sync.updates();
  const auto nothing = [](std::uint32_t) {};
  auto next = trace.workers.begin();
  for (auto _ : state) {
    poll(sync, at, nothing);
    push(sync, at, *next++, nothing);
  }
  const auto per_push = [&](std::uint64_t n) { return static_cast<double>(n) / static_cast<double>(pushes); };
  state.counters["releases"] = per_push(at.releases - trace.at.releases);
  state.counters["updates"] = per_push(sync.updates() - updates);
  state.counters["polls"] = per_push(at.polls - trace.at.polls);
  state.counters["overrides"] = static_cast<double>(sync.counts().overrides() - overrides);
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::uint32_t workers : {10U, 1'000U, 100'000U, 1'000'000U})
    for (const rubato::bench::named_policy& p : rubato::bench::policies(workers)) {
      const std::string name = p.name + "/" + std::to_string(workers);
      const auto run = [policy = p.policy, workers](benchmark::State& state) { measure(state, policy, workers); };
      benchmark::RegisterBenchmark(name.c_str(), run)->Iterations(pushes);
    }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
