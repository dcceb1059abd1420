// What one push costs: admit + commit, with everything that follows from it, for the three rules and any number of
// workers. The arrivals are recorded beforehand, so that only the controller is measured: pieces of the record are
// replayed from the same state several times, and each counts with its least time. Counters:
//   min        nanoseconds a push
//   lines      cache lines of per-worker data that a push touches; from the layout, see lines_of()
//   line       nanoseconds of one load that depends on the last, at random places of as much memory as those data take,
//              measured in turns with the rest
//   lines_x_line   what a push would cost if every line were waited for, one after the other, and all else were free
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <rubato/rubato.hpp>
#include <utility>
#include <vector>

#include "arrivals.hpp"
#include "paired.hpp"

namespace {

using rubato::grant;
using rubato::worker_id;
using rubato::bench::arrivals;
using ticket = std::uint32_t;

constexpr std::size_t pieces = 200;
constexpr std::size_t piece = 5'000;  // pushes

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
  double parked = 0.0;                       // share of the pushes whose worker did not go on at once
};

rubato::push_event event_of(std::uint32_t worker, std::size_t push) {
  return {.worker = {worker, 0}, .now = static_cast<double>(push) * 1e-3, .samples = 16, .loss = 1.0F};
}

template <class Policy>
recording<Policy> record(const Policy& policy, std::uint32_t workers) {
  arrivals running{workers};
  starting sink{running};
  rubato::controller<Policy, ticket> sync{{.capacity = workers}, policy};
  for (std::uint32_t w = 0; w < workers; ++w) static_cast<void>(sync.join({w, 0}, 0.0, w, sink));
  std::size_t push = 0;
  std::size_t parked = 0;
  const auto step = [&] {
    const std::uint32_t worker = running.next();
    static_cast<void>(sync.push(event_of(worker, ++push), worker, sink));
    parked += sync.workers()[worker].state == rubato::worker_state::parked ? 1 : 0;
    return worker;
  };
  while (push < rubato::bench::warm_up(workers)) step();
  recording<Policy> made{sync, {}};
  made.pushes.resize(pieces * piece);
  parked = 0;
  for (std::uint32_t& worker : made.pushes) worker = step();
  made.parked = static_cast<double>(parked) / static_cast<double>(made.pushes.size());
  return made;
}

// Per worker: worker_record (80 bytes at multiples of 80: two lines), its clock (16), what is outstanding (64, aligned)
// and its ticket (8). Of a worker that parks also its slot (16, in a row with the next ones) and where that is (4); and
// its record, clock and ticket are touched again when it goes.
static_assert(sizeof(rubato::worker_record) == 80);
constexpr std::size_t bytes_per_worker = 80 + 16 + 64 + 8 + 4 + 16;
double lines_of(double parked) { return 5.0 + parked * (1.0 + 0.25 + 4.0); }

// A walk through all lines of so much memory, each place known only from the last.
class chase {
 public:
  explicit chase(std::size_t bytes) : places_(std::max<std::size_t>(bytes / sizeof(place), 2)) {
    rubato::random_sequence random{1};
    std::vector<std::uint32_t> order(places_.size());
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    for (std::size_t i = 0; i < order.size(); ++i) places_[order[i]].next = order[(i + 1) % order.size()];
  }
  void step() noexcept { at_ = places_[at_].next; }
  [[nodiscard]] std::uint32_t at() const noexcept { return at_; }

 private:
  struct alignas(64) place {
    std::uint32_t next = 0;
  };
  std::vector<place> places_;
  std::uint32_t at_ = 0;
};

template <class Policy>
void push(benchmark::State& state, const Policy& policy) {
  const auto workers = static_cast<std::uint32_t>(state.range(0));
  const recording<Policy> trace = record(policy, workers);
  chase memory{bytes_per_worker * workers};
  std::vector<double> least(pieces, std::numeric_limits<double>::infinity());
  double line = std::numeric_limits<double>::infinity();
  std::uint64_t overrides = 0;
  for (auto _ : state) {
    auto sync = trace.start;
    std::uint64_t effects = 0;
    counting sink{effects};
    std::size_t at = 0;
    double total = 0.0;
    for (double& best : least) {
      const auto one = [&] {
        const std::uint32_t worker = trace.pushes[at++];
        static_cast<void>(sync.push(event_of(worker, rubato::bench::warm_up(workers) + at), worker, sink));
      };
      const double now = rubato::bench::nanoseconds(one, piece);
      best = std::min(best, now);
      total += now;
      line = std::min(line, rubato::bench::nanoseconds([&] { memory.step(); }, 1'000));
      benchmark::DoNotOptimize(memory.at());
    }
    benchmark::DoNotOptimize(effects);
    overrides = sync.counts().overrides();
    state.SetIterationTime(total * 1e-9 * piece);
  }
  state.counters["min"] = std::accumulate(least.begin(), least.end(), 0.0) / pieces;
  state.counters["lines"] = lines_of(trace.parked);
  state.counters["line"] = line;
  state.counters["lines_x_line"] = lines_of(trace.parked) * line;
  state.counters["overrides"] = static_cast<double>(overrides);
}

void sizes(benchmark::internal::Benchmark* all) {
  for (const std::int64_t workers : {10, 1'000, 100'000, 1'000'000}) all->Arg(workers);
  all->UseManualTime()->Iterations(10);
}

BENCHMARK_CAPTURE(push, asp, rubato::asp{})->Apply(sizes);
BENCHMARK_CAPTURE(push, ssp_3, rubato::ssp{.staleness = 3})->Apply(sizes);
BENCHMARK_CAPTURE(push, bsp, rubato::bsp{})->Apply(sizes);
BENCHMARK_CAPTURE(push, any_policy_of_asp, rubato::any_policy{rubato::asp{}})->Apply(sizes);
BENCHMARK_CAPTURE(push, any_policy_of_ssp_3, rubato::any_policy{rubato::ssp{.staleness = 3}})->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
