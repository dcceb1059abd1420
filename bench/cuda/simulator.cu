#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <rubato/core/rng.hpp>
#include <rubato/cuda/policy_search.cuh>
#include <rubato/encode/rlp_state.hpp>
#include <rubato/learned/q_policy.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/sim/cluster.hpp>
#include <rubato/sim/quadratic.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "measure.cuh"
#include "sections.hpp"

// Pushes of simulated clusters: what a search by trial takes. The host's simulator makes the same runs, on two threads
// of this machine, each with objects of its own.
namespace rubato::bench {
namespace {

using shape = cuda::mlp_shape<40, 64, 32, 3>;
using host_network = nn::mlp<40, 64, 32, 3>;
using candidates = cuda::q_candidates<shape>;
using goal_type = cuda::quadratic_goal<8>;
constexpr std::uint32_t workers = 10, networks = 64, clusters = 1024;
constexpr std::uint64_t pushes_of_run = 1'000;

sim::cluster_options machines() { return {.workers = workers, .stragglers = {.kind = sim::straggler_kind::fixed}}; }
sim::run_options training() {
  sim::run_options run{.stop = sim::stop_rule::workload, .max_time = 1e9};
  run.workload = pushes_of_run * run.batch;
  run.learning_rate.base = 0.01;
  return run;
}

// Pushes a second of the host's simulator, on two threads.
template <class Policy>
double on_the_host(const Policy& policy) {
  constexpr double seconds = 1;
  std::atomic<std::uint64_t> pushes{0};
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  const auto work = [&](std::uint64_t seed) {
    sim::quadratic goal;
    sim::run_options run = training();
    std::uint64_t done = 0;
    for (run.seed = seed; passed() < seconds; run.seed += 2)
      done += sim::simulate(machines(), run, policy, goal).pushes;
    pushes += done;
  };
  std::thread other{work, 1};
  work(2);
  other.join();
  return static_cast<double>(pushes) / passed();
}

// The same on the device, all candidates on all clusters; ends the program if the first clusters of the first candidate
// do not come to what they come to here.
template <unsigned LanesEach = 8, class Candidates>
double on_the_device(const card& on, const Candidates& there, const Candidates& here, const char* what) {
  const auto all = *cuda::simulated_machines<workers>::make(machines());
  const auto run = *cuda::simulated_run::make(training(), 100 * pushes_of_run);
  const auto goal = *goal_type::make({}, training().batch);
  const cuda::search_size size{.candidates = networks, .clusters = clusters};
  const device_numbers<cuda::episode_result> out{std::size_t{networks} * clusters};
  const auto launch = [&](cudaStream_t stream) {
    need(cuda::simulate_episodes<LanesEach>(all, run, goal, there, size, out.data(), stream));
  };
  const double seconds = seconds_of(on.stream, launch, launching::direct, 5);
  const std::vector<cuda::episode_result> results = out.host(std::size_t{networks} * clusters);
  std::vector<cuda::episode_result> expected(16);
  double mean = 0, pushes = 0;
  cuda::simulate_episodes_here(all, run, goal, here, {.clusters = 16}, cuda::episode_cost::time, expected.data(),
                               &mean);
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (results[i].pushes != expected[i].pushes || !(std::abs(results[i].time / expected[i].time - 1) < 1e-9)) {
      std::fprintf(stderr, "bench_cuda: %s: cluster %zu took %g and %u pushes, expected %g and %u\n", what, i,
                   results[i].time, results[i].pushes, expected[i].time, expected[i].pushes);
      std::exit(EXIT_FAILURE);
    }
  for (const cuda::episode_result& each : results) pushes += each.pushes;
  return pushes / seconds;
}

}  // namespace

void simulator(table& to, const card& on) {
  to.section("Simulated clusters, 10 workers, a quadratic in 8 dimensions");
  const auto compare = [&](const char* what, double device, double host, std::optional<bound> bar) {
    to.add({.figure = std::string{what} + ", the host on 2 threads", .measured = host, .unit = "pushes/s"});
    to.add({.figure = what, .measured = device, .unit = "pushes/s"});
    to.add(
        {.figure = std::string{what} + ": times the host", .measured = device / host, .unit = "", .of_measured = bar});
  };
  const auto rule = [&](const char* what, const auto& host, const auto& device) {
    const cuda::the_candidate<std::remove_cvref_t<decltype(device)>> one{device};
    compare(what, on_the_device(on, one, one, what), on_the_host(host), {});
  };
  rule("asp", asp{}, cuda::simulated_asp{});
  rule("ssp", ssp{.staleness = 3}, cuda::simulated_ssp{3});
  rule("bsp", bsp{}, cuda::simulated_bsp{});

  random_sequence random{1};
  std::vector<float> here(networks * shape::parameters);
  for (float& x : here) x = static_cast<float>(0.1 * (2 * random.uniform() - 1));
  const device_numbers<float> there{here};
  host_network first;
  for (std::size_t i = 0; i < shape::parameters; ++i) first.parameters()[i] = here[i];
  const candidates all{there.data(), first.options().hidden, first.options().output};
  const candidates all_here{here.data(), all.hidden, all.output};
  compare("a network for each candidate, 40-64-32-3", on_the_device(on, all, all_here, "a network"),
          on_the_host(q_policy<rlp_state, host_network>{first}), at_least(50));
  const auto with_lanes = [&]<unsigned Lanes>(std::integral_constant<unsigned, Lanes>) {
    const std::string what = "the same, " + std::to_string(Lanes) + " threads for each cluster";
    to.add({.figure = what, .measured = on_the_device<Lanes>(on, all, all_here, what.c_str()), .unit = "pushes/s"});
  };
  with_lanes(std::integral_constant<unsigned, 4>{});
  with_lanes(std::integral_constant<unsigned, 16>{});
  with_lanes(std::integral_constant<unsigned, 32>{});
}

}  // namespace rubato::bench
