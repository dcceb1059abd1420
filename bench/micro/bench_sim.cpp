// What the simulator costs beside the training that it simulates: pushes of the runs that `rubato-lab compare` makes,
// on the same types, and the event queue by itself beside one of the standard library.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <rubato/core/rng.hpp>
#include <rubato/encode/rlp_state.hpp>
#include <rubato/learned/builtin.hpp>
#include <rubato/learned/q_policy.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/sim/cluster.hpp>
#include <rubato/sim/quadratic.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>

#include "../../examples/lab/any_objective.hpp"
#include "paired.hpp"

namespace {

using namespace rubato::sim;
using rubato::any_policy;
using rubato::lab::any_objective;
using rubato::lab::objective_of;

constexpr double endless = 1e15;

// The machines of the lab's scenarios, for any number of workers.
cluster_options machines(const std::string& scenario, std::uint32_t workers) {
  const straggler_options sleepy{.kind = straggler_kind::fixed, .probability = 0.3, .mean = 1, .sd = 1.0 / 3};
  if (scenario == "paper") return {.workers = workers, .cores = 1, .stragglers = sleepy};
  if (scenario == "link")
    return {.workers = workers, .link = {.bandwidth = 1, .latency = 0, .model_size = 0.25}, .stragglers = sleepy};
  return {.workers = workers};
}

// The learned ones: a network of the paper's size with random weights, and the one that ships.
any_policy policy(const std::string& name) {
  if (name == "asp") return rubato::asp{};
  if (name == "bsp") return rubato::bsp{};
  if (name == "ssp") return rubato::ssp{.staleness = 3};
  if (name == "learned") return rubato::learned_policy{};
  using network = rubato::nn::mlp<40, 64, 32, 3>;
  network net;
  rubato::random_sequence random{7};
  rubato::nn::initialise(net, {rubato::nn::initialiser_kind::xavier_uniform}, random);
  return rubato::q_policy<rubato::rlp_state, network>{net};
}

// Nothing to learn at all.
struct nothing {
  void reset(std::uint64_t) {}
  gradient compute(std::uint32_t, std::uint64_t, std::uint32_t batch) { return {0, 1, 0, batch}; }
  void update(std::span<const contribution>, double) {}
  void release(std::uint32_t) {}
  evaluation evaluate() { return {1, 0.5}; }
  void set_momentum(double) {}
  double probe() { return 1; }
};

// Nanoseconds of a push where eight policies are compared: as many runs on each seed, which share what steps draw, each
// with all that comes before its first push and after its last. Counters: the least, and millions of pushes a second.
void pushes(benchmark::State& state, const std::string& scenario, const std::string& name, bool quadratic_bowl) {
  constexpr int compared = 8;
  constexpr std::uint64_t length = 10'000;  // of a run
  std::unique_ptr<any_objective> goal;
  if (quadratic_bowl)
    goal = std::make_unique<objective_of<quadratic>>();
  else
    goal = std::make_unique<objective_of<nothing>>();
  const auto workers = static_cast<std::uint32_t>(state.range(0));
  const cluster_options there = machines(scenario, workers);
  const any_policy rule = policy(name);
  run_options training{.stop = stop_rule::workload, .max_time = endless};
  training.workload = length * training.batch;
  training.learning_rate.base = 0.1 / workers;  // stable with a thousand of them
  rubato::no_observer nobody;
  normal_draws jitter{1 << 14};
  double least = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    std::uint64_t done = 0;
    ++training.seed;
    const auto compare = [&] {
      for (int i = 0; i < compared; ++i) {
        cluster<any_policy, any_objective> all{there, training, rule, *goal, nobody, &jitter};
        while (all.advance()) continue;
        if (all.result().end != run_end::reached) state.SkipWithError("a run was not done");
        done += all.result().pushes;
      }
    };
    const double all = rubato::bench::nanoseconds(compare, 1);
    least = (std::min)(least, all / static_cast<double>(done));
    state.SetIterationTime(all * 1e-9);
  }
  state.counters["min"] = least;
  state.counters["M_pushes"] = 1e3 / least;
}

// A random number of mean 1, exponential: the cheapest draw of a latency that says something.
class latency {
 public:
  double operator()() noexcept {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return -std::log(static_cast<double>(static_cast<std::int64_t>((state_ >> 11) + 1)) * 0x1p-53);
  }

 private:
  std::uint64_t state_ = 1;
};

// Nanoseconds of an event: the earliest of so many workers is done, and starts a step of random length. The same draws
// feed the peer. Counters: ours, the peer's over ours, millions of events a second.
void event_core(benchmark::State& state) {
  constexpr int piece = 2'000;
  const auto workers = static_cast<std::uint32_t>(state.range(0));
  using entry = std::pair<double, std::uint32_t>;
  std::priority_queue<entry, std::vector<entry>, std::greater<>> peer;
  event_queue ours{workers, 1};
  latency our_draw, peer_draw;
  double our_sum = 0, peer_sum = 0;
  for (std::uint32_t w = 0; w < workers; ++w) {
    ours.schedule(w, our_draw());
    peer.push({peer_draw(), w});
  }
  const auto of_ours = [&] {
    const double now = ours.next_time();
    const std::uint32_t w = ours.pop().source;
    our_sum += now * w;
    ours.schedule(w, now + our_draw());
  };
  const auto of_peer = [&] {
    const auto [now, w] = peer.top();
    peer.pop();
    peer_sum += now * w;
    peer.push({now + peer_draw(), w});
  };
  double least = std::numeric_limits<double>::infinity(), peers = least;
  for (auto _ : state) {
    peers = (std::min)(peers, rubato::bench::nanoseconds(of_peer, piece));
    const double now = rubato::bench::nanoseconds(of_ours, piece);
    least = (std::min)(least, now);
    state.SetIterationTime(now * 1e-9 * piece);
  }
  if (our_sum != peer_sum) state.SkipWithError("the two queues disagree");
  state.counters["min"] = least;
  state.counters["over_priority_queue"] = peers / least;
  state.counters["M_events"] = 1e3 / least;
}
BENCHMARK(event_core)->Arg(10)->Arg(100)->Arg(1'000)->Arg(100'000)->UseManualTime();

void add(const std::string& scenario, const std::string& name, bool bowl, std::initializer_list<std::int64_t> workers) {
  const std::string title = "pushes/" + scenario + "/" + name + (bowl ? "" : "/nothing_to_learn");
  auto* const row = benchmark::RegisterBenchmark(
      title.c_str(), [=](benchmark::State& state) { pushes(state, scenario, name, bowl); });
  for (const std::int64_t k : workers) row->Arg(k);
  row->UseManualTime();
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* scenario : {"ideal", "paper", "link"})
    for (const char* name : {"asp", "q", "learned"})
      for (const bool bowl : {false, true}) add(scenario, name, bowl, {10});
  add("ideal", "asp", true, {100, 1'000});
  add("ideal", "bsp", true, {10, 100});
  add("paper", "ssp", true, {10, 100});
  add("link", "asp", true, {100});
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
