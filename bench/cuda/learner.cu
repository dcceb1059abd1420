#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <rubato/cuda/dqn_learner.cuh>
#include <string>
#include <vector>

#include "host_learner.hpp"
#include "measure.cuh"
#include "sections.hpp"

// Gradient steps of double DQN, 40-64-32-3, batches of 256, as a graph replays them, beside rl::dqn on one core. Floor:
// the multiply-adds of three passes forward, of the gradient by weights, and of that by hidden units.
namespace rubato::bench {
namespace {

constexpr double forward_products = 40 * 64 + 64 * 32 + 32 * 3, hidden_products = 64 * 32 + 32 * 3;

template <unsigned Rows>
double updates_of_device(unsigned agents, const card& on) {
  using learned = cuda::dqn_learner<cuda::mlp_shape<40, 64, 32, 3>, Rows>;
  const rl::dqn_options options = learner_options();
  const std::size_t bytes = learned::memory_needed(agents, options);
  const device_numbers<unsigned char> memory{bytes};
  const auto made = learned::over(memory.data(), bytes, agents, options, {}, 4);
  if (!made) need(made.error());

  constexpr unsigned at_once = 512;
  constexpr std::size_t inputs = learned::shape::inputs;
  const std::size_t all = std::size_t{agents} * at_once;
  std::vector<std::uint32_t> actions(all);
  for (std::size_t i = 0; i < all; ++i) actions[i] = static_cast<std::uint32_t>(i % 3);
  const device_numbers<float> initial{initial_parameters()}, seen{observations(all + 1, 5)};
  const device_numbers<float> discounts{std::vector<float>(all, 0.99F)};
  const device_numbers<std::uint32_t> taken{actions};
  need(cuda::start(*made, initial.data(), 0, on.stream));
  for (std::size_t i = 0; i < options.replay_capacity; i += at_once)
    need(cuda::record_batch(*made, at_once,
                            {seen.data(), seen.data() + inputs, taken.data(), seen.data(), discounts.data(), nullptr},
                            on.stream));
  need(cudaStreamSynchronize(on.stream), "experiences");

  const double seconds = seconds_of(on.stream, [&](cudaStream_t stream) { need(cuda::update(*made, stream)); });
  cuda::dqn_agent last;
  need(cudaMemcpy(&last, made->agent + (agents - 1), sizeof(last), cudaMemcpyDeviceToHost), "an agent");
  if (last.updates == 0 || last.updates != last.iterations) {
    std::fprintf(stderr, "bench_cuda: learner: an agent has learned %llu times in %llu updates\n",
                 static_cast<unsigned long long>(last.updates), static_cast<unsigned long long>(last.iterations));
    std::exit(EXIT_FAILURE);
  }
  return agents / seconds;
}

}  // namespace

void learner(table& to, const card& on) {
  to.section("Double DQN, 40-64-32-3, batches of 256 from replays of 8192");
  const double core = updates_of_one_core();
  const double products = static_cast<double>(learner_options().batch) * (4 * forward_products + hidden_products);
  to.add({.figure = "rl::dqn on one core", .measured = core, .unit = "updates/s"});
  const auto both = [&](unsigned agents, const std::string& tiles, double device) {
    const std::string who = std::to_string(agents) + (agents == 1 ? " agent, " : " agents, ") + tiles;
    to.add({.figure = who, .measured = device, .unit = "updates/s", .floor = on.multiply_adds / products});
    to.add({.figure = who + ": times of one core", .measured = device / core, .unit = ""});
  };
  for (const unsigned agents : {1u, 16u, 256u}) both(agents, "tiles of 32", updates_of_device<32>(agents, on));
  both(1, "tiles of 16", updates_of_device<16>(1, on));  // more blocks, of less work each
}

}  // namespace rubato::bench
