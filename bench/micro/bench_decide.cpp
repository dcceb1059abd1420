// A whole learned decision: admit + commit of one push with a network 40-64-32-3 on the state of Zhu et al., with all
// that follows from it. About one push in five is held and one in twenty lets everybody go on; arrivals are recorded
// beforehand. `prepared` sums up the older pushes at the end of each commit, after the releases, so that the next
// decision waits for the newest push alone; `plain` does not; `any_policy` is `prepared` behind virtual calls.
//
// Counters, in nanoseconds:
//   p50, p99               response: from the push until the last callback that releases somebody has been called; of
//                          pushes that release somebody, each timed alone by fenced stamps (tsc.hpp) less an empty pair
//   total_p50, total_p99   until commit has returned, of all pushes
//   min                    of a push in a loop, the least mean of 1,000 of them
//   tsc_step, empty_pair   of the counter
//   held, all              share of the pushes, as a check
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <rubato/core/rng.hpp>
#include <rubato/encode/rlp_state.hpp>
#include <rubato/learned/q_policy.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/controller.hpp>

#include "arrivals.hpp"
#include "tsc.hpp"

#if defined(__x86_64__)
namespace {

using namespace rubato;
using ticket = std::uint32_t;
using network = nn::mlp<40, 64, 32, 3>;
using prepared = q_policy<rlp_state, network>;
struct undivided : network {
  void begin() const = delete;  // hides what would split an evaluation
};
using plain = q_policy<rlp_state, undivided>;
static_assert(nn::HistoryActionValueFunction<network> && !nn::HistoryActionValueFunction<undivided>);

constexpr std::size_t block = 1'000, pushes = 200 * block;  // of each pass

// Values that depend on loss, its change and the staleness, not on how many pushes there were; with the shares above.
network values(std::uint32_t workers) {
  network net;
  random_sequence random{1};
  nn::initialise(net, {nn::initialiser_kind::xavier_uniform}, random);
  const nn::matrix_view<float> first = net.weight(0);
  for (std::size_t i = 0; i < rlp_state::dim; ++i)
    for (std::size_t j = 0; j < 64; ++j)
      if (i % 4 == 0) first(i, j) = 0;
      else if (i % 4 == 3) first(i, j) /= static_cast<float>(workers);
  constexpr std::size_t draws = 4'000;
  std::vector<float> hold, all;
  const auto margins = [&] {
    hold.clear(), all.clear();
    random_sequence again{2};
    for (std::size_t n = 0; n < draws; ++n) {
      std::array<float, rlp_state::dim> in{};
      std::array<float, group_actions> out;
      for (std::size_t i = 0; i < in.size(); ++i) {
        const double u = again.uniform();
        in[i] = static_cast<float>(i % 4 == 1 ? 0.5 + u : i % 4 == 2 ? u - again.uniform() : u * 2 * workers);
      }
      net.evaluate(in, out);
      hold.push_back(out[0] - out[1]);
      all.push_back(out[2] - (std::max)(out[0], out[1]));
    }
    std::ranges::sort(hold);
    std::ranges::sort(all);
  };
  margins();
  net.bias(2)[0] -= hold[draws * 8 / 10];
  margins();
  net.bias(2)[2] -= all[draws * 95 / 100];
  return net;
}

// Losses that come with pushes.
class losses {
 public:
  float next() { return static_cast<float>(0.5 + random_.uniform()); }

 private:
  random_sequence random_{3};
};

struct recording_sink {
  bench::arrivals& running;
  std::uint32_t released = 0;
  void release(ticket, worker_id worker, const grant&) { running.starts(worker.index), ++released; }
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
};
struct counting_sink {
  std::uint64_t released = 0;
  void release(ticket, worker_id, const grant&) { ++released; }
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
};
// Of the last release alone: stamps at the others would count as the library's time.
struct stamping_sink {
  std::uint32_t to_come;
  std::uint64_t last = 0;
  void release(ticket, worker_id, const grant&) {
    if (--to_come == 0) last = bench::stamp();
  }
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
};

struct step {
  push_event event;
  std::uint32_t releases;
};
template <class Policy>
struct recording {
  controller<Policy, ticket> sync;  // after the warm-up
  std::vector<step> steps;          // that follow: three passes
};

template <class Policy>
recording<Policy> record(const Policy& policy, std::uint32_t workers) {
  bench::arrivals running{workers};
  recording_sink sink{running};
  losses loss;
  controller<Policy, ticket> sync{{.capacity = workers}, policy};
  for (std::uint32_t w = 0; w < workers; ++w) static_cast<void>(sync.join({w, 0}, 0.0, w, sink));
  double now = 0;
  const auto next = [&] {
    now += 1.0 / workers;
    const std::uint32_t worker = running.next();
    const push_event event{.worker = {worker, 0}, .now = now, .samples = 16, .loss = loss.next()};
    sink.released = 0;
    static_cast<void>(sync.push(event, worker, sink));
    return step{event, sink.released};
  };
  for (std::size_t n = 0; n < 2 * std::size_t{workers} + 10'000; ++n) next();
  recording<Policy> made{sync, {}};
  made.steps.reserve(3 * pushes);
  for (std::size_t n = 0; n < 3 * pushes; ++n) made.steps.push_back(next());
  return made;
}

template <class Policy>
void measure(benchmark::State& state, const Policy& policy, std::uint32_t workers) {
  recording<Policy> trace = record(policy, workers);
  const bench::counter clock;
  auto at = trace.steps.begin();
  const auto push = [&](auto& sink) {
    static_cast<void>(trace.sync.push(at->event, at->event.worker.index, sink));
    ++at;
  };
  std::vector<std::uint64_t> response, total;
  response.reserve(pushes), total.reserve(pushes);
  std::uint64_t held = 0, all = 0;
  double least = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t n = 0; n < pushes; ++n) {
      stamping_sink sink{at->releases};
      const std::uint64_t first = bench::stamp();
      push(sink);
      if (sink.last != 0) response.push_back(sink.last - first);
    }
    for (std::size_t n = 0; n < pushes; ++n) {
      counting_sink sink;
      const std::uint64_t first = bench::stamp();
      push(sink);
      total.push_back(bench::stamp() - first);
      held += sink.released == 0 ? 1 : 0;
      all += sink.released > 1 ? 1 : 0;
    }
    counting_sink sink;
    for (std::size_t n = 0; n < pushes / block; ++n) {
      const auto before = std::chrono::steady_clock::now();
      for (std::size_t i = 0; i < block; ++i) push(sink);
      const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - before;
      least = (std::min)(least, taken.count());
    }
    benchmark::DoNotOptimize(sink.released);
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  state.counters["p50"] = clock.quantile(response, 0.5);
  state.counters["p99"] = clock.quantile(response, 0.99);
  state.counters["total_p50"] = clock.quantile(total, 0.5);
  state.counters["total_p99"] = clock.quantile(total, 0.99);
  state.counters["min"] = least / block;
  state.counters["tsc_step"] = clock.step;
  state.counters["empty_pair"] = clock.empty;
  state.counters["held"] = static_cast<double>(held) / pushes;
  state.counters["all"] = static_cast<double>(all) / pushes;
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::uint32_t workers : {10U, 1'000U, 100'000U, 1'000'000U}) {
    const auto add = [&](const char* name, auto make) {
      benchmark::RegisterBenchmark(
          (std::string{name} + "/" + std::to_string(workers)).c_str(),
          [=](benchmark::State& state) { measure(state, make(values(workers)), workers); })
          ->Iterations(1)
          ->UseManualTime();
    };
    add("prepared", [](const network& net) { return prepared{net}; });
    add("plain", [](const network& net) { return plain{undivided{net}}; });
    add("any_policy", [](const network& net) { return any_policy{prepared{net}}; });
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
#else
BENCHMARK_MAIN();
#endif
