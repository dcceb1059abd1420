// Rows of bench_decide: what observers add to a push, admit + commit with all that follows from it. Under asp each push
// is three records (admit, commit, release); under ssp releases come later and in groups. The arrivals are recorded
// beforehand; controllers with the same rule and another observer replay them in turns, a fraction of a millisecond
// each, and each piece counts with its least time. Counters, in nanoseconds a push: `none`, without an observer, and of
// each observer what it takes above that.
//   records          a push
//   counting         of one that only counts: what it takes to make the records
//   flight_recorder  of 4,096 records
//   metrics, log, trace, stream    log and stream write to a sink that counts the bytes
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <rubato/io/chrome_trace.hpp>
#include <rubato/io/decision_log.hpp>
#include <rubato/io/flight_recorder.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/controller.hpp>
#include <rubato/sync/extras/job_metrics.hpp>
#include <rubato/sync/ssp.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "arrivals.hpp"
#include "paired.hpp"

namespace {

using namespace rubato;
using ticket = std::uint32_t;

constexpr std::uint32_t workers = 100;
constexpr std::size_t pieces = 100;
constexpr std::size_t piece = 1'000;  // pushes

struct counting_observer {
  std::uint64_t records = 0;
  void operator()(const record&) noexcept { ++records; }
};
struct counting_sink {
  std::uint64_t bytes = 0;
  void operator()(std::string_view text) noexcept { bytes += text.size(); }
};

push_event event_of(std::uint32_t worker, std::size_t push) {
  return {.worker = {worker, 0}, .now = static_cast<double>(push) * 1e-3, .samples = 16, .loss = 1.0F};
}

struct starting {
  bench::arrivals& running;
  void release(ticket, worker_id worker, const grant&) { running.starts(worker.index); }
};

template <class Policy, class Watcher>
class replay {
 public:
  replay(const Policy& policy, Watcher watcher) : start_{{.capacity = workers}, policy, std::move(watcher)} {}

  // Warms up, and makes the pushes that all are to replay.
  std::vector<std::uint32_t> record() {
    bench::arrivals running{workers};
    starting sink{running};
    for (std::uint32_t w = 0; w < workers; ++w) static_cast<void>(start_.join({w, 0}, 0.0, w, sink));
    std::vector<std::uint32_t> pushes;
    for (std::size_t n = 0; n < pieces * piece; ++n) {
      pushes.push_back(running.next());
      static_cast<void>(start_.push(event_of(pushes.back(), n + 1), pushes.back(), sink));
    }
    return pushes;
  }
  void prepare() {
    const auto release = [](ticket, worker_id, const grant&) {};
    for (std::uint32_t w = 0; w < workers; ++w) static_cast<void>(start_.join({w, 0}, 0.0, w, release));
  }
  void begin() {
    now_ = start_;
    at_ = 0;
  }
  // Nanoseconds a push.
  double next(const std::vector<std::uint32_t>& pushes) {
    const auto release = [this](ticket, worker_id, const grant&) { ++released_; };
    const auto one = [&] {
      const std::uint32_t worker = pushes[at_++];
      static_cast<void>(now_.push(event_of(worker, at_), worker, release));
    };
    const double took = bench::nanoseconds(one, piece);
    benchmark::DoNotOptimize(released_);
    return took;
  }
  [[nodiscard]] auto& watcher() { return start_.watcher(); }

 private:
  controller<Policy, ticket, Watcher> start_;
  controller<Policy, ticket, Watcher> now_ = start_;
  std::size_t at_ = 0;
  std::uint64_t released_ = 0;
};

template <class Policy>
void watch(benchmark::State& state, const Policy& policy) {
  replay<Policy, counting_observer> counted{policy, {}};
  const std::vector<std::uint32_t> pushes = counted.record();
  const chrome_trace_options drawn{.workers = workers, .events = 1 << 14};
  replay<Policy, no_observer> none{policy, {}};
  replay<Policy, counting_observer> least_of_all{policy, {}};
  replay<Policy, flight_recorder> recorder{policy, flight_recorder{4096, policy}};
  replay<Policy, job_metrics> numbers{policy, job_metrics{workers}};
  replay<Policy, decision_log<counting_sink>> log{policy, {counting_sink{}, policy}};
  replay<Policy, chrome_trace> trace{policy, chrome_trace{drawn}};
  replay<Policy, chrome_trace_stream<counting_sink>> stream{policy, {counting_sink{}, drawn}};
  const auto each = [&](auto&& what) {
    std::size_t i = 0;
    what(i++, none), what(i++, least_of_all), what(i++, recorder), what(i++, numbers), what(i++, log);
    what(i++, trace), what(i++, stream);
  };
  constexpr std::array names{"none", "counting", "flight_recorder", "metrics", "log", "trace", "stream"};
  std::array<std::vector<double>, names.size()> least;
  least.fill(std::vector<double>(pieces, std::numeric_limits<double>::infinity()));
  each([](std::size_t, auto& of) { of.prepare(); });
  for (auto _ : state) {
    double total = 0.0;
    each([](std::size_t, auto& of) { of.begin(); });
    for (std::size_t n = 0; n < pieces; ++n)
      each([&](std::size_t i, auto& of) {
        const double took = of.next(pushes);
        least[i][n] = std::min(least[i][n], took);
        total += took;
      });
    state.SetIterationTime(total * 1e-9 * piece);
  }
  std::array<double, names.size()> mean;
  for (std::size_t i = 0; i < names.size(); ++i)
    mean[i] = std::accumulate(least[i].begin(), least[i].end(), 0.0) / pieces;
  state.counters["none"] = mean[0];
  for (std::size_t i = 1; i < names.size(); ++i) state.counters[names[i]] = mean[i] - mean[0];
  state.counters["records"] = static_cast<double>(counted.watcher().records) / static_cast<double>(pushes.size());
}

BENCHMARK_CAPTURE(watch, asp, asp{})->UseManualTime()->Iterations(20);
BENCHMARK_CAPTURE(watch, ssp_3, ssp{.staleness = 3})->UseManualTime()->Iterations(20);

}  // namespace
