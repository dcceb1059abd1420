#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <rubato/cuda_ps/device_server.cuh>
#include <rubato/cuda_ps/server.cuh>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/ssp.hpp>
#include <string>
#include <thread>
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

// What a worker has to say to the two servers.
template <class Session>
void step(Session& me, unsigned nanoseconds) {
  const auto launch = [&](const cuda_ps::lane_step& now) {
    step_kernel<<<1, 1, 0, now.stream>>>(nanoseconds, now.loss);
    need(cuda::check_launch("a step"));
  };
  if constexpr (requires { me.begin(); }) {
    const auto now = me.begin();
    if (!now) need(now.error());
    launch(*now);
    need(me.push());
  } else {
    launch(me.step());
    const auto pushed = me.push();
    if (!pushed) need(pushed.error());
  }
}
template <class Policy>
auto join(cuda_ps::server<Policy>& ps, std::uint32_t worker) {
  return ps.join({worker});
}
auto join(cuda_ps::device_server<workers>& ps, std::uint32_t worker) { return ps.join(worker); }

// Until all that was pushed is over. A push to the host returns when it is.
template <class Session>
void drain(const Session& me, std::uint64_t pushed) {
  if constexpr (requires { me.pushed(); })
    while (me.pushed() != static_cast<std::uint32_t>(pushed)) std::this_thread::yield();
}

template <class Policy>
std::uint64_t updates_of(cuda_ps::server<Policy>& ps) {
  return ps.inspect([](const auto& sync, const auto&) { return sync.version(); });
}
std::uint64_t updates_of(cuda_ps::device_server<workers>& ps) {
  const auto state = ps.inspect();
  if (!state) need(state.error());
  return (*state)->book.version();
}

// Pushes a second from the moment that all workers have joined until their last push is over; what streams, memory and
// threads take before and afterwards is not in it. Ends the program unless each push has become an update.
template <class Server>
double rate_of(Server& ps, std::uint64_t steps, unsigned nanoseconds) {
  using clock = std::chrono::steady_clock;
  std::barrier all{workers + 1};
  std::vector<std::jthread> threads;
  if constexpr (requires { ps.start(); }) need(ps.start());
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.emplace_back([&, w] {
      auto me = join(ps, w);
      if (!me) need(me.error());
      all.arrive_and_wait();
      for (std::uint64_t n = 0; n < steps; ++n) step(**me, nanoseconds);
      drain(**me, steps);
      all.arrive_and_wait();
      static_cast<void>((*me)->finish());
    });
  all.arrive_and_wait();
  const auto begin = clock::now();
  all.arrive_and_wait();
  const std::chrono::duration<double> took = clock::now() - begin;
  threads.clear();
  if (const std::uint64_t updates = updates_of(ps); updates != steps * workers)
    need(error{errc::io, "a parameter server made " + std::to_string(updates) + " updates of " +
                             std::to_string(steps * workers) + " pushes"});
  return static_cast<double>(steps) * workers / took.count();
}

// As many steps of each worker as take about a second, after a tenth of these as a warm-up.
template <class Make>
double pushes_per_second(const Make& make, unsigned nanoseconds) {
  const auto steps = static_cast<std::uint64_t>(1e9 / (nanoseconds + 20e3));
  double rate = 0;
  for (const std::uint64_t of_worker : {steps / 10, steps}) {
    auto made = make();
    if (!made) need(made.error());
    rate = rate_of(**made, of_worker, nanoseconds);
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
    return cuda_ps::device_server<workers>::make({.workers = workers}, initial, of_device, rule);
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
             std::string{workers + 3 < cuda_ps::streams_at_once() ? "streams" : "threads"} +
             " wait for decisions on the device");
  compare(to, "ASP", asp{}, cuda::device_policy<>::asp());
  compare(to, "SSP of 3", ssp{.staleness = 3}, cuda::device_policy<>::ssp(3));
}

}  // namespace rubato::bench
