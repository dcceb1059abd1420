#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <rubato/cuda_ps/train.cuh>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/ssp.hpp>
#include <string>
#include <vector>

#include "measure.cuh"
#include "sections.hpp"

// Pushes a second of integrations/cuda_ps: decisions on the device beside those on the host, eight workers whose steps
// last for a time that is set, and the perceptron's 101,770 parameters. Steps are timed by the device's clock, and hold
// one block: what is measured is what a push costs besides.
namespace rubato::bench {
namespace {

constexpr std::uint32_t workers = 8;
constexpr std::size_t parameters = 101'770;
constexpr cuda_ps::rule_options rule{.kind = cuda_ps::rule_kind::sgd, .learning_rate = 1e-6};

// Lasts so long, and leaves a loss; the gradient in the slot is as it was.
__global__ void step_kernel(unsigned nanoseconds, float* loss) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < nanoseconds);
  *loss = 1;
}

// Streams that the device runs at once. Where they are fewer than those that wait, threads wait instead.
std::uint32_t at_once() {
  const char* const set = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  return set == nullptr ? 8 : static_cast<std::uint32_t>((std::max)(std::atoi(set), 1));
}

struct gradient {
  unsigned nanoseconds;
  error operator()(std::uint32_t, const cuda_ps::lane_step& step) const {
    step_kernel<<<1, 1, 0, step.stream>>>(nanoseconds, step.loss);
    return cuda::check_launch("a step");
  }
};

// As many steps of each worker as take about a second, after a tenth of these as a warm-up.
template <class Make>
double pushes_per_second(const Make& make, unsigned nanoseconds) {
  const auto steps = static_cast<std::uint64_t>(1e9 / (nanoseconds + 20e3));
  double rate = 0;
  for (const std::uint64_t of_worker : {steps / 10, steps}) {
    auto made = make();
    if (!made) need(made.error());
    const auto begin = std::chrono::steady_clock::now();
    for (const cuda_ps::worker_end& each : cuda_ps::train(**made, workers, of_worker, gradient{nanoseconds}))
      need(each.failure);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    rate = static_cast<double>(of_worker) * workers / took.count();
  }
  return rate;
}

template <class Policy>
void compare(table& to, const std::string& name, const Policy& of_host, const cuda::device_policy<>& of_device) {
  const std::vector<float> initial(parameters);
  const auto on_host = [&] {
    return cuda_ps::server<Policy>::make({.sync = {.capacity = workers}}, {}, initial, of_host, rule);
  };
  const auto on_device = [&] {
    return cuda_ps::device_server<workers>::make({.workers = workers, .at_once = at_once()}, initial, of_device, rule);
  };
  for (const unsigned microseconds : {5u, 10u, 20u, 50u, 100u, 200u}) {
    const double host = pushes_per_second(on_host, 1000 * microseconds);
    const double device = pushes_per_second(on_device, 1000 * microseconds);
    const std::string steps = name + ", steps of " + std::to_string(microseconds) + " µs";
    // No worker does more than a step after the other.
    const double most = workers / (1e-6 * microseconds);
    to.add({.figure = steps + ", decided on the host", .measured = host, .unit = "pushes/s", .floor = most});
    to.add({.figure = steps + ", on the device", .measured = device, .unit = "pushes/s", .floor = most});
    line times{.figure = steps + ": times of the host's", .measured = device / host, .unit = ""};
    if (microseconds < 100) times.of_measured = at_least(1.2);
    to.add(times);
  }
}

}  // namespace

void parameter_server(table& to, const card&) {
  to.section("A parameter server of eight workers, 101,770 parameters, SGD; " +
             std::string{workers + 3 < at_once() ? "streams" : "threads"} + " wait for decisions on the device");
  compare(to, "ASP", asp{}, cuda::device_policy<>::asp());
  compare(to, "SSP of 3", ssp{.staleness = 3}, cuda::device_policy<>::ssp(3));
}

}  // namespace rubato::bench
